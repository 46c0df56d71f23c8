//! Every operation on every type it is defined for, against arithmetic on plain integers.

use super::float::{F16, F80, F128};
use super::kernels::Width;
use super::*;
use crate::engine::memory::OwnedBytes;
use crate::mpi::datatype::{ConstructorForm, Unit, Unnamed, ValueIndex, predefined};
use platform::base::Random;

/// Applies the kernel to arrays that start at odd addresses.
fn reduced(kernel: OpKernel, from: &[u8], into: &[u8]) -> Vec<u8> {
    let (mut source, mut target) =
        (OwnedBytes::zeroed(from.len() + 3), OwnedBytes::zeroed(into.len() + 2));
    source.as_mut_slice()[1..][..from.len()].copy_from_slice(from);
    target.as_mut_slice()[1..][..into.len()].copy_from_slice(into);
    kernel.reduce(source.span().part(1, from.len()), target.span().part(1, into.len()));
    assert_eq!((target.as_slice()[0], target.as_slice()[into.len() + 1]), (0, 0));
    target.as_slice()[1..][..into.len()].to_vec()
}

fn kernel(operator: Operator, handle: u32) -> OpKernel {
    operator.kernel(Predefined::find(handle).unwrap()).unwrap()
}

/// Encoded element of these integers: one for a number, two for a complex number or a value and its
/// index.
fn encoded(unit: Unit, numbers: [i64; 2]) -> Vec<u8> {
    use Unit::*;
    let [number, second] = numbers;
    let both = |one, two| [encoded(one, numbers), encoded(two, [second, 0])].concat();
    match unit {
        F16 => super::float::F16::nearest(number as f32).0.to_le_bytes().to_vec(),
        F32 => (number as f32).to_le_bytes().to_vec(),
        F64 => (number as f64).to_le_bytes().to_vec(),
        F80 => super::float::F80::of(number as f64).0.to_vec(),
        F128 => super::float::F128::of(number as f64).0.to_le_bytes().to_vec(),
        ComplexF16 => both(F16, F16),
        ComplexF32 => both(F32, F32),
        ComplexF64 => both(F64, F64),
        ComplexF80 => both(F80, F80),
        ComplexF128 => both(F128, F128),
        _ => match unit.members() {
            Some([value, index]) => both(value, index),
            None => i128::from(number).to_le_bytes()[..unit.size()].to_vec(),
        },
    }
}

/// Result by the standard of two elements, given as integers.
fn expected(operator: Operator, class: DatatypeClass, from: [i64; 2], into: [i64; 2]) -> [i64; 2] {
    let ([a, b], [c, d]) = (from, into);
    let truth = |value: bool| [i64::from(value), 0];
    match operator {
        Operator::Sum => [a + c, b + d],
        Operator::Prod if class == DatatypeClass::Complex => [a * c - b * d, a * d + b * c],
        Operator::Prod => [a * c, 0],
        Operator::Min => [a.min(c), 0],
        Operator::Max => [a.max(c), 0],
        Operator::Band => [a & c, 0],
        Operator::Bor => [a | c, 0],
        Operator::Bxor => [a ^ c, 0],
        Operator::Land => truth(a != 0 && c != 0),
        Operator::Lor => truth(a != 0 || c != 0),
        Operator::Lxor => truth((a != 0) != (c != 0)),
        Operator::Minloc if a == c => [a, b.min(d)],
        Operator::Maxloc if a == c => [a, b.min(d)],
        Operator::Minloc => [from, into][usize::from(c < a)],
        Operator::Maxloc => [from, into][usize::from(c > a)],
        Operator::Replace => from,
        Operator::NoOp => into,
    }
}

/// A small number that is exact in the type, as is the result of any operation; 0 only for
/// integers, because products of 0 have a sign in other types.
fn small(random: &mut Random, class: DatatypeClass, unit: Unit) -> i64 {
    let number = random.below(9) as i64;
    match class {
        DatatypeClass::Float | DatatypeClass::Complex if number % 2 == 0 => -1 - number,
        DatatypeClass::Float | DatatypeClass::Complex => number + 1,
        DatatypeClass::Logical => number % 3,
        _ if matches!(unit, Unit::U8 | Unit::U16 | Unit::U32 | Unit::U64) => number,
        _ => number - 4,
    }
}

/// Every form of the loop for this processor.
fn kernels(operator: Operator, entry: &Predefined) -> Vec<OpKernel> {
    let widths = [Width::Bits128, Width::Bits256, Width::Bits512];
    let usable = widths.into_iter().filter(|width| *width <= Width::detect());
    usable.map(|width| OpKernel::of_width(operator, entry.unit, width).unwrap()).collect()
}

