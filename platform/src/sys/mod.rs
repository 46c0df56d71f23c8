//! Linux behind safe functions: the only callers of libc, nix and memmap2.

pub(crate) mod ancestry;
pub mod clock;
pub mod cma;
pub mod control_group;
pub mod cpu;
pub mod descriptor;
pub mod doorbell;
pub mod file_system;
pub mod futex;
pub mod host;
pub mod limits;
pub mod membarrier;
pub mod network_interfaces;
pub(crate) mod pmix;
pub mod poll;
pub mod process;
pub mod ready_set;
pub mod secret;
pub mod shm;
pub mod signals;
pub mod socket;
pub mod tcp;
pub mod thread;
pub mod topology;
pub mod trace;
pub mod watch;
