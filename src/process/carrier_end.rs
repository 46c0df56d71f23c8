//! The end of another library that carries messages.
//!
//! ```text
//!   last user leaves ── a session may follow ── exit(3): an MPI: all ranks meet, it is finalized
//!                                                        libfabric: the endpoint is closed
//!   exit without that ── an MPI is not finalized, so its launcher ends the job
//! ```
//!
//! An MPI is initialized once in a process, so it lasts until the process exits.

use super::{Process, ProcessState};
use platform::sys::process as system;

impl Process {
    /// Ends the use of the other library when this process exits.
    pub(super) fn close_carrier_at_exit(&'static self) {
        if !system::at_exit(|| self.close_carrier()) {
            tracing::warn!("the library that carries messages will not be closed");
        }
    }

    /// Ends the use of the other library, unless MPI is in use: then other ranks may wait for this one, and a
    /// meeting of all would not end.
    fn close_carrier(&self) {
        let Some(mut state) = self.state.try_visit() else { return };
        let ProcessState::Dormant(dormant) = &mut *state else { return };
        let devices = dormant.mpi.engine.device_mut();
        devices.stop_carrier_thread();
        let library = dormant.vendor.take();
        // Until all ranks are here, messages of others may arrive.
        library.iter().for_each(|library| library.meet());
        let is_closed = devices.close_carrier();
        match library {
            Some(library) if is_closed => library.finalize(),
            None if is_closed => devices.drop_carrier(),
            _ => tracing::warn!("messages that no rank has received are left at exit"),
        }
    }
}
