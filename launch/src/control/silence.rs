//! How long the other end of a connection has been silent.
//!
//! Time in which this process did not run does not count: it was stopped or starved, so it heard nothing
//! that had arrived. The loop of the process takes a turn at least every beat; a longer turn counts as
//! little more than one. A value without a clock.

use std::time::{Duration, Instant};

use super::limits::beat_interval;

/// The silence of one end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silence {
    /// `None`: silence is allowed.
    limit: Option<Duration>,
    counted: Duration,
    turned_at: Instant,
}

impl Silence {
    /// An end that is heard now, and lost after a silence of `limit`.
    pub(crate) fn new(limit: Option<Duration>, now: Instant) -> Self {
        Self { limit, counted: Duration::ZERO, turned_at: now }
    }

    /// Sets another limit.
    pub(crate) fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = limit;
    }

    /// The other end is heard.
    pub(crate) fn heard(&mut self, now: Instant) {
        (self.counted, self.turned_at) = (Duration::ZERO, now);
    }

    /// A turn of the loop, after what has arrived was read; the limit, if it is exceeded.
    pub(crate) fn turn(&mut self, now: Instant) -> Option<Duration> {
        let turn_max = self.interval() * 3 / 2;
        self.counted += now.saturating_duration_since(self.turned_at).min(turn_max);
        self.turned_at = now;
        self.limit.filter(|limit| self.counted >= *limit)
    }

    /// The time of the next turn.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let rest = self.limit?.saturating_sub(self.counted);
        Some(self.turned_at + rest.min(self.interval()))
    }

    fn interval(&self) -> Duration {
        beat_interval(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn an_end_is_lost_after_turns_in_which_nothing_was_heard() {
        let begin = Instant::now();
        let mut silence = Silence::new(Some(5 * SECOND), begin);
        let lost = (1..9).find(|second| silence.turn(begin + *second * SECOND).is_some());
        assert_eq!(lost, Some(5));
        silence.heard(begin + 6 * SECOND);
        assert_eq!(silence.turn(begin + 7 * SECOND), None);
        assert_eq!(silence.deadline(), Some(begin + 8 * SECOND));
    }

    #[test]
    fn time_in_which_the_process_did_not_run_is_no_silence() {
        let begin = Instant::now();
        let mut silence = Silence::new(Some(5 * SECOND), begin);
        assert_eq!(silence.turn(begin + 100 * SECOND), None);
        // It goes on, and still hears nothing.
        let lost = (101..110).find(|second| silence.turn(begin + *second * SECOND).is_some());
        assert_eq!(lost, Some(104));
    }

    #[test]
    fn without_a_limit_no_silence_is_too_long() {
        let begin = Instant::now();
        let mut silence = Silence::new(None, begin);
        assert_eq!((1..100).find_map(|second| silence.turn(begin + second * SECOND)), None);
        assert_eq!(silence.deadline(), None);
    }
}
