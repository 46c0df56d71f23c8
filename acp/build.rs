//! Sets the link arguments of the shared library, and makes a link beside it with its loader name.

#[path = "../generator/linkage.rs"]
mod linkage;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../generator/linkage.rs");
    linkage::set_arguments("libacp.so.1", &[]);
}
