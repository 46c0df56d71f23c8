//! Elements of hashed containers: how they are read and written.

use super::kind::{Content, Kind};
use crate::data::Element;
use crate::data::chain::Links;
use crate::failure::Failure;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words::{self, WORD};

/// Up to this many bytes of a key are read together with the words before it.
const KEY_AHEAD_MAX: u64 = 256;

/// What is to be inserted.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) key: Vec<u8>,
    pub(super) value: ItemValue,
    pub(super) count: u64,
}

/// The value of an item, in the memory of the caller or somewhere else.
#[derive(Debug)]
pub(super) enum ItemValue {
    Staged(Vec<u8>),
    At(Element),
}

/// An element in memory, as it was read.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at: SpaceAddress,
    pub(super) links: Links,
    pub(super) content: Content,
    /// The place of the key.
    key: Element,
    /// The first bytes behind the header, of the key if it is long enough.
    ahead: Vec<u8>,
}

impl Item {
    /// Reads the key, and the value if it is short and near.
    ///
    /// # Errors
    /// `Argument` if there is no key, `NoRoom` if a heap has none for it; `Refused`.
    pub(super) fn read(
        space: &impl GlobalSpace, key: Element, value: Element,
    ) -> Result<Self, Failure> {
        let value = match value.staged(space)? {
            Some(bytes) => ItemValue::Staged(bytes),
            None => ItemValue::At(value),
        };
        Ok(Self { key: key_bytes(space, key)?, value, count: 1 })
    }

    fn content(&self) -> Content {
        let value_bytes = match &self.value {
            ItemValue::Staged(bytes) => bytes.len() as u64,
            ItemValue::At(value) => value.len_bytes,
        };
        Content { key_bytes: self.key.len() as u64, value_bytes, count: self.count }
    }

    /// Bytes of an element with this content.
    ///
    /// # Errors
    /// `NoRoom` if there is no such number.
    pub(super) fn element_bytes<K: Kind>(&self) -> Result<u64, Failure> {
        let content = self.content();
        // No sum with the key, which is in memory, overflows.
        content.value_bytes.checked_add(K::HEADER + content.key_bytes).ok_or(Failure::NoRoom)
    }

    /// Writes the element at `at`.
    pub(super) fn write<K: Kind>(
        &self, space: &impl GlobalSpace, at: SpaceAddress, links: Links,
    ) -> Result<(), Failure> {
        let ([next, previous], [third, fourth]) = (links.words(), K::words(self.content()));
        let mut bytes = words::bytes(&[next, previous, third, fourth]);
        bytes.truncate(K::HEADER as usize);
        bytes.extend(&self.key);
        match &self.value {
            ItemValue::Staged(value) => {
                bytes.extend(value);
                Ok(space.write(at, &bytes)?)
            }
            ItemValue::At(value) => {
                space.write(at, &bytes)?;
                Ok(space.copy(at.plus(bytes.len() as u64), value.at, value.len_bytes)?)
            }
        }
    }
}

impl Entry {
    /// Reads the element at `at`, expecting a key of `key_bytes` bytes.
    ///
    /// # Errors
    /// `Damaged` if the element is not in a heap.
    pub(super) fn read<K: Kind>(
        space: &impl GlobalSpace, at: SpaceAddress, key_bytes: u64,
    ) -> Result<Self, Failure> {
        let room = heap_bytes_from(space, at).ok_or(Failure::Damaged)?;
        let room = room.checked_sub(K::HEADER).ok_or(Failure::Damaged)?;
        let ahead = key_bytes.min(KEY_AHEAD_MAX).min(room);
        let header = Element::new(at, K::HEADER + ahead).read(space)?;
        let (words, ahead) = header.split_at(K::HEADER as usize);
        let (words, _) = words.as_chunks::<8>();
        let word = |index: usize| words.get(index).map_or(0, |word| u64::from_ne_bytes(*word));
        let content = K::content([word(2), word(3)]).ok_or(Failure::Damaged)?;
        let is_inside = content.key_bytes.checked_add(content.value_bytes);
        if is_inside.is_none_or(|bytes| bytes > room) {
            return Err(Failure::Damaged);
        }
        Ok(Self {
            at,
            links: Links::of([word(0), word(1)]),
            content,
            key: Element::new(at.plus(K::HEADER), content.key_bytes),
            ahead: ahead.to_vec(),
        })
    }

    /// The place of the key.
    pub(super) fn key(&self) -> Element {
        self.key
    }

    /// The place of the value, behind the key.
    pub(super) fn value(&self) -> Element {
        Element::new(self.key.at.plus(self.content.key_bytes), self.content.value_bytes)
    }

    /// Reads the key, if more has to be read than there is already.
    pub(super) fn key_bytes(&self, space: &impl GlobalSpace) -> Result<Vec<u8>, Failure> {
        match self.ahead.get(..self.content.key_bytes as usize) {
            Some(key) => Ok(key.to_vec()),
            None => self.key.read(space),
        }
    }
}

/// The bytes of a key.
///
/// # Errors
/// `Argument` if there are none, `NoRoom` if there are more than a heap has; `Refused`.
pub(super) fn key_bytes(space: &impl GlobalSpace, key: Element) -> Result<Vec<u8>, Failure> {
    if key.len_bytes == 0 {
        return Err(Failure::Argument);
    }
    key.read(space)
}

/// How many bytes of its heap are behind an address.
fn heap_bytes_from(space: &impl GlobalSpace, at: SpaceAddress) -> Option<u64> {
    let (base, len) = space.heap(space.owner(at)?)?;
    if !at.0.is_multiple_of(WORD) {
        return None;
    }
    len.checked_sub(at.0.checked_sub(base.0)?)
}
