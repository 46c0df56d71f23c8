//! `MPI_Dims_create` (MPI 5.0 §8.5.2): the most balanced lengths of a grid.
//!
//! The standard requires lengths "as close to each other as possible". This module minimizes the
//! difference between the longest and the shortest length, and then the sum, which is the surface.
//! After Träff and Lübbe, "Specification Guideline Violations by MPI_Dims_create", EuroMPI 2015,
//! which shows that greedy combination of factors misses this optimum.
//!
//! The search is branch and bound over the divisors: lengths descend, so the next one is at least
//! the root of the remaining product, and the shortest at most the root of the product that remains
//! after it. An `int` has at most 1536 divisors.

use platform::base::{ErrorClass, Result};

/// Replaces each 0 in `dims` so that the product of all is `nodes`; the new lengths descend.
///
/// # Errors
/// `Dims` if a length or `nodes` is negative, or no lengths have this product.
pub fn fill(nodes: i32, dims: &mut [i32]) -> Result {
    let total = u32::try_from(nodes).ok().filter(|total| *total > 0).ok_or_else(|| {
        ErrorClass::Dims.error(format!("the number of processes is {nodes}: expected 1 or more"))
    })?;
    let mut fixed = 1_u32;
    for (number, len) in dims.iter().enumerate().filter(|(_, len)| **len != 0) {
        let positive = u32::try_from(*len).map_err(|_| {
            ErrorClass::Dims
                .error(format!("the length of dimension {number} is {len}: expected 0 or more"))
        })?;
        // Saturation leads to a product above `nodes`.
        fixed = fixed.saturating_mul(positive);
    }
    let open = dims.iter().filter(|len| **len == 0).count();
    if !total.is_multiple_of(fixed) || (open == 0 && total != fixed) {
        let why = format!(
            "{nodes} processes cannot fill a grid of {dims:?}: expected lengths whose product \
             divides {nodes}"
        );
        return Err(ErrorClass::Dims.error(why));
    }
    let lens = balanced(total / fixed, open);
    for (slot, len) in dims.iter_mut().filter(|len| **len == 0).zip(lens) {
        *slot = len as i32;
    }
    Ok(())
}

/// The `count` most balanced factors of `total`, descending. `total` is 1 if `count` is 0.
fn balanced(total: u32, count: usize) -> Vec<u32> {
    let mut primes = primes(total);
    if count >= primes.len() {
        // Splitting a factor never increases the longest length, and decreases the sum.
        primes.reverse();
        primes.resize(count, 1);
        return primes;
    }
    let divisors = divisors(&primes);
    let mut search =
        FactorSearch { divisors, chosen: Vec::new(), best: Vec::new(), imbalance: WORST };
    search.extend(total, count, total);
    search.best
}

/// Imbalance of lengths: the spread, then the sum.
type Imbalance = (u32, u32);
const WORST: Imbalance = (u32::MAX, u32::MAX);

struct FactorSearch {
    /// Divisors of the number, ascending.
    divisors: Vec<u32>,
    chosen: Vec<u32>,
    best: Vec<u32>,
    imbalance: Imbalance,
}

impl FactorSearch {
    /// Tries all continuations with `count` factors of `rest`, none above `limit`.
    fn extend(&mut self, rest: u32, count: usize, limit: u32) {
        if count == 1 {
            if rest <= limit {
                self.compare_best(rest);
            }
            return;
        }
        let least = root_above(rest, count);
        let start = self.divisors.partition_point(|divisor| *divisor < least);
        for index in start..self.divisors.len() {
            let factor = self.divisors[index];
            if factor > limit || factor > rest {
                break;
            }
            if !rest.is_multiple_of(factor) {
                continue;
            }
            // The bound increases with the factor.
            if self.bound(factor, rest / factor, count - 1) >= self.imbalance {
                break;
            }
            self.chosen.push(factor);
            self.extend(rest / factor, count - 1, factor);
            self.chosen.pop();
        }
    }

    /// Lower bound of the imbalance for `factor` and `count` factors of `rest`.
    fn bound(&self, factor: u32, rest: u32, count: usize) -> Imbalance {
        let longest = self.chosen.first().copied().unwrap_or(factor);
        let sum: u32 = self.chosen.iter().sum();
        // The sum of numbers with this product is at least this (inequality of means).
        let below = root_below(rest, count);
        (longest - below.min(longest), sum + factor + below * count as u32)
    }

    fn compare_best(&mut self, last: u32) {
        let longest = self.chosen.first().copied().unwrap_or(last);
        let score = (longest - last, self.chosen.iter().sum::<u32>() + last);
        if score < self.imbalance {
            self.imbalance = score;
            self.best = [&*self.chosen, &[last]].concat();
        }
    }
}

/// The largest number whose power is at most `of`.
fn root_below(of: u32, power: usize) -> u32 {
    let fits = |root: u32| exceeds(root, power, of) != Some(true);
    // The floating-point root is right to within one.
    let guess = f64::from(of).powf(1.0 / power as f64) as u32;
    let near = [guess + 1, guess, guess.saturating_sub(1)];
    near.into_iter().find(|root| fits(*root)).unwrap_or(0)
}

