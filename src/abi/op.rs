//! Reduction operations of the application, and reductions without communication (MPI 5.0,
//! chapter 6).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::{Scope, unsupported};

/// Whether an operation is commutative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_commutative(op: MPI_Op, commute: *mut c_int) -> c_int {
    unsupported("MPI_Op_commutative", Scope::None)
}

/// Makes a reduction operation from a user function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_create(
    user_fn: MPI_User_function, commute: c_int, op: *mut MPI_Op,
) -> c_int {
    unsupported("MPI_Op_create", Scope::None)
}

/// [`PMPI_Op_create`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_create_c(
    user_fn: MPI_User_function_c, commute: c_int, op: *mut MPI_Op,
) -> c_int {
    unsupported("MPI_Op_create_c", Scope::None)
}

/// Lets go of a user-defined operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_free(op: *mut MPI_Op) -> c_int {
    unsupported("MPI_Op_free", Scope::None)
}

/// Combines two local buffers: `inoutbuf = inbuf op inoutbuf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_local_c(
    inbuf: *const c_void, inoutbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op,
) -> c_int {
    unsupported("MPI_Reduce_local_c", Scope::None)
}

/// [`PMPI_Reduce_local_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_local(
    inbuf: *const c_void, inoutbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Reduce_local_c(inbuf, inoutbuf, count.into(), datatype, op) }
}
