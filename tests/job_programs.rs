//! Every program of `c-tests/jobs`, compiled by this `mpicc` and run by this `mpirun` and alone: jobs that
//! start each other, and jobs that meet.

// Other tests use more of it.
#[allow(dead_code)]
mod programs;

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use programs::{Form, harness, is_long, root, run_in, vendor};

const SHM: &[(&str, &str)] = &[("SUIRO_DEVICE", "shm")];
const TCP: &[(&str, &str)] = &[("SUIRO_DEVICE", "tcp")];

fn program(name: &str) -> PathBuf {
    let source = root().join("c-tests/jobs").join(name).with_extension("c");
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-g", "-pthread"];
    harness::compile_by("mpicc", &source, &flags)
}

fn form(ranks: u32, progress: &'static str) -> Form {
    Form { ranks, copy: "auto", progress }
}

fn ways() -> Vec<(&'static [(&'static str, &'static str)], Form)> {
    if is_long() {
        let progress = ["windows", "thread", "delegate"].into_iter();
        let forms = progress.flat_map(|how| (1..=8).map(move |ranks| form(ranks, how)));
        return forms.flat_map(|form| [(SHM, form), (TCP, form)]).collect();
    }
    vec![(SHM, form(1, "windows")), (SHM, form(3, "thread")), (TCP, form(2, "windows"))]
}

fn is_good(outcome: &harness::Outcome) -> bool {
    outcome.code == Some(0) && outcome.text().ends_with("errors = 0\n")
}

fn check(name: &str) {
    let program = program(name);
    for (environment, form) in ways() {
        let outcome = run_in(environment, &program, &[], form);
        let said = (outcome.code, outcome.text(), &outcome.stderr);
        assert!(is_good(&outcome), "{name}, {environment:?}, {form:?}: {said:?}");
    }
}

#[test]
fn jobs_spawn() {
    check("jobs_spawn");
}

#[test]
fn jobs_ports() {
    check("jobs_ports");
}

/// Libfabric carries the messages inside each job, and TCP those between jobs.
#[test]
fn jobs_over_libfabric() {
    let library = vendor::libfabric();
    let all = [
        ("SUIRO_DEVICE", "ofi"),
        ("SUIRO_OFI_PROVIDER", "tcp"),
        ("SUIRO_OFI_LIBRARY", &library),
        ("SUIRO_OFI_BETWEEN", "ranks"),
    ];
    for name in ["jobs_spawn", "jobs_ports", "jobs_near"] {
        for (environment, progress) in
            [(&all[..], "windows"), (&all[..], "thread"), (&all[..3], "windows")]
        {
            let outcome = run_in(environment, &program(name), &[], form(3, progress));
            let said = (outcome.code, outcome.text(), &outcome.stderr);
            assert!(is_good(&outcome), "{name}, {environment:?}, {progress}: {said:?}");
        }
    }
    let folder = harness::folder("jobs_meet_over_libfabric");
    for (number, (its, other)) in
        [(&all[..], &all[..]), (&all[..], SHM), (TCP, &all[..])].into_iter().enumerate()
    {
        let ways = [(Some(3), its), (Some(2), other)];
        jobs_meet_at(&folder.join(format!("port{number}")), ways);
    }
}

#[test]
fn messages_between_jobs() {
    check("jobs_near");
}

/// Where both jobs use shared memory, so do their messages to each other; a job that uses TCP has none.
#[test]
fn jobs_of_a_host_share_memory_unless_one_uses_tcp() {
    const SHARED: &str = "packets go by shared memory";
    let program = program("jobs_near");
    for (device, shares) in [("shm", true), ("tcp", false)] {
        let environment = [("SUIRO_DEVICE", device), ("SUIRO_LOG", "mpi_abi=debug")];
        let outcome = run_in(&environment, &program, &[], form(2, "windows"));
        assert!(is_good(&outcome), "{device}: {:?} {}", outcome.text(), outcome.stderr);
        assert_eq!(outcome.stderr.contains(SHARED), shares, "{device}: {}", outcome.stderr);
    }
}

