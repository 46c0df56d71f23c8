//! The tree of agents: each starts its children, which start theirs.
//!
//! ```text
//!   head ─┬─ 0 ─┬─ 1 ...
//!         │     └─ 3 ...
//!         └─ 5 ─── 6 ...      a branch is a range of hosts; its first host starts the rest
//! ```
//!
//! The branches of one process differ by at most one host, so no path is longer than needed.

use std::ops::Range;

/// Number of commands that one process starts at most. An ssh takes 10 ms of processor time, and its
/// process and pipes some of the limits of the user.
pub(crate) const FAN_OUT: usize = 32;

/// The branches below the process that starts agents on `hosts`.
pub(crate) fn branches(hosts: Range<usize>) -> Vec<Range<usize>> {
    let count = hosts.len();
    let children = count.min(FAN_OUT);
    let start = |child: usize| hosts.start + count * child / children;
    (0..children).map(|child| start(child)..start(child + 1)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The hosts below `hosts` in the order of their start, and the depth of the tree.
    fn walk(hosts: Range<usize>, reached: &mut Vec<usize>) -> usize {
        let branches = branches(hosts);
        assert!(branches.len() <= FAN_OUT);
        let below = branches.into_iter().map(|branch| {
            reached.push(branch.start);
            walk(branch.start + 1..branch.end, reached)
        });
        below.max().map_or(0, |depth| depth + 1)
    }

    #[test]
    fn few_hosts_are_children_of_the_head() {
        assert_eq!(branches(0..0), []);
        assert_eq!(branches(3..5), [3..4, 4..5]);
        assert_eq!(branches(0..64)[31], 62..64);
        for (hosts, depth) in [(32, 1), (33, 2), (1056, 2), (1057, 3), (33_824, 3)] {
            assert_eq!(walk(0..hosts, &mut Vec::new()), depth, "{hosts}");
        }
    }

    proptest! {
        #[test]
        fn every_host_is_started_once(first in 0usize..9, count in 0usize..5000) {
            let mut reached = Vec::new();
            walk(first..first + count, &mut reached);
            reached.sort_unstable();
            prop_assert_eq!(reached, (first..first + count).collect::<Vec<_>>());
        }
    }
}
