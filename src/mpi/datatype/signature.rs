//! The signature of a datatype (MPI 5.0 §5.1): its basic types in packed order.

use super::{Combiner, Datatype, Predefined};

/// Goes through the predefined types of some elements in packed order; each item is one of them
/// and how often it follows itself. Neighbours may be equal.
///
/// It keeps its place in a list and not on the stack: datatypes may be nested as deep as memory
/// allows.
pub(crate) struct Signature<'a> {
    levels: Vec<SignatureLevel<'a>>,
}

/// Elements of a datatype that are still to come.
struct SignatureLevel<'a> {
    datatype: &'a Datatype,
    /// How many, the current one included.
    left: usize,
    /// The next part of the current one, if it is a structure.
    part: usize,
}

impl<'a> Signature<'a> {
    /// The signature of `count` elements of `datatype`.
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
