#![allow(unsafe_code)]

mod between_jobs;
mod near;
mod one_sided;
mod programs;
mod simulation;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::*;
use crate::device::conformance;
use platform::base::Random;

/// The time without progress after which a test fails.
const LIMIT: Duration = Duration::from_secs(60);

/// A job of this number of ranks, each with the cards of all, in this process.
fn network(ranks: usize, settings: &TcpSettings) -> Vec<Tcp> {
    keyed(&vec![[5; 32]; ranks], settings)
}

/// The same, with the secret that each rank knows.
fn keyed(secrets: &[[u8; 32]], settings: &TcpSettings) -> Vec<Tcp> {
    let listen = |(me, secret): (Peer, &[u8; 32])| {
        let job = JobKey { id: [3; 16], secret: *secret };
        let addresses = vec![Ipv4Addr::LOCALHOST.into()];
        Tcp::listen_at(me, secrets.len(), job, settings, addresses).unwrap()
    };
    let mut network: Vec<_> = (0..).zip(secrets).map(listen).collect();
    let cards: Vec<_> = network.iter().map(|rank| rank.card().to_owned()).collect();
    for rank in &mut network {
        for (peer, card) in (0..).zip(&cards) {
            rank.set_card(peer, card, "here").unwrap();
        }
    }
    network
}

/// The same, with a connection between each two ranks.
fn connected(ranks: usize, settings: &TcpSettings) -> Vec<Tcp> {
    connect_all(network(ranks, settings))
}

fn connect_all(mut network: Vec<Tcp>) -> Vec<Tcp> {
    let ranks = network.len();
    for (me, rank) in (0..).zip(&mut network) {
        // A datagram would give up after a second, which a loaded machine may need.
        (0..me).for_each(|peer| rank.connect(peer));
    }
    let begin = Instant::now();
    while network.iter().any(|rank| rank.open.len() < ranks - 1) {
        assert!(begin.elapsed() < LIMIT, "no connection");
        for rank in &mut network {
            rank.poll(&mut conformance::Ignore);
        }
    }
    network
}

fn endpoint(rank: &Tcp) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, rank.acceptor.port()).into()
}

/// What one rank has received: packets by number, each with its length and bytes, some of them placed.
#[derive(Default)]
struct Ledger {
    next: Vec<u64>,
    place: Vec<u8>,
    returned: Vec<u32>,
    failed: Vec<(Peer, String)>,
    datagrams: Vec<(Peer, Vec<u8>)>,
    /// Announcements of room.
    rooms: u32,
}

fn length(number: u64) -> usize {
    Random::new(number).below(if number.is_multiple_of(5) { 400_000 } else { 90 }) as usize
}

impl PacketSink for Ledger {
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        let [number, _] = header.words;
        let from = from as usize;
        self.next.resize(self.next.len().max(from + 1), 0);
        assert_eq!((number, data.len()), (self.next[from], length(number)));
        assert!(data.iter().all(|byte| *byte == number as u8), "packet {number} is damaged");
        self.next[from] += 1;
    }

    fn place(&mut self, _from: Peer, header: &Header, len: usize) -> Option<Span> {
        assert!(self.place.is_empty(), "asked twice");
        if header.words[0].is_multiple_of(2) {
            return None;
        }
        self.place = vec![0; len];
        // SAFETY: not used otherwise before `placed`.
        Some(unsafe { Span::of(&mut self.place) })
    }

    fn placed(&mut self, from: Peer, header: &Header, _len: usize) {
        let data = std::mem::take(&mut self.place);
        self.packet(from, header, &data);
    }

    fn sent(&mut self, _to: Peer, token: u32) {
        self.returned.push(token);
    }

    fn room(&mut self, _peer: Peer) {
        self.rooms += 1;
    }

    fn datagram(&mut self, from: Peer, data: &[u8]) {
        self.datagrams.push((from, data.to_vec()));
    }

    fn failed(&mut self, peer: Peer, why: &str) {
        self.failed.push((peer, why.to_owned()));
    }
}

impl Ledger {
    fn from(&self, peer: Peer) -> u64 {
        self.next.get(peer as usize).copied().unwrap_or(0)
    }
}

