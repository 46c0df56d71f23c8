//! Datatypes (MPI 5.0 §5).
//!
//! A [`Datatype`] is an immutable value with a reference count: freeing a handle drops one reference,
//! while operations and other datatypes keep theirs. Handles, names, attributes and the committed
//! state belong to the object of the handle, not to the value.
//!
//! The addresses of its bytes are its `Layout` (`engine::memory::layout`). This module has the basic
//! types in order (the signature), and the arguments of the constructor.

mod array;
mod construct;
mod contents;
mod converted;
pub mod external;
mod predefined;
mod rebuilt;
mod section;
mod signature;
#[cfg(test)]
mod tests;
mod unnamed;

use std::sync::Arc;

pub use array::{ArrayOrder, Distribution};
pub use contents::{Combiner, ConstructorForm, Contents};
pub(crate) use converted::external_memory;
pub(crate) use predefined::PlainElement;
pub use predefined::{ByHandle, DatatypeClass, Predefined, Unit};
pub(crate) use section::ArraySection;
pub use unnamed::{Precision, Unnamed, ValueIndex};

use crate::engine::memory::layout::{Block, Layout};

/// A datatype, predefined or derived.
#[derive(Clone, Debug)]
pub struct Datatype(Arc<DatatypeInner>);

#[derive(Debug)]
struct DatatypeInner {
    layout: Arc<Layout>,
    /// The predefined datatype; for an unnamed one, the datatype with the same representation.
    predefined: Option<Predefined>,
    /// The request of an unnamed predefined datatype.
    unnamed: Option<Unnamed>,
    /// The predefined type of all its data, if there is one.
    unit: Option<Predefined>,
    /// Number of basic elements; a pair has two.
    elements: usize,
    /// Bytes in the representation "external32".
    external_size: usize,
    contents: Contents,
    /// Sections of arrays, for a call with such buffers.
    sections: Option<Box<section::ArraySections>>,
}

/// The representation of packed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackedForm {
    /// That of memory.
    Native,
    /// "external32" (§14.5.2).
    External,
}

/// The predefined datatype with this handle value in the ABI; `None` for `MPI_DATATYPE_NULL` and
/// values that are not predefined datatypes. Makes a new value: keep them in a [`ByHandle`].
pub fn predefined(handle: u32) -> Option<Datatype> {
    Predefined::find(handle).map(Datatype::predefined)
}

impl Datatype {
    /// The value of a predefined datatype.
    pub fn predefined(entry: &Predefined) -> Self {
        let layout = match entry.unit.members() {
            None => Layout::aligned(entry.unit.size(), entry.unit.alignment()),
            Some(members) => pair_layout(members),
        };
        Self(Arc::new(DatatypeInner {
            layout: Arc::new(layout),
            predefined: Some(*entry),
            unnamed: None,
            unit: Some(*entry),
            elements: if entry.class == DatatypeClass::Pair { 2 } else { 1 },
            external_size: external::element_size(entry),
            contents: Contents::new(Combiner::Named, ConstructorForm::Int),
            sections: None,
        }))
    }

    /// The layout of its bytes.
    #[inline]
    pub fn layout(&self) -> &Arc<Layout> {
        &self.0.layout
    }

    /// Bytes of data.
    pub fn size(&self) -> usize {
        self.0.layout.size()
    }

    /// Bytes of data in the representation "external32" (§14.5.2); never more than [`Self::size`].
    pub fn external_size(&self) -> usize {
        self.0.external_size
    }

    /// Bytes of data in a representation.
    pub(crate) fn packed_size(&self, form: PackedForm) -> usize {
        match form {
            PackedForm::Native => self.size(),
            PackedForm::External => self.external_size(),
        }
    }

    /// Distance between elements of an array, in bytes.
    pub fn extent(&self) -> isize {
        self.0.layout.extent()
    }

    /// The lower bound in bytes.
    pub fn lb(&self) -> isize {
        self.0.layout.lb()
    }

    /// The lowest byte of data.
    pub fn true_lb(&self) -> isize {
        self.0.layout.true_lb()
    }

    /// Distance from the lowest byte of data to the end of the highest.
    pub fn true_extent(&self) -> isize {
        self.0.layout.true_extent()
    }

    /// The predefined datatype, or the one with the representation of this unnamed one; `None` for a
    /// derived datatype.
    pub(crate) fn as_predefined(&self) -> Option<&Predefined> {
        self.0.predefined.as_ref()
    }

    /// The request of an unnamed predefined datatype; `None` for all others.
    pub(crate) fn as_unnamed(&self) -> Option<Unnamed> {
        self.0.unnamed
    }

    /// The predefined datatype of all its data; `None` without data or with different ones.
    pub fn unit(&self) -> Option<&Predefined> {
        self.0.unit.as_ref()
    }

