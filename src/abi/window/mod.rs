//! Windows for one-sided communication (MPI 5.0, chapter 12): creation, hints, freeing.

#![allow(unsafe_code)]

pub(crate) mod operation;
pub(crate) mod synchronization;

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::abi::allocation::{self, AllocationOwner};
use crate::abi::arguments::pointer::{free_handle, out};
use crate::abi::arguments::user_memory::is_in_place;
use crate::abi::arguments::width::narrowed;
use crate::abi::attribute::Holder;
use crate::abi::communicator::group::put_group;
use crate::abi::entry_point::{PROCESS, finish, finish_by, local, number};
use crate::abi::environment::alignment;
use crate::abi::handles::MPI_WIN_NULL;
use crate::abi::types::*;
use crate::mpi::errhandler::Handler;
use crate::mpi::handle::Handle;
use crate::mpi::info::Info;
use crate::mpi::window::direct::DirectWindow;
use crate::mpi::window::mapped::SegmentPlacement;
use crate::mpi::window::{Flavor, WIN_NULL, Window, WindowMemory, check_size};
use crate::process::window_end::WindowEnd;
use crate::process::{ProcessEngine, ProcessMpi};
use platform::base::{ErrorClass, MpiError, Result, Span};

/// Whether the short way of a window has done what `body` asks for.
#[inline(always)]
pub(crate) fn directly(
    win: MPI_Win, body: impl FnOnce(DirectWindow<'_>, &mut ProcessEngine) -> bool,
) -> bool {
    PROCESS.briefly(|mpi| {
        let window = mpi.windows.direct(number(win));
        window.is_some_and(|window| body(window, &mut mpi.engine))
    })
}

/// A window of memory that the library allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_allocate_c(
    size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    let arguments = (Flavor::Allocate, size, disp_unit);
    // SAFETY: the caller's promise of both results.
    unsafe { put_allocated("MPI_Win_allocate", arguments, info, comm, baseptr, win) }
}

/// A window of memory that the library allocates and all processes map.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_allocate_shared_c(
    size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
    win: *mut MPI_Win,
) -> c_int {
    let arguments = (Flavor::Shared, size, disp_unit);
    // SAFETY: the caller's promise of both results.
    unsafe { put_allocated("MPI_Win_allocate_shared", arguments, info, comm, baseptr, win) }
}

/// [`PMPI_Win_shared_query_c`] with an `int` displacement unit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_shared_query(
    win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut c_int, baseptr: *mut c_void,
) -> c_int {
    // SAFETY: the same contract; `MPI_Aint` and `MPI_Count` have one width.
    unsafe {
        narrowed(disp_unit, |disp_unit| {
            PMPI_Win_shared_query_c(win, rank, size, disp_unit.cast(), baseptr)
        })
    }
}

/// The memory of a process, if this one may load and store there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_shared_query_c(
    win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut MPI_Aint, baseptr: *mut c_void,
) -> c_int {
    local("MPI_Win_shared_query", win, |mpi| {
        // SAFETY: the caller's promise of the results.
        let (size, disp_unit, baseptr) = unsafe {
            (
                out(size, "size")?,
                out(disp_unit, "disp_unit")?,
                out(baseptr.cast::<usize>(), "baseptr")?,
            )
        };
        let (memory, unit) = mpi.windows.get(number(win))?.shared_memory(rank)?;
        size.put(memory.len() as MPI_Aint);
        disp_unit.put(unit as MPI_Aint);
        // Nothing can be loaded there: the address of a window without memory is null.
        baseptr.put(if memory.is_empty() { 0 } else { memory.address() });
        Ok(())
    })
}

/// Adds memory to a dynamic window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) -> c_int {
    local("MPI_Win_attach", win, |mpi| {
        // SAFETY: as of the memory of a window.
        let region = unsafe { Span::new(base.cast(), check_size(size)?) };
        mpi.windows.get_mut(number(win))?.attach(region)
    })
}

/// A window of the caller's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_c(
    base: *mut c_void, size: MPI_Aint, disp_unit: MPI_Aint, info: MPI_Info, comm: MPI_Comm,
    win: *mut MPI_Win,
) -> c_int {
    let memory = || {
        if base.is_null() && size > 0 || is_in_place(base) {
            let why =
                format!("the window memory of {size} bytes is at {base:p}: expected an address");
            return Err(ErrorClass::Buffer.error(why));
        }
        let memory = WindowMemory::new(Flavor::Create, base.expose_provenance(), size, disp_unit)?;
        // SAFETY: the caller's promise for the memory of the window, until it is freed (§12.2.1).
        Ok((memory, unsafe { Span::new(base.cast(), size as usize) }))
    };
    // SAFETY: the caller gives a valid result pointer.
    unsafe { put("MPI_Win_create", comm, info, win, memory) }
}

/// A window without memory; `MPI_Win_attach` adds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_dynamic(
    info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win,
) -> c_int {
    let memory = || Ok((WindowMemory::dynamic(), Span::EMPTY));
    // SAFETY: the caller gives a valid result pointer.
    unsafe { put("MPI_Win_create_dynamic", comm, info, win, memory) }
}

