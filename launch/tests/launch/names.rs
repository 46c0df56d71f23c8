//! `suiro-names`: names of jobs that are started independently, and strangers at its port.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, thread};

use platform::bootstrap::{Client, NameReply, NameRequest, NameScope};

use super::harness::{Outcome, Running, built, folder, marked, mpirun, quoted, start};
use super::role::{ROLE, own_words, words};
use super::spawn::two_hosts;

/// What rank 0 in the role `name` does: words like `publish:a=p`, in order.
const STEPS: &str = "SUIRO_TEST_STEPS";

pub fn publish_name(client: &mut Client, name: &str, port: &str) {
    assert_eq!(client.name(NameRequest::publish(name, port)).unwrap(), NameReply::Done);
}

pub fn lookup_name(client: &mut Client, name: &str) -> Option<String> {
    match client.name(NameRequest::lookup(name)).unwrap() {
        NameReply::Port(port) => Some(port),
        NameReply::Refused(_) => None,
        other => panic!("{other:?}"),
    }
}

pub fn unpublish_name(client: &mut Client, name: &str) -> bool {
    client.name(NameRequest::unpublish(name)).unwrap() == NameReply::Done
}

/// Rank 0 does its steps and prints each reply.
pub fn rank(client: &mut Client) {
    let steps = match client.attributes().rank {
        0 => env::var(STEPS).unwrap(),
        _ => String::new(),
    };
    for step in steps.split_whitespace() {
        let (verb, name) = step.split_once(':').unwrap();
        let (scope, name) = match name.split_once('/') {
            Some(("job", name)) => (NameScope::Job, name),
            Some(("global", name)) => (NameScope::Global, name),
            _ => (NameScope::Any, name),
        };
        let (name, port) = name.split_once('=').unwrap_or((name, ""));
        let request = match verb {
            "publish" => NameRequest::publish(name, port),
            "replace" => NameRequest::publish(name, port).replacing(true),
            "lookup" => NameRequest::lookup(name),
            "unpublish" => NameRequest::unpublish(name),
            "sleep" => {
                thread::sleep(Duration::from_secs(600));
                continue;
            }
            other => panic!("{other}"),
        };
        let reply = client.name(request.within(scope)).unwrap();
        println!("\n{verb} {name}: {}", told(&reply));
    }
    client.barrier().unwrap();
}

fn told(reply: &NameReply) -> String {
    match reply {
        NameReply::Done => "done".to_owned(),
        NameReply::Port(port) => format!("port {port}"),
        NameReply::Refused(why) => format!("refused: {why}"),
        NameReply::Failed(why) => format!("failed: {why}"),
    }
}

/// A server that listens, and its file.
struct Server {
    running: Running,
    file: PathBuf,
    port: u16,
}

impl Server {
    fn start(name: &str) -> Self {
        let file = folder(name).join("server");
        let mut command = marked(&built("suiro-names"));
        command.arg("--report-uri").arg(&file);
        Self::of(command, file)
    }

    fn of(command: Command, file: PathBuf) -> Self {
        let running = start(command);
        let port = running.until_output(|text| {
            let port = text.strip_prefix("suiro-names: port ")?.split(';').next()?;
            text.ends_with('\n').then(|| port.parse().unwrap())
        });
        Self { running, file, port }
    }

    fn option(&self) -> [String; 2] {
        ["--name-server".to_owned(), format!("file:{}", self.file.display())]
    }

    /// A job of two ranks with these steps.
    fn job(&self, steps: &str) -> Command {
        job(&self.option(), steps)
    }
}

fn job(options: &[String], steps: &str) -> Command {
    let mut command = mpirun(&[options.to_vec(), words("2", "name")].concat());
    command.env(STEPS, steps);
    command
}

/// The replies in the output of a job.
fn replies(outcome: &Outcome) -> Vec<&str> {
    assert_eq!(outcome.code, Some(0), "{}\n{}", outcome.text(), outcome.stderr);
    let is_reply = |line: &&str| line.contains(": ") && !line.starts_with("test ");
    outcome.text().lines().filter(is_reply).collect()
}

/// A job that has published the name `a` and lives on.
fn publisher(server: &Server) -> Running {
    let running = start(server.job("publish:a=of-one publish:job/inside=x sleep:now"));
    running.until_output(|text| text.contains("publish inside: done").then_some(()));
    running
}

