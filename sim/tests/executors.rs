//! The executors agree, for every algorithm of the registry.

use mpi_abi::mpi::collective::algorithms::allreduce::extra_rounds::ExtraRounds;
use mpi_abi::mpi::collective::algorithms::allreduce::redundant;
use mpi_abi::mpi::collective::algorithms::{Allreduce, Operands, Shape};
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use mpi_abi::offload::{Region, ScheduleBuilder, StepAction, Wait};
use sim::collective::{CollectiveCall, ScheduleOf};
use sim::executor::{RunTimes, StepCosts, event_driven, levelled};
use sim::jitter::{BitOrder, JitterModel, ends_ps};
use sim::network::LoggpRates;
use sim::noise::{Noise, NoiseKind};

fn levelled_run(
    ranks: u32, schedule: &ScheduleOf<'_>, costs: &StepCosts, threads: usize,
) -> Result<RunTimes, String> {
    levelled::run(ranks, schedule, costs, threads, &|_| {})
}

/// Networks and noise under which every rule of the executors matters: with and without overhead and
/// gap, with and without waiting for engines, and interruptions that are frequent enough for few ranks.
fn settings() -> Vec<StepCosts> {
    let loggp = LoggpRates::LOGGP;
    let networks = [
        loggp,
        LoggpRates::PAPER,
        LoggpRates { overhead_ps: 0, ..loggp },
        LoggpRates { gap_ps: 1_700_000, latency_ps: 1, ..loggp },
        LoggpRates { byte_ps: 0, gap_ps: 0, ..loggp },
        LoggpRates { contends: false, ..loggp },
    ];
    let noise = |kind| Noise::new(kind, 7_000_000, 2_500_000, 5).unwrap();
    let noises = [Noise::NONE, noise(NoiseKind::Periodic), noise(NoiseKind::Random)];
    let of_network = |network| noises.map(|noise| StepCosts { network, noise });
    networks.into_iter().flat_map(of_network).collect()
}

#[test]
fn both_executors_have_equal_times_for_every_algorithm() {
    let settings = settings();
    let mut compared = 0;
    for operation in CollectiveOperation::ALL {
        for algorithm in CollectiveCall::algorithms(operation) {
            for ranks in 2..=17 {
                let sizes = [(0, false), (8, false), (1000, false), (20_000, true)];
                for (turn, (bytes, in_place)) in sizes.into_iter().enumerate() {
                    let call = CollectiveCall {
                        algorithm: Some(algorithm.to_owned()),
                        root: ranks / 3,
                        in_place: in_place && operation != CollectiveOperation::Exscan,
                        ..CollectiveCall::new(operation, ranks, bytes)
                    };
                    let name = format!("{operation:?} {algorithm} {ranks} {bytes}");
                    // Every network with one kind of noise, which the next case changes.
                    let turn = (turn + ranks as usize) % 3;
                    let own: Vec<_> = settings.iter().skip(turn).step_by(3).copied().collect();
                    compared += compare(&call, &own, &name);
                }
            }
        }
    }
    // Otherwise nothing fits.
    assert!(compared > 10_000, "{compared}");
}

/// Compares the executors; returns the number of runs, none if the algorithm does not fit.
fn compare(call: &CollectiveCall, settings: &[StepCosts], name: &str) -> usize {
    let compared = call.with_schedules(|_, schedule| {
        for costs in settings {
            let level = levelled_run(call.ranks, schedule, costs, 1)?;
            let event = event_driven::run(call.ranks, schedule, costs)?;
            assert_eq!(level.ends_ps, event.times.ends_ps, "{name}: {costs:?}");
            assert_eq!(level.quiet_ps, event.times.quiet_ps, "{name}: {costs:?}");
            let last_ps = level.ends_ps.iter().max().copied().unwrap();
            for run in [&level, &event.times] {
                let parts: u64 = run.path.parts().iter().map(|(_, ps)| ps).sum();
                assert_eq!(parts, last_ps, "{name}: {:?}", run.path);
                assert_eq!(run.ends_ps[run.last as usize], last_ps, "{name}");
            }
            assert_eq!(level.totals, event.times.totals, "{name}");
            assert_eq!(level.rounds, event.times.rounds, "{name}");
        }
        Ok(settings.len())
    });
    match compared {
        Ok(count) => count,
        Err(why) if why.contains("does not fit") => 0,
        Err(why) => panic!("{name}: {why}"),
    }
}

