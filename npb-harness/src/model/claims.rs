//! The claims of a paper beside the measurements here.
//!
//! The paper is F. Okazaki et al., "Performance Evaluation of the GridMPI for IBM pSeries": GridMPI
//! uses the vendor's MPI of a machine with 32 processors as its transport, in two modes. In thread
//! mode, a separate thread blocks in each transport, and calls of the application sleep until there
//! is progress: Suiro's `delegate`. In polling mode, calls poll the transports in turn: Suiro's
//! `polling`. `thread` and `auto` of Suiro are neither and are shown beside them. The best of the peers
//! takes the role of the vendor's MPI.
//!
//! A claim holds if the relation of the values does: the machines are twenty years apart.

use super::point::{Experiment, Subject, Values};
use crate::report::results::{LibraryVariant, OURS, Results, geometric_mean};
use crate::summary::median;

/// The two modes of the paper in Suiro's names.
const THREAD: &str = "delegate";
const POLLING: &str = "polling";
/// With at least this many ranks, the paper's thread mode gains nothing on 32 processors.
const MANY: u32 = 16;
/// Smaller relative differences count as equal: figures of one machine vary by this much.
const SAME: f64 = 0.1;

/// One claim of the paper.
#[derive(Debug, PartialEq)]
pub(crate) struct Claim {
    /// The figure of the paper.
    pub figure: &'static str,
    /// The claim in words.
    pub paper: &'static str,
    /// The measurement here.
    pub measured: String,
    /// Whether it holds here; `None` if measurements are missing.
    pub holds: Option<bool>,
}

impl Claim {
    /// The verdict as text.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "unknown",
        }
    }
}

/// All claims, evaluated with these figures.
pub(crate) fn claims(values: &Values, results: &Results) -> Vec<Claim> {
    let seen = Measurements { values, results };
    vec![
        seen.peak(),
        seen.short_messages(),
        seen.threshold_below_packet(),
        seen.threshold_beyond_packet(),
        seen.alltoall_of_thread(),
        seen.alltoall_of_short_messages(),
        seen.few_ranks(),
        seen.many_ranks_of_thread(),
        seen.many_ranks_of_polling(),
    ]
}

struct Measurements<'a> {
    values: &'a Values,
    results: &'a Results,
}

