//! Views: which bytes of a file a process sees, and in which order (MPI 5.0 §14.3).
//!
//! ```text
//!   file       ──displacement──┬── filetype ──┬── filetype ──┬── ...      tiles, one extent apart
//!                              │##  ##   #    │##  ##   #    │
//!   data       bytes of view:   01  23   4     56  78   9                positions, without gaps
//! ```
//!
//! A *position* counts bytes of data from the begin of the view, an *offset* those of the file. Nothing
//! here lists the pieces of a whole file: they are found one after the other from any position.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::representation::DataRepresentation;
use crate::engine::memory::layout::Layout;
use crate::engine::memory::pieces::LayoutPieces;
use crate::mpi::datatype::Datatype;
use crate::mpi::window::byte_reader::ByteReader;
use crate::mpi::window::layout_message;
use platform::base::{ErrorClass, Result};

/// The largest offset of a byte: those of the system are signed.
const OFFSET_MAX: u64 = i64::MAX as u64;

/// What a process sees of a file.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) etype: Datatype,
    pub(crate) filetype: Datatype,
    pub(crate) representation: DataRepresentation,
    /// Bytes of an elementary datatype in the file.
    unit: u64,
    pub(crate) tiles: Arc<Tiles>,
}

/// The bytes of a view: one tile after the other.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    /// The first byte of the first tile.
    displacement: u64,
    /// The bytes of a filetype in the file.
    tile: Arc<Layout>,
    /// Whether offsets ascend with positions, over all tiles.
    ascends: bool,
    /// For other processes, once they were told.
    description: OnceLock<Box<[u8]>>,
}

/// Adjacent bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilePiece {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl FilePiece {
    pub(crate) fn end(self) -> u64 {
        self.offset + self.len
    }
}

impl View {
    /// The view of a new file: its bytes.
    pub(crate) fn bytes(byte: Datatype) -> Self {
        let tiles = Arc::new(Tiles::new(0, Arc::clone(byte.layout())));
        let representation = DataRepresentation::Native;
        let (etype, filetype) = (byte.clone(), byte);
        Self { etype, filetype, representation, unit: 1, tiles }
    }

    /// A view of tiles.
    ///
    /// # Errors
    /// `Arg` for a negative displacement; `Io` for a filetype that is no multiple of the etype, goes
    /// back, or begins before the tile; if the file is written, also for one that overlaps.
    pub(crate) fn new(
        displacement: i64, etype: Datatype, filetype: Datatype, representation: DataRepresentation,
        writes: bool,
    ) -> Result<Self> {
        // The class of the peers, and of what others' tests expect.
        let wrong = |why: String| Err(ErrorClass::Io.error(why));
        let Ok(displacement) = u64::try_from(displacement) else {
            let why = format!("the displacement of a view is {displacement}: expected 0 or more");
            return Err(ErrorClass::Arg.error(why));
        };
        let tile = representation.layout(&filetype)?;
        let unit = representation.layout(&etype)?.size();
        if unit == 0 && tile.size() > 0 || unit > 0 && !tile.size().is_multiple_of(unit) {
            return wrong(format!(
                "a filetype of {} bytes of data is no multiple of the etype, which has {unit}",
                tile.size()
            ));
        }
        if !tile.is_monotonic() || tile.true_lb() < 0 || tile.extent() < 0 {
            return wrong(
                "the displacements of a filetype must ascend from 0 or more: those of this one do not"
                    .to_owned(),
            );
        }
        if writes && !tile.is_ascending() {
            return wrong(
                "a file that is written needs a filetype in which no byte is there twice"
                    .to_owned(),
            );
        }
        let (unit, tiles) = (unit as u64, Arc::new(Tiles::new(displacement, tile)));
        Ok(Self { etype, filetype, representation, unit, tiles })
    }

    /// Bytes of an elementary datatype in the file.
    pub(crate) fn unit(&self) -> u64 {
        self.unit
    }

    /// The position of an offset in etypes, as the application counts.
    ///
    /// # Errors
    /// `Arg` for a negative offset, or one beyond the largest file.
    pub(crate) fn position(&self, etypes: i64) -> Result<u64> {
        let position = u64::try_from(etypes).ok().and_then(|etypes| etypes.checked_mul(self.unit));
        position.filter(|position| *position <= OFFSET_MAX).ok_or_else(|| {
            ErrorClass::Arg.error(format!(
                "the offset {etypes} of etypes of {} bytes is in no file: expected 0 or more",
                self.unit
            ))
        })
    }

    /// The number of whole etypes below a position.
    pub(crate) fn etypes(&self, position: u64) -> i64 {
        (position / self.unit.max(1)) as i64
    }
}

impl Tiles {
    fn new(displacement: u64, tile: Arc<Layout>) -> Self {
        let ascends = tile.is_ascending() && tile.extent() >= tile.true_extent();
        Self { displacement, tile, ascends, description: OnceLock::new() }
    }

    /// The first byte of the first tile.
    pub(crate) fn displacement(&self) -> u64 {
        self.displacement
    }

