//! Noise: times in which the operating system takes the processor from a rank.
//!
//! ```text
//!            0        phase             phase + period
//!   rank     ├──────────┤▒▒▒▒▒▒├────────────┤▒▒▒▒▒▒├────
//!                        length              length
//! ```
//!
//! Work goes on only outside of these interruptions. Work of length 0, such as noticing a message
//! without overhead, waits for the end of an interruption, too. Whether a send is work is up to the
//! user. The simulator has these interruptions in virtual time, a live job by `SUIRO_NOISE`.
//!
//! Beckman, Iskra, Yoshii and Coghlan, "The influence of operating systems on the performance of
//! collective operations at extreme scale", Cluster 2006, tell periodic noise at random phases from
//! noise that is synchronous on all ranks. Units: picoseconds.

use std::fmt;

use super::Random;

/// How the interruptions of different ranks, or of one rank, are related.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoiseKind {
    /// None.
    #[default]
    None,
    /// With a period; each rank has its own phase, drawn evenly from one period. No rank is
    /// interrupted before its phase.
    Periodic,
    /// As periodic, with one phase on all ranks.
    Synchronous,
    /// One in each period, at a time that is drawn for each period of each rank.
    Random,
}

impl NoiseKind {
    /// All kinds, with their names.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("none", Self::None),
        ("periodic", Self::Periodic),
        ("synchronous", Self::Synchronous),
        ("random", Self::Random),
    ];

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("none", |(name, _)| name)
    }
}

/// The interruptions of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    kind: NoiseKind,
    period_ps: u64,
    length_ps: u64,
    seed: u64,
}

/// The shortest period: with a shorter one, runs would take as long as what they simulate.
const PERIOD_MIN_PS: u64 = 1_000_000;

/// Picoseconds of a period or a length in microseconds; `None` if it is negative or more than an hour.
pub fn ps_of_us(us: f64) -> Option<u64> {
    (0.0..=3.6e9).contains(&us).then(|| (us * 1e6).round() as u64)
}

impl Noise {
    /// No interruptions.
    pub const NONE: Self = Self { kind: NoiseKind::None, period_ps: 1, length_ps: 0, seed: 0 };

    /// Interruptions of `length_ps`, one in each `period_ps`.
    ///
    /// # Errors
    /// The period is below a microsecond, or an interruption is not shorter than its period.
    pub fn new(kind: NoiseKind, period_ps: u64, length_ps: u64, seed: u64) -> Result<Self, String> {
        let us = |ps: u64| ps as f64 / 1e6;
        if period_ps < PERIOD_MIN_PS {
            return Err(format!("a noise period of {} us: expected at least 1 us", us(period_ps)));
        }
        if length_ps >= period_ps {
            let (length, period) = (us(length_ps), us(period_ps));
            return Err(format!(
                "a noise length of {length} us: expected less than the period of {period} us"
            ));
        }
        Ok(Self { kind, period_ps, length_ps, seed })
    }

    /// Whether ranks are never interrupted.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.kind == NoiseKind::None || self.length_ps == 0
    }

    /// The interruptions of a rank.
    #[inline]
    pub fn of_rank(&self, rank: u32) -> RankNoise {
        self.with_phase(rank, self.phase_ps(rank))
    }

    /// The begin of the first interruption of a rank; 0 if it is not the same in each period.
    pub fn phase_ps(&self, rank: u32) -> u64 {
        match self.kind {
            NoiseKind::None | NoiseKind::Random => 0,
            NoiseKind::Periodic => self.drawn(rank, 0).below(self.period_ps),
            NoiseKind::Synchronous => self.drawn(0, 0).below(self.period_ps),
        }
    }

    /// The interruptions of a rank whose [`Noise::phase_ps`] is known.
    #[inline]
    pub fn with_phase(&self, rank: u32, phase_ps: u64) -> RankNoise {
        RankNoise { noise: *self, rank, phase_ps }
    }

    /// The most time that `steps` steps with this work take one after the other.
    pub fn slowed_ps(&self, work_ps: u128, steps: u64) -> u128 {
        if self.is_none() {
            return work_ps;
        }
        let (period_ps, length_ps) = (u128::from(self.period_ps), u128::from(self.length_ps));
        work_ps * period_ps / (period_ps - length_ps) + 2 * length_ps * u128::from(steps + 1)
    }

    /// The same interruptions, drawn from another seed.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Random numbers of a period of a rank. They depend on nothing else, so ranks need no memory.
    #[inline]
    fn drawn(&self, rank: u32, period: u64) -> Random {
        let mut of_rank = Random::new(self.seed ^ (u64::from(rank) << 32));
        Random::new(of_rank.bits() ^ period)
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ps: u64| ps as f64 / 1e6;
        let Self { kind, period_ps, length_ps, seed } = self;
        if *kind == NoiseKind::None {
            return out.write_str(kind.name());
        }
        let (length, period) = (us(*length_ps), us(*period_ps));
        write!(out, "{} {length} us in {period} us, seed {seed}", kind.name())
    }
}

/// The interruptions of a rank.
#[derive(Clone, Copy, Debug)]
pub struct RankNoise {
    noise: Noise,
    rank: u32,
    phase_ps: u64,
}

