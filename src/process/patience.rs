//! How to wait, step by step, without burning the processor that another rank needs.
//!
//! ```text
//! each local rank has a processor:   spin ──> yield ──> sleep
//! more ranks than processors:                 yield ──> sleep
//! any step ── something arrived ──> the first
//! ```
//!
//! Measured on a 2-processor machine: a yield between two ranks of one processor takes 1.2 µs, a
//! futex hand-over on one processor 2.1 µs, a futex wake across processors 17–25 µs and 7–13 µs of
//! the waker's time. So a rank that shares its processor yields for about as long as a wake-up
//! costs, then sleeps: a rank that waits for long costs nothing. Time is an argument here.

use super::config::Waiting;

/// Polls that spin before the first yield, about 20 µs of them.
const SPINS: u32 = 1000;
/// How long to yield before the first sleep, in nanoseconds.
const YIELD_NS: u64 = 150_000;
/// The same where each rank has a processor, which nobody else needs: so long that a peer that
/// copies a few megabytes, or computes for a moment, is not waited for asleep. (With 150 µs a message
/// of 4 MiB took twice as long.) It is a thousandth of a wait that lasts a second.
const YIELD_ALONE_NS: u64 = 1_000_000;

/// So many polls in vain are worth telling about although the wait never sleeps.
const TELLING_POLLS: u32 = 10_000;

/// What to do before the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Poll again at once.
    Spin,
    /// Let others run.
    Yield,
    /// Sleep until something arrives.
    Sleep,
}

/// Where each rank has a processor, and where ranks share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    spins: u32,
    yield_ns: u64,
    /// Whether a second thread of this rank would take the processor of another.
    crowded: bool,
}

impl Policy {
    /// The policy for `ranks` local ranks on `processors` processors.
    pub fn new(waiting: Waiting, ranks: usize, processors: usize) -> Self {
        let (spins, yield_ns) = match waiting {
            Waiting::Auto if ranks <= processors => (SPINS, YIELD_ALONE_NS),
            Waiting::Auto => (0, YIELD_NS),
            Waiting::Spin => (u32::MAX, u64::MAX),
            Waiting::Yield => (0, u64::MAX),
            Waiting::Sleep => (0, 0),
        };
        Self { spins, yield_ns, crowded: 2 * ranks > processors }
    }

    /// The policy of threads that another thread of their rank polls for.
    pub fn of_listener(self) -> Self {
        Self { spins: if self.crowded { 0 } else { self.spins }, ..self }
    }

    /// Whether threads of one rank that spin take the processor from each other or another rank.
    pub fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Whether others need the processor that this rank waits on.
    pub fn is_shared(&self) -> bool {
        self.spins == 0
    }
}

/// One wait.
#[derive(Debug)]
pub struct Patience {
    policy: Policy,
    spins: u32,
    /// Polls in vain, arrivals between them or not.
    polls: u32,
    /// When yielding began, once it has.
    since_ns: Option<u64>,
}

impl Patience {
    /// A wait that begins.
    pub fn new(policy: Policy) -> Self {
        Self { policy, spins: 0, polls: 0, since_ns: None }
    }

    /// Something arrived: begin again.
    pub fn renew(&mut self) {
        self.spins = 0;
        self.since_ns = None;
    }

    /// Whether it is time to say what is waited for, though this is no sleep. To be asked once for
    /// each poll that brought nothing.
    #[inline]
    pub fn is_worth_telling(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(TELLING_POLLS)
    }

    /// What to do after a poll that brought nothing; `now_ns` is only asked for beyond spinning.
    #[inline]
    pub fn next(&mut self, now_ns: impl FnOnce() -> u64) -> Step {
        if self.spins < self.policy.spins {
            self.spins += 1;
            return Step::Spin;
        }
        let now_ns = now_ns();
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) < self.policy.yield_ns {
            Step::Yield
        } else {
            Step::Sleep
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(waiting: Waiting, ranks: usize) -> Vec<Step> {
        let mut patience = Patience::new(Policy::new(waiting, ranks, 2));
        let mut steps: Vec<_> = (0..3000).map(|poll| patience.next(|| poll * 1000)).collect();
        steps.dedup();
        steps
    }

    #[test]
    fn ranks_spin_only_where_each_has_a_processor() {
        assert_eq!(steps(Waiting::Auto, 2), [Step::Spin, Step::Yield, Step::Sleep]);
        assert_eq!(steps(Waiting::Auto, 3), [Step::Yield, Step::Sleep]);
        assert_eq!(steps(Waiting::Spin, 8), [Step::Spin]);
        assert_eq!(steps(Waiting::Yield, 1), [Step::Yield]);
        assert_eq!(steps(Waiting::Sleep, 1), [Step::Sleep]);
    }

    #[test]
    fn processors_are_shared_where_nobody_spins() {
        assert!(!Policy::new(Waiting::Auto, 2, 2).is_shared());
        assert!(Policy::new(Waiting::Auto, 3, 2).is_shared());
        assert!(!Policy::new(Waiting::Spin, 3, 2).is_shared());
    }

    #[test]
    fn several_threads_spin_only_where_there_are_processors_for_them() {
        let auto = |ranks, processors| Policy::new(Waiting::Auto, ranks, processors);
        assert!(auto(2, 2).is_crowded() && auto(2, 2).of_listener().is_shared());
        assert!(Policy::new(Waiting::Spin, 2, 2).of_listener().is_shared());
        assert!(!auto(2, 4).is_crowded() && !auto(2, 4).of_listener().is_shared());
    }

    #[test]
    fn who_never_sleeps_tells_now_and_then() {
        let mut patience = Patience::new(Policy::new(Waiting::Spin, 2, 2));
        let mut told = 0;
        for _ in 0..3 * TELLING_POLLS {
            told += u32::from(patience.is_worth_telling());
            patience.renew();
        }
        assert_eq!(told, 3);
    }

    #[test]
    fn an_arrival_begins_again() {
        let mut patience = Patience::new(Policy::new(Waiting::Auto, 4, 2));
        patience.next(|| 0);
        assert_eq!(patience.next(|| YIELD_NS), Step::Sleep);
        patience.renew();
        assert_eq!(patience.next(|| YIELD_NS), Step::Yield);
    }
}
