//! Calls of the copy and delete functions of attributes (MPI 5.0, §7.7), with the lock free.
//!
//! The functions for communicators, datatypes and windows differ only in the name of the handle's
//! type, so one signature serves all three.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use super::handles::handle;
use crate::base::{ErrorCode, MpiError, Result};
use crate::mpi::attribute::{Attribute, Attributes};
use crate::mpi::table::Handle;

/// `MPI_COMM_NULL_COPY_FN` and `MPI_COMM_NULL_DELETE_FN`, and those of the other kinds.
const NULL_FN: usize = 0;
/// `MPI_COMM_DUP_FN`, and those of the other kinds.
const DUP_FN: usize = 1;

type Copy = unsafe extern "C" fn(
    object: *mut c_void,
    keyval: c_int,
    extra_state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut c_void,
    flag: *mut c_int,
) -> c_int;
type Delete = unsafe extern "C" fn(
    object: *mut c_void,
    keyval: c_int,
    value: *mut c_void,
    extra_state: *mut c_void,
) -> c_int;

/// Calls the delete function of an attribute of `object`.
///
/// # Errors
/// The code that the function returned.
pub fn delete(object: Handle, attribute: &Attribute) -> Result {
    let Attribute { keyval, value } = attribute;
    if keyval.delete == NULL_FN {
        return Ok(());
    }
    let (value, extra) = (*value as *mut c_void, keyval.extra_state as *mut c_void);
    // SAFETY: the address came as a delete function to `MPI_*_create_keyval` (§7.7.2), and is
    // called as the standard says.
    let code = unsafe {
        let call = transmute::<*const c_void, Delete>(keyval.delete as *const c_void);
        call(handle(object as c_int), keyval.number, value, extra)
    };
    succeeded(code, "delete", keyval.number)
}

/// Calls the copy functions of all attributes of `object`, which is being duplicated, oldest
/// first, and puts what the new object gets into `copies`.
///
/// # Errors
/// The code that a function returned; those after it are not called.
pub fn copy_all(object: Handle, attributes: &Attributes, copies: &mut Attributes) -> Result {
    for attribute in attributes.iter() {
        if let Some(value) = copy(object, attribute)? {
            copies.set(attribute.keyval.clone(), value);
        }
    }
    Ok(())
}

/// The value that the new object gets, if any.
fn copy(object: Handle, attribute: &Attribute) -> Result<Option<usize>> {
    let Attribute { keyval, value } = attribute;
    match keyval.copy {
        NULL_FN => return Ok(None),
        DUP_FN => return Ok(Some(*value)),
        _ => {}
    }
    let mut copied = *value;
    let mut flag = 0;
    // SAFETY: as in `delete`, for a copy function; `value_out` is the address of a pointer.
    let code = unsafe {
        let call = transmute::<*const c_void, Copy>(keyval.copy as *const c_void);
        let extra = keyval.extra_state as *mut c_void;
        let value_out = (&raw mut copied).cast();
        let value_in = *value as *mut c_void;
        call(handle(object as c_int), keyval.number, extra, value_in, value_out, &mut flag)
    };
    succeeded(code, "copy", keyval.number)?;
    Ok((flag != 0).then_some(copied))
}

fn succeeded(code: c_int, what: &str, keyval: c_int) -> Result {
    if code == 0 {
        return Ok(());
    }
    let why = format!("the {what} function of attribute key {keyval} returned error code {code}");
    Err(MpiError::new(ErrorCode(code), why))
}
