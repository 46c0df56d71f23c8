//! How to wait, step by step, without taking the processor that another rank needs. Time is an
//! argument.
//!
//! ```text
//! each local rank has a processor:   spin ──> yield ──> sleep
//! more ranks than processors:       (spin) ─> yield ──> sleep      spins if that has proved faster
//! any step ── an arrival ──> the first
//! ```
//!
//! Measured on a machine with 2 processors: a yield between two ranks of one processor takes 1.2
//! µs, a futex hand-over on one processor 2.1 µs, a futex wake across processors 17–25 µs and 7–13
//! µs of the waker's time. So a rank that shares its processor yields, as its peers often compute
//! only briefly between two messages. Then it sleeps: a long wait costs nothing.
//!
//! # Spin history
//! Two ranks that exchange messages may run at the same time although ranks share processors
//! (J. Ousterhout, "Scheduling techniques for concurrent systems", ICDCS 1982). So each rank of an
//! oversubscribed job learns from its own waits; a *score* says whether spinning pays:
//!
//! ```text
//! the wait ended while spinning                                       up
//! a yield was short: no other thread used the processor               up
//! spinning did not end the wait, and the yield after it was long      down
//! ```
//!
//! At score 0 the rank does not spin, except for a few trials at the beginning of each slot of the
//! clock. All ranks of a node see the same slots: spinning helps only if both ranks do it. If each
//! rank has a processor, nothing is learned: a yield may cost a whole time slice of another program
//! then, so it comes late in any case.

use std::time::Duration;

use crate::process::settings::WaitMode;

/// Polls before the first yield, about 20 µs.
const SPINS: u32 = 1000;
/// The same if ranks share processors, about 2 µs: the time of a yield.
const SHORT_SPINS: u32 = 60;
/// As [`SPINS`], if each poll asks sockets: a system call of half a microsecond. Ranks that share
/// processors do not spin then. (On 2 hosts with a processor and 2 ranks each, a barrier took 51 µs with
/// [`SHORT_SPINS`], and 15 µs without.)
const SOCKET_SPINS: u32 = 40;
/// As [`SPINS`], if each poll calls another MPI library, which takes a tenth of a microsecond.
const LIBRARY_SPINS: u32 = 150;
/// The same if ranks share processors.
const SHORT_LIBRARY_SPINS: u32 = 15;
/// Polls, with sockets, before the first yield of a rank that shares its processor, if it awaits an answer
/// from another host: about the time of a message and its answer. A yield may come back only when the
/// other ranks have had as much of the processor.
const ANSWER_SPINS: u32 = 12;
/// The highest score of that, and the waits between two trials at score 0: if several hosts share a
/// processor, the other host needs it to answer. (With two hosts and two ranks each on a processor a barrier
/// took 100 instead of 60 µs.)
const ANSWER_SCORE_MAX: u32 = 8;
const ANSWER_TRIAL: u32 = 32;
/// Polls before the first pause instruction, about 300 ns: twice the time of a short message. Polls
/// without pause during a longer wait slow down a peer that copies.
const EAGER_SPINS: u32 = 32;
/// How long to yield before the first sleep, in nanoseconds: long enough for a peer to copy a few
/// megabytes or to compute briefly. (With 150 µs a message of 4 MiB took twice as long; with 8
/// ranks on 2 processors the MG kernel of the NAS Parallel Benchmarks and a wavefront of small
/// messages, class S, were 20 to 30 % slower.) It is a thousandth of a wait of one second, and a
/// thread that yields takes almost no time from threads that compute.
const YIELD_NS: u64 = 1_000_000;
/// If a yield and a poll take longer, in nanoseconds, another thread has run.
const LONG_YIELD_NS: u64 = 1_500;

/// The highest score.
const SCORE_MAX: u32 = 16;
/// The score at the beginning of a trial: the number of trials that may fail.
const TRIAL_SCORE: u32 = 4;
/// Length of a slot of the clock, as a power of two of nanoseconds: 4 ms.
const SLOT_BITS: u32 = 22;
/// The most consecutive waits that end while spinning, about 100 µs, if others need the processor.
/// Then the rank yields, so that two ranks that exchange messages do not keep it for longer.
const SPIN_WAITS_MAX: u32 = 256;

