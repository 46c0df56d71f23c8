//! Completing, starting, cancelling and freeing requests (MPI 5.0, chapter 3).
//!
//! All forms are one loop: test the requests, and complete one, some or all of those whose
//! activities are complete (`list`). An error calls the error handler of the communicator; calls
//! that complete several requests return `MPI_ERR_IN_STATUS`, with codes in the statuses (§3.7.5).

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::null_mut;

use crate::abi::arguments::pointer::{InOut, in_out, out};
use crate::abi::entry_point::{PROCESS, Scope, finish, number, put_status};
use crate::abi::handles::{MPI_REQUEST_NULL, handle};
use crate::abi::request::generalized;
use crate::abi::request::generalized::GeneralizedCompletion;
use crate::abi::request::list::{
    AnyRequest, Indices, RequestArray, end_many, end_one, end_peek, end_test, put_empty_status,
};
use crate::abi::types::*;
use crate::mpi::request::Readiness;
use crate::process::ProcessMpi;
use platform::base::Result;

/// Marks an operation for cancellation; wait or test complete it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cancel(request: *mut MPI_Request) -> c_int {
    let cancel = |request: InOut<MPI_Request>| {
        let found = PROCESS.with_mpi(|mpi| mpi.cancel(number(request.get())))?;
        found.map_or(Ok(()), |(functions, complete)| generalized::cancel(functions, complete))
    };
    // SAFETY: the caller's promise of the request.
    unsafe { of_one("MPI_Cancel", request, cancel) }
}

/// Frees a request; its operation completes on its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_free(request: *mut MPI_Request) -> c_int {
    let free = |request: InOut<MPI_Request>| {
        let functions = PROCESS.with_mpi(|mpi| mpi.free_request(number(request.get())))?;
        request.put(MPI_REQUEST_NULL);
        functions.map_or(Ok(()), generalized::free)
    };
    // SAFETY: the caller's promise of the request.
    unsafe { of_one("MPI_Request_free", request, free) }
}

/// `MPI_Test` that neither frees nor inactivates the request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status(
    request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    let look = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the result.
        let flag = unsafe { out(flag, "flag")? };
        let readiness = mpi.readiness(number(request))?;
        let over = readiness != Readiness::Pending;
        flag.put(over.into());
        // SAFETY: the caller's promise of the status.
        unsafe {
            match readiness {
                Readiness::Pending => return Ok((over, None)),
                Readiness::Inactive => put_empty_status(status),
                Readiness::Ready => put_status(status, &mpi.request_status(number(request))),
            }
        }
        Ok((over, mpi.functions(number(request))))
    };
    let result = PROCESS.test(look, |(over, _)| *over).and_then(|(_, functions)| {
        functions.map_or(Ok(()), |functions| GeneralizedCompletion { functions, status }.query())
    });
    finish(request, "MPI_Request_get_status", result)
}

/// `MPI_Testall` that neither frees nor inactivates the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_all(
    count: c_int, array_of_requests: *const MPI_Request, flag: *mut c_int,
    array_of_statuses: *mut MPI_Status,
) -> c_int {
    let look = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the requests, the statuses and the result.
        let (list, flag) = unsafe {
            let list = RequestArray::new(count, array_of_requests.cast_mut(), array_of_statuses)?;
            (list, out(flag, "flag")?)
        };
        let over = list.is_complete(mpi)?;
        flag.put(over.into());
        let shown = if over { 0..list.len } else { 0..0 };
        Ok((over, list.peek(mpi, shown)))
    };
    let shown = PROCESS.test(look, |(over, _)| *over).map(|(_, shown)| shown);
    end_peek("MPI_Request_get_status_all", shown)
}

