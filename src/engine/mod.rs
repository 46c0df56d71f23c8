//! The engine: point-to-point messages, schedules and offloaded programs of one rank.
//!
//! ```text
//!              Engine: the parts together, and one poll
//!              /              │              \
//!       programs ───────► schedules           │       a run of collectives, on the device or here
//!              \              │              /
//!               └──────► point_to_point ◄───┘         matching, protocols, the device
//!                             │
//!                           memory                    packed bytes of any layout
//! ```
//!
//! `channel` is a face for messages of the library itself. Imports follow the arrows; `tests/tidy.rs` checks that no file imports itself, directly or
//! through others. The engine is a value: it has no clock, no thread and makes no system call, and
//! it makes progress only when it is called. Functions of the application never run inside: a
//! reduction by such a function becomes [`ReductionWork`].

pub(crate) mod channel;
pub mod memory;
pub mod point_to_point;
pub(crate) mod programs;
pub mod schedules;

use crate::device::near_memory::NearMemory;
use crate::device::reach::Reach;
use crate::device::rma::Rma;
use crate::device::{Device, SharedMemory, WakeSource};
use crate::engine::memory::Memory;
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{
    CompletedPart, Completion, MemoryRange, OperationId, OperationOwner, PartId,
};
use crate::engine::point_to_point::pending::PendingOperation;
use crate::engine::point_to_point::probe::ProbedMessage;
use crate::engine::point_to_point::send::Mode;
use crate::engine::point_to_point::watch::WatchedContexts;
use crate::engine::point_to_point::wire::Envelope;
use crate::engine::programs::offloaded::{OffloadedId, Offloads};
use crate::engine::programs::program_setup::{ProgramSetup, SetupError};
use crate::engine::schedules::continuation::Continuation;
use crate::engine::schedules::plan::{Launch, PendingRun, RunEnd, RunId};
use crate::engine::schedules::reduction::{ReductionWork, WorkOrigin};
use crate::engine::schedules::run::Runs;
use crate::offload::Scheme;
use crate::offload::packing::PackingPolicy;
use platform::base::{MpiError, Peer, Result};
use platform::diagnosis::wait_report::QueueLengths;

/// The communication of one rank over `device`.
pub struct Engine<D> {
    messages: PointToPoint<D>,
    runs: Runs,
    offloads: Offloads,
}

/// All parts together.
impl<D: Device> Engine<D> {
    /// Rank `me` of `size`, idle.
    pub fn new(device: D, me: Peer, size: usize) -> Self {
        let messages = PointToPoint::new(device, me, size);
        Self { messages, runs: Runs::default(), offloads: Offloads::default() }
    }

    /// Handles arrived packets, copies what is due, sends queued packets and advances runs.
    ///
    /// Returns the number of packets that arrived or left a queue, of sends whose memory came back, and of
    /// offloaded operations that made progress: 0 means that the caller may begin to wait.
    #[inline]
    pub fn poll(&mut self) -> usize {
        let arrived = self.messages.poll_device()
            + self.offloads.poll(&mut self.messages, &mut self.runs.work);
        if !self.messages.needs_poll() {
            return arrived;
        }
        let before = self.messages.packets_sent();
        self.messages.run_due_copies();
        self.messages.send_queued();
        self.runs.advance(&mut self.messages);
        arrived + (self.messages.packets_sent() - before)
    }

    /// Whether the next poll has work that needs no packet to arrive.
    #[inline]
    pub(crate) fn needs_poll(&self) -> bool {
        self.messages.needs_poll()
    }

    /// Whether every send has left, released ones included, and no released run or offloaded
    /// operation is in progress.
    pub fn is_drained(&self) -> bool {
        self.messages.is_drained() && !self.runs.has_released() && !self.offloads.has_released()
    }

    /// The device, for questions that are not part of the contract.
    pub(crate) fn device(&self) -> &D {
        &self.messages.device
    }

    /// The device, for what is not part of the contract.
    pub(crate) fn device_mut(&mut self) -> &mut D {
        &mut self.messages.device
    }

    /// Whether nothing can happen here until a packet arrives or the application acts.
    pub fn is_quiescent(&self) -> bool {
        !self.needs_poll()
            && !self.has_work()
            && !self.messages.awaits_room()
            && self.device_quiescence().is_some()
    }

