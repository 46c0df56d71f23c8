//! Connections between jobs (MPI 5.0 §11.9): ports and their names, accept and connect, join.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::time::Duration;

use crate::abi::arguments::pointer::out;
use crate::abi::arguments::text::{copy_text, store_text};
use crate::abi::constants::{MPI_MAX_INFO_VAL, MPI_MAX_PORT_NAME};
use crate::abi::entry_point::{PROCESS, finish, number, unlocked};
use crate::abi::handles::{MPI_COMM_NULL, MPI_INFO_NULL, handle};
use crate::abi::types::*;
use crate::process::other_jobs::Meeting;
use crate::process::published_names::NameScope;
use platform::base::{ErrorClass, Result};

/// The info key of the longest wait of an accept or a connect, in seconds.
const TIMEOUT: &[u8] = b"timeout";

/// The info keys of Open MPI: whether a name is at the name server for several jobs, and whether a name
/// that is taken is an error.
const GLOBAL_SCOPE: &[u8] = b"ompi_global_scope";
const UNIQUE: &[u8] = b"ompi_unique";

/// Opens a port at which other jobs connect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Open_port(info: MPI_Info, port_name: *mut c_char) -> c_int {
    unlocked("MPI_Open_port", || {
        check_info(info)?;
        // SAFETY: the caller gives an array of `MPI_MAX_PORT_NAME` characters.
        let port_name = unsafe { out(port_name, "port_name")? };
        let name = PROCESS.open_port()?;
        // SAFETY: as above.
        unsafe { store_text(&name, port_name.as_ptr(), MPI_MAX_PORT_NAME) };
        Ok(())
    })
}

/// Closes a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Close_port(port_name: *const c_char) -> c_int {
    unlocked("MPI_Close_port", || {
        // SAFETY: the caller gives a string.
        PROCESS.close_port(&unsafe { port_at(port_name)? })
    })
}

/// Waits for another job to connect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_accept(
    port_name: *const c_char, info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: *mut MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises of the arguments.
    unsafe { meet("MPI_Comm_accept", Meeting::Accept, (port_name, info, root), comm, newcomm) }
}

/// Connects to another job.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_connect(
    port_name: *const c_char, info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: *mut MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promises of the arguments.
    unsafe { meet("MPI_Comm_connect", Meeting::Connect, (port_name, info, root), comm, newcomm) }
}

/// Connects with the process at the other end of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_join(fd: c_int, intercomm: *mut MPI_Comm) -> c_int {
    unlocked("MPI_Comm_join", || {
        // SAFETY: the caller's promise of the result.
        let intercomm = unsafe { out(intercomm, "intercomm")? };
        let made = PROCESS.join_by(fd)?;
        intercomm.put(made.map_or(MPI_COMM_NULL, |made| handle(made as c_int)));
        Ok(())
    })
}

/// Publishes a port under a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Publish_name(
    service_name: *const c_char, info: MPI_Info, port_name: *const c_char,
) -> c_int {
    unlocked("MPI_Publish_name", || {
        let (scope, is_unique) = (scope_of(info)?, bool_of(info, UNIQUE)?);
        // SAFETY: the caller gives strings.
        let port = unsafe { copy_text((port_name, "port_name"), MPI_MAX_PORT_NAME)? };
        // SAFETY: as above.
        let service = unsafe { service_at(service_name)? };
        PROCESS.publish(&service, &port, scope, is_unique == Some(false))
    })
}

/// The port that is published under a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Lookup_name(
    service_name: *const c_char, info: MPI_Info, port_name: *mut c_char,
) -> c_int {
    unlocked("MPI_Lookup_name", || {
        let scope = scope_of(info)?;
        // SAFETY: the caller gives an array of `MPI_MAX_PORT_NAME` characters.
        let port_name = unsafe { out(port_name, "port_name")? };
        // SAFETY: the caller gives a string.
        let port = PROCESS.lookup(&unsafe { service_at(service_name)? }, scope)?;
        // SAFETY: as above.
        unsafe { store_text(&port, port_name.as_ptr(), MPI_MAX_PORT_NAME) };
        Ok(())
    })
}

