//! All shared collectives of this process: which calls run in them, and how polling advances them.
//!
//! ```text
//! begin ──► completed                                      mostly, if the data are short
//!   └─────► running ──poll──► ... ──poll──► completed
//! ```
//!
//! A communicator has a shared collective for its blocking calls, one of which runs at a time; a
//! persistent operation has one of its own (`persistent`). Each poll advances all running calls.

use std::sync::Arc;

use crate::device::Device;
use crate::engine::Engine;
use crate::engine::schedules::plan::{Launch, RunId};
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::Shape;
use crate::mpi::collective::binding::CallForm;
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::calls::function::CollectiveFunction;
use crate::mpi::collective::selection::machine_model::MachineModel;
use crate::mpi::collective::selection::registry::CollectiveOperation;
use crate::mpi::collective::selection::rules::CallSize;
use crate::mpi::collective::selection::{AlgorithmChoice, Selection};
use crate::mpi::collective::shared::SharedCollective;
use crate::mpi::communicator::segment::EnteredSegment;
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use crate::shared_memory::segment::SharedSegment;
use platform::base::{MpiError, Peer, Result, Slab};

/// The key of a shared collective.
pub type SharedCollectiveId = u32;

/// The shared collectives of this process.
#[derive(Debug, Default)]
pub(crate) struct SharedCollectives {
    all: Slab<OwnedCollective>,
    /// Those with a running call.
    running: Vec<SharedCollectiveId>,
}

#[derive(Debug)]
struct OwnedCollective {
    collective: SharedCollective,
    owner: CollectiveOwner,
    /// The number of the call on its communicator.
    sequence: u32,
    /// The messages with the long blocks of the call.
    messages: Option<RunId>,
}

/// The owner of a shared collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi) enum CollectiveOwner {
    Comm,
    /// A persistent operation: number `sequence` in `context`.
    Operation {
        context: u64,
        sequence: u32,
    },
    /// The request was freed while its call was running.
    Freed,
}

impl SharedCollectives {
    /// The shared collective in this segment, of these peers, on this kind of machine.
    pub(in crate::mpi) fn open(
        &mut self, segment: EnteredSegment, peers: impl Iterator<Item = Peer>,
        owner: CollectiveOwner, machine: &MachineModel,
    ) -> SharedCollectiveId {
        let collective = SharedCollective::new(segment, peers.collect::<Vec<_>>(), machine);
        let owned = OwnedCollective { collective, owner, sequence: 0, messages: None };
        let id = self.all.insert(owned);
        // So that no call allocates.
        self.running.reserve(self.all.len().saturating_sub(self.running.len()));
        id
    }

    /// Makes a call ready to start. No call is running.
    pub(in crate::mpi) fn prepare(&mut self, id: SharedCollectiveId, call: Call) {
        self.all[id].collective.prepare(call);
    }

    /// Ends the running calls of those that `is_lost` names with `error`. Their segments are not used
    /// any more.
    #[cold]
    pub(in crate::mpi) fn fail(
        &mut self, is_lost: impl Fn(SharedCollectiveId, CollectiveOwner) -> bool, error: &MpiError,
    ) {
        let Self { all, running } = self;
        running.retain(|id| {
            let lost = is_lost(*id, all[*id].owner);
            if lost {
                all[*id].collective.end_with(error);
            }
            !lost
        });
    }

    /// Removes a shared collective; its segment.
    pub(in crate::mpi) fn close(&mut self, id: SharedCollectiveId) -> Option<EnteredSegment> {
        self.running.retain(|other| *other != id);
        self.all.remove(id).map(|owned| owned.collective.into_segment())
    }

    pub(in crate::mpi) fn segment_number(&self, id: SharedCollectiveId) -> Option<u32> {
        self.all.get(id).map(|owned| owned.collective.segment_number())
    }

    pub(in crate::mpi) fn segment(&mut self, id: SharedCollectiveId) -> Option<&mut SharedSegment> {
        self.all.get_mut(id).map(|owned| owned.collective.segment())
    }

    /// Makes the other ranks look at a segment.
    pub(in crate::mpi) fn wake_others<D: Device>(
        &self, id: SharedCollectiveId, engine: &mut Engine<D>,
    ) {
        self.all[id].collective.wake_others(engine);
    }

    #[inline]
    pub(in crate::mpi) fn is_complete(&self, id: SharedCollectiveId) -> bool {
        self.all[id].collective.is_complete()
    }

