//! One interface by hand: the test is its owner.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::device::conformance::TestBuffer;
use crate::device::rma::MemoryKey;
use crate::device::trigger::{PeerBinding, TriggerClass};
use crate::offload::{Buffer, CounterAdd, DeferredWork, Program, ProgramOp, Scheme};
use platform::base::{ErrorClass, Peer, Random};

const LIMITS: InterfaceLimits = InterfaceLimits {
    counters: 4,
    slots: 8,
    engines: 2,
    ordered: true,
    arithmetic: 1,
    class: TriggerClass::Thresholds,
    counter_bits: 64,
    transfer_max: 1 << 20,
};

/// Levels of counters.
#[derive(Default)]
struct Levels {
    levels: RefCell<HashMap<CounterKey, u64>>,
    changed: RefCell<Vec<CounterKey>>,
    additions: Cell<u64>,
    /// Calls of [`Counters::level`].
    looks: Cell<usize>,
}

impl Counters for Levels {
    fn level(&self, counter: CounterKey) -> u64 {
        self.looks.set(self.looks.get() + 1);
        self.levels.borrow().get(&counter).copied().unwrap_or(0)
    }

    fn add(&self, counter: CounterKey, value: u64) {
        let mut levels = self.levels.borrow_mut();
        let level = levels.entry(counter).or_default();
        *level = level.wrapping_add(value);
        self.changed.borrow_mut().push(counter);
        self.additions.set(self.additions.get() + 1);
    }

    fn additions(&self) -> u64 {
        self.additions.get()
    }

    fn take_changed(&self, each: impl FnMut(CounterKey)) {
        self.changed.take().into_iter().for_each(each);
    }
}

fn add(counter: u16, value: u64) -> CounterAdd {
    CounterAdd { counter, value }
}

fn work(counter: u16, level: u64, op: ProgramOp) -> DeferredWork {
    DeferredWork { counter, level, op, round: 0 }
}

fn put(done: Option<CounterAdd>) -> ProgramOp {
    let (from, into) = (Buffer::User(0).region(0, 0), Buffer::User(0).region(0, 0));
    ProgramOp::Put { to: 5, from, into, signal: add(0, 1), done, engine: None }
}

fn signal(value: u64) -> ProgramOp {
    ProgramOp::Signal { to: 5, signal: add(0, value) }
}

fn binding(program: Program, counters: Vec<CounterKey>) -> ProgramBinding {
    let theirs = vec![CounterKey(71), CounterKey(72)];
    let peer = PeerBinding { rank: 5, peer: 3, counters: theirs, buffers: Vec::new() };
    ProgramBinding {
        program: Arc::new(program),
        counters,
        memory: Vec::new(),
        peers: vec![peer],
        kernel: None,
    }
}

fn load(
    nic: &mut NetworkInterface, levels: &Levels, counters: u16, work: Vec<DeferredWork>,
) -> ProgramKey {
    let keys = nic.reserve(2 * usize::from(counters), levels).unwrap();
    nic.load(binding(Program::new(Scheme::Tank, 2, counters, work), keys), false)
}

/// The signals that an interface issues.
fn signals(nic: &mut NetworkInterface, levels: &Levels) -> Vec<(Peer, u64, u64)> {
    let mut seen = Vec::new();
    while let Some(due) = nic.next(0, levels) {
        let InterfaceAction::Signal { peer, signal } = due.action else { panic!("{due:?}") };
        seen.push((peer, signal.counter.0, signal.value));
        nic.done(due.id, Ok(()), levels);
    }
    seen
}

#[test]
fn work_is_posted_at_its_level_and_the_tanks_take_turns() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let program = load(
        &mut nic,
        &levels,
        1,
        vec![
            work(0, 0, signal(10)),
            work(0, 4, signal(20)),
            work(0, 6, ProgramOp::Add(add(0, 6_u64.wrapping_neg()))),
            work(0, 6, ProgramOp::Complete),
        ],
    );
    for instance in 0..4 {
        let (own, theirs) = (CounterKey(1 + instance % 2), 71 + instance % 2);
        assert!(matches!(nic.poll_program(program), InstanceState::Completed(Ok(()))));
        nic.start(program);
        assert_eq!(signals(&mut nic, &levels), [(3, theirs, 10)]);
        levels.add(own, 3);
        assert_eq!(signals(&mut nic, &levels), []);
        levels.add(own, 1);
        assert_eq!(signals(&mut nic, &levels), [(3, theirs, 20)]);
        assert!(matches!(nic.poll_program(program), InstanceState::Waiting));
        assert!(!nic.take_progressed());
        levels.add(own, 2);
        assert_eq!(signals(&mut nic, &levels), []);
        assert!(nic.take_progressed());
        assert_eq!(levels.level(own), 0);
    }
    assert!(matches!(nic.poll_program(program), InstanceState::Completed(Ok(()))));
    nic.unload(program);
}

