//! Collective operations: from the arguments of a call to an operation that may start
//! (MPI 5.0 §6).
//!
//! The algorithms are in `algorithms`; here their bytes are given memory and their ranks peers. A root is
//! a member: of an intercommunicator, one of both groups. Memory that is `None` stands for
//! `MPI_IN_PLACE`, or is not significant on this rank. Roots have been checked
//! ([`Comm::root_role`](crate::mpi::communicator::Comm::root_role)), because the caller must know which arguments are
//! significant.

pub mod inter;
pub(crate) mod neighborhood;

use std::sync::Arc;

use super::reduction_operator::{BufferUse, ReductionOperator, ResultBuffer};
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms;
use crate::mpi::collective::algorithms::inter::InterCollective;
use crate::mpi::collective::algorithms::{
    Allreduce, Bcast, BlockPairs, Collective, RankBlocks, Reduce, ReduceScatter,
    ReduceScatterBlock, Rooted, RootedBlocks, Scan, UniformBlocks,
};
use crate::mpi::collective::selection::registry::CollectiveOperation;
use crate::mpi::collective::shared::{SharedArguments, SharedOperation};
use crate::mpi::collective::{Bound, Call};
use crate::offload::Schedule;
use platform::base::{ErrorClass, Result};

impl<D: Device> Mpi<D> {
    /// The schedule of this rank in an operation on `comm`.
    fn schedule(&mut self, call: Call, collective: Collective) -> Result<Arc<Schedule>> {
        let comm = self.comms.get(call.comm)?;
        let Some(shape) = comm.inter_shape() else {
            let (by, shape, nodes) = (&self.selection, comm.shape()?, comm.nodes.as_ref());
            return Ok(self.schedules.schedule(by, collective, shape, comm.rank, nodes));
        };
        let Some(operation) = InterCollective::of(collective) else {
            return Err(comm.unsupported_intercomm());
        };
        Ok(Arc::new(operation.schedule(&self.selection, shape, comm.member())))
    }

    /// An operation that only moves data.
    fn bind_transfer(
        &mut self, call: Call, collective: Collective, buffers: Vec<Memory>,
    ) -> Result<Bound> {
        Ok(Bound::moving(self.schedule(call, collective)?, buffers))
    }

