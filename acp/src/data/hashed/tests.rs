//! Tests of set, multiset and map: against a `BTreeMap`, layouts in memory, threads, failures.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::heap::tests::assert_all_is_free;
use crate::test_space::TestSpace;

const NONE: Element = Element { at: SpaceAddress::NULL, len_bytes: 0 };

fn key(space: &TestSpace, data: &[u8]) -> Element {
    Element::placed(space, 0, data)
}

/// Keys and values by iteration, in its order.
fn content<K: Kind>(
    space: &TestSpace, container: Hashed<K>, scope: TableScope,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let end = container.end_of(space, scope).unwrap();
    let mut position = container.begin(space, scope).unwrap();
    while position != end {
        assert!(found.len() < 1000, "iteration has no end");
        let (key, value) = container.element(space, position).unwrap();
        found.push((key.read(space).unwrap(), value.read(space).unwrap()));
        position = container.next(space, position).unwrap();
    }
    found
}

fn header<const N: usize>(space: &TestSpace, at: u64) -> [u64; N] {
    words::read(space, SpaceAddress(at)).unwrap()
}

#[test]
fn a_key_belongs_to_the_slot_of_its_crc_64() {
    let space = &TestSpace::ranks(1, 1 << 14)[0];
    // The check value of CRC-64/XZ, from the catalogue of parametrised CRC algorithms of G. Cook.
    assert_eq!(CRC.checksum(b"123456789"), 0x995d_c9bb_df19_39fa);
    let hash = 0x995d_c9bb_df19_u64;
    for (ranks, slots) in [(1, 1), (3, 5), (7, 16)] {
        let set = Hashed::<SetKind>::new(space, SpaceAddress::NULL, ranks, slots).unwrap();
        assert_eq!(set.place(b"123456789"), (hash / slots % ranks, hash % slots));
    }
}

#[test]
fn the_words_of_a_set() {
    let spaces = TestSpace::ranks(3, 4096);
    let space = &spaces[0];
    let set = Hashed::<SetKind>::create(space, &[2, 1], 3, 1).unwrap();
    assert_eq!((space.owner(set.at), set.ranks, set.slots), (Some(1), 2, 3));
    let tables: [u64; 2] = header(space, set.at.0);
    assert_eq!(tables.map(|table| space.owner(SpaceAddress(table))), [Some(2), Some(1)]);
    assert!(tables.iter().all(|table| header(space, *table) == [0; 12]));
    assert_eq!(set.insert(space, key(space, b"123456789"), NONE), Ok(true));
    let (index, slot) = set.place(b"123456789");
    let slot = tables[index as usize] + 32 * slot;
    let [lock, head, tail, count] = header(space, slot);
    assert_eq!((lock, tail, count), (0, head, 1));
    assert_eq!(space.owner(SpaceAddress(head)), space.owner(SpaceAddress(slot)));
    assert_eq!(header(space, head), [0, 0, 9]);
    assert_eq!(space.bytes(SpaceAddress(head).plus(24), 9), b"123456789");
    set.destroy(space).unwrap();
    assert_all_is_free(&spaces);
}

#[test]
fn the_words_of_a_chain_of_a_multiset_and_of_a_map() {
    let space = &TestSpace::ranks(1, 4096)[0];
    let multiset = Hashed::<MultisetKind>::create(space, &[0], 1, 0).unwrap();
    for data in ["a", "bcd", "a"] {
        multiset.insert(space, key(space, data.as_bytes()), NONE).unwrap();
    }
    let [table] = header(space, multiset.at.0);
    let [_, head, tail, count] = header(space, table);
    assert_eq!(count, 2);
    assert_eq!(header(space, head), [tail, 0, 2, 1]);
    assert_eq!(header(space, tail), [0, head, 1, 3]);
    assert_eq!(space.bytes(SpaceAddress(tail).plus(32), 3), b"bcd");
    let map = Hashed::<MapKind>::create(space, &[0], 1, 0).unwrap();
    let value = Element::placed(space, 8, b"value");
    assert_eq!(map.insert(space, key(space, b"key"), value), Ok(true));
    let [table] = header(space, map.at.0);
    let [_, head, _, _] = header(space, table);
    assert_eq!(header(space, head), [0, 0, 8 + 3 + 5, 3]);
    assert_eq!(space.bytes(SpaceAddress(head).plus(32), 8), b"keyvalue");
    let position = map.begin(space, TableScope::All).unwrap();
    let at = SpaceAddress(head).plus(32);
    let pair = (Element::new(at, 3), Element::new(at.plus(3), 5));
    assert_eq!(map.element(space, position), Ok(pair));
}

