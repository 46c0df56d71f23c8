//! The device for ranks on other hosts: TCP.
#![allow(dead_code, unused_imports, clippy::todo)]

mod channel;
mod frame;
mod frame_reader;
#[cfg(test)]
mod fuzz;
mod handshake;
mod send_queue;
mod settings;

pub(crate) use settings::{CryptMode, TcpSettings};

use crate::device::{Busy, Caps, Device, Header, PacketSink, WakeSource};
use platform::base::{Peer, Result};

/// The identity of a job, and what its processes prove to each other.
#[derive(Clone)]
pub(crate) struct JobKey {
    /// The identity of the job.
    pub(crate) id: [u8; 16],
    /// The secret of the job.
    pub(crate) secret: [u8; 32],
}

/// The device of one rank.
pub(crate) struct Tcp {}

impl Tcp {
    /// Opens the listening sockets of rank `me` of `size`.
    ///
    /// # Errors
    /// `Other` if no socket can be opened.
    pub(crate) fn listen(
        me: Peer, size: usize, job: JobKey, settings: &TcpSettings,
    ) -> Result<Self> {
        let _ = (me, size, job, settings);
        todo!()
    }

    /// What a peer needs to connect: at most 400 printable ASCII characters without spaces.
    pub(crate) fn card(&self) -> &str {
        todo!()
    }

    /// Takes the card of a peer, before the first packet to it; `host` is its host's name.
    ///
    /// # Errors
    /// `Other` for a text that is no card.
    pub(crate) fn set_card(&mut self, peer: Peer, card: &str, host: &str) -> Result {
        let _ = (peer, card, host);
        todo!()
    }
}

impl Device for Tcp {
    fn caps(&self) -> Caps {
        Caps { short_max: 64, packet_max: 64 << 10 }
    }

    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        self.send(peer, header, data.len(), |packet| packet.copy_from_slice(data))
    }

    fn send(
        &mut self, _peer: Peer, _header: &Header, _len: usize, _fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        todo!()
    }

    fn poll(&mut self, _sink: &mut impl PacketSink) -> usize {
        todo!()
    }

    fn arm(&mut self) -> WakeSource {
        todo!()
    }

    fn disarm(&mut self) {}

    fn wake_self(&mut self) {}
}
