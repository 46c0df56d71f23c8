//! Reduce along chains that end at the root, in segments, for long operands.
//!
//! If the operation commutes, there is one chain of all ranks, which begins after the root and
//! follows the ring. Otherwise there are two chains, of the ranks above the root and of the ranks
//! below it, so that ranks combine in order and both chains end at the root.
//!
//! ```text
//!   root 2 of 5, commutes        2 <── 3 <── 4 <── 0 <── 1
//!   does not                     0 ──> 1 ──> 2 <── 3 <── 4
//! ```
//!
//! Cost, for `s` segments: n + s - 2 rounds (two chains: n - 1 is the length of the longer one). A
//! rank sends, receives and reduces one operand; with two chains, the root receives and reduces
//! two, and ranks below the root copy theirs.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost, Segmented, Segments};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::pipeline::segments;
use crate::mpi::collective::algorithms::scan::chain::{SEGMENTS_MAX, part, segment};
use crate::mpi::collective::algorithms::{RECEIVE, Reduce, SEND, Shape, input_buffer};
use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<Reduce> = Algorithm {
    name: "chain",
    about: "along chains of ranks that end at the root, in segments",
    // A round number has 16 bits.
    fits: |shape, _| (shape.ranks as usize) < SEGMENTS_MAX,
    cost: |shape, args| cost(shape, args, segment(args.operands)),
    schedule: |shape, rank, args| schedule(shape, rank, args, segment(args.operands)),
    segmented: Some(Segmented { cost, schedule }),
};

/// Number of segments that may arrive before the first is combined.
const WINDOW: usize = 4;

fn cost(shape: Shape, args: Reduce, segment: usize) -> Cost {
    let Reduce { operands, root, in_place } = args;
    let bytes = operands.bytes as u64;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(bytes, in_place);
    }
    let segments = Segments::of(operands.bytes, segment);
    let lengths = Chain::ALL.map(|chain| u64::from(chain.length(shape, args)));
    let chains = lengths.iter().filter(|length| **length > 0).count() as u64;
    let hops = lengths.into_iter().max().unwrap_or(0);
    let passing = segments.bytes(hops).max(chains * bytes);
    let copies = !operands.commutative && (in_place && root + 1 < shape.ranks || root > 0);
    Cost {
        rounds: segments.rounds(hops),
        messages: chains * segments.count,
        bytes: passing,
        reduced: passing,
        copied: if copies { bytes } else { 0 },
    }
}

/// A chain that ends at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chain {
    /// The ranks after the root.
    After,
    /// The ranks before the root.
    Before,
}

impl Chain {
    const ALL: [Self; 2] = [Self::After, Self::Before];

    /// Number of ranks, without the root.
    fn length(self, shape: Shape, args: Reduce) -> u32 {
        match (self, args.operands.commutative) {
            (Self::After, true) => shape.ranks - 1,
            (Self::Before, true) => 0,
            (Self::After, false) => shape.ranks - 1 - args.root,
            (Self::Before, false) => args.root,
        }
    }

    /// The rank at this distance from the root.
    fn rank_at(self, shape: Shape, root: u32, distance: u32) -> u32 {
        match self {
            Self::After => shape.after(root, distance),
            Self::Before => root - distance,
        }
    }
}

/// The receives from the next rank of a chain.
struct ChainLink {
    chain: Chain,
    from: u32,
    /// The round of the first segment.
    round: u32,
    /// Alternating receive buffers, unless each segment has its own location.
    buffers: Vec<Buffer>,
}

impl ChainLink {
    /// The link at this distance from the root; `None` at the end of the chain.
    fn new(shape: Shape, args: Reduce, chain: Chain, distance: u32) -> Option<Self> {
        let length = chain.length(shape, args);
        (distance < length).then(|| Self {
            chain,
            from: chain.rank_at(shape, args.root, distance + 1),
            round: length - distance,
            buffers: Vec::new(),
        })
    }

    fn with_buffers(mut self, plan: &mut ScheduleBuilder, segment: usize) -> Self {
        self.buffers = (0..WINDOW).map(|_| plan.scratch(segment)).collect();
        self
    }

    fn buffer(&self, number: usize, len: usize) -> Region {
        self.buffers[number % WINDOW].region(0, len)
    }
}

/// The step `WINDOW` segments earlier.
fn step_before_window(steps: &[StepId], number: usize) -> Option<StepId> {
    number.checked_sub(WINDOW).map(|number| steps[number])
}

