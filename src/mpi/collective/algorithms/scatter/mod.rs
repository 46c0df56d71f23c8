//! Scatter and scatterv (MPI 5.0 §6.6): every rank receives its block from the root.

pub(crate) mod binomial;
pub(crate) mod linear;
