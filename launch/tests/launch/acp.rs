//! Programs with ACP: compiled by `acpcc`, started by `acprun` and `macprun`.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::harness::{HERE, Outcome, compiled, folder, mpirun, root, run, start};

/// Runs `launcher words` until it exits: `mpirun`, called by this name.
fn run_as(launcher: &str, words: &[&str]) -> Outcome {
    let mut command = mpirun(words);
    command.arg0(launcher);
    start(command).wait()
}

fn acprun(words: &[&str]) -> Outcome {
    run_as("acprun", words)
}

/// The program of `source` in `folder`, compiled by `wrapper`.
fn compile(wrapper: &str, folder: &Path, source: &Path) -> String {
    let program = folder.join("program");
    let mut command = Command::new(wrapper);
    let output = command.args(["-ndev", "UDP", "-o"]).args([&program, source]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    program.to_str().unwrap().to_owned()
}

/// The program `tests/data/acp_memory.c`.
fn memory_program(test: &str) -> String {
    let source = root().join("launch/tests/data/acp_memory.c");
    compile(env!("CARGO_BIN_EXE_acpcc"), &folder(test), &source)
}

/// What the program prints on this many ranks with this many arguments.
fn places(ranks: u32, arguments: u32) -> Vec<String> {
    (0..ranks).map(|rank| format!("{rank}/{ranks} {arguments}")).collect()
}

#[test]
fn ranks_have_the_memory_that_was_requested() {
    let program = memory_program("launch-acp-memory");
    for ranks in 1..=4 {
        let count = ranks.to_string();
        let sizes = ["-startermemsize", "4097", "--acp-startermemsize-dl=100000"];
        let words = [&["-np", &count], &sizes[..], &[&program, "4097", "100000"]].concat();
        let outcome = acprun(&words);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(outcome.lines(), places(ranks, 3));
    }
    // Without options, the arguments are those of the command line.
    let outcome = acprun(&["-np", "1", "echo", "a"]);
    assert_eq!((outcome.text(), &*outcome.stderr), ("a\n", ""));
}

#[test]
fn several_programs_have_one_size() {
    let program = memory_program("launch-acp-programs");
    let words = ["--acp-np=1", &program, "64", "4096", ":", "-np", "2", "-smemsize", "64"];
    let outcome = acprun(&[&words[..], &["-smemsize-dl", "4096", &program, "64", "4096"]].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), places(3, 3));
}

#[test]
fn programs_of_mpi_and_of_both_are_started_too() {
    let outcome = acprun(&["-np", "2", &compiled("allreduce"), "10"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let folder = folder("launch-acp-both");
    let source = folder.join("both.cpp");
    let text = "#include <acp.h>\n#include <mpi.h>\n#include <cstdio>\n\
        int main(int argc, char **argv) {\n\
        int rank;\n\
        MPI_Init(&argc, &argv);\n\
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
        acp_init(&argc, &argv);\n\
        std::printf(\"%d %d\\n\", acp_rank(), rank);\n\
        return acp_finalize() + MPI_Finalize();\n}\n";
    fs::write(&source, text).unwrap();
    let program = compile(env!("CARGO_BIN_EXE_acpcxx"), &folder, &source);
    let outcome = acprun(&["-np", "3", "-net", "TOFU", &program]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["0 0", "1 1", "2 2"]);
}

#[test]
fn hosts_of_a_node_file_take_turns() {
    let nodes = folder("launch-acp-nodes").join("nodes");
    fs::write(&nodes, "198.51.100.1\nlocalhost\n198.51.100.2\n198.51.100.1\n").unwrap();
    let show = ["sh", "-c", "echo $PMI_RANK $MPI_LOCALRANKID/$MPI_LOCALNRANKS"];
    let job = |words: &[&str]| acprun(&[&["-ssh", HERE], words, &show].concat());
    let outcome = job(&["-nodefile", nodes.to_str().unwrap(), "-np", "6"]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert_eq!(outcome.lines(), ["0 0/3", "1 0/2", "2 0/1", "3 1/3", "4 2/3", "5 1/2"]);
    // A list needs no file, and replaces one.
    let list = ["--acp-node=198.51.100.1,198.51.100.2", "-np", "3"];
    for file in [&[][..], &["-machinefile", nodes.to_str().unwrap()]] {
        let outcome = job(&[&list, file].concat());
        assert_eq!(outcome.lines(), ["0 0/2", "1 0/1", "2 1/2"], "{}", outcome.stderr);
    }
}

#[test]
fn codes_and_messages_are_those_of_mpirun() {
    assert_eq!(acprun(&["-np", "2", "sh", "-c", "exit 3"]).code, Some(3));
    assert_eq!(acprun(&["-np", "2", "no-such-program"]).code, Some(127));
    let outcome = acprun(&["--acp-frobnicate=1", "true"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.starts_with("acprun: unknown option --acp-frobnicate"));
    let help = acprun(&["--help"]);
    let has = |text: &str| help.text().contains(text);
    assert!(has("--startermemsize <BYTES>") && has("--nodefile") && has("--timeout <SECONDS>"));
    assert!(!run(&["--help"]).text().contains("startermemsize"));
}

#[test]
fn programs_of_an_input_file_are_one_job() {
    let program = memory_program("launch-acp-runtimes");
    let input = Path::new(&program).with_file_name("input");
    let runtimes = "# runtimes\n2\nacprun\nacprun -smemsize 64 # bytes\n1\n3\n";
    let commands = format!("{program} 64 4096\n{program} 64 4096\n");
    fs::write(&input, format!("{runtimes}{commands}")).unwrap();
    let input = input.to_str().unwrap();
    let outcome = run_as("macprun", &["-np", "4", "-smemsize-dl", "4096", "-net", "UDP", input]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), places(4, 3));
    let outcome = run_as("macprun", &["-np", "5", input]);
    assert_eq!(outcome.code, Some(2));
    let why = format!("macprun: {input}: the file has 4 processes, not 5\n");
    assert_eq!(outcome.stderr, why);
}
