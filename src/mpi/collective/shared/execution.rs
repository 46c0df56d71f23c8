//! The execution of a call in a shared segment.

use std::sync::Arc;

use super::blocks::LongBlocks;
use super::segmentation::Segmentation;
use super::transfer::{BLOCK_BYTES, TransferView};
use crate::device::Device;
use crate::device::near_memory::NearDoorbell;
use crate::engine::Engine;
use crate::engine::memory::OwnedBytes;
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::calls::function::CollectiveFunction;
use crate::mpi::collective::selection::machine_model::MachineModel;
use crate::mpi::communicator::COMM_NULL;
use crate::mpi::communicator::host_segments::HostSegments;
use crate::mpi::communicator::segment::EnteredSegment;
use crate::shared_memory::segment::{AwaitedEntry, SharedSegment, SlotHeader};
use platform::base::{ErrorClass, MpiError, Peer};

/// Rounds that a rank publishes before it reads the entries of the first of them.
const ROUNDS_AHEAD: u32 = 2;

/// The longest element of a predefined operation.
const ELEMENT_MAX_BYTES: usize = 64;

const _: () = assert!(ROUNDS_AHEAD as u64 <= SharedSegment::AHEAD);

/// A shared segment with the call that runs in it: at most one at a time.
#[derive(Debug)]
pub struct SharedCollective {
    segment: SharedSegment,
    pool: Option<Arc<HostSegments>>,
    others: WakeList,
    scratch: OwnedBytes,
    machine: MachineModel,
    running: Running,
}

/// What wakes the ranks of a segment.
#[derive(Debug)]
struct WakeList {
    /// By local rank.
    peers: Box<[Peer]>,
    /// By local rank, where that is not the device; none in a segment of the device.
    doorbells: Box<[Option<Arc<dyn NearDoorbell>>]>,
}

/// completed ── begin ──► rounds ── advance ──► completed
#[derive(Debug)]
struct Running {
    /// Of a persistent operation: also while it does not run.
    call: Call,
    segmentation: Segmentation,
    /// The first round of the call in the segment.
    first: u64,
    /// Rounds of the call that this rank has published and read.
    published: u32,
    consumed: u32,
    /// The entries of round `consumed` are published by all ranks below this one.
    seen: u32,
    completed: bool,
    long: LongBlocks,
    error: Option<Box<MpiError>>,
}

impl SharedCollective {
    /// The segment of these peers, in which no round has been used, on this kind of machine.
    pub fn new(
        EnteredSegment { segment, pool }: EnteredSegment, peers: impl Into<Box<[Peer]>>,
        machine: &MachineModel,
    ) -> Self {
        let running = Running {
            call: Call::barrier(COMM_NULL),
            segmentation: Segmentation { piece_bytes: 0, rounds: 0, parts: None },
            first: 0,
            published: 0,
            consumed: 0,
            seen: 0,
            completed: true,
            long: LongBlocks::default(),
            error: None,
        };
        Self {
            others: WakeList::new(peers.into(), pool.as_deref()),
            segment,
            pool,
            scratch: OwnedBytes::zeroed(BLOCK_BYTES),
            machine: *machine,
            running,
        }
    }

    pub(crate) fn segment_number(&self) -> u32 {
        self.segment.number()
    }

    /// The kind of machine, on which it depends what goes through the segment.
    pub(super) fn machine(&self) -> &MachineModel {
        &self.machine
    }

    pub(crate) fn segment(&mut self) -> &mut SharedSegment {
        &mut self.segment
    }

    /// The segment, for leaving it.
    pub(crate) fn into_segment(self) -> EnteredSegment {
        EnteredSegment { segment: self.segment, pool: self.pool }
    }

    /// Makes all other ranks look at the segment.
    pub(in crate::mpi) fn wake_others<D: Device>(&self, engine: &mut Engine<D>) {
        self.others.wake(engine, self.segment.local_rank());
    }

    /// Whether an entry of a segment for `ranks` ranks has space for an element of each.
    pub(crate) fn fits(ranks: usize) -> bool {
        ranks * ELEMENT_MAX_BYTES <= SharedSegment::DATA_MAX
    }

    /// Begins a call and advances it as far as possible; whether it has completed.
    #[inline(always)]
    pub fn begin<D: Device>(&mut self, call: Call, engine: &mut Engine<D>) -> bool {
        self.prepare(call);
        self.restart(engine)
    }

    /// Makes a call ready for [`SharedCollective::restart`]. No call is running.
    #[inline(always)]
    pub(crate) fn prepare(&mut self, call: Call) {
        let ranks = self.segment.len() as u32;
        self.running.segmentation = Segmentation::of(
            call.function,
            ranks,
            call.longest_block(),
            element_bytes(&call),
            SharedSegment::DATA_MAX,
        );
        self.running.call = call;
    }