    /// A description for other processes.
    pub(crate) fn description(&self) -> &[u8] {
        self.description.get_or_init(|| {
            let mut bytes = self.displacement.to_le_bytes().to_vec();
            layout_message::emit(&self.tile, &mut bytes);
            bytes.into()
        })
    }

    /// The tiles of a description; `None` if it makes no sense.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let displacement = reader.number()?;
        let tile = layout_message::parse(&mut reader)?;
        Some(Self::new(displacement, tile))
    }

    /// Whether offsets ascend with positions, and no byte is there twice.
    pub(crate) fn ascends(&self) -> bool {
        self.ascends
    }

    /// Whether the view is all bytes from its displacement on.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.tile.is_dense()
    }

    /// The bytes of a piece, on an average; as long as the data if there are no gaps.
    pub(crate) fn mean_piece(&self) -> u64 {
        match self.is_contiguous() {
            true => u64::MAX,
            false => (self.tile.size() / self.tile.piece_count().max(1)) as u64,
        }
    }

    /// The bytes between two pieces, on an average.
    pub(crate) fn mean_gap(&self) -> u64 {
        let gaps = (self.tile.extent() as u64).saturating_sub(self.tile.size() as u64);
        gaps / self.tile.piece_count().max(1) as u64
    }

    /// The offset of the byte at a position; `None` if no file is that long.
    pub(crate) fn offset(&self, position: u64) -> Option<u64> {
        let size = self.tile.size() as u64;
        if size == 0 {
            return Some(self.displacement);
        }
        let first = match self.is_contiguous() {
            true => position,
            false => {
                let piece = self.tile.pieces((position % size) as usize).next()?;
                let tile = (position / size).checked_mul(self.tile.extent() as u64)?;
                tile.checked_add(piece.offset as u64)?
            }
        };
        self.displacement.checked_add(first).filter(|offset| *offset <= OFFSET_MAX)
    }

    /// The number of bytes of the view below an offset of the file.
    ///
    /// # Panics
    /// Unless the offsets [ascend](Tiles::ascends).
    pub(crate) fn bytes_below(&self, offset: u64) -> u64 {
        assert!(self.ascends, "positions have no order");
        let inside = offset.saturating_sub(self.displacement);
        if self.is_contiguous() || inside == 0 {
            return inside;
        }
        let (size, extent) = (self.tile.size() as u64, self.tile.extent() as u64);
        // The data of a tile may begin after its extent: then earlier tiles reach into later ones.
        let first = self.tile.true_lb() as u64;
        let tile = inside.saturating_sub(first + 1) / extent.max(1);
        let rest = inside - tile * extent;
        tile * size + self.tile.bytes_below(rest as isize) as u64
    }

    /// The number of bytes of the view in a file of this size; whole tiles if offsets do not ascend.
    pub(crate) fn bytes_before_end(&self, size: u64) -> u64 {
        if self.ascends {
            return self.bytes_below(size);
        }
        let tiles = size.saturating_sub(self.displacement) / (self.tile.extent() as u64).max(1);
        tiles * self.tile.size() as u64
    }

    /// The range of the file from the first to the last byte of some positions; `None` if no file is that
    /// long.
    pub(crate) fn covered(&self, position: u64, len: u64) -> Option<Range<u64>> {
        let start = self.offset(position)?;
        if len == 0 {
            return Some(start..start);
        }
        let end = self.offset(position.checked_add(len - 1)?)?.checked_add(1)?;
        Some(start.min(end - 1)..end)
    }

    /// The pieces of the file with `len` bytes from a position on. Adjacent ones are one piece.
    pub(crate) fn pieces(&self, position: u64, len: u64) -> ViewPieces<'_> {
        let size = self.tile.size() as u64;
        if self.is_contiguous() && size > 0 {
            let whole = FilePiece { offset: self.displacement + position, len };
            let next = (len > 0).then_some(whole);
            // No piece comes from the tile.
            let inside = self.tile.pieces(self.tile.size());
            return ViewPieces { tiles: self, tile: 0, inside, left: 0, next };
        }
        let (tile, inside, left) = match size {
            0 => (0, self.tile.pieces(0), 0),
            _ => (position / size, self.tile.pieces((position % size) as usize), len),
        };
        ViewPieces { tiles: self, tile, inside, left, next: None }
    }
}

/// The pieces of a range of positions.
pub(crate) struct ViewPieces<'a> {
    tiles: &'a Tiles,
    tile: u64,
    inside: LayoutPieces<'a>,
    /// Bytes after `next`.
    left: u64,
    /// A piece that others may join.
    next: Option<FilePiece>,
}

impl ViewPieces<'_> {
    fn next_single(&mut self) -> Option<FilePiece> {
        if self.left == 0 {
            return None;
        }
        let piece = match self.inside.next() {
            Some(piece) => piece,
            None => {
                self.tile += 1;
                self.inside.restart(&self.tiles.tile);
                self.inside.next()?
            }
        };
        let start = self.tiles.displacement + self.tile * self.tiles.tile.extent() as u64;
        let len = (piece.len as u64).min(self.left);
        self.left -= len;
        Some(FilePiece { offset: start + piece.offset as u64, len })
    }
}

