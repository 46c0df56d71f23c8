//! Lists: values of any sizes in any order, each on a rank of its own.
//!
//! ```text
//!   list      | head | tail | count |
//!   element   | next | previous | size | value ... |        `size` bytes of value
//! ```
//!
//! The links at both ends of the chain hold the address of the list, which is also the end
//! position: that behind the last element. A position is the address of an element or of the list.
//!
//! A list does not know what its values mean. It has no lock.

mod order;
#[cfg(test)]
mod tests;

use super::Element;
use super::chain::{Editor, ElementChain, Ends, Links, count_max};
use crate::failure::Failure;
use crate::heap;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words::{self, WORD};

/// Bytes of an element before its value.
const ELEMENT_HEADER: u64 = 3 * WORD;

/// A list, known by the address of its header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct List {
    pub(crate) at: SpaceAddress,
}

/// An element, as it was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct ListNode {
    at: SpaceAddress,
    links: Links,
    size: u64,
}

impl List {
    pub(crate) fn new(at: SpaceAddress) -> Self {
        Self { at }
    }

    /// Makes an empty list on `rank`.
    ///
    /// # Errors
    /// `NoRoom`; `Argument` if there is no such rank.
    pub(crate) fn create(space: &impl GlobalSpace, rank: u32) -> Result<Self, Failure> {
        let list = Self::new(heap::allocate(space, rank, 3 * WORD)?);
        words::write(space, list.at, &[list.at.0, list.at.0, 0])?;
        Ok(list)
    }

    pub(crate) fn destroy(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        self.clear(space)?;
        // What no list has, to recognize one that is used after it has been destroyed.
        words::write(space, self.at, &[0; 3])?;
        heap::free(space, self.at)
    }

    pub(crate) fn clear(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        self.replace(space, &[])
    }

    pub(crate) fn size(self, space: &impl GlobalSpace) -> Result<u64, Failure> {
        self.edit(space).map(|editor| editor.ends.count)
    }

    /// The first position; the end if the list is empty.
    pub(crate) fn begin(self, space: &impl GlobalSpace) -> Result<SpaceAddress, Failure> {
        self.edit(space).map(|editor| editor.ends.head)
    }

    /// The position behind the last element.
    pub(crate) fn end(self) -> SpaceAddress {
        self.at
    }

    /// Inserts a copy of `value` on `rank` before a position; the position of the new element.
    ///
    /// # Errors
    /// `NoRoom`; `Argument` if there is no such rank or size; `Refused` if the value is not
    /// accessible.
    pub(crate) fn insert(
        self, space: &impl GlobalSpace, before: SpaceAddress, value: Element, rank: u32,
    ) -> Result<SpaceAddress, Failure> {
        insert(self.edit(space)?, before, value, rank)
    }

    pub(crate) fn push_back(
        self, space: &impl GlobalSpace, value: Element, rank: u32,
    ) -> Result<(), Failure> {
        insert(self.edit(space)?, self.end(), value, rank).map(|_| ())
    }

    pub(crate) fn push_front(
        self, space: &impl GlobalSpace, value: Element, rank: u32,
    ) -> Result<(), Failure> {
        let editor = self.edit(space)?;
        let first = editor.ends.head;
        insert(editor, first, value, rank).map(|_| ())
    }

    /// Inserts copies of the elements of `source` from `start` to `end` before a position, each on
    /// the rank of its original; the position of the first, or `before` if there is none.
    ///
    /// # Errors
    /// `NoRoom`, `Damaged`, `Refused`.
    pub(crate) fn insert_range(
        self, space: &impl GlobalSpace, before: SpaceAddress, source: Self, start: SpaceAddress,
        end: SpaceAddress,
    ) -> Result<SpaceAddress, Failure> {
        let copies = copies(space, &source.range(space, start, end)?)?;
        let (Some(first), Some(last)) = (copies.first(), copies.last()) else {
            return Ok(before);
        };
        let mut editor = self.edit(space)?;
        let around = editor.links_before(before)?;
        write_links(space, &copies, around)?;
        editor.insert(around, *first, *last, copies.len() as u64)?;
        editor.store()?;
        Ok(*first)
    }

