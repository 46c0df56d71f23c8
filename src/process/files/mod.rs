//! Files of the system for [`mpi::file`](crate::mpi::file): who makes the calls, and who waits.
//!
//! | file | content |
//! |---|---|
//! | `opening` | open and close |
//! | `changes` | sizes, views, hints, synchronization: what all ranks do together |
//! | `pool` | threads that do the work of calls that do not wait |

mod changes;
mod opening;
mod pool;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::mpi::collective::exchange::exchanged;
use crate::mpi::file::File;
use crate::mpi::file::access::AccessDirection;
use crate::mpi::file::counters::FileCounters;
use crate::mpi::file::operation::{
    AccessRequest, FileOperationId, FilePlace, FileStep, first_error,
};
use crate::mpi::file::storage::{FileMemory, Storage, file_error};
use crate::mpi::handle::Handle;
use crate::mpi::request::status::Status;
use crate::mpi::request::{Activity, Outcome};
use crate::process::{Process, ProcessMpi};

pub(crate) use changes::SizeChange;
pub(crate) use opening::OpenArguments;
use platform::base::{ErrorClass, MpiError, Result, Span};
use platform::sys::data_file::{DataFile, MappedRange, RangeLock};

/// A file of the system whose accesses are counted.
#[derive(Debug)]
struct CountedFile {
    file: DataFile,
    counters: Arc<FileCounters>,
}

impl FileMemory for MappedRange {
    fn span(&self) -> Span {
        self.span()
    }
}

impl Storage for CountedFile {
    fn read(&self, at: u64, into: Span) -> io::Result<usize> {
        self.file.read(at, into).inspect(|bytes| self.counters.note_read(*bytes))
    }

    fn write(&self, at: u64, from: Span) -> io::Result<usize> {
        self.file.write(at, from).inspect(|bytes| self.counters.note_write(*bytes))
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.file.set_size(size)
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        self.file.allocate(size)
    }

    fn has_memory(&self) -> bool {
        self.file.has_memory()
    }

    fn map(&self, range: Range<u64>) -> io::Result<Option<Box<dyn FileMemory>>> {
        Ok(self.file.map(range)?.map(|mapped| Box::new(mapped) as Box<dyn FileMemory>))
    }

    fn note(&self, stored: usize, gaps: u64) {
        self.counters.note_stores(stored);
        self.counters.note_gaps(gaps);
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn lock(&self, range: Range<u64>, is_shared: bool) -> io::Result<()> {
        self.file.lock(range, if is_shared { RangeLock::Shared } else { RangeLock::Exclusive })
    }

    fn unlock(&self, range: Range<u64>) -> io::Result<()> {
        self.file.lock(range, RangeLock::Free)
    }
}

impl Process {
    /// Makes an access from its start to its end, for the function `name`.
    ///
    /// # Errors
    /// `File`; those of the arguments and of the system.
    pub(crate) fn access_file(
        &'static self, name: &str, request: impl FnOnce(&mut ProcessMpi) -> Result<AccessRequest>,
    ) -> Result<Outcome> {
        let id = self.with_mpi(|mpi| {
            let request = request(mpi)?;
            mpi.start_file_access(request)
        })?;
        self.finish_file_access(name, id)
    }

    /// Waits for an access, and does its work with the file.
    ///
    /// # Errors
    /// Unless MPI runs.
    pub(crate) fn finish_file_access(
        &'static self, name: &str, id: FileOperationId,
    ) -> Result<Outcome> {
        loop {
            let step = self.until(
                |_| Ok(Activity::File(id)),
                |mpi, _| Ok(mpi.next_file_step(id)),
                |mpi, activity| mpi.blocked(name, [activity]),
            )?;
            match step {
                FileStep::Done(outcome) => return Ok(outcome),
                FileStep::Work(mut work) => {
                    let transfer = work.run();
                    self.with_mpi(|mpi| {
                        mpi.end_file_work(id, transfer);
                        Ok(())
                    })?;
                }
            }
        }
    }

    /// Makes an access of this rank alone at a known position: the short way of blocking calls.
    ///
    /// # Errors
    /// `File`; those of the arguments and of the system.
    pub(crate) fn access_file_alone(
        &'static self, request: impl FnOnce(&mut ProcessMpi) -> Result<AccessRequest>,
    ) -> Result<Outcome> {
        let (mut access, memory, file) = self.with_mpi(|mpi| {
            let AccessRequest { file, direction, place, memory, .. } = request(mpi)?;
            let FilePlace::At(position) = place else {
                return Err(ErrorClass::Intern.error("a shared pointer has no position"));
            };
            let (memory, on) = (memory?, mpi.files.get(file)?);
            Ok((on.access(&memory, direction, position), memory, file))
        })?;
        let transfer = access.run();
        drop(memory);
        let error = match &transfer.error {
            None => None,
            Some(error) => Some(self.with_mpi(|mpi| {
                let doing =
                    if access.direction == AccessDirection::Read { "read" } else { "write" };
                Ok(file_error(doing, &mpi.files.get(file)?.name, error))
            })?),
        };
        let is_external = access.memory.is_converted();
        let status = Status { bytes: transfer.bytes, is_external, ..Status::EMPTY };
        Ok(Outcome { status, error })
    }

    /// Tells all ranks of a communicator some words, and returns those of all ranks.
    ///
    /// # Errors
    /// Errors of messages.
    fn tell_all<const WORDS: usize>(
        &self, name: &str, comm: Handle, words: [u64; WORDS],
    ) -> Result<Vec<[u64; WORDS]>> {
        self.until(
            |mpi| mpi.start_exchange(comm, words),
            |mpi, run| match mpi.engine.take_run_end(*run) {
                None => Ok(None),
                Some(end) => end.error.map_or_else(|| Ok(Some(exchanged(&end.buffers))), Err),
            },
            |mpi, run| mpi.blocked(name, [&Activity::Run(*run)]),
        )
    }

    /// Tells all ranks the result of this one.
    ///
    /// # Errors
    /// That of this rank, or the first one of another rank.
    fn agree_on(&self, name: &str, comm: Handle, own: Result) -> Result {
        let own = own.err();
        let codes = self.tell_all(name, comm, [code_word(own.as_deref())])?;
        first_error(own, codes.iter().map(|[code]| code_of(*code))).map_or(Ok(()), Err)
    }

    /// A file.
    ///
    /// # Errors
    /// `File` if there is no such file; the errors of `body`.
    pub(crate) fn with_file<T>(
        &'static self, file: Handle, body: impl FnOnce(&mut File) -> Result<T>,
    ) -> Result<T> {
        self.with_mpi(|mpi| body(mpi.files.get_mut(file)?))
    }
}

/// The code of an error for other ranks; 0 for none.
fn code_word(error: Option<&MpiError>) -> u64 {
    error.map_or(0, |error| error.code.0.cast_unsigned().into())
}

fn code_of(word: u64) -> i32 {
    (word as u32).cast_signed()
}
