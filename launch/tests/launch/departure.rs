//! Ranks that leave before MPI_Finalize in every possible way: the job ends with a reason, or succeeds
//! if that is no error, and never hangs.

use super::harness::{Outcome, compiled, quoted, run};

/// How the last of three ranks leaves, the exit code, and a part of the message.
const CASES: &[(&str, i32, &str)] = &[
    ("stay", 0, ""),
    ("exit", 1, "mpirun: rank 2 (process "),
    ("exit", 1, "exited with code 0 without MPI_Finalize; ending the other 2 ranks"),
    ("never", 1, "mpirun: rank 2 ended while rank "),
    ("never", 1, "did every rank call MPI_Init?"),
    // The rank is missed wherever it was.
    ("soon", 1, "mpirun: rank 2 "),
    ("exec-long", 1, "closed its connection to mpirun without MPI_Finalize (did it run another"),
    ("exec-short", 1, "exited with code 0 without MPI_Finalize"),
    ("exec-mpi", 16, "PMI_SIZE=3 shows that this is one of several processes"),
    ("exec-mpi", 16, "is no open socket"),
    ("fork", 0, "mpirun: all ranks have ended, but processes that they started may still write"),
    ("fork-exit", 0, ""),
    ("fork-leave", 1, "exited with code 0 without MPI_Finalize"),
];

#[test]
fn every_way_to_leave_ends_with_a_reason_or_succeeds() {
    let program = compiled("departure");
    for (way, code, words) in CASES {
        let outcome = run(&["-n", "3", &program, way]);
        assert_eq!(outcome.code, Some(*code), "{way}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{way}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.is_empty(), words.is_empty(), "{way}: {}", outcome.stderr);
    }
}

/// The last of two ranks runs `command` between MPI_Init and MPI_Finalize.
fn with_command(program: &str, command: &str) -> Outcome {
    let outcome = run(&["-n", "2", program, "system", command]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{command}");
    assert!(outcome.text().contains("command 0\n"), "{}", outcome.text());
    outcome
}

#[test]
fn a_program_started_by_a_rank_is_a_singleton_or_in_a_job_of_its_own() {
    let program = compiled("departure");
    let outer = ["rank 0 of 2", "rank 1 of 2"];
    let stay = format!("{} stay", quoted(&program));
    let behind_shell = format!("sh -c {}", quoted(&format!("{stay}; true")));
    for command in [stay.clone(), behind_shell] {
        let outcome = with_command(&program, &command);
        let ranks = outcome.lines().into_iter().filter(|line| line.starts_with("rank"));
        assert_eq!(ranks.collect::<Vec<_>>(), ["rank 0 of 1", outer[0], outer[1]], "{command}");
    }
    let launcher = quoted(env!("CARGO_BIN_EXE_mpirun"));
    let outcome = with_command(&program, &format!("{launcher} -n 3 {stay}"));
    for line in ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"] {
        assert_eq!(outcome.text().matches(line).count(), 1, "{}", outcome.text());
    }
}

#[test]
fn a_rank_may_run_one_program_after_the_other() {
    let (program, sums) = (quoted(&compiled("departure")), quoted(&compiled("allreduce")));
    // Rank 1 is still behind while the others start the next program.
    let wait = "test $PMI_RANK != 1 || sleep 0.1";
    let script =
        format!("{program} stay; {wait}; {sums} 9 && {program} stay; {wait}; {program} stay");
    let outcome = run(&["-n", "3", "sh", "-c", &script]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    for rank in 0..3 {
        let line = format!("rank {rank} of 3");
        assert_eq!(outcome.text().lines().filter(|found| **found == line).count(), 3, "{line}");
    }
}

#[test]
fn a_program_that_some_ranks_do_not_start_ends_the_job() {
    let program = quoted(&compiled("departure"));
    let script = format!("{program} stay; test $PMI_RANK = 1 || exec {program} stay");
    let outcome = run(&["-n", "2", "sh", "-c", &script]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let words = "mpirun: rank 1 ended while rank 0 waits for it in MPI; ending the job";
    assert!(outcome.stderr.starts_with(words), "{}", outcome.stderr);
}

#[test]
fn a_later_program_does_not_hide_that_the_earlier_did_not_finalize() {
    let program = quoted(&compiled("departure"));
    let script = format!("{program} exit; {program} stay");
    let outcome = run(&["-n", "3", "sh", "-c", &script]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let words = "exited with code 0 without MPI_Finalize; ending the other 2 ranks";
    let unknown = "ended without MPI_Finalize; ending the other 2 ranks";
    let found = [words, unknown].iter().any(|words| outcome.stderr.contains(words));
    assert!(found && outcome.stderr.contains("mpirun: rank 2 (process "), "{}", outcome.stderr);
}

#[test]
fn a_closed_connection_is_an_error() {
    let program = compiled("departure");
    let script = format!("eval \"exec $PMI_FD>&-\"; {} stay", quoted(&program));
    let outcome = run(&["-n", "2", "bash", "-c", &script]);
    assert_eq!(outcome.code, Some(16), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("did a program between"), "{}", outcome.stderr);
    let alone = run(&["-genv", "SUIRO_SINGLETON", "1", "-n", "2", "bash", "-c", &script]);
    assert_eq!((alone.code, &*alone.stderr), (Some(0), ""));
    assert_eq!(alone.lines(), ["rank 0 of 1", "rank 0 of 1"]);
}
