//! Reduce-scatter by recursive halving among adjacent ranks, for any operation.
//!
//! Partners at distance 1, 2, 4, ... exchange halves of their remaining parts, as in
//! `allreduce::halving`, so that ranks combine in order. Place `p` ends with the part whose number
//! is `p` with its bits reversed, so a rank first copies its operands into that order, the *line*.
//! A part has the blocks of the ranks of one place (see `butterfly`):
//!
//! ```text
//!   places      0    1    2    3          round 1: 0 and 1, 2 and 3 exchange halves of the line
//!   line      [ 0    2  | 1    3 ]        round 2: 0 and 2, 1 and 3 halves of their halves
//! ```
//!
//! Cost: floor(log2 n) rounds (+ 2); a rank sends, receives and reduces less than all blocks (all
//! blocks once more if ranks are folded), and copies all blocks and its own.

use std::ops::Range;

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::butterfly::{
    ButterflyRole, PartialResult, PeerExchange,
};
use crate::mpi::collective::algorithms::{RECEIVE, ReduceScatter, Shape, block_offsets};
use crate::offload::{Schedule, ScheduleBuilder};

pub(crate) const ALGORITHM: Algorithm<ReduceScatter> = Algorithm {
    name: "in_order",
    about: "adjacent ranks exchange halves of the blocks that they still work for",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: ReduceScatter<'_>) -> Cost {
    let longest = args.blocks.iter().copied().max().unwrap_or(0) as u64;
    let total: u64 = args.blocks.iter().map(|block| *block as u64).sum();
    if total == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(total, args.in_place);
    }
    let before = u64::from(butterfly::rounds_before(shape));
    let halvings = shape.ranks.ilog2();
    let line = PermutedBlocks::new(shape, args.blocks);
    let longest_part = |number: u32| {
        let count = line.places() >> number;
        let parts = (0..line.places()).step_by(count as usize);
        parts.map(|first| line.parts(first, count).len() as u64).max().unwrap_or(0)
    };
    let halves: u64 = (1..=halvings).map(longest_part).sum();
    let halvings = u64::from(halvings);
    Cost {
        rounds: 2 * before + halvings,
        messages: before + halvings,
        bytes: before * (total + longest) + halves,
        reduced: before * total + halves,
        copied: total + longest,
    }
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: ReduceScatter<'_>) -> Schedule {
    let ReduceScatter { blocks, in_place, .. } = args;
    let total: usize = blocks.iter().sum();
    let own = blocks[rank as usize];
    if total == 0 || shape.ranks == 1 {
        return butterfly::local_copy(own, in_place);
    }
    let mut plan = ScheduleBuilder::new();
    let last = butterfly::rounds_before(shape) + shape.ranks.ilog2() + 1;
    let (place, absorbs) = match ButterflyRole::of(shape, rank) {
        ButterflyRole::Absorbed { by } => {
            let send = plan.send(by, args.input(0, total), 1, &[]);
            if own > 0 {
                let after = if in_place { &[send][..] } else { &[] };
                plan.receive(by, RECEIVE.region(0, own), last, after);
            }
            return plan.finish();
        }
        ButterflyRole::Place { place, absorbs } => (place, absorbs),
    };
    let line = PermutedBlocks::new(shape, blocks);
    let (meetings, piece) = line.halvings(shape, place);
    let absorbed = absorbs.map(|peer| {
        let region = plan.scratch(total).region(0, total);
        (region, plan.receive(peer, region, 1, &[]))
    });
    let arrivals = butterfly::post_receives(&mut plan, &meetings, false);
    let (mut operands, mut ready) = (args.input(0, total), None);
    if let Some((region, arrived)) = absorbed {
        ready = Some(plan.reduce(operands, region, &[arrived]));
        operands = region;
    }
    let lined_up = plan.scratch(total);
    for (from, to) in line.order() {
        let from = operands.buffer.region(operands.start + from.start, from.len());
        let to = lined_up.region(to.start, to.len());
        // The copies run in sequence, so waiting on the last is enough.
        ready = Some(plan.copy(from, to, ready.as_slice()));
    }
    let held = PartialResult::at(lined_up.region(0, total), ready);
    let held = held.combine_all(&mut plan, &meetings, &arrivals, false);
    let (mine, others) = (piece.start..piece.start + own, piece.start + own..piece.end);
    if let Some(peer) = absorbs.filter(|_| !others.is_empty()) {
        plan.send(peer, held.part(&others), last, held.ready.as_slice());
    }
    if own > 0 {
        plan.copy(held.part(&mine), RECEIVE.region(0, own), held.ready.as_slice());
    }
    plan.finish()
}

/// The blocks of all ranks, in the order of the reversed bits of their places.
struct PermutedBlocks {
    /// For each place, the range of its blocks in rank order.
    given: Vec<Range<usize>>,
    /// The offset of each part in the line, and the end.
    starts: Vec<usize>,
}

impl PermutedBlocks {
    fn new(shape: Shape, blocks: &[usize]) -> Self {
        let places = butterfly::places(shape);
        let begins: Vec<usize> = block_offsets(blocks).chain([blocks.iter().sum()]).collect();
        let first = |place: u32| match place == places {
            true => shape.ranks as usize,
            false => butterfly::rank_at(shape, place) as usize,
        };
        let given: Vec<Range<usize>> =
            (0..places).map(|place| begins[first(place)]..begins[first(place + 1)]).collect();
        let mut starts = vec![0];
        for part in 0..places {
            let len = given[bit_reversed(part, places) as usize].len();
            starts.push(starts[part as usize] + len);
        }
        Self { given, starts }
    }

    fn places(&self) -> u32 {
        self.given.len() as u32
    }

    /// The bytes of `count` parts.
    fn parts(&self, first: u32, count: u32) -> Range<usize> {
        self.starts[first as usize]..self.starts[(first + count) as usize]
    }

    /// For each part that is not empty, its bytes in rank order and in the line.
    fn order(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let pairs = (0..self.places()).map(|part| {
            (self.given[bit_reversed(part, self.places()) as usize].clone(), self.parts(part, 1))
        });
        pairs.filter(|(_, to)| !to.is_empty())
    }

    /// The exchanges of a place, and its bytes at the end.
    fn halvings(&self, shape: Shape, place: u32) -> (Vec<PeerExchange>, Range<usize>) {
        let (mut first, mut count) = (0, self.places());
        let mut meetings = Vec::new();
        for bit in 0..self.places().ilog2() {
            count /= 2;
            let above = place >> bit & 1 == 0;
            let (keep, give) = if above { (first, first + count) } else { (first + count, first) };
            first = keep;
            meetings.push(PeerExchange {
                peer: butterfly::rank_at(shape, place ^ 1 << bit),
                above,
                round: butterfly::rounds_before(shape) + 1 + bit,
                give: Some(self.parts(give, count)),
                keep: self.parts(keep, count),
            });
        }
        (meetings, self.parts(first, 1))
    }
}

/// The reversed bits of a number below `places`, a power of two and at least 2.
fn bit_reversed(number: u32, places: u32) -> u32 {
    number.reverse_bits() >> (32 - places.ilog2())
}
