//! A cluster of hosts on this machine, and jobs on it under MPICH's launcher.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::harness::{self, Running, root};

/// Makes the peer's installation if necessary, and prints its folder.
const MPICH: &str = ". scripts/tools && folder=$(build_folder) && \
    scripts/environment \"$folder/peers/mpich\" mpich >&2 && echo \"$folder/peers/mpich\"";

/// Hosts with a network of their own: `node1`, `node2`, and so on. Dropping it ends them, and so does
/// the end of this process.
pub struct Hosts {
    instance: String,
    mpich: PathBuf,
}

fn script() -> PathBuf {
    root().join("scripts/hosts")
}

/// The folder of MPICH's pip package.
fn mpich() -> PathBuf {
    // Tests are concurrent processes, and one of them makes the folder.
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpich.lock")).unwrap();
    lock.lock().unwrap();
    let output = Command::new("sh").args(["-c", MPICH]).current_dir(root()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "MPICH cannot be installed:\n{errors}");
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

impl Hosts {
    /// Starts so many hosts; `None`, after saying so, where this machine does not permit it.
    pub fn up(count: u32) -> Option<Self> {
        Self::up_with(count, &[])
    }

    /// As [`up`](Self::up), with more options of `scripts/hosts up`.
    pub fn up_with(count: u32, options: &[&str]) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let check = Command::new(script()).arg("check").output().unwrap();
        if !check.status.success() {
            println!("skipped: {}", String::from_utf8_lossy(&check.stderr).trim());
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let instance = format!("test{}-{number}", std::process::id());
        let hosts = Self { instance, mpich: mpich() };
        let mut command = hosts.command("up");
        command
            .args([&count.to_string(), "--while", &std::process::id().to_string()])
            .args(options);
        for folder in hosts.shared() {
            command.arg("--share").arg(folder);
        }
        succeeded(&mut command);
        Some(hosts)
    }

    /// The command `scripts/hosts verb` for these hosts.
    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(script());
        command.args(["-i", &self.instance, verb]).stdin(Stdio::null());
        command
    }

    /// Runs `scripts/hosts words` for these hosts.
    pub fn run(&self, words: &[&str]) -> Output {
        succeeded(self.command(words[0]).args(&words[1..]))
    }

    /// Starts a real sshd on each host; false, after saying so, where this machine has none.
    pub fn sshd(&self) -> bool {
        let output = self.command("sshd").output().unwrap();
        let has_started = output.status.success();
        if !has_started {
            println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        has_started
    }

    /// The command `mpirun words` of this library on the first host, where `ssh` reaches the others.
    pub fn mpirun_by_ssh(&self, words: &[&str]) -> Command {
        let mut command = harness::marked(script().to_str().unwrap());
        command.args(["-i", &self.instance, "exec", "node1", &harness::built("mpirun")]);
        command.args(words);
        command
    }

    /// The command `mpiexec words` on the first host, with so many ranks on each of `count` hosts.
    pub fn mpiexec(&self, count: u32, ranks: u32, words: &[&str]) -> Command {
        let names: Vec<_> = (1..=count).map(|host| format!("node{host}")).collect();
        let mut command = harness::marked(script().to_str().unwrap());
        command.args(["-i", &self.instance, "exec", "node1"]).arg(self.mpich.join("bin/mpiexec"));
        command.args(["-launcher-exec", "/run/hosts/bin/hosts-ssh", "-hosts", &names.join(",")]);
        command.args(["-ppn", &ranks.to_string(), "-n", &(count * ranks).to_string()]).args(words);
        command
    }

    /// The command `mpirun words` of this library on the first host, with so many ranks on each of
    /// `count` hosts.
    pub fn mpirun(&self, count: u32, ranks: u32, words: &[&str]) -> Command {
        let names: Vec<_> = (1..=count).map(|host| format!("node{host}:{ranks}")).collect();
        let mut command = harness::marked(script().to_str().unwrap());
        command.args(["-i", &self.instance, "exec", "node1", &harness::built("mpirun")]);
        command.args(["-launcher-exec", "/run/hosts/bin/hosts-ssh", "-host", &names.join(",")]);
        command.args(words);
        command
    }

    /// Starts a command on a host, which ends with the result.
    pub fn start(&self, host: &str, words: &[&str]) -> Running {
        let mut command = harness::marked(script().to_str().unwrap());
        command.args(["-i", &self.instance, "exec", host]).args(words);
        harness::start(command)
    }

    /// The files of a host in the folders where jobs create files.
    pub fn files(&self, host: &str) -> Vec<String> {
        let folders = ["/dev/shm", "/tmp", "-mindepth", "1", "-maxdepth", "1"];
        let output = self.run(&[&["exec", host, "find"], &folders[..]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        // Of others are the shared folders, and what this launcher leaves when a job ends early.
        let is_shared = |line: &str| self.shared().iter().any(|folder| folder.starts_with(line));
        let is_of_jobs = |line: &&str| !is_shared(line) && !line.starts_with("/tmp/hydra_hwloc");
        text.lines().filter(is_of_jobs).map(str::to_owned).collect()
    }

    /// The folders that are visible on the hosts even in /tmp.
    fn shared(&self) -> [&Path; 3] {
        [root(), Path::new(env!("CARGO_TARGET_TMPDIR")), &self.mpich]
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = self.command("down").stderr(Stdio::null()).status();
    }
}

fn succeeded(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    output
}

/// Whether a started process has exited. A look for its processes may miss one in the middle of
/// `exec`, whose environment is empty for a moment.
pub fn has_ended(running: &Running) -> bool {
    harness::state(running.pid()) == Some('Z')
}
