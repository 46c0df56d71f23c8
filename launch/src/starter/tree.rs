//! The tree of agents: each starts its children, which start theirs.
//!
//! ```text
//!   head ─┬─ 1 ─┬─ 2 ...
//!         │     └─ 4 ...
//!         └─ 6 ─── 7 ...      a branch is a range of hosts; its first host starts the rest
//! ```
//!
//! The branches of one process differ by at most one host, so no path is longer than needed.

use std::ops::Range;

/// Number of commands that one process starts at most. An ssh takes 10 ms of processor time, and its
/// process and pipes some of the limits of the user.
pub(crate) const FAN_OUT: usize = 32;

/// The branches below the process that starts agents on `hosts`.
pub(crate) fn branches(hosts: Range<usize>, fan_out: usize) -> Vec<Range<usize>> {
    let count = hosts.len();
    let children = count.min(fan_out.max(1));
    let start = |child: usize| hosts.start + count * child / children;
    (0..children).map(|child| start(child)..start(child + 1)).collect()
}

/// Which agent starts which, by the numbers of hosts; the head is that of host 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentTree {
    /// The host whose agent starts that of a host, and the first host after the branch of the host.
    hosts: Vec<(u32, u32)>,
}

impl AgentTree {
    /// The tree of the hosts from 1 to `hosts`. Without a fan-out, the head starts all.
    pub(crate) fn new(hosts: u32, fan_out: Option<usize>) -> Self {
        let mut tree = Self { hosts: (0..=hosts).map(|host| (0, host + 1)).collect() };
        let mut rest = vec![(0, 1..hosts as usize + 1)];
        while let Some(fan_out) = fan_out
            && let Some((parent, below)) = rest.pop()
        {
            for branch in branches(below, fan_out) {
                tree.hosts[branch.start] = (parent, branch.end as u32);
                rest.push((branch.start as u32, branch.start + 1..branch.end));
            }
        }
        tree
    }

    /// The host whose agent starts that of `host`.
    pub(crate) fn parent(&self, host: u32) -> u32 {
        self.hosts[host as usize].0
    }

    /// The hosts that are reached through the agent of `host`.
    pub(crate) fn below(&self, host: u32) -> Range<u32> {
        host + 1..self.hosts[host as usize].1
    }

    /// The host on the way to `host` whose agent the head starts.
    pub(crate) fn first(&self, host: u32) -> u32 {
        let mut first = host;
        while self.parent(first) != 0 {
            first = self.parent(first);
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The length of the longest way to a host.
    fn depth(tree: &AgentTree, hosts: u32) -> usize {
        let way = |host| {
            std::iter::successors(Some(host), |one| Some(tree.parent(*one)).filter(|up| *up != 0))
        };
        (1..=hosts).map(|host| way(host).count()).max().unwrap_or(0)
    }

    #[test]
    fn few_hosts_are_children_of_the_head() {
        assert_eq!(branches(0..0, FAN_OUT), []);
        assert_eq!(branches(3..5, FAN_OUT), [3..4, 4..5]);
        assert_eq!(branches(0..64, FAN_OUT)[31], 62..64);
        for (hosts, levels) in [(0, 0), (32, 1), (33, 2), (1056, 2), (1057, 3), (33_824, 3)] {
            assert_eq!(depth(&AgentTree::new(hosts, Some(FAN_OUT)), hosts), levels, "{hosts}");
            assert_eq!(depth(&AgentTree::new(hosts, None), hosts), levels.min(1));
        }
    }

    #[test]
    fn seven_hosts_with_two_children_each_are_two_branches() {
        let tree = AgentTree::new(7, Some(2));
        let parents: Vec<_> = (1..=7).map(|host| tree.parent(host)).collect();
        assert_eq!(parents, [0, 1, 1, 0, 4, 4, 6]);
        assert_eq!((tree.below(1), tree.below(4), tree.below(6)), (2..4, 5..8, 7..8));
        assert_eq!((tree.first(1), tree.first(3), tree.first(7)), (1, 1, 4));
    }

    proptest! {
        #[test]
        fn every_host_is_started_once_by_one_before_it(hosts in 0u32..500, fan_out in 1usize..40) {
            let tree = AgentTree::new(hosts, Some(fan_out));
            let mut children = vec![0; hosts as usize + 1];
            for host in 1..=hosts {
                let parent = tree.parent(host);
                children[parent as usize] += 1;
                prop_assert!(parent < host);
                prop_assert!(parent == 0 || tree.below(parent).contains(&host));
                prop_assert!(tree.first(host) <= host && tree.parent(tree.first(host)) == 0);
            }
            prop_assert!(children.into_iter().all(|count| count <= fan_out));
        }
    }
}
