//! One job: `mpirun` with this program as its ranks, ended after a time limit or by a signal.
//!
//! `mpirun` ends with this process, and its ranks with it ([`platform::sys::process`]): nothing remains if
//! this process is killed. A signal that asks this process to end first ends the job.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use platform::base::settings::COLLECTIVE_PREFIX;
use platform::sys::process;
use platform::sys::process::{ChildProgram, Exit, Reap};
use platform::sys::signals;
use platform::sys::signals::Signals;

use crate::measure::MeasuredLine;
use crate::plan::{JobLayout, TunedCall};

/// The subcommand that makes this program a rank.
pub const MEASURE: &str = "measure";

/// Interval at which a job is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The time that `mpirun` has to end its ranks before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// Lines of a failed job that are shown, at most.
const SHOWN_LINES: usize = 8;

/// What starts jobs.
#[derive(Debug)]
pub struct JobStarter {
    mpirun: PathBuf,
    /// Options of the user for `mpirun`.
    options: Vec<OsString>,
    /// This program.
    program: PathBuf,
    signals: Signals,
}

/// A job to run.
#[derive(Clone, Debug)]
pub struct MeasuringJob<'a> {
    /// Number of ranks.
    pub ranks: u32,
    /// What is measured.
    pub calls: &'a [TunedCall],
    /// Time for each call, in seconds.
    pub seconds: f64,
    /// `SUIRO_COLL_*` and their values; no others are set.
    pub settings: &'a [(String, OsString)],
    /// After this time the job has failed.
    pub limit: Duration,
}

/// What the ranks have found.
#[derive(Clone, Debug, PartialEq)]
pub struct JobResult {
    /// Where they are.
    pub layout: JobLayout,
    /// The time of each call, in seconds.
    pub times: Vec<(TunedCall, f64)>,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFailure {
    /// The job failed, with this reason.
    Failed(String),
    /// This signal asked this process to end.
    Interrupted(i32),
}

impl JobStarter {
    /// A starter of jobs by `mpirun` with the options of the user. Signals are for its jobs from now on.
    ///
    /// # Errors
    /// Those of the system for the path of this program and for signals.
    pub fn new(mpirun: PathBuf, options: Vec<OsString>) -> io::Result<Self> {
        let signals = Signals::block(&[signals::INT, signals::TERM, signals::HUP])?;
        Ok(Self { mpirun, options, program: env::current_exe()?, signals })
    }

    /// The arguments of `mpirun`.
    fn arguments(&self, job: &MeasuringJob<'_>) -> Vec<OsString> {
        let count = ["-n".into(), job.ranks.to_string().into()];
        let program = [self.program.clone().into(), MEASURE.into(), job.seconds.to_string().into()];
        let calls = job.calls.iter().map(|call| call.to_string().into());
        self.options.iter().cloned().chain(count).chain(program).chain(calls).collect()
    }

    /// The command of a job without its calls, for users.
    pub fn shown(&self, ranks: u32) -> String {
        let options = self.options.iter().map(|option| format!(" {}", option.to_string_lossy()));
        format!("mpirun{} -n {ranks}", options.collect::<String>())
    }

    /// Runs a job to its end.
    ///
    /// # Errors
    /// If the job cannot be started, fails, or does not end in time; if this process is asked to end.
    pub fn run(&self, job: &MeasuringJob<'_>) -> Result<JobResult, JobFailure> {
        let failed = |error: io::Error| {
            JobFailure::Failed(format!("cannot start {}: {error}", self.mpirun.display()))
        };
        let (output, output_end) = io::pipe().map_err(failed)?;
        let (errors, errors_end) = io::pipe().map_err(failed)?;
        let input = File::open("/dev/null").map_err(failed)?;
        let pid = process::spawn(ChildProgram {
            name: self.mpirun.as_os_str(),
            arguments: &self.arguments(job),
            environment: &environment(job.settings),
            directory: None,
            streams: [OwnedFd::from(input), output_end.into(), errors_end.into()],
            inherited: &[],
            file_limit: None,
            processors: None,
        })
        .map_err(failed)?;
        let (output, errors) = (reader(output), reader(errors));
        let end = self.wait(pid, job.limit);
        let [output, errors] = [output, errors].map(|text| text.join().unwrap_or_default());
        match end? {
            Exit::Code(0) => result(&output),
            exit => {
                let shown: Vec<&str> = errors.lines().take(SHOWN_LINES).collect();
                let why = format!("the job ended with code {}: {}", exit.code(), shown.join("\n"));
                Err(JobFailure::Failed(why))
            }
        }
    }

    /// Waits until `mpirun` has ended by itself, by the limit, or by a signal to this process.
    fn wait(&self, pid: u32, limit: Duration) -> Result<Exit, JobFailure> {
        let begin = Instant::now();
        loop {
            if let Some(exit) = ended(pid) {
                return Ok(exit);
            }
            let signal = self.signals.take();
            if signal.is_some() || begin.elapsed() > limit {
                end(pid);
                let late = format!("the job did not end in {} s", limit.as_secs());
                return Err(signal.map_or(JobFailure::Failed(late), JobFailure::Interrupted));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The environment without settings of collective operations, and with those of a job.
fn environment(settings: &[(String, OsString)]) -> Vec<(OsString, OsString)> {
    let own =
        env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with(COLLECTIVE_PREFIX));
    let of_job = settings.iter().map(|(name, value)| (name.into(), value.clone()));
    own.chain(of_job).collect()
}

/// Reads a stream to its end, so that its writer never waits.
fn reader(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    let read = move || {
        let mut bytes = Vec::new();
        // What was read before an error is shown.
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    // Signals are for the thread that waits.
    signals::without(|| thread::spawn(read))
}

/// How the child has ended, if it has.
fn ended(pid: u32) -> Option<Exit> {
    match process::reap() {
        Reap::Ended(child, exit) if child == pid => Some(exit),
        Reap::Ended(..) | Reap::Running => None,
        Reap::Childless => Some(Exit::Signal(signals::KILL)),
    }
}

/// Ends a job: `mpirun` ends its ranks, or they end with it.
fn end(pid: u32) {
    process::signal_process(pid, signals::TERM);
    let begin = Instant::now();
    let mut is_killed = false;
    while ended(pid).is_none() {
        if !is_killed && begin.elapsed() > GRACE {
            process::signal_process(pid, signals::KILL);
            is_killed = true;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn result(output: &str) -> Result<JobResult, JobFailure> {
    let (mut layout, mut times) = (None, Vec::new());
    for line in output.lines().filter_map(MeasuredLine::parse) {
        match line {
            MeasuredLine::Layout(found) => layout = Some(found),
            MeasuredLine::Time(call, seconds) => times.push((call, seconds)),
        }
    }
    match layout {
        Some(layout) => Ok(JobResult { layout, times }),
        None => Err(JobFailure::Failed(format!("the job printed no result: {output}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_needs_a_layout() {
        let text = "noise\n[0] suiro-tune layout 4 2\nsuiro-tune time bcast:8 1e-6\n";
        let found = result(text).unwrap();
        assert_eq!(found.layout, JobLayout { ranks: 4, ranks_per_host: 2 });
        assert_eq!(found.times.len(), 1);
        assert!(matches!(result("noise"), Err(JobFailure::Failed(why)) if why.contains("noise")));
    }
}
