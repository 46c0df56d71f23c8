//! Generates the entry points from the table of routines, and sets the link arguments of the shared library.
//! Makes a link beside the library with its loader name.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "generator/mod.rs"]
mod generator;
#[path = "../generator/linkage.rs"]
mod linkage;

use generator::entry::Tables;
use generator::{f08, library, sentinel, table};

/// Symbols that the linker must not bind to the library's own.
const DYNAMIC_LIST: &str = "dynamic.list";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=generator");
    println!("cargo:rerun-if-changed=../generator");
    render(&out);
    let dynamic_list = format!("-Wl,--dynamic-list={}", out.join(DYNAMIC_LIST).display());
    linkage::set_arguments("libmpifort_abi.so.1", &[&dynamic_list]);
}

fn render(out: &Path) {
    let read = |path: &str| {
        println!("cargo:rerun-if-changed={path}");
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let mut routines = table::routines(&read("routines.tsv"));
    routines.extend(table::routines(&read("extensions.tsv")));
    let deleted = table::routines(&read("deleted.tsv"));
    let kinds = table::kinds(&read("kinds.tsv"));
    let standard = library::prototypes();
    let extensions = library::extensions(&read("../include/mpi-ext.h"));
    let prototypes = standard.clone().into_iter().chain(extensions.clone()).collect();
    let tables = Tables { kinds: &kinds, prototypes: &prototypes };
    for (name, text) in [
        ("c.rs", library::render_declarations(&standard)),
        ("extension.rs", library::render_extensions(&extensions)),
        ("sentinel.rs", sentinel::render()),
        ("entry.rs", library::render_entries(&routines, &deleted, &tables)),
        ("meaning.rs", library::render_meaning(&routines)),
        (DYNAMIC_LIST, library::render_dynamic_list(&routines)),
        ("f08.rs", f08::render(&routines, &kinds, &tables)),
        ("large.rs", library::render_large_entries(&routines, &kinds, &tables)),
    ] {
        fs::write(out.join(name), text).expect("OUT_DIR can be written");
    }
}
