//! Functions for attributes that libmpifort_abi needs in addition to the standard: they mark values
//! and functions of a key as Fortran's (MPI 5.0 §19.3.7). No other exported symbols are outside
//! MPI.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::attribute::{Holder, create, of_window, predefined, put};
use crate::abi::constants::{MPI_WIN_BASE, MPI_WIN_SIZE};
use crate::abi::entry_point::{Scope, finish, number};
use crate::abi::types::MPI_Aint;
use crate::mpi::attribute::{AttributeLanguage, AttributeValue, KeyvalFunctions, KeyvalKind};
use platform::base::Result;

/// Kinds of objects with attributes, numbered as in the Fortran library; any other is a window.
const COMM: c_int = 0;
const DATATYPE: c_int = 1;

/// Creates a key for objects of kind `of`. Its functions are in Fortran, with values of type
/// INTEGER or, if `is_wide`, of kind `MPI_ADDRESS_KIND`. Null and `MPI_COMM_DUP_FN` mean the same
/// as in C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_fortran_create_keyval(
    of: c_int, is_wide: c_int, copy: *const c_void, delete: *const c_void, keyval: *mut c_int,
    extra_state: MPI_Aint,
) -> c_int {
    let (name, of) = match of {
        COMM => ("MPI_Comm_create_keyval", KeyvalKind::Comm),
        DATATYPE => ("MPI_Type_create_keyval", KeyvalKind::Datatype),
        _ => ("MPI_Win_create_keyval", KeyvalKind::Win),
    };
    let functions = KeyvalFunctions {
        language: language(is_wide),
        copy: copy.addr(),
        delete: delete.addr(),
        extra_state: extra_state as usize,
    };
    // SAFETY: the caller's promise of the result.
    unsafe { create(name, of, functions, (keyval, "keyval")) }
}

/// Value of an attribute of an object of kind `of`, if set, in Fortran's representation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_fortran_get_attr(
    of: c_int, object: *mut c_void, keyval: c_int, value: *mut MPI_Aint, flag: *mut c_int,
) -> c_int {
    let holder = holder(of, object);
    let (name, scope) = match holder {
        Holder::Comm(_) => ("MPI_Comm_get_attr", Scope::Comm(object.cast())),
        Holder::Type(_) => ("MPI_Type_get_attr", Scope::None),
        Holder::Win(_) => ("MPI_Win_get_attr", Scope::Win(object.cast())),
    };
    // SAFETY: the caller's promise of the results.
    unsafe { put(scope, name, known(holder, keyval), value, flag) }
}

/// Sets an attribute of an object of kind `of` from Fortran.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_fortran_set_attr(
    of: c_int, is_wide: c_int, object: *mut c_void, keyval: c_int, value: MPI_Aint,
) -> c_int {
    let holder = holder(of, object);
    let result = holder.set(keyval, AttributeValue::from_fortran(language(is_wide), value));
    let (name, scope) = match holder {
        Holder::Comm(_) => ("MPI_Comm_set_attr", Scope::Comm(object.cast())),
        Holder::Type(_) => ("MPI_Type_set_attr", Scope::None),
        Holder::Win(_) => ("MPI_Win_set_attr", Scope::Win(object.cast())),
    };
    finish(scope, name, result)
}

fn language(is_wide: c_int) -> AttributeLanguage {
    if is_wide == 0 { AttributeLanguage::FortranInteger } else { AttributeLanguage::FortranAddress }
}

fn holder(of: c_int, object: *mut c_void) -> Holder {
    match of {
        COMM => Holder::Comm(number(object)),
        DATATYPE => Holder::Type(number(object)),
        _ => Holder::Win(number(object)),
    }
}

/// Value in Fortran's representation: predefined values are integers, not addresses of integers.
fn known(holder: Holder, keyval: c_int) -> Result<Option<MPI_Aint>> {
    let predefined = match holder {
        Holder::Comm(comm) => predefined(comm, keyval),
        Holder::Win(win) => of_window(win, keyval),
        Holder::Type(_) => None,
    };
    let Some(address) = predefined else { return holder.get(keyval, AttributeValue::in_fortran) };
    Ok(address?.map(|address| match keyval {
        MPI_WIN_BASE => address as MPI_Aint,
        // SAFETY: the address of an integer of this size, valid as long as the window;
        // `MPI_WIN_SIZE` has an `MPI_Aint`.
        MPI_WIN_SIZE => unsafe { *(address as *const MPI_Aint) },
        // SAFETY: the address of a `c_int`, valid as long as the window; those of communicators are
        // static.
        _ => unsafe { *(address as *const c_int) as MPI_Aint },
    }))
}
