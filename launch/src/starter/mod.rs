//! The commands that start agents on other hosts, as values. No command runs here.
//!
//! ```text
//!   options, environment, allocation --choose--> Starter --command(host, agent)--> words
//!   hosts --tree--> children of each agent
//! ```
//!
//! The standard input and output of the command should be those of the agent: the head and the agent
//! talk over them, so nothing listens on a port, and the secret of the job is in no argument and no
//! variable. Else the agent calls back ([`call`](crate::control)). No command may ask the user: nobody
//! would answer.
//!
//! | starter | command | takes the agent's command line as |
//! |---|---|---|
//! | ssh, rsh, or a command like them | `ssh [options] [-l USER] [-p PORT] HOST COMMAND` | one word for a shell |
//! | Slurm | `srun --nodes=1 --nodelist=HOST ... COMMAND` | words |
//! | Grid Engine | `qrsh -inherit HOST COMMAND` | words for a shell |
//! | LSF | `blaunch HOST COMMAND` | words |
//! | PBS | `pbs_tmrsh HOST COMMAND`, without which `pbsdsh -h HOST COMMAND`; neither passes input on | words |
//!
//! Sources: the manuals of ssh, srun, qrsh ("-inherit"), blaunch, pbs_tmrsh and pbsdsh (that of Torque has
//! `-h`); the launchers of MPICH's hydra and
//! of PRRTE, whose option names and variables are accepted; the MPI Operator of Kubernetes, which sets
//! them (`pkg/controller`).

mod choose;
pub(crate) mod options;
pub(crate) mod tree;

pub(crate) use choose::{StarterRequest, names};

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::hosts::JobHost;
use crate::{LaunchError, USAGE};

/// How agents are started on other hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Starter {
    pub kind: StarterKind,
    /// The program with its first arguments.
    pub program: Vec<OsString>,
    /// Further arguments of the user, before those of this module.
    pub extra: Vec<OsString>,
    /// The option or variable that decided, for messages.
    pub source: String,
    /// The folder of the installation on other hosts, if it is another one than here.
    pub prefix: Option<OsString>,
    /// The number of agents that one process starts at most, if agents start others.
    pub fan_out: Option<usize>,
}

/// The form of a command that starts an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StarterKind {
    /// `ssh`, `rsh`, or a command with the same form.
    Shell,
    Slurm,
    GridEngine,
    Lsf,
    Pbs,
    /// Only processes of this host.
    Fork,
}

/// Options of ssh: it asks no question, and a host that does not answer is an error soon. Terminals,
/// forwarded ports and X11, which a user's `~/.ssh/config` may request, are off: a terminal changes
/// bytes, and a port can be forwarded for one host only. Banners are not printed, errors are.
const SSH_OPTIONS: &[&str] = &[
    "-xT",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=20",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    "LogLevel=ERROR",
];

/// A step of one task on one node of the allocation, beside other steps, with the processors of the
/// node. Without `--unbuffered`, srun holds output back until a line ends.
const SLURM_OPTIONS: &[&str] = &[
    "--nodes=1",
    "--ntasks=1",
    "--ntasks-per-node=1",
    "--overlap",
    "--cpu-bind=none",
    "--mpi=none",
    "--kill-on-bad-exit=1",
    "--unbuffered",
    "--quiet",
];

impl Starter {
    /// The command that runs `agent` on `host`, the program first.
    ///
    /// # Errors
    /// The starter cannot do what the list of hosts requests.
    pub(crate) fn command(
        &self, host: &JobHost, agent: &[OsString],
    ) -> Result<Vec<OsString>, LaunchError> {
        let mut words = self.program.clone();
        words.extend(self.extra.iter().cloned());
        match self.kind {
            StarterKind::Shell => self.of_shell(&mut words, host, agent)?,
            StarterKind::Slurm => {
                self.refuse_user(host)?;
                words.extend(SLURM_OPTIONS.iter().map(OsString::from));
                words.push(format!("--nodelist={}", host.name).into());
                words.extend(agent.iter().cloned());
            }
            StarterKind::GridEngine => {
                self.refuse_user(host)?;
                words.extend(["-inherit".into(), OsString::from(&host.name)]);
                for word in agent {
                    words.push(quoted(std::slice::from_ref(word))?);
                }
            }
            StarterKind::Lsf => {
                self.refuse_user(host)?;
                words.push(OsString::from(&host.name));
                words.extend(agent.iter().cloned());
            }
            StarterKind::Pbs => {
                self.refuse_user(host)?;
                if self.program_name() == "pbsdsh" {
                    words.push("-h".into());
                }
                words.push(OsString::from(&host.name));
                words.extend(agent.iter().cloned());
            }
            StarterKind::Fork => {
                let why = format!(
                    "{}: fork starts processes on this host only; {} is another host",
                    self.source, host.name
                );
                return Err(LaunchError::new(USAGE, why));
            }
        }
        Ok(words)
    }

