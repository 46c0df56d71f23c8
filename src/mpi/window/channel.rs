//! The messages of a window between its ranks, on its private communicator.

use std::sync::Arc;

use crate::device::Device;
use crate::engine::Engine;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::OperationId;
use crate::engine::point_to_point::probe::ProbedMessage;
use crate::engine::point_to_point::send::Mode;
use crate::engine::point_to_point::wire::Envelope;
use crate::engine::schedules::plan::Members;
use crate::mpi::communicator::{Comm, Context, Traffic};
use crate::mpi::group::Group;
use platform::base::{ErrorClass, Peer, Result};

/// The context of a window and its ranks.
#[derive(Clone, Debug)]
pub(super) struct WindowChannel {
    context: u64,
    group: Arc<Group>,
    /// This process.
    pub(super) rank: u32,
}

impl WindowChannel {
    pub(super) fn new(comm: &Comm) -> Self {
        let context = comm.context.for_traffic(Traffic::PointToPoint);
        Self { context, group: Arc::clone(&comm.group), rank: comm.rank }
    }

    /// The channel of a window that has no communicator yet.
    pub(super) fn none() -> Self {
        Self { context: Context::NONE.bits(), group: Arc::new(Group::range(0, 0, 0)), rank: 0 }
    }

    /// The context of all messages.
    pub(super) fn context(&self) -> u64 {
        self.context
    }

    /// The number of ranks.
    pub(super) fn size(&self) -> u32 {
        self.group.size()
    }

    pub(super) fn peer(&self, rank: u32) -> Peer {
        self.group.peer(rank)
    }

    /// The rank of a process.
    ///
    /// # Errors
    /// `Rank` if it is not one of the window.
    pub(super) fn rank_of(&self, peer: Peer) -> Result<u32> {
        self.group.rank_of(peer).ok_or_else(|| {
            let why = format!("rank {peer} of the world is not in the group of the window");
            ErrorClass::Rank.error(why)
        })
    }

    /// Starts a send; `None` if it has completed.
    pub(super) fn send<D: Device>(
        &self, engine: &mut Engine<D>, to: u32, tag: i32, memory: Memory,
    ) -> Option<OperationId> {
        let envelope = Envelope { context: self.context, source: self.rank, tag };
        engine.send(self.peer(to), envelope, memory, Mode::Standard)
    }

    /// Sends bytes; nobody waits for the completion.
    pub(super) fn send_detached<D: Device>(
        &self, engine: &mut Engine<D>, to: u32, tag: i32, bytes: Vec<u8>,
    ) {
        if let Some(operation) = self.send(engine, to, tag, Memory::owned(bytes)) {
            engine.release(operation);
        }
    }

    /// Starts a receive.
    pub(super) fn receive<D: Device>(
        &self, engine: &mut Engine<D>, from: u32, tag: i32, memory: Memory,
    ) -> OperationId {
        engine.receive(self.pattern(Some(from), tag), memory)
    }

    /// Takes the oldest message with this tag that has arrived.
    pub(super) fn take<D: Device>(
        &self, engine: &mut Engine<D>, tag: i32,
    ) -> Option<ProbedMessage> {
        engine.probe_matched(self.pattern(None, tag))
    }

    fn pattern(&self, source: Option<u32>, tag: i32) -> MatchPattern {
        MatchPattern { context: self.context, source, tag: Some(tag) }
    }
}
