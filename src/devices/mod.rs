//! The devices, which implement the contract in `device`, and their parts.
//!
//! | module | |
//! |---|---|
//! | [`shm`] | device: ranks of a node, by shared memory |
//! | [`tcp`] | device: ranks of any nodes, by TCP connections |
//! | [`tofu`] | device: ranks of a node, by simulated network interfaces |
//! | `impi` | not a device itself: connections to the processes of other jobs, for one |
//! | [`carrier`] | device: ranks of any nodes, by messages of another library: an MPI, or libfabric |
//! | [`loopback`] | device: ranks of a process, for tests |
//! | [`rings`] | queues and rings in shared memory, for `shm` and `tofu` |
//! | [`interface`] | a network interface with deferred work as a value, for `tofu` and `loopback` |
//! | `local_interface` | such an interface with a thread, on memory that ranks share, for `shm` (and beside `tcp`) and `tofu` |
//! | `put_links` | connections between such interfaces of different hosts, which `tcp` makes |
//! | `work_links` | the same by an endpoint of libfabric for deferred work, beside `carrier` |
//! | [`torus`] | the network between simulated interfaces, for `tofu` and `suiro-sim` |
//!
//! No device knows another.

pub(crate) mod carrier;
pub(crate) mod impi;
pub(crate) mod interface;
pub(crate) mod local_interface;
pub mod loopback;
pub(crate) mod put_links;
pub(crate) mod rings;
pub mod shm;
pub(crate) mod tcp;
pub(crate) mod tofu;
pub mod torus;
pub(crate) mod work_links;
