//! The partitions that the threads of a sender have released (MPI 5.0 §4.2.1).
//!
//! ```text
//!   thread   writes its partition, marks it, counts it down in its message
//!   last     sends the message: it sees what the other threads have written
//! ```
//!
//! Any thread may release a partition without a lock. Messages and their division are not known here.

use crate::shared_memory::primitive::{AtomicU32, AtomicU64, Ordering};

/// The partitions of a started operation.
pub(crate) struct ReadyPartitions {
    /// A bit for each released partition.
    marks: Box<[AtomicU64]>,
    /// The partitions of each message that have not been released.
    left: Box<[AtomicU32]>,
}

/// What a thread does next that has released a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Nothing: other partitions of the message are not ready.
    Wait,
    /// It sends the message.
    Send,
    /// The partition had been released before, which is an error of the program.
    Twice,
}

impl ReadyPartitions {
    /// `partitions` of which none has been released, in so many messages.
    pub(crate) fn new(partitions: u32, messages: u32) -> Self {
        let words = partitions.div_ceil(u64::BITS);
        Self {
            marks: (0..words).map(|_| AtomicU64::new(0)).collect(),
            left: (0..messages).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The operation is started: no partition is released. `sizes` has the partitions of each message. No
    /// thread may release a partition meanwhile.
    pub(crate) fn start(&self, sizes: impl Iterator<Item = u32>) {
        for mark in &self.marks {
            mark.store(0, Ordering::Relaxed);
        }
        for (left, size) in self.left.iter().zip(sizes) {
            left.store(size, Ordering::Relaxed);
        }
    }

    /// Releases `partition`, which is in `message`.
    pub(crate) fn release(&self, partition: u32, message: u32) -> Release {
        let bit = 1 << (partition % u64::BITS);
        let before = self.marks[(partition / u64::BITS) as usize].fetch_or(bit, Ordering::Relaxed);
        if before & bit != 0 {
            return Release::Twice;
        }
        // Release: the bytes of this partition. Acquire: those of the others, for the last.
        match self.left[message as usize].fetch_sub(1, Ordering::AcqRel) {
            1 => Release::Send,
            _ => Release::Wait,
        }
    }

    /// Whether `partition` has been released since the start.
    pub(crate) fn is_released(&self, partition: u32) -> bool {
        let mark = self.marks[(partition / u64::BITS) as usize].load(Ordering::Relaxed);
        mark & (1 << (partition % u64::BITS)) != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::mpi::partitioned::division::{MessageDivision, Partitions};
    use platform::base::Random;

    #[test]
    fn each_message_is_sent_by_its_last_partition_in_any_order() {
        let random = &mut Random::new(7);
        for count in [1, 2, 63, 64, 65, 700] {
            let division = MessageDivision::new(Partitions { count, bytes: 1000 });
            let ready = ReadyPartitions::new(count, division.messages());
            for _ in 0..2 {
                let messages = 0..division.messages();
                ready.start(
                    messages.clone().map(|message| division.partitions_of(message).len() as u32),
                );
                let mut order: Vec<_> = (0..count).collect();
                for last in (1..order.len()).rev() {
                    order.swap(last, random.below(last as u64 + 1) as usize);
                }
                let mut sent = Vec::new();
                for partition in order {
                    assert!(!ready.is_released(partition));
                    let message = division.message_of(partition);
                    if ready.release(partition, message) == Release::Send {
                        let mut all = division.partitions_of(message);
                        assert!(all.all(|partition| ready.is_released(partition)));
                        sent.push(message);
                    }
                    assert_eq!(ready.release(partition, message), Release::Twice);
                }
                sent.sort_unstable();
                assert_eq!(sent, messages.collect::<Vec<_>>());
            }
        }
    }
}
