//! N ranks in one thread over the loopback device, in an order of turns determined by a seed: the engine
//! alone, and complete MPI, also while ranks crash and the network is divided.

mod ranks {
    pub mod collectives;
    pub mod direct;
    pub mod engine;
    pub mod failures;
    pub mod faults;
    pub mod harness;
    pub mod intercomm;
    pub mod messages;
    pub mod mpi;
    pub mod neighbor;
    pub mod offloaded;
    pub mod persistent;
    pub mod remote;
    pub mod restarts;
    pub mod segments;
    pub mod sequences;
    pub mod shared;
    pub mod survivors;
    pub mod topology;
    pub mod windows;
}
