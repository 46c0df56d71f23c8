//! Rates of packing and unpacking datatypes, beside hand-written loops for each shape.
//!
//! Prints, for each shape, gigabytes of packed data per second: the library, the loop, and their
//! ratio. Both run on the same memory, one after the other, the best of several passes each.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use mpi_abi::engine::memory::Memory;
use mpi_abi::engine::memory::layout::{Block, Layout};
use mpi_abi::mpi::datatype::{ConstructorForm, Datatype, Predefined};
use mpi_abi::mpi::op::Operator;

const PASSES: usize = 30;

fn main() {
    println!("{:<44} {:>9} {:>9} {:>6}", "shape", "library", "loop", "ratio");
    strided::<1>(1 << 18, 4);
    strided::<4>(1 << 18, 8);
    strided::<8>(1 << 10, 16);
    strided::<8>(1 << 18, 16);
    strided::<8>(1 << 18, 512);
    strided::<16>(1 << 17, 48);
    strided::<24>(1 << 17, 64);
    strided::<80>(1 << 15, 800);
    strided::<1024>(1 << 12, 4096);
    pairs(1 << 10);
    pairs(1 << 17);
    dense(8, 1 << 16);
    dense(64, 1 << 16);
    sums(1 << 12);
    sums(1 << 20);
}

/// The best rate of `pass`, which moves `bytes`, in gigabytes per second.
fn rate(bytes: usize, mut pass: impl FnMut()) -> f64 {
    let times = (0..PASSES).map(|_| {
        let start = Instant::now();
        pass();
        start.elapsed().as_secs_f64()
    });
    bytes as f64 / times.fold(f64::INFINITY, f64::min) / 1e9
}

fn report(shape: &str, library: f64, by_hand: f64) {
    let ratio = library / by_hand;
    println!("{shape:<44} {library:>9.2} {by_hand:>9.2} {ratio:>6.2}");
}

fn memory(layout: &Arc<Layout>, user: &mut [u8]) -> Memory {
    assert!(layout.true_lb() == 0 && layout.true_extent() as usize <= user.len());
    // SAFETY: the layout stays inside `user`, which outlives the memory in every caller.
    unsafe { Memory::new(user.as_mut_ptr(), 1, layout) }
}

/// `count` pieces of `LEN` bytes at `stride`.
fn strided<const LEN: usize>(count: usize, stride: usize) {
    let (count, stride) = black_box((count, stride));
    let piece = Arc::new(Layout::dense(LEN));
    let block = Block { displacement: 0, count, stride: stride as isize, layout: &piece };
    let layout = Arc::new(Layout::join([block]).expect("a few megabytes"));
    let (mut user, mut packed) = (vec![1u8; count * stride], vec![1u8; count * LEN]);
    let mut memory = memory(&layout, &mut user);
    let library = rate(packed.len(), || memory.pack(0, black_box(&mut packed)));
    let by_hand = rate(packed.len(), || {
        let (mut from, mut to) = (black_box(user.as_ptr()), black_box(packed.as_mut_ptr()));
        for _ in 0..count {
            // SAFETY: `count` pieces at `stride` are inside `user`, and as many in `packed`.
            unsafe { to.cast::<[u8; LEN]>().write_unaligned(from.cast::<[u8; LEN]>().read()) };
            from = from.wrapping_add(stride);
            to = to.wrapping_add(LEN);
        }
    });
    report(&format!("pack {count} x {LEN} bytes, stride {stride}"), library, by_hand);
    let library = rate(packed.len(), || memory.unpack(0, black_box(&packed)));
    let by_hand = rate(packed.len(), || {
        let (mut from, mut to) = (black_box(packed.as_ptr()), black_box(user.as_mut_ptr()));
        for _ in 0..count {
            // SAFETY: as above.
            unsafe { to.cast::<[u8; LEN]>().write_unaligned(from.cast::<[u8; LEN]>().read()) };
            from = from.wrapping_add(LEN);
            to = to.wrapping_add(stride);
        }
    });
    report(&format!("unpack {count} x {LEN} bytes, stride {stride}"), library, by_hand);
}

/// `count` structures of an `int` and a `double`.
fn pairs(count: usize) {
    let named = |handle| Datatype::predefined(Predefined::find(handle).expect("predefined"));
    let types = [named(0x209), named(0x214)];
    let pair = Datatype::structure(ConstructorForm::Int, &[1, 1], &[0, 8], &types).expect("a pair");
    let array = Datatype::contiguous(ConstructorForm::Int, count as i64, &pair).expect("an array");
    let (mut user, mut packed) = (vec![1u8; count * 16], vec![1u8; count * 12]);
    let memory = memory(array.layout(), &mut user);
    let library = rate(packed.len(), || memory.pack(0, black_box(&mut packed)));
    let by_hand = rate(packed.len(), || {
        let (from, to) = (black_box(user.as_ptr()), black_box(packed.as_mut_ptr()));
        for index in 0..count {
            let (from, to) = (from.wrapping_add(index * 16), to.wrapping_add(index * 12));
            // SAFETY: `count` elements of 16 bytes are in `user`, of 12 in `packed`.
            unsafe {
                to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned());
                let double = from.wrapping_add(8).cast::<u64>().read_unaligned();
                to.wrapping_add(4).cast::<u64>().write_unaligned(double);
            }
        }
    });
    report(&format!("pack {count} x {{int, double}}"), library, by_hand);
}

/// Many small messages of adjacent bytes.
fn dense(len: usize, times: usize) {
    let layout = Arc::new(Layout::dense(len));
    let (mut user, mut packed) = (vec![1u8; len], vec![1u8; len]);
    let memory = memory(&layout, &mut user);
    let library = rate(len * times, || {
        for _ in 0..times {
            black_box(&memory).pack(0, black_box(&mut packed));
        }
    });
    let by_hand = rate(len * times, || {
        for _ in 0..times {
            black_box(&mut packed).copy_from_slice(black_box(&user));
        }
    });
    report(&format!("pack {len} adjacent bytes"), library, by_hand);
}

/// Sums of arrays of `double`.
fn sums(count: usize) {
    let entry = Predefined::find(0x214).expect("MPI_DOUBLE");
    let kernel = Operator::Sum.kernel(entry).expect("the standard has it");
    let (mut from, mut into) = (vec![1u8; count * 8], vec![1u8; count * 8]);
    let layout = Arc::new(Layout::dense(count * 8));
    let source = memory(&layout, &mut from).span().expect("adjacent");
    let target = memory(&layout, &mut into).span().expect("adjacent");
    let library = rate(count * 8, || kernel.reduce(black_box(source), black_box(target)));
    let mut into = vec![1f64; count];
    let from = vec![1f64; count];
    let by_hand = rate(count * 8, || {
        for (sum, term) in black_box(&mut into).iter_mut().zip(black_box(&from)) {
            *sum += term;
        }
    });
    report(&format!("sum {count} doubles"), library, by_hand);
}
