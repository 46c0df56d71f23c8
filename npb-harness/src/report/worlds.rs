//! The sections of experiments with several jobs in one world: each set-up relative to what its experiment
//! compares it with, as tables and charts.

use std::collections::BTreeMap;

use chart::{Axis, Chart, Point, Scale, Series, number};

use super::charts::Group;
use super::results::{Class, LibraryVariant, Problem, Results, VariantSeries, geometric_mean};
use super::tables::{self, Table};
use crate::model::worlds::experiment::WorldExperiment;
use crate::record::Record;

/// The results of one experiment.
pub(super) struct WorldSection {
    pub experiment: WorldExperiment,
    results: Results,
}

/// The rates of a set-up relative to those of its base, one for each kernel.
struct Relative<'a> {
    class: Class,
    way: &'a LibraryVariant,
    ranks: u32,
    base: &'a LibraryVariant,
    ratios: Vec<(&'a str, f64)>,
}

/// The lines of a chart by name and style.
type Lines = BTreeMap<(String, usize), Vec<Point>>;

/// The experiments of these records; and the records of no such experiment.
pub(super) fn divided(records: &[Record]) -> (Vec<WorldSection>, Vec<Record>) {
    let is_of =
        |record: &&Record, experiment: WorldExperiment| record.setting.source == experiment.name();
    let sections = WorldExperiment::ALL.into_iter().filter_map(|experiment| {
        let own: Vec<_> = records.iter().filter(|it| is_of(it, experiment)).cloned().collect();
        (!own.is_empty()).then(|| WorldSection { experiment, results: Results::of(&own) })
    });
    let sections = sections.collect();
    let of_none = |record: &&Record| WorldExperiment::named(&record.setting.source).is_none();
    (sections, records.iter().filter(of_none).cloned().collect())
}

impl WorldSection {
    /// The name of a variant in this experiment: Suiro is all but the peers.
    fn name(way: &LibraryVariant) -> String {
        if !way.is_ours() {
            return format!("{} alone", way.library);
        }
        let parts = [way.device.as_deref(), way.progress.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn base<'a>(
        &self, way: &LibraryVariant, lines: &'a VariantSeries,
    ) -> Option<&'a LibraryVariant> {
        self.experiment.base(way, lines.keys())
    }

