//! The experiments about messages: builds and runs the measuring program of `scripts/bench-peers`, and
//! parses its output.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::point::{Experiment, Subject};
use crate::{
    job::{self, Stop},
    request::Request,
    toolchain::{Language, Scratch, Toolchain},
};

/// The variable for the progress mode of Suiro.
pub(super) const PROGRESS: &str = "SUIRO_PROGRESS";
/// The variable for the longest message that Suiro sends eagerly.
const EAGER_MAX: &str = "SUIRO_EAGER_MAX";
/// Eager limits to measure: those of the paper (128 B, 1000 B and 8 MB), its best (a packet of 4 KiB
/// without a header of 32 bytes), and the default of Suiro.
const THRESHOLDS: [u64; 5] = [128, 1000, 4064, 16384, 8 << 20];

/// One measuring job.
pub(super) struct Job {
    experiment: Experiment,
    ranks: u32,
    eager_max: Option<u64>,
    words: &'static [&'static str],
}

/// The jobs of one progress mode; `is_short` omits long ones.
pub(super) fn jobs(is_short: bool) -> Vec<Job> {
    let pair = |experiment, eager_max, words| Job { experiment, ranks: 2, eager_max, words };
    let bandwidth = &[
        "rate:8",
        "rate:64",
        "rate:1024",
        "stream:4096",
        "stream:16384",
        "stream:65536",
        "stream:262144",
        "stream:1048576",
        "stream:4194304",
    ];
    let mut jobs = vec![
        pair(Experiment::Bandwidth, None, bandwidth),
        pair(Experiment::RoundTrip, None, &["latency"]),
    ];
    let sweep = THRESHOLDS.map(|bytes| pair(Experiment::Threshold, Some(bytes), &["latency"]));
    jobs.extend(sweep);
    let ranks: &[u32] = if is_short { &[16] } else { &[16, 32] };
    let alltoall = |ranks: &u32| Job {
        experiment: Experiment::Alltoall,
        ranks: *ranks,
        eager_max: None,
        words: &["alltoall"],
    };
    jobs.extend(ranks.iter().map(alltoall));
    jobs
}

/// A library with its progress mode.
pub(super) struct ProgressVariant<'a> {
    pub tools: &'a Toolchain,
    /// `None` for a peer.
    pub progress: Option<String>,
}

impl Job {
    /// Whether to run the job with this variant. Eager limits are measured only with polling, as in the
    /// paper, and only for libraries with such a setting.
    pub(super) fn suits(&self, way: &ProgressVariant<'_>) -> bool {
        self.eager_max.is_none() || way.progress.as_deref() == Some("polling")
    }

    /// A short description.
    pub(super) fn name(&self) -> String {
        let limit = self.eager_max.map_or(String::new(), |bytes| format!(", eager up to {bytes}"));
        format!("{:?} on {} ranks{limit}", self.experiment, self.ranks)
    }

    /// Runs the program that [`build`] made; the figures.
    ///
    /// # Errors
    /// The job fails or exceeds its limit; with the last line of its output.
    pub(super) fn run(
        &self, way: &ProgressVariant<'_>, program: &Path, request: &Request, is_short: bool,
        (scratch, stop): (&Scratch, &Stop),
    ) -> Result<Vec<(Subject, f64)>, String> {
        let mut command = way.tools.job(self.ranks, program);
        self.set_progress(&mut command, way, is_short);
        let log = scratch.path().join("model.log");
        let output = job::run(command, &log, request.limit, stop).map_err(|why| {
            let printed = fs::read_to_string(&log).unwrap_or_default();
            format!("{why}: {}", printed.lines().last().unwrap_or("it printed nothing"))
        })?;
        let subject = |bytes| Subject {
            experiment: self.experiment,
            library: way.tools.label.clone(),
            progress: way.progress.clone(),
            ranks: self.ranks,
            eager_max: self.eager_max,
            bytes,
        };
        let figures: Vec<_> = (output.lines().filter_map(|line| self.figure(line)))
            .map(|(bytes, value)| (subject(bytes), value))
            .collect();
        if figures.is_empty() { Err("it printed no figures".to_owned()) } else { Ok(figures) }
    }

