//! Settings that must be equal in all clients of Suiro, as numbers of versions in C_VERSION: the one list in
//! which clients of different implementations say what each of them knows.
//!
//! ```text
//!   major    "SE" | 16 bits of a hash of the setting's name
//!   minor    32 bits of a hash of its value
//! ```
//!
//! A setting that has its default is not said. A client of another version of Suiro may say settings that
//! this one does not know; they must be equal, too. (The hash: Fowler, Noll and Vo, FNV-1a.)

use crate::base::settings;

/// The upper half of the major numbers ("SE").
const SETTING: u32 = 0x5345;

/// The settings of one client, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgreedSettings(Vec<(u32, u32)>);

impl AgreedSettings {
    /// The settings in these lines of `NAME=value`.
    pub fn from_lines(lines: &str) -> Self {
        let settings = lines.lines().filter_map(|line| line.split_once('='));
        Self::from_pairs(settings.map(|(name, value)| (major(name), hash(value))))
    }

    /// The settings among the versions of a client.
    pub(super) fn from_versions(versions: impl Iterator<Item = (u32, u32)>) -> Self {
        Self::from_pairs(versions.filter(|(major, _)| major >> 16 == SETTING))
    }

    fn from_pairs(pairs: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut all: Vec<_> = pairs.collect();
        all.sort_unstable();
        Self(all)
    }

    /// As versions, ascending.
    pub(super) fn versions(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().copied()
    }

    /// The name of a setting that differs.
    pub(super) fn difference(&self, other: &Self) -> Option<&'static str> {
        let of_one = |(one, others): (&Self, &Self)| {
            one.0.iter().find(|setting| !others.0.contains(setting)).map(|setting| setting.0)
        };
        let differing = of_one((self, other)).or_else(|| of_one((other, self)))?;
        let mut known = settings::SETTINGS.iter().map(|setting| setting.name);
        Some(known.find(|name| major(name) == differing).unwrap_or("a setting of another version"))
    }
}

fn major(name: &str) -> u32 {
    let hash = hash(name);
    SETTING << 16 | (hash >> 16 ^ hash & 0xffff)
}

fn hash(text: &str) -> u32 {
    text.bytes()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const CHAIN: &str = "SUIRO_COLL_BCAST=chain\nSUIRO_REDUCE=reproducible\n";

    #[test]
    fn settings_read_back() {
        let all = AgreedSettings::from_lines(CHAIN);
        assert_eq!(all.0.len(), 2);
        let among = [(0, 0), (0x5355_4952, 7)].into_iter().chain(all.versions());
        assert_eq!(AgreedSettings::from_versions(among), all);
        assert_eq!(all.difference(&all), None);
    }

    #[test]
    fn the_setting_that_differs_is_named() {
        let [chain, none] = [CHAIN, ""].map(AgreedSettings::from_lines);
        let other =
            AgreedSettings::from_lines("SUIRO_REDUCE=reproducible\nSUIRO_COLL_BCAST=ring\n");
        assert_eq!(chain.difference(&other), Some("SUIRO_COLL_BCAST"));
        assert_eq!(other.difference(&chain), Some("SUIRO_COLL_BCAST"));
        assert!(chain.difference(&none).is_some() && none.difference(&chain).is_some());
        let later = AgreedSettings::from_lines("SUIRO_LATER=1\n");
        assert_eq!(none.difference(&later), Some("a setting of another version"));
    }

    #[test]
    fn names_are_told_apart() {
        let numbers: BTreeSet<_> = settings::SETTINGS.iter().map(|it| major(it.name)).collect();
        assert_eq!(numbers.len(), settings::SETTINGS.len());
    }
}
