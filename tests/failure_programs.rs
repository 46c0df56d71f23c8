//! Every program of `c-tests/failures`, run by this `mpirun --with-ft ulfm`: ranks end, and those that are
//! left go on, on shared memory and on sockets, with each way of waiting. Each run has a time limit.

// Other tests use more of it.
#[allow(dead_code)]
mod programs;

use std::path::{Path, PathBuf};

use programs::{harness, is_long, root};

/// The time that a run may take, in seconds: more than a loaded machine needs.
const LIMIT_SECONDS: &str = "60";

const DEVICES: [&str; 2] = ["shm", "tcp"];

fn program(source: &str) -> PathBuf {
    let flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-g"];
    harness::compile(&root().join(source).with_extension("c"), &flags)
}

fn run(program: &Path, ranks: u32, device: &str, more: &[&str]) -> harness::Outcome {
    let ranks = ranks.to_string();
    let mut words = vec!["--with-ft", "ulfm", "--timeout", LIMIT_SECONDS, "-n", &ranks];
    words.extend(["--device", device, program.to_str().unwrap()]);
    words.extend(more);
    harness::start(harness::mpirun(&words)).wait()
}

/// Runs a program on each device with these numbers of ranks and arguments; each run must succeed without
/// counted errors.
fn check(name: &str, ranks: impl Iterator<Item = u32> + Clone, arguments: &[&[&str]]) {
    let program = program(&format!("c-tests/failures/{name}"));
    for device in DEVICES {
        for ranks in ranks.clone() {
            for more in arguments {
                let outcome = run(&program, ranks, device, more);
                let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
                let said = (outcome.code, outcome.text(), &outcome.stderr);
                assert!(good, "{name} {more:?}, {ranks} ranks, {device}: {said:?}");
            }
        }
    }
}

#[test]
fn receive() {
    check("receive", 2..=5, &[&[]]);
}

#[test]
fn collective() {
    check("collective", [2, 3, 5].into_iter(), &[&["0"], &["1"], &["2"], &["3"], &["4"], &["5"]]);
}

#[test]
fn any_source() {
    check("any_source", 2..=5, &[&[]]);
}

#[test]
fn revoke() {
    check("revoke", 2..=5, &[&[]]);
    check("revoke", 3..=5, &[&["die"]]);
}

#[test]
fn agree() {
    check("agree", 2..=5, &[&["0"], &["1"]]);
}

#[test]
fn finalize() {
    let seeds = if is_long() { 200 } else { 5 };
    let seeds: Vec<_> = (0..seeds).map(|seed| seed.to_string()).collect();
    let seeds: Vec<_> = seeds.iter().map(|seed| [&**seed]).collect();
    let seeds: Vec<&[&str]> = seeds.iter().map(|seed| &seed[..]).collect();
    check("finalize", [2, 5].into_iter(), &seeds);
}

#[test]
fn random() {
    let seeds = if is_long() { 1000 } else { 12 };
    let program = program("c-tests/failures/random");
    for seed in 1..=seeds {
        let (ranks, device) = (2 + seed % 5, DEVICES[seed as usize % 2]);
        let outcome = run(&program, ranks, device, &[&seed.to_string()]);
        let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(good, "seed {seed}, {ranks} ranks, {device}: {said:?}");
    }
}

/// More of them: `scripts/faults shrink`.
#[test]
fn shrinks() {
    check("shrinks", [2, 6].into_iter(), &[&["1"], &["2"], &["3"]]);
}

#[test]
fn quick() {
    check("quick", [2, 5].into_iter(), &[&[]]);
}

#[test]
fn a_fatal_error_handler_ends_the_job() {
    let program = program("c-tests/failures/fatal");
    for device in DEVICES {
        let outcome = run(&program, 3, device, &[]);
        let line = "aborted the job with code 75: MPI_Barrier on MPI_COMM_WORLD";
        let good = outcome.code == Some(75) && outcome.stderr.contains(line);
        assert!(good && outcome.text().is_empty(), "{:?} {}", outcome.code, outcome.stderr);
    }
}

#[test]
fn without_the_option_a_failure_ends_the_job() {
    let program = program("c-tests/failures/receive");
    let outcome = harness::start(harness::mpirun(&["-n", "3", program.to_str().unwrap()])).wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ending the other 2 ranks"), "{}", outcome.stderr);
}

#[test]
fn the_example_loses_ranks_and_ends_with_the_right_result() {
    let program = program("examples/resilient");
    for device in DEVICES {
        for seed in ["1", "2", "3"] {
            let outcome = run(&program, 5, device, &[seed]);
            let good = outcome.code == Some(0) && outcome.text().contains("the result is right");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{device}, seed {seed}: {said:?}");
        }
    }
}

#[test]
fn every_program_is_run() {
    let files = std::fs::read_dir(root().join("c-tests/failures")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".c")?.into())).collect();
    names.sort();
    let run = [
        "agree",
        "any_source",
        "collective",
        "fatal",
        "finalize",
        "quick",
        "random",
        "receive",
        "revoke",
        "shrinks",
    ];
    assert_eq!(names, run.map(String::from));
}
