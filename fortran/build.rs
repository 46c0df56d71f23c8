//! Generates the entry points from the table of routines, and sets the link arguments of the shared
//! library: it needs any `libmpi_abi.so.1` that the loader finds, so it is linked against an empty
//! library of that name. Makes a link beside the library with its loader name.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[path = "generator/mod.rs"]
mod generator;

use generator::entry::Tables;
use generator::{f08, library, sentinel, table};

const SONAME: &str = "libmpifort_abi.so.1";
/// The library with the functions of C (MPI 5.0, chapter 20).
const NEEDED: &str = "libmpi_abi.so.1";
/// Symbols that the linker must not bind to the library's own.
const DYNAMIC_LIST: &str = "dynamic.list";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=generator");
    println!("cargo:rerun-if-changed=../generator");
    render(&out);
    let stub = stub(&out);
    let arguments = [
        &format!("-Wl,-soname,{SONAME},-z,nodelete"),
        // Binds jumps to the bodies directly, not through the PLT.
        "-Wl,-Bsymbolic-functions",
        &format!("-Wl,--dynamic-list={}", out.join(DYNAMIC_LIST).display()),
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
    drop(symlink("libmpifort_abi.so", profile.join(SONAME)));
}

fn render(out: &Path) {
    let read = |path: &str| {
        println!("cargo:rerun-if-changed={path}");
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let routines = table::routines(&read("routines.tsv"));
    let deleted = table::routines(&read("deleted.tsv"));
    let kinds = table::kinds(&read("kinds.tsv"));
    let prototypes = library::prototypes();
    let tables = Tables { kinds: &kinds, prototypes: &prototypes };
    for (name, text) in [
        ("c.rs", library::render_declarations(&prototypes)),
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
