//! The processors of each rank on this host.
//!
//! ```text
//!   options --request--> PlacementRequest --counts--> ranks of each program
//!                            └──place + CpuTopology--> Placement --report--> text
//! ```
//!
//! All modules are free of I/O; [`mpirun`](crate::mpirun) and [`command_line`](crate::command_line)
//! supply files, processors and the name of the host.

mod counts;
pub(crate) mod display;
mod files;
mod keywords;
pub(crate) mod options;
mod place;
pub(crate) mod report;
mod request;
mod slots;

pub(crate) use place::{Placement, may_fill, place, total_processors};
pub(crate) use request::PlacementRequest;

#[cfg(test)]
mod machines;
