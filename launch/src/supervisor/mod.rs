//! The supervisor process of `mpirun`: the process that the shell started.
//!
//! It forwards signals and the keyboard to the job, and returns the exit code. It does nothing
//! else, so it survives a failure of the job loop process and then kills the remaining processes. It
//! also kills the ranks of a job that should have ended if the job loop does not: that may be busy
//! with the stacks of the ranks.
//! The keyboard is read here, because only the foreground process group of a terminal may read it.
//! Any other standard input is passed to the ranks unchanged.
//!
//! The agent of another host has a simpler supervisor, [`guarded`].

mod guard;
mod keyboard;

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use platform::sys::descriptor;
use platform::sys::host;
use platform::sys::poll::PollSet;
use platform::sys::process;
use platform::sys::process::{Exit, Reap, Side};
use platform::sys::signals;
use platform::sys::signals::Signals;

use crate::agent::environment::EnvironmentVariable;
use crate::command_line::plan::LaunchPlan;
use crate::debugger::{self, DebuggedProcess, Debugger, PidReceiver};
use crate::head;
use crate::mpirun::print_note;
use crate::placement::Placement;
pub(crate) use guard::guarded;
use keyboard::Keyboard;

/// The time that the job loop has to end the ranks of an overdue job, including the report of their
/// state, or after a signal.
const END_TIMEOUT: Duration = Duration::from_secs(8);

/// The same after a second signal.
const SECOND_END_TIMEOUT: Duration = Duration::from_secs(1);

/// The time that killed processes have to exit.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Forks the job loop process and supervises it; the exit code of the job.
///
/// # Errors
/// A system call that the launcher needs failed.
pub(crate) fn run(
    plan: &LaunchPlan, environments: &[Vec<EnvironmentVariable>], placement: &Placement,
    debugger: &mut dyn Debugger,
) -> io::Result<i32> {
    let signals = Signals::block(&[&signals::JOB_SIGNALS[..], &plan.forwarded].concat())?;
    let (input, keyboard) = Keyboard::open(io::stdin())?;
    let (pid_sender, pid_receiver) =
        debugger::connected(plan.size() as usize, debugger.is_there())?;
    process::adopt_orphans()?;
    let (supervisor_end, supervisor_life) = descriptor::pipe()?;
    match process::fork_single_threaded()? {
        Side::Child => {
            drop((keyboard, signals, pid_receiver, supervisor_life));
            let code = head::run(plan, environments, placement, input, supervisor_end, pid_sender);
            std::process::exit(code.unwrap_or_else(|error| {
                print_note(&format!("cannot run the job: {error}"));
                1
            }));
        }
        Side::Parent(job_loop) => {
            drop((input, pid_sender, supervisor_end));
            let limit = plan.timeout.and_then(|timeout| timeout.checked_add(END_TIMEOUT));
            let code = Supervisor {
                plan,
                job_loop,
                signals,
                keyboard,
                pid_receiver,
                debugger,
                kill_at: limit.and_then(|limit| Instant::now().checked_add(limit)),
                signalled: false,
            }
            .serve();
            drop(supervisor_life);
            code
        }
    }
}

struct Supervisor<'a> {
    plan: &'a LaunchPlan,
    /// The process number of the job loop.
    job_loop: u32,
    signals: Signals,
    keyboard: Option<Keyboard>,
    pid_receiver: PidReceiver,
    debugger: &'a mut dyn Debugger,
    /// The time at which processes that the job loop has not ended are killed.
    kill_at: Option<Instant>,
    /// A signal has ended the job.
    signalled: bool,
}

/// The descriptor that became ready.
#[derive(Clone, Copy)]
enum SupervisorToken {
    Signals,
    Keyboard,
    Rank,
    Processes,
}

