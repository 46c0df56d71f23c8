//! The operations that this process has started on the memory of others, by messages or by the device.
//!
//! ```text
//!   operation ──> in progress ──its sends and receives have completed──> complete at the origin
//!                     │
//!                     └──its own answer, or that to a later flush or unlock──> complete at the target
//!   access ─────> in progress ──the device says so──────────────────────> complete at both
//! ```
//!
//! Epochs are not in this module.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::channel::WindowChannel;
use super::device_accesses::DeviceAccesses;
use super::failures::is_of_failure;
use super::layout_message::key;
use super::request_message::{DataTag, LayoutName, REQUEST_TAG, WindowRequest};
use crate::device::Device;
use crate::engine::Engine;
use crate::engine::memory::Memory;
use crate::engine::memory::layout::Layout;
use crate::engine::point_to_point::operation::{Completion, OperationId};
use platform::base::{ErrorClass, MpiError, Peer, Result};

/// The longest answer to a flush or an unlock, in bytes: the class of an error and its sentence.
const ANSWER_MAX: usize = 512;

/// The operations of this process on all targets.
#[derive(Debug)]
pub(super) struct Origin {
    targets: Box<[TargetAccount]>,
    next_tag: DataTag,
    layouts: LayoutSlots,
    /// The number of the next operation of a request.
    next_number: u64,
    /// The number of targets with operations in progress, or since their last flush.
    busy_targets: u32,
    /// The targets with accesses of the device in progress.
    accessed: Vec<u32>,
    /// The accesses of the device so far.
    accesses: u64,
    /// The first error of a message that no call has returned.
    error: Option<Box<MpiError>>,
}

/// The operations on one target.
#[derive(Debug, Default)]
struct TargetAccount {
    in_progress: VecDeque<MessageOperation>,
    /// Whether there were operations since the last answer to a flush whose end only that tells.
    unflushed: bool,
    lock: TargetLock,
    accesses: DeviceAccesses,
}

/// What this process knows of its lock of a target that is granted by messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TargetLock {
    /// It was not asked for in this epoch.
    #[default]
    None,
    /// It may still be awaited.
    Requested,
    /// An answer has come to what this process has asked for after the lock.
    Held,
}

impl TargetAccount {
    fn is_busy(&self) -> bool {
        self.unflushed || !self.in_progress.is_empty() || self.accesses.is_any()
    }

    /// The target has answered, and it does what it is asked for in order.
    fn note_answer(&mut self) {
        if self.lock == TargetLock::Requested {
            self.lock = TargetLock::Held;
        }
    }
}

/// A send or a receive of an operation.
#[derive(Debug)]
struct MessageOperation {
    id: OperationId,
    /// The operation of a request, or 0.
    number: u64,
    /// The target has refused the operation if it receives fewer bytes.
    bytes_min: usize,
    is_answer: bool,
}

impl MessageOperation {
    /// What is wrong with its end. The call that needs a failed rank tells of that.
    fn failure(&self, target: u32, end: Completion) -> Option<Box<MpiError>> {
        let is_refused = end.bytes < self.bytes_min;
        let why = end.error.or_else(|| is_refused.then(|| refused(target)));
        why.filter(|why| !is_of_failure(why))
    }
}

/// An answer to one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationAnswer {
    /// Its receive.
    pub(super) id: OperationId,
    pub(super) bytes: usize,
    /// Whether it tells all about the end of the operation.
    pub(super) tells_end: bool,
}

/// The operation of a request on one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationNumber {
    target: u32,
    number: u64,
}

/// An answer that is awaited.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) target: u32,
    id: OperationId,
    bytes: Memory,
}

impl Origin {
    pub(super) fn new(size: u32) -> Self {
        Self {
            targets: (0..size).map(|_| TargetAccount::default()).collect(),
            next_tag: DataTag::FIRST,
            layouts: LayoutSlots::default(),
            next_number: 1,
            busy_targets: 0,
            accessed: Vec::new(),
            accesses: 0,
            error: None,
        }
    }

    pub(super) fn tag(&mut self) -> DataTag {
        let tag = self.next_tag;
        self.next_tag = tag.next();
        tag
    }

    /// A name for a layout in the next request to `target`.
    pub(super) fn name_layout(&mut self, target: u32, layout: &Arc<Layout>) -> LayoutName {
        match layout.is_dense() {
            true => LayoutName::Dense(layout.size() as u64),
            false => self.layouts.name(target, layout),
        }
    }

