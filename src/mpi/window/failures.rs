//! Failed ranks of a window, and windows that are revoked.
//!
//! ```text
//!   a rank has failed    no call waits for it; a call that needs it ends with PROC_FAILED
//!                        what it holds at this process (locks) goes to the next
//!                        locks that were words of the segment are granted by messages from now on
//!   revoked              calls end with REVOKED when their transfers have ended, requests are dropped
//! ```
//!
//! A call that needs a failed rank does its part for the others first: `MPI_Win_complete` tells them, and
//! `MPI_Win_unlock_all` leaves their locks. `MPI_Win_start`, `MPI_Win_post` and `MPI_Win_lock_all` go on
//! without it: the call that ends their epoch tells of the failure.
//!
//! # Locks
//! A rank that fails in the queue of a lock of words stops it, and its words do not tell whether it had left
//! ([`lock_claims`](crate::shared_memory::lock_claims)). So each rank that knows of a failure tells all
//! targets which of their locks it holds, and asks by messages from then on. A target grants once it has heard
//! of all ranks that live: until then, those that have not heard of the failure may still have the lock by
//! its words, which exclude each other as before.
//!
//! ```text
//!   words ──failure, or HandOver of another rank──> HandOver to all targets ──> messages
//!   target:  closed ──HandOver, or the failure, of each rank──> open
//! ```
//!
//! After the section on one-sided communication of the chapter that was proposed to the MPI Forum (User-Level
//! Failure Mitigation): synchronization tells of failures, and operations may; the memory that a failed process
//! could change is undefined.

use super::synchronization::{Involved, WindowWait};
use super::{Window, Windows};
use crate::device::Device;
use crate::engine::Engine;
use crate::mpi::Mpi;
use crate::mpi::communicator::Traffic;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::mpi::window::request_message::WindowRequest;
use platform::base::{ErrorClass, MpiError, Result};
use platform::diagnosis::wait_report::WaitReport;

/// What a window knows of failures.
#[derive(Debug, Default)]
pub(crate) struct WindowFailures {
    is_revoked: bool,
    /// The ranks that have failed, each with its error.
    failed: Vec<(u32, Box<MpiError>)>,
    /// Whether locks that were words are granted by messages.
    has_handed_over: bool,
}

impl WindowFailures {
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.is_revoked || !self.failed.is_empty()
    }

    pub(super) fn has_failed(&self, rank: u32) -> bool {
        self.failed.iter().any(|(failed, _)| *failed == rank)
    }

    pub(super) fn has_handed_over(&self) -> bool {
        self.has_handed_over
    }

    fn error_of(&self, is_involved: impl Fn(u32) -> bool) -> Option<Box<MpiError>> {
        let first = self.failed.iter().find(|(rank, _)| is_involved(*rank));
        first.map(|(_, error)| error.clone())
    }
}

/// Whether an error tells of a failure or a revocation, of which the calls that need the rank or the window
/// tell.
pub(super) fn is_of_failure(error: &MpiError) -> bool {
    error.is(ErrorClass::ProcFailed) || error.is(ErrorClass::Revoked)
}

impl Windows {
    /// Other ranks need answers of this process from now on, also while the application computes.
    fn await_requests(&mut self, window: Handle) {
        if !self.with_requests.contains(&window) {
            self.with_requests.push(window);
        }
    }
}

impl<D: Device> Mpi<D> {
    /// The window whose messages are those of this communicator.
    fn window_on(&self, comm: Handle) -> Option<Handle> {
        let context = self.comms.get(comm).ok()?.context;
        self.windows.by_context.get(&context.for_traffic(Traffic::PointToPoint)).copied()
    }

    /// Whether the window goes on when some of its ranks have failed: in a job that survives that, and between
    /// jobs, which go on without each other.
    pub(super) fn may_lose_members(&self, window: &Window) -> bool {
        let processes = &self.comms.processes;
        let is_guest = |rank| processes.is_guest(window.channel.peer(rank));
        self.engine.survives_failures()
            || processes.has_guests() && (0..window.channel.size()).any(is_guest)
    }

    /// Members of a communicator have failed, which may be that of a window. In a job that does not survive
    /// the failure of one of its ranks, nothing goes on: each waiting call ends with that.
    pub(in crate::mpi) fn window_members_failed(&mut self, comm: Handle, new: &[u32]) {
        let survives = self.engine.survives_failures();
        let Some(handle) = self.window_on(comm) else { return };
        let Ok(window) = self.windows.get_mut(handle) else { return };
        for rank in new {
            let peer = window.channel.peer(*rank);
            if !survives && !self.comms.processes.is_guest(peer) {
                continue;
            }
            // An agreement may know of a failure before the device does.
            let error = self.engine.failure(peer).unwrap_or_else(|| {
                ErrorClass::ProcFailed.error(format!("rank {peer} of the world has failed"))
            });
            window.member_failed(&mut self.engine, *rank, error);
        }
        self.serve_more(handle);
    }