    fn relatives(&self) -> Vec<Relative<'_>> {
        let mut found: BTreeMap<_, Vec<(&str, f64)>> = BTreeMap::new();
        for (problem, lines) in &self.results.rates {
            for (way, line) in lines {
                let Some(base) = self.base(way, lines).filter(|base| *base != way) else {
                    continue;
                };
                for (ranks, figure) in line {
                    let Some(by) = lines[base].get(ranks) else { continue };
                    let ratio = (problem.kernel.as_str(), figure.median / by.median);
                    found.entry((problem.class, way, *ranks, base)).or_default().push(ratio);
                }
            }
        }
        let relative =
            |((class, way, ranks, base), ratios)| Relative { class, way, ranks, base, ratios };
        found.into_iter().map(relative).collect()
    }

    /// The mean over the kernels, and the extremes.
    pub(super) fn means(&self) -> Table {
        let columns = ["class", "set-up", "ranks", "mean", "least", "most", "times"];
        let rows = self.relatives().into_iter().filter_map(|relative| {
            let by_value = |one: &&(&str, f64), other: &&(&str, f64)| one.1.total_cmp(&other.1);
            let least = relative.ratios.iter().min_by(by_value)?;
            let most = relative.ratios.iter().max_by(by_value)?;
            let extreme = |(kernel, value): &(&str, f64)| {
                format!("{} ({})", ratio(*value), kernel.to_uppercase())
            };
            Some(vec![
                relative.class.0.to_string(),
                Self::name(relative.way),
                relative.ranks.to_string(),
                relative.mean().map_or_else(String::new, ratio),
                extreme(least),
                extreme(most),
                Self::name(relative.base),
            ])
        });
        tables::words(&columns, rows)
    }

    /// All figures.
    pub(super) fn figures(&self) -> Table {
        let columns = ["class", "kernel", "ranks", "set-up", "Mop/s", "relative"];
        let mut rows = Vec::new();
        for (problem, lines) in &self.results.rates {
            for (way, line) in lines {
                let base = self.base(way, lines).map(|base| &lines[base]);
                for (ranks, figure) in line {
                    let by = base.and_then(|base| base.get(ranks));
                    let relative = by.map(|by| ratio(figure.median / by.median));
                    rows.push(vec![
                        problem.class.0.to_string(),
                        problem.kernel.to_uppercase(),
                        ranks.to_string(),
                        Self::name(way),
                        tables::spread(figure),
                        relative.unwrap_or_else(|| "–".to_owned()),
                    ]);
                }
            }
        }
        tables::words(&columns, rows.into_iter())
    }

    /// The charts: relative to the base, and the rate of each kernel.
    pub(super) fn groups(&self) -> Vec<Group> {
        let groups = [
            Group {
                heading: "Relative to the base",
                caption: "Geometric means over the kernels; above 1 is faster.".to_owned(),
                charts: self.relative_charts(),
            },
            Group {
                heading: "Kernels",
                caption: "Medians; whiskers from the least to the most.".to_owned(),
                charts: self.rate_charts(),
            },
        ];
        groups.into_iter().filter(|group| !group.charts.is_empty()).collect()
    }

    /// The part of the set-ups that a chart shows: modes of progress are compared over equal transports.
    fn panel(&self, way: &LibraryVariant) -> Option<String> {
        way.device.clone().filter(|_| self.experiment == WorldExperiment::Progress)
    }

    /// The style of a set-up in all charts: that of its mode where modes are compared.
    fn style(&self, way: &LibraryVariant) -> usize {
        let shown = |way: &LibraryVariant| match self.panel(way) {
            Some(_) => way.progress.clone().unwrap_or_default(),
            None => Self::name(way),
        };
        let mut all: Vec<_> = self.results.variants().into_iter().map(shown).collect();
        all.sort();
        all.dedup();
        all.iter().position(|name| *name == shown(way)).unwrap_or_default()
    }

    fn relative_charts(&self) -> Vec<Chart> {
        let mut charts: BTreeMap<_, Lines> = BTreeMap::new();
        for relative in self.relatives() {
            let Some(y) = relative.mean() else { continue };
            let panel = self.panel(relative.way);
            let lines =
                charts.entry((relative.class, panel, Self::name(relative.base))).or_default();
            let point = Point { x: f64::from(relative.ranks), y, low: y, high: y };
            let key = (Self::name(relative.way), self.style(relative.way));
            lines.entry(key).or_default().push(point);
        }
        let chart = |((class, panel, base), lines): ((Class, Option<String>, String), _)| {
            let panel = panel.map_or_else(String::new, |panel| format!("{panel}, "));
            Chart {
                title: format!("{panel}class {}", class.0),
                summary: format!("Rates relative to {base}, by ranks."),
                x: Axis::new("ranks", Scale::Steps),
                y: Axis::new(format!("times the Mop/s of {base}"), Scale::Near),
                series: series(lines),
                guide: Some(1.0),
            }
        };
        charts.into_iter().map(chart).collect()
    }

    fn rate_charts(&self) -> Vec<Chart> {
        let mut charts = Vec::new();
        for (problem, ways) in &self.results.rates {
            let mut panels: BTreeMap<Option<String>, Lines> = BTreeMap::new();
            for (way, line) in ways {
                let points = line.iter().map(|(ranks, figure)| Point {
                    x: f64::from(*ranks),
                    y: figure.median,
                    low: figure.low,
                    high: figure.high,
                });
                let lines = panels.entry(self.panel(way)).or_default();
                lines.insert((Self::name(way), self.style(way)), points.collect());
            }
            charts
                .extend(panels.into_iter().map(|(panel, lines)| rate_chart(problem, panel, lines)));
        }
        charts
    }
}

