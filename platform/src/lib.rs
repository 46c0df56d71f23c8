//! The layer shared by the library and the launcher: errors and settings (`base`), Linux behind
//! safe functions (`sys`), and how a process joins a job (`bootstrap`).
//!
//! Nothing here knows MPI beyond the names of error classes, or a device.
pub mod base;
pub mod bootstrap;
pub mod diagnosis;
pub mod sys;
