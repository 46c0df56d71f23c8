//! Process creation (MPI 5.0 §11.8): spawning, the parent, and disconnecting.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::abi::arguments::pointer::{free_handle, input, out};
use crate::abi::arguments::text::copy_text;
use crate::abi::communicator::comm::free;
use crate::abi::constants::MPI_SUCCESS;
use crate::abi::entry_point::{PROCESS, finish, number, unlocked};
use crate::abi::handles::{MPI_COMM_NULL, MPI_INFO_NULL, handle};
use crate::abi::types::*;
use crate::process::spawning::SpawnCommand;
use platform::base::{ErrorClass, Result};

/// Waits for pending communication and frees the communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_disconnect(comm: *mut MPI_Comm) -> c_int {
    let leave = |comm| {
        PROCESS.until(
            |mpi| mpi.start_disconnect(number(comm)),
            |mpi, disconnect| Ok(mpi.may_disconnect(number(comm), disconnect)?.then_some(())),
            |mpi, _| mpi.blocked_on("MPI_Comm_disconnect", number(comm)),
        )?;
        free(number(comm))?;
        PROCESS.forget_other_jobs()
    };
    // SAFETY: the caller's promise of the handle.
    unsafe { free_handle("MPI_Comm_disconnect", (comm, "comm"), MPI_COMM_NULL, leave) }
}

/// The intercommunicator with the processes that spawned this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_parent(parent: *mut MPI_Comm) -> c_int {
    unlocked("MPI_Comm_get_parent", || {
        // SAFETY: the caller's promise of the result.
        let parent = unsafe { out(parent, "parent")? };
        let found = PROCESS.parent()?;
        parent.put(found.map_or(MPI_COMM_NULL, |found| handle(found as c_int)));
        Ok(())
    })
}

/// The longest command or argument, in bytes with its zero: that of the system (MAX_ARG_STRLEN).
const ARGUMENT_MAX: c_int = 128 << 10;

/// Starts processes of one program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_spawn(
    command: *const c_char, argv: *mut *mut c_char, maxprocs: c_int, info: MPI_Info, root: c_int,
    comm: MPI_Comm, intercomm: *mut MPI_Comm, array_of_errcodes: *mut c_int,
) -> c_int {
    let commands = || {
        // SAFETY: the caller gives a string and an array of strings with a final null at the root, where
        // this runs.
        let command = unsafe { command_of(command, argv, maxprocs, hints_of(info)?)? };
        Ok(vec![command])
    };
    let results = (intercomm, array_of_errcodes);
    // SAFETY: the caller's promises of the results.
    unsafe { spawn("MPI_Comm_spawn", (comm, root), commands, results) }
}

/// Starts processes of several programs, with one `MPI_COMM_WORLD`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_spawn_multiple(
    count: c_int, array_of_commands: *mut *mut c_char, array_of_argv: *mut *mut *mut c_char,
    array_of_maxprocs: *const c_int, array_of_info: *const MPI_Info, root: c_int, comm: MPI_Comm,
    intercomm: *mut MPI_Comm, array_of_errcodes: *mut c_int,
) -> c_int {
    let commands = || {
        if count < 1 {
            let why = format!("count is {count}: expected a number of programs from 1 on");
            return Err(ErrorClass::Count.error(why));
        }
        let command = |index: usize| {
            // SAFETY: the caller gives arrays of `count` elements at the root, where this runs; the one of
            // arguments may be null.
            unsafe {
                let info = hints_of(*input(array_of_info.add(index), "array_of_info")?)?;
                let argv = match array_of_argv.is_null() {
                    true => std::ptr::null_mut(),
                    false => *array_of_argv.add(index),
                };
                let command = *input(array_of_commands.add(index), "array_of_commands")?;
                let maxprocs = *input(array_of_maxprocs.add(index), "array_of_maxprocs")?;
                command_of(command, argv, maxprocs, info)
            }
        };
        (0..count as usize).map(command).collect()
    };
    let results = (intercomm, array_of_errcodes);
    // SAFETY: the caller's promises of the results.
    unsafe { spawn("MPI_Comm_spawn_multiple", (comm, root), commands, results) }
}

/// # Safety
/// The intercommunicator is null or may be written; the array is null or has room for an error code of each
/// process.
unsafe fn spawn(
    name: &str, (comm, root): (MPI_Comm, c_int),
    commands: impl FnOnce() -> Result<Vec<SpawnCommand>>,
    (intercomm, errcodes): (*mut MPI_Comm, *mut c_int),
) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { out(intercomm, "intercomm") }.and_then(|intercomm| {
        let mut count = 0;
        let made = PROCESS.spawn(name, number(comm), root, commands, &mut count);
        let code = if made.is_ok() { MPI_SUCCESS } else { ErrorClass::Spawn as c_int };
        if !errcodes.is_null() {
            // SAFETY: the caller's promise: `count` is the number of processes that the root asked for.
            (0..count as usize).for_each(|index| unsafe { *errcodes.add(index) = code });
        }
        intercomm.put(handle(made? as c_int));
        Ok(())
    });
    finish(comm, name, result)
}

/// # Errors
/// `Arg` for a null pointer or a number of processes below 1.
///
/// # Safety
/// `command` is null or a string; `argv` is null or an array of strings with a final null.
unsafe fn command_of(
    command: *const c_char, argv: *mut *mut c_char, maxprocs: c_int, info: Vec<(String, String)>,
) -> Result<SpawnCommand> {
    // SAFETY: the caller's promise.
    let program = unsafe { copy_text((command, "command"), ARGUMENT_MAX)? };
    let mut arguments = Vec::new();
    // SAFETY: the caller's promise: reading stops at the final null.
    unsafe {
        while !argv.is_null() && !(*argv.add(arguments.len())).is_null() {
            arguments.push(copy_text((*argv.add(arguments.len()), "argv"), ARGUMENT_MAX)?);
        }
    }
    if maxprocs < 1 {
        let why = format!("maxprocs is {maxprocs}: expected a number of processes from 1 on");
        return Err(ErrorClass::Arg.error(why));
    }
    Ok(SpawnCommand { program, arguments, processes: maxprocs as u32, info })
}

/// # Errors
/// `Info` for what is neither an info object nor `MPI_INFO_NULL`.
fn hints_of(info: MPI_Info) -> Result<Vec<(String, String)>> {
    if info == MPI_INFO_NULL {
        return Ok(Vec::new());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    PROCESS.visit(|objects| {
        let info = objects.infos.get(number(info))?;
        Ok(info.iter().map(|(key, value)| (text(key), text(value))).collect())
    })
}
