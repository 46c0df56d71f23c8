//! `mpicc` and `mpicxx` as build systems run them.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use super::harness::folder;

fn mpicc(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpicc"));
    for name in ["SUIRO_CC", "MPICH_CC", "OMPI_CC", "I_MPI_CC"] {
        command.env_remove(name);
    }
    command.args(words).output().unwrap()
}

#[test]
fn show_prints_one_line_and_nothing_else() {
    let output = mpicc(&["-show"]);
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert_eq!(line.lines().count(), 1);
    assert!(line.starts_with("cc -I") && line.trim_end().ends_with(" -lmpi_abi"), "{line}");
}

#[test]
fn both_wrappers_pass_arguments_and_codes_through() {
    assert!(mpicc(&["-dumpversion"]).status.success());
    assert!(!mpicc(&["--cray-print-opts=cflags"]).status.success());
    let mpicxx = Command::new(env!("CARGO_BIN_EXE_mpicxx")).arg("-showme:command").output();
    assert!(String::from_utf8(mpicxx.unwrap().stdout).unwrap().starts_with("c++"));
}

#[test]
fn a_variable_that_names_the_wrapper_itself_ends_at_the_compiler() {
    let mut command = Command::new("timeout");
    command.args(["20", env!("CARGO_BIN_EXE_mpicc"), "-dumpversion"]);
    let output = command.env("MPICH_CC", env!("CARGO_BIN_EXE_mpicc")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_failed_write_of_an_answer_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpicc"));
    let output = command.arg("-show").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("mpicc: cannot write standard output: ")
    );
}

#[test]
fn arguments_reach_the_compiler_unchanged() {
    let folder = folder("launch-wrapper-words");
    let printer = folder.join("printer");
    std::fs::write(&printer, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
    std::fs::set_permissions(&printer, std::fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["-DTEXT=\"it's $5\"", "-c", "a b.c", "@file", "--unknown", "", "*"];
    let output = mpicc(&[&[&*format!("-cc={}", printer.display())], &words[..]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().take(words.len()).collect::<Vec<_>>(), words);
    assert_eq!(text.lines().count(), words.len() + 1, "{text}");
}

#[test]
fn a_missing_compiler_is_named() {
    let output = mpicc(&["-cc=no-such-compiler", "-c", "x.c"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no-such-compiler"));
}

#[test]
fn a_program_of_the_source_tree_compiles_and_finds_its_library() {
    let folder = folder("launch-wrapper");
    let (source, program) = (folder.join("a.c"), folder.join("a"));
    let text =
        "#include <mpi.h>\nint main(void) { int v, s; return MPI_Get_version(&v, &s) || v < 4; }\n";
    std::fs::write(&source, text).unwrap();
    let output = mpicc(&[source.to_str().unwrap(), "-o", program.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
