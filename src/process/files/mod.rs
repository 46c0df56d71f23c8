//! Files of the system for [`mpi::file`](crate::mpi::file): calls of the system, and calls of MPI that wait.
//!
//! | file | content |
//! |---|---|
//! | `opening` | open and close |
//! | `changes` | sizes, views, hints, synchronization: what all ranks do together |
//! | `pool` | threads that do the work of calls that do not wait |

mod changes;
mod opening;
mod pool;

use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use crate::engine::schedules::plan::RunId;
use crate::mpi::Memory;
use crate::mpi::collective::exchange::exchanged;
use crate::mpi::file::File;
use crate::mpi::file::agreement::{error_word, first_error};
use crate::mpi::file::counters::{FileCounters, FileCounts};
use crate::mpi::file::operation::{AccessRequest, FileOperationId, FilePlace, FileStep};
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

    fn is_at(&self, path: &[u8]) -> io::Result<bool> {
        self.file.is_at(path_of(path))
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

    fn map_filled(&self, range: Range<u64>) -> Option<Box<dyn FileMemory>> {
        Some(Box::new(self.file.map_filled(range)?))
    }

    fn forget_space(&self) {
        self.file.forget_space();
    }

    fn note(&self, counts: FileCounts) {
        self.counters.add(counts);
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

fn path_of(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
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
            self.have_file_executor(mpi);
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

    /// Makes an access of this rank alone at a known position, the short way of blocking calls; `None` if
    /// there is no request.
    ///
    /// # Errors
    /// `File`; those of the arguments and of the system.
    pub(crate) fn access_file_alone(
        &'static self, request: impl FnOnce(&mut ProcessMpi) -> Result<Option<AccessRequest>>,
    ) -> Result<Option<Outcome>> {
        let prepared = self.with_mpi(|mpi| {
            let Some(AccessRequest { file, direction, place, memory, .. }) = request(mpi)? else {
                return Ok(None);
            };
            let FilePlace::At(position) = place else {
                return Err(ErrorClass::Intern.error("a shared pointer has no position"));
            };
            let (memory, on) = (memory?, mpi.files.get(file)?);
            Ok(Some((on.access(&memory, direction, position), memory, file)))
        })?;
        let Some((mut access, memory, file)) = prepared else { return Ok(None) };
        let transfer = access.run();
        drop(memory);
        let error = match &transfer.error {
            None => None,
            Some(error) => Some(self.with_mpi(|mpi| {
                Ok(file_error(access.direction.verb(), &mpi.files.get(file)?.name, error))
            })?),
        };
        let is_external = access.memory.is_converted();
        let status = Status { bytes: transfer.bytes, is_external, ..Status::EMPTY };
        Ok(Some(Outcome { status, error }))
    }

    /// Tells all ranks of a communicator some words, and returns those of all ranks.
    ///
    /// # Errors
    /// Errors of messages.
    fn tell_all<const WORDS: usize>(
        &self, name: &str, comm: Handle, words: [u64; WORDS],
    ) -> Result<Vec<[u64; WORDS]>> {
        let buffers = self.await_run(name, |mpi| mpi.start_exchange(comm, words))?;
        Ok(exchanged(&buffers))
    }

    /// Starts a run and waits for its buffers.
    ///
    /// # Errors
    /// Those of its start, and that of the run.
    fn await_run(
        &self, name: &str, start: impl FnOnce(&mut ProcessMpi) -> Result<RunId>,
    ) -> Result<Vec<Memory>> {
        self.until(
            start,
            |mpi, run| mpi.run_buffers(*run),
            |mpi, run| mpi.blocked(name, [&Activity::Run(*run)]),
        )
    }

    /// [`Process::tell_all`], with the result of this rank in word 0.
    ///
    /// # Errors
    /// That of this rank, or the first one of another rank.
    fn tell_results<const WORDS: usize>(
        &self, name: &str, comm: Handle, own: Option<Box<MpiError>>, mut words: [u64; WORDS],
    ) -> Result<Vec<[u64; WORDS]>> {
        words[0] = error_word(own.as_deref());
        let records = self.tell_all(name, comm, words)?;
        match first_error(own, records.iter().map(|words| words[0])) {
            None => Ok(records),
            Some(error) => Err(error),
        }
    }

    /// Tells all ranks the result of this one.
    ///
    /// # Errors
    /// That of this rank, or the first one of another rank.
    fn agree_on(&self, name: &str, comm: Handle, own: Result) -> Result {
        self.tell_results(name, comm, own.err(), [0]).map(drop)
    }

    /// Makes a call of the system for a file, which is to do what `doing` says, without the lock.
    ///
    /// # Errors
    /// `File` if there is no such file; that of the system.
    pub(crate) fn call_storage<T>(
        &'static self, file: Handle, doing: &str, call: impl FnOnce(&dyn Storage) -> io::Result<T>,
    ) -> Result<T> {
        let (storage, name) =
            self.with_file(file, |on| Ok((Arc::clone(&on.storage), on.name.clone())))?;
        call(&*storage).map_err(|error| file_error(doing, &name, &error))
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
