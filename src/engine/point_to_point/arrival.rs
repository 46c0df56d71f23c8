//! Arriving packets: the transitions that each kind causes.
//!
//! [`MessageProtocol`] is the [`PacketSink`] that a device delivers to. Every packet is checked: one
//! that fits no state is recorded as a fault and changes nothing.

use crate::device::{Header, PacketSink};
use crate::engine::point_to_point::operation::{
    Completion, MemoryRange, OperationId, OperationState,
};
use crate::engine::point_to_point::protocol::{
    CopyAssist, MessageBody, MessageProtocol, UnexpectedMessage, deliver,
};
use crate::engine::point_to_point::wire::{Control, Envelope, PacketKind, Rts};
use platform::base::{Peer, Span};

/// Datagrams that are kept for the process.
const DATAGRAMS_MAX: usize = 4096;

impl PacketSink for MessageProtocol {
    #[inline]
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        if header.kind == PacketKind::Eager as u8 {
            self.eager(from, Envelope::of(header), data);
        } else if header.kind == PacketKind::Rts as u8 {
            self.rts(from, Envelope::of(header), data);
        } else if let Some(control) = Control::parse(header) {
            self.control(from, control, data);
        } else {
            self.fault(from, &format!("a packet of the unknown kind {}", header.kind));
        }
    }

    fn place(&mut self, from: Peer, header: &Header, len: usize) -> Option<Span> {
        self.destination(from, header, len)
    }

    fn placed(&mut self, from: Peer, header: &Header, len: usize) {
        self.arrived_in_place(from, header, len);
    }

    fn sent(&mut self, to: Peer, token: u32) {
        self.returns += 1;
        let Some((rendezvous, _)) = self.rendezvous(to, token) else { return };
        if rendezvous.returned().is_ok() && rendezvous.is_done() {
            self.complete(token, Completion::default());
        }
    }

    fn room(&mut self, peer: Peer) {
        self.room_announced(peer);
    }

    fn datagram(&mut self, from: Peer, data: &[u8]) {
        if self.datagrams.len() < DATAGRAMS_MAX {
            self.datagrams.push((from, data.into()));
        }
    }

    fn failed(&mut self, peer: Peer, why: &str) {
        self.peer_failed(peer, why);
    }
}

impl MessageProtocol {
    #[inline]
    fn eager(&mut self, from: Peer, envelope: Envelope, data: &[u8]) {
        let Some(id) = self.matching.take_receive(envelope) else {
            let mut body = self.take_buffer(data.len());
            body.copy_from_slice(data);
            let body = MessageBody::Whole(body);
            return self.keep(envelope, UnexpectedMessage { from, body });
        };
        self.consumed(from, data.len());
        if let OperationState::Receive(receive) = &mut self.operations[id].state {
            let end = deliver(envelope, &mut receive.buffer, data);
            self.complete(id, end);
        }
    }

    fn rts(&mut self, from: Peer, envelope: Envelope, data: &[u8]) {
        let Some(rts) = Rts::parse(data) else {
            return self.fault(from, "an RTS of the wrong length");
        };
        let Some(id) = self.matching.take_receive(envelope) else {
            let body = MessageBody::Rts(rts);
            return self.keep(envelope, UnexpectedMessage { from, body });
        };
        if let Some(buffer) = self.take_receive_buffer(id) {
            self.match_rts(id, envelope, from, rts, buffer);
        }
    }

    /// The buffer of a posted receive whose state is about to change.
    fn take_receive_buffer(&mut self, id: OperationId) -> Option<MemoryRange> {
        let state = &mut self.operations[id].state;
        match std::mem::replace(state, OperationState::Complete(Completion::default())) {
            OperationState::Receive(receive) => Some(receive.buffer),
            OperationState::Send(_) | OperationState::Complete(_) => None,
        }
    }

    fn control(&mut self, from: Peer, control: Control, data: &[u8]) {
        match control {
            Control::Cts { sender, receiver, limit } => self.cts(from, sender, receiver, limit),
            Control::Data { receiver, offset } => {
                let take = |buffer: &mut MemoryRange| buffer.unpack(offset as usize, data);
                self.data(from, receiver, offset, data.len(), take);
            }
            Control::Fin { sender } => self.fin(from, sender),
            Control::Credit { bytes } => self.peers.at(from).credit.refill(bytes),
            Control::CopyAssist { sender, receiver, ticket } => {
                self.copy_assists.push_back(CopyAssist { to: from, sender, receiver, ticket });
            }
            Control::CopyAssistDone { sender, receiver, whole } => {
                self.copy_assist_done(from, sender, receiver, whole);
            }
            Control::Hold => self.hold(from),
            Control::Resume => self.resume(from),
            Control::Cancel { sender } => self.forget(from, sender),
            Control::CancelReply { sender, is_cancelled } => {
                self.cancel_replied(from, sender, is_cancelled);
            }
        }
    }

    fn cts(&mut self, from: Peer, sender: OperationId, receiver: OperationId, limit: u64) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let Some((rendezvous, granted_by)) = self.rendezvous(from, sender) else {
            return self.fault(from, "a CTS for a send that does not exist");
        };
        if rendezvous.cts(limit).is_err() {
            return self.fault(from, "a second CTS");
        }
        *granted_by = receiver;
        let done = rendezvous.is_done();
        self.rts_answered(from);
        if done {
            let end = match self.is_disturbed {
                true => self.end_of_empty_send(sender),
                false => Completion::default(),
            };
            return self.complete(sender, end);
        }
        self.peers.at(from).streams.push_back(sender);
        self.queue_peer(from);
    }

    fn fin(&mut self, from: Peer, sender: OperationId) {
        match self.rendezvous(from, sender).map(|(rendezvous, _)| rendezvous.finish()) {
            Some(Ok(())) => {
                self.rts_answered(from);
                self.complete(sender, Completion::default());
            }
            Some(Err(_)) | None => self.fault(from, "a FIN for no announced send"),
        }
    }

    /// The sender has copied the last bytes of a message, or could not.
    fn copy_assist_done(
        &mut self, from: Peer, sender: OperationId, receiver: OperationId, whole: bool,
    ) {
        let Some((_, progress)) = self.arriving(from, receiver) else {
            return self.fault(from, "the end of a split copy for a receive that does not exist");
        };
        if progress.copy_assist_done(whole).is_err() {
            return self.fault(from, "the end of a split copy that was not due");
        }
        let limit = progress.limit() as u64;
        if whole {
            return self.end_receive(receiver);
        }
        self.queue_reply(from, Control::Cts { sender, receiver, limit });
    }
}
