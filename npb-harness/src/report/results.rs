//! Groups records: medians by problem and variant, and comparisons of Suiro with its peers. Formats
//! nothing.

use std::collections::BTreeMap;

use crate::{
    record::{Outcome, Record, Setting},
    summary::median,
};

/// The name of Suiro in records.
pub(crate) const OURS: &str = "suiro";

/// A kernel in a class, without the number of ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// `kernels`, or the name of a tree.
    pub source: String,
    /// The size.
    pub class: Class,
    /// The kernel in lower case.
    pub kernel: String,
}

/// The size of a problem; they are in order of size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(pub char);

/// The classes of NPB, from the smallest.
const CLASSES: &str = "SWABCDEF";

impl Ord for Class {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let order = |class: &Self| (CLASSES.find(class.0).unwrap_or(usize::MAX), class.0);
        order(self).cmp(&order(other))
    }
}

impl PartialOrd for Class {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A library with its settings. Suiro is ordered before peers, and its default before others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LibraryVariant {
    /// `suiro`, or the label of a peer.
    pub library: String,
    /// The device, if there is a choice.
    pub device: Option<String>,
    /// The progress mode, if there is a choice.
    pub progress: Option<String>,
}

impl LibraryVariant {
    /// The name in tables.
    pub(crate) fn name(&self) -> String {
        let parts = [Some(&self.library), self.device.as_ref(), self.progress.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Whether it is Suiro.
    pub(crate) fn is_ours(&self) -> bool {
        self.library == OURS
    }

    /// Whether it is the default of Suiro.
    fn is_default(&self) -> bool {
        let is = |name: &Option<String>, default| name.as_deref().is_none_or(|it| it == default);
        is(&self.device, "shm") && is(&self.progress, "polling")
    }
}

impl Ord for LibraryVariant {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let order = |way: &Self| (!way.is_ours(), !(way.is_ours() && way.is_default()));
        let words = |way: &Self| (way.library.clone(), way.device.clone(), way.progress.clone());
        order(self).cmp(&order(other)).then_with(|| words(self).cmp(&words(other)))
    }
}

impl PartialOrd for LibraryVariant {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The median of several values, and their spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub median: f64,
    /// The minimum.
    pub low: f64,
    /// The maximum.
    pub high: f64,
    /// The number of values.
    pub count: usize,
}

impl Figure {
    /// The figure of these values; `None` if there are none.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        let median = median(&mut values)?;
        let (low, high) = (*values.first()?, *values.last()?);
        let count = values.len();
        Some(Self { median, low, high, count })
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        let Self { median, low, high, count } = self;
        Self { median: median * factor, low: low * factor, high: high * factor, count }
    }
}

/// Mop/s of one variant by number of ranks.
pub(crate) type RankSeries = BTreeMap<u32, Figure>;

/// Mop/s of all variants of a problem.
pub(crate) type VariantSeries = BTreeMap<LibraryVariant, RankSeries>;

/// All results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// The rates of verified runs.
    pub rates: BTreeMap<Problem, VariantSeries>,
    /// The other runs, in the order of the files.
    pub failures: Vec<Record>,
    /// The number of runs.
    pub runs: usize,
    /// The numbers of processors of the machines.
    pub processors: Vec<usize>,
}

impl Results {
    /// The results of these records.
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut values: BTreeMap<(Problem, LibraryVariant, u32), Vec<f64>> = BTreeMap::new();
        let mut failures = Vec::new();
        for record in records {
            match (record.outcome, record.mops) {
                (Outcome::Verified, Some(mops)) => {
                    values.entry(key(&record.setting)).or_default().push(mops);
                }
                (Outcome::Verified, None) => {}
                (Outcome::Unverified | Outcome::Failed, _) => failures.push(record.clone()),
            }
        }
        let mut rates: BTreeMap<Problem, VariantSeries> = BTreeMap::new();
        for ((problem, way, ranks), values) in values {
            let line = rates.entry(problem).or_default().entry(way).or_default();
            line.extend(Figure::of(values).map(|figure| (ranks, figure)));
        }
        let mut processors: Vec<usize> = records.iter().map(|record| record.processors).collect();
        processors.sort_unstable();
        processors.dedup();
        Self { rates, failures, runs: records.len(), processors }
    }

    /// All distinct variants, in order.
    pub(crate) fn variants(&self) -> Vec<&LibraryVariant> {
        let mut ways: Vec<&LibraryVariant> = self.rates.values().flat_map(BTreeMap::keys).collect();
        ways.sort();
        ways.dedup();
        ways
    }

    /// One variant for each library, for comparisons: its default if that was run, or the variant with
    /// the most figures. Suiro is the first.
    pub(crate) fn main_variants(&self) -> Vec<&LibraryVariant> {
        let mut mains: Vec<&LibraryVariant> = Vec::new();
        for way in self.variants() {
            match mains.iter_mut().find(|main| main.library == way.library) {
                Some(main) if self.weight(way) > self.weight(main) => *main = way,
                Some(_) => {}
                None => mains.push(way),
            }
        }
        mains.sort();
        mains
    }

    fn weight(&self, way: &LibraryVariant) -> (bool, usize) {
        let lines = self.rates.values().filter_map(|ways| ways.get(way));
        (way.is_default(), lines.map(BTreeMap::len).sum())
    }

    /// Suiro compared with the best peer, for each variant of Suiro, by source, class and ranks. Empty
    /// without peers.
    pub(crate) fn comparisons(&self) -> Vec<Comparison> {
        let mut found: BTreeMap<(String, Class, LibraryVariant, u32), Vec<Ratio>> = BTreeMap::new();
        for (problem, ways) in &self.rates {
            let (ours, peers): (Vec<_>, Vec<_>) = ways.iter().partition(|(way, _)| way.is_ours());
            for (way, line) in ours {
                for (ranks, figure) in line {
                    let Some((peer, best)) = best_of(&peers, *ranks) else { continue };
                    let key = (problem.source.clone(), problem.class, way.clone(), *ranks);
                    let value = figure.median / best;
                    let kernel = problem.kernel.clone();
                    found.entry(key).or_default().push(Ratio { kernel, peer: peer.name(), value });
                }
            }
        }
        let comparison = |((source, class, way, ranks), ratios)| Comparison {
            source,
            class,
            way,
            ranks,
            ratios,
        };
        found.into_iter().map(comparison).collect()
    }
}

