//! What a command line asks for, as a value: programs, their environment, and how to run them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::input::Input;
use crate::output::OutputOptions;
use crate::placement::PlacementRequest;
use crate::placement::display::DisplayOptions;

/// A job to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchPlan {
    /// At least one; ranks are counted through them in order.
    pub apps: Vec<App>,
    /// What all programs see of the environment; what a program says for itself wins.
    pub global_environment: EnvironmentChanges,
    /// How what ranks print comes out.
    pub output: OutputOptions,
    /// Who reads the launcher's standard input.
    pub input: Input,
    /// On which processors ranks run.
    pub placement: PlacementRequest,
    /// What is shown of the job before it starts.
    pub display: DisplayOptions,
    /// Print no notes.
    pub quiet: bool,
    /// After this time the job is ended.
    pub timeout: Option<Duration>,
    /// Signals that go to the ranks and do not end the job.
    pub forwarded: Vec<i32>,
    /// Show what is decided, and why.
    pub explain: bool,
    /// Show the plan, and start nothing.
    pub dry_run: bool,
    /// Sentences about the command line that its writer should read.
    pub notes: Vec<String>,
}

impl LaunchPlan {
    /// For each rank the number of its program.
    pub(crate) fn app_of_rank(&self) -> Vec<u32> {
        let apps = self.apps.iter().zip(0..);
        apps.flat_map(|(app, number)| std::iter::repeat_n(number, app.count as usize)).collect()
    }

    /// How many ranks there are.
    pub(crate) fn size(&self) -> u32 {
        self.apps.iter().map(|app| app.count).sum()
    }
}

/// One program, started `count` times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct App {
    /// How many processes.
    pub count: u32,
    /// A path, or a name to look up.
    pub program: OsString,
    /// What follows it.
    pub arguments: Vec<OsString>,
    /// Where it starts, if not here.
    pub directory: Option<PathBuf>,
    /// Folders to look the program up in, as `PATH` has them; before those of `PATH`.
    pub path: Option<OsString>,
    /// What it sees of the environment.
    pub variables: EnvironmentChanges,
    /// Commands that some of its ranks run under.
    pub wraps: Vec<RankWrapper>,
}

impl App {
    /// Is the program a path, and not a name to look up?
    pub(crate) fn names_file(&self) -> bool {
        self.program.as_bytes().contains(&b'/')
    }

    /// Where the program may be in these lists of folders, each as `PATH` has them.
    pub(crate) fn places<'a>(
        &'a self, lists: impl Iterator<Item = &'a OsString>,
    ) -> impl Iterator<Item = PathBuf> {
        lists.flat_map(env::split_paths).map(|folder| folder.join(&self.program))
    }
}

/// A command, such as a debugger's, that starts the program for some ranks of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankWrapper {
    /// The ranks.
    pub ranks: RankSet,
    /// Its words, before those of the program.
    pub words: Vec<OsString>,
}

/// A set of ranks, as the command line has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RankSet {
    /// All of them.
    All,
    /// Those in these ranges, both ends included.
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

    /// Is `rank` one of them?
    pub(crate) fn contains(&self, rank: u32) -> bool {
        match self {
            Self::All => true,
            Self::Ranges(ranges) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&rank))
            }
        }
    }
}

/// What becomes of the environment for the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EnvironmentChanges {
    /// Which variables pass, if that is said.
    pub filter: Option<EnvironmentFilter>,
    /// Variables that pass in any case.
    pub passed: Vec<VariablePattern>,
    /// Changes, in order.
    pub edits: Vec<EnvironmentEdit>,
}

/// Which variables of the launcher's environment ranks see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EnvironmentFilter {
    /// All.
    All,
    /// Only these.
    Only(Vec<VariablePattern>),
    /// All but these.
    Except(Vec<VariablePattern>),
}

impl EnvironmentFilter {
    /// Does the variable `name` pass?
    pub(crate) fn admits(&self, name: &OsStr) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|pattern| pattern.matches(name)),
            Self::Except(patterns) => !patterns.iter().any(|pattern| pattern.matches(name)),
        }
    }
}

/// The name of a variable, or with `*` at its end all names that start so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariablePattern(pub OsString);

impl VariablePattern {
    /// Is `name` meant?
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
    /// The variables are not there.
    Unset(VariablePattern),
    /// The value goes before what there is, with the separator between them.
    Prepend(OsString, OsString, u8),
    /// The value goes after what there is, with the separator between them.
    Append(OsString, OsString, u8),
}

/// The value `there` with `more` on one side.
pub(crate) fn joined(first: &OsStr, separator: u8, second: &OsStr) -> OsString {
    let parts = [first.as_bytes(), second.as_bytes()];
    let filled: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    OsString::from_vec(filled.join(&separator))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn patterns_end_in_a_star_or_are_names() {
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
