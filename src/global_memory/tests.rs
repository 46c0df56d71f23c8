//! Ranks in one process over the test device, whose network keeps no order: a seed decides what happens
//! when.

use std::collections::VecDeque;
use std::sync::Arc;

use super::access::{AccessOrder, GlobalAccess, GlobalPlace};
use super::address::{AddressLayout, GlobalAddress, HEAP, STARTER};
use super::executor::AccessPolicy;
use super::front::SystemLayout;
use super::peers::SystemKeys;
use super::{GlobalMemory, GlobalParts, SystemMemory};
use crate::device::rma::{NumberKind, Update};
use crate::device::trigger::InterfaceLimits;
use crate::devices::loopback::Loopback;
use crate::engine::Engine;
use crate::engine::channel::MessageChannel;
use crate::engine::memory::OwnedBytes;
use crate::engine::schedules::plan::Members;
use platform::base::{ErrorClass, Peer, Random, Result, Span};

const STARTER_BYTES: usize = 1000;
const HEAP_BYTES: usize = 500;

/// The ranks of the world.
struct World;

impl Members for World {
    fn peer(&self, rank: u32) -> Peer {
        rank
    }
}

struct TestRank {
    engine: Engine<Loopback>,
    global: GlobalMemory,
    system: Span,
}

struct TestRanks(Vec<TestRank>);

impl TestRanks {
    fn over(devices: Vec<Loopback>, policy: AccessPolicy) -> Self {
        let size = devices.len();
        let layout = AddressLayout::new(size as u32, 2);
        let layout_of_system = SystemLayout::new([STARTER_BYTES, HEAP_BYTES]).unwrap();
        let bytes = layout_of_system.bytes();
        let mut engines: Vec<_> =
            (0..).zip(devices).map(|(me, device)| Engine::new(device, me, size)).collect();
        let systems: Vec<_> = engines
            .iter_mut()
            .map(|engine| SystemMemory::allocate(engine, bytes, layout).unwrap())
            .collect();
        let keys: Box<[SystemKeys]> = systems.iter().map(SystemMemory::keys).collect();
        let ranks =
            engines.into_iter().zip(systems).enumerate().map(|(me, (mut engine, system))| {
                let channel = MessageChannel::new(77, Arc::new(World), me as u32);
                let (memory, keys) = (system.memory, keys.clone());
                let needs_progress = true;
                let parts = GlobalParts {
                    layout,
                    layout_of_system,
                    channel,
                    system,
                    keys,
                    policy,
                    needs_progress,
                };
                let mut global = GlobalMemory::default();
                global.begin(&mut engine, parts);
                TestRank { engine, global, system: memory }
            });
        Self(ranks.collect())
    }

    fn new(size: usize, seed: u64) -> Self {
        let limits = |_| crate::devices::loopback::LIMITS;
        Self::over(Loopback::offloading(size, seed, limits), AccessPolicy::default())
    }

    fn poll(&mut self, rank: usize) {
        let TestRank { engine, global, .. } = &mut self.0[rank];
        engine.poll();
        while let Some(context) = engine.watched_contexts().take() {
            assert!(global.notify(context));
        }
        global.poll(engine);
    }

    fn submit(&mut self, rank: usize, access: GlobalAccess, order: AccessOrder) -> Result<u64> {
        let TestRank { engine, global, .. } = &mut self.0[rank];
        global.active()?.submit(engine, access, order)
    }

    /// Polls all until an access of `rank` has completed; callers ask only while the front is busy.
    fn complete(&mut self, rank: usize, number: u64) -> Result {
        for _ in 0..100_000 {
            let active = self.0[rank].global.active()?;
            let is_busy = active.front.is_busy();
            let is_complete = active.queue.has_completed(number);
            assert!(is_busy || is_complete, "access {number} of rank {rank}");
            if !is_busy || active.has_completed(number)? {
                return Ok(());
            }
            (0..self.0.len()).for_each(|rank| self.poll(rank));
        }
        panic!("access {number} of rank {rank} does not complete");
    }

    fn run(&mut self, rank: usize, access: GlobalAccess) -> Result {
        let number = self.submit(rank, access, AccessOrder::Unordered)?;
        self.complete(rank, number)
    }

