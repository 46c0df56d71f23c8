//! The devices in use, as one device.
//!
//! ```text
//!                          network: none    tofu    tcp between hosts    tcp everywhere
//!   messages in a host     shm              tofu    shm                  tcp
//!   messages between hosts                          tcp                  tcp
//!   messages to itself     shm              tofu    shm                  shm
//!
//!                          network: vendor between hosts    vendor everywhere
//!   messages in a host              shm                     vendor
//!   messages between hosts          vendor                  vendor
//! ```
//!
//! Libfabric takes the place of `vendor`, and then tcp carries the messages to processes of other jobs.
//!
//! What ranks of a host share beside messages (the settings of the job, the status table) is always in
//! the segment of [`Shm`]. Copies of memory and shared segments are offered where messages inside a host
//! are those of `shm` or `tofu`; a peer on another host has neither. One-sided access takes the way of
//! messages. This module uses only the contract of a device. Injected noise stops a rank where it polls
//! (`interruptions`).

mod bridged;
mod carrier;
mod direct_copies;
pub(crate) mod interruptions;
mod network;
mod one_sided;
mod socket_interval;

use std::os::fd::OwnedFd;

use crate::bridge::translator::Translator;
use crate::device::near_memory::NearMemory;
use crate::device::reach::Reach;
use crate::device::rma::Rma;
use crate::device::trigger::Trigger;
use crate::device::{
    Bulk, Busy, Caps, Device, Header, PacketSink, PeerCaps, SharedMemory, WakeSource,
};
use crate::devices::carrier::library::CarrierLibrary;
use crate::devices::put_links::{InterfaceLinks, PutLinks};
use crate::devices::rings::read_trial::CopyMethod;
use crate::devices::shm::{SettingsMismatch, Shm};
use crate::devices::tcp::{JobKey, Tcp, TcpSettings};
use crate::devices::tofu::{self, Tofu};
use crate::devices::work_links::WorkLinks;
use bridged::Bridged;
use carrier::CarrierNetwork;
use interruptions::{InjectedNoise, Interruptions};
use network::{Network, SocketScope, Sockets};
use platform::base::{ErrorClass, Peer, Result, Span};
use platform::diagnosis::status_table::StatusTable;
use platform::network::SharedSecret;
use platform::sys::fabric::WorkEndpoint;

pub(crate) use carrier::CarrierReach;

pub(crate) struct Devices {
    node: Shm,
    /// What carries messages beside `node` or instead of it.
    network: Option<Box<Network>>,
    /// How this process will listen for other jobs, if it does.
    listening: Option<Box<Listening>>,
    /// Injected noise; with it there is a network.
    interruptions: Option<Box<Interruptions>>,
}

/// The arguments of the sockets of a process whose job needs none.
pub(crate) struct Listening {
    pub(crate) rank: Peer,
    pub(crate) size: u32,
    pub(crate) job: JobKey,
    /// Whether all ranks of the job know its secret.
    pub(crate) shares_secret: bool,
    pub(crate) settings: TcpSettings,
}

impl Devices {
    /// Joins the segment of this host as the rank `ranks[me]`: see [`Shm::attach`].
    ///
    /// # Errors
    /// As [`Shm::attach`].
    pub(crate) fn attach(
        segment: OwnedFd, me: usize, ranks: &[Peer], copy: CopyMethod,
    ) -> Result<Self> {
        let node = Shm::attach(segment, me, ranks, copy)?;
        Ok(Self { node, network: None, listening: None, interruptions: None })
    }

    /// Interrupts `me` from now on. Everything that carries messages is attached.
    pub(crate) fn inject(&mut self, noise: InjectedNoise, me: Peer) {
        self.interruptions = Some(Box::new(Interruptions::new(noise, me)));
        self.network.get_or_insert_with(|| Box::new(Network::Node));
    }

    /// Runs programs, of rank `me` of `size`, see [`Shm::run_programs`]: after the network is attached. Sockets
    /// connect the interfaces of ranks to which they carry the messages; libfabric does by `work`, without which
    /// there are no programs.
    ///
    /// # Errors
    /// As [`Shm::run_programs`], [`PutLinks::new`] and [`WorkLinks::new`].
    pub(crate) fn run_programs(
        &mut self, me: Peer, size: Peer, work: Option<(WorkEndpoint, SharedSecret)>,
    ) -> Result {
        let links: Option<Box<dyn InterfaceLinks>> = match (self.network.as_deref_mut(), work) {
            (Some(Network::Tcp(sockets)), _) => {
                let links = PutLinks::new(me, size, sockets.are_everywhere())?;
                sockets.serve_programs(links.desk());
                Some(Box::new(links))
            }
            (Some(Network::Carrier(carrier)), Some((endpoint, secret))) => {
                let is_everywhere = carrier.is_everywhere();
                Some(Box::new(WorkLinks::new(me, size, is_everywhere, endpoint, secret)?))
            }
            (Some(Network::Carrier(_)), None) => return Ok(()),
            _ => None,
        };
        self.node.run_programs(links)
    }

