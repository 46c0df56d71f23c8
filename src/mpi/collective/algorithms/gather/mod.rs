//! Gather and gatherv (MPI 5.0 §6.5): the root receives the block of every rank.

pub(crate) mod binomial;
pub(crate) mod linear;
