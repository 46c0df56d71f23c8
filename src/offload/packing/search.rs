//! Packing by search: starts from the packings of other policies, then moves and swaps single puts
//! while that is faster in the model of flows.
//!
//! Bottom-Left forbids simultaneous puts in one direction. The model has their cost: two of them
//! together may be faster than one after the other, because a link has a higher rate than an engine.
//! The model also has the gain of unused engines, whose queues are not written.

use super::placement::Packing;
use super::put::{InterfaceModel, Put};

/// Evaluated transfers over all attempts: some milliseconds.
const TRANSFERS_MAX: usize = 20_000;
/// The least gain of a change, in nanoseconds, above rounding errors.
const GAIN_NS: f64 = 1.0;

/// The best packing found from the queues of other packings.
pub(crate) fn best(
    puts: &[Put], machine: &InterfaceModel, starts: impl Iterator<Item = Vec<Vec<usize>>>,
) -> Packing {
    let mut search = PackingSearch { puts, machine, left: TRANSFERS_MAX / puts.len().max(1) };
    let mut tried: Vec<(f64, Vec<Vec<usize>>)> =
        starts.map(|queues| (search.time_ns(&queues), queues)).collect();
    tried.sort_by(|one, two| one.0.total_cmp(&two.0));
    // Different starts lead to different local optima; the fastest starts come first.
    let ends = tried.into_iter().map(|start| search.improved(start));
    let best = ends.min_by(|one, two| one.0.total_cmp(&two.0));
    let queues = best.map_or_else(Vec::new, |(_, queues)| queues);
    Packing::stacked(queues, puts, machine)
}

struct PackingSearch<'a> {
    puts: &'a [Put],
    machine: &'a InterfaceModel,
    /// Packings that may still be evaluated.
    left: usize,
}

/// A time, and the queues that take it.
type TimedQueues = (f64, Vec<Vec<usize>>);

impl PackingSearch<'_> {
    fn time_ns(&mut self, queues: &[Vec<usize>]) -> f64 {
        self.left = self.left.saturating_sub(1);
        let packing = Packing { placements: Vec::new(), queues: queues.to_vec() };
        packing.predicted_ns(self.puts, self.machine)
    }

    /// Changes one put at a time while that is faster.
    fn improved(&mut self, mut best: TimedQueues) -> TimedQueues {
        while self.left > 0 {
            match self.better(&best) {
                Some(better) => best = better,
                None => break,
            }
        }
        best
    }

    /// The first change that is faster.
    fn better(&mut self, best: &TimedQueues) -> Option<TimedQueues> {
        let (time_ns, queues) = best;
        for engine in 0..queues.len() {
            for at in 0..queues[engine].len() {
                for to in 0..queues.len() {
                    for position in 0..=queues[to].len() {
                        for changed in changes(queues, (engine, at), (to, position)) {
                            if self.left == 0 {
                                return None;
                            }
                            let changed_ns = self.time_ns(&changed);
                            if changed_ns < time_ns - GAIN_NS {
                                return Some((changed_ns, changed));
                            }
                        }
                    }
                }
            }
        }
        None
    }
}

/// The queues with the put at one position moved to another, and with both puts swapped.
fn changes(
    queues: &[Vec<usize>], from: (usize, usize), to: (usize, usize),
) -> impl Iterator<Item = Vec<Vec<usize>>> {
    let is_same = from == to || (from.0 == to.0 && from.1 + 1 == to.1);
    let moved = (!is_same).then(|| {
        let mut queues = queues.to_vec();
        let put = queues[from.0].remove(from.1);
        let after = usize::from(from.0 == to.0 && from.1 < to.1);
        queues[to.0].insert(to.1 - after, put);
        queues
    });
    let swapped = (from < to && to.1 < queues[to.0].len()).then(|| {
        let mut queues = queues.to_vec();
        let (one, two) = (queues[from.0][from.1], queues[to.0][to.1]);
        queues[from.0][from.1] = two;
        queues[to.0][to.1] = one;
        queues
    });
    moved.into_iter().chain(swapped)
}
