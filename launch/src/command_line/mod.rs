//! The command line of `mpirun`, parsed into a plan.
//!
//! ```text
//!   mpirun [options] program [arguments] [: [options] program [arguments]]...
//!   mpirun [options] --app FILE          each line of FILE stands between two ':'
//!   acprun                               as mpirun, with the options of ACP ([`acp`])
//!   macprun [options] FILE               FILE has the programs with their launchers ([`runtimes`])
//! ```
//!
//! [`options`] has the table of options; this module gives them their meaning. Options for the
//! whole job may precede any program. Variables of the environment replace some options that are
//! not given, with the names that other launchers use.

mod acp;
mod hosts_of_plan;
mod impi;
pub(crate) mod launcher_name;
mod name_server;
pub(crate) mod options;
pub(crate) mod plan;
mod runtimes;
pub(crate) mod spawning;
mod variables;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use clap::{ArgMatches, Command};

use platform::names::NAME_SERVER;
use platform::sys::topology::CpuTopology;

use super::hosts::{HostSelection, IsLocalHost, ResourceManager};
use super::input::Input;
use super::output::{OutputOptions, OutputStream};
use super::placement;
use super::starter::{self, StarterRequest};
use super::{LaunchError, USAGE};
use crate::command_line::acp::AcpOptions;
use crate::command_line::impi::ImpiOptions;
use crate::command_line::launcher_name::LauncherName;
use crate::command_line::options::{PROGRAM, is_given, last, occurrences};
use crate::command_line::plan::{App, EnvironmentEdit, LaunchPlan, RankSet, RankWrapper};
use crate::command_line::runtimes::RuntimeFile;
use platform::sys::signals;

/// Variables with the time limit, without `--timeout`.
const TIMEOUTS: &[&str] = &["MPIEXEC_TIMEOUT", "I_MPI_JOB_TIMEOUT"];

/// Prefixes of variables that other libraries read, with the library.
const TUNING: &[(&str, &str)] = &[
    ("I_MPI_", "Intel MPI"),
    ("MPIR_CVAR_", "MPICH"),
    ("HYDRA_", "MPICH"),
    ("OMPI_MCA_", "Open MPI"),
    ("PMIX_MCA_", "Open MPI"),
    ("PRTE_MCA_", "Open MPI"),
];

/// The parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaunchCommand {
    /// Start these programs.
    Run(Box<LaunchPlan>),
    /// Print this text.
    Print(String),
    /// Print the settings of the library.
    Settings,
    /// Print facts about the build.
    BuildInfo,
}

/// The host and the environment that complete a command line.
pub(crate) struct HostEnvironment<'a> {
    /// Whether a name is that of the local host.
    pub is_local: &'a IsLocalHost<'a>,
    /// The usable processors.
    pub topology: &'a dyn Fn() -> io::Result<CpuTopology>,
    /// The environment of the launcher.
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
}

/// Parses the arguments after the launcher's own name.
///
/// # Errors
/// A [`LaunchError`] with code 2 that names the wrong argument.
pub(crate) fn parse(
    launcher: LauncherName, arguments: Vec<OsString>, here: &HostEnvironment<'_>,
) -> Result<LaunchCommand, LaunchError> {
    let mut command = options::command(launcher);
    let mut builder = PlanBuilder { launcher, ..PlanBuilder::default() };
    for words in arguments.split(|word| word == ":") {
        let matches = options::parse(&mut command, launcher, words.to_vec())?;
        if let Some(query) = query(&mut command, &matches) {
            return Ok(query);
        }
        match launcher {
            LauncherName::Mpirun | LauncherName::Acprun => {
                builder.section(&mut command, &matches)?;
            }
            LauncherName::Macprun => builder.runtime_file(&mut command, &matches)?,
        }
    }
    builder.finish(here).map(|plan| LaunchCommand::Run(Box::new(plan)))
}

fn query(command: &mut Command, matches: &ArgMatches) -> Option<LaunchCommand> {
    if matches.get_flag("help") {
        return Some(LaunchCommand::Print(command.render_help().to_string()));
    }
    if matches.get_flag("version") {
        let version = env!("CARGO_PKG_VERSION");
        return Some(LaunchCommand::Print(format!("{} (Suiro) {version}\n", command.get_name())));
    }
    if matches.get_flag("info") {
        return Some(LaunchCommand::BuildInfo);
    }
    matches.get_flag("help-settings").then_some(LaunchCommand::Settings)
}

