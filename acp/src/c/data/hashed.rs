//! Functions of set, multiset and map.

use std::ffi::c_int;

use super::types::{
    acp_element_t, acp_map_it_t, acp_map_t, acp_multiset_it_t, acp_multiset_t, acp_pair_t,
    acp_set_it_t, acp_set_t,
};
use super::{as_int, ignore, number};
use crate::c::space;
use crate::data::Element;
use crate::data::hashed::{Hashed, Kind, MapKind, MultisetKind, Position, SetKind, TableScope};
use crate::failure::Failure;
use crate::space::{GlobalSpace, SpaceAddress};

/// The ranks of the tables of a new container: all if `count` is 0.
///
/// # Safety
/// `ranks` points to `count` numbers, if `count` is positive and `ranks` is not null.
unsafe fn holders(count: c_int, ranks: *const c_int) -> Result<Vec<u32>, Failure> {
    let count: usize = number(count)?;
    if count == 0 {
        return Ok((0..space().ranks()).collect());
    }
    if ranks.is_null() {
        return Err(Failure::Argument);
    }
    // SAFETY: the caller's contract.
    let ranks = unsafe { std::slice::from_raw_parts(ranks, count) };
    ranks.iter().map(|rank| number(*rank)).collect()
}

/// Makes a container, as `acp_create_*`.
///
/// # Safety
/// As [`holders`].
unsafe fn create<K: Kind>(
    count: c_int, ranks: *const c_int, slots: c_int, rank: c_int,
) -> Result<Hashed<K>, Failure> {
    // SAFETY: the caller's contract.
    let holders = unsafe { holders(count, ranks)? };
    Hashed::create(&space(), &holders, number(slots)?, number(rank)?)
}

