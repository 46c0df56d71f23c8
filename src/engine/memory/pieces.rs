//! The adjacent bytes of a layout one after the other, and where they are.
//!
//! `copier` moves all bytes of a range at once; this is for those that need the offset of each piece, as
//! files do.

use crate::engine::memory::layout::{Layout, StridedRun};

/// Adjacent bytes: their offset from the address of the element, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) offset: isize,
    pub(crate) len: usize,
}

/// The pieces of one element in packed order.
pub(crate) struct LayoutPieces<'a> {
    /// The places in the nested layouts, the innermost one last.
    places: Vec<PiecePlace<'a>>,
    /// Bytes of the next piece that are left out.
    skip: usize,
}

/// The next piece in a layout.
struct PiecePlace<'a> {
    layout: &'a Layout,
    base: isize,
    run: usize,
    piece: usize,
}

impl Layout {
    /// The pieces from the packed byte `position` on.
    pub(crate) fn pieces(&self, position: usize) -> LayoutPieces<'_> {
        let mut pieces = LayoutPieces { places: Vec::new(), skip: 0 };
        pieces.seek(self, position);
        pieces
    }

    /// The number of pieces.
    pub(crate) fn piece_count(&self) -> usize {
        let of_run = |run: &StridedRun| {
            let inside = run.nested.as_ref().map_or(1, |nested| nested.piece_count());
            run.count.saturating_mul(inside)
        };
        self.runs().iter().map(of_run).fold(0, usize::saturating_add)
    }

    /// Whether the bytes ascend in packed order, and none is there twice.
    pub(crate) fn is_ascending(&self) -> bool {
        let mut end = isize::MIN;
        self.runs().iter().all(|run| {
            let (first, span) = run.piece_bounds();
            let follows = first >= end;
            let last = run.stride.saturating_mul(run.count as isize - 1);
            end = first.saturating_add(last).saturating_add(span);
            let inside = run.nested.as_ref().is_none_or(|nested| nested.is_ascending());
            follows && inside && (run.count == 1 || run.stride >= span)
        })
    }

    /// Whether no byte has a lower offset than one before it in packed order.
    pub(crate) fn is_monotonic(&self) -> bool {
        let mut least = isize::MIN;
        self.runs().iter().all(|run| {
            let (first, _) = run.piece_bounds();
            let follows = first >= least;
            // Displacements are compared, not bytes: those of one piece may be in the next one, too.
            least = first.saturating_add(run.stride.saturating_mul(run.count as isize - 1));
            let inside = run.nested.as_ref().is_none_or(|nested| nested.is_monotonic());
            follows && inside && run.stride >= 0
        })
    }

    /// The number of packed bytes below `offset`, in a layout whose bytes ascend.
    pub(crate) fn bytes_below(&self, offset: isize) -> usize {
        let runs = self.runs();
        let index = runs.partition_point(|run| run.piece_bounds().0 < offset);
        let Some(index) = index.checked_sub(1) else { return 0 };
        let run = &runs[index];
        let (first, _) = run.piece_bounds();
        let whole = match run.stride {
            0 => 0,
            stride => ((offset - first - 1) / stride).min(run.count as isize - 1),
        };
        let base = run.offset + whole * run.stride;
        let in_piece = match &run.nested {
            Some(nested) => nested.bytes_below(offset - base),
            None => ((offset - base) as usize).min(run.len),
        };
        self.start_of(index) + whole as usize * run.len + in_piece
    }
}

impl StridedRun {
    /// The first byte of the first piece, and the bytes from there to the end of that piece.
    fn piece_bounds(&self) -> (isize, isize) {
        match &self.nested {
            None => (self.offset, self.len as isize),
            Some(nested) => (self.offset + nested.true_lb(), nested.true_extent()),
        }
    }
}

impl<'a> LayoutPieces<'a> {
    /// Begins again, with all pieces of this layout.
    pub(crate) fn restart(&mut self, layout: &'a Layout) {
        self.places.clear();
        self.places.push(PiecePlace { layout, base: 0, run: 0, piece: 0 });
        self.skip = 0;
    }

    fn seek(&mut self, layout: &'a Layout, position: usize) {
        let (mut layout, mut base, mut rest) = (layout, 0, position);
        while rest < layout.size() {
            let (run, in_run) = layout.seek(rest);
            let found = &layout.runs()[run];
            let piece = in_run / found.len;
            rest = in_run % found.len;
            self.places.push(PiecePlace { layout, base, run, piece });
            let Some(nested) = &found.nested else { break };
            base += found.offset + piece as isize * found.stride;
            self.places.last_mut().expect("just pushed").piece += 1;
            layout = nested;
        }
        self.skip = rest;
    }
}

impl Iterator for LayoutPieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        loop {
            let place = self.places.last_mut()?;
            let Some(run) = place.layout.runs().get(place.run) else {
                self.places.pop();
                continue;
            };
            if place.piece == run.count {
                (place.run, place.piece) = (place.run + 1, 0);
                continue;
            }
            let base = place.base + run.offset + place.piece as isize * run.stride;
            place.piece += 1;
            match &run.nested {
                None => {
                    let skip = std::mem::take(&mut self.skip);
                    return Some(Piece { offset: base + skip as isize, len: run.len - skip });
                }
                Some(layout) => self.places.push(PiecePlace { layout, base, run: 0, piece: 0 }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::memory::layout::Block;

    /// Rows of pairs with gaps: nested layouts, several runs.
    fn nested() -> Arc<Layout> {
        let (four, one) = (Arc::new(Layout::dense(4)), Arc::new(Layout::dense(1)));
        let uneven = [0, 6, 9, 13, 20].map(|at| Block::array(at, 1, &one));
        let uneven = Arc::new(Layout::join(uneven).unwrap());
        let rows = Block { displacement: 8, count: 3, stride: 40, layout: &uneven };
        let blocks = [Block::array(0, 1, &four), rows, Block::array(140, 2, &four)];
        Arc::new(Layout::join(blocks).unwrap())
    }

    fn offsets(layout: &Layout, from: usize) -> Vec<isize> {
        let bytes = |piece: Piece| (0..piece.len as isize).map(move |at| piece.offset + at);
        layout.pieces(from).flat_map(bytes).collect()
    }

    #[test]
    fn pieces_begin_at_any_byte() {
        let layout = nested();
        let all = offsets(&layout, 0);
        assert_eq!(all.len(), layout.size());
        assert_eq!(layout.piece_count(), layout.pieces(0).count());
        assert_eq!(all[..8], [0, 1, 2, 3, 8, 14, 17, 21]);
        for from in 0..=layout.size() {
            assert_eq!(offsets(&layout, from), all[from..], "from {from}");
        }
    }

    #[test]
    fn bytes_below_an_offset_are_counted() {
        let layout = nested();
        assert!(layout.is_ascending() && layout.is_monotonic());
        let all = offsets(&layout, 0);
        for offset in -3..160 {
            let below = all.iter().filter(|at| **at < offset).count();
            assert_eq!(layout.bytes_below(offset), below, "below {offset}");
        }
    }

    #[test]
    fn layouts_that_go_back_or_overlap_are_told() {
        let four = Arc::new(Layout::dense(4));
        let join = |at: [isize; 2]| Layout::join(at.map(|at| Block::array(at, 1, &four))).unwrap();
        for (at, ascends, is_monotonic) in
            [([0, 4], true, true), ([0, 2], false, true), ([4, 0], false, false)]
        {
            let layout = join(at);
            let found = (layout.is_ascending(), layout.is_monotonic());
            assert_eq!(found, (ascends, is_monotonic), "{at:?}");
        }
    }
}
