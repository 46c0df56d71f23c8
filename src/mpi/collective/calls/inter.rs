//! Collective operations on intercommunicators whose arguments differ from those inside a group:
//! lengths depend on the direction, and no process sends to itself (MPI 5.0 §6.2.3).
//!
//! Where both groups' arguments are alike, the calls of `collective` take them.

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::inter;
use crate::mpi::collective::algorithms::inter::InterCollective;
use crate::mpi::collective::algorithms::{BlockPairs, InterShape, ReduceScatter, RootedBlocks};
use crate::mpi::collective::calls::{buffer_table, lengths};
use crate::mpi::collective::reduction_operator::{ReductionOperator, ResultBuffer};
use crate::mpi::collective::{Bound, Call};
use crate::mpi::communicator::Comm;
use crate::mpi::request::status::PROC_NULL;
use crate::offload::Schedule;
use platform::base::{ErrorClass, Result};

/// `MPI_ROOT` of the standard ABI.
pub const ROOT: i32 = -4;

/// What a process is in an operation with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootRole {
    /// The root inside a group: it takes part like all others, too.
    Root,
    /// The root, across from the others.
    InterRoot,
    /// One of those who send to the root or receive from it.
    NonRoot,
    /// In the group of the root, across from the others: it does nothing.
    ProcNull,
}

impl Comm {
    /// What this process is in an operation with the root `root`, and the member that the root is
    /// (this one, for a bystander).
    ///
    /// # Errors
    /// `Root` if there is no such rank.
    pub fn root_role(&self, root: i32) -> Result<(RootRole, u32)> {
        match root {
            ROOT if self.is_inter() => Ok((RootRole::InterRoot, self.member())),
            PROC_NULL if self.is_inter() => Ok((RootRole::ProcNull, self.member())),
            root => {
                let root = self.member_of(self.check_root(root)?);
                let is_here = root == self.member();
                Ok((if is_here { RootRole::Root } else { RootRole::NonRoot }, root))
            }
        }
    }

    /// Refuses `MPI_IN_PLACE`, of which intercommunicators have none.
    ///
    /// # Errors
    /// `Buffer` if this is an intercommunicator.
    pub(crate) fn check_in_place(&self) -> Result {
        match self.is_inter() {
            false => Ok(()),
            true => {
                let title = self.title();
                let why = format!("{title} is an intercommunicator: MPI_IN_PLACE is not for it");
                Err(ErrorClass::Buffer.error(why))
            }
        }
    }
}

