//! Tests of lists: against `Vec`, layouts in memory, failures.

use proptest::prelude::*;

use super::*;
use crate::heap::tests::assert_all_is_free;
use crate::test_space::TestSpace;

/// The values of a list and their ranks, forwards; checks that backwards they are the same.
fn content(space: &TestSpace, list: List) -> Vec<(Vec<u8>, u32)> {
    let mut found = Vec::new();
    let mut positions = Vec::new();
    let mut at = list.begin(space).unwrap();
    while at != list.end() {
        assert!(found.len() < 1000, "the list has no end");
        let value = list.value(space, at).unwrap();
        assert_eq!(value.at, at.plus(24));
        found.push((value.read(space).unwrap(), space.owner(at).unwrap()));
        positions.push(at);
        at = list.next(space, at).unwrap();
    }
    assert_eq!(list.next(space, at), Ok(list.end()));
    for expected in positions.iter().rev() {
        at = list.previous(space, at).unwrap();
        assert_eq!(at, *expected);
    }
    assert_eq!(list.previous(space, at), Ok(at), "nothing is before the first");
    assert_eq!(list.size(space), Ok(found.len() as u64));
    found
}

fn texts(space: &TestSpace, list: List) -> String {
    let value = |(value, _)| String::from_utf8(value).unwrap();
    content(space, list).into_iter().map(value).collect::<Vec<_>>().join(" ")
}

/// A list on rank 0 with a value per word of `text`, on rank 1.
fn list_of(space: &TestSpace, text: &str) -> List {
    let list = List::create(space, 0).unwrap();
    for word in text.split_whitespace() {
        list.push_back(space, Element::placed(space, 0, word.as_bytes()), 1).unwrap();
    }
    list
}

fn position(space: &TestSpace, list: List, index: usize) -> SpaceAddress {
    list.advance(space, list.begin(space).unwrap(), index as u64).unwrap()
}

/// By the first byte of the values.
fn by_first_byte(space: &TestSpace) -> impl FnMut(Element, Element) -> i32 {
    |left, right| {
        let [left, right] = [left, right].map(|value| space.bytes(value.at, value.len_bytes));
        i32::from(left[0]) - i32::from(right[0])
    }
}

#[test]
fn the_words_of_a_list() {
    let spaces = TestSpace::ranks(2, 4096);
    let space = &spaces[1];
    let list = List::create(space, 0).unwrap();
    assert_eq!(words::read(space, list.at), Ok([list.at.0, list.at.0, 0]));
    assert_eq!(list.begin(space), Ok(list.at), "an empty list begins at its end");
    let second = list.insert(space, list.end(), Element::placed(space, 0, b"two"), 1).unwrap();
    let first = list.insert(space, second, Element::placed(space, 0, b"1"), 0).unwrap();
    assert_eq!(words::read(space, list.at), Ok([first.0, second.0, 2]));
    assert_eq!(words::read(space, first), Ok([second.0, list.at.0, 1]));
    assert_eq!(words::read(space, second), Ok([list.at.0, first.0, 3]));
    assert_eq!(space.bytes(second.plus(24), 3), b"two");
    assert_eq!([first, second].map(|at| space.owner(at)), [Some(0), Some(1)]);
    assert_eq!(list.erase(space, first), Ok(second));
    assert_eq!(list.erase(space, second), Ok(list.at));
    assert_eq!(words::read(space, list.at), Ok([list.at.0, list.at.0, 0]));
    list.destroy(space).unwrap();
    assert_all_is_free(&spaces);
}

#[test]
fn values_of_any_size_and_place_are_copied() {
    let spaces = TestSpace::ranks(2, 1 << 15);
    let data: Vec<u8> = (0..9000_u32).map(|index| index as u8).collect();
    let list = List::create(&spaces[0], 0).unwrap();
    let value = Element::placed(&spaces[1], 0, &data);
    // Staged at the caller, copied by the caller, copied between other ranks; empty.
    list.push_back(&spaces[1], Element::new(value.at, 100), 0).unwrap();
    list.push_back(&spaces[1], value, 0).unwrap();
    list.push_back(&spaces[0], value, 1).unwrap();
    list.push_back(&spaces[0], Element::new(value.at, 0), 1).unwrap();
    let found: Vec<_> = content(&spaces[0], list).into_iter().map(|(value, _)| value).collect();
    assert_eq!(found, [&data[..100], &data, &data, &[]]);
}

