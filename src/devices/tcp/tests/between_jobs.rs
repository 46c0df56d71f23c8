//! Two jobs of one host: the socket inside the host, and connections that are kept.

use std::os::fd::{AsFd, AsRawFd};

use super::*;
use crate::device::reach::{ConnectionKey, ForeignAddress, ForeignProcess};

/// A process that is alone in its job.
pub(super) fn alone(job: u8, settings: &TcpSettings) -> Tcp {
    let key = JobKey { id: [job; 16], secret: [job; 32] };
    Tcp::listen_at(0, 1, key, settings, vec![Ipv4Addr::LOCALHOST.into()]).unwrap()
}

pub(super) fn key(number: u8) -> ConnectionKey {
    ConnectionKey { id: [0xa0 + number; 16], secret: [number; 32] }
}

/// What `tcp` does to call the process of `job` at the port with this key.
fn call(tcp: &mut Tcp, job: u8, card: &str, key: &ConnectionKey) {
    tcp.add_key(key);
    let process = ForeignProcess { job: [job; 16], rank: 0 };
    tcp.admit(1, ForeignAddress { process, card, host: "here", key: key.id }).unwrap();
}

/// One packet from the caller to the other process, which admits it at its port; the descriptor of the
/// connection at the caller.
pub(super) fn meet(caller: &mut Tcp, called: &mut Tcp, key: &ConnectionKey) -> i32 {
    let (job, card) = (called.job[0], Reach::card(called));
    call(caller, job, &card, key);
    let (mut to, mut from) = (Ledger::default(), Ledger::default());
    let begin = Instant::now();
    let mut is_sent = false;
    while to.from(1) == 0 {
        assert!(begin.elapsed() < LIMIT, "no packet");
        is_sent = is_sent || send(caller, 1, 0).is_ok();
        caller.poll(&mut from);
        called.poll(&mut to);
        if let Some(process) = called.take_caller(key.id) {
            let address = ForeignAddress { process, card: "", host: "there", key: key.id };
            called.admit(1, address).unwrap();
        }
    }
    let link = caller.links[1].as_mut().unwrap();
    link.connection().unwrap().as_fd().as_raw_fd()
}

pub(super) fn part(one: &mut Tcp, other: &mut Tcp) {
    assert!(one.is_settled_with(1) && other.is_settled_with(1));
    one.forget(1, true);
    other.forget(1, true);
    for tcp in [one, other] {
        tcp.poll(&mut conformance::Ignore);
    }
}

#[test]
fn the_contract_is_kept_inside_a_host() {
    let local = |ranks| {
        let mut network = network(ranks, &TcpSettings::default());
        let cards: Vec<_> = network.iter_mut().map(Reach::card).collect();
        for rank in &mut network {
            for (peer, card) in (0..).zip(&cards) {
                rank.set_card(peer, card, "here").unwrap();
            }
        }
        let mut network = connect_all(network);
        for link in network.iter_mut().flat_map(|rank| rank.links.iter_mut().flatten()) {
            assert!(link.connection().unwrap().is_local());
        }
        network
    };
    conformance::check_bare(local);
}

#[test]
fn the_next_meeting_takes_the_connection_of_the_last_one_over() {
    let settings = TcpSettings::default();
    let (mut caller, mut called) = (alone(1, &settings), alone(2, &settings));
    called.open_port(&key(1));
    let first = meet(&mut caller, &mut called, &key(1));
    part(&mut caller, &mut called);
    assert_eq!(meet(&mut caller, &mut called, &key(1)), first);
    part(&mut called, &mut caller);
    // Another port of the process.
    called.open_port(&key(2));
    assert_eq!(meet(&mut caller, &mut called, &key(2)), first);
    part(&mut caller, &mut called);
    // The other way, a connection is made: it has another end that calls.
    caller.open_port(&key(3));
    meet(&mut called, &mut caller, &key(3));
    assert!(caller.strangers.report().is_none() && called.strangers.report().is_none());
}

#[test]
fn a_call_with_a_key_that_is_not_known_is_refused_on_a_kept_connection_too() {
    let settings = TcpSettings::default();
    let (mut caller, mut called) = (alone(1, &settings), alone(2, &settings));
    called.open_port(&key(1));
    meet(&mut caller, &mut called, &key(1));
    part(&mut caller, &mut called);
    called.close_port(key(1).id);
    let card = Reach::card(&mut called);
    call(&mut caller, 2, &card, &key(1));
    let (mut ledger, mut other) = (Ledger::default(), Ledger::default());
    let begin = Instant::now();
    while ledger.failed.is_empty() {
        assert!(begin.elapsed() < LIMIT, "the call is not refused");
        let _ = send(&mut caller, 1, 0);
        caller.poll(&mut ledger);
        called.poll(&mut other);
    }
    assert!(called.take_caller(key(1).id).is_none() && other.from(1) == 0);
    // The secret counts, not its name.
    called.open_port(&ConnectionKey { secret: [9; 32], ..key(1) });
    assert!(called.strangers.report().is_some_and(|text| text.contains("did not prove")));
}

/// The other process has not disconnected yet when a process calls again: what this sends belongs to the next
/// meeting, also if the link of the last one has carried nothing the other way.
#[test]
fn a_call_waits_until_the_other_process_has_disconnected_or_accepts() {
    for disconnects in [true, false] {
        let settings = TcpSettings::default();
        let (mut caller, mut called) = (alone(1, &settings), alone(2, &settings));
        called.open_port(&key(1));
        meet(&mut caller, &mut called, &key(1));
        let cards = [&mut caller, &mut called].map(Reach::card);
        for (tcp, job, card) in [(&mut caller, 2, &cards[1]), (&mut called, 1, &cards[0])] {
            call(tcp, job, card, &key(9));
        }
        caller.forget(1, true);
        call(&mut caller, 2, &cards[1], &key(1));
        let (mut to, mut from) = (Ledger::default(), Ledger::default());
        let begin = Instant::now();
        let mut caught = None;
        while caught.is_none() {
            assert!(begin.elapsed() < LIMIT, "no call");
            let _ = send(&mut caller, 1, 0);
            caller.poll(&mut from);
            called.poll(&mut to);
            caught = called.take_caller(key(1).id);
        }
        if disconnects {
            called.forget(1, true);
        }
        assert_eq!(to.from(1), 0);
        let address =
            ForeignAddress { process: caught.unwrap(), card: "", host: "", key: key(1).id };
        called.admit(1, address).unwrap();
        while to.from(1) == 0 {
            assert!(begin.elapsed() < LIMIT, "no packet");
            let _ = send(&mut caller, 1, 0);
            caller.poll(&mut from);
            called.poll(&mut to);
        }
        assert!(to.failed.is_empty() && from.failed.is_empty());
    }
}
