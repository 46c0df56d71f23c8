//! Who uses MPI in this process: the world model, at most once, and any number of sessions, before
//! it, beside it and after it (MPI 5.0 §11.2, §11.3).
//!
//! The first user wires up and the last one lets everything rest: no thread runs, and the launcher
//! knows that this process may end. The next one goes on from there. Only our own launcher is told
//! when a process comes back; others let a process join once, so under them it comes back
//! unnoticed.

use super::config::{Config, ProgressMode};
use super::world::assemble;
use super::{Process, ProcessMpi, ProcessState, RunningMpi, ThreadLevel, WorldStage, running};
use crate::mpi::communicator::hints::MEMORY_KINDS;
use crate::mpi::errhandler::Handler;
use crate::mpi::handle::Handle;
use crate::mpi::info::Info;
use crate::mpi::memory_kinds;
use platform::base::{ErrorClass, Result};
use platform::bootstrap::{Client, RequiredRanks};
use platform::diagnosis::wait_report::WaitReport;

/// Who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessModel {
    /// The world model.
    World,
    /// A session.
    Session,
}

impl ProcessModel {
    /// Whom it counts on to use MPI too: in the world model nobody may be missing (§11.2.1).
    fn required_ranks(self) -> RequiredRanks {
        match self {
            Self::World => RequiredRanks::All,
            Self::Session => RequiredRanks::Any,
        }
    }
}

impl Process {
    /// Begins a session with a level of thread support, and the kinds of memory if any were asked
    /// for. It waits for nobody, but for what wiring up needs under other launchers.
    ///
    /// # Errors
    /// `NoMem` without a free handle; as [`Process::join`].
    pub(crate) fn open_session(
        &'static self, handler: Handler, level: ThreadLevel, kinds: Option<&str>,
    ) -> Result<Handle> {
        self.join(ProcessModel::Session, level, |now| {
            let infos = &mut now.mpi.objects.infos;
            if infos.environment == Info::default() {
                let size = now.mpi.comms.processes();
                infos.environment = super::description::of_rank(size, &now.memory_kinds);
            }
            let kinds = memory_kinds::provided(kinds.unwrap_or(&now.memory_kinds));
            let mut hints = Info::default();
            hints.set(b"thread_level", level.name().as_bytes())?;
            hints.set(MEMORY_KINDS.as_bytes(), kinds.as_bytes())?;
            now.mpi.sessions.insert(handler, hints)
        })
    }

    /// Ends a session once its buffered messages have left. What the application should have freed
    /// goes with it.
    ///
    /// # Errors
    /// `Session` if there is no such session, `Other` if the launcher is gone.
    pub(crate) fn close_session(&self, session: Handle) -> Result {
        let end = |mpi: &mut ProcessMpi| match mpi.may_end_session(session)? {
            true => mpi.end_session(session).map(Some),
            false => Ok(None),
        };
        // Any thread may come here at any time, as long as it need not wait.
        if self.visit_running(end)?.is_none() {
            self.until(
                |_| Ok(()),
                |mpi, ()| end(mpi),
                |_, ()| WaitReport::new("MPI_Session_finalize"),
            )?;
        }
        self.leave()
    }

    /// Lets a user in, whom `enter` makes one.
    ///
    /// # Errors
    /// `Other` for a world model that is not the first, for bad settings, for a launcher or peers
    /// that cannot be reached; `NoMem` without shared memory or a thread; what `enter` says.
    pub(super) fn join<T>(
        &'static self, user: ProcessModel, level: ThreadLevel,
        enter: impl FnOnce(&mut RunningMpi) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.state.visit();
        let is_first = !matches!(*state, ProcessState::Running(_));
        let now = ensure_running(&mut state, user, level)?;
        let entered = enter(now);
        now.has_thread_multiple |= level == ThreadLevel::Multiple;
        let wants_thread =
            matches!(now.progress_mode, ProgressMode::Thread | ProgressMode::Delegate);
        now.may_overlap = !is_first && now.may_overlap || level == ThreadLevel::Multiple;
        let met = now.may_overlap;
        state.set_overlapping(met);
        drop(state);
        if entered.is_err() {
            self.leave()?;
        } else if wants_thread {
            self.start_progress()?;
        }
        entered
    }

    /// A user has left: if it was the last, everything comes to rest.
    ///
    /// # Errors
    /// `Other` if the launcher is gone.
    pub(super) fn leave(&self) -> Result {
        let thread = match &mut *self.state.visit() {
            ProcessState::Running(now) if !now.is_used() => now.stop_thread(),
            _ => return Ok(()),
        };
        // It may be on its way through the lock, in which it must find MPI running.
        if let Some(thread) = thread {
            thread.join();
        }
        let mut state = self.state.visit();
        *state = match std::mem::replace(&mut *state, ProcessState::Uninitialized) {
            ProcessState::Running(now) if !now.is_used() => ProcessState::Dormant(now),
            // Somebody came meanwhile.
            other => other,
        };
        let ProcessState::Dormant(now) = &mut *state else { return Ok(()) };
        let rings = now.cancel_waits();
        let left = now.launcher.as_mut().map_or(Ok(()), Client::finalize);
        state.set_overlapping(true);
        drop(state);
        rings.notify_all();
        left
    }
}

impl RunningMpi {
    fn is_used(&self) -> bool {
        self.world.stage() == WorldStage::Running || !self.mpi.sessions.is_empty()
    }
}

/// Makes MPI run for this user, who is not one yet. With an error nothing has changed.
///
/// # Errors
/// As [`Process::join`].
fn ensure_running(
    state: &mut ProcessState, user: ProcessModel, level: ThreadLevel,
) -> Result<&mut RunningMpi> {
    if let ProcessState::Running(now) | ProcessState::Dormant(now) = state {
        if user == ProcessModel::World && now.world.stage() != WorldStage::Before {
            let why = "MPI has been initialized already, which it can be only once";
            return Err(ErrorClass::Other.error(why));
        }
        if let Some(launcher) = now.launcher.as_mut().filter(|it| it.attributes().is_own_launcher) {
            launcher.rejoin(user.required_ranks())?;
        }
    } else {
        let config = Config::read()?;
        super::log::start(&config)?;
        let mut now = Box::new(assemble(&config, user.required_ranks(), level)?);
        if let ProcessState::Early(objects) = state {
            now.mpi.objects = std::mem::take(&mut **objects);
        }
        *state = ProcessState::Dormant(now);
    }
    *state = match std::mem::replace(state, ProcessState::Uninitialized) {
        ProcessState::Dormant(now) => ProcessState::Running(now),
        other => other,
    };
    running(state)
}
