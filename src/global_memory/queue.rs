//! The accesses of a rank that have not completed: in which order they start, and when they have completed.
//!
//! ```text
//!   submit ──> waiting ──its order is satisfied, and the executor has room──┬──> finished
//!                 │                                                         ├──> executing (the device)
//!                 │                                                         └──> delegated (another rank)
//!                 └──all that it waits for is executing, and the device defers──> executing
//!
//!   executing, delegated ──the executor says so──> finished ──all before have finished──> completed
//! ```
//!
//! Accesses complete in the order of their numbers: one has completed when all up to it have finished. An
//! order therefore is a number up to which all have to be completed.
//!
//! Accesses that touch memory of one other rank take effect in the order of their submission, also without
//! an order: an access waits behind one that waits and touches the same rank, and for those in progress that
//! go there by another way. (The middle layer of ACP needs this: data, then the counter that announces it.)
//!
//! The states are those of Nose et al., "Performance optimization of the ACP library", 2015, table 1: QUEUED
//! and ORDER are `Waiting`, ORDER_END is the moment of the start. It knows no memory and no messages.

use std::collections::{BTreeMap, VecDeque};

use super::access::{AccessOrder, GlobalAccess};
use platform::base::{MpiError, Peer, Result};

/// Waiting accesses behind the first one that are looked at in one call.
const LOOKAHEAD: usize = 64;

/// The way of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessWay {
    /// The processor of this rank carries it out, at once.
    Processor,
    /// The device, by this engine if it has several; accesses to one peer stay in order or not.
    Device { engine: u8, is_ordered: bool },
    /// Another rank, which this rank asks by a message.
    Delegate(u32),
}

/// What the executor knows of the way of an access.
#[derive(Debug)]
pub(crate) enum ChosenWay {
    Known(AccessWay),
    /// It asks for the memory of a peer.
    Unknown,
    /// The access cannot be made.
    Refused(Box<MpiError>),
}

/// An access that has started and not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessTicket {
    /// The access of this number among those to a peer.
    Device { peer: Peer, number: u64 },
    /// A request to another rank.
    Request(u32),
}

/// The start of an access.
#[derive(Debug)]
pub(crate) enum AccessStart {
    Finished,
    InProgress(AccessTicket),
    /// There is no room.
    Busy,
    Refused(Box<MpiError>),
}

/// What carries out accesses.
pub(crate) trait AccessExecutor {
    /// The way of an access. It is the same at a later call, or better known.
    fn choose(&mut self, access: &GlobalAccess) -> ChosenWay;

    /// Starts an access by its way, or defers it in the device until all before it have finished there.
    fn start(&mut self, access: &GlobalAccess, way: AccessWay, is_deferred: bool) -> AccessStart;

    /// Whether the device defers accesses.
    fn defers(&mut self) -> bool;

    /// Whether an access has finished.
    ///
    /// # Errors
    /// Why it could not be made.
    fn has_finished(&mut self, ticket: AccessTicket) -> Result<bool>;
}

/// The ends of an access: other ranks, and the colours of both addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TouchedRanks {
    /// At most two, besides this rank.
    pub(crate) others: [Option<u32>; 2],
    pub(crate) colours: [u32; 2],
}

/// The accesses of a rank that have not completed.
#[derive(Debug, Default)]
pub(crate) struct AccessQueue {
    /// In the order of their numbers.
    open: VecDeque<OpenAccess>,
    waiting: VecDeque<WaitingAccess>,
    /// How many are in progress at other ranks.
    delegated: usize,
    /// The last access to each rank.
    traffic: BTreeMap<u32, RankTraffic>,
    /// The access that was submitted last.
    last: Option<LastSubmission>,
    /// Whether no waiting access can start before one completes.
    is_settled: bool,
    /// Ranks of the waiting accesses that have been looked at, while they are.
    passed: Vec<u32>,
}

