//! Link arguments of the shared library (`src/abi/mod.rs` says why each is there), and beside the
//! library a link with the name that programs ask the loader for, so that they run from the build
//! folder without an installation. And what `suiro-info` says of the build.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const SONAME: &str = "libmpi_abi.so.1";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in [&format!("-soname,{SONAME}"), "-Bsymbolic-functions", "-z,nodelete"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
    tell_build();
    // OUT_DIR is <profile>/build/<package>/out; the library will be in <profile>.
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let profile = Path::new(&out).ancestors().nth(3).expect("three folders up");
    // It may be there from the last time.
    drop(symlink("libmpi_abi.so", profile.join(SONAME)));
}

/// What `suiro-info` says of the build.
fn tell_build() {
    let variable = |name: &str| std::env::var(name).expect("cargo sets it");
    let asked = Command::new(variable("RUSTC")).arg("--version").output();
    let compiler = asked.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let compiler = compiler.as_deref().map_or("rustc", str::trim);
    println!("cargo:rustc-env=SUIRO_BUILD_COMPILER={compiler}");
    println!("cargo:rustc-env=SUIRO_BUILD_TARGET={}", variable("TARGET"));
    println!("cargo:rustc-env=SUIRO_BUILD_PROFILE={}", variable("PROFILE"));
}
