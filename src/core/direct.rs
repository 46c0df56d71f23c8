//! Long messages without packets: read out of the sender's memory by the receiver, or copied by
//! both at once, where the device can do that.
//!
//! The receiver decides, as it is who knows both ends. It asks the sender for help before it begins
//! and then does as much as is left for it; a sender that is busy elsewhere finds nothing left to
//! do. Neither waits for the other (`rendezvous` draws what they tell each other). What cannot be
//! copied directly comes in packets.

use crate::base::{Peer, Span};
use crate::core::engine::Engine;
use crate::core::operation::{Completion, OperationId, Phase, Receive, State};
use crate::core::protocol::Outgoing;
use crate::core::wire::{Announce, Control};
use crate::device::{Device, JointEnd};

impl<D: Device> Engine<D> {
    /// Gets a matched message out of the sender's memory, or asks for packets.
    pub(in crate::core) fn pull(&mut self, id: OperationId, from: Peer, announce: Announce) {
        let State::Receive(receive) = &self.protocol.operations[id].state else { return };
        let Phase::Matched { progress, .. } = &receive.phase else { return };
        let limit = progress.limit();
        let into = receive.room.span().map(|room| room.part(0, limit));
        let end = match into {
            Some(into) => self.copy(id, from, announce, into),
            None => JointEnd::Broken,
        };
        let State::Receive(Receive { phase: Phase::Matched { progress, .. }, .. }) =
            &mut self.protocol.operations[id].state
        else {
            return;
        };
        let sender = announce.sender;
        let answer = match end {
            JointEnd::Others => return progress.leave_to_sender(),
            JointEnd::Whole => {
                progress.finish();
                Control::Finished { sender }
            }
            JointEnd::Broken => Control::Grant { sender, receiver: id, limit: limit as u64 },
        };
        let done = progress.is_done();
        self.protocol.queue(from, Outgoing::Control(answer));
        if done {
            self.protocol.end_receive(id);
        }
    }

    /// Copies an announced message into the room of the receive `id`, as far as the sender does not.
    fn copy(&mut self, id: OperationId, from: Peer, announce: Announce, into: Span) -> JointEnd {
        let Announce { sender, address, .. } = announce;
        if from == self.protocol.me || address == 0 {
            return JointEnd::Broken;
        }
        let Some(bulk) = self.device.bulk() else { return JointEnd::Broken };
        if !bulk.prefers(from, into.len()) {
            return JointEnd::Broken;
        }
        // Who has a message of ours to copy begins with that, and is no help with this one.
        let is_idle = self.protocol.peers[from as usize].announced == 0;
        let Some(ticket) = is_idle.then(|| bulk.begin(from, into)).flatten() else {
            let read = bulk.read(from, address, into);
            return if read.is_ok() { JointEnd::Whole } else { JointEnd::Broken };
        };
        let help = Control::Help { sender, receiver: id, ticket };
        // Without room for the packet nobody helps.
        let _ = self.transmit(from, &help.header(), &[]);
        let bulk = self.device.bulk();
        bulk.map_or(JointEnd::Broken, |bulk| bulk.read_jointly(from, ticket, address, into))
    }

    /// Copies a part of an announced send into the room of its receive, if there is any left: the
    /// send may be over by now.
    pub(in crate::core) fn help(
        &mut self, to: Peer, sender: OperationId, receiver: OperationId, ticket: u64,
    ) {
        let operation = self.protocol.operations.get(sender).map(|operation| &operation.state);
        let Some(State::Send(send)) = operation else { return };
        let Some(from) = send.message.span().filter(|_| send.to == to) else { return };
        let Some(bulk) = self.device.bulk() else { return };
        let whole = match bulk.write_jointly(to, ticket, from) {
            JointEnd::Others => return,
            JointEnd::Whole => true,
            JointEnd::Broken => false,
        };
        let helped = Control::Helped { sender, receiver, whole };
        self.protocol.queue(to, Outgoing::Control(helped));
        let rendezvous = self.protocol.rendezvous(to, sender);
        if whole && rendezvous.is_some_and(|(rendezvous, _)| rendezvous.finish().is_ok()) {
            self.protocol.answered(to);
            self.protocol.complete(sender, Completion::default());
        }
    }
}
