//! Broadcast as a scatter of pieces along a binomial tree and an allgather by recursive doubling,
//! for messages of medium length among a power of two of ranks.
//!
//! As `bcast::scatter_ring`, but the allgather takes fewer rounds: in round `k` places that differ
//! in bit `k` exchange all their pieces. Thakur, Rabenseifner and Gropp, "Optimization of
//! collective communication operations in MPICH", International Journal of High Performance
//! Computing Applications 19(1), 2005.
//!
//! Cost: 2 log2 n rounds; the root sends less than two messages. Any other rank sends less than one
//! message and receives one.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::bcast::scatter_ring::Pieces;
use crate::mpi::collective::algorithms::{Bcast, Shape};
use crate::offload::{Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "scatter_doubling",
    about: "pieces are scattered, and gathered by all by recursive doubling",
    fits: |shape, _| shape.ranks.is_power_of_two(),
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Bcast) -> Cost {
    if args.bytes == 0 {
        return Cost::ZERO;
    }
    let pieces = Pieces::new(shape, args);
    let (scatter, bits) = (pieces.cost_of_scatter(), shape.doublings());
    let gathered: usize = (0..bits).map(|bit| pieces.region(0, 1 << bit).len).sum();
    Cost {
        rounds: scatter.rounds + u64::from(bits),
        messages: scatter.messages + u64::from(bits),
        bytes: scatter.bytes + gathered as u64,
        ..Cost::ZERO
    }
}

/// Schedule of `rank`; empty pieces are not sent.
///
/// # Panics
/// If the number of ranks is not a power of two.
pub(crate) fn schedule(shape: Shape, rank: u32, args: Bcast) -> Schedule {
    assert!(shape.ranks.is_power_of_two());
    let pieces = Pieces::new(shape, args);
    let place = shape.before(rank, args.root);
    let mut plan = ScheduleBuilder::new();
    let bits = shape.doublings();
    // The pieces of a place before the round of a bit, and whether the scatter gave it more.
    let held = |place: u32, bit: u32| pieces.region(place >> bit << bit, 1 << bit);
    let has_more = |place: u32, bit: u32| pieces.pieces_scattered_to(place).len() > 1 << bit;

    let scattered = pieces.receive(&mut plan, place);
    let received: Vec<Option<StepId>> = (0..bits)
        .map(|bit| {
            let partner = place ^ 1 << bit;
            let region = held(partner, bit);
            let is_new = region.len > 0 && !has_more(place, bit);
            is_new.then(|| plan.receive(pieces.rank(partner), region, bits + 1 + bit, &[]))
        })
        .collect();
    pieces.forward(&mut plan, place, scattered);
    for bit in 0..bits {
        let partner = place ^ 1 << bit;
        let region = held(place, bit);
        if region.len > 0 && !has_more(partner, bit) {
            let earlier = received[..bit as usize].iter().flatten();
            let after: Vec<StepId> = scattered.iter().chain(earlier).copied().collect();
            plan.send(pieces.rank(partner), region, bits + 1 + bit, &after);
        }
    }
    plan.finish()
}
