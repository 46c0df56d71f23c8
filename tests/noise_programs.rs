//! Jobs with the redundant allreduce and with injected noise: `benches/noise.c`, which checks that all
//! ranks have equal bits and the sum that each computes itself, and programs of `c-tests`.

// Other tests use more of it.
#[allow(dead_code)]
mod programs;

use std::path::{Path, PathBuf};

use programs::{Form, harness, is_long, root, run_in};

/// Name and value.
type Setting<'a> = (&'a str, &'a str);

fn compile(source: &str) -> PathBuf {
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", "-pthread"];
    harness::compile(&root().join(source), &flags)
}

fn form(ranks: u32, progress: &'static str) -> Form {
    Form { ranks, copy: "auto", progress }
}

/// Runs `benches/noise.c`, which must find what it expects.
fn check_sums(program: &Path, settings: &[Setting<'_>], form: Form, words: &[&str]) {
    let outcome = run_in(settings, program, words, form);
    let is_good = outcome.code == Some(0) && outcome.text().ends_with(" ok\n");
    assert!(is_good, "{settings:?}, {form:?}: {}{}", outcome.text(), outcome.stderr);
}

/// Numbers of extra rounds from 0 to 4 each; a third of the pairs for each number of ranks, unless the test
/// is long.
#[test]
fn redundant_rounds_give_all_ranks_equal_bits() {
    let program = compile("benches/noise.c");
    for ranks in 2..=8 {
        let pairs = (0..=4).flat_map(|middle| (0..=4).map(move |last| (middle, last)));
        for (middle, last) in pairs.filter(|(m, l)| is_long() || (m + 2 * l + ranks) % 3 == 0) {
            let algorithm = format!("redundant:{middle},{last}");
            let settings = [("SUIRO_COLL_ALLREDUCE", &algorithm[..])];
            check_sums(&program, &settings, form(ranks, "polling"), &["-c", "0", "-b", "40"]);
        }
    }
}

/// User functions, any length and datatype, persistent and nonblocking calls, with the engine of a host and
/// of a simulated interface. Each program has two of the settings with a device.
#[test]
fn redundant_rounds_fit_every_call() {
    const SETTINGS: [(u32, &str); 4] = [
        (2, "redundant:0,2"),
        (3, "redundant:4,4"),
        (5, "redundant:2,1,descending"),
        (8, "redundant:middle-bits=0/final-bits=2,0..1"),
    ];
    let names = ["coll_reduce", "coll_random", "coll_persistent", "coll_nonblocking"];
    let cases = names.iter().flat_map(|name| ["shm", "tofu"].map(|device| (name, device)));
    for (number, (name, device)) in cases.enumerate() {
        let program = compile(&format!("c-tests/{name}.c"));
        let chosen = SETTINGS.iter().skip((number + number / 2) % 2).step_by(2);
        for (ranks, algorithm) in chosen {
            let settings = [("SUIRO_COLL_ALLREDUCE", *algorithm), ("SUIRO_DEVICE", device)];
            let outcome = run_in(&settings, &program, &[], form(*ranks, "polling"));
            let is_good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
            assert!(is_good, "{name}, {settings:?}: {}{}", outcome.text(), outcome.stderr);
        }
    }
}

#[test]
fn a_job_with_noise_computes_the_same() {
    let program = compile("benches/noise.c");
    let noises =
        ["periodic:2000,300", "random:1500,400,seed=3,sends", "synchronous:1000,900,sends"];
    for device in ["shm", "tcp", "tofu"] {
        for (noise, algorithm) in noises.iter().zip(["redundant:1,1", "doubling", "shared"]) {
            for form in [form(2, "polling"), form(4, "thread"), form(3, "delegate")] {
                let device = ("SUIRO_DEVICE", device);
                let settings =
                    [device, ("SUIRO_NOISE", noise), ("SUIRO_COLL_ALLREDUCE", algorithm)];
                check_sums(&program, &settings, form, &["-c", "5", "-g", "2000", "-b", "10"]);
            }
        }
    }
}

/// Long messages, windows and files of memory that ranks share, whatever carries the rest.
#[test]
fn noise_changes_no_result() {
    for name in ["send_sizes", "rma_put_get", "coll_forms"] {
        let program = compile(&format!("c-tests/{name}.c"));
        for device in ["shm", "tcp"] {
            let settings = [("SUIRO_DEVICE", device), ("SUIRO_NOISE", "random:1000,50,sends")];
            let outcome = run_in(&settings, &program, &[], form(3, "polling"));
            let is_good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
            assert!(is_good, "{name}, {device}: {}{}", outcome.text(), outcome.stderr);
        }
    }
}

#[test]
fn a_job_says_which_noise_it_has_and_what_is_wrong_with_a_setting() {
    let program = compile("benches/noise.c");
    let stderr = |settings: &[Setting<'_>], is_good: bool| {
        let outcome = run_in(settings, &program, &["-c", "0", "-b", "1"], form(2, "polling"));
        assert_eq!(outcome.code == Some(0), is_good, "{settings:?}: {}", outcome.stderr);
        outcome.stderr
    };
    let noise = ("SUIRO_NOISE", "periodic:2000,0.5,seed=9,sends");
    let said = stderr(&[noise, ("SUIRO_EXPLAIN", "1")], true);
    let sentence = "noise: a rank that polls or sends sleeps, periodic 0.5 us in 2000 us, seed 9";
    assert!(said.contains(sentence), "{said}");
    for (setting, why) in [
        (("SUIRO_NOISE", "periodic:2000"), "SUIRO_NOISE=periodic:2000 is not one of none|KIND:"),
        (("SUIRO_NOISE", "periodic:20,30"), "a noise length of 30 us: expected less than the"),
        (
            ("SUIRO_COLL_ALLREDUCE", "redundant:1"),
            "redundant:1 is not one of auto|shared|doubling|",
        ),
        (("SUIRO_COLL_ALLREDUCE", "redundant:1,65"), "|redundant:M,L|redundant:M,L,descending|"),
    ] {
        let said = stderr(&[setting], false);
        assert!(said.contains(why), "{setting:?}: {said}");
    }
}

#[test]
fn ranks_with_unlike_extra_rounds_are_reported() {
    let program = compile("benches/noise.c");
    let program = program.to_str().unwrap();
    let group = |algorithm: &'static str| {
        ["-n", "1", "-env", "SUIRO_COLL_ALLREDUCE", algorithm, program, "-b", "1"]
    };
    let words = [&group("redundant:1,2")[..], &[":"], &group("redundant:2,2")].concat();
    let outcome = harness::run(&words);
    assert_ne!(outcome.code, Some(0));
    let differ = "SUIRO_COLL_ALLREDUCE is redundant:";
    assert!(outcome.stderr.contains(differ), "{}", outcome.stderr);
}

/// `scripts/bench-noise` in its shortest form.
#[test]
fn the_measurement_makes_a_table() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/bench-noise");
    let mpirun = harness::built("mpirun");
    let built = Path::new(&mpirun).parent().unwrap();
    let mut command = harness::marked(script);
    command.args(["--suiro", built.to_str().unwrap(), "--ranks", "3", "--length", "100"]);
    command.args(["--calls", "3", "--loop", "5", "--turns", "1"]);
    command.args(["--kinds", "none", "random,sends"]);
    let outcome = harness::start(command).wait();
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.text(), outcome.stderr);
    let rows = |kind: &str| outcome.text().lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!([rows("| none | 3 |"), rows("| random,sends | 3 |")], [1, 1], "{}", outcome.text());
}
