//! Direct copies where the memory of peers is read in several ways: that of the own job by the device of
//! the host, that of other jobs by the device of the sockets.

use super::Devices;
use super::network::{Network, Sockets};
use crate::device::{Bulk, Device, MemoryDescriptor, SplitCopies};
use platform::base::{Peer, Span};

impl Devices {
    /// The sockets, if `peer` is of another job.
    fn sockets_beyond(&mut self, peer: Peer) -> Option<&mut Sockets> {
        let Self { node, network, .. } = self;
        network.as_deref_mut().and_then(|network: &mut Network| network.sockets_toward(node, peer))
    }
}

impl Bulk for Devices {
    fn prefers(&mut self, peer: Peer, len: usize) -> bool {
        match self.sockets_beyond(peer) {
            Some(sockets) => sockets.foreign_memory().prefers_read(peer, len),
            None => self.node.bulk().is_some_and(|bulk| bulk.prefers(peer, len)),
        }
    }

    fn read(
        &mut self, peer: Peer, from: MemoryDescriptor, into: Span, done: usize,
    ) -> Result<usize, String> {
        if let Some(sockets) = self.sockets_beyond(peer) {
            return sockets.foreign_memory().read_memory(peer, from.address(), into, done);
        }
        match self.node.bulk() {
            Some(bulk) => bulk.read(peer, from, into, done),
            None => Err(format!("the memory of rank {peer} is not read")),
        }
    }

    fn split(&mut self) -> Option<&mut dyn SplitCopies> {
        self.node.bulk().and_then(Bulk::split)
    }
}
