//! Windows and one-sided communication (MPI 5.0 §12).
//!
//! ```text
//!   operation, synchronization ──> origin ──requests──> target ──> regions, accumulate
//!            epoch                      on the channel
//! ```
//!
//! | file | content |
//! |---|---|
//! | `operation` | put, get, accumulates: their checks and start |
//! | `direct` | the short way of small accesses in memory that ranks of a node share |
//! | `synchronization` | fences, post-start-complete-wait, locks, flushes |
//! | `epoch` | which calls are legal |
//! | `origin` | operations of this process in progress |
//! | `device_accesses` | those that the device makes, and that end after their call |
//! | `target` | requests of other processes, in order |
//! | `lock_queue` | the lock of the memory for them |
//! | `peer_calls` | calls of post and complete by others |
//! | `mapped` | memory that ranks of a node share |
//! | `regions` | the memory of the window at this process |
//! | `accumulate` | what accumulates do with it |
//! | `request_message`, `layout_message`, `signature_message` | requests as bytes |
//! | `channel` | messages on the private communicator |
//! | `failures` | failed ranks, revoked windows |
//! | `creation` | what ranks tell each other when a window is made |
//! | `service` | progress of requests of others |
//! | `access_check`, `conflicts` | conflicting accesses, in checked mode |
//!
//! A window has a private communicator, a duplicate of the one passed at its creation. The
//! application never gets its handle.

mod access_check;
mod accumulate;
pub(crate) mod byte_reader;
mod channel;
mod conflicts;
pub mod creation;
mod device_accesses;
pub(crate) mod direct;
mod epoch;
pub(crate) mod failures;
pub(crate) mod layout_message;
mod lock_queue;
pub(crate) mod mapped;
pub mod operation;
mod origin;
mod peer_calls;
mod regions;
mod request_message;
mod service;
mod signature_message;
pub mod synchronization;
mod target;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::device::Device;
use crate::device::rma::{MemoryKey, Rma};
use crate::engine::Engine;
use crate::mpi::Mpi;
use crate::mpi::attribute::Attributes;
use crate::mpi::collective::shared::polling::SharedCollectiveId;
use crate::mpi::communicator::COMM_NULL;
use crate::mpi::communicator::hints::{ASSERTED_KINDS, MEMORY_KINDS, asserted_kinds};
use crate::mpi::errhandler::Handler;
use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use crate::mpi::info::Info;
use crate::mpi::request::status::PROC_NULL;
use access_check::AccessCheck;
use channel::WindowChannel;
use creation::WindowShape;
use direct::DirectTargets;
use epoch::Epochs;
use failures::WindowFailures;
use mapped::MappedMemory;
pub use origin::OperationNumber;
use origin::Origin;
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};
use regions::Regions;
use target::Target;

/// `MPI_WIN_NULL` of the standard ABI.
pub(crate) const WIN_NULL: Handle = 0x110;

/// Origin of the memory of a window: `MPI_WIN_CREATE_FLAVOR`, with the values of the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Flavor {
    /// Memory of the application, fixed.
    Create = 311,
    /// Memory of the library.
    Allocate = 312,
    /// Memory of the application, attached and detached at any time.
    Dynamic = 313,
    /// Memory of the library that all ranks of the window map.
    Shared = 314,
}

/// `MPI_WIN_UNIFIED` of the standard ABI: loads and stores observe puts of other processes.
const UNIFIED: i32 = 321;

/// The memory of a window, in the form of its predefined attributes (§12.2.7). The application gets
/// addresses of these fields, so they stay in place until the window is freed.
#[derive(Debug)]
#[repr(C)]
pub struct WindowMemory {
    /// Address of the first byte.
    pub(crate) base: usize,
    /// Size in bytes.
    pub(crate) size: isize,
    /// Displacement unit in bytes. The application also reads it as an `int`, its low half.
    pub(crate) unit: isize,
    pub(crate) flavor: i32,
    pub(crate) model: i32,
}

