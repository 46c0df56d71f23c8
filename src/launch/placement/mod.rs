//! Which rank runs on which processors of this host.
//!
//! ```text
//!   words --request--> Request --counts--> ranks of each program
//!                         └──place + Topology--> Placement --report--> text
//! ```
//!
//! All of it is values; what it needs of this host (files, processors, its name) is given to it by
//! [`front`](super::front) and [`arguments`](super::arguments).

mod counts;
mod files;
pub mod options;
mod place;
pub mod report;
mod request;
mod seats;
pub mod show;
mod words;

pub use place::{Placement, may_fill, place};
pub use request::Request;

#[cfg(test)]
mod machines;
