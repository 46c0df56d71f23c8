//! The part of the suite about programs of deferred work, for devices that run them.
//!
//! Most checks run a ring: each rank signals to the rank before it that it is ready to receive, and
//! puts its block into the memory of the rank after it when that rank is ready. There are two rounds:
//! one arrival that adds 3, then two (the block, and the completion of the own put) that add 1 each.
//! For queues in session mode, each round has a counter of its own.

use std::sync::Arc;
use std::thread;

use super::rma::{TestBuffer, poll_all, rma};
use super::{Ignore, TestDeadline, has_fired};
use crate::device::rma::{MemoryKey, RemoteAccess};
use crate::device::trigger::{
    CounterKey, InstanceState, PeerBinding, ProgramBinding, ProgramKey, ReductionKernel, Runner,
    Trigger, TriggerClass,
};
use crate::device::{Device, WakeSource};
use crate::offload::{
    Arithmetic, Buffer, CounterAdd, DeferredWork, Program, ProgramOp, Region, Scheme,
};
use platform::base::{ErrorClass, Peer, Random, Span};

/// Runs it on new networks.
pub(super) fn check<D: Device>(network: &impl Fn(usize) -> Vec<D>) {
    if network(1)[0].trigger().is_none() {
        return;
    }
    counters_are_given_and_taken(network(2));
    for ranks in [1, 2, 3, 5] {
        for (seed, software) in [(1, 0), (2, !0), (3, 1), (4, 0b1010)] {
            rings_turn(network(ranks), 1, 30, 100, software, seed);
        }
    }
    rings_turn(network(3), 10, 10, 1000, 0b1_0000, 5);
    rings_turn(network(2), 2, 5, 0, 0, 6);
    rings_turn(network(2), 1, 3, 300_000, 0, 7);
    software_runs_what_has_no_counters_left(network(2));
    the_host_does_its_steps(network(2));
    for len in [3, 300_000] {
        a_kernel_computes_reductions(network(2), len);
    }
    numbers_are_combined(network(1));
    a_sleeper_is_woken_by_the_end(network(2), 200);
}

fn trigger<D: Device>(device: &mut D) -> &mut dyn Trigger {
    device.trigger().expect("a device keeps its programs")
}

fn counters_are_given_and_taken<D: Device>(mut devices: Vec<D>) {
    let trigger = trigger(&mut devices[0]);
    let one = trigger.reserve(3).unwrap();
    let two = trigger.reserve(3).unwrap();
    let all = |keys: &[CounterKey]| keys.iter().all(|key| *key != CounterKey(0));
    assert!(all(&one) && all(&two) && one.iter().all(|key| !two.contains(key)));
    let error = trigger.reserve(1 << 40).unwrap_err();
    assert_eq!(ErrorClass::from_value(error.code.0), Some(ErrorClass::NoMem));
    trigger.release(&one, &[]);
    trigger.release(&two, &[]);
    for _ in 0..3 {
        let many = trigger.limits().counters as usize;
        let keys = trigger.reserve(many).unwrap();
        assert_eq!(keys.len(), many);
        trigger.release(&keys, &[]);
    }
}

/// Counters of the program of a ring, for both tanks.
fn counters(class: TriggerClass) -> usize {
    match class {
        TriggerClass::Thresholds => 2,
        TriggerClass::Sessions => 4,
    }
}

/// The program of a rank of the ring.
fn ring_program(rank: usize, ranks: usize, block: usize, class: TriggerClass) -> Program {
    let (before, after) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    // The counter of the second round, what the arrival of the first weighs, and all levels.
    let (last, weight, full) = match class {
        TriggerClass::Thresholds => (0, 3, &[5_u64][..]),
        TriggerClass::Sessions => (1, 1, &[1, 2][..]),
    };
    let work = |counter, level, op| DeferredWork { counter, level, op, round: 0 };
    let arrival = CounterAdd { counter: last, value: 1 };
    let put = ProgramOp::Put {
        to: after as u32,
        from: Buffer::User(0).region(0, block),
        into: Buffer::User(1).region(0, block),
        signal: arrival,
        done: Some(arrival),
        engine: None,
    };
    let ready =
        ProgramOp::Signal { to: before as u32, signal: CounterAdd { counter: 0, value: weight } };
    let mut steps = vec![work(0, 0, ready), work(0, weight, put)];
    let end = full[usize::from(last)];
    for (counter, level) in (0..).zip(full) {
        steps.push(work(
            last,
            end,
            ProgramOp::Add(CounterAdd { counter, value: level.wrapping_neg() }),
        ));
    }
    steps.push(work(last, end, ProgramOp::Complete));
    Program::new(Scheme::Tank, 2, full.len() as u16, steps)
}

