//! The engine: point-to-point messages over any device.
//!
//! ```text
//!   send, receive, probe, cancel        schedules (run)
//!            │                             │
//!            ▼                             ▼
//!   ┌─ Protocol ── matching · rendezvous · credit · operations ─┐
//!   │      ▲ packets                              packets to go │
//!   └──────┼──────────────────────────────────────────┼─────────┘
//!       device.poll                                 flush -> device.send
//! ```
//!
//! A message of at most the eager limit is one packet if the receiver's credit allows; others
//! are announced (`rendezvous`). What the device has no room for waits in a queue of its peer, in
//! order. A message to oneself takes the same way without a device.
//!
//! The engine has no clock, no thread and makes no system call; it moves when it is called. User
//! code never runs here: a reduction by a function of the application is handed out as
//! [`ReductionWork`](crate::engine::schedules::run::ReductionWork).

pub(in crate::engine) mod credit;
pub(in crate::engine) mod direct_copy;
pub(in crate::engine) mod linked_queue;
pub(in crate::engine) mod match_table;
pub mod matching;
pub(crate) mod operation;
pub(crate) mod pending;
pub(in crate::engine) mod protocol;
pub(in crate::engine) mod rendezvous;
pub mod wire;

use crate::device::{Busy, Caps, Device, Header, PacketSink as _, SharedMemory, WakeSource};
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{
    Completion, MemoryRange, Operation, OperationId, OperationOwner, OperationState,
    ReceiveOperation, ReceivePhase, SendOperation,
};
use crate::engine::point_to_point::protocol::{MessageProtocol, OutgoingPacket, UnexpectedMessage};
use crate::engine::point_to_point::rendezvous::RendezvousSender;
use crate::engine::point_to_point::wire::{Control, Envelope, PacketKind, Rts};
use crate::engine::programs::offloaded::Offloads;
use crate::engine::schedules::run::Runs;
use platform::base::{ErrorClass, Peer, Result};

/// The longest message that is sent eagerly, in bytes, unless something else is asked for; less if
/// the device's packets are.
///
/// Beyond it the receiver's second copy of an unexpected message costs more than the round trip of
/// a rendezvous.
pub const EAGER_MAX: usize = 16 << 10;

/// How a send completes (MPI 5.0 §3.4). A buffered send is a standard one from memory of the
/// library, a ready one is a standard one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Once the buffer may be reused.
    Standard,
    /// Once the receive has started, too.
    Synchronous,
}

/// A message taken out of matching by a matched probe.
#[derive(Debug)]
pub struct ProbedMessage {
    /// What it was matched by.
    pub envelope: Envelope,
    message: UnexpectedMessage,
}

impl ProbedMessage {
    /// Bytes of the packed message.
    pub fn len(&self) -> u64 {
        self.message.len()
    }
}

/// Point-to-point messages and schedules over `device`.
pub struct Engine<D> {
    pub(in crate::engine) device: D,
    caps: Caps,
    eager_max: usize,
    /// Packets that have left the queues so far.
    packets_sent: usize,
    /// How often something began that takes more than its first packet.
    long_starts: u32,
    pub(in crate::engine) protocol: MessageProtocol,
    pub(in crate::engine) runs: Runs,
    pub(in crate::engine) offloads: Offloads,
}

impl<D: Device> Engine<D> {
    /// Rank `me` of `size`, at rest.
    pub fn new(device: D, me: Peer, size: usize) -> Self {
        let caps = device.caps();
        Self {
            device,
            caps,
            eager_max: EAGER_MAX.min(caps.packet_max),
            packets_sent: 0,
            long_starts: 0,
            protocol: MessageProtocol::new(me, size, caps.short_max),
            runs: Runs::default(),
            offloads: Offloads::default(),
        }
    }

    /// Sends messages of up to so many bytes eagerly from now on, if they fit into a packet. Those
    /// that fit into the line of their envelope always are.
    pub fn set_eager_max(&mut self, bytes: usize) {
        self.eager_max = bytes.clamp(self.caps.short_max, self.caps.packet_max);
    }

    /// The longest message that is sent eagerly, in bytes.
    #[inline]
    pub(crate) fn eager_max(&self) -> usize {
        self.eager_max
    }

    /// How many programs the host runs for the interface, as it lacked something for them.
    pub(crate) fn host_programs(&mut self) -> u64 {
        self.device.trigger().map_or(0, |trigger| trigger.fallbacks())
    }

    /// This rank.
    pub(crate) fn me(&self) -> Peer {
        self.protocol.me
    }

