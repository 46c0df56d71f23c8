//! One-sided operations: checks of their arguments, and their start (MPI 5.0 §12.3).
//!
//! An operation moves data when it starts; nothing is collected until the epoch ends. Puts and gets in
//! a segment of this node are copies, and accumulates there are done under a lock of the target. Puts and
//! gets of other memory on this node are done by the device, without the target.

use super::Window;
use super::accumulate::{Accumulation, SWAPPED_MAX, check_swapped, compare_and_swap};
use super::conflicts::AccessKind;
use super::device_accesses::{DeviceStart, TransferDirection};
use super::origin::{OperationAnswer, OperationNumber};
use super::request_message::{
    AccumulateAnswer, Data, DataTag, INLINE_MAX, TargetRange, UnitHandles, WindowRequest,
};
use crate::device::Device;
use crate::device::rma::{RemoteAddress, Rma, RmaError};
use crate::engine::Engine;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::operation::OperationId;
use crate::mpi::datatype::{Datatype, Predefined, external_memory};
use crate::mpi::fortran::Booleans;
use crate::mpi::op::Operator;
use crate::mpi::request::status::PROC_NULL;
use crate::shared_memory::primitive::full_fence;
use platform::base::{ErrorClass, MpiError, Result, Span};

/// Arguments about the memory of a target.
#[derive(Clone, Copy, Debug)]
pub struct TargetArguments<'a> {
    /// The target, or `MPI_PROC_NULL`.
    pub rank: i32,
    /// In units of the target.
    pub displacement: isize,
    /// Elements.
    pub count: usize,
    /// Of one element.
    pub datatype: &'a Datatype,
}

/// How an operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionForm<'a> {
    /// With its epoch, or a flush.
    Epoch,
    /// Also with a request, for the function of this name.
    Request(&'a str),
}

/// Arguments of an accumulate at the origin.
#[derive(Debug)]
pub struct AccumulateArguments<'a> {
    /// What combines old and new values.
    pub operator: Operator,
    /// Not used for `MPI_NO_OP`.
    pub from: &'a Memory,
    /// The datatype of `from`.
    pub datatype: &'a Datatype,
    /// Where the old values go, and their datatype.
    pub old: Option<(Memory, &'a Datatype)>,
    /// Fortran's truth values, if they are known.
    pub booleans: Option<Booleans>,
}

/// The start of an accumulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is in progress, or complete if no request waits for it.
    Now(Option<OperationNumber>),
    /// Nothing has happened: another rank accumulates on this target. Try again.
    Contended(u32),
}

impl Window {
    /// Starts to copy `from` to the target.
    ///
    /// # Errors
    /// `Rank`, `Disp`, `RmaRange`, `RmaSync`, `Truncate`, `Revoked`, and `ProcFailed` for a target that has
    /// failed; as all operations.
    pub fn put<D: Device>(
        &mut self, engine: &mut Engine<D>, from: &Memory, to: TargetArguments<'_>,
        completion: CompletionForm<'_>,
    ) -> Result<Option<OperationNumber>> {
        let Some((target, offset)) = self.check_access(to, Some(from.len()), completion)? else {
            return Ok(None);
        };
        self.check_conflicts(engine, (target, offset), &to, AccessKind::Put, completion)?;
        if let Some(mut memory) = self.memory_here(target, offset, &to)? {
            from.copy(0, &mut memory, 0, from.len());
            full_fence();
            return Ok(None);
        }
        if let Some((rma, span, at)) = self.outside(engine, target, offset, &to, from) {
            return ended(rma.put(span, at).map(|()| rma.flush(at.peer)));
        }
        let here = (from, TransferDirection::Put);
        if let DeviceStart::InProgress(number) =
            self.start_by_device(engine, (target, offset), &to, here, completion)
        {
            return Ok(number);
        }
        let range = self.range(engine, target, offset, &to);
        let number = self.origin.number(target, completion != CompletionForm::Epoch);
        let is_answered = completion == CompletionForm::Epoch && self.is_flush_next(target);
        let (answer, answered) =
            is_answered.then(|| self.fetch(engine, target, Memory::EMPTY)).unzip();
        let converted = self.converted(&to, from);
        let from = converted.as_ref().unwrap_or(from);
        let sent = self.send_with_data(engine, target, from, |data| WindowRequest::Put {
            range,
            data,
            answer,
        });
        self.origin.note(engine, target, number, sent, answered);
        Ok(number)
    }

