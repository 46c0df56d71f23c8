//! The allreduce with redundant exchanges under noise: how its mean time depends on the number of
//! ranks and of extra exchanges, and on their partners.
//!
//! ```text
//!   exchanges      bits 0 .. d-1     middle       bits d .. k-1     final
//!   on 2^k ranks   combine           copy         combine           copy       d = floor(k / 2)
//!   time           max of both       min of both  max of both       min of both
//! ```
//!
//! In an exchange over bit `b` the ranks `p` and `p xor 2^b` send each other what they have. In a
//! *copying* exchange both have the same partial result, and a rank goes on with the copy that it has
//! first. H. Matsumoto and R. Suda, "A collective communication algorithm that alleviates jitter by
//! redundant data exchanges in the middle of the butterfly" (in Japanese; University of Tokyo); for
//! final exchanges alone, the same authors, IPSJ SIG HPC 137, 2012. Their figure 3 is the mean time
//! over the ranks, for M middle and up to 20 final exchanges.
//!
//! **What the paper says and what is declared here.** Its latency, bandwidth of network and memory,
//! period and length of noise are [`LoggpRates::PAPER`](crate::network::LoggpRates::PAPER) and
//! [`JitterModel::paper`]. It says neither the length of a message nor how noise acts. Here noise is
//! periodic with a random phase, no rank is interrupted when it starts, and a message that arrives in
//! an interruption of its receiver is noticed at its end ([`noise`](crate::noise)). With these rules the
//! knees of figure 3 appear for messages of 256 bytes, so that is the default; it is a fit, and the
//! times below and above the knees are no evidence about the settings of the paper.
//!
//! These times are those of the library's schedules of `allreduce::redundant` in
//! [`executor`](crate::executor) (`tests/executors.rs`); this module needs only two numbers for a rank.

pub mod figure;
pub mod search;

pub use mpi_abi::mpi::collective::algorithms::allreduce::extra_rounds::{BitOrder, ExtraBits};

use crate::network::LoggpRates;
use crate::noise::{Noise, NoiseKind};
use crate::parallel::map;

/// Network, noise and length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitterModel {
    /// Rates. Overheads and gaps are not simulated, and ports not shared.
    pub network: LoggpRates,
    /// Interruptions. Each run has its own seed.
    pub noise: Noise,
    /// Length of the operand.
    pub bytes: u64,
    /// Number of runs, over which times are averaged; `None`: as many as give 2^22 ranks in all, from
    /// 4 to 64. Between few ranks and many, a run is early or late as a whole.
    pub runs: Option<u32>,
    /// The seed of the first run.
    pub seed: u64,
}

/// Period and length of the noise of the paper: 10^-2 s and 10^-4 s.
pub const PAPER_NOISE_PS: (u64, u64) = (10_000_000_000, 100_000_000);

/// The most ranks, as a power of two.
pub const BITS_MAX: u32 = 20;

impl JitterModel {
    /// The figures of the paper, with messages of 256 bytes.
    pub fn paper() -> Self {
        let (period_ps, length_ps) = PAPER_NOISE_PS;
        let noise = Noise::new(NoiseKind::Periodic, period_ps, length_ps, 1);
        Self {
            network: LoggpRates::PAPER,
            noise: noise.unwrap_or(Noise::NONE),
            bytes: 256,
            runs: None,
            seed: 1,
        }
    }

    /// Number of runs for `2^bits` ranks.
    pub fn runs(&self, bits: u32) -> u32 {
        self.runs.unwrap_or_else(|| (1 << 22 >> bits).clamp(4, 64))
    }
}

/// The times of all ranks in one run.
#[derive(Clone)]
pub(crate) struct ButterflyTimes {
    noise: Noise,
    phases_ps: Vec<u64>,
    ends_ps: Vec<u64>,
    /// Latency and bytes of a message, and the reduction of an operand.
    transfer_ps: u64,
    reduction_ps: u64,
}

