//! Linux behind safe functions: the only callers of libc, nix and memmap2.

pub(crate) mod ancestry;
pub mod carrier_request;
pub mod clock;
pub mod cma;
pub mod control_group;
pub mod cpu;
pub mod data_file;
pub mod descriptor;
pub mod doorbell;
pub mod fabric;
pub mod file_system;
pub mod futex;
pub mod host;
pub mod limits;
pub mod local_socket;
pub mod membarrier;
pub mod network_interfaces;
pub(crate) mod pmix;
pub mod poll;
pub mod private_file;
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
pub mod vendor;
pub mod watch;

/// Memory of a call that takes several parts.
fn iovec(address: usize, len: usize) -> libc::iovec {
    libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: len }
}