#[test]
fn a_sort_is_stable_and_a_merge_prefers_the_first() {
    let space = &TestSpace::ranks(2, 1 << 14)[0];
    let list = list_of(space, "c1 a1 b1 c2 a2 b2 a3");
    list.sort(space, &mut by_first_byte(space)).unwrap();
    assert_eq!(texts(space, list), "a1 a2 a3 b1 b2 c1 c2");
    let other = list_of(space, "a4 b3 d1");
    list.merge(space, other, &mut by_first_byte(space)).unwrap();
    assert_eq!(texts(space, list), "a1 a2 a3 a4 b1 b2 b3 c1 c2 d1");
    assert_eq!(texts(space, other), "");
    list.merge(space, list, &mut by_first_byte(space)).unwrap();
    assert_eq!(list.size(space), Ok(10));
    // A comparator that contradicts itself gives some order of the same elements.
    list.sort(space, &mut |_, _| 1).unwrap();
    let mut found: Vec<_> = content(space, list);
    found.sort();
    assert_eq!((found.len(), found[0].0.as_slice()), (10, b"a1".as_slice()));
}

#[test]
fn remove_drops_equal_values_also_the_first_and_the_last() {
    let spaces = TestSpace::ranks(2, 1 << 14);
    let space = &spaces[0];
    let list = list_of(space, "x x ab x abc x x");
    list.remove(space, Element::placed(space, 0, b"x")).unwrap();
    assert_eq!(texts(space, list), "ab abc");
    list.remove(space, Element::placed(space, 0, b"ac")).unwrap();
    list.remove(space, Element::placed(space, 0, b"ab")).unwrap();
    list.remove(space, Element::placed(space, 0, b"abc")).unwrap();
    assert_eq!(texts(space, list), "");
    list.destroy(space).unwrap();
    assert_all_is_free(&spaces);
}

#[test]
fn unique_drops_neighbours_only() {
    let space = &TestSpace::ranks(2, 1 << 14)[0];
    let list = list_of(space, "a a b bb bb a a a c d d");
    list.unique(space).unwrap();
    assert_eq!(texts(space, list), "a b bb a c d");
}

#[test]
fn a_splice_to_its_own_place_changes_nothing() {
    let space = &TestSpace::ranks(2, 1 << 14)[0];
    let list = list_of(space, "a b c d");
    let at: Vec<_> = (0..5).map(|index| position(space, list, index)).collect();
    list.splice(space, at[1], list, at[1]).unwrap();
    list.splice(space, at[2], list, at[1]).unwrap();
    list.splice_range(space, at[2], list, at[1], at[4]).unwrap();
    list.splice_range(space, at[4], list, at[1], at[4]).unwrap();
    assert_eq!(list.splice(space, at[0], list, list.end()), Err(Failure::Argument));
    assert_eq!(texts(space, list), "a b c d");
    list.splice_range(space, at[0], list, at[2], list.end()).unwrap();
    assert_eq!(texts(space, list), "c d a b");
}

#[test]
fn a_failure_changes_nothing() {
    let spaces = TestSpace::ranks(2, 1024);
    let space = &spaces[0];
    let list = list_of(space, "a b c");
    let absent = Element::new(space.user(0).plus(1 << 20), 4);
    let value = Element::placed(space, 0, b"abc");
    assert_eq!(list.push_back(space, absent, 1), Err(Failure::Refused));
    assert_eq!(list.push_back(space, value, 2), Err(Failure::Argument));
    assert_eq!(list.insert(space, SpaceAddress::NULL, value, 1), Err(Failure::Refused));
    let endless = Element { len_bytes: u64::MAX, ..value };
    assert_eq!(list.push_back(space, endless, 1), Err(Failure::Argument));
    assert_eq!(
        list.push_back(space, Element { len_bytes: 1 << 40, ..value }, 1),
        Err(Failure::NoRoom)
    );
    assert_eq!(list.erase(space, list.end()), Err(Failure::Argument));
    assert_eq!(list.value(space, list.end()), Err(Failure::Argument));
    assert!(list.erase(space, SpaceAddress::NULL).is_err());
    let empty = List::create(space, 0).unwrap();
    assert_eq!(empty.pop_back(space), Err(Failure::Argument));
    assert_eq!(empty.pop_front(space), Err(Failure::Argument));
    // Room for one copy, not for two.
    while heap::allocate(space, 1, 200).is_ok() {}
    while heap::allocate(space, 1, 24).is_ok() {}
    list.pop_back(space).unwrap();
    assert_eq!(list.assign(space, list), Err(Failure::NoRoom));
    assert_eq!(empty.assign(space, list), Err(Failure::NoRoom));
    let begin = list.begin(space).unwrap();
    assert_eq!(list.insert_range(space, begin, list, begin, list.end()), Err(Failure::NoRoom));
    assert_eq!(texts(space, list), "a b");
    assert_eq!(texts(space, empty), "");
}

