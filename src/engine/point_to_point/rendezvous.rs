//! Rendezvous: how a message too long to send eagerly crosses the network.
//!
//! ```text
//! sender                           receiver
//!   |--- Announce { total } ---------->|   queued as unexpected until a receive matches
//!   |<-- Grant { limit } --------------|   the receive matched; `limit` bytes of room
//!   |--- Data { offset, .. } --------->|   in order, as many as it takes
//!   |
//!   |<-- Finished ---------------------|   or: the receiver read the bytes itself
//!   |
//!   |<-- Help -------------------------|   or: the receiver reads from the front, the sender writes
//!   |                                  |   from the back; who is done last tells the other:
//!   |<-- Finished ---------------------|   the receiver, or Grant if some of it failed
//!   |--- Helped { whole } ------------>|   or the sender; the receiver grants unless it is whole
//! ```
//!
//! `total`, `limit` and `offset` count bytes of the *packed* message. The receiver never grants
//! more than it has room for, so a longer message ends early here and as `MPI_ERR_TRUNCATE` there
//! (MPI 5.0 §3.2.4); the send itself succeeds. A synchronous send is an announcement too, however
//! short: the grant is what it waits for (§3.4).
//!
//! Receiver-driven data follows Sur et al., "RDMA Read Based Rendezvous Protocol for MPI over
//! InfiniBand", PPoPP 2006. These machines hold no buffer and call no device.

use std::ops::Range;

/// The sending side.
///
/// ```text
/// Announced --grant--> Sending --last next--> Done
///     |  \-- grant of 0 -------------------->--^
///     \-- finished -------------------------->-/
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RendezvousSender {
    total: usize,
    state: SenderState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SenderState {
    /// Announced, or about to be; the receiver has not matched it.
    RtsSent,
    /// `sent < limit` bytes of data are on their way.
    Sending { sent: usize, limit: usize },
    /// Every granted byte has been handed to the device. The buffer may be reused.
    Done,
}

/// The peer broke the protocol; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolViolation;

impl RendezvousSender {
    /// A message of `total` bytes that is announced now.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, state: SenderState::RtsSent }
    }

    /// Bytes of the whole message.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Whether the buffer may be reused.
    pub(crate) fn is_done(&self) -> bool {
        self.state == SenderState::Done
    }

    /// The receiver matched the message and has room for `limit` bytes of it.
    ///
    /// # Errors
    /// [`ProtocolViolation`] if no grant was due.
    pub(crate) fn cts(&mut self, limit: usize) -> Result<(), ProtocolViolation> {
        match self.state {
            SenderState::RtsSent => {
                self.state = Self::sending(0, limit.min(self.total));
                Ok(())
            }
            SenderState::Sending { .. } | SenderState::Done => Err(ProtocolViolation),
        }
    }

    /// The receiver has read the message by itself.
    ///
    /// # Errors
    /// [`ProtocolViolation`] if it had asked for packets.
    pub(crate) fn finish(&mut self) -> Result<(), ProtocolViolation> {
        match self.state {
            SenderState::RtsSent => {
                self.state = SenderState::Done;
                Ok(())
            }
            SenderState::Sending { .. } | SenderState::Done => Err(ProtocolViolation),
        }
    }

    /// The part that the next packet of at most `room` bytes carries; `None` while the receiver
    /// must speak first, and once done.
    pub(crate) fn next(&self, room: usize) -> Option<Range<usize>> {
        match self.state {
            SenderState::Sending { sent, limit } => Some(sent..limit.min(sent + room)),
            SenderState::RtsSent | SenderState::Done => None,
        }
    }

    /// The device took the packet that ends at `end`.
    pub(crate) fn sent(&mut self, end: usize) {
        match self.state {
            SenderState::Sending { limit, .. } => self.state = Self::sending(end, limit),
            SenderState::RtsSent | SenderState::Done => debug_assert!(false, "nothing was due"),
        }
    }

    fn sending(sent: usize, limit: usize) -> SenderState {
        if sent == limit { SenderState::Done } else { SenderState::Sending { sent, limit } }
    }
}

/// The receiving side: from the match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RendezvousReceiver {
    /// Bytes granted.
    limit: usize,
    /// Bytes arrived.
    received: usize,
    /// Whether the message is longer than its receive has room for.
    truncated: bool,
    /// Whether the sender writes the last bytes by itself, and will say how that went.
    assisted: bool,
}

