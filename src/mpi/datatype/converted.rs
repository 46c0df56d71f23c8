//! Memory of the application as the bytes of "external32" that messages between unlike machines have
//! (MPI 5.0 §14.5.2).
//!
//! ```text
//!   memory      │ short │ gap │ long  (8 bytes) │ ...         where the datatype has its bytes
//!   packed      │ short │ long  (8 bytes) │ ...               native
//!   message     │ trohs │ gnol │ ...                          external: big-endian, long has 4 bytes
//! ```
//!
//! A message is divided at any byte, and its parts may arrive in any order: a number whose bytes have
//! arrived in part is kept here until the last of them does. A rank that forwards a part of a message sends
//! those bytes as they have arrived.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Datatype;
use super::external::{BATCH, ExternalFormat, for_each_run};
use super::signature::Signature;
use crate::engine::memory::{ConvertedMemory, Memory};
use platform::base::Span;

/// Bytes of the longest number, in memory and in "external32".
const NUMBER_BYTES: usize = 16;

/// The external32 view of `items`, the memory of `count` elements of `datatype`. Characters and bytes, which
/// external32 does not change, are `items` itself.
pub(crate) fn external_memory(datatype: &Datatype, count: usize, items: Memory) -> Memory {
    let is_equal = datatype.unit().is_some_and(|entry| entry.unit.size() == 1);
    if is_equal || items.is_empty() {
        return items;
    }
    debug_assert_eq!(items.len(), datatype.size() * count);
    let (datatype, incomplete) = (datatype.clone(), Mutex::default());
    Memory::Converted(Arc::new(ExternalMemory { datatype, count, items, incomplete }))
}

/// Elements of a datatype as "external32".
#[derive(Debug)]
struct ExternalMemory {
    datatype: Datatype,
    count: usize,
    items: Memory,
    /// The numbers that have arrived in part.
    incomplete: Mutex<Vec<IncompleteNumber>>,
}

/// A number that has arrived in part.
#[derive(Debug)]
struct IncompleteNumber {
    /// Its first external byte in the message.
    start: usize,
    bytes: [u8; NUMBER_BYTES],
    /// A bit for each byte that has arrived.
    arrived: u16,
}

/// Where numbers are: the first of them, in external and in native bytes.
#[derive(Clone, Copy, Debug)]
struct NumberPlace {
    external: usize,
    native: usize,
}

impl ConvertedMemory for ExternalMemory {
    fn len(&self) -> usize {
        self.datatype.external_size() * self.count
    }

    fn first_piece(&self) -> Span {
        self.items.first_piece()
    }

    fn pack(&self, from: usize, out: &mut [u8]) {
        self.for_each_part(from, out.len(), |format, count, place, skip, range| {
            let out = &mut out[range];
            let mut native = [0; BATCH * NUMBER_BYTES];
            let native = &mut native[..format.native() * count];
            self.items.pack(place.native, native);
            if out.len() == format.external() * count {
                return encode(format, native, out);
            }
            let mut number = [0; NUMBER_BYTES];
            format.encode(native, &mut number[..format.external()]);
            out.copy_from_slice(&number[skip..][..out.len()]);
        });
        for number in &*self.incomplete() {
            number.put(from, out);
        }
    }

    fn unpack(&self, from: usize, data: &[u8]) {
        let mut items = self.items.alias();
        self.for_each_part(from, data.len(), |format, count, place, skip, range| {
            let data = &data[range];
            let mut native = [0; BATCH * NUMBER_BYTES];
            let native = &mut native[..format.native() * count];
            if data.len() == format.external() * count {
                self.forget(place.external..place.external + data.len());
                decode(format, data, native);
            } else {
                let Some(number) = self.add_part(place.external, skip, data, format) else {
                    return;
                };
                format.decode(&number[..format.external()], native);
            }
            items.unpack(place.native, native);
        });
    }
}

