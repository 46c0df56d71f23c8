//! A slot of a hashed container, locked: a chain of elements with keys.
//!
//! ```text
//!   slot   | lock | head | tail | count |
//! ```

use std::marker::PhantomData;

use super::element::{Entry, Item, ItemValue};
use super::kind::Kind;
use crate::data::chain::{Editor, ElementChain, Ends, count_max};
use crate::failure::Failure;
use crate::heap;
use crate::lock::Lock;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words::{self, WORD};

/// A slot that this rank has locked. What is changed is in memory before the lock is released.
#[derive(Debug)]
pub(super) struct LockedSlot<'s, S: GlobalSpace, K> {
    editor: Editor<'s, S>,
    kind: PhantomData<K>,
    _lock: Lock<'s, S>,
}

impl<'s, S: GlobalSpace, K: Kind> LockedSlot<'s, S, K> {
    /// Locks the slot at `slot`, and reads its header.
    ///
    /// # Errors
    /// `Damaged` if no slot is there; `Refused`.
    pub(super) fn lock(space: &'s S, slot: SpaceAddress) -> Result<Self, Failure> {
        let lock = Lock::take(space, slot)?;
        Ok(Self { editor: Editor::load(space, chain(slot))?, kind: PhantomData, _lock: lock })
    }

    /// The element with this key.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Entry>, Failure> {
        let space = self.editor.space;
        let mut at = self.editor.ends.head;
        for _ in 0..count_max(space, self.editor.ends) {
            let entry = Entry::read::<K>(space, at, key.len() as u64)?;
            let has_size = entry.content.key_bytes == key.len() as u64;
            if has_size && entry.key_bytes(space)? == key {
                return Ok(Some(entry));
            }
            at = entry.links.next;
            if at.is_null() {
                return Ok(None);
            }
        }
        if self.editor.ends.count == 0 { Ok(None) } else { Err(Failure::Damaged) }
    }

    /// Copies of all elements, with their values.
    pub(super) fn items(&self) -> Result<Vec<Item>, Failure> {
        let space = self.editor.space;
        let copy = |at| {
            let entry = Entry::read::<K>(space, at, u64::MAX)?;
            let value = ItemValue::Staged(entry.value().read(space)?);
            Ok(Item { key: entry.key_bytes(space)?, value, count: entry.content.count })
        };
        let addresses = self.editor.chain.addresses(space, self.editor.ends);
        addresses.into_iter().map(copy).collect()
    }

    /// Inserts `item`, whose key is in no element, behind all others.
    ///
    /// # Errors
    /// `NoRoom`; `Refused` if its value is not accessible.
    pub(super) fn append(&mut self, item: &Item) -> Result<(), Failure> {
        let space = self.editor.space;
        let rank = space.owner(self.editor.chain.header).ok_or(Failure::Damaged)?;
        let at = heap::allocate(space, rank, item.element_bytes::<K>()?)?;
        let links = self.editor.links_before(self.editor.chain.terminator)?;
        let linked = item.write::<K>(space, at, links);
        if let Err(failure) = linked.and_then(|()| self.editor.insert(links, at, at, 1)) {
            heap::free_all(space, &[at]);
            return Err(failure);
        }
        self.editor.store()
    }

    /// Inserts the element at `at`, which is in no chain, behind all others.
    pub(super) fn adopt(&mut self, at: SpaceAddress) -> Result<(), Failure> {
        let links = self.editor.links_before(self.editor.chain.terminator)?;
        words::write(self.editor.space, at, &links.words())?;
        self.editor.insert(links, at, at, 1)?;
        self.editor.store()
    }

    /// Takes an element out of the chain. Its memory remains.
    pub(super) fn unlink(&mut self, entry: &Entry) -> Result<(), Failure> {
        self.editor.remove(entry.links, 1)?;
        self.editor.store()
    }

    /// Takes all elements out of the chain.
    pub(super) fn unlink_all(&mut self) -> Result<Vec<SpaceAddress>, Failure> {
        let addresses = self.editor.chain.addresses(self.editor.space, self.editor.ends);
        self.editor.ends = self.editor.chain.empty();
        self.editor.store()?;
        Ok(addresses)
    }

    /// Whether the elements of this slot are on the rank of `at`.
    pub(super) fn is_on_rank_of(&self, at: SpaceAddress) -> bool {
        let space = self.editor.space;
        space.owner(at) == space.owner(self.editor.chain.header)
    }

    /// Sets the count of an element, if its kind has one.
    pub(super) fn set_count(&self, entry: &Entry, count: u64) -> Result<(), Failure> {
        let Some(offset) = K::COUNT else { return Ok(()) };
        Ok(words::write(self.editor.space, entry.at.plus(offset), &[count])?)
    }
}

/// The chain of the slot at `slot`.
pub(super) fn chain(slot: SpaceAddress) -> ElementChain {
    ElementChain { header: slot.plus(WORD), terminator: SpaceAddress::NULL }
}

/// The header of the chain of a slot with these words.
pub(super) fn ends([_, head, tail, count]: [u64; 4]) -> Ends {
    Ends::of([head, tail, count])
}
