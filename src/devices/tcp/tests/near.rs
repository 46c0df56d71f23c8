//! Two jobs of one host that share memory beside their connection.

use std::fs;

use super::between_jobs::{alone, key, meet, part};
use super::*;
use crate::devices::rings::read_trial::CopyMethod;
use platform::sys::doorbell::Doorbell;

/// A process that is alone in its job, and may share memory.
fn sharing(job: u8) -> (Tcp, Doorbell) {
    let (mut tcp, doorbell) = (alone(job, &TcpSettings::default()), Doorbell::new().unwrap());
    tcp.share_memory(doorbell.address(), CopyMethod::Auto);
    (tcp, doorbell)
}

fn are_near(ends: &[Tcp; 2]) -> bool {
    ends.iter().all(|tcp| !tcp.peer_caps(1).lends)
}

/// Packets both ways, short and long, which come in order. `caller` has sent packet 0 before.
fn exchange(ends: &mut [Tcp; 2], caller: usize, count: u64) {
    let mut ledgers = [Ledger::default(), Ledger::default()];
    ledgers[1 - caller].next = vec![0, 1];
    let mut next = [0, 0];
    next[caller] = 1;
    let begin = Instant::now();
    while ledgers.iter().any(|ledger| ledger.from(1) < count) {
        assert!(begin.elapsed() < LIMIT, "no packets");
        for (tcp, (next, ledger)) in ends.iter_mut().zip(next.iter_mut().zip(&mut ledgers)) {
            while *next < count && send(tcp, 1, *next).is_ok() {
                *next += 1;
            }
            tcp.poll(ledger);
        }
    }
    assert!(ledgers.iter().all(|ledger| ledger.failed.is_empty()));
}

fn settle(ends: &mut [Tcp; 2]) {
    let begin = Instant::now();
    while !ends.iter().all(|tcp| tcp.is_settled_with(1)) {
        assert!(begin.elapsed() < LIMIT, "packets do not arrive");
        ends.iter_mut().for_each(|tcp| {
            tcp.poll(&mut conformance::Ignore);
        });
    }
}

fn meet_at([caller, called]: &mut [Tcp; 2]) {
    meet(caller, called, &key(1));
}

fn part_from([caller, called]: &mut [Tcp; 2]) {
    part(caller, called);
}

/// The descriptors and the mapped segments of this process.
fn held() -> (usize, usize) {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let segments = maps.lines().filter(|line| line.contains("suiro-segment")).count();
    (fs::read_dir("/proc/self/fd").unwrap().count(), segments)
}

#[test]
fn packets_keep_their_order_when_memory_is_shared_and_the_next_meeting_takes_it_over() {
    let ((caller, _one), (called, _other)) = (sharing(1), sharing(2));
    let mut ends = [caller, called];
    ends[1].open_port(&key(1));
    meet_at(&mut ends);
    assert!(!are_near(&ends), "it costs more than a short meeting");
    exchange(&mut ends, 0, 400);
    assert!(are_near(&ends));
    settle(&mut ends);
    part_from(&mut ends);
    let before = held();
    for turn in 0..1000 {
        meet_at(&mut ends);
        assert!(are_near(&ends));
        if turn % 20 == 0 {
            exchange(&mut ends, 0, 4);
        }
        settle(&mut ends);
        part_from(&mut ends);
    }
    assert_eq!(held(), before);
    drop(ends);
    assert!(held().0 < before.0 && held().1 == 0);
}

#[test]
fn what_a_ring_has_of_the_last_meeting_is_dropped() {
    let ((caller, _one), (called, _other)) = (sharing(1), sharing(2));
    let mut ends = [caller, called];
    ends[1].open_port(&key(1));
    meet_at(&mut ends);
    exchange(&mut ends, 0, 100);
    settle(&mut ends);
    assert!(are_near(&ends));
    for _ in 0..3 {
        // Nobody receives it.
        ends[0].send_short(1, &Header::default(), b"late").unwrap();
        ends[1].send_short(1, &Header::default(), b"late").unwrap();
    }
    part_from(&mut ends);
    meet_at(&mut ends);
    exchange(&mut ends, 0, 50);
    assert!(are_near(&ends));
}

#[test]
fn packets_stay_with_the_connection_where_memory_is_not_shared() {
    let ((caller, _one), called) = (sharing(1), alone(2, &TcpSettings::default()));
    let mut ends = [caller, called];
    ends[1].open_port(&key(1));
    let before = held().1;
    for _ in 0..3 {
        meet_at(&mut ends);
        exchange(&mut ends, 0, 100);
        settle(&mut ends);
        assert!(!are_near(&ends) && held().1 == before);
        part_from(&mut ends);
    }
}

/// The connection is lost, but no process has ended.
#[test]
fn a_new_connection_keeps_the_shared_memory() {
    let ((caller, _one), (called, _other)) = (sharing(1), sharing(2));
    let mut ends = [caller, called];
    ends[1].open_port(&key(1));
    meet_at(&mut ends);
    exchange(&mut ends, 0, 100);
    settle(&mut ends);
    ends[1].links[1].as_mut().unwrap().connection().unwrap().cut();
    let begin = Instant::now();
    let mut ledgers = [Ledger::default(), Ledger::default()];
    let mut next = [0, 0];
    while ledgers.iter().any(|ledger| ledger.from(1) < 100) {
        assert!(begin.elapsed() < LIMIT, "no packets");
        for (tcp, (next, ledger)) in ends.iter_mut().zip(next.iter_mut().zip(&mut ledgers)) {
            while *next < 100 && send(tcp, 1, *next).is_ok() {
                *next += 1;
            }
            tcp.poll(ledger);
        }
    }
    assert!(are_near(&ends) && ledgers.iter().all(|ledger| ledger.failed.is_empty()));
}
