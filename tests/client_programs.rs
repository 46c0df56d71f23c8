//! Programs of `c-tests` and NAS kernels in worlds of several clients (IMPI), and what happens to a world
//! when something ends.

mod clients;
// Other tests use more of it.
#[allow(dead_code)]
mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clients::{RunningWorld, World};
use programs::{harness, is_long, root, vendor};

fn compile(source: &Path) -> PathBuf {
    harness::compile(source, &["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", "-pthread"])
}

fn program(name: &str) -> PathBuf {
    compile(&root().join("c-tests").join(name).with_extension("c"))
}

const CLEAR: &[(&str, &str)] = &[("SUIRO_IMPI_CLEARTEXT", "1")];
const TCP: &[(&str, &str)] = &[("SUIRO_DEVICE", "tcp")];
/// The lowest limits: every message of some size is divided, and processes wait for acknowledgments.
const NARROW: &[(&str, &str)] = &[
    ("SUIRO_IMPI_DATA_BYTES", "256"),
    ("SUIRO_IMPI_ACK_MARK", "1"),
    ("SUIRO_IMPI_HIGH_WATER", "2"),
];

/// Every client has a gateway.
const GATEWAY: &[(&str, &str)] = &[("SUIRO_IMPI_GATEWAY", "1")];

/// Clients that say that they represent data otherwise than the others.
const BIG_ENDIAN: &[&str] = &["little-endian", "big-endian"];
const BOTH_BIG_ENDIAN: &[&str] = &["big-endian", "big-endian"];
const ALL_UNLIKE: &[&str] = &["long4,long-double-64", "little-endian", "big-endian"];

const PAIR: World = World::of(&[2, 2]);

/// Worlds that differ in all that matters to a program; a program runs in one of them, or in all
/// (`SUIRO_TEST_LONG=1`).
const WORLDS: [World; 9] = [
    PAIR,
    World { environment: CLEAR, ..World::of(&[1, 3]) },
    World { of_first: TCP, ..World::of(&[2, 1]) },
    World { environment: NARROW, ..World::of(&[1, 2]) },
    World::of(&[3, 1, 1]),
    World { environment: TCP, ..World::of(&[1, 1, 2]) },
    World { environment: GATEWAY, ..World::of(&[2, 2]) },
    World { representations: BIG_ENDIAN, ..World::of(&[2, 2]) },
    World { representations: ALL_UNLIKE, ..World::of(&[1, 2, 1]) },
];

/// Runs a program in a world; the standard output of the client with rank 0 has to say `expected`.
fn run(name: &str, program: &Path, arguments: &[&str], world: World, expected: &str) {
    let words = [&[program.to_str().unwrap()][..], arguments].concat();
    let (clients, server) = clients::start(name, world, &words).wait();
    let codes: Vec<_> = clients.iter().map(|client| client.code).collect();
    let said: Vec<_> = clients.iter().map(|it| (it.text(), &*it.stderr)).collect();
    let good = codes.iter().all(|code| *code == Some(0)) && said[0].0.contains(expected);
    assert!(good, "{name}, {world:?}: {codes:?} {said:#?}\n{}", server.stderr);
    assert_eq!(server.code, Some(0), "{name}, {world:?}: {}", server.stderr);
}

/// The programs that run with `SUIRO_TEST_LONG=1`, each in each world.
const PROGRAMS: &[&str] = &[
    "cancel",
    "cancel_send",
    "coll_all",
    "coll_bcast",
    "coll_blocks",
    "coll_forms",
    "coll_gather",
    "coll_inter",
    "coll_large",
    "coll_mixed",
    "coll_neighbor",
    "coll_nonblocking",
    "coll_persistent",
    "coll_random",
    "coll_reduce",
    "coll_scan",
    "coll_user_ops",
    "comm_basic",
    "comm_from_group",
    "comm_idup",
    "comm_members",
    "comm_split",
    "comm_split_type",
    "comm_traffic",
    "completion",
    "head_to_head",
    "intercomm_create",
    "intercomm_from_groups",
    "intercomm_traffic",
    "large_count",
    "long_queues",
    "matching",
    "partitioned",
    "persistent",
    "probe",
    "rma_accumulate",
    "rma_fence",
    "rma_locks",
    "rma_pscw",
    "rma_put_get",
    "send_modes",
    "send_sizes",
    "sendrecv",
    "threads_multiple",
    "truncation",
    "type_transfer",
];

