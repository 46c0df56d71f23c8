//! Shared memory beside the connection with a process of another job on this host: packets go by a
//! [pair of rings](crate::devices::rings::pair), and the connection says when they begin and end.
//!
//! ```text
//!   end with the lower identity                       the other end
//!   Unused ──some packets, Offer──> Offered
//!                                     │  <── Taken ── Open
//!                                     ▼
//!                                   Open
//!   either end:  <── Refused ── without shared memory until the link is forgotten
//! ```
//!
//! Packets that are too long for a ring, and all of them before it is open, go by the connection. They keep
//! their order by markers in the ring: *the next packets follow when so many have come by the connection.*
//! A marker is written before its packet, so an end that receives a packet by the connection finds the
//! marker, and delivers what is before it first. The first marker begins the use of the ring.
//!
//! A kept connection keeps its segment. Each link that uses it has a *generation*, which its markers name:
//! what a ring still has of a link before is dropped. If the connection is lost and another one opens, both
//! ends offer what they have, and an end that has packets in a ring that the other one does not know fails.

use super::Tcp;
use super::frame::FrameClass;
use super::link::Link;
use crate::device::{Busy, Header, PacketSink};
pub(super) use crate::devices::rings::PACKET_MAX as NEAR_PACKET_MAX;
use crate::devices::rings::pair::{MARKER, PairAddress, PairArrival, PairEnd};
use crate::devices::rings::read_trial::{CopyMethod, ReadTrial};
use platform::base::{Peer, Span};
use platform::sys::doorbell::DoorbellAddress;

/// Packets of a link, both ways, before a segment is offered: more than a meeting of two processes takes,
/// which would otherwise make one that is never used.
pub(crate) const OFFER_AFTER: u32 = 32;

/// Segments of a process at most: each has a ring that is polled.
const NEAR_MAX: usize = 64;

/// Packets that one poll takes from a ring, and those that a ring may hold.
const BATCH: usize = 16;
const ALL: usize = 512;

/// Polls that read the connection, too, after something has come there.
const STREAM_POLLS: u8 = 64;

/// The shared memory of a link.
#[derive(Default)]
pub(crate) enum NearState {
    /// None yet.
    #[default]
    Unused,
    /// The other end has not said that it has it.
    Offered(Box<NearRings>),
    /// Both ends have it.
    Open(Box<NearRings>),
    /// There will be none.
    Refused,
}

/// What the frames about a segment say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentNotice {
    pub(crate) class: FrameClass,
    /// The segment and the generation of the link.
    pub(crate) words: [u64; 2],
}

/// One end of a segment, for one link at a time.
pub(crate) struct NearRings {
    end: PairEnd,
    generation: u32,
    /// Whether the other end is known to use this generation.
    is_confirmed: bool,
    /// Whether packets of this link go by the ring.
    has_switched: bool,
    /// How many packets of the connection precede the next one of the ring; `None` before the first marker.
    until: Option<u64>,
    /// Packets of the ring that were delivered before those of the connection, in this poll.
    preceding: usize,
    /// Further polls that read the connection.
    stream_polls: u8,
}

impl NearState {
    #[inline]
    pub(crate) fn rings_mut(&mut self) -> Option<&mut NearRings> {
        match self {
            Self::Offered(rings) | Self::Open(rings) => Some(rings),
            Self::Unused | Self::Refused => None,
        }
    }

    pub(crate) fn rings(&self) -> Option<&NearRings> {
        match self {
            Self::Offered(rings) | Self::Open(rings) => Some(rings),
            Self::Unused | Self::Refused => None,
        }
    }

    /// The rings, if packets go there now.
    #[inline]
    fn sending(&mut self) -> Option<&mut NearRings> {
        match self {
            Self::Open(rings) if rings.is_confirmed => Some(rings),
            _ => None,
        }
    }

    /// Packets before one is offered to the next link of a kept connection.
    pub(crate) fn offers_after(&self) -> u32 {
        if matches!(self, Self::Refused) { u32::MAX } else { OFFER_AFTER }
    }

