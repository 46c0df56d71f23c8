//! Error handlers, error classes, codes and their texts (MPI 5.0, chapter 9).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use super::attribute::publish_last_code;
use super::constants::MPI_MAX_ERROR_STRING;
use super::entry_point::{PROCESS, Scope, early, finish, local, number, raise, visit};
use super::handles::{MPI_ERRHANDLER_NULL, MPI_FILE_NULL};
use super::types::*;
use crate::abi::arguments::pointer::{in_out, out};
use crate::abi::arguments::text::{put_text, string_at};
use crate::abi::initialization::session::look_at;
use crate::mpi::errhandler::{ErrhandlerKind, Handler};
use platform::base::{ErrorClass, Result};

/// A new error class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Add_error_class(errorclass: *mut c_int) -> c_int {
    visit("MPI_Add_error_class", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let errorclass = unsafe { out(errorclass, "errorclass")? };
        let class = objects.codes.add_class();
        publish_last_code(objects);
        errorclass.put(class);
        Ok(())
    })
}

/// A new error code of a class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) -> c_int {
    visit("MPI_Add_error_code", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let errorcode = unsafe { out(errorcode, "errorcode")? };
        let code = objects.codes.add_code(errorclass)?;
        publish_last_code(objects);
        errorcode.put(code);
        Ok(())
    })
}

/// The text of an error class or code that the application added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Add_error_string(errorcode: c_int, string: *const c_char) -> c_int {
    // SAFETY: the caller gives a string that ends with a zero.
    let text = unsafe { string_at((string, "string"), MPI_MAX_ERROR_STRING) };
    visit("MPI_Add_error_string", Scope::None, |objects| objects.codes.set_text(errorcode, &text?))
}

/// Calls the error handler of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) -> c_int {
    match PROCESS.with_mpi(|mpi| mpi.comms.get(number(comm)).map(drop)) {
        Ok(()) => raise("MPI_Comm_call_errhandler", comm, errorcode),
        no_comm => finish(comm, "MPI_Comm_call_errhandler", no_comm),
    }
}

/// Creates an error handler for communicators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create_errhandler(
    comm_errhandler_fn: MPI_Comm_errhandler_function, errhandler: *mut MPI_Errhandler,
) -> c_int {
    let address = comm_errhandler_fn.map_or(0, |function| function as usize);
    // SAFETY: the caller gives a valid result pointer.
    unsafe { create("MPI_Comm_create_errhandler", ErrhandlerKind::Comm, address, errhandler) }
}

/// The error handler of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_errhandler(
    comm: MPI_Comm, errhandler: *mut MPI_Errhandler,
) -> c_int {
    local("MPI_Comm_get_errhandler", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let errhandler = unsafe { out(errhandler, "errhandler")? };
        let handler = &mpi.comms.get(number(comm))?.handler;
        errhandler.put_handle(mpi.objects.errhandlers.handle_of(handler)?);
        Ok(())
    })
}

/// Sets the error handler of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_errhandler(
    comm: MPI_Comm, errhandler: MPI_Errhandler,
) -> c_int {
    local("MPI_Comm_set_errhandler", comm, |mpi| {
        let handler = mpi.objects.errhandlers.get_for(ErrhandlerKind::Comm, number(errhandler))?;
        mpi.comms.get_mut(number(comm))?.handler = handler;
        Ok(())
    })
}

/// Frees an error handler; objects keep theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Errhandler_free(errhandler: *mut MPI_Errhandler) -> c_int {
    visit("MPI_Errhandler_free", Scope::None, |objects| {
        // SAFETY: the caller's promise of the handle.
        let errhandler = unsafe { in_out(errhandler, "errhandler")? };
        objects.errhandlers.free(number(errhandler.get()))?;
        errhandler.put(MPI_ERRHANDLER_NULL);
        Ok(())
    })
}

/// The class of an error code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
    visit("MPI_Error_class", Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let errorclass = unsafe { out(errorclass, "errorclass")? };
        let class = match tool_error_name(errorcode) {
            Some(_) => errorcode,
            None => objects.codes.class(errorcode)?,
        };
        errorclass.put(class);
        Ok(())
    })
}