#[derive(Debug)]
struct OpenAccess {
    number: u64,
    state: AccessState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccessState {
    Waiting,
    InProgress(AccessTicket),
    Finished,
}

#[derive(Debug)]
struct WaitingAccess {
    number: u64,
    /// All up to this number have to be completed.
    after: u64,
    access: GlobalAccess,
    ranks: TouchedRanks,
    /// Whether its way depends on an answer of the device, which wakes this rank.
    is_unknown: bool,
}

/// The last access to a rank.
#[derive(Clone, Copy, Debug)]
struct RankTraffic {
    number: u64,
    /// Its way; `None` if it is deferred.
    way: Option<AccessWay>,
}

#[derive(Clone, Copy, Debug)]
struct LastSubmission {
    number: u64,
    after: u64,
    ranks: TouchedRanks,
}

impl TouchedRanks {
    fn others(&self) -> impl Iterator<Item = u32> {
        self.others.into_iter().flatten()
    }
}

impl AccessWay {
    /// Whether two accesses to one rank by this way take effect in the order of their starts.
    pub(crate) fn keeps_order(self) -> bool {
        match self {
            Self::Processor | Self::Delegate(_) => true,
            Self::Device { is_ordered, .. } => is_ordered,
        }
    }
}

impl AccessQueue {
    /// The accesses that have not completed.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether all accesses up to this number have completed.
    pub(crate) fn has_completed(&self, number: u64) -> bool {
        self.open.front().is_none_or(|first| first.number > number)
    }

    /// Whether an access has finished, whatever is before it.
    ///
    /// # Errors
    /// Why it could not be made.
    pub(crate) fn has_finished(
        &mut self, number: u64, executor: &mut impl AccessExecutor,
    ) -> Result<bool> {
        match self.find(number).map(|at| self.open[at].state) {
            None | Some(AccessState::Finished) => Ok(true),
            Some(AccessState::Waiting) => Ok(false),
            Some(AccessState::InProgress(ticket)) => executor.has_finished(ticket),
        }
    }

    /// Whether an access waits that only a call can start.
    pub(crate) fn has_due(&self) -> bool {
        let mut first = self.waiting.iter().take(LOOKAHEAD);
        !self.is_settled
            && first.any(|access| !access.is_unknown && self.has_completed(access.after))
    }

    /// The access that has not completed for the longest time, if it has not started or else its ticket.
    pub(crate) fn oldest(&self) -> Option<(u64, Option<AccessTicket>)> {
        let first = self.open.front()?;
        match first.state {
            AccessState::InProgress(ticket) => Some((first.number, Some(ticket))),
            AccessState::Waiting | AccessState::Finished => Some((first.number, None)),
        }
    }

    /// Adds an access; [`AccessQueue::advance`] starts it. Its number is greater than those before.
    pub(crate) fn submit(
        &mut self, number: u64, access: GlobalAccess, ranks: TouchedRanks, order: AccessOrder,
    ) {
        let before = number - 1;
        let after = match order {
            AccessOrder::Unordered => 0,
            // One that was never submitted is no order.
            AccessOrder::After(number) if number > before => 0,
            AccessOrder::After(number) => number,
            AccessOrder::AfterAll => before,
            AccessOrder::Continuation => match self.last {
                Some(last) if last.number == before && last.ranks == ranks => last.after,
                _ => before,
            },
        };
        self.last = Some(LastSubmission { number, after, ranks });
        self.open.push_back(OpenAccess { number, state: AccessState::Waiting });
        // Behind the accesses that are looked at, it changes nothing.
        self.is_settled &= self.waiting.len() > LOOKAHEAD;
        let is_unknown = false;
        self.waiting.push_back(WaitingAccess { number, after, access, ranks, is_unknown });
    }

    /// Removes what has completed, and starts what may start; whether there was anything.
    ///
    /// # Errors
    /// Why an access cannot be made. It counts as finished.
    pub(crate) fn advance(&mut self, executor: &mut impl AccessExecutor) -> Result<bool> {
        let mut any = self.complete(executor)?;
        // What follows takes it back for whatever needs another look.
        if std::mem::replace(&mut self.is_settled, true) {
            return Ok(any);
        }
        self.passed.clear();
        let mut at = 0;
        while at < self.waiting.len().min(LOOKAHEAD + 1) {
            let ranks = self.waiting[at].ranks;
            let is_behind = ranks.others().any(|rank| self.passed.contains(&rank));
            if is_behind || !self.start(at, executor)? {
                self.passed.extend(ranks.others());
                at += 1;
                continue;
            }
            any = true;
            self.complete(executor)?;
        }
        Ok(any)
    }