    /// A communicator was revoked, which may be that of a window.
    pub(in crate::mpi) fn window_comm_revoked(&mut self, comm: Handle) {
        let Some(handle) = self.window_on(comm) else { return };
        let Ok(window) = self.windows.get_mut(handle) else { return };
        window.failures.is_revoked = true;
        window.direct = super::direct::DirectTargets::default();
        window.target.close();
        self.windows.activate(handle);
    }

    /// What a window that has just been made has missed.
    pub(super) fn find_window_failures(&mut self, window: Handle) -> Result {
        let comm = self.windows.get(window)?.comm;
        let known = &self.comms.get(comm)?.resilience;
        let (failed, is_revoked) = (known.failed.clone(), known.is_revoked);
        self.window_members_failed(comm, &failed);
        if is_revoked {
            self.window_comm_revoked(comm);
        }
        Ok(())
    }

    /// A window whose locks have become those of messages needs this process more than before.
    fn serve_more(&mut self, handle: Handle) {
        if let Ok(window) = self.windows.get(handle) {
            if window.failures.has_handed_over {
                self.windows.await_requests(handle);
                self.engine.note_long_start();
            }
            self.windows.activate(handle);
        }
    }

    /// Whether a window may be freed. In an epoch, only after a failure: its end may be out of reach.
    ///
    /// # Errors
    /// `Win`; `RmaSync` in an epoch.
    pub fn check_window_free(&self, window: Handle) -> Result {
        let window = self.windows.get(window)?;
        if window.failures.is_any() { Ok(()) } else { window.epochs.check_free() }
    }

    /// Starts to synchronize the ranks of a window that is to be freed: those that live, where ranks may fail.
    ///
    /// # Errors
    /// `Win` if there is no such window; `ProcFailed` where a failure of another job was met.
    pub fn start_window_meeting(&mut self, window: Handle) -> Result<Activity> {
        let found = self.windows.get(window)?;
        let comm = found.comm;
        match self.may_lose_members(found) {
            // Not a barrier: it may have ended at some ranks, which then know nothing of those that it fails at.
            true => self.start_rendezvous(comm),
            false => self.start_barrier(comm),
        }
    }

    /// Whether the ranks have met.
    ///
    /// # Errors
    /// `Win`; `Revoked`: then they need not meet; those of the barrier.
    pub fn end_window_meeting(
        &mut self, window: Handle, meeting: &mut Activity,
    ) -> Result<Option<()>> {
        let found = self.windows.get(window)?;
        if let Activity::Consent(_) = meeting {
            found.check_usable()?;
        }
        let Some(outcome) = self.end_if_complete(meeting) else { return Ok(None) };
        outcome.error.map_or(Ok(Some(())), Err)
    }

    /// Ends the use of a window that is to be freed after a failure or a revocation: at all ranks, as some may
    /// not have met. Whether that is so.
    ///
    /// # Errors
    /// `Win` if there is no such window.
    pub fn abandon_window(&mut self, window: Handle) -> Result<bool> {
        let found = self.windows.get(window)?;
        let (comm, is_impaired) = (found.comm, found.failures.is_any());
        if is_impaired {
            self.revoke(comm)?;
        }
        Ok(is_impaired)
    }

    /// Whether no message moves data of an abandoned window: the application gets its memory back.
    ///
    /// # Errors
    /// `Win` if there is no such window.
    pub fn end_window_transfers(&mut self, window: &mut Handle) -> Result<Option<()>> {
        let found = self.windows.get_mut(*window)?;
        let has_ended = found.origin.drain(&mut self.engine) && !found.target.is_busy();
        Ok(has_ended.then_some(()))
    }

    /// The call that waits for that.
    pub(crate) fn blocked_abandonment(&self, name: &str, window: Handle) -> WaitReport {
        match self.windows.get(window) {
            Ok(window) => window.blocked(name, &WindowWait::new(window.comm)),
            Err(_) => WaitReport::new(name),
        }
    }

