//! Names of communicators, datatypes and windows (MPI 5.0, chapter 7).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use super::constants::MPI_MAX_OBJECT_NAME;
use super::entry_point::{Scope, early, local, number};
use super::handles::{MPI_COMM_NULL, MPI_DATATYPE_NULL, MPI_WIN_NULL};
use super::types::*;
use crate::abi::arguments::text::{put_text, string_at};

/// The name of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_name(
    comm: MPI_Comm, comm_name: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    local("MPI_Comm_get_name", comm, |mpi| {
        let name = match comm {
            MPI_COMM_NULL => b"MPI_COMM_NULL".as_slice(),
            _ => &mpi.comms.get(number(comm))?.name,
        };
        // SAFETY: the caller's promise of the results; the array has that length (§7.8).
        unsafe { put_text(name, (comm_name, "comm_name", MPI_MAX_OBJECT_NAME), resultlen) }
    })
}

/// Sets the name of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_name(comm: MPI_Comm, comm_name: *const c_char) -> c_int {
    // SAFETY: the caller gives a string that ends with a zero, or null.
    let name = unsafe { string_at((comm_name, "comm_name"), MPI_MAX_OBJECT_NAME) };
    local("MPI_Comm_set_name", comm, |mpi| {
        mpi.comms.get_mut(number(comm))?.name = name?;
        Ok(())
    })
}

/// The name of a datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_name(
    datatype: MPI_Datatype, type_name: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    early("MPI_Type_get_name", Scope::None, |objects| {
        let name = if datatype == MPI_DATATYPE_NULL {
            b"MPI_DATATYPE_NULL".as_slice()
        } else {
            &objects.datatypes.get(number(datatype))?.name
        };
        // SAFETY: the caller's promise of the results; the array has that length (§7.8).
        unsafe { put_text(name, (type_name, "type_name", MPI_MAX_OBJECT_NAME), resultlen) }
    })
}

/// Sets the name of a datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_set_name(
    datatype: MPI_Datatype, type_name: *const c_char,
) -> c_int {
    // SAFETY: the caller gives a string that ends with a zero, or null.
    let name = unsafe { string_at((type_name, "type_name"), MPI_MAX_OBJECT_NAME) };
    early("MPI_Type_set_name", Scope::None, |objects| {
        objects.datatypes.get_mut(number(datatype))?.name = name?;
        Ok(())
    })
}

/// The name of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_name(
    win: MPI_Win, win_name: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    local("MPI_Win_get_name", win, |mpi| {
        let name = match win {
            MPI_WIN_NULL => b"MPI_WIN_NULL".as_slice(),
            _ => &mpi.windows.get(number(win))?.name,
        };
        // SAFETY: the caller's promise of the results; the array has that length (§7.8).
        unsafe { put_text(name, (win_name, "win_name", MPI_MAX_OBJECT_NAME), resultlen) }
    })
}

/// Sets the name of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_set_name(win: MPI_Win, win_name: *const c_char) -> c_int {
    // SAFETY: the caller gives a string that ends with a zero, or null.
    let name = unsafe { string_at((win_name, "win_name"), MPI_MAX_OBJECT_NAME) };
    local("MPI_Win_set_name", win, |mpi| {
        mpi.windows.get_mut(number(win))?.name = name?;
        Ok(())
    })
}
