//! Parses the output of a kernel to a record, and formats records as rows of a table. Only the lines
//! that NPB prints at its end are read. Times are in seconds, rates in millions of operations per
//! second.

use crate::{
    record::{Outcome, Record, Setting},
    summary::Summary,
};

/// The headings of the columns of a [`row`].
pub(crate) const HEADING: &str =
    "kernel      class  ranks  library                  time s        Mop/s  verification";

/// The record of a run with its output, or with the reason of its failure.
pub(crate) fn record(setting: Setting, repeat: u32, output: Result<String, String>) -> Record {
    let record = Record::new(setting, repeat);
    match output {
        Ok(text) => judge(record, &text),
        Err(why) => Record { why: Some(why), ..record },
    }
}

fn judge(record: Record, text: &str) -> Record {
    // NPB prints a rate or a time that is too long as stars.
    let number = |name: &str| field(text, name)?.parse().ok().filter(|it: &f64| it.is_finite());
    let (seconds, mops) = (number("Time in seconds"), number("Mop/s total"));
    match field(text, "Verification") {
        Some("SUCCESSFUL") => Record { outcome: Outcome::Verified, seconds, mops, ..record },
        Some(other) => {
            let why = Some(format!("verification {}", other.to_lowercase()));
            Record { outcome: Outcome::Unverified, seconds, mops, why, ..record }
        }
        None => Record { why: Some("no results in its output".to_owned()), ..record },
    }
}

/// The row of a table for all runs of a setting, with the whole reason of a failure or with its first
/// line.
pub(crate) fn row(summary: &Summary, is_explained: bool) -> String {
    let Setting { kernel, class, ranks, .. } = &summary.setting;
    let (kernel, variant) = (kernel.to_uppercase(), summary.setting.variant());
    let start = format!("{kernel:<10}  {class:<5}  {ranks:>5}  {variant:<20}  ");
    let number = |value: Option<f64>, decimals| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
    };
    let (seconds, mops) = (number(summary.seconds, 3), number(summary.mops, 2));
    let why = summary.why.as_deref().unwrap_or("no reason");
    let lines = if is_explained { usize::MAX } else { 1 };
    let why = why.lines().take(lines).collect::<Vec<_>>().join("\n    ");
    let verdict = match summary.outcome {
        Outcome::Verified => "SUCCESSFUL".to_owned(),
        Outcome::Unverified => format!("UNSUCCESSFUL: {why}"),
        Outcome::Failed => format!("FAILED: {why}"),
    };
    format!("{start}{seconds:>9}  {mops:>11}  {verdict}")
}

/// The value on the line ` name   =   value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = " IS Benchmark Completed
 Class           =                        S
 Time in seconds =                   0.0042
 Total processes =                        4
 Mop/s total     =                   156.37
 Mop/s/process   =                    39.09
 Verification    =               SUCCESSFUL
";

    fn record(output: Result<String, String>) -> Record {
        let setting = Setting {
            source: "kernels".into(),
            kernel: "is".into(),
            class: 'S',
            ranks: 4,
            library: "suiro".into(),
            device: None,
            progress: None,
        };
        super::record(setting, 0, output)
    }

    fn row(record: &Record) -> String {
        super::row(&Summary::all(std::slice::from_ref(record))[0], true)
    }

    #[test]
    fn results_become_a_row() {
        let record = record(Ok(OUTPUT.into()));
        assert_eq!(record.outcome, Outcome::Verified);
        assert_eq!((record.seconds, record.mops), (Some(0.0042), Some(156.37)));
        let row = row(&record);
        assert_eq!(
            row,
            "IS          S          4  suiro                     0.004       156.37  SUCCESSFUL"
        );
        assert_eq!(row.find("SUCC"), HEADING.find("verification"));
    }

    #[test]
    fn a_wrong_result_is_not_verified() {
        for (verdict, why) in [
            ("UNSUCCESSFUL", "verification unsuccessful"),
            ("NOT PERFORMED", "verification not performed"),
        ] {
            let record = record(Ok(OUTPUT.replace("SUCCESSFUL", verdict)));
            assert_eq!(record.outcome, Outcome::Unverified);
            assert_eq!(record.why.as_deref(), Some(why));
            assert!(row(&record).ends_with(&format!("UNSUCCESSFUL: {why}")));
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_unknown() {
        let record = record(Ok(OUTPUT.replace("156.37", "******").replace("0.0042", "Infinity")));
        assert_eq!(record.outcome, Outcome::Verified);
        assert_eq!((record.seconds, record.mops), (None, None));
    }

    #[test]
    fn a_run_without_results_failed() {
        let cut = OUTPUT.lines().take(6).collect::<Vec<_>>().join("\n");
        let without = record(Ok(cut));
        assert_eq!(without.outcome, Outcome::Failed);
        assert!(row(&without).contains("FAILED: no results"), "{}", row(&without));
        let killed = record(Err("signal: 9\na\nb".into()));
        assert_eq!(killed.outcome, Outcome::Failed);
        assert!(row(&killed).ends_with("FAILED: signal: 9\n    a\n    b"), "{}", row(&killed));
        let short = super::row(&Summary::all(&[killed])[0], false);
        assert!(short.ends_with("FAILED: signal: 9"), "{short}");
    }
}
