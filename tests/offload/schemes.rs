//! The compiler's proofs hold: if it finds that one tank or two are safe, all runs are right, for
//! every scheme, every collective operation, and random schedules with random rules.
//!
//! Here the end of an instance waits for its own puts, as on an interface (`device::trigger`).

use mpi_abi::offload::causal_order::CausalOrder;
use mpi_abi::offload::compile::{Rules, link_all};
use mpi_abi::offload::{Program, Schedule, Scheme};
use platform::base::Random;

use super::collectives::Collective;
use super::graph::schedules;
use super::is_long;
use super::model::{Ends, System};
use super::random::draw;
use super::search::{Found, search};

/// States of one system.
const STATES_MAX: usize = 40_000;

/// Whether the compiler proves these programs safe with their tanks.
fn verdict(programs: &[Program]) -> Result<(), String> {
    let order = CausalOrder::of(programs)?;
    if programs[0].tanks == 1 { order.one_tank() } else { order.two_tanks() }
}

fn system(schedules: Vec<Schedule>, programs: Vec<Program>, instances: u8) -> System {
    // With one tank, messages of two instances may be exchanged.
    let exact = programs[0].tanks > 1;
    let counters_lag = programs.iter().any(|program| program.counters() > 1);
    let system = System::new(programs, schedules, instances);
    System { holds: true, exact, counters_lag, ..system }
}

#[test]
fn collectives_by_every_scheme() {
    let all = [
        Collective::Barrier("dissemination"),
        Collective::Barrier("tree"),
        Collective::Bcast("chain", 2),
        Collective::Bcast("binomial", 1),
        Collective::Gather("linear"),
        Collective::Gather("binomial"),
        Collective::Scatter("linear"),
        Collective::Scatter("binomial"),
        Collective::AllgatherInPlace("doubling"),
        Collective::AllgatherInPlace("ring"),
        Collective::Allreduce("doubling"),
        Collective::Halo,
    ];
    for scheme in [Scheme::Tank, Scheme::Tank1, Scheme::Prematched] {
        for ranks in 2..if is_long() { 5 } else { 4 } {
            for what in all {
                let parts = what.schedules(ranks);
                let synchronizes = matches!(what, Collective::Barrier(_));
                let rules = Rules { synchronizes, ..Rules::of(scheme) };
                let programs = link_all(&parts, &rules).unwrap();
                let verdict = verdict(&programs);
                assert!(verdict.is_ok() || scheme == Scheme::Tank1, "{what:?}: {verdict:?}");
                let ends = if ranks < 4 { Ends::Apart } else { Ends::Together };
                let system = System { ends, ..system(parts, programs, 3) };
                let name = format!("{what:?}, {ranks} ranks, {scheme:?}, said to be {verdict:?}");
                match search(&system, if is_long() { 20_000_000 } else { STATES_MAX }) {
                    Found::Fault(why, trace) if verdict.is_ok() => {
                        panic!("{name}: {why}\n{}", trace.join("\n"))
                    }
                    Found::Fault(why, _) => println!("{name}: {why}"),
                    Found::Safe(states) => println!("{name}: all {states} states are right"),
                    Found::Limit(states) => println!("{name}: {states} states of more are right"),
                }
            }
        }
    }
}

#[test]
fn random_schedules_by_random_rules() {
    let count = if is_long() { 20_000 } else { 300 };
    let [mut safe, mut lucky, mut unsafe_ones, mut large] = [0; 4];
    for seed in 0..count {
        let mut random = Random::new(seed);
        let bytes = !random.one_in(3);
        let (ranks, messages) = draw(&mut random, 4, bytes);
        let rules = Rules {
            ready: !random.one_in(4),
            merges: random.one_in(2),
            parity: random.one_in(2),
            in_turn: random.one_in(2),
            streams: 1 + random.below(3) as u8,
            bits: if random.one_in(3) { 3 } else { 62 },
            ..Rules::SAFE
        };
        let parts = schedules(ranks, &messages);
        let programs = link_all(&parts, &rules).unwrap();
        let verdict = verdict(&programs);
        match (search(&system(parts, programs, 3), STATES_MAX), verdict) {
            (Found::Safe(_), Ok(())) => safe += 1,
            (Found::Safe(_), Err(_)) => lucky += 1,
            (Found::Fault(..), Err(_)) => unsafe_ones += 1,
            (Found::Limit(_), _) => large += 1,
            (Found::Fault(why, trace), Ok(())) => {
                let trace = trace.join("\n");
                panic!("seed {seed}, {rules:?}, {messages:#?}: {why}\n{trace}")
            }
        }
    }
    println!(
        "proved safe: {safe} safe; not proved: {unsafe_ones} unsafe, {lucky} safe; \
         {large} with too many states"
    );
    assert!(safe > unsafe_ones && unsafe_ones > 0);
}
