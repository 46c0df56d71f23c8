//! Requests and their statuses (MPI 5.0 §3.7, §13.2, §13.3).

pub(crate) mod completion;
pub(crate) mod generalized;
pub(crate) mod list;
pub(crate) mod status;
