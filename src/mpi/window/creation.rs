//! Creation of windows: what each rank tells the others (MPI 5.0 §12.2).

use std::sync::Arc;

use super::channel::WindowChannel;
use super::failures::is_of_failure;
use super::mapped::{MappedMemory, SegmentLayout, SegmentPlacement};
use super::regions::Regions;
use super::{Window, WindowMemory};
use crate::device::Device;
use crate::device::near_memory::{NearPlace, NearSegment};
use crate::device::rma::{MemoryKey, RemoteAccess, RmaCaps, UpdateExecutor};
use crate::engine::schedules::plan::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::exchange::exchanged;
use crate::mpi::communicator::memory_domain::MemoryDomain;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::shared_memory::primitive::has_heavy_fence;
use crate::shared_memory::window_control::WakeFence;
use platform::base::{ErrorClass, MpiError, Result};
use platform::diagnosis::wait_report::WaitReport;

/// The memory of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TargetMemory {
    /// In bytes.
    pub(crate) size: u64,
    /// The displacement unit, in bytes.
    pub(crate) unit: i64,
    /// The key under which others read and write it from outside; 0 for none.
    pub(super) key: u64,
}

/// The memories of all ranks.
#[derive(Clone, Debug)]
pub(super) struct WindowShape(Arc<[TargetMemory]>);

/// The creation of a window, after its private communicator.
///
/// ```text
///   Shapes ──(nothing is shared)──> done
///     └──> Keys ──all nodes have a segment──> Opened ──all have mapped it──> done
///                                     └────────── one has none ─────────────────────> done, not mapped
///
///   memory of the library, which devices access ──> Memories ──> done
/// ```
#[derive(Debug)]
pub struct WindowCreation {
    window: Option<Box<Window>>,
    run: RunId,
    phase: CreationPhase,
    /// What is to be shared.
    placement: Option<SegmentPlacement>,
    segment: Option<SegmentPlan>,
}

/// The segment of this node, until it is mapped.
#[derive(Debug)]
struct SegmentPlan {
    layout: SegmentLayout,
    way: SegmentWay,
}

/// How its ranks get it.
#[derive(Debug)]
enum SegmentWay {
    /// By the device.
    Device,
    /// As memory of their host: they are of several jobs. The leader has made it.
    Host(Option<Box<dyn NearSegment>>),
}

/// What the ranks tell each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CreationPhase {
    /// Size, unit, key and memory domain.
    Shapes,
    /// The key of the segment of each node, from its leader. Between jobs its place, and the doorbell of each
    /// rank.
    Keys,
    /// Whether each rank has mapped it.
    Opened,
    /// The keys of memories that ranks have got after the other phases.
    Memories,
}

/// What a rank tells in one phase. In all but the first, the second word is 1 if it has failed.
type Record = [u64; 5];

/// The rank has no segment.
const FAILED: Record = [0, 1, 0, 0, 0];

impl From<&WindowMemory> for TargetMemory {
    fn from(memory: &WindowMemory) -> Self {
        Self { size: memory.size as u64, unit: memory.unit as i64, key: 0 }
    }
}

impl From<Record> for TargetMemory {
    fn from([size, unit, key, ..]: Record) -> Self {
        Self { size, unit: unit as i64, key }
    }
}

impl WindowShape {
    /// Of no ranks.
    pub(super) fn empty() -> Self {
        Self(Arc::default())
    }

    #[inline]
    pub(super) fn of(&self, rank: u32) -> TargetMemory {
        self.0[rank as usize]
    }
}