    fn register(&mut self, rank: usize, memory: &OwnedBytes, colour: u32) -> GlobalAddress {
        let TestRank { engine, global, .. } = &mut self.0[rank];
        global.active().unwrap().register(engine, memory.span(), colour).unwrap()
    }

    fn starter(&mut self, rank: usize) -> GlobalAddress {
        let layout = self.0[rank].global.active().unwrap().front.layout();
        layout.system(rank as u32, STARTER)
    }
}

fn copy(to: GlobalAddress, from: GlobalAddress, len: usize) -> GlobalAccess {
    GlobalAccess::Copy { to: GlobalPlace::Global(to), from: GlobalPlace::Global(from), len }
}

fn bytes_of(span: Span) -> Vec<u8> {
    let mut bytes = vec![0; span.len()];
    span.read(0, &mut bytes);
    bytes
}

/// The memory of every rank as a test sees it: its system memory, and two registered regions.
struct Memories {
    ranks: Vec<Vec<(GlobalAddress, Span)>>,
    _regions: Vec<OwnedBytes>,
}

impl Memories {
    const REGION: usize = 300;

    fn new(ranks: &mut TestRanks) -> Self {
        let mut regions = Vec::new();
        let memory = |(rank, ranks): (usize, &mut TestRanks)| {
            let mut found = vec![(ranks.starter(rank), ranks.0[rank].system.part(0, Self::REGION))];
            for colour in 0..2 {
                let region = OwnedBytes::zeroed(Self::REGION);
                found.push((ranks.register(rank, &region, colour), region.span()));
                regions.push(region);
            }
            found
        };
        let mut memory = memory;
        let found = (0..ranks.0.len()).map(|rank| memory((rank, &mut *ranks))).collect();
        Self { ranks: found, _regions: regions }
    }
}

/// An access of a random plan: (rank, region, offset) of both ends, and its length.
#[derive(Clone, Copy, Debug)]
struct PlannedCopy {
    to: (usize, usize, usize),
    from: (usize, usize, usize),
    len: usize,
}

impl PlannedCopy {
    /// In the part of each region that belongs to rank `me` of `size`.
    fn random(random: &mut Random, me: usize, size: usize) -> Self {
        let part = Memories::REGION / size;
        let len = 1 + random.below(part as u64 / 2) as usize;
        let mut end = || {
            let offset = me * part + random.below((part - len) as u64 + 1) as usize;
            (random.below(size as u64) as usize, random.below(3) as usize, offset)
        };
        Self { to: end(), from: end(), len }
    }

    /// Whether the order of the two matters for memory of rank `me`, which keeps no order by itself.
    fn conflicts_at(self, other: Self, me: usize) -> bool {
        let overlap = |one: (usize, usize, usize), two: (usize, usize, usize)| {
            (one.0, one.1) == (two.0, two.1)
                && one.2 < two.2 + other.len
                && two.2 < one.2 + self.len
                && one.0 == me
        };
        overlap(self.to, other.to) || overlap(self.to, other.from) || overlap(self.from, other.to)
    }
}

