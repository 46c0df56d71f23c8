//! Completing, starting, cancelling and freeing requests of every kind (MPI 5.0, chapter 3).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::c_int;

use super::types::*;
use super::verb::{Scope, unsupported};

/// Marks an operation for cancellation; wait or test complete it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Cancel(request: *mut MPI_Request) -> c_int {
    unsupported("MPI_Cancel", Scope::None)
}

/// Lets go of a request; its operation completes on its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_free(request: *mut MPI_Request) -> c_int {
    unsupported("MPI_Request_free", Scope::None)
}

/// `MPI_Test` that neither frees nor inactivates the request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status(
    request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Request_get_status", request)
}

/// `MPI_Testall` that neither frees nor inactivates the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_all(
    count: c_int, array_of_requests: *const MPI_Request, flag: *mut c_int,
    array_of_statuses: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Request_get_status_all", Scope::None)
}

/// `MPI_Testany` that neither frees nor inactivates the request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_any(
    count: c_int, array_of_requests: *const MPI_Request, indx: *mut c_int, flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Request_get_status_any", Scope::None)
}

/// `MPI_Testsome` that neither frees nor inactivates the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Request_get_status_some(
    incount: c_int, array_of_requests: *const MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Request_get_status_some", Scope::None)
}

/// Starts the operation of a persistent request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Start(request: *mut MPI_Request) -> c_int {
    unsupported("MPI_Start", Scope::None)
}

/// Starts several persistent requests, in any order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Startall(count: c_int, array_of_requests: *mut MPI_Request) -> c_int {
    unsupported("MPI_Startall", Scope::None)
}

/// Asks whether an operation is complete, and if so completes its request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Test(
    request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Test", Scope::None)
}

/// Completes all of the requests, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Testall(
    count: c_int, array_of_requests: *mut MPI_Request, flag: *mut c_int,
    array_of_statuses: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Testall", Scope::None)
}

/// Completes one of the requests, if one is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Testany(
    count: c_int, array_of_requests: *mut MPI_Request, indx: *mut c_int, flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Testany", Scope::None)
}

/// Completes all requests that are complete now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Testsome(
    incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Testsome", Scope::None)
}

/// Waits for an operation and completes its request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) -> c_int {
    unsupported("MPI_Wait", Scope::None)
}

/// Waits for all of the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Waitall(
    count: c_int, array_of_requests: *mut MPI_Request, array_of_statuses: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Waitall", Scope::None)
}

/// Waits for one of the requests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Waitany(
    count: c_int, array_of_requests: *mut MPI_Request, indx: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Waitany", Scope::None)
}

/// Waits for at least one of the requests and completes all that are complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Waitsome(
    incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Waitsome", Scope::None)
}
