//! Global memory: the basic layer of ACP (Advanced Communication Primitives), as a value.
//!
//! Every rank has *system memory* of one length, and registers further memory. A [`GlobalAddress`] names a
//! byte of any rank. An access copies bytes between any two addresses, also of two other ranks, or changes a
//! number; it has a number, and may wait for those before it.
//!
//! ```text
//!   access ── front: memory here, nothing in progress ──────────────────────────> completed
//!      └───── queue: order ── executor: processor, device, or a request ── … ───> completed
//!                                                           │
//!                       delegation ── messages ── service of another rank
//! ```
//!
//! | file | content |
//! |---|---|
//! | `address`, `directory` | global addresses; the registered regions of a rank, for itself and others |
//! | `front` | the short way, without a lock |
//! | `access`, `queue` | accesses, their order and completion |
//! | `executor` | the way of each access; `peers`: how memory of others is reached; `counts` |
//! | `delegation`, `service`, `request` | requests to owners of memory, for what the device does not do |
//! | `refusal` | sentences |
//!
//! The idea, the order of accesses by their numbers, and the words bypass and delegation: Nose et al.,
//! "Performance optimization of the ACP library", 2015. This layer has no clock, no thread and no communicator:
//! the ranks, their keys and a context for messages are arguments. Waiting is not here.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod counts;
mod delegation;
pub(crate) mod directory;
pub(crate) mod executor;
pub(crate) mod front;
pub(crate) mod peers;
mod queue;
mod refusal;
mod request;
mod service;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::device::Device;
use crate::device::rma::{MemoryKey, RemoteAccess};
use crate::engine::Engine;
use crate::engine::channel::MessageChannel;
use crate::engine::memory::OwnedBytes;
use access::{AccessOrder, GlobalAccess};
use address::{AddressFields, AddressLayout, GlobalAddress};
use counts::WayCounts;
use delegation::Delegation;
use directory::{ALIGNMENT, ENTRY_BYTES, RegionTable, entries};
use executor::{AccessPolicy, GlobalExecutor};
use front::{GlobalFront, SystemLayout};
use peers::{PeerMemory, SystemKeys};
use platform::base::{ErrorClass, MpiError, Result, Span};
use queue::{AccessExecutor, AccessQueue, AccessTicket, ChosenWay, TouchedRanks};
use service::AccessService;

/// Accesses that have not completed, at most; more wait for room.
const ACCESSES_MAX: usize = 16_384;

/// Memory that a rank has for others from the beginning, before it knows theirs.
#[derive(Debug)]
pub(crate) struct SystemMemory {
    memory: Span,
    directory: Span,
    keys: SystemKeys,
    /// The memory, if the device does not allocate it.
    owned: Option<[OwnedBytes; 2]>,
}

/// What global memory is made of.
pub(crate) struct GlobalParts {
    pub(crate) layout: AddressLayout,
    pub(crate) layout_of_system: SystemLayout,
    pub(crate) channel: MessageChannel,
    pub(crate) system: SystemMemory,
    /// The keys of all ranks.
    pub(crate) keys: Box<[SystemKeys]>,
    pub(crate) policy: AccessPolicy,
    /// Whether other ranks need polls of this one from the beginning.
    pub(crate) needs_progress: bool,
}

/// The global memory of this process, if it is in use.
#[derive(Debug, Default)]
pub(crate) struct GlobalMemory {
    active: Option<Box<ActiveMemory>>,
    /// Those of the last one that was in use.
    counts: WayCounts,
}

/// Global memory in use, at one rank.
#[derive(Debug)]
pub(crate) struct ActiveMemory {
    front: Arc<GlobalFront>,
    channel: MessageChannel,
    system: SystemMemory,
    regions: RegionTable,
    peers: PeerMemory,
    queue: AccessQueue,
    delegation: Delegation,
    service: AccessService,
    bounce: Option<OwnedBytes>,
    policy: AccessPolicy,
    counts: WayCounts,
    /// Whether other ranks need polls of this one.
    needs_progress: bool,
    /// Messages have arrived.
    is_notified: bool,
    /// Why an access could not be made that had started.
    failure: Option<Box<MpiError>>,
}

