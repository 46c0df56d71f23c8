//! What ranks print, on its way to the launcher's own output and to files.
//!
//! ```text
//!   rank's pipe --> Lines (whole lines, or what is late) --+--> Sink (bounded queue) --> terminal
//!                     each with its Prefix, if wanted      `--> Sink --> file
//! ```
//!
//! Without prefixes bytes are never changed, lost or reordered within one stream. Lines of
//! different ranks do not mix, unless a rank leaves a line unfinished for some time: a prompt must
//! come out too. With prefixes every line that comes out has exactly one: a line that another rank
//! interrupts ends there, and goes on with a prefix of its own.
//!
//! The forms are those of Open MPI (`--output`), MPICH and Intel MPI (`-prepend-pattern`,
//! `-outfile-pattern`); [`options`] says what each looks like.

mod line_buffer;
pub(crate) mod options;
pub(crate) mod pattern;
mod sink;
mod streams;

pub(crate) use options::OutputOptions;
pub(crate) use streams::{JobIdentity, OutputReady, Streams};

/// One of the two things that a rank prints to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputStream {
    /// Its standard output.
    Output,
    /// Its standard error.
    Error,
}

impl OutputStream {
    /// Both, in the order in which everything about them is stored.
    pub(crate) const BOTH: [Self; 2] = [Self::Output, Self::Error];

    /// As prefixes and files have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Output => "stdout",
            Self::Error => "stderr",
        }
    }
}
