//! Layouts: the offsets of the bytes of one element of a datatype, flattened for copying.
//!
//! The type map of a datatype (MPI 5.0 §5.1) becomes a list of [`StridedRun`]s in packed order. Any
//! number of equal pieces at a fixed stride is one run, and a piece may be a layout again. So memory
//! grows with the number of constructor arguments, not with their values:
//!
//! ```text
//! vector(1000000, 1, 3, DOUBLE)      one run:  1000000 pieces of 8 bytes, stride 24
//! contiguous(1000000, {int, double}) one run:  1000000 pieces, stride 16, each piece a layout
//!                                              of two runs: 4 bytes at 0, 8 bytes at 8
//! ```
//!
//! A layout knows sizes and offsets. It knows no types, handles or addresses, and it copies nothing
//! (`engine::memory` does). All lengths, offsets and bounds are in bytes; "packed" counts the bytes
//! of data, in the order of the type map.

use std::sync::Arc;

/// Child layouts with at most this many runs are copied into the parent instead of referenced: one
/// level less to walk for a bounded amount of memory.
const INLINE_RUNS: usize = 4;

/// Deepest nesting by reference of pieces that occur once. Pieces that occur more often at least
/// double the size, so they add at most 62 levels. The walk recurses to this depth.
const DEPTH_MAX: u32 = 64;

/// `count` pieces of `len` packed bytes each, `stride` apart, in packed order.
#[derive(Clone, Debug)]
pub(crate) struct StridedRun {
    /// Offset of the first piece from the address of the element.
    pub(crate) offset: isize,
    /// Packed bytes of one piece; never 0.
    pub(crate) len: usize,
    /// The number of pieces; never 0.
    pub(crate) count: usize,
    /// Distance from one piece to the next; 0 for a single piece.
    pub(crate) stride: isize,
    /// The layout of a piece; `None` for `len` adjacent bytes.
    pub(crate) nested: Option<Arc<Layout>>,
}

impl StridedRun {
    /// Packed bytes of all pieces.
    pub(crate) fn size(&self) -> usize {
        self.len * self.count
    }

    /// The run of `count` elements of `layout`, `extent` apart.
    ///
    /// Elements of a single run are merged into it if possible, so that one loop copies long arrays
    /// of simple elements.
    pub(crate) fn repeated(layout: &Arc<Layout>, count: usize) -> Self {
        let whole = Block { displacement: 0, count, stride: layout.extent, layout };
        whole.as_single_run().unwrap_or_else(|| whole.as_nested_run()).normalized()
    }

    /// Whether the pieces are elements of `layout`, the first at offset 0.
    pub(crate) fn repeats(&self, layout: &Arc<Layout>) -> bool {
        let is_piece = match &self.nested {
            Some(inside) => Arc::ptr_eq(inside, layout) && self.offset == 0,
            None => layout.contiguous() == Some(self.offset) && layout.size == self.len,
        };
        is_piece && self.count > 1 && self.stride == layout.extent
    }

    /// The normal form: adjacent pieces are one longer piece, and a single piece has no stride.
    fn normalized(mut self) -> Self {
        if self.nested.is_none() && self.count > 1 && self.stride == self.len as isize {
            self.len *= self.count;
            self.count = 1;
        }
        if self.count == 1 {
            self.stride = 0;
        }
        self
    }

    /// Whether both runs are one piece of adjacent bytes, and `next` starts at the end of this one.
    fn is_adjacent_to(&self, next: &Self) -> bool {
        let plain = |run: &Self| run.nested.is_none() && run.count == 1;
        plain(self) && plain(next) && self.offset + self.len as isize == next.offset
    }

    /// Both runs as one, if `next` continues with equal pieces at the same stride.
    fn merged(&self, next: &Self) -> Option<Self> {
        let same_inside = match (&self.nested, &next.nested) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let last = self.offset + (self.count - 1) as isize * self.stride;
        let stride = next.offset.checked_sub(last)?;
        let fits = |run: &Self| run.count == 1 || run.stride == stride;
        (same_inside && self.len == next.len && fits(self) && fits(next)).then(|| Self {
            count: self.count + next.count,
            stride,
            ..self.clone()
        })
    }
}

/// `count` elements of `layout`, the first at `displacement`, `stride` apart: the argument of every
/// datatype constructor.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Offset of the first element.
    pub displacement: isize,
    /// The number of elements.
    pub count: usize,
    /// Distance from one element to the next.
    pub stride: isize,
    /// The layout of an element.
    pub layout: &'a Arc<Layout>,
}

impl<'a> Block<'a> {
    /// `count` elements next to each other.
    pub(crate) fn array(displacement: isize, count: usize, layout: &'a Arc<Layout>) -> Self {
        Self { displacement, count, stride: layout.extent, layout }
    }