#[test]
fn damaged_and_destroyed_lists_end() {
    let space = &TestSpace::ranks(2, 1 << 13)[0];
    let list = list_of(space, "a b c");
    let other = list_of(space, "d");
    let at: Vec<_> = (0..3).map(|index| position(space, list, index)).collect();
    let (base, len) = space.heap(0).unwrap();
    let (base1, _) = space.heap(1).unwrap();
    let sound = [base, base1].map(|base| space.bytes(base, len));
    let places = [list.at, list.at.plus(8), list.at.plus(16), at[0], at[0].plus(8), at[2]];
    for place in places {
        for word in [0, 1, 2, u64::MAX, at[0].0, at[2].0, list.at.0, other.at.0] {
            for (base, bytes) in [base, base1].iter().zip(&sound) {
                space.write(*base, bytes).unwrap();
            }
            words::write(space, place, &[word]).unwrap();
            let mut compare = |_, _| 1;
            let _ = list.sort(space, &mut compare);
            let _ = list.reverse(space);
            let _ = list.unique(space);
            let _ = list.remove(space, Element::placed(space, 0, b"b"));
            let _ = list.advance(space, at[0], u64::MAX);
            let _ = list.distance(space, at[0], list.end());
            let _ = other.assign(space, list);
            let _ = other.splice_range(space, other.end(), list, at[0], list.end());
            let _ = list.merge(space, other, &mut compare);
            let _ = list.swap(space, other);
            let _ = list.erase_range(space, at[0], list.end());
            let _ = list.pop_back(space);
            let _ = list.clear(space);
            let _ = list.destroy(space);
        }
    }
    for (base, bytes) in [base, base1].iter().zip(&sound) {
        space.write(*base, bytes).unwrap();
    }
    list.destroy(space).unwrap();
    let destroyed = space.bytes(base, len);
    assert!(list.destroy(space).is_err());
    assert!(list.push_back(space, Element::placed(space, 0, b"x"), 0).is_err());
    assert!(list.clear(space).is_err());
    assert!(list.begin(space).is_err());
    assert!(space.bytes(base, len) == destroyed);
}

#[test]
fn accesses_to_a_remote_list() {
    let spaces = TestSpace::ranks(2, 1 << 13);
    let space = &spaces[0];
    let list = List::create(space, 1).unwrap();
    let value = Element::placed(space, 0, b"abcdefgh");
    let count = |work: &mut dyn FnMut()| space.remote_accesses(work);
    let first = count(&mut || list.push_back(space, value, 1).unwrap());
    let back = count(&mut || list.push_back(space, value, 1).unwrap());
    let inner = position(space, list, 1);
    let middle = count(&mut || _ = list.insert(space, inner, value, 1).unwrap());
    let erase = count(&mut || _ = list.erase(space, inner).unwrap());
    let front = count(&mut || list.push_front(space, value, 1).unwrap());
    let pop = count(&mut || list.pop_front(space).unwrap());
    let next = count(&mut || _ = list.next(space, list.begin(space).unwrap()).unwrap());
    assert_eq!([first, back, middle, erase], [8, 9, 11, 11]);
    assert_eq!([front, pop, next], [11, 11, 2]);
    // The header is near. Each element is read, then a value or links that change.
    let list = list_of(&spaces[1], "1 22 a b c");
    let unique = count(&mut || list.unique(space).unwrap());
    assert_eq!(unique, 5 + 3);
    list.push_back(&spaces[1], Element::placed(&spaces[1], 0, b"0"), 1).unwrap();
    let sort = count(&mut || list.sort(space, &mut by_first_byte(&spaces[1])).unwrap());
    assert_eq!(sort, 6 + 3);
}

