//! Long messages without packets: the receiver reads the sender's memory, or both ends copy.
//!
//! The receiver decides, because it knows both ends. A split copy begins with a request to the
//! sender; then the receiver copies from the front while any bytes are left. A busy sender finds no
//! bytes left. Neither waits for the other (`rendezvous` has the packets). A message that cannot be
//! copied directly travels in packets.

use crate::device::{Device, SplitEnd};
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::operation::{
    Completion, OperationId, OperationState, ReceiveOperation, ReceivePhase,
};
use crate::engine::point_to_point::protocol::{CopyAssist, MatchedRts};
use crate::engine::point_to_point::wire::{Control, Rts};
use platform::base::{Peer, Span};

impl<D: Device> PointToPoint<D> {
    /// Copies all matched messages out of their senders' memory, then assists the copies of peers.
    /// Queues the replies.
    pub(crate) fn run_due_copies(&mut self) {
        while let Some(matched) = self.protocol.matched_rts.pop_front() {
            self.copy_or_grant(matched);
        }
        while let Some(assist) = self.protocol.copy_assists.pop_front() {
            self.assist_copy(assist);
        }
    }

    /// Copies a matched message out of the sender's memory, or grants its packets.
    fn copy_or_grant(&mut self, MatchedRts { receiver, from, rts }: MatchedRts) {
        let OperationState::Receive(receive) = &self.protocol.operations[receiver].state else {
            return;
        };
        let ReceivePhase::Matched { progress, .. } = &receive.phase else { return };
        let limit = progress.limit();
        let into = receive.buffer.span().map(|buffer| buffer.part(0, limit));
        let end = match into {
            Some(into) => self.copy(receiver, from, rts, into),
            None => SplitEnd::Failed,
        };
        let OperationState::Receive(ReceiveOperation {
            phase: ReceivePhase::Matched { progress, .. },
            ..
        }) = &mut self.protocol.operations[receiver].state
        else {
            return;
        };
        let sender = rts.sender;
        let reply = match end {
            SplitEnd::PeerPending => return progress.await_sender(),
            SplitEnd::Completed => {
                progress.finish();
                Control::Fin { sender }
            }
            SplitEnd::Failed => Control::Cts { sender, receiver, limit: limit as u64 },
        };
        let done = progress.is_done();
        self.protocol.queue_reply(from, reply);
        if done {
            self.protocol.end_receive(receiver);
        }
    }

    /// Copies a message from the memory of `from`, alone or together with the sender.
    fn copy(&mut self, receiver: OperationId, from: Peer, rts: Rts, into: Span) -> SplitEnd {
        let Rts { sender, address, .. } = rts;
        if from == self.protocol.me || address == 0 {
            return SplitEnd::Failed;
        }
        let Some(bulk) = self.device.bulk() else { return SplitEnd::Failed };
        if !bulk.prefers(from, into.len()) {
            return SplitEnd::Failed;
        }
        // A peer with an unanswered RTS of this rank copies that message first, and cannot assist.
        let can_assist = self.protocol.peers[from as usize].unanswered_rts == 0;
        let split = bulk.split().filter(|_| can_assist);
        let Some(ticket) = split.and_then(|split| split.begin_split(from, into)) else {
            let read = bulk.read(from, address, into);
            return if read.is_ok() { SplitEnd::Completed } else { SplitEnd::Failed };
        };
        let assist = Control::CopyAssist { sender, receiver, ticket };
        // If the device has no space for the packet, this rank copies everything.
        let _ = self.send_packet(from, &assist.header(), &[]);
        let split = self.device.bulk().and_then(|bulk| bulk.split());
        split.map_or(SplitEnd::Failed, |split| split.read_split(from, ticket, address, into))
    }

    /// Copies the rest of a message into the buffer of its receiver. The send may have completed in
    /// the meantime.
    fn assist_copy(&mut self, CopyAssist { to, sender, receiver, ticket }: CopyAssist) {
        let operation = self.protocol.operations.get(sender).map(|operation| &operation.state);
        let Some(OperationState::Send(send)) = operation else { return };
        let Some(from) = send.message.span().filter(|_| send.to == to) else { return };
        let Some(split) = self.device.bulk().and_then(|bulk| bulk.split()) else { return };
        let whole = match split.write_split(to, ticket, from) {
            SplitEnd::PeerPending => return,
            SplitEnd::Completed => true,
            SplitEnd::Failed => false,
        };
        let done = Control::CopyAssistDone { sender, receiver, whole };
        self.protocol.queue_reply(to, done);
        let rendezvous = self.protocol.rendezvous(to, sender);
        if whole && rendezvous.is_some_and(|(rendezvous, _)| rendezvous.finish().is_ok()) {
            self.protocol.rts_answered(to);
            self.protocol.complete(sender, Completion::default());
        }
    }
}
