//! `suiro-tune` from outside: short measurements, and how they end.

#[path = "../../../tests/harness/mod.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod harness;

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::{HERE, Outcome, built, folder, marked, mpirun, ranks, start, until};
use mpi_abi::mpi::collective::selection::rules::SelectionRules;

fn tune(words: &[&str]) -> Command {
    let mut command = marked(&built("suiro-tune"));
    command.args(words);
    command
}

fn run(words: &[&str]) -> Outcome {
    start(tune(words)).wait()
}

#[test]
fn a_short_measurement_writes_rules_that_jobs_accept() {
    let file = folder("tune-short").join("rules.toml");
    let name = file.to_str().unwrap();
    let outcome = run(&[
        "-n",
        "2,4",
        "--operations",
        "barrier,bcast,allreduce,exscan",
        "--bytes",
        "8,4096",
        "--rounds",
        "3",
        "--margin",
        "0",
        "--time",
        "6",
        "-o",
        name,
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.text().starts_with(&format!("{name}: ")), "{}", outcome.text());
    assert!(!Path::new(&format!("{name}.trial")).exists());
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("# Jobs: mpirun -n 2; mpirun -n 4.\n"), "{text}");
    let rules = SelectionRules::parse(name, &text).unwrap();
    assert!(outcome.text().contains(&format!(": {} rules", rules.count())), "{}", outcome.text());
    assert!(outcome.text().ends_with(" of 14 calls.\n"), "{}", outcome.text());

    let calls = ["measure", "0.001", "barrier:0", "bcast:8", "allreduce:4096"];
    let program = built("suiro-tune");
    let mut job = mpirun(&[&["-n", "4", &program], &calls[..]].concat());
    job.env("SUIRO_COLL_RULES", name);
    let outcome = start(job).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.text().starts_with("suiro-tune layout 4 4\n"), "{}", outcome.text());
    assert_eq!(outcome.text().matches("suiro-tune time ").count(), 3);
}

#[test]
fn every_operation_is_measured() {
    let program = built("suiro-tune");
    let call = |operation| suiro_tune::plan::TunedCall { operation, bytes: 64 }.to_string();
    let calls: Vec<String> = suiro_tune::plan::operations().into_iter().map(call).collect();
    let mut words = vec!["-n", "3", &program, "measure", "0.0005"];
    words.extend(calls.iter().map(String::as_str));
    let outcome = start(mpirun(&words)).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for call in &calls {
        assert!(outcome.text().contains(&format!("suiro-tune time {call} ")), "{call}");
    }
}

#[test]
fn ranks_of_several_hosts_are_counted() {
    let program = built("suiro-tune");
    let hosts = ["-launcher-exec", HERE, "-host", "198.51.100.1:2,198.51.100.2:1"];
    let words = [&hosts[..], &[&program, "measure", "0.0005", "bcast:8"]].concat();
    let outcome = start(mpirun(&words)).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.text().starts_with("suiro-tune layout 3 2\n"), "{}", outcome.text());
}

#[test]
fn a_dry_run_starts_nothing_and_shows_the_jobs() {
    let outcome = run(&[
        "--dry-run",
        "-n",
        "4",
        "--operations",
        "bcast,barrier",
        "--bytes",
        "64,8",
        "--",
        "--host",
        "here:4",
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let text = outcome.text();
    assert!(text.contains("jobs: mpirun --host here:4 -n 4\n  3 calls: default\n"), "{text}");
    assert!(
        text.contains("SUIRO_COLL_BARRIER=dissemination SUIRO_COLL_BCAST=binomial\n"),
        "{text}"
    );
}

#[test]
fn a_signal_ends_the_job_and_leaves_nothing() {
    let file = folder("tune-signal").join("rules.toml");
    let running = start(tune(&["-n", "2", "--time", "600", "-o", file.to_str().unwrap()]));
    until(|| (ranks(&running).len() == 2).then_some(()));
    running.signal("TERM");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(128 + 15), "{}", outcome.stderr);
    assert!(!file.exists());
    // Killed, it takes the job along.
    let running = start(tune(&["-n", "2", "--time", "600", "-o", file.to_str().unwrap()]));
    until(|| (ranks(&running).len() == 2).then_some(()));
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for (words, why) in [
        (&["--operations", "gatherv"][..], "expected one of barrier|bcast|"),
        (&["--bytes", "12"], "expected a multiple of 8"),
        (&["-n", "1"], "1 is not in 2.."),
    ] {
        let outcome = run(words);
        assert_eq!(outcome.code, Some(2), "{words:?}");
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    }
    let file = folder("tune-options").join("rules.toml");
    let outcome = run(&["-n", "2", "-o", file.to_str().unwrap(), "--", "--no-such-option"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("no-such-option"), "{}", outcome.stderr);
    let outcome = run(&["-n", "2", "-o", "/nowhere/rules.toml"]);
    assert_eq!(outcome.code, Some(1));
    let why = "suiro-tune: cannot write /nowhere/rules.toml.trial: ";
    assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
}