/// The text of an error code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Error_string(
    errorcode: c_int, string: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    visit("MPI_Error_string", Scope::None, |objects| {
        let text = match tool_error_name(errorcode) {
            Some(name) => format!("{name}: error of the tool interface").into(),
            None => objects.codes.text(errorcode)?,
        };
        // SAFETY: the caller's promise of the results; `string` has that room (§9.4).
        unsafe { put_text(text, (string, "string", MPI_MAX_ERROR_STRING), resultlen) }
    })
}

/// Calls the error handler of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) -> c_int {
    match open_handler(fh) {
        Ok(_) => raise("MPI_File_call_errhandler", fh, errorcode),
        Err(no_file) => finish(fh, "MPI_File_call_errhandler", Err(no_file)),
    }
}

/// Creates an error handler for files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_create_errhandler(
    file_errhandler_fn: MPI_File_errhandler_function, errhandler: *mut MPI_Errhandler,
) -> c_int {
    let address = file_errhandler_fn.map_or(0, |function| function as usize);
    // SAFETY: the caller gives a valid result pointer.
    unsafe { create("MPI_File_create_errhandler", ErrhandlerKind::File, address, errhandler) }
}

/// The error handler of a file; of `MPI_FILE_NULL`, that of future files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_errhandler(
    file: MPI_File, errhandler: *mut MPI_Errhandler,
) -> c_int {
    let open = open_handler(file);
    early("MPI_File_get_errhandler", file, |objects| {
        // SAFETY: the caller's promise of the result.
        let errhandler = unsafe { out(errhandler, "errhandler")? };
        let handler = open?.unwrap_or_else(|| objects.file_handler.clone());
        errhandler.put_handle(objects.errhandlers.handle_of(&handler)?);
        Ok(())
    })
}

/// Sets the error handler of a file; of `MPI_FILE_NULL`, that of future files.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_set_errhandler(
    file: MPI_File, errhandler: MPI_Errhandler,
) -> c_int {
    if file != MPI_FILE_NULL {
        return local("MPI_File_set_errhandler", file, |mpi| {
            let handlers = &mpi.objects.errhandlers;
            let handler = handlers.get_for(ErrhandlerKind::File, number(errhandler))?;
            mpi.files.get_mut(number(file))?.handler = handler;
            Ok(())
        });
    }
    early("MPI_File_set_errhandler", file, |objects| {
        objects.file_handler =
            objects.errhandlers.get_for(ErrhandlerKind::File, number(errhandler))?;
        Ok(())
    })
}

/// Removes an error class that the application added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Remove_error_class(errorclass: c_int) -> c_int {
    visit("MPI_Remove_error_class", Scope::None, |objects| {
        objects.codes.remove(errorclass, true)?;
        publish_last_code(objects);
        Ok(())
    })
}

/// Removes an error code that the application added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Remove_error_code(errorcode: c_int) -> c_int {
    visit("MPI_Remove_error_code", Scope::None, |objects| {
        objects.codes.remove(errorcode, false)?;
        publish_last_code(objects);
        Ok(())
    })
}

/// Removes the text of an error class or code that the application added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Remove_error_string(errorcode: c_int) -> c_int {
    visit("MPI_Remove_error_string", Scope::None, |objects| objects.codes.set_text(errorcode, b""))
}

/// Calls the error handler of a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_call_errhandler(
    session: MPI_Session, errorcode: c_int,
) -> c_int {
    match look_at(session, |_| Ok(())) {
        Ok(()) => raise("MPI_Session_call_errhandler", session, errorcode),
        no_session => finish(session, "MPI_Session_call_errhandler", no_session),
    }
}

/// Creates an error handler for sessions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_create_errhandler(
    session_errhandler_fn: MPI_Session_errhandler_function, errhandler: *mut MPI_Errhandler,
) -> c_int {
    let address = session_errhandler_fn.map_or(0, |function| function as usize);
    // SAFETY: the caller gives a valid result pointer.
    unsafe { create("MPI_Session_create_errhandler", ErrhandlerKind::Session, address, errhandler) }
}

