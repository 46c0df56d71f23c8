//! The messages that a receiver has, which any thread may look at without a lock (MPI 5.0 §4.2.2).

use std::ops::Range;

use crate::shared_memory::primitive::{AtomicU64, Ordering};

/// The messages of a started operation.
pub(crate) struct ArrivedMessages(Box<[AtomicU64]>);

impl ArrivedMessages {
    /// No message has arrived of so many.
    pub(crate) fn new(messages: u32) -> Self {
        Self((0..messages.div_ceil(u64::BITS)).map(|_| AtomicU64::new(0)).collect())
    }

    /// The operation is started: nothing has arrived. No thread may look meanwhile.
    pub(crate) fn start(&self) {
        self.0.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// The bytes of `message` have been written.
    pub(crate) fn arrive(&self, message: u32) {
        let bit = 1 << (message % u64::BITS);
        self.0[(message / u64::BITS) as usize].fetch_or(bit, Ordering::Release);
    }

    /// Whether all of `messages` have arrived; then the caller may read their bytes.
    pub(crate) fn have(&self, messages: Range<u32>) -> bool {
        let word = |number: u32| {
            let bits = number * u64::BITS;
            let from = messages.start.saturating_sub(bits).min(u64::BITS);
            let to = messages.end.saturating_sub(bits).min(u64::BITS);
            let below = |bit: u32| u64::MAX.checked_shr(u64::BITS - bit).unwrap_or(0);
            let wanted = below(to) & !below(from);
            self.0[number as usize].load(Ordering::Acquire) & wanted == wanted
        };
        (messages.start / u64::BITS..messages.end.div_ceil(u64::BITS)).all(word)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_range_is_there_if_each_message_is(
            arrived in proptest::collection::btree_set(0_u32..200, 0..200),
            start in 0_u32..200, length in 1_u32..200,
        ) {
            let messages = ArrivedMessages::new(200);
            arrived.iter().for_each(|message| messages.arrive(*message));
            let range = start..(start + length).min(200);
            let expected = range.clone().all(|message| arrived.contains(&message));
            prop_assert_eq!(messages.have(range.clone()), expected);
            messages.start();
            prop_assert!(!messages.have(range));
        }
    }
}
