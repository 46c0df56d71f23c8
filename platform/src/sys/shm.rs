//! Memory shared between processes: unnamed files (memfd) and their mappings.
//!
//! The files have no name in a file system: the size and existence of `/dev/shm` do not matter, and
//! nothing is left behind. Untouched pages take no memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use memmap2::{Advice, MmapOptions, MmapRaw};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::stat::fstat;
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
    fn a_descriptor_that_is_not_open_is_an_error() {
        assert!(open_of(std::process::id(), 999_999).is_err());
    }
}
