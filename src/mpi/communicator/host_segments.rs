//! Shared segments for communicators of several jobs on one host: the segments of a device belong to one job.
//!
//! Rank 0 of a merged communicator makes memory for a pool; the others find it as the device allows
//! ([`NearMemory`]). All have the pool, or none has it: then the
//! collectives of the communicator are messages. Communicators that are made from the merged one have their
//! segments in the same pool.
//!
//! ```text
//!   all ranks   host, place of the memory, place of the doorbell ──► all
//!   all ranks   open the memory and the doorbells; whether that succeeded ──► all
//! ```
//!
//! It knows no collective. What wakes a rank is the device in its own job, and its doorbell in another one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::device::Device;
use crate::device::near_memory::{NearDoorbell, NearMemory, NearPlace, NearSegment};
use crate::engine::schedules::plan::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::exchange::exchanged;
use crate::mpi::collective::shared::SharedCollective;
use crate::mpi::communicator::memory_domain::MemoryDomain;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::shared_memory::segment::{SegmentPool, SharedSegment};
use platform::base::{Peer, Result};
use platform::diagnosis::wait_report::WaitReport;

/// The segments of the communicators of one merge.
pub(crate) struct HostSegments {
    pool: SegmentPool,
    /// What wakes the processes of other jobs.
    doorbells: BTreeMap<Peer, Arc<dyn NearDoorbell>>,
}

/// A pool on its way.
pub(crate) struct HostSegmentsCreation {
    comm: Handle,
    run: RunId,
    phase: SharingPhase,
}

enum SharingPhase {
    /// What rank 0 has made.
    Places(Option<Box<dyn NearSegment>>),
    /// What this rank has opened.
    Opened(Option<HostSegments>),
}

/// What a rank tells first: its memory domain with the settings of collectives, the place of the memory that it has made (two words), and that
/// of its doorbell. A place is never zero.
type PlacesRecord = [u64; 5];

impl std::fmt::Debug for HostSegments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostSegments").field("doorbells", &self.doorbells).finish_non_exhaustive()
    }
}

impl HostSegments {
    /// A free segment.
    pub(crate) fn claim(&self) -> Option<u32> {
        self.pool.claim()
    }

    /// A free segment, if half of them are free.
    pub(crate) fn claim_spare(&self) -> Option<u32> {
        self.pool.claim_spare()
    }

    /// Releases a claimed segment that no rank has entered.
    pub(crate) fn release(&self, number: u32) {
        self.pool.release(number);
    }

    /// Enters a segment of `ranks` as the one at `index`; `None` if there is no such segment.
    pub(crate) fn enter(&self, number: u32, index: u32, ranks: u32) -> Option<SharedSegment> {
        self.pool.enter(number, index as usize, ranks as usize)
    }

    /// Leaves a segment.
    pub(crate) fn leave(&self, segment: SharedSegment) {
        self.pool.leave(segment);
    }

    /// What wakes a process of another job.
    pub(crate) fn doorbell(&self, peer: Peer) -> Option<Arc<dyn NearDoorbell>> {
        self.doorbells.get(&peer).cloned()
    }
}

