//! Agreement: all processes of a communicator that survive decide the same value, although processes fail
//! meanwhile.
//!
//! ```text
//!              members                     coordinator: the lowest rank that has not failed
//!   start ──── Vote { value } ────────────►   votes of all that live: combined
//!   decided ◄─ Decide { value } ─────────── decided
//!
//!   the coordinator fails: each member votes again, to the next coordinator;
//!   a member that has decided sends it the decision instead
//! ```
//!
//! **In shared memory.** Members that share memory and know of no failure publish their flags there first.
//! A member that sees the flags of all decides, without a message. A member gives that up and votes once it
//! hears of a failure or is asked for its vote, and decides by messages only from then on. The coordinator
//! asks all that it has no vote of, once, as soon as it coordinates: they may be waiting for flags, or have
//! decided.
//!
//! ```text
//!   start ── publish ── flags of all seen ──► decided: Decide { value } to those that vote or ask
//!               │
//!               └── failure, Ask ──► Vote, as above
//! ```
//!
//! Both ways have one result: a decision by messages needs the vote of all that live, and none that has
//! decided by the flags votes.
//!
//! This is an early-returning agreement, after Herault, Bouteiller, Bosilca, Gamell, Teranishi, Parashar and
//! Dongarra, "Practical Scalable Consensus for Pseudo-Synchronous Distributed Systems", SC 2015, along a
//! star instead of a tree; the succession of coordinators is that of Chandra and Toueg, "Unreliable
//! Failure Detectors for Reliable Distributed Systems", JACM 1996. It relies on two facts: a process that
//! is reported as failed has failed, and every failure is reported to all processes that live.
//!
//! **Agreement.** All processes that survive decide the same. A process ignores what a failed one has sent,
//! from the report on. So when a later coordinator has the word of all that live, those that voted will
//! take no decision of an earlier coordinator any more, and if one has taken it, that one has told it. A
//! process that fails after its decision, with all others that knew it, may have had another one: what it
//! did with it, no survivor learns from the agreement. (To rule that out takes one more message in each
//! direction.)
//!
//! **Termination.** A coordinator waits only for processes that live, or is told of their failure. Each
//! failure of a coordinator makes the next one start; there are fewer than there are processes.
//!
//! This is a value without input and output: messages go in, [`AgreementState::take_outgoing`] returns those
//! to send. A process keeps it after its decision, to answer those that have not decided.

use std::collections::BTreeMap;

use crate::mpi::resilience::rank_bits::RankBits;

/// What the processes agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Value {
    /// The bitwise and of all flags.
    pub(crate) flag: u32,
    /// The failed processes: all that any process knew of.
    pub(crate) failed: RankBits,
    /// The failed processes that every process has acknowledged.
    pub(crate) acknowledged: RankBits,
    /// The context of a new communicator, chosen by the coordinator.
    pub(crate) context: u64,
}

