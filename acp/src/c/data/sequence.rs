//! Functions of vector and deque.

use std::ffi::c_int;

use super::types::{
    acp_deque_it_t, acp_deque_t, acp_element_t, acp_pair_t, acp_vector_it_t, acp_vector_t,
};
use super::{as_int, ignore, number};
use crate::c::space;
use crate::data::Element;
use crate::data::sequence::{DequeKind, Sequence, VectorKind};
use crate::space::SpaceAddress;

/// `size` bytes at `ga`.
fn bytes(ga: u64, size: usize) -> Element {
    acp_element_t { ga, size }.into()
}

/// The functions that vector and deque share.
macro_rules! sequence_functions {
    (
        $kind:ty, $container:ident, $iterator:ident { $field:ident },
        assign = $assign:ident,
        assign_range = $assign_range:ident,
        at = $at:ident,
        begin = $begin:ident,
        capacity = $capacity:ident,
        clear = $clear:ident,
        create = $create:ident,
        destroy = $destroy:ident,
        empty = $empty:ident,
        end = $end:ident,
        erase = $erase:ident,
        erase_range = $erase_range:ident,
        insert = $insert:ident,
        insert_range = $insert_range:ident,
        pop_back = $pop_back:ident,
        push_back = $push_back:ident,
        reserve = $reserve:ident,
        size = $size:ident,
        swap = $swap:ident,
        advance = $advance:ident,
        distance = $distance:ident,
    ) => {
        impl From<$container> for Sequence<$kind> {
            fn from(container: $container) -> Self {
                Self::new(SpaceAddress(container.ga))
            }
        }

        impl $iterator {
            /// The container of two iterators, and the indices between them, which start at 0 or
            /// later.
            fn range(start: Self, end: Self) -> Option<(Sequence<$kind>, std::ops::Range<u64>)> {
                let is_one = start.$field.ga == end.$field.ga;
                let start_index = number(start.index).ok().filter(|_| is_one)?;
                Some((start.$field.into(), start_index..number(end.index).unwrap_or(0)))
            }
        }

        /// Replaces the bytes of the first container by those of the second.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign(to: $container, from: $container) {
            ignore(Sequence::<$kind>::from(to).assign(&space(), from.into()));
        }

        /// Replaces the bytes by those from `start` to `end`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $assign_range(to: $container, start: $iterator, end: $iterator) {
            if let Some((from, range)) = $iterator::range(start, end) {
                ignore(Sequence::from(to).assign_range(&space(), from, range));
            }
        }

        /// The address of the byte with an index; 0 if there is none.
        #[unsafe(no_mangle)]
        pub extern "C" fn $at(container: $container, index: c_int) -> u64 {
            let sequence = Sequence::<$kind>::from(container);
            let pieces = number(index).and_then(|index| sequence.pieces(&space(), index, 1));
            pieces.map_or(0, |[first, _]| first.at.0)
        }

        /// The position of the first byte.
        #[unsafe(no_mangle)]
        pub extern "C" fn $begin(container: $container) -> $iterator {
            $iterator { $field: container, index: 0 }
        }

        /// The size to which the container can grow without new memory.
        #[unsafe(no_mangle)]
        pub extern "C" fn $capacity(container: $container) -> usize {
            Sequence::<$kind>::from(container).capacity(&space()).unwrap_or(0) as usize
        }

        /// Removes all bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $clear(container: $container) {
            ignore(Sequence::<$kind>::from(container).clear(&space()));
        }

        /// Makes a container for `size` bytes on a rank.
        #[unsafe(no_mangle)]
        pub extern "C" fn $create(size: usize, rank: c_int) -> $container {
            let create = |rank| Sequence::<$kind>::create(&space(), size as u64, rank);
            let made = number(rank).and_then(create);
            made.map_or_else(|_| $container::default(), |made| $container { ga: made.at.0 })
        }

        /// Frees a container.
        #[unsafe(no_mangle)]
        pub extern "C" fn $destroy(container: $container) {
            ignore(Sequence::<$kind>::from(container).destroy(&space()));
        }

        /// 1 if there are no bytes, otherwise 0.
        #[unsafe(no_mangle)]
        pub extern "C" fn $empty(container: $container) -> c_int {
            c_int::from($size(container) == 0)
        }

        /// The position behind the last byte.
        #[unsafe(no_mangle)]
        pub extern "C" fn $end(container: $container) -> $iterator {
            $iterator { $field: container, index: as_int($size(container) as u64) }
        }

        /// Removes `size` bytes from `it` on; the position behind them, which is `it`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $erase(it: $iterator, size: usize) -> $iterator {
            let sequence = Sequence::<$kind>::from(it.$field);
            ignore(number(it.index).and_then(|at| sequence.erase(&space(), at, size as u64)));
            it
        }

        /// Removes the bytes from `start` to `end`; the position behind them.
        #[unsafe(no_mangle)]
        pub extern "C" fn $erase_range(start: $iterator, end: $iterator) -> $iterator {
            match $iterator::range(start, end) {
                Some((_, range)) if !range.is_empty() => {
                    $erase(start, (range.end - range.start) as usize)
                }
                _ => end,
            }
        }

        /// Inserts `size` bytes at `ga` before `it`; the position of the first, `it` if it failed.
        #[unsafe(no_mangle)]
        pub extern "C" fn $insert(it: $iterator, ga: u64, size: usize) -> $iterator {
            let sequence = Sequence::<$kind>::from(it.$field);
            let source = [bytes(ga, size), Element::default()];
            let inserted = number(it.index).and_then(|at| sequence.insert(&space(), at, source));
            inserted.map_or(it, |index| $iterator { index: as_int(index), ..it })
        }

        /// Inserts the bytes from `start` to `end` before `it`; the position of the first, `it` if
        /// there are none or it failed.
        #[unsafe(no_mangle)]
        pub extern "C" fn $insert_range(
            it: $iterator, start: $iterator, end: $iterator,
        ) -> $iterator {
            let (Some((from, range)), Ok(at)) = ($iterator::range(start, end), number(it.index))
            else {
                return it;
            };
            let sequence = Sequence::<$kind>::from(it.$field);
            let inserted = sequence.insert_range(&space(), at, from, range);
            inserted.map_or(it, |index| $iterator { index: as_int(index), ..it })
        }

        /// Removes the last `size` bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $pop_back(container: $container, size: usize) {
            ignore(Sequence::<$kind>::from(container).pop_back(&space(), size as u64));
        }

        /// Inserts `size` bytes at `ga` behind all others.
        #[unsafe(no_mangle)]
        pub extern "C" fn $push_back(container: $container, ga: u64, size: usize) {
            ignore(Sequence::<$kind>::from(container).push_back(&space(), bytes(ga, size)));
        }

        /// Makes room for `size` bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $reserve(container: $container, size: usize) {
            ignore(Sequence::<$kind>::from(container).reserve(&space(), size as u64));
        }

        /// The number of bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $size(container: $container) -> usize {
            Sequence::<$kind>::from(container).size(&space()).unwrap_or(0) as usize
        }

        /// Exchanges the bytes of two containers.
        #[unsafe(no_mangle)]
        pub extern "C" fn $swap(left: $container, right: $container) {
            ignore(Sequence::<$kind>::from(left).swap(&space(), right.into()));
        }

        /// The position `n` bytes behind `it`, or before it.
        #[unsafe(no_mangle)]
        pub extern "C" fn $advance(it: $iterator, n: c_int) -> $iterator {
            $iterator { index: it.index.wrapping_add(n), ..it }
        }

        /// How many bytes `last` is behind `first`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $distance(first: $iterator, last: $iterator) -> c_int {
            last.index.wrapping_sub(first.index)
        }
    };
}

