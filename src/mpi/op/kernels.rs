//! Loops of the predefined operations over arrays of one type (MPI 5.0 §6.9.2).
//!
//! A [`OpKernel`] computes `into[i] = from[i] op into[i]` on packed elements at any address: a pair
//! is its value and then its index, without the padding of the C structure. Handles and the
//! legality of operations are in `mpi::op`, which selects the loop for the processor's registers.
//! Integers wrap around, `MPI_MIN` and `MPI_MAX` compare as in C, logical results are 0 and 1.
#![allow(unsafe_code)]

use std::ops::{BitAnd, BitOr, BitXor};
use std::sync::Arc;

use super::Operator;
use super::float::{F16, F80, F128};
use super::pairs::packed;
use crate::engine::schedules::reduction;
use crate::mpi::datatype::Unit;
use platform::base::Span;

/// Computes `into[i] = from[i] op into[i]` for `elements` elements.
///
/// # Safety
/// Both arrays are readable, `into` is writable, and no other thread accesses them during the call.
pub(crate) type Loop = unsafe fn(from: *const u8, into: *mut u8, elements: usize);

/// Selects the loop `$run` for the unit and the width in `$unit`, from the listed types.
macro_rules! loop_for {
    ($unit:expr, $run:ident, $($(#[$attribute:meta])? $name:ident: $type:ty,)*) => {
        match $unit.0 {
            $($(#[$attribute])? Unit::$name => Some($run::of::<$type>($unit.1)),)*
            _ => None,
        }
    };
}

macro_rules! integers {
    ($unit:expr, $run:ident $(, $(#[$attribute:meta])? $name:ident: $type:ty)*) => {
        loop_for!(
            $unit, $run, I8: i8, U8: u8, I16: i16, U16: u16, I32: i32, U32: u32, I64: i64,
            U64: u64, I128: i128, $($(#[$attribute])? $name: $type,)*
        )
    };
}

macro_rules! reals {
    ($unit:expr, $run:ident $(, $(#[$attribute:meta])? $name:ident: $type:ty)*) => {
        integers!(
            $unit, $run, F16: F16, F32: f32, F64: f64, F128: F128,
            #[cfg(target_arch = "x86_64")] F80: F80 $(, $(#[$attribute])? $name: $type)*
        )
    };
}

macro_rules! numbers {
    ($unit:expr, $run:ident) => {
        reals!(
            $unit, $run, ComplexF16: Complex<F16>, ComplexF32: Complex<f32>,
            ComplexF64: Complex<f64>, ComplexF128: Complex<F128>,
            #[cfg(target_arch = "x86_64")] ComplexF80: Complex<F80>
        )
    };
}

macro_rules! pairs {
    ($unit:expr, $run:ident) => {
        loop_for!(
            $unit, $run, F32I32: Pair<f32, i32>, F64I32: Pair<f64, i32>, I64I32: Pair<i64, i32>,
            I32I32: Pair<i32, i32>, I16I32: Pair<i16, i32>, F80I32: Pair<F80, i32>,
            F32F32: Pair<f32, f32>, F64F64: Pair<f64, f64>,
        )
    };
}

/// Loop for one operation on one type.
#[derive(Clone, Copy, Debug)]
pub struct OpKernel {
    run: Loop,
    /// Size of a packed element in bytes.
    unit: usize,
}

impl OpKernel {
    /// The loop of `operator` on elements of this representation, if the operation is defined for
    /// them.
    pub(crate) fn find(operator: Operator, unit: Unit) -> Option<Self> {
        Self::of_width(operator, unit, Width::detect())
    }

    /// [`OpKernel::find`] for a processor with registers of this width.
    pub(crate) fn of_width(operator: Operator, unit: Unit, width: Width) -> Option<Self> {
        let elements = (unit, width);
        let run = match operator {
            Operator::Sum => numbers!(elements, sum),
            Operator::Prod => numbers!(elements, product),
            Operator::Min => reals!(elements, min),
            Operator::Max => reals!(elements, max),
            Operator::Band => integers!(elements, and),
            Operator::Bor => integers!(elements, or),
            Operator::Bxor => integers!(elements, xor),
            Operator::Land => integers!(elements, logical_and),
            Operator::Lor => integers!(elements, logical_or),
            Operator::Lxor => integers!(elements, logical_xor),
            Operator::Minloc => pairs!(elements, min_location).or_else(|| packed(operator, unit)),
            Operator::Maxloc => pairs!(elements, max_location).or_else(|| packed(operator, unit)),
            Operator::Replace => replace_of(unit, width),
            Operator::NoOp => Some(no_op as Loop),
        };
        Some(Self { run: run?, unit: unit.size() })
    }

    /// Computes `into = from op into`, element by element.
    ///
    /// # Panics
    /// If the lengths differ or are not a whole number of elements.
    #[inline]
    pub fn reduce(self, from: Span, into: Span) {
        assert_eq!(from.len(), into.len());
        // One element is the most frequent number, and this avoids a slow division.
        let elements = if from.len() == self.unit { 1 } else { from.len() / self.unit };
        assert_eq!(elements * self.unit, from.len());
        // SAFETY: both spans were made by `Span::new`, `into` for writing, and `find` pairs the
        // loop with the size of its elements, so the loop stays inside the spans.
        unsafe { (self.run)(from.address() as *const u8, into.address() as *mut u8, elements) }
    }

    /// The same kernel as a function for the engine.
    pub(crate) fn shared(self) -> reduction::ReductionKernel {
        Arc::new(move |from, into| self.reduce(from, into))
    }
}

/// Applies `f` to every pair of elements.
///
/// # Safety
/// The requirements of [`Loop`] for elements of `T`, which has no invalid values.
#[inline(always)]
unsafe fn each<T: Copy>(from: *const u8, into: *mut u8, elements: usize, f: impl Fn(T, T) -> T) {
    let (from, into) = (from.cast::<T>(), into.cast::<T>());
    for index in 0..elements {
        // SAFETY: `index` is below the number of elements that the caller promises.
        unsafe {
            let result = f(from.add(index).read_unaligned(), into.add(index).read_unaligned());
            into.add(index).write_unaligned(result);
        }
    }
}

/// Defines the loop `$name` for each `T: $bound`, as a module: `of` returns the loop for registers
/// of a width, which the processor must have. All loops give bitwise equal results.
macro_rules! loops {
    ($($name:ident, $bound:path, $apply:expr;)*) => {$(
        mod $name {
            use super::*;

            pub(crate) fn of<T: Copy + $bound>(width: Width) -> Loop {
                match width {
                    Width::Bits128 => any::<T>,
                    #[cfg(target_arch = "x86_64")]
                    Width::Bits256 => avx2::<T>,
                    #[cfg(target_arch = "x86_64")]
                    Width::Bits512 => avx512::<T>,
                }
            }

            unsafe fn any<T: Copy + $bound>(from: *const u8, into: *mut u8, elements: usize) {
                // SAFETY: the caller's promise.
                unsafe { each::<T>(from, into, elements, $apply) }
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            unsafe fn avx2<T: Copy + $bound>(from: *const u8, into: *mut u8, elements: usize) {
                // SAFETY: the caller's promise.
                unsafe { each::<T>(from, into, elements, $apply) }
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn avx512<T: Copy + $bound>(from: *const u8, into: *mut u8, elements: usize) {
                // SAFETY: the caller's promise.
                unsafe { each::<T>(from, into, elements, $apply) }
            }
        }
    )*};
}

/// Register width of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Width {
    /// Part of every processor: SSE2 of x86-64, NEON of aarch64.
    Bits128,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Bits256,
    /// AVX-512 F, BW, DQ and VL: common to all processors with 512-bit integer arithmetic.
    #[cfg(target_arch = "x86_64")]
    Bits512,
}

impl Width {
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn detect() -> Self {
        Self::Bits128
    }

    /// The widest of this processor; the standard library caches the detection.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn detect() -> Self {
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if wide {
            Self::Bits512
        } else if is_x86_feature_detected!("avx2") {
            Self::Bits256
        } else {
            Self::Bits128
        }
    }
}

loops! {
    sum, Number, |from, into| from.sum(into);
    product, Number, |from, into| from.product(into);
    min, PartialOrd, |from, into| if from < into { from } else { into };
    max, PartialOrd, |from, into| if from > into { from } else { into };
    and, Integer, |from, into| from & into;
    or, Integer, |from, into| from | into;
    xor, Integer, |from, into| from ^ into;
    logical_and, Integer, |from, into| T::of(from.truth() & into.truth());
    logical_or, Integer, |from, into| T::of(from.truth() | into.truth());
    logical_xor, Integer, |from, into| T::of(from.truth() ^ into.truth());
    min_location, Located, |from, into| from.nearer(into, |one, other| one < other);
    max_location, Located, |from, into| from.nearer(into, |one, other| one > other);
    replace, Copy, |from, _| from;
}

unsafe fn no_op(_: *const u8, _: *mut u8, _: usize) {}

fn replace_of(unit: Unit, width: Width) -> Option<Loop> {
    Some(match unit.size() {
        1 => replace::of::<[u8; 1]>(width),
        2 => replace::of::<[u8; 2]>(width),
        3 => replace::of::<[u8; 3]>(width),
        4 => replace::of::<[u8; 4]>(width),
        5 => replace::of::<[u8; 5]>(width),
        6 => replace::of::<[u8; 6]>(width),
        8 => replace::of::<[u8; 8]>(width),
        9 => replace::of::<[u8; 9]>(width),
        10 => replace::of::<[u8; 10]>(width),
        12 => replace::of::<[u8; 12]>(width),
        16 => replace::of::<[u8; 16]>(width),
        17 => replace::of::<[u8; 17]>(width),
        18 => replace::of::<[u8; 18]>(width),
        20 => replace::of::<[u8; 20]>(width),
        24 => replace::of::<[u8; 24]>(width),
        32 => replace::of::<[u8; 32]>(width),
        _ => return None,
    })
}

/// Types with addition and multiplication.
pub(super) trait Number: Copy {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
}

/// Types of the parts of complex numbers.
pub(super) trait Real: Number {
    fn difference(self, other: Self) -> Self;
}

/// Types with bit operations; any value except 0 is true.
trait Integer: BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Sized {
    fn truth(self) -> bool;
    fn of(truth: bool) -> Self;
}

macro_rules! primitive_integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }

        impl Integer for $type {
            #[inline(always)]
            fn truth(self) -> bool {
                self != 0
            }

            #[inline(always)]
            fn of(truth: bool) -> Self {
                truth.into()
            }
        }
    )*};
}

primitive_integers!(i8 u8 i16 u16 i32 u32 i64 u64 i128);

/// Implements the arithmetic of real numbers with three functions.
macro_rules! real_numbers {
    ($($type:ty, $sum:expr, $product:expr, $difference:expr;)*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                $sum(self, other)
            }

            #[inline(always)]
            fn product(self, other: Self) -> Self {
                $product(self, other)
            }
        }

        impl Real for $type {
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                $difference(self, other)
            }
        }
    )*};
}

real_numbers! {
    f32, |a, b| a + b, |a, b| a * b, |a, b| a - b;
    f64, |a, b| a + b, |a, b| a * b, |a, b| a - b;
    F16, F16::sum, F16::product, F16::difference;
    F128, F128::sum, F128::product, F128::difference;
}

/// A complex number in the layout of C and Fortran.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Complex<T> {
    real: T,
    imaginary: T,
}

impl<T: Real> Number for Complex<T> {
    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        let (a, b, c, d) = (self.real, self.imaginary, other.real, other.imaginary);
        Self { real: a.sum(c), imaginary: b.sum(d) }
    }

    #[inline(always)]
    fn product(self, other: Self) -> Self {
        let (a, b, c, d) = (self.real, self.imaginary, other.real, other.imaginary);
        Self {
            real: a.product(c).difference(b.product(d)),
            imaginary: a.product(d).sum(b.product(c)),
        }
    }
}

/// A value and its index, packed.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Pair<V, I> {
    value: V,
    index: I,
}

/// Elements of `MPI_MINLOC` and `MPI_MAXLOC`.
trait Located: Copy {
    type Value: Copy + PartialOrd;

    /// The element whose value is `before` the other's; of equal values, the lower index.
    fn nearer(self, other: Self, before: impl Fn(Self::Value, Self::Value) -> bool) -> Self;
}

impl<V: Copy + PartialOrd, I: Copy + PartialOrd> Located for Pair<V, I> {
    type Value = V;

    #[inline(always)]
    fn nearer(self, other: Self, before: impl Fn(V, V) -> bool) -> Self {
        let (one, two) = (self.value, other.value);
        let (index, other_index) = (self.index, other.index);
        let tie = one == two && index < other_index;
        if before(one, two) || tie { self } else { other }
    }
}
