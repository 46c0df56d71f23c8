//! The window of a shared file pointer, and the communicator of its file, between two files of one communicator.
//!
//! ```text
//!   MPI_File_open: new ──> in use ── MPI_File_close, all have met ──> idle ── MPI_Comm_free ──> freed
//!                             ^                                        │
//!                             └──────────── MPI_File_open ─────────────┘
//! ```
//!
//! To make a window takes three rounds of messages and a segment; the next file needs one round, in which all ranks
//! tell the number of what they have kept. A communicator keeps one. Jobs that survive failures keep none: a window
//! out of use does not hear of a rank that has failed.

use super::pointer::{SharedPointer, SharedWord};
use crate::device::Device;
use crate::mpi::Mpi;
use crate::mpi::communicator::Context;
use crate::mpi::handle::Handle;
use crate::mpi::window::Window;
use crate::mpi::window::synchronization::Assertions;
use platform::base::Result;

/// A window with a shared pointer that no file uses.
#[derive(Debug)]
pub(crate) struct IdlePointer {
    window: Box<Window>,
    word: SharedWord,
    /// The same at all ranks, and of no other communicator.
    number: u64,
}

impl IdlePointer {
    /// The communicator of the file.
    pub(crate) fn comm(&self) -> Handle {
        self.window.comm
    }

    /// Moves the pointer, at rank 0 and before any rank uses it.
    pub(crate) fn set(&self, position: u64) {
        self.word.set(position);
        if let Some(mapped) = self.window.own_mapped() {
            self.word.copy_to(mapped);
        }
    }
}

impl<D: Device> Mpi<D> {
    /// Whether files of a communicator leave their windows to others.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn keeps_pointers(&self, comm: Handle) -> Result<bool> {
        let on = self.comms.get(comm)?;
        Ok(on.size() > 1 && !on.spans_jobs && !self.engine.survives_failures())
    }

    /// The number of what a communicator has kept, with the pointer moved to `position` by rank 0; 0: nothing.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn idle_pointer_number(&self, comm: Handle, position: u64) -> Result<u64> {
        let on = self.comms.get(comm)?;
        let Some(idle) = &on.idle_pointer else { return Ok(0) };
        if on.rank == 0 {
            idle.set(position);
        }
        Ok(idle.number)
    }

    /// Takes what a communicator has kept.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn take_idle_pointer(&mut self, comm: Handle) -> Result<Option<Box<IdlePointer>>> {
        Ok(self.comms.get_mut(comm)?.idle_pointer.take())
    }

    /// Gives back what [`Mpi::take_idle_pointer`] has taken.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn put_back_idle_pointer(&mut self, comm: Handle, idle: Box<IdlePointer>) -> Result {
        self.comms.get_mut(comm)?.idle_pointer = Some(idle);
        Ok(())
    }

    /// A file uses a pointer.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn use_pointer(&mut self, idle: IdlePointer) -> Result<SharedPointer> {
        let window = self.insert_window(*idle.window)?;
        self.lock_all_window(window, Assertions { no_check: true, ..Assertions::default() })?;
        Ok(SharedPointer::Window(window, idle.word))
    }

    /// Keeps the window of a file that all ranks have closed, for the next file of `parent`; frees it if that
    /// communicator, whose context was `context`, has been freed, or has kept another one.
    ///
    /// # Errors
    /// `Win` if there is no such window.
    pub(crate) fn keep_pointer(
        &mut self, parent: Handle, context: Context, window: Handle, word: SharedWord,
    ) -> Result {
        let window = Box::new(self.retire_window(window)?);
        let number = self.comms.get(window.comm)?.context.bits();
        let idle = IdlePointer { window, word, number };
        match self.comms.get_mut(parent) {
            Ok(on) if on.context == context && on.idle_pointer.is_none() => {
                on.idle_pointer = Some(Box::new(idle));
                Ok(())
            }
            _ => self.free_idle_pointer(idle),
        }
    }

    /// # Errors
    /// Only internal errors.
    pub(crate) fn free_idle_pointer(&mut self, mut idle: IdlePointer) -> Result {
        self.free_retired(&mut idle.window)
    }
}