    /// The number of the operation that starts now, if a request waits for it.
    pub(super) fn number(&mut self, target: u32, is_requested: bool) -> Option<OperationNumber> {
        is_requested.then(|| {
            let number = self.next_number;
            self.next_number += 1;
            OperationNumber { target, number }
        })
    }

    /// Sends a request to `target`.
    pub(super) fn request<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, target: u32,
        request: &WindowRequest<'_>,
    ) {
        let sent = channel.send(engine, target, REQUEST_TAG, Memory::owned(request.emit()));
        // Its bytes are the request's own: nothing waits for them.
        if let Some(operation) = sent {
            engine.release(operation);
        }
    }

    /// Records that an operation has been started on `target`, with the send of its data and its answer.
    pub(super) fn note<D: Device>(
        &mut self, engine: &mut Engine<D>, target: u32, number: Option<OperationNumber>,
        sent: Option<OperationId>, answer: Option<OperationAnswer>,
    ) {
        let account = &mut self.targets[target as usize];
        self.busy_targets += u32::from(!account.is_busy());
        account.unflushed |= !answer.is_some_and(|answer| answer.tells_end);
        let number = number.map_or(0, |number| number.number);
        let before = account.in_progress.len();
        let sent = sent.map(|id| MessageOperation { id, number, bytes_min: 0, is_answer: false });
        let received = answer.map(|OperationAnswer { id, bytes, tells_end }| {
            // Else the answer to a flush says more.
            let bytes_min = if tells_end { bytes } else { 0 };
            MessageOperation { id, number, bytes_min, is_answer: true }
        });
        account.in_progress.extend(sent.into_iter().chain(received));
        // Now and then: many operations may be started without a flush.
        if before.is_power_of_two() && before >= 64 {
            self.collect_all(engine, target);
        }
    }

    /// Records that the device has started an access of memory of `target`, which is `peer`.
    pub(super) fn note_access<D: Device>(
        &mut self, engine: &mut Engine<D>, (target, peer): (u32, Peer),
        number: Option<OperationNumber>,
    ) {
        let account = &mut self.targets[target as usize];
        self.busy_targets += u32::from(!account.is_busy());
        if !account.accesses.is_any() {
            self.accessed.push(target);
        }
        account.accesses.note(engine, peer, number.map(|number| number.number));
        self.accesses += 1;
    }

    /// The accesses of the device so far.
    pub(super) fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Whether the device has accesses in progress, of whose ends no message tells.
    #[inline]
    pub(super) fn awaits_device(&self) -> bool {
        !self.accessed.is_empty()
    }

    /// Looks for accesses that the device has completed; whether there are any.
    pub(super) fn collect_accesses<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let Self { targets, accessed, busy_targets, error, .. } = self;
        let mut any = false;
        accessed.retain(|target| {
            let account = &mut targets[*target as usize];
            let (has_news, failure) = account.accesses.collect(engine);
            any |= has_news;
            *error = error.take().or(failure);
            *busy_targets -= u32::from(!account.is_busy());
            account.accesses.is_any()
        });
        any
    }

    /// Removes what has completed on `target`, up to the first operation that has not; whether that is all. A call
    /// that waits for very many operations looks at each once.
    pub(super) fn collect<D: Device>(&mut self, engine: &mut Engine<D>, target: u32) -> bool {
        if self.targets[target as usize].accesses.is_any() {
            self.collect_accesses(engine);
        }
        let account = &mut self.targets[target as usize];
        let was_busy = account.is_busy();
        while let Some(first) = account.in_progress.front()
            && let Some(end) = engine.take_completion(first.id)
        {
            let is_answered = first.is_answer && end.error.is_none();
            self.error = self.error.take().or_else(|| first.failure(target, end));
            account.in_progress.pop_front();
            if is_answered {
                account.note_answer();
            }
        }
        self.busy_targets -= u32::from(was_busy && !account.is_busy());
        account.in_progress.is_empty() && !account.accesses.is_any()
    }

    /// Removes all that has completed on `target`.
    fn collect_all<D: Device>(&mut self, engine: &mut Engine<D>, target: u32) {
        let account = &mut self.targets[target as usize];
        let (was_busy, error) = (account.is_busy(), &mut self.error);
        account.in_progress.retain(|operation| {
            let Some(end) = engine.take_completion(operation.id) else { return true };
            *error = error.take().or_else(|| operation.failure(target, end));
            false
        });
        self.busy_targets -= u32::from(was_busy && !account.is_busy());
    }

    /// Removes what has completed; whether no message of any operation is in progress.
    pub(super) fn drain<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        // All of them: each call removes.
        let left = (0..self.targets.len() as u32).filter(|target| !self.collect(engine, *target));
        left.count() == 0
    }

    /// Whether an operation is complete at this process.
    pub(super) fn is_complete<D: Device>(
        &self, engine: &Engine<D>, operation: OperationNumber,
    ) -> bool {
        let account = &self.targets[operation.target as usize];
        let mut parts = account.in_progress.iter().filter(|part| part.number == operation.number);
        parts.all(|part| engine.completion(part.id).is_some())
            && account.accesses.is_complete(operation.number)
    }

    /// Whether there is no operation in progress, and none since the last flush.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.busy_targets == 0 && self.error.is_none()
    }

    /// Whether the completion of operations on `target` has not been asked for.
    pub(super) fn is_unflushed(&self, target: u32) -> bool {
        self.targets[target as usize].unflushed
    }

    /// Whether operations on `target` are in progress, or were since the last flush.
    pub(super) fn is_busy(&self, target: u32) -> bool {
        self.targets[target as usize].is_busy()
    }

    /// The busy targets.
    pub(super) fn busy(&self) -> Vec<u32> {
        (0..self.targets.len() as u32).filter(|target| self.is_busy(*target)).collect()
    }

    /// The targets of which a lock was asked for.
    pub(super) fn locked(&self) -> Vec<u32> {
        (0..self.targets.len() as u32).filter(|target| self.is_locked(*target)).collect()
    }

    /// Whether a lock of `target` was asked for.
    pub(super) fn is_locked(&self, target: u32) -> bool {
        self.targets[target as usize].lock != TargetLock::None
    }

    /// Whether a lock of `target` was asked for, and is known to be held.
    pub(super) fn holds_lock(&self, target: u32) -> bool {
        self.targets[target as usize].lock == TargetLock::Held
    }

    /// Records whether a lock of `target` has been asked for; whether it had been before.
    pub(super) fn set_locked(&mut self, target: u32, is_locked: bool) -> bool {
        let lock = &mut self.targets[target as usize].lock;
        let was_locked = *lock != TargetLock::None;
        if is_locked != was_locked {
            *lock = if is_locked { TargetLock::Requested } else { TargetLock::None };
        }
        was_locked
    }

    /// The target will complete all operations until now before the next message of this process.
    pub(super) fn set_flushed(&mut self, target: u32) {
        let account = &mut self.targets[target as usize];
        let was_busy = account.is_busy();
        account.unflushed = false;
        self.busy_targets -= u32::from(was_busy && !account.is_busy());
    }

    /// Sends the request that `make` returns for the tag of its answer.
    pub(super) fn ask<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, target: u32,
        make: impl FnOnce(DataTag) -> WindowRequest<'static>,
    ) -> Answer {
        self.set_flushed(target);
        let tag = self.tag();
        let bytes = Memory::owned(vec![0; ANSWER_MAX]);
        let id = channel.receive(engine, target, tag.answer(), bytes.alias());
        self.request(engine, channel, target, &make(tag));
        Answer { target, id, bytes }
    }

    /// Whether an answer has arrived; its error is kept.
    pub(super) fn has_answered<D: Device>(
        &mut self, engine: &mut Engine<D>, answer: &Answer,
    ) -> bool {
        let Some(end) = engine.take_completion(answer.id) else { return false };
        if end.error.is_none() {
            self.targets[answer.target as usize].note_answer();
        }
        let told = end.error.or_else(|| answer.error(end.bytes));
        if let Some(why) = told.filter(|why| !is_of_failure(why)) {
            self.error.get_or_insert(why);
        }
        true
    }

    /// The next call that waits returns this error, unless it has another one.
    pub(super) fn keep_error(&mut self, error: Box<MpiError>) {
        self.error.get_or_insert(error);
    }

    /// The first error since the last call.
    ///
    /// # Errors
    /// That one.
    pub(super) fn take_error(&mut self) -> Result {
        self.error.take().map_or(Ok(()), Err)
    }
}

