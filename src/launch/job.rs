//! What becomes of a job: which event ends it, what is said, which code is returned.
//!
//! ```text
//!   Running --all ranks ended------------------------> Ending (quietly)
//!      \-----a rank fails, a signal, ... (first cause)-> Ending --grace over--> killed
//! ```
//!
//! Only the first cause is told and decides the code; what ranks do while they are being ended is
//! no news. A value without I/O: events and the time go in, [`Action`]s come out.

use std::time::{Duration, Instant};

use crate::bootstrap::Standing;
use crate::sys::process::Exit;
use crate::sys::signals;

/// How long a process may take to end after SIGTERM.
pub const GRACE: Duration = Duration::from_millis(500);

/// How often processes that shall die are looked for.
const KILL_INTERVAL: Duration = Duration::from_millis(10);

/// How long killed processes may take to vanish before the launcher gives up on them.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// The exit code of a job that took too long, as of timeout(1).
const OVERDUE: i32 = 124;

/// What the launcher must do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Print this line.
    Say(String),
    /// Print where every rank is; if the job is overdue, call [`Job::dumped`] then.
    Dump {
        /// Whether that is why.
        overdue: bool,
    },
    /// Send this signal to the process group of every rank.
    Forward(i32),
    /// Ask every process of the job to end.
    Terminate,
    /// Kill every process of the job.
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// Asked to end at `since`; `next_kill` is when those still there are killed (again).
    Ending {
        code: i32,
        since: Instant,
        next_kill: Instant,
    },
}

/// The state of a job.
#[derive(Debug)]
pub struct Job {
    phase: Phase,
    host: String,
    /// The process of each rank, while it runs.
    running: Vec<Option<u32>>,
    /// The highest code that a rank returned.
    highest_code: i32,
    /// Signals that are the ranks' business.
    forwarded: Vec<i32>,
    /// When the job has taken too long, and how long that is.
    limit: Option<(Instant, Duration)>,
    /// A rank and the call that it waits in, as far as it has said so.
    waiting: Option<(u32, String)>,
}

impl Job {
    /// A job of `size` ranks on the host of this name, none of them started.
    pub fn new(host: &str, size: u32) -> Self {
        Self {
            phase: Phase::Running,
            host: host.to_owned(),
            running: vec![None; size as usize],
            highest_code: 0,
            forwarded: vec![signals::USR1, signals::USR2, signals::TSTP, signals::CONT],
            limit: None,
            waiting: None,
        }
    }

    /// The same, with more signals that go to the ranks and do not end the job.
    pub fn forwarding(mut self, signals: &[i32]) -> Self {
        self.forwarded.extend(signals);
        self
    }

    /// The same, which must not take longer than this from `now` on.
    pub fn limited(self, limit: Option<Duration>, now: Instant) -> Self {
        let limit = limit.and_then(|limit| Some((now.checked_add(limit)?, limit)));
        Self { limit, ..self }
    }

    /// `rank` runs as the process `pid`.
    pub fn started(&mut self, rank: u32, pid: u32) {
        self.running[rank as usize] = Some(pid);
    }

    /// Is the job still as it should be?
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// What the launcher returns, as things are.
    pub fn code(&self) -> i32 {
        match self.phase {
            Phase::Running => self.highest_code,
            Phase::Ending { code, .. } => code,
        }
    }

