//! What a status says, and how an application fills one (MPI 5.0, chapters 3 and 13).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::c_int;

use super::constants::MPI_SUCCESS;
use super::types::*;
use super::verb::{Scope, unsupported};
use super::width::narrowed;

/// How many whole items of a datatype were received; `MPI_UNDEFINED` if a part is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_count_c(
    status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Get_count_c", Scope::None)
}

/// [`PMPI_Get_count_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_count(
    status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { narrowed(count, |count| PMPI_Get_count_c(status, datatype, count)) }
}

/// How many basic elements were received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_elements_c(
    status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Get_elements_c", Scope::None)
}

/// [`PMPI_Get_elements_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_elements(
    status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { narrowed(count, |count| PMPI_Get_elements_c(status, datatype, count)) }
}

/// `MPI_Get_elements_c` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_elements_x(
    status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Get_elements_c(status, datatype, count) }
}

/// The field `MPI_ERROR`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_get_error(
    status: *const MPI_Status, error: *mut c_int,
) -> c_int {
    // SAFETY: the caller gives a valid status and a valid result pointer.
    unsafe { *error = (*status).MPI_ERROR };
    MPI_SUCCESS
}

/// The field `MPI_SOURCE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_get_source(
    status: *const MPI_Status, source: *mut c_int,
) -> c_int {
    // SAFETY: the caller gives a valid status and a valid result pointer.
    unsafe { *source = (*status).MPI_SOURCE };
    MPI_SUCCESS
}

/// The field `MPI_TAG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_get_tag(status: *const MPI_Status, tag: *mut c_int) -> c_int {
    // SAFETY: the caller gives a valid status and a valid result pointer.
    unsafe { *tag = (*status).MPI_TAG };
    MPI_SUCCESS
}

/// Sets what `MPI_Test_cancelled` says of this status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) -> c_int {
    // SAFETY: the caller gives a valid status.
    unsafe { (*status).set_cancelled(flag != 0) };
    MPI_SUCCESS
}

/// Sets what `MPI_Get_elements` says of this status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_elements_c(
    status: *mut MPI_Status, datatype: MPI_Datatype, count: MPI_Count,
) -> c_int {
    unsupported("MPI_Status_set_elements_c", Scope::None)
}

/// [`PMPI_Status_set_elements_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_elements(
    status: *mut MPI_Status, datatype: MPI_Datatype, count: c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Status_set_elements_c(status, datatype, count.into()) }
}

/// `MPI_Status_set_elements_c` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_elements_x(
    status: *mut MPI_Status, datatype: MPI_Datatype, count: MPI_Count,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Status_set_elements_c(status, datatype, count) }
}

/// Sets the field `MPI_ERROR`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_error(status: *mut MPI_Status, error: c_int) -> c_int {
    // SAFETY: the caller gives a valid status.
    unsafe { (*status).MPI_ERROR = error };
    MPI_SUCCESS
}

/// Sets the field `MPI_SOURCE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_source(status: *mut MPI_Status, source: c_int) -> c_int {
    // SAFETY: the caller gives a valid status.
    unsafe { (*status).MPI_SOURCE = source };
    MPI_SUCCESS
}

/// Sets the field `MPI_TAG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_tag(status: *mut MPI_Status, tag: c_int) -> c_int {
    // SAFETY: the caller gives a valid status.
    unsafe { (*status).MPI_TAG = tag };
    MPI_SUCCESS
}

/// Whether the operation of this status was cancelled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int) -> c_int {
    // SAFETY: the caller gives a valid status and a valid result pointer.
    unsafe { *flag = (*status).cancelled().into() };
    MPI_SUCCESS
}