/// Schedule of `rank`; every segment except the last has `segment` bytes, whole elements.
pub(crate) fn schedule(shape: Shape, rank: u32, args: Reduce, segment: usize) -> Schedule {
    let bytes = args.operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(bytes, args.in_place);
    }
    let mut plan = ScheduleBuilder::new();
    let segment = segment.min(bytes);
    if rank == args.root {
        gather(&mut plan, shape, args, segment);
        return plan.finish();
    }
    let is_after = args.operands.commutative || rank > args.root;
    let chain = if is_after { Chain::After } else { Chain::Before };
    let distance = match chain {
        Chain::After => shape.after(rank, shape.ranks - args.root),
        Chain::Before => args.root - rank,
    };
    let onward = ChainSender {
        to: chain.rank_at(shape, args.root, distance - 1),
        round: chain.length(shape, args) - distance + 1,
    };
    match ChainLink::new(shape, args, chain, distance) {
        None => onward.send_own(&mut plan, bytes, segment),
        Some(link) => onward.forward(&mut plan, link, bytes, segment),
    }
    plan.finish()
}

/// Destination of a rank's partial result, and the round of the first segment.
struct ChainSender {
    to: u32,
    round: u32,
}

impl ChainSender {
    /// The first rank of a chain sends its operand.
    fn send_own(self, plan: &mut ScheduleBuilder, bytes: usize, segment: usize) {
        for ((start, len), round) in segments(bytes, segment).zip(self.round..) {
            plan.send(self.to, SEND.region(start, len), round, &[]);
        }
    }

    /// Other ranks combine received segments with their operands.
    fn forward(self, plan: &mut ScheduleBuilder, link: ChainLink, bytes: usize, segment: usize) {
        let link = link.with_buffers(plan, segment);
        let is_after = link.chain == Chain::After;
        let sums = if is_after { 0 } else { WINDOW };
        let sums: Vec<Buffer> = (0..sums).map(|_| plan.scratch(segment)).collect();
        let (mut reduced, mut sent) = (Vec::new(), Vec::new());
        for ((start, len), number) in segments(bytes, segment).zip(0..) {
            let own = SEND.region(start, len);
            let arrival = link.buffer(number, len);
            let free = step_before_window(if is_after { &sent } else { &reduced }, number);
            let round = number as u32;
            let arrived = plan.receive(link.from, arrival, link.round + round, free.as_slice());
            let (sum, step) = if is_after {
                (arrival, plan.reduce(own, arrival, &[arrived]))
            } else {
                let sum = sums[number % WINDOW].region(0, len);
                let copied = plan.copy(own, sum, step_before_window(&sent, number).as_slice());
                (sum, plan.reduce(arrival, sum, &[arrived, copied]))
            };
            reduced.push(step);
            sent.push(plan.send(self.to, sum, self.round + round, &[step]));
        }
    }
}

/// Schedule of the root, which combines the segments received along the chains with its operand.
fn gather(plan: &mut ScheduleBuilder, shape: Shape, args: Reduce, segment: usize) {
    let Reduce { operands, in_place, .. } = args;
    // With a commutative operation, the root's operand may be the right one.
    let turned = in_place && operands.commutative;
    let after = ChainLink::new(shape, args, Chain::After, 0);
    let after = after.map(|link| if in_place { link.with_buffers(plan, segment) } else { link });
    let before = ChainLink::new(shape, args, Chain::Before, 0);
    let before = before.map(|link| link.with_buffers(plan, segment));
    let mut done: Vec<StepId> = Vec::new();
    for ((start, len), number) in segments(operands.bytes, segment).zip(0..) {
        let own = part(input_buffer(in_place).region(0, operands.bytes), start, len);
        let result = RECEIVE.region(start, len);
        let free = step_before_window(&done, number);
        let receive = |plan: &mut ScheduleBuilder, link: &ChainLink, to: Region| {
            let free = free.filter(|_| to != result);
            plan.receive(link.from, to, link.round + number as u32, free.as_slice())
        };
        let (mut sum, mut ready) = (own, None);
        if let Some(link) = &after {
            let arrival = if in_place { link.buffer(number, len) } else { result };
            let arrived = receive(plan, link, arrival);
            let (from, into) = if turned { (arrival, own) } else { (own, arrival) };
            (sum, ready) = (into, Some(plan.reduce(from, into, &[arrived])));
        } else if !in_place {
            (sum, ready) = (result, Some(plan.copy(own, result, &[])));
        }
        if let Some(link) = &before {
            let arrival = link.buffer(number, len);
            let arrived = receive(plan, link, arrival);
            let both: Vec<StepId> = ready.into_iter().chain([arrived]).collect();
            ready = Some(plan.reduce(arrival, sum, &both));
        }
        if sum != result {
            ready = Some(plan.copy(sum, result, ready.as_slice()));
        }
        done.extend(ready);
    }
}
