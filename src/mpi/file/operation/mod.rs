//! A data access in progress (MPI 5.0 §14.4), blocking or not, of one rank or of all.
//!
//! ```text
//!   independent   ┌─(shared pointer)─ Fetch ─┐
//!                 └──────────────────────────┴─> Work ─────────────────────────────────────────────> Done
//!   collective    Queued ─> Ranges ─┬─(each rank alone)────────> Work ──────────┬─> Agreement ─> Done
//!                                   └─(Views)─> Exchange <─> Work, in rounds ───┘
//!                                                  └─> Behind, of writes in several rounds
//!   ordered       Queued ─> Ranges ─(rank 0: Fetch)─> Base ─────> Work ─────────┘
//!   before Done   Converting, of reads whose data a function of the application converts (`conversion`)
//! ```
//!
//! Collective accesses of a file wait for earlier ones of this rank, so that the messages of all ranks are
//! in one order. In a write of several rounds, an executor writes the data of one while that of the next one is
//! exchanged (`rounds`). Every rank hears of the errors of all: in Ranges of those before the file was touched, in
//! Agreement of the others.

mod rounds;

use std::io;
use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{Bcast, Collective};
use crate::mpi::collective::exchange::exchanged;
use crate::mpi::file::access::{AccessDirection, IndependentAccess, Transfer, is_loaded};
use crate::mpi::file::agreement::{error_word, first_error};
use crate::mpi::file::conversion::{Conversion, ConversionEnd, ConversionWork};
use crate::mpi::file::hints::Choice;
use crate::mpi::file::plan::{PlanRules, RankAccess, TwoPhasePlan};
use crate::mpi::file::pointer::{PointerChange, PointerFetch};
use crate::mpi::file::representation::DataRepresentation;
use crate::mpi::file::storage::file_error;
use crate::mpi::file::two_phase::{TwoPhase, WindowAccess};
use crate::mpi::file::{File, Files};
use crate::mpi::handle::Handle;
use crate::mpi::request::status::Status;
use crate::mpi::request::{Activity, Outcome};
use platform::base::{ErrorClass, MpiError, Result};
use platform::diagnosis::wait_report::WaitReport;

/// Pieces of so many bytes are worth a call of the system each.
const COARSE_MIN: u64 = 2048;

/// The number of an operation among those of the process.
pub type FileOperationId = usize;

/// Where an access begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilePlace {
    /// At a position of the view.
    At(u64),
    /// At the shared pointer.
    Shared,
    /// At the shared pointer, ranks in their order; collective.
    Ordered,
}

/// An access to start.
#[derive(Debug)]
pub(crate) struct AccessRequest {
    pub(crate) file: Handle,
    pub(crate) direction: AccessDirection,
    pub(crate) place: FilePlace,
    pub(crate) is_collective: bool,
    /// The data, in the representation of the file; or the error of the arguments, which a collective
    /// access tells the other ranks.
    pub(crate) memory: Result<Memory>,
    /// Of data that the application converts.
    pub(crate) conversion: Option<Conversion>,
    /// Whether the caller does the work with the file itself.
    pub(crate) is_inline: bool,
}

/// Work with a file, without the lock.
#[derive(Debug)]
pub(crate) enum FileWork {
    Independent(IndependentAccess),
    Window(WindowAccess),
}

impl FileWork {
    pub(crate) fn run(&mut self) -> Transfer {
        match self {
            Self::Independent(access) => access.run(),
            Self::Window(access) => access.run(),
        }
    }
}

/// What a blocking call does next.
#[derive(Debug)]
pub(crate) enum FileStep {
    Work(FileWork),
    Done(Outcome),
}

#[derive(Debug)]
pub(crate) struct FileOperation {
    id: FileOperationId,
    file: Handle,
    direction: AccessDirection,
    place: FilePlace,
    is_collective: bool,
    is_inline: bool,
    /// Whether it has no request any more.
    is_released: bool,
    memory: Memory,
    conversion: Option<Conversion>,
    /// The first error of this rank.
    error: Option<Box<MpiError>>,
    /// Bytes moved.
    bytes: u64,
    /// Whether an executor writes the data of an earlier round, or reads that of the next one.
    is_accessed_behind: bool,
    stage: AccessStage,
}

