//! Packets that wait for space in the device.
//!
//! Each peer has a queue of replies, a queue of first packets, and a queue of granted sends whose data
//! packets follow. The outbox lists the peers with anything that may leave, each once.

use crate::device::{Busy, COPY_STEP, Device, Header, PacketSink as _};
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::operation::{Completion, OperationId, OperationState};
use crate::engine::point_to_point::protocol::QueuedEnvelope;
use crate::engine::point_to_point::wire::{Control, PacketKind, Rts};
use platform::base::Peer;

impl<D: Device> PointToPoint<D> {
    /// Sends the queued packets of all peers, until the device is full.
    pub(crate) fn send_queued(&mut self) {
        for _ in 0..self.protocol.outbox.len() {
            let Some(to) = self.protocol.outbox.pop_front() else { return };
            self.protocol.peers[to as usize].queued = false;
            if self.send_queued_to(to).is_err() {
                self.protocol.queue_peer(to);
            }
        }
    }

    fn send_queued_to(&mut self, to: Peer) -> Result<(), Busy> {
        while let Some(reply) = self.protocol.peers[to as usize].replies.front() {
            let header = reply.header();
            self.send_packet(to, &header, &[])?;
            self.protocol.peers[to as usize].replies.pop_front();
            self.packets_sent += 1;
        }
        while let Some(&QueuedEnvelope::FirstOf(id)) =
            self.protocol.peers[to as usize].envelopes.front()
        {
            self.send_first_packet(to, id)?;
            self.protocol.peers[to as usize].envelopes.pop_front();
            self.packets_sent += 1;
        }
        while let Some(&id) = self.protocol.peers[to as usize].streams.front() {
            self.send_data(to, id)?;
            self.protocol.peers[to as usize].streams.pop_front();
        }
        Ok(())
    }

    /// Sends one short packet, to a peer or to this rank.
    pub(crate) fn send_packet(
        &mut self, to: Peer, header: &Header, data: &[u8],
    ) -> Result<(), Busy> {
        if to == self.protocol.me {
            self.protocol.packet(to, header, data);
            return Ok(());
        }
        self.device.send_short(to, header, data)
    }

    /// Sends the first packet of a queued send: its RTS or the whole message.
    fn send_first_packet(&mut self, to: Peer, id: OperationId) -> Result<(), Busy> {
        let OperationState::Send(send) = &self.protocol.operations[id].state else { return Ok(()) };
        if let Some(rendezvous) = send.rendezvous {
            let address = send.message.span().map_or(0, |span| span.address() as u64);
            let rts = Rts { sender: id, total: rendezvous.total() as u64, address };
            let header = send.envelope.header(PacketKind::Rts);
            self.send_packet(to, &header, &rts.emit())?;
            self.protocol.peers[to as usize].unanswered_rts += 1;
            return Ok(());
        }
        let header = send.envelope.header(PacketKind::Eager);
        let message = &send.message;
        self.device.send(to, &header, message.len, |packet| message.pack(0, packet))?;
        self.protocol.complete(id, Completion::default());
        Ok(())
    }

    /// Sends the data packets of a granted send, until it has completed or the device is full.
    fn send_data(&mut self, to: Peer, id: OperationId) -> Result<(), Busy> {
        let mut copied = 0;
        loop {
            let OperationState::Send(send) = &mut self.protocol.operations[id].state else {
                return Ok(());
            };
            let Some(rendezvous) = &mut send.rendezvous else { return Ok(()) };
            let Some(range) = rendezvous.next(self.caps.packet_max) else { break };
            let header =
                Control::Data { receiver: send.receiver, offset: range.start as u64 }.header();
            let (end, len) = (range.end, range.len());
            let message = &send.message;
            if to == self.protocol.me {
                // The rest is copied in the next poll, as in `direct_copy`.
                if copied >= COPY_STEP {
                    return Err(Busy);
                }
                copied += len;
                rendezvous.sent(end);
                let (receiver, message) = (send.receiver, message.alias());
                self.protocol.data_to_self(receiver, &message, range);
            } else {
                self.device.send(to, &header, len, |packet| message.pack(range.start, packet))?;
                rendezvous.sent(end);
            }
            self.packets_sent += 1;
        }
        self.protocol.complete(id, Completion::default());
        Ok(())
    }
}
