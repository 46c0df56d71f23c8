//! Other libraries as carriers of messages. Here MPICH (`SUIRO_DEVICE=vendor`), under its own launcher: programs of
//! `c-tests`, how jobs end, and that the two libraries, which have the same names, do not meet.

#[path = "carrier_programs/choice.rs"]
mod choice;
#[path = "carrier_programs/fabric.rs"]
mod fabric;
#[allow(dead_code, reason = "each test uses a part")]
mod programs;
#[path = "carrier_programs/stub.rs"]
mod stub;

use std::fs;
use std::path::{Path, PathBuf};

use programs::{harness, root, vendor};

/// A program of `c-tests`.
fn program(name: &str) -> PathBuf {
    let source = root().join("c-tests").join(name).with_extension("c");
    harness::compile(&source, &["-std=c11", "-O2", "-g", "-pthread"])
}

/// Runs a program of `c-tests`, which must succeed.
fn check(name: &str, ranks: u32, environment: &[(&str, &str)]) {
    vendor::check(name, ranks, environment, &program(name));
}

const THREAD: (&str, &str) = ("SUIRO_VENDOR_MODE", "thread");
const PROGRESS: (&str, &str) = ("SUIRO_PROGRESS", "thread");

#[test]
fn programs_run_in_polling_mode() {
    for (name, ranks) in [
        ("coll_forms", 3),
        ("environment", 1),
        ("intercomm_traffic", 4),
        ("matching", 3),
        ("partitioned", 2),
        ("rma_random", 3),
        ("sessions", 2),
        ("threads_multiple", 2),
        ("truncation", 5),
    ] {
        check(name, ranks, &[]);
    }
    check("completion", 3, &[PROGRESS]);
}

#[test]
fn programs_run_in_thread_mode() {
    for (name, ranks) in [("completion", 3), ("send_modes", 2), ("coll_all", 5)] {
        check(name, ranks, &[THREAD]);
    }
    check("threads_multiple", 2, &[THREAD, PROGRESS]);
}

#[test]
fn the_limit_of_short_messages_can_be_set() {
    for limit in ["64", "4064", "1048576"] {
        check("send_sizes", 2, &[("SUIRO_VENDOR_SHORT", limit)]);
    }
}

/// Inside a host shared memory carries messages, and the library has next to nothing to do.
#[test]
fn the_library_may_carry_messages_between_hosts_only() {
    check("send_sizes", 3, &[("SUIRO_VENDOR_BETWEEN", "hosts")]);
}

fn ends(how: &str, ranks: u32, environment: &[(&str, &str)]) -> harness::Outcome {
    let program = harness::compiled("vendor_ends");
    harness::start(vendor::over_mpich(ranks, environment, Path::new(&program), &[how])).wait()
}

#[test]
fn jobs_end_in_order() {
    for how in ["plain", "sessions", "session", "late", "fork"] {
        for environment in [&[][..], &[THREAD]] {
            let outcome = ends(how, 2, environment);
            assert_eq!((outcome.code, outcome.text()), (Some(0), ""), "{how}: {}", outcome.stderr);
        }
    }
}

#[test]
fn the_failure_of_a_rank_ends_the_job() {
    // The code is that of the rank, or of one that the launcher has killed for it.
    for how in ["exit", "killed"] {
        for environment in [&[][..], &[THREAD]] {
            let outcome = ends(how, 3, environment);
            assert_ne!(outcome.code, Some(0), "{how}: {}", outcome.stderr);
        }
    }
    let aborts = program("abort");
    for environment in [&[][..], &[THREAD]] {
        let outcome = harness::start(vendor::over_mpich(2, environment, &aborts, &[])).wait();
        assert_eq!(outcome.code, Some(42), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("Suiro: "), "{}", outcome.stderr);
    }
}

#[test]
fn other_jobs_are_not_reached() {
    let outcome = ends("connect", 2, &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["open_port 1", "spawn 1"]);
}

