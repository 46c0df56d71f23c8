//! The result of parsing: programs, their environment, placement, output, limits.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use platform::bootstrap::{JobHosts, PARENT_LINK, PARENT_PORT, ParentKind};
use platform::names::NameServerAddress;

use crate::command_line::spawning::SpawnOptions;
use crate::control::HostLimits;
use crate::head::ports::PortRange;
use crate::hosts::{HostList, JobHost};
use crate::input::Input;
use crate::output::OutputOptions;
use crate::placement::display::DisplayOptions;
use crate::placement::{Placement, PlacementRequest, ProgramRanks};
use crate::starter::Starter;

/// A job to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchPlan {
    /// At least one. Ranks are counted through them in order.
    pub apps: Vec<App>,
    /// Changes for all programs; those of a program override them.
    pub global_environment: EnvironmentChanges,
    /// Form and files of the output of ranks.
    pub output: OutputOptions,
    /// The ranks that read the launcher's standard input.
    pub input: Input,
    pub hosts: HostList,
    /// What starts agents, if there are other hosts.
    pub starter: Option<Starter>,
    /// When other hosts are given up.
    pub limits: HostLimits,
    /// Where the head and the ranks listen, if a variable limits that.
    pub ports: Option<PortRange>,
    pub placement: PlacementRequest,
    /// The hosts of the ranks, once they are placed.
    pub layout: HostLayout,
    /// What is printed before the start.
    pub display: DisplayOptions,
    /// Where the process table is printed: `-` is standard output, `+` standard error, anything
    /// else a file.
    pub process_table: Option<OsString>,
    /// Print no notes.
    pub quiet: bool,
    /// The job is ended after this time.
    pub timeout: Option<Duration>,
    /// The job survives the failure of ranks.
    pub survives: bool,
    /// Signals that are forwarded to the ranks and do not end the job.
    pub forwarded: Vec<i32>,
    /// Print what was decided, and why.
    pub explain: bool,
    /// Print the placement and start nothing.
    pub dry_run: bool,
    /// Notes about the command line for the user.
    pub notes: Vec<String>,
    /// The options for jobs that ranks spawn.
    pub spawning: SpawnOptions,
    /// What has spawned this job.
    pub parent: Option<ParentPlan>,
    /// The server of the names of several jobs.
    pub name_server: Option<NameServerAddress>,
}

impl LaunchPlan {
    /// The index of the program of each rank.
    pub(crate) fn app_of_rank(&self) -> Vec<u32> {
        let apps = self.apps.iter().zip(0..);
        apps.flat_map(|(app, number)| std::iter::repeat_n(number, app.count as usize)).collect()
    }

    pub(crate) fn size(&self) -> u32 {
        self.apps.iter().map(|app| app.count).sum()
    }
}

/// What has spawned a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParentPlan {
    pub kind: ParentKind,
    /// The port that the ranks connect to.
    pub port: OsString,
}

impl ParentPlan {
    /// Reads it from the environment.
    pub(crate) fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let kind = ParentKind::parse(lookup(PARENT_LINK)?.to_str()?)?;
        Some(Self { kind, port: lookup(PARENT_PORT)? })
    }
}

/// The hosts of a job. The launcher's own host has number 0, even if it has no rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostLayout {
    /// The hosts 1, 2, ....
    pub remote: Vec<JobHost>,
    /// The host of each rank; empty if all are on host 0.
    pub host_of_rank: Vec<u32>,
}

impl HostLayout {
    /// The layout of a placement on `hosts`.
    pub(crate) fn new(hosts: &HostList, placement: &Placement) -> Self {
        let mut layout = Self::default();
        let mut numbers = Vec::new();
        for host in &hosts.hosts {
            if !host.is_local {
                layout.remote.push(host.clone());
            }
            numbers.push(if host.is_local { 0 } else { layout.remote.len() as u32 });
        }
        match &placement.host_of_rank[..] {
            // The ranks of a list of one host.
            [] if hosts.is_remote() => {
                layout.host_of_rank = vec![1; placement.processors.len()];
            }
            all => {
                let of_rank = all.iter().map(|host| numbers[*host as usize]).collect();
                layout.host_of_rank = if hosts.is_remote() { of_rank } else { Vec::new() };
            }
        }
        layout
    }

