//! Strings into the caller's arrays, and out of them.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use super::pointer::{in_out, null, out};
use platform::base::Result;

/// Copies `text` into an array of `room` bytes, cut where it does not fit, and ends it with a
/// zero. Returns its length without the zero.
///
/// # Safety
/// `target` may be written for `room` bytes; `room` is positive.
pub unsafe fn store_text(text: &str, target: *mut c_char, room: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { store_bytes(text.as_bytes(), target, room) }
}

/// Stores a text in the array of that name with that room, and its length in `resultlen`.
///
/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// The array is null or may be written for as many bytes as it says, and `resultlen` is null or
/// may be written.
pub unsafe fn put_text(
    text: &str, (target, name, room): (*mut c_char, &str, c_int), resultlen: *mut c_int,
) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        let (target, resultlen) = (out(target, name)?, out(resultlen, "resultlen")?);
        resultlen.put(store_text(text, target.as_ptr(), room));
    }
    Ok(())
}

/// Returns a string as the tool interface does (MPI 5.0 §15.3.3): into `target`, which has room for
/// `*room` bytes, unless either is nothing; `*room` becomes the bytes that all of it takes.
///
/// # Safety
/// Both are null or may be written, `target` for as many bytes as `room` says, which may be read.
pub unsafe fn put_tool_text(text: &str, target: *mut c_char, room: *mut c_int) {
    // SAFETY: the caller's promise.
    let Ok(length) = (unsafe { in_out(room, "length") }) else { return };
    if !target.is_null() && length.get() > 0 {
        // SAFETY: the caller's promise.
        unsafe { store_text(text, target, length.get()) };
    }
    length.put(text.len() as c_int + 1);
}

/// [`store_text`] in whatever encoding.
///
/// # Safety
/// As for [`store_text`].
pub unsafe fn store_bytes(bytes: &[u8], target: *mut c_char, room: c_int) -> c_int {
    let len = bytes.len().min(room as usize - 1);
    // SAFETY: `len + 1` is at most `room`, and a slice is not in the caller's memory.
    unsafe {
        target.copy_from_nonoverlapping(bytes.as_ptr().cast(), len);
        *target.add(len) = 0;
    }
    len as c_int
}

/// A copy of the caller's string, the argument of that name, cut so that with its zero it fits an
/// array of `room` bytes.
///
/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// `source` is null or may be read up to a zero byte, or for `room` bytes.
pub unsafe fn copy_text(source: (*const c_char, &str), room: c_int) -> Result<String> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { string_at(source, room)? };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// [`copy_text`] in whatever encoding.
///
/// # Errors
/// As of [`copy_text`].
///
/// # Safety
/// As for [`copy_text`].
pub unsafe fn string_at((source, name): (*const c_char, &str), room: c_int) -> Result<Vec<u8>> {
    if source.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { copy_bytes(source, room) })
}

/// [`string_at`] where there is a string.
///
/// # Safety
/// As for [`copy_text`], and `source` is not null.
pub unsafe fn copy_bytes(source: *const c_char, room: c_int) -> Vec<u8> {
    // SAFETY: the caller's promise: it reads on only where there was no zero.
    let bytes = (0..room as usize - 1).map(|index| unsafe { *source.add(index) } as u8);
    bytes.take_while(|byte| *byte != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_before_the_last_byte() {
        for (room, expected) in [(1, ""), (3, "ab"), (4, "abc"), (9, "abc")] {
            let mut bytes = [b'x'; 10];
            // SAFETY: `room` is less than the array's length.
            let len = unsafe { store_text("abc", bytes.as_mut_ptr().cast(), room) } as usize;
            assert_eq!(&bytes[..len], expected.as_bytes());
            assert_eq!((bytes[len], bytes[room as usize]), (0, b'x'));
        }
    }

    #[test]
    fn text_is_taken_up_to_its_zero_or_the_room() {
        for (room, expected) in [(1, ""), (3, "ab"), (4, "abc"), (9, "abc")] {
            // SAFETY: the string ends with a zero.
            let taken = unsafe { copy_text((c"abc".as_ptr(), "name"), room) };
            assert_eq!(taken.as_deref(), Ok(expected));
        }
    }
}
