//! Reduce (MPI 5.0 §6.9.1): the root receives the reduction of all operands.

pub(crate) mod binomial;
pub(crate) mod chain;
pub(crate) mod in_order;
pub(crate) mod linear;
pub(crate) mod rabenseifner;
