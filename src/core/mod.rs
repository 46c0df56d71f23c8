//! The engine: how messages, requests and schedules move. Knows no devices, clocks or threads.

pub mod layout;
pub mod memory;
