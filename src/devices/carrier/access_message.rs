//! The messages of one-sided access, in the words and the data of a message with a header.
//!
//! ```text
//!   kind         words             data                                    answered by
//!   Put          key, offset       access: 8 | bytes                       Ended
//!   Get          key, offset       access: 8 | length: 8                   Data, all of it, or Ended
//!   Update       key, offset       access: 8 | code: 8 | operands: 2 x 8   Old or Ended
//!   Ask          key, 0                                                    Known or Unknown
//!   Ended        access, class     why: text; class 0 without an error
//!   Data         access, place     bytes
//!   Old          access, number
//!   Known        key, length       rights: 8 | address: 8 | key and address of the provider: 2 x 8
//!   Unknown      key, 0
//!   Closed       key, 0            the owner has ended the registration
//! ```
//!
//! An access has a number of its origin. Rights: 1, peers may write; 2, the provider reaches the memory.

use crate::device::Header;
use crate::device::rma::{MemoryKey, NumberKind, RemoteAccess, Update};
use platform::base::{ErrorClass, MpiError, Span};
use platform::sys::fabric::FabricPlace;

/// Bytes of a message of [`AccessMessage::Put`] beside those that are put.
pub(super) const PUT_BYTES: usize = 8;

const MAY_WRITE: u64 = 1;
const BY_PROVIDER: u64 = 2;

/// Memory of a peer, as its owner has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownMemory {
    pub(super) len: usize,
    pub(super) access: RemoteAccess,
    /// At the owner.
    pub(super) address: u64,
    /// For the provider, if that reaches it.
    pub(super) place: Option<FabricPlace>,
}

/// A message; `B` has its bytes.
#[derive(Clone, Debug)]
pub(super) enum AccessMessage<B> {
    Put { access: u64, key: MemoryKey, offset: u64, data: B },
    Get { access: u64, key: MemoryKey, offset: u64, len: u64 },
    Update { access: u64, key: MemoryKey, offset: u64, kind: NumberKind, update: Update },
    Ask(MemoryKey),
    Ended { access: u64, end: Result<(), (ErrorClass, B)> },
    Data { access: u64, at: u64, data: B },
    Old { access: u64, old: u64 },
    Known(MemoryKey, KnownMemory),
    Unknown(MemoryKey),
    Closed(MemoryKey),
}

/// The bytes of a message that is sent.
#[derive(Clone, Debug)]
pub(super) enum SentBytes {
    Memory(Span),
    Text(String),
}

/// A message as it is sent.
pub(super) struct EmittedMessage {
    pub(super) header: Header,
    numbers: [u64; 4],
    count: usize,
    bytes: Option<SentBytes>,
}

impl AccessMessage<SentBytes> {
    /// The answer to an access that has ended.
    pub(super) fn ended(access: u64, end: Result<(), Box<MpiError>>) -> Self {
        let of_error = |error: Box<MpiError>| {
            let class = ErrorClass::from_value(error.code.0).unwrap_or(ErrorClass::Other);
            (class, SentBytes::Text(error.why.to_string()))
        };
        Self::Ended { access, end: end.map_err(of_error) }
    }

    pub(super) fn emit(self) -> EmittedMessage {
        let (kind, words, (count, numbers)) = match &self {
            Self::Put { access, key, offset, .. } => (1, [key.0, *offset], some([*access])),
            Self::Get { access, key, offset, len } => (2, [key.0, *offset], some([*access, *len])),
            Self::Update { access, key, offset, kind, update } => {
                let (_, [one, two]) = update.parts();
                let code = u64::from(update.code_of(*kind));
                (3, [key.0, *offset], some([*access, code, one, two]))
            }
            Self::Ask(key) => (4, [key.0, 0], some([])),
            Self::Ended { access, end } => {
                let class = end.as_ref().err().map_or(0, |(class, _)| *class as u64);
                (5, [*access, class], some([]))
            }
            Self::Data { access, at, .. } => (6, [*access, *at], some([])),
            Self::Old { access, old } => (7, [*access, *old], some([])),
            Self::Known(key, known) => (8, [key.0, known.len as u64], some(known.numbers())),
            Self::Unknown(key) => (9, [key.0, 0], some([])),
            Self::Closed(key) => (10, [key.0, 0], some([])),
        };
        EmittedMessage { header: Header { words, kind }, numbers, count, bytes: self.into_bytes() }
    }

    fn into_bytes(self) -> Option<SentBytes> {
        match self {
            Self::Put { data, .. } | Self::Data { data, .. } => Some(data),
            Self::Ended { end, .. } => end.err().map(|(_, why)| why),
            _ => None,
        }
    }
}

/// So many numbers of a message.
fn some<const COUNT: usize>(numbers: [u64; COUNT]) -> (usize, [u64; 4]) {
    let mut all = [0; 4];
    all[..COUNT].copy_from_slice(&numbers);
    (COUNT, all)
}

impl EmittedMessage {
    /// Bytes of its data, at most `longest`: a text is cut.
    pub(super) fn len(&self, longest: usize) -> usize {
        let bytes = match &self.bytes {
            None => 0,
            Some(SentBytes::Memory(memory)) => memory.len(),
            Some(SentBytes::Text(text)) => text.len().min(longest - 8 * self.count),
        };
        8 * self.count + bytes
    }

