//! "external32", the portable representation of data (MPI 5.0 §14.5.2).
//!
//! Numbers are packed without padding, in big-endian order. Integers are two's complement,
//! floating-point numbers IEEE binary16 to binary128. The section has tables of the lengths; these
//! differ from the native lengths:
//!
//! ```text
//! MPI_LONG, MPI_UNSIGNED_LONG    4 bytes, the lower half of 8 native bytes
//! MPI_WCHAR                      2 bytes, the lower half of 4 native bytes
//! MPI_LONG_DOUBLE                binary128, for the x87 format in 16 native bytes
//! ```
//!
//! A pair of `MPI_MINLOC` is not in the tables: it is its value and then its index.
//!
//! Conversion is between two packed streams, native and external. The [`Memory`] has the addresses of
//! the native bytes, the [`Signature`] their types.

use std::convert::Infallible;
use std::ops::ControlFlow;

use super::signature::Signature;
use super::{Datatype, Predefined, Unit};
use crate::engine::memory::Memory;

/// Bytes of each stream that are buffered at a time.
const WINDOW_BYTES: usize = 4096;

/// Numbers converted at a time; so many of the longest fit into a window.
pub(super) const BATCH: usize = 128;

/// External representation of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExternalFormat {
    /// The same bytes in big-endian order.
    Swapped(usize),
    /// A byte that is 0 or 1.
    Boolean,
    /// 4 of 8 bytes, with a sign.
    Long,
    /// 4 of 8 bytes.
    UnsignedLong,
    /// 2 of 4 bytes.
    Wide,
    /// binary128 for the x87's format.
    Extended,
}

impl ExternalFormat {
    /// The number `unit` of a predefined datatype.
    fn new(entry: &Predefined, unit: Unit) -> Self {
        match (entry.name, unit) {
            (_, Unit::F80) => Self::Extended,
            ("MPI_LONG", _) => Self::Long,
            ("MPI_UNSIGNED_LONG", _) => Self::UnsignedLong,
            ("MPI_WCHAR", _) => Self::Wide,
            ("MPI_C_BOOL" | "MPI_CXX_BOOL", _) => Self::Boolean,
            _ => Self::Swapped(unit.size()),
        }
    }

    /// The numbers of an element.
    pub(super) fn of(entry: &Predefined) -> (Self, Option<Self>) {
        let number = |unit| Self::new(entry, unit);
        let twice = |unit| (number(unit), Some(number(unit)));
        if let Some([value, index]) = entry.members() {
            return (Self::new(value, value.unit), Some(Self::new(index, index.unit)));
        }
        match entry.unit {
            Unit::ComplexF16 => twice(Unit::F16),
            Unit::ComplexF32 => twice(Unit::F32),
            Unit::ComplexF64 => twice(Unit::F64),
            Unit::ComplexF80 => twice(Unit::F80),
            Unit::ComplexF128 => twice(Unit::F128),
            unit => (number(unit), None),
        }
    }

    /// Native bytes.
    pub(super) fn native(self) -> usize {
        match self {
            Self::Swapped(len) => len,
            Self::Boolean => 1,
            Self::Long | Self::UnsignedLong => 8,
            Self::Wide => 4,
            Self::Extended => 16,
        }
    }

    /// External bytes.
    pub(super) fn external(self) -> usize {
        match self {
            Self::Swapped(len) => len,
            Self::Boolean => 1,
            Self::Long | Self::UnsignedLong => 4,
            Self::Wide => 2,
            Self::Extended => 16,
        }
    }

    /// Encodes one number. Numbers that are too large lose their upper bytes (§14.5.2, advice to
    /// implementors).
    pub(super) fn encode(self, native: &[u8], external: &mut [u8]) {
        let len = external.len();
        match self {
            Self::Extended => external.copy_from_slice(&to_binary128(native).to_be_bytes()),
            Self::Swapped(_) | Self::Boolean | Self::Long | Self::UnsignedLong | Self::Wide => {
                external.copy_from_slice(&native[..len]);
                external.reverse();
            }
        }
    }

