//! The tool interface (MPI 5.0, chapter 15): control and performance variables.
//!
//! Control variables are the settings of the library: strings, constant while the program runs.
//! Performance variables are in `mpi::tool`; all are continuous and read-only.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::abi::arguments::pointer::{Out, in_out, out};
use crate::abi::arguments::text::{copy_text, put_tool_text, store_text};
use crate::abi::constants::*;
use crate::abi::entry_point::{PROCESS, number, tool, tool_error};
use crate::abi::handles::{
    MPI_CHAR, MPI_T_CVAR_HANDLE_NULL, MPI_T_ENUM_NULL, MPI_T_PVAR_ALL_HANDLES,
    MPI_T_PVAR_HANDLE_NULL, MPI_T_PVAR_SESSION_NULL, MPI_UNSIGNED_LONG_LONG,
};
use crate::abi::types::*;
use crate::mpi::handle::Handle;
use crate::mpi::objects::Objects;
use crate::mpi::tool::{ControlHandle, VARIABLES, VariableClass};
use crate::process::settings;
use platform::base::settings::SETTINGS;
use platform::base::{MpiError, Result};

/// Capacity for names of variables, which are shorter.
const NAME_MAX: c_int = 256;

/// The index of a control variable by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_get_index(
    name: *const c_char, cvar_index: *mut c_int,
) -> c_int {
    tool("MPI_T_cvar_get_index", |_| {
        // SAFETY: the caller's promise of both.
        let (name, index) =
            unsafe { (copy_text((name, "name"), NAME_MAX)?, out(cvar_index, "cvar_index")?) };
        let found = SETTINGS.iter().position(|setting| setting.name == name);
        index.put(named(found, &name)?);
        Ok(())
    })
}

/// Describes a control variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_get_info(
    cvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
    datatype: *mut MPI_Datatype, enumtype: *mut MPI_T_enum, desc: *mut c_char,
    desc_len: *mut c_int, bind: *mut c_int, scope: *mut c_int,
) -> c_int {
    tool("MPI_T_cvar_get_info", |_| {
        let setting = &SETTINGS[checked_index(cvar_index, SETTINGS.len())?];
        let text = format!("{}: {}", setting.meaning, setting.values);
        // SAFETY: the caller's promise of all of them.
        unsafe {
            put_tool_text(setting.name, name, name_len);
            put_tool_text(&text, desc, desc_len);
            put(verbosity, MPI_T_VERBOSITY_USER_BASIC);
            put(datatype, MPI_CHAR);
            put(enumtype, MPI_T_ENUM_NULL);
            put(bind, MPI_T_BIND_NO_OBJECT);
            put(scope, MPI_T_SCOPE_CONSTANT);
        }
        Ok(())
    })
}

/// Number of control variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_get_num(num_cvar: *mut c_int) -> c_int {
    tool("MPI_T_cvar_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_cvar, "num_cvar")? }.put(SETTINGS.len() as c_int);
        Ok(())
    })
}

/// A handle to a control variable; none is bound to an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_handle_alloc(
    cvar_index: c_int, obj_handle: *mut c_void, handle: *mut MPI_T_cvar_handle, count: *mut c_int,
) -> c_int {
    let _unbound = obj_handle;
    tool("MPI_T_cvar_handle_alloc", |objects| {
        // SAFETY: the caller's promise of the results.
        let (handle, count) = unsafe { (out(handle, "handle")?, out(count, "count")?) };
        let variable = checked_index(cvar_index, SETTINGS.len())?;
        let value = settings::current_value(&SETTINGS[variable]);
        count.put(value.len() as c_int + 1);
        let made = objects.tools.controls.insert(ControlHandle { variable, value });
        handle.put_handle(made.map_err(|error| out_of_handles(error.why))?);
        Ok(())
    })
}

/// Frees a handle to a control variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_handle_free(handle: *mut MPI_T_cvar_handle) -> c_int {
    tool("MPI_T_cvar_handle_free", |objects| {
        // SAFETY: the caller's promise.
        let handle = unsafe { in_out(handle, "handle")? };
        let freed = objects.tools.controls.remove(number(handle.get()));
        freed.ok_or_else(|| no_handle(number(handle.get())))?;
        handle.put(MPI_T_CVAR_HANDLE_NULL);
        Ok(())
    })
}

/// The value of a control variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_read(handle: MPI_T_cvar_handle, buf: *mut c_void) -> c_int {
    tool("MPI_T_cvar_read", |objects| {
        // SAFETY: the caller's promise of the result.
        let place: Out<c_char> = unsafe { out(buf.cast(), "buf")? };
        let bound = objects.tools.controls.get(number(handle));
        let ControlHandle { value, .. } = bound.ok_or_else(|| no_handle(number(handle)))?;
        // SAFETY: it has as many characters as the handle's allocation returned, because the handle
        // has the value of that time (§15.3.6).
        unsafe { store_text(value, place.as_ptr(), value.len() as c_int + 1) };
        Ok(())
    })
}