#[derive(Default)]
struct PlanBuilder {
    launcher: LauncherName,
    plan: LaunchPlan,
    /// The count of each program, if one was given.
    counts: Vec<Option<u32>>,
    hosts: HostSelection,
    starter: StarterRequest,
    acp: AcpOptions,
    impi: ImpiOptions,
    /// Each mention of a host is the place of one rank, as in ACP.
    takes_turns: bool,
    without_effect: Vec<String>,
}

/// Whether the job survives failures, by the value of `--with-ft`.
fn survives(model: &OsStr) -> Result<bool, LaunchError> {
    match model.to_string_lossy().as_ref() {
        "ulfm" | "mpi" | "1" | "true" | "yes" => Ok(true),
        "no" | "none" | "0" | "false" => Ok(false),
        other => {
            let why = format!("--with-ft {other}: expected ulfm, mpi or no");
            Err(LaunchError::new(USAGE, why))
        }
    }
}

impl PlanBuilder {
    /// Adds the arguments between two `:`.
    fn section(&mut self, command: &mut Command, matches: &ArgMatches) -> Result<(), LaunchError> {
        self.of_job(matches)?;
        let program = matches.get_one::<OsString>(PROGRAM);
        match (last(matches, "app"), program) {
            (Some(file), None) => self.app_file(command, &file),
            (Some(file), Some(program)) => {
                let (file, program) = (file.to_string_lossy(), program.to_string_lossy());
                let why = format!("--app {file}: the file names the programs; remove {program}");
                Err(LaunchError::new(USAGE, why))
            }
            (None, _) => {
                let app = self.app_of(matches)?;
                let count =
                    last(matches, "n").map(|count| parse_count("-n", &count)).transpose()?;
                self.counts.push(count);
                self.plan.apps.push(app);
                Ok(())
            }
        }
    }

    /// Adds the options for the whole job.
    fn of_job(&mut self, matches: &ArgMatches) -> Result<(), LaunchError> {
        let plan = &mut self.plan;
        plan.explain |= matches.get_flag("explain") || matches.get_flag("verbose");
        plan.dry_run |= matches.get_flag("do-not-launch");
        plan.quiet |= matches.get_flag("quiet");
        plan.process_table = last(matches, "output-proctable").or(plan.process_table.take());
        placement::options::take(&mut plan.placement, &mut plan.display, matches)?;
        plan.spawning.take(matches);
        if let Some(seconds) = last(matches, "timeout") {
            plan.timeout = Some(duration("--timeout", &seconds)?);
        }
        plan.survives |= matches.get_flag("enable-recovery");
        if let Some(model) = last(matches, "with-ft") {
            plan.survives = survives(&model)?;
        }
        if let Some(text) = last(matches, "name-server") {
            plan.name_server = Some(name_server::parse("--name-server", &text)?);
        }
        self.impi.take(matches)?;
        for list in occurrences(matches, "forward-signals").concat() {
            plan.forwarded.extend(signal_list(&list)?);
        }
        for hosts in occurrences(matches, "host").iter().flatten() {
            self.hosts.add_list(self.counts.len(), "--host", &hosts.to_string_lossy())?;
        }
        for file in occurrences(matches, "hostfile").iter().flatten() {
            self.hosts.add_file("--hostfile", file)?;
        }
        if let Some(name) = last(matches, "rmk") {
            self.hosts.restrict_to(ResourceManager::parse(&name.to_string_lossy())?);
        }
        form(&mut plan.output, matches)?;
        if let Some(ranks) = last(matches, "stdin") {
            plan.input = Input::parse(&ranks.to_string_lossy())?;
        }
        variables::of_all(&mut plan.global_environment, matches)?;
        let has_effect = starter::options::take(&mut self.starter, matches)?;
        let has_effect = |values: &[OsString]| has_effect.iter().any(|one| one == values);
        self.without_effect.extend(options::ignored(matches, has_effect));
        if self.launcher.has_acp() {
            self.acp.take(matches, &mut self.without_effect)?;
        }
        Ok(())
    }

