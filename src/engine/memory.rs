//! The memory of one operation: user memory of any datatype, or the library's own.
//!
//! Everything above it counts in packed bytes: `pack` and `unpack` move any range of them,
//! however the pieces fall. It knows layouts and addresses; it knows no messages and no types.
#![allow(unsafe_code)]

pub mod layout;

use std::ptr;
use std::sync::Arc;

use crate::engine::memory::layout::{Layout, StridedRun};
use platform::base::Span;

/// Packed bytes that a copy between two scattered memories moves at a time.
const BOUNCE_BYTES: usize = 4096;

/// Packed bytes of the elements that are gone through piece by piece, well inside a first-level
/// cache together with what lies between them.
const COLUMN_BYTES: usize = 4096;

/// Pieces up to this long are copied in place, longer ones by a call.
const SHORT_BYTES: usize = 1024;

/// Where an operation reads or writes its data.
#[derive(Debug)]
pub enum Memory {
    /// Adjacent bytes of the application.
    Span(Span),
    /// Scattered bytes of the application. Not inline: the other kinds are small, and are moved
    /// often.
    Typed(Arc<TypedMemory>),
    /// Bytes of the library itself: buffered sends, unexpected messages, scratch space.
    Owned(OwnedBytes),
}

/// An address with the run that describes all data there.
#[derive(Clone, Debug)]
pub struct TypedMemory {
    base: usize,
    run: StridedRun,
}

/// Bytes on the heap that stay at their address, so that a [`Span`] of them can be handed out.
#[derive(Debug)]
pub struct OwnedBytes(*mut [u8]);

// SAFETY: it owns the bytes like the box that it was made from; all safe access to them goes
// through `&self` (shared) or `&mut self` (exclusive), as with a box.
unsafe impl Send for OwnedBytes {}
// SAFETY: as above.
unsafe impl Sync for OwnedBytes {}

impl Memory {
    /// Memory of no bytes.
    pub const EMPTY: Self = Self::Span(Span::EMPTY);

    /// `count` elements of `layout` at `base`.
    ///
    /// # Safety
    /// The promise of [`Span::new`] for every byte that the elements cover, counted from `base`.
    #[inline(always)]
    pub unsafe fn new(base: *const u8, count: usize, layout: &Arc<Layout>) -> Self {
        if layout.is_dense() {
            // SAFETY: the caller's promise; a dense layout covers exactly these bytes.
            return Self::Span(unsafe { Span::new(base, layout.size().saturating_mul(count)) });
        }
        // SAFETY: the caller's promise.
        match unsafe { Self::scattered(base, count, layout) } {
            (_, Some(typed)) => Self::Typed(typed),
            (span, None) => Self::Span(span),
        }
    }

    /// [`Memory::new`] where there may be gaps, with its promise: adjacent bytes, unless there are.
    #[inline(never)]
    unsafe fn scattered(
        base: *const u8, count: usize, layout: &Arc<Layout>,
    ) -> (Span, Option<Arc<TypedMemory>>) {
        if layout.size() == 0 || count == 0 {
            return (Span::EMPTY, None);
        }
        let run = StridedRun::repeated(layout, count);
        if run.count == 1 && run.nested.is_none() {
            // SAFETY: the caller's promise; the only run covers exactly these bytes.
            return (unsafe { Span::new(base.wrapping_offset(run.offset), run.len) }, None);
        }
        (Span::EMPTY, Some(Arc::new(TypedMemory { base: base as usize, run })))
    }

    /// The library's own bytes.
    pub fn owned(bytes: impl Into<Box<[u8]>>) -> Self {
        Self::Owned(OwnedBytes::from(bytes.into()))
    }

