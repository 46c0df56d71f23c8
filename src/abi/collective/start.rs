//! Common part of all forms of a collective operation: from the arguments in C to an operation that
//! is ready to start (MPI 5.0, chapter 6).
//!
//! Arguments that are not significant on a rank are not read.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::out;
use crate::abi::arguments::user_memory::{checked_count, is_in_place, memory_at, message_memory};
use crate::abi::arguments::width::Integers;
use crate::abi::entry_point::{PROCESS, finish, number, start, wait_for};
use crate::abi::reduction::user_function;
use crate::abi::types::*;
use crate::mpi::Memory;
use crate::mpi::collective::binding::CallForm;
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::calls::roots::RootRole;
use crate::mpi::collective::reduction_operator::ReductionOperator;
use crate::mpi::datatype::PackedForm;
use crate::mpi::objects::Objects;
use crate::mpi::op::Op;
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, MpiError, Result};

/// A buffer in C: `count` elements of `datatype` at `buf`, for each rank or in all.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    pub(crate) buf: *const c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
}

#[inline]
pub(crate) fn elements(
    buf: *const c_void, count: impl Into<MPI_Count>, datatype: MPI_Datatype,
) -> Elements {
    Elements { buf, count: count.into(), datatype }
}

/// A buffer in C with a block for each rank.
#[derive(Clone, Copy)]
pub(crate) struct BlockArguments {
    /// Origin of displacements.
    pub(crate) buf: *const c_void,
    /// Number of elements of each block.
    counts: Integers,
    /// Displacement of each block: in extents of the datatype or, with a datatype for each block,
    /// in bytes.
    displacements: Integers,
    /// Datatypes of the blocks.
    types: BlockTypes,
}

impl BlockArguments {
    pub(crate) fn new(
        buf: *const c_void, counts: Integers, displacements: Integers, types: BlockTypes,
    ) -> Self {
        Self { buf, counts, displacements, types }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum BlockTypes {
    /// One datatype for all blocks.
    One(MPI_Datatype),
    /// Array with a datatype for each block.
    Each(*const MPI_Datatype),
}

/// The arguments of a reduction: `count` elements of `datatype` are combined by `op`.
#[derive(Clone, Copy)]
pub(crate) struct ReductionArguments {
    send: Elements,
    receive: Elements,
    op: MPI_Op,
}

#[inline]
pub(crate) fn reduction(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op,
) -> ReductionArguments {
    let buffer = |buf| elements(buf, count, datatype);
    ReductionArguments { send: buffer(sendbuf), receive: buffer(recvbuf), op }
}

/// Executes a collective call on `comm`.
#[inline]
pub(crate) fn wait(
    name: &str, comm: MPI_Comm, parse: impl FnOnce(&mut ProcessMpi) -> Result<Call>,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        let call = parse(mpi);
        mpi.launch_or_report(name, number(comm), CallForm::Blocking, call)
    };
    let result = wait_for(name, body).and_then(|outcome| outcome.error.map_or(Ok(()), Err));
    finish(comm, name, result)
}

/// Starts a collective call on `comm` and stores its request.
///
/// # Safety
/// `request` is null or may be written.
#[inline]
pub(crate) unsafe fn begin(
    name: &str, comm: MPI_Comm, request: *mut MPI_Request,
    parse: impl FnOnce(&mut ProcessMpi) -> Result<Call>,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        let call = parse(mpi);
        mpi.launch_or_report(name, number(comm), CallForm::Nonblocking, call)
    };
    // SAFETY: the caller's promise.
    unsafe { start(name, comm, request, body) }
}

