//! State of a job: which event ends it, with which message and exit code.
//!
//! ```text
//!   Running --all ranks and their pipes ended--------> Ending (quietly)
//!      \-----a rank fails, a signal, ... (first cause)-> Ending --grace expired--> killed
//! ```
//!
//! Only the first cause is reported and decides the code. A value without I/O: events and the time
//! go in, [`JobAction`]s come out.

use std::time::{Duration, Instant};

use platform::bootstrap::{JobHosts, JoinState};
use platform::sys::process::Exit;
use platform::sys::signals;
use platform::sys::topology::format_list;

/// The code of loaders and shells that do not find a file.
const NOT_FOUND: i32 = 127;

/// The time that processes have to exit after SIGTERM.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// The time from SIGTERM for the ranks to SIGTERM for the processes that they started: filters of
/// their output end by themselves, after they have written the rest.
const RANKS_FIRST: Duration = Duration::from_millis(250);

/// The time that a rank has to end after it has aborted the job, before SIGTERM for all: it writes its
/// buffered output meanwhile.
const ABORT_TIMEOUT: Duration = Duration::from_millis(200);

/// Interval at which remaining processes are killed again.
const KILL_INTERVAL: Duration = Duration::from_millis(10);

/// The time after which the launcher no longer waits for killed processes.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The time without progress after which the remaining output of a failed job is given up; of a job
/// that a signal or its time limit ends; and after a second signal.
const FAILED_OUTPUT_TIMEOUT: Duration = Duration::from_secs(60);
const ENDED_OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);
const KILLED_OUTPUT_TIMEOUT: Duration = Duration::from_millis(200);

/// The exit code after `--timeout`, as of timeout(1).
const OVERDUE: i32 = 124;

/// The end of a sentence about a rank or a spawned job whose failure the job survives.
const GOES_ON: &str = "the job goes on without it (--with-ft)";

/// A host that is lost, and the hosts that were reached through it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostHost<'a> {
    pub name: &'a str,
    pub ranks: &'a [u32],
    pub hosts_below: usize,
    pub ranks_below: &'a [u32],
}

/// What the launcher must do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JobAction {
    Print(String),
    /// Print the state of each rank; if the job is overdue, then call [`JobState::dumped`].
    Dump {
        /// Whether the time limit is the reason.
        overdue: bool,
    },
    /// Send this signal to the process group of every rank.
    Forward(i32),
    /// Terminate the ranks.
    Terminate,
    /// Terminate every process of the job.
    TerminateRest,
    /// The same for a job without ranks; the processes are named.
    EndLeftovers,
    /// Kill every process of the job.
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobPhase {
    Running,
    /// Terminated at `since`; remaining processes are killed at `next_kill`.
    Ending {
        code: i32,
        /// Nothing is terminated before then, unless all ranks that have aborted the job end.
        abort_until: Option<Instant>,
        since: Instant,
        /// Processes that are no ranks are terminated then.
        rest_at: Option<Instant>,
        next_kill: Instant,
        /// The time that the remaining output may wait without progress, if it is limited.
        output_timeout: Option<Duration>,
    },
}

#[derive(Debug)]
pub(super) struct JobState {
    phase: JobPhase,
    hosts: JobHosts,
    /// Process ids of running ranks.
    running: Vec<Option<u32>>,
    /// Those that have aborted the job and have not ended.
    aborting: Vec<u32>,
    /// The number of ranks that have ended.
    ended: usize,
    /// The exit code of the first rank that failed.
    first_code: i32,
    /// Signals that are forwarded to the ranks.
    forwarded: Vec<i32>,
    /// The deadline and the time limit.
    limit: Option<(Instant, Duration)>,
    /// A rank and the MPI call that it waits in, if known.
    waiting: Option<(u32, String)>,
    /// Number of processes that the kernel ended for lack of memory.
    memory_kills: u64,
    /// Whether ranks survive the failure of others.
    survives: bool,
    /// The ranks that have failed while others survive that, each with its code.
    lost: Vec<(u32, i32)>,
    /// Whether a job that ranks of this one have spawned has ended well.
    has_spawned_survivors: bool,
}

