//! The network of a node: access of an interface to memory and counters of its peers. Other ranks are
//! reached by [`InterfaceLinks`], if the device has some.
//!
//! Memory is read and written by process_vm_readv(2) and process_vm_writev(2), after a look into
//! the registrations of its owner; places, which are mapped, are written by a copy. Counters, places and
//! registrations lie in the segment of the device. An addition to a counter wakes the engine thread of the owner.

use super::area::{InterfaceArea, WORDS};
use super::atomic_request::AtomicRequest;
use super::primitive::Ordering;
use crate::device::Busy;
use crate::device::rma::{MemoryKey, RemoteAccess, RemoteAddress};
use crate::device::trigger::CounterKey;
use crate::devices::interface::{Counters, InterfaceAction, Signal, combine};
use crate::devices::put_links::{InterfaceLinks, Landing};
use crate::devices::rings::NodeRanks;
use crate::devices::rings::doorbells::PeerDoorbell;
use crate::devices::rings::memory::Mapped;
use crate::devices::rings::peer_address::PeerAddress;
use crate::devices::rings::registrations::RegistrationTable;
use crate::devices::rings::wake_word::WakeWord;
use platform::base::{ErrorClass, Peer, Result, Span};
use platform::sys::{cma, futex};

/// What the ranks of a node use of the interface of one of them; parts of the segment of the device.
pub(crate) struct InterfaceParts {
    pub(crate) area: Mapped<InterfaceArea>,
    /// The process of the rank.
    pub(crate) address: Mapped<PeerAddress>,
    /// The word on which the application of the rank sleeps.
    pub(crate) host_wake_word: Mapped<WakeWord>,
    /// Memory that peers may read and write.
    pub(crate) registrations: Mapped<RegistrationTable>,
}

/// The interfaces of all ranks of a node, at one of them.
pub(crate) struct HostFabric {
    me: usize,
    node_ranks: NodeRanks,
    /// By slot.
    parts: Box<[InterfaceParts]>,
    links: Option<Box<dyn InterfaceLinks>>,
    /// Those of the engine threads, by slot.
    engine_doorbells: Box<[PeerDoorbell]>,
    /// That of the application of this rank, if it reaches other hosts or jobs.
    host_doorbell: PeerDoorbell,
}

impl HostFabric {
    /// At the rank `ranks[me]`; `parts` are those of all ranks, in the same order.
    pub(crate) fn new(me: usize, ranks: &[Peer], parts: Vec<InterfaceParts>) -> Self {
        assert!(me < ranks.len() && ranks.len() == parts.len());
        parts[me].area.publish_places();
        Self {
            me,
            node_ranks: NodeRanks::new(ranks),
            engine_doorbells: parts.iter().map(|_| PeerDoorbell::default()).collect(),
            parts: parts.into(),
            links: None,
            host_doorbell: PeerDoorbell::default(),
        }
    }

    /// With links to ranks that are not reached by memory; before the engine thread starts.
    pub(crate) fn linked(self, links: Box<dyn InterfaceLinks>) -> Self {
        self.own().area.engine_wake_word.publish_doorbell(links.doorbell());
        Self { links: Some(links), ..self }
    }

    /// The links to other ranks, if there may be some.
    pub(crate) fn links(&self) -> Option<&dyn InterfaceLinks> {
        self.links.as_deref()
    }

    /// The links, if they lead to `peer`.
    pub(crate) fn links_toward(&self, peer: Peer) -> Option<&dyn InterfaceLinks> {
        let is_far = || self.node_ranks.find_slot(peer).is_none();
        self.links().filter(|links| links.knows(peer) && (links.are_everywhere() || is_far()))
    }

    /// The slot of this rank.
    pub(crate) fn own_slot(&self) -> usize {
        self.me
    }

    /// The interface of this rank.
    pub(crate) fn own(&self) -> &InterfaceParts {
        &self.parts[self.me]
    }

    /// The interfaces of all, by slot.
    pub(crate) fn parts(&self) -> &[InterfaceParts] {
        &self.parts
    }

    /// The slot of a peer.
    ///
    /// # Panics
    /// If `peer` is not on this node.
    pub(crate) fn slot_of(&self, peer: Peer) -> usize {
        self.node_ranks.slot_of(peer)
    }

    /// Whether `peer` is on this node, or one to which there may be a link.
    pub(crate) fn reaches(&self, peer: Peer) -> bool {
        self.node_ranks.find_slot(peer).is_some() || self.links_toward(peer).is_some()
    }

    /// Wakes the application of this rank if it is armed.
    pub(crate) fn wake_host(&self) {
        let wake_word = &self.own().host_wake_word;
        if wake_word.notify(true) {
            self.host_doorbell.wake(wake_word);
        }
    }

    /// Wakes the engine thread of this rank if it is armed.
    pub(crate) fn wake_engine(&self) {
        let Some(links) = &self.links else { return self.wake_engine_of(self.me) };
        let wake_word = &self.own().area.engine_wake_word;
        if wake_word.notify(true) {
            links.ring();
            // A thread that leaves the links to the application sleeps here.
            futex::wake(wake_word.word());
        }
    }

    fn wake_engine_of(&self, slot: usize) {
        let wake_word = &self.parts[slot].area.engine_wake_word;
        if wake_word.notify(true) {
            self.engine_doorbells[slot].wake(wake_word);
        }
    }

