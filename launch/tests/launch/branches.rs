//! Agents that start other agents: seven hosts that are this machine, where each process starts agents
//! on two at most.
//!
//! ```text
//!   mpirun ─┬─ 1 ─┬─ 2
//!           │     └─ 3
//!           └─ 4 ─┬─ 5
//!                 └─ 6 ─── 7        rank r is on host 198.51.100.(r + 1)
//! ```

use std::fs;
use std::path::Path;
use std::process::Command;

use super::harness::{
    Outcome, Running, compiled, feed, folder, mpirun, parent, ranks, run, signal_process, start,
    until,
};
use super::starters::script;

/// Runs the agent of the host in the first argument here; the agent has the host in its environment, and
/// passes that to the commands of its branch.
const STARTER: &str = "echo \"$1 from ${TEST_HOST-mpirun}\" >>STARTED\n\
    TEST_HOST=$1; export TEST_HOST\n";

const WAIT: &str = "echo here; exec sleep 300";
const WAIT_FOR_KILL: &str = "trap '' TERM; echo here; while :; do sleep 300; done";

fn host(number: u32) -> String {
    format!("198.51.100.{number}")
}

/// `mpirun words` on seven hosts, with a starter that does `text` before it starts an agent.
fn seven_hosts(folder: &Path, text: &str, words: &[&str]) -> Command {
    script(folder, "starter", &format!("{STARTER}{text}\neval \"$2\"\n"));
    let starter = folder.join("starter").into_os_string().into_string().unwrap();
    let hosts = (1..=7).map(host).collect::<Vec<_>>().join(",");
    let mut command = mpirun(&[&["-launcher-exec", &starter, "-host", &hosts], words].concat());
    command.env("SUIRO_START_FAN_OUT", "2");
    command
}

fn run_on_seven(name: &str, words: &[&str]) -> Outcome {
    start(seven_hosts(&folder(name), "", words)).wait()
}

/// A rank of each host in `script`, once all run.
fn waiting(name: &str, script: &str, limit: &str) -> Running {
    let mut command = seven_hosts(&folder(name), "", &["sh", "-c", script]);
    command.env("SUIRO_HOST_TIMEOUT", limit);
    let running = start(command);
    running.until_output(|text| (text.matches("here").count() == 7).then_some(()));
    running
}

/// The supervisor and the agent of a host.
fn agent_of(running: &Running, number: u32) -> [u32; 2] {
    let host = format!("\0TEST_HOST={}\0", host(number)).into_bytes();
    let is_agent = |pid: &u32| {
        let read = |file| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let environment = [&[0], &*read("environ")].concat();
        read("cmdline").ends_with(b"mpirun\0--agent\0")
            && environment.windows(host.len()).any(|window| window == host)
    };
    until(|| {
        let all: Vec<_> = running.processes().into_iter().filter(is_agent).collect();
        let agent = all.iter().find(|pid| parent(**pid).is_some_and(|one| all.contains(&one)))?;
        Some([parent(*agent)?, *agent])
    })
}

#[test]
fn each_agent_starts_the_first_hosts_of_its_branch() {
    let folder = folder("launch-branches");
    let script = "echo $PMI_RANK/$PMI_SIZE; exit 3";
    let outcome = start(seven_hosts(&folder, "", &["-l", "sh", "-c", script])).wait();
    let lines: Vec<_> = (0..7).map(|rank| format!("[{rank}] {rank}/7")).collect();
    let mut found = outcome.lines();
    found.sort_unstable();
    assert_eq!((found, outcome.code), (lines.iter().map(|it| &**it).collect(), Some(3)));
    let started = fs::read_to_string(folder.join("started")).unwrap();
    let mut started: Vec<_> = started.lines().collect();
    started.sort_unstable();
    let from = |(number, from): (u32, &str)| format!("{} from {from}", host(number));
    let parents = ["mpirun", &host(1), &host(1), "mpirun", &host(4), &host(4), &host(6)];
    assert_eq!(started, (1..).zip(parents).map(from).collect::<Vec<_>>());
}

