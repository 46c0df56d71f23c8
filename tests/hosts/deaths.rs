//! Ranks and hosts that die while ranks exchange messages: the job ends with an error, and nothing
//! stays behind.

use super::cluster::Hosts;
use super::links::Exchange;
use crate::harness;

/// Whether an error names a rank and its host.
fn names(errors: &str, rank: u32, host: &str) -> bool {
    errors.lines().any(|line| line.contains(&format!("rank {rank}")) && line.contains(host))
}

fn no_files(hosts: &Hosts, host: &str) {
    assert_eq!(hosts.files(host), <[String; 0]>::default(), "files left on {host}");
}

/// The launcher ends the job.
#[test]
fn rank_killed() {
    let Some(hosts) = Hosts::up(2) else { return };
    let job = Exchange::start(&hosts, "rank-killed", 2, &[]).running;
    harness::signal_process(harness::ranks(&job)[&3], "KILL");
    let outcome = job.wait();
    // The launcher's code is the signal, or says that a part of it ended early.
    assert!([Some(9), Some(255)].contains(&outcome.code), "{:?}\n{}", outcome.code, outcome.stderr);
    no_files(&hosts, "node1");
    no_files(&hosts, "node2");
}

/// The launcher leaves it to the ranks to notice.
#[test]
fn rank_killed_without_help() {
    let Some(hosts) = Hosts::up(2) else { return };
    // This launcher sends a signal instead, for which the ranks are not prepared.
    let options = ["-disable-auto-cleanup", "sh", "-c", "trap '' USR1; exec \"$0\" \"$@\""];
    let job = Exchange::start(&hosts, "rank-killed-alone", 1, &options).running;
    harness::signal_process(harness::ranks(&job)[&1], "KILL");
    let outcome = job.wait();
    assert_ne!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(names(&outcome.stderr, 1, "node2"), "{}", outcome.stderr);
    no_files(&hosts, "node1");
    no_files(&hosts, "node2");
}

/// Where errors return, each call that needs the dead rank returns one, and the job may go on.
#[test]
fn errors_return_from_calls_that_need_a_dead_rank() {
    let Some(hosts) = Hosts::up(2) else { return };
    let program = harness::compiled("peer_dies");
    let options = ["-disable-auto-cleanup", "sh", "-c", "trap '' USR1; exec \"$0\" \"$@\""];
    let words = [&options[..], &[&program]].concat();
    let outcome = harness::start(hosts.mpiexec(2, 1, &words)).wait();
    let calls = [
        "receive",
        "one of all",
        "any source",
        "test",
        "send",
        "partitioned receive",
        "its next start",
        "partitioned send",
        "barrier",
    ];
    let why = "MPIX_ERR_PROC_FAILED: a process that takes part has failed";
    let said = calls.map(|call| format!("{call}: {why}\n")).concat();
    // The launcher says more.
    assert!(outcome.text().starts_with(&said), "{}{}", outcome.text(), outcome.stderr);
}

/// Without help of the launcher, no rank waits for ever for one that died in one-sided communication: an
/// error says so, or the deadlock detector.
#[test]
fn rank_dies_in_one_sided_communication() {
    let Some(hosts) = Hosts::up(2) else { return };
    let program = harness::compiled("rma_dies");
    // The launcher sees the end of the shell only.
    let options = ["-genv", "SUIRO_DEADLOCK", "abort", "-disable-auto-cleanup", "sh", "-c"];
    let script = "trap '' USR1; \"$0\" \"$@\"";
    for (count, ranks) in [(1, 3), (2, 2)] {
        for window in ["allocated", "created"] {
            let kinds = ["shared", "exclusive", "all", "fence", "pscw", "accumulate", "served"];
            let jobs = kinds.map(|kind| {
                let words = [&options[..], &[script, &program, kind, window]].concat();
                (kind, harness::start(hosts.mpiexec(count, ranks, &words)))
            });
            for (kind, job) in jobs {
                let outcome = job.wait();
                let said = (outcome.code, outcome.text(), &outcome.stderr);
                assert_ne!(outcome.code, Some(0), "{count} hosts, {window}, {kind}: {said:?}");
                let has_succeeded = outcome.text().contains("success");
                assert!(!has_succeeded, "{count} hosts, {window}, {kind}: {said:?}");
            }
        }
    }
}

/// The kernel of the other host still closes its connections.
#[test]
fn host_stopped() {
    let Some(hosts) = Hosts::up(2) else { return };
    let job = Exchange::start(&hosts, "host-stopped", 2, &[]).running;
    hosts.run(&["kill", "--fin", "node2"]);
    let outcome = job.wait();
    assert_ne!(outcome.code, Some(0), "{}", outcome.stderr);
    no_files(&hosts, "node1");
}

/// The other host is silent from one moment to the next, as without power.
#[test]
fn host_without_power() {
    let Some(hosts) = Hosts::up(2) else { return };
    let options = ["-genv", "SUIRO_TCP_TIMEOUT", "4s"];
    let job = Exchange::start(&hosts, "host-without-power", 2, &options).running;
    hosts.run(&["kill", "node2"]);
    // The launcher waits for the silent host forever, so only the ranks end.
    job.until_errors(|text| (2..4).any(|rank| names(text, rank, "node2")).then_some(()));
    harness::until(|| harness::ranks(&job).is_empty().then_some(()));
    no_files(&hosts, "node1");
}