#[test]
fn every_operation_on_every_type_is_what_the_standard_says() {
    let mut random = Random::new(1);
    let mut pairs = 0;
    for entry in Predefined::all() {
        for operator in Operator::ALL.iter().copied().filter(|o| o.takes(entry.class)) {
            let kernels = kernels(operator, entry);
            pairs += 1;
            for elements in [0, 1, 2, 7, 33, 601] {
                let (mut from, mut into, mut results) = (vec![], vec![], vec![]);
                for _ in 0..elements {
                    let mut number = || small(&mut random, entry.class, entry.unit);
                    let (one, two) = ([number(), number()], [number(), number()]);
                    from.extend(encoded(entry.unit, one));
                    into.extend(encoded(entry.unit, two));
                    let result = expected(operator, entry.class, one, two);
                    results.extend(encoded(entry.unit, result));
                }
                for kernel in &kernels {
                    let same = reduced(*kernel, &from, &into) == results;
                    assert!(same, "{operator:?} {entry:?} {kernel:?} on {elements} elements");
                }
            }
        }
    }
    assert_eq!(pairs, 488, "pairs of operation and type");
}

#[test]
fn locations_are_found_in_pairs_of_any_numbers() {
    let mut random = Random::new(3);
    let mut pairs = 0;
    let numbers = || Predefined::all().iter().map(|entry| entry.handle);
    for asked in numbers().flat_map(|value| numbers().map(move |index| [value, index])) {
        let Some(asked) = ValueIndex::new(asked[0], asked[1]) else { continue };
        pairs += 1;
        let datatype = Datatype::unnamed(Unnamed::Pair(asked)).unwrap();
        let unit = datatype.unit().unwrap().unit;
        for operator in [Operator::Minloc, Operator::Maxloc] {
            let (mut from, mut into, mut results) = (vec![], vec![], vec![]);
            for _ in 0..20 {
                let mut number = || random.below(4) as i64;
                let (one, two) = ([number(), number()], [number(), number()]);
                from.extend(encoded(unit, one));
                into.extend(encoded(unit, two));
                results.extend(encoded(unit, expected(operator, DatatypeClass::Pair, one, two)));
            }
            let kernel = operator.reduction(&datatype).unwrap();
            assert!(reduced(kernel, &from, &into) == results, "{operator:?} {asked:?}");
        }
        assert!(Operator::Sum.reduction(&datatype).is_err());
        assert!(Operator::Replace.accumulation(datatype.unit().unwrap(), None).is_ok());
    }
    assert_eq!(pairs, 36 * 26 - 7, "pairs without a name");
}

/// The table of §6.9.2 by name; `MPI_REPLACE` and `MPI_NO_OP` are for one-sided communication
/// (§12.3.4), with every type.
#[test]
fn exactly_the_pairs_of_the_standard_are_reductions() {
    let table = include_str!("../../../tests/data/reductions.tsv");
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let (name, allowed) = line.split_once('\t').unwrap();
        let allowed: Vec<_> = allowed.split(' ').filter(|name| !name.is_empty()).collect();
        let entry = Predefined::named(name);
        let entry = entry.unwrap_or_else(|| panic!("{name} is no predefined datatype"));
        let datatype = Datatype::predefined(entry);
        for operator in Operator::ALL {
            let short = operator.name().trim_start_matches("MPI_");
            match operator.reduction(&datatype) {
                Ok(_) => assert!(allowed.contains(&short), "{short} on {name}"),
                Err(error) => {
                    assert!(!allowed.contains(&short), "{short} on {name}: {error}");
                    assert_eq!(error.code.0, ErrorClass::Op as i32);
                    assert_eq!(error.why, format!("MPI_{short} is not defined for {name}"));
                }
            }
        }
        rows += 1;
    }
    assert_eq!(rows, Predefined::all().len());
}