#[derive(Debug)]
enum AccessStage {
    Queued,
    /// This rank alone accesses the file, at a position.
    Placed(u64),
    Fetch(PointerFetch),
    Ranges(RunId),
    /// Rank 0 moves the shared pointer for all.
    FetchForAll(PointerFetch, Vec<RankRecord>),
    /// The others learn of it.
    Base(RunId, Vec<RankRecord>),
    Views(RunId, TwoPhasePlan, Vec<RankAccess>),
    Exchange(RunId, Box<TwoPhase>),
    /// The next write of this aggregator, the exchange of what it reads, or the end, once the executor has done its
    /// last access.
    Behind(Option<FileWork>, Box<TwoPhase>),
    /// The operation has failed, but the executor has not done its last access.
    Failing,
    /// Work that the calling thread takes.
    Ready(FileWork, AfterWork),
    Working(AfterWork),
    Agreement(RunId),
    /// The application converts the data.
    Converting,
    Done,
}

/// What follows when the work is done.
#[derive(Debug)]
enum AfterWork {
    End,
    Round(Box<TwoPhase>),
}

/// What a rank tells the others first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RankRecord {
    access: RankAccess,
    /// Bytes of the description of its view.
    view_bytes: u64,
    /// The size of the file, for reads.
    size: u64,
    /// Of an error of this rank.
    error: u64,
}

/// Words of [`RankRecord`].
type RecordWords = [u64; 8];

impl RankRecord {
    fn words(self) -> RecordWords {
        let RankAccess { start, end, position, len, ascends, is_coarse } = self.access;
        let flags = u64::from(ascends) | u64::from(is_coarse) << 1;
        [start, end, position, len, flags, self.view_bytes, self.size, self.error]
    }

    fn of(words: RecordWords) -> Self {
        let [start, end, position, len, flags, view_bytes, size, error] = words;
        let (ascends, is_coarse) = (flags & 1 != 0, flags & 2 != 0);
        let access = RankAccess { start, end, position, len, ascends, is_coarse };
        Self { access, view_bytes, size, error }
    }
}

impl FileOperation {
    /// Whether the system makes the access, or the application converts its data.
    pub(super) fn is_working(&self) -> bool {
        self.is_accessed_behind
            || matches!(self.stage, AccessStage::Working(_) | AccessStage::Converting)
    }

    /// What the application converts once the access has been made.
    fn take_conversion(&mut self) -> Option<ConversionWork> {
        let conversion = self.conversion.as_mut()?;
        let elements = conversion.elements(self.bytes);
        let read = conversion.read.take().filter(|_| elements > 0)?;
        let bytes = std::mem::replace(&mut self.memory, Memory::EMPTY);
        Some(ConversionWork { operation: self.id, bytes, elements, read })
    }
}

impl Files {
    fn new_number(&mut self) -> FileOperationId {
        self.free.pop().unwrap_or_else(|| {
            self.operations.push(None);
            self.operations.len() - 1
        })
    }

    /// Has work done by the executor, or does it if there is none or it has no thread: the result then.
    fn submit(&self, id: FileOperationId, work: FileWork) -> Option<Transfer> {
        let left = match &self.executor {
            Some(executor) => executor.submit(id, work),
            None => Some(work),
        };
        left.map(|mut work| work.run())
    }

    fn operation(&self, id: FileOperationId) -> Option<&FileOperation> {
        self.operations.get(id)?.as_deref()
    }
}

/// Starting and ending.
impl<D: Device> Mpi<D> {
    /// Starts an access.
    ///
    /// # Errors
    /// `File`; that of the arguments, unless other ranks must hear of it.
    pub(crate) fn start_file_access(&mut self, request: AccessRequest) -> Result<FileOperationId> {
        let AccessRequest { file, direction, place, is_collective, memory, conversion, is_inline } =
            request;
        self.files.get(file)?;
        let (memory, error) = match memory {
            Ok(memory) => (memory, None),
            Err(error) if is_collective => (Memory::EMPTY, Some(error)),
            Err(error) => return Err(error),
        };
        let stage = match place {
            _ if is_collective => AccessStage::Queued,
            FilePlace::At(position) => AccessStage::Placed(position),
            FilePlace::Shared | FilePlace::Ordered => {
                AccessStage::Fetch(PointerFetch::new(PointerChange::Add(memory.len() as u64)))
            }
        };
        let id = self.files.new_number();
        let on = self.files.get_mut(file)?;
        on.pending += 1;
        if is_collective {
            on.queue.push_back(id);
        }
        self.files.active += 1;
        self.files.operations[id] = Some(Box::new(FileOperation {
            id,
            file,
            direction,
            place,
            is_collective,
            is_inline,
            is_released: false,
            memory,
            conversion,
            error,
            bytes: 0,
            is_accessed_behind: false,
            stage,
        }));
        self.advance_file(id);
        Ok(id)
    }