/// Polls until `is_over`.
#[track_caller]
fn poll_until<const N: usize>(
    ranks: &mut [Tcp], ledgers: &mut [Ledger; N],
    mut is_over: impl FnMut(&[Tcp], &[Ledger; N]) -> bool,
) {
    let begin = Instant::now();
    while !is_over(ranks, ledgers) {
        assert!(begin.elapsed() < LIMIT, "no progress");
        for (rank, ledger) in ranks.iter_mut().zip(ledgers.iter_mut()) {
            rank.poll(ledger);
        }
    }
}

fn send(rank: &mut Tcp, to: Peer, number: u64) -> Result<(), Busy> {
    let header = Header { words: [number, 0], kind: 1 };
    rank.send(to, &header, length(number), |data| data.fill(number as u8))
}

/// Sends a packet between two of `ranks`; all poll until it is accepted.
fn send_connecting<const N: usize>(
    ranks: &mut [Tcp], ledgers: &mut [Ledger; N], from: usize, to: Peer, number: u64,
) {
    let begin = Instant::now();
    while send(&mut ranks[from], to, number).is_err() {
        assert!(begin.elapsed() < LIMIT, "no connection");
        for (rank, ledger) in ranks.iter_mut().zip(ledgers.iter_mut()) {
            rank.poll(ledger);
        }
    }
}

#[test]
fn the_contract_is_kept() {
    conformance::check(|ranks| connected(ranks, &TcpSettings::default()));
}

#[test]
fn what_a_network_does_is_kept() {
    // The process ends, and another job begins.
    let end = |tcp: &mut Tcp| {
        let job = JobKey { id: [0; 16], secret: [0; 32] };
        *tcp = Tcp::listen_at(0, 1, job, &TcpSettings::default(), Vec::new()).unwrap();
    };
    conformance::check_network(|ranks| connected(ranks, &TcpSettings::default()), end);
}

#[test]
fn the_contract_is_kept_with_every_byte_encrypted() {
    let settings = TcpSettings { crypt: CryptMode::Full, ..TcpSettings::default() };
    conformance::check_bare(|ranks| connected(ranks, &settings));
}

#[test]
fn every_packet_arrives_once_over_connections_that_are_cut() {
    const PACKETS: u64 = 400;
    for crypt in [CryptMode::Auth, CryptMode::Full] {
        let settings = TcpSettings { crypt, ..TcpSettings::default() };
        let mut ranks = network(2, &settings);
        let mut ledgers = [Ledger::default(), Ledger::default()];
        let lent: Vec<Vec<u8>> = (0..PACKETS).map(|it| vec![it as u8; length(it)]).collect();
        let (mut random, mut sent, mut cuts) = (Random::new(9), [0; 2], 0);
        let mut tokens = [0; 2];
        let begin = Instant::now();
        while ledgers[0].from(1) < PACKETS
            || ledgers[1].from(0) < PACKETS
            || ranks.iter().any(|rank| !rank.is_drained())
        {
            assert!(begin.elapsed() < LIMIT, "no progress after {cuts} cuts");
            let me = random.below(2) as usize;
            let to = 1 - me as Peer;
            if sent[me] < PACKETS {
                let number = sent[me];
                let done = if number % 3 == 0 {
                    let data = &lent[number as usize];
                    // SAFETY: alive to the end, and only read.
                    let data = unsafe { Span::new(data.as_ptr(), data.len()) };
                    let header = Header { words: [number, 0], kind: 1 };
                    ranks[me].send_lent(to, &header, data, number as u32)
                } else {
                    send(&mut ranks[me], to, number)
                };
                sent[me] += u64::from(done.is_ok());
                tokens[me] += usize::from(done.is_ok() && number % 3 == 0);
            }
            if random.one_in(60)
                && let Some(connection) =
                    ranks[me].links[to as usize].as_mut().and_then(|link| link.connection())
            {
                connection.cut();
                cuts += 1;
            }
            ranks[me].poll(&mut ledgers[me]);
        }
        assert!(cuts > 3, "{cuts} cuts");
        for (ledger, tokens) in ledgers.iter().zip(tokens) {
            assert_eq!((ledger.returned.len(), &*ledger.failed), (tokens, &[][..]));
        }
    }
}

