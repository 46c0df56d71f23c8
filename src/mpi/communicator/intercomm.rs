//! Intercommunicators: communication between two disjoint groups (MPI 5.0 §7.6).
//!
//! Ranks in messages and roots refer to the remote group. Schedules of collective operations use
//! another numbering, the *members*: both groups together. Both sides compute the same numbering,
//! without communication:
//!
//! ```text
//!   rank among the members   0 ... sizes[0]-1    sizes[0] ... sizes[0]+sizes[1]-1
//!                            └─── side 0 ───┘    └──────────── side 1 ───────────┘
//! ```
//!
//! Side 0 is the group whose rank 0 has the lower identity: in one job, the lower rank there. The members of an intracommunicator
//! are its group.

use std::ops::Range;
use std::sync::Arc;

use crate::engine::schedules::plan::Members;
use crate::mpi::collective::algorithms::{InterShape, RankLayout, Shape};
use crate::mpi::communicator::{Comm, Context};
use crate::mpi::errhandler::Handler;
use crate::mpi::group::Group;
use crate::mpi::group::sets::GroupComparison;
use platform::base::{ErrorClass, MpiError, Peer, Result};

/// Both groups of an intercommunicator, in one numbering.
#[derive(Clone, Debug)]
pub(crate) struct GroupUnion {
    sides: [Arc<Group>; 2],
}

impl GroupUnion {
    /// The union of two groups, of which the local one is this side.
    fn of(local: &Arc<Group>, remote: &Arc<Group>, side: usize) -> Self {
        let sides = match side {
            0 => [local, remote],
            _ => [remote, local],
        };
        Self { sides: sides.map(Arc::clone) }
    }

    fn sizes(&self) -> [u32; 2] {
        self.sides.each_ref().map(|group| group.size())
    }
}

impl Members for GroupUnion {
    /// # Panics
    /// If there is no such rank.
    fn peer(&self, rank: u32) -> Peer {
        let [low, high] = &self.sides;
        match rank.checked_sub(low.size()) {
            None => low.peer(rank),
            Some(rank) => high.peer(rank),
        }
    }
}

/// The members of an intercommunicator, at one process.
#[derive(Clone, Debug)]
pub(crate) struct IntercommView {
    union: Arc<GroupUnion>,
    /// The side of this process.
    side: usize,
}

impl Comm {
    /// An intercommunicator between the local group, which contains this process, and a remote one.
    /// The local group is side `side` ([`Comms::side_of`](super::Comms::side_of)).
    ///
    /// # Errors
    /// `Group` if this process is not in the local group, or if a group is empty; `Comm` if the
    /// groups have a common process.
    pub(crate) fn new_inter(
        context: Context, (local, side): (Arc<Group>, usize), remote: Arc<Group>, handler: Handler,
    ) -> Result<Self> {
        if remote.size() == 0 {
            let why =
                "the remote group is empty: an intercommunicator needs two groups with processes";
            return Err(ErrorClass::Group.error(why));
        }
        check_disjoint(&local, &remote)?;
        let union = GroupUnion::of(&local, &remote, side);
        let mut comm = Self::new(context, local, handler)?;
        comm.inter_view = Some(IntercommView { union: Arc::new(union), side });
        comm.remote = Some(remote);
        Ok(comm)
    }

    /// Whether it is an intercommunicator.
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The group of the ranks in messages and roots: the remote one of an intercommunicator.
    #[inline]
    pub fn targets(&self) -> &Group {
        self.remote.as_ref().unwrap_or(&self.group)
    }

    /// The remote group.
    ///
    /// # Errors
    /// `Comm` if this is an intracommunicator.
    pub fn remote(&self) -> Result<&Arc<Group>> {
        self.remote.as_ref().ok_or_else(|| {
            let title = self.title();
            ErrorClass::Comm
                .error(format!("{title} is an intracommunicator: expected an intercommunicator"))
        })
    }

