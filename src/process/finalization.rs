//! Finalization: `MPI_Finalize` and `MPI_Session_finalize` (MPI 5.0 §11.2.2, §11.3.1).
//!
//! ```text
//!   finalize  drain: every send has left ─> barrier of all ranks ─> end the world model ─┐
//!             (if the job survives failures: an agreement of the ranks that live)        │
//!   close_session   buffered messages of the session have left ─> end the session ───────┴─> leave
//! ```
//!
//! The last user *leaves*: the progress thread ends, and the launcher learns that this process may
//! exit.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::world::{WorldModel, WorldStage, no_world};
use super::{Process, ProcessMpi, ProcessState, RunningMpi, running_mpi};
use crate::device::Device;
use crate::mpi::communicator::COMM_WORLD;
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::buffer::BufferOwner;
use platform::base::Result;
use platform::bootstrap::Client;
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::process as system;

/// How long a rank that has lost others tries to send its last messages.
const LAST_MESSAGES_TIMEOUT: Duration = Duration::from_millis(200);

/// How long a process waits for other clients of its world to leave, and how often it looks.
const CLIENTS_TIMEOUT: Duration = Duration::from_secs(5);
const CLIENTS_PAUSE: Duration = Duration::from_micros(200);

impl Process {
    /// Ends the world model: waits until every send has left, buffered and freed sends included,
    /// and until all ranks have called this; then leaves. The attributes of `MPI_COMM_SELF` were
    /// deleted before. Messages of other sessions may remain.
    ///
    /// # Errors
    /// `Other` outside the world model, or if the launcher has gone.
    pub(crate) fn finalize(&'static self) -> Result {
        if self.visit_running(|mpi| Ok(mpi.comms.has_world() && mpi.engine.survives_failures()))? {
            self.drain_or_lose()?;
            self.wait_for_survivors()?;
        } else {
            self.drain()?;
            self.wait_for_all_ranks()?;
        }
        self.end_world()?;
        self.leave()
    }

    /// Waits until every send of the world model has left.
    fn drain(&self) -> Result {
        self.until(
            |mpi| if mpi.comms.has_world() { Ok(()) } else { Err(no_world()) },
            |mpi, ()| Ok(is_drained(mpi).then_some(())),
            |_, ()| WaitReport::new("MPI_Finalize"),
        )
    }

    /// Waits until all ranks have drained. No rank sends anything new then, so a rank that has
    /// passed the barrier may exit.
    ///
    /// If `MPI_COMM_WORLD` was revoked, the process that has revoked it starts no barrier, so that of no
    /// process succeeds, and all make an agreement instead.
    fn wait_for_all_ranks(&self) -> Result {
        let met = self.until(
            |mpi| mpi.start_barrier(COMM_WORLD),
            |mpi, activity| Ok((mpi.is_complete(activity) && is_drained(mpi)).then_some(())),
            |mpi, activity| mpi.blocked("MPI_Finalize", [activity]),
        );
        match self.visit_running(|mpi| mpi.comms.get(COMM_WORLD)?.check_usable()) {
            Ok(()) => met,
            Err(_) => self.wait_for_survivors(),
        }
    }

    /// Waits until every send has left, unless ranks have failed: survivors may have given up receiving.
    fn drain_or_lose(&self) -> Result {
        self.until(
            |_| Ok(()),
            |mpi, ()| Ok((mpi.engine.failures() > 0 || is_drained(mpi)).then_some(())),
            |_, ()| WaitReport::new("MPI_Finalize"),
        )
    }

    /// The same in a job that survives failures: an agreement in place of the barrier. Messages that no
    /// survivor receives any more must not keep this rank.
    fn wait_for_survivors(&self) -> Result {
        let mut leaves_at = None;
        self.until(
            |mpi| mpi.start_rendezvous(COMM_WORLD),
            |mpi, activity| {
                if !mpi.is_complete(activity) {
                    return Ok(None);
                }
                let at = *leaves_at.get_or_insert_with(|| Instant::now() + LAST_MESSAGES_TIMEOUT);
                let gives_up = mpi.engine.failures() > 0 && Instant::now() >= at;
                Ok((gives_up || is_drained(mpi)).then_some(()))
            },
            |mpi, activity| mpi.blocked("MPI_Finalize", [activity]),
        )
    }