impl ButterflyTimes {
    /// `2^bits` ranks that start.
    pub(crate) fn new(bits: u32, model: &JitterModel, run: u32) -> Self {
        let noise = model.noise.with_seed(model.seed.wrapping_add(u64::from(run)));
        let ranks = 1 << bits;
        Self {
            noise,
            phases_ps: (0..ranks).map(|rank| noise.phase_ps(rank)).collect(),
            ends_ps: vec![0; ranks as usize],
            transfer_ps: model.network.latency_ps + model.bytes * model.network.byte_ps,
            reduction_ps: model.bytes * model.network.reduced_ps,
        }
    }

    /// Times of all ranks.
    pub(crate) fn ends_ps(&self) -> &[u64] {
        &self.ends_ps
    }

    /// Sum of the times of all ranks.
    pub(crate) fn sum_ps(&self) -> u128 {
        self.ends_ps.iter().map(|end_ps| u128::from(*end_ps)).sum()
    }

    /// Calls `then` with the two ranks of each pair.
    #[inline]
    fn pairs(ranks: usize, bit: u32, mut then: impl FnMut(usize, usize)) {
        let half = 1 << bit;
        for low in (0..ranks).step_by(2 * half) {
            (low..low + half).for_each(|rank| then(rank, rank + half));
        }
    }

    /// When a rank has noticed a message that its partner sent at `sent_ps`.
    #[inline]
    fn noticed_ps(&self, rank: usize, sent_ps: u64) -> u64 {
        let noise = self.noise.with_phase(rank as u32, self.phases_ps[rank]);
        noise.end_ps(sent_ps + self.transfer_ps, 0)
    }

    /// Partners combine their partial results.
    pub(crate) fn combine(&mut self, bit: u32) {
        Self::pairs(self.ends_ps.len(), bit, |one, two| {
            let (one_ps, two_ps) = (self.ends_ps[one], self.ends_ps[two]);
            for (rank, own_ps, sent_ps) in [(one, one_ps, two_ps), (two, two_ps, one_ps)] {
                let start_ps = own_ps.max(self.noticed_ps(rank, sent_ps));
                let noise = self.noise.with_phase(rank as u32, self.phases_ps[rank]);
                self.ends_ps[rank] = noise.end_ps(start_ps, self.reduction_ps);
            }
        });
    }

    /// Partners go on with what they have first.
    pub(crate) fn copy(&mut self, bit: u32) {
        Self::pairs(self.ends_ps.len(), bit, |one, two| {
            let (one_ps, two_ps) = (self.ends_ps[one], self.ends_ps[two]);
            // A message never helps the earlier of two ranks.
            if one_ps < two_ps {
                self.ends_ps[two] = two_ps.min(self.noticed_ps(two, one_ps));
            } else {
                self.ends_ps[one] = one_ps.min(self.noticed_ps(one, two_ps));
            }
        });
    }

    /// The sum of the times after a copying exchange, which does not happen.
    pub(crate) fn sum_after_copy_ps(&self, bit: u32) -> u128 {
        let mut sum_ps = 0;
        Self::pairs(self.ends_ps.len(), bit, |one, two| {
            let (one_ps, two_ps) = (self.ends_ps[one], self.ends_ps[two]);
            let (late, early_ps, late_ps) =
                if one_ps < two_ps { (two, one_ps, two_ps) } else { (one, two_ps, one_ps) };
            let copied_ps = late_ps.min(self.noticed_ps(late, early_ps));
            sum_ps += u128::from(early_ps) + u128::from(copied_ps);
        });
        sum_ps
    }

    /// All exchanges before the final ones.
    pub(crate) fn run_to_final(&mut self, middle: &[u32]) {
        let bits = self.ends_ps.len().ilog2();
        (0..bits / 2).for_each(|bit| self.combine(bit));
        middle.iter().for_each(|bit| self.copy(*bit));
        (bits / 2..bits).for_each(|bit| self.combine(bit));
    }
}