/// One rank's end of a ring.
struct LoadedRank {
    program: ProgramKey,
    counters: Vec<CounterKey>,
    key: MemoryKey,
    from: TestBuffer,
    into: TestBuffer,
    /// Where blocks arrive instead, on ranks with an odd number.
    place: Option<Span>,
    /// Instances that have completed.
    completed: u64,
    is_active: bool,
}

impl LoadedRank {
    fn fill(&mut self, rank: usize) {
        let byte = (rank as u64 + 3 * self.completed) as u8;
        let len = self.from.span().len();
        self.from.span().write(0, &vec![byte; len]);
    }

    /// Checks the block of the rank before, after the completion of an instance.
    fn check(&mut self, rank: usize, ranks: usize) {
        let before = (rank + ranks - 1) % ranks;
        let byte = (before as u64 + 3 * self.completed) as u8;
        let into = self.place.unwrap_or(self.into.span());
        let mut arrived = vec![0; into.len()];
        into.read(0, &mut arrived);
        assert!(arrived.iter().all(|at| *at == byte), "instance {} of rank {rank}", self.completed);
        // A later instance cannot have written here: its puts come after the next start.
        into.write(0, &vec![!byte; arrived.len()]);
    }
}

/// Loads a ring; with bit `rank` of `software`, that of this rank runs it.
fn load<D: Device>(devices: &mut [D], block: usize, software: u32) -> Vec<LoadedRank> {
    let ranks = devices.len();
    let mut memory: Vec<_> =
        devices.iter().map(|_| (TestBuffer::new(block, 0), TestBuffer::new(block, 0))).collect();
    let class = trigger(&mut devices[0]).limits().class;
    let count = counters(class);
    let counters: Vec<_> =
        devices.iter_mut().map(|device| trigger(device).reserve(count).unwrap()).collect();
    let odd = |(rank, device): (usize, &mut D)| match rank % 2 {
        0 => None,
        _ => trigger(device).take_place(block),
    };
    let places: Vec<Option<Span>> = devices.iter_mut().enumerate().map(odd).collect();
    let mut register = |(rank, (_, into)): (usize, &mut (TestBuffer, TestBuffer))| {
        let memory = places[rank].unwrap_or(into.span());
        rma(&mut devices[rank]).register(memory, RemoteAccess::ReadWrite).unwrap()
    };
    let keys: Vec<_> = memory.iter_mut().enumerate().map(&mut register).collect();
    let mut loaded = Vec::new();
    for (rank, (mut from, mut into)) in memory.into_iter().enumerate() {
        let linked = |peer: usize| PeerBinding {
            rank: peer as u32,
            peer: peer as Peer,
            counters: counters[peer].clone(),
            buffers: vec![(Buffer::User(1), keys[peer])],
        };
        let mut peers = vec![(rank + ranks - 1) % ranks, (rank + 1) % ranks];
        peers.dedup();
        let arrivals = places[rank].unwrap_or(into.span());
        let binding = ProgramBinding {
            program: Arc::new(ring_program(rank, ranks, block, class)),
            counters: counters[rank].clone(),
            memory: vec![(Buffer::User(0), from.span()), (Buffer::User(1), arrivals)],
            peers: peers.into_iter().map(linked).collect(),
            kernel: None,
        };
        let by_software = software >> rank & 1 == 1;
        let program = trigger(&mut devices[rank]).load(binding, by_software);
        if by_software {
            let runner = trigger(&mut devices[rank]).runner(program);
            assert!(matches!(runner, Runner::Software(_)));
        }
        let (counters, key) = (counters[rank].clone(), keys[rank]);
        loaded.push(LoadedRank {
            program,
            counters,
            key,
            from,
            into,
            place: places[rank],
            completed: 0,
            is_active: false,
        });
    }
    loaded
}