    /// Starts a waiting access if it may start; whether it has left the list.
    fn start(&mut self, at: usize, executor: &mut impl AccessExecutor) -> Result<bool> {
        let waiting = &self.waiting[at];
        let (number, access, ranks) = (waiting.number, waiting.access, waiting.ranks);
        // What has no order may still be kept back by its ranks, which the way tells.
        let is_early = !self.has_completed(waiting.after);
        if is_early && !self.may_defer(at, executor) {
            return Ok(false);
        }
        let chosen = executor.choose(&access);
        self.waiting[at].is_unknown = matches!(chosen, ChosenWay::Unknown);
        let way = match chosen {
            ChosenWay::Known(way) => way,
            ChosenWay::Unknown => {
                self.is_settled = false;
                return Ok(false);
            }
            ChosenWay::Refused(error) => return self.refuse(at, error),
        };
        let is_deferred = is_early || self.is_kept_back(ranks, way);
        if is_deferred && !(matches!(way, AccessWay::Device { .. }) && self.may_defer(at, executor))
        {
            return Ok(false);
        }
        let state = match executor.start(&access, way, is_deferred) {
            AccessStart::Busy => {
                self.is_settled = false;
                return Ok(false);
            }
            AccessStart::Refused(error) => return self.refuse(at, error),
            AccessStart::Finished => AccessState::Finished,
            AccessStart::InProgress(ticket) => AccessState::InProgress(ticket),
        };
        self.waiting.remove(at);
        self.is_settled = false;
        let way = Some(way).filter(|_| !is_deferred);
        for rank in ranks.others() {
            self.traffic.insert(rank, RankTraffic { number, way });
        }
        self.delegated += usize::from(matches!(way, Some(AccessWay::Delegate(_))))
            * usize::from(state != AccessState::Finished);
        self.set_state(number, state);
        Ok(true)
    }

    /// Whether accesses to these ranks are in progress that one by this way could overtake.
    fn is_kept_back(&self, ranks: TouchedRanks, way: AccessWay) -> bool {
        ranks.others().filter_map(|rank| self.traffic.get(&rank)).any(|last| {
            let in_order = last.way == Some(way) && way.keeps_order();
            !in_order && !self.has_completed(last.number)
        })
    }

    /// Whether the device may start a waiting access by itself: all before it are in progress there.
    fn may_defer(&self, at: usize, executor: &mut impl AccessExecutor) -> bool {
        at == 0 && self.delegated == 0 && executor.defers()
    }

    /// Removes an access that cannot be made.
    fn refuse(&mut self, at: usize, error: Box<MpiError>) -> Result<bool> {
        self.is_settled = false;
        if let Some(refused) = self.waiting.remove(at) {
            self.set_state(refused.number, AccessState::Finished);
        }
        Err(error)
    }

    /// Removes the first accesses if they have finished; whether there were any.
    fn complete(&mut self, executor: &mut impl AccessExecutor) -> Result<bool> {
        let before = self.open.len();
        while let Some(first) = self.open.front() {
            let finished = match first.state {
                AccessState::Waiting => break,
                AccessState::Finished => Ok(true),
                AccessState::InProgress(ticket) => {
                    let finished = executor.has_finished(ticket);
                    if let Ok(false) = finished {
                        break;
                    }
                    self.delegated -= usize::from(matches!(ticket, AccessTicket::Request(_)));
                    finished
                }
            };
            self.open.pop_front();
            self.is_settled = false;
            finished?;
        }
        Ok(self.open.len() < before)
    }

    fn find(&self, number: u64) -> Option<usize> {
        self.open.binary_search_by_key(&number, |open| open.number).ok()
    }

