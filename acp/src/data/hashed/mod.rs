//! Containers of keys in any order: set, multiset and map.
//!
//! ```text
//!   directory   | table 0 | table 1 | ...        an address for each rank index
//!   table       | slot 0 | slot 1 | ...          on the rank of its index
//!   slot        | lock | head | tail | count |   the chain of its elements, on the same rank
//! ```
//!
//! All are one [`Hashed`]; a [`Kind`] says what an element has beside its key. A key belongs to the
//! slot that the CRC-64 of its bytes selects:
//!
//! ```text
//!   c = crc >> 16      slot = c % slots      rank index = (c / slots) % ranks
//! ```
//!
//! Operations on one key lock its slot. Those on all keys lock one slot after another, and never
//! two: none waits for another in a circle. Iteration takes no lock.

mod element;
mod iteration;
mod kind;
mod slot;
#[cfg(test)]
mod tests;
mod transfer;

use std::marker::PhantomData;
use std::ops::Range;

use crc::{CRC_64_XZ, Crc};

use self::element::{Entry, Item, key_bytes};
pub(crate) use self::iteration::Position;
pub(crate) use self::kind::{Kind, MapKind, MultisetKind, SetKind};
use self::slot::LockedSlot;
use super::Element;
use super::chain::Ends;
use crate::failure::Failure;
use crate::heap;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words::{self, WORD};

/// Bytes of a slot.
const SLOT: u64 = 4 * WORD;

/// Slots that are read in one access at the most.
const SLOTS_AT_ONCE: u64 = 128;

const CRC: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);

/// A set, multiset or map, known by the address of its directory and its shape.
#[derive(Debug)]
pub(crate) struct Hashed<K> {
    pub(crate) at: SpaceAddress,
    /// The number of tables, and of the slots of each.
    pub(crate) ranks: u64,
    pub(crate) slots: u64,
    kind: PhantomData<K>,
}

/// Which tables an operation is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TableScope {
    All,
    /// Those on the rank of the caller.
    Local,
}

/// A table, and the index of its rank.
#[derive(Clone, Copy, Debug)]
struct Table {
    index: u64,
    at: SpaceAddress,
}

impl<K> Clone for Hashed<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Hashed<K> {}

impl<K: Kind> Hashed<K> {
    /// The container of this shape at `at`.
    ///
    /// # Errors
    /// `Argument` if no heap has room for a container of this shape.
    pub(crate) fn new(
        space: &impl GlobalSpace, at: SpaceAddress, ranks: u64, slots: u64,
    ) -> Result<Self, Failure> {
        let (_, heap_bytes) = space.heap(space.rank()).ok_or(Failure::Argument)?;
        let has_room =
            (1..=heap_bytes / WORD).contains(&ranks) && (1..=heap_bytes / SLOT).contains(&slots);
        if has_room {
            Ok(Self { at, ranks, slots, kind: PhantomData })
        } else {
            Err(Failure::Argument)
        }
    }

    /// Makes an empty container with a table of `slots` slots on each of `holders`, and the
    /// directory on `rank`.
    ///
    /// # Errors
    /// `NoRoom`; `Argument` if a rank does not exist, or there are no slots or no holders.
    pub(crate) fn create(
        space: &impl GlobalSpace, holders: &[u32], slots: u64, rank: u32,
    ) -> Result<Self, Failure> {
        let shape = Self::new(space, SpaceAddress::NULL, holders.len() as u64, slots)?;
        let mut made = vec![heap::allocate(space, rank, WORD * shape.ranks)?];
        let made_tables = holders.iter().try_for_each(|holder| {
            let table = heap::allocate(space, *holder, SLOT * slots)?;
            made.push(table);
            clear_table(space, table, slots)
        });
        if let Err(failure) = made_tables {
            heap::free_all(space, &made);
            return Err(failure);
        }
        let tables: Vec<_> = made[1..].iter().map(|table| table.0).collect();
        words::write(space, made[0], &tables)?;
        Ok(Self { at: made[0], ..shape })
    }

