//! Jobs that `mpirun` of this library starts over hosts: programs run, and a rank, a host or the host
//! of `mpirun` that dies ends the job everywhere.

use std::path::Path;

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

/// Ranks that exchange messages without end on three hosts, of which the second starts the agent of the
/// third, once all run.
fn busy_chain(hosts: &Hosts) -> Running {
    let mut command = hosts.mpirun(3, 1, &[&compiled("ring")]);
    command.env("SUIRO_START_FAN_OUT", "1").env("SUIRO_HOST_TIMEOUT", "1s");
    let running = harness::start(command);
    harness::until(|| (harness::ranks(&running).len() == 3).then_some(()));
    running
}

#[test]
fn a_host_that_dies_takes_those_behind_it_along() {
    let Some(hosts) = Hosts::up(3) else { return };
    // Silently, as by a loss of power: the last host notices that itself.
    let job = busy_chain(&hosts);
    hosts.run(&["kill", "node2"]);
    let outcome = job.wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    let line = "mpirun: lost host node2 with rank 1 and, behind it, 1 host with rank 2: it has been silent";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    assert_eq!(hosts.files("node3"), <[String; 0]>::default());
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

/// Makes a shell that prints at its start the login shell of root on a host, with a home of its own.
const LOGIN_SHELL: &str = r#"
mkdir -p /run/home/.config/fish
for file in .bashrc .cshrc .config/fish/config.fish; do echo 'echo Welcome' >/run/home/$file; done
umount /etc/passwd 2>/dev/null || :
sed "s|^\(root:.*:\)[^:]*:[^:]*$|\1/run/home:$1|" /etc/passwd >/run/passwd
mount --bind /run/passwd /etc/passwd"#;

#[test]
fn own_launcher_starts_agents_by_real_ssh_and_any_login_shell() {
    let Some(hosts) = Hosts::up(2) else { return };
    if !hosts.sshd() {
        return;
    }
    // Settings of a user that are for work in a terminal.
    let settings = "printf 'RequestTTY force\\nLocalForward 8080 127.0.0.1:22\\n\
        ExitOnForwardFailure yes\\n' | cat - /etc/ssh/ssh_config >/run/config";
    hosts.run(&["exec", "node1", "sh", "-ec", settings]);
    for shell in ["/bin/bash", "/bin/csh", "/usr/bin/fish"] {
        if !Path::new(shell).exists() {
            continue;
        }
        hosts.run(&["exec", "node2", "sh", "-ec", LOGIN_SHELL, "sh", shell]);
        let options = ["-launcher-args", "-F /run/config", "-host", "node1,node2"];
        let words = ["sh", "-c", "echo $PMI_RANK `hostname` $HOME; cat"];
        let words = [&options[..], &words].concat();
        let outcome = harness::feed(hosts.mpirun_by_ssh(&words), b"input\n");
        let home = std::env::var("HOME").unwrap();
        let mut lines = outcome.lines();
        lines.sort();
        let first = format!("0 node1 {home}");
        assert_eq!(lines, [&first, "1 node2 /run/home", "input"], "{shell}: {}", outcome.stderr);
    }
    // Names of one machine are one host, whose ranks share memory.
    let words = ["-host", "node2:1,10.77.0.2:1", &compiled("allreduce"), "10"];
    let outcome = harness::start(hosts.mpirun_by_ssh(&words)).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("10.77.0.2 is the same machine as node2"),
        "{}",
        outcome.stderr
    );
    // Without the settings of ssh, node2 is unknown, and ssh would ask.
    let words = ["-launcher-args", "-F /dev/null", "-host", "node1,node2", "true"];
    let outcome = harness::start(hosts.mpirun_by_ssh(&words)).wait();
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("node2: Host key verification failed."), "{}", outcome.stderr);
    let line = "mpirun: cannot start mpirun's agent on host node2: ";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}
