//! PMI connections of the ranks: requests go to the [`Server`](platform::bootstrap::Server), its
//! replies and events come back.

use std::io::ErrorKind;
use std::time::Instant;

use platform::bootstrap::ServerEvent;

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
                    let events = self.server.receive(rank as u32, &buffer[..received.len_bytes]);
                    if events.contains(&ServerEvent::Joined(rank as u32)) {
                        self.ranks[rank].watch_mpi(self.pids[rank], received.sender);
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
