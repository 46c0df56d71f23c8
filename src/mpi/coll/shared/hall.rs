//! A room with the call that is under way in it.

use super::cut::Cut;
use super::movement::{BLOCK_BYTES, View};
use super::{Kind, Task};
use crate::base::{ErrorClass, MpiError, Peer};
use crate::core::engine::Engine;
use crate::core::memory::Bytes;
use crate::device::Device;
use crate::device::room::{Head, Room};

/// How many rounds a rank publishes before it takes what the others published in the first of them.
const LEAD: u32 = 2;

/// No element of a predefined operation is longer.
const ELEMENT_MAX_BYTES: usize = 64;

const _: () = assert!(LEAD as u64 <= Room::AHEAD);

/// A room, who sits in it, and the call that is under way there: at most one.
#[derive(Debug)]
pub struct Hall {
    room: Room,
    /// By seat.
    peers: Box<[Peer]>,
    scratch: Bytes,
    /// [`Machine::looks`](crate::mpi::coll::machine::Machine::looks).
    looks: u32,
    call: Call,
}

/// Over from the beginning ── begin ──> rounds ── advance ──> over
#[derive(Debug)]
struct Call {
    task: Task,
    cut: Cut,
    first: u64,
    published: u32,
    taken: u32,
    /// Ranks whose entries of round `taken` are there: those below.
    seen: u32,
    over: bool,
    error: Option<Box<MpiError>>,
}

impl Hall {
    /// The room of these ranks, in which no round has been used. A call that has just begun looks
    /// `looks` times for what it lacks before it waits.
    pub fn new(room: Room, peers: impl Into<Box<[Peer]>>, looks: u32) -> Self {
        let call = Call {
            task: Task::EMPTY,
            cut: Cut { piece: 0, rounds: 0, parts: None },
            first: 0,
            published: 0,
            taken: 0,
            seen: 0,
            over: true,
            error: None,
        };
        Self { room, peers: peers.into(), scratch: Bytes::zeroed(BLOCK_BYTES), looks, call }
    }

    /// Which room it is.
    pub fn number(&self) -> u32 {
        self.room.number()
    }

    /// The room.
    pub fn room(&mut self) -> &mut Room {
        &mut self.room
    }

    /// The room, which everybody has to leave.
    pub fn into_room(self) -> Room {
        self.room
    }

    /// Whether a room for so many ranks has place for an element for each in an entry.
    pub fn fits(ranks: usize) -> bool {
        ranks * ELEMENT_MAX_BYTES <= Room::DATA_MAX
    }

    /// Begins a call and goes on with it as far as possible; whether it is over.
    #[inline]
    pub fn begin<D: Device>(&mut self, task: Task, engine: &mut Engine<D>) -> bool {
        self.prepare(task);
        self.restart(engine)
    }

    /// Makes a call ready for [`Hall::restart`]. None is under way.
    #[inline]
    pub fn prepare(&mut self, task: Task) {
        let ranks = self.room.len() as u32;
        let cut = Cut::of(task.kind, ranks, task.longest(), task.unit, Room::DATA_MAX);
        (self.call.task, self.call.cut) = (task, cut);
    }

