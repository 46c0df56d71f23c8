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

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::mpi::Mpi;
use crate::mpi::collective::reduction_operator::ReductionOperator;
use crate::mpi::collective::selection::registry::CollectiveOperation;
use crate::mpi::collective::shared::{SharedArguments, SharedCollective};
use crate::mpi::collective::{Call, CallForm};
use crate::mpi::op::Combination;
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use crate::shared_memory::segment::SharedSegment;
use platform::base::{MpiError, Peer, Result, Slab};

/// The key of a hall.
pub(crate) type SharedCollectiveId = u32;

/// The halls that this process is in.
#[derive(Debug, Default)]
pub(crate) struct SharedCollectives {
    all: Slab<OwnedCollective>,
    /// Those in which a call is under way.
    running: Vec<SharedCollectiveId>,
}

#[derive(Debug)]
struct OwnedCollective {
    collective: SharedCollective,
    owner: CollectiveOwner,
}

/// Whose calls take place in a hall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi) enum CollectiveOwner {
    /// A communicator's.
    Comm,
    /// Those of a persistent operation, number `sequence` in `context`.
    Operation { context: u64, sequence: u32 },
    /// Only the one that is under way: its request has been freed.
    Freed,
}

impl SharedCollectives {
    /// The hall in this room, where these sit; `looks` as for [`SharedCollective::new`].
    pub(in crate::mpi) fn open(
        &mut self, room: SharedSegment, seats: impl Iterator<Item = Peer>, owner: CollectiveOwner,
        looks: u32,
    ) -> SharedCollectiveId {
        let hall = SharedCollective::new(room, seats.collect::<Vec<_>>(), looks);
        let id = self.all.insert(OwnedCollective { collective: hall, owner });
        // So that no call needs memory.
        self.running.reserve(self.all.len().saturating_sub(self.running.len()));
        id
    }

    /// Makes a call ready in a hall where none is under way.
    pub(in crate::mpi) fn prepare(&mut self, hall: SharedCollectiveId, task: SharedArguments) {
        self.all[hall].collective.prepare(task);
    }

    /// The room of a hall that is given up.
    pub(in crate::mpi) fn close(&mut self, hall: SharedCollectiveId) -> Option<SharedSegment> {
        self.running.retain(|other| *other != hall);
        self.all.remove(hall).map(|place| place.collective.into_segment())
    }

    /// The number of the room of a hall.
    pub(in crate::mpi) fn segment_number(&self, hall: SharedCollectiveId) -> Option<u32> {
        self.all.get(hall).map(|place| place.collective.segment_number())
    }

    /// The room of a hall.
    pub(in crate::mpi) fn segment(
        &mut self, hall: SharedCollectiveId,
    ) -> Option<&mut SharedSegment> {
        self.all.get_mut(hall).map(|place| place.collective.segment())
    }

    #[inline]
    pub(in crate::mpi) fn is_complete(&self, hall: SharedCollectiveId) -> bool {
        self.all[hall].collective.is_complete()
    }

    pub(in crate::mpi) fn take_error(&mut self, hall: SharedCollectiveId) -> Option<Box<MpiError>> {
        self.all[hall].collective.take_error()
    }

    /// Whom the call in a hall waits for.
    pub(in crate::mpi) fn waits_for(&self, hall: SharedCollectiveId) -> Vec<Peer> {
        self.all[hall].collective.waits_for()
    }

    /// Whose calls take place in a hall.
    pub(in crate::mpi) fn owner(&self, hall: SharedCollectiveId) -> CollectiveOwner {
        self.all[hall].owner
    }

    /// A number that grows whenever a call that is under way comes further, and may shrink when one
    /// is over, which is an event of the engine.
    fn position(&self) -> u64 {
        self.running.iter().map(|hall| self.all[*hall].collective.position()).sum()
    }

    /// The data of the call in a hall, in bytes, as all ranks must give them alike.
    pub(in crate::mpi) fn bytes(&self, hall: SharedCollectiveId) -> usize {
        self.all[hall].collective.bytes()
    }

    /// Whether a call is under way that nobody waits for any more.
    pub(in crate::mpi) fn has_freed_calls(&self) -> bool {
        self.running.iter().any(|hall| self.owner(*hall) == CollectiveOwner::Freed)
    }
}

impl<D: Device> Mpi<D> {
    /// Moves what can be moved; how much came, 0 if nothing did.
    #[inline]
    pub fn poll(&mut self) -> usize {
        let arrived = self.engine.poll();
        if self.shared_collectives.running.is_empty() {
            arrived
        } else {
            arrived + self.advance_shared()
        }
    }