impl<D: Device> Mpi<D> {
    /// An operation in which this process has no part but to count the call.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn bind_empty(&self, call: Call) -> Result<Bound> {
        self.comms.get(call.comm)?;
        Ok(Bound::moving(Schedule::default(), Vec::new()))
    }

    pub(in crate::mpi) fn gatherv_inter(
        &self, call: Call, shape: InterShape, root: u32, send: Option<Memory>, receive: Vec<Memory>,
    ) -> Result<Bound> {
        let (own, blocks) = (send.as_ref().map_or(0, Memory::len), lengths(&receive));
        let args = RootedBlocks { own, blocks: &blocks, root, in_place: false };
        let schedule = inter::gatherv(shape, self.comms.get(call.comm)?.member(), args);
        Ok(Bound::moving(schedule, buffer_table(send, receive)))
    }

    pub(in crate::mpi) fn scatterv_inter(
        &self, call: Call, shape: InterShape, root: u32, send: Vec<Memory>, receive: Option<Memory>,
    ) -> Result<Bound> {
        let (own, blocks) = (receive.as_ref().map_or(0, Memory::len), lengths(&send));
        let args = RootedBlocks { own, blocks: &blocks, root, in_place: false };
        let schedule = inter::scatterv(shape, self.comms.get(call.comm)?.member(), args);
        Ok(Bound::moving(schedule, buffer_table(receive, send)))
    }

    pub(in crate::mpi) fn allgather_inter(
        &self, call: Call, shape: InterShape, send: Memory, receive: Memory,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        let blocks = by_side(on, send.len(), receive.len() / on.targets().size() as usize);
        let schedule =
            InterCollective::Allgather(blocks).schedule(&self.selection, shape, on.member());
        Ok(Bound::moving(schedule, vec![send, receive]))
    }

    pub(in crate::mpi) fn allgatherv_inter(
        &self, call: Call, shape: InterShape, send: Memory, receive: Vec<Memory>,
    ) -> Result<Bound> {
        let rank = self.comms.get(call.comm)?.member();
        let schedule = inter::allgatherv(shape, rank, send.len(), &lengths(&receive));
        Ok(Bound::moving(schedule, buffer_table(Some(send), receive)))
    }

    pub(in crate::mpi) fn alltoall_inter(
        &self, call: Call, shape: InterShape, send: Memory, receive: Memory,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        let ranks = on.targets().size() as usize;
        let blocks = by_side(on, send.len() / ranks, receive.len() / ranks);
        let schedule =
            InterCollective::Alltoall(blocks).schedule(&self.selection, shape, on.member());
        Ok(Bound::moving(schedule, vec![send, receive]))
    }

    pub(in crate::mpi) fn alltoallv_inter(
        &self, call: Call, shape: InterShape, mut send: Vec<Memory>, receive: Vec<Memory>,
    ) -> Result<Bound> {
        let (sent, received) = (lengths(&send), lengths(&receive));
        let args = BlockPairs { send: &sent, receive: &received, in_place: false };
        let schedule = inter::alltoallv(shape, self.comms.get(call.comm)?.member(), args);
        send.extend(receive);
        Ok(Bound::moving(schedule, send))
    }

    /// `blocks` are those of this process's own group.
    pub(in crate::mpi) fn reduce_scatter_inter(
        &self, call: Call, shape: InterShape, send: Memory, receive: Memory, blocks: &[usize],
        combining: ReductionOperator,
    ) -> Result<Bound> {
        let operands = combining.operands(send.len());
        let commutative = operands.commutative;
        let args = ReduceScatter { blocks, commutative, in_place: false };
        let rank = self.comms.get(call.comm)?.member();
        let schedule = inter::reduce_scatter(shape, rank, args, operands.element);
        let result = ResultBuffer::result(receive, false);
        Ok(Bound::Messages(combining.plan(schedule, Some(send), Some(result))))
    }
}

/// What the own side sends and what the other does, by number of the side.
fn by_side(on: &Comm, own: usize, other: usize) -> [usize; 2] {
    if on.side() == 0 { [own, other] } else { [other, own] }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mpi::communicator::Context;
    use crate::mpi::errhandler::Handler;
    use crate::mpi::group::Group;

    #[test]
    fn roots_of_an_intercommunicator_are_remote() {
        // Processes 0 and 1, and across from them 2, 3 and 4; this is process 3.
        let (local, remote) = (Group::range(2, 3, 3), Group::range(0, 2, 3));
        let context = Context::new(0, 7);
        let (local, remote) = (Arc::new(local), Arc::new(remote));
        let inter = Comm::new_inter(context, Arc::clone(&local), remote, Handler::Fatal).unwrap();
        assert_eq!(inter.root_role(ROOT).unwrap(), (RootRole::InterRoot, 3));
        assert_eq!(inter.root_role(PROC_NULL).unwrap().0, RootRole::ProcNull);
        assert_eq!(inter.root_role(1).unwrap(), (RootRole::NonRoot, 1));
        assert!(inter.root_role(2).is_err() && inter.root_role(-2).is_err());
        assert!(inter.check_in_place().is_err());
        let intra = Comm::new(context, local, Handler::Fatal).unwrap();
        assert_eq!(intra.root_role(1).unwrap(), (RootRole::Root, 1));
        assert_eq!(intra.root_role(2).unwrap(), (RootRole::NonRoot, 2));
        assert!(intra.root_role(ROOT).is_err() && intra.root_role(PROC_NULL).is_err());
        assert!(intra.check_in_place().is_ok());
    }
}