#[test]
fn integers_wrap_around_and_compare_by_their_sign() {
    let mut random = Random::new(2);
    for entry in Predefined::all().iter().filter(|entry| entry.class == DatatypeClass::CInteger) {
        let size = entry.unit.size();
        let signed = format!("{:?}", entry.unit).starts_with('I');
        let value = |bytes: &[u8]| {
            let mut wide = [if signed && bytes[size - 1] > 127 { 0xff } else { 0 }; 16];
            wide[..size].copy_from_slice(bytes);
            i128::from_le_bytes(wide)
        };
        for _ in 0..200 {
            let element = |random: &mut Random| random.bits().to_le_bytes()[..size].to_vec();
            let (a, b) = (element(&mut random), element(&mut random));
            let check = |operator: Operator, result: i128| {
                let kernel = operator.kernel(entry).unwrap();
                assert_eq!(reduced(kernel, &a, &b), result.to_le_bytes()[..size], "{entry:?}");
            };
            let (x, y) = (value(&a), value(&b));
            check(Operator::Sum, x + y);
            check(Operator::Prod, x.wrapping_mul(y));
            check(Operator::Min, x.min(y));
            check(Operator::Max, x.max(y));
            check(Operator::Bxor, x ^ y);
        }
    }
}

/// Sums and products from a C compiler: `a`, `b`, `a + b`, `a * b` as hexadecimal bits.
#[test]
fn floating_point_is_rounded_like_the_compiler_does() {
    let table = include_str!("../../../tests/data/float_arithmetic.tsv");
    let mut lines = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<_> = line.split('\t').collect();
        let (handle, size) = match fields[0] {
            "binary16" => (0x2ca, 2),
            "x87" => (0x220, 16),
            "binary128" => (0x2e2, 16),
            other => panic!("unknown format {other}"),
        };
        let bytes = |index: usize| {
            let bits = u128::from_str_radix(fields[index], 16).unwrap();
            bits.to_le_bytes()[..size].to_vec()
        };
        let (a, b) = (bytes(1), bytes(2));
        assert_eq!(reduced(kernel(Operator::Sum, handle), &a, &b), bytes(3), "{line}");
        assert_eq!(reduced(kernel(Operator::Prod, handle), &a, &b), bytes(4), "{line}");
        lines += 1;
    }
    assert_eq!(lines, 360);
}

#[test]
fn a_comparison_with_nan_is_false() {
    let kernel = kernel(Operator::Min, 0x214);
    let bytes = |value: f64| value.to_le_bytes();
    assert_eq!(reduced(kernel, &bytes(f64::NAN), &bytes(1.0)), bytes(1.0));
    let kept = reduced(kernel, &bytes(1.0), &bytes(f64::NAN));
    assert!(f64::from_le_bytes(kept.try_into().unwrap()).is_nan());
    let nan = F80([0xff; 16]);
    assert_eq!(nan.partial_cmp(&F80::of(1.0)), None);
    assert!(F16(0x7e00) != F16(0x7e00) && F128(!0) != F128(!0));
}

#[test]
fn what_the_standard_does_not_define_is_refused_by_name() {
    let double = predefined(0x214).unwrap();
    let wrong = Operator::Band.reduction(&double).unwrap_err();
    assert_eq!(wrong.code.0, ErrorClass::Op as i32);
    assert_eq!(wrong.why, "MPI_BAND is not defined for MPI_DOUBLE");
    let two = Datatype::contiguous(ConstructorForm::Int, 2, &double).unwrap();
    assert!(Operator::Sum.reduction(&two).is_err());
    assert!(Operator::Sum.accumulation(two.unit().unwrap(), None).is_ok());
    assert!(Operator::Replace.reduction(&double).is_err());
    assert!(Operator::Replace.accumulation(two.unit().unwrap(), None).is_ok());
    for (operator, handle) in [
        (Operator::Max, 0x212),
        (Operator::Sum, 0x243),
        (Operator::Sum, 0x247),
        (Operator::Land, 0x219),
        (Operator::Band, 0x238),
        (Operator::Minloc, 0x209),
        (Operator::Sum, 0x22b),
    ] {
        assert!(operator.kernel(Predefined::find(handle).unwrap()).is_none(), "{handle:x}");
    }
}

#[test]
fn handles_are_those_of_the_abi() {
    let constants = include_str!("../../../tests/data/abi_constants.tsv");
    let mut seen = 0;
    for line in constants.lines().filter(|line| line.contains("\thandle:Op\t")) {
        let fields: Vec<_> = line.split('\t').collect();
        let handle = u32::from_str_radix(fields[2].trim_start_matches("0x"), 16).unwrap();
        match Op::predefined(handle) {
            Some(Op::Predefined(operator)) => assert_eq!(operator.name(), fields[0]),
            _ => assert_eq!(fields[0], "MPI_OP_NULL"),
        }
        seen += 1;
    }
    assert_eq!(seen, Operator::ALL.len() + 1);
}
