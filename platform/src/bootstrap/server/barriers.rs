//! Barriers of the ranks of one host, and the groups of ranks that they are for.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::fences::Fence;
use super::values::entry_bytes;
use super::{Server, ServerEvent, failure, reply, success, too_much};

const NO_GROUP: &str = "no such group of ranks";

/// The ranks that wait at one barrier.
#[derive(Debug)]
pub(super) struct PmiBarrier {
    members: GroupMembers,
    /// Ranks of this host.
    pub(super) arrived: HashSet<u32>,
    /// Members on this host.
    local_count: usize,
    /// All members of this host have arrived, and those of other hosts are awaited.
    is_announced: bool,
    /// A member that has ended.
    pub(super) gone: Option<u32>,
    /// The rank that came first, and what this barrier takes of its bytes.
    opener: (u32, usize),
    tag: String,
}

impl PmiBarrier {
    pub(super) fn is_for(&self, rank: u32) -> bool {
        self.members.contain(rank)
    }
}

/// The ranks of a group.
#[derive(Clone, Debug)]
pub(super) enum GroupMembers {
    /// All ranks of a job of this size.
    All(u32),
    /// The ranks of this host.
    Host(Arc<BTreeSet<u32>>),
    List(BTreeSet<u32>),
}

impl GroupMembers {
    /// The ranks of a group's name in a job of `size` ranks, of which `local` are on this host, and
    /// its tag.
    pub(super) fn parse<'a>(
        group: &'a str, size: u32, local: &Arc<BTreeSet<u32>>,
    ) -> Option<(Self, &'a str)> {
        let (name, tag) = group.split_once(':').unwrap_or((group, "0"));
        let members = match name {
            "WORLD" => Self::All(size),
            "NODE" => Self::Host(local.clone()),
            list => {
                let member = |text: &str| text.parse().ok().filter(|member| *member < size);
                Self::List(list.split(',').map(member).collect::<Option<_>>()?)
            }
        };
        Some((members, tag))
    }

    pub(super) fn contain(&self, rank: u32) -> bool {
        match self {
            Self::All(size) => rank < *size,
            Self::Host(ranks) => ranks.contains(&rank),
            Self::List(ranks) => ranks.contains(&rank),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::All(size) => *size as usize,
            Self::Host(ranks) => ranks.len(),
            Self::List(ranks) => ranks.len(),
        }
    }

    /// The members among `ranks`, ascending.
    pub(super) fn among<'a>(&'a self, ranks: &'a BTreeSet<u32>) -> impl Iterator<Item = u32> + 'a {
        ranks.iter().copied().filter(|rank| self.contain(*rank))
    }
}

impl Server {
    pub(super) fn enter(&mut self, rank: u32, group: Option<&str>, events: &mut Vec<ServerEvent>) {
        let group = group.unwrap_or("WORLD:0");
        let name = (self.programs(rank), group.to_owned());
        if !self.barriers.contains_key(&name) {
            match self.opened(rank, group) {
                Ok(barrier) => self.barriers.insert(name.clone(), barrier),
                Err(why) => return events.push(reply(rank, failure("barrier_out", &why))),
            };
        }
        let Some(barrier) = self.barriers.get_mut(&name) else { return };
        if !barrier.is_for(rank) {
            return events.push(reply(rank, failure("barrier_out", NO_GROUP)));
        }
        barrier.arrived.insert(rank);
        if let Some(gone) = barrier.gone {
            events.push(ServerEvent::Stuck { ended: gone, waiting: rank });
        }
        if barrier.arrived.len() < barrier.local_count || barrier.is_announced {
            return;
        }
        if barrier.local_count == barrier.members.count() {
            return self.let_go(&name, events);
        }
        barrier.is_announced = true;
        let is_world = matches!(barrier.members, GroupMembers::All(_));
        let (program, group) = name;
        let pairs = self.fresh_pairs(program, is_world);
        events.push(ServerEvent::Fence(Fence { program, group, pairs }));
    }

    /// All hosts have reached `fence`, whose pairs are now those of all hosts.
    ///
    /// # Errors
    /// The reason, if no rank here waits for it or its pairs are invalid.
    pub fn fence_done(&mut self, fence: &Fence) -> Result<Vec<ServerEvent>, String> {
        let name = (fence.program, fence.group.clone());
        if !self.barriers.get(&name).is_some_and(|barrier| barrier.is_announced) {
            return Err(format!("no rank of this host waits in a barrier of {:?}", fence.group));
        }
        self.accept_pairs(fence)?;
        let mut events = Vec::new();
        self.let_go(&name, &mut events);
        Ok(events)
    }

    fn let_go(&mut self, name: &(u32, String), events: &mut Vec<ServerEvent>) {
        let Some(barrier) = self.barriers.remove(name) else { return };
        self.release(barrier.opener.0, barrier.opener.1);
        let line = success("barrier_out").text("tag", &barrier.tag);
        let members = barrier.members.among(&self.local);
        events.extend(members.map(|member| reply(member, line.clone())));
    }

    /// A barrier of `group` that `rank` is the first to reach.
    fn opened(&mut self, rank: u32, group: &str) -> Result<PmiBarrier, String> {
        let found = GroupMembers::parse(group, self.ranks.len() as u32, &self.local);
        let (members, tag) = found.filter(|(members, _)| members.contain(rank)).ok_or(NO_GROUP)?;
        let listed = if let GroupMembers::List(ranks) = &members { ranks.len() } else { 0 };
        let bytes = entry_bytes(group, tag) + listed * size_of::<u32>();
        if !self.keep(rank, bytes) {
            return Err(too_much());
        }
        let has_ended = |rank: &u32| self.ranks[*rank as usize].has_ended;
        let (gone, local_count) = match &members {
            GroupMembers::All(size) => ((0..*size).find(has_ended), self.local.len()),
            GroupMembers::Host(ranks) => (ranks.iter().copied().find(has_ended), ranks.len()),
            GroupMembers::List(ranks) => {
                let local = ranks.intersection(&self.local).count();
                (ranks.iter().copied().find(has_ended), local)
            }
        };
        Ok(PmiBarrier {
            members,
            arrived: HashSet::new(),
            local_count,
            is_announced: false,
            gone,
            opener: (rank, bytes),
            tag: tag.to_owned(),
        })
    }
}
