//! Entries in the order in which they came, any of which may leave.
//!
//! A doubly linked list through one slab: an entry keeps its number until it leaves.

use platform::base::Slab;

/// No number.
const NONE: u32 = u32::MAX;

/// Entries of type `T`, oldest first.
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
    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Appends an entry; the result is its number until it is removed, a small one.
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

    /// Takes an entry out.
    ///
    /// # Panics
    /// If it is not there any more.
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

    /// The number of the oldest entry for which `fits` holds, of the `most` oldest.
    #[inline]
    pub(crate) fn find_first(&self, most: usize, fits: impl Fn(&T) -> bool) -> Option<u32> {
        self.iter().take(most).find(|(_, entry)| fits(entry)).map(|(number, _)| number)
    }

    /// The entries with their numbers, oldest first.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut at = self.first;
        std::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let (number, place) = (at, &self.nodes[at]);
            at = place.next;
            Some((number, &place.entry))
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
    fn anybody_may_leave_and_the_others_keep_their_order() {
        let mut line = LinkedQueue::default();
        let numbers: Vec<_> = (0..10).map(|entry| line.push(entry)).collect();
        for leaving in [0, 9, 4, 5] {
            assert_eq!(line.remove(numbers[leaving]), leaving);
        }
        line.push(10);
        let entries: Vec<_> = line.iter().map(|(_, entry)| *entry).collect();
        assert_eq!((entries, line.len()), (vec![1, 2, 3, 6, 7, 8, 10], 7));
        assert_eq!(line.find_first(3, |entry| *entry == 6), None);
        assert_eq!(line.find_first(4, |entry| *entry >= 6).map(|number| line[number]), Some(6));
        for (number, entry) in
            line.iter().map(|(number, entry)| (number, *entry)).collect::<Vec<_>>()
        {
            assert_eq!(line[number], entry);
            line.remove(number);
        }
        assert!(line.is_empty() && line.iter().next().is_none());
    }
}
