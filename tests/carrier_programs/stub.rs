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
            // The memory of messages is registered on demand.
            let local = ["", ";local=1"][seed as usize % 2];
            let provider = format!("stub;seed={seed};again={again};queue={queue}{local}");
            let progress = ("SUIRO_PROGRESS", ["polling", "thread"][seed as usize % 2]);
            let outcome = run(&library, &provider, name, ranks, &[progress]);
            let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{name}, {provider}, {ranks} ranks, {progress:?}: {said:?}");
        }
    }
}

/// Accesses of windows by a provider that refuses for the moment, has short queues, and completes and makes accesses in any
/// order.
#[test]
fn windows_are_right_in_spite_of_trouble() {
    let library = fabric_stub::library("stub-accesses");
    for seed in 1..=if is_long() { 40 } else { 2 } {
        for (name, ranks, expected) in
            [("rma_ways", 3, "1"), ("rma_random", 4, ""), ("rma_locks", 3, ""), ("rma_pscw", 4, "")]
        {
            let (again, queue) = (10 * (seed % 7), [64, 4, 1][seed as usize % 3]);
            let demands = ["", ";virtual=1;keys=1;bind=1", ";local=1"][seed as usize % 3];
            let provider =
                format!("stub;access=1;seed={seed};again={again};queue={queue}{demands}");
            let progress = ("SUIRO_PROGRESS", ["windows", "thread"][seed as usize % 2]);
            let mut more = vec![progress, ("SUIRO_OFI_ACCESS", "provider")];
            more.extend((!expected.is_empty()).then_some(("EXPECT_BY_DEVICE", expected)));
            let outcome = run(&library, &provider, name, ranks, &more);
            let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{name}, {provider}, {ranks} ranks, {progress:?}: {said:?}");
        }
    }
}

/// The flush after an access that the provider has not made says so, all others are made, and the job goes on.
#[test]
fn a_flush_tells_of_an_access_that_has_failed() {
    let library = fabric_stub::library("stub-access-errors");
    for (seed, trouble) in [(1, "break=7"), (2, "deny=7"), (3, "break=1"), (4, "deny=30")] {
        let provider = format!("stub;access=1;seed={seed};again=20;queue=4;{trouble}");
        let more = [("SUIRO_PROGRESS", "windows"), ("SUIRO_OFI_ACCESS", "provider")];
        let outcome = run(&library, &provider, "carrier/access_errors", 3, &more);
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert_eq!(outcome.code, Some(0), "{provider}: {said:?}");
        let fatal = [&more[..], &[("FATAL", "1")]].concat();
        let outcome = run(&library, &provider, "carrier/access_errors", 3, &fatal);
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(!matches!(outcome.code, Some(0 | 124)), "{provider}: {said:?}");
        let why = "has failed: Input/output error";
        assert!(outcome.stderr.contains(why), "{provider}: {said:?}");
    }
}

/// An error of a connection is the failure of the peer.
#[test]
fn an_access_whose_connection_ends_ends_the_job() {
    let library = fabric_stub::library("stub-access-resets");
    for seed in 1..=if is_long() { 20 } else { 3 } {
        let provider = format!("stub;access=1;seed={seed};again=20;reset=7");
        let more =
            [("SUIRO_PROGRESS", "windows"), ("SUIRO_OFI_ACCESS", "provider"), ("FATAL", "1")];
        let outcome = run(&library, &provider, "carrier/access_errors", 3, &more);
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(!matches!(outcome.code, Some(0 | 124)), "{provider}: {said:?}");
        assert!(outcome.stderr.contains("Connection reset by peer"), "{provider}: {said:?}");
        assert!(outcome.stderr.contains("PROC_FAILED"), "{provider}: {said:?}");
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