    /// Begins the prepared call, or the last one again, as [`SharedCollective::begin`] does.
    #[inline]
    pub(crate) fn restart<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let running = &mut self.running;
        running.first = self.segment.begin(0);
        (running.published, running.consumed, running.seen) = (0, 0, 0);
        running.completed = false;
        self.advance(engine) || self.spin(engine)
    }

    /// Polls the segment for the missing entry; whether the call has completed.
    fn spin<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        for _ in 0..self.machine.spins_max {
            let running = &self.running;
            let at = running.first + u64::from(running.consumed);
            let is_published = running.consumed < running.segmentation.rounds
                && (running.seen as usize) < self.segment.len()
                && self.segment.is_published(running.seen as usize, at);
            if is_published && self.advance(engine) {
                return true;
            }
        }
        false
    }

    /// Whether the last call has completed.
    pub fn is_complete(&self) -> bool {
        self.running.completed
    }

    /// Ends the running call with `error`: a rank that it waits for has failed.
    pub(super) fn end_with(&mut self, error: &MpiError) {
        self.running.error = Some(Box::new(error.clone()));
        self.running.long = LongBlocks::default();
        self.running.completed = true;
    }

    /// The error of the last call, once.
    #[inline]
    pub fn take_error(&mut self) -> Option<Box<MpiError>> {
        self.running.error.take()
    }

    /// The call and its messages, once, if the completed call has blocks that are not in entries.
    pub(super) fn take_long_blocks(&mut self) -> Option<(Call, LongBlocks)> {
        let running = &mut self.running;
        (running.completed && !running.long.is_empty()).then(|| {
            let idle = Call::barrier(COMM_NULL);
            (std::mem::replace(&mut running.call, idle), std::mem::take(&mut running.long))
        })
    }

    /// The peers that the running call may wait for.
    pub(crate) fn waits_for(&self) -> Vec<Peer> {
        let own = self.segment.local_rank();
        let seen = self.running.seen as usize;
        let others =
            self.others.peers.iter().enumerate().filter(|(rank, _)| *rank != own && *rank >= seen);
        others.map(|(_, peer)| *peer).collect()
    }

    /// A number that changes with each round that the call publishes or reads.
    pub(crate) fn progress(&self) -> u32 {
        self.running.published.wrapping_add(self.running.consumed)
    }

    /// A number that grows with each entry that the call publishes or finds.
    pub(crate) fn position(&self) -> u64 {
        let Running { first, published, consumed, seen, .. } = self.running;
        let entries = u64::from(consumed) * (self.segment.len() as u64 + 1) + u64::from(seen);
        first + u64::from(published) + entries
    }

    /// Bytes of the message or of one rank's block in the last call.
    pub(crate) fn bytes(&self) -> usize {
        self.running.call.bytes
    }

    /// Whether the call has blocks that are not in entries.
    #[inline]
    pub(super) fn has_long_blocks(&self) -> bool {
        !self.running.long.is_empty()
    }

    /// Whether the completed call has an error or messages.
    #[inline]
    pub(crate) fn needs_attention(&self) -> bool {
        self.running.error.is_some() || self.has_long_blocks()
    }

    /// Advances a call that has not completed; whether it has completed now.
    #[inline]
    pub fn advance<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let Self { segment, others, scratch, running, machine, .. } = self;
        let (rank, ranks) = (segment.local_rank() as u32, segment.len() as u32);
        let rounds = running.segmentation.rounds;
        let mut view = TransferView {
            call: &mut running.call,
            segmentation: running.segmentation,
            rank,
            ranks,
            scratch: scratch.span(),
            block_max: machine.entry_block_max,
            long: &mut running.long,
        };
        let publishes = view.publishes();
        let sources = view.sources();
        // An entry by parts holds results of entries that were read before.
        let ahead =
            running.segmentation.parts.map_or(ROUNDS_AHEAD, |(_, delay)| delay.min(ROUNDS_AHEAD));
        loop {
            let mut stuck = true;
            if publishes
                && running.published < rounds
                && running.published < running.consumed + ahead
            {
                let at = running.first + u64::from(running.published);
                if let Some(entry) = segment.entry(at, view.len(rank, running.published)) {
                    view.fill_entry(running.published, entry);
                    segment.publish(at, slot_header(view.call));
                    others.wake_awaiting(engine, segment);
                    running.published += 1;
                    stuck = false;
                }
            }
            if running.consumed < rounds && (!publishes || running.consumed < running.published) {
                let at = running.first + u64::from(running.consumed);
                let mut seen = running.seen.max(sources.start);
                while seen < sources.end {
                    if seen != rank {
                        let Some((theirs, data)) = segment.read(seen as usize, at) else { break };
                        if let Err([ours, theirs]) =
                            view.check(seen, running.consumed, theirs, data)
                        {
                            running.seen = seen;
                            return self.fail(ours, theirs, engine);
                        }
                    }
                    seen += 1;
                }
                running.seen = seen;
                if seen >= sources.end {
                    view.read_round(segment, running.first, running.consumed);
                    // Only the root reads these, and their lengths differ.
                    let may_be_long = view.call.function == CollectiveFunction::Gatherv;
                    if segment.done(at, may_be_long) {
                        others.wake(engine, rank as usize);
                    }
                    running.consumed += 1;
                    running.seen = 0;
                    stuck = false;
                }
            }
            if running.consumed == rounds && (!publishes || running.published == rounds) {
                segment.begin(u64::from(rounds));
                running.completed = true;
                return true;
            }
            if stuck {
                let awaited = segment.awaited();
                if awaited == AwaitedEntry::Any || awaited == AwaitedEntry::Of(running.seen) {
                    return false;
                }
                // A thread of this rank may sleep until what was awaited earlier.
                segment.declare_awaited(AwaitedEntry::Any);
            }
        }
    }

    /// Declares what the call waits for. The caller arms, and then advances the call once more.
    pub(crate) fn declare_awaited(&mut self) {
        let Running { completed, seen, .. } = self.running;
        let awaited = if completed { AwaitedEntry::None } else { AwaitedEntry::Of(seen) };
        self.segment.declare_awaited(awaited);
    }

    /// Fails the call: the rank that was read last is in another call.
    #[cold]
    fn fail<D: Device>(
        &mut self, ours: SlotHeader, theirs: SlotHeader, engine: &mut Engine<D>,
    ) -> bool {
        let Self { segment, others, running, .. } = self;
        let (rank, other) = (segment.local_rank() as u32, running.seen);
        running.long = LongBlocks::default();
        running.error = Some(disagreement(rank, ours, other, theirs));
        // A rank that waits for an entry of this rank notices, too.
        if running.published == 0 && segment.entry(running.first, 0).is_some() {
            segment.publish(running.first, ours);
        }
        // All ranks leave the call after the rounds of the longer one, or after the rounds of a rank
        // that reads no entries.
        let rounds = u64::from(running.segmentation.rounds);
        let their_function = CollectiveFunction::from_value(theirs.kind);
        let their_rounds = their_function.map_or(rounds, |function| {
            let (bytes, ranks) = (theirs.bytes as usize, segment.len() as u32);
            let element = element_bytes(&running.call);
            let data_max = SharedSegment::DATA_MAX;
            u64::from(Segmentation::of(function, ranks, bytes, element, data_max).rounds)
        });
        let is_root = theirs.root == other;
        let rounds = match their_function {
            Some(
                CollectiveFunction::Bcast
                | CollectiveFunction::Scatter
                | CollectiveFunction::Scatterv,
            ) if is_root => their_rounds,
            Some(
                CollectiveFunction::Gather
                | CollectiveFunction::Gatherv
                | CollectiveFunction::Reduce,
            ) if !is_root => their_rounds,
            _ => rounds.max(their_rounds),
        };
        segment.begin(rounds);
        let _ = segment.done(running.first + rounds - 1, true);
        others.wake(engine, rank as usize);
        running.completed = true;
        true
    }
}