    /// Starts to copy memory of the target to `into`.
    ///
    /// # Errors
    /// As of [`Window::put`].
    pub fn get<D: Device>(
        &mut self, engine: &mut Engine<D>, into: Memory, from: TargetArguments<'_>,
        completion: CompletionForm<'_>,
    ) -> Result<Option<OperationNumber>> {
        let Some((target, offset)) = self.check_access(from, Some(into.len()), completion)? else {
            return Ok(None);
        };
        self.check_conflicts(engine, (target, offset), &from, AccessKind::Get, completion)?;
        if let Some(memory) = self.memory_here(target, offset, &from)? {
            let (mut into, len) = (into, memory.len());
            memory.copy(0, &mut into, 0, len);
            return Ok(None);
        }
        if let Some((rma, span, at)) = self.outside(engine, target, offset, &from, &into) {
            return ended(rma.get(at, span).map(|()| rma.flush(at.peer)));
        }
        let here = (&into, TransferDirection::Get);
        if let DeviceStart::InProgress(number) =
            self.start_by_device(engine, (target, offset), &from, here, completion)
        {
            return Ok(number);
        }
        let range = self.range(engine, target, offset, &from);
        let number = self.origin.number(target, completion != CompletionForm::Epoch);
        let into = self.converted(&from, &into).unwrap_or(into);
        let (answer, arriving) = self.fetch(engine, target, into);
        let request = WindowRequest::Get { range, answer };
        self.origin.request(engine, &self.channel, target, &request);
        self.origin.note(engine, target, number, None, Some(arriving));
        Ok(number)
    }

    /// Starts to combine data of the origin into the target.
    ///
    /// # Errors
    /// As of [`Window::put`]; `Op` and `Type` for the operation and its datatypes.
    pub fn accumulate<D: Device>(
        &mut self, engine: &mut Engine<D>, arguments: AccumulateArguments<'_>,
        to: TargetArguments<'_>, completion: CompletionForm<'_>,
    ) -> Result<Started> {
        let AccumulateArguments { operator, from, datatype, old, booleans } = arguments;
        let has_operand = operator != Operator::NoOp;
        if !has_operand && old.is_none() {
            let why = "MPI_NO_OP needs a place for the old values: use MPI_Get_accumulate or \
                       MPI_Fetch_and_op";
            return Err(ErrorClass::Op.error(why));
        }
        let given = has_operand.then_some(datatype);
        let others = given.into_iter().chain(old.as_ref().map(|(_, datatype)| *datatype));
        let unit = common_unit(&to, others)?;
        let accumulation =
            unit.map(|unit| self.accumulation(operator, &unit, booleans)).transpose()?;
        let wanted = to.count.saturating_mul(to.datatype.size());
        if let Some((old, _)) = old.as_ref().filter(|(old, _)| old.len() != wanted) {
            return Err(unlike(old.len(), wanted));
        }
        let bytes = has_operand.then_some(from.len());
        let access = self.check_access(to, bytes, completion)?;
        let Some(((target, offset), (unit, accumulation))) = access.zip(unit.zip(accumulation))
        else {
            return Ok(Started::Now(None));
        };
        let kind = match old {
            None => AccessKind::Accumulate(operator),
            Some(_) => AccessKind::GetAccumulate(operator),
        };
        self.check_conflicts(engine, (target, offset), &to, kind, completion)?;
        if let Some(mut memory) = self.memory_here(target, offset, &to)? {
            let old = old.map(|(old, _)| old);
            let is_done = self.accumulate_here(target, &accumulation, from, &mut memory, old);
            return Ok(if is_done { Started::Now(None) } else { Started::Contended(target) });
        }
        let range = self.range(engine, target, offset, &to);
        let number = self.origin.number(target, completion != CompletionForm::Epoch);
        let old = old.map(|(old, _)| self.converted(&to, &old).unwrap_or(old));
        let (answer, receive) = self.await_accumulate(engine, target, old, completion);
        let unit = UnitHandles::of(&unit);
        let converted = if has_operand { self.converted(&to, from) } else { None };
        let operand = if has_operand { from } else { &Memory::EMPTY };
        let operand = converted.as_ref().unwrap_or(operand);
        let sent = self.send_with_data(engine, target, operand, |data| WindowRequest::Accumulate {
            range,
            operator,
            unit,
            data,
            answer,
        });
        self.origin.note(engine, target, number, sent, receive);
        Ok(Started::Now(number))
    }

