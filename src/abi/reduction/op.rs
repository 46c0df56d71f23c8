//! User-defined reduction operations, and reductions without communication (MPI 5.0, chapter 6).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::{in_out, out};
use crate::abi::arguments::user_memory::memory_of;
use crate::abi::collective::start::{check_disjoint, combining};
use crate::abi::entry_point::{PROCESS, Scope, early, finish, number};
use crate::abi::handles::MPI_OP_NULL;
use crate::abi::types::*;
use crate::mpi::op::UserFunction;
use platform::base::ErrorClass;

/// Whether an operation is commutative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_commutative(op: MPI_Op, commute: *mut c_int) -> c_int {
    early("MPI_Op_commutative", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let commute = unsafe { out(commute, "commute")? };
        let op = objects.ops.get(number(op))?;
        commute.put(op.is_commutative().into());
        Ok(())
    })
}

/// Creates a reduction operation from a user function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_create(
    user_fn: MPI_User_function, commute: c_int, op: *mut MPI_Op,
) -> c_int {
    let address = user_fn.map_or(0, |function| function as *const () as usize);
    let function = UserFunction { address, large: false, commutative: commute != 0 };
    // SAFETY: the caller's promise of the result.
    unsafe { create("MPI_Op_create", function, op) }
}

/// [`PMPI_Op_create`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_create_c(
    user_fn: MPI_User_function_c, commute: c_int, op: *mut MPI_Op,
) -> c_int {
    let address = user_fn.map_or(0, |function| function as *const () as usize);
    let function = UserFunction { address, large: true, commutative: commute != 0 };
    // SAFETY: the caller's promise of the result.
    unsafe { create("MPI_Op_create_c", function, op) }
}

/// Frees a user-defined operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Op_free(op: *mut MPI_Op) -> c_int {
    early("MPI_Op_free", Scope::None, |objects| {
        // SAFETY: the caller's promise of the handle.
        let op = unsafe { in_out(op, "op")? };
        objects.ops.free(number(op.get()))?;
        op.put(MPI_OP_NULL);
        Ok(())
    })
}

/// Combines two local buffers: `inoutbuf = inbuf op inoutbuf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_local_c(
    inbuf: *const c_void, inoutbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op,
) -> c_int {
    let prepared = PROCESS.early(|objects| {
        let combining = combining(objects, op, datatype)?;
        let elements = objects.datatypes.committed(number(datatype))?;
        // SAFETY: the caller's promise of both buffers (§6.9.7).
        let (from, into) =
            unsafe { (memory_of(inbuf, count, elements)?, memory_of(inoutbuf, count, elements)?) };
        check_disjoint([&from], [&into])?;
        Ok((combining, from, into))
    });
    // The lock is not held here: a user function may be called.
    let result = prepared.map(|(combining, from, into)| combining.combine(from, into));
    finish(Scope::None, "MPI_Reduce_local", result)
}

/// Stores a handle for a user-defined operation.
///
/// # Safety
/// `op` is null or may be written.
unsafe fn create(name: &str, function: UserFunction, op: *mut MPI_Op) -> c_int {
    early(name, Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let op = unsafe { out(op, "op")? };
        if function.address == 0 {
            return Err(ErrorClass::Arg.error("the function of the operation is a null pointer"));
        }
        op.put_handle(objects.ops.insert(function)?);
        Ok(())
    })
}
