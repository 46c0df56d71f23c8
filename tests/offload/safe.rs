//! All runs of programs with all countermeasures are right: each operation on 2 to 4 ranks, if its
//! states can all be visited. The tests print their numbers.
//!
//! Puts whose ends count at any time ([`Ends::Apart`]) have the most runs. If those are too many, ends
//! count when the bytes arrive.

use mpi_abi::offload::check::check;
use mpi_abi::offload::compile::{Rules, link_all};

use super::collectives::Collective;
use super::is_long;
use super::model::{Adds, Ends, Network, System};
use super::search::{expect_right, expect_safe};

/// States of one system; debug builds visit about 10,000 per second.
const STATES_MAX: usize = 400_000;
const STATES_MAX_LONG: usize = 10_000_000;

/// Trees, barriers and lines: few messages at a time.
const NARROW: [Collective; 12] = [
    Collective::Barrier("tree"),
    Collective::Barrier("linear"),
    Collective::Bcast("binomial", 1),
    Collective::Bcast("binary", 1),
    Collective::Bcast("linear", 1),
    Collective::Bcast("chain", 1),
    Collective::Bcast("chain", 2),
    Collective::Gather("linear"),
    Collective::Gather("binomial"),
    Collective::Scatter("linear"),
    Collective::Scatter("binomial"),
    Collective::Barrier("dissemination"),
];

/// All ranks send at once.
const WIDE: [Collective; 9] = [
    Collective::AllgatherInPlace("doubling"),
    Collective::AllgatherInPlace("ring"),
    Collective::Allreduce("doubling"),
    Collective::Halo,
    Collective::Allgather("doubling"),
    Collective::Allgather("ring"),
    Collective::Allgather("bruck"),
    Collective::Alltoall("pairwise"),
    Collective::Alltoall("spread"),
];

/// Instances of an operation.
pub fn system(what: Collective, ranks: u32, instances: u8, rules: &Rules) -> System {
    let schedules = what.schedules(ranks);
    check(&schedules).unwrap();
    System::new(link_all(&schedules, rules).unwrap(), schedules, instances)
}

/// Checks all runs of three instances of each operation.
fn exhaust(all: &[Collective], ranks: u32, ends: Ends) {
    exhaust_of(all, ranks, 3, ends);
}

fn exhaust_of(all: &[Collective], ranks: u32, instances: u8, ends: Ends) {
    for &what in all {
        let system = System { ends, ..system(what, ranks, instances, &Rules::SAFE) };
        let name = format!("{what:?}, {ranks} ranks, {instances} instances, ends {ends:?}");
        if is_long() {
            expect_right(&name, &system, STATES_MAX_LONG);
        } else {
            expect_safe(&name, &system, STATES_MAX);
        }
    }
}

#[test]
fn two_ranks() {
    exhaust(&NARROW, 2, Ends::Apart);
    exhaust(&WIDE, 2, Ends::Apart);
}

#[test]
fn three_ranks() {
    exhaust(&NARROW, 3, Ends::Apart);
    exhaust(&WIDE[..3], 3, Ends::Apart);
    exhaust(&WIDE[3..], 3, Ends::Together);
}

#[test]
fn four_ranks() {
    exhaust(&NARROW, 4, Ends::Together);
    exhaust(&WIDE[..2], 4, Ends::Together);
    exhaust_of(&WIDE[2..4], 4, 1, Ends::Together);
}

/// Pipelines: unary digits if the network keeps order, else a digit for each segment.
#[test]
fn pipelines() {
    for ranks in [2, 3] {
        let counted = Rules { ordered: true, ..Rules::SAFE };
        let what = Collective::Bcast("chain", 3);
        let unary =
            System { network: Network::InOrderByEngine, ..system(what, ranks, 3, &counted) };
        expect_safe(&format!("{what:?}, {ranks} ranks, counted"), &unary, STATES_MAX);
        let digits = system(what, ranks, 3, &Rules::SAFE);
        expect_safe(&format!("{what:?}, {ranks} ranks, in digits"), &digits, STATES_MAX);
    }
}

/// Counters chained by carries, which start their work at separate times, and late additions to own
/// counters.
#[test]
fn slow_counters() {
    for what in [Collective::AllgatherInPlace("doubling"), Collective::Allreduce("doubling")] {
        let split = system(what, 2, 3, &Rules { bits: 2, ..Rules::SAFE });
        assert!(split.programs.iter().any(|program| program.counters() > 1));
        let slow = System { counters_lag: true, adds: Adds::Gated, ..split };
        expect_safe(&format!("{what:?}, 2 ranks, slow counters"), &slow, STATES_MAX);
    }
}

/// Cases for an optimized build (`scripts/proofs`).
#[test]
fn more_states() {
    if !is_long() {
        return;
    }
    exhaust(&WIDE[3..], 3, Ends::Apart);
    exhaust(&NARROW, 4, Ends::Apart);
    exhaust(&WIDE[..4], 4, Ends::Apart);
    exhaust(&WIDE[2..], 4, Ends::Together);
    exhaust(&NARROW[..11], 5, Ends::Together);
}
