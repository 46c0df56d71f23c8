//! Two ranks and the network between them, in the order of a seed: bytes that come late and in parts,
//! directions that stand still, connections that are cut at any byte and taken over by one end first.
//!
//! Some ranks poll all the time. The others sleep when they have nothing to do, as a waiting call does,
//! and then act only if their descriptor is readable. So what is left undone without an event is found:
//! everything stands still.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use super::*;
use crate::devices::tcp::card::TcpCard;
use crate::devices::tcp::connection::OpenConnection;
use platform::network::Handshake;
use platform::network::SealedChannel;
use platform::sys::poll;
use platform::sys::tcp::{Moved, SendPart, StreamConnection};

/// Bytes that the network holds in a direction, beside those in sockets.
const HELD_MAX: usize = 32 << 10;

/// Rounds without a packet or a byte after which nothing moves any more: more than the polls until
/// acknowledgements leave, and than those between two looks at all descriptors.
const STILL_ROUNDS: u32 = 3 * LOOK_INTERVAL + 3 * IDLE_POLLS;

/// The ends of a connection at the network's side: what one end sends, the other receives later.
struct Wire {
    ends: [StreamConnection; 2],
    held: [Vec<u8>; 2],
}

impl Wire {
    /// Carries at most `max` bytes away from the end `from`; how many, or `None` if an end has gone.
    fn carry(&mut self, from: usize, max: usize) -> Option<usize> {
        let mut bytes = vec![0; max.min(HELD_MAX - self.held[from].len())];
        let taken = match bytes.is_empty() {
            true => 0,
            false => match self.ends[from].receive(Span::EMPTY, &mut bytes) {
                Ok(Moved::Bytes(count)) => count,
                Ok(Moved::Nothing) => 0,
                Ok(Moved::End) | Err(_) => return None,
            },
        };
        self.held[from].extend_from_slice(&bytes[..taken]);
        let due = self.held[from].len().min(max);
        let given = match self.ends[1 - from].send(&[SendPart::Bytes(&self.held[from][..due])]) {
            Ok(Moved::Bytes(count)) => count,
            Ok(Moved::Nothing | Moved::End) => 0,
            Err(_) => return None,
        };
        self.held[from].drain(..given);
        Some(taken + given)
    }
}

/// A socket for a rank, and its other end.
fn socket_pair() -> [StreamConnection; 2] {
    let (here, there) = UnixStream::pair().unwrap();
    [here, there].map(|socket| {
        socket.set_nonblocking(true).unwrap();
        StreamConnection::from(OwnedFd::from(socket))
    })
}

fn channels() -> [SealedChannel; 2] {
    let secret = SharedSecret([7; 32]);
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let mut initiator = Handshake::initiate(&secret, b"", &mut there);
    let mut responder = Handshake::respond(&secret, b"");
    responder.advance(&mut there, &mut back).unwrap();
    initiator.advance(&mut back, &mut there).unwrap();
    responder.advance(&mut there, &mut back).unwrap();
    [initiator.into_channel(), responder.into_channel()]
}

/// A rank with packets to send, which sleeps when it has nothing to do.
struct LinkedRank {
    tcp: Tcp,
    ledger: Ledger,
    peer: Peer,
    /// The number of packets to send.
    total: u64,
    sent: u64,
    lent: usize,
    /// Announcements of room at the last refusal.
    refused: Option<u32>,
    sleeps: bool,
    asleep: Option<WakeSource>,
}

impl LinkedRank {
    fn receives(&self) -> u64 {
        self.tcp.links[self.peer as usize].as_ref().map_or(0, |link| link.reader.received())
    }

    fn may_send(&self) -> bool {
        self.sent < self.total && self.refused.is_none_or(|rooms| rooms != self.ledger.rooms)
    }

    /// Sends the next packet, in one of the ways of the device.
    fn send(&mut self, way: u64, memory: &[Vec<u8>]) {
        let number = self.sent;
        let data = &memory[number as usize];
        let header = Header { words: [number, 0], kind: 1 };
        // SAFETY: alive to the end of the simulation, and only read.
        let span = unsafe { Span::new(data.as_ptr(), data.len()) };
        let done = match way {
            0 => self.tcp.send_lent(self.peer, &header, span, number as u32),
            1 => self.tcp.send_contiguous(self.peer, &header, span),
            _ if data.len() > PACKET_MAX => self.tcp.send_contiguous(self.peer, &header, span),
            _ => self.tcp.send(self.peer, &header, data.len(), |packet| span.read(0, packet)),
        };
        self.refused = done.is_err().then_some(self.ledger.rooms);
        if done.is_ok() {
            self.sent += 1;
            self.lent += usize::from(way == 0);
        }
    }