#[test]
fn an_addition_is_looked_at_where_work_waits_for_it() {
    let limits = InterfaceLimits { counters: 2000, slots: 2000, ..LIMITS };
    let (mut nic, levels) = (NetworkInterface::new(limits, 2000), Levels::default());
    let steps = vec![work(0, 1, signal(7)), work(0, 2, ProgramOp::Complete)];
    let all: Vec<_> = (0..500).map(|_| load(&mut nic, &levels, 2, steps.clone())).collect();
    all.iter().for_each(|program| nic.start(*program));
    assert_eq!(signals(&mut nic, &levels), []);
    // The first tank of the last program.
    levels.looks.set(0);
    levels.add(CounterKey(4 * 499 + 1), 1);
    assert_eq!(signals(&mut nic, &levels), [(3, 71, 7)]);
    assert!(levels.looks.get() <= 3, "{} levels read", levels.looks.get());
}

#[test]
fn signals_do_not_wait_for_transfers() {
    let limits = InterfaceLimits { engines: 1, transfer_max: 100, ..LIMITS };
    let (mut nic, levels) = (NetworkInterface::new(limits, 4), Levels::default());
    let mut bytes = TestBuffer::new(250, 0);
    let from = bytes.span();
    nic.access(RmaAccess::Put { from, to: to(0) }, None).unwrap();
    nic.access(put_to(to(0)), None).unwrap();
    let first = nic.next(0, &levels).unwrap();
    let program = load(&mut nic, &levels, 1, vec![work(0, 0, signal(1))]);
    nic.start(program);
    // The part of the put is in progress, its rest and another put wait.
    assert_eq!(signals(&mut nic, &levels), [(3, 71, 1)]);
    let mut parts = Vec::new();
    let mut due = Some(first);
    while let Some(DueAction { id, action, .. }) = due {
        let InterfaceAction::Put { from, to, .. } = action else { panic!("{action:?}") };
        parts.push((to.offset, from.len()));
        nic.sent(id, &levels);
        assert!(from.is_empty() || nic.accesses().flush(0).is_none());
        nic.done(id, Ok(()), &levels);
        due = nic.next(0, &levels);
    }
    assert_eq!(parts, [(0, 100), (100, 100), (200, 50), (0, 0)]);
    assert!(matches!(nic.accesses().flush(0), Some(Ok(()))));
}

#[test]
fn a_part_that_fails_ends_its_transfer() {
    let limits = InterfaceLimits { transfer_max: 100, ..LIMITS };
    let (mut nic, levels) = (NetworkInterface::new(limits, 4), Levels::default());
    let mut bytes = TestBuffer::new(250, 0);
    let from = bytes.span();
    nic.access(RmaAccess::Put { from, to: to(0) }, None).unwrap();
    let due = nic.next(0, &levels).unwrap();
    nic.done(due.id, Err(ErrorClass::RmaRange.error("too far")), &levels);
    assert!(nic.next(0, &levels).is_none());
    assert_eq!(nic.accesses().flush(0).unwrap().unwrap_err().why, "too far");
    assert!(nic.is_idle());
}

#[test]
fn an_instance_has_not_completed_while_its_memory_is_read() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let program =
        load(&mut nic, &levels, 1, vec![work(0, 0, put(None)), work(0, 0, ProgramOp::Complete)]);
    nic.start(program);
    let due = nic.next(0, &levels).unwrap();
    assert!(matches!(nic.poll_program(program), InstanceState::Waiting));
    nic.sent(due.id, &levels);
    assert!(matches!(nic.poll_program(program), InstanceState::Completed(Ok(()))));
    nic.unload(program);
    assert!(!nic.is_idle());
    nic.done(due.id, Ok(()), &levels);
    assert!(nic.is_idle());
}

