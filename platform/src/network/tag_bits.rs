//! Bits of a job's secret that its messages carry, on networks whose connections prove nothing.
//!
//! They are a hash, BLAKE2s, of the secret and of the use, so they tell nothing about the secret.

use blake2::{Blake2s256, Digest};

use super::handshake::SharedSecret;

/// Binds the hash to this use.
const USE: &[u8] = b"suiro tags 1";
const MEMORY_USE: &[u8] = b"suiro memory 1";

/// The bits, the same in all processes that know the secret.
pub fn tag_bits(secret: &SharedSecret) -> u64 {
    let hash = Blake2s256::new().chain_update(USE).chain_update(secret.0).finalize();
    first_word(&hash)
}

/// A key of memory by its names, which only processes that know the secret can derive.
pub fn memory_key(secret: &SharedSecret, names: &[u64]) -> u64 {
    let start = Blake2s256::new().chain_update(MEMORY_USE).chain_update(secret.0);
    let hash = names.iter().fold(start, |hash, name| hash.chain_update(name.to_le_bytes()));
    first_word(&hash.finalize())
}

fn first_word(hash: &[u8]) -> u64 {
    hash.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_secrets_have_equal_bits() {
        let (one, other) = (SharedSecret([1; 32]), SharedSecret([2; 32]));
        assert_eq!(tag_bits(&one), tag_bits(&one));
        assert_ne!(tag_bits(&one) & 0xffff, tag_bits(&other) & 0xffff);
    }
}
