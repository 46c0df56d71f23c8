//! Runs a command, or several together, to the end, to a time limit, or to an interrupt by the user; then
//! the command and all processes that it started are ended. Its output goes to a file, complete or not.
//!
//! Launchers put ranks into sessions and groups of their own, so neither the group nor the parent
//! identifies the processes of a job. A variable of the environment does: launchers pass it on.

use std::{
    fs::{self, File},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Interval at which a running job is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The time that a launcher has to end its ranks before all are killed.
const GRACE: Duration = Duration::from_secs(3);

/// The time that jobs have to end after one that they belong to has failed.
const FAILURE_GRACE: Duration = Duration::from_secs(8);

/// The variable of all processes of a job; its value differs between jobs.
const MARK: &str = "NPB_JOB";

/// Whether the user has interrupted the program (`SIGINT`, `SIGTERM`, `SIGHUP`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on, such a signal ends the running job and not this process.
    ///
    /// # Errors
    /// The signals cannot be caught.
    pub(crate) fn on_signals() -> Result<Self, String> {
        let stop = Self::default();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            signal_hook::flag::register(signal as i32, Arc::clone(&stop.0))
                .map_err(|error| format!("cannot catch {signal}: {error}"))?;
        }
        Ok(stop)
    }

    /// Whether a signal has arrived.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// The number of lines of a log in the reason of a failure.
const REASON_LINES: usize = 3;

/// The reason, and the first lines of the log with an error or a failure, or its last lines.
pub(crate) fn explained(why: &str, log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let is_error = |line: &&&str| {
        let line = line.to_lowercase();
        ["error", "fail", "cannot", "undefined"].iter().any(|word| line.contains(word))
    };
    let mut telling: Vec<_> = lines.iter().filter(is_error).take(REASON_LINES).copied().collect();
    if telling.is_empty() {
        telling = lines[lines.len().saturating_sub(REASON_LINES)..].to_vec();
    }
    [&[why][..], &telling].concat().join("\n")
}

/// Runs the command with its output and errors in the file `log`; their text.
///
/// # Errors
/// The command cannot be started, fails, or is ended after `limit` or by `stop`. Its output is in
/// `log`.
pub(crate) fn run(
    command: Command, log: &Path, limit: Duration, stop: &Stop,
) -> Result<String, String> {
    let status = finish(command, log, limit, stop)?;
    let bytes = fs::read(log).map_err(|error| format!("cannot read {}: {error}", log.display()))?;
    if status.success() {
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    } else {
        Err(status.to_string())
    }
}

fn finish(
    command: Command, log: &Path, limit: Duration, stop: &Stop,
) -> Result<ExitStatus, String> {
    let mut together = Together::default();
    together.start(command, log)?;
    let statuses = together.wait(limit, stop)?;
    Ok(statuses[0])
}

/// Commands that run together, as the jobs of one world. Dropping it ends them and all processes that they
/// started.
pub(crate) struct Together {
    mark: String,
    children: Vec<Child>,
}

impl Default for Together {
    fn default() -> Self {
        static JOBS: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", std::process::id(), JOBS.fetch_add(1, Relaxed));
        Self { mark, children: Vec::new() }
    }
}

impl Together {
    /// Starts one more command, with its output and errors in the file `log`.
    ///
    /// # Errors
    /// It cannot be started, or the file cannot be written.
    pub(crate) fn start(&mut self, mut command: Command, log: &Path) -> Result<(), String> {
        let unwritable = |error| format!("cannot write {}: {error}", log.display());
        let out = File::create(log).map_err(unwritable)?;
        let errors = out.try_clone().map_err(unwritable)?;
        command.env(MARK, &self.mark).stdin(Stdio::null()).stdout(out).stderr(errors);
        let child = command.spawn().map_err(|error| {
            format!("cannot start {}: {error}", command.get_program().display())
        })?;
        self.children.push(child);
        Ok(())
    }

