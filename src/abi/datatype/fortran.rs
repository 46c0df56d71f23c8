//! Datatypes chosen by the precision of Fortran or by class and size (MPI 5.0, chapter 19).

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::arguments::pointer::out;
use crate::abi::constants::*;
use crate::abi::entry_point::{Scope, early, unlocked};
use crate::abi::handles::*;
use crate::abi::types::*;
use crate::mpi::datatype::{Precision, Unnamed};
use platform::base::ErrorClass;

/// The datatypes of each class by their size in bytes.
const SIZED: [(c_int, c_int, MPI_Datatype); 18] = [
    (MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1),
    (MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2),
    (MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4),
    (MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8),
    (MPIX_TYPECLASS_LOGICAL, 16, MPI_LOGICAL16),
    (MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1),
    (MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2),
    (MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4),
    (MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8),
    (MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16),
    (MPI_TYPECLASS_REAL, 2, MPI_REAL2),
    (MPI_TYPECLASS_REAL, 4, MPI_REAL4),
    (MPI_TYPECLASS_REAL, 8, MPI_REAL8),
    (MPI_TYPECLASS_REAL, 16, MPI_REAL16),
    (MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4),
    (MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8),
    (MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16),
    (MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32),
];

/// The complex type of a Fortran `selected_real_kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_f90_complex(
    p: c_int, r: c_int, newtype: *mut MPI_Datatype,
) -> c_int {
    let requested = Unnamed::Complex(Precision { digits: p, range: r });
    // SAFETY: the caller's promise of the result (§19.1.5).
    unsafe { chosen("MPI_Type_create_f90_complex", requested, newtype) }
}

/// The integer type of a Fortran `selected_int_kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_f90_integer(
    r: c_int, newtype: *mut MPI_Datatype,
) -> c_int {
    let requested = Unnamed::Integer { range: r };
    // SAFETY: the caller's promise of the result (§19.1.5).
    unsafe { chosen("MPI_Type_create_f90_integer", requested, newtype) }
}

/// The real type of a Fortran `selected_real_kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_f90_real(
    p: c_int, r: c_int, newtype: *mut MPI_Datatype,
) -> c_int {
    let requested = Unnamed::Real(Precision { digits: p, range: r });
    // SAFETY: the caller's promise of the result (§19.1.5).
    unsafe { chosen("MPI_Type_create_f90_real", requested, newtype) }
}

/// The predefined datatype of a class with `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_match_size(
    typeclass: c_int, size: c_int, datatype: *mut MPI_Datatype,
) -> c_int {
    unlocked("MPI_Type_match_size", || {
        // SAFETY: the caller's promise of the result.
        let datatype = unsafe { out(datatype, "datatype")? };
        let found = SIZED.iter().find(|(class, bytes, _)| (*class, *bytes) == (typeclass, size));
        let Some((_, _, found)) = found else {
            let why = format!("no datatype of class {typeclass} (MPI_TYPECLASS_*) has {size}");
            return Err(ErrorClass::Arg.error(why + " bytes"));
        };
        datatype.put(*found);
        Ok(())
    })
}

/// Stores the handle of an unnamed predefined datatype.
///
/// # Safety
/// `newtype` is null or may be written.
unsafe fn chosen(name: &str, requested: Unnamed, newtype: *mut MPI_Datatype) -> c_int {
    early(name, Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let newtype = unsafe { out(newtype, "newtype")? };
        newtype.put_handle(objects.datatypes.unnamed(requested)?);
        Ok(())
    })
}
