//! What the application told of its Fortran compiler (MPI 5.0, chapter 20, "Fortran Type
//! Registration"): the sizes and the presence of Fortran's types, and the values of `.TRUE.` and
//! `.FALSE.`.
//!
//! The library is not built with a Fortran compiler and knows nothing of one by itself; a layer of
//! Fortran bindings tells. What was told once stays.

use super::info::Info;
use platform::base::{ErrorClass, MpiError, Result};

/// Sizes in bytes of Fortran's default kinds, as the predefined datatypes have them.
const SIZES: [(&[u8], &[u8]); 4] = [
    (b"mpi_logical_size", b"4"),
    (b"mpi_integer_size", b"4"),
    (b"mpi_real_size", b"4"),
    (b"mpi_double_precision_size", b"8"),
];

/// What is known of Fortran.
#[derive(Debug, Default)]
pub(crate) struct Fortran {
    info: Option<Info>,
    booleans: Option<Booleans>,
}

/// Fortran's truth values as bits of a LOGICAL of `size` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booleans {
    size: usize,
    /// As signed integers: so compilers carry them over to LOGICALs of other sizes.
    truth: i128,
    falsity: i128,
}

impl Fortran {
    /// The description of Fortran's types, if there is one.
    pub(crate) fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }

    /// Keeps the description of Fortran's types.
    ///
    /// # Errors
    /// `Abi` if there is one already, `InfoValue` if a value makes no sense, and
    /// `UnsupportedOperation` for sizes that the predefined datatypes do not have.
    pub fn describe(&mut self, info: &Info) -> Result {
        if self.info.is_some() {
            return Err(ErrorClass::Abi.error("Fortran's types have been described before"));
        }
        for (key, size) in SIZES {
            check_size(key, info.get(key)?, size)?;
        }
        for (key, value) in info.iter() {
            let is_answer = key.starts_with(b"mpi_") && key.ends_with(b"_supported");
            if is_answer && !matches!(value, b"true" | b"false") {
                return Err(wrong(key, value, "it must be \"true\" or \"false\""));
            }
        }
        self.info = Some(info.clone());
        Ok(())
    }

    /// The truth values, if they are known.
    pub(crate) fn booleans(&self) -> Option<Booleans> {
        self.booleans
    }

    /// Keeps the truth values.
    ///
    /// # Errors
    /// `Abi` if they are known already.
    pub fn set_booleans(&mut self, booleans: Booleans) -> Result {
        if let Some(known) = self.booleans {
            let why = format!("Fortran's LOGICALs are known already, by {} bytes", known.size);
            return Err(ErrorClass::Abi.error(why));
        }
        self.booleans = Some(booleans);
        Ok(())
    }
}

impl Booleans {
    /// The values with these bytes, which are as many in both.
    pub(crate) fn new(truth: &[u8], falsity: &[u8]) -> Self {
        debug_assert_eq!(truth.len(), falsity.len());
        Self { size: truth.len(), truth: integer(truth), falsity: integer(falsity) }
    }

    /// Bytes of `.TRUE.` and of `.FALSE.`.
    ///
    /// # Errors
    /// `Abi` if they are known of LOGICALs of another size.
    pub(crate) fn of_size(&self, size: usize) -> Result<[Vec<u8>; 2]> {
        if size != self.size {
            let known = self.size;
            let why = format!("LOGICALs are known to have {known} bytes, {size} were asked for");
            return Err(ErrorClass::Abi.error(why));
        }
        Ok([self.truth, self.falsity].map(|value| value.to_le_bytes()[..size].to_vec()))
    }

    /// Whether they are 1 and 0, as in C.
    pub(crate) fn are_those_of_c(&self) -> bool {
        (self.truth, self.falsity) == (1, 0)
    }

    /// `.TRUE.` and `.FALSE.` of a LOGICAL of `N` bytes.
    pub(crate) fn values<const N: usize>(&self) -> [[u8; N]; 2] {
        [self.truth, self.falsity].map(|value| std::array::from_fn(|at| value.to_le_bytes()[at]))
    }
}

/// Checks the size of a LOGICAL that `MPI_Abi_set_fortran_booleans` and its twin take.
///
/// # Errors
/// `Arg` if no Fortran compiler has such LOGICALs.
pub(crate) fn logical_size(size: i32) -> Result<usize> {
    match size {
        1 | 2 | 4 | 8 | 16 => Ok(size as usize),
        _ => {
            let why = format!("there is no LOGICAL of {size} bytes (1, 2, 4, 8 or 16)");
            Err(ErrorClass::Arg.error(why))
        }
    }
}

