//! One-sided access where peers are reached by several devices: by shared memory on this host, by
//! sockets or libfabric elsewhere.
//!
//! Memory is registered at all of them under one key, that of the device of the host. All make updates by
//! processors of the host, so updates are atomic whichever way they come.

use super::Devices;
use super::carrier::CarrierNetwork;
use super::network::{Network, Sockets};
use crate::device::rma::{
    AccessProgress, MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress, Rma, RmaCaps,
    RmaError, Update,
};
use platform::base::{Peer, Result, Span};

impl Devices {
    /// The device whose one-sided access reaches `peer`.
    fn toward(&mut self, peer: Peer) -> &mut dyn Rma {
        let Self { node, network, .. } = self;
        match network.as_deref_mut().and_then(|network| network.one_sided_toward(node, peer)) {
            Some(far) => far,
            None => node,
        }
    }

    fn sockets_beside(&mut self) -> Option<&mut Sockets> {
        self.network.as_deref_mut().and_then(Network::sockets_mut)
    }

    fn carrier_beside(&mut self) -> Option<&mut CarrierNetwork> {
        self.network.as_deref_mut().and_then(Network::carrier_mut)
    }

    /// Registers memory of the node at the devices beside it.
    fn register_beside(&mut self, key: MemoryKey, memory: Span, access: RemoteAccess) {
        if let Some(sockets) = self.sockets_beside() {
            sockets.register_under(key, memory, access);
        }
        if let Some(carrier) = self.carrier_beside() {
            carrier.device.register_under(key, memory, access);
        }
    }
}

impl Rma for Devices {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        let key = self.node.register(memory, access)?;
        self.register_beside(key, memory, access);
        Ok(key)
    }

    fn allocate(
        &mut self, len_bytes: usize, access: RemoteAccess,
    ) -> Result<Option<(MemoryKey, Span)>> {
        if self.network.as_deref().is_some_and(Network::is_everywhere) {
            return Ok(None);
        }
        let allocated = self.node.allocate(len_bytes, access)?;
        if let Some((key, memory)) = allocated {
            self.register_beside(key, memory, access);
        }
        Ok(allocated)
    }

    fn deregister(&mut self, key: MemoryKey) {
        if let Some(sockets) = self.sockets_beside() {
            sockets.one_sided().deregister(key);
        }
        if let Some(carrier) = self.carrier_beside() {
            carrier.device.deregister(key);
        }
        self.node.deregister(key);
    }

    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        self.toward(peer).open(peer, key)
    }

    fn close(&mut self, peer: Peer, key: MemoryKey) {
        self.toward(peer).close(peer, key);
    }

    fn fast_max(&mut self, peer: Peer) -> usize {
        self.toward(peer).fast_max(peer)
    }

    fn put(&mut self, from: Span, to: RemoteAddress) -> Result<(), RmaError> {
        self.toward(to.peer).put(from, to)
    }

    fn put_signalled(
        &mut self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), RmaError> {
        self.toward(to.peer).put_signalled(from, to, signal)
    }

    fn get(&mut self, from: RemoteAddress, into: Span) -> Result<(), RmaError> {
        self.toward(from.peer).get(from, into)
    }

    fn update(
        &mut self, at: RemoteAddress, kind: NumberKind, update: Update, old: Span,
    ) -> Result<(), RmaError> {
        self.toward(at.peer).update(at, kind, update, old)
    }

    fn progress(&mut self, peer: Peer) -> AccessProgress {
        self.toward(peer).progress(peer)
    }

    fn flush(&mut self, peer: Peer) -> Option<Result> {
        self.toward(peer).flush(peer)
    }
}
