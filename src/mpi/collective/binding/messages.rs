//! A call by messages: its schedule, and the table of buffers that the regions of the schedule name
//! ([`algorithms`]).

use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::RunPlan;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms;
use crate::mpi::collective::algorithms::inter::{self, InterCollective};
use crate::mpi::collective::algorithms::{
    Allreduce, Bcast, BlockPairs, Collective, InterShape, Operands, RankBlocks, RankLayout, Reduce,
    ReduceScatter, ReduceScatterBlock, Rooted, RootedBlocks, Scan, UniformBlocks,
};
use crate::mpi::collective::binding::CallForm;
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::calls::function::CollectiveFunction;
use crate::mpi::collective::reduction_operator::BufferUse;
use crate::mpi::collective::selection::Selection;
use crate::mpi::communicator::Comm;
use crate::offload::Schedule;
use platform::base::{ErrorClass, MpiError, Result};

impl<D: Device> Mpi<D> {
    /// Binds a call to messages.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, or if it is an intercommunicator and the operation is
    /// not for those; for neighborhood collectives, `Topology`, `Truncate` or `Count`.
    pub(in crate::mpi) fn bind_messages(&mut self, call: Call, form: CallForm) -> Result<RunPlan> {
        let comm = self.comms.get_mut(call.comm)?;
        let by = self.selection.across_jobs(comm.spans_jobs);
        let schedule = match call.function {
            CollectiveFunction::ProcNull => Arc::default(),
            CollectiveFunction::NeighborAllgather
            | CollectiveFunction::NeighborAllgatherv
            | CollectiveFunction::NeighborAlltoall
            | CollectiveFunction::NeighborAlltoallv => {
                comm.neighborhood_schedule(call.function, &call.blocks)?
            }
            _ => match (comm.inter_shape(), call.collective()) {
                (Some(shape), _) => Arc::new(call.inter_schedule(&by, comm, shape)?),
                // Cached schedules are for the machine of this job.
                (None, Some(collective)) if comm.spans_jobs => {
                    let (layout, rank) = (comm.layout()?, comm.rank);
                    let is_prescribed = by.follows_impi && form == CallForm::Blocking;
                    let prescribed = || collective.prescribed_schedule(&by, layout, rank);
                    let schedule = is_prescribed.then(prescribed).flatten();
                    Arc::new(schedule.unwrap_or_else(|| collective.schedule(&by, layout, rank)))
                }
                (None, Some(collective)) => self.schedules.schedule(
                    &self.selection,
                    collective,
                    comm.shape()?,
                    comm.rank,
                    comm.nodes.as_ref().map(|nodes| (nodes, comm.turn())),
                ),
                (None, None) => Arc::new(call.block_schedule(&by, comm.layout()?, comm.rank)?),
            },
        };
        let is_first = comm.rank == 0;
        Ok(call.into_plan(schedule, is_first))
    }
}

impl Call {
    /// The arguments of the algorithms, for functions whose schedules are cached.
    fn collective(&self) -> Option<Collective> {
        let Self { function, root, bytes, in_place, .. } = *self;
        let rooted = Rooted { block: bytes, root, in_place };
        let blocks = UniformBlocks { block: bytes, in_place };
        Some(match function {
            CollectiveFunction::Barrier => Collective::Barrier,
            CollectiveFunction::Bcast => Collective::Bcast(Bcast { bytes, root }),
            CollectiveFunction::Gather => Collective::Gather(rooted),
            CollectiveFunction::Scatter => Collective::Scatter(rooted),
            CollectiveFunction::Allgather => Collective::Allgather(blocks),
            CollectiveFunction::Alltoall => Collective::Alltoall(blocks),
            CollectiveFunction::Reduce => {
                Collective::Reduce(Reduce { operands: self.operands()?, root, in_place })
            }
            CollectiveFunction::Allreduce => {
                Collective::Allreduce(Allreduce { operands: self.operands()?, in_place })
            }
            CollectiveFunction::ReduceScatterBlock => {
                let block = self.operands()?;
                Collective::ReduceScatterBlock(ReduceScatterBlock { block, in_place })
            }
            CollectiveFunction::Scan => {
                Collective::Scan(Scan { operands: self.operands()?, in_place })
            }
            CollectiveFunction::Exscan => {
                Collective::Exscan(Scan { operands: self.operands()?, in_place })
            }
            CollectiveFunction::Gatherv
            | CollectiveFunction::Scatterv
            | CollectiveFunction::Allgatherv
            | CollectiveFunction::Alltoallv
            | CollectiveFunction::ReduceScatter
            | CollectiveFunction::NeighborAllgather
            | CollectiveFunction::NeighborAllgatherv
            | CollectiveFunction::NeighborAlltoall
            | CollectiveFunction::NeighborAlltoallv
            | CollectiveFunction::ProcNull => return None,
        })
    }

    fn operands(&self) -> Option<Operands> {
        self.operator.as_ref().map(|operator| operator.operands(self.bytes))
    }