/// An operation on list `on` and the other; indices are reduced to what exists.
#[derive(Clone, Debug)]
enum Step {
    Insert(usize, u8, u32),
    PushBack(u8, u32),
    PushFront(u8, u32),
    PopBack,
    PopFront,
    Erase(usize),
    EraseRange(usize, usize),
    InsertRange { index: usize, is_own: bool, range: (usize, usize) },
    AssignRange { is_own: bool, range: (usize, usize) },
    Splice { index: usize, is_own: bool, from: usize },
    SpliceRange { index: usize, is_own: bool, range: (usize, usize) },
    Assign,
    Swap,
    Reverse,
    Sort,
    Merge,
    Remove(u8),
    Unique,
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let index = || 0..40_usize;
    let range = || (0..40_usize, 0..12_usize);
    let value = || (0..9_u8, 0..4_u32);
    prop_oneof![
        3 => (index(), value()).prop_map(|(at, (value, rank))| Step::Insert(at, value, rank)),
        3 => value().prop_map(|(value, rank)| Step::PushBack(value, rank)),
        3 => value().prop_map(|(value, rank)| Step::PushFront(value, rank)),
        2 => prop_oneof![Just(Step::PopBack), Just(Step::PopFront)],
        2 => index().prop_map(Step::Erase),
        1 => range().prop_map(|(start, len)| Step::EraseRange(start, len)),
        1 => (index(), any::<bool>(), range())
            .prop_map(|(index, is_own, range)| Step::InsertRange { index, is_own, range }),
        1 => (any::<bool>(), range())
            .prop_map(|(is_own, range)| Step::AssignRange { is_own, range }),
        2 => (index(), any::<bool>(), index())
            .prop_map(|(index, is_own, from)| Step::Splice { index, is_own, from }),
        2 => (index(), any::<bool>(), range())
            .prop_map(|(index, is_own, range)| Step::SpliceRange { index, is_own, range }),
        1 => prop_oneof![Just(Step::Assign), Just(Step::Swap), Just(Step::Clear)],
        1 => prop_oneof![Just(Step::Reverse), Just(Step::Sort), Just(Step::Merge)],
        1 => prop_oneof![(0..9_u8).prop_map(Step::Remove), Just(Step::Unique)],
    ]
}

/// Value number `value`: few, of several sizes, so that equal ones meet.
fn bytes_of(value: u8) -> Vec<u8> {
    vec![b'a' + value / 3; 1 + value as usize % 3]
}

type Model = Vec<(Vec<u8>, u32)>;

/// Two lists and what they should have.
struct Pair<'a> {
    space: &'a TestSpace,
    lists: [List; 2],
    models: &'a mut [Model; 2],
}

