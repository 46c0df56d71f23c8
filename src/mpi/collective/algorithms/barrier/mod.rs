//! Barrier (MPI 5.0 §6.3): no rank leaves before every rank has entered.

pub mod dissemination;
pub(crate) mod linear;
pub(crate) mod tree;
