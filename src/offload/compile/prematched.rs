//! Three counters for a send and a receive, as in pre-matched send and receive: for comparison.
//!
//! ```text
//!   receive   posted: all it waits on is done ──> ready-to-receive
//!             arrived: the message is there   ──> adds to each step that waits on it
//!   send      all it waits on is done, and the receiver is ready ──> put
//!             and then: the end of the put    ──> adds to each step that waits on it
//! ```
//!
//! Copies and arithmetic have one counter each, like sends. The end has none of its own: it is the
//! lowest digit of the last counter.
//!
//! Schneider, Hoefler, Grant, Barrett and Brightwell, "Protocols for fully offloaded collective
//! operations on accelerated network adaptors", ICPP 2013, as counted by Morie et al. (`digits`).

use super::super::{CounterAdd, CounterId};
use super::dependency_graph::{Arrival, ArrivalKind, CounterTask, TaskKind};
use super::digits::Digits;

/// The digits of a counter, from the highest: what its work needs, what arrives then, the end.
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

    /// Its work starts.
    fn due(self) -> u64 {
        self.needs * self.weight_of_needs()
    }

    /// What its work does is done, or its message is there.
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
        return Err(format!("{} counters are needed, too many to name", counters.len()));
    }
    // Of what somebody waits for, the end need not know; but of messages without bytes, as nothing
    // tells that they are sent.
    let is_last = |arrival: &usize| dependents[*arrival].is_empty();
    let is_untold = |task: &usize| matches!(tasks[*task].kind, TaskKind::Step { done: None, .. });
    let last = counters.len() - 1;
    let untold = (0..tasks.len()).filter(is_untold);
    counters[last].ends =
        ((0..arrivals.len()).filter(is_last).count() + untold.clone().count()) as u64;
    let mut plan = Digits {
        due: (0..tasks.len()).map(|task| (task as CounterId, counters[task].due())).collect(),
        full: counters.iter().map(|counter| counter.done() + counter.ends).collect(),
        ..Digits::default()
    };
    let end = CounterAdd { counter: last as CounterId, value: 1 };
    plan.chained.extend(untold.map(|task| (task as CounterId, counters[task].due(), end)));
    for (index, arrival) in arrivals.iter().enumerate() {
        let counter = counters[at[index]];
        let name = at[index] as CounterId;
        if arrival.kind == ArrivalKind::Ready {
            plan.adds.push(CounterAdd { counter: name, value: counter.weight_of_needs() });
            continue;
        }
        plan.adds.push(CounterAdd { counter: name, value: counter.weight_of_own() });
        let mut then = |add| plan.chained.push((name, counter.done(), add));
        for &task in &dependents[index] {
            let value = counters[task].weight_of_needs();
            then(CounterAdd { counter: task as CounterId, value });
        }
        if dependents[index].is_empty() {
            then(end);
        }
    }
    Ok(plan)
}
