//! The options of a job that jobs which its ranks spawn get, too: how lines are marked, whether failures
//! are survived, what starts agents on other hosts, the name server, which a job needs once it is
//! disconnected, and the hosts if the spawn names none.
//!
//! Files of output are not among them: the ranks of both jobs have the same numbers. Neither are limits,
//! and options for placement: the spawn has its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::ArgMatches;

use super::options::{is_given, occurrences};

const FLAGS: &[&str] = &[
    "l",
    "tag-output",
    "timestamp-output",
    "prepend-timestamp",
    "merge-stderr-to-stdout",
    "quiet",
    "enable-recovery",
];

const VALUED: &[&str] = &[
    "prepend-pattern",
    "launcher",
    "launcher-exec",
    "launcher-args",
    "prefix",
    "rmk",
    "with-ft",
    "name-server",
];

const HOSTS: &[&str] = &["host", "hostfile"];

/// Keywords of `--output` about files.
const FILE_WORDS: &[&str] = &["copy", "nocopy", "nojobid"];

/// Options as words of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpawnOptions {
    general: Vec<OsString>,
    hosts: Vec<OsString>,
}

impl SpawnOptions {
    /// Adds the options of one program, or those before the first.
    pub(super) fn take(&mut self, matches: &ArgMatches) {
        let option = |name: &str| OsString::from(format!("--{name}"));
        self.general
            .extend(FLAGS.iter().filter(|name| is_given(matches, name)).map(|name| option(name)));
        for (names, words) in [(VALUED, &mut self.general), (HOSTS, &mut self.hosts)] {
            for name in names {
                for value in occurrences(matches, name).concat() {
                    words.extend([option(name), value]);
                }
            }
        }
        for list in occurrences(matches, "output").concat() {
            let list = without_files(&list);
            if !list.is_empty() {
                self.general.extend([option("output"), list]);
            }
        }
    }

    /// The options for a spawn, which may name hosts itself.
    pub(crate) fn words(&self, names_hosts: bool) -> impl Iterator<Item = &OsString> {
        let hosts = if names_hosts { &[][..] } else { &self.hosts };
        self.general.iter().chain(hosts)
    }
}

/// The keywords of `--output` that name no file.
fn without_files(list: &OsStr) -> OsString {
    let words = list.as_bytes().split(|byte| *byte == b',');
    let is_file = |word: &&[u8]| {
        word.contains(&b'=') || FILE_WORDS.iter().any(|name| name.as_bytes() == *word)
    };
    let kept: Vec<_> = words.filter(|word| !word.is_empty() && !is_file(word)).collect();
    OsStr::from_bytes(&kept.join(&b',')).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::launcher_name::LauncherName;
    use crate::command_line::options;

    fn taken(line: &str, names_hosts: bool) -> String {
        let launcher = LauncherName::default();
        let words = line.split(' ').map(OsString::from).collect();
        let matches = options::parse(&mut options::command(launcher), launcher, words).unwrap();
        let mut taken = SpawnOptions::default();
        taken.take(&matches);
        let words: Vec<_> = taken.words(names_hosts).map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn marks_and_starters_are_passed_on_and_hosts_unless_the_spawn_names_some() {
        let line =
            "-n 2 -l -host a,b:2 -hostfile f -launcher rsh --map-by core -nameserver s a.out -x";
        let general = "--l --launcher rsh --name-server s";
        assert_eq!(taken(line, true), general);
        assert_eq!(taken(line, false), format!("{general} --host a,b:2 --hostfile f"));
    }

    #[test]
    fn spawned_jobs_survive_failures_if_their_parents_do() {
        assert_eq!(taken("-n 2 --with-ft ulfm a.out", false), "--with-ft ulfm");
        assert_eq!(taken("-n 2 --enable-recovery a.out", false), "--enable-recovery");
    }

    #[test]
    fn files_of_output_are_not_passed_on() {
        let line = "--output tag,file=x,nocopy,merge --output dir=y --outfile-pattern o.%r a.out";
        assert_eq!(taken(line, false), "--output tag,merge");
    }
}