    /// The lowest and the highest offset of an element; `None` on overflow.
    fn offset_bounds(&self) -> Option<(isize, isize)> {
        let last = isize::try_from(self.count - 1).ok()?.checked_mul(self.stride)?;
        let far = self.displacement.checked_add(last)?;
        Some((far.min(self.displacement), far.max(self.displacement)))
    }

    /// The block as one run without a reference to the layout, if its bytes are regular enough.
    fn as_single_run(&self) -> Option<StridedRun> {
        let [run] = &*self.layout.runs else { return None };
        let offset = self.displacement.wrapping_add(run.offset);
        if run.count == 1 {
            return Some(StridedRun {
                offset,
                count: self.count,
                stride: self.stride,
                ..run.clone()
            });
        }
        let round = (run.count as isize).checked_mul(run.stride);
        (self.count == 1 || round == Some(self.stride)).then(|| StridedRun {
            offset,
            count: run.count * self.count,
            ..run.clone()
        })
    }

    /// The block as one run of pieces with this layout.
    fn as_nested_run(&self) -> StridedRun {
        StridedRun {
            offset: self.displacement,
            len: self.layout.size,
            count: self.count,
            stride: self.stride,
            nested: Some(self.layout.clone()),
        }
    }
}

/// The offsets of the bytes of one element.
#[derive(Clone, Debug)]
pub struct Layout {
    size: usize,
    lb: isize,
    extent: isize,
    true_lb: isize,
    true_extent: isize,
    /// Required alignment of the address of an element.
    alignment: usize,
    /// Whether `lb` and `extent` were given (§5.1.7, markers) instead of derived from the data.
    has_markers: bool,
    depth: u32,
    flat: bool,
    dense: bool,
    runs: Box<[StridedRun]>,
    /// The packed offset of each run.
    starts: Box<[usize]>,
}

impl Layout {
    /// `size` adjacent bytes at offset 0, at any address.
    pub fn dense(size: usize) -> Self {
        Self::aligned(size, 1)
    }

    /// `size` adjacent bytes at offset 0, at addresses that are multiples of `alignment`.
    ///
    /// # Panics
    /// If `size` is not a multiple of `alignment`, or half the address space.
    pub fn aligned(size: usize, alignment: usize) -> Self {
        assert!(size.is_multiple_of(alignment) && size <= isize::MAX as usize);
        let run = StridedRun { offset: 0, len: size, count: 1, stride: 0, nested: None };
        let runs: Box<[StridedRun]> = if size == 0 { Box::default() } else { Box::from([run]) };
        Self {
            size,
            lb: 0,
            extent: size as isize,
            true_lb: 0,
            true_extent: size as isize,
            alignment,
            has_markers: false,
            depth: 0,
            flat: true,
            dense: true,
            starts: runs.iter().map(|_| 0).collect(),
            runs,
        }
    }

    /// The blocks in this order; `None` if a size or a bound overflows.
    ///
    /// Lower and upper bound follow §5.1.7: they are those of the markers of the parts, if there are
    /// any; else those of the data, with the extent rounded up to the strictest alignment of the
    /// parts.
    pub fn join<'a>(blocks: impl IntoIterator<Item = Block<'a>>) -> Option<Self> {
        let mut builder = LayoutBuilder::default();
        for block in blocks {
            builder.add(block)?;
        }
        builder.finish()
    }

    /// The same bytes with another lower bound and extent; `None` if the upper bound overflows.
    pub fn resized(&self, lb: isize, extent: isize) -> Option<Self> {
        lb.checked_add(extent)?;
        Some(Self { lb, extent, has_markers: true, ..self.clone() }.completed())
    }

    /// The number of packed bytes.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The lower bound.
    pub(crate) fn lb(&self) -> isize {
        self.lb
    }

    /// The upper bound.
    pub(crate) fn ub(&self) -> isize {
        self.lb + self.extent
    }

    /// Distance from the lower to the upper bound, which is the distance between array elements.
    pub(crate) fn extent(&self) -> isize {
        self.extent
    }

    /// The lowest byte of data.
    pub fn true_lb(&self) -> isize {
        self.true_lb
    }

    /// Distance from the lowest byte of data to the end of the highest.
    pub fn true_extent(&self) -> isize {
        self.true_extent
    }

    /// Where the bytes of `count` elements begin and end, from the address of the first; twice 0 if there
    /// are none. `None` if that is no address.
    pub(crate) fn covered(&self, count: usize) -> Option<(isize, isize)> {
        if count == 0 || self.size == 0 {
            return Some((0, 0));
        }
        let last = isize::try_from(count - 1).ok()?.checked_mul(self.extent)?;
        let first = self.true_lb.checked_add(last.min(0))?;
        let end = self.true_lb.checked_add(self.true_extent)?.checked_add(last.max(0))?;
        Some((first, end))
    }

    /// Required alignment of the address of an element.
    pub(crate) fn alignment(&self) -> usize {
        self.alignment
    }

    /// The runs in packed order.
    pub(crate) fn runs(&self) -> &[StridedRun] {
        &self.runs
    }

    /// Whether an array of elements is adjacent bytes from the address of the array on.
    #[inline]
    pub(crate) fn is_dense(&self) -> bool {
        self.dense
    }

    /// Sets the fields that follow from others.
    fn completed(self) -> Self {
        let dense = self.lb == 0
            && self.extent == self.size as isize
            && (self.size == 0 || self.contiguous() == Some(0));
        Self { dense, ..self }
    }

    /// The offset of the bytes, if they are adjacent and not empty.
    pub(crate) fn contiguous(&self) -> Option<isize> {
        match &*self.runs {
            [run] if run.count == 1 && run.nested.is_none() => Some(run.offset),
            _ => None,
        }
    }

    /// Whether every run is a single piece of adjacent bytes, as in a structure of numbers.
    pub(crate) fn is_flat(&self) -> bool {
        self.flat
    }

    /// Whether the layout is one run of adjacent bytes, as in a column of a matrix.
    pub(crate) fn is_row(&self) -> bool {
        matches!(&*self.runs, [run] if run.nested.is_none())
    }

    /// The packed offset of the first byte of a run.
    pub(crate) fn start_of(&self, run: usize) -> usize {
        self.starts[run]
    }

    /// The index of the run with the packed byte `position`, and the offset of that byte in the run.
    ///
    /// `position` must be less than the size.
    pub(crate) fn seek(&self, position: usize) -> (usize, usize) {
        debug_assert!(position < self.size);
        let index = self.starts.partition_point(|start| *start <= position) - 1;
        (index, position - self.starts[index])
    }
}

