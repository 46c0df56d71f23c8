//! Sends: the decision how a message travels to its receiver.
//!
//! ```text
//!                          standard mode                           synchronous mode
//! to this rank             at most eager_max: Local                Rendezvous
//! at most short_max        Inline, QueuedEager behind others       Rendezvous
//! at most eager_max        with credit: Eager, QueuedEager         Rendezvous
//! longer or no credit      Rendezvous                              Rendezvous
//! ```
//!
//! The device may set a higher limit than `eager_max` for messages of adjacent bytes to a peer.
//!
//! Packets to one peer leave in the order of the sends, so a packet waits in the queue of its peer
//! while another one waits there. An eager message that the device refuses is queued, too.

use crate::device::{Busy, Device, Header};
use crate::engine::memory::Memory;
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::operation::{
    Completion, MemoryRange, Operation, OperationId, OperationOwner, OperationState, SendOperation,
};
use crate::engine::point_to_point::rendezvous::RendezvousSender;
use crate::engine::point_to_point::wire::{Envelope, PacketKind};
use platform::base::{Peer, Span};

/// How a send completes (MPI 5.0 §3.4). A buffered send is a standard send from memory of the
/// library; a ready send is a standard send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When the buffer may be reused.
    Standard,
    /// When the buffer may be reused and the receive has started.
    Synchronous,
}

/// How a message travels to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendPath {
    /// Now, in the cache line of its envelope. Needs no credit.
    Inline,
    /// Now, from this rank to itself, without a packet.
    Local,
    /// Now, as one packet. Its credit has been taken.
    Eager,
    /// The same, of adjacent bytes that the device may send without a copy.
    EagerContiguous,
    /// As one packet behind the queued packets of the peer. Its credit has been taken.
    QueuedEager,
    /// The envelope goes first; the receiver reads the message or grants its packets.
    Rendezvous,
}

/// Longest inline message of any device, in bytes.
const INLINE_MAX: usize = 64;

impl<D: Device> PointToPoint<D> {
    /// Starts a send. `None` means that it has completed.
    #[inline(always)]
    pub(crate) fn send(
        &mut self, to: Peer, envelope: Envelope, memory: Memory, mode: Mode,
    ) -> Option<OperationId> {
        if mode == Mode::Standard
            && let Memory::Span(span) = memory
            && self.is_inline(to, span.len())
            && self.send_inline(to, envelope, span).is_ok()
        {
            return None;
        }
        self.send_range(to, envelope, MemoryRange::all(memory), mode, OperationOwner::Caller)
    }

    /// Starts a send for `owner`. `None` means that it has completed.
    pub(crate) fn send_range(
        &mut self, to: Peer, envelope: Envelope, message: MemoryRange, mode: Mode,
        owner: OperationOwner,
    ) -> Option<OperationId> {
        let path = self.send_path(to, &message, mode);
        match self.send_now(path, to, envelope, &message) {
            Ok(()) => None,
            Err(Busy) => {
                let is_rendezvous = path == SendPath::Rendezvous;
                Some(self.queue_send(to, envelope, message, is_rendezvous, owner))
            }
        }
    }

    /// Decides the path of a message. Takes its credit if the path is eager.
    #[inline]
    fn send_path(&mut self, to: Peer, message: &MemoryRange, mode: Mode) -> SendPath {
        let len = message.len;
        if mode == Mode::Synchronous {
            return SendPath::Rendezvous;
        }
        if self.is_inline(to, len) {
            return SendPath::Inline;
        }
        if len > self.eager_max && !self.is_eager_to(to, message) {
            return SendPath::Rendezvous;
        }
        if to == self.protocol.me {
            return SendPath::Local;
        }
        let peer = self.protocol.peers.at(to);
        if len > self.caps.short_max && !peer.credit.spend(len) {
            return SendPath::Rendezvous;
        }
        if !peer.is_copied_to {
            return self.eager_path(to, message);
        }
        if peer.has_envelopes() { SendPath::QueuedEager } else { SendPath::Eager }
    }

