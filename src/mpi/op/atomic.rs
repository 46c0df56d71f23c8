//! Accumulation on memory that several threads and processes accumulate on at a time: each element
//! changes atomically (MPI 5.0 §12.7.1).
//!
//! ```text
//!   number of 1, 2, 4 or 8 bytes at an aligned address     atomics of the processor
//!   pairs, complex numbers, 16 bytes, other addresses      a loop, and the caller holds a lock
//! ```
//!
//! Which of the two depends on the representation of the element and its address ([`is_lock_free`]),
//! never on the operation: so different operations on one element are atomic towards each other. The
//! lock is not in this module.
//!
//! # Order
//! Changes are releases and acquires: an access that sees a change also sees what its thread wrote before. A
//! store (`MPI_REPLACE` without a result) may be overtaken by later loads of its thread, up to the next
//! full fence.
#![cfg_attr(
    not(test),
    expect(dead_code, reason = "windows in shared memory, chapter 12.2.2, are not there yet")
)]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::float::F16;
use super::kernels::{self, Integer, Number};
use super::logical::LogicalKernel;
use super::{OpKernel, Operator};
use crate::mpi::datatype::{Predefined, Unit};
use crate::mpi::fortran::Booleans;
use platform::base::{AtomicInteger, Result, Span};

/// The longest element, in bytes.
const ELEMENT_MAX: usize = 32;

/// Changes the numbers of an array: operand, target, and the place of the old values, which may be empty.
type AtomicLoop = fn(Span, Span, Span);

/// An operation on elements of one predefined datatype.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicKernel {
    operator: Operator,
    unit: Unit,
    /// The loop of atomics, if elements can be such numbers.
    atomic: Option<AtomicLoop>,
    /// The loop under a lock.
    plain: OpKernel,
    /// Replaces both for LOGICALs whose values are not those of C.
    logical: Option<LogicalKernel>,
}

/// Whether elements of an array are changed by atomics of the processor. Otherwise the caller holds the
/// lock of the target.
#[inline]
pub(crate) fn is_lock_free(unit: Unit, target: Span) -> bool {
    is_number(unit) && target.address() & (unit.size() - 1) == 0
}

/// Whether an element is one number that the processor has atomics for.
#[inline]
fn is_number(unit: Unit) -> bool {
    use Unit::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(unit, I8 | U8 | I16 | U16 | I32 | U32 | I64 | U64 | F16 | F32 | F64)
}

impl AtomicKernel {
    /// The operation on elements of `entry`, with Fortran's truth values if they are known.
    ///
    /// # Errors
    /// `Op` if the standard does not define this operation for the datatype (§12.3.4).
    pub(crate) fn new(
        operator: Operator, entry: &Predefined, booleans: Option<Booleans>,
    ) -> Result<Self> {
        let unit = entry.unit;
        let plain = operator.kernel(entry).ok_or_else(|| operator.not_for(entry.title()))?;
        let own = booleans.filter(|booleans| !booleans.are_those_of_c());
        let logical = own.and_then(|own| LogicalKernel::find(operator, entry, own));
        let atomic = if is_number(unit) { atomic_loop(operator, unit) } else { None };
        Ok(Self { operator, unit, atomic, plain, logical })
    }

    /// [`is_lock_free`] for its elements.
    #[inline]
    pub(crate) fn is_lock_free(&self, target: Span) -> bool {
        is_lock_free(self.unit, target)
    }

    /// Whether the elements of the operand are used: not for `MPI_NO_OP`.
    #[inline]
    pub(crate) fn has_operand(&self) -> bool {
        self.operator != Operator::NoOp
    }

    /// Computes `target = operand op target` for packed elements, each atomically unless the caller holds
    /// a lock. `old` gets the elements that were there, or is empty; `operand` is empty for an operation
    /// without one.
    ///
    /// # Panics
    /// If the lengths differ or are not a whole number of elements.
    #[inline]
    pub(crate) fn apply(&self, operand: Span, target: Span, old: Span) {
        match (self.atomic, self.logical) {
            (Some(atomic), None) if self.is_lock_free(target) => atomic(operand, target, old),
            (_, Some(logical)) if self.is_lock_free(target) => {
                atomic_logical(logical, operand, target, old);
            }
            _ => self.apply_locked(operand, target, old),
        }
    }

