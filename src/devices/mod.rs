//! The devices: each carries packets in its own way, and none knows another (`device` says how).

pub mod loopback;
pub mod shm;
