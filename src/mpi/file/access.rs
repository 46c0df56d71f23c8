//! One process moves data between memory and the bytes of its view: no other process takes part.
//!
//! ```text
//!   memory   ── packed bytes, in steps of a buffer if they are scattered ──┐
//!   view     ── pieces of the file ─────────────────────────────────────────┴──> calls of the storage
//! ```
//!
//! Many short pieces are moved in *memory of the file* where the file system has it. Stores write no gap, which
//! would undo what another process writes there meanwhile, so they need no locks. (16,384 pieces of 64 bytes in
//! 4 MiB: 1.0 ms; with the gaps 2.4 ms; by a call each 9 ms, and on a disk 140 ms.) Two processes that write one file
//! by calls do it one after the other, but stores need no turn: 64 MiB in blocks of 4 KiB take 8 ms instead of 25; in
//! a new file 40 ms either way, on a disk 23 instead of 57. Loads read what they need alone, after the device has been
//! read in long parts.
//!
//! *Data sieving*, elsewhere, reads pieces with short gaps between them by one call, gaps included.
//!
//! A value of this module is work without the lock of MPI, by any thread.

use std::io;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use super::counters::FileCounts;
use super::storage::Storage;
use super::view::{FilePiece, Tiles};
use crate::engine::memory::{Memory, OwnedBytes};
use platform::base::Span;

/// A piece that ends at most so many bytes after the one before is read together with it: to copy them
/// takes less time than a call of the system for the piece.
const NEAR_MAX: u64 = 2048;

/// A longer piece is moved by a call: the first access to a page takes longer than its share of the call.
const MAPPED_MAX: u64 = 32 << 10;

/// So many near pieces are moved in memory of the file; fewer by a call each.
const MAPPED_MIN: usize = 16;

/// A read of so many bytes goes past the caches, which would read the lines of the buffer first. (32 MiB in blocks of
/// 4 KiB by two ranks: 8.3 to 11.1 ms through the caches, 7.3 to 8.9 past them; from a disk 8.9 to 9.2, 6.2 to 7.1.)
const UNCACHED_MIN: usize = 4 << 20;

/// Gaps between pieces that are stored: they get space in the file, too, which other processes may not want.
/// In lengths of a piece, or [`NEAR_MAX`] bytes.
const STORE_GAP_LENGTHS_MAX: u64 = 16;

/// Gaps between pieces that are loaded, unless a piece is longer: their pages are brought in, too. To bring in
/// one takes less time than a call.
const LOAD_GAP_MAX: u64 = 4096;

/// The most bytes of a file in memory at a time.
const MAPPED_BYTES_MAX: u64 = 4 << 20;

/// Where data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessDirection {
    /// From the file to memory.
    Read,
    /// From memory to the file.
    Write,
}

