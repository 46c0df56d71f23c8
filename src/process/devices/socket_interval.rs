//! When to poll sockets beside shared memory.
//!
//! A poll of sockets is a system call; a poll of shared memory costs some nanoseconds. While packets
//! arrive in shared memory, sockets wait for an *interval*, in polls. The interval doubles when sockets
//! had nothing, and is 1 again when they had something. When shared memory has nothing, sockets are
//! polled at once: then the call has time. Only the first polls after an arrival leave them out,
//! unless an answer is awaited: what follows is often a wait for a rank of this host, which needs the
//! processor.

/// The longest interval, in polls of shared memory that found packets. Each takes some hundred
/// nanoseconds at least, so a packet from another host waits for some ten microseconds at most.
const LONGEST: u32 = 64;

/// Polls after an arrival that leave sockets out: those of the call that ends, and the first of the next.
const LEFT_OUT: u32 = 3;

/// The interval, and what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SocketInterval {
    polls: u32,
    left: u32,
    /// Polls that leave sockets out if they find nothing.
    left_out: u32,
}

impl SocketInterval {
    pub(super) fn new() -> Self {
        Self { polls: 1, left: 1, left_out: 0 }
    }

    /// Whether to poll sockets after a poll of shared memory that found `arrived` packets.
    #[inline]
    pub(super) fn is_due(&mut self, arrived: usize, awaits_answer: bool) -> bool {
        self.left -= 1;
        if arrived > 0 {
            self.left_out = LEFT_OUT;
            return self.left == 0;
        }
        let is_left_out = self.left_out > 0 && !awaits_answer;
        self.left_out = self.left_out.saturating_sub(1);
        self.left == 0 || !is_left_out
    }

    /// A poll of sockets, which was due, found `arrived` packets.
    #[inline]
    pub(super) fn polled(&mut self, arrived: usize) {
        self.polls = if arrived > 0 { 1 } else { LONGEST.min(2 * self.polls) };
        self.left = self.polls;
        if arrived > 0 {
            self.left_out = LEFT_OUT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the polls of shared memory, each with `arrived` packets, after which sockets are
    /// polled and have nothing.
    fn polls(interval: &mut SocketInterval, count: u32, arrived: usize) -> Vec<u32> {
        let mut due = |_: &u32| {
            let is_due = interval.is_due(arrived, false);
            if is_due {
                interval.polled(0);
            }
            is_due
        };
        (1..=count).filter(|poll| due(poll)).collect()
    }

    #[test]
    fn sockets_are_polled_rarely_while_shared_memory_is_busy() {
        let mut interval = SocketInterval::new();
        let found = polls(&mut interval, 300, 1);
        assert_eq!(found, [1, 3, 7, 15, 31, 63, 127, 191, 255]);
    }

    #[test]
    fn sockets_are_polled_at_once_when_shared_memory_has_nothing() {
        let mut interval = SocketInterval::new();
        assert_eq!(polls(&mut interval, 5, 0), [1, 2, 3, 4, 5]);
        assert_eq!(polls(&mut interval, 40, 1), [32]);
        assert_eq!(polls(&mut interval, 5, 0), [4, 5], "the first are left out");
        interval.is_due(1, false);
        assert!(interval.is_due(0, true), "an answer is awaited");
    }

    #[test]
    fn an_arrival_from_a_socket_makes_the_interval_short() {
        let mut interval = SocketInterval::new();
        polls(&mut interval, 200, 1);
        while !interval.is_due(1, false) {}
        interval.polled(3);
        assert_eq!(polls(&mut interval, 7, 1), [1, 3, 7]);
    }
}
