//! Devices around devices: faults, delays and traces, for tests and diagnosis. Each keeps the contract of
//! the device inside.

pub mod delay;
pub mod fault;
pub mod trace;