/// Removes memory from a dynamic window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_detach(win: MPI_Win, base: *const c_void) -> c_int {
    local("MPI_Win_detach", win, |mpi| mpi.windows.get_mut(number(win))?.detach(base.addr()))
}

/// Frees a window; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_free(win: *mut MPI_Win) -> c_int {
    let mut lost = None;
    let free = |win| {
        lost = free(number(win))?;
        Ok(())
    };
    // SAFETY: the caller's promise of the handle.
    let code = unsafe { free_handle("MPI_Win_free", (win, "win"), MPI_WIN_NULL, free) };
    match lost {
        Some((handler, error)) => finish_by(handler, WIN_NULL, "MPI_Win_free", Err(error)),
        None => code,
    }
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

/// Creates a window of memory of the application, or without memory.
///
/// # Errors
/// `Comm`, `Info`; errors of `memory` and of messages.
fn create(
    name: &str, comm: MPI_Comm, info: MPI_Info,
    memory: impl FnOnce() -> Result<(WindowMemory, Span)>,
) -> Result<Handle> {
    let window = prepare(comm, info, |_| memory())?;
    let window = connect(name, comm, window, Some(SegmentPlacement::Words))?;
    PROCESS.with_mpi(|mpi| mpi.insert_window(*window))
}

/// Creates a window of memory of the library: in a segment that processes of a node share, if that is
/// possible.
///
/// # Errors
/// `Comm`, `Info`, `Size`, `Disp`, `NoMem`; `RmaShared` if it must be shared and cannot.
fn create_allocated(
    name: &str, (flavor, size, disp_unit): (Flavor, MPI_Aint, MPI_Aint), info: MPI_Info,
    comm: MPI_Comm,
) -> Result<Handle> {
    let (mut least, mut placement) = (0, None);
    let window = prepare(comm, info, |hints| {
        least = alignment(hints)?;
        placement = shared_placement(flavor, hints, least)?;
        Ok((WindowMemory::new(flavor, 0, size, disp_unit)?, Span::EMPTY))
    })?;
    let mut window = connect(name, comm, window, placement)?;
    note_allocation(&mut window, flavor, placement, least)?;
    if !window.is_mapped() && flavor == Flavor::Shared {
        PROCESS.with_mpi(|mpi| mpi.free_comm(window.comm))?;
        let why = "the processes of the communicator do not share memory \
                   (MPI_Comm_split_type with MPI_COMM_TYPE_SHARED makes a communicator of \
                   those that do), or one of them has no room for it";
        return Err(ErrorClass::RmaShared.error(why));
    }
    let own =
        if window.is_mapped() { None } else { Some(allocate(&mut window, size as usize, least)) };
    if window.tells_memory() {
        // A process without memory tells that, too: the others wait for it.
        window = tell_memory(name, window).or_else(|error| {
            if let Some(Ok(base)) = own {
                allocation::free(AllocationOwner::Window, base)?;
            }
            Err(error)
        })?;
    }
    own.transpose()?;
    PROCESS.with_mpi(|mpi| mpi.insert_window(*window))
}

/// Gives a window memory of this process; its address.
///
/// # Errors
/// `NoMem`.
fn allocate(window: &mut Window, size: usize, least: usize) -> Result<usize> {
    let base = allocation::allocate(AllocationOwner::Window, size, least)?;
    let address = base.expose_provenance();
    // SAFETY: the allocation lives as long as the window; the standard's rules for one-sided
    // accesses and for loads and stores are the application's promise (§12.4).
    window.set_memory(unsafe { Span::new(base, size) });
    Ok(address)
}

/// Tells the processes of a window about the memory that it has got, or that it has none.
///
/// # Errors
/// Errors of messages.
fn tell_memory(name: &str, window: Box<Window>) -> Result<Box<Window>> {
    PROCESS.until(
        |mpi| mpi.start_memory_exchange(window),
        ProcessMpi::end_window_creation,
        |mpi, creation| mpi.blocked_window_creation(name, creation),
    )
}

/// Records the hints about the memory of a window.
///
/// # Errors
/// Only internal errors.
fn note_allocation(
    window: &mut Window, flavor: Flavor, placement: Option<SegmentPlacement>, least: usize,
) -> Result {
    let told = |is_so: bool| if is_so { &b"true"[..] } else { b"false" };
    window.note_hint(b"mpi_minimum_memory_alignment", least.to_string().as_bytes())?;
    match flavor {
        Flavor::Shared => {
            let apart = placement != Some(SegmentPlacement::Contiguous);
            window.note_hint(b"alloc_shared_noncontig", told(apart))
        }
        _ => window.note_hint(b"alloc_shm", told(placement.is_some())),
    }
}

