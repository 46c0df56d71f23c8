//! How a reduction combines its operands, and reductions without communication (MPI 5.0 §6.9).
//!
//! Kernels work on packed elements that lie adjacent. Memory that is so already is used where it
//! is; other memory is copied, and the result goes back once the reduction is over ([`Landing`]).
//! Only pairs with padding are combined where they are, if both operands are the application's.

use super::datatype::Datatype;
use super::fortran::Booleans;
use super::op::{Operator, Padded};
use super::request::Landing;
use crate::base::Result;
use crate::core::memory::Memory;
use crate::core::run::{Kernel, Reduction};
use crate::mpi::coll::Operands;

/// An operation on a datatype.
pub struct Combining {
    /// Packed bytes of an element.
    element: usize,
    commutative: bool,
    kernel: Kernel,
    /// For elements where they lie, if that differs from packed ones.
    padded: Option<Padded>,
    /// Whether the kernel calls the application, so that nothing may be locked.
    application: bool,
}

impl Combining {
    /// A predefined operation; `booleans` are Fortran's truth values, if they are known.
    ///
    /// # Errors
    /// `Op` if the standard does not have it for this datatype.
    pub fn predefined(
        operator: Operator, datatype: &Datatype, booleans: Option<Booleans>,
    ) -> Result<Self> {
        let kernel = operator.combination(datatype, booleans)?;
        let padded = Padded::find(operator, datatype);
        Ok(Self { element: datatype.size(), commutative: true, kernel, padded, application: false })
    }

    /// An operation of the application: `kernel` calls it on packed elements of `datatype`.
    pub fn application(commutative: bool, datatype: &Datatype, kernel: Kernel) -> Self {
        Self { element: datatype.size(), commutative, kernel, padded: None, application: true }
    }

    /// What algorithms may know of operands of `bytes` bytes.
    pub(in crate::mpi) fn operands(&self, bytes: usize) -> Operands {
        Operands { bytes, element: self.element.max(1), commutative: self.commutative }
    }

    /// For the engine.
    pub(in crate::mpi) fn reduction(self) -> Reduction {
        if self.application {
            Reduction::Application(self.kernel)
        } else {
            Reduction::Kernel(self.kernel)
        }
    }

    /// Computes `into = from op into` (`MPI_Reduce_local`). It may call the application, so
    /// nothing may be locked.
    pub fn combine(&self, from: Memory, into: Memory) {
        if into.is_empty() {
            return;
        }
        if self.padded.as_ref().is_some_and(|padded| padded.reduce(&from, &into)) {
            return;
        }
        let from = operand(from);
        let (packed, landing) = result(into, true, 0);
        if let (Some(from), Some(into)) = (from.span(), packed.span()) {
            (self.kernel)(from, into);
        }
        if let Some(mut landing) = landing {
            packed.copy(0, &mut landing.to, 0, packed.len());
        }
    }
}

/// An operand as adjacent bytes.
pub(in crate::mpi) fn operand(memory: Memory) -> Memory {
    if memory.span().is_some() { memory } else { copy_of(&memory) }
}

/// Adjacent bytes for a result that belongs to `to`, as entry `buffer` of the run's table; they
/// hold what is there if it is `read`.
pub(in crate::mpi) fn result(to: Memory, read: bool, buffer: usize) -> (Memory, Option<Landing>) {
    if to.span().is_some() {
        return (to, None);
    }
    let packed = if read { copy_of(&to) } else { Memory::owned(vec![0; to.len()]) };
    (packed, Some(Landing { buffer, to }))
}

fn copy_of(memory: &Memory) -> Memory {
    let mut copy = vec![0; memory.len()];
    memory.pack(0, &mut copy);
    Memory::owned(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::datatype::predefined;
    use crate::mpi::op::Operator;

    const INT: u32 = 0x209;

    #[test]
    fn adjacent_memory_is_combined_where_it_is() {
        let int = predefined(INT).unwrap();
        let sum = Combining::predefined(Operator::Sum, &int, None).unwrap();
        let numbers = |numbers: [i32; 3]| {
            Memory::owned(numbers.into_iter().flat_map(i32::to_ne_bytes).collect::<Vec<u8>>())
        };
        let into = numbers([10, 20, 30]);
        sum.combine(numbers([1, 2, 3]), into.alias());
        let mut result = [0; 12];
        into.pack(0, &mut result);
        assert_eq!(result[4..8], 22i32.to_ne_bytes());
        assert!(matches!(sum.reduction(), Reduction::Kernel(_)));
    }

    #[test]
    fn what_the_standard_does_not_combine_is_refused() {
        let float = predefined(0x210).unwrap();
        assert!(Combining::predefined(Operator::Band, &float, None).is_err());
    }
}