    /// `MPI_Barrier` (§6.3).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn barrier(&mut self, call: Call) -> Result<Bound> {
        if let Some(hall) = self.shared_collective(call, CollectiveOperation::Barrier)? {
            return Ok(Bound::Shared(hall, SharedArguments::barrier()));
        }
        self.bind_transfer(call, Collective::Barrier, Vec::new())
    }

    /// `MPI_Bcast` (§6.4).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn bcast(&mut self, call: Call, root: u32, buffer: Memory) -> Result<Bound> {
        if let Some(hall) =
            self.shared_for_transfer(call, CollectiveOperation::Bcast, buffer.len())?
        {
            return Ok(Bound::Shared(hall, SharedArguments::bcast(root, buffer)));
        }
        let args = Bcast { bytes: buffer.len(), root };
        self.bind_transfer(call, Collective::Bcast(args), vec![buffer])
    }

    /// `MPI_Gather` (§6.5). The root gives memory to receive all blocks.
    ///
    /// # Errors
    /// `Comm`; `Truncate` or `Count` if the root's own block has not the length of its place.
    pub fn gather(
        &mut self, call: Call, root: u32, send: Option<Memory>, receive: Option<Memory>,
    ) -> Result<Bound> {
        let ranks = self.comms.get(call.comm)?.targets().size() as usize;
        let block = match (&send, &receive) {
            (own, Some(all)) => own_block(own.as_ref(), all.len() / ranks)?,
            (own, None) => len(own),
        };
        if let Some(hall) = self.shared_collective(call, CollectiveOperation::Gather)? {
            return Ok(Bound::Shared(hall, SharedArguments::gather(root, block, send, receive)));
        }
        let args = Rooted { block, root, in_place: send.is_none() };
        self.bind_transfer(call, Collective::Gather(args), buffer_table(send, receive))
    }

    /// `MPI_Gatherv` (§6.5). The root gives memory for each block.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn gatherv(
        &mut self, call: Call, root: u32, send: Option<Memory>, receive: Vec<Memory>,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        if let Some(shape) = on.inter_shape() {
            return self.gatherv_inter(call, shape, root, send, receive);
        }
        let blocks = lengths(&receive);
        if let Some(place) = blocks.get(on.rank as usize) {
            own_block(send.as_ref(), *place)?;
        }
        let (own, in_place) = (len(&send), send.is_none());
        let args = RootedBlocks { own, blocks: &blocks, root, in_place };
        let schedule = algorithms::gatherv(&self.selection, on.shape()?, on.rank, args);
        Ok(Bound::moving(schedule, buffer_table(send, receive)))
    }

    /// `MPI_Scatter` (§6.6). The root gives all blocks to send.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn scatter(
        &mut self, call: Call, root: u32, send: Option<Memory>, receive: Option<Memory>,
    ) -> Result<Bound> {
        let ranks = self.comms.get(call.comm)?.targets().size() as usize;
        let block = match (&send, &receive) {
            (Some(all), place) => placed_block(all.len() / ranks, place.as_ref())?,
            (None, place) => len(place),
        };
        if let Some(hall) = self.shared_collective(call, CollectiveOperation::Scatter)? {
            return Ok(Bound::Shared(hall, SharedArguments::scatter(root, block, send, receive)));
        }
        let args = Rooted { block, root, in_place: receive.is_none() };
        self.bind_transfer(call, Collective::Scatter(args), buffer_table(send, receive))
    }

    /// `MPI_Scatterv` (§6.6). The root gives each block to send.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn scatterv(
        &mut self, call: Call, root: u32, send: Vec<Memory>, receive: Option<Memory>,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        if let Some(shape) = on.inter_shape() {
            return self.scatterv_inter(call, shape, root, send, receive);
        }
        let blocks = lengths(&send);
        if let Some(own) = blocks.get(on.rank as usize) {
            placed_block(*own, receive.as_ref())?;
        }
        let (own, in_place) = (len(&receive), receive.is_none());
        let args = RootedBlocks { own, blocks: &blocks, root, in_place };
        let schedule = algorithms::scatterv(&self.selection, on.shape()?, on.rank, args);
        Ok(Bound::moving(schedule, buffer_table(receive, send)))
    }

    /// `MPI_Allgather` (§6.7), with memory to receive all blocks.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn allgather(
        &mut self, call: Call, send: Option<Memory>, receive: Memory,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        let ranks = on.size() as usize;
        if let Some(shape) = on.inter_shape() {
            return self.allgather_inter(call, shape, or_empty(send), receive);
        }
        let block = own_block(send.as_ref(), receive.len() / ranks)?;
        if let Some(hall) =
            self.shared_for_transfer(call, CollectiveOperation::Allgather, receive.len())?
        {
            let task = SharedArguments::allgather(on.rank, block, send, receive);
            return Ok(Bound::Shared(hall, task));
        }
        let args = UniformBlocks { block, in_place: send.is_none() };
        self.bind_transfer(call, Collective::Allgather(args), buffer_table(send, [receive]))
    }

    /// `MPI_Allgatherv` (§6.7), with memory for each block.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn allgatherv(
        &mut self, call: Call, send: Option<Memory>, receive: Vec<Memory>,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        if let Some(shape) = on.inter_shape() {
            return self.allgatherv_inter(call, shape, or_empty(send), receive);
        }
        let blocks = lengths(&receive);
        own_block(send.as_ref(), blocks[on.rank as usize])?;
        if let Some(hall) = self.shared_collective(call, CollectiveOperation::Allgatherv)? {
            return Ok(Bound::Shared(hall, SharedArguments::allgatherv(on.rank, send, receive)));
        }
        let args = RankBlocks { blocks: &blocks, in_place: send.is_none() };
        let schedule = algorithms::allgatherv(&self.selection, on.shape()?, on.rank, args);
        Ok(Bound::moving(schedule, buffer_table(send, receive)))
    }

    /// `MPI_Alltoall` (§6.8), with all blocks to send and to receive.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn alltoall(&mut self, call: Call, send: Option<Memory>, receive: Memory) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        let ranks = on.size() as usize;
        if let Some(shape) = on.inter_shape() {
            return self.alltoall_inter(call, shape, or_empty(send), receive);
        }
        let block = own_block(send.as_ref(), receive.len())? / ranks;
        if let Some(hall) =
            self.shared_for_transfer(call, CollectiveOperation::Alltoall, receive.len())?
        {
            return Ok(Bound::Shared(hall, SharedArguments::alltoall(block, send, receive)));
        }
        let args = UniformBlocks { block, in_place: send.is_none() };
        self.bind_transfer(call, Collective::Alltoall(args), buffer_table(send, [receive]))
    }

    /// `MPI_Alltoallv` and `MPI_Ialltoallw` (§6.8), with each block to send and each
    /// to receive.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn alltoallv(
        &mut self, call: Call, send: Option<Vec<Memory>>, receive: Vec<Memory>,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        if let Some(shape) = on.inter_shape() {
            return self.alltoallv_inter(call, shape, send.unwrap_or_default(), receive);
        }
        let received = lengths(&receive);
        let in_place = send.is_none();
        let mut buffers = send.unwrap_or_else(|| received.iter().map(|_| Memory::EMPTY).collect());
        let sent = lengths(&buffers);
        if !in_place {
            let own = on.rank as usize;
            check_equal(sent[own], received[own])?;
        }
        let args = BlockPairs { send: &sent, receive: &received, in_place };
        let schedule = algorithms::alltoallv(&self.selection, on.shape()?, on.rank, args);
        buffers.extend(receive);
        Ok(Bound::moving(schedule, buffers))
    }

    /// `MPI_Reduce` (§6.9.1). The root gives memory for the result.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn reduce(
        &mut self, call: Call, root: u32, send: Option<Memory>, receive: Option<Memory>,
        combining: ReductionOperator,
    ) -> Result<Bound> {
        let operands = [send.as_ref(), receive.as_ref()];
        if let Some((hall, by, unit)) =
            self.shared_for_reduction((call, CollectiveOperation::Reduce), &combining, operands)?
        {
            return Ok(Bound::Shared(hall, SharedArguments::reduce(root, send, receive, by, unit)));
        }
        let in_place = send.is_none();
        let bytes = receive.as_ref().or(send.as_ref()).map_or(0, Memory::len);
        let args = Reduce { operands: combining.operands(bytes), root, in_place };
        let schedule = self.schedule(call, Collective::Reduce(args))?;
        let result = receive.map(|receive| ResultBuffer::result(receive, in_place));
        Ok(Bound::Messages(combining.plan(schedule, send, result)))
    }

    /// `MPI_Allreduce` (§6.9.6).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn allreduce(
        &mut self, call: Call, send: Option<Memory>, receive: Memory, combining: ReductionOperator,
    ) -> Result<Bound> {
        let operands = [send.as_ref(), Some(&receive)];
        if let Some((hall, by, unit)) =
            self.shared_for_reduction((call, CollectiveOperation::Allreduce), &combining, operands)?
        {
            let task = SharedArguments::reduction_of_all(
                SharedOperation::Allreduce,
                send,
                receive,
                by,
                unit,
            );
            return Ok(Bound::Shared(hall, task));
        }
        let in_place = send.is_none();
        let args = Allreduce { operands: combining.operands(receive.len()), in_place };
        let schedule = self.schedule(call, Collective::Allreduce(args))?;
        Ok(bind_reduction(schedule, send, receive, combining))
    }

    /// `MPI_Reduce_scatter_block` (§6.10.1). In place, the memory to receive is that of the
    /// blocks for all ranks.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn reduce_scatter_block(
        &mut self, call: Call, send: Option<Memory>, receive: Memory, combining: ReductionOperator,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        let ranks = on.size() as usize;
        if let Some(shape) = on.inter_shape() {
            let blocks = vec![receive.len(); ranks];
            let send = or_empty(send);
            return self.reduce_scatter_inter(call, shape, send, receive, &blocks, combining);
        }
        let in_place = send.is_none();
        let bytes = if in_place { receive.len() / ranks } else { receive.len() };
        let operands = [send.as_ref(), Some(&receive)];
        if let Some((hall, by, unit)) = self.shared_for_reduction(
            (call, CollectiveOperation::ReduceScatter),
            &combining,
            operands,
        )? {
            let task =
                SharedArguments::reduce_scatter_block(on.rank, bytes, send, receive, by, unit);
            return Ok(Bound::Shared(hall, task));
        }
        let args = ReduceScatterBlock { block: combining.operands(bytes), in_place };
        let schedule = self.schedule(call, Collective::ReduceScatterBlock(args))?;
        Ok(bind_reduction(schedule, send, receive, combining))
    }

    /// `MPI_Reduce_scatter` (§6.10.2): rank `r` gets `blocks[r]` bytes. Memory as in
    /// [`Mpi::reduce_scatter_block`].
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn reduce_scatter(
        &mut self, call: Call, send: Option<Memory>, receive: Memory, blocks: &[usize],
        combining: ReductionOperator,
    ) -> Result<Bound> {
        let on = self.comms.get(call.comm)?;
        if let Some(shape) = on.inter_shape() {
            let send = or_empty(send);
            return self.reduce_scatter_inter(call, shape, send, receive, blocks, combining);
        }
        let operands = [send.as_ref(), Some(&receive)];
        if let Some((hall, by, unit)) = self.shared_for_reduction(
            (call, CollectiveOperation::ReduceScatter),
            &combining,
            operands,
        )? {
            let task = SharedArguments::reduce_scatter(on.rank, blocks, send, receive, by, unit);
            return Ok(Bound::Shared(hall, task));
        }
        let commutative = combining.operands(0).commutative;
        let args = ReduceScatter { blocks, commutative, in_place: send.is_none() };
        let schedule = algorithms::reduce_scatter(&self.selection, on.shape()?, on.rank, args);
        Ok(bind_reduction(schedule, send, receive, combining))
    }

    /// `MPI_Scan` (§6.11.1).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn scan(
        &mut self, call: Call, send: Option<Memory>, receive: Memory, combining: ReductionOperator,
    ) -> Result<Bound> {
        let operands = [send.as_ref(), Some(&receive)];
        if let Some((hall, by, unit)) =
            self.shared_for_reduction((call, CollectiveOperation::Scan), &combining, operands)?
        {
            let task =
                SharedArguments::reduction_of_all(SharedOperation::Scan, send, receive, by, unit);
            return Ok(Bound::Shared(hall, task));
        }
        let operands = combining.operands(receive.len());
        let args = Scan { operands, in_place: send.is_none() };
        let schedule = self.schedule(call, Collective::Scan(args))?;
        Ok(bind_reduction(schedule, send, receive, combining))
    }

    /// `MPI_Exscan` (§6.11.2). Rank 0 gives no memory to receive unless in place, and that is not
    /// written.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn exscan(
        &mut self, call: Call, send: Option<Memory>, receive: Option<Memory>,
        combining: ReductionOperator,
    ) -> Result<Bound> {
        let operands = [send.as_ref(), receive.as_ref()];
        if let Some((hall, by, unit)) =
            self.shared_for_reduction((call, CollectiveOperation::Exscan), &combining, operands)?
        {
            let receive = or_empty(receive);
            let task =
                SharedArguments::reduction_of_all(SharedOperation::Exscan, send, receive, by, unit);
            return Ok(Bound::Shared(hall, task));
        }
        let bytes = receive.as_ref().or(send.as_ref()).map_or(0, Memory::len);
        let args = Scan { operands: combining.operands(bytes), in_place: send.is_none() };
        let schedule = self.schedule(call, Collective::Exscan(args))?;
        let is_first = self.comms.get(call.comm)?.rank == 0;
        let output = receive.map(|receive| match is_first {
            true => ResultBuffer(receive, BufferUse::Read),
            false => ResultBuffer::result(receive, send.is_none()),
        });
        Ok(Bound::Messages(combining.plan(schedule, send, output)))
    }
}