/// Creates a persistent request for a collective call on `comm` and stores it. All processes of the
/// communicator create these requests in the same order; the requests may start in any order.
///
/// # Safety
/// `request` is null or may be written.
#[inline]
pub(crate) unsafe fn init(
    name: &str, (comm, info): (MPI_Comm, MPI_Info), request: *mut MPI_Request,
    parse: impl FnOnce(&mut ProcessMpi) -> Result<Call>,
) -> c_int {
    // SAFETY: the caller's promise of the result.
    let result = match unsafe { out(request, "request") } {
        Ok(result) => result,
        Err(error) => return finish(comm, name, Err(error)),
    };
    let start = |mpi: &mut ProcessMpi| {
        mpi.comms.get(number(comm))?;
        mpi.objects.infos.hints(number(info))?;
        let call = parse(mpi);
        mpi.begin_persistent_init(name, number(comm), call)
    };
    let created = PROCESS.until(
        start,
        |mpi, init| mpi.end_persistent_init(init),
        |mpi, init| mpi.persistent_init_wait_report(name, init),
    );
    finish(comm, name, created.map(|request| result.put_handle(request)))
}

/// The function that combines elements of `datatype` with `op`.
///
/// # Errors
/// `Op`, `Type`; also `Op` if the operation is not defined for this datatype.
pub(crate) fn combining(
    objects: &Objects, op: MPI_Op, datatype: MPI_Datatype,
) -> Result<ReductionOperator> {
    let op = objects.ops.get(number(op))?;
    let elements = objects.datatypes.committed(number(datatype))?;
    match op {
        Op::Predefined(operator) => {
            ReductionOperator::predefined(operator, elements, objects.fortran.booleans())
        }
        Op::User(function) => {
            let handle = elements.without_sections().unwrap_or_else(|| number(datatype));
            let handle_use = objects.datatypes.handle_use(handle);
            Ok(user_function::combining(function, elements, (handle, handle_use)))
        }
    }
}

/// [`combining`] for a reduction on `comm`: of elements as "external32" if its processes are unlike.
///
/// # Errors
/// As for [`combining`].
fn combining_on(
    mpi: &ProcessMpi, comm: MPI_Comm, op: MPI_Op, datatype: MPI_Datatype,
) -> Result<ReductionOperator> {
    let native = combining(&mpi.objects, op, datatype)?;
    if !mpi.comms.has_unlike() || mpi.comms.packed_form(number(comm))? == PackedForm::Native {
        return Ok(native);
    }
    Ok(native.external(mpi.objects.datatypes.committed(number(datatype))?))
}

/// `MPI_Bcast`.
///
/// # Safety
/// The standard's requirements for the buffer.
#[inline]
pub(crate) unsafe fn bcast(
    mpi: &mut ProcessMpi, buffer: Elements, root: c_int, comm: MPI_Comm,
) -> Result<Call> {
    let root = resolve_root(mpi, root, comm)?;
    if root.role == RootRole::ProcNull {
        return Ok(Call::proc_null(number(comm)));
    }
    // SAFETY: the caller's promise.
    let buffer = unsafe { elements_memory(mpi, comm, buffer, 1)? };
    Ok(Call::bcast(number(comm), root.member, buffer))
}

/// `MPI_Gather`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn gather(
    mpi: &mut ProcessMpi, send: Elements, receive: Elements, root: c_int, comm: MPI_Comm,
) -> Result<Call> {
    let root = resolve_root(mpi, root, comm)?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        match root.role {
            RootRole::Root => (
                memory_unless_in_place(mpi, comm, send, 1)?,
                Some(elements_memory(mpi, comm, receive, root.ranks)?),
            ),
            RootRole::InterRoot => (None, Some(elements_memory(mpi, comm, receive, root.ranks)?)),
            RootRole::NonRoot => (Some(elements_memory(mpi, comm, send, 1)?), None),
            RootRole::ProcNull => return Ok(Call::proc_null(number(comm))),
        }
    };
    check_disjoint(&send, &receive)?;
    mpi.gather(number(comm), root.member, send, receive)
}

