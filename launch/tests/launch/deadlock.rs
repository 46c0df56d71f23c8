//! `SUIRO_DEADLOCK` and `SUIRO_HANG_REPORT`: deadlocks are reported, and nothing else is.

use std::process::Command;

use super::harness::{
    Outcome, Running, compiled, mpirun, ranks, signal_process, start, state, until,
};

const VERDICT: &str = "Suiro: no rank can go on: all of them wait for each other\n";

/// Each program with its ranks, and texts in the order of the report.
const DEADLOCKS: &[(&str, &str, &[&str])] = &[
    (
        "receive",
        "2",
        &[
            "  rank 0: MPI_Recv(source 1, tag 7, up to 4 bytes, MPI_COMM_WORLD) for ",
            "  rank 1: MPI_Recv(source 0, tag 7, up to 4 bytes, MPI_COMM_WORLD) for ",
            "  deadlock: rank 0 in MPI_Recv(source 1, ",
            " <- rank 1 in MPI_Recv(source 0, ",
            " <- rank 0\n",
        ],
    ),
    ("send", "2", &["  rank 0: MPI_Send(dest 1, tag 8, 1048576 bytes, ", "  deadlock: rank 0 in"]),
    (
        "ring",
        "3",
        &["  deadlock: rank 0 in MPI_Ssend(", " <- rank 1 in ", " <- rank 2 in ", " <- rank 0\n"],
    ),
    ("waitany", "2", &["  ranks 0,1: MPI_Waitany of 2 requests: ", "  deadlock: rank 0 in"]),
    ("waitsome", "2", &["  ranks 0,1: MPI_Waitsome of 2 requests: ", "  deadlock: rank 0 in"]),
    ("wildcard", "3", &["  ranks 0-2: MPI_Recv(any source, tag 7, ", "  deadlock: rank 0 in"]),
    ("probe", "2", &["  rank 0: MPI_Probe(source 1, tag 3, ", "  deadlock: rank 0 in"]),
    ("barrier", "2", &["rank 0: MPI_Barrier(", "rank 1: MPI_Recv(source 0", "  deadlock: rank 0"]),
    (
        "short-long",
        "2",
        &["rank 0: MPI_Finalize(MPI_COMM_WORLD, call ", "rank 1: MPI_Bcast(", "  deadlock: rank 0"],
    ),
    (
        "long-short",
        "2",
        &[
            "rank 0: MPI_Bcast(MPI_COMM_WORLD, call 2) for",
            "rank 1: MPI_Bcast(MPI_COMM_WORLD, call 2, 20000 bytes in shared memory) for",
            "  all are in the same MPI_Bcast, so their arguments do not match",
            "  deadlock: rank 0 in MPI_Bcast(",
        ],
    ),
    ("inter", "2", &["  ranks 0,1: MPI_Recv(remote source 0, tag 9, ", "  deadlock: rank 0 in"]),
    ("finalize", "2", &["rank 0: MPI_Recv(", "rank 1: MPI_Finalize(", "  deadlock: rank 0 in"]),
    (
        "alone",
        "1",
        &["  rank 0: MPI_Recv(source 0, tag 7", "  deadlock: rank 0 in", " <- rank 0\n"],
    ),
    (
        "locks",
        "3",
        &[
            ": MPI_Win_lock on an unnamed window: ",
            "  rank 2: MPI_Barrier(",
            "  deadlock: rank 0 in MPI_Win_lock on an unnamed window: ",
        ],
    ),
    (
        "posts",
        "2",
        &[
            "  rank 0: MPI_Win_start on an unnamed window: MPI_Win_post of rank 1 for ",
            "  rank 1: MPI_Win_fence(",
            "  deadlock: rank 0 in MPI_Win_start",
        ],
    ),
    ("session", "2", &["  rank 0: MPI_Recv(", "  rank 1: ended\n", "waits for rank 1, which has"]),
];

/// Programs with long waits that complete, with their ranks.
const SLOW: &[(&str, &str)] = &[
    ("compute", "2"),
    ("sleep", "3"),
    ("sleep", "8"),
    ("callback", "2"),
    ("threads", "2"),
    ("flood", "2"),
    ("test-loop", "2"),
];

/// `mpirun` of this program.
fn job(program: &str, count: &str, what: &str) -> Command {
    mpirun(&["-n", count, program, what])
}

