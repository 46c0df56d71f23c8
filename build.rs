//! Link arguments of the shared library; see `src/abi/mod.rs` for why each is there.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for argument in ["-soname,libmpi_abi.so.1", "-Bsymbolic-functions", "-z,nodelete"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
}
