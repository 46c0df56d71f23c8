//! One-sided communication (MPI 5.0, chapter 12): put, get, accumulate.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::entry_point::unsupported;
use super::types::*;

/// Combines data into a target's window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Accumulate_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win,
) -> c_int {
    unsupported("MPI_Accumulate_c", win)
}

/// [`PMPI_Accumulate_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Accumulate(
    origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
    op: MPI_Op, win: MPI_Win,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Accumulate_c(
            origin_addr,
            origin_count.into(),
            origin_datatype,
            target_rank,
            target_disp,
            target_count.into(),
            target_datatype,
            op,
            win,
        )
    }
}

/// Replaces one element of a target's window if it has the expected value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Compare_and_swap(
    origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void,
    datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win,
) -> c_int {
    unsupported("MPI_Compare_and_swap", win)
}

/// Combines one element into a target's window and gets the old value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Fetch_and_op(
    origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win,
) -> c_int {
    unsupported("MPI_Fetch_and_op", win)
}

/// Reads from a target's window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_c(
    origin_addr: *mut c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, win: MPI_Win,
) -> c_int {
    unsupported("MPI_Get_c", win)
}

/// [`PMPI_Get_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get(
    origin_addr: *mut c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Get_c(
            origin_addr,
            origin_count.into(),
            origin_datatype,
            target_rank,
            target_disp,
            target_count.into(),
            target_datatype,
            win,
        )
    }
}

/// Combines data into a target's window and gets the old values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_accumulate_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    result_addr: *mut c_void, result_count: MPI_Count, result_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win,
) -> c_int {
    unsupported("MPI_Get_accumulate_c", win)
}

/// [`PMPI_Get_accumulate_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_accumulate(
    origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
    result_addr: *mut c_void, result_count: c_int, result_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
    op: MPI_Op, win: MPI_Win,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Get_accumulate_c(
            origin_addr,
            origin_count.into(),
            origin_datatype,
            result_addr,
            result_count.into(),
            result_datatype,
            target_rank,
            target_disp,
            target_count.into(),
            target_datatype,
            op,
            win,
        )
    }
}

/// Writes to a target's window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Put_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, win: MPI_Win,
) -> c_int {
    unsupported("MPI_Put_c", win)
}

/// [`PMPI_Put_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Put(
    origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
    win: MPI_Win,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Put_c(
            origin_addr,
            origin_count.into(),
            origin_datatype,
            target_rank,
            target_disp,
            target_count.into(),
            target_datatype,
            win,
        )
    }
}

/// `MPI_Accumulate` with a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Raccumulate_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Raccumulate_c", win)
}

/// [`PMPI_Raccumulate_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Raccumulate(
    origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
    op: MPI_Op, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Raccumulate_c(
            origin_addr,
            origin_count.into(),
            origin_datatype,
            target_rank,
            target_disp,
            target_count.into(),
            target_datatype,
            op,
            win,
            request,
        )
    }
}

/// `MPI_Get` with a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rget_c(
    origin_addr: *mut c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Rget_c", win)
}

/// [`PMPI_Rget_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rget(
    origin_addr: *mut c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
    win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Rget_c(
            origin_addr,
            origin_count.into(),
            origin_datatype,
            target_rank,
            target_disp,
            target_count.into(),
            target_datatype,
            win,
            request,
        )
    }
}

/// `MPI_Get_accumulate` with a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rget_accumulate_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    result_addr: *mut c_void, result_count: MPI_Count, result_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Rget_accumulate_c", win)
}

/// [`PMPI_Rget_accumulate_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rget_accumulate(
    origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
    result_addr: *mut c_void, result_count: c_int, result_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
    op: MPI_Op, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Rget_accumulate_c(
            origin_addr,
            origin_count.into(),
            origin_datatype,
            result_addr,
            result_count.into(),
            result_datatype,
            target_rank,
            target_disp,
            target_count.into(),
            target_datatype,
            op,
            win,
            request,
        )
    }
}

/// `MPI_Put` with a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rput_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Rput_c", win)
}

/// [`PMPI_Rput_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rput(
    origin_addr: *const c_void, origin_count: c_int, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: c_int, target_datatype: MPI_Datatype,
    win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Rput_c(
            origin_addr,
            origin_count.into(),
            origin_datatype,
            target_rank,
            target_disp,
            target_count.into(),
            target_datatype,
            win,
            request,
        )
    }
}
