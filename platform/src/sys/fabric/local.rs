//! Memory of this process for its own messages and accesses, for a provider that demands that it is registered
//! (`FI_MR_LOCAL`).
//!
//! ```text
//!   short   free slot ── lend: copied into ──> the provider has it ── take back: copied out ──> free slot
//!   long    ── lend: registered ──> the provider has it ── take back: ended ──> nothing
//! ```
//!
//! Short memory is copied through slots of slabs, which stay registered; long memory is registered for one operation.
//! Registrations of memory of the application are not kept: it may be freed and mapped anew, and a kept registration
//! would name the old pages.
//!
//! Receives for data have no slots: they wait for peers, whose sends need slots in turn. All others end without further
//! slots, so an operation that waits for one gets it.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;

use memmap2::{MmapMut, MmapOptions};

use super::library::FoundInfo;
use super::objects::RegistrationPlace;
use super::remote::{FabricAccess, MemoryDemands, close_memory, register_memory};
use super::tables::*;
use super::{DATA_BIT, EndpointState, FabricTransfer, NO_RANK, SENDER_MASK, TransferState};
use crate::base::Span;

/// The longest memory that is copied, in bytes: the messages with headers of most providers.
const SLOT_BYTES: usize = 16 << 10;
const SLAB_SLOTS: usize = 64;
/// `FI_SEND | FI_RECV | FI_READ | FI_WRITE`: for operations of this process, none of peers.
const OWN_RIGHTS: u64 = SENDS | RECEIVES | 1 << 8 | 1 << 9;

/// What an operation does with its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalUse {
    /// It is read.
    From,
    /// It is written, soon.
    Into,
    /// It is written, when a peer sends.
    IntoLater,
}

/// Memory as the provider is told of it.
#[derive(Clone, Copy)]
pub(super) struct DescribedMemory {
    pub(super) address: usize,
    pub(super) description: *mut c_void,
}

impl DescribedMemory {
    /// Where the provider demands nothing.
    pub(super) fn plain(memory: Span) -> Self {
        Self { address: memory.address(), description: ptr::null_mut() }
    }
}

/// Registered memory of this process.
pub(super) struct LocalMemory {
    place: RegistrationPlace,
    demands: MemoryDemands,
    slabs: Vec<RegisteredSlab>,
    free: Vec<LocalSlot>,
    /// What operations have, by their numbers.
    lent: BTreeMap<u32, LentMemory>,
}

struct RegisteredSlab {
    memory: MmapMut,
    span: Span,
    registration: *mut MemoryObject,
}

#[derive(Clone, Copy)]
struct LocalSlot {
    slab: usize,
    index: usize,
}

#[derive(Clone, Copy)]
enum LentMemory {
    Slot(LocalSlot),
    Region(*mut MemoryObject),
}

impl LocalMemory {
    /// The first slab, if the first provider demands registered memory.
    ///
    /// # Errors
    /// What the provider returns.
    pub(super) fn open(
        found: &FoundInfo<'_>, place: RegistrationPlace,
    ) -> Result<Option<Self>, c_int> {
        if !found.demands_own() {
            return Ok(None);
        }
        let demands = MemoryDemands::of_all(found);
        let (slabs, free, lent) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut memory = Self { place, demands, slabs, free, lent };
        memory.add_slab()?;
        Ok(Some(memory))
    }

    fn add_slab(&mut self) -> Result<(), c_int> {
        let map = MmapOptions::new().len(SLAB_SLOTS * SLOT_BYTES).map_anon();
        let mut memory = map.map_err(|error| -error.raw_os_error().unwrap_or(libc::ENOMEM))?;
        // Some providers demand memory with pages.
        memory.fill(1);
        // SAFETY: the map does not move, and is used by slots alone.
        let span = unsafe { Span::of(&mut memory) };
        let registration = register_memory(self.place, &self.demands, span, OWN_RIGHTS, None)?;
        let slab = self.slabs.len();
        self.slabs.push(RegisteredSlab { memory, span, registration });
        self.free.extend((0..SLAB_SLOTS).map(|index| LocalSlot { slab, index }));
        Ok(())
    }

