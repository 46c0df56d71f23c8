//! Clients that lie, leave or are late, and strangers; what all others hear.

use super::*;
use crate::impi::commands::push_coll;
use crate::impi::tests::bytes;
use crate::impi::world::tests::{host, offer};
use crate::impi::{ClientOffer, ImpiClient};
use crate::network::SharedSecret;

const NONE: Authentication = Authentication { accepts_none: true, key: None };

/// A server of two clients in the clear, which need no proof, and client 0 on connection 0.
struct Table {
    server: ImpiServer,
    start: Instant,
    zero: ImpiClient,
    out: Vec<u8>,
}

fn offers() -> [ClientOffer; 2] {
    [offer(&[host(1, &[11])]), offer(&[host(2, &[21, 22])])]
}

impl Table {
    fn new() -> Self {
        let start = Instant::now();
        let (security, timeout) = (ImpiSecurity::Cleartext(NONE), Some(Duration::from_secs(60)));
        let mut server = ImpiServer::new(2, security, [0; 16], timeout, start).unwrap();
        let [offer, _] = offers();
        let mut out = Vec::new();
        let zero = ImpiClient::new(0, offer, NONE, [0; 16], &mut out).unwrap();
        server.connected(0, "10.0.0.1:5000", start);
        let mut table = Self { server, start, zero, out };
        table.move_zero().unwrap();
        table
    }

    /// Client 0 says all that it can; the world, or why there is none.
    fn move_zero(&mut self) -> Result<bool, String> {
        loop {
            if self.server.takes_input(0) {
                self.server.received(0, &std::mem::take(&mut self.out));
            }
            let mut input = std::mem::take(self.server.unsent(0));
            if input.is_empty() {
                return Ok(false);
            }
            if self.zero.advance(&mut input, &mut self.out)?.is_some() {
                return Ok(true);
            }
        }
    }

    /// Connection 1 has joined as this client.
    fn with_other(number: u32) -> Self {
        let mut table = Self::new();
        table.server.connected(1, "10.0.0.2:6000", table.start);
        table.say(&join_as(number));
        table
    }

    /// Connection 1 says this.
    fn say(&mut self, said: &[u8]) {
        self.server.received(1, said);
        let _ = self.move_zero();
    }

    /// What connection 1 has heard last.
    fn heard_by_other(&mut self) -> String {
        let heard = std::mem::take(self.server.unsent(1));
        let at = heard.windows(4).position(|part| part == b"FAIL").expect("there is no FAIL");
        String::from_utf8(heard[at + 8..].to_vec()).unwrap()
    }

    /// Why the start-up has failed; both clients have heard it.
    fn failure(mut self) -> String {
        let Some(ImpiOutcome::Failed(why)) = self.server.outcome().cloned() else {
            panic!("{:?}", self.server.outcome())
        };
        let heard = self.zero.advance(self.server.unsent(0), &mut Vec::new());
        let before = self.zero.advance(&mut Vec::new(), &mut Vec::new());
        assert!(heard == Err(why.clone()) || before == Err(why.clone()), "{heard:?} {before:?}");
        assert!(self.server.is_ending(0));
        why
    }
}

fn join_as(number: u32) -> Vec<u8> {
    let mut said = bytes("41555448 00000004 00000001 494d5049 00000004");
    said.extend_from_slice(&number.to_be_bytes());
    said
}

/// All COLL commands of client 1, of which `change` may change each, up to `last`.
fn values(last: Label, change: impl Fn(Label, &mut Vec<u8>)) -> Vec<u8> {
    let mut said = Vec::new();
    let [_, offer] = offers();
    for label in Label::ALL.into_iter().filter(|label| label.code() <= last.code()) {
        let mut value = crate::impi::agreement::value(&offer, label);
        change(label, &mut value);
        push_coll(&mut said, label, &value);
    }
    said
}

