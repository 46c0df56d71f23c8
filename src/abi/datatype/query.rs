//! Datatypes: commit, free, envelope, contents and extent (MPI 5.0, chapter 5).

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::null_mut;

use crate::abi::arguments::pointer::{checked_out_list, in_out, input, out};
use crate::abi::attribute::Holder;
use crate::abi::entry_point::{PROCESS, Scope, early, number, unlocked};
use crate::abi::handles::*;
use crate::abi::types::*;
use crate::mpi::datatype::{Combiner, Contents, Datatype};
use crate::mpi::handle::Handle;
use crate::mpi::objects::Datatypes;
use platform::base::{ErrorClass, Result};

/// Commits a datatype for communication.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_commit(datatype: *mut MPI_Datatype) -> c_int {
    early("MPI_Type_commit", Scope::None, |objects| {
        // SAFETY: the caller's promise of the handle.
        let datatype = *unsafe { input(datatype, "datatype")? };
        objects.datatypes.get_mut(number(datatype))?.committed = true;
        Ok(())
    })
}

/// Creates a handle to an equal datatype, with copies of its attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) -> c_int {
    unlocked("MPI_Type_dup", || {
        // SAFETY: the caller's promise of the result.
        let newtype = unsafe { out(newtype, "newtype")? };
        newtype.put_handle(duplicate(number(oldtype))?);
        Ok(())
    })
}

/// Frees a datatype; pending operations keep it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_free(datatype: *mut MPI_Datatype) -> c_int {
    unlocked("MPI_Type_free", || {
        // SAFETY: the caller's promise of the handle.
        let datatype = unsafe { in_out(datatype, "datatype")? };
        free(number(datatype.get()))?;
        datatype.put(MPI_DATATYPE_NULL);
        Ok(())
    })
}

/// Arguments of the constructor of a datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_contents(
    datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int,
    array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint,
    array_of_datatypes: *mut MPI_Datatype,
) -> c_int {
    let room = ContentsArrays {
        integers: (max_integers.into(), array_of_integers),
        addresses: (max_addresses.into(), array_of_addresses),
        counts: None,
        types: (max_datatypes.into(), array_of_datatypes),
    };
    // SAFETY: the caller's promise of the arrays.
    unsafe { show_contents("MPI_Type_get_contents", datatype, &room) }
}

/// [`PMPI_Type_get_contents`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_contents_c(
    datatype: MPI_Datatype, max_integers: MPI_Count, max_addresses: MPI_Count,
    max_large_counts: MPI_Count, max_datatypes: MPI_Count, array_of_integers: *mut c_int,
    array_of_addresses: *mut MPI_Aint, array_of_large_counts: *mut MPI_Count,
    array_of_datatypes: *mut MPI_Datatype,
) -> c_int {
    let room = ContentsArrays {
        integers: (max_integers, array_of_integers),
        addresses: (max_addresses, array_of_addresses),
        counts: Some((max_large_counts, array_of_large_counts)),
        types: (max_datatypes, array_of_datatypes),
    };
    // SAFETY: the caller's promise of the arrays.
    unsafe { show_contents("MPI_Type_get_contents_c", datatype, &room) }
}

/// Constructor of a datatype and the number of its arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_envelope(
    datatype: MPI_Datatype, num_integers: *mut c_int, num_addresses: *mut c_int,
    num_datatypes: *mut c_int, combiner: *mut c_int,
) -> c_int {
    early("MPI_Type_get_envelope", Scope::None, |objects| {
        // SAFETY: the caller's promise of the results.
        let (num_integers, num_addresses, num_datatypes, combiner) = unsafe {
            (
                out(num_integers, "num_integers")?,
                out(num_addresses, "num_addresses")?,
                out(num_datatypes, "num_datatypes")?,
                out(combiner, "combiner")?,
            )
        };
        let contents = objects.datatypes.get(number(datatype))?.datatype.contents();
        no_large_counts(contents)?;
        num_integers.put(contents.integers.len() as c_int);
        num_addresses.put(contents.addresses.len() as c_int);
        num_datatypes.put(contents.types.len() as c_int);
        combiner.put(contents.combiner as c_int);
        Ok(())
    })
}

/// [`PMPI_Type_get_envelope`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_envelope_c(
    datatype: MPI_Datatype, num_integers: *mut MPI_Count, num_addresses: *mut MPI_Count,
    num_large_counts: *mut MPI_Count, num_datatypes: *mut MPI_Count, combiner: *mut c_int,
) -> c_int {
    early("MPI_Type_get_envelope_c", Scope::None, |objects| {
        // SAFETY: the caller's promise of the results.
        let (num_integers, num_addresses, num_large_counts, num_datatypes, combiner) = unsafe {
            (
                out(num_integers, "num_integers")?,
                out(num_addresses, "num_addresses")?,
                out(num_large_counts, "num_large_counts")?,
                out(num_datatypes, "num_datatypes")?,
                out(combiner, "combiner")?,
            )
        };
        let contents = objects.datatypes.get(number(datatype))?.datatype.contents();
        num_integers.put(contents.integers.len() as MPI_Count);
        num_addresses.put(contents.addresses.len() as MPI_Count);
        num_large_counts.put(contents.counts.len() as MPI_Count);
        num_datatypes.put(contents.types.len() as MPI_Count);
        combiner.put(contents.combiner as c_int);
        Ok(())
    })
}

/// The lower bound and the extent, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_extent_c(
    datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count,
) -> c_int {
    early("MPI_Type_get_extent", Scope::None, |objects| {
        // SAFETY: the caller's promise of the results.
        let (lb, extent) = unsafe { (out(lb, "lb")?, out(extent, "extent")?) };
        let found = &objects.datatypes.get(number(datatype))?.datatype;
        lb.put(found.lb() as MPI_Count);
        extent.put(found.extent() as MPI_Count);
        Ok(())
    })
}

