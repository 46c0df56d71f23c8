//! Long messages that are copied directly: every result of a split copy, on a device with scripted
//! results.

use std::sync::{Arc, Mutex};

use mpi_abi::device::middleware::Middleware;
use mpi_abi::device::{Bulk, MemoryDescriptor, SplitCopies, SplitEnd};
use mpi_abi::devices::loopback::Loopback;
use mpi_abi::engine::Engine;
use mpi_abi::engine::point_to_point::send::Mode;
use platform::base::{Peer, Span};

use super::engine::{envelope, from, room};

/// Longer than any packet of the loopback device.
const LEN: usize = 50_000;
/// Added to the number of a copy.
const TICKET: u64 = u64::MAX - 6;

/// The results of a copy at both ends.
#[derive(Clone, Copy, Debug)]
struct Script {
    /// Whether the copy is split; else the receiver reads all of it, or fails.
    jointly: bool,
    receiver: SplitEnd,
    sender: SplitEnd,
    /// Whether each end of a split copy pauses once.
    pauses: bool,
}

const SCRIPTS: &[Script] = &[
    Script {
        jointly: false,
        receiver: SplitEnd::Completed,
        sender: SplitEnd::PeerPending,
        pauses: false,
    },
    Script {
        jointly: false,
        receiver: SplitEnd::Failed,
        sender: SplitEnd::PeerPending,
        pauses: false,
    },
    // The sender finds nothing left, or ends first.
    Script {
        jointly: true,
        receiver: SplitEnd::Completed,
        sender: SplitEnd::PeerPending,
        pauses: false,
    },
    Script {
        jointly: true,
        receiver: SplitEnd::Failed,
        sender: SplitEnd::PeerPending,
        pauses: false,
    },
    // The sender copies the last piece.
    Script {
        jointly: true,
        receiver: SplitEnd::PeerPending,
        sender: SplitEnd::Completed,
        pauses: false,
    },
    Script {
        jointly: true,
        receiver: SplitEnd::PeerPending,
        sender: SplitEnd::Failed,
        pauses: false,
    },
];

/// The loopback device with direct copies.
struct Scripted {
    inner: Loopback,
    me: Peer,
    script: Script,
    /// The destinations of the messages, by their tickets.
    into: Arc<Mutex<Vec<Span>>>,
    /// The tickets of the copies that have paused.
    paused: Vec<u64>,
}

impl Scripted {
    /// Whether the copy pauses now.
    fn pauses(&mut self, ticket: u64) -> bool {
        let pauses = self.script.pauses && !self.paused.contains(&ticket);
        self.paused.push(ticket);
        pauses
    }
}

/// Copies the first half of the bytes of `into`, or the second.
fn copy_half(from: Span, into: Span, second: bool) {
    let half = into.len() / 2;
    let (start, len) = if second { (half, into.len() - half) } else { (0, half) };
    let mut bytes = vec![0; len];
    from.read(start, &mut bytes);
    into.write(start, &bytes);
}

/// What a description has beside the address.
const KEY: u32 = 0xabcd;

/// The memory that was described to this rank.
#[allow(unsafe_code)]
fn span_at(from: MemoryDescriptor, me: Peer, len: usize) -> Span {
    let (address, key) = from.0.split_at(8);
    assert_eq!(key, u64::from(me ^ KEY).to_le_bytes(), "described to another rank");
    let address = u64::from_le_bytes(address.try_into().unwrap());
    // SAFETY: the buffer of a send that has not completed; the test keeps it.
    unsafe { Span::new(address as *const u8, len) }
}

impl Bulk for Scripted {
    fn prefers(&mut self, _peer: Peer, len: usize) -> bool {
        len > 0
    }

    fn describe(&mut self, peer: Peer, memory: Span) -> MemoryDescriptor {
        let address = (memory.address() as u64).to_le_bytes();
        let key = u64::from(peer ^ KEY).to_le_bytes();
        MemoryDescriptor([address, key].concat().try_into().unwrap())
    }

    fn read(
        &mut self, _peer: Peer, from: MemoryDescriptor, into: Span, done: usize,
    ) -> Result<usize, String> {
        if self.script.receiver == SplitEnd::Failed {
            return Err("scripted".to_owned());
        }
        let from = span_at(from, self.me, into.len());
        copy_half(from, into, done > 0);
        Ok(if done > 0 { into.len() } else { into.len() / 2 })
    }

    fn split(&mut self) -> Option<&mut dyn SplitCopies> {
        Some(self)
    }
}

impl SplitCopies for Scripted {
    fn begin_split(&mut self, _peer: Peer, into: Span) -> Option<u64> {
        let mut all = self.into.lock().unwrap();
        all.push(into);
        self.script.jointly.then_some(TICKET + all.len() as u64 - 1)
    }

    fn read_split(
        &mut self, _peer: Peer, ticket: u64, from: MemoryDescriptor, into: Span,
    ) -> SplitEnd {
        assert_eq!(self.into.lock().unwrap()[(ticket - TICKET) as usize].address(), into.address());
        if self.pauses(ticket) {
            return SplitEnd::Paused;
        }
        let from = span_at(from, self.me, into.len());
        copy_half(from, into, false);
        if self.script.receiver == SplitEnd::Completed {
            copy_half(from, into, true);
        }
        self.script.receiver
    }

