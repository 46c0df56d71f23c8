//! Deferred work: writes and sums to memory of peers, and additions to counters, which the provider starts when a counter
//! has a level, without a call of the application.
//!
//! ```text
//!   write of a peer to counted memory ──+1──┐
//!                                           ▼ level
//!                          post ──work──> counter ──> write ──> counted memory of a peer
//!                                           ▲  ▲        │ end
//!                                           │  └──+1────┘
//!                                           └── add a value <── level of another counter
//! ```
//!
//! A list of work is posted again and again: work is done once after each post. Work does not lower levels, so a list
//! knows how far one post raises each counter, and waits for levels that much higher each time. Before levels have too
//! many bits, a post begins at 0 again.
//!
//! An endpoint of its own, beside that of messages ([`super::FabricEndpoint`]): its provider makes progress by itself. Of
//! providers that are known, `sockets` has all of this (tried), and `cxi` (by its document). What it lacks, and how it
//! fails:
//!
//! * A remote write adds 1, and no other number.
//! * An addition to the counter that it waits for, also by way of others, never ends: the counter is locked meanwhile.
//! * Work of one counter is posted by rising levels: it starts in the order of posting.
//! * Work has a counter for its end, always; an addition does not count at it.
//! * A write that finds the queue of the provider full does not start until its counter rises again, which may be never.
//!   So lists in progress have no more work than that queue holds.
//! * Nothing can be taken back. An endpoint with work in progress is kept for ever when it is dropped.
#![allow(unsafe_code)]

mod direct;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;
use std::path::Path;
use std::ptr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::FabricPlace;
use super::library::{FabricFunctions, keeping_signal_handlers};
use super::objects::{EndpointObjects, OpenedEndpoint, close_object};
use super::remote::{MemoryDemands, RegisteredMemory};
use super::tables::*;
use crate::base::Span;
use crate::sys::iovec;
use crate::sys::thread::naming_helpers;
use direct::DirectWrites;
pub use direct::{WorkEvent, WriteError};

/// How long the provider may have no room for more work.
const POST_LIMIT: Duration = Duration::from_secs(2);

/// What a provider has for deferred work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkLimits {
    /// Bits of the level of a counter.
    pub counter_bits: u32,
    /// Operations in progress.
    pub slots: usize,
    /// The longest sum of bytes.
    pub sum_max: usize,
}

impl WorkLimits {
    /// `sockets` compares signed numbers of 32 bits. Its queue to peers has 256 KiB, and a write takes 104 bytes (both
    /// measured with libfabric 2.5). The document of `cxi` gives all processes of a node 512 slots, 8 of them reserved for
    /// the provider. Of others, the least.
    fn of(provider: &str) -> Self {
        match provider {
            "sockets" => Self { counter_bits: 31, slots: (256 << 10) / 104, sum_max: 4096 },
            "cxi" => Self { counter_bits: 48, slots: 504, sum_max: 0 },
            _ => Self { counter_bits: 31, slots: 504, sum_max: 0 },
        }
    }
}

/// A counter of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkCounter(u32);

/// A list of work of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkListKey(usize);

/// What is done when a counter has a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkAction {
    /// Writes to memory of a peer, or of this rank; without bytes, it only counts there.
    Write {
        /// What is written.
        from: Span,
        /// The rank.
        to: u32,
        /// The place there.
        at: FabricPlace,
    },
    /// Adds bytes to those in memory of a peer, or of this rank: each sum wraps.
    Sum {
        /// What is added, up to [`WorkLimits::sum_max`] bytes.
        from: Span,
        /// The rank.
        to: u32,
        /// The place there.
        at: FabricPlace,
    },
    /// Adds to a counter of this endpoint, other than that which it waits for.
    Add {
        /// The counter.
        counter: WorkCounter,
        /// The number.
        value: u64,
    },
}

/// Work that waits for a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingAction {
    /// The counter.
    pub waits: WorkCounter,
    /// What it has risen by since the list was posted.
    pub level: u64,
    /// What then starts.
    pub action: WorkAction,
    /// Gets 1 at the end of a write, whose source may then be overwritten.
    pub ends: WorkCounter,
}

/// An endpoint for deferred work. One thread at a time calls it: it has a lock.
pub struct WorkEndpoint {
    state: Mutex<ManuallyDrop<WorkState>>,
    description: String,
    address: Vec<u8>,
    limits: WorkLimits,
    /// That of the queue, if the provider has one.
    descriptor: Option<RawFd>,
}

