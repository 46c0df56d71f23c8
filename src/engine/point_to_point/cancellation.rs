//! Cancelled operations (MPI 5.0 §3.8.4).
//!
//! A receive is cancelled at once unless a message has matched it. So is a send whose first packet has not
//! left. Otherwise the receiver decides:
//!
//! ```text
//! sender                           receiver
//!   |--- Rts ----------------------->|  unexpected
//!   |--- Cancel -------------------->|  forgotten, unless a receive has matched it before
//!   |<-- CancelReply { yes or no } --|
//! ```
//!
//! After a yes the send has been cancelled; after a no it goes on, and its CTS or FIN may have arrived
//! before. Where the context was closed meanwhile, the send ends with the error of that. A wait for a cancelled
//! send ends without a receive, as the standard has it. A message that has left as a whole has been sent, and
//! is not cancelled.
//!
//! Packets of a peer arrive in order. So a Cancel cannot mean a later message with the key of the same
//! operation, whose RTS follows it, and a yes can only mean the operation that has asked.

use std::collections::VecDeque;

use crate::device::Device;
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::operation::{
    Completion, OperationId, OperationState, SendOperation,
};
use crate::engine::point_to_point::peers::QueuedEnvelope;
use crate::engine::point_to_point::protocol::{MessageBody, MessageProtocol};
use crate::engine::point_to_point::wire::Control;
use platform::base::Peer;

impl<D: Device> PointToPoint<D> {
    /// Cancels a send or a receive without a match, now or when the receiver has replied. Other operations
    /// continue.
    pub(crate) fn cancel(&mut self, id: OperationId) {
        match &self.protocol.operations[id].state {
            OperationState::Receive(_) => self.cancel_receive(id),
            OperationState::Send(_) => {
                self.protocol.cancel_send(id, self.caps.short_max);
                self.send_queued();
            }
            OperationState::Complete(_) => {}
        }
    }
}

/// The sender's side.
impl MessageProtocol {
    /// Messages of at most `uncredited` bytes have taken no credit.
    fn cancel_send(&mut self, id: OperationId, uncredited: usize) {
        let OperationState::Send(send) = &self.operations[id].state else { return };
        let (to, len) = (send.to, send.message.len);
        let is_eager = send.rendezvous.is_none();
        let awaits_match = send.rendezvous.is_some_and(|rendezvous| rendezvous.awaits_match());
        let first = QueuedEnvelope::FirstOf(id);
        let mut is_here = false;
        let take = |queue: &mut VecDeque<QueuedEnvelope>| {
            let before = queue.len();
            queue.retain(|queued| *queued != first);
            is_here = queue.len() < before;
        };
        if is_eager || awaits_match {
            self.peers.change_envelopes(to, take);
        }
        if is_here {
            if is_eager && len > uncredited {
                self.peers.at(to).credit.refill(len as u64);
            }
            return self.complete(id, self.end_of_cancelled(id));
        }
        if let OperationState::Send(send) = &mut self.operations[id].state
            && awaits_match
            && !std::mem::replace(&mut send.asks_to_cancel, true)
        {
            self.queue_reply(to, Control::Cancel { sender: id });
        }
    }

    pub(super) fn cancel_replied(&mut self, from: Peer, sender: OperationId, is_cancelled: bool) {
        if !is_cancelled {
            // A receive has matched it. It may have completed, and another operation may have its key.
            return;
        }
        let asks = match self.operations.get(sender).map(|operation| &operation.state) {
            Some(OperationState::Send(send)) if send.to == from && send.asks_to_cancel => {
                send.rendezvous.is_some_and(|rendezvous| rendezvous.awaits_match())
            }
            Some(_) | None => false,
        };
        if !asks {
            return self.fault(from, "the end of a send that was not cancelled");
        }
        self.rts_answered(from);
        self.complete(sender, self.end_of_cancelled(sender));
    }

    /// Cancels the sends of a closed context that await a match: a receiver that has not made the
    /// communicator will never know the context.
    pub(super) fn cancel_sends_of(&mut self, context: u64) {
        let all = self.operations.iter();
        let unmatched = all.filter(|(_, operation)| match &operation.state {
            OperationState::Send(send) if send.envelope.context == context => {
                send.rendezvous.is_some_and(|rendezvous| rendezvous.awaits_match())
            }
            OperationState::Send(_) | OperationState::Receive(_) | OperationState::Complete(_) => {
                false
            }
        });
        let unmatched: Vec<_> = unmatched.map(|(id, _)| id).collect();
        for id in unmatched {
            // Only of an eager message would the number matter.
            self.cancel_send(id, 0);
        }
    }

    fn end_of_cancelled(&self, send: OperationId) -> Completion {
        match &self.operations[send].state {
            OperationState::Send(SendOperation { envelope, .. }) => {
                let error = self.closed.get(&envelope.context).cloned();
                Completion { cancelled: error.is_none(), error, ..Completion::default() }
            }
            OperationState::Receive(_) | OperationState::Complete(_) => Completion::default(),
        }
    }
}

/// The receiver's side.
impl MessageProtocol {
    /// Forgets an unexpected message whose sender takes it back, and tells whether there was one.
    pub(super) fn forget(&mut self, from: Peer, sender: OperationId) {
        let found = self.matching.take_such(|message| {
            message.from == from
                && matches!(&message.body, MessageBody::Rts(rts) if rts.sender == sender)
        });
        if let Some((_, message)) = &found {
            self.keeps_no_longer(message);
        }
        self.queue_reply(from, Control::CancelReply { sender, is_cancelled: found.is_some() });
    }
}
