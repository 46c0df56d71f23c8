//! The operations in progress at the library: what one thread at a time does with it.
//!
//! ```text
//!   receives, a ring   posted ── look: complete ──> arrived ── deliver ──> used ── look ──> posted again
//!   sends              in progress ── look: complete ──> ended ── deliver: memory comes back ──> gone
//!   a long packet      header arrives ── destination asked for, received ── look ──> ended ── deliver
//! ```
//!
//! [`Port::look`] calls the library and remembers what has completed, [`Port::deliver`] gives that to the
//! sink. In polling mode one poll does both, in thread mode a thread looks and polls deliver.
//!
//! Receives for headers are posted before: the library then writes a short message to its buffer at once,
//! while a message that a probe finds has been copied to memory of the library before. (MPICH 5.0, 8 bytes
//! between two ranks, one way: posted 1.3, from the only peer instead of any 1.2, probed 1.5, a blocking
//! send and receive 2.2 µs, on a machine that other programs used.)
#![allow(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::message::{DATA_TAG, HEADER_BYTES, HEADER_TAG, MessageHeader, MessageKind};
use super::one_sided::OneSided;
use super::{CarrierCalls, LONG_MAX};
use crate::device::{Busy, Header, PacketSink};
use platform::base::{Peer, Span};
use platform::sys::carrier_request::CarrierRequest;

/// Receives for headers that are posted at the same time.
pub(super) const RECEIVES: usize = 32;
/// Messages to one peer that may be in progress.
const SENDS_MAX: u32 = 64;
/// Buffers that are kept for further sends.
const SPARE_BUFFERS_MAX: usize = 64;
/// Shorter data is copied behind its header.
const GATHERED_MIN: usize = 4096;

/// The operations of one rank.
pub(super) struct Port<C: CarrierCalls> {
    pub(super) calls: Arc<C>,
    pub(super) me: Peer,
    pub(super) short_max: usize,
    /// Whether data that is lent goes with its header without a copy.
    gathers: bool,
    /// The only peer, if there is one: receives from any rank cost more.
    only_peer: Option<Peer>,
    receives: Vec<ReceiveSlot>,
    /// The oldest receive that has arrived or is posted.
    head: usize,
    /// Receives from `head` on that have arrived.
    arrived: usize,
    /// Receives before `head` that are used, and not posted again yet.
    used: usize,
    /// Operations in progress besides, and their requests, alike in order.
    requests: Vec<CarrierRequest>,
    /// Memory for calls.
    indices: Vec<i32>,
    pending: Vec<PendingMessage>,
    /// Operations that have completed, for the sink.
    ended: Vec<PendingMessage>,
    /// Messages in progress to each peer.
    sends: Vec<u32>,
    /// The numbers of the next message with a header to each peer, and from it.
    sequences: Vec<MessageSequence>,
    /// Long packets of peers, and what has come behind.
    long_packets: BTreeMap<Peer, LongPacket>,
    spare_buffers: Vec<Box<[u8]>>,
    /// Peers that have failed, and why; not told yet.
    failing: Vec<(Peer, String)>,
    /// Peers whose failure has been told: the sink has no memory of theirs any more.
    told: Vec<Peer>,
    /// Peers whose packets are dropped. Operations with them may never end.
    failed: Vec<Peer>,
    /// Memory of packets that will not arrive whole.
    lost_packets: Vec<LongPacket>,
    /// Whether all receives for headers have been cancelled.
    is_withdrawing: bool,
    /// Packets so far, and messages of accesses.
    delivered: u64,
    pub(super) one_sided: OneSided,
}

#[derive(Clone, Copy, Default)]
struct MessageSequence {
    next: u16,
    expected: u16,
}

/// A receive for headers.
struct ReceiveSlot {
    buffer: Box<[u8]>,
    request: CarrierRequest,
    from: Peer,
}

