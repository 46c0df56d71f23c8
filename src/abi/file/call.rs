//! What all data access functions have in common: from their arguments in C to an access.

#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::abi::arguments::user_memory::{checked_count, memory};
use crate::abi::entry_point::{PROCESS, number};
use crate::abi::file::representation::{self, ConvertedData};
use crate::abi::types::*;
use crate::mpi::Memory;
use crate::mpi::file::File;
use crate::mpi::file::access::AccessDirection;
use crate::mpi::file::operation::{AccessRequest, FilePlace};
use crate::mpi::request::Outcome;
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, Result};

/// Where a function begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// At an offset in etypes.
    At(MPI_Offset),
    Individual,
    Shared,
    /// At the shared pointer, processes in their order.
    Ordered,
}

/// A call of a data access function.
#[derive(Clone, Copy)]
pub(crate) struct FileCall {
    pub(crate) name: &'static str,
    pub(crate) fh: MPI_File,
    pub(crate) direction: AccessDirection,
    start: Start,
    is_collective: bool,
    pub(crate) buf: *const c_void,
    pub(crate) count: MPI_Count,
    pub(crate) datatype: MPI_Datatype,
}

impl FileCall {
    /// A read of one process.
    pub(super) fn read(
        name: &'static str, fh: MPI_File, start: Start, buf: *mut c_void, count: MPI_Count,
        datatype: MPI_Datatype,
    ) -> Self {
        let (direction, is_collective, buf) = (AccessDirection::Read, false, buf.cast_const());
        Self { name, fh, direction, start, is_collective, buf, count, datatype }
    }

    /// A write of one process.
    pub(super) fn write(
        name: &'static str, fh: MPI_File, start: Start, buf: *const c_void, count: MPI_Count,
        datatype: MPI_Datatype,
    ) -> Self {
        let (direction, is_collective) = (AccessDirection::Write, false);
        Self { name, fh, direction, start, is_collective, buf, count, datatype }
    }

    /// The same of all processes of the file.
    pub(super) fn collective(self) -> Self {
        Self { is_collective: true, ..self }
    }

    /// Whether the caller makes the access without any other process.
    fn is_simple(&self) -> bool {
        !self.is_collective && matches!(self.start, Start::At(_) | Start::Individual)
    }

    /// The access, to the bytes that the application has `converted`, if it does.
    ///
    /// # Errors
    /// `File`; if the call is not collective, also those of the other arguments.
    ///
    /// # Safety
    /// The standard's requirements for the buffer.
    pub(crate) unsafe fn request(
        &self, mpi: &mut ProcessMpi, converted: Option<Result<ConvertedData>>, is_inline: bool,
    ) -> Result<AccessRequest> {
        let (memory, conversion) = match converted {
            // SAFETY: the caller's promise.
            None => (unsafe { self.memory(mpi) }, None),
            Some(Ok(ConvertedData { memory, conversion })) => (Ok(memory), Some(conversion)),
            Some(Err(error)) => (Err(error), None),
        };
        let handle = number(self.fh);
        mpi.check_file_usable(handle)?;
        let file = mpi.files.get_mut(handle)?;
        let placed = self
            .check(file)
            .and(memory)
            .and_then(|memory| Ok((self.place(file, memory.len() as u64)?, memory)));
        let (place, memory) = match placed {
            Ok((place, memory)) => (place, Ok(memory)),
            // Others must hear of it.
            Err(error) => (
                if self.start == Start::Ordered { FilePlace::Ordered } else { FilePlace::At(0) },
                Err(error),
            ),
        };
        Ok(AccessRequest {
            file: handle,
            direction: self.direction,
            place,
            is_collective: self.is_collective,
            memory,
            conversion,
            is_inline,
        })
    }

    fn check(&self, file: &File) -> Result {
        match self.direction {
            AccessDirection::Read => file.mode.check_read()?,
            AccessDirection::Write => file.mode.check_write()?,
        }
        if matches!(self.start, Start::At(_) | Start::Individual) {
            file.mode.check_random()?;
        }
        if self.is_collective { file.check_idle() } else { Ok(()) }
    }

    /// Where the access begins; moves the individual pointer behind it.
    fn place(&self, file: &mut File, len: u64) -> Result<FilePlace> {
        let unit = file.view.unit();
        if unit > 0 && !len.is_multiple_of(unit) {
            return Err(ErrorClass::Io.error(format!(
                "the access has {len} bytes of the file: expected a multiple of the etype, which has \
                 {unit}"
            )));
        }
        Ok(match self.start {
            Start::At(offset) => FilePlace::At(file.view.position(offset)?),
            Start::Individual => {
                let at = file.pointer;
                file.pointer += len;
                FilePlace::At(at)
            }
            Start::Shared => FilePlace::Shared,
            Start::Ordered => FilePlace::Ordered,
        })
    }

    /// The buffer as bytes of the file.
    ///
    /// # Safety
    /// The standard's requirements for the buffer.
    unsafe fn memory(&self, mpi: &ProcessMpi) -> Result<Memory> {
        // SAFETY: the caller's promise.
        let memory = unsafe { memory(mpi, self.buf, self.count, self.datatype)? };
        let datatype = mpi.objects.datatypes.committed(number(self.datatype))?;
        let view = &mpi.files.get(number(self.fh))?.view;
        Ok(view.representation.memory(datatype, self.count as usize, memory))
    }

    /// Makes the access from its start to its end.
    ///
    /// # Errors
    /// As of [`FileCall::request`]; those of the system.
    ///
    /// # Safety
    /// The standard's requirements for the buffer.
    pub(crate) unsafe fn run(self) -> Result<Outcome> {
        if self.is_simple() {
            let unless_converted = |mpi: &mut ProcessMpi| {
                let is_converted = representation::converts(mpi, self.fh, self.direction)?;
                // SAFETY: the caller's promise.
                let request = |mpi| unsafe { self.request(mpi, None, true) };
                if is_converted { Ok(None) } else { request(mpi).map(Some) }
            };
            if let Some(outcome) = PROCESS.access_file_alone(unless_converted)? {
                return Ok(outcome);
            }
        }
        // SAFETY: the caller's promise.
        let converted = unsafe { representation::converted(&self)? };
        // SAFETY: as above.
        PROCESS.access_file(self.name, |mpi| unsafe { self.request(mpi, converted, true) })
    }

    /// Elements of the buffer.
    ///
    /// # Errors
    /// `Count` if the number is negative.
    pub(crate) fn elements(&self) -> Result<usize> {
        checked_count(self.count)
    }
}