impl<D: Device> Mpi<D> {
    /// Starts to create `window` with the private communicator `comm`. Its memory is that of the
    /// application, or shared in this way if all ranks can.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn start_window_creation(
        &mut self, mut window: Box<Window>, comm: Handle, placement: Option<SegmentPlacement>,
    ) -> Result<WindowCreation> {
        let found = self.comms.get(comm)?;
        let MemoryDomain(domain) = self.memory_domain(found);
        window.connect(comm, WindowChannel::new(found));
        let own = TargetMemory::from(&*window.memory);
        if placement == Some(SegmentPlacement::Words) {
            self.register(&mut window);
        }
        let key = window.registered.map_or(0, |key| key.0);
        let is_accessed = self.accesses_by_device(&window).into();
        let run =
            self.start_exchange(comm, [own.size, own.unit as u64, key, domain, is_accessed])?;
        let phase = CreationPhase::Shapes;
        Ok(WindowCreation { window: Some(window), run, phase, placement, segment: None })
    }

    /// The window once all ranks have it; the caller inserts it.
    ///
    /// # Errors
    /// Errors of messages.
    pub fn end_window_creation(
        &mut self, creation: &mut WindowCreation,
    ) -> Result<Option<Box<Window>>> {
        loop {
            let Some(end) = self.engine.take_run_end(creation.run) else { return Ok(None) };
            let Some(mut window) = creation.window.take() else { return Ok(None) };
            if let Some(error) = end.error {
                self.close_segment(&mut window);
                if is_of_failure(&error) {
                    // Others may have the window, and must not wait for this process.
                    self.revoke(window.comm)?;
                }
                self.free_comm(window.comm)?;
                return Err(not_created(error));
            }
            let records: Vec<Record> = exchanged(&end.buffers);
            match self.next_record(creation, &mut window, &records) {
                None => return Ok(Some(window)),
                Some(record) => creation.run = self.start_exchange(window.comm, record)?,
            }
            creation.window = Some(window);
        }
    }

    /// Uses what all ranks have told; what this one tells in the next phase.
    fn next_record(
        &mut self, creation: &mut WindowCreation, window: &mut Window, records: &[Record],
    ) -> Option<Record> {
        let failed = |record: &Record| record[1] != 0;
        match creation.phase {
            CreationPhase::Shapes => {
                window.shape =
                    WindowShape(records.iter().map(|record| TargetMemory::from(*record)).collect());
                window.has_device_accesses = records.iter().any(|[.., accesses]| *accesses != 0);
                let placement = creation.placement?;
                creation.phase = CreationPhase::Keys;
                let (segment, record) = self.make_segment(window, placement, records);
                creation.segment = segment;
                Some(record)
            }
            CreationPhase::Keys => {
                let plan = creation.segment.take()?;
                if records.iter().any(failed) {
                    self.drop_segment(window, &plan, records);
                    return None;
                }
                creation.phase = CreationPhase::Opened;
                window.mapped = self.open_segment(window, plan, records);
                if window.mapped.as_ref().is_some_and(|mapped| !mapped.has_memory()) {
                    self.open_registered(window);
                }
                let lacks_fence = window.mapped.is_some() && !has_heavy_fence();
                Some([0, window.mapped.is_none().into(), lacks_fence.into(), 0, 0])
            }
            CreationPhase::Opened => {
                if records.iter().any(failed) {
                    self.close_segment(window);
                } else if records.iter().all(|[_, _, lacks_fence, ..]| *lacks_fence == 0)
                    && let Some(mapped) = &mut window.mapped
                {
                    mapped.set_fence(WakeFence::ByWaiter);
                }
                if let Some(own) = window.own_mapped() {
                    window.set_memory(own);
                }
                self.watch_other_jobs(window);
                None
            }
            CreationPhase::Memories => {
                let told = |(rank, [key, ..]): (u32, &Record)| TargetMemory {
                    key: *key,
                    ..window.shape.of(rank)
                };
                window.shape = WindowShape((0..).zip(records).map(told).collect());
                None
            }
        }
    }

    /// Whether the device of this rank accesses memory of others of the window faster than messages do.
    fn accesses_by_device(&mut self, window: &Window) -> bool {
        if window.is_dynamic() || self.may_lose_members(window) {
            return false;
        }
        let peers = (0..window.channel.size()).map(|rank| window.channel.peer(rank));
        let rma = self.engine.rma();
        rma.is_some_and(|rma| peers.into_iter().any(|peer| rma.fast_max(peer) > 0))
    }

    /// Starts to tell all ranks of a new window where devices find memory that the library has got for it. All
    /// ranks do so, if [`Window::tells_memory`].
    ///
    /// # Errors
    /// `Comm` if the communicator is gone.
    pub(crate) fn start_memory_exchange(
        &mut self, mut window: Box<Window>,
    ) -> Result<WindowCreation> {
        self.register(&mut window);
        let key = window.registered.map_or(0, |key| key.0);
        let run = self.start_exchange(window.comm, [key, 0, 0, 0, 0])?;
        let phase = CreationPhase::Memories;
        Ok(WindowCreation { window: Some(window), run, phase, placement: None, segment: None })
    }

    /// The segment of this node, and what this rank tells of it.
    fn make_segment(
        &mut self, window: &Window, placement: SegmentPlacement, records: &[Record],
    ) -> (Option<SegmentPlan>, Record) {
        let (me, size) = (window.channel.rank(), window.channel.size());
        let domain = |rank: u32| MemoryDomain(records[rank as usize][3]);
        let ranks = (0..size).filter(|rank| domain(*rank) == domain(me));
        let ranks: Vec<_> = ranks.map(|rank| (rank, window.shape.of(rank).size)).collect();
        // What all ranks load and store has one segment.
        let fits = window.may_have_parts() || ranks.len() == size as usize;
        let layout = SegmentLayout::new(&ranks, size, placement).filter(|_| fits);
        let Some(layout) = layout else { return (None, FAILED) };
        let is_leader = layout.leader() == me;
        let is_of_node = layout.ranks().iter().all(|rank| self.is_of_own_node(window, *rank));
        let (way, record) = match is_of_node {
            true => (SegmentWay::Device, self.device_record(window, &layout, is_leader)),
            false => {
                let (made, record) = self.host_record(&layout, is_leader);
                (SegmentWay::Host(made), record)
            }
        };
        (Some(SegmentPlan { layout, way }), record.unwrap_or(FAILED))
    }

    /// Whether a rank is of the node of this process in its job.
    fn is_of_own_node(&self, window: &Window, rank: u32) -> bool {
        let [own, other] =
            [window.channel.rank(), rank].map(|rank| self.comms.node_of(window.channel.peer(rank)));
        own == other
    }

    /// The record of a segment of the device; `None` if there is none.
    fn device_record(
        &mut self, window: &Window, layout: &SegmentLayout, is_leader: bool,
    ) -> Option<Record> {
        let rma = window.memory_device(&mut self.engine)?;
        let MemoryKey(key) = match is_leader {
            true => MappedMemory::allocate(rma, layout).ok()?,
            false => MemoryKey(0),
        };
        Some([key, 0, 0, 0, 0])
    }

    /// The segment between jobs, at the leader, and the record.
    fn host_record(
        &mut self, layout: &SegmentLayout, is_leader: bool,
    ) -> (Option<Box<dyn NearSegment>>, Option<Record>) {
        let Some(near) = self.engine.near_memory() else { return (None, None) };
        let Ok(NearPlace([doorbell, wake_inode])) = near.own_doorbell() else {
            return (None, None);
        };
        if !is_leader {
            return (None, Some([0, 0, 0, doorbell, wake_inode]));
        }
        let made = MappedMemory::allocate_near(near, layout).ok();
        let place = made.as_ref().map(|made| made.place());
        (made, place.map(|NearPlace([place, inode])| [place, 0, inode, doorbell, wake_inode]))
    }

    /// Maps the segment of this node.
    fn open_segment(
        &mut self, window: &Window, plan: SegmentPlan, records: &[Record],
    ) -> Option<MappedMemory> {
        let [place, _, inode, ..] = records[plan.layout.leader() as usize];
        let made = match plan.way {
            SegmentWay::Device => {
                let rma = window.memory_device(&mut self.engine)?;
                return MappedMemory::open(rma, plan.layout, &window.channel, MemoryKey(place))
                    .ok();
            }
            SegmentWay::Host(made) => made,
        };
        let doorbell = |rank: &u32| {
            let [_, _, _, doorbell, wake_inode] = records[*rank as usize];
            let is_apart = !self.is_of_own_node(window, *rank);
            is_apart.then_some(NearPlace([doorbell, wake_inode]))
        };
        let doorbells: Vec<_> = plan.layout.ranks().iter().map(doorbell).collect();
        let (near, place) = (self.engine.near_memory()?, NearPlace([place, inode]));
        MappedMemory::open_near(near, made, place, plan.layout, &window.channel, &doorbells).ok()
    }

    /// Finds out failures of the ranks of other jobs with which this one shares memory: no message may do so.
    fn watch_other_jobs(&mut self, window: &Window) {
        if let Some(mapped) = window.mapped.as_ref().filter(|mapped| mapped.spans_jobs()) {
            let peers = mapped.ranks().iter().map(|rank| window.channel.peer(*rank));
            self.connect_to_other_jobs(peers);
        }
    }

    /// Lets other ranks read and write the memory of this one, from outside or by their devices.
    fn register(&mut self, window: &mut Window) {
        if self.may_lose_members(window) {
            // After a failure, a window is freed without the others: they could write here afterwards.
            return;
        }
        if let (Regions::One(region), Some(rma)) = (&window.regions, self.engine.rma())
            && !region.is_empty()
        {
            window.registered = rma.register(*region, RemoteAccess::ReadWrite).ok();
        }
    }

    /// Finds the memories of ranks that this process can read and write from outside.
    fn open_registered(&mut self, window: &mut Window) {
        let (Some(mapped), Some(rma)) = (&window.mapped, self.engine.rma()) else { return };
        // Other jobs are asked by messages: an access by the owner does not end in its call.
        let is_outside = |caps: &RmaCaps| !matches!(caps.executor, UpdateExecutor::Owner);
        for rank in mapped.ranks() {
            let key = MemoryKey(window.shape.of(*rank).key);
            if key.0 != 0
                && rma.open(window.channel.peer(*rank), key).as_ref().is_ok_and(is_outside)
            {
                window.outside.insert(*rank, key);
            }
        }
    }

    /// Gives up the segment of this node: another node has none.
    fn drop_segment(&mut self, window: &Window, plan: &SegmentPlan, records: &[Record]) {
        let me = window.channel.rank();
        let [key, failed, ..] = records[me as usize];
        if matches!(plan.way, SegmentWay::Device)
            && plan.layout.leader() == me
            && failed == 0
            && let Some(rma) = window.memory_device(&mut self.engine)
        {
            rma.deregister(MemoryKey(key));
        }
    }

    /// A handle for a window that is ready.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub fn insert_window(&mut self, mut window: Window) -> Result<Handle> {
        match self.checked_mode.is_on() {
            true => window.check_accesses(),
            false => window.open_direct_way(),
        }
        if window.needs_requests() {
            self.engine.note_long_start();
        }
        self.engine.watched_contexts().watch(window.channel.context());
        if window.words().is_some() {
            window.target.close_locks();
        }
        let handle = self.windows.insert(window)?;
        // Ranks that are ahead may have sent requests, whose arrivals no later poll tells.
        self.engine.note_event();
        if self.engine.is_disturbed() {
            self.find_window_failures(handle)?;
        }
        Ok(handle)
    }

    /// The call `function`, which creates a window.
    pub(crate) fn blocked_window_creation(
        &self, function: &str, creation: &WindowCreation,
    ) -> WaitReport {
        self.blocked(function, [&Activity::Run(creation.run)])
    }
}

/// The error of a creation: a process that has failed to create the window tells the others by a revocation.
fn not_created(error: Box<MpiError>) -> Box<MpiError> {
    if !error.is(ErrorClass::Revoked) {
        return error;
    }
    ErrorClass::ProcFailed.error("a process of the communicator has not created the window")
}
