//! The libfabric of the tests, which makes trouble: `c-tests/carrier/fabric_stub.c`.

use std::process::Command;

use super::harness;

/// The path of the library, made for the test `name`.
///
/// # Panics
/// If it does not compile.
pub fn library(name: &str) -> String {
    let place = harness::folder(name).join("libfabric.so.1");
    let source = harness::root().join("c-tests/carrier/fabric_stub.c");
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
    let output = command.arg("-o").args([&place, &source]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    place.to_str().unwrap().to_owned()
}
