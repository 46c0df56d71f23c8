//! Point-to-point messages over any device.
//!
//! ```text
//!   send, receive, probe, cancel
//!            │
//!            ▼
//!   ┌─ protocol ── matching · rendezvous · credit · operations ─┐
//!   │      ▲ arrival                              outgoing │    │
//!   └──────┼───────────────────────────────────────────────┼────┘
//!     Device::poll                                   Device::send
//! ```
//!
//! | file | content |
//! |---|---|
//! | `send` | the decision how a message travels: inline, eager, queued or rendezvous |
//! | `receive`, `probe` | receives and probes |
//! | `completion` | query, take, release and withdraw operations; `cancellation`: cancel them |
//! | `matching` | which receive takes which message, with wildcards; `match_table`: its hash tables |
//! | `protocol` | the state of all messages; `arrival`: what an arriving packet changes |
//! | `outgoing` | packets that wait for space in the device |
//! | `rendezvous` | the state machines of long messages; `direct_copy`: copies without packets |
//! | `placement` | destinations of long packets that are still arriving |
//! | `peers` | the state of each peer; `failure`: peers that have ended |
//! | `credit` | the limit of unexpected payload of each peer; `hold`: of all unexpected messages |
//! | `watch` | contexts whose messages are handled in polls |
//! | `wire` | packet formats |
//! | `operation` | sends and receives in progress |
//! | `pending` | reports on what has not completed |
//!
//! This module has no clock, no thread and makes no system call. It knows no schedules: a send or a
//! receive may belong to a numbered step of a numbered run, and its completion is queued for that run.

mod arrival;
mod cancellation;
mod completion;
mod credit;
mod direct_copy;
mod failure;
mod hold;
mod linked_queue;
mod match_table;
pub mod matching;
pub mod operation;
mod outgoing;
mod peers;
pub(crate) mod pending;
mod placement;
pub mod probe;
mod protocol;
mod receive;
mod rendezvous;
pub mod send;
pub(crate) mod watch;
pub mod wire;

use crate::device::{Caps, Device};
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{CompletedPart, CompletedStep, OperationState};
use crate::engine::point_to_point::protocol::MessageProtocol;
use crate::engine::point_to_point::watch::WatchedContexts;
use platform::base::{MpiError, Peer, Result};

/// The longest message that is sent eagerly, in bytes, unless another limit is set; less if the
/// packets of the device are shorter.
///
/// Beyond this length the second copy of an unexpected message costs the receiver more than the
/// round trip of a rendezvous.
pub const EAGER_MAX: usize = 16 << 10;

/// The messages of one rank over `device`.
pub(crate) struct PointToPoint<D> {
    pub(crate) device: D,
    caps: Caps,
    /// The longest message that is sent eagerly to every peer; `send` knows peers with more.
    eager_max: usize,
    /// The limit that the user has set.
    eager_setting: Option<usize>,
    /// Packets that have left the queues, except inline and eager ones.
    packets_sent: usize,
    /// Operations that continue after the call that started them.
    long_starts: u32,
    protocol: MessageProtocol,
}

impl<D: Device> PointToPoint<D> {
    /// Rank `me` of `size`, idle.
    pub(crate) fn new(device: D, me: Peer, size: usize) -> Self {
        let caps = device.caps();
        Self {
            device,
            caps,
            eager_max: EAGER_MAX.min(caps.packet_max),
            eager_setting: None,
            packets_sent: 0,
            long_starts: 0,
            protocol: MessageProtocol::new(me, size, caps.short_max),
        }
    }

    /// Sets the limit of eager messages, in bytes, instead of the limits of the devices. The limit is
    /// at least that of inline messages and at most one packet.
    pub(crate) fn set_eager_max(&mut self, bytes: usize) {
        self.eager_setting = Some(bytes);
        self.eager_max = bytes.clamp(self.caps.short_max, self.caps.packet_max);
    }

    /// The first `size` peers go on together only: the failure of one is an error of this process.
    pub(crate) fn set_world_size(&mut self, size: Peer) {
        self.protocol.world_size = size;
    }

    /// Sets the number of bytes of unexpected messages beyond which peers hold messages back.
    pub(crate) fn set_unexpected_max(&mut self, bytes: usize) {
        self.protocol.unexpected.set_limit(bytes);
    }

    /// [`MessageProtocol::expect_notices`].
    pub(crate) fn expect_notices(&mut self) {
        self.protocol.expect_notices();
    }

    /// The longest message that is sent eagerly to every peer, in bytes.
    #[inline]
    pub(crate) fn eager_max(&self) -> usize {
        self.eager_max
    }

    /// This rank.
    pub(crate) fn me(&self) -> Peer {
        self.protocol.me
    }

    /// Handles the packets that have arrived; returns their number and that of sends whose memory came back: a
    /// rank is not idle while its sends end one after the other. Replies are queued.
    #[inline]
    pub(crate) fn poll_device(&mut self) -> usize {
        let before = self.protocol.returns;
        let arrived = self.device.poll(&mut self.protocol);
        arrived + (self.protocol.returns - before)
    }

    /// Whether there is work that needs no packet to arrive: queued packets, due copies, completed
    /// steps.
    #[inline]
    pub(crate) fn needs_poll(&self) -> bool {
        self.protocol.needs_poll()
    }

    /// Whether packets wait for space in the device of which it does not wake this rank.
    pub(crate) fn is_congested(&self) -> bool {
        !self.protocol.outbox.is_empty()
    }

    /// Whether packets wait for room that the device announces.
    pub(crate) fn awaits_room(&self) -> bool {
        self.protocol.awaiting_room > 0
    }

