//! Cancelled messages between clients.
//!
//! ```text
//!   engine          sender                             receiver         engine
//!   Cancel ───────> asked ──────── CANCEL ───────────> questioned ────> Cancel
//!   CancelReply <── end of asked <─ CANCELYES, ─────── answered <────── CancelReply
//!                                   CANCELNO
//! ```
//!
//! Every CANCEL has one answer, a no also if the SYNCACK of the message has left before it, as IMPI has it:
//! so both ends keep what is open apart from the messages. A message that is one DATA packet is complete
//! at a sender of this library, which never takes it back; a foreign one gets a no. If several messages
//! have one request of the sender, the newest is meant.

use super::requests::{AnnouncedReceive, AnnouncedSend, Requests};
use crate::engine::point_to_point::operation::OperationId;
use platform::base::Peer;

/// Answers that may wait for room, of all peers together: a peer that asks must read.
pub(super) const ANSWERS_MAX: usize = 4096;

/// What is open.
#[derive(Debug, Default)]
pub(super) struct Cancels {
    /// Messages of this process, by their numbers, that it wants to take back.
    asked: Vec<(Peer, u32)>,
    /// Messages to this process that their senders want to take back.
    questioned: Vec<Question>,
}

#[derive(Debug)]
struct Question {
    from: Peer,
    /// The number of the message here.
    number: u32,
    /// The request, as the sender has named it.
    sender: u64,
}

/// What an answer means for a message of this process.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CancelEnd {
    /// The engine's operation is cancelled, or is not.
    Decided { operation: OperationId, is_cancelled: bool },
    /// The message has been received before the answer.
    Received,
}

impl Cancels {
    /// The engine wants to take back the message of an operation; its number, unless it has been received.
    pub(super) fn to_ask(
        sent: &Requests<AnnouncedSend>, to: Peer, operation: OperationId,
    ) -> Option<u32> {
        sent.newest(|request| {
            request.to == to && request.operation == operation && request.receiver.is_none()
        })
    }

    /// The CANCEL of a message has left.
    pub(super) fn asked(&mut self, to: Peer, number: u32) {
        self.asked.push((to, number));
    }

