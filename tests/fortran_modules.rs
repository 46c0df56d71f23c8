//! `include/mpif.h` and the sources of the modules are what the tables of routines and constants
//! say, and Fortran's compiler takes them.
//!
//! `SUIRO_BLESS=1 cargo test --test fortran_modules` writes them anew.

mod generated;
#[path = "../fortran/generator/module.rs"]
mod module;
#[path = "../fortran/generator/module_constants.rs"]
mod module_constants;
#[path = "../fortran/generator/module_extensions.rs"]
mod module_extensions;
#[path = "../fortran/generator/module_f08.rs"]
mod module_f08;
#[path = "../fortran/generator/module_f90.rs"]
mod module_f90;
#[path = "../fortran/generator/module_header.rs"]
mod module_header;
#[path = "../fortran/generator/module_types.rs"]
mod module_types;
#[allow(dead_code, reason = "the library takes the rest")]
#[path = "../fortran/generator/sentinel.rs"]
mod sentinel;
#[allow(dead_code, reason = "the library takes the rest")]
#[path = "../fortran/generator/table.rs"]
mod table;
#[allow(dead_code, reason = "no C is compiled here")]
#[path = "toolchain/mod.rs"]
mod toolchain;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use module::{Extensions, Language, Tables};
use table::RoutineRole;
use toolchain::{root, run, scratch};

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn extensions() -> Extensions {
    Extensions::parse(
        &text("fortran/extensions.tsv"),
        &text("fortran/kinds.tsv"),
        &text("include/mpi-ext.h"),
    )
}

fn tables() -> Tables {
    Tables::parse(
        &text("fortran/routines.tsv"),
        &text("fortran/kinds.tsv"),
        &text("tests/data/abi_constants.tsv"),
    )
}

/// Runs Fortran's compiler in `directory` with our headers, warnings being errors: what is no
/// interoperable type is so because INTEGER and LOGICAL are the standard's words for it.
fn compile(directory: &Path, arguments: &[&str]) {
    let found = Command::new("gfortran").arg("--version").output();
    assert!(found.is_ok_and(|output| output.status.success()), "this test needs gfortran");
    let mut command = Command::new("gfortran");
    command.args(["-c", "-Wall", "-Wextra", "-Wno-c-binding-type", "-Werror", "-I"]);
    run(command.arg(root().join("include")).args(arguments).current_dir(directory), directory);
}

#[test]
fn sources_are_those_of_the_tables() {
    for (name, text) in tables().files(&extensions()) {
        generated::file(&root().join("include").join(name), &text, "fortran_modules");
    }
}

/// Every name that a program may use is in each module that has it, once with each prefix.
#[test]
fn every_routine_has_its_interfaces() {
    let (tables, extensions) = (tables(), extensions());
    let files = tables.files(&extensions);
    let text = |name: &str| &files.iter().find(|file| file.0 == name).unwrap().1;
    let declared = |name: &str| -> BTreeSet<String> {
        let types = text("mpi_types.f90");
        let lines = types.lines().chain(text(name).lines());
        let words = lines.filter_map(|line| {
            let line = line.trim_start();
            let of = ["interface ", "subroutine ", "function "];
            let rest = of.iter().find_map(|word| line.strip_prefix(word));
            let rest = rest.or_else(|| line.split_once(":: P").map(|(_, rest)| rest))?;
            let prefix = if line.contains(":: P") { "P" } else { "" };
            Some(format!("{prefix}{}", rest.split('(').next()?).to_lowercase())
        });
        words.collect()
    };
    let f08 = Language::F08 { large: false };
    for (file, language, tables) in [
        ("mpi.f90", Language::F90, &tables),
        ("mpi_f08.f90", f08, &tables),
        ("mpi_ext.f90", Language::F90, &extensions.0),
        ("mpi_f08_ext.f90", f08, &extensions.0),
    ] {
        let declared = declared(file);
        for routine in tables.procedures(language, |what| *what == RoutineRole::Routine) {
            for name in [routine.name.clone(), format!("P{}", routine.name)] {
                assert!(declared.contains(&name.to_lowercase()), "{name} is not in {file}");
            }
        }
    }
}

#[test]
fn the_compiler_takes_the_modules() {
    let directory = scratch("fortran_modules");
    for name in ["mpi_types", "mpi", "mpi_f08", "mpi_ext", "mpi_f08_ext"] {
        let source = root().join("include").join(format!("{name}.f90"));
        compile(&directory, &[source.to_str().unwrap()]);
        assert!(directory.join(format!("{name}.mod")).exists());
    }
    let uses = "program uses\n  use mpi_f08\n  integer :: section(10)\n  \
                call MPI_Send(section(1:9:2), 5_MPI_COUNT_KIND, MPI_INTEGER, 0, 0, MPI_COMM_SELF)\n  \
                if (MPI_COMM_SELF == MPI_COMM_WORLD) call one\n  call two\nend program\n\
                subroutine one\n  use mpi, only: MPI_BCAST, MPI_INTEGER, MPI_COMM_SELF\n  \
                integer :: n, ierror\n  n = 1\n  \
                call MPI_BCAST(n, 1, MPI_INTEGER, 0, MPI_COMM_SELF, ierror)\nend subroutine\n\
                subroutine two\n  use mpi_f08, only: MPI_Barrier, MPI_COMM_SELF\n  \
                call MPI_Barrier(MPI_COMM_SELF)\nend subroutine\n";
    fs::write(directory.join("uses.f90"), uses).unwrap();
    compile(&directory, &["uses.f90"]);
}

#[test]
fn the_header_is_the_same_in_both_forms() {
    let files = tables().files(&extensions());
    let headers = files.iter().filter(|(name, _)| name.ends_with(".h"));
    for line in headers
        .flat_map(|(_, text)| text.lines())
        .filter(|line| !line.is_empty() && !line.starts_with('!'))
    {
        assert!(line.len() <= 72 && line.starts_with("      ") && line.as_bytes()[6] != b' ');
    }
    let directory = scratch("fortran_header");
    let program = "      PROGRAM USES\n      IMPLICIT NONE\n      INCLUDE 'mpif.h'\n      INCLUDE 'mpif-ext.h'\n      \
                   INTEGER IERROR\n      CALL MPI_INIT(IERROR)\n      \
                   PRINT *, MPI_WTIME()\n      END\n";
    for (name, option) in [("uses.f", "-ffixed-form"), ("uses.f90", "-ffree-form")] {
        fs::write(directory.join(name), program).unwrap();
        compile(&directory, &[option, "-Wno-unused-parameter", "-Wno-unused-variable", name]);
    }
    compile(&directory, &["-ffixed-line-length-132", "-Wno-unused-parameter", "uses.f"]);
}
