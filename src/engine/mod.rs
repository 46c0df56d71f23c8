//! The engine: how messages, requests and schedules move. Knows no devices, clocks or threads.

pub mod memory;
pub mod point_to_point;
pub(crate) mod programs;
pub mod schedules;
