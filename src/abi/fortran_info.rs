//! Properties of the ABI and of Fortran (MPI 5.0, chapter 20).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::constants::{MPI_ABI_SUBVERSION, MPI_ABI_VERSION};
use super::entry_point::{Scope, number, unlocked, visit};
use super::handles::{MPI_INFO_NULL, handle};
use super::info::store;
use super::types::*;
use crate::abi::arguments::pointer::{list, out, out_list};
use crate::mpi::fortran::{self, Booleans};
use crate::mpi::info::Info;
use crate::mpi::objects::Infos;

/// The truth values of Fortran for a LOGICAL of `logical_size` bytes, if registered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_fortran_booleans(
    logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void, is_set: *mut c_int,
) -> c_int {
    visit("MPI_Abi_get_fortran_booleans", Scope::None, |objects| {
        let size = fortran::logical_size(logical_size)?;
        // SAFETY: the caller's logical values have so many bytes, and the promise of the result.
        let (truth, falsity, is_set) = unsafe {
            (
                out_list((size, logical_true.cast::<u8>()), "logical_true")?,
                out_list((size, logical_false.cast::<u8>()), "logical_false")?,
                out(is_set, "is_set")?,
            )
        };
        let known = objects.fortran.booleans();
        is_set.put(known.is_some().into());
        let Some(known) = known else { return Ok(()) };
        let [true_bytes, false_bytes] = known.of_size(size)?;
        truth.put(true_bytes);
        falsity.put(false_bytes);
        Ok(())
    })
}

/// The registered description of Fortran types, or `MPI_INFO_NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_fortran_info(info: *mut MPI_Info) -> c_int {
    visit("MPI_Abi_get_fortran_info", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let info = unsafe { out(info, "info")? };
        info.put(match objects.fortran.info() {
            Some(known) => handle(objects.infos.insert(known.clone())? as c_int),
            None => MPI_INFO_NULL,
        });
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
    unsafe { store("MPI_Abi_get_info", (info, "info"), sizes) }
}

/// The version of the standard ABI of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_version(
    abi_major: *mut c_int, abi_minor: *mut c_int,
) -> c_int {
    unlocked("MPI_Abi_get_version", || {
        // SAFETY: the caller's promise of the results.
        let (major, minor) =
            unsafe { (out(abi_major, "abi_major")?, out(abi_minor, "abi_minor")?) };
        major.put(MPI_ABI_VERSION);
        minor.put(MPI_ABI_SUBVERSION);
        Ok(())
    })
}

/// Registers the truth values of Fortran for a LOGICAL of `logical_size` bytes, once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_set_fortran_booleans(
    logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void,
) -> c_int {
    visit("MPI_Abi_set_fortran_booleans", Scope::None, |objects| {
        let size = fortran::logical_size(logical_size)?;
        // SAFETY: the caller's logical values have so many bytes.
        let (truth, falsity) = unsafe {
            (
                list((size, logical_true.cast_const().cast()), "logical_true")?,
                list((size, logical_false.cast_const().cast()), "logical_false")?,
            )
        };
        objects.fortran.set_booleans(Booleans::new(truth, falsity))
    })
}

/// Registers a description of Fortran types, once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_set_fortran_info(info: MPI_Info) -> c_int {
    visit("MPI_Abi_set_fortran_info", Scope::None, |objects| {
        objects.fortran.describe(objects.infos.get(number(info))?)
    })
}
