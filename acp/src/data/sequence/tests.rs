//! Tests of vector and deque: against `Vec`, layouts in memory, failures.

use proptest::prelude::*;

use super::*;
use crate::heap::tests::assert_all_is_free;
use crate::test_space::TestSpace;
use crate::words;

const NONE: Element = Element { at: SpaceAddress::NULL, len_bytes: 0 };

fn vector(at: SpaceAddress) -> Sequence<VectorKind> {
    Sequence::new(at)
}

/// The bytes of a sequence.
fn content<K: SequenceKind>(space: &TestSpace, sequence: Sequence<K>) -> Vec<u8> {
    let pieces = sequence.pieces(space, 0, u64::MAX).unwrap_or_default();
    pieces.map(|piece| piece.read(space).unwrap()).concat()
}

fn header<const N: usize>(space: &TestSpace, at: SpaceAddress) -> [u64; N] {
    words::read(space, at).unwrap()
}

#[test]
fn the_words_of_a_vector() {
    let spaces = TestSpace::ranks(2, 4096);
    let space = &spaces[0];
    let vector = Sequence::<VectorKind>::create(space, 13, 1).unwrap();
    let [buffer, size, capacity] = header(space, vector.at);
    assert_eq!((size, capacity), (13, 16));
    assert_eq!([vector.at, SpaceAddress(buffer)].map(|at| space.owner(at)), [Some(1); 2]);
    vector.push_back(space, Element::placed(space, 0, b"abc")).unwrap();
    assert_eq!(header(space, vector.at), [buffer, 16, 16]);
    assert_eq!(space.bytes(SpaceAddress(buffer).plus(13), 3), b"abc");
    // Growth to the next multiple of 8.
    vector.push_back(space, Element::placed(space, 0, b"d")).unwrap();
    let [_, size, capacity] = header(space, vector.at);
    assert_eq!((size, capacity), (17, 24));
    vector.reserve(space, 33).unwrap();
    let [_, size, capacity] = header(space, vector.at);
    assert_eq!((size, capacity), (17, 40));
    vector.clear(space).unwrap();
    let [_, size, capacity] = header(space, vector.at);
    assert_eq!((size, capacity), (0, 40));
    vector.destroy(space).unwrap();
    let empty = Sequence::<VectorKind>::create(space, 0, 0).unwrap();
    assert_eq!(header(space, empty.at), [0, 0, 0]);
    empty.destroy(space).unwrap();
    assert_all_is_free(&spaces);
}

#[test]
fn the_words_of_a_deque() {
    let spaces = TestSpace::ranks(2, 4096);
    let space = &spaces[0];
    let deque = Sequence::<DequeKind>::create(space, 9, 1).unwrap();
    let [buffer, offset, size, capacity] = header(space, deque.at);
    assert_eq!((offset, size, capacity), (0, 0, 16));
    deque.push_back(space, Element::placed(space, 0, b"0123456789")).unwrap();
    deque.pop_front(space, 7).unwrap();
    assert_eq!(header(space, deque.at), [buffer, 7, 3, 16]);
    deque.push_back(space, Element::placed(space, 0, b"abcdefghij")).unwrap();
    assert_eq!(header(space, deque.at), [buffer, 7, 13, 16]);
    assert_eq!(space.bytes(SpaceAddress(buffer), 4), b"ghij");
    let pieces = deque.pieces(space, 1, 100).unwrap();
    let at = |offset| SpaceAddress(buffer).plus(offset);
    assert_eq!(pieces, [Element::new(at(8), 8), Element::new(at(0), 4)]);
    // The byte at the seam is the first of the buffer.
    assert_eq!(deque.pieces(space, 9, 1).unwrap(), [Element::new(at(0), 1), NONE]);
    deque.push_front(space, Element::placed(space, 0, b"xy")).unwrap();
    assert_eq!(header(space, deque.at), [buffer, 5, 15, 16]);
    // Growth to the exact size, which begins at offset 0.
    deque.push_front(space, Element::placed(space, 0, b"ABCD")).unwrap();
    let [_, offset, size, capacity] = header(space, deque.at);
    assert_eq!((offset, size, capacity), (0, 19, 19));
    assert_eq!(content(space, deque), b"ABCDxy789abcdefghij");
    deque.pop_front(space, 19).unwrap();
    deque.push_front(space, Element::placed(space, 0, b"z")).unwrap();
    let [_, offset, size, _] = header(space, deque.at);
    assert_eq!((offset, size), (18, 1));
    deque.reserve(space, 21).unwrap();
    let [_, offset, size, capacity] = header(space, deque.at);
    assert_eq!((offset, size, capacity), (0, 1, 21));
    deque.destroy(space).unwrap();
    assert_all_is_free(&spaces);
}