    /// The path of an eager message to a network, and of the first one to any peer.
    #[inline(never)]
    fn eager_path(&mut self, to: Peer, message: &MemoryRange) -> SendPath {
        if self.protocol.peers.must_queue(to) {
            return SendPath::QueuedEager;
        }
        let caps = self.device.peer_caps(to);
        let is_copied = !caps.lends && caps.long_max <= self.caps.packet_max;
        self.protocol.peers.at(to).is_copied_to = is_copied;
        if is_copied || message.span().is_none() {
            SendPath::Eager
        } else {
            SendPath::EagerContiguous
        }
    }

    /// Whether a message that is longer than the common limit is within that of a peer.
    #[inline(never)]
    fn is_eager_to(&mut self, to: Peer, message: &MemoryRange) -> bool {
        if to == self.protocol.me {
            return false;
        }
        let caps = self.device.peer_caps(to);
        let wanted = self.eager_setting.or(caps.eager_max).unwrap_or(0);
        let is_eager = message.len <= wanted.min(caps.long_max) && message.span().is_some();
        if is_eager && caps.lends {
            self.protocol.peers.at(to).credit.widen();
        }
        is_eager
    }

    /// The first decision of [`PointToPoint::send_path`], and the only one for most messages.
    #[inline(always)]
    fn is_inline(&self, to: Peer, len: usize) -> bool {
        len <= self.caps.short_max && to != self.protocol.me && !self.protocol.peers.must_queue(to)
    }

    /// Sends adjacent bytes inline; they are copied into the packet without a call.
    #[inline(always)]
    fn send_inline(&mut self, to: Peer, envelope: Envelope, span: Span) -> Result<(), Busy> {
        let header = envelope.header(PacketKind::Eager);
        self.device.send(to, &header, span.len(), |packet| span.read(0, packet))
    }

    /// Sends a message on its path, unless it has to be queued.
    #[inline]
    fn send_now(
        &mut self, path: SendPath, to: Peer, envelope: Envelope, message: &MemoryRange,
    ) -> Result<(), Busy> {
        let header = envelope.header(PacketKind::Eager);
        match path {
            SendPath::Inline => {
                let mut bytes = [0; INLINE_MAX];
                let bytes = &mut bytes[..message.len];
                message.pack(0, bytes);
                self.device.send_short(to, &header, bytes)
            }
            SendPath::Local => {
                self.protocol.message_to_self(envelope, message);
                Ok(())
            }
            SendPath::Eager => {
                self.device.send(to, &header, message.len, |packet| message.pack(0, packet))
            }
            SendPath::EagerContiguous => send_whole(&mut self.device, to, &header, message),
            SendPath::QueuedEager | SendPath::Rendezvous => Err(Busy),
        }
    }

    fn queue_send(
        &mut self, to: Peer, envelope: Envelope, message: MemoryRange, is_rendezvous: bool,
        owner: OperationOwner,
    ) -> OperationId {
        let rendezvous = is_rendezvous.then(|| RendezvousSender::new(message.len));
        let send =
            SendOperation { to, envelope, message, rendezvous, receiver: 0, asks_to_cancel: false };
        let id =
            self.protocol.operations.insert(Operation { owner, state: OperationState::Send(send) });
        if let Some(error) = self.protocol.failure(to) {
            let end = Completion { error: Some(error), ..Completion::default() };
            self.protocol.complete(id, end);
            return id;
        }
        self.protocol.queue_first(to, id);
        self.send_queued();
        if is_rendezvous || self.is_congested() || self.awaits_room() {
            self.note_long_start();
        }
        id
    }
}

/// Sends a whole message as one packet.
pub(crate) fn send_whole(
    device: &mut impl Device, to: Peer, header: &Header, message: &MemoryRange,
) -> Result<(), Busy> {
    match message.span() {
        Some(span) => device.send_contiguous(to, header, span),
        None => device.send(to, header, message.len, |packet| message.pack(0, packet)),
    }
}
