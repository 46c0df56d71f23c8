//! Signatures in messages: which numbers a datatype has in packed order, for a target that converts them and
//! does not have the datatype.
//!
//! ```text
//!   number of parts, then each part, before the parts that have it:
//!     0, two handles: a predefined datatype (`UnitHandles`)
//!     number of members, each: repetitions, number of its part
//!   repetitions of the last part in an element
//! ```
//!
//! Where the numbers lie is not in the signature: a parsed datatype has their order, and no gaps. Whatever the
//! bytes are, parsing ends with a datatype or without one, and allocates in proportion to their number.

use std::collections::HashMap;

use super::byte_reader::ByteReader;
use super::request_message::UnitHandles;
use crate::mpi::datatype::{ConstructorForm, Datatype};

/// The most parts of a signature, and the most members of one part.
const PARTS_MAX: u64 = 1 << 20;
/// The bytes of a member in a message.
const MEMBER_BYTES: usize = 2 * 8;

/// Appends the signature of an element of `datatype`, which has data.
pub(super) fn emit(datatype: &Datatype, out: &mut Vec<u8>) {
    let (last, repetitions) = datatype.repeated_part();
    let mut parts = SignatureParts::default();
    parts.add(last);
    push(out, parts.ordered.len() as u64);
    for part in &parts.ordered {
        match part.unit() {
            Some(unit) => {
                push(out, 0);
                UnitHandles::of(unit).emit(out);
            }
            None => {
                let members: Vec<_> = members(part).collect();
                push(out, members.len() as u64);
                for (member, repetitions) in members {
                    push(out, repetitions as u64);
                    push(out, parts.numbers[&member.address()]);
                }
            }
        }
    }
    push(out, repetitions as u64);
}

/// The members of a structure that have data, each as its part with the number of repetitions.
fn members(part: &Datatype) -> impl DoubleEndedIterator<Item = (&Datatype, usize)> {
    part.members().filter(|(member, count)| member.size() * count > 0).map(|(member, count)| {
        let (part, repetitions) = member.repeated_part();
        (part, repetitions * count)
    })
}

/// A datatype with the signature of a message; `None` if it makes no sense.
pub(super) fn parse(from: &mut ByteReader<'_>) -> Option<Datatype> {
    let count = from.number().filter(|count| (1..=PARTS_MAX).contains(count))?;
    let mut parts: Vec<Datatype> = Vec::new();
    for _ in 0..count {
        let part = parse_part(from, &parts)?;
        parts.push(part);
    }
    let repetitions = usize::try_from(from.number()?).ok()?;
    Datatype::contiguous(ConstructorForm::Large, repetitions as i64, &parts.pop()?).ok()
}

fn parse_part(from: &mut ByteReader<'_>, parts: &[Datatype]) -> Option<Datatype> {
    let count = from.number()? as usize;
    if count == 0 {
        return Some(Datatype::predefined(&UnitHandles::parse(from)?.unit()?));
    }
    if count > from.left() / MEMBER_BYTES {
        return None;
    }
    let (mut lengths, mut places, mut types) = (Vec::new(), Vec::new(), Vec::new());
    let mut end = 0_i64;
    for _ in 0..count {
        let (length, part) = (i64::try_from(from.number()?).ok()?, from.number()? as usize);
        let part = parts.get(part.checked_sub(1)?)?;
        lengths.push(length);
        places.push(end);
        end = length.checked_mul(i64::try_from(part.extent()).ok()?)?.checked_add(end)?;
        types.push(part.clone());
    }
    Datatype::structure(ConstructorForm::Large, &lengths, &places, &types).ok()
}

fn push(out: &mut Vec<u8>, word: u64) {
    out.extend_from_slice(&word.to_le_bytes());
}

/// The parts of a signature, each once.
#[derive(Default)]
struct SignatureParts<'a> {
    ordered: Vec<&'a Datatype>,
    /// The position after each, by its address.
    numbers: HashMap<usize, u64>,
}

