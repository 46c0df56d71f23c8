//! Programs of `c-tests` with two ranks on each of two hosts, and the ports of jobs on one host. In
//! continuous integration some programs; with `SUIRO_TEST_LONG=1` all of them.

use std::fs;
use std::path::Path;

use super::cluster::Hosts;
use super::sockets;
use crate::harness::{self, root};
use crate::vendor;

const FLAGS: &[&str] = &["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", "-pthread"];

const SOME: &[&str] = &[
    "cancel",
    "cancel_send",
    "coll_all",
    "coll_blocks",
    "coll_forms",
    "coll_inter",
    "coll_nonblocking",
    "comm_split_type",
    "completion",
    "file_access",
    "file_errors",
    "file_views",
    "floods",
    "head_to_head",
    "init_finalize",
    "intercomm_traffic",
    "long_queues",
    "matching",
    "persistent",
    "probe",
    "send_modes",
    "send_sizes",
    "sessions_some",
    "threads_multiple",
    "truncation",
];

/// Those that are not strict here, and the reason: the launchers that tell ranks about other hosts do it
/// when all ranks ask, so each rank must initialize MPI.
const NOT_STRICT: &[&str] = &["sessions_some"];

/// Those that are there to fail.
const FAILING: &[&str] = &["abort", "errors_abort", "errors_fatal"];

/// The programs to run.
fn programs() -> Vec<String> {
    if std::env::var_os("SUIRO_TEST_LONG").is_none_or(|value| value != "1") {
        return SOME.iter().map(|&name| name.to_owned()).collect();
    }
    let sources = fs::read_dir(root().join("c-tests")).unwrap();
    let sources = sources.map(|entry| entry.unwrap().path());
    let sources = sources.filter(|path| path.extension().is_some_and(|ending| ending == "c"));
    // A Fortran source of the same name makes it a part of that program.
    let is_own = |path: &Path| !["f", "f90"].iter().any(|end| path.with_extension(end).exists());
    let sources = sources.filter(|path| is_own(path));
    let names = sources.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<_> = names.filter(|name| !FAILING.contains(&name.as_str())).collect();
    names.sort_unstable();
    names
}

fn compiled(name: &str) -> String {
    let source = root().join("c-tests").join(name).with_extension("c");
    harness::compile(&source, FLAGS).to_str().unwrap().to_owned()
}

/// Programs about ACP that need no argument: accesses inside a host and between hosts meet in them.
const OF_ACP: &[&str] =
    &["acp_atomics", "acp_copy", "acp_memory", "acp_mpi", "acp_order", "acp_passive", "acp_random"];

