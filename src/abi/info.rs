//! Info objects: ordered pairs of key and value (MPI 5.0, chapter 10).

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};

use super::constants::{MPI_MAX_INFO_KEY, MPI_MAX_INFO_VAL};
use super::entry_point::{Scope, number, visit};
use super::handles::MPI_INFO_NULL;
use super::types::*;
use crate::abi::arguments::pointer::{InOut, Out, in_out, out, out_list};
use crate::abi::arguments::text::{copy_bytes, store_bytes};
use crate::mpi::info::Info;
use crate::mpi::objects::Infos;
use crate::process::info_env;
use platform::base::{ErrorClass, Result};

/// A new, empty info object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_create(info: *mut MPI_Info) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe { store("MPI_Info_create", (info, "info"), |_| Ok(Info::default())) }
}

/// A copy of `MPI_INFO_ENV`, also before initialization.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_create_env(
    argc: c_int, argv: *mut *mut c_char, info: *mut MPI_Info,
) -> c_int {
    let arguments = match usize::try_from(argc) {
        // SAFETY: the caller gives the arguments of `main`: `argc` strings that end with a zero.
        Ok(count @ 1..) if !argv.is_null() => Some(unsafe { strings(argv, count) }),
        _ => None,
    };
    let own = info_env::of_process(arguments);
    let described = |infos: &Infos| info_env::overlay(&infos.environment, &own);
    // SAFETY: the caller gives a valid result pointer.
    unsafe { store("MPI_Info_create_env", (info, "info"), described) }
}

/// Removes a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_delete(info: MPI_Info, key: *const c_char) -> c_int {
    visit("MPI_Info_delete", Scope::None, |objects| {
        // SAFETY: the caller gives a key that ends with a zero.
        let key = unsafe { key_at(key)? };
        objects.infos.get_mut(number(info))?.delete(&key)
    })
}

/// A copy of an info object, keys in the same order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe { store("MPI_Info_dup", (newinfo, "newinfo"), |infos| infos.get(number(info)).cloned()) }
}

/// Frees an info object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_free(info: *mut MPI_Info) -> c_int {
    visit("MPI_Info_free", Scope::None, |objects| {
        // SAFETY: the caller's promise of the handle.
        let info = unsafe { in_out(info, "info")? };
        objects.infos.remove(number(info.get()))?;
        info.put(MPI_INFO_NULL);
        Ok(())
    })
}

/// The value of a key; deprecated for `MPI_Info_get_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get(
    info: MPI_Info, key: *const c_char, valuelen: c_int, value: *mut c_char, flag: *mut c_int,
) -> c_int {
    let room = || {
        if valuelen < 0 {
            let why = format!("the length of the value is {valuelen}: expected 0 or more");
            return Err(ErrorClass::Arg.error(why));
        }
        // SAFETY: the caller's promise of the result.
        unsafe { out(value, "value") }
    };
    let put = |value: Out<c_char>, found: &[u8]| {
        // SAFETY: the caller's array has room for `valuelen` bytes and a zero (§16.1).
        unsafe { store_bytes(found, value.as_ptr(), valuelen.saturating_add(1)) };
    };
    // SAFETY: the caller gives a key that ends with a zero, and a valid result pointer.
    unsafe { look_up("MPI_Info_get", info, key, flag, room, put) }
}

/// Number of keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) -> c_int {
    visit("MPI_Info_get_nkeys", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let nkeys = unsafe { out(nkeys, "nkeys")? };
        nkeys.put(objects.infos.get(number(info))?.len() as c_int);
        Ok(())
    })
}

/// The key at a position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) -> c_int {
    visit("MPI_Info_get_nthkey", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let key = unsafe { out(key, "key")? };
        let found = objects.infos.get(number(info))?.key(n)?;
        // SAFETY: the caller's array has room for the longest key (§10).
        unsafe { store_bytes(found, key.as_ptr(), MPI_MAX_INFO_KEY) };
        Ok(())
    })
}

