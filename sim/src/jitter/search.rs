//! Search of the extra exchanges with the least mean time: how many in the middle, how many at the
//! end, and with which bits.
//!
//! In this model an extra exchange never makes a rank later, so more of them are never worse: what is
//! searched is the fewest whose mean is within [`TOLERANCE`] of the best.
//!
//! **Middle.** All sequences of bits while there are at most [`SEQUENCES_MAX`]; with more exchanges,
//! the best [`BEAM`] sequences with one exchange less, extended by each bit. Each sequence is tried with
//! ascending final exchanges, whose means for all numbers come from one pass.
//! **Final.** For the best middle sequence of each length, one exchange after the other takes the bit
//! with the least mean after it (greedy).

use super::{BitOrder, ButterflyTimes, ExtraBits, JitterModel, mean_s, sums_ps};
use crate::parallel::map;

/// Means within this factor of the best count as the best.
pub const TOLERANCE: f64 = 1.05;

/// The most middle sequences of one length that are all tried.
const SEQUENCES_MAX: usize = 64;
/// The number of middle sequences that are extended if there are more.
const BEAM: usize = 6;

/// The best extra exchanges that were found for numbers of them.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchCell {
    /// The bits.
    pub extras: ExtraBits,
    /// Mean time over ranks and runs, in seconds.
    pub mean_s: f64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct JitterSearch {
    /// Ranks, as a power of two.
    pub bits: u32,
    /// By number of middle exchanges, then by number of final exchanges, both from 0.
    pub cells: Vec<Vec<SearchCell>>,
    /// Number of runs that were simulated to the end.
    pub runs: u64,
}

impl JitterSearch {
    /// The least mean.
    pub fn best_s(&self) -> f64 {
        self.cells.iter().flatten().map(|cell| cell.mean_s).fold(f64::INFINITY, f64::min)
    }

    /// The fewest extra exchanges whose mean is within [`TOLERANCE`] of the best; among equally many
    /// those with the least mean.
    pub fn fewest(&self) -> Option<&SearchCell> {
        let most_s = self.best_s() * TOLERANCE;
        let number = |cell: &SearchCell| cell.extras.middle.len() + cell.extras.last.len();
        let near = self.cells.iter().flatten().filter(|cell| cell.mean_s <= most_s);
        near.min_by(|one, two| {
            number(one).cmp(&number(two)).then(one.mean_s.total_cmp(&two.mean_s))
        })
    }
}

/// Searches for `2^bits` ranks with at most these numbers of extra exchanges. `done` is called with
/// the share that has been searched.
pub fn search(
    bits: u32, middle_max: u32, last_max: u32, model: &JitterModel, threads: usize,
    done: &(dyn Fn(f64) + Sync),
) -> JitterSearch {
    let mut found = JitterSearch { bits, cells: Vec::new(), runs: 0 };
    let last = BitOrder::Ascending.bits(bits, 0, last_max).last;
    // Without two equal halves there is no middle.
    let middle_max = if bits < 2 { 0 } else { middle_max };
    let mut sequences: Vec<Vec<u32>> = vec![Vec::new()];
    for middle in 0..=middle_max {
        if middle > 0 {
            let each = sequences.iter().flat_map(|sequence| {
                (0..bits / 2).map(move |bit| [&sequence[..], &[bit]].concat())
            });
            sequences = each.collect();
        }
        let means = map(threads, sequences.len(), |index| {
            let extras = ExtraBits { middle: sequences[index].clone(), last: last.clone() };
            means_s(bits, &extras, model)
        });
        found.runs += sequences.len() as u64 * u64::from(model.runs(bits));
        let mut order: Vec<usize> = (0..sequences.len()).collect();
        // Equal means are in the order of the sequences.
        let at_end = |index: &usize| means[*index].last().copied().unwrap_or(f64::INFINITY);
        order.sort_by(|one, two| at_end(one).total_cmp(&at_end(two)));
        let mut cells = best_of(&sequences, &means, &last);
        refine(bits, &sequences[order[0]], &mut cells, model, threads);
        found.runs += u64::from(model.runs(bits));
        found.cells.push(cells);
        if sequences.len() * (bits / 2) as usize > SEQUENCES_MAX {
            order.truncate(BEAM);
            sequences = order.iter().map(|index| sequences[*index].clone()).collect();
        }
        done(f64::from(middle + 1) / f64::from(middle_max + 1));
    }
    found
}