    /// What a blocking call does next; `None` if it waits.
    pub(crate) fn next_file_step(&mut self, id: FileOperationId) -> Option<FileStep> {
        self.advance_file(id);
        let operation = self.files.operations.get_mut(id)?.as_deref_mut()?;
        match std::mem::replace(&mut operation.stage, AccessStage::Done) {
            AccessStage::Done => Some(FileStep::Done(self.end_file_operation(id))),
            AccessStage::Ready(work, after) => {
                operation.stage = AccessStage::Working(after);
                Some(FileStep::Work(work))
            }
            other => {
                operation.stage = other;
                None
            }
        }
    }

    pub(crate) fn is_file_operation_complete(&self, id: FileOperationId) -> bool {
        let operation = self.files.operation(id);
        operation.is_none_or(|operation| matches!(operation.stage, AccessStage::Done))
    }

    /// The status of a complete operation.
    pub(crate) fn file_status(&self, id: FileOperationId) -> Status {
        let Some(operation) = self.files.operation(id) else { return Status::EMPTY };
        let is_external = self
            .files
            .get(operation.file)
            .is_ok_and(|file| matches!(file.view.representation, DataRepresentation::External));
        let converted = operation.conversion.as_ref();
        let bytes = converted.map_or(operation.bytes, |it| it.told_bytes(operation.bytes));
        Status { bytes, is_external, ..Status::EMPTY }
    }

    /// The run that an operation waits for, if it waits for other ranks.
    pub(crate) fn file_run(&self, id: FileOperationId) -> Option<RunId> {
        match &self.files.operation(id)?.stage {
            AccessStage::Ranges(run)
            | AccessStage::Base(run, _)
            | AccessStage::Views(run, ..)
            | AccessStage::Exchange(run, _)
            | AccessStage::Agreement(run) => Some(*run),
            AccessStage::Queued
            | AccessStage::Placed(_)
            | AccessStage::Fetch(_)
            | AccessStage::FetchForAll(..)
            | AccessStage::Behind(..)
            | AccessStage::Failing
            | AccessStage::Ready(..)
            | AccessStage::Working(_)
            | AccessStage::Converting
            | AccessStage::Done => None,
        }
    }

    /// The call `function`, which waits for the accesses of a file.
    pub(crate) fn blocked_file(&self, function: &str, file: Handle) -> WaitReport {
        let operations = (0..).zip(&self.files.operations);
        let of_file = operations.filter(|(_, operation)| {
            operation.as_ref().is_some_and(|operation| operation.file == file)
        });
        let activities: Vec<_> = of_file.map(|(id, _)| Activity::File(id)).collect();
        self.blocked(function, &activities)
    }

    /// Consumes a complete operation.
    pub(crate) fn end_file_operation(&mut self, id: FileOperationId) -> Outcome {
        let status = self.file_status(id);
        let operation = self.files.operations.get_mut(id).and_then(Option::take);
        self.files.free.push(id);
        Outcome { status, error: operation.and_then(|operation| operation.error) }
    }

    /// Detaches an operation, which completes without a request.
    pub(crate) fn release_file_operation(&mut self, id: FileOperationId) {
        if self.is_file_operation_complete(id) {
            self.end_file_operation(id);
        } else if let Some(Some(operation)) = self.files.operations.get_mut(id) {
            operation.is_released = true;
        }
    }

    /// Takes over the result of work with a file.
    pub(crate) fn end_file_work(&mut self, id: FileOperationId, transfer: Transfer) {
        let Some(mut operation) = self.files.operations.get_mut(id).and_then(Option::take) else {
            return;
        };
        if operation.is_accessed_behind {
            self.accessed_behind(&mut operation, transfer);
        } else if let AccessStage::Working(after) =
            std::mem::replace(&mut operation.stage, AccessStage::Done)
        {
            let next = self.worked(&mut operation, transfer, after);
            self.settle(id, &mut operation, next);
        }
        self.put_back(id, operation);
        self.advance_file(id);
    }

    /// Completes a read whose data the application has converted.
    pub(crate) fn end_conversion(&mut self, end: ConversionEnd) {
        let ConversionEnd { operation: id, result } = end;
        let Some(mut operation) = self.files.operations.get_mut(id).and_then(Option::take) else {
            return;
        };
        if let Err(error) = result {
            operation.error.get_or_insert(error);
        }
        self.complete_file_operation(&mut operation);
        self.put_back(id, operation);
    }
}

