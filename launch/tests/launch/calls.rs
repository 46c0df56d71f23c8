//! Agents whose starters do not pass standard input or output through: they call the head back, and
//! nobody else can.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use platform::network::{Handshake, SharedSecret};

use super::harness::{
    Outcome, Running, feed, folder, mpirun, parent, ranks, signal_process, start, until,
};
use super::starters::script;

/// Two other hosts, which are this machine.
const HOSTS: &str = "localhost:2,198.51.100.1:2,198.51.100.2:2";

/// Removes the token of the head, as a system does that passes only its own variables.
const NO_TOKEN: &str = "env -u SUIRO_AGENT_TOKEN";

/// Six ranks by `options`, in an environment with the scripts of `folder`.
fn job(folder: &Path, options: &[&str], program: &[&str]) -> std::process::Command {
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = mpirun(&[options, &["-host", HOSTS, "-l"], program].concat());
    command.env("PATH", path).env_remove("PBS_JOBCOOKIE");
    command
}

fn check(outcome: &Outcome, input: &str) {
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let mut lines = outcome.lines();
    lines.sort();
    let line = |rank| match rank {
        0 => format!("[0] 0 {}", input.len()),
        rank => format!("[{rank}] {rank} 0"),
    };
    assert_eq!(lines, (0..6).map(line).collect::<Vec<_>>());
}

const COUNT_INPUT: [&str; 3] = ["sh", "-c", "echo $PMI_RANK $(cat | wc -c)"];

