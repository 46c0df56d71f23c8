//! The hosts of a job.

use std::collections::HashMap;

use crate::base::Peer;

/// Which ranks run on which host. Hosts are numbered in the order of their first ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobHosts {
    /// The number of the host of each rank; empty if there is one host.
    of_rank: Vec<u32>,
    names: Vec<String>,
}

impl JobHosts {
    /// All ranks run on one host.
    pub fn one(name: String) -> Self {
        Self { of_rank: Vec::new(), names: vec![name] }
    }

    /// The hosts of ranks with these identities and names of their hosts.
    pub fn of_ranks<'a>(ranks: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut numbers, mut names) = (HashMap::new(), Vec::new());
        let of_rank: Vec<u32> = ranks
            .map(|(identity, name)| {
                *numbers.entry(identity).or_insert_with(|| {
                    names.push(name.to_owned());
                    names.len() as u32 - 1
                })
            })
            .collect();
        let of_rank = if names.len() > 1 { of_rank } else { Vec::new() };
        Self { of_rank, names }
    }

    /// Whether all ranks run on one host.
    pub fn is_one(&self) -> bool {
        self.of_rank.is_empty()
    }

    /// The number of the host of each rank; empty if there is one host.
    pub fn numbers(&self) -> &[u32] {
        &self.of_rank
    }

    /// The number of the host of `rank`.
    pub fn number_of(&self, rank: Peer) -> u32 {
        self.of_rank.get(rank as usize).copied().unwrap_or(0)
    }

    /// The name of the host of `rank`.
    pub fn name_of(&self, rank: Peer) -> &str {
        &self.names[self.number_of(rank) as usize]
    }

    /// The names of the hosts.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The ranks on the host with this number, ascending, of a job of `size` ranks.
    pub fn ranks_on(&self, number: u32, size: u32) -> Vec<Peer> {
        (0..size).filter(|rank| self.number_of(*rank) == number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_apart_by_identity_and_not_by_name() {
        let ranks = [("b", "here"), ("a", "here"), ("b", "there"), ("c", "far")];
        let hosts = JobHosts::of_ranks(ranks.into_iter());
        assert_eq!((hosts.numbers(), hosts.is_one()), (&[0, 1, 0, 2][..], false));
        assert_eq!((hosts.ranks_on(0, 4), hosts.name_of(2)), (vec![0, 2], "here"));
        assert_eq!(hosts.names(), ["here", "here", "far"]);
    }

    #[test]
    fn one_host_needs_no_memory_for_its_ranks() {
        let hosts = JobHosts::of_ranks([("a", "here"), ("a", "there")].into_iter());
        assert_eq!(hosts, JobHosts::one("here".to_owned()));
        assert_eq!((hosts.ranks_on(0, 3), hosts.name_of(1)), (vec![0, 1, 2], "here"));
    }
}
