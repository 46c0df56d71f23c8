//! Compiled programs on the interfaces of loopback, whose network keeps no order: each rank starts
//! its program many times, early or late as a seed decides, and some ranks lack resources.

use std::sync::Arc;

use mpi_abi::device::rma::{MemoryKey, RemoteAccess};
use mpi_abi::device::trigger::{
    CounterKey, InstanceState, InterfaceLimits, PeerBinding, ProgramBinding, ProgramKey,
    ReductionKernel, Trigger, TriggerClass,
};
use mpi_abi::device::{Device, Header, PacketSink};
use mpi_abi::devices::loopback::{LIMITS, Loopback};
use mpi_abi::offload::causal_order::CausalOrder;
use mpi_abi::offload::check::check;
use mpi_abi::offload::compile::{Rules, link_all};
use mpi_abi::offload::{Buffer, Program, Region, Schedule, Scheme, StepAction};
use platform::base::{Peer, Random, Span};

use super::collectives::{Collective, EVERY};
use super::is_long;
use super::truth::{Layout, Truth, truth};

/// The content of memory that the application uses between two instances.
const BUSY: u8 = 0xee;

/// Turns without the end of an instance that count as a hang.
const QUIET_TURNS_MAX: u64 = 200_000;

struct Nothing;

impl PacketSink for Nothing {
    fn packet(&mut self, _from: Peer, _header: &Header, _data: &[u8]) {}
}

/// A byte of the caller before an instance.
fn byte(rank: usize, at: usize, instance: u64) -> u8 {
    (Random::new((instance << 20) + (rank << 12) as u64 + at as u64).bits() >> 8) as u8
}

/// The memory of a rank. It does not move while programs use it.
pub struct Memory {
    bytes: Box<[u8]>,
    pub layout: Layout,
}

impl Memory {
    /// Memory that the application uses; never empty.
    pub fn of(layout: &Layout) -> Self {
        let mut bytes = vec![0; layout.len().max(1)];
        bytes[..layout.user_len()].fill(BUSY);
        Self { bytes: bytes.into(), layout: layout.clone() }
    }

    #[allow(unsafe_code)]
    pub fn span(&mut self) -> Span {
        // SAFETY: a box does not move, and outlives the network; the test accesses it through
        // spans only.
        unsafe { Span::of(&mut self.bytes) }
    }

    fn parts(&mut self) -> Vec<(Buffer, Span)> {
        let all = self.span();
        let part = |(buffer, range): (Buffer, std::ops::Range<usize>)| {
            (buffer, all.part(range.start, range.len()))
        };
        self.layout.buffers().map(part).collect()
    }

    /// The bytes of a region.
    pub fn part(&mut self, region: Region) -> Span {
        let place = self.layout.place(region);
        self.span().part(place.start, place.len())
    }

    fn user(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.layout.user_len()];
        self.span().read(0, &mut bytes);
        bytes
    }

    /// Gives the memory of the application at `rank` to an instance.
    pub fn begin(&mut self, rank: usize, instance: u64) {
        let user = self.user();
        assert!(user.iter().all(|&it| it == BUSY), "memory of rank {rank} before {instance}");
        let bytes: Vec<u8> = (0..user.len()).map(|at| byte(rank, at, instance)).collect();
        self.span().write(0, &bytes);
    }

    /// Checks the result of an instance; then the application uses the memory.
    pub fn end(&mut self, truth: &Truth, rank: usize, instance: u64) {
        let user = self.user();
        for ((at, byte_now), origins) in user.iter().enumerate().zip(&truth.result) {
            let due = origins.iter().map(|&(rank, at)| byte(rank, at, instance));
            let due = due.fold(0, u8::wrapping_add);
            assert_eq!(*byte_now, due, "byte {at} of rank {rank} after instance {instance}");
        }
        self.span().write(0, &vec![BUSY; user.len()]);
    }
}

/// A rank with its program.
struct Seat {
    program: ProgramKey,
    schedule: Schedule,
    truth: Truth,
    memory: Memory,
    over: u64,
    is_under_way: bool,
}

impl Seat {
    fn start(&mut self, rank: usize, trigger: &mut dyn Trigger) {
        self.memory.begin(rank, self.over);
        trigger.start(self.program);
        self.is_under_way = true;
    }