/// Of operations whose arguments the origin has checked, a target refuses those alone.
#[cold]
fn refused(target: u32) -> Box<MpiError> {
    ErrorClass::Other.error(format!(
        "rank {target} of the window cannot carry out accumulate operations: a process of its host ended \
         in one"
    ))
}

impl Answer {
    /// The bytes of an answer with or without an error.
    pub(super) fn emit(error: Option<&MpiError>) -> Vec<u8> {
        let Some(error) = error else { return Vec::new() };
        let mut bytes = error.code.0.to_le_bytes().to_vec();
        let room = ANSWER_MAX - bytes.len();
        let end =
            (0..=room.min(error.why.len())).rev().find(|end| error.why.is_char_boundary(*end));
        bytes.extend_from_slice(&error.why.as_bytes()[..end.unwrap_or(0)]);
        bytes
    }

    fn error(&self, len: usize) -> Option<Box<MpiError>> {
        let mut bytes = vec![0; len];
        self.bytes.pack(0, &mut bytes);
        let (code, why) = bytes.split_first_chunk()?;
        let class = ErrorClass::from_value(i32::from_le_bytes(*code)).unwrap_or(ErrorClass::Other);
        Some(class.error(String::from_utf8_lossy(why).into_owned()))
    }
}

/// Names of layouts, so that their descriptions travel once to each target. A slot is used again after
/// 255 others.
#[derive(Debug, Default)]
struct LayoutSlots {
    slots: Vec<LayoutSlot>,
    by_address: BTreeMap<usize, u8>,
    next: u8,
}

