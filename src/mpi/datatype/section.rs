//! Sections of arrays as buffers (MPI 5.0 §19.1.12): elements of a datatype in memory that is
//! contiguous only virtually.
//!
//! Fortran passes `a(1:9:2, :)` as an address, the size of an element, and for each dimension an
//! extent and a stride. MPI's buffer is the elements of that section one after another, as in a
//! copy to contiguous memory: counts and displacements are places in that copy.
//!
//! ```text
//! memory     a1 .. a3 .. a5 .. a7 .. a9 ..      stride 8, INTEGERs of 4 bytes
//! virtually  a1a3a5a7a9                         bytes 0 to 20
//! elements   [two  ][two  ]                     of a datatype with a size of two INTEGERs
//! ```
//!
//! A datatype with sections is the element datatype of one call with a list of the sections among
//! the buffers of that call, found by address. A call with two buffers and one datatype, such as a
//! reduction, can thus have a section for either buffer.

use std::sync::Arc;

use super::construct::too_large;
use super::{Contents, Datatype, DatatypeInner};
use crate::engine::memory::layout::{Block, Layout};
use platform::base::{ErrorClass, Result};

/// Section of an array: its selected elements are a buffer.
#[derive(Clone, Debug)]
pub(crate) struct ArraySection {
    /// The address of the first element.
    base: usize,
    /// Section of the first dimensions, one level for each number of dimensions; level 0 is
    /// contiguous bytes.
    levels: Vec<SectionLevel>,
}

/// Section of some of the dimensions.
#[derive(Clone, Debug)]
struct SectionLevel {
    /// Layout of its bytes.
    layout: Arc<Layout>,
    /// Distance in bytes between two sections of one dimension less.
    stride: isize,
}

/// A datatype with the sections among its buffers.
#[derive(Debug)]
pub(crate) struct ArraySections {
    /// Handle of the element datatype.
    element: u32,
    all: Box<[ArraySection]>,
}

/// Part of a virtually contiguous buffer: contiguous bytes there, as pieces of memory.
struct SectionPiece {
    displacement: isize,
    count: usize,
    stride: isize,
    layout: Arc<Layout>,
}

impl ArraySection {
    /// A section of elements of `element` bytes; the first is at `base`, each dimension has an
    /// extent and a stride in bytes.
    ///
    /// # Errors
    /// `Arg` if the section does not fit the address space.
    pub(crate) fn new(base: usize, element: usize, dimensions: &[(usize, isize)]) -> Result<Self> {
        let adjacent = SectionLevel { layout: Arc::new(Layout::dense(element)), stride: 0 };
        let mut levels = vec![adjacent];
        for (extent, stride) in dimensions.iter().copied().filter(|(extent, _)| *extent != 1) {
            let below = &levels.last().expect("the bytes of an element").layout;
            let block = Block { displacement: 0, count: extent, stride, layout: below };
            let layout = Arc::new(Layout::join([block]).ok_or_else(too_large)?);
            levels.push(SectionLevel { layout, stride });
        }
        Ok(Self { base, levels })
    }

    /// Layout of `count` elements of `datatype`; the first is `displacement` bytes after the
    /// beginning of the virtually contiguous buffer.
    ///
    /// # Errors
    /// `Buffer` if the section is too short.
    pub(crate) fn layout(
        &self, datatype: &Datatype, count: usize, displacement: isize,
    ) -> Result<Layout> {
        let mut pieces = Vec::new();
        let element = datatype.layout();
        match element.contiguous().filter(|_| element.extent() == element.size() as isize) {
            Some(offset) => {
                let begin = displacement.checked_add(offset).ok_or_else(too_large)?;
                let len = element.size().checked_mul(count).ok_or_else(too_large)?;
                self.select(begin, len, &mut pieces)?;
            }
            None => {
                for index in 0..count {
                    let offset = element.extent().wrapping_mul(index as isize);
                    self.select_element(element, displacement.wrapping_add(offset), &mut pieces)?;
                }
            }
        }
        let blocks = pieces.iter().map(|piece| Block {
            displacement: piece.displacement,
            count: piece.count,
            stride: piece.stride,
            layout: &piece.layout,
        });
        Layout::join(blocks).ok_or_else(too_large)
    }

