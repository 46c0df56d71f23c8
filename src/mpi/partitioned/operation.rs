//! Partitioned operations as values, and those of a process.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::division::{MessageDivision, Partitions};
use super::put_state::{PutReceiver, PutSender};
use super::state::PartitionedState;
use super::table::PartitionedTable;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::operation::MemoryRange;
use crate::mpi::communicator::Context;
use crate::mpi::handle::Handle;
use crate::mpi::request::status::Status;
use platform::base::{ErrorClass, MpiError, Peer, Slab};

/// The key of a partitioned operation.
pub type PartitionedId = u32;

/// The direction of a partitioned operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PartitionedKind {
    Send,
    Receive,
}

/// What two operations have in common that match in the order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PartitionedKey {
    kind: PartitionedKind,
    context: Context,
    /// The rank of the peer in the communicator.
    rank: u32,
    tag: i32,
}

/// The other side of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionedPeer {
    pub(crate) peer: Peer,
    /// Its rank in the communicator.
    pub(crate) rank: u32,
    /// The rank of this process in the communicator.
    pub(super) own_rank: u32,
    pub(crate) context: Context,
}

/// What a receiver knows of its sender.
pub(super) enum SenderKnowledge {
    Unasked,
    /// A receive for the setup message is posted, into this memory.
    Asked(Memory),
    Known {
        /// The tag of the first data message.
        first_tag: u32,
        /// If puts carry the messages.
        puts: Option<PutReceiver>,
    },
    Lost(Box<MpiError>),
}

pub(super) enum OperationRole {
    Sender {
        /// The tag of the first data message.
        first_tag: u32,
        /// If puts carry the messages, or may do so.
        puts: Option<Box<PutSender>>,
    },
    Receiver(SenderKnowledge),
}

/// A send or a receive in partitions.
pub(crate) struct PartitionedOperation {
    pub(super) state: Arc<PartitionedState>,
    pub(super) memory: Memory,
    /// `None` for `MPI_PROC_NULL`.
    pub(super) peer: Option<PartitionedPeer>,
    pub(super) tag: i32,
    pub(super) role: OperationRole,
    /// The starts until now.
    pub(super) rounds: u64,
    /// Messages of the active operation that have not completed.
    pub(super) left: u32,
    pub(super) received_bytes: u64,
    pub(super) error: Option<Box<MpiError>>,
    /// Freed, but a receive for its setup message or for the answer is posted.
    pub(super) is_freed: bool,
}

/// The partitioned operations of a process.
#[derive(Default)]
pub(crate) struct PartitionedOperations {
    pub(super) all: Slab<PartitionedOperation>,
    /// Those by puts that have started and have not completed.
    pub(super) by_put: Vec<PartitionedId>,
    /// Those that have not been announced, oldest first.
    unannounced: HashMap<PartitionedKey, VecDeque<PartitionedId>>,
    /// The tag of the next data message of a new send. Tags are used again after 2^32 of them.
    pub(super) next_tag: u32,
    pub(super) table: Arc<PartitionedTable>,
}

/// The arguments of a partitioned operation, without the address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionedArguments {
    pub(crate) kind: PartitionedKind,
    pub(crate) partitions: Partitions,
    pub(crate) rank: i32,
    pub(crate) tag: i32,
    pub(crate) comm: Handle,
}