    /// Replaces the elements by copies of those of `source`, each on the rank of its original.
    pub(crate) fn assign(self, space: &impl GlobalSpace, source: Self) -> Result<(), Failure> {
        let start = source.begin(space)?;
        self.assign_range(space, source, start, source.end())
    }

    /// Replaces the elements by copies of those of `source` from `start` to `end`, each on the rank
    /// of its original.
    pub(crate) fn assign_range(
        self, space: &impl GlobalSpace, source: Self, start: SpaceAddress, end: SpaceAddress,
    ) -> Result<(), Failure> {
        let copies = copies(space, &source.range(space, start, end)?)?;
        self.replace(space, &copies)
    }

    /// Frees all elements, and makes `elements` the new ones.
    fn replace(self, space: &impl GlobalSpace, elements: &[SpaceAddress]) -> Result<(), Failure> {
        let mut editor = self.edit(space)?;
        let old = editor.chain.addresses(space, editor.ends);
        editor.ends = editor.chain.empty();
        if let (Some(first), Some(last)) = (elements.first(), elements.last()) {
            let around = Links { next: self.at, previous: self.at };
            write_links(space, elements, around)?;
            editor.insert(around, *first, *last, elements.len() as u64)?;
        }
        editor.store()?;
        heap::free_all(space, &old);
        Ok(())
    }

    /// Removes the element at a position; the position behind it.
    ///
    /// # Errors
    /// `Argument` if the position is the end.
    pub(crate) fn erase(
        self, space: &impl GlobalSpace, at: SpaceAddress,
    ) -> Result<SpaceAddress, Failure> {
        erase(self.edit(space)?, at)
    }

    pub(crate) fn pop_back(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        let editor = self.edit(space)?;
        let last = editor.ends.tail;
        erase(editor, last).map(|_| ())
    }

    pub(crate) fn pop_front(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        let editor = self.edit(space)?;
        let first = editor.ends.head;
        erase(editor, first).map(|_| ())
    }

    /// Removes the elements from `start` to `end`; the position behind them.
    pub(crate) fn erase_range(
        self, space: &impl GlobalSpace, start: SpaceAddress, end: SpaceAddress,
    ) -> Result<SpaceAddress, Failure> {
        let nodes = self.range(space, start, end)?;
        let Some(outer) = outer_links(&nodes) else { return Ok(end) };
        let mut editor = self.edit(space)?;
        editor.remove(outer, nodes.len() as u64)?;
        editor.store()?;
        let addresses: Vec<_> = nodes.iter().map(|node| node.at).collect();
        heap::free_all(space, &addresses);
        Ok(outer.next)
    }

    /// Moves the element of `source` at `at` before a position of this list.
    ///
    /// # Errors
    /// `Argument` if `at` is the end.
    pub(crate) fn splice(
        self, space: &impl GlobalSpace, before: SpaceAddress, source: Self, at: SpaceAddress,
    ) -> Result<(), Failure> {
        if at == source.end() {
            return Err(Failure::Argument);
        }
        self.splice_nodes(space, before, source, &[node(space, at)?])
    }

    /// Moves the elements of `source` from `start` to `end` before a position of this list. Nothing
    /// happens if the position is one of them.
    pub(crate) fn splice_range(
        self, space: &impl GlobalSpace, before: SpaceAddress, source: Self, start: SpaceAddress,
        end: SpaceAddress,
    ) -> Result<(), Failure> {
        self.splice_nodes(space, before, source, &source.range(space, start, end)?)
    }

    fn splice_nodes(
        self, space: &impl GlobalSpace, before: SpaceAddress, source: Self, nodes: &[ListNode],
    ) -> Result<(), Failure> {
        let Some(outer) = outer_links(nodes) else { return Ok(()) };
        let is_there = self == source && outer.next == before;
        if is_there || nodes.iter().any(|node| node.at == before) {
            return Ok(());
        }
        let count = nodes.len() as u64;
        let mut from = source.edit(space)?;
        let mut other = if self == source { None } else { Some(self.edit(space)?) };
        // No element that is moved is next to the position, so these stay as they are.
        let links = other.as_ref().unwrap_or(&from).links_before(before)?;
        from.remove(outer, count)?;
        let addresses: Vec<_> = nodes.iter().map(|node| node.at).collect();
        write_outer_links(space, &addresses, links)?;
        let to = other.as_mut().unwrap_or(&mut from);
        to.insert(links, addresses[0], addresses[nodes.len() - 1], count)?;
        other.map_or(Ok(()), |other| other.store())?;
        from.store()
    }