    /// The next reduction for the application.
    #[inline]
    pub fn take_work(&mut self) -> Option<ReductionWork> {
        self.runs.work.pop_front()
    }

    /// Whether there is a reduction for the application.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.runs.work.is_empty()
    }

    /// Completes the step of a reduction that the application has computed.
    pub fn work_done(&mut self, work: &ReductionWork) {
        let Self { messages, runs, offloads } = self;
        match work.origin {
            WorkOrigin::Run(id) => runs.work_done(id, work.step, messages),
            WorkOrigin::Program(id) => {
                offloads.work_done(id, work.step, messages, &mut runs.work);
            }
        }
    }

    /// Whether there are runs or offloaded operations, idle persistent ones included.
    pub fn has_runs(&self) -> bool {
        !self.runs.is_empty() || self.has_offloads()
    }
}

/// The device.
impl<D: Device> Engine<D> {
    /// [`Device::arm`].
    pub(crate) fn arm(&mut self) -> WakeSource {
        self.messages.device.arm()
    }

    /// [`Device::disarm`].
    pub(crate) fn disarm(&mut self) {
        self.messages.device.disarm();
    }

    /// [`Device::leave`].
    pub(crate) fn leave(&mut self) {
        self.messages.device.leave();
    }

    /// [`Device::wake_self`].
    pub(crate) fn wake_self(&mut self) {
        self.messages.device.wake_self();
    }

    /// [`Device::shared_memory`].
    pub fn shared(&mut self) -> Option<&mut dyn SharedMemory> {
        self.messages.device.shared_memory()
    }

    /// [`Device::reach`].
    pub(crate) fn reach(&mut self) -> Option<&mut dyn Reach> {
        self.messages.device.reach()
    }

    /// [`PointToPoint::renew_peer`].
    pub(crate) fn renew_peer(&mut self, peer: Peer) {
        self.messages.renew_peer(peer);
    }

    /// [`PointToPoint::end_connection`].
    pub(crate) fn end_connection(&mut self, peer: Peer, why: &str) {
        self.messages.end_connection(peer, why);
    }

    /// [`Device::rma`].
    pub(crate) fn rma(&mut self) -> Option<&mut dyn Rma> {
        self.messages.device.rma()
    }

    /// [`Device::rma`] of a device whose interface works without the host, as its engines show.
    pub(crate) fn interface_memory(&mut self) -> Option<&mut dyn Rma> {
        self.rma()?.engines()?;
        self.rma()
    }

    /// [`Device::host_memory`].
    pub(crate) fn host_memory(&mut self) -> Option<&mut dyn Rma> {
        self.messages.device.host_memory()
    }

    /// [`Device::near_memory`].
    pub(crate) fn near_memory(&mut self) -> Option<&mut dyn NearMemory> {
        self.messages.device.near_memory()
    }

    /// [`Device::notify`].
    #[inline]
    pub(crate) fn notify(&mut self, peer: Peer) {
        self.messages.device.notify(peer);
    }

    /// [`Device::notify_if`].
    #[inline]
    pub(crate) fn notify_if(&mut self, peer: Peer, is_awaited: impl FnOnce() -> bool) {
        self.messages.device.notify_if(peer, is_awaited);
    }

    /// The number of programs that the host runs because the interface lacks something for them.
    pub(crate) fn host_programs(&mut self) -> u64 {
        self.messages.device.trigger().map_or(0, |trigger| trigger.fallbacks())
    }
}

/// Point-to-point messages.
impl<D: Device> Engine<D> {
    /// [`PointToPoint::me`].
    pub(crate) fn me(&self) -> Peer {
        self.messages.me()
    }

    /// [`PointToPoint::set_world_size`].
    pub(crate) fn set_world_size(&mut self, size: Peer) {
        self.messages.set_world_size(size);
    }

    /// [`PointToPoint::set_eager_max`].
    pub fn set_eager_max(&mut self, bytes: usize) {
        self.messages.set_eager_max(bytes);
    }

    /// [`PointToPoint::set_unexpected_max`].
    pub fn set_unexpected_max(&mut self, bytes: usize) {
        self.messages.set_unexpected_max(bytes);
    }

