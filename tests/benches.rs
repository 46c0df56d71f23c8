//! `scripts/bench-peers` in its shortest form: `benches/peers.c` and the other programs run and
//! find the expected data, every line of their output is parsed, and tables are made from the
//! results. Times are not checked.

// The tests of the launcher use more of the shared harness.
#[allow(dead_code)]
#[path = "harness/mod.rs"]
mod harness;

use std::path::Path;

/// Runs the script with the debug build; its output, if it succeeded.
fn bench_peers(words: &[&str]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/bench-peers");
    let mpirun = harness::built("mpirun");
    let built = Path::new(&mpirun).parent().unwrap();
    let mut command = harness::marked(script);
    command.args(["--smoke", "--suiro", built.to_str().unwrap()]).args(words);
    let outcome = harness::start(command).wait();
    assert_eq!(outcome.code, Some(0), "{words:?}:\n{}{}", outcome.text(), outcome.stderr);
    outcome.text().to_string()
}

#[test]
fn every_test_has_a_figure() {
    let folder = harness::folder("bench-peers");
    let shown = bench_peers(&["--out", folder.to_str().unwrap()]);
    for test in [
        "init-finalize",
        "latency",
        "bidirectional",
        "ring",
        "pairs",
        "alltoallw",
        "iallreduce",
        "blocked_receive",
        "compare_and_swap",
        "rate-2",
        "spawn",
        "connect",
        "connect_jobs",
        "jobs_latency",
        "agree",
        "create",
        "alltoall",
    ] {
        let has_figure = |line: &str| {
            let mut words = line.split_whitespace();
            let named = words.next() == Some(test);
            let figure = words
                .skip_while(|word| !["us", "ms", "MB/s", "Mmsg/s", "%", "MiB"].contains(word))
                .nth(1);
            named && figure.is_some_and(|word| word.replace(',', "").parse::<f64>().is_ok())
        };
        assert!(shown.lines().any(has_figure), "no figure for {test}:\n{shown}");
    }
    let file = folder.join("bench-peers.json");
    let table = bench_peers(&["--report", file.to_str().unwrap(), "--markdown"]);
    assert!(table.contains("\n| latency, 8 B, 2 ranks | "), "{table}");
}
