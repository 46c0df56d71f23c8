//! The process that the shell knows: it passes on signals and the keyboard, and returns the code.
//!
//! It does nothing else, so that it is always there to end what is left when the process that
//! runs the job is killed. A keyboard is read here, because only the process group that the shell
//! knows may read it; any other input goes to ranks as it is.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use platform::base::settings;
use platform::sys::cpu;
use platform::sys::descriptor;
use platform::sys::host;
use platform::sys::poll::PollSet;
use platform::sys::process;
use platform::sys::process::{Exit, Reap, Side};
use platform::sys::signals;
use platform::sys::signals::Signals;
use platform::sys::topology::CpuTopology;

use super::arguments::{self, HostEnvironment, LaunchCommand};
use super::debugger::{self, DebuggedProcess, Debugger, PidReceiver};
use super::environment::{self, EnvironmentVariable};
use super::explain;
use super::job_loop::run;
use super::linkage;
use super::placement::display::DisplayOptions;
use super::placement::report::PlacementReport;
use super::placement::{Placement, may_fill, place};
use super::plan::{LaunchPlan, VariablePattern};
use super::{LaunchError, USAGE};

/// How often a launcher in the background looks whether the keyboard is its own again.
const KEYBOARD_INTERVAL: Duration = Duration::from_millis(500);

/// How long killed processes may take to vanish.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// `mpirun`: does what `words` (without the program's own name) ask for, seen by `debugger`; the
/// exit code.
pub fn main(words: impl IntoIterator<Item = OsString>, debugger: &mut dyn Debugger) -> i32 {
    let here = HostEnvironment {
        is_local: &host::is_this_host,
        topology: &CpuTopology::here,
        environment: &|name| std::env::var_os(name),
    };
    let order = arguments::parse(words.into_iter().collect(), &here);
    let done = order.and_then(|order| match order {
        LaunchCommand::Print(text) => print(&text),
        LaunchCommand::Settings => print(&settings::table(|name| std::env::var(name).ok())),
        LaunchCommand::Run(plan) => launch(&plan, debugger),
    });
    done.unwrap_or_else(|refusal| {
        print_note(&refusal.why);
        refusal.code
    })
}

fn print(text: &str) -> Result<i32, LaunchError> {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Ok(0),
        Err(error) => Err(LaunchError::new(1, format!("cannot write: {error}"))),
    }
}

/// Prints a line for people; if nobody can read it, that is that.
fn print_note(line: &str) {
    let _ = writeln!(io::stderr(), "mpirun: {line}");
}

fn launch(plan: &LaunchPlan, debugger: &mut dyn Debugger) -> Result<i32, LaunchError> {
    check(plan)?;
    let environments = environment::of_apps(plan);
    let threads = threads(&environments);
    let placement = placed(plan, threads)?;
    if plan.explain {
        let host = explain::Host {
            name: &host::name(),
            processors: cpu::affinity().map_or(0, |processors| processors.len()),
            quota: cpu::quota(),
            threads,
        };
        explain::lines(plan, &placement, host).iter().for_each(|line| print_note(line));
    }
    if plan.dry_run {
        return Ok(0);
    }
    match split(plan, &environments, &placement, debugger) {
        Ok(code) => Ok(code),
        Err(error) => Err(LaunchError::new(1, format!("cannot run the job: {error}"))),
    }
}

/// Finds out before anything is started what can be found out.
fn check(plan: &LaunchPlan) -> Result<(), LaunchError> {
    plan.input.check(plan.size())?;
    for app in &plan.apps {
        if let Some(folder) = app.directory.as_deref().filter(|folder| !Path::is_dir(folder)) {
            let why = format!("-wdir {}: not a folder", folder.display());
            return Err(LaunchError::new(USAGE, why));
        }
        for VariablePattern(name) in &app.variables.passed {
            if !name.as_bytes().ends_with(b"*") && std::env::var_os(name).is_none() {
                print_note(&format!(
                    "-x {}: not set here, so not passed on",
                    name.to_string_lossy()
                ));
            }
        }
    }
    let several = if plan.size() > 1 { &plan.apps[..] } else { &[] };
    for note in plan.notes.iter().cloned().chain(several.iter().filter_map(linkage::note)) {
        print_note(&format!("note: {note}"));
    }
    Ok(())
}