fn key(setting: &Setting) -> (Problem, LibraryVariant, u32) {
    let Setting { source, kernel, class, ranks, library, device, progress } = setting.clone();
    let problem = Problem { source, class: Class(class), kernel };
    (problem, LibraryVariant { library, device, progress }, ranks)
}

/// The peer with the greatest median on this number of ranks.
fn best_of<'a>(
    peers: &[(&'a LibraryVariant, &RankSeries)], ranks: u32,
) -> Option<(&'a LibraryVariant, f64)> {
    let medians = peers.iter().filter_map(|(way, line)| Some((*way, line.get(&ranks)?.median)));
    medians.filter(|(_, median)| *median > 0.0).max_by(|one, other| one.1.total_cmp(&other.1))
}

/// A median of Suiro relative to that of the best peer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub kernel: String,
    /// The best peer.
    pub peer: String,
    /// Above 1, Suiro is faster.
    pub value: f64,
}

/// One variant of Suiro on a number of ranks, compared with the best peer for each kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// `kernels`, or the name of a tree.
    pub source: String,
    /// The size.
    pub class: Class,
    /// The variant of Suiro.
    pub way: LibraryVariant,
    pub ranks: u32,
    /// One for each kernel; there is at least one.
    pub ratios: Vec<Ratio>,
}

impl Comparison {
    /// The geometric mean over the kernels.
    pub(crate) fn mean(&self) -> f64 {
        let values: Vec<f64> = self.ratios.iter().map(|ratio| ratio.value).collect();
        geometric_mean(&values).unwrap_or(f64::NAN)
    }

    /// The kernels with the smallest and the greatest ratio.
    pub(crate) fn extremes(&self) -> Option<(&Ratio, &Ratio)> {
        let least = self.ratios.iter().min_by(|one, other| one.value.total_cmp(&other.value))?;
        let most = self.ratios.iter().max_by(|one, other| one.value.total_cmp(&other.value))?;
        Some((least, most))
    }
}

/// The geometric mean of positive values; `None` of none.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, record};
    use super::*;

    #[test]
    fn medians_are_of_verified_runs_only() {
        let mut records: Vec<Record> =
            [90.0, 110.0, 100.0].map(|mops| record("cg", 'A', 2, "suiro", mops)).to_vec();
        records.push(Record { outcome: Outcome::Unverified, ..record("cg", 'A', 2, "suiro", 1e9) });
        records.push(Record { mops: None, outcome: Outcome::Failed, ..records[0].clone() });
        let results = Results::of(&records);
        let line = results.rates.values().next().unwrap().values().next().unwrap();
        assert_eq!(line[&2], Figure { median: 100.0, low: 90.0, high: 110.0, count: 3 });
        assert_eq!((results.runs, results.failures.len()), (5, 2));
    }

    #[test]
    fn each_kernel_is_compared_with_its_best_peer() {
        let records = [
            record("cg", 'A', 2, "suiro", 200.0),
            record("cg", 'A', 2, "mpich", 100.0),
            record("cg", 'A', 2, "openmpi", 80.0),
            record("mg", 'A', 2, "suiro", 50.0),
            record("mg", 'A', 2, "mpich", 90.0),
            record("mg", 'A', 2, "openmpi", 100.0),
            record("mg", 'A', 4, "suiro", 50.0),
        ];
        let comparisons = Results::of(&records).comparisons();
        assert_eq!(comparisons.len(), 1, "no peer has results on 4 ranks");
        assert!((comparisons[0].mean() - 1.0).abs() < 1e-12);
        let (least, most) = comparisons[0].extremes().unwrap();
        assert_eq!(
            (least.kernel.as_str(), least.peer.as_str(), least.value),
            ("mg", "openmpi", 0.5)
        );
        assert_eq!((most.kernel.as_str(), most.peer.as_str(), most.value), ("cg", "mpich", 2.0));
    }

    #[test]
    fn classes_are_in_order_of_size() {
        let mut classes = ['C', 'A', 'W', 'S', 'B'].map(Class);
        classes.sort();
        assert_eq!(classes.map(|class| class.0), ['S', 'W', 'A', 'B', 'C']);
    }

    #[test]
    fn libraries_are_compared_by_their_defaults() {
        let results = Results::of(&fixture::records());
        let names: Vec<String> = results.main_variants().iter().map(|way| way.name()).collect();
        assert_eq!(names, ["suiro shm polling", "intel", "mpich"]);
    }
}