/// Mean over ranks and runs, in seconds.
pub(crate) fn mean_s(sum_ps: u128, bits: u32, runs: u32) -> f64 {
    sum_ps as f64 / 1e12 / f64::from(1_u32 << bits) / f64::from(runs)
}

/// For each number of final exchanges, from none to all, the sum over the ranks of one run.
pub(crate) fn sums_ps(bits: u32, extras: &ExtraBits, model: &JitterModel, run: u32) -> Vec<u128> {
    let mut times = ButterflyTimes::new(bits, model, run);
    times.run_to_final(&extras.middle);
    let mut sums = vec![times.sum_ps()];
    for bit in &extras.last {
        times.copy(*bit);
        sums.push(times.sum_ps());
    }
    sums
}

/// Times of the ranks of one run, in picoseconds.
pub fn ends_ps(bits: u32, extras: &ExtraBits, model: &JitterModel, run: u32) -> Vec<u64> {
    let mut times = ButterflyTimes::new(bits, model, run);
    times.run_to_final(&extras.middle);
    extras.last.iter().for_each(|bit| times.copy(*bit));
    times.ends_ps().to_vec()
}

/// A number of ranks with numbers of extra exchanges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitterCase {
    /// Ranks, as a power of two.
    pub bits: u32,
    /// The copying exchanges.
    pub extras: ExtraBits,
}

/// A line of the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JitterRow {
    /// Number of ranks.
    pub ranks: u32,
    /// Number of middle exchanges.
    pub middle: u32,
    /// Number of final exchanges.
    pub last: u32,
    /// Mean time over ranks and runs, in seconds.
    pub mean_s: f64,
}

/// The mean times of all cases, in order.
///
/// # Errors
/// An extra exchange uses a bit in which partners do not have the same bytes.
pub fn rows(
    cases: &[JitterCase], model: &JitterModel, threads: usize, done: &(dyn Fn() + Sync),
) -> Result<Vec<JitterRow>, String> {
    cases.iter().try_for_each(JitterCase::check)?;
    // The largest first, so that no thread has one left at the end.
    let mut parts: Vec<(usize, u32)> = (cases.iter().enumerate())
        .flat_map(|(index, case)| (0..model.runs(case.bits)).map(move |run| (index, run)))
        .collect();
    parts.sort_by_key(|(index, _)| std::cmp::Reverse(cases[*index].bits));
    let sums = map(threads, parts.len(), |part| {
        let (index, run) = parts[part];
        let sums = sums_ps(cases[index].bits, &cases[index].extras, model, run);
        done();
        sums.last().copied().unwrap_or(0)
    });
    let mut of_cases = vec![0; cases.len()];
    parts.iter().zip(sums).for_each(|((index, _), sum)| of_cases[*index] += sum);
    let of_case = |(case, sum): (&JitterCase, u128)| JitterRow {
        ranks: 1 << case.bits,
        middle: case.extras.middle.len() as u32,
        last: case.extras.last.len() as u32,
        mean_s: mean_s(sum, case.bits, model.runs(case.bits)),
    };
    Ok(cases.iter().zip(of_cases).map(of_case).collect())
}

impl JitterCase {
    fn check(&self) -> Result<(), String> {
        let Self { bits, extras } = self;
        if *bits > BITS_MAX {
            return Err(format!("2^{bits} ranks: expected at most 2^{BITS_MAX}"));
        }
        for (name, list, end) in
            [("middle", &extras.middle, bits / 2), ("final", &extras.last, *bits)]
        {
            if let Some(bit) = list.iter().find(|bit| **bit >= end) {
                return Err(format!(
                    "bit {bit} of a {name} exchange on 2^{bits} ranks: expected a bit below {end}"
                ));
            }
        }
        Ok(())
    }
}