/// The longest sleep on the device. After it a thread polls although it was not woken.
pub(crate) const SLEEP_MAX: Duration = Duration::from_secs(2);
/// The same at the beginning of a wait, for the deadlock detector, which compares several checks.
const FIRST_SLEEP_MAX: Duration = Duration::from_millis(100);

/// Polls without arrivals between two checks by the monitor of waits, for waits that never sleep.
const REPORT_POLLS: u32 = 10_000;

/// The longest sleep of a call that has waited for `waited`: half of that, so that a rank without
/// events takes a processor less and less often, and what no event reports (the end of a peer, a
/// deadlock) is found after half of the wait at the latest.
pub(crate) fn longest_sleep(waited: Duration) -> Duration {
    (waited / 2).clamp(FIRST_SLEEP_MAX, SLEEP_MAX)
}

/// What to do before the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitStep {
    /// Poll again at once.
    Spin,
    /// Let another thread run.
    Yield,
    /// Sleep until something arrives.
    Sleep,
}

/// What each poll asks besides shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollCost {
    /// Nothing.
    Memory,
    /// Another MPI library.
    Library,
    /// Sockets: a system call.
    Sockets,
}

/// The steps of all waits of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitPolicy {
    /// Polls that spin, if the score is positive.
    spins: u32,
    /// Polls that spin, if the score is 0.
    unproven_spins: u32,
    yield_ns: u64,
    /// Whether other ranks need the processor on which this rank waits.
    shared: bool,
    /// Whether a second thread of this rank would take a processor from another rank.
    crowded: bool,
}

impl WaitPolicy {
    /// The policy for `ranks` local ranks on `processors` processors.
    pub(crate) fn new(
        waiting: WaitMode, ranks: usize, processors: usize, poll_cost: PollCost,
    ) -> Self {
        let (long, short) = match poll_cost {
            PollCost::Memory => (SPINS, SHORT_SPINS),
            PollCost::Library => (LIBRARY_SPINS, SHORT_LIBRARY_SPINS),
            PollCost::Sockets => (SOCKET_SPINS, 0),
        };
        let (spins, unproven_spins, yield_ns) = match waiting {
            WaitMode::Auto if ranks <= processors => (long, long, YIELD_NS),
            WaitMode::Auto => (short, 0, YIELD_NS),
            WaitMode::Spin => (u32::MAX, u32::MAX, u64::MAX),
            WaitMode::Yield => (0, 0, u64::MAX),
            WaitMode::Sleep => (0, 0, 0),
        };
        let shared = unproven_spins == 0;
        Self { spins, unproven_spins, yield_ns, shared, crowded: 2 * ranks > processors }
    }

    /// The same policy, when each poll asks sockets from now on.
    pub(crate) fn with_sockets(self) -> Self {
        let with = |spins| match spins {
            SPINS => SOCKET_SPINS,
            SHORT_SPINS => 0,
            other => other,
        };
        let (spins, unproven_spins) = (with(self.spins), with(self.unproven_spins));
        Self { spins, unproven_spins, ..self }
    }

    /// The policy of parked threads.
    pub(crate) fn for_parked_thread(self) -> Self {
        let spins = if self.crowded { 0 } else { self.spins };
        Self { spins, unproven_spins: spins, shared: spins == 0, ..self }
    }

    /// The policy of a progress thread. It spins only if it has a processor for itself, and never
    /// yields, as a wake-up reaches it sooner.
    pub(crate) fn for_progress_thread(self) -> Self {
        let spins = if self.crowded { 0 } else { SPINS };
        Self { spins, unproven_spins: spins, yield_ns: 0, ..self }
    }

    /// The policy of waits that neither spin nor yield.
    pub(crate) fn sleep_at_once(self) -> Self {
        Self { spins: 0, unproven_spins: 0, yield_ns: 0, ..self }
    }

    /// Whether several spinning threads of one rank would take processors from each other or from
    /// another rank.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Whether other ranks need the processor on which this rank waits.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }
}

/// What a thread has learned from its earlier waits.
#[derive(Debug)]
pub(crate) struct SpinHistory {
    policy: WaitPolicy,
    /// How well spinning pays: 0 to [`SCORE_MAX`].
    score: u32,
    /// How well spinning for an answer pays: 0 to [`ANSWER_SCORE_MAX`].
    answer_score: u32,
    /// Waits for an answer since the last trial.
    answer_waits: u32,
    /// Consecutive waits that ended while spinning.
    spin_waits: u32,
    /// The slot of the clock of the last trial.
    slot: u64,
}

