//! Sets `cfg(loom)`, which no other crate has: the sources of the library that are compiled again
//! here have constructors under it.

fn main() {
    println!("cargo::rustc-cfg=loom");
    println!("cargo::rerun-if-changed=build.rs");
}
