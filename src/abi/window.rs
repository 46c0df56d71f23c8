//! Windows for one-sided communication (MPI 5.0, chapter 12): creation, hints, freeing.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::allocation::{self, AllocationOwner};
use super::attribute::Holder;
use super::entry_point::{PROCESS, finish, local, number, wait_for};
use super::environment::alignment;
use super::handles::MPI_WIN_NULL;
use super::types::*;
use crate::abi::arguments::pointer::{free_handle, out};
use crate::abi::arguments::user_memory::is_in_place;
use crate::abi::communicator::group::put_group;
use crate::mpi::attribute::Attributes;
use crate::mpi::communicator::COMM_NULL;
use crate::mpi::handle::Handle;
use crate::mpi::info::Info;
use crate::mpi::window::{Flavor, Window, WindowMemory};
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, Result};

/// A window of memory that the library allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_allocate_c(
    size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    let extent = |hints: Option<&Info>| {
        // A negative size is an error before the allocation.
        let mut extent = WindowMemory::new(Flavor::Allocate, 0, size, disp_unit)?;
        let memory =
            allocation::allocate(AllocationOwner::Window, size as usize, alignment(hints)?)?;
        extent.base = memory.expose_provenance();
        Ok(extent)
    };
    // SAFETY: the caller gives the address of a pointer.
    let result = unsafe { out(baseptr.cast(), "baseptr") }.and_then(|baseptr| {
        // SAFETY: the caller's promise of the result.
        let win = unsafe { out(win, "win")? };
        let made = create("MPI_Win_allocate", comm, info, extent)?;
        baseptr.put(PROCESS.with_mpi(|mpi| Ok(mpi.windows.get(made)?.memory.base))?);
        win.put_handle(made);
        Ok(())
    });
    finish(comm, "MPI_Win_allocate", result)
}

/// Adds memory to a dynamic window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) -> c_int {
    local("MPI_Win_attach", win, |mpi| mpi.windows.get_mut(number(win))?.attach(base.addr(), size))
}

/// A window of the caller's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_c(
    base: *mut c_void, size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm,
    win: *mut MPI_Win,
) -> c_int {
    let extent = |_: Option<&Info>| {
        if base.is_null() && size > 0 || is_in_place(base) {
            let why =
                format!("the window memory of {size} bytes is at {base:p}: expected an address");
            return Err(ErrorClass::Buffer.error(why));
        }
        WindowMemory::new(Flavor::Create, base.expose_provenance(), size, disp_unit)
    };
    // SAFETY: the caller gives a valid result pointer.
    unsafe { put("MPI_Win_create", comm, info, win, extent) }
}

/// A window without memory; `MPI_Win_attach` adds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_dynamic(
    info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win,
) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe { put("MPI_Win_create_dynamic", comm, info, win, |_| Ok(WindowMemory::dynamic())) }
}

/// Removes memory from a dynamic window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_detach(win: MPI_Win, base: *const c_void) -> c_int {
    local("MPI_Win_detach", win, |mpi| mpi.windows.get_mut(number(win))?.detach(base.addr()))
}

/// Frees a window; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_free(win: *mut MPI_Win) -> c_int {
    let free = |win| free(number(win));
    // SAFETY: the caller's promise of the handle.
    unsafe { free_handle("MPI_Win_free", (win, "win"), MPI_WIN_NULL, free) }
}

/// The group of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) -> c_int {
    local("MPI_Win_get_group", win, |mpi| {
        // SAFETY: the caller's promise of the result.
        let group = unsafe { out(group, "group")? };
        let comm = mpi.windows.get(number(win))?.comm;
        let found = Arc::clone(&mpi.comms.get(comm)?.group);
        put_group(mpi, found, group)
    })
}

/// The hints of a window that are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_info(win: MPI_Win, info_used: *mut MPI_Info) -> c_int {
    local("MPI_Win_get_info", win, |mpi| {
        // SAFETY: the caller's promise of the result.
        let info_used = unsafe { out(info_used, "info_used")? };
        let window = mpi.windows.get(number(win))?;
        let told = window.info(&mpi.memory_kinds(window.comm)?)?;
        info_used.put_handle(mpi.objects.infos.insert(told)?);
        Ok(())
    })
}

/// Changes the hints of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_set_info(win: MPI_Win, info: MPI_Info) -> c_int {
    local("MPI_Win_set_info", win, |mpi| {
        let window = mpi.windows.get_mut(number(win))?;
        window.advise(mpi.objects.infos.get(number(info))?)
    })
}

/// Creates a window with a duplicate of a communicator. `memory` returns its memory for its hints.
///
/// # Errors
/// `Comm`, `Info`; errors of `memory` and of messages.
fn create(
    name: &str, comm: MPI_Comm, info: MPI_Info,
    extent: impl FnOnce(Option<&Info>) -> Result<WindowMemory>,
) -> Result<Handle> {
    let mut window = PROCESS.with_mpi(|mpi| {
        let old = mpi.comms.get(number(comm))?;
        if old.is_inter() {
            let why = format!(
                "{} is an intercommunicator: a window needs an intracommunicator",
                old.title()
            );
            return Err(ErrorClass::Comm.error(why));
        }
        let hints = mpi.objects.infos.hints(number(info))?;
        let mut window = Window::new(COMM_NULL, extent(hints)?)?;
        hints.map_or(Ok(()), |hints| window.advise(hints))?;
        Ok(window)
    })?;
    let outcome = wait_for(name, |mpi| {
        let (own, activity) = mpi.duplicate(number(comm), Attributes::default())?;
        window.comm = own;
        Ok(activity)
    });
    match outcome.and_then(|outcome| outcome.error.map_or(Ok(()), Err)) {
        Ok(()) => PROCESS.with_mpi(|mpi| mpi.windows.insert(window)),
        Err(error) => release(&window).and(Err(error)),
    }
}

/// Body of a function that makes a window, as [`create`] does, and stores its handle.
///
/// # Safety
/// `win` is null or may be written.
unsafe fn put(
    name: &str, comm: MPI_Comm, info: MPI_Info, win: *mut MPI_Win,
    extent: impl FnOnce(Option<&Info>) -> Result<WindowMemory>,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { out(win, "win") }
        .and_then(|win| create(name, comm, info, extent).map(|made| win.put_handle(made)));
    finish(comm, name, result)
}

/// Frees a window: deletes its attributes, newest first, and then synchronizes its processes.
///
/// # Errors
/// `Win` if there is no such window; the code of a delete function, in which case the window stays.
fn free(window: Handle) -> Result {
    Holder::Win(window).delete_all()?;
    let meet = |mpi: &mut ProcessMpi| mpi.start_barrier(mpi.windows.get(window)?.comm);
    let outcome = wait_for("MPI_Win_free", meet)?;
    release(&PROCESS.with_mpi(|mpi| mpi.free_window(window))?)?;
    outcome.error.map_or(Ok(()), Err)
}

/// Frees memory that the library allocated for a window.
///
/// # Errors
/// Only internal errors.
fn release(window: &Window) -> Result {
    match window.memory.flavor == Flavor::Allocate as c_int {
        true => allocation::free(AllocationOwner::Window, window.memory.base),
        false => Ok(()),
    }
}