#[test]
fn an_error_of_an_action_is_an_error_of_the_instance() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let steps = vec![work(0, 0, put(Some(add(0, 1)))), work(0, 1, ProgramOp::Complete)];
    let program = load(&mut nic, &levels, 1, steps);
    nic.start(program);
    let due = nic.next(0, &levels).unwrap();
    nic.done(due.id, Err(ErrorClass::RmaRange.error("too far")), &levels);
    assert!(nic.next(0, &levels).is_none());
    let InstanceState::Completed(Err(error)) = nic.poll_program(program) else {
        panic!("no error")
    };
    assert_eq!(error.why, "too far");
    assert!(matches!(nic.poll_program(program), InstanceState::Completed(Ok(()))));
}

#[test]
fn an_ordered_engine_waits_until_an_action_was_sent() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    for engine in [None, None, Some(1)] {
        nic.access(put_to(to(0)), engine).unwrap();
    }
    let (one, two) = (nic.next(0, &levels).unwrap(), nic.next(0, &levels).unwrap());
    assert_eq!((one.engine, two.engine), (0, 1));
    assert!(nic.next(0, &levels).is_none());
    nic.sent(one.id, &levels);
    assert!(nic.accesses().flush(0).is_none());
    let three = nic.next(0, &levels).unwrap();
    assert_eq!(three.engine, 0);
    for due in [three, two, one] {
        nic.done(due.id, Ok(()), &levels);
    }
    assert!(nic.take_progressed());
    assert!(matches!(nic.accesses().flush(0), Some(Ok(()))));
    assert!(nic.is_idle());
}

#[test]
fn a_signal_follows_its_put() {
    let (nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let mut nic = nic.limited(1);
    let signal = PutSignal { key: MemoryKey(3), offset: 16, addend: 5 };
    nic.put_signalled(Span::EMPTY, to(2), signal).unwrap();
    assert_eq!(nic.access(put_to(to(0)), None), Err(Busy));
    let put = nic.next(0, &levels).unwrap();
    nic.sent(put.id, &levels);
    assert!(nic.next(0, &levels).is_none());
    nic.done(put.id, Ok(()), &levels);
    assert!(nic.accesses().flush(2).is_none());
    let add = nic.next(0, &levels).unwrap();
    let InterfaceAction::Update { at, kind, update, .. } = add.action else { panic!("{add:?}") };
    assert_eq!((at, kind, update), (signal.address(2), NumberKind::Unsigned8, Update::Add(5)));
    nic.done(add.id, Ok(()), &levels);
    assert!(matches!(nic.accesses().flush(2), Some(Ok(()))));
    // A put that fails has no signal.
    nic.put_signalled(Span::EMPTY, to(2), signal).unwrap();
    let put = nic.next(0, &levels).unwrap();
    nic.done(put.id, Err(ErrorClass::RmaRange.error("too far")), &levels);
    assert!(nic.next(0, &levels).is_none());
    assert_eq!(nic.accesses().flush(2).unwrap().unwrap_err().why, "too far");
}

/// A program that waits for each of its counters.
fn counted(counters: u16) -> Vec<DeferredWork> {
    let ends = |counter| [lower(counter, 1), ProgramOp::Complete].map(|op| work(counter, 1, op));
    (0..counters).flat_map(ends).collect()
}

#[test]
fn software_runs_a_program_without_counters() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 100), Levels::default());
    let one = load(&mut nic, &levels, 1, counted(1));
    let three = load(&mut nic, &levels, 2, counted(1));
    assert_eq!(nic.runner(one), Runner::Interface);
    let Runner::Software(why) = nic.runner(three) else { panic!("without counters") };
    assert!(why.contains("counters"));
    assert_eq!(nic.fallbacks(), 1);
    let narrow = InterfaceLimits { counter_bits: 1, ..LIMITS };
    let mut nic = NetworkInterface::new(narrow, 100);
    let wide = load(&mut nic, &levels, 1, vec![work(0, 2, ProgramOp::Complete)]);
    let Runner::Software(why) = nic.runner(wide) else { panic!("without bits") };
    assert!(why.contains("bits"));
}

