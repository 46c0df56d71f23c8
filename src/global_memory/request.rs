//! Requests to the owner of memory, in messages.
//!
//! ```text
//!   origin                                                    owner
//!   request (REQUEST_TAG): ticket, kind, words, short data ──>  in the order of sending
//!   long data (a tag of the ticket)                        ──>  of a store
//!                            answer (ANSWER_TAG): ticket   <──  with the old number, or why not
//!                            data (a tag of the ticket)    <──  of a load, behind its answer
//! ```
//!
//! All numbers have 8 bytes, the lowest first. What makes no sense is an error of the sender.

use super::address::GlobalAddress;
use crate::device::rma::{NumberKind, Update};
use platform::base::{ErrorClass, ErrorCode, MpiError, Result};

/// The tag of requests.
pub(crate) const REQUEST_TAG: i32 = 0;
/// The tag of answers.
pub(crate) const ANSWER_TAG: i32 = 1;
/// The longest data inside a request, in bytes.
pub(crate) const INLINE_MAX: usize = 1024;
/// The longest sentence of an answer, in bytes.
const SENTENCE_MAX: usize = 500;

/// The words of a request before its data.
const WORDS: usize = 6;

/// Names a request of an origin until it has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestTicket(u32);

/// What the owner of memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryRequest<'a> {
    /// Copies own memory to memory of any rank.
    Copy { to: GlobalAddress, from: GlobalAddress, len: u64 },
    /// Changes a number of the own memory.
    Update { at: GlobalAddress, kind: NumberKind, update: Update },
    /// Writes data to the own memory.
    Store { to: GlobalAddress, data: RequestData<'a> },
    /// Sends own memory.
    Load { from: GlobalAddress, len: u64 },
}

/// The data of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestData<'a> {
    Inline(&'a [u8]),
    /// So many bytes follow in a message of their own.
    Follows(u64),
}

/// The end of a request: the old number of an update, else 0.
#[derive(Debug)]
pub(crate) struct RequestAnswer {
    pub(crate) ticket: RequestTicket,
    pub(crate) end: Result<u64>,
}

impl RequestTicket {
    /// The tags of data begin behind the two of messages.
    const TAGS: u32 = (1 << 30) - 2;

    pub(crate) fn next(self) -> Self {
        Self((self.0 + 1) % Self::TAGS)
    }

    /// The tag of its data.
    pub(crate) fn data_tag(self) -> i32 {
        self.0 as i32 + ANSWER_TAG + 1
    }

    /// As a number.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    fn of_word(word: u64) -> Option<Self> {
        u32::try_from(word).ok().filter(|number| *number < Self::TAGS).map(Self)
    }
}

impl From<u32> for RequestTicket {
    fn from(number: u32) -> Self {
        Self(number % Self::TAGS)
    }
}

impl<'a> MemoryRequest<'a> {
    const COPY: u64 = 0;
    const UPDATE: u64 = 1;
    const STORE: u64 = 2;
    const STORE_INLINE: u64 = 3;
    const LOAD: u64 = 4;

    /// The request as a message.
    pub(crate) fn emit(&self, ticket: RequestTicket) -> Vec<u8> {
        let mut data: &[u8] = &[];
        let (kind, words) = match *self {
            Self::Copy { to, from, len } => (Self::COPY, [to.0, from.0, len, 0]),
            Self::Update { at, kind, update } => {
                let (_, operands) = update.parts();
                let code = u64::from(update.code_of(kind));
                (Self::UPDATE, [at.0, code, operands[0], operands[1]])
            }
            Self::Store { to, data: RequestData::Inline(bytes) } => {
                data = bytes;
                (Self::STORE_INLINE, [to.0, bytes.len() as u64, 0, 0])
            }
            Self::Store { to, data: RequestData::Follows(len) } => (Self::STORE, [to.0, len, 0, 0]),
            Self::Load { from, len } => (Self::LOAD, [from.0, len, 0, 0]),
        };
        let head = [u64::from(ticket.0), kind];
        let words = head.into_iter().chain(words).flat_map(u64::to_le_bytes);
        words.chain(data.iter().copied()).collect()
    }