/// Where the ranks go; shows what the plan says.
fn placed(plan: &LaunchPlan, threads: usize) -> Result<Placement, LaunchError> {
    let mut show = plan.display;
    show.map |= plan.dry_run && show == DisplayOptions::default();
    let ranks = plan.size() as usize;
    let usable = cpu::affinity().map_or(0, |processors| processors.len());
    if plan.placement.is_empty() && show.is_empty() && !may_fill(ranks, threads, usable) {
        return Ok(Placement::default());
    }
    // Where the system does not tell its processors, nothing is bound unless it must be.
    let topology = CpuTopology::here().or_else(|error| {
        let why = format!("cannot find out which processors may be used: {error}");
        let empty = plan.placement.is_empty().then(|| CpuTopology::read(&[], &|_| None));
        empty.ok_or_else(|| LaunchError::new(1, why))
    })?;
    let placement = place(&plan.placement, &topology, ranks, threads)?;
    if let Some(note) = placement.note.as_deref().filter(|_| !plan.quiet) {
        print_note(&format!("note: {note}"));
    }
    let program = |app: u32| plan.apps[app as usize].program.to_string_lossy().into_owned();
    let programs: Vec<_> = plan.app_of_rank().into_iter().map(program).collect();
    let host = host::name();
    let report = PlacementReport {
        host: &host,
        topology: &topology,
        placement: &placement,
        programs: &programs,
    };
    print(&report.shown(show))?;
    if show.report {
        report.bindings().iter().for_each(|line| print_note(line.trim_end()));
    }
    Ok(placement)
}

/// How many threads a rank may have, as far as the environment says (`OMP_NUM_THREADS`).
fn threads(environments: &[Vec<EnvironmentVariable>]) -> usize {
    let of_app = |variables: &Vec<EnvironmentVariable>| {
        let (_, value) = variables.iter().find(|(name, _)| name == "OMP_NUM_THREADS")?;
        // A list is for loops inside loops; the first is that of the outermost.
        value.to_str()?.split(',').next()?.trim().parse().ok()
    };
    environments.iter().filter_map(of_app).max().unwrap_or(1).max(1)
}

/// Splits into the two processes of the launcher.
fn split(
    plan: &LaunchPlan, environments: &[Vec<EnvironmentVariable>], placement: &Placement,
    debugger: &mut dyn Debugger,
) -> io::Result<i32> {
    let signals = Signals::block(&[&signals::JOB_SIGNALS[..], &plan.forwarded].concat())?;
    let (input, keyboard) = Keyboard::open(io::stdin())?;
    let (announcer, listener) = debugger::connected(plan.size() as usize, debugger.is_there())?;
    process::adopt_orphans()?;
    let front = process::own_pid();
    match process::fork_single_threaded()? {
        Side::Child => {
            drop((keyboard, signals, listener));
            let code = run(plan, environments, placement, input, front, announcer).unwrap_or_else(
                |error| {
                    print_note(&format!("cannot run the job: {error}"));
                    1
                },
            );
            std::process::exit(code);
        }
        Side::Parent(runner) => {
            drop((input, announcer));
            Supervisor { plan, runner, signals, keyboard, listener, debugger }.serve()
        }
    }
}

struct Supervisor<'a> {
    plan: &'a LaunchPlan,
    runner: u32,
    signals: Signals,
    keyboard: Option<Keyboard>,
    listener: PidReceiver,
    debugger: &'a mut dyn Debugger,
}

/// What a wait was for.
#[derive(Clone, Copy)]
enum SupervisorToken {
    Signals,
    Keyboard,
    Rank,
    Processes,
}

