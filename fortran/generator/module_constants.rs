//! The constants of the standard ABI in Fortran (MPI 5.0 §19.3.9, chapter 20, annex A).

use super::sentinel::{BLOCK_BYTES, SENTINELS, Sentinel};

/// A constant of Fortran.
#[derive(Clone, Debug)]
pub struct Constant {
    pub name: String,
    pub of: ConstantType,
    /// The value; for a handle, that of the INTEGER.
    pub value: i64,
}

/// The type of a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstantType {
    /// An INTEGER.
    Integer,
    /// An INTEGER of `MPI_OFFSET_KIND`.
    Offset,
    /// A handle: `Comm`, `Datatype`, ...
    Handle(String),
}

/// Constants that C does not have: kinds (x86-64: addresses and counts have 8 bytes), and the indices of
/// a status as INTEGERs, from 1.
const OWN: &[(&str, i64)] = &[
    ("MPI_ADDRESS_KIND", 8),
    ("MPI_COUNT_KIND", 8),
    ("MPI_INTEGER_KIND", 4),
    ("MPI_OFFSET_KIND", 8),
    ("MPI_STATUS_SIZE", 8),
    ("MPI_SOURCE", 1),
    ("MPI_TAG", 2),
    ("MPI_ERROR", 3),
];

/// The constants of Fortran, from `abi_constants.tsv`.
///
/// # Panics
/// If the text does not have that form.
pub fn constants(text: &str) -> Vec<Constant> {
    let integer =
        |name: &str, value| Constant { name: name.to_owned(), of: ConstantType::Integer, value };
    let own = OWN.iter().map(|(name, value)| integer(name, *value));
    own.chain(text.lines().skip(1).filter_map(constant)).collect()
}

/// The numbers that a header of C defines, by their value or by the name of an earlier one.
pub fn defined(header: &str) -> Vec<Constant> {
    let mut found: Vec<Constant> = Vec::new();
    for line in header.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let ["#define", name, value] = words[..] else { continue };
        let named = found.iter().find(|constant| constant.name == value);
        let value = named.map_or_else(|| number(value), |constant| constant.value);
        found.push(Constant { name: name.to_owned(), of: ConstantType::Integer, value });
    }
    found
}

/// The constant of a line; `None` if Fortran does not have it: the tool interface, indices of a C array
/// of INTEGERs, sentinels and procedures.
fn constant(line: &str) -> Option<Constant> {
    let fields: Vec<_> = line.split('\t').collect();
    let (name, kind, value) = (fields[0], fields[1], number(fields[2]));
    if name.starts_with("MPI_T_") || name.starts_with("MPI_F_") {
        return None;
    }
    let of = match kind.strip_prefix("handle:") {
        Some(handle) => ConstantType::Handle(handle.to_owned()),
        None if kind == "int" => ConstantType::Integer,
        None if name == "MPI_DISPLACEMENT_CURRENT" => ConstantType::Offset,
        None => return None,
    };
    // Lengths of strings do not include a NUL in Fortran (§19.3.9).
    let value = if name.starts_with("MPI_MAX_") { value - 1 } else { value };
    Some(Constant { name: name.to_owned(), of, value })
}

fn number(text: &str) -> i64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The declaration of a sentinel, and of the variable that fills the rest of its COMMON block.
pub struct Cell {
    /// Its type.
    pub of: &'static str,
    /// Its shape, in parentheses.
    pub shape: &'static str,
    /// Type and number of elements of the filling variable.
    pub filler: (&'static str, usize),
}

/// The declaration of a sentinel, for statuses of type `MPI_Status` or INTEGERs.
pub fn cell(sentinel: &Sentinel, has_status_type: bool) -> Cell {
    let (of, shape, bytes) = match (sentinel.name, has_status_type) {
        ("MPI_ARGV_NULL", _) => ("character", "(1)", 1),
        ("MPI_ARGVS_NULL", _) => ("character", "(1,1)", 1),
        ("MPI_STATUS_IGNORE", true) => ("type(MPI_Status)", "", 32),
        ("MPI_STATUSES_IGNORE", true) => ("type(MPI_Status)", "(1)", 32),
        ("MPI_STATUS_IGNORE", false) => ("integer", "(MPI_STATUS_SIZE)", 32),
        ("MPI_STATUSES_IGNORE", false) => ("integer", "(MPI_STATUS_SIZE,1)", 32),
        ("MPI_ERRCODES_IGNORE" | "MPI_UNWEIGHTED" | "MPI_WEIGHTS_EMPTY", _) => {
            ("integer", "(1)", 4)
        }
        _ => ("integer", "", 4),
    };
    let (filler, unit) = if of == "character" { (of, 1) } else { ("integer", 4) };
    Cell { of, shape, filler: (filler, (BLOCK_BYTES - bytes) / unit) }
}

/// The sentinels that are statuses, or the others.
pub fn sentinels(statuses: bool) -> impl Iterator<Item = &'static Sentinel> {
    SENTINELS.iter().filter(move |sentinel| sentinel.name.starts_with("MPI_STATUS") == statuses)
}
