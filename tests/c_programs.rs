//! Every C program of `c-tests`, compiled by this `mpicc` and run by this `mpirun`, in the forms of
//! `programs`. All of them take about a minute.

mod programs;

use std::path::{Path, PathBuf};

use programs::{Form, forms, harness, local_forms, root, run, run_in};

/// Compiles a C source with warnings as errors and returns the path of the program.
fn compile(source: &Path) -> PathBuf {
    harness::compile(source, &["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", "-pthread"])
}

/// A program of `c-tests`.
fn program(name: &str) -> PathBuf {
    compile(&root().join("c-tests").join(name).with_extension("c"))
}

/// The programs that call local functions only, except duplication and freeing of communicators,
/// which `check.h` does in every program. The number of ranks and the transport do not matter.
const LOCAL: &[&str] = &[
    "attribute_errors",
    "datatype_queries",
    "error_codes",
    "groups",
    "info",
    "topology_dims",
    "type_constructors",
    "type_external",
    "type_origins",
];

/// Runs a program of `c-tests` in every form; each run must succeed without counted errors.
fn check(name: &str) {
    let program = program(name);
    let forms = if LOCAL.contains(&name) { local_forms() } else { forms() };
    for form in forms {
        check_run(&[], &program, &[], form);
    }
}

/// Runs a program that counts errors once; it must succeed without any.
fn check_run(environment: &[(&str, &str)], program: &Path, arguments: &[&str], form: Form) {
    let outcome = run_in(environment, program, arguments, form);
    let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
    let said = (outcome.code, outcome.text(), &outcome.stderr);
    let name = program.file_name().unwrap_or_default();
    assert!(good, "{name:?} {arguments:?}, {environment:?}, {form:?}: {said:?}");
}

/// Runs a program that must fail; its output up to the failure.
fn check_failing(name: &str, expected: impl Fn(Option<i32>) -> bool, text: &str) {
    let program = program(name);
    for form in forms() {
        let outcome = run(&program, &[], form);
        let good = expected(outcome.code) && outcome.text() == text;
        assert!(good, "{name}, {form:?}: {:?}\n{}{}", outcome.code, outcome.text(), outcome.stderr);
    }
}

/// Runs a NAS kernel in class S in every form; its own verification must succeed. Returns the path
/// of the program.
fn check_kernel(name: &str) -> PathBuf {
    let program = compile(&root().join("npb-harness/kernels").join(name).with_extension("c"));
    for form in forms() {
        let outcome = run(&program, &["S"], form);
        let verified = outcome.text().contains(" Verification    =               SUCCESSFUL");
        let good = outcome.code == Some(0) && verified;
        assert!(good, "{name}, {form:?}: {:?}\n{}{}", outcome.code, outcome.text(), outcome.stderr);
    }
    program
}

/// Defines a test for each program, and a list of all programs.
macro_rules! c_programs {
    ($($name:ident),* $(,)?) => {
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*
    };
}

