//! Synchronization of windows (MPI 5.0, §12.5).

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::arguments::pointer::out;
use crate::abi::constants::*;
use crate::abi::entry_point::{PROCESS, finish, local, number, test};
use crate::abi::types::*;
use crate::abi::window::directly;
use crate::mpi::window::synchronization::{Assertions, LockKind, WindowWait};
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, Result};

/// Ends an access epoch of `MPI_Win_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_complete(win: MPI_Win) -> c_int {
    wait("MPI_Win_complete", win, |mpi| mpi.complete_window(number(win)))
}

/// Ends and begins epochs of all processes; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_fence(assert: c_int, win: MPI_Win) -> c_int {
    const LEGAL: c_int =
        MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    wait("MPI_Win_fence", win, |mpi| {
        let assertions = assertions(mpi, assert, LEGAL, win)?;
        mpi.fence(number(win), assertions)
    })
}

/// Completes the operations on a target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_flush(rank: c_int, win: MPI_Win) -> c_int {
    flush("MPI_Win_flush", win, Some(rank), false)
}

/// Completes the operations on all targets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_flush_all(win: MPI_Win) -> c_int {
    flush("MPI_Win_flush_all", win, None, false)
}

/// Completes the operations on a target at this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_flush_local(rank: c_int, win: MPI_Win) -> c_int {
    flush("MPI_Win_flush_local", win, Some(rank), true)
}

/// Completes the operations on all targets at this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_flush_local_all(win: MPI_Win) -> c_int {
    flush("MPI_Win_flush_local_all", win, None, true)
}

/// Begins an access epoch of one target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_lock(
    lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win,
) -> c_int {
    let kind = match lock_type {
        MPI_LOCK_EXCLUSIVE => Some(LockKind::Exclusive),
        MPI_LOCK_SHARED => Some(LockKind::Shared),
        _ => None,
    };
    if let (Some(kind), 0) = (kind, assert)
        && directly(win, |window, engine| window.lock(engine, rank, kind))
    {
        return MPI_SUCCESS;
    }
    wait("MPI_Win_lock", win, |mpi| {
        let assertions = assertions(mpi, assert, MPI_MODE_NOCHECK, win)?;
        let kind = kind.ok_or_else(|| {
            ErrorClass::Locktype.error(format!(
                "the lock type is {lock_type}: expected MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED"
            ))
        })?;
        mpi.lock_window(number(win), rank, kind, assertions)
    })
}

/// Begins an access epoch of all targets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_lock_all(assert: c_int, win: MPI_Win) -> c_int {
    wait("MPI_Win_lock_all", win, |mpi| {
        let assertions = assertions(mpi, assert, MPI_MODE_NOCHECK, win)?;
        mpi.lock_all_window(number(win), assertions)
    })
}

/// Begins an exposure epoch for a group of origins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    const LEGAL: c_int = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
    local("MPI_Win_post", win, |mpi| {
        let assertions = assertions(mpi, assert, LEGAL, win)?;
        mpi.post_window(number(win), number(group), assertions)
    })
}

/// Begins an access epoch of a group of targets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    wait("MPI_Win_start", win, |mpi| {
        let assertions = assertions(mpi, assert, MPI_MODE_NOCHECK, win)?;
        mpi.start_window(number(win), number(group), assertions)
    })
}

/// Orders loads and stores of this process before and after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_sync(win: MPI_Win) -> c_int {
    local("MPI_Win_sync", win, |mpi| mpi.sync_window(number(win)))
}

/// Ends an exposure epoch, if all origins have completed their access.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_test(win: MPI_Win, flag: *mut c_int) -> c_int {
    test("MPI_Win_test", win, |mpi| {
        // SAFETY: the caller's promise of the result.
        let flag = unsafe { out(flag, "flag")? };
        let has_ended = mpi.test_window(number(win))?;
        flag.put(has_ended.into());
        Ok(has_ended)
    })
}

/// Ends an access epoch of one target, and completes its operations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_unlock(rank: c_int, win: MPI_Win) -> c_int {
    if directly(win, |window, engine| window.unlock(engine, rank)) {
        return MPI_SUCCESS;
    }
    wait("MPI_Win_unlock", win, |mpi| mpi.unlock_window(number(win), Some(rank)))
}

/// Ends an access epoch of all targets, and completes their operations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_unlock_all(win: MPI_Win) -> c_int {
    wait("MPI_Win_unlock_all", win, |mpi| mpi.unlock_window(number(win), None))
}

/// Ends an exposure epoch when all origins have completed their access.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_wait(win: MPI_Win) -> c_int {
    wait("MPI_Win_wait", win, |mpi| mpi.wait_window(number(win)))
}

#[inline(always)]
fn flush(name: &str, win: MPI_Win, rank: Option<c_int>, is_local: bool) -> c_int {
    if directly(win, |window, _| window.flush(rank)) {
        return MPI_SUCCESS;
    }
    flush_at_once(name, win, rank, is_local)
}

#[inline(never)]
fn flush_at_once(name: &str, win: MPI_Win, rank: Option<c_int>, is_local: bool) -> c_int {
    match PROCESS.with_mpi(|mpi| mpi.flush_at_once(name, number(win), rank)) {
        Ok(true) => MPI_SUCCESS,
        Ok(false) => complete(name, win, rank, is_local),
        Err(error) => finish(win, name, Err(error)),
    }
}

#[inline(never)]
fn complete(name: &str, win: MPI_Win, rank: Option<c_int>, is_local: bool) -> c_int {
    wait(name, win, |mpi| mpi.flush_window(name, number(win), rank, is_local))
}

/// Body of a function that may wait for other processes; apart from those that do not, which need fewer
/// registers.
#[inline(never)]
fn wait(
    name: &str, win: MPI_Win, body: impl FnOnce(&mut ProcessMpi) -> Result<WindowWait>,
) -> c_int {
    let end = ProcessMpi::end_window_wait;
    finish(win, name, PROCESS.until(body, end, |mpi, wait| mpi.blocked_window(name, wait)))
}

/// The assertions of a call, of which some are legal.
///
/// # Errors
/// `Win`; `Assert` for others.
fn assertions(mpi: &ProcessMpi, assert: c_int, legal: c_int, win: MPI_Win) -> Result<Assertions> {
    mpi.windows.get(number(win))?;
    if assert & !legal != 0 {
        return Err(ErrorClass::Assert.error(format!(
            "the assertion {assert:#x} is not one of this function: expected bits of {legal:#x}"
        )));
    }
    let has = |bit| assert & bit != 0;
    Ok(Assertions {
        no_check: has(MPI_MODE_NOCHECK),
        no_precede: has(MPI_MODE_NOPRECEDE),
        no_succeed: has(MPI_MODE_NOSUCCEED),
        no_put: has(MPI_MODE_NOPUT),
    })
}