/// `MPI_Testany` that neither frees nor inactivates the request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_any(
    count: c_int, array_of_requests: *const MPI_Request, indx: *mut c_int, flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let look = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the requests and the results.
        let (list, indx, flag) = unsafe {
            let list = RequestArray::new(count, array_of_requests.cast_mut(), null_mut())?;
            (list, out(indx, "indx")?, out(flag, "flag")?)
        };
        let found = list.any(mpi)?;
        flag.put((found != AnyRequest::Pending).into());
        indx.put(found.index());
        // SAFETY: the caller's promise of the status.
        unsafe {
            match found {
                AnyRequest::Pending => {}
                AnyRequest::Idle => put_empty_status(status),
                AnyRequest::Ready(index) => {
                    put_status(status, &mpi.request_status(list.get(index)));
                    return Ok((true, mpi.functions(list.get(index))));
                }
            }
        }
        Ok((found != AnyRequest::Pending, None))
    };
    let result = PROCESS.test(look, |(over, _)| *over).and_then(|(_, functions)| {
        functions.map_or(Ok(()), |functions| GeneralizedCompletion { functions, status }.query())
    });
    finish(Scope::None, "MPI_Request_get_status_any", result)
}

/// `MPI_Testsome` that neither frees nor inactivates the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_some(
    incount: c_int, array_of_requests: *const MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    let look = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the requests, the statuses and the results.
        let (list, found) = unsafe {
            let list = RequestArray::new(incount, array_of_requests.cast_mut(), array_of_statuses)?;
            (list, Indices::new(incount, outcount, array_of_indices)?)
        };
        let ready = list.ready(mpi)?;
        found.put(ready.as_deref());
        let shown = list.peek(mpi, ready.as_deref().unwrap_or_default().iter().copied());
        Ok((ready.is_none_or(|ready| !ready.is_empty()), shown))
    };
    let shown = PROCESS.test(look, |(over, _)| *over).map(|(_, shown)| shown);
    end_peek("MPI_Request_get_status_some", shown)
}

/// Starts the operation of a persistent request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Start(request: *mut MPI_Request) -> c_int {
    let start =
        |request: InOut<MPI_Request>| PROCESS.with_mpi(|mpi| mpi.start(number(request.get())));
    // SAFETY: the caller's promise of the request.
    unsafe { of_one("MPI_Start", request, start) }
}

/// Starts several persistent requests, in any order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Startall(count: c_int, array_of_requests: *mut MPI_Request) -> c_int {
    let started = PROCESS.with_mpi(|mpi| {
        // SAFETY: the caller's promise of the requests.
        let list = unsafe { RequestArray::new(count, array_of_requests, null_mut())? };
        Ok(mpi.start_all((0..list.len).map(|index| list.get(index))))
    });
    let (scope, result) = match started {
        Ok(Ok(())) => (Scope::None, Ok(())),
        Ok(Err((request, error))) => (Scope::Request(handle(request as c_int)), Err(error)),
        Err(error) => (Scope::None, Err(error)),
    };
    finish(scope, "MPI_Startall", result)
}

/// Asks whether an operation is complete, and if so completes its request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Test(
    request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    let tested = PROCESS.test(
        |mpi| {
            // SAFETY: the caller's promise of the request and the result.
            let (list, flag) = unsafe { (RequestArray::one(request)?, out(flag, "flag")?) };
            let tested = list.complete(mpi, 0)?;
            flag.put(tested.is_some().into());
            Ok(tested)
        },
        Option::is_some,
    );
    // SAFETY: the caller's promise of the status.
    unsafe { end_test("MPI_Test", tested, status) }
}

/// Completes all of the requests, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Testall(
    count: c_int, array_of_requests: *mut MPI_Request, flag: *mut c_int,
    array_of_statuses: *mut MPI_Status,
) -> c_int {
    let tested = PROCESS.test(
        |mpi| {
            // SAFETY: the caller's promise of the requests, the statuses and the result.
            let (list, flag) = unsafe {
                (
                    RequestArray::new(count, array_of_requests, array_of_statuses)?,
                    out(flag, "flag")?,
                )
            };
            let over = list.is_complete(mpi)?;
            let tested = over.then(|| list.complete_each(mpi, 0..list.len)).transpose()?;
            flag.put(over.into());
            Ok(tested)
        },
        Option::is_some,
    );
    end_many("MPI_Testall", tested.map(Option::unwrap_or_default))
}