/// A reduction with a result on this rank.
fn bind_reduction(
    schedule: impl Into<Arc<Schedule>>, send: Option<Memory>, receive: Memory,
    combining: ReductionOperator,
) -> Bound {
    let result = ResultBuffer::result(receive, send.is_none());
    Bound::Messages(combining.plan(schedule, send, Some(result)))
}

/// Memory that is not in place, as the caller has checked.
fn or_empty(memory: Option<Memory>) -> Memory {
    memory.unwrap_or(Memory::EMPTY)
}

/// The table of buffers that begins with one which may be absent.
pub(in crate::mpi) fn buffer_table(
    first: Option<Memory>, rest: impl IntoIterator<Item = Memory>,
) -> Vec<Memory> {
    std::iter::once(or_empty(first)).chain(rest).collect()
}

fn len(memory: &Option<Memory>) -> usize {
    memory.as_ref().map_or(0, Memory::len)
}

pub(in crate::mpi) fn lengths(blocks: &[Memory]) -> Vec<usize> {
    blocks.iter().map(Memory::len).collect()
}

/// The length of the own block that goes to a place of `place` bytes, unless it is there.
fn own_block(own: Option<&Memory>, place: usize) -> Result<usize> {
    own.map_or(Ok(place), |own| check_equal(own.len(), place))
}

/// The length of the own block, of `own` bytes, which goes to `place` unless it stays.
fn placed_block(own: usize, place: Option<&Memory>) -> Result<usize> {
    place.map_or(Ok(own), |place| check_equal(own, place.len()))
}

/// What a rank sends to itself is copied, so both sides are known to disagree here already.
pub(in crate::mpi) fn check_equal(sent: usize, received: usize) -> Result<usize> {
    if sent == received {
        return Ok(sent);
    }
    let class = if sent > received { ErrorClass::Truncate } else { ErrorClass::Count };
    Err(class.error(format!("this rank sends {sent} bytes to itself but receives {received}")))
}
