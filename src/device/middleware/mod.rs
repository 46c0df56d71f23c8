//! Devices around devices, for tests and diagnosis: faults, delays and traces.
//!
//! A middleware implements [`Middleware`]: the inner device and the steps that it changes. Every other
//! call goes to the inner device. The middleware keeps the contract of the inner device.

pub mod delay;
pub mod fault;
pub mod trace;

use crate::device::near_memory::NearMemory;
use crate::device::rma::Rma;
use crate::device::trigger::Trigger;
use crate::device::{
    Bulk, Busy, Caps, Device, Header, PacketSink, PeerCaps, SharedMemory, WakeSource,
};
use platform::base::{Peer, Span};

/// A device around a device. Each step has a default that changes nothing.
pub trait Middleware: Send {
    /// The device inside.
    type Inner: Device;

    /// The device inside.
    fn inner(&self) -> &Self::Inner;

    /// The device inside.
    fn inner_mut(&mut self) -> &mut Self::Inner;

    /// Before a packet is sent.
    ///
    /// # Errors
    /// [`Busy`] to refuse the packet.
    fn before_send(&mut self) -> Result<(), Busy> {
        Ok(())
    }

    /// After the inner device has accepted or refused a packet with `len` bytes of data.
    fn after_send(&mut self, peer: Peer, header: &Header, len: usize, sent: Result<(), Busy>) {
        let _ = (peer, header, len, sent);
    }

    /// Delivers packets of the inner device.
    fn poll_inner(&mut self, sink: &mut impl PacketSink) -> usize {
        self.inner_mut().poll(sink)
    }

    /// Before the rank is armed (`true`) or disarmed (`false`).
    fn before_arm(&mut self, is_armed: bool) {
        let _ = is_armed;
    }

    /// Direct copies of the inner device.
    fn inner_bulk(&mut self) -> Option<&mut dyn Bulk> {
        self.inner_mut().bulk()
    }

    /// [`Device::peer_caps`].
    fn inner_peer_caps(&self, peer: Peer) -> PeerCaps {
        self.inner().peer_caps(peer)
    }

    /// One-sided access of the inner device.
    fn inner_rma(&mut self) -> Option<&mut dyn Rma> {
        self.inner_mut().rma()
    }

    /// Whether the middleware holds packets or other events.
    fn holds_events(&self) -> bool {
        false
    }
}

impl<M: Middleware> Device for M {
    fn caps(&self) -> Caps {
        self.inner().caps()
    }

    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        self.before_send()?;
        let sent = self.inner_mut().send_short(peer, header, data);
        self.after_send(peer, header, data.len(), sent);
        sent
    }

    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        self.before_send()?;
        let sent = self.inner_mut().send(peer, header, len, fill);
        self.after_send(peer, header, len, sent);
        sent
    }

    fn peer_caps(&self, peer: Peer) -> PeerCaps {
        self.inner_peer_caps(peer)
    }

    fn send_contiguous(&mut self, peer: Peer, header: &Header, data: Span) -> Result<(), Busy> {
        self.before_send()?;
        let sent = self.inner_mut().send_contiguous(peer, header, data);
        self.after_send(peer, header, data.len(), sent);
        sent
    }

    fn send_lent(
        &mut self, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        self.before_send()?;
        let sent = self.inner_mut().send_lent(peer, header, data, token);
        self.after_send(peer, header, data.len(), sent);
        sent
    }

    fn send_datagram(&mut self, peer: Peer, data: &[u8]) {
        self.inner_mut().send_datagram(peer, data);
    }

    fn is_drained(&self) -> bool {
        !self.holds_events() && self.inner().is_drained()
    }

    fn leave(&mut self) {
        self.inner_mut().leave();
    }

    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        self.poll_inner(sink)
    }

    fn arm(&mut self) -> WakeSource {
        self.before_arm(true);
        self.inner_mut().arm()
    }

    fn disarm(&mut self) {
        self.before_arm(false);
        self.inner_mut().disarm();
    }

    fn wake_self(&mut self) {
        self.inner_mut().wake_self();
    }

    fn notify(&mut self, peer: Peer) {
        self.inner_mut().notify(peer);
    }

    fn quiescence(&self) -> Option<u64> {
        if self.holds_events() { None } else { self.inner().quiescence() }
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        self.inner_bulk()
    }

    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        self.inner_mut().shared_memory()
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        self.inner_rma()
    }

    fn near_memory(&mut self) -> Option<&mut dyn NearMemory> {
        self.inner_mut().near_memory()
    }

    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        self.inner_mut().trigger()
    }
}
