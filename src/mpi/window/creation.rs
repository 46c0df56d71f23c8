//! Creation of windows: what each rank tells the others (MPI 5.0 §12.2).

use std::sync::Arc;

use super::channel::WindowChannel;
use super::failures::is_of_failure;
use super::mapped::{MappedMemory, SegmentLayout, SegmentPlacement};
use super::regions::Regions;
use super::{Window, WindowMemory};
use crate::device::Device;
use crate::device::rma::{MemoryKey, RemoteAccess};
use crate::engine::schedules::plan::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::exchange::exchanged;
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
    key: u64,
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
/// ```
#[derive(Debug)]
pub(crate) struct WindowCreation {
    window: Option<Box<Window>>,
    run: RunId,
    phase: CreationPhase,
    /// What is to be shared.
    placement: Option<SegmentPlacement>,
    segment: Option<SegmentLayout>,
}

/// What the ranks tell each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CreationPhase {
    /// Size and unit.
    Shapes,
    /// The key of the segment of each node, from its leader.
    Keys,
    /// Whether each rank has mapped it.
    Opened,
}

/// What a rank tells in one phase.
type Record = [u64; 3];

impl From<&WindowMemory> for TargetMemory {
    fn from(memory: &WindowMemory) -> Self {
        Self { size: memory.size as u64, unit: memory.unit as i64, key: 0 }
    }
}

impl From<Record> for TargetMemory {
    fn from([size, unit, key]: Record) -> Self {
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
    pub(crate) fn start_window_creation(
        &mut self, mut window: Box<Window>, comm: Handle, placement: Option<SegmentPlacement>,
    ) -> Result<WindowCreation> {
        window.connect(comm, WindowChannel::new(self.comms.get(comm)?));
        let own = TargetMemory::from(&*window.memory);
        if placement == Some(SegmentPlacement::Words) {
            self.register(&mut window);
        }
        let key = window.registered.map_or(0, |key| key.0);
        let run = self.start_exchange(comm, [own.size, own.unit as u64, key])?;
        let phase = CreationPhase::Shapes;
        Ok(WindowCreation { window: Some(window), run, phase, placement, segment: None })
    }

    /// The window once all ranks have it; the caller inserts it.
    ///
    /// # Errors
    /// Errors of messages.
    pub(crate) fn end_window_creation(
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
                let placement = creation.placement?;
                creation.phase = CreationPhase::Keys;
                let (segment, key) = self.make_segment(window, placement);
                creation.segment = segment;
                Some(key)
            }
            CreationPhase::Keys => {
                let segment = creation.segment.take()?;
                if records.iter().any(failed) {
                    self.drop_segment(window, &segment, records);
                    return None;
                }
                creation.phase = CreationPhase::Opened;
                let key = MemoryKey(records[segment.leader() as usize][0]);
                let rma = window.memory_device(&mut self.engine)?;
                window.mapped = MappedMemory::open(rma, segment, &window.channel, key).ok();
                if window.mapped.as_ref().is_some_and(|mapped| !mapped.has_memory()) {
                    self.open_registered(window);
                }
                let lacks_fence = window.mapped.is_some() && !has_heavy_fence();
                Some([0, window.mapped.is_none().into(), lacks_fence.into()])
            }
            CreationPhase::Opened => {
                if records.iter().any(failed) {
                    self.close_segment(window);
                } else if records.iter().all(|[_, _, lacks_fence]| *lacks_fence == 0)
                    && let Some(mapped) = &mut window.mapped
                {
                    mapped.set_fence(WakeFence::ByWaiter);
                }
                if let Some(own) = window.own_mapped() {
                    window.set_memory(own);
                }
                None
            }
        }
    }

    /// The layout of this node's segment, and its key at the leader.
    fn make_segment(
        &mut self, window: &Window, placement: SegmentPlacement,
    ) -> (Option<SegmentLayout>, Record) {
        let node = |rank| self.comms.node_of(window.channel.peer(rank));
        let here = node(window.channel.rank());
        let ranks = (0..window.channel.size()).filter(|rank| node(*rank) == here);
        let ranks: Vec<_> = ranks.map(|rank| (rank, window.shape.of(rank).size)).collect();
        let Some(segment) = SegmentLayout::new(&ranks, window.channel.size(), placement) else {
            return (None, [0, 1, 0]);
        };
        let key = match window.memory_device(&mut self.engine) {
            None => None,
            Some(_) if segment.leader() != window.channel.rank() => Some(MemoryKey(0)),
            Some(rma) => MappedMemory::allocate(rma, &segment).ok(),
        };
        (Some(segment), key.map_or([0, 1, 0], |key| [key.0, 0, 0]))
    }

    /// Lets the ranks of this node read and write the memory of the application from outside.
    fn register(&mut self, window: &mut Window) {
        if self.engine.survives_failures() {
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
        for rank in mapped.ranks() {
            let key = MemoryKey(window.shape.of(*rank).key);
            if key.0 != 0 && rma.open(window.channel.peer(*rank), key).is_ok() {
                window.outside.insert(*rank, key);
            }
        }
    }

    /// Gives up the segment of this node: another node has none.
    fn drop_segment(&mut self, window: &Window, segment: &SegmentLayout, records: &[Record]) {
        let me = window.channel.rank();
        let [key, failed, _] = records[me as usize];
        if segment.leader() == me
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
    pub(crate) fn insert_window(&mut self, mut window: Window) -> Result<Handle> {
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
