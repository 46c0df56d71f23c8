//! The file of `SUIRO_COLL_RULES`.

use std::fs::File;
use std::io::Read;

use crate::mpi::collective::selection::rules::SelectionRules;
use platform::base::{ErrorClass, Result};

/// Most bytes of a file: some ten thousand rules. A call looks at the rules of its operation one by one.
const BYTES_MAX: u64 = 1 << 20;

/// The rules in a file.
///
/// # Errors
/// `Other` for a file that cannot be read or is too long; as [`SelectionRules::parse`].
pub(super) fn read(file: &str) -> Result<SelectionRules> {
    let refused = |why: &dyn std::fmt::Display| {
        ErrorClass::Other.error(format!("SUIRO_COLL_RULES: cannot read {file}: {why}"))
    };
    let mut text = String::new();
    let opened = File::open(file).map_err(|error| refused(&error))?;
    opened.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| refused(&error))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(refused(&format!("it has more than {BYTES_MAX} bytes")));
    }
    SelectionRules::parse(file, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let why = |file| read(file).unwrap_err().why.to_string();
        let missing = why("/nowhere/rules.toml");
        let words = "SUIRO_COLL_RULES: cannot read /nowhere/rules.toml: No such file";
        assert!(missing.starts_with(words), "{missing}");
        assert!(why("/dev/zero").ends_with("it has more than 1048576 bytes"));
        assert!(why("/").starts_with("SUIRO_COLL_RULES: cannot read /: "));
    }
}