#[test]
fn idle_programs_hold_no_slots() {
    let limits = InterfaceLimits { counters: 100, ..LIMITS };
    let (mut nic, levels) = (NetworkInterface::new(limits, 100), Levels::default());
    let all: Vec<_> = (0..4).map(|_| load(&mut nic, &levels, 5, counted(5))).collect();
    // Each needs 5 of 8 slots; its counters have 5 keys for each tank.
    for (started, tank) in [(0..1, 0), (1..2, 0), (0..2, 1), (3..4, 0)] {
        started.clone().for_each(|number| nic.start(all[number]));
        assert_eq!(nic.runner(all[started.start]), Runner::Interface);
        if started.len() > 1 {
            let Runner::Software(why) = nic.runner(all[1]) else { panic!("without slots") };
            assert!(why.contains("slots"));
        }
        for number in started {
            let keys = (1..=5).map(|key| 10 * number as u64 + 5 * tank + key);
            keys.for_each(|key| levels.add(CounterKey(key), 1));
            assert!(nic.next(0, &levels).is_none());
            let state = nic.poll_program(all[number]);
            assert!(matches!(state, InstanceState::Completed(Ok(()))), "{state:?}");
        }
    }
    assert_eq!(nic.fallbacks(), 1);
}

#[test]
fn a_window_of_slots_is_refilled_at_the_pace_of_commands() {
    // 2,049 sends, as of a long broadcast in segments, in half of 1,024 slots.
    let limits = InterfaceLimits { slots: 1024, ..LIMITS };
    let nic = NetworkInterface::new(limits, 4).paced(Box::new(Slow));
    let (mut nic, levels) = (nic, Levels::default());
    let sends = (0..2049).map(|number| work(0, 0, signal(number)));
    let end = work(0, 0, ProgramOp::Complete);
    let program = load(&mut nic, &levels, 1, sends.chain([end]).collect());
    nic.start(program);
    assert_eq!(nic.runner(program), Runner::Interface);
    let (mut now, mut times) = (0, Vec::new());
    while times.len() < 2049 {
        while let Some(due) = nic.next(now, &levels) {
            let InterfaceAction::Signal { signal, .. } = due.action else { panic!("{due:?}") };
            assert_eq!(signal.value, times.len() as u64);
            times.push(now);
            nic.done(due.id, Ok(()), &levels);
        }
        now = nic.next_event_ns().unwrap_or(now);
    }
    let due = (0..2049_u64).map(|number| 100 + 7 * (number + 1).saturating_sub(512));
    assert!(times.into_iter().eq(due));
}

/// Empties a counter at the end of an instance.
fn lower(counter: u16, value: u64) -> ProgramOp {
    ProgramOp::Add(add(counter, value.wrapping_neg()))
}

#[test]
fn a_program_of_software_needs_no_call_of_the_application() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let keys = nic.reserve(2, &levels).unwrap();
    let end = [work(0, 1, lower(0, 1)), work(0, 1, ProgramOp::Complete)];
    let steps = [vec![work(0, 0, signal(1)), work(0, 1, signal(2))], end.into()].concat();
    let program = nic.load(binding(Program::new(Scheme::Tank, 2, 1, steps), keys.clone()), true);
    assert_eq!(nic.fallbacks(), 0);
    nic.start(program);
    assert_eq!(signals(&mut nic, &levels), [(3, 71, 1)]);
    assert_eq!(signals(&mut nic, &levels), []);
    levels.add(keys[0], 1);
    assert_eq!(signals(&mut nic, &levels), [(3, 71, 2)]);
    assert!(matches!(nic.poll_program(program), InstanceState::Completed(Ok(()))));
}

#[test]
fn a_level_that_is_not_exact_at_the_end_is_an_error_once() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let keys = nic.reserve(2, &levels).unwrap();
    let steps = vec![work(0, 2, lower(0, 2)), work(0, 2, ProgramOp::Complete)];
    let program = nic.load(binding(Program::new(Scheme::Tank, 2, 1, steps), keys.clone()), false);
    for (instance, added) in [2, 2, 5, 2, 2, 2].into_iter().enumerate() {
        nic.start(program);
        levels.add(keys[instance % 2], added);
        assert!(nic.next(0, &levels).is_none());
        let InstanceState::Completed(end) = nic.poll_program(program) else { panic!("{instance}") };
        match added {
            2 => end.unwrap(),
            _ => assert!(end.unwrap_err().why.contains("is 3 at the end")),
        }
    }
}

