//! Laws of resources over the number of ranks, for operations that are too large to compile.
//!
//! ```text
//!   resource
//!      │            ▪ v + d (n - 128)      by rank: twice as much more with each doubling
//!      │        ▪
//!      │     ▪  ▫ ▫ v + d log2(n / 128)    by doubling: as much more each time
//!      │   ▪ ▫
//!      └──┴──┴──┴───> n
//!        32 64 128
//! ```
//!
//! A law comes from 32, 64 and 128 ranks, and is tested on 96. It is a curve without the steps of the
//! true one, so the numbers that it gives are about right, not exact.
//!
//! The counters of tanks follow the bits of all levels, of which a counter has 61 beside its carry: on as
//! few ranks as here, they may still fit in one counter.

use std::fmt;

use mpi_abi::offload::compile::{Rules, SingleSource};
use mpi_abi::offload::resources::Resources;
use mpi_abi::offload::{Program, Scheme};

use super::{OffloadedCall, resources};
use crate::collective::{CollectiveCall, ELEMENT};

/// Numbers of ranks that make a law.
const SAMPLES: [u32; 3] = [32, 64, 128];

/// The number of ranks that tests a law.
const PROOF: u32 = 96;

/// Usable bits of a counter after the carry of another one, and of the first counter.
const BITS: [f64; 2] = [61.0, 62.0];

/// The growth of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// The same for all numbers of ranks.
    Constant(f64),
    /// With each doubling of the ranks, `more`; `base` on 128 ranks.
    ByDoubling {
        /// On 128 ranks.
        base: f64,
        /// For each doubling.
        more: f64,
    },
    /// With each rank, `more`; `base` on 128 ranks.
    ByRank {
        /// On 128 ranks.
        base: f64,
        /// For each rank.
        more: f64,
    },
}

impl Law {
    /// The law of the values for [`SAMPLES`], if it gives about the value for [`PROOF`].
    fn of([first, second, base]: [f64; 3], proof: f64) -> Option<Self> {
        let [before, last] = [second - first, base - second];
        let law = if before == 0.0 && last == 0.0 {
            Self::Constant(base)
        } else if (last - before).abs() <= 1.0 + 0.1 * before.abs() {
            Self::ByDoubling { base, more: last }
        } else if (last - 2.0 * before).abs() <= 2.0 + 0.1 * last.abs() {
            Self::ByRank { base, more: last / 64.0 }
        } else {
            return None;
        };
        ((law.at(PROOF) - proof).abs() <= 1.0 + 0.05 * proof).then_some(law)
    }

    /// The value for a number of ranks.
    pub fn at(self, ranks: u32) -> f64 {
        let ranks = f64::from(ranks);
        match self {
            Self::Constant(value) => value,
            Self::ByDoubling { base, more } => base + more * (ranks / 128.0).log2(),
            Self::ByRank { base, more } => base + more * (ranks - 128.0),
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base, term) = match *self {
            Self::Constant(value) => return write!(to, "{value:.0}"),
            Self::ByDoubling { base, more } => (base - 7.0 * more, format!("{more:.2} log2 n")),
            Self::ByRank { base, more } => (base - 128.0 * more, format!("{more:.3} n")),
        };
        let sign = if base < 0.0 { '-' } else { '+' };
        write!(to, "{term} {sign} {:.0}", base.abs())
    }
}

/// The laws of the resources of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laws {
    counters: CounterLaw,
    tanks: Law,
    slots: Law,
    levels: Law,
    /// Rounds of messages.
    pub rounds: Law,
}

/// The law of counters and their bits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CounterLaw {
    /// A few counters of all arrivals: bits of their levels together, and counters on 32 ranks, at least
    /// one for each independent pipeline.
    OfAll { bits: Law, least: f64 },
    /// Counters of single messages, and the bits of each.
    OfMessages { counters: Law, bits: Law },
}

impl Laws {
    /// The resources for a number of ranks, rounded up.
    pub fn at(&self, ranks: u32) -> Resources {
        let (counters, bits) = match self.counters {
            CounterLaw::OfAll { bits, least } => {
                let bits = bits.at(ranks);
                ((bits / BITS[0]).max(least), bits.min(BITS[1]))
            }
            CounterLaw::OfMessages { counters, bits } => (counters.at(ranks), bits.at(ranks)),
        };
        let mut resources = Resources::default();
        resources.counters = counters.ceil() as u32;
        resources.bits = bits.ceil() as u32;
        resources.tanks = self.tanks.at(ranks).ceil() as u32;
        resources.slots = self.slots.at(ranks).ceil() as u32;
        resources.levels = self.levels.at(ranks).ceil() as u32;
        resources
    }
}