/// The functions that set, multiset and map share.
macro_rules! hashed_functions {
    (
        $kind:ty, $container:ident, $iterator:ident { $field:ident },
        assign = $assign:ident, $assign_local:ident,
        begin = $begin:ident, $begin_local:ident,
        clear = $clear:ident,
        create = $create:ident,
        destroy = $destroy:ident,
        empty = $empty:ident, $empty_local:ident,
        end = $end:ident, $end_local:ident,
        find = $find:ident,
        merge = $merge:ident, $merge_local:ident,
        move = $move:ident, $move_local:ident,
        remove = $remove:ident,
        size = $size:ident, $size_local:ident,
        swap = $swap:ident,
        increment = $increment:ident,
    ) => {
        impl $container {
            fn container(self) -> Result<Hashed<$kind>, Failure> {
                let Self { ga, num_ranks, num_slots } = self;
                Hashed::new(&space(), SpaceAddress(ga), num_ranks, num_slots)
            }

            /// The iterator at a position; at the end if there was a failure.
            fn at(self, position: Result<Position, Failure>) -> $iterator {
                let position = position.unwrap_or_else(|_| Position {
                    index: self.num_ranks,
                    slot: 0,
                    element: SpaceAddress::NULL,
                });
                $iterator {
                    $field: self,
                    rank: as_int(position.index),
                    slot: as_int(position.slot),
                    elem: position.element.0,
                }
            }

            fn size_of(self, scope: TableScope) -> usize {
                let size = self.container().and_then(|container| container.size(&space(), scope));
                size.unwrap_or(0) as usize
            }

            /// The containers of an operation on two.
            fn with(self, other: Self) -> Result<[Hashed<$kind>; 2], Failure> {
                Ok([self.container()?, other.container()?])
            }
        }

        impl $iterator {
            fn position(self) -> Result<Position, Failure> {
                let (index, slot) = (number(self.rank)?, number(self.slot)?);
                Ok(Position { index, slot, element: SpaceAddress(self.elem) })
            }

            /// The key and the value of the element.
            fn element(self) -> Result<[Element; 2], Failure> {
                let (key, value) = self.$field.container()?.element(&space(), self.position()?)?;
                Ok([key, value])
            }
        }

        /// Replaces all elements of the first container by copies of those of the second on this
        /// rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign_local(to: $container, from: $container) {
            ignore(
                to.with(from).and_then(|[to, from]| to.assign(&space(), from, TableScope::Local)),
            );
        }

        /// Replaces all elements of the first container by copies of those of the second.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign(to: $container, from: $container) {
            ignore(to.with(from).and_then(|[to, from]| to.assign(&space(), from, TableScope::All)));
        }

        /// The first position on this rank; that of the local end if there is none.
        #[unsafe(no_mangle)]
        pub extern "C" fn $begin_local(container: $container) -> $iterator {
            let begin = container.container().and_then(|it| it.begin(&space(), TableScope::Local));
            container.at(begin)
        }

        /// The first position, the end if there is none.
        #[unsafe(no_mangle)]
        pub extern "C" fn $begin(container: $container) -> $iterator {
            container.at(container.container().and_then(|it| it.begin(&space(), TableScope::All)))
        }

        /// Removes all elements.
        #[unsafe(no_mangle)]
        pub extern "C" fn $clear(container: $container) {
            ignore(container.container().and_then(|it| it.clear(&space(), TableScope::All)));
        }

        /// Makes an empty container: `num_slots` slots on each of `num_ranks` ranks (all if it is
        /// 0), and a directory on `rank`.
        ///
        /// # Safety
        /// `ranks` points to `num_ranks` ranks.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(
            num_ranks: c_int, ranks: *const c_int, num_slots: c_int, rank: c_int,
        ) -> $container {
            // SAFETY: the caller's contract.
            let made = unsafe { create::<$kind>(num_ranks, ranks, num_slots, rank) };
            made.map_or_else(
                |_| $container::default(),
                |made| $container { ga: made.at.0, num_ranks: made.ranks, num_slots: made.slots },
            )
        }

        /// Frees a container and its elements.
        #[unsafe(no_mangle)]
        pub extern "C" fn $destroy(container: $container) {
            ignore(container.container().and_then(|container| container.destroy(&space())));
        }

        /// 1 if there are no elements on this rank, otherwise 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty_local(container: $container) -> c_int {
            c_int::from(container.size_of(TableScope::Local) == 0)
        }

        /// 1 if there are no elements, otherwise 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty(container: $container) -> c_int {
            c_int::from(container.size_of(TableScope::All) == 0)
        }

        /// The first position behind the elements of this rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn $end_local(container: $container) -> $iterator {
            container
                .at(container.container().and_then(|it| it.end_of(&space(), TableScope::Local)))
        }

        /// The position behind all elements.
        #[unsafe(no_mangle)]
        pub extern "C" fn $end(container: $container) -> $iterator {
            container.at(container.container().map(Hashed::end))
        }

        /// The position of a key, the end if it is absent.
        #[unsafe(no_mangle)]
        pub extern "C" fn $find(container: $container, key: acp_element_t) -> $iterator {
            container.at(container.container().and_then(|it| it.find(&space(), key.into())))
        }

        /// Inserts copies of the elements of the second container on this rank into the first.
        #[unsafe(no_mangle)]
        pub extern "C" fn $merge_local(to: $container, from: $container) {
            ignore(
                to.with(from).and_then(|[to, from]| to.merge(&space(), from, TableScope::Local)),
            );
        }

        /// Inserts copies of the elements of the second container into the first.
        #[unsafe(no_mangle)]
        pub extern "C" fn $merge(to: $container, from: $container) {
            ignore(to.with(from).and_then(|[to, from]| to.merge(&space(), from, TableScope::All)));
        }

        /// Moves the elements of the second container on this rank to the first.
        #[unsafe(no_mangle)]
        pub extern "C" fn $move_local(to: $container, from: $container) {
            ignore(
                to.with(from)
                    .and_then(|[to, from]| to.move_from(&space(), from, TableScope::Local)),
            );
        }

        /// Moves the elements of the second container to the first.
        #[unsafe(no_mangle)]
        pub extern "C" fn $move(to: $container, from: $container) {
            ignore(
                to.with(from).and_then(|[to, from]| to.move_from(&space(), from, TableScope::All)),
            );
        }

        /// Removes a key; a multiset counts it down.
        #[unsafe(no_mangle)]
        pub extern "C" fn $remove(container: $container, key: acp_element_t) {
            ignore(container.container().and_then(|it| it.remove(&space(), key.into())));
        }

        /// The number of different keys on this rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn $size_local(container: $container) -> usize {
            container.size_of(TableScope::Local)
        }

        /// The number of different keys.
        #[unsafe(no_mangle)]
        pub extern "C" fn $size(container: $container) -> usize {
            container.size_of(TableScope::All)
        }

        /// Exchanges the elements of two containers.
        #[unsafe(no_mangle)]
        pub extern "C" fn $swap(left: $container, right: $container) {
            ignore(left.with(right).and_then(|[left, right]| left.swap(&space(), right)));
        }

        /// The position behind `it`; the end is behind the end.
        #[unsafe(no_mangle)]
        pub extern "C" fn $increment(it: $iterator) -> $iterator {
            let container = it.$field.container();
            it.$field.at(container.and_then(|container| container.next(&space(), it.position()?)))
        }
    };
}

