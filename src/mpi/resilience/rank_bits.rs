//! A set of the ranks of a communicator, as bits.

/// Ranks below a number that its users know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RankBits(Vec<u64>);

impl RankBits {
    /// All ranks below `size`.
    #[cfg(test)]
    pub(crate) fn all(size: u32) -> Self {
        (0..size).collect()
    }

    pub(crate) fn insert(&mut self, rank: u32) -> bool {
        let (word, bit) = (rank as usize / 64, 1 << (rank % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    pub(crate) fn contains(&self, rank: u32) -> bool {
        self.0.get(rank as usize / 64).is_some_and(|word| word & 1 << (rank % 64) != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The ranks, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        let of_word = |(index, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word & 1 << bit != 0).map(move |bit| index as u32 * 64 + bit)
        };
        self.0.iter().enumerate().flat_map(of_word)
    }

    /// Adds the ranks of `other`.
    pub(crate) fn unite(&mut self, other: &Self) {
        for rank in other.iter() {
            self.insert(rank);
        }
    }

    /// Keeps the ranks that `other` has too.
    pub(crate) fn intersect(&mut self, other: &Self) {
        *self = self.iter().filter(|rank| other.contains(*rank)).collect();
    }

    /// Whether `other` has every rank.
    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|rank| other.contains(rank))
    }

    /// The set as words of 64 ranks, without zeros at the end.
    pub(crate) fn words(&self) -> &[u64] {
        let len = self.0.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        &self.0[..len]
    }

    pub(crate) fn from_words(words: Vec<u64>) -> Self {
        Self(words)
    }
}

impl FromIterator<u32> for RankBits {
    fn from_iter<T: IntoIterator<Item = u32>>(ranks: T) -> Self {
        let mut set = Self::default();
        for rank in ranks {
            set.insert(rank);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_a_set_of_ranks() {
        let set: RankBits = [3, 64, 130, 3].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 64, 130]);
        assert_eq!((set.len(), set.contains(64), set.contains(999)), (3, true, false));
        let mut other = RankBits::all(70);
        assert!(!set.is_subset(&other) && other.contains(69) && !other.contains(70));
        other.intersect(&set);
        assert_eq!(other.iter().collect::<Vec<_>>(), [3, 64]);
        assert!(other.is_subset(&set) && RankBits::default().is_empty());
        other.unite(&set);
        assert_eq!(RankBits::from_words(other.words().to_vec()).words(), set.words());
    }
}
