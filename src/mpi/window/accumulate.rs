//! Accumulation: how data of an origin change memory of a window (MPI 5.0 §12.3.4).

use super::request_message::UnitHandles;
use crate::engine::memory::{Memory, OwnedBytes};
use crate::mpi::datatype::{Predefined, ValueIndex};
use crate::mpi::fortran::Booleans;
use crate::mpi::op::{Combination, Operator};
use platform::base::{ErrorClass, Result, Span};

/// An operation on elements of one predefined datatype.
#[derive(Clone, Debug)]
pub(super) struct Accumulation {
    operator: Operator,
    combination: Combination,
}

impl Accumulation {
    /// # Errors
    /// `Op` if the standard does not define the operation for these elements.
    pub(super) fn new(
        operator: Operator, unit: &Predefined, booleans: Option<Booleans>,
    ) -> Result<Self> {
        Ok(Self { operator, combination: operator.accumulation(unit, booleans)? })
    }

    /// Whether data of the origin are used: not for `MPI_NO_OP`.
    pub(super) fn has_operand(&self) -> bool {
        self.operator != Operator::NoOp
    }

    /// Changes adjacent elements.
    #[inline]
    pub(super) fn apply_to_span(&self, operand: Span, elements: Span) {
        self.combination.apply(operand, elements);
    }

    /// Changes the elements in `memory` by those in `operand`, which is not read for `MPI_NO_OP`.
    #[inline]
    pub(super) fn apply(&self, operand: &Memory, memory: &mut Memory) {
        if !self.has_operand() {
            return;
        }
        if let (Some(operand), Some(span)) = (operand.span(), memory.span()) {
            return self.combination.apply(operand, span);
        }
        let len = memory.len();
        let (operand, result) = (packed(operand), packed(memory));
        self.combination.apply(operand.span(), result.span());
        Memory::Owned(result).copy(0, memory, 0, len);
    }
}

/// The longest number that may be compared and swapped, in bytes.
pub(super) const SWAPPED_MAX: usize = 16;

/// Replaces a number by `new` if it equals `compared` bit by bit; the old number, at the front.
pub(super) fn compare_and_swap(
    compared: &[u8], new: &[u8], memory: &mut Memory,
) -> [u8; SWAPPED_MAX] {
    let mut old = [0; SWAPPED_MAX];
    memory.pack(0, &mut old[..new.len()]);
    if old[..new.len()] == *compared {
        memory.unpack(0, new);
    }
    old
}

/// Checks the datatype of `MPI_Compare_and_swap`.
///
/// # Errors
/// `Type` unless its elements are integers, truth values or bytes.
pub(super) fn check_swapped(unit: &Predefined) -> Result {
    match unit.class.is_integer() {
        true => Ok(()),
        false => Err(ErrorClass::Type.error(format!(
            "MPI_Compare_and_swap is not defined for {}: expected an integer, a logical or a byte",
            unit.title()
        ))),
    }
}

/// A copy of the packed bytes.
pub(super) fn packed(memory: &Memory) -> OwnedBytes {
    OwnedBytes::from(memory.packed().into_boxed_slice())
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
