//! Frames of one-sided accesses, from the rank that accesses memory (the origin) to its owner, and back.
//!
//! ```text
//!   origin ── Put, or BeginPut and PutData … ──> owner ── Completed { count } ──> origin
//!          ── Get ─────────────────────────────>       ── GetData … ───────────>
//!          ── Update ──────────────────────────>       ── Old ─────────────────>
//!             any of them, when all of it is there     ── Refused ─────────────>
//! ```
//!
//! The owner answers requests in their order, so an answer belongs to the oldest request without one.
//! `Completed` stands for as many as it counts. A frame is a packet of its link: it arrives exactly once,
//! in order, also over connections that are lost.
//!
//! The words of its header hold a key and an offset, or a number. All numbers are little-endian.

use super::frame::FRAME_ACCESS_MAX;
use crate::device::Header;
use crate::device::rma::{MemoryKey, NumberKind, PutSignal, Update};
use platform::base::{ErrorClass, MpiError};

/// The longest data of a frame, in bytes.
pub(crate) const PIECE_MAX: usize = FRAME_ACCESS_MAX;

/// The longest sentence of a refusal, in bytes.
const SENTENCE_MAX: usize = 500;

/// Below it, the kind of a frame is that of an update.
const PUT: u8 = 64;
const BEGIN_PUT: u8 = 65;
const PUT_DATA: u8 = 66;
const GET: u8 = 67;
const COMPLETED: u8 = 128;
const OLD: u8 = 129;
const GET_DATA: u8 = 130;
const REFUSED: u8 = 131;

/// A frame; `D` is its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessFrame<D> {
    /// Writes all of a put.
    Put { key: MemoryKey, offset: u64, data: D },
    /// Begins a put of `len` bytes.
    BeginPut { key: MemoryKey, offset: u64, len: u64, signal: Option<PutSignal> },
    /// The next bytes of the put that was begun.
    PutData(D),
    /// Asks for `len` bytes.
    Get { key: MemoryKey, offset: u64, len: u64 },
    /// Changes a number.
    Update { key: MemoryKey, offset: u64, kind: NumberKind, update: Update },
    /// So many puts are complete.
    Completed(u64),
    /// The old value of a number.
    Old(u64),
    /// The next bytes of a get.
    GetData(D),
    /// An access has failed: the class of the error, and a sentence.
    Refused(i32, D),
}

/// What follows the header of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AccessBody<D> {
    /// The first bytes of these.
    Numbers([u8; 32], usize),
    Data(D),
}

impl<D> AccessFrame<D> {
    /// The header of the frame, and what follows it.
    pub(crate) fn emit(self) -> (Header, AccessBody<D>) {
        let header = |kind, words| Header { words, kind };
        match self {
            Self::Put { key, offset, data } => {
                (header(PUT, [key.0, offset]), AccessBody::Data(data))
            }
            Self::BeginPut { key, offset, len, signal } => {
                let none = PutSignal { key: MemoryKey(0), offset: 0, addend: 0 };
                let signal = signal.unwrap_or(none);
                let numbers = [len, signal.key.0, signal.offset, signal.addend];
                (header(BEGIN_PUT, [key.0, offset]), AccessBody::numbers(&numbers))
            }
            Self::PutData(data) => (header(PUT_DATA, [0; 2]), AccessBody::Data(data)),
            Self::Get { key, offset, len } => {
                (header(GET, [key.0, offset]), AccessBody::numbers(&[len]))
            }
            Self::Update { key, offset, kind, update } => {
                let (_, operands) = update.parts();
                (header(update.code_of(kind), [key.0, offset]), AccessBody::numbers(&operands))
            }
            Self::Completed(count) => (header(COMPLETED, [count, 0]), AccessBody::numbers(&[])),
            Self::Old(old) => (header(OLD, [old, 0]), AccessBody::numbers(&[])),
            Self::GetData(data) => (header(GET_DATA, [0; 2]), AccessBody::Data(data)),
            Self::Refused(class, why) => {
                let word = u64::from(class.cast_unsigned());
                (header(REFUSED, [word, 0]), AccessBody::Data(why))
            }
        }
    }
}

