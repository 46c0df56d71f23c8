//! Generalized requests (MPI 5.0 §13.2): operations of the application, and calls of their
//! functions without the lock.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::{transmute, zeroed};

use crate::abi::arguments::pointer::out;
use crate::abi::entry_point::{PROCESS, Scope, finish, local, number, put_status};
use crate::abi::types::*;
use crate::mpi::request::generalized::GrequestFunctions;
use crate::mpi::request::status::Status;
use platform::base::{ErrorClass, ErrorCode, MpiError, Result};

/// A completed generalized request and the address of its status.
pub struct GeneralizedCompletion {
    /// Functions of the request.
    pub functions: GrequestFunctions,
    /// Null if the status is ignored.
    pub status: *mut MPI_Status,
}

/// Completes a generalized request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Grequest_complete(request: MPI_Request) -> c_int {
    let result = PROCESS.with_mpi(|mpi| mpi.complete_generalized(number(request)));
    let result = result.and_then(|functions| functions.map_or(Ok(()), free));
    finish(Scope::None, "MPI_Grequest_complete", result)
}

/// Creates a request for an operation of the application.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Grequest_start(
    query_fn: MPI_Grequest_query_function, free_fn: MPI_Grequest_free_function,
    cancel_fn: MPI_Grequest_cancel_function, extra_state: *mut c_void, request: *mut MPI_Request,
) -> c_int {
    local("MPI_Grequest_start", Scope::None, |mpi| {
        // SAFETY: the caller's promise of the result.
        let request = unsafe { out(request, "request")? };
        let given = |function: Option<usize>, name: &str| {
            function.ok_or_else(|| ErrorClass::Arg.error(format!("the {name} function is null")))
        };
        let functions = GrequestFunctions {
            query: given(query_fn.map(|function| function as usize), "query")?,
            free: given(free_fn.map(|function| function as usize), "free")?,
            cancel: given(cancel_fn.map(|function| function as usize), "cancel")?,
            extra_state: extra_state as usize,
        };
        request.put_handle(mpi.start_generalized(functions)?);
        Ok(())
    })
}

impl GeneralizedCompletion {
    /// Calls the query function, which fills the status except its error.
    ///
    /// # Errors
    /// The error code of the function.
    pub fn query(self) -> Result {
        // SAFETY: a status is plain data, for which zero is a value.
        let mut ignored: MPI_Status = unsafe { zeroed() };
        let status = if self.status.is_null() { &raw mut ignored } else { self.status };
        let extra = self.functions.extra_state as *mut c_void;
        let address = self.functions.query as *const c_void;
        // SAFETY: the address was registered with this type by `MPI_Grequest_start`; the status is
        // a local or the caller's, writable by the caller's promise.
        unsafe {
            put_status(status, &Status::EMPTY);
            let error = (*status).MPI_ERROR;
            let call = transmute::<*const c_void, MPI_Grequest_query_function>(address);
            let code = call.map_or(0, |call| call(extra, status));
            (*status).MPI_ERROR = error;
            succeeded(code, "query")
        }
    }

    /// Calls the query function and the free function of a completed request.
    ///
    /// # Errors
    /// The code of the free function, which is called last, or else that of the query function.
    pub fn conclude(self) -> Result {
        let functions = self.functions;
        let queried = self.query();
        free(functions).and(queried)
    }
}

/// Calls the free function of a request.
///
/// # Errors
/// The error code of the function.
pub fn free(functions: GrequestFunctions) -> Result {
    let extra = functions.extra_state as *mut c_void;
    // SAFETY: the address was registered with this type by `MPI_Grequest_start`.
    let code = unsafe {
        let address = functions.free as *const c_void;
        transmute::<*const c_void, MPI_Grequest_free_function>(address)
            .map_or(0, |call| call(extra))
    };
    succeeded(code, "free")
}

/// Calls the cancel function of a request; `complete` tells it whether the operation has completed.
///
/// # Errors
/// The error code of the function.
pub fn cancel(functions: GrequestFunctions, complete: bool) -> Result {
    let extra = functions.extra_state as *mut c_void;
    // SAFETY: the address was registered with this type by `MPI_Grequest_start`.
    let code = unsafe {
        let address = functions.cancel as *const c_void;
        let call = transmute::<*const c_void, MPI_Grequest_cancel_function>(address);
        call.map_or(0, |call| call(extra, complete.into()))
    };
    succeeded(code, "cancel")
}

fn succeeded(code: c_int, what: &str) -> Result {
    if code == 0 {
        return Ok(());
    }
    let why = format!("the {what} function of a generalized request returned error code {code}");
    Err(MpiError::new(ErrorCode(code), why))
}
