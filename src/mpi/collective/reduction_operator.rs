//! How a reduction combines its operands, and reductions without communication (MPI 5.0 §6.9).
//!
//! Kernels work on packed elements that lie adjacent. Memory that is so already is used where it
//! is; other memory is copied, and the result goes back once the reduction is over ([`StagedBuffer`]).
//! Only pairs with padding are combined where they are, if both operands are the application's.

use std::sync::Arc;

use crate::engine::memory::Memory;
use crate::engine::schedules::plan::{RunPlan, StagedBuffer};
use crate::engine::schedules::reduction::{ReductionKernel, ReductionMethod};
use crate::mpi::collective::algorithms::Operands;
use crate::mpi::datatype::Datatype;
use crate::mpi::fortran::Booleans;
use crate::mpi::op::{Combination, Operator, PaddedKernel};
use crate::offload::{Arithmetic, Schedule};
use platform::base::Result;

/// An operation on a datatype.
pub struct ReductionOperator {
    /// Packed bytes of an element.
    element: usize,
    commutative: bool,
    kernel: Combination,
    /// For elements where they lie, if that differs from packed ones.
    padded: Option<PaddedKernel>,
    /// Whether the kernel calls the application, so that nothing may be locked.
    application: bool,
    /// What an interface would call it.
    arithmetic: Option<Arithmetic>,
}

impl ReductionOperator {
    /// A predefined operation; `booleans` are Fortran's truth values, if they are known.
    ///
    /// # Errors
    /// `Op` if the standard does not have it for this datatype.
    pub fn predefined(
        operator: Operator, datatype: &Datatype, booleans: Option<Booleans>,
    ) -> Result<Self> {
        let kernel = operator.combination(datatype, booleans)?;
        let padded = PaddedKernel::find(operator, datatype);
        Ok(Self {
            element: datatype.size(),
            commutative: true,
            kernel,
            padded,
            application: false,
            arithmetic: operator.arithmetic(datatype),
        })
    }

    /// An operation of the application: `kernel` calls it on packed elements of `datatype`.
    pub fn application(commutative: bool, datatype: &Datatype, kernel: ReductionKernel) -> Self {
        let kernel = Combination::Shared(kernel);
        Self {
            element: datatype.size(),
            commutative,
            kernel,
            padded: None,
            application: true,
            arithmetic: None,
        }
    }

    /// What algorithms may know of operands of `bytes` bytes.
    pub(in crate::mpi) fn operands(&self, bytes: usize) -> Operands {
        Operands { bytes, element: self.element.max(1), commutative: self.commutative }
    }

    /// A reduction with this schedule; an operand and a result that are absent are not touched by
    /// it.
    pub(in crate::mpi) fn plan(
        self, schedule: impl Into<Arc<Schedule>>, operand: Option<Memory>,
        result: Option<ResultBuffer>,
    ) -> RunPlan {
        let mut staged = Vec::new();
        let given = |memory: Option<Memory>| memory.unwrap_or(Memory::EMPTY);
        let operand =
            given(operand.map(|memory| contiguous(memory, 0, BufferUse::Read, &mut staged)));
        let result =
            result.map(|ResultBuffer(memory, usage)| contiguous(memory, 1, usage, &mut staged));
        let buffers = vec![operand, given(result)];
        RunPlan { schedule: schedule.into(), buffers, staged, reduction: self.reduction() }
    }

    /// For the engine.
    fn reduction(self) -> ReductionMethod {
        let kernel = self.kernel.shared();
        match self.arithmetic {
            _ if self.application => ReductionMethod::Application(kernel),
            Some(arithmetic) => ReductionMethod::Numbers(kernel, arithmetic),
            None => ReductionMethod::Kernel(kernel),
        }
    }

    /// For ranks that share memory, with the length of an element; `None` if the application would
    /// be called.
    pub(in crate::mpi) fn library_kernel(&self) -> Option<(Combination, usize)> {
        (!self.application).then(|| (self.kernel.clone(), self.element.max(1)))
    }

    /// Computes `into = from op into` (`MPI_Reduce_local`). It may call the application, so
    /// nothing may be locked.
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

/// What a reduction does with the memory of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpi) enum BufferUse {
    /// It holds an operand.
    Read,
    /// It gets the result.
    Written,
    /// It holds an operand and gets the result.
    Both,
}

/// The receive buffer of a reduction, and what it is for.
pub(in crate::mpi) struct ResultBuffer(pub(crate) Memory, pub BufferUse);

impl ResultBuffer {
    /// A receive buffer for a result, which has the operand if that is in place.
    pub(crate) fn result(memory: Memory, in_place: bool) -> Self {
        Self(memory, if in_place { BufferUse::Both } else { BufferUse::Written })
    }
}

/// Adjacent bytes for entry `buffer` of the table of a reduction: `memory`, or as many others that
/// it is packed into or unpacked from.
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
    fn adjacent_memory_is_combined_where_it_is() {
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
    fn an_interface_has_the_arithmetic_of_long_integers() {
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
    fn what_the_standard_does_not_combine_is_refused() {
        let float = predefined(0x210).unwrap();
        assert!(ReductionOperator::predefined(Operator::Band, &float, None).is_err());
    }
}