    /// Frees all memory. No other rank uses the container at the same time.
    pub(crate) fn destroy(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        let mut blocks = Vec::new();
        for table in self.tables(space, TableScope::All)? {
            for (slot, ends) in self.filled_slots_of(space, table)? {
                blocks.extend(slot::chain(slot).addresses(space, ends));
            }
            blocks.push(table.at);
        }
        blocks.push(self.at);
        // A container that is used after this is recognized.
        words::write(space, self.at, &vec![0; self.ranks as usize])?;
        heap::free_all(space, &blocks);
        Ok(())
    }

    /// Removes all keys.
    pub(crate) fn clear(self, space: &impl GlobalSpace, scope: TableScope) -> Result<(), Failure> {
        let mut elements = Vec::new();
        let unlinked = self.filled_slots(space, scope)?.into_iter().try_for_each(|(slot, _)| {
            elements.extend(LockedSlot::<_, K>::lock(space, slot)?.unlink_all()?);
            Ok(())
        });
        heap::free_all(space, &elements);
        unlinked
    }

    /// The number of different keys.
    pub(crate) fn size(self, space: &impl GlobalSpace, scope: TableScope) -> Result<u64, Failure> {
        let filled = self.filled_slots(space, scope)?;
        Ok(filled.iter().fold(0, |size, (_, ends)| size.wrapping_add(ends.count)))
    }

    /// Inserts a key with a value, which only a map keeps. A key that is there keeps its value; a
    /// multiset counts it. Whether the key is new.
    ///
    /// # Errors
    /// `NoRoom`; `Argument` if there is no key; `Refused` if key or value are not accessible.
    pub(crate) fn insert(
        self, space: &impl GlobalSpace, key: Element, value: Element,
    ) -> Result<bool, Failure> {
        self.insert_item(space, &Item::read(space, key, value)?)
    }

    fn insert_item(self, space: &impl GlobalSpace, item: &Item) -> Result<bool, Failure> {
        let mut slot = self.lock(space, &item.key)?;
        let Some(entry) = slot.find(&item.key)? else {
            return slot.append(item).map(|()| true);
        };
        slot.set_count(&entry, entry.content.count.saturating_add(item.count))?;
        Ok(false)
    }

    /// Removes a key once: a multiset counts it down, and drops it with the last.
    pub(crate) fn remove(self, space: &impl GlobalSpace, key: Element) -> Result<(), Failure> {
        self.count_down(space, key, 1)
    }

    /// Removes a key, however often it was inserted.
    pub(crate) fn remove_all(self, space: &impl GlobalSpace, key: Element) -> Result<(), Failure> {
        self.count_down(space, key, u64::MAX)
    }

    fn count_down(self, space: &impl GlobalSpace, key: Element, times: u64) -> Result<(), Failure> {
        let key = key_bytes(space, key)?;
        let mut slot = self.lock(space, &key)?;
        let Some(entry) = slot.find(&key)? else { return Ok(()) };
        let count = entry.content.count.saturating_sub(times);
        if count > 0 {
            return slot.set_count(&entry, count);
        }
        slot.unlink(&entry)?;
        drop(slot);
        heap::free_all(space, &[entry.at]);
        Ok(())
    }

    /// How often a key was inserted; 0 if it is absent.
    pub(crate) fn count(self, space: &impl GlobalSpace, key: Element) -> Result<u64, Failure> {
        let key = key_bytes(space, key)?;
        let entry = self.lock(space, &key)?.find(&key)?;
        Ok(entry.map_or(0, |entry| entry.content.count))
    }

    /// Copies the value of a key, or as much of it as `into` has room for; the size of the value,
    /// `None` if the key is absent.
    pub(crate) fn retrieve(
        self, space: &impl GlobalSpace, key: Element, into: Element,
    ) -> Result<Option<u64>, Failure> {
        let key = key_bytes(space, key)?;
        // The value stands as long as the slot is locked.
        let slot = self.lock(space, &key)?;
        let Some(entry) = slot.find(&key)? else { return Ok(None) };
        let value = entry.value();
        let len = value.len_bytes.min(into.len_bytes);
        if len > 0 {
            space.copy(into.at, value.at, len)?;
        }
        Ok(Some(value.len_bytes))
    }