impl PartitionedOperation {
    fn is_known(&self) -> bool {
        match &self.role {
            OperationRole::Sender { .. } => true,
            OperationRole::Receiver(SenderKnowledge::Known { .. } | SenderKnowledge::Lost(_)) => {
                true
            }
            OperationRole::Receiver(SenderKnowledge::Unasked | SenderKnowledge::Asked(_)) => {
                self.peer.is_none()
            }
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_known() && self.left == 0
    }

    fn kind(&self) -> PartitionedKind {
        match self.role {
            OperationRole::Sender { .. } => PartitionedKind::Send,
            OperationRole::Receiver(_) => PartitionedKind::Receive,
        }
    }

    fn match_key(&self) -> Option<PartitionedKey> {
        let PartitionedPeer { rank, context, .. } = self.peer?;
        Some(PartitionedKey { kind: self.kind(), context, rank, tag: self.tag })
    }

    /// The bytes of a message in the memory of this side, whose end may be before that of the sender's.
    pub(super) fn range(&self, division: MessageDivision, message: u32) -> MemoryRange {
        let len = self.memory.len();
        let within = |position: u64| usize::try_from(position).map_or(len, |it| it.min(len));
        let bytes = division.bytes_of(message);
        let (start, end) = (within(bytes.start), within(bytes.end));
        MemoryRange { memory: self.memory.alias(), start, len: end - start }
    }

    pub(super) fn status(&self) -> Status {
        match (self.kind(), self.peer) {
            (PartitionedKind::Send, _) => Status::EMPTY,
            (PartitionedKind::Receive, None) => Status::PROC_NULL,
            (PartitionedKind::Receive, Some(peer)) => {
                let (source, bytes) = (peer.rank as i32, self.received_bytes);
                let is_external = self.memory.is_converted();
                Status { source, tag: self.tag, bytes, is_external, cancelled: false }
            }
        }
    }

    /// Whether this is a send by puts, and the receiver has not started the round.
    fn awaits_start(&self) -> bool {
        match &self.role {
            OperationRole::Sender { puts: Some(puts), .. } => {
                puts.failure().is_none() && puts.started_rounds() < self.rounds
            }
            OperationRole::Sender { puts: None, .. } | OperationRole::Receiver(_) => false,
        }
    }

    /// Whether a receive of the engine is posted that names this operation and no message.
    pub(super) fn awaits_setup(&self) -> bool {
        match &self.role {
            OperationRole::Sender { puts, .. } => {
                puts.as_ref().is_some_and(|puts| puts.answer().is_some())
            }
            OperationRole::Receiver(knowledge) => matches!(knowledge, SenderKnowledge::Asked(_)),
        }
    }

    /// The error of a receive whose memory is too short for the send.
    pub(super) fn truncation(&self, sender: Partitions) -> Option<Box<MpiError>> {
        let own = self.state.partitions();
        let (room, rank) = (own.total_bytes(), self.peer?.rank);
        (sender.total_bytes() > room).then(|| {
            let why = format!(
                "the partitioned send of rank {rank} with tag {} has {} partitions of {} bytes, {} in \
                 all: longer than the {room} bytes of the receive, {} partitions of {} bytes",
                self.tag, sender.count, sender.bytes, sender.total_bytes(), own.count, own.bytes
            );
            ErrorClass::Truncate.error(why)
        })
    }
}

/// Questions.
impl PartitionedOperations {
    /// The states of the operations, for threads without the lock.
    pub(crate) fn table(&self) -> &Arc<PartitionedTable> {
        &self.table
    }

    /// Whether a started operation is by puts and has not completed.
    #[inline]
    pub(in crate::mpi) fn is_any_by_put(&self) -> bool {
        !self.by_put.is_empty()
    }

    /// The peers of the started operations by puts.
    pub(in crate::mpi) fn peers_by_put(&self) -> impl Iterator<Item = Peer> {
        self.by_put.iter().filter_map(|id| Some(self.all[*id].peer?.peer))
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(in crate::mpi) fn is_complete(&self, id: PartitionedId) -> bool {
        self.all[id].is_complete()
    }

    pub(in crate::mpi) fn status(&self, id: PartitionedId) -> Status {
        self.all[id].status()
    }

    /// For reports on calls that wait.
    pub(in crate::mpi) fn waiting(&self, id: PartitionedId) -> WaitingPartitions {
        let operation = &self.all[id];
        let division = operation.state.division().filter(|_| operation.is_known());
        WaitingPartitions {
            kind: operation.kind(),
            peer: operation.peer,
            tag: operation.tag,
            partitions: operation.state.partitions().count,
            unready: operation.state.unready(),
            messages: division.map(|division| (operation.left, division.messages())),
            awaits_start: operation.awaits_start(),
        }
    }

    pub(super) fn add_unannounced(&mut self, id: PartitionedId) {
        if let Some(key) = self.all[id].match_key() {
            self.unannounced.entry(key).or_default().push_back(id);
        }
    }

    /// The operations that are announced before `id` and with it.
    pub(super) fn take_unannounced(&mut self, id: PartitionedId) -> VecDeque<PartitionedId> {
        let Some(key) = self.all[id].match_key() else { return VecDeque::new() };
        let Some(waiting) = self.unannounced.get_mut(&key) else { return VecDeque::new() };
        let Some(own) = waiting.iter().position(|other| *other == id) else {
            return VecDeque::new();
        };
        let later = waiting.split_off(own + 1);
        match later.is_empty() {
            true => self.unannounced.remove(&key).unwrap_or_default(),
            false => std::mem::replace(waiting, later),
        }
    }

    pub(super) fn remove_unannounced(&mut self, id: PartitionedId) {
        let Some(key) = self.all[id].match_key() else { return };
        let Some(waiting) = self.unannounced.get_mut(&key) else { return };
        waiting.retain(|other| *other != id);
        if waiting.is_empty() {
            self.unannounced.remove(&key);
        }
    }
}

/// A partitioned operation that has not completed.
pub(in crate::mpi) struct WaitingPartitions {
    pub(in crate::mpi) kind: PartitionedKind,
    pub(in crate::mpi) peer: Option<PartitionedPeer>,
    pub(in crate::mpi) tag: i32,
    pub(in crate::mpi) partitions: u32,
    /// The partitions of a send that have not been marked as ready.
    pub(in crate::mpi) unready: Vec<u32>,
    /// The messages that have not completed, of how many; `None` before the sender is known.
    pub(in crate::mpi) messages: Option<(u32, u32)>,
    /// Whether a send waits until its receiver has started.
    pub(in crate::mpi) awaits_start: bool,
}
