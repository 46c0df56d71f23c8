//! N ranks in one process, for tests: small bounded queues, so that tests meet back-pressure.
//!
//! A rank has one queue of arrivals behind a lock, shared by all its senders. A rank may send to
//! itself. Ranks may live in threads of their own or take turns in one. Their rooms lie in memory
//! that a file without a name stands for, so that pages which nobody uses take none.
//!
//! One-sided access and programs of deferred work go over a network of their own ([`LIMITS`]), which
//! a seed moves and which keeps no order: what a program must not rely on does not happen there.
#![allow(unsafe_code)]

mod offload;
mod wire;

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::base::Peer;
use crate::device::rma::Rma;
use crate::device::room::{Room, Rooms};
use crate::device::trigger::{Limits, Trigger};
use crate::device::{Busy, Caps, Device, Header, Shared, Sink, Wake};
use crate::sys::{futex, shm};
pub use wire::LIMITS;
use wire::Wire;

/// Packets that wait at a rank before its senders meet [`Busy`].
pub const QUEUE_PACKETS: usize = 8;

/// Bytes: the same bound as a cache line leaves, so that tests cross it as on shared memory.
pub const SHORT_MAX: usize = 40;

/// Bytes: small, so that a test message needs many packets.
pub const PACKET_MAX: usize = 256;

/// One rank of a network that [`Loopback::network`] made.
pub struct Loopback {
    me: Peer,
    inboxes: Arc<[Inbox]>,
    network: Arc<Network>,
    rooms: Option<Rooms>,
}

/// The interfaces of all ranks.
struct Network {
    wire: Mutex<Wire>,
    /// Whether something may happen by itself.
    moves: AtomicBool,
}

struct Inbox {
    arrivals: Mutex<Arrivals>,
    /// A level of the rank's counters has changed: the programs that its host runs want a look.
    called: AtomicBool,
    /// Counts wake-ups; what an armed rank sleeps on.
    wakes: Arc<WakeWord>,
}

#[derive(Default)]
struct Arrivals {
    packets: VecDeque<Packet>,
    /// The receiver is armed: the next packet bumps `wakes`.
    sleeps: bool,
}

struct Packet {
    from: Peer,
    header: Header,
    data: Box<[u8]>,
}

struct WakeWord(AtomicU32);

impl Loopback {
    /// The ranks `0..ranks`, in order, connected to each other and to themselves.
    pub fn network(ranks: usize) -> Vec<Self> {
        Self::offloading(ranks, 0, |_| LIMITS)
    }

    /// The same with interfaces of other limits, and another order of what happens between them.
    pub fn offloading(ranks: usize, seed: u64, limits: impl Fn(Peer) -> Limits) -> Vec<Self> {
        let inboxes: Arc<[Inbox]> = (0..ranks).map(|_| Inbox::new()).collect();
        let wire = Mutex::new(Wire::new(ranks, seed, limits));
        let network = Arc::new(Network { wire, moves: AtomicBool::new(false) });
        let rooms = rooms(ranks);
        let rank = |me| Self {
            me,
            inboxes: inboxes.clone(),
            network: network.clone(),
            rooms: rooms.clone(),
        };
        (0..ranks as Peer).map(rank).collect()
    }

    fn inbox(&self, peer: Peer) -> &Inbox {
        &self.inboxes[peer as usize]
    }
}

/// The rooms of so many ranks, if the system has memory for them.
fn rooms(ranks: usize) -> Option<Rooms> {
    let memory = shm::map(shm::create().ok()?, Rooms::bytes(ranks)?.max(1)).ok()?;
    let start = NonNull::new(memory.as_mut_ptr())?;
    // SAFETY: a new mapping of that size, on a page and all zero, which is for nothing else.
    Some(unsafe { Rooms::new(start, ranks, Arc::new(memory)) })
}

impl Inbox {
    fn new() -> Self {
        Self {
            arrivals: Mutex::default(),
            called: AtomicBool::new(false),
            wakes: Arc::new(WakeWord(AtomicU32::new(0))),
        }
    }

    /// Wakes the rank if it sleeps.
    fn ring(&self) {
        if std::mem::take(&mut self.arrivals.lock().sleeps) {
            self.wakes.0.fetch_add(1, Ordering::SeqCst);
            futex::wake(&self.wakes.0);
        }
    }
}

