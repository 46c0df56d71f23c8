//! Programs with one tank by the formulas of the paper ("2^n scheme"), and their correct and wrong
//! runs: Morie, Hatanaka, Takagi, Hori and Ishikawa, "Design and evaluation of MPI persistent
//! collective communication with the offload API of Open Fabrics Interfaces" (in Japanese).

use mpi_abi::mpi::collective::algorithms::allgather;
use mpi_abi::mpi::collective::algorithms::barrier;
use mpi_abi::mpi::collective::algorithms::{RECEIVE, Shape, UniformBlocks};
use mpi_abi::offload::{CounterAdd, DeferredWork, Program, ProgramOp, Schedule, Scheme};

use super::model::{Adds, Network, Reset, System};
use super::search::{expect_fault, expect_safe};

const STATES_MAX: usize = 1_000_000;

fn work(level: u64, op: ProgramOp) -> DeferredWork {
    DeferredWork { counter: 0, level, op, round: 0 }
}

fn add(value: u64) -> CounterAdd {
    CounterAdd { counter: 0, value }
}

fn signal(level: u64, to: u32, value: u64) -> DeferredWork {
    work(level, ProgramOp::Signal { to, signal: add(value) })
}

/// At level `top`: the reset, then the end.
fn end(top: u64) -> [DeferredWork; 2] {
    [work(top, ProgramOp::Add(add(top.wrapping_neg()))), work(top, ProgramOp::Complete)]
}

fn program(tanks: u8, work: Vec<DeferredWork>) -> Program {
    Program::new(Scheme::Tank1, tanks, 1, work)
}

/// Barrier of 2^n ranks: in round r, rank p adds 2^(n-r) at p xor 2^(r-1).
fn butterfly(n: u32, rank: u32, tanks: u8) -> Program {
    let round = |r: u32| signal((1 << n) - (1 << (n - r + 1)), rank ^ 1 << (r - 1), 1 << (n - r));
    program(tanks, (1..=n).map(round).chain(end((1 << n) - 1)).collect())
}

/// The same weights for any number of ranks: in round r, rank p adds at p + 2^(r-1).
fn dissemination(ranks: u32, rank: u32) -> Program {
    let n = ranks.next_power_of_two().ilog2();
    let peer = |r: u32| (rank + (1 << (r - 1))) % ranks;
    let round = |r: u32| signal((1 << n) - (1 << (n - r + 1)), peer(r), 1 << (n - r));
    program(1, (1..=n).map(round).chain(end((1 << n) - 1)).collect())
}

/// Each rank beyond a power of two sends its part to a proxy and receives the result from it.
fn folded(ranks: u32, rank: u32) -> Program {
    let n = ranks.ilog2();
    let (places, all) = (1 << n, (1 << n) - 1);
    if rank >= places {
        let begin = signal(0, rank - places, places.into());
        return program(1, [begin].into_iter().chain(end(1)).collect());
    }
    let absorbs = rank + places < ranks;
    let base = if absorbs { 1 << n } else { 0 };
    let level = |r: u32| base + (1 << n) - (1u64 << (n - r + 1));
    let rounds = (1..=n).map(|r| signal(level(r), rank ^ 1 << (r - 1), 1 << (n - r)));
    let answer = absorbs.then(|| signal(base + all, rank + places, 1));
    program(1, rounds.chain(answer).chain(end(base + all)).collect())
}

/// Allgather of 2^n ranks with a byte each, in place: ready-to-receive and data in each round. The
/// ends of own puts share the last digit, which the paper omits.
fn allgather(n: u32, rank: u32, tanks: u8) -> Program {
    let (all, ends) = (1 << (2 * n), u64::from(n) + 1);
    let level = |half_round: u32| (all - (1 << (2 * n - half_round))) * ends;
    let value = |half_round: u32| (1 << (2 * n - half_round)) * ends;
    let mut list = Vec::new();
    for r in 1..=n {
        let (peer, len) = (rank ^ 1 << (r - 1), 1usize << (r - 1));
        list.push(signal(level(2 * r - 2), peer, value(2 * r - 1)));
        let from = RECEIVE.region(rank as usize & !(len - 1), len);
        let signal = add(value(2 * r));
        let put =
            ProgramOp::Put { to: peer, from, into: from, signal, done: Some(add(1)), engine: None };
        list.push(work(level(2 * r - 1), put));
    }
    list.extend(end((all - 1) * ends + u64::from(n)));
    program(tanks, list)
}

