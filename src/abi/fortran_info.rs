//! What the ABI library knows of itself and of Fortran (MPI 5.0, chapter 20).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::constants::{MPI_ABI_SUBVERSION, MPI_ABI_VERSION, MPI_SUCCESS};
use super::info::store;
use super::types::*;
use super::verb::{Scope, unsupported};
use crate::mpi::info::Info;
use crate::mpi::objects::Infos;

/// Fortran's logical values of a size, if the Fortran library set them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_fortran_booleans(
    logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void, is_set: *mut c_int,
) -> c_int {
    unsupported("MPI_Abi_get_fortran_booleans", Scope::None)
}

/// What the Fortran library said about its types, or `MPI_INFO_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_fortran_info(info: *mut MPI_Info) -> c_int {
    unsupported("MPI_Abi_get_fortran_info", Scope::None)
}

/// The sizes of the ABI's integer types, as an info object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_info(info: *mut MPI_Info) -> c_int {
    let sizes = |_: &Infos| {
        let mut sizes = Info::default();
        for (key, bytes) in [
            (&b"mpi_aint_size"[..], size_of::<MPI_Aint>()),
            (b"mpi_count_size", size_of::<MPI_Count>()),
            (b"mpi_offset_size", size_of::<MPI_Offset>()),
        ] {
            sizes.set(key, bytes.to_string().as_bytes())?;
        }
        Ok(sizes)
    };
    // SAFETY: the caller gives a valid result pointer.
    unsafe { store("MPI_Abi_get_info", info, sizes) }
}

/// The version of the standard ABI that this library has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_version(
    abi_major: *mut c_int, abi_minor: *mut c_int,
) -> c_int {
    // SAFETY: the caller gives valid result pointers.
    unsafe {
        *abi_major = MPI_ABI_VERSION;
        *abi_minor = MPI_ABI_SUBVERSION;
    }
    MPI_SUCCESS
}

/// Sets Fortran's logical values of a size; the first caller wins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_set_fortran_booleans(
    logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void,
) -> c_int {
    unsupported("MPI_Abi_set_fortran_booleans", Scope::None)
}

/// Describes Fortran's types; the first caller wins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_set_fortran_info(info: MPI_Info) -> c_int {
    unsupported("MPI_Abi_set_fortran_info", Scope::None)
}
