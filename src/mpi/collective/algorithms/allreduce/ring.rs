//! Allreduce along a ring, for long operands and commutative operations: each rank receives one
//! piece of the result (`reduce_scatter::ring`), and forwards it (`allgather::ring`).
//!
//! Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
//! 69(2), 2009.
//!
//! Cost: 2 (n - 1) rounds; a rank sends and receives less than two operands and reduces less than
//! one, for any number of ranks. Only neighbors communicate.

use std::ops::Range;

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::allgather;
use crate::mpi::collective::algorithms::allreduce::halving::pieces;
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::reduce_scatter;
use crate::mpi::collective::algorithms::{
    Allreduce, RECEIVE, RankBlocks, ReduceScatter, Shape, input_buffer,
};
use crate::offload::{Region, Schedule};

pub(crate) const ALGORITHM: Algorithm<Allreduce> = Algorithm {
    name: "ring",
    about: "reduce-scatter and allgather around a ring",
    // Otherwise some pieces would be empty; a round number has 16 bits.
    fits: |shape, args| {
        let elements = args.operands.bytes / args.operands.element;
        args.operands.commutative && elements >= shape.ranks as usize && shape.ranks <= 1 << 15
    },
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Allreduce) -> Cost {
    let bytes = args.operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(bytes as u64, args.in_place);
    }
    let element = args.operands.element;
    let piece = ((bytes / element).div_ceil(shape.ranks as usize) * element) as u64;
    let others = u64::from(shape.ranks - 1);
    Cost {
        rounds: 2 * others,
        messages: 2 * others,
        bytes: 2 * others * piece,
        reduced: others * piece,
        copied: if args.in_place { piece } else { 0 },
    }
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: Allreduce) -> Schedule {
    let Allreduce { operands, in_place } = args;
    if operands.bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(operands.bytes, in_place);
    }
    let pieces: Vec<Range<usize>> =
        (0..shape.ranks).map(|rank| pieces(rank, 1, shape.ranks, operands)).collect();
    let blocks: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
    let place = |of: u32| {
        let piece = &pieces[of as usize];
        RECEIVE.region(piece.start, piece.len())
    };
    let mut phases = Phases::default();
    let rounds = shape.ranks - 1;
    // A piece cannot arrive where an operand is still unread.
    let result = if in_place { phases.scratch(place(rank).len) } else { place(rank) };
    let buffers = [input_buffer(in_place).region(0, operands.bytes), result];
    let all = ReduceScatter { blocks: &blocks, commutative: true, in_place: false };
    let reduced = reduce_scatter::ring::schedule(shape, rank, all);
    let at = |entry: u32| buffers[entry as usize];
    phases.then(&reduced, rounds, &PhasePlacement { member: &|rank| rank, buffer: &at });
    phases.copy([(result, place(rank))]);
    let gathered = RankBlocks { blocks: &blocks, in_place: true };
    let gathered = allgather::ring::allgatherv(shape, rank, gathered);
    let at = |entry: u32| entry.checked_sub(1).map_or(Region::EMPTY, place);
    phases.then(&gathered, rounds, &PhasePlacement { member: &|rank| rank, buffer: &at });
    phases.finish()
}