    /// # Errors
    /// `Comm` if this is an intercommunicator, on which `what` is not defined.
    pub(crate) fn check_intra(&self, what: &str) -> Result {
        match self.is_inter() {
            false => Ok(()),
            true => {
                let title = self.title();
                let why =
                    format!("{title} is an intercommunicator: {what} needs an intracommunicator");
                Err(ErrorClass::Comm.error(why))
            }
        }
    }

    /// The side of this process among the members: 0 or 1; 0 in an intracommunicator.
    pub(crate) fn side(&self) -> usize {
        self.inter_view.as_ref().map_or(0, |view| view.side)
    }

    /// All processes, in the numbering of schedules.
    pub fn members(&self) -> Arc<dyn Members> {
        match &self.inter_view {
            None => Arc::clone(&self.group) as Arc<dyn Members>,
            Some(view) => Arc::clone(&view.union) as Arc<dyn Members>,
        }
    }

    /// This process's rank among the members.
    #[inline]
    pub fn member(&self) -> u32 {
        match &self.inter_view {
            Some(IntercommView { union, side: 1 }) => union.sizes()[0] + self.rank,
            Some(_) | None => self.rank,
        }
    }

    /// The rank among the members of the process with rank `target` in messages.
    pub(crate) fn member_of(&self, target: u32) -> u32 {
        match &self.inter_view {
            Some(IntercommView { union, side: 0 }) => union.sizes()[0] + target,
            Some(_) | None => target,
        }
    }

    /// The members on the side of this process and on the other side, which is empty in an
    /// intracommunicator.
    pub(crate) fn sides(&self) -> [Range<u32>; 2] {
        let all = self.members_shape().ranks;
        match (&self.remote, self.side()) {
            (None, _) => [0..all, all..all],
            (Some(_), 0) => [0..self.size(), self.size()..all],
            (Some(remote), _) => [remote.size()..all, 0..remote.size()],
        }
    }

    /// Compares the groups of two communicators (§7.4.1).
    pub(crate) fn compare(&self, other: &Self) -> GroupComparison {
        let local = self.group.compare(&other.group);
        match (&self.remote, &other.remote) {
            (None, None) => local,
            (Some(own), Some(remote)) => match (local, own.compare(remote)) {
                (GroupComparison::Unequal, _) | (_, GroupComparison::Unequal) => {
                    GroupComparison::Unequal
                }
                (GroupComparison::Ident, GroupComparison::Ident) => GroupComparison::Ident,
                (GroupComparison::Similar, _) | (_, GroupComparison::Similar) => {
                    GroupComparison::Similar
                }
            },
            (Some(_), None) | (None, Some(_)) => GroupComparison::Unequal,
        }
    }

    /// The shape of all members as one group, for operations that ignore the sides.
    pub(crate) fn members_shape(&self) -> Shape {
        let ranks = match &self.inter_view {
            None => self.size(),
            Some(view) => view.union.sizes().iter().sum(),
        };
        Shape { ranks }
    }

    /// The shape for algorithms on an intercommunicator; `None` for an intracommunicator.
    pub(crate) fn inter_shape(&self) -> Option<InterShape> {
        self.inter_view.as_ref().map(|view| InterShape { sizes: view.union.sizes() })
    }

    /// The shape for algorithms on an intracommunicator.
    ///
    /// # Errors
    /// `Comm` if it is an intercommunicator.
    #[inline]
    pub(crate) fn shape(&self) -> Result<Shape> {
        match self.is_inter() {
            false => Ok(Shape { ranks: self.size() }),
            true => Err(self.unsupported_intercomm()),
        }
    }

    /// The ranks and nodes for algorithms on an intracommunicator.
    ///
    /// # Errors
    /// As [`Comm::shape`].
    pub(crate) fn layout(&self) -> Result<RankLayout<'_>> {
        let shape = self.shape()?;
        Ok(RankLayout { shape, nodes: self.nodes.as_deref(), turn: 0 })
    }

    #[cold]
    pub(crate) fn unsupported_intercomm(&self) -> Box<MpiError> {
        let title = self.title();
        let why =
            format!("{title} is an intercommunicator: this operation needs an intracommunicator");
        ErrorClass::Comm.error(why)
    }
}

