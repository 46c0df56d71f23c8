//! Settings that all ranks of a segment must have in common: each rank compares its own with those of
//! the first rank that attached.
//!
//! ```text
//!   digest of the text, proposal   0: no rank has attached    one compare-and-exchange
//!   rank, length + 1, text         for ranks that differ      written after that
//! ```
//!
//! A rank that agrees needs one atomic operation. Only a rank that differs waits for the text and
//! reads it.

use std::thread;
use std::time::Duration;

use super::primitive::{AtomicU32, AtomicU64, Ordering};
use platform::base::fnv1a;

/// The longest text that is stored, in words of 8 bytes; longer texts are cut.
const WORDS: usize = 240;

/// How often a rank that differs polls for the text, with a millisecond between polls: the writer may
/// have exited.
const POLLS_MAX: u32 = 1000;

#[repr(C)]
pub(crate) struct SettingsAgreement {
    /// [`digest`]; 0 before the first rank.
    digest: AtomicU64,
    /// The first rank.
    rank: AtomicU32,
    /// 1 + the length of the text in bytes; 0 before the text is written.
    written: AtomicU32,
    text: [AtomicU64; WORDS],
}

/// The first rank has other settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsMismatch {
    /// The first rank.
    pub(crate) rank: u32,
    /// Its settings, or their beginning.
    pub(crate) text: String,
}

impl SettingsAgreement {
    /// Compares the text of `rank`, this rank, with that of the first rank; returns the proposal of the
    /// first rank.
    ///
    /// # Errors
    /// The first rank and its text, if the texts differ.
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
        let polls = (0..POLLS_MAX).map(|poll| {
            if poll > 0 {
                thread::sleep(Duration::from_millis(1));
            }
            self.written.load(Ordering::Acquire)
        });
        let written = polls.into_iter().find(|written| *written > 0).unwrap_or(1);
        let words = self.text.iter().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        let bytes: Vec<u8> = words.flatten().take(written as usize - 1).collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        SettingsMismatch { rank: self.rank.load(Ordering::Relaxed), text }
    }
}

/// A number for a text, never 0, with 0 as its lowest bit.
fn digest(text: &str) -> u64 {
    fnv1a(text.bytes()) & !1 | 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> SettingsAgreement {
        SettingsAgreement {
            digest: AtomicU64::new(0),
            rank: AtomicU32::new(0),
            written: AtomicU32::new(0),
            text: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    #[test]
    fn later_ranks_take_the_proposal_of_the_first() {
        for proposal in [false, true] {
            let settings = settings();
            assert_eq!(settings.agree(3, "A=1\n", proposal), Ok(proposal));
            assert_eq!(settings.agree(0, "A=1\n", !proposal), Ok(proposal));
        }
    }

    #[test]
    fn a_rank_that_differs_learns_the_first_rank() {
        let settings = settings();
        settings.agree(3, "SUIRO_A=1\n", false).unwrap();
        let mismatch = SettingsMismatch { rank: 3, text: "SUIRO_A=1\n".to_owned() };
        assert_eq!(settings.agree(0, "", false), Err(mismatch));
    }

    #[test]
    fn a_long_text_is_cut_and_compared_as_a_whole() {
        let (settings, long) = (settings(), "x".repeat(WORDS * 9));
        settings.agree(0, &long, false).unwrap();
        assert_eq!(settings.agree(1, &long, false), Ok(false));
        let mismatch = settings.agree(1, &format!("{long}y"), false).unwrap_err();
        assert_eq!(mismatch.text, "x".repeat(WORDS * 8));
    }
}