    /// A number that changes with every event on which an operation in progress depends, except the
    /// events that the device counts ([`Device::quiescence`]).
    pub fn position(&self) -> u64 {
        self.engine.events().wrapping_add(self.shared_collectives.position())
    }

    /// Goes on with what is under way in halls; how many calls came further.
    fn advance_shared(&mut self) -> usize {
        let mut moved = 0;
        let mut left = Vec::new();
        let SharedCollectives { all, running: under_way } = &mut self.shared_collectives;
        under_way.retain(|id| {
            let OwnedCollective { collective: hall, owner } = &mut all[*id];
            let before = hall.progress();
            let over = hall.advance(&mut self.engine);
            moved += usize::from(over || hall.progress() != before);
            if over {
                self.engine.note_event();
                left.extend((*owner == CollectiveOwner::Freed).then_some(*id));
            }
            !over
        });
        left.into_iter().for_each(|hall| self.close_shared(Some(hall)));
        moved
    }

    /// The hall in which a call takes place, unless messages carry it.
    #[inline]
    pub(in crate::mpi) fn shared_collective(
        &self, call: Call, operation: CollectiveOperation,
    ) -> Result<Option<SharedCollectiveId>> {
        let on = self.comms.get(call.comm)?;
        let hall = on.shared_collective;
        let has_room = match call.form {
            CallForm::Blocking => true,
            CallForm::Persistent => !self.is_offloaded(on),
            CallForm::Nonblocking | CallForm::PersistentByMessages => false,
        };
        let wanted = has_room && self.selection.is_shared(operation);
        // In checked mode an operation follows an exchange of messages, as messages itself.
        Ok(hall.filter(|_| wanted && !self.checked_mode.is_on()))
    }

    /// The hall in which a call takes place that only moves `bytes` bytes to each rank, which is the
    /// same on all ranks.
    #[inline]
    pub(in crate::mpi) fn shared_for_transfer(
        &self, call: Call, operation: CollectiveOperation, bytes: usize,
    ) -> Result<Option<SharedCollectiveId>> {
        let hall = self.shared_collective(call, operation)?;
        Ok(hall.filter(|_| !self.selection.prefers_messages(operation, bytes)))
    }

    /// Begins an operation in a hall, and goes on with it as far as possible.
    #[inline]
    pub(in crate::mpi) fn begin_shared(
        &mut self, id: SharedCollectiveId, task: SharedArguments,
    ) -> Activity {
        let is_over = self.shared_collectives.all[id].collective.begin(task, &mut self.engine);
        self.activity_of(id, is_over)
    }

    /// Begins the operation once more that a hall is prepared for.
    #[inline]
    pub(in crate::mpi) fn restart_shared(&mut self, id: SharedCollectiveId) -> Activity {
        let is_over = self.shared_collectives.all[id].collective.restart(&mut self.engine);
        self.activity_of(id, is_over)
    }

    #[inline]
    fn activity_of(&mut self, id: SharedCollectiveId, is_over: bool) -> Activity {
        if !is_over {
            self.engine.note_long_start();
            self.shared_collectives.running.push(id);
        } else if !self.shared_collectives.all[id].collective.has_failed() {
            return Activity::Complete(Status::EMPTY);
        }
        Activity::Shared(id)
    }

    /// Leaves the hall of an operation that was freed: now, or after the call under way.
    pub(in crate::mpi) fn release_shared(&mut self, id: SharedCollectiveId) {
        if self.shared_collectives.is_complete(id) {
            self.close_shared(Some(id));
        } else {
            self.shared_collectives.all[id].owner = CollectiveOwner::Freed;
        }
    }

    /// The hall of a call that reduces these operands, with what combines elements of which length.
    ///
    /// Functions of the application are called where nothing is locked, and scattered operands
    /// packed first: that is for schedules. All ranks have the same operation, and memory of the
    /// same form if the operation is predefined.
    #[inline]
    pub(in crate::mpi) fn shared_for_reduction(
        &self, (call, operation): (Call, CollectiveOperation), combining: &ReductionOperator,
        operands: [Option<&Memory>; 2],
    ) -> Result<Option<(SharedCollectiveId, Combination, usize)>> {
        let Some(hall) = self.shared_collective(call, operation)? else { return Ok(None) };
        let adjacent = operands.iter().flatten().all(|memory| memory.span().is_some());
        let by = combining.library_kernel().filter(|_| adjacent);
        Ok(by.map(|(by, unit)| (hall, by, unit)))
    }
}
