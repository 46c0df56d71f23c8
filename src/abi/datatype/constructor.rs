//! Datatypes: constructors (MPI 5.0, chapter 5).
//!
//! Both forms of a constructor call one function with its [`ConstructorForm`], because a datatype
//! stores the form of its constructor (§5.1.13).

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::arguments::pointer::{list, out};
use crate::abi::arguments::user_memory::checked_count;
use crate::abi::entry_point::{Scope, early, number};
use crate::abi::types::*;
use crate::mpi::datatype::{ArrayOrder, ConstructorForm, Datatype};
use crate::mpi::objects::Datatypes;
use platform::base::{ErrorClass, Result};

/// A datatype of `count` items in a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_contiguous_c(
    count: MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the result (§5.1.2).
    unsafe { contiguous(ConstructorForm::Large, count, oldtype, newtype) }
}

/// [`PMPI_Type_contiguous_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_contiguous(
    count: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the result (§5.1.2).
    unsafe { contiguous(ConstructorForm::Int, count.into(), oldtype, newtype) }
}

/// A process's part of a distributed array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_darray_c(
    size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const MPI_Count,
    array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int,
    order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let grid = DarrayArguments { size, rank, ndims, order };
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.4).
    unsafe {
        darray(
            ConstructorForm::Large,
            grid,
            array_of_gsizes,
            array_of_distribs,
            array_of_dargs,
            array_of_psizes,
            oldtype,
            newtype,
        )
    }
}

/// [`PMPI_Type_create_darray_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_darray(
    size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const c_int,
    array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int,
    order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let grid = DarrayArguments { size, rank, ndims, order };
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.4).
    unsafe {
        darray(
            ConstructorForm::Int,
            grid,
            array_of_gsizes,
            array_of_distribs,
            array_of_dargs,
            array_of_psizes,
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
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        hindexed(
            ConstructorForm::Large,
            count,
            array_of_blocklengths,
            array_of_displacements,
            oldtype,
            newtype,
        )
    }
}

/// [`PMPI_Type_create_hindexed_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hindexed(
    count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const MPI_Aint,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        hindexed(
            ConstructorForm::Int,
            count.into(),
            array_of_blocklengths,
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
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        hindexed_block(
            ConstructorForm::Large,
            count,
            blocklength,
            array_of_displacements,
            oldtype,
            newtype,
        )
    }
}

/// [`PMPI_Type_create_hindexed_block_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hindexed_block(
    count: c_int, blocklength: c_int, array_of_displacements: *const MPI_Aint,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        hindexed_block(
            ConstructorForm::Int,
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
    // SAFETY: the caller's promise of the result (§5.1.2).
    unsafe { hvector(ConstructorForm::Large, count, blocklength, stride, oldtype, newtype) }
}

/// [`PMPI_Type_create_hvector_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_hvector(
    count: c_int, blocklength: c_int, stride: MPI_Aint, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the result (§5.1.2).
    unsafe {
        hvector(
            ConstructorForm::Int,
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
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        indexed_block(
            ConstructorForm::Large,
            count,
            blocklength,
            array_of_displacements,
            oldtype,
            newtype,
        )
    }
}

/// [`PMPI_Type_create_indexed_block_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_indexed_block(
    count: c_int, blocklength: c_int, array_of_displacements: *const c_int, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        indexed_block(
            ConstructorForm::Int,
            count.into(),
            blocklength.into(),
            array_of_displacements,
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
    // SAFETY: the caller's promise of the result (§5.1.2).
    unsafe { resized(ConstructorForm::Large, oldtype, lb, extent, newtype) }
}

/// [`PMPI_Type_create_resized_c`] with sizes of type `MPI_Aint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_resized(
    oldtype: MPI_Datatype, lb: MPI_Aint, extent: MPI_Aint, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the result (§5.1.2).
    unsafe { resized(ConstructorForm::Int, oldtype, lb as MPI_Count, extent as MPI_Count, newtype) }
}

/// Blocks of their own datatypes and lengths, displacements in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_struct_c(
    count: MPI_Count, array_of_blocklengths: *const MPI_Count,
    array_of_displacements: *const MPI_Count, array_of_types: *const MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        structure(
            ConstructorForm::Large,
            count,
            array_of_blocklengths,
            array_of_displacements,
            array_of_types,
            newtype,
        )
    }
}

/// [`PMPI_Type_create_struct_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_struct(
    count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const MPI_Aint,
    array_of_types: *const MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        structure(
            ConstructorForm::Int,
            count.into(),
            array_of_blocklengths,
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
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.3).
    unsafe {
        subarray(
            ConstructorForm::Large,
            ndims,
            array_of_sizes,
            array_of_subsizes,
            array_of_starts,
            order,
            oldtype,
            newtype,
        )
    }
}

/// [`PMPI_Type_create_subarray_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_subarray(
    ndims: c_int, array_of_sizes: *const c_int, array_of_subsizes: *const c_int,
    array_of_starts: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.3).
    unsafe {
        subarray(
            ConstructorForm::Int,
            ndims,
            array_of_sizes,
            array_of_subsizes,
            array_of_starts,
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
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        indexed(
            ConstructorForm::Large,
            count,
            array_of_blocklengths,
            array_of_displacements,
            oldtype,
            newtype,
        )
    }
}

