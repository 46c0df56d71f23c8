//! The devices in use, as one device.
//!
//! The data that ranks of a node share beside messages (the settings of the job, the status table)
//! is always in the segment of [`Shm`]. Messages travel there too, or through the network interface
//! named by `SUIRO_DEVICE`. This module uses only the contract of a device.

use std::os::fd::OwnedFd;

use crate::device::rma::Rma;
use crate::device::trigger::Trigger;
use crate::device::{Bulk, Busy, Caps, Device, Header, PacketSink, SharedMemory, WakeSource};
use crate::devices::shm::{CopyMethod, SettingsMismatch, Shm};
use crate::devices::tofu::{self, Tofu};
use platform::base::{Peer, Result};
use platform::diagnosis::status_table::StatusTable;

pub(crate) struct Devices {
    node: Shm,
    /// The device that carries messages instead of `node`.
    interface: Option<Box<Tofu>>,
}

/// Applies an operation to the device that carries messages.
macro_rules! carrier {
    ($devices:expr, $device:ident => $body:expr) => {
        match &mut $devices.interface {
            None => {
                let $device = &mut $devices.node;
                $body
            }
            Some($device) => $body,
        }
    };
}

impl Devices {
    /// Joins the segment of this host as the rank `ranks[me]`: see [`Shm::attach`].
    ///
    /// # Errors
    /// As [`Shm::attach`].
    pub(crate) fn attach(
        segment: OwnedFd, me: usize, ranks: &[Peer], copy: CopyMethod,
    ) -> Result<Self> {
        Ok(Self { node: Shm::attach(segment, me, ranks, copy)?, interface: None })
    }

    /// Makes a simulated network interface carry messages, before the first message: see
    /// [`Tofu::attach`].
    ///
    /// # Errors
    /// As [`Tofu::attach`].
    pub(crate) fn attach_interface(
        &mut self, segment: OwnedFd, me: usize, ranks: &[Peer], settings: &tofu::TofuSettings,
    ) -> Result {
        self.interface = Some(Box::new(Tofu::attach(segment, me, ranks, settings)?));
        Ok(())
    }

    /// As [`Shm::agree`].
    ///
    /// # Errors
    /// The first rank with a different text.
    pub(crate) fn agree(
        &self, rank: Peer, text: &str, proposal: bool,
    ) -> Result<bool, SettingsMismatch> {
        self.node.agree(rank, text, proposal)
    }

    /// Records that each rank has a processor of its own.
    pub(crate) fn have_processors(&mut self) {
        self.node.enable_split_copies();
    }

    /// Records that the ranks of the job share processors; all ranks call this before their first
    /// packet.
    ///
    /// # Panics
    /// After the first packet.
    pub(crate) fn share_processors(&mut self) {
        self.node.share_processors();
        if let Some(interface) = &mut self.interface {
            interface.share_processors();
        }
    }

    /// As [`Shm::status_table`].
    pub(crate) fn status_table(&self) -> StatusTable {
        self.node.status_table()
    }

    /// As [`Shm::has_ended`].
    ///
    /// # Panics
    /// As [`Shm::has_ended`].
    pub(crate) fn has_ended(&self, rank: Peer) -> bool {
        self.node.has_ended(rank)
    }
}

impl Device for Devices {
    #[inline]
    fn caps(&self) -> Caps {
        match &self.interface {
            None => self.node.caps(),
            Some(interface) => interface.caps(),
        }
    }

    #[inline]
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        match &mut self.interface {
            None => self.node.send_short(peer, header, data),
            Some(interface) => send_by(interface, peer, header, data.len(), |room| {
                room.copy_from_slice(data);
            }),
        }
    }

    #[inline(always)]
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        match &mut self.interface {
            None => self.node.send(peer, header, len, fill),
            Some(interface) => send_by(interface, peer, header, len, fill),
        }
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        match &mut self.interface {
            None => self.node.poll(sink),
            Some(interface) => poll_by(interface, sink),
        }
    }

    fn arm(&mut self) -> WakeSource {
        carrier!(self, device => device.arm())
    }

    fn disarm(&mut self) {
        carrier!(self, device => device.disarm());
    }

    fn wake_self(&mut self) {
        carrier!(self, device => device.wake_self());
    }

    fn quiescence(&self) -> Option<u64> {
        match &self.interface {
            None => self.node.quiescence(),
            Some(interface) => interface.quiescence(),
        }
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        carrier!(self, device => device.bulk())
    }

    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        carrier!(self, device => device.shared_memory())
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        carrier!(self, device => device.rma())
    }

    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        carrier!(self, device => device.trigger())
    }

    #[inline]
    fn notify(&mut self, peer: Peer) {
        carrier!(self, device => device.notify(peer));
    }

    #[inline]
    fn notify_if(&mut self, peer: Peer, is_awaited: impl FnOnce() -> bool) {
        carrier!(self, device => device.notify_if(peer, is_awaited));
    }
}

/// Kept out of its callers: they hold the short path of messages through shared memory.
#[inline(never)]
fn send_by(
    interface: &mut Tofu, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
) -> Result<(), Busy> {
    interface.send(peer, header, len, fill)
}

/// As [`send_by`].
#[inline(never)]
fn poll_by(interface: &mut Tofu, sink: &mut impl PacketSink) -> usize {
    interface.poll(sink)
}
