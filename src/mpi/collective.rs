//! Collective operations: from the arguments of a call to a schedule that runs (MPI 5.0 §6).
//!
//! The algorithms are in `coll`; here their bytes are given memory and their ranks peers.

use std::sync::Arc;

use super::Mpi;
use super::coll::{Collective, Shape};
use super::comm::{Comm, Traffic};
use super::request::{Activity, Landing};
use super::table::Handle;
use crate::base::Result;
use crate::core::memory::Memory;
use crate::core::run::{Launch, Members, Reduction};
use crate::device::Device;
use crate::offload::Schedule;

impl Comm {
    /// What algorithms may know of it.
    pub fn shape(&self) -> Shape {
        Shape { ranks: self.size() }
    }
}

impl<D: Device> Mpi<D> {
    /// Starts a collective operation on `comm` whose schedule, buffers and reduction are known.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn launch(
        &mut self, comm: Handle, schedule: Schedule, buffers: Vec<Memory>, reduction: Reduction,
        landing: Option<Landing>,
    ) -> Result<Activity> {
        let comm = self.comms.get_mut(comm)?;
        let run = self.engine.launch(Launch {
            schedule: Arc::new(schedule),
            buffers,
            reduction,
            members: Arc::clone(&comm.group) as Arc<dyn Members>,
            rank: comm.rank,
            context: comm.context.of(Traffic::Collective),
            sequence: comm.next_call(),
        });
        Ok(Activity::Run { run, landing })
    }

    /// `MPI_Ibarrier` (§6.12.1).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn barrier(&mut self, comm: Handle) -> Result<Activity> {
        let on = self.comms.get(comm)?;
        let schedule = Collective::Barrier.schedule(on.shape(), on.rank);
        self.launch(comm, schedule, Vec::new(), Reduction::None, None)
    }
}