    /// Makes a simulated network interface carry messages, before the first message: see
    /// [`Tofu::attach`].
    ///
    /// # Errors
    /// As [`Tofu::attach`].
    pub(crate) fn attach_interface(
        &mut self, segment: OwnedFd, me: usize, ranks: &[Peer], settings: &tofu::TofuSettings,
    ) -> Result {
        let tofu = Tofu::attach(segment, me, ranks, settings)?;
        self.network = Some(Box::new(Network::Tofu(tofu)));
        Ok(())
    }

    /// Makes TCP carry the messages to ranks on other hosts, or with `everywhere` to all ranks but
    /// `me`, before the first message; beside libfabric, those to processes of other jobs.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors.
    pub(crate) fn attach_sockets(&mut self, tcp: Tcp, me: Peer, everywhere: bool) -> Result {
        if let Some(Network::Carrier(carrier)) = self.network.as_deref_mut() {
            return carrier.add_sockets(tcp, &mut self.node);
        }
        let scope = if everywhere { SocketScope::All(me) } else { SocketScope::Hosts };
        let sockets = Sockets::new(tcp, scope, &mut self.node)?;
        match self.network.as_deref_mut() {
            Some(Network::Bridged(bridged)) => bridged.add_sockets(sockets),
            _ => {
                self.network = Some(Box::new(Network::Tcp(sockets)));
                Ok(())
            }
        }
    }

    /// Makes a translator carry the messages to other clients of the world, before the first message,
    /// after the network of the own job is attached.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors, or beside `tofu`.
    pub(crate) fn attach_bridge(&mut self, translator: Translator) -> Result {
        let bridged = Bridged::new(translator, self.network.take(), &mut self.node)?;
        self.network = Some(Box::new(Network::Bridged(bridged)));
        Ok(())
    }

    /// The simulated network interface of this rank.
    #[inline]
    fn interface(&mut self) -> Option<&mut Tofu> {
        match self.network.as_deref_mut() {
            Some(Network::Tofu(interface)) => Some(interface),
            _ => None,
        }
    }

    /// The sockets of the own job.
    #[inline]
    fn own_sockets(&self) -> Option<&Sockets> {
        self.network.as_deref().and_then(Network::sockets)
    }

    /// Makes another library carry the messages of a scope, before the first message.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors.
    pub(crate) fn attach_carrier(
        &mut self, library: CarrierLibrary, short_max: usize, reach: CarrierReach,
    ) -> Result {
        let network = CarrierNetwork::new(library, short_max, reach, &mut self.node)?;
        self.network = Some(Box::new(Network::Carrier(network)));
        Ok(())
    }

    /// Whether another library carries messages.
    pub(crate) fn has_carrier(&mut self) -> bool {
        self.network.as_deref_mut().and_then(Network::carrier_mut).is_some()
    }

    /// Libfabric, its provider and its domain, if it carries messages; else nothing.
    pub(crate) fn fabric_description(&self) -> String {
        match self.network.as_deref() {
            Some(Network::Carrier(carrier)) => carrier.fabric_description(),
            _ => String::new(),
        }
    }

    /// Makes a thread wait for the messages of the other library, if there is one.
    ///
    /// # Errors
    /// `NoMem` if the system cannot start a thread.
    pub(crate) fn start_carrier_thread(&mut self, is_crowded: bool) -> Result {
        match self.network.as_deref_mut().and_then(Network::carrier_mut) {
            Some(carrier) => carrier.start_thread(&self.node, is_crowded),
            None => Ok(()),
        }
    }

    /// Ends the calls of the other library by other threads, if there are any.
    pub(crate) fn stop_carrier_thread(&mut self) {
        if let Some(carrier) = self.network.as_deref_mut().and_then(Network::carrier_mut) {
            carrier.device.stop_thread();
        }
    }

    /// Closes the endpoint, after [`Devices::close_carrier`].
    pub(crate) fn drop_carrier(&mut self) {
        self.network = None;
    }

    /// Ends all operations of the other library, after the last packet of all ranks; whether none is left.
    pub(crate) fn close_carrier(&mut self) -> bool {
        let carrier = self.network.as_deref_mut().and_then(Network::carrier_mut);
        carrier.is_none_or(|carrier| carrier.device.close())
    }

