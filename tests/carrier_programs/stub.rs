//! Programs over a libfabric that makes trouble (`c-tests/carrier/fabric_stub.c`): refusals for the moment, short
//! queues, completions in any order, and errors, from seeds.

use crate::programs::{fabric_stub, harness, is_long, vendor};

/// Runs a program on one host with the stub between all ranks.
fn run(
    library: &str, provider: &str, name: &str, ranks: u32, more: &[(&str, &str)],
) -> harness::Outcome {
    let program = crate::program(name);
    let ranks = ranks.to_string();
    let mut command =
        harness::mpirun(&["--timeout", "120", "-n", &ranks, program.to_str().unwrap()]);
    vendor::by_libfabric(&mut command, library, provider);
    command.env("CHECK_STRICT", "1").envs(more.iter().copied());
    harness::start(command).wait()
}

#[test]
fn programs_run_in_spite_of_trouble() {
    let library = fabric_stub::library("stub-trouble");
    let seeds = if is_long() { 40 } else { 3 };
    for seed in 1..=seeds {
        for (name, ranks) in [
            ("coll_forms", 4),
            ("floods", 3),
            ("matching", 3),
            ("partitioned", 2),
            ("rma_random", 3),
            ("send_sizes", 2),
            ("truncation", 3),
        ] {
            let (again, queue) = (10 * (seed % 7), [64, 4, 1][seed as usize % 3]);
            let provider = format!("stub;seed={seed};again={again};queue={queue}");
            let progress = ("SUIRO_PROGRESS", ["polling", "thread"][seed as usize % 2]);
            let outcome = run(&library, &provider, name, ranks, &[progress]);
            let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{name}, {provider}, {ranks} ranks, {progress:?}: {said:?}");
        }
    }
}

/// An error of the provider is a failure of the peer, and never a wrong result.
#[test]
fn an_error_of_the_provider_ends_the_job() {
    let library = fabric_stub::library("stub-errors");
    for trouble in ["fail=20", "refuse=20", "truncate=20"] {
        for seed in 1..=if is_long() { 20 } else { 3 } {
            let provider = format!("stub;seed={seed};again=10;{trouble}");
            let outcome = run(&library, &provider, "matching", 3, &[]);
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(!matches!(outcome.code, Some(0 | 124)), "{provider}: {said:?}");
            let is_named = outcome.stderr.contains("PROC_FAILED")
                || outcome.stderr.contains("of the world has failed");
            assert!(is_named, "{provider}: {said:?}");
        }
    }
}
