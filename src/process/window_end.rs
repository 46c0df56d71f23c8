//! The end of a window: what its ranks do together before it is freed (MPI 5.0 §12.2.5), also where some have
//! failed.

use crate::mpi::handle::Handle;
use crate::process::{Process, ProcessMpi};
use platform::base::Result;

/// How the ranks of a window have left it.
#[derive(Debug)]
pub(crate) enum WindowEnd {
    /// All together, or with an error of messages.
    Met(Result),
    /// Each for itself, as some may not have met: a rank has failed, or the window was revoked.
    Abandoned,
}

impl Process {
    /// Synchronizes the ranks of a window, for the function `name`. No rank of this job uses its memory after
    /// that, and no message that of this process.
    ///
    /// # Errors
    /// `Win` if there is no such window.
    pub(crate) fn leave_window(&'static self, name: &str, window: Handle) -> Result<WindowEnd> {
        let met = self.until(
            |mpi| mpi.start_window_meeting(window),
            |mpi, meeting| mpi.end_window_meeting(window, meeting),
            |mpi, meeting| mpi.blocked(name, [meeting]),
        );
        if !self.with_mpi(|mpi| mpi.abandon_window(window))? {
            return Ok(WindowEnd::Met(met));
        }
        self.drain_window(name, window)?;
        Ok(WindowEnd::Abandoned)
    }

    /// Waits until no message moves data of an abandoned window.
    ///
    /// # Errors
    /// `Win` if there is no such window.
    pub(crate) fn drain_window(&'static self, name: &str, window: Handle) -> Result {
        self.until(
            |_| Ok(window),
            ProcessMpi::end_window_transfers,
            |mpi, window| mpi.blocked_abandonment(name, *window),
        )
    }
}
