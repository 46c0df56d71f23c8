//! The rooms of communicators: memory that their processes share, where the device has that.
//!
//! Rank 0 of a new communicator claims a room and sends its number along with the context, or that
//! there is none; so all of its processes have a room, or none has. In a split whoever may become
//! rank 0 claims one, and gives it back if it does not. Communicators of one process and
//! intercommunicators have none. `MPI_COMM_WORLD` has the room that needs no claim.
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
//! own ([`Mpi::ask_for_room`]).

use std::sync::Arc;

use super::Mpi;
use super::coll::shared::Hall;
use super::coll::{Bcast, Collective};
use super::collective_shared::{HallId, Owner};
use super::comm::{Comm, Context};
use super::group::Group;
use super::request::Activity;
use super::table::Handle;
use crate::base::blocked::Blocked;
use crate::base::{Peer, Result};
use crate::core::memory::Memory;
use crate::core::run::RunId;
use crate::device::Device;
use crate::device::room::Room;

/// What rank 0 of a new communicator tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    /// The context.
    pub context: Context,
    /// The room, if there is one.
    pub room: Option<u32>,
}

impl Grant {
    /// How many bytes it is on its way.
    pub const BYTES: usize = 12;

    /// Everybody's room is granted to nobody, so that its number says that there is none.
    const NO_ROOM: u32 = 0;

    pub fn emit(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.context.bits().to_le_bytes());
        bytes[8..].copy_from_slice(&self.room.unwrap_or(Self::NO_ROOM).to_le_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let [low, high, room] = [0, 4, 8].map(|at| {
            let word: &[u8; 4] = bytes[at..].first_chunk().expect("12 bytes are three words");
            u32::from_le_bytes(*word)
        });
        let context = Context::from_bits(u64::from(high) << 32 | u64::from(low));
        Self { context, room: Some(room).filter(|room| *room != Self::NO_ROOM) }
    }

    /// As a message.
    pub fn message(self) -> Memory {
        Memory::owned(self.emit())
    }

    /// From a message.
    pub fn received(memory: &Memory) -> Self {
        let mut bytes = [0; Self::BYTES];
        memory.pack(0, &mut bytes);
        Self::parse(&bytes)
    }
}

/// A room for one operation, on its way.
#[derive(Debug)]
pub struct RoomRequest {
    run: RunId,
    group: Arc<Group>,
}

impl<D: Device> Mpi<D> {
    /// A room for a communicator of `size` processes, of which this one is or may become rank 0.
    pub(super) fn claim_room(&mut self, size: u32) -> Option<u32> {
        let fits = size > 1 && Hall::fits(size as usize);
        if fits { self.engine.shared()?.claim() } else { None }
    }

    /// A room for one operation of `size` processes, if those that communicators may need are left.
    fn claim_spare_room(&mut self, size: u32) -> Option<u32> {
        let fits = size > 1 && Hall::fits(size as usize);
        if fits { self.engine.shared()?.claim_spare() } else { None }
    }

    /// Gives back a room that nobody has been told of.
    pub(super) fn release_room(&mut self, room: u32) {
        if let Some(shared) = self.engine.shared() {
            shared.release(room);
        }
    }

    /// Enters the room that rank 0 of a group has claimed for it. All processes of the group call
    /// this, and all get a room or none does.
    fn enter_room(&mut self, room: Option<u32>, group: &Group) -> Option<Room> {
        if !Hall::fits(group.size() as usize) {
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
    pub fn leave_room(&mut self, room: Option<Room>) {
        if let (Some(room), Some(shared)) = (room, self.engine.shared()) {
            shared.leave(room);
        }
    }

    /// Leaves the room of a communicator that is no more.
    pub(super) fn leave_hall(&mut self, hall: Option<HallId>) {
        let room = hall.and_then(|hall| self.halls.close(hall));
        self.leave_room(room);
    }

    /// Which room a communicator has.
    pub fn room_number(&self, comm: Handle) -> Option<u32> {
        let hall = self.comms.get(comm).ok()?.hall?;
        self.halls.number(hall)
    }

    /// The room of a communicator, if it has one.
    pub fn room(&mut self, comm: Handle) -> Option<&mut Room> {
        let hall = self.comms.get(comm).ok()?.hall?;
        self.halls.room(hall)
    }

    /// A handle for a new communicator, with the room that was granted to it.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(super) fn insert_comm(&mut self, comm: Comm, room: Option<u32>) -> Result<Handle> {
        let group = Arc::clone(&comm.group);
        let comm = self.comms.insert(comm);
        self.settle(comm, room, &group)
    }

    /// The communicator of `comm`, over `group`, gets the room that was granted to it. If there is
    /// no communicator the room is left for those who have one.
    ///
    /// # Errors
    /// That of `comm`; `Comm` if there is no such communicator.
    pub(super) fn settle(
        &mut self, comm: Result<Handle>, room: Option<u32>, group: &Group,
    ) -> Result<Handle> {
        let room = self.enter_room(room, group);
        match comm.and_then(|comm| self.comms.get_mut(comm).map(|found| (comm, found))) {
            Ok((comm, found)) => {
                let looks = self.selection.machine().looks;
                let open = |room| self.halls.open(room, group.peers(), Owner::Comm, looks);
                found.hall = room.map(open);
                Ok(comm)
            }
            Err(error) => {
                self.leave_room(room);
                Err(error)
            }
        }
    }

    /// `MPI_COMM_WORLD` gets everybody's room, if all share memory.
    pub(super) fn furnish_world(&mut self, world: Handle) -> Result {
        let group = Arc::clone(&self.comms.get(world)?.group);
        let room = (group.size() > 1).then_some(0);
        self.settle(Ok(world), room, &group).map(drop)
    }

    /// Starts to get a room for one operation on `comm`, beside that of the communicator. It is a
    /// collective call; all get a room in the end or none does, which is so when less than half of
    /// all rooms are free. `None`: none will, as `comm` has none itself.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn ask_for_room(&mut self, comm: Handle) -> Result<Option<RoomRequest>> {
        let on = self.comms.get(comm)?;
        if on.hall.is_none() {
            return Ok(None);
        }
        let (group, context, rank) = (Arc::clone(&on.group), on.context, on.rank);
        let room = if rank == 0 { self.claim_spare_room(group.size()) } else { None };
        let message = Grant { context, room }.message();
        let bcast = Collective::Bcast(Bcast { bytes: Grant::BYTES, root: 0 });
        let run = self.launch_on(comm, bcast, vec![message])?;
        Ok(Some(RoomRequest { run, group }))
    }

    /// The room that was asked for, once it is known whether there is one. It is to be left with
    /// [`Mpi::leave_room`] when the operation is freed. A request must be asked until this gives
    /// something, and not after that.
    ///
    /// # Errors
    /// What went wrong with a message.
    pub fn end_room_request(&mut self, request: &RoomRequest) -> Result<Option<Option<Room>>> {
        let Some(end) = self.engine.take_end(request.run) else { return Ok(None) };
        if let Some(error) = end.error {
            return Err(error);
        }
        let room = Grant::received(&end.buffers[0]).room;
        Ok(Some(self.enter_room(room, &request.group)))
    }

    /// The call `function`, which waits for a room.
    pub fn blocked_room(&self, function: &str, request: &RoomRequest) -> Blocked {
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
            let grant = Grant { context, room };
            assert_eq!(Grant::parse(&grant.emit()), grant);
            assert_eq!(Grant::received(&grant.message()), grant);
        }
    }
}
