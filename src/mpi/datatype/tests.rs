//! Constructors against type maps written out as the standard defines them.

use proptest::prelude::*;

use super::*;

const INT: u32 = 0x209;
const DOUBLE: u32 = 0x214;
const CHAR: u32 = 0x243;
const DOUBLE_INT: u32 = 0x229;

fn named(handle: u32) -> Datatype {
    predefined(handle).unwrap()
}

/// A type map: basic types with their displacements, in order, and the markers.
#[derive(Clone, Debug, Default)]
struct TypeMap {
    entries: Vec<(Unit, i64)>,
    markers: Option<(i64, i64)>,
}

impl TypeMap {
    fn named(entry: &Predefined) -> Self {
        let entries = match entry.unit.members() {
            None => vec![(entry.unit, 0)],
            Some([value, index]) => {
                let second = value.size().next_multiple_of(index.alignment()) as i64;
                vec![(value, 0), (index, second)]
            }
        };
        Self { entries, markers: None }
    }

    /// Adds a copy of `part` at each of `places`.
    fn add(&mut self, part: &Self, places: impl IntoIterator<Item = i64>) {
        for place in places {
            self.entries.extend(part.entries.iter().map(|(unit, at)| (*unit, at + place)));
            if let Some((lb, ub)) = part.markers {
                let old = self.markers.unwrap_or((i64::MAX, i64::MIN));
                self.markers = Some((old.0.min(lb + place), old.1.max(ub + place)));
            }
        }
    }

    fn true_bounds(&self) -> (i64, i64) {
        let low = self.entries.iter().map(|(_, at)| *at).min().unwrap_or(0);
        let high = self.entries.iter().map(|(unit, at)| at + unit.size() as i64).max();
        (low, high.unwrap_or(0))
    }

    fn bounds(&self) -> (i64, i64) {
        let (low, high) = self.true_bounds();
        let alignment = self.entries.iter().map(|(unit, _)| unit.alignment()).max().unwrap_or(1);
        let extent = (high - low + alignment as i64 - 1) / alignment as i64 * alignment as i64;
        self.markers.unwrap_or((low, low + extent))
    }

    fn extent(&self) -> i64 {
        self.bounds().1 - self.bounds().0
    }

    fn bytes(&self) -> Vec<isize> {
        let bytes = |(unit, at): &(Unit, i64)| {
            let at = *at as isize;
            at..at + unit.size() as isize
        };
        self.entries.iter().flat_map(bytes).collect()
    }
}

/// The offset of every byte of a layout in packed order.
fn bytes(layout: &Layout) -> Vec<isize> {
    let mut all = Vec::new();
    for run in layout.runs() {
        let piece = match &run.nested {
            Some(inside) => bytes(inside),
            None => (0..run.len as isize).collect(),
        };
        for index in 0..run.count as isize {
            let place = run.offset + index * run.stride;
            all.extend(piece.iter().map(|at| at + place));
        }
    }
    all
}

fn check(datatype: &Datatype, map: &TypeMap) -> Result<(), TestCaseError> {
    let (lb, _) = map.bounds();
    let (low, high) = map.true_bounds();
    prop_assert_eq!((datatype.lb() as i64, datatype.extent() as i64), (lb, map.extent()));
    prop_assert_eq!(datatype.true_lb() as i64, low);
    prop_assert_eq!(datatype.true_extent() as i64, high - low);
    prop_assert_eq!(bytes(datatype.layout()), map.bytes());
    let one_kind = map.entries.windows(2).all(|pair| pair[0].0 == pair[1].0);
    if let Some(unit) = datatype.unit() {
        prop_assert!(
            unit.class == DatatypeClass::Pair || (one_kind && map.entries[0].0 == unit.unit)
        );
    }
    check_elements(datatype, map)
}

