//! How the programs of a job represent data in memory.
//!
//! Data between jobs that differ in anything of it must be converted. It says nothing of what is equal
//! everywhere: two's complement, bytes of 8 bits, IEEE binary32 and binary64.

use std::ffi::c_long;
use std::fmt;

/// What may differ between two machines that run one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representation {
    byte_order: ByteOrder,
    /// Bytes of C's `long`: 4 or 8.
    long_bytes: u8,
    /// Bytes of C's `wchar_t`: 2 or 4.
    wide_bytes: u8,
    long_double: LongDouble,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum ByteOrder {
    Little = 1,
    Big,
}

/// The format of C's `long double`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum LongDouble {
    Binary64 = 1,
    X87,
    Binary128,
}

impl Representation {
    /// That of this program.
    pub const NATIVE: Self = Self {
        byte_order: if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little },
        long_bytes: size_of::<c_long>() as u8,
        wide_bytes: 4,
        long_double: match cfg!(target_arch = "x86_64") {
            true => LongDouble::X87,
            false => LongDouble::Binary128,
        },
    };

    /// Whether data of two jobs is alike in memory. It is not if the representation of one is unknown.
    pub fn are_alike(one: Option<Self>, other: Option<Self>) -> bool {
        one.is_some() && one == other
    }

    /// [`Representation::NATIVE`] with the differences that `text` names, separated by commas:
    /// `little-endian`, `big-endian`, `long4`, `long8`, `wchar2`, `wchar4`, `long-double-64`,
    /// `long-double-x87` or `long-double-128`. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        text.split(',').try_fold(Self::NATIVE, |found, word| {
            Some(match word.trim() {
                "little-endian" => Self { byte_order: ByteOrder::Little, ..found },
                "big-endian" => Self { byte_order: ByteOrder::Big, ..found },
                "long4" => Self { long_bytes: 4, ..found },
                "long8" => Self { long_bytes: 8, ..found },
                "wchar2" => Self { wide_bytes: 2, ..found },
                "wchar4" => Self { wide_bytes: 4, ..found },
                "long-double-64" => Self { long_double: LongDouble::Binary64, ..found },
                "long-double-x87" => Self { long_double: LongDouble::X87, ..found },
                "long-double-128" => Self { long_double: LongDouble::Binary128, ..found },
                _ => return None,
            })
        })
    }

    /// As a word that other jobs read; never 0.
    pub fn word(self) -> u32 {
        let Self { byte_order, long_bytes, wide_bytes, long_double } = self;
        u32::from_be_bytes([byte_order as u8, long_bytes, wide_bytes, long_double as u8])
    }

    /// Reads [`Representation::word`]; `None`, which is unlike all others, for any other word.
    pub fn from_word(word: u32) -> Option<Self> {
        let [byte_order, long_bytes, wide_bytes, long_double] = word.to_be_bytes();
        let byte_order = match byte_order {
            1 => ByteOrder::Little,
            2 => ByteOrder::Big,
            _ => return None,
        };
        let long_double = match long_double {
            1 => LongDouble::Binary64,
            2 => LongDouble::X87,
            3 => LongDouble::Binary128,
            _ => return None,
        };
        let are_known = matches!(long_bytes, 4 | 8) && matches!(wide_bytes, 2 | 4);
        are_known.then_some(Self { byte_order, long_bytes, wide_bytes, long_double })
    }
}

impl fmt::Display for Representation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.byte_order {
            ByteOrder::Little => "little-endian",
            ByteOrder::Big => "big-endian",
        };
        let long_double = match self.long_double {
            LongDouble::Binary64 => "64",
            LongDouble::X87 => "x87",
            LongDouble::Binary128 => "128",
        };
        let Self { long_bytes, wide_bytes, .. } = self;
        write!(to, "{order},long{long_bytes},wchar{wide_bytes},long-double-{long_double}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_words_read_back() {
        for text in ["big-endian", "long4, wchar2", "long-double-64,little-endian", "long8"] {
            let found = Representation::parse(text).unwrap();
            assert_eq!(Representation::parse(&found.to_string()), Some(found));
            assert_eq!(Representation::from_word(found.word()), Some(found));
        }
        let wrong = ["", "big", "long5", "big-endian,", "long-double-80"];
        assert!(wrong.into_iter().all(|text| Representation::parse(text).is_none()));
        let words = [0, 0x0304_0401, 0x0105_0401, 0x0104_0301, 0x0104_0404, u32::MAX];
        assert!(words.into_iter().all(|word| Representation::from_word(word).is_none()));
    }

    #[test]
    fn what_is_unknown_is_unlike_everything() {
        let native = Some(Representation::NATIVE);
        assert!(Representation::are_alike(native, native));
        assert!(!Representation::are_alike(native, Representation::parse("big-endian")));
        assert!(!Representation::are_alike(native, None) && !Representation::are_alike(None, None));
    }
}
