//! Requests of one-sided operations in messages, from an origin to its target.
//!
//! ```text
//!   origin                                                        target
//!   request (tag 0): operation, range, type, short data  ──────>  in the order of sending
//!   long data (a tag of its own)                         ──────>  into the memory of the range
//!                                                        <──────  answer (that tag as an answer)
//! ```
//!
//! All travel on the private communicator of a window. Which requests wait for others is not in this
//! module.

use std::sync::Arc;

use super::byte_reader::ByteReader;
use super::conflicts::{AccessKind, EpochKind};
use super::layout_message;
use super::signature_message;
use crate::engine::memory::layout::Layout;
use crate::mpi::datatype::Datatype;
use crate::mpi::handle::Handle;
use crate::mpi::op::Operator;
use crate::shared_memory::turn_lock::LockKind;

/// The tag of requests.
pub(super) const REQUEST_TAG: i32 = 0;
/// The bit of the tags of answers.
const ANSWER: i32 = 1 << 30;
/// The longest data inside a request, in bytes.
pub(super) const INLINE_MAX: usize = 1024;

/// The tag of long data of one operation, unique among the operations of an origin in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataTag(i32);

impl DataTag {
    pub(super) const FIRST: Self = Self(1);

    pub(super) fn next(self) -> Self {
        Self(if self.0 == ANSWER - 1 { 1 } else { self.0 + 1 })
    }

    /// The tag of the data.
    pub(super) fn data(self) -> i32 {
        self.0
    }

    /// The tag of the answer.
    pub(super) fn answer(self) -> i32 {
        self.0 | ANSWER
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(super) enum WindowRequest<'a> {
    Put {
        range: TargetRange,
        data: Data<'a>,
        /// When it is done.
        answer: Option<DataTag>,
    },
    Get {
        range: TargetRange,
        answer: DataTag,
    },
    Accumulate {
        range: TargetRange,
        operator: Operator,
        unit: UnitHandles,
        data: Data<'a>,
        answer: AccumulateAnswer,
    },
    /// The data are the number to compare with, and the new one.
    CompareAndSwap {
        range: TargetRange,
        unit: UnitHandles,
        data: Data<'a>,
        answer: DataTag,
    },
    /// An answer after all earlier operations of the origin.
    Flush {
        answer: DataTag,
    },
    /// Later requests of the origin wait for the lock.
    Lock {
        kind: LockKind,
        answer: DataTag,
    },
    /// The same for `MPI_Win_lock_all`.
    LockAll {
        answer: Option<DataTag>,
    },
    /// The origin asks for locks by requests from now on, and holds this one already.
    HandOver {
        held: Option<LockKind>,
    },
    /// Ends the lock after all earlier operations.
    Unlock {
        answer: DataTag,
    },
    /// The sender has exposed its memory (`MPI_Win_post`).
    Post,
    /// The origin has completed its access epoch (`MPI_Win_complete`).
    Complete,
    /// An operation of the origin is in progress, by whichever way: for the checked mode.
    Access {
        range: TargetRange,
        kind: AccessKind,
        epoch: EpochKind,
    },
}

/// Memory of a target.
#[derive(Clone, Debug)]
pub(super) struct TargetRange {
    /// Bytes from the base of the window; an address in a dynamic window.
    pub(super) offset: i64,
    pub(super) count: u64,
    pub(super) layout: LayoutName,
    /// What the elements are, if data is "external32" on its way.
    pub(super) signature: Option<Datatype>,
}

/// How a request names a layout.
#[derive(Clone, Debug)]
pub(super) enum LayoutName {
    /// Adjacent bytes.
    Dense(u64),
    /// The layout that an earlier request has put in this slot.
    Slot(u8),
    /// A layout that is now in this slot.
    New(u8, Arc<Layout>),
}

/// Data of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data<'a> {
    Inline(&'a [u8]),
    /// That many bytes in a message with this tag.
    Follows(DataTag, u64),
}

/// The answer to an accumulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccumulateAnswer {
    None,
    /// The old values.
    Fetched(DataTag),
    /// [`AccumulateAnswer::DONE`], when the operation is complete. A refusal is shorter.
    Done(DataTag),
}

