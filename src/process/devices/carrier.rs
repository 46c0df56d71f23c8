//! Another MPI library beside shared memory.
//!
//! Its messages and shared memory are polled in turn, as in the polling mode of GridMPI. Another MPI has nothing
//! to sleep on, so a rank that waits sleeps in naps and polls in between; in thread mode the thread wakes it, and
//! it sleeps like any other. Many providers of libfabric have a descriptor, which ends a sleep.
//!
//! Processes of other jobs are reached by sockets beside libfabric, which are opened for the first of them.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use super::network::{SocketScope, Sockets, common};
use super::socket_interval::SocketInterval;
use crate::device::{Caps, Device, PacketSink, PeerCaps, WakeSource};
use crate::devices::carrier::Carrier;
use crate::devices::carrier::library::CarrierLibrary;
use crate::devices::carrier::settings::CarrierScope;
use crate::devices::shm::Shm;
use crate::devices::tcp::Tcp;
use platform::base::{ErrorClass, Peer, Result};
use platform::sys::doorbell::Doorbell;
use platform::sys::tcp::Watched;

/// The first nap after an arrival, and the longest: a rank that waits for long takes a hundredth of a
/// processor.
const NAP_MIN: Duration = Duration::from_micros(50);
const NAP_MAX: Duration = Duration::from_millis(1);

/// Who is reached by a library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CarrierReach {
    /// This rank, and the number of ranks.
    pub(crate) me: Peer,
    pub(crate) size: u32,
    /// The messages that the library carries.
    pub(crate) scope: CarrierScope,
    /// Whether all ranks run on one host.
    pub(crate) is_one_host: bool,
    /// Whether the job goes on when ranks fail.
    pub(crate) survives_failures: bool,
}

/// The library of this rank.
pub(super) struct CarrierNetwork {
    pub(super) device: Carrier<CarrierLibrary>,
    library: Arc<CarrierLibrary>,
    /// What one sleep covers: the descriptor of the library, and the doorbell of this rank.
    watched: Option<Watched>,
    reach: CarrierReach,
    interval: SocketInterval,
    nap: Duration,
    /// For processes of other jobs.
    sockets: Option<Box<Sockets>>,
}

impl CarrierNetwork {
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors.
    pub(super) fn new(
        library: CarrierLibrary, short_max: usize, reach: CarrierReach, node: &mut Shm,
    ) -> Result<Self> {
        let watched = library.descriptor().map(|descriptor| watch(descriptor, node)).transpose();
        let watched = watched.map_err(|error| {
            let why = format!("a rank that sleeps on a descriptor needs more of them: {error}");
            ErrorClass::Other.error(why)
        })?;
        let library = Arc::new(library);
        let mut device = Carrier::new(Arc::clone(&library), reach.me, reach.size, short_max);
        if reach.is_one_host {
            device.runs_on_one_host();
        }
        if reach.survives_failures {
            device.survive_failures();
        }
        if let Some(fast_max) = library.fast_access_max() {
            device.offer_one_sided(fast_max);
        }
        let interval = SocketInterval::new();
        let sockets = None;
        Ok(Self { device, library, watched, reach, interval, nap: NAP_MIN, sockets })
    }

    /// Lets sockets reach processes of other jobs.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors.
    pub(super) fn add_sockets(&mut self, tcp: Tcp, node: &mut Shm) -> Result {
        let sockets = Sockets::new(tcp, SocketScope::OtherJobs(self.reach.size), node)?;
        if let Some(descriptor) = self.library.descriptor() {
            sockets.watch_beside(descriptor)?;
        }
        self.sockets = Some(Box::new(sockets));
        Ok(())
    }

    /// Whether the library is libfabric.
    pub(super) fn is_fabric(&self) -> bool {
        matches!(&*self.library, CarrierLibrary::Fabric(_))
    }

    /// Whether it makes accesses to memory of peers.
    pub(super) fn has_one_sided(&self) -> bool {
        self.device.has_one_sided()
    }

    pub(super) fn sockets(&self) -> Option<&Sockets> {
        self.sockets.as_deref()
    }

    pub(super) fn sockets_mut(&mut self) -> Option<&mut Sockets> {
        self.sockets.as_deref_mut()
    }

    /// Whether sockets carry the messages to `peer`.
    #[inline]
    pub(super) fn reaches_by_sockets(&self, node: &Shm, peer: Peer) -> bool {
        self.sockets.as_ref().is_some_and(|sockets| sockets.carries(node, peer))
    }

    /// # Panics
    /// Without sockets.
    pub(super) fn sockets_for_packet(&mut self) -> &mut Tcp {
        self.sockets.as_mut().expect("a peer of another job has a connection").for_packet()
    }

    pub(super) fn caps(&self, node: Caps) -> Caps {
        let both = common(self.device.caps(), node);
        self.sockets.as_ref().map_or(both, |sockets| common(sockets.tcp().caps(), both))
    }

