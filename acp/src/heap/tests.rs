//! Tests of the heap: against a model, by several ranks and threads, full, damaged.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::test_space::TestSpace;

/// The used bytes and the ends of the first free blocks of a heap.
fn control(space: &TestSpace, rank: u32) -> Vec<u64> {
    let layout = HeapLayout::of(space, rank).unwrap();
    words::read_many(space, layout.base.plus(WORD), BINS + layout.bins).unwrap()
}

/// Checks every block and every list of the heap of `rank`; the sizes of its free blocks in their
/// order.
fn free_sizes(space: &TestSpace, rank: u32) -> Vec<u64> {
    let layout = HeapLayout::of(space, rank).unwrap();
    let heap = Heap::lock(space, layout).unwrap();
    let mut listed = BTreeMap::new();
    for bin in 0..layout.bins {
        let (mut end, mut previous) = (heap.control[BINS + bin], 0);
        while end != 0 {
            let block = heap.free_block(end).unwrap();
            assert_eq!((block.previous, bin_of(block.size)), (previous, bin));
            assert_eq!(heap.header(block.start()).unwrap(), BlockHeader::free(block.size));
            assert_eq!(listed.insert(block.start(), block.size), None);
            (previous, end) = (end, block.next);
        }
    }
    let (mut offset, mut previous_free) = (layout.first, false);
    let mut found = Vec::new();
    while offset < heap.top() {
        let header = heap.header(offset).unwrap();
        assert_eq!(header.previous_free, previous_free);
        assert!(header.in_use || !previous_free, "free neighbours at {offset}");
        assert_eq!(listed.contains_key(&offset), !header.in_use);
        if !header.in_use {
            found.push(header.size);
        }
        previous_free = !header.in_use;
        offset += header.size;
    }
    assert_eq!(offset, heap.top());
    assert!(!previous_free, "the last block is free");
    assert_eq!(found.len(), listed.len());
    found
}

fn assert_is_empty(space: &TestSpace, rank: u32) {
    assert!(control(space, rank).iter().all(|word| *word == 0), "heap of rank {rank}");
}

/// That no rank has an allocated block.
pub(crate) fn assert_all_is_free(spaces: &[TestSpace]) {
    spaces.iter().for_each(|space| assert_is_empty(space, space.rank()));
}

/// A byte pattern of a block, to see that no other block has it.
fn fill(space: &TestSpace, at: SpaceAddress, len: u64, byte: u8) {
    space.write(at, &vec![byte; len as usize]).unwrap();
}

#[test]
fn addresses_are_multiples_of_16_inside_the_heap_and_do_not_overlap() {
    let space = &TestSpace::ranks(1, 4096)[0];
    let (base, len) = space.heap(0).unwrap();
    let mut end = base;
    for bytes in [1, 8, 24, 25, 40, 100] {
        let at = allocate(space, 0, bytes).unwrap();
        assert_eq!(at.0 % 16, 0);
        assert!(at >= end && at.0 + bytes <= base.0 + len);
        end = at.plus(bytes);
    }
    assert_eq!(free_sizes(space, 0), []);
}

#[test]
fn a_block_costs_at_most_16_bytes_except_the_smallest() {
    let space = &TestSpace::ranks(1, 1 << 16)[0];
    for bytes in (16..2000).step_by(8) {
        let before = control(space, 0)[USED];
        allocate(space, 0, bytes).unwrap();
        assert!(control(space, 0)[USED] - before <= bytes + 16, "{bytes}");
        if control(space, 0)[USED] > 1 << 15 {
            break;
        }
    }
    let before = control(space, 0)[USED];
    allocate(space, 0, 0).unwrap();
    assert_eq!(control(space, 0)[USED] - before, BLOCK_MIN);
}