hashed_functions! {
    SetKind, acp_set_t, acp_set_it_t { set },
    assign = acp_assign_set, acp_assign_local_set,
    begin = acp_begin_set, acp_begin_local_set,
    clear = acp_clear_set,
    create = acp_create_set,
    destroy = acp_destroy_set,
    empty = acp_empty_set, acp_empty_local_set,
    end = acp_end_set, acp_end_local_set,
    find = acp_find_set,
    merge = acp_merge_set, acp_merge_local_set,
    move = acp_move_set, acp_move_local_set,
    remove = acp_remove_set,
    size = acp_size_set, acp_size_local_set,
    swap = acp_swap_set,
    increment = acp_increment_set_it,
}

hashed_functions! {
    MultisetKind, acp_multiset_t, acp_multiset_it_t { set },
    assign = acp_assign_multiset, acp_assign_local_multiset,
    begin = acp_begin_multiset, acp_begin_local_multiset,
    clear = acp_clear_multiset,
    create = acp_create_multiset,
    destroy = acp_destroy_multiset,
    empty = acp_empty_multiset, acp_empty_local_multiset,
    end = acp_end_multiset, acp_end_local_multiset,
    find = acp_find_multiset,
    merge = acp_merge_multiset, acp_merge_local_multiset,
    move = acp_move_multiset, acp_move_local_multiset,
    remove = acp_remove_multiset,
    size = acp_size_multiset, acp_size_local_multiset,
    swap = acp_swap_multiset,
    increment = acp_increment_multiset_it,
}

hashed_functions! {
    MapKind, acp_map_t, acp_map_it_t { map },
    assign = acp_assign_map, acp_assign_local_map,
    begin = acp_begin_map, acp_begin_local_map,
    clear = acp_clear_map,
    create = acp_create_map,
    destroy = acp_destroy_map,
    empty = acp_empty_map, acp_empty_local_map,
    end = acp_end_map, acp_end_local_map,
    find = acp_find_map,
    merge = acp_merge_map, acp_merge_local_map,
    move = acp_move_map, acp_move_local_map,
    remove = acp_remove_map,
    size = acp_size_map, acp_size_local_map,
    swap = acp_swap_map,
    increment = acp_increment_map_it,
}

/// Inserts a key: 1 if it is there now, 0 if there was a failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_set(set: acp_set_t, key: acp_element_t) -> c_int {
    let insert = |set: Hashed<SetKind>| set.insert(&space(), key.into(), Element::default());
    c_int::from(set.container().and_then(insert).is_ok())
}

/// Inserts or counts a key: 1, or 0 if there was a failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_multiset(set: acp_multiset_t, key: acp_element_t) -> c_int {
    let insert = |set: Hashed<MultisetKind>| set.insert(&space(), key.into(), Element::default());
    c_int::from(set.container().and_then(insert).is_ok())
}

/// Inserts a key and its value: 1, or 0 if the key is there already, or key or value have no bytes,
/// or there was a failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_map(map: acp_map_t, pair: acp_pair_t) -> c_int {
    let insert = |map: Hashed<MapKind>| map.insert(&space(), pair.first.into(), pair.second.into());
    let is_new = pair.second.size > 0 && map.container().and_then(insert) == Ok(true);
    c_int::from(is_new)
}

/// The key at a position; nothing at the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_set_it(it: acp_set_it_t) -> acp_element_t {
    it.element().unwrap_or_default()[0].into()
}

/// The key at a position; nothing at the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_multiset_it(it: acp_multiset_it_t) -> acp_element_t {
    it.element().unwrap_or_default()[0].into()
}

/// The key and the value at a position; nothing at the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_map_it(it: acp_map_it_t) -> acp_pair_t {
    it.element().unwrap_or_default().into()
}

/// Removes a key, whatever its count.
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_all_multiset(set: acp_multiset_t, key: acp_element_t) {
    ignore(set.container().and_then(|set| set.remove_all(&space(), key.into())));
}

/// The count of a key; 0 if it is absent.
#[unsafe(no_mangle)]
pub extern "C" fn acp_retrieve_multiset(set: acp_multiset_t, key: acp_element_t) -> u64 {
    set.container().and_then(|set| set.count(&space(), key.into())).unwrap_or(0)
}

/// Copies the value of the first element of `pair`, a key, to the second; the size of the value, 0
/// if the key is absent.
#[unsafe(no_mangle)]
pub extern "C" fn acp_retrieve_map(map: acp_map_t, pair: acp_pair_t) -> usize {
    let retrieve =
        |map: Hashed<MapKind>| map.retrieve(&space(), pair.first.into(), pair.second.into());
    let size = map.container().and_then(retrieve);
    size.ok().flatten().unwrap_or(0) as usize
}

/// Removes all elements on this rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_clear_local_map(map: acp_map_t) {
    ignore(map.container().and_then(|map| map.clear(&space(), TableScope::Local)));
}
