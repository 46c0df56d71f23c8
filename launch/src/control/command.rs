//! Messages of the head to an agent.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use platform::bootstrap::Fence;
use serde::{Deserialize, Serialize};

use super::wire::FenceForm;
use super::{BranchPlan, Recipients};
use crate::command_line::plan::RankSet;
use crate::output::{OutputOptions, OutputStream};
use crate::placement::total_processors;

/// What an agent must do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AgentCommand {
    /// Start these ranks. Sent once.
    Start(Box<HostShare>),
    /// The ranks may join: the debugger has seen their processes.
    Release,
    /// Standard input of a rank; no bytes are its end.
    Input {
        rank: u32,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// The ranks of all hosts have reached this fence, whose pairs are now those of all hosts.
    FenceDone(#[serde(with = "FenceForm")] Fence),
    /// The reply of the head to a rank that has sent a request about a name or a spawned job.
    Answer {
        rank: u32,
        #[serde(with = "serde_bytes")]
        reply: Vec<u8>,
    },
    /// A rank of another host ended, after it had joined by this number of programs.
    RemoteEnded { rank: u32, programs: u32 },
    /// A rank of another host ended; the ranks of this host survive that.
    RecordEnd { rank: u32, has_failed: bool },
    /// More bytes of this stream of a rank may be sent.
    Grant { rank: u32, stream: OutputStream, bytes: u32 },
    /// Send this signal to the process group of every rank.
    Signal(i32),
    /// Terminate the ranks.
    Terminate,
    /// Terminate every process of the job.
    TerminateRest,
    /// Terminate the processes that the ranks left, after a report of them.
    EndLeftovers,
    /// Kill every process of the job.
    Kill,
    /// Report the state of each rank.
    Dump,
    /// The head is there. It is lost after a silence of this length, if there is a limit.
    Beat { silence_max: Option<Duration> },
    /// Start these agents. Sent once.
    StartBranch(Box<BranchPlan>),
    /// A command for these hosts, of which this one may be one.
    Pass {
        to: Recipients,
        #[serde(with = "serde_bytes")]
        message: Vec<u8>,
    },
}

/// The part of a job that one host runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostShare {
    /// The name of the job.
    pub job: String,
    pub secret: ShareSecret,
    /// Number of ranks of the job.
    pub size: u32,
    /// The programs of the job.
    pub apps: Vec<ShareApp>,
    /// The number of the program of each rank of the job.
    pub app_of_rank: Vec<u32>,
    /// The host of each rank of the job; empty if all are on one.
    pub host_of_rank: Vec<u32>,
    /// The ranks to start, ascending.
    pub ranks: Vec<RankShare>,
    /// The files of the ranks, if they are written on this host, which has this name there.
    pub output: Option<(OutputOptions, String)>,
    /// Standard output and error of a rank are one pipe.
    pub shares_pipe: bool,
    /// The ranks survive the failure of others.
    pub survives: bool,
    /// Ranks may not join before [`AgentCommand::Release`].
    pub holds: bool,
    /// The limits of the launcher, for the ranks of another host.
    pub limits: Vec<u64>,
    /// The limit of open files of ranks, as far as the host allows it.
    pub file_limit: u64,
    /// The file mode mask of the launcher.
    pub file_mask: u32,
}

impl HostShare {
    /// The number of this host; all ranks to start are on it.
    pub(crate) fn host(&self) -> u32 {
        let first = self
            .ranks
            .first()
            .and_then(|first| self.host_of_rank.get(first.rank as usize).copied());
        first.unwrap_or(0)
    }

    /// The program of `rank`.
    pub(crate) fn app_of(&self, rank: u32) -> &ShareApp {
        &self.apps[self.app_of_rank[rank as usize] as usize]
    }

    /// The number of processors of all ranks of the host, if all are bound.
    pub(crate) fn total_processors(&self) -> Option<usize> {
        total_processors(self.ranks.iter().map(|rank| rank.processors.as_deref()))
    }
}

/// A rank to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankShare {
    pub rank: u32,
    /// Its processors, if it is bound.
    pub processors: Option<Vec<usize>>,
    /// Whether it reads standard input.
    pub reads_input: bool,
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShareApp {
    /// A path, or a name to search.
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// The environment, without the variables of the rank.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables that have the values of the agent, if it has them.
    pub host_variables: Vec<OsString>,
    /// The working directory, if not the agent's.
    pub directory: Option<OsString>,
    /// Directories in the syntax of `PATH`, searched before those of `PATH`.
    pub path: Option<OsString>,
    /// Commands that start the program for some ranks.
    pub wraps: Vec<(RankSet, Vec<OsString>)>,
}

/// The identity and the secret of a job. It is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShareSecret {
    pub id: [u8; 16],
    pub key: [u8; 32],
}

impl fmt::Debug for ShareSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShareSecret")
    }
}