impl SystemMemory {
    /// Allocates and registers system memory of so many bytes, and a directory.
    ///
    /// # Errors
    /// `NoMem` without memory.
    pub(crate) fn allocate<D: Device>(
        engine: &mut Engine<D>, bytes: usize, layout: AddressLayout,
    ) -> Result<Self> {
        let directory_bytes = layout.regions() as usize * ENTRY_BYTES;
        let parts = [(bytes, RemoteAccess::ReadWrite), (directory_bytes, RemoteAccess::Read)];
        let mut allocated = [None; 2];
        if let Some(rma) = engine.rma() {
            for (place, (bytes, access)) in allocated.iter_mut().zip(parts) {
                *place = rma.allocate(bytes, access)?;
            }
        }
        if let [Some((memory_key, memory)), Some((directory_key, directory))] = allocated {
            let keys = SystemKeys { memory: memory_key, directory: directory_key };
            return Ok(Self { memory, directory, keys, owned: None });
        }
        let owned = parts.map(|(bytes, _)| OwnedBytes::zeroed(bytes + ALIGNMENT as usize));
        let [memory, directory] = [0, 1].map(|at| aligned(&owned[at], parts[at].0));
        // Without one-sided access, other ranks reach it by messages only.
        let mut keys = SystemKeys { memory: MemoryKey(0), directory: MemoryKey(0) };
        if let Some(rma) = engine.rma() {
            keys.memory = rma.register(memory, RemoteAccess::ReadWrite)?;
            keys.directory = rma.register(directory, RemoteAccess::Read)?;
        }
        Ok(Self { memory, directory, keys, owned: Some(owned) })
    }

    pub(crate) fn keys(&self) -> SystemKeys {
        self.keys
    }

    /// Whether the device has allocated it, so that ranks of this node map it.
    pub(crate) fn is_mapped(&self) -> bool {
        self.owned.is_none()
    }

    /// Gives the memory back.
    pub(crate) fn free<D: Device>(self, engine: &mut Engine<D>) {
        if let Some(rma) = engine.rma() {
            rma.deregister(self.keys.memory);
            rma.deregister(self.keys.directory);
        }
    }
}

impl GlobalMemory {
    /// Global memory of these parts is in use from now on; what accesses share on the short way.
    pub(crate) fn begin<D: Device>(
        &mut self, engine: &mut Engine<D>, parts: GlobalParts,
    ) -> Arc<GlobalFront> {
        let GlobalParts { layout, layout_of_system, channel, system, keys, policy, .. } = parts;
        engine.watched_contexts().watch(channel.context());
        // It is freed at the end, after the last access.
        let directory = entries(system.directory);
        let bypasses = policy.bypasses && !policy.delegates_updates;
        let memory = (layout_of_system, system.memory);
        let front = GlobalFront::new(layout, channel.rank(), directory, memory, bypasses);
        let front = Arc::new(front);
        self.active = Some(Box::new(ActiveMemory {
            front: Arc::clone(&front),
            channel,
            system,
            regions: RegionTable::new(layout, directory),
            peers: PeerMemory::new(keys),
            queue: AccessQueue::default(),
            delegation: Delegation::default(),
            service: AccessService::default(),
            bounce: None,
            policy,
            counts: WayCounts::default(),
            needs_progress: parts.needs_progress,
            // Requests may have arrived already.
            is_notified: true,
            failure: None,
        }));
        front
    }

    /// Ends its use, after all ranks have completed their accesses.
    pub(crate) fn end<D: Device>(&mut self, engine: &mut Engine<D>) {
        let Some(mut active) = self.active.take() else { return };
        self.counts = active.counts();
        engine.watched_contexts().unwatch(active.channel.context());
        let keys = active.regions.clear();
        if let Some(rma) = engine.rma() {
            keys.into_iter().for_each(|key| rma.deregister(key));
            active.peers.close(|rank, key| rma.close(active.channel.peer(rank), key));
        }
        active.system.free(engine);
    }

    /// Which ways accesses have taken: those in use, or the last that were.
    pub(crate) fn counts(&self) -> WayCounts {
        self.active.as_deref().map_or(self.counts, ActiveMemory::counts)
    }

