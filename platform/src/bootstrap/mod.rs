//! Wire-up: how a process learns its rank and the values that its peers published (PMI, PMIx).
//!
//! ```text
//!   environment ──> Client ──> PMI-1 ── wire (lines) ── Server <── launch
//!        │            ├─────> PMI-2 ┐
//!        │            ├─────> PMIx  ┴ other launchers
//!        │            └─────> vendor: another MPI library, which its launcher has started
//!        └──> JobView { rank, size, local ranks, hosts, descriptors }
//! ```
//!
//! The wires and the server do no I/O: bytes in, replies and events out. Only the client, connections of
//! spawned jobs ([`SpawnLink`], [`Spawned`]) and [`Environment::read`] make system calls. This layer has
//! no communicators and no devices.
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
mod spawn;
mod vendor;
pub mod wire;

pub use client::{Client, JobAttributes, KvsLimits, RequiredRanks};
pub use environment::{
    BOUND, CpuBinding, ENDED_FD, Environment, IMPI_PLACE, INTERFACE_FD, JOB_FD, SEGMENT_FD,
    STATUS_ENTRY, STATUS_FD, is_private_variable,
};
pub use exchange::PeerOffer;
pub use host_file::HostFile;
pub use hosts::JobHosts;
pub use job::JobView;
pub use mapping::local_ranks;
pub use record::PeerRecord;
pub use server::{
    Fence, FenceEvent, FenceMerger, JoinState, NamePlace, NameReply, NameRequest, NameScope,
    NameService, Server, ServerEvent,
};
pub use spawn::{
    ChildMessage, PARENT_LINK, PARENT_PORT, ParentKind, ParentMessage, SpawnCall, SpawnCommand,
    SpawnLink, SpawnProgress, SpawnReply, SpawnRequest, SpawnState, SpawnWords, Spawned,
    start_detached,
};

/// The protocols through which a rank joins a job, and the launchers that use them.
pub const PROTOCOLS: &[(&str, &str)] = &[
    ("PMI-1", "mpirun of Suiro, mpiexec of MPICH and of Intel MPI"),
    ("PMI-2", "srun of Slurm"),
    ("PMIx", "mpirun of Open MPI, prterun, srun of Slurm"),
];