/// Collects the blocks of a new layout.
#[derive(Default)]
struct LayoutBuilder {
    size: usize,
    /// Lowest and highest bound of the parts with markers.
    markers: Option<(isize, isize)>,
    /// The lowest byte of data and the end of the highest.
    data: Option<(isize, isize)>,
    alignment: usize,
    depth: u32,
    runs: Vec<StridedRun>,
}

impl LayoutBuilder {
    fn add(&mut self, block: Block<'_>) -> Option<()> {
        let layout = block.layout;
        if block.count == 0 || (layout.size == 0 && !layout.has_markers) {
            return Some(());
        }
        let (low, high) = block.offset_bounds()?;
        if layout.has_markers {
            let bounds = (low.checked_add(layout.lb)?, high.checked_add(layout.ub())?);
            self.markers = Some(widened(self.markers, bounds));
        }
        if layout.size == 0 {
            return Some(());
        }
        let end = layout.true_lb + layout.true_extent;
        let bounds = (low.checked_add(layout.true_lb)?, high.checked_add(end)?);
        self.data = Some(widened(self.data, bounds));
        self.alignment = self.alignment.max(layout.alignment);
        self.size = self.size.checked_add(layout.size.checked_mul(block.count)?)?;
        isize::try_from(self.size).ok()?;
        self.add_runs(block);
        Some(())
    }

    fn add_runs(&mut self, block: Block<'_>) {
        let runs = &block.layout.runs;
        if let Some(run) = block.as_single_run() {
            self.depth = self.depth.max(block.layout.depth);
            self.push(run);
        } else if block.count.saturating_mul(runs.len()) <= INLINE_RUNS
            || (block.count == 1 && block.layout.depth >= DEPTH_MAX)
        {
            self.depth = self.depth.max(block.layout.depth);
            for index in 0..block.count as isize {
                let start = block.displacement + index * block.stride;
                for run in runs {
                    self.push(StridedRun { offset: start + run.offset, ..run.clone() });
                }
            }
        } else {
            self.depth = self.depth.max(block.layout.depth + 1);
            self.push(block.as_nested_run());
        }
    }

    fn push(&mut self, run: StridedRun) {
        let run = run.normalized();
        match self.runs.last_mut() {
            Some(last) if last.is_adjacent_to(&run) => last.len += run.len,
            _ => self.runs.push(run),
        }
    }

    fn finish(self) -> Option<Layout> {
        let (true_lb, true_end) = self.data.unwrap_or((0, 0));
        let alignment = self.alignment.max(1);
        let true_extent = true_end.checked_sub(true_lb)?;
        let (lb, extent) = match self.markers {
            Some((lb, ub)) => (lb, ub.checked_sub(lb)?),
            None => (true_lb, round_up(true_extent, alignment)?),
        };
        lb.checked_add(extent)?;
        let runs = coalesced(self.runs);
        let starts = runs.iter().scan(0, |next, run| {
            let start = *next;
            *next += run.size();
            Some(start)
        });
        let layout = Layout {
            size: self.size,
            lb,
            extent,
            true_lb,
            true_extent,
            alignment,
            has_markers: self.markers.is_some(),
            depth: self.depth,
            flat: runs.iter().all(|run| run.count == 1 && run.nested.is_none()),
            dense: false,
            starts: starts.collect(),
            runs,
        };
        Some(layout.completed())
    }
}

