//! The extra rounds of an allreduce against jitter: how many, and between which partners.
//!
//! ```text
//!   2,3                               2 in the middle and 3 at the end, over bits 0, 1, 2 and so on
//!   2,3,descending                    the same from the bit of the latest round down
//!   middle-bits=0,1/final-bits=0..2   over these bits; a list that is not there is empty
//! ```
//!
//! Settings of the library and the simulator share this module, and so the order of bits. It knows no
//! schedule: `redundant` has the rounds.

use std::fmt;

/// The most extra rounds of a kind.
pub const EXTRA_ROUNDS_MAX: u32 = 64;

/// The most bits in a list.
const LISTED_MAX: usize = 32;

/// Bits of the number of a rank.
const RANK_BITS: u32 = u32::BITS;

/// The bits of the extra rounds of a communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraBits {
    /// In the middle; below half of the bits of a rank, rounded down.
    pub middle: Vec<u32>,
    /// At the end; below the bits of a rank.
    pub last: Vec<u32>,
}

/// The order in which extra rounds use the bits, from the beginning when all have been used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// From bit 0 on.
    #[default]
    Ascending,
    /// From the bit of the latest combining round downwards.
    Descending,
}

impl BitOrder {
    /// Both, with their names.
    pub const NAMES: [(&'static str, Self); 2] =
        [("ascending", Self::Ascending), ("descending", Self::Descending)];

    /// The order with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, order)| *order)
    }

    /// The bits of `middle` and `last` extra rounds of `2^bits` ranks.
    pub fn bits(self, bits: u32, middle: u32, last: u32) -> ExtraBits {
        let of = |rounds: u32, bits: u32| -> Vec<u32> {
            // None if no bit is equal.
            let all = 0..if bits == 0 { 0 } else { rounds };
            all.map(|number| match self {
                Self::Ascending => number % bits,
                Self::Descending => bits - 1 - number % bits,
            })
            .collect()
        };
        ExtraBits { middle: of(middle, bits / 2), last: of(last, bits) }
    }
}

/// Extra rounds, for communicators of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtraRounds {
    /// So many, with bits in an order.
    Counted {
        /// In the middle of the butterfly.
        middle: u32,
        /// After the butterfly.
        last: u32,
        /// Of the bits.
        order: BitOrder,
    },
    /// One for each of these bits that the communicator has.
    Listed {
        /// In the middle of the butterfly.
        middle: BitList,
        /// After the butterfly.
        last: BitList,
    },
}

impl Default for ExtraRounds {
    fn default() -> Self {
        Self::ascending(1, 1)
    }
}

impl ExtraRounds {
    /// The texts that [`ExtraRounds::from_text`] accepts.
    pub(crate) const FORMS: [&'static str; 3] =
        ["M,L", "M,L,descending", "middle-bits=LIST/final-bits=LIST"];

    /// So many, with bits from 0 on.
    pub fn ascending(middle: u32, last: u32) -> Self {
        Self::Counted { middle, last, order: BitOrder::Ascending }
    }

    /// Parses a text of a setting.
    pub fn from_text(text: &str) -> Option<Self> {
        if text.contains('=') { Self::from_lists(text) } else { Self::from_counts(text) }
    }

    fn from_counts(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ',');
        let mut rounds = || number(parts.next()?).filter(|rounds| *rounds <= EXTRA_ROUNDS_MAX);
        let (middle, last) = (rounds()?, rounds()?);
        let order = parts.next().map_or(Some(BitOrder::default()), BitOrder::from_name)?;
        Some(Self::Counted { middle, last, order })
    }

    fn from_lists(text: &str) -> Option<Self> {
        let (mut middle, mut last) = (None, None);
        for part in text.split('/') {
            let (name, list) = part.split_once('=')?;
            let known = match name {
                "middle-bits" => &mut middle,
                "final-bits" => &mut last,
                _ => return None,
            };
            if known.replace(BitList::from_text(list)?).is_some() {
                return None;
            }
        }
        let (middle, last) = (middle.unwrap_or_default(), last.unwrap_or_default());
        Some(Self::Listed { middle, last })
    }

