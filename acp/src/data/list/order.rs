//! Operations that reorder a list or drop elements by their values: sort, merge, reverse, remove,
//! unique.
//!
//! Each reads the headers of all elements, decides at the caller, and writes only links that
//! change. Memory at the caller is in proportion to the number of elements; values are read one at
//! a time.
//!
//! A comparator of the program may call any operation, but must not change the list.

use super::{List, ListNode};
use crate::data::Element;
use crate::data::chain::{Editor, Ends, Links, count_max};
use crate::failure::Failure;
use crate::heap;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words;

/// Less than 0 if the first value is before the second, more than 0 if it is behind it.
pub(crate) type Compare<'a> = &'a mut dyn FnMut(Element, Element) -> i32;

impl List {
    /// Sorts the elements; those that are equal keep their order.
    pub(crate) fn sort(
        self, space: &impl GlobalSpace, compare: Compare<'_>,
    ) -> Result<(), Failure> {
        let (editor, nodes) = self.nodes(space)?;
        arrange(editor, &sorted(nodes, compare))
    }

    /// Moves the elements of `other` to their places among those of this list; both are sorted. An
    /// element of this list is before an equal one of `other`.
    pub(crate) fn merge(
        self, space: &impl GlobalSpace, other: Self, compare: Compare<'_>,
    ) -> Result<(), Failure> {
        if self == other {
            return Ok(());
        }
        let (editor, nodes) = self.nodes(space)?;
        let (other_editor, other_nodes) = other.nodes(space)?;
        arrange(editor, &merged(nodes, other_nodes, compare))?;
        arrange(other_editor, &[])
    }

    pub(crate) fn reverse(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        let (editor, mut nodes) = self.nodes(space)?;
        nodes.reverse();
        arrange(editor, &nodes)
    }

    /// Removes the elements with the size and the bytes of `value`.
    pub(crate) fn remove(self, space: &impl GlobalSpace, value: Element) -> Result<(), Failure> {
        let wanted = value.read(space)?;
        self.drop_if(space, |_, node| {
            let has_size = node.size == value.len_bytes;
            Ok(has_size && node.value().read(space)? == wanted)
        })
    }

    /// Removes each element whose size and bytes are those of the one before it.
    pub(crate) fn unique(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        // The value of the last element kept, once it has been read.
        let mut value: Option<(SpaceAddress, Vec<u8>)> = None;
        self.drop_if(space, |kept, node| {
            let Some(kept) = kept.filter(|kept| kept.size == node.size) else { return Ok(false) };
            let of_kept = match value.take().filter(|(at, _)| *at == kept.at) {
                Some((_, bytes)) => bytes,
                None => kept.value().read(space)?,
            };
            let bytes = node.value().read(space)?;
            let is_equal = bytes == of_kept;
            value = Some((if is_equal { kept.at } else { node.at }, bytes));
            Ok(is_equal)
        })
    }

    /// Removes the elements for which `is_dropped` is true, given the last element that is kept.
    fn drop_if(
        self, space: &impl GlobalSpace,
        mut is_dropped: impl FnMut(Option<&ListNode>, &ListNode) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let (editor, nodes) = self.nodes(space)?;
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for node in nodes {
            if is_dropped(kept.last(), &node)? {
                dropped.push(node.at);
            } else {
                kept.push(node);
            }
        }
        arrange(editor, &kept)?;
        heap::free_all(space, &dropped);
        Ok(())
    }

    /// All elements.
    ///
    /// # Errors
    /// `Damaged` if they are not as many as the header has, or do not link to each other.
    fn nodes<S: GlobalSpace>(self, space: &S) -> Result<(Editor<'_, S>, Vec<ListNode>), Failure> {
        let editor = self.edit(space)?;
        let ends = editor.ends;
        let mut nodes: Vec<ListNode> = Vec::new();
        let mut links = Links { next: ends.head, previous: self.at };
        for _ in 0..count_max(space, ends) {
            let node = super::node(space, links.next)?;
            if node.links.previous != links.previous {
                return Err(Failure::Damaged);
            }
            links = Links { next: node.links.next, previous: node.at };
            nodes.push(node);
        }
        let is_whole = links == Links { next: self.at, previous: ends.tail };
        if is_whole { Ok((editor, nodes)) } else { Err(Failure::Damaged) }
    }
}

/// Makes `nodes` the elements of a list, in this order.
fn arrange<S: GlobalSpace>(mut editor: Editor<'_, S>, nodes: &[ListNode]) -> Result<(), Failure> {
    let end = editor.chain.terminator;
    let at = |index: usize| nodes.get(index).map_or(end, |node| node.at);
    for (index, node) in nodes.iter().enumerate() {
        // Before the first index is none.
        let links = Links { next: at(index + 1), previous: at(index.wrapping_sub(1)) };
        if links != node.links {
            words::write(editor.space, node.at, &links.words())?;
        }
    }
    let tail = at(nodes.len().wrapping_sub(1));
    editor.ends = Ends { head: at(0), tail, count: nodes.len() as u64 };
    editor.store()
}

/// A merge sort: unlike the sorts of the standard library it does not fail on a comparator that
/// contradicts itself.
fn sorted(mut nodes: Vec<ListNode>, compare: Compare<'_>) -> Vec<ListNode> {
    if nodes.len() < 2 {
        return nodes;
    }
    let right = nodes.split_off(nodes.len() / 2);
    let left = sorted(nodes, compare);
    let right = sorted(right, compare);
    merged(left, right, compare)
}

fn merged(left: Vec<ListNode>, right: Vec<ListNode>, compare: Compare<'_>) -> Vec<ListNode> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
        let is_second_next = compare(first.value(), second.value()) > 0;
        merged.extend(if is_second_next { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    merged
}