    /// Starts to replace a number of the target by `new` if it equals `compared`; the old one goes to
    /// `old`.
    ///
    /// # Errors
    /// As of [`Window::put`]; `Type` for a datatype without this operation.
    pub fn compare_and_swap<D: Device>(
        &mut self, engine: &mut Engine<D>, [new, compared]: [&Memory; 2], old: Memory,
        to: TargetArguments<'_>,
    ) -> Result<Started> {
        let unit = to.datatype.as_predefined().copied().ok_or_else(|| not_predefined(to.datatype));
        let unit = unit?;
        check_swapped(&unit)?;
        let form = CompletionForm::Epoch;
        let access = self.check_access(to, Some(new.len()), form)?;
        let Some((target, offset)) = access else { return Ok(Started::Now(None)) };
        self.check_conflicts(engine, (target, offset), &to, AccessKind::CompareAndSwap, form)?;
        let mut operand = [0; 2 * SWAPPED_MAX];
        if let Some(mut memory) = self.memory_here(target, offset, &to)? {
            let operand = swap_operand(&mut operand, compared, new);
            let (compared, new) = operand.split_at(new.len());
            let is_done = self.swap_here(target, [compared, new], &mut memory, old);
            return Ok(if is_done { Started::Now(None) } else { Started::Contended(target) });
        }
        let converted = [compared, new].map(|memory| self.converted(&to, memory));
        let operand = match &converted {
            [Some(compared), Some(new)] => swap_operand(&mut operand, compared, new),
            _ => swap_operand(&mut operand, compared, new),
        };
        let old = self.converted(&to, &old).unwrap_or(old);
        let range = self.range(engine, target, offset, &to);
        let (answer, receive) = self.fetch(engine, target, old);
        let request = WindowRequest::CompareAndSwap {
            range,
            unit: UnitHandles::of(&unit),
            data: Data::Inline(operand),
            answer,
        };
        self.origin.request(engine, &self.channel, target, &request);
        self.origin.note(engine, target, None, None, Some(receive));
        Ok(Started::Now(None))
    }

    /// The operation on these elements, which is often that of the last call.
    ///
    /// # Errors
    /// `Op` if the standard does not define it.
    #[inline]
    fn accumulation(
        &mut self, operator: Operator, unit: &Predefined, booleans: Option<Booleans>,
    ) -> Result<Accumulation> {
        if let Some(found) = self.last_accumulate(operator, unit.handle) {
            return Ok(found.clone());
        }
        let found = Accumulation::new(operator, unit, booleans)?;
        // Truth values of Fortran may become known later.
        let is_constant = !matches!(operator, Operator::Land | Operator::Lor | Operator::Lxor);
        if is_constant && unit.handle != 0 {
            self.note_accumulate(operator, unit.handle, &found);
        }
        Ok(found)
    }

