//! Memory that the ranks of a host share, as values over bytes that a device has mapped: the shared segment
//! of a communicator, and the atomics and cells of which it and the devices' queues are made.
//!
//! Below the device contract, because a device gives segments and MPI uses them.

pub(crate) mod primitive;
pub mod segment;
