//! Jobs that ranks start: output, exit codes, ends, and published names.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use platform::bootstrap::{
    Client, Environment, SpawnCommand, SpawnRequest, SpawnState, start_detached,
};

use super::harness::{
    Outcome, Running, built, folder, marked, mpirun, parent, quoted, signal_process, start, until,
};
use super::names::{lookup_name, publish_name, unpublish_name};
use super::role::{ROLE, own_words, words};
use super::starters::script;

/// The shell script that the role `spawn` starts, its number of processes, and what the role does then.
const SCRIPT: &str = "SUIRO_TEST_SCRIPT";
const COUNT: &str = "SUIRO_TEST_COUNT";
const THEN: &str = "SUIRO_TEST_THEN";

/// The port of the parents in these tests.
const PORT: &str = "port 1;$x";

fn request(command: SpawnCommand) -> SpawnRequest {
    SpawnRequest { commands: vec![command], parent_port: PORT.to_owned() }
}

fn shell(script: &str, processes: u32) -> SpawnCommand {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    SpawnCommand { program: "sh".to_owned(), arguments, processes, info: Vec::new() }
}

/// The command that the environment of the role requests.
fn requested() -> SpawnRequest {
    let count = env::var(COUNT).unwrap().parse().unwrap();
    request(shell(&env::var(SCRIPT).unwrap(), count))
}

/// Rank 0 starts a job.
pub fn spawn(client: &mut Client) {
    if client.attributes().rank == 0 {
        let number = client.spawn(&requested()).unwrap();
        assert!(client.spawn_state(number + 1).unwrap_err().why.contains("no spawned job"));
        match env::var(THEN).unwrap().as_str() {
            "nothing" => {}
            "state" => println!("{}", ended(|| client.spawn_state(number).unwrap())),
            "disconnect" => client.spawn_disconnected(number).unwrap(),
            _ => thread::sleep(Duration::from_secs(600)),
        }
    }
    client.barrier().unwrap();
}

