//! Requests of other processes on the memory of this one, by messages.
//!
//! ```text
//!   request ──> waiting ──no lock before it is awaited──> started ──its data or answer moved──> done
//!                                  data are received, a get is answered
//! ```
//!
//! Requests of one origin are done in the order of their arrival, so that accumulates are ordered, an
//! answer to a flush follows all that came before, and a lock holds back what comes after it. Requests
//! of several origins have no order. Which calls are legal is not in this module: the origin knows its
//! epochs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::accumulate::{Accumulation, SWAPPED_MAX, compare_and_swap, packed};
use super::channel::WindowChannel;
use super::conflicts::{Access, AccessKind, AccessTable, EpochKind, ranges};
use super::lock_queue::LockQueue;
use super::mapped::{MappedMemory, WindowCall};
use super::origin::Answer;
use super::peer_calls::PeerCalls;
use super::regions::Regions;
use super::request_message::{
    AccumulateAnswer, Data, DataTag, LayoutName, REQUEST_TAG, TargetRange, WindowRequest,
};
use crate::device::Device;
use crate::engine::Engine;
use crate::engine::channel::ArrivingMessage;
use crate::engine::memory::layout::Layout;
use crate::engine::memory::{Memory, OwnedBytes};
use crate::engine::point_to_point::operation::OperationId;
use crate::mpi::datatype::{Datatype, external, external_memory};
use crate::mpi::fortran::Booleans;
use crate::shared_memory::turn_lock::LockKind;
use platform::base::{ErrorClass, MpiError, Result};

/// Requests of others.
#[derive(Debug)]
pub(super) struct Target {
    origins: BTreeMap<u32, OriginQueue>,
    locks: LockQueue,
    /// The origins that ask for locks by requests, where locks were words before.
    handed_over: BTreeSet<u32>,
    /// The origins that have failed.
    failed: BTreeSet<u32>,
    /// Whether requests are dropped: the window was revoked.
    is_closed: bool,
    /// A request whose bytes have not arrived.
    arriving: Option<ArrivingMessage>,
    /// Whether an accumulate waits for another rank of this node to end one.
    is_contended: bool,
    /// A rank of this node has ended in an accumulate, which keeps all later ones out.
    lost: Option<Box<MpiError>>,
    /// Calls of `MPI_Win_post` by others.
    pub(super) posts: PeerCalls,
    /// Calls of `MPI_Win_complete` by others.
    pub(super) completes: PeerCalls,
    /// Accesses of all origins in progress, in checked mode.
    pub(super) accesses: Option<AccessTable>,
}

/// Requests of one origin.
#[derive(Debug, Default)]
struct OriginQueue {
    requests: VecDeque<QueuedRequest>,
    /// The number of requests, from the front on, that have been started.
    started: usize,
    layouts: BTreeMap<u8, Arc<Layout>>,
    /// The first error since the last answer.
    error: Option<Box<MpiError>>,
}

#[derive(Debug)]
struct QueuedRequest {
    work: Work,
    /// The message that moves data.
    transfer: Option<OperationId>,
}

/// What a request does.
#[derive(Debug)]
enum Work {
    Put(Memory, Payload, Option<DataTag>),
    Get(Memory, DataTag),
    Accumulate {
        memory: RequestedMemory,
        accumulation: Accumulation,
        operand: Payload,
        answer: AccumulateAnswer,
    },
    CompareAndSwap {
        memory: Memory,
        operand: Payload,
        answer: DataTag,
    },
    /// A request that was refused; its data are dropped, and nothing is answered but that.
    Refused(Payload, Option<DataTag>),
    Flush(DataTag),
    Lock(LockKind, DataTag),
    LockAll(Option<DataTag>),
    Unlock(DataTag),
    Complete,
    Access(AccessKind, EpochKind, Vec<Range<i64>>),
}

/// Memory of a request.
#[derive(Debug)]
struct RequestedMemory {
    /// As it is.
    items: Memory,
    /// As messages have it.
    on_the_way: Memory,
    /// The elements, if that differs: a datatype with their signature, and their number.
    elements: Option<(Datatype, usize)>,
}

