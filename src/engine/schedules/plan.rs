//! What a run needs besides its schedule, and what a run returns.

use std::fmt;
use std::sync::Arc;

use crate::engine::memory::Memory;
use crate::engine::schedules::reduction::ReductionMethod;
use crate::offload::Schedule;
use platform::base::{MpiError, Peer};

/// The key of a run.
pub type RunId = u32;

/// The ranks of a communicator.
pub trait Members: Send + Sync {
    /// The peer of `rank`.
    fn peer(&self, rank: u32) -> Peer;
}

/// A schedule with the memory that it moves: a collective operation except its communicator.
pub struct RunPlan {
    /// The steps.
    pub schedule: Arc<Schedule>,
    /// The table of user buffers that the schedule's regions name.
    pub buffers: Vec<Memory>,
    /// Scattered memory that is packed into entries of the table, or unpacked from them.
    pub staged: Vec<StagedBuffer>,
    /// How reductions are computed.
    pub reduction: ReductionMethod,
}

/// Scattered memory whose packed bytes are an entry of the table of buffers, as reductions need it.
pub struct StagedBuffer {
    /// The entry: adjacent bytes, as many as the memory has packed.
    pub(crate) buffer: usize,
    /// The memory of the application.
    pub(crate) memory: Memory,
    /// Whether the memory is packed before the first step.
    pub(crate) read: bool,
    /// Whether the memory is unpacked after the last attached step.
    pub(crate) written: bool,
}

/// A plan with its communicator: everything that makes a schedule a run.
pub struct Launch {
    /// The steps and their memory.
    pub plan: RunPlan,
    /// The ranks of the communicator.
    pub members: Arc<dyn Members>,
    /// This rank in the communicator.
    pub rank: u32,
    /// The context for collectives of the communicator.
    pub context: u64,
    /// The number of the call on the communicator.
    pub sequence: u32,
}

/// The result of a run.
#[derive(Debug)]
pub struct RunEnd {
    /// The user buffers of the plan.
    pub buffers: Vec<Memory>,
    /// The first error of any step.
    pub error: Option<Box<MpiError>>,
}

/// A collective operation that has not completed on this rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingRun {
    /// The context of its messages.
    pub(crate) context: u64,
    /// The number of the call on its communicator.
    pub(crate) sequence: u32,
    /// The peers that must send or receive something next, ascending.
    pub(crate) peers: Vec<Peer>,
}

impl Launch {
    /// The same launch for another run. The user buffers move there: detached steps that are still
    /// in progress use none of them.
    pub(crate) fn take(&mut self) -> Self {
        let RunPlan { schedule, buffers, staged, reduction } = &mut self.plan;
        let plan = RunPlan {
            schedule: Arc::clone(schedule),
            buffers: std::mem::take(buffers),
            staged: std::mem::take(staged),
            reduction: reduction.clone(),
        };
        Self { plan, members: Arc::clone(&self.members), ..*self }
    }
}

impl RunPlan {
    /// A plan without reductions.
    pub fn moving(schedule: impl Into<Arc<Schedule>>, buffers: Vec<Memory>) -> Self {
        let (schedule, staged) = (schedule.into(), Vec::new());
        Self { schedule, buffers, staged, reduction: ReductionMethod::None }
    }

    pub(crate) fn pack(&mut self) {
        self.staged.iter().for_each(|staged| staged.pack(&mut self.buffers));
    }

    pub(crate) fn unpack(&mut self) {
        self.staged.iter_mut().for_each(|staged| staged.unpack(&self.buffers));
    }
}

impl StagedBuffer {
    /// Packs the memory into its entry of `buffers`, if steps read it.
    pub(crate) fn pack(&self, buffers: &mut [Memory]) {
        if self.read {
            self.memory.copy(0, &mut buffers[self.buffer], 0, self.memory.len());
        }
    }

    /// Unpacks the memory from its entry of `buffers`, if steps write it.
    pub(crate) fn unpack(&mut self, buffers: &[Memory]) {
        if self.written {
            let len = self.memory.len();
            buffers[self.buffer].copy(0, &mut self.memory, 0, len);
        }
    }
}

impl fmt::Debug for RunPlan {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("RunPlan").field("buffers", &self.buffers).finish_non_exhaustive()
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, rank, context, sequence, .. } = self;
        let mut all = to.debug_struct("Launch");
        all.field("plan", plan).field("rank", rank);
        all.field("context", context).field("sequence", sequence).finish_non_exhaustive()
    }
}
