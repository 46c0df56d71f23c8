//! Every program of `c-tests/failures`, run by this `mpirun --with-ft ulfm`: ranks end, and those that are
//! left go on, on shared memory, on sockets and over libfabric, with each way of waiting. Each run has a time
//! limit.

// Other tests use more of it.
#[allow(dead_code)]
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use programs::{harness, is_long, root, vendor};

/// The time that a run may take, in seconds: more than a loaded machine needs.
const LIMIT_SECONDS: &str = "60";

const DEVICES: [&str; 3] = ["shm", "tcp", "tcp;ofi_rxm"];

/// Whether one of [`DEVICES`] is a provider of libfabric.
fn is_provider(device: &str) -> bool {
    !matches!(device, "shm" | "tcp")
}

/// `mpirun` on a device, or over a provider of the libfabric in MPICH's package, between all ranks.
fn mpirun(device: &str, words: &[&str]) -> Command {
    if !is_provider(device) {
        return harness::mpirun(&[&["--device", device], words].concat());
    }
    let mut command = harness::mpirun(words);
    vendor::by_libfabric(&mut command, &vendor::libfabric(), device);
    command
}

/// Compiles a Fortran program.
fn fortran(source: &str) -> PathBuf {
    let name = Path::new(source).file_stem().unwrap();
    let program = harness::folder(&format!("failures-{}", name.to_str().unwrap())).join(name);
    let mut command = Command::new(harness::built("mpifort"));
    command.env_remove("SUIRO_FC").args(["-O1", "-g", "-Wall", "-Wno-unused-dummy-argument"]);
    command.arg("-o").args([&program, &root().join("c-tests/failures").join(source)]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

fn program(source: &str) -> PathBuf {
    let flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-g"];
    harness::compile(&root().join(source).with_extension("c"), &flags)
}

fn run(program: &Path, ranks: u32, device: &str, more: &[&str]) -> harness::Outcome {
    let ranks = ranks.to_string();
    let mut words = vec!["--with-ft", "ulfm", "--timeout", LIMIT_SECONDS, "-n", &ranks];
    words.push(program.to_str().unwrap());
    words.extend(more);
    harness::start(mpirun(device, &words)).wait()
}

/// Runs a program on each device with these numbers of ranks and arguments; each run must succeed without
/// counted errors.
fn check(name: &str, ranks: impl Iterator<Item = u32> + Clone, arguments: &[&[&str]]) {
    check_built(&program(&format!("c-tests/failures/{name}")), ranks, arguments);
}

fn check_built(program: &Path, ranks: impl Iterator<Item = u32> + Clone, arguments: &[&[&str]]) {
    let name = program.display();
    let all: Vec<_> =
        ranks.flat_map(|ranks| arguments.iter().map(move |more| (ranks, more))).collect();
    for device in DEVICES {
        // Over libfabric the last of them, unless there is time.
        let is_short = is_provider(device) && !is_long();
        for (ranks, more) in &all[if is_short { all.len() - 1 } else { 0 }..] {
            let outcome = run(program, *ranks, device, more);
            let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{name} {more:?}, {ranks} ranks, {device}: {said:?}");
        }
    }
}

#[test]
fn receive() {
    check("receive", 2..=5, &[&[]]);
}

#[test]
fn collective() {
    check("collective", [2, 3, 5].into_iter(), &[&["0"], &["1"], &["2"], &["3"], &["4"], &["5"]]);
}

/// Programs of the interfaces end with an error at all ranks that are left, which make others.
#[test]
fn persistent_collective() {
    let program = program("tests/data/program_dies");
    for device in DEVICES.into_iter().filter(|device| !is_provider(device)) {
        for (ranks, kind) in [(3, "0"), (4, "2"), (5, "1")] {
            let count = ranks.to_string();
            let words = ["--with-ft", "ulfm", "--timeout", LIMIT_SECONDS, "-n", &count];
            let words = [&words[..], &[program.to_str().unwrap(), kind]].concat();
            let mut command = mpirun(device, &words);
            command.env("SUIRO_OFFLOAD", "tank");
            let outcome = harness::start(command).wait();
            let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{kind}, {ranks} ranks, {device}: {said:?}");
        }
    }
}

#[test]
fn any_source() {
    check("any_source", 2..=5, &[&[]]);
}

#[test]
fn revoke() {
    check("revoke", 2..=5, &[&[]]);
    check("revoke", 3..=5, &[&["die"]]);
}

#[test]
fn agree() {
    check("agree", 2..=5, &[&["0"], &["1"]]);
}

#[test]
fn a_rank_that_runs_another_program_has_failed_and_its_end_is_awaited() {
    let program = program("c-tests/failures/exec");
    for device in DEVICES {
        let outcome = run(&program, 3, device, &[]);
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert_eq!(outcome.code, Some(0), "{device}: {said:?}");
        for text in ["errors = 0\n", "the other program has ended\n"] {
            assert!(outcome.text().contains(text), "{device}: {said:?}");
        }
    }
}

#[test]
fn spawned() {
    check("spawned", [2, 3].into_iter(), &[&["child"], &["parent"]]);
}

/// On sockets, jobs share no memory.
#[test]
fn spawned_window() {
    let ends = ["child", "parent"].into_iter();
    let ways = ends.flat_map(|lost| ["held", "queued", "adding"].map(|way| (lost, way)));
    for (lost, way) in ways {
        let both: [&[&str]; 2] = [&[lost, way, "allocate"], &[lost, way, "create"]];
        // Children lose one kind of memory, parents the other, unless there is time.
        let one = usize::from(lost == "child");
        check("spawned_window", [3].into_iter(), if is_long() { &both } else { &both[one..=one] });
        let program = program("c-tests/failures/spawned_window");
        let outcome = run(&program, 2, "shm", &[lost, way, "shared"]);
        let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
        assert!(good, "{lost} {way}: {:?} {} {}", outcome.code, outcome.text(), outcome.stderr);
    }
}

#[test]
fn intercomm() {
    check("intercomm", [4, 5, 7].into_iter(), &[&["0"], &["1"], &["2"], &["3"]]);
}

#[test]
fn operations() {
    let program = program("c-tests/failures/operations");
    let seeds = if is_long() { 1000 } else { 5 };
    let kinds = [
        "nonblocking",
        "blocking",
        "persistent",
        "neighborhood",
        "between",
        "creation",
        "messages",
    ];
    for seed in 1..=seeds {
        let (ranks, device) = (2 + seed % 5, DEVICES[seed as usize % DEVICES.len()]);
        for kind in kinds {
            let outcome = run(&program, ranks, device, &[kind, &seed.to_string()]);
            let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{kind}, seed {seed}, {ranks} ranks, {device}: {said:?}");
        }
    }
}

#[test]
fn a_revoked_world_is_finalized_also_without_the_option() {
    check("revoked_world", 2..=4, &[&[]]);
    let program = program("c-tests/failures/revoked_world");
    for device in DEVICES {
        let words = ["-n", "3", program.to_str().unwrap()];
        let outcome = harness::start(mpirun(device, &words)).wait();
        let good = outcome.code == Some(0) && outcome.text() == "errors = 0\n";
        assert!(good, "{device}: {:?} {} {}", outcome.code, outcome.text(), outcome.stderr);
    }
}

#[test]
fn respawn() {
    check("respawn", [3, 5].into_iter(), &[&[]]);
}

#[test]
fn unconnected() {
    check("unconnected", [3, 5].into_iter(), &[&["0"], &["1"], &["2"], &["3"]]);
}

#[test]
fn handler() {
    check("handler", [2, 3].into_iter(), &[&[]]);
}

#[test]
fn finalize() {
    let seeds = if is_long() { 200 } else { 5 };
    let seeds: Vec<_> = (0..seeds).map(|seed| seed.to_string()).collect();
    let seeds: Vec<_> = seeds.iter().map(|seed| [&**seed]).collect();
    let seeds: Vec<&[&str]> = seeds.iter().map(|seed| &seed[..]).collect();
    check("finalize", [2, 5].into_iter(), &seeds);
}

#[test]
fn random() {
    let seeds = if is_long() { 1000 } else { 12 };
    let program = program("c-tests/failures/random");
    for seed in 1..=seeds {
        let (ranks, device) = (2 + seed % 5, DEVICES[seed as usize % DEVICES.len()]);
        let outcome = run(&program, ranks, device, &[&seed.to_string()]);
        let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(good, "seed {seed}, {ranks} ranks, {device}: {said:?}");
    }
}

/// More of them: `scripts/faults shrink`.
#[test]
fn shrinks() {
    check("shrinks", [2, 6].into_iter(), &[&["1"], &["2"], &["3"]]);
}

#[test]
fn quick() {
    check("quick", [2, 5].into_iter(), &[&[]]);
}

/// The agent of another host ends, or is silent.
#[test]
fn a_host_is_lost() {
    let program = program("c-tests/failures/host");
    let hosts = ["-launcher-exec", harness::HERE, "-host", "localhost:3,198.51.100.1:2"];
    for (signal, why) in [("KILL", "with ranks 3-4"), ("STOP", "silent for 1 s")] {
        let words = ["--with-ft", "ulfm", "--timeout", LIMIT_SECONDS, program.to_str().unwrap()];
        let mut command = harness::mpirun(&[&hosts[..], &words].concat());
        command.env("SUIRO_HOST_TIMEOUT", "1s");
        let job = harness::start(command);
        job.until_errors(|text| text.contains("running").then_some(()));
        harness::agents(&job).into_iter().for_each(|pid| harness::signal_process(pid, signal));
        let outcome = job.wait();
        let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
        assert!(good, "{signal}: {:?} {} {}", outcome.code, outcome.text(), outcome.stderr);
        let lost = outcome.stderr.lines().find(|line| line.contains("lost host 198.51.100.1"));
        let said = lost.is_some_and(|line| line.contains(why) && line.ends_with("(--with-ft)"));
        assert!(said, "{signal}: {}", outcome.stderr);
    }
}

/// `mpif-ext.h` and the modules `mpi_ext` and `mpi_f08_ext`.
const FORTRAN: [&str; 3] = ["f08_failures.f90", "f77_failures.f", "f90_failures.f90"];

#[test]
fn fortran_programs_survive() {
    for source in FORTRAN {
        check_built(&fortran(source), [2, 3, 5].into_iter(), &[&[]]);
    }
}

/// The kinds of memory of a window.
const MEMORY: [&str; 4] = ["allocate", "shared", "create", "dynamic"];

#[test]
fn window_accumulate() {
    check("window_accumulate", [2, 4].into_iter(), &MEMORY.each_ref().map(std::slice::from_ref));
}

#[test]
fn window_epochs() {
    check("window_epochs", [3, 4, 6].into_iter(), &MEMORY.each_ref().map(std::slice::from_ref));
}

#[test]
fn window_lock() {
    const RANKS: [u32; 3] = [2, 3, 5];
    for (number, memory) in MEMORY.into_iter().enumerate() {
        let ways = ["held", "shared", "queued", "all"].map(|way| [way, memory]);
        let one = number % RANKS.len();
        let ranks = if is_long() { &RANKS[..] } else { &RANKS[one..=one] };
        check("window_lock", ranks.iter().copied(), &ways.each_ref().map(|way| &way[..]));
    }
}

#[test]
fn window_revoke() {
    for memory in MEMORY {
        check("window_revoke", [2, 3, 5].into_iter(), &[&[memory], &[memory, "die"]]);
    }
}

/// A file of a program.
fn place(name: &str) -> String {
    harness::folder(name).join("file").to_str().unwrap().to_owned()
}

#[test]
fn file_revoke() {
    let path = place("failures-file-revoke");
    for kind in ["write", "read", "sync", "view"] {
        check("file_revoke", [2, 3, 5].into_iter(), &[&[&path, kind], &[&path, kind, "die"]]);
    }
}

#[test]
fn file_random() {
    let seeds = if is_long() { 1000 } else { 12 };
    let (program, path) = (program("c-tests/failures/file_random"), place("failures-file-random"));
    for seed in 1..=seeds {
        let (ranks, device) = (2 + seed % 5, DEVICES[seed as usize % DEVICES.len()]);
        let outcome = run(&program, ranks, device, &[&seed.to_string(), &path]);
        let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(good, "seed {seed}, {ranks} ranks, {device}: {said:?}");
    }
}

#[test]
fn window_random() {
    let seeds = if is_long() { 500 } else { 6 };
    let program = program("c-tests/failures/window_random");
    for seed in 1..=seeds {
        let (ranks, device) = (2 + seed % 5, DEVICES[seed as usize % DEVICES.len()]);
        for memory in MEMORY {
            let outcome = run(&program, ranks, device, &[&seed.to_string(), memory]);
            let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "seed {seed}, {ranks} ranks, {device}, {memory}: {said:?}");
        }
    }
}

#[test]
fn a_fatal_error_handler_ends_the_job() {
    let program = program("c-tests/failures/fatal");
    for device in DEVICES {
        let outcome = run(&program, 3, device, &[]);
        let line = "aborted the job with code 75: MPI_Barrier on MPI_COMM_WORLD";
        let good = outcome.code == Some(75) && outcome.stderr.contains(line);
        assert!(good && outcome.text().is_empty(), "{:?} {}", outcome.code, outcome.stderr);
    }
}

#[test]
fn without_the_option_a_failure_ends_the_job() {
    let program = program("c-tests/failures/receive");
    let outcome = harness::start(harness::mpirun(&["-n", "3", program.to_str().unwrap()])).wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ending the other 2 ranks"), "{}", outcome.stderr);
}

#[test]
fn the_example_loses_ranks_and_ends_with_the_right_result() {
    let program = program("examples/resilient");
    for device in DEVICES {
        for seed in ["1", "2", "3"] {
            let outcome = run(&program, 5, device, &[seed]);
            let good = outcome.code == Some(0) && outcome.text().contains("the result is right");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{device}, seed {seed}: {said:?}");
        }
    }
}

#[test]
fn every_program_is_run() {
    let files = std::fs::read_dir(root().join("c-tests/failures")).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let (mut names, mut other): (Vec<String>, Vec<String>) =
        files.filter(|name| !name.ends_with(".h")).partition(|name| name.ends_with(".c"));
    names.iter_mut().for_each(|name| name.truncate(name.len() - ".c".len()));
    names.sort();
    other.sort();
    assert_eq!(other, FORTRAN.map(String::from));
    let run = [
        "agree",
        "any_source",
        "collective",
        "exec",
        "fatal",
        "file_random",
        "file_revoke",
        "finalize",
        "handler",
        "host",
        "intercomm",
        "operations",
        "quick",
        "random",
        "receive",
        "respawn",
        "revoke",
        "revoked_world",
        "shrinks",
        "spawned",
        "spawned_window",
        "unconnected",
        "window_accumulate",
        "window_epochs",
        "window_lock",
        "window_random",
        "window_revoke",
    ];
    assert_eq!(names, run.map(String::from));
}

/// Those whose connections end differently.
#[test]
fn shrinks_over_other_providers() {
    let program = program("c-tests/failures/shrinks");
    for provider in ["tcp", "sockets"] {
        for (seed, ranks) in [(1, 2), (2, 4), (3, 6)] {
            let outcome = run(&program, ranks, provider, &[&seed.to_string()]);
            let good = outcome.code == Some(0) && outcome.text().contains("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "seed {seed}, {ranks} ranks, {provider}: {said:?}");
        }
    }
}
