//! Runs programs in virtual time and records the levels of their counters.
//!
//! The time of a message is a latency, a time for its bytes, and a random delay from a seed, so
//! messages overtake each other; those between two ranks only if the network is unordered. Ranks
//! begin at random times. Engines, links and limits of an interface are not simulated.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use mpi_abi::offload::{CounterAdd, CounterId, Instance, Program, ProgramOp};
use platform::base::Random;

/// Durations and randomness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Between two ranks, without bytes.
    pub latency_ns: u64,
    /// Maximum of the random delay of a message.
    pub jitter_ns: u64,
    /// For a thousand bytes.
    pub kilobyte_ns: u64,
    /// Maximum of the random delay before a rank begins an instance.
    pub skew_ns: u64,
    /// A reduction by the host.
    pub host_ns: u64,
    /// Whether messages between two ranks arrive in order.
    pub ordered: bool,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for Times {
    /// Approximately a Tofu interface: 1 µs, 5 GB/s.
    fn default() -> Self {
        Self {
            latency_ns: 1_000,
            jitter_ns: 2_000,
            kilobyte_ns: 200,
            skew_ns: 4_000,
            host_ns: 1_000,
            ordered: true,
            seed: 1,
        }
    }
}

/// A change of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelChange {
    pub time_ns: u64,
    pub rank: u32,
    pub tank: usize,
    pub counter: CounterId,
    /// The new value.
    pub level: u64,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct LevelTrace {
    /// All changes by time.
    pub(crate) changes: Vec<LevelChange>,
    /// For each rank, the completion times of its instances.
    pub ends: Vec<Vec<u64>>,
}

/// Runs `instances` instances of these programs, one program for each rank.
///
/// # Errors
/// The programs stop before their end.
pub fn run(programs: &[Program], instances: u64, times: Times) -> Result<LevelTrace, String> {
    let ranks = programs.iter().map(SimulatedRank::new).collect();
    let mut run = LevelSimulation {
        programs,
        instances,
        times,
        ranks,
        random: Random::new(times.seed),
        events: BinaryHeap::new(),
        latest: HashMap::new(),
        count: 0,
        run: LevelTrace { changes: Vec::new(), ends: vec![Vec::new(); programs.len()] },
    };
    for rank in 0..programs.len() as u32 {
        let start = run.random.below(times.skew_ns + 1);
        run.push(start, SimulationEvent::Start(rank));
    }
    run.finish()
}

struct SimulatedRank {
    /// The counters of tank 0, then those of tank 1.
    levels: Vec<u64>,
    instance: Option<Instance>,
    number: u64,
}