#[test]
fn a_small_heap_has_room() {
    let space = &TestSpace::ranks(1, 1024)[0];
    let at = allocate(space, 0, 936).unwrap();
    assert_eq!(allocate(space, 0, 1), Err(Failure::NoRoom));
    free(space, at).unwrap();
    let tiny = &TestSpace::ranks(1, 32)[0];
    assert_eq!(allocate(tiny, 0, 1), Err(Failure::NoRoom));
}

#[test]
fn a_full_heap_has_room_again_after_free() {
    let space = &TestSpace::ranks(1, 2048)[0];
    let mut blocks = Vec::new();
    while let Ok(at) = allocate(space, 0, 100) {
        blocks.push(at);
    }
    assert!(blocks.len() > 15);
    assert_eq!(allocate(space, 0, 100), Err(Failure::NoRoom));
    assert_eq!(allocate(space, 0, u64::MAX), Err(Failure::NoRoom));
    assert_eq!(allocate(space, 0, u64::MAX - 8), Err(Failure::NoRoom));
    free(space, blocks[3]).unwrap();
    free(space, blocks[5]).unwrap();
    free(space, blocks[4]).unwrap();
    assert_eq!(free_sizes(space, 0), [3 * 112]);
    assert_eq!(allocate(space, 0, 3 * 112 - 8).unwrap(), blocks[3]);
    for at in blocks.iter().filter(|at| !blocks[4..6].contains(at)) {
        free(space, *at).unwrap();
    }
    assert_is_empty(space, 0);
}

#[test]
fn a_block_is_found_behind_smaller_ones_of_its_bin() {
    let space = &TestSpace::ranks(1, 4096)[0];
    // Blocks of 128 to 240 bytes are in one bin; the largest is the first freed, so the last of its
    // list.
    let kept = |len| {
        let at = allocate(space, 0, len).unwrap();
        allocate(space, 0, 8).unwrap();
        at
    };
    let large = kept(232);
    let small: Vec<_> = (0..10).map(|_| kept(120)).collect();
    while allocate(space, 0, 8).is_ok() {}
    free(space, large).unwrap();
    for at in small {
        free(space, at).unwrap();
    }
    assert_eq!(allocate(space, 0, 232).unwrap(), large);
    free_sizes(space, 0);
}

#[test]
fn the_front_of_a_larger_block_is_taken() {
    let space = &TestSpace::ranks(1, 1 << 13)[0];
    let large = allocate(space, 0, 1000).unwrap();
    allocate(space, 0, 8).unwrap();
    free(space, large).unwrap();
    assert_eq!(free_sizes(space, 0), [1008]);
    // The rest stays in its bin, then moves, then is too small to remain.
    assert_eq!(allocate(space, 0, 24).unwrap(), large);
    assert_eq!(free_sizes(space, 0), [976]);
    assert_eq!(allocate(space, 0, 600).unwrap(), large.plus(32));
    assert_eq!(free_sizes(space, 0), [368]);
    assert_eq!(allocate(space, 0, 328).unwrap(), large.plus(32 + 608));
    assert_eq!(free_sizes(space, 0), [32]);
    assert_eq!(allocate(space, 0, 24).unwrap(), large.plus(32 + 608 + 336));
    assert_eq!(free_sizes(space, 0), []);
    let small = allocate(space, 0, 40).unwrap();
    allocate(space, 0, 8).unwrap();
    free(space, small).unwrap();
    assert_eq!(allocate(space, 0, 24).unwrap(), small);
    assert_eq!(free_sizes(space, 0), []);
}