impl AccessDirection {
    /// What is done with the file.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Data to move.
#[derive(Debug)]
pub(crate) struct IndependentAccess {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) view: Arc<Tiles>,
    pub(crate) direction: AccessDirection,
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
        let covered = self.view.covered(self.position, self.memory.len() as u64);
        let Some(range) = covered else {
            return Transfer { bytes: 0, error: Some(io::ErrorKind::FileTooLarge.into()) };
        };
        if !self.is_atomic {
            return self.moved();
        }
        let storage = Arc::clone(&self.storage);
        atomically(&*storage, range, self.direction, || self.moved())
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
            if self.direction == AccessDirection::Write {
                self.memory.copy(done, &mut bytes, 0, wanted);
            }
            let moved = self.move_span(self.position + transfer.bytes, step.span().part(0, wanted));
            if self.direction == AccessDirection::Read {
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
            AccessDirection::Write => self.write_pieces(position, span, &mut transfer.bytes),
            AccessDirection::Read => self.read_pieces(position, span, &mut transfer.bytes),
        };
        transfer.error = moved.err();
        transfer
    }

    fn write_pieces(&self, position: u64, from: Span, done: &mut u64) -> io::Result<()> {
        let is_stored = |gap: u64, piece: &FilePiece| {
            piece.len <= MAPPED_MAX && gap <= NEAR_MAX.max(STORE_GAP_LENGTHS_MAX * piece.len)
        };
        let pieces = self.view.pieces(position, from.len() as u64);
        let mut groups = PieceGroups::new(pieces, MAPPED_BYTES_MAX, is_stored);
        while let Some(pieces) = groups.next() {
            let part = from.part(*done as usize, bytes_of(pieces) as usize);
            store_pieces(&*self.storage, pieces, part, done)?;
        }
        Ok(())
    }

    /// Reads up to the end of the file.
    fn read_pieces(&self, position: u64, into: Span, done: &mut u64) -> io::Result<()> {
        let pieces = self.view.pieces(position, into.len() as u64);
        let mut scratch = None;
        if !self.sieves || !self.storage.has_memory() {
            return self.read_by_calls(pieces, into, &mut scratch, done);
        }
        let mut groups =
            PieceGroups::new(pieces, MAPPED_BYTES_MAX, |gap, piece| is_loaded(gap, piece.len));
        let mut asked = 0;
        while let Some(pieces) = groups.next() {
            let part = into.part(asked as usize, bytes_of(pieces) as usize);
            asked += part.len() as u64;
            let is_cached = into.len() < UNCACHED_MIN;
            if !load_pieces(&*self.storage, pieces, part, is_cached, done) {
                self.read_by_calls(pieces.iter().copied(), part, &mut scratch, done)?;
            }
            if *done < asked {
                break;
            }
        }
        Ok(())
    }

    /// Reads up to the end of the file by calls, near pieces with the gaps between them by way of `scratch`.
    fn read_by_calls(
        &self, pieces: impl Iterator<Item = FilePiece>, into: Span,
        scratch: &mut Option<OwnedBytes>, done: &mut u64,
    ) -> io::Result<()> {
        let reach = if self.sieves { self.buffer as u64 } else { 0 };
        let is_near = |gap: u64, piece: &FilePiece| gap + piece.len <= NEAR_MAX;
        let mut groups = PieceGroups::new(pieces, reach, is_near);
        let mut asked = 0;
        while let Some(pieces) = groups.next() {
            let wanted = bytes_of(pieces);
            let part = into.part(asked as usize, wanted as usize);
            asked += wanted;
            let read = match pieces {
                [piece] => read_all(&*self.storage, piece.offset, part, done)?,
                pieces => {
                    let Range { start, end } = range_of(pieces);
                    self.read_group(pieces, room(scratch, (end - start) as usize), part, done)?
                }
            };
            if read < wanted {
                break;
            }
        }
        Ok(())
    }

    /// Reads pieces with the gaps between them, by way of `whole`, which has their bytes.
    fn read_group(
        &self, pieces: &[FilePiece], whole: Span, into: Span, done: &mut u64,
    ) -> io::Result<u64> {
        let start = pieces[0].offset;
        let mut found = 0;
        let read = read_all(&*self.storage, start, whole, &mut found);
        let mut copied = 0;
        for piece in pieces {
            let at = piece.offset - start;
            let len = found.saturating_sub(at).min(piece.len) as usize;
            let target = into.part(copied as usize, len);
            whole.part(at as usize, len).copy_nonoverlapping(target);
            copied += len as u64;
            if (len as u64) < piece.len {
                break;
            }
        }
        let gaps = found.saturating_sub(bytes_of(pieces));
        self.storage.note(FileCounts { gaps, ..FileCounts::default() });
        *done += copied;
        read.map(|_| copied)
    }
}

/// Whether a piece of `len` bytes after such a gap is loaded where the file has memory.
pub(super) fn is_loaded(gap: u64, len: u64) -> bool {
    len <= MAPPED_MAX && gap <= len.max(LOAD_GAP_MAX)
}

/// Moves data with a range of the file locked, so that others see all of it or nothing.
pub(super) fn atomically(
    storage: &dyn Storage, range: Range<u64>, direction: AccessDirection,
    moved: impl FnOnce() -> Transfer,
) -> Transfer {
    if range.is_empty() {
        return moved();
    }
    if let Err(error) = storage.lock(range.clone(), direction == AccessDirection::Read) {
        return Transfer { bytes: 0, error: Some(error) };
    }
    let moved = moved();
    let freed = storage.unlock(range).err();
    Transfer { error: moved.error.or(freed), ..moved }
}