fn unload<D: Device>(devices: &mut [D], loaded: Vec<LoadedRank>) {
    for (device, rank_state) in devices.iter_mut().zip(loaded) {
        trigger(device).unload(rank_state.program);
        rma(device).deregister(rank_state.key);
        trigger(device).release(&rank_state.counters, rank_state.place.as_slice());
    }
}

/// Many rings at once, each restarted many times, in any order and with any skew.
fn rings_turn<D: Device>(
    mut devices: Vec<D>, rings: usize, instances: u64, block: usize, software: u32, seed: u64,
) {
    let ranks = devices.len();
    let mut random = Random::new(seed);
    let mut all: Vec<_> = (0..rings).map(|_| load(&mut devices, block, software)).collect();
    let mut deadline = TestDeadline::new();
    let mut left = (rings * ranks) as u64 * instances;
    while left > 0 {
        let number = random.below((rings * ranks) as u64) as usize;
        let (rank, device) = (number % ranks, &mut devices[number % ranks]);
        let rank_state = &mut all[number / ranks][rank];
        if !rank_state.is_active && rank_state.completed < instances {
            rank_state.fill(rank);
            trigger(device).start(rank_state.program);
            rank_state.is_active = true;
        } else if rank_state.is_active {
            match trigger(device).poll_program(rank_state.program) {
                InstanceState::Waiting => deadline.wait(),
                InstanceState::HostStep(step) => {
                    panic!("unexpected step {step} for the host")
                }
                InstanceState::Completed(end) => {
                    end.unwrap();
                    rank_state.check(rank, ranks);
                    rank_state.completed += 1;
                    rank_state.is_active = false;
                    left -= 1;
                    deadline = TestDeadline::new();
                }
            }
        }
        if random.one_in(2) {
            let polled = random.below(ranks as u64) as usize;
            devices[polled].poll(&mut Ignore);
        }
    }
    all.into_iter().for_each(|loaded| unload(&mut devices, loaded));
}

/// Waits for the completion of all instances.
fn finish<D: Device>(devices: &mut [D], loaded: &mut [LoadedRank]) {
    let ranks = loaded.len();
    for (rank, rank_state) in loaded.iter_mut().enumerate() {
        let deadline = TestDeadline::new();
        while !matches!(
            trigger(&mut devices[rank]).poll_program(rank_state.program),
            InstanceState::Completed(Ok(()))
        ) {
            poll_all(devices);
            deadline.wait();
        }
        rank_state.check(rank, ranks);
        rank_state.completed += 1;
    }
}

fn software_runs_what_has_no_counters_left<D: Device>(mut devices: Vec<D>) {
    let limits = trigger(&mut devices[0]).limits();
    let spare = limits.counters as usize - 2 * counters(limits.class) - 1;
    let taken = trigger(&mut devices[0]).reserve(spare).unwrap();
    let mut all: Vec<_> = (0..4).map(|_| load(&mut devices, 10, 0)).collect();
    let runners: Vec<_> =
        all.iter().map(|loaded| trigger(&mut devices[0]).runner(loaded[0].program)).collect();
    assert_eq!(runners[..2], [Runner::Interface; 2]);
    assert!(runners[2..].iter().all(|runner| matches!(runner, Runner::Software(_))), "{runners:?}");
    assert_eq!(trigger(&mut devices[0]).fallbacks(), 2);
    assert_eq!(trigger(&mut devices[1]).fallbacks(), 0);
    for _ in 0..5 {
        for loaded in &mut all {
            for (rank, rank_state) in loaded.iter_mut().enumerate() {
                rank_state.fill(rank);
                trigger(&mut devices[rank]).start(rank_state.program);
            }
        }
        all.iter_mut().for_each(|loaded| finish(&mut devices, loaded));
    }
    all.into_iter().for_each(|loaded| unload(&mut devices, loaded));
    trigger(&mut devices[0]).release(&taken, &[]);
    let again = load(&mut devices, 10, 0);
    assert_eq!(trigger(&mut devices[0]).runner(again[0].program), Runner::Interface);
    unload(&mut devices, again);
}

