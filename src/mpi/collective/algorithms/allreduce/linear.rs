//! Allreduce through rank 0, which combines all operands (`reduce::linear`) and sends the result to
//! every rank.
//!
//! Cost: ceil((n - 1) / 7) + 1 rounds; rank 0 receives, reduces and sends n - 1 operands.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::reduce;
use crate::mpi::collective::algorithms::{Allreduce, RECEIVE, Reduce, Shape, input_buffer};
use crate::offload::Schedule;

pub(crate) const ALGORITHM: Algorithm<Allreduce> = Algorithm {
    name: "linear",
    about: "rank 0 combines all operands and sends every rank the result",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Allreduce) -> Cost {
    let bytes = args.operands.bytes as u64;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(bytes, args.in_place);
    }
    let others = u64::from(shape.ranks - 1);
    let rounds = u64::from(reduce::linear::rounds(shape)) + 1;
    Cost {
        rounds,
        messages: others,
        bytes: others.max(rounds) * bytes,
        reduced: others * bytes,
        copied: if args.in_place { bytes } else { 0 },
    }
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: Allreduce) -> Schedule {
    let Allreduce { operands, in_place } = args;
    let bytes = operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(bytes, in_place);
    }
    let result = RECEIVE.region(0, bytes);
    let mut phases = Phases::default();
    let reduce = Reduce { operands, root: 0, in_place: in_place && rank == 0 };
    let reduced = reduce::linear::schedule(shape, rank, reduce);
    let buffers = [input_buffer(in_place).region(0, bytes), result];
    let at = |entry: u32| buffers[entry as usize];
    let rounds = reduce::linear::rounds(shape);
    phases.then(&reduced, rounds, &PhasePlacement { member: &|rank| rank, buffer: &at });
    if rank == 0 {
        let sends: Vec<_> = (1..shape.ranks).map(|to| (to, result)).collect();
        phases.round(&[], &sends);
    } else {
        phases.round(&[(0, result)], &[]);
    }
    phases.finish()
}
