//! One interface by hand: the test is its owner.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::*;
use crate::base::Peer;
use crate::device::rma::Key;
use crate::device::trigger::{Class, Linked};
use crate::offload::{Add, Buffer, Scheme, Work};

const LIMITS: Limits = Limits {
    counters: 4,
    slots: 8,
    engines: 2,
    ordered: true,
    arithmetic: 1,
    class: Class::Thresholds,
};

/// Levels of as many counters as are named.
#[derive(Default)]
struct Levels(RefCell<HashMap<CounterKey, u64>>);

impl Counters for Levels {
    fn level(&self, counter: CounterKey) -> u64 {
        self.0.borrow().get(&counter).copied().unwrap_or(0)
    }

    fn add(&self, counter: CounterKey, value: u64) {
        let mut levels = self.0.borrow_mut();
        let level = levels.entry(counter).or_default();
        *level = level.wrapping_add(value);
    }
}

fn add(counter: u16, value: u64) -> Add {
    Add { counter, value }
}

fn work(counter: u16, level: u64, op: Op) -> Work {
    Work { counter, level, op, round: 0 }
}

fn put(done: Option<Add>) -> Op {
    let (from, into) = (Buffer::User(0).region(0, 0), Buffer::User(0).region(0, 0));
    Op::Put { to: 5, from, into, signal: add(0, 1), done, engine: None }
}

fn signal(value: u64) -> Op {
    Op::Signal { to: 5, signal: add(0, value) }
}

fn loading(program: Program, counters: Vec<CounterKey>) -> Loading {
    let theirs = vec![CounterKey(71), CounterKey(72)];
    let peer = Linked { rank: 5, peer: 3, counters: theirs, buffers: Vec::new() };
    Loading { program: Arc::new(program), counters, memory: Vec::new(), peers: vec![peer] }
}

fn load(nic: &mut Nic, levels: &Levels, counters: u16, work: Vec<Work>) -> ProgramKey {
    let keys = nic.reserve(2 * usize::from(counters), levels).unwrap();
    nic.load(loading(Program::new(Scheme::Tank, 2, counters, work), keys), false)
}

/// The signals that an interface hands out until it has no more.
fn signals(nic: &mut Nic, levels: &Levels) -> Vec<(Peer, u64, u64)> {
    let mut seen = Vec::new();
    while let Some(due) = nic.next(levels) {
        let Action::Signal { peer, signal } = due.action else { panic!("{due:?}") };
        seen.push((peer, signal.counter.0, signal.value));
        nic.done(due.id, Ok(()), levels);
    }
    seen
}

#[test]
fn work_is_posted_at_its_level_and_the_tanks_take_turns() {
    let (mut nic, levels) = (Nic::new(LIMITS, 4), Levels::default());
    let program = load(
        &mut nic,
        &levels,
        1,
        vec![
            work(0, 0, signal(10)),
            work(0, 4, signal(20)),
            work(0, 6, Op::Add(add(0, 6_u64.wrapping_neg()))),
            work(0, 6, Op::Complete),
        ],
    );
    for instance in 0..4 {
        let (own, theirs) = (CounterKey(1 + instance % 2), 71 + instance % 2);
        assert!(matches!(nic.look(program), Look::Over(Ok(()))));
        nic.start(program);
        assert_eq!(signals(&mut nic, &levels), [(3, theirs, 10)]);
        levels.add(own, 3);
        assert_eq!(signals(&mut nic, &levels), []);
        levels.add(own, 1);
        assert_eq!(signals(&mut nic, &levels), [(3, theirs, 20)]);
        assert!(matches!(nic.look(program), Look::Waits));
        assert!(!nic.take_news());
        levels.add(own, 2);
        assert_eq!(signals(&mut nic, &levels), []);
        assert!(nic.take_news());
        assert_eq!(levels.level(own), 0);
    }
    assert!(matches!(nic.look(program), Look::Over(Ok(()))));
    nic.unload(program);
}

#[test]
fn an_instance_is_not_over_while_its_memory_is_read() {
    let (mut nic, levels) = (Nic::new(LIMITS, 4), Levels::default());
    let program = load(&mut nic, &levels, 1, vec![work(0, 0, put(None)), work(0, 0, Op::Complete)]);
    nic.start(program);
    let due = nic.next(&levels).unwrap();
    assert!(matches!(nic.look(program), Look::Waits));
    nic.left(due.id, &levels);
    assert!(matches!(nic.look(program), Look::Over(Ok(()))));
    nic.unload(program);
    assert!(!nic.is_idle());
    nic.done(due.id, Ok(()), &levels);
    assert!(nic.is_idle());
}

#[test]
fn an_error_of_an_action_is_that_of_the_instance() {
    let (mut nic, levels) = (Nic::new(LIMITS, 4), Levels::default());
    let steps = vec![work(0, 0, put(Some(add(0, 1)))), work(0, 1, Op::Complete)];
    let program = load(&mut nic, &levels, 1, steps);
    nic.start(program);
    let due = nic.next(&levels).unwrap();
    nic.done(due.id, Err(ErrorClass::RmaRange.error("too far")), &levels);
    assert!(nic.next(&levels).is_none());
    let Look::Over(Err(error)) = nic.look(program) else { panic!("no error") };
    assert_eq!(error.why, "too far");
    assert!(matches!(nic.look(program), Look::Over(Ok(()))));
}

