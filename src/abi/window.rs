//! Windows for one-sided communication (MPI 5.0, chapter 12): making, freeing, hints.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::{Scope, unsupported};
use super::width::narrowed;

/// A window of memory that the library allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_allocate_c(
    size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    unsupported("MPI_Win_allocate_c", comm)
}

/// [`PMPI_Win_allocate_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_allocate(
    size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Win_allocate_c(size, disp_unit as MPI_Aint, info, comm, baseptr, win) }
}

/// A window of memory that all its processes can load and store.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_allocate_shared_c(
    size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    unsupported("MPI_Win_allocate_shared_c", comm)
}

/// [`PMPI_Win_allocate_shared_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_allocate_shared(
    size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Win_allocate_shared_c(size, disp_unit as MPI_Aint, info, comm, baseptr, win) }
}

/// Adds memory to a dynamic window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) -> c_int {
    unsupported("MPI_Win_attach", win)
}

/// A window of the caller's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_c(
    base: *mut c_void, size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm,
    win: *mut MPI_Win,
) -> c_int {
    unsupported("MPI_Win_create_c", comm)
}

/// [`PMPI_Win_create_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create(
    base: *mut c_void, size: MPI_Aint, disp_unit: c_int, info: MPI_Info, comm: MPI_Comm,
    win: *mut MPI_Win,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Win_create_c(base, size, disp_unit as MPI_Aint, info, comm, win) }
}

/// A window without memory; `MPI_Win_attach` adds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_dynamic(
    info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win,
) -> c_int {
    unsupported("MPI_Win_create_dynamic", comm)
}

/// Removes memory from a dynamic window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_detach(win: MPI_Win, base: *const c_void) -> c_int {
    unsupported("MPI_Win_detach", win)
}

/// Frees a window; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_free(win: *mut MPI_Win) -> c_int {
    unsupported("MPI_Win_free", Scope::None)
}

/// The group of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) -> c_int {
    unsupported("MPI_Win_get_group", win)
}

/// The hints of a window that are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_info(win: MPI_Win, info_used: *mut MPI_Info) -> c_int {
    unsupported("MPI_Win_get_info", win)
}

/// Changes the hints of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_set_info(win: MPI_Win, info: MPI_Info) -> c_int {
    unsupported("MPI_Win_set_info", win)
}

/// Where a process's part of shared memory is in the caller's address space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_shared_query_c(
    win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut MPI_Aint, baseptr: *mut c_void,
) -> c_int {
    unsupported("MPI_Win_shared_query_c", win)
}

/// [`PMPI_Win_shared_query_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_shared_query(
    win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut c_int, baseptr: *mut c_void,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        narrowed(disp_unit, |disp_unit| {
            PMPI_Win_shared_query_c(win, rank, size, disp_unit.cast(), baseptr)
        })
    }
}