/// Every rank copies between all ranks, in its own part of each region. Its accesses that conflict have an
/// order, or they conflict in memory of another rank, which keeps the order of their starts.
fn random_plan(size: usize, seed: u64, policy: AccessPolicy, devices: Vec<Loopback>) {
    const COPIES: usize = 40;
    let mut ranks = TestRanks::over(devices, policy);
    let memories = Memories::new(&mut ranks);
    let mut random = Random::new(seed);
    let mut model: Vec<Vec<Vec<u8>>> = Vec::new();
    for memory in &memories.ranks {
        let fill = |(_, span): &(GlobalAddress, Span)| {
            let bytes: Vec<u8> = (0..span.len()).map(|_| random.bits() as u8).collect();
            span.write(0, &bytes);
            bytes
        };
        model.push(memory.iter().map(fill).collect());
    }
    let mut plans: Vec<VecDeque<PlannedCopy>> = (0..size)
        .map(|me| (0..COPIES).map(|_| PlannedCopy::random(&mut random, me, size)).collect())
        .collect();
    let mut started: Vec<Vec<(u64, PlannedCopy)>> = vec![Vec::new(); size];
    while plans.iter().any(|plan| !plan.is_empty()) {
        let me = random.below(size as u64) as usize;
        if random.one_in(2)
            && let Some(planned) = plans[me].pop_front()
        {
            let mut before = started[me].iter().rev();
            let last = before.find(|(_, other)| planned.conflicts_at(*other, me));
            let order = match last {
                _ if random.one_in(8) => AccessOrder::AfterAll,
                Some((number, _)) => AccessOrder::After(*number),
                None => AccessOrder::Unordered,
            };
            let address = |(rank, region, offset): (usize, usize, usize)| {
                memories.ranks[rank][region].0.plus(offset as u64)
            };
            let access = copy(address(planned.to), address(planned.from), planned.len);
            let number = ranks.submit(me, access, order).unwrap();
            started[me].push((number, planned));
            let bytes =
                model[planned.from.0][planned.from.1][planned.from.2..][..planned.len].to_vec();
            model[planned.to.0][planned.to.1][planned.to.2..][..planned.len]
                .copy_from_slice(&bytes);
        }
        ranks.poll(random.below(size as u64) as usize);
    }
    for (me, started) in started.iter().enumerate() {
        ranks.complete(me, started.last().map_or(0, |last| last.0)).unwrap();
    }
    for (memory, model) in memories.ranks.iter().zip(&model) {
        for ((_, span), expected) in memory.iter().zip(model) {
            assert_eq!(bytes_of(*span), *expected, "{size} ranks, seed {seed}");
        }
    }
}

#[test]
fn random_copies_between_all_ranks_agree_with_a_model() {
    let limits = crate::devices::loopback::LIMITS;
    for seed in 0..60 {
        let size = 1 + seed as usize % 4;
        // Few slots: some orders are kept by the interface, others by polls.
        let slots = [limits.slots, 2, 0][seed as usize % 3];
        let devices = Loopback::offloading(size, seed, |_| InterfaceLimits { slots, ..limits });
        let policy = AccessPolicy {
            bypasses: seed % 5 != 0,
            caches: seed % 4 != 0,
            delegates_updates: false,
        };
        random_plan(size, seed, policy, devices);
    }
}

#[test]
fn random_copies_by_messages_alone_agree_with_a_model() {
    for seed in 0..20 {
        let size = 2 + seed as usize % 3;
        let devices = Loopback::remote(size, seed);
        random_plan(size, seed, AccessPolicy::default(), devices);
    }
}

#[test]
fn additions_by_every_way_are_counted_and_return_different_numbers() {
    const EACH: usize = 30;
    for (seed, delegates_updates) in (0..10).zip([false, true].into_iter().cycle()) {
        let limits = |_| crate::devices::loopback::LIMITS;
        let policy = AccessPolicy { delegates_updates, ..AccessPolicy::default() };
        let mut ranks = TestRanks::over(Loopback::offloading(3, seed, limits), policy);
        let memories = Memories::new(&mut ranks);
        let olds: Vec<_> = (0..3).map(|_| OwnedBytes::zeroed(8 * EACH)).collect();
        for region in 0..3 {
            let at = memories.ranks[1][region].0;
            let at = at.plus(at.0.wrapping_neg() % 8);
            let mut last = [0; 3];
            for count in 0..3 * EACH {
                let (me, index) = (count % 3, count / 3);
                let old = GlobalPlace::Private(olds[me].span().part(8 * index, 8));
                let (kind, update) = (NumberKind::Unsigned8, Update::Add(1));
                let add = GlobalAccess::Update { at, kind, update, old };
                last[me] = ranks.submit(me, add, AccessOrder::Unordered).unwrap();
            }
            (0..3).for_each(|me| ranks.complete(me, last[me]).unwrap());
            let mut seen: Vec<u64> = olds
                .iter()
                .flat_map(|old| bytes_of(old.span()).chunks(8).map(of_bytes).collect::<Vec<_>>())
                .collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..3 * EACH as u64), "seed {seed}, region {region}");
        }
    }
}

fn of_bytes(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().unwrap())
}

