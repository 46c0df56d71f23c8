//! Reads and writes the memory of another process without its help: process_vm_readv(2) and
//! process_vm_writev(2), "cross memory attach".
//!
//! The kernel allows this access where it would allow tracing: the same user and, where the Yama
//! module limits tracing to descendants, processes that the target has admitted.
#![allow(unsafe_code)]

use std::io;

use super::iovec;
use crate::base::Span;

/// Copies `into.len()` bytes from address `from` of the process `pid`.
///
/// # Errors
/// The error of process_vm_readv(2); part of `into` may have been written by then. An unmapped
/// address is an error, never a signal.
pub fn read(pid: u32, from: u64, into: Span) -> io::Result<()> {
    move_all(into, from, |local, remote| {
        // SAFETY: `local` is inside a span that is writable until the receive that it was made for
        // is done (`Span::new`); the kernel checks the remote address itself.
        unsafe { libc::process_vm_readv(pid as libc::pid_t, local, 1, remote, 1, 0) }
    })
}

/// Copies all of `from` to address `to` of the process `pid`.
///
/// # Errors
/// The error of process_vm_writev(2); part of `from` may have been written by then. An unmapped
/// address is an error, never a signal.
///
/// # Safety
/// The destination is mapped for writing by this call, and no other access to it occurs meanwhile.
pub unsafe fn write(pid: u32, from: Span, to: u64) -> io::Result<()> {
    move_all(from, to, |local, remote| {
        // SAFETY: `local` is inside a span that is readable until the send that it was made for is
        // done (`Span::new`); the kernel checks the remote address itself.
        unsafe { libc::process_vm_writev(pid as libc::pid_t, local, 1, remote, 1, 0) }
    })
}

/// Calls `call` with the remainder of both sides until all bytes are copied: the kernel copies at
/// most 2 GiB less a page at a time.
fn move_all(
    local: Span, remote: u64, call: impl Fn(&libc::iovec, &libc::iovec) -> isize,
) -> io::Result<()> {
    let mut done = 0;
    while done < local.len() {
        let rest = local.part(done, local.len() - done);
        let here = iovec(rest.address(), rest.len());
        let address = remote.wrapping_add(done as u64) as usize;
        let there = iovec(address, rest.len());
        match call(&here, &there) {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count @ 1.. => done += count as usize,
            _ => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

/// Whether the system lets this process call process_vm_readv(2). Tested on its own memory; another
/// process may still be out of reach.
pub fn is_allowed() -> bool {
    let (from, mut into) = ([1_u8], [0_u8]);
    // SAFETY: `into` outlives the call and has no other user.
    let span = unsafe { Span::of(&mut into) };
    read(std::process::id(), from.as_ptr().addr() as u64, span).is_ok() && into == from
}

/// Admits the parent of this process and all its descendants to [`read`] here, as far as only Yama
/// forbids it. These are the ranks next to this one if the launcher started them directly.
///
/// Without Yama, or where the call is not allowed, nothing changes.
pub fn admit_siblings() {
    // SAFETY: prctl(PR_SET_PTRACER) and getppid take integers and touch no memory.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(libc::getppid() as u32)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_own(from: &[u8], len: usize) -> io::Result<Vec<u8>> {
        let mut into = vec![0; len];
        // SAFETY: `into` outlives the read and has no other user.
        read(std::process::id(), from.as_ptr() as u64, unsafe { Span::of(&mut into) })?;
        Ok(into)
    }

    #[test]
    fn reads_what_is_there() {
        let text = b"cross memory attach";
        match read_own(text, text.len()) {
            Ok(copy) => assert_eq!(copy, text),
            // Not allowed here (seccomp): nothing more to test.
            Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
        }
    }

    #[test]
    fn own_memory_is_written() {
        let (mut from, mut into) = ([7_u8; 5000], [0_u8; 5000]);
        let to = into.as_mut_ptr() as u64;
        // SAFETY: both outlive the call and have no other user.
        unsafe { write(std::process::id(), Span::of(&mut from), to).unwrap() };
        assert!(into == from);
        // SAFETY: nothing is mapped there.
        assert!(unsafe { write(std::process::id(), Span::of(&mut from), 8) }.is_err());
    }

    #[test]
    fn an_address_that_is_not_mapped_is_an_error() {
        let mut into = [0_u8; 8];
        // SAFETY: as above.
        assert!(read(std::process::id(), 8, unsafe { Span::of(&mut into) }).is_err());
    }
}
