//! Shared segments: memory that the ranks of a communicator share, one segment for each communicator.

use crate::shared_memory::segment::SharedSegment;
use platform::base::Peer;

/// The pool of shared segments of a node.
///
/// A claimed segment is entered by all of its ranks or by none. It is free again when all of them
/// have left. Segment 0 is claimed from the beginning, for all ranks that this device reaches, and
/// is never free.
pub trait SharedMemory {
    /// Takes a free segment; `None` if there is none.
    fn claim(&mut self) -> Option<u32>;

    /// Takes a free segment if half of the segments or more are free: for optional uses.
    fn claim_spare(&mut self) -> Option<u32>;

    /// Gives back a segment that this rank has claimed and that no rank has entered or will enter.
    fn release(&mut self, number: u32);

    /// Enters a segment that one of `ranks` has claimed. Each of them calls this once, with the same
    /// list, at any time; this rank is one of them. The index in `ranks` is the local rank.
    ///
    /// `None`, on all of them alike, if there is no such segment or one of them shares no memory with
    /// the others.
    fn enter(&mut self, number: u32, ranks: &[Peer]) -> Option<SharedSegment>;

    /// Leaves a segment; entries that this rank has published stay until the others have left too.
    fn leave(&mut self, segment: SharedSegment);
}