#[test]
fn memory_of_two_jobs() {
    check("jobs_shared");
}

#[test]
fn collectives_of_two_jobs() {
    check("jobs_collectives");
}

/// Jobs share memory only if both do so inside, and all of their processes agree on that.
#[test]
fn jobs_of_two_devices_share_no_memory() {
    let program = program("jobs_shared");
    let file = harness::folder("jobs_apart").join("port");
    let jobs = [("shm", SHM), ("tcp", TCP)].map(|(role, environment)| {
        let words = [role, file.to_str().unwrap()];
        let mut job = job(program.to_str().unwrap(), Some(2), &words);
        job.env("CHECK_STRICT", "1").envs(environment.iter().copied());
        harness::start(job)
    });
    for outcome in jobs.map(harness::Running::wait) {
        assert!(is_good(&outcome), "{:?} {}", outcome.text(), outcome.stderr);
    }
}

/// A job goes on, and gets the locks, when another one that shares memory with it is killed.
#[test]
fn a_job_that_shares_memory_ends() {
    let program = program("jobs_shared");
    let folder = harness::folder("jobs_shared");
    let ways = [(Some(2), Some(2)), (None, None), (Some(3), None)];
    for (number, (staying, ending)) in ways.into_iter().enumerate() {
        let file = folder.join(format!("port{number}"));
        let start = |ranks, role| {
            let mut job = job(program.to_str().unwrap(), ranks, &[role, file.to_str().unwrap()]);
            job.env("CHECK_STRICT", "1").envs(SHM.iter().copied());
            harness::start(job)
        };
        let [stays, ends] = [start(staying, "stays"), start(ending, "ends")];
        let said = stays.wait();
        assert!(is_good(&said), "{number}: {:?} {}", said.text(), said.stderr);
        assert_ne!(ends.wait().code, Some(0), "{number}");
    }
}

/// A process without a launcher starts one for its children.
#[test]
fn a_process_without_a_launcher() {
    for name in ["jobs_spawn", "jobs_ports"] {
        let mut command = harness::marked(program(name).to_str().unwrap());
        command.env("CHECK_STRICT", "1");
        let outcome = harness::start(command).wait();
        assert!(is_good(&outcome), "{name}: {:?} {}", outcome.text(), outcome.stderr);
    }
}

/// How one of two jobs is started: by mpirun with so many ranks, or alone.
fn job(program: &str, ranks: Option<u32>, words: &[&str]) -> Command {
    match ranks {
        None => {
            let mut alone = harness::marked(program);
            alone.args(words);
            alone
        }
        Some(ranks) => {
            let ranks = ranks.to_string();
            harness::mpirun(&[&["-n", &ranks, program], words].concat())
        }
    }
}

#[test]
fn jobs_meet() {
    let folder = harness::folder("jobs_meet");
    let ways = [
        (Some(3), SHM, Some(2), SHM),
        (None, SHM, None, SHM),
        (Some(1), TCP, Some(4), TCP),
        (None, SHM, Some(3), TCP),
    ];
    for (number, (accepting, its, connecting, other)) in ways.into_iter().enumerate() {
        let file = folder.join(format!("port{number}"));
        jobs_meet_at(&file, [(accepting, its), (connecting, other)]);
    }
}

/// The ranks of a job, and its settings.
type JobWay<'a> = (Option<u32>, &'a [(&'a str, &'a str)]);