impl SpinHistory {
    pub(crate) fn new(policy: WaitPolicy) -> Self {
        let score = if policy.shared { 0 } else { SCORE_MAX };
        let (answer_score, answer_waits) = (ANSWER_SCORE_MAX, 0);
        Self { policy, score, answer_score, answer_waits, spin_waits: 0, slot: 0 }
    }

    /// Follows another policy from now on.
    pub(crate) fn follow(&mut self, policy: WaitPolicy) {
        self.policy = policy;
    }

    /// The number of polls that the next wait spins.
    #[inline]
    fn spins(&mut self) -> u32 {
        if self.policy.shared && self.spin_waits >= SPIN_WAITS_MAX {
            self.spin_waits = 0;
            return 0;
        }
        if self.score > 0 { self.policy.spins } else { self.policy.unproven_spins }
    }

    /// Whether to begin a trial of spinning at `now_ns`.
    fn begins_trial(&mut self, now_ns: u64) -> bool {
        let slot = now_ns >> SLOT_BITS;
        if self.score > 0 || self.policy.spins == 0 || !self.policy.shared || self.slot == slot {
            return false;
        }
        self.slot = slot;
        self.score = TRIAL_SCORE;
        true
    }

    /// Whether to spin for an answer.
    fn tries_answer(&mut self) -> bool {
        self.answer_waits = (self.answer_waits + 1) % ANSWER_TRIAL;
        self.answer_score > 0 || self.answer_waits == 0
    }

    /// Spinning has ended a wait, or would have.
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
    spins_max: u32,
    spins: u32,
    /// Polls while an answer from another host was awaited.
    answer_spins: u32,
    /// Polls that found nothing.
    polls: u32,
    /// When yielding began; `None` before that.
    since_ns: Option<u64>,
    /// Whether the first yield has changed the score.
    learned: bool,
}

impl WaitBackoff {
    /// The beginning of a wait.
    #[inline]
    pub(crate) fn new(history: &mut SpinHistory) -> Self {
        let spins_max = history.spins();
        Self { spins_max, spins: 0, answer_spins: 0, polls: 0, since_ns: None, learned: false }
    }

    /// Begins again after an arrival.
    #[inline]
    pub(crate) fn arrived(&mut self, history: &mut SpinHistory) {
        self.answered(history);
        self.reset();
    }

    /// Spinning for an answer has ended with an arrival, if there was any.
    #[inline]
    fn answered(&self, history: &mut SpinHistory) {
        if self.answer_spins > 0 && self.answer_spins <= ANSWER_SPINS {
            history.answer_score = ANSWER_SCORE_MAX.min(history.answer_score + 1);
        }
    }

    /// Begins again after other work.
    pub(crate) fn reset(&mut self) {
        self.spins = 0;
        self.answer_spins = 0;
        self.since_ns = None;
        self.learned = false;
    }

    /// Whether the monitor of waits should check now, although the thread does not sleep. Called
    /// once for each poll that found nothing.
    #[inline]
    pub(crate) fn is_report_due(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(REPORT_POLLS)
    }

    /// Whether to poll again at once because an answer from another host is likely.
    #[inline]
    pub(crate) fn spins_for_answer(&mut self, history: &mut SpinHistory) -> bool {
        match self.answer_spins {
            0 if !history.tries_answer() => self.answer_spins = ANSWER_SPINS + 1,
            ANSWER_SPINS => {
                history.answer_score = history.answer_score.saturating_sub(1);
                self.answer_spins += 1;
            }
            spins => self.answer_spins = ANSWER_SPINS.min(spins) + 1,
        }
        self.answer_spins <= ANSWER_SPINS
    }