#[test]
fn a_multiset_counts_down_or_drops_a_key() {
    let spaces = TestSpace::ranks(2, 4096);
    let space = &spaces[0];
    let set = Hashed::<MultisetKind>::create(space, &[1], 2, 0).unwrap();
    let data = key(space, b"a");
    (0..3).for_each(|_| _ = set.insert(space, data, NONE).unwrap());
    set.remove(space, data).unwrap();
    assert_eq!(set.count(space, data), Ok(2));
    set.remove_all(space, data).unwrap();
    assert_eq!(set.count(space, data), Ok(0));
    assert_eq!(set.size(space, TableScope::All), Ok(0));
}

#[test]
fn a_map_keeps_its_value_and_copies_what_fits() {
    let spaces = TestSpace::ranks(2, 1 << 15);
    let space = &spaces[0];
    let map = Hashed::<MapKind>::create(space, &[1, 0], 2, 0).unwrap();
    let large: Vec<u8> = (0..9000_u32).map(|index| index as u8).collect();
    // A value in the memory of another rank, and one that is too large to be staged.
    let values =
        [Element::placed(&spaces[1], 100, b"0123456789"), Element::placed(space, 200, &large)];
    for (name, value) in [b"remote", b"large!"].into_iter().zip(values) {
        assert_eq!(map.insert(space, key(space, name), value), Ok(true));
        assert_eq!(
            map.insert(space, key(space, name), Element::placed(space, 8, b"new")),
            Ok(false)
        );
    }
    let into = space.place(1400, &[0xff; 16]);
    let retrieve =
        |name: &[u8], len| map.retrieve(space, key(space, name), Element::new(into, len));
    assert_eq!(retrieve(b"remote", 4), Ok(Some(10)));
    assert_eq!(space.bytes(into, 5), b"0123\xff");
    assert_eq!(retrieve(b"remote", 16), Ok(Some(10)));
    assert_eq!(space.bytes(into, 11), b"0123456789\xff");
    assert_eq!(retrieve(b"large!", 0), Ok(Some(9000)));
    assert_eq!(retrieve(b"absent", 16), Ok(None));
    let found = content(space, map, TableScope::All);
    assert!(found.contains(&(b"large!".to_vec(), large)));
}

#[test]
fn keys_that_differ_only_in_length_or_behind_256_bytes_are_different() {
    let space = &TestSpace::ranks(1, 1 << 14)[0];
    let set = Hashed::<SetKind>::create(space, &[0], 1, 0).unwrap();
    let mut long = vec![7_u8; 300];
    let keys: Vec<Vec<u8>> = vec![b"a".into(), b"ab".into(), vec![7; 299], vec![7; 300]];
    for data in &keys {
        assert_eq!(set.insert(space, key(space, data), NONE), Ok(true));
        assert_eq!(set.insert(space, key(space, data), NONE), Ok(false));
    }
    long[299] = 8;
    assert_eq!(set.insert(space, key(space, &long), NONE), Ok(true));
    assert_eq!(set.size(space, TableScope::All), Ok(5));
    set.remove(space, key(space, &vec![7; 300])).unwrap();
    let found = content(space, set, TableScope::All);
    assert_eq!(found.iter().map(|(key, _)| key.len()).collect::<Vec<_>>(), [1, 2, 299, 300]);
}

