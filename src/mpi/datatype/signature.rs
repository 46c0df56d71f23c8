//! The signature of a datatype (MPI 5.0 §5.1): its basic types in packed order.

use super::{Combiner, Datatype, Predefined};

/// Iterates over the predefined types of some elements in packed order; each item is a type and its
/// number of repetitions. Adjacent items may have equal types.
///
/// The position is in a list, not on the stack: the nesting depth of datatypes is limited only by
/// memory.
pub(crate) struct Signature<'a> {
    levels: Vec<SignatureLevel<'a>>,
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
        Self { levels: vec![SignatureLevel { datatype, left: count, part: 0 }] }
    }
}

impl<'a> Iterator for Signature<'a> {
    type Item = (&'a Predefined, usize);

    fn next(&mut self) -> Option<Self::Item> {
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
