//! Atomics and fences of [`super::biased_lock`]. The model checker has its own:
//! `models/src/biased_lock.rs`.

pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

pub use platform::sys::thread::current as this_thread;
pub use std::thread::yield_now;

use platform::sys::membarrier;

/// The consecutive calls of the owner without a waiting thread after which the bias returns. To
/// revoke it costs some microseconds; this many calls with the mutex cost more.
pub const REBIAS_CALLS: u32 = 1000;

/// Whether [`heavy_fence`] works from now on.
pub fn has_heavy_fence() -> bool {
    membarrier::register_threads()
}

/// The cheap half of a pair of fences; the processor's half is done by [`heavy_fence`].
#[inline]
pub(crate) fn light_fence() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// The other half: a full fence here and in all threads.
///
/// # Panics
/// If the system does it no longer, though [`has_heavy_fence`] was true.
pub fn heavy_fence() {
    assert!(membarrier::barrier_of_threads(), "membarrier(2) has stopped working");
}