    /// [`PointToPoint::eager_max`].
    #[inline]
    pub(crate) fn eager_max(&self) -> usize {
        self.messages.eager_max()
    }

    /// [`PointToPoint::send`].
    #[inline(always)]
    pub fn send(
        &mut self, to: Peer, envelope: Envelope, memory: Memory, mode: Mode,
    ) -> Option<OperationId> {
        self.messages.send(to, envelope, memory, mode)
    }

    /// [`PointToPoint::receive`].
    #[inline(always)]
    pub fn receive(&mut self, pattern: MatchPattern, memory: Memory) -> OperationId {
        self.messages.receive(pattern, memory)
    }

    /// [`PointToPoint::receive_matched`].
    pub fn receive_matched(&mut self, matched: ProbedMessage, memory: Memory) -> OperationId {
        self.messages.receive_matched(matched, memory)
    }

    /// [`PointToPoint::probe`].
    pub fn probe(&mut self, pattern: MatchPattern) -> Option<(Envelope, u64)> {
        self.messages.probe(pattern)
    }

    /// [`PointToPoint::probe_matched`].
    pub fn probe_matched(&mut self, pattern: MatchPattern) -> Option<ProbedMessage> {
        self.messages.probe_matched(pattern)
    }

    /// [`PointToPoint::unexpected`].
    pub(crate) fn unexpected(&self, context: u64) -> impl Iterator<Item = (Envelope, u64)> {
        self.messages.unexpected(context)
    }

    /// [`PointToPoint::completion`].
    #[inline]
    pub fn completion(&self, id: OperationId) -> Option<&Completion> {
        self.messages.completion(id)
    }

    /// [`PointToPoint::take_completion`].
    #[inline(always)]
    pub fn take_completion(&mut self, id: OperationId) -> Option<Completion> {
        self.messages.take_completion(id)
    }

    /// [`PointToPoint::release`].
    pub fn release(&mut self, id: OperationId) {
        self.messages.release(id);
    }

    /// [`PointToPoint::cancel`].
    pub fn cancel(&mut self, id: OperationId) {
        self.messages.cancel(id);
    }

    /// [`PointToPoint::senders`].
    pub(crate) fn senders(&self) -> Vec<Peer> {
        self.messages.senders()
    }

    /// [`PointToPoint::end_receives_from`].
    pub fn end_receives_from(&mut self, ended: Peer) {
        self.messages.end_receives_from(ended);
    }

    /// [`PointToPoint::withdraw_receives`].
    pub fn withdraw_receives(&mut self) {
        self.messages.withdraw_receives();
    }

    /// [`PointToPoint::is_congested`].
    pub(crate) fn is_congested(&self) -> bool {
        self.messages.is_congested()
    }

    /// [`PointToPoint::events`].
    #[inline]
    pub fn events(&self) -> u64 {
        self.messages.events()
    }

    /// [`PointToPoint::note_event`].
    pub(crate) fn note_event(&mut self) {
        self.messages.note_event();
    }

    /// [`PointToPoint::long_starts`].
    #[inline]
    pub(crate) fn long_starts(&self) -> u32 {
        self.messages.long_starts()
    }

    /// [`PointToPoint::note_long_start`].
    #[inline]
    pub(crate) fn note_long_start(&mut self) {
        self.messages.note_long_start();
    }

    /// [`PointToPoint::watched_contexts`].
    #[inline]
    pub(crate) fn watched_contexts(&mut self) -> &mut WatchedContexts {
        self.messages.watched_contexts()
    }

    /// [`PointToPoint::take_datagrams`].
    pub(crate) fn take_datagrams(&mut self) -> Vec<(Peer, Box<[u8]>)> {
        self.messages.take_datagrams()
    }

    /// [`Device::send_datagram`].
    pub(crate) fn send_datagram(&mut self, peer: Peer, data: &[u8]) {
        self.messages.device.send_datagram(peer, data);
    }

    /// [`PointToPoint::is_disturbed`].
    #[inline]
    pub(crate) fn is_disturbed(&self) -> bool {
        self.messages.is_disturbed()
    }

    /// [`PointToPoint::failure`].
    pub(crate) fn failure(&self, peer: Peer) -> Option<Box<MpiError>> {
        self.messages.failure(peer)
    }

