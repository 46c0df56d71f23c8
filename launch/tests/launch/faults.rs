//! Injects every fault of a table into a job of three ranks that reduce in a loop: the job ends with the
//! expected code and message, or succeeds if it should, and no process and no file is left.

use std::env;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::harness::{
    Outcome, Running, compiled, files, folder, mpirun, nothing_new, quoted, ranks, signal_process,
    start, until,
};

/// A fault of a running job.
enum Fault {
    /// Rank 1 gets this signal.
    Rank(&'static str),
    /// The supervisor process gets this signal.
    Supervisor(&'static str),
    /// The job loop process gets this signal.
    JobLoop(&'static str),
}

/// A fault, the exit code (none: a signal killed mpirun itself), and a part of the message.
type Case = (Fault, Option<i32>, &'static str);

const CASES: &[Case] = &[
    (Fault::Rank("KILL"), Some(137), "mpirun: rank 1 (process "),
    (Fault::Rank("SEGV"), Some(139), "was killed by signal 11 (SIGSEGV)"),
    (Fault::Rank("TERM"), Some(143), "was killed by signal 15 (SIGTERM)"),
    (Fault::Supervisor("INT"), Some(130), ""),
    (Fault::Supervisor("TERM"), Some(143), ""),
    (Fault::Supervisor("HUP"), Some(129), ""),
    (Fault::Supervisor("KILL"), None, "the supervisor process of mpirun was killed"),
    (Fault::JobLoop("KILL"), Some(137), "the job loop process "),
];

#[test]
fn every_fault_ends_the_job_at_once_with_its_code() {
    let program = compiled("allreduce");
    for (fault, code, words) in CASES {
        let before = files();
        let running = start(mpirun(&["-n", "3", &program]));
        ready(&running);
        let job = running.processes();
        let (victim, signal) = match fault {
            Fault::Rank(signal) => (ranks(&running)[&1], signal),
            Fault::Supervisor(signal) => (running.pid(), signal),
            Fault::JobLoop(signal) => (running.job_loop(), signal),
        };
        let begin = Instant::now();
        signal_process(victim, signal);
        let (took, outcome) = running.wait_from(begin);
        println!("SIG{signal} to {victim} of {job:?}: ended after {took:.0?}");
        in_time(took);
        assert_eq!(outcome.code, *code, "SIG{signal}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "SIG{signal}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), usize::from(!words.is_empty()));
        nothing_new(&before, &job);
    }
}

/// `SUIRO_KILL_LIMIT_MS` limits the time for ending a job; see `scripts/kill-test`.
fn in_time(took: Duration) {
    let limit = env::var("SUIRO_KILL_LIMIT_MS").ok().and_then(|text| text.parse().ok());
    let limit = limit.map_or(Duration::MAX, Duration::from_millis);
    assert!(took <= limit, "the job took {took:?} to end");
}

#[test]
fn failed_outputs_end_the_job() {
    let program = compiled("allreduce");
    let begin = Instant::now();
    let mut command = mpirun(&["-n", "3", &program]);
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let (took, outcome) = start(command).wait_from(begin);
    println!("a full disk: ended after {took:.0?}");
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("cannot write standard output: No space left"),
        "{}",
        outcome.stderr
    );

    let mut command = mpirun(&["-n", "3", &program]);
    let (read, write) = std::io::pipe().unwrap();
    command.stdout(Stdio::from(write));
    let running = start(command);
    until(|| Some(ranks(&running).len()).filter(|count| *count == 3));
    let begin = Instant::now();
    drop(read);
    let (took, outcome) = running.wait_from(begin);
    println!("a reader that goes: ended after {took:.0?}");
    assert_eq!((outcome.code, &*outcome.stderr), (Some(141), ""));
}

/// Runs `mpirun -n 3 program 50` in a shell after the commands of `preparation`.
fn prepared(program: &str, preparation: &str) -> Outcome {
    start(shell(&format!("{preparation}; {}", fifty_rounds(program)))).wait()
}

/// The shell's command for `mpirun -n 3 program 50`.
fn fifty_rounds(program: &str) -> String {
    format!("exec {} -n 3 {} 50", quoted(env!("CARGO_BIN_EXE_mpirun")), quoted(program))
}

/// A shell, marked as `mpirun` is.
fn shell(script: &str) -> Command {
    let marked = mpirun(&[""; 0]);
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.envs(marked.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn went_well(outcome: &Outcome, under: &str) {
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{under}");
    assert_eq!(outcome.text().matches("finished").count(), 3, "{under}");
}

#[test]
fn small_limits_suffice_or_are_named() {
    let program = compiled("allreduce");
    for enough in ["ulimit -n 64", "ulimit -l 0", "ulimit -c 0", "ulimit -s 256"] {
        went_well(&prepared(&program, enough), enough);
    }
    // Too few descriptors or too little memory: one line, immediately, and a code.
    for (too_little, words) in [
        ("ulimit -n 12", "Too many open files"),
        ("ulimit -n 20", "each rank takes four files of mpirun (ulimit -n)"),
        ("ulimit -f 0", "files are limited to 0 bytes (ulimit -f)"),
        ("ulimit -v 40000", "Cannot allocate memory"),
    ] {
        let outcome = prepared(&program, too_little);
        if outcome.code == Some(0) {
            went_well(&outcome, too_little);
            continue;
        }
        assert!(outcome.code.is_some(), "{too_little}");
        assert!(outcome.stderr.contains(words), "{too_little}: {}", outcome.stderr);
        assert!(
            (1..=6).contains(&outcome.stderr.lines().count()),
            "{too_little}: {}",
            outcome.stderr
        );
    }
}

/// Runs a job with the file systems of `mounts`, if this system permits that.
fn mounted(job: &str, mounts: &str) -> Option<Outcome> {
    let script = quoted(&format!("{mounts} || exit 99; {job}"));
    let outcome = start(shell(&format!("exec unshare -Urm sh -c {script}"))).wait();
    let refused = outcome.stderr.contains("unshare") || outcome.code == Some(99);
    (!refused).then_some(outcome)
}

#[test]
fn read_only_full_and_missing_file_systems_do_not_matter() {
    let program = compiled("allreduce");
    let scratch = quoted(folder("allreduce-scratch").to_str().unwrap());
    let full = |folder: &str| {
        format!(
            "mount -t tmpfs -o size=4k none {folder} && ! head -c 9000 /dev/zero >{folder}/x 2>&-"
        )
    };
    let read_only = |folder: &str| {
        format!("mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}")
    };
    for mounts in [
        read_only("/tmp"),
        read_only("/dev/shm"),
        full("/dev/shm"),
        format!("{} && export TMPDIR={scratch}", full(&scratch)),
        "export TMPDIR=/nowhere".to_owned(),
        "mount -t tmpfs -o ro none /proc/sys".to_owned(),
        "mount -t tmpfs -o ro none /sys".to_owned(),
    ] {
        match mounted(&fifty_rounds(&program), &mounts) {
            Some(outcome) => went_well(&outcome, &mounts),
            None => println!("skipped, not permitted on this system: {mounts}"),
        }
    }
}

#[test]
fn a_full_file_system_is_an_error_of_all_ranks_that_access_a_file() {
    let (mpirun, program) = (quoted(env!("CARGO_BIN_EXE_mpirun")), quoted(&compiled("full_disk")));
    let small = quoted(folder("full-disk").to_str().unwrap());
    let job = format!("exec {mpirun} -n 3 {program} {small} 1048576");
    match mounted(&job, &format!("mount -t tmpfs -o size=1m none {small}")) {
        Some(outcome) => assert_eq!((outcome.code, outcome.text()), (Some(0), "errors = 0\n")),
        None => println!("skipped: this system permits no mounts"),
    }
}

#[test]
fn a_temporarily_stopped_rank_is_no_error() {
    let running = start(mpirun(&["-n", "3", &compiled("allreduce")]));
    ready(&running);
    let victim = ranks(&running)[&2];
    signal_process(victim, "STOP");
    let seconds = env::var("SUIRO_STOP_S").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    std::thread::sleep(Duration::from_secs(seconds));
    let before = running.until_output(|text| Some(text.len()));
    signal_process(victim, "CONT");
    running.until_output(|text| (text.len() > before).then_some(()));
    running.signal("TERM");
    let outcome = running.wait();
    assert_eq!((outcome.code, &*outcome.stderr), (Some(143), ""));
}

/// `SUIRO_JOBS` makes it more than 30 jobs.
#[test]
fn consecutive_jobs_are_independent() {
    let program = compiled("allreduce");
    let jobs = env::var("SUIRO_JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    let before = files();
    for _ in 0..jobs {
        went_well(&start(mpirun(&["-n", "3", &program, "2"])).wait(), "one of many jobs");
    }
    nothing_new(&before, &[]);
}

fn ready(running: &Running) {
    running.until_output(|text| (text.matches("ready").count() == 3).then_some(()));
}