/// Data of a request.
#[derive(Debug)]
enum Payload {
    Here(OwnedBytes),
    /// They arrive with this tag. The bytes take them, unless they go to the memory of the window.
    Follows(DataTag, u64),
}

impl Default for Target {
    fn default() -> Self {
        Self {
            origins: BTreeMap::new(),
            locks: LockQueue::default(),
            handed_over: BTreeSet::new(),
            failed: BTreeSet::new(),
            is_closed: false,
            arriving: None,
            is_contended: false,
            lost: None,
            posts: PeerCalls::new(WindowCall::Post),
            completes: PeerCalls::new(WindowCall::Complete),
            accesses: None,
        }
    }
}

impl Target {
    /// Handles requests that have arrived, and continues earlier ones.
    pub(super) fn serve<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, regions: &Regions,
        mapped: Option<&MappedMemory>, booleans: Option<Booleans>,
    ) {
        while let Some((origin, bytes)) =
            channel.next_message(engine, REQUEST_TAG, &mut self.arriving)
        {
            self.arrive(origin, &bytes, regions, booleans);
        }
        self.open_if_all_told(channel.size());
        self.is_contended = false;
        self.advance_all(engine, channel, mapped);
    }

    /// Whether it must be served without a message.
    pub(super) fn awaits_turn(&self) -> bool {
        self.is_contended
    }

    /// Whether a request has not been done.
    pub(super) fn is_busy(&self) -> bool {
        self.arriving.is_some() || self.origins.values().any(|queue| !queue.requests.is_empty())
    }

    /// Whether an accumulate waits for another rank of this node to end one.
    pub(super) fn is_contended(&self) -> bool {
        self.is_contended
    }

    /// Refuses accumulates from now on: the memory cannot be changed any more. The next answers tell `why`.
    pub(super) fn refuse_accumulates(&mut self, why: Box<MpiError>) {
        self.lost = Some(why);
    }

    /// Locks are words until [`WindowRequest::HandOver`] of all origins.
    pub(super) fn close_locks(&mut self) {
        self.locks.close();
    }

    /// Whether an origin has handed its locks over.
    pub(super) fn has_hand_over(&self) -> bool {
        !self.handed_over.is_empty()
    }

    /// Grants locks once each of `size` origins has told which it holds, or has failed.
    pub(super) fn open_if_all_told(&mut self, size: u32) {
        let has_told = |origin| self.handed_over.contains(&origin) || self.failed.contains(&origin);
        if self.locks.is_closed() && (0..size).all(has_told) {
            self.locks.open();
        }
    }

    /// An origin has failed: what it has asked for is done if its data are here, locks excepted. A lock that it
    /// holds ends after that.
    pub(super) fn origin_failed(&mut self, origin: u32) {
        self.failed.insert(origin);
        self.locks.withdraw(origin);
        let is_held = self.locks.is_held_by(origin);
        let is_done = match self.origins.get_mut(&origin) {
            Some(queue) => {
                queue.drop_locks(is_held);
                queue.requests.is_empty()
            }
            None => true,
        };
        if is_done && is_held {
            self.locks.release(origin);
        }
    }

    /// Drops requests, those excepted whose data are on their way.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        for (origin, queue) in &mut self.origins {
            queue.requests.truncate(queue.started);
            queue.drop_locks(self.locks.is_held_by(*origin));
        }
    }

    /// Queues a request.
    fn arrive(&mut self, origin: u32, bytes: &[u8], regions: &Regions, booleans: Option<Booleans>) {
        if self.is_closed || self.failed.contains(&origin) {
            return;
        }
        let queue = self.origins.entry(origin).or_default();
        let Some(request) = WindowRequest::parse(bytes) else {
            let why = format!("rank {origin} sent a request of {} bytes that none is", bytes.len());
            queue.error.get_or_insert(ErrorClass::Intern.error(why));
            return;
        };
        if let WindowRequest::Post = request {
            self.posts.add(origin);
            return;
        }
        if let WindowRequest::HandOver { held } = request {
            self.handed_over.insert(origin);
            held.into_iter().for_each(|kind| self.locks.hold(origin, kind));
            return;
        }
        let work = queue.prepare(request, regions, booleans);
        queue.requests.push_back(QueuedRequest { work, transfer: None });
    }

    fn advance_all<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, mapped: Option<&MappedMemory>,
    ) {
        let busy =
            |(origin, queue): (&u32, &OriginQueue)| (!queue.requests.is_empty()).then_some(*origin);
        let mut due: Vec<_> = self.origins.iter().filter_map(busy).collect();
        while let Some(origin) = due.pop() {
            // A lock that ends is that of the next one.
            due.extend(self.advance(engine, channel, mapped, origin));
        }
    }

    /// Continues the requests of one origin; the origins that have got a lock.
    fn advance<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, mapped: Option<&MappedMemory>,
        origin: u32,
    ) -> Vec<u32> {
        let mut granted = Vec::new();
        let Some(queue) = self.origins.get_mut(&origin) else { return granted };
        loop {
            match queue.start_all(engine, channel, origin) {
                Some(Work::Lock(kind, _)) => drop(self.locks.request(origin, *kind)),
                Some(Work::LockAll(_)) => drop(self.locks.request_for_all(origin)),
                _ => {}
            }
            let Some(front) = queue.requests.front_mut().filter(|_| queue.started > 0) else {
                break;
            };
            if let Some(end) = front.transfer.and_then(|id| engine.take_completion(id)) {
                front.transfer = None;
                if end.error.is_some() {
                    // Its operand has not arrived.
                    front.refuse();
                }
            }
            let awaits_lock = front.is_lock() && !self.locks.is_held_by(origin);
            if front.transfer.is_some() || awaits_lock {
                break;
            }
            // Other ranks of this node change the memory themselves.
            let lock = mapped.filter(|_| front.changes_numbers());
            let mut lock = lock.and_then(|mapped| mapped.accumulates(channel.rank()));
            if let Some(why) = self.lost.as_ref().filter(|_| lock.is_some()) {
                front.refuse();
                queue.error.get_or_insert_with(|| why.clone());
                lock = None;
            }
            let has_failed = |rank| self.failed.contains(&rank);
            let take_over = || {
                mapped
                    .is_some_and(|mapped| mapped.take_accumulates_over(channel.rank(), has_failed))
            };
            if lock.is_some_and(|lock| !lock.try_take()) && !take_over() {
                self.is_contended = true;
                break;
            }
            queue.started -= 1;
            let Some(done) = queue.requests.pop_front() else { break };
            match done.work {
                Work::Complete => self.completes.add(origin),
                Work::Access(kind, epoch, ranges) => {
                    let access = Access { origin, kind, epoch };
                    queue.note(self.accesses.as_mut(), access, &ranges);
                }
                Work::Flush(answer) => {
                    end_locked(self.accesses.as_mut(), origin);
                    queue.answer(engine, channel, origin, answer);
                }
                Work::Unlock(answer) => {
                    end_locked(self.accesses.as_mut(), origin);
                    queue.answer(engine, channel, origin, answer);
                    granted.extend(self.locks.release(origin));
                }
                work => queue.finish(engine, channel, origin, work),
            }
            if let Some(lock) = lock {
                lock.give_back();
            }
        }
        if queue.requests.is_empty() && self.failed.contains(&origin) {
            granted.extend(self.locks.release(origin));
        }
        granted
    }
}

