//! Reduction operations (MPI 5.0 §6.9).

pub(crate) mod op;
pub(crate) mod user_function;