fn barriers(ranks: u32, instances: u8, program: impl Fn(u32) -> Program) -> System {
    let part = |rank| barrier::dissemination::schedule(Shape { ranks }, rank);
    let schedules: Vec<Schedule> = (0..ranks).map(part).collect();
    let system = System::new((0..ranks).map(program).collect(), schedules, instances);
    // Messages of two instances are exchangeable: only the starts of the ranks matter.
    System { exact: false, ..system }
}

fn allgathers(ranks: u32, instances: u8, tanks: u8) -> System {
    let args = UniformBlocks { block: 1, in_place: true };
    let part = |rank| allgather::doubling::schedule(Shape { ranks }, rank, args);
    let programs = (0..ranks).map(|rank| allgather(ranks.ilog2(), rank, tanks)).collect();
    System::new(programs, (0..ranks).map(part).collect(), instances)
}

#[test]
fn a_barrier_is_safe_with_one_tank() {
    expect_safe("butterfly, 2 ranks", &barriers(2, 4, |rank| butterfly(1, rank, 1)), STATES_MAX);
    let four = barriers(4, 3, |rank| butterfly(2, rank, 1));
    expect_safe("butterfly, 4 ranks", &four, STATES_MAX);
    let late = System { adds: Adds::Gated, ..four };
    expect_safe("butterfly, 4 ranks, resets that land late", &late, STATES_MAX);
    let three = barriers(3, 3, |rank| dissemination(3, rank));
    expect_safe("dissemination, 3 ranks", &three, STATES_MAX);
    for ranks in [3, 5] {
        let system = barriers(ranks, if ranks == 3 { 3 } else { 2 }, |rank| folded(ranks, rank));
        expect_safe(&format!("folded, {ranks} ranks"), &system, STATES_MAX);
    }
}

#[test]
fn an_allgather_with_one_tank_ends_before_its_data_arrives() {
    expect_fault("allgather, one tank, 2 ranks", &allgathers(2, 2, 1), "rank 0 ends instance 0");
    let in_order = System { network: Network::InOrder, ..allgathers(4, 2, 1) };
    expect_fault("allgather, one tank, 4 ranks, in order", &in_order, "ends instance 0 and byte");
    expect_safe("allgather, two tanks, 2 ranks", &allgathers(2, 4, 2), STATES_MAX);
}

#[test]
fn work_armed_before_the_reset_starts_at_once() {
    let system = |adds| System { adds, ..barriers(4, 2, |rank| butterfly(2, rank, 1)) };
    expect_fault("barrier, start before the reset", &system(Adds::Ungated), "has not entered");
    expect_safe("barrier, start after the reset", &system(Adds::Gated), STATES_MAX);
}

#[test]
fn a_reset_to_zero_loses_early_arrivals() {
    let one = System { reset: Reset::ToZero, ..barriers(4, 2, |rank| butterfly(2, rank, 1)) };
    expect_fault("barrier, one tank, reset to 0", &one, "nothing more happens");
    let two = System { reset: Reset::ToZero, ..barriers(4, 3, |rank| butterfly(2, rank, 2)) };
    expect_safe("barrier, two tanks, reset to 0", &two, STATES_MAX);
}

#[test]
fn a_late_reset_to_zero_needs_every_start_to_wait_for_it() {
    let system = |reset, adds| System { reset, adds, ..allgathers(2, 5, 2) };
    let late = system(Reset::ToZero, Adds::GatedByTank);
    expect_fault("allgather, late reset to 0, other tank", &late, "nothing more happens");
    let late = system(Reset::ToZero, Adds::Gated);
    expect_safe("allgather, late reset to 0, any tank", &late, STATES_MAX);
    let late = system(Reset::Subtract, Adds::GatedByTank);
    expect_safe("allgather, late subtraction, other tank", &late, STATES_MAX);
    let late = system(Reset::Subtract, Adds::Ungated);
    expect_fault("allgather, late subtraction, none", &late, "rank 0");
}
