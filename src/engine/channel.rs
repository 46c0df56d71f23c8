//! Messages of the library itself between the ranks of a communicator: requests and answers of one-sided
//! communication.
//!
//! A channel has a context of its own, so its messages match no other ones. It knows no meaning of a tag.

use std::fmt;
use std::sync::Arc;

use crate::device::Device;
use crate::engine::Engine;
use crate::engine::memory::{Memory, OwnedBytes};
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::OperationId;
use crate::engine::point_to_point::send::Mode;
use crate::engine::point_to_point::wire::Envelope;
use crate::engine::schedules::plan::Members;
use platform::base::Peer;

/// A context and its ranks.
#[derive(Clone)]
pub(crate) struct MessageChannel {
    context: u64,
    members: Arc<dyn Members>,
    /// This process.
    rank: u32,
}

/// A message whose bytes are on their way.
#[derive(Debug)]
pub(crate) struct ArrivingMessage {
    source: u32,
    from: Peer,
    receive: OperationId,
    bytes: OwnedBytes,
}

/// A message that is here.
struct ArrivedMessage {
    /// The rank that its sender gave itself.
    source: u32,
    from: Peer,
    bytes: Vec<u8>,
}

impl fmt::Debug for MessageChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context, rank, .. } = self;
        f.debug_struct("MessageChannel").field("context", context).field("rank", rank).finish()
    }
}

impl MessageChannel {
    /// At a rank of `members`.
    pub(crate) fn new(context: u64, members: Arc<dyn Members>, rank: u32) -> Self {
        Self { context, members, rank }
    }

    /// The context of all messages.
    pub(crate) fn context(&self) -> u64 {
        self.context
    }

    /// This process.
    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    pub(crate) fn peer(&self, rank: u32) -> Peer {
        self.members.peer(rank)
    }

    /// Starts a send; `None` if it has completed.
    pub(crate) fn send<D: Device>(
        &self, engine: &mut Engine<D>, to: u32, tag: i32, memory: Memory,
    ) -> Option<OperationId> {
        let envelope = Envelope { context: self.context, source: self.rank, tag };
        engine.send(self.peer(to), envelope, memory, Mode::Standard)
    }

    /// Sends a message of the library's memory; nobody waits for the completion.
    pub(crate) fn send_detached<D: Device>(
        &self, engine: &mut Engine<D>, to: u32, tag: i32, memory: Memory,
    ) {
        if let Some(operation) = self.send(engine, to, tag, memory) {
            engine.release(operation);
        }
    }

    /// Starts a receive.
    pub(crate) fn receive<D: Device>(
        &self, engine: &mut Engine<D>, from: u32, tag: i32, memory: Memory,
    ) -> OperationId {
        engine.receive(self.pattern(Some(from), tag), memory)
    }

    /// The next message with this tag whose bytes are here, and its source; `arriving` keeps the one whose
    /// bytes are on their way.
    pub(crate) fn next_message<D: Device>(
        &self, engine: &mut Engine<D>, tag: i32, arriving: &mut Option<ArrivingMessage>,
    ) -> Option<(u32, Vec<u8>)> {
        let arrived = self.next(engine, tag, arriving)?;
        Some((arrived.source, arrived.bytes))
    }

    /// [`MessageChannel::next_message`] with the peer that has sent it, in the numbering of this process.
    pub(crate) fn next_message_of_peer<D: Device>(
        &self, engine: &mut Engine<D>, tag: i32, arriving: &mut Option<ArrivingMessage>,
    ) -> Option<(Peer, Vec<u8>)> {
        let arrived = self.next(engine, tag, arriving)?;
        Some((arrived.from, arrived.bytes))
    }

    fn next<D: Device>(
        &self, engine: &mut Engine<D>, tag: i32, arriving: &mut Option<ArrivingMessage>,
    ) -> Option<ArrivedMessage> {
        if arriving.is_none() {
            let message = engine.probe_matched(self.pattern(None, tag))?;
            let (source, from) = (message.envelope.source, message.from());
            let bytes = OwnedBytes::zeroed(message.len() as usize);
            let receive = engine.receive_matched(message, Memory::Span(bytes.span()));
            *arriving = Some(ArrivingMessage { source, from, receive, bytes });
        }
        let end = engine.take_completion(arriving.as_ref()?.receive)?;
        let ArrivingMessage { source, from, bytes, .. } = arriving.take()?;
        if end.error.is_some() {
            // Its sender has failed before all bytes were here.
            return self.next(engine, tag, arriving);
        }
        let mut message = vec![0; bytes.len()];
        bytes.span().read(0, &mut message);
        Some(ArrivedMessage { source, from, bytes: message })
    }

    fn pattern(&self, source: Option<u32>, tag: i32) -> MatchPattern {
        MatchPattern { context: self.context, source, tag: Some(tag) }
    }
}