#[test]
fn a_longer_key_is_looked_for_at_the_end_of_the_heap() {
    let spaces = TestSpace::ranks(2, 1024);
    let space = &spaces[0];
    let set = Hashed::<SetKind>::create(space, &[1], 1, 0).unwrap();
    let mut last = SpaceAddress::NULL;
    while let Ok(at) = heap::allocate(space, 1, 40) {
        last = at;
    }
    heap::free(space, last).unwrap();
    assert_eq!(set.insert(space, key(space, b"a"), NONE), Ok(true));
    assert_eq!(set.find(space, key(space, &[7; 200])), Ok(set.end()));
}

#[test]
fn local_forms_are_about_the_tables_of_the_caller() {
    let spaces = TestSpace::ranks(4, 1 << 13);
    let create = || Hashed::<SetKind>::create(&spaces[0], &[0, 1, 2], 2, 0).unwrap();
    let (set, other) = (create(), create());
    for data in 0..40_u8 {
        set.insert(&spaces[3], key(&spaces[3], &[data]), NONE).unwrap();
    }
    let mut found = Vec::new();
    for space in &spaces[..3] {
        let local = content(space, set, TableScope::Local);
        assert!(!local.is_empty());
        assert_eq!(set.size(space, TableScope::Local), Ok(local.len() as u64));
        found.extend(local);
    }
    assert_eq!(found, content(&spaces[0], set, TableScope::All));
    assert_eq!(set.size(&spaces[3], TableScope::Local), Ok(0));
    assert_eq!(set.begin(&spaces[3], TableScope::Local), Ok(set.end()));
    assert_eq!(set.end_of(&spaces[2], TableScope::Local), Ok(set.end()));
    other.insert(&spaces[0], key(&spaces[0], b"old key"), NONE).unwrap();
    other.assign(&spaces[1], set, TableScope::Local).unwrap();
    assert_eq!(
        content(&spaces[1], other, TableScope::All),
        content(&spaces[1], set, TableScope::Local)
    );
    other.move_from(&spaces[0], set, TableScope::Local).unwrap();
    assert_eq!(set.size(&spaces[0], TableScope::Local), Ok(0));
    assert_eq!(set.begin(&spaces[0], TableScope::Local), set.end_of(&spaces[0], TableScope::Local));
    other.merge(&spaces[2], set, TableScope::Local).unwrap();
    assert_eq!(other.size(&spaces[3], TableScope::All), Ok(40));
    other.clear(&spaces[1], TableScope::Local).unwrap();
    assert_eq!(other.size(&spaces[1], TableScope::Local), Ok(0));
    assert!(other.size(&spaces[0], TableScope::Local).unwrap() > 0);
}

#[test]
fn more_slots_than_are_read_at_once() {
    let spaces = TestSpace::ranks(2, 1 << 16);
    let space = &spaces[0];
    let slots = 2 * SLOTS_AT_ONCE + 50;
    let set = Hashed::<SetKind>::create(space, &[1, 1], slots, 0).unwrap();
    for data in 0..200_u8 {
        set.insert(space, key(space, &[data]), NONE).unwrap();
    }
    let mut found: Vec<_> =
        content(space, set, TableScope::All).into_iter().map(|(key, _)| key[0]).collect();
    found.sort();
    assert_eq!(found, (0..200).collect::<Vec<_>>());
    assert_eq!(set.size(space, TableScope::All), Ok(200));
    set.destroy(space).unwrap();
    assert_all_is_free(&spaces);
}

#[test]
fn a_move_keeps_memory_on_the_same_rank_and_what_has_no_room() {
    let spaces = TestSpace::ranks(2, 2048);
    let space = &spaces[0];
    let source = Hashed::<SetKind>::create(space, &[0], 2, 0).unwrap();
    let near = Hashed::<SetKind>::create(space, &[0], 3, 0).unwrap();
    let far = Hashed::<SetKind>::create(space, &[1], 1, 0).unwrap();
    for data in [b"one", b"two"] {
        source.insert(space, key(space, data), NONE).unwrap();
    }
    let element = source.find(space, key(space, b"two")).unwrap().element;
    near.move_from(space, source, TableScope::All).unwrap();
    assert_eq!(near.find(space, key(space, b"two")).unwrap().element, element);
    assert_eq!(source.size(space, TableScope::All), Ok(0));
    // Rank 1 has room for one element.
    let mut blocks = Vec::new();
    while let Ok(at) = heap::allocate(space, 1, 40) {
        blocks.push(at);
    }
    heap::free(space, blocks[0]).unwrap();
    assert_eq!(far.swap(space, near), Err(Failure::NoRoom));
    assert_eq!(near.size(space, TableScope::All), Ok(1));
    assert_eq!(far.size(space, TableScope::All), Ok(1));
    assert_eq!(far.merge(space, near, TableScope::All), Err(Failure::NoRoom));
    assert_eq!(near.size(space, TableScope::All), Ok(1));
}

