//! Communication as plain data: what to send, receive, copy and reduce, and in which order.
//!
//! A [`Schedule`] is one rank's part of a collective operation. The layers above write schedules
//! (`mpi::coll`), the engine runs them on the host, and [`check`] proves them free of races and
//! deadlock. A [`Program`] is the same for a network interface that counts arrivals. Nothing here
//! moves a byte, knows an address, a datatype, a communicator or a device.

pub mod causal_order;
pub mod check;
pub mod compile;
mod gates;
pub mod packing;
mod program;
pub mod resources;
mod schedule;
pub mod table;

pub(crate) use gates::with_gates;
pub use program::{
    Arithmetic, CounterAdd, CounterId, DeferredWork, Instance, Program, ProgramOp, Scheme,
};
pub use schedule::{Buffer, Region, Schedule, ScheduleBuilder, Step, StepAction, StepId, Wait};