    /// Packed bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Span(span) => span.len(),
            Self::Typed(typed) => typed.len(),
            Self::Owned(bytes) => bytes.0.len(),
        }
    }

    /// Whether there is no data.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it as adjacent bytes, if they are. Of owned bytes the span may be used as long as
    /// the memory lives and nobody else touches it.
    #[inline]
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::Span(span) => Some(*span),
            Self::Typed(_) => None,
            Self::Owned(bytes) => Some(bytes.span()),
        }
    }

    /// Whether some byte is known to be in both: adjacent bytes are compared, scattered ones only
    /// by the address that they count from.
    #[inline]
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Typed(one), Self::Typed(two)) => one.base == two.base && !self.is_empty(),
            _ => match (self.span(), other.span()) {
                (Some(one), Some(two)) => one.overlaps(two),
                _ => false,
            },
        }
    }

    /// The same memory for one more operation; of owned bytes a span that the owner outlives.
    #[inline]
    pub fn alias(&self) -> Self {
        match self {
            Self::Span(span) => Self::Span(*span),
            Self::Typed(typed) => Self::Typed(Arc::clone(typed)),
            Self::Owned(bytes) => Self::Span(bytes.span()),
        }
    }

    /// Copies the packed bytes from `from` on into `out`, filling it.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn pack(&self, from: usize, out: &mut [u8]) {
        match self {
            Self::Span(span) => span.read(from, out),
            Self::Owned(bytes) => bytes.span().read(from, out),
            Self::Typed(typed) => {
                typed.assert_in_bounds(from, out.len());
                typed.walk::<true>(from, out.as_mut_ptr(), out.len());
            }
        }
    }

    /// Copies `data` over the packed bytes from `from` on.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn unpack(&mut self, from: usize, data: &[u8]) {
        match self {
            Self::Span(span) => span.write(from, data),
            Self::Owned(bytes) => bytes.span().write(from, data),
            Self::Typed(typed) => {
                typed.assert_in_bounds(from, data.len());
                typed.walk::<false>(from, data.as_ptr().cast_mut(), data.len());
            }
        }
    }

    /// Copies `len` packed bytes from `from` on to the packed bytes of `to` from `at` on. Only
    /// where neither is adjacent bytes they are copied twice. Where both are, they may overlap.
    ///
    /// # Panics
    /// If either has fewer.
    pub fn copy(&self, from: usize, to: &mut Self, at: usize, len: usize) {
        match (self, &*to, self.span(), to.span()) {
            (_, _, Some(source), Some(target)) => {
                return source.part(from, len).copy_to(target.part(at, len));
            }
            (Self::Typed(typed), _, _, Some(target)) => {
                typed.assert_in_bounds(from, len);
                let packed = target.part(at, len).address() as *mut u8;
                return typed.walk::<true>(from, packed, len);
            }
            (_, Self::Typed(typed), Some(source), _) => {
                typed.assert_in_bounds(at, len);
                let packed = source.part(from, len).address() as *mut u8;
                return typed.walk::<false>(at, packed, len);
            }
            (_, _, None, _) | (_, _, _, None) => {}
        }
        let mut bounce = [0; BOUNCE_BYTES];
        let mut done = 0;
        while done < len {
            let step = (len - done).min(BOUNCE_BYTES);
            self.pack(from + done, &mut bounce[..step]);
            to.unpack(at + done, &bounce[..step]);
            done += step;
        }
    }
}

impl OwnedBytes {
    /// `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        Self::from(vec![0; len].into_boxed_slice())
    }

    /// The bytes for devices and kernels; good as long as this value lives, and nobody else
    /// touches the bytes meanwhile.
    #[inline]
    pub fn span(&self) -> Span {
        // SAFETY: the bytes are on the heap at an address that does not change, not covered by a
        // Rust reference outside `as_slice` and `as_mut_slice`, whose borrows the holder sees.
        unsafe { Span::new(self.0.cast::<u8>(), self.0.len()) }
    }

    /// The bytes to look at.
    #[cfg(test)]
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: made from a box in `from`, freed in `drop` only.
        unsafe { &*self.0 }
    }

    /// The bytes to change.
    #[cfg(test)]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is the only access.
        unsafe { &mut *self.0 }
    }
}

impl From<Box<[u8]>> for OwnedBytes {
    fn from(bytes: Box<[u8]>) -> Self {
        Self(Box::into_raw(bytes))
    }
}

