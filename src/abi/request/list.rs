//! Lists of requests in the application's memory, and the end of calls that complete them.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;

use crate::abi::arguments::pointer::{Out, OutList, null_list, out, out_list};
use crate::abi::arguments::user_memory::checked_count;
use crate::abi::constants::{MPI_SUCCESS, MPI_UNDEFINED};
use crate::abi::entry_point::{Scope, conclude, finish, number, put_status};
use crate::abi::handles::MPI_REQUEST_NULL;
use crate::abi::request::generalized::GeneralizedCompletion;
use crate::abi::types::*;
use crate::mpi::communicator::COMM_SELF;
use crate::mpi::handle::Handle;
use crate::mpi::request::status::Status;
use crate::mpi::request::{Completed, Readiness};
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, MpiError, Result};
use platform::diagnosis::wait_report::WaitReport;

/// An array of requests, and an array of statuses of the same length or null.
pub(crate) struct RequestArray {
    /// Number of requests.
    pub len: usize,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
    /// No request before this index was pending at the last check; a completed request stays
    /// complete.
    complete_before: Cell<usize>,
    /// Requests that a call for all of them has completed.
    batch: Batch,
}

/// State of several requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnyRequest {
    /// No request is active.
    Idle,
    /// Some requests are active, none is complete.
    Pending,
    /// Index of a complete request.
    Ready(usize),
}

impl AnyRequest {
    /// The index for the application.
    pub(crate) fn index(self) -> c_int {
        match self {
            Self::Ready(index) => index as c_int,
            Self::Idle | Self::Pending => MPI_UNDEFINED,
        }
    }
}

/// The application's results: number and indices of the completed requests.
#[derive(Clone, Copy)]
pub(crate) struct Indices {
    count: Out<c_int>,
    indices: OutList<c_int>,
}

impl Indices {
    /// Places for the number of completed requests and for at most `len` indices.
    ///
    /// # Errors
    /// `Arg` for a null pointer.
    ///
    /// # Safety
    /// Both are null or may be written during the life of the result, `indices` for `len` elements.
    pub(crate) unsafe fn new(len: c_int, count: *mut c_int, indices: *mut c_int) -> Result<Self> {
        // SAFETY: the caller's promise.
        let (count, indices) =
            unsafe { (out(count, "outcount")?, out_list((len, indices), "array_of_indices")?) };
        Ok(Self { count, indices })
    }

    /// Stores the indices; `None` if no request was active.
    pub(crate) fn put(self, indices: Option<&[usize]>) {
        self.count.put(indices.map_or(MPI_UNDEFINED, |indices| indices.len() as c_int));
        self.indices.put(indices.unwrap_or_default().iter().map(|index| *index as c_int));
    }
}

/// Requests that one call has completed.
#[derive(Default)]
pub(crate) struct Batch {
    /// Their indices, unless the call implies them.
    pub indices: Vec<usize>,
    /// Generalized requests of the batch; their functions are called without the lock.
    generalized: Vec<BatchEntry<GeneralizedCompletion>>,
    /// The owners and the errors of the requests that failed.
    failed: Vec<BatchEntry<(Handle, Box<MpiError>)>>,
    /// The statuses that were stored: their address, null if they are ignored, and their number.
    statuses: (*mut MPI_Status, usize),
}

/// A request of a batch whose status has the index `place`.
struct BatchEntry<T> {
    place: usize,
    of: T,
}

impl RequestArray {
    /// The application's arrays.
    ///
    /// # Errors
    /// `Count` for a negative length, `Arg` for a null array.
    ///
    /// # Safety
    /// `requests` is null or has `len` elements, and so has `statuses` unless it is null; both may
    /// be read and written during the life of the list.
    #[inline]
    pub(crate) unsafe fn new(
        len: c_int, requests: *mut MPI_Request, statuses: *mut MPI_Status,
    ) -> Result<Self> {
        let len = checked_count(len.into())?;
        if requests.is_null() && len > 0 {
            return Err(null_list(len, "array_of_requests"));
        }
        Ok(Self { len, requests, statuses, complete_before: Cell::new(0), batch: Batch::default() })
    }

