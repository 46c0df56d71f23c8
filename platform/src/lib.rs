//! The layer shared by the library and the launcher: errors and settings (`base`), Linux behind
//! safe functions (`sys`), how a process joins a job (`bootstrap`), what the connections of a job have in
//! common (`network`), the name server of several jobs (`names`), and how jobs join one world (`impi`).
//!
//! Nothing here knows MPI beyond the names of error classes, or a device.
pub mod base;
pub mod bootstrap;
pub mod diagnosis;
pub mod impi;
pub mod names;
pub mod network;
pub mod sys;
