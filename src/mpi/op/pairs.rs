//! `MPI_MINLOC` and `MPI_MAXLOC` on all pairs of a value and an index (MPI 5.0 §6.9.4): packed, and
//! in the layout of C structures with padding.
//!
//! A [`PaddedKernel`] loop works in place on the application's arrays, without packing and
//! unpacking; it does not change padding.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::Operator;
use super::float::{F16, F80, F128};
use super::kernels::Loop;
use crate::engine::memory::Memory;
use crate::engine::memory::layout::Layout;
use crate::mpi::datatype::{Datatype, Unit};

/// Number of pairs that are compared before any of them is written.
const BLOCK: usize = 8;

/// Loop over arrays of one type of pairs.
#[derive(Debug)]
pub(crate) struct PaddedKernel {
    run: Loop,
    layout: Arc<Layout>,
}

impl PaddedKernel {
    /// The loop of `operator` on this datatype; `None` unless it is a pair with padding.
    pub(crate) fn find(operator: Operator, datatype: &Datatype) -> Option<Self> {
        let members = datatype.as_predefined()?.unit.members()?;
        let is_padded = !datatype.layout().is_dense();
        let run = padded(operator, members).filter(|_| is_padded)?;
        Some(Self { run, layout: datatype.layout().clone() })
    }

    /// Computes `into = from op into` if both are arrays of the datatype with the same length.
    /// Returns whether they are; otherwise there is no effect.
    pub(crate) fn reduce(&self, from: &Memory, into: &Memory) -> bool {
        let (Memory::Typed(from), Memory::Typed(into)) = (from, into) else { return false };
        let counts = from.count_of(&self.layout).zip(into.count_of(&self.layout));
        let Some((elements, _)) = counts.filter(|(one, other)| one == other) else { return false };
        // SAFETY: both have `elements` elements of `layout` by the promise to `Memory::new`, `into`
        // for writing; `find` took `layout` from the datatype of the pairs of the loop.
        unsafe { (self.run)(from.address() as *const u8, into.address() as *mut u8, elements) };
        true
    }
}

/// Types of values and indices, with their alignment in C.
trait Member: Copy + PartialOrd {
    const ALIGNMENT: usize = align_of::<Self>();
}

macro_rules! members {
    ($($type:ty)*) => {$(impl Member for $type {})*};
}

members!(i8 u8 i16 u16 i32 u32 i64 u64 i128 F16 f32 f64 F128);

impl Member for F80 {
    const ALIGNMENT: usize = 16;
}

/// The loop on C structures, for the named pairs with padding.
fn padded(operator: Operator, [value, index]: [Unit; 2]) -> Option<Loop> {
    match (value, index) {
        (Unit::I16, Unit::I32) => of::<i16, i32, true>(operator),
        (Unit::I64, Unit::I32) => of::<i64, i32, true>(operator),
        (Unit::F64, Unit::I32) => of::<f64, i32, true>(operator),
        (Unit::F80, Unit::I32) => of::<F80, i32, true>(operator),
        (Unit::F128, Unit::I32) => of::<F128, i32, true>(operator),
        _ => None,
    }
}

/// The loop on packed pairs.
pub(crate) fn packed(operator: Operator, unit: Unit) -> Option<Loop> {
    let [value, index] = unit.members()?;
    match value {
        Unit::I8 => of_value::<i8>(operator, index),
        Unit::U8 => of_value::<u8>(operator, index),
        Unit::I16 => of_value::<i16>(operator, index),
        Unit::U16 => of_value::<u16>(operator, index),
        Unit::I32 => of_value::<i32>(operator, index),
        Unit::U32 => of_value::<u32>(operator, index),
        Unit::I64 => of_value::<i64>(operator, index),
        Unit::U64 => of_value::<u64>(operator, index),
        Unit::I128 => of_value::<i128>(operator, index),
        Unit::F16 => of_value::<F16>(operator, index),
        Unit::F32 => of_value::<f32>(operator, index),
        Unit::F64 => of_value::<f64>(operator, index),
        Unit::F80 => of_value::<F80>(operator, index),
        Unit::F128 => of_value::<F128>(operator, index),
        _ => None,
    }
}