    /// Accumulates in memory that is here; false, without effect, if another rank does.
    #[inline]
    fn accumulate_here(
        &mut self, target: u32, accumulation: &Accumulation, from: &Memory, memory: &mut Memory,
        old: Option<Memory>,
    ) -> bool {
        self.exclusively(target, || {
            if let Some(mut old) = old {
                memory.copy(0, &mut old, 0, memory.len());
            }
            accumulation.apply(from, memory);
        })
    }

    /// The same for a compare and swap.
    #[inline]
    fn swap_here(
        &mut self, target: u32, [compared, new]: [&[u8]; 2], memory: &mut Memory, mut old: Memory,
    ) -> bool {
        self.exclusively(target, || {
            let found = compare_and_swap(compared, new, memory);
            old.unpack(0, &found[..new.len()]);
        })
    }

    /// Runs `body` with the lock of accumulates on memory that is here; false if another rank has it.
    #[inline]
    fn exclusively(&mut self, target: u32, body: impl FnOnce()) -> bool {
        // Nobody else changes the memory of this process if it is not in the segment.
        let lock = self.mapped.as_ref().and_then(|mapped| mapped.accumulates(target));
        if lock.is_some_and(|lock| !lock.try_take()) && !self.take_accumulates_over(target) {
            return false;
        }
        body();
        if let Some(lock) = lock {
            lock.give_back();
            full_fence();
        }
        true
    }

    /// The lock of accumulates from a rank that has failed.
    #[cold]
    fn take_accumulates_over(&self, target: u32) -> bool {
        let has_failed = |rank| self.failures.has_failed(rank);
        let mapped = self.mapped.as_ref();
        mapped.is_some_and(|mapped| mapped.take_accumulates_over(target, has_failed))
    }

    /// Checks an operation that moves `bytes` bytes of the origin, if it uses them: the target and the
    /// offset there; `None` if there is nothing to do.
    #[inline]
    fn check_access(
        &mut self, to: TargetArguments<'_>, bytes: Option<usize>, completion: CompletionForm<'_>,
    ) -> Result<Option<(u32, i64)>> {
        if to.rank == PROC_NULL {
            return Ok(None);
        }
        let target = self.check_rank(to.rank)?;
        self.check_target(target)?;
        match completion {
            CompletionForm::Epoch => self.epochs.operate(target)?,
            CompletionForm::Request(name) => self.epochs.check_passive(name, Some(target))?,
        }
        let wanted = to.count.saturating_mul(to.datatype.size());
        if let Some(bytes) = bytes.filter(|bytes| *bytes != wanted) {
            return Err(unlike(bytes, wanted));
        }
        let offset = self.offset(target, &to)?;
        Ok((wanted > 0).then_some((target, offset)))
    }

    /// The memory of an access, if this process loads and stores there: its own, and that of a segment.
    ///
    /// # Errors
    /// `RmaRange` if it is its own, and not attached.
    #[inline]
    fn memory_here(
        &self, target: u32, offset: i64, to: &TargetArguments<'_>,
    ) -> Result<Option<Memory>> {
        let layout = to.datatype.layout();
        if let Some(memory) = self.mapped.as_ref().and_then(|mapped| mapped.memory(target)) {
            return Ok(Memory::within(memory, offset, to.count, layout));
        }
        if target != self.channel.rank() {
            return Ok(None);
        }
        self.regions.memory(offset, to.count, layout).map(Some)
    }

