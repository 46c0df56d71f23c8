//! The shared segments of communicators: memory that their processes share.
//!
//! Rank 0 of a new communicator claims a segment and sends its number along with the context, or that
//! there is none; so all of its processes have a segment, or none has. In a split whoever may become
//! rank 0 claims one, and releases it if it does not. Communicators of one process, those whose
//! processes are on several nodes, and intercommunicators have none. `MPI_COMM_WORLD` has the segment that
//! needs no claim. The number of a segment means something in its pool only: that of the device, which is
//! of one node and one job, or that of a merge of several jobs (`host_segments`).
//!
//! ```text
//! claim ──number on its way──> enter ──> the communicator has it ──freed──> leave
//!   └── not rank 0 after all ──> release
//! ```
//!
//! A segment is free again when all have left it, so a process may free its communicator while others
//! still read what it published there.
//!
//! A persistent operation, which may be started in any order beside others, can have a segment of its
//! own ([`Mpi::request_segment`]).

use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{Bcast, Collective};
use crate::mpi::collective::shared::SharedCollective;
use crate::mpi::collective::shared::polling::{CollectiveOwner, SharedCollectiveId};
use crate::mpi::communicator::host_segments::HostSegments;
use crate::mpi::communicator::{Comm, Context};
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::shared_memory::segment::SharedSegment;
use platform::base::{Peer, Result};
use platform::diagnosis::wait_report::WaitReport;

/// A segment that this process has entered, and its pool: that of the device without one.
#[derive(Debug)]
pub struct EnteredSegment {
    pub(crate) segment: SharedSegment,
    pub(crate) pool: Option<Arc<HostSegments>>,
}

/// What rank 0 of a new communicator tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextMessage {
    /// The context.
    pub(crate) context: Context,
    /// The segment, if there is one.
    pub(crate) segment: Option<u32>,
}

impl From<SharedSegment> for EnteredSegment {
    /// A segment of the device.
    fn from(segment: SharedSegment) -> Self {
        Self { segment, pool: None }
    }
}

impl EnteredSegment {
    /// The number of the segment in its pool.
    pub fn number(&self) -> u32 {
        self.segment.number()
    }
}

impl ContextMessage {
    /// How many bytes it is on its way.
    pub(crate) const BYTES: usize = 12;

    /// Segment 0, of `MPI_COMM_WORLD`, is never claimed, so its number says that there is none.
    const NO_SEGMENT: u32 = 0;

    pub(crate) fn emit(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.context.bits().to_le_bytes());
        bytes[8..].copy_from_slice(&self.segment.unwrap_or(Self::NO_SEGMENT).to_le_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let [low, high, segment] = [0, 4, 8].map(|at| {
            let word: &[u8; 4] = bytes[at..].first_chunk().expect("12 bytes are three words");
            u32::from_le_bytes(*word)
        });
        let context = Context::from_bits(u64::from(high) << 32 | u64::from(low));
        Self { context, segment: Some(segment).filter(|segment| *segment != Self::NO_SEGMENT) }
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

/// A segment for one operation, on its way.
#[derive(Debug)]
pub struct SegmentRequest {
    run: RunId,
    group: Arc<Group>,
    pool: Option<Arc<HostSegments>>,
}

impl<D: Device> Mpi<D> {
    /// Claims a segment for a communicator of `size` processes, in the pool of `parent`. This process is its
    /// rank 0, or may become that.
    pub(crate) fn claim_segment(&mut self, parent: Option<Handle>, size: u32) -> Option<u32> {
        if size < 2 || !SharedCollective::fits(size as usize) {
            return None;
        }
        match parent.and_then(|parent| self.pool_of(parent)) {
            Some(pool) => pool.claim(),
            None => self.engine.shared()?.claim(),
        }
    }

    /// Releases a claimed segment whose number was not sent.
    pub(crate) fn release_segment(&mut self, pool: Option<&HostSegments>, segment: u32) {
        match (pool, self.engine.shared()) {
            (Some(pool), _) => pool.release(segment),
            (None, Some(shared)) => shared.release(segment),
            (None, None) => (),
        }
    }

    /// The pool of the segments of a communicator, if it is not that of the device.
    fn pool_of(&self, comm: Handle) -> Option<Arc<HostSegments>> {
        self.comms.get(comm).ok()?.host_segments.clone()
    }

    /// Enters the segment that rank 0 of a group has claimed for it. All processes of the group call
    /// this, and all get a segment or none does.
    fn enter_segment(
        &mut self, number: Option<u32>, group: &Group, pool: Option<Arc<HostSegments>>,
    ) -> Option<EnteredSegment> {
        if !SharedCollective::fits(group.size() as usize) {
            return None;
        }
        let (number, rank) = (number?, group.rank()?);
        let entered = match &pool {
            Some(pool) => pool.enter(number, rank, group.size()),
            None => {
                let peers: Vec<Peer> = group.peers().collect();
                self.engine.shared()?.enter(number, &peers)
            }
        };
        if entered.is_none() && rank == 0 {
            self.release_segment(pool.as_deref(), number);
        }
        entered.map(|segment| EnteredSegment { segment, pool })
    }

    /// Leaves a segment, if there is one. Whoever has it must not be told of any longer that it is.
    pub fn leave_segment(&mut self, entered: Option<EnteredSegment>) {
        let Some(EnteredSegment { segment, pool }) = entered else { return };
        match (pool, self.engine.shared()) {
            (Some(pool), _) => pool.leave(segment),
            (None, Some(shared)) => shared.leave(segment),
            (None, None) => (),
        }
    }

    /// Leaves the segment of a communicator that is no more.
    pub(crate) fn close_shared(&mut self, collective: Option<SharedCollectiveId>) {
        let segment = collective.and_then(|id| self.shared_collectives.close(id));
        self.leave_segment(segment);
    }

    /// Which segment a communicator has.
    pub fn segment_number(&self, comm: Handle) -> Option<u32> {
        let id = self.comms.get(comm).ok()?.shared_collective?;
        self.shared_collectives.segment_number(id)
    }

    /// The segment of a communicator, if it has one.
    pub fn segment(&mut self, comm: Handle) -> Option<&mut SharedSegment> {
        let id = self.comms.get(comm).ok()?.shared_collective?;
        self.shared_collectives.segment(id)
    }

    /// A handle for a new communicator, with the segment that was claimed for it.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert_comm(&mut self, comm: Comm, segment: Option<u32>) -> Result<Handle> {
        let (group, pool) = (Arc::clone(&comm.group), comm.host_segments.clone());
        let entered = self.enter_segment(segment, &group, pool);
        match self.comms.insert(comm) {
            Ok(comm) => {
                self.attach_entered(comm, entered)?;
                Ok(comm)
            }
            Err(error) => {
                self.leave_segment(entered);
                Err(error)
            }
        }
    }

    /// A communicator gets the segment that was claimed for it.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn attach_segment(&mut self, comm: Handle, segment: Option<u32>) -> Result {
        let on = self.comms.get(comm)?;
        let (group, pool) = (Arc::clone(&on.group), on.host_segments.clone());
        let entered = self.enter_segment(segment, &group, pool);
        self.attach_entered(comm, entered)
    }