impl SimulatedRank {
    fn new(program: &Program) -> Self {
        let counters = usize::from(program.counters()) * usize::from(program.tanks);
        Self { levels: vec![0; counters], instance: None, number: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SimulationEvent {
    Start(u32),
    Add { rank: u32, tank: usize, counter: CounterId, value: u64 },
}

struct LevelSimulation<'a> {
    programs: &'a [Program],
    instances: u64,
    times: Times,
    ranks: Vec<SimulatedRank>,
    random: Random,
    /// By time, then by order of insertion.
    events: BinaryHeap<Reverse<(u64, u64, SimulationEvent)>>,
    count: u64,
    /// The latest arrival for each sender and receiver.
    latest: HashMap<(u32, u32), u64>,
    run: LevelTrace,
}

impl LevelSimulation<'_> {
    fn push(&mut self, time_ns: u64, event: SimulationEvent) {
        self.count += 1;
        self.events.push(Reverse((time_ns, self.count, event)));
    }

    fn finish(mut self) -> Result<LevelTrace, String> {
        while let Some(Reverse((now_ns, _, event))) = self.events.pop() {
            let rank = match event {
                SimulationEvent::Start(rank) => {
                    let program = &self.programs[rank as usize];
                    self.ranks[rank as usize].instance = Some(Instance::new(program));
                    rank
                }
                SimulationEvent::Add { rank, tank, counter, value } => {
                    self.add(now_ns, rank, tank, CounterAdd { counter, value });
                    rank
                }
            };
            self.step(now_ns, rank);
        }
        let is_late = |ends: &Vec<u64>| (ends.len() as u64) < self.instances;
        match self.run.ends.iter().position(is_late) {
            Some(rank) => Err(format!("rank {rank} never completes")),
            None => Ok(self.run),
        }
    }

    /// Executes all work of a rank whose threshold has been reached.
    fn step(&mut self, now_ns: u64, rank: u32) {
        let program = &self.programs[rank as usize];
        while let Some(mut instance) = self.ranks[rank as usize].instance.take() {
            let tank = program.tank(self.ranks[rank as usize].number);
            let first = tank * usize::from(program.counters());
            let levels = &self.ranks[rank as usize].levels;
            let next = instance.next(program, |counter| levels[first + usize::from(counter)]);
            match next {
                Some(index) => {
                    self.ranks[rank as usize].instance = Some(instance);
                    self.work(now_ns, rank, tank, program.work()[index].op);
                }
                None if instance.is_complete(program) => self.end(now_ns, rank),
                None => {
                    self.ranks[rank as usize].instance = Some(instance);
                    return;
                }
            }
        }
    }

    fn end(&mut self, now_ns: u64, rank: u32) {
        self.run.ends[rank as usize].push(now_ns);
        self.ranks[rank as usize].number += 1;
        if self.ranks[rank as usize].number < self.instances {
            let later = self.random.below(self.times.skew_ns + 1);
            self.push(now_ns + later, SimulationEvent::Start(rank));
        }
    }

    fn work(&mut self, now_ns: u64, rank: u32, tank: usize, op: ProgramOp) {
        let takes_ns = |bytes: usize| bytes as u64 * self.times.kilobyte_ns / 1000;
        match op {
            ProgramOp::Put { to, from, signal, done, .. } => {
                let sent_ns = now_ns + takes_ns(from.len);
                self.arrive(sent_ns, (rank, to), tank, signal);
                self.done(sent_ns, rank, tank, done);
            }
            ProgramOp::Signal { to, signal } => self.arrive(now_ns, (rank, to), tank, signal),
            ProgramOp::Copy { from, done, .. } => {
                let copied_ns = now_ns + takes_ns(from.len);
                self.done(copied_ns, rank, tank, done);
            }
            ProgramOp::Combine { from, done, .. } => {
                let combined_ns = now_ns + takes_ns(from.len);
                self.done(combined_ns, rank, tank, done);
            }
            ProgramOp::Host { done, .. } => {
                self.done(now_ns + self.times.host_ns, rank, tank, done)
            }
            ProgramOp::Add(add) => self.add(now_ns, rank, tank, add),
            ProgramOp::Complete => {}
        }
    }

    fn arrive(&mut self, sent_ns: u64, route: (u32, u32), tank: usize, add: CounterAdd) {
        let later = self.times.latency_ns + self.random.below(self.times.jitter_ns + 1);
        let mut at_ns = sent_ns + later;
        if self.times.ordered {
            let latest = self.latest.entry(route).or_default();
            at_ns = at_ns.max(*latest);
            *latest = at_ns;
        }
        self.done(at_ns, route.1, tank, Some(add));
    }

    fn done(&mut self, at_ns: u64, rank: u32, tank: usize, add: Option<CounterAdd>) {
        if let Some(CounterAdd { counter, value }) = add {
            self.push(at_ns, SimulationEvent::Add { rank, tank, counter, value });
        }
    }

    fn add(
        &mut self, time_ns: u64, rank: u32, tank: usize, CounterAdd { counter, value }: CounterAdd,
    ) {
        let counters = usize::from(self.programs[rank as usize].counters());
        let at = tank * counters + usize::from(counter);
        let level = &mut self.ranks[rank as usize].levels[at];
        *level = level.wrapping_add(value);
        self.run.changes.push(LevelChange { time_ns, rank, tank, counter, level: *level });
    }
}

#[cfg(test)]
mod tests {
    use crate::offload::{OPERATIONS, SimulatedCollective};
    use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
    use mpi_abi::offload::Scheme;
    use mpi_abi::offload::compile::link_all;

    use super::*;

    fn run_of(
        operation: CollectiveOperation, ranks: u32, scheme: Scheme, times: Times,
    ) -> LevelTrace {
        let in_place = operation != CollectiveOperation::Exscan;
        let collective = SimulatedCollective {
            operation,
            algorithm: None,
            ranks,
            bytes: 64,
            root: ranks - 1,
            in_place,
            ordered: times.ordered,
        };
        let rules = collective.rules(scheme);
        let run = collective.with_schedules(|_, schedule| {
            let schedules: Vec<_> = (0..ranks).map(schedule).collect();
            run(&link_all(&schedules, &rules)?, 3, times)
        });
        run.unwrap_or_else(|why| panic!("{operation:?} {scheme:?} {ranks} ranks: {why}"))
    }

    #[test]
    fn all_operations_complete_with_empty_tanks() {
        for operation in OPERATIONS {
            for (ranks, seed) in [(1, 1), (2, 2), (5, 3), (8, 4)] {
                for scheme in [Scheme::Tank, Scheme::Prematched] {
                    let times = Times { seed, ordered: seed % 2 == 0, ..Times::default() };
                    let run = run_of(operation, ranks, scheme, times);
                    assert!(run.ends.iter().all(|ends| ends.len() == 3));
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
        let times = Times { skew_ns: 50_000, ..Times::default() };
        for scheme in [Scheme::Tank, Scheme::Tank1, Scheme::Prematched] {
            let run = run_of(CollectiveOperation::Barrier, 8, scheme, times);
            for instance in 1..3 {
                let before = run.ends.iter().map(|ends| ends[instance - 1]).max();
                let after = run.ends.iter().map(|ends| ends[instance]).min();
                assert!(before < after, "{scheme:?}: {:?}", run.ends);
            }
        }
    }
}
