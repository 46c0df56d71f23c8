//! The messages that carry the partitions of an operation.
//!
//! ```text
//!   partitions of the sender     |--|--|--|--|--|--|     equal lengths
//!   messages                     |-----|-----|-----|     whole partitions of the sender
//!   partitions of the receiver   |--------|--------|     equal lengths; the bytes are the same
//! ```
//!
//! Both sides calculate the messages from the partitions of the sender. A message is sent when all its
//! partitions are ready, and a partition of the receiver has arrived with all messages that touch it.

use std::ops::Range;

/// Shorter messages cost more than the wait for the next partition.
const MESSAGE_MIN_BYTES: u64 = 4096;

/// The most messages of one operation: both sides keep a request for each.
const MESSAGES_MAX: u32 = 256;

/// How many parts of equal length an operation has on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partitions {
    /// Their number, at least 1.
    pub(crate) count: u32,
    /// The length of each.
    pub(crate) bytes: u64,
}

/// The messages of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageDivision {
    sender: Partitions,
    messages: u32,
}

impl Partitions {
    /// The length of all.
    pub(crate) fn total_bytes(self) -> u64 {
        u64::from(self.count) * self.bytes
    }
}

impl MessageDivision {
    /// The messages of an operation whose sender has these partitions.
    pub(crate) fn new(sender: Partitions) -> Self {
        let long_enough = u32::try_from(sender.total_bytes() / MESSAGE_MIN_BYTES);
        let most = sender.count.min(MESSAGES_MAX);
        Self { sender, messages: long_enough.unwrap_or(MESSAGES_MAX).clamp(1, most) }
    }

    /// The partitions of the sender.
    pub(crate) fn sender(self) -> Partitions {
        self.sender
    }

    /// Number of messages, at least 1.
    pub(crate) fn messages(self) -> u32 {
        self.messages
    }

    /// The partitions of the sender that are in a message.
    pub(crate) fn partitions_of(self, message: u32) -> Range<u32> {
        self.first(message)..self.first(message + 1)
    }

    fn first(self, message: u32) -> u32 {
        // At most the number of partitions.
        (u64::from(message) * u64::from(self.sender.count) / u64::from(self.messages)) as u32
    }

    /// The message that has this partition of the sender.
    pub(crate) fn message_of(self, partition: u32) -> u32 {
        let (count, messages) = (u64::from(self.sender.count), u64::from(self.messages));
        // The last message whose first partition is not behind this one.
        (((u64::from(partition) + 1) * messages - 1) / count) as u32
    }

    /// The bytes of a message, from the begin of the operation.
    pub(crate) fn bytes_of(self, message: u32) -> Range<u64> {
        let Range { start, end } = self.partitions_of(message);
        u64::from(start) * self.sender.bytes..u64::from(end) * self.sender.bytes
    }

    /// The messages that a partition of the receiver arrives with.
    pub(crate) fn messages_of(self, receiver: Partitions, partition: u32) -> Range<u32> {
        let first = u64::from(partition) * receiver.bytes;
        if receiver.bytes == 0 || first + receiver.bytes > self.sender.total_bytes() {
            // Not all of it arrives, so the partition is there when the operation is.
            return 0..self.messages;
        }
        let sender = |byte: u64| (byte / self.sender.bytes) as u32;
        self.message_of(sender(first))..self.message_of(sender(first + receiver.bytes - 1)) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_partitions_share_messages() {
        let messages = |count, bytes| MessageDivision::new(Partitions { count, bytes }).messages();
        assert_eq!([messages(1, 0), messages(16, 8), messages(16, 512)], [1, 1, 2]);
        assert_eq!([messages(16, 4096), messages(16, 1 << 30)], [16, 16]);
        assert_eq!([messages(100_000, 4096), messages(u32::MAX, u64::from(u32::MAX))], [256, 256]);
    }

    proptest! {
        #[test]
        fn each_partition_is_in_one_message(count in 1_u32..3000, bytes in 0_u64..20_000) {
            let division = MessageDivision::new(Partitions { count, bytes });
            let mut next = 0;
            for message in 0..division.messages() {
                let partitions = division.partitions_of(message);
                prop_assert_eq!(partitions.start, next);
                prop_assert!(!partitions.is_empty());
                next = partitions.end;
                for partition in partitions {
                    prop_assert_eq!(division.message_of(partition), message);
                }
            }
            prop_assert_eq!(next, count);
        }

        #[test]
        fn a_partition_of_the_receiver_arrives_with_the_messages_that_touch_it(
            sender in 1_u32..60, receiver in 1_u32..60, unit in 1_u64..300,
        ) {
            // Both have the same bytes.
            let sent = Partitions { count: sender, bytes: u64::from(receiver) * unit };
            let received = Partitions { count: receiver, bytes: u64::from(sender) * unit };
            let division = MessageDivision::new(sent);
            for partition in 0..receiver {
                let (start, end) = (
                    u64::from(partition) * received.bytes,
                    u64::from(partition + 1) * received.bytes,
                );
                let touches = |message: &u32| {
                    let bytes = division.bytes_of(*message);
                    bytes.start < end && start < bytes.end
                };
                let touching: Vec<_> = (0..division.messages()).filter(touches).collect();
                let named: Vec<_> = division.messages_of(received, partition).collect();
                prop_assert_eq!(touching, named);
            }
        }
    }
}