/// Merges successive runs with equal pieces at a fixed stride.
///
/// This is a separate pass after all adjacent bytes have been merged. Otherwise the first two of
/// many equal blocks would be merged before adjacent bytes made them longer.
fn coalesced(runs: Vec<StridedRun>) -> Box<[StridedRun]> {
    let mut merged: Vec<StridedRun> = Vec::new();
    for run in runs {
        match merged.last_mut() {
            Some(last) => match last.merged(&run) {
                Some(both) => *last = both,
                None => merged.push(run),
            },
            None => merged.push(run),
        }
    }
    merged.into()
}

fn widened(bounds: Option<(isize, isize)>, (low, high): (isize, isize)) -> (isize, isize) {
    bounds.map_or((low, high), |(lb, ub)| (lb.min(low), ub.max(high)))
}

fn round_up(len: isize, alignment: usize) -> Option<isize> {
    isize::try_from((len as usize).checked_next_multiple_of(alignment)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(layout: &Arc<Layout>, count: usize, stride: isize) -> Arc<Layout> {
        let block = Block { displacement: 0, count, stride, layout };
        Arc::new(Layout::join([block]).unwrap())
    }

    #[test]
    fn a_vector_is_one_run_and_adjacent_elements_are_one_piece() {
        let double = Arc::new(Layout::aligned(8, 8));
        let row = array(&double, 10, 8);
        assert!(row.is_dense());
        let column = array(&row, 1_000_000, 800);
        assert_eq!(column.runs().len(), 1);
        assert_eq!((column.runs()[0].len, column.runs()[0].count), (80, 1_000_000));
        assert_eq!(column.extent(), 999_999 * 800 + 80);
    }

    #[test]
    fn nested_loops_keep_memory_small() {
        let parts = [Arc::new(Layout::aligned(4, 4)), Arc::new(Layout::aligned(8, 8))];
        let blocks = [Block::array(0, 1, &parts[0]), Block::array(8, 1, &parts[1])];
        let pair = Arc::new(Layout::join(blocks).unwrap());
        assert_eq!((pair.size(), pair.extent(), pair.runs().len()), (12, 16, 2));
        let many = array(&array(&pair, 1000, 16), 1000, 32_000);
        assert_eq!((many.size(), many.runs().len()), (12_000_000, 1));
    }

    #[test]
    fn blocks_at_a_fixed_distance_become_one_run() {
        let int = Arc::new(Layout::aligned(4, 4));
        let blocks = (0..100).map(|at| Block::array(at * 20, 2, &int));
        let layout = Layout::join(blocks).unwrap();
        assert_eq!(layout.runs().len(), 1);
        let (len, count, stride) =
            (layout.runs()[0].len, layout.runs()[0].count, layout.runs()[0].stride);
        assert_eq!((len, count, stride), (8, 100, 20));
    }

    #[test]
    fn a_chain_of_references_is_not_deeper_than_the_limit() {
        let byte = Arc::new(Layout::dense(1));
        let mut chain = Arc::new(
            Layout::join([0, 2, 5, 9, 14, 20].map(|at| Block::array(at, 1, &byte))).unwrap(),
        );
        for level in 1..1000 {
            let blocks = [Block::array(-level * level, 1, &byte), Block::array(0, 1, &chain)];
            chain = Arc::new(Layout::join(blocks).unwrap());
        }
        assert_eq!(chain.size(), 1005);
        assert!(chain.depth <= DEPTH_MAX);
    }

    #[test]
    fn bounds_that_do_not_fit_are_refused() {
        let byte = Arc::new(Layout::dense(1));
        let huge = isize::MAX as usize;
        let join = |displacement, count, stride| {
            Layout::join([Block { displacement, count, stride, layout: &byte }])
        };
        assert!(join(0, huge, 1).is_some());
        assert!(join(0, huge + 1, 1).is_none());
        assert!(join(1, huge, 1).is_none());
        assert!(join(0, 3, isize::MAX).is_none());
        assert!(join(isize::MAX, 1, 0).is_none());
        assert!(
            Layout::join([
                Block::array(isize::MIN, 1, &byte),
                Block::array(isize::MAX - 1, 1, &byte)
            ])
            .is_none()
        );
        assert!(Layout::dense(4).resized(isize::MAX, 1).is_none());
    }
}