impl Relative<'_> {
    fn mean(&self) -> Option<f64> {
        geometric_mean(&self.ratios.iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>())
    }
}

fn rate_chart(problem: &Problem, panel: Option<String>, lines: Lines) -> Chart {
    let kernel = problem.kernel.to_uppercase();
    let most = lines.values().flatten().map(|point| point.y).fold(0.0, f64::max);
    let panel = panel.map_or_else(String::new, |panel| format!(", {panel}"));
    Chart {
        title: format!("{kernel}, class {}{panel}", problem.class.0),
        summary: format!("Mop/s of all ranks by ranks, at most {}.", number(most)),
        x: Axis::new("ranks", Scale::Steps),
        y: Axis::new("Mop/s of all ranks", Scale::Linear),
        series: series(lines),
        guide: None,
    }
}

/// A ratio with two digits at least.
fn ratio(value: f64) -> String {
    if value < 0.1 { format!("{value:.4}") } else { format!("{value:.2}") }
}

fn series(lines: Lines) -> Vec<Series> {
    lines.into_iter().map(|((name, style), points)| Series { name, style, points }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::record;
    use super::*;

    fn run(source: &str, kernel: &str, way: [&str; 3], ranks: u32, mops: f64) -> Record {
        let mut record = record(kernel, 'S', ranks, way[0], mops);
        record.setting.source = source.to_owned();
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        record.setting.device = some(way[1]);
        record.setting.progress = some(way[2]);
        record
    }

    #[test]
    fn set_ups_are_compared_with_the_base_of_their_experiment() {
        let (peer, vendor) = (["mpich", "", ""], ["suiro", "vendor", "polling"]);
        let records = [
            run("vendor", "cg", peer, 2, 100.0),
            run("vendor", "is", peer, 2, 100.0),
            run("vendor", "cg", vendor, 2, 90.0),
            run("vendor", "is", vendor, 2, 160.0),
            run("kernels", "is", vendor, 2, 1.0),
        ];
        let (sections, others) = divided(&records);
        assert_eq!((sections.len(), others.len()), (1, 1));
        let means = sections[0].means().rows;
        let wanted = ["S", "vendor, polling", "2", "1.20", "0.90 (CG)", "1.60 (IS)", "mpich alone"];
        assert_eq!(means, [wanted]);
        let figures = sections[0].figures().rows;
        assert_eq!(figures.len(), 4);
        assert_eq!(figures[0], ["S", "CG", "2", "vendor, polling", "90", "0.90"]);
    }

    #[test]
    fn without_the_base_there_are_rates_only() {
        let (sections, _) =
            divided(&[run("vendor", "cg", ["suiro", "vendor", "polling"], 2, 90.0)]);
        assert!(sections[0].means().rows.is_empty());
        assert_eq!(sections[0].figures().rows[0][5], "–");
        let groups = sections[0].groups();
        assert_eq!(groups.iter().map(|group| group.charts.len()).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn modes_of_progress_have_a_chart_for_each_transport() {
        let records: Vec<_> = ["shm", "shm + shm"]
            .into_iter()
            .flat_map(|device| ["polling", "delegate"].map(|mode| ["suiro", device, mode]))
            .map(|way| run("progress", "cg", way, 2, 50.0))
            .collect();
        let (sections, _) = divided(&records);
        let groups = sections[0].groups();
        let titles: Vec<_> = groups[0].charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["shm, class S", "shm + shm, class S"]);
        assert_eq!(groups[1].charts.len(), 2);
        // One line each: polling is what delegate is compared with.
        assert_eq!(groups[0].charts[0].series.len(), 1);
        assert_eq!(groups[1].charts[0].series.len(), 2);
        let styles = |chart: &Chart| chart.series.iter().map(|it| it.style).collect::<Vec<_>>();
        assert_eq!(styles(&groups[1].charts[0]), styles(&groups[1].charts[1]));
    }
}