#[test]
fn each_step_for_the_host_is_returned_once() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let none = Buffer::None.region(0, 0);
    let host = |step| ProgramOp::Host { step, from: none, into: none, done: Some(add(0, 1)) };
    let end = [work(0, 2, lower(0, 2)), work(0, 2, ProgramOp::Complete)];
    let steps = [vec![work(0, 0, host(4)), work(0, 0, host(2))], end.into()].concat();
    let program = load(&mut nic, &levels, 1, steps);
    nic.start(program);
    assert!(nic.next(0, &levels).is_none());
    assert!(nic.take_progressed());
    assert!(matches!(nic.poll_program(program), InstanceState::HostStep(4)));
    assert!(matches!(nic.poll_program(program), InstanceState::HostStep(2)));
    assert!(matches!(nic.poll_program(program), InstanceState::Waiting));
    nic.host_done(program, 2, &levels);
    assert!(nic.next(0, &levels).is_none());
    assert!(matches!(nic.poll_program(program), InstanceState::Waiting));
    nic.host_done(program, 4, &levels);
    assert!(nic.next(0, &levels).is_none());
    assert!(matches!(nic.poll_program(program), InstanceState::Completed(Ok(()))));
}

#[test]
fn released_counters_are_reset_and_reused_last() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 6), Levels::default());
    let keys = nic.reserve(2, &levels).unwrap();
    assert_eq!(keys, [CounterKey(1), CounterKey(2)]);
    levels.add(keys[0], 9);
    nic.release(&keys);
    assert_eq!(nic.reserve(3, &levels).unwrap(), [CounterKey(3), CounterKey(4), CounterKey(1)]);
    assert_eq!(levels.level(CounterKey(1)), 0);
    assert_eq!(nic.reserve(2, &levels).unwrap(), [CounterKey(5), CounterKey(6)]);
    assert!(nic.reserve(2, &levels).is_err());
    assert_eq!(nic.reserve(1, &levels).unwrap(), [CounterKey(2)]);
}

/// A network without contention: 10 ns for a byte, and 100 on the way.
#[derive(Debug)]
struct Slow;

impl NetworkModel for Slow {
    fn send(&mut self, way: TransferPath, _engine: u8, bytes: u64, at_ns: u64) -> TransferTimes {
        let left_ns = at_ns + 10 * bytes;
        let back = if matches!(way, TransferPath::FromPeer(_)) { 100 } else { 0 };
        TransferTimes { sent_ns: left_ns, arrived_ns: left_ns + 100 + back }
    }

    fn post_ns(&self) -> u64 {
        7
    }
}

fn paced() -> (NetworkInterface, Levels) {
    (NetworkInterface::new(LIMITS, 4).paced(Box::new(Slow)), Levels::default())
}

fn to(peer: Peer) -> RemoteAddress {
    RemoteAddress { peer, key: MemoryKey(1), offset: 0 }
}

fn put_to(to: RemoteAddress) -> RmaAccess {
    RmaAccess::Put { from: Span::EMPTY, to }
}

fn addition(at: RemoteAddress) -> RmaAccess {
    let (kind, update) = (NumberKind::Unsigned8, Update::Add(1));
    RmaAccess::Update { at, kind, update, old: Span::EMPTY }
}