/// Pieces in groups: near ones together, others alone.
struct PieceGroups<P: Iterator, F> {
    pieces: Peekable<P>,
    group: Vec<FilePiece>,
    /// The most bytes from the first to the last piece of a group.
    reach: u64,
    /// Whether a piece after a gap of so many bytes belongs to the group of the one before.
    is_near: F,
}

impl<P: Iterator<Item = FilePiece>, F: Fn(u64, &FilePiece) -> bool> PieceGroups<P, F> {
    fn new(pieces: P, reach: u64, is_near: F) -> Self {
        Self { pieces: pieces.peekable(), group: Vec::new(), reach, is_near }
    }

    fn next(&mut self) -> Option<&[FilePiece]> {
        let Self { pieces, group, reach, is_near } = self;
        let first = pieces.next()?;
        let (mut end, reach) = (first.end(), first.offset.saturating_add(*reach));
        group.clear();
        group.push(first);
        let begins = is_near(0, &first);
        let near = |end: u64, next: &FilePiece| {
            next.offset >= end && next.end() <= reach && is_near(next.offset - end, next)
        };
        while let Some(next) = pieces.next_if(|next| begins && near(end, next)) {
            end = next.end();
            group.push(next);
        }
        Some(group)
    }
}

fn bytes_of(pieces: &[FilePiece]) -> u64 {
    pieces.iter().map(|piece| piece.len).sum()
}

/// Writes the pieces of a group, which have the bytes of `from` one after the other: many of them by stores
/// in memory of the file, so that no byte between them is written.
///
/// # Errors
/// That of the storage.
fn store_pieces(
    storage: &dyn Storage, pieces: &[FilePiece], from: Span, done: &mut u64,
) -> io::Result<()> {
    let mapped = match pieces.len() < MAPPED_MIN {
        true => None,
        false => storage.map(range_of(pieces))?,
    };
    let Some(mapped) = mapped else {
        let mut taken = 0;
        return pieces.iter().try_for_each(|piece| {
            let part = from.part(taken, piece.len as usize);
            taken += part.len();
            write_all(storage, piece.offset, part, done)
        });
    };
    for (place, part) in places(pieces, mapped.span(), from) {
        part.copy_nonoverlapping(place);
    }
    let written = from.len() as u64;
    *done += written;
    storage.note(FileCounts { written, ..FileCounts::default() });
    Ok(())
}

/// Copies the pieces of a group from memory of the file, one after the other; whether there was such memory.
fn load_pieces(
    storage: &dyn Storage, pieces: &[FilePiece], into: Span, is_cached: bool, done: &mut u64,
) -> bool {
    if pieces.len() < MAPPED_MIN {
        return false;
    }
    let Some(mapped) = storage.map_filled(range_of(pieces)) else { return false };
    let copies = places(pieces, mapped.span(), into);
    match is_cached {
        true => copies.for_each(|(place, part)| place.copy_nonoverlapping(part)),
        false => Span::copy_past_caches(copies),
    }
    let read = into.len() as u64;
    *done += read;
    storage.note(FileCounts { read, ..FileCounts::default() });
    true
}

/// From the first byte of a group to its last one.
fn range_of(pieces: &[FilePiece]) -> Range<u64> {
    let start = pieces.first().map_or(0, |piece| piece.offset);
    start..pieces.last().map_or(start, |piece| piece.end())
}

/// The bytes of each piece of a group: in `whole`, which has those of the file from the first piece on, and in
/// `adjacent`, which has those of the pieces alone.
fn places(
    pieces: &[FilePiece], whole: Span, adjacent: Span,
) -> impl Iterator<Item = (Span, Span)> + '_ {
    let (start, mut taken) = (range_of(pieces).start, 0);
    pieces.iter().map(move |piece| {
        let part = adjacent.part(taken, piece.len as usize);
        taken += part.len();
        (whole.part((piece.offset - start) as usize, part.len()), part)
    })
}

/// The first `len` bytes of a buffer, a new one if it is too short.
fn room(scratch: &mut Option<OwnedBytes>, len: usize) -> Span {
    if scratch.as_ref().is_none_or(|bytes| bytes.len() < len) {
        *scratch = None;
    }
    scratch.get_or_insert_with(|| OwnedBytes::zeroed(len)).span().part(0, len)
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