    /// Selects the pieces of an element with gaps.
    fn select_element(
        &self, element: &Layout, begin: isize, pieces: &mut Vec<SectionPiece>,
    ) -> Result {
        for run in element.runs() {
            for index in 0..run.count {
                let offset = run.offset.wrapping_add(run.stride.wrapping_mul(index as isize));
                let at = begin.wrapping_add(offset);
                match &run.nested {
                    None => self.select(at, run.len, pieces)?,
                    Some(inside) => self.select_element(inside, at, pieces)?,
                }
            }
        }
        Ok(())
    }

    /// Selects the pieces of `len` virtually contiguous bytes from `begin` on.
    fn select(&self, begin: isize, len: usize, pieces: &mut Vec<SectionPiece>) -> Result {
        let has = self.levels.last().map_or(0, |level| level.layout.size());
        let end = usize::try_from(begin).ok().and_then(|begin| begin.checked_add(len));
        if len == 0 {
            return Ok(());
        }
        let Some(end) = end.filter(|end| *end <= has) else {
            return Err(ErrorClass::Buffer.error(format!(
                "{len} bytes from byte {begin} on are not in the section of an array, which has \
                 {has} bytes"
            )));
        };
        self.select_level(self.levels.len() - 1, 0, begin as usize..end, pieces);
        Ok(())
    }

    /// Selects the pieces of the packed bytes `of` in the section of `level` dimensions at `place`.
    fn select_level(
        &self, level: usize, place: isize, of: std::ops::Range<usize>,
        pieces: &mut Vec<SectionPiece>,
    ) {
        let Some(below) = level.checked_sub(1) else {
            let layout = Arc::new(Layout::dense(of.len()));
            let displacement = place + of.start as isize;
            pieces.push(SectionPiece { displacement, count: 1, stride: 0, layout });
            return;
        };
        let (stride, part) = (self.levels[level].stride, &self.levels[below].layout);
        let size = part.size();
        let at = |index: usize| place + stride * index as isize;
        let (mut first, last) = (of.start / size, of.end / size);
        let (head, tail) = (of.start % size, of.end % size);
        if first == last {
            return self.select_level(below, at(first), head..tail, pieces);
        }
        if head > 0 {
            self.select_level(below, at(first), head..size, pieces);
            first += 1;
        }
        if first < last {
            let layout = Arc::clone(part);
            let (displacement, count) = (at(first), last - first);
            pieces.push(SectionPiece { displacement, count, stride, layout });
        }
        if tail > 0 {
            self.select_level(below, at(last), 0..tail, pieces);
        }
    }
}

impl Datatype {
    /// This datatype, of handle `element`, for a call with sections as buffers.
    pub(crate) fn with_sections(&self, element: u32, sections: Vec<ArraySection>) -> Self {
        let inner = &self.0;
        let all = sections.into_boxed_slice();
        Self(Arc::new(DatatypeInner {
            layout: Arc::clone(&inner.layout),
            predefined: inner.predefined,
            unnamed: inner.unnamed,
            unit: inner.unit,
            elements: inner.elements,
            external_size: inner.external_size,
            contents: Contents::new(super::Combiner::Dup, super::ConstructorForm::Int)
                .types(std::slice::from_ref(self)),
            sections: Some(Box::new(ArraySections { element, all })),
        }))
    }

    /// Whether the datatype has sections.
    #[inline]
    pub(crate) fn has_sections(&self) -> bool {
        self.0.sections.is_some()
    }

    /// The section at address `base`.
    pub(crate) fn section(&self, base: usize) -> Option<&ArraySection> {
        let sections = self.0.sections.as_ref()?;
        sections.all.iter().find(|section| section.base == base)
    }

