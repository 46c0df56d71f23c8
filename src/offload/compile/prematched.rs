//! Three counters for a send and a receive, as in pre-matched sends and receives, for comparison.
//!
//! ```text
//!   receive   all that it waits on has completed ──> ready-to-receive
//!             the message has arrived            ──> adds to each step that waits on it
//!   send      all that it waits on has completed, and the receiver is ready ──> put
//!             the put has completed              ──> adds to each step that waits on it
//! ```
//!
//! Copies and reductions have one counter each, like sends. The end of the instance has no counter:
//! it is the lowest digit of the last one.
//!
//! Schneider, Hoefler, Grant, Barrett and Brightwell, "Protocols for fully offloaded collective
//! operations on accelerated network adaptors", ICPP 2013, as counted by Morie et al. (`digits`).

use super::dependency_graph::{Arrival, ArrivalKind, CounterTask, TaskKind};
use super::digits::Digits;
use crate::offload::program::{CounterAdd, CounterId};

/// The digits of a counter, from the highest: arrivals that its work needs, the completion of the
/// work, the end of the instance.
#[derive(Clone, Copy, Default)]
struct Counter {
    needs: u64,
    own: u64,
    ends: u64,
}

impl Counter {
    fn weight_of_needs(self) -> u64 {
        (1 + self.own) * self.weight_of_own()
    }

    fn weight_of_own(self) -> u64 {
        1 + self.ends
    }

    /// The level that starts its work.
    fn due(self) -> u64 {
        self.needs * self.weight_of_needs()
    }

    /// The level at which its work has completed or its message has arrived.
    fn done(self) -> u64 {
        self.due() + self.own * self.weight_of_own()
    }
}

/// Counters for all arrivals of a rank and for its tasks.
///
/// # Errors
/// A sentence if there are too many counters.
pub(super) fn count(arrivals: &[Arrival], tasks: &[CounterTask]) -> Result<Digits, String> {
    let mut dependents = vec![Vec::new(); arrivals.len()];
    let mut counters: Vec<Counter> = Vec::new();
    let mut at = vec![0; arrivals.len()];
    for (index, task) in tasks.iter().enumerate() {
        let mut needs = task.needs.clone();
        needs.sort_unstable();
        needs.dedup();
        counters.push(Counter { needs: needs.len() as u64, ..Counter::default() });
        for need in needs {
            dependents[need as usize].push(index);
            if arrivals[need as usize].kind == ArrivalKind::Ready {
                at[need as usize] = index;
            }
        }
        if let TaskKind::Step { done: Some(done), .. } = task.kind {
            at[done as usize] = index;
            counters[index].own = 1;
        }
    }
    for (arrival, at) in arrivals.iter().zip(&mut at) {
        if arrival.kind == ArrivalKind::Message {
            *at = counters.len();
            counters.push(Counter { own: 1, ..Counter::default() });
        }
    }
    if counters.is_empty() {
        counters.push(Counter::default());
    }
    if counters.len() > CounterId::MAX.into() {
        return Err(format!(
            "the program needs {} counters, more than their numbers can name",
            counters.len()
        ));
    }
    // The end counts what no other step waits for, and messages without bytes, which have no local
    // completion.
    let is_last = |arrival: &usize| dependents[*arrival].is_empty();
    let is_silent = |task: &usize| matches!(tasks[*task].kind, TaskKind::Step { done: None, .. });
    let last = counters.len() - 1;
    let silent = (0..tasks.len()).filter(is_silent);
    counters[last].ends =
        ((0..arrivals.len()).filter(is_last).count() + silent.clone().count()) as u64;
    let mut plan = Digits {
        due: (0..tasks.len()).map(|task| (task as CounterId, counters[task].due())).collect(),
        full: counters.iter().map(|counter| counter.done() + counter.ends).collect(),
        ..Digits::default()
    };
    let end = CounterAdd { counter: last as CounterId, value: 1 };
    plan.chained.extend(silent.map(|task| (task as CounterId, counters[task].due(), end)));
    for (index, arrival) in arrivals.iter().enumerate() {
        let counter = counters[at[index]];
        let name = at[index] as CounterId;
        if arrival.kind == ArrivalKind::Ready {
            plan.adds.push(CounterAdd { counter: name, value: counter.weight_of_needs() });
            continue;
        }
        plan.adds.push(CounterAdd { counter: name, value: counter.weight_of_own() });
        let mut chain = |add| plan.chained.push((name, counter.done(), add));
        for &task in &dependents[index] {
            let value = counters[task].weight_of_needs();
            chain(CounterAdd { counter: task as CounterId, value });
        }
        if dependents[index].is_empty() {
            chain(end);
        }
    }
    Ok(plan)
}