    /// Decodes one number.
    pub(super) fn decode(self, external: &[u8], native: &mut [u8]) {
        let len = external.len();
        match self {
            Self::Extended => native.copy_from_slice(&from_binary128(external)),
            Self::Boolean => native[0] = u8::from(external[0] != 0),
            Self::Swapped(_) | Self::Long | Self::UnsignedLong | Self::Wide => {
                let negative = self == Self::Long && external[0] >= 0x80;
                native[..len].copy_from_slice(external);
                native[..len].reverse();
                native[len..].fill(if negative { 0xff } else { 0 });
            }
        }
    }
}

/// External bytes of one element.
pub(crate) fn element_size(entry: &Predefined) -> usize {
    let (first, second) = ExternalFormat::of(entry);
    first.external() + second.map_or(0, ExternalFormat::external)
}

/// Packs `count` elements of `datatype` as external32; `packed` must have their external size.
pub fn pack(datatype: &Datatype, count: usize, items: &Memory, packed: &mut Memory) {
    let (mut source, mut sink) = (PackedReader::new(items), PackedWriter::new(packed));
    for_each_batch(datatype, count, |number, count| {
        let (native, external) = (number.native(), number.external());
        let from = source.read(native * count).chunks_exact(native);
        let to = sink.reserve(external * count).chunks_exact_mut(external);
        from.zip(to).for_each(|(from, to)| number.encode(from, to));
    });
    sink.flush();
}

/// Unpacks `count` elements of `datatype` from external32; `packed` must have their external size.
pub fn unpack(datatype: &Datatype, count: usize, packed: &Memory, items: &mut Memory) {
    let (mut source, mut sink) = (PackedReader::new(packed), PackedWriter::new(items));
    for_each_batch(datatype, count, |number, count| {
        let (native, external) = (number.native(), number.external());
        let from = source.read(external * count).chunks_exact(external);
        let to = sink.reserve(native * count).chunks_exact_mut(native);
        from.zip(to).for_each(|(from, to)| number.decode(from, to));
    });
    sink.flush();
}

/// Calls `each` for all numbers of `count` elements in packed order, with runs of at most [`BATCH`]
/// numbers of one format.
fn for_each_batch(datatype: &Datatype, count: usize, mut each: impl FnMut(ExternalFormat, usize)) {
    let end = for_each_run(Signature::new(datatype, count), |format, count| {
        each(format, count);
        ControlFlow::<Infallible>::Continue(())
    });
    debug_assert!(end.is_continue());
}

/// Calls `each` for the numbers of a signature in packed order, with runs of at most [`BATCH`] numbers of
/// one format, until it breaks.
pub(super) fn for_each_run<B>(
    signature: Signature<'_>, mut each: impl FnMut(ExternalFormat, usize) -> ControlFlow<B>,
) -> ControlFlow<B> {
    for (entry, count) in signature {
        let (first, second) = ExternalFormat::of(entry);
        if let Some(second) = second.filter(|second| *second != first) {
            for _ in 0..count {
                each(first, 1)?;
                each(second, 1)?;
            }
            continue;
        }
        let mut left = if second.is_some() { count * 2 } else { count };
        while left > 0 {
            let some = left.min(BATCH);
            each(first, some)?;
            left -= some;
        }
    }
    ControlFlow::Continue(())
}

/// Reads packed bytes of a memory in order.
struct PackedReader<'a> {
    memory: &'a Memory,
    /// End of the packed bytes that have been in the window.
    end: usize,
    window: Vec<u8>,
    /// Number of bytes of the window that were read.
    taken: usize,
}

impl<'a> PackedReader<'a> {
    fn new(memory: &'a Memory) -> Self {
        Self { memory, end: 0, window: Vec::with_capacity(WINDOW_BYTES), taken: 0 }
    }