impl RankNoise {
    /// When work that starts at `start_ps` and takes `work_ps` of the processor is done.
    #[inline]
    pub fn end_ps(&self, start_ps: u64, work_ps: u64) -> u64 {
        let end_ps = start_ps + work_ps;
        // Most work is done before the first interruption.
        if end_ps < self.phase_ps || self.noise.is_none() {
            return end_ps;
        }
        self.end_among(start_ps, work_ps)
    }

    fn end_among(&self, start_ps: u64, work_ps: u64) -> u64 {
        let (mut now_ps, mut left_ps) = (start_ps, work_ps);
        loop {
            let (begin_ps, end_ps) = self.next(now_ps);
            if now_ps < begin_ps {
                let free_ps = begin_ps - now_ps;
                if left_ps <= free_ps {
                    return now_ps + left_ps;
                }
                left_ps -= free_ps;
            }
            (now_ps, left_ps) = self.after_whole_periods(end_ps, left_ps);
        }
    }

    /// Works in whole periods, each of which has as much time for it, from the end of an interruption
    /// on; at least a part of the work is left.
    #[inline]
    fn after_whole_periods(&self, now_ps: u64, left_ps: u64) -> (u64, u64) {
        let Noise { kind, period_ps, length_ps, .. } = self.noise;
        let free_ps = period_ps - length_ps;
        if left_ps <= free_ps {
            return (now_ps, left_ps);
        }
        // A random interruption is alone between two multiples of the period.
        let to_begin_ps = match kind {
            NoiseKind::Random => now_ps.next_multiple_of(period_ps) - now_ps,
            _ => 0,
        };
        let left_ps = left_ps - to_begin_ps;
        let periods = left_ps.saturating_sub(1) / free_ps;
        (now_ps + to_begin_ps + periods * period_ps, left_ps - periods * free_ps)
    }

    /// The first interruption that ends after `now_ps`.
    #[inline]
    fn next(&self, now_ps: u64) -> (u64, u64) {
        let Noise { period_ps, length_ps, .. } = self.noise;
        let begin_ps = match self.noise.kind {
            NoiseKind::Random => {
                let period = now_ps / period_ps;
                let begin_ps = self.drawn_begin_ps(period);
                if now_ps < begin_ps + length_ps {
                    begin_ps
                } else {
                    self.drawn_begin_ps(period + 1)
                }
            }
            _ => match now_ps.checked_sub(self.phase_ps + length_ps) {
                None => self.phase_ps,
                // Most runs end before the second interruption.
                Some(since_ps) if since_ps < period_ps => self.phase_ps + period_ps,
                Some(since_ps) => self.phase_ps + (since_ps / period_ps + 1) * period_ps,
            },
        };
        (begin_ps, begin_ps + length_ps)
    }

    fn drawn_begin_ps(&self, period: u64) -> u64 {
        let Noise { period_ps, length_ps, .. } = self.noise;
        let offset_ps = self.noise.drawn(self.rank, period).below(period_ps - length_ps + 1);
        period * period_ps + offset_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn noise(kind: NoiseKind) -> Noise {
        Noise::new(kind, 10 * US, 3 * US, 7).unwrap()
    }

    /// The same, a microsecond at a time.
    fn slowly(noise: &RankNoise, start: u64, work: u64) -> u64 {
        let is_free = |now: u64| {
            let (begin, end) = noise.next(now);
            !(begin..end).contains(&now)
        };
        let (mut now, mut left) = (start, work);
        while left > 0 || work == 0 && !is_free(now) {
            left -= u64::from(left > 0 && is_free(now));
            now += 1;
        }
        now
    }

    #[test]
    fn work_goes_on_outside_of_interruptions() {
        for kind in [NoiseKind::Periodic, NoiseKind::Synchronous, NoiseKind::Random] {
            // Small numbers, so that one instant after the other can be examined.
            let noise = Noise { kind, period_ps: 50, length_ps: 7, seed: 3 };
            for rank in [0, 1, 9] {
                let noise = noise.of_rank(rank);
                for start in 0..160 {
                    for work in [0, 1, 5, 43, 44, 86, 130, 1000] {
                        let due = slowly(&noise, start, work);
                        assert_eq!(noise.end_ps(start, work), due, "{noise:?} {start} {work}");
                    }
                }
            }
        }
    }

    #[test]
    fn phases_are_unlike_unless_noise_is_synchronous() {
        let phases = |kind| -> Vec<u64> {
            let noise = noise(kind);
            (0..100).map(|rank| noise.of_rank(rank).phase_ps).collect()
        };
        let mut periodic = phases(NoiseKind::Periodic);
        assert!(periodic.iter().all(|phase| *phase < 10 * US));
        periodic.sort_unstable();
        periodic.dedup();
        assert_eq!(periodic.len(), 100);
        let synchronous = phases(NoiseKind::Synchronous);
        assert!(synchronous.iter().all(|phase| *phase == synchronous[0]));
    }

    #[test]
    fn without_noise_work_takes_its_time() {
        assert_eq!(Noise::NONE.of_rank(3).end_ps(5, 4), 9);
        assert_eq!(Noise::new(NoiseKind::Periodic, US, 0, 1).unwrap().of_rank(0).end_ps(5, 0), 5);
    }

    #[test]
    fn interruptions_are_shorter_than_their_period() {
        let of = |period, length| Noise::new(NoiseKind::Periodic, period, length, 1);
        assert!(of(US, US).unwrap_err().contains("less than the period of 1 us"));
        assert!(of(US - 1, 1).unwrap_err().contains("at least 1 us"));
    }
}
