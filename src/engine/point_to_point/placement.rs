//! Placement: the destination of a long packet whose header alone has arrived.
//!
//! ```text
//! Data     of a rendezvous                          its bytes of the receive buffer
//! Eager    longer than PLACE_MIN, of a message      the receive buffer; the receive is matched from
//!          that matches a posted receive            then on
//! ```
//!
//! Only adjacent memory that is long enough is a destination. Other packets arrive as a whole, in
//! memory of the device.

use crate::device::Header;
use crate::engine::point_to_point::operation::{OperationId, OperationState, ReceivePhase};
use crate::engine::point_to_point::protocol::MessageProtocol;
use crate::engine::point_to_point::rendezvous::RendezvousReceiver;
use crate::engine::point_to_point::wire::{Control, Envelope, PacketKind};
use platform::base::{Peer, Span};

/// The longest eager message that is copied, in bytes: a copy takes less time than a system call.
const PLACE_MIN: usize = 4 << 10;

impl MessageProtocol {
    /// The destination of a packet, if it has one.
    pub(crate) fn destination(&mut self, from: Peer, header: &Header, len: usize) -> Option<Span> {
        if header.kind == PacketKind::Eager as u8 {
            return self.eager_destination(from, Envelope::of(header), len);
        }
        match Control::parse(header)? {
            Control::Data { receiver, offset } => {
                self.data_destination(from, receiver, offset, len)
            }
            _ => None,
        }
    }

    fn eager_destination(&mut self, from: Peer, envelope: Envelope, len: usize) -> Option<Span> {
        if len <= PLACE_MIN {
            return None;
        }
        let id = self.matching.peek_receive(envelope)?;
        let OperationState::Receive(receive) = &mut self.operations[id].state else { return None };
        let buffer = receive.buffer.span().filter(|buffer| len <= buffer.len())?;
        let progress = RendezvousReceiver::new(len as u64, buffer.len());
        receive.phase = ReceivePhase::Matched { from, envelope, progress };
        self.matching.take_receive(envelope);
        self.peers.at(from).placing = Some(id);
        Some(buffer.part(0, len))
    }

    fn data_destination(
        &mut self, from: Peer, receiver: OperationId, offset: u64, len: usize,
    ) -> Option<Span> {
        let Some((buffer, progress)) = self.arriving(from, receiver) else {
            self.fault(from, "data for a receive that does not exist");
            return None;
        };
        // The bytes count once they have arrived.
        let mut after = *progress;
        if after.data(offset, len).is_err() {
            self.fault(from, "data out of order");
            return None;
        }
        Some(buffer.span()?.part(offset as usize, len))
    }

