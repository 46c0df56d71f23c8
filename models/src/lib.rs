//! The lock-free parts of the library under the model checker loom: every interleaving of a few
//! threads, and every value that the memory model allows a load to return.
//!
//! The sources are those of the library, compiled here against loom's atomics instead of the
//! processor's: each module below includes the files that it checks and has, under the name
//! `primitive`, what they are made of. Two preemptions per run find every mistake known so far;
//! `LOOM_MAX_PREEMPTIONS=3` takes several times as long (`scripts/loom`).
#![cfg(test)]
#![allow(dead_code, reason = "the library uses more of the included files")]

mod accumulates;
mod biased_lock;
mod parker_primitive;
mod partitions;
mod primitive;
mod rings;
mod segments;
mod waiting;
mod window_calls;
mod window_locks;

/// The layer whose primitives the library names by their path.
mod shared_memory {
    pub(crate) use crate::primitive;
}

/// The types of the device contract that the rings and the split copy name.
mod device {
    pub use mpi_abi::device::{Busy, Header, SplitEnd};
}

/// Runs `body` in every interleaving with at most two preemptions, or `LOOM_MAX_PREEMPTIONS`.
fn check(body: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(2));
    model.check(body);
}
