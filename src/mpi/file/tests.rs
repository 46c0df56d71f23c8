//! Accesses of one rank on a file in memory that moves few bytes a call and fails where it is told to:
//! beside a model that places one byte after the other.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::access::{AccessDirection, IndependentAccess, Transfer};
use super::counters::FileCounts;
use super::representation::DataRepresentation;
use super::storage::{FileMemory, Storage};
use super::view::{Tiles, View};
use crate::engine::memory::{Memory, OwnedBytes};
use crate::mpi::datatype::{ConstructorForm, Datatype, Predefined};
use platform::base::Span;

/// A file in memory.
#[derive(Debug)]
struct TestFile {
    bytes: Mutex<Vec<u8>>,
    /// The most bytes of one call.
    step: usize,
    calls: AtomicUsize,
    /// This call and later ones fail.
    fails_at: usize,
    /// Whether ranges can be mapped, for loads.
    has_memory: bool,
}

/// A copy of a range.
#[derive(Debug)]
struct TestMemory(OwnedBytes);

impl FileMemory for TestMemory {
    fn span(&self) -> Span {
        self.0.span()
    }
}

impl TestFile {
    fn new(bytes: Vec<u8>, step: usize, fails_at: usize) -> Arc<Self> {
        let (bytes, calls) = (Mutex::new(bytes), AtomicUsize::new(0));
        Arc::new(Self { bytes, step, calls, fails_at, has_memory: false })
    }

    fn mappable(bytes: Vec<u8>, step: usize) -> Arc<Self> {
        let file = Self::new(bytes, step, usize::MAX);
        Arc::new(Self { has_memory: true, ..Arc::into_inner(file).unwrap() })
    }

    fn called(&self) -> io::Result<()> {
        match self.calls.fetch_add(1, Ordering::Relaxed) < self.fails_at {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(28)),
        }
    }

    fn content(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }
}

impl Storage for TestFile {
    fn read(&self, at: u64, into: Span) -> io::Result<usize> {
        self.called()?;
        let bytes = self.bytes.lock().unwrap();
        let rest = bytes.get(at as usize..).unwrap_or_default();
        let len = rest.len().min(into.len()).min(self.step);
        into.write(0, &rest[..len]);
        Ok(len)
    }

