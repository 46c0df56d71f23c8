//! The devices: each carries packets in its own way, and none knows another (`device` says how).
//!
//! [`rings`] is no device: it is what those have in common whose ranks share memory.

pub(crate) mod interface;
pub mod loopback;
pub(crate) mod rings;
pub mod shm;
pub(crate) mod tofu;
pub mod torus;
