//! Jobs that `mpirun` of this library starts over hosts: programs run, and a rank, a host or the host
//! of `mpirun` that dies ends the job everywhere.

use super::cluster::Hosts;
use crate::harness::{self, Running, compiled};

/// Ranks that exchange messages without end, two on each of two hosts, once all run.
fn busy(hosts: &Hosts) -> Running {
    let running = harness::start(hosts.mpirun(2, 2, &[&compiled("ring")]));
    harness::until(|| (harness::ranks(&running).len() == 4).then_some(()));
    running
}

#[test]
fn own_launcher_runs_programs() {
    let Some(hosts) = Hosts::up(2) else { return };
    let outcome = harness::start(hosts.mpirun(2, 2, &["-l", &compiled("allreduce"), "10"])).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let name = harness::start(hosts.mpirun(2, 1, &["-l", "hostname"])).wait();
    assert_eq!(name.lines(), ["[0] node1", "[1] node2"], "{}", name.stderr);
}

#[test]
fn own_launcher_names_a_killed_rank() {
    let Some(hosts) = Hosts::up(2) else { return };
    let job = busy(&hosts);
    harness::signal_process(harness::ranks(&job)[&3], "KILL");
    let outcome = job.wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    let line = outcome.stderr.lines().find(|line| line.contains("mpirun: rank 3 (process "));
    let line = line.unwrap_or_else(|| panic!("{}", outcome.stderr));
    assert!(line.contains(" on node2) was killed by signal 9 (SIGKILL)"), "{line}");
    assert_eq!(hosts.files("node1"), <[String; 0]>::default());
    assert_eq!(hosts.files("node2"), <[String; 0]>::default());
}

#[test]
fn own_launcher_names_a_host_that_dies() {
    let Some(hosts) = Hosts::up(2) else { return };
    let job = busy(&hosts);
    hosts.run(&["kill", "--fin", "node2"]);
    let outcome = job.wait();
    // A rank may notice it before the launcher.
    assert_ne!(outcome.code, Some(0), "{}", outcome.stderr);
    let is_named = |line: &str| line.starts_with("mpirun: ") && line.contains("node2");
    assert!(outcome.stderr.lines().any(is_named), "{}", outcome.stderr);
    assert_eq!(hosts.files("node1"), <[String; 0]>::default());
}

#[test]
fn own_launcher_leaves_nothing_when_its_host_dies() {
    let Some(hosts) = Hosts::up(2) else { return };
    let job = busy(&hosts);
    hosts.run(&["kill", "--fin", "node1"]);
    // All ranks have ended, those of the other host too.
    assert_ne!(job.wait().code, Some(0));
    assert_eq!(hosts.files("node2"), <[String; 0]>::default());
}

#[test]
fn own_launcher_names_the_host_that_lacks_the_program() {
    let Some(hosts) = Hosts::up(2) else { return };
    hosts.run(&["exec", "node1", "cp", "/bin/sleep", "/tmp/program"]);
    let outcome = harness::start(hosts.mpirun(2, 2, &["/tmp/program", "300"])).wait();
    let line = "mpirun: cannot start /tmp/program: program not found on host node2";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    assert_eq!(outcome.code, Some(127));
}

#[test]
fn own_launcher_names_a_host_that_is_cut_off() {
    let Some(hosts) = Hosts::up(2) else { return };
    let job = busy(&hosts);
    hosts.run(&["cut", "node2"]);
    job.until_errors(|text| {
        text.contains("mpirun: lost host node2 with ranks 2-3: ").then_some(())
    });
    // The agent there ends its ranks by itself later, or at once when its connection ends.
    hosts.run(&["kill", "--fin", "node2"]);
    assert_eq!(job.wait().code, Some(137));
    assert_eq!(hosts.files("node1"), <[String; 0]>::default());
}
