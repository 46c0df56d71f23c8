//! The settings of the simulated network interface: `SUIRO_TOFU_*`.

use std::ops::RangeInclusive;

use super::parse;
use crate::devices::tofu::TofuSettings;
use crate::devices::torus::Generation;
use platform::base::Result;
use platform::sys::topology::parse_list;

/// Engines that an interface can have.
const ENGINES_MAX: u8 = 32;

/// Bits of a counter. With fewer, hardly a program has levels that fit.
const COUNTER_BITS: RangeInclusive<u32> = 4..=u64::BITS;

/// Reads the settings through `lookup`.
///
/// # Errors
/// `Other` for an invalid value.
pub(super) fn settings(
    lookup: impl Fn(&'static str) -> Option<String> + Copy,
) -> Result<TofuSettings> {
    // The explicit value; `None` for `auto`.
    let given = |name| lookup(name).filter(|text| text != "auto");
    let number = |name| parse(name, given, |text| text.parse::<u32>().ok().map(Some));
    let generation: Generation = parse("SUIRO_TOFU_GENERATION", lookup, |text| text.parse().ok())?;
    let is_paced = parse("SUIRO_TOFU_PACE", lookup, |text| match text {
        "off" => Some(false),
        "real" => Some(true),
        _ => None,
    })?;
    let torus = parse("SUIRO_TOFU_TORUS", given, |text| text.parse().ok().map(Some))?;
    let cpus =
        parse("SUIRO_TOFU_CPUS", given, |text| parse_list(text).filter(|list| !list.is_empty()))?;
    let engines = parse("SUIRO_TOFU_ENGINES", given, |text| {
        text.parse().ok().filter(|count| (1..=ENGINES_MAX).contains(count)).map(Some)
    })?;
    let bits = parse("SUIRO_TOFU_COUNTER_BITS", given, |text| {
        text.parse().ok().filter(|bits| COUNTER_BITS.contains(bits)).map(Some)
    })?;
    let mut limits = generation.limits();
    limits.counters = number("SUIRO_TOFU_COUNTERS")?.unwrap_or(limits.counters);
    limits.slots = number("SUIRO_TOFU_SLOTS")?.unwrap_or(limits.slots);
    limits.engines = engines.unwrap_or(limits.engines);
    limits.counter_bits = bits.unwrap_or(limits.counter_bits);
    Ok(TofuSettings { generation, limits, is_paced, torus, cpus })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_that_of_the_generation() {
        let lookup = |name: &str| match name {
            "SUIRO_TOFU_GENERATION" => Some("tofud".to_owned()),
            "SUIRO_TOFU_SLOTS" => Some("7".to_owned()),
            "SUIRO_TOFU_CPUS" => Some("0,2-3".to_owned()),
            _ => None,
        };
        let settings = settings(lookup).unwrap();
        assert_eq!(settings.limits.slots, 7);
        assert_eq!(settings.limits.engines, Generation::TofuD.limits().engines);
        assert_eq!((settings.cpus, settings.is_paced), (vec![0, 2, 3], false));
    }

    #[test]
    fn a_bad_value_names_the_good_ones() {
        for (name, bad, good) in [
            ("SUIRO_TOFU_ENGINES", "33", "from 1 to 32"),
            ("SUIRO_TOFU_COUNTER_BITS", "65", "from 4 to 64"),
            ("SUIRO_TOFU_TORUS", "4x", "4x3x2"),
            ("SUIRO_TOFU_CPUS", "3-1", "0,2-3"),
            ("SUIRO_TOFU_COUNTERS", "-1", "a number"),
        ] {
            let why = settings(|asked| (asked == name).then(|| bad.to_owned())).unwrap_err().why;
            assert!(why.starts_with(&format!("{name}={bad} is not one of")), "{why}");
            assert!(why.contains(good), "{why}");
        }
    }
}
