//! The constructors of derived datatypes (MPI 5.0 §5.1.2 to §5.1.8).
//!
//! This module checks the counts of the caller. Displacements and strides are in extents of the old
//! datatype; in constructors with an `h`, they are in bytes.

use std::sync::Arc;

use super::{Combiner, ConstructorForm, Contents, Datatype, DatatypeInner};
use crate::engine::memory::layout::{Block, Layout};
use platform::base::{ErrorClass, Result};

impl Datatype {
    /// `MPI_Type_contiguous`: `count` elements one after another.
    ///
    /// # Errors
    /// `Count` if `count` is negative, `Arg` if the datatype exceeds the address space.
    pub fn contiguous(form: ConstructorForm, count: i64, old: &Self) -> Result<Self> {
        let contents = Contents::new(Combiner::Contiguous, form).numbers(&[count]);
        let blocks = [Block::array(0, counted(count)?, old.layout())];
        Self::of_one(contents, blocks, old)
    }

    /// `MPI_Type_vector`: `count` blocks of `length` elements, `stride` extents apart.
    ///
    /// # Errors
    /// As for [`Datatype::contiguous`]; `Arg` if `length` is negative.
    pub fn vector(
        form: ConstructorForm, count: i64, length: i64, stride: i64, old: &Self,
    ) -> Result<Self> {
        let contents = Contents::new(Combiner::Vector, form).numbers(&[count, length, stride]);
        let stride = stride.checked_mul(old.extent() as i64).ok_or_else(too_large)?;
        Self::blocks_apart(contents, count, length, stride, old)
    }

    /// `MPI_Type_create_hvector`: as [`Datatype::vector`], the stride in bytes.
    ///
    /// # Errors
    /// As for [`Datatype::vector`].
    pub fn hvector(
        form: ConstructorForm, count: i64, length: i64, stride: i64, old: &Self,
    ) -> Result<Self> {
        let contents =
            Contents::new(Combiner::Hvector, form).numbers(&[count, length]).addresses(&[stride]);
        Self::blocks_apart(contents, count, length, stride, old)
    }

    /// `MPI_Type_indexed`: blocks of `lengths[i]` elements, `displacements[i]` extents from the
    /// start.
    ///
    /// # Errors
    /// `Arg` if a length is negative or the datatype exceeds the address space.
    ///
    /// # Panics
    /// If the numbers of lengths and displacements differ; likewise in the following constructors.
    pub fn indexed(
        form: ConstructorForm, lengths: &[i64], displacements: &[i64], old: &Self,
    ) -> Result<Self> {
        let contents = Contents::new(Combiner::Indexed, form)
            .numbers(&[lengths.len() as i64])
            .numbers(lengths)
            .numbers(displacements);
        let byte_displacements = scaled(displacements, old)?;
        Self::blocks_at(contents, lengths, &byte_displacements, old)
    }

    /// `MPI_Type_create_hindexed`: as [`Datatype::indexed`], the displacements in bytes.
    ///
    /// # Errors
    /// As for [`Datatype::indexed`].
    pub fn hindexed(
        form: ConstructorForm, lengths: &[i64], displacements: &[i64], old: &Self,
    ) -> Result<Self> {
        let contents = Contents::new(Combiner::Hindexed, form)
            .numbers(&[lengths.len() as i64])
            .numbers(lengths)
            .addresses(displacements);
        Self::blocks_at(contents, lengths, displacements, old)
    }

    /// `MPI_Type_create_indexed_block`: as [`Datatype::indexed`], all blocks of one length.
    ///
    /// # Errors
    /// As for [`Datatype::indexed`].
    pub fn indexed_block(
        form: ConstructorForm, length: i64, displacements: &[i64], old: &Self,
    ) -> Result<Self> {
        let contents = Contents::new(Combiner::IndexedBlock, form)
            .numbers(&[displacements.len() as i64, length])
            .numbers(displacements);
        let byte_displacements = scaled(displacements, old)?;
        Self::blocks_at(contents, &vec![length; byte_displacements.len()], &byte_displacements, old)
    }

    /// `MPI_Type_create_hindexed_block`: as [`Datatype::hindexed`], all blocks of one length.
    ///
    /// # Errors
    /// As for [`Datatype::indexed`].
    pub fn hindexed_block(
        form: ConstructorForm, length: i64, displacements: &[i64], old: &Self,
    ) -> Result<Self> {
        let contents = Contents::new(Combiner::HindexedBlock, form)
            .numbers(&[displacements.len() as i64, length])
            .addresses(displacements);
        Self::blocks_at(contents, &vec![length; displacements.len()], displacements, old)
    }

    /// `MPI_Type_create_struct`: `lengths[i]` elements of `types[i]` at byte `displacements[i]`.
    ///
    /// # Errors
    /// As for [`Datatype::indexed`].
    pub fn structure(
        form: ConstructorForm, lengths: &[i64], displacements: &[i64], types: &[Self],
    ) -> Result<Self> {
        assert!(lengths.len() == displacements.len() && lengths.len() == types.len());
        let contents = Contents::new(Combiner::Struct, form)
            .numbers(&[lengths.len() as i64])
            .numbers(lengths)
            .addresses(displacements)
            .types(types);
        let mut blocks = Vec::with_capacity(types.len());
        for (index, datatype) in types.iter().enumerate() {
            let length = block_length(lengths[index])?;
            blocks.push(Block::array(displacements[index] as isize, length, datatype.layout()));
        }
        let layout = Layout::join(blocks).ok_or_else(too_large)?;
        Ok(Self::derived(contents, layout))
    }