/// The predefined datatype of all data; of a pair without a handle, those of its value and its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnitHandles(pub(super) [Handle; 2]);

const PUT: u8 = 1;
const GET: u8 = 2;
const ACCUMULATE: u8 = 3;
const COMPARE_AND_SWAP: u8 = 4;
const FLUSH: u8 = 5;
const LOCK: u8 = 6;
const UNLOCK: u8 = 7;
const POST: u8 = 8;
const COMPLETE: u8 = 9;
const LOCK_ALL: u8 = 10;
const ACCESS: u8 = 11;
const HAND_OVER: u8 = 12;

/// Bit of the kind of a layout in a range that has a signature.
const SIGNED: u8 = 1 << 4;

impl WindowRequest<'_> {
    pub(super) fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        match self {
            Self::Put { range, data, answer } => {
                out.push(PUT);
                range.emit(&mut out);
                push(&mut out, answer.map_or(0, |tag| tag.0 as u64));
                data.emit(&mut out);
            }
            Self::Get { range, answer } => {
                out.push(GET);
                range.emit(&mut out);
                push(&mut out, answer.0 as u64);
            }
            Self::Accumulate { range, operator, unit, data, answer } => {
                out.push(ACCUMULATE);
                range.emit(&mut out);
                push(&mut out, *operator as u64);
                unit.emit(&mut out);
                answer.emit(&mut out);
                data.emit(&mut out);
            }
            Self::CompareAndSwap { range, unit, data, answer } => {
                out.push(COMPARE_AND_SWAP);
                range.emit(&mut out);
                unit.emit(&mut out);
                push(&mut out, answer.0 as u64);
                data.emit(&mut out);
            }
            Self::Flush { answer } => emit_tag(FLUSH, *answer, &mut out),
            Self::Unlock { answer } => emit_tag(UNLOCK, *answer, &mut out),
            Self::HandOver { held } => {
                out.extend([HAND_OVER, u8::from(held.is_some())]);
                out.extend(held.map(kind_byte));
            }
            Self::Lock { kind, answer } => {
                out.push(LOCK);
                out.push(kind_byte(*kind));
                push(&mut out, answer.0 as u64);
            }
            Self::LockAll { answer } => {
                out.push(LOCK_ALL);
                push(&mut out, answer.map_or(0, |tag| tag.0 as u64));
            }
            Self::Post => out.push(POST),
            Self::Complete => out.push(COMPLETE),
            Self::Access { range, kind, epoch } => {
                out.push(ACCESS);
                range.emit(&mut out);
                kind.words().into_iter().chain(epoch.words()).for_each(|word| push(&mut out, word));
            }
        }
        out
    }
}

impl<'a> WindowRequest<'a> {
    /// The request of a message; `None` if it makes no sense.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut from = ByteReader::new(bytes);
        Some(match from.byte()? {
            PUT => Self::Put {
                range: TargetRange::parse(&mut from)?,
                answer: parse_optional_tag(&mut from)?,
                data: Data::parse(&mut from)?,
            },
            GET => {
                Self::Get { range: TargetRange::parse(&mut from)?, answer: parse_tag(&mut from)? }
            }
            ACCUMULATE => Self::Accumulate {
                range: TargetRange::parse(&mut from)?,
                operator: Operator::of_handle(from.number()?)?,
                unit: UnitHandles::parse(&mut from)?,
                answer: AccumulateAnswer::parse(&mut from)?,
                data: Data::parse(&mut from)?,
            },
            COMPARE_AND_SWAP => Self::CompareAndSwap {
                range: TargetRange::parse(&mut from)?,
                unit: UnitHandles::parse(&mut from)?,
                answer: parse_tag(&mut from)?,
                data: Data::parse(&mut from)?,
            },
            FLUSH => Self::Flush { answer: parse_tag(&mut from)? },
            UNLOCK => Self::Unlock { answer: parse_tag(&mut from)? },
            LOCK => Self::Lock { kind: parse_kind(&mut from)?, answer: parse_tag(&mut from)? },
            HAND_OVER => Self::HandOver {
                held: match from.byte()? {
                    0 => None,
                    1 => Some(parse_kind(&mut from)?),
                    _ => return None,
                },
            },
            LOCK_ALL => Self::LockAll { answer: parse_optional_tag(&mut from)? },
            POST => Self::Post,
            COMPLETE => Self::Complete,
            ACCESS => Self::Access {
                range: TargetRange::parse(&mut from)?,
                kind: AccessKind::of_words([from.number()?, from.number()?])?,
                epoch: EpochKind::of_words([from.number()?, from.number()?])?,
            },
            _ => return None,
        })
    }
}