    /// The end of a synchronization call once ranks have failed or windows were revoked: `Some` if no more is
    /// waited for.
    ///
    /// # Errors
    /// `Revoked`; `ProcFailed` if an origin has failed that has not completed its epoch.
    #[cold]
    pub(super) fn end_disturbed_wait(&mut self, wait: &mut WindowWait) -> Result<bool> {
        let (engine, window) = self.window_and_engine(wait.window)?;
        if window.failures.is_revoked && wait.barrier.is_none() {
            // The memory of its operations belongs to the application once the call returns.
            let is_drained = window.drain_wait(engine, wait);
            return if is_drained { Err(window.revoked()) } else { Ok(false) };
        }
        if wait.completes
            && let Some(error) = window.lost_completion()
        {
            window.forgo_completions();
            return Err(error);
        }
        Ok(true)
    }
}

impl Window {
    /// # Errors
    /// `Revoked` if the window was revoked.
    #[inline]
    pub(super) fn check_usable(&self) -> Result {
        if self.failures.is_revoked { Err(self.revoked()) } else { Ok(()) }
    }

    /// # Errors
    /// `Revoked` if the window was revoked, `ProcFailed` if this rank has failed.
    #[inline]
    pub(crate) fn check_target(&self, target: u32) -> Result {
        if !self.failures.is_any() {
            return Ok(());
        }
        self.check_usable()?;
        self.failures.error_of(|rank| rank == target).map_or(Ok(()), Err)
    }

    #[cold]
    fn revoked(&self) -> Box<MpiError> {
        ErrorClass::Revoked.error(format!("{} has been revoked", self.title()))
    }

    /// Why freeing this window has not synchronized all of its ranks.
    pub(crate) fn lost_member(&self) -> Option<Box<MpiError>> {
        self.failures.error_of(|_| true)
    }

    /// The error of the ranks that a call needs, which has done its part for the others.
    pub(super) fn involved_failure(&self, involved: Involved) -> Option<Box<MpiError>> {
        self.failures.error_of(|rank| match involved {
            Involved::None => false,
            Involved::Locked(target) | Involved::Rank(target) => rank == target,
            Involved::Started => self.epochs.last_started().contains(&rank),
            Involved::Epoch => self.epochs.is_passive(Some(rank)),
            Involved::All => true,
        })
    }

    /// Undoes what a call has begun that ends with an error about these ranks.
    pub(super) fn undo(&mut self, involved: Involved) {
        if let Involved::Locked(target) = involved {
            self.epochs.try_unlock(target);
            self.origin.set_locked(target, false);
        }
    }

    fn member_failed<D: Device>(
        &mut self, engine: &mut Engine<D>, rank: u32, error: Box<MpiError>,
    ) {
        if self.failures.has_failed(rank) {
            return;
        }
        self.failures.failed.push((rank, error));
        self.direct.member_failed(rank);
        self.target.origin_failed(rank);
        self.hand_locks_over(engine);
        self.target.open_if_all_told(self.channel.size());
    }

    /// Locks of words become locks of messages.
    pub(super) fn hand_locks_over<D: Device>(&mut self, engine: &mut Engine<D>) {
        if self.words().is_none() || self.failures.is_revoked {
            return;
        }
        self.failures.has_handed_over = true;
        self.direct.close_locks();
        for target in 0..self.channel.size() {
            let held = self.mapped.as_mut().and_then(|mapped| mapped.give_up(target));
            if self.failures.has_failed(target) {
                continue;
            }
            if held.is_some() {
                self.origin.set_locked(target, true);
            }
            let request = WindowRequest::HandOver { held: held.map(|turn| turn.kind()) };
            self.origin.request(engine, &self.channel, target, &request);
        }
        if let Some(mapped) = &mut self.mapped {
            mapped.withdraw();
        }
    }

    /// The error of an origin that has failed and has not completed its access epoch.
    fn lost_completion(&self) -> Option<Box<MpiError>> {
        let origins = self.epochs.posted().unwrap_or_default();
        let missing: Vec<_> =
            self.target.completes.missing(origins, self.mapped.as_ref()).collect();
        self.failures.error_of(|rank| missing.contains(&rank))
    }

    /// Ends the exposure epoch without the origins that have not completed. The next epoch does not take
    /// their completion of this one for its own.
    fn forgo_completions(&mut self) {
        let origins = self.epochs.posted().unwrap_or_default();
        self.target.completes.use_in_advance(origins);
        self.end_exposure();
    }

    /// Whether all transfers of a call on a revoked window have ended, and those of earlier operations.
    fn drain_wait<D: Device>(&mut self, engine: &mut Engine<D>, wait: &mut WindowWait) -> bool {
        let has_answers = wait.drop_answered(|answer| self.origin.has_answered(engine, answer));
        self.origin.drain(engine) && has_answers
    }
}
