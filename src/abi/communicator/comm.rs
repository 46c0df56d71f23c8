//! Communicators (MPI 5.0, chapter 7).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use super::group::{put_group, value_of};
use crate::abi::arguments::pointer::{free_handle, out};
use crate::abi::arguments::text::string_at;
use crate::abi::attribute::Holder;
use crate::abi::constants::*;
use crate::abi::entry_point::{PROCESS, Scope, finish, finish_by, local, number, start, wait_for};
use crate::abi::handles::{MPI_COMM_NULL, handle};
use crate::abi::types::*;
use crate::mpi::attribute::Attributes;
use crate::mpi::communicator::COMM_NULL;
use crate::mpi::communicator::create::Split;
use crate::mpi::communicator::hints::CommHints;
use crate::mpi::errhandler::{ErrhandlerKind, Handler};
use crate::mpi::group::sets::GroupComparison;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::process::ProcessMpi;
use platform::base::Result;

/// Whether two communicators have equal groups and contexts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_compare(
    comm1: MPI_Comm, comm2: MPI_Comm, result: *mut c_int,
) -> c_int {
    local("MPI_Comm_compare", comm1, |mpi| {
        // SAFETY: the caller's promise of the result.
        let result = unsafe { out(result, "result")? };
        let (one, two) = (mpi.comms.get(number(comm1))?, mpi.comms.get(number(comm2))?);
        let likeness = one.compare(two);
        result.put(match likeness {
            GroupComparison::Ident if one.context != two.context => MPI_CONGRUENT,
            _ => value_of(likeness),
        });
        Ok(())
    })
}

/// A communicator for a subgroup; all of the old one's processes call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create(
    comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm,
) -> c_int {
    let split = |mpi: &mut ProcessMpi| {
        let group = Arc::clone(mpi.objects.groups.get(number(group))?);
        mpi.create(number(comm), group)
    };
    // SAFETY: the caller gives a valid result pointer.
    unsafe { split_off("MPI_Comm_create", comm, (newcomm, "newcomm"), split) }
}

/// A communicator for a group, without a parent communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create_from_group(
    group: MPI_Group, stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler,
    newcomm: *mut MPI_Comm,
) -> c_int {
    let name = "MPI_Comm_create_from_group";
    let create = |string: &[u8], handler: &Handler| {
        let created = made(name, |mpi| {
            let group = Arc::clone(mpi.objects.groups.get(number(group))?);
            mpi.create_from_group(group, string, handler.clone())
        })?;
        Ok(handle(created as c_int))
    };
    // SAFETY: the caller gives a string and a valid result pointer.
    unsafe { without_parent(name, (stringtag, info, errhandler), (newcomm, "newcomm"), create) }
}

/// A communicator for a subgroup; only its members call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create_group(
    comm: MPI_Comm, group: MPI_Group, tag: c_int, newcomm: *mut MPI_Comm,
) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe {
        make("MPI_Comm_create_group", comm, newcomm, |mpi| {
            let group = Arc::clone(mpi.objects.groups.get(number(group))?);
            mpi.create_by_members(number(comm), group, tag)
        })
    }
}

/// A communicator of the same group with a new context, attributes copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe { duplicate("MPI_Comm_dup", comm, CommHints::default(), newcomm) }
}

/// `MPI_Comm_dup` with other hints.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_dup_with_info(
    comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm,
) -> c_int {
    match hints_in(info) {
        // SAFETY: the caller gives a valid result pointer.
        Ok(hints) => unsafe { duplicate("MPI_Comm_dup_with_info", comm, hints, newcomm) },
        Err(error) => finish(comm, "MPI_Comm_dup_with_info", Err(error)),
    }
}

/// Marks a communicator for deallocation; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_free(comm: *mut MPI_Comm) -> c_int {
    let free = |comm| free(number(comm));
    // SAFETY: the caller's promise of the handle.
    unsafe { free_handle("MPI_Comm_free", (comm, "comm"), MPI_COMM_NULL, free) }
}

/// The hints of a communicator that are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_info(comm: MPI_Comm, info_used: *mut MPI_Info) -> c_int {
    local("MPI_Comm_get_info", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let info_used = unsafe { out(info_used, "info_used")? };
        let kinds = mpi.memory_kinds(number(comm))?;
        let told = mpi.comms.get(number(comm))?.hints.info(&kinds)?;
        info_used.put_handle(mpi.objects.infos.insert(told)?);
        Ok(())
    })
}

