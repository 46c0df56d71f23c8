//! Generalized requests (MPI 5.0, chapter 13).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::{Scope, unsupported};

/// Says that the operation of a generalized request is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Grequest_complete(request: MPI_Request) -> c_int {
    unsupported("MPI_Grequest_complete", request)
}

/// Makes a request whose operation the application carries out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Grequest_start(
    query_fn: MPI_Grequest_query_function, free_fn: MPI_Grequest_free_function,
    cancel_fn: MPI_Grequest_cancel_function, extra_state: *mut c_void, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Grequest_start", Scope::None)
}