    /// Starts a send; `None` says that it is complete already.
    #[inline(always)]
    pub fn send(
        &mut self, to: Peer, envelope: Envelope, memory: Memory, mode: Mode,
    ) -> Option<OperationId> {
        if mode == Mode::Standard && self.send_inline(to, envelope, &memory).is_ok() {
            return None;
        }
        self.send_range(to, envelope, MemoryRange::all(memory), mode, OperationOwner::Caller)
    }

    /// Sends adjacent bytes that fit into the line of their envelope, if nothing is in the way:
    /// the way of most messages.
    #[inline(always)]
    fn send_inline(&mut self, to: Peer, envelope: Envelope, memory: &Memory) -> Result<(), Busy> {
        let Memory::Span(span) = memory else { return Err(Busy) };
        let has_to_wait = !self.protocol.peers[to as usize].envelopes.is_empty();
        if span.len() > self.caps.short_max || to == self.protocol.me || has_to_wait {
            return Err(Busy);
        }
        let header = envelope.header(PacketKind::Eager);
        self.device.send(to, &header, span.len(), |packet| span.read(0, packet))
    }

    pub(in crate::engine) fn send_range(
        &mut self, to: Peer, envelope: Envelope, message: MemoryRange, mode: Mode,
        owner: OperationOwner,
    ) -> Option<OperationId> {
        let eager = mode == Mode::Standard && message.len <= self.eager_max;
        if eager && self.try_send(to, envelope, &message).is_ok() {
            return None;
        }
        Some(self.queue_send(to, envelope, message, eager, owner))
    }

    /// Sends a message as one packet, if nothing is in the way.
    #[inline]
    fn try_send(
        &mut self, to: Peer, envelope: Envelope, message: &MemoryRange,
    ) -> Result<(), Busy> {
        if to == self.protocol.me {
            self.protocol.message_to_self(envelope, message);
            return Ok(());
        }
        let peer = &mut self.protocol.peers[to as usize];
        if !peer.envelopes.is_empty() {
            return Err(Busy);
        }
        let header = envelope.header(PacketKind::Eager);
        if message.len <= self.caps.short_max {
            let mut short = [0; 64];
            let short = &mut short[..message.len];
            message.pack(0, short);
            return self.device.send_short(to, &header, short);
        }
        if !peer.credit.spend(message.len) {
            return Err(Busy);
        }
        let sent = self.device.send(to, &header, message.len, |packet| message.pack(0, packet));
        if sent.is_err() {
            peer.credit.refill(message.len as u64);
        }
        sent
    }

    /// Queues a send: eagerly if it still has or needs no credit, else by announcement.
    fn queue_send(
        &mut self, to: Peer, envelope: Envelope, message: MemoryRange, eager: bool,
        owner: OperationOwner,
    ) -> OperationId {
        let short = message.len <= self.caps.short_max;
        let credit = &mut self.protocol.peers[to as usize].credit;
        let eager = eager && (short || credit.spend(message.len));
        let rendezvous = (!eager).then(|| RendezvousSender::new(message.len));
        self.long_starts = self.long_starts.wrapping_add(u32::from(!eager));
        let send = SendOperation { to, envelope, message, rendezvous, receiver: 0 };
        let id =
            self.protocol.operations.insert(Operation { owner, state: OperationState::Send(send) });
        self.protocol.queue(to, OutgoingPacket::Envelope(id));
        self.flush();
        id
    }

    /// Starts a receive. It may be complete when this returns.
    #[inline(always)]
    pub fn receive(&mut self, pattern: MatchPattern, memory: Memory) -> OperationId {
        self.receive_range(pattern, MemoryRange::all(memory), OperationOwner::Caller)
    }

    #[inline(always)]
    pub(in crate::engine) fn receive_range(
        &mut self, pattern: MatchPattern, room: MemoryRange, owner: OperationOwner,
    ) -> OperationId {
        match self.protocol.matching.take_message(pattern) {
            Some((envelope, message)) => {
                self.receive_message(ProbedMessage { envelope, message }, room, owner)
            }
            None => {
                if room.len > self.eager_max {
                    self.note_long_start();
                }
                self.protocol.post(pattern, room, owner)
            }
        }
    }

    /// Starts the receive of a message that a matched probe took (§3.8.2).
    pub fn receive_matched(&mut self, matched: ProbedMessage, memory: Memory) -> OperationId {
        self.receive_message(matched, MemoryRange::all(memory), OperationOwner::Caller)
    }