    /// The program of these arguments; its number of processes is not known yet.
    fn app_of(&self, matches: &ArgMatches) -> Result<App, LaunchError> {
        let mut words = matches.get_many::<OsString>(PROGRAM).into_iter().flatten().cloned();
        let program = words.next().ok_or_else(|| {
            let (operand, name) = (self.launcher.operand(), self.launcher.name());
            let why = format!("no {operand} was given; {name} --help shows the usage");
            LaunchError::new(USAGE, why)
        })?;
        Ok(App {
            count: 0,
            program,
            arguments: words.collect(),
            directory: last(matches, "wdir").map(Into::into),
            path: last(matches, "path"),
            variables: variables::of_program(matches)?,
            hosts: None,
            wraps: wraps(matches)?,
        })
    }

    /// Adds the programs of a file, one on each line.
    fn app_file(&mut self, command: &mut Command, file: &OsStr) -> Result<(), LaunchError> {
        let name = file.to_string_lossy();
        let wrong = |why: String| LaunchError::new(USAGE, format!("--app {name}: {why}"));
        let text = fs::read(file).map_err(|error| wrong(error.to_string()))?;
        let before = self.plan.apps.len();
        for line in text.split(|byte| *byte == b'\n') {
            let words = words_of_line(line).map_err(wrong)?;
            for words in words.split(|word| word == ":").filter(|words| !words.is_empty()) {
                let matches = options::parse(command, self.launcher, words.to_vec())?;
                if is_given(&matches, "app") {
                    return Err(wrong("--app is not allowed inside such a file".to_owned()));
                }
                self.section(command, &matches)?;
            }
        }
        if self.plan.apps.len() == before {
            return Err(wrong("the file has no program".to_owned()));
        }
        Ok(())
    }

    /// Adds the programs of an input file of `macprun`.
    fn runtime_file(
        &mut self, command: &mut Command, matches: &ArgMatches,
    ) -> Result<(), LaunchError> {
        self.of_job(matches)?;
        let mut common = self.app_of(matches)?;
        self.plan.global_environment.extend(std::mem::take(&mut common.variables));
        let path = std::mem::take(&mut common.program);
        let wrong =
            |why: String| LaunchError::new(USAGE, format!("{}: {why}", path.to_string_lossy()));
        if common != App::default() {
            let why = "options of a program, such as -wdir, and its arguments belong in this file";
            return Err(wrong(why.to_owned()));
        }
        let text = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
        let file = RuntimeFile::parse(&text).map_err(wrong)?;
        let count = last(matches, "n").map(|count| parse_count("-np", &count)).transpose()?;
        if let Some(count) = count.filter(|count| u64::from(*count) != file.size()) {
            return Err(wrong(format!("the file has {} processes, not {count}", file.size())));
        }
        if file.joins_worlds() {
            let note = "MPI_COMM_WORLD has the ranks of all programs; MPI_APPNUM tells them apart";
            self.plan.notes.push(note.to_owned());
        }
        for runtime in file.runtimes {
            let count = ["-n".into(), runtime.count.to_string().into()];
            let words = [runtime.options, count.into(), runtime.program].concat();
            let matches = options::parse(command, self.launcher, words)?;
            self.section(command, &matches)?;
        }
        Ok(())
    }

    /// Completes and checks the plan.
    fn finish(mut self, here: &HostEnvironment<'_>) -> Result<LaunchPlan, LaunchError> {
        self.environment(here)?;
        let impi = std::mem::take(&mut self.impi);
        impi.apply(&mut self.plan.global_environment, here.environment)?;
        let mut hosts = std::mem::take(&mut self.hosts);
        self.takes_turns = self.launcher.has_acp() && hosts.take_names_as_places();
        let hosts = hosts.finish(&|name| (here.environment)(name), here.is_local)?;
        let starter = std::mem::take(&mut self.starter);
        hosts_of_plan::complete(&mut self.plan, hosts, starter, here)?;
        if self.plan.hosts.is_remote() {
            options::check_with_hosts(&self.without_effect)?;
        }
        let placement = &mut self.plan.placement;
        let counts = placement.counts(&self.counts, &self.plan.hosts, || {
            (here.topology)().map_err(|error| LaunchError::new(1, error.to_string()))
        })?;
        for (app, count) in self.plan.apps.iter_mut().zip(counts) {
            app.count = count;
        }
        self.take_turns();
        self.compare_with_slots()?;
        let acp = std::mem::take(&mut self.acp);
        acp.apply(&mut self.plan, &mut self.without_effect);
        if self.plan.explain {
            // The library explains its own decisions.
            self.plan
                .global_environment
                .edits
                .push(EnvironmentEdit::Set("SUIRO_EXPLAIN".into(), "1".into()));
        }
        self.note_tuning();
        if self.plan.quiet {
            self.plan.notes.clear();
        }
        Ok(self.plan)
    }

