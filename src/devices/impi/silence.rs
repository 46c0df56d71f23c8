//! When a link is cut: data is under way, and the other kernel has answered nothing for a time.
//!
//! ```text
//!           data without answer            no answer for the time
//!   Quiet ─────────────────────> Waiting ─────────────────────────> silent
//!     ▲                           │  ▲ │
//!     └── all has been answered ──┘  └─┘ an answer: the time begins anew
//! ```
//!
//! The kernel itself notices silence only while nothing is under way (keepalive); otherwise it repeats
//! for many minutes. Its setting for that, `TCP_USER_TIMEOUT`, also ends connections to processes that
//! compute and do not read. Therefore this value, which is asked from time to time. A peer that does not
//! read is never silent: its kernel answers.

use platform::sys::tcp::TcpTraffic;

/// The watch over one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SilenceWatch {
    /// Nothing waits for an answer.
    #[default]
    Quiet,
    /// Since this time, in nanoseconds of the host's clock, something has waited without an answer.
    Waiting { since_ns: u64 },
}

impl SilenceWatch {
    /// Takes what the kernel knows at `now_ns`; whether there was no answer for `silence_ns`.
    pub(crate) fn is_silent(&mut self, now_ns: u64, traffic: TcpTraffic, silence_ns: u64) -> bool {
        if !(traffic.has_data && traffic.awaits_answer) {
            *self = Self::Quiet;
            return false;
        }
        let last_answer_ns = now_ns.saturating_sub(u64::from(traffic.last_answer_ms) * 1_000_000);
        let since_ns = match *self {
            Self::Quiet => now_ns,
            Self::Waiting { since_ns } => since_ns.max(last_answer_ns),
        };
        *self = Self::Waiting { since_ns };
        now_ns - since_ns >= silence_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn traffic(awaits_answer: bool, last_answer_ms: u32) -> TcpTraffic {
        TcpTraffic { has_data: true, awaits_answer, last_answer_ms }
    }

    fn asked(watch: &mut SilenceWatch, at: u64, traffic: TcpTraffic) -> bool {
        watch.is_silent(at * SECOND, traffic, 4 * SECOND)
    }

    #[test]
    fn silence_is_data_without_an_answer_for_the_time() {
        let mut watch = SilenceWatch::default();
        // The last answer was long ago when the data left.
        assert!(!asked(&mut watch, 100, traffic(true, 90_000)));
        assert_eq!(watch, SilenceWatch::Waiting { since_ns: 100 * SECOND });
        assert!(!asked(&mut watch, 103, traffic(true, 93_000)));
        assert!(asked(&mut watch, 104, traffic(true, 94_000)));
    }

    #[test]
    fn an_answer_begins_the_time_anew() {
        let mut watch = SilenceWatch::Waiting { since_ns: 100 * SECOND };
        assert!(!asked(&mut watch, 110, traffic(true, 1_000)));
        assert_eq!(watch, SilenceWatch::Waiting { since_ns: 109 * SECOND });
        assert!(asked(&mut watch, 113, traffic(true, 4_000)));
    }

    #[test]
    fn a_peer_that_does_not_read_is_not_silent() {
        let mut watch = SilenceWatch::Waiting { since_ns: 100 * SECOND };
        assert!(!asked(&mut watch, 200, traffic(false, 100_000)));
        assert_eq!(watch, SilenceWatch::Quiet);
        let nothing = TcpTraffic { has_data: false, ..traffic(true, 100_000) };
        let mut watch = SilenceWatch::Waiting { since_ns: 100 * SECOND };
        assert!(!asked(&mut watch, 200, nothing));
        assert_eq!(watch, SilenceWatch::Quiet);
    }
}