c_programs! {
    attribute_errors,
    attributes,
    buffers,
    cancel,
    cancel_send,
    coll_all,
    coll_bcast,
    coll_blocks,
    coll_check,
    coll_forms,
    coll_gather,
    coll_inter,
    coll_large,
    coll_mixed,
    coll_neighbor,
    coll_nonblocking,
    coll_persistent,
    coll_persistent_inter,
    coll_persistent_memory,
    coll_random,
    coll_reduce,
    coll_scan,
    coll_user_ops,
    comm_basic,
    comm_from_group,
    comm_hints,
    comm_idup,
    comm_members,
    comm_segments,
    comm_split,
    comm_split_type,
    comm_traffic,
    completion,
    conversions,
    datatype_queries,
    datatype_random,
    environment,
    error_codes,
    errors_arguments,
    errors_buffers,
    errors_full,
    errors_handles,
    errors_initial,
    errhandlers,
    file_access,
    file_conversions,
    file_errors,
    file_faults,
    file_open,
    file_random,
    file_reopen,
    file_representations,
    file_views,
    floods,
    fortran_info,
    grequest,
    groups,
    head_to_head,
    info,
    init_finalize,
    intercomm_create,
    intercomm_errors,
    intercomm_from_groups,
    intercomm_traffic,
    large_count,
    long_queues,
    matching,
    object_names,
    partitioned,
    partitioned_threads,
    persistent,
    probe,
    proc_null,
    request_status,
    rma_accumulate,
    rma_conflicts,
    rma_dynamic,
    rma_errors,
    rma_fence,
    rma_locks,
    rma_pscw,
    rma_put_get,
    rma_random,
    rma_requests,
    rma_shared,
    rma_types,
    rma_ways,
    send_modes,
    send_sizes,
    sendrecv,
    sessions,
    sessions_errors,
    sessions_some,
    status,
    thread_funneled,
    thread_single,
    threads,
    threads_mixed,
    threads_multiple,
    threads_self,
    topology_cart,
    topology_dims,
    topology_graph,
    tool_variables,
    truncation,
    type_constructors,
    type_external,
    type_fortran,
    type_origins,
    type_transfer,
    type_value_index,
    windows,
}

/// Threads that never sleep look for the end of their wait only after an event.
#[test]
fn threads_self_spinning() {
    let form = Form { ranks: 1, copy: "auto", progress: "polling" };
    check_run(&[("SUIRO_WAIT", "spin")], &program("threads_self"), &[], form);
}

/// A thread that waits for a long message lets calls of another thread in.
#[test]
fn threads_beside_a_stream() {
    let program = compile(&root().join("tests/data/threads_stream.c"));
    check_run(&[], &program, &[], Form { ranks: 2, copy: "pipe", progress: "polling" });
}

/// In checked mode, incorrect programs get errors and correct programs run unchanged.
#[test]
fn checked_mode() {
    let programs = [
        "coll_check",
        "coll_all",
        "coll_inter",
        "coll_mixed",
        "coll_neighbor",
        "coll_user_ops",
        "comm_from_group",
        "comm_split",
        "errors_handles",
        "intercomm_create",
        "sessions",
        "windows",
    ];
    for name in programs {
        let ranks: &[u32] = if name == "coll_check" { &[2, 3, 4] } else { &[3] };
        for &ranks in ranks {
            check_in_checked_mode(name, "shm", Form { ranks, copy: "auto", progress: "polling" });
        }
    }
}

/// In checked mode, conflicts of one-sided operations are errors, and there are no false ones.
#[test]
fn checked_mode_of_windows() {
    let ways = [("shm", 2, "polling"), ("shm", 3, "thread"), ("tcp", 4, "polling")];
    let form = |ranks, progress| Form { ranks, copy: "auto", progress };
    for (device, ranks, progress) in ways.into_iter().chain([("tofu", 3, "polling")]) {
        check_in_checked_mode("rma_conflicts", device, form(ranks, progress));
    }
    let some = ["rma_errors", "rma_fence", "rma_locks", "rma_pscw", "rma_random"];
    let all = PROGRAMS.iter().copied().filter(|name| name.starts_with("rma_"));
    for name in if programs::is_long() { all.collect() } else { some.to_vec() } {
        check_in_checked_mode(name, "shm", form(3, "polling"));
    }
    for name in if programs::is_long() { &some[..] } else { &some[3..] } {
        check_in_checked_mode(name, "tcp", form(3, "thread"));
    }
}

fn check_in_checked_mode(name: &str, device: &str, form: Form) {
    let environment = [("SUIRO_CHECK", "1"), ("SUIRO_DEVICE", device)];
    check_run(&environment, &program(name), &[], form);
}

