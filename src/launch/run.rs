//! The process that runs a job: one loop over everything that can happen, without threads.
//!
//! ```text
//!   signals, front, PMI sockets, MPI processes, pipes --poll--> Server, Lines, Job --> actions
//! ```
//!
//! Order matters in one place: when a rank has ended, what it still said by PMI is read before
//! its end is judged, so that an abort is an abort.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::bootstrap::{Event, Server, Standing};
use crate::sys::host;
use crate::sys::poll::PollSet;
use crate::sys::process::{self, Exit, Reap};
use crate::sys::signals::{self, Signals};
use crate::sys::socket::Stream;

use super::debugger::Announcer;
use super::job::{Action, Job};
use super::output::{Lines, Sink};
use super::plan::Plan;
use super::start::{Crew, Started};

/// How long a shell may take to tell how the MPI process that it started ended.
const SHELL_PATIENCE: Duration = Duration::from_millis(100);

/// How long an output that takes nothing keeps a job that failed from ending.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(1);

/// More bytes than this in replies that a rank does not read, and it is not talked to any more.
const REPLIES_MAX_BYTES: usize = 4 << 20;

/// What a wait was for.
#[derive(Clone, Copy, Debug)]
enum Token {
    Signals,
    Front,
    Debugger,
    Request(usize),
    Reply(usize),
    MpiProcess(usize),
    Source(usize, usize),
    Sink(usize),
}

/// One rank: its process and the launcher's ends of everything.
struct Rank {
    ended: bool,
    pmi: Option<Stream>,
    replies: Vec<u8>,
    mpi: MpiProcess,
    /// Standard output and error.
    sources: [Option<Source>; 2],
}

/// The process that speaks PMI for a rank, when the rank's own process only started it.
enum MpiProcess {
    /// The rank itself, or nobody yet.
    Own,
    Running {
        pid: u32,
        watch: OwnedFd,
    },
    Gone {
        pid: u32,
        watch: OwnedFd,
        judged_at: Instant,
    },
}

struct Source {
    pipe: File,
    lines: Lines,
}

struct Run {
    job: Job,
    server: Server,
    ranks: Vec<Rank>,
    pids: Vec<u32>,
    signals: Signals,
    front: Option<OwnedFd>,
    announcer: Announcer,
    sinks: [Sink; 2],
    /// When the sinks took something last; for the end of a job.
    written_at: Instant,
}

/// Runs the job of `plan` below this process, until nothing of it is left; its exit code.
///
/// `keyboard` is the standard input of rank 0, `front` the process to obey and to watch.
///
/// # Errors
/// When the system refuses something that the launcher cannot do without.
pub fn run(plan: &Plan, keyboard: OwnedFd, front: u32, announcer: Announcer) -> io::Result<i32> {
    let file_limit = process::raise_file_limit();
    process::leave_group()?;
    process::adopt_orphans()?;
    // The terminal may forbid processes in the background to write; not this one.
    let signals = Signals::block(&[&signals::OF_A_JOB[..], &[signals::TTOU]].concat())?;
    let apps = plan.app_of_rank();
    let now = Instant::now();
    let mut run = Run {
        job: Job::new(&host::name(), apps.len() as u32),
        server: Server::new(&job_name(), &apps),
        ranks: Vec::new(),
        pids: Vec::new(),
        signals,
        front: process::watch(front).ok(),
        announcer,
        sinks: [
            Sink::new(io::stdout().as_fd().try_clone_to_owned()?),
            Sink::new(io::stderr().as_fd().try_clone_to_owned()?),
        ],
        written_at: now,
    };
    if run.front.is_none() {
        let actions = run.job.front_gone(now);
        run.act(actions);
    }
    run.start(plan, &apps, keyboard, file_limit)?;
    run.serve()?;
    Ok(run.job.code())
}

/// Unlike that of any other job on any host.
fn job_name() -> String {
    let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let plain = host::name().replace(|character: char| !character.is_ascii_alphanumeric(), "_");
    format!("suiro_{plain:.64}_{}_{:x}", process::own_pid(), since_1970.as_nanos())
}

