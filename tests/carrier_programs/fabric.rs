//! Libfabric as the carrier of messages (`SUIRO_DEVICE=ofi`), under mpirun: programs of `c-tests` by the providers
//! that need no network card, and what cannot be used. The library is that of MPICH's package.

use crate::programs::{harness, is_long, vendor};

/// Runs a program of `c-tests` on one host, with libfabric between all ranks.
fn check(name: &str, provider: &str, ranks: u32, progress: &str) {
    vendor::check_by_libfabric(provider, ranks, progress, &crate::program(name));
}

#[test]
fn programs_run_by_each_provider() {
    for provider in vendor::PROVIDERS {
        for (name, ranks) in [("matching", 3), ("send_sizes", 2), ("rma_random", 3)] {
            check(name, provider, ranks, "polling");
        }
    }
}

#[test]
fn programs_run_by_the_provider_of_most_networks() {
    for (name, ranks) in [
        ("cancel_send", 2),
        ("coll_forms", 5),
        ("completion", 3),
        ("floods", 3),
        ("intercomm_traffic", 4),
        ("partitioned", 2),
        ("sessions", 2),
        ("truncation", 3),
    ] {
        check(name, "tcp;ofi_rxm", ranks, "polling");
    }
    check("threads_multiple", "tcp;ofi_rxm", 2, "thread");
}

/// The copies of ACP are accesses to memory of peers: the long ones are made by the provider.
#[test]
fn copies_of_acp_are_accesses_by_each_provider() {
    for name in ["acp_copy", "acp_random"] {
        let source = crate::root().join("c-tests/acp").join(name).with_extension("c");
        let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", "-pthread"];
        let program = harness::compile_by("acpcc", &source, &flags);
        for provider in ["tcp", "tcp;ofi_rxm", "sockets"] {
            vendor::check_by_libfabric(provider, 3, "windows", &program);
        }
    }
}

/// Puts and gets on windows are accesses to memory of peers, where these are faster than messages.
#[test]
fn accesses_of_windows_are_made_by_each_provider() {
    let programs = ["rma_fence", "rma_locks", "rma_pscw", "rma_requests"];
    for (provider, short) in [("tcp", 0..2), ("tcp;ofi_rxm", 2..4), ("sockets", 1..3)] {
        for (ranks, progress) in [(2, "polling"), (3, "windows")] {
            let program = crate::program("rma_ways");
            let expected = [("EXPECT_BY_DEVICE", "1")];
            vendor::check_by_libfabric_with(provider, ranks, progress, &program, &expected);
        }
        let which = if is_long() { 0..programs.len() } else { short };
        for name in &programs[which] {
            check(name, provider, 3, "windows");
        }
    }
}

/// The provider that has no access to memory of peers: all goes by messages.
#[test]
fn windows_go_by_messages_where_the_provider_has_no_access() {
    let expected = [("EXPECT_BY_DEVICE", "0")];
    vendor::check_by_libfabric_with("shm", 3, "windows", &crate::program("rma_ways"), &expected);
}

#[test]
fn libfabric_leaves_nothing_behind() {
    let files = || -> Vec<_> {
        let all = std::fs::read_dir("/dev/shm").unwrap();
        // Those of the provider have the numbers of processes.
        let names = all.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(":0:")).collect()
    };
    let before = files();
    check("status", "shm", 3, "polling");
    // Other tests run beside this one.
    let lives = |name: &String| {
        let pid = name.split(':').next().unwrap();
        std::path::Path::new("/proc").join(pid).exists()
    };
    let mut left = files();
    left.retain(|name| !before.contains(name) && !lives(name));
    assert_eq!(left, [""; 0]);
}

