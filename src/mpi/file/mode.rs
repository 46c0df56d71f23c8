//! Access modes (MPI 5.0 §14.2.1).

use platform::base::{ErrorClass, Result};

/// The bits of `MPI_MODE_*` of the standard ABI.
const APPEND: i32 = 1;
const CREATE: i32 = 2;
const DELETE_ON_CLOSE: i32 = 4;
const EXCL: i32 = 8;
const RDONLY: i32 = 16;
const RDWR: i32 = 32;
const SEQUENTIAL: i32 = 64;
const UNIQUE_OPEN: i32 = 128;
const WRONLY: i32 = 256;

const ALL: i32 =
    APPEND | CREATE | DELETE_ON_CLOSE | EXCL | RDONLY | RDWR | SEQUENTIAL | UNIQUE_OPEN | WRONLY;

/// A legal access mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileMode(i32);

impl FileMode {
    /// # Errors
    /// `Amode` for a combination that the standard excludes.
    pub(crate) fn new(amode: i32) -> Result<Self> {
        let wrong = |why: &str| Err(ErrorClass::Amode.error(format!("amode is {amode}: {why}")));
        let mode = Self(amode);
        if amode & !ALL != 0 {
            return wrong("expected a sum of constants MPI_MODE_*");
        }
        if [RDONLY, RDWR, WRONLY].into_iter().filter(|way| mode.has(*way)).count() != 1 {
            return wrong(
                "expected exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY",
            );
        }
        if mode.has(RDONLY) && (mode.has(CREATE) || mode.has(EXCL)) {
            return wrong("MPI_MODE_CREATE and MPI_MODE_EXCL exclude MPI_MODE_RDONLY");
        }
        if mode.has(RDWR) && mode.has(SEQUENTIAL) {
            return wrong("MPI_MODE_SEQUENTIAL excludes MPI_MODE_RDWR");
        }
        Ok(mode)
    }

    fn has(self, bit: i32) -> bool {
        self.0 & bit != 0
    }

    /// The value in C.
    pub(crate) fn value(self) -> i32 {
        self.0
    }

    pub(crate) fn reads(self) -> bool {
        !self.has(WRONLY)
    }

    pub(crate) fn writes(self) -> bool {
        !self.has(RDONLY)
    }

    pub(crate) fn creates(self) -> bool {
        self.has(CREATE)
    }

    /// Whether the file must not exist before, if it is created.
    pub(crate) fn is_new(self) -> bool {
        self.has(EXCL)
    }

    pub(crate) fn is_sequential(self) -> bool {
        self.has(SEQUENTIAL)
    }

    /// Whether all file pointers begin at the end.
    pub(crate) fn appends(self) -> bool {
        self.has(APPEND)
    }

    pub(crate) fn deletes_on_close(self) -> bool {
        self.has(DELETE_ON_CLOSE)
    }

    /// # Errors
    /// `Access` if the file was opened for writing only.
    pub(crate) fn check_read(self) -> Result {
        match self.reads() {
            true => Ok(()),
            false => Err(ErrorClass::Access
                .error("the file was opened with MPI_MODE_WRONLY: it cannot be read")),
        }
    }

    /// # Errors
    /// `ReadOnly` if the file was opened for reading only.
    pub(crate) fn check_write(self) -> Result {
        match self.writes() {
            true => Ok(()),
            false => Err(ErrorClass::ReadOnly
                .error("the file was opened with MPI_MODE_RDONLY: it cannot be changed")),
        }
    }

    /// # Errors
    /// `UnsupportedOperation` for a sequential file.
    pub(crate) fn check_random(self) -> Result {
        match self.is_sequential() {
            false => Ok(()),
            true => Err(ErrorClass::UnsupportedOperation.error(
                "the file was opened with MPI_MODE_SEQUENTIAL: expected an access by the shared file \
                 pointer",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_of_access_and_no_contradiction() {
        for legal in [RDONLY, RDWR | CREATE | EXCL, WRONLY | SEQUENTIAL | APPEND, RDWR | ALL & 0x85]
        {
            assert!(FileMode::new(legal).is_ok(), "{legal}");
        }
        let wrong = [
            0,
            CREATE,
            RDONLY | WRONLY,
            RDONLY | RDWR,
            RDONLY | CREATE,
            RDONLY | EXCL,
            RDWR | SEQUENTIAL,
            RDONLY | 512,
            -1,
        ];
        for wrong in wrong {
            let error = FileMode::new(wrong).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::Amode as i32);
            assert!(error.why.contains(&wrong.to_string()), "{error}");
        }
    }

    #[test]
    fn calls_that_the_mode_excludes_have_their_classes() {
        let class = |result: Result| result.map_err(|error| error.code.0);
        let [read, write, sequential] =
            [RDONLY, WRONLY, RDONLY | SEQUENTIAL].map(|mode| FileMode::new(mode).unwrap());
        assert_eq!(class(read.check_write()), Err(ErrorClass::ReadOnly as i32));
        assert_eq!(class(write.check_read()), Err(ErrorClass::Access as i32));
        let unsupported = ErrorClass::UnsupportedOperation as i32;
        assert_eq!(class(sequential.check_random()), Err(unsupported));
        assert!(read.check_read().is_ok() && write.check_write().is_ok());
    }
}
