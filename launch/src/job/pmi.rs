//! PMI connections of the ranks: requests go to the [`Server`](platform::bootstrap::Server), its
//! replies and events come back.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use platform::bootstrap::{JoinState, ServerEvent};
use platform::sys::descriptor;
use platform::sys::process;

use super::JobLoop;
use super::rank::{MpiProcess, RunningRank, SHELL_TIMEOUT};

/// A rank with more unread bytes of replies than this is disconnected.
const REPLIES_MAX_BYTES: usize = 4 << 20;

impl JobLoop {
    pub(super) fn read_requests(&mut self, rank: usize) {
        let mut buffer = [0; 8192];
        while let Some(pmi) = &self.ranks[rank].pmi {
            match pmi.receive_now(&mut buffer) {
                Ok(received) if received.len_bytes > 0 => {
                    let was_joined = self.server.join_state(rank as u32) == JoinState::Joined;
                    let events = self.server.receive(rank as u32, &buffer[..received.len_bytes]);
                    if events.contains(&ServerEvent::Joined(rank as u32)) {
                        self.joined(rank, was_joined, received.sender);
                    }
                    self.handle_events(events);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => {
                    self.ranks[rank].pmi = None;
                    self.ranks[rank].disconnect_deadline = Some(Instant::now() + SHELL_TIMEOUT);
                }
            }
        }
    }

    /// The process `sender` joined for `rank`.
    fn joined(&mut self, rank: usize, was_joined: bool, sender: Option<u32>) {
        let before = self.ranks[rank].ended_mpi().filter(|_| was_joined);
        self.ranks[rank].watch_mpi(self.pids[rank], sender);
        if let Some((pid, exit)) = before {
            // The earlier program of the rank did not finalize.
            let actions = self.job.process_gone(rank as u32, pid, exit, Instant::now());
            self.perform(actions);
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
        let now = Instant::now();
        for event in events {
            let actions = match event {
                ServerEvent::Reply { rank, bytes } => {
                    self.reply(rank as usize, &bytes);
                    continue;
                }
                ServerEvent::Joined(_) => continue,
                ServerEvent::Left(rank) => {
                    self.ranks[rank as usize].mpi = MpiProcess::RankItself;
                    self.provide_files(rank);
                    continue;
                }
                ServerEvent::Aborted { rank, code, message } => {
                    self.job.aborted(rank, code, message.as_deref(), now)
                }
                ServerEvent::Broken { rank, why } => {
                    self.ranks[rank as usize].pmi = None;
                    self.job.broken(rank, &why)
                }
                ServerEvent::Stuck { ended, waiting } => self.job.stuck(ended, waiting, now),
                ServerEvent::Unsupported { rank, why } => self.job.unable(rank, &why),
            };
            self.perform(actions);
        }
    }

    fn reply(&mut self, rank: usize, bytes: &[u8]) {
        if self.ranks[rank].pmi.is_none() {
            return;
        }
        self.ranks[rank].replies.extend_from_slice(bytes);
        self.send_replies(rank);
        if self.ranks[rank].replies.len() > REPLIES_MAX_BYTES {
            self.ranks[rank].pmi = None;
            let actions = self.job.broken(rank as u32, "it does not read the replies");
            self.perform(actions);
        }
    }

    pub(super) fn send_replies(&mut self, rank: usize) {
        let RunningRank { pmi: Some(pmi), replies, .. } = &mut self.ranks[rank] else { return };
        while !replies.is_empty() {
            match pmi.send_some(replies) {
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