/// # Errors
/// `Comm` if a process is in both groups.
fn check_disjoint(local: &Group, remote: &Group) -> Result {
    match local.ranks_within(remote).first() {
        None => Ok(()),
        Some(rank) => {
            let why = format!(
                "rank {rank} of the remote group is also in the local group: the groups of an \
                 intercommunicator must be disjoint"
            );
            Err(ErrorClass::Comm.error(why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(group: &Group) -> Vec<Peer> {
        group.peers().collect()
    }

    fn comm(me: Peer, local: &[Peer], remote: &[Peer]) -> Result<Comm> {
        let [local, remote] = [local, remote].map(|peers| Arc::new(Group::new(peers, me)));
        let side = usize::from(remote.peers().next() < local.peers().next());
        Comm::new_inter(Context::new(0, 7), (local, side), remote, Handler::Return)
    }

    #[test]
    fn both_sides_number_the_members_alike() {
        let sides: [&[Peer]; 2] = [&[9, 1, 4], &[5, 0]];
        let [one, two] = [comm(4, sides[0], sides[1]), comm(5, sides[1], sides[0])];
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!((one.side(), two.side()), (1, 0));
        assert_eq!((one.member(), two.member()), (4, 0));
        for comm in [&one, &two] {
            let members: Vec<_> = (0..5).map(|rank| comm.members().peer(rank)).collect();
            assert_eq!(members, [5, 0, 9, 1, 4]);
            assert_eq!(comm.inter_shape(), Some(InterShape { sizes: [2, 3] }));
            assert_eq!(comm.members_shape(), Shape { ranks: 5 });
            let target = comm.member_of(1);
            assert_eq!(comm.members().peer(target), comm.targets().peer(1));
            let [local, remote] = comm.sides();
            assert_eq!(
                local.map(|rank| members[rank as usize]).collect::<Vec<_>>(),
                list(&comm.group)
            );
            assert!(remote.map(|rank| members[rank as usize]).eq(comm.targets().peers()));
        }
    }

    #[test]
    fn ranks_and_roots_are_those_of_the_remote_group() {
        let comm = comm(4, &[9, 1, 4], &[5, 0]).unwrap();
        assert_eq!((comm.size(), comm.rank, comm.targets().size()), (3, 2, 2));
        assert_eq!(comm.check_rank(1).unwrap(), 1);
        assert_eq!(comm.check_rank(2).unwrap_err().code.0, ErrorClass::Rank as i32);
        assert_eq!(comm.shape().unwrap_err().code.0, ErrorClass::Comm as i32);
        assert_eq!(comm.check_intra("a scan").unwrap_err().code.0, ErrorClass::Comm as i32);
    }

    #[test]
    fn communicators_compare_by_both_groups() {
        let one = comm(4, &[9, 1, 4], &[5, 0]).unwrap();
        let like = |local: &[Peer], remote: &[Peer]| one.compare(&comm(4, local, remote).unwrap());
        assert_eq!(like(&[9, 1, 4], &[5, 0]), GroupComparison::Ident);
        assert_eq!(like(&[9, 1, 4], &[0, 5]), GroupComparison::Similar);
        assert_eq!(like(&[4, 1, 9], &[5, 0]), GroupComparison::Similar);
        assert_eq!(like(&[9, 1, 4], &[5]), GroupComparison::Unequal);
        assert_eq!(like(&[4, 1], &[0, 5]), GroupComparison::Unequal);
        let intra = Comm::new(one.context, Arc::clone(&one.group), Handler::Return).unwrap();
        assert_eq!(
            (one.compare(&intra), intra.compare(&one)),
            (GroupComparison::Unequal, GroupComparison::Unequal)
        );
    }

    #[test]
    fn groups_that_overlap_or_are_empty_are_refused() {
        let class = |local, remote| comm(4, local, remote).unwrap_err().code.0;
        assert_eq!(class(&[4, 5, 6], &[7, 5]), ErrorClass::Comm as i32);
        assert_eq!(class(&[4], &[]), ErrorClass::Group as i32);
        assert_eq!(class(&[], &[4]), ErrorClass::Group as i32);
    }
}
