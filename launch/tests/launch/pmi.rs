//! Ranks that use PMI.

use super::harness::{Outcome, mpirun, run, start};
use super::role::{words, words_behind_shell};

fn expect_one_line(outcome: &Outcome, parts: &[&str]) {
    // A shell may print that its child was killed.
    let ours = outcome.stderr.lines().filter(|line| line.starts_with("mpirun: "));
    let lines: Vec<_> = ours.collect();
    let [line] = lines[..] else { panic!("not one line: {}", outcome.stderr) };
    for part in parts {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}

#[test]
fn every_rank_reads_what_every_other_published() {
    for count in ["1", "2", "9"] {
        let outcome = run(&words(count, "exchange"));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let done = outcome.lines().iter().filter(|line| line.contains("exchanged")).count();
        assert_eq!(done.to_string(), count);
    }
}

#[test]
fn a_rank_may_be_started_by_a_shell() {
    let outcome = run(&words_behind_shell("3", "exchange", "exit 0"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn the_job_is_the_same_for_all_ranks() {
    let outcome = run(&words("3", "job"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let job = |line: &str| Some(line.split_once("job ")?.1.to_owned());
    let jobs: Vec<_> = outcome.lines().into_iter().filter_map(job).collect();
    assert_eq!(jobs.len(), 3);
    assert!(jobs.iter().all(|job| *job == jobs[0]), "{jobs:?}");
    assert!(jobs[0].starts_with("[0, 1, 2] Some(0) 4321 "), "{jobs:?}");
    assert_eq!(jobs[0].rsplit_once(' ').unwrap().1.len(), 64);
}

#[test]
fn codes_after_finalize_are_the_programs_own() {
    let outcome = run(&words("2", "code"));
    assert!([Some(10), Some(11)].contains(&outcome.code), "{:?}", outcome.code);
    assert_eq!(outcome.stderr, "");
}

#[test]
fn an_abort_returns_its_code_and_its_message() {
    let outcome = run(&words("3", "abort"));
    assert_eq!(outcome.code, Some(42));
    expect_one_line(&outcome, &["rank 1", "code 42", "the cat is on the keyboard"]);
}

#[test]
fn leaving_without_finalize_is_explained() {
    let outcome = run(&words("3", "leave"));
    assert_eq!(outcome.code, Some(1));
    expect_one_line(&outcome, &["rank 1", "code 0 without MPI_Finalize", "other 2 ranks"]);
}

#[test]
fn a_rank_without_mpi_init_is_noticed() {
    let outcome = run(&words("3", "late"));
    assert_eq!(outcome.code, Some(1));
    expect_one_line(&outcome, &["rank 1 ended", "MPI_Init"]);
}

#[test]
fn a_crashed_rank_is_named_with_its_signal() {
    let outcome = run(&words("3", "fall"));
    assert_eq!(outcome.code, Some(134));
    let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.contains("mpirun:")).collect();
    assert_eq!(lines.len(), 1, "{}", outcome.stderr);
    assert!(lines[0].contains("rank 1") && lines[0].contains("SIGABRT"), "{}", lines[0]);
}

#[test]
fn a_killed_rank_below_a_running_shell_is_noticed() {
    for then in ["sleep 600", "exit $?", "exit 0"] {
        let running = start(mpirun(&words_behind_shell("3", "sleep", then)));
        let victim = running.joined(3)[2];
        super::harness::signal_process(victim, "KILL");
        let outcome = running.wait();
        assert_ne!(outcome.code, Some(0), "{then}");
        let pid = format!("process {victim} on ");
        // Old kernels do not report the exit of a process that is not a child.
        let named = if outcome.stderr.contains("SIGKILL") { &*pid } else { "rank 2" };
        expect_one_line(&outcome, &["rank 2", named]);
    }
}

#[test]
fn protocol_errors_affect_only_their_rank() {
    let outcome = run(&words("2", "noise"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("closed its PMI connection").count(), 2);
}