    /// The schedule of rank `rank`, for functions with a length for each rank.
    ///
    /// # Errors
    /// `Intern` for another function.
    fn block_schedule(
        &self, selection: &Selection, on: RankLayout<'_>, rank: u32,
    ) -> Result<Schedule> {
        let Self { root, in_place, .. } = *self;
        let lengths = lengths(&self.blocks);
        Ok(match (self.function, self.operands()) {
            (CollectiveFunction::Gatherv, _) => {
                let args = RootedBlocks { own: self.send.len(), blocks: &lengths, root, in_place };
                algorithms::gatherv(selection, on, rank, args)
            }
            (CollectiveFunction::Scatterv, _) => {
                let own = self.receive.len();
                let args = RootedBlocks { own, blocks: &lengths, root, in_place };
                algorithms::scatterv(selection, on, rank, args)
            }
            (CollectiveFunction::Allgatherv, _) => {
                let args = RankBlocks { blocks: &lengths, in_place };
                algorithms::allgatherv(selection, on, rank, args)
            }
            (CollectiveFunction::Alltoallv, _) => {
                let (send, receive) = lengths.split_at(lengths.len() / 2);
                let args = BlockPairs { send, receive, in_place };
                algorithms::alltoallv(selection, on, rank, args)
            }
            (CollectiveFunction::ReduceScatter, Some(Operands { commutative, .. })) => {
                let args = ReduceScatter { blocks: &self.result_lengths(), commutative, in_place };
                algorithms::reduce_scatter(selection, on, rank, args)
            }
            _ => return Err(self.without_algorithm()),
        })
    }

    /// The schedule on an intercommunicator, where nothing is in place.
    ///
    /// # Errors
    /// `Comm` if the operation is not for intercommunicators.
    fn inter_schedule(
        &self, selection: &Selection, comm: &Comm, shape: InterShape,
    ) -> Result<Schedule> {
        let (member, root) = (comm.member(), self.root);
        let lengths = lengths(&self.blocks);
        let targets = comm.targets().size() as usize;
        let by_side = |own, other| if comm.side() == 0 { [own, other] } else { [other, own] };
        let operation = match (self.function, self.operands()) {
            (CollectiveFunction::Gatherv, _) => {
                let own = self.send.len();
                let args = RootedBlocks { own, blocks: &lengths, root, in_place: false };
                return Ok(inter::gatherv(shape, member, args));
            }
            (CollectiveFunction::Scatterv, _) => {
                let own = self.receive.len();
                let args = RootedBlocks { own, blocks: &lengths, root, in_place: false };
                return Ok(inter::scatterv(shape, member, args));
            }
            (CollectiveFunction::Allgatherv, _) => {
                return Ok(inter::allgatherv(shape, member, self.send.len(), &lengths));
            }
            (CollectiveFunction::Alltoallv, _) => {
                let (send, receive) = lengths.split_at(lengths.len() / 2);
                let args = BlockPairs { send, receive, in_place: false };
                return Ok(inter::alltoallv(shape, member, args));
            }
            (
                CollectiveFunction::ReduceScatterBlock | CollectiveFunction::ReduceScatter,
                Some(Operands { commutative, element, .. }),
            ) => {
                let blocks = match self.function {
                    CollectiveFunction::ReduceScatter => self.result_lengths(),
                    _ => vec![self.bytes; comm.size() as usize],
                };
                let args = ReduceScatter { blocks: &blocks, commutative, in_place: false };
                return Ok(inter::reduce_scatter(shape, member, args, element));
            }
            (CollectiveFunction::Allgather, _) => Some(InterCollective::Allgather(by_side(
                self.send.len(),
                self.receive.len() / targets,
            ))),
            (CollectiveFunction::Alltoall, _) => Some(InterCollective::Alltoall(by_side(
                self.send.len() / targets,
                self.receive.len() / targets,
            ))),
            _ => self.collective().and_then(InterCollective::of),
        };
        let operation = operation.ok_or_else(|| comm.unsupported_intercomm())?;
        Ok(operation.schedule(selection, shape, member))
    }

    /// The length of each rank's block of a reduce-scatter.
    pub(in crate::mpi) fn result_lengths(&self) -> Vec<usize> {
        self.block_offsets.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[cold]
    fn without_algorithm(&self) -> Box<MpiError> {
        ErrorClass::Intern.error(format!("{} has no algorithm", self.function.name()))
    }

    /// The schedule with the table of buffers that its regions name.
    pub(in crate::mpi) fn into_plan(self, schedule: Arc<Schedule>, is_first: bool) -> RunPlan {
        let Self { function, in_place, send, receive, blocks, operator, .. } = self;
        // In place, no schedule uses the send buffer; in a scatter, none uses the receive buffer.
        let send = match function {
            CollectiveFunction::Scatter => send,
            _ if in_place => Memory::EMPTY,
            _ => send,
        };
        if let Some(operator) = operator {
            let usage = match in_place {
                // Rank 0 has no result.
                _ if is_first && function == CollectiveFunction::Exscan => BufferUse::Read,
                true => BufferUse::Both,
                false => BufferUse::Written,
            };
            return operator.plan(schedule, send, receive, usage);
        }
        let buffers = match function {
            CollectiveFunction::Bcast => vec![receive],
            CollectiveFunction::Gather
            | CollectiveFunction::Scatter
            | CollectiveFunction::Allgather
            | CollectiveFunction::Alltoall => vec![send, receive],
            CollectiveFunction::Gatherv | CollectiveFunction::Allgatherv => {
                std::iter::once(send).chain(blocks).collect()
            }
            CollectiveFunction::Scatterv => std::iter::once(receive).chain(blocks).collect(),
            // All buffers of alltoallv and neighborhoods, none of a barrier.
            _ => blocks,
        };
        RunPlan::moving(schedule, buffers)
    }
}

/// The length of each block in bytes.
pub(super) fn lengths(blocks: &[Memory]) -> Vec<usize> {
    blocks.iter().map(Memory::len).collect()
}
