//! Layouts in messages: where the bytes of a datatype lie, for a target that does not have the datatype.
//!
//! ```text
//!   number of layouts, then each layout, the parts before the whole:
//!     lower bound, extent, number of runs
//!     each run: offset, bytes of a piece, pieces, stride, number of the layout of a piece (0: adjacent bytes)
//! ```
//!
//! Whatever the bytes are, parsing ends with a layout or without one, and allocates in proportion to
//! their number. Signatures and addresses are not in this module.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::byte_reader::ByteReader;
use crate::engine::memory::layout::{Block, Layout};

/// The most layouts in one description, and the most runs in one layout.
const PARTS_MAX: u64 = 1 << 20;
/// The bytes of a run in a description.
const RUN_BYTES: usize = 5 * 8;

/// Appends the description of `layout`.
pub(crate) fn emit(layout: &Arc<Layout>, out: &mut Vec<u8>) {
    let mut parts = Parts::default();
    parts.add(layout);
    push(out, parts.ordered.len() as u64);
    for part in &parts.ordered {
        push(out, part.lb() as u64);
        push(out, part.extent() as u64);
        push(out, part.runs().len() as u64);
        for run in part.runs() {
            let nested = run.nested.as_ref().map_or(0, |nested| parts.numbers[&key(nested)]);
            let words = [run.offset as u64, run.len as u64, run.count as u64, run.stride as u64];
            words.into_iter().chain([nested]).for_each(|word| push(out, word));
        }
    }
}

/// The layout of a description; `None` if it makes no sense.
pub(crate) fn parse(from: &mut ByteReader<'_>) -> Option<Arc<Layout>> {
    let count = from.number().filter(|count| (1..=PARTS_MAX).contains(count))?;
    let mut parts: Vec<Arc<Layout>> = Vec::new();
    for _ in 0..count {
        let part = parse_part(from, &parts)?;
        parts.push(Arc::new(part));
    }
    parts.pop()
}

fn parse_part(from: &mut ByteReader<'_>, parts: &[Arc<Layout>]) -> Option<Layout> {
    let [lb, extent] = [from.number()? as isize, from.number()? as isize];
    let runs = from.number()? as usize;
    if runs > from.left() / RUN_BYTES {
        return None;
    }
    let mut blocks = Vec::with_capacity(runs);
    for _ in 0..runs {
        let [offset, len, count, stride, nested] =
            [from.number()?, from.number()?, from.number()?, from.number()?, from.number()?];
        let piece = match (nested as usize).checked_sub(1) {
            Some(index) => Arc::clone(parts.get(index)?),
            None => Arc::new(Layout::dense(usize::try_from(len).ok().filter(|len| fits(*len))?)),
        };
        if piece.size() as u64 != len {
            return None;
        }
        blocks.push((offset as isize, usize::try_from(count).ok()?, stride as isize, piece));
    }
    let blocks = blocks.iter().map(|(displacement, count, stride, layout)| Block {
        displacement: *displacement,
        count: *count,
        stride: *stride,
        layout,
    });
    Layout::join(blocks)?.resized(lb, extent)
}

fn fits(len: usize) -> bool {
    len <= isize::MAX as usize
}

fn push(out: &mut Vec<u8>, word: u64) {
    out.extend_from_slice(&word.to_le_bytes());
}

/// The layouts of a description, each once.
#[derive(Default)]
struct Parts<'a> {
    ordered: Vec<&'a Arc<Layout>>,
    /// The position after each, by its address.
    numbers: BTreeMap<usize, u64>,
}

impl<'a> Parts<'a> {
    fn add(&mut self, layout: &'a Arc<Layout>) {
        if self.numbers.contains_key(&key(layout)) {
            return;
        }
        layout.runs().iter().filter_map(|run| run.nested.as_ref()).for_each(|part| self.add(part));
        self.ordered.push(layout);
        self.numbers.insert(key(layout), self.ordered.len() as u64);
    }
}

/// The address, which names a layout while it lives.
pub(super) fn key(layout: &Arc<Layout>) -> usize {
    Arc::as_ptr(layout).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over_the_wire(layout: &Arc<Layout>) -> Arc<Layout> {
        let mut bytes = Vec::new();
        emit(layout, &mut bytes);
        let mut reader = ByteReader::new(&bytes);
        let parsed = parse(&mut reader).unwrap();
        assert_eq!(reader.left(), 0);
        parsed
    }

    fn joined(blocks: &[(isize, usize, isize, &Arc<Layout>)]) -> Arc<Layout> {
        let blocks = blocks.iter().map(|(displacement, count, stride, layout)| Block {
            displacement: *displacement,
            count: *count,
            stride: *stride,
            layout,
        });
        Arc::new(Layout::join(blocks).unwrap())
    }

    /// The offsets of the bytes of an element, in packed order.
    fn offsets(layout: &Layout) -> Vec<isize> {
        let mut all = Vec::new();
        for run in layout.runs() {
            for piece in 0..run.count as isize {
                let at = run.offset + piece * run.stride;
                match &run.nested {
                    Some(nested) => all.extend(offsets(nested).iter().map(|byte| at + byte)),
                    None => all.extend(at..at + run.len as isize),
                }
            }
        }
        all
    }

    fn nested_layout() -> Arc<Layout> {
        let number = Arc::new(Layout::aligned(4, 4));
        let column = joined(&[(0, 5, 12, &number)]);
        let pair = joined(&[(-8, 2, 24, &column), (100, 1, 0, &number), (200, 3, 80, &column)]);
        let spread = Arc::new(pair.resized(-16, 1000).unwrap());
        joined(&[(0, 3, 2000, &spread), (7000, 2, 1000, &spread)])
    }

    #[test]
    fn layouts_read_back() {
        let dense = Arc::new(Layout::dense(40));
        let empty = Arc::new(Layout::dense(0));
        let negative = joined(&[(-64, 3, -16, &Arc::new(Layout::dense(8)))]);
        for layout in [dense, empty, negative, nested_layout()] {
            let parsed = over_the_wire(&layout);
            assert_eq!(offsets(&parsed), offsets(&layout));
            assert_eq!((parsed.lb(), parsed.extent()), (layout.lb(), layout.extent()));
            assert_eq!(parsed.size(), layout.size());
            assert_eq!(
                (parsed.true_lb(), parsed.true_extent()),
                (layout.true_lb(), layout.true_extent())
            );
        }
    }

    #[test]
    fn damaged_descriptions_are_none_or_layouts() {
        let mut bytes = Vec::new();
        emit(&nested_layout(), &mut bytes);
        for cut in 0..bytes.len() {
            assert!(parse(&mut ByteReader::new(&bytes[..cut])).is_none(), "{cut} bytes");
        }
        for position in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[position] = value;
                // Neither a panic nor a large allocation.
                drop(parse(&mut ByteReader::new(&damaged)));
            }
        }
    }
}
