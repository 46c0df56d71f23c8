//! Pointer arguments: results and arrays of the caller.
//!
//! A function first converts all of its pointers with this module, so that an invalid null pointer is
//! an error without side effects. Safe code then stores the results. The other guarantees of the
//! standard for a pointer are the safety contract of its conversion.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::fmt::Display;
use std::ptr::NonNull;

use crate::abi::entry_point::{Scope, finish};
use crate::abi::handles::handle;
use crate::mpi::handle::Handle;
use platform::base::{ErrorClass, MpiError, Result};

/// Address for a result.
#[derive(Clone, Copy, Debug)]
pub struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// Stores the result.
    #[inline]
    pub(crate) fn put(self, value: T) {
        // SAFETY: `out` was promised that it may be written.
        unsafe { self.0.write(value) }
    }

    /// The address.
    #[inline]
    #[allow(clippy::wrong_self_convention, reason = "a copy of a pointer")]
    pub(crate) fn as_ptr(self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Out<*mut T> {
    /// Stores the handle with this number.
    #[inline]
    pub(crate) fn put_handle(self, number: Handle) {
        self.put(handle(number as c_int));
    }
}

/// Address of an argument that is read and changed.
#[derive(Clone, Copy, Debug)]
pub struct InOut<T>(Out<T>);

impl<T: Copy> InOut<T> {
    #[inline]
    pub(crate) fn get(self) -> T {
        // SAFETY: `in_out` was promised that it may be read.
        unsafe { self.0.0.read() }
    }

    /// Changes a part of the value.
    #[inline]
    pub(crate) fn change(self, how: impl FnOnce(&mut T)) {
        let Self(Out(mut place)) = self;
        // SAFETY: `in_out` was promised that it may be read and written. Its value is not copied:
        // the application may not have set the other parts of it yet.
        how(unsafe { place.as_mut() });
    }

    /// Stores a new value.
    #[inline]
    pub(crate) fn put(self, value: T) {
        self.0.put(value);
    }
}

/// An array of the caller for results.
#[derive(Clone, Copy, Debug)]
pub struct OutList<T> {
    first: *mut T,
    len: usize,
}

impl<T> OutList<T> {
    /// Stores values from the start, until the values or the array end.
    #[inline]
    pub(crate) fn put(self, values: impl IntoIterator<Item = T>) {
        for (index, value) in values.into_iter().take(self.len).enumerate() {
            // SAFETY: `out_list` was promised that many elements.
            unsafe { self.first.add(index).write(value) };
        }
    }
}

/// An integer argument that is the length of an array.
pub trait Length: Copy + Display + TryInto<usize> {}

impl<T: Copy + Display + TryInto<usize>> Length for T {}

/// The address for the result `name`.
///
/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// `pointer` is null or may be written for as long as the result is used.
#[inline]
pub(crate) unsafe fn out<T>(pointer: *mut T, name: &str) -> Result<Out<T>> {
    NonNull::new(pointer).map(Out).ok_or_else(|| null(name))
}

/// The address of the argument `name`, which is read and changed.
///
/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// `pointer` is null, or may be read and written for as long as the result is used.
#[inline]
pub(crate) unsafe fn in_out<T: Copy>(pointer: *mut T, name: &str) -> Result<InOut<T>> {
    // SAFETY: the caller's promise.
    unsafe { out(pointer, name) }.map(InOut)
}

/// The argument of that name.
///
/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// `pointer` is null, or may be read and no other thread writes there for as long as the reference lives.
#[inline]
pub(crate) unsafe fn input<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// The array of that name.
///
/// # Errors
/// `Arg` for a negative length, or a null pointer to more than nothing.
///
/// # Safety
/// `array` is null or has as many elements as it says, and no other thread writes them during the call.
#[inline]
pub(crate) unsafe fn list<'a, T>(
    (len, array): (impl Length, *const T), name: &str,
) -> Result<&'a [T]> {
    match length(len, array.is_null(), name)? {
        0 => Ok(&[]),
        // SAFETY: the caller's promise.
        len => Ok(unsafe { std::slice::from_raw_parts(array, len) }),
    }
}