/// `MPI_Type_get_extent_c` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_extent_x(
    datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_get_extent_c(datatype, lb, extent) }
}

/// The lower bound and the extent of the data without gaps at the ends, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_true_extent_c(
    datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count,
) -> c_int {
    early("MPI_Type_get_true_extent", Scope::None, |objects| {
        // SAFETY: the caller's promise of the results.
        let (true_lb, true_extent) =
            unsafe { (out(true_lb, "true_lb")?, out(true_extent, "true_extent")?) };
        let found = &objects.datatypes.get(number(datatype))?.datatype;
        true_lb.put(found.true_lb() as MPI_Count);
        true_extent.put(found.true_extent() as MPI_Count);
        Ok(())
    })
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
    early("MPI_Type_get_value_index", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let pair_type = unsafe { out(pair_type, "pair_type")? };
        let found = objects.datatypes.value_index(number(value_type), number(index_type))?;
        pair_type.put(handle(found as c_int));
        Ok(())
    })
}

/// Bytes of data in one item; `MPI_UNDEFINED` if not supported or too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_size_c(datatype: MPI_Datatype, size: *mut MPI_Count) -> c_int {
    early("MPI_Type_size", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let size = unsafe { out(size, "size")? };
        let bytes = objects.datatypes.get(number(datatype))?.datatype.size();
        size.put(bytes as MPI_Count);
        Ok(())
    })
}

/// `MPI_Type_size_c` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Type_size_c(datatype, size) }
}

/// Creates an equal datatype: committed like the old one, with copies of its attributes, without
/// its name.
fn duplicate(old: Handle) -> Result<Handle> {
    let insert = |attributes| {
        PROCESS.early(|objects| {
            let found = objects.datatypes.get(old)?;
            let (copy, committed) = (found.datatype.dup(), found.committed);
            let made = objects.datatypes.insert(copy, committed)?;
            objects.datatypes.get_mut(made)?.attributes = attributes;
            Ok(made)
        })
    };
    let mut stillborn = None;
    let attributes = Holder::Type(old).copies(|attributes| {
        let made = insert(attributes)?;
        stillborn = Some(made);
        Ok(Holder::Type(made))
    });
    if let Some(stillborn) = stillborn {
        free(stillborn)?;
    }
    insert(attributes?)
}

/// Deletes the attributes of a datatype, then its handle.
fn free(freed: Handle) -> Result {
    PROCESS.early(|objects| objects.datatypes.derived(freed).map(drop))?;
    Holder::Type(freed).delete_all()?;
    // A dropped datatype may be large: it is dropped without the lock.
    PROCESS.early(|objects| objects.datatypes.remove(freed)).map(drop)
}

/// The caller's arrays for constructor arguments, each with its length.
struct ContentsArrays {
    integers: (MPI_Count, *mut c_int),
    addresses: (MPI_Count, *mut MPI_Aint),
    /// `None` in the form without large counts.
    counts: Option<(MPI_Count, *mut MPI_Count)>,
    types: (MPI_Count, *mut MPI_Datatype),
}

/// Stores the arguments of a datatype's constructor. Derived parts get new handles.
///
/// # Safety
/// Each array is null or may be written for as many elements as its length.
unsafe fn show_contents(name: &str, datatype: MPI_Datatype, room: &ContentsArrays) -> c_int {
    early(name, Scope::None, |objects| {
        let made = objects.datatypes.get(number(datatype))?.datatype.clone();
        let contents = made.contents();
        if contents.combiner == Combiner::Named {
            let why = format!("{} is predefined: it has no contents", made.describe());
            return Err(ErrorClass::Type.error(why));
        }
        if room.counts.is_none() {
            no_large_counts(contents)?;
        }
        // SAFETY: the caller's promise.
        let (integers, addresses, counts, types) = unsafe {
            (
                checked_out_list(contents.integers.len(), room.integers, "array_of_integers")?,
                checked_out_list(contents.addresses.len(), room.addresses, "array_of_addresses")?,
                checked_out_list(
                    contents.counts.len(),
                    room.counts.unwrap_or((0, null_mut())),
                    "array_of_large_counts",
                )?,
                checked_out_list(contents.types.len(), room.types, "array_of_datatypes")?,
            )
        };
        let parts = part_handles(&mut objects.datatypes, &contents.types)?;
        integers.put(contents.integers.iter().copied());
        addresses.put(contents.addresses.iter().map(|address| *address as MPI_Aint));
        counts.put(contents.counts.iter().copied());
        types.put(parts.iter().map(|part| handle(*part as c_int)));
        Ok(())
    })
}

/// Predefined handles, and new handles for derived types. If handles run out, the new ones are
/// freed.
fn part_handles(datatypes: &mut Datatypes, parts: &[Datatype]) -> Result<Vec<Handle>> {
    let mut handles = Vec::with_capacity(parts.len());
    for part in parts {
        let handle = match datatypes.predefined_handle(part) {
            Some(predefined) => Ok(predefined),
            None => datatypes.insert(part.clone(), true),
        };
        match handle {
            Ok(handle) => handles.push(handle),
            Err(error) => {
                handles.into_iter().for_each(|made| drop(datatypes.remove(made)));
                return Err(error);
            }
        }
    }
    Ok(handles)
}

/// # Errors
/// `Type` if the datatype was made with large counts, which the `int` form cannot show.
fn no_large_counts(contents: &Contents) -> Result {
    if contents.counts.is_empty() {
        return Ok(());
    }
    let why = "the datatype was made with large counts: only the function with _c can show it";
    Err(ErrorClass::Type.error(why))
}
