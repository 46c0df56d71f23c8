//! One figure about messages as a line of JSON, and files with such lines and results of kernels.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::record::{self, Record};

/// The version of the format of a line.
const VERSION: u32 = 1;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Experiment {
    /// MB/s of messages in one direction, many in flight.
    Bandwidth,
    /// Microseconds of a round trip.
    RoundTrip,
    /// Microseconds of a round trip, by the longest message that is sent eagerly.
    Threshold,
    /// MB/s of an alltoall: the bytes of all ranks by the time.
    Alltoall,
}

/// The identity of a figure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Subject {
    pub experiment: Experiment,
    /// `suiro`, or the label of a peer.
    pub library: String,
    /// The progress mode, if there is a choice.
    pub progress: Option<String>,
    pub ranks: u32,
    /// The longest message that is sent eagerly, if it was set.
    pub eager_max: Option<u64>,
    /// Bytes of a message; of an alltoall, those for one rank.
    pub bytes: u64,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Point {
    /// The version of this format.
    pub v: u32,
    /// The subject.
    #[serde(flatten)]
    pub subject: Subject,
    /// Index among several runs, from 0.
    pub repeat: u32,
    /// In the unit of the experiment.
    pub value: f64,
    /// The number of usable processors.
    pub processors: usize,
}

impl Point {
    /// A figure measured on this machine.
    pub(crate) fn new(subject: Subject, repeat: u32, value: f64) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { v: VERSION, subject, repeat, value, processors }
    }
}

/// The values of all repeats by subject.
pub(crate) type Values = BTreeMap<Subject, Vec<f64>>;

/// The values of these figures.
pub(crate) fn values(points: &[Point]) -> Values {
    let mut values = Values::new();
    for point in points {
        values.entry(point.subject.clone()).or_default().push(point.value);
    }
    values
}

/// The results of kernels and the figures about messages in a file.
///
/// # Errors
/// The file cannot be read, or has a line that is neither.
pub(crate) fn read(path: &Path) -> Result<(Vec<Record>, Vec<Point>), String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    parse(&text).map_err(|why| format!("{}:{why}", path.display()))
}

/// Parses a text; the error begins with the line number.
fn parse(text: &str) -> Result<(Vec<Record>, Vec<Point>), String> {
    let mut points = Vec::new();
    // Lines with figures become empty, so that the line numbers of the others stay.
    let mut records = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if !line.contains("\"experiment\"") {
            records.push_str(line);
            continue;
        }
        records.push('\n');
        match serde_json::from_str::<Point>(line) {
            Ok(point) if point.v == VERSION => points.push(point),
            Ok(point) => {
                let (number, version) = (index + 1, point.v);
                return Err(format!("{number}: unknown version {version} of figures"));
            }
            // A crash leaves a partial last line.
            Err(_) if !line.ends_with('\n') => {}
            Err(error) => return Err(format!("{}: not a figure: {error}", index + 1)),
        }
    }
    Ok((record::parse(&records)?, points))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: &str = r#"{"v":1,"experiment":"roundtrip","library":"suiro","progress":"polling","ranks":2,"eager_max":null,"bytes":8,"repeat":0,"value":0.61,"processors":2}"#;
    const RECORD: &str = r#"{"v":1,"source":"kernels","kernel":"cg","class":"A","ranks":4,"library":"suiro","device":"shm","progress":"polling","repeat":0,"outcome":"verified","seconds":1.2,"mops":345.6,"why":null,"log":null,"when":1700000000,"processors":2}"#;

    #[test]
    fn figures_and_results_share_a_file() {
        let (records, points) = parse(&format!("{POINT}\n{RECORD}\n{POINT}\n")).unwrap();
        assert_eq!((records.len(), points.len()), (1, 2));
        assert_eq!(serde_json::to_string(&points[0]).unwrap(), POINT);
        assert_eq!(values(&points).into_values().collect::<Vec<_>>(), [[0.61, 0.61]]);
    }

    #[test]
    fn a_line_that_is_neither_is_named_and_half_a_line_at_the_end_is_none() {
        let error = parse(&format!("{POINT}\n{RECORD}\nhello\n")).unwrap_err();
        assert!(error.starts_with("3: not a result"), "{error}");
        let error = parse(&format!("{RECORD}\n{}\n", &POINT[..50])).unwrap_err();
        assert!(error.starts_with("2: not a figure"), "{error}");
        assert_eq!(parse(&format!("{RECORD}\n{}", &POINT[..50])).unwrap().1, []);
        let newer = POINT.replace("\"v\":1", "\"v\":7");
        assert_eq!(parse(&newer).unwrap_err(), "1: unknown version 7 of figures");
    }
}
