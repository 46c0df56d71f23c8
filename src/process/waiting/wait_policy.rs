//! How to wait, step by step, without burning the processor that another rank needs.
//!
//! ```text
//! each local rank has a processor:   spin ──> yield ──> sleep
//! more ranks than processors:       (spin) ─> yield ──> sleep      spins if that has proved right
//! any step ── something arrived ──> the first
//! ```
//!
//! Measured on a 2-processor machine: a yield between two ranks of one processor takes 1.2 µs, a
//! futex hand-over on one processor 2.1 µs, a futex wake across processors 17–25 µs and 7–13 µs of
//! the waker's time. So a rank that shares its processor yields, for as long as its peers often
//! compute between two messages, then sleeps: a rank that waits for long costs nothing. Time is an
//! argument here.
//!
//! # Habit
//! Of ranks that share processors two that talk to each other may run at the same time on two
//! processors (J. Ousterhout, "Scheduling techniques for concurrent systems", ICDCS 1982). So each
//! rank of a crowd learns from its own waits, and *trusts* in spinning more or less:
//!
//! ```text
//! ended while spinning                                            more
//! yielded, and nobody else used the processor                     more
//! spun in vain, then yielded: somebody did, the yield took long   less
//! ```
//!
//! Without any trust it does not spin, but tries again a few times whenever a slot of the clock
//! begins, which all ranks of a node see at the same time: two of them find each other only if both
//! spin. Where each rank has a processor nothing is learned: there a yield may cost a whole slice
//! of some other program, so it comes late in any case.

use crate::process::settings::WaitMode;

/// Polls that spin before the first yield, about 20 µs of them.
const SPINS: u32 = 1000;
/// The same where ranks share processors, about 2 µs: what it takes to yield and come back.
const SHORT_SPINS: u32 = 60;
/// How long to yield before the first sleep, in nanoseconds: so long that a peer that copies a few
/// megabytes, or computes for a moment, is not waited for asleep. (With 150 µs a message of 4 MiB took
/// twice as long; with 8 ranks on 2 processors the MG kernel of the NAS Parallel Benchmarks and a
/// wavefront of small messages, class S, were 20 to 30 % slower.) It is a thousandth of a wait that
/// lasts a second, and who yields takes next to nothing from those that compute.
const YIELD_NS: u64 = 1_000_000;
/// A yield and a poll that took longer have let somebody else run, in nanoseconds.
const LONG_YIELD_NS: u64 = 1_500;

/// The most trust that there can be.
const SCORE_MAX: u32 = 16;
/// The trust in which spinning is tried where there is none: so many times in vain.
const TRIAL_SCORE: u32 = 4;
/// Length of a slot of the clock, as a power of two of nanoseconds: 4 ms.
const SLOT_BITS: u32 = 22;
/// So many waits in a row may end while spinning before one yields where others need the
/// processor: some 100 µs, so that two who talk keep nobody away for longer.
const SPIN_WAITS_MAX: u32 = 256;

/// So many polls in vain are worth telling about although the wait never sleeps.
const REPORT_POLLS: u32 = 10_000;

/// What to do before the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitStep {
    /// Poll again at once.
    Spin,
    /// Let others run.
    Yield,
    /// Sleep until something arrives.
    Sleep,
}

/// Where each rank has a processor, and where ranks share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitPolicy {
    /// Polls that spin, with trust and without.
    spins: u32,
    unproven_spins: u32,
    yield_ns: u64,
    /// Whether others need the processor that this rank waits on.
    shared: bool,
    /// Whether a second thread of this rank would take the processor of another.
    crowded: bool,
}

impl WaitPolicy {
    /// The policy for `ranks` local ranks on `processors` processors.
    pub(crate) fn new(waiting: WaitMode, ranks: usize, processors: usize) -> Self {
        let (spins, unproven_spins, yield_ns) = match waiting {
            WaitMode::Auto if ranks <= processors => (SPINS, SPINS, YIELD_NS),
            WaitMode::Auto => (SHORT_SPINS, 0, YIELD_NS),
            WaitMode::Spin => (u32::MAX, u32::MAX, u64::MAX),
            WaitMode::Yield => (0, 0, u64::MAX),
            WaitMode::Sleep => (0, 0, 0),
        };
        let shared = unproven_spins == 0;
        Self { spins, unproven_spins, yield_ns, shared, crowded: 2 * ranks > processors }
    }

    /// The policy of threads that another thread of their rank polls for.
    pub(crate) fn for_parked_thread(self) -> Self {
        let spins = if self.crowded { 0 } else { self.spins };
        Self { spins, unproven_spins: spins, shared: spins == 0, ..self }
    }

    /// The policy of a progress thread, which works beside the application: it spins only where
    /// there is a processor for it, and never yields, as a wake-up reaches it sooner.
    pub(crate) fn for_progress_thread(self) -> Self {
        let spins = if self.crowded { 0 } else { SPINS };
        Self { spins, unproven_spins: spins, yield_ns: 0, ..self }
    }