impl Iterator for ViewPieces<'_> {
    type Item = FilePiece;

    fn next(&mut self) -> Option<FilePiece> {
        let mut piece = self.next.take().or_else(|| self.next_single())?;
        while let Some(next) = self.next_single() {
            if piece.end() != next.offset {
                self.next = Some(next);
                break;
            }
            piece.len += next.len;
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::layout::Block;
    use crate::mpi::datatype::{ConstructorForm, Predefined, predefined};

    fn view(displacement: u64, tile: Layout) -> Tiles {
        Tiles::new(displacement, Arc::new(tile))
    }

    fn int() -> Datatype {
        let entry = Predefined::named("MPI_INT").unwrap();
        predefined(entry.handle).unwrap()
    }

    /// Bytes 2, 3, 4, 9 of every 12.
    fn gaps() -> Tiles {
        let byte = Arc::new(Layout::dense(1));
        let blocks = [Block::array(2, 3, &byte), Block::array(9, 1, &byte)];
        view(100, Layout::join(blocks).unwrap().resized(0, 12).unwrap())
    }

    fn offsets(view: &Tiles, position: u64, len: u64) -> Vec<u64> {
        view.pieces(position, len).flat_map(|piece| piece.offset..piece.end()).collect()
    }

    #[test]
    fn positions_have_offsets_and_offsets_have_positions() {
        let view = gaps();
        let all = offsets(&view, 0, 40);
        assert_eq!(all[..6], [102, 103, 104, 109, 114, 115]);
        for position in 0..30 {
            assert_eq!(view.offset(position), Some(all[position as usize]));
            assert_eq!(offsets(&view, position, 10), all[position as usize..][..10]);
        }
        for offset in 90..180 {
            let below = all.iter().filter(|at| **at < offset).count() as u64;
            assert_eq!(view.bytes_below(offset), below, "below {offset}");
        }
        assert_eq!(view.covered(3, 2), Some(109..115));
        assert_eq!(view.covered(3, 0), Some(109..109));
    }

    #[test]
    fn adjacent_pieces_are_one() {
        let pieces: Vec<_> = view(7, Layout::dense(3)).pieces(5, 100).collect();
        assert_eq!(pieces, [FilePiece { offset: 12, len: 100 }]);
        // The last bytes of a tile and the first ones of the next one.
        let byte = Arc::new(Layout::dense(1));
        let blocks = [Block::array(0, 1, &byte), Block::array(3, 1, &byte)];
        let view = view(0, Layout::join(blocks).unwrap());
        let pieces: Vec<_> = view.pieces(0, 4).map(|piece| (piece.offset, piece.len)).collect();
        assert_eq!(pieces, [(0, 1), (3, 2), (7, 1)]);
        assert_eq!(view.pieces(0, 0).next(), None);
    }

    #[test]
    fn a_view_without_data_has_no_pieces() {
        let view = view(0, Layout::dense(0));
        assert_eq!(view.pieces(0, 5).next(), None);
        assert_eq!(view.offset(3), Some(0));
    }

    #[test]
    fn offsets_that_no_file_has_are_refused() {
        let view = gaps();
        assert_eq!(view.offset(u64::MAX / 2), None);
        assert_eq!(view.covered(u64::MAX - 1, 5), None);
    }

    #[test]
    fn views_that_the_standard_excludes_are_refused() {
        let new = |displacement, filetype: &Datatype, writes| {
            View::new(displacement, int(), filetype.clone(), DataRepresentation::Native, writes)
        };
        let class = |result: Result<View>| result.unwrap_err().code.0;
        let form = ConstructorForm::Int;
        assert_eq!(class(new(-1, &int(), false)), ErrorClass::Arg as i32);
        let back = Datatype::indexed(form, &[1, 1], &[3, 0], &int()).unwrap();
        assert_eq!(class(new(0, &back, false)), ErrorClass::Io as i32);
        let twice = Datatype::hindexed(form, &[1, 1], &[0, 2], &int()).unwrap();
        assert_eq!(class(new(0, &twice, true)), ErrorClass::Io as i32);
        assert!(!new(0, &twice, false).unwrap().tiles.ascends());
        let before = Datatype::hindexed(form, &[1], &[-4], &int()).unwrap();
        assert_eq!(class(new(0, &before, false)), ErrorClass::Io as i32);
        let byte = Predefined::named("MPI_BYTE").unwrap();
        let byte = predefined(byte.handle).unwrap();
        assert_eq!(class(new(0, &byte, false)), ErrorClass::Io as i32);
        let whole = new(8, &int(), true).unwrap();
        assert_eq!((whole.position(3).unwrap(), whole.etypes(12)), (12, 3));
        assert!(whole.position(-1).is_err() && whole.position(i64::MAX).is_err());
    }

    #[test]
    fn a_description_has_the_same_bytes() {
        let view = gaps();
        let bytes = view.description();
        let read = Tiles::parse(bytes).unwrap();
        assert_eq!(offsets(&read, 5, 50), offsets(&gaps(), 5, 50));
        assert!(Tiles::parse(&bytes[..bytes.len() - 1]).is_none());
    }
}