    /// What a kept connection takes along.
    pub(crate) fn take(&mut self) -> Option<Box<NearRings>> {
        match std::mem::take(self) {
            Self::Open(rings) => Some(rings),
            Self::Unused | Self::Offered(_) | Self::Refused => None,
        }
    }
}

impl NearRings {
    fn new(end: PairEnd, is_confirmed: bool) -> Self {
        let (generation, has_switched, until) = (0, false, None);
        let (preceding, stream_polls) = (0, STREAM_POLLS);
        Self { end, generation, is_confirmed, has_switched, until, preceding, stream_polls }
    }

    /// The same rings for the next link; `is_confirmed`: the other end has accepted it.
    pub(crate) fn renewed(self: Box<Self>, is_confirmed: bool) -> NearState {
        let generation = self.generation.wrapping_add(1);
        let mut rings = self;
        *rings = Self { generation, ..Self::new(rings.end, is_confirmed) };
        NearState::Open(rings)
    }

    /// Which segment this is, and which generation of it.
    pub(crate) fn words(&self) -> [u64; 2] {
        self.notice(FrameClass::Offer).words
    }

    fn notice(&self, class: FrameClass) -> SegmentNotice {
        let PairAddress { pid, descriptor, inode } = self.end.address();
        let place = u64::from(pid) << 32 | u64::from(descriptor);
        SegmentNotice { class, words: [place, u64::from(self.generation) << 32 | u64::from(inode)] }
    }

    /// Sends a packet by the ring; `by_stream` packets have gone by the connection.
    #[inline]
    fn send(
        &mut self, by_stream: u64, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        if !self.has_switched {
            self.mark(by_stream)?;
            self.has_switched = true;
        }
        self.end.send(header, len, fill)
    }

    /// What follows in the ring comes after this number of packets of the connection.
    fn mark(&mut self, by_stream: u64) -> Result<(), Busy> {
        self.end.send_marker([by_stream, u64::from(self.generation)])
    }

    /// Delivers at most `most` packets, while `received` of the connection are enough for the next one.
    #[inline]
    fn poll(
        &mut self, from: Peer, received: u64, most: usize, sink: &mut impl PacketSink,
    ) -> usize {
        let mut packets = 0;
        while packets < most
            && self.until.is_none_or(|until| until <= received)
            && self.next(from, sink, &mut packets)
        {}
        packets
    }

    /// Delivers what precedes the packet with this `number` of the connection.
    pub(super) fn precede(&mut self, from: Peer, number: u64, sink: &mut impl PacketSink) {
        let mut packets = 0;
        loop {
            let is_next = self.until.is_some_and(|until| until > number);
            if is_next || !self.next(from, sink, &mut packets) {
                break;
            }
        }
        self.preceding += packets;
    }

    /// The number of packets that [`NearRings::precede`] has delivered since this was asked last.
    pub(super) fn take_preceding(&mut self) -> usize {
        std::mem::take(&mut self.preceding)
    }

    /// Takes the next packet or marker; false if there is none.
    #[inline]
    fn next(&mut self, from: Peer, sink: &mut impl PacketSink, packets: &mut usize) -> bool {
        let Self { end, until, generation, is_confirmed, .. } = self;
        end.next(|arrival| match arrival {
            PairArrival::Packet(header, data) if until.is_some() => {
                sink.packet(from, header, data);
                *packets += 1;
            }
            // Of a link before this one.
            PairArrival::Packet(..) => {}
            PairArrival::Marker([by_stream, of]) if of == u64::from(*generation) => {
                *until = Some(by_stream);
                *is_confirmed = true;
            }
            PairArrival::Marker(_) => {}
        })
    }

    /// Whether packets that wait in the ring need one of the connection, or one may come there soon.
    #[inline]
    fn reads_stream(&mut self, received: u64) -> bool {
        let must = self.until.is_none_or(|until| until > received);
        if !must && self.stream_polls > 0 {
            self.stream_polls -= 1;
            return true;
        }
        must
    }
}

