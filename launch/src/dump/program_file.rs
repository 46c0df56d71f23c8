//! A program or library of a rank: its unwind tables and the names of its functions.
//!
//! Addresses are those of the file; in a process, a bias is added to them.

use std::cell::OnceCell;
use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::rc::Rc;

use addr2line::Loader;
use framehop::ExplicitModuleSectionInfo;
use object::{Object, ObjectSection, ObjectSegment};

use platform::sys::trace::{FileView, MemoryMapping};

use platform::diagnosis::job_report::StackFrame;

/// One program or library.
pub(super) struct ProgramFile {
    view: Rc<FileView>,
    /// Ranges of the file, with the address that the first byte is loaded to.
    segments: Vec<(Range<u64>, u64)>,
    frames: Option<FileSection>,
    frames_index: Option<FileSection>,
    instructions: Option<Range<u64>>,
    /// The file with names and lines, if it is known.
    path: Option<PathBuf>,
    loader: OnceCell<Option<Loader>>,
}

/// A section of a file.
#[derive(Clone)]
struct FileSection {
    addresses: Range<u64>,
    bytes: Range<usize>,
}

/// The bytes of a section.
#[derive(Default)]
pub(super) struct SectionBytes {
    view: Option<Rc<FileView>>,
    range: Range<usize>,
}

impl Deref for SectionBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.view.as_ref().and_then(|view| view.get(self.range.clone())).unwrap_or_default()
    }
}

impl ProgramFile {
    /// Reads the tables of a file; `None` if it is not an object file. Names are read from `path`.
    pub(super) fn read(view: FileView, path: Option<PathBuf>) -> Option<Self> {
        let file = object::File::parse(&*view).ok()?;
        let part = |name: &str| {
            let section = file.section_by_name(name)?;
            let (start, len) = section.file_range()?;
            let bytes = usize::try_from(start).ok()?..usize::try_from(start + len).ok()?;
            Some(FileSection {
                addresses: section.address()..section.address() + section.size(),
                bytes,
            })
        };
        let segment = |segment: object::Segment<'_, '_>| {
            let (start, len) = segment.file_range();
            (start..start.saturating_add(len), segment.address())
        };
        let (frames, frames_index) = (part(".eh_frame"), part(".eh_frame_hdr"));
        let instructions = part(".text").map(|text| text.addresses);
        let segments = file.segments().map(segment).collect();
        let (view, loader) = (Rc::new(view), OnceCell::new());
        Some(Self { view, segments, frames, frames_index, instructions, path, loader })
    }

    /// The bias of the file at `mapping`.
    pub(super) fn bias(&self, mapping: &MemoryMapping) -> Option<u64> {
        let len = mapping.addresses.end - mapping.addresses.start;
        let shown = mapping.offset..mapping.offset.saturating_add(len);
        // Adjacent segments share a page; the mapping belongs to the one with the larger part.
        let part = |(file, _): &&(Range<u64>, u64)| {
            file.end.min(shown.end).saturating_sub(file.start.max(shown.start))
        };
        let (file, address) = self.segments.iter().max_by_key(part)?;
        // A mapping begins at a page; its segment may begin within that page.
        let first = address.wrapping_add(shown.start.wrapping_sub(file.start));
        Some(mapping.addresses.start.wrapping_sub(first))
    }

    /// The tables for unwinding.
    pub(super) fn tables(&self) -> ExplicitModuleSectionInfo<SectionBytes> {
        let bytes = |part: &FileSection| SectionBytes {
            view: Some(self.view.clone()),
            range: part.bytes.clone(),
        };
        let addresses = |part: &FileSection| part.addresses.clone();
        ExplicitModuleSectionInfo {
            text_svma: self.instructions.clone(),
            eh_frame_svma: self.frames.as_ref().map(addresses),
            eh_frame: self.frames.as_ref().map(bytes),
            eh_frame_hdr_svma: self.frames_index.as_ref().map(addresses),
            eh_frame_hdr: self.frames_index.as_ref().map(bytes),
            ..ExplicitModuleSectionInfo::default()
        }
    }

    /// The calls at `address`: functions that were inlined, then the function itself.
    pub(super) fn calls(&self, address: u64) -> Vec<StackFrame> {
        let Some(loader) = self.loader() else { return Vec::new() };
        let symbol = || {
            let name = loader.find_symbol(address)?;
            Some(addr2line::demangle_auto(name.into(), None).into_owned())
        };
        let mut calls = Vec::new();
        if let Ok(mut frames) = loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.as_ref();
                let name = name.and_then(|name| Some(name.demangle().ok()?.into_owned()));
                let location = frame.location.and_then(|at| {
                    Some(format!("{}:{}", at.file?, at.line.filter(|line| *line > 0)?))
                });
                let Some(function) = name.or_else(symbol) else { continue };
                calls.push(StackFrame { function, location: location.unwrap_or_default() });
            }
        }
        if calls.is_empty() {
            calls.extend(symbol().map(|function| StackFrame { function, location: String::new() }));
        }
        calls
    }

    fn loader(&self) -> Option<&Loader> {
        let load = || Loader::new(self.path.as_ref()?).ok();
        self.loader.get_or_init(load).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::sys::trace;
    use platform::sys::trace::mappings;

    /// The address of this function is searched in this program.
    #[inline(never)]
    fn landmark() -> u64 {
        landmark as fn() -> u64 as usize as u64
    }

    #[test]
    fn a_function_of_this_program_is_found_by_its_address() {
        let own = std::process::id();
        let address = landmark();
        let mappings = mappings(own).unwrap();
        let mapping = mappings.iter().find(|it| it.addresses.contains(&address)).unwrap();
        let path = PathBuf::from(&mapping.name);
        let view = trace::map_file_of(own, &path).unwrap();
        let file = ProgramFile::read(view, Some(path)).unwrap();
        let calls = file.calls(address - file.bias(mapping).unwrap() + 1);
        assert!(calls.last().unwrap().function.ends_with("landmark"), "{calls:?}");
        assert!(calls.last().unwrap().location.contains("program_file.rs:"), "{calls:?}");
        assert!(!file.tables().eh_frame.unwrap().is_empty());
    }

    #[test]
    fn a_file_that_is_not_a_program_is_ignored() {
        let view = FileView::Copy(b"#!/bin/sh\n".to_vec());
        assert!(ProgramFile::read(view, None).is_none());
    }
}
