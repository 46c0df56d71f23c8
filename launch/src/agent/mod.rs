//! The agent of a host: what the ranks of one host need from the launcher.
//!
//! ```text
//!   head ──AgentCommand──> Agent ──spawns, signals──> ranks
//!        <──AgentEvent────       <──PMI, exits────────
//! ```
//!
//! [`start`] spawns ranks, [`pmi`] serves their requests, [`reap`] collects ended processes, and
//! [`actions`] carries out commands. An [`Agent`] decides nothing: it reports, and the head of the job
//! decides which event ends the job. It does not know of other hosts, and not where input comes from
//! and output goes ([`RankStreams`]).
//!
//! The agent of the head's own host is a value in the process of the head; on other hosts it runs in
//! a process of its own ([`remote`]), which may start further agents ([`branch`]).

mod actions;
mod branch;
mod call;
pub(crate) mod environment;
mod pmi;
mod rank;
mod rank_pipes;
mod reap;
pub(crate) mod remote;
mod report_process;
mod start;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use platform::bootstrap::Server;
use platform::diagnosis::ended_ranks::EndedRanks;
use platform::diagnosis::status_table::StatusTable;
use platform::sys::control_group;
use platform::sys::poll::PollSet;
use platform::sys::ready_set::{Ready, ReadySet};

use crate::control::{AgentEvent, HostShare};
use rank::RunningRank;
use report_process::ReportProcess;
use start::{LaunchContext, StartedRank};

/// Where the standard streams of the ranks of a host end.
pub(crate) trait RankStreams {
    /// The standard input of `rank`, before its start.
    ///
    /// # Errors
    /// The system's, if it has no descriptor left.
    fn input_of(&mut self, rank: u32) -> io::Result<OwnedFd>;

    /// `rank` has started as `process`; `outputs` are its standard output and error, nonblocking
    /// (only the first if both share a pipe).
    ///
    /// # Errors
    /// The system's, if it has no room for them in a set of polled descriptors.
    fn started(&mut self, rank: u32, process: u32, outputs: [Option<OwnedFd>; 2])
    -> io::Result<()>;
}

/// The ranks of a host.
pub(crate) struct Agent {
    share: HostShare,
    server: Server,
    /// The memory files of later programs of the ranks, by the number of the program.
    files: HashMap<u32, [OwnedFd; 2]>,
    /// The call that each rank waits in. A job also runs without the table.
    status_table: Option<StatusTable>,
    /// The ranks of the job that have ended, if the others survive that.
    ended_ranks: Option<EndedRanks>,
    /// The started ranks, in the order of the share.
    ranks: Vec<RunningRank>,
    /// The connections of the ranks.
    ready: ReadySet,
    /// The numbers of ranks of which something is due at a time.
    timed: BTreeSet<usize>,
    /// Whether this process has no child; `None` after a change.
    is_childless: Option<bool>,
    /// Requests of ranks are not read.
    held: bool,
    /// Processes that the kernel had ended for lack of memory when the ranks had started, if it counts them.
    memory_kills_before: Option<u64>,
    /// The report about the ranks that is being made.
    report: Option<ReportProcess>,
    events: Vec<AgentEvent>,
    /// Children of this process that start agents of other hosts: no processes of the job here.
    starters: Vec<u32>,
}

/// A descriptor of an [`Agent`] that became ready.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AgentReady {
    Report,
    Ranks,
}

/// A descriptor of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RankDescriptor {
    Connection,
    MpiProcess,
}

impl RankDescriptor {
    /// The key of that of the rank `number` of this host.
    fn key(self, number: usize) -> u64 {
        number as u64 * 2 + self as u64
    }

    fn of_key(key: u64) -> (usize, Self) {
        let descriptor = if key.is_multiple_of(2) { Self::Connection } else { Self::MpiProcess };
        ((key / 2) as usize, descriptor)
    }
}

impl Agent {
    /// An agent for the ranks of `share`, none of them started.
    pub(crate) fn new(share: HostShare) -> Self {
        Self {
            server: Server::of_host(
                &share.job,
                &share.app_of_rank,
                &share.host_of_rank,
                share.host(),
            ),
            files: HashMap::new(),
            status_table: None,
            ended_ranks: None,
            ranks: Vec::with_capacity(share.ranks.len()),
            ready: ReadySet::default(),
            timed: BTreeSet::new(),
            is_childless: None,
            held: share.holds,
            memory_kills_before: None,
            report: None,
            events: Vec::new(),
            starters: Vec::new(),
            share,
        }
    }

