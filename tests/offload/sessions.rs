//! Programs for queues in session mode (`offload::session`): every algorithm on 2 to 16 ranks has the
//! form that queues can run, cannot deadlock, is safe with two tanks, and moves the right bytes; all
//! runs of small systems are right, with steps so short that carries and amplifiers are needed.

use mpi_abi::device::trigger::{InterfaceLimits, TriggerClass};
use mpi_abi::devices::loopback::LIMITS;
use mpi_abi::mpi::collective::algorithms::algorithm::{AgreedArguments, Arguments};
use mpi_abi::mpi::collective::algorithms::{BlockPairs, RootedBlocks, Shape};
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::mpi::collective::selection::registry::{
    AlgorithmFamily, CollectiveOperation, Visitor,
};
use mpi_abi::offload::causal_order::CausalOrder;
use mpi_abi::offload::check::check;
use mpi_abi::offload::compile::{Rules, link_all};
use mpi_abi::offload::session::{POSITION_BITS, STEPS_MAX, entries};
use mpi_abi::offload::{DeferredWork, Program, ProgramOp, Schedule};

use super::collectives::Collective;
use super::is_long;
use super::model::{Adds, Ends, Network, System};
use super::safe;
use super::search::expect_safe;
use super::system;

/// Interfaces with enough queues.
const QUEUES: InterfaceLimits = InterfaceLimits {
    counters: 4000,
    slots: 1 << 20,
    ordered: true,
    class: TriggerClass::Sessions,
    counter_bits: POSITION_BITS,
    ..LIMITS
};

/// Numbers of ranks on which bytes are moved, unless the test is long.
const MOVED: [u32; 8] = [2, 3, 4, 5, 7, 8, 12, 16];

/// Algorithms that counters cannot run, and why.
const UNCOUNTABLE: [(&str, &str); 1] = [("redundant", "is detached")];

/// Names and the schedules of all ranks.
type Cases = Vec<(String, Vec<Schedule>)>;

/// The algorithms of an operation on so many ranks; segmented algorithms also with segments of 1 byte.
struct Listed(u32);

impl Visitor for Listed {
    type Output = Cases;

    fn visit<A: Arguments>(self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>) -> Cases {
        cases(family, self.0, |_| args)
    }
}

fn cases<'a, A: Arguments>(
    family: &AlgorithmFamily<A>, ranks: u32, args: impl Fn(u32) -> A::Borrowed<'a>,
) -> Cases {
    let shape = Shape { ranks };
    let mut cases = Vec::new();
    for algorithm in family.algorithms.iter().filter(|it| (it.fits)(shape, args(0).agreed())) {
        let name = format!("{:?} by {} on {ranks}", family.operation, algorithm.name);
        let whole = (0..ranks).map(|rank| (algorithm.schedule)(shape, rank, args(rank)));
        cases.push((name.clone(), whole.collect()));
        if let Some(cut) = &algorithm.segmented {
            let cut = (0..ranks).map(|rank| (cut.schedule)(shape, rank, args(rank), 1));
            cases.push((format!("{name} in segments"), cut.collect()));
        }
    }
    cases
}

/// The algorithms of an operation, for blocks of this many bytes.
fn listed(operation: CollectiveOperation, ranks: u32, bytes: usize) -> Cases {
    let blocks = &vec![bytes; ranks as usize][..];
    let rooted = |_| RootedBlocks { own: bytes, blocks, root: 0, in_place: false };
    let pairs = |_| BlockPairs { send: blocks, receive: blocks, in_place: false };
    match operation {
        CollectiveOperation::Gatherv => cases(&registry::GATHERV, ranks, rooted),
        CollectiveOperation::Scatterv => cases(&registry::SCATTERV, ranks, rooted),
        CollectiveOperation::Alltoallv => cases(&registry::ALLTOALLV, ranks, pairs),
        _ => operation.visit(Shape { ranks }, bytes, Listed(ranks)),
    }
}

fn rules() -> Rules {
    QUEUES.rules(Rules::SAFE)
}

