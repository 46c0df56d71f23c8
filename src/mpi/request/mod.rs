//! Requests (MPI 5.0 §3.7, §3.9).
//!
//! ```text
//!              start                    complete
//!  Inactive ──────────> an [`Activity`] ─────────> Inactive   (persistent)
//!                            │                     no request (all others)
//! ```
//!
//! A request refers to an activity: an operation of the engine, a run of a schedule, or an operation
//! that completed at once. Blocking calls use an activity without a request.

pub(crate) mod generalized;
pub mod status;

use super::Mpi;
use crate::device::Device;
use crate::engine::point_to_point::operation::OperationId;
use crate::engine::programs::offloaded::OffloadedId;
use crate::engine::schedules::plan::RunId;
use crate::mpi::collective::shared::polling::SharedCollectiveId;
use crate::mpi::communicator::COMM_SELF;
use crate::mpi::file::operation::FileOperationId;
use crate::mpi::handle::Handle;
use crate::mpi::partitioned::operation::PartitionedId;
use crate::mpi::point_to_point::StartArguments;
use crate::mpi::point_to_point::buffer::BufferOwner;
use crate::mpi::request::generalized::{GeneralizedRequest, GrequestFunctions, GrequestState};
use crate::mpi::request::status::Status;
use crate::mpi::resilience::consent::Consent;
use crate::mpi::window::OperationNumber;
use platform::base::{ErrorClass, MpiError, Result};

/// `MPI_REQUEST_NULL` of the standard ABI.
pub(crate) const REQUEST_NULL: Handle = 0x180;

/// An operation in progress.
#[derive(Debug)]
pub enum Activity {
    /// Completed at once.
    Complete(Status),
    /// A message.
    Message(OperationId),
    /// A collective operation.
    Run(RunId),
    /// A shared-memory collective.
    Shared(SharedCollectiveId),
    /// A collective operation that the device runs.
    Program(OffloadedId),
    /// A partitioned operation.
    Partitioned(PartitionedId),
    /// The creation of a communicator.
    Creation {
        /// The run that receives its context.
        run: RunId,
        /// Its handle.
        comm: Handle,
    },
    /// The messages in a buffer.
    Flush(BufferOwner),
    /// A receive and a send that complete together, with the status of the receive.
    Both(Box<[Activity; 2]>),
    /// A one-sided operation.
    Access {
        /// The window.
        window: Handle,
        /// Its number there.
        operation: OperationNumber,
    },
    /// A data access of a file.
    File(FileOperationId),
    /// An agreement of processes that may fail.
    Consent(Box<Consent>),
    /// An operation of the application.
    Generalized(Box<GeneralizedRequest>),
}

impl Activity {
    pub(crate) fn both(halves: [Self; 2]) -> Self {
        Self::Both(Box::new(halves))
    }
}

/// Result of an activity.
#[derive(Debug)]
pub struct Outcome {
    /// Status for the application.
    pub status: Status,
    /// Error of the activity.
    pub error: Option<Box<MpiError>>,
}

/// A request that has been completed.
#[derive(Debug)]
pub struct Completed {
    /// Result of its activity.
    pub outcome: Outcome,
    /// The communicator or the file whose error handler is called.
    pub(crate) owner: Handle,
    /// Whether its handle was freed.
    pub handle_freed: bool,
    /// The functions of a generalized request; the caller must call query and free.
    pub(crate) functions: Option<GrequestFunctions>,
    /// Whether the request was null or inactive: the status is empty, with its error (§3.7.3).
    pub inactive: bool,
}

impl Completed {
    /// The completion of a null or inactive request, or of an empty list.
    pub(crate) const EMPTY: Self = Self {
        outcome: Outcome { status: Status::EMPTY, error: None },
        owner: COMM_SELF,
        handle_freed: false,
        functions: None,
        inactive: true,
    };
}

#[derive(Debug)]
pub(crate) struct Request {
    /// The communicator or the file whose error handler is called for errors.
    pub(crate) owner: Handle,
    /// `None` while a persistent request is inactive.
    pub(crate) activity: Option<Activity>,
    /// The operation of a persistent request.
    arguments: Option<Box<StartArguments>>,
}

/// State of a request in a completion call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Null or inactive: complete with an empty status, and not counted.
    Inactive,
    /// Active, not complete.
    Pending,
    /// The activity is complete, and no completion call has returned the request.
    Ready,
}

impl From<Status> for Outcome {
    fn from(status: Status) -> Self {
        Self { status, error: None }
    }
}