fn of_value<V: Member>(operator: Operator, index: Unit) -> Option<Loop> {
    match index {
        Unit::I8 => of::<V, i8, false>(operator),
        Unit::U8 => of::<V, u8, false>(operator),
        Unit::I16 => of::<V, i16, false>(operator),
        Unit::U16 => of::<V, u16, false>(operator),
        Unit::I32 => of::<V, i32, false>(operator),
        Unit::U32 => of::<V, u32, false>(operator),
        Unit::I64 => of::<V, i64, false>(operator),
        Unit::U64 => of::<V, u64, false>(operator),
        _ => None,
    }
}

fn of<V: Member, I: Member, const PADDED: bool>(operator: Operator) -> Option<Loop> {
    match operator {
        Operator::Minloc => Some(each::<V, I, false, PADDED>),
        Operator::Maxloc => Some(each::<V, I, true, PADDED>),
        _ => None,
    }
}

/// Stores in each pair of `into` the one with the lower (`MAX`: higher) value, of equal values the
/// one with the lower index.
///
/// Blocks without a change are only read: these are most blocks late in a long reduction. Other
/// blocks have no branch for each pair, which the processor could not predict.
///
/// # Safety
/// Both are arrays of `elements` C structures of `V` and `I`, or such pairs packed; `into` may be
/// written, and no other thread accesses them during the call.
unsafe fn each<V: Member, I: Member, const MAX: bool, const PADDED: bool>(
    from: *const u8, into: *mut u8, elements: usize,
) {
    let stride = LoadedPair::<V, I>::offsets::<PADDED>().1;
    // There are many kinds of packed pairs, most of them rare, so their loops are kept short.
    let blocks = if PADDED { elements / BLOCK } else { 0 };
    // SAFETY: these elements are within the arrays that the caller promises.
    unsafe {
        for block in 0..blocks {
            let at = block * BLOCK * stride;
            each_block::<V, I, MAX, PADDED, BLOCK>(from.add(at), into.add(at));
        }
        for element in blocks * BLOCK..elements {
            let at = element * stride;
            each_block::<V, I, MAX, PADDED, 1>(from.add(at), into.add(at));
        }
    }
}

/// [`each`] of `N` elements.
///
/// # Safety
/// The requirements of [`each`].
#[inline(always)]
unsafe fn each_block<V: Member, I: Member, const MAX: bool, const PADDED: bool, const N: usize>(
    from: *const u8, into: *mut u8,
) {
    let stride = LoadedPair::<V, I>::offsets::<PADDED>().1;
    let (mut taken, mut any) = ([false; N], false);
    for (element, taken) in taken.iter_mut().enumerate() {
        // SAFETY: the element is within the arrays that the caller promises.
        let (one, other) = unsafe {
            let at = element * stride;
            (
                LoadedPair::<V, I>::read::<PADDED>(from.add(at)),
                LoadedPair::read::<PADDED>(into.add(at)),
            )
        };
        *taken = one.goes_before::<MAX>(&other);
        any |= *taken;
    }
    if !any {
        return;
    }
    for (element, taken) in taken.iter().enumerate() {
        // SAFETY: as above.
        unsafe {
            let (from, into) = (from.add(element * stride), into.add(element * stride));
            let one = LoadedPair::<V, I>::read::<PADDED>(from);
            let other = LoadedPair::<V, I>::read::<PADDED>(into);
            let value = if *taken { one.value } else { other.value };
            let index = if *taken { one.index } else { other.index };
            LoadedPair { value, index }.write::<PADDED>(into);
        }
    }
}

/// A pair in registers.
#[derive(Clone, Copy)]
struct LoadedPair<V, I> {
    value: V,
    index: I,
}

impl<V: Member, I: Member> LoadedPair<V, I> {
    /// Offsets of the index and of the next pair.
    const fn offsets<const PADDED: bool>() -> (usize, usize) {
        if !PADDED {
            return (size_of::<V>(), size_of::<V>() + size_of::<I>());
        }
        let alignment = if V::ALIGNMENT > I::ALIGNMENT { V::ALIGNMENT } else { I::ALIGNMENT };
        let second = size_of::<V>().next_multiple_of(I::ALIGNMENT);
        (second, (second + size_of::<I>()).next_multiple_of(alignment))
    }