impl WindowMemory {
    /// Memory of `size` bytes at `base`, with displacements in units of `unit` bytes.
    ///
    /// # Errors
    /// `Size` for a negative size, `Disp` for a unit that is not positive.
    pub fn new(flavor: Flavor, base: usize, size: isize, unit: isize) -> Result<Self> {
        check_size(size)?;
        if unit <= 0 {
            let why =
                format!("the displacement unit is {unit}: expected a positive number of bytes");
            return Err(ErrorClass::Disp.error(why));
        }
        Ok(Self { base, size, unit, flavor: flavor as i32, model: UNIFIED })
    }

    /// A dynamic window: the whole address space, without attached memory.
    pub(crate) fn dynamic() -> Self {
        Self { base: 0, size: 0, unit: 1, flavor: Flavor::Dynamic as i32, model: UNIFIED }
    }
}

/// A window at one of its ranks.
#[derive(Debug)]
pub struct Window {
    /// Its private communicator.
    pub comm: Handle,
    pub(crate) memory: Box<WindowMemory>,
    regions: Regions,
    hints: Info,
    pub(crate) handler: Handler,
    pub(crate) attributes: Attributes,
    pub(crate) name: Vec<u8>,
    channel: WindowChannel,
    /// Barriers of this communicator, if they are in shared memory; known from the first one on.
    barriers: Option<SharedCollectiveId>,
    shape: WindowShape,
    pub(crate) epochs: Epochs,
    origin: Origin,
    target: Target,
    /// The segment of this node, if there is one.
    mapped: Option<MappedMemory>,
    /// The key of the memory of this process for ranks that read and write it from outside.
    registered: Option<MemoryKey>,
    /// The ranks of this node whose memory this process reads and writes from outside.
    outside: BTreeMap<u32, MemoryKey>,
    /// Whether the device of some rank accesses memory of others faster than messages do.
    has_device_accesses: bool,
    direct: DirectTargets,
    pub(crate) failures: WindowFailures,
    /// Whether the first access of a target in this epoch asks for its lock (`MPI_Win_lock_all`).
    locks_on_access: bool,
    /// Whether the last operations in progress were completed by a flush at their targets.
    expects_flush: bool,
    /// In checked mode.
    access_check: Option<Box<AccessCheck>>,
}

/// A hint of windows (§12.2.1): key, default value, and the check of values.
struct WindowHint(&'static [u8], &'static [u8], fn(&[u8]) -> bool);

/// The hints of all windows, in the order of the standard.
const HINTS: &[WindowHint] = &[
    WindowHint(b"no_locks", b"false", is_boolean),
    WindowHint(b"accumulate_ordering", b"rar,raw,war,waw", is_ordering),
    WindowHint(b"accumulate_ops", b"same_op_no_op", is_operations),
    WindowHint(b"mpi_accumulate_granularity", b"0", is_number),
    WindowHint(b"same_size", b"false", is_boolean),
    WindowHint(b"same_disp_unit", b"false", is_boolean),
];

fn is_boolean(value: &[u8]) -> bool {
    [&b"true"[..], b"false"].contains(&value)
}

fn is_ordering(value: &[u8]) -> bool {
    let known = [&b"rar"[..], b"raw", b"war", b"waw"];
    value == b"none" || value.split(|byte| *byte == b',').all(|order| known.contains(&order))
}

fn is_operations(value: &[u8]) -> bool {
    [&b"same_op"[..], b"same_op_no_op"].contains(&value)
}

fn is_number(value: &[u8]) -> bool {
    str::from_utf8(value).is_ok_and(|text| text.parse::<u64>().is_ok())
}

