//! Which rank goes to which of a row of objects, as numbers: it knows no processors.

use std::collections::HashMap;

use platform::sys::topology::HardwareLevel;

use super::request::RankOrder;

/// Where a rank is seated: in which object, and as the how-manieth there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlacementSlot {
    /// The number of the object.
    pub object: usize,
    /// How many were seated there before.
    pub index: usize,
}

/// Seats `ranks` one by one round the objects, past those that are full, until all are; then again
/// from the start. `rooms` says how many each has room for; at least one each, of at least one.
pub(super) fn in_rounds(rooms: &[usize], ranks: usize) -> Vec<PlacementSlot> {
    let mut taken = vec![0; rooms.len()];
    let mut seats = Vec::with_capacity(ranks);
    let mut fills = 1;
    while seats.len() < ranks {
        let before = seats.len();
        for (object, turn) in taken.iter_mut().enumerate() {
            if *turn < rooms[object].max(1) * fills && seats.len() < ranks {
                seats.push(PlacementSlot { object, index: *turn });
                *turn += 1;
            }
        }
        if seats.len() == before {
            fills += 1;
        }
    }
    seats
}

/// Seats `each` on the first object, as many on the next, and so on; then again from the start.
pub(super) fn in_blocks(objects: usize, each: usize, ranks: usize) -> Vec<PlacementSlot> {
    let all = objects.saturating_mul(each);
    let seat =
        |rank| PlacementSlot { object: rank % all / each, index: rank / all * each + rank % each };
    (0..ranks).map(seat).collect()
}

/// Puts places in the order in which `ranking` numbers them; `object_of` says in which object of
/// its level a place is.
pub(super) fn sort_by_rank_order<T>(
    places: &mut [(PlacementSlot, T)], ranking: Option<RankOrder>,
    object_of: impl Fn(&T, HardwareLevel) -> usize,
) {
    match ranking {
        None | Some(RankOrder::AsMapped) => {}
        Some(RankOrder::Fill) => places.sort_by_key(|(seat, _)| seat.object),
        Some(RankOrder::Span) => places.sort_by_key(|(seat, _)| seat.index),
        Some(RankOrder::Level(level)) => {
            let mut counts = HashMap::new();
            places.sort_by_cached_key(|(_, place)| {
                let object = object_of(place, level);
                let turn = counts.entry(object).or_insert(0);
                *turn += 1;
                (*turn, object)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn objects(seats: &[PlacementSlot]) -> Vec<usize> {
        seats.iter().map(|seat| seat.object).collect()
    }

    #[test]
    fn rounds_pass_what_is_full_and_begin_again() {
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
    fn ranking_renumbers_the_places() {
        let ranked = |ranking| {
            // Six ranks round two objects; what they hold is their number as mapped.
            let mut places: Vec<_> = in_rounds(&[3, 3], 6).into_iter().zip(0..).collect();
            sort_by_rank_order(&mut places, ranking, |place: &usize, _| place / 3);
            places.into_iter().map(|(_, place)| place).collect::<Vec<_>>()
        };
        assert_eq!(ranked(None), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ranked(Some(RankOrder::AsMapped)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ranked(Some(RankOrder::Fill)), [0, 2, 4, 1, 3, 5]);
        assert_eq!(ranked(Some(RankOrder::Span)), [0, 1, 2, 3, 4, 5]);
        let level = RankOrder::Level(HardwareLevel::Numa);
        assert_eq!(ranked(Some(level)), [0, 3, 1, 4, 2, 5]);
    }

    proptest! {
        #[test]
        fn every_rank_has_a_seat_of_its_own(
            rooms in proptest::collection::vec(0usize..5, 1..6), each in 1usize..4,
            ranks in 0usize..40,
        ) {
            let blocks = in_blocks(rooms.len(), each, ranks);
            let rounds = in_rounds(&rooms, ranks);
            for seats in [&blocks, &rounds] {
                prop_assert_eq!(seats.len(), ranks);
                for (number, seat) in seats.iter().enumerate() {
                    prop_assert!(seat.object < rooms.len());
                    let before = seats[..number].iter().filter(|one| one.object == seat.object);
                    prop_assert_eq!(seat.index, before.count());
                }
            }
            // No object is overfull while another has room.
            let most = |object: usize| rooms[object].max(1);
            let filled = (0..rooms.len()).map(|object| {
                rounds.iter().filter(|seat| seat.object == object).count()
            });
            let filled: Vec<_> = filled.collect();
            let overfull = filled.iter().enumerate().any(|(object, count)| *count > most(object));
            let room = filled.iter().enumerate().any(|(object, count)| *count < most(object));
            prop_assert!(!(overfull && room));
        }
    }
}