/// A message in progress, other than those for headers that arrive.
enum PendingMessage {
    /// From memory of this device.
    Buffer(Peer, Box<[u8]>),
    /// The same, without a wait for its arrival: the peer may have left.
    Notice(Peer, Box<[u8]>),
    /// From memory that was lent with this token.
    Lent(Peer, u32),
    /// Both: a header and data.
    Gathered(Peer, Box<[u8]>, u32),
    /// No message: memory that was lent, and copied.
    Copied(Peer, u32),
    /// To the destination of the long packet of this peer.
    Data(Peer),
}

impl PendingMessage {
    fn peer(&self) -> Peer {
        match self {
            Self::Buffer(peer, _)
            | Self::Notice(peer, _)
            | Self::Lent(peer, _)
            | Self::Gathered(peer, ..)
            | Self::Copied(peer, _)
            | Self::Data(peer) => *peer,
        }
    }
}

/// A packet whose data is on its way.
struct LongPacket {
    header: Header,
    len: usize,
    /// The data, unless it has a destination.
    buffer: Option<Box<[u8]>>,
    /// Messages that have arrived behind.
    behind: VecDeque<Box<[u8]>>,
}

impl<C: CarrierCalls> Port<C> {
    /// The operations of the rank `me` of `size`, none yet.
    pub(super) fn new(calls: Arc<C>, me: Peer, size: u32, short_max: usize) -> Self {
        let count = if size > 1 { RECEIVES } else { 0 };
        let slot = |_| ReceiveSlot {
            buffer: vec![0; HEADER_BYTES + short_max].into_boxed_slice(),
            request: CarrierRequest::NULL,
            from: 0,
        };
        let gathers = calls.gathers();
        Self {
            calls,
            me,
            short_max,
            gathers,
            only_peer: (size == 2).then_some(1 - me.min(1)),
            receives: (0..count).map(slot).collect(),
            head: 0,
            arrived: 0,
            used: count,
            requests: Vec::new(),
            indices: Vec::new(),
            pending: Vec::new(),
            ended: Vec::new(),
            sends: vec![0; size as usize],
            sequences: vec![MessageSequence::default(); size as usize],
            long_packets: BTreeMap::new(),
            spare_buffers: Vec::new(),
            failing: Vec::new(),
            told: Vec::new(),
            failed: Vec::new(),
            lost_packets: Vec::new(),
            is_withdrawing: false,
            delivered: 0,
            one_sided: OneSided::default(),
        }
    }

    /// Whether nothing is on its way from here, nor for the sink.
    pub(super) fn is_drained(&self) -> bool {
        let is_here = |message: &PendingMessage| {
            matches!(message, PendingMessage::Data(_)) || self.may_stay(message)
        };
        let are_here = self.pending.iter().all(is_here) && self.ended.is_empty();
        are_here && self.one_sided.is_drained()
    }

    /// Changes with every packet; `None` while a message is in progress or waits for the sink.
    pub(super) fn quiescence(&self) -> Option<u64> {
        let is_quiet = self.is_idle() && self.ended.is_empty() && self.arrived == 0;
        let is_quiet = is_quiet && self.one_sided.is_idle();
        is_quiet.then_some(self.delivered)
    }

    /// Whether no operation is in progress, except with peers that have failed.
    fn is_idle(&self) -> bool {
        let are_over = self.pending.iter().all(|message| self.may_stay(message));
        are_over && self.one_sided.is_drained()
    }

    /// Whether this operation may never end, and is not awaited.
    fn may_stay(&self, message: &PendingMessage) -> bool {
        matches!(message, PendingMessage::Notice(..)) || self.failed.contains(&message.peer())
    }

    /// The number of ranks.
    pub(super) fn ranks(&self) -> u32 {
        self.sends.len() as u32
    }

    /// Whether nothing reaches `peer` any more.
    pub(super) fn has_failed(&self, peer: Peer) -> bool {
        self.failed.contains(&peer)
    }

    /// The process of `peer` has ended: what has arrived whole is delivered, and then it has failed.
    pub(super) fn peer_ended(&mut self, peer: Peer, why: &str) {
        self.calls.peer_ended(peer);
        self.failing.push((peer, why.to_owned()));
    }
}

