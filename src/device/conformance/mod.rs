//! The device contract as a test suite, for every device, bare and inside the middleware devices.
//!
//! Senders number their packets, and length and bytes follow from the number, so loss, repetition,
//! reordering and damage all fail in the same place: [`Expect`]. In some checks the ranks take turns in
//! one thread, in the order of a seed; in others each rank has a thread. No check asserts a time, but
//! each has a time limit without progress.

mod network;
pub(crate) mod rma;
mod shared_segment;
mod trigger;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use rma::TestBuffer;

use super::{Busy, Caps, Device, Header, PacketSink, WakeSource};
use crate::device::middleware::Middleware;
use crate::device::middleware::delay::Delay;
use crate::device::middleware::fault::Fault;
use crate::device::middleware::trace::Trace;
use platform::base::{Peer, Random};
use platform::sys::poll;

/// The time without progress after which a check fails.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Tries after which an injected fault cannot be the reason for [`Busy`].
const TRIES_MAX: usize = 10_000;

/// Packets of all lengths below are sent, in bytes, those about multiples of a page, and some between.
const EVERY_SIZE: usize = 4_300;

/// Runs the suite on the devices that `network` makes, ranks 0, 1, ... of one new network: alone, and below
/// all middleware.
pub(crate) fn check<D: Device>(network: impl Fn(usize) -> Vec<D>) {
    let wrap = |n| network(n).into_iter().enumerate().map(|(rank, device)| (rank as u64, device));
    suite(&network);
    suite(&|n| {
        let both = |(rank, device)| Delay::new(Fault::new(device, rank, 3), !rank, 3);
        wrap(n).map(both).map(|device| Trace::new(device, 16)).collect()
    });
}

/// Runs the suite on each middleware over the devices that `network` makes.
pub(crate) fn check_middleware<D: Device>(network: impl Fn(usize) -> Vec<D>) {
    let wrap = |n| network(n).into_iter().enumerate().map(|(rank, device)| (rank as u64, device));
    suite(&|n| wrap(n).map(|(rank, device)| Fault::new(device, rank, 4)).collect());
    suite(&|n| wrap(n).map(|(rank, device)| Delay::new(device, rank, 5)).collect());
    suite(&|n| wrap(n).map(|(_, device)| Trace::new(device, 16)).collect());
}

/// Runs the checks of what a network does beyond shared memory, which [`check`] contains, and those of
/// ranks that fail. `kill` makes a rank fail as a dying process would; it is not used any more then.
pub(crate) fn check_network<D: Device>(
    network: impl Fn(usize) -> Vec<D>, kill: impl Fn(&mut D) + Copy,
) {
    let wrap = |n| network(n).into_iter().enumerate().map(|(rank, device)| (rank as u64, device));
    network::check(&network);
    rma::check_failure(&network, kill);
    network::check_failure(&network, kill);
    network::check_failure(
        &|n| wrap(n).map(|(rank, device)| Fault::new(device, rank, 4)).collect(),
        |fault: &mut Fault<D>| kill(fault.inner_mut()),
    );
    network::check_failure(
        &|n| wrap(n).map(|(rank, device)| Delay::new(device, rank, 5)).collect(),
        |delay: &mut Delay<D>| kill(delay.inner_mut()),
    );
    network::check_failure(
        &|n| wrap(n).map(|(_, device)| Trace::new(device, 16)).collect(),
        |trace: &mut Trace<D>| kill(trace.inner_mut()),
    );
}

/// Runs the checks of sleeping and waking only, for ranks that sleep in another way.
pub(crate) fn check_waking<D: Device>(network: impl Fn(usize) -> Vec<D>) {
    a_packet_before_arm_is_found(network(2));
    a_packet_after_arm_wakes(network(2));
    waking_oneself_wakes(network(2));
    arming_never_loses_a_packet(network(2), 3000);
}

/// Runs the suite on the devices alone, for variants of a device.
pub(crate) fn check_bare<D: Device>(network: impl Fn(usize) -> Vec<D>) {
    suite(&network);
}

/// Runs the checks of one-sided access and programs only, for interfaces of other kinds.
pub(crate) fn check_offload<D: Device>(network: impl Fn(usize) -> Vec<D>) {
    rma::check(&network);
    trigger::check(&network);
}

/// Runs the checks of one-sided access only, for devices that choose one for each peer.
pub(crate) fn check_one_sided<D: Device>(network: impl Fn(usize) -> Vec<D>) {
    rma::check(&network);
}

