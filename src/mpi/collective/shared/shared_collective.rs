//! A room with the call that is under way in it.

use super::segmentation::Segmentation;
use super::transfer::{BLOCK_BYTES, TransferView};
use super::{SharedArguments, SharedOperation};
use crate::device::Device;
use crate::engine::Engine;
use crate::engine::memory::OwnedBytes;
use crate::shared_memory::segment::{SharedSegment, SlotHeader};
use platform::base::{ErrorClass, MpiError, Peer};

/// How many rounds a rank publishes before it takes what the others published in the first of them.
const ROUNDS_AHEAD: u32 = 2;

/// No element of a predefined operation is longer.
const ELEMENT_MAX_BYTES: usize = 64;

const _: () = assert!(ROUNDS_AHEAD as u64 <= SharedSegment::AHEAD);

/// A room, who sits in it, and the call that is under way there: at most one.
#[derive(Debug)]
pub struct SharedCollective {
    segment: SharedSegment,
    /// By seat.
    peers: Box<[Peer]>,
    scratch: OwnedBytes,
    /// [`MachineModel::spins_max`](crate::mpi::collective::selection::machine_model::MachineModel::spins_max).
    spins_max: u32,
    running: Running,
}

/// Over from the beginning ── begin ──> rounds ── advance ──> over
#[derive(Debug)]
struct Running {
    arguments: SharedArguments,
    segmentation: Segmentation,
    first: u64,
    published: u32,
    consumed: u32,
    /// Ranks whose entries of round `consumed` are there: those below.
    seen: u32,
    completed: bool,
    error: Option<Box<MpiError>>,
}

impl SharedCollective {
    /// The room of these ranks, in which no round has been used. A call that has just begun looks
    /// `spins_max` times for what it lacks before it waits.
    pub fn new(segment: SharedSegment, peers: impl Into<Box<[Peer]>>, spins_max: u32) -> Self {
        let running = Running {
            arguments: SharedArguments::EMPTY,
            segmentation: Segmentation { segment_bytes: 0, rounds: 0, parts: None },
            first: 0,
            published: 0,
            consumed: 0,
            seen: 0,
            completed: true,
            error: None,
        };
        Self {
            segment,
            peers: peers.into(),
            scratch: OwnedBytes::zeroed(BLOCK_BYTES),
            spins_max,
            running,
        }
    }

    /// Which room it is.
    pub(crate) fn segment_number(&self) -> u32 {
        self.segment.number()
    }

    /// The room.
    pub(crate) fn segment(&mut self) -> &mut SharedSegment {
        &mut self.segment
    }

    /// The room, which everybody has to leave.
    pub(crate) fn into_segment(self) -> SharedSegment {
        self.segment
    }

    /// Whether a room for so many ranks has place for an element for each in an entry.
    pub(crate) fn fits(ranks: usize) -> bool {
        ranks * ELEMENT_MAX_BYTES <= SharedSegment::DATA_MAX
    }

    /// Begins a call and goes on with it as far as possible; whether it is over.
    #[inline]
    pub fn begin<D: Device>(&mut self, task: SharedArguments, engine: &mut Engine<D>) -> bool {
        self.prepare(task);
        self.restart(engine)
    }

    /// Makes a call ready for [`SharedCollective::restart`]. None is under way.
    #[inline]
    pub(crate) fn prepare(&mut self, task: SharedArguments) {
        let ranks = self.segment.len() as u32;
        let cut = Segmentation::of(
            task.kind,
            ranks,
            task.longest_block(),
            task.element_bytes,
            SharedSegment::DATA_MAX,
        );
        (self.running.arguments, self.running.segmentation) = (task, cut);
    }

