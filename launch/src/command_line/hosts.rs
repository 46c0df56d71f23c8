//! Lists and files of hosts, in the syntax of Open MPI, MPICH, Intel MPI and resource managers.
//!
//! ```text
//!   on the command line     a:4,b,c          slots of repeated names are added
//!   a line of a file        a:4 [key=value]...       MPICH, Intel
//!                           a slots=4 [max_slots=8]  Open MPI
//!                           ^a                       Open MPI: exclude this host
//! ```
//!
//! Jobs run on one host, so each name must be this host's. The result is its number of slots.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::Ipv6Addr;

use crate::{LaunchError, USAGE};

/// Whether a name is that of the local host.
pub(crate) type IsLocalHost<'a> = dyn Fn(&str) -> bool + 'a;

/// The environment of the launcher.
pub(crate) type EnvironmentLookup<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// The requested hosts, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts {
    entries: Vec<HostEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostEntry {
    name: String,
    slots: Option<u32>,
    /// Written as `^name`.
    excluded: bool,
    /// The option or variable that named it, for messages.
    source: String,
}

impl Hosts {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a comma-separated list; `source` is its option.
    ///
    /// # Errors
    /// Names the invalid entry.
    pub(crate) fn add_list(&mut self, source: &str, list: &str) -> Result<(), LaunchError> {
        for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
            let entry = entry(source, word).ok_or_else(|| not_a_host(source, word))?;
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Adds the lines of a file; `source` is the option that names it.
    ///
    /// # Errors
    /// The file cannot be read, or a line is invalid.
    pub(crate) fn add_file(&mut self, source: &str, path: &OsStr) -> Result<(), LaunchError> {
        let source = format!("{source} {}", path.to_string_lossy());
        let text = fs::read_to_string(path)
            .map_err(|error| LaunchError::new(USAGE, format!("{source}: {error}")))?;
        let before = self.entries.len();
        for line in text.lines() {
            self.entries.extend(line_of_file(&source, line)?);
        }
        if self.entries.len() == before {
            return Err(LaunchError::new(USAGE, format!("{source}: the file names no host")));
        }
        Ok(())
    }

    /// Adds the allocation of a resource manager (PBS, Grid Engine, LSF, Slurm), if there is one.
    ///
    /// # Errors
    /// The file of the allocation cannot be read.
    pub(crate) fn add_allocation(
        &mut self, lookup: &EnvironmentLookup<'_>,
    ) -> Result<(), LaunchError> {
        for name in ["PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "COBALT_NODEFILE"] {
            if let Some(path) = lookup(name).filter(|path| !path.is_empty()) {
                return self.add_file(name, &path);
            }
        }
        if let Some(path) = lookup("PE_HOSTFILE").filter(|path| !path.is_empty()) {
            return self.add_grid_engine(&path);
        }
        self.add_slurm(lookup);
        Ok(())
    }

    /// Grid Engine writes `host slots queue processors` on each line.
    fn add_grid_engine(&mut self, path: &OsStr) -> Result<(), LaunchError> {
        let source = format!("PE_HOSTFILE {}", path.to_string_lossy());
        let text = fs::read_to_string(path)
            .map_err(|error| LaunchError::new(USAGE, format!("{source}: {error}")))?;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let Some(name) = words.next() else { continue };
            let slots = words.next().and_then(|slots| slots.parse().ok());
            self.entries.push(HostEntry { slots, ..named(&source, name) });
        }
        Ok(())
    }

    /// On one node, Slurm's name for it means this host. A list of several nodes is kept as one name.
    fn add_slurm(&mut self, lookup: &EnvironmentLookup<'_>) {
        let text = |name: &str| lookup(name)?.into_string().ok();
        let number = |name: &str| text(name)?.parse::<u32>().ok();
        match number("SLURM_JOB_NUM_NODES") {
            None => {}
            Some(1) => {
                if let slots @ Some(_) = number("SLURM_TASKS_PER_NODE") {
                    let source = "SLURM_TASKS_PER_NODE";
                    self.entries.push(HostEntry { slots, ..named(source, "localhost") });
                }
            }
            Some(_) => {
                let list = text("SLURM_JOB_NODELIST").unwrap_or_default();
                self.entries.push(named("SLURM_JOB_NODELIST", &list));
            }
        }
    }

    /// The number of slots, if the entries have one. All entries must be this host.
    ///
    /// # Errors
    /// Names a host that is not this one.
    pub(crate) fn slots(&self, local: &IsLocalHost<'_>) -> Result<Option<u32>, LaunchError> {
        let is_here =
            |entry: &&HostEntry| matches!(&*entry.name, "+n0" | "+e") || local(&entry.name);
        let (excluded, named): (Vec<_>, Vec<_>) =
            self.entries.iter().partition(|entry| entry.excluded);
        if let Some(entry) = excluded.into_iter().find(is_here) {
            let why = format!("{}: ^{} excludes this host", entry.source, entry.name);
            return Err(LaunchError::new(USAGE, why));
        }
        if let Some(entry) = named.iter().find(|entry| !is_here(entry)) {
            let why = format!(
                "{}: {} is not this host, and jobs on several hosts are not supported yet; \
                 --host localhost starts all processes here",
                entry.source, entry.name
            );
            return Err(LaunchError::new(USAGE, why));
        }
        let is_given = named.len() > 1 || named.iter().any(|entry| entry.slots.is_some());
        let sum =
            named.iter().fold(0u32, |sum, entry| sum.saturating_add(entry.slots.unwrap_or(1)));
        Ok(is_given.then_some(sum))
    }
}