/// Sends.
impl<C: CarrierCalls> Port<C> {
    /// # Errors
    /// [`Busy`] if too many messages to `to` are in progress.
    #[inline]
    fn room(&self, to: Peer) -> Result<(), Busy> {
        if self.sends[to as usize] >= SENDS_MAX { Err(Busy) } else { Ok(()) }
    }

    /// Whether there is room for packets to `to` beside a message.
    pub(super) fn has_much_room(&self, to: Peer) -> bool {
        self.sends[to as usize] < SENDS_MAX / 2
    }

    /// Sends a packet whose data `fill` writes.
    ///
    /// # Errors
    /// [`Busy`] without room.
    #[inline]
    pub(super) fn send(
        &mut self, to: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        self.room(to)?;
        if len <= self.short_max {
            self.send_message(to, header, MessageKind::Short, len, fill);
            return Ok(());
        }
        let mut data = vec![0; len].into_boxed_slice();
        fill(&mut data);
        self.send_message(to, header, MessageKind::Long, len, |_| ());
        self.start(to, data, len, DATA_TAG);
        Ok(())
    }

    /// Sends a packet from memory that is lent.
    ///
    /// # Errors
    /// [`Busy`] without room.
    pub(super) fn send_lent(
        &mut self, to: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        self.room(to)?;
        if data.len() <= self.short_max {
            if self.gathers && data.len() >= GATHERED_MIN {
                self.send_gathered(to, header, data, token);
                return Ok(());
            }
            let fill = |packet: &mut [u8]| data.read(0, packet);
            self.send_message(to, header, MessageKind::Short, data.len(), fill);
            self.ended.push(PendingMessage::Copied(to, token));
            return Ok(());
        }
        self.send_message(to, header, MessageKind::Long, data.len(), |_| ());
        let request = self.calls.send(data, to, DATA_TAG);
        self.note(request, PendingMessage::Lent(to, token));
        self.sends[to as usize] += 1;
        Ok(())
    }

    /// Sends a datagram, or drops it.
    pub(super) fn send_datagram(&mut self, to: Peer, data: &[u8]) {
        if data.len() <= self.short_max && self.room(to).is_ok() {
            let fill = |packet: &mut [u8]| packet.copy_from_slice(data);
            let kind = MessageKind::Datagram;
            self.send_message(to, &Header::default(), kind, data.len(), fill);
        }
    }

    /// A buffer with the header of a message.
    #[inline]
    fn with_header(
        &mut self, to: Peer, packet: &Header, kind: MessageKind, len: usize,
    ) -> Box<[u8]> {
        let mut buffer = self
            .spare_buffers
            .pop()
            .unwrap_or_else(|| vec![0; HEADER_BYTES + self.short_max].into_boxed_slice());
        let next = &mut self.sequences[to as usize].next;
        MessageHeader { packet: *packet, kind, sequence: *next, len }.emit(&mut buffer);
        *next = next.wrapping_add(1);
        buffer
    }

    /// Sends a header with data from memory that is lent.
    fn send_gathered(&mut self, to: Peer, header: &Header, data: Span, token: u32) {
        let mut buffer = self.with_header(to, header, MessageKind::Short, data.len());
        // SAFETY: as in `start`.
        let span = unsafe { Span::of(&mut buffer[..HEADER_BYTES]) };
        let request = self.calls.send_header_with(span, data, to);
        self.note(request, PendingMessage::Gathered(to, buffer, token));
        self.sends[to as usize] += 1;
    }

    /// Sends a header, and data unless it follows.
    #[inline]
    pub(super) fn send_message(
        &mut self, to: Peer, packet: &Header, kind: MessageKind, len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let mut buffer = self.with_header(to, packet, kind, len);
        let beside = if kind == MessageKind::Long { 0 } else { len };
        fill(&mut buffer[HEADER_BYTES..][..beside]);
        self.start(to, buffer, HEADER_BYTES + beside, HEADER_TAG);
    }

    /// Sends a header alone whose arrival is not awaited: the peer may have left.
    pub(super) fn send_notice(&mut self, to: Peer, packet: &Header, kind: MessageKind) {
        let buffer = self.with_header(to, packet, kind, 0);
        self.start_as(PendingMessage::Notice, to, buffer, HEADER_BYTES, HEADER_TAG);
    }

