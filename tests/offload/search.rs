//! All runs of a system, or the shortest that goes wrong, to be read.

use stateright::{Checker, Model};

use super::model::System;

/// What a search has found.
#[derive(Debug)]
pub enum Found {
    /// All runs go right; that was so many states.
    Safe(usize),
    /// Not all runs were looked at; those that were, go right.
    Limit(usize),
    /// What goes wrong, and how it comes to that.
    Fault(String, Vec<String>),
}

/// Looks at all runs of `system`, of at most about `states` states.
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

/// Looks at all runs and prints how many states that was.
///
/// # Panics
/// If one goes wrong, or they are more than `states`.
pub fn expect_safe(name: &str, system: &System, states: usize) {
    if let Found::Limit(states) = expect_right(name, system, states) {
        panic!("{name}: more than {states} states");
    }
}

/// Looks at runs and prints how many states that was, which may be a part of them.
///
/// # Panics
/// If one goes wrong.
pub fn expect_right(name: &str, system: &System, states: usize) -> Found {
    let found = search(system, states);
    match &found {
        Found::Safe(states) => println!("{name}: all {states} states are right"),
        Found::Limit(states) => println!("{name}: {states} states are right, there are more"),
        Found::Fault(why, trace) => panic!("{name}: {why}\n{}", trace.join("\n")),
    }
    found
}

/// Prints the shortest run that goes wrong.
///
/// # Panics
/// If all are right, or it does not go wrong with the words `why`.
pub fn expect_fault(name: &str, system: &System, why: &str) {
    match search(system, 1_000_000) {
        Found::Fault(fault, trace) => {
            println!("{name}:\n{}\n=> {fault}\n", trace.join("\n"));
            assert!(fault.contains(why), "{name}: found {fault:?} instead of {why:?}");
        }
        other => panic!("{name}: no fault, {other:?}"),
    }
}
