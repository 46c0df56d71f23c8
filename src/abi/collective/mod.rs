//! Collective communication (MPI 5.0, chapter 6): one file for each form of the calls.

pub(crate) mod blocking;
pub(crate) mod nonblocking;
pub(crate) mod persistent;
pub(crate) mod start;
