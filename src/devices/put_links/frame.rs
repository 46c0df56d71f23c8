//! The frames between interfaces.
//!
//! ```text
//!   key        of the registered memory; 0 without data     8 bytes
//!   offset     in that memory                               8
//!   counter    key of the counter; 0 without an addition    8
//!   weight     what is added to it                          8
//!   len        bytes of data that follow                    4
//!   class      [`PUT`] or [`LEAVING`]                       1
//!   0                                                       3
//!   data       len bytes
//! ```
//!
//! All numbers are little-endian. The addition follows the last byte.

use crate::device::rma::MemoryKey;
use crate::device::trigger::CounterKey;
use crate::devices::interface::Signal;

const PUT: u8 = 1;
const LEAVING: u8 = 2;

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutFrame {
    /// Writes the data that follows, then adds.
    Put { key: MemoryKey, offset: u64, len: u32, signal: Option<Signal> },
    /// The sender may exit: the end of the connection is no failure.
    Leaving,
}

impl PutFrame {
    /// The length of the header, in bytes.
    pub(super) const LEN: usize = 40;

    pub(super) fn emit(self) -> [u8; Self::LEN] {
        let (words, len, class) = match self {
            Self::Put { key, offset, len, signal } => {
                let (counter, weight) = signal.map_or((0, 0), |it| (it.counter.0, it.value));
                ([key.0, offset, counter, weight], len, PUT)
            }
            Self::Leaving => ([0; 4], 0, LEAVING),
        };
        let mut bytes = [0; Self::LEN];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[32..36].copy_from_slice(&len.to_le_bytes());
        bytes[36] = class;
        bytes
    }

    /// The frame that begins with these bytes; `None` if they have no meaning.
    pub(super) fn parse(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let word = |at: usize| bytes[8 * at..].first_chunk().map(|word| u64::from_le_bytes(*word));
        let (key, offset, counter, weight) = (word(0)?, word(1)?, word(2)?, word(3)?);
        let len = u32::from_le_bytes(*bytes[32..].first_chunk()?);
        let has_meaning = match bytes[36] {
            // Bytes need memory, and a weight needs a counter.
            PUT => {
                (len > 0) == (key != 0)
                    && (key != 0 || offset == 0)
                    && (counter != 0 || weight == 0)
            }
            LEAVING => [key, offset, counter, weight, u64::from(len)] == [0; 5],
            _ => false,
        };
        if !has_meaning || bytes[37..] != [0; 3] {
            return None;
        }
        let signal = Signal { counter: CounterKey(counter), value: weight };
        Some(match bytes[36] {
            PUT => Self::Put {
                key: MemoryKey(key),
                offset,
                len,
                signal: (counter != 0).then_some(signal),
            },
            _ => Self::Leaving,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_are_read_back() {
        let signal = Some(Signal { counter: CounterKey(7), value: u64::MAX });
        let key = MemoryKey(u64::MAX);
        for frame in [
            PutFrame::Put { key, offset: 1 << 60, len: u32::MAX, signal },
            PutFrame::Put { key, offset: 0, len: 1, signal: None },
            PutFrame::Put { key: MemoryKey(0), offset: 0, len: 0, signal },
            PutFrame::Leaving,
        ] {
            assert_eq!(PutFrame::parse(&frame.emit()), Some(frame));
        }
        let (key, signal) = (MemoryKey(0), None);
        let no_memory = PutFrame::Put { key, offset: 0, len: 1, signal };
        assert_eq!(PutFrame::parse(&no_memory.emit()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes: [u8; 36], class in 0..4_u8) {
            let mut header = [0; PutFrame::LEN];
            header[..36].copy_from_slice(&bytes);
            header[36] = class;
            if let Some(frame) = PutFrame::parse(&header) {
                prop_assert_eq!(frame.emit(), header);
            }
        }
    }
}