/// Those that always run, one in each world.
const SOME: [&str; WORLDS.len()] = [
    "coll_all",
    "coll_inter",
    "rma_put_get",
    "type_transfer",
    "comm_from_group",
    "head_to_head",
    "send_modes",
    "type_transfer",
    "rma_accumulate",
];

fn check(number: usize) {
    for name in if is_long() { PROGRAMS } else { &SOME[number..=number] } {
        run(&format!("{name}{number}"), &program(name), &[], WORLDS[number], "errors = 0\n");
    }
}

#[test]
fn two_clients_of_two_ranks() {
    check(0);
}

#[test]
fn in_the_clear() {
    check(1);
}

#[test]
fn a_client_with_sockets() {
    check(2);
}

#[test]
fn the_lowest_limits() {
    check(3);
}

#[test]
fn three_clients() {
    check(4);
}

#[test]
fn all_by_sockets() {
    check(5);
}

#[test]
fn behind_gateways() {
    check(6);
}

#[test]
fn two_unlike_clients() {
    check(7);
}

#[test]
fn three_unlike_clients() {
    check(8);
}

/// Sends that are taken back between two clients, directly and through gateways.
#[test]
fn sends_are_cancelled() {
    for (name, world) in [
        ("direct", World::of(&[1, 1])),
        ("narrow", World { environment: NARROW, ..World::of(&[1, 2]) }),
        ("gateways", World { environment: GATEWAY, ..World::of(&[1, 1]) }),
        ("clear", World { environment: CLEAR, ..World::of(&[1, 1]) }),
    ] {
        run(&format!("cancel-{name}"), &program("cancel_send"), &[], world, "errors = 0\n");
    }
}

#[test]
fn kernels_verify() {
    let kernels: &[&str] = if is_long() { &["cg", "is", "mg", "ft", "lu"] } else { &["cg", "is"] };
    for (kernel, world) in kernels.iter().zip(WORLDS) {
        let program = compile(&root().join("npb-harness/kernels").join(kernel).with_extension("c"));
        let world = if world.clients.iter().sum::<u32>() == 4 { world } else { PAIR };
        run(kernel, &program, &["S"], world, " Verification    =               SUCCESSFUL");
    }
}

/// All kinds of data between clients: what is on the way is converted if they are unlike, and in the clear,
/// where IMPI wants it, and only then.
#[test]
fn messages_are_converted_between_unlike_clients_alone() {
    for (world, expected) in [(PAIR, "alike"), (WORLDS[8], "unlike")] {
        run("unlike", Path::new(&client_program("unlike")), &[expected], world, "errors = 0\n");
    }
}

#[test]
fn collective_data_is_converted_between_unlike_clients_alone() {
    let program = client_program("unlike_all");
    for (world, expected) in [
        (World { representations: BOTH_BIG_ENDIAN, ..PAIR }, "alike"),
        (World { environment: NARROW, ..WORLDS[7] }, "unlike"),
        (WORLDS[8], "unlike"),
        (World { environment: CLEAR, ..PAIR }, "unlike"),
        (World { environment: CLEAR, representations: &["alike", "alike"], ..PAIR }, "alike"),
    ] {
        run("unlike_all", Path::new(&program), &[expected], world, "errors = 0\n");
    }
}

/// Each rank spawns a process, which has what the machine has.
#[test]
fn spawned_processes_may_be_unlike_their_parents() {
    let program = client_program("unlike_spawn");
    let world = World { representations: BIG_ENDIAN, ..World::of(&[2, 1]) };
    run("unlike_spawn", Path::new(&program), &["aau"], world, "errors = 0\n");
    let world = World { environment: CLEAR, ..World::of(&[1, 1]) };
    run("unlike_spawn_clear", Path::new(&program), &["uu"], world, "errors = 0\n");
}

/// The program of `c-tests/clients` with this name.
fn client_program(name: &str) -> String {
    let path = compile(&root().join("c-tests/clients").join(name).with_extension("c"));
    path.to_str().unwrap().to_owned()
}

