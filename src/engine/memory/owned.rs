//! Bytes of the library on the heap.
#![allow(unsafe_code)]

use platform::base::Span;

/// Bytes on the heap that stay at their address, so that a [`Span`] of them can be handed out.
#[derive(Debug)]
pub struct OwnedBytes(*mut [u8]);

// SAFETY: the value owns the bytes like the box that it was made from; safe access to them goes
// through `&self` (shared) or `&mut self` (exclusive), as with a box.
unsafe impl Send for OwnedBytes {}
// SAFETY: as above.
unsafe impl Sync for OwnedBytes {}

impl OwnedBytes {
    /// `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        Self::from(vec![0; len].into_boxed_slice())
    }

    /// The number of bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The bytes for devices and kernels. The span is valid while this value lives and nothing
    /// else touches the bytes.
    #[inline]
    pub fn span(&self) -> Span {
        // SAFETY: the bytes are on the heap at an address that does not change. Rust references
        // cover them only inside `as_slice` and `as_mut_slice`, whose borrows the holder sees.
        unsafe { Span::new(self.0.cast::<u8>(), self.0.len()) }
    }

    #[cfg(test)]
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: the pointer came from a box (`From`) and is freed in `drop` only.
        unsafe { &*self.0 }
    }

    #[cfg(test)]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is the only access.
        unsafe { &mut *self.0 }
    }
}

impl From<Box<[u8]>> for OwnedBytes {
    fn from(bytes: Box<[u8]>) -> Self {
        Self(Box::into_raw(bytes))
    }
}

impl Drop for OwnedBytes {
    fn drop(&mut self) {
        // SAFETY: `from` took the pointer out of a box, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
