//! The interfaces of all ranks of the test device, and a network between them that keeps no order.
//!
//! Each call of a rank runs a few steps of all interfaces, so programs make progress without the rank
//! that started them. A seed chooses the next step: an interface issues an action, its bytes leave, or
//! they arrive. Equal seeds and equal calls give equal runs.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::rma::{MemoryKey, MemoryTable, RemoteAccess, RemoteAddress, write_number};
use crate::device::trigger::{CounterKey, InterfaceLimits, TriggerClass};
use crate::devices::interface::{
    ActionId, Counters, DueAction, InterfaceAction, NetworkInterface, Signal, combine,
};
use platform::base::{ErrorClass, Peer, Random, Result, Span};

/// Counters of a rank, including those of its interface.
const WORDS: u32 = 1 << 12;

/// Accesses in progress of a rank: few, so that tests meet back-pressure.
const ACCESSES_MAX: u32 = 24;

/// Resources of an interface by default.
pub const LIMITS: InterfaceLimits = InterfaceLimits {
    counters: 256,
    slots: 1024,
    engines: 4,
    ordered: false,
    arithmetic: 8,
    class: TriggerClass::Thresholds,
    counter_bits: 64,
    // Small, so that tests divide transfers.
    transfer_max: 1 << 12,
};

/// All interfaces, and actions in flight between them.
pub(super) struct LoopbackNetwork {
    ranks: Vec<RankInterface>,
    in_flight: Vec<ActionInFlight>,
    random: Random,
    /// Ranks to wake.
    notified: Vec<Peer>,
    /// The last memory key.
    keys: u64,
}

/// The interface of one rank, with counters and memory.
pub(super) struct RankInterface {
    pub(super) nic: NetworkInterface,
    pub(super) levels: LevelTable,
    memory: MemoryTable,
}

/// The levels of a rank's counters.
pub(super) struct LevelTable {
    levels: Box<[AtomicU64]>,
    /// The number of additions.
    changes: AtomicU64,
    /// Counters that were added to, until the interface looks.
    changed: RefCell<Vec<CounterKey>>,
}

/// An action in flight.
struct ActionInFlight {
    from: Peer,
    due: DueAction,
    /// The bytes, after they have left.
    data: Option<Box<[u8]>>,
}

impl Counters for LevelTable {
    fn level(&self, counter: CounterKey) -> u64 {
        self.levels[counter.0 as usize - 1].load(Ordering::Acquire)
    }

    fn add(&self, counter: CounterKey, value: u64) {
        self.levels[counter.0 as usize - 1].fetch_add(value, Ordering::Release);
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.changed.borrow_mut().push(counter);
    }

    fn additions(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    fn take_changed(&self, each: impl FnMut(CounterKey)) {
        self.changed.take().into_iter().for_each(each);
    }
}

impl RankInterface {
    fn new(limits: InterfaceLimits) -> Self {
        let levels = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        let levels = LevelTable { levels, changes: AtomicU64::new(0), changed: RefCell::default() };
        let nic = NetworkInterface::new(limits, WORDS).limited(ACCESSES_MAX);
        Self { nic, levels, memory: MemoryTable::default() }
    }
}

impl LoopbackNetwork {
    pub(super) fn new(ranks: usize, seed: u64, limits: impl Fn(Peer) -> InterfaceLimits) -> Self {
        let ranks = (0..ranks as Peer).map(|rank| RankInterface::new(limits(rank))).collect();
        let random = Random::new(seed);
        Self { ranks, in_flight: Vec::new(), random, notified: Vec::new(), keys: 0 }
    }

    pub(super) fn interface(&mut self, rank: Peer) -> &mut RankInterface {
        &mut self.ranks[rank as usize]
    }

    pub(super) fn limits(&self, rank: Peer) -> InterfaceLimits {
        self.ranks[rank as usize].nic.limits()
    }

    pub(super) fn register(&mut self, rank: Peer, memory: Span, access: RemoteAccess) -> MemoryKey {
        self.keys += 1;
        let key = MemoryKey(self.keys);
        self.interface(rank).memory.insert(key, memory, access);
        key
    }

    pub(super) fn deregister(&mut self, rank: Peer, key: MemoryKey) {
        self.interface(rank).memory.remove(key);
    }

    /// The memory of a peer for an access.
    pub(super) fn resolve(&self, at: RemoteAddress, len: usize, writes: bool) -> Result<Span> {
        let Some(interface) = self.ranks.get(at.peer as usize) else {
            return Err(ErrorClass::Rank.error(format!("there is no rank {}", at.peer)));
        };
        let access = if writes { RemoteAccess::ReadWrite } else { RemoteAccess::Read };
        interface.memory.find(at.key, at.offset, len, access)
    }

    /// Ranks to wake since the last call.
    pub(super) fn take_notified(&mut self) -> Vec<Peer> {
        std::mem::take(&mut self.notified)
    }

    /// Runs a few steps, or all; whether there may be more.
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

