//! What an open file can do, whatever it is on. `process` has files of the system; tests have files in
//! memory that fail where they are told to.

use std::fmt::Debug;
use std::io;
use std::ops::Range;

use super::counters::FileCounts;
use platform::base::{ErrorClass, MpiError, Span};

/// An open file. All calls may move fewer bytes than asked for; none holds the lock of MPI.
pub(crate) trait Storage: Debug + Send + Sync {
    /// Reads bytes from offset `at` on; 0 at the end of the file.
    ///
    /// # Errors
    /// That of the system.
    fn read(&self, at: u64, into: Span) -> io::Result<usize>;

    /// Writes bytes from offset `at` on.
    ///
    /// # Errors
    /// That of the system.
    fn write(&self, at: u64, from: Span) -> io::Result<usize>;

    /// The size in bytes.
    ///
    /// # Errors
    /// That of the system.
    fn size(&self) -> io::Result<u64>;

    /// Whether this path is that of the file, and not of another one that has taken its place.
    ///
    /// # Errors
    /// That of the system.
    fn is_at(&self, path: &[u8]) -> io::Result<bool>;

    /// Cuts the file, or adds a hole.
    ///
    /// # Errors
    /// That of the system.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Gives the file space for its first bytes, and at least this size.
    ///
    /// # Errors
    /// That of the system.
    fn allocate(&self, size: u64) -> io::Result<()>;

    /// Whether ranges of the file can be mapped, by [`Storage::map`] and [`Storage::map_filled`].
    fn has_memory(&self) -> bool;

    /// A range of the file in memory, which has space for it; `None` if there is no such memory.
    ///
    /// # Errors
    /// That of the system.
    fn map(&self, range: Range<u64>) -> io::Result<Option<Box<dyn FileMemory>>>;

    /// A range of the file in memory, all of it read from the device; `None` where it has to be read by calls.
    fn map_filled(&self, range: Range<u64>) -> Option<Box<dyn FileMemory>>;

    /// Another rank has changed the size: ranges of [`Storage::map`] get space again.
    fn forget_space(&self);

    /// Notes what was done without a call, in mapped ranges, and bytes of gaps that were read.
    fn note(&self, counts: FileCounts);

    /// Brings all data to the device.
    ///
    /// # Errors
    /// That of the system.
    fn sync(&self) -> io::Result<()>;

    /// Locks a range, and waits until others have freed it.
    ///
    /// # Errors
    /// That of the system; some files have no locks.
    fn lock(&self, range: Range<u64>, is_shared: bool) -> io::Result<()>;

    /// Frees a range that was locked.
    ///
    /// # Errors
    /// That of the system.
    fn unlock(&self, range: Range<u64>) -> io::Result<()>;
}

/// A range of a file in memory: what is in the file is there, and what is stored there is in the file.
pub(crate) trait FileMemory {
    /// The bytes of the range, while this value lives.
    fn span(&self) -> Span;
}

/// The error of a call that could not do something with the file of this name.
pub(crate) fn file_error(doing: &str, name: &str, error: &io::Error) -> Box<MpiError> {
    class_of(error).error(format!("cannot {doing} the file \"{name}\": {error}"))
}

/// The class of an error of the system (MPI 5.0 §14.8, and what the ROMIO library does).
fn class_of(error: &io::Error) -> ErrorClass {
    match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorClass::Access,
        io::ErrorKind::NotFound => ErrorClass::NoSuchFile,
        io::ErrorKind::AlreadyExists => ErrorClass::FileExists,
        io::ErrorKind::ReadOnlyFilesystem => ErrorClass::ReadOnly,
        io::ErrorKind::StorageFull => ErrorClass::NoSpace,
        io::ErrorKind::QuotaExceeded => ErrorClass::Quota,
        io::ErrorKind::InvalidFilename
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::InvalidInput => ErrorClass::BadFile,
        io::ErrorKind::ExecutableFileBusy => ErrorClass::FileInUse,
        _ if is_loop(error) => ErrorClass::BadFile,
        _ => ErrorClass::Io,
    }
}

/// ELOOP, which has no kind yet.
fn is_loop(error: &io::Error) -> bool {
    const ELOOP: i32 = 40;
    error.raw_os_error() == Some(ELOOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_their_classes() {
        let classes = [
            (13, ErrorClass::Access),
            (2, ErrorClass::NoSuchFile),
            (17, ErrorClass::FileExists),
            (30, ErrorClass::ReadOnly),
            (28, ErrorClass::NoSpace),
            (122, ErrorClass::Quota),
            (36, ErrorClass::BadFile),
            (21, ErrorClass::BadFile),
            (20, ErrorClass::BadFile),
            (40, ErrorClass::BadFile),
            (26, ErrorClass::FileInUse),
            (5, ErrorClass::Io),
        ];
        for (number, class) in classes {
            let error = file_error("open", "data", &io::Error::from_raw_os_error(number));
            assert_eq!(error.code.0, class as i32, "{error}");
            assert!(error.why.contains("open the file \"data\""), "{error}");
        }
    }
}