    /// `MPI_Type_create_resized`: the same data with another lower bound and extent.
    ///
    /// # Errors
    /// `Arg` if the upper bound exceeds the address space.
    pub fn resized(form: ConstructorForm, old: &Self, lb: i64, extent: i64) -> Result<Self> {
        let contents = Contents::new(Combiner::Resized, form)
            .addresses(&[lb, extent])
            .types(std::slice::from_ref(old));
        let layout = old.layout().resized(lb as isize, extent as isize).ok_or_else(|| {
            ErrorClass::Arg.error(format!(
                "lower bound {lb} and extent {extent}: expected a sum within the address space"
            ))
        })?;
        Ok(Self::derived(contents, layout))
    }

    /// `MPI_Type_dup`: a new datatype that equals the old one.
    pub fn dup(&self) -> Self {
        let contents =
            Contents::new(Combiner::Dup, ConstructorForm::Int).types(std::slice::from_ref(self));
        Self::sharing(contents, self.layout().clone())
    }

    /// `count` blocks of `length` elements, `stride` bytes apart.
    fn blocks_apart(
        contents: Contents, count: i64, length: i64, stride: i64, old: &Self,
    ) -> Result<Self> {
        let (count, length) = (counted(count)?, block_length(length)?);
        let row = if length == 1 {
            old.layout().clone()
        } else {
            let row = Layout::join([Block::array(0, length, old.layout())]);
            Arc::new(row.ok_or_else(too_large)?)
        };
        let stride = stride as isize;
        Self::of_one(contents, [Block { displacement: 0, count, stride, layout: &row }], old)
    }

    /// Blocks of `lengths[i]` elements at byte `byte_displacements[i]`.
    fn blocks_at(
        contents: Contents, lengths: &[i64], byte_displacements: &[i64], old: &Self,
    ) -> Result<Self> {
        assert_eq!(lengths.len(), byte_displacements.len());
        let mut blocks = Vec::with_capacity(byte_displacements.len());
        for (length, place) in lengths.iter().zip(byte_displacements) {
            let length = block_length(*length)?;
            blocks.push(Block::array(*place as isize, length, old.layout()));
        }
        Self::of_one(contents, blocks, old)
    }

    /// A datatype with the data of `old` at these displacements.
    pub(crate) fn of_one<'a>(
        contents: Contents, blocks: impl IntoIterator<Item = Block<'a>>, old: &Self,
    ) -> Result<Self> {
        let layout = Layout::join(blocks).ok_or_else(too_large)?;
        Ok(Self::derived(contents.types(std::slice::from_ref(old)), layout))
    }

    /// A datatype from its contents, which determine the signature.
    pub(crate) fn derived(contents: Contents, layout: Layout) -> Self {
        Self::sharing(contents, Arc::new(layout))
    }

    fn sharing(contents: Contents, layout: Arc<Layout>) -> Self {
        let elements = sum(&contents, layout.size(), |part| part.0.elements);
        let external_size = sum(&contents, layout.size(), Self::external_size);
        let unit = if layout.size() == 0 { None } else { unit(&contents) };
        let (predefined, unnamed) = (None, None);
        Self(Arc::new(DatatypeInner {
            layout,
            predefined,
            unnamed,
            unit,
            elements,
            external_size,
            contents,
            sections: None,
        }))
    }
}

impl Contents {
    /// The length of block `index` of a structure.
    pub(crate) fn block_length(&self, index: usize) -> usize {
        debug_assert_eq!(self.combiner, Combiner::Struct);
        match self.counts.get(1 + index) {
            Some(count) => *count as usize,
            None => self.integers[1 + index] as usize,
        }
    }
}

/// The sum of `of` over all parts of a datatype of `size` bytes with these contents; `of` a part is
/// at most the size of the part.
fn sum(contents: &Contents, size: usize, of: impl Fn(&Datatype) -> usize) -> usize {
    if contents.combiner == Combiner::Struct {
        let parts = contents.types.iter().enumerate();
        return parts.map(|(index, part)| of(part) * contents.block_length(index)).sum();
    }
    let old = &contents.types[0];
    if size == 0 { 0 } else { size / old.size() * of(old) }
}

/// The predefined datatype of all parts with data.
fn unit(contents: &Contents) -> Option<super::Predefined> {
    let is_struct = contents.combiner == Combiner::Struct;
    let present = |index: usize| !is_struct || contents.block_length(index) > 0;
    let parts = contents.types.iter().enumerate();
    let mut with_data = parts.filter(|(index, part)| part.size() > 0 && present(*index));
    let first = *with_data.next()?.1.unit()?;
    with_data.all(|(_, part)| part.unit() == Some(&first)).then_some(first)
}

/// `displacements` in bytes.
fn scaled(displacements: &[i64], old: &Datatype) -> Result<Vec<i64>> {
    let extent = old.extent() as i64;
    displacements.iter().map(|at| at.checked_mul(extent).ok_or_else(too_large)).collect()
}

fn counted(count: i64) -> Result<usize> {
    usize::try_from(count).map_err(|_| {
        ErrorClass::Count.error(format!("the count {count} is negative: expected 0 or more"))
    })
}

fn block_length(length: i64) -> Result<usize> {
    usize::try_from(length).map_err(|_| {
        ErrorClass::Arg.error(format!("the block length {length} is negative: expected 0 or more"))
    })
}

/// The error of a datatype whose size or bounds overflow.
pub(crate) fn too_large() -> Box<platform::base::MpiError> {
    ErrorClass::Arg.error("the size or the bounds of the datatype exceed the address space")
}
