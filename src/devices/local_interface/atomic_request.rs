//! Requests between interfaces: atomic updates of numbers, which the interface of the owner performs.
//!
//! ```text
//!   requester ── Update { ticket, key, offset, kind, update } ───>  owner: one update after another
//!             <───────────── Reply { ticket, old } ───────────────
//! ```
//!
//! A process cannot change a number in the memory of another process atomically, so the owner does;
//! such updates are atomic to the processors of the owner too, as on Tofu2 (the
//! hardware atomics of Nose et al., "Performance optimization of the ACP library"). A request is a packet in a queue of the
//! owner's area.

use crate::device::Header;
use crate::device::rma::{MemoryKey, NumberKind, Update};
use crate::devices::interface::ActionId;
use platform::base::{ErrorClass, Result, Span};

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
        /// The kind of the number.
        kind: NumberKind,
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

/// Smaller packet kinds are those of updates ([`Update::code_of`]).
const REPLY: u8 = 64;
const ERROR_REPLY: u8 = 65;

impl AtomicRequest {
    /// The packet of a request.
    pub(crate) fn pack(self) -> (Header, [u8; REQUEST_BYTES]) {
        let mut data = [0; REQUEST_BYTES];
        match self {
            Self::Update { ticket, key, offset, kind, update } => {
                let (_, [one, two]) = update.parts();
                for (at, number) in data.chunks_exact_mut(8).zip([offset, one, two]) {
                    at.copy_from_slice(&number.to_ne_bytes());
                }
                let kind = update.code_of(kind);
                (Header { words: [u64::from(ticket.0), key.0], kind }, data)
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
        match header.kind {
            REPLY => return Some(Self::Reply { ticket, old: Ok(word) }),
            ERROR_REPLY => return Some(Self::Reply { ticket, old: Err(word as i32) }),
            _ => (),
        }
        let (update, kind) = Update::of_code(header.kind, [number(1), number(2)])?;
        Some(Self::Update { ticket, key: MemoryKey(word), offset: number(0), kind, update })
    }
}

/// Updates a number at an address of this process; returns its old value.
///
/// # Errors
/// `Arg` if the address is no multiple of the length.
///
/// # Safety
/// The bytes are mapped there for reads and writes, and all other code allows that they change at any
/// time.
pub(crate) unsafe fn apply_update(address: u64, kind: NumberKind, update: Update) -> Result<u64> {
    let bytes = kind.bytes();
    if !address.is_multiple_of(bytes as u64) {
        let why =
            format!("address {address:#x} of an atomic number is no multiple of its {bytes} bytes");
        return Err(ErrorClass::Arg.error(why));
    }
    // SAFETY: the caller's contract.
    let number = unsafe { Span::new(address as *const u8, bytes) };
    Ok(update.perform(number, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_packed_and_unpacked() {
        let (ticket, key) = (ActionId(7), MemoryKey(u64::MAX - 3));
        let updates: Vec<_> =
            (0..).map_while(|code| Update::from_parts(code, [6, u64::MAX])).collect();
        assert_eq!(updates.len(), 8);
        let change = |update, kind| AtomicRequest::Update { ticket, key, offset: 99, kind, update };
        let changes =
            updates.iter().flat_map(|update| NumberKind::ALL.map(|kind| change(*update, kind)));
        let answers =
            [Ok(u64::MAX), Err(-1), Err(13)].map(|old| AtomicRequest::Reply { ticket, old });
        for request in changes.chain(answers) {
            let (header, data) = request.pack();
            assert_eq!(AtomicRequest::unpack(&header, &data), Some(request));
        }
        let strange = Header { words: [1, 2], kind: 63 };
        assert_eq!(AtomicRequest::unpack(&strange, &[0; REQUEST_BYTES]), None);
        assert_eq!(AtomicRequest::unpack(&Header::default(), &[]), None);
    }

    #[test]
    fn aligned_numbers_of_both_lengths_change() {
        let mut numbers = [5_u64, u64::MAX];
        let address = numbers.as_mut_ptr() as u64;
        let (four, eight) = (NumberKind::Unsigned4, NumberKind::Unsigned8);
        // SAFETY: both numbers are there until the end.
        unsafe {
            assert_eq!(apply_update(address, eight, Update::Add(3)).unwrap(), 5);
            assert_eq!(
                apply_update(address + 8, four, Update::Add(1)).unwrap(),
                u64::from(u32::MAX)
            );
            assert_eq!(apply_update(address, eight, Update::CompareSwap(8, 1)).unwrap(), 8);
            assert!(apply_update(address + 4, eight, Update::Add(1)).is_err());
        }
        assert_eq!(numbers[0], 1);
        assert_eq!(numbers[1] as u32, if cfg!(target_endian = "little") { 0 } else { u32::MAX });
    }
}
