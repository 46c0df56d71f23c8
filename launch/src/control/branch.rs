//! How agents are started by others, and how messages reach them.
//!
//! ```text
//!   head ──StartBranch──> agent of host 1 ──StartBranch──> agent of host 2 ──> ...
//!        ──Pass{to, command}──>           ──Pass{to, command}, or the command at its goal──>
//!        <──From{host, event}──           <──From{host, event}, or the event of the agent itself──
//! ```
//!
//! A message that is passed on is bytes to the agents between. A command for all hosts crosses each
//! connection once.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use super::HostLimits;

/// The agents that the agent of `host` is to start, or to have started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BranchPlan {
    pub host: u32,
    pub below: Vec<BranchHost>,
    /// The number of agents that one process starts at most.
    pub fan_out: u32,
    pub limits: HostLimits,
}

/// A host whose agent another agent is to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BranchHost {
    pub number: u32,
    /// The command that starts the agent.
    pub words: Vec<OsString>,
}

/// The hosts that a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Recipients {
    Host(u32),
    All,
    AllBut(u32),
}

impl Recipients {
    pub(crate) fn include(self, host: u32) -> bool {
        match self {
            Self::Host(one) => host == one,
            Self::All => true,
            Self::AllBut(one) => host != one,
        }
    }
}
