//! Starts the ranks of a job, one after the other.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use platform::bootstrap::CpuBinding;
use platform::sys::descriptor;
use platform::sys::process;
use platform::sys::process::ChildProgram;
use platform::sys::secret::JobCredentials;
use platform::sys::socket::SocketStream;

use super::environment::{self, EnvironmentVariable, RankEnvironment};
use crate::LaunchError;
use crate::command_line::plan::{App, LaunchPlan};
use crate::placement::Placement;

/// What all ranks of a job share.
pub(super) struct LaunchContext<'a> {
    plan: &'a LaunchPlan,
    /// The index of the program of each rank.
    apps: &'a [u32],
    placement: &'a Placement,
    /// Processors of all ranks, if all are bound.
    total_processors: Option<usize>,
    /// The environment of each program.
    environments: &'a [Vec<EnvironmentVariable>],
    segment: OwnedFd,
    interface: OwnedFd,
    secret: OwnedFd,
    status: Option<OwnedFd>,
    file_limit: Option<u64>,
}

/// A started rank: its process and the launcher's descriptors.
#[derive(Debug)]
pub(super) struct StartedRank {
    pub pid: u32,
    /// Its PMI connection.
    pub pmi: SocketStream,
    /// Its standard output and error, nonblocking; only the first if both share a pipe.
    pub outputs: [Option<OwnedFd>; 2],
}

impl<'a> LaunchContext<'a> {
    /// Makes the shared files of the job; `status` is the status table.
    pub(super) fn new(
        plan: &'a LaunchPlan, environments: &'a [Vec<EnvironmentVariable>], apps: &'a [u32],
        placement: &'a Placement, status: Option<OwnedFd>, file_limit: Option<u64>,
    ) -> io::Result<Self> {
        Ok(Self {
            plan,
            apps,
            placement,
            total_processors: placement.total_processors(),
            environments,
            segment: descriptor::memory_file("suiro-segment")?,
            interface: descriptor::memory_file("suiro-interface")?,
            secret: JobCredentials::in_new_file()?,
            status,
            file_limit,
        })
    }

    /// Starts `rank`, which reads `input`.
    ///
    /// # Errors
    /// Code 127 if the program was not found, 126 if it could not be started.
    pub(super) fn start(
        &self, rank: u32, input: io::Result<OwnedFd>,
    ) -> Result<StartedRank, LaunchError> {
        let number = self.apps[rank as usize] as usize;
        let (app, variables) = (&self.plan.apps[number], &self.environments[number]);
        let started = input.map_err(resource_error);
        let started = started.and_then(|input| self.start_app(app, variables, rank, input));
        started.map_err(|error| {
            LaunchError::new(
                error.code,
                format!("cannot start {}: {}", app.program.to_string_lossy(), error.why),
            )
        })
    }

    fn start_app(
        &self, app: &App, variables: &[EnvironmentVariable], rank: u32, input: OwnedFd,
    ) -> Result<StartedRank, LaunchError> {
        let (pmi, theirs) = SocketStream::pair().map_err(resource_error)?;
        pmi.name_senders().map_err(resource_error)?;
        let (output, output_end) = output_pipe().map_err(resource_error)?;
        let (errors, errors_end) = if self.plan.output.shares_pipe() {
            (None, output_end.try_clone().map_err(resource_error)?)
        } else {
            output_pipe().map(|(read, write)| (Some(read), write)).map_err(resource_error)?
        };
        let values = RankEnvironment {
            rank,
            size: self.apps.len() as u32,
            pmi_fd: theirs.as_fd().as_raw_fd(),
            segment_fd: self.segment.as_raw_fd(),
            interface_fd: self.interface.as_raw_fd(),
            job_fd: self.secret.as_raw_fd(),
            status_fd: self.status.as_ref().map(AsRawFd::as_raw_fd),
            bound: self.bound(rank),
        };
        let shared = [&self.segment, &self.interface, &self.secret].map(AsFd::as_fd);
        let mut inherited = vec![theirs.as_fd()];
        inherited.extend(shared);
        inherited.extend(self.status.as_ref().map(AsFd::as_fd));
        let words = command_line(app, rank, variables);
        let pid = process::spawn(ChildProgram {
            name: &words[0],
            arguments: &words[1..],
            environment: &environment::of_rank(variables, values),
            directory: app.directory.as_deref(),
            streams: [input, output_end, errors_end],
            inherited: &inherited,
            file_limit: self.file_limit,
            processors: self.placement.of_rank(rank),
        })
        .map_err(cannot_start)?;
        Ok(StartedRank { pid, pmi, outputs: [Some(output), errors] })
    }

