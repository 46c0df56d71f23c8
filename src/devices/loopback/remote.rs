//! The test device as a network: what a rank keeps whose peers share no memory with it.
//!
//! ```text
//! sender                                                receiver
//!   send ──> outgoing ── poll of the sender ──> inbox ── poll of the receiver ──> place, half of the
//!            QUEUE_PACKETS for each peer        QUEUE_PACKETS                     data, the rest, placed
//! ```
//!
//! Accepted packets leave only in polls of the sender, and lent memory is read then. Long packets are
//! written to their destinations in two parts, in different polls. A rank that has died is reported to
//! the others once they have its packets. A link that is cut carries no packet: accepted ones wait at the
//! sender until it heals ([`LoopbackLinks`]). A seed decides what happens in which poll, unless the rank is
//! armed: then everything happens at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{ArrivalQueue, Loopback, QUEUE_PACKETS, QueuedPacket, SHORT_MAX};
use crate::device::{Busy, Header, PacketSink, PeerCaps};
use platform::base::{Peer, Random, Span};

/// Packets for a peer that may leave stay in one of this number of polls.
const LATE_ONE_IN: u64 = 4;

/// In bytes: long enough for packets that the engine wants to be placed.
const CAPS: PeerCaps = PeerCaps {
    long_max: 6000,
    eager_max: Some(5000),
    lends: true,
    delivers_alone: false,
    announces_room: true,
    announced_max: 0,
};

/// The links of a network, in both directions between any two ranks.
#[derive(Clone)]
pub struct LoopbackLinks {
    ranks: usize,
    /// Whether the link is cut, by sender and receiver.
    cut: Arc<[AtomicBool]>,
}

impl LoopbackLinks {
    pub(super) fn new(ranks: usize) -> Self {
        Self { ranks, cut: (0..ranks * ranks).map(|_| AtomicBool::new(false)).collect() }
    }

    fn link(&self, from: Peer, to: Peer) -> &AtomicBool {
        &self.cut[from as usize * self.ranks + to as usize]
    }

    /// Cuts the link of two ranks in one direction, or heals it.
    pub fn set_cut(&self, from: Peer, to: Peer, is_cut: bool) {
        self.link(from, to).store(is_cut, Ordering::Relaxed);
    }

    fn is_cut(&self, from: Peer, to: Peer) -> bool {
        self.link(from, to).load(Ordering::Relaxed)
    }
}

/// The queues between a rank and its peers.
pub(super) struct RemoteQueues {
    /// Accepted packets that have not left, by receiver.
    outgoing: BTreeMap<Peer, VecDeque<OutgoingPacket>>,
    /// Lent memory that has been read.
    returned: Vec<(Peer, u32)>,
    /// Peers for which a packet was refused.
    refused: BTreeSet<Peer>,
    arrived: VecDeque<QueuedPacket>,
    /// Packets whose first half has been written to their destinations.
    placing: BTreeMap<Peer, (QueuedPacket, Span)>,
    failed: BTreeSet<Peer>,
    random: Random,
    is_armed: bool,
}

struct OutgoingPacket {
    header: Header,
    data: OutgoingData,
}

/// The data of a packet that has not left.
pub(super) enum OutgoingData {
    Copied(Box<[u8]>),
    Lent(Span, u32),
}

impl OutgoingData {
    fn into_bytes(self) -> Box<[u8]> {
        match self {
            Self::Copied(bytes) => bytes,
            Self::Lent(memory, _) => {
                let mut bytes = vec![0; memory.len()].into_boxed_slice();
                memory.read(0, &mut bytes);
                bytes
            }
        }
    }
}

impl RemoteQueues {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            outgoing: BTreeMap::new(),
            returned: Vec::new(),
            refused: BTreeSet::new(),
            arrived: VecDeque::new(),
            placing: BTreeMap::new(),
            failed: BTreeSet::new(),
            random: Random::new(seed),
            is_armed: false,
        }
    }

    pub(super) fn caps() -> PeerCaps {
        CAPS
    }

    pub(super) fn set_armed(&mut self, is_armed: bool) {
        self.is_armed = is_armed;
    }

    pub(super) fn is_drained(&self) -> bool {
        self.outgoing.values().all(VecDeque::is_empty) && self.returned.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.is_drained() && self.arrived.is_empty() && self.placing.is_empty()
    }

    /// Accepts a packet, whose data `make` makes.
    pub(super) fn send(
        &mut self, peer: Peer, header: &Header, make: impl FnOnce() -> OutgoingData,
    ) -> Result<(), Busy> {
        let queue = self.outgoing.entry(peer).or_default();
        if queue.len() == QUEUE_PACKETS {
            self.refused.insert(peer);
            return Err(Busy);
        }
        let data = make();
        if !self.failed.contains(&peer) {
            queue.push_back(OutgoingPacket { header: *header, data });
        }
        Ok(())
    }

    /// Whether something that may happen happens now.
    fn is_due(&mut self) -> bool {
        self.is_armed || self.random.one_in(2)
    }

    fn place(&mut self, packet: QueuedPacket, into: Span, sink: &mut impl PacketSink) -> usize {
        let half = packet.data.len() / 2;
        into.write(0, &packet.data[..half]);
        self.placing.insert(packet.from, (packet, into));
        self.end_placing(sink)
    }

    /// Writes the second halves that are due, and returns their number.
    fn end_placing(&mut self, sink: &mut impl PacketSink) -> usize {
        let mut ended = 0;
        for (from, (packet, into)) in std::mem::take(&mut self.placing) {
            if self.is_due() {
                let half = packet.data.len() / 2;
                into.write(half, &packet.data[half..]);
                sink.placed(from, &packet.header, packet.data.len());
                ended += 1;
            } else {
                self.placing.insert(from, (packet, into));
            }
        }
        ended
    }

    /// Delivers the arrived packets of peers without a packet that is being placed.
    fn deliver(&mut self, sink: &mut impl PacketSink) -> usize {
        let mut delivered = self.end_placing(sink);
        let mut waiting = VecDeque::new();
        for packet in std::mem::take(&mut self.arrived) {
            let from = packet.from;
            let behind = |other: &QueuedPacket| other.from == from;
            if self.placing.contains_key(&from) || waiting.iter().any(behind) {
                waiting.push_back(packet);
                continue;
            }
            let len = packet.data.len();
            let into = if len > SHORT_MAX { sink.place(from, &packet.header, len) } else { None };
            match into {
                Some(into) => delivered += self.place(packet, into, sink),
                None => {
                    sink.packet(from, &packet.header, &packet.data);
                    delivered += 1;
                }
            }
        }
        self.arrived = waiting;
        delivered
    }

    fn forget(&mut self, peer: Peer) {
        self.failed.insert(peer);
        self.outgoing.remove(&peer);
        self.refused.remove(&peer);
        self.returned.retain(|(to, _)| *to != peer);
    }
}

