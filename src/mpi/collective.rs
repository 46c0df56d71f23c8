//! Collective operations: from the arguments of a call to a schedule that runs (MPI 5.0 §6).
//!
//! The algorithms are in `coll`; here their bytes are given memory and their ranks peers. A root is
//! a member: of an intercommunicator, one of both groups. Memory that is `None` stands for
//! `MPI_IN_PLACE`, or is not significant on this rank. Roots have been checked
//! ([`Comm::seat`](super::comm::Comm::seat)), because the caller must know which arguments are
//! significant.

use std::sync::Arc;

use super::Mpi;
use super::coll::inter::Between;
use super::coll::{
    self, Allreduce, Bcast, BlockPairs, Blocks, Collective, Exchange, Reduce, ReduceScatter,
    ReduceScatterBlock, Rooted, RootedBlocks, Scan,
};
use super::combining::{Combining, operand, result};
use super::comm::Traffic;
use super::request::{Activity, Landing};
use super::table::Handle;
use crate::base::{ErrorClass, Result};
use crate::core::memory::Memory;
use crate::core::run::{Launch, Reduction, RunId};
use crate::device::Device;
use crate::offload::Schedule;

impl<D: Device> Mpi<D> {
    /// Starts a collective operation on `comm` whose schedule, buffers and reduction are known.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn launch(
        &mut self, comm: Handle, schedule: impl Into<Arc<Schedule>>, buffers: Vec<Memory>,
        reduction: Reduction, landing: Option<Landing>,
    ) -> Result<Activity> {
        let run = self.launch_run(comm, schedule, buffers, reduction)?;
        Ok(Activity::Run { run, landing: landing.map(Box::new) })
    }

    /// [`Mpi::launch`] for who reads the buffers of the run at its end.
    pub(super) fn launch_run(
        &mut self, comm: Handle, schedule: impl Into<Arc<Schedule>>, buffers: Vec<Memory>,
        reduction: Reduction,
    ) -> Result<RunId> {
        let comm = self.comms.get_mut(comm)?;
        Ok(self.engine.launch(Launch {
            schedule: schedule.into(),
            buffers,
            reduction,
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.of(Traffic::Collective),
            sequence: comm.next_call(),
        }))
    }

    /// The schedule of this rank in an operation on `comm`.
    fn schedule(&mut self, comm: Handle, collective: Collective) -> Result<Arc<Schedule>> {
        let comm = self.comms.get(comm)?;
        let Some(shape) = comm.inter_shape() else {
            return Ok(self.schedules.schedule(collective, comm.shape()?, comm.rank));
        };
        let Some(operation) = Between::of(collective) else { return Err(comm.not_between()) };
        Ok(Arc::new(operation.schedule(shape, comm.member())))
    }

    /// Starts an operation that only moves data.
    fn movement(
        &mut self, comm: Handle, collective: Collective, buffers: Vec<Memory>,
    ) -> Result<Activity> {
        let schedule = self.schedule(comm, collective)?;
        self.moved(comm, schedule, buffers)
    }

    /// [`Mpi::movement`] with a schedule that is known.
    pub(super) fn moved(
        &mut self, comm: Handle, schedule: impl Into<Arc<Schedule>>, buffers: Vec<Memory>,
    ) -> Result<Activity> {
        self.launch(comm, schedule, buffers, Reduction::None, None)
    }

    /// `MPI_Ibarrier` (§6.12.1).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn barrier(&mut self, comm: Handle) -> Result<Activity> {
        self.movement(comm, Collective::Barrier, Vec::new())
    }

    /// `MPI_Ibcast` (§6.12.2).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn bcast(&mut self, comm: Handle, root: u32, buffer: Memory) -> Result<Activity> {
        let args = Bcast { bytes: buffer.len(), root };
        self.movement(comm, Collective::Bcast(args), vec![buffer])
    }

    /// `MPI_Igather` (§6.12.3). The root gives memory to receive all blocks.
    ///
    /// # Errors
    /// `Comm`; `Truncate` or `Count` if the root's own block has not the length of its place.
    pub fn gather(
        &mut self, comm: Handle, root: u32, send: Option<Memory>, receive: Option<Memory>,
    ) -> Result<Activity> {
        let ranks = self.comms.get(comm)?.targets().size() as usize;
        let block = match (&send, &receive) {
            (own, Some(all)) => own_block(own.as_ref(), all.len() / ranks)?,
            (own, None) => len(own),
        };
        let args = Rooted { block, root, in_place: send.is_none() };
        self.movement(comm, Collective::Gather(args), table(send, receive))
    }

    /// `MPI_Igatherv` (§6.12.3). The root gives memory for each block.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn gatherv(
        &mut self, comm: Handle, root: u32, send: Option<Memory>, receive: Vec<Memory>,
    ) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        if let Some(shape) = on.inter_shape() {
            return self.gatherv_between(comm, shape, root, send, receive);
        }
        let blocks = lens(&receive);
        if let Some(place) = blocks.get(on.rank as usize) {
            own_block(send.as_ref(), *place)?;
        }
        let (own, in_place) = (len(&send), send.is_none());
        let args = RootedBlocks { own, blocks: &blocks, root, in_place };
        let schedule = coll::gatherv(on.shape()?, on.rank, args);
        self.moved(comm, schedule, table(send, receive))
    }

    /// `MPI_Iscatter` (§6.12.4). The root gives all blocks to send.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn scatter(
        &mut self, comm: Handle, root: u32, send: Option<Memory>, receive: Option<Memory>,
    ) -> Result<Activity> {
        let ranks = self.comms.get(comm)?.targets().size() as usize;
        let block = match (&send, &receive) {
            (Some(all), place) => placed_block(all.len() / ranks, place.as_ref())?,
            (None, place) => len(place),
        };
        let args = Rooted { block, root, in_place: receive.is_none() };
        self.movement(comm, Collective::Scatter(args), table(send, receive))
    }

    /// `MPI_Iscatterv` (§6.12.4). The root gives each block to send.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn scatterv(
        &mut self, comm: Handle, root: u32, send: Vec<Memory>, receive: Option<Memory>,
    ) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        if let Some(shape) = on.inter_shape() {
            return self.scatterv_between(comm, shape, root, send, receive);
        }
        let blocks = lens(&send);
        if let Some(own) = blocks.get(on.rank as usize) {
            placed_block(*own, receive.as_ref())?;
        }
        let (own, in_place) = (len(&receive), receive.is_none());
        let args = RootedBlocks { own, blocks: &blocks, root, in_place };
        let schedule = coll::scatterv(on.shape()?, on.rank, args);
        self.moved(comm, schedule, table(receive, send))
    }

    /// `MPI_Iallgather` (§6.12.5), with memory to receive all blocks.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn allgather(
        &mut self, comm: Handle, send: Option<Memory>, receive: Memory,
    ) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        let ranks = on.size() as usize;
        if let Some(shape) = on.inter_shape() {
            return self.allgather_between(comm, shape, given(send), receive);
        }
        let block = own_block(send.as_ref(), receive.len() / ranks)?;
        let args = Exchange { block, in_place: send.is_none() };
        self.movement(comm, Collective::Allgather(args), table(send, [receive]))
    }

    /// `MPI_Iallgatherv` (§6.12.5), with memory for each block.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn allgatherv(
        &mut self, comm: Handle, send: Option<Memory>, receive: Vec<Memory>,
    ) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        if let Some(shape) = on.inter_shape() {
            return self.allgatherv_between(comm, shape, given(send), receive);
        }
        let blocks = lens(&receive);
        own_block(send.as_ref(), blocks[on.rank as usize])?;
        let args = Blocks { blocks: &blocks, in_place: send.is_none() };
        let schedule = coll::allgatherv(on.shape()?, on.rank, args);
        self.moved(comm, schedule, table(send, receive))
    }

    /// `MPI_Ialltoall` (§6.12.6), with all blocks to send and to receive.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn alltoall(
        &mut self, comm: Handle, send: Option<Memory>, receive: Memory,
    ) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        let ranks = on.size() as usize;
        if let Some(shape) = on.inter_shape() {
            return self.alltoall_between(comm, shape, given(send), receive);
        }
        let block = own_block(send.as_ref(), receive.len())? / ranks;
        let args = Exchange { block, in_place: send.is_none() };
        self.movement(comm, Collective::Alltoall(args), table(send, [receive]))
    }

    /// `MPI_Ialltoallv` and `MPI_Ialltoallw` (§6.12.6, §6.12.7), with each block to send and each
    /// to receive.
    ///
    /// # Errors
    /// As [`Mpi::gather`].
    pub fn alltoallv(
        &mut self, comm: Handle, send: Option<Vec<Memory>>, receive: Vec<Memory>,
    ) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        if let Some(shape) = on.inter_shape() {
            return self.alltoallv_between(comm, shape, send.unwrap_or_default(), receive);
        }
        let received = lens(&receive);
        let in_place = send.is_none();
        let mut buffers = send.unwrap_or_else(|| received.iter().map(|_| Memory::EMPTY).collect());
        let sent = lens(&buffers);
        if !in_place {
            let own = on.rank as usize;
            equal(sent[own], received[own])?;
        }
        let args = BlockPairs { send: &sent, receive: &received, in_place };
        let schedule = coll::alltoallv(on.shape()?, on.rank, args);
        buffers.extend(receive);
        self.moved(comm, schedule, buffers)
    }

    /// `MPI_Ireduce` (§6.12.8). The root gives memory for the result.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn reduce(
        &mut self, comm: Handle, root: u32, send: Option<Memory>, receive: Option<Memory>,
        combining: Combining,
    ) -> Result<Activity> {
        let in_place = send.is_none();
        let bytes = receive.as_ref().or(send.as_ref()).map_or(0, Memory::len);
        let args = Reduce { operands: combining.operands(bytes), root, in_place };
        let schedule = self.schedule(comm, Collective::Reduce(args))?;
        let (receive, landing) = match receive {
            Some(receive) => result(receive, in_place, 1),
            None => (Memory::EMPTY, None),
        };
        let buffers = table(send.map(operand), [receive]);
        self.launch(comm, schedule, buffers, combining.reduction(), landing)
    }

    /// `MPI_Iallreduce` (§6.12.9).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn allreduce(
        &mut self, comm: Handle, send: Option<Memory>, receive: Memory, combining: Combining,
    ) -> Result<Activity> {
        let in_place = send.is_none();
        let args = Allreduce { operands: combining.operands(receive.len()), in_place };
        let schedule = self.schedule(comm, Collective::Allreduce(args))?;
        self.reduction(comm, schedule, send, receive, combining)
    }

    /// `MPI_Ireduce_scatter_block` (§6.10.1). In place, the memory to receive is that of the
    /// blocks for all ranks.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn reduce_scatter_block(
        &mut self, comm: Handle, send: Option<Memory>, receive: Memory, combining: Combining,
    ) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        let ranks = on.size() as usize;
        if let Some(shape) = on.inter_shape() {
            let blocks = vec![receive.len(); ranks];
            let send = given(send);
            return self.reduce_scatter_between(comm, shape, send, receive, &blocks, combining);
        }
        let in_place = send.is_none();
        let bytes = if in_place { receive.len() / ranks } else { receive.len() };
        let args = ReduceScatterBlock { block: combining.operands(bytes), in_place };
        let schedule = self.schedule(comm, Collective::ReduceScatterBlock(args))?;
        self.reduction(comm, schedule, send, receive, combining)
    }

    /// `MPI_Ireduce_scatter` (§6.10.2): rank `r` gets `blocks[r]` bytes. Memory as in
    /// [`Mpi::reduce_scatter_block`].
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn reduce_scatter(
        &mut self, comm: Handle, send: Option<Memory>, receive: Memory, blocks: &[usize],
        combining: Combining,
    ) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        if let Some(shape) = on.inter_shape() {
            let send = given(send);
            return self.reduce_scatter_between(comm, shape, send, receive, blocks, combining);
        }
        let commutative = combining.operands(0).commutative;
        let args = ReduceScatter { blocks, commutative, in_place: send.is_none() };
        let schedule = coll::reduce_scatter(on.shape()?, on.rank, args);
        self.reduction(comm, schedule, send, receive, combining)
    }

    /// `MPI_Iscan` (§6.11.1).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn scan(
        &mut self, comm: Handle, send: Option<Memory>, receive: Memory, combining: Combining,
    ) -> Result<Activity> {
        let operands = combining.operands(receive.len());
        let args = Scan { operands, in_place: send.is_none() };
        let schedule = self.schedule(comm, Collective::Scan(args))?;
        self.reduction(comm, schedule, send, receive, combining)
    }

    /// `MPI_Iexscan` (§6.11.2). Rank 0 gives no memory to receive unless in place, and that is not
    /// written.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn exscan(
        &mut self, comm: Handle, send: Option<Memory>, receive: Option<Memory>,
        combining: Combining,
    ) -> Result<Activity> {
        let bytes = receive.as_ref().or(send.as_ref()).map_or(0, Memory::len);
        let args = Scan { operands: combining.operands(bytes), in_place: send.is_none() };
        let schedule = self.schedule(comm, Collective::Exscan(args))?;
        if self.comms.get(comm)?.rank > 0 {
            let receive = receive.unwrap_or(Memory::EMPTY);
            return self.reduction(comm, schedule, send, receive, combining);
        }
        let buffers = table(send.map(operand), receive.map(operand));
        self.launch(comm, schedule, buffers, combining.reduction(), None)
    }

    /// Starts a reduction with a result on this rank.
    fn reduction(
        &mut self, comm: Handle, schedule: impl Into<Arc<Schedule>>, send: Option<Memory>,
        receive: Memory, combining: Combining,
    ) -> Result<Activity> {
        let (receive, landing) = result(receive, send.is_none(), 1);
        let buffers = table(send.map(operand), [receive]);
        self.launch(comm, schedule, buffers, combining.reduction(), landing)
    }
}

