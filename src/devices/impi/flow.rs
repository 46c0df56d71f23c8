//! Flow control between two processes, by packets: both directions of a pair, at one of them.
//!
//! ```text
//!   outgoing: packets that the peer has not acknowledged
//!     0 ──sent──> 1 ──sent──> ... ──sent──> high water of the peer: no room
//!     ▲                                        │
//!     └── PROTOACK: less by the mark of the peer ──┘
//!
//!   incoming: packets that this process has not acknowledged
//!     0 ──arrived──> ... ──arrived──> own mark or more: PROTOACK is due
//!     ▲                                        │
//!     └────── acknowledged: less by the own mark ──┘
//! ```
//!
//! A receiver may withhold its PROTOACKs: then the peer sends nothing after its high water.
//!
//! The values that the receiver has published decide. A PROTOACK and a FINI are not counted, all other
//! packets are. Source: LAM/MPI 7, which counts so; its values are 10 and 20.

use std::fmt;

use platform::impi::ImpiKind;

/// What a receiver publishes, in packets: `1 <= ack_mark <= high_water`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowLimits {
    /// It acknowledges this number at once.
    pub(crate) ack_mark: u32,
    /// The number that it has not acknowledged, at most.
    pub(crate) high_water: u32,
}

/// What has been sent and has arrived without acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairFlow {
    outgoing: u32,
    of_peer: FlowLimits,
    incoming: u32,
    own: FlowLimits,
    is_withheld: bool,
}

/// The peer has not kept to the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowViolation {
    /// It has acknowledged this number of packets, of which fewer were on their way.
    FalseAcknowledgement {
        /// Those of the PROTOACK.
        acknowledged: u32,
        /// Those on their way.
        outgoing: u32,
    },
    /// It has sent more than this number of packets without acknowledgement.
    HighWater(u32),
}

impl fmt::Display for FlowViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FalseAcknowledgement { acknowledged, outgoing } => write!(
                f,
                "a PROTOACK for {acknowledged} packets, of which {outgoing} are on their way"
            ),
            Self::HighWater(high_water) => {
                write!(f, "more than {high_water} packets without acknowledgement")
            }
        }
    }
}

/// Whether a packet counts.
pub(crate) fn is_counted(kind: ImpiKind) -> bool {
    match kind {
        ImpiKind::Data
        | ImpiKind::DataSync
        | ImpiKind::SyncAck
        | ImpiKind::Cancel
        | ImpiKind::CancelYes
        | ImpiKind::CancelNo => true,
        ImpiKind::ProtoAck | ImpiKind::Fini => false,
    }
}

impl PairFlow {
    pub(crate) fn new(own: FlowLimits, of_peer: FlowLimits) -> Self {
        Self { outgoing: 0, of_peer, incoming: 0, own, is_withheld: false }
    }