#[test]
fn jobs_share_names_until_the_publisher_ends() {
    let server = Server::start("launch-names-share");
    let one = publisher(&server);
    let steps = "lookup:a lookup:inside publish:a=2 replace:a=2 unpublish:a publish:b=3 replace:b=4 \
                 lookup:b lookup:job/b unpublish:b unpublish:b lookup:global/a";
    let outcome = start(server.job(steps)).wait();
    let expected = [
        "lookup a: port of-one",
        "lookup inside: refused: no such service",
        "publish a: refused: the name is taken",
        "publish a: refused: another job has published it",
        "unpublish a: refused: another job has published it",
        "publish b: done",
        "publish b: done",
        "lookup b: port 4",
        "lookup b: refused: no such service",
        "unpublish b: done",
        "unpublish b: refused: no such service",
        "lookup a: port of-one",
    ];
    let said: Vec<_> =
        replies(&outcome).into_iter().map(|line| line.replace("replace", "publish")).collect();
    assert_eq!(said, expected);
    assert_eq!(outcome.stderr, "");
    one.signal("KILL");
    one.wait();
    until_gone(&server, "a");
}

/// Waits until the server has no such name: it learns from the kernel of the end of a job.
fn until_gone(server: &Server, name: &str) {
    let begin = Instant::now();
    loop {
        let outcome = start(server.job(&format!("lookup:{name}"))).wait();
        if replies(&outcome) == [format!("lookup {name}: refused: no such service")] {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{}", outcome.text());
    }
}

/// A request of a rank of another host goes through the agent and `mpirun`.
#[test]
fn ranks_of_other_hosts_share_names_too() {
    let server = Server::start("launch-names-hosts");
    let (hosts, path) = two_hosts(&folder("launch-names-hosts-path"));
    // Rank 0 is on the other host.
    let hosts = hosts.into_iter().map(|word| match &*word {
        "localhost:1,198.51.100.1:1" => "198.51.100.1:1,localhost:1".to_owned(),
        _ => word,
    });
    let options: Vec<_> = server.option().into_iter().chain(hosts).collect();
    let mut command = job(&options, "publish:a=b lookup:global/a replace:job/a=c lookup:a");
    command.env("PATH", &path);
    let outcome = start(command).wait();
    let expected = ["publish a: done", "lookup a: port b", "replace a: done", "lookup a: port c"];
    assert_eq!(replies(&outcome), expected);
}

/// The time for the proof of a connection begins with the connection, however long the server has waited.
#[test]
fn a_server_that_has_waited_for_long_serves_the_next_job() {
    let server = Server::start("launch-names-idle");
    thread::sleep(Duration::from_secs(3));
    let outcome = start(server.job("publish:a=b lookup:global/a")).wait();
    assert_eq!(replies(&outcome), ["publish a: done", "lookup a: port b"]);
}

#[test]
fn a_job_and_its_children_share_a_server_and_names_end_with_the_children() {
    let server = Server::start("launch-names-children");
    let mut command = mpirun(&[server.option().to_vec(), words("2", "publish")].concat());
    command.env("SUIRO_TEST_COUNT", "2");
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(0), "{}\n{}", outcome.text(), outcome.stderr);
    assert!(outcome.text().contains("parent found port 2"), "{}", outcome.text());
    let own: Vec<_> = own_words().iter().map(|word| quoted(word)).collect();
    let script = format!(
        "{STEPS}='publish:global/c=1 publish:job/d=1 lookup:c' {ROLE}=name exec {}",
        own.join(" ")
    );
    let mut command = mpirun(&[server.option().to_vec(), words("1", "spawn")].concat());
    command.env("SUIRO_TEST_SCRIPT", script).env("SUIRO_TEST_COUNT", "1");
    command.env("SUIRO_TEST_THEN", "wait");
    let parent = start(command);
    parent.until_output(|text| text.contains("lookup c: port 1").then_some(()));
    until_gone(&server, "c");
    parent.signal("TERM");
    parent.wait();
}

#[test]
fn without_a_server_the_global_scope_fails_and_names_the_remedy() {
    let outcome = start(job(&[], "publish:global/a=b publish:a=b lookup:a lookup:global/a")).wait();
    let said = replies(&outcome);
    assert!(said[0].starts_with("publish a: failed: the global scope needs a name server"));
    assert_eq!(said[1..3], ["publish a: done", "lookup a: port b"]);
    assert!(said[3].contains("--name-server"), "{}", said[3]);
}

#[test]
fn a_server_that_cannot_be_reached_is_one_message() {
    let server = Server::start("launch-names-gone");
    let (option, file) = (server.option(), server.file.clone());
    let copy = fs::read(&file).unwrap();
    server.running.signal("TERM");
    assert_eq!(server.running.wait().code, Some(143));
    // The file is gone with the server.
    let outcome = start(job(&option, "publish:a=b publish:job/a=c lookup:a")).wait();
    let said = replies(&outcome);
    let note = format!("mpirun: note: no name server yet: {}: No such file", file.display());
    assert!(outcome.stderr.starts_with(&note), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1);
    assert!(
        said[0].contains("cannot be reached: ") && said[0].contains("No such file"),
        "{said:?}"
    );
    assert_eq!(said[1..], ["publish a: done", "lookup a: port c"]);
    // Killed servers leave theirs.
    fs::write(&file, copy).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let outcome = start(job(&option, "lookup:a")).wait();
    let said = replies(&outcome);
    assert!(
        said[0].contains(&format!("the name server {} cannot be reached", option[1])),
        "{said:?}"
    );
    assert_eq!(outcome.stderr, "");
    // What others may have read is not used.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let outcome = start(job(&option, "lookup:a")).wait();
    assert!(replies(&outcome)[0].contains("another user"), "{}", outcome.text());
}