/// Two clients of two ranks whose programs round otherwise: what ranks compute in common differs, unless one
/// decides (`examples/fused.c`).
#[test]
fn ranks_that_round_otherwise_need_one_that_decides() {
    if cfg!(target_arch = "x86_64")
        && !fs::read_to_string("/proc/cpuinfo").unwrap().contains(" fma ")
    {
        return;
    }
    let source = root().join("examples/fused.c");
    let machine = if cfg!(target_arch = "x86_64") { "-mfma" } else { "-g" };
    let [fused, strict] = ["-ffp-contract=fast", "-ffp-contract=off"].map(|contract| {
        let program = harness::compile(&source, &["-std=gnu11", "-Wall", "-O2", machine, contract]);
        program.to_str().unwrap().to_owned()
    });
    let lines = |name: &str, programs: [&str; 2], arguments: &[&str]| {
        let words = programs.map(|program| [&[program], arguments].concat());
        let (mut clients, _) = clients::start_each(name, PAIR, &words).wait();
        let (first, all) = (clients.remove(0), clients);
        assert!(
            first.code == Some(0) && all[0].code == Some(0),
            "{}{}",
            first.stderr,
            all[0].stderr
        );
        let lines: Vec<_> = first.text().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        lines
    };
    // What follows the number of the rank, and its build.
    let result = |line: &str| line.split_once(": ").unwrap().1.to_owned();
    let converge = |line: &String| line.contains("converges in ");
    for program in [&fused, &strict] {
        let alike = lines("fused-alike", [program, program], &[]);
        assert!(
            alike.iter().all(|line| converge(line) && result(line) == result(&alike[0])),
            "{alike:?}"
        );
    }
    let unlike = lines("fused-unlike", [&fused, &strict], &[]);
    assert!(unlike[0].contains("fused") && unlike[2].contains("strict"), "{unlike:?}");
    assert_ne!(result(&unlike[0]), result(&unlike[2]));
    let decided = lines("fused-one", [&fused, &strict], &["one"]);
    let rounds = |line: &String| result(line).split_once(',').unwrap().0.to_owned();
    assert!(
        decided.iter().all(|line| converge(line) && rounds(line) == rounds(&decided[0])),
        "{decided:?}"
    );
}

/// The longest time from the end of something to that of all clients.
const END_MAX: Duration = Duration::from_secs(5);

/// A world of two clients of two ranks in which all wait, once they do.
fn waiting(name: &str, environment: &'static [(&'static str, &'static str)]) -> RunningWorld {
    let program = client_program("wait");
    let world = clients::start(name, World { environment, ..PAIR }, &[&program]);
    for client in &world.clients {
        client.until_output(|text| (text.matches("waiting\n").count() == 2).then_some(()));
    }
    world
}

/// The processes of the ranks of a client, by their lines `rank N is process P`.
fn rank_processes(client: &harness::Running) -> Vec<u32> {
    client.until_output(|text| {
        let told = text.lines().filter_map(|line| line.split_once("is process ")?.1.parse().ok());
        let told: Vec<u32> = told.collect();
        (told.len() == 2).then_some(told)
    })
}

/// A rank of one client ends: both clients do, and each says which process ended.
#[test]
fn the_end_of_a_process_ends_the_world() {
    for (name, environment) in [("killed", &[][..]), ("killed-clear", CLEAR)] {
        let world = waiting(name, environment);
        let victim = rank_processes(&world.clients[1])[0];
        let begin = Instant::now();
        harness::signal_process(victim, "KILL");
        let (clients, server) = world.wait();
        assert!(begin.elapsed() < END_MAX, "{:?}", begin.elapsed());
        for client in &clients {
            assert_ne!(client.code, Some(0), "{}", client.stderr);
        }
        let said = &clients[0].stderr;
        // Its client ends the other one as well, whose end may be heard of first.
        let names_one = said.contains("process 2") || said.contains("process 3");
        assert!(names_one && said.contains("client 1"), "{said}");
        // It has done its work, and tells who has gone without a word.
        assert!(server.stderr.contains("client 1"), "{}", server.stderr);
    }
}

/// One client as a whole ends, and with it the others; nobody hangs.
#[test]
fn the_end_of_a_client_ends_the_world() {
    let world = waiting("client-killed", &[]);
    let begin = Instant::now();
    world.clients[0].signal("TERM");
    let (clients, _) = world.wait();
    assert!(begin.elapsed() < END_MAX, "{:?}", begin.elapsed());
    let said = &clients[1].stderr;
    assert!(clients[1].code != Some(0) && said.contains("client 0"), "{said}");
}

/// After the start-up the server is needed by nobody.
#[test]
fn the_end_of_the_server_harms_nobody() {
    let program = client_program("wait");
    let key = harness::folder("clients-server-killed").join("key");
    let (server, address) = clients::serve(&key, PAIR);
    let words = [program.as_str(), "1"];
    let running: Vec<_> = (0..2)
        .map(|number| harness::start(clients::client(&key, PAIR, &address, number, &words)))
        .collect();
    for client in &running {
        client.until_output(|text| (text.matches("waiting\n").count() == 2).then_some(()));
    }
    server.signal("KILL");
    server.wait();
    for outcome in running.into_iter().map(harness::Running::wait) {
        assert_eq!(outcome.code, Some(0), "{}{}", outcome.text(), outcome.stderr);
    }
}