    /// Whether the wait is so short that its polls follow each other without pause.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.spins <= EAGER_SPINS
    }

    /// What to do after a poll that found nothing. `now_ns` is called only after spinning.
    #[inline]
    pub(crate) fn next(
        &mut self, history: &mut SpinHistory, now_ns: impl FnOnce() -> u64,
    ) -> WaitStep {
        if self.spins < self.spins_max {
            self.spins += 1;
            return WaitStep::Spin;
        }
        self.next_after_spins(history, now_ns())
    }

    fn next_after_spins(&mut self, history: &mut SpinHistory, now_ns: u64) -> WaitStep {
        if self.since_ns.is_some() {
            self.learn(history, || now_ns);
        } else if history.begins_trial(now_ns) {
            (self.spins_max, self.spins) = (history.policy.spins, 1);
            return WaitStep::Spin;
        }
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) < history.policy.yield_ns {
            WaitStep::Yield
        } else {
            WaitStep::Sleep
        }
    }

    /// Ends the wait and learns from it. `now_ns` is called only after unsuccessful spinning.
    #[inline]
    pub(crate) fn end(mut self, history: &mut SpinHistory, now_ns: impl FnOnce() -> u64) {
        self.answered(history);
        if self.since_ns.is_none() {
            history.spin_waits = history.spin_waits.wrapping_add(1);
            if self.has_spun(history) {
                history.raise_score();
            }
            return;
        }
        history.spin_waits = 0;
        if self.has_spun(history) {
            self.learn(history, now_ns);
        }
    }

    /// Learns from the duration of the first yield.
    fn learn(&mut self, history: &mut SpinHistory, now_ns: impl FnOnce() -> u64) {
        let Some(since_ns) = self.since_ns else { return };
        if std::mem::replace(&mut self.learned, true) {
            return;
        }
        if now_ns().saturating_sub(since_ns) <= LONG_YIELD_NS {
            history.raise_score();
        } else if self.has_spun(history) {
            history.score = history.score.saturating_sub(1);
        }
    }

    /// Whether this wait has spun longer than a wait at score 0.
    #[inline]
    fn has_spun(&self, history: &SpinHistory) -> bool {
        self.spins > history.policy.unproven_spins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: u64 = 7 << SLOT_BITS;

    fn steps(waiting: WaitMode, ranks: usize) -> Vec<WaitStep> {
        let mut history = SpinHistory::new(WaitPolicy::new(waiting, ranks, 2, PollCost::Memory));
        history.slot = SLOT >> SLOT_BITS;
        let mut backoff = WaitBackoff::new(&mut history);
        let clock = |poll: u64| SLOT + poll * 1000;
        let mut steps: Vec<_> = (0..3 * u64::from(SPINS))
            .map(|poll| backoff.next(&mut history, || clock(poll)))
            .collect();
        steps.dedup();
        steps
    }

    #[test]
    fn ranks_spin_only_if_each_has_a_processor() {
        assert_eq!(steps(WaitMode::Auto, 2), [WaitStep::Spin, WaitStep::Yield, WaitStep::Sleep]);
        assert_eq!(steps(WaitMode::Auto, 3), [WaitStep::Yield, WaitStep::Sleep]);
        assert_eq!(steps(WaitMode::Spin, 8), [WaitStep::Spin]);
        assert_eq!(steps(WaitMode::Yield, 1), [WaitStep::Yield]);
        assert_eq!(steps(WaitMode::Sleep, 1), [WaitStep::Sleep]);
    }

    #[test]
    fn processors_are_shared_if_no_rank_spins() {
        assert!(!WaitPolicy::new(WaitMode::Auto, 2, 2, PollCost::Memory).is_shared());
        assert!(WaitPolicy::new(WaitMode::Auto, 3, 2, PollCost::Memory).is_shared());
        assert!(!WaitPolicy::new(WaitMode::Spin, 3, 2, PollCost::Memory).is_shared());
    }

    #[test]
    fn several_threads_spin_only_if_each_has_a_processor() {
        let auto = |ranks, processors| {
            WaitPolicy::new(WaitMode::Auto, ranks, processors, PollCost::Memory)
        };
        assert!(auto(2, 2).is_crowded() && auto(2, 2).for_parked_thread().is_shared());
        assert!(
            WaitPolicy::new(WaitMode::Spin, 2, 2, PollCost::Memory).for_parked_thread().is_shared()
        );
        assert!(!auto(2, 4).is_crowded() && !auto(2, 4).for_parked_thread().is_shared());
    }

    #[test]
    fn a_wait_that_never_sleeps_is_checked_now_and_then() {
        let mut backoff = WaitBackoff::new(&mut SpinHistory::new(WaitPolicy::new(
            WaitMode::Spin,
            2,
            2,
            PollCost::Memory,
        )));
        let mut checks = 0;
        for _ in 0..3 * REPORT_POLLS {
            checks += u32::from(backoff.is_report_due());
            backoff.reset();
        }
        assert_eq!(checks, 3);
    }

    #[test]
    fn a_long_wait_sleeps_ever_longer() {
        let (mut waited, mut sleeps) = (Duration::ZERO, 0);
        while waited < Duration::from_secs(5) {
            waited += longest_sleep(waited);
            sleeps += 1;
        }
        assert_eq!(sleeps, 10);
        assert_eq!(longest_sleep(waited * 1000), SLEEP_MAX);
    }

    #[test]
    fn an_arrival_begins_again() {
        let mut history =
            SpinHistory::new(WaitPolicy::new(WaitMode::Yield, 4, 2, PollCost::Memory));
        history.policy.yield_ns = YIELD_NS;
        let mut backoff = WaitBackoff::new(&mut history);
        backoff.next(&mut history, || 0);
        assert_eq!(backoff.next(&mut history, || YIELD_NS), WaitStep::Sleep);
        backoff.reset();
        assert_eq!(backoff.next(&mut history, || YIELD_NS), WaitStep::Yield);
    }

    /// A wait that ends after `polls` polls, where a yield takes `yield_ns`; the number of yields.
    fn wait(history: &mut SpinHistory, now_ns: &mut u64, polls: u32, yield_ns: u64) -> u32 {
        let mut backoff = WaitBackoff::new(history);
        let mut yields = 0;
        for _ in 0..polls {
            if backoff.next(history, || *now_ns) == WaitStep::Yield {
                yields += 1;
                *now_ns += yield_ns;
            }
        }
        backoff.end(history, || *now_ns);
        yields
    }

    /// Polls without a yield in a wait for an answer that arrives with the poll number `answer`.
    fn answer_polls(history: &mut SpinHistory, answer: u32) -> u32 {
        let mut backoff = WaitBackoff::new(history);
        let polls = (0..answer).take_while(|_| backoff.spins_for_answer(history)).count();
        if polls as u32 == answer {
            backoff.arrived(history);
        }
        polls as u32
    }

    #[test]
    fn a_rank_polls_for_an_answer_while_that_pays() {
        let mut history =
            SpinHistory::new(WaitPolicy::new(WaitMode::Auto, 2, 1, PollCost::Sockets));
        let late = 2 * ANSWER_SPINS;
        let polls: u32 = (0..100).map(|_| answer_polls(&mut history, 5)).sum();
        assert_eq!(polls, 500);
        let polls: u32 = (0..1000).map(|_| answer_polls(&mut history, late)).sum();
        assert!(polls < ANSWER_SPINS * (ANSWER_SCORE_MAX + 1000 / ANSWER_TRIAL + 1), "{polls}");
        // It tries now and then, and goes on if that has helped.
        let polls: u32 = (0..2 * ANSWER_TRIAL).map(|_| answer_polls(&mut history, 5)).sum();
        assert!(polls > 5 * ANSWER_TRIAL, "{polls}");
    }

    #[test]
    fn a_rank_with_a_processor_always_spins() {
        let mut history = SpinHistory::new(WaitPolicy::new(WaitMode::Auto, 2, 2, PollCost::Memory));
        let mut now_ns = SLOT;
        for _ in 0..2 * SCORE_MAX {
            assert_eq!(wait(&mut history, &mut now_ns, SPINS + 9, 2 * LONG_YIELD_NS), 9);
        }
    }

    #[test]
    fn oversubscribed_ranks_try_to_spin_in_each_slot_and_continue_if_it_helps() {
        let mut history = SpinHistory::new(WaitPolicy::new(WaitMode::Auto, 4, 2, PollCost::Memory));
        let mut now_ns = SLOT;
        for _ in 0..TRIAL_SCORE {
            assert_eq!(wait(&mut history, &mut now_ns, SHORT_SPINS + 1, 2 * LONG_YIELD_NS), 1);
        }
        assert_eq!(wait(&mut history, &mut now_ns, 1, 2 * LONG_YIELD_NS), 1);
        now_ns += 1 << SLOT_BITS;
        // The first wait begins a trial as soon as it reads the clock; now spinning helps.
        let yields: u32 =
            (0..SPIN_WAITS_MAX).map(|_| wait(&mut history, &mut now_ns, 3, 9999)).sum();
        assert_eq!(yields, 0);
        assert_eq!(wait(&mut history, &mut now_ns, 3, 9999), 3, "other ranks have their turn");
        assert_eq!(wait(&mut history, &mut now_ns, SHORT_SPINS, 9999), 0);
    }
}
