//! The schedules of some adjacent ranks in a compact form, by rounds.
//!
//! A schedule takes about a hundred bytes for each step, and a million of them do not fit in memory.
//! So each one is dropped as soon as it is here: a step has 24 bytes and those of its waits, and a
//! round is dropped when it has been executed. Completion times that a later step needs are in
//! *slots*, each of which is used again after its last reader.

use mpi_abi::offload::{Schedule, StepAction, Wait};

use super::costs::LocalStep;

/// The action of a [`LevelStep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelAction {
    Send,
    Receive,
    Local(LocalStep),
}

/// No slot: no step waits on this one.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// A step of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelStep {
    pub action: LevelAction,
    /// [`DETACHED`] and [`WAITS_FOR_ONE`].
    flags: u8,
    pub label: u16,
    /// The other rank of a message.
    pub peer: u32,
    /// The slot of its completion among those of its rank, or [`NO_SLOT`].
    pub slot: u32,
    /// The end of its waits in [`Level::waits`]; they begin with those of the step before.
    pub waits_end: u32,
    pub bytes: u64,
}

const DETACHED: u8 = 1;
const WAITS_FOR_ONE: u8 = 2;

// Runs of a million ranks have as many steps as fit.
const _: () = assert!(size_of::<LevelStep>() == 24);

impl LevelStep {
    #[inline]
    pub fn is_detached(&self) -> bool {
        self.flags & DETACHED != 0
    }

    /// Whether the step waits for any one, not for all.
    #[inline]
    pub fn waits_for_one(&self) -> bool {
        self.flags & WAITS_FOR_ONE != 0
    }
}

/// The steps of a round, rank by rank: sends first.
#[derive(Debug, Default)]
pub(crate) struct Level {
    /// The index of each rank that has a step, and the end of its steps.
    pub ranks: Vec<(u32, u32)>,
    pub steps: Vec<LevelStep>,
    /// Slots of ranks.
    pub waits: Vec<u32>,
}

/// The steps of adjacent ranks.
#[derive(Debug, Default)]
pub(crate) struct ChunkSteps {
    /// By round, from 0 on. Rounds without steps here are empty.
    pub levels: Vec<Level>,
    /// The end of the slots of each rank.
    pub slot_ends: Vec<u32>,
    pub totals: MessageTotals,
}

/// Numbers of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageTotals {
    /// Steps of all ranks.
    pub steps: u64,
    /// Messages of all ranks.
    pub messages: u64,
    /// Bytes of all messages.
    pub bytes: u64,
    /// Bytes of all reductions and copies.
    pub local_bytes: u64,
    /// The most messages that a rank sends.
    pub messages_max: u64,
    /// The most bytes that a rank sends.
    pub bytes_max: u64,
}

impl MessageTotals {
    /// The numbers of one rank.
    pub(crate) fn of(schedule: &Schedule) -> Self {
        let mut own = Self { steps: schedule.steps().len() as u64, ..Self::default() };
        for step in schedule.steps() {
            let (action, _, _, bytes) = parts(step.action);
            match action {
                LevelAction::Send => {
                    own.messages += 1;
                    own.bytes += bytes;
                }
                LevelAction::Receive => {}
                LevelAction::Local(_) => own.local_bytes += bytes,
            }
        }
        (own.messages_max, own.bytes_max) = (own.messages, own.bytes);
        own
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.local_bytes += other.local_bytes;
        self.messages_max = self.messages_max.max(other.messages_max);
        self.bytes_max = self.bytes_max.max(other.bytes_max);
    }
}

/// Where a step is while its rank is added.
#[derive(Clone, Copy)]
struct PlacedStep {
    /// Its index in the order of execution; `u32::MAX` before it has one.
    place: u32,
    /// The place of the last step that waits on it.
    last_use: u32,
    slot: u32,
}

/// Adds ranks to a chunk.
#[derive(Default)]
pub(crate) struct ChunkBuilder {
    chunk: ChunkSteps,
    /// The steps as they are executed: round, 0 for a send or 1, index of the step; in 31, 1 and 32 bits.
    order: Vec<u64>,
    placed: Vec<PlacedStep>,
    free: Vec<u32>,
}