#[test]
fn tasks_of_pbs_prove_the_cookie_of_their_job() {
    let folder = folder("launch-calls-pbs");
    let text = format!(
        "[ $# -gt 1 ] || fail \"no command\"\nshift\nexec {NO_TOKEN} \"$@\" </dev/null >/dev/null 2>&1\n"
    );
    script(&folder, "pbs_tmrsh", &text);
    script(&folder, "pbsdsh", &format!("[ \"$1\" = -h ] || fail \"$1\"\nshift\n{text}"));
    for launcher in ["pbs", "pbsdsh"] {
        let mut command = job(&folder, &["-launcher", launcher], &COUNT_INPUT);
        command.env("PBS_JOBCOOKIE", "9EEF5DF75FA705A241FEF66EDFE01C5B");
        check(&feed(command, b"input"), "input");
    }
    let outcome = start(job(&folder, &["-launcher", "pbs"], &["true"])).wait();
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("-launcher pbs: PBS_JOBCOOKIE is not set"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_command_that_passes_variables_or_output_on_is_enough() {
    let folder = folder("launch-calls-part");
    let variables = "shift\n(setsid sh -c \"$*\" </dev/null >/dev/null 2>&1 &)\n";
    script(&folder, "variables", variables);
    // This one closes its output long before it exits.
    let slow =
        "shift\n(setsid sh -c \"$*\" </dev/null >/dev/null 2>&1 &)\nexec >&- 2>&-\nsleep 2\n";
    script(&folder, "slow", slow);
    script(&folder, "output", &format!("shift\nexec {NO_TOKEN} sh -c \"$*\" </dev/null\n"));
    for command in ["variables", "slow", "output"] {
        check(&feed(job(&folder, &["-launcher-exec", command], &COUNT_INPUT), b"in"), "in");
    }
}

#[test]
fn a_command_that_passes_nothing_on_is_refused() {
    let folder = folder("launch-calls-nothing");
    script(
        &folder,
        "nothing",
        &format!("shift\nexec {NO_TOKEN} sh -c \"$*\" </dev/null >/dev/null\n"),
    );
    let outcome = start(job(&folder, &["-launcher-exec", "nothing"], &["true"])).wait();
    assert_eq!(outcome.code, Some(1));
    for line in ["passes neither input nor variables on", "it has not called back"] {
        assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    }
}

#[test]
fn tokens_are_in_no_argument_and_not_in_the_environment_of_ranks() {
    let folder = folder("launch-calls-token");
    let text = "echo \"$SUIRO_AGENT_TOKEN $*\" >>STARTED\nshift\nexec sh -c \"$*\" </dev/null\n";
    script(&folder, "started-by", text);
    let outcome = start(job(&folder, &["-launcher-exec", "started-by"], &["env"])).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let started = fs::read_to_string(folder.join("started")).unwrap();
    let calls: Vec<_> = started.lines().filter(|line| line.contains("--call=")).collect();
    assert_eq!(calls.len(), 2, "{started}");
    for call in calls {
        let (token, arguments) = call.split_once(' ').unwrap();
        assert_eq!(token.len(), 96);
        // The first part is no secret.
        let secret = &token[32..];
        assert!(!arguments.contains(secret) && !outcome.text().contains(secret));
    }
    assert!(!outcome.text().contains("SUIRO_AGENT_TOKEN"));
}

#[test]
fn agents_and_ranks_keep_to_the_ports_of_other_launchers() {
    let folder = folder("launch-calls-ports");
    script(&folder, "inputless", "echo \"$*\" >>STARTED\nshift\nexec sh -c \"$*\" </dev/null\n");
    let job = |range: &str| {
        let words = ["-launcher-exec", "inputless", "-host", "198.51.100.1"];
        let program = ["sh", "-c", "echo $SUIRO_TCP_PORTS"];
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let mut command = mpirun(&[&words[..], &program].concat());
        command.env("PATH", path).env_remove("PBS_JOBCOOKIE").env("MPIEXEC_PORT_RANGE", range);
        start(command).wait()
    };
    let taken = TcpListener::bind("[::]:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let outcome = job(&format!("{port}:{port}"));
    assert_eq!(outcome.code, Some(1));
    let why = format!(
        "it cannot call back: mpirun cannot listen on a port of MPIEXEC_PORT_RANGE={port}:{port}: "
    );
    assert!(outcome.stderr.contains(&why), "{}", outcome.stderr);
    drop(taken);
    let outcome = job(&format!("{port}:{port}"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.text(), format!("{port}-{port}\n"));
    let started = fs::read_to_string(folder.join("started")).unwrap();
    assert!(started.contains(&format!("/1/{port}/")), "{started}");
    let outcome = job("many");
    assert_eq!(outcome.code, Some(2));
    let why = "mpirun: MPIEXEC_PORT_RANGE=many is not a range of ports like 10000:10100";
    assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
}

#[test]
fn a_stopped_agent_ends_when_its_head_is_gone() {
    let folder = folder("launch-calls-stopped");
    let script_text = "shift\n(setsid sh -c \"$*\" </dev/null >/dev/null 2>&1 &)\n";
    script(&folder, "background", script_text);
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let words = ["-launcher-exec", "background", "-host", "198.51.100.1", "sleep", "300"];
    let mut command = mpirun(&words);
    command.env("PATH", path).env_remove("PBS_JOBCOOKIE");
    let running = start(command);
    let starts_ranks = |pid: u32| {
        let is_rank = |rank: &u32| parent(*rank) == Some(pid);
        ranks(&running).values().any(is_rank)
    };
    let agent = until(|| running.processes().into_iter().find(|pid| starts_ranks(*pid)));
    signal_process(agent, "STOP");
    // Neither process of the head may end what is below it.
    let head = running.job_loop();
    running.signal("STOP");
    signal_process(head, "KILL");
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
}

/// A job whose agent waits for the file `go` before it calls; and where it will.
fn waiting_job(name: &str) -> (Running, PathBuf, SocketAddr) {
    let folder = folder(name);
    let text = "case $* in *--call=*)\n\
        echo \"$*\" >STARTED.new; mv STARTED.new STARTED\n\
        until [ -e STARTED.go ]; do sleep 0.02; done ;;\n\
        esac\nshift\nexec sh -c \"$*\" </dev/null\n";
    script(&folder, "held", text);
    let options = ["-launcher-exec", "held", "-host", "198.51.100.1"];
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = mpirun(&[&options[..], &["-n", "2", "echo", "done"]].concat());
    command.env("PATH", path);
    let running = start(command);
    let started = folder.join("started");
    until(|| started.exists().then_some(()));
    let arguments = fs::read_to_string(started).unwrap();
    let place = arguments.trim().trim_end_matches('\'').rsplit('/');
    let parts: Vec<_> = place.take(2).collect();
    let address = parts[0].split(',').next().unwrap();
    let place = SocketAddr::new(address.parse().unwrap(), parts[1].parse().unwrap());
    (running, folder.join("started.go"), place)
}

/// Whether the head closes the connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    match stream.read(&mut [0; 600]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn strangers_prove_nothing_and_do_not_disturb() {
    let (running, go, place) = waiting_job("launch-calls-strangers");
    let connect = || TcpStream::connect(place).unwrap();
    // Garbage, a wrong token, silence: each is closed.
    let mut garbage = connect();
    garbage.write_all(&[b'x'; 4096]).unwrap();
    assert!(is_closed(&mut garbage));
    let (mut wrong, mut first) = (connect(), Vec::new());
    Handshake::initiate(&SharedSecret([7; 32]), &[0; 20], &mut first);
    wrong.write_all(&first).unwrap();
    assert!(is_closed(&mut wrong));
    let mut half = connect();
    half.write_all(&first[..20]).unwrap();
    assert!(is_closed(&mut half));
    // The head holds at most 64 of them.
    let crowd: Vec<_> = (0..200).map(|_| connect()).collect();
    let sockets = || {
        let of = |pid: u32| {
            let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
            targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
        };
        running.processes().into_iter().map(of).max().unwrap_or(0)
    };
    until(|| (sockets() > 60).then_some(()));
    assert!(sockets() < 70, "{}", sockets());
    drop(crowd);
    fs::write(go, "").unwrap();
    let outcome = running.wait();
    assert_eq!((outcome.text(), outcome.code), ("done\ndone\n", Some(0)), "{}", outcome.stderr);
    assert!(TcpStream::connect(place).is_err(), "the port is open");
}
