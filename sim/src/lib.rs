//! Simulates the communication of offloaded programs and of packed puts in virtual time, as tables
//! and pictures, for `suiro-sim`.
//!
//! No bytes are moved and no processes are started; time is computed.

pub mod draw;
pub mod halo;
pub mod offload;
pub mod rsched;
