//! Runs the compiled programs of all ranks on a network without delivery order: every rank starts
//! several instances, and the result of each must be that of the schedules.
//!
//! A seed draws the next event. The bytes of a put are read some time before its completion,
//! written after that, and counted later. If programs were compiled for ordered puts through one
//! engine, these puts stay in order.

use std::collections::{HashMap, VecDeque};

use mpi_abi::mpi::collective::algorithms::allgather;
use mpi_abi::mpi::collective::algorithms::{Shape, UniformBlocks};
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::offload::causal_order::CausalOrder;
use mpi_abi::offload::compile::{Rules, link_all, link_one};
use mpi_abi::offload::{
    Buffer, CounterAdd, Instance, Program, ProgramOp, Region, Schedule, Scheme, StepAction, Wait,
};
use platform::base::Random;

use super::by::each;
use super::symbolic::{Algebra, Byte, Machine, Rank};

/// Number of starts of each rank.
const INSTANCES: u64 = 3;

/// Up to this number of ranks, the safety of each program is proved.
const FEW_RANKS: usize = 5;

/// Up to this number of ranks, all rules are tried.
const ALL_RULES_RANKS: usize = 8;

/// Bits of the instance in the index of a leaf.
const INSTANCE_SHIFT: u32 = 24;

/// The user buffers of all ranks.
type Buffers = Vec<Vec<Vec<Byte>>>;

/// Runs the programs compiled by all rules, and compares the result of each instance with that of
/// the schedules on the same buffers.
pub fn compare(
    name: &str, schedules: &[Schedule], before: &Buffers, element: usize, algebra: &mut Algebra,
) {
    let due: Vec<Buffers> = (0..INSTANCES)
        .map(|number| {
            let buffers = tagged(before, number);
            let ranks = schedules.iter().zip(buffers);
            let ranks =
                ranks.map(|(schedule, user)| Rank::new(schedule.clone(), user, algebra)).collect();
            Machine::new(algebra, ranks, element, number).run()
        })
        .collect();
    let mut rules = rules().to_vec();
    if schedules.len() > ALL_RULES_RANKS {
        // Each of the rules at some of the sizes.
        rules = vec![rules[schedules.len() % 3]];
    }
    for (seed, rules) in rules.iter().enumerate() {
        let programs = match link_all(schedules, rules) {
            Ok(programs) => programs,
            Err(why) => {
                assert!(is_refused(schedules), "{name}: {why}");
                return;
            }
        };
        if !is_proved(name, &programs, rules) {
            continue;
        }
        let network = Network::new(schedules, programs, before, algebra, seed as u64);
        let ended = network.run(&format!("{name}, seed {seed}, {rules:?}"));
        for (number, due) in due.iter().enumerate() {
            assert!(ended[number] == *due, "{name}, seed {seed}, {rules:?}: instance {number}");
        }
    }
}

/// The rules to try.
fn rules() -> [Rules; 4] {
    [
        Rules { ordered: true, ..Rules::SAFE },
        Rules { bits: 3, ..Rules::SAFE },
        Rules { ordered: true, ..Rules::of(Scheme::Prematched) },
        Rules::of(Scheme::Tank1),
    ]
}

/// Whether programs may be restarted: two tanks must be enough for all programs, one tank is
/// enough for some. Checked for few ranks only; one tank is tried with these programs only.
fn is_proved(name: &str, programs: &[Program], rules: &Rules) -> bool {
    let few = programs.len() <= FEW_RANKS;
    if !few {
        return rules.parity;
    }
    let order = CausalOrder::of(programs).unwrap_or_else(|why| panic!("{name}, {rules:?}: {why}"));
    match rules.parity {
        true => order.two_tanks().map_err(|why| panic!("{name}, {rules:?}: {why}")).is_ok(),
        false => order.one_tank().is_ok(),
    }
}

/// Whether some of the schedules cannot run on counters.
fn is_refused(schedules: &[Schedule]) -> bool {
    let mut steps = schedules.iter().flat_map(|schedule| schedule.steps());
    steps.any(|step| step.detached || step.wait == Wait::Any)
}

#[test]
fn barriers_hold_instance_after_instance() {
    each(&registry::BARRIER, 1, |by| {
        let ranks = by.shape.ranks;
        if ranks > super::PROGRAM_RANKS {
            return;
        }
        let schedules: Vec<Schedule> = (0..ranks).map(|rank| by.part(rank, ())).collect();
        let before = vec![Vec::new(); ranks as usize];
        let mut rules = rules().to_vec();
        rules.extend(self::rules().map(|rules| Rules { synchronizes: true, ..rules }));
        for (seed, rules) in rules.iter().enumerate() {
            let programs = link_all(&schedules, rules).unwrap();
            let is_proved = is_proved(&by.name, &programs, rules);
            // One tank is safe for ranks that only receive notifications of entry.
            assert!(
                is_proved || !rules.synchronizes || ranks as usize > FEW_RANKS,
                "{}, {rules:?}",
                by.name
            );
            if is_proved || rules.synchronizes {
                let mut algebra = Algebra::default();
                let mut network =
                    Network::new(&schedules, programs, &before, &mut algebra, seed as u64);
                network.synchronizes = true;
                network.run(&format!("{}, {ranks} ranks, {rules:?}", by.name));
            }
        }
    });
}

