//! Two hosts on this machine with a slow link between them, by `scripts/hosts` of Suiro's sources.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The private folders of each host.
const OWN_FOLDERS: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];

/// Two hosts. Dropping it ends them, and so does the end of this process.
pub(super) struct Sites {
    script: PathBuf,
    instance: String,
}

impl Sites {
    /// Starts two hosts with this link, such as `10ms,100Mbit`; `needed` are files that both must see.
    ///
    /// # Errors
    /// A sentence: there is no script, this machine permits no hosts, or the link is none.
    pub(super) fn start(script: &Path, link: &str, needed: &[&Path]) -> Result<Self, String> {
        let script =
            script.canonicalize().map_err(|error| format!("{}: {error}", script.display()))?;
        let sites = Self { script, instance: format!("npb{}", std::process::id()) };
        let process = std::process::id().to_string();
        let mut up = sites.command("up");
        up.args(["2", "--wan", link, "--while", &process]);
        for path in needed.iter().filter_map(|path| path.canonicalize().ok()) {
            if OWN_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
                up.arg("--share").arg(path);
            }
        }
        let output = up.output().map_err(|error| format!("{}: {error}", sites.script.display()))?;
        if output.status.success() {
            return Ok(sites);
        }
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.script);
        command.args(["-i", &self.instance, verb]).stdin(Stdio::null());
        command
    }

    /// The same command on a host, from 0.
    pub(super) fn on(&self, host: usize, command: &Command) -> Command {
        let mut there = self.command("exec");
        there.arg(format!("node{}", host + 1)).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => there.env(name, value),
                None => there.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            there.current_dir(folder);
        }
        there
    }
}

impl Drop for Sites {
    fn drop(&mut self) {
        // If it has not started, there is nothing to end.
        let _ = self.command("down").stderr(Stdio::null()).status();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_on_a_host_has_its_arguments_and_variables() {
        let sites = Sites { script: "/bin/true".into(), instance: "none".to_owned() };
        let mut command = Command::new("mpirun");
        command.args(["-n", "2"]).env("SUIRO_DEVICE", "tcp").current_dir("/usr");
        let there = sites.on(1, &command);
        let words: Vec<_> = there.get_args().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(words, ["-i", "none", "exec", "node2", "mpirun", "-n", "2"]);
        assert!(there.get_envs().any(|it| it == ("SUIRO_DEVICE".as_ref(), Some("tcp".as_ref()))));
        assert_eq!(there.get_current_dir(), Some(Path::new("/usr")));
    }

    #[test]
    fn a_missing_script_is_named() {
        let error = Sites::start(Path::new("/nowhere/hosts"), "10ms,100Mbit", &[]).err().unwrap();
        assert!(error.starts_with("/nowhere/hosts: "), "{error}");
    }
}
