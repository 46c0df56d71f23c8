//! Collective operations that are ready to start, once or many times.
//!
//! ```text
//!   arguments ──collective──> Prepared ──launch──> Activity ──> over      blocking, nonblocking
//!                                 │
//!                                 └────start───> Activity ──> over ──┐    persistent
//!                                         ▲                          │
//!                                         └──────────────────────────┘
//! ```
//!
//! Arguments are looked at once: whatever an operation needs of them is in here.

pub mod algorithms;
pub mod calls;
pub(crate) mod offload;
pub(crate) mod persistent;
pub mod reduction_operator;
pub mod selection;
pub mod shared;

use std::sync::Arc;

use super::Mpi;
use super::request::Activity;
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::{Launch, RunId, RunPlan};
use crate::mpi::collective::shared::SharedArguments;
use crate::mpi::collective::shared::running::SharedCollectiveId;
use crate::mpi::communicator::Traffic;
use crate::mpi::handle::Handle;
use crate::offload::Schedule;
use platform::base::Result;

/// How a collective operation is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// The call returns once it is over.
    Blocking,
    /// The call starts it and gives a request.
    Nonblocking,
    /// The call gives a request that starts it, as often as wanted.
    Persistent,
    /// The same, where there is no room for it in memory that the ranks share.
    PersistentByMessages,
}

/// On which communicator a collective operation is called, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The communicator.
    pub comm: Handle,
    /// The form of the call.
    pub form: CallForm,
}

impl Call {
    /// A blocking call on `comm`.
    pub fn blocking(comm: Handle) -> Self {
        Self { comm, form: CallForm::Blocking }
    }
}

/// A collective operation that is ready to start.
#[derive(Debug)]
pub enum Bound {
    /// By messages that a schedule exchanges.
    Messages(RunPlan),
    /// In memory that the ranks share: in this hall, or in one of its own if it is persistent.
    Shared(SharedCollectiveId, SharedArguments),
}

impl Bound {
    /// One that only moves data, by messages.
    pub(crate) fn moving(schedule: impl Into<Arc<Schedule>>, buffers: Vec<Memory>) -> Self {
        Self::Messages(RunPlan::moving(schedule, buffers))
    }
}

impl<D: Device> Mpi<D> {
    /// Starts a collective operation that was prepared for `comm`.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    #[inline]
    pub fn launch(&mut self, comm: Handle, prepared: Bound) -> Result<Activity> {
        match prepared {
            Bound::Messages(plan) => Ok(Activity::Run(self.launch_run(comm, plan)?)),
            Bound::Shared(hall, task) => {
                self.comms.get_mut(comm)?.next_call();
                Ok(self.begin_shared(hall, task))
            }
        }
    }

    /// Starts a barrier on `comm` that is part of another call.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn start_barrier(&mut self, comm: Handle) -> Result<Activity> {
        let barrier = self.barrier(Call::blocking(comm))?;
        self.launch(comm, barrier)
    }

    /// Starts a schedule on `comm`, for who reads the buffers of the run at its end.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(super) fn launch_run(&mut self, comm: Handle, plan: RunPlan) -> Result<RunId> {
        if self.checked_mode.is_on() {
            return self.launch_checked(comm, plan);
        }
        let comm = self.comms.get_mut(comm)?;
        Ok(self.engine.launch(Launch {
            plan,
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.for_traffic(Traffic::Collective),
            sequence: comm.next_call(),
        }))
    }
}
