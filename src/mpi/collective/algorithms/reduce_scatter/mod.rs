//! Reduce-scatter (MPI 5.0 §6.10): rank `r` receives block `r` of the reduction of all operands.

pub(crate) mod halving;
pub(crate) mod in_order;
pub(crate) mod linear;
pub(crate) mod pairwise;
pub(crate) mod ring;