impl<D: Device> Mpi<D> {
    /// Whether an activity is complete.
    #[inline(always)]
    pub fn is_complete(&self, activity: &Activity) -> bool {
        match activity {
            Activity::Complete(_) => true,
            Activity::Message(operation) => self.engine.completion(*operation).is_some(),
            others => self.are_others_complete(others),
        }
    }

    #[inline(never)]
    fn are_others_complete(&self, activity: &Activity) -> bool {
        match activity {
            Activity::Complete(_) | Activity::Message(_) => self.is_complete(activity),
            Activity::Run(run) | Activity::Creation { run, .. } => {
                self.engine.is_run_complete(*run)
            }
            Activity::Shared(shared) => self.is_shared_complete(*shared),
            Activity::Program(program) => self.engine.is_offloaded_complete(*program),
            Activity::Partitioned(partitioned) => self.partitioned.is_complete(*partitioned),
            Activity::Flush(place) => self.has_flushed(*place),
            Activity::Access { window, operation } => self.is_access_complete(*window, *operation),
            Activity::File(operation) => self.is_file_operation_complete(*operation),
            Activity::Consent(consent) => self.has_consent(consent),
            Activity::Both(halves) => halves.iter().all(|half| self.is_complete(half)),
            Activity::Generalized(general) => general.state == GrequestState::Complete,
        }
    }

    /// The status of a complete activity, which stays complete.
    fn status(&self, activity: &Activity) -> Status {
        match activity {
            Activity::Complete(status) => *status,
            Activity::Message(operation) => {
                self.engine.completion(*operation).map_or(Status::EMPTY, Status::from)
            }
            Activity::Partitioned(partitioned) => self.partitioned.status(*partitioned),
            Activity::File(operation) => self.file_status(*operation),
            Activity::Run(_)
            | Activity::Shared(_)
            | Activity::Program(_)
            | Activity::Creation { .. }
            | Activity::Flush(_)
            | Activity::Access { .. }
            | Activity::Consent(_)
            | Activity::Generalized(..) => Status::EMPTY,
            Activity::Both(halves) => self.status(&halves[0]),
        }
    }

    /// The result of an activity if it is complete; the activity must not be used afterwards.
    #[inline(always)]
    pub fn end_if_complete(&mut self, activity: &mut Activity) -> Option<Outcome> {
        match activity {
            Activity::Complete(status) => Some((*status).into()),
            Activity::Message(operation) => {
                let Some(end) = self.engine.take_completion(*operation) else {
                    if self.engine.is_disturbed() {
                        self.end_in_doubt(*operation);
                    }
                    return None;
                };
                Some(Outcome { status: Status::from(&end), error: end.error })
            }
            Activity::Run(_)
            | Activity::Shared(_)
            | Activity::Program(_)
            | Activity::Partitioned(_)
            | Activity::Creation { .. }
            | Activity::Flush(_)
            | Activity::Access { .. }
            | Activity::File(_)
            | Activity::Consent(_)
            | Activity::Both(_)
            | Activity::Generalized(..) => self.end_others_if_complete(activity),
        }
    }

    #[inline(never)]
    fn end_others_if_complete(&mut self, activity: &mut Activity) -> Option<Outcome> {
        let is_over = self.is_complete(activity);
        let over = Activity::Complete(Status::EMPTY);
        is_over.then(|| self.end(std::mem::replace(activity, over)))
    }

    /// Consumes a complete activity.
    pub fn end(&mut self, activity: Activity) -> Outcome {
        match activity {
            Activity::Complete(status) => status.into(),
            Activity::Flush(_) | Activity::Access { .. } | Activity::Generalized(_) => {
                Status::EMPTY.into()
            }
            Activity::Message(operation) => match self.engine.take_completion(operation) {
                Some(end) => Outcome { status: Status::from(&end), error: end.error },
                None => Status::EMPTY.into(),
            },
            Activity::Run(run) => {
                let error = self.engine.take_run_end(run).and_then(|end| end.error);
                Outcome { status: Status::EMPTY, error }
            }
            Activity::Shared(shared) => {
                Outcome { status: Status::EMPTY, error: self.end_shared(shared) }
            }
            Activity::Program(program) => {
                let error = self.engine.take_offloaded_error(program);
                Outcome { status: Status::EMPTY, error }
            }
            Activity::Partitioned(partitioned) => self.end_partitioned(partitioned),
            Activity::File(operation) => self.end_file_operation(operation),
            Activity::Creation { run, comm } => {
                Outcome { status: Status::EMPTY, error: self.end_creation(run, comm).err() }
            }
            Activity::Consent(consent) => {
                Outcome { status: Status::EMPTY, error: self.end_consent(*consent) }
            }
            Activity::Both(halves) => {
                let [receive, send] = halves.map(|half| self.end(half));
                Outcome { error: receive.error.or(send.error), ..receive }
            }
        }
    }

