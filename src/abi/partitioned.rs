//! Partitioned communication (MPI 5.0, chapter 4).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::entry_point::unsupported;
use super::types::*;

/// Whether a partition of a partitioned receive has arrived.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Parrived(
    request: MPI_Request, partition: c_int, flag: *mut c_int,
) -> c_int {
    unsupported("MPI_Parrived", request)
}

/// Marks one partition of a partitioned send as filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pready(partition: c_int, request: MPI_Request) -> c_int {
    unsupported("MPI_Pready", request)
}

/// Marks the listed partitions as filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pready_list(
    length: c_int, array_of_partitions: *const c_int, request: MPI_Request,
) -> c_int {
    unsupported("MPI_Pready_list", request)
}

/// Marks a range of partitions, both ends included, as filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pready_range(
    partition_low: c_int, partition_high: c_int, request: MPI_Request,
) -> c_int {
    unsupported("MPI_Pready_range", request)
}

/// Makes a partitioned receive request; `count` items per partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Precv_init(
    buf: *mut c_void, partitions: c_int, count: MPI_Count, datatype: MPI_Datatype, dest: c_int,
    tag: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Precv_init", comm)
}

/// Makes a partitioned send request; `count` items per partition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Psend_init(
    buf: *const c_void, partitions: c_int, count: MPI_Count, datatype: MPI_Datatype, dest: c_int,
    tag: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Psend_init", comm)
}
