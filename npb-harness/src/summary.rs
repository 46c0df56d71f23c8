//! Combines the results of a setting: medians, and the worst outcome.

use crate::record::{Outcome, Record, Setting};

/// All runs of one setting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub setting: Setting,
    /// Number of runs.
    pub runs: usize,
    /// The worst of the outcomes.
    pub outcome: Outcome,
    /// The median time of the runs that have one.
    pub seconds: Option<f64>,
    /// The median rate of the runs that have one, in millions of operations per second.
    pub mops: Option<f64>,
    /// The reason of the first run with the worst outcome, and its log.
    pub why: Option<String>,
}

impl Summary {
    /// One summary for each setting of the records, in the order of their first appearance.
    pub(crate) fn all(records: &[Record]) -> Vec<Self> {
        let mut settings: Vec<&Setting> = Vec::new();
        for record in records {
            if !settings.contains(&&record.setting) {
                settings.push(&record.setting);
            }
        }
        let of = |setting: &Setting| {
            let same: Vec<_> = records.iter().filter(|it| it.setting == *setting).collect();
            Self::of(setting, &same)
        };
        settings.into_iter().map(of).collect()
    }

    fn of(setting: &Setting, records: &[&Record]) -> Self {
        let worst = [Outcome::Failed, Outcome::Unverified, Outcome::Verified]
            .into_iter()
            .find_map(|outcome| records.iter().find(|record| record.outcome == outcome));
        let why = worst.and_then(|record| {
            let place = record.log.as_ref().map(|log| format!(" (log: {})", log.display()));
            let mut lines = record.why.as_ref()?.lines();
            let first = format!("{}{}", lines.next().unwrap_or(""), place.unwrap_or_default());
            Some([&[first.as_str()], lines.collect::<Vec<_>>().as_slice()].concat().join("\n"))
        });
        let median_of = |value: fn(&Record) -> Option<f64>| {
            median(&mut records.iter().filter_map(|record| value(record)).collect::<Vec<_>>())
        };
        Self {
            setting: setting.clone(),
            runs: records.len(),
            outcome: worst.map_or(Outcome::Failed, |record| record.outcome),
            seconds: median_of(|record| record.seconds),
            mops: median_of(|record| record.mops),
            why,
        }
    }
}

/// The median; `None` without values. Sorts the values.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (last, half) = (values.len().checked_sub(1)?, values.len() / 2);
    Some(f64::midpoint(values[last / 2], values[half]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_summary_has_the_worst_outcome_and_its_reason() {
        let setting = |ranks| Setting {
            source: "kernels".into(),
            kernel: "ep".into(),
            class: 'S',
            ranks,
            library: "suiro".into(),
            device: None,
            progress: None,
        };
        let verified = |ranks, seconds| Record {
            outcome: Outcome::Verified,
            seconds: Some(seconds),
            mops: Some(1.0 / seconds),
            ..Record::new(setting(ranks), 0)
        };
        let failed = Record {
            why: Some("still running".into()),
            log: Some("/a/log".into()),
            ..Record::new(setting(2), 1)
        };
        let records = [verified(2, 4.0), verified(1, 8.0), failed, verified(2, 2.0)];
        let summaries = Summary::all(&records);
        assert_eq!(summaries.len(), 2);
        assert_eq!((summaries[0].outcome, summaries[0].runs), (Outcome::Failed, 3));
        assert_eq!(summaries[0].seconds, Some(3.0));
        assert_eq!(summaries[0].why.as_deref(), Some("still running (log: /a/log)"));
        assert_eq!((summaries[1].outcome, summaries[1].seconds), (Outcome::Verified, Some(8.0)));
    }
}