    /// Detaches an activity, which completes without a request.
    fn release(&mut self, activity: Activity) {
        match activity {
            Activity::Complete(_)
            | Activity::Shared(_)
            | Activity::Program(_)
            | Activity::Partitioned(_)
            | Activity::Flush(_)
            | Activity::Access { .. }
            | Activity::Consent(_)
            | Activity::Generalized(..) => {}
            Activity::Message(operation) => self.engine.release(operation),
            Activity::File(operation) => self.release_file_operation(operation),
            Activity::Run(run) | Activity::Creation { run, .. } => {
                self.engine.release_run(run);
            }
            Activity::Both(halves) => halves.into_iter().for_each(|half| self.release(half)),
        }
    }

    /// Whether [`Mpi::request`] will have a handle: called before an operation starts, because an
    /// operation without a request would take a message from all later receives.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    #[inline(always)]
    pub(crate) fn check_request_space(&self) -> Result {
        self.requests.check_space()
    }

    /// A request for an activity of a communicator or a file.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    #[inline(always)]
    pub(crate) fn request(&mut self, owner: Handle, activity: Activity) -> Result<Handle> {
        let inactive = Request { owner, activity: None, arguments: None };
        let (handle, request) = self.requests.insert_mut(inactive)?;
        // Not copied as a whole: `Protocol::complete` has just written it in parts.
        request.activity = Some(match activity {
            Activity::Message(operation) => Activity::Message(operation),
            other => other,
        });
        Ok(handle)
    }

    /// A request for a message of `comm`; complete with the status `none` if there is no operation.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    #[inline(always)]
    pub(crate) fn message_request(
        &mut self, comm: Handle, operation: Option<OperationId>, none: Status,
    ) -> Result<Handle> {
        let inactive = Request { owner: comm, activity: None, arguments: None };
        let (handle, request) = self.requests.insert_mut(inactive)?;
        request.activity = Some(match operation {
            Some(operation) => Activity::Message(operation),
            None => Activity::Complete(none),
        });
        Ok(handle)
    }

