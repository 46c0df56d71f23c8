//! Logical operations on Fortran's LOGICALs if `.TRUE.` and `.FALSE.` are not 1 and 0.
//!
//! Any value except `.FALSE.` counts as true: the standard does not define other values, and
//! compilers differ.

use std::sync::Arc;

use super::Operator;
use crate::engine::schedules::reduction::ReductionKernel;
use crate::mpi::datatype::Predefined;
use crate::mpi::fortran::Booleans;
use platform::base::Span;

/// Bytes of each operand in one step.
const WINDOW_BYTES: usize = 1024;

/// The loop of a logical operation on LOGICALs of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogicalKernel {
    connective: fn(bool, bool) -> bool,
    booleans: Booleans,
    element_bytes: usize,
}

impl LogicalKernel {
    /// The loop of `operator` on a LOGICAL; `None` if the operation is not logical or `entry` is not a
    /// Fortran type.
    pub(crate) fn find(operator: Operator, entry: &Predefined, booleans: Booleans) -> Option<Self> {
        if !entry.name.starts_with("MPI_LOGICAL") {
            return None;
        }
        let connective: fn(bool, bool) -> bool = match operator {
            Operator::Land => |one, other| one & other,
            Operator::Lor => |one, other| one | other,
            Operator::Lxor => |one, other| one ^ other,
            _ => return None,
        };
        Some(Self { connective, booleans, element_bytes: entry.unit.size() })
    }

    /// Size of an element in bytes: 1, 2, 4, 8 or 16.
    pub(crate) fn element_bytes(self) -> usize {
        self.element_bytes
    }

    /// `one op other` for LOGICALs of `N` bytes.
    #[inline]
    pub(crate) fn combine<const N: usize>(self, one: [u8; N], other: [u8; N]) -> [u8; N] {
        let [truth, falsity] = self.booleans.values::<N>();
        if (self.connective)(one != falsity, other != falsity) { truth } else { falsity }
    }

    /// Computes `into = from op into`, element by element.
    ///
    /// # Panics
    /// If the lengths differ or are not a whole number of elements.
    pub(crate) fn reduce(self, from: Span, into: Span) {
        match self.element_bytes {
            1 => self.each::<1>(from, into),
            2 => self.each::<2>(from, into),
            4 => self.each::<4>(from, into),
            8 => self.each::<8>(from, into),
            _ => self.each::<16>(from, into),
        }
    }

    /// The same kernel as a function for the engine.
    pub(crate) fn shared(self) -> ReductionKernel {
        Arc::new(move |from, into| self.reduce(from, into))
    }

    fn each<const N: usize>(self, from: Span, into: Span) {
        assert_eq!((from.len(), from.len() % N), (into.len(), 0));
        let (mut one, mut other) = ([0; WINDOW_BYTES], [0; WINDOW_BYTES]);
        let mut done = 0;
        while done < from.len() {
            let step = (from.len() - done).min(WINDOW_BYTES);
            let (one, other) = (&mut one[..step], &mut other[..step]);
            from.read(done, one);
            into.read(done, other);
            let pairs = one.as_chunks::<N>().0.iter().zip(other.as_chunks_mut::<N>().0);
            for (one, other) in pairs {
                *other = self.combine(*one, *other);
            }
            into.write(done, other);
            done += step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::OwnedBytes;

    fn reduced(operator: Operator, name: &str, truth: i8, count: usize) {
        let entry = Predefined::all().iter().find(|entry| entry.name == name).unwrap();
        let booleans = Booleans::new(&i32::from(truth).to_le_bytes(), &[0; 4]);
        let kernel = LogicalKernel::find(operator, entry, booleans).unwrap();
        let size = entry.unit.size();
        let logical =
            |is: bool| i128::from(if is { truth } else { 0 }).to_le_bytes()[..size].to_vec();
        let bytes = |bit: usize| {
            let list: Vec<u8> =
                (0..count).flat_map(|index| logical(index >> bit & 1 == 1)).collect();
            OwnedBytes::from(list.into_boxed_slice())
        };
        let (from, into) = (bytes(0), bytes(1));
        kernel.reduce(from.span(), into.span());
        for (index, result) in into.as_slice().chunks_exact(size).enumerate() {
            let (one, other) = (index & 1 == 1, index >> 1 & 1 == 1);
            let expected = match operator {
                Operator::Land => one && other,
                Operator::Lor => one || other,
                _ => one != other,
            };
            assert_eq!(result, logical(expected), "{operator:?} {name} {index}");
        }
    }

    #[test]
    fn results_are_the_values_of_fortran() {
        for operator in [Operator::Land, Operator::Lor, Operator::Lxor] {
            for name in ["MPI_LOGICAL", "MPI_LOGICAL1", "MPI_LOGICAL2", "MPI_LOGICAL4"] {
                reduced(operator, name, -1, 2000);
            }
            reduced(operator, "MPI_LOGICAL8", -1, 5);
            reduced(operator, "MPI_LOGICAL16", -1, 200);
        }
    }

    #[test]
    fn other_types_and_operations_have_no_truth_values() {
        let find = |name: &str| Predefined::all().iter().find(|entry| entry.name == name).unwrap();
        let booleans = Booleans::new(&[0xff], &[0]);
        assert!(LogicalKernel::find(Operator::Lor, find("MPI_C_BOOL"), booleans).is_none());
        assert!(LogicalKernel::find(Operator::Lor, find("MPI_INT"), booleans).is_none());
        assert!(LogicalKernel::find(Operator::Replace, find("MPI_LOGICAL"), booleans).is_none());
    }
}
