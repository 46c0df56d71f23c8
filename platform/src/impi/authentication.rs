//! How a client and the server of a start-up prove that they belong together.
//!
//! In cleartext, IMPI has mechanisms that a client offers as a mask, from which the server chooses: none
//! (bit 0), and a key of 64 bits that the client sends (bit 1). The variables are those of all
//! implementations: `IMPI_AUTH_NONE` and `IMPI_AUTH_KEY`, a decimal number.

use std::fmt;

use crate::network::SharedSecret;

/// The bits of the mechanisms, whose numbers are the positions of the bits.
const NONE: u32 = 0;
const KEY: u32 = 1;

/// The mechanisms that an end accepts in cleartext.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Authentication {
    /// Whether no proof is needed.
    pub accepts_none: bool,
    /// The key that proves a client.
    pub key: Option<u64>,
}

/// What protects the connections of a world. All clients and the server must have the same.
#[derive(Clone, Debug)]
pub enum ImpiSecurity {
    /// Both ends prove the key, and every byte is encrypted and authenticated.
    Sealed(SharedSecret),
    /// Plain bytes, for foreign implementations.
    Cleartext(Authentication),
}

/// A mechanism that both ends accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    None,
    Key,
}

impl Authentication {
    /// The mechanisms that variables of the environment allow.
    ///
    /// # Errors
    /// A sentence: the key is no number.
    pub fn from_lookup(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, String> {
        let lookup = |name| lookup(name).filter(|text| !text.is_empty());
        let key = match lookup("IMPI_AUTH_KEY") {
            Some(text) => Some(parse_key(&text).ok_or(
                "IMPI_AUTH_KEY is not a number of 64 bits in decimal digits (its value is not shown)",
            )?),
            None => None,
        };
        Ok(Self { accepts_none: lookup("IMPI_AUTH_NONE").is_some(), key })
    }

    /// Whether no mechanism is allowed.
    pub fn is_empty(&self) -> bool {
        !self.accepts_none && self.key.is_none()
    }

    /// The mechanisms as bits.
    pub(super) fn mask(&self) -> u32 {
        u32::from(self.accepts_none) << NONE | u32::from(self.key.is_some()) << KEY
    }

    /// The best mechanism that is also in `mask`.
    pub(super) fn choose(&self, mask: u32) -> Option<Mechanism> {
        let common = self.mask() & mask;
        match () {
            () if common & 1 << KEY != 0 => Some(Mechanism::Key),
            () if common & 1 << NONE != 0 => Some(Mechanism::None),
            () => None,
        }
    }
}

impl Mechanism {
    pub(super) fn number(self) -> u32 {
        match self {
            Self::None => NONE,
            Self::Key => KEY,
        }
    }

    /// The bytes with which a client proves itself.
    pub(super) fn proof_bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Key => 8,
        }
    }

    pub(super) fn from_number(number: u32) -> Option<Self> {
        [Self::None, Self::Key].into_iter().find(|mechanism| mechanism.number() == number)
    }
}

/// Others read the key as a signed number, so a negative one has the same bits.
fn parse_key(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authentication({:#x})", self.mask())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Authentication, String> {
        Authentication::from_lookup(|asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_allow_mechanisms_and_the_key_is_never_printed() {
        assert!(of(&[]).unwrap().is_empty());
        assert!(of(&[("IMPI_AUTH_NONE", ""), ("IMPI_AUTH_KEY", "")]).unwrap().is_empty());
        assert_eq!(of(&[("IMPI_AUTH_NONE", "0")]).unwrap().mask(), 1);
        let both = of(&[("IMPI_AUTH_NONE", "1"), ("IMPI_AUTH_KEY", "5678")]).unwrap();
        assert_eq!((both.mask(), both.key), (3, Some(5678)));
        assert_eq!(format!("{both:?}"), "Authentication(0x3)");
        assert_eq!(of(&[("IMPI_AUTH_KEY", "-1")]).unwrap().key, Some(u64::MAX));
        assert_eq!(of(&[("IMPI_AUTH_KEY", "18446744073709551615")]).unwrap().key, Some(u64::MAX));
        for bad in ["0x12", "secret", "18446744073709551616", "1 2"] {
            let why = of(&[("IMPI_AUTH_KEY", bad)]).unwrap_err();
            assert!(!why.contains(bad), "{why}");
        }
    }

    #[test]
    fn a_key_is_chosen_before_no_proof() {
        let both = Authentication { accepts_none: true, key: Some(1) };
        let none = Authentication { accepts_none: true, key: None };
        let key = Authentication { accepts_none: false, key: Some(1) };
        assert_eq!(both.choose(3), Some(Mechanism::Key));
        assert_eq!(both.choose(1), Some(Mechanism::None));
        assert_eq!(none.choose(3), Some(Mechanism::None));
        assert_eq!(
            (none.choose(2), key.choose(1), both.choose(0), both.choose(4)),
            (None, None, None, None)
        );
        assert_eq!(Mechanism::from_number(1), Some(Mechanism::Key));
        assert_eq!(Mechanism::from_number(2), None);
    }
}