    /// Starts the ranks, up to the first that cannot be started. `file_limit` is the limit of open
    /// files that they get.
    ///
    /// # Errors
    /// The system has no memory file for the ranks.
    pub(crate) fn start(
        &mut self, file_limit: Option<u64>, streams: &mut impl RankStreams,
    ) -> io::Result<()> {
        let table = StatusTable::create(self.share.ranks.len());
        let (table, status) = table.ok().unzip();
        self.status_table = table;
        let ended = match self.share.survives {
            true => Some(EndedRanks::create(self.share.size as usize)?),
            false => None,
        };
        let (table, ended) = ended.unzip();
        self.ended_ranks = table;
        let context = LaunchContext::new(&self.share, [status, ended], file_limit)?;
        for (number, share) in self.share.ranks.iter().enumerate() {
            let rank = share.rank;
            match context.start(number, streams.input_of(rank)) {
                Ok(StartedRank { pid, pmi, outputs }) => {
                    self.events.push(AgentEvent::Started { rank, pid });
                    let watched = self.ready.add(pmi, RankDescriptor::Connection.key(number));
                    let added = watched.and_then(|pmi| {
                        let mut running = RunningRank::new(rank, pid, pmi);
                        running.wait(self.held)?;
                        self.ranks.push(running);
                        streams.started(rank, pid, outputs)
                    });
                    if let Err(error) = added {
                        let why = format!("cannot poll the descriptors of rank {rank}: {error}");
                        self.events.push(AgentEvent::Refused { code: 1, why });
                        break;
                    }
                }
                Err(error) => {
                    let (code, why) = (error.code, error.why);
                    self.events.push(AgentEvent::Refused { code, why });
                    break;
                }
            }
        }
        // Three files are read: that takes no time of the ranks now.
        self.memory_kills_before = control_group::out_of_memory_kills();
        Ok(())
    }

    /// The child `pid` starts the agent of another host: it gets no signal for the job here.
    pub(crate) fn spare(&mut self, pid: u32) {
        self.starters.push(pid);
        self.children_changed();
    }

    /// Adds descriptors to poll; `token` makes the caller's tokens.
    pub(crate) fn interests<'a, Token: Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(AgentReady) -> Token,
    ) {
        if let Some(ready) = self.ready.fd() {
            set.add_read(ready, token(AgentReady::Ranks));
        }
        if let Some(report) = &self.report {
            set.add_read(report.as_fd(), token(AgentReady::Report));
        }
    }

    /// Serves a ready descriptor.
    pub(crate) fn handle(&mut self, ready: AgentReady, now: Instant) {
        match ready {
            // Read in every turn of the loop.
            AgentReady::Report => {}
            AgentReady::Ranks => {
                for ready in self.ready.take() {
                    self.handle_rank(ready, now);
                }
            }
        }
    }

    fn handle_rank(&mut self, ready: Ready, now: Instant) {
        let (number, descriptor) = RankDescriptor::of_key(ready.token);
        if descriptor == RankDescriptor::MpiProcess {
            self.timed.insert(number);
            return self.ranks[number].mpi_ended(now);
        }
        if ready.readable && self.ranks[number].is_heard(self.held) {
            self.read_requests(number);
        }
        if ready.writable {
            self.send_replies(number);
            self.wait_for_rank(number);
        }
    }

    /// Does what is due; the time to call this again.
    pub(crate) fn tick(&mut self, now: Instant) -> Option<Instant> {
        self.check_pending_ends(now);
        self.read_report(now);
        let (ranks, mut next) = (&mut self.ranks, None);
        self.timed.retain(|number| {
            let due = ranks[*number].next_look(now);
            next = next.into_iter().chain(due).min();
            due.is_some()
        });
        let report = self.report.as_ref().map(ReportProcess::deadline);
        next.into_iter().chain(report).min()
    }

    /// Whether all started ranks have ended.
    pub(crate) fn have_ranks_ended(&self) -> bool {
        self.ranks.iter().all(|rank| rank.exit.is_some())
    }

    /// What has happened since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<AgentEvent> {
        std::mem::take(&mut self.events)
    }

    /// The number of `rank` among the started ranks of this host.
    fn number_of(&self, rank: u32) -> Option<usize> {
        self.ranks.binary_search_by_key(&rank, |running| running.rank).ok()
    }
}