    /// An inactive persistent request.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn persistent(&mut self, comm: Handle, arguments: StartArguments) -> Result<Handle> {
        let arguments = Some(Box::new(arguments));
        self.requests.insert(Request { owner: comm, activity: None, arguments })
    }

    /// Starts persistent requests (§3.9); the puts of offloaded ones are scheduled together.
    ///
    /// # Errors
    /// As [`Mpi::start`], with the first request that fails. No request has started if one cannot be
    /// started; the requests before it have if its operation fails, or if it is twice in the list.
    pub fn start_all(
        &mut self, handles: impl Iterator<Item = Handle> + Clone,
    ) -> Result<(), (Handle, Box<MpiError>)> {
        for handle in handles.clone() {
            self.startable(handle).map_err(|error| (handle, error))?;
        }
        self.schedule_puts(handles.clone());
        for handle in handles {
            self.start_scheduled(handle).map_err(|error| (handle, error))?;
        }
        Ok(())
    }

    /// Starts a persistent request (§3.9).
    ///
    /// # Errors
    /// `Request` if it is active or not persistent; errors of the operation's start.
    pub fn start(&mut self, handle: Handle) -> Result {
        self.schedule_puts(std::iter::once(handle));
        self.start_scheduled(handle)
    }

    /// Schedules the puts of requests that are about to start together.
    #[inline]
    fn schedule_puts(&mut self, handles: impl Iterator<Item = Handle>) {
        let Some(policy) = self.rdma_schedule else { return };
        let program = |handle| match self.requests.get(handle)? {
            Request { arguments: Some(arguments), activity: None, .. } => match **arguments {
                StartArguments::Program(program) => Some(program),
                _ => None,
            },
            _ => None,
        };
        let together: Vec<_> = handles.filter_map(program).collect();
        if !together.is_empty() {
            self.engine.assign_engines(&together, policy);
        }
    }

    /// Starts a persistent request whose puts have been scheduled.
    fn start_scheduled(&mut self, handle: Handle) -> Result {
        let (arguments, comm) = self.startable(handle)?;
        let arguments = arguments.duplicate();
        let activity = self.start_operation(arguments, comm)?;
        if let Some(request) = self.requests.get_mut(handle) {
            if let (Some(StartArguments::Collective(kept)), Activity::Run(run)) =
                (request.arguments.as_deref_mut(), &activity)
            {
                *kept = *run;
            }
            request.activity = Some(activity);
        }
        Ok(())
    }

    /// The arguments and the communicator of a request that can be started.
    ///
    /// # Errors
    /// `Request` if it is active or not persistent.
    #[inline]
    fn startable(&self, handle: Handle) -> Result<(&StartArguments, Handle)> {
        let request = self.requests.get(handle).ok_or_else(|| not_a_request(handle))?;
        match &request.arguments {
            Some(arguments) if request.activity.is_none() => Ok((arguments, request.owner)),
            _ => Err(not_startable(handle)),
        }
    }

    /// State of a request.
    ///
    /// # Errors
    /// `Request` if it is none.
    #[inline]
    pub fn readiness(&self, handle: Handle) -> Result<Readiness> {
        if handle == REQUEST_NULL {
            return Ok(Readiness::Inactive);
        }
        let request = self.request_object(handle)?;
        Ok(match &request.activity {
            None => Readiness::Inactive,
            Some(activity) if self.is_complete(activity) => Readiness::Ready,
            Some(Activity::Message(operation))
                if self.engine.is_disturbed() && self.is_receive_in_doubt(*operation) =>
            {
                Readiness::Ready
            }
            Some(_) => Readiness::Pending,
        })
    }

    /// Whether no request of a communicator is pending.
    pub(crate) fn are_complete(&self, comm: Handle) -> bool {
        let mut requests = self.requests.iter().filter(|(_, request)| request.owner == comm);
        requests.all(|(_, request)| {
            request.activity.as_ref().is_none_or(|activity| self.is_complete(activity))
        })
    }

    /// The operation of a persistent request.
    pub(in crate::mpi) fn start_arguments(&self, handle: Handle) -> Option<&StartArguments> {
        self.requests.get(handle)?.arguments.as_deref()
    }

    pub(crate) fn activity(&self, handle: Handle) -> Option<&Activity> {
        self.requests.get(handle)?.activity.as_ref()
    }

    /// The status of a complete request, without freeing it (`MPI_Request_get_status`).
    pub(crate) fn request_status(&self, handle: Handle) -> Status {
        self.activity(handle).map_or(Status::EMPTY, |activity| self.status(activity))
    }

    /// Completes a request unless it is pending; a null or inactive one with an empty status.
    ///
    /// # Errors
    /// `Request` if it is none.
    #[inline(always)]
    pub fn complete(&mut self, handle: Handle) -> Result<Option<Completed>> {
        if handle == REQUEST_NULL {
            return Ok(Some(Completed::EMPTY));
        }
        let request = self.requests.get_mut(handle).ok_or_else(|| not_a_request(handle))?;
        let outcome = match &request.activity {
            None => return Ok(Some(Completed::EMPTY)),
            Some(Activity::Complete(status)) => (*status).into(),
            Some(Activity::Message(operation)) => match self.engine.take_completion(*operation) {
                Some(end) => Outcome { status: Status::from(&end), error: end.error },
                None => {
                    let operation = *operation;
                    return self.end_in_disturbance(handle, operation);
                }
            },
            Some(_) => return self.complete_other(handle),
        };
        let (owner, gone) = (request.owner, request.arguments.is_none());
        if gone {
            self.requests.remove(handle);
        } else {
            request.activity = None;
        }
        Ok(Some(Completed { outcome, owner, handle_freed: gone, functions: None, inactive: false }))
    }

    /// The end of a call on a request whose receive may wait for a failed process: the request stays
    /// active. `None` for others.
    #[inline]
    fn end_in_disturbance(
        &mut self, handle: Handle, operation: OperationId,
    ) -> Result<Option<Completed>> {
        match self.engine.is_disturbed() && self.is_receive_in_doubt(operation) {
            true => self.end_in_doubt_or_fail(handle, operation),
            false => Ok(None),
        }
    }

    #[cold]
    fn end_in_doubt_or_fail(
        &mut self, handle: Handle, operation: OperationId,
    ) -> Result<Option<Completed>> {
        // If nobody is left that could send, it fails, and this process may be the first to look.
        self.end_lost_receives();
        let Some(error) = self.doubt(operation) else { return self.complete(handle) };
        let Some(request) = self.requests.get(handle) else { return Ok(None) };
        let outcome = Outcome { status: Status::EMPTY, error: Some(error) };
        let (owner, functions) = (request.owner, None);
        Ok(Some(Completed { outcome, owner, handle_freed: false, functions, inactive: false }))
    }

    /// [`Mpi::complete`] for all activities except messages.
    #[inline(never)]
    fn complete_other(&mut self, handle: Handle) -> Result<Option<Completed>> {
        if self.readiness(handle)? == Readiness::Pending {
            return Ok(None);
        }
        let request = self.requests.get_mut(handle).ok_or_else(|| not_a_request(handle))?;
        let Some(activity) = request.activity.take() else {
            return Ok(Some(Completed::EMPTY));
        };
        let (owner, gone) = (request.owner, request.arguments.is_none());
        if gone {
            self.requests.remove(handle);
        }
        let functions = activity.functions();
        let outcome = self.end(activity);
        Ok(Some(Completed { outcome, owner, handle_freed: gone, functions, inactive: false }))
    }

    /// Frees a request; its activity completes (§3.7.3). Returns the functions of a complete
    /// generalized request; the caller must call free.
    ///
    /// # Errors
    /// `Request` if it is none.
    pub fn free_request(&mut self, handle: Handle) -> Result<Option<GrequestFunctions>> {
        self.request_object(handle)?;
        let request = self.requests.get_mut(handle).ok_or_else(|| not_a_request(handle))?;
        if let Some(Activity::Generalized(general)) = &mut request.activity
            && general.state == GrequestState::Active
        {
            general.state = GrequestState::Freed;
            return Ok(None);
        }
        if let Some(StartArguments::Partitioned(id)) = self.start_arguments(handle) {
            self.check_partitioned_free(handle, *id)?;
        }
        let functions = self.functions(handle);
        let Some(request) = self.requests.remove(handle) else { return Ok(functions) };
        match (request.arguments.as_deref(), request.activity) {
            (Some(StartArguments::Collective(run)), _) => self.engine.release_run(*run),
            (Some(StartArguments::Shared(shared)), _) => self.release_shared(*shared),
            (Some(StartArguments::Program(program)), _) => self.engine.release_offloaded(*program),
            (Some(StartArguments::Partitioned(id)), _) => self.free_partitioned(*id),
            (_, Some(activity)) => self.release(activity),
            (_, None) => {}
        }
        Ok(functions)
    }

    /// A request that is visible to the application.
    #[inline]
    fn request_object(&self, handle: Handle) -> Result<&Request> {
        let request = self.requests.get(handle).filter(|request| !request.is_freed());
        request.ok_or_else(|| not_a_request(handle))
    }

    /// Cancels a send or a receive without a match (§3.8.4). Returns the functions of a
    /// generalized request, and whether it is complete; the caller must call cancel.
    ///
    /// # Errors
    /// `Request` for an inactive request and invalid values.
    pub(crate) fn cancel(&mut self, handle: Handle) -> Result<Option<(GrequestFunctions, bool)>> {
        let request = self.request_object(handle)?;
        match &request.activity {
            Some(Activity::Generalized(general)) => {
                return Ok(Some((general.functions, general.state == GrequestState::Complete)));
            }
            Some(Activity::Message(operation)) => {
                let operation = *operation;
                self.engine.cancel(operation);
            }
            Some(Activity::Complete(_)) => {}
            Some(
                Activity::Run(_)
                | Activity::Shared(_)
                | Activity::Program(_)
                | Activity::Partitioned(_)
                | Activity::Creation { .. }
                | Activity::Flush(_)
                | Activity::Access { .. }
                | Activity::File(_)
                | Activity::Consent(_)
                | Activity::Both(_),
            ) => {
                let why = format!(
                    "request {handle:#x} cannot be cancelled: expected a send or a receive"
                );
                return Err(ErrorClass::Request.error(why));
            }
            None => {
                let why = format!(
                    "request {handle:#x} is inactive and cannot be cancelled: start it first"
                );
                return Err(ErrorClass::Request.error(why));
            }
        }
        Ok(None)
    }
}

#[cold]
fn not_startable(handle: Handle) -> Box<MpiError> {
    ErrorClass::Request.error(format!(
        "request {handle:#x} cannot be started: expected an inactive persistent request"
    ))
}

#[cold]
pub(crate) fn not_a_request(handle: Handle) -> Box<MpiError> {
    ErrorClass::Request.error(match handle {
        REQUEST_NULL => "the request is MPI_REQUEST_NULL".into(),
        _ => format!("{handle:#x} is not a request; it may have been completed or freed"),
    })
}
