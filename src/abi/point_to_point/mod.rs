//! Point-to-point communication (MPI 5.0, chapter 3).

pub(crate) mod blocking;
pub(crate) mod buffer;
pub(crate) mod nonblocking;
pub(crate) mod persistent;
pub(crate) mod probe;