    /// When [`Job::tick`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => self.limit.map(|(at, _)| at),
            Phase::Ending { next_kill, .. } => Some(next_kill),
        }
    }

    /// Has everything been tried to end the processes?
    pub fn is_out_of_patience(&self, now: Instant) -> bool {
        match self.phase {
            Phase::Running => false,
            Phase::Ending { since, .. } => now >= since + GRACE + KILL_PATIENCE,
        }
    }

    /// A program cannot be started.
    pub fn refused(&mut self, code: i32, why: &str, now: Instant) -> Vec<Action> {
        self.end(code, Some(why.to_owned()), now)
    }

    /// What follows happens to `rank` while it waits in the function `call`.
    pub fn waiting_in(&mut self, rank: u32, call: String) {
        self.waiting = Some((rank, call));
    }

    /// The process of `rank` ended. `inner` is how its MPI process ended, if that was another
    /// one and the system tells.
    pub fn exited(
        &mut self, rank: u32, exit: Exit, inner: Option<(u32, Exit)>, standing: Standing,
        now: Instant,
    ) -> Vec<Action> {
        let Some(pid) = self.running[rank as usize].take() else { return Vec::new() };
        if !self.is_running() {
            return Vec::new();
        }
        self.highest_code = self.highest_code.max(exit.code());
        match (standing, exit) {
            (Standing::Joined, _) => {
                let (pid, how) = inner.filter(|(_, how)| how.code() != 0).unwrap_or((pid, exit));
                let code = if exit.code() == 0 { how.code().max(1) } else { exit.code() };
                self.lost(rank, pid, Some(how), code, now)
            }
            (Standing::Silent, Exit::Signal(_)) => {
                self.lost(rank, pid, Some(exit), exit.code(), now)
            }
            (Standing::Left, Exit::Signal(signal)) => {
                let who = self.who(rank, pid);
                let how = killed(signal);
                vec![Action::Say(format!("{who} {how} after MPI_Finalize"))]
            }
            (Standing::Silent | Standing::Left, Exit::Code(_)) => Vec::new(),
        }
    }

    /// The MPI process `pid` of `rank` ended in the middle of the job, but the program that
    /// started it goes on.
    pub fn process_gone(
        &mut self, rank: u32, pid: u32, exit: Option<Exit>, now: Instant,
    ) -> Vec<Action> {
        let code = exit.map_or(1, Exit::code).max(1);
        self.lost(rank, pid, exit, code, now)
    }

    /// `rank` called `MPI_Abort`.
    pub fn aborted(
        &mut self, rank: u32, code: i32, message: Option<&str>, now: Instant,
    ) -> Vec<Action> {
        let who = self.who(rank, self.running[rank as usize].unwrap_or(0));
        let words = match message {
            // What MPICH says when it has nothing to say.
            None | Some("" | "abort") => String::new(),
            Some(message) => format!(": {message}"),
        };
        let exit_code = match code & 0xff {
            0 if code != 0 => 255,
            low => low,
        };
        self.end(exit_code, Some(format!("{who} aborted the job with code {code}{words}")), now)
    }

    /// `waiting` waits for `gone`, which ended without ever taking part.
    pub fn stuck(&mut self, gone: u32, waiting: u32, now: Instant) -> Vec<Action> {
        let line = format!(
            "rank {gone} ended while rank {waiting} waits for it in MPI; ending the job \
             (did every rank call MPI_Init?)"
        );
        self.end(self.highest_code.max(1), Some(line), now)
    }

    /// The process `pid` of `rank` runs, but has closed its connection in the middle of MPI.
    pub fn hung_up(&mut self, rank: u32, pid: u32, now: Instant) -> Vec<Action> {
        let who = self.who(rank, pid);
        let rest = self.rest(rank);
        let line = format!(
            "{who} closed its connection to mpirun without MPI_Finalize (did it run another \
             program by exec?); {rest}"
        );
        self.end(1, Some(line), now)
    }

    /// `rank` asked for what this launcher cannot do.
    pub fn unable(&self, rank: u32, why: &str) -> Vec<Action> {
        vec![Action::Say(format!("rank {rank} was refused: {why}"))]
    }

    /// `rank` sent something that is no PMI.
    pub fn broken(&self, rank: u32, why: &str) -> Vec<Action> {
        vec![Action::Say(format!("rank {rank} is not listened to any more: {why}"))]
    }

    /// The launcher received this signal.
    pub fn signalled(&mut self, signal: i32, now: Instant) -> Vec<Action> {
        if self.forwarded.contains(&signal) {
            return vec![Action::Forward(signal)];
        }
        match self.phase {
            Phase::Running if signal == signals::QUIT => vec![Action::Dump { overdue: false }],
            Phase::Running => self.end(128 + signal, None, now),
            Phase::Ending { code, since, .. } => {
                self.phase = Phase::Ending { code, since, next_kill: now + KILL_INTERVAL };
                vec![Action::Kill]
            }
        }
    }

    /// The front process, which the shell knows, is gone.
    pub fn front_gone(&mut self, now: Instant) -> Vec<Action> {
        self.end(
            137,
            Some("the process that was started as mpirun was killed; ending the job".to_owned()),
            now,
        )
    }

    /// Nobody reads an output any more (no words), or it cannot be written: which one, and why.
    pub fn output_lost(&mut self, why: Option<&str>, now: Instant) -> Vec<Action> {
        match why {
            None => self.end(141, None, now),
            Some(why) => self.end(1, Some(format!("cannot write {why}")), now),
        }
    }

    /// These ranks took nothing of the input for so long that they get no more of it.
    pub fn input_lost(&self, ranks: &[u32]) -> Vec<Action> {
        let line = |rank| {
            format!(
                "rank {rank} does not read its standard input while others wait for more; \
                 it gets no more of it"
            )
        };
        ranks.iter().map(|rank| Action::Say(line(*rank))).collect()
    }

    /// All ranks have ended; `leftovers` says whether processes that they started have not.
    pub fn all_ended(&mut self, leftovers: bool, now: Instant) -> Vec<Action> {
        if leftovers { self.end(self.highest_code, None, now) } else { Vec::new() }
    }

    /// The deadline has passed.
    pub fn tick(&mut self, now: Instant) -> Vec<Action> {
        match self.phase {
            Phase::Running => match self.limit.take_if(|(at, _)| now >= *at) {
                Some((_, limit)) => {
                    vec![Action::Say(overdue(limit)), Action::Dump { overdue: true }]
                }
                None => Vec::new(),
            },
            Phase::Ending { code, since, next_kill } if now >= next_kill => {
                self.phase = Phase::Ending { code, since, next_kill: now + KILL_INTERVAL };
                vec![Action::Kill]
            }
            Phase::Ending { .. } => Vec::new(),
        }
    }

    /// Where the ranks of a job that takes too long are has been printed.
    pub fn dumped(&mut self, now: Instant) -> Vec<Action> {
        self.end(OVERDUE, None, now)
    }

    /// `rank` ended as it should not have.
    fn lost(
        &mut self, rank: u32, pid: u32, exit: Option<Exit>, code: i32, now: Instant,
    ) -> Vec<Action> {
        let who = self.who(rank, pid);
        let what = match exit {
            Some(Exit::Signal(signal)) => match &self.waiting {
                Some((waiting, call)) if *waiting == rank => {
                    format!("{} while it waited in {call}", killed(signal))
                }
                _ => killed(signal),
            },
            Some(Exit::Code(code)) => format!("exited with code {code} without MPI_Finalize"),
            None => "ended without MPI_Finalize".to_owned(),
        };
        let rest = self.rest(rank);
        self.end(code, Some(format!("{who} {what}; {rest}")), now)
    }

    /// What becomes of the ranks but this one.
    fn rest(&self, rank: u32) -> String {
        let others =
            (0..).zip(&self.running).filter(|(other, pid)| *other != rank && pid.is_some());
        match others.count() {
            0 => "the job is over".to_owned(),
            1 => "ending the other rank".to_owned(),
            count => format!("ending the other {count} ranks"),
        }
    }

    fn end(&mut self, code: i32, line: Option<String>, now: Instant) -> Vec<Action> {
        if !self.is_running() {
            return Vec::new();
        }
        self.phase = Phase::Ending { code, since: now, next_kill: now + GRACE };
        line.map(Action::Say).into_iter().chain([Action::Terminate]).collect()
    }

    fn who(&self, rank: u32, pid: u32) -> String {
        format!("rank {rank} (process {pid} on {})", self.host)
    }
}

