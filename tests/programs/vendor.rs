//! Programs over other libraries as carriers of their messages: MPICH, under its launcher, and libfabric, of its package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness;

/// The folder of MPICH, installed once for all tests.
///
/// # Panics
/// If it cannot be installed.
pub fn mpich() -> PathBuf {
    let peers = harness::root().join("build/peers");
    let place = peers.join("mpich");
    fs::create_dir_all(&peers).unwrap();
    // Tests are concurrent processes.
    let lock = fs::File::create(peers.join("mpich.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = Command::new(harness::root().join("scripts/environment"));
    let output = command.arg(&place).arg("mpich").env("BUILD_S", "45").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    place
}

/// The library of MPICH.
pub fn library() -> String {
    mpich().join("lib/libmpi_abi.so.1").to_str().unwrap().to_owned()
}

/// The providers of libfabric that need no network card: connections and matching by libfabric's tcp, the same with a
/// layer above, threads of the provider, and shared memory, which has no descriptor to sleep on.
pub const PROVIDERS: &[&str] = &["tcp", "tcp;ofi_rxm", "sockets", "shm"];

/// The libfabric in the package of MPICH.
pub fn libfabric() -> String {
    mpich().join("lib/mpich/libfabric.so.1").to_str().unwrap().to_owned()
}

/// `mpiexec` of MPICH with `program` on so many ranks, which MPICH carries.
pub fn over_mpich(
    ranks: u32, environment: &[(&str, &str)], program: &Path, arguments: &[&str],
) -> Command {
    let mut command = harness::marked(mpich().join("bin/mpiexec").to_str().unwrap());
    command.args(["-n", &ranks.to_string()]).arg(program).args(arguments);
    command.env("SUIRO_DEVICE", "vendor").env("SUIRO_VENDOR_LIBRARY", library());
    // Below MPICH, UCX may warn on standard output of receives that were cancelled at the end.
    command.env("UCX_LOG_LEVEL", "error");
    command.env("CHECK_STRICT", "1").envs(environment.iter().copied());
    command
}

/// Runs a program that counts errors, which must be none.
///
/// # Panics
/// If there are any, or the job fails.
pub fn check(name: &str, ranks: u32, environment: &[(&str, &str)], program: &Path) {
    let outcome = harness::start(over_mpich(ranks, environment, program, &[])).wait();
    let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
    let said = (outcome.code, outcome.text(), &outcome.stderr);
    assert!(good, "{name}, {ranks} ranks, {environment:?}: {said:?}");
}

/// Libfabric, of this library, is to carry the messages between all ranks, by a provider.
pub fn by_libfabric(command: &mut Command, library: &str, provider: &str) {
    command.env("SUIRO_DEVICE", "ofi").env("SUIRO_OFI_BETWEEN", "ranks");
    command.env("SUIRO_OFI_LIBRARY", library).env("SUIRO_OFI_PROVIDER", provider);
}

/// Runs a program that counts errors on one host, with libfabric between all ranks.
///
/// # Panics
/// If there are any errors, or the job fails.
pub fn check_by_libfabric(provider: &str, ranks: u32, progress: &str, program: &Path) {
    check_by_libfabric_with(provider, ranks, progress, program, &[]);
}

/// The same with more settings.
///
/// # Panics
/// As [`check_by_libfabric`].
pub fn check_by_libfabric_with(
    provider: &str, ranks: u32, progress: &str, program: &Path, more: &[(&str, &str)],
) {
    let mut command = harness::mpirun(&["-n", &ranks.to_string(), program.to_str().unwrap()]);
    by_libfabric(&mut command, &libfabric(), provider);
    command.env("SUIRO_PROGRESS", progress).env("CHECK_STRICT", "1").envs(more.iter().copied());
    let outcome = harness::start(command).wait();
    let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
    let said = (outcome.code, outcome.text(), &outcome.stderr);
    assert!(good, "{}, {provider}, {ranks} ranks, {progress}: {said:?}", program.display());
}
