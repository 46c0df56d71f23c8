//! Layouts: where the bytes of one element of a datatype lie, flattened for copying.
//!
//! A datatype's type map (MPI 5.0 §5.1) becomes a list of [`StridedRun`]s in packed order. Equal pieces
//! that lie a fixed stride apart are one run however many they are, and a piece may itself be a
//! layout, so memory grows with what the constructors were told and never with their counts:
//!
//! ```text
//! vector(1000000, 1, 3, DOUBLE)      one run:  1000000 pieces of 8 bytes, stride 24
//! contiguous(1000000, {int, double}) one run:  1000000 pieces, stride 16, each piece a layout
//!                                              of two runs: 4 bytes at 0, 8 bytes at 8
//! ```
//!
//! A layout knows sizes and places. It does not know types, handles or addresses, and it copies
//! nothing: `core::memory` does. All lengths, offsets and bounds are bytes; "packed" counts only
//! the bytes of data, in the order of the type map.

use std::sync::Arc;

/// Child layouts with at most this many runs are copied into the parent instead of referred to:
/// one level less to walk, at a bounded price in memory.
const INLINE_RUNS: usize = 4;

/// Deepest nesting by reference of pieces that occur once. Pieces that occur more often at least
/// double the size, so they add at most 62 further levels; the walk recurses this deep.
const DEPTH_MAX: u32 = 64;

/// `count` pieces of `len` packed bytes each, `stride` apart, in packed order.
#[derive(Clone, Debug)]
pub(crate) struct StridedRun {
    /// Where the first piece is, counted from the element's address.
    pub(crate) offset: isize,
    /// Packed bytes of one piece; never 0.
    pub(crate) len: usize,
    /// How many pieces; never 0.
    pub(crate) count: usize,
    /// From one piece to the next; 0 if there is only one.
    pub(crate) stride: isize,
    /// What a piece looks like, if it is not `len` adjacent bytes.
    pub(crate) nested: Option<Arc<Layout>>,
}

impl StridedRun {
    /// Packed bytes of all pieces.
    pub(crate) fn size(&self) -> usize {
        self.len * self.count
    }

    /// The run over `count` elements of `layout`, each `extent` after the one before.
    ///
    /// Elements of a single run join it where they can, so that long arrays of simple elements are
    /// copied by one loop.
    pub(crate) fn repeated(layout: &Arc<Layout>, count: usize) -> Self {
        let whole = Block { displacement: 0, count, stride: layout.extent, layout };
        whole.as_single_run().unwrap_or_else(|| whole.as_nested_run()).normalized()
    }

    /// Whether the pieces are elements of `layout`, from the address on that offsets count from.
    pub(crate) fn repeats(&self, layout: &Arc<Layout>) -> bool {
        let is_piece = match &self.nested {
            Some(inside) => Arc::ptr_eq(inside, layout) && self.offset == 0,
            None => layout.contiguous() == Some(self.offset) && layout.size == self.len,
        };
        is_piece && self.count > 1 && self.stride == layout.extent
    }

    /// Adjacent pieces are one longer piece; a single piece has no stride.
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

    /// Whether `next` starts where this ends, both being adjacent bytes.
    fn is_adjacent_to(&self, next: &Self) -> bool {
        let plain = |run: &Self| run.nested.is_none() && run.count == 1;
        plain(self) && plain(next) && self.offset + self.len as isize == next.offset
    }

    /// The two as one run, if `next` goes on with equal pieces at the same stride.
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

/// `count` elements of `layout`, the first at `displacement`, `stride` apart: what every
/// constructor of datatypes is made of.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Where the first element is.
    pub displacement: isize,
    /// How many elements.
    pub count: usize,
    /// From one element to the next.
    pub stride: isize,
    /// What an element looks like.
    pub layout: &'a Arc<Layout>,
}

