//! The engine: how messages, requests and schedules move. Knows no devices, clocks or threads.

mod arranging;
mod bins;
mod credit;
mod direct;
pub mod engine;
pub mod layout;
mod line;
pub mod linking;
pub mod matching;
pub mod memory;
pub mod offloaded;
pub mod operation;
pub mod pending;
mod progress;
mod protocol;
mod rendezvous;
pub mod run;
pub mod sequel;
pub mod wire;
