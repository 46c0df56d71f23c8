//! Other jobs: ports, and connections with them (MPI 5.0 §11.9).
//!
//! The conversation of two jobs is in [`mpi::communicator::connect`](crate::mpi::communicator::connect);
//! here are the random keys, the time, the launcher and the descriptor that it needs.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::initialization::hash_of;
use super::{Process, ProcessMpi, RunningMpi, running_mpi};
use crate::device::reach::ConnectionKey;
use crate::mpi::communicator::COMM_SELF;
use crate::mpi::communicator::connect::{JobMeeting, MeetingRole};
use crate::mpi::communicator::port::PORT_NAME_MAX;
use crate::mpi::handle::Handle;
use platform::base::{ErrorClass, MpiError, Result};
use platform::bootstrap::identity;
use platform::sys::secret::JobCredentials;
use platform::sys::{descriptor, process};

/// What the root of an accept or a connect asks for.
pub(crate) enum Meeting {
    /// Accepts at a port.
    Accept(String),
    /// Connects to a port.
    Connect(String),
}

/// How often a condition outside of MPI is looked at during a connection.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(20);

impl Process {
    /// Opens a port.
    ///
    /// # Errors
    /// `Other` if the device reaches no other jobs, or the system has no random numbers.
    pub(crate) fn open_port(&self) -> Result<String> {
        let key = new_key()?;
        self.visit_running(|mpi| mpi.open_port(key))
    }

    /// Closes a port.
    ///
    /// # Errors
    /// `Port` if it is no open port of this process.
    pub(crate) fn close_port(&self, name: &str) -> Result {
        self.visit_running(|mpi| mpi.close_port(name))
    }

    /// Accepts or connects with the processes of `comm` for the call `function`; `asked` is what the root
    /// asks for, and the longest wait for the other job, if there is one.
    ///
    /// # Errors
    /// `Port` if the other job cannot be reached in time; `Comm`, `Root`; the errors of messages.
    pub(crate) fn meet(
        &self, function: &str, comm: Handle, root: i32,
        asked: impl FnOnce() -> Result<(Meeting, Option<Duration>)>,
    ) -> Result<Handle> {
        let mut time = None;
        let asked = || {
            let (meeting, longest) = asked()?;
            time = longest;
            Ok(meeting)
        };
        let meeting = RefCell::new(self.start_meeting(comm, root, asked)?);
        let deadline = time.map(|time| Instant::now() + time);
        loop {
            // A sleep may be longer than the time that is left.
            let slice = deadline.map(|_| Instant::now() + LOOK_INTERVAL);
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let made = self.advance_meeting(function, &meeting, slice, is_late)?;
            if let Some(made) = made {
                return Ok(made);
            }
        }
    }

    /// Whether this process has this rank.
    pub(super) fn is_rank(&self, comm: Handle, rank: i32) -> Result<bool> {
        self.visit_running(|mpi| Ok(mpi.comms.get(comm)?.rank as i32 == rank))
    }

    pub(super) fn start_meeting(
        &self, comm: Handle, root: i32, asked: impl FnOnce() -> Result<Meeting>,
    ) -> Result<JobMeeting> {
        let is_root = self.is_rank(comm, root)?;
        // The lock is free while the arguments of the application are read.
        let role = if is_root { role(asked()) } else { MeetingRole::Member(None) };
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        let meeting = running.mpi.start_meeting(comm, root, role);
        running.note_sockets();
        running.note_near_memory();
        meeting
    }

    /// The communicator; `None` if the time `slice` came before.
    pub(super) fn advance_meeting(
        &self, function: &str, meeting: &RefCell<JobMeeting>, slice: Option<Instant>, is_late: bool,
    ) -> Result<Option<Handle>> {
        let advance = |mpi: &mut ProcessMpi, (): &mut ()| {
            let made = mpi.advance_meeting(&mut meeting.borrow_mut(), is_late)?;
            let is_over = slice.is_some_and(|slice| Instant::now() >= slice);
            Ok(made.map(Some).or(is_over.then_some(None)))
        };
        let report = |mpi: &ProcessMpi, (): &()| mpi.blocked_meeting(function, &meeting.borrow());
        self.until(|_| Ok(()), advance, report)
    }

    /// Connects with the process at the other end of a socket, which calls this too. `None` if there is no
    /// way between the two.
    ///
    /// # Errors
    /// `Other` for a descriptor that carries no bytes both ways; as [`Process::open_port`].
    pub(crate) fn join_by(&self, descriptor: i32) -> Result<Option<Handle>> {
        let own = self.open_port()?;
        let joined = self.join_at(&own, descriptor);
        self.close_port(&own)?;
        joined
    }

    fn join_at(&self, own: &str, descriptor: i32) -> Result<Option<Handle>> {
        let other = exchange_ports(descriptor, own)?;
        let asked = match own < &*other {
            true => Meeting::Accept(own.to_owned()),
            false => Meeting::Connect(other),
        };
        let met = self.meet("MPI_Comm_join", COMM_SELF, 0, || Ok((asked, None)));
        match met {
            Ok(made) => Ok(Some(made)),
            Err(error) if error.is(ErrorClass::Port) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl RunningMpi {
    /// Waits poll sockets from now on, if there are any.
    fn note_sockets(&mut self) {
        if self.mpi.engine.device().has_sockets() {
            self.wait_policy = self.wait_policy.with_sockets();
            self.spin_history.follow(self.wait_policy);
        }
    }

    /// Processes of other jobs may share memory with this one from now on: those of its user that the kernel
    /// lets open what this process has opened, with the same version of the library.
    fn note_near_memory(&mut self) {
        let mpi = &mut self.mpi;
        if mpi.presence.memory.is_none() && mpi.engine.near_memory().is_some() {
            let (host, user) = (identity::of_this_host(), process::effective_user());
            mpi.presence.memory = Some(hash_of(&(host, user, env!("CARGO_PKG_VERSION"))));
        }
    }
}

fn role(asked: Result<Meeting>) -> MeetingRole {
    let role = asked.and_then(|asked| {
        Ok(match asked {
            Meeting::Accept(port) => MeetingRole::Accept { port, key: new_key()? },
            Meeting::Connect(port) => MeetingRole::Connect { port },
        })
    });
    role.unwrap_or_else(|error| MeetingRole::Member(Some(error)))
}

/// # Errors
/// `Other` if the system has no random numbers.
fn new_key() -> Result<ConnectionKey> {
    let drawn = JobCredentials::draw();
    let JobCredentials { id, key } = drawn.map_err(|error| {
        ErrorClass::Other.error(format!("the system has no random numbers: {error}"))
    })?;
    Ok(ConnectionKey { id, secret: key })
}

/// Both ends send the name of a port, of a fixed length.
///
/// # Errors
/// `Other` for a descriptor that carries no bytes both ways.
fn exchange_ports(number: i32, own: &str) -> Result<String> {
    let failed = |error: std::io::Error| -> Box<MpiError> {
        ErrorClass::Other.error(format!(
            "the descriptor {number} carries no name of a port: {error}; expected a connected socket on \
             which nothing else is sent"
        ))
    };
    let mut message = [0; PORT_NAME_MAX];
    message[..own.len()].copy_from_slice(own.as_bytes());
    let mut answer = [0; PORT_NAME_MAX];
    descriptor::exchange(number, &message, &mut answer).map_err(failed)?;
    let name = answer.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}
