//! Starting further processes from a job (`MPI_Comm_spawn`, MPI 5.0 §11.8): the launcher's half.
//!
//! ```text
//!   rank ──SpawnCall──> mpirun of its job ──starts──> mpirun of the children ── ranks
//!        <─SpawnReply──                  <─SpawnLink─>
//! ```
//!
//! The children are a job of a further mpirun, so they are placed, started and ended as any job. A
//! [`SpawnRequest`] becomes the command line of that mpirun here; the ranks of it find the port of their
//! parents in [`PARENT_PORT`] and connect to it by themselves. A process without this launcher starts
//! the mpirun itself ([`start_detached`]). The two ends of a [`SpawnLink`] tell each other of ends and
//! published names.

mod arguments;
mod detached;
mod link;
mod progress;
mod reply;
mod soft;

use std::env;

use crate::base::Result;

pub use detached::{Spawned, start_detached};
pub use link::{ChildMessage, ParentMessage, SpawnLink};
pub use progress::SpawnProgress;
pub(super) use reply::SPAWN_REPLY;
pub use reply::SpawnReply;

/// The port at which the parents of a spawned job accept its ranks. Each of its ranks has it.
pub const PARENT_PORT: &str = "SUIRO_PARENT_PORT";

/// What a mpirun that a job has started finds as its standard input: see [`ParentKind`].
pub const PARENT_LINK: &str = "SUIRO_PARENT_LINK";

/// What is at the other end of the standard input of a mpirun that a job has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentKind {
    /// Another mpirun, which also serves published names.
    Launcher,
    /// A process that only tells of its end.
    Process,
}

impl ParentKind {
    /// The value of [`PARENT_LINK`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Launcher => "mpirun",
            Self::Process => "process",
        }
    }

    /// Reads a value of [`PARENT_LINK`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Launcher, Self::Process].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// One program of [`SpawnRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnCommand {
    /// A path, or a name to search.
    pub program: String,
    /// The arguments after the name.
    pub arguments: Vec<String>,
    /// The number of processes.
    pub processes: u32,
    /// Keys and values of the info object. Unknown keys have no effect.
    pub info: Vec<(String, String)>,
}

/// Programs to start as one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnRequest {
    /// At least one; ranks are counted through them in order.
    pub commands: Vec<SpawnCommand>,
    /// The port at which the parents accept the children.
    pub parent_port: String,
}

impl SpawnRequest {
    /// The arguments of the mpirun that starts the processes. Relative directories and files are those of
    /// this process, whose working directory the children get, too.
    ///
    /// # Errors
    /// `InfoValue` and `Spawn`: names the info key with a wrong value, or the argument that cannot be
    /// passed.
    pub fn to_arguments(&self) -> Result<Vec<String>> {
        let here = env::current_dir().ok();
        arguments::of_request(self, here.as_deref())
    }

    /// Whether its info objects name hosts: otherwise the hosts are those of the parents.
    pub fn names_hosts(&self) -> bool {
        self.commands.iter().any(arguments::names_hosts)
    }
}

/// What has become of a spawned job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnState {
    /// Its mpirun runs, but not all of its processes have started.
    Starting,
    /// All processes have started.
    Running,
    /// The job has ended, or could not be started.
    Ended {
        /// The exit code of its mpirun; not 0 if it could not be started.
        code: i32,
        /// A sentence without a final stop.
        why: String,
    },
}

/// A call of a rank to its mpirun about spawned jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnCall {
    /// Start a job.
    Start(SpawnWords),
    /// Ask for the state of a job.
    State {
        /// The job.
        number: u32,
    },
    /// A job is disconnected: its failure no longer ends the caller's job.
    Disconnected {
        /// The job.
        number: u32,
    },
    /// A job is to end, because the spawn has failed; its end is no failure of the caller's job.
    End {
        /// The job.
        number: u32,
    },
}

/// A [`SpawnRequest`] as it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnWords {
    /// The arguments of mpirun.
    pub words: Vec<String>,
    /// Whether they name hosts.
    pub names_hosts: bool,
    /// The port of the parents.
    pub parent_port: String,
}

impl SpawnWords {
    /// What is sent for `request`.
    ///
    /// # Errors
    /// As of [`SpawnRequest::to_arguments`].
    pub(super) fn of(request: &SpawnRequest) -> Result<Self> {
        let (names_hosts, parent_port) = (request.names_hosts(), request.parent_port.clone());
        Ok(Self { words: request.to_arguments()?, names_hosts, parent_port })
    }
}