    /// Begins the call that was prepared, or the last one once more, as [`SharedCollective::begin`] does.
    #[inline]
    pub(crate) fn restart<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let call = &mut self.running;
        call.first = self.segment.begin(0);
        (call.published, call.consumed, call.seen) = (0, 0, 0);
        call.completed = false;
        self.advance(engine) || self.spin(engine)
    }

    /// Looks for what the call lacks without the detour of a poll; whether it is over.
    fn spin<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        for _ in 0..self.spins_max {
            let call = &self.running;
            let at = call.first + u64::from(call.consumed);
            let is_there = call.consumed < call.segmentation.rounds
                && (call.seen as usize) < self.segment.len()
                && self.segment.is_published(call.seen as usize, at);
            if is_there && self.advance(engine) {
                return true;
            }
        }
        false
    }

    /// Whether the last call is over.
    pub fn is_complete(&self) -> bool {
        self.running.completed
    }

    /// Why the last call failed, told once.
    #[inline]
    pub fn take_error(&mut self) -> Option<Box<MpiError>> {
        self.running.error.take()
    }

    /// The peers that the call under way may wait for.
    pub(crate) fn waits_for(&self) -> Vec<Peer> {
        let own = self.segment.local_rank();
        let seen = self.running.seen as usize;
        let others =
            self.peers.iter().enumerate().filter(|(seat, _)| *seat != own && *seat >= seen);
        others.map(|(_, peer)| *peer).collect()
    }

    /// Changes when the call comes further.
    pub(crate) fn progress(&self) -> u32 {
        self.running.published.wrapping_add(self.running.consumed)
    }

    /// The same, finer: changes with every entry that the call finds. It never shrinks.
    pub(crate) fn position(&self) -> u64 {
        let Running { first, published, consumed: taken, seen, .. } = self.running;
        let entries = u64::from(taken) * (self.segment.len() as u64 + 1) + u64::from(seen);
        first + u64::from(published) + entries
    }

    /// Of the last call: bytes of a message or one rank's block.
    pub(crate) fn bytes(&self) -> usize {
        self.running.arguments.bytes
    }

    /// Whether there is an error to be told.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.running.error.is_some()
    }

    /// Goes on with a call that is not over; whether it is now.
    #[inline]
    pub fn advance<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let Self { segment: room, peers, scratch, running: call, .. } = self;
        let (rank, ranks) = (room.local_rank() as u32, room.len() as u32);
        let rounds = call.segmentation.rounds;
        let mut view = TransferView {
            arguments: &mut call.arguments,
            segmentation: call.segmentation,
            rank,
            ranks,
            scratch: scratch.span(),
        };
        let publishes = view.publishes();
        let sources = view.sources();
        // What is in an entry by parts comes from what was taken before.
        let lead = call.segmentation.parts.map_or(ROUNDS_AHEAD, |(_, lag)| lag.min(ROUNDS_AHEAD));
        loop {
            let mut stuck = true;
            if publishes && call.published < rounds && call.published < call.consumed + lead {
                let at = call.first + u64::from(call.published);
                if let Some(entry) = room.entry(at, view.len(rank, call.published)) {
                    view.fill_slot(call.published, entry);
                    room.publish(at, slot_header(view.arguments));
                    notify_peers(engine, peers, rank);
                    call.published += 1;
                    stuck = false;
                }
            }
            if call.consumed < rounds && (!publishes || call.consumed < call.published) {
                let at = call.first + u64::from(call.consumed);
                let mut seen = call.seen.max(sources.start);
                while seen < sources.end {
                    if seen != rank {
                        let Some((theirs, data)) = room.read(seen as usize, at) else { break };
                        if theirs != slot_header(view.arguments)
                            || data.len() != view.len(seen, call.consumed)
                        {
                            call.seen = seen;
                            return self.fail(theirs, engine);
                        }
                    }
                    seen += 1;
                }
                call.seen = seen;
                if seen >= sources.end {
                    view.read_round(room, call.first, call.consumed);
                    if room.done(at) {
                        notify_peers(engine, peers, rank);
                    }
                    call.consumed += 1;
                    call.seen = 0;
                    stuck = false;
                }
            }
            if call.consumed == rounds && (!publishes || call.published == rounds) {
                room.begin(u64::from(rounds));
                call.completed = true;
                return true;
            }
            if stuck {
                return false;
            }
        }
    }

    /// The call of the rank that was looked at last is another one.
    #[cold]
    fn fail<D: Device>(&mut self, theirs: SlotHeader, engine: &mut Engine<D>) -> bool {
        let Self { segment: room, peers, running: call, .. } = self;
        let (rank, other) = (room.local_rank() as u32, call.seen);
        let ours = slot_header(&call.arguments);
        call.error = Some(disagreement(rank, ours, other, theirs));
        // Who waits for an entry of ours finds out too.
        if call.published == 0 && room.entry(call.first, 0).is_some() {
            room.publish(call.first, ours);
        }
        // All leave the call where the longer of the two ends, or where one ends that never looks
        // at others.
        let rounds = u64::from(call.segmentation.rounds);
        let their_rounds = SharedOperation::from_value(theirs.kind).map_or(rounds, |kind| {
            let (bytes, ranks) = (theirs.bytes as usize, room.len() as u32);
            u64::from(
                Segmentation::of(
                    kind,
                    ranks,
                    bytes,
                    call.arguments.element_bytes,
                    SharedSegment::DATA_MAX,
                )
                .rounds,
            )
        });
        let is_root = theirs.root == other;
        let rounds = match SharedOperation::from_value(theirs.kind) {
            Some(SharedOperation::Bcast | SharedOperation::Scatter) if is_root => their_rounds,
            Some(SharedOperation::Gather | SharedOperation::Reduce) if !is_root => their_rounds,
            _ => rounds.max(their_rounds),
        };
        room.begin(rounds);
        let _ = room.done(call.first + rounds - 1);
        notify_peers(engine, peers, rank);
        call.completed = true;
        true
    }
}

#[inline]
fn notify_peers<D: Device>(engine: &mut Engine<D>, peers: &[Peer], rank: u32) {
    for (seat, peer) in peers.iter().enumerate() {
        if seat != rank as usize {
            engine.notify(*peer);
        }
    }
}

#[inline]
fn slot_header(task: &SharedArguments) -> SlotHeader {
    SlotHeader { kind: task.kind as u8, root: task.root, bytes: task.bytes as u64 }
}

#[cold]
fn disagreement(rank: u32, ours: SlotHeader, other: u32, theirs: SlotHeader) -> Box<MpiError> {
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
    let call = |head: SlotHeader| match SharedOperation::from_value(head.kind) {
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
