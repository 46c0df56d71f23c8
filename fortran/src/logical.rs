//! LOGICAL. Compilers write 1 or -1 for `.TRUE.` and 0 for `.FALSE.`; for all of them the lowest bit is
//! the value. This module writes 1, which all of them read as true.

use std::ffi::c_int;

/// The C value of a LOGICAL.
#[inline]
pub(crate) fn truth(logical: i32) -> c_int {
    logical & 1
}

/// The LOGICAL of a C value.
#[inline]
pub(crate) fn logical(truth: c_int) -> i32 {
    (truth != 0).into()
}

/// The C values of an array of LOGICALs.
///
/// # Safety
/// `logicals` has `count` elements, unless that is negative.
pub(crate) unsafe fn truths(logicals: *const i32, count: i32) -> Vec<c_int> {
    // SAFETY: the caller's promise.
    (0..count.max(0) as usize).map(|at| truth(unsafe { *logicals.add(at) })).collect()
}

/// Converts values that C has stored to LOGICALs.
///
/// # Safety
/// As for [`truths`]; the elements may be written.
pub(crate) unsafe fn logicals(stored: *mut i32, count: i32) {
    for at in 0..count.max(0) as usize {
        // SAFETY: the caller's promise.
        unsafe { *stored.add(at) = logical(*stored.add(at)) };
    }
}