/// `MPI_Gatherv`.
///
/// # Safety
/// The standard's requirements for both buffers and the arrays.
pub(crate) unsafe fn gatherv(
    mpi: &mut ProcessMpi, send: Elements, receive: BlockArguments, root: c_int, comm: MPI_Comm,
) -> Result<Call> {
    let root = resolve_root(mpi, root, comm)?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        match root.role {
            RootRole::Root => (
                memory_unless_in_place(mpi, comm, send, 1)?,
                block_memories(mpi, comm, receive, root.ranks)?,
            ),
            RootRole::InterRoot => (None, block_memories(mpi, comm, receive, root.ranks)?),
            RootRole::NonRoot => (Some(elements_memory(mpi, comm, send, 1)?), Vec::new()),
            RootRole::ProcNull => return Ok(Call::proc_null(number(comm))),
        }
    };
    check_disjoint(&send, &receive)?;
    mpi.gatherv(number(comm), root.member, send, receive)
}

/// `MPI_Scatter`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn scatter(
    mpi: &mut ProcessMpi, send: Elements, receive: Elements, root: c_int, comm: MPI_Comm,
) -> Result<Call> {
    let root = resolve_root(mpi, root, comm)?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        match root.role {
            RootRole::Root => (
                Some(elements_memory(mpi, comm, send, root.ranks)?),
                memory_unless_in_place(mpi, comm, receive, 1)?,
            ),
            RootRole::InterRoot => (Some(elements_memory(mpi, comm, send, root.ranks)?), None),
            RootRole::NonRoot => (None, Some(elements_memory(mpi, comm, receive, 1)?)),
            RootRole::ProcNull => return Ok(Call::proc_null(number(comm))),
        }
    };
    check_disjoint(&send, &receive)?;
    mpi.scatter(number(comm), root.member, send, receive)
}

/// `MPI_Scatterv`.
///
/// # Safety
/// The standard's requirements for both buffers and the arrays.
pub(crate) unsafe fn scatterv(
    mpi: &mut ProcessMpi, send: BlockArguments, receive: Elements, root: c_int, comm: MPI_Comm,
) -> Result<Call> {
    let root = resolve_root(mpi, root, comm)?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        match root.role {
            RootRole::Root => (
                block_memories(mpi, comm, send, root.ranks)?,
                memory_unless_in_place(mpi, comm, receive, 1)?,
            ),
            RootRole::InterRoot => (block_memories(mpi, comm, send, root.ranks)?, None),
            RootRole::NonRoot => (Vec::new(), Some(elements_memory(mpi, comm, receive, 1)?)),
            RootRole::ProcNull => return Ok(Call::proc_null(number(comm))),
        }
    };
    check_disjoint(&receive, &send)?;
    mpi.scatterv(number(comm), root.member, send, receive)
}

/// `MPI_Allgather`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn allgather(
    mpi: &mut ProcessMpi, send: Elements, receive: Elements, comm: MPI_Comm,
) -> Result<Call> {
    let ranks = partner_count(mpi, send.buf, comm)?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (memory_unless_in_place(mpi, comm, send, 1)?, elements_memory(mpi, comm, receive, ranks)?)
    };
    check_disjoint(&send, [&receive])?;
    mpi.allgather(number(comm), send, receive)
}

/// `MPI_Allgatherv`.
///
/// # Safety
/// The standard's requirements for both buffers and the arrays.
pub(crate) unsafe fn allgatherv(
    mpi: &mut ProcessMpi, send: Elements, receive: BlockArguments, comm: MPI_Comm,
) -> Result<Call> {
    let ranks = partner_count(mpi, send.buf, comm)?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (memory_unless_in_place(mpi, comm, send, 1)?, block_memories(mpi, comm, receive, ranks)?)
    };
    check_disjoint(&send, &receive)?;
    mpi.allgatherv(number(comm), send, receive)
}

