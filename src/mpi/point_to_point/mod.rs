//! Point-to-point communication (MPI 5.0 §3): from ranks and tags to peers and envelopes.

pub(crate) mod buffer;

use super::Mpi;
use super::request::Activity;
use crate::device::Device;
use crate::engine::Engine;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::OperationId;
use crate::engine::point_to_point::probe::ProbedMessage;
use crate::engine::point_to_point::send::Mode;
use crate::engine::point_to_point::wire::Envelope;
use crate::engine::programs::offloaded::OffloadedId;
use crate::engine::schedules::plan::{Members, RunId};
use crate::mpi::collective::shared::polling::SharedCollectiveId;
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::datatype::PackedForm;
use crate::mpi::handle::Handle;
use crate::mpi::partitioned::operation::PartitionedId;
use crate::mpi::point_to_point::buffer::{BsendBuffer, BufferOwner};
use crate::mpi::request::status::{ANY_SOURCE, ANY_TAG, PROC_NULL, Status};
use platform::base::{ErrorClass, MpiError, Peer, Result};

/// The largest tag (`MPI_TAG_UB`).
pub const TAG_MAX: i32 = i32::MAX;
/// `MPI_MESSAGE_NO_PROC` of the standard ABI.
pub(crate) const MESSAGE_NO_PROC: Handle = 0x129;

/// The four modes of a send (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// The library chooses whether the send waits for the receive.
    Standard,
    /// The send completes locally: the attached buffer has space for the message.
    Buffered,
    /// The send waits for the receive.
    Synchronous,
    /// The receive has been posted; same as standard.
    Ready,
}

/// Checked arguments of an operation, which a persistent request starts.
#[derive(Debug)]
pub enum StartArguments {
    /// To or from `MPI_PROC_NULL`.
    ProcNull(Status),
    /// A send.
    Send {
        /// Mode of the send.
        mode: SendMode,
        /// Destination.
        to: Peer,
        /// Matching information.
        envelope: Envelope,
        /// The message.
        memory: Memory,
    },
    /// A receive.
    Receive {
        /// Sources and tags that match.
        pattern: MatchPattern,
        /// Receive buffer.
        memory: Memory,
    },
    /// A collective operation as a schedule.
    Collective(RunId),
    /// A shared-memory collective.
    Shared(SharedCollectiveId),
    /// A collective operation that the device runs.
    Program(OffloadedId),
    /// A partitioned operation.
    Partitioned(PartitionedId),
}

impl StartArguments {
    pub(crate) fn duplicate(&self) -> Self {
        match self {
            Self::ProcNull(status) => Self::ProcNull(*status),
            Self::Send { mode, to, envelope, memory } => {
                Self::Send { mode: *mode, to: *to, envelope: *envelope, memory: memory.alias() }
            }
            Self::Receive { pattern, memory } => {
                Self::Receive { pattern: *pattern, memory: memory.alias() }
            }
            Self::Collective(run) => Self::Collective(*run),
            Self::Shared(shared) => Self::Shared(*shared),
            Self::Program(program) => Self::Program(*program),
            Self::Partitioned(partitioned) => Self::Partitioned(*partitioned),
        }
    }
}

/// A message that a matched probe has returned, and its communicator.
#[derive(Debug)]
pub(crate) struct MatchedMessage {
    matched: ProbedMessage,
    comm: Handle,
}

impl<D: Device> Mpi<D> {
    /// Checks the arguments of a send.
    ///
    /// # Errors
    /// `Comm`, `Rank`, `Tag` for a wrong argument.
    #[inline]
    pub fn send_arguments(
        &self, mode: SendMode, memory: Memory, dest: i32, tag: i32, comm: Handle,
    ) -> Result<StartArguments> {
        if dest == PROC_NULL {
            self.comms.get(comm)?.check_usable()?;
            check_tag(tag)?;
            return Ok(StartArguments::ProcNull(Status::EMPTY));
        }
        let (to, envelope) = self.destination(dest, tag, comm)?;
        Ok(StartArguments::Send { mode, to, envelope, memory })
    }

