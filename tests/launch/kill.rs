//! A rank of a job that is busy with MPI is killed, at any time: the job ends and nothing is left.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::harness::{Running, folder, mpirun, signal_process, start, until};

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
    let program = compile();
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

fn compile() -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ring.c");
    let program = folder("kill").join("ring");
    let mut mpicc = Command::new(env!("CARGO_BIN_EXE_mpicc"));
    let status = mpicc.arg("-O2").arg(source).arg("-o").arg(&program).status().unwrap();
    assert!(status.success(), "ring.c does not compile");
    program.to_str().unwrap().to_owned()
}

/// Kills one rank and checks everything; how long `mpirun` then took to end.
fn kill_one(program: &str, random: u64) -> Duration {
    let before = files();
    let running = start(mpirun(&["-n", RANKS, program]));
    thread::sleep(Duration::from_micros(random % DELAY_MAX_US));
    let ranks = until(|| Some(ranks(&running)).filter(|ranks| !ranks.is_empty()));
    let (rank, victim) = &ranks[(random >> 40) as usize % ranks.len()];
    let job = running.processes();
    let begin = Instant::now();
    signal_process(*victim, "KILL");
    let (took, outcome) = running.wait_from(begin);
    let (code, stderr) = (outcome.code, outcome.stderr);
    assert_eq!(code, Some(137), "rank {rank} of {ranks:?}:\n{stderr}");
    assert!(stderr.contains(&format!("rank {rank} ")), "rank {rank} is not named:\n{stderr}");
    let left: Vec<_> =
        files().difference(&before).filter(|path| is_of(path, &job)).cloned().collect();
    assert!(left.is_empty(), "rank {rank} killed, files left: {left:?}");
    took
}

/// The ranks that run, with their processes.
fn ranks(running: &Running) -> Vec<(u32, u32)> {
    let rank = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        let rank = variables.find_map(|variable| variable.strip_prefix(b"PMI_RANK="))?;
        Some((std::str::from_utf8(rank).ok()?.parse().ok()?, pid))
    };
    running.processes().into_iter().filter_map(rank).collect()
}

/// Whether a file is of ours by its name, or named after a process of `job`.
fn is_of(path: &str, job: &[u32]) -> bool {
    let numbers = path.split(|character: char| !character.is_ascii_digit());
    let mut numbers = numbers.filter_map(|number| number.parse::<u32>().ok());
    path.to_lowercase().contains("suiro") || numbers.any(|number| job.contains(&number))
}

/// The files where a job could leave some.
fn files() -> BTreeSet<String> {
    let folders = ["/dev/shm", "/tmp"].into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    let entries = folders.flatten().flatten();
    entries.map(|entry| entry.path().to_string_lossy().into_owned()).collect()
}