/// Runs the checks of packets only, and those of ranks that `kill` ends, for devices whose ranks share no
/// segments.
pub(crate) fn check_packets<D: Device>(network: impl Fn(usize) -> Vec<D>, kill: impl Fn(&mut D)) {
    packets(&network);
    network::check_failure(&network, kill);
}

fn suite<D: Device>(network: &impl Fn(usize) -> Vec<D>) {
    packets(network);
    shared_segment::check(network);
    rma::check(network);
    trigger::check(network);
}

fn packets<D: Device>(network: &impl Fn(usize) -> Vec<D>) {
    every_size_arrives(network(2));
    turns_keep_order(network(2), 1);
    turns_keep_order(network(5), 2);
    a_full_device_is_busy_until_polled(network(3));
    a_poll_is_bounded(network(2));
    threads_keep_order(network(4), 500);
    many_send_to_one(network(20), 200);
    check_waking(network);
    network::check(network);
}

/// A sink that drops everything.
pub(crate) struct Ignore;

impl PacketSink for Ignore {
    fn packet(&mut self, _from: Peer, _header: &Header, _data: &[u8]) {}
}

/// The packets of one sender to one receiver: lengths and bytes follow from the number.
#[derive(Clone)]
struct PacketStream {
    caps: Caps,
    from: Peer,
    next: u64,
    random: Random,
}

/// One packet of a stream.
struct TestPacket {
    header: Header,
    len: usize,
    /// Sent by `send` although it is short enough for `send_short`.
    long: bool,
}

/// Bytes of every packet are a window into this, at an offset that its number gives.
struct BytePattern(Vec<u8>);

impl PacketStream {
    fn new(caps: Caps, from: Peer, to: Peer) -> Self {
        let random = Random::new(u64::from(from) << 32 | u64::from(to));
        Self { caps, from, next: 0, random }
    }

    fn next(&mut self) -> TestPacket {
        let bound = match self.random.below(8) {
            0..=3 => self.caps.short_max,
            4..=6 => self.caps.packet_max.min(600),
            _ => self.caps.packet_max,
        };
        let len = self.random.below(bound as u64 + 1) as usize;
        let long = len > self.caps.short_max || self.random.one_in(4);
        let header =
            Header { words: [self.next, u64::from(self.from) << 40 | len as u64], kind: len as u8 };
        self.next += 1;
        TestPacket { header, len, long }
    }
}

impl BytePattern {
    const PERIOD: usize = 251;

    fn new(caps: Caps) -> Self {
        Self::of(caps.packet_max)
    }

    /// For packets of at most `longest` bytes.
    fn of(longest: usize) -> Self {
        let period: Vec<u8> = (0..Self::PERIOD as u8).collect();
        Self(period.repeat(longest / Self::PERIOD + 2))
    }

    fn bytes(&self, number: u64, len: usize) -> &[u8] {
        &self.0[(number % Self::PERIOD as u64) as usize..][..len]
    }
}

/// A sink that compares each packet with the next one of its sender.
struct Expect {
    pattern: BytePattern,
    streams: Vec<PacketStream>,
    arrived: usize,
}

impl Expect {
    fn new(caps: Caps, me: usize, ranks: usize) -> Self {
        let streams =
            (0..ranks).map(|from| PacketStream::new(caps, from as Peer, me as Peer)).collect();
        Self { pattern: BytePattern::new(caps), streams, arrived: 0 }
    }
}

impl PacketSink for Expect {
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        let packet = self.streams[from as usize].next();
        assert_eq!((*header, data.len()), (packet.header, packet.len), "from rank {from}");
        assert!(data == self.pattern.bytes(header.words[0], data.len()), "damaged: {header:?}");
        self.arrived += 1;
    }
}

/// A rank that sends numbered packets and expects those of the others.
struct TestRank<D> {
    device: D,
    me: usize,
    sends: Vec<PacketStream>,
    /// Refused packets, sent first.
    pending: Vec<Option<TestPacket>>,
    expect: Expect,
}

impl<D: Device> TestRank<D> {
    fn all(devices: Vec<D>) -> Vec<Self> {
        let ranks = devices.len();
        let rank = |(me, device): (usize, D)| {
            let caps = device.caps();
            assert!(caps.short_max <= caps.packet_max);
            Self {
                device,
                me,
                sends: (0..ranks)
                    .map(|to| PacketStream::new(caps, me as Peer, to as Peer))
                    .collect(),
                pending: (0..ranks).map(|_| None).collect(),
                expect: Expect::new(caps, me, ranks),
            }
        };
        devices.into_iter().enumerate().map(rank).collect()
    }

