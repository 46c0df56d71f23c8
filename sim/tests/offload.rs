//! Programs of interfaces in virtual time.

use std::collections::HashMap;

use mpi_abi::device::trigger::InterfaceLimits;
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use mpi_abi::offload::compile::Rules;
use mpi_abi::offload::{
    Buffer, CounterAdd, CounterId, DeferredWork, Program, ProgramOp, Region, Scheme,
};
use sim::collective::CollectiveCall;
use sim::executor::StepCosts;
use sim::executor::event_driven::{
    self, EventRun, InstanceTimes, InterfaceSetting, LinkNetwork, run_programs,
};
use sim::network::LoggpRates;
use sim::noise::{Noise, NoiseKind};
use sim::offload::{OffloadedCall, UNLIMITED};
use sim::topology::{NodeOrder, RankNodes};

const ONCE: InterfaceSetting =
    InterfaceSetting { limits: UNLIMITED, post_ps: 0, instances: 1, traces: false };

/// Round numbers: G = 1 ps, L = 1000, nothing else.
const PLAIN: StepCosts = StepCosts {
    network: LoggpRates {
        name: "plain",
        latency_ps: 1000,
        overhead_ps: 0,
        gap_ps: 0,
        byte_ps: 1,
        reduced_ps: 2,
        copied_ps: 3,
        contends: true,
    },
    noise: Noise::NONE,
};

/// Without ready-to-receive, which schedules do not have, work has the times of the steps of the host: with counters
/// for each message. The two counters of a tank wait for all messages of earlier rounds, so its work is never earlier.
#[test]
fn programs_have_the_times_of_schedules() {
    let (mut compared, mut later) = (0, 0);
    for operation in CollectiveOperation::ALL {
        for algorithm in CollectiveCall::algorithms(operation) {
            for (ranks, bytes) in (2..=9).flat_map(|ranks| [(ranks, 8), (ranks, 1000)]) {
                let call = CollectiveCall {
                    algorithm: Some(algorithm.to_owned()),
                    root: ranks / 3,
                    ..CollectiveCall::new(operation, ranks, bytes)
                };
                let costs = StepCosts { network: LoggpRates::PAPER, noise: Noise::NONE };
                let host = call.with_schedules(|_, schedule| {
                    Ok(event_driven::run(ranks, schedule, &costs)?.times.ends_ps)
                });
                let Ok(host) = host else { continue };
                let name = format!("{operation:?} {algorithm} {ranks} {bytes}");
                for scheme in [Scheme::Prematched, Scheme::Tank] {
                    let offloaded = OffloadedCall::new(call.clone(), scheme, false);
                    let rules = Rules { ready: false, ..offloaded.rules };
                    let offloaded = OffloadedCall { rules, ..offloaded };
                    let Ok(programs) = offloaded.all_programs() else { continue };
                    let (run, _) = run_programs(&programs, &costs, None, &ONCE, &|_| {}).unwrap();
                    let ends_ps = &run.times.ends_ps;
                    compared += 1;
                    later += u32::from(ends_ps != &host);
                    if scheme == Scheme::Prematched {
                        assert_eq!(ends_ps, &host, "{name}");
                    }
                    assert!(ends_ps.iter().zip(&host).all(|(own, host)| own >= host), "{name}");
                    let parts: u64 = run.times.path.parts().iter().map(|(_, ps)| ps).sum();
                    assert_eq!(parts, ends_ps[run.times.last as usize], "{name}");
                }
            }
        }
    }
    assert!(compared > 1000 && later * 100 < compared, "{later} of {compared}");
}

fn work(level: u64, op: ProgramOp) -> DeferredWork {
    DeferredWork { counter: 0, level, op, round: 1 }
}

fn add(counter: CounterId, value: u64) -> CounterAdd {
    CounterAdd { counter, value }
}

fn signal(to: u32) -> ProgramOp {
    ProgramOp::Signal { to, signal: add(0, 1) }
}

fn region(len: usize) -> Region {
    Buffer::User(0).region(0, len)
}

fn put(to: u32, len: usize) -> ProgramOp {
    let (from, into) = (region(len), region(len));
    ProgramOp::Put { to, from, into, signal: add(0, 1), done: None, engine: None }
}

/// Runs a program for each rank, each with one counter.
fn run(works: &[&[DeferredWork]], setting: &InterfaceSetting) -> EventRun {
    let program = |work: &&[DeferredWork]| Program::new(Scheme::Tank, 1, 1, work.to_vec());
    let programs: Vec<Program> = works.iter().map(program).collect();
    run_programs(&programs, &PLAIN, None, setting, &|_| {}).unwrap().0
}

fn ends(works: &[&[DeferredWork]], setting: &InterfaceSetting) -> Vec<u64> {
    run(works, setting).times.ends_ps
}

#[test]
fn work_waits_for_its_threshold() {
    let copy = ProgramOp::Copy { from: region(100), into: region(100), done: Some(add(0, 1)) };
    // Rank 0 answers the second signal of rank 1, which that sends after a copy.
    let asks =
        [work(0, signal(0)), work(0, copy), work(1, signal(0)), work(2, ProgramOp::Complete)];
    let answers = [work(2, signal(1)), work(2, ProgramOp::Complete)];
    assert_eq!(ends(&[&answers, &asks], &ONCE), [1300, 2300]);
    // It answers each.
    let answers = [work(1, signal(1)), work(2, signal(1)), work(2, ProgramOp::Complete)];
    assert_eq!(ends(&[&answers, &asks], &ONCE), [1300, 2000]);
}