impl Pair<'_> {
    fn at(&self, on: usize, index: usize) -> SpaceAddress {
        position(self.space, self.lists[on], index)
    }

    /// Indices and positions of a range of list `on`, reduced to what exists.
    fn range(
        &self, on: usize, (start, len): (usize, usize),
    ) -> (std::ops::Range<usize>, [SpaceAddress; 2]) {
        let size = self.models[on].len();
        let start = start % (size + 1);
        let end = size.min(start + len);
        (start..end, [start, end].map(|index| self.at(on, index)))
    }

    fn insert(&mut self, on: usize, index: usize, value: u8, rank: u32) {
        let (space, index) = (self.space, index % (self.models[on].len() + 1));
        let data = bytes_of(value);
        let at = self.at(on, index);
        let made =
            self.lists[on].insert(space, at, Element::placed(space, 0, &data), rank).unwrap();
        self.models[on].insert(index, (data, rank));
        assert_eq!(self.at(on, index), made);
    }

    fn splice(&mut self, on: usize, index: usize, of: usize, range: std::ops::Range<usize>) {
        let index = index % (self.models[on].len() + 1);
        let before = self.at(on, index);
        let (list, source) = (self.lists[on], self.lists[of]);
        let [start, end] = [range.start, range.end].map(|index| self.at(of, index));
        if range.len() == 1 {
            list.splice(self.space, before, source, start).unwrap();
        } else {
            list.splice_range(self.space, before, source, start, end).unwrap();
        }
        if on == of && range.contains(&index) {
            return;
        }
        let moved: Vec<_> = self.models[of].drain(range.clone()).collect();
        let index = if on == of && index >= range.end { index - moved.len() } else { index };
        self.models[on].splice(index..index, moved);
    }

    fn step(&mut self, on: usize, step: Step) {
        let (space, list, other) = (self.space, self.lists[on], self.lists[1 - on]);
        let source = |is_own: bool| if is_own { on } else { 1 - on };
        let size = self.models[on].len();
        match step {
            Step::Insert(index, value, rank) => self.insert(on, index, value, rank),
            Step::PushBack(value, rank) => {
                list.push_back(space, Element::placed(space, 0, &bytes_of(value)), rank).unwrap();
                self.models[on].push((bytes_of(value), rank));
            }
            Step::PushFront(value, rank) => {
                list.push_front(space, Element::placed(space, 0, &bytes_of(value)), rank).unwrap();
                self.models[on].insert(0, (bytes_of(value), rank));
            }
            Step::PopBack => {
                assert_eq!(list.pop_back(space).is_ok(), self.models[on].pop().is_some());
            }
            Step::PopFront => {
                assert_eq!(list.pop_front(space).is_ok(), size > 0);
                self.models[on].drain(..size.min(1));
            }
            Step::Erase(index) if size > 0 => {
                let next = list.erase(space, self.at(on, index % size)).unwrap();
                self.models[on].remove(index % size);
                assert_eq!(next, self.at(on, index % size));
            }
            Step::Erase(_) => {}
            Step::EraseRange(start, len) => {
                let (range, [start, end]) = self.range(on, (start, len));
                assert_eq!(list.erase_range(space, start, end), Ok(end));
                self.models[on].drain(range);
            }
            Step::InsertRange { index, is_own, range } => {
                let of = source(is_own);
                let (range, [start, end]) = self.range(of, range);
                let index = index % (size + 1);
                let before = self.at(on, index);
                let first = list.insert_range(space, before, self.lists[of], start, end);
                let copied = self.models[of][range].to_vec();
                self.models[on].splice(index..index, copied);
                assert_eq!(first, Ok(self.at(on, index)));
            }
            Step::AssignRange { is_own, range } => {
                let of = source(is_own);
                let (range, [start, end]) = self.range(of, range);
                list.assign_range(space, self.lists[of], start, end).unwrap();
                self.models[on] = self.models[of][range].to_vec();
            }
            Step::Splice { index, is_own, from } => {
                let of = source(is_own);
                if !self.models[of].is_empty() {
                    let from = from % self.models[of].len();
                    self.splice(on, index, of, from..from + 1);
                }
            }
            Step::SpliceRange { index, is_own, range } => {
                let (range, _) = self.range(source(is_own), range);
                self.splice(on, index, source(is_own), range);
            }
            Step::Assign => {
                list.assign(space, other).unwrap();
                self.models[on] = self.models[1 - on].clone();
            }
            Step::Swap => {
                list.swap(space, other).unwrap();
                self.models.swap(0, 1);
            }
            Step::Reverse => {
                list.reverse(space).unwrap();
                self.models[on].reverse();
            }
            Step::Sort => {
                list.sort(space, &mut by_first_byte(space)).unwrap();
                self.models[on].sort_by_key(|(value, _)| value[0]);
            }
            Step::Merge => {
                for list in self.lists {
                    list.sort(space, &mut by_first_byte(space)).unwrap();
                }
                list.merge(space, other, &mut by_first_byte(space)).unwrap();
                let moved = std::mem::take(&mut self.models[1 - on]);
                self.models[on].extend(moved);
                self.models[on].sort_by_key(|(value, _)| value[0]);
            }
            Step::Remove(value) => {
                list.remove(space, Element::placed(space, 0, &bytes_of(value))).unwrap();
                self.models[on].retain(|(kept, _)| *kept != bytes_of(value));
            }
            Step::Unique => {
                list.unique(space).unwrap();
                self.models[on].dedup_by(|right, left| right.0 == left.0);
            }
            Step::Clear => {
                list.clear(space).unwrap();
                self.models[on].clear();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_list_has_the_values_of_a_vec(
        ranks in (0..4_u32, 0..4_u32),
        steps in prop::collection::vec((0..4_usize, 0..2_usize, step()), 1..60),
    ) {
        let spaces = TestSpace::ranks(4, 1 << 16);
        let lists = <[u32; 2]>::from(ranks).map(|rank| List::create(&spaces[0], rank).unwrap());
        let mut models: [Model; 2] = Default::default();
        for (by, on, step) in steps {
            let mut pair = Pair { space: &spaces[by], lists, models: &mut models };
            if pair.models[on].len() < 60 {
                pair.step(on, step.clone());
            }
            for (list, model) in lists.iter().zip(&models) {
                prop_assert_eq!(&content(&spaces[by], *list), model, "after {:?} on {}", step, on);
            }
        }
        lists.iter().for_each(|list| list.destroy(&spaces[3]).unwrap());
        assert_all_is_free(&spaces);
    }
}