/// Waits for the end of a job; its code and the reason.
fn ended(mut state: impl FnMut() -> SpawnState) -> String {
    loop {
        if let SpawnState::Ended { code, why } = state() {
            return format!("ended {code}: {why}");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A process without a launcher starts a job.
pub fn detached() -> ! {
    let mut spawned = start_detached(&requested()).unwrap();
    match env::var(THEN).unwrap().as_str() {
        "state" => println!("{}", ended(|| spawned.state())),
        "disconnect" => {
            spawned.disconnected();
            while spawned.state() == SpawnState::Starting {
                thread::sleep(Duration::from_millis(10));
            }
        }
        _ => thread::sleep(Duration::from_secs(600)),
    }
    process::exit(0);
}

/// Rank 0 publishes names of any characters, the last rank finds them.
pub fn names(client: &mut Client) {
    let names = ["a", "name of two\nlines", "é\\ % port=x;"];
    let (rank, last) = (client.attributes().rank, client.attributes().size - 1);
    for name in names.iter().filter(|_| rank == 0) {
        publish_name(client, name, &format!("port of {name}"));
    }
    client.barrier().unwrap();
    for name in names.iter().filter(|_| rank == last) {
        assert_eq!(lookup_name(client, name), Some(format!("port of {name}")));
        println!("found {name:?}");
    }
    client.barrier().unwrap();
    // Hydra lets only the publisher remove a name.
    for name in names.iter().filter(|_| rank == 0) {
        assert!(unpublish_name(client, name) && !unpublish_name(client, name));
        assert_eq!(lookup_name(client, name), None);
    }
    client.barrier().unwrap();
}

/// Publishes a name, starts a job in the role `lookup`, and waits for the name that it publishes.
pub fn publish(client: &mut Client) {
    let rank = client.attributes().rank;
    if rank == 0 {
        publish_name(client, "name of the parents", PORT);
    }
    client.barrier().unwrap();
    if rank + 1 == client.attributes().size {
        let mut words = own_words().into_iter();
        let program = words.next().unwrap();
        let info = vec![("env".to_owned(), format!("{ROLE}=lookup"))];
        let command = SpawnCommand { program, arguments: words.collect(), processes: 2, info };
        client.spawn(&request(command)).unwrap();
        let port = loop {
            if let Some(port) = lookup_name(client, "name of the children") {
                break port;
            }
            thread::sleep(Duration::from_millis(10));
        };
        println!("parent found {port}");
        assert!(unpublish_name(client, "name of the children"));
        assert!(!unpublish_name(client, "name of the children"));
    }
    client.barrier().unwrap();
}

/// A rank of the job that [`publish`] starts.
pub fn lookup(environment: &Environment, client: &mut Client) {
    assert_eq!(environment.parent_port.as_deref(), Some(PORT));
    println!("child found {}", lookup_name(client, "name of the parents").unwrap());
    if client.attributes().rank == 1 {
        publish_name(client, "name of the children", "port 2");
        // The name ends with this job: until the parents have found and removed it.
        until(|| lookup_name(client, "name of the children").is_none().then_some(()));
    }
    client.barrier().unwrap();
}

/// The command of a job of one rank in the role `spawn`.
fn spawning(count: &str, script: &str, then: &str) -> Command {
    let mut command = mpirun(&words(count, "spawn"));
    command.env(SCRIPT, script).env(COUNT, "2").env(THEN, then);
    command
}

fn spawned(script: &str, then: &str) -> Outcome {
    start(spawning("2", script, then)).wait()
}

/// A process without a launcher in the role `detached`.
fn detaching(script: &str, then: &str) -> Command {
    let own = own_words();
    let mut command = marked(&own[0]);
    command.args(&own[1..]).env(ROLE, "detached");
    command.env(SCRIPT, script).env(COUNT, "2").env(THEN, then);
    let folder = PathBuf::from(built("mpirun"));
    let path = format!("{}:{}", folder.parent().unwrap().display(), env::var("PATH").unwrap());
    command.env("PATH", path);
    command
}

#[test]
fn children_have_the_port_and_write_to_the_same_output() {
    let script = "echo child $PMI_RANK of $PMI_SIZE: \"$SUIRO_PARENT_PORT\" $SUIRO_PARENT_LINK";
    for then in ["nothing", "disconnect"] {
        let outcome = spawned(script, then);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(outcome.stderr, "");
        let lines: Vec<_> =
            outcome.lines().into_iter().filter(|line| line.starts_with("child")).collect();
        assert_eq!(lines, [0, 1].map(|rank| format!("child {rank} of 2: {PORT}")));
    }
}

#[test]
fn a_program_that_a_child_starts_by_mpirun_has_no_parents() {
    let script = format!("{} -n 1 sh -c 'echo \"[$SUIRO_PARENT_PORT]\"'", built("mpirun"));
    let outcome = spawned(&script, "nothing");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.text().matches("[]").count(), 2, "{}", outcome.text());
}

#[test]
fn a_failed_child_ends_the_job_with_its_code() {
    let outcome = start(spawning("2", "exit 3", "wait")).wait();
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let line = "mpirun: the spawned job 0 (mpirun process ";
    assert!(outcome.stderr.starts_with(line), "{}", outcome.stderr);
    assert!(
        outcome.stderr.ends_with(") ended with code 3; ending the job\n"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_failed_child_that_is_disconnected_does_not_end_the_job() {
    let outcome = spawned("sleep 0.3; exit 3", "disconnect");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "");
}

#[test]
fn a_program_that_cannot_be_started_fails_the_call_and_not_the_job() {
    let mut command = mpirun(&words("1", "spawn"));
    command.env(SCRIPT, "x\"").env(COUNT, "2").env(THEN, "state").env("PATH", "/nowhere");
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.text().contains("ended 127: cannot start sh: program not found"),
        "{}",
        outcome.text()
    );
}

#[test]
fn mpirun_waits_for_children_and_marks_their_lines_as_its_own() {
    let options = ["-l", "--output", "file=of-parents,nocopy"].map(str::to_owned).to_vec();
    let folder = folder("launch-spawn-wait");
    let mut command = mpirun(&[options, words("1", "spawn")].concat());
    command.env(SCRIPT, "sleep 0.5; echo late").env(COUNT, "2").env(THEN, "nothing");
    command.current_dir(&folder);
    let outcome = start(command).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines(), ["[0] late", "[1] late"]);
    let files = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name());
    let mut files: Vec<_> = files.collect();
    files.sort();
    assert_eq!(files, ["of-parents.0.err", "of-parents.0.out"]);
}

/// Children that run for long, once both run.
fn sleeping() -> Running {
    let running = start(spawning("1", "echo ready; exec sleep 100", "wait"));
    running.until_output(|text| (text.matches("ready").count() == 2).then_some(()));
    running
}

#[test]
fn children_end_with_the_first_mpirun() {
    for (signal, code) in [("TERM", Some(143)), ("INT", Some(130)), ("KILL", None)] {
        let running = sleeping();
        running.signal(signal);
        let (took, outcome) = running.wait_from(Instant::now());
        assert_eq!(outcome.code, code, "{signal}: {}", outcome.stderr);
        assert!(took < Duration::from_secs(10), "{signal}: {took:?}");
    }
}

/// Options for two hosts, which are this machine, and a search path for the command that starts the agents.
pub fn two_hosts(folder: &Path) -> (Vec<String>, String) {
    script(folder, "LOCAL", "echo >>STARTED\nshift\nexec sh -c \"$*\"\n");
    let words = ["-host", "localhost:1,198.51.100.1:1", "-launcher-exec", "LOCAL"];
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    (words.map(str::to_owned).into(), path)
}

#[test]
fn children_end_on_all_hosts_with_all_processes_of_the_first_mpirun() {
    let (hosts, path) = two_hosts(&folder("launch-spawn-end"));
    for options in [Vec::new(), hosts] {
        let mut command = mpirun(&[options, words("2", "spawn")].concat());
        command.env("PATH", &path).env(SCRIPT, "echo ready; exec sleep 100");
        command.env(COUNT, "2").env(THEN, "wait");
        let running = start(command);
        running.until_output(|text| (text.matches("ready").count() == 2).then_some(()));
        let job_loop = running.job_loop();
        // Neither process can do anything for the children.
        running.signal("STOP");
        signal_process(job_loop, "KILL");
        running.signal("KILL");
        let (took, outcome) = running.wait_from(Instant::now());
        assert!(outcome.code.is_none() && took < Duration::from_secs(20), "{took:?}");
    }
}

#[test]
fn children_end_after_a_failure_and_at_the_time_limit() {
    let script = "echo ready; exec sleep 100";
    let mut command =
        mpirun(&[vec!["--timeout".to_owned(), "2".to_owned()], words("1", "spawn")].concat());
    command.env(SCRIPT, script).env(COUNT, "2").env(THEN, "wait");
    assert_eq!(start(command).wait().code, Some(124));
    let running = sleeping();
    let job_loop = running.job_loop();
    let is_rank = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        parent(*pid) == Some(job_loop) && words.starts_with(own_words()[0].as_bytes())
    };
    let rank = until(|| running.processes().into_iter().find(is_rank));
    signal_process(rank, "KILL");
    assert_eq!(running.wait().code, Some(137));
}