impl<'a> SignatureParts<'a> {
    /// Adds a part after its members. The nesting depth of datatypes is limited only by memory, so the
    /// members that are due are in a list, not on the stack.
    fn add(&mut self, last: &'a Datatype) {
        let mut due = vec![(last, false)];
        while let Some((part, has_members)) = due.pop() {
            if self.numbers.contains_key(&part.address()) {
                continue;
            }
            if has_members || part.unit().is_some() {
                self.ordered.push(part);
                self.numbers.insert(part.address(), self.ordered.len() as u64);
                continue;
            }
            due.push((part, true));
            due.extend(members(part).rev().map(|(member, _)| (member, false)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::Memory;
    use crate::mpi::datatype::{Predefined, ValueIndex, external_memory};

    const FORM: ConstructorForm = ConstructorForm::Int;

    fn over_the_wire(datatype: &Datatype) -> (Datatype, usize) {
        let mut bytes = Vec::new();
        emit(datatype, &mut bytes);
        let mut reader = ByteReader::new(&bytes);
        let parsed = parse(&mut reader).unwrap();
        assert_eq!(reader.left(), 0);
        (parsed, bytes.len())
    }

    fn nested(levels: usize) -> Datatype {
        let [int, long, char] = ["MPI_INT", "MPI_LONG", "MPI_CHAR"].map(|name| {
            let entry = Predefined::named(name);
            Datatype::predefined(entry.unwrap())
        });
        let empty = Datatype::contiguous(FORM, 0, &int).unwrap();
        let pairs = Datatype::predefined(&ValueIndex::new(0x20a, 0x20a).unwrap().entry());
        let mut record = Datatype::structure(
            FORM,
            &[1, 2, 0, 5],
            &[0, 8, 40, 48],
            &[char, Datatype::vector(FORM, 3, 1, 2, &long).unwrap(), pairs.clone(), empty],
        )
        .unwrap();
        for _ in 0..levels {
            let far = record.extent() as i64 * 2;
            let twice = Datatype::hvector(FORM, 2, 1, far, &record).unwrap();
            record =
                Datatype::structure(FORM, &[1, 1], &[0, 4 * far], &[twice, pairs.clone()]).unwrap();
        }
        record
    }

    #[test]
    fn signatures_read_back() {
        let named = Predefined::all().iter().map(Datatype::predefined);
        for datatype in named.chain([0, 1, 4].map(nested)) {
            let (parsed, _) = over_the_wire(&datatype);
            assert_eq!(parsed.size(), datatype.size(), "{datatype:?}");
            assert_eq!(parsed.external_size(), datatype.external_size());
            let bytes: Vec<_> = (0..datatype.size() * 3).map(|at| (at * 7) as u8).collect();
            let packed = |datatype: &Datatype| {
                external_memory(datatype, 3, Memory::owned(&bytes[..])).packed()
            };
            assert_eq!(packed(&parsed), packed(&datatype));
        }
    }

    /// 2^40 numbers are few parts.
    #[test]
    fn repetitions_take_no_room() {
        let mut datatype = nested(0);
        for _ in 0..20 {
            let all = [datatype.clone(), datatype.clone()];
            let end = datatype.extent() as i64;
            datatype = Datatype::structure(FORM, &[1, 1], &[0, end], &all).unwrap();
        }
        let (parsed, bytes) = over_the_wire(&datatype);
        assert!(bytes < 2000 && parsed.size() == datatype.size(), "{bytes}");
    }

    #[test]
    fn long_chains_need_no_stack() {
        let mut datatype = nested(0);
        for _ in 0..100_000 {
            datatype = Datatype::structure(FORM, &[1], &[0], &[datatype]).unwrap();
        }
        let mut bytes = Vec::new();
        emit(&datatype, &mut bytes);
        assert_eq!(parse(&mut ByteReader::new(&bytes)).unwrap().size(), datatype.size());
    }

    #[test]
    fn damaged_signatures_are_none_or_datatypes() {
        let mut bytes = Vec::new();
        emit(&nested(2), &mut bytes);
        for cut in 0..bytes.len() {
            assert!(parse(&mut ByteReader::new(&bytes[..cut])).is_none(), "{cut} bytes");
        }
        for position in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[position] = value;
                // Neither a panic nor a large allocation.
                drop(parse(&mut ByteReader::new(&damaged)));
            }
        }
    }
}