    /// Wakes up if there is a reason, then sends, polls or falls asleep. Whether anything has moved.
    fn act(&mut self, random: &mut Random, memory: &[Vec<u8>]) -> bool {
        if let Some(WakeSource::Descriptor { descriptor, .. }) = &self.asleep {
            if !poll::is_readable(descriptor, Duration::ZERO) {
                return false;
            }
            self.asleep = None;
            self.tcp.disarm();
        }
        if self.may_send() && random.one_in(2) {
            self.send(random.below(3), memory);
            return true;
        }
        let packets = self.tcp.poll(&mut self.ledger);
        if self.sleeps && packets == 0 && !self.may_send() && random.one_in(3) {
            let wake = self.tcp.arm();
            let is_quiet = self.tcp.poll(&mut self.ledger) == 0 && !self.may_send();
            if is_quiet {
                self.asleep = Some(wake)
            } else {
                self.tcp.disarm()
            }
            return !is_quiet;
        }
        packets > 0
    }
}

struct Simulation {
    random: Random,
    memory: Vec<Vec<u8>>,
    ranks: [LinkedRank; 2],
    encrypts: bool,
    wire: Option<Wire>,
    /// The end of the wire that has not been taken over yet: whose, and what the other end has received.
    verdict: Option<(usize, OpenConnection, u64)>,
    stands_still: [bool; 2],
    /// Where ranks try to connect, without an answer.
    _silent: TcpListener,
    /// Connections that say nothing: while a rank has one, it asks the system which sockets are ready.
    _strangers: Vec<TcpStream>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let encrypts = random.one_in(4);
        let crypt = if encrypts { CryptMode::Full } else { CryptMode::Auth };
        let settings = TcpSettings { crypt, ..TcpSettings::default() };
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let card = TcpCard {
            port: silent.local_addr().unwrap().port(),
            addresses: vec![Ipv4Addr::LOCALHOST.into()],
            local: None,
        };
        let mut peers = [1, 0].into_iter();
        let ranks = network(2, &settings).into_iter().map(|mut tcp| {
            let peer = peers.next().unwrap();
            tcp.set_card(peer, &card.emit(), "there").unwrap();
            tcp.open_link(peer);
            let (ledger, total) = (Ledger::default(), random.below(60));
            let (sent, lent, refused, sleeps, asleep) = (0, 0, None, !random.one_in(3), None);
            LinkedRank { tcp, ledger, peer, total, sent, lent, refused, sleeps, asleep }
        });
        let ranks: Vec<_> = ranks.collect();
        let Ok(ranks) = <[_; 2]>::try_from(ranks) else { unreachable!() };
        let strangers = ranks.iter().filter(|_| random.one_in(2));
        let strangers = strangers.map(|rank| TcpStream::connect(endpoint(&rank.tcp)).unwrap());
        let strangers = strangers.collect();
        let memory = (0..60).map(|number| vec![number as u8; length(number)]).collect();
        let (wire, verdict, stands_still) = (None, None, [false; 2]);
        Self {
            random,
            memory,
            ranks,
            encrypts,
            wire,
            verdict,
            stands_still,
            _silent: silent,
            _strangers: strangers,
        }
    }

    /// A new connection. The end that accepts it takes it over now, the other one when it hears of it.
    fn connect(&mut self) {
        let [[left, first], [right, second]] = [socket_pair(), socket_pair()];
        self.wire = Some(Wire { ends: [first, second], held: Default::default() });
        let mut channels = self.encrypts.then(channels).into_iter().flatten();
        let mut open =
            |socket| OpenConnection::new(socket, channels.next(), Vec::new(), Vec::new());
        let (left, right) = (open(left), open(right));
        let accepting = self.random.below(2) as usize;
        let (mine, other) = if accepting == 0 { (left, right) } else { (right, left) };
        let connecting = &mut self.ranks[1 - accepting];
        connecting.tcp.connection_lost(connecting.peer, "cut".to_owned());
        let received = connecting.receives();
        let LinkedRank { tcp, ledger, peer, .. } = &mut self.ranks[accepting];
        tcp.adopt(*peer, mine, received, ledger);
        self.wake(accepting);
        let received = self.ranks[accepting].receives();
        self.verdict = Some((1 - accepting, other, received));
    }

    fn hear_verdict(&mut self) {
        let Some((connecting, connection, received)) = self.verdict.take() else { return };
        let LinkedRank { tcp, ledger, peer, .. } = &mut self.ranks[connecting];
        tcp.adopt(*peer, connection, received, ledger);
        self.wake(connecting);
    }

    /// The rank was awake when it took over a connection.
    fn wake(&mut self, rank: usize) {
        let rank = &mut self.ranks[rank];
        if rank.asleep.take().is_some() {
            rank.tcp.disarm();
        }
    }

    fn cut(&mut self) {
        (self.wire, self.verdict) = (None, None);
    }

    fn carry(&mut self, from: usize, max: usize) -> usize {
        match self.wire.as_mut().map(|wire| wire.carry(from, max)) {
            None => 0,
            Some(Some(bytes)) => bytes,
            Some(None) => {
                self.cut();
                0
            }
        }
    }

    fn step(&mut self) {
        let side = self.random.below(2) as usize;
        match self.random.below(16) {
            0..7 => drop(self.ranks[side].act(&mut self.random, &self.memory)),
            7..13 => {
                let max = 1 << self.random.below(16);
                let max = 1 + self.random.below(max) as usize;
                if !self.stands_still[side] {
                    self.carry(side, max);
                }
            }
            13 => self.hear_verdict(),
            14 if self.random.one_in(8) => self.stands_still[side] = !self.stands_still[side],
            15 if self.wire.is_none() => self.connect(),
            15 if self.random.one_in(20) => self.cut(),
            // One end has noticed the loss of the connection before the other.
            15 if self.random.one_in(20) => self.connect(),
            _ => {}
        }
    }

    /// One direction stands still until the other one has nothing to carry any more: a rank may be in the
    /// middle of a frame then, and owe an acknowledgement.
    fn stop_one_direction(&mut self) {
        let carried = self.random.below(2) as usize;
        for _ in 0..2 * STILL_ROUNDS {
            for side in 0..2 {
                self.ranks[side].act(&mut self.random, &self.memory);
            }
            self.carry(carried, HELD_MAX);
        }
    }

    /// The network does all it can, until everything stands still.
    fn settle(&mut self) {
        let (begin, mut still) = (Instant::now(), 0);
        while still < STILL_ROUNDS {
            assert!(begin.elapsed() < LIMIT, "no end");
            if self.wire.is_none() {
                self.connect();
            }
            self.hear_verdict();
            let mut has_moved = false;
            for side in 0..2 {
                has_moved |= self.ranks[side].act(&mut self.random, &self.memory);
                has_moved |= self.carry(side, HELD_MAX) > 0;
            }
            still = if has_moved || self.wire.is_none() { 0 } else { still + 1 };
        }
    }

    fn run(&mut self) {
        for _ in 0..self.random.below(1500) {
            self.step();
        }
        if self.random.one_in(2) {
            self.stop_one_direction();
        }
        // A packet that follows would bring what is missing, so there are none in half of the runs.
        for rank in &mut self.ranks {
            if self.random.one_in(2) {
                rank.total = rank.sent;
            }
        }
        self.settle();
        for (me, other) in [(0, 1), (1, 0)] {
            let [rank, peer] = [&self.ranks[me], &self.ranks[other]];
            assert_eq!(rank.sent, rank.total, "rank {me} has no room");
            assert_eq!(peer.ledger.from(me as Peer), rank.total, "packets of rank {me}");
            assert!(rank.tcp.is_drained(), "rank {me} waits for an acknowledgement");
            let returned = rank.ledger.returned.len();
            assert_eq!((returned, &*rank.ledger.failed), (rank.lent, &[][..]), "rank {me}");
            assert!(rank.tcp.quiescence().is_some());
        }
    }
}

#[test]
fn nothing_stands_still_over_links_that_stop_and_break() {
    let is_long = std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1");
    let seeds = if is_long { 20_000 } else { 60 };
    for seed in 0..seeds {
        let run = std::panic::catch_unwind(|| Simulation::new(seed).run());
        assert!(run.is_ok(), "seed {seed}");
    }
}