/// As [`job`] under another launcher: without a status table and a segment.
fn foreign_job(program: &str, count: &str, what: &str) -> Command {
    let hidden = ["env", "-u", "SUIRO_STATUS_FD", "-u", "SUIRO_SEGMENT_FD"];
    mpirun(&[&["-n", count][..], &hidden, &[program, what]].concat())
}

/// `command` with TCP between the ranks.
fn by_tcp(mut command: Command) -> Command {
    command.env("SUIRO_DEVICE", "tcp");
    command
}

fn aborting(mut command: Command) -> Command {
    command.env("SUIRO_DEADLOCK", "abort");
    command
}

/// All of `wanted` are in the text, in this order.
fn expect(text: &str, wanted: &[&str]) {
    let mut rest = text;
    for words in wanted {
        let at =
            rest.find(words).unwrap_or_else(|| panic!("no {words:?} at its position in\n{text}"));
        rest = &rest[at + words.len()..];
    }
}

/// The deadlock was reported once, and ended the job.
fn expect_end(outcome: &Outcome, wanted: &[&str]) {
    assert_eq!(outcome.code, Some(35), "{}", outcome.stderr);
    expect(&outcome.stderr, &[VERDICT]);
    expect(&outcome.stderr, wanted);
    let end = "aborted the job with code 35: no rank can go on (SUIRO_DEADLOCK=abort)";
    expect(&outcome.stderr, &[end]);
    assert_eq!(outcome.stderr.matches(VERDICT).count(), 1, "{}", outcome.stderr);
}

fn all(jobs: impl IntoIterator<Item = Command>) -> Vec<Outcome> {
    let running: Vec<_> = jobs.into_iter().map(start).collect();
    running.into_iter().map(Running::wait).collect()
}

#[test]
fn deadlocks_are_reported_and_end_the_job() {
    let program = compiled("deadlock");
    let jobs = DEADLOCKS.iter().map(|(what, count, _)| aborting(job(&program, count, what)));
    for ((what, _, wanted), outcome) in DEADLOCKS.iter().zip(all(jobs)) {
        eprintln!("{what}");
        expect_end(&outcome, wanted);
    }
}

#[test]
fn a_lock_that_is_never_left_names_the_ranks_before() {
    let outcome = start(aborting(job(&compiled("deadlock"), "3", "locks"))).wait();
    let wanted =
        ["the lock of rank 2, behind rank 1 for ", "the lock of rank 2, behind rank 0 for "];
    expect_end(&outcome, &wanted);
}

#[test]
fn deadlocks_are_detected_without_the_launchers_help() {
    let program = compiled("deadlock");
    let ours = ["receive", "ring", "long-short", "session"];
    let cases: Vec<_> = DEADLOCKS.iter().filter(|(what, ..)| ours.contains(what)).collect();
    let jobs = cases.iter().map(|(what, count, _)| aborting(foreign_job(&program, count, what)));
    for ((_, _, wanted), outcome) in cases.iter().zip(all(jobs)) {
        expect_end(&outcome, wanted);
    }
}

#[test]
fn deadlocks_over_tcp_are_reported_and_end_the_job() {
    let program = compiled("deadlock");
    // Without shared memory a wrong amount of data is an error.
    let wrong_amounts = ["short-long", "long-short"];
    let cases = || DEADLOCKS.iter().filter(|(what, ..)| !wrong_amounts.contains(what));
    let jobs = cases().map(|(what, count, _)| aborting(by_tcp(job(&program, count, what))));
    for ((what, _, wanted), outcome) in cases().zip(all(jobs)) {
        eprintln!("{what}");
        expect_end(&outcome, wanted);
    }
}

#[test]
fn deadlocks_are_detected_in_every_wait_and_progress_mode() {
    let program = compiled("deadlock");
    let ways = [("WAIT", "spin"), ("WAIT", "yield"), ("WAIT", "sleep"), ("PROGRESS", "thread")];
    let jobs = ways.map(|(name, value)| {
        let mut command = aborting(job(&program, "2", "receive"));
        command.env(format!("SUIRO_{name}"), value);
        command
    });
    all(jobs).iter().for_each(|outcome| expect_end(outcome, &["  rank 0: ", "  rank 1: "]));
}

