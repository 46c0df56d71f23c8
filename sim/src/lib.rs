//! Simulates communication in virtual time, as tables and pictures, for `suiro-sim`.
//!
//! | module | content |
//! |---|---|
//! | [`collective`] | a call of a collective operation, and its schedules |
//! | [`network`], [`noise`] | rates of a network, interruptions of ranks |
//! | [`topology`] | nodes and links of a network |
//! | [`executor`] | schedules of up to 2^20 ranks, and programs of interfaces, in virtual time |
//! | [`coll`] | what a run of one operation shows |
//! | [`jitter`] | the allreduce with redundant exchanges, and the search for the best ones |
//! | [`offload`] | deferred work of interfaces |
//! | [`halo`], [`rsched`] | packed puts of a halo exchange |
//! | [`draw`] | pictures |
//!
//! No bytes are moved and no processes are started; time is computed.

pub mod coll;
pub mod collective;
pub mod draw;
pub mod executor;
pub mod halo;
pub mod jitter;
pub mod network;
pub mod offload;
mod parallel;
pub mod rsched;
pub mod topology;

pub use platform::base::noise;
