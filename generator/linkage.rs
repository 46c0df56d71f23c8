//! How a shared library over `libmpi_abi.so.1` is linked: it needs any library of that name that the loader
//! finds, so it is linked against an empty one.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The library with the functions of C (MPI 5.0, chapter 20).
const NEEDED: &str = "libmpi_abi.so.1";

/// Sets the link arguments of the library of a package, and makes a link beside the library with its loader
/// name.
pub fn set_arguments(soname: &str, more: &[&str]) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let stub = stub(&out);
    let arguments = [
        &format!("-Wl,-soname,{soname},-z,nodelete"),
        // Binds calls to the library's own functions directly, whatever the program defines.
        "-Wl,-Bsymbolic-functions",
        // A program that is linked only with this library finds the other one beside it.
        "-Wl,-rpath,$ORIGIN",
        "-Wl,--no-as-needed",
        &stub.display().to_string(),
    ];
    for argument in arguments.iter().chain(more) {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    // OUT_DIR is <profile>/build/<package>/out; the library will be in <profile>.
    let profile = out.ancestors().nth(3).expect("three folders up");
    // It may exist from an earlier build.
    drop(symlink(soname.trim_end_matches(".1"), profile.join(soname)));
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