/// Settings with which threads of the ranks run persistent collectives. Threads of the provider sleep at once.
fn by_threads(scheme: &str) -> [(&'static str, &str); 2] {
    [("SUIRO_OFFLOAD", scheme), ("FI_SOCKETS_PE_WAITTIME", "0")]
}

#[test]
fn persistent_collectives_run_on_threads() {
    let all = [
        ("coll_persistent", 2, "tank"),
        ("coll_persistent_inter", 3, "tank"),
        ("coll_random", 3, "prematched"),
        ("coll_neighbor", 4, "tank"),
        ("coll_neighbor", 5, "tank1"),
    ];
    for (name, ranks, scheme) in if is_long() { &all[..] } else { &all[..2] } {
        let (&ranks, name) = (ranks, *name);
        let (program, settings) = (crate::program(name), by_threads(scheme));
        vendor::check_by_libfabric_with("sockets", ranks, "polling", &program, &settings);
    }
}

/// No rank waits for the application of another one.
#[test]
fn persistent_collectives_go_on_beside_the_application() {
    let program = harness::compile(&crate::root().join("tests/data/offload_beside.c"), &["-O1"]);
    for ranks in ["2", "3", "4"] {
        let folder = harness::folder(&format!("fabric-beside-{ranks}"));
        let words = ["-n", ranks, program.to_str().unwrap(), folder.to_str().unwrap()];
        let mut command = harness::mpirun(&words);
        vendor::by_libfabric(&mut command, &vendor::libfabric(), "sockets");
        command.envs(by_threads("tank")).env("SUIRO_PROGRESS", "polling");
        let outcome = harness::start(command).wait();
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(outcome.code == Some(0) && outcome.text() == "all beside\n", "{said:?}");
    }
}

/// Without deferred work of the provider, they run by messages, and that is said.
#[test]
fn a_provider_without_deferred_work_is_named() {
    let program = crate::program("truncation");
    let words = ["--explain", "-n", "2", program.to_str().unwrap()];
    for (provider, said) in [
        ("tcp;ofi_rxm", "persistent collectives run on the host: libfabric "),
        (
            "sockets",
            "persistent collectives run on a thread of each rank, with writes of libfabric",
        ),
    ] {
        let mut command = harness::mpirun(&words);
        vendor::by_libfabric(&mut command, &vendor::libfabric(), provider);
        command.envs(by_threads("tank"));
        let outcome = harness::start(command).wait();
        assert_eq!(outcome.code, Some(0), "{provider}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{provider}: {}", outcome.stderr);
    }
}

/// The launcher ends the job, in the middle of a persistent collective.
#[test]
fn a_rank_that_dies_in_a_program_ends_the_job() {
    let program = harness::compile(&crate::root().join("tests/data/program_dies.c"), &["-O1"]);
    for kind in ["0", "1", "2"] {
        let before = harness::files();
        let mut command = harness::mpirun(&["-n", "3", program.to_str().unwrap(), kind]);
        vendor::by_libfabric(&mut command, &vendor::libfabric(), "sockets");
        command.envs(by_threads("tank"));
        let running = harness::start(command);
        let job = running.processes();
        let outcome = running.wait();
        assert_eq!(outcome.code, Some(137), "{kind}: {}", outcome.stderr);
        harness::nothing_new(&before, &job);
    }
}

/// Without a word: what others wait for ends, and nothing is left. Messages are short and long, and there are barriers.
#[test]
fn a_killed_rank_ends_the_job() {
    kill_among("ring");
}

/// The same where ranks wait for accesses to memory of the one that ends.
#[test]
fn a_killed_rank_ends_the_flushes_of_its_peers() {
    kill_among("puts");
}

fn kill_among(name: &str) {
    let program = harness::compiled(name);
    for (number, provider) in ["tcp", "tcp;ofi_rxm", "sockets", "tcp"].into_iter().enumerate() {
        let before = harness::files();
        let mut command = harness::mpirun(&["-n", "4", &program]);
        vendor::by_libfabric(&mut command, &vendor::libfabric(), provider);
        let running = harness::start(command);
        harness::until(|| Some(harness::ranks(&running)).filter(|ranks| ranks.len() == 4));
        std::thread::sleep(std::time::Duration::from_millis(100 + 60 * number as u64));
        let (ranks, job) = (harness::ranks(&running), running.processes());
        harness::signal_process(ranks[&(number as u32)], "KILL");
        let outcome = running.wait();
        assert_eq!(outcome.code, Some(137), "{provider}: {}", outcome.stderr);
        let name = format!("rank {number} ");
        assert!(outcome.stderr.contains(&name), "{provider}: {}", outcome.stderr);
        harness::nothing_new(&before, &job);
        let left: Vec<_> = job.iter().filter(|pid| harness::state(**pid).is_some()).collect();
        assert!(left.is_empty(), "{provider}: processes {left:?} are left");
    }
}

/// The launcher knows how a rank has ended; its peers know only that it is gone, maybe earlier.
#[test]
fn the_launcher_says_how_a_rank_has_ended() {
    let program = harness::compiled("closes");
    let mut command = harness::mpirun(&["-n", "3", &program]);
    vendor::by_libfabric(&mut command, &vendor::libfabric(), "sockets");
    let outcome = harness::start(command).wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("rank 2 (process "), "{}", outcome.stderr);
}

#[test]
fn what_of_libfabric_cannot_be_used_is_named() {
    let real = vendor::libfabric();
    // FI_PROVIDER may differ, unlike settings of the job.
    let script = "FI_PROVIDER=$([ $PMI_RANK = 0 ] && echo tcp || echo 'tcp;ofi_rxm') exec $0";
    let program = crate::program("status");
    let words = ["-n", "2", "sh", "-c", script, program.to_str().unwrap()];
    let mut command = harness::mpirun(&words);
    command.env("SUIRO_DEVICE", "ofi").env("SUIRO_OFI_BETWEEN", "ranks");
    command.env("SUIRO_OFI_LIBRARY", &real);
    let outcome = harness::start(command).wait();
    let expected = "SUIRO_OFI_PROVIDER chooses one";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    for (library, provider, expected) in [
        ("/nonexistent.so", "tcp", "/nonexistent.so: cannot open shared object file"),
        ("libc.so.6", "tcp", "undefined symbol: fi_"),
        (&real, "nothing", "has no provider nothing here"),
    ] {
        let program = crate::program("status");
        let mut command = harness::mpirun(&["-n", "2", program.to_str().unwrap()]);
        vendor::by_libfabric(&mut command, library, provider);
        let outcome = harness::start(command).wait();
        assert_ne!(outcome.code, Some(0), "{library}, {provider}");
        assert!(outcome.stderr.contains("SUIRO_DEVICE=ofi cannot be used"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{library}, {provider}: {}", outcome.stderr);
    }
}

/// A compiler compares the tables of the library with the headers of libfabric, where they are installed.
#[test]
fn the_layout_of_libfabric_is_that_of_its_headers() {
    if !std::path::Path::new("/usr/include/rdma/fabric.h").exists() {
        return eprintln!("skipped: libfabric's headers (libfabric-dev) are not installed");
    }
    let source = crate::root().join("c-tests/carrier/fabric_layout.c");
    let mut command = std::process::Command::new("cc");
    let output = command.args(["-std=c11", "-fsyntax-only"]).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
