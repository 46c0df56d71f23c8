//! Requests between interfaces: atomic updates of numbers, which the interface of the owner performs.
//!
//! ```text
//!   requester ── Update { ticket, key, offset, bytes, update } ──>  owner: one update after another
//!             <───────────── Reply { ticket, old } ───────────────
//! ```
//!
//! A process cannot change a number in the memory of another process atomically, so the engine thread
//! of the owner does; such updates are atomic to the processors of the owner too, as on Tofu2 (the
//! hardware atomics of Nose et al., "Performance optimization of the ACP library"). A request is a packet in a queue of the
//! owner's area.

use super::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::device::Header;
use crate::device::rma::{MemoryKey, Update};
use crate::devices::interface::ActionId;
use platform::base::{ErrorClass, Result};

/// A request, or the reply to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicRequest {
    /// Updates a number.
    Update {
        /// The action of the requester.
        ticket: ActionId,
        /// The memory of the number.
        key: MemoryKey,
        /// Offset in that memory, in bytes.
        offset: u64,
        /// Length of the number: 4 or 8.
        bytes: u8,
        /// The change.
        update: Update,
    },
    /// Result of an update.
    Reply {
        /// The action of the requester.
        ticket: ActionId,
        /// The old value, or an error class.
        old: Result<u64, i32>,
    },
}

/// Bytes of a request, beside the header.
pub(crate) const REQUEST_BYTES: usize = 24;

const REPLY: u8 = 64;
const ERROR_REPLY: u8 = 65;
/// Flag of an update: the number has 8 bytes.
const WIDE: u8 = 32;

impl AtomicRequest {
    /// The packet of a request.
    pub(crate) fn pack(self) -> (Header, [u8; REQUEST_BYTES]) {
        let mut data = [0; REQUEST_BYTES];
        match self {
            Self::Update { ticket, key, offset, bytes, update } => {
                let (code, one, two) = match update {
                    Update::Add(value) => (0, value, 0),
                    Update::And(value) => (1, value, 0),
                    Update::Or(value) => (2, value, 0),
                    Update::Xor(value) => (3, value, 0),
                    Update::Swap(value) => (4, value, 0),
                    Update::CompareSwap(expected, value) => (5, expected, value),
                };
                for (at, number) in data.chunks_exact_mut(8).zip([offset, one, two]) {
                    at.copy_from_slice(&number.to_ne_bytes());
                }
                let wide = if bytes == 8 { WIDE } else { 0 };
                (Header { words: [u64::from(ticket.0), key.0], kind: code | wide }, data)
            }
            Self::Reply { ticket, old } => {
                let (kind, word) = match old {
                    Ok(old) => (REPLY, old),
                    Err(class) => (ERROR_REPLY, class as u64),
                };
                (Header { words: [u64::from(ticket.0), word], kind }, data)
            }
        }
    }

    /// The request of a packet; `None` for an impossible packet.
    pub(crate) fn unpack(header: &Header, data: &[u8]) -> Option<Self> {
        let [ticket, word] = header.words;
        let ticket = ActionId(u32::try_from(ticket).ok()?);
        let data: &[u8; REQUEST_BYTES] = data.try_into().ok()?;
        let number =
            |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| data[8 * at + byte]));
        let (one, two) = (number(1), number(2));
        let update = match header.kind & !WIDE {
            0 => Update::Add(one),
            1 => Update::And(one),
            2 => Update::Or(one),
            3 => Update::Xor(one),
            4 => Update::Swap(one),
            5 => Update::CompareSwap(one, two),
            REPLY => return Some(Self::Reply { ticket, old: Ok(word) }),
            ERROR_REPLY => return Some(Self::Reply { ticket, old: Err(word as i32) }),
            _ => return None,
        };
        let bytes = if header.kind & WIDE != 0 { 8 } else { 4 };
        Some(Self::Update { ticket, key: MemoryKey(word), offset: number(0), bytes, update })
    }
}

/// Updates the number of `bytes` bytes at an address of this process; returns its old value.
///
/// # Errors
/// `Arg` if the address is no multiple of the length.
///
/// # Safety
/// The bytes are mapped there for reads and writes, and all other code allows that they change at any
/// time.
pub unsafe fn apply_update(address: u64, bytes: u8, update: Update) -> Result<u64> {
    if !address.is_multiple_of(u64::from(bytes)) {
        let why =
            format!("address {address:#x} of an atomic number is no multiple of its {bytes} bytes");
        return Err(ErrorClass::Arg.error(why));
    }
    let order = Ordering::SeqCst;
    // SAFETY: the caller's contract, and the alignment was checked; atomic accesses of this process do
    // not tear the number.
    let old = unsafe {
        if bytes == 8 {
            let number = AtomicU64::from_ptr(address as *mut u64);
            number.fetch_update(order, order, |old| Some(update.apply(old, 8)))
        } else {
            let number = AtomicU32::from_ptr(address as *mut u32);
            let new = |old| Some(update.apply(u64::from(old), 4) as u32);
            number.fetch_update(order, order, new).map(u64::from).map_err(u64::from)
        }
    };
    // The update is always `Some`.
    Ok(old.unwrap_or_else(|old| old))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_packed_and_unpacked() {
        let (ticket, key) = (ActionId(7), MemoryKey(u64::MAX - 3));
        let updates = [
            Update::Add(1),
            Update::And(2),
            Update::Or(3),
            Update::Xor(4),
            Update::Swap(5),
            Update::CompareSwap(6, u64::MAX),
        ];
        let change =
            |update, bytes| AtomicRequest::Update { ticket, key, offset: 99, bytes, update };
        let changes = updates.into_iter().flat_map(|update| [change(update, 4), change(update, 8)]);
        let answers =
            [Ok(u64::MAX), Err(-1), Err(13)].map(|old| AtomicRequest::Reply { ticket, old });
        for request in changes.chain(answers) {
            let (header, data) = request.pack();
            assert_eq!(AtomicRequest::unpack(&header, &data), Some(request));
        }
        let strange = Header { words: [1, 2], kind: 9 };
        assert_eq!(AtomicRequest::unpack(&strange, &[0; REQUEST_BYTES]), None);
        assert_eq!(AtomicRequest::unpack(&Header::default(), &[]), None);
    }

    #[test]
    fn aligned_numbers_of_both_lengths_change() {
        let mut numbers = [AtomicU64::new(5), AtomicU64::new(u64::MAX)];
        let address = numbers.as_mut_ptr() as u64;
        // SAFETY: both numbers are there until the end.
        unsafe {
            assert_eq!(apply_update(address, 8, Update::Add(3)).unwrap(), 5);
            assert_eq!(apply_update(address + 8, 4, Update::Add(1)).unwrap(), u64::from(u32::MAX));
            assert_eq!(apply_update(address, 8, Update::CompareSwap(8, 1)).unwrap(), 8);
            assert!(apply_update(address + 4, 8, Update::Add(1)).is_err());
        }
        let values = numbers.each_ref().map(|number| number.load(Ordering::SeqCst));
        assert_eq!(values[0], 1);
        assert_eq!(values[1] as u32, if cfg!(target_endian = "little") { 0 } else { u32::MAX });
    }
}
