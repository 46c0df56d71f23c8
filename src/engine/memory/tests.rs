//! Memory against the naive form of a datatype: the list of the offsets of its bytes.
#![allow(unsafe_code)]

use proptest::prelude::*;

use super::*;
use crate::engine::memory::layout::Block;

/// A datatype as in the standard, which the code under test and `TypeMap::of` flatten.
#[derive(Clone, Debug)]
enum Tree {
    Basic { size: usize, alignment: usize },
    Join(Vec<(isize, usize, isize, Tree)>),
    Resized { lb: isize, extent: isize, of: Box<Tree> },
}

/// The naive form: the offset of every byte in packed order, and the markers.
#[derive(Clone, Debug, Default)]
struct TypeMap {
    bytes: Vec<isize>,
    markers: Option<(isize, isize)>,
    alignment: isize,
}

impl TypeMap {
    fn of(tree: &Tree) -> Self {
        match tree {
            Tree::Basic { size, alignment } => Self {
                bytes: (0..*size as isize).collect(),
                markers: None,
                alignment: if *size == 0 { 1 } else { *alignment as isize },
            },
            Tree::Resized { lb, extent, of } => {
                Self { markers: Some((*lb, lb + extent)), ..Self::of(of) }
            }
            Tree::Join(blocks) => {
                let mut map = Self { alignment: 1, ..Self::default() };
                for (displacement, count, stride, tree) in blocks {
                    map.add(*displacement, *count, *stride, &Self::of(tree));
                }
                map
            }
        }
    }

    fn add(&mut self, displacement: isize, count: usize, stride: isize, part: &Self) {
        for index in 0..count as isize {
            let place = displacement + index * stride;
            self.bytes.extend(part.bytes.iter().map(|byte| place + byte));
            if let Some((lb, ub)) = part.markers {
                let old = self.markers.unwrap_or((isize::MAX, isize::MIN));
                self.markers = Some((old.0.min(place + lb), old.1.max(place + ub)));
            }
            if !part.bytes.is_empty() {
                self.alignment = self.alignment.max(part.alignment);
            }
        }
    }

    fn true_bounds(&self) -> (isize, isize) {
        let low = self.bytes.iter().min().copied().unwrap_or(0);
        (low, self.bytes.iter().max().map_or(0, |last| last + 1))
    }

    fn bounds(&self) -> (isize, isize) {
        let (low, high) = self.true_bounds();
        let padding = (self.alignment - (high - low) % self.alignment) % self.alignment;
        self.markers.unwrap_or((low, high + padding))
    }
}

fn layout(tree: &Tree) -> Arc<Layout> {
    Arc::new(match tree {
        Tree::Basic { size, alignment } => Layout::aligned(*size, *alignment),
        Tree::Resized { lb, extent, of } => layout(of).resized(*lb, *extent).unwrap(),
        Tree::Join(blocks) => {
            let parts: Vec<_> = blocks.iter().map(|block| layout(&block.3)).collect();
            let blocks = blocks.iter().zip(&parts).map(|(block, layout)| Block {
                displacement: block.0,
                count: block.1,
                stride: block.2,
                layout,
            });
            Layout::join(blocks).unwrap()
        }
    })
}