    #[inline]
    fn start(&mut self, to: Peer, buffer: Box<[u8]>, len: usize, tag: i32) {
        self.start_as(PendingMessage::Buffer, to, buffer, len, tag);
    }

    #[inline]
    fn start_as(
        &mut self, pending: impl FnOnce(Peer, Box<[u8]>) -> PendingMessage, to: Peer,
        mut buffer: Box<[u8]>, len: usize, tag: i32,
    ) {
        // SAFETY: the buffer stays in `pending` until the request has completed, and nothing uses it
        // there; a port that is dropped before keeps it for ever.
        let span = unsafe { Span::of(&mut buffer[..len]) };
        let request = self.calls.send(span, to, tag);
        self.note(request, pending(to, buffer));
        self.sends[to as usize] += 1;
    }

    #[inline]
    fn note(&mut self, request: CarrierRequest, message: PendingMessage) {
        self.requests.push(request);
        self.pending.push(message);
    }
}

/// What the library has completed.
impl<C: CarrierCalls> Port<C> {
    /// Posts receives, and finds completed operations; whether there are any.
    #[inline]
    pub(super) fn look(&mut self) -> bool {
        let before = (self.arrived, self.ended.len());
        self.post();
        self.calls.progress();
        while self.arrived + self.used < self.receives.len() {
            let next = (self.head + self.arrived) % self.receives.len();
            let slot = &mut self.receives[next];
            let Some(from) = self.calls.test(&mut slot.request) else { break };
            slot.from = from;
            self.arrived += 1;
        }
        match &mut self.requests[..] {
            [] => {}
            [only] => {
                if self.calls.test(only).is_some() {
                    self.collect();
                }
            }
            several => {
                self.calls.test_some(several, &mut self.indices);
                self.collect();
            }
        }
        let has_ended = self.one_sided.has_work() && self.advance_accesses();
        has_ended || before != (self.arrived, self.ended.len())
    }

    /// Posts the receives that are used.
    #[inline]
    fn post(&mut self) {
        let count = self.receives.len();
        while self.used > 0 {
            let index = (self.head + count - self.used) % count;
            let slot = &mut self.receives[index];
            // SAFETY: the buffer stays in its slot until the request has completed, and is only read
            // afterwards; a port that is dropped before keeps it for ever.
            let span = unsafe { Span::of(&mut slot.buffer) };
            slot.request = self.calls.receive(span, self.only_peer, HEADER_TAG);
            self.used -= 1;
        }
    }

    /// Moves completed operations to the ended ones, in any order.
    fn collect(&mut self) {
        let mut index = 0;
        while index < self.requests.len() {
            if self.requests[index] != CarrierRequest::NULL {
                index += 1;
                continue;
            }
            self.requests.swap_remove(index);
            match self.pending.swap_remove(index) {
                PendingMessage::Buffer(to, buffer) | PendingMessage::Notice(to, buffer) => {
                    self.has_left(to);
                    self.keep(buffer);
                }
                PendingMessage::Gathered(to, buffer, token) => {
                    self.has_left(to);
                    self.keep(buffer);
                    self.ended.push(PendingMessage::Lent(to, token));
                }
                lent @ PendingMessage::Lent(to, _) => {
                    self.has_left(to);
                    self.ended.push(lent);
                }
                other @ (PendingMessage::Copied(..) | PendingMessage::Data(_)) => {
                    self.ended.push(other);
                }
            }
        }
    }

    fn keep(&mut self, buffer: Box<[u8]>) {
        let is_usual = buffer.len() == HEADER_BYTES + self.short_max;
        if is_usual && self.spare_buffers.len() < SPARE_BUFFERS_MAX {
            self.spare_buffers.push(buffer);
        }
    }

    /// A message to `to` has left. Those to peers that have failed do not count any more.
    #[inline]
    fn has_left(&mut self, to: Peer) {
        let sends = &mut self.sends[to as usize];
        *sends = sends.saturating_sub(1);
    }