/// Copies of which the first wins, with more of them than the registry has.
#[test]
fn both_executors_take_the_first_copy() {
    let settings = settings();
    for ranks in 2..=17 {
        for (middle, last) in [(0, 0), (2, 0), (1, 3), (3, 7)] {
            let schedule = |rank| {
                let operands = Operands { bytes: 64, element: 8, commutative: false };
                let args = Allreduce { operands, in_place: rank % 2 == 1 };
                redundant::schedule(
                    Shape { ranks },
                    rank,
                    args,
                    ExtraRounds::ascending(middle, last),
                )
            };
            for costs in &settings {
                let level = levelled_run(ranks, &schedule, costs, 1).unwrap();
                let event = event_driven::run(ranks, &schedule, costs).unwrap();
                let name = format!("{ranks} {middle} {last} {costs:?}");
                assert_eq!(level.ends_ps, event.times.ends_ps, "{name}");
                assert_eq!(level.quiet_ps, event.times.quiet_ps, "{name}");
            }
        }
    }
}

#[test]
fn every_operation_has_an_algorithm_on_any_number_of_ranks() {
    let costs = StepCosts { network: LoggpRates::LOGGP, noise: Noise::NONE };
    for operation in CollectiveOperation::ALL {
        for ranks in [1, 2, 31, 100] {
            let call = CollectiveCall::new(operation, ranks, 64);
            let run = call.with_schedules(|_, schedule| levelled_run(ranks, schedule, &costs, 2));
            let run = run.unwrap_or_else(|why| panic!("{operation:?} {ranks}: {why}"));
            assert_eq!(run.ends_ps.len(), ranks as usize);
            assert_eq!(run.totals.messages > 0, ranks > 1, "{operation:?} {ranks}");
        }
    }
}

/// Where an algorithm fits, its rounds have labels: 65,023 of them.
#[test]
fn many_ranks_have_schedules_or_an_error() {
    let built = |operation, algorithm: &str, ranks| {
        let algorithm = Some(algorithm.to_owned());
        let call = CollectiveCall { algorithm, ..CollectiveCall::new(operation, ranks, 8) };
        call.with_schedules(|_, schedule| Ok(schedule(ranks - 1).rounds()))
    };
    for operation in CollectiveOperation::ALL {
        for algorithm in CollectiveCall::algorithms(operation) {
            for ranks in [65_024, 65_025] {
                match built(operation, algorithm, ranks) {
                    Ok(rounds) => assert!((1..=65_023).contains(&rounds)),
                    Err(why) => assert!(why.contains("does not fit"), "{algorithm}: {why}"),
                }
            }
        }
    }
    assert_eq!(built(CollectiveOperation::Allgatherv, "ring", 65_024), Ok(65_023));
    assert!(built(CollectiveOperation::Allgatherv, "ring", 65_025).is_err());
    assert!(built(CollectiveOperation::Scan, "linear", 500_000).is_err());
}

/// Several chunks of ranks; with threads, each has its own.
#[test]
fn threads_change_no_result() {
    let noise = Noise::new(NoiseKind::Periodic, 50_000_000, 1_000_000, 3).unwrap();
    let costs = StepCosts { network: LoggpRates::LOGGP, noise };
    let algorithm = Some("doubling".to_owned());
    let ranks = 10_000;
    let call = CollectiveCall {
        algorithm,
        ..CollectiveCall::new(CollectiveOperation::Allreduce, ranks, 8)
    };
    let run = |threads| {
        call.with_schedules(|_, schedule| levelled_run(ranks, schedule, &costs, threads)).unwrap()
    };
    let one = run(1);
    assert!(one.path.noise_ps > 0);
    for threads in [2, 3, 7, 64] {
        assert_eq!(run(threads), one);
    }
}

