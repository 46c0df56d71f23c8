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

/// The loop of `operator` on a LOGICAL; `None` if the operation is not logical or `entry` is not a
/// Fortran type.
pub(crate) fn kernel(
    operator: Operator, entry: &Predefined, booleans: Booleans,
) -> Option<ReductionKernel> {
    if !entry.name.starts_with("MPI_LOGICAL") {
        return None;
    }
    let size = entry.unit.size();
    Some(match operator {
        Operator::Land => of_size(size, booleans, |one, other| one & other),
        Operator::Lor => of_size(size, booleans, |one, other| one | other),
        Operator::Lxor => of_size(size, booleans, |one, other| one ^ other),
        _ => return None,
    })
}

fn of_size(
    size: usize, booleans: Booleans, f: impl Fn(bool, bool) -> bool + Send + Sync + 'static,
) -> ReductionKernel {
    Arc::new(move |from, into| match size {
        1 => each::<1>(booleans, &f, from, into),
        2 => each::<2>(booleans, &f, from, into),
        4 => each::<4>(booleans, &f, from, into),
        8 => each::<8>(booleans, &f, from, into),
        _ => each::<16>(booleans, &f, from, into),
    })
}

/// Applies `f` to every LOGICAL of `N` bytes; `N` divides both lengths.
fn each<const N: usize>(
    booleans: Booleans, f: impl Fn(bool, bool) -> bool, from: Span, into: Span,
) {
    assert_eq!((from.len(), from.len() % N), (into.len(), 0));
    let [truth, falsity] = booleans.values::<N>();
    let (mut one, mut other) = ([0; WINDOW_BYTES], [0; WINDOW_BYTES]);
    let mut done = 0;
    while done < from.len() {
        let step = (from.len() - done).min(WINDOW_BYTES);
        let (one, other) = (&mut one[..step], &mut other[..step]);
        from.read(done, one);
        into.read(done, other);
        for (one, other) in one.chunks_exact(N).zip(other.chunks_exact_mut(N)) {
            let result = f(*one != falsity, *other != falsity);
            other.copy_from_slice(if result { &truth } else { &falsity });
        }
        into.write(done, other);
        done += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::OwnedBytes;

    fn reduced(operator: Operator, name: &str, truth: i8, count: usize) {
        let entry = Predefined::named(name).unwrap();
        let booleans = Booleans::new(&i32::from(truth).to_le_bytes(), &[0; 4]);
        let kernel = kernel(operator, entry, booleans).unwrap();
        let size = entry.unit.size();
        let logical =
            |is: bool| i128::from(if is { truth } else { 0 }).to_le_bytes()[..size].to_vec();
        let bytes = |bit: usize| {
            let list: Vec<u8> =
                (0..count).flat_map(|index| logical(index >> bit & 1 == 1)).collect();
            OwnedBytes::from(list.into_boxed_slice())
        };
        let (from, into) = (bytes(0), bytes(1));
        kernel(from.span(), into.span());
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
        let find = |name: &str| Predefined::named(name).unwrap();
        let booleans = Booleans::new(&[0xff], &[0]);
        assert!(kernel(Operator::Lor, find("MPI_C_BOOL"), booleans).is_none());
        assert!(kernel(Operator::Lor, find("MPI_INT"), booleans).is_none());
        assert!(kernel(Operator::Replace, find("MPI_LOGICAL"), booleans).is_none());
    }
}