sequence_functions! {
    VectorKind, acp_vector_t, acp_vector_it_t { vector },
    assign = acp_assign_vector,
    assign_range = acp_assign_range_vector,
    at = acp_at_vector,
    begin = acp_begin_vector,
    capacity = acp_capacity_vector,
    clear = acp_clear_vector,
    create = acp_create_vector,
    destroy = acp_destroy_vector,
    empty = acp_empty_vector,
    end = acp_end_vector,
    erase = acp_erase_vector,
    erase_range = acp_erase_range_vector,
    insert = acp_insert_vector,
    insert_range = acp_insert_range_vector,
    pop_back = acp_pop_back_vector,
    push_back = acp_push_back_vector,
    reserve = acp_reserve_vector,
    size = acp_size_vector,
    swap = acp_swap_vector,
    advance = acp_advance_vector_it,
    distance = acp_distance_vector_it,
}

sequence_functions! {
    DequeKind, acp_deque_t, acp_deque_it_t { deque },
    assign = acp_assign_deque,
    assign_range = acp_assign_range_deque,
    at = acp_at_deque,
    begin = acp_begin_deque,
    capacity = acp_capacity_deque,
    clear = acp_clear_deque,
    create = acp_create_deque,
    destroy = acp_destroy_deque,
    empty = acp_empty_deque,
    end = acp_end_deque,
    erase = acp_erase_deque,
    erase_range = acp_erase_range_deque,
    insert = acp_insert_deque,
    insert_range = acp_insert_range_deque,
    pop_back = acp_pop_back_deque,
    push_back = acp_push_back_deque,
    reserve = acp_reserve_deque,
    size = acp_size_deque,
    swap = acp_swap_deque,
    advance = acp_advance_deque_it,
    distance = acp_distance_deque_it,
}

/// The address of the byte at a position; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_vector_it(it: acp_vector_it_t) -> u64 {
    acp_at_vector(it.vector, it.index)
}

/// At most `size` bytes from a position on, in one piece or two.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_deque_it(it: acp_deque_it_t, size: usize) -> acp_pair_t {
    let deque = Sequence::<DequeKind>::from(it.deque);
    let pieces = number(it.index).and_then(|index| deque.pieces(&space(), index, size as u64));
    pieces.unwrap_or_default().into()
}

/// Inserts `size` bytes at `ga` before all others.
#[unsafe(no_mangle)]
pub extern "C" fn acp_push_front_deque(deque: acp_deque_t, ga: u64, size: usize) {
    ignore(Sequence::<DequeKind>::from(deque).push_front(&space(), bytes(ga, size)));
}

/// Removes the first `size` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn acp_pop_front_deque(deque: acp_deque_t, size: usize) {
    ignore(Sequence::<DequeKind>::from(deque).pop_front(&space(), size as u64));
}