    /// One request.
    ///
    /// # Errors
    /// `Arg` for a null pointer.
    ///
    /// # Safety
    /// `request` is null, or may be read and written during the life of the list.
    #[inline]
    pub(crate) unsafe fn one(request: *mut MPI_Request) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::new(1, out(request, "request")?.as_ptr(), null_mut()) }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Handle {
        debug_assert!(index < self.len);
        // SAFETY: `index` is below the length that the caller of `new` promised.
        number(unsafe { *self.requests.add(index) })
    }

    /// Whether no request is pending.
    ///
    /// # Errors
    /// `Request` for an element that is not a request.
    #[inline]
    pub(crate) fn is_complete(&self, mpi: &ProcessMpi) -> Result<bool> {
        while self.complete_before.get() < self.len {
            if mpi.readiness(self.get(self.complete_before.get()))? == Readiness::Pending {
                return Ok(false);
            }
            self.complete_before.set(self.complete_before.get() + 1);
        }
        Ok(true)
    }

    /// Description of the call `function`, which waits for all or any of the requests.
    pub(crate) fn blocked(&self, mpi: &ProcessMpi, function: &str, any: bool) -> WaitReport {
        let handles = (self.complete_before.get()..self.len).map(|index| self.get(index));
        mpi.blocked_requests(function, any, handles)
    }

    /// Finds the first complete request.
    ///
    /// # Errors
    /// `Request` for an element that is not a request.
    pub(crate) fn any(&self, mpi: &ProcessMpi) -> Result<AnyRequest> {
        let mut found = AnyRequest::Idle;
        for index in 0..self.len {
            match mpi.readiness(self.get(index))? {
                Readiness::Ready => return Ok(AnyRequest::Ready(index)),
                Readiness::Pending => found = AnyRequest::Pending,
                Readiness::Inactive => {}
            }
        }
        Ok(found)
    }

    /// Indices of all complete requests; `None` if no request is active.
    ///
    /// # Errors
    /// `Request` for an element that is not a request.
    pub(crate) fn ready(&self, mpi: &ProcessMpi) -> Result<Option<Vec<usize>>> {
        let mut ready = Vec::new();
        let mut active = false;
        for index in 0..self.len {
            let readiness = mpi.readiness(self.get(index))?;
            active |= readiness != Readiness::Inactive;
            if readiness == Readiness::Ready {
                ready.push(index);
            }
        }
        Ok(active.then_some(ready))
    }

    /// Stores the statuses of complete requests without completing the requests. The status of a
    /// generalized request is filled later, by its query function.
    pub(crate) fn peek(
        &self, mpi: &ProcessMpi, indices: impl ExactSizeIterator<Item = usize>,
    ) -> Batch {
        let mut batch = Batch { statuses: (self.statuses, indices.len()), ..Batch::default() };
        for (place, index) in indices.enumerate() {
            let status = self.status(place);
            // SAFETY: `new` was promised as many statuses as requests.
            unsafe {
                match mpi.readiness(self.get(index)) {
                    Ok(Readiness::Inactive) => put_empty_status(status),
                    _ => put_status(status, &mpi.request_status(self.get(index))),
                }
            }
            if let Some(functions) = mpi.functions(self.get(index)) {
                let of = GeneralizedCompletion { functions, status };
                batch.generalized.push(BatchEntry { place, of });
            }
        }
        batch
    }

    /// Completes the request at `index` if it is not pending.
    ///
    /// # Errors
    /// `Request` if the element is not a request.
    #[inline(always)]
    pub(crate) fn complete(&self, mpi: &mut ProcessMpi, index: usize) -> Result<Option<Completed>> {
        let completed = mpi.complete(self.get(index))?;
        if completed.as_ref().is_some_and(|completed| completed.handle_freed) {
            // SAFETY: `index` is below the length that the caller of `new` promised.
            unsafe { *self.requests.add(index) = MPI_REQUEST_NULL };
        }
        Ok(completed)
    }

    /// Completes these requests, none of which is pending, and stores their statuses in order.
    ///
    /// # Errors
    /// `Request` for an element that is not a request.
    pub(crate) fn complete_each(
        &self, mpi: &mut ProcessMpi, indices: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Batch> {
        let mut some = Batch { statuses: (self.statuses, indices.len()), ..Batch::default() };
        for (place, index) in indices.enumerate() {
            if let Some(completed) = self.complete(mpi, index)? {
                self.store_status(place, completed, &mut some);
            }
        }
        Ok(some)
    }

    /// Completes requests in order up to the first pending one, and stores their statuses. Returns
    /// all of them if none is pending.
    ///
    /// # Errors
    /// `Request` for an element that is not a request; the requests before it are complete.
    pub(crate) fn complete_in_turn(&mut self, mpi: &mut ProcessMpi) -> Result<Option<Batch>> {
        let mut batch = std::mem::take(&mut self.batch);
        for index in self.complete_before.get()..self.len {
            let Some(completed) = self.complete(mpi, index)? else {
                self.complete_before.set(index);
                self.batch = batch;
                return Ok(None);
            };
            self.store_status(index, completed, &mut batch);
        }
        batch.statuses = (self.statuses, self.len);
        Ok(Some(batch))
    }

    /// Stores the status of a request at index `place`, and records its error or its query
    /// function.
    #[inline(always)]
    fn store_status(&self, place: usize, completed: Completed, batch: &mut Batch) {
        let Completed { outcome, owner, functions, inactive, .. } = completed;
        let status = self.status(place);
        // SAFETY: `new` was promised as many statuses as requests.
        unsafe {
            match inactive {
                true => put_empty_status(status),
                false => put_status(status, &outcome.status),
            }
        }
        if let Some(functions) = functions {
            let of = GeneralizedCompletion { functions, status };
            batch.generalized.push(BatchEntry { place, of });
        }
        if let Some(error) = outcome.error {
            batch.failed.push(BatchEntry { place, of: (owner, error) });
        }
    }

    /// Completes the first complete request and stores its index; no effect if no request is
    /// active.
    ///
    /// # Errors
    /// `Request` for an element that is not a request.
    pub(crate) fn complete_any(
        &self, mpi: &mut ProcessMpi, result: Out<c_int>,
    ) -> Result<Option<Completed>> {
        let any = self.any(mpi)?;
        result.put(any.index());
        Ok(match any {
            AnyRequest::Pending => None,
            AnyRequest::Idle => Some(Completed::EMPTY),
            AnyRequest::Ready(index) => self.complete(mpi, index)?,
        })
    }

    /// Completes all complete requests and stores their indices; `None` if no request is active.
    ///
    /// # Errors
    /// `Request` for an element that is not a request.
    pub(crate) fn complete_some(
        &self, mpi: &mut ProcessMpi, found: Indices,
    ) -> Result<Option<Batch>> {
        let ready = self.ready(mpi)?;
        found.put(ready.as_deref());
        let Some(indices) = ready else { return Ok(None) };
        let batch = self.complete_each(mpi, indices.iter().copied())?;
        Ok(Some(Batch { indices, ..batch }))
    }

    /// Address of the status at index `place`; null if statuses are ignored.
    fn status(&self, place: usize) -> *mut MPI_Status {
        if self.statuses.is_null() {
            return self.statuses;
        }
        // SAFETY: `new` was promised as many statuses as requests.
        unsafe { self.statuses.add(place) }
    }
}