/// Advancing.
impl<D: Device> Mpi<D> {
    /// Advances all operations as far as they go; the number that have changed.
    pub(crate) fn advance_files(&mut self) -> usize {
        (0..self.files.operations.len()).filter(|id| self.advance_file(*id)).count()
    }

    /// Whether an operation has changed.
    fn advance_file(&mut self, id: FileOperationId) -> bool {
        let Some(mut operation) = self.files.operations.get_mut(id).and_then(Option::take) else {
            return false;
        };
        let mut has_changed = false;
        loop {
            let stage = std::mem::replace(&mut operation.stage, AccessStage::Done);
            match self.next_file_stage(id, &mut operation, stage) {
                Ok(Progress::To(stage)) => self.settle(id, &mut operation, Ok(stage)),
                Err(error) => self.settle(id, &mut operation, Err(error)),
                Ok(Progress::Stays(stage)) => {
                    operation.stage = stage;
                    break;
                }
            }
            has_changed = true;
        }
        self.put_back(id, operation);
        has_changed
    }

    fn put_back(&mut self, id: FileOperationId, operation: Box<FileOperation>) {
        if operation.is_released && matches!(operation.stage, AccessStage::Done) {
            self.files.free.push(id);
        } else {
            self.files.operations[id] = Some(operation);
        }
    }

    /// Enters a stage, or ends with an error.
    fn settle(
        &mut self, id: FileOperationId, operation: &mut FileOperation, next: Result<AccessStage>,
    ) {
        operation.stage = match next {
            Ok(AccessStage::Ready(work, after)) if !operation.is_inline => {
                match self.files.submit(id, work) {
                    None => AccessStage::Working(after),
                    Some(transfer) => {
                        let next = self.worked(operation, transfer, after);
                        return self.settle(id, operation, next);
                    }
                }
            }
            Ok(stage) => stage,
            Err(error) => {
                operation.error.get_or_insert(error);
                if operation.is_accessed_behind { AccessStage::Failing } else { AccessStage::Done }
            }
        };
        if !matches!(operation.stage, AccessStage::Done) {
            return;
        }
        if let Ok(file) = self.files.get_mut(operation.file)
            && operation.is_collective
        {
            file.queue.retain(|queued| *queued != id);
        }
        match operation.take_conversion() {
            None => self.complete_file_operation(operation),
            Some(work) => {
                operation.stage = AccessStage::Converting;
                self.files.conversions.push_back(work);
            }
        }
    }

    fn complete_file_operation(&mut self, operation: &mut FileOperation) {
        operation.stage = AccessStage::Done;
        self.files.active -= 1;
        self.engine.note_event();
        if let Ok(file) = self.files.get_mut(operation.file) {
            file.pending -= 1;
        }
    }

    fn next_file_stage(
        &mut self, id: FileOperationId, operation: &mut FileOperation, stage: AccessStage,
    ) -> Result<Progress> {
        Ok(match stage {
            AccessStage::Done
            | AccessStage::Converting
            | AccessStage::Ready(..)
            | AccessStage::Working(_) => Progress::Stays(stage),
            AccessStage::Queued => match self.files.get(operation.file)?.queue.front() {
                Some(first) if *first != id => Progress::Stays(stage),
                _ => Progress::To(AccessStage::Ranges(self.tell_range(operation)?)),
            },
            AccessStage::Placed(position) => Progress::To(self.alone(operation, position)?),
            AccessStage::Fetch(mut fetch) => {
                match self.advance_pointer(operation.file, &mut fetch)? {
                    None => Progress::Stays(AccessStage::Fetch(fetch)),
                    Some(position) => Progress::To(self.alone(operation, position)?),
                }
            }
            AccessStage::FetchForAll(mut fetch, records) => {
                match self.advance_pointer(operation.file, &mut fetch)? {
                    None => Progress::Stays(AccessStage::FetchForAll(fetch, records)),
                    Some(base) => {
                        Progress::To(AccessStage::Base(self.tell_base(operation, base)?, records))
                    }
                }
            }
            AccessStage::Ranges(run) => match self.run_buffers(run)? {
                None => Progress::Stays(stage),
                Some(buffers) => Progress::To(self.planned(operation, &buffers)?),
            },
            AccessStage::Base(run, records) => match self.run_buffers(run)? {
                None => Progress::Stays(AccessStage::Base(run, records)),
                Some(buffers) => Progress::To(self.ordered(operation, &buffers, &records)?),
            },
            AccessStage::Views(run, plan, accesses) => match self.run_buffers(run)? {
                None => Progress::Stays(AccessStage::Views(run, plan, accesses)),
                Some(buffers) => {
                    self.note_views(operation, &buffers)?;
                    Progress::To(self.first_round(operation, plan, accesses)?)
                }
            },
            AccessStage::Exchange(run, two_phase) => match self.run_buffers(run)? {
                None => Progress::Stays(AccessStage::Exchange(run, two_phase)),
                Some(_) => Progress::To(self.exchanged_round(operation, two_phase)?),
            },
            AccessStage::Behind(..) | AccessStage::Failing if operation.is_accessed_behind => {
                Progress::Stays(stage)
            }
            AccessStage::Behind(work, two_phase) => {
                Progress::To(self.after_access(operation, work, two_phase)?)
            }
            AccessStage::Failing => Progress::To(AccessStage::Done),
            AccessStage::Agreement(run) => match self.run_buffers(run)? {
                None => Progress::Stays(stage),
                Some(buffers) => {
                    operation.error = agreed(operation.error.take(), &buffers);
                    Progress::To(AccessStage::Done)
                }
            },
        })
    }
}

