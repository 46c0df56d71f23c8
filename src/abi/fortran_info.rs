//! What the ABI library knows of itself and of Fortran (MPI 5.0, chapter 20).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::slice;

use super::constants::{MPI_ABI_SUBVERSION, MPI_ABI_VERSION, MPI_SUCCESS};
use super::handles::{MPI_INFO_NULL, handle};
use super::info::store;
use super::types::*;
use super::verb::{Scope, finish, number, visit};
use crate::base::{ErrorClass, Result};
use crate::mpi::fortran::{Booleans, logical_size};
use crate::mpi::info::Info;
use crate::mpi::objects::Infos;

/// Fortran's truth values for a LOGICAL of `logical_size` bytes, if they are known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_fortran_booleans(
    logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void, is_set: *mut c_int,
) -> c_int {
    let name = "MPI_Abi_get_fortran_booleans";
    let size = match logical_bytes(logical_size, logical_true, logical_false) {
        Ok(size) => size,
        Err(error) => return finish(Scope::None, name, Err(error)),
    };
    visit(name, Scope::None, |objects| {
        let known = objects.fortran.booleans();
        // SAFETY: the caller gives a valid result pointer.
        unsafe { *is_set = known.is_some().into() };
        let Some(known) = known else { return Ok(()) };
        let [truth, falsity] = known.of_size(size)?;
        // SAFETY: the caller's logical values have so many bytes.
        unsafe {
            truth.as_ptr().copy_to(logical_true.cast(), size);
            falsity.as_ptr().copy_to(logical_false.cast(), size);
        }
        Ok(())
    })
}

/// What the Fortran library said about its types, or `MPI_INFO_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_fortran_info(info: *mut MPI_Info) -> c_int {
    visit("MPI_Abi_get_fortran_info", Scope::None, |objects| {
        let made = match objects.fortran.info() {
            Some(known) => handle(objects.infos.insert(known.clone())? as c_int),
            None => MPI_INFO_NULL,
        };
        // SAFETY: the caller gives a valid result pointer.
        unsafe { *info = made };
        Ok(())
    })
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

/// Tells Fortran's truth values for a LOGICAL of `logical_size` bytes; the first caller wins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_set_fortran_booleans(
    logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void,
) -> c_int {
    let name = "MPI_Abi_set_fortran_booleans";
    let booleans = logical_bytes(logical_size, logical_true, logical_false).map(|size| {
        // SAFETY: the caller's logical values have so many bytes.
        let bytes = |of: *mut c_void| unsafe { slice::from_raw_parts(of.cast(), size) };
        Booleans::new(bytes(logical_true), bytes(logical_false))
    });
    visit(name, Scope::None, |objects| objects.fortran.set_booleans(booleans?))
}

/// Tells what Fortran's types are; the first caller wins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_set_fortran_info(info: MPI_Info) -> c_int {
    visit("MPI_Abi_set_fortran_info", Scope::None, |objects| {
        objects.fortran.describe(objects.infos.get(number(info))?)
    })
}

/// The size of the caller's logical values.
///
/// # Errors
/// `Arg` for a size that no LOGICAL has, and for a null pointer.
fn logical_bytes(size: c_int, truth: *mut c_void, falsity: *mut c_void) -> Result<usize> {
    let size = logical_size(size)?;
    if truth.is_null() || falsity.is_null() {
        return Err(ErrorClass::Arg.error("a logical value is a null pointer"));
    }
    Ok(size)
}
