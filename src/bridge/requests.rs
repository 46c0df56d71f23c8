//! What both ends keep of a message whose data follows on request.
//!
//! ```text
//!   sender                                        receiver
//!   Announced ──DATASYNC, first bytes───────────> Announced ── the engine matches ──┐
//!       │    <──────────────────────SYNCACK────────────────────────────────────── Granted
//!   Granted ──DATA, the rest────────────────────> Granted, all bytes have arrived: end
//!       └── the last byte has left: end
//! ```
//!
//! A request has a number, which packets carry instead of an address. It is used again after 2^32 others.

use std::collections::HashMap;

use crate::engine::point_to_point::operation::OperationId;
use platform::base::Peer;

/// Requests under their numbers.
#[derive(Debug)]
pub(super) struct Requests<T> {
    all: HashMap<u32, T>,
    last: u32,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self { all: HashMap::new(), last: 0 }
    }
}

impl<T> Requests<T> {
    /// The number of the next request, never 0.
    pub(super) fn next(&self) -> u32 {
        let mut next = self.last;
        loop {
            next = next.wrapping_add(1);
            if next != 0 && !self.all.contains_key(&next) {
                return next;
            }
        }
    }

    /// Adds the request with the number [`Requests::next`].
    pub(super) fn add(&mut self, request: T) {
        self.last = self.next();
        self.all.insert(self.last, request);
    }

    /// The request that a packet names.
    pub(super) fn named(&mut self, number: u64) -> Option<&mut T> {
        self.all.get_mut(&u32::try_from(number).ok()?)
    }

    pub(super) fn get(&mut self, number: u32) -> Option<&mut T> {
        self.all.get_mut(&number)
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        self.all.remove(&number)
    }

    /// The number of the last one that `is_such`.
    pub(super) fn newest(&self, is_such: impl Fn(&T) -> bool) -> Option<u32> {
        let such = self.all.iter().filter(|(_, request)| is_such(request));
        such.map(|(number, _)| *number).min_by_key(|number| self.last.wrapping_sub(*number))
    }

    pub(super) fn any(&self, is_such: impl Fn(&T) -> bool) -> bool {
        self.all.values().any(is_such)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.all.retain(|_, request| keep(request));
    }
}

/// A message of this process.
#[derive(Debug)]
pub(super) struct AnnouncedSend {
    pub(super) to: Peer,
    /// The engine's operation.
    pub(super) operation: OperationId,
    /// Bytes of the message.
    pub(super) total: u64,
    /// Bytes that its first packet had.
    pub(super) announced: u64,
    /// The receiver's request, as it named it; `None` before the SYNCACK.
    pub(super) receiver: Option<u64>,
}

/// A message to this process.
#[derive(Debug)]
pub(super) struct AnnouncedReceive {
    pub(super) from: Peer,
    /// The sender's request, as it named it.
    pub(super) sender: u64,
    /// Bytes of the message.
    pub(super) total: u64,
    /// Bytes that have arrived, taken by the engine or not.
    pub(super) arrived: u64,
    /// The data of the first packet, until the engine takes it.
    pub(super) first: Vec<u8>,
    /// The engine's operation and the bytes that it takes, after the match.
    pub(super) receiver: Option<(OperationId, u64)>,
}