#[test]
fn a_deferred_access_starts_when_all_before_it_have_completed() {
    let limits = InterfaceLimits { ordered: false, slots: 2, engines: 3, ..LIMITS };
    let (mut nic, levels) = (NetworkInterface::new(limits, 4), Levels::default());
    // There is nothing to wait for.
    nic.defer(put_to(to(9)), 1).unwrap();
    let first = nic.next(0, &levels).unwrap();
    nic.done(first.id, Ok(()), &levels);
    let [one, two] = [1, 2].map(|peer| {
        nic.access(put_to(to(peer)), None).unwrap();
        nic.next(0, &levels).unwrap()
    });
    nic.defer(addition(to(3)), 1).unwrap();
    nic.defer(put_to(to(4)), 2).unwrap();
    assert_eq!(nic.defer(put_to(to(4)), 2), Err(Busy));
    // Accesses after it do not wait.
    nic.access(put_to(to(5)), None).unwrap();
    let after = nic.next(0, &levels).unwrap();
    for due in [after, two] {
        nic.done(due.id, Ok(()), &levels);
        assert!(nic.next(0, &levels).is_none() && !nic.is_idle());
    }
    nic.done(one.id, Ok(()), &levels);
    let three = nic.next(0, &levels).unwrap();
    assert_eq!((three.action.peer(), three.engine), (Some(3), 1));
    assert!(nic.next(0, &levels).is_none());
    nic.defer(put_to(to(6)), 2).unwrap();
    nic.done(three.id, Ok(()), &levels);
    for peer in [4, 6] {
        let due = nic.next(0, &levels).unwrap();
        assert_eq!((due.action.peer(), due.engine), (Some(peer), 2));
        assert!(nic.next(0, &levels).is_none());
        nic.done(due.id, Ok(()), &levels);
    }
    assert!(nic.is_idle());
    assert_eq!(nic.accesses().progress(4).completed, 1);
}

#[test]
fn a_paced_action_is_issued_at_its_arrival_time() {
    let (mut nic, levels) = paced();
    assert_eq!(nic.next_event_ns(), None);
    nic.access(put_to(to(0)), Some(0)).unwrap();
    assert!(nic.next(1000, &levels).is_none());
    assert_eq!(nic.next_event_ns(), Some(1100));
    assert!(nic.next(1099, &levels).is_none());
    let due = nic.next(1100, &levels).unwrap();
    assert_eq!(nic.next_event_ns(), None);
    nic.done(due.id, Ok(()), &levels);
    assert!(nic.is_idle());
}

#[test]
fn an_engine_starts_a_command_when_it_became_free() {
    let (mut nic, levels) = paced();
    for _ in 0..3 {
        nic.access(addition(to(2)), None).unwrap();
    }
    assert!(nic.next(0, &levels).is_none());
    assert_eq!(nic.next_event_ns(), Some(80));
    // The second and the third are sent at 160 and 240, and arrive 200 later.
    assert_eq!(nic.next(400, &levels).map(|due| due.id), Some(ActionId(0)));
    assert_eq!(nic.next_event_ns(), None);
    nic.done(ActionId(0), Ok(()), &levels);
    assert_eq!(nic.next_event_ns(), Some(360));
    let due = nic.next(400, &levels).unwrap();
    nic.done(due.id, Ok(()), &levels);
    assert!(nic.next(439, &levels).is_none());
    assert_eq!(nic.next_event_ns(), Some(440));
    assert!(nic.next(440, &levels).is_some());
}

#[test]
fn a_short_command_does_not_overtake_one_to_the_same_peer() {
    let (mut nic, levels) = paced();
    nic.access(addition(to(2)), None).unwrap();
    nic.access(put_to(to(2)), Some(0)).unwrap();
    nic.access(put_to(to(4)), Some(0)).unwrap();
    assert!(nic.next(0, &levels).is_none());
    assert!(nic.next(80, &levels).is_none());
    let mut order = Vec::new();
    for _ in 0..3 {
        let now = nic.next_event_ns().unwrap();
        let due = nic.next(now, &levels).unwrap();
        order.push((now, due.action.peer().unwrap()));
        nic.done(due.id, Ok(()), &levels);
    }
    assert_eq!(order, [(180, 4), (280, 2), (280, 2)]);
    assert!(matches!(nic.accesses().flush(2), Some(Ok(()))));
}

/// A posted command: an engine if wanted, a peer, and whether it is long.
type Posted = (Option<u8>, Peer, bool);