    /// Sleeps at once.
    pub(crate) fn sleep_at_once(self) -> Self {
        Self { spins: 0, unproven_spins: 0, yield_ns: 0, ..self }
    }

    /// Whether threads of one rank that spin take the processor from each other or another rank.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Whether others need the processor that this rank waits on.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }
}

/// What earlier waits have taught.
#[derive(Debug)]
pub(crate) struct SpinHistory {
    policy: WaitPolicy,
    /// In spinning.
    score: u32,
    /// Waits in a row that ended while spinning.
    spin_waits: u32,
    /// The slot of the clock in which spinning was last tried.
    slot: u64,
}

impl SpinHistory {
    /// Nothing is known yet.
    pub(crate) fn new(policy: WaitPolicy) -> Self {
        let score = if policy.shared { 0 } else { SCORE_MAX };
        Self { policy, score, spin_waits: 0, slot: 0 }
    }

    /// Polls that the next wait spins.
    #[inline]
    fn spins(&mut self) -> u32 {
        if self.policy.shared && self.spin_waits >= SPIN_WAITS_MAX {
            self.spin_waits = 0;
            return 0;
        }
        if self.score > 0 { self.policy.spins } else { self.policy.unproven_spins }
    }

    /// Whether to try spinning again, `now_ns` by the clock.
    fn begins_trial(&mut self, now_ns: u64) -> bool {
        let slot = now_ns >> SLOT_BITS;
        if self.score > 0 || self.policy.spins == 0 || !self.policy.shared || self.slot == slot {
            return false;
        }
        self.slot = slot;
        self.score = TRIAL_SCORE;
        true
    }

    /// Spinning was right, or would have been.
    #[inline]
    fn raise_score(&mut self) {
        if self.score < SCORE_MAX {
            self.score += 1;
        }
    }
}

/// One wait.
#[derive(Debug)]
pub(crate) struct WaitBackoff {
    /// Polls that may spin, and that did.
    spins_max: u32,
    spins: u32,
    /// Polls in vain, arrivals between them or not.
    polls: u32,
    /// When yielding began, once it has.
    since_ns: Option<u64>,
    /// Whether the first yield has taught what it can.
    learned: bool,
}

impl WaitBackoff {
    /// A wait that begins.
    #[inline]
    pub(crate) fn new(habit: &mut SpinHistory) -> Self {
        let spins_max = habit.spins();
        Self { spins_max, spins: 0, polls: 0, since_ns: None, learned: false }
    }

    /// Something arrived: begin again.
    pub(crate) fn reset(&mut self) {
        self.spins = 0;
        self.since_ns = None;
        self.learned = false;
    }

    /// Whether it is time to say what is waited for, though this is no sleep. To be asked once for
    /// each poll that brought nothing.
    #[inline]
    pub(crate) fn is_report_due(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(REPORT_POLLS)
    }

    /// What to do after a poll that brought nothing; `now_ns` is only asked for beyond spinning.
    #[inline]
    pub(crate) fn next(
        &mut self, habit: &mut SpinHistory, now_ns: impl FnOnce() -> u64,
    ) -> WaitStep {
        if self.spins < self.spins_max {
            self.spins += 1;
            return WaitStep::Spin;
        }
        self.next_after_spins(habit, now_ns())
    }