    fn receive_message(
        &mut self, matched: ProbedMessage, room: MemoryRange, owner: OperationOwner,
    ) -> OperationId {
        let id = self.protocol.accept(matched.envelope, matched.message, room, owner);
        if self.protocol.needs_poll() {
            self.note_long_start();
        }
        self.flush();
        id
    }

    /// The oldest message that has arrived and fits, with its length in bytes (§3.8.1).
    pub fn probe(&mut self, pattern: MatchPattern) -> Option<(Envelope, u64)> {
        let (envelope, message) = self.protocol.matching.peek_message(pattern)?;
        Some((envelope, message.len()))
    }

    /// Takes the oldest message that has arrived and fits out of matching (§3.8.2).
    pub fn probe_matched(&mut self, pattern: MatchPattern) -> Option<ProbedMessage> {
        let (envelope, message) = self.protocol.matching.take_message(pattern)?;
        Some(ProbedMessage { envelope, message })
    }

    /// How the operation ended, if it has.
    ///
    /// # Panics
    /// If there is no such operation.
    #[inline]
    pub fn completion(&self, id: OperationId) -> Option<&Completion> {
        match &self.protocol.operations[id].state {
            OperationState::Complete(completion) => Some(completion),
            OperationState::Send(_) | OperationState::Receive(_) => None,
        }
    }

    /// Takes the end of an operation; the key is free afterwards.
    ///
    /// # Panics
    /// If there is no such operation.
    #[inline(always)]
    pub fn take_completion(&mut self, id: OperationId) -> Option<Completion> {
        let OperationState::Complete(end) = &mut self.protocol.operations[id].state else {
            return None;
        };
        // Field by field, as they were written (`MessageProtocol::complete`).
        let (source, tag, bytes, cancelled) = (end.source, end.tag, end.bytes, end.cancelled);
        let completion = Completion { source, tag, bytes, cancelled, error: end.error.take() };
        self.protocol.operations.discard(id);
        Some(completion)
    }

    /// Lets an operation go on without anybody waiting for it.
    pub fn release(&mut self, id: OperationId) {
        if self.take_completion(id).is_none() {
            self.protocol.operations[id].owner = OperationOwner::Released;
        }
    }

    /// Cancels a receive that no message has matched; anything else goes on (§3.8.4).
    pub fn cancel(&mut self, id: OperationId) {
        let OperationState::Receive(ReceiveOperation {
            phase: ReceivePhase::Posted(posted), ..
        }) = &self.protocol.operations[id].state
        else {
            return;
        };
        let posted = *posted;
        self.protocol.matching.unpost(posted);
        let completion = Completion { cancelled: true, ..Completion::default() };
        self.protocol.complete(id, completion);
    }

    /// Takes what has arrived and sends what waits; returns how many packets arrived or left the
    /// queues, and how many operations that the device runs came further: while there are any,
    /// nobody should lose patience.
    #[inline]
    pub fn poll(&mut self) -> usize {
        let arrived = self.device.poll(&mut self.protocol) + self.poll_offloads();
        if !self.protocol.needs_poll() {
            return arrived;
        }
        let left_before = self.packets_sent;
        self.flush();
        self.advance();
        arrived + (self.packets_sent - left_before)
    }

    /// Whether packets wait for room in the device, which wakes nobody when it has some.
    pub(crate) fn is_congested(&self) -> bool {
        !self.protocol.outbox.is_empty()
    }

    /// Whether there is something to do that needs no packet to arrive: for the next poll.
    #[inline]
    pub(crate) fn needs_poll(&self) -> bool {
        self.protocol.needs_poll()
    }

    /// Whether every send has left, also those that nobody waits for, and nothing of a run is late.
    pub fn is_drained(&self) -> bool {
        let mut operations = self.protocol.operations.iter();
        !self.is_congested()
            && !self.has_released_runs()
            && !self.has_released_offloads()
            && operations.all(|(_, operation)| !matches!(operation.state, OperationState::Send(_)))
    }

    /// A number that changes whenever something happens that somebody may wait for: the end of an
    /// operation or of a step that the application does, the arrival of a message that nobody has
    /// asked for, and what [`Engine::note_event`] notes.
    #[inline]
    pub(crate) fn events(&self) -> u64 {
        self.protocol.events.wrapping_add(self.packets_sent as u64)
    }

    /// Something happened outside the engine that a call may wait for.
    pub(crate) fn note_event(&mut self) {
        self.protocol.events += 1;
    }

