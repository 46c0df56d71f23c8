//! Datatypes: committing, freeing, and what a datatype is made of (MPI 5.0, chapter 5).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::c_int;

use super::types::*;
use super::verb::{Scope, unsupported};
use super::width::narrowed;

/// Makes a datatype ready for communication.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_commit(datatype: *mut MPI_Datatype) -> c_int {
    unsupported("MPI_Type_commit", Scope::None)
}

/// A second handle to an equal datatype, attributes copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) -> c_int {
    unsupported("MPI_Type_dup", Scope::None)
}

/// Lets go of a datatype; pending operations keep theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_free(datatype: *mut MPI_Datatype) -> c_int {
    unsupported("MPI_Type_free", Scope::None)
}

/// The arguments that a datatype was made from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_contents(
    datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int,
    array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint,
    array_of_datatypes: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_get_contents", Scope::None)
}

/// [`PMPI_Type_get_contents`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_contents_c(
    datatype: MPI_Datatype, max_integers: MPI_Count, max_addresses: MPI_Count,
    max_large_counts: MPI_Count, max_datatypes: MPI_Count, array_of_integers: *mut c_int,
    array_of_addresses: *mut MPI_Aint, array_of_large_counts: *mut MPI_Count,
    array_of_datatypes: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_get_contents_c", Scope::None)
}

/// Which constructor made a datatype, and how many arguments it had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_envelope(
    datatype: MPI_Datatype, num_integers: *mut c_int, num_addresses: *mut c_int,
    num_datatypes: *mut c_int, combiner: *mut c_int,
) -> c_int {
    unsupported("MPI_Type_get_envelope", Scope::None)
}

/// [`PMPI_Type_get_envelope`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_envelope_c(
    datatype: MPI_Datatype, num_integers: *mut MPI_Count, num_addresses: *mut MPI_Count,
    num_large_counts: *mut MPI_Count, num_datatypes: *mut MPI_Count, combiner: *mut c_int,
) -> c_int {
    unsupported("MPI_Type_get_envelope_c", Scope::None)
}

/// The lower bound and the extent, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_extent_c(
    datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Type_get_extent_c", Scope::None)
}

/// [`PMPI_Type_get_extent_c`] with sizes of type `MPI_Aint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_extent(
    datatype: MPI_Datatype, lb: *mut MPI_Aint, extent: *mut MPI_Aint,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_get_extent_c(datatype, lb.cast(), extent.cast()) }
}

/// `MPI_Type_get_extent_c` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_extent_x(
    datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_get_extent_c(datatype, lb, extent) }
}

/// The lower bound and extent of the data alone, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_true_extent_c(
    datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Type_get_true_extent_c", Scope::None)
}

/// [`PMPI_Type_get_true_extent_c`] with sizes of type `MPI_Aint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_true_extent(
    datatype: MPI_Datatype, true_lb: *mut MPI_Aint, true_extent: *mut MPI_Aint,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_get_true_extent_c(datatype, true_lb.cast(), true_extent.cast()) }
}

/// `MPI_Type_get_true_extent_c` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_true_extent_x(
    datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_get_true_extent_c(datatype, true_lb, true_extent) }
}

/// The datatype of (value, index) pairs for `MPI_MINLOC` and `MPI_MAXLOC`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_value_index(
    value_type: MPI_Datatype, index_type: MPI_Datatype, pair_type: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_get_value_index", Scope::None)
}

/// Bytes of data in one item; `MPI_UNDEFINED` if not supported or too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_size_c(datatype: MPI_Datatype, size: *mut MPI_Count) -> c_int {
    unsupported("MPI_Type_size_c", Scope::None)
}

/// [`PMPI_Type_size_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_size(datatype: MPI_Datatype, size: *mut c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { narrowed(size, |size| PMPI_Type_size_c(datatype, size)) }
}

/// `MPI_Type_size_c` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_size_c(datatype, size) }
}
