//! Hints of a communicator: assertions of the application (MPI 5.0 §7.4.4).
//!
//! The library stores assertions and returns them, but does not rely on them yet. Hints belong to
//! one communicator: no operation copies them to another.

use std::str;

use crate::mpi::info::Info;
use crate::mpi::memory_kinds;
use platform::base::Result;

/// The assertions that are true or false; the default is false.
const FLAGS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

/// The assertion about memory kinds; unset by default.
pub(in crate::mpi) const ASSERTED_KINDS: &str = "mpi_assert_memory_alloc_kinds";

/// The key of the memory kinds that the library supports.
pub(crate) const MEMORY_KINDS: &str = "mpi_memory_alloc_kinds";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommHints {
    flags: [bool; FLAGS.len()],
    memory_kinds: Option<Box<str>>,
}

impl CommHints {
    ///
    /// # Errors
    /// None that `Info` has for these keys.
    pub(crate) fn of(given: Option<&Info>) -> Result<Self> {
        let mut hints = Self::default();
        given.map_or(Ok(()), |given| hints.update(given))?;
        Ok(hints)
    }

    /// Applies the hints in `given`. Unknown keys and invalid values are ignored.
    ///
    /// # Errors
    /// None that `Info` has for these keys.
    pub(crate) fn update(&mut self, given: &Info) -> Result {
        for (flag, key) in self.flags.iter_mut().zip(FLAGS) {
            match text(given, key)? {
                Some("true") => *flag = true,
                Some("false") => *flag = false,
                Some(_) | None => {}
            }
        }
        if let Some(kinds) = asserted_kinds(given)? {
            self.memory_kinds = Some(kinds.into());
        }
        Ok(())
    }

    /// All hints with their values, and the memory kinds `provided` by the library.
    ///
    /// # Errors
    /// None that `Info` has for these keys.
    pub(crate) fn info(&self, provided: &[u8]) -> Result<Info> {
        let mut info = Info::default();
        for (flag, key) in self.flags.iter().zip(FLAGS) {
            info.set(key.as_bytes(), if *flag { b"true" } else { b"false" })?;
        }
        if let Some(kinds) = &self.memory_kinds {
            info.set(ASSERTED_KINDS.as_bytes(), kinds.as_bytes())?;
        }
        info.set(MEMORY_KINDS.as_bytes(), provided)?;
        Ok(info)
    }
}

/// The asserted memory kinds, if the library knows them; of communicators and windows.
///
/// # Errors
/// None that `Info` has for this key.
pub(in crate::mpi) fn asserted_kinds(given: &Info) -> Result<Option<&str>> {
    Ok(text(given, ASSERTED_KINDS)?.filter(|kinds| memory_kinds::are_known(kinds)))
}

/// The value of a key without surrounding spaces (§10); `None` if it is not UTF-8.
fn text<'a>(info: &'a Info, key: &str) -> Result<Option<&'a str>> {
    let value = info.get(key.as_bytes())?;
    Ok(value.and_then(|value| str::from_utf8(value).ok()).map(str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Info {
        let mut info = Info::default();
        for (key, value) in pairs {
            info.set(key.as_bytes(), value.as_bytes()).unwrap();
        }
        info
    }

    fn value_of<'a>(info: &'a Info, key: &str) -> Option<&'a str> {
        text(info, key).unwrap()
    }

    #[test]
    fn known_hints_are_stored_and_returned_with_the_defaults() {
        let mut hints = CommHints::default();
        let first = [(FLAGS[0], "true"), (FLAGS[1], " true "), ("unknown", "true")];
        hints.update(&given(&first)).unwrap();
        hints.update(&given(&[(FLAGS[0], "false"), (FLAGS[1], "maybe")])).unwrap();
        let info = hints.info(b"mpi,system").unwrap();
        assert_eq!(info.len(), 6);
        assert_eq!(
            (value_of(&info, FLAGS[0]), value_of(&info, FLAGS[1])),
            (Some("false"), Some("true"))
        );
        assert_eq!((value_of(&info, FLAGS[4]), value_of(&info, "unknown")), (Some("false"), None));
        assert_eq!(value_of(&info, MEMORY_KINDS), Some("mpi,system"));
        assert_eq!(CommHints::of(None), Ok(CommHints::default()));
    }

    #[test]
    fn memory_kinds_are_stored_if_they_are_known() {
        let mut hints = CommHints::of(Some(&given(&[(ASSERTED_KINDS, "system")]))).unwrap();
        hints.update(&given(&[(ASSERTED_KINDS, "cuda")])).unwrap();
        assert_eq!(value_of(&hints.info(b"").unwrap(), ASSERTED_KINDS), Some("system"));
        hints.update(&given(&[(ASSERTED_KINDS, "")])).unwrap();
        assert_eq!(value_of(&hints.info(b"").unwrap(), ASSERTED_KINDS), Some(""));
    }
}