    /// [`PointToPoint::end_posted_receives`].
    pub(crate) fn end_posted_receives(
        &mut self, culprit: impl FnMut(MatchPattern, &dyn Fn(Peer) -> bool) -> Option<Peer>,
    ) {
        self.messages.end_posted_receives(culprit);
    }

    /// [`PointToPoint::awaited`].
    pub(crate) fn awaited(&self) -> impl Iterator<Item = MatchPattern> {
        self.messages.awaited()
    }

    /// [`PointToPoint::close_context`], and [`Offloads::close_context`].
    pub(crate) fn close_context(&mut self, context: u64, error: &MpiError) {
        self.messages.close_context(context, error);
        self.offloads.close_context(context, error, &mut self.messages.device);
    }

    /// [`PointToPoint::peer_failed`].
    pub(crate) fn peer_failed(&mut self, peer: Peer, why: &str) {
        self.messages.peer_failed(peer, why);
    }

    /// [`PointToPoint::fail_receive`].
    pub(crate) fn fail_receive(&mut self, id: OperationId, error: Box<MpiError>) {
        self.messages.fail_receive(id, error);
    }

    /// [`PointToPoint::receives_and_closings`].
    pub(crate) fn receives_and_closings(&self) -> (u64, usize) {
        self.messages.receives_and_closings()
    }

    /// The number of peers that have failed.
    pub fn failures(&self) -> u32 {
        self.messages.failures()
    }

    /// [`PointToPoint::expect_notices`].
    pub(crate) fn expect_notices(&mut self) {
        self.messages.expect_notices();
    }

    /// [`PointToPoint::survive_failures`].
    pub fn survive_failures(&mut self) {
        self.messages.survive_failures();
    }

    /// [`PointToPoint::survives_failures`].
    pub(crate) fn survives_failures(&self) -> bool {
        self.messages.survives_failures()
    }

    /// [`PointToPoint::has_fault`].
    pub(crate) fn has_fault(&self) -> bool {
        self.messages.has_fault()
    }

    /// [`PointToPoint::fault`].
    ///
    /// # Errors
    /// As there.
    pub fn fault(&mut self) -> Result {
        self.messages.fault()
    }

    /// [`PointToPoint::pending`].
    pub(crate) fn pending(&self, id: OperationId) -> Option<PendingOperation> {
        self.messages.pending(id)
    }

    /// [`PointToPoint::queues`].
    pub(crate) fn queues(&self) -> QueueLengths {
        self.messages.queues()
    }

    /// [`PointToPoint::queue_lengths`].
    pub fn queue_lengths(&self) -> (usize, usize) {
        self.messages.queue_lengths()
    }
}

/// Messages of partitioned operations.
impl<D: Device> Engine<D> {
    /// Starts to send a part of `message`; whether that has completed already. Otherwise its completion
    /// will be a [`CompletedPart`].
    pub(crate) fn send_part(
        &mut self, to: Peer, envelope: Envelope, message: MemoryRange, id: PartId,
    ) -> bool {
        let owner = OperationOwner::Part(id);
        self.messages.send_range(to, envelope, message, Mode::Standard, owner).is_none()
    }

    /// Starts to receive a part; its completion will be a [`CompletedPart`].
    pub(crate) fn receive_part(&mut self, pattern: MatchPattern, buffer: MemoryRange, id: PartId) {
        self.messages.receive_range(pattern, buffer, OperationOwner::Part(id));
    }

    /// [`PointToPoint::has_completed_parts`].
    #[inline]
    pub(crate) fn has_completed_parts(&self) -> bool {
        self.messages.has_completed_parts()
    }

    /// [`PointToPoint::next_completed_part`].
    pub(crate) fn next_completed_part(&mut self) -> Option<CompletedPart> {
        self.messages.next_completed_part()
    }

    /// [`PointToPoint::told`].
    pub(crate) fn told(&mut self, error: &MpiError) {
        self.messages.told(error);
    }
}

/// Schedules on the host.
impl<D: Device> Engine<D> {
    /// Starts a run. It may have completed when this returns.
    pub fn launch(&mut self, launch: Launch) -> RunId {
        self.runs.launch(launch, None, &mut self.messages)
    }

    /// [`Runs::launch`] with a continuation.
    pub(crate) fn launch_with(&mut self, launch: Launch, continuation: Continuation) -> RunId {
        self.runs.launch(launch, Some(continuation), &mut self.messages)
    }

