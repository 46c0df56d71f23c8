//! The event loop: starts the ranks, then polls until the job has completed.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use platform::sys::host;
use platform::sys::poll::PollSet;
use platform::sys::process;
use platform::sys::signals;

use super::Head;
use crate::agent::{AgentReady, RankStreams};
use crate::command_line::plan::LaunchPlan;
use crate::control::AgentCommand;
use crate::input::{self, Feed};
use crate::output::{self, Streams};

/// The descriptor that became ready.
#[derive(Clone, Copy, Debug)]
enum HeadToken {
    Signals,
    Supervisor,
    Debugger,
    Agent(AgentReady),
    Input(input::InputReady),
    Output(output::OutputReady),
}

/// The standard streams of the ranks of the head's host: their descriptors are those of the head.
struct OwnStreams<'a> {
    feed: &'a mut Feed,
    streams: &'a mut Streams,
}

impl RankStreams for OwnStreams<'_> {
    fn input_of(&mut self, rank: u32) -> io::Result<OwnedFd> {
        self.feed.of_rank(rank)
    }

    fn started(&mut self, _rank: u32, process: u32, outputs: [Option<OwnedFd>; 2]) {
        self.streams.add(process, outputs);
    }
}

impl Head {
    pub(super) fn start(&mut self, plan: &LaunchPlan, file_limit: Option<u64>) -> io::Result<()> {
        let mut streams = OwnStreams { feed: &mut self.feed, streams: &mut self.streams };
        self.agent.start(file_limit, &mut streams)?;
        self.take_events();
        self.show_processes(plan);
        Ok(())
    }

    /// Passes the processes to the debugger and to the process table, if all ranks have started.
    fn show_processes(&mut self, plan: &LaunchPlan) {
        let Some(pids) = self.pids.iter().copied().collect::<Option<Vec<_>>>() else { return };
        self.pid_sender.send(&pids);
        if let Some((file, table)) = process_table(plan, &host::name(), &pids)
            && let Err(error) = self.streams.print_table(file, &table)
        {
            let line = format!("mpirun: cannot write the process table: {error}");
            self.streams.print_line(&line, Instant::now());
        }
    }

    pub(super) fn serve(&mut self) -> io::Result<()> {
        loop {
            let childless = self.reap();
            let now = Instant::now();
            // Processes that cannot be killed are left alone.
            let ended = childless || self.job.kill_timed_out(now);
            let agent_deadline = self.agent.tick(now);
            self.take_events();
            self.streams.flush_overdue(now);
            let slow_readers = self.feed.drop_slow_readers(now);
            self.perform(self.job.input_lost(&slow_readers));
            if ended {
                self.streams.drain(now);
            }
            if self.has_deadline(ended) {
                let actions = self.job.tick(now);
                self.perform(actions);
            }
            self.take_events();
            if ended && self.output_is_finished(now) {
                return self.give_up_output();
            }
            for token in self.wait(ended, agent_deadline, now)? {
                self.handle(token);
                self.take_events();
            }
        }
    }

    /// Reaps all ended children; whether no child is left.
    fn reap(&mut self) -> bool {
        // Other children are adopted orphans.
        let childless = self.agent.reap(|_, _| {});
        self.take_events();
        if !childless && self.agent.have_ranks_ended() {
            self.end_leftovers(Instant::now());
        }
        childless
    }

    /// Ends the processes that the ranks left. Those that still have the output of a rank open, such
    /// as a filter, may write what they read from the rank before.
    fn end_leftovers(&mut self, now: Instant) {
        if !self.job.is_running() || self.dump_overdue.is_some() {
            return;
        }
        let ranks_ended = *self.ranks_ended.get_or_insert(now);
        let deadline = self.streams.leftovers_deadline(ranks_ended, now);
        if deadline.is_some_and(|at| now < at) {
            return;
        }
        let actions = self.job.all_ended(deadline.map(|_| leftovers_text()), now);
        self.perform(actions);
    }

    /// Whether all output of a job without processes is written, or its time has expired.
    fn output_is_finished(&self, now: Instant) -> bool {
        self.streams.are_empty() || self.output_deadline().is_some_and(|at| now >= at)
    }

