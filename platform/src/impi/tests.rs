//! The start-up byte for byte: transcripts written from the protocol document and what other
//! implementations send, not from the output of this one. And random bytes at both ends.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::world::tests::{host, offer, offers, world};
use super::*;
use crate::network::fuzz;

/// What clients 0 and 1 say, and what the server answers to each of them, in hexadecimal digits.
struct Turn([&'static str; 2], &'static str);

/// Client 0 has one process (pid 11) on 10.0.0.1, port 40001; client 1 has two (pids 21, 22) on 10.0.0.2,
/// port 40002. Both prove the key 5678 and could do without.
const TRANSCRIPT: &[Turn] = &[
    // AUTH with a mask of both mechanisms; the server wants the key, 8 bytes, and sends no header.
    Turn(["41555448 00000004 00000003", "41555448 00000004 00000003"], "00000001 00000008"),
    // The key; IMPI with the number of the client. The answer has the number of clients.
    Turn(
        [
            "00000000 0000162e 494d5049 00000004 00000000",
            "00000000 0000162e 494d5049 00000004 00000001",
        ],
        "494d5049 00000004 00000002",
    ),
    // C_VERSION: 0.0.
    Turn(
        [
            "434f4c4c 0000000c 00001000 00000000 00000000",
            "434f4c4c 0000000c 00001000 00000000 00000000",
        ],
        "434f4c4c 00000018 00001000 00000003 00000000 00000000 00000000 00000000",
    ),
    // C_NHOSTS.
    Turn(
        ["434f4c4c 00000008 00001100 00000001", "434f4c4c 00000008 00001100 00000001"],
        "434f4c4c 00000010 00001100 00000003 00000001 00000001",
    ),
    // C_NPROCS.
    Turn(
        ["434f4c4c 00000008 00001200 00000001", "434f4c4c 00000008 00001200 00000002"],
        "434f4c4c 00000010 00001200 00000003 00000001 00000002",
    ),
    // C_DATALEN.
    Turn(
        ["434f4c4c 00000008 00001300 00010000", "434f4c4c 00000008 00001300 000003e8"],
        "434f4c4c 00000010 00001300 00000003 00010000 000003e8",
    ),
    // C_TAGUB.
    Turn(
        ["434f4c4c 00000008 00001400 7fffffff", "434f4c4c 00000008 00001400 00007fff"],
        "434f4c4c 00000010 00001400 00000003 7fffffff 00007fff",
    ),
    // C_COLL_XSIZE: the default, and its value.
    Turn(
        ["434f4c4c 00000008 00001500 ffffffff", "434f4c4c 00000008 00001500 00000400"],
        "434f4c4c 00000010 00001500 00000003 ffffffff 00000400",
    ),
    // C_COLL_MAXLINEAR.
    Turn(
        ["434f4c4c 00000008 00001600 ffffffff", "434f4c4c 00000008 00001600 00000004"],
        "434f4c4c 00000010 00001600 00000003 ffffffff 00000004",
    ),
    // H_IPV6: an address of IPv4 is in the last four bytes.
    Turn(
        [
            "434f4c4c 00000014 00002000 00000000 00000000 00000000 0a000001",
            "434f4c4c 00000014 00002000 00000000 00000000 00000000 0a000002",
        ],
        "434f4c4c 00000028 00002000 00000003 \
         00000000 00000000 00000000 0a000001 00000000 00000000 00000000 0a000002",
    ),
    // H_PORT.
    Turn(
        ["434f4c4c 00000008 00002100 00009c41", "434f4c4c 00000008 00002100 00009c42"],
        "434f4c4c 00000010 00002100 00000003 00009c41 00009c42",
    ),
    // H_NPROCS.
    Turn(
        ["434f4c4c 00000008 00002200 00000001", "434f4c4c 00000008 00002200 00000002"],
        "434f4c4c 00000010 00002200 00000003 00000001 00000002",
    ),
    // H_ACKMARK.
    Turn(
        ["434f4c4c 00000008 00002300 0000000a", "434f4c4c 00000008 00002300 0000000a"],
        "434f4c4c 00000010 00002300 00000003 0000000a 0000000a",
    ),
    // H_HIWATER.
    Turn(
        ["434f4c4c 00000008 00002400 00000014", "434f4c4c 00000008 00002400 00000014"],
        "434f4c4c 00000010 00002400 00000003 00000014 00000014",
    ),
    // P_IPV6.
    Turn(
        [
            "434f4c4c 00000014 00003000 00000000 00000000 00000000 0a000001",
            "434f4c4c 00000024 00003000 00000000 00000000 00000000 0a000002 \
             00000000 00000000 00000000 0a000002",
        ],
        "434f4c4c 00000038 00003000 00000003 00000000 00000000 00000000 0a000001 \
         00000000 00000000 00000000 0a000002 00000000 00000000 00000000 0a000002",
    ),
    // P_PID: 8 bytes.
    Turn(
        [
            "434f4c4c 0000000c 00003100 00000000 0000000b",
            "434f4c4c 00000014 00003100 00000000 00000015 00000000 00000016",
        ],
        "434f4c4c 00000020 00003100 00000003 \
         00000000 0000000b 00000000 00000015 00000000 00000016",
    ),
    // DONE.
    Turn(["444f4e45 00000000", "444f4e45 00000000"], "444f4e45 00000000"),
];

const FINI: &str = "46494e49 00000000";

pub(super) fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<_> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn both() -> Authentication {
    Authentication { accepts_none: true, key: Some(5678) }
}

/// The offers of the transcript.
fn offers_of_transcript() -> [ClientOffer; 2] {
    let (one, mut other) = (offer(&[host(1, &[11])]), offer(&[host(2, &[21, 22])]));
    (other.data_len, other.tag_ub) = (1000, 32767);
    (other.collective_xsize, other.collective_max_linear) = (1024, 4);
    [one, other].map(|offer| ClientOffer { representation: None, ..offer })
}

fn world_of_transcript() -> World {
    let client = |offer: ClientOffer| WorldClient { hosts: offer.hosts, representation: None };
    let clients = offers_of_transcript().map(client).to_vec();
    World { id: [0; 16], data_len: 1000, tag_ub: 32767, clients, ..world() }
}

#[test]
fn the_server_follows_the_transcript() {
    let security = ImpiSecurity::Cleartext(both());
    let now = Instant::now();
    let mut server = ImpiServer::new(2, security, [0; 16], None, now).unwrap();
    server.connected(0, "zero", now);
    server.connected(1, "one", now);
    for Turn(said, answer) in TRANSCRIPT {
        for (client, said) in (0..).zip(said) {
            server.received(client, &bytes(said));
        }
        for client in 0..2 {
            let sent = std::mem::take(server.unsent(client));
            assert_eq!(sent, bytes(answer), "{client}: {said:?}");
        }
    }
    assert!(server.has_started() && server.outcome().is_none());
    for client in 0..2 {
        server.received(client, &bytes(FINI));
        assert!(server.is_ending(client) && server.unsent(client).is_empty());
    }
    assert_eq!(server.outcome(), Some(&ImpiOutcome::Finished { lost: Vec::new() }));
}

#[test]
fn clients_follow_the_transcript() {
    for (number, offer) in (0..).zip(offers_of_transcript()) {
        let mut out = Vec::new();
        let mut client = ImpiClient::new(number, offer, both(), [0; 16], &mut out).unwrap();
        let mut agreed = None;
        for Turn(said, answer) in TRANSCRIPT {
            assert_eq!(out, bytes(said[number as usize]));
            assert_eq!(agreed, None);
            out.clear();
            // One byte at a time.
            let mut input = Vec::new();
            for byte in bytes(answer) {
                input.push(byte);
                agreed = client.advance(&mut input, &mut out).unwrap();
            }
            assert!(input.is_empty());
        }
        assert_eq!(agreed, Some(world_of_transcript()));
        assert!(out.is_empty());
    }
}

#[test]
fn without_a_key_the_server_chooses_no_proof() {
    // NONE alone: a mask of 1, and mechanism 0 with no bytes.
    let none = Authentication { accepts_none: true, key: None };
    let mut out = Vec::new();
    let [one, _] = offers_of_transcript();
    let mut client = ImpiClient::new(0, one, none, [0; 16], &mut out).unwrap();
    assert_eq!(out, bytes("41555448 00000004 00000001"));
    out.clear();
    client.advance(&mut bytes("00000000 00000000"), &mut out).unwrap();
    assert_eq!(out, bytes("494d5049 00000004 00000000"));
    let now = Instant::now();
    let security = ImpiSecurity::Cleartext(none);
    let mut server = ImpiServer::new(1, security, [0; 16], None, now).unwrap();
    server.connected(0, "zero", now);
    server.received(0, &bytes("41555448 00000004 00000003"));
    assert_eq!(std::mem::take(server.unsent(0)), bytes("00000000 00000000"));
}

/// A client that has taken this number of answers of the transcript.
fn client_after(turns: usize) -> ImpiClient {
    let [one, _] = offers_of_transcript();
    let mut out = Vec::new();
    let mut client = ImpiClient::new(0, one, both(), [0; 16], &mut out).unwrap();
    for Turn(_, answer) in &TRANSCRIPT[..turns] {
        client.advance(&mut bytes(answer), &mut out).unwrap();
    }
    client
}

#[test]
fn a_client_names_what_a_server_does_wrong() {
    let why = |turns: usize, answer: &str| {
        let mut client = client_after(turns);
        let why = client.advance(&mut bytes(answer), &mut Vec::new()).unwrap_err();
        // The same later.
        assert_eq!(client.advance(&mut Vec::new(), &mut Vec::new()), Err(why.clone()));
        why
    };
    for (turns, answer, expected) in [
        (0, "00000002 00000008", "the server wants the authentication 2"),
        (0, "00000001 00000004", "the server wants a key of 4 bytes; expected 8"),
        (1, "494d5049 00000004 00000000", "the server has 0 clients, of which this one is 0"),
        (1, "494d5049 00000004 00000021", "the server has 33 clients"),
        (1, "494d5049 00000008", "it sent a command IMPI of 8 bytes"),
        (1, "444f4e45 00000000", "it sent the command DONE"),
        (1, "48454c4f 00000000", "it sent 0x48454c4f, which is no command of IMPI (\"HELO\")"),
        (3, "434f4c4c 00000010 00001200 00000003", "expected"),
        (
            3,
            "434f4c4c 00000010 00001200 00000003 00000001 00000001",
            "the server answers C_NHOSTS with C_NPROCS",
        ),
        (
            3,
            "434f4c4c 00000010 00001100 00000001 00000001 00000001",
            "the server sends C_NHOSTS of the clients 0x1; expected 0x3",
        ),
        (3, "434f4c4c 0000000c", "it sent a command COLL of 12 bytes"),
        (
            3,
            "434f4c4c 00000010 00001100 00000003 00000001 00010001",
            "client 1: C_NHOSTS is 65537; expected 1 to 65536",
        ),
        (16, "434f4c4c 00000000", "it sent the command COLL"),
        (5, "4641494c 00000005 6f682c0a21", "oh, !"),
    ] {
        if expected == "expected" {
            // Not all of the answer is there.
            let mut client = client_after(turns);
            assert_eq!(client.advance(&mut bytes(answer), &mut Vec::new()), Ok(None));
            continue;
        }
        let why = why(turns, answer);
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn impossible_offers_are_refused_before_anything_is_said() {
    let refused = |number, change: fn(&mut ClientOffer)| {
        let [mut one, _] = offers_of_transcript();
        change(&mut one);
        ImpiClient::new(number, one, both(), [0; 16], &mut Vec::new()).unwrap_err()
    };
    assert_eq!(refused(32, |_| {}), "there is no client 32; expected 0 to 31");
    let why = refused(2, |offer| offer.hosts[0].ack_mark = 0);
    assert!(why.starts_with("client 2: H_ACKMARK is 0"), "{why}");
    let why = refused(2, |offer| offer.hosts.clear());
    assert!(why.starts_with("client 2: C_NHOSTS is 0"), "{why}");
}

#[test]
fn a_client_takes_random_answers_without_harm() {
    let random = (0..17_usize, vec((0..400_usize, any::<u8>()), 0..4), vec(any::<u8>(), 0..40));
    fuzz::for_each(random, |(turns, changes, more)| {
        let mut client = client_after(turns);
        let mut input = bytes(TRANSCRIPT[turns].1);
        for (at, byte) in changes {
            let at = at % input.len();
            input[at] = byte;
        }
        input.extend_from_slice(&more);
        let mut out = Vec::new();
        if let Ok(Some(world)) = client.advance(&mut input, &mut out) {
            prop_assert_eq!(World::parse(&world.emit()), Ok(world));
        }
        prop_assert!(out.len() < 4096);
        Ok(())
    });
}

/// Honest clients of a server, by bytes; they join while others disturb.
struct HonestClients {
    server: ImpiServer,
    clients: Vec<(ImpiClient, Vec<u8>, Vec<u8>)>,
    worlds: Vec<World>,
}

impl HonestClients {
    /// The connections have the numbers from `first`.
    fn new() -> Self {
        let now = Instant::now();
        let timeout = Some(Duration::from_secs(60));
        // Strangers cannot prove themselves.
        let security = ImpiSecurity::Cleartext(Authentication { accepts_none: false, ..both() });
        let mut server = ImpiServer::new(3, security, [0; 16], timeout, now).unwrap();
        let clients = (0..).zip(offers()).map(|(number, offer)| {
            server.connected(number, "honest", now);
            let mut out = Vec::new();
            let client = ImpiClient::new(number, offer, both(), [7; 16], &mut out).unwrap();
            (client, Vec::new(), out)
        });
        let clients = clients.collect();
        Self { server, clients, worlds: Vec::new() }
    }

    /// Moves all that the clients say to the server, and back.
    fn exchange(&mut self) {
        for (number, (client, input, out)) in (0..).zip(&mut self.clients) {
            self.server.received(number, &std::mem::take(out));
            input.append(self.server.unsent(number));
            self.worlds.extend(client.advance(input, out).unwrap());
        }
    }
}

#[test]
fn strangers_do_not_disturb_clients() {
    let random = vec((3..40_u32, vec(any::<u8>(), 0..30), 0..4_u8), 0..60);
    fuzz::for_each(random, |strangers| {
        let mut all = HonestClients::new();
        let mut connections = Vec::new();
        for (connection, mut said, kind) in strangers {
            if !connections.contains(&connection) {
                all.server.connected(connection, "a stranger", Instant::now());
                connections.push(connection);
            }
            match kind {
                // What a client says first, without a proof.
                0 => said.splice(0..0, bytes("41555448 00000004 00000001")).for_each(drop),
                // The key of another world.
                1 => {
                    let wrong = "41555448 00000004 00000002 00000000 0000162f";
                    said.splice(0..0, bytes(wrong)).for_each(drop);
                }
                2 => all.server.closed(connection),
                _ => {}
            }
            if all.server.takes_input(connection) {
                all.server.received(connection, &said);
            }
            if kind == 2 {
                connections.retain(|it| *it != connection);
            }
            all.exchange();
        }
        (0..60).for_each(|_| all.exchange());
        prop_assert_eq!(all.server.outcome(), None);
        prop_assert_eq!(&all.worlds, &vec![world(); 3]);
        Ok(())
    });
}

#[test]
fn what_a_client_of_the_world_says_harms_no_process() {
    let random = (0..17_usize, vec((0..400_usize, any::<u8>()), 0..4), vec(any::<u8>(), 0..40));
    fuzz::for_each(random, |(turns, changes, more)| {
        let now = Instant::now();
        let security = ImpiSecurity::Cleartext(both());
        let mut server = ImpiServer::new(2, security, [0; 16], None, now).unwrap();
        server.connected(0, "honest", now);
        server.connected(1, "liar", now);
        for (turn, Turn(said, _)) in TRANSCRIPT.iter().enumerate().take(turns + 1) {
            server.received(0, &bytes(said[0]));
            let mut lie = bytes(said[1]);
            if turn == turns {
                for (at, byte) in &changes {
                    let at = *at % lie.len();
                    lie[at] = *byte;
                }
                lie.extend_from_slice(&more);
            }
            server.received(1, &lie);
        }
        // The honest client hears what has happened, and the sentence names the other one or what it says.
        if let Some(ImpiOutcome::Failed(why)) = server.outcome().cloned() {
            prop_assert!(why.contains("client 1") || why.contains("clients 0 and 1"), "{}", why);
            let heard = server.unsent(0).clone();
            prop_assert!(heard.windows(4).any(|part| part == b"FAIL"));
        }
        prop_assert!(server.unsent(0).len() < 8192 && server.unsent(1).len() < 8192);
        Ok(())
    });
}
