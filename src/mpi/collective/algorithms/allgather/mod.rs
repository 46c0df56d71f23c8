//! Allgather and allgatherv (MPI 5.0 §6.7): every rank receives the block of every rank.

pub(crate) mod bruck;
pub mod doubling;
pub(crate) mod linear;
pub(crate) mod neighbor;
pub(crate) mod ring;