impl<D: Device> Mpi<D> {
    /// Starts to give segments to a merged communicator; `None` if it needs none or cannot have any.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn start_host_segments(
        &mut self, comm: Handle,
    ) -> Result<Option<HostSegmentsCreation>> {
        let on = self.comms.get(comm)?;
        let (rank, size) = (on.rank, on.size());
        if !on.spans_jobs || size < 2 || !SharedCollective::fits(size as usize) {
            return Ok(None);
        }
        // Jobs with unlike settings would use the segments for unlike calls.
        let MemoryDomain(domain) = self.memory_domain(on);
        let domain = domain ^ self.selection.digest();
        let (mut made, mut record) = (None, [domain, 0, 0, 0, 0]);
        if let Some(near) = self.engine.near_memory()
            && let Ok(NearPlace([doorbell, wake_inode])) = near.own_doorbell()
        {
            [.., record[3], record[4]] = [doorbell, wake_inode];
            let bytes = SegmentPool::bytes(size as usize).filter(|_| rank == 0);
            made = bytes.and_then(|bytes| near.allocate(bytes).ok());
            if let Some(NearPlace(place)) = made.as_ref().map(|made| made.place()) {
                [record[1], record[2]] = place;
            }
        }
        let run = self.start_exchange(comm, record)?;
        Ok(Some(HostSegmentsCreation { comm, run, phase: SharingPhase::Places(made) }))
    }

    /// Goes on with it; `Some` once the communicator has its segment, or will have none.
    ///
    /// # Errors
    /// Errors of messages.
    pub(crate) fn end_host_segments(
        &mut self, creation: &mut HostSegmentsCreation,
    ) -> Result<Option<()>> {
        loop {
            let Some(buffers) = self.run_buffers(creation.run)? else { return Ok(None) };
            match &mut creation.phase {
                SharingPhase::Places(made) => {
                    let records: Vec<PlacesRecord> = exchanged(&buffers);
                    if !are_on_one_host(&records) {
                        return Ok(Some(()));
                    }
                    let opened = self.open_host_segments(creation.comm, made.take(), &records)?;
                    creation.run =
                        self.start_exchange(creation.comm, [u64::from(opened.is_some())])?;
                    creation.phase = SharingPhase::Opened(opened);
                }
                SharingPhase::Opened(opened) => {
                    let all: Vec<[u64; 1]> = exchanged(&buffers);
                    let is_everywhere = all.iter().all(|[opened]| *opened == 1);
                    if let Some(opened) = opened.take().filter(|_| is_everywhere) {
                        self.use_host_segments(creation.comm, opened)?;
                    }
                    return Ok(Some(()));
                }
            }
        }
    }

    /// Opens the memory that rank 0 has made, or this process, and the doorbells of other jobs.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    fn open_host_segments(
        &mut self, comm: Handle, made: Option<Box<dyn NearSegment>>, records: &[PlacesRecord],
    ) -> Result<Option<HostSegments>> {
        let on = self.comms.get(comm)?;
        let own_node = self.comms.node_of(self.engine.me());
        let is_apart = |(peer, _): &(Peer, NearPlace)| self.comms.node_of(*peer) != own_node;
        let places = records.iter().map(|[.., place, inode]| NearPlace([*place, *inode]));
        let apart: Vec<_> = on.group.peers().zip(places).filter(is_apart).collect();
        let [_, place, inode, ..] = records[0];
        let memory_at = NearPlace([place, inode]);
        let near = self.engine.near_memory();
        Ok(near.and_then(|near| open(near, made, memory_at, records.len(), &apart)))
    }

    /// The communicator has its segment from now on: the first one of the pool.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    fn use_host_segments(&mut self, comm: Handle, opened: HostSegments) -> Result {
        let on = self.comms.get_mut(comm)?;
        on.host_segments = Some(Arc::new(opened));
        let group = Arc::clone(&on.group);
        // No message may tell of the end of a process.
        self.connect_to_other_jobs(group.peers());
        self.attach_segment(comm, Some(0))
    }

    /// The call `function`, which waits for the segments.
    pub(crate) fn host_segments_wait_report(
        &self, function: &str, creation: &HostSegmentsCreation,
    ) -> WaitReport {
        self.blocked(function, [&Activity::Run(creation.run)])
    }
}

/// Whether all processes share memory, all can be woken, and rank 0 has made the memory.
fn are_on_one_host(records: &[PlacesRecord]) -> bool {
    let [domain, place, ..] = records[0];
    place != 0 && records.iter().all(|record| record[0] == domain && record[3] != 0)
}

/// `None` if the system refuses.
fn open(
    near: &mut dyn NearMemory, made: Option<Box<dyn NearSegment>>, at: NearPlace, ranks: usize,
    apart: &[(Peer, NearPlace)],
) -> Option<HostSegments> {
    let bytes = SegmentPool::bytes(ranks)?;
    let segment = made.map_or_else(|| near.open(at, bytes), Ok).ok()?;
    let memory = segment.memory();
    let pool = SegmentPool::over(memory, ranks, Arc::new(Mutex::new(segment)))?;
    let open = |(peer, place): &(Peer, NearPlace)| Some((*peer, near.doorbell(*place).ok()?));
    let doorbells = apart.iter().map(open).collect::<Option<_>>()?;
    Some(HostSegments { pool, doorbells })
}