    #[cfg(test)]
    pub(crate) fn has_atomic_loop(&self) -> bool {
        self.atomic.is_some()
    }

    fn apply_locked(&self, operand: Span, target: Span, old: Span) {
        if !old.is_empty() {
            target.copy_to(old);
        }
        match self.logical {
            _ if !self.has_operand() => {}
            Some(logical) => logical.reduce(operand, target),
            None => self.plain.reduce(operand, target),
        }
    }
}

/// `MPI_Compare_and_swap` on one element: stores `new` if the target equals `compared` bit by bit; `old`
/// gets the element that was there. Atomic if [`is_lock_free`], else the caller holds the lock.
///
/// # Panics
/// If a length is not that of an element.
#[inline]
pub(crate) fn compare_and_swap(unit: Unit, [compared, new]: [Span; 2], target: Span, old: Span) {
    let len = unit.size();
    assert!([compared, new, target, old].iter().all(|span| span.len() == len));
    let is_lock_free = is_lock_free(unit, target);
    match len {
        8 if is_lock_free => compare_exchange::<AtomicU64>(compared, new, target, old),
        4 if is_lock_free => compare_exchange::<AtomicU32>(compared, new, target, old),
        2 if is_lock_free => compare_exchange::<AtomicU16>(compared, new, target, old),
        1 if is_lock_free => compare_exchange::<AtomicU8>(compared, new, target, old),
        _ => {
            let mut buffers = [[0; ELEMENT_MAX]; 2];
            let [expected, present] = &mut buffers;
            compared.read(0, &mut expected[..len]);
            target.read(0, &mut present[..len]);
            old.write(0, &present[..len]);
            if expected[..len] == present[..len] {
                new.copy_to(target);
            }
        }
    }
}

fn compare_exchange<W: Word>(compared: Span, new: Span, target: Span, old: Span) {
    let [compared, new] = [compared, new].map(|span| W::read(span, 0));
    let before = target.with_atomics(|words: &[W]| words[0].compare_exchange(compared, new));
    W::write(old, 0, before);
}

/// An unsigned integer with the atomics of the processor.
trait Word: AtomicInteger + Sized {
    type Bits: Copy + PartialEq;

    /// The element at an index of an array at any address, without atomics.
    fn read(array: Span, index: usize) -> Self::Bits;
    fn write(array: Span, index: usize, bits: Self::Bits);

    fn load(&self) -> Self::Bits;
    fn store(&self, bits: Self::Bits);
    fn swap(&self, bits: Self::Bits) -> Self::Bits;
    fn fetch_add(&self, bits: Self::Bits) -> Self::Bits;
    fn fetch_and(&self, bits: Self::Bits) -> Self::Bits;
    fn fetch_or(&self, bits: Self::Bits) -> Self::Bits;
    fn fetch_xor(&self, bits: Self::Bits) -> Self::Bits;
    /// Stores `new` if the number is `expected`; the number before.
    fn compare_exchange(&self, expected: Self::Bits, new: Self::Bits) -> Self::Bits;
    /// Stores what `new` returns for the number; the number before. An equal number is not stored.
    fn update(&self, new: impl Fn(Self::Bits) -> Self::Bits) -> Self::Bits;
}