    /// Lets this process reach other jobs, with sockets that it opens when they are needed first.
    pub(crate) fn listen_when_needed(&mut self, listening: Listening) {
        self.listening = Some(Box::new(listening));
    }

    /// A sentence about connections of strangers, if there were some.
    pub(crate) fn stranger_report(&self) -> Option<String> {
        self.own_sockets().and_then(Sockets::stranger_report)
    }

    /// Whether sockets carry messages.
    pub(crate) fn has_sockets(&self) -> bool {
        let is_bridged = matches!(self.network.as_deref(), Some(Network::Bridged(_)));
        is_bridged || self.own_sockets().is_some()
    }

    /// Opens the sockets for other jobs.
    ///
    /// # Errors
    /// As [`Tcp::listen`].
    fn open_sockets(&mut self) -> Result {
        let Some(listening) = self.listening.take() else { return Ok(()) };
        let Listening { rank, size, job, shares_secret, settings } = *listening;
        let listen =
            |spans_hosts| Tcp::listen(rank, size as usize, spans_hosts, job.clone(), &settings);
        // A host without a network has jobs, too.
        let mut tcp = listen(true).or_else(|_| listen(false))?;
        if shares_secret {
            tcp.share_secret();
        }
        // Threads that sleep know nothing of the sockets.
        self.node.wake_self();
        self.attach_sockets(tcp, rank, false)
    }

    /// Where the sockets listen and which addresses they announce, one sentence each; none without
    /// sockets.
    pub(crate) fn sockets(&self) -> Vec<String> {
        self.own_sockets().map_or_else(Vec::new, Sockets::explanations)
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

    /// Records that the ranks of this host share processors; all of them call this before their first
    /// packet.
    ///
    /// # Panics
    /// After the first packet.
    pub(crate) fn share_processors(&mut self) {
        self.node.share_processors();
        if let Some(interface) = self.interface() {
            interface.share_processors();
        }
    }

    /// Whether this rank has sent a message to another host, and has had nothing from there since.
    #[inline]
    pub(crate) fn awaits_answer(&self) -> bool {
        self.network.as_deref().is_some_and(Network::awaits_answer)
    }

    /// As [`Shm::status_table`].
    pub(crate) fn status_table(&self) -> StatusTable {
        self.node.status_table()
    }

    /// The process of `peer` has ended: sockets to it are closed, and memory that they have borrowed is
    /// given back.
    pub(crate) fn peer_ended(&mut self, peer: Peer, why: &str) {
        if let Some(network) = self.network.as_deref_mut() {
            network.peer_ended(&self.node, peer, why);
        }
        let why = format!("rank {peer} of the world has failed: its process {why}");
        self.node.programs_lose(peer, &ErrorClass::ProcFailed.error(why));
    }

    /// As [`Shm::has_ended`]. The end of a rank on another host is known if a datagram could not be sent to
    /// it; else it [fails](PacketSink::failed).
    pub(crate) fn has_ended(&self, rank: Peer) -> bool {
        match self.node.reaches(rank) {
            true => self.node.has_ended(rank),
            false => {
                let network = self.network.as_deref();
                network.is_some_and(|network| network.has_ended(&self.node, rank))
            }
        }
    }
}

/// Waits if injected noise keeps this process from sending. Never on the short path.
#[inline]
fn before_send(interruptions: Option<&Interruptions>) {
    if let Some(interruptions) = interruptions {
        interruptions.before_send();
    }
}

impl Device for Devices {
    #[inline]
    fn caps(&self) -> Caps {
        match self.network.as_deref() {
            None => self.node.caps(),
            Some(network) => network.caps(self.node.caps()),
        }
    }

    #[inline]
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        match self.network.as_deref_mut() {
            None => self.node.send_short(peer, header, data),
            Some(network) => {
                before_send(self.interruptions.as_deref());
                let fill = |room: &mut [u8]| room.copy_from_slice(data);
                network.send(&mut self.node, peer, header, data.len(), fill)
            }
        }
    }