    /// The answer to a CANCEL.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn answered(
        &mut self, sent: &mut Requests<AnnouncedSend>, from: Peer, number: u64, is_cancelled: bool,
    ) -> Result<CancelEnd, String> {
        let is_it = |asked: &(Peer, u32)| asked.0 == from && u64::from(asked.1) == number;
        let Some(at) = self.asked.iter().position(is_it) else {
            return Err(format!(
                "an answer to a cancel of the message {number}, where none was sent"
            ));
        };
        let (_, number) = self.asked.swap_remove(at);
        let Some(request) = sent.get(number).filter(|request| request.receiver.is_none()) else {
            return match is_cancelled {
                true => {
                    Err(format!("a yes to a cancel of the message {number}, which it has received"))
                }
                false => Ok(CancelEnd::Received),
            };
        };
        let operation = request.operation;
        if is_cancelled {
            sent.remove(number);
        }
        Ok(CancelEnd::Decided { operation, is_cancelled })
    }

    /// The questions that await the engine, or room for its answer.
    pub(super) fn questions(&self) -> usize {
        self.questioned.len()
    }

    /// A peer wants to take back its message `sender`; the number here, unless it is none that awaits a
    /// receive.
    pub(super) fn question(
        &mut self, arriving: &Requests<AnnouncedReceive>, from: Peer, sender: u64,
    ) -> Option<u32> {
        let number = arriving.newest(|request| {
            request.from == from && request.sender == sender && request.receiver.is_none()
        })?;
        self.questioned.push(Question { from, number, sender });
        Some(number)
    }

    /// The request of the sender of a message that the engine decides on, as long as the sender waits.
    pub(super) fn sender_of(&self, from: Peer, number: u32) -> Option<u64> {
        let is_it = |it: &&Question| it.from == from && it.number == number;
        self.questioned.iter().find(is_it).map(|it| it.sender)
    }

    /// The answer to the first question about a message has left.
    pub(super) fn answer(&mut self, from: Peer, number: u32) {
        let is_it = |it: &Question| it.from == from && it.number == number;
        if let Some(at) = self.questioned.iter().position(is_it) {
            self.questioned.remove(at);
        }
    }

    /// Forgets a peer that has failed.
    pub(super) fn failed(&mut self, peer: Peer) {
        self.asked.retain(|(to, _)| *to != peer);
        self.questioned.retain(|it| it.from != peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(operation: OperationId, receiver: Option<u64>) -> AnnouncedSend {
        AnnouncedSend { to: 4, operation, total: 9, announced: 9, receiver }
    }

    fn arriving(sender: u64) -> AnnouncedReceive {
        let first = Vec::new();
        AnnouncedReceive { from: 4, sender, total: 9, arrived: 9, first, receiver: None }
    }

    #[test]
    fn an_answer_ends_the_question_that_was_asked() {
        let (mut cancels, mut all) = (Cancels::default(), Requests::default());
        all.add(sent(70, None));
        all.add(sent(71, None));
        assert_eq!(Cancels::to_ask(&all, 4, 71), Some(2));
        assert_eq!(Cancels::to_ask(&all, 5, 71), None);
        for number in [1, 2] {
            cancels.asked(4, number);
        }
        let yes = CancelEnd::Decided { operation: 71, is_cancelled: true };
        assert_eq!(cancels.answered(&mut all, 4, 2, true), Ok(yes));
        assert!(all.get(2).is_none() && all.get(1).is_some());
        let no = CancelEnd::Decided { operation: 70, is_cancelled: false };
        assert_eq!(cancels.answered(&mut all, 4, 1, false), Ok(no));
        assert!(all.get(1).is_some());
    }

    #[test]
    fn a_message_that_was_received_is_not_cancelled() {
        let (mut cancels, mut all) = (Cancels::default(), Requests::default());
        all.add(sent(70, None));
        all.add(sent(71, None));
        for number in [1, 2, 2] {
            cancels.asked(4, number);
        }
        // The SYNCACK of one came first; that of a short one has ended it.
        all.get(1).unwrap().receiver = Some(8);
        all.remove(2);
        assert_eq!(Cancels::to_ask(&all, 4, 70), None);
        assert_eq!(cancels.answered(&mut all, 4, 1, false), Ok(CancelEnd::Received));
        assert_eq!(cancels.answered(&mut all, 4, 2, false), Ok(CancelEnd::Received));
        assert!(cancels.answered(&mut all, 4, 2, true).unwrap_err().contains("it has received"));
        for (from, number) in [(4, 2), (4, 1), (4, u64::MAX)] {
            let why = cancels.answered(&mut all, from, number, true).unwrap_err();
            assert!(why.contains("where none was sent"), "{why}");
        }
        cancels.asked(4, 1);
        assert!(cancels.answered(&mut all, 5, 1, false).is_err());
    }

    #[test]
    fn the_newest_message_with_a_request_is_meant() {
        let (mut cancels, mut all) = (Cancels::default(), Requests::default());
        for sender in [900, 900, 901] {
            all.add(arriving(sender));
        }
        assert_eq!(cancels.question(&all, 4, 900), Some(2));
        assert_eq!(cancels.question(&all, 5, 900), None);
        assert_eq!(cancels.question(&all, 4, 902), None);
        all.get(3).unwrap().receiver = Some((1, 9));
        assert_eq!(cancels.question(&all, 4, 901), None);
        assert_eq!(cancels.sender_of(4, 2), Some(900));
        cancels.answer(4, 2);
        assert_eq!(cancels.sender_of(4, 2), None);
        cancels.question(&all, 4, 900);
        cancels.failed(4);
        assert_eq!(cancels.sender_of(4, 2), None);
    }
}