#[test]
fn a_swap_exchanges_buffers_on_one_rank_and_bytes_between_two() {
    let spaces = TestSpace::ranks(2, 4096);
    let space = &spaces[0];
    let vectors: Vec<_> =
        [0, 0, 1].map(|rank| Sequence::<VectorKind>::create(space, 0, rank).unwrap()).into();
    vectors[0].push_back(space, Element::placed(space, 0, b"abc")).unwrap();
    let [buffer, ..] = header::<3>(space, vectors[0].at);
    vectors[0].swap(space, vectors[1]).unwrap();
    assert_eq!(header(space, vectors[0].at), [0, 0, 0]);
    assert_eq!(header(space, vectors[1].at), [buffer, 3, 8]);
    vectors[2].swap(space, vectors[1]).unwrap();
    assert_eq!(content(space, vectors[2]), b"abc");
    let [buffer, size, capacity] = header(space, vectors[2].at);
    assert_eq!((space.owner(SpaceAddress(buffer)), size, capacity), (Some(1), 3, 8));
    vectors[2].swap(space, vectors[2]).unwrap();
    assert_eq!(content(space, vectors[2]), b"abc");
    vectors.iter().for_each(|vector| vector.destroy(space).unwrap());
    assert_all_is_free(&spaces);
}

#[test]
fn a_failure_changes_nothing() {
    let spaces = TestSpace::ranks(2, 1024);
    let space = &spaces[0];
    let vector = Sequence::<VectorKind>::create(space, 0, 1).unwrap();
    let other = Sequence::<VectorKind>::create(space, 0, 0).unwrap();
    vector.push_back(space, Element::placed(space, 0, b"0123456789")).unwrap();
    vector.reserve(space, 100).unwrap();
    let before = header::<3>(space, vector.at);
    let large = Element::new(space.user(0), 2000);
    let absent = Element::new(space.user(0).plus(1 << 20), 4);
    assert_eq!(vector.push_back(space, large), Err(Failure::NoRoom));
    assert_eq!(vector.push_back(space, absent), Err(Failure::Refused));
    assert_eq!(vector.insert(space, 3, [absent, NONE]), Err(Failure::Refused));
    let endless = Element::new(space.user(0), u64::MAX);
    assert_eq!(vector.push_back(space, endless), Err(Failure::NoRoom));
    assert_eq!(vector.reserve(space, u64::MAX), Err(Failure::NoRoom));
    assert_eq!(vector.pieces(space, 10, 1), Err(Failure::Argument));
    assert_eq!(vector.insert_range(space, 0, vector, 5..5).unwrap(), 0);
    assert_eq!(vector.insert_range(space, 0, vector, 11..12), Err(Failure::Argument));
    // Rank 0 has no room for the bytes of the other.
    vector.reserve(space, 600).unwrap();
    other.reserve(space, 300).unwrap();
    let before_swap = [vector, other].map(|vector| header::<3>(space, vector.at));
    while heap::allocate(space, 0, 64).is_ok() {}
    assert_eq!(vector.swap(space, other), Err(Failure::NoRoom));
    assert_eq!([vector, other].map(|vector| header::<3>(space, vector.at)), before_swap);
    assert_eq!(content(space, vector), b"0123456789");
    assert_eq!(before[1], vector.size(space).unwrap());
    assert_eq!(Sequence::<DequeKind>::create(space, 2000, 1).unwrap_err(), Failure::NoRoom);
    assert_eq!(Sequence::<DequeKind>::create(space, u64::MAX, 1).unwrap_err(), Failure::NoRoom);
    assert_eq!(Sequence::<DequeKind>::create(space, 8, 2).unwrap_err(), Failure::Argument);
    vector.destroy(space).unwrap();
    assert_all_is_free(&spaces[1..]);
}