    pub(super) fn peer_caps(&self, node: &Shm, peer: Peer) -> PeerCaps {
        match &self.sockets {
            _ if self.carries(node, peer) => self.device.peer_caps(peer),
            Some(sockets) if sockets.carries(node, peer) => sockets.tcp().peer_caps(peer),
            Some(_) | None => node.peer_caps(peer),
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        let others = self.sockets.as_ref().is_none_or(|sockets| sockets.tcp().is_drained());
        others && self.device.is_drained()
    }

    pub(super) fn leave(&mut self) {
        self.device.leave();
        if let Some(sockets) = &mut self.sockets {
            sockets.leave();
        }
    }

    /// Libfabric, its provider and its domain, if it is the library.
    pub(super) fn fabric_description(&self) -> String {
        match &*self.library {
            CarrierLibrary::Fabric(endpoint) => endpoint.description().to_owned(),
            CarrierLibrary::Vendor(_) => String::new(),
        }
    }

    /// Begins thread mode.
    ///
    /// # Errors
    /// `NoMem` if the system cannot start a thread.
    pub(super) fn start_thread(&mut self, node: &Shm, is_crowded: bool) -> Result {
        let waker = node.own_waker();
        self.device.start_thread(is_crowded, move || waker.wake())
    }

    /// Whether the library carries the messages to ranks of this host, too.
    pub(super) fn is_everywhere(&self) -> bool {
        self.reach.scope == CarrierScope::Ranks
    }

    /// Whether the library carries the messages to `peer`.
    #[inline]
    pub(super) fn carries(&self, node: &Shm, peer: Peer) -> bool {
        let is_of_job = peer < self.reach.size;
        match self.reach.scope {
            CarrierScope::Ranks => is_of_job && peer != self.reach.me,
            CarrierScope::Hosts => is_of_job && !node.reaches(peer),
        }
    }

    #[inline]
    pub(super) fn poll(&mut self, node: &mut Shm, sink: &mut impl PacketSink) -> usize {
        let arrived = node.poll(sink);
        // Where all messages come by the library, shared memory has next to none.
        let beside = match self.reach.scope {
            CarrierScope::Ranks => self.device.poll(sink),
            CarrierScope::Hosts if self.interval.is_due(arrived, true) => {
                let beside = self.device.poll(sink);
                self.interval.polled(beside);
                beside
            }
            CarrierScope::Hosts => 0,
        };
        let mut count = arrived + beside;
        if let Some(sockets) = &mut self.sockets {
            count = sockets.poll_beside(count, sink);
        }
        if count > 0 {
            self.nap = NAP_MIN;
        }
        count
    }

    pub(super) fn disarm(&mut self, node: &mut Shm) {
        match &mut self.sockets {
            Some(sockets) => sockets.disarm(node),
            None => node.disarm(),
        }
    }

    pub(super) fn arm(&mut self, node: &mut Shm) -> WakeSource {
        let wake = match &mut self.sockets {
            Some(sockets) => sockets.arm(node),
            None => node.arm(),
        };
        match wake {
            WakeSource::Descriptor { .. } if self.may_sleep() => wake,
            // It does not cover what is on its way from here; beside other clients, nor the library.
            WakeSource::Descriptor { word, expected, .. } => self.nap_on(word, expected),
            WakeSource::Word { word, expected } if !self.device.has_thread() => {
                self.nap_on(word, expected)
            }
            other => other,
        }
    }

    /// Whether the descriptor of the library tells of all that will come.
    fn may_sleep(&self) -> bool {
        match &*self.library {
            CarrierLibrary::Fabric(endpoint) if self.watched.is_some() => {
                self.device.is_drained() && endpoint.may_sleep()
            }
            CarrierLibrary::Fabric(_) | CarrierLibrary::Vendor(_) => false,
        }
    }

    fn nap_on(
        &mut self, word: Arc<dyn AsRef<AtomicU32> + Send + Sync>, expected: u32,
    ) -> WakeSource {
        let longest = self.nap;
        // What is under way in the library moves in calls of both ranks.
        let is_idle = self.device.quiescence().is_some();
        self.nap = if is_idle { NAP_MAX.min(2 * longest) } else { NAP_MIN };
        WakeSource::Polled { word, expected, longest }
    }

    /// Packets of all. Nobody compares those of several jobs.
    pub(super) fn quiescence(&self, node: &Shm) -> Option<u64> {
        let own = self.device.quiescence().filter(|_| self.sockets.is_none())?;
        Some(own.wrapping_add(node.quiescence()?))
    }
}

/// Makes one sleep cover `descriptor` and shared memory.
fn watch(descriptor: BorrowedFd<'_>, node: &mut Shm) -> io::Result<Watched> {
    let (watched, doorbell) = (Watched::new()?, Doorbell::new()?);
    watched.add_beside(descriptor)?;
    watched.add_beside(&doorbell)?;
    node.wait_for_descriptor(doorbell, watched.descriptor());
    Ok(watched)
}