    /// Fills in options that were not given from the environment.
    fn environment(&mut self, here: &HostEnvironment<'_>) -> Result<(), LaunchError> {
        let first = |names: &[&'static str]| {
            let value = |name: &&'static str| Some((*name, (here.environment)(name)?));
            names.iter().find_map(value).filter(|(_, value)| !value.is_empty())
        };
        if let (None, Some((name, seconds))) = (self.plan.timeout, first(TIMEOUTS)) {
            self.plan.timeout = Some(duration(name, &seconds)?);
        }
        if let (None, Some((name, text))) = (&self.plan.name_server, first(&[NAME_SERVER])) {
            self.plan.name_server = Some(name_server::parse(name, &text)?);
        }
        self.plan.placement =
            placement::options::from_environment(&self.plan.placement, here.environment);
        Ok(())
    }

    /// Distributes the ranks over the hosts as ACP does, if each mention of a host is a place.
    fn take_turns(&mut self) {
        let ranks = self.plan.size();
        let LaunchPlan { apps, hosts, placement, .. } = &mut self.plan;
        self.takes_turns = self.takes_turns
            && hosts.count() > 1
            && apps.iter().all(|app| app.hosts.is_none())
            && placement.take_turns(&hosts.mentions, ranks);
    }

    fn compare_with_slots(&mut self) -> Result<(), LaunchError> {
        let size = self.plan.size();
        let Some(slots) = self.plan.hosts.slots() else { return Ok(()) };
        if size <= slots {
            if self.plan.hosts.count() == 1 {
                self.plan.placement.slots_are_enough();
            }
            return Ok(());
        }
        match self.plan.placement.oversubscribe() {
            Some(true) => Ok(()),
            Some(false) => {
                let why = format!("{size} processes on {slots} slots, with --nooversubscribe");
                Err(LaunchError::new(USAGE, why))
            }
            None if self.takes_turns => Ok(()),
            None => {
                let note =
                    format!("{size} processes on {slots} slots (--oversubscribe omits this note)");
                self.plan.notes.push(note);
                Ok(())
            }
        }
    }

    fn note_tuning(&mut self) {
        let edits = self.plan.apps.iter().flat_map(|app| &app.variables.edits);
        for edit in edits.chain(&self.plan.global_environment.edits) {
            let EnvironmentEdit::Set(name, _) = edit else { continue };
            let name = name.to_string_lossy();
            if let Some((_, library)) = TUNING.iter().find(|(start, _)| name.starts_with(start)) {
                self.without_effect.push(format!("{name} (of {library}; programs see it)"));
            }
        }
        if !self.without_effect.is_empty() {
            let list = self.without_effect.join(", ");
            self.plan.notes.push(format!("accepted without effect: {list}"));
        }
    }
}

type OutputSetter = fn(&mut OutputOptions, &OsStr) -> Result<(), LaunchError>;

/// Applies the options for output.
fn form(form: &mut OutputOptions, matches: &ArgMatches) -> Result<(), LaunchError> {
    let flags = [
        ("tag-output", "tag"),
        ("timestamp-output", "timestamp"),
        ("merge-stderr-to-stdout", "merge"),
    ];
    for (_, word) in flags.iter().filter(|(flag, _)| matches.get_flag(flag)) {
        form.set(OsStr::new(word))?;
    }
    if matches.get_flag("l") {
        form.prepend(OsStr::new("[%r] "))?;
    }
    if matches.get_flag("prepend-timestamp") {
        form.prepend_time();
    }
    let valued: &[(&str, OutputSetter)] = &[
        ("output", OutputOptions::set),
        ("prepend-pattern", OutputOptions::prepend),
        ("outfile-pattern", |form, value| form.name_file(OutputStream::Output, value)),
        ("errfile-pattern", |form, value| form.name_file(OutputStream::Error, value)),
        ("output-filename", OutputOptions::name_files),
        ("output-directory", OutputOptions::name_folder),
        ("output-from", OutputOptions::restrict),
    ];
    for (name, set) in valued {
        for value in occurrences(matches, name).iter().flatten() {
            set(form, value)?;
        }
    }
    Ok(())
}

