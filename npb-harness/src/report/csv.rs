//! Results as comma-separated values (RFC 4180), one line for each run.

use crate::record::{Outcome, Record, Setting};

const HEADING: &str = "source,kernel,class,ranks,library,device,progress,repeat,outcome,seconds,\
                       mops,processors,why\r\n";

/// The lines of these records, with a heading. Times are in seconds, rates in millions of operations per
/// second.
pub(super) fn lines(records: &[Record]) -> String {
    let mut text = HEADING.to_owned();
    for record in records {
        let Setting { source, kernel, class, ranks, library, device, progress } = &record.setting;
        let number = |value: Option<f64>| value.map_or_else(String::new, |it| it.to_string());
        let outcome = match record.outcome {
            Outcome::Verified => "verified",
            Outcome::Unverified => "unverified",
            Outcome::Failed => "failed",
        };
        let cells = [
            source,
            kernel,
            &class.to_string(),
            &ranks.to_string(),
            library,
            device.as_deref().unwrap_or(""),
            progress.as_deref().unwrap_or(""),
            &record.repeat.to_string(),
            outcome,
            &number(record.seconds),
            &number(record.mops),
            &record.processors.to_string(),
            record.why.as_deref().unwrap_or(""),
        ];
        text += &cells.map(cell).join(",");
        text += "\r\n";
    }
    text
}

fn cell(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::record;
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let mut first = record("cg", 'S', 2, "suiro", 100.0);
        first.setting.device = Some("shm + shm, 10ms,100Mbit".to_owned());
        let second = Record {
            outcome: Outcome::Failed,
            seconds: None,
            mops: None,
            why: Some("it said \"no\"\nand ended".to_owned()),
            ..record("is", 'W', 4, "mpich", 1.0)
        };
        let text = lines(&[first, second]);
        let wanted = "kernels,cg,S,2,suiro,\"shm + shm, 10ms,100Mbit\",,0,verified,10,100,2,\r\n\
                      kernels,is,W,4,mpich,,,0,failed,,,2,\"it said \"\"no\"\"\nand ended\"\r\n";
        assert_eq!(text, format!("{HEADING}{wanted}"));
    }
}