impl fmt::Display for Laws {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counters, tanks, slots, levels, .. } = self;
        match counters {
            CounterLaw::OfAll { bits, least } => {
                write!(to, "counters for {bits} bits, at least {least:.0}")?;
            }
            CounterLaw::OfMessages { counters, bits } => {
                write!(to, "counters {counters}, bits of each {bits}")?;
            }
        }
        write!(to, "; tanks {tanks}; slots {slots}; thresholds {levels}")
    }
}

/// The laws of an operation; its number of ranks does not matter. An operand has at least an element for each
/// rank.
///
/// # Errors
/// The operation cannot be compiled, or a resource has no law.
pub fn of(offloaded: &OffloadedCall) -> Result<Laws, String> {
    let compiled = |ranks: u32| -> Result<Sample, String> {
        let OffloadedCall { call, rules } = offloaded;
        let root = call.root.min(ranks - 1);
        let bytes = call.bytes.max(ELEMENT * ranks as usize);
        let call = CollectiveCall { ranks, root, bytes, ..call.clone() };
        let single = rules.single.map(|single| SingleSource { source: root, ranks, ..single });
        let system = OffloadedCall { call, rules: Rules { single, ..*rules } };
        let programs = system.programs(&resources::examined(&system.call))?;
        let all = resources::of_all(&programs);
        let bits = programs.iter().map(bits_of_all).fold(0.0, f64::max);
        Ok(Sample { all, bits, rounds: resources::rounds(&system.call)? })
    };
    let [one, two, three] = SAMPLES.map(compiled);
    let (samples, proof) = ([one?, two?, three?], compiled(PROOF)?);
    let law = |name: &str, of: &dyn Fn(&Sample) -> f64| {
        let values = [0, 1, 2].map(|at: usize| of(&samples[at]));
        Law::of(values, of(&proof)).ok_or_else(|| {
            format!("{name} grow by no law that is known here: {} on 128 ranks", values[2])
        })
    };
    let counters = match offloaded.rules.scheme {
        Scheme::Prematched => CounterLaw::OfMessages {
            counters: law("counters", &|it| it.all.counters.into())?,
            bits: law("bits", &|it| it.all.bits.into())?,
        },
        // Of pipelines, on the fewest ranks.
        Scheme::Tank | Scheme::Tank1 => CounterLaw::OfAll {
            bits: law("bits", &|it| it.bits)?,
            least: samples[0].all.counters.into(),
        },
    };
    Ok(Laws {
        counters,
        tanks: law("tanks", &|it| it.all.tanks.into())?,
        slots: law("slots", &|it| it.all.slots.into())?,
        levels: law("thresholds", &|it| it.all.levels.into())?,
        rounds: law("rounds", &|it| it.rounds.into())?,
    })
}

/// An operation on some ranks.
struct Sample {
    all: Resources,
    /// Of the levels of all counters together.
    bits: f64,
    rounds: u32,
}

/// The bits of the highest levels of all counters together.
fn bits_of_all(program: &Program) -> f64 {
    let mut highest = vec![0u64; program.counters().into()];
    for work in program.work() {
        let highest = &mut highest[usize::from(work.counter)];
        *highest = work.level.max(*highest);
    }
    highest.into_iter().map(|level| (level as f64 + 1.0).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law_of(value: impl Fn(f64) -> f64) -> Option<Law> {
        Law::of(SAMPLES.map(|ranks| value(ranks.into())), value(PROOF.into()))
    }

    #[test]
    fn laws_are_found() {
        assert_eq!(law_of(|_| 7.0), Some(Law::Constant(7.0)));
        let linear = law_of(|ranks| 3.0 * ranks - 2.0).unwrap();
        assert_eq!(linear, Law::ByRank { base: 382.0, more: 3.0 });
        assert_eq!((linear.at(1_000_000), linear.to_string()), (2_999_998.0, "3.000 n - 2".into()));
        let log = law_of(|ranks| 2.0 * ranks.log2() + 3.0).unwrap();
        assert_eq!((log.at(1024), log.to_string()), (23.0, "2.00 log2 n + 3".to_owned()));
        assert_eq!(law_of(|ranks| ranks * ranks), None);
    }
}