    /// A number that changes whenever something begins that goes on after the call: a message that
    /// is announced or may be, a run with steps left, and what [`Engine::note_long_start`] notes.
    #[inline]
    pub(crate) fn long_starts(&self) -> u32 {
        self.long_starts
    }

    /// Something began that goes on after the call.
    #[inline]
    pub(crate) fn note_long_start(&mut self) {
        self.long_starts = self.long_starts.wrapping_add(1);
    }

    /// Whether [`Engine::fault`] has something to tell.
    pub(crate) fn has_fault(&self) -> bool {
        !self.protocol.faults.is_empty()
    }

    /// What went wrong on the wire since the last call: a peer that broke the protocol.
    ///
    /// # Errors
    /// `Intern`, naming the peer and the packet.
    pub fn fault(&mut self) -> Result {
        match self.protocol.faults.pop() {
            Some(why) => Err(ErrorClass::Intern.error(why)),
            None => Ok(()),
        }
    }

    /// How many receives are posted and how many unexpected messages wait.
    pub fn queue_lengths(&self) -> (usize, usize) {
        self.protocol.matching.lengths()
    }

    /// [`Device::arm`].
    pub(crate) fn arm(&mut self) -> WakeSource {
        self.device.arm()
    }

    /// [`Device::disarm`].
    pub(crate) fn disarm(&mut self) {
        self.device.disarm();
    }

    /// [`Device::wake_self`].
    pub(crate) fn wake_self(&mut self) {
        self.device.wake_self();
    }

    /// [`Device::shared_memory`].
    pub fn shared(&mut self) -> Option<&mut dyn SharedMemory> {
        self.device.shared_memory()
    }

    /// [`Device::notify`].
    #[inline]
    pub(crate) fn notify(&mut self, peer: Peer) {
        self.device.notify(peer);
    }

    /// Sends what waits, as far as the device has room.
    pub(in crate::engine) fn flush(&mut self) {
        while let Some(pull) = self.protocol.pulls.pop_front() {
            self.pull(pull.0, pull.1, pull.2);
        }
        while let Some(help) = self.protocol.copy_assists.pop_front() {
            self.assist_copy(help.0, help.1, help.2, help.3);
        }
        for _ in 0..self.protocol.outbox.len() {
            let Some(to) = self.protocol.outbox.pop_front() else { return };
            self.protocol.peers[to as usize].queued = false;
            if self.flush_peer(to).is_err() {
                self.protocol.queue_peer(to);
            }
        }
    }

    fn flush_peer(&mut self, to: Peer) -> Result<(), Busy> {
        while let Some(outgoing) = self.protocol.peers[to as usize].envelopes.pop_front() {
            let sent = match outgoing {
                OutgoingPacket::Control(control) => self.transmit(to, &control.header(), &[]),
                OutgoingPacket::Envelope(id) => self.send_envelope(to, id),
            };
            if sent.is_err() {
                self.protocol.peers[to as usize].envelopes.push_front(outgoing);
                return sent;
            }
            self.packets_sent += 1;
        }
        while let Some(&id) = self.protocol.peers[to as usize].streams.front() {
            self.stream(to, id)?;
            self.protocol.peers[to as usize].streams.pop_front();
        }
        Ok(())
    }

    /// One short packet, by the device or to oneself.
    pub(in crate::engine) fn transmit(
        &mut self, to: Peer, header: &Header, data: &[u8],
    ) -> Result<(), Busy> {
        if to == self.protocol.me {
            self.protocol.packet(to, header, data);
            return Ok(());
        }
        self.device.send_short(to, header, data)
    }

    /// The first packet of a queued send.
    fn send_envelope(&mut self, to: Peer, id: OperationId) -> Result<(), Busy> {
        let OperationState::Send(send) = &self.protocol.operations[id].state else { return Ok(()) };
        if let Some(rendezvous) = send.rendezvous {
            let address = send.message.span().map_or(0, |span| span.address() as u64);
            let announce = Rts { sender: id, total: rendezvous.total() as u64, address };
            let header = send.envelope.header(PacketKind::Rts);
            self.transmit(to, &header, &announce.emit())?;
            self.protocol.peers[to as usize].unanswered_rts += 1;
            return Ok(());
        }
        let header = send.envelope.header(PacketKind::Eager);
        let message = &send.message;
        self.device.send(to, &header, message.len, |packet| message.pack(0, packet))?;
        self.protocol.complete(id, Completion::default());
        Ok(())
    }

    /// Data packets of a granted send, until it is done or the device is full.
    fn stream(&mut self, to: Peer, id: OperationId) -> Result<(), Busy> {
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