    /// Checks the arguments of a receive.
    ///
    /// # Errors
    /// `Comm`, `Rank`, `Tag` for a wrong argument.
    #[inline]
    pub fn receive_arguments(
        &self, memory: Memory, source: i32, tag: i32, comm: Handle,
    ) -> Result<StartArguments> {
        Ok(match self.pattern(source, tag, comm)? {
            Some(pattern) => StartArguments::Receive { pattern, memory },
            None => StartArguments::ProcNull(Status::PROC_NULL),
        })
    }

    /// Starts a send.
    ///
    /// # Errors
    /// As [`Mpi::send_arguments`] and [`Mpi::start_operation`].
    #[inline(always)]
    pub(crate) fn send(
        &mut self, mode: SendMode, memory: Memory, dest: i32, tag: i32, comm: Handle,
    ) -> Result<Activity> {
        if mode != SendMode::Standard {
            let recipe = self.send_arguments(mode, memory, dest, tag, comm)?;
            return self.start_operation(recipe, comm);
        }
        Ok(match self.send_operation(memory, dest, tag, comm)? {
            Some(operation) => Activity::Message(operation),
            None => Activity::Complete(Status::EMPTY),
        })
    }

    /// Starts a send in standard mode. `None` means that it has completed.
    ///
    /// # Errors
    /// As [`Mpi::send_arguments`].
    #[inline(always)]
    pub(crate) fn send_operation(
        &mut self, memory: Memory, dest: i32, tag: i32, comm: Handle,
    ) -> Result<Option<OperationId>> {
        if dest == PROC_NULL {
            self.comms.get(comm)?.check_usable()?;
            check_tag(tag)?;
            return Ok(None);
        }
        let (to, envelope) = self.destination(dest, tag, comm)?;
        Ok(self.engine.send(to, envelope, memory, Mode::Standard))
    }

    /// Starts a receive; `None` for `MPI_PROC_NULL`.
    ///
    /// # Errors
    /// As [`Mpi::receive_arguments`].
    #[inline(always)]
    pub(crate) fn receive_operation(
        &mut self, memory: Memory, source: i32, tag: i32, comm: Handle,
    ) -> Result<Option<OperationId>> {
        let Some(pattern) = self.pattern(source, tag, comm)? else { return Ok(None) };
        Ok(Some(self.engine.receive(pattern, memory)))
    }

    /// The peer of the rank `dest`, and the matching information of the message.
    #[inline(always)]
    fn destination(&self, dest: i32, tag: i32, comm: Handle) -> Result<(Peer, Envelope)> {
        let comm = self.comms.get(comm)?;
        comm.check_usable()?;
        check_tag(tag)?;
        let to = comm.targets().peer(comm.check_rank(dest)?);
        let context = comm.context.for_traffic(Traffic::PointToPoint);
        Ok((to, Envelope { context, source: comm.rank, tag }))
    }

    /// Starts a send or a receive on `comm`.
    ///
    /// # Errors
    /// `Buffer` for a buffered send without space in the buffer.
    #[inline]
    pub fn start_operation(&mut self, recipe: StartArguments, comm: Handle) -> Result<Activity> {
        if self.engine.is_disturbed() {
            self.check_start(&recipe, comm)?;
        }
        Ok(match recipe {
            StartArguments::ProcNull(status) => Activity::Complete(status),
            StartArguments::Collective(run) => Activity::Run(self.engine.start(run)),
            StartArguments::Shared(shared) => self.restart_shared(shared),
            StartArguments::Program(program) => {
                self.engine.start_offloaded(program);
                Activity::Program(program)
            }
            StartArguments::Partitioned(partitioned) => {
                self.start_partitioned(partitioned);
                Activity::Partitioned(partitioned)
            }
            StartArguments::Receive { pattern, memory } => {
                Activity::Message(self.engine.receive(pattern, memory))
            }
            StartArguments::Send { mode: SendMode::Buffered, to, envelope, memory } => {
                self.send_buffered(to, envelope, &memory, comm)?;
                Activity::Complete(Status::EMPTY)
            }
            StartArguments::Send { mode, to, envelope, memory } => {
                let mode = match mode {
                    SendMode::Synchronous => Mode::Synchronous,
                    SendMode::Standard | SendMode::Buffered | SendMode::Ready => Mode::Standard,
                };
                match self.engine.send(to, envelope, memory, mode) {
                    Some(operation) => Activity::Message(operation),
                    None => Activity::Complete(Status::EMPTY),
                }
            }
        })
    }

