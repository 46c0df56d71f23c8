//! A terminal as standard input, copied to a pipe that ranks read.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use platform::sys::descriptor;
use platform::sys::poll::PollSet;
use platform::sys::process;

use super::SupervisorToken;

/// Interval at which a launcher in the background checks whether it is in the foreground again.
const FOREGROUND_INTERVAL: Duration = Duration::from_millis(500);

pub(super) struct Keyboard {
    terminal: File,
    rank: File,
    pending: Vec<u8>,
    /// The terminal has no more input, or no rank reads it.
    ended: bool,
}

impl Keyboard {
    /// The standard input for the ranks, and the keyboard to serve if `input` is a terminal.
    pub(super) fn open(input: io::Stdin) -> io::Result<(OwnedFd, Option<Self>)> {
        let terminal = input.as_fd().try_clone_to_owned()?;
        if !input.is_terminal() {
            return Ok((terminal, None));
        }
        let (read, write) = descriptor::pipe()?;
        descriptor::set_nonblocking(&write)?;
        let (terminal, rank) = (terminal.into(), write.into());
        Ok((read, Some(Self { terminal, rank, pending: Vec::new(), ended: false })))
    }

    /// Adds the descriptors to poll; the timeout, if one is needed.
    pub(super) fn interests<'a>(
        &'a self, set: &mut PollSet<'a, SupervisorToken>,
    ) -> Option<Duration> {
        if !self.pending.is_empty() {
            set.add_write(self.rank.as_fd(), SupervisorToken::Rank);
            return None;
        }
        if process::in_foreground(self.terminal.as_fd()) {
            set.add_read(self.terminal.as_fd(), SupervisorToken::Keyboard);
            return None;
        }
        Some(FOREGROUND_INTERVAL)
    }

    pub(super) fn read(&mut self) {
        let mut buffer = [0; 4096];
        match self.terminal.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(count) => {
                self.pending.extend_from_slice(&buffer[..count]);
                self.write();
            }
            Err(error) if descriptor::is_transient(&error) => {}
            Err(_) => self.ended = true,
        }
    }

    pub(super) fn write(&mut self) {
        match self.rank.write(&self.pending) {
            Ok(count) => drop(self.pending.drain(..count)),
            Err(error) if descriptor::is_transient(&error) => {}
            Err(_) => {
                self.pending.clear();
                self.ended = true;
            }
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.ended && self.pending.is_empty()
    }
}
