//! The charts of figures about messages, and the table of the claims of a paper about them.

use std::collections::BTreeMap;

use chart::{Axis, Chart, Point, Scale, Series};

use super::charts::Group;
use super::results::{Figure, Results};
use super::tables::{self, Table};
use crate::model::claims;
use crate::model::point::{Experiment, Subject, Values};

/// The order of Suiro's progress modes.
const MODES: [&str; 4] = ["polling", "thread", "auto", "delegate"];

/// The charts of these figures, without empty ones.
pub(super) fn group(values: &Values) -> Option<Group> {
    let mut charts = vec![
        pair(values, Experiment::Bandwidth, "Bandwidth", "MB/s", line_name),
        pair(values, Experiment::RoundTrip, "Round trip", "µs there and back", line_name),
        pair(
            values,
            Experiment::Threshold,
            "Round trip by threshold",
            "µs there and back",
            threshold,
        ),
    ];
    let alltoall = |subject: &&Subject| subject.experiment == Experiment::Alltoall;
    let mut ranks: Vec<u32> = values.keys().filter(alltoall).map(|subject| subject.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    charts.extend(ranks.into_iter().map(|ranks| {
        let title = format!("Alltoall on {ranks} ranks");
        chart(values, (Experiment::Alltoall, ranks), &title, "MB/s of all ranks", line_name)
    }));
    charts.retain(|chart| !chart.is_empty());
    let caption =
        "Medians; whiskers from minimum to maximum. Suiro by progress mode; the threshold is \
    the longest message that is sent before its receive is posted."
            .to_owned();
    (!charts.is_empty()).then_some(Group { heading: "Messages", caption, charts })
}

/// The claims, the measurements here, and the verdicts.
pub(super) fn claims(values: &Values, results: &Results) -> Table {
    let claims = claims::claims(values, results);
    tables::words(
        &["figure", "the paper", "here", "verdict"],
        claims.iter().map(|claim| {
            [claim.figure, claim.paper, &claim.measured, claim.verdict()]
                .map(str::to_owned)
                .to_vec()
        }),
    )
}

fn pair(
    values: &Values, experiment: Experiment, title: &str, unit: &str, name: fn(&Subject) -> String,
) -> Chart {
    chart(values, (experiment, 2), &format!("{title} between two ranks"), unit, name)
}

fn chart(
    values: &Values, (experiment, ranks): (Experiment, u32), title: &str, unit: &str,
    name: fn(&Subject) -> String,
) -> Chart {
    let mut lines: BTreeMap<(bool, usize, u64, String), Vec<Point>> = BTreeMap::new();
    let shown = |subject: &Subject| subject.experiment == experiment && subject.ranks == ranks;
    for (subject, values) in values.iter().filter(|(subject, _)| shown(subject)) {
        let Some(Figure { median, low, high, .. }) = Figure::of(values.clone()) else { continue };
        let is_peer = subject.library != super::results::OURS;
        let mode = MODES.iter().position(|mode| subject.progress.as_deref() == Some(*mode));
        let place = (mode.unwrap_or(MODES.len()), subject.eager_max.unwrap_or(0));
        let key = (is_peer, place.0, place.1, name(subject));
        let x = subject.bytes as f64;
        lines.entry(key).or_default().push(Point { x, y: median, low, high });
    }
    let series = lines.into_iter().enumerate();
    Chart {
        title: title.to_owned(),
        summary: format!("{unit} by bytes of a message; both axes are logarithmic."),
        x: Axis::new("bytes of a message", Scale::Bytes),
        y: Axis::new(unit, Scale::Logarithmic),
        series: series
            .map(|(style, ((.., name), points))| Series { name, style, points })
            .collect(),
        guide: None,
    }
}

fn line_name(subject: &Subject) -> String {
    let parts = [Some(&subject.library), subject.progress.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn threshold(subject: &Subject) -> String {
    let bytes = subject.eager_max.map_or_else(|| "?".to_owned(), |bytes| bytes.to_string());
    format!("up to {bytes} B")
}
