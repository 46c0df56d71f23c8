//! The end of another MPI library that carries messages.
//!
//! ```text
//!   last user leaves ── a session may follow ── exit(3): all ranks meet, the library is finalized
//!   exit without that ── the library is not finalized, so its launcher ends the job
//! ```
//!
//! A library is initialized once in a process, so it lasts until the process exits.

use super::{Process, ProcessState};
use platform::sys::process as system;

impl Process {
    /// Finalizes the other library when this process exits.
    pub(super) fn finalize_vendor_at_exit(&'static self) {
        if !system::at_exit(|| self.finalize_vendor()) {
            tracing::warn!("the other MPI library will not be finalized");
        }
    }

    /// Finalizes the other library, unless MPI is in use: then other ranks may wait for this one, and a
    /// meeting of all would not end.
    fn finalize_vendor(&self) {
        let Some(mut state) = self.state.try_visit() else { return };
        if let ProcessState::Dormant(dormant) = &mut *state
            && let Some(library) = dormant.vendor.take()
        {
            // Until all ranks are here, messages of others may arrive.
            let devices = dormant.mpi.engine.device_mut();
            devices.stop_carrier_thread();
            library.meet();
            if devices.close_carrier() {
                library.finalize();
            } else {
                tracing::warn!("messages that no rank has received are left at exit");
            }
        }
    }
}