impl Run {
    fn start(
        &mut self, plan: &Plan, apps: &[u32], keyboard: OwnedFd, file_limit: Option<u64>,
    ) -> io::Result<()> {
        let mut crew = Crew::new(plan, apps, keyboard, file_limit)?;
        for rank in 0..apps.len() as u32 {
            if !self.job.is_running() {
                break;
            }
            match crew.start(rank) {
                Ok(started) => {
                    self.job.started(rank, started.pid);
                    self.pids.push(started.pid);
                    self.ranks.push(Rank::new(started));
                }
                Err(refusal) => {
                    let actions = self.job.refused(refusal.code, &refusal.why, Instant::now());
                    self.act(actions);
                }
            }
        }
        if self.pids.len() == apps.len() {
            self.announcer.announce(&self.pids);
        }
        Ok(())
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            let childless = self.reap();
            let now = Instant::now();
            self.judge_late(now);
            if childless {
                self.drain();
            } else {
                let actions = self.job.tick(now);
                self.act(actions);
            }
            if self.is_over(childless, now) {
                return Ok(());
            }
            for token in self.wait(now)? {
                self.handle(token);
            }
        }
    }

    fn wait(&mut self, now: Instant) -> io::Result<Vec<Token>> {
        let timeout = self.deadline(now).map(|at| at.saturating_duration_since(now));
        let mut set = PollSet::default();
        set.add_read(self.signals.as_fd(), Token::Signals);
        if let Some(front) = &self.front {
            set.add_read(front.as_fd(), Token::Front);
        }
        if let Some(debugger) = self.announcer.held_by() {
            set.add_read(debugger, Token::Debugger);
        }
        for (number, sink) in self.sinks.iter().enumerate().filter(|(_, sink)| !sink.is_empty()) {
            set.add_write(sink.as_fd(), Token::Sink(number));
        }
        let full = [self.sinks[0].is_full(), self.sinks[1].is_full()];
        for (number, rank) in self.ranks.iter().enumerate() {
            rank.interests(number, full, self.announcer.held_by().is_some(), &mut set);
        }
        set.wait(timeout)
    }

    /// When something is due although nothing happens.
    fn deadline(&self, now: Instant) -> Option<Instant> {
        let lines = self.ranks.iter().flat_map(|rank| rank.sources.iter().flatten());
        let lines = lines.filter_map(|source| source.lines.deadline());
        let shells = self.ranks.iter().filter_map(|rank| match rank.mpi {
            MpiProcess::Gone { judged_at, .. } if !rank.ended => Some(judged_at),
            MpiProcess::Gone { .. } | MpiProcess::Own | MpiProcess::Running { .. } => None,
        });
        let sinks_due = self.sinks.iter().any(|sink| !sink.is_empty()) && !self.job.is_running();
        let sinks = sinks_due.then_some(self.written_at + OUTPUT_PATIENCE).filter(|at| *at > now);
        lines.chain(shells).chain(self.job.deadline()).chain(sinks).min()
    }

    fn handle(&mut self, token: Token) {
        let now = Instant::now();
        match token {
            Token::Signals => {
                while let Some(signal) = self.signals.take() {
                    if signal != signals::CHLD && signal != signals::TTOU {
                        let actions = self.job.signalled(signal, now);
                        self.act(actions);
                    }
                }
            }
            Token::Front => {
                self.front = None;
                let actions = self.job.front_gone(now);
                self.act(actions);
            }
            Token::Debugger => self.announcer.release(),
            Token::Request(rank) => self.read_requests(rank),
            Token::Reply(rank) => self.send_replies(rank),
            Token::MpiProcess(rank) => self.ranks[rank].mpi_ended(now),
            Token::Source(rank, stream) => drop(self.read_source(rank, stream)),
            Token::Sink(stream) => self.write_sink(stream),
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
                        && !self.ranks[rank].ended
                    {
                        self.rank_ended(rank, exit);
                    }
                }
            }
        }
        if self.ranks.iter().all(|rank| rank.ended) {
            let actions = self.job.all_ended(true, Instant::now());
            self.act(actions);
        }
        false
    }

    fn rank_ended(&mut self, rank: usize, exit: Exit) {
        self.read_requests(rank);
        let now = Instant::now();
        let standing = self.server.standing(rank as u32);
        let inner = self.ranks[rank].inner_exit();
        self.ranks[rank].ended = true;
        let actions = self.job.exited(rank as u32, exit, inner, standing, now);
        self.act(actions);
        let events = self.server.gone(rank as u32);
        self.take(events);
    }

    /// Judges MPI processes whose shells had their time.
    fn judge_late(&mut self, now: Instant) {
        for rank in 0..self.ranks.len() {
            let MpiProcess::Gone { pid, judged_at, .. } = self.ranks[rank].mpi else { continue };
            if now < judged_at || self.ranks[rank].ended {
                continue;
            }
            self.read_requests(rank);
            let exit = self.ranks[rank].inner_exit().map(|(_, exit)| exit);
            self.ranks[rank].mpi = MpiProcess::Own;
            if self.server.standing(rank as u32) == Standing::Joined {
                let actions = self.job.process_gone(rank as u32, pid, exit, now);
                self.act(actions);
            }
        }
        for rank in &mut self.ranks {
            for (source, sink) in rank.sources.iter_mut().zip(&mut self.sinks) {
                let Some(source) = source else { continue };
                if source.lines.deadline().is_some_and(|at| at <= now) {
                    source.lines.flush(sink);
                }
            }
        }
    }

    fn read_requests(&mut self, rank: usize) {
        let mut buffer = [0; 8192];
        while let Some(pmi) = &self.ranks[rank].pmi {
            match pmi.receive_now(&mut buffer) {
                Ok(received) if received.len_bytes > 0 => {
                    let events = self.server.receive(rank as u32, &buffer[..received.len_bytes]);
                    if events.contains(&Event::Joined(rank as u32)) {
                        self.ranks[rank].watch_mpi(self.pids[rank], received.sender);
                    }
                    self.take(events);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => self.ranks[rank].pmi = None,
            }
        }
    }

    fn take(&mut self, events: Vec<Event>) {
        let now = Instant::now();
        for event in events {
            let actions = match event {
                Event::Reply { rank, bytes } => {
                    self.reply(rank as usize, &bytes);
                    continue;
                }
                Event::Joined(_) => continue,
                Event::Left(rank) => {
                    self.ranks[rank as usize].mpi = MpiProcess::Own;
                    continue;
                }
                Event::Aborted { rank, code, message } => {
                    self.job.aborted(rank, code, message.as_deref(), now)
                }
                Event::Broken { rank, why } => {
                    self.ranks[rank as usize].pmi = None;
                    self.job.broken(rank, &why)
                }
                Event::Stuck { gone, waiting } => self.job.stuck(gone, waiting, now),
            };
            self.act(actions);
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
            self.act(actions);
        }
    }

    fn send_replies(&mut self, rank: usize) {
        let Rank { pmi: Some(pmi), replies, .. } = &mut self.ranks[rank] else { return };
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

    /// Reads once; `None` when there is nothing more, now or ever.
    fn read_source(&mut self, rank: usize, stream: usize) -> Option<()> {
        let source = self.ranks[rank].sources[stream].as_mut()?;
        let sink = &mut self.sinks[stream];
        let mut buffer = [0; 64 * 1024];
        match source.pipe.read(&mut buffer) {
            Ok(count) if count > 0 => {
                source.lines.push(&buffer[..count], sink, Instant::now());
                if self.pids.len() == 1 {
                    source.lines.flush(sink);
                }
                Some(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Some(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Ok(_) | Err(_) => {
                source.lines.flush(sink);
                self.ranks[rank].sources[stream] = None;
                None
            }
        }
    }

    fn write_sink(&mut self, stream: usize) {
        let now = Instant::now();
        match self.sinks[stream].write_some() {
            Ok(()) => self.written_at = now,
            Err(error) if stream == 0 => {
                let why = (error.kind() != ErrorKind::BrokenPipe).then(|| error.to_string());
                let actions = self.job.output_lost(why.as_deref(), now);
                self.act(actions);
            }
            Err(_) => {}
        }
    }

    /// With no process left, nothing more comes into the pipes: takes what is in them.
    fn drain(&mut self) {
        for rank in 0..self.ranks.len() {
            for stream in 0..2 {
                while !self.sinks[stream].is_full() && self.read_source(rank, stream).is_some() {}
                if !self.sinks[stream].is_full()
                    && let Some(mut source) = self.ranks[rank].sources[stream].take()
                {
                    source.lines.flush(&mut self.sinks[stream]);
                }
            }
        }
    }

    fn is_over(&mut self, childless: bool, now: Instant) -> bool {
        if !childless {
            return self.job.is_out_of_patience(now);
        }
        let sources = self.ranks.iter().flat_map(|rank| rank.sources.iter().flatten());
        let written = sources.count() == 0 && self.sinks.iter().all(Sink::is_empty);
        written || (!self.job.is_running() && now >= self.written_at + OUTPUT_PATIENCE)
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Say(line) => {
                    self.written_at = Instant::now();
                    let line = format!("mpirun: {}\n", line.replace('\n', " "));
                    self.sinks[1].push(line.as_bytes());
                }
                Action::Forward(signal) => {
                    for (rank, pid) in self.ranks.iter().zip(&self.pids) {
                        if !rank.ended {
                            process::signal_group(*pid, signal);
                        }
                    }
                }
                Action::Terminate => {
                    self.written_at = Instant::now();
                    self.signal_everything(signals::TERM);
                    self.signal_everything(signals::CONT);
                }
                Action::Kill => self.signal_everything(signals::KILL),
            }
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
                if !rank.ended {
                    process::signal_group(*pid, signal);
                }
            }
        }
    }
}

impl Rank {
    fn new(started: Started) -> Self {
        let source = |pipe: OwnedFd| Some(Source { pipe: pipe.into(), lines: Lines::default() });
        Self {
            ended: false,
            pmi: Some(started.pmi),
            replies: Vec::new(),
            mpi: MpiProcess::Own,
            sources: started.outputs.map(source),
        }
    }

    fn interests<'a>(
        &'a self, number: usize, full: [bool; 2], held: bool, set: &mut PollSet<'a, Token>,
    ) {
        if let Some(pmi) = &self.pmi {
            if !self.ended && !held {
                set.add_read(pmi.as_fd(), Token::Request(number));
            }
            if !self.replies.is_empty() {
                set.add_write(pmi.as_fd(), Token::Reply(number));
            }
        }
        if let MpiProcess::Running { watch, .. } = &self.mpi {
            set.add_read(watch.as_fd(), Token::MpiProcess(number));
        }
        for (stream, source) in self.sources.iter().enumerate() {
            if let Some(source) = source
                && !full[stream]
            {
                set.add_read(source.pipe.as_fd(), Token::Source(number, stream));
            }
        }
    }

    /// The process `sender` joined for this rank.
    fn watch_mpi(&mut self, own_pid: u32, sender: Option<u32>) {
        let Some(pid) = sender.filter(|pid| *pid != own_pid) else { return };
        if let Ok(watch) = process::watch(pid) {
            self.mpi = MpiProcess::Running { pid, watch };
        }
    }

    /// The MPI process ended; its shell has a moment to say how.
    fn mpi_ended(&mut self, now: Instant) {
        self.mpi = match std::mem::replace(&mut self.mpi, MpiProcess::Own) {
            MpiProcess::Running { pid, watch } => {
                MpiProcess::Gone { pid, watch, judged_at: now + SHELL_PATIENCE }
            }
            other @ (MpiProcess::Own | MpiProcess::Gone { .. }) => other,
        };
    }

    /// How the MPI process ended, if it is another one than the rank's and the system tells.
    fn inner_exit(&self) -> Option<(u32, Exit)> {
        match &self.mpi {
            MpiProcess::Own => None,
            MpiProcess::Running { pid, watch } | MpiProcess::Gone { pid, watch, .. } => {
                Some((*pid, process::watched_exit(watch.as_fd())?))
            }
        }
    }
}
