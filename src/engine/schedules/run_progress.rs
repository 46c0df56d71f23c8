//! The progress of a run: the state that changes while the schedule does not.
//!
//! To make this state takes memory and time. So the state of a completed run is kept for the next
//! run of the same schedule ([`ProgressFreeList`]), and a persistent run has its own.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::memory::OwnedBytes;
use crate::offload::{Schedule, StepId};
use platform::base::Span;

/// States in the free list; few enough to scan.
const FREE_MAX: usize = 16;
/// Scratch bytes of all free states: enough for schedules that run often, little for a process.
const FREE_BYTES_MAX: usize = 4 << 20;

pub(crate) struct RunProgress {
    schedule: Arc<Schedule>,
    scratch: Vec<OwnedBytes>,
    /// Completions that each step still waits for.
    waits: Vec<u32>,
    /// Steps that may start, each with the step whose completion made it ready (itself if none did).
    ready: VecDeque<(StepId, StepId)>,
    /// Attached steps that have not completed.
    attached: usize,
    /// Steps that have not completed.
    all: usize,
    /// Steps that have not started.
    unstarted: usize,
    /// No further step starts ([`RunProgress::stop`]).
    is_stopped: bool,
}

impl RunProgress {
    /// The state after a completed run.
    fn new(schedule: Arc<Schedule>) -> Self {
        Self {
            scratch: schedule.scratch().iter().map(|bytes| OwnedBytes::zeroed(*bytes)).collect(),
            waits: Vec::with_capacity(schedule.steps().len()),
            ready: VecDeque::with_capacity(schedule.steps().len()),
            attached: 0,
            all: 0,
            unstarted: 0,
            is_stopped: false,
            schedule,
        }
    }

    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Begins a run. Scratch buffers keep their bytes.
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
        self.is_stopped = false;
    }

    /// Ends the run when the steps that have started have completed: the others never start.
    #[cold]
    pub(crate) fn stop(&mut self) {
        if !self.is_stopped {
            self.is_stopped = true;
            self.ready.clear();
            self.all -= self.unstarted;
            (self.unstarted, self.attached) = (0, self.all);
        }
    }

    /// The next step that may start, and the step whose completion made it ready.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(StepId, StepId)> {
        let next = self.ready.pop_front();
        self.unstarted -= usize::from(next.is_some());
        next
    }

    /// Notes a completed step: its successors may become ready. True if it was the last attached one.
    pub(crate) fn complete_step(&mut self, step: StepId) -> bool {
        self.all -= 1;
        if self.is_stopped {
            self.attached = self.all;
            return false;
        }
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

    /// Whether all attached steps have completed.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.attached == 0
    }

    #[inline]
    pub(crate) fn has_started_all(&self) -> bool {
        self.unstarted == 0
    }

    /// Whether all steps have completed, so that the scratch buffers are not in use.
    #[inline]
    pub(crate) fn has_completed_all(&self) -> bool {
        self.all == 0
    }

    /// A scratch buffer. The span is valid until all steps have completed.
    pub(crate) fn scratch(&self, index: u32) -> Span {
        self.scratch[index as usize].span()
    }

    fn bytes(&self) -> usize {
        self.schedule.scratch().iter().sum()
    }
}

/// States of completed runs, for the next runs of their schedules. The oldest is dropped first.
#[derive(Default)]
pub(crate) struct ProgressFreeList {
    free: VecDeque<RunProgress>,
    bytes: usize,
}

impl ProgressFreeList {
    /// A state for a run of `schedule`, which [`RunProgress::rewind`] begins.
    pub(crate) fn take(&mut self, schedule: &Arc<Schedule>) -> RunProgress {
        let has_schedule = |state: &RunProgress| Arc::ptr_eq(&state.schedule, schedule);
        let state = self.free.iter().rposition(has_schedule).and_then(|at| self.free.remove(at));
        match state {
            Some(state) => {
                self.bytes -= state.bytes();
                state
            }
            None => RunProgress::new(Arc::clone(schedule)),
        }
    }

    /// Keeps the state of a completed run, unless it is too large or nothing else has the schedule.
    pub(crate) fn recycle(&mut self, state: RunProgress) {
        let bytes = state.bytes();
        if Arc::strong_count(&state.schedule) == 1 || bytes > FREE_BYTES_MAX {
            return;
        }
        while self.free.len() == FREE_MAX || self.bytes + bytes > FREE_BYTES_MAX {
            let Some(oldest) = self.free.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
        self.bytes += bytes;
        self.free.push_back(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::{Region, ScheduleBuilder};

    /// A send, then a detached one, with `bytes` of scratch.
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
    fn a_state_is_used_for_many_runs() {
        let mut progress = RunProgress::new(schedule(8));
        assert!(progress.is_complete() && progress.has_completed_all());
        let scratch = progress.scratch(0).address();
        (0..3).for_each(|_| run(&mut progress));
        assert_eq!(progress.scratch(0).address(), scratch);
    }

    #[test]
    fn free_states_are_for_their_schedule_and_the_oldest_is_dropped() {
        let mut free_list = ProgressFreeList::default();
        let (one, two) = (schedule(8), schedule(8));
        let of_one = free_list.take(&one);
        let scratch = of_one.scratch(0).address();
        free_list.recycle(of_one);
        assert_ne!(free_list.take(&two).scratch(0).address(), scratch);
        assert_eq!(free_list.take(&one).scratch(0).address(), scratch);
        assert!(free_list.free.is_empty());

        let large = schedule(FREE_BYTES_MAX - 8);
        for schedule in [&one, &two, &large, &one] {
            let state = RunProgress::new(Arc::clone(schedule));
            free_list.recycle(state);
            assert_eq!(
                free_list.bytes,
                free_list.free.iter().map(RunProgress::bytes).sum::<usize>()
            );
        }
        assert_eq!((free_list.free.len(), free_list.bytes), (2, FREE_BYTES_MAX));
        free_list.recycle(RunProgress::new(schedule(FREE_BYTES_MAX + 1)));
        free_list.recycle(RunProgress::new(schedule(8)));
        assert_eq!(free_list.free.len(), 2);
        for _ in 0..2 * FREE_MAX {
            free_list.recycle(RunProgress::new(Arc::clone(&one)));
        }
        assert_eq!(free_list.free.len(), FREE_MAX);
    }
}
