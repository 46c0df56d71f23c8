//! Functions of lists.

use std::ffi::c_int;

use super::types::{acp_element_t, acp_list_it_t, acp_list_t};
use super::{as_int, ignore, number};
use crate::c::space;
use crate::data::Element;
use crate::data::list::List;
use crate::failure::Failure;
use crate::space::SpaceAddress;

/// Negative if the first value is before the second, positive if it is behind it.
type Comparator = unsafe extern "C" fn(acp_element_t, acp_element_t) -> c_int;

impl From<acp_list_t> for List {
    fn from(list: acp_list_t) -> Self {
        Self::new(SpaceAddress(list.ga))
    }
}

impl acp_list_it_t {
    fn list(self) -> List {
        self.list.into()
    }

    fn position(self) -> SpaceAddress {
        SpaceAddress(self.elem)
    }

    /// A position in the same list; none if there was a failure.
    fn at(self, position: Result<SpaceAddress, Failure>) -> Self {
        Self { elem: position.unwrap_or_default().0, ..self }
    }
}

/// The list of two iterators and their positions.
fn range(
    start: acp_list_it_t, end: acp_list_it_t,
) -> Result<(List, SpaceAddress, SpaceAddress), Failure> {
    if start.list.ga == end.list.ga {
        Ok((start.list(), start.position(), end.position()))
    } else {
        Err(Failure::Argument)
    }
}

/// A comparator of a program, for lists.
///
/// # Safety
/// `compare` may be called with elements of lists, as long as the result lives.
unsafe fn comparison(compare: Comparator) -> impl FnMut(Element, Element) -> i32 {
    // SAFETY: the caller's contract.
    move |left, right| unsafe { compare(left.into(), right.into()) }
}

/// Replaces the elements of the first list by copies of those of the second.
#[unsafe(no_mangle)]
pub extern "C" fn acp_assign_list(list1: acp_list_t, list2: acp_list_t) {
    ignore(List::from(list1).assign(&space(), list2.into()));
}

/// Replaces the elements by copies of those from `start` to `end`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_assign_range_list(
    list: acp_list_t, start: acp_list_it_t, end: acp_list_it_t,
) {
    let list = List::from(list);
    ignore(
        range(start, end)
            .and_then(|(source, start, end)| list.assign_range(&space(), source, start, end)),
    );
}

/// The position of the first element, the end if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn acp_begin_list(list: acp_list_t) -> acp_list_it_t {
    acp_end_list(list).at(List::from(list).begin(&space()))
}

/// Removes all elements.
#[unsafe(no_mangle)]
pub extern "C" fn acp_clear_list(list: acp_list_t) {
    ignore(List::from(list).clear(&space()));
}

/// Makes an empty list on a rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_list(rank: c_int) -> acp_list_t {
    let made = number(rank).and_then(|rank| List::create(&space(), rank));
    acp_list_t { ga: made.map_or(0, |made| made.at.0) }
}

/// Frees a list and its elements.
#[unsafe(no_mangle)]
pub extern "C" fn acp_destroy_list(list: acp_list_t) {
    ignore(List::from(list).destroy(&space()));
}

/// 1 if there are no elements, otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn acp_empty_list(list: acp_list_t) -> c_int {
    c_int::from(acp_size_list(list) == 0)
}

/// The position behind the last element.
#[unsafe(no_mangle)]
pub extern "C" fn acp_end_list(list: acp_list_t) -> acp_list_it_t {
    acp_list_it_t { list, elem: list.ga }
}

/// Removes an element; the position behind it.
#[unsafe(no_mangle)]
pub extern "C" fn acp_erase_list(it: acp_list_it_t) -> acp_list_it_t {
    it.at(it.list().erase(&space(), it.position()))
}

/// Removes the elements from `start` to `end`; the position behind them.
#[unsafe(no_mangle)]
pub extern "C" fn acp_erase_range_list(start: acp_list_it_t, end: acp_list_it_t) -> acp_list_it_t {
    end.at(range(start, end).and_then(|(list, start, end)| list.erase_range(&space(), start, end)))
}

/// Inserts a copy of `elem` on a rank before `it`; its position.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_list(
    it: acp_list_it_t, elem: acp_element_t, rank: c_int,
) -> acp_list_it_t {
    let insert = |rank| it.list().insert(&space(), it.position(), elem.into(), rank);
    it.at(number(rank).and_then(insert))
}

/// Inserts copies of the elements from `start` to `end` before `it`; the position of the first.
#[unsafe(no_mangle)]
pub extern "C" fn acp_insert_range_list(
    it: acp_list_it_t, start: acp_list_it_t, end: acp_list_it_t,
) -> acp_list_it_t {
    it.at(range(start, end).and_then(|(source, start, end)| {
        it.list().insert_range(&space(), it.position(), source, start, end)
    }))
}

