//! One-sided operations (MPI 5.0, §12.3).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::out;
use crate::abi::arguments::user_memory::{checked_count, is_address, memory, memory_of};
use crate::abi::constants::MPI_SUCCESS;
use crate::abi::entry_point::{PROCESS, finish, local, number};
use crate::abi::handles::MPI_NO_OP;
use crate::abi::types::*;
use crate::abi::window::directly;
use crate::mpi::Memory;
use crate::mpi::datatype::{Datatype, PlainElement};
use crate::mpi::handle::Handle;
use crate::mpi::op::{Op, Operator};
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use crate::mpi::window::OperationNumber;
use crate::mpi::window::direct::{DirectAccumulate, DirectPlace};
use crate::mpi::window::operation::{
    AccumulateArguments, CompletionForm, Started, TargetArguments,
};
use crate::process::ProcessMpi;
use crate::process::contention::Contention;
use platform::base::{ErrorClass, Result, Span};

/// Address, count and datatype at the origin.
type OriginBuffer = (*const c_void, MPI_Count, MPI_Datatype);
/// Rank, displacement, count and datatype at the target.
type TargetBuffer = (c_int, MPI_Aint, MPI_Count, MPI_Datatype);

/// Combines data of the origin into the memory of a target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Accumulate_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win,
) -> c_int {
    let from = (origin_addr, origin_count, origin_datatype);
    let to = (target_rank, target_disp, target_count, target_datatype);
    // SAFETY: the caller's promise of the buffer.
    unsafe { accumulate_now("MPI_Accumulate", from, None, to, op, win) }
}

/// Replaces a number of a target if it equals another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Compare_and_swap(
    origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void,
    datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win,
) -> c_int {
    let to = (target_rank, target_disp, 1, datatype);
    let buffers = [origin_addr, compare_addr, result_addr.cast_const()];
    // SAFETY: the caller's promise of the three buffers of one element.
    unsafe {
        if swap_directly(buffers, &to, win) {
            return MPI_SUCCESS;
        }
        swap_of_any_kind(buffers, to, win)
    }
}

/// [`PMPI_Get_accumulate_c`] of one element of a predefined datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Fetch_and_op(
    origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win,
) -> c_int {
    let (from, old) = ((origin_addr, 1, datatype), (result_addr.cast_const(), 1, datatype));
    let to = (target_rank, target_disp, 1, datatype);
    // SAFETY: the caller's promise of both buffers.
    unsafe {
        if let Some(accumulate) = plain_accumulate(from, Some(old), &to, op)
            && directly(win, |window, _| window.accumulate(accumulate, place(&to)))
        {
            return MPI_SUCCESS;
        }
        fetch_and_op_of_any_kind(from, old, to, op, win)
    }
}

/// Copies memory of a target to the origin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_c(
    origin_addr: *mut c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, win: MPI_Win,
) -> c_int {
    let into = (origin_addr.cast_const(), origin_count, origin_datatype);
    let from = (target_rank, target_disp, target_count, target_datatype);
    // SAFETY: the caller's promise of the buffer.
    if let Some(into) = unsafe { plain(into, &from) }
        && directly(win, |window, _| window.get(into, place(&from)))
    {
        return MPI_SUCCESS;
    }
    // SAFETY: as above.
    unsafe { get_of_any_kind(into, from, win) }
}

/// Combines data of the origin into the memory of a target, and returns the old values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_accumulate_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    result_addr: *mut c_void, result_count: MPI_Count, result_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win,
) -> c_int {
    let from = (origin_addr, origin_count, origin_datatype);
    let old = (result_addr.cast_const(), result_count, result_datatype);
    let to = (target_rank, target_disp, target_count, target_datatype);
    // SAFETY: the caller's promise of both buffers.
    unsafe { accumulate_now("MPI_Get_accumulate", from, Some(old), to, op, win) }
}

/// Copies data of the origin to the memory of a target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Put_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, win: MPI_Win,
) -> c_int {
    let from = (origin_addr, origin_count, origin_datatype);
    let to = (target_rank, target_disp, target_count, target_datatype);
    // SAFETY: the caller's promise of the buffer.
    if let Some(from) = unsafe { plain(from, &to) }
        && directly(win, |window, _| window.put(from, place(&to)))
    {
        return MPI_SUCCESS;
    }
    // SAFETY: as above.
    unsafe { put_of_any_kind(from, to, win) }
}

