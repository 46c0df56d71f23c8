//! Packing by search: takes the best of all other policies, then moves and swaps single puts as
//! long as the model of flows says that this is faster.
//!
//! Where Bottom-Left forbids puts in one direction at the same time, the model knows what that
//! costs: two of them together may be faster than one alone, as a link passes more than an engine
//! sends. It also weighs the engines that are left alone, and so need not be written to.

use super::{InterfaceModel, Packing, PackingPolicy, Put};

/// So many transfers are looked at, over all attempts: some milliseconds.
const TRANSFERS_MAX: usize = 20_000;
/// What a change has to gain, in nanoseconds, so that rounding is no reason for one.
const GAIN_NS: f64 = 1.0;

/// What all other policies do, improved.
pub(crate) fn best(puts: &[Put], machine: &InterfaceModel) -> Packing {
    let given = PackingPolicy::ALL.into_iter().filter(|policy| *policy != PackingPolicy::Best);
    let queues = given.map(|policy| Packing::new(policy, puts, machine).queues);
    let mut search = PackingSearch { puts, machine, left: TRANSFERS_MAX / puts.len().max(1) };
    let mut tried: Vec<(f64, Vec<Vec<usize>>)> =
        queues.map(|queues| (search.time_ns(&queues), queues)).collect();
    tried.sort_by(|one, two| one.0.total_cmp(&two.0));
    // From unlike beginnings the search ends in unlike places; the most promising come first.
    let ends = tried.into_iter().map(|start| search.improved(start));
    let best = ends.min_by(|one, two| one.0.total_cmp(&two.0));
    let queues = best.map_or_else(Vec::new, |(_, queues)| queues);
    Packing::stacked(queues, puts, machine)
}

struct PackingSearch<'a> {
    puts: &'a [Put],
    machine: &'a InterfaceModel,
    /// So many packings may still be looked at.
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

    /// Changes one put at a time while that helps.
    fn improved(&mut self, mut best: TimedQueues) -> TimedQueues {
        while self.left > 0 {
            match self.better(&best) {
                Some(better) => best = better,
                None => break,
            }
        }
        best
    }

    /// The first change found that takes less time.
    fn better(&mut self, best: &TimedQueues) -> Option<TimedQueues> {
        let (time_ns, queues) = best;
        for engine in 0..queues.len() {
            for at in 0..queues[engine].len() {
                for to in 0..queues.len() {
                    for place in 0..=queues[to].len() {
                        for changed in changes(queues, (engine, at), (to, place)) {
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

/// The put at one place moved to another, and the two swapped.
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