proptest! {
    #[test]
    fn every_command_is_issued_once_and_in_order(
        posted in prop::collection::vec((prop::option::of(0..5_u8), 0..3_u32, any::<bool>()), 0..40),
        seed in any::<u64>(), keeps_pace in any::<bool>(), ordered in any::<bool>(),
    ) {
        let (mut random, levels) = (Random::new(seed), Levels::default());
        let nic = NetworkInterface::new(InterfaceLimits { ordered, ..LIMITS }, 4);
        let mut nic = if keeps_pace { nic.paced(Box::new(Slow)) } else { nic };
        let mut now = 0;
        let mut left: VecDeque<(usize, Posted)> = posted.iter().copied().enumerate().collect();
        let mut issued = Vec::new();
        let mut seen: Vec<(u8, Peer, u64)> = Vec::new();
        while !(left.is_empty() && nic.is_idle()) {
            if random.one_in(2) && let Some((number, (engine, peer, long))) = left.pop_front() {
                let at = RemoteAddress { offset: number as u64 * 8, ..to(peer) };
                if long && engine.is_none() {
                    nic.access(addition(at), None).unwrap();
                } else {
                    nic.access(put_to(at), engine).unwrap();
                }
            }
            while let Some(due) = nic.next(now, &levels) {
                let (InterfaceAction::Put { to: at, .. } | InterfaceAction::Update { at, .. }) = due.action else {
                    panic!("{due:?}")
                };
                seen.push((due.engine, at.peer, at.offset));
                issued.push((due.id, false));
            }
            if !issued.is_empty() {
                let at = random.below(issued.len() as u64) as usize;
                let (id, has_left) = issued[at];
                if has_left || random.one_in(2) {
                    nic.done(id, Ok(()), &levels);
                    issued.swap_remove(at);
                } else {
                    nic.sent(id, &levels);
                    issued[at].1 = true;
                }
            }
            now += random.below(100);
        }
        prop_assert_eq!(seen.len(), posted.len());
        let flow = |&(engine, peer, _): &(u8, Peer, u64)| (engine, peer);
        seen.sort_by_key(flow);
        let in_order = |flow: &[(u8, Peer, u64)]| flow.is_sorted_by_key(|(_, _, number)| *number);
        let mut flows = seen.chunk_by(|one, next| flow(one) == flow(next));
        prop_assert!(flows.all(in_order), "overtaken");
    }
}

#[test]
fn a_program_that_has_failed_ends_when_no_command_uses_its_memory() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let program =
        load(&mut nic, &levels, 1, vec![work(0, 0, put(None)), work(0, 3, ProgramOp::Complete)]);
    let error = ErrorClass::ProcFailed.error("gone");
    let is_error = |state| matches!(state, InstanceState::Completed(Err(it)) if it.why == "gone");
    assert!(matches!(nic.poll_program(program), InstanceState::Completed(Ok(()))));
    nic.start(program);
    let due = nic.next(0, &levels).unwrap();
    nic.take_progressed();
    nic.fail(program, &error);
    assert!(matches!(nic.poll_program(program), InstanceState::Waiting));
    assert!(!nic.take_progressed());
    nic.done(due.id, Ok(()), &levels);
    assert!(nic.take_progressed() && is_error(nic.poll_program(program)));
    // Nothing starts any more, whatever peers add.
    levels.add(CounterKey(2), 3);
    nic.start(program);
    assert!(nic.next(0, &levels).is_none() && is_error(nic.poll_program(program)));
    nic.unload(program);
    // Late additions change no counter of another program.
    nic.release(&[CounterKey(1), CounterKey(2)]);
    assert_eq!(nic.reserve(2, &levels).unwrap(), [CounterKey(3), CounterKey(4)]);
    assert!(nic.reserve(1, &levels).is_err());
}

#[test]
fn programs_with_a_failed_peer_fail_now_and_later() {
    let (mut nic, levels) = (NetworkInterface::new(LIMITS, 4), Levels::default());
    let waits = vec![work(0, 3, ProgramOp::Complete)];
    let program = load(&mut nic, &levels, 1, waits.clone());
    let fails = |nic: &mut NetworkInterface, program| matches!(nic.poll_program(program), InstanceState::Completed(Err(it)) if it.is(ErrorClass::ProcFailed));
    nic.start(program);
    let error = ErrorClass::ProcFailed.error("gone");
    nic.peer_failed(4, &error, true);
    nic.peer_failed(3, &error, false);
    assert!(nic.is_any_active(|peer| peer == 3) && !nic.is_any_active(|peer| peer == 4));
    assert!(matches!(nic.poll_program(program), InstanceState::Waiting));
    nic.peer_failed(3, &error, true);
    assert!(fails(&mut nic, program) && !nic.is_any_active(|_| true));
    let other = load(&mut nic, &levels, 1, waits);
    nic.start(other);
    assert!(fails(&mut nic, other));
}
