//! Allreduce (MPI 5.0 §6.9.6): every rank receives the reduction of all operands.

pub(crate) mod doubling;
pub mod extra_rounds;
pub(crate) mod halving;
pub(crate) mod linear;
pub mod redundant;
pub(crate) mod ring;
