//! Processes that this one has started (MPI 5.0 §11.8).
//!
//! ```text
//!   root: port ──> launcher starts the job ──> children: MPI_Init connects to the port
//!     │                    └── ends before ──> the error of all parents <── a parent fails: children end
//!     └── accepts ──────────────────────────> an intercommunicator; the port is closed
//! ```
//!
//! The launcher is the mpirun of the own job, if it is that of this library; otherwise this process
//! starts an mpirun itself. A failure of the children is one of the parents, too, until they disconnect.

use std::cell::RefCell;
use std::time::Instant;

use super::other_jobs::{LOOK_INTERVAL, Meeting};
use super::{Process, RunningMpi, running_mpi};
use crate::mpi::communicator::COMM_WORLD;
use crate::mpi::communicator::connect::JobMeeting;
use crate::mpi::handle::Handle;
use crate::mpi::processes::JobId;
use platform::base::{ErrorClass, Result};
pub(crate) use platform::bootstrap::SpawnCommand;
use platform::bootstrap::{SpawnRequest, SpawnState, Spawned, start_detached};

/// The name of the communicator of [`Process::parent`].
const PARENT_NAME: &str = "MPI_COMM_PARENT";

/// A job that this process has started.
pub(super) struct ChildJob {
    started: StartedJob,
    /// Its identity, once it is connected.
    job: Option<JobId>,
}

enum StartedJob {
    /// By the launcher, with this number there.
    ByLauncher(u32),
    /// By this process.
    Detached(Spawned),
}

impl Process {
    /// Starts programs as one job, and connects with it; `commands` are asked at the root only. `count`
    /// becomes the number of started processes, or that of those that could not be started.
    ///
    /// # Errors
    /// `Spawn` if they do not start or do not initialize MPI; as [`Process::meet`].
    pub(crate) fn spawn(
        &self, function: &str, comm: Handle, root: i32,
        commands: impl FnOnce() -> Result<Vec<SpawnCommand>>, count: &mut u32,
    ) -> Result<Handle> {
        let mut child = None;
        let mut port = None;
        let asked = || {
            let commands = commands()?;
            *count = commands.iter().map(|command| command.processes).sum();
            // Before processes start that nobody would meet.
            self.visit_running(|mpi| mpi.comms.get(comm)?.check_collective())?;
            let name = self.open_port()?;
            port = Some(name.clone());
            child = Some(self.start_job(commands, &name)?);
            Ok(Meeting::Accept(name))
        };
        let made = self.start_meeting(comm, root, asked).and_then(|mut meeting| {
            meeting.announced = *count;
            let meeting = RefCell::new(meeting);
            let made = self.await_children(function, &meeting, child.as_mut());
            *count = meeting.borrow().announced;
            made
        });
        if let Some(port) = port {
            // Children that connect later than an error are refused.
            drop(self.close_port(&port));
        }
        let Some(mut child) = child else { return made };
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        match made {
            Ok(made) => {
                child.job = running.mpi.comms.remote_job(made);
                running.children.push(child);
            }
            // Parents have failed, and children may wait for them. The error of the spawn is the one to tell.
            Err(_) => drop(running.end_child(child)),
        }
        made
    }

    fn await_children(
        &self, function: &str, meeting: &RefCell<JobMeeting>, mut child: Option<&mut ChildJob>,
    ) -> Result<Handle> {
        loop {
            let slice = child.is_some().then(|| Instant::now() + LOOK_INTERVAL);
            if let Some(made) = self.advance_meeting(function, meeting, slice, false)? {
                return Ok(made);
            }
            let Some(started) = child.as_mut() else { continue };
            if let SpawnState::Ended { why, .. } = self.state_of(started)? {
                child = None;
                let error = ErrorClass::Spawn.error(why);
                self.visit_running(|mpi| mpi.refuse_meeting(&mut meeting.borrow_mut(), error))?;
            }
        }
    }

    fn start_job(&self, commands: Vec<SpawnCommand>, parent_port: &str) -> Result<ChildJob> {
        let request = SpawnRequest { commands, parent_port: parent_port.to_owned() };
        let mut state = self.state.lock();
        let launcher = running_mpi(&mut state)?.launcher.as_mut();
        let started = match launcher.filter(|it| it.attributes().is_own_launcher) {
            Some(launcher) => StartedJob::ByLauncher(launcher.spawn(&request)?),
            None => StartedJob::Detached(start_detached(&request)?),
        };
        Ok(ChildJob { started, job: None })
    }

    fn state_of(&self, child: &mut ChildJob) -> Result<SpawnState> {
        match &mut child.started {
            StartedJob::Detached(spawned) => Ok(spawned.state()),
            StartedJob::ByLauncher(number) => {
                let mut state = self.state.lock();
                let launcher = running_mpi(&mut state)?.launcher.as_mut();
                let launcher = launcher.ok_or_else(|| {
                    ErrorClass::Intern.error("a job without a launcher has asked one")
                })?;
                launcher.spawn_state(*number)
            }
        }
    }

    /// Forgets processes of other jobs after a disconnect; a failure of theirs is none of this job then.
    ///
    /// # Errors
    /// `Other` without the launcher.
    pub(crate) fn forget_other_jobs(&self) -> Result {
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        running.mpi.forget_unused(true);
        running.disconnect_children(false)
    }

    /// Connects with the processes that have started this one, if any have.
    ///
    /// # Errors
    /// As [`Process::meet`].
    pub(super) fn connect_with_parents(&self) -> Result {
        let port = running_mpi(&mut self.state.lock())?.parent_port.take();
        let Some(port) = port else { return Ok(()) };
        let asked = || Ok((Meeting::Connect(port), None));
        let made = self.meet("MPI_Init", COMM_WORLD, 0, asked)?;
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        running.mpi.comms.get_mut(made)?.name = PARENT_NAME.into();
        running.parent = Some(made);
        Ok(())
    }

    /// The intercommunicator with the processes that have started this one, while it exists.
    ///
    /// # Errors
    /// `Other` unless MPI runs.
    pub(crate) fn parent(&self) -> Result<Option<Handle>> {
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        Ok(running.parent.filter(|parent| running.mpi.comms.get(*parent).is_ok()))
    }
}

impl RunningMpi {
    /// Ends a job that this process has started and does not use.
    ///
    /// # Errors
    /// `Other` without the launcher.
    fn end_child(&mut self, child: ChildJob) -> Result {
        match (child.started, &mut self.launcher) {
            (StartedJob::ByLauncher(number), Some(launcher)) => launcher.end_spawned(number),
            // It ends with this value.
            (StartedJob::Detached(_), _) | (StartedJob::ByLauncher(_), None) => Ok(()),
        }
    }

    /// The launcher learns of disconnected children; `all`: of all.
    ///
    /// # Errors
    /// `Other` without the launcher.
    pub(super) fn disconnect_children(&mut self, all: bool) -> Result {
        let processes = &self.mpi.comms.processes;
        let gone = |child: &mut ChildJob| {
            let mut connected = processes.guests().filter_map(|peer| processes.identity(peer));
            all || !connected.any(|identity| Some(identity.job) == child.job)
        };
        let children: Vec<_> = self.children.extract_if(.., gone).collect();
        for child in children {
            match (child.started, &mut self.launcher) {
                (StartedJob::Detached(mut spawned), _) => spawned.disconnected(),
                (StartedJob::ByLauncher(number), Some(launcher)) => {
                    launcher.spawn_disconnected(number)?;
                }
                (StartedJob::ByLauncher(_), None) => (),
            }
        }
        Ok(())
    }
}