    /// The name for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match &self.0.predefined {
            Some(_) if self.0.unnamed.is_some() => "an unnamed predefined datatype",
            Some(entry) => entry.name,
            None => "a derived datatype",
        }
    }

    /// The constructor and its arguments.
    pub(crate) fn contents(&self) -> &Contents {
        &self.0.contents
    }

    /// Whether both are the same value, from one constructor call.
    #[cfg(test)]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The number of whole elements in `bytes` packed bytes (`MPI_Get_count`); `None`, which is
    /// `MPI_UNDEFINED`, if the last one is incomplete.
    pub fn count(&self, bytes: usize) -> Option<usize> {
        self.count_in(PackedForm::Native, bytes)
    }

    /// [`Datatype::count`] of bytes in a representation.
    pub(crate) fn count_in(&self, form: PackedForm, bytes: usize) -> Option<usize> {
        match self.packed_size(form) {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then_some(bytes / size),
        }
    }

    /// The number of basic elements in `bytes` packed bytes (`MPI_Get_elements`); `None` if the
    /// last one is incomplete.
    pub fn elements(&self, bytes: usize) -> Option<usize> {
        self.elements_in(PackedForm::Native, bytes)
    }

    /// [`Datatype::elements`] of bytes in a representation.
    pub(crate) fn elements_in(&self, form: PackedForm, bytes: usize) -> Option<usize> {
        let (mut whole, mut datatype, mut rest) = (0, self, bytes);
        // At most one element of each level is incomplete, so the loop descends without branching.
        while rest > 0 {
            let (size, inner) = (datatype.packed_size(form), &datatype.0);
            if size == 0 {
                return None;
            }
            whole += rest / size * inner.elements;
            rest %= size;
            if rest == 0 {
                break;
            }
            if let Some(entry) = &inner.predefined {
                let value = match form {
                    PackedForm::Native => entry.unit.members()?[0].size(),
                    PackedForm::External => external::element_size(entry.members()?[0]),
                };
                return (rest == value).then_some(whole + 1);
            }
            (whole, datatype, rest) = inner.incomplete_part(form, whole, rest);
        }
        Some(whole)
    }

    /// The packed bytes of the first `elements` basic elements, the inverse of
    /// [`Datatype::elements`]; `None` if there is no such number of bytes.
    pub fn bytes_of_elements(&self, elements: usize) -> Option<usize> {
        let (mut bytes, mut datatype, mut rest) = (0usize, self, elements);
        while rest > 0 {
            let (size, inner) = (datatype.size(), &datatype.0);
            if inner.elements == 0 {
                return None;
            }
            bytes = bytes.checked_add((rest / inner.elements).checked_mul(size)?)?;
            rest %= inner.elements;
            if rest == 0 {
                break;
            }
            if let Some(entry) = &inner.predefined {
                let [value, _] = entry.unit.members()?;
                return bytes.checked_add(value.size());
            }
            let (before, part, left) = inner.part_of_element(rest);
            (bytes, datatype, rest) = (bytes.checked_add(before)?, part, left);
        }
        Some(bytes)
    }
}

impl DatatypeInner {
    /// The part with element `rest` (less than the number of elements), the bytes before the part,
    /// and the number of elements in the part before that element.
    fn part_of_element(&self, mut rest: usize) -> (usize, &Datatype, usize) {
        let types = &self.contents.types;
        if self.contents.combiner != Combiner::Struct {
            return (0, &types[0], rest);
        }
        let mut before = 0;
        for (index, datatype) in types.iter().enumerate() {
            let length = self.contents.block_length(index);
            if rest < datatype.0.elements * length {
                return (before, datatype, rest);
            }
            rest -= datatype.0.elements * length;
            before += datatype.size() * length;
        }
        unreachable!("fewer elements than all end in some part");
    }

    /// The part in which the first `rest` bytes (less than the size) end; adds the elements before
    /// it to `whole` and subtracts the bytes before it from `rest`.
    fn incomplete_part(
        &self, form: PackedForm, mut whole: usize, mut rest: usize,
    ) -> (usize, &Datatype, usize) {
        let types = &self.contents.types;
        if self.contents.combiner != Combiner::Struct {
            return (whole, &types[0], rest);
        }
        for (index, datatype) in types.iter().enumerate() {
            let part = datatype.packed_size(form) * self.contents.block_length(index);
            if rest < part {
                return (whole, datatype, rest);
            }
            rest -= part;
            whole += datatype.0.elements * self.contents.block_length(index);
        }
        unreachable!("fewer bytes than the size end in some part");
    }
}

impl Drop for DatatypeInner {
    /// Drops long chains iteratively: recursion would need stack for each datatype.
    fn drop(&mut self) {
        let mut parts = std::mem::take(&mut self.contents.types);
        while let Some(part) = parts.pop() {
            if let Ok(mut inner) = Arc::try_unwrap(part.0) {
                parts.append(&mut inner.contents.types);
            }
        }
    }
}

/// The layout of the C structure with these two members.
fn pair_layout(members: [Unit; 2]) -> Layout {
    let [value, index] =
        members.map(|unit| Arc::new(Layout::aligned(unit.size(), unit.alignment())));
    let second = value.size().next_multiple_of(index.alignment()) as isize;
    let blocks = [Block::array(0, 1, &value), Block::array(second, 1, &index)];
    Layout::join(blocks).expect("a pair is a few bytes long")
}
