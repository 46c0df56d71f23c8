//! Matching: which receive takes which message (MPI 5.0 §3.5, order and non-overtaking).
//!
//! Posted receives and unexpected messages wait in two queues, oldest first. The oldest entry that
//! matches wins, with or without wildcards.
//!
//! ```text
//!             queue, in order of arrival         hash tables, while the queue is long
//! receives    r1 r2 r3 r4 ...                    each under its own pattern
//! messages    m1 m2 m3 m4 ...                    each under the pattern kinds in use
//! ```
//!
//! A short queue is scanned, which is faster than any table. When a scan finds nothing among the
//! first few entries of a longer queue, hash tables ([`MatchTable`]) replace it until the queue is
//! empty again: one table for each kind of [`MatchPattern`], that is, for each set of wildcards. A
//! message matches at most one key in each table of receives, and there the oldest receive; a
//! receive matches the oldest message with its key. So a match takes constant time for any queue
//! length. A table of messages is built when a receive or a probe of its kind first needs it; each
//! message is inserted once.
//!
//! This module does not know what a receive does with a message or how the message travels: the
//! types `R` and `M` belong to the caller.

use crate::engine::point_to_point::linked_queue::LinkedQueue;
use crate::engine::point_to_point::match_table::{MatchKey, MatchTable};
use crate::engine::point_to_point::wire::Envelope;

/// Entries of a queue that are scanned before tables are built. To scan an entry takes a load and
/// two comparisons; to insert it into a table and remove it again takes several times as long.
const SCAN_MAX: usize = 8;

/// The messages that a receive or a probe accepts; `None` is a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchPattern {
    /// The communicator's context.
    pub context: u64,
    /// The source's rank in the communicator.
    pub source: Option<u32>,
    /// The tag.
    pub tag: Option<i32>,
}

/// A pattern as words: an envelope matches if its second word, masked, is equal.
#[derive(Clone, Copy, Debug)]
struct MaskedKey {
    key: MatchKey,
    mask: u64,
}

const SOURCE: u64 = 0xffff_ffff << 32;
const TAG: u64 = 0xffff_ffff;

/// The bits that each kind of pattern compares.
const MASKS: [u64; 4] = [SOURCE | TAG, TAG, SOURCE, 0];

impl MaskedKey {
    #[inline]
    fn new(MatchPattern { context, source, tag }: MatchPattern) -> Self {
        let mask = source.map_or(0, |_| SOURCE) | tag.map_or(0, |_| TAG);
        let second = u64::from(source.unwrap_or(0)) << 32 | u64::from(tag.unwrap_or(0) as u32);
        Self { key: [context, second], mask }
    }

    fn pattern(self) -> MatchPattern {
        let [context, second] = self.key;
        let source = (self.mask & SOURCE != 0).then_some((second >> 32) as u32);
        let tag = (self.mask & TAG != 0).then_some(second as u32 as i32);
        MatchPattern { context, source, tag }
    }

    /// Index of the mask in [`MASKS`].
    #[inline]
    fn kind(self) -> usize {
        usize::from(self.mask & SOURCE == 0) | usize::from(self.mask & TAG == 0) << 1
    }

    #[inline]
    fn matches(self, [context, second]: MatchKey) -> bool {
        self.key == [context, second & self.mask]
    }
}

#[inline]
fn key(envelope: Envelope) -> MatchKey {
    [envelope.context, u64::from(envelope.source) << 32 | u64::from(envelope.tag as u32)]
}

#[inline]
fn masked([context, second]: MatchKey, mask: u64) -> MatchKey {
    [context, second & mask]
}

/// The position of a posted receive in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PostedId(u32);

/// Posted receives of type `R` and unexpected messages of type `M`.
#[derive(Debug)]
pub(crate) struct Matching<R, M> {
    receives: LinkedQueue<PostedReceive<R>>,
    /// Receives posted so far: the age of the next one.
    posted: u64,
    /// By kind. Every receive is in one of them while `receives_hashed`.
    receive_tables: [MatchTable; 4],
    receives_hashed: bool,
    messages: LinkedQueue<QueuedMessage<M>>,
    /// By kind. Every message is in each table that is in use.
    message_tables: [MatchTable; 4],
    /// The tables in use: one bit for each kind.
    messages_hashed: u8,
}