    fn set_progress(&self, command: &mut Command, way: &ProgressVariant<'_>, is_short: bool) {
        command.envs(way.progress.as_ref().map(|progress| (PROGRESS, progress)));
        command.envs(self.eager_max.map(|bytes| (EAGER_MAX, bytes.to_string())));
        // Seconds after which the remaining, longest messages are skipped.
        let (window_ms, budget_s) = if is_short { ("4", "2") } else { ("25", "20") };
        let longest = if self.experiment == Experiment::Alltoall { "65536" } else { "4194304" };
        command.args(["-t", window_ms, "-b", budget_s, "-m", longest]).args(self.words);
    }

    /// Bytes and value of a line of the program, `TEST RANKS BYTES UNIT MEDIAN BEST WINDOWS STATUS`.
    fn figure(&self, line: &str) -> Option<(u64, f64)> {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, _, bytes, unit, median, _, _, "ok"] = words.as_slice() else { return None };
        let (bytes, median): (u64, f64) = (bytes.parse().ok()?, median.parse().ok()?);
        let value = match (self.experiment, *unit) {
            (Experiment::Bandwidth, "Mmsg/s") => median * bytes as f64,
            (Experiment::Bandwidth, "MB/s") => median,
            // The program prints the time of one direction.
            (Experiment::RoundTrip | Experiment::Threshold, "us") => 2.0 * median,
            (Experiment::Alltoall, "us") => f64::from(self.ranks).powi(2) * bytes as f64 / median,
            _ => return None,
        };
        Some((bytes, value))
    }
}

/// Builds the measuring program for a library; its path.
///
/// # Errors
/// The source cannot be written, or the output of the compiler.
pub(super) fn build(tools: &Toolchain, scratch: &Scratch) -> Result<PathBuf, String> {
    let folder = scratch.path().join(format!("model-{}", tools.folder_name()));
    let (program, source) = (folder.join("peers"), folder.join("peers.c"));
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    write(&source, include_str!("../../../benches/peers.c"))?;
    write(&folder.join("measure.h"), include_str!("../../../benches/measure.h"))?;
    let arguments =
        ["-O2".into(), source.into(), "-o".into(), program.clone().into(), "-lm".into()];
    tools.compile(Language::C, &arguments)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(experiment: Experiment, ranks: u32) -> Job {
        Job { experiment, ranks, eager_max: None, words: &[] }
    }

    #[test]
    fn lines_are_figures_in_the_unit_of_the_experiment() {
        let of = |experiment, line| job(experiment, 16).figure(line);
        let rate = "rate 2 1024 Mmsg/s 2.5 2.6 3 ok";
        assert_eq!(of(Experiment::Bandwidth, rate), Some((1024, 2560.0)));
        let stream = "stream 2 4096 MB/s 9000 9100 3 ok";
        assert_eq!(of(Experiment::Bandwidth, stream), Some((4096, 9000.0)));
        let latency = "latency 2 8 us 0.25 0.24 8 ok";
        assert_eq!(of(Experiment::RoundTrip, latency), Some((8, 0.5)));
        let alltoall = "alltoall 16 1024 us 256 250 8 ok";
        assert_eq!(of(Experiment::Alltoall, alltoall), Some((1024, 1024.0)));
        for line in
            ["library Suiro 0.1", "latency 2 8 us - - 0 budget", "", "latency 2 8 us x y 3 ok"]
        {
            assert_eq!(of(Experiment::RoundTrip, line), None, "{line}");
        }
    }

    #[test]
    fn the_short_form_has_fewer_jobs() {
        assert!(jobs(true).len() < jobs(false).len());
        assert_eq!(jobs(false).iter().filter(|job| job.eager_max.is_some()).count(), 5);
    }
}