impl OriginQueue {
    /// The work of a request, or why it is refused.
    fn prepare(
        &mut self, request: WindowRequest<'_>, regions: &Regions, booleans: Option<Booleans>,
    ) -> Work {
        let (data, answer) = match &request {
            WindowRequest::Put { data, answer, .. } => (Some(*data), *answer),
            WindowRequest::Get { answer, .. } => (None, Some(*answer)),
            WindowRequest::Accumulate { data, answer, .. } => (Some(*data), answer.tag()),
            WindowRequest::CompareAndSwap { data, answer, .. } => (Some(*data), Some(*answer)),
            WindowRequest::Flush { .. }
            | WindowRequest::Lock { .. }
            | WindowRequest::LockAll { .. }
            | WindowRequest::HandOver { .. }
            | WindowRequest::Unlock { .. }
            | WindowRequest::Post
            | WindowRequest::Complete
            | WindowRequest::Access { .. } => (None, None),
        };
        let work = self.accepted(request, regions, booleans);
        work.unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            let payload = data.map_or_else(|| Payload::Here(OwnedBytes::zeroed(0)), Payload::of);
            Work::Refused(payload, answer)
        })
    }

    /// # Errors
    /// `RmaRange` if the memory is none of the window, `Intern` for a request that makes no sense.
    fn accepted(
        &mut self, request: WindowRequest<'_>, regions: &Regions, booleans: Option<Booleans>,
    ) -> Result<Work> {
        Ok(match request {
            WindowRequest::Put { range, data, answer } => {
                let memory = self.memory(range, regions)?.on_the_way;
                check_len(&memory, data.len())?;
                Work::Put(memory, Payload::of(data), answer)
            }
            WindowRequest::Get { range, answer } => {
                Work::Get(self.memory(range, regions)?.on_the_way, answer)
            }
            WindowRequest::Accumulate { range, operator, unit, data, answer } => {
                let memory = self.memory(range, regions)?;
                let unit = unit.unit().ok_or_else(|| senseless("a datatype"))?;
                let accumulation = Accumulation::new(operator, &unit, booleans)?;
                if accumulation.has_operand() {
                    check_len(&memory.on_the_way, data.len())?;
                }
                Work::Accumulate { memory, accumulation, operand: Payload::of(data), answer }
            }
            WindowRequest::CompareAndSwap { range, unit: _, data, answer } => {
                let memory = self.memory(range, regions)?.on_the_way;
                if memory.len() > SWAPPED_MAX {
                    return Err(senseless("a number"));
                }
                check_len(&memory, data.len() / 2)?;
                Work::CompareAndSwap { memory, operand: Payload::of(data), answer }
            }
            WindowRequest::Flush { answer } => Work::Flush(answer),
            WindowRequest::Lock { kind, answer } => Work::Lock(kind, answer),
            WindowRequest::LockAll { answer } => Work::LockAll(answer),
            WindowRequest::Unlock { answer } => Work::Unlock(answer),
            WindowRequest::Complete => Work::Complete,
            WindowRequest::Access { range, kind, epoch } => {
                let (layout, count) = self.elements(&range)?;
                let ranges = ranges(range.offset, count, &layout).unwrap_or_default();
                Work::Access(kind, epoch, ranges)
            }
            WindowRequest::Post | WindowRequest::HandOver { .. } => {
                return Err(senseless("a call that is no work"));
            }
        })
    }

    /// The memory of a range.
    fn memory(&mut self, range: TargetRange, regions: &Regions) -> Result<RequestedMemory> {
        let (layout, count) = self.elements(&range)?;
        let items = regions.memory(range.offset, count, &layout)?;
        let Some(signature) = range.signature else {
            return Ok(RequestedMemory { on_the_way: items.alias(), items, elements: None });
        };
        if signature.size() != layout.size() {
            return Err(senseless("a signature"));
        }
        let on_the_way = external_memory(&signature, count, items.alias());
        Ok(RequestedMemory { items, on_the_way, elements: Some((signature, count)) })
    }

    /// The layout of the elements of a range, and their number.
    fn elements(&mut self, range: &TargetRange) -> Result<(Arc<Layout>, usize)> {
        let layout = match &range.layout {
            LayoutName::Dense(size) => Arc::new(Layout::dense(
                usize::try_from(*size)
                    .ok()
                    .filter(|size| *size <= isize::MAX as usize)
                    .ok_or_else(|| senseless("a size"))?,
            )),
            LayoutName::Slot(slot) => {
                Arc::clone(self.layouts.get(slot).ok_or_else(|| senseless("a layout"))?)
            }
            LayoutName::New(slot, layout) => {
                self.layouts.insert(*slot, Arc::clone(layout));
                Arc::clone(layout)
            }
        };
        let count = usize::try_from(range.count).map_err(|_| senseless("a count"))?;
        Ok((layout, count))
    }

    /// Drops the requests from the first lock on that is not held.
    fn drop_locks(&mut self, is_held: bool) {
        let is_granted = |index: usize| index == 0 && self.started > 0 && is_held;
        let all = self.requests.iter().enumerate();
        let first = all.filter(|(_, request)| request.is_lock()).find(|(at, _)| !is_granted(*at));
        if let Some((first, _)) = first {
            self.requests.truncate(first);
            self.started = self.started.min(first);
        }
    }

    /// Starts requests, up to a lock, which is alone; the lock, if it has just been started.
    fn start_all<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, origin: u32,
    ) -> Option<&Work> {
        loop {
            let is_first = self.started == 0;
            if !is_first && self.requests.front().is_some_and(QueuedRequest::is_lock) {
                return None;
            }
            let next = self.requests.get_mut(self.started)?;
            // The lock that this origin holds ends before, and memory for long operands is needed one
            // at a time.
            if !is_first && (next.is_lock() || next.needs_room()) {
                return None;
            }
            next.start(engine, channel, origin);
            self.started += 1;
            if next.is_lock() {
                return self.requests.front().map(|lock| &lock.work);
            }
        }
    }

    /// Ends a request whose data have moved.
    fn finish<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, origin: u32, work: Work,
    ) {
        match work {
            Work::Put(mut memory, data, answer) => {
                // Others have been received where they belong.
                if let Payload::Here(data) = data {
                    let len = data.len();
                    Memory::Owned(data).copy(0, &mut memory, 0, len);
                }
                if let Some(tag) = answer {
                    channel.send_detached(engine, origin, tag.answer(), Memory::EMPTY);
                }
            }
            Work::Accumulate { mut memory, accumulation, operand: Payload::Here(data), answer } => {
                let bytes = match answer {
                    AccumulateAnswer::None => None,
                    AccumulateAnswer::Fetched(_) => Some(Memory::Owned(packed(&memory.on_the_way))),
                    AccumulateAnswer::Done(_) => Some(Memory::owned(AccumulateAnswer::DONE)),
                };
                if accumulation.has_operand() {
                    let operand = memory.operand(data);
                    accumulation.apply(&operand, &mut memory.items);
                }
                // Afterwards: the answer tells the origin that the operation is complete.
                if let Some((tag, bytes)) = answer.tag().zip(bytes) {
                    channel.send_detached(engine, origin, tag.answer(), bytes);
                }
            }
            Work::CompareAndSwap { mut memory, operand: Payload::Here(data), answer } => {
                let mut operand = vec![0; data.len()];
                data.span().read(0, &mut operand);
                let (compared, new) = operand.split_at(operand.len() / 2);
                let old = compare_and_swap(compared, new, &mut memory);
                let old = Memory::owned(&old[..new.len()]);
                channel.send_detached(engine, origin, answer.answer(), old);
            }
            Work::Refused(_, Some(answer)) => {
                channel.send_detached(engine, origin, answer.answer(), Memory::EMPTY);
            }
            Work::Lock(_, answer) | Work::LockAll(Some(answer)) => {
                self.answer(engine, channel, origin, answer);
            }
            // Their data have moved, and nobody waits for an answer.
            Work::Get(..)
            | Work::Accumulate { .. }
            | Work::CompareAndSwap { .. }
            | Work::Refused(_, None)
            | Work::LockAll(None)
            | Work::Flush(_)
            | Work::Unlock(_)
            | Work::Complete
            | Work::Access(..) => {}
        }
    }

    /// Compares an access with those in progress. The next answer tells a conflict. Data that an origin
    /// fetches with a lock may arrive without a later message, so no table knows how long such an access
    /// lasts: it is compared when it starts only.
    fn note(&mut self, table: Option<&mut AccessTable>, access: Access, ranges: &[Range<i64>]) {
        let Some(table) = table else { return };
        if let EpochKind::Fence(number) = access.epoch {
            table.end_fences_before(number);
        }
        if let Err(error) = table.check(access, ranges) {
            self.error.get_or_insert(error);
        } else if access.epoch != EpochKind::Lock || !access.kind.fetches() {
            table.insert(access, ranges);
        }
    }

    /// Answers with the first error since the last answer.
    fn answer<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, origin: u32, tag: DataTag,
    ) {
        let bytes = Answer::emit(self.error.take().as_deref());
        channel.send_detached(engine, origin, tag.answer(), Memory::owned(bytes));
    }
}