    /// Whether a counted packet may be sent.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.outgoing < self.of_peer.high_water
    }

    /// A counted packet leaves, for which there is room.
    #[inline]
    pub(crate) fn sent(&mut self) {
        debug_assert!(self.has_room());
        self.outgoing += 1;
    }

    /// A PROTOACK has arrived; the number of packets that it acknowledges.
    ///
    /// # Errors
    /// They were not sent; nothing has changed.
    pub(crate) fn acknowledged(&mut self) -> Result<u32, FlowViolation> {
        let acknowledged = self.of_peer.ack_mark;
        match self.outgoing.checked_sub(acknowledged) {
            Some(rest) => {
                self.outgoing = rest;
                Ok(acknowledged)
            }
            None => {
                Err(FlowViolation::FalseAcknowledgement { acknowledged, outgoing: self.outgoing })
            }
        }
    }

    /// A counted packet has arrived.
    ///
    /// # Errors
    /// It may not have been sent; nothing has changed.
    #[inline]
    pub(crate) fn arrived(&mut self) -> Result<(), FlowViolation> {
        if self.incoming >= self.own.high_water {
            return Err(FlowViolation::HighWater(self.own.high_water));
        }
        self.incoming += 1;
        Ok(())
    }

    /// Whether a PROTOACK is due.
    #[inline]
    pub(crate) fn owes_acknowledgement(&self) -> bool {
        !self.is_withheld && self.incoming >= self.own.ack_mark
    }

    /// From now on no PROTOACK is due, or one is as before; whether that is a change.
    pub(crate) fn withhold(&mut self, is_withheld: bool) -> bool {
        std::mem::replace(&mut self.is_withheld, is_withheld) != is_withheld
    }

    /// A PROTOACK leaves, which is due.
    pub(crate) fn acknowledge(&mut self) {
        debug_assert!(self.owes_acknowledgement());
        self.incoming -= self.own.ack_mark;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const OWN: FlowLimits = FlowLimits { ack_mark: 2, high_water: 3 };
    const PEER: FlowLimits = FlowLimits { ack_mark: 4, high_water: 5 };

    fn pair(outgoing: u32, incoming: u32) -> PairFlow {
        PairFlow { outgoing, incoming, ..PairFlow::new(OWN, PEER) }
    }

    #[test]
    fn the_values_of_the_receiver_decide() {
        let mut flow = pair(0, 0);
        for sent in 0..5 {
            assert!(flow.has_room(), "{sent}");
            flow.sent();
        }
        assert!(!flow.has_room());
        assert_eq!(flow.acknowledged(), Ok(4));
        assert_eq!((flow, flow.has_room()), (pair(1, 0), true));
        for arrived in 0..2 {
            assert!(!flow.owes_acknowledgement(), "{arrived}");
            flow.arrived().unwrap();
        }
        assert!(flow.owes_acknowledgement());
        flow.acknowledge();
        assert_eq!((flow, flow.owes_acknowledgement()), (pair(1, 0), false));
    }

    #[test]
    fn what_a_peer_may_not_do_changes_nothing() {
        let mut flow = pair(3, 3);
        let false_one = FlowViolation::FalseAcknowledgement { acknowledged: 4, outgoing: 3 };
        assert_eq!(flow.acknowledged(), Err(false_one));
        assert_eq!(flow.arrived(), Err(FlowViolation::HighWater(3)));
        assert_eq!(flow, pair(3, 3));
        assert!(false_one.to_string().contains("for 4 packets, of which 3"));
        assert!(FlowViolation::HighWater(3).to_string().contains("more than 3 packets"));
    }

    #[test]
    fn two_kinds_do_not_count() {
        let counted = ImpiKind::ALL.map(is_counted);
        assert_eq!(counted, [true, true, false, true, true, true, true, false]);
    }

    proptest! {
        /// Whatever is on its way for how long, no limit is broken, and all packets arrive.
        #[test]
        fn two_ends_agree(
            marks in (1_u32..8, 0_u32..8, 1_u32..8, 0_u32..8),
            steps in proptest::collection::vec(0_u8..6, 1..300),
        ) {
            let limits = |mark, more| FlowLimits { ack_mark: mark, high_water: mark + more };
            let (one, other) = (limits(marks.0, marks.1), limits(marks.2, marks.3));
            let mut ends = [PairFlow::new(one, other), PairFlow::new(other, one)];
            // What is on its way to each end: whether it is a PROTOACK.
            let mut ways = [VecDeque::new(), VecDeque::new()];
            let mut sent = 0;
            let deliver = |end: usize, ends: &mut [PairFlow; 2], ways: &mut [VecDeque<bool>; 2]| {
                match ways[end].pop_front() {
                    Some(true) => drop(ends[end].acknowledged().unwrap()),
                    Some(false) => ends[end].arrived().unwrap(),
                    None => {}
                }
            };
            for step in steps {
                let end = usize::from(step % 2);
                match step / 2 {
                    0 if ends[end].has_room() => {
                        ends[end].sent();
                        ways[1 - end].push_back(false);
                        sent += 1;
                    }
                    1 if ends[end].owes_acknowledgement() => {
                        ends[end].acknowledge();
                        ways[1 - end].push_back(true);
                    }
                    _ => deliver(end, &mut ends, &mut ways),
                }
                prop_assert!(ends[0].outgoing <= other.high_water);
                prop_assert!(ends[1].outgoing <= one.high_water);
            }
            // Without new packets, room comes back.
            for _ in 0..4 * sent + 8 {
                for end in 0..2 {
                    deliver(end, &mut ends, &mut ways);
                    if ends[end].owes_acknowledgement() {
                        ends[end].acknowledge();
                        ways[1 - end].push_back(true);
                    }
                }
            }
            prop_assert!(ends.iter().all(PairFlow::has_room) && ways.iter().all(VecDeque::is_empty));
        }
    }
}