impl<'a> Block<'a> {
    /// `count` elements next to each other.
    pub(crate) fn array(displacement: isize, count: usize, layout: &'a Arc<Layout>) -> Self {
        Self { displacement, count, stride: layout.extent, layout }
    }

    /// The lowest and the highest place of an element; none if that is no address.
    fn offset_bounds(&self) -> Option<(isize, isize)> {
        let last = isize::try_from(self.count - 1).ok()?.checked_mul(self.stride)?;
        let far = self.displacement.checked_add(last)?;
        Some((far.min(self.displacement), far.max(self.displacement)))
    }

    /// The block as one run that does not refer to the layout, if its bytes are that regular.
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

    /// The block as one run of pieces that are the layout.
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

/// Where the bytes of one element lie; see the module's description.
#[derive(Clone, Debug)]
pub struct Layout {
    size: usize,
    lb: isize,
    extent: isize,
    true_lb: isize,
    true_extent: isize,
    /// What the address of an element is expected to be a multiple of.
    alignment: usize,
    /// Whether `lb` and `extent` were given (§5.1.7, markers) and not derived from the data.
    has_markers: bool,
    depth: u32,
    flat: bool,
    dense: bool,
    runs: Box<[StridedRun]>,
    /// For each run the packed offset at which it begins.
    starts: Box<[usize]>,
}

impl Layout {
    /// `size` adjacent bytes at offset 0 that may lie anywhere.
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

    /// The blocks in this order; `None` if a size or a bound does not fit an address.
    ///
    /// Lower and upper bound follow §5.1.7: markers of the parts win, else the data decides and
    /// the extent is rounded up to the strictest alignment of the parts.
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

    /// Packed bytes.
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

    /// From the lower bound to the upper: the distance between elements of an array.
    pub(crate) fn extent(&self) -> isize {
        self.extent
    }

    /// The lowest byte of data.
    pub fn true_lb(&self) -> isize {
        self.true_lb
    }

    /// From the lowest byte of data to the end of the highest.
    pub fn true_extent(&self) -> isize {
        self.true_extent
    }

    /// What the address of an element is expected to be a multiple of.
    pub(crate) fn alignment(&self) -> usize {
        self.alignment
    }

    /// The runs in packed order.
    pub(crate) fn runs(&self) -> &[StridedRun] {
        &self.runs
    }

    /// Whether an array of it is one block of adjacent bytes that starts at the array's address.
    #[inline]
    pub(crate) fn is_dense(&self) -> bool {
        self.dense
    }

    /// With what follows from the rest.
    fn completed(self) -> Self {
        let dense = self.lb == 0
            && self.extent == self.size as isize
            && (self.size == 0 || self.contiguous() == Some(0));
        Self { dense, ..self }
    }

    /// The offset of its bytes, if they are adjacent (and there are any).
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

    /// Whether it is one run of pieces of adjacent bytes, as in a row of a matrix's columns.
    pub(crate) fn is_row(&self) -> bool {
        matches!(&*self.runs, [run] if run.nested.is_none())
    }

    /// The run that has the packed byte `position`, and how far into the run that byte is.
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
    /// Lowest and highest bound among the parts that have markers.
    markers: Option<(isize, isize)>,
    /// Lowest byte of data and the end of the highest.
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
                let place = block.displacement + index * block.stride;
                for run in runs {
                    self.push(StridedRun { offset: place + run.offset, ..run.clone() });
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

/// Makes one run of neighbours with equal pieces at a fixed stride.
///
/// A pass of its own, after all adjacent bytes have been merged: otherwise the first two of many
/// equal blocks would be joined before their neighbours made them longer.
fn coalesced(runs: Vec<StridedRun>) -> Box<[StridedRun]> {
    let mut joined: Vec<StridedRun> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) => match last.merged(&run) {
                Some(both) => *last = both,
                None => joined.push(run),
            },
            None => joined.push(run),
        }
    }
    joined.into()
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