/// Control variables cannot be set once the program runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_write(handle: MPI_T_cvar_handle, buf: *const c_void) -> c_int {
    let _never_set = buf;
    tool("MPI_T_cvar_write", |objects| {
        let bound = objects.tools.controls.get(number(handle));
        let ControlHandle { variable, .. } = bound.ok_or_else(|| no_handle(number(handle)))?;
        let why = format!(
            "{} is read-only while the program runs: set the environment variable before",
            SETTINGS[*variable].name
        );
        Err(tool_error(MPI_T_ERR_CVAR_SET_NEVER, why))
    })
}

/// The index of a performance variable by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_get_index(
    name: *const c_char, var_class: c_int, pvar_index: *mut c_int,
) -> c_int {
    tool("MPI_T_pvar_get_index", |_| {
        // SAFETY: the caller's promise of both.
        let (name, index) =
            unsafe { (copy_text((name, "name"), NAME_MAX)?, out(pvar_index, "pvar_index")?) };
        let mut variables = VARIABLES.iter();
        let found = variables.position(|it| it.name == name && class_of(it.class) == var_class);
        index.put(named(found, &name)?);
        Ok(())
    })
}

/// Describes a performance variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_get_info(
    pvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
    var_class: *mut c_int, datatype: *mut MPI_Datatype, enumtype: *mut MPI_T_enum,
    desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int, readonly: *mut c_int,
    continuous: *mut c_int, atomic: *mut c_int,
) -> c_int {
    tool("MPI_T_pvar_get_info", |_| {
        let variable = &VARIABLES[checked_index(pvar_index, VARIABLES.len())?];
        // SAFETY: the caller's promise of all of them.
        unsafe {
            put_tool_text(variable.name, name, name_len);
            put_tool_text(variable.meaning, desc, desc_len);
            put(verbosity, MPI_T_VERBOSITY_USER_BASIC);
            put(var_class, class_of(variable.class));
            put(datatype, MPI_UNSIGNED_LONG_LONG);
            put(enumtype, MPI_T_ENUM_NULL);
            put(bind, MPI_T_BIND_NO_OBJECT);
            put(readonly, 1);
            put(continuous, 1);
            put(atomic, 0);
        }
        Ok(())
    })
}

/// Number of performance variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_get_num(num_pvar: *mut c_int) -> c_int {
    tool("MPI_T_pvar_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_pvar, "num_pvar")? }.put(VARIABLES.len() as c_int);
        Ok(())
    })
}

/// A handle to a performance variable; none is bound to an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_handle_alloc(
    session: MPI_T_pvar_session, pvar_index: c_int, obj_handle: *mut c_void,
    handle: *mut MPI_T_pvar_handle, count: *mut c_int,
) -> c_int {
    let _unbound = obj_handle;
    tool("MPI_T_pvar_handle_alloc", |objects| {
        // SAFETY: the caller's promise of the results.
        let (handle, count) = unsafe { (out(handle, "handle")?, out(count, "count")?) };
        let session = open(objects, session)?;
        let index = checked_index(pvar_index, VARIABLES.len())?;
        handle.put_handle(
            objects.tools.bind(session, index).map_err(|error| out_of_handles(error.why))?,
        );
        count.put(1);
        Ok(())
    })
}

/// Frees a handle to a performance variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_handle_free(
    session: MPI_T_pvar_session, handle: *mut MPI_T_pvar_handle,
) -> c_int {
    tool("MPI_T_pvar_handle_free", |objects| {
        // SAFETY: the caller's promise.
        let handle = unsafe { in_out(handle, "handle")? };
        let session = open(objects, session)?;
        if !objects.tools.unbind(session, number(handle.get())) {
            return Err(no_handle(number(handle.get())));
        }
        handle.put(MPI_T_PVAR_HANDLE_NULL);
        Ok(())
    })
}

/// The value of a performance variable; 0 while MPI does not run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_read(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void,
) -> c_int {
    let mut variable = 0;
    let code = tool("MPI_T_pvar_read", |objects| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(buf, "buf")? };
        variable = bound(objects, session, handle)?;
        Ok(())
    });
    if code != MPI_SUCCESS {
        return code;
    }
    let value = PROCESS.visit_running(|mpi| Ok(mpi.read_variable(variable))).unwrap_or(0);
    // SAFETY: the caller's promise of the result, which is not null.
    unsafe { buf.cast::<u64>().write_unaligned(value) };
    MPI_SUCCESS
}