impl Link {
    /// Whether a packet of `len` bytes goes by shared memory.
    #[inline]
    pub(super) fn is_near(&mut self, header: &Header, len: usize) -> bool {
        len <= NEAR_PACKET_MAX
            && header.kind != MARKER
            && !self.said_leaving
            && self.near.sending().is_some()
    }

    /// Sends a packet by shared memory.
    ///
    /// # Errors
    /// [`Busy`] without room.
    #[inline]
    pub(super) fn send_near(
        &mut self, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let by_stream = self.queue.pushed();
        let Some(rings) = self.near.sending() else { return Err(Busy) };
        let sent = rings.send(by_stream, header, len, fill);
        self.owes_room |= sent.is_err();
        sent
    }

    /// A packet is about to go by the connection.
    ///
    /// # Errors
    /// [`Busy`] if there is no room for what orders it behind those in the ring.
    #[inline]
    pub(super) fn begin_by_stream(&mut self) -> Result<(), Busy> {
        let next = self.queue.pushed() + 1;
        if let Some(rings) = self.near.rings_mut().filter(|rings| rings.has_switched)
            && rings.mark(next).is_err()
        {
            self.owes_room = true;
            return Err(Busy);
        }
        self.said_leaving = false;
        Ok(())
    }

    /// Delivers packets of the ring, `most` of them.
    #[inline]
    pub(super) fn poll_near(&mut self, most: usize, sink: &mut impl PacketSink) -> usize {
        let (peer, received) = (self.peer, self.reader.received());
        let Some(rings) = self.near.rings_mut() else { return 0 };
        let packets = rings.poll(peer, received, most, sink);
        if self.owes_room && rings.end.has_room() && self.queue.has_room() {
            self.owes_room = false;
            sink.room(peer);
        }
        packets
    }

    /// Whether the connection has to be read in a poll without an event of it.
    #[inline]
    pub(super) fn reads_stream(&mut self) -> bool {
        let received = self.reader.received();
        self.near.rings_mut().is_none_or(|rings| rings.reads_stream(received))
    }

    /// Something has come by the connection, or an answer will.
    #[inline]
    pub(super) fn note_stream(&mut self) {
        if let Some(rings) = self.near.rings_mut() {
            rings.stream_polls = STREAM_POLLS;
        }
    }
}

/// Segments with processes of other jobs.
impl Tcp {
    /// Packets to processes of other jobs on this host go by shared memory from now on, which wakes this
    /// process by `doorbell`: the descriptor of [`Device::arm`](crate::device::Device::arm) covers it.
    /// Long messages are copied as `copy` says.
    pub(crate) fn share_memory(&mut self, doorbell: DoorbellAddress, copy: CopyMethod) {
        self.near.doorbell = Some(doorbell);
        self.near.trial = ReadTrial::new(copy);
    }

    /// Delivers what is in the rings.
    #[inline]
    pub(crate) fn poll_near(&mut self, sink: &mut impl PacketSink) -> usize {
        let mut packets = 0;
        for index in 0..self.near.peers.len() {
            let peer = self.near.peers[index];
            if let Some(link) = &mut self.links[peer as usize] {
                packets += link.poll_near(BATCH, sink);
            }
        }
        packets
    }

    /// Delivers all that is in the ring of a peer, which sends no more.
    #[cold]
    pub(super) fn drain_near(&mut self, peer: Peer, sink: &mut impl PacketSink) -> usize {
        let link = self.links.get_mut(peer as usize).and_then(Option::as_mut);
        link.map_or(0, |link| link.poll_near(ALL, sink))
    }

    /// Arms the words of all segments, for the sleep that begins. The membarrier that must follow is that of
    /// the device of the host, with which the doorbell is shared.
    pub(super) fn arm_near(&self) {
        self.near_rings().for_each(|rings| rings.end.arm());
    }

    pub(super) fn disarm_near(&self) {
        self.near_rings().for_each(|rings| rings.end.disarm());
    }

    /// Whether a process cannot wake this one: it must not sleep.
    pub(crate) fn must_poll(&self) -> bool {
        self.near_rings().any(|rings| rings.end.must_poll())
    }

