//! Persistent collectives on ranks in one process, over a network with random full queues and
//! delays: each rank starts them in a different order, and runs ahead of others as far as allowed.
//! Operations with a shared segment use it, the others use messages.

use mpi_abi::mpi::Memory;
use mpi_abi::mpi::collective::calls::Call;
use mpi_abi::mpi::collective::reduction_operator::ReductionOperator;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::datatype::predefined;
use mpi_abi::mpi::op::Operator;
use mpi_abi::mpi::request::Completed;
use platform::base::Random;

use super::harness::{Rank, placed, ranks};
use super::mpi::{INT, room};
use super::segments::{duplicate, number};

/// The length of `MPI_INT` in bytes.
const INT_BYTES: usize = 4;
const OPERATIONS: usize = 8;
const TURNS: usize = 12;

/// A collective operation with its memory.
struct Job {
    out: Vec<u8>,
    result: Vec<u8>,
    request: u32,
}

/// The contribution of rank `rank` to operation `job`, in turn `turn`.
fn value(rank: u32, job: usize, turn: usize) -> i32 {
    (rank as i32 + 1) * 1000 + (job * 50 + turn) as i32
}

fn ints(value: i32, len: usize) -> Vec<u8> {
    value.to_ne_bytes().repeat(len / INT_BYTES)
}

/// Short, eager and long.
fn len(job: usize) -> usize {
    [4, 256, 20_000][job % 3]
}

/// Operation `job` on `comm`.
async fn make(rank: &mut Rank, comm: u32, job: usize) -> Job {
    let (mut out, mut result) = (vec![0; len(job)], vec![0; len(job)]);
    let call = call(comm, job, &mut out, &mut result);
    let mut init = rank.mpi.begin_persistent_init("", comm, Ok(call)).unwrap();
    let request = rank.until(|mpi| mpi.end_persistent_init(&mut init).unwrap()).await;
    Job { out, result, request }
}

fn call(comm: u32, job: usize, out: &mut [u8], result: &mut [u8]) -> Call {
    let (out, result): (Memory, Memory) = (room(out), room(result));
    let sum =
        || ReductionOperator::predefined(Operator::Sum, &predefined(INT).unwrap(), None).unwrap();
    match job % 4 {
        0 => Call::allreduce(comm, Some(out), result, sum()),
        1 => Call::bcast(comm, 0, result),
        2 => Call::scan(comm, Some(out), result, sum()),
        _ => Call::allreduce(comm, None, result, sum()),
    }
}

/// The result of operation `job` on rank `me` of `count`.
fn expected(me: u32, count: u32, job: usize, turn: usize) -> i32 {
    let sum = |ranks| (0..ranks).map(|rank| value(rank, job, turn)).sum();
    match job % 4 {
        1 => value(0, job, turn),
        2 => sum(me + 1),
        _ => sum(count),
    }
}

async fn complete(rank: &mut Rank, request: u32) {
    let completed = rank.until(|mpi| mpi.complete(request).unwrap()).await;
    let Completed { outcome, handle_freed: gone, inactive: idle, .. } = completed;
    assert_eq!((outcome.error, gone, idle), (None, false, false));
}

fn start(rank: &mut Rank, job: &mut Job, index: usize, turn: usize) {
    let own = ints(value(rank.me, index, turn), job.out.len());
    job.out.copy_from_slice(&own);
    let in_place = index % 4 == 3 || index % 4 == 1 && rank.me == 0;
    let before = if in_place { own } else { vec![0xee; job.result.len()] };
    job.result.copy_from_slice(&before);
    rank.mpi.start(job.request).unwrap();
    assert!(rank.mpi.start(job.request).is_err());
}

/// The operations on the world with numbers below `count`.
async fn make_all(rank: &mut Rank, count: usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    for index in 0..count {
        jobs.push(make(rank, COMM_WORLD, index).await);
    }
    jobs
}

async fn turns(rank: &mut Rank, count: u32, jobs: &mut [Job], turns: usize, random: &mut Random) {
    for now in 0..turns {
        turn(rank, count, jobs, now, random).await;
    }
}