/// Loads a program of one rank, on two buffers.
fn alone<D: Device>(
    device: &mut D, work: Vec<DeferredWork>, memory: &mut [TestBuffer; 2],
    kernel: Option<ReductionKernel>,
) -> ProgramKey {
    let program = Program::new(Scheme::Tank, 2, 1, work);
    let counters = trigger(device).reserve(2).unwrap();
    let [one, two] = memory;
    let memory = vec![(Buffer::User(0), one.span()), (Buffer::Scratch(0), two.span())];
    let binding =
        ProgramBinding { program: Arc::new(program), counters, memory, peers: Vec::new(), kernel };
    trigger(device).load(binding, false)
}

fn the_host_does_its_steps<D: Device>(mut devices: Vec<D>) {
    let done = |value| Some(CounterAdd { counter: 0, value });
    let work = |level, op| DeferredWork { counter: 0, level, op, round: 0 };
    let region = |buffer: Buffer| -> Region { buffer.region(0, 16) };
    let (from, into) = (region(Buffer::User(0)), region(Buffer::Scratch(0)));
    let steps = vec![
        work(0, ProgramOp::Host { step: 7, from, into, done: done(1) }),
        work(1, ProgramOp::Copy { from, into, done: done(1) }),
        work(2, ProgramOp::Host { step: 9, from, into, done: done(1) }),
        work(2, ProgramOp::Host { step: 8, from, into, done: done(1) }),
        work(4, ProgramOp::Add(CounterAdd { counter: 0, value: 4_u64.wrapping_neg() })),
        work(4, ProgramOp::Complete),
    ];
    let mut memory = [TestBuffer::new(16, 1), TestBuffer::new(16, 2)];
    let program = alone(&mut devices[0], steps, &mut memory, None);
    for instance in 0..4 {
        memory[0].span().write(0, &[instance; 16]);
        trigger(&mut devices[0]).start(program);
        let (mut steps_run, deadline) = (Vec::new(), TestDeadline::new());
        loop {
            match trigger(&mut devices[0]).poll_program(program) {
                InstanceState::HostStep(step) => {
                    steps_run.push(step);
                    poll_all(&mut devices);
                    trigger(&mut devices[0]).host_done(program, step);
                }
                InstanceState::Waiting => {
                    poll_all(&mut devices);
                    deadline.wait();
                }
                InstanceState::Completed(end) => break end.unwrap(),
            }
        }
        steps_run.sort_unstable();
        assert_eq!((steps_run, memory[1].bytes()), (vec![7, 8, 9], vec![instance; 16]));
    }
    trigger(&mut devices[0]).unload(program);
}

fn a_kernel_computes_reductions<D: Device>(mut devices: Vec<D>, len: usize) {
    let work = |level, op| DeferredWork { counter: 0, level, op, round: 0 };
    let (from, into) = (Buffer::User(0).region(0, len), Buffer::Scratch(0).region(0, len));
    let done = Some(CounterAdd { counter: 0, value: 1 });
    let steps = vec![
        work(0, ProgramOp::Host { step: 7, from, into, done }),
        work(1, ProgramOp::Host { step: 9, from, into, done }),
        work(2, ProgramOp::Add(CounterAdd { counter: 0, value: 2_u64.wrapping_neg() })),
        work(2, ProgramOp::Complete),
    ];
    let mut memory = [TestBuffer::new(len, 1), TestBuffer::new(len, 0)];
    let kernel: ReductionKernel = Arc::new(|from, into| {
        let mut bytes = [vec![0; from.len()], vec![0; into.len()]];
        from.read(0, &mut bytes[0]);
        into.read(0, &mut bytes[1]);
        let [from, sum] = &mut bytes;
        sum.iter_mut().zip(from).for_each(|(sum, from)| *sum += *from);
        into.write(0, sum);
    });
    let program = alone(&mut devices[0], steps, &mut memory, Some(kernel));
    for instance in 1..=4 {
        trigger(&mut devices[0]).start(program);
        let deadline = TestDeadline::new();
        loop {
            match trigger(&mut devices[0]).poll_program(program) {
                InstanceState::Completed(end) => break end.unwrap(),
                InstanceState::Waiting => {
                    poll_all(&mut devices);
                    deadline.wait();
                }
                InstanceState::HostStep(step) => panic!("step {step} has a kernel"),
            }
        }
        assert_eq!(memory[1].bytes(), vec![2 * instance; len]);
    }
    trigger(&mut devices[0]).unload(program);
}

