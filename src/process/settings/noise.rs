//! The setting of injected noise: `SUIRO_NOISE`.
//!
//! ```text
//!   periodic:10000,1000              the words of suiro-sim: kind, period and length in microseconds
//!   random:10000,1000,seed=7,sends   random numbers of this seed; sends wait, too
//! ```

use super::parse;
use crate::process::devices::interruptions::InjectedNoise;
use platform::base::noise::{Noise, NoiseKind, ps_of_us};
use platform::base::{ErrorClass, Result};

const NAME: &str = "SUIRO_NOISE";

/// The seed that suiro-sim has, too.
const SEED: u64 = 1;

/// A text in parts.
#[derive(Debug, Default, PartialEq)]
struct NoiseWords {
    kind: NoiseKind,
    period_ps: u64,
    length_ps: u64,
    seed: u64,
    delays_sends: bool,
}

impl NoiseWords {
    fn from_text(text: &str) -> Option<Self> {
        if text == NoiseKind::None.name() {
            return Some(Self::default());
        }
        let (kind, numbers) = text.split_once(':')?;
        let kind = NoiseKind::from_name(kind).filter(|kind| *kind != NoiseKind::None)?;
        let mut words = numbers.split(',');
        let mut ps = || ps_of_us(words.next()?.parse().ok()?);
        let (period_ps, length_ps) = (ps()?, ps()?);
        let mut parts = Self { kind, period_ps, length_ps, seed: SEED, delays_sends: false };
        for word in words {
            match word.split_once('=') {
                None if word == "sends" => parts.delays_sends = true,
                Some(("seed", number)) => parts.seed = number.parse().ok()?,
                _ => return None,
            }
        }
        Some(parts)
    }
}

/// Reads the setting through `lookup`.
///
/// # Errors
/// `Other` for an invalid value.
pub(super) fn setting(
    lookup: impl Fn(&'static str) -> Option<String> + Copy,
) -> Result<Option<InjectedNoise>> {
    let words = parse(NAME, lookup, NoiseWords::from_text)?;
    let NoiseWords { kind, period_ps, length_ps, seed, delays_sends } = words;
    if kind == NoiseKind::None {
        return Ok(None);
    }
    let noise = Noise::new(kind, period_ps, length_ps, seed).map_err(|why| {
        ErrorClass::Other.error(format!("{NAME}={}: {why}", lookup(NAME).unwrap_or_default()))
    })?;
    Ok(Some(InjectedNoise { noise, delays_sends }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<InjectedNoise>> {
        setting(|name| (name == NAME).then(|| text.to_owned()))
    }

    #[test]
    fn noise_has_the_words_of_the_simulator() {
        assert_eq!(of("none"), Ok(None));
        assert_eq!(setting(|_| None), Ok(None));
        let noise = |kind, seed| Noise::new(kind, 10_000_000_000, 1_500_000, seed).unwrap();
        for (text, kind, seed, delays_sends) in [
            ("periodic:10000,1.5", NoiseKind::Periodic, 1, false),
            ("synchronous:10000,1.5,sends", NoiseKind::Synchronous, 1, true),
            ("random:10000,1.5,seed=7", NoiseKind::Random, 7, false),
            ("random:10000,1.5,sends,seed=7", NoiseKind::Random, 7, true),
        ] {
            let due = InjectedNoise { noise: noise(kind, seed), delays_sends };
            assert_eq!(of(text), Ok(Some(due)), "{text}");
        }
    }

    #[test]
    fn a_bad_value_is_told_with_what_is_expected() {
        for text in [
            "loud",
            "periodic",
            "periodic:",
            "periodic:10",
            "none:10,1",
            "periodic:10,1,2",
            "periodic:10,-1",
            "periodic:10,nan",
            "periodic:10,1,seed=x",
        ] {
            let why = of(text).unwrap_err().why;
            assert!(why.starts_with(&format!("SUIRO_NOISE={text} is not one of none|")), "{why}");
        }
        let why = of("periodic:10,10").unwrap_err().why;
        assert!(why.contains("SUIRO_NOISE=periodic:10,10: a noise length of 10 us: exp"), "{why}");
        assert!(of("random:0.5,0.1").unwrap_err().why.contains("expected at least 1 us"));
    }
}
