//! `--timeout`: overdue jobs end with code 124, and the state of their ranks is printed.

use std::process::Command;

use super::harness::{
    Outcome, compiled, mpirun, quoted, ranks, run, run_shell, signal_process, start, state, until,
};

/// Runs `stuck what` on `count` ranks until the time limit.
fn stuck(count: &str, what: &str) -> Outcome {
    let program = compiled("stuck");
    let outcome = start(silent(&["-n", count, "--timeout", "3", &program, what])).wait();
    overdue(&outcome);
    outcome
}

/// `mpirun words` without reports by the ranks themselves.
fn silent(words: &[&str]) -> Command {
    let mut command = mpirun(words);
    command.env("SUIRO_DEADLOCK", "off");
    command
}

/// What ranks wait for, and texts in the order of the report.
const CASES: &[(&str, &[&str])] = &[
    ("send", &["MPI_Send(dest 1, tag 8, 1048576 bytes, MPI_COMM_WORLD) for ", "deadlock"]),
    ("ssend", &["MPI_Ssend(dest 1, tag 9, 4 bytes, MPI_COMM_WORLD) for ", "deadlock"]),
    ("probe", &["MPI_Probe(source 1, tag 10, MPI_COMM_WORLD) for ", "deadlock"]),
    (
        "sendrecv",
        &[
            "MPI_Sendrecv: receive(source 1, tag 12, up to 4 bytes, MPI_COMM_WORLD), \
                 send(dest 1, tag 11, 1048576 bytes, MPI_COMM_WORLD); arrived but not asked for: \
                 source 1 with tag 11 (1048576 bytes) for ",
            "deadlock",
        ],
    ),
    (
        "waitall",
        &[
            "MPI_Waitall of 2 requests: receive(source 1, tag 5, up to 4 bytes, \
                 MPI_COMM_WORLD), send(dest 1, tag 6, 1048576 bytes, MPI_COMM_WORLD); arrived but \
                 not asked for: source 1 with tag 77 (4 bytes), source 1 with tag 6 (1048576 bytes)",
            "deadlock",
            "main at ",
        ],
    ),
    (
        "waitany",
        &[
            "ranks 0,1 (processes ",
            "MPI_Waitany of receive(any source, any tag, up to 4 bytes, MPI_COMM_WORLD) for ",
            "deadlock: rank 0 in MPI_Waitany of receive(any source, ",
        ],
    ),
    (
        "elsewhere",
        &["MPI_Barrier(MPI_COMM_WORLD, call 2)", "MPI_Barrier(meeting place, call 1)", "dead"],
    ),
    (
        "leave",
        &["rank 1 (process", "MPI_Finalize(MPI_COMM_WORLD, call 1) for", "rank 1 waits for rank 0"],
    ),
];

fn overdue(outcome: &Outcome) {
    assert_eq!(outcome.code, Some(124), "{}", outcome.stderr);
    let first = "mpirun: the job ran longer than 3 s (--timeout); ending it\n";
    assert!(outcome.stderr.starts_with(first), "{}", outcome.stderr);
}

/// All of `wanted` are in the text, in this order.
fn expect(text: &str, wanted: &[&str]) {
    let mut rest = text;
    for words in wanted {
        let at = rest.find(words).unwrap_or_else(|| panic!("no {words:?} in its place in\n{text}"));
        rest = &rest[at + words.len()..];
    }
}

/// The process id that `rank` printed.
fn process_of(rank: u32, outcome: &Outcome) -> String {
    let end = format!(" of rank {rank}");
    let line = outcome.text().lines().find(|line| line.ends_with(&end)).unwrap();
    line.trim_end_matches(&end).to_owned()
}

#[test]
fn receives_from_each_other_are_reported_as_a_deadlock() {
    let outcome = stuck("2", "receive");
    let [one, other] = [0, 1].map(|rank| process_of(rank, &outcome));
    expect(
        &outcome.stderr,
        &[
            "mpirun: state of the ranks on ",
            &format!(
                "rank 0 ({one}): MPI_Recv(source 1, tag 40, up to 4 bytes, MPI_COMM_WORLD) for"
            ),
            &format!("rank 1 ({other}): MPI_Recv(source 0, tag 41, "),
            "deadlock: rank 0 in MPI_Recv(source 1, tag 40, ",
            " <- rank 1 in MPI_Recv(source 0, tag 41, ",
            " <- rank 0\n",
            "calls of ranks 0,1:\n    PMPI_Recv",
            "\n    exchange at ",
            "stuck.c:",
            "\n    main at ",
        ],
    );
}

#[test]
fn every_blocking_call_is_reported_with_its_peers() {
    let program = compiled("stuck");
    let start = |what| start(silent(&["-n", "2", "--timeout", "3", &program, what]));
    let running: Vec<_> = CASES.iter().map(|(what, _)| start(what)).collect();
    for ((_, wanted), running) in CASES.iter().zip(running) {
        let outcome = running.wait();
        overdue(&outcome);
        expect(&outcome.stderr, wanted);
    }
}

