//! The world model: initialization, finalization, abort (MPI 5.0, chapter 11).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use super::attribute::Holder;
use super::constants::*;
use super::pointer::out;
use super::types::*;
use super::verb::{PROCESS, Scope, apart, finish, number};
use crate::base::{ErrorClass, Result};
use crate::mpi::comm::COMM_SELF;
use crate::process::{Level, Stage};

/// Ends all processes of the communicator, here the whole job.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abort(comm: MPI_Comm, errorcode: c_int) -> c_int {
    let of = PROCESS.look(|mpi| {
        let comm = mpi.comms.get(number(comm))?;
        Ok(format!("rank {} of {}", comm.rank, comm.title()))
    });
    let of = of.unwrap_or_else(|_| "a process".into());
    PROCESS.abort(errorcode, &format!("{of} called MPI_Abort with error code {errorcode}"))
}

/// Ends the world model in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Finalize() -> c_int {
    // The attributes of MPI_COMM_SELF go first, while MPI still works (§11.2.4).
    let deleted = match PROCESS.stage() {
        Stage::Running => Holder::Comm(COMM_SELF).delete_all(),
        Stage::Before | Stage::After => Ok(()),
    };
    finish(Scope::None, "MPI_Finalize", deleted.and_then(|()| PROCESS.finalize()))
}

/// Whether `MPI_Finalize` has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Finalized(flag: *mut c_int) -> c_int {
    apart("MPI_Finalized", || {
        // SAFETY: the caller's promise of the result.
        unsafe { out(flag, "flag")? }.put((PROCESS.stage() == Stage::After).into());
        Ok(())
    })
}

/// Begins the world model in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    let _nobody_reads_them = (argc, argv);
    finish(Scope::None, "MPI_Init", PROCESS.initialize(Level::Single))
}

/// `MPI_Init` that asks for a level of thread support.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Init_thread(
    argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int,
) -> c_int {
    let _nobody_reads_them = (argc, argv);
    apart("MPI_Init_thread", || {
        // SAFETY: the caller's promise of the result.
        let provided = unsafe { out(provided, "provided")? };
        let level = level_for(required)?;
        PROCESS.initialize(level)?;
        provided.put(value_of(level));
        Ok(())
    })
}

/// Whether `MPI_Init` has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Initialized(flag: *mut c_int) -> c_int {
    apart("MPI_Initialized", || {
        // SAFETY: the caller's promise of the result.
        unsafe { out(flag, "flag")? }.put((PROCESS.stage() != Stage::Before).into());
        Ok(())
    })
}

/// Whether the caller is the thread that initialized MPI.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Is_thread_main(flag: *mut c_int) -> c_int {
    apart("MPI_Is_thread_main", || {
        // SAFETY: the caller's promise of the result.
        let flag = unsafe { out(flag, "flag")? };
        flag.put(PROCESS.threads()?.1.into());
        Ok(())
    })
}

/// The level of thread support in force.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Query_thread(provided: *mut c_int) -> c_int {
    apart("MPI_Query_thread", || {
        // SAFETY: the caller's promise of the result.
        let provided = unsafe { out(provided, "provided")? };
        provided.put(value_of(PROCESS.threads()?.0));
        Ok(())
    })
}

/// The level that the library provides: the one asked for (§11.6.2).
pub fn level_for(required: c_int) -> Result<Level> {
    match required {
        MPI_THREAD_SINGLE => Ok(Level::Single),
        MPI_THREAD_FUNNELED => Ok(Level::Funneled),
        MPI_THREAD_SERIALIZED => Ok(Level::Serialized),
        MPI_THREAD_MULTIPLE => Ok(Level::Multiple),
        _ => Err(ErrorClass::Arg.error(format!("{required} is not a level of thread support"))),
    }
}

fn value_of(level: Level) -> c_int {
    match level {
        Level::Single => MPI_THREAD_SINGLE,
        Level::Funneled => MPI_THREAD_FUNNELED,
        Level::Serialized => MPI_THREAD_SERIALIZED,
        Level::Multiple => MPI_THREAD_MULTIPLE,
    }
}
