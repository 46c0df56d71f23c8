//! Properties of the application's Fortran compiler (MPI 5.0, chapter 20, "Fortran Type
//! Registration"): sizes and presence of Fortran types, and the values of `.TRUE.` and `.FALSE.`.
//!
//! The library is built without a Fortran compiler; the Fortran bindings register these properties,
//! once.

use super::info::Info;
use platform::base::{ErrorClass, MpiError, Result};

/// Sizes in bytes of Fortran's default kinds in the predefined datatypes.
const SIZES: [(&[u8], &[u8]); 4] = [
    (b"mpi_logical_size", b"4"),
    (b"mpi_integer_size", b"4"),
    (b"mpi_real_size", b"4"),
    (b"mpi_double_precision_size", b"8"),
];

/// Registered properties of Fortran.
#[derive(Debug, Default)]
pub(crate) struct Fortran {
    info: Option<Info>,
    booleans: Option<Booleans>,
}

/// Truth values of Fortran, as bits of a LOGICAL of `size` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booleans {
    size: usize,
    /// As signed integers: compilers extend them this way to LOGICALs of other sizes.
    truth: i128,
    falsity: i128,
}

impl Fortran {
    /// The registered description of Fortran types.
    pub(crate) fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }

    /// Registers the description of Fortran types.
    ///
    /// # Errors
    /// `Abi` if a description is registered, `InfoValue` for an invalid value, and
    /// `UnsupportedOperation` for sizes that differ from the predefined datatypes.
    pub fn describe(&mut self, info: &Info) -> Result {
        if self.info.is_some() {
            return Err(ErrorClass::Abi.error("Fortran types are already registered"));
        }
        for (key, size) in SIZES {
            check_size(key, info.get(key)?, size)?;
        }
        for (key, value) in info.iter() {
            let is_answer = key.starts_with(b"mpi_") && key.ends_with(b"_supported");
            if is_answer && !matches!(value, b"true" | b"false") {
                return Err(wrong(key, value, "expected \"true\" or \"false\""));
            }
        }
        self.info = Some(info.clone());
        Ok(())
    }

    /// The registered truth values.
    pub(crate) fn booleans(&self) -> Option<Booleans> {
        self.booleans
    }

    /// Registers the truth values.
    ///
    /// # Errors
    /// `Abi` if truth values are registered.
    pub fn set_booleans(&mut self, booleans: Booleans) -> Result {
        if let Some(known) = self.booleans {
            let why = format!(
                "Fortran booleans are already registered, for LOGICALs of {} bytes",
                known.size
            );
            return Err(ErrorClass::Abi.error(why));
        }
        self.booleans = Some(booleans);
        Ok(())
    }
}

impl Booleans {
    /// The values with these bytes, of equal length.
    pub(crate) fn new(truth: &[u8], falsity: &[u8]) -> Self {
        debug_assert_eq!(truth.len(), falsity.len());
        Self { size: truth.len(), truth: integer(truth), falsity: integer(falsity) }
    }

    /// Bytes of `.TRUE.` and of `.FALSE.`.
    ///
    /// # Errors
    /// `Abi` if the values are registered for LOGICALs of another size.
    pub(crate) fn of_size(&self, size: usize) -> Result<[Vec<u8>; 2]> {
        if size != self.size {
            let known = self.size;
            let why = format!(
                "Fortran booleans are registered for LOGICALs of {known} bytes, not {size}"
            );
            return Err(ErrorClass::Abi.error(why));
        }
        Ok([self.truth, self.falsity].map(|value| value.to_le_bytes()[..size].to_vec()))
    }

    /// Whether the values are 1 and 0, as in C.
    pub(crate) fn are_those_of_c(&self) -> bool {
        (self.truth, self.falsity) == (1, 0)
    }

    /// `.TRUE.` and `.FALSE.` of a LOGICAL of `N` bytes.
    pub(crate) fn values<const N: usize>(&self) -> [[u8; N]; 2] {
        [self.truth, self.falsity].map(|value| std::array::from_fn(|at| value.to_le_bytes()[at]))
    }
}

/// Checks the LOGICAL size of `MPI_Abi_set_fortran_booleans` and `MPI_Abi_get_fortran_booleans`.
///
/// # Errors
/// `Arg` for a size of no Fortran compiler.
pub(crate) fn logical_size(size: i32) -> Result<usize> {
    match size {
        1 | 2 | 4 | 8 | 16 => Ok(size as usize),
        _ => {
            let why = format!("a LOGICAL cannot have {size} bytes: expected 1, 2, 4, 8 or 16");
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
        return Err(wrong(key, value, "expected a number of bytes"));
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
            let entry = Predefined::named(name).unwrap();
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