#[test]
fn operations_on_one_container_twice_change_nothing() {
    let space = &TestSpace::ranks(1, 4096)[0];
    let set = Hashed::<MultisetKind>::create(space, &[0], 2, 0).unwrap();
    set.insert(space, key(space, b"a"), NONE).unwrap();
    set.merge(space, set, TableScope::All).unwrap();
    set.assign(space, set, TableScope::All).unwrap();
    set.move_from(space, set, TableScope::Local).unwrap();
    set.swap(space, set).unwrap();
    assert_eq!(set.count(space, key(space, b"a")), Ok(1));
}

#[test]
fn a_failure_changes_nothing() {
    let spaces = TestSpace::ranks(2, 2048);
    let space = &spaces[0];
    let create =
        |holders: &[u32], slots, rank| Hashed::<MapKind>::create(space, holders, slots, rank).err();
    assert_eq!(create(&[], 1, 0), Some(Failure::Argument));
    assert_eq!(create(&[0], 0, 0), Some(Failure::Argument));
    assert_eq!(create(&[0, 2], 1, 0), Some(Failure::Argument));
    assert_eq!(create(&[0], 1, 2), Some(Failure::Argument));
    assert_eq!(create(&[0], u64::MAX, 0), Some(Failure::Argument));
    assert_eq!(create(&[0, 1], 62, 0), Some(Failure::NoRoom));
    assert_all_is_free(&spaces);
    let map = Hashed::<MapKind>::create(space, &[1], 1, 0).unwrap();
    let absent = Element::new(space.user(0).plus(1 << 20), 4);
    let large = Element::new(space.user(0), 4000);
    assert_eq!(map.insert(space, NONE, NONE), Err(Failure::Argument));
    assert_eq!(map.insert(space, absent, NONE), Err(Failure::Refused));
    assert_eq!(map.insert(space, key(space, b"k"), absent), Err(Failure::Refused));
    assert_eq!(
        map.insert(space, Element { len_bytes: 1 << 50, ..absent }, NONE),
        Err(Failure::NoRoom)
    );
    assert_eq!(map.insert(space, key(space, b"k"), large), Err(Failure::NoRoom));
    let endless = Element { len_bytes: u64::MAX - 3, ..Element::placed(&spaces[1], 0, b"k") };
    assert_eq!(map.insert(space, key(space, b"k"), endless), Err(Failure::NoRoom));
    assert_eq!(map.find(space, key(space, b"k")), Ok(map.end()));
    assert_eq!(map.find(space, NONE), Err(Failure::Argument));
    assert_eq!(map.size(space, TableScope::All), Ok(0));
    map.remove(space, key(space, b"k")).unwrap();
    assert_eq!(map.insert(space, key(space, b"k"), NONE), Ok(true));
    assert_eq!(map.retrieve(space, key(space, b"k"), NONE), Ok(Some(0)));
    map.destroy(space).unwrap();
    assert_all_is_free(&spaces);
}

