//! Random nested datatypes of every constructor, against an explicit type map (MPI 5.0 §5.1):
//! bounds, counts of elements, packing and unpacking in any parts, and "external32".
//!
//! A seed determines a case; a failure names the seed. `cases` is the number of cases.
#![allow(unsafe_code)]

use std::env;

use mpi_abi::engine::memory::Memory;
use mpi_abi::mpi::datatype::{
    ArrayOrder, ConstructorForm, Datatype, Distribution, Precision, Predefined, Unit, Unnamed,
    ValueIndex, external,
};

/// Largest size of a type map in bytes; larger ones are discarded during construction.
const BYTES_MAX: usize = 3000;
/// Largest distance in bytes between the lowest and the highest byte of a type map.
const REACH_MAX: i64 = 1 << 20;

/// Number of cases: a few seconds of them, or all with `SUIRO_TEST_LONG=1`.
fn cases() -> u64 {
    if env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1") { 200_000 } else { 20_000 }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From `low` up to and including `high`.
    fn number(&mut self, low: i64, high: i64) -> i64 {
        low + (self.bits() % (high - low + 1) as u64) as i64
    }

    fn numbers(&mut self, count: i64, low: i64, high: i64) -> Vec<i64> {
        (0..count).map(|_| self.number(low, high)).collect()
    }

    fn is_one_of(&mut self, count: u64) -> bool {
        self.bits().is_multiple_of(count)
    }
}

