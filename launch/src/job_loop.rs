//! The process that runs a job: one loop over everything that can happen, without threads.
//!
//! ```text
//!   signals, front, PMI sockets, MPI processes, pipes --poll--> Server, Streams, Feed, Job
//!                                                                           `--> actions
//! ```
//!
//! Order matters in one place: when a rank has ended, what it still said by PMI is read before
//! its end is judged, so that an abort is an abort.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use platform::bootstrap::{JoinState, Server, ServerEvent};
use platform::diagnosis::status::{RankActivity, StatusReader};
use platform::sys::clock;
use platform::sys::host;
use platform::sys::poll::PollSet;
use platform::sys::process;
use platform::sys::process::{Exit, Reap};
use platform::sys::signals;
use platform::sys::signals::Signals;
use platform::sys::socket::SocketStream;

use super::debugger::PidSender;
use super::dump::{self, RankSnapshot};
use super::environment::EnvironmentVariable;
use super::input::{self, Feed};
use super::job_state::{JobAction, JobState};
use super::output::{self, Streams};
use super::placement::Placement;
use super::plan::LaunchPlan;
use super::stack::ProgramFiles;
use super::start::{LaunchContext, StartedRank};

/// How long a shell may take to tell how the MPI process that it started ended, and how long a
/// process whose connection has been closed may take to end itself.
const SHELL_TIMEOUT: Duration = Duration::from_millis(100);

/// More bytes than this in replies that a rank does not read, and it is not talked to any more.
const REPLIES_MAX_BYTES: usize = 4 << 20;

/// What a wait was for.
#[derive(Clone, Copy, Debug)]
enum JobLoopToken {
    Signals,
    Supervisor,
    Debugger,
    Request(usize),
    Reply(usize),
    MpiProcess(usize),
    Input(input::InputReady),
    Output(output::OutputReady),
}

/// One rank: its process and the launcher's ends of everything.
struct RunningRank {
    /// How its process ended, if it has.
    exit: Option<Exit>,
    pmi: Option<SocketStream>,
    replies: Vec<u8>,
    mpi: MpiProcess,
    /// The connection was closed without a goodbye: what becomes of that is judged then.
    disconnect_deadline: Option<Instant>,
}

/// The process that speaks PMI for a rank, when the rank's own process only started it.
enum MpiProcess {
    /// The rank itself, or nobody yet.
    RankItself,
    Running {
        pid: u32,
        watch: OwnedFd,
    },
    Gone {
        pid: u32,
        watch: OwnedFd,
        check_at: Instant,
    },
}

impl MpiProcess {
    /// The process that does MPI for the rank with the process `own`.
    fn pid(&self, own: u32) -> u32 {
        match self {
            Self::RankItself | Self::Gone { .. } => own,
            Self::Running { pid, .. } => *pid,
        }
    }
}

struct JobLoop {
    job: JobState,
    server: Server,
    /// Where the ranks say what they wait for; a job runs without it too.
    status_table: Option<StatusReader>,
    ranks: Vec<RunningRank>,
    pids: Vec<u32>,
    signals: Signals,
    supervisor: Option<OwnedFd>,
    announcer: PidSender,
    feed: Feed,
    streams: Streams,
}

/// Runs the job of `plan` below this process, until nothing of it is left; its exit code.
///
/// `environments` are what its programs see, `stdin` is the standard input for ranks, `supervisor` the process to obey and to watch.
///
/// # Errors
/// When the system refuses something that the launcher cannot do without.
pub fn run(
    plan: &LaunchPlan, environments: &[Vec<EnvironmentVariable>], placement: &Placement,
    stdin: OwnedFd, front: u32, announcer: PidSender,
) -> io::Result<i32> {
    let file_limit = process::raise_file_limit();
    process::leave_group()?;
    process::adopt_orphans()?;
    // The terminal may forbid processes in the background to write; not this one.
    let signals =
        Signals::block(&[&signals::JOB_SIGNALS[..], &plan.forwarded, &[signals::TTOU]].concat())?;
    let apps = plan.app_of_rank();
    let now = Instant::now();
    let size = apps.len() as u32;
    let host = host::name();
    let name = job_name(&host);
    let (board, status) = StatusReader::create(size).ok().unzip();
    let crew = LaunchContext::new(plan, environments, &apps, placement, status, file_limit)?;
    let mut run = JobLoop {
        job: JobState::new(&host, size).forwarding(&plan.forwarded).limited(plan.timeout, now),
        server: Server::new(&name, &apps),
        status_table: board,
        ranks: Vec::new(),
        pids: Vec::new(),
        signals,
        supervisor: process::open_pidfd(front).ok(),
        announcer,
        feed: Feed::new(plan.input.clone(), stdin, size)?,
        streams: Streams::open(
            &plan.output,
            output::JobIdentity { name, host, size },
            terminals()?,
            now,
        )?,
    };
    if run.supervisor.is_none() {
        let actions = run.job.supervisor_gone(now);
        run.perform(actions);
    }
    run.start(crew, size);
    run.serve()?;
    run.streams.close()?;
    Ok(run.job.code())
}