/// A job that accepts and one that connects by the name in `file`.
fn jobs_meet_at(file: &Path, ways: [JobWay<'_>; 2]) {
    let program = program("jobs_meet");
    let [(accepting, its), (connecting, other)] = ways;
    let start = |ranks, environment: &[(&str, &str)], role| {
        let mut job = job(program.to_str().unwrap(), ranks, &[role, file.to_str().unwrap()]);
        job.env("CHECK_STRICT", "1").envs(environment.iter().copied());
        harness::start(job)
    };
    let jobs = [start(accepting, its, "accept"), start(connecting, other, "connect")];
    for outcome in jobs.map(harness::Running::wait) {
        let said = (outcome.text(), &outcome.stderr);
        assert!(is_good(&outcome), "{ways:?}: {said:?}");
    }
}

/// Connections that prove nothing do not disturb a meeting, and one line counts them.
#[test]
fn strangers_at_a_port_are_counted() {
    let program = program("jobs_meet");
    let file = harness::folder("jobs_strangers").join("port");
    let start = |role| {
        let words = [role, file.to_str().unwrap()];
        harness::start(job(program.to_str().unwrap(), Some(1), &words))
    };
    let accepting = start("accept");
    let name = harness::until(|| fs::read_to_string(&file).ok().filter(|name| !name.is_empty()));
    let parts: Vec<_> = name.trim().split('/').collect();
    let (port, addresses) = (parts[6].parse::<u16>().unwrap(), parts[7]);
    let address: IpAddr = addresses.split(',').next().unwrap().parse().unwrap();
    for _ in 0..3 {
        let mut stranger = TcpStream::connect((address, port)).unwrap();
        stranger.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        // The port closes the connection, with or without a reset.
        let _ = stranger.read_to_end(&mut Vec::new());
    }
    let connecting = start("connect").wait();
    assert!(is_good(&connecting), "{:?} {}", connecting.text(), connecting.stderr);
    let accepting = accepting.wait();
    let said = accepting.stderr;
    assert_eq!(accepting.code, Some(0), "{said}");
    let lines: Vec<_> = said.lines().filter(|line| line.contains("refused")).collect();
    let [line] = lines[..] else { panic!("{said}") };
    let text =
        "refused 3 connections that did not prove the secret of this port; the last came from";
    assert!(line.contains(text) && line.contains(&address.to_string()), "{line}");
}

/// Two jobs that have nothing in common but a name server.
#[test]
fn jobs_names() {
    let program = program("jobs_names");
    let program = program.to_str().unwrap();
    let file = harness::folder("jobs_names").join("server");
    let mut server = harness::marked(&harness::built("suiro-names"));
    server.arg("--report-uri").arg(&file);
    let server = harness::start(server);
    server.until_output(|text| text.ends_with('\n').then_some(()));
    let variable = [("SUIRO_NAME_SERVER", format!("file:{}", file.display()))];
    let start = |ranks, has_server, words: &[&str]| {
        let mut job = job(program, ranks, words);
        job.env("CHECK_STRICT", "1").envs(variable.iter().filter(|_| has_server).cloned());
        harness::start(job)
    };
    let ways = [(Some(3), Some(2)), (None, Some(2)), (Some(2), None), (None, None)];
    for (number, (accepting, connecting)) in ways.into_iter().enumerate() {
        let name = format!("the service {number}; é%");
        let one = start(accepting, true, &["server", &name]);
        one.until_output(|text| text.contains("published\n").then_some(()));
        let two = start(connecting, true, &["client", &name]);
        for outcome in [one, two].map(harness::Running::wait) {
            assert!(is_good(&outcome), "{number}: {:?} {}", outcome.text(), outcome.stderr);
        }
    }
    for ranks in [Some(2), None] {
        for (part, has_server) in [("scopes", true), ("alone", false)] {
            let outcome = start(ranks, has_server, &[part, "a"]).wait();
            let said = (outcome.text(), &outcome.stderr);
            assert!(is_good(&outcome), "{ranks:?} {part}: {said:?}");
        }
    }
    server.signal("TERM");
    let outcome = server.wait();
    assert_eq!((outcome.code, &*outcome.stderr), (Some(143), ""));
}
