//! The C interface of the data library: heap, vector, deque, list, set, multiset, map.
//!
//! ```text
//!   C program ── acp_push_back_list(list, element, rank) ──> types ──> crate::data, crate::heap
//! ```
//!
//! Functions here only convert. A failure is what ACP's header says: an address of 0, an iterator
//! without an element, 0, or no effect; causes are not told. Arguments of other signs and sizes
//! than a container can have are failures too.
//!
//! Most functions use no memory of the caller and are safe. Arrays of ranks and comparators are
//! pointers, whose contract is that of C.

#![allow(unsafe_code)]
#![allow(non_camel_case_types, reason = "the names are those of ACP")]

mod hashed;
mod heap;
mod list;
mod sequence;
pub mod types;

use std::ffi::c_int;

use crate::failure::Failure;

/// A rank, an index or another number that must not be negative.
fn number<N: TryFrom<c_int>>(number: c_int) -> Result<N, Failure> {
    N::try_from(number).map_err(|_| Failure::Argument)
}

/// A number of a container as `int`; the largest `int` if it is larger.
fn as_int(number: u64) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// Ends a function without a result: it had no effect if it failed.
fn ignore<T>(_: Result<T, Failure>) {}
