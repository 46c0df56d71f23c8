//! The charts of results of kernels.

use std::collections::BTreeMap;

use chart::{Axis, Chart, Point, Scale, Series};

use super::results::{
    Class, Comparison, Figure, LibraryVariant, Problem, RankSeries, Results, VariantSeries,
};

/// Charts that belong together.
pub(super) struct Group {
    /// The title of the group.
    pub heading: &'static str,
    /// How to read them.
    pub caption: String,
    /// One for each kernel; there is at least one.
    pub charts: Vec<Chart>,
}

/// The styles of libraries and kernels, equal in all charts of a page.
pub(super) struct Charts<'a> {
    results: &'a Results,
    mains: Vec<&'a LibraryVariant>,
    comparisons: &'a [Comparison],
}

impl<'a> Charts<'a> {
    /// The charts of these results.
    pub(super) fn new(results: &'a Results, comparisons: &'a [Comparison]) -> Self {
        Self { results, mains: results.main_variants(), comparisons }
    }

    /// All sources and classes with results.
    pub(super) fn sections(&self) -> Vec<(&'a str, Class)> {
        let problems = self.results.rates.keys();
        let mut sections: Vec<_> =
            problems.map(|problem| (problem.source.as_str(), problem.class)).collect();
        sections.dedup();
        sections
    }

    /// The charts of one of them, without empty ones.
    pub(super) fn groups(&self, source: &str, class: Class) -> Vec<Group> {
        let problems: Vec<_> = (self.results.rates.iter())
            .filter(|(problem, _)| problem.source == source && problem.class == class)
            .collect();
        let each = |chart: &dyn Fn(&Problem, &VariantSeries) -> Option<Chart>| {
            problems.iter().filter_map(|(problem, ways)| chart(problem, ways)).collect::<Vec<_>>()
        };
        let ours = self.mains.iter().find(|way| way.is_ours());
        let base = ours.map_or(String::new(), |way| format!(" Suiro is run as {}.", way.name()));
        let groups = [
            Group {
                heading: "Comparison with the best peer",
                caption: "Mop/s of Suiro divided by those of the best peer for the kernel. Above 1, \
                          Suiro is faster."
                    .to_owned(),
                charts: self.ratios(source, class),
            },
            Group {
                heading: "Libraries",
                caption: format!("Medians; whiskers from the least to the most.{base}"),
                charts: each(&|problem, ways| self.rates(problem, ways)),
            },
            Group {
                heading: "Speed-up",
                caption: "Each library relative to its own rate on the fewest ranks.".to_owned(),
                charts: each(&|problem, ways| self.speed_ups(problem, ways)),
            },
            Group {
                heading: "Devices",
                caption: "Suiro on each device.".to_owned(),
                charts: each(&|problem, ways| {
                    self.variants(problem, ways, "by device", |way| (&way.device, &way.progress))
                }),
            },
            Group {
                heading: "Progress modes",
                caption:
                    "Suiro, by what makes progress: calls (polling), calls and a thread (thread, auto), \
                          or a thread alone (delegate)."
                        .to_owned(),
                charts: each(&|problem, ways| {
                    self.variants(problem, ways, "by progress", |way| (&way.progress, &way.device))
                }),
            },
        ];
        groups.into_iter().filter(|group| !group.charts.is_empty()).collect()
    }