impl<D> AccessBody<D> {
    fn numbers(numbers: &[u64]) -> Self {
        let mut bytes = [0; 32];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        Self::Numbers(bytes, 8 * numbers.len())
    }
}

impl<'a> AccessFrame<&'a [u8]> {
    /// The frame; `None` if it has no meaning.
    pub(crate) fn parse(header: &Header, data: &'a [u8]) -> Option<Self> {
        let [first, offset] = header.words;
        let key = MemoryKey(first);
        Some(match header.kind {
            PUT => Self::Put { key, offset, data },
            BEGIN_PUT => {
                let [len, signal_key, signal_offset, addend] = numbers(data)?;
                let signal_key = MemoryKey(signal_key);
                let signal = PutSignal { key: signal_key, offset: signal_offset, addend };
                let signal = (signal_key != MemoryKey(0)).then_some(signal);
                Self::BeginPut { key, offset, len, signal }
            }
            PUT_DATA => Self::PutData(data),
            GET => {
                let [len] = numbers(data)?;
                Self::Get { key, offset, len }
            }
            COMPLETED => {
                let [] = numbers(data)?;
                Self::Completed(first)
            }
            OLD => {
                let [] = numbers(data)?;
                Self::Old(first)
            }
            GET_DATA => Self::GetData(data),
            REFUSED => Self::Refused((first as u32).cast_signed(), data),
            code => {
                let (update, kind) = Update::of_code(code, numbers(data)?)?;
                Self::Update { key, offset, kind, update }
            }
        })
    }
}

/// All of `data` as numbers.
fn numbers<const N: usize>(data: &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    if data.len() != 8 * N {
        return None;
    }
    for (number, bytes) in numbers.iter_mut().zip(data.chunks_exact(8)) {
        *number = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(numbers)
}

/// The sentence of an error as data of a refusal: its beginning if it is long.
pub(crate) fn sentence(error: &MpiError) -> &[u8] {
    let why = error.why.as_bytes();
    &why[..why.len().min(SENTENCE_MAX)]
}

/// The error of a refusal.
pub(crate) fn refusal(class: i32, why: &[u8]) -> Box<MpiError> {
    let class = ErrorClass::from_value(class).unwrap_or(ErrorClass::Other);
    class.error(String::from_utf8_lossy(&why[..why.len().min(SENTENCE_MAX)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(body: AccessBody<&[u8]>) -> Vec<u8> {
        match body {
            AccessBody::Numbers(bytes, len) => bytes[..len].to_vec(),
            AccessBody::Data(data) => data.to_vec(),
        }
    }

    #[test]
    fn frames_are_read_back() {
        let (key, offset, data) = (MemoryKey(u64::MAX - 1), 1 << 60, &b"data"[..]);
        let signal = PutSignal { key: MemoryKey(7), offset: 8, addend: u64::MAX };
        let mut frames = vec![
            AccessFrame::Put { key, offset, data },
            AccessFrame::BeginPut { key, offset, len: 1 << 40, signal: Some(signal) },
            AccessFrame::BeginPut { key, offset, len: 0, signal: None },
            AccessFrame::PutData(data),
            AccessFrame::Get { key, offset, len: u64::MAX },
            AccessFrame::Completed(3),
            AccessFrame::Old(u64::MAX),
            AccessFrame::GetData(data),
            AccessFrame::Refused(-7, data),
        ];
        for code in 0..8 {
            let update = Update::from_parts(code, [3, if code == 7 { 4 } else { 0 }]).unwrap();
            let change = |kind| AccessFrame::Update { key, offset, kind, update };
            frames.extend(NumberKind::ALL.map(change));
        }
        for frame in frames {
            let (header, body) = frame.emit();
            assert_eq!(AccessFrame::parse(&header, &bytes(body)), Some(frame));
        }
    }

    proptest! {
        #[test]
        fn any_frames_are_taken(
            words: [u64; 2], kind: u8, data in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let header = Header { words, kind };
            if let Some(frame) = AccessFrame::parse(&header, &data) {
                let (again, body) = frame.emit();
                let bytes = bytes(body);
                prop_assert_eq!(AccessFrame::parse(&again, &bytes), Some(frame));
            }
        }
    }
}