/// `MPI_Alltoall`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn alltoall(
    mpi: &mut ProcessMpi, send: Elements, receive: Elements, comm: MPI_Comm,
) -> Result<Call> {
    let ranks = partner_count(mpi, send.buf, comm)?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (
            memory_unless_in_place(mpi, comm, send, ranks)?,
            elements_memory(mpi, comm, receive, ranks)?,
        )
    };
    check_disjoint(&send, [&receive])?;
    mpi.alltoall(number(comm), send, receive)
}

/// `MPI_Alltoallv` and `MPI_Ialltoallw`.
///
/// # Safety
/// The standard's requirements for both buffers and the arrays.
pub(crate) unsafe fn alltoallv(
    mpi: &mut ProcessMpi, send: BlockArguments, receive: BlockArguments, comm: MPI_Comm,
) -> Result<Call> {
    let ranks = partner_count(mpi, send.buf, comm)?;
    let in_place = is_in_place(send.buf);
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (
            if in_place { None } else { Some(block_memories(mpi, comm, send, ranks)?) },
            block_memories(mpi, comm, receive, ranks)?,
        )
    };
    for (one, other) in send.iter().flatten().zip(&receive) {
        check_disjoint([one], [other])?;
    }
    mpi.alltoallv(number(comm), send, receive)
}

/// `MPI_Reduce`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn reduce(
    mpi: &mut ProcessMpi, ReductionArguments { send, receive, op }: ReductionArguments,
    root: c_int, comm: MPI_Comm,
) -> Result<Call> {
    let root = resolve_root(mpi, root, comm)?;
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        match root.role {
            RootRole::Root => (
                memory_unless_in_place(mpi, comm, send, 1)?,
                Some(elements_memory(mpi, comm, receive, 1)?),
            ),
            RootRole::InterRoot => (None, Some(elements_memory(mpi, comm, receive, 1)?)),
            RootRole::NonRoot => (Some(elements_memory(mpi, comm, send, 1)?), None),
            RootRole::ProcNull => return Ok(Call::proc_null(number(comm))),
        }
    };
    check_disjoint(&from, &to)?;
    let combining = combining_on(mpi, comm, op, send.datatype)?;
    Ok(Call::reduce(number(comm), root.member, from, to, combining))
}

/// `MPI_Allreduce`.
///
/// # Safety
/// The standard's requirements for both buffers.
#[inline]
pub(crate) unsafe fn allreduce(
    mpi: &mut ProcessMpi, ReductionArguments { send, receive, op }: ReductionArguments,
    comm: MPI_Comm,
) -> Result<Call> {
    partner_count(mpi, send.buf, comm)?;
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        (memory_unless_in_place(mpi, comm, send, 1)?, elements_memory(mpi, comm, receive, 1)?)
    };
    check_disjoint(&from, [&to])?;
    let combining = combining_on(mpi, comm, op, send.datatype)?;
    Ok(Call::allreduce(number(comm), from, to, combining))
}

/// `MPI_Reduce_scatter_block`: the count is that of one rank's block.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn reduce_scatter_block(
    mpi: &mut ProcessMpi, ReductionArguments { send, receive, op }: ReductionArguments,
    comm: MPI_Comm,
) -> Result<Call> {
    partner_count(mpi, send.buf, comm)?;
    let ranks = mpi.comms.get(number(comm))?.size() as usize;
    let received = if is_in_place(send.buf) { ranks } else { 1 };
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        (
            memory_unless_in_place(mpi, comm, send, ranks)?,
            elements_memory(mpi, comm, receive, received)?,
        )
    };
    check_disjoint(&from, [&to])?;
    let combining = combining_on(mpi, comm, op, send.datatype)?;
    mpi.reduce_scatter_block(number(comm), from, to, combining)
}

