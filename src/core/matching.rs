//! Matching: which receive takes which message (MPI 5.0 §3.5, order and non-overtaking).
//!
//! Posted receives and unexpected messages wait in two queues. An exact receive or a message is
//! matched in constant time however long they are; a receive with a wildcard looks through the
//! unexpected messages of its communicator, and a message through the wildcard receives of its
//! communicator. Of several that fit, the oldest wins, which sequence numbers decide between an
//! exact and a wildcard receive.
//!
//! Knows neither what a receive does with a message nor how the message travels: `R` and `M` are
//! the engine's.

use crate::base::Slab;
use crate::core::bins::{Bins, Key};
use crate::core::wire::Envelope;

/// What a receive or a probe asks for; `None` is a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The communicator's context.
    pub context: u64,
    /// The source's rank in the communicator.
    pub source: Option<u32>,
    /// The tag.
    pub tag: Option<i32>,
}

impl Pattern {
    /// Whether a message with this envelope fits.
    #[inline]
    pub fn fits(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }

    #[inline]
    fn exact(&self) -> Option<Envelope> {
        Some(Envelope { context: self.context, source: self.source?, tag: self.tag? })
    }
}

#[inline]
fn exact_key(envelope: Envelope) -> Key {
    [envelope.context, u64::from(envelope.source) << 32 | u64::from(envelope.tag as u32)]
}

fn context_key(context: u64) -> Key {
    [context, 0]
}

/// Where a posted receive waits, to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// Among the exact ones.
    Exact(u32),
    /// Among those with a wildcard.
    Wild(u32),
}

/// Both queues: receives of type `R` and messages of type `M`.
#[derive(Debug)]
pub struct Matching<R, M> {
    exact: Bins<(u64, R)>,
    wild: Bins<(u64, Pattern, R)>,
    /// Receives posted so far: the age of each.
    posted: u64,
    messages: Slab<Waiting<M>>,
    by_envelope: Bins<u32>,
    by_context: Bins<u32>,
}

#[derive(Debug)]
struct Waiting<M> {
    envelope: Envelope,
    message: M,
    by_envelope: u32,
    by_context: u32,
}

impl<R, M> Default for Matching<R, M> {
    fn default() -> Self {
        Self {
            exact: Bins::default(),
            wild: Bins::default(),
            posted: 0,
            messages: Slab::default(),
            by_envelope: Bins::default(),
            by_context: Bins::default(),
        }
    }
}

impl<R: Copy, M> Matching<R, M> {
    /// Queues a receive that no waiting message fits; ask [`Matching::take_message`] first.
    #[inline]
    pub fn post(&mut self, pattern: Pattern, receive: R) -> Posted {
        self.posted += 1;
        match pattern.exact() {
            Some(envelope) => {
                Posted::Exact(self.exact.push(exact_key(envelope), (self.posted, receive)))
            }
            None => {
                let key = context_key(pattern.context);
                Posted::Wild(self.wild.push(key, (self.posted, pattern, receive)))
            }
        }
    }

    /// Takes a posted receive back.
    pub fn unpost(&mut self, posted: Posted) {
        match posted {
            Posted::Exact(node) => drop(self.exact.remove(node)),
            Posted::Wild(node) => drop(self.wild.remove(node)),
        }
    }

    /// What a posted receive asks for.
    ///
    /// # Panics
    /// If it is not posted any more.
    pub fn pattern(&self, posted: Posted) -> Pattern {
        match posted {
            Posted::Exact(node) => {
                let ([context, second], _) = self.exact.entry(node);
                let (source, tag) = ((second >> 32) as u32, second as u32 as i32);
                Pattern { context, source: Some(source), tag: Some(tag) }
            }
            Posted::Wild(node) => self.wild.entry(node).1.1,
        }
    }

    /// The messages of a communicator that no receive has asked for, oldest first.
    pub fn messages(&self, context: u64) -> impl Iterator<Item = (Envelope, &M)> {
        let queue = self.by_context.queue(context_key(context));
        queue.map(|(_, id)| (self.messages[*id].envelope, &self.messages[*id].message))
    }

    /// Takes the oldest posted receive that a message with this envelope fits.
    #[inline]
    pub fn take_receive(&mut self, envelope: Envelope) -> Option<R> {
        let exact = self.exact.first(exact_key(envelope)).map(|(node, &(age, _))| (age, node));
        let wild = if self.wild.is_empty() { None } else { self.oldest_wild(envelope) };
        match (exact, wild) {
            (None, None) => None,
            (Some((exact_age, node)), Some((wild_age, _))) if exact_age < wild_age => {
                Some(self.exact.remove(node).1)
            }
            (Some((_, node)), None) => Some(self.exact.remove(node).1),
            (_, Some((_, node))) => Some(self.wild.remove(node).2),
        }
    }