    /// Exchanges all elements with those of `other`.
    pub(crate) fn swap(self, space: &impl GlobalSpace, other: Self) -> Result<(), Failure> {
        if self == other {
            return Ok(());
        }
        let (mut left, mut right) = (self.edit(space)?, other.edit(space)?);
        let (left_ends, right_ends) = (left.ends, right.ends);
        left.receive(right_ends)?;
        right.receive(left_ends)?;
        left.store()?;
        right.store()
    }

    /// The position behind `at`; the end is behind the end.
    pub(crate) fn next(
        self, space: &impl GlobalSpace, at: SpaceAddress,
    ) -> Result<SpaceAddress, Failure> {
        self.advance(space, at, 1)
    }

    /// The position before `at`; nothing is before the first.
    pub(crate) fn previous(
        self, space: &impl GlobalSpace, at: SpaceAddress,
    ) -> Result<SpaceAddress, Failure> {
        let [previous] = words::read(space, at.plus(WORD))?;
        Ok(if previous == self.at.0 { at } else { SpaceAddress(previous) })
    }

    /// The position `steps` behind `at`, or the end.
    pub(crate) fn advance(
        self, space: &impl GlobalSpace, at: SpaceAddress, steps: u64,
    ) -> Result<SpaceAddress, Failure> {
        let mut at = at;
        for _ in 0..steps.min(heap::blocks_max(space)) {
            if at == self.end() {
                break;
            }
            let [next] = words::read(space, at)?;
            at = SpaceAddress(next);
        }
        Ok(at)
    }

    /// The number of elements from `first` on before `last`, or before the end.
    pub(crate) fn distance(
        self, space: &impl GlobalSpace, first: SpaceAddress, last: SpaceAddress,
    ) -> Result<u64, Failure> {
        self.range(space, first, last).map(|nodes| nodes.len() as u64)
    }

    /// The value of the element at a position.
    ///
    /// # Errors
    /// `Argument` if the position is the end.
    pub(crate) fn value(
        self, space: &impl GlobalSpace, at: SpaceAddress,
    ) -> Result<Element, Failure> {
        if at == self.end() {
            return Err(Failure::Argument);
        }
        node(space, at).map(|node| node.value())
    }

    /// The elements from `start` on before `end`, or before the end of the list.
    fn range(
        self, space: &impl GlobalSpace, start: SpaceAddress, end: SpaceAddress,
    ) -> Result<Vec<ListNode>, Failure> {
        let mut nodes = Vec::new();
        if [end, self.end()].contains(&start) {
            return Ok(nodes);
        }
        let mut at = start;
        for _ in 0..count_max(space, self.edit(space)?.ends) {
            let node = node(space, at)?;
            nodes.push(node);
            at = node.links.next;
            if [end, self.end()].contains(&at) {
                return Ok(nodes);
            }
        }
        Err(Failure::Damaged)
    }

    fn edit<S: GlobalSpace>(self, space: &S) -> Result<Editor<'_, S>, Failure> {
        Editor::load(space, ElementChain { header: self.at, terminator: self.at })
    }
}

impl<S: GlobalSpace> Editor<'_, S> {
    /// Makes the elements of another list those of this one.
    fn receive(&mut self, other: Ends) -> Result<(), Failure> {
        self.ends = self.chain.empty();
        if other.count == 0 {
            return Ok(());
        }
        let terminator = self.chain.terminator;
        words::write(self.space, other.head.plus(WORD), &[terminator.0])?;
        words::write(self.space, other.tail, &[terminator.0])?;
        self.ends = other;
        Ok(())
    }
}

impl ListNode {
    fn value(self) -> Element {
        Element::new(self.at.plus(ELEMENT_HEADER), self.size)
    }
}

