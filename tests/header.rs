//! `include/mpi_proto.h` agrees with the signatures in `src/abi` and of the generated bodies;
//! `include/mpi.h` agrees with the table of the standard ABI in `tests/data`.
//!
//! `SUIRO_BLESS=1 cargo test --test header` rewrites `mpi_proto.h`. With `SUIRO_PEER_INCLUDE`
//! set to a directory with another library's `mpi_abi.h`, both headers are compared too.

#[path = "../generator/functions.rs"]
mod functions;
mod generated;
#[path = "toolchain/mod.rs"]
mod toolchain;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use functions::functions;
use toolchain::{compiler, root, run, scratch};

const CONSTANTS: &str = include_str!("data/abi_constants.tsv");

/// The text of `mpi_proto.h`: the prototypes of the bodies and, from those, of their `MPI_` twins.
fn prototypes() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let generated = Path::new(env!("OUT_DIR"));
    let library = cbindgen::Builder::new()
        .with_config(config)
        .with_src(root().join("src/abi/mod.rs"))
        .with_src(generated.join("int_form.rs"));
    let mut written = Vec::new();
    library.generate().unwrap().write(&mut written);
    let bodies: String = String::from_utf8(written)
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty())
        // A parameter of a function type is a pointer to it; the star is for readers.
        .map(|line| {
            line.replace("_function ", "_function *").replace("_function_c ", "_function_c *")
                + "\n"
        })
        .collect();
    let twins: String =
        bodies.lines().map(|line| line.replacen(" PMPI_", " MPI_", 1) + "\n").collect();
    format!(
        "/* The functions of MPI 5.0, in the order of their names; included by mpi.h.\n \
         * Made from src/abi by: SUIRO_BLESS=1 cargo test --test header */\n\n\
         {twins}\n/* The profiling interface */\n\n{bodies}"
    )
}

/// Name, kind and value of each constant.
fn constants() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    CONSTANTS.lines().skip(1).map(|line| {
        let fields: Vec<_> = line.split('\t').collect();
        (fields[0], fields[1], fields[2])
    })
}

/// Compiles `program` as C and as C++, and runs both.
fn check_in_both_languages(name: &str, program: &str) {
    let scratch = scratch(name);
    let source = scratch.join("check.c");
    fs::write(&source, program).unwrap();
    for (language, name, standard) in [("c", "cc", "-std=c99"), ("c++", "c++", "-std=c++11")] {
        let binary = scratch.join(name);
        let mut command = compiler(name, standard);
        run(command.args(["-x", language]).arg(&source).arg("-o").arg(&binary), &scratch);
        run(&mut Command::new(&binary), &scratch);
    }
}

#[test]
fn prototypes_are_those_of_the_bodies() {
    generated::file(&root().join("include/mpi_proto.h"), &prototypes(), "header");
}

/// Declares each function a second time: the compiler compares.
#[test]
fn prototypes_are_those_of_the_standard() {
    let mut program =
        String::from("#include <mpi.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    let mut count = 0;
    for function in functions().iter().filter(|function| function.is_exported()) {
        let (name, prototype) = (function.name, function.prototype);
        let body = prototype.replacen(&format!("{name}("), &format!("P{name}("), 1);
        writeln!(program, "{prototype};\n{body};").unwrap();
        count += 1;
    }
    program += "#ifdef __cplusplus\n}\n#endif\nint main(void) { return 0; }\n";
    assert_eq!(count, 662);
    check_in_both_languages("prototypes", &program);
}

#[test]
fn constants_are_those_of_the_abi() {
    let mut program = String::from(
        "#include <mpi.h>\n#include <stdio.h>\n\
         static int wrong = 0;\n\
         static void check(const char *name, intptr_t ours, intptr_t standard) {\n\
         if (ours != standard) { printf(\"%s is %ld\\n\", name, (long)ours); wrong = 1; } }\n",
    );
    let mut checks = String::new();
    for (name, kind, value) in constants() {
        if let Some(handle) = kind.strip_prefix("handle:") {
            // A static initializer takes constants only, and of the right type.
            writeln!(program, "static MPI_{handle} static_{name} = {name};").unwrap();
            writeln!(checks, "check(\"{name}\", (intptr_t)static_{name}, {value});").unwrap();
        } else if kind == "int" {
            // So does the length of an array; `MPI_INFO_ENV` and the like are no integers.
            writeln!(program, "typedef char int_{name}[({name}) == ({value}) ? 1 : -1];").unwrap();
            writeln!(checks, "check(\"{name}\", sizeof(int_{name}), 1);").unwrap();
        } else {
            writeln!(checks, "check(\"{name}\", (intptr_t){name}, {value});").unwrap();
        }
    }
    write!(program, "int main(void) {{\n{checks}return wrong;\n}}\n").unwrap();
    check_in_both_languages("constants", &program);
}

#[test]
fn types_have_the_layout_of_the_abi() {
    let mut program = String::from("#include <mpi.h>\n#include <stddef.h>\n#include <string.h>\n");
    let facts = [
        "sizeof(MPI_Status) == 32",
        "offsetof(MPI_Status, MPI_SOURCE) == 0",
        "offsetof(MPI_Status, MPI_TAG) == 4",
        "offsetof(MPI_Status, MPI_ERROR) == 8",
        "offsetof(MPI_Status, MPI_internal) == 12",
        "sizeof(((MPI_Status *)0)->MPI_internal) == 20",
        "offsetof(struct aligned, status) == 4",
        "sizeof(MPI_Aint) == sizeof(void *) && (MPI_Aint)-1 < 0",
        "sizeof(MPI_Count) == 8 && (MPI_Count)-1 < 0",
        "sizeof(MPI_Offset) == 8 && (MPI_Offset)-1 < 0",
        "sizeof(MPI_T_cb_safety) == sizeof(int)",
    ];
    program += "struct aligned { char before; MPI_Status status; };\nint main(void) {\n";
    for (index, fact) in facts.iter().enumerate() {
        writeln!(program, "typedef char fact_{index}[({fact}) ? 1 : -1];").unwrap();
        writeln!(program, "if (sizeof(fact_{index}) != 1) return 1;").unwrap();
    }
    program += "return 0;\n}\n";
    check_in_both_languages("types", &program);
}

#[test]
fn a_peer_declares_the_same() {
    let Some(include) = std::env::var_os("SUIRO_PEER_INCLUDE") else { return };
    // Its types and our prototypes of them must agree with its own prototypes.
    let mut program =
        String::from("#include <mpi_abi.h>\n#include <mpi_proto.h>\n#include <stdio.h>\n");
    program += "int main(void) {\nint wrong = 0;\n";
    for (name, _, value) in constants() {
        writeln!(program, "if ((long)({name}) != {value}) {{ puts(\"{name}\"); wrong = 1; }}")
            .unwrap();
    }
    program += "return wrong;\n}\n";
    let scratch = scratch("peer");
    let (source, binary) = (scratch.join("check.c"), scratch.join("check"));
    fs::write(&source, program).unwrap();
    let mut command = compiler("cc", "-std=c99");
    run(command.arg("-I").arg(Path::new(&include)).arg(&source).arg("-o").arg(&binary), &scratch);
    run(&mut Command::new(&binary), &scratch);
}