    /// Begins the call that was prepared, or the last one once more, as [`Hall::begin`] does.
    #[inline]
    pub fn restart<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let call = &mut self.call;
        call.first = self.room.begin(0);
        (call.published, call.taken, call.seen) = (0, 0, 0);
        call.over = false;
        self.advance(engine) || self.look_again(engine)
    }

    /// Looks for what the call lacks without the detour of a poll; whether it is over.
    fn look_again<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        for _ in 0..self.looks {
            let call = &self.call;
            let at = call.first + u64::from(call.taken);
            let is_there = call.taken < call.cut.rounds
                && (call.seen as usize) < self.room.len()
                && self.room.is_published(call.seen as usize, at);
            if is_there && self.advance(engine) {
                return true;
            }
        }
        false
    }

    /// Whether the last call is over.
    pub fn is_over(&self) -> bool {
        self.call.over
    }

    /// Why the last call failed, told once.
    #[inline]
    pub fn take_error(&mut self) -> Option<Box<MpiError>> {
        self.call.error.take()
    }

    /// The peers that the call under way may wait for.
    pub fn waits_for(&self) -> Vec<Peer> {
        let own = self.room.seat();
        let seen = self.call.seen as usize;
        let others =
            self.peers.iter().enumerate().filter(|(seat, _)| *seat != own && *seat >= seen);
        others.map(|(_, peer)| *peer).collect()
    }

    /// Changes when the call comes further.
    pub fn progress(&self) -> u32 {
        self.call.published.wrapping_add(self.call.taken)
    }

    /// The same, finer: changes with every entry that the call finds. It never shrinks.
    pub fn position(&self) -> u64 {
        let Call { first, published, taken, seen, .. } = self.call;
        let entries = u64::from(taken) * (self.room.len() as u64 + 1) + u64::from(seen);
        first + u64::from(published) + entries
    }

    /// Of the last call: bytes of a message or one rank's block.
    pub fn bytes(&self) -> usize {
        self.call.task.bytes
    }

    /// Whether there is an error to be told.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.call.error.is_some()
    }

    /// Goes on with a call that is not over; whether it is now.
    #[inline]
    pub fn advance<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let Self { room, peers, scratch, call, .. } = self;
        let (rank, ranks) = (room.seat() as u32, room.len() as u32);
        let rounds = call.cut.rounds;
        let mut view =
            View { task: &mut call.task, cut: call.cut, rank, ranks, scratch: scratch.span() };
        let publishes = view.publishes();
        let sources = view.sources();
        // What is in an entry by parts comes from what was taken before.
        let lead = call.cut.parts.map_or(LEAD, |(_, lag)| lag.min(LEAD));
        loop {
            let mut stuck = true;
            if publishes && call.published < rounds && call.published < call.taken + lead {
                let at = call.first + u64::from(call.published);
                if let Some(entry) = room.entry(at, view.len(rank, call.published)) {
                    view.fill(call.published, entry);
                    room.publish(at, head(view.task));
                    ring(engine, peers, rank);
                    call.published += 1;
                    stuck = false;
                }
            }
            if call.taken < rounds && (!publishes || call.taken < call.published) {
                let at = call.first + u64::from(call.taken);
                let mut seen = call.seen.max(sources.start);
                while seen < sources.end {
                    if seen != rank {
                        let Some((theirs, data)) = room.read(seen as usize, at) else { break };
                        if theirs != head(view.task) || data.len() != view.len(seen, call.taken) {
                            call.seen = seen;
                            return self.fail(theirs, engine);
                        }
                    }
                    seen += 1;
                }
                call.seen = seen;
                if seen >= sources.end {
                    view.take(room, call.first, call.taken);
                    if room.done(at) {
                        ring(engine, peers, rank);
                    }
                    call.taken += 1;
                    call.seen = 0;
                    stuck = false;
                }
            }
            if call.taken == rounds && (!publishes || call.published == rounds) {
                room.begin(u64::from(rounds));
                call.over = true;
                return true;
            }
            if stuck {
                return false;
            }
        }
    }

    /// The call of the rank that was looked at last is another one.
    #[cold]
    fn fail<D: Device>(&mut self, theirs: Head, engine: &mut Engine<D>) -> bool {
        let Self { room, peers, call, .. } = self;
        let (rank, other) = (room.seat() as u32, call.seen);
        let ours = head(&call.task);
        call.error = Some(disagreement(rank, ours, other, theirs));
        // Who waits for an entry of ours finds out too.
        if call.published == 0 && room.entry(call.first, 0).is_some() {
            room.publish(call.first, ours);
        }
        // All leave the call where the longer of the two ends, or where one ends that never looks
        // at others.
        let rounds = u64::from(call.cut.rounds);
        let their_rounds = Kind::from_value(theirs.kind).map_or(rounds, |kind| {
            let (bytes, ranks) = (theirs.bytes as usize, room.len() as u32);
            u64::from(Cut::of(kind, ranks, bytes, call.task.unit, Room::DATA_MAX).rounds)
        });
        let is_root = theirs.root == other;
        let rounds = match Kind::from_value(theirs.kind) {
            Some(Kind::Bcast | Kind::Scatter) if is_root => their_rounds,
            Some(Kind::Gather | Kind::Reduce) if !is_root => their_rounds,
            _ => rounds.max(their_rounds),
        };
        room.begin(rounds);
        let _ = room.done(call.first + rounds - 1);
        ring(engine, peers, rank);
        call.over = true;
        true
    }
}

#[inline]
fn ring<D: Device>(engine: &mut Engine<D>, peers: &[Peer], rank: u32) {
    for (seat, peer) in peers.iter().enumerate() {
        if seat != rank as usize {
            engine.ring(*peer);
        }
    }
}

#[inline]
fn head(task: &Task) -> Head {
    Head { kind: task.kind as u8, root: task.root, bytes: task.bytes as u64 }
}

#[cold]
fn disagreement(rank: u32, ours: Head, other: u32, theirs: Head) -> Box<MpiError> {
    if (ours.kind, ours.root) == (theirs.kind, theirs.root) {
        let (class, how) = if theirs.bytes > ours.bytes {
            (ErrorClass::Truncate, "more")
        } else {
            (ErrorClass::Count, "fewer")
        };
        return class.error(format!(
            "the ranks disagree about the amount of data: rank {other} sent {how} than the {} bytes \
             that this rank expects from it",
            ours.bytes
        ));
    }
    let call = |head: Head| match Kind::from_value(head.kind) {
        Some(kind) if kind.is_rooted() => format!("{} with root {}", kind.name(), head.root),
        Some(kind) => kind.name().to_owned(),
        None => format!("call of kind {}", head.kind),
    };
    let class = if ours.kind == theirs.kind { ErrorClass::Root } else { ErrorClass::Other };
    class.error(format!(
        "the ranks disagree about the call: rank {other} is in {} while this rank {rank} is in {}",
        call(theirs),
        call(ours)
    ))
}
