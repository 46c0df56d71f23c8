//! How an interface gets at memory and counters of its peers: the wires of the simulated network.
//!
//! Memory is read and written from outside (process_vm_readv(2) and its opposite), after a look at
//! the steering tags of its owner. Counters and tags lie in the segment. Who adds to a counter
//! wakes what may wait for that: the engine thread of its owner, and the host if that runs programs.

use super::mail::Letter;
use super::primitive::Ordering;
use super::segment::{Area, WORDS};
use crate::base::{ErrorClass, Peer, Result, Span};
use crate::device::Busy;
use crate::device::nic::{Action, Counters, Signal, combine};
use crate::device::rma::{Access, Remote};
use crate::device::trigger::CounterKey;
use crate::devices::rings::Slots;
use crate::devices::rings::doze::Doze;
use crate::devices::rings::memory::Mapped;
use crate::sys::{cma, futex};

/// All ranks of a node, as one of them sees them.
pub struct Fabric {
    me: usize,
    slots: Slots,
    /// By slot.
    areas: Box<[Mapped<Area>]>,
}

impl Fabric {
    /// As the rank `ranks[me]`, where `areas` are those of all ranks, in the same order.
    pub fn new(me: usize, ranks: &[Peer], areas: Vec<Mapped<Area>>) -> Self {
        assert!(me < ranks.len() && ranks.len() == areas.len());
        Self { me, slots: Slots::new(ranks), areas: areas.into() }
    }

    /// The slot of this rank.
    pub fn own_slot(&self) -> usize {
        self.me
    }

    /// The area of this rank.
    pub fn own(&self) -> &Mapped<Area> {
        &self.areas[self.me]
    }

    /// The areas of all, by slot.
    pub fn areas(&self) -> &[Mapped<Area>] {
        &self.areas
    }

    /// The slot of a peer.
    ///
    /// # Panics
    /// If it is not on this node.
    pub fn slot(&self, peer: Peer) -> usize {
        self.slots.of(peer)
    }

    /// Wakes this rank if it sleeps: something that it waits for has happened.
    pub fn ring_host(&self) {
        ring(self.own().inlet.doze());
    }

    /// Wakes the engine thread of this rank if it sleeps.
    pub fn ring_engine(&self) {
        ring(&self.own().bell);
    }

    /// Where memory of a peer is in its process, and its slot.
    ///
    /// # Errors
    /// `Rank` without such a peer; else as [`Tags::find`](super::tags::Tags::find).
    pub fn find(&self, at: Remote, len: usize, access: Access) -> Result<(usize, u64)> {
        let Some(slot) = self.slots.find(at.peer) else {
            return Err(ErrorClass::Rank.error(format!("rank {} is not on this node", at.peer)));
        };
        Ok((slot, self.areas[slot].tags.find(at.key, at.offset, len, access)?))
    }

    /// Sends a letter to the interface of the rank in `slot`.
    ///
    /// # Errors
    /// [`Busy`] without room for it.
    pub fn post(&self, slot: usize, letter: Letter) -> Result<(), Busy> {
        let (header, data) = letter.packed();
        let area = &self.areas[slot];
        area.mail.send(self.me as u32, &header, data.len(), |room| room.copy_from_slice(&data))?;
        ring(&area.bell);
        Ok(())
    }

    /// Does an action to the end.
    ///
    /// # Errors
    /// As [`Fabric::find`]; `Other` if the system refuses.
    ///
    /// # Panics
    /// If it is an update, which its owner makes ([`Fabric::post`]).
    pub fn perform(&self, action: &Action) -> Result {
        match *action {
            Action::Put { from, to, signal } => {
                self.write(from, to)?;
                if let Some(signal) = signal {
                    self.signal(self.slot(to.peer), signal);
                }
            }
            Action::Get { from, into } => {
                let (slot, address) = self.find(from, into.len(), Access::Read)?;
                let pid = self.areas[slot].card.pid();
                cma::read(pid, address, into).map_err(|error| {
                    let what = format!("{} bytes of rank {}", into.len(), from.peer);
                    ErrorClass::Other.error(format!("cannot read {what}: {error}"))
                })?;
            }
            Action::Signal { peer, signal } => self.signal(self.slot(peer), signal),
            Action::Copy { from, into } => from.copy_to(into),
            Action::Combine { from, into, with } => combine(from, into, with),
            Action::Update { .. } => unreachable!("an update is made by the owner of the number"),
        }
        Ok(())
    }

    fn write(&self, from: Span, to: Remote) -> Result {
        let (slot, address) = self.find(to, from.len(), Access::ReadWrite)?;
        if from.is_empty() {
            return Ok(());
        }
        let pid = self.areas[slot].card.pid();
        // SAFETY: the peer has registered these bytes for being written (`find`) and not ended that,
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
        area.notes.additions.fetch_add(1, Ordering::SeqCst);
        if slot != self.me {
            ring(&area.bell);
        }
        if area.notes.host_runs.load(Ordering::SeqCst) > 0 {
            ring(area.inlet.doze());
        }
    }
}

/// The levels of the own counters.
impl Counters for Fabric {
    fn level(&self, counter: CounterKey) -> u64 {
        let index = counter.0 as usize - 1;
        self.own().counters[index % WORDS].load(Ordering::Acquire)
    }

    fn add(&self, counter: CounterKey, value: u64) {
        self.signal(self.me, Signal { counter, value });
    }
}

fn ring(doze: &Doze) {
    if doze.ring(true) {
        futex::wake(doze.word());
    }
}