    /// Whether standard input of the command may be that of the agent.
    pub(crate) fn passes_input(&self) -> bool {
        self.kind != StarterKind::Pbs
    }

    /// Whether the command is known to run as long as the agent.
    pub(crate) fn is_attached(&self) -> bool {
        match self.kind {
            StarterKind::Shell => self.is_ssh(),
            StarterKind::Slurm
            | StarterKind::GridEngine
            | StarterKind::Lsf
            | StarterKind::Pbs
            | StarterKind::Fork => true,
        }
    }

    fn of_shell(
        &self, words: &mut Vec<OsString>, host: &JobHost, agent: &[OsString],
    ) -> Result<(), LaunchError> {
        let is_ssh = self.is_ssh();
        if is_ssh {
            // The first of two contradicting options wins: that of the user.
            words.extend(SSH_OPTIONS.iter().map(OsString::from));
        }
        if let Some(port) = host.port {
            if !is_ssh {
                let program = self.program_name().to_string_lossy();
                let why = format!("{}: port={port}: {program} is not ssh", host.source);
                return Err(LaunchError::new(USAGE, why));
            }
            words.extend(["-p".into(), port.to_string().into()]);
        }
        if let Some(user) = &host.user {
            words.extend(["-l".into(), user.into()]);
        }
        words.push(OsString::from(&host.name));
        words.push(quoted(agent)?);
        Ok(())
    }

    /// The agents of a resource manager run as the user of the job.
    fn refuse_user(&self, host: &JobHost) -> Result<(), LaunchError> {
        let wish = match (&host.user, host.port) {
            (Some(user), _) => format!("user {user}"),
            (None, Some(port)) => format!("port {port}"),
            (None, None) => return Ok(()),
        };
        let program = self.program_name().to_string_lossy();
        let why = format!(
            "{}: {program} cannot start processes with {wish}; use -launcher ssh",
            host.source
        );
        Err(LaunchError::new(USAGE, why))
    }

    /// The program of the agents; `own` is that of the launcher.
    pub(crate) fn agent_program(&self, own: &Path) -> PathBuf {
        match &self.prefix {
            Some(prefix) => Path::new(prefix).join("bin/mpirun"),
            None => own.to_owned(),
        }
    }

    /// Whether a name stands for a machine. A command of the user may start several agents on one
    /// machine, to have several hosts there.
    pub(crate) fn reaches_machines(&self) -> bool {
        self.kind != StarterKind::Shell
            || ["ssh", "rsh"].iter().any(|one| self.program_name() == *one)
    }

    fn is_ssh(&self) -> bool {
        self.program_name() == "ssh"
    }

    fn program_name(&self) -> &OsStr {
        let program = self.program.first().map_or(OsStr::new(""), OsString::as_os_str);
        Path::new(program).file_name().unwrap_or(program)
    }
}

