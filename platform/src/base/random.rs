//! Seeded pseudorandom numbers for tests, fault injection and simulation; never for secrets.
//!
//! SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014. Equal seeds give equal sequences on every machine.
//!
//! Not a crate: failing tests print a seed, and recorded results depend on seeds, so the sequence of
//! a seed must never change. `fastrand` and `rand` do not guarantee the sequences of ranges between
//! versions. `rand_xoshiro` has this generator, whose five lines are all that it would replace.

/// The state of a sequence.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, by multiplication instead of division. The bias is below 2^-32 for
    /// bounds up to 2^32.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0);
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// True once in `n` calls on average; never if `n` is zero.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_paper() {
        // The first numbers of seed 1234567 in the reference implementation.
        let mut random = Random::new(1234567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn below_stays_below_and_reaches_everything() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[random.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
