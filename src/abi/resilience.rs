//! Failures that a job survives: the functions of `mpi-ext.h`, which the standard does not have.
//!
//! Each has the name `MPIX_x` and, for tools, `PMPIX_x`, as in Open MPI. Their arguments are those of Open
//! MPI 5 and 6.
#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::arguments::pointer::out;
use crate::abi::arguments::user_memory::memory;
use crate::abi::communicator::comm::made;
use crate::abi::communicator::group::put_group;
use crate::abi::entry_point::{blocking, finish, local, number, start};
use crate::abi::handles::MPI_INT;
use crate::abi::types::*;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, Result};

/// The attribute of communicators that tells whether the job survives failures, 1 or 0. The value is none of the
/// standard's, and below the first key of an application.
pub(crate) const MPIX_FT: c_int = 1000;

/// Defines `MPIX_x` by `PMPIX_x`.
macro_rules! profiled {
    ($($name:ident by $body:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            /// The function of this name in `mpi-ext.h`.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                // SAFETY: the same contract.
                unsafe { $body($($argument),*) }
            }
        )*
    };
}

profiled! {
    MPIX_Comm_revoke by PMPIX_Comm_revoke(comm: MPI_Comm);
    MPIX_Comm_is_revoked by PMPIX_Comm_is_revoked(comm: MPI_Comm, flag: *mut c_int);
    MPIX_Comm_get_failed by PMPIX_Comm_get_failed(comm: MPI_Comm, failedgrp: *mut MPI_Group);
    MPIX_Comm_ack_failed by PMPIX_Comm_ack_failed(
        comm: MPI_Comm, num_to_ack: c_int, num_acked: *mut c_int
    );
    MPIX_Comm_failure_ack by PMPIX_Comm_failure_ack(comm: MPI_Comm);
    MPIX_Comm_failure_get_acked by PMPIX_Comm_failure_get_acked(
        comm: MPI_Comm, failedgrp: *mut MPI_Group
    );
    MPIX_Comm_shrink by PMPIX_Comm_shrink(comm: MPI_Comm, newcomm: *mut MPI_Comm);
    MPIX_Comm_ishrink by PMPIX_Comm_ishrink(
        comm: MPI_Comm, newcomm: *mut MPI_Comm, request: *mut MPI_Request
    );
    MPIX_Comm_agree by PMPIX_Comm_agree(comm: MPI_Comm, flag: *mut c_int);
    MPIX_Comm_iagree by PMPIX_Comm_iagree(
        comm: MPI_Comm, flag: *mut c_int, request: *mut MPI_Request
    );
    MPIX_File_revoke by PMPIX_File_revoke(fh: MPI_File);
    MPIX_File_is_revoked by PMPIX_File_is_revoked(fh: MPI_File, flag: *mut c_int);
    MPIX_File_get_failed by PMPIX_File_get_failed(fh: MPI_File, failedgrp: *mut MPI_Group);
    MPIX_Win_revoke by PMPIX_Win_revoke(win: MPI_Win);
    MPIX_Win_is_revoked by PMPIX_Win_is_revoked(win: MPI_Win, flag: *mut c_int);
    MPIX_Win_get_failed by PMPIX_Win_get_failed(win: MPI_Win, failedgrp: *mut MPI_Group);
}

/// Ends a communicator at all of its processes; any of them may call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_revoke(comm: MPI_Comm) -> c_int {
    local("MPIX_Comm_revoke", comm, |mpi| revoke(mpi, number(comm)))
}

/// Whether a communicator was revoked, as far as this process knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_is_revoked(comm: MPI_Comm, flag: *mut c_int) -> c_int {
    // SAFETY: the caller's promise of the result.
    local("MPIX_Comm_is_revoked", comm, |mpi| unsafe { put_revoked(mpi, number(comm), flag) })
}

/// The group of the processes of a communicator that have failed, as far as this process knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_get_failed(comm: MPI_Comm, failedgrp: *mut MPI_Group) -> c_int {
    local("MPIX_Comm_get_failed", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        unsafe { put_failed(mpi, number(comm), failedgrp, false) }
    })
}

/// Acknowledges the first failures of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_ack_failed(
    comm: MPI_Comm, num_to_ack: c_int, num_acked: *mut c_int,
) -> c_int {
    local("MPIX_Comm_ack_failed", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let num_acked = unsafe { out(num_acked, "num_acked")? };
        let count = usize::try_from(num_to_ack).map_err(|_| {
            let why = format!("num_to_ack is {num_to_ack}: expected 0 or more");
            ErrorClass::Arg.error(why)
        })?;
        num_acked.put(mpi.acknowledge(number(comm), Some(count))? as c_int);
        Ok(())
    })
}

/// Acknowledges all failures of a communicator that this process knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_failure_ack(comm: MPI_Comm) -> c_int {
    local("MPIX_Comm_failure_ack", comm, |mpi| mpi.acknowledge(number(comm), None).map(drop))
}

/// The group of the failed processes of a communicator that this process has acknowledged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_failure_get_acked(
    comm: MPI_Comm, failedgrp: *mut MPI_Group,
) -> c_int {
    local("MPIX_Comm_failure_get_acked", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        unsafe { put_failed(mpi, number(comm), failedgrp, true) }
    })
}

