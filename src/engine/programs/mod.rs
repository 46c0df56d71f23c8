//! Programs of deferred work: their setup with the peers, and operations that a device runs by itself.

mod engine_assignment;
pub(crate) mod offloaded;
pub(crate) mod program_setup;
