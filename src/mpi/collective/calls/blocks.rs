//! Calls with a block for each rank: the lengths of both sides of this rank's own block are compared
//! with the help of the communicator.
//!
//! On an intercommunicator no process sends to itself, and the lengths depend on the direction.

use super::{Call, CollectiveFunction, or_empty};
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::mpi::Mpi;
use crate::mpi::collective::reduction_operator::ReductionOperator;
use crate::mpi::handle::Handle;
use platform::base::{ErrorClass, Result};

impl<D: Device> Mpi<D> {
    /// `MPI_Gather` (§6.5). The root passes memory to receive all blocks.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator; `Truncate` or `Count` if the block that the root sends
    /// to itself and the memory for it differ in length.
    pub fn gather(
        &self, comm: Handle, root: u32, send: Option<Memory>, receive: Option<Memory>,
    ) -> Result<Call> {
        let ranks = self.comms.get(comm)?.targets().size() as usize;
        let block = match &receive {
            Some(all) => sent_block(send.as_ref(), all.len() / ranks)?,
            None => len(&send),
        };
        Ok(Call::gather(comm, root, block, send, receive))
    }

    /// `MPI_Gatherv` (§6.5). The root passes memory for each block.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn gatherv(
        &self, comm: Handle, root: u32, send: Option<Memory>, receive: Vec<Memory>,
    ) -> Result<Call> {
        let members = self.comms.get(comm)?;
        if !members.is_inter()
            && let Some(own) = receive.get(members.rank as usize)
        {
            sent_block(send.as_ref(), own.len())?;
        }
        let (in_place, send) = (send.is_none(), or_empty(send));
        let call = Call::new(comm, CollectiveFunction::Gatherv);
        Ok(Call { root, bytes: send.len(), send, blocks: receive, in_place, ..call })
    }

    /// `MPI_Scatter` (§6.6). The root passes all blocks to send.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn scatter(
        &self, comm: Handle, root: u32, send: Option<Memory>, receive: Option<Memory>,
    ) -> Result<Call> {
        let ranks = self.comms.get(comm)?.targets().size() as usize;
        let block = match &send {
            Some(all) => received_block(all.len() / ranks, receive.as_ref())?,
            None => len(&receive),
        };
        Ok(Call::scatter(comm, root, block, send, receive))
    }

    /// `MPI_Scatterv` (§6.6). The root passes each block to send.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn scatterv(
        &self, comm: Handle, root: u32, send: Vec<Memory>, receive: Option<Memory>,
    ) -> Result<Call> {
        let members = self.comms.get(comm)?;
        if !members.is_inter()
            && let Some(own) = send.get(members.rank as usize)
        {
            received_block(own.len(), receive.as_ref())?;
        }
        let (in_place, receive) = (receive.is_none(), or_empty(receive));
        let call = Call::new(comm, CollectiveFunction::Scatterv);
        Ok(Call { root, receive, blocks: send, in_place, ..call })
    }

    /// `MPI_Allgather` (§6.7), with memory to receive all blocks.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn allgather(&self, comm: Handle, send: Option<Memory>, receive: Memory) -> Result<Call> {
        let members = self.comms.get(comm)?;
        let received = receive.len() / members.targets().size() as usize;
        let block = match members.is_inter() {
            false => sent_block(send.as_ref(), received)?,
            true => received,
        };
        Ok(Call::allgather(comm, members.rank, block, send, receive))
    }

    /// `MPI_Allgatherv` (§6.7), with memory for each block.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn allgatherv(
        &self, comm: Handle, send: Option<Memory>, receive: Vec<Memory>,
    ) -> Result<Call> {
        let members = self.comms.get(comm)?;
        if !members.is_inter() {
            sent_block(send.as_ref(), receive[members.rank as usize].len())?;
        }
        Ok(Call::allgatherv(comm, members.rank, send, receive))
    }

    /// `MPI_Alltoall` (§6.8), with all blocks to send and to receive.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn alltoall(&self, comm: Handle, send: Option<Memory>, receive: Memory) -> Result<Call> {
        let members = self.comms.get(comm)?;
        if !members.is_inter() {
            sent_block(send.as_ref(), receive.len())?;
        }
        let block = receive.len() / members.targets().size() as usize;
        Ok(Call::alltoall(comm, block, send, receive))
    }

    /// `MPI_Alltoallv` and `MPI_Alltoallw` (§6.8), with each block to send and each block to receive.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn alltoallv(
        &self, comm: Handle, send: Option<Vec<Memory>>, receive: Vec<Memory>,
    ) -> Result<Call> {
        let members = self.comms.get(comm)?;
        let own = members.rank as usize;
        if let Some(send) = send.as_ref().filter(|_| !members.is_inter()) {
            check_equal(send[own].len(), receive[own].len())?;
        }
        let in_place = send.is_none();
        let mut blocks = send.unwrap_or_else(|| receive.iter().map(|_| Memory::EMPTY).collect());
        blocks.extend(receive);
        Ok(Call { blocks, in_place, ..Call::new(comm, CollectiveFunction::Alltoallv) })
    }

    /// `MPI_Reduce_scatter_block` (§6.10.1). In place, the memory to receive holds the blocks for all
    /// ranks.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn reduce_scatter_block(
        &self, comm: Handle, send: Option<Memory>, receive: Memory, operator: ReductionOperator,
    ) -> Result<Call> {
        let members = self.comms.get(comm)?;
        let ranks = if send.is_none() { members.size() as usize } else { 1 };
        let block = receive.len() / ranks;
        Ok(Call::reduce_scatter_block(comm, members.rank, block, send, receive, operator))
    }

    /// `MPI_Reduce_scatter` (§6.10.2): rank `r` of this process's group receives `blocks[r]` bytes. In
    /// place, the memory to receive holds the blocks for all ranks.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn reduce_scatter(
        &self, comm: Handle, send: Option<Memory>, receive: Memory, blocks: &[usize],
        operator: ReductionOperator,
    ) -> Result<Call> {
        let rank = self.comms.get(comm)?.rank;
        Ok(Call::reduce_scatter(comm, rank, blocks, send, receive, operator))
    }
}

fn len(memory: &Option<Memory>) -> usize {
    memory.as_ref().map_or(0, Memory::len)
}

/// The length of the own block that this rank sends to itself, unless the block stays in place.
fn sent_block(send: Option<&Memory>, received: usize) -> Result<usize> {
    send.map_or(Ok(received), |send| check_equal(send.len(), received))
}

/// The length of the own block that this rank receives from itself, unless the block stays in place.
fn received_block(sent: usize, receive: Option<&Memory>) -> Result<usize> {
    receive.map_or(Ok(sent), |receive| check_equal(sent, receive.len()))
}

/// # Errors
/// `Truncate` or `Count` if a rank sends another length to itself than it receives.
pub(in crate::mpi) fn check_equal(sent: usize, received: usize) -> Result<usize> {
    if sent == received {
        return Ok(sent);
    }
    let class = if sent > received { ErrorClass::Truncate } else { ErrorClass::Count };
    Err(class.error(format!("this rank sends {sent} bytes to itself but receives {received}")))
}