    /// Registered memory for the operation `number` on `memory`, until [`LocalMemory::take_back`]; the same if it has
    /// some.
    ///
    /// # Errors
    /// What the provider returns; [`TRY_AGAIN`] as long as there is no slot.
    fn lend(
        &mut self, number: u32, memory: Span, what: LocalUse,
    ) -> Result<DescribedMemory, isize> {
        if let Some(lent) = self.lent.get(&number) {
            return Ok(self.describe(*lent, memory));
        }
        let lent = if memory.len() <= SLOT_BYTES && what != LocalUse::IntoLater {
            // What cannot be registered now waits for a slot.
            if self.free.is_empty() && self.add_slab().is_err() {
                return Err(TRY_AGAIN);
            }
            let Some(slot) = self.free.pop() else { return Err(TRY_AGAIN) };
            if what == LocalUse::From {
                memory.copy_nonoverlapping(self.span(slot).part(0, memory.len()));
            }
            LentMemory::Slot(slot)
        } else {
            let made = register_memory(self.place, &self.demands, memory, OWN_RIGHTS, None);
            LentMemory::Region(made.map_err(|status| status as isize)?)
        };
        self.lent.insert(number, lent);
        Ok(self.describe(lent, memory))
    }

    /// The operation `number` has ended, or does not begin. `arrived`: bytes for `memory` that the provider has written.
    fn take_back(&mut self, number: u32, memory: Span, arrived: usize) {
        match self.lent.remove(&number) {
            None => {}
            Some(LentMemory::Region(registration)) => close_memory(registration),
            Some(LentMemory::Slot(slot)) => {
                let len = arrived.min(memory.len());
                self.span(slot).part(0, len).copy_nonoverlapping(memory.part(0, len));
                self.free.push(slot);
            }
        }
    }

    /// All registrations, for their end after the endpoint and before its domain.
    pub(super) fn take_registrations(&mut self) -> Vec<*mut MemoryObject> {
        let lent = std::mem::take(&mut self.lent).into_values();
        let regions = lent.filter_map(|lent| match lent {
            LentMemory::Slot(_) => None,
            LentMemory::Region(registration) => Some(registration),
        });
        regions.chain(self.slabs.iter().map(|slab| slab.registration)).collect()
    }

    /// The memory of all slabs, which the provider may use until its objects are closed.
    pub(super) fn into_slabs(self) -> Vec<MmapMut> {
        self.slabs.into_iter().map(|slab| slab.memory).collect()
    }

    fn span(&self, slot: LocalSlot) -> Span {
        self.slabs[slot.slab].span.part(slot.index * SLOT_BYTES, SLOT_BYTES)
    }

    fn describe(&self, lent: LentMemory, memory: Span) -> DescribedMemory {
        let (address, registration) = match lent {
            LentMemory::Slot(slot) => {
                (self.span(slot).address(), self.slabs[slot.slab].registration)
            }
            LentMemory::Region(registration) => (memory.address(), registration),
        };
        // SAFETY: an open registration.
        DescribedMemory { address, description: unsafe { (*registration).description } }
    }
}

impl EndpointState {
    /// The memory of an operation as the provider is told of it.
    ///
    /// # Errors
    /// What the provider returns for its registration.
    #[inline]
    pub(super) fn lend(&mut self, number: u32) -> Result<DescribedMemory, isize> {
        let operation = &self.operations[number as usize];
        let Some(own) = &mut self.objects.own_memory else {
            return Ok(DescribedMemory::plain(operation.span));
        };
        let what = match operation.what {
            FabricTransfer::Send { .. }
            | FabricTransfer::Access { access: FabricAccess::Write, .. } => LocalUse::From,
            FabricTransfer::Access { access: FabricAccess::Read, .. } => LocalUse::Into,
            FabricTransfer::Receive { .. } if operation.tag & DATA_BIT != 0 => LocalUse::IntoLater,
            FabricTransfer::Receive { .. } => LocalUse::Into,
        };
        own.lend(number, operation.span, what)
    }

    /// An operation has ended: with so many bytes of a message if it was a receive, with none if it has failed or does not
    /// begin.
    #[inline]
    pub(super) fn take_back(&mut self, number: u32, end: Option<usize>) {
        let Some(own) = &mut self.objects.own_memory else { return };
        let operation = &self.operations[number as usize];
        let arrived = match (operation.what, end) {
            (FabricTransfer::Receive { .. }, Some(len)) => len,
            // Providers do not tell the length of a read.
            (FabricTransfer::Access { access: FabricAccess::Read, .. }, Some(_)) => usize::MAX,
            _ => 0,
        };
        own.take_back(number, operation.span, arrived);
    }

    /// The memory of a message cannot be registered: it is lost.
    #[cold]
    pub(super) fn fail_unregistered(&mut self, number: u32, error: isize) {
        let operation = &mut self.operations[number as usize];
        operation.state = TransferState::Done(NO_RANK);
        let peer = operation.peer().unwrap_or((operation.tag & SENDER_MASK) as u32);
        let (len, why) = (operation.span.len(), self.functions.error(error));
        let why = format!("{len} bytes of memory cannot be registered for it (ulimit -l): {why}");
        self.fail_because(peer, why);
    }
}
