//! Memory that processes of one host share although they are not ranks of one node: those of several jobs.
//!
//! ```text
//!   process that allocates                        the others
//!   allocate ── place of the segment, told ──>    open
//!   doorbell <── places of doorbells, told ──>    doorbell
//!   store, ring ────────────────────────────>    look
//! ```
//!
//! Places are words that processes tell each other by messages. A segment and a doorbell are in use until
//! their values are dropped, whatever happens to the process that has made them.
//!
//! # Guarantees
//! * After [`NearDoorbell::ring`], the [`WakeSource`](super::WakeSource) of the process fires if it is armed. It
//!   then sees what was written to shared memory before, and so does a process that arms later.
//! * A place that has another meaning by now is an error.

use std::fmt::Debug;
use std::sync::Arc;

use platform::base::{Result, Span};

/// Where processes of this host find a segment or a doorbell of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NearPlace(pub(crate) [u64; 2]);

/// What a process shares with others of its host.
pub trait NearMemory {
    /// The doorbell of this process.
    ///
    /// # Errors
    /// `NoMem` without memory or descriptors.
    fn own_doorbell(&mut self) -> Result<NearPlace>;

    /// The doorbell of another process.
    ///
    /// # Errors
    /// `Other` if the system refuses, for example because the process has another user.
    fn doorbell(&mut self, at: NearPlace) -> Result<Arc<dyn NearDoorbell>>;

    /// A new segment, all zero.
    ///
    /// # Errors
    /// `NoMem` without memory or descriptors.
    fn allocate(&mut self, len_bytes: usize) -> Result<Box<dyn NearSegment>>;

    /// The segment of another process, which has sent the place and the length.
    ///
    /// # Errors
    /// As [`NearMemory::doorbell`].
    fn open(&mut self, at: NearPlace, len_bytes: usize) -> Result<Box<dyn NearSegment>>;
}

/// A segment, mapped as long as this value exists.
pub trait NearSegment: Debug + Send {
    /// Where others find it, at the process that has made it, as long as this value exists.
    fn place(&self) -> NearPlace;

    /// Its bytes.
    fn memory(&self) -> Span;
}

/// What wakes another process.
pub trait NearDoorbell: Debug + Send + Sync {
    /// Makes the process look at the memory that it shares. Without a fence or a system call if it is not
    /// armed.
    fn ring(&self) {
        self.ring_if(&|| true);
    }

    /// The same, unless `is_awaited` returns false, which is called only if the process seems to be armed.
    fn ring_if(&self, is_awaited: &dyn Fn() -> bool);
}