#[test]
fn names_of_any_characters_are_found_by_other_ranks() {
    let outcome = start(mpirun(&words("3", "names"))).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.text().matches("found \"").count(), 3, "{}", outcome.text());
}

#[test]
fn names_are_shared_by_a_job_and_its_children() {
    let folder = folder("launch-spawn-names");
    let (hosts, path) = two_hosts(&folder);
    for options in [Vec::new(), hosts] {
        let is_remote = !options.is_empty();
        let mut command = mpirun(&[options, words("2", "publish")].concat());
        command.env("PATH", &path);
        let outcome = start(command).wait();
        assert_eq!(outcome.code, Some(0), "{}\n{}", outcome.text(), outcome.stderr);
        let count = |line: &str| outcome.text().matches(line).count();
        let counts = (count(&format!("child found {PORT}")), count("parent found port 2"));
        assert_eq!(counts, (2, 1), "{}", outcome.text());
        // Both jobs have a rank on the other host.
        let agents = fs::read_to_string(folder.join("started")).unwrap_or_default();
        assert_eq!(agents.lines().count(), if is_remote { 2 } else { 0 });
    }
}

#[test]
fn children_have_children_and_all_of_them_the_same_names() {
    let own: Vec<_> = own_words().iter().map(|word| quoted(word)).collect();
    let script = format!("{ROLE}=publish exec {}", own.join(" "));
    let outcome = spawned(&script, "nothing");
    assert_eq!(outcome.code, Some(0), "{}\n{}", outcome.text(), outcome.stderr);
    let count = |line: &str| outcome.text().matches(line).count();
    let counts = (count(&format!("child found {PORT}")), count("parent found port 2"));
    assert_eq!(counts, (2, 1), "{}", outcome.text());
}

#[test]
fn a_process_without_a_launcher_starts_a_job_of_its_own() {
    let outcome =
        start(detaching("echo child $PMI_RANK \"$SUIRO_PARENT_PORT\"; exit 3", "state")).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for line in ["child 0", "child 1"] {
        assert!(outcome.text().contains(&format!("{line} {PORT}\n")), "{}", outcome.text());
    }
    assert!(outcome.text().contains("ended 3: the spawned processes"), "{}", outcome.text());
}

#[test]
fn a_job_without_a_launcher_ends_with_its_process_unless_it_is_disconnected() {
    let running = start(detaching("echo ready; exec sleep 100", "wait"));
    running.until_output(|text| (text.matches("ready").count() == 2).then_some(()));
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    let outcome = start(detaching("sleep 0.5; echo later", "disconnect")).wait();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.text().matches("later\n").count(), 2, "{}", outcome.text());
}