    fn write_split(&mut self, _peer: Peer, ticket: u64, from: Span) -> SplitEnd {
        if self.pauses(ticket) {
            return SplitEnd::Paused;
        }
        let into = self.into.lock().unwrap()[(ticket - TICKET) as usize];
        if self.script.sender == SplitEnd::Completed {
            copy_half(from, into, true);
        }
        self.script.sender
    }
}

impl Middleware for Scripted {
    type Inner = Loopback;

    fn inner(&self) -> &Loopback {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut Loopback {
        &mut self.inner
    }

    fn inner_bulk(&mut self) -> Option<&mut dyn Bulk> {
        Some(self)
    }
}

fn engines(script: Script) -> Vec<Engine<Scripted>> {
    let into = Arc::new(Mutex::new(Vec::new()));
    let network = Loopback::network(2).into_iter().enumerate();
    let device = |me, inner| Scripted { inner, me, script, into: into.clone(), paused: Vec::new() };
    network.map(|(me, inner)| Engine::new(device(me as Peer, inner), me as Peer, 2)).collect()
}

fn settle(engines: &mut [Engine<Scripted>]) {
    let mut quiet = 0;
    while quiet < 3 {
        let moved: usize = engines.iter_mut().map(Engine::poll).sum();
        quiet = if moved == 0 { quiet + 1 } else { 0 };
    }
    for engine in engines {
        engine.fault().expect("no fault");
    }
}

#[test]
fn a_long_message_arrives_with_every_result_of_its_copy() {
    let scripts = SCRIPTS.iter().flat_map(|script| {
        [false, true].map(|pauses| Script { pauses: pauses && script.jointly, ..*script })
    });
    for script in scripts {
        for (posted_first, capacity) in
            [(true, LEN), (false, LEN), (true, LEN - 7), (false, LEN - 7), (true, LEN + 1)]
        {
            let mut engines = engines(script);
            // Two at the same time: the result of one must not complete the other.
            let mut data: Vec<Vec<u8>> =
                (0..2).map(|which| (0..LEN).map(|i| (i * 7 + which) as u8).collect()).collect();
            let mut got = vec![vec![0; capacity]; 2];
            let mut receives = Vec::new();
            let receive = |engines: &mut Vec<Engine<Scripted>>, got: &mut [Vec<u8>]| {
                let tags = got.iter_mut().enumerate();
                tags.map(|(tag, got)| engines[1].receive(from(0, tag as i32), room(got))).collect()
            };
            if posted_first {
                receives = receive(&mut engines, &mut got);
            }
            let mut sends = Vec::new();
            for (tag, data) in data.iter_mut().enumerate() {
                let memory = room(data);
                let send = engines[0].send(1, envelope(0, tag as i32), memory, Mode::Standard);
                sends.push(send.expect("not eager"));
                settle(&mut engines);
            }
            if !posted_first {
                receives = receive(&mut engines, &mut got);
                settle(&mut engines);
            }
            let what = format!("{script:?}, posted first: {posted_first}, room for {capacity}");
            for which in 0..2 {
                let end = engines[1].take_completion(receives[which]).expect(&what);
                let bytes = capacity.min(LEN);
                assert_eq!((end.bytes, end.error.is_some()), (bytes, capacity < LEN), "{what}");
                assert!(got[which][..bytes] == data[which][..bytes], "{what}");
                assert!(engines[0].take_completion(sends[which]).is_some(), "{what}");
            }
            assert!(engines[0].is_drained() && engines[1].is_drained(), "{what}");
        }
    }
}

/// The sender ends within a split copy, or between the request for packets and the packets.
#[test]
fn a_receive_fails_if_its_sender_ends_within_the_message() {
    let pending = SplitEnd::PeerPending;
    for script in [
        Script { jointly: true, receiver: pending, sender: pending, pauses: false },
        Script { jointly: true, receiver: SplitEnd::Failed, sender: pending, pauses: false },
        Script { jointly: false, receiver: SplitEnd::Failed, sender: pending, pauses: false },
    ] {
        let mut engines = engines(script);
        let mut data = vec![7; LEN];
        let (mut lost, mut posted) = (vec![0; LEN], vec![0; LEN]);
        let envelope = envelope(0, 1);
        engines[0].send(1, envelope, room(&mut data), Mode::Standard).expect("not eager");
        // The process of rank 0 has ended: only rank 1 polls.
        let lost = engines[1].receive(from(0, 1), room(&mut lost));
        let posted = engines[1].receive(from(0, 2), room(&mut posted));
        for _ in 0..3 {
            engines[1].poll();
        }
        assert!(engines[1].completion(lost).is_none(), "{script:?}");
        engines[1].end_receives_from(0);
        let end = engines[1].take_completion(lost).expect("completed");
        assert_eq!((end.source, end.tag), (0, 1));
        assert!(end.error.expect("an error").why.contains("rank 0 of the world ended"));
        assert!(engines[1].completion(posted).is_none());
    }
}
