//! Positions in a hashed container: by rank index, then by slot, then in the order of the chain.
//!
//! Iteration reads without locks. A key that is inserted or removed meanwhile may be seen or not;
//! the element of a position must not be removed.

use super::element::Entry;
use super::{Hashed, Kind, SLOTS_AT_ONCE, Table, TableScope};
use crate::data::Element;
use crate::failure::Failure;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words;

/// The place of an element. At the end the index is the number of ranks, and there is no element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Position {
    pub(crate) index: u64,
    pub(crate) slot: u64,
    pub(crate) element: SpaceAddress,
}

impl<K: Kind> Hashed<K> {
    /// The position behind all elements.
    pub(crate) fn end(self) -> Position {
        Position { index: self.ranks, slot: 0, element: SpaceAddress::NULL }
    }

    /// The first position of all, or of those on the rank of the caller, which is
    /// [`Hashed::end_of`] if there is none.
    pub(crate) fn begin(
        self, space: &impl GlobalSpace, scope: TableScope,
    ) -> Result<Position, Failure> {
        for table in self.tables(space, scope)? {
            if let Some(position) = self.first_in(space, table, 0)? {
                return Ok(position);
            }
        }
        self.end_of(space, scope)
    }

    /// The first position behind all elements, or behind those on the rank of the caller.
    pub(crate) fn end_of(
        self, space: &impl GlobalSpace, scope: TableScope,
    ) -> Result<Position, Failure> {
        match (scope, self.tables(space, scope)?.last()) {
            (TableScope::Local, Some(last)) => self.first_from(space, last.index + 1, 0),
            _ => Ok(self.end()),
        }
    }

    /// The position behind `position`; the end is behind the end.
    ///
    /// # Errors
    /// `Refused` or `Damaged` if no element is there.
    pub(crate) fn next(
        self, space: &impl GlobalSpace, position: Position,
    ) -> Result<Position, Failure> {
        if !self.has_element(position) {
            return Ok(self.end());
        }
        let [next] = words::read(space, position.element)?;
        if next != 0 {
            return Ok(Position { element: SpaceAddress(next), ..position });
        }
        self.first_from(space, position.index, position.slot + 1)
    }

    /// The key and the value of the element at a position.
    ///
    /// # Errors
    /// `Argument` at the end; `Refused` or `Damaged` if no element is there.
    pub(crate) fn element(
        self, space: &impl GlobalSpace, position: Position,
    ) -> Result<(Element, Element), Failure> {
        if !self.has_element(position) {
            return Err(Failure::Argument);
        }
        let entry = Entry::read::<K>(space, position.element, 0)?;
        Ok((entry.key(), entry.value()))
    }

    fn has_element(self, position: Position) -> bool {
        position.index < self.ranks && position.slot < self.slots && !position.element.is_null()
    }

    /// The first position from a slot of a rank index on, or the end.
    fn first_from(
        self, space: &impl GlobalSpace, index: u64, slot: u64,
    ) -> Result<Position, Failure> {
        let mut slot = slot;
        for table in self.tables_in(space, index..self.ranks)? {
            if let Some(position) = self.first_in(space, table, slot)? {
                return Ok(position);
            }
            slot = 0;
        }
        Ok(self.end())
    }

    /// The first position from a slot of a table on.
    fn first_in(
        self, space: &impl GlobalSpace, table: Table, slot: u64,
    ) -> Result<Option<Position>, Failure> {
        let mut first = slot;
        while first < self.slots {
            let slots = self.slots_from(space, table, first)?;
            let filled = (first..).zip(slots).find(|(_, ends)| !ends.head.is_null());
            if let Some((slot, ends)) = filled {
                return Ok(Some(Position { index: table.index, slot, element: ends.head }));
            }
            first += SLOTS_AT_ONCE;
        }
        Ok(None)
    }
}
