//! Which starter a job has.
//!
//! ```text
//!   1. the options -launcher-exec, -launcher, or --mca plm_rsh_agent
//!   2. the variables of Open MPI, MPICH and Intel MPI for them
//!   3. the system that has allocated the hosts, if its command is installed
//!   4. ssh
//! ```

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::control::PBS_COOKIE;
use crate::hosts::EnvironmentLookup;
use crate::{LaunchError, USAGE};

use super::tree::FAN_OUT;
use super::{Starter, StarterKind};

/// What options and variables say about the starter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StarterRequest {
    /// The kind, and the option.
    kind: Option<(NamedStarter, String)>,
    /// The command instead of the usual one, of which the first that is installed is taken, and the
    /// option.
    command: Option<(Vec<Vec<OsString>>, String)>,
    extra: Option<Vec<OsString>>,
    prefix: Option<OsString>,
    /// The launcher is to start all agents itself.
    without_tree: bool,
}

/// What a name of `-launcher` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedStarter {
    /// With its program, if that is not the usual one.
    Known(StarterKind, Option<&'static str>),
    /// Without effect on this host, and an error with other hosts.
    Refused(&'static str),
}

/// Names of `-launcher` in MPICH and Intel MPI.
const NAMES: &[(&str, NamedStarter)] = &[
    ("ssh", NamedStarter::Known(StarterKind::Shell, None)),
    ("rsh", NamedStarter::Known(StarterKind::Shell, Some("rsh"))),
    ("slurm", NamedStarter::Known(StarterKind::Slurm, None)),
    ("srun", NamedStarter::Known(StarterKind::Slurm, None)),
    ("sge", NamedStarter::Known(StarterKind::GridEngine, None)),
    ("qrsh", NamedStarter::Known(StarterKind::GridEngine, None)),
    ("lsf", NamedStarter::Known(StarterKind::Lsf, None)),
    ("blaunch", NamedStarter::Known(StarterKind::Lsf, None)),
    ("fork", NamedStarter::Known(StarterKind::Fork, None)),
    ("pbs", NamedStarter::Known(StarterKind::Pbs, None)),
    ("pbsdsh", NamedStarter::Known(StarterKind::Pbs, Some(PBSDSH))),
    ("pbs_tmrsh", NamedStarter::Known(StarterKind::Pbs, Some("pbs_tmrsh"))),
    ("pdsh", NamedStarter::Refused("it mixes the output of hosts; use ssh")),
    ("ll", NamedStarter::Refused("LoadLeveler is not supported; use ssh")),
    ("manual", NamedStarter::Refused("use -launcher-exec with a command of your own")),
    ("persist", NamedStarter::Refused("there is no persistent server; use ssh")),
];

/// The command of Torque; PBS Professional has another of this name, and `pbs_tmrsh`.
const PBSDSH: &str = "pbsdsh";

/// Variables with a command in place of ssh.
const COMMANDS: &[&str] = &[
    "OMPI_MCA_plm_rsh_agent",
    "OMPI_MCA_plm_ssh_agent",
    "PRTE_MCA_plm_ssh_agent",
    "PRTE_MCA_plm_rsh_agent",
    "HYDRA_LAUNCHER_EXEC",
    "HYDRA_BOOTSTRAP_EXEC",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
];

/// Variables with a name of [`NAMES`].
const KINDS: &[&str] = &["HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP"];

/// Variables with a name of [`COMPONENTS`].
const COMPONENT_KINDS: &[&str] = &["OMPI_MCA_plm", "PRTE_MCA_plm"];

/// Components of Open MPI that start its daemons, by the names of [`NAMES`].
const COMPONENTS: &[(&str, &str)] = &[
    ("rsh", "ssh"),
    ("ssh", "ssh"),
    ("slurm", "slurm"),
    ("lsf", "lsf"),
    ("tm", "pbs"),
    ("isolated", "fork"),
];

/// Variables with further arguments, of this starter only if there is one. The misspelled one is set by
/// the MPI Operator.
const EXTRA: &[(&str, Option<StarterKind>)] = &[
    ("OMPI_MCA_plm_rsh_args", Some(StarterKind::Shell)),
    ("OMPI_MCA_plm_ssh_args", Some(StarterKind::Shell)),
    ("PRTE_MCA_plm_ssh_args", Some(StarterKind::Shell)),
    ("OMPI_MCA_plm_slurm_args", Some(StarterKind::Slurm)),
    ("PRTE_MCA_plm_slurm_args", Some(StarterKind::Slurm)),
    ("HYDRA_LAUNCH_EXTRA_ARGS", None),
    ("HYDRA_LAUNCHER_EXTRA_ARGS", None),
    ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", None),
];

/// Variables by which the launcher starts all agents itself.
const WITHOUT_TREE: &[&str] = &[
    "OMPI_MCA_plm_rsh_no_tree_spawn",
    "OMPI_MCA_plm_ssh_no_tree_spawn",
    "PRTE_MCA_plm_ssh_no_tree_spawn",
];

const FAN_OUT_SETTING: &str = "SUIRO_START_FAN_OUT";

/// Daemons of Open MPI, which its `--launch-agent` names.
const DAEMONS: &[&str] = &["prted", "orted", "prte"];

/// Variables of a job of a resource manager, all of which it sets: hosts are started by this.
const ALLOCATIONS: &[(&[&str], StarterKind)] = &[
    (&["SLURM_JOB_ID", "SLURM_JOB_NODELIST"], StarterKind::Slurm),
    (&["PE_HOSTFILE", "JOB_ID"], StarterKind::GridEngine),
    (&["LSB_JOBID", "LSB_MCPU_HOSTS"], StarterKind::Lsf),
    (&["LSB_JOBID", "LSB_DJOB_HOSTFILE"], StarterKind::Lsf),
];

/// The names of `-launcher` that start agents.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let is_known = |named: &NamedStarter| matches!(named, NamedStarter::Known(..));
    NAMES.iter().filter(move |(_, named)| is_known(named)).map(|(name, _)| *name)
}

