//! Alltoall, alltoallv and alltoallw (MPI 5.0 §6.8): every rank sends a block of its own to every
//! rank.

pub(crate) mod bruck;
pub(crate) mod pairwise;
pub(crate) mod spread;
