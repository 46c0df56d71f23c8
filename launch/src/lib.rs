//! `mpirun`, the compiler wrappers, `suiro-names` and `suiro-impi-server`.
//!
//! ```text
//!   mpirun (supervisor)                signals, keyboard, exit code
//!     └─ mpirun (job loop)             head: input, output, decisions; agent: PMI server, reaping
//!          ├─ rank 0 ── its children   one process group per rank
//!          ├─ rank 1 ...
//!          ├─ mpirun (supervisor), for each job that ranks spawn (MPI_Comm_spawn)
//!          └─ ssh HOST, or another starter, for each other host
//!               └─ mpirun --agent (supervisor)     on that host
//!                    └─ mpirun --agent             agent: PMI server, pipes, reaping
//!                         └─ rank 2 ...
//! ```
//!
//! Head and agent talk over the standard input and output of the starter. Each ends the processes of
//! the job on its host when the other is gone.
//!
//! On each host, each of the two processes of `mpirun` watches the other and adopts orphaned descendants: if one
//! is killed, the other ends every process of the job. The job loop has a process group of its
//! own, so a signal to the foreground process group does not end both.
//!
//! | module | content |
//! |---|---|
//! | `mpirun` | from the arguments to the exit code |
//! | `build_info` | facts about the build |
//! | `command_line` | options, also those of `acprun` and `macprun`; the result is a `LaunchPlan` |
//! | `hosts` | hosts and their slots, from options, files and resource managers |
//! | `placement` | hosts and processors of each rank |
//! | `starter` | commands that start agents on other hosts |
//! | `control` | messages between the head of a job and the agents of its hosts |
//! | `connection` | agents that this process has started, and the connections to them |
//! | `supervisor` | the process that the shell started |
//! | `head` | the job loop process: `state` decides what ends the job |
//! | `agent` | the ranks of a host: `start` spawns, `pmi` serves, `reap` collects |
//! | `input`, `output` | standard input and output of ranks |
//! | `dump` | state and stacks of the ranks of a job that hangs |
//! | `debugger` | process table for parallel debuggers |
//! | `linkage`, `explain` | notes about programs and decisions |
//! | `wrapper` | `mpicc`, `mpicxx`, `mpifort`, `acpcc`, `acpcxx` |
//! | `name_server` | `suiro-names`: the published names of several jobs |
//! | `impi_server` | `suiro-impi-server`: several jobs join one world |
//! | `folders` | directories of the installation |
//!
//! The launcher makes no file, and opens a port only for agents whose starters do not pass standard input
//! on. It knows nothing of MPI except what ranks send by PMI.

mod agent;
mod build_info;
mod command_line;
mod connection;
mod control;
pub mod debugger;
mod dump;
mod explain;
pub mod folders;
mod head;
mod hosts;
pub mod impi_server;
mod input;
mod linkage;
mod mpirun;
pub mod name_server;
mod output;
mod placement;
mod server_program;
mod starter;
mod supervisor;
pub mod wrapper;

pub use mpirun::main;

/// An error that ends the launcher before the job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LaunchError {
    /// The exit code.
    code: i32,
    /// The message, without a final stop.
    why: String,
}

impl LaunchError {
    fn new(code: i32, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

/// The exit code for wrong arguments.
const USAGE: i32 = 2;