#[derive(Debug)]
struct PostedReceive<R> {
    masked_key: MaskedKey,
    age: u64,
    receive: R,
}

#[derive(Debug)]
struct QueuedMessage<M> {
    key: MatchKey,
    message: M,
}

impl<R, M> Default for Matching<R, M> {
    fn default() -> Self {
        Self {
            receives: LinkedQueue::default(),
            posted: 0,
            receive_tables: Default::default(),
            receives_hashed: false,
            messages: LinkedQueue::default(),
            message_tables: Default::default(),
            messages_hashed: 0,
        }
    }
}

/// Receives.
impl<R: Copy, M> Matching<R, M> {
    /// Queues a receive for which [`Matching::take_message`] found no message.
    #[inline]
    pub(crate) fn post(&mut self, pattern: MatchPattern, receive: R) -> PostedId {
        let wanted = MaskedKey::new(pattern);
        self.posted += 1;
        let number =
            self.receives.push(PostedReceive { masked_key: wanted, age: self.posted, receive });
        if self.receives_hashed {
            self.receive_tables[wanted.kind()].push(wanted.key, number);
        }
        PostedId(number)
    }

    /// Removes a posted receive.
    ///
    /// # Panics
    /// If it is no longer posted.
    #[inline]
    pub(crate) fn unpost(&mut self, PostedId(number): PostedId) -> R {
        let PostedReceive { masked_key: wanted, receive, .. } = self.receives.remove(number);
        if self.receives_hashed {
            self.receive_tables[wanted.kind()].remove(number);
            self.receives_hashed = !self.receives.is_empty();
        }
        receive
    }

    /// The number of receives that were posted so far.
    pub(crate) fn posted(&self) -> u64 {
        self.posted
    }

    /// The pattern of a posted receive.
    ///
    /// # Panics
    /// If it is no longer posted.
    pub fn pattern(&self, PostedId(number): PostedId) -> MatchPattern {
        self.receives[number].masked_key.pattern()
    }

    /// Takes the oldest posted receive that matches this envelope.
    #[inline]
    pub fn take_receive(&mut self, envelope: Envelope) -> Option<R> {
        let key = key(envelope);
        if !self.receives_hashed {
            let found = self.receives.find_first(SCAN_MAX, |posted| posted.masked_key.matches(key));
            if let Some(number) = found {
                return Some(self.receives.remove(number).receive);
            }
            if self.receives.len() <= SCAN_MAX {
                return None;
            }
            self.hash_receives();
        }
        let number = self.oldest_hashed(key)?;
        Some(self.unpost(PostedId(number)))
    }

    /// The oldest posted receive that matches this envelope, which stays posted. Only for long messages:
    /// it scans a queue of any length.
    pub(crate) fn peek_receive(&self, envelope: Envelope) -> Option<R> {
        let key = key(envelope);
        let number = match self.receives_hashed {
            true => self.oldest_hashed(key)?,
            false => self.receives.find_first(usize::MAX, |at| at.masked_key.matches(key))?,
        };
        Some(self.receives[number].receive)
    }

    #[cold]
    fn hash_receives(&mut self) {
        for (number, PostedReceive { masked_key: wanted, .. }) in self.receives.iter() {
            self.receive_tables[wanted.kind()].push(wanted.key, number);
        }
        self.receives_hashed = true;
    }

    fn oldest_hashed(&self, key: MatchKey) -> Option<u32> {
        let of_each_kind = MASKS.iter().zip(&self.receive_tables);
        let fitting = of_each_kind.filter_map(|(mask, table)| table.first(masked(key, *mask)));
        fitting.min_by_key(|number| self.receives[*number].age)
    }
}