/// The polls of a rank of a network.
impl Loopback {
    pub(super) fn poll_remote(
        &mut self, remote: &mut RemoteQueues, sink: &mut impl PacketSink,
    ) -> usize {
        self.send_accepted(remote, sink);
        self.take_arrivals(remote);
        let delivered = remote.deliver(sink);
        self.report_failed(remote, sink);
        delivered
    }

    /// Moves accepted packets to their receivers, as many as these have room for.
    fn send_accepted(&self, remote: &mut RemoteQueues, sink: &mut impl PacketSink) {
        let RemoteQueues { outgoing, random, is_armed, returned, .. } = &mut *remote;
        for (to, queue) in outgoing {
            // Packets for different peers leave in different polls: a rank may die in between.
            let is_late = !*is_armed && random.one_in(LATE_ONE_IN);
            if is_late || self.links.is_cut(self.me, *to) {
                continue;
            }
            let inbox = self.inbox(*to);
            let mut arrivals = inbox.arrivals.lock();
            let room = match arrivals.has_left {
                true => queue.len(),
                false => QUEUE_PACKETS.saturating_sub(arrivals.packets.len()).min(queue.len()),
            };
            for OutgoingPacket { header, data } in queue.drain(..room) {
                if let OutgoingData::Lent(_, token) = data {
                    returned.push((*to, token));
                }
                let packet = QueuedPacket { from: self.me, header, data: data.into_bytes() };
                if !arrivals.has_left {
                    arrivals.packets.push_back(packet);
                }
            }
            if !queue.is_empty() && !arrivals.senders.contains(&self.me) {
                arrivals.senders.push(self.me);
            }
            drop(arrivals);
            if room > 0 {
                inbox.wake();
            }
        }
        if remote.is_due() {
            remote.returned.drain(..).for_each(|(to, token)| sink.sent(to, token));
        }
        let outgoing = &remote.outgoing;
        remote.refused.retain(|to| {
            let is_full = outgoing.get(to).is_some_and(|queue| queue.len() == QUEUE_PACKETS);
            if !is_full {
                sink.room(*to);
            }
            is_full
        });
    }

    /// Takes packets out of the inbox, once those of the last time are delivered.
    fn take_arrivals(&self, remote: &mut RemoteQueues) {
        if !remote.arrived.is_empty() && !remote.is_armed {
            return;
        }
        let mut arrivals = self.inbox(self.me).arrivals.lock();
        let ArrivalQueue { packets, senders, .. } = &mut *arrivals;
        remote.arrived.append(packets);
        let senders = std::mem::take(senders);
        drop(arrivals);
        senders.iter().for_each(|sender| self.inbox(*sender).wake());
    }

    fn report_failed(&self, remote: &mut RemoteQueues, sink: &mut impl PacketSink) {
        for (peer, inbox) in (0..).zip(&*self.inboxes) {
            if remote.failed.contains(&peer) || !inbox.arrivals.lock().is_dead {
                continue;
            }
            let own = self.inbox(self.me).arrivals.lock();
            let is_of_peer = |packet: &QueuedPacket| packet.from == peer;
            if own.packets.iter().chain(&remote.arrived).any(is_of_peer)
                || remote.placing.contains_key(&peer)
            {
                continue;
            }
            drop(own);
            remote.forget(peer);
            sink.failed(peer, "the process on host test has died");
        }
    }

    /// Dies ([`Loopback::death`]).
    pub fn die(&mut self) {
        self.death()();
    }

    /// The death of this rank of a network: the other ranks get the packets that have left, and then
    /// hear that this rank has failed. Its device is not used any more then.
    pub fn death(&self) -> impl Fn() + use<> {
        let (me, inboxes) = (self.me, self.inboxes.clone());
        move || {
            inboxes[me as usize].arrivals.lock().is_dead = true;
            inboxes.iter().for_each(|inbox| inbox.wake());
        }
    }
}
