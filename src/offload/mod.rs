//! Communication as plain data: sends, receives, copies and reductions, and their order.
//!
//! A [`Schedule`] is one rank's part of a collective operation. `mpi::collective` writes schedules,
//! the engine runs them on the host, and [`check`] proves them free of races and deadlock. A
//! [`Program`] is the same for a network interface that counts arrivals; [`compile`] makes it from a
//! schedule. Nothing here moves a byte or knows an address, a datatype, a communicator or a device.
//!
//! | file | content |
//! |---|---|
//! | `schedule`, `check` | schedules and their static checks |
//! | `compile/` | from schedules to programs: a persistent broadcast becomes counters |
//! | `program`, `gates` | programs; reductions that the interface computes |
//! | `causal_order` | proof that instances of a program do not disturb each other |
//! | `packing/` | the choice of an engine for each put |
//! | `session` | programs for counters that are queues of commands |
//! | `resources`, `table` | the resources of a program, and its table as papers print it |

pub mod causal_order;
pub mod check;
pub mod compile;
mod gates;
pub mod packing;
mod program;
pub mod resources;
mod schedule;
pub mod session;
pub mod table;

pub(crate) use gates::with_gates;
pub use program::{
    Arithmetic, CounterAdd, CounterId, DeferredWork, Instance, Program, ProgramOp, Scheme,
};
pub use schedule::{
    Buffer, ROUNDS_MAX, Region, Schedule, ScheduleBuilder, Step, StepAction, StepId, Wait,
    label_of_tag, tag_of_label,
};