impl TargetRange {
    fn emit(&self, out: &mut Vec<u8>) {
        push(out, self.offset as u64);
        push(out, self.count);
        let signed = if self.signature.is_some() { SIGNED } else { 0 };
        match &self.layout {
            LayoutName::Dense(size) => {
                out.push(signed);
                push(out, *size);
            }
            LayoutName::Slot(slot) => out.extend([1 | signed, *slot]),
            LayoutName::New(slot, layout) => {
                out.extend([2 | signed, *slot]);
                layout_message::emit(layout, out);
            }
        }
        self.signature.iter().for_each(|signature| signature_message::emit(signature, out));
    }

    fn parse(from: &mut ByteReader<'_>) -> Option<Self> {
        let (offset, count) = (from.number()? as i64, from.number()?);
        let kind = from.byte()?;
        let layout = match kind & !SIGNED {
            0 => LayoutName::Dense(from.number()?),
            1 => LayoutName::Slot(from.byte()?),
            2 => LayoutName::New(from.byte()?, layout_message::parse(from)?),
            _ => return None,
        };
        let signature = match kind & SIGNED {
            0 => None,
            _ => Some(signature_message::parse(from)?),
        };
        Some(Self { offset, count, layout, signature })
    }
}

impl<'a> Data<'a> {
    pub(super) fn len(self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::Follows(_, len) => len,
        }
    }

    fn emit(self, out: &mut Vec<u8>) {
        match self {
            Self::Inline(bytes) => {
                push(out, 0);
                out.extend_from_slice(bytes);
            }
            Self::Follows(tag, len) => {
                push(out, tag.0 as u64);
                push(out, len);
            }
        }
    }

    /// The last part of a request.
    fn parse(from: &mut ByteReader<'a>) -> Option<Self> {
        Some(match parse_optional_tag(from)? {
            None => Self::Inline(from.rest()),
            Some(tag) => Self::Follows(tag, from.number()?),
        })
    }
}

impl AccumulateAnswer {
    /// The bytes of an answer without old values.
    pub(super) const DONE: [u8; 1] = [0];

    pub(super) fn tag(self) -> Option<DataTag> {
        match self {
            Self::None => None,
            Self::Fetched(tag) | Self::Done(tag) => Some(tag),
        }
    }

    fn emit(self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::None => 0,
            Self::Fetched(_) => 1,
            Self::Done(_) => 2,
        });
        push(out, self.tag().map_or(0, |tag| tag.0 as u64));
    }

    fn parse(from: &mut ByteReader<'_>) -> Option<Self> {
        Some(match (from.byte()?, parse_optional_tag(from)?) {
            (0, None) => Self::None,
            (1, Some(tag)) => Self::Fetched(tag),
            (2, Some(tag)) => Self::Done(tag),
            _ => return None,
        })
    }
}

impl UnitHandles {
    pub(super) fn emit(self, out: &mut Vec<u8>) {
        self.0.into_iter().for_each(|handle| push(out, handle.into()));
    }

    pub(super) fn parse(from: &mut ByteReader<'_>) -> Option<Self> {
        let [first, second] = [from.number()?, from.number()?].map(Handle::try_from);
        Some(Self([first.ok()?, second.ok()?]))
    }
}

fn kind_byte(kind: LockKind) -> u8 {
    u8::from(kind == LockKind::Exclusive)
}

fn parse_kind(from: &mut ByteReader<'_>) -> Option<LockKind> {
    match from.byte()? {
        0 => Some(LockKind::Shared),
        1 => Some(LockKind::Exclusive),
        _ => None,
    }
}

