//! Predefined procedures that an application passes as callbacks. They are identified by their
//! addresses, one for each name. If one is called nevertheless, it behaves as in the standard.

use std::ffi::c_void;
use std::ptr;

use crate::c::*;
use crate::entry::meaning;

/// C's constant for procedures that copy nothing or delete nothing.
const NULL_FN: usize = 0;
/// C's constant for procedures that copy the value.
const DUP_FN: usize = 1;

/// The C argument for a copy function.
pub(crate) fn copy_function(given: *const c_void) -> *const c_void {
    match meaning(given) {
        Some(name) if name.ends_with("NULL_COPY_FN") => ptr::without_provenance(NULL_FN),
        Some(name) if name.ends_with("DUP_FN") => ptr::without_provenance(DUP_FN),
        _ => given,
    }
}

/// The C argument for a delete function.
pub(crate) fn delete_function(given: *const c_void) -> *const c_void {
    match meaning(given) {
        Some(name) if name.ends_with("NULL_DELETE_FN") => ptr::without_provenance(NULL_FN),
        _ => given,
    }
}

/// Whether a conversion function of a data representation means no conversion.
pub(crate) fn is_no_conversion(given: *const c_void) -> bool {
    meaning(given) == Some("MPI_CONVERSION_FN_NULL")
}

/// Defines a copy function that copies nothing, and one that copies the value.
macro_rules! copies {
    ($null:ident, $dup:ident, $value:ty) => {
        #[doc = concat!("`", stringify!($null), "`: copies nothing.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $null(
            _object: *const Fint, _keyval: *const Fint, _extra_state: *const $value,
            _value_in: *const $value, _value_out: *mut $value, flag: *mut Fint, ierror: *mut Fint,
        ) {
            // SAFETY: the caller's promise of the results.
            unsafe {
                *flag = 0;
                *ierror = MPI_SUCCESS;
            }
        }

        #[doc = concat!("`", stringify!($dup), "`: copies the value.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $dup(
            _object: *const Fint, _keyval: *const Fint, _extra_state: *const $value,
            value_in: *const $value, value_out: *mut $value, flag: *mut Fint, ierror: *mut Fint,
        ) {
            // SAFETY: the caller's promise of the values and the results.
            unsafe {
                *value_out = *value_in;
                *flag = 1;
                *ierror = MPI_SUCCESS;
            }
        }
    };
}

copies!(pmpi_comm_null_copy_fn_, pmpi_comm_dup_fn_, Aint);
copies!(pmpi_type_null_copy_fn_, pmpi_type_dup_fn_, Aint);
copies!(pmpi_win_null_copy_fn_, pmpi_win_dup_fn_, Aint);
copies!(pmpi_null_copy_fn_, pmpi_dup_fn_, Fint);

/// Defines delete functions that do nothing.
macro_rules! deletes {
    ($($null:ident: $value:ty;)*) => {
        $(
            #[doc = concat!("`", stringify!($null), "`: does nothing.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $null(
                _object: *const Fint, _keyval: *const Fint, _value: *const $value,
                _extra_state: *const $value, ierror: *mut Fint,
            ) {
                // SAFETY: the caller's promise of the result.
                unsafe { *ierror = MPI_SUCCESS };
            }
        )*
    };
}

deletes! {
    pmpi_comm_null_delete_fn_: Aint;
    pmpi_type_null_delete_fn_: Aint;
    pmpi_win_null_delete_fn_: Aint;
    pmpi_null_delete_fn_: Fint;
}

/// `MPI_CONVERSION_FN_NULL`: means no conversion, and is never called.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_conversion_fn_null_() {}