/// Messages.
impl<R: Copy, M> Matching<R, M> {
    /// Queues a message that matches no posted receive.
    #[inline]
    pub(crate) fn push_message(&mut self, envelope: Envelope, message: M) {
        let key = key(envelope);
        let number = self.messages.push(QueuedMessage { key, message });
        for kind in kinds(self.messages_hashed) {
            self.message_tables[kind].push(masked(key, MASKS[kind]), number);
        }
    }

    /// The oldest unexpected message that matches.
    #[inline]
    pub(crate) fn peek_message(&mut self, pattern: MatchPattern) -> Option<(Envelope, &M)> {
        let number = self.find(pattern)?;
        let QueuedMessage { key, message } = &self.messages[number];
        Some((envelope(*key), message))
    }

    /// Takes the oldest unexpected message that matches.
    #[inline]
    pub(crate) fn take_message(&mut self, pattern: MatchPattern) -> Option<(Envelope, M)> {
        let number = self.find(pattern)?;
        Some(self.remove_message(number))
    }

    /// Takes the oldest unexpected message that `is_such`, by a scan of all.
    pub(crate) fn take_such(&mut self, is_such: impl Fn(&M) -> bool) -> Option<(Envelope, M)> {
        let number = self.messages.find_first(usize::MAX, |queued| is_such(&queued.message))?;
        Some(self.remove_message(number))
    }

    #[inline]
    fn remove_message(&mut self, number: u32) -> (Envelope, M) {
        let QueuedMessage { key, message } = self.messages.remove(number);
        for kind in kinds(self.messages_hashed) {
            self.message_tables[kind].remove(number);
        }
        if self.messages.is_empty() {
            self.messages_hashed = 0;
        }
        (envelope(key), message)
    }

    #[inline]
    fn find(&mut self, pattern: MatchPattern) -> Option<u32> {
        if self.messages.is_empty() { None } else { self.find_any(MaskedKey::new(pattern)) }
    }

    fn find_any(&mut self, wanted: MaskedKey) -> Option<u32> {
        let kind = wanted.kind();
        if self.messages_hashed & 1 << kind == 0 {
            let found = self.messages.find_first(SCAN_MAX, |queued| wanted.matches(queued.key));
            if found.is_some() || self.messages.len() <= SCAN_MAX {
                return found;
            }
            self.hash_messages(kind);
        }
        self.message_tables[kind].first(wanted.key)
    }

    #[cold]
    fn hash_messages(&mut self, kind: usize) {
        for (number, QueuedMessage { key, .. }) in self.messages.iter() {
            self.message_tables[kind].push(masked(*key, MASKS[kind]), number);
        }
        self.messages_hashed |= 1 << kind;
    }

    /// The unexpected messages of a context, oldest first.
    pub(crate) fn messages(&self, context: u64) -> impl Iterator<Item = (Envelope, &M)> {
        let all = self.messages.iter().map(|(_, QueuedMessage { key, message })| (*key, message));
        all.filter(move |(key, _)| key[0] == context).map(|(key, message)| (envelope(key), message))
    }

    /// The numbers of posted receives and of unexpected messages.
    pub fn lengths(&self) -> (usize, usize) {
        (self.receives.len(), self.messages.len())
    }
}

#[inline]
fn envelope([context, second]: MatchKey) -> Envelope {
    Envelope { context, source: (second >> 32) as u32, tag: second as u32 as i32 }
}