impl std::fmt::Debug for WorkEndpoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "WorkEndpoint({})", self.description)
    }
}

/// Dropped in this order.
struct WorkState {
    registered: RegisteredMemory,
    counters: OpenCounters,
    objects: EndpointObjects,
    /// What the provider reads until the work is done.
    lists: Vec<WorkList>,
    demands: MemoryDemands,
    functions: FabricFunctions,
    peers: Vec<u64>,
    slots_left: usize,
    direct: DirectWrites,
    /// Writes that the provider has not taken, until a look tells of them.
    refused: Vec<WorkEvent>,
    /// Where peers write that only count.
    nowhere: Box<[u8; 8]>,
}

// SAFETY: the objects and the lists are used under the lock alone, by any thread (`ONE_CALL`); the threads of the provider
// read lists in progress.
unsafe impl Send for WorkState {}

#[derive(Default)]
struct OpenCounters(Vec<*mut CounterObject>);

struct WorkList {
    /// At addresses of their own.
    work: Box<[StoredWork]>,
    /// By how much a post raises each counter.
    rises: BTreeMap<WorkCounter, u64>,
    posts: u64,
    /// Whether its work has slots.
    has_slots: bool,
    /// A post has failed: some of its work may be done at any time.
    is_broken: bool,
}

/// What the library reads: structures that point to each other.
struct StoredWork {
    work: TriggeredWork,
    operation: StoredOperation,
    from: libc::iovec,
    to: RemotePart,
    waits: WorkCounter,
    level: u64,
}

enum StoredOperation {
    Write(TriggeredWrite),
    Sum(TriggeredCombination),
    Add(TriggeredAddition),
}

impl WorkEndpoint {
    /// Loads the library from `path`, or from where the loader finds it, and opens an endpoint of the best provider with
    /// deferred work, or of `provider`.
    ///
    /// # Errors
    /// A sentence: the loader's, no provider, or a call that fails.
    pub fn open(path: Option<&Path>, provider: Option<&str>) -> Result<Self, String> {
        let functions = FabricFunctions::load(path)?;
        let found = functions.choose_for_work(provider)?;
        let offer = found.first();
        let description = format!(
            "libfabric {}, provider {}, {}",
            functions.version(),
            offer.provider,
            offer.domain
        );
        let opened = keeping_signal_handlers(|| {
            naming_helpers(|| EndpointObjects::open(&functions, &found))
        });
        let fails = |call: &str, status: i32| {
            format!("{call} fails for {description}: {}", functions.error(status as isize))
        };
        let OpenedEndpoint { objects, address, descriptor } =
            opened.map_err(|(call, status)| fails(call, status))?;
        let demands = MemoryDemands::of(&found)
            .ok_or_else(|| format!("{description} has no access to memory of peers"))?;
        drop(found);
        let limits = WorkLimits::of(&offer.provider);
        let mut state = WorkState {
            registered: RegisteredMemory::default(),
            counters: OpenCounters::default(),
            objects,
            lists: Vec::new(),
            demands,
            functions,
            peers: Vec::new(),
            slots_left: limits.slots,
            direct: DirectWrites::default(),
            refused: Vec::new(),
            nowhere: Box::new([0; 8]),
        };
        state.try_work().map_err(|why| format!("{description}: {why}"))?;
        let state = Mutex::new(ManuallyDrop::new(state));
        Ok(Self { state, description, address, limits, descriptor })
    }

    /// The library, the provider and its domain.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What peers need to reach this endpoint.
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// What the provider has.
    pub fn limits(&self) -> WorkLimits {
        self.limits
    }

    /// Takes the addresses of all ranks, this one included. Called once, before the first list.
    ///
    /// # Errors
    /// A sentence for an address that the provider does not take.
    pub fn meet(&self, addresses: &[Vec<u8>]) -> Result<(), String> {
        let mut state = self.state.lock();
        for (rank, address) in addresses.iter().enumerate() {
            let peer = state.objects.insert(address).ok_or_else(|| {
                format!("{} does not take the address of rank {rank}", self.description)
            })?;
            state.peers.push(peer);
        }
        Ok(())
    }

    /// A new counter, at level 0.
    ///
    /// # Errors
    /// A sentence if the provider has no more.
    pub fn counter(&self) -> Result<WorkCounter, String> {
        self.state.lock().counter()
    }

    /// The level of a counter.
    pub fn level(&self, counter: WorkCounter) -> u64 {
        self.state.lock().level(counter)
    }