impl Supervisor<'_> {
    /// Until the runner has ended and nothing is left below this process; the runner's code.
    fn serve(&mut self) -> io::Result<i32> {
        loop {
            if let Some(exit) = self.runner_exit() {
                if let Exit::Signal(signal) = exit {
                    let name = signals::name(signal);
                    print_note(&format!("its own process {} was killed by {name}", self.runner));
                }
                end_leftovers();
                return Ok(exit.code());
            }
            for token in self.wait()? {
                match (token, &mut self.keyboard) {
                    (SupervisorToken::Signals, _) => self.forward(),
                    (SupervisorToken::Processes, _) => self.show_debugger(),
                    (SupervisorToken::Keyboard, Some(keyboard)) => keyboard.read(),
                    (SupervisorToken::Rank, Some(keyboard)) => keyboard.write(),
                    (SupervisorToken::Keyboard | SupervisorToken::Rank, None) => {}
                }
            }
            self.keyboard.take_if(|keyboard| keyboard.is_over());
        }
    }

    fn wait(&self) -> io::Result<Vec<SupervisorToken>> {
        let mut set = PollSet::default();
        set.add_read(self.signals.as_fd(), SupervisorToken::Signals);
        if let Some(processes) = self.listener.as_fd() {
            set.add_read(processes, SupervisorToken::Processes);
        }
        let timeout = self.keyboard.as_ref().and_then(|keyboard| keyboard.interests(&mut set));
        set.wait(timeout)
    }

    fn forward(&mut self) {
        while let Some(signal) = self.signals.take() {
            if signal == signals::CHLD {
                continue;
            }
            process::signal_process(self.runner, signal);
            if signal == signals::TSTP {
                signals::stop_self();
            }
        }
    }

    /// The ranks have started: from now on a debugger finds them.
    fn show_debugger(&mut self) {
        let Some(pids) = self.listener.receive() else { return };
        let host = host::name();
        let processes =
            pids.into_iter().zip(self.plan.app_of_rank()).map(|(pid, app)| DebuggedProcess {
                host: host.clone(),
                program: self.plan.apps[app as usize].program.clone(),
                pid,
            });
        self.debugger.show(&processes.collect::<Vec<_>>());
        self.listener.release();
    }

    /// How the runner ended, once it has. Collects whatever else ended below this process.
    fn runner_exit(&self) -> Option<Exit> {
        loop {
            match process::reap() {
                Reap::Ended(pid, exit) if pid == self.runner => return Some(exit),
                Reap::Ended(..) => {}
                Reap::Running => return None,
                Reap::Childless => return Some(Exit::Code(1)),
            }
        }
    }
}

/// Kills what a killed runner left; a runner that ended by itself left nothing.
fn end_leftovers() {
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

/// A terminal on its way to the ranks.
struct Keyboard {
    terminal: File,
    rank: File,
    pending: Vec<u8>,
    /// No more comes, or nobody wants it.
    ended: bool,
}

impl Keyboard {
    /// The standard input for the ranks, and the keyboard to serve if there is one.
    fn open(input: io::Stdin) -> io::Result<(OwnedFd, Option<Self>)> {
        let terminal = input.as_fd().try_clone_to_owned()?;
        if !input.is_terminal() {
            return Ok((terminal, None));
        }
        let (read, write) = descriptor::pipe()?;
        descriptor::set_nonblocking(&write)?;
        let (terminal, rank) = (terminal.into(), write.into());
        Ok((read, Some(Self { terminal, rank, pending: Vec::new(), ended: false })))
    }

    /// Adds what to wait for, and says how long at most.
    fn interests<'a>(&'a self, set: &mut PollSet<'a, SupervisorToken>) -> Option<Duration> {
        if !self.pending.is_empty() {
            set.add_write(self.rank.as_fd(), SupervisorToken::Rank);
            return None;
        }
        if process::in_foreground(self.terminal.as_fd()) {
            set.add_read(self.terminal.as_fd(), SupervisorToken::Keyboard);
            return None;
        }
        Some(KEYBOARD_INTERVAL)
    }

    fn read(&mut self) {
        let mut buffer = [0; 4096];
        match self.terminal.read(&mut buffer) {
            Ok(0) => self.ended = true,
            Ok(count) => {
                self.pending.extend_from_slice(&buffer[..count]);
                self.write();
            }
            Err(error) if descriptor::is_transient(&error) => {}
            Err(_) => self.ended = true,
        }
    }

    fn write(&mut self) {
        match self.rank.write(&self.pending) {
            Ok(count) => drop(self.pending.drain(..count)),
            Err(error) if descriptor::is_transient(&error) => {}
            Err(_) => {
                self.pending.clear();
                self.ended = true;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.ended && self.pending.is_empty()
    }
}