impl Window {
    /// A window of the memory in `region`, which has no ranks yet; its errors are fatal (§12.6.1).
    ///
    /// # Errors
    /// Only internal errors: the defaults are keys and values of valid length.
    pub fn new(memory: WindowMemory, region: Span) -> Result<Self> {
        let mut hints = Info::default();
        for WindowHint(key, default, _) in HINTS {
            hints.set(key, default)?;
        }
        let is_dynamic = memory.flavor == Flavor::Dynamic as i32;
        Ok(Self {
            comm: COMM_NULL,
            memory: Box::new(memory),
            regions: match is_dynamic {
                true => Regions::Attached(BTreeMap::new()),
                false => Regions::One(region),
            },
            hints,
            handler: Handler::Fatal,
            attributes: Attributes::default(),
            name: Vec::new(),
            channel: WindowChannel::none(),
            barriers: None,
            shape: WindowShape::empty(),
            epochs: Epochs::default(),
            origin: Origin::new(0),
            target: Target::default(),
            mapped: None,
            registered: None,
            outside: BTreeMap::new(),
            has_device_accesses: false,
            direct: DirectTargets::default(),
            failures: WindowFailures::default(),
            locks_on_access: false,
            expects_flush: false,
            access_check: None,
        })
    }

    /// Gives the window its private communicator.
    fn connect(&mut self, comm: Handle, channel: WindowChannel) {
        self.comm = comm;
        self.origin = Origin::new(channel.size());
        self.channel = channel;
    }

    /// Takes the memory that the library has allocated for it.
    pub(crate) fn set_memory(&mut self, region: Span) {
        self.memory.base = region.address();
        self.regions = Regions::One(region);
    }

    /// The memory of `rank`, if this process may load and store there, with its displacement unit; of the
    /// lowest rank with memory for `MPI_PROC_NULL` (§12.2.3).
    ///
    /// # Errors
    /// `Rank` if there is no such rank.
    pub(crate) fn shared_memory(&self, rank: i32) -> Result<(Span, i64)> {
        let rank = match rank {
            PROC_NULL => match self.first_with_memory() {
                Some(rank) => rank,
                None => return Ok((Span::EMPTY, 0)),
            },
            _ => self.check_rank(rank)?,
        };
        let unit = self.shape.of(rank).unit;
        let mapped = self.mapped.as_ref().and_then(|mapped| mapped.memory(rank));
        Ok(match (mapped, &self.regions) {
            (Some(memory), _) => (memory, unit),
            (None, Regions::One(own)) if rank == self.channel.rank() => (*own, unit),
            (None, _) => (Span::EMPTY, 0),
        })
    }

    /// Whether no access of this window needs a message.
    #[inline]
    fn is_all_mapped(&self) -> bool {
        let mapped = self.mapped.as_ref().filter(|mapped| mapped.has_memory());
        mapped.is_some_and(|mapped| mapped.ranks().len() == self.channel.size() as usize)
    }

