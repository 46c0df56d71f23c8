//! Operations on all elements of two hashed containers, which may have different shapes and ranks:
//! merge, assign, move, swap.
//!
//! Elements of a slot are copied out, or taken out, while it is locked; they are inserted when it
//! is not. An element that is moved keeps its memory if its new slot is on the same rank. If there
//! is no room for one, it stays in its container, and the operation goes on with the others.

use super::element::{Entry, Item, ItemValue};
use super::slot::LockedSlot;
use super::{Hashed, Kind, TableScope};
use crate::failure::Failure;
use crate::heap;
use crate::space::{GlobalSpace, SpaceAddress};

/// An element that is in no chain, and the slot in which it was.
struct Unlinked {
    element: SpaceAddress,
    slot: SpaceAddress,
}

impl<K: Kind> Hashed<K> {
    /// Inserts copies of the elements of `source`. Keys that are there keep their values; a
    /// multiset adds the counts.
    ///
    /// # Errors
    /// The first failure; the other elements have been inserted.
    pub(crate) fn merge(
        self, space: &impl GlobalSpace, source: Self, scope: TableScope,
    ) -> Result<(), Failure> {
        if self.at == source.at {
            return Ok(());
        }
        let mut result = Ok(());
        for (slot, _) in source.filled_slots(space, scope)? {
            let items = LockedSlot::<_, K>::lock(space, slot)?.items()?;
            for item in items {
                result = result.and(self.insert_item(space, &item).map(|_| ()));
            }
        }
        result
    }

    /// Replaces all elements by copies of those of `source`.
    ///
    /// # Errors
    /// As [`Hashed::merge`].
    pub(crate) fn assign(
        self, space: &impl GlobalSpace, source: Self, scope: TableScope,
    ) -> Result<(), Failure> {
        if self.at == source.at {
            return Ok(());
        }
        self.clear(space, TableScope::All)?;
        self.merge(space, source, scope)
    }

    /// As [`Hashed::merge`]; then `source` has none of the elements.
    ///
    /// # Errors
    /// The first failure; elements that could not be inserted are still in `source`.
    pub(crate) fn move_from(
        self, space: &impl GlobalSpace, source: Self, scope: TableScope,
    ) -> Result<(), Failure> {
        if self.at == source.at {
            return Ok(());
        }
        let mut result = Ok(());
        for (slot, _) in source.filled_slots(space, scope)? {
            let unlinked = unlink_all::<K>(space, slot)?;
            result = result.and(self.receive(space, unlinked));
        }
        result
    }

    /// Exchanges all elements with those of `other`. Each container keeps its shape and its ranks.
    ///
    /// # Errors
    /// The first failure; elements that could not be inserted are where they were.
    pub(crate) fn swap(self, space: &impl GlobalSpace, other: Self) -> Result<(), Failure> {
        if self.at == other.at {
            return Ok(());
        }
        let mut unlinked = [Vec::new(), Vec::new()];
        for (container, unlinked) in [self, other].into_iter().zip(&mut unlinked) {
            for (slot, _) in container.filled_slots(space, TableScope::All)? {
                unlinked.extend(unlink_all::<K>(space, slot)?);
            }
        }
        let [own, others] = unlinked;
        let received = other.receive(space, own);
        self.receive(space, others).and(received)
    }

    /// Inserts elements of another container, or puts them back.
    fn receive(self, space: &impl GlobalSpace, unlinked: Vec<Unlinked>) -> Result<(), Failure> {
        let mut result = Ok(());
        let mut unused = Vec::new();
        for Unlinked { element, slot } in unlinked {
            let received = match self.adopt_or_copy(space, element) {
                Ok(true) => Ok(()),
                Ok(false) => {
                    unused.push(element);
                    Ok(())
                }
                Err(failure) => {
                    LockedSlot::<_, K>::lock(space, slot)?.adopt(element)?;
                    Err(failure)
                }
            };
            result = result.and(received);
        }
        heap::free_all(space, &unused);
        result
    }

    /// Inserts an element that is in no chain; whether its memory is now in this container.
    fn adopt_or_copy(
        self, space: &impl GlobalSpace, element: SpaceAddress,
    ) -> Result<bool, Failure> {
        let entry = Entry::read::<K>(space, element, u64::MAX)?;
        let key = entry.key_bytes(space)?;
        let mut slot = self.lock(space, &key)?;
        if let Some(present) = slot.find(&key)? {
            let count = present.content.count.saturating_add(entry.content.count);
            return slot.set_count(&present, count).map(|()| false);
        }
        if slot.is_on_rank_of(element) {
            return slot.adopt(element).map(|()| true);
        }
        let value = ItemValue::At(entry.value());
        slot.append(&Item { key, value, count: entry.content.count }).map(|()| false)
    }
}

/// Takes all elements out of a slot.
fn unlink_all<K: Kind>(
    space: &impl GlobalSpace, slot: SpaceAddress,
) -> Result<Vec<Unlinked>, Failure> {
    let elements = LockedSlot::<_, K>::lock(space, slot)?.unlink_all()?;
    Ok(elements.into_iter().map(|element| Unlinked { element, slot }).collect())
}
