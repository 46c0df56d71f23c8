//! Long messages without packets: the receiver reads the sender's memory, or both ends copy.
//!
//! The receiver decides, because it knows both ends. A split copy begins with a request to the
//! sender; then the receiver copies from the front while any bytes are left. A busy sender finds no
//! bytes left. Neither waits for the other (`rendezvous` has the packets). A message that cannot be
//! copied directly travels in packets.
//!
//! One poll copies a part of a message at most, as the caller holds the lock of the process. The rest
//! is due in the next poll.

use crate::device::{COPY_STEP, Device, SplitEnd};
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::operation::{
    Completion, OperationState, ReceiveOperation, ReceivePhase,
};
use crate::engine::point_to_point::protocol::{CopyAssist, DirectCopy, MatchedRts};
use crate::engine::point_to_point::wire::{Control, Rts};
use platform::base::Span;

/// What a step of a direct copy has left.
enum CopyStep {
    /// The end of the copy, for this rank.
    End(SplitEnd),
    /// The rest of it.
    Rest(DirectCopy),
}

impl<D: Device> PointToPoint<D> {
    /// Takes a step of the copies of matched messages out of their senders' memory, and one of the
    /// copies of peers that this rank assists: about [`COPY_STEP`] bytes of each. Queues the replies.
    pub(crate) fn run_due_copies(&mut self) {
        let mut copied = 0;
        while copied < COPY_STEP
            && let Some(matched) = self.protocol.matched_rts.pop_front()
        {
            copied += self.copy_or_grant(matched);
        }
        for _ in 0..self.protocol.copy_assists.len() {
            let Some(assist) = self.protocol.copy_assists.pop_front() else { break };
            if self.assist_copy(&assist) {
                self.protocol.copy_assists.push_back(assist);
                self.packets_sent += 1;
                break;
            }
        }
    }

    /// Copies a part of a matched message out of the sender's memory, or grants its packets; returns
    /// how many bytes it may have copied.
    fn copy_or_grant(&mut self, mut matched: MatchedRts) -> usize {
        let MatchedRts { receiver, from, rts, .. } = matched;
        let OperationState::Receive(receive) = &self.protocol.operations[receiver].state else {
            return 0;
        };
        let ReceivePhase::Matched { progress, .. } = &receive.phase else { return 0 };
        let limit = progress.limit();
        let into = receive.buffer.span().map(|buffer| buffer.part(0, limit));
        let step = match into {
            Some(into) => self.copy(&matched, into),
            None => CopyStep::End(SplitEnd::Failed),
        };
        let OperationState::Receive(ReceiveOperation {
            phase: ReceivePhase::Matched { progress, .. },
            ..
        }) = &mut self.protocol.operations[receiver].state
        else {
            return 0;
        };
        let sender = rts.sender;
        let reply = match step {
            CopyStep::End(SplitEnd::PeerPending) => {
                progress.await_sender();
                return limit;
            }
            CopyStep::End(SplitEnd::Completed) => {
                progress.finish();
                Control::Fin { sender }
            }
            CopyStep::End(SplitEnd::Failed | SplitEnd::Paused) => {
                Control::Cts { sender, receiver, limit: limit as u64 }
            }
            CopyStep::Rest(rest) => {
                matched.copied = rest;
                self.protocol.matched_rts.push_front(matched);
                self.packets_sent += 1;
                return COPY_STEP;
            }
        };
        let done = progress.is_done();
        self.protocol.queue_reply(from, reply);
        if done {
            self.protocol.end_receive(receiver);
            return limit;
        }
        0
    }

    /// Copies a part of a message from the memory of its sender, alone or together with the sender.
    fn copy(&mut self, matched: &MatchedRts, into: Span) -> CopyStep {
        match matched.copied {
            DirectCopy::Due => self.begin_copy(matched, into),
            DirectCopy::Reading(done) => self.read(matched, into, done),
            DirectCopy::Split(ticket) => self.read_split(matched, into, ticket),
        }
    }

    fn begin_copy(&mut self, matched: &MatchedRts, into: Span) -> CopyStep {
        let &MatchedRts { receiver, from, rts: Rts { sender, descriptor, .. }, .. } = matched;
        if from == self.protocol.me || descriptor.is_none() {
            return CopyStep::End(SplitEnd::Failed);
        }
        let Some(bulk) = self.device.bulk() else { return CopyStep::End(SplitEnd::Failed) };
        if !bulk.prefers(from, into.len()) {
            return CopyStep::End(SplitEnd::Failed);
        }
        // A peer with an unanswered RTS of this rank copies that message first, and cannot assist.
        let can_assist = self.protocol.peers.at(from).unanswered_rts == 0;
        let split = bulk.split().filter(|_| can_assist);
        let Some(ticket) = split.and_then(|split| split.begin_split(from, into)) else {
            return self.read(matched, into, 0);
        };
        let assist = Control::CopyAssist { sender, receiver, ticket };
        // If the device has no space for the packet, this rank copies everything.
        let _ = self.send_packet(from, &assist.header(), &[]);
        self.read_split(matched, into, ticket)
    }

    fn read(&mut self, matched: &MatchedRts, into: Span, done: usize) -> CopyStep {
        let bulk = self.device.bulk();
        let read = bulk
            .zip(matched.rts.descriptor)
            .map(|(bulk, message)| bulk.read(matched.from, message, into, done));
        match read {
            Some(Ok(done)) if done < into.len() => CopyStep::Rest(DirectCopy::Reading(done)),
            Some(Ok(_)) => CopyStep::End(SplitEnd::Completed),
            Some(Err(_)) | None => CopyStep::End(SplitEnd::Failed),
        }
    }

    fn read_split(&mut self, matched: &MatchedRts, into: Span, ticket: u64) -> CopyStep {
        let split = self.device.bulk().and_then(|bulk| bulk.split());
        let read = split
            .zip(matched.rts.descriptor)
            .map(|(split, message)| split.read_split(matched.from, ticket, message, into));
        match read {
            Some(SplitEnd::Paused) => CopyStep::Rest(DirectCopy::Split(ticket)),
            Some(end) => CopyStep::End(end),
            None => CopyStep::End(SplitEnd::Failed),
        }
    }

    /// Copies a part of a message into the buffer of its receiver; whether any may be left. The send
    /// may have completed in the meantime.
    fn assist_copy(&mut self, assist: &CopyAssist) -> bool {
        let &CopyAssist { to, sender, receiver, ticket } = assist;
        let operation = self.protocol.operations.get(sender).map(|operation| &operation.state);
        let Some(OperationState::Send(send)) = operation else { return false };
        let Some(from) = send.message.span().filter(|_| send.to == to) else { return false };
        let Some(split) = self.device.bulk().and_then(|bulk| bulk.split()) else { return false };
        let whole = match split.write_split(to, ticket, from) {
            SplitEnd::Paused => return true,
            SplitEnd::PeerPending => return false,
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
        false
    }
}