fn check_elements(datatype: &Datatype, map: &TypeMap) -> Result<(), TestCaseError> {
    let size = map.bytes().len();
    prop_assert_eq!(datatype.size(), size);
    let (mut end, mut ends) = (0, vec![0]);
    for (unit, _) in map.entries.iter().chain(&map.entries) {
        end += unit.size();
        ends.push(end);
    }
    for (elements, length) in ends.iter().enumerate() {
        prop_assert_eq!(datatype.bytes_of_elements(elements), Some(*length));
    }
    for length in 0..=2 * size {
        let elements = ends.binary_search(&length).ok();
        prop_assert_eq!(datatype.elements(length), elements);
        let count = Some(length.checked_div(size).unwrap_or(0));
        prop_assert_eq!(datatype.count(length), count.filter(|count| count * size == length));
    }
    if size == 0 {
        prop_assert_eq!((datatype.elements(1), datatype.count(1)), (None, None));
        prop_assert_eq!(datatype.bytes_of_elements(1), None);
    }
    Ok(())
}

/// What an old datatype and two forms of it make: the new one, and where the copies are.
type Made = (Datatype, TypeMap);

fn leaf() -> impl Strategy<Value = Made> {
    prop::sample::select(Predefined::all())
        .prop_map(|entry| (named(entry.handle), TypeMap::named(&entry)))
}

/// A datatype with its type map, by any constructor.
fn types() -> impl Strategy<Value = Made> {
    leaf().prop_recursive(3, 8, 3, |inner| {
        let form = prop_oneof![Just(ConstructorForm::Int), Just(ConstructorForm::Large)];
        let blocks = prop::collection::vec((0..4i64, -9..9i64), 0..4);
        let parts = prop::collection::vec((0..3i64, -40..40i64, inner.clone()), 0..4);
        prop_oneof![
            (0..5, form.clone(), (0..4i64, 0..4i64, -40..40i64), inner.clone())
                .prop_map(|(which, form, numbers, old)| regular(which, form, numbers, &old)),
            (0..4, form.clone(), blocks, inner)
                .prop_map(|(which, form, blocks, old)| irregular(which, form, &blocks, &old)),
            (form, parts).prop_map(|(form, parts)| structure(form, &parts)),
        ]
    })
}

/// Contiguous, vector, hvector, dup, resized.
fn regular(
    which: i32, form: ConstructorForm, (count, length, stride): (i64, i64, i64), old: &Made,
) -> Made {
    let extent = old.1.extent();
    let mut map = TypeMap::default();
    let mut rows = |count: i64, stride: i64| {
        for row in 0..count {
            map.add(&old.1, (0..length).map(|index| row * stride + index * extent));
        }
    };
    let datatype = match which {
        0 => {
            rows(1, 0);
            Datatype::contiguous(form, length, &old.0)
        }
        1 => {
            rows(count, stride * extent);
            Datatype::vector(form, count, length, stride, &old.0)
        }
        2 => {
            rows(count, stride);
            Datatype::hvector(form, count, length, stride, &old.0)
        }
        3 => {
            map = old.1.clone();
            Ok(old.0.dup())
        }
        _ => {
            map = TypeMap { markers: Some((stride, stride + count * 8)), ..old.1.clone() };
            Datatype::resized(form, &old.0, stride, count * 8)
        }
    };
    (datatype.unwrap(), map)
}

/// The four constructors with lists of displacements.
fn irregular(which: i32, form: ConstructorForm, blocks: &[(i64, i64)], old: &Made) -> Made {
    let (mut lengths, places): (Vec<i64>, Vec<i64>) = blocks.iter().copied().unzip();
    let (extent, datatype) = (old.1.extent(), &old.0);
    if which > 1 {
        lengths.fill(2);
    }
    let made = match which {
        0 => Datatype::indexed(form, &lengths, &places, datatype),
        1 => Datatype::hindexed(form, &lengths, &places, datatype),
        2 => Datatype::indexed_block(form, 2, &places, datatype),
        _ => Datatype::hindexed_block(form, 2, &places, datatype),
    };
    let unit = if which % 2 == 0 { extent } else { 1 };
    let mut map = TypeMap::default();
    for (length, place) in lengths.iter().zip(&places) {
        map.add(&old.1, (0..*length).map(|index| place * unit + index * extent));
    }
    (made.unwrap(), map)
}