    /// The messages of the call, which begin when its round has completed.
    pub(in crate::mpi) fn messages(&self, id: SharedCollectiveId) -> Option<RunId> {
        self.all[id].messages
    }

    /// The peers that the running call may wait for.
    pub(in crate::mpi) fn waits_for(&self, id: SharedCollectiveId) -> Vec<Peer> {
        self.all[id].collective.waits_for()
    }

    pub(in crate::mpi) fn owner(&self, id: SharedCollectiveId) -> CollectiveOwner {
        self.all[id].owner
    }

    /// A number that grows when a running call advances. It may shrink when a call completes, which is
    /// an event of the engine.
    pub(in crate::mpi) fn position(&self) -> u64 {
        self.running.iter().map(|id| self.all[*id].collective.position()).sum()
    }

    /// Bytes of the call that must be equal on all ranks.
    pub(in crate::mpi) fn bytes(&self, id: SharedCollectiveId) -> usize {
        self.all[id].collective.bytes()
    }

    /// Whether no call is running.
    #[inline]
    pub(in crate::mpi) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether a call is running whose request was freed.
    pub(in crate::mpi) fn has_freed_calls(&self) -> bool {
        self.running.iter().any(|id| self.owner(*id) == CollectiveOwner::Freed)
    }
}

impl Call {
    /// Whether the call is for shared memory, if its ranks share memory. The answer depends only on
    /// arguments that are equal on all ranks: all pass memory of the same form to a predefined
    /// operation.
    #[inline]
    fn is_for_shared_memory(
        &self, selection: &Selection, comm: &Comm, machine: &MachineModel,
    ) -> bool {
        let Some(operation) = self.function.shared_operation() else { return false };
        let choice = selection.requested(operation, || self.size(selection, comm)).choice;
        if !selection.is_shared(operation, choice) {
            return false;
        }
        if choice == AlgorithmChoice::Auto {
            let ranks = comm.size();
            let bytes = self.bytes_of_block(ranks);
            if machine.long_calls[operation as usize].has(bytes, ranks) {
                return false;
            }
        }
        // Schedules call functions of the application while nothing is locked, and pack scattered
        // operands first.
        self.operator.as_ref().is_none_or(|operator| {
            operator.operator().is_some()
                && self.send.span().is_some()
                && self.receive.span().is_some()
        })
    }

    /// What rules may ask about the call, on a communicator whose ranks share memory: as by messages.
    fn size(&self, selection: &Selection, comm: &Comm) -> CallSize {
        let shape = Shape { ranks: comm.size() };
        let operation = self.function.shared_operation();
        let has_bytes = operation.is_some_and(CollectiveOperation::has_agreed_bytes);
        CallSize {
            ranks: shape.ranks,
            ranks_per_host: match comm.spans_jobs {
                true => None,
                false => selection.ranks_per_host(shape, comm.nodes.as_deref()),
            },
            bytes: has_bytes.then(|| self.bytes_of_block(shape.ranks)),
        }
    }

    /// Bytes of the message or operand, or of a block: in the mean, if blocks differ.
    #[inline]
    fn bytes_of_block(&self, ranks: u32) -> usize {
        match self.function {
            CollectiveFunction::Allgatherv | CollectiveFunction::ReduceScatter => {
                self.bytes / ranks as usize
            }
            _ => self.bytes,
        }
    }
}

impl<D: Device> Mpi<D> {
    /// Declares which entries the running calls wait for: other publishers need not wake this rank. The
    /// caller then arms the device, and polls.
    pub(crate) fn declare_awaited(&mut self) {
        if self.comms.processes.has_guests() {
            self.connect_to_awaited();
        }
        let all = self.shared_collectives.all.values_mut();
        all.for_each(|owned| owned.collective.declare_awaited());
    }

    /// Advances the running calls; the number of calls that advanced.
    pub(in crate::mpi) fn advance_shared(&mut self) -> usize {
        let mut advanced = 0;
        let (mut with_messages, mut freed) = (Vec::new(), Vec::new());
        let SharedCollectives { all, running } = &mut self.shared_collectives;
        running.retain(|id| {
            let OwnedCollective { collective, owner, .. } = &mut all[*id];
            let before = collective.progress();
            let is_complete = collective.advance(&mut self.engine);
            advanced += usize::from(is_complete || collective.progress() != before);
            if is_complete {
                self.engine.note_event();
                with_messages.extend(collective.has_long_blocks().then_some(*id));
                freed.extend((*owner == CollectiveOwner::Freed).then_some(*id));
            }
            !is_complete
        });
        with_messages.into_iter().for_each(|id| self.launch_long_blocks(id));
        freed.into_iter().for_each(|id| self.close_shared(Some(id)));
        advanced
    }

