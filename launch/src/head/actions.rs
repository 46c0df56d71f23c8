//! Carries out what [`JobState`](super::state::JobState) decides: messages, commands to the agent.

use std::time::Instant;

use super::Head;
use super::state::JobAction;
use crate::control::{AgentCommand, AgentEvent, Circumstances};

impl Head {
    pub(super) fn perform(&mut self, actions: Vec<JobAction>) {
        for action in actions {
            match action {
                JobAction::Print(line) => {
                    let line = format!("mpirun: {}", line.replace('\n', " "));
                    self.streams.print_line(&line, Instant::now());
                }
                JobAction::Forward(signal) => self.command(&AgentCommand::Signal(signal)),
                JobAction::Dump { overdue } => self.dump(overdue),
                JobAction::Terminate => {
                    self.streams.restart_drain_timeout(Instant::now());
                    self.command(&AgentCommand::Terminate);
                }
                JobAction::TerminateRest => self.command(&AgentCommand::TerminateRest),
                JobAction::Kill => self.command(&AgentCommand::Kill),
            }
        }
    }

    pub(super) fn command(&mut self, command: &AgentCommand) {
        self.agent.perform(command);
    }

    /// Starts the report about each rank; if the job is overdue, it ends after that.
    fn dump(&mut self, overdue: bool) {
        match &mut self.dump_overdue {
            Some(before) => *before |= overdue,
            None => {
                self.dump_overdue = Some(overdue);
                self.command(&AgentCommand::Dump);
            }
        }
    }

    fn print_report(&mut self, text: &str) {
        for line in text.lines() {
            self.streams.print_line(line, Instant::now());
        }
        if self.dump_overdue.take() == Some(true) {
            let actions = self.job.dumped(Instant::now());
            self.perform(actions);
        }
    }

    /// Takes the events of the agent. Actions may cause further events.
    pub(super) fn take_events(&mut self) {
        loop {
            let events = self.agent.take_events();
            if events.is_empty() {
                return;
            }
            events.into_iter().for_each(|event| self.event(event));
        }
    }

    fn event(&mut self, event: AgentEvent) {
        let now = Instant::now();
        let actions = match event {
            AgentEvent::Started { rank, pid } => {
                self.job.started(rank, pid);
                self.pids[rank as usize] = Some(pid);
                return;
            }
            AgentEvent::Refused { code, why } => self.job.refused(code, &why, now),
            AgentEvent::Exited { rank, exit, inner, join_state, circumstances } => {
                self.record(rank, circumstances);
                let inner = inner.map(|inner| (inner.pid, inner.exit));
                self.job.exited(rank, exit, inner, join_state, now)
            }
            AgentEvent::ProcessGone { rank, pid, exit, circumstances } => {
                self.record(rank, circumstances);
                self.job.process_gone(rank, pid, exit, now)
            }
            AgentEvent::Disconnected { rank, pid } => self.job.disconnected(rank, pid, now),
            AgentEvent::Aborted { rank, code, message } => {
                self.job.aborted(rank, code, message.as_deref(), now)
            }
            AgentEvent::Stuck { ended, waiting } => self.job.stuck(ended, waiting, now),
            AgentEvent::Unsupported { rank, why } => self.job.unable(rank, &why),
            AgentEvent::Broken { rank, why } => self.job.broken(rank, &why),
            // Events of remote agents.
            AgentEvent::Hello(_)
            | AgentEvent::Fence(_)
            | AgentEvent::Ended { .. }
            | AgentEvent::Output { .. }
            | AgentEvent::Childless
            | AgentEvent::Beat => return,
            AgentEvent::Report(text) => return self.print_report(&text),
        };
        self.perform(actions);
    }

    /// Passes the circumstances of the next event of `rank` to the state of the job, for its message.
    fn record(&mut self, rank: u32, circumstances: Circumstances) {
        let Circumstances { call, memory_kills } = circumstances;
        if memory_kills > 0 {
            self.job.memory_killed(memory_kills);
        }
        if let Some(call) = call {
            self.job.waiting_in(rank, call);
        }
    }
}