    /// The number of changes of a rank's counters, if no action is in progress. Valid only after `run`
    /// has returned false.
    pub(super) fn quiescence(&self, rank: Peer) -> Option<u64> {
        let is_idle = self.in_flight.is_empty() && self.ranks.iter().all(|rank| rank.nic.is_idle());
        let own = &self.ranks[rank as usize];
        (is_idle && !own.nic.has_news()).then(|| own.levels.changes.load(Ordering::Relaxed))
    }

    /// Removes a rank: nothing accesses its memory after this.
    pub(super) fn remove_rank(&mut self, rank: Peer) {
        let limits = self.limits(rank);
        self.in_flight.retain(|action| action.from != rank);
        *self.interface(rank) = RankInterface::new(limits);
    }

    fn step(&mut self) -> bool {
        let in_flight_first = self.random.one_in(2);
        in_flight_first && self.advance_in_flight() || self.issue() || self.advance_in_flight()
    }

    /// Issues an action of some interface.
    fn issue(&mut self) -> bool {
        let ranks = self.ranks.len() as u64;
        let first = self.random.below(ranks);
        for rank in (first..ranks).chain(0..first) {
            let from = rank as Peer;
            let RankInterface { nic, levels, .. } = self.interface(from);
            let due = nic.next(0, levels);
            self.collect_progress(from);
            if let Some(due) = due {
                self.in_flight.push(ActionInFlight { from, due, data: None });
                return true;
            }
        }
        false
    }

    /// Advances some action: its bytes leave or arrive.
    fn advance_in_flight(&mut self) -> bool {
        if self.in_flight.is_empty() {
            return false;
        }
        let any = self.random.below(self.in_flight.len() as u64) as usize;
        let index = self.first_in_order(any);
        let ActionInFlight { from, due, ref data } = self.in_flight[index];
        if data.is_none() {
            match self.depart(due.action) {
                Ok(data) => {
                    self.in_flight[index].data = Some(data);
                    if matches!(
                        due.action,
                        InterfaceAction::Put { .. } | InterfaceAction::Signal { .. }
                    ) {
                        let RankInterface { nic, levels, .. } = self.interface(from);
                        nic.sent(due.id, levels);
                    }
                }
                Err(why) => self.complete(index, from, due.id, Err(why)),
            }
        } else {
            let data = self.in_flight[index].data.take().unwrap_or_default();
            let end = self.arrive(from, due, &data);
            self.complete(index, from, due.id, end);
        }
        self.collect_progress(from);
        true
    }

    /// The first action that this one must not overtake if the network keeps order.
    fn first_in_order(&self, index: usize) -> usize {
        let action = &self.in_flight[index];
        if !self.limits(action.from).ordered {
            return index;
        }
        let path =
            |action: &ActionInFlight| (action.from, action.due.engine, action.due.action.peer());
        let alike = |other: &ActionInFlight| path(other) == path(action);
        self.in_flight.iter().position(alike).unwrap_or(index)
    }

    fn complete(&mut self, index: usize, from: Peer, action: ActionId, end: Result) {
        self.in_flight.remove(index);
        let RankInterface { nic, levels, .. } = self.interface(from);
        nic.done(action, end, levels);
    }

    /// The bytes that an action reads from its own rank; an error if the access is not allowed.
    fn depart(&self, action: InterfaceAction) -> Result<Box<[u8]>> {
        match action {
            InterfaceAction::Put { from, to, .. } => {
                self.resolve(to, from.len(), true)?;
                let mut data = vec![0; from.len()].into_boxed_slice();
                from.read(0, &mut data);
                Ok(data)
            }
            _ => Ok(Box::default()),
        }
    }

    fn arrive(&mut self, rank: Peer, due: DueAction, data: &[u8]) -> Result {
        match due.action {
            InterfaceAction::Put { to, signal, .. } => {
                self.resolve(to, data.len(), true)?.write(0, data);
                if let Some(signal) = signal {
                    self.signal(to.peer, signal);
                }
            }
            InterfaceAction::Get { from, into } => {
                self.resolve(from, into.len(), false)?.copy_to(into)
            }
            InterfaceAction::Update { at, kind, update, old } => {
                self.resolve(at, kind.bytes(), true)?;
                let memory = &self.interface(at.peer).memory;
                let number = memory.find_number(at.key, at.offset, kind)?;
                write_number(update.perform(number, kind), old);
                self.interface(at.peer).levels.changes.fetch_add(1, Ordering::Relaxed);
                self.notified.push(at.peer);
            }
            InterfaceAction::Signal { peer, signal } => self.signal(peer, signal),
            InterfaceAction::Copy { from, into } => from.copy_to(into),
            InterfaceAction::Combine { from, into, with } => combine(from, into, with),
            InterfaceAction::Reduce { from, into } => {
                let kernel = self.interface(rank).nic.kernel(&due);
                kernel.into_iter().for_each(|kernel| kernel(from, into));
            }
        }
        Ok(())
    }

    fn signal(&mut self, peer: Peer, signal: Signal) {
        self.interface(peer).levels.add(signal.counter, signal.value);
    }

    fn collect_progress(&mut self, rank: Peer) {
        if self.interface(rank).nic.take_progressed() {
            self.notified.push(rank);
        }
    }
}