#[inline]
fn element_bytes(call: &Call) -> usize {
    call.operator.as_ref().map_or(1, |operator| operator.element_bytes())
}

impl WakeList {
    fn new(peers: Box<[Peer]>, pool: Option<&HostSegments>) -> Self {
        let doorbells = pool.map(|pool| peers.iter().map(|peer| pool.doorbell(*peer)).collect());
        Self { peers, doorbells: doorbells.unwrap_or_default() }
    }

    /// Wakes all but the rank `own`.
    #[inline]
    fn wake<D: Device>(&self, engine: &mut Engine<D>, own: usize) {
        for (local_rank, peer) in self.peers.iter().enumerate() {
            if local_rank != own {
                match self.doorbells.get(local_rank) {
                    Some(Some(doorbell)) => doorbell.ring(),
                    _ => engine.notify(*peer),
                }
            }
        }
    }

    /// Wakes those that wait for an entry of this rank.
    #[inline]
    fn wake_awaiting<D: Device>(&self, engine: &mut Engine<D>, segment: &SharedSegment) {
        for (local_rank, peer) in self.peers.iter().enumerate() {
            if local_rank != segment.local_rank() {
                let is_awaited = || segment.is_awaited_by(local_rank);
                match self.doorbells.get(local_rank) {
                    Some(Some(doorbell)) => doorbell.ring_if(&is_awaited),
                    _ => engine.notify_if(*peer, is_awaited),
                }
            }
        }
    }
}

#[inline]
pub(super) fn slot_header(call: &Call) -> SlotHeader {
    SlotHeader { kind: call.function as u8, root: call.root, bytes: call.bytes as u64 }
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
    let name = |header: SlotHeader| match CollectiveFunction::from_value(header.kind) {
        Some(function) if function.is_rooted() => {
            format!("{} with root {}", function.name(), header.root)
        }
        Some(function) => function.name().to_owned(),
        None => format!("a call of kind {}", header.kind),
    };
    let class = if ours.kind == theirs.kind { ErrorClass::Root } else { ErrorClass::Other };
    class.error(format!(
        "the ranks disagree about the call: rank {other} is in {} while this rank {rank} is in {}",
        name(theirs),
        name(ours)
    ))
}
