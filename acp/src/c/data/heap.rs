//! `acp_malloc` and `acp_free`.

use std::ffi::c_int;

use super::{ignore, number};
use crate::c::space;
use crate::heap;

/// Allocates memory of the heap of a rank; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_malloc(size: usize, rank: c_int) -> u64 {
    let at = number(rank).and_then(|rank| heap::allocate(&space(), rank, size as u64));
    at.map_or(0, |at| at.0)
}

/// Frees memory of any rank; other addresses are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free(ga: u64) {
    ignore(heap::free(&space(), crate::space::SpaceAddress(ga)));
}