impl Batch {
    /// Calls functions of the generalized requests. Returns the communicator and the error of the first
    /// request that failed; only then the statuses get error codes (§3.2.5).
    fn conclude(
        mut self, call: impl Fn(GeneralizedCompletion) -> Result,
    ) -> Option<(Handle, Box<MpiError>)> {
        for BatchEntry { place, of } in self.generalized.drain(..) {
            if let Err(error) = call(of) {
                self.failed.push(BatchEntry { place, of: (COMM_SELF, error) });
            }
        }
        self.store_errors();
        self.failed.into_iter().next().map(|first| first.of)
    }

    fn store_errors(&self) {
        let (statuses, count) = self.statuses;
        if self.failed.is_empty() || statuses.is_null() {
            return;
        }
        let put = |place: usize, code: c_int| {
            // SAFETY: `RequestArray::new` was promised as many statuses as requests; `place` is
            // below the number of statuses that the call stored.
            unsafe { (*statuses.add(place)).MPI_ERROR = code }
        };
        (0..count).for_each(|place| put(place, MPI_SUCCESS));
        for BatchEntry { place, of: (_, error) } in &self.failed {
            put(*place, error.code.0);
        }
    }
}

/// Ends a call that completes one request.
///
/// # Safety
/// `status` is null or may be written.
#[inline]
pub(crate) unsafe fn end_one(
    name: &str, completed: Result<Completed>, status: *mut MPI_Status,
) -> c_int {
    match completed {
        Ok(Completed { outcome, owner, functions, inactive: idle, .. }) => {
            // SAFETY: the caller's promise.
            let result = unsafe {
                if idle {
                    put_empty_status(status);
                }
                conclude(outcome, status)
            };
            let found = functions.map(|functions| GeneralizedCompletion { functions, status });
            let result = found.map_or(result, GeneralizedCompletion::conclude);
            finish(Scope::of_owner(owner), name, result)
        }
        Err(error) => finish(Scope::None, name, Err(error)),
    }
}

