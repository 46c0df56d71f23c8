//! FenceMerger: barriers of ranks on several hosts, which also exchange what these ranks have put.
//!
//! ```text
//!   Server ──Fence──┐                      ┌──Fence──> Server::fence_done
//!   Server ──Fence──┤                      ├──Fence──> ...
//!                   └─> FenceMerger ──merged──> ┘
//! ```
//!
//! The pairs of a fence are text, `key LF value LF` for each; those of several hosts are one text after
//! the other. So hosts can be merged in any number of steps: the [`FenceMerger`] of a part of a job gives a
//! [`Fence`] that the `FenceMerger` above it takes, and the merged fence goes back the same way.
//!
//! The end of a rank may make a barrier of another host impossible. A server must know the first rank
//! that ended, for each number of programs that such a rank had joined: `FenceMerger` says which ends
//! these are ([`FenceEvent::Ended`]). Barriers of some ranks are checked by `FenceMerger` itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::barriers::GroupMembers;

/// A barrier that all its members on some hosts have reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    /// The number of the MPI program of the ranks.
    pub program: u32,
    /// The ranks, as PMI names them.
    pub group: String,
    /// What ranks of these hosts have put since the last fence of all ranks.
    pub pairs: Vec<u8>,
}

impl Fence {
    /// Neither key nor value has a line end: the lines of PMI have none.
    pub(super) fn push_pair(pairs: &mut Vec<u8>, key: &str, value: &str) {
        for text in [key, value] {
            pairs.extend_from_slice(text.as_bytes());
            pairs.push(b'\n');
        }
    }

    /// Keys and values, in the order in which they are put.
    pub(super) fn pairs(&self) -> Result<impl Iterator<Item = (&str, &str)>, String> {
        let text = std::str::from_utf8(&self.pairs);
        let text = text.map_err(|error| format!("the pairs of a fence are no text: {error}"))?;
        let lines = text.split_inclusive('\n').count();
        if lines % 2 == 1 || !(text.is_empty() || text.ends_with('\n')) {
            return Err(format!("the pairs of a fence are {lines} lines and no pairs"));
        }
        let mut lines = text.split_terminator('\n');
        Ok(std::iter::from_fn(move || Some((lines.next()?, lines.next()?))))
    }
}

/// What follows from a call to [`FenceMerger`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FenceEvent {
    /// All children have reached this fence; send it to these children, or to the parent of this part
    /// of the job, whose answer goes to [`FenceMerger::children_of`].
    Merged {
        /// With the pairs of all children.
        fence: Fence,
        /// The children that wait for it, by their numbers.
        children: Vec<usize>,
    },
    /// Tell the server of every other host ([`Server::remote_ended`](super::Server::remote_ended)).
    Ended {
        /// The rank.
        rank: u32,
        /// The number of its MPI programs that have joined.
        programs: u32,
    },
    /// A rank waits for one that has ended.
    Stuck {
        /// The rank that has ended.
        ended: u32,
        /// A rank that waits for it.
        waiting: u32,
    },
}

/// Merges the fences of the children of one place in the tree of hosts. A child is a host, or several.
#[derive(Debug)]
pub struct FenceMerger {
    /// Number of ranks of the job.
    size: u32,
    /// The ranks of each child.
    children: Vec<BTreeSet<u32>>,
    /// The pairs of each child that has reached the fence.
    open: HashMap<(u32, String), BTreeMap<usize, Vec<u8>>>,
    ended: BTreeSet<u32>,
    /// The numbers of programs of the ranks that others know to have ended.
    told: BTreeSet<u32>,
    /// The latest program by which ranks of each child have reached a fence.
    programs: Vec<u32>,
}

impl FenceMerger {
    /// For children with these ranks, of a job of `size` ranks.
    pub fn new(size: u32, children: Vec<BTreeSet<u32>>) -> Self {
        let (open, ended, told) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        let programs = vec![0; children.len()];
        Self { size, children, open, ended, told, programs }
    }

    /// The children with members of `group`, by their numbers.
    pub fn children_of(&self, group: &str) -> Vec<usize> {
        self.members(group).map_or(Vec::new(), |members| self.with(&members))
    }

    /// `child` has reached `fence`.
    ///
    /// # Errors
    /// The reason, if it has done so before, or has no ranks in the group; nothing has changed.
    pub fn reached(&mut self, child: usize, fence: Fence) -> Result<Vec<FenceEvent>, String> {
        let Fence { program, group, pairs } = fence;
        let members = self.members(&group).ok_or_else(|| format!("no group {group:?}"))?;
        let children = self.with(&members);
        if !children.contains(&child) {
            return Err(format!("none of its ranks is in the group {group:?}"));
        }
        let key = (program, group);
        let parts = self.open.entry(key.clone()).or_default();
        if parts.contains_key(&child) {
            return Err(format!("its ranks are in a barrier of {:?} already", key.1));
        }
        parts.insert(child, pairs);
        self.programs[child] = self.programs[child].max(program);
        if parts.len() < children.len() {
            return Ok(self.stuck(&key, &members, None).into_iter().collect());
        }
        let parts = self.open.remove(&key).unwrap_or_default();
        let pairs = parts.into_values().collect::<Vec<_>>().concat();
        let fence = Fence { program, group: key.1, pairs };
        Ok(vec![FenceEvent::Merged { fence, children }])
    }

    /// `rank` has ended, after it had joined by this number of programs.
    pub fn rank_ended(&mut self, rank: u32, programs: u32) -> Vec<FenceEvent> {
        if rank >= self.size || !self.ended.insert(rank) {
            return Vec::new();
        }
        let is_first = self.told.insert(programs);
        let mut events = Vec::from_iter(is_first.then_some(FenceEvent::Ended { rank, programs }));
        for key in self.open.keys() {
            if let Some(members) = self.members(&key.1).filter(|members| members.contain(rank)) {
                events.extend(self.stuck(key, &members, Some(rank)));
            }
        }
        events
    }

    /// All ranks of `child` have ended. How far they had joined follows from the fences that `child` has reached.
    pub fn child_lost(&mut self, child: usize) -> Vec<FenceEvent> {
        let programs = self.programs[child];
        let ranks: Vec<_> = self.children[child].iter().copied().collect();
        ranks.into_iter().flat_map(|rank| self.rank_ended(rank, programs)).collect()
    }

    /// A member of an open fence that has ended before its child reached the fence: `rank`, or any.
    fn stuck(
        &self, key: &(u32, String), members: &GroupMembers, rank: Option<u32>,
    ) -> Option<FenceEvent> {
        let parts = self.open.get(key)?;
        let missing = |rank: &u32| {
            members.contain(*rank)
                && !parts.keys().any(|child| self.children[*child].contains(rank))
        };
        let mut ended = self.ended.iter().filter(|ended| rank.is_none_or(|rank| rank == **ended));
        let ended = *ended.find(|rank| missing(rank))?;
        let first = self.children.get(*parts.keys().next()?)?;
        let waiting = members.among(first).next()?;
        Some(FenceEvent::Stuck { ended, waiting })
    }

    fn members(&self, group: &str) -> Option<GroupMembers> {
        // No group of the ranks of one host comes here.
        let none = Arc::default();
        GroupMembers::parse(group, self.size, &none).map(|(members, _)| members)
    }

    fn with(&self, members: &GroupMembers) -> Vec<usize> {
        let children = self.children.iter().enumerate();
        let has_members = |ranks: &BTreeSet<u32>| members.among(ranks).next().is_some();
        children.filter(|(_, ranks)| has_members(ranks)).map(|(number, _)| number).collect()
    }
}
