//! Exported symbols of the shared library, and interposition of any `MPI_x` by a tool: as an object
//! of the program, preloaded, and with the static library.

#[path = "../generator/functions.rs"]
mod functions;
#[path = "toolchain/mod.rs"]
mod toolchain;

use std::collections::BTreeSet;
use std::env::current_exe;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use functions::functions;
use toolchain::{compiler, root, run, scratch};

/// Exported symbols that are not functions of the standard ABI.
const EXTRAS: &[&str] = &[
    // The functions of mpi-ext.h.
    "MPIX_Comm_ack_failed",
    "PMPIX_Comm_ack_failed",
    "MPIX_Comm_agree",
    "PMPIX_Comm_agree",
    "MPIX_Comm_failure_ack",
    "PMPIX_Comm_failure_ack",
    "MPIX_Comm_failure_get_acked",
    "PMPIX_Comm_failure_get_acked",
    "MPIX_Comm_get_failed",
    "PMPIX_Comm_get_failed",
    "MPIX_Comm_iagree",
    "PMPIX_Comm_iagree",
    "MPIX_Comm_is_revoked",
    "PMPIX_Comm_is_revoked",
    "MPIX_Comm_ishrink",
    "PMPIX_Comm_ishrink",
    "MPIX_Comm_revoke",
    "PMPIX_Comm_revoke",
    "MPIX_Comm_shrink",
    "PMPIX_Comm_shrink",
    "MPIX_File_get_failed",
    "PMPIX_File_get_failed",
    "MPIX_File_is_revoked",
    "PMPIX_File_is_revoked",
    "MPIX_File_revoke",
    "PMPIX_File_revoke",
    "MPIX_Win_get_failed",
    "PMPIX_Win_get_failed",
    "MPIX_Win_is_revoked",
    "PMPIX_Win_is_revoked",
    "MPIX_Win_revoke",
    "PMPIX_Win_revoke",
    // What libacp is built on.
    "suiro_acp_abort",
    "suiro_acp_address",
    "suiro_acp_begin",
    "suiro_acp_change",
    "suiro_acp_colour",
    "suiro_acp_colours",
    "suiro_acp_complete",
    "suiro_acp_copy",
    "suiro_acp_counts",
    "suiro_acp_end",
    "suiro_acp_inquire",
    "suiro_acp_move",
    "suiro_acp_open",
    "suiro_acp_pause",
    "suiro_acp_place",
    "suiro_acp_rank",
    "suiro_acp_read",
    "suiro_acp_register",
    "suiro_acp_system",
    "suiro_acp_unregister",
    "suiro_acp_update",
    "suiro_acp_write",
    // Fortran buffers that are array sections, which C cannot describe.
    "suiro_Type_create_sections",
    // Marks keys and values with Fortran callbacks, for which the standard has no function.
    "suiro_fortran_create_keyval",
    "suiro_fortran_get_attr",
    "suiro_fortran_set_attr",
];

/// Output of `program.c`.
const PROGRAM_PRINTS: &str = "MPI 5.0, 24 bytes: MPI_ERR_TAG: invalid tag\nreceived 42\n";

/// Output of `program.c` with `tool.c` interposed.
const INTERPOSED_PRINTS: &str = "tool: call 1 is MPI_Get_version\n\
                                 tool: call 2 is MPI_Error_string of 4\n\
                                 MPI 5.0, 24 bytes: MPI_ERR_TAG: invalid tag\n\
                                 tool: call 3 is MPI_Send of 1 with tag 7\n\
                                 received 42\n";

/// A library that cargo built for this test, beside the binary of the test.
fn library(name: &str) -> PathBuf {
    let path = current_exe().unwrap().parent().unwrap().join(name);
    assert!(path.exists(), "{} was not built", path.display());
    path
}

/// A directory with the shared library under its name and its SONAME.
fn installed(name: &str) -> PathBuf {
    let directory = scratch(name);
    for link in ["libmpi_abi.so", "libmpi_abi.so.1"] {
        symlink(library("libmpi_abi.so"), directory.join(link)).unwrap();
    }
    directory
}

fn source(name: &str) -> PathBuf {
    root().join("tests/symbols").join(name)
}

/// `cc` of these sources into `directory/output`, with further arguments.
fn build(directory: &Path, output: &str, sources: &[&str], arguments: &[&str]) -> PathBuf {
    let path = directory.join(output);
    let mut command = compiler("cc", "-std=c99");
    command.args(sources.iter().map(|name| source(name))).arg("-o").arg(&path);
    run(command.arg("-L").arg(directory).args(arguments), directory);
    path
}

