//! The rooms of communicators: memory that their processes share, where the device has that.
//!
//! Rank 0 of a new communicator claims a room and sends its number along with the context, or that
//! there is none; so all of its processes have a room, or none has. In a split whoever may become
//! rank 0 claims one, and gives it back if it does not. Communicators of one process, those whose
//! processes are on several nodes, and intercommunicators have none. `MPI_COMM_WORLD` has the room that
//! needs no claim. Numbers of rooms mean something on one node only.
//!
//! ```text
//! claim ──number on its way──> enter ──> the communicator has it ──freed──> leave
//!   └── not rank 0 after all ──> release
//! ```
//!
//! A room is free again when all have left it, so a process may free its communicator while others
//! still read what it published there.
//!
//! A persistent operation, which may be started in any order beside others, can have a room of its
//! own ([`Mpi::request_segment`]).

use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{Bcast, Collective};
use crate::mpi::collective::shared::SharedCollective;
use crate::mpi::collective::shared::polling::{CollectiveOwner, SharedCollectiveId};
use crate::mpi::communicator::{Comm, Context};
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::shared_memory::segment::SharedSegment;
use platform::base::{Peer, Result};
use platform::diagnosis::wait_report::WaitReport;

/// What rank 0 of a new communicator tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextMessage {
    /// The context.
    pub(crate) context: Context,
    /// The room, if there is one.
    pub(crate) segment: Option<u32>,
}

impl ContextMessage {
    /// How many bytes it is on its way.
    pub(crate) const BYTES: usize = 12;

    /// Everybody's room is granted to nobody, so that its number says that there is none.
    const NO_SEGMENT: u32 = 0;

    pub(crate) fn emit(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.context.bits().to_le_bytes());
        bytes[8..].copy_from_slice(&self.segment.unwrap_or(Self::NO_SEGMENT).to_le_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let [low, high, room] = [0, 4, 8].map(|at| {
            let word: &[u8; 4] = bytes[at..].first_chunk().expect("12 bytes are three words");
            u32::from_le_bytes(*word)
        });
        let context = Context::from_bits(u64::from(high) << 32 | u64::from(low));
        Self { context, segment: Some(room).filter(|room| *room != Self::NO_SEGMENT) }
    }

    /// As a message.
    pub(crate) fn to_memory(self) -> Memory {
        Memory::owned(self.emit())
    }

    /// From a message.
    pub(crate) fn from_memory(memory: &Memory) -> Self {
        let mut bytes = [0; Self::BYTES];
        memory.pack(0, &mut bytes);
        Self::parse(&bytes)
    }
}

/// A room for one operation, on its way.
#[derive(Debug)]
pub struct SegmentRequest {
    run: RunId,
    group: Arc<Group>,
}

impl<D: Device> Mpi<D> {
    /// A room for a communicator of `size` processes, of which this one is or may become rank 0.
    pub(crate) fn claim_segment(&mut self, size: u32) -> Option<u32> {
        let fits = size > 1 && SharedCollective::fits(size as usize);
        if fits { self.engine.shared()?.claim() } else { None }
    }

    /// A room for one operation of `size` processes, if those that communicators may need are left.
    fn claim_spare_segment(&mut self, size: u32) -> Option<u32> {
        let fits = size > 1 && SharedCollective::fits(size as usize);
        if fits { self.engine.shared()?.claim_spare() } else { None }
    }

    /// Gives back a room that nobody has been told of.
    pub(crate) fn release_segment(&mut self, room: u32) {
        if let Some(shared) = self.engine.shared() {
            shared.release(room);
        }
    }

    /// Enters the room that rank 0 of a group has claimed for it. All processes of the group call
    /// this, and all get a room or none does.
    fn enter_segment(&mut self, room: Option<u32>, group: &Group) -> Option<SharedSegment> {
        if !SharedCollective::fits(group.size() as usize) {
            return None;
        }
        let (room, shared) = (room?, self.engine.shared()?);
        let seats: Vec<Peer> = group.peers().collect();
        let entered = shared.enter(room, &seats);
        if entered.is_none() && group.rank() == Some(0) {
            shared.release(room);
        }
        entered
    }

    /// Leaves a room, if there is one. Whoever has it must not be told of any longer that it is.
    pub fn leave_segment(&mut self, room: Option<SharedSegment>) {
        if let (Some(room), Some(shared)) = (room, self.engine.shared()) {
            shared.leave(room);
        }
    }