    fn next_after_spins(&mut self, habit: &mut SpinHistory, now_ns: u64) -> WaitStep {
        if self.since_ns.is_some() {
            self.learn(habit, || now_ns);
        } else if habit.begins_trial(now_ns) {
            (self.spins_max, self.spins) = (habit.policy.spins, 1);
            return WaitStep::Spin;
        }
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) < habit.policy.yield_ns {
            WaitStep::Yield
        } else {
            WaitStep::Sleep
        }
    }

    /// The wait is over: it teaches the next ones. `now_ns` is only asked for after spinning in
    /// vain.
    #[inline]
    pub(crate) fn end(mut self, habit: &mut SpinHistory, now_ns: impl FnOnce() -> u64) {
        if self.since_ns.is_none() {
            habit.spin_waits = habit.spin_waits.wrapping_add(1);
            if self.has_spun(habit) {
                habit.raise_score();
            }
            return;
        }
        habit.spin_waits = 0;
        if self.has_spun(habit) {
            self.learn(habit, now_ns);
        }
    }

    /// Learns from the first yield, which has ended.
    fn learn(&mut self, habit: &mut SpinHistory, now_ns: impl FnOnce() -> u64) {
        let Some(since_ns) = self.since_ns else { return };
        if std::mem::replace(&mut self.learned, true) {
            return;
        }
        if now_ns().saturating_sub(since_ns) <= LONG_YIELD_NS {
            habit.raise_score();
        } else if self.has_spun(habit) {
            habit.score = habit.score.saturating_sub(1);
        }
    }

    /// Whether it has spun as only those do who trust in it.
    #[inline]
    fn has_spun(&self, habit: &SpinHistory) -> bool {
        self.spins > habit.policy.unproven_spins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: u64 = 7 << SLOT_BITS;

    fn steps(waiting: WaitMode, ranks: usize) -> Vec<WaitStep> {
        let mut habit = SpinHistory::new(WaitPolicy::new(waiting, ranks, 2));
        habit.slot = SLOT >> SLOT_BITS;
        let mut patience = WaitBackoff::new(&mut habit);
        let clock = |poll: u64| SLOT + poll * 1000;
        let mut steps: Vec<_> =
            (0..3000).map(|poll| patience.next(&mut habit, || clock(poll))).collect();
        steps.dedup();
        steps
    }

    #[test]
    fn ranks_spin_only_where_each_has_a_processor() {
        assert_eq!(steps(WaitMode::Auto, 2), [WaitStep::Spin, WaitStep::Yield, WaitStep::Sleep]);
        assert_eq!(steps(WaitMode::Auto, 3), [WaitStep::Yield, WaitStep::Sleep]);
        assert_eq!(steps(WaitMode::Spin, 8), [WaitStep::Spin]);
        assert_eq!(steps(WaitMode::Yield, 1), [WaitStep::Yield]);
        assert_eq!(steps(WaitMode::Sleep, 1), [WaitStep::Sleep]);
    }

    #[test]
    fn processors_are_shared_where_nobody_spins() {
        assert!(!WaitPolicy::new(WaitMode::Auto, 2, 2).is_shared());
        assert!(WaitPolicy::new(WaitMode::Auto, 3, 2).is_shared());
        assert!(!WaitPolicy::new(WaitMode::Spin, 3, 2).is_shared());
    }

    #[test]
    fn several_threads_spin_only_where_there_are_processors_for_them() {
        let auto = |ranks, processors| WaitPolicy::new(WaitMode::Auto, ranks, processors);
        assert!(auto(2, 2).is_crowded() && auto(2, 2).for_parked_thread().is_shared());
        assert!(WaitPolicy::new(WaitMode::Spin, 2, 2).for_parked_thread().is_shared());
        assert!(!auto(2, 4).is_crowded() && !auto(2, 4).for_parked_thread().is_shared());
    }

    #[test]
    fn who_never_sleeps_tells_now_and_then() {
        let mut patience =
            WaitBackoff::new(&mut SpinHistory::new(WaitPolicy::new(WaitMode::Spin, 2, 2)));
        let mut told = 0;
        for _ in 0..3 * REPORT_POLLS {
            told += u32::from(patience.is_report_due());
            patience.reset();
        }
        assert_eq!(told, 3);
    }

    #[test]
    fn an_arrival_begins_again() {
        let mut habit = SpinHistory::new(WaitPolicy::new(WaitMode::Yield, 4, 2));
        habit.policy.yield_ns = YIELD_NS;
        let mut patience = WaitBackoff::new(&mut habit);
        patience.next(&mut habit, || 0);
        assert_eq!(patience.next(&mut habit, || YIELD_NS), WaitStep::Sleep);
        patience.reset();
        assert_eq!(patience.next(&mut habit, || YIELD_NS), WaitStep::Yield);
    }

    /// A wait that ends after so many polls in vain, where a yield takes so long; its yields.
    fn wait(habit: &mut SpinHistory, now_ns: &mut u64, polls: u32, yield_ns: u64) -> u32 {
        let mut patience = WaitBackoff::new(habit);
        let mut yields = 0;
        for _ in 0..polls {
            if patience.next(habit, || *now_ns) == WaitStep::Yield {
                yields += 1;
                *now_ns += yield_ns;
            }
        }
        patience.end(habit, || *now_ns);
        yields
    }

    #[test]
    fn who_has_a_processor_spins_whatever_others_do() {
        let mut habit = SpinHistory::new(WaitPolicy::new(WaitMode::Auto, 2, 2));
        let mut now_ns = SLOT;
        for _ in 0..2 * SCORE_MAX {
            assert_eq!(wait(&mut habit, &mut now_ns, SPINS + 9, 2 * LONG_YIELD_NS), 9);
        }
    }

    #[test]
    fn a_crowd_tries_to_spin_in_each_slot_and_goes_on_where_it_helps() {
        let mut habit = SpinHistory::new(WaitPolicy::new(WaitMode::Auto, 4, 2));
        let mut now_ns = SLOT;
        for _ in 0..TRIAL_SCORE {
            assert_eq!(wait(&mut habit, &mut now_ns, SHORT_SPINS + 1, 2 * LONG_YIELD_NS), 1);
        }
        assert_eq!(wait(&mut habit, &mut now_ns, 1, 2 * LONG_YIELD_NS), 1);
        now_ns += 1 << SLOT_BITS;
        // The first one tries as soon as it sees the clock; now it helps.
        let yields: u32 = (0..SPIN_WAITS_MAX).map(|_| wait(&mut habit, &mut now_ns, 3, 9999)).sum();
        assert_eq!(yields, 0);
        assert_eq!(wait(&mut habit, &mut now_ns, 3, 9999), 3, "others have their turn");
        assert_eq!(wait(&mut habit, &mut now_ns, SHORT_SPINS, 9999), 0);
    }
}