impl RendezvousReceiver {
    /// A message of `total` bytes met a receive with room for `capacity`.
    pub(crate) fn new(total: u64, capacity: usize) -> Self {
        let limit = usize::try_from(total).map_or(capacity, |total| total.min(capacity));
        Self { limit, received: 0, truncated: total > capacity as u64, assisted: false }
    }

    /// How many bytes to ask for.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Whether the message was cut.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Whether everything asked for has arrived.
    pub(crate) fn is_done(&self) -> bool {
        self.received == self.limit
    }

    /// `len` bytes for `offset` have arrived.
    ///
    /// # Errors
    /// [`ProtocolViolation`] if they are not the next ones or too many.
    pub(crate) fn data(&mut self, offset: u64, len: usize) -> Result<(), ProtocolViolation> {
        if self.assisted || offset != self.received as u64 || len > self.limit - self.received {
            return Err(ProtocolViolation);
        }
        self.received += len;
        Ok(())
    }

    /// Everything was read directly.
    pub(crate) fn finish(&mut self) {
        self.received = self.limit;
    }

    /// The sender writes the last bytes directly.
    pub(crate) fn await_sender(&mut self) {
        self.assisted = true;
    }

    /// The sender has done that; unless the message is `whole`, all of it is due again.
    ///
    /// # Errors
    /// [`ProtocolViolation`] if it had nothing to write.
    pub(crate) fn copy_assist_done(&mut self, whole: bool) -> Result<(), ProtocolViolation> {
        if !std::mem::take(&mut self.assisted) {
            return Err(ProtocolViolation);
        }
        if whole {
            self.finish();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(total: usize, limit: usize) -> RendezvousSender {
        let mut sender = RendezvousSender::new(total);
        sender.cts(limit).unwrap();
        sender
    }

    #[test]
    fn data_follow_the_grant_in_order() {
        let mut sender = granted(10, 10);
        assert_eq!(sender.next(4), Some(0..4));
        sender.sent(4);
        sender.sent(8);
        assert_eq!(sender.next(4), Some(8..10));
        sender.sent(10);
        assert!(sender.is_done() && sender.next(4).is_none());
    }

    #[test]
    fn a_grant_limits_and_may_be_empty() {
        assert_eq!(granted(10, 3).next(8), Some(0..3));
        assert_eq!(granted(10, 99).next(80), Some(0..10));
        assert!(granted(10, 0).is_done());
        assert!(granted(0, 10).is_done());
    }

    #[test]
    fn nothing_before_the_grant_and_no_second_one() {
        let mut sender = RendezvousSender::new(10);
        assert_eq!(sender.next(4), None);
        let mut finished = sender;
        finished.finish().unwrap();
        assert_eq!(finished.cts(1), Err(ProtocolViolation));
        sender.cts(10).unwrap();
        let before = sender;
        assert_eq!(
            (sender.cts(10), sender.finish()),
            (Err(ProtocolViolation), Err(ProtocolViolation))
        );
        assert_eq!(sender, before);
    }

    #[test]
    fn a_receiver_takes_exactly_what_it_asked_for() {
        let mut receiver = RendezvousReceiver::new(10, 6);
        assert!(receiver.is_truncated());
        assert_eq!(receiver.data(1, 1), Err(ProtocolViolation));
        receiver.data(0, 4).unwrap();
        assert_eq!(receiver.data(4, 3), Err(ProtocolViolation));
        receiver.data(4, 2).unwrap();
        assert!(receiver.is_done());
        assert!(
            RendezvousReceiver::new(0, 0).is_done()
                && !RendezvousReceiver::new(u64::MAX, 1).is_done()
        );
    }

    #[test]
    fn the_sender_ends_what_was_left_to_it_and_nothing_else() {
        let mut receiver = RendezvousReceiver::new(10, 10);
        assert_eq!(receiver.copy_assist_done(true), Err(ProtocolViolation));
        receiver.await_sender();
        assert_eq!(receiver.data(0, 10), Err(ProtocolViolation));
        let mut broken = receiver;
        receiver.copy_assist_done(true).unwrap();
        assert!(receiver.is_done());
        broken.copy_assist_done(false).unwrap();
        assert_eq!((broken.is_done(), broken.data(0, 10)), (false, Ok(())));
    }
}