/// `MPI_Reduce_scatter`: `counts` has the number of elements of each rank's block and replaces the
/// count of the reduction.
///
/// # Safety
/// The standard's requirements for both buffers and the array.
pub(crate) unsafe fn reduce_scatter(
    mpi: &mut ProcessMpi, ReductionArguments { send, receive, op }: ReductionArguments,
    counts: Integers, comm: MPI_Comm,
) -> Result<Call> {
    partner_count(mpi, send.buf, comm)?;
    let on = mpi.comms.get(number(comm))?;
    let (own, ranks) = (on.rank as usize, on.size() as usize);
    // SAFETY: the caller's promise.
    let counts = unsafe { lengths(counts, ranks)? };
    let total = counts.iter().try_fold(0, |total: MPI_Count, count| total.checked_add(*count));
    let count =
        total.ok_or_else(|| ErrorClass::Count.error("the counts of all ranks are too many"))?;
    let received = if is_in_place(send.buf) { count } else { counts[own] };
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        let receive = elements_memory(mpi, comm, Elements { count: received, ..receive }, 1)?;
        (memory_unless_in_place(mpi, comm, Elements { count, ..send }, 1)?, receive)
    };
    let form = mpi.comms.packed_form(number(comm))?;
    let size = mpi.objects.datatypes.committed(number(send.datatype))?.packed_size(form);
    let blocks: Vec<usize> = counts.iter().map(|count| *count as usize * size).collect();
    check_disjoint(&from, [&to])?;
    let combining = combining_on(mpi, comm, op, send.datatype)?;
    mpi.reduce_scatter(number(comm), from, to, &blocks, combining)
}

/// `MPI_Scan`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn scan(
    mpi: &mut ProcessMpi, ReductionArguments { send, receive, op }: ReductionArguments,
    comm: MPI_Comm,
) -> Result<Call> {
    mpi.comms.get(number(comm))?.check_intra("a scan")?;
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        (memory_unless_in_place(mpi, comm, send, 1)?, elements_memory(mpi, comm, receive, 1)?)
    };
    check_disjoint(&from, [&to])?;
    let combining = combining_on(mpi, comm, op, send.datatype)?;
    Ok(Call::scan(number(comm), from, to, combining))
}

/// `MPI_Exscan`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn exscan(
    mpi: &mut ProcessMpi, ReductionArguments { send, receive, op }: ReductionArguments,
    comm: MPI_Comm,
) -> Result<Call> {
    let on = mpi.comms.get(number(comm))?;
    on.check_intra("a scan")?;
    let is_first = on.rank == 0;
    // SAFETY: the caller's promise.
    let from = unsafe { memory_unless_in_place(mpi, comm, send, 1)? };
    // The first rank has no result, so its receive buffer is not significant.
    let received = !is_first || from.is_none();
    // SAFETY: the caller's promise.
    let to = unsafe { received.then(|| elements_memory(mpi, comm, receive, 1)).transpose()? };
    check_disjoint(&from, &to)?;
    let combining = combining_on(mpi, comm, op, send.datatype)?;
    Ok(Call::exscan(number(comm), from, to, combining))
}

/// # Errors
/// `Buffer` if two buffers of an operation overlap (§6.1: no aliasing).
#[inline]
pub(crate) fn check_disjoint<'a, 'b>(
    one: impl IntoIterator<Item = &'a Memory>, other: impl IntoIterator<Item = &'b Memory> + Clone,
) -> Result {
    for one in one {
        if other.clone().into_iter().any(|other| one.overlaps(other)) {
            return Err(aliased());
        }
    }
    Ok(())
}

#[cold]
fn aliased() -> Box<MpiError> {
    ErrorClass::Buffer.error(
        "the send buffer and the receive buffer overlap; MPI_IN_PLACE is for one buffer as both",
    )
}

/// Root of an operation from the view of this rank.
struct Root {
    role: RootRole,
    /// Index of the root in the group.
    member: u32,
    /// Number of ranks with a block at the root.
    ranks: usize,
}

#[inline]
fn resolve_root(mpi: &ProcessMpi, root: c_int, comm: MPI_Comm) -> Result<Root> {
    let comm = mpi.comms.get(number(comm))?;
    let (seat, member) = comm.root_role(root)?;
    Ok(Root { role: seat, member, ranks: comm.targets().size() as usize })
}

