//! Every Fortran program of `c-tests`, compiled by this `mpifort` and run by this `mpirun`, in the
//! forms of `programs`: position-independent, where the library's cells of common blocks are found
//! through a table, and once with fixed addresses, where the cells are copied into the
//! program. A C source of the same name is a part of the program.

#[allow(dead_code)]
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use programs::{Form, forms, harness, root, run};

/// Addressing of a program.
const PLACED: &[&[&str]] = &[&["-fPIE", "-pie"], &["-fno-pie", "-no-pie"]];

/// The one source with this name and its ending.
fn source(name: &str) -> PathBuf {
    let named = |ending: &&str| root().join("c-tests").join(name).with_extension(ending);
    let found: Vec<_> = ["f", "f90"].iter().map(named).filter(|path| path.exists()).collect();
    let [source] = &found[..] else { panic!("{name} has {} Fortran sources", found.len()) };
    source.clone()
}

/// Compiles the program; ends the test if the compilation fails.
fn successful(command: &mut Command, source: &Path) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} does not compile (these tests need gfortran, and the library beside mpifort, which \
         cargo build --workspace makes):\n{said}",
        source.display(),
    );
}

/// Compiles a program with the flags of its addressing and returns its path.
fn compile(name: &str, flags: &[&str]) -> PathBuf {
    let source = source(name);
    let program = harness::folder(&format!("fortran-{name}{}", flags[0])).join(name);
    let object = program.with_extension("c.o");
    let mut fortran = Command::new(harness::built("mpifort"));
    fortran.env_remove("SUIRO_FC").args(["-O1", "-g", "-Wall", "-Wno-unused-dummy-argument"]);
    fortran.args(flags).arg("-J").arg(program.parent().unwrap());
    fortran.arg("-o").args([&program, &source]);
    if source.with_extension("c").exists() {
        let mut c = Command::new(harness::built("mpicc"));
        c.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", flags[0], "-c", "-o"]);
        successful(c.args([&object, &source.with_extension("c")]), &source);
        fortran.arg(&object);
    }
    successful(&mut fortran, &source);
    program
}

/// Each run must succeed without counted errors.
fn check(name: &str) {
    let once = [Form { ranks: 2, copy: "auto", progress: "polling" }];
    for (flags, forms) in PLACED.iter().zip([forms(), once.into()]) {
        let program = compile(name, flags);
        for form in forms {
            let outcome = run(&program, &[], form);
            let good = outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n");
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(good, "{name}, {flags:?}, {form:?}: {said:?}");
        }
    }
}

/// Defines a test for each program, and a list of all programs.
macro_rules! fortran_programs {
    ($($name:ident),* $(,)?) => {
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*
    };
}

fortran_programs! {
    f77_arguments,
    f77_collectives,
    f77_deleted,
    f77_exchanges,
    f77_messages,
    f77_sentinels,
    f77_statuses,
    f08_collectives,
    f08_objects,
    f08_partitioned,
    f08_sections,
    f90_attributes,
    f90_callbacks,
    f90_topology,
}

/// Compilers differ in the symbols of routines and of variables identified by address.
#[test]
fn other_symbols_serve_as_well() {
    for flags in [["-fno-underscoring"], ["-fsecond-underscore"]] {
        let program = compile("f77_sentinels", &flags);
        let outcome = run(&program, &[], Form { ranks: 3, copy: "auto", progress: "polling" });
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(outcome.code == Some(0), "{flags:?}: {said:?}");
    }
}

/// Every program has a test.
#[test]
fn every_program_is_listed() {
    let sources = std::fs::read_dir(root().join("c-tests")).unwrap();
    let mut found: Vec<_> = sources
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "f" || ending == "f90"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort_unstable();
    let mut listed = PROGRAMS.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}
