//! Wire-up: how a process learns its rank and the values that its peers published (PMI, PMIx).
//!
//! ```text
//!   environment ──> Client ──> PMI-1 ── wire (lines) ── Server <── launch
//!        │            ├─────> PMI-2 ┐
//!        │            └─────> PMIx  ┴ other launchers
//!        └──> JobView { rank, size, local ranks, hosts, descriptors }
//! ```
//!
//! The wires and the server do no I/O: bytes in, replies and events out. Only the client and
//! [`Environment::read`] make system calls. This layer has no communicators and no devices.
//!
//! Source: the PMI-1 protocol as spoken by MPICH's Hydra and by Slurm (`src/pmi/maint/pmi-1.2.txt`
//! in MPICH).

mod ancestor;
mod channel;
mod client;
mod environment;
mod exchange;
mod host_file;
mod hosts;
pub mod identity;
mod job;
mod mapping;
mod pmi1;
mod pmi2;
mod pmix;
mod record;
mod server;
pub mod wire;

pub use client::{Client, JobAttributes, KvsLimits, RequiredRanks};
pub use environment::{
    BOUND, CpuBinding, ENDED_FD, Environment, INTERFACE_FD, JOB_FD, PRIVATE_VARIABLES, SEGMENT_FD,
    STATUS_ENTRY, STATUS_FD,
};
pub use exchange::PeerOffer;
pub use host_file::HostFile;
pub use hosts::JobHosts;
pub use job::JobView;
pub use mapping::local_ranks;
pub use record::PeerRecord;
pub use server::{
    Fence, FenceEvent, FenceMerger, JoinState, NameRequest, NameService, Server, ServerEvent,
};

/// The protocols through which a rank joins a job, and the launchers that use them.
pub const PROTOCOLS: &[(&str, &str)] = &[
    ("PMI-1", "mpirun of Suiro, mpiexec of MPICH and of Intel MPI"),
    ("PMI-2", "srun of Slurm"),
    ("PMIx", "mpirun of Open MPI, prterun, srun of Slurm"),
];