impl Drop for OwnedBytes {
    fn drop(&mut self) {
        // SAFETY: `from` took the pointer out of a box, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl TypedMemory {
    /// The address that the application gave.
    pub(crate) fn address(&self) -> usize {
        self.base
    }

    /// How many elements of `layout` there are, if they are several and nothing else.
    pub(crate) fn count_of(&self, layout: &Arc<Layout>) -> Option<usize> {
        self.run.repeats(layout).then_some(self.run.count)
    }

    /// Packed bytes.
    fn len(&self) -> usize {
        self.run.len.saturating_mul(self.run.count)
    }

    /// # Panics
    /// If there are no `len` packed bytes from `from` on.
    fn assert_in_bounds(&self, from: usize, len: usize) {
        assert!(from <= self.len() && len <= self.len() - from);
    }

    /// Moves `len` packed bytes from `from` on to (`PACK`) or from `packed`, which must have room
    /// for them and not be among them; the caller has checked that the memory has them.
    fn walk<const PACK: bool>(&self, from: usize, packed: *mut u8, len: usize) {
        let mut copier = Copier::<PACK> { packed, left: len };
        // SAFETY: `Memory::new` was promised the bytes of the run at `base`, and all callers
        // checked `from` and `len` against them and pass a slice or a span of `len` bytes as
        // `packed`, which whoever made it promised to be good for that.
        unsafe { copier.run(&self.run, self.base, from) }
    }
}

/// Walks runs and moves bytes between them and `packed`, until `left` is 0.
///
/// The promise for all its methods (made by [`TypedMemory::walk`]): the application's bytes that are
/// met from the given place on are good for the direction of the copy, `packed` is good for
/// `left` bytes, and the two do not overlap.
struct Copier<const PACK: bool> {
    packed: *mut u8,
    left: usize,
}

impl<const PACK: bool> Copier<PACK> {
    /// Goes through `run` of the element at `base`, without its first `skip` packed bytes.
    ///
    /// # Safety
    /// See [`Copier`].
    #[inline]
    unsafe fn run(&mut self, run: &StridedRun, base: usize, skip: usize) {
        let mut place = base.wrapping_add_signed(run.offset);
        let (mut index, mut skip) = (0, skip);
        if skip >= run.len {
            index = skip / run.len;
            skip -= index * run.len;
            place = place.wrapping_add_signed((index as isize).wrapping_mul(run.stride));
        }
        // SAFETY: `place` is where the piece `index` begins; the promise is handed down.
        unsafe {
            match &run.nested {
                None => self.pieces(run, place, index, skip),
                Some(inside) => {
                    if skip == 0 && (inside.is_flat() || inside.is_row()) {
                        let whole = (run.count - index).min(self.left / run.len);
                        match inside.runs() {
                            [row] => self.rows(row, place, whole, run.stride),
                            _ => self.columns(inside, place, whole, run.stride),
                        }
                        index += whole;
                        let offset = (whole as isize).wrapping_mul(run.stride);
                        place = place.wrapping_add_signed(offset);
                    }
                    while index < run.count && self.left > 0 {
                        self.element(inside, place, skip);
                        skip = 0;
                        index += 1;
                        place = place.wrapping_add_signed(run.stride);
                    }
                }
            }
        }
    }

    /// Goes through the layout of one element at `base`, without its first `skip` packed bytes.
    ///
    /// # Safety
    /// See [`Copier`].
    unsafe fn element(&mut self, layout: &Layout, base: usize, skip: usize) {
        let (first, mut skip) = if skip == 0 { (0, 0) } else { layout.seek(skip) };
        for run in &layout.runs()[first..] {
            if self.left == 0 {
                return;
            }
            // SAFETY: the promise is handed down.
            unsafe { self.run(run, base, skip) };
            skip = 0;
        }
    }

    /// Goes through the pieces of adjacent bytes from the one numbered `index` at `place` on,
    /// without the first `skip` bytes of that.
    ///
    /// # Safety
    /// See [`Copier`].
    #[inline]
    unsafe fn pieces(&mut self, run: &StridedRun, mut place: usize, mut index: usize, skip: usize) {
        // SAFETY: every piece is inside the run, and no more than `left` bytes are moved.
        unsafe {
            if skip > 0 {
                self.copy_adjacent(place.wrapping_add(skip), (run.len - skip).min(self.left));
                index += 1;
                place = place.wrapping_add_signed(run.stride);
            }
            let mut whole = run.count - index;
            if self.left / run.len < whole {
                whole = self.left / run.len;
            }
            self.copy_pieces(place, run.len, whole, run.stride);
            if index + whole < run.count && self.left > 0 {
                let offset = (whole as isize).wrapping_mul(run.stride);
                self.copy_adjacent(place.wrapping_add_signed(offset), self.left);
            }
        }
    }