    /// The device that makes the segment. Memory that the application loads from and stores to is shared
    /// also where the device of the messages does not map memory.
    fn memory_device<'a, D: Device>(&self, engine: &'a mut Engine<D>) -> Option<&'a mut dyn Rma> {
        match self.memory.flavor == Flavor::Shared as i32 {
            true => engine.host_memory(),
            false => engine.rma(),
        }
    }

    /// Whether ranks may have memory that others reach by messages only.
    fn may_have_parts(&self) -> bool {
        self.memory.flavor != Flavor::Shared as i32
    }

    /// Whether ranks tell each other where memory is that they have got after the creation: devices of some of
    /// them access it. All ranks know it.
    pub(crate) fn tells_memory(&self) -> bool {
        self.has_device_accesses && !self.is_all_mapped()
    }

    /// Whether it waits for something that no message tells.
    fn awaits_turn(&self) -> bool {
        self.target.awaits_turn()
            || self.target.posts.is_watching()
            || self.target.completes.is_watching()
            || self.origin.awaits_device()
            || self.mapped.as_ref().is_some_and(MappedMemory::is_queued)
    }

    /// Whether its memory is in a segment that ranks of a node share.
    pub(crate) fn is_mapped(&self) -> bool {
        self.mapped.as_ref().is_some_and(MappedMemory::has_memory)
    }

    /// The memory of a rank, if all ranks of the window map it.
    pub(crate) fn mapped_by_all(&self, rank: u32) -> Option<Span> {
        self.mapped.as_ref().filter(|_| self.is_all_mapped())?.memory(rank)
    }

    /// The memory of this rank in the segment.
    pub(crate) fn own_mapped(&self) -> Option<Span> {
        self.mapped.as_ref()?.memory(self.channel.rank())
    }

    fn first_with_memory(&self) -> Option<u32> {
        (0..self.channel.size()).find(|rank| self.shape.of(*rank).size > 0)
    }

    fn is_dynamic(&self) -> bool {
        self.memory.flavor == Flavor::Dynamic as i32
    }

    /// Whether other processes access its memory by requests, also while the application computes.
    fn needs_requests(&self) -> bool {
        !self.is_all_mapped() && self.may_be_locked()
    }

    /// Whether its locks may be used: not with the hint `no_locks`.
    fn may_be_locked(&self) -> bool {
        !matches!(self.hints.get(b"no_locks"), Ok(Some(b"true")))
    }

    /// # Errors
    /// `RmaSync` if the window has the hint `no_locks`.
    fn check_locks(&self) -> Result {
        if self.may_be_locked() {
            return Ok(());
        }
        let why = format!("{} has the hint no_locks: it cannot be locked", self.title());
        Err(ErrorClass::RmaSync.error(why))
    }

    /// Whether a rank is `MPI_PROC_NULL`, for which a call does nothing.
    fn is_null_rank(&self, rank: i32) -> bool {
        rank == PROC_NULL
    }

    /// The name for messages.
    pub(crate) fn title(&self) -> Cow<'_, str> {
        match &*self.name {
            b"" => "an unnamed window".into(),
            name => String::from_utf8_lossy(name),
        }
    }

    /// The hints with their current values, the memory kinds `provided` by the library, and how memory is
    /// accessed (`suiro_access`).
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn info(&self, provided: &[u8]) -> Result<Info> {
        let mut info = self.hints.clone();
        info.set(b"suiro_access", self.access_way().as_bytes())?;
        info.set(MEMORY_KINDS.as_bytes(), provided)?;
        Ok(info)
    }

    /// How the ranks of this node access each other's memory.
    fn access_way(&self) -> &'static str {
        match &self.mapped {
            Some(mapped) if mapped.has_memory() => "mapped",
            _ if !self.outside.is_empty() => "outside",
            _ => "messages",
        }
    }

    /// Records a hint that was used at the creation of the window.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn note_hint(&mut self, key: &[u8], value: &[u8]) -> Result {
        self.hints.set(key, value)
    }

    /// Applies known hints with valid values; others are ignored (§10).
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn advise(&mut self, hints: &Info) -> Result {
        for WindowHint(key, _, is_legal) in HINTS {
            if let Some(value) = hints.get(key)?.filter(|value| is_legal(value)) {
                self.hints.set(key, value)?;
            }
        }
        if let Some(kinds) = asserted_kinds(hints)? {
            self.hints.set(ASSERTED_KINDS.as_bytes(), kinds.as_bytes())?;
        }
        Ok(())
    }

    /// Attaches memory (§12.2.4).
    ///
    /// # Errors
    /// `RmaFlavor` if the window is not dynamic, `RmaAttach` if some of the bytes are already attached
    /// or beyond the address space.
    pub(crate) fn attach(&mut self, region: Span) -> Result {
        self.check_dynamic()?;
        self.regions.attach(region)
    }

    /// Detaches the region at `address`.
    ///
    /// # Errors
    /// `RmaFlavor` if the window is not dynamic, `Base` if no region is attached at `address`.
    pub(crate) fn detach(&mut self, address: usize) -> Result {
        self.check_dynamic()?;
        if self.regions.detach(address) {
            return Ok(());
        }
        Err(ErrorClass::Base.error(format!(
            "no memory is attached to {} at {address:#x}: expected the address of an attached region",
            self.title()
        )))
    }

    fn check_dynamic(&self) -> Result {
        if self.is_dynamic() {
            return Ok(());
        }
        let why = format!("{}: expected a window of MPI_Win_create_dynamic", self.title());
        Err(ErrorClass::RmaFlavor.error(why))
    }
}