    /// Offers the next packet for `peer` to the device; a refused one is kept for the next time.
    fn send(&mut self, peer: usize) -> Result<(), Busy> {
        let stream = &mut self.sends[peer];
        let packet = self.pending[peer].take().unwrap_or_else(|| stream.next());
        let data = self.expect.pattern.bytes(packet.header.words[0], packet.len);
        let mut filled = false;
        let sent = if packet.long {
            self.device.send(peer as Peer, &packet.header, packet.len, |packet| {
                filled = true;
                packet.copy_from_slice(data);
            })
        } else {
            filled = true;
            self.device.send_short(peer as Peer, &packet.header, data)
        };
        if sent.is_err() {
            assert!(!packet.long || !filled, "fill was called for a refused packet");
            self.pending[peer] = Some(packet);
        } else {
            assert!(filled, "fill was not called for an accepted packet");
        }
        sent
    }

    /// How many packets for `peer` the device has accepted.
    fn sent(&self, peer: usize) -> usize {
        self.sends[peer].next as usize - usize::from(self.pending[peer].is_some())
    }

    fn poll(&mut self) -> usize {
        let before = self.expect.arrived;
        let polled = self.device.poll(&mut self.expect);
        assert_eq!(polled, self.expect.arrived - before, "poll miscounted");
        polled
    }

    /// Polls until `arrived` packets have arrived since the beginning and this rank's have, too.
    fn poll_until(&mut self, arrived: usize) {
        let mut deadline = TestDeadline::new();
        while self.expect.arrived < arrived || !self.device.is_drained() {
            if self.poll() == 0 {
                deadline.wait();
            } else {
                deadline = TestDeadline::new();
            }
        }
        assert_eq!(self.expect.arrived, arrived, "a packet too many at rank {}", self.me);
        // Peers may wait until their packets have arrived, and this rank may poll no more.
        self.device.leave();
    }
}

/// Polls the ranks `among` in turn until they have all packets from each other.
fn settle<D: Device>(ranks: &mut [TestRank<D>], among: &[usize]) {
    let sent = |ranks: &[TestRank<D>], to: usize| -> usize {
        among.iter().map(|from| ranks[*from].sent(to)).sum()
    };
    let mut deadline = TestDeadline::new();
    loop {
        let polled: usize = among.iter().map(|me| ranks[*me].poll()).sum();
        let is_settled = |me: &usize| {
            ranks[*me].expect.arrived >= sent(ranks, *me) && ranks[*me].device.is_drained()
        };
        if among.iter().all(is_settled) {
            break;
        }
        if polled == 0 {
            deadline.wait();
        } else {
            deadline = TestDeadline::new();
        }
    }
    for me in among {
        let (arrived, sent) = (ranks[*me].expect.arrived, sent(ranks, *me));
        assert_eq!(arrived, sent, "a packet too many at rank {me}");
    }
}

/// Yields the processor; panics after [`TIMEOUT`].
struct TestDeadline(Instant);

impl TestDeadline {
    fn new() -> Self {
        Self(Instant::now())
    }

    #[track_caller]
    fn wait(&self) {
        assert!(self.0.elapsed() < TIMEOUT, "no progress");
        thread::yield_now();
    }
}

fn every_size_arrives<D: Device>(devices: Vec<D>) {
    struct Sizes<'a>(&'a BytePattern, usize);
    impl PacketSink for Sizes<'_> {
        fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
            let [number, len] = header.words;
            assert_eq!((from, number, data.len() as u64), (0, self.1 as u64, len));
            assert!(data == self.0.bytes(number, data.len()), "packet {number}");
            self.1 += 1;
        }
    }
    let [mut sender, mut receiver] = devices.try_into().ok().unwrap();
    let caps = sender.caps();
    let pattern = BytePattern::new(caps);
    let (mut sink, mut sent_packets) = (Sizes(&pattern, 0), 0);
    let sizes = (0..=caps.packet_max)
        .filter(|len| *len < EVERY_SIZE || (len + 40) % 4096 < 80 || len.is_multiple_of(97))
        .chain([caps.packet_max]);
    for (number, len) in (0..).zip(sizes.flat_map(|len| [len, len])) {
        let header = Header { words: [number, len as u64], kind: 255 };
        let data = pattern.bytes(number, len);
        let deadline = TestDeadline::new();
        loop {
            let sent = if number % 2 == 0 && len <= caps.short_max {
                sender.send_short(1, &header, data)
            } else {
                sender.send(1, &header, len, |packet| packet.copy_from_slice(data))
            };
            if sent.is_ok() {
                sent_packets += 1;
                break;
            }
            sender.poll(&mut Ignore);
            receiver.poll(&mut sink);
            deadline.wait();
        }
    }
    let deadline = TestDeadline::new();
    while sink.1 < sent_packets {
        sender.poll(&mut Ignore);
        receiver.poll(&mut sink);
        deadline.wait();
    }
}