/// The standard output and error of the launcher.
fn terminals() -> io::Result<[OwnedFd; 2]> {
    Ok([io::stdout().as_fd().try_clone_to_owned()?, io::stderr().as_fd().try_clone_to_owned()?])
}

/// Unlike that of any other job on any host; this one is called `host`.
fn job_name(host: &str) -> String {
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let plain = host.replace(|character: char| !character.is_ascii_alphanumeric(), "_");
    format!("suiro_{plain:.64}_{}_{:x}", process::own_pid(), since_1970.as_nanos())
}

impl JobLoop {
    fn start(&mut self, crew: LaunchContext<'_>, size: u32) {
        for rank in 0..size {
            if !self.job.is_running() {
                break;
            }
            match crew.start(rank, self.feed.of_rank(rank)) {
                Ok(StartedRank { pid, pmi, outputs }) => {
                    self.job.started(rank, pid);
                    self.pids.push(pid);
                    self.streams.add(pid, outputs);
                    self.ranks.push(RunningRank::new(pmi));
                }
                Err(refusal) => {
                    let actions = self.job.refused(refusal.code, &refusal.why, Instant::now());
                    self.perform(actions);
                }
            }
        }
        if self.pids.len() == size as usize {
            self.announcer.send(&self.pids);
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            let childless = self.reap();
            let now = Instant::now();
            self.check_pending_ends(now);
            self.streams.flush_overdue(now);
            let given_up = self.feed.drop_slow_readers(now);
            self.perform(self.job.input_lost(&given_up));
            if childless {
                self.streams.drain(now);
            } else {
                let actions = self.job.tick(now);
                self.perform(actions);
            }
            if self.is_over(childless, now) {
                return Ok(());
            }
            for token in self.wait(now)? {
                self.handle(token);
            }
        }
    }

    fn wait(&mut self, now: Instant) -> io::Result<Vec<JobLoopToken>> {
        let timeout = self.deadline(now).map(|at| at.saturating_duration_since(now));
        let mut set = PollSet::default();
        set.add_read(self.signals.as_fd(), JobLoopToken::Signals);
        if let Some(front) = &self.supervisor {
            set.add_read(front.as_fd(), JobLoopToken::Supervisor);
        }
        if let Some(debugger) = self.announcer.hold_fd() {
            set.add_read(debugger, JobLoopToken::Debugger);
        }
        for (number, rank) in self.ranks.iter().enumerate() {
            rank.interests(number, self.announcer.hold_fd().is_some(), &mut set);
        }
        self.feed.interests(&mut set, JobLoopToken::Input);
        self.streams.interests(&mut set, JobLoopToken::Output);
        set.wait(timeout)
    }

    /// When something is due although nothing happens.
    fn deadline(&self, now: Instant) -> Option<Instant> {
        let shells = self
            .ranks
            .iter()
            .filter(|rank| rank.exit.is_none())
            .filter_map(RunningRank::check_deadline);
        let last_words =
            self.streams.drain_deadline().filter(|at| !self.job.is_running() && *at > now);
        let others = [self.job.deadline(), self.streams.deadline(), self.feed.deadline()];
        shells.chain(others.into_iter().flatten()).chain(last_words).min()
    }