    /// Moves `len` adjacent bytes.
    ///
    /// # Safety
    /// See [`Copier`]; `len` is at most `left`.
    #[inline]
    unsafe fn copy_adjacent(&mut self, place: usize, len: usize) {
        // SAFETY: the promise.
        unsafe { transfer::<PACK>(self.packed, place, len) };
        self.packed = self.packed.wrapping_add(len);
        self.left -= len;
    }

    /// Moves `count` whole elements of a layout whose runs are single pieces: some elements at a
    /// time, first the first piece of each, then the second, and so on. The many short loops over
    /// the runs of an element become few long ones.
    ///
    /// # Safety
    /// See [`Copier`]; `count` times the layout's size is at most `left`.
    unsafe fn columns(&mut self, layout: &Layout, mut place: usize, count: usize, stride: isize) {
        let size = layout.size();
        let step = (COLUMN_BYTES / size).max(1);
        let mut left = count;
        while left > 0 {
            let count = left.min(step);
            let mut packed = self.packed;
            for run in layout.runs() {
                let place = place.wrapping_add_signed(run.offset);
                let (len, rows, row_stride) = (run.len, 1, 0);
                let grid = StridedGrid { len, step: size, stride, count, rows, row_stride };
                // SAFETY: the promise, for one piece of each element.
                unsafe { grid.copy::<PACK>(packed, place) };
                packed = packed.wrapping_add(run.len);
            }
            self.packed = self.packed.wrapping_add(size * count);
            place = place.wrapping_add_signed((count as isize).wrapping_mul(stride));
            left -= count;
        }
        self.left -= size * count;
    }

    /// Moves `rows` whole rows that look like `row`, which is one of plain pieces.
    ///
    /// # Safety
    /// See [`Copier`]; `rows` times the row's size is at most `left`.
    unsafe fn rows(&mut self, row: &StridedRun, place: usize, rows: usize, row_stride: isize) {
        let StridedRun { len, count, stride, .. } = *row;
        let grid = StridedGrid { len, step: len, stride, count, rows, row_stride };
        // SAFETY: the promise.
        unsafe { grid.copy::<PACK>(self.packed, place.wrapping_add_signed(row.offset)) };
        self.packed = self.packed.wrapping_add(row.size() * rows);
        self.left -= row.size() * rows;
    }

    /// Moves `count` whole pieces of `len` bytes.
    ///
    /// # Safety
    /// See [`Copier`]; `len * count` is at most `left`.
    #[inline]
    unsafe fn copy_pieces(&mut self, place: usize, len: usize, count: usize, stride: isize) {
        let grid = StridedGrid { len, step: len, stride, count, rows: 1, row_stride: 0 };
        // SAFETY: the promise.
        unsafe { grid.copy::<PACK>(self.packed, place) };
        self.packed = self.packed.wrapping_add(len * count);
        self.left -= len * count;
    }
}

/// Rows of pieces of adjacent bytes, as the rows and planes of arrays have them.
#[derive(Clone, Copy)]
struct StridedGrid {
    /// Bytes of a piece.
    len: usize,
    /// From one piece to the next when packed.
    step: usize,
    /// From one piece to the next in memory.
    stride: isize,
    /// Pieces of a row.
    count: usize,
    /// How many rows; packed they follow each other.
    rows: usize,
    /// From one row to the next in memory.
    row_stride: isize,
}

impl StridedGrid {
    /// Moves all pieces.
    ///
    /// The lengths of C's arithmetic types and their small arrays are constants in here, so that
    /// the copy is some loads and stores instead of a call.
    ///
    /// # Safety
    /// `packed` is good for each piece at its step, `place` for each at its stride; no overlap.
    #[inline]
    unsafe fn copy<const PACK: bool>(self, packed: *mut u8, place: usize) {
        // SAFETY: the caller's promise, for each piece.
        unsafe {
            match self.len {
                4 => self.copy_fixed::<PACK, 4>(packed, place),
                8 => self.copy_fixed::<PACK, 8>(packed, place),
                16 => self.copy_fixed::<PACK, 16>(packed, place),
                1 => self.copy_fixed::<PACK, 1>(packed, place),
                2 => self.copy_fixed::<PACK, 2>(packed, place),
                12 => self.copy_fixed::<PACK, 12>(packed, place),
                24 => self.copy_fixed::<PACK, 24>(packed, place),
                32 => self.copy_fixed::<PACK, 32>(packed, place),
                40 => self.copy_fixed::<PACK, 40>(packed, place),
                48 => self.copy_fixed::<PACK, 48>(packed, place),
                64 => self.copy_fixed::<PACK, 64>(packed, place),
                len if len <= SHORT_BYTES => {
                    self.for_each_piece(packed, place, self.step, |packed, place| {
                        copy_short::<PACK>(packed, place, len)
                    })
                }
                len => self.for_each_piece(packed, place, self.step, |packed, place| {
                    transfer::<PACK>(packed, place, len)
                }),
            }
        }
    }

