//! Conversion between `int` and large counts: results of the `int` form of a function, and arrays
//! that both forms read. `generator/int_form.rs` has the conversion of each argument.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr;

use crate::abi::constants::{MPI_SUCCESS, MPI_UNDEFINED};
use crate::abi::types::{MPI_Aint, MPI_Count};

// Large forms get arrays and results of `MPI_Aint` by a pointer cast.
const _: () = assert!(size_of::<MPI_Aint>() == size_of::<MPI_Count>());

/// Calls the large form with a local result, and stores this in `result` as an `int`, or
/// `MPI_UNDEFINED` if it does not fit (MPI 5.0, chapter 5). A null `result` is passed on.
///
/// # Safety
/// `result` is null or may be written.
pub unsafe fn narrowed(result: *mut c_int, call: impl FnOnce(*mut MPI_Count) -> c_int) -> c_int {
    if result.is_null() {
        return call(ptr::null_mut());
    }
    let mut wide = MPI_Count::from(MPI_UNDEFINED);
    let code = call(&mut wide);
    if code == MPI_SUCCESS {
        // SAFETY: not null, so the caller's promise is that it may be written.
        unsafe { *result = wide.try_into().unwrap_or(MPI_UNDEFINED) };
    }
    code
}

/// [`narrowed`] for an argument that the function reads first.
///
/// # Safety
/// `value` is null or may be read and written.
pub unsafe fn narrowed_in_place(
    value: *mut c_int, call: impl FnOnce(*mut MPI_Count) -> c_int,
) -> c_int {
    let start = if value.is_null() {
        MPI_UNDEFINED
    } else {
        // SAFETY: not null, so the caller's promise is that it may be read.
        unsafe { *value }
    };
    let call = |wide: *mut MPI_Count| {
        if !wide.is_null() {
            // SAFETY: `narrowed` passes null or its local variable.
            unsafe { *wide = start.into() };
        }
        call(wide)
    };
    // SAFETY: the same contract.
    unsafe { narrowed(value, call) }
}

/// An array of counts or displacements of the caller, in either width.
#[derive(Clone, Copy)]
pub enum Integers {
    /// Of an `int` form.
    Int(*const c_int),
    /// Of a large form.
    Large(*const MPI_Count),
}

impl Integers {
    /// The element at `index`; `None` if the array is null.
    ///
    /// # Safety
    /// The array is null or has that element.
    #[inline]
    pub unsafe fn get(self, index: usize) -> Option<MPI_Count> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Int(values) if values.is_null() => None,
                Self::Large(values) if values.is_null() => None,
                Self::Int(values) => Some((*values.add(index)).into()),
                Self::Large(values) => Some(*values.add(index)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_both_widths_are_read_and_null_is_none() {
        // SAFETY: the arrays have the elements.
        unsafe {
            assert_eq!(Integers::Int([4, -5].as_ptr()).get(1), Some(-5));
            assert_eq!(Integers::Large([1 << 40].as_ptr()).get(0), Some(1 << 40));
            assert_eq!(Integers::Int(ptr::null()).get(7), None);
            assert_eq!(Integers::Large(ptr::null()).get(7), None);
        }
    }

    #[test]
    fn results_that_do_not_fit_are_undefined_and_errors_store_nothing() {
        let store = |wide: i64, code: c_int| {
            let mut result = 5;
            // SAFETY: both pointers are to local variables.
            let returned = unsafe {
                narrowed(&mut result, |target| {
                    *target = wide;
                    code
                })
            };
            (result, returned)
        };
        assert_eq!(store(-3, MPI_SUCCESS), (-3, MPI_SUCCESS));
        assert_eq!(store(1 << 31, MPI_SUCCESS), (MPI_UNDEFINED, MPI_SUCCESS));
        assert_eq!(store(1, 7), (5, 7));
    }

    #[test]
    fn a_position_is_read_and_moved() {
        let mut position = 40;
        // SAFETY: both pointers are to local variables.
        let code = unsafe {
            narrowed_in_place(&mut position, |target| {
                *target += 2;
                MPI_SUCCESS
            })
        };
        assert_eq!((position, code), (42, MPI_SUCCESS));
    }

    #[test]
    fn a_null_result_reaches_the_large_form() {
        // SAFETY: null is allowed.
        let code = unsafe { narrowed_in_place(ptr::null_mut(), |wide| wide.is_null().into()) };
        assert_eq!(code, 1);
    }
}
