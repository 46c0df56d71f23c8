//! Fields of a status, and setting them (MPI 5.0, chapters 3 and 13).

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::arguments::pointer::{in_out, input, out};
use crate::abi::arguments::user_memory::checked_count;
use crate::abi::constants::MPI_UNDEFINED;
use crate::abi::entry_point::{Scope, early, number, unlocked};
use crate::abi::types::*;
use crate::mpi::datatype::{Datatype, PackedForm};
use platform::base::ErrorClass;

/// Number of whole items received; `MPI_UNDEFINED` if a part of an item remains.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_count_c(
    status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count,
) -> c_int {
    // SAFETY: the caller gives a valid status and a valid result pointer.
    unsafe { counted("MPI_Get_count", status, datatype, count, Datatype::count_in) }
}

/// Number of basic elements received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_elements_c(
    status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count,
) -> c_int {
    // SAFETY: the caller gives a valid status and a valid result pointer.
    unsafe { counted("MPI_Get_elements", status, datatype, count, Datatype::elements_in) }
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
    // SAFETY: the caller's promise of the status and of the result.
    unsafe { shown("MPI_Status_get_error", status, (error, "error"), |status| status.MPI_ERROR) }
}

/// The field `MPI_SOURCE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_get_source(
    status: *const MPI_Status, source: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise of the status and of the result.
    unsafe {
        shown("MPI_Status_get_source", status, (source, "source"), |status| status.MPI_SOURCE)
    }
}

/// The field `MPI_TAG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_get_tag(status: *const MPI_Status, tag: *mut c_int) -> c_int {
    // SAFETY: the caller's promise of the status and of the result.
    unsafe { shown("MPI_Status_get_tag", status, (tag, "tag"), |status| status.MPI_TAG) }
}

/// Sets the result of `MPI_Test_cancelled` for this status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) -> c_int {
    // SAFETY: the caller's promise of the status.
    unsafe { changed("MPI_Status_set_cancelled", status, |status| status.set_cancelled(flag != 0)) }
}

/// Sets the result of `MPI_Get_elements` for this status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_elements_c(
    status: *mut MPI_Status, datatype: MPI_Datatype, count: MPI_Count,
) -> c_int {
    early("MPI_Status_set_elements", Scope::None, |objects| {
        // SAFETY: the caller's promise of the status.
        let status = unsafe { in_out(status, "status")? };
        let found = &objects.datatypes.get(number(datatype))?.datatype;
        let bytes = found.bytes_of_elements(checked_count(count)?);
        let bytes = bytes.and_then(|bytes| MPI_Count::try_from(bytes).ok()).ok_or_else(|| {
            let what = found.describe();
            ErrorClass::Count.error(format!("{what} cannot make up {count} elements"))
        })?;
        status.change(|status| {
            status.set_count_bytes(bytes);
            status.set_flags(status.cancelled(), false);
        });
        Ok(())
    })
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
    // SAFETY: the caller's promise of the status.
    unsafe { changed("MPI_Status_set_error", status, |status| status.MPI_ERROR = error) }
}

/// Sets the field `MPI_SOURCE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_source(status: *mut MPI_Status, source: c_int) -> c_int {
    // SAFETY: the caller's promise of the status.
    unsafe { changed("MPI_Status_set_source", status, |status| status.MPI_SOURCE = source) }
}

/// Sets the field `MPI_TAG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Status_set_tag(status: *mut MPI_Status, tag: c_int) -> c_int {
    // SAFETY: the caller's promise of the status.
    unsafe { changed("MPI_Status_set_tag", status, |status| status.MPI_TAG = tag) }
}

/// Whether the operation of this status was cancelled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int) -> c_int {
    let cancelled = |status: &MPI_Status| status.cancelled().into();
    // SAFETY: the caller's promise of the status and of the result.
    unsafe { shown("MPI_Test_cancelled", status, (flag, "flag"), cancelled) }
}

/// Stores a field of a status.
///
/// # Safety
/// `status` is null or may be read, `result` is null or may be written.
unsafe fn shown(
    name: &str, status: *const MPI_Status, (result, argument): (*mut c_int, &str),
    what: impl FnOnce(&MPI_Status) -> c_int,
) -> c_int {
    unlocked(name, || {
        // SAFETY: the caller's promise.
        let (status, result) = unsafe { (input(status, "status")?, out(result, argument)?) };
        result.put(what(status));
        Ok(())
    })
}

/// Changes a field of a status.
///
/// # Safety
/// `status` is null or may be read and written.
unsafe fn changed(name: &str, status: *mut MPI_Status, how: impl FnOnce(&mut MPI_Status)) -> c_int {
    unlocked(name, || {
        // SAFETY: the caller's promise.
        unsafe { in_out(status, "status")? }.change(how);
        Ok(())
    })
}

/// Stores the number of items in the bytes of a status.
///
/// # Safety
/// `status` is null or may be read, `count` is null or may be written.
unsafe fn counted(
    name: &str, status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count,
    how: impl FnOnce(&Datatype, PackedForm, usize) -> Option<usize>,
) -> c_int {
    early(name, Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let (status, count) = unsafe { (input(status, "status")?, out(count, "count")?) };
        let found = &objects.datatypes.get(number(datatype))?.datatype;
        let form = if status.is_external() { PackedForm::External } else { PackedForm::Native };
        let bytes = usize::try_from(status.count_bytes()).ok();
        let items = bytes.and_then(|bytes| how(found, form, bytes));
        count.put(items.map_or(MPI_UNDEFINED.into(), |items| items as MPI_Count));
        Ok(())
    })
}
