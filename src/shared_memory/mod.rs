//! Types over memory that the ranks of a node share: the shared segment of a communicator (`segment`), the
//! words of a window (`window_control`) with a fair lock (`turn_lock`), which ranks it is held by
//! (`lock_claims`), a lock of accumulates (`accumulate_lock`) and calls that are waited for (`call_words`),
//! and the atomics and cells of segments and of the queues of devices (`primitive`). Rings of packets are in
//! `devices/rings`.
//!
//! This layer is below the device contract: devices map the memory, collectives use the segments.

pub(crate) mod accumulate_lock;
pub(crate) mod call_words;
pub(crate) mod lock_claims;
pub(crate) mod primitive;
pub mod segment;
pub(crate) mod turn_lock;
pub(crate) mod window_control;