    /// The table of all processes, in the form of Open MPI, and where it is to be printed.
    pub(super) fn process_table(&self, host: &str, pids: &[u32]) -> Option<(&OsStr, Vec<u8>)> {
        let destination = self.plan.process_table.as_ref()?;
        let mut table = Vec::new();
        for ((rank, pid), app) in (0..).zip(pids).zip(self.apps) {
            let program = &self.plan.apps[*app as usize].program;
            table.extend_from_slice(
                format!("(rank, host, exe, pid) = ({rank}, {host}, ").as_bytes(),
            );
            table.extend_from_slice(program.as_bytes());
            table.extend_from_slice(format!(", {pid})\n").as_bytes());
        }
        Some((destination, table))
    }

    /// The binding that `rank` is informed of; it cannot see the processors of other ranks.
    fn bound(&self, rank: u32) -> Option<CpuBinding> {
        Some(CpuBinding {
            own: self.placement.of_rank(rank)?.to_vec(),
            host_total: self.total_processors?,
        })
    }
}

/// The program and arguments that start `app` as `rank`.
fn command_line(app: &App, rank: u32, variables: &[EnvironmentVariable]) -> Vec<OsString> {
    let wraps = app.wraps.iter().filter(|wrap| wrap.ranks.contains(rank));
    let mut words: Vec<_> = wraps.flat_map(|wrap| wrap.words.iter().cloned()).collect();
    words.push(found(app, variables).unwrap_or_else(|| app.program.clone()));
    words.extend(app.arguments.iter().cloned());
    words
}

/// The file of a plain program name, searched in the directories of the command line, then in the
/// launcher's `PATH` if the program has none. Otherwise the system searches it.
fn found(app: &App, variables: &[EnvironmentVariable]) -> Option<OsString> {
    if app.names_file() {
        return None;
    }
    let own = match variables.iter().any(|variable| variable.0 == "PATH") {
        true => None,
        false => env::var_os("PATH"),
    };
    let lists = app.path.iter().chain(&own);
    app.candidates(lists).find(|file| file.is_file()).map(OsString::from)
}

/// A pipe with a nonblocking read end.
fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = descriptor::pipe()?;
    descriptor::set_nonblocking(&read)?;
    Ok((read, write))
}

/// Adds the limit that the user can raise.
fn resource_error(error: io::Error) -> LaunchError {
    let remedy = match error.raw_os_error() {
        Some(process::TOO_MANY_FILES) => "; each rank takes four files of mpirun (ulimit -n)",
        Some(process::TRY_AGAIN) => "; there may be too many processes (ulimit -u)",
        _ => "",
    };
    LaunchError::new(1, format!("{error}{remedy}"))
}

fn cannot_start(error: io::Error) -> LaunchError {
    match error.raw_os_error() {
        Some(process::TOO_MANY_FILES | process::TRY_AGAIN) => resource_error(error),
        _ if error.kind() == ErrorKind::NotFound => LaunchError::new(127, "program not found"),
        _ if error.kind() == ErrorKind::OutOfMemory => resource_error(error),
        _ => LaunchError::new(126, error.to_string()),
    }
}
