//! Failed ranks of a file, and files that are revoked.
//!
//! ```text
//!   a rank has failed    what all ranks do together ends with PROC_FAILED, and so does access by the shared
//!                        pointer if rank 0 has failed, which has it; independent access goes on
//!   revoked              all access ends with REVOKED
//! ```
//!
//! A file has its own communicator, which knows of both. What a rank was writing when it failed may be in the
//! file in parts.

use crate::device::Device;
use crate::mpi::Mpi;
use crate::mpi::file::pointer::SharedPointer;
use crate::mpi::handle::Handle;
use platform::base::{ErrorClass, Result};

impl<D: Device> Mpi<D> {
    /// # Errors
    /// `File` if there is no such file; `Revoked` if it was revoked.
    #[inline]
    pub(crate) fn check_file_usable(&self, file: Handle) -> Result {
        let file = self.files.get(file)?;
        if !self.comms.get(file.comm)?.resilience.is_revoked {
            return Ok(());
        }
        Err(ErrorClass::Revoked.error(format!("the file \"{}\" has been revoked", file.name)))
    }

    /// # Errors
    /// `ProcFailed` if the rank has failed that has the shared pointer; `Revoked`.
    pub(super) fn check_shared_pointer(&self, file: Handle) -> Result {
        match self.files.get(file)?.shared {
            SharedPointer::Own(_) => Ok(()),
            SharedPointer::Window(window, _) => self.windows.get(window)?.check_target(0),
        }
    }
}