    /// The host of `rank`.
    pub(crate) fn host_of(&self, rank: u32) -> u32 {
        self.host_of_rank.get(rank as usize).copied().unwrap_or(0)
    }

    /// The ranks on `host`, ascending, of a job of `size` ranks.
    pub(crate) fn ranks_on(&self, host: u32, size: u32) -> Vec<u32> {
        (0..size).filter(|rank| self.host_of(*rank) == host).collect()
    }

    /// The name of `host`; that of host 0 is `own`.
    pub(crate) fn name_of<'a>(&'a self, host: u32, own: &'a str) -> &'a str {
        host.checked_sub(1).map_or(own, |other| &self.remote[other as usize].name)
    }

    /// The names of the hosts of `size` ranks; that of host 0 is `own`.
    pub(crate) fn names(&self, own: &str, size: u32) -> JobHosts {
        if self.host_of_rank.is_empty() {
            return JobHosts::one(own.to_owned());
        }
        let name = |rank| self.name_of(self.host_of(rank), own);
        JobHosts::of_ranks((0..size).map(|rank| (name(rank), name(rank))))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct App {
    pub count: u32,
    /// A path, or a name to search.
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// The working directory, if not the launcher's.
    pub directory: Option<PathBuf>,
    /// Directories in the syntax of `PATH`, searched before those of `PATH`.
    pub path: Option<OsString>,
    pub variables: EnvironmentChanges,
    /// Its hosts, by index, if not all.
    pub hosts: Option<Vec<u32>>,
    /// Commands that start the program for some ranks.
    pub wraps: Vec<RankWrapper>,
}

impl App {
    /// Its ranks, for placement.
    pub(crate) fn ranks(&self) -> ProgramRanks<'_> {
        ProgramRanks { count: self.count as usize, hosts: self.hosts.as_deref() }
    }

    /// See [`names_file`].
    pub(crate) fn names_file(&self) -> bool {
        names_file(&self.program)
    }

    /// See [`candidates`].
    pub(crate) fn candidates<'a>(
        &'a self, lists: impl Iterator<Item = &'a OsString>,
    ) -> impl Iterator<Item = PathBuf> {
        candidates(&self.program, lists)
    }
}

/// Whether `program` is a path and not a name to search.
pub(crate) fn names_file(program: &OsStr) -> bool {
    program.as_bytes().contains(&b'/')
}

/// Possible paths of `program` in these lists of directories, each in the syntax of `PATH`.
pub(crate) fn candidates<'a>(
    program: &'a OsStr, lists: impl Iterator<Item = &'a OsString>,
) -> impl Iterator<Item = PathBuf> {
    lists.flat_map(env::split_paths).map(move |directory| directory.join(program))
}

/// A command, such as a debugger, that starts the program for some ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankWrapper {
    pub ranks: RankSet,
    /// The command and its arguments.
    pub words: Vec<OsString>,
}

/// A set of ranks in the syntax of the command line.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum RankSet {
    All,
    /// Inclusive ranges.
    Ranges(Vec<(u32, u32)>),
}

impl RankSet {
    /// `all`, or a list such as `0,2-4`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Self::All);
        }
        let range = |word: &str| {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some((first, last))
        };
        text.split(',').map(range).collect::<Option<_>>().map(Self::Ranges)
    }

    pub(crate) fn contains(&self, rank: u32) -> bool {
        match self {
            Self::All => true,
            Self::Ranges(ranges) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&rank))
            }
        }
    }
}

/// Changes of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EnvironmentChanges {
    /// Which variables pass; default: all.
    pub filter: Option<EnvironmentFilter>,
    /// Variables that pass in any case.
    pub passed: Vec<VariablePattern>,
    /// Changes, in order.
    pub edits: Vec<EnvironmentEdit>,
}

