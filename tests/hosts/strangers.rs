//! Connections to the port of a job from processes that do not belong to it: the port closes all of
//! them, and the job goes on.

use std::fs;

use super::cluster::{self, Hosts};
use super::links::Exchange;
use super::sockets;
use crate::harness::{self, Running, root};

/// Connections that a rank may have open before they have proven to belong to the job.
const UNPROVEN: usize = 64;

/// Resident memory of a process, in kibibytes.
fn memory_kib(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// The port at which a rank accepts connections.
fn port(pid: u32) -> u16 {
    let sockets = sockets::of_process(pid);
    // A rank inherits that of the launcher.
    let inherited = sockets::of_process(harness::parent(pid).unwrap());
    let is_own = |socket: &&sockets::Socket| {
        socket.is_listening && inherited.iter().all(|other| other.inode != socket.inode)
    };
    let listening = sockets.iter().find(is_own);
    listening.unwrap_or_else(|| panic!("no port: {sockets:?}")).local.1
}

/// The script of this folder on a host.
fn stranger(hosts: &Hosts, host: &str, words: &[&str]) -> Running {
    let script = root().join("tests/hosts/stranger.py");
    hosts.start(host, &[&["python3", script.to_str().unwrap()], words].concat())
}

#[test]
fn strangers_at_every_port() {
    let Some(hosts) = Hosts::up(2) else { return };
    let folder = harness::folder("strangers");
    let record = folder.join("record").to_str().unwrap().to_owned();
    let recorder = stranger(&hosts, "node1", &["record", &record, "eth0"]);
    recorder.until_output(|text| text.contains("ready\n").then_some(()));
    let exchange = Exchange::start(&hosts, "strangers-job", 1, &[]);
    recorder.signal("TERM");
    assert_eq!(recorder.wait().code, Some(0));

    let mut replayed = 0;
    for (rank, pid) in harness::ranks(&exchange.running) {
        let host = format!("node{}", rank + 1);
        let (descriptors, memory) = (sockets::descriptors(pid), memory_kib(pid));
        let words = ["visit", &record, &host, &port(pid).to_string()];
        let visitor = stranger(&hosts, "node2", &words);
        let (mut descriptors_most, mut memory_most) = (0, 0);
        harness::until(|| {
            descriptors_most = descriptors_most.max(sockets::descriptors(pid));
            memory_most = memory_most.max(memory_kib(pid));
            cluster::has_ended(&visitor).then_some(())
        });
        let outcome = visitor.wait();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        for line in outcome.text().lines() {
            let words: Vec<_> = line.split(' ').collect();
            assert_eq!(words[1], words[2], "rank {rank} closed fewer than it met:\n{line}");
            replayed += if words[0] == "replay" { words[1].parse().unwrap() } else { 0 };
        }
        assert!(
            descriptors_most <= descriptors + UNPROVEN,
            "rank {rank}: {descriptors_most} descriptors, {descriptors} before"
        );
        assert!(
            memory_most <= memory + 16 * 1024,
            "rank {rank}: {memory_most} KiB, {memory} KiB before"
        );
    }
    assert!(replayed > 0, "no connection was recorded");
    // However many strangers there were.
    let said = exchange.finish();
    let lines = said.lines().filter(|line| line.contains("did not prove the secret of this port"));
    assert_eq!(lines.count(), 2, "{said}");
}
