//! String arguments and results.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use super::pointer::{in_out, null, out};
use platform::base::Result;

/// Copies `text` into an array of `capacity` bytes, truncated to fit, with a final zero. Returns its
/// length without the zero.
///
/// # Safety
/// `target` may be written for `capacity` bytes; `capacity` is positive.
pub unsafe fn store_text(text: &str, target: *mut c_char, capacity: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { store_bytes(text.as_bytes(), target, capacity) }
}

/// Stores a text in any encoding in an array with this name and capacity, and its length in
/// `resultlen`.
///
/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// The array is null or may be written for its capacity, and `resultlen` is null or may be
/// written.
pub unsafe fn put_text(
    text: impl AsRef<[u8]>, (target, name, capacity): (*mut c_char, &str, c_int),
    resultlen: *mut c_int,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        let (target, resultlen) = (out(target, name)?, out(resultlen, "resultlen")?);
        resultlen.put(store_bytes(text.as_ref(), target.as_ptr(), capacity));
    }
    Ok(())
}

/// Stores a string for the tool interface (MPI 5.0 §15.3.3) in `target`, of `*capacity` bytes, unless
/// either is null or 0; `*capacity` becomes the length of the whole string with its zero.
///
/// # Safety
/// Both are null or may be written, `target` for `*capacity` bytes; `capacity` may be read.
pub unsafe fn put_tool_text(text: &str, target: *mut c_char, capacity: *mut c_int) {
    // SAFETY: the caller's promise.
    let Ok(length) = (unsafe { in_out(capacity, "length") }) else { return };
    if !target.is_null() && length.get() > 0 {
        // SAFETY: the caller's promise.
        unsafe { store_text(text, target, length.get()) };
    }
    length.put(text.len() as c_int + 1);
}

/// [`store_text`] in any encoding.
///
/// # Safety
/// As for [`store_text`].
pub unsafe fn store_bytes(bytes: &[u8], target: *mut c_char, capacity: c_int) -> c_int {
    let len = bytes.len().min(capacity as usize - 1);
    // SAFETY: `len + 1` is at most `capacity`, and a slice is not in the caller's memory.
    unsafe {
        target.copy_from_nonoverlapping(bytes.as_ptr().cast(), len);
        *target.add(len) = 0;
    }
    len as c_int
}

/// A copy of the string argument with this name, truncated so that it fits an array of `capacity` bytes
/// with its zero.
///
/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// `source` is null or may be read up to a zero byte, or for `capacity` bytes.
pub unsafe fn copy_text(source: (*const c_char, &str), capacity: c_int) -> Result<String> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { string_at(source, capacity)? };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// [`copy_text`] in any encoding.
///
/// # Errors
/// As of [`copy_text`].
///
/// # Safety
/// As for [`copy_text`].
pub unsafe fn string_at((source, name): (*const c_char, &str), capacity: c_int) -> Result<Vec<u8>> {
    if source.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { copy_bytes(source, capacity) })
}

/// [`string_at`] of a pointer that is not null.
///
/// # Safety
/// As for [`copy_text`], and `source` is not null.
pub unsafe fn copy_bytes(source: *const c_char, capacity: c_int) -> Vec<u8> {
    // SAFETY: the caller's promise: reading stops at the first zero.
    let bytes = (0..capacity as usize - 1).map(|index| unsafe { *source.add(index) } as u8);
    bytes.take_while(|byte| *byte != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_before_the_last_byte() {
        for (capacity, expected) in [(1, ""), (3, "ab"), (4, "abc"), (9, "abc")] {
            let mut bytes = [b'x'; 10];
            // SAFETY: `capacity` is less than the array's length.
            let len = unsafe { store_text("abc", bytes.as_mut_ptr().cast(), capacity) } as usize;
            assert_eq!(&bytes[..len], expected.as_bytes());
            assert_eq!((bytes[len], bytes[capacity as usize]), (0, b'x'));
        }
    }

    #[test]
    fn text_is_copied_up_to_its_zero_or_the_capacity() {
        for (capacity, expected) in [(1, ""), (3, "ab"), (4, "abc"), (9, "abc")] {
            // SAFETY: the string ends with a zero.
            let taken = unsafe { copy_text((c"abc".as_ptr(), "name"), capacity) };
            assert_eq!(taken.as_deref(), Ok(expected));
        }
    }
}