fn emit_tag(kind: u8, tag: DataTag, out: &mut Vec<u8>) {
    out.push(kind);
    push(out, tag.0 as u64);
}

fn parse_tag(from: &mut ByteReader<'_>) -> Option<DataTag> {
    parse_optional_tag(from)?
}

/// A tag, or 0 for none; outside: not a tag.
fn parse_optional_tag(from: &mut ByteReader<'_>) -> Option<Option<DataTag>> {
    match i32::try_from(from.number()?).ok()? {
        0 => Some(None),
        tag if (1..ANSWER).contains(&tag) => Some(Some(DataTag(tag))),
        _ => None,
    }
}

fn push(out: &mut Vec<u8>, word: u64) {
    out.extend_from_slice(&word.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<WindowRequest<'static>> {
        let layout = LayoutName::Dense(24);
        let dense = TargetRange { offset: -8, count: 3, layout, signature: None };
        let slot = TargetRange { layout: LayoutName::Slot(9), ..dense.clone() };
        let layout = Arc::new(Layout::dense(8).resized(0, 24).unwrap());
        let new = TargetRange { layout: LayoutName::New(255, layout), ..dense.clone() };
        let (tag, unit) = (DataTag(7), UnitHandles([0x209, 0x20a]));
        let inline = Data::Inline(&[1, 2, 3]);
        let (operator, shared) = (Operator::Maxloc, LockKind::Shared);
        vec![
            WindowRequest::Put { range: dense.clone(), data: inline, answer: Some(tag) },
            WindowRequest::Put {
                range: slot.clone(),
                data: Data::Follows(DataTag(ANSWER - 1), 1 << 40),
                answer: None,
            },
            WindowRequest::Get { range: new.clone(), answer: tag },
            WindowRequest::HandOver { held: None },
            WindowRequest::HandOver { held: Some(LockKind::Exclusive) },
            WindowRequest::Accumulate {
                range: dense.clone(),
                operator,
                unit,
                data: inline,
                answer: AccumulateAnswer::None,
            },
            WindowRequest::Accumulate {
                range: slot,
                operator,
                unit,
                data: inline,
                answer: AccumulateAnswer::Done(tag),
            },
            WindowRequest::Access {
                range: new.clone(),
                kind: AccessKind::Accumulate(operator),
                epoch: EpochKind::Fence(1 << 40),
            },
            WindowRequest::Accumulate {
                range: new,
                operator,
                unit,
                data: inline,
                answer: AccumulateAnswer::Fetched(tag),
            },
            WindowRequest::CompareAndSwap { range: dense, unit, data: inline, answer: tag },
            WindowRequest::Flush { answer: tag },
            WindowRequest::Lock { kind: shared, answer: tag },
            WindowRequest::LockAll { answer: None },
            WindowRequest::Lock { kind: LockKind::Exclusive, answer: tag },
            WindowRequest::LockAll { answer: Some(tag) },
            WindowRequest::Unlock { answer: tag },
            WindowRequest::Post,
            WindowRequest::Complete,
        ]
    }

    #[test]
    fn requests_read_back() {
        for request in all() {
            let bytes = request.emit();
            let parsed = WindowRequest::parse(&bytes).unwrap();
            assert_eq!(parsed.emit(), bytes);
            assert_eq!(format!("{parsed:?}"), format!("{request:?}"));
        }
    }

    #[test]
    fn damaged_requests_do_no_harm() {
        for request in all() {
            let bytes = request.emit();
            for position in 0..bytes.len() {
                drop(WindowRequest::parse(&bytes[..position]));
                for value in [0, 1, 2, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[position] = value;
                    drop(WindowRequest::parse(&damaged));
                }
            }
        }
        assert!(WindowRequest::parse(&[]).is_none());
        assert!(WindowRequest::parse(&[FLUSH, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
    }

    #[test]
    fn tags_return_to_the_first() {
        assert_eq!(DataTag(ANSWER - 1).next(), DataTag::FIRST);
        assert_eq!(DataTag::FIRST.answer(), ANSWER + 1);
    }
}