    /// Polls the program; true if the instance has completed.
    fn look(&mut self, rank: usize, trigger: &mut dyn Trigger) -> bool {
        match trigger.poll_program(self.program) {
            InstanceState::Waiting => return false,
            InstanceState::HostStep(step) => {
                self.reduce(step);
                trigger.host_done(self.program, step);
                return false;
            }
            InstanceState::Completed(end) => end.unwrap(),
        }
        self.memory.end(&self.truth, rank, self.over);
        self.over += 1;
        self.is_under_way = false;
        true
    }

    fn reduce(&mut self, step: u32) {
        let StepAction::Reduce { from, into } = self.schedule.steps()[step as usize].action else {
            panic!("step {step} is no step of the host");
        };
        let [from, into] = [from, into].map(|region| self.memory.part(region));
        add_bytes(from, into);
    }
}

fn add_bytes(from: Span, into: Span) {
    let (mut one, mut two) = (vec![0; from.len()], vec![0; into.len()]);
    from.read(0, &mut one);
    into.read(0, &mut two);
    two.iter_mut().zip(one).for_each(|(two, one)| *two = two.wrapping_add(one));
    into.write(0, &two);
}

/// Ranks with the programs of one operation.
pub struct System {
    devices: Vec<Loopback>,
    seats: Vec<Seat>,
}

impl System {
    /// Ranks with these programs, on interfaces with these limits.
    pub fn new(
        schedules: &[Schedule], programs: Vec<Program>, seed: u64,
        limits: impl Fn(Peer) -> InterfaceLimits,
    ) -> Self {
        let mut devices = Loopback::offloading(schedules.len(), seed, limits);
        let truth = truth(schedules);
        let mut memory: Vec<Memory> = truth.iter().map(|truth| Memory::of(&truth.layout)).collect();
        let counters: Vec<Vec<CounterKey>> = (devices.iter_mut().zip(&programs))
            .map(|(device, program)| {
                let count = usize::from(program.counters()) * usize::from(program.tanks);
                trigger(device).reserve(count).unwrap()
            })
            .collect();
        let keys: Vec<Vec<(Buffer, MemoryKey)>> = devices
            .iter_mut()
            .zip(&mut memory)
            .map(|(device, memory)| {
                let rma = device.rma().expect("loopback has one-sided access");
                let parts = memory.parts().into_iter();
                parts
                    .map(|(of, span)| (of, rma.register(span, RemoteAccess::ReadWrite).unwrap()))
                    .collect()
            })
            .collect();
        let linked = |rank: usize| PeerBinding {
            rank: rank as u32,
            peer: rank as Peer,
            counters: counters[rank].clone(),
            buffers: keys[rank].clone(),
        };
        let peers: Vec<PeerBinding> = (0..devices.len()).map(linked).collect();
        let mut seats = Vec::new();
        for (rank, (mut memory, program)) in memory.into_iter().zip(programs).enumerate() {
            let loading = ProgramBinding {
                program: Arc::new(program),
                counters: counters[rank].clone(),
                memory: memory.parts(),
                peers: peers.clone(),
                // The interface reduces at every other rank, the test for the others.
                kernel: (rank % 2 == 1).then(|| Arc::new(add_bytes) as ReductionKernel),
            };
            let program = trigger(&mut devices[rank]).load(loading, false);
            let (schedule, truth) = (schedules[rank].clone(), truth[rank].clone());
            seats.push(Seat { program, schedule, truth, memory, over: 0, is_under_way: false });
        }
        Self { devices, seats }
    }