    /// Leaves the room of a communicator that is no more.
    pub(crate) fn close_shared(&mut self, hall: Option<SharedCollectiveId>) {
        let room = hall.and_then(|hall| self.shared_collectives.close(hall));
        self.leave_segment(room);
    }

    /// Which room a communicator has.
    pub fn segment_number(&self, comm: Handle) -> Option<u32> {
        let hall = self.comms.get(comm).ok()?.shared_collective?;
        self.shared_collectives.segment_number(hall)
    }

    /// The room of a communicator, if it has one.
    pub fn segment(&mut self, comm: Handle) -> Option<&mut SharedSegment> {
        let hall = self.comms.get(comm).ok()?.shared_collective?;
        self.shared_collectives.segment(hall)
    }

    /// A handle for a new communicator, with the room that was granted to it.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert_comm(&mut self, comm: Comm, room: Option<u32>) -> Result<Handle> {
        let group = Arc::clone(&comm.group);
        let comm = self.comms.insert(comm);
        self.attach_segment(comm, room, &group)
    }

    /// The communicator of `comm`, over `group`, gets the room that was granted to it. If there is
    /// no communicator the room is left for those who have one.
    ///
    /// # Errors
    /// That of `comm`; `Comm` if there is no such communicator.
    pub(crate) fn attach_segment(
        &mut self, comm: Result<Handle>, room: Option<u32>, group: &Group,
    ) -> Result<Handle> {
        let room = self.enter_segment(room, group);
        match comm.and_then(|comm| self.comms.get_mut(comm).map(|found| (comm, found))) {
            Ok((comm, found)) => {
                let open = |room| {
                    let machine = self.selection.machine();
                    let owner = CollectiveOwner::Comm;
                    self.shared_collectives.open(room, group.peers(), owner, machine)
                };
                found.shared_collective = room.map(open);
                Ok(comm)
            }
            Err(error) => {
                self.leave_segment(room);
                Err(error)
            }
        }
    }

    /// `MPI_COMM_WORLD` gets everybody's room, if all share memory.
    pub(crate) fn attach_world_segment(&mut self, world: Handle) -> Result {
        let on = self.comms.get(world)?;
        let group = Arc::clone(&on.group);
        let room = (group.size() > 1 && on.nodes.is_none()).then_some(0);
        self.attach_segment(Ok(world), room, &group).map(drop)
    }

    /// Starts to get a room for one operation on `comm`, beside that of the communicator. It is a
    /// collective call; all get a room in the end or none does, which is so when less than half of
    /// all rooms are free. `None`: none will, as `comm` has none itself.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn request_segment(&mut self, comm: Handle) -> Result<Option<SegmentRequest>> {
        let on = self.comms.get(comm)?;
        if on.shared_collective.is_none() {
            return Ok(None);
        }
        let (group, context, rank) = (Arc::clone(&on.group), on.context, on.rank);
        let room = if rank == 0 { self.claim_spare_segment(group.size()) } else { None };
        let message = ContextMessage { context, segment: room }.to_memory();
        let bcast = Collective::Bcast(Bcast { bytes: ContextMessage::BYTES, root: 0 });
        let run = self.launch_on(comm, bcast, vec![message])?;
        Ok(Some(SegmentRequest { run, group }))
    }

    /// The room that was asked for, once it is known whether there is one. It is to be left with
    /// [`Mpi::leave_segment`] when the operation is freed. A request must be asked until this gives
    /// something, and not after that.
    ///
    /// # Errors
    /// What went wrong with a message.
    pub fn end_segment_request(
        &mut self, request: &SegmentRequest,
    ) -> Result<Option<Option<SharedSegment>>> {
        let Some(end) = self.engine.take_run_end(request.run) else { return Ok(None) };
        if let Some(error) = end.error {
            return Err(error);
        }
        let room = ContextMessage::from_memory(&end.buffers[0]).segment;
        Ok(Some(self.enter_segment(room, &request.group)))
    }

    /// The call `function`, which waits for a room.
    pub(crate) fn segment_wait_report(
        &self, function: &str, request: &SegmentRequest,
    ) -> WaitReport {
        self.blocked(function, [&Activity::Run(request.run)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_reads_back() {
        let context = Context::new(u32::MAX >> 2, u32::MAX);
        for room in [None, Some(1), Some(u32::MAX)] {
            let grant = ContextMessage { context, segment: room };
            assert_eq!(ContextMessage::parse(&grant.emit()), grant);
            assert_eq!(ContextMessage::from_memory(&grant.to_memory()), grant);
        }
    }
}
