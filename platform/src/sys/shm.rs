//! Memory shared between processes: unnamed files (memfd) and their mappings.
//!
//! The files have no name in a file system: the size and existence of `/dev/shm` do not matter, and
//! nothing is left behind. Untouched pages take no memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use memmap2::{Advice, MmapOptions, MmapRaw};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::stat::fstat;
use nix::sys::sysinfo::sysinfo;
use nix::unistd::ftruncate;

use super::descriptor;
use crate::base::{ErrorClass, Result};

/// A new, empty segment; other processes get it by inheritance or with [`open_of`].
///
/// # Errors
/// The error of memfd_create(2).
pub fn create() -> io::Result<OwnedFd> {
    descriptor::memory_file("suiro-segment")
}

/// Opens descriptor `number` of the process `pid`, a segment from [`create`].
///
/// The kernel allows this to processes of the same user in the same process namespace.
///
/// # Errors
/// The error of open(2) for `/proc/<pid>/fd/<number>`.
pub fn open_of(pid: u32, number: i32) -> io::Result<OwnedFd> {
    let path = PathBuf::from(format!("/proc/{pid}/fd/{number}"));
    Ok(OpenOptions::new().read(true).write(true).open(path)?.into())
}

/// Makes `segment` `bytes` long, for good, and maps all of it. Every process that shares the segment does this
/// with the same number, in any order.
///
/// # Errors
/// `NoMem` if the file cannot grow to that size or there is no address space for it; `Arg` if it
/// already has another size.
pub fn map(segment: OwnedFd, bytes: usize) -> Result<MmapRaw> {
    let file = File::from(segment);
    size(&file, bytes)?;
    MmapOptions::new().len(bytes).map_raw(&file).map_err(|error| {
        ErrorClass::NoMem.error(format!("cannot map {bytes} bytes of shared memory: {error}"))
    })
}

/// A new segment of `bytes` bytes, all zero, and its mapping.
///
/// # Errors
/// `NoMem` if this process may not have another descriptor, files or an address space of that size, or
/// the host does not have that memory.
pub fn allocate(bytes: usize) -> Result<(OwnedFd, MmapRaw)> {
    let no_memory = |why: &dyn std::fmt::Display| {
        ErrorClass::NoMem.error(format!("cannot allocate {bytes} bytes of shared memory: {why}"))
    };
    // The kernel would promise it, and end a process that uses it.
    let host =
        sysinfo().map_or(u64::MAX, |host| host.ram_total().saturating_add(host.swap_total()));
    if bytes as u64 > host {
        return Err(no_memory(&format_args!("this host has {host} bytes, swap space included")));
    }
    let file = create().map_err(|error| match error.raw_os_error() {
        Some(libc::EMFILE) => {
            no_memory(&"this process has the most open files that it may have (ulimit -n)")
        }
        _ => no_memory(&error),
    })?;
    let memory = map(file.try_clone().map_err(|error| no_memory(&error))?, bytes)?;
    Ok((file, memory))
}

/// Which segment this is: no other one of this host has the number.
///
/// # Errors
/// The error of fstat(2).
pub fn inode(segment: impl AsFd) -> io::Result<u64> {
    Ok(fstat(segment)?.st_ino)
}

/// Opens and maps the first `bytes` bytes of descriptor `number` of the process `pid`: a segment from
/// [`allocate`] whose [`inode`] ends with `inode`. Other files are not opened.
///
/// # Errors
/// The system's error if this process may not open descriptors of the other one or has no room for the
/// mapping; `NotFound` if there is another file, or one that may shrink.
pub fn map_of(
    pid: u32, number: u32, inode: u32, bytes: usize, is_writable: bool,
) -> io::Result<MmapRaw> {
    let path = PathBuf::from(format!("/proc/{pid}/fd/{number}"));
    let is_wanted = |file: std::fs::Metadata| {
        file.is_file() && file.ino() as u32 == inode && file.size() >= bytes as u64
    };
    if !is_wanted(std::fs::metadata(&path)?) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let file = OpenOptions::new().read(true).write(is_writable).open(path)?;
    let seals = SealFlag::from_bits_truncate(fcntl(&file, FcntlArg::F_GET_SEALS)?);
    if !is_wanted(file.metadata()?) || !seals.contains(SealFlag::F_SEAL_SHRINK) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut options = MmapOptions::new();
    options.len(bytes);
    if is_writable { options.map_raw(&file) } else { options.map_raw_read_only(&file) }
}

