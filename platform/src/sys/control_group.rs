//! The control groups of this process, in versions 1 and 2, and the processes that the kernel's
//! out-of-memory killer ended in them.

use std::fs;
use std::path::{Path, PathBuf};

/// Reads a file, if there is one.
pub(super) type CgroupReader<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// A directory of a group of this process or of a parent group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupDirectory {
    pub(super) path: PathBuf,
    /// Whether it is of version 2.
    pub(super) unified: bool,
}

/// The directories of the groups for `controller` in `groups` (`/proc/self/cgroup`) and of their
/// parent groups, where `mounts` (`/proc/self/mountinfo`) has them; each group before its parent.
pub(super) fn directories(groups: &str, mounts: &str, controller: &str) -> Vec<GroupDirectory> {
    let mut found = Vec::new();
    for line in groups.lines() {
        // "hierarchy:controllers:path"; version 2 has no controllers here.
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let unified = controllers.is_empty();
        if unified || has(controllers, controller) {
            let paths = mounted(path, unified, mounts, controller).into_iter();
            found.extend(paths.map(|path| GroupDirectory { path, unified }));
        }
    }
    found
}

/// The directories of the group `path` and of its parent groups, where they are mounted.
fn mounted(path: &str, unified: bool, mounts: &str, controller: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in mounts.lines() {
        // "id parent device root mountpoint options ... - type source options" (proc(5)).
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let left: Vec<_> = left.split(' ').collect();
        let right: Vec<_> = right.split(' ').collect();
        let (Some(root), Some(point), Some(kind)) = (left.get(3), left.get(4), right.first())
        else {
            continue;
        };
        let fits = match *kind {
            "cgroup2" => unified,
            "cgroup" => !unified && has(right.get(2).copied().unwrap_or(""), controller),
            _ => false,
        };
        if !fits {
            continue;
        }
        // In a container the mount may begin below the root of the hierarchy.
        let inside = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        let inside = inside.strip_prefix("/").unwrap_or(inside);
        found.extend(inside.ancestors().map(|part| Path::new(point).join(part)));
    }
    found
}

fn has(list: &str, name: &str) -> bool {
    list.split(',').any(|one| one == name)
}

/// Number of processes that the kernel's out-of-memory killer has ended in the memory group of this
/// process, or on the machine if no group counts them.
pub fn out_of_memory_kills() -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    kills(&groups, &mounts, &read)
}

fn kills(groups: &str, mounts: &str, read: CgroupReader<'_>) -> Option<u64> {
    let counted = |directory: &GroupDirectory| {
        let file = if directory.unified { "memory.events" } else { "memory.oom_control" };
        counter(&read(&directory.path.join(file))?)
    };
    let in_group = directories(groups, mounts, "memory").iter().find_map(counted);
    in_group.or_else(|| counter(&read(Path::new("/proc/vmstat"))?))
}

/// The number in the line `oom_kill NUMBER`.
fn counter(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
    const V1: &str = "32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup c rw,memory\n";

    fn kills_of(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Option<u64> {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path)?;
            Some(found.1.to_owned())
        };
        kills(groups, mounts, &read)
    }

    #[test]
    fn the_nearest_group_that_counts_is_asked_then_the_machine() {
        let machine = ("/proc/vmstat", "nr_free_pages 1\noom_kill 9\n");
        let parent = ("/sys/fs/cgroup/a/memory.events", "low 0\noom 2\noom_kill 2\n");
        let own = ("/sys/fs/cgroup/a/b/memory.events", "oom 1\noom_kill 1\noom_group_kill 0\n");
        assert_eq!(kills_of("0::/a/b\n", V2, &[machine, parent, own]), Some(1));
        assert_eq!(kills_of("0::/a/b\n", V2, &[machine, parent]), Some(2));
        assert_eq!(kills_of("0::/a/b\n", V2, &[machine]), Some(9));
        assert_eq!(kills_of("0::/a/b\n", V2, &[("/proc/vmstat", "pgfault 1\n")]), None);
        let control = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        let first = ("/sys/fs/cgroup/memory/x/memory.oom_control", control);
        assert_eq!(kills_of("4:memory:/x\n0::/\n", V1, &[machine, first]), Some(3));
    }
}
