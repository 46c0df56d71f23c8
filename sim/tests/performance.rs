//! The model time of every collective operation, algorithm, length and number of ranks, as a table: a
//! change of an algorithm, of a choice or of a rate is a difference to review.
//!
//! `SUIRO_BLESS=1 cargo test -p sim --test performance` writes the table.

#[path = "../../tests/generated/mod.rs"]
mod generated;

use std::fmt::Write as _;
use std::path::Path;

use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use sim::collective::CollectiveCall;
use sim::executor::{StepCosts, levelled};
use sim::network::LoggpRates;
use sim::noise::Noise;

const RANKS: [u32; 5] = [2, 3, 8, 48, 128];
const BYTES: [usize; 4] = [8, 1 << 10, 32 << 10, 1 << 20];

const HEAD: &str = "\
# Time of the last rank in microseconds of the model: network loggp of suiro-sim, without noise.
# An algorithm that does not fit has a dash; + is the one that the library's costs of a network choose.
# Written by SUIRO_BLESS=1 cargo test -p sim --test performance
";

/// The time of the last rank, or nothing if the algorithm does not fit.
fn time_us(call: &CollectiveCall) -> Option<f64> {
    let costs = StepCosts { network: LoggpRates::LOGGP, noise: Noise::NONE };
    let run =
        call.with_schedules(|_, schedule| levelled::run(call.ranks, schedule, &costs, 1, &|_| {}));
    match run {
        Ok(run) => Some(run.ends_ps.into_iter().max().unwrap_or(0) as f64 / 1e6),
        Err(why) if why.contains("does not fit") => None,
        Err(why) => panic!("{call:?}: {why}"),
    }
}

/// The algorithm that the library chooses.
fn chosen(call: &CollectiveCall) -> &'static str {
    call.with_schedules(|name, _| Ok(name)).unwrap()
}

/// A line for each operation, algorithm and length; a column for each number of ranks.
fn table() -> String {
    let mut text = HEAD.to_owned();
    // Writing to a string never fails.
    let _ = write!(text, "{:15}{:18}{:>8}", "operation", "algorithm", "bytes");
    for ranks in RANKS {
        let _ = write!(text, "{:>12}", format!("{ranks} ranks"));
    }
    text.push('\n');
    for operation in CollectiveOperation::ALL {
        let lengths = if operation == CollectiveOperation::Barrier { &BYTES[..1] } else { &BYTES };
        for &bytes in lengths {
            let call = |ranks| CollectiveCall::new(operation, ranks, bytes);
            let chosen = RANKS.map(|ranks| chosen(&call(ranks)));
            for algorithm in CollectiveCall::algorithms(operation) {
                let name = operation.name().to_lowercase();
                let _ = write!(text, "{name:15}{algorithm:18}{bytes:>8}");
                for (ranks, chosen) in RANKS.into_iter().zip(chosen) {
                    let call =
                        CollectiveCall { algorithm: Some(algorithm.to_owned()), ..call(ranks) };
                    let mark = if chosen == algorithm { "+" } else { "" };
                    let time = time_us(&call);
                    let cell = time.map_or("-".to_owned(), |us| format!("{us:.2}{mark}"));
                    let _ = write!(text, "{cell:>12}");
                }
                text.push('\n');
            }
        }
    }
    text
}

#[test]
fn model_times_are_those_of_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/performance.txt");
    generated::file(&file, &table(), "performance");
}
