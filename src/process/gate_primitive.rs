//! What [`super::gate`] is made of. The model checker's flavour is in `model_gate`.

pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

pub use crate::sys::thread::current as this_thread;
pub use std::thread::yield_now;

use crate::sys::membarrier;

/// Whether [`fence_of_all`] works from now on.
pub fn can_fence() -> bool {
    membarrier::register_threads()
}

/// The cheap half of a pair of fences; the processor's half is done by [`fence_of_all`].
#[inline]
pub fn fence_here() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// The other half: a full fence here and in all threads.
///
/// # Panics
/// If the system does it no longer, though [`can_fence`] was true.
pub fn fence_of_all() {
    assert!(membarrier::barrier_of_threads(), "membarrier(2) has stopped working");
}
