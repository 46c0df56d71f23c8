//! Completing, starting, cancelling and freeing requests of every kind (MPI 5.0, chapter 3).
//!
//! All forms are one loop: look at the requests, and complete one, some or all of those that are
//! over (`request_list`). The error of an operation goes to the error handler of its communicator;
//! calls that complete several report `MPI_ERR_IN_STATUS` and the codes in the statuses (§3.7.5).

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::null_mut;

use super::constants::MPI_UNDEFINED;
use super::grequest::{self, Found};
use super::handles::MPI_REQUEST_NULL;
use super::request_list::{
    Any, List, end_any, end_many, end_one, end_shown, end_some, flagged, put_empty_status,
    put_index, put_indices,
};
use super::types::*;
use super::verb::{PROCESS, Scope, finish, local, number, put_status};
use crate::mpi::request::{Completed, Readiness};
use crate::process::Mpi;

/// Marks an operation for cancellation; wait or test complete it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cancel(request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller gives a valid request pointer.
    let request = unsafe { *request };
    let result = PROCESS.look(|mpi| mpi.cancel(number(request)));
    let result = result.and_then(|found| {
        found.map_or(Ok(()), |(functions, complete)| grequest::cancel(functions, complete))
    });
    finish(request, "MPI_Cancel", result)
}

/// Lets go of a request; its operation completes on its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_free(request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller gives a valid request pointer.
    let freed = unsafe { *request };
    let result = PROCESS.look(|mpi| mpi.free_request(number(freed)));
    if result.is_ok() {
        // SAFETY: as above.
        unsafe { *request = MPI_REQUEST_NULL };
    }
    let result = result.and_then(|functions| functions.map_or(Ok(()), grequest::free));
    finish(freed, "MPI_Request_free", result)
}

/// `MPI_Test` that neither frees nor inactivates the request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status(
    request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    let look = |mpi: &mut Mpi| {
        let readiness = mpi.readiness(number(request))?;
        let over = readiness != Readiness::Pending;
        // SAFETY: the caller's promise of the results.
        unsafe {
            *flag = over.into();
            match readiness {
                Readiness::Pending => return Ok((over, None)),
                Readiness::Idle => put_empty_status(status),
                Readiness::Ready => put_status(status, &mpi.request_status(number(request))),
            }
        }
        Ok((over, mpi.functions(number(request))))
    };
    let result = PROCESS.test(look, |(over, _)| *over).and_then(|(_, functions)| {
        functions.map_or(Ok(()), |functions| Found { functions, status }.query())
    });
    finish(request, "MPI_Request_get_status", result)
}

/// `MPI_Testall` that neither frees nor inactivates the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_all(
    count: c_int, array_of_requests: *const MPI_Request, flag: *mut c_int,
    array_of_statuses: *mut MPI_Status,
) -> c_int {
    let look = |mpi: &mut Mpi| {
        // SAFETY: the caller's promise of the requests and the statuses.
        let list = unsafe { List::new(count, array_of_requests.cast_mut(), array_of_statuses)? };
        let over = list.is_over(mpi)?;
        // SAFETY: the caller's promise of the result.
        unsafe { *flag = over.into() };
        let shown = if over { 0..list.len } else { 0..0 };
        let found = shown.filter_map(|index| list.show(mpi, index, index)).collect();
        Ok((over, found))
    };
    let shown = PROCESS.test(look, |(over, _)| *over).map(|(_, found): (_, Vec<_>)| found);
    end_shown("MPI_Request_get_status_all", shown)
}

/// `MPI_Testany` that neither frees nor inactivates the request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_any(
    count: c_int, array_of_requests: *const MPI_Request, indx: *mut c_int, flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let look = |mpi: &mut Mpi| {
        // SAFETY: the caller's promise of the requests.
        let list = unsafe { List::new(count, array_of_requests.cast_mut(), null_mut())? };
        let found = list.any(mpi)?;
        // SAFETY: the caller's promise of the results and the status.
        unsafe {
            *flag = (found != Any::Pending).into();
            match found {
                Any::Pending => *indx = MPI_UNDEFINED,
                Any::Idle => put_index(None, indx, status),
                Any::Ready(index) => {
                    *indx = index as c_int;
                    put_status(status, &mpi.request_status(list.get(index)));
                    return Ok((true, mpi.functions(list.get(index))));
                }
            }
        }
        Ok((found != Any::Pending, None))
    };
    let result = PROCESS.test(look, |(over, _)| *over).and_then(|(_, functions)| {
        functions.map_or(Ok(()), |functions| Found { functions, status }.query())
    });
    finish(Scope::None, "MPI_Request_get_status_any", result)
}

