//! Calls of the copy and delete functions of attributes (MPI 5.0, §7.7), without the lock.
//!
//! The functions for communicators, datatypes and windows differ only in the type name of the
//! handle, so one signature serves all three. Fortran functions get all arguments by reference,
//! handles as integers and values in the width of their interface (§19.3.7).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use crate::abi::handles::handle;
use crate::mpi::attribute::{
    Attribute, AttributeLanguage, AttributeValue, Attributes, KeyvalFunctions,
};
use crate::mpi::handle::Handle;
use platform::base::{ErrorCode, MpiError, Result};

/// `MPI_COMM_NULL_COPY_FN`, `MPI_COMM_NULL_DELETE_FN` and the same constants of datatypes and
/// windows.
const NULL_FN: usize = 0;
/// `MPI_COMM_DUP_FN` and the same constants of datatypes and windows.
const DUP_FN: usize = 1;

type CopyCallback = unsafe extern "C" fn(
    object: *mut c_void,
    keyval: c_int,
    extra_state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut c_void,
    flag: *mut c_int,
) -> c_int;
type DeleteCallback = unsafe extern "C" fn(
    object: *mut c_void,
    keyval: c_int,
    value: *mut c_void,
    extra_state: *mut c_void,
) -> c_int;

/// Copy function in Fortran with values of type `V`.
type FortranCopyCallback<V> = unsafe extern "C" fn(
    object: *const c_int,
    keyval: *const c_int,
    extra_state: *mut V,
    value_in: *const V,
    value_out: *mut V,
    flag: *mut c_int,
    ierror: *mut c_int,
);
type FortranDeleteCallback<V> = unsafe extern "C" fn(
    object: *const c_int,
    keyval: *const c_int,
    value: *mut V,
    extra_state: *mut V,
    ierror: *mut c_int,
);

/// Calls the delete function of an attribute of `object`.
///
/// # Errors
/// The error code of the function.
pub(crate) fn delete(object: Handle, attribute: &Attribute) -> Result {
    let Attribute { keyval, value } = attribute;
    let KeyvalFunctions { language, delete, extra_state, .. } = keyval.functions;
    if delete == NULL_FN {
        return Ok(());
    }
    let address = delete as *const c_void;
    // SAFETY: the address was registered as a delete function of this language with
    // `MPI_*_create_keyval` (§7.7.2), and the arguments are those of the standard.
    let code = unsafe {
        match language {
            AttributeLanguage::C => {
                let call = transmute::<*const c_void, DeleteCallback>(address);
                let (value, extra) = (value.in_c() as *mut c_void, extra_state as *mut c_void);
                call(handle(object as c_int), keyval.number, value, extra)
            }
            AttributeLanguage::FortranInteger => {
                let (mut value, mut extra) = (value.in_fortran() as i32, extra_state as i32);
                let (object, mut code) = (object as c_int, 0);
                let call = transmute::<*const c_void, FortranDeleteCallback<i32>>(address);
                call(&object, &keyval.number, &mut value, &mut extra, &mut code);
                code
            }
            AttributeLanguage::FortranAddress => {
                let (mut value, mut extra) = (value.in_fortran(), extra_state as isize);
                let (object, mut code) = (object as c_int, 0);
                let call = transmute::<*const c_void, FortranDeleteCallback<isize>>(address);
                call(&object, &keyval.number, &mut value, &mut extra, &mut code);
                code
            }
        }
    };
    succeeded(code, "delete", keyval.number)
}

/// Calls the copy functions of all attributes of `object` for a duplicate, oldest first, and adds
/// the values of the new object to `copies`.
///
/// # Errors
/// The error code of a function; later functions are not called.
pub(crate) fn copy_all(object: Handle, attributes: &Attributes, copies: &mut Attributes) -> Result {
    for attribute in attributes.iter() {
        if let Some(value) = copy(object, attribute)? {
            copies.set(attribute.keyval.clone(), value);
        }
    }
    Ok(())
}

/// Value for the new object, if any.
fn copy(object: Handle, attribute: &Attribute) -> Result<Option<AttributeValue>> {
    let Attribute { keyval, value } = attribute;
    match (keyval.functions.copy, keyval.functions.language) {
        (NULL_FN, _) => Ok(None),
        (DUP_FN, _) => Ok(Some(value.duplicate())),
        (_, AttributeLanguage::C) => copy_in_c(object, attribute),
        (_, AttributeLanguage::FortranInteger) => {
            let extra = keyval.functions.extra_state as i32;
            let copied = copy_in_fortran(object, attribute, extra, value.in_fortran() as i32)?;
            Ok(copied.map(|copied| {
                value.copied_in_fortran(AttributeLanguage::FortranInteger, copied as isize)
            }))
        }
        (_, AttributeLanguage::FortranAddress) => {
            let extra = keyval.functions.extra_state as isize;
            let copied = copy_in_fortran(object, attribute, extra, value.in_fortran())?;
            Ok(copied
                .map(|copied| value.copied_in_fortran(AttributeLanguage::FortranAddress, copied)))
        }
    }
}

fn copy_in_c(object: Handle, attribute: &Attribute) -> Result<Option<AttributeValue>> {
    let Attribute { keyval, value } = attribute;
    let KeyvalFunctions { copy, extra_state, .. } = keyval.functions;
    let mut copied = value.in_c();
    let mut flag = 0;
    // SAFETY: as in `delete`, for a copy function; `value_out` is the address of a pointer.
    let code = unsafe {
        let call = transmute::<*const c_void, CopyCallback>(copy as *const c_void);
        let extra = extra_state as *mut c_void;
        let value_out = (&raw mut copied).cast();
        let value_in = copied as *mut c_void;
        call(handle(object as c_int), keyval.number, extra, value_in, value_out, &mut flag)
    };
    succeeded(code, "copy", keyval.number)?;
    Ok((flag != 0).then(|| value.copied_in_c(copied)))
}

/// Calls a copy function with values of type `V`.
fn copy_in_fortran<V: std::marker::Copy>(
    object: Handle, attribute: &Attribute, mut extra: V, value: V,
) -> Result<Option<V>> {
    let keyval = &attribute.keyval;
    let (object, mut copied, mut flag, mut code) = (object as c_int, value, 0, 0);
    // SAFETY: as in `delete`, for a copy function in Fortran of this width.
    unsafe {
        let address = keyval.functions.copy as *const c_void;
        let call = transmute::<*const c_void, FortranCopyCallback<V>>(address);
        call(&object, &keyval.number, &mut extra, &value, &mut copied, &mut flag, &mut code);
    }
    succeeded(code, "copy", keyval.number)?;
    // A LOGICAL: in all compilers the lowest bit decides.
    Ok((flag & 1 != 0).then_some(copied))
}

fn succeeded(code: c_int, what: &str, keyval: c_int) -> Result {
    if code == 0 {
        return Ok(());
    }
    let why = format!("the {what} function of attribute key {keyval} returned error code {code}");
    Err(MpiError::new(ErrorCode(code), why))
}