/// The wrapper commands of ranks.
fn wraps(matches: &ArgMatches) -> Result<Vec<RankWrapper>, LaunchError> {
    let mut all = Vec::new();
    for pair in occurrences(matches, "debug") {
        all.push(wrap("--debug", &pair[1], &pair[0].to_string_lossy())?);
    }
    for word in occurrences(matches, "gtool").concat() {
        let text = word.to_string_lossy();
        for tool in text.split(';').filter(|tool| !tool.is_empty()) {
            let (command, ranks) = tool.rsplit_once(':').unwrap_or((tool, "all"));
            all.push(wrap("-gtool", OsStr::new(command), ranks)?);
        }
    }
    Ok(all)
}

fn wrap(option: &str, command: &OsStr, ranks: &str) -> Result<RankWrapper, LaunchError> {
    let wrong = |why: String| LaunchError::new(USAGE, format!("{option} {why}"));
    let ranks = RankSet::parse(ranks)
        .ok_or_else(|| wrong(format!("{ranks}: expected ranks such as 0,2-4, or all")))?;
    Ok(RankWrapper { ranks, words: words(option, command)? })
}

/// The words of a command.
fn words(option: &str, command: &OsStr) -> Result<Vec<OsString>, LaunchError> {
    let words = shlex::bytes::split(command.as_bytes()).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| {
        let why = format!("{option} {}: expected a command", command.to_string_lossy());
        LaunchError::new(USAGE, why)
    })?;
    Ok(words.into_iter().map(OsString::from_vec).collect())
}

/// The words of a line of a file.
fn words_of_line(line: &[u8]) -> Result<Vec<OsString>, String> {
    let words = shlex::bytes::split(line);
    let words = words
        .ok_or_else(|| format!("unterminated quote in {:?}", String::from_utf8_lossy(line)))?;
    Ok(words.into_iter().map(OsString::from_vec).collect())
}

/// Seconds, more than 0.
fn duration(option: &str, word: &OsStr) -> Result<Duration, LaunchError> {
    let seconds = word.to_str().and_then(|text| text.parse::<f64>().ok());
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.filter(|duration| !duration.is_zero()).ok_or_else(|| {
        let why = format!("{option} {}: expected a number of seconds", word.to_string_lossy());
        LaunchError::new(USAGE, why)
    })
}

/// A comma-separated list of signals by name or number; or `none`.
fn signal_list(list: &OsStr) -> Result<Vec<i32>, LaunchError> {
    let list = list.to_string_lossy();
    let words = list.split(',').filter(|word| !word.is_empty() && *word != "none");
    let signal = |word| {
        let why = format!("--forward-signals {word}: expected a signal that can be forwarded");
        signals::parse(word).ok_or_else(|| LaunchError::new(USAGE, why))
    };
    words.map(signal).collect()
}

