//! The ranks of a job that measures: each call in turn, with one time for each.
//!
//! Rank 0 writes lines to standard output:
//!
//! ```text
//!   suiro-tune layout RANKS RANKS_PER_HOST
//!   suiro-tune time OPERATION:BYTES SECONDS
//! ```
//!
//! A time is that of the slowest rank for many calls one after the other, divided by their number. Roots
//! take turns, and in scans the order of the ranks: no rank can run ahead of the others, whose time would
//! not be seen. The number of calls follows from the time that a first few take.

mod library;

use std::time::Instant;

use crate::plan::{JobLayout, TunedCall};
use library::{CallBuffers, Library};

/// What begins the lines of rank 0.
const MARK: &str = "suiro-tune";

/// Calls before the measured ones: they open connections, and have each root once.
const WARM_TURNS: usize = 4;

/// The share of the time of a point in which the number of calls is found.
const CALIBRATION: f64 = 0.25;

/// One line of rank 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeasuredLine {
    /// Where the ranks are.
    Layout(JobLayout),
    /// The time of a call in seconds.
    Time(TunedCall, f64),
}

impl MeasuredLine {
    /// The line of rank 0 in a line of output, which may begin with what `mpirun` was asked to put there.
    pub fn parse(line: &str) -> Option<Self> {
        let words = line[line.find(MARK)? + MARK.len()..].split_whitespace();
        match words.collect::<Vec<_>>()[..] {
            ["layout", ranks, ranks_per_host] => Some(Self::Layout(JobLayout {
                ranks: ranks.parse().ok()?,
                ranks_per_host: ranks_per_host.parse().ok()?,
            })),
            ["time", call, seconds] => {
                let seconds = seconds.parse().ok().filter(|time| *time > 0.0)?;
                Some(Self::Time(TunedCall::parse(call)?, seconds))
            }
            _ => None,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Layout(JobLayout { ranks, ranks_per_host }) => {
                format!("{MARK} layout {ranks} {ranks_per_host}")
            }
            Self::Time(call, seconds) => format!("{MARK} time {call} {seconds:e}"),
        }
    }
}

/// Measures `calls` as one rank of a job, in about `seconds` each.
pub fn measure(calls: &[TunedCall], seconds: f64) {
    let library = Library::start();
    let say = |line: MeasuredLine| {
        if library.rank() == 0 {
            println!("{}", line.text());
        }
    };
    let ranks = library.size();
    say(MeasuredLine::Layout(JobLayout { ranks, ranks_per_host: library.ranks_per_host() }));
    let bytes = calls.iter().map(|call| call.buffer_bytes(ranks)).max().unwrap_or(0);
    let mut buffers = CallBuffers::new(bytes, ranks);
    for call in calls {
        let mut timed = |turns| {
            let begin = Instant::now();
            (0..turns).for_each(|turn| library.call(*call, turn, &mut buffers));
            library.largest(begin.elapsed().as_secs_f64())
        };
        say(MeasuredLine::Time(*call, time_of_one(&mut timed, seconds)));
    }
    library.finish();
}

/// The time of one call, where `timed` is the time of many, equal on all ranks.
fn time_of_one(timed: &mut impl FnMut(usize) -> f64, wanted_s: f64) -> f64 {
    timed(WARM_TURNS);
    let mut turns = 1;
    let mut took = timed(turns);
    while took < wanted_s * CALIBRATION {
        turns *= 4;
        took = timed(turns);
    }
    if took < wanted_s {
        turns = ((turns as f64 * wanted_s / took) as usize).max(1);
        took = timed(turns);
    }
    took / turns as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let call = TunedCall { operation: CollectiveOperation::Bcast, bytes: 64 };
        let layout = JobLayout { ranks: 8, ranks_per_host: 4 };
        for line in [MeasuredLine::Layout(layout), MeasuredLine::Time(call, 1.25e-6)] {
            assert_eq!(MeasuredLine::parse(&line.text()), Some(line));
            assert_eq!(MeasuredLine::parse(&format!("[0] {}", line.text())), Some(line));
        }
        for text in ["", "time bcast:64 1", "suiro-tune time bcast:64 0", "suiro-tune layout 8"] {
            assert_eq!(MeasuredLine::parse(text), None, "{text}");
        }
    }

    #[test]
    fn many_short_calls_make_a_time_and_one_long_call_is_enough() {
        let time = |each: f64, wanted_s| {
            let mut calls = 0;
            let mut timed = |turns: usize| {
                calls += turns;
                each * turns as f64
            };
            (time_of_one(&mut timed, wanted_s), calls)
        };
        let (short, calls) = time(1e-6, 1e-3);
        assert!((short - 1e-6).abs() < 1e-9 && calls > 1000, "{short} {calls}");
        assert_eq!(time(2.0, 1e-3), (2.0, WARM_TURNS + 1));
    }
}