impl ChunkBuilder {
    /// Adds the next rank.
    ///
    /// # Errors
    /// A step waits on one of its own round that is executed after it.
    pub fn add(&mut self, rank: u32, schedule: &Schedule) -> Result<(), String> {
        let index = self.chunk.slot_ends.len() as u32;
        self.place(schedule);
        let mut slots = 0;
        for place in 0..self.order.len() {
            let (round, id) = ((self.order[place] >> 33) as usize, self.order[place] as u32);
            let step = schedule.steps()[id as usize];
            if self.chunk.levels.len() <= round {
                self.chunk.levels.resize_with(round + 1, Level::default);
            }
            let level = &mut self.chunk.levels[round];
            let waits = schedule.predecessors(id);
            for &before in waits {
                let before = self.placed[before as usize];
                if before.place as usize >= place {
                    return Err(format!("rank {rank}: step {id} waits on one of its own round"));
                }
                level.waits.push(before.slot);
            }
            for &before in waits {
                let before = &mut self.placed[before as usize];
                if before.last_use as usize == place && before.slot != NO_SLOT {
                    self.free.push(std::mem::replace(&mut before.slot, NO_SLOT));
                }
            }
            let slot = match self.placed[id as usize].last_use {
                0 => NO_SLOT,
                _ => self.free.pop().unwrap_or_else(|| {
                    slots += 1;
                    slots - 1
                }),
            };
            self.placed[id as usize].slot = slot;
            let (action, peer, label, bytes) = parts(step.action);
            level.steps.push(LevelStep {
                action,
                flags: if step.detached { DETACHED } else { 0 }
                    | if step.wait == Wait::Any { WAITS_FOR_ONE } else { 0 },
                label,
                peer,
                slot,
                waits_end: end_of(&level.waits)?,
                bytes,
            });
            let end = end_of(&level.steps)?;
            match level.ranks.last_mut().filter(|(last, _)| *last == index) {
                Some((_, known)) => *known = end,
                None => level.ranks.push((index, end)),
            }
        }
        self.chunk.totals.add(MessageTotals::of(schedule));
        let start = self.chunk.slot_ends.last().copied().unwrap_or(0);
        self.chunk.slot_ends.push(start + slots);
        Ok(())
    }

    /// Orders the steps as they are executed.
    fn place(&mut self, schedule: &Schedule) {
        let steps = schedule.steps();
        self.free.clear();
        self.placed.clear();
        self.placed.resize(steps.len(), PlacedStep { place: u32::MAX, last_use: 0, slot: NO_SLOT });
        self.order.clear();
        self.order.extend((0..).zip(steps).map(|(id, step)| {
            let is_send = matches!(step.action, StepAction::Send { .. });
            u64::from(step.round) << 33 | u64::from(!is_send) << 32 | id
        }));
        self.order.sort_unstable();
        for (place, key) in (0..).zip(&self.order) {
            let id = *key as u32;
            self.placed[id as usize].place = place;
            for &before in schedule.predecessors(id) {
                let last_use = &mut self.placed[before as usize].last_use;
                *last_use = place.max(*last_use);
            }
        }
    }

    /// The finished chunk.
    pub fn finish(mut self) -> ChunkSteps {
        for level in &mut self.chunk.levels {
            level.ranks.shrink_to_fit();
            level.steps.shrink_to_fit();
            level.waits.shrink_to_fit();
        }
        self.chunk
    }
}

fn end_of<T>(list: &[T]) -> Result<u32, String> {
    u32::try_from(list.len()).map_err(|_| "a round has more than 2^32 steps".to_owned())
}

/// The action, the other rank, the label and the bytes of a step.
pub(super) fn parts(action: StepAction) -> (LevelAction, u32, u16, u64) {
    match action {
        StepAction::Send { peer, region, label } => {
            (LevelAction::Send, peer, label, region.len as u64)
        }
        StepAction::Receive { peer, region, label } => {
            (LevelAction::Receive, peer, label, region.len as u64)
        }
        StepAction::Copy { to, .. } => (LevelAction::Local(LocalStep::Copy), 0, 0, to.len as u64),
        StepAction::Reduce { into, .. } => {
            (LevelAction::Local(LocalStep::Reduce), 0, 0, into.len as u64)
        }
    }
}