impl RequestedMemory {
    /// Data of a message, as the memory has it.
    fn operand(&self, data: OwnedBytes) -> Memory {
        let Some((signature, count)) = &self.elements else { return Memory::Owned(data) };
        let mut operand = Memory::owned(vec![0; self.items.len()]);
        external::unpack(signature, *count, &Memory::Owned(data), &mut operand);
        operand
    }
}

impl QueuedRequest {
    fn is_lock(&self) -> bool {
        matches!(self.work, Work::Lock(..) | Work::LockAll(_))
    }

    /// Whether it changes numbers atomically.
    fn changes_numbers(&self) -> bool {
        matches!(self.work, Work::Accumulate { .. } | Work::CompareAndSwap { .. })
    }

    /// Refuses an accumulate whose data have moved.
    fn refuse(&mut self) {
        let answer = match &self.work {
            Work::Accumulate { answer, .. } => answer.tag(),
            Work::CompareAndSwap { answer, .. } => Some(*answer),
            _ => return,
        };
        self.work = Work::Refused(Payload::Here(OwnedBytes::zeroed(0)), answer);
    }

    /// Whether its start allocates memory for long data.
    fn needs_room(&self) -> bool {
        let payload = match &self.work {
            Work::Accumulate { operand, .. } | Work::CompareAndSwap { operand, .. } => operand,
            Work::Refused(payload, _) => payload,
            _ => return false,
        };
        matches!(payload, Payload::Follows(..))
    }

