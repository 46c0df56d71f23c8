//! Sessions and their process sets (MPI 5.0 §11.3).
//!
//! ```text
//! session ──process set──> group ──MPI_Comm_create_from_group──> communicator ──> ...
//! ```
//!
//! A group stores the session from which it was derived; its subgroups and communicators inherit
//! the session. The end of the session frees them. Groups and communicators derived from
//! `MPI_COMM_WORLD` have no session; the end of the world model frees them.

use super::Mpi;
use super::errhandler::Handler;
use super::group::Group;
use super::info::Info;
use crate::device::Device;
use crate::mpi::communicator::hints::MEMORY_KINDS;
use crate::mpi::communicator::{COMM_WORLD, Comms};
use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use crate::mpi::memory_kinds;
use crate::mpi::point_to_point::buffer::{BsendBuffer, BufferOwner};
use platform::base::{ErrorClass, MpiError, Result};

/// `MPI_SESSION_NULL` of the standard ABI.
pub(crate) const SESSION_NULL: Handle = 0x120;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) handler: Handler,
    /// The hints in use: level of thread support, kinds of memory.
    pub(crate) hints: Info,
    pub(crate) bsend_buffer: BsendBuffer,
}

/// All sessions of this process.
#[derive(Debug)]
pub(crate) struct Sessions(HandleTable<Session>);

impl Default for Sessions {
    fn default() -> Self {
        Self(HandleTable::new(HandleKind::Session))
    }
}

impl Sessions {
    /// A handle for a new session.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert(&mut self, handler: Handler, hints: Info) -> Result<Handle> {
        self.0.insert(Session { handler, hints, bsend_buffer: BsendBuffer::default() })
    }

    /// The session of a handle.
    ///
    /// # Errors
    /// `Session` for the null handle, a freed handle and other invalid values.
    pub(crate) fn get(&self, handle: Handle) -> Result<&Session> {
        self.0.get(handle).ok_or_else(|| not_a_session(handle))
    }

    /// The session of a handle, mutable.
    ///
    /// # Errors
    /// As [`Sessions::get`].
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Result<&mut Session> {
        self.0.get_mut(handle).ok_or_else(|| not_a_session(handle))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The process sets of every session, in the order of their numbers (§11.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessSet {
    /// All processes of the job.
    World,
    /// The calling process.
    Own,
}

impl ProcessSet {
    pub(crate) const ALL: [Self; 2] = [Self::World, Self::Own];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::World => "mpi://WORLD",
            Self::Own => "mpi://SELF",
        }
    }

    /// The set of a number.
    ///
    /// # Errors
    /// `Arg` if there is none.
    pub(crate) fn nth(number: i32) -> Result<Self> {
        let found = usize::try_from(number).ok().and_then(|number| Self::ALL.get(number));
        found.copied().ok_or_else(|| {
            let count = Self::ALL.len();
            ErrorClass::Arg.error(format!("process set number {number}: expected 0..{count}"))
        })
    }

    /// The set of a name. Names are URIs, whose scheme and host have no case (RFC 3986 §6.2.2.1).
    pub(crate) fn find(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// [`ProcessSet::find`] for a set that must exist.
    ///
    /// # Errors
    /// `Arg` if there is none.
    pub(crate) fn named(name: &[u8]) -> Result<Self> {
        Self::find(name).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            ErrorClass::Arg
                .error(format!("{name:?} is not a process set: expected mpi://WORLD or mpi://SELF"))
        })
    }

    /// The processes of the set, at the process of these communicators.
    pub(crate) fn group(self, comms: &Comms) -> Group {
        match self {
            Self::World => comms.world_group(),
            Self::Own => comms.own_group(),
        }
    }
}

impl<D: Device> Mpi<D> {
    /// The group of a process set, derived from `session`.
    ///
    /// # Errors
    /// `Session` if there is no such session.
    pub(crate) fn group_of_set(&self, session: Handle, set: ProcessSet) -> Result<Group> {
        self.sessions.get(session)?;
        let group = set.group(&self.comms);
        Ok(group.in_session(Some(session)))
    }

