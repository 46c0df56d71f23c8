//! Alltoall, alltoallv and alltoallw: at distance `k` each rank sends to the rank `k` after it and
//! receives from the rank `k` before it. At most [`WINDOW`] distances are active at a time.
//!
//! Cost: ceil((n - 1) / [`WINDOW`]) rounds; a rank sends n - 1 blocks, and in place first copies
//! all n.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{
    BlockPairs, RECEIVE, SEND, Shape, UniformBlocks, block_offsets,
};
use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepId};

/// Number of active sends, and of active receives, on a rank: enough to hide latency, few enough
/// not to flood a late peer.
pub(crate) const WINDOW: u32 = 32;

pub(crate) const ALLTOALL: Algorithm<UniformBlocks> = Algorithm {
    name: "pairwise",
    about: "at distance k each rank sends to the rank k after it",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args, WINDOW),
    schedule,
    segmented: None,
};

pub(crate) const ALLTOALLV: Algorithm<BlockPairs> = Algorithm {
    name: "pairwise",
    about: "at distance k each rank sends to the rank k after it",
    fits: |_, _| true,
    cost: |shape, _| windowed_cost(shape, WINDOW),
    schedule: alltoallv,
    segmented: None,
};

/// Cost with at most `window` active distances.
pub(crate) fn cost(shape: Shape, args: UniformBlocks, window: u32) -> Cost {
    let (ranks, block) = (u64::from(shape.ranks), args.block as u64);
    if block == 0 {
        return Cost::ZERO;
    }
    let copied = match args.in_place {
        true if ranks == 1 => 0,
        true => ranks * block,
        false => block,
    };
    Cost { bytes: (ranks - 1) * block, copied, ..windowed_cost(shape, window) }
}

/// Cost of exchanging with all other ranks, without the bytes.
pub(crate) fn windowed_cost(shape: Shape, window: u32) -> Cost {
    let others = u64::from(shape.ranks - 1);
    Cost { rounds: others.div_ceil(window.into()), messages: others, ..Cost::ZERO }
}

/// Schedule of `rank` in an alltoall.
pub(crate) fn schedule(shape: Shape, rank: u32, args: UniformBlocks) -> Schedule {
    windowed(shape, rank, args, WINDOW)
}

/// Schedule of `rank` in an alltoallv or alltoallw; empty blocks are not sent.
pub(crate) fn alltoallv(shape: Shape, rank: u32, args: BlockPairs<'_>) -> Schedule {
    windowed_blocks(shape, rank, args, WINDOW)
}

/// Schedule of `rank` in an alltoall with at most `window` active distances.
pub(crate) fn windowed(shape: Shape, rank: u32, args: UniformBlocks, window: u32) -> Schedule {
    let block = args.block;
    let part = |buffer: Buffer, of: u32| buffer.region(of as usize * block, block);
    let mut plan = ScheduleBuilder::new();
    if args.in_place {
        if shape.ranks == 1 || block == 0 {
            return plan.finish();
        }
        let all = shape.ranks as usize * block;
        let saved = plan.scratch(all);
        let save = plan.copy(RECEIVE.region(0, all), saved.region(0, all), &[]);
        exchange(
            plan,
            shape,
            rank,
            window,
            |to| part(saved, to),
            |from| part(RECEIVE, from),
            &|_| Some(save),
        )
    } else {
        exchange(
            plan,
            shape,
            rank,
            window,
            |to| part(SEND, to),
            |from| part(RECEIVE, from),
            &|_| None,
        )
    }
}

/// As [`windowed`], for an alltoallv or alltoallw.
pub(crate) fn windowed_blocks(
    shape: Shape, rank: u32, args: BlockPairs<'_>, window: u32,
) -> Schedule {
    let BlockPairs { send, receive, in_place } = args;
    let received = |from: u32| Buffer::User(shape.ranks + from).region(0, receive[from as usize]);
    let mut plan = ScheduleBuilder::new();
    if in_place {
        if shape.ranks == 1 {
            return plan.finish();
        }
        let starts: Vec<usize> = block_offsets(receive).collect();
        let saved = plan.scratch(receive.iter().sum());
        let kept = |of: u32| saved.region(starts[of as usize], receive[of as usize]);
        let saves: Vec<StepId> =
            (0..shape.ranks).map(|of| plan.copy(received(of), kept(of), &[])).collect();
        exchange(plan, shape, rank, window, kept, received, &|of| Some(saves[of as usize]))
    } else {
        let sent = |to: u32| Buffer::User(to).region(0, send[to as usize]);
        exchange(plan, shape, rank, window, sent, received, &|_| None)
    }
}

/// Schedule of `rank` that exchanges these regions of user buffers; empty ones are not sent.
pub(crate) fn exchange_regions(
    shape: Shape, rank: u32, send: impl Fn(u32) -> Region, receive: impl Fn(u32) -> Region,
) -> Schedule {
    exchange(ScheduleBuilder::new(), shape, rank, WINDOW, send, receive, &|_| None)
}

/// Exchanges all blocks, with at most `window` active distances. The messages of a peer wait on its
/// step in `saved`, if any; in that case the own block is already in its final location.
fn exchange(
    mut plan: ScheduleBuilder, shape: Shape, rank: u32, window: u32, send: impl Fn(u32) -> Region,
    receive: impl Fn(u32) -> Region, saved: &dyn Fn(u32) -> Option<StepId>,
) -> Schedule {
    // The steps of each distance; the distance one window later waits on them.
    let mut steps: Vec<Vec<StepId>> = vec![Vec::new()];
    for distance in 1..shape.ranks {
        let round = (distance - 1) / window + 1;
        let before = match distance.checked_sub(window) {
            Some(earlier) => steps[earlier as usize].as_slice(),
            None => &[],
        };
        let after = |peer| [before, saved(peer).as_slice()].concat();
        let (from, to) = (shape.before(rank, distance), shape.after(rank, distance));
        let (into, out) = (receive(from), send(to));
        let mut both = Vec::with_capacity(2);
        if into.len > 0 {
            both.push(plan.receive(from, into, round, &after(from)));
        }
        if out.len > 0 {
            both.push(plan.send(to, out, round, &after(to)));
        }
        steps.push(both);
    }
    let own = send(rank);
    if saved(rank).is_none() && own.len > 0 {
        plan.copy(own, receive(rank), &[]);
    }
    plan.finish()
}