/// [`PMPI_Accumulate_c`] with a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Raccumulate_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    let from = (origin_addr, origin_count, origin_datatype);
    let to = (target_rank, target_disp, target_count, target_datatype);
    // SAFETY: the caller's promise of the buffer and the request.
    unsafe {
        start("MPI_Raccumulate", win, request, |mpi, completion| {
            accumulate(mpi, from, None, to, op, win, completion)
        })
    }
}

/// [`PMPI_Get_c`] with a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rget_c(
    origin_addr: *mut c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    let into = (origin_addr.cast_const(), origin_count, origin_datatype);
    let from = (target_rank, target_disp, target_count, target_datatype);
    // SAFETY: the caller's promise of the buffer and the request.
    unsafe {
        start("MPI_Rget", win, request, |mpi, completion| {
            get(mpi, into, from, win, completion).map(Started::Now)
        })
    }
}

/// [`PMPI_Get_accumulate_c`] with a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rget_accumulate_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    result_addr: *mut c_void, result_count: MPI_Count, result_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    let from = (origin_addr, origin_count, origin_datatype);
    let old = (result_addr.cast_const(), result_count, result_datatype);
    let to = (target_rank, target_disp, target_count, target_datatype);
    // SAFETY: the caller's promise of both buffers and the request.
    unsafe {
        start("MPI_Rget_accumulate", win, request, |mpi, completion| {
            accumulate(mpi, from, Some(old), to, op, win, completion)
        })
    }
}

/// [`PMPI_Put_c`] with a request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rput_c(
    origin_addr: *const c_void, origin_count: MPI_Count, origin_datatype: MPI_Datatype,
    target_rank: c_int, target_disp: MPI_Aint, target_count: MPI_Count,
    target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request,
) -> c_int {
    let from = (origin_addr, origin_count, origin_datatype);
    let to = (target_rank, target_disp, target_count, target_datatype);
    // SAFETY: the caller's promise of the buffer and the request.
    unsafe {
        start("MPI_Rput", win, request, |mpi, completion| {
            put(mpi, from, to, win, completion).map(Started::Now)
        })
    }
}

/// The bytes of elements of a predefined datatype that the target has alike; `None` for all others, also for
/// wrong arguments.
///
/// # Safety
/// The contract of `Span::new` for these bytes.
#[inline(always)]
unsafe fn plain((buf, count, datatype): OriginBuffer, to: &TargetBuffer) -> Option<Span> {
    let size = PlainElement::of(number(datatype)).size;
    let bytes = usize::try_from(count).ok()?.checked_mul(size.into())?;
    let is_alike = count == to.2 && datatype == to.3;
    // SAFETY: the caller's promise.
    (is_alike && is_address(buf) && bytes > 0).then(|| unsafe { Span::new(buf.cast(), bytes) })
}

#[inline(always)]
fn place(&(rank, displacement, ..): &TargetBuffer) -> DirectPlace {
    DirectPlace { rank, displacement }
}

/// # Safety
/// The standard's requirements for the buffer of the origin.
unsafe fn put(
    mpi: &mut ProcessMpi, (buf, count, datatype): OriginBuffer, to: TargetBuffer, win: MPI_Win,
    completion: CompletionForm<'_>,
) -> Result<Option<OperationNumber>> {
    // SAFETY: the caller's promise.
    let from = unsafe { memory(mpi, buf, count, datatype)? };
    let elements = mpi.objects.datatypes.committed(number(to.3))?;
    let window = mpi.windows.get_mut(number(win))?;
    window.put(&mut mpi.engine, &from, arguments(to, elements)?, completion)
}

/// # Safety
/// The standard's requirements for the buffer of the origin.
unsafe fn get(
    mpi: &mut ProcessMpi, (buf, count, datatype): OriginBuffer, from: TargetBuffer, win: MPI_Win,
    completion: CompletionForm<'_>,
) -> Result<Option<OperationNumber>> {
    // SAFETY: the caller's promise.
    let into = unsafe { memory(mpi, buf, count, datatype)? };
    let elements = mpi.objects.datatypes.committed(number(from.3))?;
    let window = mpi.windows.get_mut(number(win))?;
    window.get(&mut mpi.engine, into, arguments(from, elements)?, completion)
}

