//! Arrival targets: what a receiver sends to a sender about the messages between them.

use crate::offload::program::CounterAdd;
use crate::offload::schedule::{Buffer, Region};

/// The counter and the memory of the receiver for an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArrivalTarget {
    /// The addition to a counter of the receiver.
    pub(crate) signal: CounterAdd,
    /// The destination of its bytes; [`Region::EMPTY`] if it has none.
    pub(crate) into: Region,
}

impl ArrivalTarget {
    /// Words of a target in a message.
    pub(crate) const WORDS: usize = 4;

    /// The words for a message.
    pub(crate) fn to_words(self) -> [u64; Self::WORDS] {
        let (kind, index) = match self.into.buffer {
            Buffer::None | Buffer::First => (0, 0),
            Buffer::User(index) => (1, index),
            Buffer::Scratch(index) => (2, index),
        };
        let names = u64::from(self.signal.counter) | kind << 16 | u64::from(index) << 32;
        [names, self.signal.value, self.into.start as u64, self.into.len as u64]
    }

    /// Parses words of a message.
    ///
    /// # Errors
    /// A sentence if they are no target.
    pub(crate) fn from_words(
        [names, value, start, len]: [u64; Self::WORDS],
    ) -> Result<Self, String> {
        let index = (names >> 32) as u32;
        let buffer = match names >> 16 & 0xffff {
            0 => Buffer::None,
            1 => Buffer::User(index),
            2 => Buffer::Scratch(index),
            kind => {
                return Err(format!("an arrival target in a buffer of the unknown kind {kind}"));
            }
        };
        let into = buffer.region(start as usize, len as usize);
        Ok(Self { signal: CounterAdd { counter: names as u16, value }, into })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_read_back() {
        for buffer in [Buffer::None, Buffer::User(7), Buffer::Scratch(u32::MAX)] {
            let signal = CounterAdd { counter: 513, value: 1 << 61 };
            let target = ArrivalTarget { signal, into: buffer.region(5, 1 << 40) };
            assert_eq!(ArrivalTarget::from_words(target.to_words()), Ok(target));
        }
        assert!(ArrivalTarget::from_words([3 << 16, 0, 0, 0]).unwrap_err().contains("kind 3"));
    }
}