/// No performance variable can be reset, and `MPI_T_PVAR_ALL_HANDLES` is no handle to read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_readreset(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void,
) -> c_int {
    let _never_read = buf;
    tool("MPI_T_pvar_readreset", |objects| {
        let index = bound(objects, session, handle)?;
        let why = format!("{} cannot be reset", VARIABLES[index].name);
        Err(tool_error(MPI_T_ERR_PVAR_NO_ATOMIC, why))
    })
}

/// No performance variable can be reset; resetting all variables of a session succeeds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_reset(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle,
) -> c_int {
    refused("MPI_T_pvar_reset", session, handle, MPI_T_ERR_PVAR_NO_WRITE)
}

/// A session that isolates one tool's performance variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_session_create(session: *mut MPI_T_pvar_session) -> c_int {
    tool("MPI_T_pvar_session_create", |objects| {
        // SAFETY: the caller's promise of the result.
        let session = unsafe { out(session, "session")? };
        let made = objects.tools.open();
        session.put_handle(made.map_err(|error| tool_error(MPI_T_ERR_OUT_OF_SESSIONS, error.why))?);
        Ok(())
    })
}

/// Frees a session of performance variables, with all handles in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_session_free(session: *mut MPI_T_pvar_session) -> c_int {
    tool("MPI_T_pvar_session_free", |objects| {
        // SAFETY: the caller's promise.
        let place = unsafe { in_out(session, "session")? };
        let session = open(objects, place.get())?;
        objects.tools.close(session);
        place.put(MPI_T_PVAR_SESSION_NULL);
        Ok(())
    })
}

/// No performance variable can be started: all are continuous.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_start(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle,
) -> c_int {
    refused("MPI_T_pvar_start", session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP)
}

/// No performance variable can be stopped: all are continuous.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_stop(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle,
) -> c_int {
    refused("MPI_T_pvar_stop", session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP)
}

/// No performance variable can be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_write(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *const c_void,
) -> c_int {
    let _never_set = buf;
    tool("MPI_T_pvar_write", |objects| {
        let index = bound(objects, session, handle)?;
        let why = format!("{} is read-only", VARIABLES[index].name);
        Err(tool_error(MPI_T_ERR_PVAR_NO_WRITE, why))
    })
}

/// Body of a function that no performance variable supports, for one or all of a session.
fn refused(
    name: &str, session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, code: c_int,
) -> c_int {
    tool(name, |objects| {
        if handle == MPI_T_PVAR_ALL_HANDLES {
            return open(objects, session).map(drop);
        }
        let index = bound(objects, session, handle)?;
        Err(tool_error(code, format!("{} is continuous", VARIABLES[index].name)))
    })
}

/// The session, which is open.
fn open(objects: &Objects, session: MPI_T_pvar_session) -> Result<Handle> {
    let session = number(session);
    match objects.tools.is_open(session) {
        true => Ok(session),
        false => Err(tool_error(
            MPI_T_ERR_INVALID_SESSION,
            format!("{session:#x} is not a performance session; it may have been freed"),
        )),
    }
}

/// The performance variable of a handle of a session.
fn bound(
    objects: &Objects, session: MPI_T_pvar_session, handle: MPI_T_pvar_handle,
) -> Result<usize> {
    let variable = objects.tools.bound(open(objects, session)?, number(handle));
    variable.ok_or_else(|| no_handle(number(handle)))
}

fn no_handle(handle: Handle) -> Box<MpiError> {
    let why = format!("{handle:#x} is not a handle of a variable; it may have been freed");
    tool_error(MPI_T_ERR_INVALID_HANDLE, why)
}

fn out_of_handles(why: String) -> Box<MpiError> {
    tool_error(MPI_T_ERR_OUT_OF_HANDLES, why)
}

fn checked_index(index: c_int, len: usize) -> Result<usize> {
    let place = usize::try_from(index).ok().filter(|index| *index < len);
    place.ok_or_else(|| {
        tool_error(MPI_T_ERR_INVALID_INDEX, format!("index {index}: expected 0..{len}"))
    })
}

fn named(index: Option<usize>, name: &str) -> Result<c_int> {
    let index = index.map(|index| index as c_int);
    index.ok_or_else(|| {
        tool_error(MPI_T_ERR_INVALID_NAME, format!("{name:?} is not the name of a variable"))
    })
}

fn class_of(class: VariableClass) -> c_int {
    match class {
        VariableClass::Level => MPI_T_PVAR_CLASS_LEVEL,
        VariableClass::Counter => MPI_T_PVAR_CLASS_COUNTER,
    }
}

/// Stores a result unless the pointer is null.
///
/// # Safety
/// `pointer` is null or may be written.
unsafe fn put<T>(pointer: *mut T, value: T) {
    // SAFETY: the caller's promise.
    if let Ok(place) = unsafe { out(pointer, "result") } {
        place.put(value);
    }
}
