//! All runs of a system, or the shortest wrong run as text.

use stateright::{Checker, Model};

use super::model::System;

/// The result of a search.
#[derive(Debug)]
pub enum Found {
    /// All runs are right; the number of states.
    Safe(usize),
    /// Too many states; the visited ones are right.
    Limit(usize),
    /// The fault, and the events that lead to it.
    Fault(String, Vec<String>),
}

/// Visits the runs of `system`, up to about `states` states.
pub fn search(system: &System, states: usize) -> Found {
    let checker = system.clone().checker().target_state_count(states).spawn_bfs().join();
    let Some(path) = checker.discovery("nothing goes wrong") else {
        return match checker.state_count() >= states {
            true => Found::Limit(checker.unique_state_count()),
            false => Found::Safe(checker.unique_state_count()),
        };
    };
    let mut trace = Vec::new();
    let mut why = String::new();
    for (state, event) in path.into_vec() {
        match event {
            Some(event) => drop(system.after(&state, event, Some(&mut trace))),
            None => why = state.fault.expect("it is the last state"),
        }
    }
    Found::Fault(why, trace)
}

/// Visits all runs and prints the number of states.
///
/// # Panics
/// If a run is wrong, or there are more than `states` states.
pub fn expect_safe(name: &str, system: &System, states: usize) {
    if let Found::Limit(states) = expect_right(name, system, states) {
        panic!("{name}: more than {states} states");
    }
}

/// Visits some or all runs and prints the number of states.
///
/// # Panics
/// If a run is wrong.
pub fn expect_right(name: &str, system: &System, states: usize) -> Found {
    let found = search(system, states);
    match &found {
        Found::Safe(states) => println!("{name}: all {states} states are right"),
        Found::Limit(states) => println!("{name}: {states} states are right, there are more"),
        Found::Fault(why, trace) => panic!("{name}: {why}\n{}", trace.join("\n")),
    }
    found
}

/// Prints the shortest wrong run.
///
/// # Panics
/// If all runs are right, or the fault does not contain `why`.
pub fn expect_fault(name: &str, system: &System, why: &str) {
    match search(system, 1_000_000) {
        Found::Fault(fault, trace) => {
            println!("{name}:\n{}\n=> {fault}\n", trace.join("\n"));
            assert!(fault.contains(why), "{name}: found {fault:?} instead of {why:?}");
        }
        other => panic!("{name}: no fault, {other:?}"),
    }
}