    /// Writes its data.
    pub(super) fn fill(&self, data: &mut [u8]) {
        let (numbers, rest) = data.split_at_mut(8 * self.count);
        for (place, number) in numbers.as_chunks_mut::<8>().0.iter_mut().zip(self.numbers) {
            *place = number.to_ne_bytes();
        }
        match &self.bytes {
            None => {}
            Some(SentBytes::Memory(memory)) => match memory.number() {
                Some(number) => rest.copy_from_slice(&number.to_ne_bytes()[..rest.len()]),
                None => memory.read(0, rest),
            },
            Some(SentBytes::Text(text)) => rest.copy_from_slice(&text.as_bytes()[..rest.len()]),
        }
    }
}

impl<'a> AccessMessage<&'a [u8]> {
    /// Reads a message; `None` if it is none.
    pub(super) fn parse(header: &Header, data: &'a [u8]) -> Option<Self> {
        let [first, second] = header.words;
        let number = |index: usize| {
            data.as_chunks::<8>().0.get(index).map(|bytes| u64::from_ne_bytes(*bytes))
        };
        let (key, offset) = (MemoryKey(first), second);
        Some(match header.kind {
            1 => Self::Put { access: number(0)?, key, offset, data: &data[PUT_BYTES..] },
            2 => Self::Get { access: number(0)?, key, offset, len: number(1)? },
            3 => {
                let code = u8::try_from(number(1)?).ok()?;
                let (update, kind) = Update::of_code(code, [number(2)?, number(3)?])?;
                Self::Update { access: number(0)?, key, offset, kind, update }
            }
            4 => Self::Ask(key),
            5 if second == 0 => Self::Ended { access: first, end: Ok(()) },
            5 => {
                let class = ErrorClass::from_value(i32::try_from(second).ok()?)?;
                Self::Ended { access: first, end: Err((class, data)) }
            }
            6 => Self::Data { access: first, at: second, data },
            7 => Self::Old { access: first, old: second },
            8 => {
                let numbers = [number(0)?, number(1)?, number(2)?, number(3)?];
                Self::Known(key, KnownMemory::of(usize::try_from(second).ok()?, numbers))
            }
            9 => Self::Unknown(key),
            10 => Self::Closed(key),
            _ => return None,
        })
    }
}

impl KnownMemory {
    fn numbers(&self) -> [u64; 4] {
        let writes = if self.access == RemoteAccess::ReadWrite { MAY_WRITE } else { 0 };
        match self.place {
            Some(place) => [writes | BY_PROVIDER, self.address, place.key, place.address],
            None => [writes, self.address, 0, 0],
        }
    }

    fn of(len: usize, [rights, own_address, key, address]: [u64; 4]) -> Self {
        let access = match rights & MAY_WRITE {
            0 => RemoteAccess::Read,
            _ => RemoteAccess::ReadWrite,
        };
        let place = (rights & BY_PROVIDER != 0).then_some(FabricPlace { key, address });
        Self { len, access, address: own_address, place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(message: AccessMessage<SentBytes>, longest: usize) -> (Header, Vec<u8>) {
        let emitted = message.emit();
        let mut data = vec![0; emitted.len(longest)];
        emitted.fill(&mut data);
        (emitted.header, data)
    }

    #[test]
    fn messages_read_back() {
        let key = MemoryKey(3 << 40 | 5);
        let place = FabricPlace { key: u64::MAX, address: 9 };
        for place in [None, Some(place)] {
            let access = RemoteAccess::ReadWrite;
            let known = KnownMemory { len: 70, access, address: 1 << 40, place };
            let (header, data) = read_back(AccessMessage::Known(key, known), 64);
            let parsed = AccessMessage::parse(&header, &data);
            assert!(
                matches!(parsed, Some(AccessMessage::Known(k, same)) if k == key && same == known)
            );
        }
        let (kind, update) = (NumberKind::Float4, Update::CompareSwap(3, 4));
        let sent = AccessMessage::Update { access: 7, key, offset: 8, kind, update };
        let (header, data) = read_back(sent, 64);
        let parsed = AccessMessage::parse(&header, &data);
        let Some(AccessMessage::Update { access: 7, offset: 8, kind: k, update: u, .. }) = parsed
        else {
            panic!("{parsed:?}");
        };
        assert_eq!((k, u), (kind, update));
        assert!(AccessMessage::parse(&header, &data[..31]).is_none());
        assert!(AccessMessage::parse(&Header { kind: 11, ..header }, &data).is_none());
    }

    #[test]
    fn the_text_of_an_error_is_cut() {
        let error = ErrorClass::RmaRange.error("x".repeat(100));
        let (header, data) = read_back(AccessMessage::ended(5, Err(error)), 64);
        let parsed = AccessMessage::parse(&header, &data);
        let Some(AccessMessage::Ended { access: 5, end: Err((class, why)) }) = parsed else {
            panic!("{parsed:?}");
        };
        assert_eq!((class, why), (ErrorClass::RmaRange, &[b'x'; 64][..]));
        let (header, data) = read_back(AccessMessage::ended(5, Ok(())), 64);
        let parsed = AccessMessage::parse(&header, &data);
        assert!(matches!(parsed, Some(AccessMessage::Ended { access: 5, end: Ok(()) })));
    }
}