/// The sender may compute afterwards.
#[test]
fn a_packet_is_accepted_once_it_can_leave() {
    for crypt in [CryptMode::Auth, CryptMode::Full] {
        let settings = TcpSettings { crypt, ..TcpSettings::default() };
        let mut ranks = network(2, &settings);
        let mut ledgers = [Ledger::default(), Ledger::default()];
        send_connecting(&mut ranks, &mut ledgers, 0, 1, 0);
        let begin = Instant::now();
        while ledgers[1].from(0) == 0 {
            assert!(begin.elapsed() < LIMIT, "the packet did not leave");
            ranks[1].poll(&mut ledgers[1]);
        }
        assert!(ledgers[0].rooms > 0);
    }
}

#[test]
fn connections_that_cross_become_one() {
    for _ in 0..20 {
        let mut ranks = network(2, &TcpSettings::default());
        let mut ledgers = [Ledger::default(), Ledger::default()];
        assert_eq!([send(&mut ranks[0], 1, 0), send(&mut ranks[1], 0, 0)], [Err(Busy); 2]);
        poll_until(&mut ranks, &mut ledgers, |_, ledgers| ledgers.iter().all(|it| it.rooms > 0));
        for number in 0..3 {
            send(&mut ranks[0], 1, number).unwrap();
            send(&mut ranks[1], 0, number).unwrap();
        }
        poll_until(&mut ranks, &mut ledgers, |ranks, ledgers| {
            ledgers[0].from(1) == 3
                && ledgers[1].from(0) == 3
                && ranks.iter().all(|rank| rank.is_drained() && rank.unproven.is_empty())
        });
        for rank in &ranks {
            assert_eq!((rank.open.len(), rank.opening.len()), (1, 0));
        }
    }
}

#[test]
fn a_process_that_has_ended_has_failed_unless_it_has_left() {
    for leaves in [false, true] {
        let mut ranks = network(2, &TcpSettings::default());
        let mut ledgers = [Ledger::default(), Ledger::default()];
        send_connecting(&mut ranks, &mut ledgers, 1, 0, 0);
        poll_until(&mut ranks, &mut ledgers, |_, ledgers| ledgers[0].from(1) == 1);
        if leaves {
            ranks[1].leave();
        }
        ranks.pop();
        let mut ledgers = [std::mem::take(&mut ledgers[0])];
        poll_until(&mut ranks, &mut ledgers, |ranks, ledgers| {
            if leaves { ranks[0].open.is_empty() } else { !ledgers[0].failed.is_empty() }
        });
        if leaves {
            assert_eq!(ledgers[0].failed, []);
            assert!(!ranks[0].has_ended(1), "nobody has asked");
            ranks[0].send_datagram(1, b"x");
            poll_until(&mut ranks, &mut ledgers, |ranks, _| ranks[0].has_ended(1));
            assert_eq!((&*ledgers[0].failed, ranks[0].quiescence()), (&[][..], Some(1)));
            send(&mut ranks[0], 1, 0).unwrap();
            poll_until(&mut ranks, &mut ledgers, |_, ledgers| !ledgers[0].failed.is_empty());
        }
        let (peer, why) = &ledgers[0].failed[0];
        assert!(*peer == 1 && why.contains("host here") && why.contains("has ended"), "{why}");
        send(&mut ranks[0], 1, 1).unwrap();
        assert!(ranks[0].is_drained());
    }
}

#[test]
fn datagrams_are_no_packets() {
    for crypt in [CryptMode::Auth, CryptMode::Full] {
        let settings = TcpSettings { crypt, ..TcpSettings::default() };
        let mut ranks = network(2, &settings);
        let mut ledgers = [Ledger::default(), Ledger::default()];
        let first = vec![7; crate::device::DATAGRAM_MAX];
        ranks[0].send_datagram(1, &first);
        ranks[0].send_datagram(1, b"lost");
        poll_until(&mut ranks, &mut ledgers, |_, ledgers| !ledgers[1].datagrams.is_empty());
        for number in 0..20 {
            send(&mut ranks[0], 1, number).unwrap();
            ranks[0].send_datagram(1, b"");
        }
        poll_until(&mut ranks, &mut ledgers, |ranks, ledgers| {
            ledgers[1].from(0) == 20 && ranks[0].is_drained()
        });
        let quiet: Vec<_> = ranks.iter().map(Tcp::quiescence).collect();
        assert_eq!(quiet, [Some(0), Some(20)]);
        ranks[1].send_datagram(0, b"answer");
        poll_until(&mut ranks, &mut ledgers, |_, ledgers| !ledgers[0].datagrams.is_empty());
        assert_eq!(ledgers[0].datagrams, [(1, b"answer".to_vec())]);
        assert_eq!(ledgers[1].datagrams[0], (0, first));
        assert!(ledgers[1].datagrams[1..].iter().all(|datagram| datagram.1.is_empty()));
        assert_eq!(ranks.iter().map(Tcp::quiescence).collect::<Vec<_>>(), quiet);
    }
}

