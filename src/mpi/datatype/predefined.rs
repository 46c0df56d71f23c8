//! The predefined datatypes of the standard ABI, with their C representation on x86-64.
//!
//! The numbers are the handle values of MPI 5.0 §20, as in `mpi.h`. Fortran types are those of a
//! compiler with 4-byte INTEGER, REAL and LOGICAL; fixed-size ones need no assumption. Every type
//! of the table is supported for data movement; `mpi::op` has the operations of each
//! [`DatatypeClass`].

use std::fmt;

/// Handle values of datatypes are in the range from `FIRST` to below `END`.
const FIRST: u32 = 0x200;
const END: u32 = 0x300;

/// Class of a datatype in the standard's table of reductions (§6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatatypeClass {
    /// C integers, by their C name or their width.
    CInteger,
    /// Fortran integers.
    FortranInteger,
    /// Real numbers of either language.
    Float,
    /// Truth values of either language.
    Logical,
    /// Complex numbers of either language.
    Complex,
    /// `MPI_BYTE`.
    Byte,
    /// Addresses, counts and offsets, in both languages.
    MultiLanguage,
    /// A value and its index, for `MPI_MINLOC` and `MPI_MAXLOC`.
    Pair,
    /// Printable characters, without reductions.
    Character,
    /// `MPI_PACKED`.
    Packed,
}

impl DatatypeClass {
    /// Whether its elements are integers, truth values or bytes, which may be compared and swapped
    /// (§12.3.4).
    pub(crate) const fn is_integer(self) -> bool {
        use DatatypeClass::{Byte, CInteger, FortranInteger, Logical, MultiLanguage};
        matches!(self, CInteger | FortranInteger | Logical | MultiLanguage | Byte)
    }
}

macro_rules! units {
    ($($name:ident, $size:literal, $alignment:literal, $text:literal;)*) => {
        /// Representation of one element in memory.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Unit {
            $(#[doc = $text] $name,)*
            /// A value and its index without a named datatype; the size excludes padding.
            ValueIndex(&'static [Self; 2]),
        }

        impl Unit {
            /// Size of one element's data in bytes.
            pub const fn size(self) -> usize {
                match self {
                    $(Self::$name => $size,)*
                    Self::ValueIndex([value, index]) => value.size() + index.size(),
                }
            }

            /// Alignment in bytes.
            pub const fn alignment(self) -> usize {
                match self {
                    $(Self::$name => $alignment,)*
                    Self::ValueIndex([value, index]) => {
                        let (value, index) = (value.alignment(), index.alignment());
                        if value > index { value } else { index }
                    }
                }
            }
        }
    };
}

units! {
    I8, 1, 1, "A signed integer of 8 bits.";
    U8, 1, 1, "An unsigned integer of 8 bits.";
    I16, 2, 2, "A signed integer of 16 bits.";
    U16, 2, 2, "An unsigned integer of 16 bits.";
    I32, 4, 4, "A signed integer of 32 bits.";
    U32, 4, 4, "An unsigned integer of 32 bits.";
    I64, 8, 8, "A signed integer of 64 bits.";
    U64, 8, 8, "An unsigned integer of 64 bits.";
    I128, 16, 16, "A signed integer of 128 bits.";
    F16, 2, 2, "IEEE binary16.";
    F32, 4, 4, "IEEE binary32.";
    F64, 8, 8, "IEEE binary64.";
    F80, 16, 16, "The 80-bit format of the x87 in the lowest 10 bytes of 16.";
    F128, 16, 16, "IEEE binary128.";
    ComplexF16, 4, 2, "Two binary16: real part, imaginary part.";
    ComplexF32, 8, 4, "Two binary32: real part, imaginary part.";
    ComplexF64, 16, 8, "Two binary64: real part, imaginary part.";
    ComplexF80, 32, 16, "Two of the 80-bit format: real part, imaginary part.";
    ComplexF128, 32, 16, "Two binary128: real part, imaginary part.";
    F32I32, 8, 4, "`struct { float; int; }`.";
    F64I32, 12, 8, "`struct { double; int; }`; the size leaves out the padding.";
    I64I32, 12, 8, "`struct { long; int; }`; the size leaves out the padding.";
    I32I32, 8, 4, "`struct { int; int; }`, or two INTEGERs.";
    I16I32, 6, 4, "`struct { short; int; }`; the size leaves out the padding.";
    F80I32, 20, 16, "`struct { long double; int; }`; the size leaves out the padding.";
    F32F32, 8, 4, "Two REALs.";
    F64F64, 16, 8, "Two DOUBLE PRECISIONs.";
}

impl Unit {
    /// The two members of a pair: the value and the index.
    pub(crate) const fn members(self) -> Option<[Self; 2]> {
        Some(match self {
            Self::F32I32 => [Self::F32, Self::I32],
            Self::F64I32 => [Self::F64, Self::I32],
            Self::I64I32 => [Self::I64, Self::I32],
            Self::I32I32 => [Self::I32, Self::I32],
            Self::I16I32 => [Self::I16, Self::I32],
            Self::F80I32 => [Self::F80, Self::I32],
            Self::F32F32 => [Self::F32, Self::F32],
            Self::F64F64 => [Self::F64, Self::F64],
            Self::ValueIndex(members) => *members,
            _ => return None,
        })
    }

    /// A pair of these representations; `None` unless both are numbers and the index is an integer.
    pub(crate) fn value_index(members: [Self; 2]) -> Option<Self> {
        VALUE_INDEX.iter().find(|pair| **pair == members).map(Self::ValueIndex)
    }
}

/// Numbers in pairs: all are values, the first `INDICES` are indices.
const NUMBERS: [Unit; 14] = {
    use Unit::*;
    [I8, U8, I16, U16, I32, U32, I64, U64, I128, F16, F32, F64, F80, F128]
};
const INDICES: usize = 8;

/// All pairs of a value and an index.
const VALUE_INDEX: &[[Unit; 2]] = &{
    let mut pairs = [[Unit::I8; 2]; NUMBERS.len() * INDICES];
    let mut place = 0;
    while place < pairs.len() {
        pairs[place] = [NUMBERS[place / INDICES], NUMBERS[place % INDICES]];
        place += 1;
    }
    pairs
};

/// C's `long double`, its complex number, and its pair with an `int`.
#[cfg(target_arch = "x86_64")]
const LONG_DOUBLE: [Unit; 3] = [Unit::F80, Unit::ComplexF80, Unit::F80I32];
#[cfg(not(target_arch = "x86_64"))]
const LONG_DOUBLE: [Unit; 3] =
    [Unit::F128, Unit::ComplexF128, Unit::ValueIndex(&[Unit::F128, Unit::I32])];

/// One predefined datatype.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Predefined {
    /// Handle value.
    pub handle: u32,
    /// Name in `mpi.h`.
    pub name: &'static str,
    /// Class, which selects the legal operations.
    pub(crate) class: DatatypeClass,
    /// Representation of one element.
    pub unit: Unit,
    /// Handle values of the value and the index of a pair.
    pub(crate) pair: Option<[u32; 2]>,
}

