//! Ends this rank when its launcher has ended.
//!
//! The kernel ends the processes that `mpirun` started when `mpirun` ends, but not a rank that one of
//! these started: behind a shell, for instance. Such a rank has a thread that waits for the end of the
//! connection to the launcher, and runs only then.

use std::io::{self, Write};

use platform::bootstrap::Client;
use platform::sys::process::{self, THREAD_NAME};
use platform::sys::signals;

/// Starts the watch, if this rank needs one. Without a thread for it the rank works as well.
pub(super) fn start(launcher: &Client) {
    let Some(connection) = launcher.unguarded_connection() else { return };
    let rank = launcher.attributes().rank;
    let watch = move || {
        connection.wait_for_end();
        let line = format!("Suiro: mpirun has ended without a word; ending rank {rank}, too\n");
        // The reader of this stream may have ended with the launcher.
        let _ = io::stderr().write_all(line.as_bytes());
        process::kill_own_group();
    };
    let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}launcher"));
    if let Err(error) = signals::without(|| thread.spawn(watch)) {
        tracing::warn!(%error, "the end of the launcher will not be noticed");
    }
}
