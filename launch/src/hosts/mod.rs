//! The hosts of a job, in the syntax of other launchers and of resource managers.
//!
//! ```text
//!   --host, host files ────entry, ranges──> HostMention ─┐
//!   variables of resource managers ──allocation──────────┴─selection──> HostList
//! ```
//!
//! A host may be mentioned several times: its slots are added. Whether a name is this host is an
//! argument; no other name is looked up. Two names of one other machine are two hosts here. The
//! agents on them report one identity, and [`placement`](crate::placement) treats them as one.

mod allocation;
mod entry;
mod ranges;
mod selection;

pub(crate) use allocation::ResourceManager;
pub(crate) use selection::{HostSelection, SelectedHosts};

use entry::{HostMention, MentionTarget};

/// Whether a name is that of the local host.
pub(crate) type IsLocalHost<'a> = dyn Fn(&str) -> bool + 'a;

/// The environment of the launcher.
pub(crate) type EnvironmentLookup<'a> = dyn Fn(&str) -> Option<std::ffi::OsString> + 'a;

/// No job has more hosts. Bounds the memory for a list such as `node[1-999999999]`.
const HOSTS_MAX: usize = 1 << 16;

/// The hosts of a job, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostList {
    /// The hosts in the order in which they were first mentioned. Empty: only the local host, because
    /// none was mentioned.
    pub hosts: Vec<JobHost>,
    /// The index of the host of each mention, in order.
    pub mentions: Vec<u32>,
}

/// A host of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobHost {
    /// The name as the user wrote it.
    pub name: String,
    pub is_local: bool,
    /// The user on that host, if it is another one.
    pub user: Option<String>,
    /// The port of the remote shell.
    pub port: Option<u16>,
    /// Number of ranks that the host should have; unknown: its number of cores.
    pub slots: Option<u32>,
    /// Number of ranks that the host can have at most.
    pub slots_max: Option<u32>,
    /// Option, file and line, or variable of the first mention.
    pub source: String,
}

impl HostList {
    /// Whether there is another host than the local one.
    pub(crate) fn is_remote(&self) -> bool {
        self.hosts.iter().any(|host| !host.is_local)
    }

    /// Number of hosts.
    pub(crate) fn count(&self) -> usize {
        self.hosts.len().max(1)
    }

    /// The slots of all hosts, if all are known.
    pub(crate) fn slots(&self) -> Option<u32> {
        let slots = self.hosts.iter().map(|host| host.slots);
        let sum = slots.reduce(|sum, slots| Some(sum?.saturating_add(slots?)));
        sum.flatten()
    }

    /// Number of processes without `-n`: the slots, and one for each host whose slots are unknown.
    pub(crate) fn default_size(&self) -> u32 {
        let slots = self.hosts.iter().map(|host| host.slots.unwrap_or(1));
        slots.fold(0, u32::saturating_add).max(1)
    }

    /// The index of the host that `name` means: its name, `+n` and its index, or a name of the local
    /// host if it is in the list.
    pub(crate) fn find(&self, name: &str, is_local: &IsLocalHost<'_>) -> Option<u32> {
        let named = self.hosts.iter().position(|host| host.name.eq_ignore_ascii_case(name));
        let relative = || name.strip_prefix("+n")?.parse().ok().filter(|at| *at < self.count());
        let local = || match self.hosts.iter().position(|host| host.is_local) {
            None if !self.hosts.is_empty() => None,
            at => is_local(name).then_some(at.unwrap_or(0)),
        };
        named.or_else(relative).or_else(local).map(|at| at as u32)
    }

    /// Adds a host that a rankfile or a file of `seq` mentions, if `name` is new; its index.
    ///
    /// # Errors
    /// `name` is no name of a host.
    pub(crate) fn add(
        &mut self, source: &str, name: &str, is_local: &IsLocalHost<'_>,
    ) -> Result<u32, String> {
        let known = self.find(name, is_local);
        if let Some(at) = known.filter(|_| !self.hosts.is_empty()) {
            return Ok(at);
        }
        // Without a list, the local host is "+n0".
        let is_local = known.is_some() || is_local(name);
        let name = if is_local && name.starts_with('+') { "localhost" } else { name };
        match &entry::word(source, name)?[..] {
            [
                mention @ HostMention {
                    target: MentionTarget::Name(name), is_excluded: false, ..
                },
            ] => {
                self.hosts.push(selection::new_host(name, is_local, mention));
            }
            _ => return Err(format!("{name:?} is not a host of the list")),
        }
        Ok(self.hosts.len() as u32 - 1)
    }

    /// Removes the local host; the index that it had.
    pub(crate) fn remove_local(&mut self) -> Option<u32> {
        let local = self.hosts.iter().position(|host| host.is_local)?;
        self.hosts.remove(local);
        remove_index(&mut self.mentions, local as u32);
        Some(local as u32)
    }
}

/// Removes a host from a list of indices.
pub(crate) fn remove_index(hosts: &mut Vec<u32>, removed: u32) {
    hosts.retain(|at| *at != removed);
    hosts.iter_mut().filter(|at| **at > removed).for_each(|at| *at -= 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> HostList {
        let mut list = HostList::default();
        for name in names {
            list.add("-f x", name, &|name| name == "here").unwrap();
        }
        list
    }

    #[test]
    fn hosts_are_found_by_name_index_or_as_the_local_one() {
        let is_local = |name: &str| ["here", "127.0.0.1"].contains(&name);
        let some = list(&["a", "here"]);
        let found = |name: &str| some.find(name, &is_local);
        assert_eq!((found("A"), found("+n1"), found("127.0.0.1")), (Some(0), Some(1), Some(1)));
        assert_eq!((found("b"), found("+n2"), found("+e")), (None, None, None));
        let none = HostList::default();
        assert_eq!((none.find("here", &is_local), none.find("+n0", &is_local)), (Some(0), Some(0)));
        assert_eq!((none.find("a", &is_local), none.find("+n1", &is_local)), (None, None));
        assert_eq!(list(&["a"]).find("here", &is_local), None);
    }

    #[test]
    fn hosts_of_other_files_are_added_once() {
        let mut some = list(&["+n0", "a", "here", "A"]);
        let names: Vec<_> = some.hosts.iter().map(|host| (&*host.name, host.is_local)).collect();
        assert_eq!(names, [("localhost", true), ("a", false)]);
        for wrong in ["+n7", "+e", "a/b", "n[1-2]", "^b"] {
            assert!(some.add("x", wrong, &|_| false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_local_host_can_be_left_out() {
        let mut some = list(&["a", "here", "b"]);
        some.mentions = vec![0, 1, 2, 1, 2];
        assert_eq!(some.remove_local(), Some(1));
        assert_eq!((some.hosts.len(), some.mentions), (2, vec![0, 1, 1]));
    }

    #[test]
    fn the_default_size_is_the_slots_or_one_for_each_host() {
        let mut some = list(&["a", "b"]);
        assert_eq!((some.slots(), some.default_size(), some.count()), (None, 2, 2));
        some.hosts[1].slots = Some(4);
        assert_eq!((some.slots(), some.default_size()), (None, 5));
        some.hosts[0].slots = Some(u32::MAX);
        assert_eq!((some.slots(), some.default_size()), (Some(u32::MAX), u32::MAX));
        let none = HostList::default();
        assert_eq!((none.slots(), none.default_size(), none.count()), (None, 1, 1));
    }
}
