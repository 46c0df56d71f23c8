//! Passes facts about the build to `suiro-info` and to `mpirun`.

use std::process::Command;

fn main() {
    // Cargo runs this again if its source changes; no other file matters.
    println!("cargo:rerun-if-env-changed=SUIRO_COMMIT");
    let variable = |name: &str| std::env::var(name).expect("cargo sets it");
    let version = Command::new(variable("RUSTC")).arg("--version").output();
    let compiler = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let compiler = compiler.as_deref().map_or("rustc", str::trim);
    println!("cargo:rustc-env=SUIRO_BUILD_COMPILER={compiler}");
    println!("cargo:rustc-env=SUIRO_BUILD_TARGET={}", variable("TARGET"));
    println!("cargo:rustc-env=SUIRO_BUILD_PROFILE={}", variable("PROFILE"));
}
