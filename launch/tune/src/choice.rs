//! From times to rules: medians, winners, and the ranges of bytes in which they win.
//!
//! This module knows no job and no file.

use crate::plan::{JobLayout, TunedCall};
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;

/// Times of a call by one algorithm, one of each round, in seconds.
pub type RoundTimes = Vec<f64>;

/// The middle of the times; of an even number, the mean of both. `None` if there is no time.
pub fn median(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        len if len % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// How a call is faster by an algorithm than by the default.
#[derive(Clone, Debug, PartialEq)]
pub struct Winner {
    /// The call.
    pub call: TunedCall,
    /// The communicator.
    pub on: JobLayout,
    /// The setting.
    pub algorithm: &'static str,
    /// Time of a call in seconds.
    pub time_s: f64,
    /// Time by the default, in seconds.
    pub default_s: f64,
}

/// The medians of an algorithm and of the default, if the algorithm is faster: by more than the part
/// `margin` of the default's median, and in all rounds, except the slowest fifth of them, faster than the
/// default in any round. Where a busy machine makes times vary, nothing is faster.
pub fn faster(times: &[f64], default: &[f64], margin: f64) -> Option<(f64, f64)> {
    let (time_s, default_s) = (median(times)?, median(default)?);
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let slow = sorted[sorted.len() - 1 - sorted.len() / SLOW_PART];
    let is_faster =
        time_s < default_s * (1.0 - margin) && default.iter().all(|default| slow < *default);
    is_faster.then_some((time_s, default_s))
}

/// One of so many rounds may be slow by chance.
const SLOW_PART: usize = 5;

/// The algorithm with the shortest median, with that and the default's, if it is [`faster`].
pub fn best<'a>(
    default: &[f64], others: impl Iterator<Item = (&'static str, &'a RoundTimes)>, margin: f64,
) -> Option<(&'static str, f64, f64)> {
    let medians = others.filter_map(|(name, times)| Some((name, times, median(times)?)));
    let (name, times, _) = medians.min_by(|one, other| one.2.total_cmp(&other.2))?;
    faster(times, default, margin).map(|(time_s, default_s)| (name, time_s, default_s))
}

/// A rule: adjacent lengths with one winner.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedRule {
    /// The first and the last length in bytes; none in a barrier.
    pub bytes: Option<(usize, usize)>,
    /// The winners at the measured lengths, ascending; at least one.
    pub winners: Vec<Winner>,
}

/// The rules for one operation on one communicator, of the winners at some of the lengths `measured`, which
/// ascend.
///
/// Between two lengths, the limit is their geometric mean. A rule for the shortest length is for shorter
/// ones, too; one for the longest is for lengths up to twice of it, exclusively.
pub fn rules(measured: &[usize], winners: &[Winner]) -> Vec<TunedRule> {
    let at = |bytes: usize| winners.iter().find(|winner| winner.call.bytes == bytes);
    let mut rules: Vec<TunedRule> = Vec::new();
    let mut before: Option<&Winner> = None;
    for (index, bytes) in measured.iter().enumerate() {
        let winner = at(*bytes);
        if let Some(winner) = winner {
            let end = match measured.get(index + 1) {
                Some(next) => limit(*bytes, *next),
                None => bytes.saturating_mul(2).saturating_sub(1),
            };
            match rules.last_mut() {
                Some(rule) if before.is_some_and(|it| it.algorithm == winner.algorithm) => {
                    rule.bytes = rule.bytes.map(|(from, _)| (from, end));
                    rule.winners.push(winner.clone());
                }
                _ => {
                    let from = match index {
                        0 => 0,
                        _ => limit(measured[index - 1], *bytes) + 1,
                    };
                    let is_barrier = winner.call.operation == CollectiveOperation::Barrier;
                    let bytes = Some((from, end)).filter(|_| !is_barrier);
                    rules.push(TunedRule { bytes, winners: vec![winner.clone()] });
                }
            }
        }
        before = winner;
    }
    rules
}

/// The last length that is nearer to the shorter one of two, as a ratio.
fn limit(shorter: usize, longer: usize) -> usize {
    (shorter as f64 * longer as f64).sqrt() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: JobLayout = JobLayout { ranks: 4, ranks_per_host: 4 };

    fn winner(operation: CollectiveOperation, bytes: usize, algorithm: &'static str) -> Winner {
        let call = TunedCall { operation, bytes };
        Winner { call, on: ON, algorithm, time_s: 1e-6, default_s: 2e-6 }
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn the_best_must_beat_the_default_by_the_margin() {
        let (slow, fast) = (vec![9.0, 9.2, 9.1], vec![8.0, 8.1, 1.0]);
        let best = |default: &[f64], margin| {
            best(default, [("slow", &slow), ("fast", &fast)].into_iter(), margin)
        };
        assert_eq!(best(&[10.0; 3], 0.05), Some(("fast", 8.0, 10.0)));
        assert_eq!(best(&[10.0; 3], 0.2), None);
        assert_eq!(best(&[8.2; 3], 0.05), None);
        assert_eq!(best(&[], 0.05), None);
    }

    #[test]
    fn an_algorithm_is_faster_in_nearly_all_rounds_than_the_default_in_any() {
        let is_faster = |times: &[f64], default: &[f64]| faster(times, default, 0.05).is_some();
        let default = [10.0, 11.0, 12.0, 13.0, 14.0];
        assert!(is_faster(&[8.0, 9.0, 9.5, 9.9, 50.0], &default));
        assert!(!is_faster(&[8.0, 9.0, 9.5, 10.5, 50.0], &default));
        assert!(!is_faster(&[8.0, 9.0, 50.0], &default));
        assert!(!is_faster(&[8.0; 5], &[50.0, 50.0, 50.0, 50.0, 7.0]));
        assert!(!is_faster(&[], &default) && !is_faster(&[8.0], &[]));
    }

    #[test]
    fn adjacent_lengths_with_one_winner_are_one_rule() {
        let bcast = |bytes, name| winner(CollectiveOperation::Bcast, bytes, name);
        let measured = [8, 32, 128, 512, 2048];
        let winners =
            [bcast(8, "chain"), bcast(32, "chain"), bcast(128, "linear"), bcast(2048, "linear")];
        let rules = rules(&measured, &winners);
        let found: Vec<_> = rules
            .iter()
            .map(|rule| (rule.bytes.unwrap(), rule.winners[0].algorithm, rule.winners.len()))
            .collect();
        let expected =
            [((0, 64), "chain", 2), ((65, 256), "linear", 1), ((1025, 4095), "linear", 1)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_barrier_has_no_bytes() {
        let found = rules(&[0], &[winner(CollectiveOperation::Barrier, 0, "tree")]);
        assert_eq!((found.len(), found[0].bytes), (1, None));
        assert_eq!(rules(&[0], &[]), []);
    }
}
