//! The engine: how messages, requests and schedules move. Knows no devices, clocks or threads.

pub mod continuation;
mod credit;
mod direct_copy;
mod engine_assignment;
pub mod layout;
mod linked_queue;
mod match_table;
pub mod matching;
pub mod memory;
pub mod offloaded;
pub mod operation;
pub mod pending;
pub mod point_to_point;
pub mod program_setup;
mod protocol;
mod rendezvous;
pub mod run;
mod run_progress;
pub mod wire;
