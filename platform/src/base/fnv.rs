//! A number for a text or for words that is equal in all builds: FNV-1a with 64 bits (Fowler, Noll and Vo;
//! draft-eastlake-fnv). It tells values apart that are not chosen to collide, and keeps no secret.

/// The number of these parts in this order: of bytes, the hash as published.
pub fn fnv1a<Part: Into<u64>>(parts: impl IntoIterator<Item = Part>) -> u64 {
    let mix = |hash: u64, part: Part| (hash ^ part.into()).wrapping_mul(0x0000_0100_0000_01b3);
    parts.into_iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_are_met() {
        assert_eq!(fnv1a("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a".bytes()), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar".bytes()), 0x8594_4171_f739_67e8);
    }
}
