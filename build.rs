//! Writes the generated part of the library (`generator/mod.rs`) and sets the link arguments of the
//! shared library (`src/abi/mod.rs` has the reasons). Creates a link to the library with its loader
//! name, so that programs run from the build folder without an installation.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

#[path = "generator/mod.rs"]
mod generator;

const SONAME: &str = "libmpi_abi.so.1";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=generator");
    for argument in [&format!("-soname,{SONAME}"), "-Bsymbolic-functions", "-z,nodelete"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    for (name, text) in generator::files(&generator::functions::functions()) {
        fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
    }
    // OUT_DIR is <profile>/build/<package>/out; the library will be in <profile>.
    let profile = Path::new(&out).ancestors().nth(3).expect("three folders up");
    // The link may exist from an earlier build.
    drop(symlink("libmpi_abi.so", profile.join(SONAME)));
}
