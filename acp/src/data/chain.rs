//! Doubly linked chains of elements, whose order lists and the slots of hashed containers keep.
//!
//! ```text
//!   header    | head | tail | count |            element   | next | previous | ... |
//!
//!   terminator ◄── previous  element  next ──► ...  element  next ──► terminator
//! ```
//!
//! What the links at both ends hold is the terminator: the address of the header in a list, 0 in a
//! slot. Head and tail are its next and previous element, so that no end is a special case.
//!
//! A chain does not know what is in its elements, and has no lock. An [`Editor`] has the header at
//! the caller, and writes it once.

use crate::failure::Failure;
use crate::heap;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words::{self, WORD};

/// Where a chain is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ElementChain {
    pub(super) header: SpaceAddress,
    pub(super) terminator: SpaceAddress,
}

/// The header of a chain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Ends {
    pub(super) head: SpaceAddress,
    pub(super) tail: SpaceAddress,
    pub(super) count: u64,
}

/// The links of an element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Links {
    pub(super) next: SpaceAddress,
    pub(super) previous: SpaceAddress,
}

/// A chain that is read and changed.
#[derive(Debug)]
pub(super) struct Editor<'s, S> {
    pub(super) space: &'s S,
    pub(super) chain: ElementChain,
    /// The header, in memory only after [`Editor::store`].
    pub(super) ends: Ends,
}

impl ElementChain {
    pub(super) fn empty(self) -> Ends {
        Ends { head: self.terminator, tail: self.terminator, count: 0 }
    }

    /// The addresses of all elements, or of those before a link that is damaged.
    pub(super) fn addresses(self, space: &impl GlobalSpace, ends: Ends) -> Vec<SpaceAddress> {
        let mut addresses = Vec::new();
        let mut at = ends.head;
        for _ in 0..count_max(space, ends) {
            if at == self.terminator {
                break;
            }
            let Ok([next]) = words::read(space, at) else { break };
            addresses.push(at);
            at = SpaceAddress(next);
        }
        addresses
    }
}

impl Ends {
    pub(super) fn of([head, tail, count]: [u64; 3]) -> Self {
        Self { head: SpaceAddress(head), tail: SpaceAddress(tail), count }
    }
}

impl Links {
    pub(super) fn of([next, previous]: [u64; 2]) -> Self {
        Self { next: SpaceAddress(next), previous: SpaceAddress(previous) }
    }

    pub(super) fn words(self) -> [u64; 2] {
        [self.next.0, self.previous.0]
    }
}

impl<'s, S: GlobalSpace> Editor<'s, S> {
    /// Reads the header of `chain`.
    ///
    /// # Errors
    /// `Damaged` if no chain has such a header; `Refused`.
    pub(super) fn load(space: &'s S, chain: ElementChain) -> Result<Self, Failure> {
        let ends = Ends::of(words::read(space, chain.header)?);
        let is_sound = if ends.count == 0 {
            ends == chain.empty()
        } else {
            // Not the terminator: of a list it has an owner too.
            let is_element = |at| at != chain.terminator && space.owner(at).is_some();
            is_element(ends.head) && is_element(ends.tail)
        };
        if !is_sound {
            return Err(Failure::Damaged);
        }
        Ok(Self { space, chain, ends })
    }

    /// Writes the header.
    pub(super) fn store(&self) -> Result<(), Failure> {
        let Ends { head, tail, count } = self.ends;
        Ok(words::write(self.space, self.chain.header, &[head.0, tail.0, count])?)
    }

    /// The links for an element before `next`, which may be the terminator.
    pub(super) fn links_before(&self, next: SpaceAddress) -> Result<Links, Failure> {
        if next == self.chain.terminator {
            return Ok(Links { next, previous: self.ends.tail });
        }
        if next == self.ends.head {
            return Ok(Links { next, previous: self.chain.terminator });
        }
        let [previous] = words::read(self.space, next.plus(WORD))?;
        Ok(Links { next, previous: SpaceAddress(previous) })
    }

    /// Lets the neighbours link to the `count` elements from `first` to `last`, which link to them.
    pub(super) fn insert(
        &mut self, links: Links, first: SpaceAddress, last: SpaceAddress, count: u64,
    ) -> Result<(), Failure> {
        self.set_next(links.previous, first)?;
        self.set_previous(links.next, last)?;
        self.ends.count = self.ends.count.saturating_add(count);
        Ok(())
    }

    /// Lets the neighbours of `count` elements link to each other. The elements keep their links.
    pub(super) fn remove(&mut self, links: Links, count: u64) -> Result<(), Failure> {
        self.ends.count = self.ends.count.checked_sub(count).ok_or(Failure::Damaged)?;
        self.set_next(links.previous, links.next)?;
        self.set_previous(links.next, links.previous)
    }

    fn set_next(&mut self, at: SpaceAddress, next: SpaceAddress) -> Result<(), Failure> {
        if at == self.chain.terminator {
            self.ends.head = next;
            return Ok(());
        }
        Ok(words::write(self.space, at, &[next.0])?)
    }

    fn set_previous(&mut self, at: SpaceAddress, previous: SpaceAddress) -> Result<(), Failure> {
        if at == self.chain.terminator {
            self.ends.tail = previous;
            return Ok(());
        }
        Ok(words::write(self.space, at.plus(WORD), &[previous.0])?)
    }
}

/// How many elements a chain with this header can have at the most.
pub(super) fn count_max(space: &impl GlobalSpace, ends: Ends) -> u64 {
    ends.count.min(heap::blocks_max(space))
}
