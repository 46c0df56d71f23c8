//! The interfaces of all ranks of a process, and a network between them that keeps no order.
//!
//! Whoever calls into a rank moves all of them a few steps along, so programs go on without the
//! rank that started them. A seed decides what happens next: an interface hands out an action, its
//! bytes leave, or they arrive. Equal seeds and equal calls give equal runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::{ErrorClass, Peer, Random, Result, Span};
use crate::device::nic::{Action, ActionId, Counters, Due, Nic, Signal, combine};
use crate::device::rma::{Access, Key, Remote};
use crate::device::trigger::{Class, CounterKey, Limits};

/// Counters of a rank in all, those of its interface among them.
const WORDS: u32 = 1 << 12;

/// What an interface of this network has unless a test wants something else.
pub const LIMITS: Limits = Limits {
    counters: 256,
    slots: 1024,
    engines: 4,
    ordered: false,
    arithmetic: 8,
    class: Class::Thresholds,
};

/// All interfaces, and what is between them.
pub(super) struct Wire {
    ranks: Vec<Station>,
    flights: Vec<Flight>,
    random: Random,
    /// Ranks for which something happened.
    rung: Vec<Peer>,
    /// The last key that was given.
    keys: u64,
}

/// What a rank has on the network.
pub(super) struct Station {
    pub(super) nic: Nic,
    pub(super) levels: Levels,
    memory: BTreeMap<Key, (Span, Access)>,
}

/// The levels of a rank's counters.
pub(super) struct Levels {
    levels: Box<[AtomicU64]>,
    /// Additions so far.
    changes: AtomicU64,
}

/// An action on its way.
struct Flight {
    from: Peer,
    due: Due,
    /// Its bytes, once they have left.
    data: Option<Box<[u8]>>,
}

impl Counters for Levels {
    fn level(&self, counter: CounterKey) -> u64 {
        self.levels[counter.0 as usize - 1].load(Ordering::Acquire)
    }

