//! Suiro (水路, "waterway"): an MPI library with the standard ABI of MPI 5.0.

pub mod abi;
pub mod base;
pub mod bootstrap;
pub mod core;
pub mod device;
pub mod devices;
pub mod launch;
pub mod mpi;
pub mod offload;
pub mod process;
pub mod sys;
