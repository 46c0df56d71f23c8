//! What threads see of a partitioned operation without the process lock.
//!
//! The application orders its calls: `MPI_Start` returns before a thread releases a partition, and all
//! partitions are released before the operation completes (MPI 5.0 §4.2). The flag `is_started` finds
//! calls that break this order if they are not concurrent with the start or the end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::arrived::ArrivedMessages;
use super::division::{MessageDivision, Partitions};
use super::put_state::ArrivalCounters;
use super::ready::{ReadyPartitions, Release};
use crate::mpi::handle::Handle;

/// The partitions of a request.
pub(crate) struct PartitionedState {
    handle: Handle,
    partitions: Partitions,
    is_started: AtomicBool,
    side: PartitionedSide,
}

enum PartitionedSide {
    Sender {
        division: MessageDivision,
        ready: ReadyPartitions,
    },
    /// Empty until the sender's partitions are known.
    Receiver(OnceLock<SenderMessages>),
    /// From `MPI_PROC_NULL`.
    NoSender,
}

/// The messages of a receiver.
struct SenderMessages {
    division: MessageDivision,
    arrivals: ArrivalRecord,
}

enum ArrivalRecord {
    Messages(ArrivedMessages),
    /// The sender's device counts what it has put.
    Puts(ArrivalCounters),
}

impl PartitionedState {
    /// An inactive send.
    pub(super) fn sender(handle: Handle, partitions: Partitions) -> Self {
        let division = MessageDivision::new(partitions);
        let ready = ReadyPartitions::new(partitions.count, division.messages());
        Self::inactive(handle, partitions, PartitionedSide::Sender { division, ready })
    }

    /// An inactive receive.
    pub(super) fn receiver(handle: Handle, partitions: Partitions) -> Self {
        Self::inactive(handle, partitions, PartitionedSide::Receiver(OnceLock::new()))
    }

    /// An inactive receive from `MPI_PROC_NULL`.
    pub(super) fn without_sender(handle: Handle, partitions: Partitions) -> Self {
        Self::inactive(handle, partitions, PartitionedSide::NoSender)
    }

    fn inactive(handle: Handle, partitions: Partitions, side: PartitionedSide) -> Self {
        Self { handle, partitions, is_started: AtomicBool::new(false), side }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// The partitions on this side.
    pub(crate) fn partitions(&self) -> Partitions {
        self.partitions
    }

    pub(crate) fn is_sender(&self) -> bool {
        matches!(self.side, PartitionedSide::Sender { .. })
    }

    /// Whether the request is active.
    pub(crate) fn is_started(&self) -> bool {
        self.is_started.load(Ordering::Acquire)
    }

    /// The messages, once they are known; `None` without a peer that sends.
    pub(super) fn division(&self) -> Option<MessageDivision> {
        match &self.side {
            PartitionedSide::Sender { division, .. } => Some(*division),
            PartitionedSide::Receiver(messages) => Some(messages.get()?.division),
            PartitionedSide::NoSender => None,
        }
    }

    /// A receiver learns the partitions of its sender, once, and where puts are counted if they carry the
    /// messages.
    pub(super) fn set_sender(&self, sender: Partitions, counters: Option<ArrivalCounters>) {
        if let PartitionedSide::Receiver(messages) = &self.side {
            let division = MessageDivision::new(sender);
            let by_message = || ArrivalRecord::Messages(ArrivedMessages::new(division.messages()));
            let arrivals = counters.map_or_else(by_message, ArrivalRecord::Puts);
            messages.get_or_init(|| SenderMessages { division, arrivals });
        }
    }

    /// The request becomes active: nothing is released, nothing has arrived.
    pub(super) fn start(&self) {
        match &self.side {
            PartitionedSide::Sender { division, ready } => {
                let messages = 0..division.messages();
                ready.start(messages.map(|message| division.partitions_of(message).len() as u32));
            }
            PartitionedSide::Receiver(_) => match self.arrivals() {
                Some(ArrivalRecord::Messages(arrived)) => arrived.start(),
                Some(ArrivalRecord::Puts(counters)) => counters.start(),
                None => {}
            },
            PartitionedSide::NoSender => {}
        }
        self.is_started.store(true, Ordering::Release);
    }

    /// The request becomes inactive.
    pub(super) fn stop(&self) {
        self.is_started.store(false, Ordering::Release);
    }

    /// Releases a partition of a sender: what comes next, and the message that the partition is in.
    pub(super) fn release(&self, partition: u32) -> Option<(Release, u32)> {
        let PartitionedSide::Sender { division, ready } = &self.side else { return None };
        let message = division.message_of(partition);
        Some((ready.release(partition, message), message))
    }

    /// Whether a partition of a sender has been released since the start.
    pub(super) fn is_released(&self, partition: u32) -> bool {
        let PartitionedSide::Sender { ready, .. } = &self.side else { return false };
        ready.is_released(partition)
    }

    /// The partitions of a sender that have not been released since the start.
    pub(super) fn unready(&self) -> Vec<u32> {
        let all = if self.is_sender() { 0..self.partitions.count } else { 0..0 };
        all.filter(|partition| !self.is_released(*partition)).collect()
    }

    /// The bytes of a message are in the buffer of the receiver.
    pub(super) fn arrive(&self, message: u32) {
        if let Some(ArrivalRecord::Messages(arrived)) = self.arrivals() {
            arrived.arrive(message);
        }
    }

    /// Where puts are counted, at a receiver that has accepted them.
    pub(super) fn counters(&self) -> Option<&ArrivalCounters> {
        match self.arrivals()? {
            ArrivalRecord::Puts(counters) => Some(counters),
            ArrivalRecord::Messages(_) => None,
        }
    }

    fn arrivals(&self) -> Option<&ArrivalRecord> {
        match &self.side {
            PartitionedSide::Receiver(messages) => Some(&messages.get()?.arrivals),
            PartitionedSide::Sender { .. } | PartitionedSide::NoSender => None,
        }
    }

    /// Whether a partition of a started receiver has arrived.
    pub(super) fn has_arrived(&self, partition: u32) -> bool {
        match &self.side {
            PartitionedSide::Receiver(messages) => messages.get().is_some_and(|messages| {
                let touching = messages.division.messages_of(self.partitions, partition);
                match &messages.arrivals {
                    ArrivalRecord::Messages(arrived) => arrived.have(touching),
                    ArrivalRecord::Puts(counters) => counters.have(touching),
                }
            }),
            PartitionedSide::NoSender => true,
            PartitionedSide::Sender { .. } => false,
        }
    }
}
