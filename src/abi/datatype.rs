//! Datatypes: constructors (MPI 5.0, chapter 5).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::c_int;

use super::types::*;
use super::verb::{Scope, unsupported};
use super::width::widened;

/// A datatype of `count` items in a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_contiguous_c(
    count: MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_contiguous_c", Scope::None)
}

/// [`PMPI_Type_contiguous_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_contiguous(
    count: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_contiguous_c(count.into(), oldtype, newtype) }
}

/// A process's part of a distributed array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_darray_c(
    size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const MPI_Count,
    array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int,
    order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_darray_c", Scope::None)
}

/// [`PMPI_Type_create_darray_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_darray(
    size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const c_int,
    array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int,
    order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: `array_of_gsizes` has `ndims` elements, by the caller's contract.
    let array_of_gsizes = unsafe { widened(array_of_gsizes, ndims) };
    // SAFETY: the same contract.
    unsafe {
        PMPI_Type_create_darray_c(
            size,
            rank,
            ndims,
            array_of_gsizes.as_ptr(),
            array_of_distribs,
            array_of_dargs,
            array_of_psizes,
            order,
            oldtype,
            newtype,
        )
    }
}

/// Blocks of their own lengths, displacements in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hindexed_c(
    count: MPI_Count, array_of_blocklengths: *const MPI_Count,
    array_of_displacements: *const MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_hindexed_c", Scope::None)
}

/// [`PMPI_Type_create_hindexed_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hindexed(
    count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const MPI_Aint,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: `array_of_blocklengths` has `count` elements, by the caller's contract.
    let array_of_blocklengths = unsafe { widened(array_of_blocklengths, count) };
    // SAFETY: the same contract.
    unsafe {
        PMPI_Type_create_hindexed_c(
            count.into(),
            array_of_blocklengths.as_ptr(),
            array_of_displacements.cast(),
            oldtype,
            newtype,
        )
    }
}

/// Blocks of equal length, displacements in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hindexed_block_c(
    count: MPI_Count, blocklength: MPI_Count, array_of_displacements: *const MPI_Count,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_hindexed_block_c", Scope::None)
}

/// [`PMPI_Type_create_hindexed_block_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hindexed_block(
    count: c_int, blocklength: c_int, array_of_displacements: *const MPI_Aint,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Type_create_hindexed_block_c(
            count.into(),
            blocklength.into(),
            array_of_displacements.cast(),
            oldtype,
            newtype,
        )
    }
}

/// Blocks of equal length at a regular stride in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hvector_c(
    count: MPI_Count, blocklength: MPI_Count, stride: MPI_Count, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_hvector_c", Scope::None)
}

/// [`PMPI_Type_create_hvector_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hvector(
    count: c_int, blocklength: c_int, stride: MPI_Aint, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Type_create_hvector_c(
            count.into(),
            blocklength.into(),
            stride as MPI_Count,
            oldtype,
            newtype,
        )
    }
}

/// Blocks of equal length, displacements in items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_indexed_block_c(
    count: MPI_Count, blocklength: MPI_Count, array_of_displacements: *const MPI_Count,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_indexed_block_c", Scope::None)
}

/// [`PMPI_Type_create_indexed_block_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_indexed_block(
    count: c_int, blocklength: c_int, array_of_displacements: *const c_int, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: `array_of_displacements` has `count` elements, by the caller's contract.
    let array_of_displacements = unsafe { widened(array_of_displacements, count) };
    // SAFETY: the same contract.
    unsafe {
        PMPI_Type_create_indexed_block_c(
            count.into(),
            blocklength.into(),
            array_of_displacements.as_ptr(),
            oldtype,
            newtype,
        )
    }
}

/// A datatype with another lower bound and extent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_resized_c(
    oldtype: MPI_Datatype, lb: MPI_Count, extent: MPI_Count, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_resized_c", Scope::None)
}

/// [`PMPI_Type_create_resized_c`] with sizes of type `MPI_Aint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_resized(
    oldtype: MPI_Datatype, lb: MPI_Aint, extent: MPI_Aint, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_create_resized_c(oldtype, lb as MPI_Count, extent as MPI_Count, newtype) }
}

/// Blocks of their own datatypes and lengths, displacements in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_struct_c(
    count: MPI_Count, array_of_blocklengths: *const MPI_Count,
    array_of_displacements: *const MPI_Count, array_of_types: *const MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_struct_c", Scope::None)
}

/// [`PMPI_Type_create_struct_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_struct(
    count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const MPI_Aint,
    array_of_types: *const MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: `array_of_blocklengths` has `count` elements, by the caller's contract.
    let array_of_blocklengths = unsafe { widened(array_of_blocklengths, count) };
    // SAFETY: the same contract.
    unsafe {
        PMPI_Type_create_struct_c(
            count.into(),
            array_of_blocklengths.as_ptr(),
            array_of_displacements.cast(),
            array_of_types,
            newtype,
        )
    }
}

/// A part of a multidimensional array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_subarray_c(
    ndims: c_int, array_of_sizes: *const MPI_Count, array_of_subsizes: *const MPI_Count,
    array_of_starts: *const MPI_Count, order: c_int, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_subarray_c", Scope::None)
}

/// [`PMPI_Type_create_subarray_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_subarray(
    ndims: c_int, array_of_sizes: *const c_int, array_of_subsizes: *const c_int,
    array_of_starts: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: `array_of_sizes` has `ndims` elements, by the caller's contract.
    let array_of_sizes = unsafe { widened(array_of_sizes, ndims) };
    // SAFETY: `array_of_subsizes` has `ndims` elements, by the caller's contract.
    let array_of_subsizes = unsafe { widened(array_of_subsizes, ndims) };
    // SAFETY: `array_of_starts` has `ndims` elements, by the caller's contract.
    let array_of_starts = unsafe { widened(array_of_starts, ndims) };
    // SAFETY: the same contract.
    unsafe {
        PMPI_Type_create_subarray_c(
            ndims,
            array_of_sizes.as_ptr(),
            array_of_subsizes.as_ptr(),
            array_of_starts.as_ptr(),
            order,
            oldtype,
            newtype,
        )
    }
}

/// Blocks of their own lengths, displacements in items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_indexed_c(
    count: MPI_Count, array_of_blocklengths: *const MPI_Count,
    array_of_displacements: *const MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_indexed_c", Scope::None)
}

/// [`PMPI_Type_indexed_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_indexed(
    count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const c_int,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: `array_of_blocklengths` has `count` elements, by the caller's contract.
    let array_of_blocklengths = unsafe { widened(array_of_blocklengths, count) };
    // SAFETY: `array_of_displacements` has `count` elements, by the caller's contract.
    let array_of_displacements = unsafe { widened(array_of_displacements, count) };
    // SAFETY: the same contract.
    unsafe {
        PMPI_Type_indexed_c(
            count.into(),
            array_of_blocklengths.as_ptr(),
            array_of_displacements.as_ptr(),
            oldtype,
            newtype,
        )
    }
}

/// Blocks of equal length at a regular stride in items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_vector_c(
    count: MPI_Count, blocklength: MPI_Count, stride: MPI_Count, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_vector_c", Scope::None)
}

/// [`PMPI_Type_vector_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_vector(
    count: c_int, blocklength: c_int, stride: c_int, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_vector_c(count.into(), blocklength.into(), stride.into(), oldtype, newtype) }
}