    /// # Safety
    /// A readable pair is at `place`.
    #[inline(always)]
    unsafe fn read<const PADDED: bool>(place: *const u8) -> Self {
        // SAFETY: the caller's promise; any bytes are valid numbers.
        unsafe {
            let second = place.add(Self::offsets::<PADDED>().0);
            Self {
                value: place.cast::<V>().read_unaligned(),
                index: second.cast::<I>().read_unaligned(),
            }
        }
    }

    /// Does not write padding.
    ///
    /// # Safety
    /// A writable pair is at `place`.
    #[inline(always)]
    unsafe fn write<const PADDED: bool>(self, place: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            place.cast::<V>().write_unaligned(self.value);
            place.add(Self::offsets::<PADDED>().0).cast::<I>().write_unaligned(self.index);
        }
    }

    #[inline(always)]
    fn goes_before<const MAX: bool>(&self, other: &Self) -> bool {
        let before = if MAX { self.value > other.value } else { self.value < other.value };
        before | ((self.value == other.value) & (self.index < other.index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::OwnedBytes;
    use crate::mpi::datatype::Predefined;
    use platform::base::Random;

    const COUNT: usize = 67;

    /// Elements of the datatype in `bytes`.
    fn elements(datatype: &Datatype, bytes: &OwnedBytes, count: usize) -> Memory {
        let address = bytes.span().address() as *const u8;
        // SAFETY: the bytes have room for `count` elements and outlive the memory in the tests.
        unsafe { Memory::new(address, count, datatype.layout()) }
    }

    /// Random bytes with few distinct values, so that values and indices are often equal.
    fn drawn(random: &mut Random, len: usize) -> OwnedBytes {
        let mut bytes = OwnedBytes::zeroed(len);
        bytes.as_mut_slice().fill_with(|| (random.below(40) == 0).into());
        bytes
    }

    #[test]
    fn padded_pairs_become_what_packed_ones_do_and_padding_stays() {
        let mut random = Random::new(4);
        let mut padded_types = 0;
        for entry in Predefined::all() {
            let datatype = Datatype::predefined(entry);
            let len = COUNT * datatype.extent() as usize;
            for operator in [Operator::Minloc, Operator::Maxloc] {
                let Some(padded) = PaddedKernel::find(operator, &datatype) else { continue };
                padded_types += 1;
                let (from, into) = (drawn(&mut random, len), drawn(&mut random, len));
                let mut expected = OwnedBytes::zeroed(len);
                expected.as_mut_slice().copy_from_slice(into.as_slice());
                let (source, target) =
                    (elements(&datatype, &from, COUNT), elements(&datatype, &into, COUNT));
                let packed = |memory: &Memory| {
                    let mut bytes = OwnedBytes::zeroed(memory.len());
                    memory.pack(0, bytes.as_mut_slice());
                    bytes
                };
                let (one, other) = (packed(&source), packed(&target));
                operator.reduction(&datatype).unwrap().reduce(one.span(), other.span());
                elements(&datatype, &expected, COUNT).unpack(0, other.as_slice());
                assert!(padded.reduce(&source, &target));
                assert_eq!(into.as_slice(), expected.as_slice(), "{operator:?} {entry:?}");
            }
        }
        assert_eq!(padded_types, 2 * 4, "operations on pairs with padding");
    }

    #[test]
    fn other_memory_is_left_alone() {
        let datatype = |name: &str| {
            Datatype::predefined(Predefined::all().iter().find(|e| e.name == name).unwrap())
        };
        let (short, double) = (datatype("MPI_SHORT_INT"), datatype("MPI_DOUBLE_INT"));
        let padded = PaddedKernel::find(Operator::Minloc, &short).unwrap();
        assert!(PaddedKernel::find(Operator::Minloc, &datatype("MPI_2INT")).is_none());
        assert!(PaddedKernel::find(Operator::Sum, &datatype("MPI_DOUBLE")).is_none());
        let bytes = OwnedBytes::zeroed(64);
        let three = || elements(&short, &bytes, 3);
        assert!(!padded.reduce(&three(), &elements(&double, &bytes, 3)));
        assert!(!padded.reduce(&three(), &elements(&short, &bytes, 2)));
        assert!(!padded.reduce(&three(), &Memory::owned(vec![0; 18])));
        assert!(!padded.reduce(&elements(&short, &bytes, 1), &elements(&short, &bytes, 1)));
    }
}