/// The array `name` for results.
///
/// # Errors
/// `Arg` for a negative length, or a null pointer to more than nothing.
///
/// # Safety
/// `array` is null, or may be written for as many elements as it says for as long as it is used.
#[inline]
pub(crate) unsafe fn out_list<T>(
    (len, first): (impl Length, *mut T), name: &str,
) -> Result<OutList<T>> {
    Ok(OutList { first, len: length(len, first.is_null(), name)? })
}

/// The array `name` of length `capacity`, for `len` results.
///
/// # Errors
/// `Arg` if the array is too short, or null with results.
///
/// # Safety
/// `array` is null, or may be written for as many elements as it says for as long as it is used.
pub(crate) unsafe fn checked_out_list<T>(
    len: usize, (capacity, array): (impl Length, *mut T), name: &str,
) -> Result<OutList<T>> {
    if capacity.try_into().is_ok_and(|capacity: usize| len <= capacity) {
        // SAFETY: the caller's promise.
        return unsafe { out_list((len, array), name) };
    }
    Err(ErrorClass::Arg
        .error(format!("the array `{name}` has {capacity} elements: expected at least {len}")))
}

/// Body of a function that takes a handle back: frees what it stands for, and stores the
/// null handle `gone` in its place. Hears of errors: the handler of the object.
///
/// # Safety
/// As for [`in_out`].
pub(crate) unsafe fn free_handle<T: Copy + Into<Scope>>(
    function: &str, (pointer, name): (*mut T, &str), gone: T, free: impl FnOnce(T) -> Result,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { in_out(pointer, name) } {
        Ok(place) => {
            let freed = place.get();
            finish(freed, function, free(freed).map(|()| place.put(gone)))
        }
        Err(error) => finish(Scope::None, function, Err(error)),
    }
}

/// The length of an array that may be null.
#[inline]
fn length(len: impl Length, is_null: bool, name: &str) -> Result<usize> {
    match len.try_into() {
        Ok(len) if len == 0 || !is_null => Ok(len),
        Ok(len) => Err(null_list(len, name)),
        Err(_) => Err(negative(len, name)),
    }
}

/// The error of the null pointer `name`.
#[cold]
pub(crate) fn null(name: &str) -> Box<MpiError> {
    ErrorClass::Arg.error(format!("the pointer `{name}` is null: expected a valid address"))
}

/// The error of the null array `name` of `len` elements.
#[cold]
pub(crate) fn null_list(len: usize, name: &str) -> Box<MpiError> {
    ErrorClass::Arg
        .error(format!("the array `{name}` of {len} elements is null: expected a valid address"))
}

#[cold]
fn negative(len: impl Length, name: &str) -> Box<MpiError> {
    ErrorClass::Arg.error(format!("the length of the array `{name}` is {len}: expected 0 or more"))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn what_is_null_is_named_and_the_rest_is_read_and_stored() {
        let (mut result, mut both, mut array) = (1, 2, [3, 4, 5]);
        // SAFETY: null, or the addresses of local variables.
        unsafe {
            out(&raw mut result, "result").unwrap().put(7);
            let place = in_out(&raw mut both, "both").unwrap();
            place.put(place.get() + 1);
            out_list((2, array.as_mut_ptr()), "array").unwrap().put([8, 9, 10]);
            assert_eq!((result, both, array), (7, 3, [8, 9, 5]));
            assert_eq!(list((2, array.as_ptr()), "array").unwrap(), [8, 9]);
            let error = out(ptr::null_mut::<c_int>(), "size").unwrap_err();
            assert_eq!(error.code.0, ErrorClass::Arg as c_int);
            assert_eq!(error.why, "the pointer `size` is null: expected a valid address");
        }
    }

    #[test]
    fn an_array_may_be_null_if_it_is_empty_and_has_no_negative_length() {
        // SAFETY: no array has elements.
        unsafe {
            assert!(list((0, ptr::null::<c_int>()), "ranks").unwrap().is_empty());
            assert!(out_list((0, ptr::null_mut::<c_int>()), "ranks").is_ok());
            assert!(list((1, ptr::null::<c_int>()), "ranks").is_err());
            assert!(checked_out_list(1, (0, ptr::dangling_mut::<c_int>()), "ranks").is_err());
            assert!(checked_out_list(1, (1, ptr::null_mut::<c_int>()), "ranks").is_err());
            assert!(out_list((-1, ptr::null_mut::<c_int>()), "ranks").is_err());
        }
    }
}
