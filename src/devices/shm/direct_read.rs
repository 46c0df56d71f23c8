//! Direct reads: long messages read from the memory of the sender by process_vm_readv(2), where
//! [`ReadTrial`] prefers that to packets.
//!
//! State of each peer: unknown --first question: read the probe--> readable | unreadable.
//!
//! A sender without other work copies half of the message (`split_copy`), in half of the time. On a Xeon, one
//! way, in microseconds: 256 KiB take 17 by reads, 10 by split copies, 24 in packets; 1 MiB takes 85, 53 and
//! 130.
#![allow(unsafe_code)]

use super::split_copy::{SplitCopy, SplitPiece};
use crate::device::{COPY_STEP, SplitEnd};
use crate::devices::rings::peer_address::{PeerAddress, PublishedAddress};
use crate::devices::rings::read_trial::{CopyMethod, ReadTrial};
use platform::base::{Result, Span};
use platform::sys::cma;

/// The state of direct reads at one rank.
pub(crate) struct DirectRead {
    /// The probe for peers.
    _published: PublishedAddress,
    /// By slot.
    peers: Vec<Readability>,
    trial: ReadTrial,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Readability {
    Unknown,
    Readable,
    Unreadable,
}

impl DirectRead {
    /// Publishes the address of this rank. Every peer is unknown.
    ///
    /// # Errors
    /// `Other` if another process has published one in this slot.
    pub(crate) fn new(copy: CopyMethod, peers: usize, address: &PeerAddress) -> Result<Self> {
        let peers = vec![Readability::Unknown; peers];
        Ok(Self { _published: address.publish()?, peers, trial: ReadTrial::new(copy) })
    }

    /// The transport that was asked for.
    pub(crate) fn copy(&self) -> CopyMethod {
        self.trial.copy()
    }

    /// Whether messages may be read at all.
    pub(crate) fn is_possible(&self) -> bool {
        self.copy() != CopyMethod::Pipe
    }

    /// Whether to read a message of `len` bytes from the peer in `slot`.
    pub(crate) fn prefers(&mut self, slot: usize, address: &PeerAddress, len: usize) -> bool {
        self.trial.prefers(len) && self.is_readable(slot, address)
    }

    fn is_readable(&mut self, slot: usize, address: &PeerAddress) -> bool {
        if self.peers[slot] == Readability::Unknown {
            self.peers[slot] = match address.is_readable() {
                true => Readability::Readable,
                false => Readability::Unreadable,
            };
        }
        self.peers[slot] == Readability::Readable
    }

    /// Reads the next bytes of a message from the peer in `slot`, and returns how many have been
    /// read. A failure is final: the peer is unreadable after it.
    ///
    /// # Errors
    /// A sentence with the cause.
    pub(crate) fn read(
        &mut self, slot: usize, address: &PeerAddress, from: u64, into: Span, done: usize,
    ) -> Result<usize, String> {
        let read = self.trial.read(address.pid(), from, into, done);
        read.inspect_err(|_| self.peers[slot] = Readability::Unreadable)
    }

    /// Reads pieces of a message from the peer in `slot` until none is left, or enough for one call.
    /// A failure is final.
    pub(crate) fn read_split(
        &mut self, slot: usize, address: &PeerAddress, split: &SplitCopy, from: u64, into: Span,
    ) -> SplitEnd {
        let begin = self.trial.begin();
        let pid = address.pid();
        let mut bytes = 0;
        while let Some(range) = split.take_front() {
            let piece = into.part(range.start, range.len());
            if cma::read(pid, from.wrapping_add(range.start as u64), piece).is_err() {
                self.peers[slot] = Readability::Unreadable;
                split.fail();
                break;
            }
            bytes += range.len();
            if bytes >= COPY_STEP {
                self.trial.record_step(begin, bytes, false);
                return SplitEnd::Paused;
            }
        }
        self.trial.record_step(begin, bytes, true);
        split.leave_front()
    }
}

/// Writes pieces of the message `from` to the memory of its receiver, until none is left, enough for one
/// call, or the split copy has another generation.
pub fn write_split(
    address: &PeerAddress, split: &SplitCopy, generation: u32, from: Span,
) -> SplitEnd {
    let pid = address.pid();
    let (mut took, mut bytes) = (false, 0);
    while bytes < COPY_STEP
        && let Some(SplitPiece { range, to }) = split.take_back(generation, from.len())
    {
        took = true;
        bytes += range.len();
        // SAFETY: the receiver keeps the buffer and completes the receive only after this side has
        // left the copy; no piece is taken twice.
        if unsafe { cma::write(pid, from.part(range.start, range.len()), to) }.is_err() {
            split.fail();
        }
    }
    if !took {
        return SplitEnd::PeerPending;
    }
    // The receiver need not wait for the next call.
    match split.leave_back() {
        SplitEnd::PeerPending if bytes >= COPY_STEP => SplitEnd::Paused,
        end => end,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::devices::rings::memory::Mapped;
    use crate::devices::shm::segment::NodeSegment;
    use platform::sys::shm;

    fn address() -> Mapped<PeerAddress> {
        let segment = NodeSegment::open(shm::create().unwrap(), 1).unwrap();
        segment.area(0).part(|area| &area.address)
    }

    #[test]
    fn a_slot_is_taken_once() {
        let address = address();
        let _first = DirectRead::new(CopyMethod::Auto, 1, &address).unwrap();
        let error = DirectRead::new(CopyMethod::Auto, 1, &address).err().unwrap();
        assert!(error.why.contains(&std::process::id().to_string()), "{error}");
    }

    #[test]
    fn an_empty_slot_and_another_process_are_not_read() {
        let (empty, address) = (address(), address());
        let mut direct_read = DirectRead::new(CopyMethod::Cma, 1, &address).unwrap();
        assert!(!direct_read.prefers(0, &empty, 1 << 20), "empty slot");

        let mut direct_read = DirectRead::new(CopyMethod::Cma, 1, &empty).unwrap();
        let address = empty;
        address.probe.fetch_add(1, Ordering::Relaxed);
        assert!(!direct_read.prefers(0, &address, 1 << 20), "another process");
    }

    #[test]
    fn a_failed_read_is_the_last() {
        let address = address();
        let mut direct_read = DirectRead::new(CopyMethod::Cma, 1, &address).unwrap();
        let mut bytes = [0; 8];
        // SAFETY: `bytes` outlives the call, and only this call uses it.
        let into = unsafe { Span::of(&mut bytes) };
        let why = direct_read.read(0, &address, 8, into, 0).unwrap_err();
        assert!(why.contains("cannot read 8 bytes"), "{why}");
        assert!(!direct_read.prefers(0, &address, 1 << 20));
    }
}