#[derive(Debug)]
struct LayoutSlot {
    layout: Arc<Layout>,
    /// The targets that know it.
    known_to: Vec<u32>,
}

impl LayoutSlots {
    fn name(&mut self, target: u32, layout: &Arc<Layout>) -> LayoutName {
        let slot = match self.by_address.get(&key(layout)) {
            Some(slot) => *slot,
            None => self.insert(layout),
        };
        let known_to = &mut self.slots[usize::from(slot)].known_to;
        match known_to.binary_search(&target) {
            Ok(_) => LayoutName::Slot(slot),
            Err(place) => {
                known_to.insert(place, target);
                LayoutName::New(slot, Arc::clone(layout))
            }
        }
    }

    fn insert(&mut self, layout: &Arc<Layout>) -> u8 {
        let slot = self.next;
        self.next = slot.wrapping_add(1);
        let new = LayoutSlot { layout: Arc::clone(layout), known_to: Vec::new() };
        match self.slots.get_mut(usize::from(slot)) {
            None => self.slots.push(new),
            Some(old) => {
                let old = std::mem::replace(old, new);
                self.by_address.remove(&key(&old.layout));
            }
        }
        self.by_address.insert(key(layout), slot);
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_described_once_to_each_target() {
        let mut slots = LayoutSlots::default();
        let layouts: Vec<_> = (0..300).map(|size| Arc::new(Layout::dense(size))).collect();
        let is_new = |name| matches!(name, LayoutName::New(..));
        assert!(is_new(slots.name(3, &layouts[0])) && is_new(slots.name(1, &layouts[0])));
        assert!(!is_new(slots.name(3, &layouts[0])) && !is_new(slots.name(1, &layouts[0])));
        // Its slot is taken by another one after 256.
        layouts.iter().for_each(|layout| drop(slots.name(1, layout)));
        assert!(matches!(slots.name(1, &layouts[256]), LayoutName::Slot(0)));
        assert!(is_new(slots.name(1, &layouts[0])) && is_new(slots.name(3, &layouts[0])));
        assert_eq!(slots.by_address.len(), 256);
    }

    #[test]
    fn a_lock_is_known_to_be_held_from_an_answer_on() {
        let mut origin = Origin::new(2);
        assert!(!origin.set_locked(1, true) && origin.is_locked(1) && !origin.holds_lock(1));
        origin.targets[1].note_answer();
        assert!(origin.set_locked(1, true) && origin.holds_lock(1) && !origin.is_locked(0));
        assert!(origin.set_locked(1, false));
        // That of the unlock itself.
        origin.targets[1].note_answer();
        assert!(!origin.holds_lock(1) && !origin.set_locked(1, true) && !origin.holds_lock(1));
    }

    #[test]
    fn answers_tell_errors() {
        let bytes = Answer::emit(Some(&ErrorClass::RmaRange.error("\u{e4}".repeat(600))));
        assert!(bytes.len() <= ANSWER_MAX && bytes.len() > ANSWER_MAX - 2);
        let len = bytes.len();
        let answer = Answer { target: 0, id: 0, bytes: Memory::owned(bytes) };
        let error = answer.error(len).unwrap();
        assert_eq!(error.code.0, ErrorClass::RmaRange as i32);
        assert!(error.why.starts_with('\u{e4}') && error.why.ends_with('\u{e4}'));
        assert!(answer.error(0).is_none() && Answer::emit(None).is_empty());
    }
}
