//! Link arguments of the shared library (`src/abi/mod.rs` says why each is there), and beside the
//! library a link with the name that programs ask the loader for, so that they run from the build
//! folder without an installation.

use std::os::unix::fs::symlink;
use std::path::Path;

const SONAME: &str = "libmpi_abi.so.1";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in [&format!("-soname,{SONAME}"), "-Bsymbolic-functions", "-z,nodelete"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
    // OUT_DIR is <profile>/build/<package>/out; the library will be in <profile>.
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let profile = Path::new(&out).ancestors().nth(3).expect("three folders up");
    // It may be there from the last time.
    drop(symlink("libmpi_abi.so", profile.join(SONAME)));
}