    /// A number that changes with every packet of a ring.
    pub(super) fn near_arrivals(&self) -> u64 {
        self.near_rings().map(|rings| rings.end.arrivals()).sum()
    }

    fn near_rings(&self) -> impl Iterator<Item = &NearRings> {
        let links = self.near.peers.iter().filter_map(|peer| self.links[*peer as usize].as_ref());
        links.filter_map(|link| link.near.rings())
    }

    /// Whether a message of `len` bytes from `peer` should be read from its memory.
    pub(crate) fn prefers_read(&mut self, peer: Peer, len: usize) -> bool {
        self.near.trial.prefers(len)
            && self.rings_with(peer).is_some_and(|rings| rings.end.is_readable())
    }

    /// As [`Bulk::read`](crate::device::Bulk::read), from an address.
    ///
    /// # Errors
    /// A sentence with the cause.
    pub(crate) fn read_memory(
        &mut self, peer: Peer, from: u64, into: Span, done: usize,
    ) -> Result<usize, String> {
        let link = self.links.get_mut(peer as usize).and_then(Option::as_mut);
        let Some(rings) = link.and_then(|link| link.near.rings_mut()) else {
            return Err(format!("rank {peer} shares no memory with this process"));
        };
        rings.end.read(&mut self.near.trial, from, into, done)
    }

    /// Whether packets to a peer go by shared memory, or have gone there.
    pub(super) fn is_near(&self, peer: Peer) -> bool {
        let link = self.links.get(peer as usize).and_then(Option::as_ref);
        link.is_some_and(|link| link.was_near || matches!(link.near, NearState::Open(_)))
    }

    fn rings_with(&mut self, peer: Peer) -> Option<&mut NearRings> {
        let link = self.links.get_mut(peer as usize)?.as_mut()?;
        link.near.rings_mut()
    }