/// The smallest number whose power is at least `of`.
fn root_above(of: u32, power: usize) -> u32 {
    let below = root_below(of, power);
    if exceeds(below, power, of).is_none() { below } else { below + 1 }
}

/// Whether the power of `root` is above `of`; `None` if they are equal.
fn exceeds(root: u32, power: usize, of: u32) -> Option<bool> {
    let power = u32::try_from(power).unwrap_or(u32::MAX);
    match u64::from(root).checked_pow(power) {
        Some(product) if product == u64::from(of) => None,
        Some(product) => Some(product > u64::from(of)),
        None => Some(true),
    }
}

/// The prime factors, ascending; none of 1.
fn primes(number: u32) -> Vec<u32> {
    let (mut rest, mut found) = (number, Vec::new());
    let mut candidate = 2;
    while candidate <= rest / candidate {
        while rest % candidate == 0 {
            rest /= candidate;
            found.push(candidate);
        }
        candidate += 1;
    }
    if rest > 1 {
        found.push(rest);
    }
    found
}

/// Every divisor of the product of these primes, ascending.
fn divisors(primes: &[u32]) -> Vec<u32> {
    let mut found = vec![1];
    for power in primes.chunk_by(|one, other| one == other) {
        let before = found.len();
        for place in 0..power.len() * before {
            found.push(found[place] * power[0]);
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(nodes: i32, dims: &[i32]) -> Result<Vec<i32>> {
        let mut dims = dims.to_vec();
        fill(nodes, &mut dims).map(|()| dims)
    }

    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(filled(6, &[0, 0]).unwrap(), [3, 2]);
        assert_eq!(filled(7, &[0, 0]).unwrap(), [7, 1]);
        assert_eq!(filled(6, &[0, 3, 0]).unwrap(), [2, 3, 1]);
        assert_eq!(filled(7, &[0, 3, 0]).unwrap_err().code.0, ErrorClass::Dims as i32);
    }

    #[test]
    fn greedy_factors_would_miss_these() {
        assert_eq!(filled(36, &[0, 0, 0]).unwrap(), [4, 3, 3]);
        assert_eq!(filled(72, &[0, 0, 0]).unwrap(), [6, 4, 3]);
        assert_eq!(filled(1000, &[0, 0, 0]).unwrap(), [10, 10, 10]);
        assert_eq!(filled(1440, &[0, 0]).unwrap(), [40, 36]);
    }

    #[test]
    fn what_cannot_be_is_refused_and_changes_nothing() {
        for (nodes, dims) in [
            (0, &[0][..]),
            (-4, &[0, 0]),
            (8, &[-2, 0]),
            (8, &[3, 0]),
            (8, &[2, 2]),
            (8, &[]),
            (2, &[i32::MAX, i32::MAX]),
        ] {
            let mut kept = dims.to_vec();
            assert_eq!(fill(nodes, &mut kept).unwrap_err().code.0, ErrorClass::Dims as i32);
            assert_eq!(kept, dims);
        }
        assert_eq!(filled(1, &[]).unwrap(), [0; 0]);
        assert_eq!(filled(8, &[4, 2]).unwrap(), [4, 2]);
    }

    /// The best score by trying every factorization.
    fn brute(rest: u32, count: usize, limit: u32, longest: u32, sum: u32) -> Imbalance {
        if count == 1 {
            let score = (longest.max(rest) - rest, sum + rest);
            return if rest <= limit { score } else { WORST };
        }
        let factors = (1..=rest.min(limit)).filter(|factor| rest.is_multiple_of(*factor));
        let scores = factors.map(|factor| {
            brute(rest / factor, count - 1, factor, longest.max(factor), sum + factor)
        });
        scores.min().unwrap_or(WORST)
    }

    fn check(nodes: u32, count: usize) -> Imbalance {
        let lens = balanced(nodes, count);
        assert_eq!(lens.len(), count);
        assert_eq!(lens.iter().product::<u32>(), nodes);
        assert!(lens.is_sorted_by(|one, next| one >= next), "{lens:?}");
        (lens[0] - lens[count - 1], lens.iter().sum())
    }

    #[test]
    fn no_factorization_is_more_balanced() {
        for nodes in (1..=600).chain((600..=4000).step_by(7)).chain([2520, 3600, 3456, 4096]) {
            for count in 1..=4 {
                let best = brute(nodes, count, nodes, 0, 0);
                assert_eq!(check(nodes, count), best, "{nodes} in {count}");
            }
        }
    }

    /// Each would take minutes if the search were not bounded.
    #[test]
    fn the_largest_numbers_and_those_with_most_divisors_are_fast() {
        let composite = [2_095_133_040, 1_102_701_600, 698_377_680, 1 << 30, 2 * 3_u32.pow(18)];
        let prime = [i32::MAX as u32, 2_147_483_629, 46_337 * 46_337, 2 * 1_073_741_789];
        for nodes in composite.into_iter().chain(prime).chain(99_000..100_000) {
            for count in 1..=33 {
                check(nodes, count);
            }
        }
        assert_eq!(balanced(1 << 30, 3), [1024; 3]);
        assert_eq!(balanced(i32::MAX as u32, 2), [i32::MAX as u32, 1]);
        assert_eq!(balanced(1, 1_000_000).len(), 1_000_000);
    }
}