    /// The shared collective of the communicator, if the call runs in shared memory.
    #[inline]
    pub(in crate::mpi) fn shared_collective(
        &self, call: &Call, form: CallForm,
    ) -> Result<Option<SharedCollectiveId>> {
        let comm = self.comms.get(call.comm)?;
        comm.check_collective()?;
        let has_shared_form = match form {
            // Long blocks of several ranks would overwrite each other in place.
            CallForm::Blocking => {
                !(call.in_place && call.function == CollectiveFunction::Alltoallv)
            }
            CallForm::Persistent => !call.has_pairwise_blocks() && !self.is_offloaded(comm),
            CallForm::Nonblocking => false,
        };
        // In checked mode, each operation is part of an exchange of messages.
        let Some(id) =
            comm.shared_collective.filter(|_| has_shared_form && !self.checked_mode.is_on())
        else {
            return Ok(None);
        };
        let machine = self.shared_collectives.all[id].collective.machine();
        Ok(Some(id).filter(|_| call.is_for_shared_memory(&self.selection, comm, machine)))
    }

    /// Begins a call and advances it as far as possible.
    #[inline(always)]
    pub(in crate::mpi) fn begin_shared(
        &mut self, id: SharedCollectiveId, sequence: u32, call: Call,
    ) -> Activity {
        let owned = &mut self.shared_collectives.all[id];
        owned.sequence = sequence;
        let is_complete = owned.collective.begin(call, &mut self.engine);
        self.shared_activity(id, is_complete)
    }

    /// Begins the last call of a communicator again.
    #[inline]
    pub(in crate::mpi) fn repeat_shared(
        &mut self, id: SharedCollectiveId, sequence: u32,
    ) -> Activity {
        self.shared_collectives.all[id].sequence = sequence;
        self.restart_shared(id)
    }

    /// Begins the prepared call, or the last one again.
    #[inline]
    pub(in crate::mpi) fn restart_shared(&mut self, id: SharedCollectiveId) -> Activity {
        let is_complete = self.shared_collectives.all[id].collective.restart(&mut self.engine);
        self.shared_activity(id, is_complete)
    }

    #[inline]
    fn shared_activity(&mut self, id: SharedCollectiveId, is_complete: bool) -> Activity {
        if !is_complete {
            self.engine.note_long_start();
            self.shared_collectives.running.push(id);
        } else if !self.shared_collectives.all[id].collective.needs_attention() {
            return Activity::Complete(Status::EMPTY);
        } else {
            self.launch_long_blocks(id);
        }
        Activity::Shared(id)
    }

    /// Starts the messages of a completed round, if it has long blocks.
    #[cold]
    fn launch_long_blocks(&mut self, id: SharedCollectiveId) {
        let OwnedCollective { collective, sequence, messages, .. } =
            &mut self.shared_collectives.all[id];
        let Some((call, long)) = collective.take_long_blocks() else { return };
        let Ok(comm) = self.comms.get(call.comm) else { return };
        let shape = Shape { ranks: comm.size() };
        let schedule = Arc::new(long.schedule(&call, shape, comm.rank));
        *messages = Some(self.engine.launch(Launch {
            plan: call.into_plan(schedule, false),
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.for_traffic(Traffic::Collective),
            sequence: *sequence,
        }));
    }

    /// Whether the call, with its messages, has completed.
    pub(in crate::mpi) fn is_shared_complete(&self, id: SharedCollectiveId) -> bool {
        let messages = self.shared_collectives.messages(id);
        self.shared_collectives.is_complete(id)
            && messages.is_none_or(|run| self.engine.is_run_complete(run))
    }

    /// The error of a completed call.
    pub(in crate::mpi) fn end_shared(&mut self, id: SharedCollectiveId) -> Option<Box<MpiError>> {
        let OwnedCollective { collective, messages, .. } = &mut self.shared_collectives.all[id];
        let end = messages.take().and_then(|run| self.engine.take_run_end(run));
        collective.take_error().or(end.and_then(|end| end.error))
    }

    /// Leaves the segment of a freed operation: now, or when its running call has completed.
    pub(in crate::mpi) fn release_shared(&mut self, id: SharedCollectiveId) {
        if self.shared_collectives.is_complete(id) {
            self.close_shared(Some(id));
        } else {
            self.shared_collectives.all[id].owner = CollectiveOwner::Freed;
        }
    }
}