#[test]
fn exports_are_the_functions_of_the_abi_twice() {
    let directory = scratch("exports");
    let mut command = Command::new("nm");
    let listing = run(
        command.args(["-D", "--defined-only", "--format=posix"]).arg(library("libmpi_abi.so")),
        &directory,
    );
    let exported: BTreeSet<_> =
        listing.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let expected: BTreeSet<_> = functions()
        .iter()
        .filter(|function| function.is_exported())
        .flat_map(|function| [function.name.to_string(), format!("P{}", function.name)])
        .chain(EXTRAS.iter().map(|name| name.to_string()))
        .collect();
    assert_eq!(expected.len(), 2 * 662 + EXTRAS.len());
    let missing: Vec<_> =
        expected.iter().filter(|name| !exported.contains(name.as_str())).collect();
    let extra: Vec<_> = exported.iter().filter(|name| !expected.contains(**name)).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}, extra {extra:?}");
}

/// Exported symbols of the library of ACP that its header does not declare: programs of ACP 3 use them.
const EXTRAS_OF_ACP: &[&str] =
    &["ACP_ERRNO", "acp_recv_ch", "acp_send_ch", "iacp_abort_cl", "iacp_enable_hybrid"];

/// The functions that a header declares.
fn prototypes(header: &str) -> BTreeSet<&str> {
    let lines = header.lines().filter(|line| !line.starts_with(['#', ' ', '/']));
    let names = lines.filter_map(|line| line.split_once('(').map(|(before, _)| before));
    names.map(|before| before.rsplit([' ', '*']).next().unwrap()).collect()
}

#[test]
fn exports_of_the_library_of_acp_are_the_functions_of_its_header() {
    let header = fs::read_to_string(root().join("include/acp.h")).unwrap();
    let mut expected = prototypes(&header);
    // Those of ACP 3, and one more.
    assert_eq!(expected.len(), 206 + 1);
    assert!(expected.contains("acpx_query_ways") && expected.contains("acp_query_address"));
    expected.extend(EXTRAS_OF_ACP);
    let mut command = Command::new("nm");
    let directory = scratch("exports_of_acp");
    let symbols = run(command.args(["-D", "--defined-only"]).arg(library("libacp.so")), &directory);
    let exported: BTreeSet<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(exported, expected);
}

#[test]
fn the_shared_library_has_the_name_of_the_abi() {
    let directory = scratch("soname");
    let mut command = Command::new("readelf");
    let dynamic = run(command.args(["-d", "-W"]).arg(library("libmpi_abi.so")), &directory);
    assert!(dynamic.contains("Library soname: [libmpi_abi.so.1]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
    // Data must stay open to copy relocation; only the functions are bound.
    let symbolic = dynamic.lines().any(|line| line.contains("SYMBOLIC"));
    assert!(!symbolic, "{dynamic}");
}

#[test]
fn a_linked_object_interposes() {
    let directory = installed("interpose_linked");
    let program = build(&directory, "program", &["program.c", "tool.c"], &["-lmpi_abi"]);
    let printed = run(Command::new(program).env("LD_LIBRARY_PATH", &directory), &directory);
    assert_eq!(printed, INTERPOSED_PRINTS);
}

#[test]
fn a_preloaded_library_interposes() {
    let directory = installed("interpose_preload");
    let program = build(&directory, "program", &["program.c"], &["-lmpi_abi"]);
    build(&directory, "tool.so", &["tool.c"], &["-shared", "-fPIC", "-lmpi_abi"]);
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", &directory);
    assert_eq!(run(&mut command, &directory), PROGRAM_PRINTS);
    // By name: a path with a space would be two.
    let printed = run(command.env("LD_PRELOAD", "tool.so"), &directory);
    assert_eq!(printed, INTERPOSED_PRINTS);
}

#[test]
fn an_object_interposes_with_the_static_library() {
    let directory = scratch("interpose_static");
    let mut command = Command::new("objcopy");
    command.args(["--wildcard", "--weaken-symbol", "MPI_*"]);
    command.arg(library("libmpi_abi.a")).arg(directory.join("libmpi_abi.a"));
    run(&mut command, &directory);
    // System libraries that the Rust library needs.
    let system = ["-lmpi_abi", "-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];
    let plain = build(&directory, "plain", &["program.c"], &system);
    assert_eq!(run(&mut Command::new(plain), &directory), PROGRAM_PRINTS);
    let program = build(&directory, "program", &["program.c", "tool.c"], &system);
    let printed = run(&mut Command::new(program), &directory);
    assert_eq!(printed, INTERPOSED_PRINTS);
}
