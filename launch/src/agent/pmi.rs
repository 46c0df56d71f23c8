//! PMI connections of the ranks: requests go to the [`Server`](platform::bootstrap::Server), its
//! replies and events come back.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use platform::bootstrap::{Fence, JoinState, ServerEvent};
use platform::sys::descriptor;
use platform::sys::process;

use super::rank::{MpiProcess, RunningRank, SHELL_TIMEOUT};
use super::{Agent, RankDescriptor};
use crate::control::{AgentEvent, Circumstances};

/// A rank with more unread bytes of replies than this is disconnected.
const REPLIES_MAX_BYTES: usize = 4 << 20;

impl Agent {
    /// Reads the requests of the rank `number` of this host.
    pub(super) fn read_requests(&mut self, number: usize) {
        let mut buffer = [0; 8192];
        let rank = self.ranks[number].rank;
        while let Some(pmi) = &self.ranks[number].pmi {
            match pmi.get().receive_now(&mut buffer) {
                Ok(received) if received.len_bytes > 0 => {
                    let was_joined = self.server.join_state(rank) == JoinState::Joined;
                    let events = self.server.receive(rank, &buffer[..received.len_bytes]);
                    if events.contains(&ServerEvent::Joined(rank)) {
                        self.joined(number, was_joined, received.sender);
                    }
                    self.handle_events(events);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => {
                    self.ranks[number].pmi = None;
                    self.ranks[number].disconnect_deadline = Some(Instant::now() + SHELL_TIMEOUT);
                    self.timed.insert(number);
                }
            }
        }
    }

    /// The process `sender` joined for the rank `number` of this host.
    fn joined(&mut self, number: usize, was_joined: bool, sender: Option<u32>) {
        let joined = &mut self.ranks[number];
        let before = joined.ended_mpi().filter(|_| was_joined);
        joined.watch_mpi(sender, &mut self.ready, RankDescriptor::MpiProcess.key(number));
        self.timed.insert(number);
        if let Some((pid, exit)) = before {
            // The earlier program of the rank did not finalize.
            let (rank, circumstances) = (joined.rank, Circumstances::default());
            self.events.push(AgentEvent::ProcessGone { rank, pid, exit, circumstances });
        }
    }

    /// Makes the memory files of the program after the one that `rank` has left.
    fn provide_files(&mut self, rank: u32) {
        let number = self.server.programs(rank) + 1;
        if self.files.contains_key(&number) {
            return;
        }
        let made = ["suiro-segment", "suiro-interface"].map(descriptor::memory_file);
        let [Ok(segment), Ok(interface)] = made else { return };
        let files = [segment, interface];
        let location = |file: &OwnedFd| format!("{}:{}", process::own_pid(), file.as_raw_fd());
        let oldest = self.server.provide_files(number, files.each_ref().map(location));
        self.files.retain(|number, _| *number >= oldest);
        self.files.insert(number, files);
    }

    pub(super) fn handle_events(&mut self, events: Vec<ServerEvent>) {
        for event in events {
            let event = match event {
                ServerEvent::Reply { rank, bytes } => {
                    self.reply(rank, &bytes);
                    continue;
                }
                ServerEvent::Joined(_) => continue,
                ServerEvent::Left(rank) => {
                    if let Some(number) = self.number_of(rank) {
                        self.ranks[number].mpi = MpiProcess::RankItself;
                    }
                    self.provide_files(rank);
                    continue;
                }
                ServerEvent::Aborted { rank, code, message } => {
                    AgentEvent::Aborted { rank, code, message }
                }
                ServerEvent::Broken { rank, why } => {
                    if let Some(number) = self.number_of(rank) {
                        self.ranks[number].pmi = None;
                    }
                    AgentEvent::Broken { rank, why }
                }
                ServerEvent::Fence(fence) => AgentEvent::Fence(fence),
                ServerEvent::Name { rank, request } => AgentEvent::Name { rank, request },
                ServerEvent::Spawn { rank, call } => AgentEvent::Spawn { rank, call },
                ServerEvent::Stuck { ended, waiting } => AgentEvent::Stuck { ended, waiting },
                ServerEvent::Unsupported { rank, why } => AgentEvent::Unsupported { rank, why },
            };
            self.events.push(event);
        }
    }

    /// The ranks of all hosts have reached `fence`.
    pub(super) fn fence_done(&mut self, fence: &Fence) {
        match self.server.fence_done(fence) {
            Ok(events) => self.handle_events(events),
            Err(why) => {
                let rank = self.share.ranks.first().map_or(0, |first| first.rank);
                let why = format!("the head of the job sent an invalid fence: {why}");
                self.events.push(AgentEvent::Broken { rank, why });
            }
        }
    }

    pub(super) fn reply(&mut self, rank: u32, bytes: &[u8]) {
        let Some(number) = self.number_of(rank) else { return };
        if self.ranks[number].pmi.is_none() {
            return;
        }
        self.ranks[number].replies.extend_from_slice(bytes);
        self.send_replies(number);
        if self.ranks[number].replies.len() > REPLIES_MAX_BYTES {
            self.ranks[number].pmi = None;
            let why = "it does not read the replies".to_owned();
            self.events.push(AgentEvent::Broken { rank, why });
        }
        self.wait_for_rank(number);
    }

    /// Waits for what the connection of the rank `number` is to do next.
    pub(super) fn wait_for_rank(&mut self, number: usize) {
        let rank = &mut self.ranks[number];
        if let Err(error) = rank.wait(self.held) {
            rank.pmi = None;
            let (rank, why) = (rank.rank, format!("its connection cannot be polled: {error}"));
            self.events.push(AgentEvent::Broken { rank, why });
        }
    }

    pub(super) fn send_replies(&mut self, number: usize) {
        let RunningRank { pmi: Some(pmi), replies, .. } = &mut self.ranks[number] else { return };
        while !replies.is_empty() {
            match pmi.get().send_some(replies) {
                Ok(count) => drop(replies.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    if error.kind() != ErrorKind::WouldBlock {
                        replies.clear();
                    }
                    return;
                }
            }
        }
    }
}