/// Programs succeed with a simulated network interface for each rank. Some programs; with
/// `SUIRO_TEST_LONG=1` all, on 1 to 8 ranks.
#[test]
fn on_network_interfaces() {
    const SOME: &[&str] = &[
        "coll_forms",
        "coll_neighbor",
        "comm_segments",
        "completion",
        "errors_arguments",
        "floods",
        "intercomm_traffic",
        "long_queues",
        "matching",
        "partitioned",
        "partitioned_threads",
        "persistent",
        "rma_accumulate",
        "rma_locks",
        "rma_put_get",
        "rma_random",
        "rma_requests",
        "rma_types",
        "rma_ways",
        "send_sizes",
        "sessions_some",
        "threads_multiple",
        "truncation",
    ];
    check_device("tofu", if programs::is_long() { PROGRAMS } else { SOME });
}

/// Programs succeed with TCP between the ranks of this host. Some programs; with `SUIRO_TEST_LONG=1`
/// all, on 1 to 8 ranks.
#[test]
fn by_tcp() {
    const SOME: &[&str] = &[
        "cancel",
        "cancel_send",
        "coll_forms",
        "completion",
        "errors_arguments",
        "file_access",
        "file_reopen",
        "floods",
        "intercomm_traffic",
        "long_queues",
        "matching",
        "partitioned",
        "partitioned_threads",
        "persistent",
        "rma_errors",
        "rma_fence",
        "rma_locks",
        "rma_pscw",
        "rma_random",
        "rma_shared",
        "send_modes",
        "send_sizes",
        "threads_multiple",
        "truncation",
    ];
    // All ranks exchange addresses, so none may stay away; and connections take memory.
    const OTHERS: &[&str] = &["sessions_some", "coll_persistent_memory"];
    let all: Vec<&str> = PROGRAMS.iter().copied().filter(|name| !OTHERS.contains(name)).collect();
    check_device("tcp", if programs::is_long() { &all } else { SOME });
}

/// Programs succeed with MPICH as the carrier of their messages. Some programs; with `SUIRO_TEST_LONG=1` all, on
/// 1 to 5 ranks. `tests/carrier_programs.rs` has more about it.
#[test]
fn by_another_library() {
    const SOME: &[&str] = &["coll_blocks", "intercomm_create", "type_transfer"];
    // All ranks must start the other library, and its messages take memory.
    const OTHERS: &[&str] = &["sessions_some", "coll_persistent_memory"];
    let all: Vec<&str> = PROGRAMS.iter().copied().filter(|name| !OTHERS.contains(name)).collect();
    let is_long = programs::is_long();
    for name in if is_long { &all[..] } else { SOME } {
        let program = program(name);
        let ranks: &[u32] = if is_long { &[1, 2, 3, 4, 5] } else { &[2, 3] };
        for (&ranks, mode) in ranks.iter().zip(["polling", "thread"].iter().cycle()) {
            programs::vendor::check(name, ranks, &[("SUIRO_VENDOR_MODE", mode)], &program);
        }
    }
}

/// With `SUIRO_TEST_LONG=1`, all programs succeed with libfabric between the ranks, by each of its providers here;
/// `tests/carrier_programs/fabric.rs` has the short form.
#[test]
fn by_libfabric() {
    if !programs::is_long() {
        return;
    }
    // As by TCP; what a provider allocates is its own.
    const OTHERS: &[&str] = &["sessions_some", "coll_persistent_memory"];
    for name in PROGRAMS.iter().filter(|name| !OTHERS.contains(name)) {
        let program = program(name);
        for provider in programs::vendor::PROVIDERS {
            for (ranks, progress) in (1..=4).zip(["polling", "thread"].iter().cycle()) {
                programs::vendor::check_by_libfabric(provider, ranks, progress, &program);
            }
        }
    }
}

/// Runs programs with a device other than shared memory.
fn check_device(device: &str, names: &[&str]) {
    for (number, name) in names.iter().enumerate() {
        let program = program(name);
        let forms = [(2, "polling"), (3, "thread"), (3, "polling"), (2, "thread")];
        let all = (1..=8).zip(["polling", "thread"].into_iter().cycle());
        let one = [forms[number % forms.len()]];
        let some = if programs::is_long() { all.collect() } else { one.to_vec() };
        for (ranks, progress) in some {
            let form = Form { ranks, copy: "auto", progress };
            check_run(&[("SUIRO_DEVICE", device)], &program, &[], form);
        }
    }
}

