//! Output of ranks: from their pipes to the launcher's own output and to files.
//!
//! ```text
//!   rank's pipe --> LineBuffer (lines, or timed-out parts) --+--> OutputSink (queue) --> terminal
//!                     with LinePrefix, if requested          `--> OutputSink --> file
//! ```
//!
//! Without prefixes, bytes are never changed, lost or reordered within one stream. Lines of
//! different ranks do not mix, except a partial line that times out, such as a prompt. With
//! prefixes, every written line has exactly one: a line that another rank interrupts ends there and
//! continues with a prefix of its own.
//!
//! The formats are those of Open MPI (`--output`), MPICH and Intel MPI (`-prepend-pattern`,
//! `-outfile-pattern`); [`options`] lists them.

mod line_buffer;
pub(crate) mod options;
pub(crate) mod pattern;
mod sink;
mod streams;

pub(crate) use options::OutputOptions;
pub(crate) use sink::SinkFailure;
pub(crate) use streams::{JobIdentity, OutputGrant, OutputReady, Streams};

/// One of the two output streams of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum OutputStream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl OutputStream {
    /// Both, in the order of all arrays that are indexed by stream.
    pub(crate) const BOTH: [Self; 2] = [Self::Output, Self::Error];

    /// The key of a stream of `rank` among those of a job.
    fn key(self, rank: u32) -> u64 {
        u64::from(rank) * 2 + self as u64
    }

    /// The rank and the stream of a key.
    fn of_key(key: u64) -> (usize, Self) {
        ((key / 2) as usize, Self::BOTH[(key % 2) as usize])
    }

    /// The name in prefixes and files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Output => "stdout",
            Self::Error => "stderr",
        }
    }
}
