//! A middleware that delays packets of the inner device for some polls.
//!
//! Each packet waits a random number of polls, and never overtakes an earlier one of the same peer;
//! packets of different peers may change order. Other events of a peer wait behind its packets. With a
//! delay of 0 polls packets go straight to their destinations. Time is counted in polls of this rank, so equal seeds
//! and equal arrivals give equal deliveries. While the rank is armed no packet is held: the poll after
//! `arm` must deliver the packets sent before. Shared segments are not delayed.

use std::collections::VecDeque;

use crate::device::middleware::Middleware;
use crate::device::{Device, Header, PacketSink};
use platform::base::{Peer, Random};

/// The inner device, with delays on the receiving side.
pub struct Delay<D> {
    inner: D,
    queue: DelayQueue,
    armed: bool,
}

/// Held events, oldest first.
struct DelayQueue {
    events: VecDeque<DelayedEvent>,
    random: Random,
    polls_max: u64,
    /// Polls so far: the clock of this device.
    now: u64,
}

struct DelayedEvent {
    peer: Peer,
    event: SinkEvent,
    /// Due at the poll of this number, unless an earlier event of `peer` is still held.
    due: u64,
}

/// What a device says to its sink.
enum SinkEvent {
    Packet(Header, Vec<u8>),
    Sent(u32),
    Room,
    Failed(String),
}

impl<D: Device> Delay<D> {
    /// Holds each packet of `inner` for up to `polls_max` polls, chosen by `seed`.
    pub fn new(inner: D, seed: u64, polls_max: u64) -> Self {
        let random = Random::new(seed);
        let queue = DelayQueue { events: VecDeque::new(), random, polls_max, now: 0 };
        Self { inner, queue, armed: false }
    }
}

impl DelayQueue {
    /// Delivers due events (or all), oldest first, and returns the number of packets.
    fn deliver(&mut self, all: bool, sink: &mut impl PacketSink) -> usize {
        let mut waiting = Vec::new();
        let (mut kept, mut delivered) = (VecDeque::new(), 0);
        for held in self.events.drain(..) {
            if !all && (held.due > self.now || waiting.contains(&held.peer)) {
                waiting.push(held.peer);
                kept.push_back(held);
                continue;
            }
            match held.event {
                SinkEvent::Packet(header, data) => {
                    sink.packet(held.peer, &header, &data);
                    delivered += 1;
                }
                SinkEvent::Sent(token) => sink.sent(held.peer, token),
                SinkEvent::Room => sink.room(held.peer),
                SinkEvent::Failed(why) => sink.failed(held.peer, &why),
            }
        }
        self.events = kept;
        delivered
    }

    fn hold(&mut self, peer: Peer, event: SinkEvent) {
        let due = self.now + self.random.below(self.polls_max + 1);
        self.events.push_back(DelayedEvent { peer, event, due });
    }
}

impl PacketSink for DelayQueue {
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        self.hold(from, SinkEvent::Packet(*header, data.to_vec()));
    }

    fn sent(&mut self, to: Peer, token: u32) {
        self.hold(to, SinkEvent::Sent(token));
    }

    fn room(&mut self, peer: Peer) {
        self.hold(peer, SinkEvent::Room);
    }

    fn failed(&mut self, peer: Peer, why: &str) {
        self.hold(peer, SinkEvent::Failed(why.to_owned()));
    }
}

impl<D: Device> Middleware for Delay<D> {
    type Inner = D;

    fn inner(&self) -> &D {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    fn poll_inner(&mut self, sink: &mut impl PacketSink) -> usize {
        if self.queue.polls_max == 0 {
            return self.inner.poll(sink);
        }
        self.queue.now += 1;
        self.inner.poll(&mut self.queue);
        self.queue.deliver(self.armed, sink)
    }

    fn before_arm(&mut self, is_armed: bool) {
        self.armed = is_armed;
    }

    fn holds_events(&self) -> bool {
        !self.queue.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::loopback::Loopback;

    struct Arrivals(Vec<(Peer, u64)>);

    impl PacketSink for Arrivals {
        fn packet(&mut self, from: Peer, header: &Header, _data: &[u8]) {
            self.0.push((from, header.words[0]));
        }
    }

    /// The packets of each of 40 polls at rank 2, after ranks 0 and 1 have sent three packets each.
    fn arrivals(seed: u64) -> Vec<Vec<(Peer, u64)>> {
        let mut ranks = Loopback::network(3);
        let mut receiver = Delay::new(ranks.remove(2), seed, 10);
        for number in 0..3 {
            for rank in &mut ranks {
                let header = Header { words: [number, 0], kind: 0 };
                rank.send_short(2, &header, &[]).unwrap();
            }
        }
        let poll = |_| {
            let mut arrivals = Arrivals(Vec::new());
            receiver.poll(&mut arrivals);
            arrivals.0
        };
        (0..40).map(poll).collect()
    }

    #[test]
    fn a_seed_decides_when_packets_arrive() {
        assert_eq!(arrivals(3), arrivals(3));
        assert_ne!(arrivals(3), arrivals(4));
        assert_eq!(arrivals(3).concat().len(), 6);
    }

    #[test]
    fn packets_of_peers_change_order_but_not_those_of_one_peer() {
        let sent: Vec<_> = (0..3).flat_map(|number| [(0, number), (1, number)]).collect();
        let all: Vec<_> = (0..20).map(|seed| arrivals(seed).concat()).collect();
        assert!(all.iter().any(|order| *order != sent));
        for order in all {
            for peer in 0..2 {
                let numbers: Vec<_> = order.iter().filter(|it| it.0 == peer).collect();
                assert_eq!(numbers, [&(peer, 0), &(peer, 1), &(peer, 2)]);
            }
        }
    }
}