/// At most 16 bytes as a signed number.
fn integer(bytes: &[u8]) -> i128 {
    let negative = bytes.last().is_some_and(|last| *last >= 0x80);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide)
}

fn check_size(key: &[u8], value: Option<&[u8]>, size: &[u8]) -> Result {
    let Some(value) = value.filter(|value| *value != size) else { return Ok(()) };
    let number = std::str::from_utf8(value).ok().and_then(|value| value.parse::<u8>().ok());
    if number.is_none_or(|number| number == 0) {
        return Err(wrong(key, value, "it must be a number of bytes"));
    }
    let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
    let why = format!("{key} is {value}; the predefined datatypes have");
    let why = format!("{why} {} bytes", String::from_utf8_lossy(size));
    Err(ErrorClass::UnsupportedOperation.error(why))
}

fn wrong(key: &[u8], value: &[u8], rule: &str) -> Box<MpiError> {
    let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
    ErrorClass::InfoValue.error(format!("the value of info key \"{key}\" is \"{value}\": {rule}"))
}

#[cfg(test)]
mod tests {
    use super::super::datatype::Predefined;
    use super::*;

    fn described(key: &[u8], value: &[u8]) -> i32 {
        let mut info = Info::default();
        info.set(key, value).unwrap();
        Fortran::default().describe(&info).map_or_else(|error| error.code.0, |()| 0)
    }

    #[test]
    fn sizes_are_those_of_the_predefined_datatypes() {
        for (key, size) in SIZES {
            let key = String::from_utf8_lossy(key).to_uppercase();
            let name = key.strip_suffix("_SIZE").unwrap();
            let entry = Predefined::all().iter().find(|entry| entry.name == name).unwrap();
            assert_eq!(entry.unit.size().to_string().as_bytes(), size, "{name}");
        }
    }

    #[test]
    fn what_makes_no_sense_changes_nothing() {
        let value = ErrorClass::InfoValue as i32;
        assert_eq!(described(b"mpi_integer_size", b"4"), 0);
        let other = ErrorClass::UnsupportedOperation as i32;
        assert_eq!(described(b"mpi_integer_size", b"8"), other);
        for wrong in [&b""[..], b"0", b"-4", b"four", b"256"] {
            assert_eq!(described(b"mpi_real_size", wrong), value);
        }
        assert_eq!(described(b"mpi_real16_supported", b"false"), 0);
        assert_eq!(described(b"mpi_real16_supported", b"yes"), value);
        assert_eq!(described(b"another", b"yes"), 0);
    }

    #[test]
    fn the_first_one_to_tell_is_believed() {
        let mut fortran = Fortran::default();
        assert!(fortran.info().is_none() && fortran.booleans().is_none());
        fortran.describe(&Info::default()).unwrap();
        let again = fortran.describe(&Info::default()).unwrap_err();
        assert_eq!(again.code.0, ErrorClass::Abi as i32);
        let minus = Booleans::new(&[0xff; 4], &[0; 4]);
        fortran.set_booleans(minus).unwrap();
        let again = fortran.set_booleans(Booleans::new(&[1], &[0])).unwrap_err();
        assert_eq!(again.code.0, ErrorClass::Abi as i32);
        assert_eq!(fortran.booleans(), Some(minus));
    }

    #[test]
    fn truth_values_carry_over_to_other_sizes_as_signed_numbers() {
        let minus = Booleans::new(&[0xff; 2], &[0; 2]);
        assert_eq!(minus.values::<8>(), [[0xff; 8], [0; 8]]);
        assert_eq!(minus.values::<1>(), [[0xff], [0]]);
        assert_eq!(minus.of_size(2).unwrap(), [vec![0xff; 2], vec![0; 2]]);
        assert_eq!(minus.of_size(4).unwrap_err().code.0, ErrorClass::Abi as i32);
        assert!(Booleans::new(&[1, 0, 0, 0], &[0; 4]).are_those_of_c());
        assert!(!minus.are_those_of_c());
        let sizes = [0, 1, 2, 3, 4, 8, 16, 32, -1].map(|size| logical_size(size).is_ok());
        assert_eq!(sizes, [false, true, true, false, true, true, true, false, false]);
    }
}
