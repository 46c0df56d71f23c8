//! The setup message: what a receiver must know of the sender of a partitioned operation.
//!
//! ```text
//!   bytes 0..4   number of partitions
//!         4..8   tag of the first data message; the others follow, modulo 2^32
//!         8..16  bytes of a partition
//! ```

use super::division::Partitions;
use platform::base::{ErrorClass, MpiError, Result};

/// A setup message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartitionedSetup {
    pub(super) partitions: Partitions,
    pub(super) first_tag: u32,
}

impl PartitionedSetup {
    /// The length in bytes.
    pub(super) const LEN: usize = 16;

    pub(super) fn emit(self) -> [u8; Self::LEN] {
        let Partitions { count, bytes } = self.partitions;
        let mut message = [0; Self::LEN];
        message[..4].copy_from_slice(&count.to_le_bytes());
        message[4..8].copy_from_slice(&self.first_tag.to_le_bytes());
        message[8..].copy_from_slice(&bytes.to_le_bytes());
        message
    }

    /// # Errors
    /// `Intern` for a message that no sender emits.
    pub(super) fn parse(message: [u8; Self::LEN]) -> Result<Self> {
        let [a, b, c, d, e, f, g, h, bytes @ ..] = message;
        let (count, bytes) = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(bytes));
        if count == 0 || u64::from(count).checked_mul(bytes).is_none() {
            return Err(malformed(count, bytes));
        }
        let partitions = Partitions { count, bytes };
        Ok(Self { partitions, first_tag: u32::from_le_bytes([e, f, g, h]) })
    }
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
        fn what_was_emitted_is_parsed(count in 1_u32.., first_tag: u32, bytes in 0_u64..1 << 32) {
            let setup = PartitionedSetup { partitions: Partitions { count, bytes }, first_tag };
            prop_assert_eq!(PartitionedSetup::parse(setup.emit()).unwrap(), setup);
        }

        #[test]
        fn any_bytes_are_a_setup_of_a_length_in_64_bits_or_an_error(message: [u8; 16]) {
            if let Ok(setup) = PartitionedSetup::parse(message) {
                let Partitions { count, bytes } = setup.partitions;
                prop_assert!(count > 0 && u64::from(count).checked_mul(bytes).is_some());
                prop_assert_eq!(setup.emit(), message);
            }
        }
    }

    #[test]
    fn no_partitions_are_malformed() {
        assert!(PartitionedSetup::parse([0; 16]).is_err());
        assert!(PartitionedSetup::parse([0xff; 16]).is_err());
    }
}