/// All windows of this process.
#[derive(Debug)]
pub struct Windows {
    table: HandleTable<Window>,
    by_context: BTreeMap<u64, Handle>,
    /// The windows with something to do in polls, each once: those that have got messages, or wait for what
    /// no message tells.
    active: Vec<Handle>,
    /// The events of the engine when requests of other processes were last handled.
    served_events: u64,
    /// Whether later loads of this process may still overtake stores of the short way.
    is_unsettled: bool,
    /// The windows that [needed requests](Window::needs_requests) when they were made.
    with_requests: Vec<Handle>,
    /// Accesses by the device on windows that have been removed.
    past_accesses: u64,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            table: HandleTable::new(HandleKind::Win),
            by_context: BTreeMap::new(),
            active: Vec::new(),
            served_events: 0,
            is_unsettled: false,
            with_requests: Vec::new(),
            past_accesses: 0,
        }
    }
}

impl Windows {
    /// The window of a handle.
    ///
    /// # Errors
    /// `Win` for the null handle, a freed handle and other invalid values.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Result<&Window> {
        self.table.get(handle).ok_or_else(|| not_a_window(handle))
    }

    /// The window of a handle, mutable.
    ///
    /// # Errors
    /// As [`Windows::get`].
    pub fn get_mut(&mut self, handle: Handle) -> Result<&mut Window> {
        self.settle();
        self.table.get_mut(handle).ok_or_else(|| not_a_window(handle))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Whether requests of other processes may come while the application computes.
    #[inline]
    pub(crate) fn need_progress(&self) -> bool {
        !self.with_requests.is_empty()
    }

    /// Whether something has happened since requests were handled, with this number of events of the
    /// engine.
    #[inline]
    pub(crate) fn await_service(&self, events: u64) -> bool {
        !self.is_empty() && self.served_events != events
    }

    /// Whether something has happened since the last call, with this number of events of the engine.
    fn needs_service(&mut self, events: u64) -> bool {
        let is_new = std::mem::replace(&mut self.served_events, events) != events;
        let awaits_turn =
            |handle: &Handle| self.table.get(*handle).is_some_and(Window::awaits_turn);
        is_new && !self.active.is_empty() || self.active.iter().any(awaits_turn)
    }

    /// The window takes part in the polls that follow, until it has nothing to do.
    fn activate(&mut self, window: Handle) {
        if !self.active.contains(&window) {
            self.active.push(window);
        }
    }

    /// The same for the window of a context, if there is one.
    pub(crate) fn activate_context(&mut self, context: u64) {
        if let Some(window) = self.by_context.get(&context) {
            self.activate(*window);
        }
    }

    /// The windows with an accumulate by message that another rank of this node keeps out.
    #[inline]
    pub(crate) fn contended(&self) -> impl Iterator<Item = (Handle, &Window)> {
        let windows =
            self.active.iter().filter_map(|handle| Some((*handle, self.table.get(*handle)?)));
        windows.filter(|(_, window)| window.target.is_contended())
    }

    /// Serves the active windows; each remains active if `serve` says so.
    fn serve_active(&mut self, mut serve: impl FnMut(&mut Window) -> bool) {
        self.settle();
        let table = &mut self.table;
        self.active.retain(|handle| table.get_mut(*handle).is_some_and(&mut serve));
    }

    /// A handle for a new window.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert(&mut self, window: Window) -> Result<Handle> {
        let context = window.channel.context();
        let needs_requests = window.needs_requests();
        let handle = self.table.insert(window)?;
        self.with_requests.extend(needs_requests.then_some(handle));
        self.by_context.insert(context, handle);
        // For the messages that have arrived already.
        self.activate(handle);
        Ok(handle)
    }

    fn remove(&mut self, handle: Handle) -> Result<Window> {
        let window = self.table.remove(handle).ok_or_else(|| not_a_window(handle))?;
        self.by_context.remove(&window.channel.context());
        self.with_requests.retain(|other| *other != handle);
        self.active.retain(|active| *active != handle);
        self.past_accesses += window.origin.accesses();
        Ok(window)
    }

    /// Accesses of this process by the device so far.
    pub(crate) fn device_accesses(&self) -> u64 {
        let windows = self.table.iter().map(|(_, window)| window.origin.accesses());
        self.past_accesses + windows.sum::<u64>()
    }
}