/// Random programs of one-sided communication give what a model of all memory says: 80 in shared
/// memory, 12,000 on all devices with `SUIRO_TEST_LONG=1`.
#[test]
fn rma_random_programs() {
    const EACH: usize = 100;
    const SHORT: usize = 80;
    let program = program("rma_random");
    let devices: &[&str] = if programs::is_long() { &["shm", "tofu", "tcp"] } else { &["shm"] };
    let rounds = if programs::is_long() { 40 } else { 1 };
    for (round, device) in (0..rounds).flat_map(|round| devices.iter().map(move |on| (round, on))) {
        let ranks = if programs::is_long() { 2 + round as u32 % 7 } else { 4 };
        let form = Form { ranks, copy: "auto", progress: ["polling", "thread"][round % 2] };
        let count = if programs::is_long() { EACH } else { SHORT };
        let (seed, count) = ((1000 + round * EACH).to_string(), count.to_string());
        check_run(&[("SUIRO_DEVICE", device)], &program, &[&seed, &count], form);
    }
}

/// Programs succeed with every progress method.
fn check_progress(progress: &'static str) {
    let programs = [
        "coll_nonblocking",
        "coll_user_ops",
        "comm_idup",
        "completion",
        "floods",
        "partitioned",
        "partitioned_threads",
        "persistent",
        "rma_locks",
        "rma_requests",
        "sessions",
        "threads_multiple",
    ];
    for name in programs {
        let program = program(name);
        let ranks: &[u32] = if name == "coll_nonblocking" { &[3] } else { &[1, 2, 3, 5] };
        for &ranks in ranks {
            let form = Form { ranks, copy: "auto", progress };
            check_run(&[], &program, &[], form);
        }
    }
}

/// Messages progress while a rank is outside MPI, also in a rank with child processes.
fn check_beside(progress: &'static str, ranks: &[u32]) {
    let program = compile(&root().join("tests/data/beside.c"));
    for (&ranks, copy) in ranks.iter().flat_map(|ranks| [(ranks, "pipe"), (ranks, "cma")]) {
        let folder = harness::folder(&format!("beside-{progress}-{ranks}-{copy}"));
        let form = Form { ranks, copy, progress };
        let outcome = run(&program, &[folder.to_str().unwrap()], form);
        let good = outcome.code == Some(0) && outcome.text() == "all beside\n";
        assert!(good, "{form:?}: {:?}\n{}{}", outcome.code, outcome.text(), outcome.stderr);
    }
}

/// The example of a halo exchange gives the same results by every way, also in checked mode.
#[test]
fn halo_example() {
    let program = compile(&root().join("examples/halo.c"));
    let environments: [&[(&str, &str)]; 3] =
        [&[], &[("SUIRO_CHECK", "1")], &[("SUIRO_DEVICE", "tofu")]];
    for (form, environment) in forms().into_iter().zip(environments.iter().cycle()) {
        let outcome = run_in(environment, &program, &["--verify", "1", "7", "64"], form);
        let good = outcome.code == Some(0) && outcome.text() == "all results are equal\n";
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(good, "{form:?}, {environment:?}: {said:?}");
    }
}

#[test]
fn progress_by_a_thread() {
    check_progress("thread");
    check_beside("thread", &[2, 5]);
}

#[test]
fn progress_by_a_thread_alone() {
    check_progress("delegate");
    check_beside("delegate", &[2, 5]);
}

#[test]
fn progress_by_a_thread_where_it_pays() {
    check_progress("auto");
    // Not if ranks share a processor.
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
        check_beside("auto", &[2]);
    }
}

/// Programs by threads on shared memory.
const SHM_PROGRAMS: &[(&str, &str)] = &[("SUIRO_DEVICE", "shm"), ("SUIRO_OFFLOAD", "tank")];