/// `MPI_Testsome` that neither frees nor inactivates the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_some(
    incount: c_int, array_of_requests: *const MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    let look = |mpi: &mut Mpi| {
        // SAFETY: the caller's promise of the requests and the statuses.
        let list = unsafe { List::new(incount, array_of_requests.cast_mut(), array_of_statuses)? };
        let ready = list.ready(mpi)?;
        let indices = ready.iter().flatten().enumerate();
        let found = indices.filter_map(|(place, index)| list.show(mpi, *index, place)).collect();
        // SAFETY: the caller's promise of the results; there are as many indices as requests.
        unsafe { put_indices(ready.as_deref(), outcount, array_of_indices) };
        Ok((ready.is_none_or(|ready| !ready.is_empty()), found))
    };
    let shown = PROCESS.test(look, |(over, _)| *over).map(|(_, found): (_, Vec<_>)| found);
    end_shown("MPI_Request_get_status_some", shown)
}

/// Starts the operation of a persistent request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Start(request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller gives a valid request pointer.
    let request = unsafe { *request };
    local("MPI_Start", request, |mpi| mpi.start(number(request)))
}

/// Starts several persistent requests, in any order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Startall(count: c_int, array_of_requests: *mut MPI_Request) -> c_int {
    local("MPI_Startall", Scope::None, |mpi| {
        // SAFETY: the caller's promise of the requests.
        let list = unsafe { List::new(count, array_of_requests, null_mut())? };
        (0..list.len).try_for_each(|index| mpi.start(list.get(index)))
    })
}

/// Asks whether an operation is complete, and if so completes its request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Test(
    request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    let tested = PROCESS.test(
        |mpi| {
            // SAFETY: the caller gives a valid request pointer.
            let list = unsafe { List::new(1, request, null_mut())? };
            list.is_over(mpi)?.then(|| list.complete(mpi, 0)).transpose()
        },
        Option::is_some,
    );
    // SAFETY: the caller's promise of the results.
    unsafe {
        let over = flagged(&tested, flag);
        let result = tested.map(|tested| tested.unwrap_or(Completed::NOTHING));
        if over {
            end_one("MPI_Test", result, status)
        } else {
            end_one("MPI_Test", result, null_mut())
        }
    }
}

/// Completes all of the requests, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Testall(
    count: c_int, array_of_requests: *mut MPI_Request, flag: *mut c_int,
    array_of_statuses: *mut MPI_Status,
) -> c_int {
    let tested = PROCESS.test(
        |mpi| {
            // SAFETY: the caller's promise of the requests and the statuses.
            let list = unsafe { List::new(count, array_of_requests, array_of_statuses)? };
            list.is_over(mpi)?.then(|| list.complete_each(mpi, 0..list.len)).transpose()
        },
        Option::is_some,
    );
    // SAFETY: the caller's promise of the result.
    unsafe { flagged(&tested, flag) };
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
            // SAFETY: the caller's promise of the requests.
            let list = unsafe { List::new(count, array_of_requests, null_mut())? };
            list.complete_any(mpi)
        },
        Option::is_some,
    );
    // SAFETY: the caller's promise of the results and the status.
    unsafe {
        flagged(&tested, flag);
        end_any("MPI_Testany", tested, indx, status)
    }
}

/// Completes all requests that are complete now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Testsome(
    incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    let tested = PROCESS.test(
        |mpi| {
            // SAFETY: the caller's promise of the requests and the statuses.
            let list = unsafe { List::new(incount, array_of_requests, array_of_statuses)? };
            list.complete_some(mpi)
        },
        |tested| tested.as_ref().is_none_or(|batch| !batch.indices.is_empty()),
    );
    // SAFETY: the caller's promise of the results.
    unsafe { end_some("MPI_Testsome", tested, outcount, array_of_indices) }
}

/// Waits for an operation and completes its request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) -> c_int {
    let waited = PROCESS.until(
        // SAFETY: the caller gives a valid request pointer.
        |_| unsafe { List::new(1, request, null_mut()) },
        |mpi, list| list.is_over(mpi)?.then(|| list.complete(mpi, 0)).transpose(),
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
        |_| unsafe { List::new(count, array_of_requests, array_of_statuses) },
        |mpi, list| list.is_over(mpi)?.then(|| list.complete_each(mpi, 0..list.len)).transpose(),
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
        // SAFETY: the caller's promise of the requests.
        |_| unsafe { List::new(count, array_of_requests, null_mut()) },
        |mpi, list| list.complete_any(mpi),
        |mpi, list| list.blocked(mpi, "MPI_Waitany", true),
    );
    // SAFETY: the caller's promise of the results and the status.
    unsafe { end_any("MPI_Waitany", waited.map(Some), indx, status) }
}

/// Waits for at least one of the requests and completes all that are complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Waitsome(
    incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    let waited = PROCESS.until(
        // SAFETY: the caller's promise of the requests and the statuses.
        |_| unsafe { List::new(incount, array_of_requests, array_of_statuses) },
        |mpi, list| {
            let some = list.complete_some(mpi)?;
            Ok((!some.as_ref().is_some_and(|some| some.indices.is_empty())).then_some(some))
        },
        |mpi, list| list.blocked(mpi, "MPI_Waitsome", true),
    );
    // SAFETY: the caller's promise of the results.
    unsafe { end_some("MPI_Waitsome", waited, outcount, array_of_indices) }
}
