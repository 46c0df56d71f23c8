//! The signature of a datatype (MPI 5.0 §5.1): its basic types in packed order.

use std::sync::Arc;

use super::{Combiner, Datatype, Predefined, external};

/// Iterates over the predefined types of some elements in packed order; each item is a type and its
/// number of repetitions. Adjacent items may have equal types.
///
/// The position is in a list, not on the stack: the nesting depth of datatypes is limited only by
/// memory.
pub(crate) struct Signature<'a> {
    levels: Vec<SignatureLevel<'a>>,
    /// What is left of an element that has been begun, before what the levels have.
    begun: Option<(&'a Predefined, usize)>,
}

/// Remaining elements of a datatype.
struct SignatureLevel<'a> {
    datatype: &'a Datatype,
    /// Number of elements, including the current one.
    left: usize,
    /// Next part of the current element, if it is a structure.
    part: usize,
}

impl<'a> Signature<'a> {
    pub(crate) fn new(datatype: &'a Datatype, count: usize) -> Self {
        Self { levels: vec![SignatureLevel { datatype, left: count, part: 0 }], begun: None }
    }

    /// The signature from the external32 offset `skip` on, which must be less than the length. Also returns
    /// the native bytes of the predefined elements before it, and the offset within the first element of
    /// the result.
    ///
    /// One element of each level is begun, so the time depends on the nesting and on the parts of
    /// structures, not on `skip`.
    pub(crate) fn after(datatype: &'a Datatype, count: usize, skip: usize) -> (Self, usize, usize) {
        let mut signature = Self::new(datatype, count);
        let (mut native, mut skip) = (0, skip);
        while let Some(level) = signature.levels.last_mut()
            && skip > 0
        {
            let whole = skip / level.datatype.external_size();
            skip -= whole * level.datatype.external_size();
            native += whole * level.datatype.size();
            level.left -= whole;
            if skip == 0 {
                break;
            }
            if let Some(entry) = &level.datatype.0.unit {
                let whole = skip / external::element_size(entry);
                skip -= whole * external::element_size(entry);
                native += whole * entry.unit.size();
                level.left -= 1;
                let all = level.datatype.size() / entry.unit.size();
                signature.begun = Some((entry, all - whole));
                break;
            }
            let begun = level.begin(&mut native, &mut skip);
            signature.levels.push(begun);
        }
        (signature, native, skip)
    }
}

impl<'a> SignatureLevel<'a> {
    /// Begins an element and skips `skip` external bytes of it: the members of a structure before the one
    /// that contains the offset `skip`. That member is the level below.
    fn begin(&mut self, native: &mut usize, skip: &mut usize) -> Self {
        let contents = &self.datatype.0.contents;
        if contents.combiner != Combiner::Struct {
            self.left -= 1;
            let part = &contents.types[0];
            return Self { datatype: part, left: self.datatype.size() / part.size(), part: 0 };
        }
        loop {
            let (part, count) = (&contents.types[self.part], contents.block_length(self.part));
            self.part += 1;
            if *skip < part.external_size() * count {
                return Self { datatype: part, left: count, part: 0 };
            }
            *skip -= part.external_size() * count;
            *native += part.size() * count;
        }
    }
}

impl Datatype {
    /// The smallest datatype that an element repeats in packed order, and the number of repetitions: a
    /// structure, or a datatype with a [`Datatype::unit`], whose unit counts. The datatype must have data.
    pub(crate) fn repeated_part(&self) -> (&Self, usize) {
        let mut part = self;
        loop {
            if let Some(entry) = &part.0.unit {
                return (part, self.size() / entry.unit.size());
            }
            if part.0.contents.combiner == Combiner::Struct {
                return (part, self.size() / part.size());
            }
            part = &part.0.contents.types[0];
        }
    }

    /// The members of a structure in packed order, each with its number of elements.
    pub(crate) fn members(&self) -> impl DoubleEndedIterator<Item = (&Self, usize)> {
        debug_assert_eq!(self.0.contents.combiner, Combiner::Struct);
        let types = self.0.contents.types.iter().enumerate();
        types.map(|(index, member)| (member, self.0.contents.block_length(index)))
    }

    /// The address of the value, which names it while it lives.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl<'a> Iterator for Signature<'a> {
    type Item = (&'a Predefined, usize);

    fn next(&mut self) -> Option<Self::Item> {
        if self.begun.is_some() {
            return self.begun.take();
        }
        loop {
            let level = self.levels.last_mut()?;
            let datatype: &'a Datatype = level.datatype;
            let inner = &datatype.0;
            let bytes = level.datatype.size() * level.left;
            if bytes == 0 {
                self.levels.pop();
                continue;
            }
            if let Some(entry) = &inner.unit {
                self.levels.pop();
                return Some((entry, bytes / entry.unit.size()));
            }
            let types = &inner.contents.types;
            let (datatype, left) = if inner.contents.combiner != Combiner::Struct {
                level.left = 0;
                (&types[0], bytes / types[0].size())
            } else if level.part == types.len() {
                level.left -= 1;
                level.part = 0;
                continue;
            } else {
                level.part += 1;
                (&types[level.part - 1], inner.contents.block_length(level.part - 1))
            };
            self.levels.push(SignatureLevel { datatype, left, part: 0 });
        }
    }
}
