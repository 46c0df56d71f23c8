//! Credit for the bytes of one stream between head and agent.
//!
//! ```text
//!   sender (StreamCredit)   ── at most as many bytes as the receiver has room for ──>  receiver (CreditWindow)
//!                     <── grants: bytes that have been passed on ──
//! ```
//!
//! The receiver never stops reading the connection, which carries all streams of a host and everything
//! else. It keeps at most a window of each stream, and a sender without credit does not read its pipe:
//! the rank that writes to it waits, as it waits for a full pipe on one host.

/// The window of one stream: as much as a pipe of Linux holds.
const WINDOW_MIN_BYTES: usize = 64 * 1024;

/// The window of one stream if there are few: enough for 100 MB/s at a round trip of 10 ms.
const WINDOW_MAX_BYTES: usize = 1 << 20;

/// What one window of each rank takes, unless there are very many.
const WINDOWS_BYTES: usize = 64 << 20;

/// The window of each stream in a job of `size` ranks.
pub(crate) fn window_bytes(size: u32) -> usize {
    (WINDOWS_BYTES / size.max(1) as usize).clamp(WINDOW_MIN_BYTES, WINDOW_MAX_BYTES)
}

/// The bytes that a sender may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamCredit {
    left: usize,
    window: usize,
}

impl StreamCredit {
    pub(crate) fn new(window: usize) -> Self {
        Self { left: window, window }
    }

    pub(crate) fn left(self) -> usize {
        self.left
    }

    /// `bytes` are sent.
    ///
    /// # Panics
    /// There is less credit.
    pub(crate) fn spend(&mut self, bytes: usize) {
        assert!(bytes <= self.left, "{bytes} bytes with a credit of {}", self.left);
        self.left -= bytes;
    }

    /// The receiver has passed on this number of bytes. It cannot be more than were sent.
    pub(crate) fn grant(&mut self, bytes: u32) {
        self.left = self.left.saturating_add(bytes as usize).min(self.window);
    }
}

/// The room that a receiver has promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CreditWindow {
    size: usize,
    /// Bytes that were received and have not been granted again, of which `passed_on` may be.
    used: usize,
    passed_on: usize,
}

impl CreditWindow {
    pub(crate) fn new(size: usize) -> Self {
        Self { size, used: 0, passed_on: 0 }
    }

    /// Whether `bytes` more are within the credit of the sender; if not, nothing changes.
    pub(crate) fn receive(&mut self, bytes: usize) -> bool {
        let is_allowed = bytes <= self.size - self.used;
        self.used += if is_allowed { bytes } else { 0 };
        is_allowed
    }

    /// `bytes` have been passed on; what to grant, if it is worth a message.
    pub(crate) fn pass_on(&mut self, bytes: usize) -> Option<u32> {
        self.passed_on = (self.passed_on + bytes).min(self.used);
        if self.passed_on < self.size / 4 {
            return None;
        }
        let granted = std::mem::take(&mut self.passed_on);
        self.used -= granted;
        u32::try_from(granted).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn windows_are_smaller_if_there_are_many() {
        assert_eq!(window_bytes(0), WINDOW_MAX_BYTES);
        assert_eq!(window_bytes(64), WINDOW_MAX_BYTES);
        assert_eq!(window_bytes(512), 128 << 10);
        assert_eq!(window_bytes(4096), WINDOW_MIN_BYTES);
    }

    #[test]
    fn more_than_the_credit_is_refused() {
        let mut window = CreditWindow::new(10);
        assert!(window.receive(8) && !window.receive(3) && window.receive(2));
        assert_eq!(window.pass_on(1), None);
        assert_eq!(window.pass_on(5), Some(6));
        assert!(window.receive(6) && !window.receive(1));
        // No receiver passes on what it has not received.
        assert_eq!(window.pass_on(99), Some(10));
        let mut credit = StreamCredit::new(10);
        credit.spend(4);
        credit.grant(u32::MAX);
        assert_eq!(credit.left(), 10);
    }

    proptest! {
        /// The receiver holds at most a window, and the sender never waits for ever.
        #[test]
        fn everything_arrives_and_the_window_holds(
            size in 1_usize..200, steps in vec((any::<bool>(), 1_usize..60), 0..200),
        ) {
            let (mut credit, mut window) = (StreamCredit::new(size), CreditWindow::new(size));
            let (mut wire, mut held, mut sent, mut passed) = (0, 0, 0, 0);
            for (is_send, count) in steps {
                if is_send {
                    let count = count.min(credit.left());
                    credit.spend(count);
                    wire += count;
                    sent += count;
                } else {
                    prop_assert!(window.receive(wire));
                    held += std::mem::take(&mut wire);
                    prop_assert!(held <= size);
                    let count = count.min(held);
                    held -= count;
                    passed += count;
                    window.pass_on(count).into_iter().for_each(|bytes| credit.grant(bytes));
                }
            }
            prop_assert!(window.receive(wire));
            passed += held + wire;
            window.pass_on(held + wire).into_iter().for_each(|bytes| credit.grant(bytes));
            prop_assert_eq!(sent, passed);
            prop_assert!(credit.left() > size / 2);
        }
    }
}
