//! The part of the suite about what a device does beyond shared memory: long packets, lent memory,
//! destinations, room, and peers that fail.

use std::collections::{BTreeMap, BTreeSet};

use super::rma::TestBuffer;
use super::{BytePattern, Ignore, TRIES_MAX, TestDeadline};
use crate::device::{Busy, Device, Header, PacketSink};
use platform::base::{Peer, Random, Span};

/// The longest packet of the checks, in bytes, beside one that is as long as possible.
const LONG: usize = 50_000;
/// No packet of the checks is longer, in bytes.
const LONGEST: usize = 3 << 20;

/// Runs the checks that need no failure, on new networks.
pub(super) fn check<D: Device>(network: &impl Fn(usize) -> Vec<D>) {
    for seed in 0..2 {
        packets_of_all_kinds_keep_order(network(3), seed);
    }
    the_longest_packet_arrives(network(2));
    room_follows_busy(network(3));
    a_drained_device_needs_no_calls(network(2));
}

/// Runs the checks of ranks that `kill` ends.
pub(super) fn check_failure<D: Device>(network: &impl Fn(usize) -> Vec<D>, kill: impl Fn(&mut D)) {
    a_failure_is_reported_once(network(3), &kill);
    a_failure_ends_what_is_in_progress(network(2), &kill);
    packets_before_a_failure_arrive(network(2), &kill);
}

/// A packet of a test: its header has the number, the length and the kind of its sending.
fn header(number: u64, len: usize) -> Header {
    Header { words: [number, len as u64], kind: 7 }
}

/// A rank whose packets are numbered for each peer. Every second long packet has a destination.
struct NetworkRank<D> {
    device: D,
    sink: NetworkSink,
    /// The number of the next packet to each peer.
    next: Vec<u64>,
    refused: Vec<Option<usize>>,
    random: Random,
    token: u32,
}

struct NetworkSink {
    pattern: BytePattern,
    /// The number of the next packet of each peer.
    next: Vec<u64>,
    /// Destinations that were asked for.
    placing: BTreeMap<Peer, (Header, TestBuffer)>,
    /// The last packet of each peer whose destination was refused.
    declined: BTreeMap<Peer, Header>,
    /// Memory that the device has, with its packet's number.
    lent: BTreeMap<u32, (Peer, u64, TestBuffer)>,
    /// Peers with room since they were looked at.
    room: BTreeSet<Peer>,
    failed: BTreeMap<Peer, String>,
    arrived: usize,
}

impl NetworkSink {
    fn expect(&mut self, from: Peer, header: &Header, len: usize) -> u64 {
        assert!(!self.failed.contains_key(&from), "a packet of rank {from} after its failure");
        let number = self.next[from as usize];
        assert_eq!((header.words, header.kind), ([number, len as u64], 7), "from rank {from}");
        number
    }

    fn compare(&mut self, from: Peer, number: u64, data: &[u8]) {
        assert!(data == self.pattern.bytes(number, data.len()), "packet {number} is damaged");
        self.next[from as usize] += 1;
        self.arrived += 1;
    }
}

impl PacketSink for NetworkSink {
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        let number = self.expect(from, header, data.len());
        assert!(!self.placing.contains_key(&from), "packet {number} has a destination");
        self.declined.remove(&from);
        self.compare(from, number, data);
    }

    fn place(&mut self, from: Peer, header: &Header, len: usize) -> Option<Span> {
        let number = self.expect(from, header, len);
        assert!(!self.placing.contains_key(&from), "a packet before the end of another");
        assert_ne!(self.declined.get(&from), Some(header), "asked twice");
        if number.is_multiple_of(2) {
            self.declined.insert(from, *header);
            return None;
        }
        let mut buffer = TestBuffer::new(len, 0xee);
        let span = buffer.span();
        self.placing.insert(from, (*header, buffer));
        Some(span)
    }

    fn placed(&mut self, from: Peer, header: &Header, len: usize) {
        let number = self.expect(from, header, len);
        let (asked, mut buffer) = self.placing.remove(&from).expect("a destination");
        assert_eq!(asked, *header);
        self.compare(from, number, &buffer.bytes());
    }

    fn sent(&mut self, to: Peer, token: u32) {
        let (peer, number, mut buffer) = self.lent.remove(&token).expect("lent memory");
        assert_eq!(peer, to);
        assert!(!self.failed.contains_key(&to), "memory of a failed rank {to}");
        let bytes = buffer.bytes();
        assert!(bytes == self.pattern.bytes(number, bytes.len()), "lent memory was written");
        // Its owner uses the memory again.
        buffer.fill(0xdd);
    }

    fn room(&mut self, peer: Peer) {
        self.room.insert(peer);
    }

    fn failed(&mut self, peer: Peer, why: &str) {
        assert!(!why.is_empty());
        assert!(self.failed.insert(peer, why.to_owned()).is_none(), "rank {peer} failed twice");
        // The device uses neither lent memory nor destinations any more.
        self.placing.remove(&peer);
        self.lent.retain(|_, (to, ..)| *to != peer);
    }
}

