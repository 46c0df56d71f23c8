//! The operation of a reduction on a datatype, and reductions without communication (MPI 5.0 §6.9).
//!
//! Kernels work on contiguous packed elements. Contiguous memory is used in place; other memory is
//! packed first, and the result is unpacked when the reduction has completed ([`StagedBuffer`]).
//! `MPI_Reduce_local` combines pairs with padding without packing.

use std::sync::Arc;

use crate::engine::memory::Memory;
use crate::engine::schedules::plan::{RunPlan, StagedBuffer};
use crate::engine::schedules::reduction::{ReductionKernel, ReductionMethod};
use crate::mpi::collective::algorithms::Operands;
use crate::mpi::datatype::{Datatype, external};
use crate::mpi::fortran::Booleans;
use crate::mpi::op::{Combination, Operator, PaddedKernel};
use crate::offload::{Arithmetic, Schedule};
use platform::base::{Result, Span};

/// An operation on a datatype.
#[derive(Debug)]
pub struct ReductionOperator {
    /// Packed bytes of an element, at least 1.
    element: usize,
    commutative: bool,
    kernel: Combination,
    /// The kernel for elements with padding, if they have any.
    padded: Option<PaddedKernel>,
    /// `None` for a function of the application, which is called while nothing is locked.
    operator: Option<Operator>,
    /// The same operation for a network interface.
    arithmetic: Option<Arithmetic>,
}

impl ReductionOperator {
    /// A predefined operation; `booleans` are Fortran's truth values, if they are known.
    ///
    /// # Errors
    /// `Op` if the standard does not define the operation for this datatype.
    pub fn predefined(
        operator: Operator, datatype: &Datatype, booleans: Option<Booleans>,
    ) -> Result<Self> {
        Ok(Self {
            element: datatype.size().max(1),
            commutative: true,
            kernel: operator.combination(datatype, booleans)?,
            padded: PaddedKernel::find(operator, datatype),
            operator: Some(operator),
            arithmetic: operator.arithmetic(datatype),
        })
    }

    /// An operation of the application: `kernel` calls it on packed elements of `datatype`.
    pub fn application(commutative: bool, datatype: &Datatype, kernel: ReductionKernel) -> Self {
        Self {
            element: datatype.size().max(1),
            commutative,
            kernel: Combination::Shared(kernel),
            padded: None,
            operator: None,
            arithmetic: None,
        }
    }

    /// The same operation on elements of `datatype` as "external32". They are unpacked for the operation
    /// and its result is packed, so that an intermediate result has the length that it has on the way.
    pub(crate) fn external(self, datatype: &Datatype) -> Self {
        let (native, datatype) = (self.kernel, datatype.clone());
        let element = datatype.external_size().max(1);
        let kernel = move |from: Span, into: Span| {
            let count = into.len() / element;
            let unpacked = |packed: Span| {
                let mut items = Memory::owned(vec![0; datatype.size() * count]);
                external::unpack(&datatype, count, &Memory::Span(packed), &mut items);
                items
            };
            let (from, items) = (unpacked(from), unpacked(into));
            if let (Some(from), Some(items)) = (from.span(), items.span()) {
                native.apply(from, items);
            }
            external::pack(&datatype, count, &items, &mut Memory::Span(into));
        };
        Self {
            element,
            kernel: Combination::Shared(Arc::new(kernel)),
            padded: None,
            arithmetic: None,
            ..self
        }
    }

    /// The predefined operation; `None` for a function of the application.
    #[inline]
    pub(in crate::mpi) fn operator(&self) -> Option<Operator> {
        self.operator
    }

    #[inline]
    pub(in crate::mpi) fn element_bytes(&self) -> usize {
        self.element
    }

    #[inline]
    pub(in crate::mpi) fn kernel(&self) -> &Combination {
        &self.kernel
    }

    /// Operands of `bytes` bytes, as algorithms know them.
    pub(in crate::mpi) fn operands(&self, bytes: usize) -> Operands {
        Operands { bytes, element: self.element, commutative: self.commutative }
    }

    /// A reduction with this schedule. An absent operand or result is empty.
    pub(in crate::mpi) fn plan(
        self, schedule: impl Into<Arc<Schedule>>, operand: Memory, result: Memory, usage: BufferUse,
    ) -> RunPlan {
        let mut staged = Vec::new();
        let operand = contiguous(operand, 0, BufferUse::Read, &mut staged);
        let result = contiguous(result, 1, usage, &mut staged);
        let buffers = vec![operand, result];
        RunPlan { schedule: schedule.into(), buffers, staged, reduction: self.reduction() }
    }

