//! Every program of `c-tests/acp`, compiled by this `acpcc` and run by this `mpirun`: on each device, on 1 to 8
//! ranks, with each way of progress, and without what the ways of accesses may use. All of them take about
//! half a minute.

// Other tests use more of it.
#[allow(dead_code)]
mod programs;

use std::path::PathBuf;

use programs::{Form, harness, is_long, root, run_in};

/// An environment and a form.
type Way = (&'static [(&'static str, &'static str)], Form);

const SHM: &[(&str, &str)] = &[("SUIRO_DEVICE", "shm")];
const TOFU: &[(&str, &str)] = &[("SUIRO_DEVICE", "tofu")];
const TCP: &[(&str, &str)] = &[("SUIRO_DEVICE", "tcp")];
/// All goes by messages between the ranks.
const BARE: &[(&str, &str)] = &[("SUIRO_DEVICE", "shm"), ("SUIRO_ACP_WITHOUT", WITHOUT_ALL)];
const BARE_TOFU: &[(&str, &str)] = &[("SUIRO_DEVICE", "tofu"), ("SUIRO_ACP_WITHOUT", WITHOUT_ALL)];
/// An interface executes, but it defers nothing.
const UNDEFERRED: &[(&str, &str)] =
    &[("SUIRO_DEVICE", "tofu"), ("SUIRO_ACP_WITHOUT", "descriptors")];
const WITHOUT_ALL: &str = "bypass,atomics,descriptors";

fn ways() -> Vec<Way> {
    let way = |environment, ranks, progress, copy| (environment, Form { ranks, copy, progress });
    if is_long() {
        let all = [SHM, TOFU, TCP, BARE, BARE_TOFU, UNDEFERRED].into_iter();
        let progress = ["windows", "thread", "delegate"].into_iter();
        let all = all.flat_map(|environment| progress.clone().map(move |how| (environment, how)));
        return all
            .flat_map(|(environment, how)| (1..=8).map(move |n| way(environment, n, how, "auto")))
            .collect();
    }
    vec![
        way(SHM, 1, "windows", "auto"),
        way(SHM, 2, "windows", "pipe"),
        way(SHM, 3, "thread", "cma"),
        way(SHM, 8, "windows", "cma"),
        way(BARE, 3, "delegate", "auto"),
        way(TOFU, 2, "delegate", "auto"),
        way(TOFU, 5, "windows", "auto"),
        way(UNDEFERRED, 3, "windows", "auto"),
        way(BARE_TOFU, 2, "thread", "auto"),
        way(TCP, 3, "windows", "auto"),
        way(TCP, 2, "delegate", "auto"),
    ]
}

/// The ways for programs about what is made of accesses: one for each device, and all by messages.
fn few_ways() -> Vec<Way> {
    if is_long() {
        return ways();
    }
    let way = |environment, ranks| (environment, Form { ranks, copy: "auto", progress: "windows" });
    vec![way(SHM, 8), way(BARE, 3), way(TOFU, 2), way(TCP, 3)]
}

fn program(name: &str) -> PathBuf {
    let source = root().join("c-tests/acp").join(name).with_extension("c");
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", "-pthread"];
    harness::compile_by("acpcc", &source, &flags)
}

/// Runs a program in every way; each run must succeed without counted errors.
fn check(name: &str, arguments: &[&str], ways: Vec<Way>) {
    let program = program(name);
    for (environment, form) in ways {
        let outcome = run_in(environment, &program, arguments, form);
        let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(good, "{name}, {environment:?}, {form:?}: {said:?}");
    }
}

/// Defines a test for each program, with its ways and arguments.
macro_rules! acp_programs {
    ($($name:ident: $ways:ident [$($argument:literal),*],)*) => {
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check(stringify!($name), &[$($argument),*], $ways());
            }
        )*
    };
}

acp_programs! {
    acp_atomics: ways [],
    acp_channels: ways [],
    acp_copy: ways [],
    acp_heap: few_ways ["--acp-size-smem-dl", "12000"],
    acp_memory: ways [],
    acp_mpi: ways [],
    acp_options: few_ways ["--acp-size-smem", "40000", "first", "--acp-size-smem-dl=300000", "last"],
    acp_order: ways [],
    acp_passive: ways [],
    acp_random: ways [],
    acp_segments: few_ways [],
    acp_sequences: few_ways [],
    acp_sets: few_ways [],
    acp_start: ways [],
    acp_threads: ways [],
    acp_work_space: few_ways [],
}

/// Programs that must fail, each with a test of its own.
const FAILING: &[&str] = &["acp_end", "acp_outside"];

#[test]
fn every_program_has_a_test() {
    let files = std::fs::read_dir(root().join("c-tests/acp")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".c").map(str::to_owned)).collect();
    found.sort_unstable();
    let mut known = [PROGRAMS, FAILING].concat();
    known.sort_unstable();
    assert_eq!(found, known);
}

/// The example of the documentation.
#[test]
fn example_tasks() {
    let program =
        harness::compile_by("acpcc", &root().join("examples/tasks.c"), &["-Wall", "-Werror"]);
    for (environment, form) in ways() {
        let outcome = run_in(environment, &program, &[], form);
        let good = outcome.code == Some(0) && outcome.text().contains("results: 21065.833111\n");
        assert!(good, "{environment:?}, {form:?}: {:?}\n{}", outcome.text(), outcome.stderr);
    }
}

/// An access outside of memory is refused, or the job ends with the reason; nothing is written.
#[test]
fn accesses_outside_of_memory() {
    const REASONS: [&str; 3] =
        ["is not registered memory", "are outside of the", "has registered no memory under key"];
    let program = program("acp_outside");
    let polling = |ranks| Form { ranks, copy: "auto", progress: "windows" };
    for environment in [SHM, TOFU, TCP, BARE] {
        for what in ["put", "get", "add", "third", "anew", "before", "behind"] {
            let outcome = run_in(environment, &program, &[what], polling(3));
            let is_refused = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
            let is_told = REASONS.iter().any(|reason| outcome.stderr.contains(reason));
            let wrote = outcome.stderr.contains("acp_outside.c");
            let good = is_told && !wrote && (is_refused || outcome.code == Some(1));
            assert!(good, "{environment:?}, {what}: {:?} {}", outcome.code, outcome.stderr);
        }
    }
}

/// The end of one rank is the end of the job, with a reason, whatever the others do.
#[test]
fn jobs_that_a_rank_ends() {
    let program = program("acp_end");
    let ends = [
        ("abort", [1, 1], "rank 2: nothing more to do"),
        ("abort-null", [1, 1], "rank 2: acp_abort"),
        // A rank may see the end of another one before the launcher does.
        ("kill", [128 + 9, 1], "rank 2"),
        ("exit", [7, 1], "rank 2"),
    ];
    for environment in [SHM, TOFU, TCP] {
        let progress = ["windows", "delegate"].into_iter().cycle();
        for ((how, codes, reason), progress) in ends.into_iter().zip(progress) {
            let form = Form { ranks: 3, copy: "auto", progress };
            let outcome = run_in(environment, &program, &[how], form);
            let is_known = outcome.code.is_some_and(|code| codes.contains(&code));
            let good = is_known && outcome.stderr.contains(reason);
            assert!(good, "{environment:?}, {how}: {:?} {}", outcome.code, outcome.stderr);
        }
    }
}
