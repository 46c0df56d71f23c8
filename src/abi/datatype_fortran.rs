//! Datatypes chosen by the precision of Fortran or by class and size (MPI 5.0, chapter 19).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::c_int;

use super::types::*;
use super::verb::{Scope, unsupported};

/// The complex type of a Fortran `selected_real_kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_f90_complex(
    p: c_int, r: c_int, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_f90_complex", Scope::None)
}

/// The integer type of a Fortran `selected_int_kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_f90_integer(
    r: c_int, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_f90_integer", Scope::None)
}

/// The real type of a Fortran `selected_real_kind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_f90_real(
    p: c_int, r: c_int, newtype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_create_f90_real", Scope::None)
}

/// The predefined datatype of a class with `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_match_size(
    typeclass: c_int, size: c_int, datatype: *mut MPI_Datatype,
) -> c_int {
    unsupported("MPI_Type_match_size", Scope::None)
}