/// An accumulate that ends with its epoch.
///
/// # Safety
/// The standard's requirements for the buffers of the origin.
#[inline(always)]
unsafe fn accumulate_now(
    name: &str, from: OriginBuffer, old: Option<OriginBuffer>, to: TargetBuffer, op: MPI_Op,
    win: MPI_Win,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(accumulate) = plain_accumulate(from, old, &to, op)
            && directly(win, |window, _| window.accumulate(accumulate, place(&to)))
        {
            return MPI_SUCCESS;
        }
        accumulate_of_any_kind(name, from, old, to, op, win)
    }
}

/// An accumulate for the short way; `None` if it has to take the long one.
///
/// # Safety
/// As of [`accumulate_now`].
#[inline(always)]
unsafe fn plain_accumulate(
    from: OriginBuffer, old: Option<OriginBuffer>, to: &TargetBuffer, op: MPI_Op,
) -> Option<DirectAccumulate> {
    // SAFETY: the caller's promise.
    let span = |buffer| unsafe { plain(buffer, to) };
    let old_values = old.map_or(Some(Span::EMPTY), span)?;
    // The operand of MPI_NO_OP is not used (§12.3.4), so it may be any.
    let operand = if op == MPI_NO_OP { old? } else { from };
    let [operator, datatype] = [number(op), number(to.3)];
    Some(DirectAccumulate { operator, datatype, operand: span(operand)?, old_values })
}

/// # Safety
/// As of [`accumulate_now`].
#[inline(never)]
unsafe fn accumulate_of_any_kind(
    name: &str, from: OriginBuffer, old: Option<OriginBuffer>, to: TargetBuffer, op: MPI_Op,
    win: MPI_Win,
) -> c_int {
    retried(name, win, |mpi| {
        // SAFETY: the caller's promise.
        unsafe { accumulate(mpi, from, old, to, op, win, CompletionForm::Epoch) }
    })
}

/// # Safety
/// As of [`accumulate_now`].
#[inline(never)]
unsafe fn fetch_and_op_of_any_kind(
    from: OriginBuffer, old: OriginBuffer, to: TargetBuffer, op: MPI_Op, win: MPI_Win,
) -> c_int {
    retried("MPI_Fetch_and_op", win, |mpi| {
        let elements = mpi.objects.datatypes.committed(number(to.3))?;
        if elements.as_predefined().is_none() {
            let why = format!("{}: expected a predefined datatype", elements.describe());
            return Err(ErrorClass::Type.error(why));
        }
        // SAFETY: the caller's promise.
        unsafe { accumulate(mpi, from, Some(old), to, op, win, CompletionForm::Epoch) }
    })
}

/// Whether the short way has compared and swapped.
///
/// # Safety
/// `new`, `compared` and `old` are buffers of one element, as of [`PMPI_Compare_and_swap`].
#[inline(always)]
unsafe fn swap_directly(buffers: [*const c_void; 3], to: &TargetBuffer, win: MPI_Win) -> bool {
    if !PlainElement::of(number(to.3)).is_integer {
        return false;
    }
    // SAFETY: the caller's promise.
    let [Some(new), Some(compared), Some(old)] =
        buffers.map(|buf| unsafe { plain((buf, 1, to.3), to) })
    else {
        return false;
    };
    directly(win, |window, _| window.compare_and_swap([new, compared], old, place(to)))
}

/// # Safety
/// As of [`swap_directly`].
#[inline(never)]
unsafe fn swap_of_any_kind(buffers: [*const c_void; 3], to: TargetBuffer, win: MPI_Win) -> c_int {
    retried("MPI_Compare_and_swap", win, |mpi| {
        let elements = mpi.objects.datatypes.committed(number(to.3))?;
        // SAFETY: the caller's promise.
        let [new, compared, old] = buffers.map(|buf| unsafe { memory_of(buf, 1, elements) });
        let window = mpi.windows.get_mut(number(win))?;
        window.compare_and_swap(
            &mut mpi.engine,
            [&new?, &compared?],
            old?,
            arguments(to, elements)?,
        )
    })
}