    /// All data of a packet with a destination has arrived.
    pub(crate) fn arrived_in_place(&mut self, from: Peer, header: &Header, len: usize) {
        if header.kind == PacketKind::Eager as u8 {
            let Some(id) = self.peers.at(from).placing.take() else { return };
            self.consumed(from, len);
            return self.end_receive(id);
        }
        if let Some(Control::Data { receiver, offset }) = Control::parse(header) {
            self.data(from, receiver, offset, len, |_| ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::PacketSink;
    use crate::engine::memory::Memory;
    use crate::engine::point_to_point::matching::MatchPattern;
    use crate::engine::point_to_point::operation::{Completion, MemoryRange, OperationOwner};
    use crate::engine::point_to_point::wire::Rts;

    const LEN: usize = 10_000;
    const ENVELOPE: Envelope = Envelope { context: 8, source: 1, tag: 3 };

    fn protocol() -> MessageProtocol {
        MessageProtocol::new(0, 2, 40)
    }

    fn post(protocol: &mut MessageProtocol, len: usize) -> OperationId {
        let pattern = MatchPattern { context: 8, source: None, tag: Some(3) };
        let buffer = MemoryRange::all(Memory::owned(vec![0; len]));
        protocol.post(pattern, buffer, OperationOwner::Caller)
    }

    fn completion(protocol: &MessageProtocol, id: OperationId) -> Option<&Completion> {
        match &protocol.operations[id].state {
            OperationState::Complete(end) => Some(end),
            OperationState::Send(_) | OperationState::Receive(_) => None,
        }
    }

    /// A receive matched with an RTS of rank 1, and the header of its first data packet.
    fn rendezvous(protocol: &mut MessageProtocol) -> (OperationId, Header) {
        let id = post(protocol, LEN);
        let rts = Rts { sender: 4, total: LEN as u64, descriptor: None };
        protocol.packet(1, &ENVELOPE.header(PacketKind::Rts), &rts.emit());
        (id, Control::Data { receiver: id, offset: 0 }.header())
    }

    #[test]
    fn an_eager_message_takes_its_receive_when_its_header_arrives() {
        let (mut protocol, header) = (protocol(), ENVELOPE.header(PacketKind::Eager));
        let [first, second] = [post(&mut protocol, LEN), post(&mut protocol, LEN)];
        let into = protocol.place(1, &header, LEN - 1).expect("a destination");
        assert_eq!(into.len(), LEN - 1);
        // Another message takes the next receive, although it is complete before.
        protocol.packet(2, &header, b"other");
        assert_eq!(completion(&protocol, second).expect("received").bytes, 5);
        assert!(completion(&protocol, first).is_none());
        into.write(0, &[7; LEN - 1]);
        protocol.placed(1, &header, LEN - 1);
        let end = completion(&protocol, first).expect("received");
        assert_eq!((end.bytes, end.source, end.tag, &end.error), (LEN - 1, 1, 3, &None));
        assert_eq!(protocol.matching.lengths(), (0, 0));
    }

    #[test]
    fn short_unexpected_and_truncated_messages_have_no_destination() {
        let (mut protocol, header) = (protocol(), ENVELOPE.header(PacketKind::Eager));
        assert_eq!(protocol.place(1, &header, LEN), None);
        post(&mut protocol, LEN);
        assert_eq!(protocol.place(1, &header, PLACE_MIN), None);
        assert_eq!(protocol.place(1, &header, LEN + 1), None);
        assert_eq!(protocol.matching.lengths(), (1, 0));
        protocol.packet(1, &header, &[1; LEN + 1]);
        assert_eq!(protocol.matching.lengths(), (0, 0));
        assert!(protocol.faults.is_empty());
    }

    #[test]
    fn data_is_placed_in_order_and_only_where_it_was_granted() {
        let mut protocol = protocol();
        let (id, header) = rendezvous(&mut protocol);
        for (from, header, len) in [
            (1, header, LEN + 1),
            (1, Control::Data { receiver: id, offset: 1 }.header(), 10),
            (1, Control::Data { receiver: id + 1, offset: 0 }.header(), 10),
            (2, header, 10),
        ] {
            assert_eq!(protocol.place(from, &header, len), None);
            assert!(protocol.faults.pop().is_some(), "{from} {header:?} {len}");
        }
        for start in [0, LEN / 2] {
            let header = Control::Data { receiver: id, offset: start as u64 }.header();
            assert_eq!(protocol.place(1, &header, LEN / 2).expect("granted").len(), LEN / 2);
            assert!(completion(&protocol, id).is_none());
            protocol.placed(1, &header, LEN / 2);
        }
        assert_eq!(completion(&protocol, id).expect("received").bytes, LEN);
        assert!(protocol.faults.is_empty());
    }

    #[test]
    fn a_failure_ends_what_is_being_placed() {
        for is_eager in [true, false] {
            let mut protocol = protocol();
            let (id, header) = match is_eager {
                true => (post(&mut protocol, LEN), ENVELOPE.header(PacketKind::Eager)),
                false => rendezvous(&mut protocol),
            };
            protocol.place(1, &header, LEN).expect("a destination");
            protocol.failed(1, "the host b is gone");
            let end = completion(&protocol, id).expect("ended");
            let why = "rank 1 of the world has failed: the host b is gone";
            assert_eq!((end.source, end.tag, &*end.error.as_ref().unwrap().why), (1, 3, why));
            assert_eq!(&*protocol.faults.pop().expect("a fault").why, why);
            assert!(protocol.matched_rts.is_empty());
        }
    }

    #[test]
    fn data_of_a_failed_peer_may_arrive_after_its_receive_has_ended() {
        let mut protocol = protocol();
        let (_, header) = rendezvous(&mut protocol);
        protocol.failed(1, "its process has ended");
        protocol.faults.clear();
        assert_eq!(protocol.place(1, &header, LEN), None);
        protocol.packet(1, &header, &[1; LEN]);
        assert!(protocol.faults.is_empty(), "{:?}", protocol.faults);
    }
}