impl Value {
    /// Combines the vote of another process.
    fn combine(&mut self, other: &Self) {
        self.flag &= other.flag;
        self.failed.unite(&other.failed);
        self.acknowledged.intersect(&other.acknowledged);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AgreementMessage {
    Vote(Value),
    Decide(Value),
    /// The coordinator has no vote of the receiver.
    Ask,
}

/// One agreement at one process.
#[derive(Clone, Debug)]
pub(crate) struct AgreementState {
    me: u32,
    size: u32,
    failed: RankBits,
    /// The vote of this process, from its start on.
    own: Option<Value>,
    /// The coordinator that has this process's vote.
    voted_to: Option<u32>,
    /// What other processes have sent to this process as their coordinator.
    votes: BTreeMap<u32, Value>,
    decision: Option<Value>,
    outgoing: Vec<(u32, AgreementMessage)>,
    /// Whether flags may have been published by some.
    has_memory: bool,
    /// Whether this process has published its flag and has not voted.
    is_published: bool,
    /// Whether a coordinator has asked this process, or this one has asked the others.
    is_asked: bool,
    has_asked: bool,
}

impl AgreementState {
    /// An agreement of `size` processes that has not started here, at rank `me`. All have memory that they
    /// share, or none has.
    pub(crate) fn new(me: u32, size: u32, failed: RankBits, has_memory: bool) -> Self {
        Self {
            me,
            size,
            failed,
            has_memory,
            is_published: false,
            is_asked: false,
            has_asked: false,
            own: None,
            voted_to: None,
            votes: BTreeMap::new(),
            decision: None,
            outgoing: Vec::new(),
        }
    }

    /// This process takes part.
    pub(crate) fn start(&mut self, value: Value) {
        debug_assert!(self.own.is_none());
        self.own = Some(value);
        self.advance();
    }

    /// Whether this process may publish its flag instead of voting.
    pub(crate) fn may_publish(&self) -> bool {
        let is_quiet = self.votes.is_empty() && self.failed.is_empty() && !self.is_asked;
        self.has_memory && is_quiet && self.decision.is_none()
    }

    /// This process takes part, and publishes its flag.
    pub(crate) fn start_published(&mut self, value: Value) {
        debug_assert!(self.own.is_none() && self.may_publish());
        self.own = Some(value);
        self.is_published = true;
    }

    /// Whether this process waits for the flags of others.
    pub(crate) fn awaits_flags(&self) -> bool {
        self.is_published && self.decision.is_none()
    }

    /// All have published their flags, which make this one.
    pub(crate) fn all_published(&mut self, flag: u32) {
        if self.awaits_flags() {
            self.decide(Value { flag, ..Value::default() });
        }
    }

    /// This process does not see the flags of all any more.
    pub(crate) fn give_up_flags(&mut self) {
        self.is_published = false;
        self.advance();
    }

    /// Whether this process takes part.
    #[cfg(test)]
    pub(crate) fn has_started(&self) -> bool {
        self.own.is_some()
    }

    /// The decision, from the moment on at which this process knows it.
    pub(crate) fn decision(&self) -> Option<&Value> {
        self.decision.as_ref()
    }

    /// The messages to send, each with its receiver.
    pub(crate) fn take_outgoing(&mut self) -> Vec<(u32, AgreementMessage)> {
        std::mem::take(&mut self.outgoing)
    }

    /// The process `rank` has failed.
    pub(crate) fn failed(&mut self, rank: u32) {
        if self.failed.insert(rank) {
            self.give_up_flags();
        }
    }

    /// A message of `from` has arrived.
    pub(crate) fn arrived(&mut self, from: u32, message: AgreementMessage) {
        // This process may have voted to the successor of `from`, which decides without it.
        if self.failed.contains(from) {
            return;
        }
        match message {
            AgreementMessage::Vote(_) | AgreementMessage::Ask if self.decision.is_some() => {
                self.tell_decision(from);
            }
            AgreementMessage::Vote(value) => {
                self.votes.insert(from, value);
            }
            AgreementMessage::Ask => self.is_asked = true,
            AgreementMessage::Decide(value) => self.decide(value),
        }
        self.give_up_flags();
    }

    /// Those that live, except this process.
    fn others(&self) -> impl Iterator<Item = u32> {
        (0..self.size).filter(|rank| *rank != self.me && !self.failed.contains(*rank))
    }

    /// Sends what is due.
    fn advance(&mut self) {
        let first = self.others().next().unwrap_or(self.me);
        let coordinator = first.min(self.me);
        if self.decision.is_some() {
            return self.pass_on(coordinator);
        }
        let Some(own) = self.own.as_ref().filter(|_| !self.is_published) else { return };
        if coordinator == self.me {
            return self.coordinate();
        }
        if self.voted_to != Some(coordinator) {
            self.voted_to = Some(coordinator);
            self.outgoing.push((coordinator, AgreementMessage::Vote(own.clone())));
        }
    }

    /// Decides once all have voted.
    fn coordinate(&mut self) {
        let missing: Vec<_> = self.others().filter(|rank| !self.votes.contains_key(rank)).collect();
        if !missing.is_empty() {
            if self.has_memory && !std::mem::replace(&mut self.has_asked, true) {
                self.outgoing.extend(missing.into_iter().map(|to| (to, AgreementMessage::Ask)));
            }
            return;
        }
        let mut value = self.own.clone().unwrap_or_default();
        self.votes.values().for_each(|vote| value.combine(vote));
        value.failed.unite(&self.failed);
        self.voted_to = Some(self.me);
        self.decision = Some(value);
        self.send_decision();
    }

    fn decide(&mut self, value: Value) {
        if self.decision.is_some() {
            return;
        }
        self.decision = Some(value);
        // Those that voted to this process before it knew.
        let waiting: Vec<_> = self.votes.keys().copied().collect();
        waiting.into_iter().for_each(|rank| self.tell_decision(rank));
    }

    fn tell_decision(&mut self, to: u32) {
        if let Some(value) = self.decision.clone().filter(|_| !self.failed.contains(to)) {
            self.outgoing.push((to, AgreementMessage::Decide(value)));
        }
    }

    /// After the decision: the next coordinator must learn it, as it cannot have all votes.
    fn pass_on(&mut self, coordinator: u32) {
        if self.voted_to == Some(coordinator) || self.voted_to.is_none() {
            self.voted_to = Some(coordinator);
            return;
        }
        self.voted_to = Some(coordinator);
        match coordinator == self.me {
            true => self.send_decision(),
            false => self.tell_decision(coordinator),
        }
    }

    /// Tells all that live.
    fn send_decision(&mut self) {
        let others: Vec<_> = self.others().collect();
        others.into_iter().for_each(|rank| self.tell_decision(rank));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::base::Random;
    use std::collections::VecDeque;

    /// Processes, the messages between them, and the failures that they do not know yet.
    struct System {
        all: Vec<AgreementState>,
        /// By receiver and sender.
        channels: Vec<Vec<VecDeque<AgreementMessage>>>,
        unknown: Vec<Vec<u32>>,
        inputs: Vec<Value>,
        /// The flags in shared memory.
        published: Vec<Option<u32>>,
        dead: RankBits,
        random: Random,
    }

    impl System {
        fn new(seed: u64) -> Self {
            let mut random = Random::new(seed);
            let size = 1 + random.below(8) as u32;
            let input = |rank: u32| Value {
                flag: random.below(1 << 16) as u32 | 1 << 20,
                acknowledged: RankBits::all(size),
                context: u64::from(rank) + 100,
                ..Value::default()
            };
            let inputs = (0..size).map(input).collect();
            let has_memory = random.below(4) > 0;
            let agreement = |rank| AgreementState::new(rank, size, RankBits::default(), has_memory);
            let row = || (0..size).map(|_| VecDeque::new()).collect();
            Self {
                all: (0..size).map(agreement).collect(),
                channels: (0..size).map(|_| row()).collect(),
                unknown: vec![Vec::new(); size as usize],
                inputs,
                published: vec![None; size as usize],
                dead: RankBits::default(),
                random,
            }
        }

        fn below(&mut self, count: usize) -> usize {
            self.random.below(count as u64) as usize
        }

        /// Sends what `rank` has to send; the last part is lost if it fails now.
        fn flush(&mut self, rank: usize, lost: usize) {
            let mut outgoing = self.all[rank].take_outgoing();
            outgoing.truncate(outgoing.len().saturating_sub(lost));
            for (to, message) in outgoing {
                self.channels[to as usize][rank].push_back(message);
            }
        }

        fn fail(&mut self, rank: usize) {
            let lost = self.below(4);
            self.flush(rank, lost);
            self.dead.insert(rank as u32);
            for survivor in 0..self.all.len() {
                self.unknown[survivor].push(rank as u32);
                // Messages of a process that fails may not have left it.
                let kept = self.random.below(4) as usize;
                self.channels[survivor][rank].truncate(kept);
            }
        }

        fn start(&mut self, rank: usize) {
            let input = self.inputs[rank].clone();
            // Some may not use the memory, for reasons of their own.
            if self.all[rank].may_publish() && self.below(8) > 0 {
                self.published[rank] = Some(input.flag);
                self.all[rank].start_published(input);
            } else {
                self.all[rank].start(input);
            }
        }

        fn step(&mut self, rank: usize) {
            match self.below(5) {
                0 if !self.all[rank].has_started() => self.start(rank),
                2 if self.all[rank].awaits_flags() => {
                    let flags: Option<Vec<u32>> = self.published.iter().copied().collect();
                    if let Some(flags) = flags {
                        let all = flags.into_iter().fold(u32::MAX, |all, flag| all & flag);
                        self.all[rank].all_published(all);
                    }
                }
                1 if !self.unknown[rank].is_empty() => {
                    let failed = self.unknown[rank].remove(0);
                    self.all[rank].failed(failed);
                }
                _ => {
                    let from = self.below(self.all.len());
                    if let Some(message) = self.channels[rank][from].pop_front() {
                        self.all[rank].arrived(from as u32, message);
                    }
                }
            }
        }

        /// What those that live have decided; `None` if one has not.
        fn decisions(&self) -> Option<Vec<Value>> {
            let lives = |rank: &usize| !self.dead.contains(*rank as u32);
            let survivors = (0..self.all.len()).filter(lives);
            survivors.map(|rank| self.all[rank].decision.clone()).collect()
        }

        fn run(&mut self, seed: u64) {
            let size = self.all.len();
            let crashes = self.below(size);
            let mut left = crashes;
            for _ in 0..100_000 {
                let rank = self.below(size);
                if self.dead.contains(rank as u32) {
                    continue;
                }
                if left > 0 && self.below(40) == 0 {
                    left -= 1;
                    self.fail(rank);
                    continue;
                }
                self.step(rank);
                self.flush(rank, 0);
                if left == 0 && self.decisions().is_some() {
                    break;
                }
            }
            let decisions = self.decisions().unwrap_or_else(|| panic!("seed {seed}: no decision"));
            assert!(decisions.iter().all(|one| *one == decisions[0]), "seed {seed}: {decisions:?}");
            self.check_value(&decisions[0], seed);
        }

        fn check_value(&self, value: &Value, seed: u64) {
            for (rank, input) in self.inputs.iter().enumerate() {
                if !self.dead.contains(rank as u32) {
                    assert_eq!(value.flag & !input.flag, 0, "seed {seed}: without rank {rank}");
                }
            }
            let all = self.inputs.iter().fold(u32::MAX, |flag, input| flag & input.flag);
            assert_eq!(value.flag & all, all, "seed {seed}");
            assert!(value.failed.is_subset(&self.dead), "seed {seed}");
            let by_flags = self.published.iter().all(Option::is_some);
            assert!(value.context >= 100 || by_flags, "seed {seed}");
        }
    }

    #[test]
    fn survivors_agree_whatever_fails_and_when() {
        let seeds = std::env::var("SUIRO_AGREEMENT_SEEDS").ok().and_then(|text| text.parse().ok());
        (0..seeds.unwrap_or(1000)).for_each(|seed| System::new(seed).run(seed));
    }

    #[test]
    fn one_process_decides_alone() {
        let mut alone = AgreementState::new(0, 1, RankBits::default(), false);
        alone.start(Value { flag: 5, ..Value::default() });
        assert_eq!(alone.decision().map(|value| value.flag), Some(5));
        assert!(alone.take_outgoing().is_empty());
    }
}
