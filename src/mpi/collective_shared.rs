//! Collective operations of ranks that share memory: which calls take place in a hall, and how they
//! go on (`coll::shared` has the operations themselves).
//!
//! ```text
//! begin ──> over at once                                  what is short, mostly
//!   └─────> under way ──poll──> ... ──poll──> over
//! ```
//!
//! A communicator has a hall for its blocking calls, of which there is one at a time; a persistent
//! operation has one of its own (`collective_persistent`). What is under way goes on in each poll,
//! whoever polls.

use super::Mpi;
use super::coll::registry::Operation;
use super::coll::shared::{Hall, Task};
use super::combining::Combining;
use super::op::Combination;
use super::prepared::{Call, Form};
use super::request::Activity;
use super::status::Status;
use crate::base::{MpiError, Peer, Result, Slab};
use crate::core::memory::Memory;
use crate::device::Device;
use crate::device::room::Room;

/// The key of a hall.
pub type HallId = u32;

/// The halls that this process is in.
#[derive(Debug, Default)]
pub struct Halls {
    all: Slab<Place>,
    /// Those in which a call is under way.
    under_way: Vec<HallId>,
}

#[derive(Debug)]
struct Place {
    hall: Hall,
    owner: Owner,
}

/// Whose calls take place in a hall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A communicator's.
    Comm,
    /// Those of a persistent operation, number `sequence` in `context`.
    Operation { context: u64, sequence: u32 },
    /// Only the one that is under way: its request has been freed.
    Nobody,
}

impl Halls {
    /// The hall in this room, where these sit; `looks` as for [`Hall::new`].
    pub(super) fn open(
        &mut self, room: Room, seats: impl Iterator<Item = Peer>, owner: Owner, looks: u32,
    ) -> HallId {
        let hall = Hall::new(room, seats.collect::<Vec<_>>(), looks);
        let id = self.all.insert(Place { hall, owner });
        // So that no call needs memory.
        self.under_way.reserve(self.all.len().saturating_sub(self.under_way.len()));
        id
    }

    /// Makes a call ready in a hall where none is under way.
    pub(super) fn prepare(&mut self, hall: HallId, task: Task) {
        self.all[hall].hall.prepare(task);
    }

    /// The room of a hall that is given up.
    pub(super) fn close(&mut self, hall: HallId) -> Option<Room> {
        self.under_way.retain(|other| *other != hall);
        self.all.remove(hall).map(|place| place.hall.into_room())
    }

    /// The number of the room of a hall.
    pub(super) fn number(&self, hall: HallId) -> Option<u32> {
        self.all.get(hall).map(|place| place.hall.number())
    }

    /// The room of a hall.
    pub(super) fn room(&mut self, hall: HallId) -> Option<&mut Room> {
        self.all.get_mut(hall).map(|place| place.hall.room())
    }

    #[inline]
    pub(super) fn is_over(&self, hall: HallId) -> bool {
        self.all[hall].hall.is_over()
    }

    pub(super) fn take_error(&mut self, hall: HallId) -> Option<Box<MpiError>> {
        self.all[hall].hall.take_error()
    }

    /// Whom the call in a hall waits for.
    pub(super) fn waits_for(&self, hall: HallId) -> Vec<Peer> {
        self.all[hall].hall.waits_for()
    }

    /// Whose calls take place in a hall.
    pub(super) fn owner(&self, hall: HallId) -> Owner {
        self.all[hall].owner
    }

    /// A number that grows whenever a call that is under way comes further, and may shrink when one
    /// is over, which is an event of the engine.
    fn position(&self) -> u64 {
        self.under_way.iter().map(|hall| self.all[*hall].hall.position()).sum()
    }

    /// The data of the call in a hall, in bytes, as all ranks must give them alike.
    pub(super) fn bytes(&self, hall: HallId) -> usize {
        self.all[hall].hall.bytes()
    }

    /// Whether a call is under way that nobody waits for any more.
    pub(super) fn has_late_calls(&self) -> bool {
        self.under_way.iter().any(|hall| self.owner(*hall) == Owner::Nobody)
    }
}