#[test]
fn damaged_and_destroyed_sequences_fail() {
    let space = &TestSpace::ranks(1, 4096)[0];
    assert!(vector(SpaceAddress::NULL).size(space).is_err());
    let made = Sequence::<DequeKind>::create(space, 16, 0).unwrap();
    let sound = header::<4>(space, made.at);
    for (index, word) in [(0, 0), (0, 5), (1, 16), (2, 17), (3, 0), (3, 1 << 60), (3, u64::MAX)] {
        let mut words = sound;
        words[2] = 8;
        words[index] = word;
        words::write(space, made.at, &words).unwrap();
        let results = [
            made.push_back(space, Element::placed(space, 0, b"abcdefghijk")),
            made.push_front(space, Element::placed(space, 0, b"abcdefghijk")),
            made.reserve(space, 100),
            made.insert(space, 4, [Element::placed(space, 0, b"abc"), NONE]).map(|_| ()),
        ];
        assert!(results.iter().all(Result::is_err), "{index} {word} {results:?}");
    }
    words::write(space, made.at, &sound).unwrap();
    made.destroy(space).unwrap();
    let (base, len) = space.heap(0).unwrap();
    let before = space.bytes(base, len);
    assert!(made.destroy(space).is_err());
    assert!(made.push_back(space, Element::placed(space, 0, b"abc")).is_err());
    assert!(made.clear(space).is_err());
    assert!(space.bytes(base, len) == before);
}

#[test]
fn accesses_to_a_remote_vector() {
    let spaces = TestSpace::ranks(2, 4096);
    let space = &spaces[0];
    let vector = Sequence::<VectorKind>::create(space, 0, 1).unwrap();
    vector.reserve(space, 64).unwrap();
    let data = Element::placed(space, 0, b"abcdefgh");
    let push = space.remote_accesses(|| vector.push_back(space, data).unwrap());
    let size = space.remote_accesses(|| _ = vector.size(space).unwrap());
    let insert = space.remote_accesses(|| _ = vector.insert(space, 4, [data, NONE]).unwrap());
    assert_eq!([push, size, insert], [3, 1, 4]);
}

/// An operation on one of two sequences, `on` and the other. Numbers are reduced to what exists.
#[derive(Clone, Debug)]
enum Step {
    PushBack(usize),
    PushFront(usize),
    PopBack(u64),
    PopFront(u64),
    Insert(usize, usize),
    /// Bytes of the sequence itself or of the other.
    InsertRange {
        index: usize,
        is_own: bool,
        range: (usize, usize),
    },
    /// Bytes that are in the buffer, by their address.
    InsertOwnBytes {
        index: usize,
        range: (usize, usize),
    },
    Erase(usize, u64),
    Assign,
    AssignRange {
        is_own: bool,
        range: (usize, usize),
    },
    Clear,
    Reserve(u64),
    Swap,
}

fn step() -> impl Strategy<Value = Step> {
    let (index, len) = (0..200_usize, 0..40_usize);
    let range = || (0..200_usize, 0..60_usize);
    prop_oneof![
        4 => len.clone().prop_map(Step::PushBack),
        4 => len.clone().prop_map(Step::PushFront),
        2 => (0..30_u64).prop_map(Step::PopBack),
        3 => (0..30_u64).prop_map(Step::PopFront),
        4 => (index.clone(), len).prop_map(|(index, len)| Step::Insert(index, len)),
        2 => (index.clone(), any::<bool>(), range())
            .prop_map(|(index, is_own, range)| Step::InsertRange { index, is_own, range }),
        2 => (index.clone(), range())
            .prop_map(|(index, range)| Step::InsertOwnBytes { index, range }),
        3 => (index.clone(), 0..40_u64).prop_map(|(index, len)| Step::Erase(index, len)),
        1 => Just(Step::Assign),
        1 => (any::<bool>(), range())
            .prop_map(|(is_own, range)| Step::AssignRange { is_own, range }),
        1 => Just(Step::Clear),
        1 => (0..300_u64).prop_map(Step::Reserve),
        1 => Just(Step::Swap),
    ]
}

/// Two sequences and what they should have.
struct Pair<'a, K> {
    space: &'a TestSpace,
    sequences: [Sequence<K>; 2],
    models: &'a mut [Vec<u8>; 2],
    /// New bytes.
    fresh: &'a mut u8,
}

