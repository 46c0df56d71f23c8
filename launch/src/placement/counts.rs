//! The number of ranks, if options give it by objects, slots or files.

use std::io;
use std::path::Path;

use crate::hosts::HostList;
use crate::{LaunchError, USAGE};
use platform::sys::topology::{CpuTopology, HardwareLevel};

use super::files::{self, HostFinder};
use super::request::{PerHost, PlacementRequest, RankMapping};

impl PlacementRequest {
    /// Reads the files that the request names. `find` gives the index of a host, `mentions` are the
    /// hosts as the list of hosts mentions them.
    ///
    /// # Errors
    /// Names the file and the error.
    pub(crate) fn read_files(
        &mut self, read: &dyn Fn(&Path) -> io::Result<String>, find: HostFinder<'_>,
        mentions: &[u32],
    ) -> Result<(), LaunchError> {
        let read = |path: &Path| read(path).map_err(|error| error.to_string());
        let (path, read) = match &self.mapping {
            Some(RankMapping::Rankfile(path)) => {
                let ranks = read(path).and_then(|text| files::parse_ranks(&text, find));
                (path, ranks.map(RankMapping::RankfileRanks))
            }
            Some(RankMapping::Sequence(Some(path))) => {
                let hosts = read(path).and_then(|text| files::parse_hosts(&text, find));
                (path, hosts.map(RankMapping::HostSequence))
            }
            Some(RankMapping::Sequence(None)) => {
                self.mapping = Some(match mentions.is_empty() {
                    true => RankMapping::Slot,
                    false => RankMapping::HostSequence(mentions.to_vec()),
                });
                return Ok(());
            }
            _ => return Ok(()),
        };
        let wrong = |why| LaunchError::new(USAGE, format!("file {}: {why}", path.display()));
        self.mapping = Some(read.map_err(wrong)?);
        Ok(())
    }

    /// The number of ranks of each program: as `given` by `-n`, otherwise by the request, or 1.
    ///
    /// # Errors
    /// A count contradicts the request.
    pub(crate) fn counts(
        &self, given: &[Option<u32>], hosts: &HostList,
        topology: impl FnOnce() -> Result<CpuTopology, LaunchError>,
    ) -> Result<Vec<u32>, LaunchError> {
        let limit = self.limit(given, hosts, topology)?;
        let alone = given.len() == 1;
        match (limit, &self.mapping, self.per_host) {
            (Some(limit), _, _) => limit.counts(given),
            (None, Some(RankMapping::RankfileRanks(ranks)), _) => {
                divided(ranks.len(), "rankfile", given)
            }
            (None, Some(RankMapping::HostSequence(all)), _) => divided(all.len(), "seq", given),
            (None, Some(RankMapping::List { units, ordered: true }), _) => {
                divided(units.len().saturating_mul(hosts.count()), "pe-list", given)
            }
            (None, _, Some(PerHost { count, .. })) => {
                let all = count.saturating_mul(hosts.count());
                Ok(with_default(given, u32::try_from(all).unwrap_or(u32::MAX)))
            }
            (None, _, None) => {
                Ok(with_default(given, if alone { hosts.default_size() } else { 1 }))
            }
        }
    }

    /// The maximum for each program, if the request has one.
    fn limit(
        &self, given: &[Option<u32>], hosts: &HostList,
        topology: impl FnOnce() -> Result<CpuTopology, LaunchError>,
    ) -> Result<Option<RankLimit>, LaunchError> {
        if let (Some(RankMapping::PerObject { count, level }), None) =
            (&self.mapping, self.per_host)
        {
            let (count, level) = (*count, *level);
            if hosts.is_remote() {
                // Only their agents know the objects of other hosts.
                let name = level.name();
                let why = format!(
                    "ppr:{count}:{name}: give the number of processes by -n; what other hosts \
                     have is not known before the start"
                );
                let is_given = given.iter().all(Option::is_some);
                return if is_given { Ok(None) } else { Err(LaunchError::new(USAGE, why)) };
            }
            let objects = topology()?.objects(level).len();
            return Ok(Some(RankLimit { each: count, objects, level }));
        }
        let strict = self.per_host.filter(|per_host| !per_host.wraps_around);
        Ok(strict.map(|per_host| RankLimit {
            each: per_host.count,
            objects: hosts.count(),
            level: HardwareLevel::Machine,
        }))
    }
}

/// A number of ranks on each of a number of objects.
struct RankLimit {
    each: usize,
    objects: usize,
    level: HardwareLevel,
}

impl RankLimit {
    fn counts(&self, given: &[Option<u32>]) -> Result<Vec<u32>, LaunchError> {
        let Self { each, objects, level } = self;
        let most = u32::try_from(each.saturating_mul(*objects)).unwrap_or(u32::MAX);
        if let Some(count) = given.iter().flatten().find(|count| **count > most) {
            let name = level.name();
            let why = format!("-n {count}: {each} on each {name} allows at most {most} here");
            return Err(LaunchError::new(USAGE, why));
        }
        Ok(with_default(given, most))
    }
}

/// The given counts; `otherwise` for the others.
fn with_default(given: &[Option<u32>], otherwise: u32) -> Vec<u32> {
    given.iter().map(|count| count.unwrap_or(otherwise)).collect()
}