/// The value of a key, truncated to fit, and its required length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get_string(
    info: MPI_Info, key: *const c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int,
) -> c_int {
    let room = || {
        // SAFETY: the caller's promise of the length and of the array.
        unsafe {
            let buflen = in_out(buflen, "buflen")?;
            out_list((buflen.get().max(0), value), "value")?;
            Ok(buflen)
        }
    };
    let put = |buflen: InOut<c_int>, found: &[u8]| {
        if buflen.get() > 0 {
            // SAFETY: the caller's array has room for `buflen` bytes (§10).
            unsafe { store_bytes(found, value, buflen.get()) };
        }
        buflen.put(found.len() as c_int + 1);
    };
    // SAFETY: the caller gives a key that ends with a zero, and a valid result pointer.
    unsafe { look_up("MPI_Info_get_string", info, key, flag, room, put) }
}

/// The length of a value; deprecated for `MPI_Info_get_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get_valuelen(
    info: MPI_Info, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise of the result.
    let place = || unsafe { out(valuelen, "valuelen") };
    let put = |valuelen: Out<c_int>, found: &[u8]| valuelen.put(found.len() as c_int);
    // SAFETY: the caller gives a key that ends with a zero, and a valid result pointer.
    unsafe { look_up("MPI_Info_get_valuelen", info, key, flag, place, put) }
}

/// Adds a key or changes its value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_set(
    info: MPI_Info, key: *const c_char, value: *const c_char,
) -> c_int {
    visit("MPI_Info_set", Scope::None, |objects| {
        // SAFETY: the caller gives a key and a value that end with a zero.
        let (key, value) = unsafe { (key_at(key)?, value_at(value)?) };
        objects.infos.get_mut(number(info))?.set(&key, &value)
    })
}

/// Stores a handle for a new info object.
///
/// # Safety
/// `info` is null or may be written.
pub(crate) unsafe fn store(
    name: &str, (info, argument): (*mut MPI_Info, &str), body: impl FnOnce(&Infos) -> Result<Info>,
) -> c_int {
    visit(name, Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let info = unsafe { out(info, argument)? };
        let made = body(&objects.infos)?;
        info.put_handle(objects.infos.insert(made)?);
        Ok(())
    })
}

/// Stores whether a key is set, and passes its value and the result pointer to `put`.
///
/// # Safety
/// `key` is null or ends with a zero, `flag` is null or may be written.
unsafe fn look_up<P>(
    name: &str, info: MPI_Info, key: *const c_char, flag: *mut c_int,
    place: impl FnOnce() -> Result<P>, put: impl FnOnce(P, &[u8]),
) -> c_int {
    visit(name, Scope::None, |objects| {
        // SAFETY: the caller's promise.
        let (key, flag) = unsafe { (key_at(key)?, out(flag, "flag")?) };
        let place = place()?;
        let found = objects.infos.get(number(info))?.get(&key)?;
        flag.put(found.is_some().into());
        if let Some(found) = found {
            put(place, found);
        }
        Ok(())
    })
}

/// The key of the caller; of a key that is too long, one byte more than the maximum.
///
/// # Errors
/// `InfoKey` for a null pointer.
///
/// # Safety
/// `key` is null or ends with a zero.
unsafe fn key_at(key: *const c_char) -> Result<Vec<u8>> {
    if key.is_null() {
        return Err(ErrorClass::InfoKey.error("the info key is a null pointer: expected a string"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { copy_bytes(key, MPI_MAX_INFO_KEY + 1) })
}

/// The value of the caller; of a value that is too long, one byte more than the maximum.
///
/// # Errors
/// `InfoValue` for a null pointer.
///
/// # Safety
/// `value` is null or ends with a zero.
unsafe fn value_at(value: *const c_char) -> Result<Vec<u8>> {
    if value.is_null() {
        return Err(
            ErrorClass::InfoValue.error("the info value is a null pointer: expected a string")
        );
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { copy_bytes(value, MPI_MAX_INFO_VAL + 1) })
}

/// Copies of the caller's strings.
///
/// # Safety
/// `argv` has `count` strings that end with a zero.
unsafe fn strings(argv: *mut *mut c_char, count: usize) -> Vec<Vec<u8>> {
    // SAFETY: the caller's promise.
    let string = |index| unsafe { CStr::from_ptr(*argv.add(index)) };
    (0..count).map(|index| string(index).to_bytes().to_vec()).collect()
}