fn named(source: &str, name: &str) -> HostEntry {
    HostEntry { name: name.to_owned(), slots: None, excluded: false, source: source.to_owned() }
}

/// `name`, `name:slots`, `^name`; an IPv6 address contains colons.
fn entry(source: &str, word: &str) -> Option<HostEntry> {
    let (excluded, word) = match word.strip_prefix('^') {
        Some(word) => (true, word),
        None => (false, word),
    };
    let (name, slots) = match word.rsplit_once(':') {
        Some(_) if word.parse::<Ipv6Addr>().is_ok() => (word, None),
        Some((name, slots)) => (name, Some(slots.parse().ok().filter(|slots| *slots > 0)?)),
        None => (word, None),
    };
    // `user@host`, as for ssh.
    let name = name.rsplit('@').next().unwrap_or(name);
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let allowed =
        |character: char| character.is_ascii_alphanumeric() || "-._:+%".contains(character);
    let plain = !name.is_empty() && name.chars().all(allowed);
    plain.then(|| HostEntry { slots, excluded, ..named(source, name) })
}

fn line_of_file(source: &str, line: &str) -> Result<Option<HostEntry>, LaunchError> {
    let mut words = line.split('#').next().unwrap_or_default().split_whitespace().peekable();
    let Some(first) = words.next() else { return Ok(None) };
    let mut entry = entry(source, first).ok_or_else(|| not_a_host(source, first))?;
    while let Some(word) = words.next() {
        // Open MPI's files may have spaces around "=".
        let mut pair = word.to_owned();
        while pair.ends_with('=') || words.peek().is_some_and(|next| next.starts_with('=')) {
            let Some(next) = words.next() else { break };
            pair.push_str(next);
        }
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            LaunchError::new(USAGE, format!("{source}: {line:?}: {word} is not key=value"))
        })?;
        if matches!(key, "slots" | "cpu" | "count") {
            let slots = value.parse().ok().filter(|slots| *slots > 0);
            entry.slots = Some(slots.ok_or_else(|| not_a_host(source, line))?);
        }
    }
    Ok(Some(entry))
}

fn not_a_host(source: &str, word: &str) -> LaunchError {
    let why = format!("{source}: {word:?} is neither HOST nor HOST:SLOTS");
    LaunchError::new(USAGE, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn here(name: &str) -> bool {
        ["here", "localhost", "::1"].contains(&name)
    }

    fn slots_of(lines: &str) -> Result<Option<u32>, LaunchError> {
        let mut hosts = Hosts::default();
        for line in lines.split('\n') {
            hosts.entries.extend(line_of_file("-f x", line)?);
        }
        hosts.slots(&here)
    }

    #[test]
    fn both_dialects_of_files_are_read() {
        for (lines, slots) in [
            ("here:4", Some(4)),
            ("here slots=4 max_slots=8\n\n# none", Some(4)),
            ("here slots = 4 # many", Some(4)),
            ("here:2 binding=user:0\nlocalhost:3", Some(5)),
            ("here\nhere\nhere", Some(3)),
            ("here", None),
            ("user@here:2", Some(2)),
            ("+n0 slots=2", Some(2)),
            ("^there\nhere:2", Some(2)),
        ] {
            assert_eq!(slots_of(lines), Ok(slots), "{lines}");
        }
        for (lines, word) in [
            ("there:4", "there is not this host"),
            ("here:many", "here:many"),
            ("here slots=0", "slots=0"),
            ("here slots", "slots is not key=value"),
            ("^here", "excludes this host"),
            ("a/b", "a/b"),
        ] {
            let why = slots_of(lines).unwrap_err().why;
            assert!(why.starts_with("-f x: ") && why.contains(word), "{lines}: {why}");
        }
    }

    #[test]
    fn lists_have_commas_and_slots() {
        let slots = |list: &str| {
            let mut hosts = Hosts::default();
            hosts.add_list("--host", list)?;
            hosts.slots(&here)
        };
        assert_eq!(slots("here:2,localhost:3"), Ok(Some(5)));
        assert_eq!((slots("here"), slots("here,here")), (Ok(None), Ok(Some(2))));
        assert_eq!((slots("::1"), slots("[::1]:2")), (Ok(None), Ok(Some(2))));
        assert!(slots("here,there").unwrap_err().why.contains("there is not this host"));
        assert!(slots("here:0").unwrap_err().why.contains("here:0"));
    }

    #[test]
    fn slots_of_resource_managers_come_from_variables() {
        let slots = |pairs: &[(&str, &str)]| {
            let mut hosts = Hosts::default();
            let lookup = |name: &str| {
                pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1))
            };
            hosts.add_allocation(&lookup)?;
            hosts.slots(&here)
        };
        assert_eq!(slots(&[]), Ok(None));
        assert_eq!(
            slots(&[("SLURM_JOB_NUM_NODES", "1"), ("SLURM_TASKS_PER_NODE", "4")]),
            Ok(Some(4))
        );
        let several = [("SLURM_JOB_NUM_NODES", "2"), ("SLURM_JOB_NODELIST", "n[1-2]")];
        assert!(slots(&several).unwrap_err().why.contains("n[1-2] is not this host"));
        assert!(slots(&[("PBS_NODEFILE", "/nowhere")]).unwrap_err().why.contains("/nowhere"));
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in "[a-c:=^@#0-9 \\[\\]]{0,20}") {
            let _ = slots_of(&line);
        }
    }
}