/// The one count that is not given is the rest of `all`.
fn divided(all: usize, source: &str, given: &[Option<u32>]) -> Result<Vec<u32>, LaunchError> {
    let wrong = |why: String| Err(LaunchError::new(USAGE, why));
    let others: usize = given.iter().flatten().map(|count| *count as usize).sum();
    match (given.iter().filter(|count| count.is_none()).count(), all.checked_sub(others)) {
        (0, _) => Ok(with_default(given, 0)),
        (1, Some(rest)) if rest > 0 => Ok(with_default(given, rest as u32)),
        (1, _) => wrong(format!("{source} has {all} entries; none is left for a program")),
        (_, _) => wrong(format!("{source} has {all} entries: give -n for all programs except one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::JobHost;
    use crate::placement::machines;

    fn request(words: &[&str]) -> PlacementRequest {
        let mut request = PlacementRequest::default();
        for words in words {
            request.map_by(words).unwrap();
        }
        let text = "rank 0=here slot=0\nrank 1=here slot=1\nrank 2=here slot=2\n";
        request.read_files(&|_| Ok(text.to_owned()), &mut |_| Ok(0), &[]).unwrap();
        request
    }

    fn hosts(slots: &[Option<u32>]) -> HostList {
        let is_local = slots.len() == 1;
        let host = |slots: &Option<u32>| JobHost { slots: *slots, is_local, ..JobHost::default() };
        HostList { hosts: slots.iter().map(host).collect(), mentions: Vec::new() }
    }

    /// Two packages of two cores of two threads.
    fn counts(request: &PlacementRequest, given: &[Option<u32>]) -> Result<Vec<u32>, String> {
        let topology = || Ok(machines::two_packages(2));
        let hosts = hosts(&[Some(9)]);
        request.counts(given, &hosts, topology).map_err(|error| error.why)
    }

    #[test]
    fn objects_give_the_count_or_limit_it() {
        for (words, count) in [
            ("ppr:2:package", 4),
            ("ppr:1:core", 4),
            ("ppr:1:hwthread", 8),
            ("ppr:3:node", 3),
            ("rankfile:file=x", 3),
            ("pe-list=0-2:ordered", 3),
            ("pe-list=0-2", 9),
            ("core", 9),
        ] {
            assert_eq!(counts(&request(&[words]), &[None]), Ok(vec![count]), "{words}");
        }
        assert_eq!(counts(&request(&["ppr:2:package"]), &[Some(3)]), Ok(vec![3]));
        let why = counts(&request(&["ppr:2:package"]), &[Some(5)]).unwrap_err();
        assert!(why.contains("-n 5") && why.contains("2 on each package"), "{why}");
        assert!(counts(&request(&["ppr:1:node"]), &[Some(2)]).is_err());
    }

    #[test]
    fn counts_per_host_limit_the_ranks_or_wrap_around() {
        let mut request = PlacementRequest::default();
        request.per_host_wrapping(2);
        assert_eq!(counts(&request, &[None]), Ok(vec![2]));
        assert_eq!(counts(&request, &[Some(5)]), Ok(vec![5]));
        assert_eq!(counts(&request, &[None, Some(1)]), Ok(vec![2, 1]));
        request.per_host(2);
        assert_eq!(counts(&request, &[Some(1)]), Ok(vec![1]));
        assert!(counts(&request, &[Some(3)]).unwrap_err().contains("at most 2"));
    }

    #[test]
    fn several_hosts_have_counts_each() {
        let two = hosts(&[Some(3), None]);
        let counts = |request: &PlacementRequest, given: &[Option<u32>]| {
            let topology = || panic!("the topology of this host says nothing about the other");
            request.counts(given, &two, topology).map_err(|error| error.why)
        };
        assert_eq!(counts(&PlacementRequest::default(), &[None]), Ok(vec![4]));
        let mut per_host = PlacementRequest::default();
        per_host.per_host_wrapping(2);
        assert_eq!(counts(&per_host, &[None]), Ok(vec![4]));
        per_host.per_host(3);
        assert_eq!(counts(&per_host, &[None]), Ok(vec![6]));
        assert!(counts(&per_host, &[Some(7)]).unwrap_err().contains("at most 6"));
        assert_eq!(counts(&request(&["pe-list=0-2:ordered"]), &[None]), Ok(vec![6]));
        assert_eq!(counts(&request(&["ppr:1:core"]), &[Some(5)]), Ok(vec![5]));
        let why = counts(&request(&["ppr:1:core"]), &[None]).unwrap_err();
        assert!(why.starts_with("ppr:1:core: give the number of processes by -n; "), "{why}");
        let mut sequence = PlacementRequest::default();
        sequence.map_by("seq").unwrap();
        sequence.read_files(&|_| Ok(String::new()), &mut |_| Ok(0), &[0, 1, 0]).unwrap();
        assert_eq!(counts(&sequence, &[None]), Ok(vec![3]));
    }

    #[test]
    fn one_of_several_programs_gets_the_rest() {
        let ranks = request(&["rankfile:file=x"]);
        assert_eq!(counts(&ranks, &[Some(1), None]), Ok(vec![1, 2]));
        assert_eq!(counts(&ranks, &[Some(4)]), Ok(vec![4]));
        assert!(counts(&ranks, &[Some(3), None]).unwrap_err().contains("none is left"));
        assert!(counts(&ranks, &[None, None]).unwrap_err().contains("-n for all"));
        assert_eq!(counts(&PlacementRequest::default(), &[None, Some(2)]), Ok(vec![1, 2]));
        assert_eq!(counts(&PlacementRequest::default(), &[None]), Ok(vec![9]));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let mut request = PlacementRequest::default();
        request.map_by("rankfile:file=/some/ranks").unwrap();
        let missing = |_: &Path| Err(io::ErrorKind::NotFound.into());
        for text in [Some("nonsense"), None] {
            let read = |path: &Path| text.map_or_else(|| missing(path), |text| Ok(text.to_owned()));
            let error = request.read_files(&read, &mut |_| Ok(0), &[]).unwrap_err();
            assert!(error.why.contains("/some/ranks: "), "{}", error.why);
        }
    }
}
