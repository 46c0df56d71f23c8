//! Persistent collective operations: from what was prepared to a request (MPI 5.0 §6.13).
//!
//! What a room can carry has one of its own, so that operations can be started in any order; without
//! a room it goes by messages, on all ranks alike. To ask for a room takes a message, and making a
//! request may wait for it, as collective calls may.
//!
//! ```text
//! prepared ──for messages────────────────────────────────────> request
//!    ├──for the device to run it (`collective_offload`)───────>  │
//!    └──for a room──> asked for ──granted──> hall ─────────────>  │
//!                        └──none──> prepared for messages ──────> │
//!
//! request ──start──> under way ──> over ──start──> ...            │ freed
//!                        └── freed meanwhile ──> over ──> the room is left
//! ```

use std::sync::Arc;

use crate::device::Device;
use crate::engine::schedules::plan::Launch;
use crate::mpi::Mpi;
use crate::mpi::collective::offload::OffloadNegotiation;
use crate::mpi::collective::shared::SharedArguments;
use crate::mpi::collective::shared::running::CollectiveOwner;
use crate::mpi::collective::{Bound, Call};
use crate::mpi::communicator::Traffic;
use crate::mpi::communicator::segment::SegmentRequest;
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::StartArguments;
use crate::mpi::request::Activity;
use crate::shared_memory::segment::SharedSegment;
use platform::base::{ErrorClass, Result};
use platform::diagnosis::wait_report::WaitReport;

/// A persistent request in the making.
#[derive(Debug)]
pub enum PersistentInit {
    /// A room was asked for, unless there is none, in which this is to be done.
    SegmentRequested(Option<SegmentRequest>, SharedArguments),
    /// The ranks make an operation that the device runs.
    Negotiating(Box<OffloadNegotiation>),
    /// The request is there; whether it is valid is known at the end of this.
    Created(Handle, Activity),
}

impl<D: Device> Mpi<D> {
    /// Starts to make a persistent request, inactive, for a collective operation that was prepared
    /// for this call. A collective call; [`Mpi::end_persistent_init`] ends it.
    ///
    /// # Errors
    /// What is wrong with the operation; `Comm` if there is no such communicator, `NoMem` without a
    /// free handle.
    pub fn begin_persistent_init(
        &mut self, call: Call, prepared: Result<Bound>,
    ) -> Result<PersistentInit> {
        if self.comms.get(call.comm).is_ok_and(|on| self.is_offloaded(on)) {
            let making = self.begin_offload(call, prepared)?;
            return Ok(PersistentInit::Negotiating(Box::new(making)));
        }
        if let Ok(Bound::Shared(_, task)) = prepared {
            return Ok(PersistentInit::SegmentRequested(self.request_segment(call.comm)?, task));
        }
        let mut made = None;
        let question = self.check_or_report(call, prepared, |mpi, prepared| {
            made = Some(mpi.persistent_by_messages(call.comm, prepared)?);
            Ok(())
        })?;
        let made = made.ok_or_else(|| ErrorClass::Intern.error("no request was made"))?;
        Ok(PersistentInit::Created(made, question))
    }

    /// The request, once it is made. `again` prepares the operation for messages, if there is no
    /// room for it. A making must be asked until this gives something, and not after that.
    ///
    /// # Errors
    /// What `again` and messages say; `NoMem` without a free handle. There is no request then.
    pub fn end_persistent_init(
        &mut self, making: &mut PersistentInit, comm: Handle,
        again: impl FnOnce(&mut Self) -> Result<Bound>,
    ) -> Result<Option<Handle>> {
        match making {
            PersistentInit::SegmentRequested(request, task) => {
                let room = match request {
                    None => None,
                    Some(request) => match self.end_segment_request(request)? {
                        None => return Ok(None),
                        Some(granted) => granted,
                    },
                };
                let task = std::mem::replace(task, SharedArguments::EMPTY);
                let made = match room {
                    Some(room) => self.persistent_in_segment(comm, room, task),
                    None => {
                        again(self).and_then(|prepared| self.persistent_by_messages(comm, prepared))
                    }
                };
                made.map(Some)
            }
            PersistentInit::Negotiating(making) => self.end_offload(making),
            PersistentInit::Created(request, question) => {
                let Some(answer) = self.end_if_complete(question) else { return Ok(None) };
                let Some(error) = answer.error else { return Ok(Some(*request)) };
                self.free_request(*request)?;
                Err(error)
            }
        }
    }

    /// The call `function`, which waits for others to make a request.
    pub(crate) fn persistent_init_wait_report(
        &self, function: &str, making: &PersistentInit,
    ) -> WaitReport {
        match making {
            PersistentInit::SegmentRequested(Some(request), _) => {
                self.segment_wait_report(function, request)
            }
            PersistentInit::SegmentRequested(None, _) => WaitReport::new(function),
            PersistentInit::Negotiating(making) => self.offload_wait_report(function, making),
            PersistentInit::Created(_, question) => self.blocked(function, [question]),
        }
    }

    /// A run that was prepared for messages, with the number of the operation.
    pub(in crate::mpi) fn persistent_launch(
        &mut self, comm: Handle, prepared: Bound,
    ) -> Result<Launch> {
        let on = self.comms.get_mut(comm)?;
        let Bound::Messages(plan) = prepared else {
            let why = "a persistent operation without a room was prepared for one";
            return Err(ErrorClass::Intern.error(why));
        };
        Ok(Launch {
            plan,
            members: on.members(),
            rank: on.member(),
            context: on.context.for_traffic(Traffic::Persistent),
            sequence: on.next_init(),
        })
    }

    fn persistent_by_messages(&mut self, comm: Handle, prepared: Bound) -> Result<Handle> {
        let launch = self.persistent_launch(comm, prepared)?;
        self.persistent_run(comm, launch)
    }

    pub(in crate::mpi) fn persistent_run(
        &mut self, comm: Handle, launch: Launch,
    ) -> Result<Handle> {
        let run = self.engine.create_persistent(launch);
        let request = self.persistent(comm, StartArguments::Collective(run));
        if request.is_err() {
            self.engine.release_run(run);
        }
        request
    }

    fn persistent_in_segment(
        &mut self, comm: Handle, room: SharedSegment, task: SharedArguments,
    ) -> Result<Handle> {
        let on = match self.comms.get_mut(comm) {
            Ok(on) => on,
            Err(error) => {
                self.leave_segment(Some(room));
                return Err(error);
            }
        };
        let (context, sequence) = (on.context.for_traffic(Traffic::Persistent), on.next_init());
        let group = Arc::clone(&on.group);
        let owner = CollectiveOwner::Operation { context, sequence };
        let looks = self.selection.machine().spins_max;
        let hall = self.shared_collectives.open(room, group.peers(), owner, looks);
        self.shared_collectives.prepare(hall, task);
        let request = self.persistent(comm, StartArguments::Shared(hall));
        if request.is_err() {
            self.close_shared(Some(hall));
        }
        request
    }
}