#[test]
fn a_client_may_say_all_at_once() {
    let mut table = Table::with_other(1);
    table.say(&values(Label::ProcessPid, |_, _| {}));
    assert!(!table.server.has_started());
    table.say(&bytes("444f4e45 00000000"));
    assert!(table.server.has_started());
    let notes = table.server.take_notes().join("\n");
    let expected = "client 0 has joined from 10.0.0.1:5000\nclient 1 has joined from 10.0.0.2:6000\n\
                    all 2 clients have started";
    assert_eq!(notes, expected);
}

#[test]
fn numbers_that_do_not_exist_or_are_taken_are_refused_and_the_start_up_goes_on() {
    for (number, why) in [
        (0, "it is client 0, which is already 10.0.0.1:5000"),
        (2, "it is client 2; expected 0 to 1, because the server was started for 2"),
        (u32::MAX, "it is client 4294967295; expected 0 to 1"),
    ] {
        let mut table = Table::with_other(number);
        let heard = table.heard_by_other();
        assert!(heard.starts_with("the server has refused this connection: "), "{heard}");
        assert!(heard.contains(why), "{heard}");
        assert!(table.server.is_ending(1) && table.server.outcome().is_none());
        let notes = table.server.take_notes();
        assert!(notes[1].starts_with("a connection from 10.0.0.2:6000 was refused: "), "{notes:?}");
        table.server.closed(1);
        table.server.connected(2, "10.0.0.2:6001", table.start);
        table.server.received(2, &join_as(1));
        assert!(table.server.take_notes()[0].starts_with("client 1 has joined"));
    }
}

#[test]
fn a_lie_ends_the_start_up_with_a_sentence_for_all() {
    let said = |changed: Label, value: &[u8]| {
        values(changed, |label, all| {
            if label == changed {
                *all = value.to_vec();
            }
        })
    };
    for (said, part) in [
        (said(Label::Version, &[0, 0, 0, 1, 0, 0, 0, 0]), "client 1: C_VERSION is 1.0"),
        (said(Label::HostCount, &[0; 4]), "client 1: C_NHOSTS is 0; expected 1 to 65536"),
        (said(Label::HostCount, &[0; 3]), "client 1: C_NHOSTS has 3 bytes; expected 4"),
        (said(Label::CollectiveXsize, &[0, 0, 2, 0]), "client 1: C_COLL_XSIZE is 512 and that of"),
        (said(Label::CollectiveMaxLinear, &[0; 4]), "client 1: C_COLL_MAXLINEAR is 0 and that of"),
        (said(Label::HostProcesses, &[0, 0, 0, 1]), "client 1: the sum of H_NPROCS is 1; expected"),
        (said(Label::ProcessPid, &[0; 8]), "client 1: P_PID has 8 bytes; expected 16"),
        (said(Label::ProcessPid, &[0; 16]), "client 1 has two processes with P_IPV6 10.0.0.2"),
        (bytes("434f4c4c 00000008 00001100 00000001"), "client 1: it sent the label C_NHOSTS; ex"),
        (bytes("434f4c4c 00000008 00001050 00000001"), "the label 0x1050, which does not exist"),
        (bytes("434f4c4c 7fffffff"), "client 1: C_VERSION has 2147483643 bytes"),
        (bytes("434f4c4c 00000000"), "client 1: C_VERSION has -4 bytes"),
        (
            bytes("444f4e45 00000000"),
            "client 1: it sent the command DONE, which has no meaning now",
        ),
        (bytes("46494e49 00000000"), "client 1: it sent the command FINI"),
        (bytes("48545450 00000000"), "client 1: it sent 0x48545450, which is no command of IMPI"),
    ] {
        let mut table = Table::with_other(1);
        table.say(&said);
        let heard = table.heard_by_other();
        let why = table.failure();
        assert!(why.contains(part), "{why}");
        assert!(why.ends_with("(client 1 is 10.0.0.2:6000)"), "{why}");
        assert_eq!(heard, why);
    }
}

