//! Accumulation: how data of an origin change memory of a window (MPI 5.0 §12.3.4).

use super::request_message::UnitHandles;
use crate::engine::memory::{Memory, OwnedBytes};
use crate::mpi::datatype::{DatatypeClass, Predefined, ValueIndex};
use crate::mpi::op::{OpKernel, Operator};
use platform::base::{ErrorClass, Result, Span};

/// An operation on elements of one predefined datatype.
#[derive(Clone, Debug)]
pub(super) struct Accumulation {
    operator: Operator,
    kernel: OpKernel,
}

impl Accumulation {
    /// # Errors
    /// `Op` if the standard does not define the operation for these elements.
    pub(super) fn new(operator: Operator, unit: &Predefined) -> Result<Self> {
        let kernel = operator.kernel(unit).ok_or_else(|| {
            let why = format!("{} is not defined for {}", operator.name(), name(unit));
            ErrorClass::Op.error(why)
        })?;
        Ok(Self { operator, kernel })
    }

    /// Whether data of the origin are used: not for `MPI_NO_OP`.
    pub(super) fn has_operand(&self) -> bool {
        self.operator != Operator::NoOp
    }

    /// Changes the elements in `memory` by those in `operand`, which is not read for `MPI_NO_OP`.
    pub(super) fn apply(&self, operand: Span, memory: &mut Memory) {
        if !self.has_operand() {
            return;
        }
        if let Some(span) = memory.span() {
            return self.kernel.reduce(operand, span);
        }
        let packed = packed(memory);
        self.kernel.reduce(operand, packed.span());
        Memory::Owned(packed).copy(0, memory, 0, operand.len());
    }
}

/// Replaces a number by the second half of `operand` if it equals the first half bit by bit.
pub(super) fn compare_and_swap(operand: &[u8], memory: &mut Memory) {
    let (compared, new) = operand.split_at(operand.len() / 2);
    let mut old = vec![0; compared.len()];
    memory.pack(0, &mut old);
    if old == compared {
        memory.unpack(0, new);
    }
}

/// Checks the datatype of `MPI_Compare_and_swap`.
///
/// # Errors
/// `Type` unless its elements are integers, truth values or bytes.
pub(super) fn check_swapped(unit: &Predefined) -> Result {
    use DatatypeClass::{Byte, CInteger, FortranInteger, Logical, MultiLanguage};
    match unit.class {
        CInteger | FortranInteger | Logical | MultiLanguage | Byte => Ok(()),
        _ => Err(ErrorClass::Type.error(format!(
            "MPI_Compare_and_swap is not defined for {}: expected an integer, a logical or a byte",
            name(unit)
        ))),
    }
}

/// A copy of the packed bytes.
pub(super) fn packed(memory: &Memory) -> OwnedBytes {
    let mut bytes = vec![0; memory.len()];
    memory.pack(0, &mut bytes);
    OwnedBytes::from(bytes.into_boxed_slice())
}

fn name(unit: &Predefined) -> &'static str {
    if unit.name.is_empty() { "an unnamed pair" } else { unit.name }
}

impl UnitHandles {
    pub(super) fn of(unit: &Predefined) -> Self {
        Self(match (unit.handle, unit.pair) {
            (0, Some(pair)) => pair,
            (handle, _) => [handle, 0],
        })
    }

    pub(super) fn unit(self) -> Option<Predefined> {
        match self.0 {
            [handle, 0] => Predefined::find(handle).copied(),
            [value, index] => ValueIndex::new(value, index).map(ValueIndex::entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_names_in_messages() {
        let unnamed = ValueIndex::new(0x209, 0x209).map(ValueIndex::entry);
        for unit in Predefined::all().iter().chain(&unnamed) {
            let found = UnitHandles::of(unit).unit().unwrap();
            assert_eq!((found.handle, found.unit), (unit.handle, unit.unit), "{}", unit.name);
        }
        assert!(UnitHandles([0, 0]).unit().is_none() && UnitHandles([1, 2]).unit().is_none());
    }
}
