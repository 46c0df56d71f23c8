//! A queue from which any entry may be removed: a doubly linked list in one slab.

use platform::base::Slab;

/// No entry.
const NONE: u32 = u32::MAX;

/// Entries of type `T`, oldest first. An entry keeps its number until it is removed.
#[derive(Debug)]
pub(crate) struct LinkedQueue<T> {
    nodes: Slab<QueueNode<T>>,
    first: u32,
    last: u32,
}

#[derive(Debug)]
struct QueueNode<T> {
    entry: T,
    previous: u32,
    next: u32,
}

impl<T> Default for LinkedQueue<T> {
    fn default() -> Self {
        Self { nodes: Slab::default(), first: NONE, last: NONE }
    }
}

impl<T> LinkedQueue<T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Appends an entry and returns its number. Numbers are small.
    #[inline]
    pub fn push(&mut self, entry: T) -> u32 {
        let previous = self.last;
        let number = self.nodes.insert(QueueNode { entry, previous, next: NONE });
        self.last = number;
        match previous {
            NONE => self.first = number,
            _ => self.nodes[previous].next = number,
        }
        number
    }

    /// Removes an entry.
    ///
    /// # Panics
    /// If there is no such entry.
    #[inline]
    pub fn remove(&mut self, number: u32) -> T {
        let QueueNode { entry, previous, next } = self.nodes.remove(number).expect("an entry");
        match previous {
            NONE => self.first = next,
            _ => self.nodes[previous].next = next,
        }
        match next {
            NONE => self.last = previous,
            _ => self.nodes[next].previous = previous,
        }
        entry
    }

    /// The oldest entry for which `matches` is true, among the `most` oldest.
    #[inline]
    pub(crate) fn find_first(&self, most: usize, matches: impl Fn(&T) -> bool) -> Option<u32> {
        self.iter().take(most).find(|(_, entry)| matches(entry)).map(|(number, _)| number)
    }

    /// The entries with their numbers, oldest first.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut at = self.first;
        std::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let (number, node) = (at, &self.nodes[at]);
            at = node.next;
            Some((number, &node.entry))
        })
    }
}

impl<T> std::ops::Index<u32> for LinkedQueue<T> {
    type Output = T;

    /// # Panics
    /// If there is no such entry.
    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.nodes[number].entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_entry_may_be_removed_and_the_others_keep_their_order() {
        let mut queue = LinkedQueue::default();
        let numbers: Vec<_> = (0..10).map(|entry| queue.push(entry)).collect();
        for removed in [0, 9, 4, 5] {
            assert_eq!(queue.remove(numbers[removed]), removed);
        }
        queue.push(10);
        let entries: Vec<_> = queue.iter().map(|(_, entry)| *entry).collect();
        assert_eq!((entries, queue.len()), (vec![1, 2, 3, 6, 7, 8, 10], 7));
        assert_eq!(queue.find_first(3, |entry| *entry == 6), None);
        assert_eq!(queue.find_first(4, |entry| *entry >= 6).map(|number| queue[number]), Some(6));
        for (number, entry) in
            queue.iter().map(|(number, entry)| (number, *entry)).collect::<Vec<_>>()
        {
            assert_eq!(queue[number], entry);
            queue.remove(number);
        }
        assert!(queue.is_empty() && queue.iter().next().is_none());
    }
}