/// Runs one of `parts` equal parts of the programs; reports all that fail.
fn check(part: usize, parts: usize) {
    let Some(hosts) = Hosts::up(2) else { return };
    // Each host has a folder for temporary files of its own.
    let shared = harness::folder(&format!("files-of-hosts-{part}"));
    let mut wrong = String::new();
    for name in programs().iter().skip(part).step_by(parts) {
        let mut command = hosts.mpiexec(2, 2, &[&compiled(name)]);
        if !NOT_STRICT.contains(&name.as_str()) {
            command.env("CHECK_STRICT", "1");
        }
        command.env("SHARED_FOLDER", &shared);
        let outcome = harness::start(command).wait();
        if outcome.code != Some(0) || !outcome.text().ends_with("errors = 0\n") {
            let said = [outcome.text(), &outcome.stderr].concat();
            wrong += &format!("{name}: {:?}\n{said}\n", outcome.code);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn programs_on_two_hosts() {
    check(0, 2);
}

#[test]
fn more_programs_on_two_hosts() {
    check(1, 2);
}

#[test]
fn programs_about_acp_on_two_hosts() {
    let Some(hosts) = Hosts::up(2) else { return };
    for name in OF_ACP {
        let source = root().join("c-tests/acp").join(name).with_extension("c");
        let program = harness::compile_by("acpcc", &source, FLAGS);
        let words = [program.to_str().unwrap()];
        let outcome = harness::start(hosts.mpirun(2, 2, &words)).wait();
        let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
        assert!(good, "{name}: {:?}\n{}{}", outcome.code, outcome.text(), outcome.stderr);
    }
}

/// Threads run the programs of persistent collectives, by memory inside a host and by sockets between hosts,
/// or by sockets everywhere. Three ranks, two of them on one host.
#[test]
fn programs_of_threads_on_two_hosts() {
    let Some(hosts) = Hosts::up(2) else { return };
    let beside = harness::compiled("offload_beside");
    for device in ["shm", "tcp"] {
        // What crosses the hosts is the same with both.
        let names: &[&str] =
            if device == "shm" { &["coll_persistent"] } else { &["coll_neighbor"] };
        for name in names {
            let mut command = hosts.mpirun(2, 2, &["-n", "3", &compiled(name)]);
            command.env("SUIRO_DEVICE", device).env("SUIRO_OFFLOAD", "tank");
            let outcome = harness::start(command).wait();
            let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{name}, {device}: {said:?}");
        }
        // No rank waits for the application of another one.
        let folder = harness::folder(&format!("offload-beside-hosts-{device}"));
        let mut command = hosts.mpirun(2, 2, &[&beside, folder.to_str().unwrap()]);
        command.env("SUIRO_DEVICE", device).env("SUIRO_OFFLOAD", "tank");
        let outcome = harness::start(command).wait();
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(said.0 == Some(0) && said.1 == "all beside\n", "{device}: {said:?}");
    }
}

/// Between the hosts libfabric carries the messages, inside a host shared memory.
#[test]
fn programs_by_libfabric_on_two_hosts() {
    let Some(hosts) = Hosts::up(2) else { return };
    for (name, provider) in [
        ("coll_forms", "tcp"),
        ("floods", "tcp"),
        ("intercomm_traffic", "tcp;ofi_rxm"),
        ("matching", "tcp;ofi_rxm"),
        ("rma_random", "tcp"),
        ("send_sizes", "tcp;ofi_rxm"),
    ] {
        let mut command = hosts.mpirun(2, 2, &[&compiled(name)]);
        command.env("SUIRO_DEVICE", "ofi").env("SUIRO_OFI_PROVIDER", provider);
        command.env("SUIRO_OFI_LIBRARY", vendor::libfabric()).env("CHECK_STRICT", "1");
        let outcome = harness::start(command).wait();
        let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
        assert!(good, "{name}, {provider}: {:?}\n{}", outcome.code, outcome.stderr);
    }
}

/// Without a fabric, `auto` is TCP, and libfabric is not loaded; a provider that the user has named is taken by all ranks.
#[test]
fn a_device_is_chosen_on_two_hosts() {
    let Some(hosts) = Hosts::up(2) else { return };
    let real = vendor::libfabric();
    for (provider, library, expected) in [
        ("", "/nonexistent.so", "device auto is shm: there is no interface"),
        (
            "tcp",
            &*real,
            "device auto is ofi: SUIRO_OFI_PROVIDER=tcp, and all ranks have its provider",
        ),
    ] {
        let mut command = hosts.mpirun(2, 2, &[&compiled("matching")]);
        command.env("SUIRO_DEVICE", "auto").env("SUIRO_EXPLAIN", "1").env_remove("FI_PROVIDER");
        command.env("SUIRO_OFI_PROVIDER", provider).env("SUIRO_OFI_LIBRARY", library);
        command.env("SUIRO_OFI_ROOT", "/nonexistent").env("CHECK_STRICT", "1");
        let outcome = harness::start(command).wait();
        let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
        let is_explained = outcome.stderr.contains(expected);
        assert!(good && is_explained, "{provider}: {:?}\n{}", outcome.code, outcome.stderr);
    }
}

/// MPICH carries the messages, all of them or those between the hosts, under its own launcher.
#[test]
fn programs_by_mpich_on_two_hosts() {
    let Some(hosts) = Hosts::up(2) else { return };
    for (name, between) in [
        ("coll_forms", "hosts"),
        ("floods", "ranks"),
        ("intercomm_traffic", "ranks"),
        ("matching", "ranks"),
        ("rma_random", "hosts"),
        ("send_sizes", "ranks"),
    ] {
        // By UCX, a wildcard receive of MPICH may wait for ever where there are several hosts.
        let words = ["env", "MPIR_CVAR_CH4_NETMOD=ofi", &compiled(name)];
        let mut command = hosts.mpiexec(2, 2, &words);
        command.env("SUIRO_DEVICE", "vendor").env("SUIRO_VENDOR_LIBRARY", vendor::library());
        command.env("SUIRO_VENDOR_BETWEEN", between).env("UCX_LOG_LEVEL", "error");
        command.env("CHECK_STRICT", "1");
        let outcome = harness::start(command).wait();
        let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
        assert!(good, "{name}, {between}: {:?}\n{}", outcome.code, outcome.stderr);
    }
}

#[test]
fn abort_on_two_hosts() {
    let Some(hosts) = Hosts::up(2) else { return };
    let outcome = harness::start(hosts.mpiexec(2, 2, &[&compiled("abort")])).wait();
    assert_eq!(outcome.code, Some(42), "{}", outcome.stderr);
    assert!(outcome.text().starts_with("abort with 42\n"), "{}", outcome.text());
}

/// Under our launcher; the first rank of the job waits in the exchange with the other ranks.
#[test]
fn job_on_one_host_has_no_port() {
    let end = harness::folder("one-host").join("end");
    let program = harness::compiled("patterns");
    let words = ["-n", "2", &program, end.to_str().unwrap()];
    let running = harness::start(harness::mpirun(&words));
    running.until_output(|text| text.contains("under way\n").then_some(()));
    let ranks = harness::ranks(&running);
    assert_eq!(ranks.len(), 2);
    for pid in running.processes() {
        let sockets = sockets::of_process(pid);
        assert!(sockets.is_empty(), "process {pid}: {sockets:?}");
    }
    fs::write(&end, "").unwrap();
    let outcome = running.wait();
    assert_eq!(outcome.text(), "under way\nwrong = 0\n", "{}", outcome.stderr);
}
