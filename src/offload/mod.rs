//! Communication as plain data: what to send, receive, copy and reduce, and in which order.
//!
//! A [`Schedule`] is one rank's part of a collective operation. The layers above write schedules
//! (`mpi::coll`), the engine runs them on the host, and [`check`] proves them free of races and
//! deadlock. Nothing here moves a byte, knows an address, a datatype, a communicator or a device.

pub mod check;
mod schedule;

pub use schedule::{Action, Buffer, Builder, Region, Schedule, Step, StepId, Wait};
