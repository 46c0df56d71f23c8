//! The k-nomial tree of broadcast, gather and scatter.
//!
//! Places count from the root. In base `radix`, a place's parent is the place with its lowest
//! nonzero digit set to 0:
//!
//! ```text
//!   radix 2       0                     radix 4       0
//!             ┌───┼───┐                     ┌─────┬───┼───┬───┐
//!             4   2   1                     4     8   1   2   3
//!            ┌┴┐  │                        ┌┼┐   ┌┼┐
//!            6 5  3                        5 6 7 9 ...
//!            │
//!            7
//! ```
//!
//! So a subtree consists of consecutive places: their blocks, in the order of places, form one
//! message.

use std::iter::successors;

use crate::mpi::collective::algorithms::Shape;

/// The tree of a communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub(crate) shape: Shape,
    /// At least 2.
    pub(crate) radix: u32,
}

/// The binomial tree.
pub(crate) fn binomial(shape: Shape) -> Tree {
    Tree { shape, radix: 2 }
}

impl Tree {
    /// The parent of a place other than 0.
    pub(crate) fn parent(self, place: u32) -> u32 {
        let weight = u64::from(self.radix).pow(self.height(place) + 1);
        place - (u64::from(place) % weight) as u32
    }

    /// The children of a place, the one with the largest subtree first.
    pub(crate) fn children(self, place: u32) -> impl Iterator<Item = u32> {
        let weights = (0..self.height(place)).rev().map(move |digit| self.weight(digit));
        let child = move |weight: u64| {
            (1..u64::from(self.radix)).map(move |digit| u64::from(place) + digit * weight)
        };
        weights.flat_map(child).filter(move |&child| child < self.ranks()).map(|child| child as u32)
    }

    /// Number of places in the subtree of a place, itself included; the other places follow it.
    pub(crate) fn subtree_size(self, place: u32) -> u32 {
        self.weight(self.height(place)).min(self.ranks() - u64::from(place)) as u32
    }

    /// Distance between a place and the root, in messages.
    pub(crate) fn depth(self, place: u32) -> u32 {
        let mut rest = place;
        let mut depth = 0;
        while rest > 0 {
            depth += u32::from(!rest.is_multiple_of(self.radix));
            rest /= self.radix;
        }
        depth
    }

    /// The depth of the deepest place.
    pub(crate) fn depth_max(self) -> u32 {
        // The first place of each depth has that number of digits, all of them 1.
        let firsts = successors(Some(1), |first| Some(first * u64::from(self.radix) + 1));
        firsts.take_while(|first| *first < self.ranks()).count() as u32
    }

    /// The number of low digits in which places of the subtree differ from this place. A parent's
    /// height is above that of its children.
    pub(crate) fn height(self, place: u32) -> u32 {
        let below = |&digit: &u32| {
            let is_zero = u64::from(place).is_multiple_of(self.weight(digit + 1));
            is_zero && self.weight(digit) < self.ranks()
        };
        (0..).take_while(below).count() as u32
    }

    fn weight(self, digit: u32) -> u64 {
        u64::from(self.radix).pow(digit)
    }

    fn ranks(self) -> u64 {
        self.shape.ranks.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_below_its_parent_and_known_to_it() {
        for (ranks, radix) in (1..100).flat_map(|ranks| [2, 3, 4, 8].map(|radix| (ranks, radix))) {
            let tree = Tree { shape: Shape { ranks }, radix };
            let mut found = vec![0];
            for place in 0..ranks {
                let mut end = place + 1;
                let mut children: Vec<u32> = tree.children(place).collect();
                assert!(children.is_sorted_by_key(|child| std::cmp::Reverse(tree.height(*child))));
                children.sort_unstable();
                for child in children {
                    assert_eq!((tree.parent(child), child), (place, end), "{tree:?}");
                    assert_eq!(tree.depth(child), tree.depth(place) + 1);
                    assert!(tree.height(child) < tree.height(place));
                    end += tree.subtree_size(child);
                    found.push(child);
                }
                assert_eq!(end, place + tree.subtree_size(place), "{tree:?} {place}");
            }
            found.sort_unstable();
            assert!(found.into_iter().eq(0..ranks), "{tree:?}");
            let deepest = (0..ranks).map(|place| tree.depth(place)).max();
            assert_eq!(deepest, Some(tree.depth_max()), "{tree:?}");
        }
    }
}