impl Measurements<'_> {
    fn peak(&self) -> Claim {
        let bytes = 4 << 20;
        let of = |progress| self.ours(Experiment::Bandwidth, progress, 2, bytes);
        let (thread, polling) = (of(THREAD), of(POLLING));
        let peer = self.peer(Experiment::Bandwidth, 2, bytes);
        let holds = thread.zip(polling).zip(peer).map(|((thread, polling), peer)| {
            thread >= (1.0 - SAME) * peer && polling <= (1.0 + SAME) * thread
        });
        let seen = format!(
            "4 MiB: delegate {}, polling {}, best peer {}",
            unit(thread, "MB/s"),
            unit(polling, "MB/s"),
            unit(peer, "MB/s")
        );
        let paper = "thread mode uses all of the vendor's 2500 MB/s for long messages, polling \
                     slightly less";
        Claim { figure: "7", paper, measured: seen, holds }
    }

    fn short_messages(&self) -> Claim {
        let of = |progress| self.ours(Experiment::RoundTrip, progress, 2, 8);
        let (thread, polling) = (of(THREAD), of(POLLING));
        let holds = thread.zip(polling).map(|(thread, polling)| thread > (1.0 + SAME) * polling);
        let seen = format!(
            "8 B there and back: delegate {}, polling {}; thread {}, auto {}",
            unit(thread, "µs"),
            unit(polling, "µs"),
            unit(of("thread"), "µs"),
            unit(of("auto"), "µs")
        );
        let paper = "thread mode is slower for short messages, as threads must be switched";
        Claim { figure: "7, 8", paper, measured: seen, holds }
    }

    fn threshold_below_packet(&self) -> Claim {
        let bytes = 1024;
        let all: Vec<f64> = self.thresholds(bytes).into_iter().map(|(_, value)| value).collect();
        let least = all.iter().copied().reduce(f64::min);
        let most = all.iter().copied().reduce(f64::max);
        let by_least = least.zip(most).filter(|_| all.len() > 1).map(|(least, most)| most / least);
        let seen = format!(
            "1 KiB there and back: {} to {} over {} thresholds (Suiro uses rendezvous beyond)",
            unit(least, "µs"),
            unit(most, "µs"),
            all.len()
        );
        let holds = by_least.map(|ratio| ratio <= 1.0 + 2.0 * SAME);
        let paper = "up to 2 KB the threshold of short messages (128 B, 1000 B, 8 MB) makes almost no \
                     difference";
        Claim { figure: "9", paper, measured: seen, holds }
    }

    fn threshold_beyond_packet(&self) -> Claim {
        let all = self.thresholds(16384);
        let of = |limit| all.iter().find(|(bytes, _)| *bytes == limit).map(|(_, value)| *value);
        let (best, endless) = (of(4064), of(8 << 20));
        let holds = best.zip(endless).map(|(best, endless)| endless > (1.0 + SAME) * best);
        let seen = format!(
            "16 KiB there and back: {} with 4064 B, {} with 8 MB (32 KiB here: a packet)",
            unit(best, "µs"),
            unit(endless, "µs")
        );
        let paper = "beyond a packet of 4 KB a threshold of 8 MB loses by its copy; 2 KB to 4064 B \
                     is best";
        Claim { figure: "9", paper, measured: seen, holds }
    }

    fn alltoall_of_thread(&self) -> Claim {
        let mut ratios = Vec::new();
        for (subject, _) in self.values.iter().filter(|(subject, _)| {
            subject.experiment == Experiment::Alltoall
                && subject.progress.as_deref() == Some(THREAD)
        }) {
            let of =
                |progress| self.ours(Experiment::Alltoall, progress, subject.ranks, subject.bytes);
            ratios.extend(of(THREAD).zip(of(POLLING)).map(|(thread, polling)| thread / polling));
        }
        let mean = geometric_mean(&ratios);
        let most = ratios.iter().copied().reduce(f64::max);
        let seen = format!(
            "delegate by polling: {} in the mean, at most {}",
            unit(mean, "times"),
            unit(most, "times")
        );
        let paper = "in an alltoall of 16 or 32 ranks thread mode is below polling: more threads \
                     can run than there are processors";
        Claim { figure: "10", paper, measured: seen, holds: most.map(|most| most < 1.0) }
    }

    fn alltoall_of_short_messages(&self) -> Claim {
        let of = |bytes| {
            let ours = self.ours(Experiment::Alltoall, POLLING, 16, bytes);
            ours.zip(self.peer(Experiment::Alltoall, 16, bytes)).map(|(ours, peer)| ours / peer)
        };
        let (short, long) = (of(1024), of(65536));
        let seen = format!(
            "polling by the best peer on 16 ranks: {} for 1 KiB, {} for 64 KiB",
            unit(short, "times"),
            unit(long, "times")
        );
        let holds = short.zip(long).map(|(short, long)| short < (1.0 - SAME) * long.min(1.0));
        let paper = "below 32 KB polling falls far behind, too; the most is 8000 MB/s";
        Claim { figure: "10", paper, measured: seen, holds }
    }

    fn few_ranks(&self) -> Claim {
        let ranks: Vec<u32> = self.ranks().into_iter().filter(|ranks| *ranks <= 8).collect();
        let ratios: Vec<f64> =
            ranks.iter().filter_map(|ranks| self.kernels(*ranks, THREAD, Some(POLLING))).collect();
        let mean = geometric_mean(&ratios);
        let seen = format!("delegate by polling on {}: {}", list(&ranks), unit(mean, "times"));
        let holds = mean.map(|mean| (mean - 1.0).abs() <= 2.0 * SAME);
        let paper = "up to 8 processes the modes differ little";
        Claim { figure: "11, 12", paper, measured: seen, holds }
    }

    fn many_ranks_of_thread(&self) -> Claim {
        let ranks: Vec<u32> = self.ranks().into_iter().filter(|ranks| *ranks >= MANY).collect();
        let ratios: Vec<f64> =
            ranks.iter().filter_map(|ranks| self.kernels(*ranks, THREAD, Some(POLLING))).collect();
        let mean = geometric_mean(&ratios);
        let seen = format!("delegate by polling on {}: {}", list(&ranks), unit(mean, "times"));
        let holds = mean.map(|mean| mean < 1.0 - SAME);
        let paper = "thread mode gains nothing from 16 processes on: 33 threads that can run on 32 \
                     processors";
        Claim { figure: "11", paper, measured: seen, holds }
    }

    fn many_ranks_of_polling(&self) -> Claim {
        let most = self.ranks().into_iter().filter(|ranks| *ranks >= MANY).max();
        let ratio = most.and_then(|ranks| self.kernels(ranks, POLLING, None));
        let seen = format!(
            "polling by the best peer on {}: {}",
            list(most.as_slice()),
            unit(ratio, "times")
        );
        let paper = "on 32 processes polling has at least 90 % of the vendor's rate";
        Claim { figure: "12", paper, measured: seen, holds: ratio.map(|ratio| ratio >= 0.9) }
    }

    /// The median of a figure of Suiro.
    fn ours(&self, experiment: Experiment, progress: &str, ranks: u32, bytes: u64) -> Option<f64> {
        let found = self.values.iter().find(|(subject, _)| {
            let Subject { library, eager_max, .. } = subject;
            library == OURS
                && eager_max.is_none()
                && is_at(subject, experiment, ranks, bytes)
                && subject.progress.as_deref() == Some(progress)
        });
        median(&mut found?.1.clone())
    }

    /// The median of the best of the peers, in MB/s.
    fn peer(&self, experiment: Experiment, ranks: u32, bytes: u64) -> Option<f64> {
        let peers = self.values.iter().filter(|(subject, _)| {
            subject.library != OURS && is_at(subject, experiment, ranks, bytes)
        });
        peers.filter_map(|(_, values)| median(&mut values.clone())).reduce(f64::max)
    }

    /// Round trips of `bytes` bytes, by the longest message that is sent eagerly.
    fn thresholds(&self, bytes: u64) -> Vec<(u64, f64)> {
        let at = self
            .values
            .iter()
            .filter(|(subject, _)| is_at(subject, Experiment::Threshold, 2, bytes));
        at.filter_map(|(subject, values)| Some((subject.eager_max?, median(&mut values.clone())?)))
            .collect()
    }

    /// The numbers of ranks of kernels.
    fn ranks(&self) -> Vec<u32> {
        let lines = self.results.rates.values().flat_map(|ways| ways.values());
        let mut ranks: Vec<u32> = lines.flat_map(|line| line.keys().copied()).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// The geometric mean over the kernels of Suiro's rate in one mode relative to another mode, or to
    /// the best peer.
    fn kernels(&self, ranks: u32, progress: &str, other: Option<&str>) -> Option<f64> {
        let is = |way: &LibraryVariant, mode: &str| {
            way.is_ours() && way.progress.as_deref() == Some(mode)
        };
        let mut ratios = Vec::new();
        for ways in self.results.rates.values() {
            let most = |chosen: &dyn Fn(&LibraryVariant) -> bool| {
                let lines = ways.iter().filter(|(way, _)| chosen(way));
                lines.filter_map(|(_, line)| Some(line.get(&ranks)?.median)).reduce(f64::max)
            };
            let base = match other {
                Some(mode) => most(&|way| is(way, mode)),
                None => most(&|way| !way.is_ours()),
            };
            ratios.extend(most(&|way| is(way, progress)).zip(base).map(|(ours, base)| ours / base));
        }
        geometric_mean(&ratios)
    }
}