    /// Sleeps until a counter has a level, `limit` at most, and less if the provider ends its sleep before; whether it
    /// has. Other calls wait meanwhile.
    ///
    /// # Errors
    /// A sentence of the provider.
    pub fn wait(&self, counter: WorkCounter, level: u64, limit: Duration) -> Result<bool, String> {
        let state = self.state.lock();
        let object = state.object(counter);
        let limit_ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: an open counter.
        match unsafe { ((*(*object).calls).wait)(object, level, limit_ms) } {
            0 => Ok(true),
            // Of either sign, and at once (libfabric 1.17).
            error if error.abs() == TIMED_OUT => Ok(state.level(counter) >= level),
            error => {
                Err(format!("{}: {}", self.description, state.functions.error(error as isize)))
            }
        }
    }

    /// Lets peers write memory that exists as long as the endpoint. Their writes add 1 to `counter`, after their bytes.
    ///
    /// # Errors
    /// A sentence.
    pub fn register(
        &self, memory: Span, counter: Option<WorkCounter>,
    ) -> Result<FabricPlace, String> {
        let mut state = self.state.lock();
        let counter = counter.map(|counter| state.object(counter));
        let WorkState { registered, objects, demands, functions, .. } = &mut **state;
        let rights = PEERS_MAY_WRITE;
        let place = registered.register(functions, objects, demands, memory, rights, counter);
        place.map_err(|why| format!("{}: {why}", self.description))
    }

    /// Makes a list of work, which is not posted yet. A post of it raises counters by `rises`: by its own writes,
    /// additions and ends, and by those of peers that belong to the post. Counters have one list each.
    ///
    /// # Errors
    /// A sentence for an addition that would not end, a sum that is too long, or a counter without a rise.
    ///
    /// # Panics
    /// If the endpoint has not met a rank.
    ///
    /// # Safety
    /// All work of a post has been done when all counters have risen so far, and nothing raises them from then on until
    /// the next post. What it writes stays readable until then.
    pub unsafe fn prepare(
        &self, work: &[WaitingAction], rises: &[(WorkCounter, u64)],
    ) -> Result<WorkListKey, String> {
        let rises: BTreeMap<_, _> = rises.iter().copied().collect();
        if let Some(unknown) = work.iter().find(|work| !rises.contains_key(&work.waits)) {
            return Err(format!("work waits for a counter that does not rise: {unknown:?}"));
        }
        let is_long = |action: &WorkAction| matches!(action, WorkAction::Sum { from, .. } if from.len() > self.limits.sum_max);
        if let Some(long) = work.iter().find(|work| is_long(&work.action)) {
            return Err(format!("a sum is longer than {} bytes: {long:?}", self.limits.sum_max));
        }
        additions_end(work)?;
        let mut state = self.state.lock();
        let mut stored: Box<[_]> = work.iter().map(|one| state.stored(one)).collect();
        stored.iter_mut().for_each(StoredWork::connect);
        Ok(state.insert(stored, rises))
    }

    /// Posts a list. Its work starts when its levels are reached.
    ///
    /// # Errors
    /// A sentence if the post before has not ended, levels have too many bits or are too high, other lists have the slots,
    /// or the provider does not take it: then part of it may start, and the list has no further post.
    pub fn post(&self, list: WorkListKey) -> Result<(), String> {
        let mut state = self.state.lock();
        let of = |why: String| format!("{}: {why}", self.description);
        if state.lists[list.0].is_broken || !state.has_ended(list) {
            return Err(of("a list of work is posted again before its end".to_owned()));
        }
        let WorkList { rises, posts, .. } = &state.lists[list.0];
        let highest = rises.values().copied().max().unwrap_or(0);
        let bits = self.limits.counter_bits;
        if highest >> bits != 0 {
            return Err(of(format!("the level {highest} has more than {bits} bits")));
        }
        if highest.saturating_mul(posts + 1) >> bits != 0 {
            state.lower(list).map_err(of)?;
        }
        state.take_slots(list).and_then(|()| state.post(list)).map_err(of)
    }

    /// Whether a list that has been posted has ended.
    pub fn has_ended(&self, list: WorkListKey) -> bool {
        self.state.lock().has_ended(list)
    }

    /// The next error of a write, which then never ends: neither its own counter nor that of the peer has got 1.
    pub fn take_error(&self) -> Option<String> {
        let state = self.state.lock();
        let queue = state.objects.queue;
        let mut entry = FabricCompletion::NONE;
        // SAFETY: an open queue, and a place for an entry.
        let count = unsafe { ((*(*queue).calls).read)(queue, &raw mut entry, 1) };
        let failed = if count == ERROR_ENTRY { state.objects.take_error() } else { None };
        failed.map(|failed| state.functions.error(failed.error as isize))
    }
}