    /// The next `len` bytes, at most a window.
    fn read(&mut self, len: usize) -> &[u8] {
        if self.window.len() - self.taken < len {
            self.window.drain(..self.taken);
            self.taken = 0;
            let kept = self.window.len();
            let more = (WINDOW_BYTES - kept).min(self.memory.len() - self.end);
            self.window.resize(kept + more, 0);
            self.memory.pack(self.end, &mut self.window[kept..]);
            self.end += more;
        }
        self.taken += len;
        &self.window[self.taken - len..self.taken]
    }
}

/// Writes packed bytes of a memory in order.
struct PackedWriter<'a> {
    memory: &'a mut Memory,
    /// End of the packed bytes that were written.
    end: usize,
    window: Vec<u8>,
}

impl<'a> PackedWriter<'a> {
    fn new(memory: &'a mut Memory) -> Self {
        Self { memory, end: 0, window: Vec::with_capacity(WINDOW_BYTES) }
    }

    /// The next `len` bytes, at most a window, which the caller fills.
    fn reserve(&mut self, len: usize) -> &mut [u8] {
        if self.window.len() + len > WINDOW_BYTES {
            self.flush();
        }
        let start = self.window.len();
        self.window.resize(start + len, 0);
        &mut self.window[start..]
    }

    fn flush(&mut self) {
        self.memory.unpack(self.end, &self.window);
        self.end += self.window.len();
        self.window.clear();
    }
}

/// Number of fraction bits of binary128 beyond those of the x87 format.
const NARROWED_BITS: u32 = 112 - 63;
const EXPONENT_MAX: u128 = 0x7fff;
/// The leading bit of the x87 significand, which is implicit in binary128.
const LEADING: u128 = 1 << 63;

/// The number as binary128, exact. Invalid operands of the x87 become NaN.
fn to_binary128(native: &[u8]) -> u128 {
    let byte = |at: usize| u128::from(native[at]);
    let upper = byte(9) << 8 | byte(8);
    let significand = (0..8).rev().fold(0, |bits, at| bits << 8 | byte(at));
    let (sign, exponent, leads) = (upper >> 15, upper & EXPONENT_MAX, significand & LEADING != 0);
    let fraction = (significand & !LEADING) << NARROWED_BITS;
    let magnitude = match exponent {
        // With the leading bit set, the number is normal with the smallest exponent.
        0 => u128::from(leads) << 112 | fraction,
        _ if !leads => EXPONENT_MAX << 112 | 1 << 111,
        _ => exponent << 112 | fraction,
    };
    sign << 127 | magnitude
}

