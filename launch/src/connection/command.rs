//! The process of a starter: what it writes to standard error, and its exit.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;

use platform::sys::descriptor;
use platform::sys::poll::PollSet;
use platform::sys::process::{self, ChildProgram, Exit};
use platform::sys::signals;

use crate::control::{AgentEvent, ControlLink};

/// Longest line of an agent's standard error; longer ones are printed in parts.
const LINE_MAX_BYTES: usize = 4096;

/// A command that was started.
pub(super) struct StartedCommand {
    process: u32,
    /// Its exit, once reaped.
    exit: Option<Exit>,
    errors: Option<File>,
    line: Vec<u8>,
}

impl StartedCommand {
    /// Starts the command `words`; the connection is its standard input and output.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn start(
        words: &[OsString], environment: &[(OsString, OsString)], file_limit: Option<u64>,
    ) -> io::Result<(Self, ControlLink<AgentEvent>)> {
        let (name, arguments) = words.split_first().ok_or(ErrorKind::InvalidInput)?;
        let (input, to_agent) = descriptor::pipe()?;
        let (from_agent, output) = descriptor::pipe()?;
        let (errors, errors_end) = descriptor::pipe()?;
        descriptor::set_nonblocking(&errors)?;
        let control = ControlLink::new(from_agent, to_agent)?;
        let process = process::spawn(ChildProgram {
            name,
            arguments,
            environment,
            directory: None,
            streams: [input, output, errors_end],
            inherited: &[],
            file_limit,
            processors: None,
        })?;
        let (errors, line) = (Some(errors.into()), Vec::new());
        Ok((Self { process, exit: None, errors, line }, control))
    }

    /// Its process, unless it has been reaped.
    pub(super) fn process(&self) -> Option<u32> {
        self.exit.is_none().then_some(self.process)
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// The process has been reaped.
    pub(super) fn exited(&mut self, exit: Exit) {
        self.exit = Some(exit);
    }

    /// Adds standard error to poll.
    pub(super) fn interests<'a, Token: Copy>(&'a self, set: &mut PollSet<'a, Token>, token: Token) {
        if let Some(errors) = &self.errors {
            set.add_read(errors.as_fd(), token);
        }
    }

    /// The whole lines on standard error that have arrived.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        let mut buffer = [0; LINE_MAX_BYTES];
        let mut lines = Vec::new();
        // More than that in one turn would keep the loop from the others.
        for _ in 0..16 {
            let Some(errors) = &mut self.errors else { break };
            match errors.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    for byte in &buffer[..count] {
                        if *byte != b'\n' {
                            self.line.push(*byte);
                        }
                        if *byte == b'\n' || self.line.len() == LINE_MAX_BYTES {
                            lines.push(std::mem::take(&mut self.line));
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => {
                    self.errors = None;
                    lines.push(std::mem::take(&mut self.line));
                }
            }
        }
        let text = |line: Vec<u8>| String::from_utf8_lossy(&line).trim_end().to_owned();
        lines.into_iter().map(text).filter(|line| !line.is_empty()).collect()
    }

    /// Kills the process and its group.
    pub(super) fn kill(&self) {
        if let Some(process) = self.process() {
            process::signal_group(process, signals::KILL);
        }
    }
}

/// A command line that can be repeated in a shell.
pub(super) fn command_text(words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let words = words.iter().map(|word| &**word);
    shlex::try_join(words).unwrap_or_default()
}