    fn handle(&mut self, token: JobLoopToken) {
        let now = Instant::now();
        match token {
            JobLoopToken::Signals => {
                while let Some(signal) = self.signals.take() {
                    if signal != signals::CHLD && signal != signals::TTOU {
                        let actions = self.job.signalled(signal, now);
                        self.perform(actions);
                    }
                }
            }
            JobLoopToken::Supervisor => {
                self.supervisor = None;
                let actions = self.job.supervisor_gone(now);
                self.perform(actions);
            }
            JobLoopToken::Debugger => self.announcer.release(),
            JobLoopToken::Request(rank) => self.read_requests(rank),
            JobLoopToken::Reply(rank) => self.send_replies(rank),
            JobLoopToken::MpiProcess(rank) => self.ranks[rank].mpi_ended(now),
            JobLoopToken::Input(ready) => self.feed.handle(ready, now),
            JobLoopToken::Output(ready) => {
                if let Err(lost) = self.streams.handle(ready, now) {
                    let actions = self.job.output_lost(lost.why.as_deref(), now);
                    self.perform(actions);
                }
            }
        }
    }

    /// Collects what has ended; is nothing left?
    fn reap(&mut self) -> bool {
        loop {
            match process::reap() {
                Reap::Running => break,
                Reap::Childless => return true,
                Reap::Ended(pid, exit) => {
                    if let Some(rank) = self.pids.iter().position(|other| *other == pid)
                        && self.ranks[rank].exit.is_none()
                    {
                        self.rank_ended(rank, exit);
                    }
                }
            }
        }
        if self.ranks.iter().all(|rank| rank.exit.is_some()) {
            let actions = self.job.all_ended(true, Instant::now());
            self.perform(actions);
        }
        false
    }

    fn rank_ended(&mut self, rank: usize, exit: Exit) {
        self.read_requests(rank);
        let now = Instant::now();
        let standing = self.server.join_state(rank as u32);
        let inner = self.ranks[rank].inner_exit();
        self.ranks[rank].exit = Some(exit);
        self.record_call(rank);
        let actions = self.job.exited(rank as u32, exit, inner, standing, now);
        self.perform(actions);
        let events = self.server.rank_ended(rank as u32);
        self.handle_events(events);
    }

    /// Tells the job which call `rank` is in, if it has said so.
    fn record_call(&mut self, rank: usize) {
        let said = self.status_table.as_ref().map(|board| board.read(rank as u32));
        if let Some(RankActivity::Waiting(_, call)) = said {
            self.job.waiting_in(rank as u32, format!("{}{}", call.function, call.details));
        }
    }

    /// Judges MPI processes whose shells had their time, and connections that were closed.
    fn check_pending_ends(&mut self, now: Instant) {
        for rank in 0..self.ranks.len() {
            let due = self.ranks[rank].check_deadline().is_some_and(|at| at <= now);
            if !due || self.ranks[rank].exit.is_some() {
                continue;
            }
            self.read_requests(rank);
            self.record_call(rank);
            self.ranks[rank].disconnect_deadline = None;
            let exit = self.ranks[rank].inner_exit().map(|(_, exit)| exit);
            let joined = self.server.join_state(rank as u32) == JoinState::Joined;
            let actions = match std::mem::replace(&mut self.ranks[rank].mpi, MpiProcess::RankItself)
            {
                MpiProcess::Gone { pid, .. } if joined => {
                    self.job.process_gone(rank as u32, pid, exit, now)
                }
                MpiProcess::Running { pid, .. } if joined => {
                    self.job.disconnected(rank as u32, pid, now)
                }
                MpiProcess::RankItself if joined => {
                    self.job.disconnected(rank as u32, self.pids[rank], now)
                }
                MpiProcess::Gone { .. } | MpiProcess::Running { .. } | MpiProcess::RankItself => {
                    continue;
                }
            };
            self.perform(actions);
        }
    }

