//! The C functions, and Fortran's names for C types.

#![allow(dead_code, reason = "all functions of the standard are declared; some are only for C")]

use std::ffi::{c_char, c_int, c_void};

/// INTEGER.
pub(crate) type Fint = c_int;
/// INTEGER(KIND=MPI_ADDRESS_KIND).
pub(crate) type Aint = isize;
/// INTEGER(KIND=MPI_COUNT_KIND).
pub(crate) type Count = i64;
/// INTEGER(KIND=MPI_OFFSET_KIND).
pub(crate) type Offset = i64;

/// A handle of any kind.
pub(crate) type Handle = *mut c_void;
type MPI_Comm = Handle;
type MPI_Datatype = Handle;
type MPI_Errhandler = Handle;
type MPI_File = Handle;
type MPI_Group = Handle;
type MPI_Info = Handle;
type MPI_Message = Handle;
type MPI_Op = Handle;
type MPI_Request = Handle;
type MPI_Session = Handle;
type MPI_Win = Handle;

pub(crate) type MPI_Aint = Aint;
type MPI_Count = Count;
type MPI_Offset = Offset;
type MPI_Fint = Fint;
/// A status: eight numbers, in C and in every form of Fortran.
pub(crate) type MPI_Status = [c_int; 8];
type MPI_F08_status = MPI_Status;

/// `MPI_SUCCESS`.
pub(crate) const MPI_SUCCESS: c_int = 0;
/// `MPI_UNDEFINED`.
pub(crate) const MPI_UNDEFINED: c_int = -32766;
/// `MPI_COMM_NULL`.
pub(crate) const MPI_COMM_NULL: c_int = 256;
/// `MPI_COMM_SELF`.
pub(crate) const MPI_COMM_SELF: c_int = 258;
/// Bytes with the final zero (MPI 5.0, annex A.1.1).
pub(crate) const MPI_MAX_DATAREP_STRING: usize = 128;
/// Bytes with the final zero.
pub(crate) const MPI_MAX_ERROR_STRING: usize = 512;
/// Bytes with the final zero.
pub(crate) const MPI_MAX_INFO_KEY: usize = 256;
/// Bytes with the final zero.
pub(crate) const MPI_MAX_LIBRARY_VERSION_STRING: usize = 8192;
/// Bytes with the final zero.
pub(crate) const MPI_MAX_OBJECT_NAME: usize = 128;
/// Bytes with the final zero.
pub(crate) const MPI_MAX_PORT_NAME: usize = 1024;
/// Bytes with the final zero.
pub(crate) const MPI_MAX_PROCESSOR_NAME: usize = 256;

/// `MPI_ERR_UNSUPPORTED_OPERATION`.
const MPI_ERR_UNSUPPORTED_OPERATION: c_int = 55;

/// Defines functions that jump to those of C with the same names. Libraries of C with only the functions of the
/// standard do not have them: then the result is `MPI_ERR_UNSUPPORTED_OPERATION`. The symbols are weak, so the
/// loader does not ask for them.
macro_rules! optional {
    ($($name:ident($($argument:ident: $of:ty),*);)*) => {
        $(
            /// The function of this name in `mpi-ext.h`.
            #[unsafe(naked)]
            pub(crate) unsafe extern "C" fn $name($($argument: $of),*) -> c_int {
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!(
                    concat!(".weak ", stringify!($name)),
                    concat!("mov rax, qword ptr [rip + ", stringify!($name), "@GOTPCREL]"),
                    "test rax, rax",
                    "jz {}",
                    "jmp rax",
                    sym absent,
                );
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!(
                    concat!(".weak ", stringify!($name)),
                    concat!("adrp x16, :got:", stringify!($name)),
                    concat!("ldr x16, [x16, :got_lo12:", stringify!($name), "]"),
                    "cbz x16, 2f",
                    "br x16",
                    "2: b {}",
                    sym absent,
                );
            }
        )*
    };
}

extern "C" fn absent() -> c_int {
    MPI_ERR_UNSUPPORTED_OPERATION
}

include!(concat!(env!("OUT_DIR"), "/c.rs"));
include!(concat!(env!("OUT_DIR"), "/extension.rs"));