impl<D: Device> Mpi<D> {
    /// Moves what can be moved; how much came, 0 if nothing did.
    #[inline]
    pub fn poll(&mut self) -> usize {
        let arrived = self.engine.poll();
        if self.halls.under_way.is_empty() { arrived } else { arrived + self.advance_halls() }
    }

    /// A number that changes whenever something has happened here that an operation under way
    /// depends on, but for packets, which the device counts.
    pub fn position(&self) -> u64 {
        let device = self.engine.rest_of_offloads().unwrap_or(0);
        self.engine.events().wrapping_add(self.halls.position()).wrapping_add(device)
    }

    /// Goes on with what is under way in halls; how many calls came further.
    fn advance_halls(&mut self) -> usize {
        let mut moved = 0;
        let mut left = Vec::new();
        let Halls { all, under_way } = &mut self.halls;
        under_way.retain(|id| {
            let Place { hall, owner } = &mut all[*id];
            let before = hall.progress();
            let over = hall.advance(&mut self.engine);
            moved += usize::from(over || hall.progress() != before);
            if over {
                self.engine.note_event();
                left.extend((*owner == Owner::Nobody).then_some(*id));
            }
            !over
        });
        left.into_iter().for_each(|hall| self.leave_hall(Some(hall)));
        moved
    }

    /// The hall in which a call takes place, unless messages carry it.
    #[inline]
    pub(super) fn hall(&self, call: Call, operation: Operation) -> Result<Option<HallId>> {
        let on = self.comms.get(call.comm)?;
        let hall = on.hall;
        let has_room = match call.form {
            Form::Blocking => true,
            Form::Persistent => !self.is_offloaded(on),
            Form::Nonblocking | Form::PersistentByMessages => false,
        };
        let wanted = has_room && self.selection.is_shared(operation);
        // In checked mode an operation follows an exchange of messages, as messages itself.
        Ok(hall.filter(|_| wanted && !self.checking.is_on()))
    }

    /// The hall in which a call takes place that only moves `bytes` bytes to each rank, which is the
    /// same on all ranks.
    #[inline]
    pub(super) fn hall_to_move(
        &self, call: Call, operation: Operation, bytes: usize,
    ) -> Result<Option<HallId>> {
        let hall = self.hall(call, operation)?;
        Ok(hall.filter(|_| !self.selection.is_long(operation, bytes)))
    }

    /// Begins an operation in a hall, and goes on with it as far as possible.
    #[inline]
    pub(super) fn begin_shared(&mut self, id: HallId, task: Task) -> Activity {
        let is_over = self.halls.all[id].hall.begin(task, &mut self.engine);
        self.begun(id, is_over)
    }

    /// Begins the operation once more that a hall is prepared for.
    #[inline]
    pub(super) fn restart_shared(&mut self, id: HallId) -> Activity {
        let is_over = self.halls.all[id].hall.restart(&mut self.engine);
        self.begun(id, is_over)
    }

    #[inline]
    fn begun(&mut self, id: HallId, is_over: bool) -> Activity {
        if !is_over {
            self.engine.note_long_start();
            self.halls.under_way.push(id);
        } else if !self.halls.all[id].hall.has_failed() {
            return Activity::Over(Status::EMPTY);
        }
        Activity::Shared(id)
    }

    /// Leaves the hall of an operation that was freed: now, or after the call under way.
    pub(super) fn release_hall(&mut self, id: HallId) {
        if self.halls.is_over(id) {
            self.leave_hall(Some(id));
        } else {
            self.halls.all[id].owner = Owner::Nobody;
        }
    }

    /// The hall of a call that reduces these operands, with what combines elements of which length.
    ///
    /// Functions of the application are called where nothing is locked, and scattered operands
    /// packed first: that is for schedules. All ranks have the same operation, and memory of the
    /// same form if the operation is predefined.
    #[inline]
    pub(super) fn hall_to_reduce(
        &self, (call, operation): (Call, Operation), combining: &Combining,
        operands: [Option<&Memory>; 2],
    ) -> Result<Option<(HallId, Combination, usize)>> {
        let Some(hall) = self.hall(call, operation)? else { return Ok(None) };
        let adjacent = operands.iter().flatten().all(|memory| memory.span().is_some());
        let by = combining.by_library().filter(|_| adjacent);
        Ok(by.map(|(by, unit)| (hall, by, unit)))
    }
}