    /// [`Runs::create_persistent`].
    pub(crate) fn create_persistent(&mut self, launch: Launch) -> RunId {
        self.runs.create_persistent(launch)
    }

    /// [`Runs::start`].
    pub(crate) fn start(&mut self, id: RunId) -> RunId {
        self.runs.start(id, &mut self.messages)
    }

    /// [`Runs::is_complete`].
    #[inline]
    pub(crate) fn is_run_complete(&self, id: RunId) -> bool {
        self.runs.is_complete(id)
    }

    /// [`Runs::take_end`].
    pub fn take_run_end(&mut self, id: RunId) -> Option<RunEnd> {
        let end = self.runs.take_end(id);
        if let Some(RunEnd { error: Some(error), .. }) = &end {
            self.messages.told(error);
        }
        end
    }

    /// [`Runs::release`].
    pub(crate) fn release_run(&mut self, id: RunId) {
        self.runs.release(id);
    }

    /// [`Runs::pending`].
    pub(crate) fn pending_run(&self, id: RunId) -> Option<PendingRun> {
        self.runs.pending(id, &self.messages)
    }
}

/// Offloaded operations.
impl<D: Device> Engine<D> {
    /// [`ProgramSetup::begin`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn draft(
        &mut self, launch: Launch, scheme: Scheme,
    ) -> Result<ProgramSetup, SetupError<String>> {
        ProgramSetup::begin(launch, scheme, &mut self.messages.device)
    }

    /// [`ProgramSetup::connect`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn connect_peers(&mut self, setup: &ProgramSetup) -> Option<Result<(), String>> {
        setup.connect(&mut self.messages.device)
    }

    /// [`ProgramSetup::reserve_resources`].
    pub(crate) fn reserve_resources(&mut self, setup: &mut ProgramSetup) {
        setup.reserve_resources(&mut self.messages.device);
    }

    /// [`ProgramSetup::load`]; keeps the operation.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn load(
        &mut self, setup: ProgramSetup, received: &[Memory],
    ) -> Result<OffloadedId, SetupError<Box<MpiError>>> {
        let operation = setup.load(received, &mut self.messages.device)?;
        Ok(self.offloads.insert(operation))
    }

    /// [`ProgramSetup::cancel`].
    pub(crate) fn cancel_setup(&mut self, setup: ProgramSetup) -> Launch {
        setup.cancel(&mut self.messages.device)
    }

    /// [`Offloads::assign_engines`].
    pub(crate) fn assign_engines(&mut self, together: &[OffloadedId], policy: PackingPolicy) {
        self.offloads.assign_engines(together, policy, &mut self.messages.device);
    }

    /// [`Offloads::start`].
    pub(crate) fn start_offloaded(&mut self, id: OffloadedId) {
        self.offloads.start(id, &mut self.messages, &mut self.runs.work);
    }

    /// [`Offloads::is_complete`].
    #[inline]
    pub(crate) fn is_offloaded_complete(&self, id: OffloadedId) -> bool {
        self.offloads.is_complete(id)
    }

    /// [`Offloads::take_error`].
    pub(crate) fn take_offloaded_error(&mut self, id: OffloadedId) -> Option<Box<MpiError>> {
        let error = self.offloads.take_error(id);
        error.iter().for_each(|error| self.messages.told(error));
        error
    }

    /// [`Offloads::release`].
    pub(crate) fn release_offloaded(&mut self, id: OffloadedId) {
        self.offloads.release(id, &mut self.messages.device);
    }

    /// [`Offloads::unload`].
    pub(crate) fn unload(&mut self, id: OffloadedId) -> Launch {
        self.offloads.unload(id, &mut self.messages.device)
    }

    /// [`Offloads::pending`].
    pub(crate) fn pending_offloaded(&self, id: OffloadedId) -> Option<PendingRun> {
        self.offloads.pending(id)
    }

    /// Whether there are offloaded operations, idle ones included.
    pub fn has_offloads(&self) -> bool {
        !self.offloads.is_empty()
    }

    /// [`Device::quiescence`].
    pub fn device_quiescence(&self) -> Option<u64> {
        self.messages.device.quiescence()
    }
}