/// Makes the pages of `range` present at once, instead of one by one at first use. Pages that the
/// system refuses are left to their first use.
pub fn make_present(memory: &MmapRaw, range: Range<usize>) {
    let _ = memory.advise_range(Advice::PopulateWrite, range.start, range.len());
}

fn size(file: &File, bytes: usize) -> Result {
    let cannot = |why: &dyn std::fmt::Display| {
        ErrorClass::NoMem.error(format!("cannot make {bytes} bytes of shared memory: {why}"))
    };
    let wanted = i64::try_from(bytes).map_err(|error| cannot(&error))?;
    let present = fstat(file.as_fd()).map_err(|error| cannot(&error))?.st_size;
    if present == 0 {
        descriptor::check_file_size(bytes as u64).map_err(|error| cannot(&error))?;
        ftruncate(file, wanted).map_err(|error| cannot(&error))?;
    } else if present != wanted {
        let why = format!("the shared segment has {present} bytes, not {bytes}");
        return Err(ErrorClass::Arg.error(why));
    }
    // Best effort, for files of other launchers: without the seals a process of this job could truncate
    // it under the others. The first process seals it for all.
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    match fcntl(file, FcntlArg::F_ADD_SEALS(seals)) {
        Ok(_) | Err(Errno::EPERM | Errno::EINVAL) => Ok(()),
        Err(error) => Err(cannot(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn two_mappings_have_one_length() {
        let segment = create().unwrap();
        let other = open_of(std::process::id(), segment.as_raw_fd()).unwrap();
        assert_eq!(map(segment, 8192).unwrap().len(), 8192);
        let third = other.try_clone().unwrap();
        let file = File::from(other.try_clone().unwrap());
        for bytes in [0, 4096, 1 << 20] {
            assert!(file.set_len(bytes).is_err(), "{bytes}");
        }
        assert_eq!(map(other, 8192).unwrap().len(), 8192);
        let error = map(third, 4096).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Arg as i32);
    }

    #[test]
    fn a_size_that_no_file_has_is_an_error() {
        let error = map(create().unwrap(), usize::MAX / 2 + 1).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::NoMem as i32, "{error}");
    }

    #[test]
    fn a_segment_is_mapped_by_its_place_and_inode() {
        let (file, memory) = allocate(10_000).unwrap();
        assert_eq!(memory.len(), 10_000);
        let (pid, number) = (std::process::id(), file.as_raw_fd() as u32);
        let inode = inode(&file).unwrap() as u32;
        for (bytes, is_writable) in [(10_000, true), (1, false)] {
            assert_eq!(map_of(pid, number, inode, bytes, is_writable).unwrap().len(), bytes);
        }
        let other =
            |number, inode, bytes| map_of(pid, number, inode, bytes, true).unwrap_err().kind();
        assert_eq!(other(number, inode + 1, 1), io::ErrorKind::NotFound);
        assert_eq!(other(number, inode, 10_001), io::ErrorKind::NotFound);
        assert_eq!(other(999_999, inode, 1), io::ErrorKind::NotFound);
        let unsealed = File::from(create().unwrap());
        unsealed.set_len(4096).unwrap();
        let (number, inode) =
            (unsealed.as_raw_fd() as u32, super::inode(&unsealed).unwrap() as u32);
        assert_eq!(other(number, inode, 1), io::ErrorKind::NotFound);
    }

    #[test]
    fn more_memory_than_the_host_has_is_an_error() {
        let error = allocate(1 << 55).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::NoMem as i32, "{error}");
        assert!(error.why.contains("swap space"), "{error}");
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_an_error() {
        assert!(open_of(std::process::id(), 999_999).is_err());
    }
}