    fn write(&self, at: u64, from: Span) -> io::Result<usize> {
        self.called()?;
        let mut bytes = self.bytes.lock().unwrap();
        let (at, len) = (at as usize, from.len().min(self.step));
        if bytes.len() < at + len {
            bytes.resize(at + len, 0);
        }
        from.read(0, &mut bytes[at..at + len]);
        Ok(len)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn is_at(&self, _: &[u8]) -> io::Result<bool> {
        Ok(true)
    }

    fn set_size(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn has_memory(&self) -> bool {
        self.has_memory
    }

    fn map(&self, _: Range<u64>) -> io::Result<Option<Box<dyn FileMemory>>> {
        Ok(None)
    }

    fn map_filled(&self, range: Range<u64>) -> Option<Box<dyn FileMemory>> {
        let bytes = self.bytes.lock().unwrap();
        let part = bytes.get(range.start as usize..range.end as usize)?;
        Some(Box::new(TestMemory(OwnedBytes::from(Box::from(part)))))
    }

    fn forget_space(&self) {}

    fn note(&self, _: FileCounts) {}

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _: Range<u64>, _: bool) -> io::Result<()> {
        self.called()
    }

    fn unlock(&self, _: Range<u64>) -> io::Result<()> {
        self.called()
    }
}

fn byte() -> Datatype {
    let entry = Predefined::named("MPI_BYTE").unwrap();
    Datatype::predefined(entry)
}

/// A view of blocks of these lengths, with these gaps before them.
fn view(displacement: i64, blocks: &[(i64, i64)], end_gap: i64) -> Arc<Tiles> {
    let (mut lengths, mut places, mut at) = (Vec::new(), Vec::new(), 0);
    for (gap, len) in blocks {
        at += gap;
        lengths.push(*len);
        places.push(at);
        at += len;
    }
    let form = ConstructorForm::Int;
    let blocks = Datatype::indexed(form, &lengths, &places, &byte()).unwrap();
    let tile = Datatype::resized(form, &blocks, 0, at + end_gap).unwrap();
    let native = DataRepresentation::Native;
    View::new(displacement, byte(), tile, native, true).unwrap().tiles
}

/// The offsets of bytes of a view, one after the other.
fn offsets(view: &Tiles, position: u64, len: usize) -> Vec<usize> {
    (position..position + len as u64).map(|at| view.offset(at).unwrap() as usize).collect()
}

/// Memory of `len` bytes, adjacent or every second one, with its owner.
fn memory(bytes: &[u8], is_scattered: bool) -> (OwnedBytes, Memory) {
    if !is_scattered {
        let owned = OwnedBytes::from(Box::from(bytes));
        let span = owned.span();
        return (owned, Memory::Span(span));
    }
    let spread: Vec<u8> = bytes.iter().flat_map(|byte| [*byte, 0xee]).collect();
    let owned = OwnedBytes::from(spread.into_boxed_slice());
    let every_second = Datatype::resized(ConstructorForm::Int, &byte(), 0, 2).unwrap();
    let memory = Memory::within(owned.span(), 0, bytes.len(), every_second.layout());
    (owned, memory.unwrap())
}

fn moved(
    file: &Arc<TestFile>, view: &Arc<Tiles>, direction: AccessDirection, memory: Memory,
    position: u64,
) -> Transfer {
    let (storage, view) = (Arc::clone(file) as Arc<dyn Storage>, Arc::clone(view));
    let (buffer, sieves, is_atomic) = (50, true, false);
    let mut access =
        IndependentAccess { storage, view, direction, memory, position, buffer, sieves, is_atomic };
    access.run()
}

fn a_view() -> impl Strategy<Value = Arc<Tiles>> {
    let blocks = proptest::collection::vec((0_i64..20, 1_i64..30), 1..5);
    (0_i64..20, blocks, 0_i64..20)
        .prop_map(|(displacement, blocks, end_gap)| view(displacement, &blocks, end_gap))
}

proptest! {
    #[test]
    fn what_is_written_is_where_the_view_says(
        view in a_view(), position in 0_u64..100, len in 0_usize..200, step in 1_usize..40,
        is_scattered: bool,
    ) {
        let data: Vec<u8> = (0..len).map(|at| at as u8 | 1).collect();
        let file = TestFile::new(vec![0; 300], step, usize::MAX);
        let (_owner, from) = memory(&data, is_scattered);
        let transfer = moved(&file, &view, AccessDirection::Write, from, position);
        prop_assert_eq!((transfer.bytes, transfer.error.is_none()), (len as u64, true));
        let places = offsets(&view, position, len);
        let mut expected = vec![0; 300.max(places.last().map_or(0, |last| last + 1))];
        places.iter().zip(&data).for_each(|(place, byte)| expected[*place] = *byte);
        prop_assert_eq!(file.content(), expected);
    }

    #[test]
    fn what_is_read_ends_with_the_file(
        view in a_view(), position in 0_u64..100, len in 0_usize..200, step in 1_usize..40,
        size in 0_usize..400, is_scattered: bool, has_memory: bool,
    ) {
        let content: Vec<u8> = (0..size).map(|at| (at * 7) as u8).collect();
        let file = match has_memory {
            true => TestFile::mappable(content.clone(), step),
            false => TestFile::new(content.clone(), step, usize::MAX),
        };
        let (owner, into) = memory(&vec![0xaa; len], is_scattered);
        let kept = into.alias();
        let transfer = moved(&file, &view, AccessDirection::Read, into, position);
        let places = offsets(&view, position, len);
        let found = places.iter().take_while(|place| **place < size).count();
        prop_assert_eq!((transfer.bytes, transfer.error.is_none()), (found as u64, true));
        let data = kept.packed();
        for (byte, place) in data.iter().zip(&places).take(found) {
            prop_assert_eq!(*byte, content[*place]);
        }
        prop_assert!(data[found..].iter().all(|byte| *byte == 0xaa));
        drop(owner);
    }

    #[test]
    fn an_error_at_any_call_says_what_was_moved(
        view in a_view(), len in 1_usize..200, step in 1_usize..40, fails_at in 0_usize..12,
        writes: bool,
    ) {
        let data: Vec<u8> = (0..len).map(|at| at as u8 | 1).collect();
        let file = TestFile::new(vec![0; 4000], step, fails_at);
        let (_owner, memory) = memory(&data, false);
        let direction = if writes { AccessDirection::Write } else { AccessDirection::Read };
        let transfer = moved(&file, &view, direction, memory, 0);
        let has_failed = file.calls.load(Ordering::Relaxed) > fails_at;
        prop_assert_eq!(transfer.error.is_some(), has_failed);
        if writes {
            let places = offsets(&view, 0, len);
            let mut expected = vec![0; 4000];
            let written = places.iter().zip(&data).take(transfer.bytes as usize);
            written.for_each(|(place, byte)| expected[*place] = *byte);
            prop_assert_eq!(file.content(), expected);
        }
    }
}