async fn turn(rank: &mut Rank, count: u32, jobs: &mut [Job], turn: usize, random: &mut Random) {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    (1..order.len()).for_each(|place| order.swap(place, random.below(place as u64 + 1) as usize));
    for &index in &order {
        start(rank, &mut jobs[index], index, turn);
    }
    for &index in order.iter().rev() {
        complete(rank, jobs[index].request).await;
        let due = ints(expected(rank.me, count, index, turn), jobs[index].result.len());
        assert_eq!(jobs[index].result, due, "operation {index} in turn {turn}");
    }
}

#[test]
fn instances_meet_whatever_the_order_of_their_starts() {
    for (count, seed) in (1..=5).flat_map(|count| (0..4).map(move |seed| (count, seed))) {
        ranks(count, seed, async |rank| {
            let mut random = Random::new(seed << 8 | u64::from(rank.me));
            let mut jobs = make_all(rank, OPERATIONS).await;
            turns(rank, count, &mut jobs, TURNS, &mut random).await;
            for job in jobs {
                rank.mpi.free_request(job.request).unwrap();
                assert!(rank.mpi.start(job.request).is_err());
            }
            assert!(!rank.mpi.engine.has_runs());
        });
    }
}

/// The same on several nodes: the operations of ranks that share no memory use messages.
#[test]
fn instances_meet_across_nodes() {
    let all: [&[u32]; 4] = [&[0, 0, 1, 1], &[0, 1, 0, 1], &[0, 1, 1, 1, 2], &[0, 0, 0, 1]];
    for (seed, places) in (0..).zip(all) {
        placed(places, seed, async |rank| {
            let mut random = Random::new(seed << 8 | u64::from(rank.me));
            let mut jobs = make_all(rank, OPERATIONS).await;
            let count = places.len() as u32;
            turns(rank, count, &mut jobs, TURNS, &mut random).await;
            assert!(rank.mpi.request_segment(COMM_WORLD).unwrap().is_none());
            for job in jobs {
                rank.mpi.free_request(job.request).unwrap();
            }
            assert!(!rank.mpi.engine.has_runs());
        });
    }
}

/// Most operations get no shared segment; after they are freed, the next ones get one.
#[test]
fn more_operations_than_segments() {
    for (count, seed) in [(2, 1), (3, 2), (4, 3)] {
        ranks(count, seed, async |rank| {
            let mut random = Random::new(seed << 8 | u64::from(rank.me));
            for _ in 0..2 {
                let mut jobs = make_all(rank, 70).await;
                turns(rank, count, &mut jobs, 2, &mut random).await;
                // Communicators have shared segments nevertheless.
                let copy = duplicate(rank, COMM_WORLD).await;
                assert!(number(rank, copy).is_some());
                rank.mpi.free_comm(copy).unwrap();
                for job in jobs {
                    rank.mpi.free_request(job.request).unwrap();
                }
            }
            assert!(!rank.mpi.engine.has_runs());
        });
    }
}

/// A request is freed while its operation is active, and so is its communicator.
#[test]
fn what_is_freed_goes_on() {
    for (count, seed) in (2..=4).flat_map(|count| (0..6).map(move |seed| (count, seed))) {
        ranks(count, seed, async |rank| {
            let mut random = Random::new(seed << 8 | u64::from(rank.me));
            let mut kept = Vec::new();
            for round in 0..40 {
                let index = round % OPERATIONS;
                let mut job = make(rank, COMM_WORLD, index).await;
                start(rank, &mut job, index, round);
                if random.one_in(2) {
                    rank.mpi.free_request(job.request).unwrap();
                    assert!(rank.mpi.readiness(job.request).is_err());
                    kept.push((job, index, round));
                } else {
                    complete(rank, job.request).await;
                    rank.mpi.free_request(job.request).unwrap();
                }
            }
            rank.until(|mpi| mpi.is_drained().then_some(())).await;
            for (job, index, round) in kept {
                let due = ints(expected(rank.me, count, index, round), job.result.len());
                assert_eq!(job.result, due, "operation {index} in round {round}");
            }
        });
    }
}