fn structure(form: ConstructorForm, parts: &[(i64, i64, Made)]) -> Made {
    let lengths: Vec<_> = parts.iter().map(|part| part.0).collect();
    let places: Vec<_> = parts.iter().map(|part| part.1).collect();
    let types: Vec<_> = parts.iter().map(|part| part.2.0.clone()).collect();
    let mut map = TypeMap::default();
    for (length, place, (_, part)) in parts {
        map.add(part, (0..*length).map(|index| place + index * part.extent()));
    }
    (Datatype::structure(form, &lengths, &places, &types).unwrap(), map)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn constructors_follow_the_type_map((datatype, map) in types()) {
        check(&datatype, &map)?;
    }

    #[test]
    fn a_subarray_is_its_elements_in_order(
        dimensions in prop::collection::vec((1..5i64, 0.0..1.0f64, 0.0..1.0f64), 1..4),
        fortran in any::<bool>(), old in leaf(),
    ) {
        let part = |(size, length, start): (i64, f64, f64)| {
            let length = 1 + (length * size as f64) as i64;
            (size, length, (start * (size - length + 1) as f64) as i64)
        };
        let parts: Vec<_> = dimensions.iter().copied().map(part).collect();
        let list = |pick: fn(&(i64, i64, i64)) -> i64| parts.iter().map(pick).collect::<Vec<_>>();
        let (sizes, lengths, starts) = (list(|part| part.0), list(|part| part.1), list(|p| p.2));
        let order = if fortran { ArrayOrder::Fortran } else { ArrayOrder::C };
        let made =
            Datatype::subarray(ConstructorForm::Int, &sizes, &lengths, &starts, order, &old.0).unwrap();
        let within = |index: &[i64]| {
            (0..index.len()).all(|d| (starts[d]..starts[d] + lengths[d]).contains(&index[d]))
        };
        let places = cells(&sizes, order).into_iter().filter(|cell| within(&cell.1));
        let mut map = TypeMap::default();
        map.add(&old.1, places.map(|cell| cell.0 * old.1.extent()));
        map.markers = Some((0, sizes.iter().product::<i64>() * old.1.extent()));
        check(&made, &map)?;
    }

    #[test]
    fn a_distributed_array_gives_every_cell_to_its_owner(
        dimensions in prop::collection::vec((1..9i64, 1..4i64, 0..3usize, 0..4i64), 1..4),
        fortran in any::<bool>(),
    ) {
        let kinds = [Distribution::None, Distribution::Block, Distribution::Cyclic];
        let kind = |d: &(i64, i64, usize, i64)| kinds[d.2];
        let sizes: Vec<_> = dimensions.iter().map(|d| d.0).collect();
        let grid: Vec<_> = dimensions.iter().map(|d| if d.2 == 0 { 1 } else { d.1 }).collect();
        let distributions: Vec<_> = dimensions.iter().map(|d| kind(d) as i64).collect();
        // A block length of 0 stands for the default.
        let lengths: Vec<_> = dimensions.iter().zip(&grid).map(|(d, processes)| match d.2 {
            1 if d.3 * processes < d.0 => 19,
            _ => if d.3 == 0 { 19 } else { d.3 },
        }).collect();
        let order = if fortran { ArrayOrder::Fortran } else { ArrayOrder::C };
        let owner = |d: usize, index: i64| {
            let length = match (kind(&dimensions[d]), lengths[d]) {
                (Distribution::None, _) => sizes[d],
                (Distribution::Block, 19) => (sizes[d] + grid[d] - 1) / grid[d],
                (Distribution::Cyclic, 19) => 1,
                (_, length) => length,
            };
            index / length % grid[d]
        };
        let total: i64 = grid.iter().product();
        for rank in 0..total {
            let made = Datatype::darray(ConstructorForm::Large, total, rank, &sizes, &distributions, &lengths,
                &grid, order, &named(DOUBLE)).unwrap();
            let owned = cells(&sizes, order).into_iter().filter(|(_, index)| {
                let place = |at: i64, d: usize| at * grid[d] + owner(d, index[d]);
                (0..sizes.len()).fold(0, place) == rank
            });
            let mut map = TypeMap::default();
            map.add(&TypeMap::named(Predefined::find(DOUBLE).unwrap()), owned.map(|c| c.0 * 8));
            map.markers = Some((0, sizes.iter().product::<i64>() * 8));
            check(&made, &map)?;
        }
    }
}