impl JobState {
    /// A job of `size` ranks on `hosts`, none of them started.
    pub(super) fn new(hosts: JobHosts, size: u32) -> Self {
        Self {
            phase: JobPhase::Running,
            hosts,
            running: vec![None; size as usize],
            ended: 0,
            first_code: 0,
            forwarded: vec![signals::USR1, signals::USR2, signals::TSTP, signals::CONT],
            limit: None,
            waiting: None,
            memory_kills: 0,
            survives: false,
            aborting: Vec::new(),
            lost: Vec::new(),
            has_spawned_survivors: false,
        }
    }

    /// Makes the failure of a rank an event that the others survive.
    pub(super) fn surviving(self, survives: bool) -> Self {
        Self { survives, ..self }
    }

    /// The ranks, of which none has started, are on `hosts`.
    pub(super) fn placed_on(&mut self, hosts: JobHosts) {
        self.hosts = hosts;
    }

    /// Adds forwarded signals, which do not end the job.
    pub(super) fn forwarding(mut self, signals: &[i32]) -> Self {
        self.forwarded.extend(signals);
        self
    }

    /// Sets the time limit, from `now` on.
    pub(super) fn limited(self, limit: Option<Duration>, now: Instant) -> Self {
        let limit = limit.and_then(|limit| Some((now.checked_add(limit)?, limit)));
        Self { limit, ..self }
    }

    /// `rank` has started as the process `pid`.
    pub(super) fn started(&mut self, rank: u32, pid: u32) {
        self.running[rank as usize] = Some(pid);
    }

    /// Whether nothing has ended the job yet.
    pub(super) fn is_running(&self) -> bool {
        self.phase == JobPhase::Running
    }

    /// The exit code.
    pub(super) fn code(&self) -> i32 {
        match self.phase {
            // None has survived.
            JobPhase::Running
                if self.lost.len() == self.running.len() && !self.has_spawned_survivors =>
            {
                self.lost[0].1
            }
            JobPhase::Running => self.first_code,
            JobPhase::Ending { code, .. } => code,
        }
    }

