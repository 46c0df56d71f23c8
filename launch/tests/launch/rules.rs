//! Rules for the algorithms of collective operations (`SUIRO_COLL_RULES`), in jobs.

use std::fs;
use std::path::Path;

use super::harness::{HERE, Outcome, compile, compiled, folder, mpirun, root, run, start};

/// A file with a rule for each pair of an operation, with a range of bytes or none, and an algorithm.
fn rules(file: &Path, all: &[(&str, &str, &str)]) -> String {
    let rule = |(operation, bytes, algorithm): &(&str, &str, &str)| {
        let bytes = if bytes.is_empty() { String::new() } else { format!("bytes = {bytes}\n") };
        format!("[[rule]]\noperation = \"{operation}\"\n{bytes}algorithm = \"{algorithm}\"\n")
    };
    fs::write(file, all.iter().map(rule).collect::<String>()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Runs a program on 4 ranks with rules and other settings.
fn job(program: &str, words: &[&str], file: &str, settings: &[(&str, &str)]) -> Outcome {
    let mut command = mpirun(&[&["-n", "4", program], words].concat());
    command.env("SUIRO_COLL_RULES", file).envs(settings.iter().copied());
    start(command).wait()
}

#[test]
fn a_rule_selects_the_algorithm_of_a_call_and_a_setting_beats_it() {
    let folder = folder("rules-select");
    let (program, log) = (compiled("allreduce"), ("SUIRO_LOG", "debug"));
    let all = [("allreduce", "{ to = 7 }", "doubling"), ("allreduce", "8", "linear")];
    let file = rules(&folder.join("r.toml"), &all);
    let outcome = job(&program, &["10"], &file, &[log]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let words = format!("ALLREDUCE by linear, for the rule {file}:5");
    assert!(outcome.stderr.contains(&words), "{}", outcome.stderr);

    let outcome = job(&program, &["10"], &file, &[log, ("SUIRO_COLL_ALLREDUCE", "doubling")]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("for the rule"), "{}", outcome.stderr);

    let outcome = job(&program, &["10"], &file, &[("SUIRO_EXPLAIN", "1")]);
    let words = format!("; SUIRO_COLL_RULES={file}");
    assert!(outcome.stderr.contains(&words), "{}", outcome.stderr);

    let file = rules(&folder.join("unfit.toml"), &[("allreduce", "", "ring")]);
    let outcome = job(&program, &["10"], &file, &[("SUIRO_LOG", "warn")]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let words = format!("SUIRO_COLL_ALLREDUCE=ring of {file}:1 does not fit a call");
    assert!(outcome.stderr.contains(&words), "{}", outcome.stderr);
}

#[test]
fn a_rule_knows_how_many_ranks_are_on_a_host() {
    let file = folder("rules-hosts").join("r.toml");
    let rule = |ranks: u32, algorithm: &str| {
        format!(
            "[[rule]]\noperation = \"allreduce\"\nranks_per_host = {ranks}\nalgorithm = \"{algorithm}\"\n"
        )
    };
    fs::write(&file, rule(4, "linear") + &rule(2, "two_level")).unwrap();
    let hosts = ["-launcher-exec", HERE, "-host", "198.51.100.1:2,198.51.100.2:2"];
    let mut command = mpirun(&[&hosts[..], &[&compiled("allreduce"), "10"]].concat());
    command.env("SUIRO_COLL_RULES", &file).env("SUIRO_LOG", "debug");
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let words = format!("ALLREDUCE by two_level, for the rule {}:5", file.display());
    assert!(outcome.stderr.contains(&words), "{}", outcome.stderr);
}

#[test]
fn ranks_with_unlike_rules_are_told_and_names_of_files_do_not_matter() {
    let folder = folder("rules-unlike");
    let (program, program_words) = (&compiled("allreduce")[..], "10");
    let linear = [("allreduce", "", "linear")];
    let one = rules(&folder.join("one.toml"), &linear);
    let same = rules(&folder.join("same.toml"), &linear);
    let other = rules(&folder.join("other.toml"), &[("allreduce", "", "doubling")]);
    let part = |file| ["-n", "1", "-env", "SUIRO_COLL_RULES", file, program, program_words];
    let outcome = run(&[&part(&one)[..], &[":"], &part(&same)].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let outcome = run(&[&part(&one)[..], &[":"], &part(&other)].concat());
    assert_ne!(outcome.code, Some(0));
    let words = "SUIRO_COLL_RULES is a file with the digest ";
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("it must be the same in all ranks"), "{}", outcome.stderr);
    let outcome = run(&[&part(&one)[..], &[":", "-n", "1", program, program_words]].concat());
    assert_ne!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("not set in rank 1") || outcome.stderr.contains("is not set"));
}

#[test]
fn a_bad_file_ends_the_initialization_with_its_line() {
    let folder = folder("rules-bad");
    let program = compiled("allreduce");
    let file = rules(&folder.join("r.toml"), &[("allreduce", "", "rign")]);
    let missing = folder.join("missing.toml").to_str().unwrap().to_owned();
    for (file, words) in [
        (
            &file,
            format!(
                "SUIRO_COLL_RULES: {file}:3: algorithm = \"rign\" is not one of auto|shared|doubling|"
            ),
        ),
        (&missing, format!("SUIRO_COLL_RULES: cannot read {missing}: No such file")),
    ] {
        let outcome = job(&program, &["10"], file, &[]);
        assert_ne!(outcome.code, Some(0));
        assert!(outcome.stderr.contains(&words), "{}", outcome.stderr);
    }
}

#[test]
fn results_are_right_when_algorithms_change_with_the_bytes() {
    let folder = folder("rules-mixed");
    let ways = ["{ to = 16 }", "{ from = 17, to = 4096 }", ""];
    let choices = [
        ("barrier", ["tree"; 3]),
        ("bcast", ["chain", "shared", "scatter_ring"]),
        ("gather", ["binomial", "shared", "linear"]),
        ("scatter", ["binomial", "shared", "linear"]),
        ("allgather", ["ring", "shared", "bruck"]),
        ("allgatherv", ["ring", "shared", "linear"]),
        ("alltoall", ["bruck", "shared", "spread"]),
        ("reduce", ["in_order", "shared", "chain"]),
        ("allreduce", ["linear", "shared", "doubling"]),
        ("reduce_scatter", ["linear", "shared", "in_order"]),
        ("scan", ["chain", "shared", "linear"]),
        ("exscan", ["linear", "shared", "chain"]),
    ];
    let all: Vec<_> = choices
        .iter()
        .flat_map(|(operation, names)| {
            let ways = if *operation == "barrier" { [""; 3] } else { ways };
            ways.into_iter().zip(names).map(move |(bytes, name)| (*operation, bytes, *name))
        })
        .collect();
    let file = rules(&folder.join("r.toml"), &all);
    for name in ["coll_mixed", "coll_random", "coll_persistent", "coll_nonblocking", "coll_inter"] {
        let program = compile(&root().join(format!("c-tests/{name}.c")), &["-std=gnu11", "-O1"]);
        let outcome = job(program.to_str().unwrap(), &[], &file, &[]);
        assert_eq!(outcome.code, Some(0), "{name}: {}", outcome.stderr);
    }
}