    fn add(&self, counter: CounterKey, value: u64) {
        self.levels[counter.0 as usize - 1].fetch_add(value, Ordering::Release);
        self.changes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Station {
    fn new(limits: Limits) -> Self {
        let levels = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let levels = Levels { levels, changes: AtomicU64::new(0) };
        Self { nic: Nic::new(limits, WORDS), levels, memory: BTreeMap::new() }
    }

    fn find(&self, at: Remote, len: usize, writes: bool) -> Result<Span> {
        let Remote { peer, key, offset } = at;
        let Some(&(memory, access)) = self.memory.get(&key) else {
            let why = format!("rank {peer} has registered no memory under key {}", key.0);
            return Err(ErrorClass::RmaRange.error(why));
        };
        if writes && access == Access::Read {
            let why = format!("memory of rank {peer} under key {} is only to be read", key.0);
            return Err(ErrorClass::Access.error(why));
        }
        let registered = memory.len();
        let start = usize::try_from(offset).ok().filter(|start| *start <= registered);
        let start = start.filter(|start| len <= registered - start).ok_or_else(|| {
            let what = format!("{len} bytes from offset {offset} on");
            ErrorClass::RmaRange.error(format!("{what} of {registered} bytes of rank {peer}"))
        })?;
        Ok(memory.part(start, len))
    }
}

impl Wire {
    pub(super) fn new(ranks: usize, seed: u64, limits: impl Fn(Peer) -> Limits) -> Self {
        let ranks = (0..ranks as Peer).map(|rank| Station::new(limits(rank))).collect();
        let random = Random::new(seed);
        Self { ranks, flights: Vec::new(), random, rung: Vec::new(), keys: 0 }
    }

    pub(super) fn station(&mut self, rank: Peer) -> &mut Station {
        &mut self.ranks[rank as usize]
    }

    pub(super) fn limits(&self, rank: Peer) -> Limits {
        self.ranks[rank as usize].nic.limits()
    }

    pub(super) fn register(&mut self, rank: Peer, memory: Span, access: Access) -> Key {
        self.keys += 1;
        let key = Key(self.keys);
        self.station(rank).memory.insert(key, (memory, access));
        key
    }

    pub(super) fn deregister(&mut self, rank: Peer, key: Key) {
        self.station(rank).memory.remove(&key);
    }

    /// The memory of a peer that an access is about.
    pub(super) fn find(&self, at: Remote, len: usize, writes: bool) -> Result<Span> {
        let Some(station) = self.ranks.get(at.peer as usize) else {
            return Err(ErrorClass::Rank.error(format!("there is no rank {}", at.peer)));
        };
        station.find(at, len, writes)
    }

    /// The ranks for which something happened since the last call.
    pub(super) fn take_rung(&mut self) -> Vec<Peer> {
        std::mem::take(&mut self.rung)
    }

    /// Takes a few steps, or all that there are; whether there may be more.
    pub(super) fn run(&mut self, all: bool) -> bool {
        let few = 1 + self.random.below(8);
        let mut taken = 0;
        while all || taken < few {
            if !self.step() {
                return false;
            }
            taken += 1;
        }
        true
    }

    /// How often counters of a rank have changed, if nothing is on its way to it or from it. What may
    /// be due must have been asked for.
    pub(super) fn rest(&self, rank: Peer) -> Option<u64> {
        let still = self.flights.is_empty() && self.ranks.iter().all(|rank| rank.nic.is_idle());
        still.then(|| self.ranks[rank as usize].levels.changes.load(Ordering::Relaxed))
    }

    /// Forgets a rank: nothing reads or writes its memory any more.
    pub(super) fn leave(&mut self, rank: Peer) {
        let limits = self.limits(rank);
        self.flights.retain(|flight| flight.from != rank);
        *self.station(rank) = Station::new(limits);
    }

    fn step(&mut self) -> bool {
        let flights_first = self.random.one_in(2);
        flights_first && self.fly() || self.hand_out() || self.fly()
    }

    /// Lets the interface of some rank hand out an action.
    fn hand_out(&mut self) -> bool {
        let ranks = self.ranks.len() as u64;
        let first = self.random.below(ranks);
        for rank in (first..ranks).chain(0..first) {
            let from = rank as Peer;
            let Station { nic, levels, .. } = self.station(from);
            let due = nic.next(0, levels);
            self.listen(from);
            if let Some(due) = due {
                self.flights.push(Flight { from, due, data: None });
                return true;
            }
        }
        false
    }

    /// Lets some action leave or arrive.
    fn fly(&mut self) -> bool {
        if self.flights.is_empty() {
            return false;
        }
        let any = self.random.below(self.flights.len() as u64) as usize;
        let index = self.first_alike(any);
        let Flight { from, due, ref data } = self.flights[index];
        if data.is_none() {
            match self.depart(due.action) {
                Ok(data) => {
                    self.flights[index].data = Some(data);
                    if matches!(due.action, Action::Put { .. } | Action::Signal { .. }) {
                        let Station { nic, levels, .. } = self.station(from);
                        nic.left(due.id, levels);
                    }
                }
                Err(why) => self.over(index, from, due.id, Err(why)),
            }
        } else {
            let data = self.flights[index].data.take().unwrap_or_default();
            let end = self.arrive(due.action, &data);
            self.over(index, from, due.id, end);
        }
        self.listen(from);
        true
    }

    /// The first flight that this one must not overtake, where the network keeps order.
    fn first_alike(&self, index: usize) -> usize {
        let flight = &self.flights[index];
        if !self.limits(flight.from).ordered {
            return index;
        }
        let way = |flight: &Flight| (flight.from, flight.due.engine, flight.due.action.peer());
        let alike = |other: &Flight| way(other) == way(flight);
        self.flights.iter().position(alike).unwrap_or(index)
    }

    fn over(&mut self, index: usize, from: Peer, action: ActionId, end: Result) {
        self.flights.remove(index);
        let Station { nic, levels, .. } = self.station(from);
        nic.done(action, end, levels);
    }

    /// What an action reads of its own rank; an error if it may not do what it will.
    fn depart(&self, action: Action) -> Result<Box<[u8]>> {
        match action {
            Action::Put { from, to, .. } => {
                self.find(to, from.len(), true)?;
                let mut data = vec![0; from.len()].into_boxed_slice();
                from.read(0, &mut data);
                Ok(data)
            }
            _ => Ok(Box::default()),
        }
    }

    fn arrive(&mut self, action: Action, data: &[u8]) -> Result {
        match action {
            Action::Put { to, signal, .. } => {
                self.find(to, data.len(), true)?.write(0, data);
                if let Some(signal) = signal {
                    self.signal(to.peer, signal);
                }
            }
            Action::Get { from, into } => self.find(from, into.len(), false)?.copy_to(into),
            Action::Update { at, bytes, update, old } => {
                let number = self.find(at, usize::from(bytes), true)?;
                let before = number.change(|value| update.of(value, bytes)).to_ne_bytes();
                let low = if cfg!(target_endian = "big") { 8 - old.len() } else { 0 };
                old.write(0, &before[low..][..old.len()]);
            }
            Action::Signal { peer, signal } => self.signal(peer, signal),
            Action::Copy { from, into } => from.copy_to(into),
            Action::Combine { from, into, with } => combine(from, into, with),
        }
        Ok(())
    }

    fn signal(&mut self, peer: Peer, signal: Signal) {
        self.station(peer).levels.add(signal.counter, signal.value);
        self.rung.push(peer);
    }

    fn listen(&mut self, rank: Peer) {
        if self.station(rank).nic.take_news() {
            self.rung.push(rank);
        }
    }
}