    /// An access from outside: the device that makes it, the bytes here, and where they are there. The
    /// devices that also map memory, as the words of the window, end such an access in its call.
    #[inline]
    fn outside<'a, D: Device>(
        &self, engine: &'a mut Engine<D>, target: u32, offset: i64, to: &TargetArguments<'_>,
        here: &Memory,
    ) -> Option<(&'a mut dyn Rma, Span, RemoteAddress)> {
        let key = *self.outside.get(&target)?;
        let span = here.span().filter(|_| to.datatype.layout().is_dense())?;
        let at = RemoteAddress { peer: self.channel.peer(target), key, offset: offset as u64 };
        Some((engine.rma()?, span, at))
    }

    /// The memory of an access in a request, which must be sent: the target learns the layout by it.
    pub(super) fn range<D: Device>(
        &mut self, engine: &mut Engine<D>, target: u32, offset: i64, to: &TargetArguments<'_>,
    ) -> TargetRange {
        self.lock_if_due(engine, target);
        let layout = self.origin.name_layout(target, to.datatype.layout());
        let has_numbers = self.channel.is_unlike() && to.datatype.size() > 0;
        let signature = has_numbers.then(|| to.datatype.clone());
        TargetRange { offset, count: to.count as u64, layout, signature }
    }

    /// Memory of this process as messages of this window have it, if that is not as it is. The origin and
    /// the target of an operation have one signature (§12.3.1).
    #[inline]
    fn converted(&self, to: &TargetArguments<'_>, here: &Memory) -> Option<Memory> {
        let is_unlike = self.channel.is_unlike();
        is_unlike.then(|| external_memory(to.datatype, to.count, here.alias()))
    }

    /// Whether the answer to an operation tells all about its end. The answer to a flush tells of errors
    /// that only the target finds: memory that is not attached, and conflicts.
    fn answers_tell(&self) -> bool {
        !self.is_dynamic() && self.access_check.is_none()
    }

    /// Whether this operation is the first one after a flush, and a flush is to be expected right after it,
    /// as the last one was called so: with an answer of its own, that flush need not ask.
    fn is_flush_next(&self, target: u32) -> bool {
        self.expects_flush && !self.origin.is_busy(target) && self.answers_tell()
    }

    /// The offset of an access in the memory of its target.
    ///
    /// # Errors
    /// `Disp` for a negative displacement, `RmaRange` if some bytes are outside of the window.
    #[inline]
    fn offset(&self, target: u32, to: &TargetArguments<'_>) -> Result<i64> {
        let displacement = to.displacement as i64;
        if self.is_dynamic() {
            return Ok(displacement);
        }
        if displacement < 0 {
            let why = format!("displacement {displacement} is negative: expected 0 or more");
            return Err(ErrorClass::Disp.error(why));
        }
        let memory = self.shape.of(target);
        let outside = || {
            ErrorClass::RmaRange.error(format!(
                "{} elements of {} bytes at displacement {displacement} are not in the window of \
                 rank {target}, which has {} bytes in units of {}",
                to.count,
                to.datatype.size(),
                memory.size,
                memory.unit
            ))
        };
        let offset = displacement.checked_mul(memory.unit).ok_or_else(outside)?;
        let (first, end) = to.datatype.layout().covered(to.count).ok_or_else(outside)?;
        let is_inside = first == end
            || offset.checked_add(first as i64).is_some_and(|first| first >= 0)
                && offset.checked_add(end as i64).is_some_and(|end| end as u64 <= memory.size);
        if is_inside { Ok(offset) } else { Err(outside()) }
    }

    /// Starts to receive data of the target into `memory`.
    fn fetch<D: Device>(
        &mut self, engine: &mut Engine<D>, target: u32, memory: Memory,
    ) -> (DataTag, OperationAnswer) {
        let (tag, bytes) = (self.origin.tag(), memory.len());
        let id = self.channel.receive(engine, target, tag.answer(), memory);
        (tag, OperationAnswer { id, bytes, tells_end: self.answers_tell() })
    }

    /// Starts to receive the answer to an accumulate, if it has one.
    fn await_accumulate<D: Device>(
        &mut self, engine: &mut Engine<D>, target: u32, old: Option<Memory>,
        completion: CompletionForm<'_>,
    ) -> (AccumulateAnswer, Option<OperationAnswer>) {
        let (memory, answer): (_, fn(_) -> _) = match old {
            Some(old) => (old, AccumulateAnswer::Fetched),
            None if completion == CompletionForm::Epoch && self.is_flush_next(target) => {
                (Memory::owned(AccumulateAnswer::DONE), AccumulateAnswer::Done)
            }
            None => return (AccumulateAnswer::None, None),
        };
        let (tag, receive) = self.fetch(engine, target, memory);
        (answer(tag), Some(receive))
    }

    /// Sends a request with its data; a send that has not completed.
    fn send_with_data<D: Device>(
        &mut self, engine: &mut Engine<D>, target: u32, from: &Memory,
        make: impl FnOnce(Data<'_>) -> WindowRequest<'_>,
    ) -> Option<OperationId> {
        if from.len() <= INLINE_MAX {
            let mut bytes = [0; INLINE_MAX];
            let bytes = &mut bytes[..from.len()];
            from.pack(0, bytes);
            let request = make(Data::Inline(bytes));
            self.origin.request(engine, &self.channel, target, &request);
            return None;
        }
        let tag = self.origin.tag();
        let request = make(Data::Follows(tag, from.len() as u64));
        self.origin.request(engine, &self.channel, target, &request);
        self.channel.send(engine, target, tag.data(), from.alias())
    }

    /// # Errors
    /// `Rank` if there is no such rank.
    #[inline]
    pub(super) fn check_rank(&self, rank: i32) -> Result<u32> {
        let size = self.channel.size();
        match u32::try_from(rank) {
            Ok(rank) if rank < size => Ok(rank),
            _ => Err(ErrorClass::Rank
                .error(format!("rank {rank} is not in 0..{size} of {}", self.title()))),
        }
    }
}

