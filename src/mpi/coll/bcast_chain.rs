//! Broadcast along a chain of all ranks, in segments: each rank passes on what it gets.
//!
//! Cost, for `s` segments: n + s - 2 rounds; a rank receives the message once and sends it once.
//! For long messages that is as few bytes as any algorithm can do with.

use super::bcast_binomial::segments;
use super::{BUFFER, Bcast, Shape};
use crate::offload::{Builder, Schedule};

/// The part of `rank`; every segment but the last has `segment` bytes.
pub fn schedule(shape: Shape, rank: u32, args: Bcast, segment: usize) -> Schedule {
    let mut plan = Builder::new();
    let place = shape.before(rank, args.root);
    let segments = || segments(args.bytes, segment).zip(place..);
    let mut received = Vec::new();
    if place > 0 {
        let previous = shape.before(rank, 1);
        received.extend(segments().map(|((start, len), round)| {
            plan.receive(previous, BUFFER.region(start, len), round, &[])
        }));
    }
    if place + 1 < shape.ranks {
        let next = shape.after(rank, 1);
        for (number, ((start, len), round)) in segments().enumerate() {
            let after = received.get(number).copied();
            plan.send(next, BUFFER.region(start, len), round + 1, after.as_slice());
        }
    }
    plan.finish()
}
