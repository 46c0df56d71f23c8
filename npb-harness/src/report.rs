//! What a kernel printed, as a row of the table. Reads the lines that NPB prints at its end and
//! nothing else. Times are in seconds, rates in millions of operations per second.

use std::fmt;

use crate::job::Kernel;

/// The names of the columns of a [`Row`].
pub const HEADING: &str = "kernel  class  ranks     time s        Mop/s  verification";

/// One run of one kernel.
#[derive(Debug, PartialEq)]
pub struct Row {
    kernel: &'static str,
    class: char,
    ranks: u32,
    outcome: Outcome,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    /// It printed its results.
    Finished { seconds: f64, rate: f64, verification: String },
    /// It did not; the reason.
    Failed(String),
}

impl Row {
    /// The row for a run that printed `output`, or that failed with a sentence why.
    pub fn of(kernel: Kernel, class: char, ranks: u32, output: Result<String, String>) -> Self {
        let outcome = match output {
            Ok(text) => Outcome::parse(&text),
            Err(why) => Outcome::Failed(why),
        };
        Self { kernel: kernel.name(), class, ranks, outcome }
    }

    /// Whether the run ended with the right result.
    pub fn verified(&self) -> bool {
        matches!(&self.outcome, Outcome::Finished { verification, .. }
            if verification == "SUCCESSFUL")
    }
}

impl Outcome {
    fn parse(text: &str) -> Self {
        let number = |name: &str| field(text, name)?.parse().ok();
        match (number("Time in seconds"), number("Mop/s total"), field(text, "Verification")) {
            (Some(seconds), Some(rate), Some(verification)) => {
                Self::Finished { seconds, rate, verification: verification.into() }
            }
            _ => Self::Failed(format!("no results in its output:\n{text}")),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = self.kernel.to_uppercase();
        write!(out, "{kernel:<6}  {:<5}  {:>5}  ", self.class, self.ranks)?;
        match &self.outcome {
            Outcome::Finished { seconds, rate, verification } => {
                write!(out, "{seconds:>9.3}  {rate:>11.2}  {verification}")
            }
            Outcome::Failed(why) => write!(out, "{:>9}  {:>11}  FAILED: {why}", "-", "-"),
        }
    }
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

    fn row(output: &str) -> Row {
        Row::of(Kernel::Is, 'S', 4, Ok(output.into()))
    }

    #[test]
    fn results_become_a_row() {
        let row = row(OUTPUT);
        assert!(row.verified());
        assert_eq!(row.to_string(), "IS      S          4      0.004       156.37  SUCCESSFUL");
        assert_eq!(row.to_string().find("SUCC"), HEADING.find("verification"));
    }

    #[test]
    fn a_wrong_result_is_not_verified() {
        let row = row(&OUTPUT.replace("SUCCESSFUL", "UNSUCCESSFUL"));
        assert!(!row.verified());
        assert!(row.to_string().ends_with("UNSUCCESSFUL"));
    }

    #[test]
    fn a_run_without_results_failed() {
        let cut = OUTPUT.lines().take(4).collect::<Vec<_>>().join("\n");
        let row = row(&cut);
        assert!(!row.verified());
        assert!(row.to_string().contains("FAILED: no results"), "{row}");
        let killed = Row::of(Kernel::Ep, 'W', 2, Err("signal: 9".into()));
        assert!(!killed.verified());
        assert!(killed.to_string().ends_with("FAILED: signal: 9"), "{killed}");
    }
}
