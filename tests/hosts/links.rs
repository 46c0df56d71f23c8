//! Links and connections that fail in the middle of transfers: every byte arrives exactly once.

use std::fs::File;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::cluster::{self, Hosts};
use super::sockets;
use crate::harness::{self, Running};

/// A job that exchanges messages in both directions until it is told to end.
pub struct Exchange {
    pub running: Running,
    end: PathBuf,
}

impl Exchange {
    /// Starts the job with so many ranks on each of two hosts; its first messages have arrived.
    /// `options` are more options of `mpiexec`.
    pub fn start(hosts: &Hosts, name: &str, ranks: u32, options: &[&str]) -> Self {
        let end = harness::folder(name).join("end");
        let program = harness::compiled("patterns");
        let words = [options, &[&program, end.to_str().unwrap()]].concat();
        let running = harness::start(hosts.mpiexec(2, ranks, &words));
        let begun = running.until_output(|text| {
            let begun = text.contains("under way\n");
            (begun || cluster::has_ended(&running)).then_some(begun)
        });
        if !begun {
            panic!("the job has ended: {:?}", running.wait());
        }
        Self { running, end }
    }

    /// Ends the job, in which no message was wrong; what it has said on standard error.
    pub fn finish(self) -> String {
        File::create(&self.end).unwrap();
        let outcome = self.running.wait();
        let good = outcome.code == Some(0) && outcome.text() == "under way\nwrong = 0\n";
        assert!(good, "{:?}\n{}{}", outcome.code, outcome.text(), outcome.stderr);
        outcome.stderr
    }
}

#[test]
fn link_cut_for_three_seconds() {
    let Some(hosts) = Hosts::up(2) else { return };
    let exchange = Exchange::start(&hosts, "link-cut", 1, &[]);
    hosts.run(&["cut", "node1", "node2"]);
    thread::sleep(Duration::from_secs(3));
    hosts.run(&["heal"]);
    thread::sleep(Duration::from_millis(500));
    exchange.finish();
}

/// The connections of ranks are closed by force, some of them in the middle of a message.
#[test]
fn connections_closed_by_force() {
    const TIMES: usize = 5;
    let Some(hosts) = Hosts::up(2) else { return };
    let exchange = Exchange::start(&hosts, "closed-by-force", 1, &[]);
    let first = harness::ranks(&exchange.running)[&0];
    let mut closed = 0;
    for _ in 0..TIMES {
        // Those of the launcher, which the rank inherits, listen.
        for socket in sockets::of_process(first).iter().filter(|socket| !socket.is_listening) {
            let port = |(_, port): (_, u16)| format!("= :{port}");
            let words = ["exec", "node1", "ss", "--kill", "--no-header", "--tcp"];
            let filter = ["sport", &port(socket.local), "dport", &port(socket.remote)];
            let output = hosts.run(&[&words[..], &filter[..]].concat());
            closed += usize::from(!output.stdout.is_empty());
        }
        thread::sleep(Duration::from_millis(200));
    }
    exchange.finish();
    if closed == 0 {
        println!("skipped: this kernel closes no connections by force (CONFIG_INET_DIAG_DESTROY)");
    }
}

/// Programs of threads end with an error when the link is cut for longer than the limit, at both ends.
#[test]
fn link_cut_under_a_program() {
    let Some(hosts) = Hosts::up(2) else { return };
    let program = harness::compiled("program_cut");
    let mut command = hosts.mpirun(2, 1, &[&program]);
    command.env("SUIRO_OFFLOAD", "tank").env("SUIRO_TCP_TIMEOUT", "2s");
    // The launcher would end the job before.
    command.env("SUIRO_HOST_TIMEOUT", "60s");
    let running = harness::start(command);
    let begun = running.until_output(|text| {
        let begun = text.contains("under way\n");
        (begun || cluster::has_ended(&running)).then_some(begun)
    });
    assert!(begun, "{:?}", running.wait());
    hosts.run(&["cut", "node1", "node2"]);
    let why = "MPIX_ERR_PROC_FAILED: a process that takes part has failed";
    let said = |rank: u32| format!("rank {rank}: {why}\n");
    running.until_output(|text| {
        (text.contains(&said(0)) || cluster::has_ended(&running)).then_some(())
    });
    hosts.run(&["heal"]);
    let outcome = running.wait();
    assert!(outcome.text().contains(&said(0)), "{}{}", outcome.text(), outcome.stderr);
}
