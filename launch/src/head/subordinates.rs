//! Jobs that ranks of this one have spawned, each with a mpirun of its own, a child of this process.
//!
//! ```text
//!   Starting --started--> Running --exit--> Ended       a failure from Running ends this job, unless
//!       \-------------------exit------------^          the job was disconnected before
//! ```
//!
//! A job that could not be started is a failed call of the ranks that wanted it, and no failure of this
//! job. No rank asks for a job that has ended and is disconnected, or after it has been told of the end: such a
//! job is forgotten, so that a program may spawn without end.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use platform::bootstrap::{
    ChildMessage, PARENT_LINK, PARENT_PORT, ParentKind, ParentMessage, SpawnCall, SpawnLink,
    SpawnProgress, SpawnReply, SpawnState, SpawnWords,
};
use platform::sys::poll::PollSet;
use platform::sys::process::{self, ChildProgram, Exit};
use platform::sys::signals;
use platform::sys::socket::SocketStream;

use super::Head;
use super::environment::without_private;
use super::names::NameClient;
use crate::agent::environment::{EnvironmentVariable, set};
use crate::control::AgentCommand;

/// The time from SIGTERM for the mpirun of a job to SIGKILL: it needs its own grace.
const GRACE: Duration = Duration::from_millis(1500);

/// A spawned job.
struct SubordinateJob {
    /// The process of its mpirun.
    pid: u32,
    /// `None` after its end.
    link: Option<SpawnLink>,
    progress: SpawnProgress,
    exit: Option<Exit>,
    is_disconnected: bool,
}

/// The spawned jobs that are not forgotten, by number.
#[derive(Default)]
pub(super) struct Subordinates {
    jobs: BTreeMap<u32, SubordinateJob>,
    /// The number of the next job.
    next: u32,
    /// The time at which they were terminated.
    terminated: Option<Instant>,
}

impl Subordinates {
    /// Whether a job has not ended.
    pub(super) fn are_running(&self) -> bool {
        self.running().next().is_some()
    }

    /// Adds descriptors to poll; `token` makes the caller's tokens of the numbers of jobs.
    pub(super) fn interests<'a, Token: Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(u32) -> Token,
    ) {
        for (&number, job) in &self.jobs {
            let Some(link) = job.link.as_ref().filter(|link| !link.has_ended()) else { continue };
            set.add_read(link.as_fd(), token(number));
            if link.has_unsent() {
                set.add_write(link.as_fd(), token(number));
            }
        }
    }

    /// Sends `signal` to all jobs.
    pub(super) fn signal(&self, signal: i32) {
        self.running().for_each(|job| process::signal_process(job.pid, signal));
    }

    /// Ends all jobs.
    pub(super) fn terminate(&mut self, now: Instant) {
        self.terminated.get_or_insert(now);
        self.signal(signals::TERM);
        self.signal(signals::CONT);
    }

    /// Kills the jobs that have not ended in time.
    pub(super) fn kill(&mut self, now: Instant) {
        match self.terminated {
            Some(at) if now >= at + GRACE => self.signal(signals::KILL),
            Some(_) => {}
            None => self.terminate(now),
        }
    }

    fn running(&self) -> impl Iterator<Item = &SubordinateJob> {
        self.jobs.values().filter(|job| job.exit.is_none())
    }

    /// Adds a job that starts; its number.
    fn add(&mut self, pid: u32, link: Option<SpawnLink>) -> u32 {
        let number = self.next;
        let progress = SpawnProgress::default();
        let job = SubordinateJob { pid, link, progress, exit: None, is_disconnected: false };
        self.jobs.insert(number, job);
        self.next += 1;
        number
    }

    /// The state for a rank that asks: it asks no more after the end.
    fn state(&mut self, number: u32) -> Option<SpawnState> {
        let job = self.jobs.get(&number)?;
        let Some(exit) = job.exit else { return Some(job.progress.running()) };
        let ended = job.progress.ended(Some(exit.code()));
        self.jobs.remove(&number);
        Some(ended)
    }

    /// Notes the end of a job; whether it is a failure of this job.
    fn ended(&mut self, number: u32, exit: Exit) -> bool {
        let Some(job) = self.jobs.get_mut(&number) else { return false };
        (job.exit, job.link) = (Some(exit), None);
        if job.is_disconnected {
            self.jobs.remove(&number);
            return false;
        }
        exit.code() != 0 && job.progress.has_started()
    }

    /// The connection to a job that has not ended.
    fn link(&mut self, number: u32) -> Option<&mut SpawnLink> {
        self.jobs.get_mut(&number)?.link.as_mut()
    }

    fn disconnect(&mut self, number: u32) -> Option<()> {
        let job = self.jobs.get_mut(&number)?;
        if job.exit.is_some() {
            self.jobs.remove(&number);
            return Some(());
        }
        job.is_disconnected = true;
        if let Some(link) = &mut job.link {
            link.tell_child(ParentMessage::Disconnected);
        }
        Some(())
    }

    /// Ends a job, whose mpirun takes the end of the connection for that of this one.
    fn end(&mut self, number: u32) -> Option<()> {
        let job = self.jobs.get_mut(&number)?;
        (job.is_disconnected, job.link) = (true, None);
        if job.exit.is_some() {
            self.jobs.remove(&number);
        }
        Some(())
    }
}