#[test]
fn damaged_and_destroyed_containers_end() {
    let spaces = TestSpace::ranks(2, 4096);
    let space = &spaces[0];
    let create = || Hashed::<MapKind>::create(space, &[1, 0], 2, 0).unwrap();
    let (map, other) = (create(), create());
    let value = Element::placed(space, 8, b"value");
    for data in 0..12_u8 {
        map.insert(space, key(space, &[data]), value).unwrap();
    }
    let bases = [0, 1].map(|rank| space.heap(rank).unwrap());
    let sound = bases.map(|(base, len)| space.bytes(base, len));
    let restore = || {
        for ((base, _), bytes) in bases.iter().zip(&sound) {
            space.write(*base, bytes).unwrap();
        }
    };
    let [table, _] = header::<2>(space, map.at.0);
    let element = header::<4>(space, table)[1];
    assert_ne!(element, 0);
    let places = [map.at.0, table, table + 8, table + 16, table + 24];
    for place in places.into_iter().chain((0..4).map(|word| element + 8 * word)) {
        for word in [0, 1, 13, u64::MAX, element, table, map.at.0] {
            restore();
            words::write(space, SpaceAddress(place), &[word]).unwrap();
            for data in 0..12_u8 {
                let _ = map.insert(space, key(space, &[data]), value);
                let _ = map.retrieve(space, key(space, &[data]), value);
            }
            let mut position = map.begin(space, TableScope::All);
            for _ in 0..20 {
                position = position.and_then(|position| map.next(space, position));
            }
            let _ = other.merge(space, map, TableScope::All);
            let _ = other.swap(space, map);
            for data in 0..12_u8 {
                let _ = map.remove(space, key(space, &[data]));
            }
            let _ = map.clear(space, TableScope::All);
            let _ = map.destroy(space);
        }
    }
    restore();
    map.destroy(space).unwrap();
    let destroyed = bases.map(|(base, len)| space.bytes(base, len));
    assert!(map.destroy(space).is_err());
    assert!(map.insert(space, key(space, b"k"), value).is_err());
    assert!(map.clear(space, TableScope::All).is_err());
    assert!(bases.map(|(base, len)| space.bytes(base, len)) == destroyed);
}

#[test]
fn accesses_to_a_remote_map() {
    let spaces = TestSpace::ranks(2, 1 << 13);
    let space = &spaces[0];
    let map = Hashed::<MapKind>::create(space, &[1], 1, 1).unwrap();
    let value = Element::placed(space, 8, b"value");
    let count = |work: &mut dyn FnMut()| space.remote_accesses(work);
    let first = count(&mut || _ = map.insert(space, key(space, b"a"), value).unwrap());
    let second = count(&mut || _ = map.insert(space, key(space, b"b"), value).unwrap());
    let retrieve = count(&mut || _ = map.retrieve(space, key(space, b"a"), value).unwrap());
    let find = count(&mut || _ = map.find(space, key(space, b"b")).unwrap());
    let remove = count(&mut || map.remove(space, key(space, b"b")).unwrap());
    assert_eq!([first, second, retrieve, find, remove], [11, 13, 6, 6, 14]);
}

/// The directory and the shape of a container for `check`.
#[derive(Clone, Debug)]
struct Shape {
    holders: Vec<u32>,
    slots: u64,
    rank: u32,
}

fn shape() -> impl Strategy<Value = Shape> {
    let holders = prop::collection::vec(0..4_u32, 1..5);
    (holders, 1..6_u64, 0..4_u32).prop_map(|(holders, slots, rank)| Shape { holders, slots, rank })
}

/// An operation on container `on` and the other.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u8),
    Remove(u8),
    RemoveAll(u8),
    Clear,
    Assign,
    Merge,
    Move,
    MoveLocal,
    Swap,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..14_u8, any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
        4 => (0..14_u8).prop_map(Step::Remove),
        1 => (0..14_u8).prop_map(Step::RemoveAll),
        1 => prop_oneof![Just(Step::Clear), Just(Step::Assign), Just(Step::Merge)],
        1 => prop_oneof![Just(Step::Move), Just(Step::MoveLocal), Just(Step::Swap)],
    ]
}

/// Key number `number`: of several sizes, so that some are prefixes of others.
fn bytes_of(number: u8) -> Vec<u8> {
    vec![b'a' + number % 5; 1 + number as usize / 5]
}

/// Value and count of each key.
type Model = BTreeMap<Vec<u8>, (Vec<u8>, u64)>;