    /// Waits until all have ended; how, in the order of their start. After the failure of one, the others
    /// have a short time to end.
    ///
    /// # Errors
    /// They are ended after `limit` or by `stop`.
    pub(crate) fn wait(mut self, limit: Duration, stop: &Stop) -> Result<Vec<ExitStatus>, String> {
        let mut end = Instant::now() + limit;
        let mut why = format!("still running after {} s", limit.as_secs());
        let mut statuses = vec![None; self.children.len()];
        loop {
            for (index, child) in self.children.iter_mut().enumerate() {
                let status = child.try_wait().map_err(|error| error.to_string())?;
                if statuses[index].is_none() && status.is_some_and(|status| !status.success()) {
                    end = end.min(Instant::now() + FAILURE_GRACE);
                    why = format!("job {index} of the world failed, and others did not end");
                }
                statuses[index] = status;
            }
            if let Some(all) = statuses.iter().copied().collect() {
                return Ok(all);
            }
            if stop.is_interrupted() {
                return Err("interrupted".to_owned());
            }
            if Instant::now() >= end {
                return Err(why);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Those that have not ended: the numbers of the others may be those of other processes by now.
    fn running(&mut self) -> impl Iterator<Item = &mut Child> {
        self.children.iter_mut().filter_map(|child| {
            let is_running = child.try_wait().is_ok_and(|status| status.is_none());
            is_running.then_some(child)
        })
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        if self.running().next().is_none() {
            return;
        }
        for child in self.running() {
            // The process may have ended meanwhile; its number is free only after a wait.
            let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
        }
        let last = Instant::now() + GRACE;
        while Instant::now() < last && self.running().next().is_some() {
            thread::sleep(POLL_INTERVAL);
        }
        end_all(&self.mark);
        for child in &mut self.children {
            let _ = child.wait();
        }
    }
}

/// Kills every process with that mark until none is left or a timeout expires.
fn end_all(mark: &str) {
    let entry = format!("{MARK}={mark}");
    let last = Instant::now() + GRACE;
    while Instant::now() < last {
        let marked = marked(&entry);
        if marked.is_empty() {
            return;
        }
        for pid in marked {
            // The process may have ended meanwhile.
            let _ = kill(pid, Signal::SIGKILL);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// The processes whose environment has that entry. Zombies have no environment.
fn marked(entry: &str) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
    let has_mark = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|it| it == entry.as_bytes())
    };
    numbers.filter(has_mark).map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use std::{env, path::PathBuf};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn log(name: &str) -> PathBuf {
        env::temp_dir().join(format!("npb-job-{name}-{}", std::process::id()))
    }

    #[test]
    fn output_is_that_of_the_command() {
        let log = log("output");
        let output = run(shell("echo hello; echo oh >&2"), &log, LONG, &Stop::default());
        assert_eq!(output, Ok("hello\noh\n".to_owned()));
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn a_failure_has_its_status_and_leaves_its_output() {
        let log = log("failure");
        let error = run(shell("echo hello; exit 3"), &log, LONG, &Stop::default()).unwrap_err();
        assert_eq!(error, "exit status: 3");
        assert_eq!(fs::read_to_string(&log).unwrap(), "hello\n");
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn a_reason_has_the_end_of_the_log() {
        let log = log("reason");
        fs::write(&log, "one\ntwo\n\nthree\nfour\n").unwrap();
        assert_eq!(explained("no", &log), "no\ntwo\nthree\nfour");
        fs::write(&log, "one\na.c:1: fatal error: two\nthree\n").unwrap();
        assert_eq!(explained("no", &log), "no\na.c:1: fatal error: two");
        fs::remove_file(&log).unwrap();
        assert_eq!(explained("no", &log), "no");
    }

    #[test]
    fn a_command_that_exceeds_its_limit_is_killed_with_its_descendants() {
        let log = log("endless");
        let script = "setsid sh -c 'sleep 1000; true' & echo $!; trap '' TERM; sleep 1000; true";
        let error = run(shell(script), &log, POLL_INTERVAL * 50, &Stop::default()).unwrap_err();
        assert!(error.starts_with("still running"), "{error}");
        let background = fs::read_to_string(&log).unwrap().trim().to_owned();
        let environment = fs::read(format!("/proc/{background}/environ")).unwrap_or_default();
        assert!(environment.is_empty(), "process {background} still runs");
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn commands_that_run_together_end_together() {
        let logs = [log("first"), log("second")];
        let both = |scripts: [&str; 2]| {
            let mut together = Together::default();
            scripts.iter().zip(&logs).for_each(|(it, log)| together.start(shell(it), log).unwrap());
            together.wait(POLL_INTERVAL * 20, &Stop::default())
        };
        let codes = both(["exit 0", "echo a; exit 3"]).unwrap();
        assert_eq!(codes.iter().map(ExitStatus::code).collect::<Vec<_>>(), [Some(0), Some(3)]);
        assert_eq!(fs::read_to_string(&logs[1]).unwrap(), "a\n");
        let error = both(["echo $$; exec sleep 1000", "exit 0"]).unwrap_err();
        assert!(error.starts_with("still running"), "{error}");
        let process = fs::read_to_string(&logs[0]).unwrap().trim().to_owned();
        assert!(!Path::new("/proc").join(&process).exists(), "process {process} still runs");
        logs.iter().for_each(|log| fs::remove_file(log).unwrap());
    }

    #[test]
    fn a_command_ends_at_an_interrupt() {
        let log = log("interrupted");
        let stop = Stop::default();
        stop.0.store(true, Relaxed);
        let error = run(shell("exec sleep 1000"), &log, LONG, &stop).unwrap_err();
        assert_eq!(error, "interrupted");
        fs::remove_file(log).unwrap();
    }
}
