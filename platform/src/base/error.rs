//! The error of all layers: an MPI error class (MPI 5.0 §9.4) with a sentence.
//!
//! The function that first decides the class writes the sentence, with the offending value. The
//! error is boxed, so `Result` is one word wide on paths without errors.

use std::fmt;

/// The result of every fallible function of the library.
pub type Result<T = (), E = Box<MpiError>> = std::result::Result<T, E>;

/// An error on its way to an error handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiError {
    /// The class, or the user's code that an application callback returned.
    pub code: ErrorCode,
    /// One sentence without a final stop, with the offending value.
    pub why: String,
}

/// An error code of the C interface: a class, or a number of the application.
///
/// Codes of user callbacks are passed on unchanged (§7.7.1: "the error code returned").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub i32);

impl MpiError {
    /// An error with `code` and its sentence.
    pub fn new(code: ErrorCode, why: impl Into<String>) -> Box<Self> {
        Box::new(Self { code, why: why.into() })
    }

    /// Whether the code is that of `class`.
    pub fn is(&self, class: ErrorClass) -> bool {
        self.code.0 == class as i32
    }
}

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for MpiError {}

macro_rules! classes {
    ($($name:ident = $value:literal, $c:literal, $text:literal;)*) => {
        /// The error classes of the standard with their values in the standard ABI (§20), and those
        /// of failures that a job survives (ULFM) with their values in Open MPI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum ErrorClass {
            $(#[doc = $text] $name = $value,)*
        }

        impl ErrorClass {
            /// Every class, in the order of their values.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in `mpi.h`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $c,)* }
            }

            /// The text of `MPI_Error_string` for the class.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

classes! {
    Success = 0, "MPI_SUCCESS", "no error";
    Buffer = 1, "MPI_ERR_BUFFER", "invalid buffer pointer";
    Count = 2, "MPI_ERR_COUNT", "invalid count";
    Type = 3, "MPI_ERR_TYPE", "invalid datatype";
    Tag = 4, "MPI_ERR_TAG", "invalid tag";
    Comm = 5, "MPI_ERR_COMM", "invalid communicator";
    Rank = 6, "MPI_ERR_RANK", "invalid rank";
    Request = 7, "MPI_ERR_REQUEST", "invalid request";
    Root = 8, "MPI_ERR_ROOT", "invalid root";
    Group = 9, "MPI_ERR_GROUP", "invalid group";
    Op = 10, "MPI_ERR_OP", "invalid operation";
    Topology = 11, "MPI_ERR_TOPOLOGY", "invalid topology";
    Dims = 12, "MPI_ERR_DIMS", "invalid dimension argument";
    Arg = 13, "MPI_ERR_ARG", "invalid argument";
    Unknown = 14, "MPI_ERR_UNKNOWN", "unknown error";
    Truncate = 15, "MPI_ERR_TRUNCATE", "message truncated on receive";
    Other = 16, "MPI_ERR_OTHER", "other error";
    Intern = 17, "MPI_ERR_INTERN", "internal error";
    Pending = 18, "MPI_ERR_PENDING", "pending request";
    InStatus = 19, "MPI_ERR_IN_STATUS", "error code is in the status";
    Access = 20, "MPI_ERR_ACCESS", "permission denied";
    Amode = 21, "MPI_ERR_AMODE", "invalid access mode";
    Assert = 22, "MPI_ERR_ASSERT", "invalid assertion";
    BadFile = 23, "MPI_ERR_BAD_FILE", "invalid file name";
    Base = 24, "MPI_ERR_BASE", "invalid base";
    Conversion = 25, "MPI_ERR_CONVERSION", "data conversion failed";
    Disp = 26, "MPI_ERR_DISP", "invalid displacement";
    DupDatarep = 27, "MPI_ERR_DUP_DATAREP", "data representation already defined";
    FileExists = 28, "MPI_ERR_FILE_EXISTS", "file exists";
    FileInUse = 29, "MPI_ERR_FILE_IN_USE", "file in use";
    File = 30, "MPI_ERR_FILE", "invalid file handle";
    InfoKey = 31, "MPI_ERR_INFO_KEY", "invalid info key";
    InfoNokey = 32, "MPI_ERR_INFO_NOKEY", "info key not set";
    InfoValue = 33, "MPI_ERR_INFO_VALUE", "invalid info value";
    Info = 34, "MPI_ERR_INFO", "invalid info object";
    Io = 35, "MPI_ERR_IO", "input or output error";
    Keyval = 36, "MPI_ERR_KEYVAL", "invalid attribute key";
    Locktype = 37, "MPI_ERR_LOCKTYPE", "invalid lock type";
    Name = 38, "MPI_ERR_NAME", "name not published";
    NoMem = 39, "MPI_ERR_NO_MEM", "out of memory";
    NotSame = 40, "MPI_ERR_NOT_SAME", "arguments differ between processes";
    NoSpace = 41, "MPI_ERR_NO_SPACE", "no space left";
    NoSuchFile = 42, "MPI_ERR_NO_SUCH_FILE", "file does not exist";
    Port = 43, "MPI_ERR_PORT", "invalid port name";
    Quota = 44, "MPI_ERR_QUOTA", "quota exceeded";
    ReadOnly = 45, "MPI_ERR_READ_ONLY", "read-only file or file system";
    RmaAttach = 46, "MPI_ERR_RMA_ATTACH", "memory cannot be attached";
    RmaConflict = 47, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window";
    RmaRange = 48, "MPI_ERR_RMA_RANGE", "memory is not part of the window";
    RmaShared = 49, "MPI_ERR_RMA_SHARED", "memory cannot be shared";
    RmaSync = 50, "MPI_ERR_RMA_SYNC", "wrong synchronization of window calls";
    Service = 51, "MPI_ERR_SERVICE", "invalid service name";
    Size = 52, "MPI_ERR_SIZE", "invalid size";
    Spawn = 53, "MPI_ERR_SPAWN", "processes could not be spawned";
    UnsupportedDatarep = 54, "MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation";
    UnsupportedOperation = 55, "MPI_ERR_UNSUPPORTED_OPERATION", "unsupported operation";
    Win = 56, "MPI_ERR_WIN", "invalid window";
    RmaFlavor = 57, "MPI_ERR_RMA_FLAVOR", "wrong flavor of window";
    ProcAborted = 58, "MPI_ERR_PROC_ABORTED", "a peer process has aborted";
    ValueTooLarge = 59, "MPI_ERR_VALUE_TOO_LARGE", "value too large to store";
    Session = 60, "MPI_ERR_SESSION", "invalid session";
    Errhandler = 61, "MPI_ERR_ERRHANDLER", "invalid error handler";
    Abi = 62, "MPI_ERR_ABI", "invalid use of the application binary interface";
    ProcFailed = 75, "MPIX_ERR_PROC_FAILED", "a process that takes part has failed";
    ProcFailedPending = 76, "MPIX_ERR_PROC_FAILED_PENDING",
        "a process that may send the message has failed";
    Revoked = 77, "MPIX_ERR_REVOKED", "the communicator has been revoked";
}

impl ErrorClass {
    /// The class with this value, if the standard has one.
    pub fn from_value(value: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| *class as i32 == value)
    }

    /// Whether an operation got this error because a process has failed or a communicator was
    /// revoked, and not by itself.
    pub fn is_of_failure(code: ErrorCode) -> bool {
        [Self::ProcFailed, Self::ProcFailedPending, Self::Revoked]
            .iter()
            .any(|class| *class as i32 == code.0)
    }

    /// An error of this class with its sentence.
    pub fn error(self, why: impl Into<String>) -> Box<MpiError> {
        MpiError::new(ErrorCode(self as i32), why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_find_their_class_and_those_of_the_standard_are_dense() {
        for (index, class) in ErrorClass::ALL.iter().enumerate() {
            let value = *class as i32;
            assert!(value == index as i32 || value >= ErrorClass::ProcFailed as i32);
            assert_eq!(ErrorClass::from_value(value), Some(*class));
        }
        for none in [-1, 63, 74, 78] {
            assert_eq!(ErrorClass::from_value(none), None);
        }
    }

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<Result>(), size_of::<usize>());
    }
}