    /// Whether every send has left, released ones included, and needs no further polls.
    pub(crate) fn is_drained(&self) -> bool {
        let mut operations = self.protocol.operations.iter();
        !self.is_congested()
            && !self.awaits_room()
            && self.device.is_drained()
            && operations.all(|(_, operation)| !matches!(operation.state, OperationState::Send(_)))
    }

    /// Packets that have left the queues so far.
    #[inline]
    pub(crate) fn packets_sent(&self) -> usize {
        self.packets_sent
    }

    /// The next step of a schedule whose operation has completed.
    #[inline]
    pub(crate) fn next_completed_step(&mut self) -> Option<CompletedStep> {
        self.protocol.steps.pop_front()
    }

    /// Whether messages of partitioned operations have completed.
    #[inline]
    pub(crate) fn has_completed_parts(&self) -> bool {
        !self.protocol.parts.is_empty()
    }

    /// The next message of a partitioned operation that has completed.
    pub(crate) fn next_completed_part(&mut self) -> Option<CompletedPart> {
        self.protocol.parts.pop_front()
    }

    /// A number that changes with every event that a call may wait for: the completion of an
    /// operation, an unexpected message, a packet that left a queue, and
    /// [`PointToPoint::note_event`].
    #[inline]
    pub(crate) fn events(&self) -> u64 {
        self.protocol.events.wrapping_add(self.packets_sent as u64)
    }

    /// Counts an event outside of this module.
    #[inline]
    pub(crate) fn note_event(&mut self) {
        self.protocol.events += 1;
    }

    /// A number that changes when an operation starts that continues after the call: a rendezvous
    /// or a possible one, and [`PointToPoint::note_long_start`].
    #[inline]
    pub(crate) fn long_starts(&self) -> u32 {
        self.long_starts
    }

    /// Counts the start of an operation that continues after the call.
    #[inline]
    pub(crate) fn note_long_start(&mut self) {
        self.long_starts = self.long_starts.wrapping_add(1);
    }

    /// The contexts whose unexpected messages are handled in polls.
    #[inline]
    pub(crate) fn watched_contexts(&mut self) -> &mut WatchedContexts {
        &mut self.protocol.watched
    }

    /// Takes the datagrams that have arrived, with the peers that sent them.
    pub(crate) fn take_datagrams(&mut self) -> Vec<(Peer, Box<[u8]>)> {
        std::mem::take(&mut self.protocol.datagrams)
    }

    /// Whether any peer has failed, a message about failures has arrived, or a context was closed.
    #[inline]
    pub(crate) fn is_disturbed(&self) -> bool {
        self.protocol.is_disturbed
    }

    /// [`MessageProtocol::renew_peer`].
    pub(crate) fn renew_peer(&mut self, peer: Peer) {
        self.protocol.renew_peer(peer);
    }

    /// [`MessageProtocol::peer_failed`].
    pub(crate) fn end_connection(&mut self, peer: Peer, why: &str) {
        self.protocol.peer_failed(peer, why);
    }

    /// [`MessageProtocol::failure`].
    pub(crate) fn failure(&self, peer: Peer) -> Option<Box<MpiError>> {
        self.protocol.failure(peer)
    }

    /// [`MessageProtocol::end_posted_receives`].
    pub(crate) fn end_posted_receives(
        &mut self, culprit: impl FnMut(MatchPattern, &dyn Fn(Peer) -> bool) -> Option<Peer>,
    ) {
        self.protocol.end_posted_receives(culprit);
    }

    /// [`MessageProtocol::close_context`].
    pub(crate) fn close_context(&mut self, context: u64, error: &MpiError) {
        self.protocol.close_context(context, error);
    }

    /// The device reaches a peer no longer, whatever it knows itself.
    pub(crate) fn peer_failed(&mut self, peer: Peer, why: &str) {
        self.protocol.peer_failed(peer, why);
    }

    /// [`MessageProtocol::fail_receive`].
    pub(crate) fn fail_receive(&mut self, id: operation::OperationId, error: Box<MpiError>) {
        self.protocol.fail_receive(id, error);
    }

    /// The number of peers that have failed.
    pub(crate) fn failures(&self) -> u32 {
        self.protocol.failures
    }

    /// The numbers of receives that were posted and of closed contexts so far.
    pub(crate) fn receives_and_closings(&self) -> (u64, usize) {
        (self.protocol.matching.posted(), self.protocol.closed.len())
    }

    /// [`MessageProtocol::awaited`].
    pub(crate) fn awaited(&self) -> impl Iterator<Item = MatchPattern> {
        self.protocol.awaited()
    }

    /// Makes the failure of a peer an event that the application survives.
    pub(crate) fn survive_failures(&mut self) {
        self.protocol.survives_failures = true;
    }

    /// [`PointToPoint::survive_failures`].
    pub(crate) fn survives_failures(&self) -> bool {
        self.protocol.survives_failures
    }

    /// [`MessageProtocol::told`].
    pub(crate) fn told(&mut self, error: &MpiError) {
        self.protocol.told(error);
    }

    /// Whether [`PointToPoint::fault`] returns an error.
    pub(crate) fn has_fault(&self) -> bool {
        !self.protocol.faults.is_empty()
    }

    /// Takes a violation of the protocol by a peer, or the failure of a peer.
    ///
    /// # Errors
    /// `Intern`, with the peer and the packet; `Other`, with the peer and the reason.
    pub(crate) fn fault(&mut self) -> Result {
        self.protocol.faults.pop().map_or(Ok(()), Err)
    }
}