/// Ends a call that tests one request; `None` if it is pending.
///
/// # Safety
/// `status` is null or may be written.
#[inline]
pub(crate) unsafe fn end_test(
    name: &str, tested: Result<Option<Completed>>, status: *mut MPI_Status,
) -> c_int {
    match tested.transpose() {
        // SAFETY: the caller's promise.
        Some(completed) => unsafe { end_one(name, completed, status) },
        None => MPI_SUCCESS,
    }
}

/// Ends a call that completes several requests.
pub(crate) fn end_many(name: &str, completed: Result<Batch>) -> c_int {
    end_batch(name, completed, GeneralizedCompletion::conclude)
}

/// Ends a call that inspects several requests; query functions fill the statuses of generalized
/// requests.
pub(crate) fn end_peek(name: &str, shown: Result<Batch>) -> c_int {
    end_batch(name, shown, GeneralizedCompletion::query)
}

fn end_batch(
    name: &str, batch: Result<Batch>, call: impl Fn(GeneralizedCompletion) -> Result,
) -> c_int {
    let batch = match batch {
        Ok(batch) => batch,
        Err(error) => return finish(Scope::None, name, Err(error)),
    };
    let Some((owner, error)) = batch.conclude(call) else { return MPI_SUCCESS };
    // The error handler gets the code of the request, the caller one for all requests (§9.3.1).
    let of_request = error.code.0;
    let code = finish(Scope::of_owner(owner), name, Err(error));
    if code == of_request { ErrorClass::InStatus as c_int } else { code }
}

/// Stores the empty status. Its error field is set, unlike after a single completion (§3.7.3).
///
/// # Safety
/// `status` is null or may be written.
pub(crate) unsafe fn put_empty_status(status: *mut MPI_Status) {
    // SAFETY: the caller's promise.
    unsafe {
        put_status(status, &Status::EMPTY);
        if let Some(status) = status.as_mut() {
            status.MPI_ERROR = MPI_SUCCESS;
        }
    }
}