/// The error handler of a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_errhandler(
    session: MPI_Session, errhandler: *mut MPI_Errhandler,
) -> c_int {
    let result = look_at(session, |mpi| {
        // SAFETY: the caller's promise of the result.
        let errhandler = unsafe { out(errhandler, "errhandler")? };
        let handler = &mpi.sessions.get(number(session))?.handler;
        errhandler.put_handle(mpi.objects.errhandlers.handle_of(handler)?);
        Ok(())
    });
    finish(session, "MPI_Session_get_errhandler", result)
}

/// Sets the error handler of a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_set_errhandler(
    session: MPI_Session, errhandler: MPI_Errhandler,
) -> c_int {
    let result = look_at(session, |mpi| {
        let handler =
            mpi.objects.errhandlers.get_for(ErrhandlerKind::Session, number(errhandler))?;
        mpi.sessions.get_mut(number(session))?.handler = handler;
        Ok(())
    });
    finish(session, "MPI_Session_set_errhandler", result)
}

/// Calls the error handler of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) -> c_int {
    match PROCESS.with_mpi(|mpi| mpi.windows.get(number(win)).map(drop)) {
        Ok(()) => raise("MPI_Win_call_errhandler", win, errorcode),
        no_window => finish(win, "MPI_Win_call_errhandler", no_window),
    }
}

/// Creates an error handler for windows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_errhandler(
    win_errhandler_fn: MPI_Win_errhandler_function, errhandler: *mut MPI_Errhandler,
) -> c_int {
    let address = win_errhandler_fn.map_or(0, |function| function as usize);
    // SAFETY: the caller gives a valid result pointer.
    unsafe { create("MPI_Win_create_errhandler", ErrhandlerKind::Win, address, errhandler) }
}

/// The error handler of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_errhandler(
    win: MPI_Win, errhandler: *mut MPI_Errhandler,
) -> c_int {
    local("MPI_Win_get_errhandler", win, |mpi| {
        // SAFETY: the caller's promise of the result.
        let errhandler = unsafe { out(errhandler, "errhandler")? };
        let handler = &mpi.windows.get(number(win))?.handler;
        errhandler.put_handle(mpi.objects.errhandlers.handle_of(handler)?);
        Ok(())
    })
}

/// Sets the error handler of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_set_errhandler(
    win: MPI_Win, errhandler: MPI_Errhandler,
) -> c_int {
    local("MPI_Win_set_errhandler", win, |mpi| {
        let handler = mpi.objects.errhandlers.get_for(ErrhandlerKind::Win, number(errhandler))?;
        mpi.windows.get_mut(number(win))?.handler = handler;
        Ok(())
    })
}

/// Creates an error handler, also before initialization.
///
/// # Safety
/// `errhandler` is null or may be written; `address` is that of a handler for this kind of object.
unsafe fn create(
    name: &str, of: ErrhandlerKind, address: usize, errhandler: *mut MPI_Errhandler,
) -> c_int {
    visit(name, Scope::None, |objects| {
        // SAFETY: the caller's promise of the result.
        let errhandler = unsafe { out(errhandler, "errhandler")? };
        if address == 0 {
            let why = "the function of the error handler is a null pointer: expected a function";
            return Err(ErrorClass::Arg.error(why));
        }
        errhandler.put_handle(objects.errhandlers.create(of, address)?);
        Ok(())
    })
}

/// The handler of an open file; `None` for `MPI_FILE_NULL`, which stands for files that will be opened.
///
/// # Errors
/// `File` for anything else.
fn open_handler(file: MPI_File) -> Result<Option<Handler>> {
    if file == MPI_FILE_NULL {
        return Ok(None);
    }
    PROCESS.with_mpi(|mpi| Ok(Some(mpi.files.get(number(file))?.handler.clone())))
}

/// The name of an error class of the tool interface.
fn tool_error_name(code: c_int) -> Option<&'static str> {
    super::constants::ALL
        .iter()
        .find(|(name, value)| name.starts_with("MPI_T_ERR_") && *value == i64::from(code))
        .map(|(name, _)| *name)
}
