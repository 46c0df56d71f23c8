//! The world model: initialization, finalization, abort (MPI 5.0, chapter 11).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::abi::arguments::pointer::out;
use crate::abi::attribute::Holder;
use crate::abi::constants::*;
use crate::abi::entry_point::{PROCESS, Scope, finish, number, unlocked};
use crate::abi::types::*;
use crate::mpi::communicator::COMM_SELF;
use crate::process::{ThreadLevel, WorldStage};
use platform::base::{ErrorClass, Result};

/// Aborts all processes of the communicator; here the whole job.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abort(comm: MPI_Comm, errorcode: c_int) -> c_int {
    let of = PROCESS.with_mpi(|mpi| {
        let comm = mpi.comms.get(number(comm))?;
        Ok(format!("rank {} of {}", comm.rank, comm.title()))
    });
    let of = of.unwrap_or_else(|_| "a process".into());
    PROCESS.abort(errorcode, &format!("{of} called MPI_Abort with error code {errorcode}"))
}

/// Ends the world model in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Finalize() -> c_int {
    // The attributes of MPI_COMM_SELF are deleted first, while MPI calls still work (§11.2.4).
    let deleted = match PROCESS.stage() {
        WorldStage::Running => Holder::Comm(COMM_SELF).delete_all(),
        WorldStage::Before | WorldStage::After => Ok(()),
    };
    finish(Scope::None, "MPI_Finalize", deleted.and_then(|()| PROCESS.finalize()))
}

/// Whether `MPI_Finalize` has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Finalized(flag: *mut c_int) -> c_int {
    unlocked("MPI_Finalized", || {
        // SAFETY: the caller's promise of the result.
        unsafe { out(flag, "flag")? }.put((PROCESS.stage() == WorldStage::After).into());
        Ok(())
    })
}

/// Begins the world model in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    let _nobody_reads_them = (argc, argv);
    finish(Scope::None, "MPI_Init", PROCESS.initialize(ThreadLevel::Single))
}

/// `MPI_Init` with a required level of thread support.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Init_thread(
    argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int,
) -> c_int {
    let _nobody_reads_them = (argc, argv);
    unlocked("MPI_Init_thread", || {
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
    unlocked("MPI_Initialized", || {
        // SAFETY: the caller's promise of the result.
        unsafe { out(flag, "flag")? }.put((PROCESS.stage() != WorldStage::Before).into());
        Ok(())
    })
}

/// Whether the caller is the thread that initialized MPI.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Is_thread_main(flag: *mut c_int) -> c_int {
    unlocked("MPI_Is_thread_main", || {
        // SAFETY: the caller's promise of the result.
        let flag = unsafe { out(flag, "flag")? };
        flag.put(PROCESS.threads()?.1.into());
        Ok(())
    })
}

/// The level of thread support in force.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Query_thread(provided: *mut c_int) -> c_int {
    unlocked("MPI_Query_thread", || {
        // SAFETY: the caller's promise of the result.
        let provided = unsafe { out(provided, "provided")? };
        provided.put(value_of(PROCESS.threads()?.0));
        Ok(())
    })
}

/// The provided level: the required one (§11.6.2).
pub fn level_for(required: c_int) -> Result<ThreadLevel> {
    match required {
        MPI_THREAD_SINGLE => Ok(ThreadLevel::Single),
        MPI_THREAD_FUNNELED => Ok(ThreadLevel::Funneled),
        MPI_THREAD_SERIALIZED => Ok(ThreadLevel::Serialized),
        MPI_THREAD_MULTIPLE => Ok(ThreadLevel::Multiple),
        _ => Err(ErrorClass::Arg.error(format!("{required} is not a level of thread support"))),
    }
}

fn value_of(level: ThreadLevel) -> c_int {
    match level {
        ThreadLevel::Single => MPI_THREAD_SINGLE,
        ThreadLevel::Funneled => MPI_THREAD_FUNNELED,
        ThreadLevel::Serialized => MPI_THREAD_SERIALIZED,
        ThreadLevel::Multiple => MPI_THREAD_MULTIPLE,
    }
}
