//! Persistent collectives on ranks in one process, over a network that is busy and late at random:
//! each rank starts them in an order of its own, and runs ahead of others as far as it may.

use mpi_abi::base::Random;
use mpi_abi::mpi::Memory;
use mpi_abi::mpi::combining::Combining;
use mpi_abi::mpi::comm::COMM_WORLD;
use mpi_abi::mpi::datatype::predefined;
use mpi_abi::mpi::op::Operator;
use mpi_abi::mpi::prepared::{Call, Form, Prepared};
use mpi_abi::mpi::request::Readiness;

use super::harness::{Rank, TestMpi, ranks};
use super::mpi::room;

/// `MPI_INT` and its length in bytes.
const INT: u32 = 0x209;
const INT_BYTES: usize = 4;
const CALL: Call = Call { comm: COMM_WORLD, form: Form::Persistent };
const OPERATIONS: usize = 8;
const TURNS: usize = 12;

/// A collective operation with its memory.
struct Job {
    out: Vec<u8>,
    result: Vec<u8>,
    request: u32,
}

/// What rank `rank` has for operation `job`, in turn `turn`.
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

fn prepare(mpi: &mut TestMpi, job: usize, out: &mut [u8], result: &mut [u8]) -> Prepared {
    let (out, result): (Memory, Memory) = (room(out), room(result));
    let sum = || Combining::predefined(Operator::Sum, &predefined(INT).unwrap(), None).unwrap();
    let prepared = match job % 4 {
        0 => mpi.allreduce(CALL, Some(out), result, sum()),
        1 => mpi.bcast(CALL, 0, result),
        2 => mpi.scan(CALL, Some(out), result, sum()),
        _ => mpi.allreduce(CALL, None, result, sum()),
    };
    prepared.unwrap()
}

/// Everything that operation `job` gives rank `me` of `count`.
fn expected(me: u32, count: u32, job: usize, turn: usize) -> i32 {
    let sum = |ranks| (0..ranks).map(|rank| value(rank, job, turn)).sum();
    match job % 4 {
        1 => value(0, job, turn),
        2 => sum(me + 1),
        _ => sum(count),
    }
}

fn complete(rank: &mut Rank, request: u32) {
    let completed = rank.until(|mpi| {
        let ready = mpi.readiness(request).unwrap() == Readiness::Ready;
        ready.then(|| mpi.complete(request).unwrap())
    });
    assert_eq!((completed.outcome.error, completed.gone), (None, false));
}

fn turn(rank: &mut Rank, count: u32, jobs: &mut [Job], turn: usize, random: &mut Random) {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    (1..order.len()).for_each(|place| order.swap(place, random.below(place as u64 + 1) as usize));
    for &index in &order {
        let job = &mut jobs[index];
        let own = ints(value(rank.me, index, turn), job.out.len());
        job.out.copy_from_slice(&own);
        let in_place = index % 4 == 3 || index % 4 == 1 && rank.me == 0;
        let before = if in_place { own } else { vec![0xee; job.result.len()] };
        job.result.copy_from_slice(&before);
        rank.mpi.start(job.request).unwrap();
        assert!(rank.mpi.start(job.request).is_err());
    }
    for &index in order.iter().rev() {
        complete(rank, jobs[index].request);
        let due = ints(expected(rank.me, count, index, turn), jobs[index].result.len());
        assert_eq!(jobs[index].result, due, "operation {index} in turn {turn}");
    }
}

#[test]
fn instances_meet_whatever_the_order_of_their_starts() {
    for (count, seed) in (1..=5).flat_map(|count| (0..4).map(move |seed| (count, seed))) {
        ranks(count, seed, |rank| {
            let mut random = Random::new(seed << 8 | u64::from(rank.me));
            let make = |index| {
                let (mut out, mut result) = (vec![0; len(index)], vec![0; len(index)]);
                let prepared = prepare(&mut rank.mpi, index, &mut out, &mut result);
                let request = rank.mpi.persistent_collective(COMM_WORLD, prepared).unwrap();
                Job { out, result, request }
            };
            let mut jobs: Vec<Job> = (0..OPERATIONS).map(make).collect();
            (0..TURNS).for_each(|now| turn(rank, count, &mut jobs, now, &mut random));
            for job in jobs {
                rank.mpi.free_request(job.request).unwrap();
                assert!(rank.mpi.start(job.request).is_err());
            }
            assert!(!rank.mpi.engine.has_runs());
        });
    }
}
