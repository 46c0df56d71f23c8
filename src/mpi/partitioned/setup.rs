//! The setup message: what a receiver must know of the sender of a partitioned operation. And the answer,
//! if the sender offers puts.
//!
//! ```text
//!   setup   bytes 0..4    number of partitions
//!                 4..8    tag of the first data message; the others follow, modulo 2^32
//!                 8..16   bytes of a partition
//!                 16..24  key of the number of started rounds; 0 without an offer
//!   answer  bytes 0..8    key of the memory of the receiver; 0 for a refusal
//!                 8..16   key of its counters
//! ```

use super::division::Partitions;
use crate::device::rma::MemoryKey;
use platform::base::{ErrorClass, MpiError, Result};

/// A setup message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartitionedSetup {
    pub(super) partitions: Partitions,
    pub(super) first_tag: u32,
    /// Where the receiver counts the rounds that it starts, if it accepts puts.
    pub(super) started: Option<MemoryKey>,
}

/// An answer: the keys of the memory and of the counters, or a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PutAnswer(pub(super) Option<[MemoryKey; 2]>);

impl PartitionedSetup {
    /// The length in bytes.
    pub(super) const LEN: usize = 24;

    pub(super) fn emit(self) -> [u8; Self::LEN] {
        let Partitions { count, bytes } = self.partitions;
        let mut message = [0; Self::LEN];
        message[..4].copy_from_slice(&count.to_le_bytes());
        message[4..8].copy_from_slice(&self.first_tag.to_le_bytes());
        message[8..16].copy_from_slice(&bytes.to_le_bytes());
        let key = self.started.map_or(0, |key| key.0);
        message[16..].copy_from_slice(&key.to_le_bytes());
        message
    }

    /// # Errors
    /// `Intern` for a message that no sender emits.
    pub(super) fn parse(message: [u8; Self::LEN]) -> Result<Self> {
        let [count @ .., _, _, _, _] = split(message, 0);
        let [_, _, _, _, first_tag @ ..] = split(message, 0);
        let (count, first_tag) = (u32::from_le_bytes(count), u32::from_le_bytes(first_tag));
        let bytes = u64::from_le_bytes(split(message, 1));
        let key = u64::from_le_bytes(split(message, 2));
        if count == 0 || u64::from(count).checked_mul(bytes).is_none() {
            return Err(malformed(count, bytes));
        }
        let partitions = Partitions { count, bytes };
        let started = (key != 0).then_some(MemoryKey(key));
        Ok(Self { partitions, first_tag, started })
    }
}

impl PutAnswer {
    /// The length in bytes.
    pub(super) const LEN: usize = 16;

    pub(super) fn emit(self) -> [u8; Self::LEN] {
        let [memory, counters] = self.0.map_or([0; 2], |keys| keys.map(|key| key.0));
        let mut message = [0; Self::LEN];
        message[..8].copy_from_slice(&memory.to_le_bytes());
        message[8..].copy_from_slice(&counters.to_le_bytes());
        message
    }

    pub(super) fn parse(message: [u8; Self::LEN]) -> Self {
        let keys = [0, 1].map(|part| u64::from_le_bytes(split(message, part)));
        Self((keys[0] != 0).then(|| keys.map(MemoryKey)))
    }
}

/// Eight bytes of a message.
fn split<const LEN: usize>(message: [u8; LEN], part: usize) -> [u8; 8] {
    std::array::from_fn(|byte| message[8 * part + byte])
}

#[cold]
fn malformed(count: u32, bytes: u64) -> Box<MpiError> {
    let why = format!("the setup of a partitioned send names {count} partitions of {bytes} bytes");
    ErrorClass::Intern.error(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_emitted_is_parsed(
            count in 1_u32.., first_tag: u32, bytes in 0_u64..1 << 32, key: u64,
        ) {
            let started = (key != 0).then_some(MemoryKey(key));
            let partitions = Partitions { count, bytes };
            let setup = PartitionedSetup { partitions, first_tag, started };
            prop_assert_eq!(PartitionedSetup::parse(setup.emit()).unwrap(), setup);
            let answer = PutAnswer(started.map(|key| [key, MemoryKey(bytes)]));
            prop_assert_eq!(PutAnswer::parse(answer.emit()), answer);
        }

        #[test]
        fn any_bytes_are_a_setup_of_a_length_in_64_bits_or_an_error(message: [u8; 24]) {
            if let Ok(setup) = PartitionedSetup::parse(message) {
                let Partitions { count, bytes } = setup.partitions;
                prop_assert!(count > 0 && u64::from(count).checked_mul(bytes).is_some());
                prop_assert_eq!(setup.emit(), message);
            }
        }
    }

    #[test]
    fn no_partitions_are_malformed() {
        assert!(PartitionedSetup::parse([0; 24]).is_err());
        assert!(PartitionedSetup::parse([0xff; 24]).is_err());
    }
}