/// The same with TCP between the threads.
const TCP_PROGRAMS: &[(&str, &str)] = &[("SUIRO_DEVICE", "tcp"), ("SUIRO_OFFLOAD", "tank")];

/// No rank waits for the application of another one, whatever runs the programs of the interfaces.
#[test]
fn offload_beside() {
    let program = compile(&root().join("tests/data/offload_beside.c"));
    let lacking: [&[(&str, &str)]; 8] = [
        &[],
        SHM_PROGRAMS,
        TCP_PROGRAMS,
        &[("SUIRO_TOFU_COUNTERS", "0")],
        &[("SUIRO_TOFU_GENERATION", "tofu2")],
        &[("SUIRO_TOFU_GENERATION", "tofu1-counters")],
        &[("SUIRO_TOFU_GENERATION", "bxi"), ("SUIRO_TOFU_SLOTS", "4")],
        &[("SUIRO_TOFU_GENERATION", "tofud"), ("SUIRO_TOFU_PACE", "real")],
    ];
    for (number, settings) in lacking.into_iter().enumerate() {
        let sizes: &[u32] = if settings == TCP_PROGRAMS { &[3] } else { &[2, 3, 4] };
        for &ranks in sizes {
            let folder = harness::folder(&format!("offload-beside-{number}-{ranks}"));
            let form = Form { ranks, copy: "auto", progress: "polling" };
            let tofu: &[(&str, &str)] = &[("SUIRO_DEVICE", "tofu")];
            let names_one = [SHM_PROGRAMS, TCP_PROGRAMS].contains(&settings);
            let device = if names_one { &[] } else { tofu };
            let environment = [device, settings].concat();
            let outcome = run_in(&environment, &program, &[folder.to_str().unwrap()], form);
            let good = outcome.code == Some(0) && outcome.text() == "all beside\n";
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{settings:?}, {ranks} ranks: {said:?}");
        }
    }
}

/// The interfaces of real generations run persistent collectives of every kind themselves.
#[test]
fn offload_fits() {
    let program = compile(&root().join("tests/data/offload_fits.c"));
    for (generation, expects_software) in [("tofud", false), ("tofu2", false), ("lacking", true)] {
        for ranks in [2, 5, 8] {
            let form = Form { ranks, copy: "auto", progress: "polling" };
            let selected = match generation {
                "lacking" => ("SUIRO_TOFU_COUNTERS", "0"),
                name => ("SUIRO_TOFU_GENERATION", name),
            };
            let outcome = run_in(&[("SUIRO_DEVICE", "tofu"), selected], &program, &[], form);
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            let is_by_software = outcome.text() != "0 by software\n";
            let good = outcome.code == Some(0) && outcome.text().ends_with(" by software\n");
            assert!(
                good && is_by_software == expects_software,
                "{generation}, {ranks} ranks: {said:?}"
            );
        }
    }
    for (environment, ranks) in
        [SHM_PROGRAMS, TCP_PROGRAMS].into_iter().flat_map(|it| [1, 3, 5].map(move |n| (it, n)))
    {
        let form = Form { ranks, copy: "auto", progress: "polling" };
        let outcome = run_in(environment, &program, &[], form);
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        let good = said.0 == Some(0) && said.1 == "0 by software\n";
        assert!(good, "{environment:?}, {ranks} ranks: {said:?}");
    }
}

/// Persistent operations of every kind succeed as programs, and where some of them run by messages: on
/// intercommunicators. Each program with these numbers of ranks.
fn check_programs(environment: &[(&str, &str)], programs: &[(&str, &[u32])]) {
    for &(name, sizes) in programs {
        for &ranks in sizes {
            let progress = if ranks == 3 { "thread" } else { "polling" };
            let form = Form { ranks, copy: "auto", progress };
            check_run(environment, &program(name), &[], form);
        }
    }
}

