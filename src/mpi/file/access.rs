//! One process moves data between memory and the bytes of its view: no other process takes part.
//!
//! ```text
//!   memory   ── packed bytes, in steps of a buffer if they are scattered ──┐
//!   view     ── pieces of the file ─────────────────────────────────────────┴──> calls of the storage
//! ```
//!
//! *Data sieving* reads pieces with short gaps between them by one call, gaps included. Writes do not: to
//! write a gap back would undo what another process writes there meanwhile.
//!
//! A value of this module is work without the lock of MPI, by any thread.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::storage::Storage;
use super::view::{FilePiece, Tiles};
use crate::engine::memory::{Memory, OwnedBytes};
use platform::base::Span;

/// The longest gap that is read with its neighbours, in bytes: a call of the system takes about as long as
/// copying them.
const GAP_MAX: u64 = 4096;

/// Where data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the file to memory.
    Read,
    /// From memory to the file.
    Write,
}

/// Data to move.
#[derive(Debug)]
pub(crate) struct IndependentAccess {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) view: Arc<Tiles>,
    pub(crate) direction: Direction,
    /// Its packed bytes are those of the view from `position` on.
    pub(crate) memory: Memory,
    pub(crate) position: u64,
    /// Bytes of the buffer for scattered memory, and of one that reads gaps.
    pub(crate) buffer: usize,
    /// Whether gaps may be read.
    pub(crate) sieves: bool,
    /// Whether others see all of it or nothing.
    pub(crate) is_atomic: bool,
}

/// What was moved.
#[derive(Debug, Default)]
pub(crate) struct Transfer {
    /// Bytes of data, from the first on: fewer than asked for at the end of a file, and after an error.
    pub(crate) bytes: u64,
    pub(crate) error: Option<io::Error>,
}

impl IndependentAccess {
    /// Moves the data.
    pub(crate) fn run(&mut self) -> Transfer {
        match self.locked() {
            Err(error) => Transfer { bytes: 0, error: Some(error) },
            Ok(None) => self.moved(),
            Ok(Some(range)) => {
                let moved = self.moved();
                let freed = self.storage.unlock(range).err();
                Transfer { error: moved.error.or(freed), ..moved }
            }
        }
    }

    /// Locks the range of an atomic access.
    fn locked(&self) -> io::Result<Option<Range<u64>>> {
        let covered = self.view.covered(self.position, self.memory.len() as u64);
        let range = covered.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        if !self.is_atomic || range.is_empty() {
            return Ok(None);
        }
        self.storage.lock(range.clone(), self.direction == Direction::Read)?;
        Ok(Some(range))
    }

    fn moved(&mut self) -> Transfer {
        let len = self.memory.len();
        if let Some(span) = self.memory.span() {
            return self.move_span(self.position, span);
        }
        let mut transfer = Transfer::default();
        let step = OwnedBytes::zeroed(len.min(self.buffer));
        while (transfer.bytes as usize) < len {
            let done = transfer.bytes as usize;
            let wanted = (len - done).min(step.len());
            let mut bytes = Memory::Span(step.span().part(0, wanted));
            if self.direction == Direction::Write {
                self.memory.copy(done, &mut bytes, 0, wanted);
            }
            let moved = self.move_span(self.position + transfer.bytes, step.span().part(0, wanted));
            if self.direction == Direction::Read {
                bytes.copy(0, &mut self.memory, done, moved.bytes as usize);
            }
            transfer.bytes += moved.bytes;
            transfer.error = moved.error;
            if (moved.bytes as usize) < wanted {
                break;
            }
        }
        transfer
    }

    /// Moves adjacent bytes of memory.
    fn move_span(&self, position: u64, span: Span) -> Transfer {
        let mut transfer = Transfer::default();
        let moved = match self.direction {
            Direction::Write => self.write_pieces(position, span, &mut transfer.bytes),
            Direction::Read => self.read_pieces(position, span, &mut transfer.bytes),
        };
        transfer.error = moved.err();
        transfer
    }

    fn write_pieces(&self, position: u64, from: Span, done: &mut u64) -> io::Result<()> {
        for piece in self.view.pieces(position, from.len() as u64) {
            let part = from.part(*done as usize, piece.len as usize);
            write_all(&*self.storage, piece.offset, part, done)?;
        }
        Ok(())
    }

    /// Reads up to the end of the file.
    fn read_pieces(&self, position: u64, into: Span, done: &mut u64) -> io::Result<()> {
        let mut pieces = self.view.pieces(position, into.len() as u64).peekable();
        let mut group = Vec::new();
        while let Some(first) = pieces.next() {
            group.clear();
            group.push(first);
            let mut end = first.end();
            while let Some(next) = pieces.next_if(|next| self.is_near(first, end, *next)) {
                end = next.end();
                group.push(next);
            }
            let wanted: u64 = group.iter().map(|piece| piece.len).sum();
            let part = into.part(*done as usize, wanted as usize);
            let read = match &group[..] {
                [piece] => read_all(&*self.storage, piece.offset, part, done)?,
                pieces => self.read_group(pieces, part, done)?,
            };
            if read < wanted {
                break;
            }
        }
        Ok(())
    }

    /// Whether a piece is read by one call with those from `first` to `end`.
    fn is_near(&self, first: FilePiece, end: u64, next: FilePiece) -> bool {
        self.sieves
            && next.offset >= end
            && next.offset - end <= GAP_MAX
            && next.end() - first.offset <= self.buffer as u64
    }

    /// Reads pieces with the gaps between them.
    fn read_group(&self, pieces: &[FilePiece], into: Span, done: &mut u64) -> io::Result<u64> {
        let (start, end) = (pieces[0].offset, pieces[pieces.len() - 1].end());
        let whole = OwnedBytes::zeroed((end - start) as usize);
        let mut found = 0;
        let read = read_all(&*self.storage, start, whole.span(), &mut found);
        let mut copied = 0;
        for piece in pieces {
            let at = piece.offset - start;
            let len = found.saturating_sub(at).min(piece.len) as usize;
            let target = into.part(copied as usize, len);
            whole.span().part(at as usize, len).copy_nonoverlapping(target);
            copied += len as u64;
            if (len as u64) < piece.len {
                break;
            }
        }
        *done += copied;
        read.map(|_| copied)
    }
}

/// Writes all of a span, and adds what it has written to `done`.
///
/// # Errors
/// That of the storage; `WriteZero` if it takes nothing.
pub(crate) fn write_all(
    storage: &dyn Storage, at: u64, from: Span, done: &mut u64,
) -> io::Result<()> {
    let mut written = 0;
    while written < from.len() {
        let rest = from.part(written, from.len() - written);
        match storage.write(at + written as u64, rest)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                written += count;
                *done += count as u64;
            }
        }
    }
    Ok(())
}

/// Reads a span up to the end of the file, adds what it has read to `done`, and returns it.
///
/// # Errors
/// That of the storage.
pub(crate) fn read_all(
    storage: &dyn Storage, at: u64, into: Span, done: &mut u64,
) -> io::Result<u64> {
    let mut read = 0;
    while read < into.len() {
        let count = storage.read(at + read as u64, into.part(read, into.len() - read))?;
        if count == 0 {
            break;
        }
        read += count;
        *done += count as u64;
    }
    Ok(read as u64)
}
