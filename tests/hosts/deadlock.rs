//! Deadlocks over two hosts are reported, and nothing else is.

use std::process::Command;

use super::cluster::Hosts;
use crate::harness;

const VERDICT: &str = "no rank can go on: all of them wait for each other\n";

/// Programs with the number of ranks on each host, and texts in the order of the report.
const DEADLOCKS: &[(&str, u32, &[&str])] = &[
    (
        "receive",
        1,
        &[
            "  rank 0 on node1: MPI_Recv(source 1, tag 7, up to 4 bytes, MPI_COMM_WORLD) for ",
            "  rank 1 on node2: MPI_Recv(source 0, tag 7, up to 4 bytes, MPI_COMM_WORLD) for ",
            "  deadlock: rank 0 in MPI_Recv(source 1, ",
            " <- rank 1 in MPI_Recv(source 0, ",
        ],
    ),
    ("send", 1, &["  rank 0 on node1: MPI_Send(dest 1, ", "  deadlock: rank 0 in"]),
    (
        "barrier",
        2,
        &["  rank 0 on node1: MPI_Barrier(", "ranks 1 on node1, 2,3 on node2: MPI_Recv(source 0"],
    ),
    ("wildcard", 2, &["  ranks 0,1 on node1, 2,3 on node2: MPI_Recv(any source, "]),
];

/// A job on so many hosts, with so many ranks on each.
type Launcher = fn(&Hosts, u32, u32, &[&str]) -> Command;

const SLOW: &[(&str, u32)] = &[("compute", 1), ("sleep", 2), ("flood", 1), ("test-loop", 1)];

#[test]
fn two_hosts() {
    let Some(hosts) = Hosts::up(2) else { return };
    let program = harness::compiled("deadlock");
    // The two launchers keep the status of ranks in different tables.
    let launchers: [Launcher; 2] = [Hosts::mpiexec, Hosts::mpirun];
    let start = |launcher: Launcher, what: &str, ranks: u32| {
        let words = ["-genv", "SUIRO_DEADLOCK", "abort", &program, what];
        harness::start(launcher(&hosts, 2, ranks, &words))
    };
    let mut deadlocks = Vec::new();
    for launcher in launchers {
        let jobs = DEADLOCKS.iter();
        deadlocks.extend(jobs.map(|job| (job, start(launcher, job.0, job.1))));
    }
    let slow: Vec<_> =
        SLOW.iter().map(|(what, ranks)| start(Hosts::mpiexec, what, *ranks)).collect();
    for ((what, _, wanted), running) in deadlocks {
        let outcome = running.wait();
        let text = &outcome.stderr;
        assert_eq!((outcome.code, text.matches(VERDICT).count()), (Some(35), 1), "{what}\n{text}");
        let mut rest = &**text;
        for words in *wanted {
            let at = rest.find(words).unwrap_or_else(|| panic!("{what}: no {words:?} in\n{text}"));
            rest = &rest[at + words.len()..];
        }
    }
    for ((what, _), running) in SLOW.iter().zip(slow) {
        let outcome = running.wait();
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{what}");
    }
}