#[test]
fn a_chain_of_orders_hands_a_value_on() {
    for seed in 0..10 {
        let mut ranks = TestRanks::new(4, seed);
        let memories = Memories::new(&mut ranks);
        memories.ranks[0][0].1.write(0, b"a value!");
        let place = |rank: usize, region: usize| memories.ranks[rank][region].0;
        let mut order = AccessOrder::Unordered;
        let mut last = 0;
        let places = (0..40).map(|step| place(step % 4, step / 4 % 3));
        for (to, from) in places.clone().skip(1).zip(places.clone()) {
            last = ranks.submit(0, copy(to, from, 8), order).unwrap();
            order = AccessOrder::After(last);
        }
        ranks.complete(0, last).unwrap();
        assert!(
            memories.ranks.iter().flatten().all(|(_, span)| bytes_of(*span)[..8] == *b"a value!")
        );
    }
}

#[test]
fn what_cannot_be_accessed_is_refused_and_nothing_is_written() {
    let mut ranks = TestRanks::new(3, 1);
    let memories = Memories::new(&mut ranks);
    let before: Vec<_> = memories.ranks.iter().flatten().map(|(_, span)| bytes_of(*span)).collect();
    let own = memories.ranks[0][1].0;
    let class = |ranks: &mut TestRanks, access| {
        let end = ranks.run(0, access).err()?;
        ErrorClass::from_value(end.code.0)
    };
    let len = Memories::REGION as u64;
    for rank in 0..3 {
        for region in 1..3 {
            let at = memories.ranks[rank][region].0;
            for (from, len) in
                [(at.plus(len - 7), 8), (at.plus(u64::MAX), 1), (at.plus(1 << 32), 1)]
            {
                let got = class(&mut ranks, copy(own, from, len));
                assert_eq!(got, Some(ErrorClass::RmaRange), "get, rank {rank}");
                let put = class(&mut ranks, copy(from, own, len));
                assert_eq!(put, Some(ErrorClass::RmaRange), "put, rank {rank}");
            }
            assert_eq!(class(&mut ranks, copy(at.plus(len), own, 0)), None);
        }
        let system = memories.ranks[rank][0].0;
        let heap = ranks.0[0].global.active().unwrap().front.layout().system(rank as u32, HEAP);
        for (start, bytes) in [(system, STARTER_BYTES), (heap, HEAP_BYTES)] {
            let last = start.plus(bytes as u64 - 1);
            assert_eq!(class(&mut ranks, copy(last, own, 2)), Some(ErrorClass::RmaRange));
            assert_eq!(class(&mut ranks, copy(own, last, 1)), None);
        }
    }
    assert_eq!(class(&mut ranks, copy(GlobalAddress::NULL, own, 1)), Some(ErrorClass::Rank));
    assert_eq!(class(&mut ranks, copy(own, GlobalAddress(1), 1)), Some(ErrorClass::Rank));
    let system = memories.ranks[1][0].0;
    let add = |at, old| {
        let (kind, update) = (NumberKind::Unsigned8, Update::Add(1));
        GlobalAccess::Update { at, kind, update, old: GlobalPlace::Global(old) }
    };
    let own_system = memories.ranks[0][0].0;
    for (at, old) in [(system.plus(4), own_system), (system, own_system.plus(4)), (system, system)]
    {
        assert_eq!(class(&mut ranks, add(at, old)), Some(ErrorClass::Arg));
    }
    let after: Vec<_> = memories.ranks.iter().flatten().map(|(_, span)| bytes_of(*span)).collect();
    assert_eq!(before, after);
}

#[test]
fn memory_whose_registration_has_ended_is_refused_by_every_rank() {
    let mut ranks = TestRanks::new(2, 3);
    let memories = Memories::new(&mut ranks);
    let (own, region) = (memories.ranks[0][0].0, OwnedBytes::zeroed(64));
    for is_known in [false, true] {
        let at = ranks.register(1, &region, 0);
        if is_known {
            ranks.run(0, copy(at, own, 8)).unwrap();
        }
        let TestRank { engine, global, .. } = &mut ranks.0[1];
        assert!(global.active().unwrap().deregister(engine, at));
        assert!(!global.active().unwrap().deregister(engine, at));
        for rank in [0, 1] {
            let from = memories.ranks[rank][0].0;
            let error = ranks.run(rank, copy(at, from, 8)).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::RmaRange as i32, "{is_known} {rank}: {error}");
        }
    }
}