/// The numbers of the set bits, ascending.
#[inline]
fn kinds(mut bits: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lowest < 8).then_some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::base::Random;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const CONTEXT: u64 = 1 << 40;

    fn envelope(source: u32, tag: i32) -> Envelope {
        Envelope { context: CONTEXT, source, tag }
    }

    fn pattern(source: Option<u32>, tag: Option<i32>) -> MatchPattern {
        MatchPattern { context: CONTEXT, source, tag }
    }

    #[test]
    fn the_older_of_exact_and_wild_wins() {
        let mut matching = Matching::<u32, ()>::default();
        matching.post(pattern(None, Some(1)), 10);
        matching.post(pattern(Some(0), Some(1)), 11);
        matching.post(pattern(Some(0), None), 12);
        assert_eq!(matching.take_receive(envelope(0, 2)), Some(12));
        assert_eq!(matching.take_receive(envelope(0, 1)), Some(10));
        assert_eq!(matching.take_receive(envelope(0, 1)), Some(11));
        assert_eq!(matching.take_receive(envelope(0, 1)), None);
    }

    #[test]
    fn another_context_never_matches() {
        let mut matching = Matching::<u32, u32>::default();
        matching.post(MatchPattern { context: 1, source: None, tag: None }, 10);
        assert_eq!(matching.take_receive(envelope(0, 1)), None);
        matching.push_message(envelope(0, 1), 7);
        assert_eq!(
            matching.take_message(MatchPattern { context: 1, source: None, tag: None }),
            None
        );
    }

    #[test]
    fn a_removed_receive_matches_nothing() {
        let mut matching = Matching::<u32, ()>::default();
        let exact = matching.post(pattern(Some(0), Some(-1)), 10);
        let wild = matching.post(pattern(None, None), 11);
        assert_eq!(matching.pattern(exact), pattern(Some(0), Some(-1)));
        assert_eq!(matching.pattern(wild), pattern(None, None));
        matching.unpost(exact);
        matching.unpost(wild);
        assert_eq!(matching.take_receive(envelope(0, 1)), None);
        assert_eq!(matching.lengths(), (0, 0));
    }

    /// Matching on plain lists, as the standard describes it.
    #[derive(Default)]
    struct Naive {
        receives: Vec<(MatchPattern, u32)>,
        messages: Vec<(Envelope, u32)>,
    }

    fn fits(pattern: &MatchPattern, envelope: &Envelope) -> bool {
        pattern.context == envelope.context
            && pattern.source.is_none_or(|source| source == envelope.source)
            && pattern.tag.is_none_or(|tag| tag == envelope.tag)
    }

    impl Naive {
        fn probe(&self, pattern: MatchPattern) -> Option<usize> {
            self.messages.iter().position(|(envelope, _)| fits(&pattern, envelope))
        }

        fn receive(&mut self, pattern: MatchPattern, id: u32) -> Option<u32> {
            let Some(at) = self.probe(pattern) else {
                self.receives.push((pattern, id));
                return None;
            };
            Some(self.messages.remove(at).1)
        }

        fn arrive(&mut self, envelope: Envelope, id: u32) -> Option<u32> {
            match self.receives.iter().position(|(pattern, _)| fits(pattern, &envelope)) {
                Some(at) => Some(self.receives.remove(at).1),
                None => {
                    self.messages.push((envelope, id));
                    None
                }
            }
        }
    }

    /// Both implementations with the same calls.
    #[derive(Default)]
    struct Pair {
        naive: Naive,
        matching: Matching<u32, u32>,
        posted: HashMap<u32, PostedId>,
        id: u32,
    }

    impl Pair {
        fn receive(&mut self, pattern: MatchPattern) {
            self.id += 1;
            let taken = self.matching.take_message(pattern).map(|(_, message)| message);
            if taken.is_none() {
                self.posted.insert(self.id, self.matching.post(pattern, self.id));
            }
            assert_eq!(taken, self.naive.receive(pattern, self.id));
        }

        fn arrive(&mut self, envelope: Envelope) {
            self.id += 1;
            let seen = self.matching.peek_receive(envelope);
            let taken = self.matching.take_receive(envelope);
            assert_eq!(seen, taken);
            if taken.is_none() {
                self.matching.push_message(envelope, self.id);
            }
            assert_eq!(taken, self.naive.arrive(envelope, self.id));
        }

        fn probe(&mut self, pattern: MatchPattern) {
            let found = self.matching.peek_message(pattern).map(|(at, id)| (at, *id));
            assert_eq!(found, self.naive.probe(pattern).map(|at| self.naive.messages[at]));
        }

        fn cancel(&mut self, at: usize) {
            if at < self.naive.receives.len() {
                let (pattern, id) = self.naive.receives.remove(at);
                assert_eq!(self.matching.pattern(self.posted[&id]), pattern);
                assert_eq!(self.matching.unpost(self.posted[&id]), id);
            }
        }

        fn compare(&self) {
            let (receives, messages) = (self.naive.receives.len(), self.naive.messages.len());
            assert_eq!(self.matching.lengths(), (receives, messages));
            for context in [CONTEXT, CONTEXT + 1] {
                let ours: Vec<_> = self.matching.messages(context).collect();
                let all = self.naive.messages.iter().map(|(envelope, id)| (*envelope, id));
                let expected: Vec<_> =
                    all.filter(|(envelope, _)| envelope.context == context).collect();
                assert_eq!(ours, expected);
            }
        }
    }

    /// Makes one random call. Receives and messages prevail in turns, so that each queue becomes
    /// long and empty again.
    fn step_randomly(pair: &mut Pair, random: &mut Random, step: u64, width: u64) {
        let context = CONTEXT + random.below(2);
        let (source, tag) = (random.below(width) as u32, random.below(width) as i32 - 1);
        let (any_source, any_tag) = (random.one_in(6), random.one_in(6));
        let source_wanted = (!any_source).then_some(source);
        let pattern =
            MatchPattern { context, source: source_wanted, tag: (!any_tag).then_some(tag) };
        match random.below(40) {
            0 => pair.probe(pattern),
            1 => pair.cancel(random.below(1 + pair.naive.receives.len() as u64) as usize),
            what if (what < 30) == (step / 2500).is_multiple_of(2) => pair.receive(pattern),
            _ => pair.arrive(Envelope { context, source, tag }),
        }
    }

    #[test]
    fn long_queues_match_as_plain_lists_do() {
        for (seed, width) in [(1, 30), (2, 1000), (3, 3)] {
            println!("seed {seed}, {width} sources and tags");
            let (mut pair, mut random) = (Pair::default(), Random::new(seed));
            let mut longest = (0, 0);
            for step in 0..10_000 {
                step_randomly(&mut pair, &mut random, step, width);
                let (receives, messages) = pair.matching.lengths();
                longest = (longest.0.max(receives), longest.1.max(messages));
                if step % 500 == 0 {
                    pair.compare();
                }
            }
            assert!(width < 1000 || longest > (1000, 1000), "{longest:?}");
        }
    }

    #[test]
    fn tables_end_with_the_queues() {
        let mut pair = Pair::default();
        for turn in 0..3 {
            for tag in 0..100 {
                pair.receive(pattern((tag % 2 == 0).then_some(7), Some(tag)));
            }
            (0..100).rev().for_each(|tag| pair.arrive(envelope(7, tag)));
            assert!(!pair.matching.receives_hashed, "turn {turn}");
            (0..100).for_each(|tag| pair.arrive(envelope(7, tag)));
            for tag in (0..100).rev() {
                pair.probe(pattern(None, Some(tag)));
                pair.receive(pattern((tag % 2 == 0).then_some(7), Some(tag)));
            }
            assert_eq!((pair.matching.messages_hashed, pair.matching.lengths()), (0, (0, 0)));
        }
    }

    proptest! {
        #[test]
        fn short_queues_match_as_plain_lists_do(
            events in prop::collection::vec((0..5u32, 0..4u32, 0..4i32), 1..400),
        ) {
            let mut pair = Pair::default();
            for (what, source, tag) in events {
                let pattern = pattern((source < 3).then_some(source), (tag < 3).then_some(tag));
                match what {
                    0 | 1 => pair.receive(pattern),
                    2 | 3 => pair.arrive(envelope(source % 3, tag % 3)),
                    _ if source == 0 => pair.cancel(tag as usize),
                    _ => pair.probe(pattern),
                }
            }
            pair.compare();
        }
    }
}