#[test]
fn an_engine_that_keeps_order_waits_until_an_action_has_left() {
    let (mut nic, levels) = (Nic::new(LIMITS, 4), Levels::default());
    let to = |peer| Remote { peer, key: Key(1), offset: 0 };
    let first = nic.put(Span::EMPTY, to(0), None);
    let second = nic.put(Span::EMPTY, to(0), None);
    let other = nic.put(Span::EMPTY, to(0), Some(1));
    let (one, two) = (nic.next(&levels).unwrap(), nic.next(&levels).unwrap());
    assert_eq!((one.engine, two.engine), (0, 1));
    assert!(nic.next(&levels).is_none());
    nic.left(one.id, &levels);
    assert!(nic.end(first).is_none());
    let three = nic.next(&levels).unwrap();
    assert_eq!(three.engine, 0);
    for due in [three, two, one] {
        nic.done(due.id, Ok(()), &levels);
    }
    assert!(nic.take_news());
    for ticket in [first, second, other] {
        assert!(matches!(nic.end(ticket), Some(Ok(()))));
        assert!(nic.end(ticket).is_none());
    }
    assert!(nic.is_idle());
}

#[test]
fn what_lacks_counters_or_slots_is_run_by_the_host() {
    let (mut nic, levels) = (Nic::new(LIMITS, 100), Levels::default());
    let counted = |counters: u16| -> Vec<Work> {
        (0..counters).map(|counter| work(counter, 1, Op::Complete)).collect()
    };
    let one = load(&mut nic, &levels, 1, counted(1));
    let three = load(&mut nic, &levels, 2, counted(1));
    assert_eq!(nic.runner(one), Runner::Interface);
    let Runner::Host(why) = nic.runner(three) else { panic!("without counters") };
    assert!(why.contains("counters"));
    assert_eq!(nic.fallbacks(), 1);

    let (mut nic, levels) = (Nic::new(Limits { counters: 100, ..LIMITS }, 100), Levels::default());
    let five: Vec<_> = (0..2).map(|_| load(&mut nic, &levels, 5, counted(5))).collect();
    assert_eq!(nic.runner(five[0]), Runner::Interface);
    let Runner::Host(why) = nic.runner(five[1]) else { panic!("without slots") };
    assert!(why.contains("slots"));
    assert_eq!(nic.fallbacks(), 1);
    nic.unload(five[0]);
    let again = load(&mut nic, &levels, 5, counted(5));
    assert_eq!(nic.runner(again), Runner::Interface);
}

#[test]
fn a_program_of_the_host_moves_only_with_it() {
    let (mut nic, levels) = (Nic::new(LIMITS, 4), Levels::default());
    let keys = nic.reserve(2, &levels).unwrap();
    let steps = vec![work(0, 0, signal(1)), work(0, 1, signal(2)), work(0, 1, Op::Complete)];
    let program = nic.load(loading(Program::new(Scheme::Tank, 2, 1, steps), keys.clone()), true);
    assert_eq!(nic.fallbacks(), 0);
    nic.start(program);
    assert_eq!(signals(&mut nic, &levels), []);
    assert!(nic.run_host(&levels));
    assert_eq!(signals(&mut nic, &levels), [(3, 71, 1)]);
    levels.add(keys[0], 1);
    assert_eq!(signals(&mut nic, &levels), []);
    assert!(nic.run_host(&levels));
    assert!(!nic.run_host(&levels));
    assert_eq!(signals(&mut nic, &levels), [(3, 71, 2)]);
    assert!(matches!(nic.look(program), Look::Over(Ok(()))));
}

#[test]
fn the_host_is_asked_for_each_of_its_steps_once() {
    let (mut nic, levels) = (Nic::new(LIMITS, 4), Levels::default());
    let host = |step| Op::Host { step, done: Some(add(0, 1)) };
    let steps = vec![work(0, 0, host(4)), work(0, 0, host(2)), work(0, 2, Op::Complete)];
    let program = load(&mut nic, &levels, 1, steps);
    nic.start(program);
    assert!(nic.next(&levels).is_none());
    assert!(nic.take_news());
    assert!(matches!(nic.look(program), Look::Host(4)));
    assert!(matches!(nic.look(program), Look::Host(2)));
    assert!(matches!(nic.look(program), Look::Waits));
    nic.host_done(program, 2, &levels);
    assert!(nic.next(&levels).is_none());
    assert!(matches!(nic.look(program), Look::Waits));
    nic.host_done(program, 4, &levels);
    assert!(nic.next(&levels).is_none());
    assert!(matches!(nic.look(program), Look::Over(Ok(()))));
}

#[test]
fn counters_that_come_back_are_empty_and_taken_last() {
    let (mut nic, levels) = (Nic::new(LIMITS, 6), Levels::default());
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
