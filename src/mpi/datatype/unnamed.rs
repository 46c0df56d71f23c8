//! Predefined datatypes without a name: numbers of Fortran, selected by digits and range (MPI 5.0
//! §19.1.5), and pairs for `MPI_MINLOC` and `MPI_MAXLOC`, selected by their parts (§6.9.4).
//!
//! A pair has any integer or real number as its value, and any integer of up to 64 bits as its
//! index. Its layout is that of the C structure of the two.
//!
//! Numbers of Fortran also have a named datatype in this library, so reductions accept them. The
//! kinds are those of Fortran compilers on x86-64: integers of 1, 2, 4, 8 and 16 bytes; reals of 4,
//! 8 and 16 bytes, the last with 64 (the x87's) or 113 bits of significand, as in gfortran and
//! flang.

use super::{
    Combiner, ConstructorForm, Contents, Datatype, DatatypeClass, DatatypeInner, Predefined, Unit,
};
use platform::base::{ErrorClass, Result};

/// `MPI_UNDEFINED`: no requirement for the digits or the range.
const UNDEFINED: i32 = -32766;

/// Request for an unnamed predefined datatype. Equal requests give one datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unnamed {
    /// An INTEGER that holds all numbers of `range` decimal digits.
    Integer {
        /// `r` of `selected_int_kind`.
        range: i32,
    },
    /// A REAL.
    Real(Precision),
    /// A COMPLEX.
    Complex(Precision),
    /// A value and its index.
    Pair(ValueIndex),
}

/// Handle values of the value and the index of an unnamed pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueIndex([u32; 2]);

/// The arguments of Fortran's `selected_real_kind`, either of which may be `MPI_UNDEFINED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Precision {
    /// Decimal digits: `p`.
    pub digits: i32,
    /// Decimal exponent range: `r`.
    pub range: i32,
}

/// The largest range of each kind of INTEGER, and its name.
const INTEGERS: [(i32, &str); 5] = [
    (2, "MPI_INTEGER1"),
    (4, "MPI_INTEGER2"),
    (9, "MPI_INTEGER4"),
    (18, "MPI_INTEGER8"),
    (38, "MPI_INTEGER16"),
];

/// The most digits and the largest range of each kind of REAL, its name and that of its COMPLEX.
const REALS: [(i32, i32, &str, &str); 4] = [
    (6, 37, "MPI_REAL4", "MPI_COMPLEX8"),
    (15, 307, "MPI_REAL8", "MPI_COMPLEX16"),
    (18, 4931, "MPI_LONG_DOUBLE", "MPI_C_LONG_DOUBLE_COMPLEX"),
    (33, 4931, "MPI_REAL16", "MPI_COMPLEX32"),
];

impl Unnamed {
    /// The named datatype with the same representation, or a pair.
    ///
    /// # Errors
    /// `Arg` if no such kind exists, or both requirements are undefined.
    fn equal(self) -> Result<Predefined> {
        let name = match self {
            Self::Pair(pair) => return Ok(pair.entry()),
            Self::Integer { range } => integer(range)?,
            Self::Real(precision) => precision.names()?.0,
            Self::Complex(precision) => precision.names()?.1,
        };
        let found = Predefined::named(name);
        Ok(*found.expect("the names above are in the table"))
    }

    /// Arguments of the request.
    fn contents(self) -> Contents {
        let contents = |combiner| Contents::new(combiner, ConstructorForm::Int);
        match self {
            Self::Integer { range } => contents(Combiner::F90Integer).integers(&[range.into()]),
            Self::Real(precision) => contents(Combiner::F90Real).integers(&precision.arguments()),
            Self::Complex(precision) => {
                contents(Combiner::F90Complex).integers(&precision.arguments())
            }
            Self::Pair(pair) => {
                let parts = pair.parts().map(Datatype::predefined);
                contents(Combiner::ValueIndex).types(&parts)
            }
        }
    }
}

impl ValueIndex {
    /// The pair of two datatypes; `None` if the pair does not exist or has a name.
    pub fn new(value: u32, index: u32) -> Option<Self> {
        use DatatypeClass::{CInteger, Float, FortranInteger, MultiLanguage};
        let [one, other] = [Predefined::find(value)?, Predefined::find(index)?];
        let numbers = matches!(one.class, CInteger | FortranInteger | MultiLanguage | Float)
            && matches!(other.class, CInteger | FortranInteger | MultiLanguage);
        let has_name = Predefined::all().iter().any(|entry| entry.pair == Some([value, index]));
        let is_pair = numbers && !has_name && Unit::value_index([one.unit, other.unit]).is_some();
        is_pair.then_some(Self([value, index]))
    }

    fn parts(self) -> [&'static Predefined; 2] {
        self.0.map(|part| Predefined::find(part).expect("`new` found both"))
    }

    /// Its predefined datatype, which has no handle.
    pub(crate) fn entry(self) -> Predefined {
        let unit = Unit::value_index(self.parts().map(|part| part.unit));
        let unit = unit.expect("`new` found it");
        Predefined { handle: 0, name: "", class: DatatypeClass::Pair, unit, pair: Some(self.0) }
    }
}

