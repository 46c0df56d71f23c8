//! Attributes and their keys (MPI 5.0 §7.7 and §19.3.7). The C library stores the language of each
//! value and of the functions of each key, and calls those functions: a copy may be requested from
//! either language.

use std::ffi::{c_int, c_void};

use super::predefined::{copy_function, delete_function};
use crate::argument::{answer, handle};
use crate::c::*;
use crate::logical::logical;

/// The kinds of objects with attributes, in the numbering of the C library.
const COMM: c_int = 0;
const DATATYPE: c_int = 1;
const WIN: c_int = 2;

/// Values of type INTEGER, as in MPI-1.
const NARROW: c_int = 0;
/// Values of kind `MPI_ADDRESS_KIND`.
const WIDE: c_int = 1;

unsafe extern "C" {
    fn suiro_fortran_create_keyval(
        of: c_int, width: c_int, copy: *const c_void, delete: *const c_void, keyval: *mut c_int,
        extra_state: Aint,
    ) -> c_int;
    fn suiro_fortran_get_attr(
        of: c_int, object: Handle, keyval: c_int, value: *mut Aint, flag: *mut c_int,
    ) -> c_int;
    fn suiro_fortran_set_attr(
        of: c_int, width: c_int, object: Handle, keyval: c_int, value: Aint,
    ) -> c_int;
}

/// Defines the routines of a kind of object.
macro_rules! attributes {
    ($of:expr, $create:ident, $get:ident, $set:ident) => {
        #[doc = concat!("`", stringify!($create), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(
            copy_attr_fn: *const c_void, delete_attr_fn: *const c_void, keyval: *mut Fint,
            extra_state: *const Aint, ierror: *mut Fint,
        ) {
            // SAFETY: the caller's promise of the arguments.
            unsafe {
                let (copy, delete) = (copy_function(copy_attr_fn), delete_function(delete_attr_fn));
                let code =
                    suiro_fortran_create_keyval($of, WIDE, copy, delete, keyval, *extra_state);
                answer(ierror, code);
            }
        }

        #[doc = concat!("`", stringify!($get), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            object: *const Fint, keyval: *const Fint, attribute_val: *mut Aint, flag: *mut Fint,
            ierror: *mut Fint,
        ) {
            let mut found = 0;
            // SAFETY: the caller's promise of the arguments.
            unsafe {
                let object = handle(*object);
                let code = suiro_fortran_get_attr($of, object, *keyval, attribute_val, &mut found);
                *flag = logical(found);
                answer(ierror, code);
            }
        }

        #[doc = concat!("`", stringify!($set), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(
            object: *const Fint, keyval: *const Fint, attribute_val: *const Aint, ierror: *mut Fint,
        ) {
            // SAFETY: the caller's promise of the arguments.
            unsafe {
                let (object, value) = (handle(*object), *attribute_val);
                answer(ierror, suiro_fortran_set_attr($of, WIDE, object, *keyval, value));
            }
        }
    };
}

attributes!(COMM, pmpi_comm_create_keyval_, pmpi_comm_get_attr_, pmpi_comm_set_attr_);
attributes!(DATATYPE, pmpi_type_create_keyval_, pmpi_type_get_attr_, pmpi_type_set_attr_);
attributes!(WIN, pmpi_win_create_keyval_, pmpi_win_get_attr_, pmpi_win_set_attr_);

/// `MPI_KEYVAL_CREATE`, whose functions have values of type INTEGER.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_keyval_create_(
    copy_fn: *const c_void, delete_fn: *const c_void, keyval: *mut Fint, extra_state: *const Fint,
    ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let (copy, delete) = (copy_function(copy_fn), delete_function(delete_fn));
        let extra = *extra_state as Aint;
        answer(ierror, suiro_fortran_create_keyval(COMM, NARROW, copy, delete, keyval, extra));
    }
}

/// `MPI_ATTR_GET`: the low half of a longer value.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_attr_get_(
    comm: *const Fint, keyval: *const Fint, attribute_val: *mut Fint, flag: *mut Fint,
    ierror: *mut Fint,
) {
    let (mut value, mut found) = (0, 0);
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let code = suiro_fortran_get_attr(COMM, handle(*comm), *keyval, &mut value, &mut found);
        if found != 0 {
            *attribute_val = value as Fint;
        }
        *flag = logical(found);
        answer(ierror, code);
    }
}

/// `MPI_ATTR_PUT`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pmpi_attr_put_(
    comm: *const Fint, keyval: *const Fint, attribute_val: *const Fint, ierror: *mut Fint,
) {
    // SAFETY: the caller's promise of the arguments.
    unsafe {
        let (comm, value) = (handle(*comm), *attribute_val as Aint);
        answer(ierror, suiro_fortran_set_attr(COMM, NARROW, comm, *keyval, value));
    }
}