impl fmt::Debug for Predefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Predefined {
    /// The datatype with this handle value; `None` for `MPI_DATATYPE_NULL` and unused values.
    pub fn find(handle: u32) -> Option<&'static Self> {
        let index = TABLE.binary_search_by_key(&handle, |entry| entry.handle).ok()?;
        Some(&TABLE[index])
    }

    /// The datatypes of the value and the index of a pair.
    pub fn members(&self) -> Option<[&'static Self; 2]> {
        self.pair.map(|pair| pair.map(|part| Self::find(part).expect("the parts have names")))
    }

    /// The name for messages.
    pub(crate) fn title(&self) -> &'static str {
        if self.name.is_empty() { "an unnamed pair" } else { self.name }
    }

    /// All predefined datatypes in the order of their handle values.
    pub fn all() -> &'static [Self] {
        TABLE
    }

    /// The predefined datatype with this name in C.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|entry| entry.name == name)
    }
}

/// What a handle value tells of the elements without a look at the datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainElement {
    /// The size in bytes; 0 for handles that are not those of predefined datatypes, and for pairs, which
    /// may have gaps.
    pub(crate) size: u8,
    /// [`DatatypeClass::is_integer`]
    pub(crate) is_integer: bool,
}

impl PlainElement {
    const NONE: Self = Self { size: 0, is_integer: false };

    /// The elements of the datatype with this handle value.
    #[inline(always)]
    pub(crate) fn of(handle: u32) -> Self {
        *PLAIN_ELEMENTS.get(handle.wrapping_sub(FIRST) as usize).unwrap_or(&Self::NONE)
    }
}

const PLAIN_ELEMENTS: [PlainElement; (END - FIRST) as usize] = {
    let mut all = [PlainElement::NONE; (END - FIRST) as usize];
    let mut index = 0;
    while index < TABLE.len() {
        let Predefined { handle, class, unit, pair, .. } = TABLE[index];
        if pair.is_none() {
            let element = PlainElement { size: unit.size() as u8, is_integer: class.is_integer() };
            all[(handle - FIRST) as usize] = element;
        }
        index += 1;
    }
    all
};