/// The nearest number in the x87 format, ties to even, with zeros as padding.
fn from_binary128(external: &[u8]) -> [u8; 16] {
    let bits = external.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    let (sign, fraction) = (bits >> 127, bits & ((1 << 112) - 1));
    let mut exponent = bits >> 112 & EXPONENT_MAX;
    let significand = if exponent == EXPONENT_MAX {
        let payload = fraction >> NARROWED_BITS;
        let quiet = if fraction != 0 && payload == 0 { LEADING >> 1 } else { 0 };
        LEADING | payload | quiet
    } else {
        let whole = u128::from(exponent != 0) << 112 | fraction;
        let half = 1 << (NARROWED_BITS - 1);
        let odd = whole >> NARROWED_BITS & 1;
        let mut rounded = (whole + half - 1 + odd) >> NARROWED_BITS;
        if rounded >= LEADING << 1 {
            rounded >>= 1;
            exponent += 1;
        }
        if exponent == 0 && rounded == LEADING {
            exponent = 1;
        }
        if exponent == EXPONENT_MAX { LEADING } else { rounded }
    };
    (sign << 79 | exponent << 64 | significand).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::ConstructorForm;
    use super::*;

    fn named(name: &str) -> Datatype {
        Datatype::predefined(Predefined::named(name).unwrap())
    }

    /// `native` as external32 and back.
    fn converted(datatype: &Datatype, count: usize, native: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let items = Memory::owned(native);
        let mut packed = Memory::owned(vec![0xee; datatype.external_size() * count]);
        pack(datatype, count, &items, &mut packed);
        let mut back = Memory::owned(vec![0xee; native.len()]);
        unpack(datatype, count, &packed, &mut back);
        let bytes = |memory: &Memory| {
            let mut bytes = vec![0; memory.len()];
            memory.pack(0, &mut bytes);
            bytes
        };
        (bytes(&packed), bytes(&back))
    }

    /// The lengths of the standard's three tables, MPI 5.0 §14.5.2.
    #[test]
    fn lengths_are_those_of_the_tables() {
        let table = "PACKED 1 BYTE 1 CHAR 1 UNSIGNED_CHAR 1 SIGNED_CHAR 1 WCHAR 2 SHORT 2 \
            UNSIGNED_SHORT 2 INT 4 LONG 4 UNSIGNED 4 UNSIGNED_LONG 4 LONG_LONG_INT 8 \
            UNSIGNED_LONG_LONG 8 FLOAT 4 DOUBLE 8 LONG_DOUBLE 16 C_BOOL 1 INT8_T 1 INT16_T 2 \
            INT32_T 4 INT64_T 8 UINT8_T 1 UINT16_T 2 UINT32_T 4 UINT64_T 8 AINT 8 COUNT 8 \
            OFFSET 8 C_COMPLEX 8 C_DOUBLE_COMPLEX 16 C_LONG_DOUBLE_COMPLEX 32 CHARACTER 1 \
            LOGICAL 4 INTEGER 4 REAL 4 DOUBLE_PRECISION 8 COMPLEX 8 DOUBLE_COMPLEX 16 \
            INTEGER1 1 INTEGER2 2 INTEGER4 4 INTEGER8 8 INTEGER16 16 LOGICAL1 1 LOGICAL2 2 \
            LOGICAL4 4 LOGICAL8 8 LOGICAL16 16 REAL2 2 REAL4 4 REAL8 8 REAL16 16 COMPLEX4 4 \
            COMPLEX8 8 COMPLEX16 16 COMPLEX32 32 CXX_BOOL 1 CXX_FLOAT_COMPLEX 8 \
            CXX_DOUBLE_COMPLEX 16 CXX_LONG_DOUBLE_COMPLEX 32 \
            FLOAT_INT 8 DOUBLE_INT 12 LONG_INT 8 2INT 8 SHORT_INT 6 LONG_DOUBLE_INT 20 2REAL 8 \
            2DOUBLE_PRECISION 16 2INTEGER 8";
        let words: Vec<_> = table.split_whitespace().collect();
        for pair in words.chunks(2) {
            let datatype = named(&format!("MPI_{}", pair[0]));
            assert_eq!(datatype.external_size().to_string(), pair[1], "{}", pair[0]);
        }
        assert_eq!(words.len(), 2 * Predefined::all().len());
    }

    #[test]
    fn integers_are_swapped_and_long_ones_keep_their_lower_half() {
        let ints = [1i32, -2].map(i32::to_le_bytes).concat();
        let (packed, back) = converted(&named("MPI_INT"), 2, &ints);
        assert_eq!(packed, [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(back, ints);
        let long = |value: i64| converted(&named("MPI_LONG"), 1, &value.to_le_bytes());
        assert_eq!(long(-5), (vec![0xff, 0xff, 0xff, 0xfb], (-5i64).to_le_bytes().to_vec()));
        assert_eq!(long(7 << 32 | 9).1, 9i64.to_le_bytes());
        let high = 0x9000_0000u64.to_le_bytes();
        assert_eq!(converted(&named("MPI_UNSIGNED_LONG"), 1, &high).1, high);
        let wide = 0x20acu32.to_le_bytes();
        assert_eq!(converted(&named("MPI_WCHAR"), 1, &wide), (vec![0x20, 0xac], wide.to_vec()));
        assert_eq!(converted(&named("MPI_C_BOOL"), 2, &[0, 1]), (vec![0, 1], vec![0, 1]));
        let complex = [1.5f32, -2.0].map(f32::to_le_bytes).concat();
        let (packed, back) = converted(&named("MPI_C_COMPLEX"), 1, &complex);
        assert_eq!(packed, [1.5f32, -2.0].map(f32::to_be_bytes).concat());
        assert_eq!(back, complex);
    }

    #[test]
    fn mixed_types_are_converted_number_by_number() {
        let parts = [named("MPI_SHORT"), named("MPI_DOUBLE_INT"), named("MPI_CHAR")];
        let record =
            Datatype::structure(ConstructorForm::Int, &[3, 1, 2], &[0, 8, 24], &parts).unwrap();
        let array = Datatype::contiguous(ConstructorForm::Int, 2, &record.dup()).unwrap();
        assert_eq!(array.external_size(), 2 * (6 + 12 + 2));
        let lens = [2, 2, 2, 8, 4, 1, 1];
        // The elements of the array are far apart in memory, but owned bytes are packed.
        let native: Vec<u8> = (0..array.size() * 300).map(|at| (at * 7 + at / 256) as u8).collect();
        let (packed, back) = converted(&array, 300, &native);
        let mut expected = native.clone();
        let mut at = 0;
        for len in lens.iter().cycle().take(lens.len() * 600) {
            expected[at..at + len].reverse();
            at += len;
        }
        assert_eq!((at, back), (native.len(), native));
        assert_eq!(packed, expected);
    }

    /// The x87 number of a sign, an exponent and a significand.
    fn x87(sign: u128, exponent: u128, significand: u64) -> [u8; 16] {
        (sign << 79 | exponent << 64 | u128::from(significand)).to_le_bytes()
    }

    #[test]
    fn extended_numbers_at_the_edges() {
        let both = |native: [u8; 16], bits: u128| {
            assert_eq!(to_binary128(&native), bits, "{native:?}");
            assert_eq!(from_binary128(&bits.to_be_bytes()), native, "{bits:x}");
        };
        both(x87(0, 0, 0), 0);
        both(x87(1, 0, 0), 1 << 127);
        both(x87(1, 0x3fff, 3 << 62), 1 << 127 | 0x3fff << 112 | 1 << 111);
        both(x87(0, 0, 1), 1 << 49);
        both(x87(0, 0, u64::MAX >> 1), (1 << 112) - (1 << 49));
        both(x87(0, 1, 1 << 63), 1 << 112);
        both(x87(0, 0x7ffe, u64::MAX), 0x7ffe << 112 | ((1 << 112) - (1 << 49)));
        both(x87(1, 0x7fff, 1 << 63), 1 << 127 | 0x7fff << 112);
        both(x87(0, 0x7fff, 3 << 62), 0x7fff << 112 | 1 << 111);
        let is_nan = |bits: u128| bits >> 112 & 0x7fff == 0x7fff && bits << 16 != 0;
        for invalid in [x87(0, 5, 1), x87(1, 0x7fff, 0), x87(0, 0x7fff, 1)] {
            assert!(is_nan(to_binary128(&invalid)));
        }
        // A normal number that is encoded like a subnormal one.
        assert_eq!(to_binary128(&x87(0, 0, 1 << 63)), 1 << 112);
        let narrow = |bits: u128| from_binary128(&bits.to_be_bytes());
        // Halfway: to the even neighbour; a bit more: up, also over a power of two.
        assert_eq!(narrow(0x3fff << 112 | 1 << 48), x87(0, 0x3fff, 1 << 63));
        assert_eq!(narrow(0x3fff << 112 | 3 << 48), x87(0, 0x3fff, (1 << 63) + 2));
        assert_eq!(narrow(0x4000 << 112 | ((1 << 112) - 1)), x87(0, 0x4001, 1 << 63));
        assert_eq!(narrow(0x7ffe << 112 | ((1 << 112) - 1)), x87(0, 0x7fff, 1 << 63));
        assert_eq!(narrow((1 << 112) - 1), x87(0, 1, 1 << 63));
        assert_eq!(narrow(1 << 48), x87(0, 0, 0));
        // The payload is all in bits that are lost: still not a number.
        assert_eq!(narrow(0x7fff << 112 | 1), x87(0, 0x7fff, 3 << 62));
    }
}