/// A number of a type map: its predefined datatype, and its unit there.
#[derive(Clone, Copy, PartialEq)]
struct Number(&'static Predefined, Unit);

/// A type map as in the standard, and its bound markers.
#[derive(Clone, Default)]
struct TypeMap {
    entries: Vec<(Number, i64)>,
    markers: Option<(i64, i64)>,
}

impl TypeMap {
    fn named(entry: &Predefined) -> Self {
        let numbers = match entry.members() {
            None => vec![(Predefined::find(entry.handle).unwrap(), 0)],
            Some([value, index]) => {
                let second = value.unit.size().next_multiple_of(index.unit.alignment()) as i64;
                vec![(value, 0), (index, second)]
            }
        };
        let entries = numbers.into_iter().map(|(number, at)| (Number(number, number.unit), at));
        Self { entries: entries.collect(), markers: None }
    }

    fn add(&mut self, part: &Self, places: impl IntoIterator<Item = i64>) {
        for place in places {
            self.entries.extend(part.entries.iter().map(|(number, at)| (*number, at + place)));
            if let Some((lb, ub)) = part.markers {
                let old = self.markers.unwrap_or((i64::MAX, i64::MIN));
                self.markers = Some((old.0.min(lb + place), old.1.max(ub + place)));
            }
        }
    }

    fn true_bounds(&self) -> (i64, i64) {
        let low = self.entries.iter().map(|(_, at)| *at).min().unwrap_or(0);
        let high = self.entries.iter().map(|(number, at)| at + number.1.size() as i64).max();
        (low, high.unwrap_or(0))
    }

    fn bounds(&self) -> (i64, i64) {
        let (low, high) = self.true_bounds();
        let strictest = self.entries.iter().map(|(number, _)| number.1.alignment()).max();
        let length = ((high - low) as usize).next_multiple_of(strictest.unwrap_or(1)) as i64;
        self.markers.unwrap_or((low, low + length))
    }

    fn extent(&self) -> i64 {
        self.bounds().1 - self.bounds().0
    }

    fn size(&self) -> usize {
        self.entries.iter().map(|(number, _)| number.1.size()).sum()
    }

    fn is_small(&self) -> bool {
        let (low, high) = self.true_bounds();
        let (lb, ub) = self.bounds();
        self.size() <= BYTES_MAX && [low, high, lb, ub].iter().all(|at| at.abs() < REACH_MAX)
    }
}

type Made = (Datatype, TypeMap);

/// A datatype with a nesting of at most `depth`.
fn datatype(random: &mut Random, depth: u32) -> Made {
    if depth == 0 || random.is_one_of(5) {
        return leaf(random);
    }
    loop {
        let old = datatype(random, depth - 1);
        let form = if random.is_one_of(2) { ConstructorForm::Int } else { ConstructorForm::Large };
        let (made, map) = match random.number(0, 11) {
            kind @ 0..=2 => regular(random, kind, form, &old),
            kind @ 3..=6 => irregular(random, kind, form, &old),
            7 | 8 => structure(random, form, depth, old),
            9 => bounded(random, form, &old),
            10 => subarray(random, form, &old),
            _ => darray(random, form, &old),
        };
        if map.is_small() {
            return (made, map);
        }
    }
}

fn leaf(random: &mut Random) -> Made {
    if random.is_one_of(12) {
        let precision =
            Precision { digits: random.number(0, 33) as i32, range: random.number(0, 400) as i32 };
        let asked = match random.number(0, 3) {
            0 => Unnamed::Integer { range: random.number(0, 38) as i32 },
            1 => Unnamed::Real(precision),
            2 => Unnamed::Complex(precision),
            _ => Unnamed::Pair(pair(random)),
        };
        let made = Datatype::unnamed(asked).unwrap();
        let map = TypeMap::named(made.unit().unwrap());
        return (made, map);
    }
    let all = Predefined::all();
    let entry = &all[random.number(0, all.len() as i64 - 1) as usize];
    (Datatype::predefined(entry), TypeMap::named(entry))
}

/// Any pair without a name.
fn pair(random: &mut Random) -> ValueIndex {
    loop {
        let mut handle = || random.number(0x200, 0x2ff) as u32;
        if let Some(pair) = ValueIndex::new(handle(), handle()) {
            return pair;
        }
    }
}

/// Contiguous, vector, hvector.
fn regular(random: &mut Random, kind: i64, form: ConstructorForm, (old, part): &Made) -> Made {
    let (count, length) = (random.number(0, 4), random.number(0, 4));
    let extent = part.extent();
    let (made, count, stride) = match kind {
        0 => (Datatype::contiguous(form, length, old), 1, 0),
        1 => {
            let stride = random.number(-6, 6);
            (Datatype::vector(form, count, length, stride, old), count, stride * extent)
        }
        _ => {
            let stride = random.number(-60, 60);
            (Datatype::hvector(form, count, length, stride, old), count, stride)
        }
    };
    let mut map = TypeMap::default();
    for block in 0..count {
        map.add(part, (0..length).map(|index| block * stride + index * extent));
    }
    (made.unwrap(), map)
}

/// Indexed, hindexed, indexed_block, hindexed_block.
fn irregular(random: &mut Random, kind: i64, form: ConstructorForm, (old, part): &Made) -> Made {
    let count = random.number(0, 4);
    let (mut lengths, mut places) = (random.numbers(count, 0, 3), random.numbers(count, -9, 9));
    if random.is_one_of(2) {
        // Regular blocks, which can be coalesced.
        let step = random.number(-3, 3);
        places = (0..count).map(|index| index * step).collect();
    }
    let extent = part.extent();
    let length = random.number(0, 3);
    if kind >= 5 {
        lengths.fill(length);
    }
    let made = match kind {
        3 => Datatype::indexed(form, &lengths, &places, old),
        4 => Datatype::hindexed(form, &lengths, &places, old),
        5 => Datatype::indexed_block(form, length, &places, old),
        _ => Datatype::hindexed_block(form, length, &places, old),
    };
    let unit = if kind % 2 == 1 { extent } else { 1 };
    let mut map = TypeMap::default();
    for (length, place) in lengths.iter().zip(&places) {
        map.add(part, (0..*length).map(|index| place * unit + index * extent));
    }
    (made.unwrap(), map)
}

fn structure(random: &mut Random, form: ConstructorForm, depth: u32, first: Made) -> Made {
    let mut parts = vec![first];
    for _ in 0..random.number(0, 2) {
        parts.push(datatype(random, depth - 1));
    }
    let count = parts.len() as i64;
    let (lengths, places) = (random.numbers(count, 0, 2), random.numbers(count, -60, 60));
    let types: Vec<_> = parts.iter().map(|(datatype, _)| datatype.clone()).collect();
    let mut map = TypeMap::default();
    for ((length, place), (_, part)) in lengths.iter().zip(&places).zip(&parts) {
        map.add(part, (0..*length).map(|index| place + index * part.extent()));
    }
    (Datatype::structure(form, &lengths, &places, &types).unwrap(), map)
}

/// Resized, dup.
fn bounded(random: &mut Random, form: ConstructorForm, (old, part): &Made) -> Made {
    if random.is_one_of(3) {
        return (old.dup(), part.clone());
    }
    let (lb, extent) = (random.number(-30, 30), random.number(-20, 90));
    let map = TypeMap { markers: Some((lb, lb + extent)), ..part.clone() };
    (Datatype::resized(form, old, lb, extent).unwrap(), map)
}

/// The cells of an array in the order of memory: their positions and indices.
fn cells(sizes: &[i64], order: ArrayOrder) -> Vec<(i64, Vec<i64>)> {
    let index = |position: i64| {
        let (mut rest, mut index) = (position, vec![0; sizes.len()]);
        let mut step = |dimension: usize| {
            index[dimension] = rest % sizes[dimension];
            rest /= sizes[dimension];
        };
        match order {
            ArrayOrder::C => (0..sizes.len()).rev().for_each(&mut step),
            ArrayOrder::Fortran => (0..sizes.len()).for_each(&mut step),
        }
        index
    };
    (0..sizes.iter().product()).map(|position| (position, index(position))).collect()
}

/// The cells selected by `takes`, in the bounds of the whole array.
fn array_map(
    sizes: &[i64], order: ArrayOrder, part: &TypeMap, takes: impl Fn(&[i64]) -> bool,
) -> TypeMap {
    let mut map = TypeMap::default();
    let taken = cells(sizes, order).into_iter().filter(|(_, index)| takes(index));
    map.add(part, taken.map(|(position, _)| position * part.extent()));
    map.markers = Some((0, sizes.iter().product::<i64>() * part.extent()));
    map
}

fn order(random: &mut Random) -> ArrayOrder {
    if random.is_one_of(2) { ArrayOrder::C } else { ArrayOrder::Fortran }
}

fn subarray(random: &mut Random, form: ConstructorForm, (old, part): &Made) -> Made {
    let dimensions = random.number(1, 3);
    let sizes = random.numbers(dimensions, 1, 4);
    let lengths: Vec<_> = sizes.iter().map(|size| random.number(1, *size)).collect();
    let room = sizes.iter().zip(&lengths);
    let starts: Vec<_> = room.map(|(size, length)| random.number(0, size - length)).collect();
    let order = order(random);
    let made = Datatype::subarray(form, &sizes, &lengths, &starts, order, old).unwrap();
    let within = |index: &[i64]| {
        let mut ranges = starts.iter().zip(&lengths).zip(index);
        ranges.all(|((start, length), at)| (*start..start + length).contains(at))
    };
    (made, array_map(&sizes, order, part, within))
}

/// One dimension of a distributed array.
struct Dealt {
    size: i64,
    processes: i64,
    distribution: Distribution,
    /// The argument; 19 is `MPI_DISTRIBUTE_DFLT_DARG`.
    argument: i64,
    /// The resulting block length.
    length: i64,
}

impl Dealt {
    fn new(random: &mut Random) -> Self {
        let (size, processes) = (random.number(1, 6), random.number(1, 3));
        let default = random.is_one_of(2);
        match random.number(0, 2) {
            0 => Self {
                size,
                processes: 1,
                distribution: Distribution::None,
                argument: 19,
                length: size,
            },
            1 => {
                let least = (size + processes - 1) / processes;
                let length = if default { least } else { random.number(least, least + 2) };
                let argument = if default { 19 } else { length };
                Self { size, processes, distribution: Distribution::Block, argument, length }
            }
            _ => {
                let length = if default { 1 } else { random.number(1, 3) };
                let argument = if default { 19 } else { length };
                Self { size, processes, distribution: Distribution::Cyclic, argument, length }
            }
        }
    }
}

fn darray(random: &mut Random, form: ConstructorForm, (old, part): &Made) -> Made {
    let dealt: Vec<_> = (0..random.number(1, 3)).map(|_| Dealt::new(random)).collect();
    let list = |pick: fn(&Dealt) -> i64| dealt.iter().map(pick).collect::<Vec<_>>();
    let (sizes, processes) = (list(|d| d.size), list(|d| d.processes));
    let total = processes.iter().product();
    let (rank, order) = (random.number(0, total - 1), order(random));
    let kinds = list(|d| d.distribution as i64);
    let made = Datatype::darray(
        form,
        total,
        rank,
        &sizes,
        &kinds,
        &list(|d| d.argument),
        &processes,
        order,
        old,
    );
    let owner = |index: &[i64]| {
        let places = dealt.iter().zip(index);
        places.fold(0, |at, (d, index)| at * d.processes + index / d.length % d.processes)
    };
    (made.unwrap(), array_map(&sizes, order, part, |index| owner(index) == rank))
}

/// Elements in memory: the position of each number of the type map in a vector.
struct Elements {
    numbers: Vec<(Number, usize)>,
    bytes: usize,
    /// Index of the address passed to MPI.
    zero: isize,
    /// Whether no two numbers share a byte.
    disjoint: bool,
}

impl Elements {
    fn new(map: &TypeMap, count: i64) -> Self {
        let mut all = TypeMap::default();
        all.add(map, (0..count).map(|index| index * map.extent()));
        let (low, high) = all.true_bounds();
        let bytes = (high - low) as usize;
        let numbers: Vec<_> =
            all.entries.iter().map(|(number, at)| (*number, (at - low) as usize)).collect();
        let mut used = vec![false; bytes];
        let mut disjoint = true;
        for (number, at) in &numbers {
            for byte in &mut used[*at..at + number.1.size()] {
                disjoint &= !std::mem::replace(byte, true);
            }
        }
        Self { numbers, bytes, zero: -low as isize, disjoint }
    }

    /// Random bytes; where no two numbers share a byte, numbers that "external32" can represent.
    fn fill(&self, random: &mut Random) -> Vec<u8> {
        let mut user: Vec<u8> = (0..self.bytes).map(|_| random.bits() as u8).collect();
        for (number, at) in &self.numbers {
            representable(*number, &mut user[*at..at + number.1.size()]);
        }
        user
    }

    fn memory(&self, user: &mut [u8], count: i64, datatype: &Datatype) -> Memory {
        let base = user.as_mut_ptr().wrapping_offset(self.zero);
        // SAFETY: the vector has room for every byte of the elements, and every caller keeps it
        // for longer than the memory.
        unsafe { Memory::new(base, count as usize, datatype.layout()) }
    }

    fn packed(&self, user: &[u8]) -> Vec<u8> {
        let bytes = |(number, at): &(Number, usize)| user[*at..at + number.1.size()].to_vec();
        self.numbers.iter().flat_map(bytes).collect()
    }

    fn external(&self, user: &[u8]) -> Vec<u8> {
        let bytes =
            |(number, at): &(Number, usize)| outside(*number, &user[*at..][..number.1.size()]);
        self.numbers.iter().flat_map(bytes).collect()
    }
}

/// Bytes of the real number of which `unit` is one or two; of other units, their own size.
fn half(unit: Unit) -> usize {
    match unit {
        Unit::ComplexF16 | Unit::ComplexF32 | Unit::ComplexF64 | Unit::ComplexF128 => {
            unit.size() / 2
        }
        Unit::ComplexF80 => 16,
        _ => unit.size(),
    }
}

/// The significant bytes of the external form, lowest first.
fn significant(number: Number) -> usize {
    match (number.0.name, number.1) {
        ("MPI_LONG" | "MPI_UNSIGNED_LONG", _) => 4,
        ("MPI_WCHAR", _) => 2,
        _ => half(number.1),
    }
}

/// Changes the number to a similar one that is unchanged by conversion to "external32" and back.
fn representable(number: Number, bytes: &mut [u8]) {
    if matches!(number.1, Unit::F80 | Unit::ComplexF80) {
        for real in bytes.chunks_exact_mut(16) {
            // A leading bit, and an exponent that is neither the lowest nor the highest.
            real[7] |= 0x80;
            real[8] = real[8] & 0xfe | 2;
            real[9] &= 0xbf;
            real[10..].fill(0);
        }
    } else if matches!(number.0.name, "MPI_C_BOOL" | "MPI_CXX_BOOL") {
        bytes[0] &= 1;
    } else if number.1.size() == half(number.1) {
        let len = significant(number);
        let signed = number.1 == Unit::I64 && bytes[len - 1] >= 0x80;
        bytes[len..].fill(if signed { 0xff } else { 0 });
    }
}

/// A representable number as "external32".
fn outside(number: Number, bytes: &[u8]) -> Vec<u8> {
    let reals = bytes.chunks_exact(half(number.1));
    let one = |real: &[u8]| {
        if matches!(number.1, Unit::F80 | Unit::ComplexF80) {
            // Sign and exponent; then the fraction, one bit higher without the leading one.
            let fraction = u64::from_le_bytes(real[..8].try_into().unwrap()) << 1;
            let mut wide = vec![real[9], real[8]];
            wide.extend(fraction.to_be_bytes());
            wide.resize(16, 0);
            return wide;
        }
        real[..significant(number)].iter().rev().copied().collect::<Vec<u8>>()
    };
    reals.flat_map(one).collect()
}

/// `0..len` in parts.
fn parts(random: &mut Random, len: usize) -> Vec<(usize, usize)> {
    let mut cuts: Vec<usize> = vec![0, len];
    for _ in 0..random.number(0, 4) {
        cuts.push(random.number(0, len as i64) as usize);
    }
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

fn check_bounds(datatype: &Datatype, map: &TypeMap) {
    let (lb, _) = map.bounds();
    let (low, high) = map.true_bounds();
    assert_eq!((datatype.lb() as i64, datatype.extent() as i64), (lb, map.extent()));
    assert_eq!((datatype.true_lb() as i64, datatype.true_extent() as i64), (low, high - low));
    assert_eq!(datatype.size(), map.size());
    assert!(datatype.external_size() <= datatype.size());
}

/// A pair has two elements, a complex number one; bytes that end inside an element have no count.
fn check_elements(random: &mut Random, datatype: &Datatype, elements: &Elements, len: usize) {
    let bytes = random.number(0, len as i64) as usize;
    let (mut end, mut whole, mut exact) = (0, 0, Some(0));
    for (number, _) in &elements.numbers {
        if end >= bytes {
            break;
        }
        end += number.1.size();
        whole += 1;
        exact = (end <= bytes).then_some(whole);
    }
    assert_eq!(datatype.elements(bytes), exact, "elements in {bytes} bytes");
    if let Some(exact) = exact {
        assert_eq!(datatype.bytes_of_elements(exact), Some(bytes));
    }
    let size = datatype.size();
    let items = (size > 0 && bytes.is_multiple_of(size)).then(|| bytes / size);
    assert_eq!(datatype.count(bytes), if size == 0 { Some(0) } else { items });
}

fn check_packing(random: &mut Random, made: &Made, elements: &Elements, count: i64) {
    let mut user = elements.fill(random);
    let expected = elements.packed(&user);
    let memory = elements.memory(&mut user, count, &made.0);
    assert_eq!(memory.len(), expected.len());
    let mut packed = vec![0; expected.len()];
    for (from, to) in parts(random, packed.len()) {
        memory.pack(from, &mut packed[from..to]);
    }
    assert!(packed == expected, "packed");
    let mut owned = Memory::owned(vec![0; expected.len()]);
    for (from, to) in parts(random, packed.len()) {
        memory.copy(from, &mut owned, from, to - from);
    }
    owned.pack(0, &mut packed);
    assert!(packed == expected, "copied");
    if !elements.disjoint {
        return; // The order of unpacking overlapping entries is not defined (§5.1.11).
    }
    let old: Vec<u8> = (0..elements.bytes).map(|_| random.bits() as u8).collect();
    let mut wanted = old.clone();
    for (number, at) in &elements.numbers {
        let range = *at..at + number.1.size();
        wanted[range.clone()].copy_from_slice(&user[range]);
    }
    for way in 0..3 {
        let mut target = old.clone();
        let mut room = elements.memory(&mut target, count, &made.0);
        for (from, to) in parts(random, packed.len()) {
            match way {
                0 => room.unpack(from, &packed[from..to]),
                1 => owned.copy(from, &mut room, from, to - from),
                _ => memory.copy(from, &mut room, from, to - from),
            }
        }
        assert!(target == wanted, "unpacked, way {way}");
    }
}

fn check_external(random: &mut Random, made: &Made, elements: &Elements, count: i64) {
    if !elements.disjoint {
        return;
    }
    let mut user = elements.fill(random);
    let expected = elements.external(&user);
    assert_eq!(made.0.external_size() * count as usize, expected.len());
    let memory = elements.memory(&mut user, count, &made.0);
    let mut packed = Memory::owned(vec![0; expected.len()]);
    external::pack(&made.0, count as usize, &memory, &mut packed);
    let mut bytes = vec![0; expected.len()];
    packed.pack(0, &mut bytes);
    assert!(bytes == expected, "external32");
    let mut target = vec![0xaa; elements.bytes];
    let mut room = elements.memory(&mut target, count, &made.0);
    external::unpack(&made.0, count as usize, &packed, &mut room);
    assert!(elements.packed(&target) == elements.packed(&user), "back from external32");
}

fn check(seed: u64) {
    let random = &mut Random(seed);
    let depth = random.number(1, 4) as u32;
    let made = datatype(random, depth);
    let count = random.number(0, 3);
    let elements = Elements::new(&made.1, count);
    check_bounds(&made.0, &made.1);
    check_elements(random, &made.0, &elements, made.0.size() * count as usize);
    check_packing(random, &made, &elements, count);
    check_external(random, &made, &elements, count);
}

/// Names the seed of a case that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed is {}", self.0);
        }
    }
}

fn check_from(first: u64, count: u64) {
    for seed in first..first + count {
        let named = Seed(seed);
        check(named.0);
    }
}

// Two tests, so that they run on two processors.

#[test]
fn random_datatypes_are_their_type_maps() {
    check_from(1 << 32, cases() / 2);
}

#[test]
fn more_random_datatypes_are_their_type_maps() {
    check_from(2 << 32, cases() / 2);
}
