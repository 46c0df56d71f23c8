//! How far a run is: what changes while its schedule never does.
//!
//! Making this state takes memory and time, so that of a run which is over serves the next run of
//! the same schedule ([`Spares`]), and a persistent operation has its own.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::Span;
use crate::core::memory::Bytes;
use crate::offload::{Schedule, StepId};

/// How many states are kept for later; few enough to look at each.
const SPARES_MAX: usize = 16;
/// The scratch bytes of all of them: enough for what runs often, little for a process.
const SPARE_BYTES_MAX: usize = 4 << 20;

/// The state of one run of a schedule.
pub struct Progress {
    schedule: Arc<Schedule>,
    scratch: Vec<Bytes>,
    /// Completions that each step still waits for.
    waits: Vec<u32>,
    /// Steps that may start, each with the one whose completion let it (itself if there is none).
    ready: VecDeque<(StepId, StepId)>,
    /// Steps that must still complete, and those including the detached ones.
    attached: usize,
    all: usize,
    /// Steps that have not started.
    unbegun: usize,
}

impl Progress {
    /// At the end of a run of `schedule` that never was.
    fn new(schedule: Arc<Schedule>) -> Self {
        Self {
            scratch: schedule.scratch().iter().map(|bytes| Bytes::zeroed(*bytes)).collect(),
            waits: Vec::with_capacity(schedule.steps().len()),
            ready: VecDeque::with_capacity(schedule.steps().len()),
            attached: 0,
            all: 0,
            unbegun: 0,
            schedule,
        }
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Goes back to the beginning. Scratch buffers hold anything.
    pub fn rewind(&mut self) {
        debug_assert!(self.is_done() && self.ready.is_empty());
        self.waits.clear();
        self.waits.extend_from_slice(self.schedule.waits());
        let ready = (0..).zip(&self.waits).filter(|(_, waits)| **waits == 0);
        let ready = ready.map(|(id, _)| (id, id));
        self.ready.extend(ready);
        self.attached = self.schedule.attached();
        self.all = self.schedule.steps().len();
        self.unbegun = self.all;
    }

    /// A step that may start now, and the one whose completion let it.
    #[inline]
    pub fn next(&mut self) -> Option<(StepId, StepId)> {
        let next = self.ready.pop_front();
        self.unbegun -= usize::from(next.is_some());
        next
    }

    /// Notes the end of a step: its successors may become ready. Whether the run is over by that.
    pub fn completed(&mut self, step: StepId) -> bool {
        self.all -= 1;
        let attached = !self.schedule.steps()[step as usize].detached;
        self.attached -= usize::from(attached);
        for &then in self.schedule.then(step) {
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
    pub fn is_over(&self) -> bool {
        self.attached == 0
    }

    /// Whether all steps have started.
    #[inline]
    pub fn has_begun_all(&self) -> bool {
        self.unbegun == 0
    }

    /// Whether all steps are complete, so that nobody touches the scratch buffers any more.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.all == 0
    }

    /// A scratch buffer, good while this lives and until the run is done.
    pub fn scratch(&self, index: u32) -> Span {
        self.scratch[index as usize].span()
    }

    fn bytes(&self) -> usize {
        self.schedule.scratch().iter().sum()
    }
}

/// States of runs that are over, for the next runs of their schedules; the oldest goes first.
#[derive(Default)]
pub struct Spares {
    kept: VecDeque<Progress>,
    bytes: usize,
}

impl Spares {
    /// A state for a run of `schedule`, to be rewound.
    pub fn take(&mut self, schedule: &Arc<Schedule>) -> Progress {
        let fitting = |spare: &Progress| Arc::ptr_eq(&spare.schedule, schedule);
        let spare = self.kept.iter().rposition(fitting).and_then(|at| self.kept.remove(at));
        match spare {
            Some(spare) => {
                self.bytes -= spare.bytes();
                spare
            }
            None => Progress::new(Arc::clone(schedule)),
        }
    }

    /// Keeps a state that is done, unless it is too large or nobody else has the schedule.
    pub fn keep(&mut self, spare: Progress) {
        let bytes = spare.bytes();
        if Arc::strong_count(&spare.schedule) == 1 || bytes > SPARE_BYTES_MAX {
            return;
        }
        while self.kept.len() == SPARES_MAX || self.bytes + bytes > SPARE_BYTES_MAX {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
        self.bytes += bytes;
        self.kept.push_back(spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::{Builder, Region};

    /// A send, then another one, with `bytes` of scratch.
    fn schedule(bytes: usize) -> Arc<Schedule> {
        let mut plan = Builder::new();
        plan.scratch(bytes);
        let first = plan.send(1, Region::EMPTY, 1, &[]);
        let second = plan.send(1, Region::EMPTY, 2, &[first]);
        plan.detach(second);
        Arc::new(plan.finish())
    }

    fn run(progress: &mut Progress) {
        progress.rewind();
        assert!(!progress.is_over());
        assert_eq!((progress.next(), progress.next()), (Some((0, 0)), None));
        assert!(progress.completed(0) && progress.is_over() && !progress.is_done());
        assert!(!progress.has_begun_all());
        assert_eq!(progress.next(), Some((1, 0)));
        assert!(progress.has_begun_all());
        assert!(!progress.completed(1) && progress.is_done());
    }

    #[test]
    fn a_state_serves_many_runs() {
        let mut progress = Progress::new(schedule(8));
        assert!(progress.is_over() && progress.is_done());
        let scratch = progress.scratch(0).address();
        (0..3).for_each(|_| run(&mut progress));
        assert_eq!(progress.scratch(0).address(), scratch);
    }

    #[test]
    fn spares_are_for_their_schedule_and_the_oldest_goes() {
        let mut spares = Spares::default();
        let (one, two) = (schedule(8), schedule(8));
        let of_one = spares.take(&one);
        let scratch = of_one.scratch(0).address();
        spares.keep(of_one);
        assert_ne!(spares.take(&two).scratch(0).address(), scratch);
        assert_eq!(spares.take(&one).scratch(0).address(), scratch);
        assert!(spares.kept.is_empty());

        let large = schedule(SPARE_BYTES_MAX - 8);
        for schedule in [&one, &two, &large, &one] {
            let spare = Progress::new(Arc::clone(schedule));
            spares.keep(spare);
            assert_eq!(spares.bytes, spares.kept.iter().map(Progress::bytes).sum::<usize>());
        }
        assert_eq!((spares.kept.len(), spares.bytes), (2, SPARE_BYTES_MAX));
        spares.keep(Progress::new(schedule(SPARE_BYTES_MAX + 1)));
        spares.keep(Progress::new(schedule(8)));
        assert_eq!(spares.kept.len(), 2);
        for _ in 0..2 * SPARES_MAX {
            spares.keep(Progress::new(Arc::clone(&one)));
        }
        assert_eq!(spares.kept.len(), SPARES_MAX);
    }
}
