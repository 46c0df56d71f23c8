//! Errors of ranks as words that all ranks of a file tell each other, so that all have one or none has.

use platform::base::{ErrorClass, ErrorCode, MpiError};

/// The code of an error for other ranks; 0 for none.
pub(crate) fn error_word(error: Option<&MpiError>) -> u64 {
    error.map_or(0, |error| error.code.0.cast_unsigned().into())
}

/// The error of all ranks: the own one, or that of the first other rank, by rank.
pub(crate) fn first_error(
    own: Option<Box<MpiError>>, words: impl Iterator<Item = u64>,
) -> Option<Box<MpiError>> {
    own.or_else(|| {
        let (rank, word) = (0..).zip(words).find(|(_, word): &(u32, u64)| *word != 0)?;
        let code = (word as u32).cast_signed();
        let text = ErrorClass::from_value(code).map_or("an error", ErrorClass::text);
        let why = format!("rank {rank} of the file could not do its part: {text}");
        Some(MpiError::new(ErrorCode(code), why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_error_comes_first_and_then_that_of_the_lowest_rank() {
        let own = || Some(ErrorClass::Io.error("here"));
        let words = [0, error_word(Some(&ErrorClass::NoSpace.error("there"))), 1];
        assert_eq!(first_error(own(), words.into_iter()).unwrap().why, "here");
        let other = first_error(None, words.into_iter()).unwrap();
        assert_eq!(other.code.0, ErrorClass::NoSpace as i32);
        assert!(other.why.contains("rank 1"), "{other}");
        assert!(first_error(None, [error_word(None); 3].into_iter()).is_none());
    }
}