#[test]
fn programs_on_shared_memory() {
    let programs: &[(&str, &[u32])] = &[
        ("coll_persistent", &[1, 2, 3, 4, 5]),
        ("coll_persistent_inter", &[2, 3, 5]),
        ("coll_persistent_memory", &[2, 3]),
        ("coll_forms", &[1, 3, 5]),
        ("coll_neighbor", &[1, 3, 5]),
        ("coll_random", &[2, 3, 5]),
        ("persistent", &[1, 3, 5]),
        ("partitioned", &[1, 3, 5]),
    ];
    check_programs(SHM_PROGRAMS, programs);
}

#[test]
fn programs_over_sockets() {
    let programs: &[(&str, &[u32])] = &[
        ("coll_persistent", &[3]),
        ("coll_persistent_inter", &[3]),
        ("coll_persistent_memory", &[3]),
    ];
    check_programs(TCP_PROGRAMS, programs);
}

/// Levels of more bits than a counter has are on several counters, or programs run by software.
#[test]
fn programs_on_narrow_counters() {
    for (bits, scheme, ranks) in [("4", "tank", 3), ("9", "tank", 2), ("6", "prematched", 2)] {
        let environment = [
            ("SUIRO_DEVICE", "tofu"),
            ("SUIRO_TOFU_GENERATION", "bxi"),
            ("SUIRO_TOFU_COUNTER_BITS", bits),
            ("SUIRO_OFFLOAD", scheme),
        ];
        check_programs(&environment, &[("coll_persistent", &[ranks])]);
    }
}

/// Without leave to send in the clear, there are no programs over sockets, on any rank.
#[test]
fn programs_and_encryption() {
    let environment = [TCP_PROGRAMS, &[("SUIRO_TCP_CRYPT", "full")]].concat();
    let form = Form { ranks: 2, copy: "auto", progress: "polling" };
    check_run(&environment, &program("coll_persistent"), &[], form);
}

/// A rank whose peer dies in a program gets an error, also without help of the launcher.
#[test]
fn a_peer_dies_in_a_program() {
    let program = compile(&root().join("tests/data/program_dies.c"));
    let form = Form { ranks: 2, copy: "auto", progress: "polling" };
    for kind in ["0", "1", "2"] {
        let outcome = run_in(TCP_PROGRAMS, &program, &[kind, "alone"], form);
        assert_eq!(
            outcome.text(),
            "errors = 0\n",
            "{kind}: {:?}\n{}",
            outcome.code,
            outcome.stderr
        );
    }
}

/// Programs on shared memory go on while the job reaches processes that they do not reach.
#[test]
fn programs_beside_other_jobs() {
    let program = compile(&root().join("tests/data/offload_jobs.c"));
    let form = Form { ranks: 2, copy: "auto", progress: "polling" };
    let outcome = run_in(SHM_PROGRAMS, &program, &[], form);
    let said = (outcome.code, outcome.text(), &outcome.stderr);
    assert!(said.0 == Some(0) && said.1 == "errors = 0\n", "{said:?}");
}

/// One-sided operations complete while their target computes: in memory that is mapped, from outside,
/// and by messages, which the progress thread answers. The thread starts by itself, also where ranks share
/// processors.
#[test]
fn passive_target() {
    let program = compile(&root().join("tests/data/passive.c"));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for ranks in [2, processors.min(7) as u32 + 1] {
        let form = Form { ranks, copy: "auto", progress: "windows" };
        for device in ["shm", "tcp", "tofu"] {
            check_run(&[("SUIRO_DEVICE", device)], &program, &[], form);
        }
    }
}

/// A rank whose peer dies in a partitioned operation gets an error, also without help of the launcher.
#[test]
fn a_peer_dies_in_a_partitioned_operation() {
    let program = compile(&root().join("tests/data/partner_dies.c"));
    let form = Form { ranks: 2, copy: "auto", progress: "polling" };
    for kind in ["sender", "receiver"] {
        let outcome = run_in(&[("SUIRO_DEVICE", "tofu")], &program, &[kind], form);
        let said = "round 0: success\nround 1: MPI_ERR_OTHER: other error\n";
        assert_eq!(outcome.text(), said, "{kind}: {:?}\n{}", outcome.code, outcome.stderr);
    }
}