#[test]
fn what_cannot_be_used_is_named() {
    let mpich = vendor::mpich();
    let other_abi = mpich.join("lib/libmpi.so.12");
    let own = Path::new(&harness::built("mpirun")).with_file_name("libmpi_abi.so.1");
    for (variable, value, expected) in [
        ("SUIRO_VENDOR_LIBRARY", "", "needs SUIRO_VENDOR_LIBRARY"),
        ("SUIRO_VENDOR_LIBRARY", "/nonexistent.so", "cannot open shared object file"),
        ("SUIRO_VENDOR_LIBRARY", "libc.so.6", "undefined symbol: MPI_"),
        ("SUIRO_VENDOR_LIBRARY", own.to_str().unwrap(), "it is this library itself"),
        ("SUIRO_VENDOR_LIBRARY", other_abi.to_str().unwrap(), "its ABI has the version"),
        ("SUIRO_VENDOR_SHORT", "1", "SUIRO_VENDOR_SHORT=1 is not one of"),
    ] {
        let outcome = ends("plain", 1, &[(variable, value)]);
        assert_ne!(outcome.code, Some(0), "{variable}={value}");
        assert!(outcome.stderr.contains(expected), "{variable}={value}: {}", outcome.stderr);
    }
    let program = harness::compiled("vendor_ends");
    let mut command = harness::mpirun(&["-n", "2", &program]);
    command.env("SUIRO_DEVICE", "vendor").env("SUIRO_VENDOR_LIBRARY", vendor::library());
    let outcome = harness::start(command).wait();
    assert!(outcome.stderr.contains("needs the launcher of the other library"), "{outcome:?}");
}

/// The dynamic loader tells where each name was found. The two files have one name, and one soname.
#[test]
fn the_two_libraries_do_not_meet() {
    let (theirs, program) = (vendor::library(), harness::compiled("vendor_ends"));
    let own = Path::new(&harness::built("mpirun")).with_file_name("libmpi_abi.so.1");
    let own = own.to_str().unwrap();
    let their_folder = Path::new(&theirs).parent().unwrap().to_str().unwrap();
    // The program finds this library by its own path, or it finds the other one and has this one preloaded.
    let preloads = [format!("LD_PRELOAD={own}"), format!("LD_LIBRARY_PATH={their_folder}")];
    for (way, preloads) in [("linked", &[][..]), ("preloaded", &preloads[..])] {
        let folder = harness::folder(&format!("vendor-bindings-{way}"));
        let log = format!("LD_DEBUG_OUTPUT={}", folder.join("log").display());
        // Only the program is watched, not the launcher.
        let mut words = vec!["LD_DEBUG=bindings", &log];
        words.extend(preloads.iter().map(String::as_str));
        words.extend([&*program, "plain"]);
        let command = vendor::over_mpich(2, &[], Path::new("env"), &words);
        let outcome = harness::start(command).wait();
        assert_eq!((outcome.code, outcome.text()), (Some(0), ""), "{way}: {}", outcome.stderr);
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let text: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
        let [mut inside, mut used] = [0, 0];
        for line in text.lines().filter(|line| line.contains("binding file")) {
            let (Some((from, to)), Some(name)) = (line.split_once(" to "), line.split('`').nth(1))
            else {
                continue;
            };
            let is_mpi = ["MPI_", "MPIX_", "MPIR_", "mpi_"].iter().any(|part| name.contains(part));
            match (from.contains(&theirs), to.contains(&theirs)) {
                (true, true) => inside += usize::from(is_mpi),
                (true, false) => {
                    assert!(!is_mpi, "{way}: the other library calls this one: {line}")
                }
                (false, true) => panic!("{way}: something calls the other library: {line}"),
                (false, false) => used += usize::from(is_mpi && to.contains(own)),
            }
        }
        assert!(inside > 0 && used > 0, "{way}: no names of the libraries in {text:.2000}");
    }
}