impl StarterKind {
    fn program(self) -> &'static str {
        match self {
            Self::Shell => "ssh",
            Self::Slurm => "srun",
            Self::GridEngine => "qrsh",
            Self::Lsf => "blaunch",
            Self::Pbs => "pbs_tmrsh",
            Self::Fork => "",
        }
    }

    /// The kind of a command by the name of its program.
    fn of_program(program: &OsStr) -> Self {
        let name = Path::new(program).file_name().unwrap_or(program);
        let kinds = [Self::Slurm, Self::GridEngine, Self::Lsf, Self::Pbs];
        let known = kinds.into_iter().find(|kind| name == kind.program());
        known.or((name == PBSDSH).then_some(Self::Pbs)).unwrap_or(Self::Shell)
    }
}

impl StarterRequest {
    /// `-launcher NAME`; `source` is the option.
    ///
    /// # Errors
    /// Names the known ones.
    pub(crate) fn kind(&mut self, source: &str, name: &str) -> Result<(), LaunchError> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        let (_, named) = found.ok_or_else(|| {
            let names: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
            let why = format!("{source} {name}: expected one of {}", names.join(", "));
            LaunchError::new(USAGE, why)
        })?;
        self.kind = Some((*named, format!("{source} {name}")));
        Ok(())
    }

    /// `--mca plm COMPONENT`; `source` is the option. Whether the component is known. One that is
    /// excluded (`^slurm`) leaves ssh.
    pub(crate) fn component(&mut self, source: &str, list: &str) -> bool {
        let first = list.split(',').next().unwrap_or_default().trim();
        let component = if first.starts_with('^') { "ssh" } else { first };
        let found = COMPONENTS.iter().find(|(known, _)| *known == component);
        found.is_some_and(|(_, name)| self.kind(source, name).is_ok())
    }

    /// The command of `--mca plm_rsh_agent`: several, with colons between them, of which the first that is
    /// installed is taken.
    ///
    /// # Errors
    /// As [`StarterRequest::command`].
    pub(crate) fn commands(&mut self, source: &str, list: &OsStr) -> Result<(), LaunchError> {
        let commands = list.as_bytes().split(|byte| *byte == b':').map(OsStr::from_bytes);
        let commands: Result<Vec<_>, _> = commands.map(|command| words(source, command)).collect();
        self.command = Some((commands?, source.to_owned()));
        Ok(())
    }

    /// `-launcher-exec COMMAND`; `source` is the option. False if the command is a daemon of another
    /// launcher, which has no meaning here.
    ///
    /// # Errors
    /// The command has a quote without an end, or no words.
    pub(crate) fn command(&mut self, source: &str, command: &OsStr) -> Result<bool, LaunchError> {
        let words = words(source, command)?;
        let name = Path::new(&words[0]).file_name().unwrap_or_default();
        if DAEMONS.iter().any(|daemon| name == *daemon) {
            return Ok(false);
        }
        self.command = Some((vec![words], source.to_owned()));
        Ok(true)
    }

    /// Further arguments of the command.
    ///
    /// # Errors
    /// They have a quote without an end.
    pub(crate) fn extra(&mut self, source: &str, arguments: &OsStr) -> Result<(), LaunchError> {
        self.extra = Some(words(source, arguments)?);
        Ok(())
    }

    /// The folder of the installation on other hosts.
    pub(crate) fn prefix(&mut self, folder: OsString) {
        self.prefix = Some(folder);
    }

    /// `--mca plm_rsh_no_tree_spawn VALUE`.
    pub(crate) fn without_tree(&mut self, value: &OsStr) {
        self.without_tree = is_true(value);
    }

    /// The number of agents that one process starts at most; `None`: the launcher starts all.
    ///
    /// The agents of resource managers are started from the host of the launcher: their commands belong
    /// to the step or task that runs them, and some agents call back. A command of the user may be
    /// installed on no other host (that of the MPI Operator is a script in a pod), so it must be
    /// requested for that.
    ///
    /// # Errors
    /// The setting has a wrong value.
    fn fan_out(
        &self, kind: StarterKind, program: &[OsString], variable: &EnvironmentLookup<'_>,
    ) -> Result<Option<usize>, LaunchError> {
        let text = variable(FAN_OUT_SETTING).filter(|text| !text.is_empty());
        let chosen = text.as_deref().map(parse_fan_out).transpose()?;
        let name = program.first().and_then(|program| Path::new(program).file_name());
        let is_everywhere = ["ssh", "rsh"].iter().any(|shell| name == Some(OsStr::new(shell)));
        let is_off = WITHOUT_TREE.iter().any(|name| variable(name).is_some_and(|it| is_true(&it)));
        Ok(match (kind, chosen) {
            (StarterKind::Shell, _) if self.without_tree => None,
            (StarterKind::Shell, Some(chosen)) => chosen,
            (StarterKind::Shell, None) => (is_everywhere && !is_off).then_some(FAN_OUT),
            (
                StarterKind::Slurm
                | StarterKind::GridEngine
                | StarterKind::Lsf
                | StarterKind::Pbs
                | StarterKind::Fork,
                _,
            ) => None,
        })
    }

    /// The variables of other launchers decide if no option does.
    fn read_variables(&mut self, variable: &EnvironmentLookup<'_>) -> Result<(), LaunchError> {
        if self.kind.is_some() || self.command.is_some() {
            return Ok(());
        }
        if let Some((name, command)) = first(COMMANDS, variable) {
            match name.contains("_plm_") {
                true => self.commands(name, &command)?,
                false => drop(self.command(name, &command)?),
            }
        }
        if let Some((name, kind)) = first(KINDS, variable) {
            self.kind(name, &kind.to_string_lossy())?;
        } else if let Some((name, list)) = first(COMPONENT_KINDS, variable) {
            self.component(name, &list.to_string_lossy());
        }
        Ok(())
    }

    /// The starter of the job.
    ///
    /// # Errors
    /// A variable has a wrong value.
    pub(crate) fn choose(
        mut self, variable: &EnvironmentLookup<'_>,
    ) -> Result<Starter, LaunchError> {
        self.read_variables(variable)?;
        let usual = |kind: StarterKind| {
            let has_other = kind == StarterKind::Pbs && !is_installed(kind.program(), variable);
            vec![if has_other { PBSDSH } else { kind.program() }.into()]
        };
        let known = match self.kind.take() {
            None => None,
            Some((NamedStarter::Known(kind, program), source)) => Some((kind, program, source)),
            Some((NamedStarter::Refused(why), source)) => {
                return Err(LaunchError::new(USAGE, format!("{source}: {why}")));
            }
        };
        let command = self.command.take();
        let command = command.map(|(all, source)| (installed(all, variable), source));
        let (kind, program, source) = match (known, command) {
            (Some((kind, ..)), Some((words, source))) => (kind, words, source),
            (None, Some((words, source))) => (StarterKind::of_program(&words[0]), words, source),
            (Some((kind, program, source)), None) => {
                (kind, program.map_or_else(|| usual(kind), |program| vec![program.into()]), source)
            }
            (None, None) => {
                let (kind, source) = by_allocation(variable);
                (kind, usual(kind), source)
            }
        };
        if self.extra.is_none() {
            let of_kind = EXTRA.iter().filter(|(_, only)| only.is_none_or(|only| only == kind));
            let names: Vec<_> = of_kind.map(|(name, _)| *name).collect();
            if let Some((name, arguments)) = first(&names, variable) {
                self.extra(name, &arguments)?;
            }
        }
        let extra = self.extra.take().unwrap_or_default();
        if kind == StarterKind::Pbs && variable(PBS_COOKIE).is_none() {
            let why = format!(
                "{source}: {PBS_COOKIE} is not set, by which agents prove that they are of this job; run \
                 mpirun inside a PBS job, or use ssh"
            );
            return Err(LaunchError::new(USAGE, why));
        }
        let fan_out = self.fan_out(kind, &program, variable)?;
        Ok(Starter { kind, program, extra, source, prefix: self.prefix, fan_out })
    }
}