    fn read_requests(&mut self, rank: usize) {
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

    fn handle_events(&mut self, events: Vec<ServerEvent>) {
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
                ServerEvent::Stuck { ended: gone, waiting } => self.job.stuck(gone, waiting, now),
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

    fn send_replies(&mut self, rank: usize) {
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

    fn is_over(&mut self, childless: bool, now: Instant) -> bool {
        if !childless {
            return self.job.kill_timed_out(now);
        }
        let had_its_time = || self.streams.drain_deadline().is_none_or(|at| now >= at);
        self.streams.are_empty() || (!self.job.is_running() && had_its_time())
    }

    fn perform(&mut self, actions: Vec<JobAction>) {
        for action in actions {
            match action {
                JobAction::Print(line) => {
                    let line = format!("mpirun: {}", line.replace('\n', " "));
                    self.streams.print_line(&line, Instant::now());
                }
                JobAction::Forward(signal) => {
                    for (rank, pid) in self.ranks.iter().zip(&self.pids) {
                        if rank.exit.is_none() {
                            process::signal_group(*pid, signal);
                        }
                    }
                }
                JobAction::Dump { overdue } => {
                    self.dump();
                    if overdue {
                        let actions = self.job.dumped(Instant::now());
                        self.perform(actions);
                    }
                }
                JobAction::Terminate => {
                    self.streams.restart_drain_timeout(Instant::now());
                    self.signal_everything(signals::TERM);
                    self.signal_everything(signals::CONT);
                }
                JobAction::Kill => self.signal_everything(signals::KILL),
            }
        }
    }

    /// Says of every rank where it is.
    fn dump(&mut self) {
        let (now_ns, end) = (clock::monotonic_ns(), Instant::now() + dump::SNAPSHOT_TIMEOUT);
        let look = |(number, (rank, pid)): (u32, (&RunningRank, &u32))| {
            let doing = self
                .status_table
                .as_ref()
                .map_or(RankActivity::Unknown, |board| board.read(number));
            let standing = self.server.join_state(number);
            RankSnapshot::of(rank.mpi.pid(*pid), rank.exit, standing, doing, end)
        };
        let ranks = self.ranks.iter().zip(&self.pids);
        let sightings: Vec<_> = (0..).zip(ranks).map(look).collect();
        let (mut files, end) = (ProgramFiles::default(), Instant::now() + dump::SYMBOL_TIMEOUT);
        let reports = sightings.into_iter().map(|sighting| sighting.report(&mut files, end));
        let reports: Vec<_> = reports.collect();
        for line in dump::text(&host::name(), now_ns, &reports).lines() {
            self.streams.print_line(line, Instant::now());
        }
    }

    /// Every process below this one; without /proc, the groups of the ranks.
    fn signal_everything(&self, signal: i32) {
        let all = process::descendants();
        for pid in &all {
            process::signal_process(*pid, signal);
        }
        if all.is_empty() {
            for (rank, pid) in self.ranks.iter().zip(&self.pids) {
                if rank.exit.is_none() {
                    process::signal_group(*pid, signal);
                }
            }
        }
    }
}

impl RunningRank {
    fn new(pmi: SocketStream) -> Self {
        let mpi = MpiProcess::RankItself;
        Self { exit: None, pmi: Some(pmi), replies: Vec::new(), mpi, disconnect_deadline: None }
    }

    fn interests<'a>(&'a self, number: usize, held: bool, set: &mut PollSet<'a, JobLoopToken>) {
        if let Some(pmi) = &self.pmi {
            if self.exit.is_none() && !held {
                set.add_read(pmi.as_fd(), JobLoopToken::Request(number));
            }
            if !self.replies.is_empty() {
                set.add_write(pmi.as_fd(), JobLoopToken::Reply(number));
            }
        }
        if let MpiProcess::Running { watch, .. } = &self.mpi {
            set.add_read(watch.as_fd(), JobLoopToken::MpiProcess(number));
        }
    }

    /// The process `sender` joined for this rank.
    fn watch_mpi(&mut self, own_pid: u32, sender: Option<u32>) {
        let Some(pid) = sender.filter(|pid| *pid != own_pid) else { return };
        if let Ok(watch) = process::open_pidfd(pid) {
            self.mpi = MpiProcess::Running { pid, watch };
        }
    }

    /// The MPI process ended; its shell has a moment to say how.
    fn mpi_ended(&mut self, now: Instant) {
        self.mpi = match std::mem::replace(&mut self.mpi, MpiProcess::RankItself) {
            MpiProcess::Running { pid, watch } => {
                MpiProcess::Gone { pid, watch, check_at: now + SHELL_TIMEOUT }
            }
            other @ (MpiProcess::RankItself | MpiProcess::Gone { .. }) => other,
        };
    }

    /// When to judge what looks like an end, if something does.
    fn check_deadline(&self) -> Option<Instant> {
        match self.mpi {
            MpiProcess::Gone { check_at: judged_at, .. } => Some(judged_at),
            MpiProcess::RankItself | MpiProcess::Running { .. } => self.disconnect_deadline,
        }
    }

    /// How the MPI process ended, if it is another one than the rank's and the system tells.
    fn inner_exit(&self) -> Option<(u32, Exit)> {
        match &self.mpi {
            MpiProcess::RankItself => None,
            MpiProcess::Running { pid, watch } | MpiProcess::Gone { pid, watch, .. } => {
                Some((*pid, process::pidfd_exit(watch.as_fd())?))
            }
        }
    }
}