    /// Reports the output that is not written.
    fn give_up_output(&mut self) -> io::Result<()> {
        for line in self.streams.give_up() {
            self.streams.print_line(&format!("mpirun: {line}"), Instant::now());
        }
        self.streams.write_now()
    }

    /// Whether the state of the job has a deadline: of a job without processes, only the time limit.
    fn has_deadline(&self, ended: bool) -> bool {
        !ended || self.job.is_running()
    }

    fn wait(
        &mut self, ended: bool, agent_deadline: Option<Instant>, now: Instant,
    ) -> io::Result<Vec<HeadToken>> {
        let timeout = self.deadline(ended, now).into_iter().chain(agent_deadline).min();
        let timeout = timeout.map(|at| at.saturating_duration_since(now));
        let mut set = PollSet::default();
        set.add_read(self.signals.as_fd(), HeadToken::Signals);
        if let Some(supervisor) = &self.supervisor {
            set.add_read(supervisor.as_fd(), HeadToken::Supervisor);
        }
        if let Some(debugger) = self.pid_sender.hold_fd() {
            set.add_read(debugger, HeadToken::Debugger);
        }
        self.agent.interests(&mut set, HeadToken::Agent);
        self.feed.interests(&mut set, HeadToken::Input);
        self.streams.interests(&mut set, HeadToken::Output);
        set.wait(timeout)
    }

    /// The earliest timeout of the head.
    fn deadline(&self, ended: bool, now: Instant) -> Option<Instant> {
        let job = self.job.deadline().filter(|_| self.has_deadline(ended));
        let remaining_output = self.output_deadline().filter(|at| *at > now);
        let leftovers = self.ranks_ended.filter(|_| self.job.is_running());
        let leftovers = leftovers.and_then(|at| self.streams.leftovers_deadline(at, now));
        let all = [job, remaining_output, leftovers, self.streams.deadline(), self.feed.deadline()];
        all.into_iter().flatten().min()
    }

    /// The time at which the remaining output is given up; may be in the past.
    fn output_deadline(&self) -> Option<Instant> {
        self.streams.drain_deadline(self.job.output_timeout()?)
    }

    fn handle(&mut self, token: HeadToken) {
        let now = Instant::now();
        match token {
            HeadToken::Signals => {
                while let Some(signal) = self.signals.take() {
                    if signal != signals::CHLD && signal != signals::TTOU {
                        let actions = self.job.signalled(signal, now);
                        self.perform(actions);
                    }
                }
            }
            HeadToken::Supervisor => {
                self.supervisor = None;
                let actions = self.job.supervisor_gone(now);
                self.perform(actions);
            }
            HeadToken::Debugger => {
                self.pid_sender.release();
                self.command(&AgentCommand::Release);
            }
            HeadToken::Agent(ready) => self.agent.handle(ready, now),
            HeadToken::Input(ready) => self.feed.handle(ready, now),
            HeadToken::Output(ready) => {
                if let Err(failure) = self.streams.handle(ready, now) {
                    let actions = self.job.output_lost(failure.why.as_deref(), now);
                    self.perform(actions);
                }
            }
        }
    }
}

/// The table of all processes, in the form of Open MPI, and where it is to be printed.
fn process_table<'a>(
    plan: &'a LaunchPlan, host: &str, pids: &[u32],
) -> Option<(&'a OsStr, Vec<u8>)> {
    let destination = plan.process_table.as_ref()?;
    let mut table = Vec::new();
    for ((rank, pid), app) in (0..).zip(pids).zip(plan.app_of_rank()) {
        let program = &plan.apps[app as usize].program;
        table.extend_from_slice(format!("(rank, host, exe, pid) = ({rank}, {host}, ").as_bytes());
        table.extend_from_slice(program.as_bytes());
        table.extend_from_slice(format!(", {pid})\n").as_bytes());
    }
    Some((destination, table))
}

/// A sentence about the processes that still have the output of ranks open.
fn leftovers_text() -> String {
    let describe = |pid: &u32| format!("{pid} {}", process::name(*pid).unwrap_or_default());
    let processes: Vec<_> = process::descendants().iter().map(describe).collect();
    format!(
        "all ranks have ended, but processes that they started may still write their output; \
         ending them: {}",
        processes.join(", ")
    )
}
