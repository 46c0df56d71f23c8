//! `mpirun`: arguments, spawning, output, reaping.
//!
//! ```text
//!   mpirun (front)                     what the shell knows: signals, keyboard, exit code
//!     └─ mpirun (run)                  everything else: PMI server, output, verdicts
//!          ├─ rank 0 ── its children   one process group per rank
//!          └─ rank 1 ...
//! ```
//!
//! Each of the two launcher processes watches the other and adopts the orphans below it, so
//! whichever is killed, the other ends every process of the job. `job_loop` is in a process group of
//! its own, so that a signal to the group of the shell's job never ends both. One loop without
//! threads serves everything; what to do about an event is decided by [`job_state::JobState`], a value
//! without I/O. No port is opened, no file is made.
//!
//! Nothing here knows of MPI beyond what a rank says by PMI.

mod arguments;
pub mod debugger;
mod dump;
mod environment;
mod explain;
pub mod folders;
mod hosts;
mod input;
mod job_loop;
mod job_state;
mod linkage;
mod options;
mod output;
mod placement;
mod plan;
mod program_file;
mod stack;
mod start;
mod supervisor;
pub mod wrapper;

pub use supervisor::main;

/// Why the launcher cannot do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LaunchError {
    /// The exit code.
    code: i32,
    /// A sentence without a final stop.
    why: String,
}

impl LaunchError {
    fn new(code: i32, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

/// The exit code for wrong arguments.
const USAGE: i32 = 2;
