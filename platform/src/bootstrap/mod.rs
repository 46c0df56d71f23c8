//! Wire-up: how a process learns who it is and what its peers published (PMI, PMIx).
//!
//! ```text
//!   environment ──> Client ──> PMI-1 ── wire (lines) ── Server <── launch
//!        │            ├─────> PMI-2 ┐
//!        │            └─────> PMIx  ┴ other launchers
//!        └──> Job { rank, size, who is on this host, descriptors }
//! ```
//!
//! The wires and the server are plain values: bytes in, replies and events out. Only the client
//! and [`Environment::read`] touch the system. Nothing here knows of communicators or devices.
//!
//! Source: the PMI-1 protocol as MPICH's Hydra and Slurm speak it (`src/pmi/maint/pmi-1.2.txt`
//! in MPICH).

mod ancestor;
mod channel;
mod client;
mod environment;
mod host_file;
mod job;
mod mapping;
mod pmi1;
mod pmi2;
mod pmix;
mod server;
pub mod wire;

pub use client::{Client, JobAttributes, KvsLimits, RequiredRanks};
pub use environment::{
    BOUND, CpuBinding, Environment, INTERFACE_FD, JOB_FD, PRIVATE_VARIABLES, SEGMENT_FD, STATUS_FD,
};
pub use host_file::HostFile;
pub use job::JobView;
pub use mapping::{local_ranks, single_host_mapping};
pub use server::{JoinState, Server, ServerEvent};

/// The protocols by which a rank joins a job, and the launchers that speak them.
pub const PROTOCOLS: &[(&str, &str)] = &[
    ("PMI-1", "mpirun of Suiro, mpiexec of MPICH and of Intel MPI"),
    ("PMI-2", "srun of Slurm"),
    ("PMIx", "mpirun of Open MPI, prterun, srun of Slurm"),
];