    fn oldest_wild(&self, envelope: Envelope) -> Option<(u64, u32)> {
        let mut queue = self.wild.queue(context_key(envelope.context));
        let (node, (age, ..)) = queue.find(|(_, (_, pattern, _))| pattern.fits(&envelope))?;
        Some((*age, node))
    }

    /// Queues a message that no posted receive fits.
    pub fn keep(&mut self, envelope: Envelope, message: M) {
        let id = self.messages.insert(Waiting { envelope, message, by_envelope: 0, by_context: 0 });
        self.messages[id].by_envelope = self.by_envelope.push(exact_key(envelope), id);
        self.messages[id].by_context = self.by_context.push(context_key(envelope.context), id);
    }

    /// The oldest waiting message that fits.
    pub fn peek_message(&self, pattern: Pattern) -> Option<(Envelope, &M)> {
        let waiting = &self.messages[self.find(pattern)?];
        Some((waiting.envelope, &waiting.message))
    }

    /// Takes the oldest waiting message that fits.
    #[inline]
    pub fn take_message(&mut self, pattern: Pattern) -> Option<(Envelope, M)> {
        if self.messages.is_empty() {
            return None;
        }
        let id = self.find(pattern)?;
        let waiting = self.messages.remove(id)?;
        self.by_envelope.remove(waiting.by_envelope);
        self.by_context.remove(waiting.by_context);
        Some((waiting.envelope, waiting.message))
    }

    fn find(&self, pattern: Pattern) -> Option<u32> {
        if let Some(envelope) = pattern.exact() {
            return self.by_envelope.first(exact_key(envelope)).map(|(_, id)| *id);
        }
        let queue = self.by_context.queue(context_key(pattern.context)).map(|(_, id)| *id);
        let mut fitting = queue.filter(|id| pattern.fits(&self.messages[*id].envelope));
        fitting.next()
    }

    /// How many receives and how many messages wait.
    pub fn lengths(&self) -> (usize, usize) {
        (self.exact.len() + self.wild.len(), self.messages.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONTEXT: u64 = 1 << 40;

    fn envelope(source: u32, tag: i32) -> Envelope {
        Envelope { context: CONTEXT, source, tag }
    }

    fn pattern(source: Option<u32>, tag: Option<i32>) -> Pattern {
        Pattern { context: CONTEXT, source, tag }
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
    fn another_context_never_fits() {
        let mut matching = Matching::<u32, u32>::default();
        matching.post(Pattern { context: 1, source: None, tag: None }, 10);
        assert_eq!(matching.take_receive(envelope(0, 1)), None);
        matching.keep(envelope(0, 1), 7);
        assert_eq!(matching.take_message(Pattern { context: 1, source: None, tag: None }), None);
    }

    #[test]
    fn a_receive_taken_back_matches_nothing() {
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

    /// What the standard says, by looking through plain lists.
    #[derive(Default)]
    struct Naive {
        receives: Vec<(Pattern, u32)>,
        messages: Vec<(Envelope, u32)>,
    }

    impl Naive {
        fn receive(&mut self, pattern: Pattern, id: u32) -> Option<u32> {
            match self.messages.iter().position(|(envelope, _)| pattern.fits(envelope)) {
                Some(at) => Some(self.messages.remove(at).1),
                None => {
                    self.receives.push((pattern, id));
                    None
                }
            }
        }

        fn arrive(&mut self, envelope: Envelope, id: u32) -> Option<u32> {
            match self.receives.iter().position(|(pattern, _)| pattern.fits(&envelope)) {
                Some(at) => Some(self.receives.remove(at).1),
                None => {
                    self.messages.push((envelope, id));
                    None
                }
            }
        }
    }

    proptest! {
        #[test]
        fn matches_as_plain_lists_do(
            events in prop::collection::vec((any::<bool>(), 0..4u32, 0..4i32), 1..400),
        ) {
            let (mut naive, mut matching) = (Naive::default(), Matching::default());
            for (id, (is_receive, source, tag)) in events.into_iter().enumerate() {
                let id = id as u32;
                if is_receive {
                    let pattern =
                        pattern((source < 3).then_some(source), (tag < 3).then_some(tag));
                    let taken = matching.take_message(pattern).map(|(_, message)| message);
                    if taken.is_none() {
                        matching.post(pattern, id);
                    }
                    prop_assert_eq!(taken, naive.receive(pattern, id));
                } else {
                    let envelope = envelope(source % 3, tag % 3);
                    let taken = matching.take_receive(envelope);
                    if taken.is_none() {
                        matching.keep(envelope, id);
                    }
                    prop_assert_eq!(taken, naive.arrive(envelope, id));
                }
            }
        }
    }
}
