//! The host and the processors of each rank.
//!
//! ```text
//!   options --request--> PlacementRequest --counts--> ranks of each program
//!                            └──place_on_hosts + CpuTopology of each host--> Placement --report--> text
//! ```
//!
//! All modules are free of I/O; [`mpirun`](crate::mpirun) and [`command_line`](crate::command_line)
//! supply files, processors and the name of the host.

mod counts;
pub(crate) mod display;
mod distribution;
mod files;
mod keywords;
pub(crate) mod options;
mod place;
pub(crate) mod report;
mod request;
mod slots;

pub(crate) use distribution::{
    HostResources, ProgramRanks, counts_supposed_objects, place_on_hosts,
};
pub(crate) use place::{Placement, may_fill, total_processors};
pub(crate) use request::PlacementRequest;

#[cfg(test)]
mod machines;
