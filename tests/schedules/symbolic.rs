//! Runs the schedules of all ranks on symbolic bytes.
//!
//! A byte is a leaf (the contributing rank and the index of the byte there) or the combination of
//! two bytes, so the result of a reduction is the expression that computed it. Ready steps start in
//! an order drawn from a seed. The seed also draws whether a send is eager (its bytes are read at
//! the start) or not (its bytes are read at the delivery). No step is lost: a machine that stops
//! early has found a deadlock.

use std::collections::HashMap;

use mpi_abi::offload::{Buffer, Region, Schedule, StepAction};
use platform::base::Random;

/// A byte: a leaf is the rank in the upper half and the index in the lower; a combination is
/// [`PAIR`] and the position of its operands in [`Algebra`].
pub type Byte = u64;

/// Marks combinations.
const PAIR: Byte = 1 << 63;

/// Uninitialized memory: no rank contributed it.
const NOBODY: u32 = u32::MAX >> 1;

/// All combinations; equal bytes have equal numbers.
#[derive(Default)]
pub struct Algebra {
    pairs: Vec<[Byte; 2]>,
    known: HashMap<[Byte; 2], Byte>,
}

impl Algebra {
    /// Byte `index` of the contribution of `rank`.
    pub fn leaf(&self, rank: u32, index: usize) -> Byte {
        Byte::from(rank) << 32 | index as Byte
    }

    /// Bytes `start..start + len` of the contribution of `rank`.
    pub fn leaves(&self, rank: u32, start: usize, len: usize) -> Vec<Byte> {
        let first = self.leaf(rank, start);
        (first..first + len as Byte).collect()
    }

    /// `left op right`.
    pub fn pair(&mut self, left: Byte, right: Byte) -> Byte {
        *self.known.entry([left, right]).or_insert_with(|| {
            self.pairs.push([left, right]);
            PAIR | (self.pairs.len() - 1) as Byte
        })
    }

    /// `len` bytes of uninitialized memory.
    pub fn junk(&self, len: usize) -> Vec<Byte> {
        self.leaves(NOBODY, 0, len)
    }

    /// The operands of a byte, from left to right: ranks and indices.
    pub fn operands(&self, byte: Byte) -> Vec<(u32, u32)> {
        let (mut operands, mut rest) = (Vec::new(), vec![byte]);
        while let Some(byte) = rest.pop() {
            if byte & PAIR == 0 {
                operands.push(((byte >> 32) as u32, byte as u32));
            } else {
                let [left, right] = self.pairs[(byte ^ PAIR) as usize];
                rest.extend([right, left]);
            }
        }
        operands
    }
}

/// One rank: its schedule and its memory.
pub struct Rank {
    /// The schedule.
    pub schedule: Schedule,
    /// The caller's buffers.
    pub user: Vec<Vec<Byte>>,
    scratch: Vec<Vec<Byte>>,
    waits: Vec<u32>,
    left: usize,
}

impl Rank {
    /// A rank that has not started.
    pub fn new(schedule: Schedule, user: Vec<Vec<Byte>>, algebra: &mut Algebra) -> Self {
        let scratch = schedule.scratch().iter().map(|&len| algebra.junk(len)).collect();
        let waits = schedule.waits().to_vec();
        let left = schedule.steps().len();
        Self { schedule, user, scratch, waits, left }
    }

    fn bytes(&mut self, region: Region) -> &mut [Byte] {
        let buffer = match region.buffer {
            Buffer::None => return &mut [],
            Buffer::User(index) => &mut self.user[index as usize],
            Buffer::Scratch(index) => &mut self.scratch[index as usize],
            Buffer::First => unreachable!("the schedule has said what came first"),
        };
        &mut buffer[region.start..region.end()]
    }
}

/// The started ends of a message.
#[derive(Default)]
struct Message {
    /// The step and its source region.
    send: Option<(u32, Region)>,
    /// The bytes, if the send was eager.
    data: Option<Vec<Byte>>,
    receive: Option<u32>,
}

/// Source, destination, label.
type Name = (u32, u32, u16);

enum Event {
    /// The step became ready by the completion of `first`.
    Start {
        rank: u32,
        step: u32,
        first: u32,
    },
    Deliver(Name),
    Complete {
        rank: u32,
        step: u32,
    },
}