#[test]
fn bad_addresses_are_ignored() {
    let spaces = TestSpace::ranks(2, 1 << 12);
    let space = &spaces[0];
    let (base, len) = space.heap(1).unwrap();
    let blocks: Vec<_> = (0..4).map(|_| allocate(space, 1, 100).unwrap()).collect();
    // Words like headers, without their check.
    for (block, word) in blocks.iter().flat_map(|at| (0..12).map(move |word| (at, word))) {
        words::write(space, block.plus(WORD * word), &[0x31]).unwrap();
    }
    free(space, blocks[0]).unwrap();
    free(space, blocks[2]).unwrap();
    let before = space.bytes(base, len);
    for at in [SpaceAddress::NULL, SpaceAddress(1), SpaceAddress(u64::MAX), space.user(0)] {
        assert_eq!(free(space, at), Err(Failure::Argument));
    }
    for offset in (0..len + 64).step_by(8) {
        let at = base.plus(offset);
        if ![blocks[1], blocks[3]].contains(&at) {
            assert!(free(space, at).is_err(), "{offset}");
        }
    }
    assert!(space.bytes(base, len) == before);
    // The last three bits are ignored.
    free(space, blocks[1].plus(7)).unwrap();
    free(space, blocks[3]).unwrap();
    assert_is_empty(space, 1);
}

#[test]
fn blocks_of_several_ranks_are_freed_at_once() {
    let spaces = TestSpace::ranks(3, 1 << 13);
    let allocate_on = |rank| allocate(&spaces[0], rank, 72).unwrap();
    let mut blocks: Vec<_> = [0, 1, 1, 2, 1, 0].map(allocate_on).into();
    blocks.extend((0..40).map(|_| allocate_on(2)));
    blocks.insert(2, SpaceAddress::NULL);
    blocks.insert(3, blocks[1].plus(16));
    free_all(&spaces[1], &blocks);
    (0..3).for_each(|rank| assert_is_empty(&spaces[0], rank));
    free_all(&spaces[1], &blocks);
    free_all(&spaces[1], &[]);
    (0..3).for_each(|rank| assert_is_empty(&spaces[0], rank));
}

#[test]
fn a_block_is_freed_once() {
    let space = &TestSpace::ranks(1, 1 << 13)[0];
    // Small and large blocks: their headers are overwritten in different ways.
    for len in [24, 100, 900] {
        let blocks: Vec<_> = (0..4).map(|_| allocate(space, 0, len).unwrap()).collect();
        for freed in [0, 1, 3] {
            free(space, blocks[freed]).unwrap();
            for again in [0, 1, 3].into_iter().take_while(|again| *again <= freed) {
                assert!(free(space, blocks[again]).is_err(), "{len} {freed} {again}");
                free_sizes(space, 0);
            }
        }
        // One block over the second and what was behind it, so that old headers lie inside.
        free(space, blocks[2]).unwrap();
        let over = allocate(space, 0, 4 * len + 64).unwrap();
        for at in &blocks[1..] {
            assert!(free(space, *at).is_err());
        }
        free(space, over).unwrap();
        assert_is_empty(space, 0);
    }
}

#[test]
fn damaged_words_stop_no_operation() {
    let space = &TestSpace::ranks(1, 1 << 12)[0];
    let blocks: Vec<_> = (0..8).map(|_| allocate(space, 0, 40).unwrap()).collect();
    for at in blocks.iter().step_by(2) {
        free(space, *at).unwrap();
    }
    let (base, len) = space.heap(0).unwrap();
    let sound = space.bytes(base, len);
    let used = (control(space, 0)[USED] + 200) / WORD;
    for index in 1..used {
        for word in [0, 1, 48, 64, u64::MAX, 1 << 20] {
            space.write(base, &sound).unwrap();
            words::write(space, base.plus(WORD * index), &[word]).unwrap();
            let _ = allocate(space, 0, 40);
            let _ = allocate(space, 0, 500);
            for at in &blocks {
                let _ = free(space, *at);
            }
            assert_eq!(words::read(space, base), Ok([0]), "the lock is free");
        }
    }
}

#[test]
fn a_list_in_a_circle_ends() {
    let space = &TestSpace::ranks(1, 1 << 10)[0];
    let blocks: Vec<_> = (0..6).map(|_| allocate(space, 0, 40).unwrap()).collect();
    while allocate(space, 0, 8).is_ok() {}
    free(space, blocks[0]).unwrap();
    free(space, blocks[2]).unwrap();
    let layout = HeapLayout::of(space, 0).unwrap();
    let ends = [0, 2].map(|block: usize| layout.first + 48 * (block as u64 + 1));
    words::write(space, layout.base.plus(ends[0] - TAIL), &[ends[1]]).unwrap();
    assert_eq!(allocate(space, 0, 56), Err(Failure::NoRoom));
}

