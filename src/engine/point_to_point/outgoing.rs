//! Packets that wait for space in the device.
//!
//! Each peer has a queue of replies, a queue of first packets, and a queue of granted sends whose data
//! packets follow. The outbox lists the peers with anything that may leave, each once.

use std::collections::VecDeque;

use crate::device::{Busy, COPY_STEP, Device, Header, PacketSink as _};
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::operation::{
    Completion, MemoryRange, OperationId, OperationState,
};
use crate::engine::point_to_point::peers::{OutboxState, QueuedEnvelope};
use crate::engine::point_to_point::send::send_whole;
use crate::engine::point_to_point::wire::{Control, PacketKind, Rts};
use platform::base::Peer;

/// Sends an RTS with the first `announced` bytes of its message ([`PeerCaps::announced_max`]).
///
/// [`PeerCaps::announced_max`]: crate::device::PeerCaps::announced_max
#[cold]
fn send_announced<D: Device>(
    device: &mut D, to: Peer, header: &Header, rts: Rts, message: &MemoryRange, announced: usize,
) -> Result<(), Busy> {
    device.send(to, header, Rts::LEN + announced, |packet| {
        let (envelope, data) = packet.split_at_mut(Rts::LEN);
        envelope.copy_from_slice(&rts.emit());
        message.pack(0, data);
    })
}

impl<D: Device> PointToPoint<D> {
    /// Sends the queued packets of all peers, until the device is full.
    pub(crate) fn send_queued(&mut self) {
        for _ in 0..self.protocol.outbox.len() {
            let Some(to) = self.protocol.outbox.pop_front() else { return };
            self.protocol.peers.at(to).outbox = OutboxState::Out;
            if self.send_queued_to(to).is_ok() {
                continue;
            }
            if to != self.protocol.me && self.device.peer_caps(to).announces_room {
                self.protocol.await_room(to);
            } else {
                self.protocol.queue_peer(to);
            }
        }
    }

    fn send_queued_to(&mut self, to: Peer) -> Result<(), Busy> {
        while let Some(reply) = self.protocol.peers.at(to).replies.front() {
            let header = reply.header();
            self.send_packet(to, &header, &[])?;
            self.protocol.peers.at(to).replies.pop_front();
            self.packets_sent += 1;
        }
        while let Some(QueuedEnvelope::FirstOf(id)) = self.protocol.peers.first_envelope(to) {
            self.send_first_packet(to, id)?;
            self.protocol.peers.change_envelopes(to, VecDeque::pop_front);
            self.packets_sent += 1;
        }
        while let Some(&id) = self.protocol.peers.at(to).streams.front() {
            if to == self.protocol.me {
                self.send_data_to_self(id)?;
            } else {
                self.send_data(to, id)?;
            }
            self.protocol.peers.at(to).streams.pop_front();
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
            let span =
                send.message.span().filter(|span| !span.is_empty() && to != self.protocol.me);
            let bulk = self.device.bulk();
            let descriptor = span.zip(bulk).map(|(span, bulk)| bulk.describe(to, span));
            let rts = Rts { sender: id, total: rendezvous.total() as u64, descriptor };
            let header = send.envelope.header(PacketKind::Rts);
            let announced = match to == self.protocol.me {
                true => 0,
                false => self.device.peer_caps(to).announced_max.min(rts.total as usize),
            };
            if announced > 0 {
                send_announced(&mut self.device, to, &header, rts, &send.message, announced)?;
            } else {
                self.send_packet(to, &header, &rts.emit())?;
            }
            self.protocol.peers.at(to).unanswered_rts += 1;
            return Ok(());
        }
        let header = send.envelope.header(PacketKind::Eager);
        send_whole(&mut self.device, to, &header, &send.message)?;
        self.protocol.complete(id, Completion::default());
        Ok(())
    }

    /// Sends the data packets of a granted send, until all have left or the device is full. Adjacent
    /// bytes are lent to a device that borrows, and the send then completes when they come back.
    fn send_data(&mut self, to: Peer, id: OperationId) -> Result<(), Busy> {
        let caps = self.device.peer_caps(to);
        while let Some((send, rendezvous)) = self.protocol.granted(id) {
            let span = send.message.span();
            let longest = if span.is_some() { caps.long_max } else { self.caps.packet_max };
            let Some(range) = rendezvous.next(longest) else { break };
            let (start, end, len) = (range.start, range.end, range.len());
            let header = Control::Data { receiver: send.receiver, offset: start as u64 }.header();
            match span.map(|span| span.part(start, len)) {
                Some(part) if caps.lends => {
                    self.device.send_lent(to, &header, part, id)?;
                    rendezvous.lent(end);
                }
                Some(part) => {
                    self.device.send_contiguous(to, &header, part)?;
                    rendezvous.sent(end);
                }
                None => {
                    let fill = |packet: &mut [u8]| send.message.pack(start, packet);
                    self.device.send(to, &header, len, fill)?;
                    rendezvous.sent(end);
                }
            }
            self.packets_sent += 1;
        }
        self.protocol.end_send(id);
        Ok(())
    }

    /// Copies a granted message of this rank to itself. The rest of a long one is copied in the next
    /// poll, as in `direct_copy`.
    fn send_data_to_self(&mut self, id: OperationId) -> Result<(), Busy> {
        let mut copied = 0;
        while let Some((send, rendezvous)) = self.protocol.granted(id) {
            let Some(range) = rendezvous.next(self.caps.packet_max) else { break };
            if copied >= COPY_STEP {
                return Err(Busy);
            }
            copied += range.len();
            rendezvous.sent(range.end);
            let (receiver, message) = (send.receiver, send.message.alias());
            self.protocol.data_to_self(receiver, &message, range);
            self.packets_sent += 1;
        }
        self.protocol.end_send(id);
        Ok(())
    }
}
