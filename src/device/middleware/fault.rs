//! A middleware that refuses packets at random, as a full queue would.
//!
//! On average one in `one_in` sends gets [`Busy`], and direct reads fail as often; one-sided
//! accesses get [`Busy`](RmaError::Busy). A refused packet is not sent, and no room follows, so such a
//! device announces none. Shared segments have no faults. Equal seeds refuse the same sends.

use crate::device::middleware::Middleware;
use crate::device::rma::{
    AccessEngines, AccessProgress, MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress,
    Rma, RmaAccess, RmaCaps, RmaError, Update,
};
use crate::device::{Bulk, Busy, Device, MemoryDescriptor, PeerCaps, SplitCopies, SplitEnd};
use platform::base::{Peer, Random, Result, Span};

/// The inner device, with faults.
pub struct Fault<D> {
    inner: D,
    random: Random,
    one_in: u64,
}

impl<D: Device> Fault<D> {
    /// Refuses one in `one_in` sends of `inner` (none if zero), chosen by `seed`.
    pub fn new(inner: D, seed: u64, one_in: u64) -> Self {
        Self { inner, random: Random::new(seed), one_in }
    }

    fn is_fault(&mut self) -> bool {
        self.random.one_in(self.one_in)
    }

    /// The inner device, for an access that is not refused here.
    ///
    /// # Panics
    /// If it has lost its one-sided access since [`Device::rma`].
    fn access(&mut self) -> Result<&mut dyn Rma, RmaError> {
        if self.is_fault() { Err(RmaError::Busy) } else { Ok(self.one_sided()) }
    }

    fn one_sided(&mut self) -> &mut dyn Rma {
        self.inner.rma().expect("the inner device keeps its one-sided access")
    }

    fn inner_engines(&mut self) -> &mut dyn AccessEngines {
        self.one_sided().engines().expect("the inner device keeps its engines")
    }

    fn inner_split(&mut self) -> Option<&mut dyn SplitCopies> {
        self.inner.bulk()?.split()
    }
}

impl<D: Device> Middleware for Fault<D> {
    type Inner = D;

    fn inner(&self) -> &D {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    fn before_send(&mut self) -> Result<(), Busy> {
        if self.is_fault() { Err(Busy) } else { Ok(()) }
    }

    fn inner_peer_caps(&self, peer: Peer) -> PeerCaps {
        let caps = self.inner.peer_caps(peer);
        PeerCaps { announces_room: caps.announces_room && self.one_in == 0, ..caps }
    }

    fn inner_rma(&mut self) -> Option<&mut dyn Rma> {
        if self.inner.rma().is_some() { Some(self) } else { None }
    }

    fn inner_bulk(&mut self) -> Option<&mut dyn Bulk> {
        // The borrow of the inner `Bulk` must end before `self` is returned.
        if self.inner.bulk().is_some() { Some(self) } else { None }
    }
}

impl<D: Device> Rma for Fault<D> {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        self.one_sided().register(memory, access)
    }

    fn allocate(
        &mut self, len_bytes: usize, access: RemoteAccess,
    ) -> Result<Option<(MemoryKey, Span)>> {
        self.one_sided().allocate(len_bytes, access)
    }

    fn deregister(&mut self, key: MemoryKey) {
        self.one_sided().deregister(key);
    }

    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        self.one_sided().open(peer, key)
    }

    fn close(&mut self, peer: Peer, key: MemoryKey) {
        self.one_sided().close(peer, key);
    }

    fn put(&mut self, from: Span, to: RemoteAddress) -> Result<(), RmaError> {
        self.access()?.put(from, to)
    }

    fn put_signalled(
        &mut self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), RmaError> {
        self.access()?.put_signalled(from, to, signal)
    }

    fn get(&mut self, from: RemoteAddress, into: Span) -> Result<(), RmaError> {
        self.access()?.get(from, into)
    }

    fn update(
        &mut self, at: RemoteAddress, kind: NumberKind, update: Update, old: Span,
    ) -> Result<(), RmaError> {
        self.access()?.update(at, kind, update, old)
    }

    fn progress(&mut self, peer: Peer) -> AccessProgress {
        self.one_sided().progress(peer)
    }

    fn flush(&mut self, peer: Peer) -> Option<Result> {
        self.one_sided().flush(peer)
    }

    fn engines(&mut self) -> Option<&mut dyn AccessEngines> {
        if self.one_sided().engines().is_some() { Some(self) } else { None }
    }
}

impl<D: Device> AccessEngines for Fault<D> {
    fn count(&mut self) -> u8 {
        self.inner_engines().count()
    }

    fn start(&mut self, access: RmaAccess, engine: u8, is_deferred: bool) -> Result<(), RmaError> {
        if self.is_fault() {
            return Err(RmaError::Busy);
        }
        self.inner_engines().start(access, engine, is_deferred)
    }
}

impl<D: Device> Bulk for Fault<D> {
    fn prefers(&mut self, peer: Peer, len: usize) -> bool {
        self.inner.bulk().is_some_and(|bulk| bulk.prefers(peer, len))
    }

    fn describe(&mut self, peer: Peer, memory: Span) -> MemoryDescriptor {
        match self.inner.bulk() {
            Some(bulk) => bulk.describe(peer, memory),
            None => MemoryDescriptor::of_address(memory.address() as u64),
        }
    }

    fn read(
        &mut self, peer: Peer, from: MemoryDescriptor, into: Span, done: usize,
    ) -> Result<usize, String> {
        if self.is_fault() {
            return Err(format!("injected: a read of {} bytes from rank {peer} fails", into.len()));
        }
        match self.inner.bulk() {
            Some(bulk) => bulk.read(peer, from, into, done),
            None => Err("the inner device has no direct copies now".to_owned()),
        }
    }

    fn split(&mut self) -> Option<&mut dyn SplitCopies> {
        if self.inner_split().is_some() { Some(self) } else { None }
    }
}

impl<D: Device> SplitCopies for Fault<D> {
    fn begin_split(&mut self, peer: Peer, into: Span) -> Option<u64> {
        if self.is_fault() { None } else { self.inner_split()?.begin_split(peer, into) }
    }

    fn read_split(
        &mut self, peer: Peer, ticket: u64, from: MemoryDescriptor, into: Span,
    ) -> SplitEnd {
        let split = self.inner_split();
        split.map_or(SplitEnd::Failed, |split| split.read_split(peer, ticket, from, into))
    }

    fn write_split(&mut self, peer: Peer, ticket: u64, from: Span) -> SplitEnd {
        let split = self.inner_split();
        split.map_or(SplitEnd::PeerPending, |split| split.write_split(peer, ticket, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Header;
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