fn numbers_are_combined<D: Device>(mut devices: Vec<D>) {
    let count = usize::from(trigger(&mut devices[0]).limits().arithmetic);
    if count == 0 {
        return;
    }
    let len = 8 * count;
    let done = Some(CounterAdd { counter: 0, value: 1 });
    for (with, expected) in [
        (Arithmetic::Sum, -2_i64 as u64),
        (Arithmetic::Max, 3),
        (Arithmetic::Min, -5_i64 as u64),
        (Arithmetic::MaxUnsigned, -5_i64 as u64),
        (Arithmetic::MinUnsigned, 3),
        (Arithmetic::And, 3),
        (Arithmetic::Or, -5_i64 as u64),
        (Arithmetic::Xor, -5_i64 as u64 ^ 3),
    ] {
        let (from, into) = (Buffer::User(0).region(0, len), Buffer::Scratch(0).region(0, len));
        let work = |level, op| DeferredWork { counter: 0, level, op, round: 0 };
        let combine = ProgramOp::Combine { from, into, with, done };
        let reset = ProgramOp::Add(CounterAdd { counter: 0, value: 1_u64.wrapping_neg() });
        let steps = vec![work(0, combine), work(1, reset), work(1, ProgramOp::Complete)];
        let mut memory = [TestBuffer::new(len, 0), TestBuffer::new(len, 0)];
        let program = alone(&mut devices[0], steps, &mut memory, None);
        assert_eq!(trigger(&mut devices[0]).runner(program), Runner::Interface);
        memory[0].span().write(0, &(-5_i64).to_ne_bytes().repeat(count));
        memory[1].span().write(0, &3_i64.to_ne_bytes().repeat(count));
        trigger(&mut devices[0]).start(program);
        let deadline = TestDeadline::new();
        while !matches!(
            trigger(&mut devices[0]).poll_program(program),
            InstanceState::Completed(Ok(()))
        ) {
            poll_all(&mut devices);
            deadline.wait();
        }
        assert_eq!(memory[1].bytes(), expected.to_ne_bytes().repeat(count), "{with:?}");
        trigger(&mut devices[0]).unload(program);
    }
}

fn a_sleeper_is_woken_by_the_end<D: Device>(mut devices: Vec<D>, instances: u64) {
    for software in [0, 0b01, 0b11] {
        let loaded = load(&mut devices, 100, software);
        let ranks = loaded.len();
        let both = devices.iter_mut().zip(loaded).enumerate();
        let back: Vec<_> = thread::scope(|scope| {
            let turn = |(rank, (device, mut rank_state)): (usize, (&mut D, LoadedRank))| {
                for _ in 0..instances {
                    rank_state.fill(rank);
                    trigger(device).start(rank_state.program);
                    sleep_until_over(device, rank_state.program);
                    rank_state.check(rank, ranks);
                    rank_state.completed += 1;
                }
                rank_state
            };
            let threads: Vec<_> = both.map(|rank| scope.spawn(move || turn(rank))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // A rank that has completed all instances does not poll any more.
        unload(&mut devices, back);
    }
}

/// Waits for the completion as the library does: `arm`, a poll, a look at the program, sleep.
fn sleep_until_over<D: Device>(device: &mut D, program: ProgramKey) {
    let deadline = TestDeadline::new();
    loop {
        let wake = device.arm();
        device.poll(&mut Ignore);
        let over =
            matches!(trigger(device).poll_program(program), InstanceState::Completed(Ok(())));
        if !over && !matches!(wake, WakeSource::Never) {
            let slept = TestDeadline::new();
            while !has_fired(&wake) {
                slept.wait();
            }
        }
        device.disarm();
        if over {
            return;
        }
        deadline.wait();
    }
}