enum Progress {
    To(AccessStage),
    Stays(AccessStage),
}

/// Accesses of one rank, and what all begin with.
impl<D: Device> Mpi<D> {
    /// Work of this rank alone.
    fn alone(&self, operation: &FileOperation, position: u64) -> Result<AccessStage> {
        let file = self.files.get(operation.file)?;
        Ok(file.ready(&operation.memory, operation.direction, position, AfterWork::End))
    }

    fn tell_range(&mut self, operation: &mut FileOperation) -> Result<RunId> {
        let file = self.files.get(operation.file)?;
        let tiles = &file.view.tiles;
        let len = operation.memory.len() as u64;
        let position = match operation.place {
            FilePlace::At(position) => position,
            FilePlace::Shared | FilePlace::Ordered => 0,
        };
        let covered = tiles.covered(position, len).ok_or_else(|| {
            ErrorClass::Arg.error(format!("{len} bytes at position {position} are in no file"))
        });
        let is_read = operation.direction == AccessDirection::Read;
        let size = if is_read && operation.place != FilePlace::Ordered {
            file.storage.size().map_err(|error| file_error("read", &file.name, &error))
        } else {
            Ok(u64::MAX)
        };
        let view_bytes = if file.are_views_told { 0 } else { tiles.description().len() as u64 };
        let comm = file.comm;
        let (ascends, mean) = (tiles.ascends(), tiles.mean_piece());
        // Many short pieces are stores or loads; sieving would read all of the file at each rank.
        let is_mapped =
            file.storage.has_memory() && (!is_read || is_loaded(tiles.mean_gap(), mean));
        let is_coarse = mean >= COARSE_MIN || is_mapped;
        let (range, size) = match (covered, size) {
            (Ok(range), Ok(size)) => (range, size),
            (Err(error), _) | (_, Err(error)) => {
                operation.error.get_or_insert(error);
                (0..0, 0)
            }
        };
        let (start, end) = (range.start, range.end);
        let access = RankAccess { start, end, position, len, ascends, is_coarse };
        let error = error_word(operation.error.as_deref());
        self.start_exchange(comm, RankRecord { access, view_bytes, size, error }.words())
    }

    /// All ranks have told what they access.
    fn planned(
        &mut self, operation: &mut FileOperation, buffers: &[Memory],
    ) -> Result<AccessStage> {
        let records: Vec<_> = exchanged(buffers).into_iter().map(RankRecord::of).collect();
        if let Some(error) = first_error(operation.error.take(), records.iter().map(|it| it.error))
        {
            return Err(error);
        }
        let file = self.files.get(operation.file)?;
        let rank = self.comms.get(file.comm)?.rank;
        if operation.place == FilePlace::Ordered {
            let all = records.iter().map(|record| record.access.len).sum();
            return Ok(match rank {
                0 => AccessStage::FetchForAll(PointerFetch::new(PointerChange::Add(all)), records),
                _ => AccessStage::Base(self.tell_base(operation, 0)?, records),
            });
        }
        let rules = file.rules(operation.direction);
        // A read goes to the end of the file, as rank 0 has found it.
        let size = records[0].size;
        let accesses: Vec<_> = records.iter().map(|record| record.access).collect();
        let ends_before = accesses.iter().all(|access| access.end <= size);
        let plan = TwoPhasePlan::new(&accesses, &rules).filter(|_| ends_before);
        let file = self.files.get_mut(operation.file)?;
        file.planned[usize::from(plan.is_some())] += 1;
        match plan {
            None => {
                let FilePlace::At(position) = operation.place else {
                    return Err(ErrorClass::Intern.error("a shared pointer has no position"));
                };
                self.alone(operation, position)
            }
            Some(plan) if file.are_views_told => self.first_round(operation, plan, accesses),
            Some(plan) => {
                let run = self.tell_views(operation.file, &records)?;
                Ok(AccessStage::Views(run, plan, accesses))
            }
        }
    }

