//! The head of a job: decides which event ends it, prints, and has its exit code.
//!
//! ```text
//!   signals, supervisor, pipes --poll--> event_loop --> Streams, Feed
//!   agents --AgentEvent--> JobState --JobAction--> actions --AgentCommand--> agents
//! ```
//!
//! [`event_loop`] waits for events, [`state`] decides without I/O which event ends the job, and
//! [`actions`] and [`report`] carry decisions out. [`links`] has the agents of other hosts, some of which
//! call back ([`calls`]) or are reached through others; when all have said what their hosts have, [`place`]
//! distributes the ranks. [`subordinates`] are jobs that the ranks spawn, and [`parent`] is the job that has
//! spawned this one; [`names`] are those that all of them publish. The head starts no rank: that is the work of the [`agent`](crate::agent) of each
//! host. One thread does all of it.

mod actions;
pub(crate) mod calls;
pub(crate) mod environment;
mod event_loop;
mod links;
mod names;
mod parent;
mod place;
pub(crate) mod ports;
mod remote_input;
mod report;
mod share;
mod state;
mod subordinates;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use platform::bootstrap::{ChildMessage, FenceMerger};
use platform::sys::host;
use platform::sys::process;
use platform::sys::secret::JobCredentials;
use platform::sys::signals;
use platform::sys::signals::Signals;

use crate::agent::Agent;
use crate::agent::environment::EnvironmentVariable;
use crate::command_line::plan::LaunchPlan;
use crate::control::ShareSecret;
use crate::debugger::PidSender;
use crate::input::Feed;
use crate::output::{self, Streams};
use crate::placement::Placement;
use calls::CallPort;
use links::HostLinks;
use names::JobNames;
use parent::ParentJob;
use place::AwaitedHosts;
use remote_input::RemoteInput;
use report::PendingReport;
use share::ShareMaker;
use state::JobState;
use subordinates::Subordinates;

struct Head<'a> {
    shares: ShareMaker<'a>,
    job: JobState,
    /// The ranks of this host.
    agent: Agent,
    /// The agents of other hosts.
    links: HostLinks,
    /// The port at which agents call back, while that is awaited.
    calls: Option<CallPort>,
    /// Set until the ranks of a job on several hosts are placed.
    awaited: Option<AwaitedHosts>,
    /// Standard input of ranks on other hosts.
    inputs: Vec<RemoteInput>,
    /// Barriers and values of PMI that concern several hosts.
    fences: FenceMerger,
    /// The names that ranks publish, unless the parent has them.
    names: JobNames,
    subordinates: Subordinates,
    parent: Option<ParentJob>,
    /// The report about the ranks that is being made.
    report: Option<PendingReport>,
    /// The process of each rank that has started.
    pids: Vec<Option<u32>>,
    signals: Signals,
    /// The time at which the last rank was seen to have ended.
    ranks_ended: Option<Instant>,
    /// The read end of a pipe whose other end the supervisor alone has, while it runs.
    supervisor: Option<OwnedFd>,
    pid_sender: PidSender,
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
    let (own_file_limit, _) = process::file_limit()?;
    let file_limit = process::raise_file_limit();
    process::leave_group()?;
    process::adopt_orphans()?;
    // A terminal with TOSTOP stops background processes that write. This one must write.
    let signals =
        Signals::block(&[&signals::JOB_SIGNALS[..], &plan.forwarded, &[signals::TTOU]].concat())?;
    let now = Instant::now();
    let size = plan.size();
    let host = host::name();
    let hosts = plan.layout.names(&host, size);
    let name = job_name(&host);
    let holds = pid_sender.hold_fd().is_some();
    let JobCredentials { id, key } = JobCredentials::draw()?;
    let (job, secret) = (name.clone(), ShareSecret { id, key });
    let (placement, layout) = (placement.clone(), plan.layout.clone());
    let shares = ShareMaker {
        plan,
        environments,
        placement,
        layout,
        job,
        secret,
        holds,
        file_limit: own_file_limit,
    };
    let job =
        JobState::new(hosts.clone(), size).forwarding(&plan.forwarded).surviving(plan.survives);
    let mut head = Head {
        job: job.limited(plan.timeout, now),
        agent: Agent::new(shares.of_host(0)),
        fences: shares.fences(),
        names: JobNames::new(plan.name_server.clone()),
        subordinates: Subordinates::default(),
        parent: plan.parent.as_ref().map(ParentJob::connected).transpose()?,
        shares,
        links: HostLinks::default(),
        calls: None,
        awaited: plan
            .hosts
            .is_remote()
            .then(|| AwaitedHosts { file_limit, heard: BTreeMap::new() }),
        inputs: Vec::new(),
        report: None,
        pids: vec![None; size as usize],
        signals,
        ranks_ended: None,
        supervisor: Some(supervisor),
        pid_sender,
        feed: Feed::new(plan.input.clone(), stdin, size)?,
        streams: Streams::new(
            &plan.output,
            output::JobIdentity { name, hosts, size },
            terminals()?,
            now,
        ),
    };
    head.start(file_limit)?;
    head.serve()?;
    let code = head.job.code();
    head.tell_parent(ChildMessage::Ended(code));
    head.streams.close()?;
    Ok(code)
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