    fn set_state(&mut self, number: u64, state: AccessState) {
        if let Some(at) = self.find(number) {
            self.open[at].state = state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global_memory::access::GlobalPlace;
    use crate::global_memory::address::GlobalAddress;
    use platform::base::{ErrorClass, Random, Span};
    use std::collections::BTreeSet;

    /// Ranks 1 to 5 are reached by different ways; an access to rank 9 cannot be made. Accesses carry their
    /// numbers as lengths.
    struct Ranks {
        random: Random,
        /// Accesses in progress: ticket, number, what it follows in the device.
        in_progress: Vec<InProgress>,
        tickets: u64,
        /// Numbers in the order of their effects.
        effects: Vec<u64>,
        /// All up to this number had their effects.
        prefix: u64,
        later: BTreeSet<u64>,
        /// What the order of each access demands.
        demands: BTreeMap<u64, u64>,
        defers: bool,
        deferred: usize,
    }

    struct InProgress {
        ticket: AccessTicket,
        number: u64,
        way: AccessWay,
        rank: u32,
        /// The device starts it when these have ended.
        follows: Vec<AccessTicket>,
    }

    impl InProgress {
        /// What keeps accesses in order: a delegate keeps all of them.
        fn path(&self) -> (AccessWay, u32) {
            let is_delegated = matches!(self.way, AccessWay::Delegate(_));
            (self.way, if is_delegated { 0 } else { self.rank })
        }
    }

    fn ranks_of(access: &GlobalAccess) -> (u64, Vec<u32>) {
        let GlobalAccess::Copy { len, .. } = access else { panic!("{access:?}") };
        (*len as u64, access.addresses().map(|address| address.0 as u32).collect())
    }

    fn way_to(ranks: &[u32]) -> Option<AccessWay> {
        match ranks {
            [] | [4] => Some(AccessWay::Processor),
            [1] => Some(AccessWay::Device { engine: 0, is_ordered: true }),
            [2] => Some(AccessWay::Device { engine: 1, is_ordered: false }),
            [3] => Some(AccessWay::Delegate(3)),
            [9, ..] | [_, 9] => None,
            // Both are others: the source's owner copies.
            [_, from] => Some(AccessWay::Delegate(*from)),
            _ => Some(AccessWay::Device { engine: 2, is_ordered: true }),
        }
    }

    impl Ranks {
        fn effect(&mut self, number: u64) {
            let (after, prefix) = (self.demands[&number], self.prefix);
            assert!(after <= prefix, "{number} before {}", prefix + 1);
            self.effects.push(number);
            self.later.insert(number);
            while self.later.remove(&(self.prefix + 1)) {
                self.prefix += 1;
            }
        }

        /// One access in progress may end.
        fn advance(&mut self) {
            let is_first = |at: usize, list: &[InProgress]| {
                let one = &list[at];
                let ends = |ticket: &AccessTicket| list.iter().all(|other| other.ticket != *ticket);
                let in_order = !one.way.keeps_order()
                    || list[..at].iter().all(|other| other.path() != one.path());
                in_order && one.follows.iter().all(ends)
            };
            let list = &self.in_progress;
            let due: Vec<_> = (0..list.len()).filter(|at| is_first(*at, list)).collect();
            if let Some(at) = due.get(self.random.below(due.len().max(1) as u64) as usize) {
                let ended = self.in_progress.remove(*at);
                self.effect(ended.number);
            }
        }
    }

    impl AccessExecutor for Ranks {
        fn choose(&mut self, access: &GlobalAccess) -> ChosenWay {
            let (_, ranks) = ranks_of(access);
            match way_to(&ranks) {
                Some(_) if self.random.one_in(5) => ChosenWay::Unknown,
                Some(way) => ChosenWay::Known(way),
                None => ChosenWay::Refused(ErrorClass::RmaRange.error("rank 9")),
            }
        }

        fn start(
            &mut self, access: &GlobalAccess, way: AccessWay, is_deferred: bool,
        ) -> AccessStart {
            let (number, ranks) = ranks_of(access);
            if self.random.one_in(6) {
                return AccessStart::Busy;
            }
            self.tickets += 1;
            let ticket = match way {
                AccessWay::Processor => {
                    self.effect(number);
                    return AccessStart::Finished;
                }
                AccessWay::Device { .. } => {
                    AccessTicket::Device { peer: ranks[0], number: self.tickets }
                }
                AccessWay::Delegate(_) => AccessTicket::Request(self.tickets as u32),
            };
            let all = self.in_progress.iter();
            let on_device = all.filter(|other| matches!(other.way, AccessWay::Device { .. }));
            let follows = on_device.map(|other| other.ticket).filter(|_| is_deferred).collect();
            self.deferred += usize::from(is_deferred);
            self.in_progress.push(InProgress { ticket, number, way, rank: ranks[0], follows });
            AccessStart::InProgress(ticket)
        }

        fn defers(&mut self) -> bool {
            self.defers
        }

        fn has_finished(&mut self, ticket: AccessTicket) -> Result<bool> {
            Ok(self.in_progress.iter().all(|other| other.ticket != ticket))
        }
    }

    fn copy(number: u64, ranks: &[u32]) -> GlobalAccess {
        let place = |at: usize| match ranks.get(at) {
            Some(rank) => GlobalPlace::Global(GlobalAddress(u64::from(*rank))),
            None => GlobalPlace::Private(Span::EMPTY),
        };
        GlobalAccess::Copy { to: place(0), from: place(1), len: number as usize }
    }

    fn touched(ranks: &[u32]) -> TouchedRanks {
        let others = [ranks.first().copied(), ranks.get(1).copied()];
        TouchedRanks { others, colours: [0; 2] }
    }

    /// The numbers of accesses that took effect, each after what its order demands, those to one rank in the
    /// order of their numbers; and how many were deferred.
    fn run(seed: u64, defers: bool) -> (Vec<u64>, usize) {
        const ACCESSES: u64 = 120;
        let (mut queue, mut random) = (AccessQueue::default(), Random::new(seed));
        let mut ranks = Ranks {
            random: Random::new(!seed),
            in_progress: Vec::new(),
            tickets: 0,
            effects: Vec::new(),
            prefix: 0,
            later: BTreeSet::new(),
            demands: BTreeMap::new(),
            defers,
            deferred: 0,
        };
        let mut touches: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        let mut next = 1;
        for step in 0.. {
            assert!(step < 100_000, "seed {seed}: no end");
            if next <= ACCESSES && random.one_in(2) {
                let to = [&[][..], &[1], &[2], &[3], &[4], &[5], &[1, 2], &[4, 3]];
                let to = to[random.below(to.len() as u64) as usize];
                let (order, demand) = match random.below(6) {
                    0 => (AccessOrder::AfterAll, next - 1),
                    1 => {
                        let before = random.below(next);
                        (AccessOrder::After(before), before)
                    }
                    2 => (AccessOrder::After(next + random.below(3)), 0),
                    3 => {
                        let is_alike = touches.get(&(next - 1)).is_some_and(|last| last == to);
                        let demand = if is_alike { ranks.demands[&(next - 1)] } else { next - 1 };
                        (AccessOrder::Continuation, demand)
                    }
                    _ => (AccessOrder::Unordered, 0),
                };
                ranks.demands.insert(next, demand);
                touches.insert(next, to.to_vec());
                queue.submit(next, copy(next, to), touched(to), order);
                next += 1;
            }
            queue.advance(&mut ranks).unwrap();
            assert!(ranks.prefix + 1 == next || !queue.has_completed(ranks.prefix + 1));
            if queue.len() == 0 && next > ACCESSES {
                break;
            }
            ranks.advance();
        }
        for rank in 1..=5 {
            let order = ranks.effects.iter().filter(|number| touches[number].contains(&rank));
            assert!(order.is_sorted(), "seed {seed}: rank {rank}");
        }
        (ranks.effects, ranks.deferred)
    }

    #[test]
    fn random_accesses_keep_their_orders() {
        let mut deferred = 0;
        for seed in 0..400 {
            let (effects, count) = run(seed, seed % 2 == 0);
            assert_eq!(effects.len(), 120, "seed {seed}");
            assert!(seed % 2 == 0 || count == 0);
            deferred += count;
        }
        assert!(deferred > 200, "{deferred}");
    }

    #[test]
    fn an_access_that_cannot_be_made_is_an_error_and_leaves() {
        let mut queue = AccessQueue::default();
        let mut ranks = Ranks {
            random: Random::new(1),
            in_progress: Vec::new(),
            tickets: 0,
            effects: Vec::new(),
            prefix: 0,
            later: BTreeSet::new(),
            demands: [(1, 0), (2, 0), (3, 0)].into(),
            defers: false,
            deferred: 0,
        };
        for (number, to) in [(1, [1]), (2, [9]), (3, [1])] {
            queue.submit(number, copy(number, &to), touched(&to), AccessOrder::Unordered);
        }
        let mut errors = 0;
        while queue.len() > 0 {
            errors += usize::from(queue.advance(&mut ranks).is_err());
            ranks.advance();
        }
        assert_eq!((errors, ranks.effects), (1, vec![1, 3]));
    }
}