impl<D: Device> NetworkRank<D> {
    fn all(devices: Vec<D>, seed: u64) -> Vec<Self> {
        let ranks = devices.len();
        let longest = |device: &D| {
            let peers = (0..ranks as Peer).map(|peer| device.peer_caps(peer).long_max);
            peers.max().unwrap_or(0).min(LONGEST)
        };
        let rank = |(device, seed): (D, u64)| Self {
            sink: NetworkSink {
                pattern: BytePattern::of(longest(&device)),
                next: vec![0; ranks],
                placing: BTreeMap::new(),
                declined: BTreeMap::new(),
                lent: BTreeMap::new(),
                room: BTreeSet::new(),
                failed: BTreeMap::new(),
                arrived: 0,
            },
            device,
            next: vec![0; ranks],
            refused: vec![None; ranks],
            random: Random::new(seed),
            token: 0,
        };
        devices.into_iter().zip(seed..).map(rank).collect()
    }

    /// Sends the next packet to `to`, of `len` bytes or a random number, in a way that fits it.
    fn send(&mut self, to: Peer, len: Option<usize>) -> Result<(), Busy> {
        let (caps, peer_caps) = (self.device.caps(), self.device.peer_caps(to));
        assert!(peer_caps.long_max >= caps.packet_max);
        assert!(peer_caps.eager_max.is_none_or(|max| max <= peer_caps.long_max));
        let bounds = [caps.short_max, caps.packet_max, peer_caps.long_max.min(LONG)];
        let bound = bounds[self.random.below(3) as usize];
        let drawn = self.random.below(bound as u64 + 1) as usize;
        let refused = self.refused[to as usize].take();
        let len = refused.or(len).unwrap_or(drawn);
        let number = self.next[to as usize];
        let sent = self.send_packet(to, number, len);
        match sent {
            Ok(()) => self.next[to as usize] += 1,
            Err(Busy) => self.refused[to as usize] = Some(len),
        }
        sent
    }

    fn send_packet(&mut self, to: Peer, number: u64, len: usize) -> Result<(), Busy> {
        let (caps, lends) = (self.device.caps(), self.device.peer_caps(to).lends);
        let header = header(number, len);
        let data = self.sink.pattern.bytes(number, len);
        let way = self.random.below(3);
        if len <= caps.short_max && way == 0 {
            return self.device.send_short(to, &header, data);
        }
        if len <= caps.packet_max && way == 1 {
            return self.device.send(to, &header, len, |packet| packet.copy_from_slice(data));
        }
        let mut buffer = TestBuffer::new(len, 0);
        buffer.span().write(0, data);
        if !lends || self.random.one_in(2) {
            let sent = self.device.send_contiguous(to, &header, buffer.span());
            buffer.fill(0xcc);
            return sent;
        }
        self.token += 1;
        self.device.send_lent(to, &header, buffer.span(), self.token)?;
        self.sink.lent.insert(self.token, (to, number, buffer));
        Ok(())
    }

    fn poll(&mut self) -> usize {
        let before = self.sink.arrived;
        let polled = self.device.poll(&mut self.sink);
        assert_eq!(polled, self.sink.arrived - before, "poll miscounted");
        polled
    }
}

/// Polls all ranks until all packets between them have arrived and all memory has come back.
fn settle<D: Device>(ranks: &mut [NetworkRank<D>]) {
    let deadline = TestDeadline::new();
    loop {
        ranks.iter_mut().for_each(|rank| {
            rank.poll();
        });
        let is_settled = |(me, rank): (usize, &NetworkRank<D>)| {
            rank.device.is_drained()
                && rank.sink.lent.is_empty()
                && ranks.iter().zip(&rank.sink.next).all(|(from, next)| from.next[me] == *next)
        };
        if ranks.iter().enumerate().all(is_settled) {
            return;
        }
        deadline.wait();
    }
}

/// Short, long, lent and placed packets between three ranks in a random order of turns.
fn packets_of_all_kinds_keep_order<D: Device>(devices: Vec<D>, seed: u64) {
    let mut ranks = NetworkRank::all(devices, seed);
    let mut random = Random::new(seed);
    for _ in 0..1000 {
        let me = random.below(3) as usize;
        if random.one_in(3) {
            ranks[me].poll();
        } else {
            let peer = (me as u64 + 1 + random.below(2)) % 3;
            let _refused_is_kept = ranks[me].send(peer as Peer, None);
        }
    }
    settle(&mut ranks);
}

fn the_longest_packet_arrives<D: Device>(devices: Vec<D>) {
    let mut ranks = NetworkRank::all(devices, 1);
    let longest = ranks[0].device.peer_caps(1).long_max.min(LONGEST);
    for _ in 0..4 {
        let deadline = TestDeadline::new();
        while ranks[0].send(1, Some(longest)).is_err() {
            ranks.iter_mut().for_each(|rank| {
                rank.poll();
            });
            deadline.wait();
        }
    }
    settle(&mut ranks);
}

