//! The predefined handles of the standard ABI, and the pointers that are not addresses.
//!
//! Values: MPI 5.0, chapter 20; checked against `tests/data/abi_constants.tsv`.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::types::*;

/// The handle that holds this integer.
pub const fn handle<T>(value: c_int) -> *mut T {
    ptr::without_provenance_mut(value as u32 as usize)
}

macro_rules! handles {
    ($($kind:ty { $($name:ident = $value:literal,)* })*) => {
        $($(
            #[doc = concat!("`", stringify!($name), "` of `mpi.h`.")]
            pub const $name: $kind = handle($value);
        )*)*

        /// Every constant of this module with its value.
        pub const ALL: &[(&str, i64)] = &[$($((stringify!($name), $value),)*)*];
    };
}

handles! {
    MPI_Comm {
        MPI_COMM_NULL = 0x100,
        MPI_COMM_WORLD = 0x101,
        MPI_COMM_SELF = 0x102,
    }
    MPI_Datatype {
        MPI_DATATYPE_NULL = 0x200,
        MPI_AINT = 0x201,
        MPI_COUNT = 0x202,
        MPI_OFFSET = 0x203,
        MPI_PACKED = 0x207,
        MPI_SHORT = 0x208,
        MPI_INT = 0x209,
        MPI_LONG = 0x20a,
        MPI_LONG_LONG = 0x20b,
        MPI_LONG_LONG_INT = 0x20b,
        MPI_UNSIGNED_SHORT = 0x20c,
        MPI_UNSIGNED = 0x20d,
        MPI_UNSIGNED_LONG = 0x20e,
        MPI_UNSIGNED_LONG_LONG = 0x20f,
        MPI_FLOAT = 0x210,
        MPI_C_FLOAT_COMPLEX = 0x212,
        MPI_C_COMPLEX = 0x212,
        MPI_CXX_FLOAT_COMPLEX = 0x213,
        MPI_DOUBLE = 0x214,
        MPI_C_DOUBLE_COMPLEX = 0x216,
        MPI_CXX_DOUBLE_COMPLEX = 0x217,
        MPI_LOGICAL = 0x218,
        MPI_INTEGER = 0x219,
        MPI_REAL = 0x21a,
        MPI_COMPLEX = 0x21b,
        MPI_DOUBLE_PRECISION = 0x21c,
        MPI_DOUBLE_COMPLEX = 0x21d,
        MPI_CHARACTER = 0x21e,
        MPI_LONG_DOUBLE = 0x220,
        MPI_C_LONG_DOUBLE_COMPLEX = 0x224,
        MPI_CXX_LONG_DOUBLE_COMPLEX = 0x225,
        MPI_FLOAT_INT = 0x228,
        MPI_DOUBLE_INT = 0x229,
        MPI_LONG_INT = 0x22a,
        MPI_2INT = 0x22b,
        MPI_SHORT_INT = 0x22c,
        MPI_LONG_DOUBLE_INT = 0x22d,
        MPI_2REAL = 0x230,
        MPI_2DOUBLE_PRECISION = 0x231,
        MPI_2INTEGER = 0x232,
        MPI_C_BOOL = 0x238,
        MPI_CXX_BOOL = 0x239,
        MPI_WCHAR = 0x23c,
        MPI_INT8_T = 0x240,
        MPI_UINT8_T = 0x241,
        MPI_CHAR = 0x243,
        MPI_SIGNED_CHAR = 0x244,
        MPI_UNSIGNED_CHAR = 0x245,
        MPI_BYTE = 0x247,
        MPI_INT16_T = 0x248,
        MPI_UINT16_T = 0x249,
        MPI_INT32_T = 0x250,
        MPI_UINT32_T = 0x251,
        MPI_INT64_T = 0x258,
        MPI_UINT64_T = 0x259,
        MPI_LOGICAL1 = 0x2c0,
        MPI_INTEGER1 = 0x2c1,
        MPI_LOGICAL2 = 0x2c8,
        MPI_INTEGER2 = 0x2c9,
        MPI_REAL2 = 0x2ca,
        MPI_LOGICAL4 = 0x2d0,
        MPI_INTEGER4 = 0x2d1,
        MPI_REAL4 = 0x2d2,
        MPI_COMPLEX4 = 0x2d3,
        MPI_LOGICAL8 = 0x2d8,
        MPI_INTEGER8 = 0x2d9,
        MPI_REAL8 = 0x2da,
        MPI_COMPLEX8 = 0x2db,
        MPI_LOGICAL16 = 0x2e0,
        MPI_INTEGER16 = 0x2e1,
        MPI_REAL16 = 0x2e2,
        MPI_COMPLEX16 = 0x2e3,
        MPI_COMPLEX32 = 0x2eb,
    }
    MPI_Errhandler {
        MPI_ERRHANDLER_NULL = 0x140,
        MPI_ERRORS_ARE_FATAL = 0x141,
        MPI_ERRORS_ABORT = 0x142,
        MPI_ERRORS_RETURN = 0x143,
    }
    MPI_File {
        MPI_FILE_NULL = 0x118,
    }
    MPI_Group {
        MPI_GROUP_NULL = 0x108,
        MPI_GROUP_EMPTY = 0x109,
    }
    MPI_Info {
        MPI_INFO_NULL = 0x130,
        MPI_INFO_ENV = 0x131,
    }
    MPI_Message {
        MPI_MESSAGE_NULL = 0x128,
        MPI_MESSAGE_NO_PROC = 0x129,
    }
    MPI_Op {
        MPI_OP_NULL = 0x20,
        MPI_SUM = 0x21,
        MPI_MIN = 0x22,
        MPI_MAX = 0x23,
        MPI_PROD = 0x24,
        MPI_BAND = 0x28,
        MPI_BOR = 0x29,
        MPI_BXOR = 0x2a,
        MPI_LAND = 0x30,
        MPI_LOR = 0x31,
        MPI_LXOR = 0x32,
        MPI_MINLOC = 0x38,
        MPI_MAXLOC = 0x39,
        MPI_REPLACE = 0x3c,
        MPI_NO_OP = 0x3d,
    }
    MPI_Request {
        MPI_REQUEST_NULL = 0x180,
    }
    MPI_Session {
        MPI_SESSION_NULL = 0x120,
    }
    MPI_Win {
        MPI_WIN_NULL = 0x110,
    }
    *mut c_void {
        MPI_BOTTOM = 0,
        MPI_IN_PLACE = 1,
        MPI_BUFFER_AUTOMATIC = 2,
    }
    *mut MPI_Status {
        MPI_STATUS_IGNORE = 0,
        MPI_STATUSES_IGNORE = 0,
    }
    *mut c_int {
        MPI_ERRCODES_IGNORE = 0,
        MPI_UNWEIGHTED = 10,
        MPI_WEIGHTS_EMPTY = 11,
    }
    MPI_T_enum {
        MPI_T_ENUM_NULL = 0,
    }
    MPI_T_cvar_handle {
        MPI_T_CVAR_HANDLE_NULL = 0,
    }
    MPI_T_pvar_session {
        MPI_T_PVAR_SESSION_NULL = 0,
    }
    MPI_T_pvar_handle {
        MPI_T_PVAR_HANDLE_NULL = 0,
        MPI_T_PVAR_ALL_HANDLES = 1,
    }
}