#[test]
fn every_algorithm_runs_on_queues() {
    let mut programs_run = 0;
    for ranks in 2..=16 {
        for operation in CollectiveOperation::ALL {
            // So many segments that a pipeline needs amplifiers.
            for (name, schedules) in
                listed(operation, ranks, 2 * STEPS_MAX as usize + ranks as usize)
            {
                check(&schedules).unwrap_or_else(|why| panic!("{name}: {why}"));
                let programs = match link_all(&schedules, &rules()) {
                    Ok(programs) => programs,
                    Err(why) => {
                        let known =
                            |(by, known): &(&str, &str)| name.contains(by) && why.contains(known);
                        assert!(UNCOUNTABLE.iter().any(known), "{name}: {why}");
                        continue;
                    }
                };
                for program in &programs {
                    entries(program).unwrap_or_else(|why| panic!("{name}: {why}\n{program:#?}"));
                }
                let order =
                    CausalOrder::of(&programs).unwrap_or_else(|why| panic!("{name}: {why}"));
                order.two_tanks().unwrap_or_else(|why| panic!("{name}: {why}"));
                programs_run += ranks;
                if !is_long() && !MOVED.contains(&ranks) {
                    continue;
                }
                // A failing case prints itself.
                eprintln!("{name}");
                let seed = u64::from(ranks) << 8 | 77;
                let instances = if is_long() { 100 } else { 2 };
                let run = system::System::new(&schedules, programs, seed, |_| QUEUES);
                assert_eq!(run.run(instances, seed), 0, "{name}: software runs a program");
            }
        }
    }
    assert!(programs_run > 3000, "{programs_run}");
}

/// Short steps, so that small systems have chained queues.
#[test]
fn all_runs_are_right() {
    let states = if is_long() { 10_000_000 } else { 400_000 };
    let (mut chained, mut running_on) = (0, 0);
    for (what, ranks, steps, instances) in [
        (Collective::Barrier("dissemination"), 4, 2, 2),
        (Collective::Barrier("linear"), 4, 2, 2),
        (Collective::Bcast("linear", 1), 4, 2, 2),
        (Collective::Bcast("linear", 1), 4, 3, 2),
        (Collective::Bcast("chain", 7), 2, 2, 2),
        (Collective::Bcast("chain", 5), 3, 3, 2),
        (Collective::Bcast("binomial", 1), 4, 2, 2),
        (Collective::Gather("linear"), 4, 2, 2),
        (Collective::Scatter("binomial"), 4, 2, 2),
        (Collective::AllgatherInPlace("doubling"), 2, 2, 3),
        (Collective::AllgatherInPlace("ring"), 3, 2, 1),
        (Collective::Allreduce("doubling"), 2, 2, 3),
        (Collective::Alltoall("pairwise"), 2, 2, 2),
        (Collective::Alltoall("spread"), 3, 2, 1),
        (Collective::Halo, 2, 2, 2),
    ] {
        let rules = Rules { ordered: true, steps_max: Some(steps), ..Rules::SAFE };
        let system = System {
            network: Network::InOrderByEngine,
            ends: if ranks > 2 { Ends::Together } else { Ends::Apart },
            ..safe::system(what, ranks, instances, &rules)
        };
        chained += usize::from(system.programs.iter().any(|program| program.counters() > 1));
        system.programs.iter().for_each(|program| assert!(entries(program).is_ok()));
        let name = format!("{what:?}, {ranks} ranks, {instances} instances, {steps} steps");
        expect_safe(&name, &system, states);
        // Queues that run their commands at separate times, and late additions to own queues.
        if ranks == 2 {
            let slow =
                System { counters_lag: true, adds: Adds::Gated, instances: 1, ..system.clone() };
            expect_safe(&format!("{name}, slow queues"), &slow, states);
        }
        let adds_to_itself = |program: &Program| {
            let is_own = |work: &DeferredWork| match work.op {
                ProgramOp::Add(add) => add.counter == work.counter && add.value as i64 > 0,
                _ => false,
            };
            program.work().iter().any(is_own)
        };
        running_on += usize::from(system.programs.iter().any(adds_to_itself));
    }
    assert!(chained > 10 && running_on >= 3, "{chained}, {running_on}");
}