impl ExternalMemory {
    /// Calls `each` for the numbers of the `len` external bytes from `from` on: for a run of whole numbers of
    /// one format, or for a single partial number at either end. Its arguments are the format, the count, the
    /// place of the first number, the offset of the range within that number, and the range of the `len`
    /// bytes.
    fn for_each_part(
        &self, from: usize, len: usize,
        mut each: impl FnMut(ExternalFormat, usize, NumberPlace, usize, Range<usize>),
    ) {
        assert!(from <= self.len() && len <= self.len() - from);
        if len == 0 {
            return;
        }
        let (signature, native, mut skip) = Signature::after(&self.datatype, self.count, from);
        let mut place = NumberPlace { external: from - skip, native };
        let mut done = 0;
        // All bytes are in the signature, so it breaks.
        let _ = for_each_run(signature, |format, mut count| {
            let (external, native) = (format.external(), format.native());
            let advance = |place: &mut NumberPlace, count: usize| {
                place.external += external * count;
                place.native += native * count;
            };
            let before = count.min(skip / external);
            advance(&mut place, before);
            (count, skip) = (count - before, skip - before * external);
            while count > 0 && done < len {
                let whole = if skip == 0 { count.min((len - done) / external) } else { 0 };
                let (some, bytes) = match whole {
                    0 => (1, (external - skip).min(len - done)),
                    whole => (whole, whole * external),
                };
                each(format, some, place, skip, done..done + bytes);
                advance(&mut place, some);
                (count, skip, done) = (count - some, 0, done + bytes);
            }
            if done < len { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }

    /// Forgets what has arrived of the numbers in a range: parts of an earlier message that has failed.
    fn forget(&self, range: Range<usize>) {
        self.incomplete().retain(|number| !range.contains(&number.start));
    }

    /// A part of the number at `start`; the number, if all of it has arrived.
    fn add_part(
        &self, start: usize, skip: usize, data: &[u8], format: ExternalFormat,
    ) -> Option<[u8; NUMBER_BYTES]> {
        let mut all = self.incomplete();
        let found = all.iter().position(|number| number.start == start);
        let index = found.unwrap_or_else(|| {
            all.push(IncompleteNumber { start, bytes: [0; NUMBER_BYTES], arrived: 0 });
            all.len() - 1
        });
        let number = &mut all[index];
        number.bytes[skip..][..data.len()].copy_from_slice(data);
        number.arrived |= bits(data.len()) << skip;
        if number.arrived != bits(format.external()) {
            return None;
        }
        Some(all.swap_remove(index).bytes)
    }

    fn incomplete(&self) -> MutexGuard<'_, Vec<IncompleteNumber>> {
        // Nothing in this file panics while the list is wrong.
        self.incomplete.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IncompleteNumber {
    /// Puts the bytes that have arrived over those of `out`, which begins at the external byte `from`.
    fn put(&self, from: usize, out: &mut [u8]) {
        let arrived = (0..NUMBER_BYTES).filter(|at| self.arrived >> at & 1 != 0);
        for at in arrived {
            let place = (self.start + at).checked_sub(from);
            if let Some(byte) = place.and_then(|place| out.get_mut(place)) {
                *byte = self.bytes[at];
            }
        }
    }
}

/// The lowest `count` bits.
fn bits(count: usize) -> u16 {
    u16::MAX >> (NUMBER_BYTES - count)
}

fn encode(format: ExternalFormat, native: &[u8], external: &mut [u8]) {
    if swap(format, native, external) {
        return;
    }
    let from = native.chunks_exact(format.native());
    let to = external.chunks_exact_mut(format.external());
    from.zip(to).for_each(|(from, to)| format.encode(from, to));
}

fn decode(format: ExternalFormat, external: &[u8], native: &mut [u8]) {
    if swap(format, external, native) {
        return;
    }
    let from = external.chunks_exact(format.external());
    let to = native.chunks_exact_mut(format.native());
    from.zip(to).for_each(|(from, to)| format.decode(from, to));
}

/// The usual case, in either direction: numbers that differ in the order of their bytes alone.
fn swap(format: ExternalFormat, from: &[u8], to: &mut [u8]) -> bool {
    match format {
        ExternalFormat::Swapped(2) => swap_each::<2>(from, to),
        ExternalFormat::Swapped(4) => swap_each::<4>(from, to),
        ExternalFormat::Swapped(8) => swap_each::<8>(from, to),
        _ => return false,
    }
    true
}

fn swap_each<const LEN: usize>(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.as_chunks::<LEN>().0.iter().zip(to.as_chunks_mut::<LEN>().0) {
        *to = *from;
        to.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::super::external;
    use super::super::{ConstructorForm, Predefined};
    use super::*;
    use platform::base::Random;

    fn named(name: &str) -> Datatype {
        Datatype::predefined(Predefined::named(name).unwrap())
    }

    /// Structures in structures, of numbers of all lengths, with gaps.
    fn nested() -> Datatype {
        let pair =
            Datatype::vector(ConstructorForm::Int, 2, 1, 3, &named("MPI_LONG_DOUBLE")).unwrap();
        let parts = [named("MPI_SHORT"), named("MPI_DOUBLE_INT"), named("MPI_CHAR"), pair];
        let record =
            Datatype::structure(ConstructorForm::Int, &[3, 1, 2, 1], &[0, 8, 24, 32], &parts)
                .unwrap();
        let rows = Datatype::contiguous(ConstructorForm::Int, 3, &record).unwrap();
        let parts = [named("MPI_WCHAR"), rows, named("MPI_LONG"), named("MPI_C_DOUBLE_COMPLEX")];
        Datatype::structure(ConstructorForm::Int, &[1, 2, 2, 1], &[0, 16, 4000, 4016], &parts)
            .unwrap()
    }

    /// Native bytes that "external32" can hold: what it makes of any bytes.
    fn native(datatype: &Datatype, count: usize) -> Vec<u8> {
        let len = datatype.external_size() * count;
        let bytes: Vec<_> = (0..len).map(|at| (at * 7 + at / 251) as u8).collect();
        let mut items = Memory::owned(vec![0; datatype.size() * count]);
        external::unpack(datatype, count, &Memory::owned(bytes), &mut items);
        items.packed()
    }

    #[test]
    fn any_parts_in_any_order_are_converted() {
        let types = [nested(), named("MPI_INT"), named("MPI_LONG"), named("MPI_LONG_DOUBLE")];
        let mut random = Random::new(5);
        for (datatype, count) in types.iter().zip([1, 200, 150, 40]) {
            let items = native(datatype, count);
            let mut expected = Memory::owned(vec![0; datatype.external_size() * count]);
            external::pack(datatype, count, &Memory::owned(&items[..]), &mut expected);
            let expected = expected.packed();
            assert_ne!(expected, items);
            let source = external_memory(datatype, count, Memory::owned(&items[..]));
            assert_eq!(source.packed(), expected);
            for most in [1, 5, 40, 900] {
                let all = Memory::owned(vec![0xee; items.len()]);
                let target = external_memory(datatype, count, all.alias());
                let (mut parts, mut at) = (Vec::new(), 0);
                while at < expected.len() {
                    let len =
                        (1 + random.below(most)).min(expected.len() as u64 - at as u64) as usize;
                    parts.push(at..at + len);
                    at += len;
                }
                for index in (1..parts.len()).rev() {
                    parts.swap(index, random.below(index as u64 + 1) as usize);
                }
                for part in parts {
                    let mut bytes = vec![0; part.len()];
                    source.pack(part.start, &mut bytes);
                    assert_eq!(bytes, expected[part.clone()]);
                    target.alias().unpack(part.start, &bytes);
                    // What has arrived can be sent on, whole numbers or not.
                    target.pack(part.start, &mut bytes);
                    assert_eq!(bytes, expected[part]);
                }
                assert_eq!(all.packed(), items);
            }
        }
    }

    #[test]
    fn a_message_that_ends_inside_a_number_does_not_spoil_the_next() {
        let int = named("MPI_INT");
        let all = Memory::owned(vec![0; 8]);
        let mut target = external_memory(&int, 2, all.alias());
        target.unpack(0, &[0, 0, 0, 7, 9, 9]);
        target.unpack(0, &[0, 0, 0, 1, 0, 0, 0, 2]);
        assert_eq!(all.packed(), [1, 2].map(i32::to_ne_bytes).concat());
        assert_eq!(target.packed(), [0, 0, 0, 1, 0, 0, 0, 2]);
    }

    #[test]
    fn bytes_and_no_data_are_memory_as_it_is() {
        for name in ["MPI_BYTE", "MPI_PACKED", "MPI_CHAR", "MPI_C_BOOL"] {
            assert!(!external_memory(&named(name), 3, Memory::owned([1; 3])).is_converted());
        }
        assert!(!external_memory(&named("MPI_INT"), 0, Memory::EMPTY).is_converted());
        let copy = external_memory(&named("MPI_SHORT"), 2, Memory::owned([1, 2, 3, 4]));
        let mut other = external_memory(&named("MPI_SHORT"), 2, Memory::owned([0; 4]));
        copy.copy(0, &mut other, 0, 4);
        assert_eq!(copy.packed(), [2, 1, 4, 3]);
        assert_eq!(other.packed(), [2, 1, 4, 3]);
    }
}