/// Memory that is not in place, as the caller has checked.
fn given(memory: Option<Memory>) -> Memory {
    memory.unwrap_or(Memory::EMPTY)
}

/// The table of buffers that begins with one which may be absent.
pub(super) fn table(first: Option<Memory>, rest: impl IntoIterator<Item = Memory>) -> Vec<Memory> {
    std::iter::once(given(first)).chain(rest).collect()
}

fn len(memory: &Option<Memory>) -> usize {
    memory.as_ref().map_or(0, Memory::len)
}

pub(super) fn lens(blocks: &[Memory]) -> Vec<usize> {
    blocks.iter().map(Memory::len).collect()
}

/// The length of the own block that goes to a place of `place` bytes, unless it is there.
fn own_block(own: Option<&Memory>, place: usize) -> Result<usize> {
    own.map_or(Ok(place), |own| equal(own.len(), place))
}

/// The length of the own block, of `own` bytes, which goes to `place` unless it stays.
fn placed_block(own: usize, place: Option<&Memory>) -> Result<usize> {
    place.map_or(Ok(own), |place| equal(own, place.len()))
}

/// What a rank sends to itself is copied, so both sides are known to disagree here already.
fn equal(sent: usize, received: usize) -> Result<usize> {
    if sent == received {
        return Ok(sent);
    }
    let class = if sent > received { ErrorClass::Truncate } else { ErrorClass::Count };
    Err(class.error(format!("this rank sends {sent} bytes to itself but receives {received}")))
}
