//! Broadcast (MPI 5.0 §6.4): every rank receives the message of the root.

pub mod binary;
pub(crate) mod binomial;
pub mod chain;
pub(crate) mod knomial;
pub(crate) mod linear;
pub(crate) mod scatter_doubling;
pub(crate) mod scatter_ring;
pub mod trinaryx3;