/// A communicator of the processes that survive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_shrink(comm: MPI_Comm, newcomm: *mut MPI_Comm) -> c_int {
    let name = "MPIX_Comm_shrink";
    // SAFETY: the caller's promise of the result.
    let result = unsafe { out(newcomm, "newcomm") }.and_then(|newcomm| {
        made(name, |mpi| mpi.shrink(number(comm))).map(|made| newcomm.put_handle(made))
    });
    finish(comm, name, result)
}

/// Starts `MPIX_Comm_shrink`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_ishrink(
    comm: MPI_Comm, newcomm: *mut MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the result.
        let newcomm = unsafe { out(newcomm, "newcomm")? };
        let (made, activity) = mpi.shrink(number(comm))?;
        newcomm.put_handle(made);
        Ok(activity)
    };
    // SAFETY: the caller's promise of the request.
    unsafe { start("MPIX_Comm_ishrink", comm, request, body) }
}

/// Agrees on the bitwise and of the flags of all processes that survive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_agree(comm: MPI_Comm, flag: *mut c_int) -> c_int {
    // SAFETY: the caller's promise of the flag.
    let body = |mpi: &mut ProcessMpi| unsafe { agree(mpi, comm, flag) };
    // SAFETY: there is no status.
    unsafe { blocking("MPIX_Comm_agree", comm, std::ptr::null_mut(), body) }
}

/// Starts `MPIX_Comm_agree`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Comm_iagree(
    comm: MPI_Comm, flag: *mut c_int, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise of the flag, until the request completes.
    let body = |mpi: &mut ProcessMpi| unsafe { agree(mpi, comm, flag) };
    // SAFETY: the caller's promise of the request.
    unsafe { start("MPIX_Comm_iagree", comm, request, body) }
}

/// Ends a file at all of its processes; any of them may call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_File_revoke(fh: MPI_File) -> c_int {
    local("MPIX_File_revoke", fh, |mpi| revoke(mpi, mpi.files.get(number(fh))?.comm))
}

/// Whether a file was revoked, as far as this process knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_File_is_revoked(fh: MPI_File, flag: *mut c_int) -> c_int {
    local("MPIX_File_is_revoked", fh, |mpi| {
        let comm = mpi.files.get(number(fh))?.comm;
        // SAFETY: the caller's promise of the result.
        unsafe { put_revoked(mpi, comm, flag) }
    })
}

/// The group of the processes of a file that have failed, as far as this process knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_File_get_failed(fh: MPI_File, failedgrp: *mut MPI_Group) -> c_int {
    local("MPIX_File_get_failed", fh, |mpi| {
        let comm = mpi.files.get(number(fh))?.comm;
        // SAFETY: the caller's promise of the result.
        unsafe { put_failed(mpi, comm, failedgrp, false) }
    })
}

/// Ends a window at all of its processes; any of them may call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Win_revoke(win: MPI_Win) -> c_int {
    local("MPIX_Win_revoke", win, |mpi| revoke(mpi, mpi.windows.get(number(win))?.comm))
}

/// Whether a window was revoked, as far as this process knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Win_is_revoked(win: MPI_Win, flag: *mut c_int) -> c_int {
    local("MPIX_Win_is_revoked", win, |mpi| {
        let comm = mpi.windows.get(number(win))?.comm;
        // SAFETY: the caller's promise of the result.
        unsafe { put_revoked(mpi, comm, flag) }
    })
}

/// The group of the processes of a window that have failed, as far as this process knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_Win_get_failed(win: MPI_Win, failedgrp: *mut MPI_Group) -> c_int {
    local("MPIX_Win_get_failed", win, |mpi| {
        let comm = mpi.windows.get(number(win))?.comm;
        // SAFETY: the caller's promise of the result.
        unsafe { put_failed(mpi, comm, failedgrp, false) }
    })
}

/// # Errors
/// `Comm` if there is no such communicator.
fn revoke(mpi: &mut ProcessMpi, comm: Handle) -> Result {
    mpi.revoke(comm)?;
    // The process may compute for long after this call.
    mpi.poll();
    mpi.engine.note_long_start();
    Ok(())
}

/// # Safety
/// `flag` is null or may be written.
unsafe fn put_revoked(mpi: &mut ProcessMpi, comm: Handle, flag: *mut c_int) -> Result {
    // SAFETY: the caller's promise.
    let flag = unsafe { out(flag, "flag")? };
    mpi.poll();
    flag.put(mpi.comms.get(comm)?.resilience.is_revoked.into());
    Ok(())
}

/// # Safety
/// `flag` is null, or may be read and written until the activity has completed.
unsafe fn agree(mpi: &mut ProcessMpi, comm: MPI_Comm, flag: *mut c_int) -> Result<Activity> {
    // SAFETY: the caller's promise.
    let memory = unsafe {
        out(flag, "flag")?;
        memory(mpi, flag.cast(), 1, MPI_INT)?
    };
    mpi.start_agree(number(comm), memory)
}

/// # Safety
/// `group` is null or may be written.
unsafe fn put_failed(
    mpi: &mut ProcessMpi, comm: Handle, group: *mut MPI_Group, acknowledged: bool,
) -> Result {
    // SAFETY: the caller's promise.
    let group = unsafe { out(group, "failedgrp")? };
    mpi.poll();
    let found = mpi.failed_group(comm, acknowledged)?;
    put_group(mpi, found, group)
}
