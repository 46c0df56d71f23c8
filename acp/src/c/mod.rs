//! The C interface of ACP: what `include/acp.h` declares.
//!
//! ```text
//!   basic                 initialization, memory, accesses        hooks
//!   channel, segments     the communication library               channel, segment_buffer
//!   data, work_space      the data library                        data, heap, work_space
//! ```
//!
//! Functions here only convert. Every function is `extern "C"`; those with pointers have the contracts of
//! `acp.h`.

mod basic;
mod channel;
mod data;
mod segments;
mod work_space;

use crate::hooks::BasicLayer;
use crate::library;

/// The memory of all ranks.
fn space() -> BasicLayer {
    library::layer()
}

/// A number as an opaque pointer; 0 is null.
fn opaque<T>(number: Option<u64>) -> *mut T {
    std::ptr::without_provenance_mut(number.unwrap_or(0) as usize)
}

/// The number of an opaque pointer.
fn number<T>(pointer: *mut T) -> u64 {
    pointer.addr() as u64
}
