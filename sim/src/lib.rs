//! The simulator: what a network does with what the layers below make, in virtual time, as tables
//! and pictures. For `suiro-sim`.
//!
//! It moves no bytes and starts no processes; time is a number that it computes.

pub mod draw;
pub mod halo;
pub mod offload;
pub mod rsched;
