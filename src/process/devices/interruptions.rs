//! Injected noise: this rank sleeps while its processor is taken away.
//!
//! ```text
//!              begin             end
//!   rank    ─────┤▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒├───────────
//!                  ▲ a message      ▲ the poll of the message
//! ```
//!
//! An interruption takes effect where a call of MPI polls, or sends if sends wait too: the thread sleeps
//! until its end, with the process lock, so other threads of the process wait as well. A call that does
//! neither goes on, and so does the application, the thread of a simulated interface, and the writes of a
//! peer into memory that it shares. Processes of a host have one clock, so synchronous noise is.
//!
//! A process with noise has a [`Network`](super::network::Network), so the short path through shared
//! memory does not ask for it. Time is counted by the host's clock modulo 104 days, as picoseconds of the
//! model ([`platform::base::noise`]) end after 213.

use std::thread;
use std::time::Duration;

use platform::base::Peer;
use platform::base::noise::{Noise, RankNoise};
use platform::sys::clock;

/// The noise of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InjectedNoise {
    pub(crate) noise: Noise,
    /// Whether sends wait for the end of an interruption, too.
    pub(crate) delays_sends: bool,
}

/// The interruptions of this process.
pub(super) struct Interruptions {
    noise: RankNoise,
    delays_sends: bool,
}

/// Time after which the clock of the noise begins again.
const CLOCK_NS: u64 = 1 << 53;

impl Interruptions {
    pub(super) fn new(injected: InjectedNoise, me: Peer) -> Self {
        let InjectedNoise { noise, delays_sends } = injected;
        Self { noise: noise.of_rank(me), delays_sends }
    }

    /// Sleeps until no interruption keeps this process from sending.
    pub(super) fn before_send(&self) {
        if self.delays_sends {
            self.before_poll();
        }
    }

    /// Sleeps until no interruption keeps this process from polling.
    pub(super) fn before_poll(&self) {
        sleep_through(&self.noise, clock::monotonic_ns, thread::sleep);
    }
}

fn sleep_through(
    noise: &RankNoise, mut now_ns: impl FnMut() -> u64, mut sleep: impl FnMut(Duration),
) {
    loop {
        let now_ps = now_ns() % CLOCK_NS * 1000;
        // Work without a length ends with the interruption.
        let left_ps = noise.end_ps(now_ps, 0) - now_ps;
        if left_ps == 0 {
            return;
        }
        sleep(Duration::from_nanos(left_ps.div_ceil(1000)));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use platform::base::noise::NoiseKind;

    #[test]
    fn a_process_sleeps_until_the_end_of_an_interruption() {
        const US: u64 = 1000;
        let noise = Noise::new(NoiseKind::Synchronous, 100_000_000, 30_000_000, 5).unwrap();
        let rank = noise.of_rank(3);
        let begin_ns = noise.phase_ps(3) / 1000;
        let slept_until = |start_ns: u64| {
            let now_ns = Cell::new(start_ns);
            // A sleep may end late.
            sleep_through(
                &rank,
                || now_ns.get(),
                |time| {
                    now_ns.set(now_ns.get() + time.as_nanos() as u64 + 7);
                },
            );
            now_ns.get()
        };
        for period in [1, 2, 1_000_000] {
            let begin_ns = begin_ns + period * 100 * US;
            let end_ns = begin_ns + 30 * US;
            assert_eq!(slept_until(begin_ns - US), begin_ns - US);
            assert_eq!(slept_until(end_ns + US), end_ns + US);
            for start_ns in [begin_ns + US, end_ns - US] {
                let until_ns = slept_until(start_ns);
                assert!((end_ns..end_ns + 2 * US).contains(&until_ns), "{start_ns} {until_ns}");
            }
        }
        // The clock begins again.
        assert!(slept_until(CLOCK_NS - 1) < CLOCK_NS + 100 * US);
    }
}