#[test]
fn a_datagram_that_cannot_arrive_makes_no_peer_fail() {
    let mut ranks = network(2, &TcpSettings::default());
    ranks.pop();
    let mut ledgers = [Ledger::default()];
    for _ in 0..2 {
        ranks[0].send_datagram(1, b"x");
        assert_eq!(ranks[0].opening, [1]);
        poll_until(&mut ranks, &mut ledgers, |ranks, _| ranks[0].opening.is_empty());
        assert_eq!((&*ledgers[0].failed, ranks[0].quiescence()), (&[][..], Some(0)));
        assert!(ranks[0].has_ended(1));
    }
    // A packet that is sent meanwhile needs the peer.
    ranks[0].send_datagram(1, b"x");
    assert_eq!(send(&mut ranks[0], 1, 0), Err(Busy));
    assert_eq!(ranks[0].quiescence(), None);
    poll_until(&mut ranks, &mut ledgers, |_, ledgers| !ledgers[0].failed.is_empty());
}

#[test]
fn a_process_that_computes_for_long_has_not_failed() {
    let settings = TcpSettings { timeout: Duration::from_millis(300), ..TcpSettings::default() };
    let mut ranks = network(2, &settings);
    let mut ledgers = [Ledger::default(), Ledger::default()];
    assert_eq!(send(&mut ranks[0], 1, 0), Err(Busy));
    let begin = Instant::now();
    while begin.elapsed() < 4 * settings.timeout {
        ranks[0].poll(&mut ledgers[0]);
    }
    send_connecting(&mut ranks, &mut ledgers, 0, 1, 0);
    poll_until(&mut ranks, &mut ledgers, |_, ledgers| ledgers[1].from(0) == 1);
    assert_eq!(ledgers[0].failed, []);
}

#[test]
fn a_process_without_the_secret_gets_no_packet_into_the_job() {
    let settings = TcpSettings { timeout: Duration::from_secs(1), ..TcpSettings::default() };
    let mut ranks = keyed(&[[5; 32], [6; 32]], &settings);
    let mut ledgers = [Ledger::default(), Ledger::default()];
    assert_eq!(send(&mut ranks[1], 0, 0), Err(Busy));
    poll_until(&mut ranks, &mut ledgers, |_, ledgers| !ledgers[1].failed.is_empty());
    let why = &ledgers[1].failed[0].1;
    assert!(why.contains("secret") || why.contains("closed"), "{why}");
    assert!(ledgers[0].from(1) == 0 && ranks[0].links[1].is_none() && ranks[0].open.is_empty());
}

#[test]
fn strangers_take_bounded_room_for_a_bounded_time() {
    let mut ranks = network(2, &TcpSettings::default());
    let mut ledgers = [Ledger::default(), Ledger::default()];
    let connect = || TcpStream::connect(endpoint(&ranks[0])).unwrap();
    let mut garbage = connect();
    garbage.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let silent: Vec<_> = (0..70).map(|_| connect()).collect();
    let mut most = 0;
    assert_eq!(send(&mut ranks[1], 0, 0), Err(Busy));
    poll_until(&mut ranks, &mut ledgers, |ranks, ledgers| {
        most = most.max(ranks[0].unproven.len());
        ledgers[1].rooms > 0
    });
    assert_eq!(most, opening::UNPROVEN_MAX);
    garbage.set_read_timeout(Some(LIMIT)).unwrap();
    assert!(!matches!(garbage.read(&mut [0; 9]), Ok(1..)), "an answer to garbage");
    drop(silent);
    poll_until(&mut ranks, &mut ledgers, |ranks, _| ranks[0].unproven.is_empty());
}
