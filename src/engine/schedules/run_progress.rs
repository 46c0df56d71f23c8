//! How far a run is: what changes while its schedule never does.
//!
//! Making this state takes memory and time, so that of a run which is over serves the next run of
//! the same schedule ([`ProgressFreeList`]), and a persistent operation has its own.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::memory::OwnedBytes;
use crate::offload::{Schedule, StepId};
use platform::base::Span;

/// How many states are kept for later; few enough to look at each.
const FREE_MAX: usize = 16;
/// The scratch bytes of all of them: enough for what runs often, little for a process.
const FREE_BYTES_MAX: usize = 4 << 20;

/// The state of one run of a schedule.
pub(crate) struct RunProgress {
    schedule: Arc<Schedule>,
    scratch: Vec<OwnedBytes>,
    /// Completions that each step still waits for.
    waits: Vec<u32>,
    /// Steps that may start, each with the one whose completion let it (itself if there is none).
    ready: VecDeque<(StepId, StepId)>,
    /// Steps that must still complete, and those including the detached ones.
    attached: usize,
    all: usize,
    /// Steps that have not started.
    unstarted: usize,
}

impl RunProgress {
    /// At the end of a run of `schedule` that never was.
    fn new(schedule: Arc<Schedule>) -> Self {
        Self {
            scratch: schedule.scratch().iter().map(|bytes| OwnedBytes::zeroed(*bytes)).collect(),
            waits: Vec::with_capacity(schedule.steps().len()),
            ready: VecDeque::with_capacity(schedule.steps().len()),
            attached: 0,
            all: 0,
            unstarted: 0,
            schedule,
        }
    }

    /// The schedule.
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Goes back to the beginning. Scratch buffers hold anything.
    pub(crate) fn rewind(&mut self) {
        debug_assert!(self.has_completed_all() && self.ready.is_empty());
        self.waits.clear();
        self.waits.extend_from_slice(self.schedule.waits());
        let ready = (0..).zip(&self.waits).filter(|(_, waits)| **waits == 0);
        let ready = ready.map(|(id, _)| (id, id));
        self.ready.extend(ready);
        self.attached = self.schedule.attached();
        self.all = self.schedule.steps().len();
        self.unstarted = self.all;
    }

    /// A step that may start now, and the one whose completion let it.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(StepId, StepId)> {
        let next = self.ready.pop_front();
        self.unstarted -= usize::from(next.is_some());
        next
    }

    /// Notes the end of a step: its successors may become ready. Whether the run is over by that.
    pub(crate) fn complete_step(&mut self, step: StepId) -> bool {
        self.all -= 1;
        let attached = !self.schedule.steps()[step as usize].detached;
        self.attached -= usize::from(attached);
        for &then in self.schedule.successors(step) {
            let waits = &mut self.waits[then as usize];
            if *waits > 0 {
                *waits -= 1;
                if *waits == 0 {
                    self.ready.push_back((then, step));
                }
            }
        }
        attached && self.attached == 0
    }

    /// Whether all steps are complete that the run is not over without.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.attached == 0
    }

    /// Whether all steps have started.
    #[inline]
    pub(crate) fn has_started_all(&self) -> bool {
        self.unstarted == 0
    }

    /// Whether all steps are complete, so that nobody touches the scratch buffers any more.
    #[inline]
    pub(crate) fn has_completed_all(&self) -> bool {
        self.all == 0
    }

    /// A scratch buffer, good while this lives and until the run is done.
    pub(crate) fn scratch(&self, index: u32) -> Span {
        self.scratch[index as usize].span()
    }

    fn bytes(&self) -> usize {
        self.schedule.scratch().iter().sum()
    }
}

/// States of runs that are over, for the next runs of their schedules; the oldest goes first.
#[derive(Default)]
pub(crate) struct ProgressFreeList {
    free: VecDeque<RunProgress>,
    bytes: usize,
}

impl ProgressFreeList {
    /// A state for a run of `schedule`, to be rewound.
    pub(crate) fn take(&mut self, schedule: &Arc<Schedule>) -> RunProgress {
        let fitting = |spare: &RunProgress| Arc::ptr_eq(&spare.schedule, schedule);
        let spare = self.free.iter().rposition(fitting).and_then(|at| self.free.remove(at));
        match spare {
            Some(spare) => {
                self.bytes -= spare.bytes();
                spare
            }
            None => RunProgress::new(Arc::clone(schedule)),
        }
    }

    /// Keeps a state that is done, unless it is too large or nobody else has the schedule.
    pub(crate) fn recycle(&mut self, spare: RunProgress) {
        let bytes = spare.bytes();
        if Arc::strong_count(&spare.schedule) == 1 || bytes > FREE_BYTES_MAX {
            return;
        }
        while self.free.len() == FREE_MAX || self.bytes + bytes > FREE_BYTES_MAX {
            let Some(oldest) = self.free.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
        self.bytes += bytes;
        self.free.push_back(spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::{Region, ScheduleBuilder};

    /// A send, then another one, with `bytes` of scratch.
    fn schedule(bytes: usize) -> Arc<Schedule> {
        let mut plan = ScheduleBuilder::new();
        plan.scratch(bytes);
        let first = plan.send(1, Region::EMPTY, 1, &[]);
        let second = plan.send(1, Region::EMPTY, 2, &[first]);
        plan.detach(second);
        Arc::new(plan.finish())
    }

    fn run(progress: &mut RunProgress) {
        progress.rewind();
        assert!(!progress.is_complete());
        assert_eq!((progress.next(), progress.next()), (Some((0, 0)), None));
        assert!(
            progress.complete_step(0) && progress.is_complete() && !progress.has_completed_all()
        );
        assert!(!progress.has_started_all());
        assert_eq!(progress.next(), Some((1, 0)));
        assert!(progress.has_started_all());
        assert!(!progress.complete_step(1) && progress.has_completed_all());
    }

    #[test]
    fn a_state_serves_many_runs() {
        let mut progress = RunProgress::new(schedule(8));
        assert!(progress.is_complete() && progress.has_completed_all());
        let scratch = progress.scratch(0).address();
        (0..3).for_each(|_| run(&mut progress));
        assert_eq!(progress.scratch(0).address(), scratch);
    }

    #[test]
    fn spares_are_for_their_schedule_and_the_oldest_goes() {
        let mut spares = ProgressFreeList::default();
        let (one, two) = (schedule(8), schedule(8));
        let of_one = spares.take(&one);
        let scratch = of_one.scratch(0).address();
        spares.recycle(of_one);
        assert_ne!(spares.take(&two).scratch(0).address(), scratch);
        assert_eq!(spares.take(&one).scratch(0).address(), scratch);
        assert!(spares.free.is_empty());

        let large = schedule(FREE_BYTES_MAX - 8);
        for schedule in [&one, &two, &large, &one] {
            let spare = RunProgress::new(Arc::clone(schedule));
            spares.recycle(spare);
            assert_eq!(spares.bytes, spares.free.iter().map(RunProgress::bytes).sum::<usize>());
        }
        assert_eq!((spares.free.len(), spares.bytes), (2, FREE_BYTES_MAX));
        spares.recycle(RunProgress::new(schedule(FREE_BYTES_MAX + 1)));
        spares.recycle(RunProgress::new(schedule(8)));
        assert_eq!(spares.free.len(), 2);
        for _ in 0..2 * FREE_MAX {
            spares.recycle(RunProgress::new(Arc::clone(&one)));
        }
        assert_eq!(spares.free.len(), FREE_MAX);
    }
}
