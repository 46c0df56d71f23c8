//! Scan and exscan (MPI 5.0 §6.11): rank `r` receives the reduction of the operands of ranks 0 to
//! `r`, or to `r - 1`.

pub(crate) mod chain;
pub(crate) mod doubling;
pub(crate) mod linear;
