//! Every kind of persistent collective on the device, restarted by each rank at any time: ranks are
//! ahead of others in one operation and behind in another, or absent for a while, and the interface
//! of one of them may lack a resource; against naive results.

use mpi_abi::device::trigger::InterfaceLimits;
use mpi_abi::devices::loopback::LIMITS;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::offload::Scheme;
use platform::base::Random;

use super::harness::{Rank, is_long, limited};
use super::offloaded::{Drawn, Job, KINDS};
use super::sequences::On;

/// Number of starts of each operation; 1,000 with `SUIRO_TEST_LONG=1`.
const RESTARTS: usize = 5;

/// Largest number of skipped turns of an absent rank.
const ABSENT_TURNS: u64 = 60;

fn restarts() -> usize {
    if is_long() { 1000 } else { RESTARTS }
}

/// An operation, its number of starts, and whether it is active.
struct Turning {
    job: Job,
    turn: usize,
    is_under_way: bool,
}

impl Turning {
    /// Starts the operation if allowed, or tests it for completion.
    async fn step(&mut self, rank: &mut Rank, on: &On) {
        if !self.is_under_way {
            // Nothing has arrived since the last completion.
            if self.turn > 0 {
                self.job.expect(rank);
            }
            self.job.start(rank, on, self.turn);
            self.is_under_way = true;
            return;
        }
        let request = self.job.request;
        if let Some(completed) = rank.after(1, |mpi| mpi.complete(request).unwrap()).await {
            assert_eq!(completed.outcome.error, None, "{:?}", self.job.drawn);
            self.job.expect(rank);
            self.is_under_way = false;
            self.turn += 1;
        }
    }
}

fn restart(count: u32, seed: u64, scheme: Scheme, limits: impl Fn(u32) -> InterfaceLimits) {
    let restarts = restarts();
    limited(count, seed, limits, async |rank| {
        rank.mpi.offload = Some(scheme);
        let world = On::whole(COMM_WORLD, rank.me, count);
        let mut random = Random::new(seed);
        let mut all = Vec::new();
        for kind in 0..KINDS {
            let mut drawn = Drawn::new(&mut random, kind as usize, 1);
            drawn.kind = kind;
            let job = drawn.make(rank, &world).await;
            all.push(Turning { job, turn: 0, is_under_way: false });
        }
        assert_eq!(rank.mpi.engine.has_offloads(), count > 1);
        let mut own_random = Random::new(seed << 8 | u64::from(rank.me));
        loop {
            let mut left: Vec<&mut Turning> =
                all.iter_mut().filter(|one| one.turn < restarts).collect();
            if left.is_empty() {
                break;
            }
            if own_random.one_in(50) {
                rank.after(own_random.below(ABSENT_TURNS), |_| ()).await;
            }
            let drawn = own_random.below(left.len() as u64) as usize;
            left[drawn].step(rank, &world).await;
        }
        for one in all {
            rank.mpi.free_request(one.job.request).unwrap();
        }
        rank.until(|mpi| mpi.is_drained().then_some(())).await;
        assert!(!rank.mpi.engine.has_runs());
    });
}

#[test]
fn operations_of_every_kind_start_when_each_rank_likes() {
    for count in 1..=9 {
        let seed = u64::from(count) << 16 | 3;
        restart(count, seed, Scheme::Tank, |_| LIMITS);
    }
}

#[test]
fn operations_of_every_kind_start_with_a_poor_rank_among_rich_ones() {
    for count in 2..=9 {
        let seed = u64::from(count) << 16 | 4;
        let poor = match count % 3 {
            0 => InterfaceLimits { counters: 0, ..LIMITS },
            1 => InterfaceLimits { counters: 13, slots: 20, ..LIMITS },
            _ => InterfaceLimits { slots: 2, engines: 1, ..LIMITS },
        };
        let scheme = if count % 2 == 0 { Scheme::Tank } else { Scheme::Prematched };
        restart(count, seed, scheme, |rank| if rank == count / 2 { poor } else { LIMITS });
    }
}