    /// # Errors
    /// `Comm` if there is no such communicator.
    fn attach_entered(&mut self, comm: Handle, entered: Option<EnteredSegment>) -> Result {
        let found = self.comms.get_mut(comm)?;
        let peers = found.group.peers();
        let machine = self.selection.machine_of_segments(found.spans_jobs);
        let owner = CollectiveOwner::Comm;
        let open = |entered| self.shared_collectives.open(entered, peers, owner, &machine);
        found.shared_collective = entered.map(open);
        Ok(())
    }

    /// `MPI_COMM_WORLD` gets the segment that needs no claim, if all share memory.
    pub(crate) fn attach_world_segment(&mut self, world: Handle) -> Result {
        let on = self.comms.get(world)?;
        let segment = (on.size() > 1 && on.nodes.is_none()).then_some(0);
        self.attach_segment(world, segment)
    }

    /// Starts to get a segment for one operation on `comm`, beside that of the communicator. It is a
    /// collective call; all get a segment in the end or none does, which is so when less than half of
    /// all segments are free. `None`: none will, as `comm` has none itself.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn request_segment(&mut self, comm: Handle) -> Result<Option<SegmentRequest>> {
        let on = self.comms.get(comm)?;
        if on.shared_collective.is_none() {
            return Ok(None);
        }
        let (group, context, rank) = (Arc::clone(&on.group), on.context, on.rank);
        let pool = on.host_segments.clone();
        let claimed = match (&pool, rank) {
            (Some(pool), 0) => pool.claim_spare(),
            (None, 0) => self.engine.shared().and_then(|shared| shared.claim_spare()),
            _ => None,
        };
        let message = ContextMessage { context, segment: claimed }.to_memory();
        let bcast = Collective::Bcast(Bcast { bytes: ContextMessage::BYTES, root: 0 });
        let run = self.launch_on(comm, bcast, vec![message])?;
        Ok(Some(SegmentRequest { run, group, pool }))
    }

    /// The segment that was asked for, once it is known whether there is one. It is to be left with
    /// [`Mpi::leave_segment`] when the operation is freed. A request must be asked until this gives
    /// something, and not after that.
    ///
    /// # Errors
    /// What went wrong with a message.
    pub fn end_segment_request(
        &mut self, request: &SegmentRequest,
    ) -> Result<Option<Option<EnteredSegment>>> {
        let Some(end) = self.engine.take_run_end(request.run) else { return Ok(None) };
        if let Some(error) = end.error {
            return Err(error);
        }
        let number = ContextMessage::from_memory(&end.buffers[0]).segment;
        Ok(Some(self.enter_segment(number, &request.group, request.pool.clone())))
    }

    /// The call `function`, which waits for a segment.
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
    fn a_context_message_reads_back() {
        let context = Context::new(u32::MAX >> 2, u32::MAX);
        for segment in [None, Some(1), Some(u32::MAX)] {
            let message = ContextMessage { context, segment };
            assert_eq!(ContextMessage::parse(&message.emit()), message);
            assert_eq!(ContextMessage::from_memory(&message.to_memory()), message);
        }
    }
}