#[test]
fn a_client_that_leaves_before_done_ends_the_start_up() {
    let lost = "client 1 (10.0.0.2:6000) is lost: it has closed its connection";
    for said in
        [Vec::new(), values(Label::TagBound, |_, _| {}), values(Label::ProcessPid, |_, _| {})]
    {
        let mut table = Table::with_other(1);
        table.say(&said);
        table.server.closed(1);
        let _ = table.move_zero();
        assert_eq!(table.failure(), lost);
    }
    // Before others have joined, too.
    let mut table = Table::new();
    table.server.closed(0);
    let expected = "client 0 (10.0.0.1:5000) is lost: it has closed its connection".to_owned();
    assert_eq!(table.server.outcome(), Some(&ImpiOutcome::Failed(expected)));
}

fn started() -> Table {
    let mut table = Table::with_other(1);
    table.say(&values(Label::ProcessPid, |_, _| {}));
    table.say(&bytes("444f4e45 00000000"));
    assert!(table.server.has_started());
    table.server.take_notes();
    table
}

#[test]
fn after_the_start_up_the_ends_of_clients_are_counted() {
    let mut table = started();
    table.say(&bytes("46494e49 00000000"));
    table.server.closed(1);
    assert_eq!(table.server.outcome(), None);
    table.server.received(0, &bytes("46494e49 00000000"));
    assert_eq!(table.server.outcome(), Some(&ImpiOutcome::Finished { lost: Vec::new() }));
    // One that ends without FINI, or says something else.
    for last in ["", "444f4e45 00000000"] {
        let mut table = started();
        table.say(&bytes(last));
        table.server.closed(1);
        let notes = table.server.take_notes();
        let part = "client 1 (10.0.0.2:6000) has ended without FINI: it ";
        assert!(notes.len() == 1 && notes[0].starts_with(part), "{notes:?}");
        table.server.received(0, &bytes("46494e49 00000000"));
        assert_eq!(table.server.outcome(), Some(&ImpiOutcome::Finished { lost: vec![1] }));
    }
    // Others come too late.
    let mut table = started();
    table.server.connected(2, "10.0.0.3:1", table.start);
    table.server.received(2, &join_as(1));
    assert!(table.server.is_ending(2));
}

#[test]
fn what_is_late_is_named() {
    let late = |table: &mut Table| {
        let at = table.start + Duration::from_secs(60);
        assert_eq!(table.server.next_deadline(table.start).map(|next| next <= at), Some(true));
        table.server.tick(at - Duration::from_millis(1));
        assert_eq!(table.server.outcome(), None);
        table.server.tick(at);
        let _ = table.move_zero();
    };
    let mut table = Table::new();
    late(&mut table);
    assert_eq!(table.failure(), "after 60s, client 1 of 2 has not joined");
    let mut table = Table::with_other(1);
    table.say(&values(Label::DataLen, |_, _| {}));
    late(&mut table);
    assert_eq!(table.failure(), "after 60s, client 1 of 2 has not sent C_TAGUB");
    let mut table = Table::with_other(1);
    table.say(&values(Label::ProcessPid, |_, _| {}));
    late(&mut table);
    assert_eq!(table.failure(), "after 60s, client 1 of 2 has not sent DONE");
    assert_eq!(missing_text(&[0, 3, 4], 5, "joined"), "clients 0, 3 and 4 of 5 have not joined");
    let mut table = started();
    assert_eq!(table.server.next_deadline(table.start), None);
    table.server.tick(table.start + Duration::from_secs(3600));
    assert_eq!(table.server.outcome(), None);
}