    /// # Errors
    /// `Revoked` if the communicator was revoked, `ProcFailed` for a collective with a failed process.
    #[cold]
    fn check_start(&self, recipe: &StartArguments, comm: Handle) -> Result {
        // The communicator of a persistent request may have been freed.
        let Ok(comm) = self.comms.get(comm) else { return Ok(()) };
        match recipe {
            StartArguments::Collective(_)
            | StartArguments::Shared(_)
            | StartArguments::Program(_) => comm.check_collective(),
            StartArguments::ProcNull(_)
            | StartArguments::Send { .. }
            | StartArguments::Receive { .. }
            | StartArguments::Partitioned(_) => comm.check_usable(),
        }
    }

    /// Starts a buffered send, with the buffer of the communicator, else of its session or of the
    /// process (§3.6).
    fn send_buffered(
        &mut self, to: Peer, envelope: Envelope, memory: &Memory, comm: Handle,
    ) -> Result {
        let place = match self.comms.get(comm)? {
            found if found.bsend_buffer.is_attached() => BufferOwner::Comm(comm),
            found => found.group.session().map_or(BufferOwner::Process, BufferOwner::Session),
        };
        let len = memory.len();
        self.make_space(place, len)?;
        let mut copy = vec![0; len];
        memory.pack(0, &mut copy);
        let (buffering, engine) = self.bsend_buffer(place)?;
        if let Some(operation) = engine.send(to, envelope, Memory::owned(copy), Mode::Standard) {
            buffering.add_pending(operation, len);
        }
        Ok(())
    }

    /// Removes the sent messages of a buffer. If a message of `len` bytes does not fit then, messages may
    /// have left since the last poll.
    ///
    /// # Errors
    /// `Buffer` if the message still does not fit, and as [`Mpi::bsend_buffer`].
    fn make_space(&mut self, place: BufferOwner, len: usize) -> Result {
        let mut is_idle = false;
        loop {
            let is_empty = self.poll_flush(place)?;
            let space = self.bsend_buffer(place)?.0.check_space(len);
            if space.is_ok() || is_empty || is_idle {
                return space;
            }
            is_idle = self.engine.poll() == 0;
        }
    }

    /// A buffer for buffered sends.
    ///
    /// # Errors
    /// `Comm` or `Session` if there is no such communicator or session.
    pub(crate) fn bsend_buffer(
        &mut self, place: BufferOwner,
    ) -> Result<(&mut BsendBuffer, &mut Engine<D>)> {
        let buffering = match place {
            BufferOwner::Comm(comm) => &mut self.comms.get_mut(comm)?.bsend_buffer,
            BufferOwner::Session(session) => &mut self.sessions.get_mut(session)?.bsend_buffer,
            BufferOwner::Process => &mut self.bsend_buffer,
        };
        Ok((buffering, &mut self.engine))
    }

    /// Whether all messages of a buffer have been sent; true without a buffer.
    pub(crate) fn has_flushed(&self, place: BufferOwner) -> bool {
        let buffering = match place {
            BufferOwner::Comm(comm) => self.comms.get(comm).ok().map(|comm| &comm.bsend_buffer),
            BufferOwner::Session(session) => {
                self.sessions.get(session).ok().map(|session| &session.bsend_buffer)
            }
            BufferOwner::Process => Some(&self.bsend_buffer),
        };
        buffering.is_none_or(|buffering| {
            buffering.are_sent(|operation| self.engine.completion(operation).is_some())
        })
    }

    /// Removes the sent messages of a buffer; whether none remain.
    ///
    /// # Errors
    /// As [`Mpi::bsend_buffer`].
    pub(crate) fn poll_flush(&mut self, place: BufferOwner) -> Result<bool> {
        let (buffering, engine) = self.bsend_buffer(place)?;
        Ok(buffering.remove_sent(|operation| engine.take_completion(operation).is_some()))
    }