    #[inline(always)]
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        match self.network.as_deref_mut() {
            None => self.node.send(peer, header, len, fill),
            Some(network) => {
                before_send(self.interruptions.as_deref());
                network.send(&mut self.node, peer, header, len, fill)
            }
        }
    }

    #[inline]
    fn peer_caps(&self, peer: Peer) -> PeerCaps {
        match self.network.as_deref() {
            None => self.node.peer_caps(peer),
            Some(network) => network.peer_caps(&self.node, peer),
        }
    }

    #[inline]
    fn send_contiguous(&mut self, peer: Peer, header: &Header, data: Span) -> Result<(), Busy> {
        match self.network.as_deref_mut() {
            None => self.node.send_contiguous(peer, header, data),
            Some(network) => {
                before_send(self.interruptions.as_deref());
                network.send_contiguous(&mut self.node, peer, header, data)
            }
        }
    }

    fn send_lent(
        &mut self, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        match self.network.as_deref_mut() {
            None => self.node.send_lent(peer, header, data, token),
            Some(network) => {
                before_send(self.interruptions.as_deref());
                network.send_lent(&mut self.node, peer, header, data, token)
            }
        }
    }

    fn send_datagram(&mut self, peer: Peer, data: &[u8]) {
        let Self { node, network, .. } = self;
        if let Some(network) = network.as_deref_mut() {
            network.send_datagram(node, peer, data);
        }
    }

    fn is_drained(&self) -> bool {
        self.network.as_deref().is_none_or(Network::is_drained)
    }

    fn leave(&mut self) {
        Device::leave(&mut self.node);
        if let Some(network) = self.network.as_deref_mut() {
            network.leave();
        }
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        match self.network.as_deref_mut() {
            None => self.node.poll(sink),
            Some(network) => {
                if let Some(interruptions) = &self.interruptions {
                    interruptions.before_poll();
                }
                network.poll(&mut self.node, sink)
            }
        }
    }

    fn arm(&mut self) -> WakeSource {
        match self.network.as_deref_mut() {
            None => self.node.arm(),
            Some(network) => network.arm(&mut self.node),
        }
    }

    fn disarm(&mut self) {
        match self.network.as_deref_mut() {
            None => self.node.disarm(),
            Some(network) => network.disarm(&mut self.node),
        }
    }

    fn wake_self(&mut self) {
        match self.network.as_deref_mut() {
            None => self.node.wake_self(),
            Some(network) => network.wake_self(&mut self.node),
        }
    }

    fn quiescence(&self) -> Option<u64> {
        match self.network.as_deref() {
            None => self.node.quiescence(),
            Some(network) => network.quiescence(&self.node),
        }
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        match self.network.as_deref() {
            None | Some(Network::Node) => self.node.bulk(),
            Some(Network::Carrier(carrier))
                if !carrier.is_everywhere() && carrier.sockets().is_none() =>
            {
                self.node.bulk()
            }
            Some(Network::Tofu(_)) => self.interface().and_then(Device::bulk),
            Some(network) if network.is_everywhere() => None,
            Some(_) if self.node.bulk().is_none() => None,
            Some(_) => Some(self),
        }
    }

    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        match self.network.as_deref_mut() {
            None => self.node.shared_memory(),
            Some(Network::Tofu(interface)) => interface.shared_memory(),
            Some(network) if network.is_everywhere() => None,
            Some(_) => self.node.shared_memory(),
        }
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        match self.network.as_deref() {
            None | Some(Network::Node) => self.node.rma(),
            Some(Network::Tofu(_)) => self.interface().and_then(Device::rma),
            Some(Network::Carrier(carrier)) if carrier.has_one_sided() => Some(self),
            // Below another library, accesses are messages, which that library carries.
            Some(network) if network.has_carrier() => None,
            Some(_) => Some(self),
        }
    }

    fn host_memory(&mut self) -> Option<&mut dyn Rma> {
        self.node.rma()
    }

    fn near_memory(&mut self) -> Option<&mut dyn NearMemory> {
        let sockets = self.network.as_deref_mut().and_then(Network::sockets_mut);
        sockets.and_then(Sockets::near_memory)
    }

    fn reach(&mut self) -> Option<&mut dyn Reach> {
        if self.own_sockets().is_none()
            && self.network.as_deref().is_none_or(Network::admits_sockets)
            && let Err(error) = self.open_sockets()
        {
            tracing::warn!(%error, "this process reaches no other jobs");
        }
        let sockets = self.network.as_deref_mut().and_then(Network::sockets_mut);
        sockets.map(Sockets::reach)
    }

    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        match self.network.as_deref_mut() {
            Some(Network::Tofu(interface)) => interface.trigger(),
            _ => self.node.trigger(),
        }
    }

    #[inline]
    fn notify(&mut self, peer: Peer) {
        match self.network.as_deref_mut() {
            Some(Network::Tofu(interface)) => interface.notify(peer),
            _ => self.node.notify(peer),
        }
    }

    #[inline]
    fn notify_if(&mut self, peer: Peer, is_awaited: impl FnOnce() -> bool) {
        match self.network.as_deref_mut() {
            Some(Network::Tofu(interface)) => interface.notify_if(peer, is_awaited),
            _ => self.node.notify_if(peer, is_awaited),
        }
    }
}

#[cfg(test)]
mod tests;