    fn end_world(&self) -> Result {
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        running.mpi.end_world();
        running.world = WorldModel::After;
        self.stage.store(WorldStage::After as u8, Ordering::Release);
        Ok(())
    }

    /// Ends a session once its buffered messages have left. Objects of the session that the
    /// application did not free are freed.
    ///
    /// # Errors
    /// `Session` if there is no such session, `Other` if the launcher has gone.
    pub(crate) fn close_session(&'static self, session: Handle) -> Result {
        let end = |mpi: &mut ProcessMpi| match mpi.may_end_session(session)? {
            true => mpi.end_session(session).map(Some),
            false => Ok(None),
        };
        // Any thread may call this at any time, as long as it need not wait.
        if self.visit_running(end)?.is_none() {
            self.until(
                |_| Ok(()),
                |mpi, ()| end(mpi),
                |_, ()| WaitReport::new("MPI_Session_finalize"),
            )?;
        }
        self.leave()
    }

    /// Leaves the world of several clients, in which sessions only were used.
    fn part_at_exit(&'static self) {
        if let ProcessState::Dormant(dormant) = &mut *self.state.visit() {
            dormant.part_from_clients();
        }
    }

    /// Makes MPI dormant if no world model and no session uses it any more.
    ///
    /// # Errors
    /// `Other` if the launcher has gone.
    pub(super) fn leave(&'static self) -> Result {
        let thread = match &mut *self.state.visit() {
            ProcessState::Running(running) if !running.is_used() => running.stop_thread(),
            _ => return Ok(()),
        };
        // The thread may be about to enter the lock, and must find MPI running then.
        if let Some(thread) = thread {
            thread.join();
        }
        let mut state = self.state.visit();
        *state = match std::mem::replace(&mut *state, ProcessState::Uninitialized) {
            ProcessState::Running(running) if !running.is_used() => ProcessState::Dormant(running),
            // Another thread has opened a session meanwhile.
            other => other,
        };
        let ProcessState::Dormant(dormant) = &mut *state else { return Ok(()) };
        let disconnected = dormant.disconnect_children(true);
        let wakeups = dormant.cancel_waits();
        dormant.mpi.engine.withdraw_receives();
        let may_return = dormant.world.stage() == WorldStage::Before;
        match dormant.mpi.comms.clients() {
            None => dormant.mpi.engine.leave(),
            // Other clients hear of it once only.
            Some(_) if may_return => {
                // Without memory for this, others take its end for a failure.
                dormant.parts_at_exit =
                    dormant.parts_at_exit || system::at_exit(move || self.part_at_exit());
            }
            Some(_) => dormant.part_from_clients(),
        }
        // Once for each process: ranks do not know of each other's strangers.
        if let Some(report) = dormant.mpi.engine.device().stranger_report() {
            eprintln!("Suiro: rank {} {report}", dormant.mpi.engine.me());
        }
        let left = dormant.launcher.as_mut().map_or(Ok(()), Client::finalize);
        state.set_overlapping(true);
        drop(state);
        wakeups.notify_all();
        disconnected.and(left)
    }
}

impl RunningMpi {
    /// Waits until other clients of the world have heard that this process leaves, and leave, too. The
    /// start-up server hears of it from rank 0.
    fn part_from_clients(&mut self) {
        self.mpi.engine.leave();
        let deadline = Instant::now() + CLIENTS_TIMEOUT;
        while !self.mpi.engine.device().is_drained() && Instant::now() < deadline {
            self.mpi.engine.poll();
            std::thread::sleep(CLIENTS_PAUSE);
        }
        if let Some(of_job) = self.world_of_job.take() {
            of_job.leave(deadline);
        }
    }
}

/// Whether the messages of the world model have left.
fn is_drained(mpi: &ProcessMpi) -> bool {
    let is_alone = mpi.sessions.is_empty();
    if is_alone { mpi.is_drained() } else { mpi.has_flushed(BufferOwner::Process) }
}
