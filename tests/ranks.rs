//! N ranks in one process over the loopback device, taking turns in an order that a seed decides:
//! the engine alone, and whole MPI.

mod ranks {
    pub mod collectives;
    pub mod direct;
    pub mod engine;
    pub mod harness;
    pub mod intercomm;
    pub mod mpi;
    pub mod neighbor;
    pub mod offloaded;
    pub mod persistent;
    pub mod restarts;
    pub mod rooms;
    pub mod sequences;
    pub mod shared;
    pub mod topology;
}
