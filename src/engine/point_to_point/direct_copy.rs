//! Long messages without packets: read out of the sender's memory by the receiver, or copied by
//! both at once, where the device can do that.
//!
//! The receiver decides, as it is who knows both ends. It asks the sender for help before it begins
//! and then does as much as is left for it; a sender that is busy elsewhere finds nothing left to
//! do. Neither waits for the other (`rendezvous` draws what they tell each other). What cannot be
//! copied directly comes in packets.

use crate::device::{Device, SplitEnd};
use crate::engine::point_to_point::Engine;
use crate::engine::point_to_point::operation::{
    Completion, OperationId, OperationState, ReceiveOperation, ReceivePhase,
};
use crate::engine::point_to_point::protocol::OutgoingPacket;
use crate::engine::point_to_point::wire::{Control, Rts};
use platform::base::{Peer, Span};

impl<D: Device> Engine<D> {
    /// Gets a matched message out of the sender's memory, or asks for packets.
    pub(in crate::engine) fn pull(&mut self, id: OperationId, from: Peer, announce: Rts) {
        let OperationState::Receive(receive) = &self.protocol.operations[id].state else { return };
        let ReceivePhase::Matched { progress, .. } = &receive.phase else { return };
        let limit = progress.limit();
        let into = receive.buffer.span().map(|room| room.part(0, limit));
        let end = match into {
            Some(into) => self.copy(id, from, announce, into),
            None => SplitEnd::Failed,
        };
        let OperationState::Receive(ReceiveOperation {
            phase: ReceivePhase::Matched { progress, .. },
            ..
        }) = &mut self.protocol.operations[id].state
        else {
            return;
        };
        let sender = announce.sender;
        let answer = match end {
            SplitEnd::PeerPending => return progress.await_sender(),
            SplitEnd::Completed => {
                progress.finish();
                Control::Fin { sender }
            }
            SplitEnd::Failed => Control::Cts { sender, receiver: id, limit: limit as u64 },
        };
        let done = progress.is_done();
        self.protocol.queue(from, OutgoingPacket::Control(answer));
        if done {
            self.protocol.end_receive(id);
        }
    }

    /// Copies an announced message into the room of the receive `id`, as far as the sender does not.
    fn copy(&mut self, id: OperationId, from: Peer, announce: Rts, into: Span) -> SplitEnd {
        let Rts { sender, address, .. } = announce;
        if from == self.protocol.me || address == 0 {
            return SplitEnd::Failed;
        }
        let Some(bulk) = self.device.bulk() else { return SplitEnd::Failed };
        if !bulk.prefers(from, into.len()) {
            return SplitEnd::Failed;
        }
        // Who has a message of ours to copy begins with that, and is no help with this one.
        let is_idle = self.protocol.peers[from as usize].unanswered_rts == 0;
        let split = bulk.split().filter(|_| is_idle);
        let Some(ticket) = split.and_then(|split| split.begin_split(from, into)) else {
            let read = bulk.read(from, address, into);
            return if read.is_ok() { SplitEnd::Completed } else { SplitEnd::Failed };
        };
        let help = Control::CopyAssist { sender, receiver: id, ticket };
        // Without room for the packet nobody helps.
        let _ = self.transmit(from, &help.header(), &[]);
        let split = self.device.bulk().and_then(|bulk| bulk.split());
        split.map_or(SplitEnd::Failed, |split| split.read_split(from, ticket, address, into))
    }

    /// Copies a part of an announced send into the room of its receive, if there is any left: the
    /// send may be over by now.
    pub(in crate::engine) fn assist_copy(
        &mut self, to: Peer, sender: OperationId, receiver: OperationId, ticket: u64,
    ) {
        let operation = self.protocol.operations.get(sender).map(|operation| &operation.state);
        let Some(OperationState::Send(send)) = operation else { return };
        let Some(from) = send.message.span().filter(|_| send.to == to) else { return };
        let Some(split) = self.device.bulk().and_then(|bulk| bulk.split()) else { return };
        let whole = match split.write_split(to, ticket, from) {
            SplitEnd::PeerPending => return,
            SplitEnd::Completed => true,
            SplitEnd::Failed => false,
        };
        let helped = Control::CopyAssistDone { sender, receiver, whole };
        self.protocol.queue(to, OutgoingPacket::Control(helped));
        let rendezvous = self.protocol.rendezvous(to, sender);
        if whole && rendezvous.is_some_and(|(rendezvous, _)| rendezvous.finish().is_ok()) {
            self.protocol.rts_answered(to);
            self.protocol.complete(sender, Completion::default());
        }
    }
}