impl Supervisor<'_> {
    /// Serves until the job loop and all descendants have ended; the job loop's exit code.
    fn serve(&mut self) -> io::Result<i32> {
        loop {
            if let Some(exit) = self.reap() {
                // Printing may wait for a terminal, so the processes are killed before.
                kill_remaining();
                if let Exit::Signal(signal) = exit {
                    let name = signals::name(signal);
                    print_note(&format!(
                        "the job loop process {} was killed by {name}",
                        self.job_loop
                    ));
                }
                return Ok(exit.code());
            }
            self.kill_overdue();
            for token in self.wait()? {
                match (token, &mut self.keyboard) {
                    (SupervisorToken::Signals, _) => self.forward(),
                    (SupervisorToken::Processes, _) => self.show_debugger(),
                    (SupervisorToken::Keyboard, Some(keyboard)) => keyboard.read(),
                    (SupervisorToken::Rank, Some(keyboard)) => keyboard.write(),
                    (SupervisorToken::Keyboard | SupervisorToken::Rank, None) => {}
                }
            }
            self.keyboard.take_if(|keyboard| keyboard.is_finished());
        }
    }

    /// Kills all processes except the job loop, if it has not ended them in time.
    fn kill_overdue(&mut self) {
        if self.kill_at.is_none_or(|at| Instant::now() < at) {
            return;
        }
        self.kill_at = None;
        for pid in process::descendants().into_iter().filter(|pid| *pid != self.job_loop) {
            process::signal_process(pid, signals::KILL);
        }
    }

    fn wait(&self) -> io::Result<Vec<SupervisorToken>> {
        let mut set = PollSet::default();
        set.add_read(self.signals.as_fd(), SupervisorToken::Signals);
        if let Some(processes) = self.pid_receiver.as_fd() {
            set.add_read(processes, SupervisorToken::Processes);
        }
        let keyboard = self.keyboard.as_ref().and_then(|keyboard| keyboard.interests(&mut set));
        let kill = self.kill_at.map(|at| at.saturating_duration_since(Instant::now()));
        set.wait(keyboard.into_iter().chain(kill).min())
    }

    fn forward(&mut self) {
        while let Some(signal) = self.signals.take() {
            if signal == signals::CHLD {
                continue;
            }
            process::signal_process(self.job_loop, signal);
            if self.ends_job(signal) {
                let timeout = match self.signalled {
                    false => END_TIMEOUT,
                    true => SECOND_END_TIMEOUT,
                };
                self.signalled = true;
                let at = Instant::now() + timeout;
                self.kill_at = Some(self.kill_at.map_or(at, |before| before.min(at)));
            }
            if signal == signals::TSTP {
                signals::stop_self();
            }
        }
    }

    fn ends_job(&self, signal: i32) -> bool {
        let ending = [signals::INT, signals::TERM, signals::HUP];
        ending.contains(&signal) && !self.plan.forwarded.contains(&signal)
    }

    /// Shows the started ranks to the debugger.
    fn show_debugger(&mut self) {
        let Some(places) = self.pid_receiver.receive() else { return };
        let own = host::name();
        let processes =
            places.into_iter().zip(self.plan.app_of_rank()).map(|((host, pid), app)| {
                DebuggedProcess {
                    host: self.plan.layout.name_of(host, &own).to_owned(),
                    program: self.plan.apps[app as usize].program.clone(),
                    pid,
                }
            });
        self.debugger.show(&processes.collect::<Vec<_>>());
        self.pid_receiver.release();
    }

    /// Reaps the job loop process and adopted descendants; the exit of the job loop, if it ended.
    fn reap(&self) -> Option<Exit> {
        loop {
            match process::reap() {
                Reap::Ended(pid, exit) if pid == self.job_loop => return Some(exit),
                Reap::Ended(..) => {}
                Reap::Running => return None,
                Reap::Childless => return Some(Exit::Code(1)),
            }
        }
    }
}

/// Kills the processes that a killed job loop left. A job loop that exits leaves none.
fn kill_remaining() {
    let start = Instant::now();
    while start.elapsed() < KILL_TIMEOUT {
        match process::reap() {
            Reap::Childless => return,
            Reap::Ended(..) => continue,
            Reap::Running => {}
        }
        for pid in process::descendants() {
            process::signal_process(pid, signals::KILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