#[test]
fn the_launcher_starts_all_agents_if_that_is_requested() {
    for (variable, options) in
        [("off", &[][..]), ("0", &[]), ("2", &["--mca", "plm_rsh_no_tree_spawn", "1"])]
    {
        let folder = folder("launch-no-branches");
        let mut command = seven_hosts(&folder, "", &[options, &["true"]].concat());
        command.env("SUIRO_START_FAN_OUT", variable);
        let outcome = start(command).wait();
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
        let started = fs::read_to_string(folder.join("started")).unwrap();
        assert_eq!(started.matches(" from mpirun\n").count(), 7, "{started}");
    }
}

#[test]
fn mpi_programs_run_on_all_branches() {
    let outcome = run_on_seven("launch-branches-mpi", &[&compiled("allreduce"), "10"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn input_and_output_of_a_leaf_cross_unchanged() {
    let text: String = (0..300_000).map(|number| format!("{number}\n")).collect();
    let words = ["-stdin", "6", "cat"];
    let command = seven_hosts(&folder("launch-branches-input"), "", &words);
    let outcome = feed(command, text.as_bytes());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.text() == text);
}

#[test]
fn much_output_of_all_branches_waits_for_its_reader() {
    let script = "i=0; while [ $i -lt 20 ]; do head -c 100000 /dev/zero; i=$((i+1)); done";
    let outcome = run_on_seven("launch-branches-output", &["sh", "-c", script]);
    assert_eq!((outcome.code, outcome.text().len()), (Some(0), 7 * 20 * 100_000));
}

#[test]
fn a_leaf_that_fails_is_named_and_its_code_is_that_of_the_job() {
    let script = "[ $PMI_RANK != 6 ] || exit 7";
    let outcome = run_on_seven("launch-branches-exit", &["sh", "-c", script]);
    assert_eq!(outcome.code, Some(7));
    let script = "[ $PMI_RANK != 6 ] || kill -9 $$; exec sleep 300";
    let outcome = run_on_seven("launch-branches-exit", &["sh", "-c", script]);
    assert_eq!(outcome.code, Some(137));
    assert!(outcome.stderr.contains("mpirun: rank 6 (process "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(" on 198.51.100.7) was killed by"), "{}", outcome.stderr);
    let outcome = run_on_seven("launch-branches-exit", &["/no/such/program"]);
    assert_eq!(outcome.code, Some(127), "{}", outcome.stderr);
}

#[test]
fn a_leaf_that_cannot_start_is_named_with_the_host_that_starts_it() {
    let name = "launch-branches-start";
    let fails = "[ $1 != 198.51.100.7 ] || fail no route";
    let silent = "[ $1 != 198.51.100.7 ] || exec sleep 300";
    let garbage = "[ $1 != 198.51.100.7 ] || { echo Welcome; exit; }";
    for (text, why) in [
        (fails, "its connection has ended: the command exited with code 9 ("),
        (silent, "it has not answered for 2 s (SUIRO_START_TIMEOUT); its command: "),
        (garbage, "it sent \"Welcome\", which is no message: the command exited with code 0 ("),
    ] {
        let mut command = seven_hosts(&folder(name), text, &["sleep", "300"]);
        command.env("SUIRO_START_TIMEOUT", "2s");
        let outcome = start(command).wait();
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        let start = "mpirun: cannot start mpirun's agent on host 198.51.100.7 from 198.51.100.6: ";
        assert!(outcome.stderr.contains(&format!("{start}{why}")), "{}", outcome.stderr);
        let end = "; SUIRO_START_FAN_OUT=off starts all agents from here; ending the job\n";
        assert!(outcome.stderr.contains(end), "{}", outcome.stderr);
        let has_line = outcome
            .stderr
            .lines()
            .any(|line| line.starts_with("198.51.100.7: ") && line.ends_with("/starter: no route"));
        assert_eq!(has_line, text == fails, "{}", outcome.stderr);
    }
}

#[test]
fn a_host_that_is_lost_is_named_with_those_behind_it() {
    for (process, signal) in [(0, "KILL"), (1, "KILL"), (1, "STOP")] {
        let limit = if signal == "STOP" { "1s" } else { "5s" };
        let running = waiting("launch-branches-lost", WAIT_FOR_KILL, limit);
        signal_process(agent_of(&running, 4)[process], signal);
        let outcome = running.wait();
        assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
        let line =
            "mpirun: lost host 198.51.100.4 with rank 3 and, behind it, 3 hosts with 3 ranks: ";
        assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    }
}

#[test]
fn a_leaf_that_is_lost_is_named() {
    for (process, signal) in [(0, "KILL"), (1, "KILL"), (1, "STOP")] {
        let limit = if signal == "STOP" { "1s" } else { "5s" };
        let running = waiting("launch-branches-leaf", WAIT_FOR_KILL, limit);
        signal_process(agent_of(&running, 7)[process], signal);
        let outcome = running.wait();
        assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
        let line = "mpirun: lost host 198.51.100.7 with rank 6: ";
        assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    }
}

#[test]
fn a_killed_starter_of_a_branch_ends_the_job() {
    let running = waiting("launch-branches-starter", WAIT_FOR_KILL, "5s");
    let starter = parent(agent_of(&running, 6)[0]).unwrap();
    signal_process(starter, "KILL");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("mpirun: lost host 198.51.100.6 with rank 5 and, behind it, "));
}

#[test]
fn nothing_is_left_of_branches_when_mpirun_is_ended_or_killed() {
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let running = waiting("launch-branches-end", WAIT_FOR_KILL, "5s");
        running.signal(signal);
        assert_eq!(running.wait().code, code, "{signal}");
    }
    let running = waiting("launch-branches-end", WAIT, "5s");
    signal_process(running.job_loop(), "KILL");
    assert_eq!(running.wait().code, Some(137));
}

#[test]
fn a_head_that_is_stopped_is_lost_to_all_branches() {
    let running = waiting("launch-branches-head", WAIT_FOR_KILL, "1s");
    let head = running.job_loop();
    signal_process(head, "STOP");
    until(|| ranks(&running).is_empty().then_some(()));
    signal_process(head, "CONT");
    assert_eq!(running.wait().code, Some(137));
}

#[test]
fn an_agent_whose_ranks_have_ended_serves_those_behind_it() {
    let script = "[ $PMI_RANK != 6 ] || { sleep 0.5; echo late; }";
    let outcome = run_on_seven("launch-branches-late", &["sh", "-c", script]);
    assert_eq!((outcome.code, outcome.text()), (Some(0), "late\n"), "{}", outcome.stderr);
    // It is lost, and has no ranks any more.
    let wait = "echo here; [ $PMI_RANK != 6 ] || exec sleep 300";
    let running = waiting("launch-branches-late", wait, "5s");
    let agent = agent_of(&running, 4)[1];
    until(|| (ranks(&running).len() == 1).then_some(()));
    signal_process(agent, "KILL");
    let outcome = running.wait();
    assert_eq!(outcome.code, Some(137), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("mpirun: lost host 198.51.100.4 with "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(" and, behind it, 1 host with rank 6: "), "{}", outcome.stderr);
}

#[test]
fn a_job_that_takes_too_long_is_reported_with_the_ranks_of_leaves() {
    let outcome = run_on_seven("launch-branches-late", &["--timeout", "2", "sleep", "300"]);
    assert_eq!(outcome.code, Some(124), "{}", outcome.stderr);
    for rank in 0..7 {
        let place = format!("{rank} on {} (process ", host(rank + 1));
        assert!(outcome.stderr.contains(&place), "{}", outcome.stderr);
    }
}

#[test]
fn a_wrong_fan_out_is_an_error_before_the_start() {
    let mut command = seven_hosts(&folder("launch-branches-wrong"), "", &["true"]);
    command.env("SUIRO_START_FAN_OUT", "two");
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let why = "mpirun: SUIRO_START_FAN_OUT=two is not one of off|a number of hosts\n";
    assert_eq!(outcome.stderr, why);
    assert_eq!(run(&["-n", "1", "true"]).code, Some(0));
}
