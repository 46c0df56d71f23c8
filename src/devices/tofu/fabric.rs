//! How an interface gets at memory and counters of its peers: the wires of the simulated network.
//!
//! Memory is read and written from outside (process_vm_readv(2) and its opposite), after a look at
//! the steering tags of its owner. Counters and tags lie in the segment. Who adds to a counter
//! wakes what may wait for that: the engine thread of its owner, and the host if that runs programs.

use super::atomic_request::AtomicRequest;
use super::primitive::Ordering;
use super::segment::{TofuArea, WORDS};
use crate::device::Busy;
use crate::device::rma::{RemoteAccess, RemoteAddress};
use crate::device::trigger::CounterKey;
use crate::devices::interface::{Counters, InterfaceAction, Signal, combine};
use crate::devices::rings::NodeRanks;
use crate::devices::rings::memory::Mapped;
use crate::devices::rings::wake_word::WakeWord;
use platform::base::{ErrorClass, Peer, Result, Span};
use platform::sys::{cma, futex};

/// All ranks of a node, as one of them sees them.
pub(crate) struct TofuFabric {
    me: usize,
    node_ranks: NodeRanks,
    /// By slot.
    areas: Box<[Mapped<TofuArea>]>,
}

impl TofuFabric {
    /// As the rank `ranks[me]`, where `areas` are those of all ranks, in the same order.
    pub(crate) fn new(me: usize, ranks: &[Peer], areas: Vec<Mapped<TofuArea>>) -> Self {
        assert!(me < ranks.len() && ranks.len() == areas.len());
        Self { me, node_ranks: NodeRanks::new(ranks), areas: areas.into() }
    }

    /// The slot of this rank.
    pub(crate) fn own_slot(&self) -> usize {
        self.me
    }

    /// The area of this rank.
    pub(crate) fn own(&self) -> &Mapped<TofuArea> {
        &self.areas[self.me]
    }

    /// The areas of all, by slot.
    pub(crate) fn areas(&self) -> &[Mapped<TofuArea>] {
        &self.areas
    }

    /// The slot of a peer.
    ///
    /// # Panics
    /// If it is not on this node.
    pub(crate) fn slot_of(&self, peer: Peer) -> usize {
        self.node_ranks.slot_of(peer)
    }

    /// Wakes this rank if it sleeps: something that it waits for has happened.
    pub(crate) fn wake_host(&self) {
        wake(self.own().receive_queues.wake_word());
    }

    /// Wakes the engine thread of this rank if it sleeps.
    pub(crate) fn wake_engine(&self) {
        wake(&self.own().engine_wake_word);
    }

    /// Where memory of a peer is in its process, and its slot.
    ///
    /// # Errors
    /// `Rank` without such a peer; else as [`TagTable::resolve`](super::tags::TagTable::find).
    pub(crate) fn resolve(
        &self, at: RemoteAddress, len: usize, access: RemoteAccess,
    ) -> Result<(usize, u64)> {
        let Some(slot) = self.node_ranks.find_slot(at.peer) else {
            return Err(ErrorClass::Rank.error(format!("rank {} is not on this node", at.peer)));
        };
        Ok((slot, self.areas[slot].tags.find(at.key, at.offset, len, access)?))
    }

    /// Sends a letter to the interface of the rank in `slot_of`.
    ///
    /// # Errors
    /// [`Busy`] without room for it.
    pub(crate) fn post(&self, slot: usize, letter: AtomicRequest) -> Result<(), Busy> {
        let (header, data) = letter.pack();
        let area = &self.areas[slot];
        area.atomic_requests
            .send(self.me as u32, &header, data.len(), |room| room.copy_from_slice(&data))?;
        wake(&area.engine_wake_word);
        Ok(())
    }

    /// Does an action to the end.
    ///
    /// # Errors
    /// As [`TofuFabric::resolve`]; `Other` if the system refuses.
    ///
    /// # Panics
    /// If it is an update, which its owner makes ([`TofuFabric::post`]).
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
                let pid = self.areas[slot].address.pid();
                cma::read(pid, address, into).map_err(|error| {
                    let what = format!("{} bytes of rank {}", into.len(), from.peer);
                    ErrorClass::Other.error(format!("cannot read {what}: {error}"))
                })?;
            }
            InterfaceAction::Signal { peer, signal } => self.signal(self.slot_of(peer), signal),
            InterfaceAction::Copy { from, into } => from.copy_to(into),
            InterfaceAction::Combine { from, into, with } => combine(from, into, with),
            InterfaceAction::Update { .. } => {
                unreachable!("an update is made by the owner of the number")
            }
        }
        Ok(())
    }

    fn write(&self, from: Span, to: RemoteAddress) -> Result {
        let (slot, address) = self.resolve(to, from.len(), RemoteAccess::ReadWrite)?;
        if from.is_empty() {
            return Ok(());
        }
        let pid = self.areas[slot].address.pid();
        // SAFETY: the peer has registered these bytes for being written (`resolve`) and not ended that,
        // after which nobody may use the key (`Rma::deregister`).
        unsafe { cma::write(pid, from, address) }.map_err(|error| {
            let what = format!("{} bytes to memory of rank {}", from.len(), to.peer);
            ErrorClass::Other.error(format!("cannot write {what}: {error}"))
        })
    }

    fn signal(&self, slot: usize, signal: Signal) {
        let area = &self.areas[slot];
        // A key that means nothing comes from a program that is wrong, and changes nothing.
        let Some(level) = area.counters.get((signal.counter.0 as usize).wrapping_sub(1)) else {
            return;
        };
        // After every byte that was written before; also those that the kernel wrote for us.
        level.fetch_add(signal.value, Ordering::SeqCst);
        area.counter_activity.additions.fetch_add(1, Ordering::SeqCst);
        if slot != self.me {
            wake(&area.engine_wake_word);
        }
        if area.counter_activity.host_programs.load(Ordering::SeqCst) > 0 {
            wake(area.receive_queues.wake_word());
        }
    }
}

/// The levels of the own counters.
impl Counters for TofuFabric {
    fn level(&self, counter: CounterKey) -> u64 {
        let index = counter.0 as usize - 1;
        self.own().counters[index % WORDS].load(Ordering::Acquire)
    }

    fn add(&self, counter: CounterKey, value: u64) {
        self.signal(self.me, Signal { counter, value });
    }
}

fn wake(doze: &WakeWord) {
    if doze.notify(true) {
        futex::wake(doze.word());
    }
}