fn is_at(subject: &Subject, experiment: Experiment, ranks: u32, bytes: u64) -> bool {
    (subject.experiment, subject.ranks, subject.bytes) == (experiment, ranks, bytes)
}

fn unit(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "?".to_owned(), |value| format!("{} {unit}", chart::number(value)))
}

fn list(ranks: &[u32]) -> String {
    let numbers: Vec<String> = ranks.iter().map(u32::to_string).collect();
    if numbers.is_empty() { "? ranks".to_owned() } else { format!("{} ranks", numbers.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row<'a> = (Experiment, &'a str, Option<&'a str>, u32, u64, f64);

    fn values(of: &[Row<'_>]) -> Values {
        let subject = |row: &Row<'_>| {
            let (experiment, library, progress, ranks, bytes, value) = *row;
            let (library, progress) = (library.to_owned(), progress.map(str::to_owned));
            let eager_max = None;
            let subject = Subject { experiment, library, progress, ranks, eager_max, bytes };
            (subject, vec![value])
        };
        of.iter().map(subject).collect()
    }

    fn verdict(values: &Values, paper: &str) -> Option<bool> {
        let all = claims(values, &Results::default());
        all.iter().find(|claim| claim.paper.contains(paper)).unwrap().holds
    }

    #[test]
    fn without_measurements_there_is_no_verdict() {
        let all = claims(&Values::new(), &Results::default());
        assert_eq!(all.len(), 9);
        assert!(all.iter().all(|claim| claim.holds.is_none() && claim.measured.contains('?')));
    }

    #[test]
    fn a_peer_is_needed_where_the_paper_has_the_vendors_library() {
        let four = 4 << 20;
        let ours = [
            (Experiment::Bandwidth, "suiro", Some("delegate"), 2, four, 9000.0),
            (Experiment::Bandwidth, "suiro", Some("polling"), 2, four, 8500.0),
        ];
        assert_eq!(verdict(&values(&ours), "2500 MB/s"), None);
        let peer = |rate| (Experiment::Bandwidth, "mpich", None, 2, four, rate);
        assert_eq!(verdict(&values(&[ours[0], ours[1], peer(9100.0)]), "2500 MB/s"), Some(true));
        assert_eq!(verdict(&values(&[ours[0], ours[1], peer(19100.0)]), "2500 MB/s"), Some(false));
    }

    #[test]
    fn modes_are_compared_with_each_other() {
        let of = |delegate| {
            values(&[
                (Experiment::RoundTrip, "suiro", Some("delegate"), 2, 8, delegate),
                (Experiment::RoundTrip, "suiro", Some("polling"), 2, 8, 0.5),
            ])
        };
        assert_eq!(verdict(&of(9.0), "slower for short"), Some(true));
        assert_eq!(verdict(&of(0.5), "slower for short"), Some(false));
    }
}
