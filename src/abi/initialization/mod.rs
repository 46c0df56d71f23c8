//! Initialization and processes (MPI 5.0, chapter 11): world model, sessions, process creation.

pub(crate) mod other_jobs;
pub(crate) mod process_creation;
pub(crate) mod session;
pub(crate) mod world;