impl<D: Device> Mpi<D> {
    /// The process that accumulates in memory of `target` on this node and keeps others out.
    pub(crate) fn accumulating(&self, window: Handle, target: u32) -> Option<Peer> {
        let window = self.windows.get(window).ok()?;
        let rank = window.mapped.as_ref()?.accumulating(target)?;
        Some(window.channel.peer(rank))
    }

    /// A [contended](Windows::contended) window with an ended process as the holder of its lock, and that
    /// process.
    #[cold]
    pub(crate) fn lost_accumulator(
        &self, has_ended: impl Fn(Peer) -> bool,
    ) -> Option<(Handle, Peer)> {
        self.windows.contended().find_map(|(handle, window)| {
            let holder = self.accumulating(handle, window.channel.rank())?;
            has_ended(holder).then_some((handle, holder))
        })
    }

    /// Refuses accumulates by message on the memory of this process: their origins, and the next call on
    /// the window here that waits, get the error.
    pub(crate) fn refuse_accumulates(&mut self, window: Handle, why: Box<MpiError>) {
        if let Ok(window) = self.windows.get_mut(window) {
            window.target.refuse_accumulates(why.clone());
            window.origin.keep_error(why);
        }
    }

    /// Frees a window, its segment and its communicator. The caller has deleted its attributes and
    /// synchronized its processes.
    ///
    /// # Errors
    /// `Win` if there is no such window.
    pub fn free_window(&mut self, window: Handle) -> Result<Window> {
        let mut freed = self.retire_window(window)?;
        self.free_retired(&mut freed)?;
        Ok(freed)
    }

    /// Takes a window, with its memory, from what is served: no rank accesses it before all of them have inserted it
    /// again.
    ///
    /// # Errors
    /// `Win` if there is no such window.
    pub(crate) fn retire_window(&mut self, window: Handle) -> Result<Window> {
        let retired = self.windows.remove(window)?;
        self.engine.watched_contexts().unwatch(retired.channel.context());
        Ok(retired)
    }

    /// Frees what a retired window has.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn free_retired(&mut self, window: &mut Window) -> Result {
        self.close_segment(window);
        self.free_comm(window.comm)
    }

    fn close_segment(&mut self, window: &mut Window) {
        if let Some(rma) = self.engine.rma() {
            if let Some(key) = window.registered.take() {
                rma.deregister(key);
            }
            for (rank, key) in std::mem::take(&mut window.outside) {
                rma.close(window.channel.peer(rank), key);
            }
        }
        if let Some(mapped) = window.mapped.take() {
            mapped.close(window.memory_device(&mut self.engine));
        }
    }
}

/// # Errors
/// `Size` for a negative size.
pub(crate) fn check_size(size: isize) -> Result<usize> {
    usize::try_from(size).map_err(|_| {
        ErrorClass::Size.error(format!("the size is {size}: expected 0 or more bytes"))
    })
}