/// A rank that was refused does nothing but poll until it hears of room.
fn room_follows_busy<D: Device>(devices: Vec<D>) {
    let mut ranks = NetworkRank::all(devices, 2);
    if !ranks[0].device.peer_caps(1).announces_room {
        return;
    }
    for _ in 0..20 {
        ranks[0].sink.room.clear();
        let is_refused = (0..1_000_000).any(|_| ranks[0].send(1, None).is_err());
        assert!(is_refused, "never full");
        assert!((0..TRIES_MAX).any(|_| ranks[0].send(2, Some(0)).is_ok()), "rank 2 is not full");
        let deadline = TestDeadline::new();
        while !ranks[0].sink.room.contains(&1) {
            ranks.iter_mut().for_each(|rank| {
                rank.poll();
            });
            deadline.wait();
        }
    }
    settle(&mut ranks);
}

fn a_drained_device_needs_no_calls<D: Device>(devices: Vec<D>) {
    let mut ranks = NetworkRank::all(devices, 3);
    let mut sent = 0;
    for _ in 0..50 {
        while ranks[0].random.below(5) > 0 && ranks[0].send(1, None).is_ok() {
            sent += 1;
        }
        let deadline = TestDeadline::new();
        while !ranks[0].device.is_drained() {
            // The peer takes part, but nobody looks at what it has.
            ranks[0].poll();
            ranks[1].poll();
            deadline.wait();
        }
        let deadline = TestDeadline::new();
        while ranks[1].sink.arrived < sent {
            ranks[1].poll();
            deadline.wait();
        }
    }
}

/// Waits until `rank` has heard that `peer` has failed.
fn await_failure<D: Device>(rank: &mut NetworkRank<D>, peer: Peer) {
    let deadline = TestDeadline::new();
    while !rank.sink.failed.contains_key(&peer) {
        rank.poll();
        deadline.wait();
    }
}

fn a_failure_is_reported_once<D: Device>(devices: Vec<D>, kill: &impl Fn(&mut D)) {
    let mut ranks = NetworkRank::all(devices, 4);
    for (me, peer) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2)] {
        assert!((0..TRIES_MAX).any(|_| ranks[me].send(peer, None).is_ok()));
    }
    settle(&mut ranks);
    kill(&mut ranks[1].device);
    let dead = ranks.remove(1);
    for rank in &mut ranks {
        await_failure(rank, 1);
        // More than any queue has room for.
        for _ in 0..3000 {
            assert!((0..TRIES_MAX).any(|_| rank.send(1, None).is_ok()), "busy after the failure");
        }
        (0..100).for_each(|_| {
            rank.poll();
        });
        rank.sink.lent.clear();
    }
    let deadline = TestDeadline::new();
    for number in 0..50 {
        while ranks[0].send(2, None).is_err() {
            ranks.iter_mut().for_each(|rank| {
                rank.poll();
            });
            deadline.wait();
        }
        while ranks[1].sink.next[0] <= number {
            ranks.iter_mut().for_each(|rank| {
                rank.poll();
            });
            deadline.wait();
        }
    }
    let deadline = TestDeadline::new();
    while !ranks.iter().all(|rank| rank.device.is_drained()) {
        ranks.iter_mut().for_each(|rank| {
            rank.poll();
        });
        deadline.wait();
    }
    drop(dead);
}

/// A rank fails while its peer waits for room and has lent memory.
fn a_failure_ends_what_is_in_progress<D: Device>(devices: Vec<D>, kill: &impl Fn(&mut D)) {
    let mut ranks = NetworkRank::all(devices, 5);
    assert!((0..TRIES_MAX).any(|_| ranks[0].send(1, None).is_ok()));
    assert!((0..TRIES_MAX).any(|_| ranks[1].send(0, None).is_ok()));
    settle(&mut ranks);
    assert!((0..1_000_000).any(|_| ranks[0].send(1, None).is_err()), "never full");
    (0..3).for_each(|_| {
        ranks[0].poll();
    });
    kill(&mut ranks[1].device);
    await_failure(&mut ranks[0], 1);
    assert!(ranks[0].sink.lent.is_empty());
    let deadline = TestDeadline::new();
    while !ranks[0].device.is_drained() {
        ranks[0].device.poll(&mut Ignore);
        deadline.wait();
    }
}

fn packets_before_a_failure_arrive<D: Device>(devices: Vec<D>, kill: &impl Fn(&mut D)) {
    let mut ranks = NetworkRank::all(devices, 6);
    for _ in 0..30 {
        let deadline = TestDeadline::new();
        while ranks[0].send(1, None).is_err() {
            ranks[0].poll();
            ranks[1].poll();
            deadline.wait();
        }
    }
    let deadline = TestDeadline::new();
    while !ranks[0].device.is_drained() {
        ranks[0].poll();
        ranks[1].poll();
        deadline.wait();
    }
    kill(&mut ranks[0].device);
    await_failure(&mut ranks[1], 0);
    assert_eq!(ranks[1].sink.arrived, 30);
}
