//! Programs of `c-tests` and NAS kernels in worlds of several clients (IMPI), and what happens to a world
//! when something ends.

mod clients;
// Other tests use more of it.
#[allow(dead_code)]
mod programs;

use std::path::{Path, PathBuf};

use clients::World;
use programs::{harness, is_long, root};

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

const PAIR: World = World::of(&[2, 2]);

/// Worlds that differ in all that matters to a program; a program runs in one of them, or in all
/// (`SUIRO_TEST_LONG=1`).
const WORLDS: [World; 6] = [
    PAIR,
    World { environment: CLEAR, ..World::of(&[1, 3]) },
    World { of_first: TCP, ..World::of(&[2, 1]) },
    World { environment: NARROW, ..World::of(&[1, 2]) },
    World::of(&[3, 1, 1]),
    World { environment: TCP, ..World::of(&[1, 1, 2]) },
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

fn check(name: &str) {
    let program = program(name);
    let number = PROGRAMS.iter().position(|it| *it == name).unwrap();
    for (place, world) in WORLDS.into_iter().enumerate() {
        if is_long() || place == number % WORLDS.len() {
            run(name, &program, &[], world, "errors = 0\n");
        }
    }
}

macro_rules! client_programs {
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

client_programs! {
    cancel,
    coll_all,
    coll_bcast,
    coll_blocks,
    coll_forms,
    coll_gather,
    coll_inter,
    coll_large,
    coll_mixed,
    coll_neighbor,
    coll_nonblocking,
    coll_persistent,
    coll_random,
    coll_reduce,
    coll_scan,
    coll_user_ops,
    comm_basic,
    comm_from_group,
    comm_idup,
    comm_members,
    comm_split,
    comm_split_type,
    comm_traffic,
    completion,
    head_to_head,
    intercomm_create,
    intercomm_from_groups,
    intercomm_traffic,
    large_count,
    long_queues,
    matching,
    partitioned,
    persistent,
    probe,
    rma_accumulate,
    rma_fence,
    rma_locks,
    rma_pscw,
    rma_put_get,
    send_modes,
    send_sizes,
    sendrecv,
    sessions,
    threads_multiple,
    truncation,
    type_transfer,
}

#[test]
fn kernels_verify() {
    for (kernel, world) in ["cg", "is", "mg", "ft", "lu"].into_iter().zip(WORLDS) {
        let program = compile(&root().join("npb-harness/kernels").join(kernel).with_extension("c"));
        let world = if world.clients.iter().sum::<u32>() == 4 { world } else { PAIR };
        run(kernel, &program, &["S"], world, " Verification    =               SUCCESSFUL");
    }
}
