//! The exports of the shared library: every routine of the table under every name of compilers, and
//! nothing else.

#[path = "../generator/mod.rs"]
mod generator;

use std::collections::BTreeSet;
use std::env::current_exe;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use generator::sentinel::Sentinel;
use generator::{library, table};

fn shared_library() -> PathBuf {
    let path = current_exe().unwrap().parent().unwrap().join("libmpifort_abi.so");
    assert!(path.exists(), "{} was not built", path.display());
    path
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Exported functions and data.
fn exported() -> BTreeSet<String> {
    let mut command = Command::new("nm");
    let listing =
        run(command.args(["-D", "--defined-only", "--format=posix"]).arg(shared_library()));
    listing.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

fn expected() -> Vec<String> {
    let mut routines = table::routines(&read("routines.tsv"));
    routines.extend(table::routines(&read("extensions.tsv")));
    let deleted = table::routines(&read("deleted.tsv"));
    library::symbols(&routines, &deleted, &table::kinds(&read("kinds.tsv")))
}

#[test]
fn exports_are_those_of_the_table_under_all_names() {
    let (exported, expected) = (exported(), expected());
    let missing: Vec<_> = expected.iter().filter(|name| !exported.contains(*name)).collect();
    let known: BTreeSet<_> = expected.iter().collect();
    assert_eq!(known.len(), expected.len(), "a name twice");
    // Entry points with descriptors are not generated from kinds of arguments.
    let is_ours = |name: &&String| !name.ends_with("f08ts_") && !name.starts_with("suiro_");
    let extra: Vec<_> =
        exported.iter().filter(is_ours).filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:?}, extra {extra:?}");
    for name in ["mpi_send", "mpi_send_", "mpi_send__", "MPI_SEND", "pmpi_send_", "PMPI_SEND"] {
        assert!(exported.contains(name), "{name}");
    }
    for name in [
        "mpi_type_struct_",
        "mpi_null_copy_fn_",
        "mpi_alloc_mem_cptr_",
        "mpi_wtime_",
        "mpix_comm_agree_",
    ] {
        assert!(exported.contains(name), "{name}");
    }
}

#[test]
fn the_library_needs_the_library_of_c() {
    let mut command = Command::new("readelf");
    let dynamic = run(command.args(["-d", "-W"]).arg(shared_library()));
    assert!(dynamic.contains("Library soname: [libmpifort_abi.so.1]"), "{dynamic}");
    assert!(dynamic.contains("Shared library: [libmpi_abi.so.1]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE") && dynamic.contains("$ORIGIN"), "{dynamic}");
}

/// Libraries of C that have only the functions of the standard serve as well: the loader asks for no others.
#[test]
fn extensions_of_the_library_of_c_may_be_missing() {
    let mut command = Command::new("nm");
    let listing =
        run(command.args(["-D", "--undefined-only", "--format=posix"]).arg(shared_library()));
    let extensions: Vec<_> = listing.lines().filter(|line| line.starts_with("PMPIX_")).collect();
    let routines = table::routines(&read("extensions.tsv"));
    assert_eq!(extensions.len(), routines.len(), "{extensions:?}");
    for line in extensions {
        assert!(line.ends_with(" w") || line.contains(" w "), "{line}");
    }
}

#[test]
fn cells_are_as_large_and_aligned_as_common_blocks() {
    let mut command = Command::new("readelf");
    let symbols = run(command.args(["--dyn-syms", "-W"]).arg(shared_library()));
    for symbol in generator::sentinel::SENTINELS.iter().flat_map(Sentinel::symbols) {
        let line = symbols.lines().find(|line| line.ends_with(&format!(" {symbol}")));
        let fields: Vec<_> = line.expect("it is exported").split_whitespace().collect();
        let [address, size] = [fields[1], fields[2]];
        let address = u64::from_str_radix(address, 16).unwrap();
        let bytes = generator::sentinel::BLOCK_BYTES;
        assert_eq!(size.parse::<usize>().unwrap(), bytes, "{symbol}");
        assert_eq!(address % bytes as u64, 0, "{symbol}");
        assert!(fields.contains(&"DEFAULT"), "{symbol}");
    }
}
