//! Lists of handles: INTEGERs in Fortran, pointers in C. Short lists, such as the requests of a
//! neighborhood exchange, need no heap memory.

use std::mem::MaybeUninit;
use std::ptr;

type Fint = i32;
type Handle = *mut std::ffi::c_void;

/// The number of handles that are stored on the stack.
const FEW: usize = 32;

/// A list of handles for C.
pub(crate) struct Handles {
    few: [MaybeUninit<Handle>; FEW],
    /// Empty if the list is short.
    many: Vec<Handle>,
    count: usize,
}

impl Handles {
    /// An empty list. Its stack memory is filled in place: moving it would take longer than converting
    /// the usual few handles.
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { few: [MaybeUninit::uninit(); FEW], many: Vec::new(), count: 0 }
    }

    /// Takes the handles of `count` INTEGERs; none if that is negative, for which C raises the error.
    ///
    /// # Safety
    /// `numbers` has `count` elements.
    #[inline]
    pub(crate) unsafe fn take(&mut self, numbers: *const Fint, count: impl Into<i64>) {
        self.count = count.into().max(0) as usize;
        if self.count > FEW {
            self.many = vec![ptr::null_mut(); self.count];
        }
        let into = self.as_mut_ptr();
        for at in 0..self.count {
            // SAFETY: the caller's promise; there is space for `count` handles.
            unsafe {
                let number = *numbers.add(at) as u32;
                *into.add(at) = ptr::without_provenance_mut(number as usize);
            }
        }
    }

    /// The handles of `count` INTEGERs, as [`Handles::take`].
    ///
    /// # Safety
    /// As for [`Handles::take`].
    pub(crate) unsafe fn of(numbers: *const Fint, count: impl Into<i64>) -> Self {
        let mut made = Self::new();
        // SAFETY: the caller's promise.
        unsafe { made.take(numbers, count) };
        made
    }

    /// The first one's address.
    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut Handle {
        if self.count > FEW { self.many.as_mut_ptr() } else { self.few.as_mut_ptr().cast() }
    }

    /// All handles, which have been set by C or from Fortran.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [Handle] {
        // SAFETY: the one of `few` and `many` that is used has `count` handles.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr(), self.count) }
    }

    /// Stores the INTEGERs of the handles, which have been set by C or from Fortran.
    ///
    /// # Safety
    /// `numbers` has as many elements.
    #[inline]
    pub(crate) unsafe fn put(&mut self, numbers: *mut Fint) {
        let from = self.as_mut_ptr();
        for at in 0..self.count {
            // SAFETY: the caller's promise; `from` has `count` handles.
            unsafe { *numbers.add(at) = (*from.add(at)).addr() as Fint };
        }
    }
}