/// One word that a shell splits into `words` again.
///
/// # Errors
/// A word has a zero byte.
fn quoted(words: &[OsString]) -> Result<OsString, LaunchError> {
    let quoted = shlex::bytes::try_join(words.iter().map(|word| word.as_bytes()));
    quoted.map(OsString::from_vec).map_err(|error| LaunchError::new(USAGE, error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn starter(kind: StarterKind, program: &str) -> Starter {
        Starter {
            kind,
            program: vec![program.into()],
            extra: Vec::new(),
            source: "-launcher".to_owned(),
            prefix: None,
            fan_out: None,
        }
    }

    fn line(starter: &Starter, host: &JobHost) -> String {
        let agent = ["/opt/my mpi/mpirun".into(), "--agent".into()];
        match starter.command(host, &agent) {
            Ok(words) => words.join(OsStr::new("|")).into_string().unwrap(),
            Err(error) => error.why,
        }
    }

    fn host(user: Option<&str>, port: Option<u16>) -> JobHost {
        let source = "-f hosts, line 2".to_owned();
        JobHost { name: "b".into(), user: user.map(Into::into), port, source, ..JobHost::default() }
    }

    #[test]
    fn every_system_has_its_command() {
        let plain = host(None, None);
        for (kind, program, expected) in [
            (
                StarterKind::Shell,
                "/usr/bin/ssh",
                "/usr/bin/ssh|-xT|-o|BatchMode=yes|-o|ConnectTimeout=20|-o|ClearAllForwardings=yes|-o|\
                 LogLevel=ERROR|b|'/opt/my mpi/mpirun' --agent",
            ),
            (
                StarterKind::Shell,
                "/etc/mpi/kubexec.sh",
                "/etc/mpi/kubexec.sh|b|'/opt/my mpi/mpirun' --agent",
            ),
            (
                StarterKind::Slurm,
                "srun",
                "srun|--nodes=1|--ntasks=1|--ntasks-per-node=1|--overlap|--cpu-bind=none|--mpi=none|\
                 --kill-on-bad-exit=1|--unbuffered|--quiet|--nodelist=b|/opt/my mpi/mpirun|--agent",
            ),
            (StarterKind::GridEngine, "qrsh", "qrsh|-inherit|b|'/opt/my mpi/mpirun'|--agent"),
            (StarterKind::Lsf, "blaunch", "blaunch|b|/opt/my mpi/mpirun|--agent"),
            (StarterKind::Pbs, "pbs_tmrsh", "pbs_tmrsh|b|/opt/my mpi/mpirun|--agent"),
            (StarterKind::Pbs, "/opt/pbsdsh", "/opt/pbsdsh|-h|b|/opt/my mpi/mpirun|--agent"),
            (
                StarterKind::Fork,
                "",
                "-launcher: fork starts processes on this host only; b is another host",
            ),
        ] {
            assert_eq!(line(&starter(kind, program), &plain), expected);
        }
    }

    #[test]
    fn a_prefix_is_that_of_other_hosts() {
        let mut ssh = starter(StarterKind::Shell, "ssh");
        let own = Path::new("/here/bin/mpirun");
        assert_eq!(ssh.agent_program(own), own);
        ssh.prefix = Some("/there".into());
        assert_eq!(ssh.agent_program(own), Path::new("/there/bin/mpirun"));
    }

    #[test]
    fn users_and_ports_are_those_of_the_host_or_an_error() {
        let bob = host(Some("bob"), Some(2222));
        let mut ssh = starter(StarterKind::Shell, "ssh");
        ssh.extra = vec!["-o".into(), "BatchMode=no".into()];
        assert_eq!(
            line(&ssh, &bob),
            "ssh|-o|BatchMode=no|-xT|-o|BatchMode=yes|-o|ConnectTimeout=20|-o|ClearAllForwardings=yes|\
             -o|LogLevel=ERROR|-p|2222|-l|bob|b|\
             '/opt/my mpi/mpirun' --agent"
        );
        let rsh = starter(StarterKind::Shell, "rsh");
        assert_eq!(
            line(&rsh, &host(Some("bob"), None)),
            "rsh|-l|bob|b|'/opt/my mpi/mpirun' --agent"
        );
        assert_eq!(line(&rsh, &bob), "-f hosts, line 2: port=2222: rsh is not ssh");
        let srun = starter(StarterKind::Slurm, "srun");
        assert_eq!(
            line(&srun, &bob),
            "-f hosts, line 2: srun cannot start processes with user bob; use -launcher ssh"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_shell_gives_the_words_back(words in vec(vec(1_u8..=255, 0..12), 1..5)) {
            let words: Vec<_> = words.into_iter().map(OsString::from_vec).collect();
            let mut agent = vec![OsString::from("printf"), OsString::from("%s\\0")];
            agent.extend(words.iter().cloned());
            let command = starter(StarterKind::Shell, "rsh").command(&host(None, None), &agent).unwrap();
            let output = Command::new("sh").arg("-c").arg(&command[2]).output().unwrap();
            let expected: Vec<u8> =
                words.iter().flat_map(|word| [word.as_bytes(), &[0]].concat()).collect();
            prop_assert_eq!(output.stdout, expected);
        }
    }

    #[test]
    fn words_of_a_shell_keep_quotes_spaces_and_line_ends() {
        for word in
            ["a b", "a'b", "a\"b", "$HOME `id`", "a\nb", "\\", "", "~", "*", "!x", "a;b&c|d"]
        {
            let command = [OsString::from("printf"), "%s".into(), word.into()];
            let output =
                Command::new("sh").arg("-c").arg(quoted(&command).unwrap()).output().unwrap();
            assert_eq!(output.stdout, word.as_bytes(), "{word:?}");
        }
    }
}