/// The group of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group) -> c_int {
    local("MPI_Comm_group", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let group = unsafe { out(group, "group")? };
        let found = Arc::clone(&mpi.comms.get(number(comm))?.group);
        put_group(mpi, found, group)
    })
}

/// Starts `MPI_Comm_dup`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_idup(
    comm: MPI_Comm, newcomm: *mut MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller gives valid result pointers.
    unsafe { start_duplicate("MPI_Comm_idup", comm, CommHints::default(), newcomm, request) }
}

/// Starts `MPI_Comm_dup_with_info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_idup_with_info(
    comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    const NAME: &str = "MPI_Comm_idup_with_info";
    match hints_in(info) {
        // SAFETY: the caller gives valid result pointers.
        Ok(hints) => unsafe { start_duplicate(NAME, comm, hints, newcomm, request) },
        Err(error) => finish(comm, NAME, Err(error)),
    }
}

/// The calling process's rank in a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int) -> c_int {
    local("MPI_Comm_rank", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let rank = unsafe { out(rank, "rank")? };
        let found = mpi.comms.get(number(comm))?.rank;
        rank.put(found as c_int);
        Ok(())
    })
}

/// Changes the hints of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) -> c_int {
    local("MPI_Comm_set_info", comm, |mpi| {
        let changed = mpi.comms.get_mut(number(comm))?;
        changed.hints.update(mpi.objects.infos.get(number(info))?)
    })
}

/// The number of processes in a communicator's (local) group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_size(comm: MPI_Comm, size: *mut c_int) -> c_int {
    local("MPI_Comm_size", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let size = unsafe { out(size, "size")? };
        let found = mpi.comms.get(number(comm))?.size();
        size.put(found as c_int);
        Ok(())
    })
}

/// One communicator per color, ranks ordered by key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_split(
    comm: MPI_Comm, color: c_int, key: c_int, newcomm: *mut MPI_Comm,
) -> c_int {
    let color = (color != MPI_UNDEFINED).then_some(color);
    let split = |mpi: &mut ProcessMpi| mpi.split(number(comm), color, key);
    // SAFETY: the caller gives a valid result pointer.
    unsafe { split_off("MPI_Comm_split", comm, (newcomm, "newcomm"), split) }
}

/// Duplicates a communicator; copies its attributes outside of the lock.
///
/// # Safety
/// `newcomm` is null or may be written.
unsafe fn duplicate(name: &str, comm: MPI_Comm, hints: CommHints, newcomm: *mut MPI_Comm) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { out(newcomm, "newcomm") }.and_then(|newcomm| {
        let attributes = copied_attributes(comm).inspect_err(|_| newcomm.put(MPI_COMM_NULL))?;
        let made = made(name, |mpi| {
            let (made, activity) = mpi.duplicate(number(comm), attributes)?;
            mpi.comms.get_mut(made)?.hints = hints;
            Ok((made, activity))
        })?;
        newcomm.put_handle(made);
        Ok(())
    });
    finish(comm, name, result)
}

/// [`duplicate`] with a request.
///
/// # Safety
/// `newcomm` and `request` are null or may be written.
unsafe fn start_duplicate(
    name: &str, comm: MPI_Comm, hints: CommHints, newcomm: *mut MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise.
    let prepared = unsafe { out(newcomm, "newcomm") }.and_then(|newcomm| {
        // Copy functions of the application must run only if a duplicate follows.
        // SAFETY: as above.
        unsafe { out(request, "request")? };
        Ok((newcomm, copied_attributes(comm)?))
    });
    match prepared {
        Err(error) => finish(comm, name, Err(error)),
        // SAFETY: the caller's promise.
        Ok((newcomm, attributes)) => unsafe {
            start(name, comm, request, |mpi| {
                let (made, activity) = mpi.duplicate(number(comm), attributes)?;
                mpi.comms.get_mut(made)?.hints = hints;
                newcomm.put_handle(made);
                Ok(activity)
            })
        },
    }
}

/// Creates a communicator, waits until it is valid and stores its handle.
///
/// # Safety
/// `newcomm` is null or may be written.
unsafe fn make(
    name: &str, comm: MPI_Comm, newcomm: *mut MPI_Comm,
    body: impl FnOnce(&mut ProcessMpi) -> Result<(Handle, Activity)>,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { out(newcomm, "newcomm") }
        .and_then(|newcomm| made(name, body).map(|made| newcomm.put_handle(made)));
    finish(comm, name, result)
}