impl Device for Loopback {
    fn caps(&self) -> Caps {
        Caps { short_max: SHORT_MAX, packet_max: PACKET_MAX }
    }

    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        assert!(data.len() <= SHORT_MAX);
        self.send(peer, header, data.len(), |packet| packet.copy_from_slice(data))
    }

    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        assert!(len <= PACKET_MAX);
        let inbox = self.inbox(peer);
        let mut arrivals = inbox.arrivals.lock();
        if arrivals.packets.len() == QUEUE_PACKETS {
            return Err(Busy);
        }
        let mut data = vec![0; len].into_boxed_slice();
        fill(&mut data);
        arrivals.packets.push_back(Packet { from: self.me, header: *header, data });
        drop(arrivals);
        inbox.ring();
        Ok(())
    }

    fn poll(&mut self, sink: &mut impl Sink) -> usize {
        self.move_along();
        // Taken whole before the first is delivered: the batch is bounded by the queue.
        let packets = std::mem::take(&mut self.inbox(self.me).arrivals.lock().packets);
        for packet in &packets {
            sink.packet(packet.from, &packet.header, &packet.data);
        }
        packets.len()
    }

    fn arm(&mut self) -> Wake {
        let inbox = self.inbox(self.me);
        let mut arrivals = inbox.arrivals.lock();
        let expected = inbox.wakes.0.load(Ordering::SeqCst);
        arrivals.sleeps = true;
        drop(arrivals);
        let wake = Wake::Word { word: inbox.wakes.clone(), expected };
        self.settle();
        wake
    }

    fn disarm(&mut self) {
        self.inbox(self.me).arrivals.lock().sleeps = false;
    }

    fn rouse(&mut self) {
        self.inbox(self.me).ring();
    }

    fn shared(&mut self) -> Option<&mut dyn Shared> {
        if self.rooms.is_some() { Some(self) } else { None }
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        Some(self)
    }

    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        Some(self)
    }

    fn ring(&mut self, peer: Peer) {
        self.inbox(peer).ring();
    }
}

/// What this rank has sent still arrives; nothing touches its memory any more.
impl Drop for Loopback {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.settle();
        }
        self.network.wire.lock().leave(self.me);
    }
}

impl Shared for Loopback {
    fn claim(&mut self) -> Option<u32> {
        self.rooms.as_ref()?.claim()
    }

    fn claim_spare(&mut self) -> Option<u32> {
        self.rooms.as_ref()?.claim_spare()
    }

    fn release(&mut self, number: u32) {
        if let Some(rooms) = &self.rooms {
            rooms.release(number);
        }
    }

    fn enter(&mut self, number: u32, seats: &[Peer]) -> Option<Room> {
        let seat = seats.iter().position(|peer| *peer == self.me)?;
        seats.iter().all(|peer| (*peer as usize) < self.inboxes.len()).then_some(())?;
        self.rooms.as_ref()?.enter(number, seat, seats.len())
    }

    fn leave(&mut self, room: Room) {
        if let Some(rooms) = &self.rooms {
            rooms.leave(room);
        }
    }
}

impl AsRef<AtomicU32> for WakeWord {
    fn as_ref(&self) -> &AtomicU32 {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count(usize);

    impl Sink for Count {
        fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
            assert_eq!((from, header.kind, data), (0, 7, &b"hello"[..]));
            self.0 += 1;
        }
    }

    #[test]
    fn conforms() {
        crate::device::conformance::check(Loopback::network);
    }

    #[test]
    fn conforms_with_interfaces_of_other_kinds() {
        use crate::device::torus::Generation;
        for (seed, generation) in (1..).zip(Generation::ALL) {
            let network = |ranks| Loopback::offloading(ranks, seed, |_| generation.limits());
            crate::device::conformance::check_offload(network);
        }
    }

    #[test]
    fn a_full_queue_is_busy_until_the_receiver_polls() {
        let mut ranks = Loopback::network(2);
        let header = Header { words: [1, 2], kind: 7 };
        let sent = (0..).take_while(|_| ranks[0].send_short(1, &header, b"hello").is_ok()).count();
        assert_eq!(sent, QUEUE_PACKETS);
        let mut sink = Count(0);
        assert_eq!(ranks[1].poll(&mut sink), QUEUE_PACKETS);
        assert_eq!(sink.0, QUEUE_PACKETS);
        assert_eq!(ranks[0].send(1, &header, 5, |data| data.copy_from_slice(b"hello")), Ok(()));
    }
}
