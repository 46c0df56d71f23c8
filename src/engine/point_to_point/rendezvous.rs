//! Rendezvous: the protocol of messages that are too long to send eagerly.
//!
//! ```text
//! sender                           receiver
//!   |--- Rts { total } --------------->|   queued as unexpected until a receive matches
//!   |<-- Cts { limit } ----------------|   a receive of `limit` bytes matched
//!   |--- Data { offset, .. } --------->|   packets in order
//!   |
//!   |<-- Fin --------------------------|   or: the receiver has read the message
//!   |
//!   |<-- CopyAssist -------------------|   or: the receiver reads from the front, the sender writes
//!   |                                  |   from the back; the one that ends last replies:
//!   |<-- Fin --------------------------|   the receiver, or Cts if some of the copy failed
//!   |--- CopyAssistDone { whole } ---->|   the sender; unless `whole`, the receiver sends a Cts
//! ```
//!
//! `total`, `limit` and `offset` count bytes of the *packed* message. The receiver never grants
//! more than its buffer holds, so a longer message ends early at the sender and as
//! `MPI_ERR_TRUNCATE` at the receiver (MPI 5.0 §3.2.4); the send succeeds. A synchronous send of any
//! length is a rendezvous and completes with its CTS (§3.4).
//!
//! Receiver-driven data follows Sur et al., "RDMA Read Based Rendezvous Protocol for MPI over
//! InfiniBand", PPoPP 2006. These state machines hold no buffer and call no device.

use std::ops::Range;

/// The sending side.
///
/// ```text
/// RtsSent --CTS--> Sending --last packet--> Done
///     |  \-- CTS of 0 bytes ------------->---^
///     \-- FIN --------------------------->---/
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RendezvousSender {
    total: usize,
    state: SenderState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SenderState {
    /// The RTS has been queued or sent; no receive has matched.
    RtsSent,
    /// `sent < limit` bytes have been handed to the device.
    Sending { sent: usize, limit: usize },
    /// Every granted byte has been handed to the device. The buffer may be reused.
    Done,
}

/// The peer violated the protocol; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolViolation;

impl RendezvousSender {
    /// A message of `total` bytes whose RTS is sent next.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, state: SenderState::RtsSent }
    }

    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Whether the buffer may be reused.
    pub(crate) fn is_done(&self) -> bool {
        self.state == SenderState::Done
    }

    /// The receiver grants `limit` bytes.
    ///
    /// # Errors
    /// [`ProtocolViolation`] if no CTS was due.
    pub(crate) fn cts(&mut self, limit: usize) -> Result<(), ProtocolViolation> {
        match self.state {
            SenderState::RtsSent => {
                self.state = Self::sending(0, limit.min(self.total));
                Ok(())
            }
            SenderState::Sending { .. } | SenderState::Done => Err(ProtocolViolation),
        }
    }

    /// The receiver has read the message.
    ///
    /// # Errors
    /// [`ProtocolViolation`] if it had requested packets.
    pub(crate) fn finish(&mut self) -> Result<(), ProtocolViolation> {
        match self.state {
            SenderState::RtsSent => {
                self.state = SenderState::Done;
                Ok(())
            }
            SenderState::Sending { .. } | SenderState::Done => Err(ProtocolViolation),
        }
    }

    /// The bytes of the next packet, which has at most `packet_max`; `None` before the CTS and when
    /// done.
    pub(crate) fn next(&self, packet_max: usize) -> Option<Range<usize>> {
        match self.state {
            SenderState::Sending { sent, limit } => Some(sent..limit.min(sent + packet_max)),
            SenderState::RtsSent | SenderState::Done => None,
        }
    }

    /// The device has accepted the packet that ends at `end`.
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

/// The receiving side, from the match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RendezvousReceiver {
    /// Granted bytes.
    limit: usize,
    /// Arrived bytes.
    received: usize,
    /// Whether the message is longer than the buffer.
    truncated: bool,
    /// Whether a `CopyAssistDone` of the sender is due.
    assisted: bool,
}

impl RendezvousReceiver {
    /// A message of `total` bytes matched a receive of `capacity` bytes.
    pub(crate) fn new(total: u64, capacity: usize) -> Self {
        let limit = usize::try_from(total).map_or(capacity, |total| total.min(capacity));
        Self { limit, received: 0, truncated: total > capacity as u64, assisted: false }
    }

    /// The number of bytes to request.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Whether all requested bytes have arrived.
    pub(crate) fn is_done(&self) -> bool {
        self.received == self.limit
    }

    /// `len` bytes at `offset` have arrived.
    ///
    /// # Errors
    /// [`ProtocolViolation`] if they are not the next bytes or too many.
    pub(crate) fn data(&mut self, offset: u64, len: usize) -> Result<(), ProtocolViolation> {
        if self.assisted || offset != self.received as u64 || len > self.limit - self.received {
            return Err(ProtocolViolation);
        }
        self.received += len;
        Ok(())
    }

    /// All bytes were read directly.
    pub(crate) fn finish(&mut self) {
        self.received = self.limit;
    }

    /// The sender writes the last bytes.
    pub(crate) fn await_sender(&mut self) {
        self.assisted = true;
    }

    /// The sender has written the last bytes. Unless the message is `whole`, all bytes are due again.
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
    fn data_follows_the_cts_in_order() {
        let mut sender = granted(10, 10);
        assert_eq!(sender.next(4), Some(0..4));
        sender.sent(4);
        sender.sent(8);
        assert_eq!(sender.next(4), Some(8..10));
        sender.sent(10);
        assert!(sender.is_done() && sender.next(4).is_none());
    }

    #[test]
    fn a_cts_limits_the_data_and_may_be_empty() {
        assert_eq!(granted(10, 3).next(8), Some(0..3));
        assert_eq!(granted(10, 99).next(80), Some(0..10));
        assert!(granted(10, 0).is_done());
        assert!(granted(0, 10).is_done());
    }

    #[test]
    fn no_data_before_the_cts_and_no_second_cts() {
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
    fn a_receiver_accepts_exactly_the_granted_bytes() {
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
    fn the_sender_ends_a_split_copy_and_nothing_else() {
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