    /// Gives what has been found to `sink`; the number of packets.
    #[inline]
    pub(super) fn deliver(&mut self, sink: &mut impl PacketSink) -> usize {
        let before = self.delivered;
        while let Some(failure) = self.calls.take_failure() {
            self.failing.push(failure);
        }
        if !self.failing.is_empty() {
            self.lose_packets();
        }
        if !self.ended.is_empty() {
            self.deliver_ended(sink);
        }
        while self.arrived > 0 {
            let slot = &mut self.receives[self.head];
            let (from, buffer) = (slot.from, std::mem::take(&mut slot.buffer));
            self.arrive(from, &buffer, sink);
            self.receives[self.head].buffer = buffer;
            self.head = (self.head + 1) % self.receives.len();
            self.arrived -= 1;
            self.used += 1;
        }
        if !self.failing.is_empty() {
            self.tell_failures(sink);
        }
        (self.delivered - before) as usize
    }

    /// Drops the long packets of failing peers that have not arrived whole, and the packets behind them.
    #[cold]
    fn lose_packets(&mut self) {
        let Self { failing, failed, long_packets, lost_packets, pending, requests, .. } = self;
        for (peer, _) in failing.iter() {
            let Some(lost) = long_packets.remove(peer) else { continue };
            lost_packets.push(lost);
            failed.push(*peer);
            for (message, request) in pending.iter().zip(&mut *requests) {
                if matches!(message, PendingMessage::Data(of) if of == peer) {
                    self.calls.cancel(request);
                }
            }
        }
    }

    #[cold]
    fn tell_failures(&mut self, sink: &mut impl PacketSink) {
        for (peer, why) in std::mem::take(&mut self.failing) {
            if self.told.contains(&peer) {
                continue;
            }
            tracing::warn!(peer, why, "a peer has failed");
            self.told.push(peer);
            self.failed.push(peer);
            self.sends[peer as usize] = 0;
            self.one_sided.fail(peer, &why);
            sink.failed(peer, &why);
        }
    }

    fn deliver_ended(&mut self, sink: &mut impl PacketSink) {
        let mut ended = std::mem::take(&mut self.ended);
        for message in ended.drain(..) {
            match message {
                PendingMessage::Buffer(..)
                | PendingMessage::Notice(..)
                | PendingMessage::Gathered(..) => {}
                PendingMessage::Lent(to, token) | PendingMessage::Copied(to, token) => {
                    if !self.told.contains(&to) {
                        sink.sent(to, token);
                    }
                }
                PendingMessage::Data(from) => self.end_long_packet(from, sink),
            }
        }
        debug_assert!(self.ended.is_empty());
        self.ended = ended;
    }

    /// A message has arrived.
    #[inline]
    fn arrive(&mut self, from: Peer, bytes: &[u8], sink: &mut impl PacketSink) {
        // A receive may have ended without a message.
        let is_none = from as usize >= self.sends.len();
        if is_none || !self.failed.is_empty() && self.failed.contains(&from) {
            return;
        }
        let Some(header) = self.header(bytes) else {
            return tracing::warn!(from, "a message of a stranger was dropped");
        };
        let MessageHeader { packet, kind, sequence, len } = header;
        let expected = &mut self.sequences[from as usize].expected;
        if sequence != *expected {
            return self.miss_message(from, sequence);
        }
        *expected = expected.wrapping_add(1);
        if kind == MessageKind::Datagram {
            return sink.datagram(from, &bytes[HEADER_BYTES..][..len]);
        }
        if kind == MessageKind::Access {
            // A rank that answers accesses is not idle.
            self.delivered += 1;
            return self.take_access(from, &packet, &bytes[HEADER_BYTES..][..len]);
        }
        if !self.long_packets.is_empty()
            && let Some(long) = self.long_packets.get_mut(&from)
        {
            let beside = if kind == MessageKind::Long { 0 } else { len };
            return long.behind.push_back(bytes[..HEADER_BYTES + beside].into());
        }
        self.take_packet(from, &packet, kind, len, bytes, sink);
    }

    /// A message before the one with this number has not come, and will not.
    #[cold]
    fn miss_message(&mut self, from: Peer, sequence: u16) {
        let expected = self.sequences[from as usize].expected;
        let why = format!("its message {expected} is lost, and message {sequence} has come");
        self.failing.push((from, why));
        self.failed.push(from);
    }