macro_rules! words {
    ($($word:ident: $bits:ident;)*) => {$(
        impl Word for $word {
            type Bits = $bits;

            #[inline(always)]
            fn read(array: Span, index: usize) -> $bits {
                let mut bytes = [0; size_of::<$bits>()];
                array.read(index * size_of::<$bits>(), &mut bytes);
                $bits::from_ne_bytes(bytes)
            }

            #[inline(always)]
            fn write(array: Span, index: usize, bits: $bits) {
                array.write(index * size_of::<$bits>(), &bits.to_ne_bytes());
            }

            #[inline(always)]
            fn load(&self) -> $bits {
                self.load(Ordering::Acquire)
            }

            #[inline(always)]
            fn store(&self, bits: $bits) {
                self.store(bits, Ordering::Release);
            }

            #[inline(always)]
            fn swap(&self, bits: $bits) -> $bits {
                self.swap(bits, Ordering::AcqRel)
            }

            #[inline(always)]
            fn fetch_add(&self, bits: $bits) -> $bits {
                self.fetch_add(bits, Ordering::AcqRel)
            }

            #[inline(always)]
            fn fetch_and(&self, bits: $bits) -> $bits {
                self.fetch_and(bits, Ordering::AcqRel)
            }

            #[inline(always)]
            fn fetch_or(&self, bits: $bits) -> $bits {
                self.fetch_or(bits, Ordering::AcqRel)
            }

            #[inline(always)]
            fn fetch_xor(&self, bits: $bits) -> $bits {
                self.fetch_xor(bits, Ordering::AcqRel)
            }

            #[inline(always)]
            fn compare_exchange(&self, expected: $bits, new: $bits) -> $bits {
                match self.compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(before) | Err(before) => before,
                }
            }

            #[inline(always)]
            fn update(&self, new: impl Fn($bits) -> $bits) -> $bits {
                let changed = |now| Some(new(now)).filter(|new| *new != now);
                match self.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed) {
                    Ok(before) | Err(before) => before,
                }
            }
        }
    )*};
}

words! {
    AtomicU8: u8;
    AtomicU16: u16;
    AtomicU32: u32;
    AtomicU64: u64;
}

/// A type whose elements are words.
trait InWord: Copy {
    type Word: Word;
    fn of(bits: <Self::Word as Word>::Bits) -> Self;
    fn bits(self) -> <Self::Word as Word>::Bits;
}

macro_rules! in_words {
    ($($type:ty, $word:ty, $of:expr, $bits:expr;)*) => {$(
        impl InWord for $type {
            type Word = $word;

            #[inline(always)]
            fn of(bits: <$word as Word>::Bits) -> Self {
                $of(bits)
            }

            #[inline(always)]
            fn bits(self) -> <$word as Word>::Bits {
                $bits(self)
            }
        }
    )*};
}

in_words! {
    u8, AtomicU8, |bits| bits, |number| number;
    u16, AtomicU16, |bits| bits, |number| number;
    u32, AtomicU32, |bits| bits, |number| number;
    u64, AtomicU64, |bits| bits, |number| number;
    i8, AtomicU8, |bits| bits as i8, |number| number as u8;
    i16, AtomicU16, |bits| bits as i16, |number| number as u16;
    i32, AtomicU32, |bits| bits as i32, |number| number as u32;
    i64, AtomicU64, |bits| bits as i64, |number| number as u64;
    F16, AtomicU16, F16, |number: F16| number.0;
    f32, AtomicU32, f32::from_bits, f32::to_bits;
    f64, AtomicU64, f64::from_bits, f64::to_bits;
    [u8; 1], AtomicU8, u8::to_ne_bytes, u8::from_ne_bytes;
    [u8; 2], AtomicU16, u16::to_ne_bytes, u16::from_ne_bytes;
    [u8; 4], AtomicU32, u32::to_ne_bytes, u32::from_ne_bytes;
    [u8; 8], AtomicU64, u64::to_ne_bytes, u64::from_ne_bytes;
}

/// Changes every number, with the one of the operand.
#[inline(always)]
fn each<W: Word>(operand: Span, target: Span, old: Span, change: impl Fn(&W, W::Bits) -> W::Bits) {
    assert_eq!(operand.len(), target.len());
    target.with_atomics(|words: &[W]| {
        for (index, word) in words.iter().enumerate() {
            let before = change(word, W::read(operand, index));
            if !old.is_empty() {
                W::write(old, index, before);
            }
        }
    });
}