/// Removes a published name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Unpublish_name(
    service_name: *const c_char, info: MPI_Info, port_name: *const c_char,
) -> c_int {
    unlocked("MPI_Unpublish_name", || {
        let scope = scope_of(info)?;
        // SAFETY: the caller gives strings. The name alone says what is published.
        unsafe { port_at(port_name)? };
        // SAFETY: the caller gives a string.
        PROCESS.unpublish(&unsafe { service_at(service_name)? }, scope)
    })
}

/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// `service_name` is null or a string.
unsafe fn service_at(service_name: *const c_char) -> Result<String> {
    // SAFETY: the caller's promise.
    unsafe { copy_text((service_name, "service_name"), MPI_MAX_INFO_VAL) }
}

/// Accepts or connects. The port and the info are significant at the root only.
///
/// # Safety
/// `port_name` is null or a string at the root, and `newcomm` is null or may be written.
unsafe fn meet(
    name: &str, asked: impl FnOnce(String) -> Meeting,
    (port_name, info, root): (*const c_char, MPI_Info, c_int), comm: MPI_Comm,
    newcomm: *mut MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { out(newcomm, "newcomm") }.and_then(|newcomm| {
        let port = || {
            let time = time_of(info)?;
            // SAFETY: the caller's promise; this runs at the root only.
            Ok((asked(unsafe { port_at(port_name)? }), time))
        };
        let made = PROCESS.meet(name, number(comm), root, port)?;
        newcomm.put(handle(made as c_int));
        Ok(())
    });
    finish(comm, name, result)
}

/// # Errors
/// `Arg` for a null pointer.
///
/// # Safety
/// `port_name` is null or a string.
unsafe fn port_at(port_name: *const c_char) -> Result<String> {
    // SAFETY: the caller's promise.
    unsafe { copy_text((port_name, "port_name"), MPI_MAX_PORT_NAME) }
}

/// # Errors
/// `Info` for what is neither an info object nor `MPI_INFO_NULL`.
fn check_info(info: MPI_Info) -> Result {
    match info == MPI_INFO_NULL {
        true => Ok(()),
        false => PROCESS.visit(|objects| objects.infos.get(number(info)).map(drop)),
    }
}

/// # Errors
/// `Info` for what is no info object, `InfoValue` for a time that is no number.
fn time_of(info: MPI_Info) -> Result<Option<Duration>> {
    if info == MPI_INFO_NULL {
        return Ok(None);
    }
    PROCESS.visit(|objects| {
        let Some(value) = objects.infos.get(number(info))?.get(TIMEOUT)? else { return Ok(None) };
        let text = String::from_utf8_lossy(value);
        let seconds = text.trim().parse().ok().and_then(|it| Duration::try_from_secs_f64(it).ok());
        let seconds = seconds.ok_or_else(|| {
            let why = format!("the info key timeout is {text:?}: expected a number of seconds");
            ErrorClass::InfoValue.error(why)
        })?;
        Ok(Some(seconds))
    })
}

/// # Errors
/// As [`bool_of`].
fn scope_of(info: MPI_Info) -> Result<NameScope> {
    Ok(match bool_of(info, GLOBAL_SCOPE)? {
        None => NameScope::Any,
        Some(true) => NameScope::Global,
        Some(false) => NameScope::Job,
    })
}

/// The value of an info key that is true or false, in the forms of Open MPI.
///
/// # Errors
/// `Info` for what is no info object, `InfoValue` for another value.
fn bool_of(info: MPI_Info, key: &[u8]) -> Result<Option<bool>> {
    if info == MPI_INFO_NULL {
        return Ok(None);
    }
    PROCESS.visit(|objects| {
        let Some(value) = objects.infos.get(number(info))?.get(key)? else { return Ok(None) };
        let text = String::from_utf8_lossy(value).trim().to_ascii_lowercase();
        match (text.as_str(), text.parse::<i32>()) {
            ("true" | "yes", _) => Ok(Some(true)),
            ("false" | "no", _) => Ok(Some(false)),
            (_, Ok(number)) => Ok(Some(number != 0)),
            (_, Err(_)) => {
                let key = String::from_utf8_lossy(key);
                let why = format!("the info key {key} is {text:?}: expected true or false");
                Err(ErrorClass::InfoValue.error(why))
            }
        }
    })
}