/// Creates a communicator for the function `name`, and waits until it is valid.
pub(crate) fn made(
    name: &str, body: impl FnOnce(&mut ProcessMpi) -> Result<(Handle, Activity)>,
) -> Result<Handle> {
    let mut made = COMM_NULL;
    let outcome = wait_for(name, |mpi| {
        let (comm, activity) = body(mpi)?;
        made = comm;
        Ok(activity)
    })?;
    outcome.error.map_or(Ok(made), Err)
}

/// Creates a communicator from groups, with the common arguments of the functions without a parent
/// communicator: string, hints and error handler.
///
/// # Safety
/// The string is null or ends with a zero; `newcomm` is null or may be written.
pub(crate) unsafe fn without_parent(
    name: &str, (stringtag, info, errhandler): (*const c_char, MPI_Info, MPI_Errhandler),
    (newcomm, new_name): (*mut MPI_Comm, &str),
    create: impl FnOnce(&[u8], &Handler) -> Result<MPI_Comm>,
) -> c_int {
    let handler = PROCESS
        .early(|objects| objects.errhandlers.get_for(ErrhandlerKind::Comm, number(errhandler)));
    let handler = match handler {
        Ok(handler) => handler,
        Err(error) => return finish(Scope::None, name, Err(error)),
    };
    // SAFETY: the caller's promise.
    let result = unsafe { out(newcomm, new_name) }.and_then(|newcomm| {
        let hints = hints_in(info)?;
        // SAFETY: the caller's promise.
        let string = unsafe { string_at((stringtag, "stringtag"), MPI_MAX_STRINGTAG_LEN + 1)? };
        let created = create(&string, &handler)?;
        give_hints(number(created), hints)?;
        newcomm.put(created);
        Ok(())
    });
    // The communicator does not exist yet: the handler argument is called for errors.
    finish_by(handler, COMM_NULL, name, result)
}

/// Splits a communicator and waits for the new one.
///
/// # Safety
/// `newcomm` is null or may be written.
pub(crate) unsafe fn split_off(
    name: &str, comm: MPI_Comm, (newcomm, argument): (*mut MPI_Comm, &str),
    body: impl FnOnce(&mut ProcessMpi) -> Result<Split>,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { out(newcomm, argument) }
        .and_then(|newcomm| split(name, body).map(|made| newcomm.put_handle(made)));
    finish(comm, name, result)
}

/// Splits a communicator and waits for the new one, which may be `MPI_COMM_NULL`.
///
/// # Errors
/// Errors of `body` and of messages.
pub(crate) fn split(
    name: &str, body: impl FnOnce(&mut ProcessMpi) -> Result<Split>,
) -> Result<Handle> {
    let made = PROCESS.until(
        body,
        |mpi, split| mpi.end_split(split),
        |mpi, split| mpi.blocked_split(name, split),
    );
    made.map(|made| made.unwrap_or(COMM_NULL))
}

/// Sets the hints of a new communicator, unless it is `MPI_COMM_NULL`.
///
/// # Errors
/// `Comm` if there is no such communicator.
pub(crate) fn give_hints(made: Handle, hints: CommHints) -> Result {
    match made {
        COMM_NULL => Ok(()),
        _ => PROCESS.with_mpi(|mpi| mpi.comms.get_mut(made).map(|made| made.hints = hints)),
    }
}

/// The hints in an info object of the caller.
fn hints_in(info: MPI_Info) -> Result<CommHints> {
    PROCESS.early(|objects| CommHints::of(objects.infos.hints(number(info))?))
}

/// Frees a communicator. Deletes its attributes before, newest first, outside of the lock.
///
/// # Errors
/// `Comm` if there is no such communicator or if it is predefined; the code of a delete function,
/// in which case the communicator stays.
pub(crate) fn free(comm: Handle) -> Result {
    PROCESS.with_mpi(|mpi| mpi.comms.freeable(comm).map(drop))?;
    Holder::Comm(comm).delete_all()?;
    PROCESS.with_mpi(|mpi| mpi.free_comm(comm))
}

/// Copies of the attributes of a communicator for its duplicate.
fn copied_attributes(comm: MPI_Comm) -> Result<Attributes> {
    let mut stillborn = None;
    let attributes = Holder::Comm(number(comm)).copies(|attributes| {
        let made = PROCESS.with_mpi(|mpi| mpi.comm_like(number(comm), attributes))?;
        stillborn = Some(made);
        Ok(Holder::Comm(made))
    });
    if let Some(stillborn) = stillborn {
        PROCESS.with_mpi(|mpi| mpi.free_comm(stillborn))?;
    }
    attributes
}