    /// The request of a message; `None` if it makes no sense.
    pub(crate) fn parse(message: &'a [u8]) -> Option<(RequestTicket, Self)> {
        let (head, data) = message.split_at_checked(8 * WORDS)?;
        let mut words =
            head.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(*word.first_chunk()?)));
        let mut next = || words.next();
        let (ticket, kind) = (RequestTicket::of_word(next()?)?, next()?);
        let address = GlobalAddress(next()?);
        let (one, two, three) = (next()?, next()?, next()?);
        let request = match kind {
            Self::COPY => Self::Copy { to: address, from: GlobalAddress(one), len: two },
            Self::UPDATE => {
                let code = u8::try_from(one).ok()?;
                let (update, kind) = Update::of_code(code, [two, three])?;
                Self::Update { at: address, kind, update }
            }
            Self::STORE => Self::Store { to: address, data: RequestData::Follows(one) },
            Self::STORE_INLINE if one == data.len() as u64 => {
                Self::Store { to: address, data: RequestData::Inline(data) }
            }
            Self::LOAD => Self::Load { from: address, len: one },
            _ => return None,
        };
        (kind == Self::STORE_INLINE || data.is_empty()).then_some((ticket, request))
    }
}

impl RequestAnswer {
    /// The answer as a message.
    pub(crate) fn emit(&self) -> Vec<u8> {
        let (class, number, sentence) = match &self.end {
            Ok(old) => (0, *old, ""),
            Err(error) => (error.code.0, 0, error.why.as_str()),
        };
        let words = [u64::from(self.ticket.0), u64::from(class.cast_unsigned()), number];
        let sentence = &sentence[..sentence.floor_char_boundary(SENTENCE_MAX)];
        words.into_iter().flat_map(u64::to_le_bytes).chain(sentence.bytes()).collect()
    }

    /// The answer of a message; `None` if it makes no sense.
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let (head, sentence) = message.split_at_checked(24)?;
        let word = |at: usize| Some(u64::from_le_bytes(*head.get(8 * at..)?.first_chunk()?));
        let ticket = RequestTicket::of_word(word(0)?)?;
        let class = u32::try_from(word(1)?).ok()?.cast_signed();
        let end = match class {
            0 => Ok(word(2)?),
            class => Err(MpiError::new(ErrorCode(class), String::from_utf8_lossy(sentence))),
        };
        Some(Self { ticket, end })
    }
}

/// A message of another rank makes no sense.
#[cold]
pub(crate) fn senseless(rank: u32, len: usize) -> Box<MpiError> {
    let why = format!("rank {rank} sent a message of {len} bytes that is no request and no answer");
    ErrorClass::Intern.error(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_and_answers_come_back() {
        let (one, two) = (GlobalAddress(0x1234_5678_9abc), GlobalAddress(u64::MAX));
        let ticket = RequestTicket::from(7);
        let requests = [
            MemoryRequest::Copy { to: one, from: two, len: 1 << 40 },
            MemoryRequest::Update {
                at: two,
                kind: NumberKind::Unsigned4,
                update: Update::CompareSwap(3, u64::MAX),
            },
            MemoryRequest::Store { to: one, data: RequestData::Inline(b"some") },
            MemoryRequest::Store { to: one, data: RequestData::Follows(5) },
            MemoryRequest::Load { from: two, len: 0 },
        ];
        for request in requests {
            let message = request.emit(ticket);
            assert_eq!(MemoryRequest::parse(&message), Some((ticket, request)));
            assert_eq!(MemoryRequest::parse(&message[..message.len() - 1]), None);
            let longer = [&message[..], &[0]].concat();
            assert_eq!(MemoryRequest::parse(&longer), None);
        }
        let answer = |end| RequestAnswer { ticket, end };
        let parsed = RequestAnswer::parse(&answer(Ok(9)).emit()).unwrap();
        assert_eq!((parsed.ticket, parsed.end.ok()), (ticket, Some(9)));
        let error = ErrorClass::RmaRange.error("é".repeat(400));
        let parsed = RequestAnswer::parse(&answer(Err(error)).emit()).unwrap();
        assert_eq!(parsed.end.unwrap_err().why, "é".repeat(250));
    }

    #[test]
    fn tickets_have_tags_of_their_own() {
        let [first, last] = [0, RequestTicket::TAGS - 1].map(RequestTicket::from);
        assert_eq!(last.next(), first);
        let tags = [first, first.next(), last].map(RequestTicket::data_tag);
        assert!(tags[0] > ANSWER_TAG.max(REQUEST_TAG) && tags.is_sorted() && tags[2] > 0);
    }

    proptest! {
        #[test]
        fn any_message_is_parsed(message in prop::collection::vec(any::<u8>(), 0..100), kind in 0..6_u8) {
            let mut message = message;
            let _ = (MemoryRequest::parse(&message), RequestAnswer::parse(&message));
            if message.len() > 16 {
                message[..16].fill(0);
                message[8] = kind;
                let _ = MemoryRequest::parse(&message);
            }
        }
    }
}
