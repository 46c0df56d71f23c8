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
/// RtsSent --CTS--> Sending --last packet--> Done <--last return-- Lent
///     |  |            \-- last packet, memory of some is lent ------^
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
    /// `sent < limit` bytes have been handed to the device, which uses the memory of `lent` packets.
    Sending { sent: usize, limit: usize, lent: u32 },
    /// Every granted byte has been handed to the device, which uses the memory of so many packets.
    Lent(u32),
    /// The buffer may be reused.
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

    /// Whether no receive has matched, as far as this side knows.
    pub(crate) fn awaits_match(&self) -> bool {
        self.state == SenderState::RtsSent
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
                self.state = Self::sending(0, limit.min(self.total), 0);
                Ok(())
            }
            SenderState::Sending { .. } | SenderState::Lent(_) | SenderState::Done => {
                Err(ProtocolViolation)
            }
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
            SenderState::Sending { .. } | SenderState::Lent(_) | SenderState::Done => {
                Err(ProtocolViolation)
            }
        }
    }

    /// The bytes of the next packet, which has at most `packet_max`; `None` before the CTS and after
    /// the last packet.
    pub(crate) fn next(&self, packet_max: usize) -> Option<Range<usize>> {
        match self.state {
            SenderState::Sending { sent, limit, .. } => {
                Some(sent..limit.min(sent.saturating_add(packet_max)))
            }
            SenderState::RtsSent | SenderState::Lent(_) | SenderState::Done => None,
        }
    }

    /// The device has accepted the packet that ends at `end`.
    pub(crate) fn sent(&mut self, end: usize) {
        match self.state {
            SenderState::Sending { limit, lent, .. } => {
                self.state = Self::sending(end, limit, lent);
            }
            SenderState::RtsSent | SenderState::Lent(_) | SenderState::Done => {
                debug_assert!(false, "nothing was due");
            }
        }
    }

    /// The device has accepted the packet that ends at `end`, and uses its memory until
    /// [`RendezvousSender::returned`].
    pub(crate) fn lent(&mut self, end: usize) {
        if let SenderState::Sending { lent, .. } = &mut self.state {
            *lent += 1;
        }
        self.sent(end);
    }

    /// The device has returned the memory of a packet.
    ///
    /// # Errors
    /// [`ProtocolViolation`] if it had none.
    pub(crate) fn returned(&mut self) -> Result<(), ProtocolViolation> {
        self.state = match self.state {
            SenderState::Sending { sent, limit, lent: lent @ 1.. } => {
                SenderState::Sending { sent, limit, lent: lent - 1 }
            }
            SenderState::Lent(1) => SenderState::Done,
            SenderState::Lent(lent) => SenderState::Lent(lent - 1),
            SenderState::RtsSent | SenderState::Sending { .. } | SenderState::Done => {
                return Err(ProtocolViolation);
            }
        };
        Ok(())
    }

    fn sending(sent: usize, limit: usize, lent: u32) -> SenderState {
        match lent {
            _ if sent < limit => SenderState::Sending { sent, limit, lent },
            0 => SenderState::Done,
            lent => SenderState::Lent(lent),
        }
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
    fn lent_memory_comes_back_before_the_end() {
        let mut sender = granted(10, 10);
        assert_eq!(sender.returned(), Err(ProtocolViolation));
        sender.lent(4);
        sender.lent(6);
        sender.returned().unwrap();
        assert_eq!(sender.next(80), Some(6..10));
        sender.lent(10);
        assert_eq!((sender.next(80), sender.is_done()), (None, false));
        assert_eq!(
            (sender.cts(10), sender.finish()),
            (Err(ProtocolViolation), Err(ProtocolViolation))
        );
        sender.returned().unwrap();
        assert!(!sender.is_done());
        sender.returned().unwrap();
        assert!(sender.is_done());
        assert_eq!(sender.returned(), Err(ProtocolViolation));
    }

    #[test]
    fn memory_that_came_back_early_does_not_delay_the_end() {
        let mut sender = granted(10, 10);
        sender.lent(4);
        sender.returned().unwrap();
        sender.sent(10);
        assert!(sender.is_done());
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