fn turns_keep_order<D: Device>(devices: Vec<D>, seed: u64) {
    let mut ranks = TestRank::all(devices);
    let mut random = Random::new(seed);
    let count = ranks.len();
    for _ in 0..4000 {
        let me = random.below(count as u64) as usize;
        let peer = (me + 1 + random.below(count as u64 - 1) as usize) % count;
        if random.one_in(3) {
            ranks[me].poll();
        } else {
            let _refused_is_kept = ranks[me].send(peer);
        }
    }
    settle(&mut ranks, &(0..count).collect::<Vec<_>>());
}

fn a_full_device_is_busy_until_polled<D: Device>(devices: Vec<D>) {
    let mut ranks = TestRank::all(devices);
    for _ in 0..10 {
        // Ten refusals in a row: the device is full, whatever the middleware adds.
        let mut refusals = 0;
        for tries in 0.. {
            assert!(tries < 1_000_000, "never full: the queue is not bounded");
            refusals = if ranks[0].send(1).is_err() { refusals + 1 } else { 0 };
            if refusals == 10 {
                break;
            }
        }
        // A full rank does not affect the others.
        assert!((0..TRIES_MAX).any(|_| ranks[0].send(2).is_ok()), "rank 2 is not full");
        let sent_to_2 = ranks[0].sent(2);
        let deadline = TestDeadline::new();
        while ranks[2].expect.arrived < sent_to_2 {
            ranks[0].poll();
            ranks[2].poll();
            deadline.wait();
        }
        settle(&mut ranks, &[0, 1, 2]);
        assert!((0..TRIES_MAX).any(|_| ranks[0].send(1).is_ok()), "still busy after polls");
    }
    settle(&mut ranks, &[0, 1, 2]);
}

fn a_poll_is_bounded<D: Device>(mut devices: Vec<D>) {
    struct Refill<'a, D>(&'a mut D, usize);
    impl<D: Device> PacketSink for Refill<'_, D> {
        fn packet(&mut self, _from: Peer, header: &Header, data: &[u8]) {
            // Several tries, because a fault may be injected.
            let _ = (0..100).find(|_| self.0.send_short(1, header, data).is_ok());
            self.1 += 1;
            assert!(self.1 < 100_000, "one poll goes on as long as packets arrive");
        }
    }
    let (sender, receiver) = devices.split_at_mut(1);
    let sent = (0..4).filter(|_| sender[0].send_short(1, &Header::default(), b"x").is_ok());
    assert!(sent.count() > 0);
    for _ in 0..100 {
        receiver[0].poll(&mut Refill(&mut sender[0], 0));
    }
}

/// Every rank, in a thread of its own, sends `packets` to every other.
fn threads_keep_order<D: Device>(devices: Vec<D>, packets: usize) {
    let count = devices.len();
    let done = &AtomicUsize::new(0);
    thread::scope(|scope| {
        for mut rank in TestRank::all(devices) {
            scope.spawn(move || {
                let peers: Vec<_> = (0..count).filter(|peer| *peer != rank.me).collect();
                let mut deadline = TestDeadline::new();
                while peers.iter().any(|peer| rank.sent(*peer) < packets) {
                    let before = rank.expect.arrived;
                    let mut moved = false;
                    for peer in &peers {
                        moved |= rank.sent(*peer) < packets && rank.send(*peer).is_ok();
                    }
                    rank.poll();
                    if moved || rank.expect.arrived > before {
                        deadline = TestDeadline::new();
                    } else {
                        deadline.wait();
                    }
                }
                rank.poll_until(packets * peers.len());
                done.fetch_add(1, Ordering::SeqCst);
                // Peers may need this rank to take part in the delivery of their last packets.
                let deadline = TestDeadline::new();
                while done.load(Ordering::SeqCst) < count {
                    rank.poll();
                    deadline.wait();
                }
            });
        }
    });
}

