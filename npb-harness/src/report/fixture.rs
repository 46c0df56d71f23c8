//! Records for tests of reports.

use crate::record::{Outcome, Record, Setting};

/// A verified run, without a device and a progress mode.
pub fn record(kernel: &str, class: char, ranks: u32, library: &str, mops: f64) -> Record {
    let setting = Setting {
        source: "kernels".to_owned(),
        kernel: kernel.to_owned(),
        class,
        ranks,
        library: library.to_owned(),
        device: None,
        progress: None,
    };
    Record {
        outcome: Outcome::Verified,
        seconds: Some(1e3 / mops),
        mops: Some(mops),
        when: 1_700_000_000,
        processors: 2,
        ..Record::new(setting, 0)
    }
}

/// Two classes of six kernels on 1 to 8 ranks, three times each, by two peers and Suiro in several
/// variants; with failures.
pub fn records() -> Vec<Record> {
    let ways = [
        ("suiro", Some("shm"), Some("polling"), 1.08),
        ("suiro", Some("shm"), Some("thread"), 1.05),
        ("suiro", Some("shm"), Some("auto"), 1.07),
        ("suiro", Some("tcp"), Some("polling"), 0.7),
        ("mpich", None, None, 1.0),
        ("intel", None, None, 0.97),
    ];
    let mut records = Vec::new();
    for (class, size) in [('S', 100.0), ('A', 900.0)] {
        for (index, kernel) in ["ep", "is", "cg", "mg", "ft", "lu"].into_iter().enumerate() {
            for (library, device, progress, speed) in ways {
                for ranks in [1, 2, 4, 8] {
                    for repeat in 0..3 {
                        // A uniform spread, and a machine with two processors.
                        let noise = 1.0 + 0.02 * f64::from((repeat * 7 + ranks) % 5);
                        let parallel = f64::from(ranks.min(2)) / (1.0 + 0.03 * f64::from(ranks));
                        let mops = size * (index + 1) as f64 * speed * parallel * noise;
                        let mut record = record(kernel, class, ranks, library, mops);
                        record.setting.device = device.map(str::to_owned);
                        record.setting.progress = progress.map(str::to_owned);
                        record.repeat = repeat;
                        records.push(record);
                    }
                }
            }
        }
    }
    fail(&mut records[5], Outcome::Unverified, "verification unsuccessful");
    fail(&mut records[77], Outcome::Failed, "still running after 60 s <&\">");
    records
}

fn fail(record: &mut Record, outcome: Outcome, why: &str) {
    record.outcome = outcome;
    record.why = Some(why.to_owned());
    record.log = Some("/tmp/a folder/<log> & more".into());
}