    /// Rank 0 tells where the shared pointer was.
    fn tell_base(&mut self, operation: &FileOperation, base: u64) -> Result<RunId> {
        let comm = self.files.get(operation.file)?.comm;
        let bcast = Collective::Bcast(Bcast { bytes: 8, root: 0 });
        self.launch_on(comm, bcast, vec![Memory::owned(base.to_le_bytes())])
    }

    fn ordered(
        &mut self, operation: &FileOperation, buffers: &[Memory], records: &[RankRecord],
    ) -> Result<AccessStage> {
        let mut word = [0; 8];
        buffers[0].pack(0, &mut word);
        let comm = self.files.get(operation.file)?.comm;
        let rank = self.comms.get(comm)?.rank as usize;
        let before: u64 = records[..rank].iter().map(|record| record.access.len).sum();
        self.alone(operation, u64::from_le_bytes(word) + before)
    }

    /// The result of work.
    fn worked(
        &mut self, operation: &mut FileOperation, transfer: Transfer, after: AfterWork,
    ) -> Result<AccessStage> {
        self.note_transfer(operation, transfer.error)?;
        match after {
            AfterWork::End => {
                operation.bytes = transfer.bytes;
                if operation.is_collective { self.agree(operation) } else { Ok(AccessStage::Done) }
            }
            AfterWork::Round(two_phase) => self.worked_round(operation, two_phase),
        }
    }

    /// Notes the first error of the system.
    fn note_transfer(&self, operation: &mut FileOperation, error: Option<io::Error>) -> Result {
        if let Some(error) = error {
            let (doing, file) = (operation.direction.verb(), self.files.get(operation.file)?);
            operation.error.get_or_insert(file_error(doing, &file.name, &error));
        }
        Ok(())
    }

    /// All ranks tell their errors.
    fn agree(&mut self, operation: &FileOperation) -> Result<AccessStage> {
        let comm = self.files.get(operation.file)?.comm;
        let word = error_word(operation.error.as_deref());
        Ok(AccessStage::Agreement(self.start_exchange(comm, [word])?))
    }
}

impl File {
    /// Work of this rank alone.
    fn ready(
        &self, memory: &Memory, direction: AccessDirection, position: u64, after: AfterWork,
    ) -> AccessStage {
        AccessStage::Ready(FileWork::Independent(self.access(memory, direction, position)), after)
    }

    /// An access at a position.
    pub(crate) fn access(
        &self, memory: &Memory, direction: AccessDirection, position: u64,
    ) -> IndependentAccess {
        let (buffer, sieving) = match direction {
            AccessDirection::Read => (self.hints.read_buffer, self.hints.sieving_reads),
            AccessDirection::Write => (self.hints.write_buffer, Choice::Disable),
        };
        IndependentAccess {
            storage: Arc::clone(&self.storage),
            view: Arc::clone(&self.view.tiles),
            direction,
            memory: memory.alias(),
            position,
            buffer,
            sieves: sieving != Choice::Disable,
            is_atomic: self.is_atomic,
        }
    }

    fn rules(&self, direction: AccessDirection) -> PlanRules {
        let choice = match direction {
            AccessDirection::Read => self.hints.collective_reads,
            AccessDirection::Write => self.hints.collective_writes,
        };
        PlanRules {
            is_one_node: self.is_one_node,
            aggregators: self.aggregators.clone(),
            alignment: self.hints.alignment,
            round_bytes: self.hints.round_bytes,
            is_two_phase: match choice {
                Choice::Enable => Some(true),
                Choice::Disable => Some(false),
                Choice::Automatic => None,
            },
        }
    }
}

fn agreed(own: Option<Box<MpiError>>, buffers: &[Memory]) -> Option<Box<MpiError>> {
    let words = exchanged::<1>(buffers);
    first_error(own, words.iter().map(|[word]| *word))
}