#[test]
fn accesses_to_a_remote_heap() {
    let spaces = TestSpace::ranks(2, 1 << 13);
    let space = &spaces[0];
    let count = |work: &mut dyn FnMut()| space.remote_accesses(work);
    let mut at = SpaceAddress::NULL;
    let unused = count(&mut || at = allocate(space, 1, 64).unwrap());
    let last = count(&mut || free(space, at).unwrap());
    let at = allocate(space, 1, 64).unwrap();
    allocate(space, 1, 64).unwrap();
    let inner = count(&mut || free(space, at).unwrap());
    let equal = count(&mut || _ = allocate(space, 1, 64).unwrap());
    free(space, at).unwrap();
    let front = count(&mut || _ = allocate(space, 1, 16).unwrap());
    assert_eq!([unused, last, inner, equal, front], [5, 6, 7, 7, 7]);
    let blocks: Vec<_> = (0..8).map(|_| allocate(space, 1, 200).unwrap()).collect();
    let at_once = count(&mut || free_all(space, &blocks));
    assert!(at_once <= 5 * 8, "{at_once}");
}

/// An allocation of so many bytes, or the end of one of those that exist.
#[derive(Clone, Debug)]
enum Step {
    Allocate { by: usize, len: u64 },
    Free { by: usize, index: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let len = prop_oneof![3 => 0_u64..100, 1 => 0_u64..1200];
    let allocate = (0..4_usize, len).prop_map(|(by, len)| Step::Allocate { by, len });
    let free = (0..4_usize, any::<usize>()).prop_map(|(by, index)| Step::Free { by, index });
    prop::collection::vec(prop_oneof![3 => allocate, 2 => free], 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn blocks_keep_their_bytes_and_merge(steps in steps(), heap_bytes in 512_u64..8192) {
        let spaces = TestSpace::ranks(4, heap_bytes / 8 * 8);
        let mut blocks: Vec<(SpaceAddress, u64, u8)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Allocate { by, len } => {
                    let Ok(at) = allocate(&spaces[by], 2, len) else { continue };
                    fill(&spaces[by], at, len, number as u8);
                    blocks.push((at, len, number as u8));
                }
                Step::Free { by, index } if !blocks.is_empty() => {
                    let (at, _, _) = blocks.swap_remove(index % blocks.len());
                    prop_assert_eq!(free(&spaces[by], at), Ok(()));
                }
                Step::Free { .. } => {}
            }
            free_sizes(&spaces[0], 2);
        }
        for (at, len, byte) in blocks {
            prop_assert_eq!(spaces[0].bytes(at, len), vec![byte; len as usize]);
            prop_assert_eq!(free(&spaces[3], at), Ok(()));
        }
        assert_is_empty(&spaces[0], 2);
    }
}

#[test]
fn threads_of_several_ranks_share_a_heap() {
    let spaces = TestSpace::ranks(4, 1 << 14);
    TestSpace::run_all(&spaces, |space| {
        let mut blocks = Vec::new();
        for round in 0..80_u64 {
            let len = round * 37 % 200;
            if let Ok(at) = allocate(space, 1, len) {
                fill(space, at, len, space.rank() as u8);
                blocks.push((at, len));
            }
            if round % 3 == 0 && !blocks.is_empty() {
                let (at, len) = blocks.swap_remove(round as usize * 7 % blocks.len());
                assert_eq!(space.bytes(at, len), vec![space.rank() as u8; len as usize]);
                free(space, at).unwrap();
            }
        }
        blocks.into_iter().for_each(|(at, _)| free(space, at).unwrap());
    });
    assert_is_empty(&spaces[0], 1);
}
