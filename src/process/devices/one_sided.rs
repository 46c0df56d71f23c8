//! One-sided access where peers are reached by several devices: by shared memory on this host, by
//! sockets elsewhere.
//!
//! Memory is registered at both under one key, that of the device of the host. Both make updates by
//! processors of the host, so updates are atomic whichever way they come.

use super::Devices;
use super::network::{Network, Sockets};
use crate::device::rma::{
    AccessProgress, MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress, Rma, RmaCaps,
    RmaError, Update,
};
use platform::base::{Peer, Result, Span};

impl Devices {
    /// The device whose one-sided access reaches `peer`.
    fn toward(&mut self, peer: Peer) -> &mut dyn Rma {
        match self.network.as_deref_mut() {
            Some(Network::Tcp(sockets)) if sockets.carries(&self.node, peer) => sockets.one_sided(),
            None | Some(Network::Tofu(_) | Network::Tcp(_) | Network::Vendor(_)) => &mut self.node,
        }
    }

    fn sockets_beside(&mut self) -> Option<&mut Sockets> {
        match self.network.as_deref_mut() {
            Some(Network::Tcp(sockets)) => Some(sockets),
            None | Some(Network::Tofu(_) | Network::Vendor(_)) => None,
        }
    }
}

impl Rma for Devices {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        let key = self.node.register(memory, access)?;
        if let Some(sockets) = self.sockets_beside() {
            sockets.register_under(key, memory, access);
        }
        Ok(key)
    }

    fn allocate(
        &mut self, len_bytes: usize, access: RemoteAccess,
    ) -> Result<Option<(MemoryKey, Span)>> {
        if self.sockets_beside().is_some_and(|sockets| sockets.are_everywhere()) {
            return Ok(None);
        }
        let allocated = self.node.allocate(len_bytes, access)?;
        if let (Some((key, memory)), Some(sockets)) = (allocated, self.sockets_beside()) {
            sockets.register_under(key, memory, access);
        }
        Ok(allocated)
    }

    fn deregister(&mut self, key: MemoryKey) {
        if let Some(sockets) = self.sockets_beside() {
            sockets.one_sided().deregister(key);
        }
        self.node.deregister(key);
    }

    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        self.toward(peer).open(peer, key)
    }

    fn close(&mut self, peer: Peer, key: MemoryKey) {
        self.toward(peer).close(peer, key);
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