    /// # Errors
    /// `Other` if it is not in use.
    pub(crate) fn active(&mut self) -> Result<&mut ActiveMemory> {
        self.active.as_deref_mut().ok_or_else(|| {
            ErrorClass::Other.error("global memory is not in use (acp_init comes first)")
        })
    }

    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active.is_some()
    }

    /// Whether other ranks may need a poll of this one while it computes: for what their processors cannot
    /// do.
    #[inline]
    pub(crate) fn needs_progress(&self) -> bool {
        self.active.as_deref().is_some_and(|active| active.needs_progress)
    }

    /// [`ActiveMemory::oldest`]
    pub(crate) fn oldest(&self) -> Option<(u64, Option<u32>)> {
        self.active.as_deref()?.oldest()
    }

    /// A message of this context has arrived; false if it is another one's.
    pub(crate) fn notify(&mut self, context: u64) -> bool {
        let own = self.active.as_deref_mut().filter(|active| active.channel.context() == context);
        own.map(|active| active.is_notified = true).is_some()
    }

    /// Continues accesses and requests; the number of events.
    pub(crate) fn poll<D: Device>(&mut self, engine: &mut Engine<D>) -> usize {
        let any = self.active.as_deref_mut().is_some_and(|active| active.advance(engine));
        if any {
            engine.note_event();
        }
        any.into()
    }

    /// Whether only a poll finds room for an access or a request, or takes a message that has arrived.
    pub(crate) fn needs_poll(&self) -> bool {
        self.active.as_deref().is_some_and(|active| {
            active.is_notified || active.queue.has_due() || active.service.has_due()
        })
    }
}