impl Head<'_> {
    /// Carries out a call of `rank` of `host`, which waits for the answer.
    pub(super) fn spawn_called(&mut self, host: u32, rank: u32, call: SpawnCall) {
        let unknown = |number| SpawnReply::Refused(format!("there is no spawned job {number}"));
        let reply = match call {
            SpawnCall::Start(_) if !self.job.is_running() => {
                SpawnReply::Refused("the job is ending".to_owned())
            }
            SpawnCall::Start(words) => match self.start_job(rank, &words) {
                Ok(number) => SpawnReply::Started(number),
                Err(error) => {
                    SpawnReply::Refused(format!("cannot start mpirun for new processes: {error}"))
                }
            },
            SpawnCall::State { number } => {
                self.subordinates.state(number).map_or_else(|| unknown(number), SpawnReply::State)
            }
            SpawnCall::Disconnected { number } => match self.subordinates.disconnect(number) {
                Some(()) => SpawnReply::Disconnected,
                None => unknown(number),
            },
            SpawnCall::End { number } => match self.subordinates.end(number) {
                Some(()) => SpawnReply::Disconnected,
                None => unknown(number),
            },
        };
        let reply = reply.into_bytes();
        self.command_host(host, &AgentCommand::Answer { rank, reply });
    }

    /// Starts the mpirun of a job that `rank` spawns; the number of the job.
    fn start_job(&mut self, rank: u32, spawn: &SpawnWords) -> io::Result<u32> {
        let options = self.shares.plan.spawning.words(spawn.names_hosts).cloned();
        let arguments: Vec<_> = options.chain(spawn.words.iter().map(OsString::from)).collect();
        let (own, theirs) = SocketStream::pair()?;
        let [output, errors] = super::terminals()?;
        let input: OwnedFd = theirs.as_fd().try_clone_to_owned()?;
        let pid = process::spawn(ChildProgram {
            name: env::current_exe()?.as_os_str(),
            arguments: &arguments,
            environment: &self.environment_of_job(rank, spawn),
            directory: None,
            streams: [input, output, errors],
            inherited: &[],
            file_limit: Some(self.shares.file_limit),
            processors: None,
        })?;
        // It gets no signal for the processes of this job.
        self.agent.spare(pid);
        Ok(self.subordinates.add(pid, Some(SpawnLink::new(own))))
    }

    /// The environment of a job that `rank` spawns: that of this mpirun, which needs it on its way to other
    /// hosts, with what the program of `rank` has.
    fn environment_of_job(&self, rank: u32, spawn: &SpawnWords) -> Vec<EnvironmentVariable> {
        let mut all = without_private(env::vars_os());
        let app = self.shares.plan.app_of_rank()[rank as usize];
        let of_program = self.shares.environments[app as usize].iter().cloned();
        for (name, value) in of_program {
            set(&mut all, &name, value);
        }
        set(&mut all, OsStr::new(PARENT_PORT), spawn.parent_port.clone().into());
        set(&mut all, OsStr::new(PARENT_LINK), ParentKind::Launcher.as_str().into());
        all
    }

    /// Serves the connection of the spawned job `number`.
    pub(super) fn subordinate_ready(&mut self, number: u32) {
        let Some(link) = self.subordinates.link(number) else { return };
        link.send_rest();
        for message in link.from_child() {
            self.subordinate_told(number, message);
        }
    }

    fn subordinate_told(&mut self, number: u32, message: ChildMessage) {
        match message {
            ChildMessage::Name(request) => self.name_requested(NameClient::Job(number), request),
            message => {
                if let Some(job) = self.subordinates.jobs.get_mut(&number) {
                    job.progress.note(message);
                }
            }
        }
    }

    /// Sends the reply to the oldest request about a name of the spawned job `number`.
    pub(super) fn answer_subordinate(&mut self, number: u32, reply: Vec<u8>) {
        if let Some(link) = self.subordinates.link(number) {
            link.tell_child(ParentMessage::NameReply(reply));
        }
    }

    /// A child of this process has ended, perhaps the mpirun of a spawned job.
    pub(super) fn subordinate_ended(&mut self, pid: u32, exit: Exit) {
        let is_of = |job: &SubordinateJob| job.pid == pid && job.exit.is_none();
        let found = self.subordinates.jobs.iter().find(|(_, job)| is_of(job));
        let Some((&number, _)) = found else { return };
        // What it has told before its end has arrived now.
        self.subordinate_ready(number);
        self.forget_names_of(number);
        if exit.code() == 0 {
            self.job.spawned_succeeded();
        }
        if self.subordinates.ended(number, exit) {
            let actions = self.job.spawned_failed(number, pid, exit, Instant::now());
            self.perform(actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Exit = Exit::Code(3);

    /// Adds a job whose processes have started; its number.
    fn started(jobs: &mut Subordinates) -> u32 {
        let number = jobs.add(100, None);
        jobs.jobs.get_mut(&number).unwrap().progress.note(ChildMessage::Started);
        number
    }

    #[test]
    fn a_job_is_forgotten_when_it_has_ended_and_is_disconnected() {
        let mut jobs = Subordinates::default();
        for turn in 0..4 {
            let number = started(&mut jobs);
            assert_eq!(number, turn);
            if turn % 2 == 0 {
                assert!(!jobs.ended(number, Exit::Code(0)));
                assert_eq!(jobs.jobs.len(), 1);
                assert_eq!(jobs.disconnect(number), Some(()));
            } else {
                assert_eq!(jobs.disconnect(number), Some(()));
                assert_eq!(jobs.state(number), Some(SpawnState::Running));
                assert!(!jobs.ended(number, FAILED), "it is disconnected");
            }
            assert!(jobs.jobs.is_empty());
            assert_eq!((jobs.disconnect(number), jobs.state(number)), (None, None));
        }
    }

    #[test]
    fn the_end_of_a_connected_job_is_told_once() {
        let mut jobs = Subordinates::default();
        let number = started(&mut jobs);
        assert!(jobs.ended(number, FAILED));
        assert!(!jobs.are_running());
        assert!(matches!(jobs.state(number), Some(SpawnState::Ended { code: 3, .. })));
        assert_eq!(jobs.state(number), None);
    }

    #[test]
    fn a_job_that_could_not_be_started_is_no_failure_of_this_job() {
        let mut jobs = Subordinates::default();
        let number = jobs.add(100, None);
        assert!(!jobs.ended(number, FAILED));
        assert!(matches!(jobs.state(number), Some(SpawnState::Ended { .. })));
        assert!(jobs.jobs.is_empty());
    }
}
