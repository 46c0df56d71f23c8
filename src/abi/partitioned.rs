//! Partitioned communication (MPI 5.0, chapter 4).
//!
//! `MPI_Pready` and `MPI_Parrived` look at the request without the process lock. The thread that completes
//! a message takes the lock to send it. If a partition has not arrived, `MPI_Parrived` makes progress,
//! unless another thread has the lock: that one makes progress, or soon lets others do so.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::{list, out};
use crate::abi::arguments::user_memory::{checked_count, message_memory};
use crate::abi::entry_point::{PROCESS, finish, local, number};
use crate::abi::handles::MPI_REQUEST_NULL;
use crate::abi::types::*;
use crate::mpi::handle::Handle;
use crate::mpi::partitioned::division::Partitions;
use crate::mpi::partitioned::operation::{PartitionedArguments, PartitionedKind};
use crate::mpi::partitioned::state::PartitionedState;
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, MpiError, Result};

/// Creates a request for a send in partitions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Psend_init(
    buf: *const c_void, partitions: c_int, count: MPI_Count, datatype: MPI_Datatype, dest: c_int,
    tag: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let elements = PartitionedElements { buf, partitions, count, datatype };
    // SAFETY: the caller's promise of the buffer and the request (§4.2.1).
    unsafe { init(PartitionedKind::Send, elements, (dest, tag), (comm, info), request) }
}

/// Creates a request for a receive in partitions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Precv_init(
    buf: *mut c_void, partitions: c_int, count: MPI_Count, datatype: MPI_Datatype, dest: c_int,
    tag: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let elements = PartitionedElements { buf, partitions, count, datatype };
    // SAFETY: the caller's promise of the buffer and the request (§4.2.1).
    unsafe { init(PartitionedKind::Receive, elements, (dest, tag), (comm, info), request) }
}

/// Marks a partition of a send as ready.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pready(partition: c_int, request: MPI_Request) -> c_int {
    let (handle, mut complete) = (number(request), None);
    let marked = look(handle, |state| {
        state.make_ready(std::iter::once(partition), |message| complete = Some(message))
    });
    finish(request, "MPI_Pready", send_complete(handle, marked, complete.as_slice()))
}

/// Marks the partitions from the first to the last as ready.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pready_range(
    partition_low: c_int, partition_high: c_int, request: MPI_Request,
) -> c_int {
    ready("MPI_Pready_range", request, partition_low..=partition_high)
}

/// Marks the partitions of a list as ready.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pready_list(
    length: c_int, array_of_partitions: *const c_int, request: MPI_Request,
) -> c_int {
    let name = "MPI_Pready_list";
    // SAFETY: the caller's promise of the array.
    match unsafe { list((length, array_of_partitions), "array_of_partitions") } {
        Ok(partitions) => ready(name, request, partitions.iter().copied()),
        Err(error) => finish(request, name, Err(error)),
    }
}

/// Asks whether a partition of a receive has arrived; true for an inactive request (§4.2.2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Parrived(
    request: MPI_Request, partition: c_int, flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise of the result.
    let result = unsafe { out(flag, "flag") }.and_then(|flag| {
        flag.put(has_arrived(request, partition)?.into());
        Ok(())
    });
    finish(request, "MPI_Parrived", result)
}

fn has_arrived(request: MPI_Request, partition: c_int) -> Result<bool> {
    if request == MPI_REQUEST_NULL {
        return PROCESS.with_mpi(|_| Ok(true));
    }
    let is_there = |state: &PartitionedState| state.is_there(partition);
    match look(number(request), is_there) {
        Some(Ok(false)) => {}
        Some(found) => return found,
        None => return PROCESS.with_mpi(|mpi| Err(mpi.not_partitioned(number(request)))),
    }
    let again = |_: &mut ProcessMpi| look(number(request), is_there).unwrap_or(Ok(false));
    Ok(PROCESS.try_test(again, |found| *found)?.unwrap_or(false))
}

/// Looks at a partitioned request without the lock.
fn look<T>(request: Handle, look: impl FnOnce(&PartitionedState) -> T) -> Option<T> {
    PROCESS.partitioned()?.look(request, look)
}

/// Marks several partitions as ready.
fn ready(
    name: &str, request: MPI_Request, partitions: impl Iterator<Item = c_int> + Clone,
) -> c_int {
    let (handle, mut complete) = (number(request), Vec::new());
    let marked =
        look(handle, |state| state.make_ready(partitions, |message| complete.push(message)));
    finish(request, name, send_complete(handle, marked, &complete))
}

/// Sends the messages that are complete, after the partitions of a request have been marked.
fn send_complete(handle: Handle, marked: Option<Result>, complete: &[u32]) -> Result {
    match marked {
        None => PROCESS.with_mpi(|mpi| Err(mpi.not_partitioned(handle))),
        Some(marked) if complete.is_empty() => marked,
        Some(marked) => PROCESS.with_mpi(|mpi| mpi.send_partitions(handle, complete)).and(marked),
    }
}

/// A buffer in partitions.
struct PartitionedElements {
    buf: *const c_void,
    partitions: c_int,
    /// Elements of a partition.
    count: MPI_Count,
    datatype: MPI_Datatype,
}

/// Creates a request.
///
/// # Safety
/// The standard's requirements for the buffer; `request` is null or may be written.
unsafe fn init(
    kind: PartitionedKind, elements: PartitionedElements, (rank, tag): (c_int, c_int),
    (comm, info): (MPI_Comm, MPI_Info), request: *mut MPI_Request,
) -> c_int {
    let name = match kind {
        PartitionedKind::Send => "MPI_Psend_init",
        PartitionedKind::Receive => "MPI_Precv_init",
    };
    local(name, comm, |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the result.
        let request = unsafe { out(request, "request")? };
        mpi.comms.get(number(comm))?;
        mpi.objects.infos.hints(number(info))?;
        let PartitionedElements { buf, partitions, count, datatype } = elements;
        let all = checked_partitions(partitions, count)?;
        // SAFETY: the caller's promise of the buffer.
        let memory = unsafe { message_memory(mpi, number(comm), buf, all, datatype)? };
        let bytes = memory.len() as u64 / partitions as u64;
        let partitions = Partitions { count: partitions as u32, bytes };
        let comm = number(comm);
        let arguments = PartitionedArguments { kind, partitions, rank, tag, comm };
        request.put_handle(mpi.create_partitioned(arguments, memory)?);
        Ok(())
    })
}

/// The elements of all partitions.
///
/// # Errors
/// `Arg` for fewer than one partition (§4.2.1); `Count` for a negative count or too many elements.
fn checked_partitions(partitions: c_int, count: MPI_Count) -> Result<MPI_Count> {
    if partitions < 1 {
        let why = format!("the number of partitions is {partitions}: expected 1 or more");
        return Err(ErrorClass::Arg.error(why));
    }
    checked_count(count)?;
    count.checked_mul(MPI_Count::from(partitions)).ok_or_else(|| too_many(partitions, count))
}

#[cold]
fn too_many(partitions: c_int, count: MPI_Count) -> Box<MpiError> {
    let why = format!(
        "{partitions} partitions of {count} elements are more elements than MPI_Count can hold"
    );
    ErrorClass::Count.error(why)
}
