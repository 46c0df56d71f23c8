//! Questions to peers whether messages arrive, before the first message to each.
//!
//! ```text
//!   new ── a message is to be sent ──> asked ── an answer, or a message, has come ──> open
//!                                      │   ▲
//!                                      └───┘ no answer: the question again
//! ```
//!
//! If two endpoints of the provider `tcp` connect to each other at the same time, both are to keep the connection that
//! the one with the lower address has not begun. One that has completed it may take the request of the other for a new
//! start of its peer, close the good connection and accept the dead one: the event that tells of the completed connection
//! is behind that of the request (libfabric before 2.5, `xnet_process_connreq`). Messages that were sent by then, in
//! either direction, are lost. Jobs have lost first messages with libfabric 2.5.1, too, for reasons that are not known. So
//! a question may be lost. An answer tells that both ends have handled these events.
//!
//! Questions and answers are messages of one byte with the tag of headers.

use std::time::{Duration, Instant};

use crate::base::Span;

/// How long an answer is awaited before the question is sent again: at first, and at most.
const PATIENCE_MIN: Duration = Duration::from_millis(20);
const PATIENCE_MAX: Duration = Duration::from_secs(1);

/// Whether a provider may lose the first messages of a connection. Those above it (`tcp;ofi_rxm`) settle connections
/// themselves; `net` is an older name. (Once, a rank by `tcp;ofi_rxm` waited for ever for a first message, on a machine with
/// much other work. Questions do not help there: a rank that nineteen others ask crashes inside libfabric 2.5.1, in
/// every second run.)
pub(super) fn are_needed(provider: &str) -> bool {
    provider == "tcp" || provider.split(';').next() == Some("net")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ContactMessage {
    Question = 1,
    Answer = 2,
}

impl ContactMessage {
    /// A message of `len` bytes with the tag of headers; none if it has a header.
    #[inline]
    pub(super) fn of(message: Span, len: usize) -> Option<Self> {
        if len != 1 {
            return None;
        }
        let mut byte = [0];
        message.part(0, 1).read(0, &mut byte);
        match byte {
            [1] => Some(Self::Question),
            _ => Some(Self::Answer),
        }
    }
}

/// What is known of each peer.
#[derive(Default)]
pub(super) struct Contacts {
    open: Vec<bool>,
    asked: Vec<AskedPeer>,
    /// Peers whose question is to be answered.
    asking: Vec<u32>,
}

struct AskedPeer {
    to: u32,
    /// When the question is sent again; at once if it has not been sent.
    again: Option<Instant>,
    patience: Duration,
}

impl Contacts {
    /// Nothing is known of `peers` peers, or all are open.
    pub(super) fn new(peers: usize, greets: bool) -> Self {
        Self { open: vec![!greets; peers], ..Self::default() }
    }

    /// Whether messages to `peer` arrive.
    #[inline]
    pub(super) fn is_open(&self, peer: u32) -> bool {
        self.open[peer as usize]
    }

    /// Whether questions or answers are to be sent, or sent again.
    #[inline]
    pub(super) fn are_due(&self) -> bool {
        !self.asked.is_empty() || !self.asking.is_empty()
    }

    /// A message to `to` waits.
    #[cold]
    pub(super) fn ask(&mut self, to: u32) {
        if self.asked.iter().all(|asked| asked.to != to) {
            self.asked.push(AskedPeer { to, again: None, patience: PATIENCE_MIN });
        }
    }

    /// What is to be sent now.
    pub(super) fn due(&self, now: Instant) -> Vec<(u32, ContactMessage)> {
        let is_due = |asked: &&AskedPeer| asked.again.is_none_or(|again| again <= now);
        let questions = self.asked.iter().filter(is_due);
        let questions = questions.map(|asked| (asked.to, ContactMessage::Question));
        let answers = self.asking.iter().map(|peer| (*peer, ContactMessage::Answer));
        questions.chain(answers).collect()
    }

    /// The provider has taken a message to `to`.
    pub(super) fn sent(&mut self, to: u32, message: ContactMessage, now: Instant) {
        match message {
            ContactMessage::Question => {
                for asked in self.asked.iter_mut().filter(|asked| asked.to == to) {
                    asked.again = Some(now + asked.patience);
                    asked.patience = PATIENCE_MAX.min(2 * asked.patience);
                }
            }
            ContactMessage::Answer => self.asking.retain(|peer| *peer != to),
        }
    }

    #[cold]
    pub(super) fn arrived(&mut self, from: u32, message: ContactMessage) {
        match message {
            ContactMessage::Question if from as usize >= self.open.len() => {}
            ContactMessage::Question if self.asking.contains(&from) => {}
            ContactMessage::Question => self.asking.push(from),
            ContactMessage::Answer => self.open(from),
        }
    }

    /// A message other than a question has come from `peer`, which sends none before it has heard from this endpoint.
    #[inline]
    pub(super) fn open(&mut self, peer: u32) {
        if let Some(false) = self.open.get(peer as usize) {
            self.settle(peer);
        }
    }

    /// `peer` has failed.
    pub(super) fn forget(&mut self, peer: u32) {
        self.settle(peer);
        self.asking.retain(|asking| *asking != peer);
    }

    fn settle(&mut self, peer: u32) {
        self.open[peer as usize] = true;
        self.asked.retain(|asked| asked.to != peer);
    }
}

#[cfg(test)]
mod tests {
    use super::ContactMessage::{Answer, Question};
    use super::*;

    #[test]
    fn a_question_is_repeated_until_it_is_answered() {
        let (mut contacts, start) = (Contacts::new(3, true), Instant::now());
        assert!(!contacts.is_open(1) && !contacts.are_due());
        contacts.ask(1);
        contacts.ask(1);
        contacts.ask(2);
        // As often as the provider has no room.
        assert_eq!(contacts.due(start), [(1, Question), (2, Question)]);
        assert_eq!(contacts.due(start), [(1, Question), (2, Question)]);
        contacts.sent(1, Question, start);
        assert_eq!(contacts.due(start), [(2, Question)]);
        contacts.sent(2, Question, start);
        assert_eq!(contacts.due(start), []);
        let later = start + PATIENCE_MIN;
        assert_eq!(contacts.due(later), [(1, Question), (2, Question)]);
        contacts.sent(1, Question, later);
        assert_eq!(contacts.due(later + PATIENCE_MIN), [(2, Question)]);
        contacts.arrived(1, Answer);
        assert!(contacts.is_open(1) && !contacts.is_open(2) && contacts.are_due());
        contacts.open(2);
        assert!(contacts.is_open(2) && !contacts.are_due());
    }

    #[test]
    fn a_question_is_answered_once_and_opens_nothing() {
        let (mut contacts, start) = (Contacts::new(3, true), Instant::now());
        contacts.arrived(2, Question);
        contacts.arrived(2, Question);
        contacts.arrived(3, Question);
        contacts.arrived(3, Answer);
        assert!(!contacts.is_open(2));
        assert_eq!(contacts.due(start), [(2, Answer)]);
        contacts.sent(2, Answer, start);
        assert!(!contacts.are_due());
        contacts.arrived(1, Question);
        contacts.ask(1);
        contacts.forget(1);
        assert!(!contacts.are_due());
        assert!(Contacts::new(1, false).is_open(0));
    }

    #[test]
    fn providers_that_settle_connections_themselves_need_no_questions() {
        assert!(are_needed("tcp") && are_needed("net"));
        assert!(!are_needed("tcp;ofi_rxm") && !are_needed("verbs;ofi_rxm") && !are_needed("cxi"));
    }
}