    /// The supported memory kinds of a communicator: those of its session or of the world model
    /// (§11.4.3).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn memory_kinds(&self, comm: Handle) -> Result<Vec<u8>> {
        let hints = match self.comms.get(comm)?.group.session() {
            Some(session) => &self.sessions.get(session)?.hints,
            None => &self.objects.infos.environment,
        };
        let kinds = hints.get(MEMORY_KINDS.as_bytes())?;
        Ok(kinds.unwrap_or(memory_kinds::DEFAULT.as_bytes()).to_vec())
    }

    /// Whether a session may end: its buffered messages have been sent, and all messages of the
    /// process if it is the last user of MPI.
    ///
    /// # Errors
    /// `Session` if there is no such session.
    pub(crate) fn may_end_session(&mut self, session: Handle) -> Result<bool> {
        let is_last = self.sessions.len() == 1 && !self.comms.has_world();
        let is_flushed = self.poll_flush(BufferOwner::Session(session))?;
        Ok(is_flushed && (!is_last || self.is_drained()))
    }

    /// Ends a session and frees the communicators derived from it.
    ///
    /// # Errors
    /// `Session` if there is no such session.
    pub(crate) fn end_session(&mut self, session: Handle) -> Result {
        let mut ended = self.sessions.0.remove(session).ok_or_else(|| not_a_session(session))?;
        self.release_pending(&mut ended.bsend_buffer);
        self.release_comms(Some(session));
        Ok(())
    }

    /// Starts the world model: creates `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    ///
    /// # Errors
    /// `Group` if this process is not a member of `MPI_COMM_WORLD`.
    pub fn begin_world(&mut self) -> Result {
        self.comms.open_world(&self.objects.initial_handler)?;
        self.attach_world_segment(COMM_WORLD)
    }

    /// Ends the world model: frees `MPI_COMM_WORLD` and all communicators derived from it.
    pub(crate) fn end_world(&mut self) {
        let mut buffering = std::mem::take(&mut self.bsend_buffer);
        self.release_pending(&mut buffering);
        self.release_comms(None);
    }

    fn release_comms(&mut self, session: Option<Handle>) {
        for mut comm in self.comms.take_derived(session) {
            self.release_pending(&mut comm.bsend_buffer);
            self.close_shared(comm.shared_collective);
        }
    }
}

/// The error of an invalid session handle.
#[cold]
pub fn not_a_session(handle: Handle) -> Box<MpiError> {
    ErrorClass::Session.error(match handle {
        SESSION_NULL => "the session is MPI_SESSION_NULL".into(),
        _ => format!("{handle:#x} is not a session; it may have been finalized"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_sets_are_found_by_number_and_name() {
        for (number, set) in (0..).zip(ProcessSet::ALL) {
            assert_eq!(ProcessSet::nth(number), Ok(set));
            assert_eq!(ProcessSet::named(set.name().as_bytes()), Ok(set));
            assert_eq!(ProcessSet::named(set.name().to_lowercase().as_bytes()), Ok(set));
        }
        assert!([-1, 2, i32::MAX].iter().all(|&number| ProcessSet::nth(number).is_err()));
        let error = ProcessSet::named(b"mpi://NOBODY").unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Arg as i32);
        assert!(error.why.contains("mpi://NOBODY"));
    }

    #[test]
    fn the_sets_of_a_process_are_all_and_itself() {
        let comms = Comms::without_world(2, 5);
        let all = ProcessSet::World.group(&comms);
        let own = ProcessSet::Own.group(&comms);
        assert_eq!((all.size(), all.rank()), (5, Some(2)));
        assert_eq!((own.size(), own.rank(), own.peers().next()), (1, Some(0), Some(2)));
    }

    #[test]
    fn a_session_that_has_ended_is_none_any_more() {
        let mut sessions = Sessions::default();
        let session = sessions.insert(Handler::Return, Info::default()).unwrap();
        assert!(sessions.get(session).is_ok() && sessions.len() == 1);
        sessions.0.remove(session);
        for none in [session, SESSION_NULL, 0] {
            let error = sessions.get(none).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::Session as i32);
        }
    }
}