    /// The slot of a peer, and the address of its memory in its process.
    ///
    /// # Errors
    /// `Rank` if the peer is not on this node, `RmaRange` or `Access` if it has not registered the
    /// memory for this access.
    pub(crate) fn resolve(
        &self, at: RemoteAddress, len: usize, access: RemoteAccess,
    ) -> Result<(usize, u64)> {
        let Some(slot) = self.node_ranks.find_slot(at.peer) else {
            return Err(ErrorClass::Rank.error(format!("rank {} is not on this node", at.peer)));
        };
        let found = self.parts[slot].registrations.find(at.key)?;
        Ok((slot, found.locate(at.offset, len, access)?))
    }

    /// Sends a request to the interface of the rank in `slot`.
    ///
    /// # Errors
    /// [`Busy`] without packet for it.
    pub(crate) fn post(&self, slot: usize, request: AtomicRequest) -> Result<(), Busy> {
        let (header, data) = request.pack();
        let area = &self.parts[slot].area;
        area.requests()
            .send(self.me as u32, &header, data.len(), |packet| packet.copy_from_slice(&data))?;
        self.wake_engine_of(slot);
        Ok(())
    }

    /// Performs an action completely.
    ///
    /// # Errors
    /// As [`HostFabric::resolve`]; `Other` if the system refuses.
    ///
    /// # Panics
    /// For an update, which the owner of the number performs ([`HostFabric::post`]), and for a reduction.
    pub(crate) fn perform(&self, action: &InterfaceAction) -> Result {
        match *action {
            InterfaceAction::Put { from, to, signal } => {
                self.write(from, to)?;
                if let Some(signal) = signal {
                    self.signal(self.slot_of(to.peer), signal);
                }
            }
            InterfaceAction::Get { from, into } => {
                let (slot, address) = self.resolve(from, into.len(), RemoteAccess::Read)?;
                let pid = self.parts[slot].address.pid();
                cma::read(pid, address, into).map_err(|error| {
                    let what = format!("{} bytes of rank {}", into.len(), from.peer);
                    ErrorClass::Other.error(format!("cannot read {what}: {error}"))
                })?;
            }
            InterfaceAction::Signal { peer, signal } => self.signal(self.slot_of(peer), signal),
            InterfaceAction::Copy { from, into } => from.copy_to(into),
            InterfaceAction::Combine { from, into, with } => combine(from, into, with),
            InterfaceAction::Update { .. } | InterfaceAction::Reduce { .. } => {
                unreachable!(
                    "an update is made by the owner of the number, a reduction by a kernel"
                )
            }
        }
        Ok(())
    }

    fn write(&self, from: Span, to: RemoteAddress) -> Result {
        let (slot, address) = self.resolve(to, from.len(), RemoteAccess::ReadWrite)?;
        if from.is_empty() {
            return Ok(());
        }
        if let Some(place) = self.parts[slot].area.find_in_places(address, from.len()) {
            from.copy_to(place);
            return Ok(());
        }
        let pid = self.parts[slot].address.pid();
        // SAFETY: the peer has registered these bytes for writes (`resolve`) and not ended the
        // registration: after that, no rank may use the key (`Rma::deregister`).
        unsafe { cma::write(pid, from, address) }.map_err(|error| {
            let what = format!("{} bytes to memory of rank {}", from.len(), to.peer);
            ErrorClass::Other.error(format!("cannot write {what}: {error}"))
        })
    }

    /// Counts a change of a number of this rank, and wakes the application if it is armed.
    pub(crate) fn count_update(&self) {
        self.own().area.counter_activity.additions.0.fetch_add(1, Ordering::SeqCst);
        self.wake_host();
    }

    fn signal(&self, slot: usize, signal: Signal) {
        let area = &self.parts[slot].area;
        if !area.add(signal) {
            return;
        }
        area.counter_activity.additions.0.fetch_add(1, Ordering::SeqCst);
        if slot != self.me {
            self.wake_engine_of(slot);
        }
    }
}

/// What arrives from other nodes.
impl Landing for HostFabric {
    fn locate(&self, key: MemoryKey, offset: u64, len: usize) -> Result<Option<Span>> {
        let registrations = &self.own().registrations;
        let found = match registrations.find(key) {
            Ok(found) => found,
            Err(_) if registrations.has_ended(key) => return Ok(None),
            Err(error) => return Err(error),
        };
        let address = found.locate(offset, len, RemoteAccess::ReadWrite)?;
        // SAFETY: the application has registered these bytes for writes and not ended the registration:
        // after that, it waits until nothing is written (`InterfaceLinks::fence`).
        Ok(Some(unsafe { Span::new(address as *const u8, len) }))
    }

    fn count(&self, signal: Signal) -> Result {
        if !(1..=WORDS as u64).contains(&signal.counter.0) {
            let why = format!("an interface has no counter {}", signal.counter.0);
            return Err(ErrorClass::Arg.error(why));
        }
        self.signal(self.me, signal);
        Ok(())
    }
}

/// Levels of the own counters.
impl Counters for HostFabric {
    fn level(&self, counter: CounterKey) -> u64 {
        let index = counter.0 as usize - 1;
        self.own().area.counters[index % WORDS].load(Ordering::Acquire)
    }

    fn add(&self, counter: CounterKey, value: u64) {
        self.own().area.add(Signal { counter, value });
    }

    fn additions(&self) -> u64 {
        self.own().area.counter_activity.additions.0.load(Ordering::SeqCst)
    }

    fn take_changed(&self, mut each: impl FnMut(CounterKey)) {
        self.own().area.counter_activity.take_marked(|index| each(CounterKey(index as u64 + 1)));
    }
}
