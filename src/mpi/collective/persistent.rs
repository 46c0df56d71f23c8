//! Persistent collective calls: from a [`Call`] to a request (MPI 5.0 §6.13).
//!
//! A persistent operation runs in a shared segment of its own, so that operations start in any order.
//! If no segment is free, the operation runs by messages, on all ranks alike. The ranks agree by
//! messages, and the function waits for them, as collective calls may.
//!
//! ```text
//! Call ──by messages───────────────────────────────────────────► request
//!   ├───for the device (`offload`): agreement on a program ────►  │
//!   └───for shared memory: segment requested ──granted─────────►  │
//!                               └──none free──► by messages ───►  │
//!
//! request ──start──► running ──► completed ──start──► ...         │ freed
//!                       └── freed meanwhile ──► completed ──► segment left
//! ```

use std::sync::Arc;

use crate::device::Device;
use crate::engine::schedules::plan::{Launch, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::collective::binding::CallForm;
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::offload::OffloadNegotiation;
use crate::mpi::collective::shared::polling::CollectiveOwner;
use crate::mpi::communicator::Traffic;
use crate::mpi::communicator::segment::{EnteredSegment, SegmentRequest};
use crate::mpi::handle::Handle;
use crate::mpi::point_to_point::StartArguments;
use crate::mpi::request::Activity;
use platform::base::Result;
use platform::diagnosis::wait_report::WaitReport;

/// A persistent call that is being bound, beside `Call`, `Bound` and `Running`: binding it takes
/// messages, and the function polls this value until all ranks agree.
#[derive(Debug)]
pub enum PersistentInit {
    /// Rank 0 claims a shared segment for the call, if one is free.
    SegmentRequested(SegmentRequest, Call),
    /// The ranks agree on a program for the device.
    Negotiating(Box<OffloadNegotiation>),
    /// The request exists; in checked mode, the activity says whether it is valid.
    Created(Handle, Activity),
}

impl<D: Device> Mpi<D> {
    /// Starts to create an inactive persistent request for a call of the function `name` on `comm`. A
    /// collective call; [`Mpi::end_persistent_init`] ends it.
    ///
    /// # Errors
    /// That of `call` or its binding; `NoMem` without a free handle.
    pub fn begin_persistent_init(
        &mut self, name: &str, comm: Handle, call: Result<Call>,
    ) -> Result<PersistentInit> {
        if self.comms.get(comm).is_ok_and(|comm| self.is_offloaded(comm)) {
            let negotiation = self.begin_offload(name, comm, call)?;
            return Ok(PersistentInit::Negotiating(Box::new(negotiation)));
        }
        let call = match call {
            Ok(call) if self.shared_collective(&call, CallForm::Persistent)?.is_some() => {
                match self.request_segment(comm)? {
                    Some(request) => return Ok(PersistentInit::SegmentRequested(request, call)),
                    None => Ok(call),
                }
            }
            call => call,
        };
        let record = self.call_record(name, &call);
        let launch = self.persistent_launch(comm, call);
        match launch.and_then(|launch| self.persistent_run(comm, launch)) {
            Ok(request) => Ok(PersistentInit::Created(request, self.agree_on_call(comm, record)?)),
            Err(error) => Err(self.report_error(comm, record, error)),
        }
    }

    /// The request, once it exists. Poll until the result is not `None`, and not after that.
    ///
    /// # Errors
    /// That of binding or of a message; `NoMem` without a free handle. Then there is no request.
    pub fn end_persistent_init(&mut self, init: &mut PersistentInit) -> Result<Option<Handle>> {
        match init {
            PersistentInit::SegmentRequested(request, call) => {
                let Some(segment) = self.end_segment_request(request)? else { return Ok(None) };
                let comm = call.comm;
                let call = std::mem::replace(call, Call::barrier(comm));
                let request = match segment {
                    Some(segment) => self.persistent_in_segment(segment, call),
                    None => {
                        let plan = self.bind_messages(call, CallForm::Persistent)?;
                        let launch = self.next_persistent(comm, plan)?;
                        self.persistent_run(comm, launch)
                    }
                };
                request.map(Some)
            }
            PersistentInit::Negotiating(negotiation) => self.end_offload(negotiation),
            PersistentInit::Created(request, agreement) => {
                let Some(outcome) = self.end_if_complete(agreement) else { return Ok(None) };
                let Some(error) = outcome.error else { return Ok(Some(*request)) };
                self.free_request(*request)?;
                Err(error)
            }
        }
    }

    /// The ranks that the function `function` waits for, to create a request.
    pub(crate) fn persistent_init_wait_report(
        &self, function: &str, init: &PersistentInit,
    ) -> WaitReport {
        match init {
            PersistentInit::SegmentRequested(request, _) => {
                self.segment_wait_report(function, request)
            }
            PersistentInit::Negotiating(negotiation) => {
                self.offload_wait_report(function, negotiation)
            }
            PersistentInit::Created(_, agreement) => self.blocked(function, [agreement]),
        }
    }

    /// Binds a persistent call to messages, with the number of the operation.
    ///
    /// # Errors
    /// That of `call` or its binding. The number of the operation is used up, as on the other ranks.
    pub(in crate::mpi) fn persistent_launch(
        &mut self, comm: Handle, call: Result<Call>,
    ) -> Result<Launch> {
        match call.and_then(|call| self.bind_messages(call, CallForm::Persistent)) {
            Ok(plan) => self.next_persistent(comm, plan),
            Err(error) => {
                if let Ok(comm) = self.comms.get_mut(comm) {
                    comm.next_init();
                }
                Err(error)
            }
        }
    }

    fn next_persistent(&mut self, comm: Handle, plan: RunPlan) -> Result<Launch> {
        let comm = self.comms.get_mut(comm)?;
        Ok(Launch {
            plan,
            members: comm.members(),
            rank: comm.member(),
            context: comm.context.for_traffic(Traffic::Persistent),
            sequence: comm.next_init(),
        })
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

    fn persistent_in_segment(&mut self, segment: EnteredSegment, call: Call) -> Result<Handle> {
        let handle = call.comm;
        let comm = match self.comms.get_mut(handle) {
            Ok(comm) => comm,
            Err(error) => {
                self.leave_segment(Some(segment));
                return Err(error);
            }
        };
        let (context, sequence) = (comm.context.for_traffic(Traffic::Persistent), comm.next_init());
        let (group, spans_jobs) = (Arc::clone(&comm.group), comm.spans_jobs);
        let owner = CollectiveOwner::Operation { context, sequence };
        let machine = self.selection.machine_of_segments(spans_jobs);
        let id = self.shared_collectives.open(segment, group.peers(), owner, &machine);
        self.shared_collectives.prepare(id, call);
        let request = self.persistent(handle, StartArguments::Shared(id));
        if request.is_err() {
            self.close_shared(Some(id));
        }
        request
    }
}