#[test]
fn a_server_is_named_by_its_host_or_a_variable_too() {
    let home = folder("launch-names-home");
    let mut command = marked(&built("suiro-names"));
    command.env("HOME", &home);
    let file = home.join(".suiro/name-server");
    let server = Server::of(command, file.clone());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let place = format!("localhost:{}", server.port);
    let in_file = format!("file:{}", file.display());
    let words = |option: &str, value: &str| vec![option.to_owned(), value.to_owned()];
    for (options, variable) in [
        (words("-nameserver", &place), ""),
        (words("--ompi-server", "127.0.0.1"), ""),
        (words("--name-server", &in_file), "file:/nowhere"),
        (Vec::new(), &*in_file),
        (Vec::new(), &*place),
    ] {
        let mut command = job(&options, "publish:a=b lookup:global/a");
        command.env("HOME", &home).env("SUIRO_NAME_SERVER", variable);
        let outcome = start(command).wait();
        let said = replies(&outcome);
        assert_eq!(said, ["publish a: done", "lookup a: port b"], "{options:?} {variable}");
        assert_eq!(outcome.stderr, "");
    }
    server.running.signal("INT");
    assert_eq!(server.running.wait().code, Some(130));
    assert!(!file.exists());
}

#[test]
fn wrong_arguments_and_ports_in_use_are_named() {
    let server = Server::start("launch-names-arguments");
    let other = server.file.with_extension("other");
    for (words, code, part) in [
        (
            vec!["--port".to_owned(), server.port.to_string()],
            1,
            "cannot listen on a port of --port",
        ),
        (vec!["--port".to_owned(), "x".to_owned()], 2, "--port x: expected"),
        (vec!["--report-uri".to_owned(), "-".to_owned()], 2, "no screen"),
        (vec!["--report-uri".to_owned(), "/nowhere/file".to_owned()], 1, "/nowhere/file: No such"),
        (vec!["--fly".to_owned()], 2, "--fly"),
    ] {
        let mut command = marked(&built("suiro-names"));
        if words[0] == "--port" {
            command.arg("--report-uri").arg(&other);
        }
        command.args(&words);
        let outcome = start(command).wait();
        assert_eq!(outcome.code, Some(code), "{words:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{words:?}: {}", outcome.stderr);
        assert!(!other.exists());
    }
    for (option, part) in [
        ("file:", "no file is named"),
        ("a b", "expected file:PATH"),
        ("no.such.host.invalid", "no.such.host.invalid"),
    ] {
        let outcome = start(job(&["--name-server".to_owned(), option.to_owned()], "")).wait();
        assert_eq!(outcome.code, Some(2), "{option}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{option}: {}", outcome.stderr);
    }
}

fn resident_kib(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

fn descriptors(pid: u32) -> usize {
    fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).unwrap().count()
}

#[test]
fn strangers_and_slow_connections_are_closed_and_jobs_are_served() {
    let server = Server::start("launch-names-strangers");
    let (pid, place) = (server.running.pid(), ("127.0.0.1", server.port));
    let job = publisher(&server);
    let before = (resident_kib(pid), descriptors(pid));
    // More than the server holds at a time; those that say nothing are closed after a while.
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(place).unwrap()).collect();
    let garbage = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"cmd=lookup_name service=a\n".to_vec(),
        vec![0xf5; 100_000],
        [&b"\xf5suiro\x02\x00\x30\x00"[..], &[7; 48]].concat(),
        [&b"\xf5suiro\x02\x00\x30\x00"[..], &[7; 20]].concat(),
    ];
    for round in 0..20 {
        let mut stranger = TcpStream::connect(place).unwrap();
        // The server may close the connection before it has read all.
        let _ = stranger.write_all(&garbage[round % garbage.len()]);
        stranger.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = Vec::new();
        let _ = stranger.read_to_end(&mut answer);
        assert_eq!(answer, b"");
    }
    for mut stranger in silent {
        stranger.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(stranger.read(&mut [0; 8]).unwrap_or(0), 0);
    }
    let outcome = start(server.job("lookup:a")).wait();
    assert_eq!(replies(&outcome), ["lookup a: port of-one"]);
    let after = (resident_kib(pid), descriptors(pid));
    assert!(after.1 <= before.1 + 1, "{before:?} {after:?}");
    assert!(after.0 < before.0 + 4096, "{before:?} {after:?}");
    job.signal("TERM");
    job.wait();
}