    /// Moves all pieces, which have `LEN` bytes.
    ///
    /// # Safety
    /// That of [`StridedGrid::copy`].
    #[inline]
    unsafe fn copy_fixed<const PACK: bool, const LEN: usize>(self, packed: *mut u8, place: usize) {
        // SAFETY: the caller's promise for each piece.
        let piece = |packed, place| unsafe { copy_short::<PACK>(packed, place, LEN) };
        if self.step == LEN {
            // The usual case, with the step as a constant.
            self.for_each_piece(packed, place, LEN, piece);
        } else {
            self.for_each_piece(packed, place, self.step, piece);
        }
    }

    /// Calls `piece` with the two places of each piece.
    #[inline(always)]
    fn for_each_piece(
        self, mut packed: *mut u8, mut place: usize, step: usize, piece: impl Fn(*mut u8, usize),
    ) {
        for _ in 0..self.rows {
            let mut at = place;
            for _ in 0..self.count {
                piece(packed, at);
                packed = packed.wrapping_add(step);
                at = at.wrapping_add_signed(self.stride);
            }
            place = place.wrapping_add_signed(self.row_stride);
        }
    }
}

/// Copies like [`transfer`], without a call: 16 bytes at a time, then the rest, in the order of
/// addresses. A general copy of such lengths writes some bytes twice, which is slow where the
/// memory is not in a cache, and compilers store the parts of a longer copy from the last to the
/// first, which is half as fast on the processors that this was measured on.
///
/// # Safety
/// That of [`transfer`].
#[inline(always)]
unsafe fn copy_short<const PACK: bool>(packed: *mut u8, place: usize, len: usize) {
    let mut done = 0;
    // SAFETY: every part is inside the `len` bytes.
    unsafe {
        while len - done >= 16 {
            transfer::<PACK>(packed.wrapping_add(done), place.wrapping_add(done), 16);
            done += 16;
        }
        for part in [8, 4, 2, 1] {
            if len & part != 0 {
                transfer::<PACK>(packed.wrapping_add(done), place.wrapping_add(done), part);
                done += part;
            }
        }
    }
}

/// Copies `len` bytes from `place` to `packed`, or back.
///
/// # Safety
/// Both are good for `len` bytes in this direction and do not overlap.
#[inline(always)]
unsafe fn transfer<const PACK: bool>(packed: *mut u8, place: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if PACK {
            ptr::copy_nonoverlapping(place as *const u8, packed, len);
        } else {
            ptr::copy_nonoverlapping(packed, place as *mut u8, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::memory::layout::Block;

    /// A datatype as the standard describes it, to be flattened by the code under test and by
    /// `TypeMap::of`.
    #[derive(Clone, Debug)]
    enum Tree {
        Basic { size: usize, alignment: usize },
        Join(Vec<(isize, usize, isize, Tree)>),
        Resized { lb: isize, extent: isize, of: Box<Tree> },
    }

    /// The naive form: the offset of every byte in packed order, and the markers.
    #[derive(Clone, Debug, Default)]
    struct TypeMap {
        bytes: Vec<isize>,
        markers: Option<(isize, isize)>,
        alignment: isize,
    }

    impl TypeMap {
        fn of(tree: &Tree) -> Self {
            match tree {
                Tree::Basic { size, alignment } => Self {
                    bytes: (0..*size as isize).collect(),
                    markers: None,
                    alignment: if *size == 0 { 1 } else { *alignment as isize },
                },
                Tree::Resized { lb, extent, of } => {
                    Self { markers: Some((*lb, lb + extent)), ..Self::of(of) }
                }
                Tree::Join(blocks) => {
                    let mut map = Self { alignment: 1, ..Self::default() };
                    for (displacement, count, stride, tree) in blocks {
                        map.add(*displacement, *count, *stride, &Self::of(tree));
                    }
                    map
                }
            }
        }

        fn add(&mut self, displacement: isize, count: usize, stride: isize, part: &Self) {
            for index in 0..count as isize {
                let place = displacement + index * stride;
                self.bytes.extend(part.bytes.iter().map(|byte| place + byte));
                if let Some((lb, ub)) = part.markers {
                    let old = self.markers.unwrap_or((isize::MAX, isize::MIN));
                    self.markers = Some((old.0.min(place + lb), old.1.max(place + ub)));
                }
                if !part.bytes.is_empty() {
                    self.alignment = self.alignment.max(part.alignment);
                }
            }
        }

        fn true_bounds(&self) -> (isize, isize) {
            let low = self.bytes.iter().min().copied().unwrap_or(0);
            (low, self.bytes.iter().max().map_or(0, |last| last + 1))
        }

        fn bounds(&self) -> (isize, isize) {
            let (low, high) = self.true_bounds();
            let padding = (self.alignment - (high - low) % self.alignment) % self.alignment;
            self.markers.unwrap_or((low, high + padding))
        }
    }

    fn layout(tree: &Tree) -> Arc<Layout> {
        Arc::new(match tree {
            Tree::Basic { size, alignment } => Layout::aligned(*size, *alignment),
            Tree::Resized { lb, extent, of } => layout(of).resized(*lb, *extent).unwrap(),
            Tree::Join(blocks) => {
                let parts: Vec<_> = blocks.iter().map(|block| layout(&block.3)).collect();
                let blocks = blocks.iter().zip(&parts).map(|(block, layout)| Block {
                    displacement: block.0,
                    count: block.1,
                    stride: block.2,
                    layout,
                });
                Layout::join(blocks).unwrap()
            }
        })
    }

    fn trees() -> impl Strategy<Value = Tree> {
        let sizes = vec![(1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (12, 4), (0, 1)];
        let basic = prop::sample::select(sizes)
            .prop_map(|(size, alignment)| Tree::Basic { size, alignment });
        basic.prop_recursive(4, 24, 5, |inner| {
            let block = (-40..40isize, 0..5usize, -40..40isize, inner.clone());
            let regular = (1..6usize, 0..3usize, -9..9isize, inner.clone());
            prop_oneof![
                prop::collection::vec(block, 0..5).prop_map(Tree::Join),
                // Blocks of equal shape at regular places, as coalescing likes them.
                regular.prop_map(|(blocks, count, step, part)| {
                    let extent = layout(&part).extent();
                    let at = |index| index as isize * step * 4;
                    let block = |index| (at(index), count, extent, part.clone());
                    Tree::Join((0..blocks).map(block).collect())
                }),
                (-20..20isize, -20..60isize, inner).prop_map(|(lb, extent, of)| Tree::Resized {
                    lb,
                    extent,
                    of: of.into()
                }),
            ]
        })
    }

    /// Memory for `count` elements: all bytes that they touch, in packed order, as indices into a
    /// vector, with the vector's length and the index of the address 0.
    fn places(map: &TypeMap, count: usize) -> (Vec<usize>, usize, isize) {
        let (lb, ub) = map.bounds();
        let mut all = TypeMap::default();
        all.add(0, count, ub - lb, map);
        let (low, high) = all.true_bounds();
        let places = all.bytes.iter().map(|byte| (byte - low) as usize).collect();
        (places, (high - low) as usize, -low)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn bounds_are_those_of_the_type_map(tree in trees()) {
            let (layout, map) = (layout(&tree), TypeMap::of(&tree));
            prop_assert_eq!(layout.size(), map.bytes.len());
            let (low, high) = map.true_bounds();
            prop_assert_eq!((layout.true_lb(), layout.true_extent()), (low, high - low));
            let (lb, ub) = map.bounds();
            prop_assert_eq!((layout.lb(), layout.ub()), (lb, ub));
            let dense = lb == 0 && ub == map.bytes.len() as isize
                && map.bytes.iter().enumerate().all(|(index, byte)| index as isize == *byte);
            prop_assert!(dense || !layout.is_dense());
        }

        #[test]
        fn any_split_packs_as_the_type_map_says(
            tree in trees(), count in 0..4usize, cuts in prop::collection::vec(0.0..1.0f64, 0..6),
        ) {
            let (places, len, zero) = places(&TypeMap::of(&tree), count);
            let mut user: Vec<u8> = (0..len).map(|index| (index * 7 + index / 256) as u8).collect();
            let expected: Vec<u8> = places.iter().map(|place| user[*place]).collect();
            let base = user.as_mut_ptr().wrapping_offset(zero);
            // SAFETY: `places` made room for every byte of the elements.
            let memory = unsafe { Memory::new(base, count, &layout(&tree)) };
            prop_assert_eq!(memory.len(), expected.len());
            let mut packed = vec![0; expected.len()];
            for (from, to) in parts(&cuts, packed.len()) {
                memory.pack(from, &mut packed[from..to]);
            }
            prop_assert_eq!(packed, expected);
        }

        #[test]
        fn any_split_unpacks_as_the_type_map_says(
            tree in trees(), count in 0..4usize, cuts in prop::collection::vec(0.0..1.0f64, 0..6),
        ) {
            let (places, len, zero) = places(&TypeMap::of(&tree), count);
            let data: Vec<u8> = (0..places.len()).map(|index| (index * 5 + 1) as u8).collect();
            let mut expected = vec![0; len];
            for (place, byte) in places.iter().zip(&data) {
                expected[*place] = *byte;
            }
            let mut written = vec![0; len];
            places.iter().for_each(|place| written[*place] += 1);
            let mut user = vec![0; len];
            let base = user.as_mut_ptr().wrapping_offset(zero);
            // SAFETY: `places` made room for every byte of the elements.
            let mut memory = unsafe { Memory::new(base, count, &layout(&tree)) };
            for (from, to) in parts(&cuts, data.len()) {
                memory.unpack(from, &data[from..to]);
            }
            // A receive into overlapping entries is an error of the caller (§5.1.11): which one
            // comes last is nobody's business.
            let differs = |index: &usize| written[*index] < 2 && user[*index] != expected[*index];
            prop_assert_eq!((0..len).find(differs), None);
        }
    }

    /// `0..len` cut at the given fractions, in order.
    fn parts(cuts: &[f64], len: usize) -> Vec<(usize, usize)> {
        let mut points: Vec<usize> = cuts.iter().map(|cut| (cut * len as f64) as usize).collect();
        points.extend([0, len]);
        points.sort_unstable();
        points.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    #[test]
    fn copies_between_all_kinds_of_memory() {
        let int = Arc::new(Layout::aligned(4, 4));
        let every_third = Block { displacement: 0, count: 3000, stride: 12, layout: &int };
        let sparse = Arc::new(Layout::join([every_third]).unwrap());
        let mut source: Vec<u8> = (0..36_000).map(|index| (index / 12) as u8).collect();
        let mut target = vec![0u8; 36_000];
        // SAFETY: both vectors outlive the memories and are long enough for 3000 × 12 bytes.
        let (from, mut to) = unsafe {
            let from = Memory::new(source.as_mut_ptr(), 1, &sparse);
            (from, Memory::new(target.as_mut_ptr(), 1, &sparse))
        };
        let mut owned = Memory::owned(vec![0; 12_000]);
        from.copy(5, &mut owned, 3, 11_990);
        owned.copy(3, &mut to, 5, 11_990);
        let mut packed = vec![0; 12_000];
        to.pack(0, &mut packed);
        let expected = |index: usize| if (5..11_995).contains(&index) { index / 4 } else { 0 };
        assert!((0..12_000).all(|index| packed[index] == expected(index) as u8));
        let mut second = vec![0u8; 36_000];
        // SAFETY: as above.
        let mut second_memory = unsafe { Memory::new(second.as_mut_ptr(), 1, &sparse) };
        from.copy(0, &mut second_memory, 0, 12_000);
        assert!((0..3000).all(|index| second[index * 12..][..4] == source[index * 12..][..4]));
        assert!((0..3000).all(|index| second[index * 12 + 4] == 0));
    }

    #[test]
    #[should_panic(expected = "assertion")]
    fn packing_past_the_end_panics() {
        let int = Arc::new(Layout::aligned(4, 4));
        let two = Arc::new(
            Layout::join([Block { displacement: 0, count: 2, stride: 8, layout: &int }]).unwrap(),
        );
        let mut user = [0u8; 12];
        // SAFETY: 4 bytes at 0 and 4 at 8 are inside the array.
        let memory = unsafe { Memory::new(user.as_mut_ptr(), 1, &two) };
        memory.pack(1, &mut [0; 8]);
    }
}