#[test]
fn one_rank_is_linked_as_all_are() {
    for ranks in 1..=17 {
        let shape = Shape { ranks };
        let args = UniformBlocks { block: 8, in_place: false };
        let part = |rank| allgather::doubling::schedule(shape, rank, args);
        let schedules: Vec<Schedule> = (0..ranks).map(part).collect();
        for rules in rules() {
            let all = link_all(&schedules, &rules).unwrap();
            for (rank, program) in (0..).zip(&all) {
                assert_eq!(link_one(part, rank, &rules).as_ref(), Ok(program));
            }
        }
    }
}

/// The initial buffers of an instance: contributed bytes carry the number of the instance.
fn tagged(before: &Buffers, number: u64) -> Buffers {
    let tag = |byte: &Byte| byte | number << INSTANCE_SHIFT;
    let buffer = |buffer: &Vec<Byte>| buffer.iter().map(tag).collect();
    before.iter().map(|buffers| buffers.iter().map(buffer).collect()).collect()
}

/// One rank: its program, counters and memory.
struct Node<'a> {
    schedule: &'a Schedule,
    program: Program,
    /// The running instance and its number.
    instance: Option<(u64, Instance)>,
    /// The counters of each tank.
    levels: Vec<Vec<u64>>,
    started: u64,
    user: Vec<Vec<Byte>>,
    scratch: Vec<Vec<Byte>>,
}

impl Node<'_> {
    fn bytes(&mut self, region: Region) -> &mut [Byte] {
        let buffer = match region.buffer {
            Buffer::None => return &mut [],
            Buffer::User(index) => &mut self.user[index as usize],
            Buffer::Scratch(index) => &mut self.scratch[index as usize],
            Buffer::First => unreachable!("programs read what they name"),
        };
        &mut buffer[region.start..region.end()]
    }
}

/// A put of instance `number`, started by `source`.
#[derive(Clone, Copy)]
struct Put {
    source: u32,
    to: u32,
    from: Region,
    into: Region,
    signal: CounterAdd,
    done: Option<CounterAdd>,
    number: u64,
}

enum Event {
    Start(u32),
    Read(Put),
    Write(Put, Vec<Byte>),
    Add {
        to: u32,
        add: CounterAdd,
        number: u64,
    },
    /// Arrival of the oldest put of one engine to one rank.
    Next((u32, u32, u8)),
    /// A copy, or a step of the host.
    Local {
        rank: u32,
        action: StepAction,
        done: Option<CounterAdd>,
        number: u64,
    },
}

struct Network<'a> {
    nodes: Vec<Node<'a>>,
    before: &'a Buffers,
    ended: Vec<Buffers>,
    events: Vec<Event>,
    lines: HashMap<(u32, u32, u8), VecDeque<Put>>,
    algebra: &'a mut Algebra,
    random: Random,
    /// No rank completes before all have started.
    synchronizes: bool,
}

impl<'a> Network<'a> {
    fn new(
        schedules: &'a [Schedule], programs: Vec<Program>, before: &'a Buffers,
        algebra: &'a mut Algebra, seed: u64,
    ) -> Self {
        let node = |(schedule, program): (&'a Schedule, Program)| Node {
            levels: vec![vec![0; program.counters().into()]; program.tanks.into()],
            scratch: schedule.scratch().iter().map(|&len| algebra.junk(len)).collect(),
            user: Vec::new(),
            instance: None,
            started: 0,
            schedule,
            program,
        };
        Self {
            events: (0..schedules.len() as u32).map(Event::Start).collect(),
            nodes: schedules.iter().zip(programs).map(node).collect(),
            ended: vec![vec![Vec::new(); schedules.len()]; INSTANCES as usize],
            before,
            lines: HashMap::new(),
            algebra,
            random: Random::new(seed),
            synchronizes: false,
        }
    }