    /// The bits of the extra rounds of `2^bits` ranks.
    pub fn bits(&self, bits: u32) -> ExtraBits {
        match self {
            Self::Counted { middle, last, order } => order.bits(bits, *middle, *last),
            Self::Listed { middle, last } => {
                ExtraBits { middle: middle.below(bits / 2), last: last.below(bits) }
            }
        }
    }
}

impl fmt::Display for ExtraRounds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted { middle, last, order: BitOrder::Ascending } => {
                write!(out, "{middle},{last}")
            }
            Self::Counted { middle, last, order: BitOrder::Descending } => {
                write!(out, "{middle},{last},descending")
            }
            Self::Listed { middle, last } => {
                let lists = [("middle-bits", middle), ("final-bits", last)];
                let texts = lists.into_iter().filter(|(_, list)| list.len > 0);
                let texts: Vec<String> =
                    texts.map(|(name, list)| format!("{name}={list}")).collect();
                out.write_str(&texts.join("/"))
            }
        }
    }
}

/// A short list of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BitList {
    len: u8,
    bits: [u8; LISTED_MAX],
}

impl BitList {
    /// Parses `0,2,5` and `0..4` (the end included).
    fn from_text(text: &str) -> Option<Self> {
        let mut list = Self::default();
        for part in text.split(',') {
            let (first, last) = part.split_once("..").unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last >= RANK_BITS {
                return None;
            }
            for bit in first..=last {
                *list.bits.get_mut(usize::from(list.len))? = bit as u8;
                list.len += 1;
            }
        }
        Some(list)
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        self.bits[..usize::from(self.len)].iter().map(|bit| u32::from(*bit))
    }

    fn below(&self, end: u32) -> Vec<u32> {
        self.iter().filter(|bit| *bit < end).collect()
    }
}

impl fmt::Display for BitList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits: Vec<String> = self.iter().map(|bit| bit.to_string()).collect();
        out.write_str(&bits.join(","))
    }
}

/// Digits only, without a sign.
fn number(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_how_many_or_which_bits() {
        let bits = |text: &str, bits| {
            let ExtraBits { middle, last } = ExtraRounds::from_text(text).unwrap().bits(bits);
            (middle, last)
        };
        assert_eq!(bits("3,4", 5), (vec![0, 1, 0], vec![0, 1, 2, 3]));
        assert_eq!(bits("3,4,ascending", 5), bits("3,4", 5));
        assert_eq!(bits("3,4,descending", 5), (vec![1, 0, 1], vec![4, 3, 2, 1]));
        assert_eq!(bits("1,2", 1), (vec![], vec![0, 0]));
        assert_eq!(bits("1,2", 0), (vec![], vec![]));
        assert_eq!(bits("middle-bits=1,0/final-bits=0..2,4", 5), (vec![1, 0], vec![0, 1, 2, 4]));
        assert_eq!(bits("final-bits=3", 5), (vec![], vec![3]));
        // A communicator without these bits has no such rounds.
        assert_eq!(bits("middle-bits=1,0/final-bits=0..2,4", 2), (vec![0], vec![0, 1]));
    }

    #[test]
    fn a_wrong_text_is_none() {
        for text in [
            "",
            "1",
            "1,",
            "1,2,",
            "1,2,3",
            "1,2,up",
            "65,0",
            "0,65",
            "-1,0",
            "+1,0",
            "middle-bits=",
            "middle-bits=0,",
            "middle-bits=32",
            "middle-bits=2..1",
            "middle-bits=0/middle-bits=0",
            "bits=0",
            "1,2/final-bits=0",
            "final-bits=0..31,0",
        ] {
            assert_eq!(ExtraRounds::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_is_given_again() {
        for text in
            ["0,0", "64,3", "2,3,descending", "middle-bits=0,1/final-bits=5", "final-bits=0"]
        {
            assert_eq!(ExtraRounds::from_text(text).unwrap().to_string(), text);
        }
        let range = ExtraRounds::from_text("final-bits=0..2/middle-bits=1").unwrap();
        assert_eq!(range.to_string(), "middle-bits=1/final-bits=0,1,2");
    }
}
