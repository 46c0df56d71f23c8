//! One-sided communication (MPI 5.0, chapter 12): epochs and completion.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::c_int;

use super::entry_point::unsupported;
use super::types::*;

/// Ends the access epoch that `MPI_Win_start` began.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_complete(win: MPI_Win) -> c_int {
    unsupported("MPI_Win_complete", win)
}

/// Ends one fence epoch and begins the next.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_fence(assert: c_int, win: MPI_Win) -> c_int {
    unsupported("MPI_Win_fence", win)
}

/// Completes the caller's operations at one target, there and here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_flush(rank: c_int, win: MPI_Win) -> c_int {
    unsupported("MPI_Win_flush", win)
}

/// Completes the caller's operations at all targets, there and here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_flush_all(win: MPI_Win) -> c_int {
    unsupported("MPI_Win_flush_all", win)
}

/// Completes the caller's operations at one target, here only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_flush_local(rank: c_int, win: MPI_Win) -> c_int {
    unsupported("MPI_Win_flush_local", win)
}

/// Completes the caller's operations at all targets, here only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_flush_local_all(win: MPI_Win) -> c_int {
    unsupported("MPI_Win_flush_local_all", win)
}

/// Begins an access epoch at one target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_lock(
    lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win,
) -> c_int {
    unsupported("MPI_Win_lock", win)
}

/// Begins an access epoch at all targets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_lock_all(assert: c_int, win: MPI_Win) -> c_int {
    unsupported("MPI_Win_lock_all", win)
}

/// Begins an exposure epoch for a group of origins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    unsupported("MPI_Win_post", win)
}

/// Begins an access epoch at a group of targets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    unsupported("MPI_Win_start", win)
}

/// Orders the caller's loads and stores with the window's updates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_sync(win: MPI_Win) -> c_int {
    unsupported("MPI_Win_sync", win)
}

/// `MPI_Win_wait` that does not wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_test(win: MPI_Win, flag: *mut c_int) -> c_int {
    unsupported("MPI_Win_test", win)
}

/// Ends the access epoch that `MPI_Win_lock` began.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_unlock(rank: c_int, win: MPI_Win) -> c_int {
    unsupported("MPI_Win_unlock", win)
}

/// Ends the access epoch that `MPI_Win_lock_all` began.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_unlock_all(win: MPI_Win) -> c_int {
    unsupported("MPI_Win_unlock_all", win)
}

/// Ends the exposure epoch that `MPI_Win_post` began.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_wait(win: MPI_Win) -> c_int {
    unsupported("MPI_Win_wait", win)
}