#[test]
fn a_silent_stranger_is_closed_in_time_and_a_flood_costs_the_oldest() {
    let mut table = Table::new();
    table.server.connected(1, "a", table.start);
    let closes_at = table.start + PROOF_TIMEOUT;
    assert_eq!(table.server.next_deadline(table.start), Some(closes_at));
    table.server.tick(table.start + PROOF_TIMEOUT);
    assert!(table.server.is_ending(1) && !table.server.takes_input(1));
    for connection in 2..2 + STRANGERS_MAX as u32 {
        assert!(table.server.has_room(table.start));
        table.server.connected(connection, "b", table.start);
    }
    // Each has a second.
    let fair = table.start + PROOF_TIME_MIN;
    assert!(!table.server.has_room(table.start) && table.server.has_room(fair));
    assert_eq!(table.server.next_deadline(table.start), Some(fair));
    assert_eq!(table.server.next_deadline(fair), Some(closes_at));
    for connection in 0..10 {
        let connection = 2 + STRANGERS_MAX as u32 + connection;
        table.server.connected(connection, "b", fair);
        assert!(!table.server.is_ending(connection));
    }
    let ending = (2..).take_while(|it| table.server.is_ending(*it)).count();
    assert_eq!(ending, 10);
    assert!(!table.server.is_ending(0));
    for connection in 100..100 + 2 * REFUSALS_REPORTED {
        table.server.received(connection, b"GET / HTTP/1.1\r\n");
        assert!(table.server.is_ending(connection));
    }
    // A flood does not fill a log.
    let notes = table.server.take_notes();
    assert!(notes.len() < 2 * REFUSALS_REPORTED as usize, "{}", notes.len());
    assert_eq!(notes.last().map(String::as_str), Some("further refusals are not reported"));
    assert_eq!(table.server.outcome(), None);
}

#[test]
fn a_client_that_is_ahead_is_read_up_to_a_limit() {
    let start = Instant::now();
    let mut server =
        ImpiServer::new(2, ImpiSecurity::Cleartext(NONE), [0; 16], None, start).unwrap();
    let read = |server: &mut ImpiServer, bytes: &[u8]| {
        let mut count = 0;
        while server.takes_input(1) {
            server.received(1, bytes);
            count += bytes.len();
        }
        count
    };
    server.connected(1, "ahead", start);
    server.received(1, &join_as(1));
    // The other client has not joined: what this one says is not looked at.
    let count = read(&mut server, &[0; 4096]);
    assert!((2 << 20..3 << 20).contains(&count), "{count}");
    assert_eq!(server.outcome(), None);
}

#[test]
fn sealed_clients_join_and_others_hear_nothing() {
    let secret = SharedSecret([3; 32]);
    let now = Instant::now();
    let mut server =
        ImpiServer::new(1, ImpiSecurity::Sealed(secret.clone()), [9; 16], None, now).unwrap();
    for (connection, said) in [(0, join_as(0)), (1, b"\xf5suiro\x09\x00xx".to_vec())] {
        server.connected(connection, "clear", now);
        server.received(connection, &said);
        assert!(server.is_ending(connection) && server.unsent(connection).is_empty());
    }
    let mut other = ImpiChannel::sealed_client(&SharedSecret([4; 32]));
    server.connected(2, "other key", now);
    server.received(2, &other.unsent);
    other.unsent.clear();
    assert!(server.is_ending(2) && server.unsent(2).is_empty());
    let mut channel = ImpiChannel::sealed_client(&secret);
    server.connected(3, "client", now);
    let [offer, _] = offers();
    let mut client = None;
    for _ in 0..40 {
        server.received(3, &std::mem::take(&mut channel.unsent));
        channel.receive(&std::mem::take(server.unsent(3))).unwrap();
        if !channel.is_open() {
            continue;
        }
        let mut out = Vec::new();
        let client = client.get_or_insert_with(|| {
            ImpiClient::new(0, offer.clone(), NONE, channel.world(), &mut out).unwrap()
        });
        if let Some(world) = client.advance(&mut channel.input, &mut out).unwrap() {
            assert_eq!(world.id, [9; 16]);
            return;
        }
        channel.send(&out);
    }
    panic!("{:?}", server.take_notes());
}
