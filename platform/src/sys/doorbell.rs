//! A descriptor that another process makes readable, to wake a process that waits for descriptors.
//!
//! ```text
//!   process that waits: Doorbell, a pipe     process of the same host: DoorbellHandle
//!     address ─────── shared memory ───────>   open /proc/PID/fd/NUMBER, once
//!     readable until drained   <────────────   ring: one byte
//! ```
//!
//! A pipe, because it needs no name that outlives its process and no common network namespace, and only
//! processes of the same user can open it: those that may open a segment of shared memory, too. (A
//! datagram to a socket needs a name that every user can use; an eventfd cannot be opened.) Both ends
//! open it for reading and writing, so no write raises SIGPIPE.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

use nix::fcntl::OFlag;

/// The end that waits.
#[derive(Debug)]
pub struct Doorbell {
    reader: File,
    writer: File,
    inode: u64,
}

/// Where another process finds a doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorbellAddress {
    /// The process that waits.
    pub pid: u32,
    /// The number of the descriptor there.
    pub descriptor: u32,
    /// The inode of the pipe: no other pipe of this host has it.
    pub inode: u64,
}

/// A doorbell of another process.
#[derive(Debug)]
pub struct DoorbellHandle(File);

impl Doorbell {
    /// # Errors
    /// The system's error, if the process may not have more descriptors.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let (reader, writer) = (File::from(reader), File::from(writer));
        let inode = writer.metadata()?.ino();
        Ok(Self { reader, writer, inode })
    }

    /// Where other processes find it.
    pub fn address(&self) -> DoorbellAddress {
        let descriptor = self.writer.as_raw_fd().cast_unsigned();
        DoorbellAddress { pid: std::process::id(), descriptor, inode: self.inode }
    }

    /// Makes the descriptor readable.
    pub fn ring(&self) {
        ring(&self.writer);
    }

    /// Makes the descriptor unreadable until it is rung again.
    pub fn drain(&self) {
        let mut bytes = [0; 256];
        // An error is that there is nothing to read.
        while (&self.reader).read(&mut bytes).is_ok_and(|count| count == bytes.len()) {}
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

impl DoorbellHandle {
    /// # Errors
    /// The system's error, if this process may not open descriptors of the other one; `NotFound` if
    /// that has ended, or its pid has another meaning here.
    pub fn open(address: DoorbellAddress) -> io::Result<Self> {
        let DoorbellAddress { pid, descriptor, inode } = address;
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let place = format!("/proc/{pid}/fd/{descriptor}");
        // Opening a file of another kind may have effects.
        let is_pipe = |file: std::fs::Metadata| file.file_type().is_fifo() && file.ino() == inode;
        if !is_pipe(std::fs::metadata(&place)?) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = File::options().read(true).write(true).custom_flags(flags.bits()).open(place)?;
        if !is_pipe(file.metadata()?) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Self(file))
    }

    /// Makes the descriptor of the other process readable, if that has not ended.
    pub fn ring(&self) {
        ring(&self.0);
    }
}

fn ring(mut pipe: &File) {
    // An error is that the pipe is full, and readable already.
    let _ = pipe.write(&[1]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::poll::is_readable;
    use std::time::Duration;

    #[test]
    fn a_ring_lasts_until_it_is_drained() {
        let doorbell = Doorbell::new().unwrap();
        let handle = DoorbellHandle::open(doorbell.address()).unwrap();
        for rings in [1, 256, 257, 100_000] {
            assert!(!is_readable(&doorbell, Duration::ZERO));
            (0..rings).for_each(|_| handle.ring());
            doorbell.ring();
            assert!(is_readable(&doorbell, Duration::ZERO));
            doorbell.drain();
        }
        drop(doorbell);
        handle.ring();
    }

    #[test]
    fn what_is_no_doorbell_or_another_one_is_not_opened() {
        let doorbell = Doorbell::new().unwrap();
        let address = doorbell.address();
        let wrong = [
            DoorbellAddress { inode: address.inode + 1, ..address },
            DoorbellAddress { descriptor: 1_000_000, ..address },
            DoorbellAddress { pid: 1 << 30, ..address },
        ];
        for address in wrong {
            let error = DoorbellHandle::open(address).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{address:?}");
        }
    }
}