#[test]
fn abort() {
    check_failing("abort", |code| code == Some(42), "abort with 42\n");
}

#[test]
fn what_an_aborting_rank_has_printed_is_not_lost() {
    let program = compile(&root().join("tests/data/abort_prints.c"));
    for ranks in [1, 2, 1, 2, 1, 2] {
        let outcome = run_in(&[], &program, &[], Form { ranks, copy: "auto", progress: "polling" });
        assert_eq!(outcome.code, Some(7), "{}", outcome.stderr);
        // Another rank may have been ended before it has come so far.
        assert!(outcome.text().contains("has printed this"), "{ranks}: {}", outcome.text());
    }
    let form = Form { ranks: 2, copy: "auto", progress: "polling" };
    let locked = run_in(&[], &program, &["locked"], form);
    assert_eq!(locked.code, Some(7), "{}", locked.stderr);
}

#[test]
fn errors_fatal() {
    check_failing("errors_fatal", |code| code != Some(0), "an error that is fatal\n");
}

#[test]
fn errors_abort() {
    check_failing("errors_abort", |code| code != Some(0), "an error that aborts\n");
}

#[test]
fn npb_ep() {
    check_kernel("ep");
}

#[test]
fn npb_is() {
    check_kernel("is");
}

#[test]
fn npb_cg() {
    check_kernel("cg");
}

/// 17 ranks do not fit along one axis of a small cube: all ranks exit, and one reports the reason.
#[test]
fn npb_mg() {
    let program = check_kernel("mg");
    let outcome = run(&program, &["S"], Form { ranks: 17, copy: "pipe", progress: "polling" });
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("class S cannot be distributed over 17 ranks"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn npb_ft() {
    check_kernel("ft");
}

/// Every program has a test.
#[test]
fn every_program_is_listed() {
    let sources = std::fs::read_dir(root().join("c-tests")).unwrap();
    let mut found: Vec<_> = sources
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        // A Fortran source of the same name makes it a part of that program.
        .filter(|path| !["f", "f90"].iter().any(|ending| path.with_extension(ending).exists()))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort_unstable();
    let mut listed: Vec<_> =
        PROGRAMS.iter().copied().chain(["abort", "errors_abort", "errors_fatal"]).collect();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

/// Prefixes of the functions that a local program may call.
const LOCAL_CALLS: &[&str] = &[
    "Abi_",
    "Add_error_",
    "Aint_",
    "Attr_",
    "Comm_call_errhandler",
    "Comm_create_errhandler",
    "Comm_create_keyval",
    "Comm_delete_attr",
    "Comm_dup",
    "Comm_free",
    "Comm_get_",
    "Comm_group",
    "Comm_rank",
    "Comm_set_",
    "Comm_size",
    "Dims_create",
    "Errhandler_free",
    "Error_",
    "Finalize",
    "Get_",
    "Group_",
    "Info_",
    "Init",
    "Keyval_",
    "Pack",
    "Remove_error_",
    "Status_",
    "Type_",
    "Unpack",
];

/// A program that communicates needs all forms.
#[test]
fn local_programs_are_local() {
    for name in LOCAL {
        assert!(PROGRAMS.contains(name), "{name} is no program");
        let text = std::fs::read_to_string(root().join(format!("c-tests/{name}.c"))).unwrap();
        let calls = text.match_indices("MPI_").filter_map(|(start, prefix)| {
            let rest = &text[start + prefix.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            rest[end..].starts_with('(').then_some(&rest[..end])
        });
        let is_local = |call: &&str| LOCAL_CALLS.iter().any(|begin| call.starts_with(begin));
        let others: Vec<_> = calls.filter(|call| !is_local(call)).collect();
        assert!(others.is_empty(), "{name} communicates, so it is not local: {others:?}");
    }
}
