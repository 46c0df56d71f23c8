//! Which rank runs on which processors of this host.
//!
//! ```text
//!   words --request--> Request --counts--> ranks of each program
//!                         └──place + Topology--> Placement --report--> text
//! ```
//!
//! All of it is values; what it needs of this host (files, processors, its name) is given to it by
//! [`supervisor`](super::supervisor) and [`arguments`](crate::command_line).

mod counts;
pub(crate) mod display;
mod files;
mod keywords;
pub(crate) mod options;
mod place;
pub(crate) mod report;
mod request;
mod slots;

pub(crate) use place::{Placement, may_fill, place};
pub(crate) use request::PlacementRequest;

#[cfg(test)]
mod machines;
