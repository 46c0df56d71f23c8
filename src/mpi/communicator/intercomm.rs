//! Intercommunicators: two disjoint groups that talk to each other (MPI 5.0 §7.6).
//!
//! Ranks of messages and roots name processes of the other group. Collective operations do not
//! know that: their schedules run among the *members*, both groups in one numbering. Both sides
//! compute the same one, without communication:
//!
//! ```text
//!   rank among the members   0 ... sizes[0]-1    sizes[0] ... sizes[0]+sizes[1]-1
//!                            └─── side 0 ───┘    └──────────── side 1 ───────────┘
//! ```
//!
//! Side 0 is the group whose rank 0 is the lower peer. The members of an intracommunicator are its
//! group.

use std::ops::Range;
use std::sync::Arc;

use crate::engine::schedules::run::Members;
use crate::mpi::collective::algorithms::{InterShape, Shape};
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
    /// The union of two groups, and the side that the first of them is.
    fn of(local: &Arc<Group>, remote: &Arc<Group>) -> (Self, usize) {
        let [first, second] = [local, remote].map(|group| group.peers().next());
        let side = usize::from(second < first);
        let sides = match side {
            0 => [local, remote],
            _ => [remote, local],
        };
        (Self { sides: sides.map(Arc::clone) }, side)
    }

    /// How many processes each side has.
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

/// The other side of an intercommunicator, as one of its processes sees it.
#[derive(Clone, Debug)]
pub(crate) struct IntercommView {
    union: Arc<GroupUnion>,
    /// The side of this process.
    side: usize,
}

impl Comm {
    /// An intercommunicator between a group that this process is in and another one.
    ///
    /// # Errors
    /// `Group` if it is not, or if a group is empty; `Comm` if the groups have a common process.
    pub(crate) fn new_inter(
        context: Context, local: Arc<Group>, remote: Arc<Group>, handler: Handler,
    ) -> Result<Self> {
        if remote.size() == 0 {
            let why = "the remote group of an intercommunicator must not be empty";
            return Err(ErrorClass::Group.error(why));
        }
        check_disjoint(&local, &remote)?;
        let (union, side) = GroupUnion::of(&local, &remote);
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

    /// The group whose ranks messages and roots name: the remote one of an intercommunicator.
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
            ErrorClass::Comm.error(format!("{} is not an intercommunicator", self.title()))
        })
    }

    /// # Errors
    /// `Comm` if this is an intercommunicator, which `what` has no meaning on.
    pub(crate) fn check_intra(&self, what: &str) -> Result {
        match self.is_inter() {
            false => Ok(()),
            true => {
                let title = self.title();
                let why = format!("{title} is an intercommunicator, which {what} is not for");
                Err(ErrorClass::Comm.error(why))
            }
        }
    }

    /// Which side of the members this process is on: 0 or 1, and 0 in an intracommunicator.
    pub(crate) fn side(&self) -> usize {
        self.inter_view.as_ref().map_or(0, |across| across.side)
    }

    /// All processes, in the numbering that schedules use.
    pub fn members(&self) -> Arc<dyn Members> {
        match &self.inter_view {
            None => Arc::clone(&self.group) as Arc<dyn Members>,
            Some(across) => Arc::clone(&across.union) as Arc<dyn Members>,
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

    /// The rank among the members of a process that messages name by `target`.
    pub(crate) fn member_of(&self, target: u32) -> u32 {
        match &self.inter_view {
            Some(IntercommView { union, side: 0 }) => union.sizes()[0] + target,
            Some(_) | None => target,
        }
    }

    /// The members on this process's side and those on the other side, of which an
    /// intracommunicator has none.
    pub(crate) fn sides(&self) -> [Range<u32>; 2] {
        let all = self.members_shape().ranks;
        match (&self.remote, self.side()) {
            (None, _) => [0..all, all..all],
            (Some(_), 0) => [0..self.size(), self.size()..all],
            (Some(remote), _) => [remote.size()..all, 0..remote.size()],
        }
    }

    /// How the processes of two communicators compare, group by group (§7.4.1).
    pub(crate) fn compare(&self, other: &Self) -> GroupComparison {
        let local = self.group.compare(&other.group);
        match (&self.remote, &other.remote) {
            (None, None) => local,
            (Some(own), Some(theirs)) => match (local, own.compare(theirs)) {
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

    /// All members as if they were one group, for operations that do not tell sides apart.
    pub(crate) fn members_shape(&self) -> Shape {
        let ranks = match &self.inter_view {
            None => self.size(),
            Some(across) => across.union.sizes().iter().sum(),
        };
        Shape { ranks }
    }

    /// What algorithms on an intercommunicator may know of it; `None` for an intracommunicator.
    pub(crate) fn inter_shape(&self) -> Option<InterShape> {
        self.inter_view.as_ref().map(|across| InterShape { sizes: across.union.sizes() })
    }

    /// What algorithms may know of an intracommunicator.
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

    /// The error of an operation that there is not between two groups.
    #[cold]
    pub(crate) fn unsupported_intercomm(&self) -> Box<MpiError> {
        let why = format!("{} is an intercommunicator, which this is not for", self.title());
        ErrorClass::Comm.error(why)
    }
}

/// # Errors
/// `Comm` if both groups have a process.
fn check_disjoint(local: &Group, remote: &Group) -> Result {
    match local.ranks_within(remote).first() {
        None => Ok(()),
        Some(rank) => {
            let why = format!(
                "rank {rank} of the remote group is in the local group too: the groups of an \
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
        Comm::new_inter(Context::new(0, 7), local, remote, Handler::Return)
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
