//! CHARACTER variables: padded with blanks, with a separate length. C strings end with a zero.

use std::ffi::c_char;
use std::slice;

/// A string for C.
pub(crate) struct Text(Vec<u8>);

impl Text {
    /// A string of `len` characters without trailing blanks.
    ///
    /// # Safety
    /// `start` has `len` bytes.
    pub(crate) unsafe fn trimmed(start: *const c_char, len: usize) -> Self {
        // SAFETY: the caller's promise.
        let bytes = unsafe { bytes(start, len) };
        Self::new(without_blanks_behind(bytes))
    }

    /// A string of `len` characters without leading and trailing blanks.
    ///
    /// # Safety
    /// `start` has `len` bytes.
    pub(crate) unsafe fn stripped(start: *const c_char, len: usize) -> Self {
        // SAFETY: the caller's promise.
        let bytes = without_blanks_behind(unsafe { bytes(start, len) });
        let first = bytes.iter().position(|byte| *byte != b' ').unwrap_or(bytes.len());
        Self::new(&bytes[first..])
    }

    fn new(bytes: &[u8]) -> Self {
        Self([bytes, b"\0"].concat())
    }

    /// Its first byte's address.
    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }

    /// Whether it has no characters.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 1
    }
}

/// A buffer for a C string that is then stored in a CHARACTER variable.
pub(crate) struct CharacterBuffer(Vec<u8>);

impl CharacterBuffer {
    /// A buffer of `len_bytes` bytes with the final zero; an empty string at first.
    pub(crate) fn new(len_bytes: usize) -> Self {
        Self(vec![0; len_bytes.max(1)])
    }

    /// Its first byte's address.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }

    /// Stores the string in `len` characters, truncated or padded with blanks.
    ///
    /// # Safety
    /// `start` has `len` bytes that may be written.
    pub(crate) unsafe fn put(&self, start: *mut c_char, len: usize) {
        if len == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        let into = unsafe { slice::from_raw_parts_mut(start.cast::<u8>(), len) };
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let taken = end.min(len);
        into[..taken].copy_from_slice(&self.0[..taken]);
        into[taken..].fill(b' ');
    }
}

/// # Safety
/// `start` has `len` bytes, for as long as the caller uses them.
unsafe fn bytes<'a>(start: *const c_char, len: usize) -> &'a [u8] {
    // SAFETY: the caller's promise; nothing is read for length 0.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(start.cast(), len) } }
}

fn without_blanks_behind(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &bytes[..end]
}