    /// The time to call [`JobState::tick`].
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.phase {
            JobPhase::Running => self.limit.map(|(at, _)| at),
            JobPhase::Ending { abort_until: Some(at), .. } => Some(at),
            JobPhase::Ending { rest_at, next_kill, .. } => rest_at.or(Some(next_kill)),
        }
    }

    /// The time without progress after which the remaining output is given up.
    pub(super) fn output_timeout(&self) -> Option<Duration> {
        match self.phase {
            JobPhase::Running => None,
            JobPhase::Ending { output_timeout, .. } => output_timeout,
        }
    }

    /// Whether the timeout for killed processes has expired.
    pub(super) fn kill_timed_out(&self, now: Instant) -> bool {
        match self.phase {
            JobPhase::Running => false,
            JobPhase::Ending { since, .. } => now >= since + GRACE + KILL_TIMEOUT,
        }
    }

    /// A program could not be started.
    pub(super) fn refused(&mut self, code: i32, why: &str, now: Instant) -> Vec<JobAction> {
        self.end(code, Some(why.to_owned()), now)
    }

    /// The next event happens to `rank` while it waits in `call`.
    pub(super) fn waiting_in(&mut self, rank: u32, call: String) {
        self.waiting = Some((rank, call));
    }

    /// The kernel has ended `count` processes for lack of memory since the job started.
    pub(super) fn memory_killed(&mut self, count: u64) {
        self.memory_kills = count;
    }

    /// The process of `rank` ended. `inner` is the end of its MPI process, if that was another one
    /// and the kernel reports it.
    pub(super) fn exited(
        &mut self, rank: u32, exit: Exit, inner: Option<(u32, Exit)>, join_state: JoinState,
        now: Instant,
    ) -> Vec<JobAction> {
        let Some(pid) = self.running[rank as usize].take() else { return Vec::new() };
        self.ended += 1;
        if !self.is_running() {
            return self.aborting_ended(rank, now);
        }
        let is_first = self.first_code == 0;
        if is_first && !(self.survives && join_state == JoinState::Joined) {
            self.first_code = exit.code();
        }
        match (join_state, exit) {
            (JoinState::Joined, _) => {
                let (pid, how) = inner.filter(|(_, how)| how.code() != 0).unwrap_or((pid, exit));
                let code = if exit.code() == 0 { how.code().max(1) } else { exit.code() };
                self.rank_failed(rank, pid, Some(how), code, now)
            }
            (JoinState::NotJoined, Exit::Signal(_)) => {
                self.rank_failed(rank, pid, Some(exit), exit.code(), now)
            }
            (JoinState::Left, Exit::Signal(signal)) => {
                let name = self.rank_text(rank, pid);
                let how = self.killed(signal);
                vec![JobAction::Print(format!("{name} {how} after MPI_Finalize"))]
            }
            // Loaders and shells have printed the file, but not the host.
            (JoinState::NotJoined, Exit::Code(NOT_FOUND)) if is_first && !self.hosts.is_one() => {
                let name = self.rank_text(rank, pid);
                vec![JobAction::Print(format!(
                    "{name} exited with code {NOT_FOUND}: a program or a library was not found there"
                ))]
            }
            (JoinState::NotJoined | JoinState::Left, Exit::Code(_)) => Vec::new(),
        }
    }

    /// The MPI process `pid` of `rank` ended before MPI_Finalize, but the program that started it
    /// runs on.
    pub(super) fn process_gone(
        &mut self, rank: u32, pid: u32, exit: Option<Exit>, now: Instant,
    ) -> Vec<JobAction> {
        let code = exit.map_or(1, Exit::code).max(1);
        self.rank_failed(rank, pid, exit, code, now)
    }

    /// `rank` called `MPI_Abort`.
    pub(super) fn aborted(
        &mut self, rank: u32, code: i32, message: Option<&str>, now: Instant,
    ) -> Vec<JobAction> {
        let name = self.rank_text(rank, self.running[rank as usize].unwrap_or(0));
        let text = match message {
            // MPICH's text for an abort without a message.
            None | Some("" | "abort") => String::new(),
            Some(message) => format!(": {message}"),
        };
        let exit_code = match code & 0xff {
            0 if code != 0 => 255,
            low => low,
        };
        let line = format!("{name} aborted the job with code {code}{text}");
        let mut actions = self.end(exit_code, Some(line), now);
        self.aborting.push(rank);
        if let JobPhase::Ending { abort_until, .. } = &mut self.phase
            && actions.pop().is_some()
        {
            *abort_until = Some(now + ABORT_TIMEOUT);
        }
        actions
    }

    /// `rank` has ended after the job: the rest is terminated if no other rank is aborting.
    fn aborting_ended(&mut self, rank: u32, now: Instant) -> Vec<JobAction> {
        self.aborting.retain(|aborting| *aborting != rank);
        match self.phase {
            JobPhase::Ending { abort_until: Some(_), .. } if self.aborting.is_empty() => {
                self.terminate(now)
            }
            JobPhase::Running | JobPhase::Ending { .. } => Vec::new(),
        }
    }

    /// Terminates the ranks of a job that some of them have aborted.
    fn terminate(&mut self, now: Instant) -> Vec<JobAction> {
        if let JobPhase::Ending { abort_until, since, rest_at, next_kill, .. } = &mut self.phase {
            (*abort_until, *since) = (None, now);
            (*rest_at, *next_kill) = (Some(now + RANKS_FIRST), now + GRACE);
        }
        vec![JobAction::Terminate]
    }

    /// `waiting` waits for `ended`, which ended without MPI_Init.
    pub(super) fn stuck(&mut self, ended: u32, waiting: u32, now: Instant) -> Vec<JobAction> {
        let place = match self.hosts.is_one() {
            true => String::new(),
            false => format!(" on {}", self.hosts.name_of(ended)),
        };
        let line = format!(
            "rank {ended}{place} ended while rank {waiting} waits for it in MPI; ending the job \
             (did every rank call MPI_Init?)"
        );
        self.end(self.first_code.max(1), Some(line), now)
    }

    /// The process `pid` of `rank` runs, but has closed its connection before MPI_Finalize.
    pub(super) fn disconnected(&mut self, rank: u32, pid: u32, now: Instant) -> Vec<JobAction> {
        let name = self.rank_text(rank, pid);
        let what = format!(
            "{name} closed its connection to mpirun without MPI_Finalize (did it run another \
             program by exec?)"
        );
        if self.survives && self.is_running() {
            // It has left MPI. Its process ends when its program does, and the job waits for that.
            return self.survive(&[rank], 1, &what);
        }
        let rest = self.other_ranks_text(rank);
        self.end(1, Some(format!("{what}; {rest}")), now)
    }

    /// `rank` sent a request that this launcher does not support.
    pub(super) fn unable(&self, rank: u32, why: &str) -> Vec<JobAction> {
        vec![JobAction::Print(format!("refused a PMI request of rank {rank}: {why}"))]
    }

    /// `rank` violated the PMI protocol.
    pub(super) fn broken(&self, rank: u32, why: &str) -> Vec<JobAction> {
        vec![JobAction::Print(format!("closed its PMI connection to rank {rank}: {why}"))]
    }

    /// The launcher received this signal.
    pub(super) fn signalled(&mut self, signal: i32, now: Instant) -> Vec<JobAction> {
        if self.forwarded.contains(&signal) {
            return vec![JobAction::Forward(signal)];
        }
        match self.phase {
            JobPhase::Running if signal == signals::QUIT => {
                vec![JobAction::Dump { overdue: false }]
            }
            JobPhase::Running => {
                let actions = self.end(128 + signal, None, now);
                self.limit_output(ENDED_OUTPUT_TIMEOUT);
                actions
            }
            JobPhase::Ending { ref mut next_kill, ref mut abort_until, .. } => {
                *next_kill = now + KILL_INTERVAL;
                *abort_until = None;
                self.limit_output(KILLED_OUTPUT_TIMEOUT);
                vec![JobAction::Kill]
            }
        }
    }

    /// The agent of a host is lost, and with it these ranks; `has_started` if it has been heard.
    pub(super) fn agent_lost(
        &mut self, lost: LostHost<'_>, has_started: bool, why: &str, now: Instant,
    ) -> Vec<JobAction> {
        let have_started = self.ended + self.running.iter().flatten().count() == self.running.len();
        let mut ended = Vec::new();
        for rank in lost.ranks.iter().chain(lost.ranks_below) {
            let running = self.running[*rank as usize].take();
            ended.extend(running.map(|_| *rank));
        }
        let LostHost { name: host, ranks, hosts_below, ranks_below } = lost;
        let below = match (hosts_below, ranks_below.len()) {
            (0, _) => String::new(),
            (1, _) => format!(" and, behind it, 1 host with {}", ranks_text(ranks_below)),
            (hosts, ranks) => format!(" and, behind it, {hosts} hosts with {ranks} ranks"),
        };
        let (code, line) = match has_started {
            // As if the ranks had been killed.
            true => (137, format!("lost host {host} with {}{below}: {why}", ranks_text(ranks))),
            false => (1, format!("cannot start mpirun's agent on host {host}: {why}")),
        };
        if self.survives && self.is_running() && have_started {
            self.ended += ended.len();
            return self.survive(&ended, code, &line);
        }
        self.end(code, Some(format!("{line}; ending the job")), now)
    }

    /// The mpirun `pid` of the spawned job `number` has failed.
    pub(super) fn spawned_failed(
        &mut self, number: u32, pid: u32, exit: Exit, now: Instant,
    ) -> Vec<JobAction> {
        let how = match exit {
            Exit::Signal(signal) => {
                format!("was killed by signal {signal} ({})", signals::name(signal))
            }
            Exit::Code(code) => format!("ended with code {code}"),
        };
        let line = format!("the spawned job {number} (mpirun process {pid}) {how}");
        match self.survives && self.is_running() {
            true => vec![JobAction::Print(format!("{line}; {GOES_ON}"))],
            false => self.end(exit.code().max(1), Some(format!("{line}; ending the job")), now),
        }
    }

    /// A spawned job has ended with code 0.
    pub(super) fn spawned_succeeded(&mut self) {
        self.has_spawned_survivors = true;
    }

    /// The job that has spawned this one has ended.
    pub(super) fn parent_gone(&mut self, now: Instant) -> Vec<JobAction> {
        let actions = self.end(128 + signals::TERM, None, now);
        self.limit_output(ENDED_OUTPUT_TIMEOUT);
        actions
    }

    /// Whether all ranks have ended.
    pub(super) fn have_ranks_ended(&self) -> bool {
        self.ended == self.running.len()
    }

    /// The supervisor process was killed.
    pub(super) fn supervisor_gone(&mut self, now: Instant) -> Vec<JobAction> {
        self.end(
            137,
            Some("the supervisor process of mpirun was killed; ending the job".to_owned()),
            now,
        )
    }

    /// An output failed: `why` has its name and the error; `None` if its reader has closed it.
    pub(super) fn output_lost(&mut self, why: Option<&str>, now: Instant) -> Vec<JobAction> {
        match why {
            None => self.end(141, None, now),
            Some(why) => self.end(1, Some(format!("cannot write {why}")), now),
        }
    }

    /// The input of these ranks was closed, because they did not read it.
    pub(super) fn input_lost(&self, ranks: &[u32]) -> Vec<JobAction> {
        let line = |rank| {
            format!(
                "rank {rank} does not read its standard input while others wait for more; \
                 its input is closed"
            )
        };
        ranks.iter().map(|rank| JobAction::Print(line(*rank))).collect()
    }

    /// All ranks have ended, but not all processes that they started: those are ended, and named if
    /// they still have the output of ranks open.
    pub(super) fn all_ended(&mut self, have_output: bool, now: Instant) -> Vec<JobAction> {
        if !self.is_running() {
            return Vec::new();
        }
        let mut actions = self.end(self.first_code, None, now);
        if let JobPhase::Ending { rest_at, output_timeout, .. } = &mut self.phase {
            // The job has not failed, so a reader may take its time.
            (*rest_at, *output_timeout) = (None, None);
        }
        // No rank is left.
        actions.pop();
        actions.push(match have_output {
            true => JobAction::EndLeftovers,
            false => JobAction::TerminateRest,
        });
        actions
    }

    /// The deadline has passed.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<JobAction> {
        match self.phase {
            JobPhase::Running => match self.limit.take_if(|(at, _)| now >= *at) {
                Some((_, limit)) => {
                    vec![JobAction::Print(overdue(limit)), JobAction::Dump { overdue: true }]
                }
                None => Vec::new(),
            },
            JobPhase::Ending { abort_until: Some(at), .. } => match now >= at {
                true => self.terminate(now),
                false => Vec::new(),
            },
            JobPhase::Ending { ref mut rest_at, .. } if rest_at.is_some_and(|at| now >= at) => {
                *rest_at = None;
                vec![JobAction::TerminateRest]
            }
            JobPhase::Ending { ref mut next_kill, .. } if now >= *next_kill => {
                *next_kill = now + KILL_INTERVAL;
                vec![JobAction::Kill]
            }
            JobPhase::Ending { .. } => Vec::new(),
        }
    }

    /// The state of the ranks of an overdue job has been printed.
    pub(super) fn dumped(&mut self, now: Instant) -> Vec<JobAction> {
        let actions = self.end(OVERDUE, None, now);
        self.limit_output(ENDED_OUTPUT_TIMEOUT);
        actions
    }

    /// The remaining output waits no longer than `timeout`.
    fn limit_output(&mut self, timeout: Duration) {
        if let JobPhase::Ending { output_timeout, .. } = &mut self.phase {
            *output_timeout = Some(output_timeout.map_or(timeout, |before| before.min(timeout)));
        }
    }

    /// `rank` failed.
    fn rank_failed(
        &mut self, rank: u32, pid: u32, exit: Option<Exit>, code: i32, now: Instant,
    ) -> Vec<JobAction> {
        let name = self.rank_text(rank, pid);
        let what = match exit {
            Some(Exit::Signal(signal)) => match &self.waiting {
                Some((waiting, call)) if *waiting == rank => {
                    format!("{} while it waited in {call}", self.killed(signal))
                }
                _ => self.killed(signal),
            },
            Some(Exit::Code(code)) => format!("exited with code {code} without MPI_Finalize"),
            None => "ended without MPI_Finalize".to_owned(),
        };
        if self.survives && self.is_running() {
            return self.survive(&[rank], code, &format!("{name} {what}"));
        }
        let rest = self.other_ranks_text(rank);
        self.end(code, Some(format!("{name} {what}; {rest}")), now)
    }

    /// The job goes on without `ranks`, whose end `what` describes.
    fn survive(&mut self, ranks: &[u32], code: i32, what: &str) -> Vec<JobAction> {
        let before = self.lost.len();
        let is_known = |rank: &u32| self.lost.iter().any(|(lost, _)| lost == rank);
        let new: Vec<_> = ranks.iter().copied().filter(|rank| !is_known(rank)).collect();
        self.lost.extend(new.into_iter().map(|rank| (rank, code)));
        let rest = match (self.lost.len() - before, self.running.len() - self.lost.len()) {
            (0, _) => return Vec::new(),
            (_, 0) => "no rank is left",
            (1, _) => GOES_ON,
            (_, _) => "the job goes on without them (--with-ft)",
        };
        vec![JobAction::Print(format!("{what}; {rest}"))]
    }

    /// What the launcher does with the other ranks.
    fn other_ranks_text(&self, rank: u32) -> String {
        let others =
            (0..).zip(&self.running).filter(|(other, pid)| *other != rank && pid.is_some());
        match others.count() {
            0 => "the job has ended".to_owned(),
            1 => "ending the other rank".to_owned(),
            count => format!("ending the other {count} ranks"),
        }
    }

    fn end(&mut self, code: i32, line: Option<String>, now: Instant) -> Vec<JobAction> {
        if !self.is_running() {
            return Vec::new();
        }
        let output_timeout = Some(FAILED_OUTPUT_TIMEOUT);
        self.phase = JobPhase::Ending {
            code,
            abort_until: None,
            since: now,
            rest_at: Some(now + RANKS_FIRST),
            next_kill: now + GRACE,
            output_timeout,
        };
        line.map(JobAction::Print).into_iter().chain([JobAction::Terminate]).collect()
    }

    /// How a signal ended a process, with a probable reason.
    fn killed(&self, signal: i32) -> String {
        let how = format!("was killed by signal {signal} ({})", signals::name(signal));
        match self.memory_kills {
            count if count > 0 && signal == signals::KILL => format!(
                "{how}, probably for lack of memory (since the job started, the out-of-memory \
                 killer of the kernel has ended {count} of the processes here)"
            ),
            _ => how,
        }
    }

    fn rank_text(&self, rank: u32, pid: u32) -> String {
        format!("rank {rank} (process {pid} on {})", self.hosts.name_of(rank))
    }
}

/// `rank 3`, `ranks 2-5`
pub(super) fn ranks_text(ranks: &[u32]) -> String {
    let numbers: Vec<_> = ranks.iter().map(|rank| *rank as usize).collect();
    let plural = if ranks.len() == 1 { "" } else { "s" };
    format!("rank{plural} {}", format_list(&numbers))
}

fn overdue(limit: Duration) -> String {
    format!("the job ran longer than {} s (--timeout); ending it", limit.as_secs_f64())
}

#[cfg(test)]
mod tests;