/// # Safety
/// As of [`put`].
#[inline(never)]
unsafe fn put_of_any_kind(from: OriginBuffer, to: TargetBuffer, win: MPI_Win) -> c_int {
    local("MPI_Put", win, |mpi| {
        // SAFETY: the caller's promise.
        unsafe { put(mpi, from, to, win, CompletionForm::Epoch) }.map(drop)
    })
}

/// # Safety
/// As of [`get`].
#[inline(never)]
unsafe fn get_of_any_kind(into: OriginBuffer, from: TargetBuffer, win: MPI_Win) -> c_int {
    local("MPI_Get", win, |mpi| {
        // SAFETY: the caller's promise.
        unsafe { get(mpi, into, from, win, CompletionForm::Epoch) }.map(drop)
    })
}

/// # Safety
/// As of [`accumulate_now`].
unsafe fn accumulate(
    mpi: &mut ProcessMpi, from: OriginBuffer, old: Option<OriginBuffer>, to: TargetBuffer,
    op: MPI_Op, win: MPI_Win, completion: CompletionForm<'_>,
) -> Result<Started> {
    let operator = match mpi.objects.ops.get(number(op))? {
        Op::Predefined(operator) => operator,
        Op::User(_) => {
            let why = "operations of the application are not defined for one-sided communication";
            return Err(ErrorClass::Op.error(why));
        }
    };
    let datatypes = &mpi.objects.datatypes;
    let part = |(buf, count, datatype): OriginBuffer| -> Result<_> {
        let datatype = datatypes.committed(number(datatype))?;
        // SAFETY: the caller's promise.
        let memory = unsafe { memory_of(buf, count, datatype)? };
        Ok((memory, datatype))
    };
    let target = datatypes.committed(number(to.3))?;
    let (data, datatype) = match operator {
        // The buffer, its count and its datatype are not used (§12.3.4).
        Operator::NoOp => (Memory::EMPTY, target),
        _ => part(from)?,
    };
    let old = old.map(part).transpose()?;
    let window = mpi.windows.get_mut(number(win))?;
    let to = arguments(to, target)?;
    let arguments = AccumulateArguments {
        operator,
        from: &data,
        datatype,
        old,
        booleans: mpi.objects.fortran.booleans(),
    };
    window.accumulate(&mut mpi.engine, arguments, to, completion)
}

fn arguments(
    (rank, displacement, count, _): TargetBuffer, datatype: &Datatype,
) -> Result<TargetArguments<'_>> {
    Ok(TargetArguments { rank, displacement, count: checked_count(count)?, datatype })
}

/// Starts an operation on a window and stores its request.
///
/// # Safety
/// `request` is null or may be written.
unsafe fn start(
    name: &str, win: MPI_Win, request: *mut MPI_Request,
    mut body: impl FnMut(&mut ProcessMpi, CompletionForm<'_>) -> Result<Started>,
) -> c_int {
    retried(name, win, |mpi| {
        // SAFETY: the caller's promise.
        let request = unsafe { out(request, "request")? };
        mpi.check_request_space()?;
        let window: Handle = number(win);
        let activity = match body(mpi, CompletionForm::Request(name))? {
            contended @ Started::Contended(_) => return Ok(contended),
            Started::Now(Some(operation)) => mpi.access_activity(window, operation)?,
            Started::Now(None) => Activity::Complete(Status::EMPTY),
        };
        let comm = mpi.windows.get(window)?.comm;
        request.put_handle(mpi.request(comm, activity)?);
        Ok(Started::Now(None))
    })
}

/// Body of a function that tries until no other rank of this node accumulates on the same target.
#[inline]
fn retried(
    name: &str, win: MPI_Win, mut body: impl FnMut(&mut ProcessMpi) -> Result<Started>,
) -> c_int {
    let mut contention = Contention::default();
    let mut attempts = || loop {
        let Started::Contended(target) = PROCESS.with_mpi(&mut body)? else { return Ok(()) };
        PROCESS.yield_to(&mut contention, |mpi| mpi.accumulating(number(win), target))?;
    };
    finish(win, name, attempts())
}