    /// Handle of the same datatype without sections; `None` if it has no sections.
    pub(crate) fn without_sections(&self) -> Option<u32> {
        self.0.sections.as_ref().map(|sections| sections.element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::Memory;
    use crate::mpi::datatype::{ConstructorForm, predefined};

    const INT: u32 = 0x209;
    const SHORT: u32 = 0x208;

    /// Packed bytes of elements of a section; byte `i` of memory has the value `i`.
    #[allow(unsafe_code, reason = "the section lies in the array, as the test sees")]
    fn packed(section: &ArraySection, datatype: &Datatype, count: usize, at: isize) -> Vec<u8> {
        let memory: Vec<u8> = (0..=255).collect();
        let layout = Arc::new(section.layout(datatype, count, at).unwrap());
        // SAFETY: every section in these tests is within 256 bytes from its base.
        let section =
            unsafe { Memory::new(memory.as_ptr().wrapping_add(section.base), 1, &layout) };
        let mut bytes = vec![0; section.len()];
        section.pack(0, &mut bytes);
        bytes
    }

    /// Packed bytes of a copy of the section to contiguous memory, made element by element.
    fn copied(section: (usize, usize, &[(usize, isize)])) -> Vec<u8> {
        let (base, element, dimensions) = section;
        let mut places = vec![base as isize];
        for (extent, stride) in dimensions {
            places = (0..*extent as isize)
                .flat_map(|index| places.iter().map(move |place| place + index * stride))
                .collect();
        }
        places
            .iter()
            .flat_map(|place| *place..place + element as isize)
            .map(|at| at as u8)
            .collect()
    }

    #[test]
    fn every_part_of_a_section_is_where_a_copy_has_it() {
        let short = predefined(SHORT).unwrap();
        for (base, element, dimensions) in [
            (0, 2, &[(5, 4)][..]),
            (40, 4, &[(5, -8)]),
            (3, 2, &[(3, 2), (4, 12), (2, 100)]),
            (60, 2, &[(3, 4), (1, 77), (4, -12), (2, 90)]),
        ] {
            let copy = copied((base, element, dimensions));
            let section = ArraySection::new(base, element, dimensions).unwrap();
            for begin in (0..=copy.len()).step_by(2) {
                for end in (begin..=copy.len()).step_by(2) {
                    let part = packed(&section, &short, (end - begin) / 2, begin as isize);
                    assert_eq!(part, copy[begin..end], "{dimensions:?} {begin} {end}");
                }
            }
        }
    }

    #[test]
    fn a_datatype_with_gaps_has_its_gaps_in_the_copy() {
        let dimensions = &[(3, 4), (4, 20), (2, 100)];
        let section = ArraySection::new(1, 2, dimensions).unwrap();
        let copy = copied((1, 2, dimensions));
        // Virtual bytes of shorts 1, 2 and 4 of six.
        let short = predefined(SHORT).unwrap();
        let sparse = Datatype::indexed(ConstructorForm::Int, &[2, 1], &[1, 4], &short).unwrap();
        let sparse = Datatype::resized(ConstructorForm::Int, &sparse, 0, 12).unwrap();
        let expected: Vec<u8> =
            [1, 2, 4, 7, 8, 10].iter().flat_map(|at| copy[4 + 2 * at..][..2].to_vec()).collect();
        assert_eq!(packed(&section, &sparse, 2, 4), expected);
    }

    #[test]
    fn more_than_a_section_has_is_refused() {
        let section = ArraySection::new(0, 4, &[(5, 8)]).unwrap();
        let int = predefined(INT).unwrap();
        assert_eq!(section.layout(&int, 5, 0).unwrap().size(), 20);
        assert_eq!(section.layout(&int, 0, 40).unwrap().size(), 0);
        for (count, displacement) in [(6, 0), (1, 20), (1, -4)] {
            let error = section.layout(&int, count, displacement).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::Buffer as i32);
        }
    }

    #[test]
    fn long_sections_take_little_memory() {
        let section =
            ArraySection::new(0, 8, &[(1000, 16), (1000, 32000), (1000, 1 << 40)]).unwrap();
        let int = predefined(INT).unwrap();
        let layout = section.layout(&int, 1_999_999_998, 4).unwrap();
        assert_eq!(layout.size(), 7_999_999_992);
        assert!(layout.runs().len() < 16);
    }
}
