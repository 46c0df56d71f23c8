//! The job loop process of `mpirun`: starts the ranks, serves them, reaps them.
//!
//! ```text
//!   signals, supervisor, PMI sockets, MPI processes, pipes
//!        --poll--> event_loop --> Server, Streams, Feed, JobState
//!                                                         `--JobAction--> actions
//! ```
//!
//! [`start`] spawns ranks, [`event_loop`] waits for events, [`pmi`] serves requests, [`reap`]
//! collects ended processes, [`state`] decides without I/O which event ends the job, and
//! [`actions`] carries decisions out. One thread does all of it, except that [`report_process`] names
//! the calls of ranks.

mod actions;
pub(crate) mod environment;
mod event_loop;
mod pmi;
mod rank;
mod reap;
mod report_process;
mod start;
mod state;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use platform::bootstrap::Server;
use platform::diagnosis::status_table::StatusTable;
use platform::sys::control_group;
use platform::sys::host;
use platform::sys::process;
use platform::sys::signals;
use platform::sys::signals::Signals;

use crate::command_line::plan::LaunchPlan;
use crate::debugger::PidSender;
use crate::input::Feed;
use crate::output::{self, Streams};
use crate::placement::Placement;
use environment::EnvironmentVariable;
use rank::RunningRank;
use report_process::ReportProcess;
use start::LaunchContext;
use state::JobState;

struct JobLoop {
    job: JobState,
    server: Server,
    /// The memory files of later programs of the ranks, by the number of the program.
    files: HashMap<u32, [OwnedFd; 2]>,
    /// The call that each rank waits in. A job also runs without the table.
    status_table: Option<StatusTable>,
    ranks: Vec<RunningRank>,
    pids: Vec<u32>,
    signals: Signals,
    /// Processes that the kernel had ended for lack of memory before the job, if it counts them.
    memory_kills_before: Option<u64>,
    /// The time at which the last rank was seen to have ended.
    ranks_ended: Option<Instant>,
    /// The read end of a pipe whose other end the supervisor alone has, while it runs.
    supervisor: Option<OwnedFd>,
    pid_sender: PidSender,
    /// The report about the ranks that is being made.
    report: Option<ReportProcess>,
    feed: Feed,
    streams: Streams,
}

/// Runs the job of `plan` below this process until all its processes have ended; the exit code.
///
/// `environments` has the variables of each program, `stdin` is the input for ranks,
/// `supervisor` a pipe that ends with the process that forwards signals to this one.
///
/// # Errors
/// A system call that the launcher needs failed.
pub(crate) fn run(
    plan: &LaunchPlan, environments: &[Vec<EnvironmentVariable>], placement: &Placement,
    stdin: OwnedFd, supervisor: OwnedFd, pid_sender: PidSender,
) -> io::Result<i32> {
    let file_limit = process::raise_file_limit();
    process::leave_group()?;
    process::adopt_orphans()?;
    // A terminal with TOSTOP stops background processes that write. This one must write.
    let signals =
        Signals::block(&[&signals::JOB_SIGNALS[..], &plan.forwarded, &[signals::TTOU]].concat())?;
    let apps = plan.app_of_rank();
    let now = Instant::now();
    let size = apps.len() as u32;
    let host = host::name();
    let name = job_name(&host);
    let (status_table, status_fd) = StatusTable::create(size as usize).ok().unzip();
    let context = LaunchContext::new(plan, environments, &apps, placement, status_fd, file_limit)?;
    let mut job_loop = JobLoop {
        job: JobState::new(&host, size).forwarding(&plan.forwarded).limited(plan.timeout, now),
        server: Server::new(&name, &apps),
        files: HashMap::new(),
        status_table,
        ranks: Vec::new(),
        pids: Vec::new(),
        signals,
        memory_kills_before: control_group::out_of_memory_kills(),
        ranks_ended: None,
        supervisor: Some(supervisor),
        pid_sender,
        report: None,
        feed: Feed::new(plan.input.clone(), stdin, size)?,
        streams: Streams::open(
            &plan.output,
            output::JobIdentity { name, host, size },
            terminals()?,
            now,
        )?,
    };
    job_loop.start(context, size);
    job_loop.serve()?;
    job_loop.streams.close()?;
    Ok(job_loop.job.code())
}

/// The standard output and error of the launcher.
fn terminals() -> io::Result<[OwnedFd; 2]> {
    Ok([io::stdout().as_fd().try_clone_to_owned()?, io::stderr().as_fd().try_clone_to_owned()?])
}

/// A name that no other job on any host has.
fn job_name(host: &str) -> String {
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let plain = host.replace(|character: char| !character.is_ascii_alphanumeric(), "_");
    format!("suiro_{plain:.64}_{}_{:x}", process::own_pid(), since_1970.as_nanos())
}