fn parse_count(option: &str, word: &OsStr) -> Result<u32, LaunchError> {
    let count = word.to_str().and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    count.ok_or_else(|| {
        let why = format!("{option} {}: expected a number of processes", word.to_string_lossy());
        LaunchError::new(USAGE, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::plan::{EnvironmentChanges, EnvironmentFilter, VariablePattern};
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').filter(|word| !word.is_empty()).map(OsString::from).collect()
    }

    fn parse_in(variables: &[(&str, &str)], line: &str) -> Result<LaunchCommand, LaunchError> {
        parse_as(LauncherName::Mpirun, variables, line)
    }

    pub(super) fn parse_as(
        launcher: LauncherName, variables: &[(&str, &str)], line: &str,
    ) -> Result<LaunchCommand, LaunchError> {
        let variable = |name: &str| {
            variables.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1))
        };
        // Four processors of a core each.
        let topology = || Ok(CpuTopology::read(&[0, 1, 2, 3], &|_| None));
        let local = |name: &str| name == "here";
        let here =
            HostEnvironment { is_local: &local, topology: &topology, environment: &variable };
        parse(launcher, words(line), &here)
    }

    pub(super) fn plan_as(
        launcher: LauncherName, variables: &[(&str, &str)], line: &str,
    ) -> LaunchPlan {
        match parse_as(launcher, variables, line) {
            Ok(LaunchCommand::Run(plan)) => *plan,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn plan_in(variables: &[(&str, &str)], line: &str) -> LaunchPlan {
        plan_as(LauncherName::Mpirun, variables, line)
    }

    fn plan(line: &str) -> LaunchPlan {
        plan_in(&[], line)
    }

    #[test]
    fn the_count_has_many_spellings_and_a_default() {
        for line in ["-n 4 a", "-np 4 a", "--n 4 a", "--np 4 a", "--np=4 a", "-c 4 a"] {
            assert_eq!(plan(line).apps[0].count, 4, "{line}");
        }
        for (line, count) in [
            ("a", 1),
            ("-ppn 3 a", 3),
            ("-N 3 --host here:2 a", 3),
            ("--host here:2 a", 2),
            ("--host here a", 1),
            ("-ppn 3 -n 2 a", 2),
            ("-n 2 -n 5 a", 5),
        ] {
            assert_eq!(plan(line).apps[0].count, count, "{line}");
        }
        assert_eq!(plan_in(&[("I_MPI_PERHOST", "3")], "a").apps[0].count, 3);
    }

    #[test]
    fn hosts_come_from_options_or_the_environment() {
        let names = |variables: &[(&str, &str)], line: &str| {
            let hosts = plan_in(variables, line).hosts.hosts;
            hosts.into_iter().map(|host| host.name).collect::<Vec<_>>().join(" ")
        };
        let allocation = [("LSB_MCPU_HOSTS", "x 2 y 2")];
        for (line, hosts) in [
            ("a", "x y"),
            ("--host +n1 a", "y"),
            ("--host here,there a", "here there"),
            ("--host here,there --nolocal a", "there"),
            ("-rmk pbs a", ""),
            ("-rmk lsf a", "x y"),
        ] {
            assert_eq!(names(&allocation, line), hosts, "{line}");
        }
        assert_eq!(plan_in(&allocation, "a").apps[0].count, 4);
        assert!(plan("--preload-files f a").notes[0].contains("--preload-files"));
        let several = plan("--host there,here a : --nolocal --host b,there c");
        let own: Vec<_> = several.apps.iter().map(|app| app.hosts.clone().unwrap()).collect();
        assert_eq!(own, [vec![0], vec![1, 0]]);
        assert_eq!(plan("--host here,there a").apps[0].count, 2);
    }

    #[test]
    fn other_hosts_have_a_starter() {
        let starter = |variables: &[(&str, &str)], line: &str| {
            let starter =
                plan_in(variables, &format!("--host here,there {line} a")).starter.unwrap();
            [starter.program, starter.extra].concat().join(OsStr::new(" ")).into_string().unwrap()
        };
        let variables = [("HYDRA_LAUNCHER_EXEC", "/h"), ("OMPI_MCA_plm_rsh_args", "-4")];
        assert_eq!((starter(&[], ""), starter(&variables, "")), ("ssh".into(), "/h -4".into()));
        for (line, command) in [
            ("--launch-agent /x", "/x -4"),
            ("--prtemca plm_ssh_agent /x", "/x -4"),
            ("-launcher srun -bootstrap-exec-args -v", "srun -v"),
        ] {
            assert_eq!(starter(&variables, line), command, "{line}");
        }
        assert_eq!(plan_in(&variables, "-launcher pbsdsh a").starter, None);
        let why = parse_in(&[], "-launcher pbsdsh --host here,there a").unwrap_err().why;
        assert!(why.starts_with("-launcher pbsdsh: PBS_JOBCOOKIE is not set"), "{why}");
    }

    #[test]
    fn arguments_after_the_program_belong_to_it() {
        let plan = plan("-n 2 prog -n 3 --help -x");
        assert_eq!(plan.apps[0].arguments, ["-n", "3", "--help", "-x"]);
        assert_eq!(self::plan("-n 1 -- -odd").apps[0].program, "-odd");
    }

    #[test]
    fn ranks_are_counted_through_all_programs() {
        let plan = plan("-n 2 -wdir /tmp a b : -n 1 c : d");
        let programs: Vec<_> = plan.apps.iter().map(|app| app.program.to_str().unwrap()).collect();
        assert_eq!(programs, ["a", "c", "d"]);
        assert_eq!(plan.app_of_rank(), [0, 0, 1, 2]);
        assert_eq!(plan.apps[0].directory.as_deref(), Some("/tmp".as_ref()));
        assert_eq!(plan.apps[1].directory, None);
    }

    #[test]
    fn variables_are_for_one_program_or_for_all() {
        let plan = plan("-x A=1=2 -x B -env C 3 a : -genv D 4 -genvnone b");
        let set = |name: &str, value: &str| EnvironmentEdit::Set(name.into(), value.into());
        assert_eq!(plan.apps[0].variables.edits, [set("A", "1=2"), set("C", "3")]);
        assert_eq!(plan.apps[0].variables.passed, [VariablePattern("B".into())]);
        assert_eq!(plan.apps[1].variables, EnvironmentChanges::default());
        let edits =
            self::plan("-initial-errhandler mpi_errors_abort a").apps[0].variables.edits.clone();
        assert_eq!(edits, [set("SUIRO_INITIAL_ERRHANDLER", "mpi_errors_abort")]);
        assert!(parse_in(&[], "-initial-errhandler loud a").unwrap_err().why.contains("loud: "));
        let edits = self::plan("--device tofu a").apps[0].variables.edits.clone();
        assert_eq!(edits, [set("SUIRO_DEVICE", "tofu")]);
        let why = parse_in(&[], "--device pigeon a").unwrap_err().why;
        assert_eq!(why, "--device pigeon: expected one of shm, tofu, tcp, ofi, auto");
        assert_eq!(plan.global_environment.edits, [set("D", "4")]);
        assert_eq!(plan.global_environment.filter, Some(EnvironmentFilter::Only(vec![])));
        let edits = self::plan("--prefix /p --append-env L[;] v -env N -1 a").apps[0]
            .variables
            .edits
            .clone();
        assert_eq!(edits[1], EnvironmentEdit::Prepend("PATH".into(), "/p/bin".into(), b':'));
        assert_eq!(
            (&edits[0], &edits[3]),
            (&set("N", "-1"), &EnvironmentEdit::Append("L".into(), "v".into(), b';'))
        );
    }

    #[test]
    fn files_name_programs_on_their_lines() {
        let file = std::env::temp_dir().join(format!("mpirun-app-{}", std::process::id()));
        std::fs::write(&file, "# two programs\n-n 2 a 'b c'\n\n-n 1 -x K=V c : -n 3 d\n").unwrap();
        let plan = plan(&format!("-ppn 4 --app {}", file.display()));
        std::fs::write(&file, "-n 2 'a\n").unwrap();
        let wrong = parse_in(&[], &format!("-configfile {}", file.display())).unwrap_err();
        std::fs::remove_file(&file).unwrap();
        let counts: Vec<_> = plan.apps.iter().map(|app| app.count).collect();
        assert_eq!(counts, [2, 1, 3]);
        assert_eq!(plan.apps[0].arguments, ["b c"]);
        assert!(wrong.why.contains("unterminated quote"), "{}", wrong.why);
    }

    #[test]
    fn debuggers_precede_the_program_of_their_ranks() {
        let plan = plan("--debug 0,2-3 gdb -gtool valgrind:1;strace a");
        let wraps = &plan.apps[0].wraps;
        assert_eq!(wraps[0].ranks, RankSet::parse("0,2-3").unwrap());
        assert_eq!((&wraps[1].words[0], &wraps[2].ranks), (&"valgrind".into(), &RankSet::All));
    }

    #[test]
    fn options_that_tune_other_libraries_are_noted_once() {
        let line =
            "--mca btl self,sm -genv I_MPI_FABRICS shm -iface lo -disable-hostname-propagation a";
        let [note] = &plan(line).notes[..] else { panic!("one note") };
        for part in
            ["--mca btl self,sm", "I_MPI_FABRICS", "--iface lo", "--disable-hostname-propagation"]
        {
            assert!(note.contains(part), "{part}: {note}");
        }
        assert!(plan(&format!("-q {line}")).notes.is_empty());
        let line =
            "-x A=1 --oversubscribe --allow-run-as-root -launcher ssh --mca plm_rsh_agent x a";
        assert!(plan(line).notes.is_empty());
    }

    #[test]
    fn too_few_slots_are_a_note_or_with_nooversubscribe_an_error() {
        assert!(plan("--host here:2 -n 3 a").notes[0].contains("3 processes on 2 slots"));
        assert!(plan("--host here:2 -n 3 --oversubscribe a").notes.is_empty());
        assert!(plan("--host here:2 -n 2 a").notes.is_empty());
        let error = parse_in(&[], "--host here:2 -n 3 --nooversubscribe a").unwrap_err();
        assert!(error.why.contains("3 processes on 2 slots"), "{}", error.why);
    }

    #[test]
    fn the_time_comes_from_an_option_or_the_environment() {
        let seconds = |variables: &[(&str, &str)], line: &str| {
            plan_in(variables, line).timeout.map(|time| time.as_secs_f64())
        };
        let set = [("MPIEXEC_TIMEOUT", "7")];
        assert_eq!(seconds(&[], "a"), None);
        assert_eq!(seconds(&set, "--timeout 2.5 a"), Some(2.5));
        assert_eq!(seconds(&set, "a"), Some(7.0));
        assert!(
            parse_in(&[("MPIEXEC_TIMEOUT", "x")], "a")
                .unwrap_err()
                .why
                .contains("MPIEXEC_TIMEOUT x")
        );
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (line, word) in [
            ("-n zero a", "-n zero"),
            ("-n 0 a", "-n 0"),
            ("-n -5 a", "-n -5"),
            ("-n", "--n lacks its value"),
            ("--fast a", "--fast"),
            ("--oversubscribed a", "did you mean --oversubscribe"),
            ("-x =1 a", "-x"),
            ("-env A=B 1 a", "A=B"),
            ("-env A", "--env lacks its second value"),
            ("--timeout 0 a", "--timeout 0"),
            ("--debug x gdb a", "--debug x"),
            ("--forward-signals INT,KILL a", "--forward-signals KILL"),
            ("--hostfile /nowhere a", "/nowhere"),
            ("--nolocal --host here a", "--nolocal: no other host"),
            ("--nolocal a", "--nolocal: no other host"),
            ("-rmk moon a", "-rmk moon"),
            ("--host there --preload-files f a", "--preload-files f is not supported with"),
            ("--host there -order-nodes x a", "--order-nodes x is not supported with"),
            ("--host there --map-by ppr:1:core a", "give the number of processes"),
            ("--host a:x a", "--host: \"a:x\""),
            ("--host bob@here a", "--host: bob@here: this is the host of mpirun"),
            ("--app /nowhere", "/nowhere"),
            ("--app f a", "remove a"),
            ("--xterm 1 a", "--xterm is not supported; use --debug"),
            ("", "no program"),
            ("-n 2", "no program"),
            ("-n 2 a : -n 1", "no program"),
            ("-n 2 a :", "no program"),
        ] {
            let error = parse_in(&[], line).unwrap_err();
            assert_eq!(error.code, USAGE, "{line}");
            assert!(error.why.contains(word), "{line}: {}", error.why);
        }
    }

    #[test]
    fn queries_end_the_parsing() {
        let printed = |line: &str| match parse_in(&[], line) {
            Ok(LaunchCommand::Print(text)) => text,
            other => panic!("{line}: {other:?}"),
        };
        assert!(printed("-n 2 -V").starts_with("mpirun (Suiro) "));
        assert!(printed("--help").contains("--timeout <SECONDS>"));
        assert_eq!(parse_in(&[], "--help-settings"), Ok(LaunchCommand::Settings));
    }

    proptest! {
        #[test]
        fn any_words_are_taken(words in proptest::collection::vec("[-:a=0-9n]{0,4}", 0..8)) {
            let topology = || Ok(CpuTopology::read(&[0], &|_| None));
            let here = HostEnvironment { is_local: &|_| true, topology: &topology, environment: &|_| None };
            let words: Vec<_> = words.into_iter().map(OsString::from).collect();
            for launcher in [LauncherName::Mpirun, LauncherName::Acprun, LauncherName::Macprun] {
                let _ = parse(launcher, words.clone(), &here);
            }
        }
    }
}
