//! The lock of this process's window memory for origins that ask by messages: a queue of this process,
//! or the lock in the segment that origins of this node use themselves.

use std::collections::BTreeMap;

use super::channel::WindowChannel;
use super::lock_queue::LockQueue;
use super::mapped::MappedMemory;
use crate::device::Device;
use crate::engine::Engine;
use crate::shared_memory::turn_lock::{LockKind, LockTurn};

#[derive(Debug, Default)]
pub(super) struct TargetLock {
    queue: LockQueue,
    /// Requests in the segment on behalf of others, by origin.
    waiting: BTreeMap<u32, LockTurn>,
    held: BTreeMap<u32, LockTurn>,
}

impl TargetLock {
    pub(super) fn request(
        &mut self, channel: &WindowChannel, mapped: Option<&MappedMemory>, origin: u32,
        kind: LockKind,
    ) {
        match mapped.and_then(|mapped| mapped.request(channel.rank, kind, channel.rank)) {
            Some(turn) => drop(self.waiting.insert(origin, turn)),
            None => drop(self.queue.request(origin, kind)),
        }
    }

    /// Whether `origin` has the lock now.
    pub(super) fn has_entered<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, mapped: Option<&MappedMemory>,
        origin: u32,
    ) -> bool {
        let Some(mapped) = mapped else { return self.queue.is_held_by(origin) };
        if let Some(turn) = self.waiting.get(&origin).copied()
            && mapped.try_enter(engine, channel, channel.rank, turn)
        {
            self.waiting.remove(&origin);
            self.held.insert(origin, turn);
        }
        self.held.contains_key(&origin)
    }

    /// Ends the lock of `origin`; the origins that have got it.
    pub(super) fn release<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, mapped: Option<&MappedMemory>,
        origin: u32,
    ) -> Vec<u32> {
        let Some(mapped) = mapped else { return self.queue.release(origin) };
        if let Some(turn) = self.held.remove(&origin) {
            mapped.leave(engine, channel, channel.rank, turn);
        }
        // They find it themselves.
        self.waiting.keys().copied().collect()
    }

    /// Whether an origin waits for a lock that ranks of this node end without a message.
    pub(super) fn awaits_turn(&self) -> bool {
        !self.waiting.is_empty()
    }
}