    /// Runs instances in an order that the seed decides. Returns the number of programs that the host
    /// had to run.
    pub fn run(mut self, instances: u64, seed: u64) -> u64 {
        let mut random = Random::new(seed);
        let ranks = self.seats.len() as u64;
        let mut quiet = 0;
        let mut late = 0;
        while self.seats.iter().any(|seat| seat.over < instances) {
            // Sometimes a rank pauses.
            if random.one_in(100) {
                late = random.below(ranks + 1) as usize;
            }
            let rank = random.below(ranks) as usize;
            let (seat, device) = (&mut self.seats[rank], &mut self.devices[rank]);
            if rank != late && seat.is_under_way {
                quiet = if seat.look(rank, trigger(device)) { 0 } else { quiet + 1 };
            } else if rank != late && seat.over < instances {
                seat.start(rank, trigger(device));
            }
            if rank != late && random.one_in(2) {
                device.poll(&mut Nothing);
            }
            assert!(quiet < QUIET_TURNS_MAX, "all ranks wait");
        }
        let fallbacks = self.devices.iter_mut().map(|device| trigger(device).fallbacks());
        fallbacks.sum()
    }
}

fn trigger(device: &mut Loopback) -> &mut dyn Trigger {
    device.trigger().expect("loopback runs programs")
}

/// A resource that one rank may lack.
fn poor(limits: InterfaceLimits, seed: u64) -> InterfaceLimits {
    match seed % 3 {
        0 => InterfaceLimits { counters: 1, ..limits },
        1 => InterfaceLimits { slots: 2, ..limits },
        _ => InterfaceLimits { counters: 0, slots: 1, ..limits },
    }
}

/// Rules for the compiler, with the limits of an interface for them.
fn all_rules() -> [(Rules, InterfaceLimits); 7] {
    let ordered = InterfaceLimits { ordered: true, ..LIMITS };
    let queues = InterfaceLimits { class: TriggerClass::Sessions, counters: 1024, ..ordered };
    let unordered = InterfaceLimits { ordered: false, ..queues };
    [
        (queues.rules(Rules::SAFE), queues),
        (unordered.rules(Rules::SAFE), unordered),
        (Rules::SAFE, LIMITS),
        (Rules { ordered: true, ..Rules::SAFE }, ordered),
        (Rules { bits: 4, merges: false, ..Rules::SAFE }, LIMITS),
        (Rules::of(Scheme::Prematched), LIMITS),
        (Rules::of(Scheme::Tank1), LIMITS),
    ]
}

/// Restarts of an operation by every set of rules. Returns the number of programs that the host had
/// to run.
fn restart(what: Collective, schedules: &[Schedule], instances: u64) -> u64 {
    let ranks = schedules.len() as u32;
    check(schedules).unwrap();
    let mut fallbacks = 0;
    for (number, (rules, limits)) in all_rules().into_iter().enumerate() {
        let seed = u64::from(ranks) << 8 | number as u64;
        let programs = link_all(schedules, &rules).unwrap();
        if rules.scheme == Scheme::Tank1 && CausalOrder::of(&programs).unwrap().one_tank().is_err()
        {
            continue;
        }
        // A failing case prints itself and the seed of its order.
        eprintln!("{what:?} on {ranks} ranks, seed {seed}, {rules:?}");
        let rich = System::new(schedules, programs.clone(), seed, |_| limits);
        assert_eq!(rich.run(instances, seed), 0, "all counters are available");
        let alone = |rank: Peer| {
            let is_poor = rank == (seed >> 3) as Peer % ranks;
            if is_poor { poor(limits, seed) } else { limits }
        };
        let one = System::new(schedules, programs, seed, alone);
        let lacking = one.run(instances, seed);
        assert!(lacking <= 1, "only one rank lacks something");
        fallbacks += lacking;
    }
    fallbacks
}

#[test]
fn programs_restart_on_up_to_nine_ranks() {
    let instances = if is_long() { 1000 } else { 7 };
    let mut fallbacks = 0;
    for ranks in 1..=9 {
        for what in EVERY {
            if let Some(schedules) = what.fitting(ranks) {
                fallbacks += restart(what, &schedules, instances);
            }
        }
    }
    assert!(fallbacks > 100, "{fallbacks} programs were run by the host");
}

#[test]
#[should_panic(expected = "after instance")]
fn unsafe_programs_are_detected() {
    let schedules = Collective::AllgatherInPlace("doubling").schedules(4);
    let one_tank = Rules { parity: false, ..Rules::SAFE };
    for seed in 0..20 {
        let programs = link_all(&schedules, &one_tank).unwrap();
        System::new(&schedules, programs, seed, |_| LIMITS).run(100, seed);
    }
}
