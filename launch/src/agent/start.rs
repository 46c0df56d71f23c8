//! Starts the ranks of a host, one after the other.

use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use platform::bootstrap::CpuBinding;
use platform::sys::descriptor;
use platform::sys::process;
use platform::sys::process::ChildProgram;
use platform::sys::secret::JobCredentials;
use platform::sys::socket::SocketStream;

use super::environment::{self, EnvironmentVariable, RankEnvironment};
use crate::LaunchError;
use crate::command_line::plan::{candidates, names_file};
use crate::control::{HostShare, RankShare, ShareApp, ShareSecret};

/// What all ranks of a host share.
pub(super) struct LaunchContext<'a> {
    share: &'a HostShare,
    /// Processors of all ranks, if all are bound.
    total_processors: Option<usize>,
    segment: OwnedFd,
    interface: OwnedFd,
    secret: OwnedFd,
    status: Option<OwnedFd>,
    ended: Option<OwnedFd>,
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
    /// Makes the shared files of the host; `status` is the status table, `ended` that of ended ranks.
    pub(super) fn new(
        share: &'a HostShare, [status, ended]: [Option<OwnedFd>; 2], file_limit: Option<u64>,
    ) -> io::Result<Self> {
        let ShareSecret { id, key } = share.secret;
        Ok(Self {
            share,
            total_processors: share.total_processors(),
            segment: descriptor::memory_file("suiro-segment")?,
            interface: descriptor::memory_file("suiro-interface")?,
            secret: JobCredentials { id, key }.in_file()?,
            status,
            ended,
            file_limit,
        })
    }

    /// Starts the rank `number` of this host, which reads `input`.
    ///
    /// # Errors
    /// Code 127 if the program was not found, 126 if it could not be started.
    pub(super) fn start(
        &self, number: usize, input: io::Result<OwnedFd>,
    ) -> Result<StartedRank, LaunchError> {
        let own = &self.share.ranks[number];
        let app = self.share.app_of(own.rank);
        let started = input.map_err(resource_error);
        let started = started.and_then(|input| self.start_app(app, own, number as u32, input));
        started.map_err(|error| {
            let wrap = app.wraps.iter().find(|(ranks, _)| ranks.contains(own.rank));
            // Without its program, a debugger itself reports that.
            let program = wrap.map_or(&app.program, |(_, words)| &words[0]).to_string_lossy();
            LaunchError::new(error.code, format!("cannot start {program}: {}", error.why))
        })
    }

    fn start_app(
        &self, app: &ShareApp, own: &RankShare, number: u32, input: OwnedFd,
    ) -> Result<StartedRank, LaunchError> {
        let (pmi, theirs) = SocketStream::pair().map_err(resource_error)?;
        pmi.name_senders().map_err(resource_error)?;
        let (output, output_end) = output_pipe().map_err(resource_error)?;
        let (errors, errors_end) = if self.share.shares_pipe {
            (None, output_end.try_clone().map_err(resource_error)?)
        } else {
            output_pipe().map(|(read, write)| (Some(read), write)).map_err(resource_error)?
        };
        let values = RankEnvironment {
            rank: own.rank,
            size: self.share.size,
            local_rank: number,
            local_size: self.share.ranks.len() as u32,
            pmi_fd: theirs.as_fd().as_raw_fd(),
            segment_fd: self.segment.as_raw_fd(),
            interface_fd: self.interface.as_raw_fd(),
            job_fd: self.secret.as_raw_fd(),
            status_fd: self.status.as_ref().map(AsRawFd::as_raw_fd),
            ended_fd: self.ended.as_ref().map(AsRawFd::as_raw_fd),
            bound: self.bound(own),
        };
        let shared = [&self.segment, &self.interface, &self.secret].map(AsFd::as_fd);
        let mut inherited = vec![theirs.as_fd()];
        inherited.extend(shared);
        inherited.extend([&self.status, &self.ended].into_iter().flatten().map(AsFd::as_fd));
        let directory = app.directory.as_deref().map(Path::new);
        let words = command_line(app, own.rank);
        let pid = process::spawn(ChildProgram {
            name: &words[0],
            arguments: &words[1..],
            environment: &environment::of_rank(
                environment::of_app(app, |name| env::var_os(name)),
                values,
            ),
            directory,
            streams: [input, output_end, errors_end],
            inherited: &inherited,
            file_limit: self.file_limit,
            processors: own.processors.as_deref(),
        })
        .map_err(|error| cannot_start(error, directory))?;
        Ok(StartedRank { pid, pmi, outputs: [Some(output), errors] })
    }

    /// The binding that a rank is informed of; it cannot see the processors of other ranks.
    fn bound(&self, own: &RankShare) -> Option<CpuBinding> {
        Some(CpuBinding { own: own.processors.clone()?, host_total: self.total_processors? })
    }
}

/// The program and arguments that start `app` as `rank`.
fn command_line(app: &ShareApp, rank: u32) -> Vec<OsString> {
    let wraps = app.wraps.iter().filter(|(ranks, _)| ranks.contains(rank));
    let mut words: Vec<_> = wraps.flat_map(|(_, words)| words.iter().cloned()).collect();
    words.push(found(app).unwrap_or_else(|| app.program.clone()));
    words.extend(app.arguments.iter().cloned());
    words
}

/// The file of a plain program name, searched in the directories of the command line, then in the
/// launcher's `PATH` if the program has none. Otherwise the system searches it.
fn found(app: &ShareApp) -> Option<OsString> {
    if names_file(&app.program) {
        return None;
    }
    let has_path = |variable: &EnvironmentVariable| variable.0 == "PATH";
    let own = match app.environment.iter().any(has_path) {
        true => None,
        false => env::var_os("PATH"),
    };
    let lists = app.path.iter().chain(&own);
    candidates(&app.program, lists).find(|file| file.is_file()).map(OsString::from)
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

fn cannot_start(error: io::Error, directory: Option<&Path>) -> LaunchError {
    match error.raw_os_error() {
        Some(process::TOO_MANY_FILES | process::TRY_AGAIN) => resource_error(error),
        _ if error.kind() == ErrorKind::OutOfMemory => resource_error(error),
        _ => match directory.filter(|directory| !directory.is_dir()) {
            Some(directory) => {
                let why = format!("there is no directory {}", directory.display());
                LaunchError::new(1, why)
            }
            None if error.kind() == ErrorKind::NotFound => {
                LaunchError::new(127, "program not found")
            }
            None => LaunchError::new(126, error.to_string()),
        },
    }
}