/// Moves the elements of the second list to their places in the first; both are sorted.
///
/// # Safety
/// `comp` is null or a function that may be called with elements of the lists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_merge_list(
    list1: acp_list_t, list2: acp_list_t, comp: Option<Comparator>,
) {
    let Some(comp) = comp else { return };
    // SAFETY: the caller's contract.
    let mut compare = unsafe { comparison(comp) };
    ignore(List::from(list1).merge(&space(), list2.into(), &mut compare));
}

/// Removes the last element.
#[unsafe(no_mangle)]
pub extern "C" fn acp_pop_back_list(list: acp_list_t) {
    ignore(List::from(list).pop_back(&space()));
}

/// Removes the first element.
#[unsafe(no_mangle)]
pub extern "C" fn acp_pop_front_list(list: acp_list_t) {
    ignore(List::from(list).pop_front(&space()));
}

/// Inserts a copy of `elem` on a rank behind all others.
#[unsafe(no_mangle)]
pub extern "C" fn acp_push_back_list(list: acp_list_t, elem: acp_element_t, rank: c_int) {
    ignore(number(rank).and_then(|rank| List::from(list).push_back(&space(), elem.into(), rank)));
}

/// Inserts a copy of `elem` on a rank before all others.
#[unsafe(no_mangle)]
pub extern "C" fn acp_push_front_list(list: acp_list_t, elem: acp_element_t, rank: c_int) {
    ignore(number(rank).and_then(|rank| List::from(list).push_front(&space(), elem.into(), rank)));
}

/// Removes all elements with the size and the bytes of `elem`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_remove_list(list: acp_list_t, elem: acp_element_t) {
    ignore(List::from(list).remove(&space(), elem.into()));
}

/// Reverses the order of the elements.
#[unsafe(no_mangle)]
pub extern "C" fn acp_reverse_list(list: acp_list_t) {
    ignore(List::from(list).reverse(&space()));
}

/// The number of elements.
#[unsafe(no_mangle)]
pub extern "C" fn acp_size_list(list: acp_list_t) -> usize {
    List::from(list).size(&space()).unwrap_or(0) as usize
}

/// Sorts the elements; those that are equal keep their order.
///
/// # Safety
/// `comp` is null or a function that may be called with elements of the list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_sort_list(list: acp_list_t, comp: Option<Comparator>) {
    let Some(comp) = comp else { return };
    // SAFETY: the caller's contract.
    let mut compare = unsafe { comparison(comp) };
    ignore(List::from(list).sort(&space(), &mut compare));
}

/// Moves the element at `it2` before `it1`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_splice_list(it1: acp_list_it_t, it2: acp_list_it_t) {
    ignore(it1.list().splice(&space(), it1.position(), it2.list(), it2.position()));
}

/// Moves the elements from `start` to `end` before `it`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_splice_range_list(
    it: acp_list_it_t, start: acp_list_it_t, end: acp_list_it_t,
) {
    ignore(range(start, end).and_then(|(source, start, end)| {
        it.list().splice_range(&space(), it.position(), source, start, end)
    }));
}

/// Exchanges the elements of two lists.
#[unsafe(no_mangle)]
pub extern "C" fn acp_swap_list(list1: acp_list_t, list2: acp_list_t) {
    ignore(List::from(list1).swap(&space(), list2.into()));
}

/// Removes each element that is equal to the one before it.
#[unsafe(no_mangle)]
pub extern "C" fn acp_unique_list(list: acp_list_t) {
    ignore(List::from(list).unique(&space()));
}

/// The position `n` elements behind `it`, or the end; `it` if `n` is negative.
#[unsafe(no_mangle)]
pub extern "C" fn acp_advance_list_it(it: acp_list_it_t, n: c_int) -> acp_list_it_t {
    it.at(it.list().advance(&space(), it.position(), number(n).unwrap_or(0)))
}

/// The position before `it`; `it` if it is the first.
#[unsafe(no_mangle)]
pub extern "C" fn acp_decrement_list_it(it: acp_list_it_t) -> acp_list_it_t {
    it.at(it.list().previous(&space(), it.position()))
}

/// The value at a position; nothing at the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_dereference_list_it(it: acp_list_it_t) -> acp_element_t {
    it.list().value(&space(), it.position()).unwrap_or_default().into()
}

/// The number of elements from `first` to `last`; 0 if they are in two lists.
#[unsafe(no_mangle)]
pub extern "C" fn acp_distance_list_it(first: acp_list_it_t, last: acp_list_it_t) -> c_int {
    let distance =
        range(first, last).and_then(|(list, first, last)| list.distance(&space(), first, last));
    distance.map_or(0, as_int)
}

/// The position behind `it`; the end is behind the end.
#[unsafe(no_mangle)]
pub extern "C" fn acp_increment_list_it(it: acp_list_it_t) -> acp_list_it_t {
    it.at(it.list().next(&space(), it.position()))
}