#[cold]
fn not_a_window(handle: Handle) -> Box<MpiError> {
    ErrorClass::Win.error(match handle {
        WIN_NULL => "the window is MPI_WIN_NULL".into(),
        _ => format!("{handle:#x} is not a window; it may have been freed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::OwnedBytes;

    fn class<T: std::fmt::Debug>(result: Result<T>) -> ErrorClass {
        ErrorClass::from_value(result.unwrap_err().code.0).unwrap()
    }

    #[test]
    fn memory_has_a_size_and_a_unit() {
        let extent = WindowMemory::new(Flavor::Create, 64, 10, 4).unwrap();
        assert_eq!((extent.size, extent.unit, extent.model), (10, 4, 321));
        assert_eq!(class(WindowMemory::new(Flavor::Create, 64, -1, 4)), ErrorClass::Size);
        assert_eq!(class(WindowMemory::new(Flavor::Create, 64, 1, 0)), ErrorClass::Disp);
        assert_eq!(class(WindowMemory::new(Flavor::Create, 64, 1, -4)), ErrorClass::Disp);
    }

    #[test]
    fn what_is_attached_does_not_overlap() {
        let bytes = OwnedBytes::zeroed(256);
        let base = bytes.span().address();
        let mut window = Window::new(WindowMemory::dynamic(), Span::EMPTY).unwrap();
        let part = |start, len| bytes.span().part(start, len);
        window.attach(part(100, 10)).unwrap();
        window.attach(part(110, 5)).unwrap();
        window.attach(part(90, 10)).unwrap();
        for (start, len) in [(99, 1), (99, 2), (105, 1), (114, 9), (80, 100), (100, 0)] {
            assert_eq!(class(window.attach(part(start, len))), ErrorClass::RmaAttach, "{start}");
        }
        assert_eq!(class(window.detach(base + 105)), ErrorClass::Base);
        window.detach(base + 100).unwrap();
        assert_eq!(class(window.detach(base + 100)), ErrorClass::Base);
        window.attach(part(100, 10)).unwrap();
    }

    #[test]
    fn a_window_of_fixed_memory_takes_no_more() {
        let memory = WindowMemory::new(Flavor::Allocate, 64, 10, 4).unwrap();
        let mut window = Window::new(memory, Span::EMPTY).unwrap();
        assert_eq!(class(window.attach(Span::EMPTY)), ErrorClass::RmaFlavor);
        assert_eq!(class(window.detach(100)), ErrorClass::RmaFlavor);
    }

    #[test]
    fn hints_that_make_no_sense_are_ignored() {
        let mut window = Window::new(WindowMemory::dynamic(), Span::EMPTY).unwrap();
        let mut hints = Info::default();
        hints.set(b"no_locks", b"true").unwrap();
        hints.set(b"same_size", b"perhaps").unwrap();
        hints.set(b"accumulate_ordering", b"waw,rar").unwrap();
        hints.set(b"tea", b"green").unwrap();
        hints.set(b"mpi_assert_memory_alloc_kinds", b"tea").unwrap();
        window.advise(&hints).unwrap();
        let info = window.info(b"system").unwrap();
        let value = |key: &[u8]| info.get(key).unwrap();
        assert_eq!(value(b"mpi_memory_alloc_kinds"), Some(&b"system"[..]));
        assert_eq!(value(b"no_locks"), Some(&b"true"[..]));
        assert_eq!(value(b"same_size"), Some(&b"false"[..]));
        assert_eq!(value(b"accumulate_ordering"), Some(&b"waw,rar"[..]));
        assert_eq!(value(b"tea"), None);
        assert_eq!(value(b"mpi_assert_memory_alloc_kinds"), None);
    }

    #[test]
    fn handles_that_are_none_are_not_windows() {
        let windows = Windows::default();
        assert!([WIN_NULL, 0, 1, u32::MAX].iter().all(|&junk| windows.get(junk).is_err()));
    }
}