#[test]
fn work_beyond_the_slots_is_posted_later() {
    let sends = [work(0, signal(1)), work(0, signal(1)), work(0, signal(1)), work(0, signal(1))];
    let counts = [work(4, ProgramOp::Complete)];
    let setting = |slots, post_ps| InterfaceSetting {
        limits: InterfaceLimits { slots, ..UNLIMITED },
        post_ps,
        ..ONCE
    };
    assert_eq!(ends(&[&sends, &counts], &setting(100, 500)), [0, 1000]);
    // Half of the slots at most: two, then one.
    assert_eq!(ends(&[&sends, &counts], &setting(4, 500)), [1000, 2000]);
    assert_eq!(ends(&[&sends, &counts], &setting(2, 500)), [1500, 2500]);
    assert_eq!(ends(&[&sends, &counts], &setting(2, 0)), [0, 1000]);
}

#[test]
fn each_engine_sends_one_put_at_a_time() {
    let sends = [work(0, put(1, 100)), work(0, put(2, 100)), work(0, signal(2))];
    let (one, two) = ([work(1, ProgramOp::Complete)], [work(2, ProgramOp::Complete)]);
    let engines =
        |engines| InterfaceSetting { limits: InterfaceLimits { engines, ..UNLIMITED }, ..ONCE };
    assert_eq!(ends(&[&sends, &one, &two], &engines(1)), [0, 1100, 1200]);
    assert_eq!(ends(&[&sends, &one, &two], &engines(2)), [0, 1100, 1100]);
    // A signal waits for no transfer.
    assert_eq!(ends(&[&sends, &one, &one], &engines(1)), [0, 1100, 1000]);
    // The port of a receiver takes one put after the other.
    let (from, to) = ([work(0, put(2, 100))], [work(2, ProgramOp::Complete)]);
    assert_eq!(ends(&[&from, &from, &to], &engines(1)), [0, 0, 1200]);
}

#[test]
fn an_interface_that_cannot_hold_a_program_is_an_error() {
    let programs = [Program::new(Scheme::Tank, 2, 3, vec![work(0, ProgramOp::Complete)])];
    let limits = InterfaceLimits { counters: 5, ..UNLIMITED };
    let few = run_programs(&programs, &PLAIN, None, &InterfaceSetting { limits, ..ONCE }, &|_| {});
    assert_eq!(few.unwrap_err(), "rank 0: 6 counters of a program: expected at most 5");
    let never = [Program::new(Scheme::Tank, 1, 1, vec![work(1, ProgramOp::Complete)])];
    let never = run_programs(&never, &PLAIN, None, &ONCE, &|_| {});
    assert_eq!(never.unwrap_err(), "rank 0 never completes instance 0");
}

/// Three instances on a fat tree under noise.
fn noisy_run(operation: CollectiveOperation, ranks: u32, scheme: Scheme) -> InstanceTimes {
    let in_place = operation != CollectiveOperation::Exscan;
    let call =
        CollectiveCall { root: ranks - 1, in_place, ..CollectiveCall::new(operation, ranks, 64) };
    let topology = "fat-tree:3,2".parse().unwrap();
    let placement = RankNodes::new(ranks, 2, 9, NodeOrder::Random, 3).unwrap();
    let network =
        LinkNetwork { topology, placement, node_latency_ps: 300_000, hop_ps: 50_000, byte_ps: 90 };
    let noise = Noise::new(NoiseKind::Random, 9_000_000, 3_000_000, u64::from(ranks)).unwrap();
    let costs = StepCosts { network: LoggpRates::LOGGP, noise };
    let setting = InterfaceSetting { instances: 3, traces: true, ..ONCE };
    let programs = OffloadedCall::new(call, scheme, true).all_programs();
    let run = programs.and_then(|it| run_programs(&it, &costs, Some(&network), &setting, &|_| {}));
    run.unwrap_or_else(|why| panic!("{operation:?} {scheme:?} {ranks} ranks: {why}")).1
}

#[test]
fn all_operations_complete_with_empty_tanks() {
    for operation in CollectiveOperation::ALL {
        for ranks in [1, 2, 5, 8, 18] {
            for scheme in [Scheme::Tank, Scheme::Prematched] {
                let run = noisy_run(operation, ranks, scheme);
                assert!(run.ends_ps.iter().all(|ends_ps| ends_ps.len() == 3));
                let mut levels = HashMap::new();
                for change in &run.changes {
                    levels.insert((change.rank, change.tank, change.counter), change.level);
                }
                assert!(levels.values().all(|level| *level == 0), "{operation:?} {levels:?}");
            }
        }
    }
}

#[test]
fn no_rank_leaves_a_barrier_before_all_have_entered() {
    for scheme in [Scheme::Tank, Scheme::Tank1, Scheme::Prematched] {
        let ends_ps = noisy_run(CollectiveOperation::Barrier, 8, scheme).ends_ps;
        for instance in 1..3 {
            let before = ends_ps.iter().map(|ends_ps| ends_ps[instance - 1]).max();
            let after = ends_ps.iter().map(|ends_ps| ends_ps[instance]).min();
            assert!(before < after, "{scheme:?}: {ends_ps:?}");
        }
    }
}