/// For each number of final exchanges, the mean over ranks and runs.
fn means_s(bits: u32, extras: &ExtraBits, model: &JitterModel) -> Vec<f64> {
    let mut sums = vec![0; extras.last.len() + 1];
    for run in 0..model.runs(bits) {
        let of_run = sums_ps(bits, extras, model, run);
        sums.iter_mut().zip(of_run).for_each(|(sum, of_run)| *sum += of_run);
    }
    sums.into_iter().map(|sum| mean_s(sum, bits, model.runs(bits))).collect()
}

/// For each number of final exchanges, the best sequence.
fn best_of(sequences: &[Vec<u32>], means: &[Vec<f64>], last: &[u32]) -> Vec<SearchCell> {
    let best = |count: usize| {
        let all = sequences.iter().zip(means);
        let best = all.min_by(|(_, one), (_, two)| one[count].total_cmp(&two[count]));
        best.map(|(middle, means)| SearchCell {
            extras: ExtraBits { middle: middle.clone(), last: last[..count].to_vec() },
            mean_s: means[count],
        })
    };
    (0..=last.len()).filter_map(best).collect()
}

/// Replaces the cells that greedy final exchanges after `middle` improve.
fn refine(
    bits: u32, middle: &[u32], cells: &mut [SearchCell], model: &JitterModel, threads: usize,
) {
    let mut times = map(threads, model.runs(bits) as usize, |run| {
        let mut times = ButterflyTimes::new(bits, model, run as u32);
        times.run_to_final(middle);
        times
    });
    let mut last = Vec::new();
    for cell in cells.iter_mut().skip(1) {
        let sums = map(threads, bits as usize, |bit| -> u128 {
            times.iter().map(|times| times.sum_after_copy_ps(bit as u32)).sum()
        });
        let Some((bit, sum)) = (0..).zip(sums).min_by_key(|(_, sum)| *sum) else { return };
        times.iter_mut().for_each(|times| times.copy(bit));
        last.push(bit);
        let mean_s = mean_s(sum, bits, model.runs(bits));
        if mean_s < cell.mean_s {
            let extras = ExtraBits { middle: middle.to_vec(), last: last.clone() };
            *cell = SearchCell { extras, mean_s };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Noise, NoiseKind};

    /// Noise that is frequent enough for few ranks: 4 us in each 200 us.
    fn model() -> JitterModel {
        let noise = Noise::new(NoiseKind::Periodic, 200_000_000, 4_000_000, 1).unwrap();
        JitterModel { noise, runs: Some(8), ..JitterModel::paper() }
    }

    #[test]
    fn a_copy_happens_as_foretold() {
        let mut times = ButterflyTimes::new(9, &model(), 3);
        times.run_to_final(&[1]);
        for bit in [4, 0, 8] {
            let due = times.sum_after_copy_ps(bit);
            times.copy(bit);
            assert_eq!(times.sum_ps(), due);
        }
    }

    #[test]
    fn the_search_is_at_least_as_good_as_ascending_bits() {
        let found = search(8, 3, 6, &model(), 2, &|_| {});
        assert_eq!(found.cells.len(), 4);
        for (middle, cells) in (0..).zip(&found.cells) {
            assert_eq!(cells.len(), 7);
            for (last, cell) in (0..).zip(cells) {
                let due = BitOrder::Ascending.bits(8, middle, last);
                let due_s = means_s(8, &due, &model()).last().copied().unwrap();
                assert_eq!(
                    (cell.extras.middle.len(), cell.extras.last.len()),
                    (middle as usize, last as usize)
                );
                assert!(cell.mean_s <= due_s, "{middle} {last}: {cell:?} {due_s}");
                // The mean is that of the bits.
                let again_s = means_s(8, &cell.extras, &model()).last().copied().unwrap();
                assert_eq!(cell.mean_s, again_s);
            }
        }
        let fewest = found.fewest().unwrap();
        assert!(fewest.mean_s <= TOLERANCE * found.best_s());
        assert_eq!(found, search(8, 3, 6, &model(), 1, &|_| {}), "threads change nothing");
    }

    #[test]
    fn two_ranks_have_no_middle() {
        let found = search(1, 2, 2, &model(), 1, &|_| {});
        assert_eq!(found.cells.len(), 1);
    }
}