/// One entry for each predefined datatype, indexed by the handle value.
#[derive(Debug)]
pub struct ByHandle<T>(Box<[Option<T>]>);

impl<T> ByHandle<T> {
    /// Fills the table.
    pub(crate) fn new(make: impl Fn(&'static Predefined) -> T) -> Self {
        Self((FIRST..END).map(|handle| Predefined::find(handle).map(&make)).collect())
    }

    /// The entry of the datatype with this handle value.
    #[inline]
    pub(crate) fn find(&self, handle: u32) -> Option<&T> {
        self.0.get(handle.wrapping_sub(FIRST) as usize)?.as_ref()
    }

    pub(crate) fn find_mut(&mut self, handle: u32) -> Option<&mut T> {
        self.0.get_mut(handle.wrapping_sub(FIRST) as usize)?.as_mut()
    }
}

const fn entry(handle: u32, name: &'static str, class: DatatypeClass, unit: Unit) -> Predefined {
    Predefined { handle, name, class, unit, pair: None }
}

const fn pair(handle: u32, name: &'static str, pair: [u32; 2], unit: Unit) -> Predefined {
    Predefined { handle, name, class: DatatypeClass::Pair, unit, pair: Some(pair) }
}

const TABLE: &[Predefined] = {
    use DatatypeClass::*;
    use Unit::*;
    &[
        entry(0x201, "MPI_AINT", MultiLanguage, I64),
        entry(0x202, "MPI_COUNT", MultiLanguage, I64),
        entry(0x203, "MPI_OFFSET", MultiLanguage, I64),
        entry(0x207, "MPI_PACKED", Packed, U8),
        entry(0x208, "MPI_SHORT", CInteger, I16),
        entry(0x209, "MPI_INT", CInteger, I32),
        entry(0x20a, "MPI_LONG", CInteger, I64),
        entry(0x20b, "MPI_LONG_LONG_INT", CInteger, I64),
        entry(0x20c, "MPI_UNSIGNED_SHORT", CInteger, U16),
        entry(0x20d, "MPI_UNSIGNED", CInteger, U32),
        entry(0x20e, "MPI_UNSIGNED_LONG", CInteger, U64),
        entry(0x20f, "MPI_UNSIGNED_LONG_LONG", CInteger, U64),
        entry(0x210, "MPI_FLOAT", Float, F32),
        entry(0x212, "MPI_C_COMPLEX", Complex, ComplexF32),
        entry(0x213, "MPI_CXX_FLOAT_COMPLEX", Complex, ComplexF32),
        entry(0x214, "MPI_DOUBLE", Float, F64),
        entry(0x216, "MPI_C_DOUBLE_COMPLEX", Complex, ComplexF64),
        entry(0x217, "MPI_CXX_DOUBLE_COMPLEX", Complex, ComplexF64),
        entry(0x218, "MPI_LOGICAL", Logical, I32),
        entry(0x219, "MPI_INTEGER", FortranInteger, I32),
        entry(0x21a, "MPI_REAL", Float, F32),
        entry(0x21b, "MPI_COMPLEX", Complex, ComplexF32),
        entry(0x21c, "MPI_DOUBLE_PRECISION", Float, F64),
        entry(0x21d, "MPI_DOUBLE_COMPLEX", Complex, ComplexF64),
        entry(0x21e, "MPI_CHARACTER", Character, U8),
        entry(0x220, "MPI_LONG_DOUBLE", Float, LONG_DOUBLE[0]),
        entry(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", Complex, LONG_DOUBLE[1]),
        entry(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", Complex, LONG_DOUBLE[1]),
        pair(0x228, "MPI_FLOAT_INT", [0x210, 0x209], F32I32),
        pair(0x229, "MPI_DOUBLE_INT", [0x214, 0x209], F64I32),
        pair(0x22a, "MPI_LONG_INT", [0x20a, 0x209], I64I32),
        pair(0x22b, "MPI_2INT", [0x209, 0x209], I32I32),
        pair(0x22c, "MPI_SHORT_INT", [0x208, 0x209], I16I32),
        pair(0x22d, "MPI_LONG_DOUBLE_INT", [0x220, 0x209], LONG_DOUBLE[2]),
        pair(0x230, "MPI_2REAL", [0x21a, 0x21a], F32F32),
        pair(0x231, "MPI_2DOUBLE_PRECISION", [0x21c, 0x21c], F64F64),
        pair(0x232, "MPI_2INTEGER", [0x219, 0x219], I32I32),
        entry(0x238, "MPI_C_BOOL", Logical, U8),
        entry(0x239, "MPI_CXX_BOOL", Logical, U8),
        entry(0x23c, "MPI_WCHAR", Character, I32),
        entry(0x240, "MPI_INT8_T", CInteger, I8),
        entry(0x241, "MPI_UINT8_T", CInteger, U8),
        entry(0x243, "MPI_CHAR", Character, I8),
        entry(0x244, "MPI_SIGNED_CHAR", CInteger, I8),
        entry(0x245, "MPI_UNSIGNED_CHAR", CInteger, U8),
        entry(0x247, "MPI_BYTE", Byte, U8),
        entry(0x248, "MPI_INT16_T", CInteger, I16),
        entry(0x249, "MPI_UINT16_T", CInteger, U16),
        entry(0x250, "MPI_INT32_T", CInteger, I32),
        entry(0x251, "MPI_UINT32_T", CInteger, U32),
        entry(0x258, "MPI_INT64_T", CInteger, I64),
        entry(0x259, "MPI_UINT64_T", CInteger, U64),
        entry(0x2c0, "MPI_LOGICAL1", Logical, I8),
        entry(0x2c1, "MPI_INTEGER1", FortranInteger, I8),
        entry(0x2c8, "MPI_LOGICAL2", Logical, I16),
        entry(0x2c9, "MPI_INTEGER2", FortranInteger, I16),
        entry(0x2ca, "MPI_REAL2", Float, F16),
        entry(0x2d0, "MPI_LOGICAL4", Logical, I32),
        entry(0x2d1, "MPI_INTEGER4", FortranInteger, I32),
        entry(0x2d2, "MPI_REAL4", Float, F32),
        entry(0x2d3, "MPI_COMPLEX4", Complex, ComplexF16),
        entry(0x2d8, "MPI_LOGICAL8", Logical, I64),
        entry(0x2d9, "MPI_INTEGER8", FortranInteger, I64),
        entry(0x2da, "MPI_REAL8", Float, F64),
        entry(0x2db, "MPI_COMPLEX8", Complex, ComplexF32),
        entry(0x2e0, "MPI_LOGICAL16", Logical, I128),
        entry(0x2e1, "MPI_INTEGER16", FortranInteger, I128),
        entry(0x2e2, "MPI_REAL16", Float, F128),
        entry(0x2e3, "MPI_COMPLEX16", Complex, ComplexF64),
        entry(0x2eb, "MPI_COMPLEX32", Complex, ComplexF128),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Handle values and sizes of the ABI's table; the table also has the handles of another
    /// implementation, which encode the size.
    #[test]
    fn handles_and_sizes_are_those_of_the_abi() {
        let constants = include_str!("../../../tests/data/abi_constants.tsv");
        let mut seen = 0;
        for line in constants.lines() {
            let fields: Vec<_> = line.split('\t').collect();
            if fields[1] != "handle:Datatype" || fields[0] == "MPI_DATATYPE_NULL" {
                continue;
            }
            let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16);
            let handle = number(fields[2]).unwrap();
            let found = Predefined::find(handle).unwrap_or_else(|| panic!("{line}"));
            let alias = matches!(fields[0], "MPI_LONG_LONG" | "MPI_C_FLOAT_COMPLEX");
            assert!(found.name == fields[0] || alias, "{line}");
            let other = number(fields[3]).unwrap();
            if other >> 16 == 0x4c00 {
                assert_eq!(found.unit.size(), (other >> 8 & 0xff) as usize, "{line}");
            }
            if (0x240..0x280).contains(&handle) || handle >= 0x2c0 {
                assert_eq!(found.unit.size(), 1 << (handle >> 3 & 7), "{line}");
            }
            seen += usize::from(!alias);
        }
        assert_eq!(seen, Predefined::all().len());
    }

    #[test]
    fn the_table_is_found_by_handle() {
        assert!(TABLE.is_sorted_by_key(|entry| entry.handle));
        let table = ByHandle::new(|entry| entry.name);
        for entry in TABLE {
            assert_eq!(table.find(entry.handle), Some(&entry.name));
        }
        for handle in [0, 0x101, 0x200, 0x204, 0x2ff, 0x300, u32::MAX] {
            assert!(table.find(handle).is_none() && Predefined::find(handle).is_none());
        }
    }

    #[test]
    fn the_members_of_a_pair_fill_it() {
        for entry in TABLE {
            assert_eq!(entry.unit.members().is_some(), entry.class == DatatypeClass::Pair);
            assert_eq!(entry.members().map(|parts| parts.map(|p| p.unit)), entry.unit.members());
            if let Some([value, index]) = entry.unit.members() {
                assert_eq!(entry.unit.size(), value.size() + index.size());
            }
        }
    }
}
