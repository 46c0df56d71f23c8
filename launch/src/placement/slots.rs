//! Assigns ranks to slots of objects. Objects are indices here; this module knows no processors.

use std::collections::HashMap;

use platform::sys::topology::HardwareLevel;

use super::request::RankOrder;

/// The slot of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacementSlot {
    pub object: usize,
    /// Its index among the ranks of that object.
    pub index: usize,
}

/// The ranks that an object takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectCapacity {
    /// In its turn.
    pub turn: usize,
    /// Until it is full. When all objects are full, they take as many again.
    pub slots: usize,
    /// At all.
    pub most: usize,
}

/// Assigns ranks to the objects in turns, skipping full ones. `taken` has the ranks that each object
/// has already. `None` if the objects cannot take all ranks. Turns and slots are at least 1.
pub(super) fn in_turns(
    objects: &[ObjectCapacity], taken: &mut [usize], ranks: usize,
) -> Option<Vec<PlacementSlot>> {
    let mut slots = Vec::new();
    let mut fills: usize = 1;
    while slots.len() < ranks {
        let before = slots.len();
        for (object, (capacity, index)) in objects.iter().zip(&mut *taken).enumerate() {
            let limit = capacity.slots.max(1).saturating_mul(fills).min(capacity.most);
            let free = limit.saturating_sub(*index).min(ranks - slots.len());
            for _ in 0..free.min(capacity.turn.max(1)) {
                slots.push(PlacementSlot { object, index: *index });
                *index += 1;
            }
        }
        if slots.len() == before {
            let is_open = |(capacity, taken): (&ObjectCapacity, &usize)| *taken < capacity.most;
            fills = fills.checked_add(1).filter(|_| objects.iter().zip(&*taken).any(is_open))?;
        }
    }
    Some(slots)
}

/// Assigns ranks to the objects by round robin. A capacity of 0 counts as 1; there is an object.
pub(super) fn in_rounds(capacities: &[usize], ranks: usize) -> Vec<PlacementSlot> {
    let capacity = |slots: &usize| ObjectCapacity { turn: 1, slots: *slots, most: usize::MAX };
    let objects: Vec<_> = capacities.iter().map(capacity).collect();
    in_turns(&objects, &mut vec![0; objects.len()], ranks).unwrap_or_default()
}

/// Assigns `each` ranks to the first object, as many to the next, and so on; then again.
pub(super) fn in_blocks(objects: usize, each: usize, ranks: usize) -> Vec<PlacementSlot> {
    let objects = vec![ObjectCapacity { turn: each, slots: each, most: usize::MAX }; objects];
    in_turns(&objects, &mut vec![0; objects.len()], ranks).unwrap_or_default()
}

/// Sorts places by `ranking`; `object_of` gives the object of a level that contains a place.
pub(super) fn sort_by_rank_order<T>(
    places: &mut [(PlacementSlot, T)], ranking: Option<RankOrder>,
    object_of: impl Fn(&T, HardwareLevel) -> usize,
) {
    match ranking {
        None | Some(RankOrder::Slot | RankOrder::Node) => {}
        Some(RankOrder::Fill) => places.sort_by_key(|(slot, _)| slot.object),
        Some(RankOrder::Span) => places.sort_by_key(|(slot, _)| slot.index),
        Some(RankOrder::Level(level)) => {
            let mut counts = HashMap::new();
            places.sort_by_cached_key(|(_, place)| {
                let object = object_of(place, level);
                let index = counts.entry(object).or_insert(0);
                *index += 1;
                (*index, object)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn objects(slots: &[PlacementSlot]) -> Vec<usize> {
        slots.iter().map(|slot| slot.object).collect()
    }

    #[test]
    fn rounds_skip_full_objects_and_begin_again() {
        assert_eq!(objects(&in_rounds(&[2, 2], 4)), [0, 1, 0, 1]);
        assert_eq!(objects(&in_rounds(&[1, 3], 6)), [0, 1, 1, 1, 0, 1]);
        assert_eq!(in_rounds(&[1], 2)[1], PlacementSlot { object: 0, index: 1 });
        assert_eq!(objects(&in_rounds(&[0, 1], 2)), [0, 1]);
    }

    #[test]
    fn blocks_fill_one_object_after_the_other() {
        assert_eq!(objects(&in_blocks(2, 2, 6)), [0, 0, 1, 1, 0, 0]);
        assert_eq!(in_blocks(2, 2, 6)[5], PlacementSlot { object: 0, index: 3 });
    }

    #[test]
    fn what_objects_never_take_is_left() {
        let limits = [(2, 2, 3), (1, 1, usize::MAX), (1, 1, 0)];
        let capacities = limits.map(|(turn, slots, most)| ObjectCapacity { turn, slots, most });
        let found = in_turns(&capacities, &mut [0, 1, 0], 5).unwrap();
        assert_eq!(objects(&found), [0, 0, 0, 1, 1]);
        assert_eq!(in_turns(&capacities[..1], &mut [1], 2).unwrap()[1].index, 2);
        assert_eq!(in_turns(&capacities[..1], &mut [0], 4), None);
        assert_eq!(in_turns(&capacities[2..], &mut [0], 1), None);
        assert_eq!(in_turns(&[], &mut [], 0), Some(vec![]));
    }

    #[test]
    fn ranking_reorders_the_places() {
        let ranked = |ranking| {
            // Six ranks on two objects; the payload is the rank as mapped.
            let mut places: Vec<_> = in_rounds(&[3, 3], 6).into_iter().zip(0..).collect();
            sort_by_rank_order(&mut places, ranking, |place: &usize, _| place / 3);
            places.into_iter().map(|(_, place)| place).collect::<Vec<_>>()
        };
        assert_eq!(ranked(None), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ranked(Some(RankOrder::Slot)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ranked(Some(RankOrder::Fill)), [0, 2, 4, 1, 3, 5]);
        assert_eq!(ranked(Some(RankOrder::Span)), [0, 1, 2, 3, 4, 5]);
        let level = RankOrder::Level(HardwareLevel::Numa);
        assert_eq!(ranked(Some(level)), [0, 3, 1, 4, 2, 5]);
    }

    proptest! {
        #[test]
        fn every_rank_has_a_slot_of_its_own(
            capacities in proptest::collection::vec(0usize..5, 1..6), each in 1usize..4,
            ranks in 0usize..40,
        ) {
            let blocks = in_blocks(capacities.len(), each, ranks);
            let rounds = in_rounds(&capacities, ranks);
            for slots in [&blocks, &rounds] {
                prop_assert_eq!(slots.len(), ranks);
                for (number, slot) in slots.iter().enumerate() {
                    prop_assert!(slot.object < capacities.len());
                    let before = slots[..number].iter().filter(|one| one.object == slot.object);
                    prop_assert_eq!(slot.index, before.count());
                }
            }
            // No object is overfull while another is not full.
            let most = |object: usize| capacities[object].max(1);
            let filled = (0..capacities.len()).map(|object| {
                rounds.iter().filter(|slot| slot.object == object).count()
            });
            let filled: Vec<_> = filled.collect();
            let overfull = filled.iter().enumerate().any(|(object, count)| *count > most(object));
            let not_full = filled.iter().enumerate().any(|(object, count)| *count < most(object));
            prop_assert!(!(overfull && not_full));
        }
    }
}
