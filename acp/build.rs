//! Sets the link arguments of the shared library: it needs any `libmpi_abi.so.1` of Suiro that the loader
//! finds, so it is linked against an empty library of that name. Makes links beside the library with its
//! loader name.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const SONAME: &str = "libacp.so.1";
/// The library with the functions of MPI, and those for ACP.
const NEEDED: &str = "libmpi_abi.so.1";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let stub = stub(&out);
    let arguments = [
        &format!("-Wl,-soname,{SONAME},-z,nodelete"),
        // A program may define functions of these names: the library calls its own.
        "-Wl,-Bsymbolic-functions",
        // A program that is linked only with this library finds the other one beside it.
        "-Wl,-rpath,$ORIGIN",
        "-Wl,--no-as-needed",
        &stub.display().to_string(),
    ];
    for argument in arguments {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    // OUT_DIR is <profile>/build/<package>/out; the library will be in <profile>.
    let profile = out.ancestors().nth(3).expect("three folders up");
    // It may exist from an earlier build.
    drop(symlink("libacp.so", profile.join(SONAME)));
}

/// An empty library with the name of the needed one.
fn stub(out: &Path) -> PathBuf {
    let (source, library) = (out.join("empty.c"), out.join(NEEDED));
    fs::write(&source, "").expect("OUT_DIR can be written");
    let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.args(["-shared", "-nostdlib", &format!("-Wl,-soname,{NEEDED}"), "-o"]);
    let made = command.arg(&library).arg("-x").arg("c").arg(&source).status();
    assert!(made.is_ok_and(|status| status.success()), "{command:?} failed");
    library
}