/// The same by a function of the operand and the number, in a loop until no other change comes between.
#[inline(always)]
fn update<T: InWord>(operand: Span, target: Span, old: Span, combine: impl Fn(T, T) -> T) {
    each::<T::Word>(operand, target, old, |word, operand| {
        word.update(|now| combine(T::of(operand), T::of(now)).bits())
    });
}

fn atomic_logical(kernel: LogicalKernel, operand: Span, target: Span, old: Span) {
    match kernel.element_bytes() {
        1 => update(operand, target, old, |one, other| kernel.combine::<1>(one, other)),
        2 => update(operand, target, old, |one, other| kernel.combine::<2>(one, other)),
        4 => update(operand, target, old, |one, other| kernel.combine::<4>(one, other)),
        _ => update(operand, target, old, |one, other| kernel.combine::<8>(one, other)),
    }
}

fn add<T: InWord>(operand: Span, target: Span, old: Span) {
    each(operand, target, old, T::Word::fetch_add);
}

fn and<T: InWord>(operand: Span, target: Span, old: Span) {
    each(operand, target, old, T::Word::fetch_and);
}

fn or<T: InWord>(operand: Span, target: Span, old: Span) {
    each(operand, target, old, T::Word::fetch_or);
}

fn xor<T: InWord>(operand: Span, target: Span, old: Span) {
    each(operand, target, old, T::Word::fetch_xor);
}

fn replace<T: InWord>(operand: Span, target: Span, old: Span) {
    if !old.is_empty() {
        return each(operand, target, old, T::Word::swap);
    }
    each(operand, target, old, |word: &T::Word, new| {
        word.store(new);
        new
    });
}

fn load<T: InWord>(_: Span, target: Span, old: Span) {
    if old.is_empty() {
        return;
    }
    target.with_atomics(|words: &[T::Word]| {
        for (index, word) in words.iter().enumerate() {
            T::Word::write(old, index, word.load());
        }
    });
}

fn sum<T: InWord + Number>(operand: Span, target: Span, old: Span) {
    update(operand, target, old, kernels::sum::combine::<T>);
}

fn product<T: InWord + Number>(operand: Span, target: Span, old: Span) {
    update(operand, target, old, kernels::product::combine::<T>);
}

fn min<T: InWord + PartialOrd>(operand: Span, target: Span, old: Span) {
    update(operand, target, old, kernels::min::combine::<T>);
}

fn max<T: InWord + PartialOrd>(operand: Span, target: Span, old: Span) {
    update(operand, target, old, kernels::max::combine::<T>);
}

fn logical_and<T: InWord + Integer>(operand: Span, target: Span, old: Span) {
    update(operand, target, old, kernels::logical_and::combine::<T>);
}

fn logical_or<T: InWord + Integer>(operand: Span, target: Span, old: Span) {
    update(operand, target, old, kernels::logical_or::combine::<T>);
}

fn logical_xor<T: InWord + Integer>(operand: Span, target: Span, old: Span) {
    update(operand, target, old, kernels::logical_xor::combine::<T>);
}

/// Selects the loop `$run` for the unit, from the listed types.
macro_rules! loop_for {
    ($unit:expr, $run:ident, $($name:ident: $type:ty,)*) => {
        match $unit {
            $(Unit::$name => Some($run::<$type> as AtomicLoop),)*
            _ => None,
        }
    };
}

macro_rules! integers {
    ($unit:expr, $run:ident) => {
        loop_for!(
            $unit, $run, I8: i8, U8: u8, I16: i16, U16: u16, I32: i32, U32: u32, I64: i64,
            U64: u64,
        )
    };
}

macro_rules! floats {
    ($unit:expr, $run:ident) => {
        loop_for!($unit, $run, F16: F16, F32: f32, F64: f64,)
    };
}

