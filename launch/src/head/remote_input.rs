//! The standard input of ranks of other hosts.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use platform::sys::descriptor;

use crate::control::{AgentCommand, StreamCredit, window_bytes};

const INPUT_READ_BYTES: usize = 64 * 1024;

/// The standard input of a rank of another host, copied to its agent.
#[derive(Debug)]
pub(super) struct RemoteInput {
    pub(super) rank: u32,
    pub(super) host: u32,
    source: Option<File>,
    credit: StreamCredit,
}

impl RemoteInput {
    /// The input of `rank` on `host` comes from `source`, in a job of `size` ranks.
    pub(super) fn new(rank: u32, host: u32, source: OwnedFd, size: u32) -> Self {
        let credit = StreamCredit::new(window_bytes(size));
        Self { rank, host, source: Some(source.into()), credit }
    }

    /// What to poll, until the end; `None` while the agent has no room.
    pub(super) fn source(&self) -> Option<&File> {
        self.source.as_ref().filter(|_| self.credit.left() > 0)
    }

    /// The rank has read this number of bytes.
    pub(super) fn grant(&mut self, bytes: u32) {
        self.credit.grant(bytes);
    }

    /// The rank reads no more.
    pub(super) fn close(&mut self) {
        self.source = None;
    }

    /// Reads once, after poll; what to send to the agent.
    pub(super) fn read(&mut self) -> Option<AgentCommand> {
        let mut bytes = vec![0; INPUT_READ_BYTES.min(self.credit.left())];
        match self.source.as_mut()?.read(&mut bytes) {
            Err(error) if descriptor::is_transient(&error) => return None,
            Ok(count) => bytes.truncate(count),
            Err(_) => bytes.clear(),
        }
        self.credit.spend(bytes.len());
        if bytes.is_empty() {
            self.source = None;
        }
        Some(AgentCommand::Input { rank: self.rank, bytes })
    }
}
