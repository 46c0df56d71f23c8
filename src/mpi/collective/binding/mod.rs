//! From a [`Call`] to its execution: in shared memory, or by the messages of a schedule.
//!
//! Not here: the choice of an algorithm ([`selection`](super::selection)), and what persistent calls
//! need before they can start ([`persistent`](super::persistent)).

mod messages;
pub(crate) mod neighborhood;

use crate::device::Device;
use crate::engine::schedules::plan::{Launch, RunId, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::shared::polling::SharedCollectiveId;
use crate::mpi::communicator::Traffic;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use platform::base::Result;

/// The form of a collective function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// The function returns when the operation has completed.
    Blocking,
    /// The function starts the operation and returns a request.
    Nonblocking,
    /// The function returns a request that starts the operation any number of times.
    Persistent,
}

/// A call with its algorithm chosen and its memory placed, ready to start once.
///
/// What a persistent request starts again has a key: `Collective`, `Shared` and `Program` of
/// [`StartArguments`](crate::mpi::point_to_point::StartArguments).
#[derive(Debug)]
pub(crate) enum Bound {
    /// By messages. A [`RunPlan`] is the engine's type for it, which knows no communicator.
    Messages(RunPlan),
    /// In memory that the ranks share. The caller has kept the call, which is used as it is: to move it
    /// in here and out again would be a tenth of the time of a short call.
    Shared(SharedCollectiveId),
}

impl<D: Device> Mpi<D> {
    /// Chooses between shared memory and messages, and the schedule of messages, which takes the
    /// arguments out of `call`.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, or if it is an intercommunicator and the operation is
    /// not for those; `Topology` for a neighborhood collective without a suitable topology, `Truncate`
    /// or `Count` for one whose blocks from this rank to itself differ in length.
    #[inline(always)]
    fn bind(&mut self, call: &mut Call, form: CallForm) -> Result<Bound> {
        if let Some(id) = self.shared_collective(call, form)? {
            return Ok(Bound::Shared(id));
        }
        let call = std::mem::replace(call, Call::barrier(call.comm));
        self.bind_messages(call, form).map(Bound::Messages)
    }

    /// Starts a call.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, or if it is an intercommunicator and the operation is
    /// not for those; `Topology` for a neighborhood collective without a suitable topology, `Truncate`
    /// or `Count` for one whose blocks from this rank to itself differ in length.
    #[inline(always)]
    pub fn launch(&mut self, mut call: Call, form: CallForm) -> Result<Activity> {
        let comm = call.comm;
        match self.bind(&mut call, form)? {
            Bound::Messages(plan) => Ok(Activity::Run(self.launch_run(comm, plan)?)),
            Bound::Shared(id) => {
                let sequence = self.comms.get_mut(comm)?.next_call();
                Ok(self.begin_shared(id, sequence, call))
            }
        }
    }

    /// Starts a barrier on `comm` that is part of another function.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn start_barrier(&mut self, comm: Handle) -> Result<Activity> {
        self.launch(Call::barrier(comm), CallForm::Blocking)
    }

    /// Starts a schedule on `comm`, for a caller that reads the buffers when the run has completed.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn launch_run(&mut self, comm: Handle, plan: RunPlan) -> Result<RunId> {
        if self.checked_mode.is_on() {
            return self.launch_unnamed(comm, plan);
        }
        let comm = self.comms.get_mut(comm)?;
        comm.check_collective()?;
        Ok(self.engine.launch(Launch {
            plan,
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.for_traffic(Traffic::Collective),
            sequence: comm.next_call(),
        }))
    }
}