impl<K: SequenceKind> Pair<'_, K> {
    fn fresh(&mut self, len: usize) -> Vec<u8> {
        let next = |_| {
            *self.fresh = self.fresh.wrapping_add(1);
            *self.fresh
        };
        (0..len).map(next).collect()
    }

    /// The bytes of a model from `start` on; `start` is reduced to its size.
    fn part(&self, of: usize, (start, len): (usize, usize)) -> (Range<u64>, Vec<u8>) {
        let model = &self.models[of];
        let start = start % (model.len() + 1);
        let end = start + len;
        (start as u64..end as u64, model[start..end.min(model.len())].to_vec())
    }

    fn insert_model(&mut self, on: usize, index: usize, data: Vec<u8>) {
        let index = index.min(self.models[on].len());
        self.models[on].splice(index..index, data);
    }

    fn step(&mut self, on: usize, step: Step) {
        let (space, sequence, other) = (self.space, self.sequences[on], self.sequences[1 - on]);
        let size = self.models[on].len();
        match step {
            Step::PushBack(len) => {
                let data = self.fresh(len);
                sequence.push_back(space, Element::placed(space, 0, &data)).unwrap();
                self.models[on].extend(data);
            }
            Step::PushFront(len) => {
                let data = self.fresh(len);
                if K::created_size(1) == 0 {
                    sequence.push_front(space, Element::placed(space, 0, &data)).unwrap();
                    self.insert_model(on, 0, data);
                }
            }
            Step::PopBack(len) => {
                sequence.pop_back(space, len).unwrap();
                self.models[on].truncate(size.saturating_sub(len as usize));
            }
            Step::PopFront(len) => {
                if K::created_size(1) == 0 {
                    sequence.pop_front(space, len).unwrap();
                    self.models[on].drain(..size.min(len as usize));
                }
            }
            Step::Insert(index, len) => {
                let data = self.fresh(len);
                let source = [Element::placed(space, 0, &data), NONE];
                let inserted = sequence.insert(space, index as u64, source).unwrap();
                assert_eq!(inserted, index.min(size) as u64);
                self.insert_model(on, index, data);
            }
            Step::InsertRange { index, is_own, range } => {
                let of = if is_own { on } else { 1 - on };
                let (range, data) = self.part(of, range);
                let source = self.sequences[of];
                let inserted = sequence.insert_range(space, index as u64, source, range);
                assert!(inserted.is_ok() || data.is_empty());
                self.insert_model(on, index, data);
            }
            Step::InsertOwnBytes { index, range } => {
                let (range, data) = self.part(on, range);
                let source = sequence.pieces(space, range.start, range.end - range.start);
                sequence.insert(space, index as u64, source.unwrap_or_default()).unwrap();
                self.insert_model(on, index, data);
            }
            Step::Erase(index, len) => {
                sequence.erase(space, index as u64, len).unwrap();
                let index = index.min(size);
                self.models[on].drain(index..size.min(index + len as usize));
            }
            Step::Assign => {
                sequence.assign(space, other).unwrap();
                self.models[on] = self.models[1 - on].clone();
            }
            Step::AssignRange { is_own, range } => {
                let of = if is_own { on } else { 1 - on };
                let (range, data) = self.part(of, range);
                sequence.assign_range(space, self.sequences[of], range).unwrap();
                self.models[on] = data;
            }
            Step::Clear => {
                sequence.clear(space).unwrap();
                self.models[on].clear();
            }
            Step::Reserve(capacity) => {
                sequence.reserve(space, capacity).unwrap();
                assert!(sequence.capacity(space).unwrap() >= capacity);
            }
            Step::Swap => {
                sequence.swap(space, other).unwrap();
                self.models.swap(0, 1);
            }
        }
    }
}

/// Runs `steps` on two sequences of the given ranks; each step is by some rank, on one of them.
fn check<K: SequenceKind>(ranks: [u32; 2], size: u64, steps: Vec<(usize, usize, Step)>) {
    let spaces = TestSpace::ranks(4, 1 << 20);
    let sequences = ranks.map(|rank| Sequence::<K>::create(&spaces[0], size, rank).unwrap());
    let mut models = [0; 2].map(|_| vec![0; K::created_size(size) as usize]);
    let mut fresh = 0;
    for (by, on, step) in steps {
        let (models, fresh) = (&mut models, &mut fresh);
        let mut pair = Pair { space: &spaces[by], sequences, models, fresh };
        if pair.models[on].len() < 5000 {
            pair.step(on, step.clone());
        }
        for (sequence, model) in sequences.iter().zip(&*pair.models) {
            assert_eq!(&content(&spaces[by], *sequence), model, "after {step:?} on {on}");
            assert_eq!(sequence.size(&spaces[by]), Ok(model.len() as u64));
        }
    }
    sequences.iter().for_each(|sequence| sequence.destroy(&spaces[0]).unwrap());
    assert_all_is_free(&spaces);
}

fn steps() -> impl Strategy<Value = Vec<(usize, usize, Step)>> {
    prop::collection::vec((0..4_usize, 0..2_usize, step()), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn a_vector_has_the_bytes_of_a_vec(
        ranks in (0..4_u32, 0..4_u32), size in 0..30_u64, steps in steps(),
    ) {
        check::<VectorKind>(ranks.into(), size, steps);
    }

    #[test]
    fn a_deque_has_the_bytes_of_a_vec(
        ranks in (0..4_u32, 0..4_u32), size in 0..30_u64, steps in steps(),
    ) {
        check::<DequeKind>(ranks.into(), size, steps);
    }
}