    /// The header of a message, if a rank of the job can have sent it.
    #[inline]
    fn header(&self, bytes: &[u8]) -> Option<MessageHeader> {
        let header = MessageHeader::parse(bytes)?;
        let longest = match header.kind {
            MessageKind::Long => LONG_MAX,
            MessageKind::Short | MessageKind::Datagram | MessageKind::Access => self.short_max,
        };
        (header.len <= longest).then_some(header)
    }

    #[inline]
    fn take_packet(
        &mut self, from: Peer, packet: &Header, kind: MessageKind, len: usize, bytes: &[u8],
        sink: &mut impl PacketSink,
    ) {
        match kind {
            MessageKind::Long => self.begin_long_packet(from, packet, len, sink),
            MessageKind::Short | MessageKind::Datagram | MessageKind::Access => {
                self.delivered += 1;
                sink.packet(from, packet, &bytes[HEADER_BYTES..][..len]);
            }
        }
    }

    fn begin_long_packet(
        &mut self, from: Peer, packet: &Header, len: usize, sink: &mut impl PacketSink,
    ) {
        let (destination, buffer) = match sink.place(from, packet, len) {
            Some(destination) => (destination, None),
            None => {
                let mut buffer = vec![0; len].into_boxed_slice();
                // SAFETY: the buffer stays with the long packet until the request has completed, and
                // nothing uses it before; a port that is dropped before keeps it for ever.
                (unsafe { Span::of(&mut buffer) }, Some(buffer))
            }
        };
        let request = self.calls.receive(destination, Some(from), DATA_TAG);
        self.note(request, PendingMessage::Data(from));
        let long = LongPacket { header: *packet, len, buffer, behind: VecDeque::new() };
        self.long_packets.insert(from, long);
    }

    /// All data of a long packet has arrived: it, and what has come behind, is delivered.
    fn end_long_packet(&mut self, from: Peer, sink: &mut impl PacketSink) {
        let Some(long) = self.long_packets.remove(&from) else { return };
        if self.failed.contains(&from) {
            return;
        }
        self.delivered += 1;
        match &long.buffer {
            None => sink.placed(from, &long.header, long.len),
            Some(data) => sink.packet(from, &long.header, data),
        }
        let mut behind = long.behind;
        while let Some(bytes) = behind.pop_front() {
            let Some(MessageHeader { packet, kind, len, .. }) = MessageHeader::parse(&bytes) else {
                continue;
            };
            self.take_packet(from, &packet, kind, len, &bytes, sink);
            if let Some(next) = self.long_packets.get_mut(&from) {
                next.behind = behind;
                return;
            }
        }
    }

    /// Ends all receives for headers, which no message matches any more; whether nothing is in progress.
    /// Called again until it is.
    pub(super) fn withdraw(&mut self) -> bool {
        let (arrived, count, used) = (self.arrived, self.receives.len(), self.used);
        let mut are_here = true;
        for index in arrived..count - used {
            let slot = &mut self.receives[(self.head + index) % count];
            if !self.is_withdrawing && slot.request != CarrierRequest::NULL {
                self.calls.cancel(&mut slot.request);
            }
            are_here &= slot.request == CarrierRequest::NULL
                || self.calls.test(&mut slot.request).is_some();
        }
        self.is_withdrawing = true;
        if !are_here {
            self.calls.progress();
            return false;
        }
        self.receives.clear();
        (self.arrived, self.used) = (0, 0);
        if !self.requests.is_empty() {
            self.look();
        }
        self.is_idle()
    }
}

impl<C: CarrierCalls> Drop for Port<C> {
    /// The library may use the memory of operations in progress until the process ends.
    fn drop(&mut self) {
        std::mem::forget(std::mem::take(&mut self.receives));
        std::mem::forget(std::mem::take(&mut self.pending));
        std::mem::forget(std::mem::take(&mut self.long_packets));
        std::mem::forget(std::mem::take(&mut self.lost_packets));
    }
}
