//! Words in the memory of all ranks, several in one access.

use crate::space::{AccessRefused, GlobalSpace, SpaceAddress};

/// Bytes of a word.
pub(crate) const WORD: u64 = 8;

/// The `N` words from `from` on, in one access.
///
/// # Errors
/// The access was refused; the same for all functions of this module.
pub(crate) fn read<const N: usize>(
    space: &impl GlobalSpace, from: SpaceAddress,
) -> Result<[u64; N], AccessRefused> {
    let mut bytes = [[0; 8]; N];
    space.read(from, bytes.as_flattened_mut())?;
    Ok(bytes.map(u64::from_ne_bytes))
}

/// As [`read`], for a number of words that is not known to the compiler.
pub(crate) fn read_many(
    space: &impl GlobalSpace, from: SpaceAddress, count: usize,
) -> Result<Vec<u64>, AccessRefused> {
    let mut bytes = vec![[0; 8]; count];
    if count > 0 {
        space.read(from, bytes.as_flattened_mut())?;
    }
    Ok(bytes.into_iter().map(u64::from_ne_bytes).collect())
}

/// Writes `words` from `to` on, in one access.
pub(crate) fn write(
    space: &impl GlobalSpace, to: SpaceAddress, words: &[u64],
) -> Result<(), AccessRefused> {
    match words {
        // Most writes: no memory is allocated for them.
        [word] => space.write(to, &word.to_ne_bytes()),
        _ => space.write(to, &bytes(words)),
    }
}

/// `words` as they stand in memory.
pub(crate) fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
