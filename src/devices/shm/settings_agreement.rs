//! What all ranks of a segment must have in common, told by whoever comes first.
//!
//! ```text
//!   digest of the text and a proposal   0: nobody has come      one compare-and-exchange
//!   rank, length + 1, text              for those who differ    written after that
//! ```
//!
//! It costs a rank one atomic operation to learn that it agrees; only who does not reads the text,
//! and waits until it is there.

use std::thread;
use std::time::Duration;

use super::primitive::{AtomicU32, AtomicU64, Ordering};

/// The longest text that is kept, in words of 8 bytes; of longer ones the beginning.
const WORDS: usize = 240;

/// How often one who differs looks for the text, a millisecond apart: the writer may have been
/// ended.
const POLLS_MAX: u32 = 1000;

/// See the module's text.
#[repr(C)]
pub(crate) struct SettingsAgreement {
    /// [`digest`]; 0 before anybody has come.
    digest: AtomicU64,
    /// Who came first.
    rank: AtomicU32,
    /// 1 + the length of the text in bytes; 0 until it is there.
    written: AtomicU32,
    text: [AtomicU64; WORDS],
}

/// Another rank has other terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsMismatch {
    /// That rank.
    pub(crate) rank: u32,
    /// Its text, or the beginning of a long one.
    pub(crate) text: String,
}

impl SettingsAgreement {
    /// Compares the text of `rank` with that of the first who came; returns what that one proposed.
    ///
    /// # Errors
    /// Whose text is another.
    pub(crate) fn agree(
        &self, rank: u32, text: &str, proposal: bool,
    ) -> Result<bool, SettingsMismatch> {
        let ours = digest(text) | u64::from(proposal);
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match self.digest.compare_exchange(0, ours, order.0, order.1) {
            Ok(_) => {
                self.publish(rank, text);
                Ok(proposal)
            }
            Err(theirs) if theirs & !1 == ours & !1 => Ok(theirs & 1 == 1),
            Err(_) => Err(self.read_first()),
        }
    }

    fn publish(&self, rank: u32, text: &str) {
        let kept = &text.as_bytes()[..text.len().min(WORDS * 8)];
        for (word, bytes) in self.text.iter().zip(kept.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
        self.rank.store(rank, Ordering::Relaxed);
        self.written.store(kept.len() as u32 + 1, Ordering::Release);
    }

    fn read_first(&self) -> SettingsMismatch {
        let looks = (0..POLLS_MAX).map(|look| {
            if look > 0 {
                thread::sleep(Duration::from_millis(1));
            }
            self.written.load(Ordering::Acquire)
        });
        let written = looks.into_iter().find(|written| *written > 0).unwrap_or(1);
        let words = self.text.iter().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        let bytes: Vec<u8> = words.flatten().take(written as usize - 1).collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        SettingsMismatch { rank: self.rank.load(Ordering::Relaxed), text }
    }
}

/// A number for a text, never 0, whose lowest bit is: FNV-1a.
fn digest(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix) & !1 | 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> SettingsAgreement {
        SettingsAgreement {
            digest: AtomicU64::new(0),
            rank: AtomicU32::new(0),
            written: AtomicU32::new(0),
            text: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    #[test]
    fn who_comes_later_takes_what_the_first_proposed() {
        for proposal in [false, true] {
            let terms = terms();
            assert_eq!(terms.agree(3, "A=1\n", proposal), Ok(proposal));
            assert_eq!(terms.agree(0, "A=1\n", !proposal), Ok(proposal));
        }
    }

    #[test]
    fn who_differs_learns_from_whom() {
        let terms = terms();
        terms.agree(3, "SUIRO_A=1\n", false).unwrap();
        let unlike = SettingsMismatch { rank: 3, text: "SUIRO_A=1\n".to_owned() };
        assert_eq!(terms.agree(0, "", false), Err(unlike));
    }

    #[test]
    fn of_a_long_text_the_beginning_is_kept_and_all_is_compared() {
        let (terms, long) = (terms(), "x".repeat(WORDS * 9));
        terms.agree(0, &long, false).unwrap();
        assert_eq!(terms.agree(1, &long, false), Ok(false));
        let unlike = terms.agree(1, &format!("{long}y"), false).unwrap_err();
        assert_eq!(unlike.text, "x".repeat(WORDS * 8));
    }
}
