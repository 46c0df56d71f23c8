//! The pace of a real network: who is where, and packets that have not arrived yet.
//!
//! A packet lies in the ring of its receiver at once, and says at its end when it would have arrived
//! ([`Links`]). The receiver holds it until then; so it arrives although its sender has gone, and a
//! receiver that sleeps is woken in time by its own engine thread.

use std::collections::VecDeque;
use std::fmt;

use super::segment::Busy;
use crate::base::Peer;
use crate::device::nic::{Flight, Links, Way};
use crate::device::torus::{Fabric, Rates, Seat, Shape};
use crate::device::{Header, Sink};
use crate::devices::rings::Slots;

/// Bytes at the end of a packet that say when it arrives.
pub const STAMP: usize = 8;

/// Packets that a receiver holds before it leaves the others in the rings, where they fill up.
const HELD_MAX: usize = 64;

/// The network as one rank sees it. The rank in slot `n` is node `n`.
pub struct Wires {
    seat: Seat<Busy>,
    slots: Slots,
}

/// The packets of one rank.
pub struct Paced {
    wires: Wires,
    /// By slot: when the last packet to that rank arrives.
    last_ns: Vec<u64>,
    held: Held,
}

#[derive(Default)]
struct Held(VecDeque<Packet>);

struct Packet {
    from: Peer,
    header: Header,
    data: Vec<u8>,
    due_ns: u64,
}

impl Wires {
    /// As the rank `ranks[me]` sees it.
    pub fn new(shape: Shape, rates: Rates, busy: Busy, me: usize, ranks: &[Peer]) -> Self {
        let seat = Seat { fabric: Fabric::new(shape, rates, busy), me: me as u32 };
        Self { seat, slots: Slots::new(ranks) }
    }
}

impl Links for Wires {
    fn send(&mut self, way: Way, engine: u8, bytes: u64, at_ns: u64) -> Flight {
        let node = |peer| self.slots.of(peer) as u32;
        let way = match way {
            Way::Local => Way::Local,
            Way::To(peer) => Way::To(node(peer)),
            Way::Back(peer) => Way::Back(node(peer)),
        };
        self.seat.send(way, engine, bytes, at_ns)
    }
}

impl fmt::Debug for Wires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.seat.fmt(f)
    }
}

impl Paced {
    /// No packet is on its way.
    pub fn new(wires: Wires) -> Self {
        let last_ns = vec![0; wires.slots.ranks().len()];
        Self { wires, last_ns, held: Held::default() }
    }

    /// A packet of `bytes` bytes leaves for `peer`: the stamp that it gets.
    pub fn stamp(&mut self, peer: Peer, bytes: usize, now_ns: u64) -> [u8; STAMP] {
        let last_ns = &mut self.last_ns[self.wires.slots.of(peer)];
        let flight = self.wires.send(Way::To(peer), 0, bytes as u64, now_ns);
        // None overtakes another one.
        *last_ns = flight.arrived_ns.max(*last_ns);
        last_ns.to_ne_bytes()
    }

    /// Where packets from the rings go, if there is room for more.
    pub fn holds(&mut self) -> Option<&mut (impl Sink + use<>)> {
        (self.held.0.len() < HELD_MAX).then_some(&mut self.held)
    }

    /// Delivers what has arrived by now, and says how much that was and when the next one arrives.
    pub fn deliver(&mut self, now_ns: u64, sink: &mut impl Sink) -> (usize, Option<u64>) {
        let before = self.held.0.len();
        for packet in std::mem::take(&mut self.held.0) {
            if packet.due_ns <= now_ns {
                sink.packet(packet.from, &packet.header, &packet.data);
            } else {
                self.held.0.push_back(packet);
            }
        }
        let next = self.held.0.iter().map(|packet| packet.due_ns).min();
        (before - self.held.0.len(), next)
    }

    /// Whether packets are on their way to this rank.
    pub fn is_empty(&self) -> bool {
        self.held.0.is_empty()
    }
}

impl Sink for Held {
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        let (data, stamp) = data.split_last_chunk().expect("shared segment damaged: no stamp");
        let due_ns = u64::from_ne_bytes(*stamp);
        self.0.push_back(Packet { from, header: *header, data: data.to_vec(), due_ns });
    }
}
