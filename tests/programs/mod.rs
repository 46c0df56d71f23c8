//! Runs the programs of `c-tests` on several numbers of ranks and with both methods of copying
//! long messages: a selection, or with `SUIRO_TEST_LONG=1` all of 1 to 8 ranks, both methods, and
//! a progress thread too.

// The tests of the launcher use more of the shared harness.
#[allow(dead_code)]
#[path = "../harness/mod.rs"]
pub mod harness;

#[allow(dead_code)]
pub mod fabric_stub;
#[allow(dead_code)]
pub mod vendor;

pub use harness::root;

use std::env;
use std::path::Path;

/// A way to run a program.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub ranks: u32,
    pub copy: &'static str,
    pub progress: &'static str,
}

/// The forms, the quick ones first.
pub fn forms() -> Vec<Form> {
    let form = |ranks, copy| Form { ranks, copy, progress: "polling" };
    if is_long() {
        let ranks = 1..=8;
        let polling = ranks.clone().flat_map(|ranks| [form(ranks, "pipe"), form(ranks, "cma")]);
        let threads = ranks.map(|ranks| Form { ranks, copy: "auto", progress: "thread" });
        return polling.chain(threads).collect();
    }
    let pipe = [1, 2, 3, 8].map(|ranks| form(ranks, "pipe"));
    let cma = [2, 4].map(|ranks| form(ranks, "cma"));
    let thread = Form { ranks: 3, copy: "auto", progress: "thread" };
    pipe.into_iter().chain(cma).chain([thread]).collect()
}

/// The forms of a program that does not communicate: alone, and on several ranks with a progress
/// thread. The method of copying does not matter, as the program sends no messages.
pub fn local_forms() -> Vec<Form> {
    if is_long() {
        return forms();
    }
    let alone = Form { ranks: 1, copy: "auto", progress: "polling" };
    vec![alone, Form { ranks: 3, progress: "thread", ..alone }]
}

/// Whether to run the long cases (`SUIRO_TEST_LONG=1`).
pub fn is_long() -> bool {
    env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1")
}

/// Runs the program in one form, with strict checks.
pub fn run(program: &Path, arguments: &[&str], form: Form) -> harness::Outcome {
    run_in(&[], program, arguments, form)
}

/// Runs the program in one form, with strict checks and more environment variables.
pub fn run_in(
    environment: &[(&str, &str)], program: &Path, arguments: &[&str], form: Form,
) -> harness::Outcome {
    let ranks = form.ranks.to_string();
    let mut words = vec!["-n", &ranks, program.to_str().unwrap()];
    words.extend(arguments);
    let mut command = harness::mpirun(&words);
    command.env("CHECK_STRICT", "1").envs(environment.iter().copied());
    command.env("SUIRO_SHM_COPY", form.copy).env("SUIRO_PROGRESS", form.progress);
    harness::start(command).wait()
}
