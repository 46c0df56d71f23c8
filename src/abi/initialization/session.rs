//! Sessions (MPI 5.0, chapter 11).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::abi::arguments::pointer::{free_handle, in_out, out, out_list};
use crate::abi::arguments::text::{store_text, string_at};
use crate::abi::constants::MPI_MAX_PSET_NAME_LEN;
use crate::abi::entry_point::{PROCESS, Scope, finish, finish_by, number};
use crate::abi::handles::MPI_SESSION_NULL;
use crate::abi::types::*;
use crate::mpi::communicator::hints::MEMORY_KINDS;
use crate::mpi::errhandler::ErrhandlerKind;
use crate::mpi::handle::Handle;
use crate::mpi::info::Info;
use crate::mpi::session::{ProcessSet, SESSION_NULL, not_a_session};
use crate::process::{ProcessMpi, ThreadLevel};
use platform::base::{ErrorClass, Result};

/// Ends a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_finalize(session: *mut MPI_Session) -> c_int {
    let end = |session| {
        look_at(session, |_| Ok(())).and_then(|()| PROCESS.close_session(number(session)))
    };
    let place = (session, "session");
    // SAFETY: the caller's promise of the handle.
    unsafe { free_handle("MPI_Session_finalize", place, MPI_SESSION_NULL, end) }
}

/// The hints of a session in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_info(
    session: MPI_Session, info_used: *mut MPI_Info,
) -> c_int {
    let result = look_at(session, |mpi| {
        // SAFETY: the caller's promise of the result.
        let info_used = unsafe { out(info_used, "info_used")? };
        let hints = mpi.sessions.get(number(session))?.hints.clone();
        info_used.put_handle(mpi.objects.infos.insert(hints)?);
        Ok(())
    });
    finish(session, "MPI_Session_get_info", result)
}

/// The name of a process set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_nth_pset(
    session: MPI_Session, info: MPI_Info, n: c_int, pset_len: *mut c_int, pset_name: *mut c_char,
) -> c_int {
    let result = look_at(session, |mpi| {
        // SAFETY: the caller gives an array, and a valid pointer to its length.
        let pset_len = unsafe { in_out(pset_len, "pset_len")? };
        // SAFETY: as above.
        unsafe { out_list((pset_len.get(), pset_name), "pset_name")? };
        mpi.objects.infos.hints(number(info))?;
        let name = ProcessSet::nth(n)?.name();
        if pset_len.get() > 0 {
            // SAFETY: as above.
            unsafe { store_text(name, pset_name, pset_len.get()) };
        }
        // The length of the name, with the final zero.
        pset_len.put(name.len() as c_int + 1);
        Ok(())
    });
    finish(session, "MPI_Session_get_nth_pset", result)
}

/// Number of process sets of a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_num_psets(
    session: MPI_Session, info: MPI_Info, npset_names: *mut c_int,
) -> c_int {
    let result = look_at(session, |mpi| {
        // SAFETY: the caller's promise of the result.
        let npset_names = unsafe { out(npset_names, "npset_names")? };
        mpi.objects.infos.hints(number(info))?;
        npset_names.put(ProcessSet::ALL.len() as c_int);
        Ok(())
    });
    finish(session, "MPI_Session_get_num_psets", result)
}

/// Info about a process set: its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_pset_info(
    session: MPI_Session, pset_name: *const c_char, info: *mut MPI_Info,
) -> c_int {
    let result = look_at(session, |mpi| {
        // SAFETY: the caller gives a string that ends with a zero, and a valid result pointer.
        let (set, info) = unsafe { (set_named(pset_name)?, out(info, "info")?) };
        let group = mpi.group_of_set(number(session), set)?;
        let mut known = Info::default();
        known.set(b"mpi_size", group.size().to_string().as_bytes())?;
        info.put_handle(mpi.objects.infos.insert(known)?);
        Ok(())
    });
    finish(session, "MPI_Session_get_pset_info", result)
}

/// Begins a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_init(
    info: MPI_Info, errhandler: MPI_Errhandler, session: *mut MPI_Session,
) -> c_int {
    let handler = PROCESS
        .visit(|objects| objects.errhandlers.get_for(ErrhandlerKind::Session, number(errhandler)));
    let handler = match handler {
        Ok(handler) => handler,
        Err(error) => return finish(Scope::None, "MPI_Session_init", Err(error)),
    };
    // SAFETY: the caller's promise of the result.
    let result = unsafe { out(session, "session") }.and_then(|session| {
        let wishes: Result<_> = PROCESS.visit(|objects| {
            let hints = objects.infos.hints(number(info))?;
            Ok((level_in(hints)?, kinds_in(hints)?))
        });
        let (level, kinds) = wishes?;
        session.put_handle(PROCESS.open_session(handler.clone(), level, kinds.as_deref())?);
        Ok(())
    });
    finish_by(handler, SESSION_NULL, "MPI_Session_init", result)
}

/// Runs `body` on a session.
///
/// # Errors
/// `Session` if the session does not exist or MPI is not initialized; errors of `body`.
pub(crate) fn look_at<T>(
    session: MPI_Session, body: impl FnOnce(&mut ProcessMpi) -> Result<T>,
) -> Result<T> {
    let session: Handle = number(session);
    if !PROCESS.is_running() {
        return Err(not_a_session(session));
    }
    PROCESS.visit_running(|mpi| {
        mpi.sessions.get(session)?;
        body(mpi)
    })
}

/// The process set with this name.
///
/// # Errors
/// `Arg` for a null pointer or an unknown name.
///
/// # Safety
/// `name` is null or ends with a zero.
pub(crate) unsafe fn set_named(name: *const c_char) -> Result<ProcessSet> {
    // SAFETY: the caller's promise.
    ProcessSet::named(&unsafe { string_at((name, "pset_name"), MPI_MAX_PSET_NAME_LEN)? })
}

/// The level of thread support in the hints. The default is the level of calls that do not overlap,
/// which has no cost.
///
/// # Errors
/// `InfoValue` for an unknown level.
fn level_in(hints: Option<&Info>) -> Result<ThreadLevel> {
    let wish = match hints {
        Some(hints) => hints.get(b"thread_level")?,
        None => None,
    };
    let Some(wish) = wish else { return Ok(ThreadLevel::Serialized) };
    match wish {
        b"MPI_THREAD_SINGLE" => Ok(ThreadLevel::Single),
        b"MPI_THREAD_FUNNELED" => Ok(ThreadLevel::Funneled),
        b"MPI_THREAD_SERIALIZED" => Ok(ThreadLevel::Serialized),
        b"MPI_THREAD_MULTIPLE" => Ok(ThreadLevel::Multiple),
        _ => {
            let wish = String::from_utf8_lossy(wish);
            Err(ErrorClass::InfoValue.error(format!("{wish:?} is not a level of thread support")))
        }
    }
}

/// Memory kinds in the hints (§11.4.3).
///
/// # Errors
/// None with the constant key.
fn kinds_in(hints: Option<&Info>) -> Result<Option<String>> {
    let wish = match hints {
        Some(hints) => hints.get(MEMORY_KINDS.as_bytes())?,
        None => None,
    };
    Ok(wish.map(|wish| String::from_utf8_lossy(wish).into_owned()))
}
