//! Starting the ranks of a job, one after the other.

use std::env;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::sys::descriptor;
use crate::sys::process::{self, Program};
use crate::sys::socket::Stream;

use super::Refusal;
use super::arguments::{App, Plan};
use super::environment::{self, Place, Variable};

/// Everything that the ranks of a job have in common.
pub struct Crew<'a> {
    plan: &'a Plan,
    /// For each rank the number of its program.
    apps: &'a [u32],
    environment: Vec<Variable>,
    keyboard: Option<OwnedFd>,
    silence: File,
    segment: OwnedFd,
    secret: OwnedFd,
    file_limit: Option<u64>,
}

/// A rank that runs: the launcher's ends of everything.
#[derive(Debug)]
pub struct Started {
    /// Its process.
    pub pid: u32,
    /// Where it speaks PMI.
    pub pmi: Stream,
    /// Its standard output and error, to be read without waiting.
    pub outputs: [OwnedFd; 2],
}

impl<'a> Crew<'a> {
    /// Makes what the ranks share. `keyboard` becomes the standard input of rank 0.
    pub fn new(
        plan: &'a Plan, apps: &'a [u32], keyboard: OwnedFd, file_limit: Option<u64>,
    ) -> io::Result<Self> {
        Ok(Self {
            plan,
            apps,
            environment: environment::without_private(env::vars_os()),
            keyboard: Some(keyboard),
            silence: File::open("/dev/null")?,
            segment: descriptor::memory_file("suiro-segment")?,
            secret: descriptor::secret_file()?,
            file_limit,
        })
    }

    /// Starts `rank`; ranks are started in order.
    ///
    /// # Errors
    /// A [`Refusal`] with 127 if there is no such program, 126 if it cannot be started.
    pub fn start(&mut self, rank: u32) -> Result<Started, Refusal> {
        let app = &self.plan.apps[self.apps[rank as usize] as usize];
        let input = match self.keyboard.take() {
            Some(keyboard) => Ok(keyboard),
            None => self.silence.try_clone().map(OwnedFd::from),
        };
        let started = input.map_err(out_of_room).and_then(|input| self.start_app(app, rank, input));
        started.map_err(|refusal| {
            Refusal::new(
                refusal.code,
                format!("cannot start {}: {}", app.program.to_string_lossy(), refusal.why),
            )
        })
    }

    fn start_app(&self, app: &App, rank: u32, input: OwnedFd) -> Result<Started, Refusal> {
        let (pmi, theirs) = Stream::pair().map_err(out_of_room)?;
        pmi.name_senders().map_err(out_of_room)?;
        let (output, output_end) = output_pipe().map_err(out_of_room)?;
        let (errors, errors_end) = output_pipe().map_err(out_of_room)?;
        let place = Place {
            rank,
            size: self.apps.len() as u32,
            pmi_fd: theirs.as_fd().as_raw_fd(),
            segment_fd: self.segment.as_raw_fd(),
            job_fd: self.secret.as_raw_fd(),
        };
        let settings = self.plan.everywhere.iter().chain(&app.variables);
        let pid = process::spawn(Program {
            name: &app.program,
            arguments: &app.arguments,
            environment: &environment::of_rank(&self.environment, settings, place),
            directory: app.directory.as_deref(),
            streams: [input, output_end, errors_end],
            inherited: &[theirs.as_fd(), self.segment.as_fd(), self.secret.as_fd()],
            file_limit: self.file_limit,
            processors: None,
        })
        .map_err(cannot_start)?;
        Ok(Started { pid, pmi, outputs: [output, errors] })
    }
}

/// A pipe whose read end never waits.
fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = descriptor::pipe()?;
    descriptor::set_nonblocking(&read)?;
    Ok((read, write))
}

fn out_of_room(error: io::Error) -> Refusal {
    Refusal::new(1, error.to_string())
}

fn cannot_start(error: io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotFound => Refusal::new(127, "no such program"),
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory => out_of_room(error),
        _ => Refusal::new(126, error.to_string()),
    }
}