    /// Counts packets by the connection with a process of this host, and offers it a segment when there are
    /// enough.
    pub(super) fn count_toward_offer(&mut self, peer: Peer, packets: u32) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        if !(matches!(link.near, NearState::Unused) && link.is_local()) {
            return;
        }
        link.offer_after = link.offer_after.saturating_sub(packets);
        if link.offer_after > 0 {
            return;
        }
        let (job, rank) = (link.job, link.rank);
        let is_full = self.near.peers.len() >= NEAR_MAX;
        let Some(doorbell) = self.near.doorbell.filter(|_| !is_full) else { return };
        if job == self.job || !self.is_preferred_to(job, rank) {
            return;
        }
        let Some(link) = &mut self.links[peer as usize] else { return };
        match PairEnd::create(doorbell) {
            Ok(end) => {
                let rings = Box::new(NearRings::new(end, false));
                link.notice = Some(rings.notice(FrameClass::Offer));
                link.near = NearState::Offered(rings);
                self.add_near(peer);
                self.write(peer, false);
            }
            Err(error) => {
                tracing::debug!(peer, %error, "no memory is shared with a process of another job");
                link.near = NearState::Refused;
            }
        }
    }

    fn add_near(&mut self, peer: Peer) {
        if !self.near.peers.contains(&peer) {
            self.near.peers.push(peer);
        }
        // Nothing of the link may wait for an event of its connection alone.
        if self.is_armed
            && let Some(rings) = self.rings_with(peer)
        {
            rings.end.arm();
            // A packet that came before that has woken no thread, and this poll may have passed the rings.
            self.watched.ring();
        }
    }

    /// A connection of the link has been opened.
    pub(super) fn adopt_near(&mut self, peer: Peer, kept: Option<NearState>) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        match (kept, link.near.rings()) {
            (Some(state), _) => link.near = state,
            (None, Some(rings)) => link.notice = Some(rings.notice(FrameClass::Offer)),
            (None, None) => return,
        }
        self.add_near(peer);
    }

    /// The link has no segment any more.
    pub(super) fn drop_near(&mut self, peer: Peer) {
        self.near.peers.retain(|near| *near != peer);
        if let Some(Some(link)) = self.links.get_mut(peer as usize) {
            link.was_near |= matches!(link.near, NearState::Open(_));
            link.near = NearState::Unused;
            link.notice = None;
        }
    }

    /// A link that the other end has released has no segment any more.
    pub(super) fn drop_released(&mut self, peer: Peer) {
        if self.links[peer as usize].as_ref().is_some_and(|link| link.reader.is_released()) {
            self.drop_near(peer);
        }
    }

    /// The other end says something of a segment.
    #[cold]
    pub(super) fn take_notice(&mut self, peer: Peer, notice: SegmentNotice) {
        match notice.class {
            FrameClass::Offer => self.answer_offer(peer, notice),
            FrameClass::Taken => self.offer_taken(peer, notice),
            _ => self.offer_refused(peer),
        }
        self.write(peer, false);
    }

    fn answer_offer(&mut self, peer: Peer, offer: SegmentNotice) {
        let is_full = self.near.peers.len() >= NEAR_MAX;
        let doorbell = self.near.doorbell.filter(|_| !is_full);
        let Some(link) = &mut self.links[peer as usize] else { return };
        let answer = |class| Some(SegmentNotice { class, ..offer });
        if let Some(rings) = link.near.rings_mut() {
            let is_known = rings.notice(FrameClass::Offer) == offer;
            rings.is_confirmed |= is_known;
            let class = if is_known { FrameClass::Taken } else { FrameClass::Refused };
            link.notice = answer(class);
            return;
        }
        let address = PairAddress {
            pid: (offer.words[0] >> 32) as u32,
            descriptor: offer.words[0] as u32,
            inode: offer.words[1] as u32,
        };
        let is_first = offer.words[1] >> 32 == 0 && link.is_local();
        match doorbell.filter(|_| is_first).map(|doorbell| PairEnd::open(address, doorbell)) {
            Some(Ok(end)) => {
                tracing::debug!(peer, "packets go by shared memory");
                link.near = NearState::Open(Box::new(NearRings::new(end, true)));
                link.notice = answer(FrameClass::Taken);
                self.add_near(peer);
            }
            refusal => {
                if let Some(Err(error)) = refusal {
                    tracing::debug!(peer, %error, "no memory is shared with a process");
                }
                link.near = NearState::Refused;
                link.notice = answer(FrameClass::Refused);
            }
        }
    }

    fn offer_taken(&mut self, peer: Peer, answer: SegmentNotice) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        let is_ours = |rings: &NearRings| rings.notice(answer.class) == answer;
        link.near = match std::mem::take(&mut link.near) {
            NearState::Offered(mut rings) if is_ours(&rings) => {
                // Where the other process cannot be woken, it polls.
                if let Err(error) = rings.end.connect() {
                    tracing::debug!(peer, %error, "a process cannot be woken, and polls");
                }
                rings.is_confirmed = true;
                tracing::debug!(peer, "packets go by shared memory");
                NearState::Open(rings)
            }
            NearState::Open(mut rings) if is_ours(&rings) => {
                rings.is_confirmed = true;
                NearState::Open(rings)
            }
            other => other,
        };
    }

    fn offer_refused(&mut self, peer: Peer) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        let is_lost = link.near.rings().is_some_and(|rings| rings.has_switched);
        self.drop_near(peer);
        if is_lost {
            return self.expel(peer, "has lost packets in shared memory");
        }
        if let Some(link) = &mut self.links[peer as usize] {
            link.near = NearState::Refused;
        }
    }
}

impl NearPeers {
    /// Whether there may be segments.
    pub(super) fn is_possible(&self) -> bool {
        self.doorbell.is_some()
    }
}

/// What the device knows of all segments.
#[derive(Default)]
pub(crate) struct NearPeers {
    /// What wakes this process; `None` without shared memory.
    doorbell: Option<DoorbellAddress>,
    /// Peers with rings.
    pub(super) peers: Vec<Peer>,
    trial: ReadTrial,
}