/// A client without a server, or without the key, says so within its time.
#[test]
fn a_client_that_cannot_join_says_why() {
    let program = client_program("wait");
    let folder = harness::folder("clients-alone");
    let (server, address) = clients::serve(&folder.join("key"), PAIR);
    let other = folder.join("other");
    let (strange, _) = clients::serve(&other, PAIR);
    let cases = [
        (&other, address.as_str(), "cannot join the IMPI server"),
        (&folder.join("key"), "127.0.0.1:9", "cannot join the IMPI server 127.0.0.1:9"),
    ];
    for (key, address, expected) in cases {
        let outcome = harness::start(clients::client(key, PAIR, address, 0, &[&program])).wait();
        assert_ne!(outcome.code, Some(0));
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
    for server in [server, strange] {
        server.signal("TERM");
        server.wait();
    }
}

/// Settings by which clients would select other algorithms are compared when they join.
#[test]
fn clients_with_other_settings_do_not_join() {
    let program = client_program("wait");
    let world = World { of_first: &[("SUIRO_COLL_BCAST", "chain")], ..World::of(&[1, 2]) };
    let (clients, server) = clients::start("settings", world, &[&program]).wait();
    for outcome in clients.iter().chain([&server]) {
        assert_ne!(outcome.code, Some(0));
        let why = "client 1: SUIRO_COLL_BCAST differs from that of client 0";
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    }
}

/// The attributes of IMPI, the order of the world, sessions, and messages of any length.
#[test]
fn the_world_is_that_of_all_clients() {
    let program = compile(&root().join("c-tests/clients/world.c"));
    for (number, world) in WORLDS.into_iter().enumerate() {
        let sizes: Vec<_> = world.clients.iter().map(u32::to_string).collect();
        let sizes: Vec<_> = sizes.iter().map(String::as_str).collect();
        run(&format!("world{number}"), &program, &sizes, world, "errors = 0\n");
    }
}

/// A job that a rank of the world starts has a world of its own.
#[test]
fn a_launcher_inside_a_rank_joins_no_world() {
    let program = client_program("world");
    let launcher = harness::built("mpirun");
    let nested = format!("{launcher} -n 2 {program} 2 && exec {program} 1 1");
    let world = World { environment: GATEWAY, ..World::of(&[1, 1]) };
    let (clients, _) = clients::start("nested", world, &["sh", "-c", &nested]).wait();
    let said: Vec<_> = clients.iter().map(|it| (it.code, it.text(), &*it.stderr)).collect();
    let ended_well = |text: &str| text.matches("errors = 0\n").count();
    assert!(said.iter().all(|(code, ..)| *code == Some(0)), "{said:#?}");
    // Rank 0 of the world alone says so of the world.
    assert_eq!([0, 1].map(|client: usize| ended_well(said[client].1)), [2, 1], "{said:#?}");
}

/// MPICH carries the messages inside one of the clients, which its launcher starts, and shared memory those
/// inside the other one.
#[test]
fn a_client_over_another_library() {
    let program = compile(&root().join("c-tests/clients/world.c"));
    for (over, mode) in [(0, "polling"), (1, "thread")] {
        let key = harness::folder(&format!("clients-vendor-{mode}")).join("key");
        let (server, address) = clients::serve(&key, PAIR);
        let number = over.to_string();
        let environment = [
            ("SUIRO_IMPI_SERVER", address.as_str()),
            ("SUIRO_IMPI_CLIENT", &number),
            ("SUIRO_IMPI_KEY_FILE", key.to_str().unwrap()),
            ("SUIRO_VENDOR_MODE", mode),
        ];
        let first = vendor::over_mpich(2, &environment, &program, &["2", "2"]);
        let words = [program.to_str().unwrap(), "2", "2"];
        let other = clients::client(&key, PAIR, &address, 1 - over, &words);
        let outcomes = [first, other].map(harness::start).map(harness::Running::wait);
        // Client 0, which has rank 0, is the first of these if the other library carries it.
        let said: Vec<_> = outcomes.iter().map(|it| (it.code, it.text(), &*it.stderr)).collect();
        let good = said.iter().all(|(code, ..)| *code == Some(0));
        assert!(good && said[over].1.contains("errors = 0\n"), "{mode}: {said:#?}");
        assert_eq!(server.wait().code, Some(0));
    }
}