fn merge_model<K: Kind>(
    model: &mut Model, other: impl IntoIterator<Item = (Vec<u8>, (Vec<u8>, u64))>,
) {
    for (key, (value, count)) in other {
        let entry = model.entry(key).or_insert((value, 0));
        entry.1 = if K::COUNT.is_some() { entry.1 + count } else { 1 };
    }
}

fn run<K: Kind>(
    space: &TestSpace, on: usize, step: Step, containers: [Hashed<K>; 2], models: &mut [Model; 2],
) {
    let is_map = K::content([u64::MAX, 0]).is_some_and(|content| content.value_bytes > 0);
    let (container, other) = (containers[on], containers[1 - on]);
    match step {
        Step::Insert(number, value) => {
            let value = vec![value; if is_map { usize::from(value) % 20 } else { 0 }];
            let is_new = !models[on].contains_key(&bytes_of(number));
            let placed_value = Element::placed(space, 8, &value);
            let inserted = container.insert(space, key(space, &bytes_of(number)), placed_value);
            assert_eq!(inserted, Ok(is_new));
            merge_model::<K>(&mut models[on], [(bytes_of(number), (value, 1))]);
        }
        Step::Remove(number) => {
            container.remove(space, key(space, &bytes_of(number))).unwrap();
            if let Some((_, count)) = models[on].get_mut(&bytes_of(number)) {
                *count -= 1;
            }
            models[on].retain(|_, (_, count)| *count > 0);
        }
        Step::RemoveAll(number) => {
            container.remove_all(space, key(space, &bytes_of(number))).unwrap();
            models[on].remove(&bytes_of(number));
        }
        Step::Clear => {
            container.clear(space, TableScope::All).unwrap();
            models[on].clear();
        }
        Step::Assign => {
            container.assign(space, other, TableScope::All).unwrap();
            models[on] = models[1 - on].clone();
        }
        Step::Merge => {
            container.merge(space, other, TableScope::All).unwrap();
            let copied = models[1 - on].clone();
            merge_model::<K>(&mut models[on], copied);
        }
        Step::Move => {
            container.move_from(space, other, TableScope::All).unwrap();
            let moved = std::mem::take(&mut models[1 - on]);
            merge_model::<K>(&mut models[on], moved);
        }
        Step::MoveLocal => {
            let local = content(space, other, TableScope::All).into_iter().map(|(key, _)| key);
            let is_local = |data: &Vec<u8>| {
                let position = other.find(space, key(space, data)).unwrap();
                space.owner(position.element) == Some(space.rank())
            };
            let local: Vec<_> = local.filter(is_local).collect();
            container.move_from(space, other, TableScope::Local).unwrap();
            let moved = local.into_iter().map(|key| models[1 - on].remove_entry(&key).unwrap());
            let moved: Vec<_> = moved.collect();
            merge_model::<K>(&mut models[on], moved);
        }
        Step::Swap => {
            container.swap(space, other).unwrap();
            models.swap(0, 1);
        }
    }
}

/// Runs `steps` on two containers; each step is by some rank, on one of them.
fn check<K: Kind>(shapes: [Shape; 2], steps: Vec<(usize, usize, Step)>) {
    let spaces = TestSpace::ranks(4, 1 << 16);
    let create =
        |shape: &Shape| Hashed::<K>::create(&spaces[0], &shape.holders, shape.slots, shape.rank);
    let containers = [&shapes[0], &shapes[1]].map(|shape| create(shape).unwrap());
    let mut models: [Model; 2] = Default::default();
    for (by, on, step) in steps {
        run(&spaces[by], on, step.clone(), containers, &mut models);
        for (container, model) in containers.iter().zip(&models) {
            let mut found = content(&spaces[by], *container, TableScope::All);
            found.sort();
            let expected: Vec<_> =
                model.iter().map(|(key, (value, _))| (key.clone(), value.clone())).collect();
            assert_eq!(found, expected, "after {step:?} on {on}");
            assert_eq!(container.size(&spaces[by], TableScope::All), Ok(model.len() as u64));
            for number in 0..14 {
                let count = container.count(&spaces[by], key(&spaces[by], &bytes_of(number)));
                let expected = model.get(&bytes_of(number)).map_or(0, |(_, count)| *count);
                assert_eq!(count, Ok(expected));
            }
        }
    }
    containers.iter().for_each(|container| container.destroy(&spaces[0]).unwrap());
    assert_all_is_free(&spaces);
}