impl EnvironmentChanges {
    /// Adds later changes.
    pub(crate) fn extend(&mut self, later: Self) {
        self.filter = later.filter.or(self.filter.take());
        self.passed.extend(later.passed);
        self.edits.extend(later.edits);
    }
}

/// The variables of the launcher's environment that ranks see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EnvironmentFilter {
    All,
    Only(Vec<VariablePattern>),
    Except(Vec<VariablePattern>),
}

impl EnvironmentFilter {
    pub(crate) fn admits(&self, name: &OsStr) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|pattern| pattern.matches(name)),
            Self::Except(patterns) => !patterns.iter().any(|pattern| pattern.matches(name)),
        }
    }
}

/// The name of a variable; a `*` at the end makes it a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariablePattern(pub OsString);

impl VariablePattern {
    pub(crate) fn matches(&self, name: &OsStr) -> bool {
        match self.0.as_bytes().strip_suffix(b"*") {
            Some(start) => name.as_bytes().starts_with(start),
            None => name == self.0,
        }
    }
}

/// One change of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EnvironmentEdit {
    /// The variable gets this value.
    Set(OsString, OsString),
    /// The variables are removed.
    Unset(VariablePattern),
    /// The value is put before the present one, with this separator.
    Prepend(OsString, OsString, u8),
    /// The value is put after the present one, with this separator.
    Append(OsString, OsString, u8),
}

impl EnvironmentEdit {
    /// Whether it sets or removes the variable.
    pub(crate) fn concerns(&self, variable: &OsStr) -> bool {
        match self {
            Self::Unset(pattern) => pattern.matches(variable),
            Self::Set(name, _) | Self::Prepend(name, ..) | Self::Append(name, ..) => {
                name == variable
            }
        }
    }
}

/// Both values with the separator between them; without it if one is empty.
pub(crate) fn joined(first: &OsStr, separator: u8, second: &OsStr) -> OsString {
    let parts = [first.as_bytes(), second.as_bytes()];
    let filled: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    OsString::from_vec(filled.join(&separator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_counts_other_hosts_from_one() {
        let host =
            |name: &str, is_local| JobHost { name: name.into(), is_local, ..JobHost::default() };
        let layout = |hosts: Vec<JobHost>, host_of_rank: Vec<u32>| {
            let hosts = HostList { hosts, mentions: Vec::new() };
            let processors = vec![None; 3];
            let placement = Placement { processors, host_of_rank, note: None };
            let layout = HostLayout::new(&hosts, &placement);
            (layout.remote.len(), layout.host_of_rank)
        };
        let three = vec![host("a", false), host("here", true), host("b", false)];
        assert_eq!(layout(three, vec![2, 0, 1]), (2, vec![2, 1, 0]));
        assert_eq!(layout(vec![host("a", false)], vec![]), (1, vec![1, 1, 1]));
        assert_eq!(layout(vec![host("here", true)], vec![]), (0, vec![]));
        assert_eq!(layout(vec![], vec![]), (0, vec![]));
    }

    #[test]
    fn ranks_are_lists_of_ranges() {
        let ranks = RankSet::parse("0,2-4").unwrap();
        let found: Vec<_> = (0..7).filter(|rank| ranks.contains(*rank)).collect();
        assert_eq!(found, [0, 2, 3, 4]);
        assert!(RankSet::parse("all").unwrap().contains(9));
        for wrong in ["", "a", "4-2", "1,", "-1", "1-2-3"] {
            assert_eq!(RankSet::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn patterns_are_names_or_prefixes_with_a_star() {
        let star = VariablePattern("OMP_*".into());
        assert!(star.matches("OMP_NUM_THREADS".as_ref()) && !star.matches("XOMP_".as_ref()));
        let name = VariablePattern("HOME".into());
        assert!(name.matches("HOME".as_ref()) && !name.matches("HOMEX".as_ref()));
    }

    #[test]
    fn joining_with_nothing_adds_no_separator() {
        assert_eq!(joined("a".as_ref(), b':', "b".as_ref()), "a:b");
        assert_eq!(joined("a".as_ref(), b':', "".as_ref()), "a");
    }
}
