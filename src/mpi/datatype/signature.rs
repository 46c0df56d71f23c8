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

    /// The signature without its first `skip` bytes of "external32", of which there must be more. The
    /// result has the native bytes of the predefined elements that were skipped as a whole, and those
    /// external bytes of `skip` that are in the first element of the signature then.
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
    /// Begins an element, of which `skip` external bytes are skipped: as a whole, those of the parts of a
    /// structure before the one where `skip` ends, which is the level below.
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
    /// The datatype of which an element is a repetition in packed order, and how often: a structure, or one
    /// with a [`Datatype::unit`], of which the unit is repeated. The datatype must have data.
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