/// The loop of an operation; `None` if it is not defined for these numbers.
fn atomic_loop(operator: Operator, unit: Unit) -> Option<AtomicLoop> {
    match operator {
        Operator::Sum => integers!(unit, add).or_else(|| floats!(unit, sum)),
        Operator::Prod => integers!(unit, product).or_else(|| floats!(unit, product)),
        Operator::Min => integers!(unit, min).or_else(|| floats!(unit, min)),
        Operator::Max => integers!(unit, max).or_else(|| floats!(unit, max)),
        Operator::Band => integers!(unit, and),
        Operator::Bor => integers!(unit, or),
        Operator::Bxor => integers!(unit, xor),
        Operator::Land => integers!(unit, logical_and),
        Operator::Lor => integers!(unit, logical_or),
        Operator::Lxor => integers!(unit, logical_xor),
        Operator::Minloc | Operator::Maxloc => None,
        Operator::Replace => integers!(unit, replace).or_else(|| floats!(unit, replace)),
        Operator::NoOp => integers!(unit, load).or_else(|| floats!(unit, load)),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::engine::memory::OwnedBytes;
    use crate::mpi::op::tests::encoded;
    use platform::base::{ErrorClass, Random};

    const THREADS: usize = 4;

    fn entry(name: &str) -> &'static Predefined {
        Predefined::all().iter().find(|entry| entry.name == name).unwrap()
    }

    fn owned(bytes: &[u8]) -> OwnedBytes {
        OwnedBytes::from(Box::from(bytes))
    }

    /// An array of `len` bytes whose address is `shift` more than a multiple of 64.
    fn shifted(memory: &OwnedBytes, shift: usize, len: usize) -> Span {
        let start = memory.span().address().next_multiple_of(64) - memory.span().address();
        memory.span().part(start + shift, len)
    }

    /// Few distinct numbers, so that numbers are often equal, true, and false.
    fn drawn(random: &mut Random, len: usize) -> Vec<u8> {
        (0..len).map(|_| [0, 0, 0, 1, 0x3c, 0x40, 0xbf][random.below(7) as usize]).collect()
    }

    fn read(span: Span) -> Vec<u8> {
        let mut bytes = Vec::new();
        span.append_to(&mut bytes);
        bytes
    }

    fn check_on(kernel: AtomicKernel, operand: &[u8], before: &[u8], after: &[u8], shift: usize) {
        let memory = OwnedBytes::zeroed(before.len() + 128);
        let target = shifted(&memory, shift, before.len());
        let (operand, old) = (owned(operand), OwnedBytes::zeroed(before.len()));
        let operand = if kernel.has_operand() { operand.span() } else { Span::EMPTY };
        for old in [old.span(), Span::EMPTY] {
            target.write(0, before);
            kernel.apply(operand, target, old);
            assert_eq!(read(target), after, "{kernel:?} at {shift}");
            assert!(old.is_empty() || read(old) == before, "old of {kernel:?} at {shift}");
        }
        let len = before.len();
        let outside = [&memory.as_slice()[..target.address() - memory.span().address()], {
            &memory.as_slice()[target.address() - memory.span().address() + len..]
        }];
        assert!(outside.concat().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn atomic_loops_do_what_the_loops_for_one_thread_do() {
        let mut random = Random::new(5);
        let (mut lock_free, mut locked) = (0, 0);
        for entry in Predefined::all() {
            for operator in Operator::ALL {
                let Some(plain) = operator.kernel(entry) else {
                    let error = AtomicKernel::new(*operator, entry, None).unwrap_err();
                    assert_eq!(error.code.0, ErrorClass::Op as i32);
                    let why = format!("{} is not defined for {}", operator.name(), entry.name);
                    assert_eq!(error.why, why);
                    continue;
                };
                let kernel = AtomicKernel::new(*operator, entry, None).unwrap();
                for elements in [0, 1, 5] {
                    let len = elements * entry.unit.size();
                    let (operand, before) = (drawn(&mut random, len), drawn(&mut random, len));
                    let (from, into) = (owned(&operand), owned(&before));
                    plain.reduce(from.span(), into.span());
                    for shift in [0, 1, 2, 4, 8] {
                        check_on(kernel, &operand, &before, into.as_slice(), shift);
                    }
                }
                let memory = OwnedBytes::zeroed(256);
                let is_lock_free = |shift| kernel.is_lock_free(shifted(&memory, shift, 64));
                lock_free += usize::from(is_lock_free(0));
                locked += usize::from(!is_lock_free(0));
                let size = entry.unit.size();
                assert_eq!(is_lock_free(size), is_lock_free(0), "{operator:?} {entry:?}");
                assert!(size == 1 || !is_lock_free(size / 2), "{operator:?} {entry:?}");
                assert_eq!(kernel.has_atomic_loop(), is_lock_free(0), "{operator:?} {entry:?}");
            }
        }
        assert_eq!((lock_free, locked), (378, 110), "pairs of operation and type");
    }

    #[test]
    fn what_the_processor_changes_atomically_depends_on_the_representation_only() {
        let memory = OwnedBytes::zeroed(256);
        let at = |name: &str| is_lock_free(entry(name).unit, shifted(&memory, 0, 32));
        for name in ["MPI_CHAR", "MPI_BYTE", "MPI_SHORT", "MPI_INT", "MPI_AINT", "MPI_REAL2"] {
            assert!(at(name), "{name}");
        }
        for name in ["MPI_2INT", "MPI_C_COMPLEX", "MPI_LONG_DOUBLE", "MPI_LOGICAL16"] {
            assert!(!at(name), "{name}");
        }
    }

    #[test]
    fn truth_values_of_fortran_are_combined() {
        let booleans = Booleans::new(&[0xff; 4], &[0; 4]);
        for name in ["MPI_LOGICAL1", "MPI_LOGICAL2", "MPI_LOGICAL", "MPI_LOGICAL8", "MPI_LOGICAL16"]
        {
            let size = entry(name).unit.size();
            let numbers = |truths: [bool; 4]| -> Vec<u8> {
                truths.iter().flat_map(|is| vec![if *is { 0xff } else { 0 }; size]).collect()
            };
            let (operand, before) = ([true, true, false, false], [true, false, true, false]);
            for (operator, after) in [
                (Operator::Land, [true, false, false, false]),
                (Operator::Lor, [true, true, true, false]),
                (Operator::Lxor, [false, true, true, false]),
                (Operator::Replace, operand),
            ] {
                let kernel = AtomicKernel::new(operator, entry(name), Some(booleans)).unwrap();
                for shift in [0, 3] {
                    check_on(kernel, &numbers(operand), &numbers(before), &numbers(after), shift);
                }
            }
        }
    }

    /// Runs `body` on several threads, each with its number and an array of `len` bytes that they share.
    fn together(len: usize, body: impl Fn(usize, Span) + Sync) -> Vec<u8> {
        let memory = OwnedBytes::zeroed(len + 64);
        let target = shifted(&memory, 0, len);
        thread::scope(|scope| {
            for number in 0..THREADS {
                let body = &body;
                scope.spawn(move || body(number, target));
            }
        });
        read(target)
    }

    /// Repetitions of each thread: sums up to 200 are exact in each type.
    const REPETITIONS: usize = 25;

    #[test]
    fn threads_that_add_together_lose_nothing() {
        for entry in Predefined::all().iter().filter(|entry| Operator::Sum.kernel(entry).is_some())
        {
            let unit = entry.unit;
            let memory = OwnedBytes::zeroed(128);
            if !is_lock_free(unit, shifted(&memory, 0, 32)) {
                continue;
            }
            let kernel = AtomicKernel::new(Operator::Sum, entry, None).unwrap();
            let numbers = |number| encoded(unit, [number, 0]).repeat(3);
            let sum = together(3 * unit.size(), |_, target| {
                let operand = owned(&numbers(1));
                for _ in 0..REPETITIONS {
                    kernel.apply(operand.span(), target, Span::EMPTY);
                }
            });
            assert_eq!(sum, numbers((THREADS * REPETITIONS) as i64), "{}", entry.name);
        }
    }

    /// Different operations on one number: each thread changes digits of its own.
    #[test]
    fn threads_with_different_operations_lose_nothing() {
        let uint = entry("MPI_UINT32_T");
        let kernel = |operator| AtomicKernel::new(operator, uint, None).unwrap();
        let [add, or, xor] = [Operator::Sum, Operator::Bor, Operator::Bxor].map(kernel);
        for _ in 0..20 {
            let sum = together(4, |thread, target| {
                let apply = |kernel: AtomicKernel, number: u32| {
                    let operand = owned(&number.to_ne_bytes());
                    kernel.apply(operand.span(), target, Span::EMPTY);
                };
                for repetition in 0..64 {
                    match thread {
                        0 => apply(add, 0x100_0000),
                        1 => apply(or, 1 << (repetition % 8)),
                        2 => apply(xor, 0x1ff00),
                        _ => apply(xor, 1 << 20),
                    }
                }
            });
            assert_eq!(u32::from_ne_bytes(sum.try_into().unwrap()), 0x4000_00ff);
        }
    }

    #[test]
    fn each_number_of_a_counter_is_fetched_once() {
        let kernel = AtomicKernel::new(Operator::Sum, entry("MPI_INT64_T"), None).unwrap();
        let seen: Vec<_> = (0..THREADS * REPETITIONS).map(|_| OwnedBytes::zeroed(8)).collect();
        together(8, |thread, target| {
            let one = owned(&1u64.to_ne_bytes());
            for place in &seen[thread * REPETITIONS..][..REPETITIONS] {
                kernel.apply(one.span(), target, place.span());
            }
        });
        let number = |bytes: &OwnedBytes| u64::from_ne_bytes(bytes.as_slice().try_into().unwrap());
        let mut numbers: Vec<_> = seen.iter().map(number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..(THREADS * REPETITIONS) as u64));
    }

    #[test]
    fn compare_and_swap_stores_if_equal_and_returns_the_old_element() {
        for name in ["MPI_BYTE", "MPI_SHORT", "MPI_INT", "MPI_INT64_T", "MPI_INTEGER16"] {
            let unit = entry(name).unit;
            let numbers = [3, 4, 5].map(|number| owned(&encoded(unit, [number, 0])));
            let [three, four, five] = [0, 1, 2].map(|index| numbers[index].span());
            let (memory, old) = (OwnedBytes::zeroed(256), OwnedBytes::zeroed(unit.size()));
            for shift in [0, 1] {
                let target = shifted(&memory, shift, unit.size());
                assert_eq!(
                    is_lock_free(unit, target),
                    unit.size() < 16 && (shift == 0 || unit.size() == 1)
                );
                three.copy_to(target);
                compare_and_swap(unit, [four, five], target, old.span());
                assert_eq!((read(old.span()), read(target)), (read(three), read(three)), "{name}");
                compare_and_swap(unit, [three, five], target, old.span());
                assert_eq!((read(old.span()), read(target)), (read(three), read(five)), "{name}");
            }
        }
    }

    #[test]
    fn threads_that_compare_and_swap_exclude_each_other() {
        for name in ["MPI_BYTE", "MPI_SHORT", "MPI_INT", "MPI_INT64_T"] {
            let unit = entry(name).unit;
            let encoded = |number: usize| owned(&encoded(unit, [number as i64, 0]));
            let sum = together(unit.size(), |_, target| {
                let old = OwnedBytes::zeroed(unit.size());
                for _ in 0..REPETITIONS {
                    let mut expected = 0;
                    loop {
                        let numbers = [encoded(expected), encoded(expected + 1)];
                        let [compared, new] = [0, 1].map(|index| numbers[index].span());
                        compare_and_swap(unit, [compared, new], target, old.span());
                        if read(old.span()) == read(compared) {
                            break;
                        }
                        expected = usize::from(old.as_slice()[0]);
                    }
                }
            });
            assert_eq!(sum, encoded(THREADS * REPETITIONS).as_slice(), "{name}");
        }
    }
}