/// Completes one of the requests, if one is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Testany(
    count: c_int, array_of_requests: *mut MPI_Request, indx: *mut c_int, flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let tested = PROCESS.test(
        |mpi| {
            // SAFETY: the caller's promise of the requests and the results.
            let (list, indx, flag) = unsafe {
                let list = RequestArray::new(count, array_of_requests, null_mut())?;
                (list, out(indx, "indx")?, out(flag, "flag")?)
            };
            let tested = list.complete_any(mpi, indx)?;
            flag.put(tested.is_some().into());
            Ok(tested)
        },
        Option::is_some,
    );
    // SAFETY: the caller's promise of the status.
    unsafe { end_test("MPI_Testany", tested, status) }
}

/// Completes all requests that are complete now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Testsome(
    incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    let tested = PROCESS.test(
        |mpi| {
            // SAFETY: the caller's promise of the requests, the statuses and the results.
            let (list, found) = unsafe {
                let list = RequestArray::new(incount, array_of_requests, array_of_statuses)?;
                (list, Indices::new(incount, outcount, array_of_indices)?)
            };
            list.complete_some(mpi, found)
        },
        |tested| tested.as_ref().is_none_or(|batch| !batch.indices.is_empty()),
    );
    end_many("MPI_Testsome", tested.map(Option::unwrap_or_default))
}

/// Waits for an operation and completes its request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) -> c_int {
    let waited = PROCESS.until(
        // SAFETY: the caller's promise of the request.
        |_| unsafe { RequestArray::one(request) },
        |mpi, list| list.complete(mpi, 0),
        |mpi, list| list.blocked(mpi, "MPI_Wait", false),
    );
    // SAFETY: the caller's promise of the status.
    unsafe { end_one("MPI_Wait", waited, status) }
}

/// Waits for all of the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Waitall(
    count: c_int, array_of_requests: *mut MPI_Request, array_of_statuses: *mut MPI_Status,
) -> c_int {
    let waited = PROCESS.until(
        // SAFETY: the caller's promise of the requests and the statuses.
        |_| unsafe { RequestArray::new(count, array_of_requests, array_of_statuses) },
        |mpi, list| list.complete_in_turn(mpi),
        |mpi, list| list.blocked(mpi, "MPI_Waitall", false),
    );
    end_many("MPI_Waitall", waited)
}

/// Waits for one of the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Waitany(
    count: c_int, array_of_requests: *mut MPI_Request, indx: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    let waited = PROCESS.until(
        // SAFETY: the caller's promise of the requests and the result.
        |_| unsafe {
            Ok((RequestArray::new(count, array_of_requests, null_mut())?, out(indx, "indx")?))
        },
        |mpi, (list, indx)| list.complete_any(mpi, *indx),
        |mpi, (list, _)| list.blocked(mpi, "MPI_Waitany", true),
    );
    // SAFETY: the caller's promise of the status.
    unsafe { end_one("MPI_Waitany", waited, status) }
}

/// Waits for at least one of the requests and completes all that are complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Waitsome(
    incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    let waited = PROCESS.until(
        // SAFETY: the caller's promise of the requests, the statuses and the results.
        |_| unsafe {
            let list = RequestArray::new(incount, array_of_requests, array_of_statuses)?;
            Ok((list, Indices::new(incount, outcount, array_of_indices)?))
        },
        |mpi, (list, found)| {
            let some = list.complete_some(mpi, *found)?;
            Ok((!some.as_ref().is_some_and(|some| some.indices.is_empty())).then_some(some))
        },
        |mpi, (list, _)| list.blocked(mpi, "MPI_Waitsome", true),
    );
    end_many("MPI_Waitsome", waited.map(Option::unwrap_or_default))
}

/// Does something with one request.
///
/// # Safety
/// `request` is null, or may be read and written.
unsafe fn of_one(
    name: &str, request: *mut MPI_Request, body: impl FnOnce(InOut<MPI_Request>) -> Result,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { in_out(request, "request") } {
        Ok(place) => {
            let request = place.get();
            finish(request, name, body(place))
        }
        Err(error) => finish(Scope::None, name, Err(error)),
    }
}
