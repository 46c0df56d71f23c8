//! Partitioned communication (MPI 5.0 chapter 4): messages of which parts become ready on their own.
//!
//! [`division`] says which message carries which partition, [`ready`] counts the partitions that the
//! threads of a sender have released, [`arrived`] knows the messages that a receiver has. The operations
//! themselves are not there yet.

pub(crate) mod arrived;
pub(crate) mod division;
pub(crate) mod ready;