    /// The status of the oldest unexpected message that matches (§3.8.1).
    ///
    /// # Errors
    /// `Comm`, `Rank`, `Tag` for a wrong argument.
    pub fn probe(&mut self, source: i32, tag: i32, comm: Handle) -> Result<Option<Status>> {
        let Some(pattern) = self.pattern(source, tag, comm)? else {
            return Ok(Some(Status::PROC_NULL));
        };
        let found = self.engine.probe(pattern);
        if found.is_none() {
            self.found_nothing(pattern, comm)?;
        }
        let form = self.comms.packed_form(comm)?;
        Ok(found.map(|(envelope, bytes)| arrived(envelope, bytes, form)))
    }

    /// Takes the oldest unexpected message that matches (§3.8.2).
    ///
    /// # Errors
    /// `Comm`, `Rank`, `Tag` for a wrong argument; `NoMem` without a free handle.
    pub fn probe_matched(
        &mut self, source: i32, tag: i32, comm: Handle,
    ) -> Result<Option<(Handle, Status)>> {
        let Some(pattern) = self.pattern(source, tag, comm)? else {
            return Ok(Some((MESSAGE_NO_PROC, Status::PROC_NULL)));
        };
        self.messages.check_space()?;
        let Some(matched) = self.engine.probe_matched(pattern) else {
            self.found_nothing(pattern, comm)?;
            return Ok(None);
        };
        let status = arrived(matched.envelope, matched.len(), self.comms.packed_form(comm)?);
        Ok(Some((self.messages.insert(MatchedMessage { matched, comm })?, status)))
    }

    /// A probe has found no message.
    ///
    /// # Errors
    /// `Revoked` or `ProcFailed` if it may wait for ever.
    fn found_nothing(&mut self, pattern: MatchPattern, comm: Handle) -> Result {
        if self.comms.processes.has_guests() {
            self.connect_to_probed(pattern);
        }
        if self.engine.is_disturbed() { self.check_probe(pattern.source, comm) } else { Ok(()) }
    }

    /// The communicator of a message, for its error handler.
    pub(crate) fn comm_of_message(&self, message: Handle) -> Option<Handle> {
        Some(self.messages.get(message)?.comm)
    }

    /// Receives a message of a matched probe; returns its communicator.
    ///
    /// # Errors
    /// `Request` if the handle is not a message.
    pub fn receive_matched(
        &mut self, message: Handle, memory: Memory,
    ) -> Result<(Activity, Handle)> {
        if message == MESSAGE_NO_PROC {
            return Ok((
                Activity::Complete(Status::PROC_NULL),
                crate::mpi::communicator::COMM_SELF,
            ));
        }
        let taken = self.messages.remove(message).ok_or_else(|| {
            let why = format!("{message:#x} is not a message; it may have been received");
            ErrorClass::Request.error(why)
        })?;
        let operation = self.engine.receive_matched(taken.matched, memory);
        Ok((Activity::Message(operation), taken.comm))
    }

    /// The match pattern of a receive or probe; `None` for `MPI_PROC_NULL`.
    #[inline(always)]
    pub(crate) fn pattern(
        &self, source: i32, tag: i32, comm: Handle,
    ) -> Result<Option<MatchPattern>> {
        let comm: &Comm = self.comms.get(comm)?;
        comm.check_usable()?;
        if tag != ANY_TAG {
            check_tag(tag)?;
        }
        let source = match source {
            PROC_NULL => return Ok(None),
            ANY_SOURCE => None,
            _ => Some(comm.check_rank(source)?),
        };
        let context = comm.context.for_traffic(Traffic::PointToPoint);
        Ok(Some(MatchPattern { context, source, tag: (tag != ANY_TAG).then_some(tag) }))
    }
}

fn arrived(envelope: Envelope, bytes: u64, form: PackedForm) -> Status {
    let Envelope { source, tag, .. } = envelope;
    let is_external = form == PackedForm::External;
    Status { source: source as i32, tag, bytes, is_external, ..Status::EMPTY }
}

#[inline]
pub(crate) fn check_tag(tag: i32) -> Result {
    if tag >= 0 {
        return Ok(());
    }
    Err(bad_tag(tag))
}

#[cold]
fn bad_tag(tag: i32) -> Box<MpiError> {
    ErrorClass::Tag.error(format!("tag {tag} is not in 0..={TAG_MAX}"))
}