fn steps() -> impl Strategy<Value = Vec<(usize, usize, Step)>> {
    prop::collection::vec((0..4_usize, 0..2_usize, step()), 1..50)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_set_has_the_keys_of_a_tree(shapes in (shape(), shape()), steps in steps()) {
        check::<SetKind>(shapes.into(), steps);
    }

    #[test]
    fn a_multiset_has_the_keys_and_counts_of_a_tree(
        shapes in (shape(), shape()), steps in steps(),
    ) {
        check::<MultisetKind>(shapes.into(), steps);
    }

    #[test]
    fn a_map_has_the_keys_and_values_of_a_tree(shapes in (shape(), shape()), steps in steps()) {
        check::<MapKind>(shapes.into(), steps);
    }
}

#[test]
fn threads_count_keys_of_a_multiset() {
    let spaces = TestSpace::ranks(4, 1 << 14);
    let set = Hashed::<MultisetKind>::create(&spaces[0], &[1, 2], 2, 0).unwrap();
    TestSpace::run_all(&spaces, |space| {
        for round in 0..24_u8 {
            for data in 0..6_u8 {
                set.insert(space, key(space, &[data]), NONE).unwrap();
            }
            // One of each key of a rank, which is dropped every time.
            let own = key(space, &[100 + space.rank() as u8]);
            assert_eq!(set.insert(space, own, NONE), Ok(true));
            assert_eq!(set.count(space, own), Ok(1));
            set.remove(space, own).unwrap();
            set.remove(space, key(space, &[round % 6])).unwrap();
        }
    });
    for data in 0..6_u8 {
        let removed = (0..24).filter(|round| round % 6 == data).count() as u64;
        let count = set.count(&spaces[0], key(&spaces[0], &[data]));
        assert_eq!(count, Ok(4 * (24 - removed)));
    }
    assert_eq!(set.size(&spaces[0], TableScope::All), Ok(6));
    set.destroy(&spaces[0]).unwrap();
    assert_all_is_free(&spaces);
}

#[test]
fn one_of_several_threads_inserts_a_key_of_a_map() {
    let spaces = TestSpace::ranks(4, 1 << 15);
    let map = Hashed::<MapKind>::create(&spaces[0], &[3, 1], 3, 2).unwrap();
    let inserted = std::sync::atomic::AtomicU64::new(0);
    TestSpace::run_all(&spaces, |space| {
        for number in 0..60_u8 {
            let value = Element::placed(space, 8, &[number, space.rank() as u8]);
            if map.insert(space, key(space, &[number]), value).unwrap() {
                inserted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            let into = Element::new(space.user(16), 2);
            assert_eq!(map.retrieve(space, key(space, &[number]), into), Ok(Some(2)));
            assert_eq!(space.bytes(into.at, 1), [number]);
        }
    });
    assert_eq!(inserted.into_inner(), 60);
    assert_eq!(map.size(&spaces[0], TableScope::All), Ok(60));
}

#[test]
fn threads_merge_two_sets_into_each_other() {
    let spaces = TestSpace::ranks(4, 1 << 15);
    let create = |holders| Hashed::<SetKind>::create(&spaces[0], holders, 2, 0).unwrap();
    let sets = [create(&[0, 1]), create(&[1, 0])];
    for data in 0..40_u8 {
        let set = sets[usize::from(data % 2)];
        set.insert(&spaces[0], key(&spaces[0], &[data]), NONE).unwrap();
    }
    TestSpace::run_all(&spaces, |space| {
        let on = space.rank() as usize % 2;
        for _ in 0..5 {
            sets[on].merge(space, sets[1 - on], TableScope::All).unwrap();
        }
    });
    for set in sets {
        assert_eq!(set.size(&spaces[0], TableScope::All), Ok(40));
        set.destroy(&spaces[0]).unwrap();
    }
    assert_all_is_free(&spaces);
}