#[test]
fn by_default_a_deadlock_is_reported_and_the_job_continues() {
    let running = start(job(&compiled("deadlock"), "2", "receive"));
    let end = "SUIRO_DEADLOCK=abort ends such a job\n";
    running.until_errors(|text| text.contains(end).then_some(()));
    running.signal("TERM");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(143));
    expect(&outcome.stderr, &[VERDICT, "  deadlock: rank 0 in MPI_Recv(", end]);
}

#[test]
fn with_threads_a_deadlock_is_reported_and_never_ends_the_job() {
    let program = compiled("deadlock");
    let running = start(aborting(job(&program, "2", "threads-wait")));
    let end = "the job goes on, as threads may call MPI at any time (MPI_THREAD_MULTIPLE)\n";
    running.until_errors(|text| text.contains(end).then_some(()));
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(143));
}

#[test]
fn long_waits_are_not_reported_as_deadlocks() {
    let program = compiled("deadlock");
    let mut cases: Vec<_> =
        SLOW.iter().map(|(what, count)| (*what, job(&program, count, what))).collect();
    for (name, value) in [("WAIT", "yield"), ("PROGRESS", "thread")] {
        let mut command = job(&program, "2", "sleep");
        command.env(format!("SUIRO_{name}"), value);
        cases.push((value, command));
    }
    cases.push(("foreign", foreign_job(&program, "3", "sleep")));
    let over_tcp = SLOW.iter().map(|(what, count)| (*what, by_tcp(job(&program, count, what))));
    cases.extend(over_tcp);
    let (names, jobs): (Vec<_>, Vec<_>) = cases.into_iter().map(|(n, c)| (n, aborting(c))).unzip();
    for (name, outcome) in names.iter().zip(all(jobs)) {
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{name}");
    }
}

#[test]
fn a_stopped_rank_is_not_reported_as_deadlocked() {
    let program = compiled("deadlock");
    let running = start(aborting(job(&program, "2", "stopped")));
    let victim = until(|| ranks(&running).get(&1).copied());
    std::thread::sleep(std::time::Duration::from_millis(600));
    signal_process(victim, "STOP");
    until(|| (state(victim) == Some('T')).then_some(()));
    std::thread::sleep(std::time::Duration::from_millis(1800));
    signal_process(victim, "CONT");
    let outcome = running.wait();
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
}

#[test]
fn operations_that_the_application_may_complete_are_no_deadlock() {
    let program = compiled("deadlock");
    let outcome =
        start(aborting(mpirun(&["-n", "2", "--timeout", "2", &program, "generalized"]))).wait();
    assert_eq!(outcome.code, Some(124), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains(VERDICT), "{}", outcome.stderr);
}

#[test]
fn nothing_is_reported_if_detection_is_off() {
    let program = compiled("deadlock");
    let mut command = mpirun(&["-n", "2", "--timeout", "2", &program, "receive"]);
    command.env("SUIRO_DEADLOCK", "off");
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(124), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("Suiro: "), "{}", outcome.stderr);
}

#[test]
fn long_waits_are_reported_each_time_they_have_doubled() {
    let program = compiled("deadlock");
    let jobs = [job(&program, "2", "sleep"), foreign_job(&program, "2", "sleep")].map(|mut it| {
        it.env("SUIRO_HANG_REPORT", "200ms");
        it
    });
    for outcome in all(jobs) {
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let barrier = " s: MPI_Barrier(MPI_COMM_WORLD, call 2)\n";
        let receive =
            " s, 1 receive posted: MPI_Recv(any source, tag 7, up to 4 bytes, MPI_COMM_WORLD)\n";
        expect(&outcome.stderr, &["Suiro: rank 0 has waited 0.", barrier, barrier, receive]);
        assert!(!outcome.stderr.contains("rank 1"), "{}", outcome.stderr);
        assert!(outcome.stderr.lines().count() < 8, "{}", outcome.stderr);
    }
}

#[test]
fn an_invalid_value_names_the_valid_ones() {
    let program = compiled("deadlock");
    for (name, good) in
        [("DEADLOCK", "report|abort|off"), ("HANG_REPORT", "off|a duration like 500ms, 30s or 2m")]
    {
        let mut command = job(&program, "1", "alone");
        command.env(format!("SUIRO_{name}"), "soon");
        let outcome = start(command).wait();
        let words = format!("SUIRO_{name}=soon is not one of {good}");
        assert!(outcome.code != Some(0) && outcome.stderr.contains(&words), "{}", outcome.stderr);
    }
}
