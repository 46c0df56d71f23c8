//! A device around a device that refuses packets at random, as a full queue would.
//!
//! [`Busy`] comes once in `one_in` sends on average, whatever the inner device has room for, and
//! direct reads fail as often. Nothing else changes: a refused packet is not sent at all, and rooms
//! have no faults. Equal seeds refuse the same sends.

use crate::device::rma::Rma;
use crate::device::trigger::Trigger;
use crate::device::{
    Bulk, Busy, Caps, Device, Header, PacketSink, SharedMemory, SplitEnd, WakeSource,
};
use platform::base::{Peer, Random, Span};

/// The inner device, with faults.
pub struct Fault<D> {
    inner: D,
    random: Random,
    one_in: u64,
}

impl<D: Device> Fault<D> {
    /// Refuses one in `one_in` sends of `inner` (none if zero), in the order that `seed` gives.
    pub fn new(inner: D, seed: u64, one_in: u64) -> Self {
        Self { inner, random: Random::new(seed), one_in }
    }

    fn refuse(&mut self) -> Result<(), Busy> {
        if self.random.one_in(self.one_in) { Err(Busy) } else { Ok(()) }
    }
}

impl<D: Device> Device for Fault<D> {
    fn caps(&self) -> Caps {
        self.inner.caps()
    }

    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        self.refuse()?;
        self.inner.send_short(peer, header, data)
    }

    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        self.refuse()?;
        self.inner.send(peer, header, len, fill)
    }

    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        self.inner.poll(sink)
    }

    fn arm(&mut self) -> WakeSource {
        self.inner.arm()
    }

    fn disarm(&mut self) {
        self.inner.disarm();
    }

    fn wake_self(&mut self) {
        self.inner.wake_self();
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        // Asked for by value first: the borrow of the inner one must not outlive the test.
        if self.inner.bulk().is_some() { Some(self) } else { None }
    }

    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        self.inner.shared_memory()
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        self.inner.rma()
    }

    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        self.inner.trigger()
    }

    fn notify(&mut self, peer: Peer) {
        self.inner.notify(peer);
    }
}

impl<D: Device> Bulk for Fault<D> {
    fn prefers(&mut self, peer: Peer, len: usize) -> bool {
        self.inner.bulk().is_some_and(|bulk| bulk.prefers(peer, len))
    }

    fn read(&mut self, peer: Peer, from: u64, into: Span) -> Result<(), String> {
        if self.random.one_in(self.one_in) {
            return Err(format!("injected: a read of {} bytes from rank {peer} fails", into.len()));
        }
        match self.inner.bulk() {
            Some(bulk) => bulk.read(peer, from, into),
            None => Err("the inner device reads no longer".to_owned()),
        }
    }

    fn begin_split(&mut self, peer: Peer, into: Span) -> Option<u64> {
        if self.random.one_in(self.one_in) {
            None
        } else {
            self.inner.bulk()?.begin_split(peer, into)
        }
    }

    fn read_split(&mut self, peer: Peer, ticket: u64, from: u64, into: Span) -> SplitEnd {
        let inner = self.inner.bulk();
        inner.map_or(SplitEnd::Failed, |bulk| bulk.read_split(peer, ticket, from, into))
    }

    fn write_split(&mut self, peer: Peer, ticket: u64, from: Span) -> SplitEnd {
        let inner = self.inner.bulk();
        inner.map_or(SplitEnd::PeerPending, |bulk| bulk.write_split(peer, ticket, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::loopback::Loopback;

    fn refusals(seed: u64, one_in: u64) -> Vec<bool> {
        let mut ranks = Loopback::network(2);
        let mut fault = Fault::new(ranks.remove(0), seed, one_in);
        let mut sink = crate::device::conformance::Ignore;
        let header = Header::default();
        (0..100)
            .map(|_| {
                ranks[0].poll(&mut sink);
                fault.send_short(1, &header, b"x").is_err()
            })
            .collect()
    }

    #[test]
    fn a_seed_decides_what_is_refused() {
        assert_eq!(refusals(1, 3), refusals(1, 3));
        assert_ne!(refusals(1, 3), refusals(2, 3));
        assert!(refusals(1, 3).contains(&true));
        assert!(refusals(1, 3).contains(&false));
        assert!(!refusals(1, 0).contains(&true));
    }
}