impl ActiveMemory {
    fn executor<'a, D: Device>(
        &'a mut self, engine: &'a mut Engine<D>,
    ) -> (&'a mut AccessQueue, &'a mut AccessService, GlobalExecutor<'a, D>) {
        let Self { front, channel, peers, queue, delegation, service, bounce, counts, .. } = self;
        let policy = self.policy;
        let executor =
            GlobalExecutor { engine, channel, front, peers, delegation, bounce, policy, counts };
        (queue, service, executor)
    }

    /// Whether nothing is in progress here.
    fn is_idle(&self) -> bool {
        self.queue.len() == 0
            && !self.is_notified
            && !self.service.is_active()
            && !self.delegation.is_waiting()
    }

    fn advance<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        if self.is_idle() {
            return false;
        }
        self.is_notified = false;
        let mut any = false;
        let (queue, service, mut executor) = self.executor(engine);
        let answers = executor.delegation.advance(executor.engine, executor.channel);
        let requests = service.advance(&mut executor);
        let accesses = queue.advance(&mut executor);
        for end in [answers, requests, accesses] {
            match end {
                Ok(has_advanced) => any |= has_advanced,
                Err(error) => {
                    any = true;
                    self.failure.get_or_insert(error);
                }
            }
        }
        self.tell_front();
        any
    }

    /// Lets callers pass by what is here if there is nothing for them: neither an access nor a failure.
    fn tell_front(&self) {
        self.front.set_busy(self.queue.len() > 0 || self.failure.is_some());
    }

    /// # Errors
    /// Why an access could not be made that had started; once.
    fn take_failure(&mut self) -> Result {
        let Some(error) = self.failure.take() else { return Ok(()) };
        self.tell_front();
        Err(error)
    }

    /// Whether there is room for one more access.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < ACCESSES_MAX
    }

    /// Starts an access; its number.
    ///
    /// # Errors
    /// Why it cannot be made; nothing has happened then.
    pub(crate) fn submit<D: Device>(
        &mut self, engine: &mut Engine<D>, access: GlobalAccess, order: AccessOrder,
    ) -> Result<u64> {
        let ranks = self.touched(&access);
        let bypasses = self.policy.bypasses;
        let front = Arc::clone(&self.front);
        let (queue, _, mut executor) = self.executor(engine);
        if let ChosenWay::Refused(error) = executor.choose(&access) {
            return Err(error);
        }
        let number = front.next_number();
        queue.submit(number, access, ranks, order);
        if bypasses && let Err(error) = queue.advance(&mut executor) {
            self.failure.get_or_insert(error);
        }
        self.tell_front();
        if self.queue.len() > 0 {
            engine.note_long_start();
        }
        Ok(number)
    }

    /// The other ranks that an access touches.
    fn touched(&self, access: &GlobalAccess) -> TouchedRanks {
        let mut touched = TouchedRanks::default();
        let layout = self.front.layout();
        let fields = access.addresses().filter_map(|address| layout.split(address));
        for (at, AddressFields { rank, colour, .. }) in fields.enumerate() {
            touched.others[at] = Some(rank).filter(|rank| *rank != self.front.rank());
            touched.colours[at] = colour;
        }
        if access.is_empty() { TouchedRanks::default() } else { touched }
    }

    /// Whether all accesses up to this number have completed.
    ///
    /// # Errors
    /// Why an access could not be made.
    pub(crate) fn has_completed(&mut self, number: u64) -> Result<bool> {
        self.take_failure()?;
        Ok(self.queue.has_completed(number))
    }

    /// Whether an access has completed, whatever is before it.
    ///
    /// # Errors
    /// As of [`ActiveMemory::has_completed`].
    pub(crate) fn has_finished<D: Device>(
        &mut self, engine: &mut Engine<D>, number: u64,
    ) -> Result<bool> {
        self.take_failure()?;
        let (queue, _, mut executor) = self.executor(engine);
        queue.has_finished(number, &mut executor)
    }

    /// Registers memory of this process; its first address.
    ///
    /// # Errors
    /// `Arg` for a colour that does not exist or no memory, `NoMem` without a free number.
    pub(crate) fn register<D: Device>(
        &mut self, engine: &mut Engine<D>, memory: Span, colour: u32,
    ) -> Result<GlobalAddress> {
        let layout = self.front.layout();
        if colour >= layout.colours() {
            let colours = layout.colours();
            return Err(ErrorClass::Arg.error(format!("colour {colour}: expected 0..{colours}")));
        }
        if memory.address().checked_add(memory.len()).is_none() {
            let (bytes, address) = (memory.len(), memory.address());
            let why = format!("{bytes} bytes at address {address:#x} go beyond the address space");
            return Err(ErrorClass::Arg.error(why));
        }
        let rma = engine.rma();
        let key = rma.map(|rma| rma.register(memory, RemoteAccess::ReadWrite)).transpose()?;
        let key = key.unwrap_or(MemoryKey(0));
        let place = match self.regions.insert(memory, key) {
            Ok(place) => place,
            Err(error) => {
                if let Some(rma) = engine.rma() {
                    rma.deregister(key);
                }
                return Err(error);
            }
        };
        // Numbers in private memory are changed by this rank.
        if layout.ranks() > 1 && !std::mem::replace(&mut self.needs_progress, true) {
            engine.note_long_start();
        }
        let (rank, generation, region) = (self.front.rank(), place.generation, place.region);
        Ok(layout.join(AddressFields { rank, colour, generation, region, offset: place.first }))
    }

    /// Ends the registration whose first address this is; false if there is none.
    pub(crate) fn deregister<D: Device>(
        &mut self, engine: &mut Engine<D>, first: GlobalAddress,
    ) -> bool {
        let Some(fields) = self.own_region(first) else { return false };
        let Some(key) = self.regions.remove(fields.region, fields.generation) else { return false };
        if let Some(rma) = engine.rma() {
            rma.deregister(key);
        }
        true
    }

    /// The fields of the first address of a region of this rank.
    fn own_region(&self, first: GlobalAddress) -> Option<AddressFields> {
        let fields = self.front.layout().split(first)?;
        let start = self.regions.start_of(fields.region, fields.generation)?;
        let memory = self.front.find_fields(fields, 0)?;
        let is_first = start == fields.region
            && memory.address() as u64 % ALIGNMENT == fields.offset
            && fields.rank == self.front.rank();
        is_first.then_some(fields)
    }

    /// The address of `place`, in the region whose first address this is or right behind it.
    pub(crate) fn address_of(&self, first: GlobalAddress, place: usize) -> Option<GlobalAddress> {
        self.own_region(first)?;
        let begin = self.front.find(first, 0)?.address();
        let address = first.plus(place.checked_sub(begin)? as u64);
        self.front.find(address, 0)?;
        Some(address)
    }

    fn counts(&self) -> WayCounts {
        let WayCounts { device, deferred, delegated, .. } = self.counts;
        let by_others = device + deferred + delegated;
        let processor =
            self.front.last_number().saturating_sub(by_others + self.queue.len() as u64);
        WayCounts { processor, ..self.counts }
    }

    /// The access that has been in progress for the longest time, and the rank that is asked for it, if one is.
    pub(crate) fn oldest(&self) -> Option<(u64, Option<u32>)> {
        let (number, ticket) = self.queue.oldest()?;
        let rank = match ticket {
            Some(AccessTicket::Request(ticket)) => self.delegation.asked(ticket.into()),
            Some(AccessTicket::Device { .. }) | None => None,
        };
        Some((number, rank))
    }
}

/// The first aligned bytes of memory that is a little longer.
fn aligned(bytes: &OwnedBytes, len: usize) -> Span {
    let memory = bytes.span();
    memory.part(memory.address().wrapping_neg() % ALIGNMENT as usize, len)
}
