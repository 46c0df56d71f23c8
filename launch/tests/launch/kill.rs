//! Kills a rank of a busy MPI job at a random time: the job ends and nothing is left.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use super::harness::{compiled, files, mpirun, nothing_new, ranks, signal_process, start, until};

const RANKS: &str = "4";
/// The longest time from the start of `mpirun` to the kill, in microseconds: most kills come after
/// initialization, some before.
const DELAY_MAX_US: u64 = 150_000;

/// `SUIRO_KILL_RUNS` makes it more than 20 times; with `SUIRO_KILL_LIMIT_MS` the end of a job may
/// not take longer than that. `scripts/kill-test` sets both.
#[test]
fn kill_mpi() {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let runs = number("SUIRO_KILL_RUNS").unwrap_or(20);
    let limit = number("SUIRO_KILL_LIMIT_MS").map_or(Duration::MAX, Duration::from_millis);
    let program = compiled("ring");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut took: Vec<_> = (0..runs)
        .map(|run| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let took = kill_one(&program, random);
            assert!(took <= limit, "run {run}: mpirun took {took:?} to end");
            took
        })
        .collect();
    took.sort_unstable();
    let (median, slowest) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{runs} kills: all well; mpirun ended after {median:.0?} (median), {slowest:.0?} (max)"
    );
}

/// Kills one rank and checks everything; the time until `mpirun` exited.
fn kill_one(program: &str, random: u64) -> Duration {
    let before = files();
    let running = start(mpirun(&["-n", RANKS, program]));
    thread::sleep(Duration::from_micros(random % DELAY_MAX_US));
    let ranks = until(|| Some(ranks(&running)).filter(|ranks| !ranks.is_empty()));
    let chosen = (random >> 40) as usize % ranks.len();
    let (rank, victim) = ranks.iter().nth(chosen).unwrap();
    let job = running.processes();
    let begin = Instant::now();
    signal_process(*victim, "KILL");
    let (took, outcome) = running.wait_from(begin);
    let (code, stderr) = (outcome.code, outcome.stderr);
    assert_eq!(code, Some(137), "rank {rank} of {ranks:?}:\n{stderr}");
    assert!(stderr.contains(&format!("rank {rank} ")), "rank {rank} is not named:\n{stderr}");
    nothing_new(&before, &job);
    took
}