fn trees() -> impl Strategy<Value = Tree> {
    let sizes = vec![(1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (12, 4), (0, 1)];
    let basic =
        prop::sample::select(sizes).prop_map(|(size, alignment)| Tree::Basic { size, alignment });
    basic.prop_recursive(4, 24, 5, |inner| {
        let block = (-40..40isize, 0..5usize, -40..40isize, inner.clone());
        let regular = (1..6usize, 0..3usize, -9..9isize, inner.clone());
        prop_oneof![
            prop::collection::vec(block, 0..5).prop_map(Tree::Join),
            // Equal blocks at regular offsets, which are merged.
            regular.prop_map(|(blocks, count, step, part)| {
                let extent = layout(&part).extent();
                let at = |index| index as isize * step * 4;
                let block = |index| (at(index), count, extent, part.clone());
                Tree::Join((0..blocks).map(block).collect())
            }),
            (-20..20isize, -20..60isize, inner).prop_map(|(lb, extent, of)| Tree::Resized {
                lb,
                extent,
                of: of.into()
            }),
        ]
    })
}

/// Memory for `count` elements: the indices of their bytes in a vector, in packed order, with the
/// length of the vector and the index of offset 0.
fn places(map: &TypeMap, count: usize) -> (Vec<usize>, usize, isize) {
    let (lb, ub) = map.bounds();
    let mut all = TypeMap::default();
    all.add(0, count, ub - lb, map);
    let (low, high) = all.true_bounds();
    let places = all.bytes.iter().map(|byte| (byte - low) as usize).collect();
    (places, (high - low) as usize, -low)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn bounds_are_those_of_the_type_map(tree in trees()) {
        let (layout, map) = (layout(&tree), TypeMap::of(&tree));
        prop_assert_eq!(layout.size(), map.bytes.len());
        let (low, high) = map.true_bounds();
        prop_assert_eq!((layout.true_lb(), layout.true_extent()), (low, high - low));
        let (lb, ub) = map.bounds();
        prop_assert_eq!((layout.lb(), layout.ub()), (lb, ub));
        let dense = lb == 0 && ub == map.bytes.len() as isize
            && map.bytes.iter().enumerate().all(|(index, byte)| index as isize == *byte);
        prop_assert!(dense || !layout.is_dense());
    }

    #[test]
    fn any_split_packs_as_the_type_map_says(
        tree in trees(), count in 0..4usize, cuts in prop::collection::vec(0.0..1.0f64, 0..6),
    ) {
        let (places, len, zero) = places(&TypeMap::of(&tree), count);
        let mut user: Vec<u8> = (0..len).map(|index| (index * 7 + index / 256) as u8).collect();
        let expected: Vec<u8> = places.iter().map(|place| user[*place]).collect();
        let base = user.as_mut_ptr().wrapping_offset(zero);
        // SAFETY: `places` computed a length that has every byte of the elements.
        let memory = unsafe { Memory::new(base, count, &layout(&tree)) };
        prop_assert_eq!(memory.len(), expected.len());
        let mut packed = vec![0; expected.len()];
        for (from, to) in parts(&cuts, packed.len()) {
            memory.pack(from, &mut packed[from..to]);
        }
        prop_assert_eq!(packed, expected);
    }

    #[test]
    fn any_split_unpacks_as_the_type_map_says(
        tree in trees(), count in 0..4usize, cuts in prop::collection::vec(0.0..1.0f64, 0..6),
    ) {
        let (places, len, zero) = places(&TypeMap::of(&tree), count);
        let data: Vec<u8> = (0..places.len()).map(|index| (index * 5 + 1) as u8).collect();
        let mut expected = vec![0; len];
        for (place, byte) in places.iter().zip(&data) {
            expected[*place] = *byte;
        }
        let mut written = vec![0; len];
        places.iter().for_each(|place| written[*place] += 1);
        let mut user = vec![0; len];
        let base = user.as_mut_ptr().wrapping_offset(zero);
        // SAFETY: `places` computed a length that has every byte of the elements.
        let mut memory = unsafe { Memory::new(base, count, &layout(&tree)) };
        for (from, to) in parts(&cuts, data.len()) {
            memory.unpack(from, &data[from..to]);
        }
        // A receive into overlapping entries is an error of the caller (§5.1.11): either may come
        // last.
        let differs = |index: &usize| written[*index] < 2 && user[*index] != expected[*index];
        prop_assert_eq!((0..len).find(differs), None);
    }
}

/// `0..len` split at the given fractions, in order.
fn parts(cuts: &[f64], len: usize) -> Vec<(usize, usize)> {
    let mut points: Vec<usize> = cuts.iter().map(|cut| (cut * len as f64) as usize).collect();
    points.extend([0, len]);
    points.sort_unstable();
    points.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

#[test]
fn copies_between_all_kinds_of_memory() {
    let int = Arc::new(Layout::aligned(4, 4));
    let every_third = Block { displacement: 0, count: 3000, stride: 12, layout: &int };
    let sparse = Arc::new(Layout::join([every_third]).unwrap());
    let mut source: Vec<u8> = (0..36_000).map(|index| (index / 12) as u8).collect();
    let mut target = vec![0u8; 36_000];
    // SAFETY: both vectors outlive the memories and are long enough for 3000 × 12 bytes.
    let (from, mut to) = unsafe {
        let from = Memory::new(source.as_mut_ptr(), 1, &sparse);
        (from, Memory::new(target.as_mut_ptr(), 1, &sparse))
    };
    let mut owned = Memory::owned(vec![0; 12_000]);
    from.copy(5, &mut owned, 3, 11_990);
    owned.copy(3, &mut to, 5, 11_990);
    let mut packed = vec![0; 12_000];
    to.pack(0, &mut packed);
    let expected = |index: usize| if (5..11_995).contains(&index) { index / 4 } else { 0 };
    assert!((0..12_000).all(|index| packed[index] == expected(index) as u8));
    let mut second = vec![0u8; 36_000];
    // SAFETY: as above.
    let mut second_memory = unsafe { Memory::new(second.as_mut_ptr(), 1, &sparse) };
    from.copy(0, &mut second_memory, 0, 12_000);
    assert!((0..3000).all(|index| second[index * 12..][..4] == source[index * 12..][..4]));
    assert!((0..3000).all(|index| second[index * 12 + 4] == 0));
}

#[test]
fn only_common_bytes_overlap() {
    let int = Arc::new(Layout::aligned(4, 4));
    let column = |displacement| {
        Arc::new(
            Layout::join([Block { displacement, count: 3, stride: 12, layout: &int }]).unwrap(),
        )
    };
    let nested = |of: &Arc<Layout>| {
        let two =
            [0, 40].map(|displacement| Block { displacement, count: 1, stride: 0, layout: of });
        Arc::new(Layout::join(two).unwrap())
    };
    let (left, right) = (column(0), column(4));
    let mut grid = [0u8; 80];
    // SAFETY: the array outlives the memories, and its 80 bytes hold every layout.
    let [left_part, same_part, right_part, above, beside] = unsafe {
        let base = grid.as_mut_ptr();
        [
            Memory::new(base, 1, &left),
            Memory::new(base, 1, &nested(&left)),
            Memory::new(base, 1, &right),
            Memory::new(base, 8, &Arc::new(Layout::dense(1))),
            Memory::new(base.wrapping_add(8), 4, &Arc::new(Layout::dense(1))),
        ]
    };
    assert!(left_part.overlaps(&left_part) && left_part.overlaps(&same_part));
    assert!(left_part.overlaps(&above) && above.overlaps(&right_part));
    assert!(!left_part.overlaps(&right_part) && !right_part.overlaps(&same_part));
    assert!(!beside.overlaps(&left_part) && !right_part.overlaps(&beside));
    assert!(!Memory::EMPTY.overlaps(&left_part));
}

#[test]
#[should_panic(expected = "assertion")]
fn packing_past_the_end_panics() {
    let int = Arc::new(Layout::aligned(4, 4));
    let two = Arc::new(
        Layout::join([Block { displacement: 0, count: 2, stride: 8, layout: &int }]).unwrap(),
    );
    let mut user = [0u8; 12];
    // SAFETY: 4 bytes at 0 and 4 at 8 are inside the array.
    let memory = unsafe { Memory::new(user.as_mut_ptr(), 1, &two) };
    memory.pack(1, &mut [0; 8]);
}