    fn ratios(&self, source: &str, class: Class) -> Vec<Chart> {
        let Some(main) = self.mains.iter().find(|way| way.is_ours()) else { return Vec::new() };
        let mut kernels: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
        let mut means = Vec::new();
        let ours = self.comparisons.iter().filter(|it| it.source == source && it.class == class);
        for comparison in ours.filter(|it| it.way == **main) {
            let x = f64::from(comparison.ranks);
            let point = |y| Point { x, y, low: y, high: y };
            for ratio in &comparison.ratios {
                kernels.entry(&ratio.kernel).or_default().push(point(ratio.value));
            }
            means.push(point(comparison.mean()));
        }
        if means.is_empty() {
            return Vec::new();
        }
        let mean = Series { name: "geometric mean".to_owned(), style: 0, points: means };
        let kernels = kernels.into_iter().enumerate().map(|(index, (kernel, points))| Series {
            name: kernel.to_uppercase(),
            style: index + 1,
            points,
        });
        vec![Chart {
            title: format!("Suiro relative to the best peer, class {}", class.0),
            summary: format!("Rate of {} relative to the best peer, by ranks.", main.name()),
            x: Axis::new("ranks", Scale::Steps),
            y: Axis::new("times the best peer's Mop/s", Scale::Near),
            series: std::iter::once(mean).chain(kernels).collect(),
            guide: Some(1.0),
        }]
    }

    fn rates(&self, problem: &Problem, ways: &VariantSeries) -> Option<Chart> {
        let lines = self.mains.iter().enumerate().filter_map(|(style, way)| {
            Some(Series { name: way.library.clone(), style, points: points(ways.get(*way)?) })
        });
        chart(problem, "Mop/s", "Mop/s of all ranks", lines.collect())
    }

    fn speed_ups(&self, problem: &Problem, ways: &VariantSeries) -> Option<Chart> {
        let lines = || self.mains.iter().filter_map(|way| ways.get(*way));
        let ranks = || lines().flat_map(BTreeMap::keys);
        let (fewest, most) = (ranks().min()?, ranks().max()?);
        if fewest == most {
            return None;
        }
        let mut series = Vec::new();
        for (style, way) in self.mains.iter().enumerate() {
            let line = ways.get(*way);
            let Some((line, base)) = line.and_then(|line| Some((line, line.get(fewest)?))) else {
                continue;
            };
            let by_base =
                |(ranks, figure): (&u32, &Figure)| (*ranks, figure.times(1.0 / base.median));
            let points = points(&line.iter().map(by_base).collect());
            series.push(Series { name: way.library.clone(), style, points });
        }
        let unit =
            format!("times its own Mop/s on {fewest} rank{}", if *fewest == 1 { "" } else { "s" });
        chart(problem, "speed-up", &unit, series)
    }

    /// The variants of Suiro that differ in one setting only; `of` gives that setting and the other one,
    /// which is as in the variant for comparisons.
    fn variants(
        &self, problem: &Problem, ways: &VariantSeries, what: &str,
        of: impl Fn(&LibraryVariant) -> (&Option<String>, &Option<String>),
    ) -> Option<Chart> {
        let (_, other) = of(self.mains.iter().find(|way| way.is_ours())?);
        let all = self.results.variants();
        let comparable = |way: &&LibraryVariant| way.is_ours() && of(way).1 == other;
        let mut series = Vec::new();
        for (style, way) in all.into_iter().filter(comparable).enumerate() {
            let Some(line) = ways.get(way) else { continue };
            let name = of(way).0.clone().unwrap_or_else(|| "default".to_owned());
            series.push(Series { name, style, points: points(line) });
        }
        if series.len() < 2 {
            return None;
        }
        chart(problem, what, "Mop/s of all ranks", series)
    }
}

fn points(line: &RankSeries) -> Vec<Point> {
    let point = |(ranks, figure): (&u32, &Figure)| {
        let Figure { median, low, high, .. } = *figure;
        Point { x: f64::from(*ranks), y: median, low, high }
    };
    line.iter().map(point).collect()
}

fn chart(problem: &Problem, what: &str, unit: &str, series: Vec<Series>) -> Option<Chart> {
    let Problem { kernel, class, source } = problem;
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let chart = Chart {
        title: format!("{}, class {}: {what}", kernel.to_uppercase(), class.0),
        summary: format!("{unit} by ranks, of {source}: {}.", names.join(", ")),
        x: Axis::new("ranks", Scale::Steps),
        y: Axis::new(unit, Scale::Linear),
        series,
        guide: None,
    };
    (!chart.is_empty()).then_some(chart)
}