/// [`PMPI_Type_indexed_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_indexed(
    count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const c_int,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the arrays and of the result (§5.1.2).
    unsafe {
        indexed(
            ConstructorForm::Int,
            count.into(),
            array_of_blocklengths,
            array_of_displacements,
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
    // SAFETY: the caller's promise of the result (§5.1.2).
    unsafe { vector(ConstructorForm::Large, count, blocklength, stride, oldtype, newtype) }
}

/// [`PMPI_Type_vector_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_vector(
    count: c_int, blocklength: c_int, stride: c_int, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller's promise of the result (§5.1.2).
    unsafe {
        vector(
            ConstructorForm::Int,
            count.into(),
            blocklength.into(),
            stride.into(),
            oldtype,
            newtype,
        )
    }
}

/// The arguments of a distributed array that are no arrays.
struct DarrayArguments {
    size: c_int,
    rank: c_int,
    ndims: c_int,
    order: c_int,
}

/// # Safety
/// `newtype` is null or may be written.
unsafe fn contiguous(
    form: ConstructorForm, count: MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |types: &Datatypes| Datatype::contiguous(form, count, old(types, oldtype)?);
    // SAFETY: the caller's promise.
    unsafe { constructed("MPI_Type_contiguous", newtype, make) }
}

/// # Safety
/// `newtype` is null or may be written, and each array is null or may be read for as many elements
/// as the count says; so for the following.
unsafe fn darray<T: Copy + Into<i64>>(
    form: ConstructorForm, grid: DarrayArguments, sizes: *const T, distributions: *const c_int,
    lengths: *const c_int, processes: *const c_int, oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    let DarrayArguments { size, rank, ndims, order } = grid;
    let make = |types: &Datatypes| {
        let ndims = dimensions(ndims)?;
        // SAFETY: the caller's promise of the arrays.
        let (sizes, distributions, lengths, processes) = unsafe {
            (
                copied(sizes, ndims, "array_of_gsizes")?,
                copied(distributions, ndims, "array_of_distribs")?,
                copied(lengths, ndims, "array_of_dargs")?,
                copied(processes, ndims, "array_of_psizes")?,
            )
        };
        Datatype::darray(
            form,
            size.into(),
            rank.into(),
            &sizes,
            &distributions,
            &lengths,
            &processes,
            ArrayOrder::new(order.into())?,
            old(types, oldtype)?,
        )
    };
    // SAFETY: the caller's promise of the result.
    unsafe { constructed("MPI_Type_create_darray", newtype, make) }
}

/// # Safety
/// As for [`darray`].
unsafe fn hindexed<T: Copy + Into<i64>>(
    form: ConstructorForm, count: MPI_Count, lengths: *const T, displacements: *const MPI_Count,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |types: &Datatypes| {
        // SAFETY: the caller's promise of the arrays.
        let (lengths, displacements) = unsafe { blocks(count, lengths, displacements)? };
        Datatype::hindexed(form, &lengths, &displacements, old(types, oldtype)?)
    };
    // SAFETY: the caller's promise of the result.
    unsafe { constructed("MPI_Type_create_hindexed", newtype, make) }
}

/// # Safety
/// As for [`darray`].
unsafe fn hindexed_block(
    form: ConstructorForm, count: MPI_Count, length: MPI_Count, displacements: *const MPI_Count,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |types: &Datatypes| {
        // SAFETY: the caller's promise of the array.
        let places =
            unsafe { copied(displacements, checked_count(count)?, "array_of_displacements")? };
        Datatype::hindexed_block(form, length, &places, old(types, oldtype)?)
    };
    // SAFETY: the caller's promise of the result.
    unsafe { constructed("MPI_Type_create_hindexed_block", newtype, make) }
}

/// # Safety
/// As for [`contiguous`].
unsafe fn hvector(
    form: ConstructorForm, count: MPI_Count, length: MPI_Count, stride: MPI_Count,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make =
        |types: &Datatypes| Datatype::hvector(form, count, length, stride, old(types, oldtype)?);
    // SAFETY: the caller's promise.
    unsafe { constructed("MPI_Type_create_hvector", newtype, make) }
}

/// # Safety
/// As for [`darray`].
unsafe fn indexed<T: Copy + Into<i64>>(
    form: ConstructorForm, count: MPI_Count, lengths: *const T, displacements: *const T,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |types: &Datatypes| {
        // SAFETY: the caller's promise of the arrays.
        let (lengths, displacements) = unsafe { blocks(count, lengths, displacements)? };
        Datatype::indexed(form, &lengths, &displacements, old(types, oldtype)?)
    };
    // SAFETY: the caller's promise of the result.
    unsafe { constructed("MPI_Type_indexed", newtype, make) }
}