/// How the memory of a window is shared, if it is.
///
/// # Errors
/// Only internal errors.
fn shared_placement(
    flavor: Flavor, hints: Option<&Info>, least: usize,
) -> Result<Option<SegmentPlacement>> {
    let hint = |key: &[u8]| hints.map_or(Ok(None), |hints| hints.get(key));
    let apart = hint(b"alloc_shared_noncontig")? == Some(&b"true"[..]);
    Ok(match flavor {
        Flavor::Shared if !apart => Some(SegmentPlacement::Contiguous),
        Flavor::Shared => Some(SegmentPlacement::Aligned(least)),
        _ if hint(b"alloc_shm")? == Some(&b"false"[..]) => None,
        _ => Some(SegmentPlacement::Aligned(least)),
    })
}

/// A window without processes. `memory` returns its memory for its hints.
///
/// # Errors
/// `Comm`, `Info`; errors of `memory`.
fn prepare(
    comm: MPI_Comm, info: MPI_Info,
    memory: impl FnOnce(Option<&Info>) -> Result<(WindowMemory, Span)>,
) -> Result<Box<Window>> {
    PROCESS.with_mpi(|mpi| {
        let old = mpi.comms.get(number(comm))?;
        if old.is_inter() {
            let why = format!(
                "{} is an intercommunicator: a window needs an intracommunicator",
                old.title()
            );
            return Err(ErrorClass::Comm.error(why));
        }
        let hints = mpi.objects.infos.hints(number(info))?;
        let (memory, region) = memory(hints)?;
        let mut window = Window::new(memory, region)?;
        hints.map_or(Ok(()), |hints| window.advise(hints))?;
        Ok(Box::new(window))
    })
}

/// Gives a window a duplicate of a communicator, and tells the processes about each other.
///
/// # Errors
/// `Comm`; errors of messages.
fn connect(
    name: &str, comm: MPI_Comm, window: Box<Window>, placement: Option<SegmentPlacement>,
) -> Result<Box<Window>> {
    let private = PROCESS.private_comm(name, number(comm))?;
    PROCESS.until(
        |mpi| mpi.start_window_creation(window, private, placement),
        ProcessMpi::end_window_creation,
        |mpi, creation| mpi.blocked_window_creation(name, creation),
    )
}

/// Body of a function that makes a window, as [`create`] does, and stores its handle.
///
/// # Safety
/// `win` is null or may be written.
unsafe fn put(
    name: &str, comm: MPI_Comm, info: MPI_Info, win: *mut MPI_Win,
    memory: impl FnOnce() -> Result<(WindowMemory, Span)>,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { out(win, "win") }
        .and_then(|win| create(name, comm, info, memory).map(|made| win.put_handle(made)));
    finish(comm, name, result)
}

/// Body of a function that makes a window, as [`create_allocated`] does, and stores its handle and the
/// address of its memory.
///
/// # Safety
/// `win` and `baseptr` are null or may be written.
unsafe fn put_allocated(
    name: &str, arguments: (Flavor, MPI_Aint, MPI_Aint), info: MPI_Info, comm: MPI_Comm,
    baseptr: *mut c_void, win: *mut MPI_Win,
) -> c_int {
    // SAFETY: the caller gives the address of a pointer.
    let result = unsafe { out(baseptr.cast::<usize>(), "baseptr") }.and_then(|baseptr| {
        // SAFETY: the caller's promise of the result.
        let win = unsafe { out(win, "win")? };
        let made = create_allocated(name, arguments, info, comm)?;
        baseptr.put(PROCESS.with_mpi(|mpi| Ok(mpi.windows.get(made)?.memory.base))?);
        win.put_handle(made);
        Ok(())
    });
    finish(comm, name, result)
}

/// Frees a window: deletes its attributes, newest first, and then synchronizes its processes. If they could
/// not be synchronized because one has failed, the window is freed too: then its error handler, and the
/// error.
///
/// # Errors
/// `Win` if there is no such window; `RmaSync` in an epoch, and the code of a delete function: then the
/// window stays. Other errors of messages.
fn free(window: Handle) -> Result<Option<(Handler, Box<MpiError>)>> {
    const NAME: &str = "MPI_Win_free";
    PROCESS.with_mpi(|mpi| mpi.check_window_free(window))?;
    Holder::Win(window).delete_all()?;
    let end = PROCESS.leave_window(NAME, window)?;
    let (base, freed) = PROCESS.with_mpi(|mpi| {
        let base = owned_base(mpi.windows.get(window)?);
        Ok((base, mpi.free_window(window)?))
    })?;
    base.map_or(Ok(()), |base| allocation::free(AllocationOwner::Window, base))?;
    match end {
        WindowEnd::Met(met) => met.map(|()| None),
        WindowEnd::Abandoned => Ok(freed.lost_member().map(|error| (freed.handler, error))),
    }
}

/// The address of memory that was allocated for this process alone.
fn owned_base(window: &Window) -> Option<usize> {
    let is_own = window.memory.flavor == Flavor::Allocate as c_int && !window.is_mapped();
    is_own.then_some(window.memory.base)
}