#[test]
fn a_computing_rank_is_distinguished_from_waiting_ranks() {
    let outcome = stuck("3", "compute");
    expect(
        &outcome.stderr,
        &[
            "ranks 0,2 (processes ",
            "): MPI_Allreduce(MPI_COMM_WORLD, call 1, 4 bytes in shared memory) for ",
            "rank 1 (process ",
            "): not waiting in MPI: running, ",
            "s of processor time\n",
            "  ranks 0,2 wait for rank 1, which is not waiting in MPI\n",
            "  calls of ranks 0,2:\n    PMPI_Allreduce",
            "    reduce at ",
            "  calls of rank 1:\n    compute at ",
        ],
    );
    assert!(!outcome.stderr.contains("deadlock:"));
}

#[test]
fn a_stopped_rank_is_reported_as_stopped() {
    let outcome = stuck("2", "stop");
    expect(
        &outcome.stderr,
        &[
            "rank 0 (process ",
            "): MPI_Allreduce(",
            "rank 1 (process ",
            "): not waiting in MPI: stopped by a signal, ",
            "rank 0 waits for rank 1, which is stopped by a signal\n",
            "calls of rank 1:\n",
            "    stop_here at ",
        ],
    );
}

#[test]
fn a_rank_that_continues_in_time_is_not_reported() {
    let program = compiled("stuck");
    let running = start(mpirun(&["-n", "2", "--timeout", "50", &program, "stop"]));
    let stopped = until(|| {
        let pid = *ranks(&running).get(&1)?;
        (state(pid) == Some('T')).then_some(pid)
    });
    signal_process(stopped, "CONT");
    let outcome = running.wait();
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
}

#[test]
fn the_mpi_process_below_a_shell_is_reported() {
    let program = compiled("stuck");
    let script = format!("{} receive; true", quoted(&program));
    let words = ["-n", "2", "--timeout", "3", "--get-stack-traces", "sh", "-c", &script];
    let outcome = start(silent(&words)).wait();
    overdue(&outcome);
    let one = process_of(0, &outcome);
    expect(&outcome.stderr, &[&format!("rank 0 ({one}): MPI_Recv("), "    exchange at "]);
}

#[test]
fn ranks_without_mpi_are_reported_too() {
    let script = "test $PMI_RANK = 0 && exit 3; exec sleep 600";
    let mut command = mpirun(&["-n", "2", "sh", "-c", script]);
    command.env("MPIEXEC_TIMEOUT", "3");
    let outcome = start(command).wait();
    overdue(&outcome);
    expect(
        &outcome.stderr,
        &[
            "rank 0 (process ",
            "): ended with code 3\n",
            "rank 1 (process ",
            "): has not called MPI_Init: asleep, 0.0 s of processor time\n",
            "calls of rank 1:\n",
            "(libc",
        ],
    );
}

#[test]
fn a_job_that_ends_in_time_is_not_reported() {
    let outcome = run(&["-n", "2", "--timeout", "50", "sh", "-c", "exit 5"]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(5), ""));
    assert_eq!(run_shell("1", "test -n \"$SUIRO_STATUS_FD\"").code, Some(0));
}

#[test]
fn the_call_in_which_a_rank_was_killed_is_reported() {
    let running = start(mpirun(&["-n", "2", &compiled("stuck"), "receive"]));
    let victim = until(|| ranks(&running).get(&1).copied());
    // After this line there is only the call; a rank that sleeps in it has reported it.
    running.until_output(|text| text.contains("of rank 1\n").then_some(()));
    until(|| (state(victim) == Some('S')).then_some(()));
    signal_process(victim, "KILL");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(137));
    let words = "was killed by signal 9 (SIGKILL) while it waited in MPI_Recv(source 0, tag 41, ";
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
}

#[test]
fn sigquit_prints_the_state_of_all_ranks_and_the_job_continues() {
    let program = compiled("stuck");
    let running = start(mpirun(&["-n", "2", &program, "stop"]));
    let stopped = until(|| {
        let pid = *ranks(&running).get(&1)?;
        (state(pid) == Some('T')).then_some(pid)
    });
    let waiting = until(|| ranks(&running).get(&0).copied());
    until(|| (state(waiting) == Some('S')).then_some(()));
    for round in 1..3 {
        running.signal("QUIT");
        running
            .until_errors(|text| (text.matches("rank 0 (process ").count() == round).then_some(()));
    }
    signal_process(stopped, "CONT");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    expect(
        &outcome.stderr,
        &[
            "mpirun: state of the ranks on ",
            "mpirun: state of the ranks on ",
            "rank 0 (process ",
            "MPI_Allreduce(",
            "stopped by a signal, ",
            "calls of rank 0:\n    PMPI_Allreduce",
        ],
    );
}

#[test]
fn the_lengths_of_queues_are_reported() {
    let program = compiled("stuck");
    let outcome = start(silent(&["-n", "2", "--timeout", "3", &program, "waitall"])).wait();
    let queues = " s, 1 receive posted, 2 messages not asked for\n";
    assert!(outcome.stderr.contains(queues), "{}", outcome.stderr);
}