/// The cells of an array in the order of memory: position and index.
fn cells(sizes: &[i64], order: ArrayOrder) -> Vec<(i64, Vec<i64>)> {
    let total = sizes.iter().product();
    let index = |position: i64| {
        let (mut rest, mut index) = (position, vec![0; sizes.len()]);
        let mut step = |d: usize| {
            index[d] = rest % sizes[d];
            rest /= sizes[d];
        };
        match order {
            ArrayOrder::C => (0..sizes.len()).rev().for_each(&mut step),
            ArrayOrder::Fortran => (0..sizes.len()).for_each(&mut step),
        }
        index
    };
    (0..total).map(|position| (position, index(position))).collect()
}

#[test]
fn structures_are_padded_to_their_strictest_member() {
    let made =
        Datatype::structure(ConstructorForm::Int, &[1, 1], &[0, 8], &[named(DOUBLE), named(CHAR)])
            .unwrap();
    assert_eq!((made.size(), made.extent(), made.true_extent()), (9, 16, 9));
    assert_eq!((named(DOUBLE_INT).size(), named(DOUBLE_INT).extent()), (12, 16));
}

#[test]
fn an_explicit_bound_outlives_further_constructors() {
    let wide = Datatype::resized(ConstructorForm::Int, &named(INT), -3, 9).unwrap();
    let two = Datatype::contiguous(ConstructorForm::Int, 2, &wide).unwrap();
    assert_eq!((two.lb(), two.extent()), (-3, 18));
    let types = [wide, named(INT)];
    let mixed = Datatype::structure(ConstructorForm::Int, &[1, 1], &[0, 100], &types).unwrap();
    assert_eq!((mixed.lb(), mixed.extent(), mixed.true_extent()), (-3, 9, 104));
}

#[test]
fn contents_are_sorted_by_the_form_of_the_call() {
    let old = named(INT);
    let small = Datatype::hindexed(ConstructorForm::Int, &[1, 2], &[3, 4], &old).unwrap();
    let contents = small.contents();
    assert_eq!(contents.combiner, Combiner::Hindexed);
    assert_eq!(contents.integers, [2, 1, 2]);
    assert_eq!((&*contents.addresses, &*contents.counts), (&[3, 4][..], &[][..]));
    assert!(contents.types[0].is(&old));
    let large = Datatype::hindexed(ConstructorForm::Large, &[1, 2], &[3, 4], &old).unwrap();
    let contents = large.contents();
    assert!(contents.integers.is_empty() && contents.addresses.is_empty());
    assert_eq!(contents.counts, [2, 1, 2, 3, 4]);
}

#[test]
fn wrong_arguments_are_named() {
    use platform::base::ErrorClass;
    let int = named(INT);
    let class = |made: platform::base::Result<Datatype>| made.unwrap_err().code.0;
    let wrong = Datatype::contiguous(ConstructorForm::Int, -3, &int).unwrap_err();
    assert_eq!(wrong.code.0, ErrorClass::Count as i32);
    assert!(wrong.why.contains("-3"));
    let argument = ErrorClass::Arg as i32;
    assert_eq!(class(Datatype::vector(ConstructorForm::Int, 1, -1, 0, &int)), argument);
    assert_eq!(class(Datatype::indexed(ConstructorForm::Int, &[1, -1], &[0, 0], &int)), argument);
    assert_eq!(class(Datatype::indexed(ConstructorForm::Int, &[1], &[i64::MAX], &int)), argument);
    assert_eq!(class(Datatype::contiguous(ConstructorForm::Large, i64::MAX, &int)), argument);
    assert_eq!(class(Datatype::resized(ConstructorForm::Large, &int, i64::MAX, 1)), argument);
    let subarray = |size, length, start| {
        class(Datatype::subarray(
            ConstructorForm::Int,
            &[size],
            &[length],
            &[start],
            ArrayOrder::C,
            &int,
        ))
    };
    for (size, length, start) in [(0, 1, 0), (3, 0, 0), (3, 4, 0), (3, 2, 2), (3, 2, -1)] {
        assert_eq!(subarray(size, length, start), argument);
    }
    assert!(ArrayOrder::new(13).is_err());
}

#[test]
fn long_chains_are_dropped_without_deep_recursion() {
    let mut chain = named(INT);
    for _ in 0..200_000 {
        chain = chain.dup();
    }
    assert_eq!(chain.elements(8), Some(2));
    assert_eq!(chain.elements(5), None);
}
