//! Jobs over several hosts, which are namespaces on this machine (`scripts/hosts`), started by
//! MPICH's launcher and by `mpirun`: programs, links that fail, nodes and ranks that die, and strangers at the ports
//! of a job. Where neither root nor user namespaces are available, each test says that it is skipped.

mod hosts {
    pub mod cluster;
    pub mod deadlock;
    pub mod deaths;
    pub mod launcher;
    pub mod links;
    pub mod programs;
    pub mod sockets;
    pub mod strangers;
    pub mod wan;
}

// The tests of the launcher use more of the shared harness.
#[allow(dead_code)]
#[path = "harness/mod.rs"]
mod harness;

#[allow(dead_code)]
#[path = "programs/vendor.rs"]
mod vendor;