/// The predefined datatype of the elements of the target, which those of the origin must have, too;
/// `None` if there are no elements.
///
/// # Errors
/// `Type` for elements of several predefined datatypes, or of different ones.
fn common_unit<'a>(
    to: &TargetArguments<'a>, others: impl IntoIterator<Item = &'a Datatype>,
) -> Result<Option<Predefined>> {
    if to.count == 0 || to.datatype.size() == 0 {
        return Ok(None);
    }
    let unit = to.datatype.unit().ok_or_else(|| not_one_unit(to.datatype))?;
    for other in others {
        let found = other.unit().ok_or_else(|| not_one_unit(other))?;
        if (found.handle, found.pair) != (unit.handle, unit.pair) {
            return Err(ErrorClass::Type.error(format!(
                "the origin has elements of {}, the target of {}: expected the same predefined \
                 datatype",
                found.name, unit.name
            )));
        }
    }
    Ok(Some(*unit))
}

/// The number to compare with, and the new one.
fn swap_operand<'a>(
    room: &'a mut [u8; 2 * SWAPPED_MAX], compared: &Memory, new: &Memory,
) -> &'a [u8] {
    let operand = &mut room[..2 * new.len()];
    compared.pack(0, &mut operand[..new.len()]);
    new.pack(0, &mut operand[new.len()..]);
    operand
}

/// The end of an access from outside.
fn ended(access: Result<Option<Result>, RmaError>) -> Result<Option<OperationNumber>> {
    match access {
        Ok(None | Some(Ok(()))) => Ok(None),
        Ok(Some(Err(error))) | Err(RmaError::Denied(error)) => Err(error),
        Err(RmaError::Busy) => {
            Err(ErrorClass::Other.error("the device has no room for an access from outside"))
        }
    }
}

#[cold]
fn not_one_unit(datatype: &Datatype) -> Box<MpiError> {
    ErrorClass::Type.error(format!(
        "{} has elements of several predefined datatypes: expected one in an accumulate operation",
        datatype.describe()
    ))
}

#[cold]
fn not_predefined(datatype: &Datatype) -> Box<MpiError> {
    let why = format!("{}: expected a predefined datatype", datatype.describe());
    ErrorClass::Type.error(why)
}

#[cold]
fn unlike(origin: usize, target: usize) -> Box<MpiError> {
    ErrorClass::Truncate.error(format!(
        "the origin has {origin} bytes, the target {target}: expected the same type signature"
    ))
}