    /// Starts to move its data.
    fn start<D: Device>(&mut self, engine: &mut Engine<D>, channel: &WindowChannel, origin: u32) {
        self.transfer = match &mut self.work {
            Work::Put(memory, Payload::Follows(tag, _), _) => {
                Some(channel.receive(engine, origin, tag.data(), memory.alias()))
            }
            Work::Get(memory, tag) => channel.send(engine, origin, tag.answer(), memory.alias()),
            Work::Accumulate { operand: payload, .. }
            | Work::CompareAndSwap { operand: payload, .. }
            | Work::Refused(payload, _) => payload.receive(engine, channel, origin),
            Work::Put(_, Payload::Here(_), _)
            | Work::Flush(_)
            | Work::Lock(..)
            | Work::LockAll(_)
            | Work::Unlock(_)
            | Work::Complete
            | Work::Access(..) => None,
        };
    }
}

impl Payload {
    fn of(data: Data<'_>) -> Self {
        match data {
            Data::Inline(bytes) => Self::Here(OwnedBytes::from(Box::from(bytes))),
            Data::Follows(tag, len) => Self::Follows(tag, len),
        }
    }

    /// Starts to receive data into memory of their own.
    fn receive<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, origin: u32,
    ) -> Option<OperationId> {
        let Self::Follows(tag, len) = *self else { return None };
        let bytes = OwnedBytes::zeroed(len as usize);
        let receive = channel.receive(engine, origin, tag.data(), Memory::Span(bytes.span()));
        *self = Self::Here(bytes);
        Some(receive)
    }
}

/// The accesses of an origin with locks are complete.
fn end_locked(table: Option<&mut AccessTable>, origin: u32) {
    if let Some(table) = table {
        table.remove(|known| known.origin == origin && known.epoch == EpochKind::Lock);
    }
}

/// # Errors
/// `Truncate` unless the data fill the memory.
fn check_len(memory: &Memory, len: u64) -> Result {
    if memory.len() as u64 == len {
        return Ok(());
    }
    let why = format!("{len} bytes for {} bytes of the target", memory.len());
    Err(ErrorClass::Truncate.error(why))
}

#[cold]
fn senseless(what: &str) -> Box<MpiError> {
    ErrorClass::Intern.error(format!("a request of a one-sided operation has {what} that is none"))
}
