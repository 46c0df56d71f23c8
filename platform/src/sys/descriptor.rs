//! File descriptors that cross process boundaries: pipes, inherited numbers.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::pipe2;

use super::poll;

/// A pipe, read end first, closed on exec.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe2(OFlag::O_CLOEXEC)?)
}

/// An empty unnamed file in memory that processes can grow, seal and share, closed on exec.
pub fn memory_file(name: &str) -> io::Result<OwnedFd> {
    Ok(memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?)
}

/// Checks that files of this process, memory files included, may have `bytes` bytes. Growing a file
/// beyond the limit does not fail but kills the process (SIGXFSZ).
///
/// # Errors
/// `FileTooLarge` with the limit, if not.
pub(crate) fn check_file_size(bytes: u64) -> io::Result<()> {
    match getrlimit(Resource::RLIMIT_FSIZE) {
        Ok((limit, _)) if limit < bytes => {
            let why = format!("files are limited to {limit} bytes (ulimit -f)");
            Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
        }
        _ => Ok(()),
    }
}

/// A copy of the inherited descriptor `number`; from now on both are closed on exec.
///
/// A copy, because other code in the process may use the number.
///
/// # Errors
/// When no such descriptor is open.
pub(crate) fn inherit(number: i32) -> io::Result<OwnedFd> {
    let copy = duplicate(number)?;
    close_on_exec(number);
    Ok(copy)
}

/// A copy of the descriptor `number`, closed on exec.
///
/// # Errors
/// When no such descriptor is open.
pub(super) fn duplicate(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with integers touches no memory; a number that is not open is an error.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above made this descriptor, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Closes the descriptor `number` when this process runs another program.
pub(super) fn close_on_exec(number: i32) {
    // SAFETY: fcntl with integers touches no memory; a number that is not open is only an error.
    unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// Whether `number` is an open socket of this process.
pub(crate) fn is_socket(number: i32) -> bool {
    std::fs::read_link(format!("/proc/self/fd/{number}"))
        .is_ok_and(|target| target.as_os_str().as_bytes().starts_with(b"socket:"))
}

/// Opens the file at `path` for appending, truncated; creates it if absent. Closed on exec.
///
/// Neither opening nor writing ever waits: a FIFO without a reader is an error.
pub fn append_to_new(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_APPEND | OFlag::O_TRUNC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    File::options().write(true).create(true).custom_flags(flags.bits()).open(path)
}

/// Opens the regular file behind `fd` again, at the same position; `None` if `fd` is no regular
/// file, or the system does not allow it.
pub fn reopen_for_reading(fd: impl AsFd) -> Option<File> {
    let mut file = File::from(fd.as_fd().try_clone_to_owned().ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let place = file.stream_position().ok()?;
    let mut again = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    again.seek(SeekFrom::Start(place)).ok()?;
    Some(again)
}

/// The pipe or terminal behind `fd`, opened again so that a write returns instead of waiting. Other
/// processes that have `fd` see no change. `None` for any other file, or if the system does not
/// allow it: the terminal of another user, for instance.
pub fn reopen_for_writing(fd: impl AsFd) -> Option<File> {
    let fd = fd.as_fd();
    let kind = SFlag::from_bits_truncate(fstat(fd).ok()?.st_mode) & SFlag::S_IFMT;
    if kind != SFlag::S_IFIFO && !fd.is_terminal() {
        return None;
    }
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    File::options().write(true).custom_flags(flags.bits()).open(path).ok()
}

/// Whether the failed call may succeed later.
pub fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Closes `fd` and returns errors that appear only then, such as a full remote disk.
pub fn close(fd: impl Into<OwnedFd>) -> io::Result<()> {
    Ok(nix::unistd::close(fd.into())?)
}

/// Waits until the reader of the pipe or stream socket `fd` has taken all written bytes, for at
/// most `at_most`. Returns at once for any other descriptor, such as a file or a terminal.
pub fn wait_until_read(fd: impl AsFd, at_most: Duration) {
    let end = Instant::now() + at_most;
    while unread(&fd) > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Bytes in the pipe `fd` that its reader has not taken, or that a stream socket has not delivered.
pub fn unread(fd: impl AsFd) -> i32 {
    let fd = fd.as_fd();
    let Ok(status) = fstat(fd) else { return 0 };
    let question = match SFlag::from_bits_truncate(status.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFIFO => libc::FIONREAD,
        SFlag::S_IFSOCK => libc::TIOCOUTQ,
        _ => return 0,
    };
    let mut bytes = 0;
    // SAFETY: both requests write one integer, `bytes`; an unsupported request writes nothing.
    unsafe { libc::ioctl(fd.as_raw_fd(), question, &raw mut bytes) };
    bytes
}

/// Writes `message` to the stream `number` and reads as many bytes as `answer` has from it, waiting for
/// both, whether or not the stream waits by itself.
///
/// # Errors
/// The error of a system call; `UnexpectedEof` when the stream ends before.
pub fn exchange(number: i32, message: &[u8], answer: &mut [u8]) -> io::Result<()> {
    let mut stream = File::from(duplicate(number)?);
    let mut left = message;
    while !left.is_empty() {
        match stream.write(left) {
            Ok(count) => left = &left[count..],
            Err(error) if is_transient(&error) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(error),
        }
    }
    let mut read = 0;
    while read < answer.len() {
        poll::is_readable(&stream, Duration::from_secs(1));
        match stream.read(&mut answer[read..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => read += count,
            Err(error) if is_transient(&error) => (),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes reads and writes of `fd` return instead of waiting.
///
/// Only for descriptors whose end no other process has a copy of.
pub fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn what_is_written_is_unread_until_somebody_reads_it() {
        let (reader, writer) = pipe().unwrap();
        let (mut other, socket) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!((unread(writer.as_fd()), unread(socket.as_fd())), (0, 0));
        File::from(writer.try_clone().unwrap()).write_all(b"four").unwrap();
        (&socket).write_all(b"more").unwrap();
        assert_eq!(unread(writer.as_fd()), 4);
        assert!(unread(socket.as_fd()) > 0);
        wait_until_read(&writer, Duration::from_millis(2));
        File::from(reader).read_exact(&mut [0; 4]).unwrap();
        other.read_exact(&mut [0; 4]).unwrap();
        assert_eq!((unread(writer.as_fd()), unread(socket.as_fd())), (0, 0));
        assert_eq!(unread(memory_file("test").unwrap().as_fd()), 0);
    }

    #[test]
    fn a_full_pipe_that_is_opened_again_does_not_block() {
        let (reader, writer) = pipe().unwrap();
        let mut again = reopen_for_writing(&writer).unwrap();
        let full = std::iter::repeat_with(|| again.write(&[0; 4096])).find_map(Result::err);
        assert!(is_transient(&full.unwrap()));
        let flags = fcntl(&writer, FcntlArg::F_GETFL).unwrap();
        assert!(!OFlag::from_bits_truncate(flags).contains(OFlag::O_NONBLOCK));
        drop(reader);
        assert!(reopen_for_writing(memory_file("test").unwrap()).is_none());
    }

    #[test]
    fn a_number_that_is_not_open_is_refused() {
        assert!(inherit(1_000_000).is_err());
    }
}