/// Number of ranks that exchange blocks with this rank. `MPI_IN_PLACE` is rejected on
/// intercommunicators.
#[inline]
fn partner_count(mpi: &ProcessMpi, sendbuf: *const c_void, comm: MPI_Comm) -> Result<usize> {
    let comm = mpi.comms.get(number(comm))?;
    if is_in_place(sendbuf) {
        comm.check_in_place()?;
    }
    Ok(comm.targets().size() as usize)
}

/// Memory of the elements for `ranks` ranks.
///
/// # Safety
/// The standard's requirements for the buffer.
#[inline]
pub(crate) unsafe fn elements_memory(
    mpi: &ProcessMpi, comm: MPI_Comm, of: Elements, ranks: usize,
) -> Result<Memory> {
    let count = MPI_Count::try_from(checked_count(of.count)?.saturating_mul(ranks));
    let count = count.map_err(|_| {
        let why = format!("{} elements for each of {ranks} ranks are too many", of.count);
        ErrorClass::Count.error(why)
    })?;
    // SAFETY: the caller's promise.
    unsafe { message_memory(mpi, number(comm), of.buf, count, of.datatype) }
}

/// Memory of the elements for `ranks` ranks; `None` for `MPI_IN_PLACE`.
///
/// # Safety
/// The standard's requirements for the buffer.
#[inline]
unsafe fn memory_unless_in_place(
    mpi: &ProcessMpi, comm: MPI_Comm, of: Elements, ranks: usize,
) -> Result<Option<Memory>> {
    if is_in_place(of.buf) {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { elements_memory(mpi, comm, of, ranks).map(Some) }
}

/// Count of each rank's block; negative counts are errors.
///
/// # Safety
/// The array is null or has `ranks` elements.
unsafe fn lengths(counts: Integers, ranks: usize) -> Result<Vec<MPI_Count>> {
    let count = |rank| {
        // SAFETY: the caller's promise.
        let count = unsafe { counts.get(rank) }.ok_or_else(null_array_error)?;
        checked_count(count).map(|_| count)
    };
    (0..ranks).map(count).collect()
}

#[cold]
fn null_array_error() -> Box<MpiError> {
    ErrorClass::Arg.error("an array of counts or displacements is a null pointer")
}

/// Memory of each rank's block.
///
/// # Safety
/// The standard's requirements for the buffer; the arrays are null or have `ranks` elements.
pub(crate) unsafe fn block_memories(
    mpi: &ProcessMpi, comm: MPI_Comm, of: BlockArguments, ranks: usize,
) -> Result<Vec<Memory>> {
    let mut blocks = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        // SAFETY: the caller's promise of the arrays.
        let (count, displacement, datatype) = unsafe {
            let datatype = match of.types {
                BlockTypes::One(datatype) => datatype,
                BlockTypes::Each(types) if types.is_null() => return Err(null_array_error()),
                BlockTypes::Each(types) => *types.add(rank),
            };
            let count = of.counts.get(rank).ok_or_else(null_array_error)?;
            (count, of.displacements.get(rank).ok_or_else(null_array_error)?, datatype)
        };
        let elements = mpi.objects.datatypes.committed(number(datatype))?;
        let (unit, may_be_bottom) = match of.types {
            BlockTypes::One(_) => (elements.extent(), !elements.layout().is_dense()),
            BlockTypes::Each(_) => (1, true),
        };
        let displacement = match of.buf {
            buf if buf.is_null() && !may_be_bottom || is_in_place(buf) => 0,
            _ => (displacement as isize).wrapping_mul(unit),
        };
        // SAFETY: the caller's promise of the buffer.
        let block = unsafe { memory_at(of.buf, displacement, count, elements)? };
        blocks.push(match mpi.comms.has_unlike() {
            true => mpi.comms.on_the_way(number(comm), elements, count as usize, block),
            false => block,
        });
    }
    Ok(blocks)
}