#[test]
fn loggp_has_its_own_times() {
    let network = LoggpRates {
        latency_ps: 1000,
        overhead_ps: 10,
        gap_ps: 3,
        byte_ps: 2,
        reduced_ps: 1,
        copied_ps: 0,
        ..LoggpRates::LOGGP
    };
    let costs = StepCosts { network, noise: Noise::NONE };
    let times = |operation, algorithm: &str, ranks, bytes| {
        let algorithm = Some(algorithm.to_owned());
        let call = CollectiveCall { algorithm, ..CollectiveCall::new(operation, ranks, bytes) };
        let run = call.with_schedules(|_, schedule| levelled_run(ranks, schedule, &costs, 1));
        run.unwrap().ends_ps
    };
    // One message: o + G B + L + o; the root is done when the last byte has left.
    let bcast = times(CollectiveOperation::Bcast, "linear", 2, 50);
    assert_eq!(bcast, [110, 1120]);
    // A short message leaves max(o, g) after the one before it, ...
    let bcast = times(CollectiveOperation::Bcast, "linear", 4, 1);
    assert_eq!(bcast, [32, 1022, 1032, 1042]);
    // ... a long one when the port has rested.
    let bcast = times(CollectiveOperation::Bcast, "linear", 3, 50);
    assert_eq!(bcast, [213, 1120, 1223]);
    // The port of the root takes one message after the other: the first arrives at 1110, the second
    // is in at 1110 + 3 + 100. Then comes its overhead.
    let gather = times(CollectiveOperation::Gather, "linear", 3, 50);
    assert_eq!(gather, [1223, 110, 110]);
    // Two exchanges, and a reduction of 8 bytes after each.
    let allreduce = times(CollectiveOperation::Allreduce, "doubling", 4, 8);
    assert_eq!(allreduce, [2 * (10 + 16 + 1000 + 10 + 8); 4]);
}

/// The recurrence of the paper is what the schedules of the library do.
#[test]
fn jitter_has_the_times_of_the_schedules() {
    let noise = Noise::new(NoiseKind::Periodic, 30_000_000, 4_000_000, 1).unwrap();
    let model = JitterModel { noise, ..JitterModel::paper() };
    let operands = Operands { bytes: model.bytes as usize, element: 8, commutative: false };
    let mut hidden = 0;
    for bits in 1..=9 {
        for (middle, last) in [(0, 0), (1, 0), (0, 1), (2, 3), (3, 20)] {
            let schedule = |rank| {
                let shape = Shape { ranks: 1 << bits };
                let args = Allreduce { operands, in_place: false };
                redundant::schedule(shape, rank, args, ExtraRounds::ascending(middle, last))
            };
            let extras = BitOrder::Ascending.bits(bits, middle, last);
            for run in 0..3 {
                let noise = model.noise.with_seed(model.seed + u64::from(run));
                let costs = StepCosts { network: model.network, noise };
                let level = levelled_run(1 << bits, &schedule, &costs, 1).unwrap();
                let times = ends_ps(bits, &extras, &model, run);
                assert_eq!(level.ends_ps, times, "2^{bits} ranks, {extras:?}");
                hidden += u32::from(level.quiet_ps > times.iter().max().copied().unwrap());
            }
        }
    }
    assert!(hidden > 0, "no rank completes before the last copy");
}

#[test]
fn wrong_schedules_are_errors() {
    let costs = StepCosts { network: LoggpRates::LOGGP, noise: Noise::NONE };
    let one = |action: fn(u32) -> StepAction| {
        move |rank: u32| {
            let mut plan = ScheduleBuilder::new();
            if rank == 0 {
                plan.push(action(1), 1, Wait::All, &[]);
            }
            plan.finish()
        }
    };
    let send = one(|peer| StepAction::Send { peer, region: Region::EMPTY, label: 1 });
    let receive = one(|peer| StepAction::Receive { peer, region: Region::EMPTY, label: 1 });
    let far = one(|_| StepAction::Receive { peer: 70_000, region: Region::EMPTY, label: 1 });
    let circle = |_| {
        let mut plan = ScheduleBuilder::new();
        let action = |label| StepAction::Receive { peer: 1, region: Region::EMPTY, label };
        let first = plan.push(action(1), 1, Wait::All, &[]);
        let send = StepAction::Send { peer: 1, region: Region::EMPTY, label: 2 };
        plan.push(send, 1, Wait::All, &[first]);
        plan.finish()
    };
    let both = |schedule: &ScheduleOf<'_>| {
        let level = levelled_run(2, schedule, &costs, 1).unwrap_err();
        (level, event_driven::run(2, schedule, &costs).unwrap_err())
    };
    let (level, event) = both(&send);
    assert_eq!(level, "1 messages are sent, 0 received");
    assert_eq!(event, "rank 1 does not receive message 1 of rank 0");
    let (level, event) = both(&receive);
    assert!(level.contains("rank 0 receives a message 1 that rank 1 does not send"), "{level}");
    assert_eq!(event, "rank 0 has 1 steps left");
    assert!(both(&far).0.contains("rank 70000 does not send"));
    let (level, _) = both(&circle);
    assert_eq!(level, "rank 0: step 1 waits on one of its own round");
}