/// As Open MPI reads a truth value.
fn is_true(value: &OsStr) -> bool {
    let text = value.to_string_lossy().trim().to_ascii_lowercase();
    ["true", "t", "yes", "y", "on", "enabled"].contains(&&*text)
        || text.parse().is_ok_and(|number: i64| number != 0)
}

fn parse_fan_out(text: &OsStr) -> Result<Option<usize>, LaunchError> {
    let text = text.to_string_lossy();
    match text.parse() {
        Ok(0) => Ok(None),
        Ok(number) => Ok(Some(number)),
        Err(_) if text == "off" => Ok(None),
        Err(_) => {
            let why = format!("{FAN_OUT_SETTING}={text} is not one of off|a number of hosts");
            Err(LaunchError::new(USAGE, why))
        }
    }
}

/// The first of these variables that has a value.
fn first(
    names: &[&'static str], variable: &EnvironmentLookup<'_>,
) -> Option<(&'static str, OsString)> {
    let value =
        |name: &&'static str| Some((*name, variable(name).filter(|value| !value.is_empty())?));
    names.iter().find_map(value)
}

/// The starter of the allocation, or ssh, and why.
fn by_allocation(variable: &EnvironmentLookup<'_>) -> (StarterKind, String) {
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    let found = ALLOCATIONS.iter().find(|(names, _)| names.iter().all(is_set));
    match found {
        None => (StarterKind::Shell, "default".to_owned()),
        Some((names, kind)) if is_installed(kind.program(), variable) => {
            (*kind, names[0].to_owned())
        }
        Some((names, kind)) => (
            StarterKind::Shell,
            format!("{} is set, but {} is not found", names[0], kind.program()),
        ),
    }
}

/// The first of `commands` whose program exists, or the first.
fn installed(mut commands: Vec<Vec<OsString>>, variable: &EnvironmentLookup<'_>) -> Vec<OsString> {
    let exists = |command: &Vec<OsString>| {
        let program = command[0].to_string_lossy();
        match program.contains('/') {
            true => Path::new(&command[0]).is_file(),
            false => is_installed(&program, variable),
        }
    };
    let found = commands.iter().position(exists).unwrap_or(0);
    commands.swap_remove(found)
}

/// Whether a program is in a directory of `PATH`.
fn is_installed(name: &str, variable: &EnvironmentLookup<'_>) -> bool {
    let path = variable("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn words(source: &str, command: &OsStr) -> Result<Vec<OsString>, LaunchError> {
    let words = shlex::bytes::split(command.as_bytes()).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| {
        let why = format!("{source} {}: expected a command", command.to_string_lossy());
        LaunchError::new(USAGE, why)
    })?;
    Ok(words.into_iter().map(OsString::from_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(
        request: StarterRequest, variables: &[(&str, &str)],
    ) -> Result<(StarterKind, String, String), LaunchError> {
        let variable = |name: &str| {
            variables.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1))
        };
        let starter = request.choose(&variable)?;
        let words = [starter.program, starter.extra].concat();
        let words = words.join(OsStr::new(" ")).into_string().unwrap();
        Ok((starter.kind, words, starter.source))
    }

    fn by_variables(variables: &[(&str, &str)]) -> (StarterKind, String) {
        // A folder with the commands of all systems.
        let folder = std::env::temp_dir().join(format!("mpirun-starters-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["srun", "qrsh", "blaunch"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let path = [("PATH", folder.to_str().unwrap())];
        let found = chosen(StarterRequest::default(), &[variables, &path].concat());
        std::fs::remove_dir_all(&folder).unwrap();
        let (kind, words, _) = found.unwrap();
        (kind, words)
    }

    #[test]
    fn agents_start_others_by_ssh_or_if_that_is_requested() {
        let fan_out = |command: &str, variables: &[(&str, &str)]| {
            let mut request = StarterRequest::default();
            request.command("-launcher-exec", OsStr::new(command)).unwrap();
            let variable = |name: &str| {
                variables.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1))
            };
            request.choose(&variable).map(|starter| starter.fan_out).map_err(|error| error.why)
        };
        let set = |value| [("SUIRO_START_FAN_OUT", value)];
        assert_eq!(fan_out("/usr/bin/ssh -4", &[]), Ok(Some(FAN_OUT)));
        assert_eq!(fan_out("ssh", &set("off")), Ok(None));
        assert_eq!(fan_out("ssh", &set("0")), Ok(None));
        assert_eq!(fan_out("ssh", &[("OMPI_MCA_plm_rsh_no_tree_spawn", "1")]), Ok(None));
        assert_eq!(fan_out("ssh", &[("OMPI_MCA_plm_rsh_no_tree_spawn", "0")]), Ok(Some(FAN_OUT)));
        assert_eq!(fan_out("/etc/mpi/kubexec.sh", &[]), Ok(None));
        assert_eq!(fan_out("/etc/mpi/kubexec.sh", &set("4")), Ok(Some(4)));
        assert_eq!(fan_out("srun", &set("4")), Ok(None));
        let why = "SUIRO_START_FAN_OUT=two is not one of off|a number of hosts";
        assert_eq!(fan_out("ssh", &set("two")), Err(why.to_owned()));
        let mut request = StarterRequest::default();
        request.without_tree(OsStr::new("true"));
        assert_eq!(request.choose(&|_| None).unwrap().fan_out, None);
    }

    #[test]
    fn variables_of_all_launchers_are_read() {
        let slurm = ("SLURM_JOB_ID", "7");
        let nodes = ("SLURM_JOB_NODELIST", "n[1-2]");
        for (variables, kind, words) in [
            (vec![], StarterKind::Shell, "ssh"),
            (vec![("HYDRA_LAUNCHER_EXEC", "/run/agent")], StarterKind::Shell, "/run/agent"),
            (vec![("PRTE_MCA_plm_ssh_agent", "'/my ssh' -v")], StarterKind::Shell, "/my ssh -v"),
            (
                vec![("OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh"), slurm, nodes],
                StarterKind::Shell,
                "/etc/mpi/kubexec.sh",
            ),
            (
                vec![("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10")],
                StarterKind::Shell,
                "ssh -o ConnectionAttempts=10",
            ),
            (vec![("HYDRA_LAUNCHER", "rsh")], StarterKind::Shell, "rsh"),
            (vec![("I_MPI_HYDRA_BOOTSTRAP", "slurm")], StarterKind::Slurm, "srun"),
            (
                vec![("I_MPI_HYDRA_BOOTSTRAP", "lsf"), ("I_MPI_HYDRA_BOOTSTRAP_EXEC", "/lsf/b")],
                StarterKind::Lsf,
                "/lsf/b",
            ),
            (vec![("HYDRA_LAUNCHER_EXEC", "/opt/bin/srun")], StarterKind::Slurm, "/opt/bin/srun"),
            (vec![slurm, nodes], StarterKind::Slurm, "srun"),
            (vec![slurm, nodes, ("OMPI_MCA_plm", "rsh")], StarterKind::Shell, "ssh"),
            (vec![slurm, nodes, ("PRTE_MCA_plm", "^slurm")], StarterKind::Shell, "ssh"),
            (vec![("PRTE_MCA_plm", "slurm,ssh")], StarterKind::Slurm, "srun"),
            (vec![slurm, nodes, ("OMPI_MCA_plm", "moon")], StarterKind::Slurm, "srun"),
            // Options of ssh are not those of srun.
            (vec![slurm, nodes, ("OMPI_MCA_plm_rsh_args", "-4")], StarterKind::Slurm, "srun"),
            (
                vec![slurm, nodes, ("PRTE_MCA_plm_slurm_args", "--mem=0")],
                StarterKind::Slurm,
                "srun --mem=0",
            ),
            (
                vec![("OMPI_MCA_plm_rsh_agent", "no-ssh -q : qrsh -v")],
                StarterKind::GridEngine,
                "qrsh -v",
            ),
            (vec![("OMPI_MCA_plm_rsh_agent", "no-ssh : no-rsh")], StarterKind::Shell, "no-ssh"),
            (vec![("HYDRA_BOOTSTRAP", "rsh")], StarterKind::Shell, "rsh"),
            (vec![("HYDRA_BOOTSTRAP_EXEC", "/run/agent")], StarterKind::Shell, "/run/agent"),
            (vec![slurm], StarterKind::Shell, "ssh"),
            (vec![("PE_HOSTFILE", "f"), ("JOB_ID", "1")], StarterKind::GridEngine, "qrsh"),
            (vec![("LSB_JOBID", "1"), ("LSB_MCPU_HOSTS", "a 1")], StarterKind::Lsf, "blaunch"),
            (vec![("PBS_JOBID", "1"), ("PBS_NODEFILE", "f")], StarterKind::Shell, "ssh"),
        ] {
            assert_eq!(by_variables(&variables), (kind, words.to_owned()), "{variables:?}");
        }
        let missing = chosen(StarterRequest::default(), &[slurm, nodes]).unwrap();
        assert_eq!(missing.2, "SLURM_JOB_ID is set, but srun is not found");
        let wrong = chosen(StarterRequest::default(), &[("HYDRA_LAUNCHER", "moon")]);
        assert!(wrong.unwrap_err().why.starts_with("HYDRA_LAUNCHER moon: expected one of ssh, "));
    }

    #[test]
    fn options_override_variables() {
        let variables = [("HYDRA_LAUNCHER_EXEC", "/run/agent"), ("HYDRA_LAUNCHER", "lsf")];
        let mut request = StarterRequest::default();
        request.kind("-launcher", "ssh").unwrap();
        let (kind, words, source) = chosen(request, &variables).unwrap();
        assert_eq!((kind, &*words, &*source), (StarterKind::Shell, "ssh", "-launcher ssh"));
        let mut request = StarterRequest::default();
        assert_eq!(request.command("--launch-agent", OsStr::new("/opt/bin/prted")), Ok(false));
        assert_eq!(request.command("--launch-agent", OsStr::new("/bin/x -y")), Ok(true));
        assert_eq!(chosen(request, &variables).unwrap().1, "/bin/x -y");
    }

    #[test]
    fn wrong_requests_are_named() {
        let mut request = StarterRequest::default();
        let found = request.kind("-launcher", "moon").unwrap_err();
        assert!(found.why.starts_with("-launcher moon: expected one of ssh, rsh, slurm"));
        for command in ["'", ""] {
            let found = request.command("-launcher-exec", OsStr::new(command)).unwrap_err();
            assert!(found.why.contains("expected a command"), "{}", found.why);
        }
        assert_eq!(request, StarterRequest::default());
        request.kind("-bootstrap", "pbsdsh").unwrap();
        let found = chosen(request.clone(), &[]).unwrap_err();
        assert!(found.why.starts_with("-bootstrap pbsdsh: PBS_JOBCOOKIE is not set"));
        let found = chosen(request, &[("PBS_JOBCOOKIE", "9EEF")]).unwrap();
        assert_eq!((found.0, &*found.1), (StarterKind::Pbs, "pbsdsh"));
    }
}
