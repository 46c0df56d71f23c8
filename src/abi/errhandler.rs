//! Error handlers, error classes, codes and their texts (MPI 5.0, chapter 9).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::constants::MPI_MAX_ERROR_STRING;
use super::handles::handle;
use super::text::store_text;
use super::types::*;
use super::verb::{Scope, finish, local, number, unsupported};
use crate::base::{ErrorClass, Result};
use crate::mpi::errhandler::Of;

/// A new error class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Add_error_class(errorclass: *mut c_int) -> c_int {
    unsupported("MPI_Add_error_class", Scope::None)
}

/// A new error code of a class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) -> c_int {
    unsupported("MPI_Add_error_code", Scope::None)
}

/// The text of an error class or code that the application added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Add_error_string(errorcode: c_int, string: *const c_char) -> c_int {
    unsupported("MPI_Add_error_string", Scope::None)
}

/// Calls the error handler of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) -> c_int {
    unsupported("MPI_Comm_call_errhandler", comm)
}

/// Makes an error handler for communicators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create_errhandler(
    comm_errhandler_fn: MPI_Comm_errhandler_function, errhandler: *mut MPI_Errhandler,
) -> c_int {
    unsupported("MPI_Comm_create_errhandler", Scope::None)
}

/// The error handler of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_errhandler(
    comm: MPI_Comm, errhandler: *mut MPI_Errhandler,
) -> c_int {
    local("MPI_Comm_get_errhandler", comm, |mpi| {
        let handler = &mpi.comms.get(number(comm))?.handler;
        let found = mpi.objects.errhandlers.handle_of(handler)?;
        // SAFETY: the caller gives a valid result pointer.
        unsafe { *errhandler = handle(found as c_int) };
        Ok(())
    })
}

/// Sets the error handler of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_errhandler(
    comm: MPI_Comm, errhandler: MPI_Errhandler,
) -> c_int {
    local("MPI_Comm_set_errhandler", comm, |mpi| {
        let handler = mpi.objects.errhandlers.get_for(Of::Comm, number(errhandler))?;
        mpi.comms.get_mut(number(comm))?.handler = handler;
        Ok(())
    })
}

/// Lets go of an error handler; objects keep theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Errhandler_free(errhandler: *mut MPI_Errhandler) -> c_int {
    unsupported("MPI_Errhandler_free", Scope::None)
}

/// The class of an error code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
    let result = class(errorcode).map(|class| {
        // SAFETY: the caller gives a valid result pointer.
        unsafe { *errorclass = class };
    });
    finish(Scope::None, "MPI_Error_class", result)
}

/// The text of an error code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Error_string(
    errorcode: c_int, string: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    let result = text(errorcode).map(|text| {
        // SAFETY: `string` has room for `MPI_MAX_ERROR_STRING` bytes.
        unsafe { *resultlen = store_text(&text, string, MPI_MAX_ERROR_STRING) };
    });
    finish(Scope::None, "MPI_Error_string", result)
}

/// Calls the error handler of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) -> c_int {
    unsupported("MPI_File_call_errhandler", fh)
}

/// Makes an error handler for files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_create_errhandler(
    file_errhandler_fn: MPI_File_errhandler_function, errhandler: *mut MPI_Errhandler,
) -> c_int {
    unsupported("MPI_File_create_errhandler", Scope::None)
}

/// The error handler of a file; of `MPI_FILE_NULL`, that of future files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_errhandler(
    file: MPI_File, errhandler: *mut MPI_Errhandler,
) -> c_int {
    unsupported("MPI_File_get_errhandler", file)
}

/// Sets the error handler of a file; of `MPI_FILE_NULL`, that of future files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_errhandler(
    file: MPI_File, errhandler: MPI_Errhandler,
) -> c_int {
    unsupported("MPI_File_set_errhandler", file)
}

/// Removes an error class that the application added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Remove_error_class(errorclass: c_int) -> c_int {
    unsupported("MPI_Remove_error_class", Scope::None)
}

/// Removes an error code that the application added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Remove_error_code(errorcode: c_int) -> c_int {
    unsupported("MPI_Remove_error_code", Scope::None)
}

/// Removes the text of an error class or code that the application added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Remove_error_string(errorcode: c_int) -> c_int {
    unsupported("MPI_Remove_error_string", Scope::None)
}

/// Calls the error handler of a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_call_errhandler(
    session: MPI_Session, errorcode: c_int,
) -> c_int {
    unsupported("MPI_Session_call_errhandler", session)
}

/// Makes an error handler for sessions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_create_errhandler(
    session_errhandler_fn: MPI_Session_errhandler_function, errhandler: *mut MPI_Errhandler,
) -> c_int {
    unsupported("MPI_Session_create_errhandler", Scope::None)
}

/// The error handler of a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_errhandler(
    session: MPI_Session, errhandler: *mut MPI_Errhandler,
) -> c_int {
    unsupported("MPI_Session_get_errhandler", session)
}

/// Sets the error handler of a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_set_errhandler(
    session: MPI_Session, errhandler: MPI_Errhandler,
) -> c_int {
    unsupported("MPI_Session_set_errhandler", session)
}

/// Calls the error handler of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) -> c_int {
    unsupported("MPI_Win_call_errhandler", win)
}

/// Makes an error handler for windows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_errhandler(
    win_errhandler_fn: MPI_Win_errhandler_function, errhandler: *mut MPI_Errhandler,
) -> c_int {
    unsupported("MPI_Win_create_errhandler", Scope::None)
}

/// The error handler of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_errhandler(
    win: MPI_Win, errhandler: *mut MPI_Errhandler,
) -> c_int {
    unsupported("MPI_Win_get_errhandler", win)
}

/// Sets the error handler of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_set_errhandler(
    win: MPI_Win, errhandler: MPI_Errhandler,
) -> c_int {
    unsupported("MPI_Win_set_errhandler", win)
}

/// The class of a predefined error class or code.
fn class(code: c_int) -> Result<c_int> {
    text(code).map(|_| code)
}

/// What is said of a predefined error class.
fn text(code: c_int) -> Result<String> {
    if let Some(class) = ErrorClass::from_value(code) {
        return Ok(format!("{}: {}", class.name(), class.text()));
    }
    match tool_error_name(code) {
        Some(name) => Ok(format!("{name}: error of the tool interface")),
        None => Err(ErrorClass::Arg.error(format!("{code} is not an error code"))),
    }
}

fn tool_error_name(code: c_int) -> Option<&'static str> {
    super::constants::ALL
        .iter()
        .find(|(name, value)| name.starts_with("MPI_T_ERR_") && *value == i64::from(code))
        .map(|(name, _)| *name)
}
