//! Reading the memory of another process without its help: process_vm_readv(2), "cross memory
//! attach".
//!
//! The kernel allows it where it would allow to trace the process: the same user, and, where the
//! Yama module limits tracing to descendants, processes that the other one has admitted.
#![allow(unsafe_code)]

use std::io;

use crate::base::Span;

/// Copies `into.len()` bytes from address `from` of the process `pid`.
///
/// # Errors
/// What process_vm_readv(2) says; part of `into` may have been written by then. An address that
/// is not mapped there is an error, never a signal.
pub fn read(pid: u32, from: u64, into: Span) -> io::Result<()> {
    let mut done = 0;
    while done < into.len() {
        let rest = into.part(done, into.len() - done);
        let local = libc::iovec { iov_base: rest.address() as *mut _, iov_len: rest.len() };
        let address = from.wrapping_add(done as u64) as usize;
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: rest.len() };
        // SAFETY: `rest` is inside a span that is writable until the receive that it was made for
        // is done (`Span::new`); the kernel checks the remote address itself.
        let count = unsafe { libc::process_vm_readv(pid as libc::pid_t, &local, 1, &remote, 1, 0) };
        match count {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            // The kernel copies at most 2 GiB less a page at a time.
            1.. => done += count as usize,
            _ => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

/// Does the system let this process call process_vm_readv(2) at all? Of its own memory here; another
/// process may still be out of reach.
pub fn is_allowed() -> bool {
    let (from, mut into) = ([1_u8], [0_u8]);
    // SAFETY: `into` outlives the call and nobody else uses it.
    let span = unsafe { Span::of(&mut into) };
    read(std::process::id(), from.as_ptr().addr() as u64, span).is_ok() && into == from
}

/// Admits the parent of this process and all its descendants (the ranks next to this one, where
/// the launcher started them directly) to [`read`] here, as far as only Yama forbids it.
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
        // SAFETY: `into` outlives the read and nobody else uses it.
        read(std::process::id(), from.as_ptr() as u64, unsafe { Span::of(&mut into) })?;
        Ok(into)
    }

    #[test]
    fn reads_what_is_there() {
        let text = b"cross memory attach";
        match read_own(text, text.len()) {
            Ok(copy) => assert_eq!(copy, text),
            // Not allowed here (seccomp): nothing more can be tried.
            Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
        }
    }

    #[test]
    fn an_address_that_is_not_mapped_is_an_error() {
        let mut into = [0_u8; 8];
        // SAFETY: as above.
        assert!(read(std::process::id(), 8, unsafe { Span::of(&mut into) }).is_err());
    }
}
