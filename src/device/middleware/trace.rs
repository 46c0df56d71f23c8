//! A middleware that records the last events of the inner device.
//!
//! It records calls of the contract, in their order at this rank, without times. It does not see
//! accesses to shared segments. Two runs from one seed that differ have different traces.

use std::collections::VecDeque;

use crate::device::middleware::Middleware;
use crate::device::{Busy, Device, Header, PacketSink};
use platform::base::{Peer, Span};

/// The inner device, with a log of events.
pub struct Trace<D> {
    inner: D,
    log: EventLog,
}

/// An event at a device. Lengths are bytes of data beside the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceEvent {
    /// A packet was accepted for `peer`.
    Sent {
        /// The receiver.
        peer: Peer,
        /// Its header.
        header: Header,
        /// Bytes of data.
        len: usize,
    },
    /// A packet for `peer` was refused with [`Busy`].
    Refused {
        /// The receiver.
        peer: Peer,
        /// Its header.
        header: Header,
        /// Bytes of data.
        len: usize,
    },
    /// A packet was delivered.
    Arrived {
        /// The sender.
        peer: Peer,
        /// Its header.
        header: Header,
        /// Bytes of data.
        len: usize,
    },
    /// The memory of a packet for `peer` is free.
    Returned {
        /// The receiver.
        peer: Peer,
        /// The token of the packet.
        token: u32,
    },
    /// There may be room for packets to `peer`.
    Room {
        /// The receiver.
        peer: Peer,
    },
    /// `peer` has failed.
    Failed {
        /// The peer.
        peer: Peer,
    },
    /// The rank was armed.
    Armed,
    /// The rank was disarmed.
    Disarmed,
}

struct EventLog {
    events: VecDeque<DeviceEvent>,
    events_max: usize,
}

/// Records each packet before it goes to the sink.
struct TracingSink<'a, S> {
    log: &'a mut EventLog,
    sink: &'a mut S,
}

impl<D: Device> Trace<D> {
    /// Records the last `events_max` events of `inner`.
    pub fn new(inner: D, events_max: usize) -> Self {
        Self { inner, log: EventLog { events: VecDeque::new(), events_max } }
    }

    /// The recorded events, oldest first.
    pub fn events(&self) -> impl Iterator<Item = &DeviceEvent> {
        self.log.events.iter()
    }

    /// Removes all recorded events.
    pub fn clear(&mut self) {
        self.log.events.clear();
    }
}

impl EventLog {
    fn record(&mut self, event: DeviceEvent) {
        if self.events.len() >= self.events_max {
            self.events.pop_front();
        }
        if self.events_max > 0 {
            self.events.push_back(event);
        }
    }
}

impl<S: PacketSink> PacketSink for TracingSink<'_, S> {
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        self.log.record(DeviceEvent::Arrived { peer: from, header: *header, len: data.len() });
        self.sink.packet(from, header, data);
    }

    fn place(&mut self, from: Peer, header: &Header, len: usize) -> Option<Span> {
        self.sink.place(from, header, len)
    }

    fn placed(&mut self, from: Peer, header: &Header, len: usize) {
        self.log.record(DeviceEvent::Arrived { peer: from, header: *header, len });
        self.sink.placed(from, header, len);
    }

    fn sent(&mut self, to: Peer, token: u32) {
        self.log.record(DeviceEvent::Returned { peer: to, token });
        self.sink.sent(to, token);
    }

    fn room(&mut self, peer: Peer) {
        self.log.record(DeviceEvent::Room { peer });
        self.sink.room(peer);
    }

    fn datagram(&mut self, from: Peer, data: &[u8]) {
        self.sink.datagram(from, data);
    }

    fn failed(&mut self, peer: Peer, why: &str) {
        self.log.record(DeviceEvent::Failed { peer });
        self.sink.failed(peer, why);
    }
}

impl<D: Device> Middleware for Trace<D> {
    type Inner = D;

    fn inner(&self) -> &D {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    fn after_send(&mut self, peer: Peer, header: &Header, len: usize, sent: Result<(), Busy>) {
        let header = *header;
        self.log.record(match sent {
            Ok(()) => DeviceEvent::Sent { peer, header, len },
            Err(Busy) => DeviceEvent::Refused { peer, header, len },
        });
    }

    fn poll_inner(&mut self, sink: &mut impl PacketSink) -> usize {
        self.inner.poll(&mut TracingSink { log: &mut self.log, sink })
    }

    fn before_arm(&mut self, is_armed: bool) {
        self.log.record(if is_armed { DeviceEvent::Armed } else { DeviceEvent::Disarmed });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::conformance::Ignore;
    use crate::devices::loopback::{Loopback, QUEUE_PACKETS};

    #[test]
    fn events_are_recorded_and_the_oldest_removed() {
        let mut ranks = Loopback::network(1);
        let mut rank = Trace::new(ranks.remove(0), 4);
        let header = Header { words: [1, 2], kind: 3 };
        for _ in 0..QUEUE_PACKETS {
            rank.send_short(0, &header, b"abc").unwrap();
        }
        rank.send(0, &header, 5, |_| unreachable!()).unwrap_err();
        rank.arm();
        rank.disarm();
        let sent = DeviceEvent::Sent { peer: 0, header, len: 3 };
        let refused = DeviceEvent::Refused { peer: 0, header, len: 5 };
        let recorded: Vec<_> = rank.events().copied().collect();
        assert_eq!(recorded, [sent, refused, DeviceEvent::Armed, DeviceEvent::Disarmed]);

        rank.clear();
        rank.poll(&mut Ignore);
        let arrived = DeviceEvent::Arrived { peer: 0, header, len: 3 };
        assert_eq!(rank.events().copied().collect::<Vec<_>>(), [arrived; 4]);
    }
}