/// # Safety
/// As for [`darray`].
unsafe fn indexed_block<T: Copy + Into<i64>>(
    form: ConstructorForm, count: MPI_Count, length: MPI_Count, displacements: *const T,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |types: &Datatypes| {
        // SAFETY: the caller's promise of the array.
        let places =
            unsafe { copied(displacements, checked_count(count)?, "array_of_displacements")? };
        Datatype::indexed_block(form, length, &places, old(types, oldtype)?)
    };
    // SAFETY: the caller's promise of the result.
    unsafe { constructed("MPI_Type_create_indexed_block", newtype, make) }
}

/// # Safety
/// As for [`contiguous`].
unsafe fn resized(
    form: ConstructorForm, oldtype: MPI_Datatype, lb: MPI_Count, extent: MPI_Count,
    newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |types: &Datatypes| Datatype::resized(form, old(types, oldtype)?, lb, extent);
    // SAFETY: the caller's promise.
    unsafe { constructed("MPI_Type_create_resized", newtype, make) }
}

/// # Safety
/// As for [`darray`].
unsafe fn structure<T: Copy + Into<i64>>(
    form: ConstructorForm, count: MPI_Count, lengths: *const T, displacements: *const MPI_Count,
    parts: *const MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |types: &Datatypes| {
        // SAFETY: the caller's promise of the arrays.
        let (lengths, displacements) = unsafe { blocks(count, lengths, displacements)? };
        // SAFETY: as above; the array is as long as the others.
        let parts = unsafe { list((lengths.len(), parts), "array_of_types")? };
        let parts: Result<Vec<_>> = parts.iter().map(|part| old(types, *part).cloned()).collect();
        Datatype::structure(form, &lengths, &displacements, &parts?)
    };
    // SAFETY: the caller's promise of the result.
    unsafe { constructed("MPI_Type_create_struct", newtype, make) }
}

/// # Safety
/// As for [`darray`].
unsafe fn subarray<T: Copy + Into<i64>>(
    form: ConstructorForm, ndims: c_int, sizes: *const T, subsizes: *const T, starts: *const T,
    order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make = |types: &Datatypes| {
        let ndims = dimensions(ndims)?;
        // SAFETY: the caller's promise of the arrays.
        let (sizes, subsizes, starts) = unsafe {
            (
                copied(sizes, ndims, "array_of_sizes")?,
                copied(subsizes, ndims, "array_of_subsizes")?,
                copied(starts, ndims, "array_of_starts")?,
            )
        };
        let order = ArrayOrder::new(order.into())?;
        Datatype::subarray(form, &sizes, &subsizes, &starts, order, old(types, oldtype)?)
    };
    // SAFETY: the caller's promise of the result.
    unsafe { constructed("MPI_Type_create_subarray", newtype, make) }
}

/// # Safety
/// As for [`contiguous`].
unsafe fn vector(
    form: ConstructorForm, count: MPI_Count, length: MPI_Count, stride: MPI_Count,
    oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
) -> c_int {
    let make =
        |types: &Datatypes| Datatype::vector(form, count, length, stride, old(types, oldtype)?);
    // SAFETY: the caller's promise.
    unsafe { constructed("MPI_Type_vector", newtype, make) }
}

/// The whole of a constructor: makes a datatype and stores its handle.
///
/// # Safety
/// `newtype` is null or may be written.
unsafe fn constructed(
    name: &str, newtype: *mut MPI_Datatype, make: impl FnOnce(&Datatypes) -> Result<Datatype>,
) -> c_int {
    early(name, Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let newtype = unsafe { out(newtype, "newtype")? };
        let datatype = make(&objects.datatypes)?;
        newtype.put_handle(objects.datatypes.insert(datatype, false)?);
        Ok(())
    })
}

/// The old datatype of a constructor.
fn old(types: &Datatypes, datatype: MPI_Datatype) -> Result<&Datatype> {
    Ok(&types.get(number(datatype))?.datatype)
}

/// A number of dimensions.
fn dimensions(ndims: c_int) -> Result<usize> {
    usize::try_from(ndims)
        .map_err(|_| ErrorClass::Arg.error(format!("ndims is {ndims}: expected 0 or more")))
}

/// The lengths and the displacements of `count` blocks.
///
/// # Safety
/// As for [`copied`], with `count` elements.
unsafe fn blocks<T: Copy + Into<i64>, D: Copy + Into<i64>>(
    count: MPI_Count, lengths: *const T, displacements: *const D,
) -> Result<(Vec<i64>, Vec<i64>)> {
    let count = checked_count(count)?;
    // SAFETY: the caller's promise.
    unsafe {
        Ok((
            copied(lengths, count, "array_of_blocklengths")?,
            copied(displacements, count, "array_of_displacements")?,
        ))
    }
}

/// A copy of the array of that name.
///
/// # Errors
/// `Arg` if it is null and not empty.
///
/// # Safety
/// `values` is null or may be read for `len` elements.
unsafe fn copied<T: Copy + Into<i64>>(
    values: *const T, len: usize, name: &str,
) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise.
    Ok(unsafe { list((len, values), name)? }.iter().map(|value| (*value).into()).collect())
}