/// All ranks and the messages between them.
pub struct Machine<'a> {
    algebra: &'a mut Algebra,
    ranks: Vec<Rank>,
    element: usize,
    random: Random,
    events: Vec<Event>,
    messages: HashMap<Name, Message>,
}

impl<'a> Machine<'a> {
    /// A machine that checks that reductions get whole elements of `element` bytes.
    pub fn new(algebra: &'a mut Algebra, ranks: Vec<Rank>, element: usize, seed: u64) -> Self {
        let random = Random::new(seed);
        Self { algebra, ranks, element, random, events: Vec::new(), messages: HashMap::new() }
    }

    /// Runs to the end and returns the user buffers of all ranks.
    ///
    /// # Panics
    /// If some step never becomes complete.
    pub fn run(mut self) -> Vec<Vec<Vec<Byte>>> {
        for (rank, it) in (0..).zip(&self.ranks) {
            let ready = (0..).zip(&it.waits).filter(|(_, waits)| **waits == 0);
            self.events.extend(ready.map(|(step, _)| Event::Start { rank, step, first: step }));
        }
        while !self.events.is_empty() {
            let next = self.random.below(self.events.len() as u64) as usize;
            match self.events.swap_remove(next) {
                Event::Start { rank, step, first } => self.start(rank, step, first),
                Event::Deliver(name) => self.deliver(name),
                Event::Complete { rank, step } => self.complete(rank, step),
            }
        }
        for (rank, it) in self.ranks.iter().enumerate() {
            assert_eq!(it.left, 0, "rank {rank} stops with steps left: {:?}", it.waits);
        }
        self.ranks.into_iter().map(|rank| rank.user).collect()
    }

    fn start(&mut self, rank: u32, step: u32, first: u32) {
        let it = &mut self.ranks[rank as usize];
        match it.schedule.action(step, first) {
            StepAction::Send { peer, region, label } => {
                let eager = self.random.one_in(2);
                let message = self.messages.entry((rank, peer, label)).or_default();
                assert_eq!(message.send.replace((step, region)), None, "sent twice");
                if eager {
                    message.data = Some(it.bytes(region).to_vec());
                    self.events.push(Event::Complete { rank, step });
                }
                if message.receive.is_some() {
                    self.events.push(Event::Deliver((rank, peer, label)));
                }
            }
            StepAction::Receive { peer, label, .. } => {
                let message = self.messages.entry((peer, rank, label)).or_default();
                assert_eq!(message.receive.replace(step), None, "received twice");
                if message.send.is_some() {
                    self.events.push(Event::Deliver((peer, rank, label)));
                }
            }
            StepAction::Copy { from, to } => {
                let bytes = it.bytes(from).to_vec();
                it.bytes(to).copy_from_slice(&bytes);
                self.events.push(Event::Complete { rank, step });
            }
            StepAction::Reduce { from, into } => {
                self.reduce(rank, from, into);
                self.events.push(Event::Complete { rank, step });
            }
        }
    }

    fn reduce(&mut self, rank: u32, from: Region, into: Region) {
        for edge in [from.start, from.len, into.start, into.len] {
            assert!(edge.is_multiple_of(self.element), "part of an element: {from:?} {into:?}");
        }
        let it = &mut self.ranks[rank as usize];
        let left = it.bytes(from).to_vec();
        for (left, right) in left.into_iter().zip(it.bytes(into)) {
            *right = self.algebra.pair(left, *right);
        }
    }

    fn deliver(&mut self, name: Name) {
        let (source, destination, _) = name;
        let message = self.messages.remove(&name).unwrap();
        let ((send, region), receive) = (message.send.unwrap(), message.receive.unwrap());
        let data = message.data.unwrap_or_else(|| {
            self.events.push(Event::Complete { rank: source, step: send });
            self.ranks[source as usize].bytes(region).to_vec()
        });
        let it = &mut self.ranks[destination as usize];
        let (_, region) = it.schedule.steps()[receive as usize].action.regions();
        it.bytes(region.unwrap()).copy_from_slice(&data);
        self.events.push(Event::Complete { rank: destination, step: receive });
    }

    fn complete(&mut self, rank: u32, step: u32) {
        let it = &mut self.ranks[rank as usize];
        it.left -= 1;
        for &then in it.schedule.successors(step) {
            let waits = &mut it.waits[then as usize];
            if *waits > 0 {
                *waits -= 1;
                if *waits == 0 {
                    self.events.push(Event::Start { rank, step: then, first: step });
                }
            }
        }
    }
}