    fn reduction(self) -> ReductionMethod {
        let kernel = self.kernel.shared();
        match self.arithmetic {
            _ if self.operator.is_none() => ReductionMethod::Application(kernel),
            Some(arithmetic) => ReductionMethod::Numbers(kernel, arithmetic),
            None => ReductionMethod::Kernel(kernel),
        }
    }

    /// Computes `into = from op into` (`MPI_Reduce_local`). May call the application, so nothing may
    /// be locked.
    pub(crate) fn combine(&self, from: Memory, into: Memory) {
        if into.is_empty() {
            return;
        }
        if self.padded.as_ref().is_some_and(|padded| padded.reduce(&from, &into)) {
            return;
        }
        let mut staged = Vec::new();
        let from = contiguous(from, 0, BufferUse::Read, &mut staged);
        let mut buffers = [from, contiguous(into, 1, BufferUse::Both, &mut staged)];
        staged.iter().for_each(|staged| staged.pack(&mut buffers));
        if let [Some(from), Some(into)] = buffers.each_ref().map(Memory::span) {
            self.kernel.apply(from, into);
        }
        staged.iter_mut().for_each(|staged| staged.unpack(&buffers));
    }
}

/// The use of a buffer of the application by a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi) enum BufferUse {
    /// Holds an operand.
    Read,
    /// Receives the result.
    Written,
    /// Holds an operand and receives the result.
    Both,
}

/// Contiguous bytes for entry `buffer` of the table of a reduction: `memory` itself, or a buffer of
/// the same length that `memory` is packed into and unpacked from.
fn contiguous(
    memory: Memory, buffer: usize, usage: BufferUse, staged: &mut Vec<StagedBuffer>,
) -> Memory {
    if memory.span().is_some() {
        return memory;
    }
    let packed = Memory::owned(vec![0; memory.len()]);
    let (read, written) = (usage != BufferUse::Written, usage != BufferUse::Read);
    staged.push(StagedBuffer { buffer, memory, read, written });
    packed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::datatype::predefined;
    use crate::mpi::op::Operator;

    const INT: u32 = 0x209;

    #[test]
    fn contiguous_memory_is_combined_in_place() {
        let int = predefined(INT).unwrap();
        let sum = ReductionOperator::predefined(Operator::Sum, &int, None).unwrap();
        let numbers = |numbers: [i32; 3]| {
            Memory::owned(numbers.into_iter().flat_map(i32::to_ne_bytes).collect::<Vec<u8>>())
        };
        let into = numbers([10, 20, 30]);
        sum.combine(numbers([1, 2, 3]), into.alias());
        let mut result = [0; 12];
        into.pack(0, &mut result);
        assert_eq!(result[4..8], 22i32.to_ne_bytes());
        assert!(matches!(sum.reduction(), ReductionMethod::Kernel(_)));
    }

    #[test]
    fn an_interface_combines_integers_of_8_bytes() {
        let arithmetic = |operator, handle| {
            let datatype = predefined(handle).unwrap();
            match ReductionOperator::predefined(operator, &datatype, None).unwrap().reduction() {
                ReductionMethod::Numbers(_, arithmetic) => Some(arithmetic),
                _ => None,
            }
        };
        let (signed, unsigned, double) = (0x258, 0x259, 0x214);
        assert_eq!(arithmetic(Operator::Sum, signed), Some(Arithmetic::Sum));
        assert_eq!(arithmetic(Operator::Max, signed), Some(Arithmetic::Max));
        assert_eq!(arithmetic(Operator::Max, unsigned), Some(Arithmetic::MaxUnsigned));
        assert_eq!(arithmetic(Operator::Bxor, unsigned), Some(Arithmetic::Xor));
        assert_eq!(arithmetic(Operator::Prod, signed), None);
        assert_eq!(arithmetic(Operator::Sum, double), None);
        assert_eq!(arithmetic(Operator::Sum, INT), None);
    }

    #[test]
    fn undefined_combinations_are_refused() {
        let float = predefined(0x210).unwrap();
        assert!(ReductionOperator::predefined(Operator::Band, &float, None).is_err());
    }
}
