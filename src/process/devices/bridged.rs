//! Processes of other clients of an IMPI world, beside the devices of the own job.
//!
//! ```text
//!   peer of the own job, or connected later ──> the network of the job, or shared memory
//!   peer of another client                  ──> the translator and its mesh
//! ```

use super::network::{Network, Sockets};
use super::socket_interval::SocketInterval;
use crate::bridge::translator::Translator;
use crate::device::{Busy, Caps, Device, Header, PacketSink, PeerCaps, WakeSource};
use crate::devices::shm::Shm;
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};
use platform::sys::doorbell::Doorbell;

/// The devices of a job that is a client.
pub(super) struct Bridged {
    /// What carries messages of the own job beside shared memory or instead of it.
    pub(super) inner: Option<Box<Network>>,
    translator: Translator,
    interval: SocketInterval,
    /// Whether this process has sent to another client since the last packet from there.
    awaits_answer: bool,
    is_leaving: bool,
}

impl Bridged {
    /// Sleeps on `node` cover the mesh from now on.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors, or if the network of the job has no
    /// descriptor to sleep on.
    pub(super) fn new(
        translator: Translator, inner: Option<Box<Network>>, node: &mut Shm,
    ) -> Result<Self> {
        let mesh = &translator.mesh;
        match inner.as_deref() {
            Some(Network::Tcp(sockets)) => sockets.watch_beside(mesh.descriptor())?,
            Some(Network::Tofu(_)) => return Err(simulated()),
            None | Some(Network::Carrier(_) | Network::Bridged(_) | Network::Node) => {
                let doorbell = Doorbell::new().map_err(no_pipe)?;
                mesh.watch_beside(&doorbell)?;
                node.wait_for_descriptor(doorbell, mesh.descriptor());
            }
        }
        let interval = SocketInterval::new();
        Ok(Self { inner, translator, interval, awaits_answer: false, is_leaving: false })
    }

    /// Adds the sockets for other jobs, which this process opens when it needs them.
    ///
    /// # Errors
    /// `Other` with the system's error.
    pub(super) fn add_sockets(&mut self, sockets: Sockets) -> Result {
        sockets.watch_beside(self.translator.mesh.descriptor())?;
        self.inner = Some(Box::new(Network::Tcp(sockets)));
        Ok(())
    }

    /// The translator, if it carries packets to `peer`; they await an answer then.
    #[inline]
    fn toward(&mut self, peer: Peer) -> Option<&mut Translator> {
        if !self.translator.carries(peer) {
            return None;
        }
        self.awaits_answer = true;
        Some(&mut self.translator)
    }

    pub(super) fn carries(&self, peer: Peer) -> bool {
        self.translator.carries(peer)
    }

    pub(super) fn awaits_answer(&self) -> bool {
        self.awaits_answer || self.inner.as_deref().is_some_and(Network::awaits_answer)
    }

    pub(super) fn caps(&self, node: Caps) -> Caps {
        let inner = self.inner.as_deref().map_or(node, |inner| inner.caps(node));
        self.translator.caps(inner)
    }

    pub(super) fn peer_caps(&self, node: &Shm, peer: Peer) -> PeerCaps {
        match self.inner.as_deref() {
            _ if self.carries(peer) => self.translator.peer_caps(),
            None => node.peer_caps(peer),
            Some(inner) => inner.peer_caps(node, peer),
        }
    }

    pub(super) fn send(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        if let Some(translator) = self.toward(peer) {
            return translator.send(peer, header, len, fill);
        }
        match self.inner.as_deref_mut() {
            None => node.send(peer, header, len, fill),
            Some(inner) => inner.send(node, peer, header, len, fill),
        }
    }

    pub(super) fn send_contiguous(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, data: Span,
    ) -> Result<(), Busy> {
        if let Some(translator) = self.toward(peer) {
            return translator.send(peer, header, data.len(), |packet| data.read(0, packet));
        }
        match self.inner.as_deref_mut() {
            None => node.send_contiguous(peer, header, data),
            Some(inner) => inner.send_contiguous(node, peer, header, data),
        }
    }

    /// # Panics
    /// For a process of another client: the mesh borrows no memory.
    pub(super) fn send_lent(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        match self.inner.as_deref_mut() {
            None => node.send_lent(peer, header, data, token),
            Some(inner) => inner.send_lent(node, peer, header, data, token),
        }
    }

    pub(super) fn poll(&mut self, node: &mut Shm, sink: &mut impl PacketSink) -> usize {
        let arrived = match self.inner.as_deref_mut() {
            None => node.poll(sink),
            Some(inner) => inner.poll(node, sink),
        };
        let is_due = self.interval.is_due(arrived, self.awaits_answer);
        if !is_due && !self.translator.has_due() {
            return arrived;
        }
        let from_others = self.translator.poll(sink);
        self.interval.polled(from_others);
        self.awaits_answer &= from_others == 0;
        arrived + from_others
    }

    pub(super) fn arm(&mut self, node: &mut Shm) -> WakeSource {
        self.translator.mesh.arm();
        match self.inner.as_deref_mut() {
            None => node.arm(),
            Some(inner) => inner.arm(node),
        }
    }

    pub(super) fn disarm(&mut self, node: &mut Shm) {
        self.translator.mesh.disarm();
        match self.inner.as_deref_mut() {
            None => node.disarm(),
            Some(inner) => inner.disarm(node),
        }
    }

    /// After `leave`, other clients must have left, too: an end that is closed before it has read what
    /// others say last makes them lose what it has said.
    pub(super) fn is_drained(&self) -> bool {
        let mesh = &self.translator.mesh;
        (if self.is_leaving { mesh.has_left() } else { mesh.is_drained() })
            && self.translator.is_settled()
            && self.inner.as_deref().is_none_or(Network::is_drained)
    }

    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
        let (sent, received) = self.translator.mesh.packet_counts();
        tracing::debug!(sent, received, "leaves the world of clients");
        self.translator.mesh.leave();
        if let Some(inner) = self.inner.as_deref_mut() {
            inner.leave();
        }
    }
}

#[cold]
fn simulated() -> Box<MpiError> {
    ErrorClass::Other.error(
        "the device tofu simulates a network inside one host and joins no other clients: expected \
         SUIRO_DEVICE=shm, tcp or vendor",
    )
}

#[cold]
fn no_pipe(error: std::io::Error) -> Box<MpiError> {
    ErrorClass::Other.error(format!("a client of IMPI needs a pipe: {error}"))
}