impl WorkState {
    /// Whether the provider takes work at all: some offer triggers of another kind.
    fn try_work(&mut self) -> Result<(), String> {
        let [waits, counter] = [self.counter()?, self.counter()?];
        let action = WorkAction::Add { counter, value: 1 };
        let one = WaitingAction { waits, level: 0, action, ends: waits };
        let mut work: Box<[_]> = [self.stored(&one)].into();
        work[0].connect();
        let rises = [(waits, 0), (counter, 1)].into();
        let list = self.insert(work, rises);
        self.post(list)?;
        match self.level(counter) {
            1 => Ok(()),
            level => Err(format!("work of level 0 has not been done: a counter is {level}")),
        }
    }

    fn counter(&mut self) -> Result<WorkCounter, String> {
        let (domain, mut made) = (self.objects.domain, ptr::null_mut());
        let mut attributes =
            CounterAttributes { wait: WAITS_INSIDE, ..CounterAttributes::default() };
        // SAFETY: an open domain, attributes with room behind, and a place for the answer.
        let status = unsafe {
            let calls = &*(*domain).calls;
            (calls.counter)(domain, &raw mut attributes, &raw mut made, ptr::null_mut())
        };
        if status != 0 || made.is_null() {
            return Err(format!("no more counters: {}", self.functions.error(status as isize)));
        }
        self.counters.0.push(made);
        Ok(WorkCounter(self.counters.0.len() as u32 - 1))
    }

    fn object(&self, counter: WorkCounter) -> *mut CounterObject {
        self.counters.0[counter.0 as usize]
    }

    fn level(&self, counter: WorkCounter) -> u64 {
        let object = self.object(counter);
        // SAFETY: an open counter.
        unsafe { ((*(*object).calls).read)(object) }
    }

    fn insert(
        &mut self, work: Box<[StoredWork]>, rises: BTreeMap<WorkCounter, u64>,
    ) -> WorkListKey {
        self.lists.push(WorkList { work, rises, posts: 0, has_slots: false, is_broken: false });
        WorkListKey(self.lists.len() - 1)
    }

    /// Takes slots for the work of a list, if need be those of lists that have ended.
    fn take_slots(&mut self, list: WorkListKey) -> Result<(), String> {
        let needed = self.lists[list.0].work.len();
        for other in (0..self.lists.len()).map(WorkListKey) {
            let is_short = !self.lists[list.0].has_slots && self.slots_left < needed;
            if is_short && self.lists[other.0].has_slots && self.has_ended(other) {
                self.lists[other.0].has_slots = false;
                self.slots_left += self.lists[other.0].work.len();
            }
        }
        if self.lists[list.0].has_slots {
            return Ok(());
        }
        let left = self.slots_left;
        self.slots_left = left.checked_sub(needed).ok_or_else(|| {
            format!("{left} slots for deferred work are free, and a list needs {needed}")
        })?;
        self.lists[list.0].has_slots = true;
        Ok(())
    }

    /// Lowers the counters of a list that has ended to 0.
    fn lower(&mut self, list: WorkListKey) -> Result<(), String> {
        let WorkList { rises, posts, .. } = &self.lists[list.0];
        for (counter, rise) in rises {
            let (level, due, object) = (self.level(*counter), posts * rise, self.object(*counter));
            if level != due {
                return Err(format!("a counter is {level} at the end of a list instead of {due}"));
            }
            // SAFETY: an open counter.
            let status = unsafe { ((*(*object).calls).set)(object, 0) };
            if status != 0 {
                let why = self.functions.error(status as isize);
                return Err(format!("a counter cannot be lowered: {why}"));
            }
        }
        self.lists[list.0].posts = 0;
        Ok(())
    }

    fn has_ended(&self, list: WorkListKey) -> bool {
        let WorkList { rises, posts, .. } = &self.lists[list.0];
        rises.iter().all(|(counter, rise)| self.level(*counter) >= posts * rise)
    }