impl Precision {
    fn names(self) -> Result<(&'static str, &'static str)> {
        let Self { digits, range } = self;
        let asked = |value: i32| if value == UNDEFINED { i32::MIN } else { value };
        let enough = |kind: &&(i32, i32, _, _)| asked(digits) <= kind.0 && asked(range) <= kind.1;
        let kind = REALS.iter().find(enough).filter(|_| (digits, range) != (UNDEFINED, UNDEFINED));
        kind.map(|(_, _, real, complex)| (*real, *complex)).ok_or_else(|| {
            ErrorClass::Arg.error(format!(
                "no kind of REAL has {} digits and a range of {}",
                shown(digits),
                shown(range)
            ))
        })
    }

    fn arguments(self) -> [i64; 2] {
        [self.digits.into(), self.range.into()]
    }
}

impl Datatype {
    /// The datatype of a request (`MPI_Type_create_f90_*`, `MPI_Type_get_value_index`).
    ///
    /// # Errors
    /// `Arg` if no kind satisfies the request.
    pub fn unnamed(asked: Unnamed) -> Result<Self> {
        let named = Self::predefined(&asked.equal()?);
        Ok(Self(std::sync::Arc::new(DatatypeInner {
            layout: named.layout().clone(),
            predefined: named.0.predefined,
            unnamed: Some(asked),
            unit: named.0.unit,
            elements: named.0.elements,
            external_size: named.0.external_size,
            contents: asked.contents(),
            sections: None,
        })))
    }
}

fn integer(range: i32) -> Result<&'static str> {
    let kind = INTEGERS.iter().find(|kind| range <= kind.0 && range != UNDEFINED);
    kind.map(|kind| kind.1).ok_or_else(|| {
        ErrorClass::Arg.error(format!("no kind of INTEGER has a range of {}", shown(range)))
    })
}

fn shown(value: i32) -> String {
    if value == UNDEFINED { "MPI_UNDEFINED".into() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(asked: Unnamed) -> Option<Unit> {
        Datatype::unnamed(asked).ok().map(|made| made.unit().unwrap().unit)
    }

    #[test]
    fn kinds_are_the_smallest_that_suffice() {
        let integer = |range| unit(Unnamed::Integer { range });
        let sizes = [(-1, 1), (0, 1), (2, 1), (3, 2), (5, 4), (9, 4), (10, 8), (19, 16), (38, 16)];
        for (range, size) in sizes {
            assert_eq!(integer(range).unwrap().size(), size, "{range}");
        }
        assert_eq!((integer(39), integer(UNDEFINED)), (None, None));
        let real = |digits, range| unit(Unnamed::Real(Precision { digits, range }));
        assert_eq!(real(6, 37), Some(Unit::F32));
        assert_eq!(real(7, UNDEFINED), Some(Unit::F64));
        assert_eq!(real(UNDEFINED, 38), Some(Unit::F64));
        assert_eq!(real(15, 308), Some(Unit::F80));
        assert_eq!(real(18, 0), Some(Unit::F80));
        assert_eq!(real(19, 0), Some(Unit::F128));
        assert_eq!((real(34, 0), real(0, 4932), real(UNDEFINED, UNDEFINED)), (None, None, None));
        let complex = |digits, range| unit(Unnamed::Complex(Precision { digits, range }));
        assert_eq!(
            (complex(6, 0), complex(20, 9)),
            (Some(Unit::ComplexF32), Some(Unit::ComplexF128))
        );
    }

    #[test]
    fn the_request_is_remembered() {
        let asked = Unnamed::Real(Precision { digits: 9, range: UNDEFINED });
        let made = Datatype::unnamed(asked).unwrap();
        assert_eq!(made.as_unnamed(), Some(asked));
        assert_eq!(made.contents().combiner, Combiner::F90Real);
        assert_eq!(made.contents().integers, [9, UNDEFINED]);
        assert!(made.contents().types.is_empty());
        let wrong = Datatype::unnamed(Unnamed::Integer { range: 99 }).unwrap_err();
        assert!(wrong.code.0 == ErrorClass::Arg as i32 && wrong.why.contains("99"));
    }

    #[test]
    fn pairs_are_made_of_numbers_and_integers() {
        let handle = |name: &str| Predefined::named(name).unwrap().handle;
        let pair = |value: &str, index: &str| ValueIndex::new(handle(value), handle(index));
        for (value, index) in [
            ("MPI_DOUBLE", "MPI_INT"),
            ("MPI_2INT", "MPI_INT"),
            ("MPI_C_DOUBLE_COMPLEX", "MPI_INT"),
            ("MPI_BYTE", "MPI_INT"),
            ("MPI_INT", "MPI_DOUBLE"),
            ("MPI_INT", "MPI_INTEGER16"),
        ] {
            assert_eq!(pair(value, index), None, "{value} {index}");
        }
        assert_eq!((ValueIndex::new(0, 0x209), ValueIndex::new(0x209, 7)), (None, None));
        let asked = pair("MPI_SHORT", "MPI_UINT64_T").unwrap();
        let made = Datatype::unnamed(Unnamed::Pair(asked)).unwrap();
        assert_eq!((made.size(), made.extent(), made.external_size()), (10, 16, 10));
        assert_eq!(
            (made.elements(10), made.elements(12), made.elements(5)),
            (Some(2), Some(3), None)
        );
        assert_eq!(made.contents().combiner, Combiner::ValueIndex);
        assert_eq!(made.contents().types.len(), 2);
        let long = pair("MPI_LONG", "MPI_LONG").unwrap();
        assert_eq!(Datatype::unnamed(Unnamed::Pair(long)).unwrap().external_size(), 8);
    }
}
