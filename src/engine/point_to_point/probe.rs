//! Probes: queries for unexpected messages, with or without taking them (MPI 5.0 §3.8).

use crate::device::Device;
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::protocol::UnexpectedMessage;
use crate::engine::point_to_point::wire::Envelope;
use platform::base::Peer;

/// A message that a matched probe took out of matching.
#[derive(Debug)]
pub struct ProbedMessage {
    /// The message's envelope.
    pub envelope: Envelope,
    pub(crate) message: UnexpectedMessage,
}

impl ProbedMessage {
    /// The number of packed bytes.
    pub fn len(&self) -> u64 {
        self.message.len()
    }

    /// The peer that has sent it.
    pub(crate) fn from(&self) -> Peer {
        self.message.from
    }
}

impl<D: Device> PointToPoint<D> {
    /// The oldest unexpected message that matches, with its length in bytes (MPI 5.0 §3.8.1).
    pub(crate) fn probe(&mut self, pattern: MatchPattern) -> Option<(Envelope, u64)> {
        let Some((envelope, message)) = self.protocol.matching.peek_message(pattern) else {
            self.protocol.resume_all();
            return None;
        };
        Some((envelope, message.len()))
    }

    /// Takes the oldest unexpected message that matches out of matching (MPI 5.0 §3.8.2).
    pub(crate) fn probe_matched(&mut self, pattern: MatchPattern) -> Option<ProbedMessage> {
        let Some((envelope, message)) = self.protocol.take_message(pattern) else {
            self.protocol.resume_all();
            return None;
        };
        Some(ProbedMessage { envelope, message })
    }

    /// The unexpected messages of a context with their lengths in bytes, oldest first.
    pub(crate) fn unexpected(&self, context: u64) -> impl Iterator<Item = (Envelope, u64)> {
        let messages = self.protocol.matching.messages(context);
        messages.map(|(envelope, message)| (envelope, message.len()))
    }
}