fn many_send_to_one<D: Device>(devices: Vec<D>, packets: usize) {
    let mut ranks = TestRank::all(devices);
    let mut receiver = ranks.remove(0);
    let expected = ranks.len() * packets;
    thread::scope(|scope| {
        for mut rank in ranks {
            scope.spawn(move || {
                let mut deadline = TestDeadline::new();
                while rank.sent(0) < packets {
                    if rank.send(0).is_ok() {
                        deadline = TestDeadline::new();
                    } else {
                        rank.poll();
                        deadline.wait();
                    }
                }
                rank.poll_until(0);
            });
        }
        receiver.poll_until(expected);
    });
}

fn a_packet_before_arm_is_found<D: Device>(devices: Vec<D>) {
    let mut ranks = TestRank::all(devices);
    let is_network = !ranks[0].device.peer_caps(1).delivers_alone;
    for turn in 1..=100 {
        assert!((0..TRIES_MAX).any(|_| ranks[0].send(1).is_ok()));
        ranks[1].device.arm();
        ranks[1].poll();
        let deadline = TestDeadline::new();
        while is_network && ranks[1].expect.arrived < turn {
            ranks[0].poll();
            ranks[1].poll();
            deadline.wait();
        }
        assert_eq!(ranks[1].expect.arrived, turn, "the poll after arm missed a packet");
        ranks[1].device.disarm();
        settle(&mut ranks, &[0, 1]);
    }
}

fn a_packet_after_arm_wakes<D: Device>(devices: Vec<D>) {
    let mut ranks = TestRank::all(devices);
    let is_network = !ranks[0].device.peer_caps(1).delivers_alone;
    for _ in 1..=100 {
        let wake = ranks[1].device.arm();
        assert_eq!(ranks[1].poll(), 0);
        // A network may have something to do that brings no packet.
        assert!(is_network || !has_fired(&wake), "woken without a packet");
        assert!((0..TRIES_MAX).any(|_| ranks[0].send(1).is_ok()));
        let deadline = TestDeadline::new();
        while is_network && !has_fired(&wake) && !matches!(wake, WakeSource::Never) {
            ranks[0].poll();
            deadline.wait();
        }
        assert!(matches!(wake, WakeSource::Never) || has_fired(&wake), "not woken");
        ranks[1].device.disarm();
        settle(&mut ranks, &[0, 1]);
    }
}

fn waking_oneself_wakes<D: Device>(devices: Vec<D>) {
    let mut ranks = TestRank::all(devices);
    for _ in 0..3 {
        let wake = ranks[1].device.arm();
        ranks[1].device.wake_self();
        assert!(matches!(wake, WakeSource::Never) || has_fired(&wake), "not woken");
        ranks[1].device.disarm();
    }
    ranks[1].device.wake_self();
}

fn has_fired(wake: &WakeSource) -> bool {
    match wake {
        WakeSource::Never => false,
        WakeSource::Word { word, expected } | WakeSource::Polled { word, expected, .. } => {
            (**word).as_ref().load(Ordering::SeqCst) != *expected
        }
        WakeSource::Descriptor { descriptor, word, expected } => {
            (**word).as_ref().load(Ordering::SeqCst) != *expected
                || poll::is_readable(descriptor, Duration::ZERO)
        }
    }
}

/// A sender at random moments against a receiver that arms whenever it finds nothing.
fn arming_never_loses_a_packet<D: Device>(devices: Vec<D>, packets: usize) {
    let mut ranks = TestRank::all(devices);
    let (mut receiver, mut sender) = (ranks.remove(1), ranks.remove(0));
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut random = Random::new(5);
            let deadline = TestDeadline::new();
            while sender.sent(1) < packets {
                if sender.send(1).is_err() || random.one_in(10) {
                    sender.poll();
                    deadline.wait();
                }
                (0..random.below(300)).for_each(|_| std::hint::spin_loop());
            }
            sender.poll_until(0);
        });
        while receiver.expect.arrived < packets {
            if receiver.poll() > 0 {
                continue;
            }
            let wake = receiver.device.arm();
            if receiver.poll() == 0 {
                let deadline = TestDeadline::new();
                while !has_fired(&wake) && !matches!(wake, WakeSource::Never) {
                    deadline.wait();
                }
            }
            receiver.device.disarm();
        }
        receiver.device.leave();
    });
}