fn overdue(limit: Duration) -> String {
    format!("the job ran longer than {} s (--timeout); ending it", limit.as_secs_f64())
}

fn killed(signal: i32) -> String {
    format!("was killed by signal {signal} ({})", signals::name(signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: Exit = Exit::Signal(9);

    fn job() -> Job {
        let mut job = Job::new("here", 3);
        for rank in 0..3 {
            job.started(rank, 100 + rank);
        }
        job
    }

    fn said(actions: &[Action]) -> &str {
        match actions {
            [Action::Say(line), Action::Terminate] => line,
            other => panic!("{other:?} says nothing"),
        }
    }

    #[test]
    fn a_killed_rank_ends_the_job_and_is_named() {
        let (mut job, now) = (job(), Instant::now());
        let actions = job.exited(1, KILLED, None, Standing::Joined, now);
        assert_eq!(
            said(&actions),
            "rank 1 (process 101 on here) was killed by signal 9 (SIGKILL); \
             ending the other 2 ranks"
        );
        assert_eq!(job.code(), 137);
        assert_eq!(job.exited(2, Exit::Signal(15), None, Standing::Joined, now), []);
        assert_eq!(job.code(), 137);
    }

    #[test]
    fn the_call_in_which_a_rank_was_killed_is_told() {
        let (mut job, now) = (job(), Instant::now());
        job.waiting_in(2, "MPI_Recv(source 0)".to_owned());
        let actions = job.exited(2, KILLED, None, Standing::Joined, now);
        assert!(said(&actions).contains("(SIGKILL) while it waited in MPI_Recv(source 0); ending"));
        let mut job = self::job();
        job.waiting_in(2, "MPI_Recv(source 0)".to_owned());
        let actions = job.exited(1, KILLED, None, Standing::Joined, now);
        assert!(said(&actions).contains("(SIGKILL); ending"));
    }

    #[test]
    fn a_rank_behind_a_shell_is_named_by_its_own_process() {
        let (mut job, now) = (job(), Instant::now());
        let inner = Some((555, KILLED));
        let actions = job.exited(1, Exit::Code(137), inner, Standing::Joined, now);
        assert!(said(&actions).contains("process 555 on here) was killed by signal 9"));
        assert_eq!(job.code(), 137);
        let (mut job, inner) = (self::job(), Some(KILLED));
        assert!(said(&job.process_gone(1, 555, inner, now)).contains("process 555"));
        assert_eq!(job.code(), 137);
    }

    #[test]
    fn a_rank_that_closes_its_connection_ends_the_job_and_is_asked_about_exec() {
        let (mut job, now) = (job(), Instant::now());
        let actions = job.hung_up(1, 101, now);
        assert!(said(&actions).contains("rank 1 (process 101 on here) closed its connection"));
        assert!(said(&actions).contains("exec?); ending the other 2 ranks"));
        assert_eq!(job.code(), 1);
        assert_eq!(job.exited(1, KILLED, None, Standing::Joined, now), []);
    }

    #[test]
    fn leaving_without_finalize_is_a_failure_even_with_code_0() {
        let (mut job, now) = (job(), Instant::now());
        let actions = job.exited(0, Exit::Code(0), None, Standing::Joined, now);
        assert!(said(&actions).contains("rank 0"));
        assert!(said(&actions).contains("without MPI_Finalize"));
        assert_eq!(job.code(), 1);
    }

    #[test]
    fn a_rank_that_fails_outside_mpi_leaves_the_others_alone() {
        let (mut job, now) = (job(), Instant::now());
        assert_eq!(job.exited(0, Exit::Code(3), None, Standing::Silent, now), []);
        assert_eq!(job.exited(1, Exit::Code(2), None, Standing::Left, now), []);
        assert!(job.is_running());
        assert_eq!(job.code(), 3);
    }

    #[test]
    fn a_signal_after_finalize_is_told_and_counts() {
        let (mut job, now) = (job(), Instant::now());
        let actions = job.exited(0, Exit::Signal(11), None, Standing::Left, now);
        assert!(matches!(&actions[..], [Action::Say(line)] if line.contains("after MPI_Finalize")));
        assert!(job.is_running());
        assert_eq!(job.code(), 139);
    }

    #[test]
    fn the_code_of_an_abort_is_returned_and_never_becomes_success() {
        for (code, expected) in [(42, 42), (0, 0), (256, 255), (-1, 255), (300, 44)] {
            let mut job = job();
            let actions = job.aborted(2, code, Some("too bad"), Instant::now());
            assert!(said(&actions).contains("rank 2") && said(&actions).ends_with(": too bad"));
            assert_eq!(job.code(), expected, "{code}");
        }
    }

    #[test]
    fn signals_end_the_job_and_a_second_one_kills() {
        let (mut job, now) = (job(), Instant::now());
        assert_eq!(job.signalled(10, now), [Action::Forward(10)]);
        assert_eq!(job.signalled(2, now), [Action::Terminate]);
        assert_eq!(job.code(), 130);
        assert_eq!(job.signalled(15, now), [Action::Kill]);
        assert_eq!(job.code(), 130);
        let mut job = self::job().forwarding(&[2]);
        assert_eq!(job.signalled(2, now), [Action::Forward(2)]);
        assert!(job.is_running());
    }

    #[test]
    fn after_the_grace_the_rest_is_killed_again_and_again() {
        let (mut job, now) = (job(), Instant::now());
        assert_eq!((job.deadline(), job.tick(now)), (None, vec![]));
        job.signalled(15, now);
        assert_eq!(job.tick(now), []);
        assert_eq!(job.deadline(), Some(now + GRACE));
        assert_eq!(job.tick(now + GRACE), [Action::Kill]);
        assert!(job.deadline().unwrap() > now + GRACE);
        assert!(!job.is_out_of_patience(now + GRACE));
        assert!(job.is_out_of_patience(now + GRACE + KILL_PATIENCE));
    }

    #[test]
    fn a_job_that_takes_too_long_is_shown_before_it_is_ended() {
        let now = Instant::now();
        let limit = Duration::from_millis(2500);
        let mut job = job().limited(Some(limit), now);
        assert_eq!((job.deadline(), job.tick(now)), (Some(now + limit), vec![]));
        let line = "the job ran longer than 2.5 s (--timeout); ending it".to_owned();
        assert_eq!(job.tick(now + limit), [Action::Say(line), Action::Dump { overdue: true }]);
        assert_eq!((job.deadline(), job.tick(now + limit)), (None, vec![]));
        // The grace begins after the dump, however long that takes.
        assert_eq!(job.dumped(now + 2 * limit), [Action::Terminate]);
        assert_eq!((job.deadline(), job.code()), (Some(now + 2 * limit + GRACE), 124));
    }

    #[test]
    fn a_job_that_ends_in_time_keeps_its_code() {
        let now = Instant::now();
        let mut job = job().limited(Some(GRACE), now);
        job.signalled(15, now);
        assert_eq!(job.tick(now + GRACE), [Action::Kill]);
        assert_eq!((job.dumped(now), job.code()), (vec![], 143));
        assert_eq!(self::job().limited(Some(Duration::MAX), now).deadline(), None);
    }

    #[test]
    fn lost_output_ends_the_job_as_the_signal_would() {
        let (mut job, now) = (job(), Instant::now());
        assert_eq!(job.output_lost(None, now), [Action::Terminate]);
        assert_eq!(job.code(), 141);
        let mut job = self::job();
        assert!(said(&job.output_lost(Some("no space"), now)).contains("no space"));
    }

    #[test]
    fn leftovers_are_ended_without_a_word() {
        let (mut job, now) = (job(), Instant::now());
        assert_eq!(job.all_ended(false, now), []);
        assert_eq!(job.all_ended(true, now), [Action::Terminate]);
        assert_eq!(job.code(), 0);
    }

    #[test]
    fn a_rank_that_is_waited_for_in_vain_ends_the_job() {
        let (mut job, now) = (job(), Instant::now());
        job.exited(0, Exit::Code(0), None, Standing::Silent, now);
        assert!(said(&job.stuck(0, 2, now)).contains("rank 0 ended while rank 2 waits"));
        assert_eq!(job.code(), 1);
    }
}