    /// The position of a key; the end if it is absent.
    pub(crate) fn find(self, space: &impl GlobalSpace, key: Element) -> Result<Position, Failure> {
        let key = key_bytes(space, key)?;
        let found = self.lock(space, &key)?.find(&key)?;
        let (index, slot) = self.place(&key);
        let position = |entry: Entry| Position { index, slot, element: entry.at };
        Ok(found.map_or(self.end(), position))
    }

    /// The rank index and the slot of a key.
    fn place(self, key: &[u8]) -> (u64, u64) {
        let hash = CRC.checksum(key) >> 16;
        (hash / self.slots % self.ranks, hash % self.slots)
    }

    /// Locks the slot of a key.
    fn lock<'s, S: GlobalSpace>(
        self, space: &'s S, key: &[u8],
    ) -> Result<LockedSlot<'s, S, K>, Failure> {
        let (index, slot) = self.place(key);
        let [table] = self.tables_in(space, index..index + 1)?[..] else {
            return Err(Failure::Damaged);
        };
        LockedSlot::lock(space, table.slot(slot))
    }

    fn tables(self, space: &impl GlobalSpace, scope: TableScope) -> Result<Vec<Table>, Failure> {
        let mut tables = self.tables_in(space, 0..self.ranks)?;
        if scope == TableScope::Local {
            tables.retain(|table| space.owner(table.at) == Some(space.rank()));
        }
        Ok(tables)
    }

    /// The tables of these rank indices.
    fn tables_in(
        self, space: &impl GlobalSpace, indices: Range<u64>,
    ) -> Result<Vec<Table>, Failure> {
        let count = indices.end.saturating_sub(indices.start);
        let from = self.at.plus(WORD * indices.start);
        let addresses = words::read_many(space, from, count as usize)?;
        let tables =
            indices.zip(addresses).map(|(index, at)| Table { index, at: SpaceAddress(at) });
        let tables: Vec<_> = tables.collect();
        let are_sound = tables.iter().all(|table| space.owner(table.at).is_some());
        if are_sound { Ok(tables) } else { Err(Failure::Damaged) }
    }

    /// The slots that have elements, as they were when their table was read.
    fn filled_slots(
        self, space: &impl GlobalSpace, scope: TableScope,
    ) -> Result<Vec<(SpaceAddress, Ends)>, Failure> {
        let mut filled = Vec::new();
        for table in self.tables(space, scope)? {
            filled.extend(self.filled_slots_of(space, table)?);
        }
        Ok(filled)
    }

    /// The slots of a table that have elements.
    fn filled_slots_of(
        self, space: &impl GlobalSpace, table: Table,
    ) -> Result<Vec<(SpaceAddress, Ends)>, Failure> {
        let mut filled = Vec::new();
        let mut first = 0;
        while first < self.slots {
            let slots = self.slots_from(space, table, first)?;
            let slots = (first..).zip(&slots).filter(|(_, ends)| !ends.head.is_null());
            filled.extend(slots.map(|(slot, ends)| (table.slot(slot), *ends)));
            first += SLOTS_AT_ONCE;
        }
        Ok(filled)
    }

    /// The slots of a table from `first` on, as many as are read at once.
    fn slots_from(
        self, space: &impl GlobalSpace, table: Table, first: u64,
    ) -> Result<Vec<Ends>, Failure> {
        let count = SLOTS_AT_ONCE.min(self.slots - first);
        let words = words::read_many(space, table.slot(first), (4 * count) as usize)?;
        Ok(words.as_chunks().0.iter().map(|words| slot::ends(*words)).collect())
    }
}

impl Table {
    fn slot(self, slot: u64) -> SpaceAddress {
        self.at.plus(SLOT * slot)
    }
}

/// Makes all slots of a new table empty.
fn clear_table(space: &impl GlobalSpace, table: SpaceAddress, slots: u64) -> Result<(), Failure> {
    let zeros = vec![0; (SLOT * SLOTS_AT_ONCE.min(slots)) as usize];
    let (mut to, mut left) = (table, SLOT * slots);
    while left > 0 {
        let len = left.min(zeros.len() as u64);
        space.write(to, &zeros[..len as usize])?;
        (to, left) = (to.plus(len), left - len);
    }
    Ok(())
}