    /// The structures of work, which do not point to each other yet.
    fn stored(&self, one: &WaitingAction) -> StoredWork {
        let (from, to, peer) = match one.action {
            WorkAction::Write { from, to, at } | WorkAction::Sum { from, to, at } => {
                let part = RemotePart { address: at.address, len: from.len(), key: at.key };
                (iovec(from.address(), from.len()), part, self.peers[to as usize])
            }
            WorkAction::Add { .. } => (iovec(0, 0), RemotePart { address: 0, len: 0, key: 0 }, 0),
        };
        let endpoint = self.objects.endpoint;
        let parts = RemoteParts::one(ptr::null(), peer, ptr::null());
        let (context, data, flags) = (ptr::null_mut(), 0, 0);
        let operation = match one.action {
            WorkAction::Write { .. } => {
                let message = RemoteWrite { parts, context, data };
                StoredOperation::Write(TriggeredWrite { endpoint, message, flags })
            }
            WorkAction::Sum { .. } => {
                let (elements, operation) = (BYTES, SUMS);
                let message = RemoteCombination { parts, elements, operation, context, data };
                StoredOperation::Sum(TriggeredCombination { endpoint, message, flags })
            }
            WorkAction::Add { counter, value } => {
                StoredOperation::Add(TriggeredAddition { counter: self.object(counter), value })
            }
        };
        let work = TriggeredWork {
            context: [0; 8],
            level: 0,
            waits: self.object(one.waits),
            ends: self.object(one.ends),
            kind: 0,
            operation: ptr::null_mut(),
        };
        StoredWork { work, operation, from, to, waits: one.waits, level: one.level }
    }

    fn post(&mut self, list: WorkListKey) -> Result<(), String> {
        let domain = self.objects.domain.cast::<Object>();
        let WorkList { work, rises, posts, is_broken, .. } = &mut self.lists[list.0];
        let base = *posts;
        *posts += 1;
        let end = Instant::now() + POST_LIMIT;
        for one in work {
            one.work.level = base * rises[&one.waits] + one.level;
            let work = (&raw mut one.work).cast();
            let status = loop {
                // SAFETY: an open domain. The structures stay where they are, and unchanged, until the work is done:
                // the list has ended before (`post`), and its memory stays as long as the endpoint.
                let status = unsafe { ((*(*domain).calls).control)(domain, QUEUE_WORK, work) };
                if status as isize != TRY_AGAIN || Instant::now() > end {
                    break status;
                }
                std::thread::yield_now();
            };
            if status != 0 {
                *is_broken = true;
                return Err(format!("work is refused: {}", self.functions.error(status as isize)));
            }
        }
        Ok(())
    }
}

impl StoredWork {
    /// Lets the structures point to each other: they are where they stay.
    fn connect(&mut self) {
        let context = (&raw mut self.work.context).cast();
        let (from, to) = (&raw const self.from, &raw const self.to);
        (self.work.kind, self.work.operation) = match &mut self.operation {
            StoredOperation::Write(write) => {
                write.message.parts.move_to(from, to);
                write.message.context = context;
                (WORK_WRITES, (&raw mut *write).cast())
            }
            StoredOperation::Sum(sum) => {
                sum.message.parts.move_to(from, to);
                sum.message.context = context;
                (WORK_COMBINES, (&raw mut *sum).cast())
            }
            StoredOperation::Add(addition) => (WORK_ADDS, (&raw mut *addition).cast()),
        };
    }
}

/// Additions lead from a counter to itself by no way: the provider locks each counter on the way.
fn additions_end(work: &[WaitingAction]) -> Result<(), String> {
    let mut next: BTreeMap<WorkCounter, Vec<WorkCounter>> = BTreeMap::new();
    for one in work {
        if let WorkAction::Add { counter, .. } = one.action {
            next.entry(one.waits).or_default().push(counter);
        }
    }
    // Counters without an addition to them go, until none is left or all that are left are in circles.
    while !next.is_empty() {
        let are_raised: Vec<WorkCounter> = next.values().flatten().copied().collect();
        let before = next.len();
        next.retain(|counter, _| are_raised.contains(counter));
        if next.len() == before {
            let circle: Vec<_> = next.keys().collect();
            return Err(format!("additions to counters go in a circle: {circle:?}"));
        }
    }
    Ok(())
}

impl Drop for OpenCounters {
    fn drop(&mut self) {
        for counter in std::mem::take(&mut self.0) {
            // SAFETY: an open counter, closed once, before its domain.
            unsafe { close_object(counter.cast(), "a counter") };
        }
    }
}

impl Drop for WorkEndpoint {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let lists = 0..state.lists.len();
        let has_ended =
            |list: usize| !state.lists[list].is_broken && state.has_ended(WorkListKey(list));
        if lists.into_iter().all(has_ended) && state.direct.are_idle() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(state) };
        } else {
            tracing::warn!("libfabric keeps an endpoint with work in progress");
        }
    }
}