/// Inserts a copy of `value` on `rank` before a position; the position of the new element.
fn insert<S: GlobalSpace>(
    mut editor: Editor<'_, S>, before: SpaceAddress, value: Element, rank: u32,
) -> Result<SpaceAddress, Failure> {
    let links = editor.links_before(before)?;
    let size = value.len_bytes.checked_add(ELEMENT_HEADER).ok_or(Failure::Argument)?;
    let at = heap::allocate(editor.space, rank, size)?;
    let linked = write_element(editor.space, at, links, value);
    if let Err(failure) = linked.and_then(|()| editor.insert(links, at, at, 1)) {
        heap::free_all(editor.space, &[at]);
        return Err(failure);
    }
    editor.store()?;
    Ok(at)
}

/// Removes the element at a position; the position behind it.
fn erase<S: GlobalSpace>(
    mut editor: Editor<'_, S>, at: SpaceAddress,
) -> Result<SpaceAddress, Failure> {
    if at == editor.chain.terminator {
        return Err(Failure::Argument);
    }
    let links = node(editor.space, at)?.links;
    editor.remove(links, 1)?;
    editor.store()?;
    heap::free_all(editor.space, &[at]);
    Ok(links.next)
}

fn node(space: &impl GlobalSpace, at: SpaceAddress) -> Result<ListNode, Failure> {
    let [next, previous, size] = words::read(space, at)?;
    Ok(ListNode { at, links: Links::of([next, previous]), size })
}

/// Writes a new element.
fn write_element(
    space: &impl GlobalSpace, at: SpaceAddress, links: Links, value: Element,
) -> Result<(), Failure> {
    let [next, previous] = links.words();
    let header = [next, previous, value.len_bytes];
    if let Some(data) = value.staged(space)? {
        return Ok(space.write(at, &[words::bytes(&header), data].concat())?);
    }
    words::write(space, at, &header)?;
    Ok(space.copy(at.plus(ELEMENT_HEADER), value.at, value.len_bytes)?)
}

/// Copies of elements, each on the rank of its original, not linked yet.
fn copies(space: &impl GlobalSpace, nodes: &[ListNode]) -> Result<Vec<SpaceAddress>, Failure> {
    let mut made = Vec::with_capacity(nodes.len());
    for node in nodes {
        match copy(space, node) {
            Ok(at) => made.push(at),
            Err(failure) => {
                heap::free_all(space, &made);
                return Err(failure);
            }
        }
    }
    Ok(made)
}

/// A copy of the size and the value of an element, on its rank.
fn copy(space: &impl GlobalSpace, node: &ListNode) -> Result<SpaceAddress, Failure> {
    let rank = space.owner(node.at).ok_or(Failure::Damaged)?;
    let size = node.size.checked_add(ELEMENT_HEADER).ok_or(Failure::Damaged)?;
    let at = heap::allocate(space, rank, size)?;
    if let Err(refused) = space.copy(at.plus(2 * WORD), node.at.plus(2 * WORD), WORD + node.size) {
        heap::free_all(space, &[at]);
        return Err(refused.into());
    }
    Ok(at)
}

/// Links elements with each other, and the outer ones with their neighbours.
fn write_links(
    space: &impl GlobalSpace, elements: &[SpaceAddress], around: Links,
) -> Result<(), Failure> {
    for (index, at) in elements.iter().enumerate() {
        let next = elements.get(index + 1).copied().unwrap_or(around.next);
        let previous = if index == 0 { around.previous } else { elements[index - 1] };
        words::write(space, *at, &Links { next, previous }.words())?;
    }
    Ok(())
}

/// Links the first and the last of some elements, which are linked with each other, with their
/// neighbours.
fn write_outer_links(
    space: &impl GlobalSpace, elements: &[SpaceAddress], around: Links,
) -> Result<(), Failure> {
    if let [only] = elements {
        return Ok(words::write(space, *only, &around.words())?);
    }
    if let (Some(first), Some(last)) = (elements.first(), elements.last()) {
        words::write(space, first.plus(WORD), &[around.previous.0])?;
        words::write(space, *last, &[around.next.0])?;
    }
    Ok(())
}

/// The links of some elements to those around them; `None` if there are none.
fn outer_links(nodes: &[ListNode]) -> Option<Links> {
    let (first, last) = (nodes.first()?, nodes.last()?);
    Some(Links { next: last.links.next, previous: first.links.previous })
}