    /// The user buffers of all ranks at the end of each instance.
    fn run(mut self, name: &str) -> Vec<Buffers> {
        while !self.events.is_empty() {
            let next = self.random.below(self.events.len() as u64) as usize;
            match self.events.swap_remove(next) {
                Event::Start(rank) => self.start(rank),
                Event::Read(put) => self.read(put),
                Event::Write(put, bytes) => self.write(put, &bytes),
                Event::Add { to, add, number } => self.add(to, add, number),
                Event::Next(line) => {
                    let put = self.lines.get_mut(&line).unwrap().pop_front().unwrap();
                    let bytes = self.nodes[put.source as usize].bytes(put.from).to_vec();
                    self.nodes[put.to as usize].bytes(put.into).copy_from_slice(&bytes);
                    self.done(put.source, put.done, put.number);
                    self.add(put.to, put.signal, put.number);
                }
                Event::Local { rank, action, done, number } => {
                    self.local(rank, action);
                    self.done(rank, done, number);
                }
            }
        }
        for (rank, node) in self.nodes.iter().enumerate() {
            let is_over = node.instance.is_none() && node.started == INSTANCES;
            assert!(is_over, "{name}: rank {rank} hangs in {:?}", node.instance);
            assert!(node.levels.iter().flatten().all(|&level| level == 0), "{name}: rank {rank}");
        }
        self.ended
    }

    fn start(&mut self, rank: u32) {
        let node = &mut self.nodes[rank as usize];
        let number = node.started;
        node.started += 1;
        node.user = tagged(&vec![self.before[rank as usize].clone()], number).remove(0);
        node.instance = Some((number, Instance::new(&node.program)));
        self.proceed(rank);
    }

    fn proceed(&mut self, rank: u32) {
        loop {
            let node = &mut self.nodes[rank as usize];
            let Some((number, instance)) = &mut node.instance else { return };
            let (number, tank) = (*number, node.program.tank(*number));
            let levels = &node.levels[tank];
            let Some(work) = instance.next(&node.program, |counter| levels[counter as usize])
            else {
                return;
            };
            self.work(rank, number, work);
        }
    }

    fn work(&mut self, rank: u32, number: u64, work: usize) {
        let node = &mut self.nodes[rank as usize];
        match node.program.work()[work].op {
            ProgramOp::Put { to, from, into, signal, done, engine } => {
                let put = Put { source: rank, to, from, into, signal, done, number };
                let Some(engine) = engine else { return self.events.push(Event::Read(put)) };
                let line = (rank, to, engine);
                self.lines.entry(line).or_default().push_back(put);
                self.events.push(Event::Next(line));
            }
            ProgramOp::Signal { to, signal } => {
                self.events.push(Event::Add { to, add: signal, number });
            }
            ProgramOp::Copy { from, into, done } => {
                let action = StepAction::Copy { from, to: into };
                self.events.push(Event::Local { rank, action, done, number });
            }
            ProgramOp::Combine { .. } => unreachable!("gates are put in afterwards"),
            ProgramOp::Host { step, done, .. } => {
                let action = node.schedule.steps()[step as usize].action;
                self.events.push(Event::Local { rank, action, done, number });
            }
            ProgramOp::Add(CounterAdd { counter, value }) => {
                let tank = node.program.tank(number);
                let level = &mut node.levels[tank][counter as usize];
                *level = level.wrapping_add(value);
            }
            ProgramOp::Complete => {
                let (_, instance) = node.instance.take().unwrap();
                assert!(instance.is_complete(&node.program), "work is left at the end");
                self.ended[number as usize][rank as usize] = node.user.clone();
                let is_through = self.nodes.iter().all(|node| node.started > number);
                assert!(is_through || !self.synchronizes, "rank {rank} is through too early");
                if number + 1 < INSTANCES {
                    self.events.push(Event::Start(rank));
                }
            }
        }
    }

    fn read(&mut self, put: Put) {
        let bytes = self.nodes[put.source as usize].bytes(put.from).to_vec();
        self.done(put.source, put.done, put.number);
        self.events.push(Event::Write(put, bytes));
    }

    fn write(&mut self, put: Put, bytes: &[Byte]) {
        self.nodes[put.to as usize].bytes(put.into).copy_from_slice(bytes);
        self.events.push(Event::Add { to: put.to, add: put.signal, number: put.number });
    }

    fn local(&mut self, rank: u32, action: StepAction) {
        let node = &mut self.nodes[rank as usize];
        match action {
            StepAction::Copy { from, to } => {
                let bytes = node.bytes(from).to_vec();
                node.bytes(to).copy_from_slice(&bytes);
            }
            StepAction::Reduce { from, into } => {
                let left = node.bytes(from).to_vec();
                for (left, right) in left.into_iter().zip(node.bytes(into)) {
                    *right = self.algebra.pair(left, *right);
                }
            }
            StepAction::Send { .. } | StepAction::Receive { .. } => {
                unreachable!("not a local step")
            }
        }
    }

    /// Performs the addition, if any, some time later.
    fn done(&mut self, to: u32, done: Option<CounterAdd>, number: u64) {
        self.events.extend(done.map(|add| Event::Add { to, add, number }));
    }

    fn add(&mut self, to: u32, add: CounterAdd, number: u64) {
        let node = &mut self.nodes[to as usize];
        let tank = node.program.tank(number);
        let level = &mut node.levels[tank][add.counter as usize];
        *level = level.wrapping_add(add.value);
        self.proceed(to);
    }
}