#[test]
fn a_failure_with_nothing_in_progress_is_told_by_the_next_wait() {
    let mut ranks = TestRanks::new(2, 3);
    let memories = Memories::new(&mut ranks);
    let own = memories.ranks[0][0].0;
    let active = ranks.0[0].global.active().unwrap();
    active.failure = Some(ErrorClass::RmaRange.error("a device has told it"));
    let number = ranks.submit(0, copy(own, own, 8), AccessOrder::Unordered).unwrap();
    let error = ranks.complete(0, number).unwrap_err();
    assert_eq!(error.code.0, ErrorClass::RmaRange as i32, "{error}");
    assert!(!ranks.0[0].global.active().unwrap().front.is_busy());
    ranks.complete(0, number).unwrap();
}

#[test]
fn a_number_that_is_used_again_names_the_new_region() {
    let mut ranks = TestRanks::new(2, 3);
    let memories = Memories::new(&mut ranks);
    let regions = [1_u64, 2].map(|value| {
        let region = OwnedBytes::zeroed(8);
        region.span().write(0, &value.to_ne_bytes());
        region
    });
    let (first, into) = (ranks.register(1, &regions[0], 0), memories.ranks[0][0]);
    ranks.run(0, copy(into.0, first, 8)).unwrap();
    let layout = ranks.0[1].global.active().unwrap().front.layout();
    let number = |address| layout.split(address).unwrap().region;
    let mut address = first;
    loop {
        let TestRank { engine, global, .. } = &mut ranks.0[1];
        assert!(global.active().unwrap().deregister(engine, address));
        address = ranks.register(1, &regions[1], 0);
        if number(address) == number(first) {
            break;
        }
    }
    ranks.run(0, copy(into.0, address, 8)).unwrap();
    assert_eq!(of_bytes(&bytes_of(into.1)[..8]), 2);
    let error = ranks.run(0, copy(into.0, first, 8)).unwrap_err();
    assert_eq!(error.code.0, ErrorClass::RmaRange as i32, "{error}");
}

#[test]
fn what_a_rank_delegates_to_another_keeps_its_order() {
    const ROUNDS: usize = 20;
    for seed in 0..10 {
        let policy = AccessPolicy { delegates_updates: true, ..AccessPolicy::default() };
        let limits = |_| crate::devices::loopback::LIMITS;
        let mut ranks = TestRanks::over(Loopback::offloading(3, seed, limits), policy);
        let memories = Memories::new(&mut ranks);
        let (number, log) = (ranks.starter(1), memories.ranks[2][0]);
        let mut last = 0;
        for round in 0..ROUNDS {
            let (kind, update) = (NumberKind::Unsigned8, Update::Add(1));
            let old = GlobalPlace::Private(Span::EMPTY);
            let add = GlobalAccess::Update { at: number, kind, update, old };
            ranks.submit(0, add, AccessOrder::Unordered).unwrap();
            let noted = copy(log.0.plus(8 * round as u64), number, 8);
            last = ranks.submit(0, noted, AccessOrder::Unordered).unwrap();
        }
        ranks.complete(0, last).unwrap();
        let noted: Vec<_> = bytes_of(log.1)[..8 * ROUNDS].chunks(8).map(of_bytes).collect();
        assert!(noted.into_iter().eq(1..=ROUNDS as u64), "seed {seed}");
    }
}

#[test]
fn addresses_of_places_and_places_of_addresses() {
    let mut ranks = TestRanks::new(2, 0);
    let region = OwnedBytes::zeroed(100);
    let memory = region.span().part(3, 90);
    let TestRank { engine, global, .. } = &mut ranks.0[1];
    let active = global.active().unwrap();
    let first = active.register(engine, memory, 1).unwrap();
    assert_eq!(first.0 % 64, memory.address() as u64 % 64);
    let address =
        |active: &super::ActiveMemory, at: usize| active.address_of(first, memory.address() + at);
    assert_eq!((address(active, 0), address(active, 90)), (Some(first), Some(first.plus(90))));
    assert_eq!((address(active, 91), active.address_of(first, memory.address() - 1)), (None, None));
    assert_eq!(active.address_of(first.plus(1), memory.address()), None);
    let again = active.register(engine, memory, 1).unwrap();
    assert_ne!(again, first);
    let error = active.register(engine, memory, 2).unwrap_err();
    assert_eq!(error.why, "colour 2: expected 0..2");
}
