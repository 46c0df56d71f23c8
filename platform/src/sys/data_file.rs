//! Files of data: positioned reads and writes of memory of the application, sizes, locks of ranges.
//!
//! All calls are those of the system, once: they may move fewer bytes than asked for. Only signals that
//! interrupt a call are hidden. Locks belong to the open file (`F_OFD_SETLKW`): they hold between
//! processes, and the end of another descriptor of the same file does not drop them.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use memmap2::{Advice, MmapOptions, MmapRaw};
use nix::fcntl::{FallocateFlags, FcntlArg, fallocate, fcntl};
use nix::sys::statfs::fstatfs;
use nix::unistd::{Whence, lseek};
use parking_lot::Mutex;

use crate::base::Span;

/// The most bytes that Linux moves in one call: 2 GiB less a page.
const CALL_BYTES_MAX: usize = 0x7fff_f000;

/// File systems of one host whose space can be had ahead, by their numbers in linux/magic.h: ext4, xfs, btrfs,
/// tmpfs, overlayfs.
const LOCAL: [u32; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, OVERLAYFS];

/// A file that was opened for reading alone does not show in its maps what others write after the copy.
const OVERLAYFS: u32 = 0x794c_7630;

/// Maps begin at multiples of it, and have so many bytes, or what one range needs. Pages stay in memory from one
/// access to the next: a page that is mapped anew costs more than its stores.
const WINDOW: u64 = 64 << 20;

/// Writes of zeros at a time, where the file system does not allocate.
const ZEROS: usize = 1 << 16;

/// An open file.
#[derive(Debug)]
pub struct DataFile {
    file: File,
    form: OpenForm,
    has_memory: bool,
    mapping: Mutex<Mapping>,
}

/// What is known of the file in memory.
#[derive(Debug, Default)]
struct Mapping {
    /// The last map.
    window: Option<MapWindow>,
    /// A range of the file that has space.
    given: Range<u64>,
}

/// A part of a file in memory.
#[derive(Debug)]
struct MapWindow {
    map: Arc<MmapRaw>,
    /// Where it begins in the file.
    start: u64,
}

impl Mapping {
    fn has_space(&self, range: &Range<u64>) -> bool {
        self.given.start <= range.start && range.end <= self.given.end
    }

    fn note_space(&mut self, range: Range<u64>) {
        let before = &self.given;
        self.given = match range.start <= before.end && before.start <= range.end {
            true => before.start.min(range.start)..before.end.max(range.end),
            false => range,
        };
    }
}

impl MapWindow {
    fn covers(&self, range: &Range<u64>) -> bool {
        self.start <= range.start && range.end - self.start <= self.map.len() as u64
    }

    fn part(&self, range: &Range<u64>) -> MappedRange {
        let part = (range.start - self.start) as usize..(range.end - self.start) as usize;
        MappedRange { map: Arc::clone(&self.map), part }
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenForm {
    /// For reading.
    pub reads: bool,
    /// For writing.
    pub writes: bool,
    /// Creates it if it does not exist.
    pub creates: bool,
    /// Fails if it exists; with `creates`.
    pub is_new: bool,
    /// The permissions of a new file, before the mask of the process.
    pub permissions: u32,
}

/// A range of a file in memory: what is in the file is there, and what is stored there is in the file.
#[derive(Debug)]
pub struct MappedRange {
    map: Arc<MmapRaw>,
    /// Where the range is in it.
    part: Range<usize>,
}

impl MappedRange {
    /// The bytes of the range, while this value lives.
    pub fn span(&self) -> Span {
        let start = self.map.as_ptr().wrapping_add(self.part.start);
        // SAFETY: the mapping lives as long as this value; nothing in Rust refers to its bytes.
        unsafe { Span::new(start, self.part.len()) }
    }
}

/// A lock of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeLock {
    /// Others may have it, too.
    Shared,
    /// No other may have it.
    Exclusive,
    /// Gives back what the open file has of it.
    Free,
}

impl DataFile {
    /// Opens a file.
    ///
    /// # Errors
    /// The error of open(2); `InvalidInput` for a path with a zero byte.
    pub fn open(path: &Path, form: OpenForm) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(form.reads).write(form.writes).mode(form.permissions);
        options.create(form.creates).create_new(form.creates && form.is_new);
        let file = uninterrupted(|| options.open(path))?;
        // Linux opens a folder for reading; nothing can be read there.
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // The type of the number differs between C libraries; its upper half is 0.
        let kind = fstatfs(&file)?.filesystem_type().0 as u32;
        let has_memory = LOCAL.contains(&kind) && (form.writes || kind != OVERLAYFS);
        Ok(Self { file, form, has_memory, mapping: Mutex::default() })
    }

    /// Reads bytes from offset `at` on; 0 at the end of the file.
    ///
    /// # Errors
    /// The error of pread(2).
    pub fn read(&self, at: u64, into: Span) -> io::Result<usize> {
        let (len, at) = (into.len().min(CALL_BYTES_MAX), offset(at)?);
        uninterrupted(|| {
            // SAFETY: the span is writable until the operation that it was made for has ended
            // (`Span::new`).
            let read =
                unsafe { libc::pread(self.file.as_raw_fd(), into.address() as *mut _, len, at) };
            usize::try_from(read).map_err(|_| io::Error::last_os_error())
        })
    }

    /// Writes bytes from offset `at` on.
    ///
    /// # Errors
    /// The error of pwrite(2).
    pub fn write(&self, at: u64, from: Span) -> io::Result<usize> {
        let (len, at) = (from.len().min(CALL_BYTES_MAX), offset(at)?);
        uninterrupted(|| {
            // SAFETY: the span is readable until the operation that it was made for has ended
            // (`Span::new`).
            let written =
                unsafe { libc::pwrite(self.file.as_raw_fd(), from.address() as *const _, len, at) };
            usize::try_from(written).map_err(|_| io::Error::last_os_error())
        })
    }

    /// The size in bytes.
    ///
    /// # Errors
    /// The error of fstat(2).
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Whether this name is that of the file, and not of another one that has taken its place.
    ///
    /// # Errors
    /// The error of fstat(2) or stat(2), other than that there is no such file.
    pub fn is_at(&self, path: &Path) -> io::Result<bool> {
        match (self.file.metadata()?, std::fs::metadata(path)) {
            (own, Ok(found)) => Ok((own.dev(), own.ino()) == (found.dev(), found.ino())),
            (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            (_, Err(error)) => Err(error),
        }
    }

    /// Cuts the file, or adds a hole.
    ///
    /// # Errors
    /// The error of ftruncate(2).
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        offset(size)?;
        self.forget_space();
        uninterrupted(|| self.file.set_len(size))
    }

    /// Gives the file space for its first `size` bytes, and at least this size.
    ///
    /// # Errors
    /// The error of fallocate(2), or of writing where the file system does not know it.
    pub fn allocate(&self, size: u64) -> io::Result<()> {
        let len = offset(size)?;
        if len == 0 {
            return Ok(());
        }
        let given =
            uninterrupted(|| Ok(fallocate(self.file.as_fd(), FallocateFlags::empty(), 0, len)?));
        match given {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => self.fill(size),
            other => other,
        }
    }

    /// Writes zeros behind the end, up to this size. Space in holes is left to later writes.
    fn fill(&self, size: u64) -> io::Result<()> {
        let mut zeros = vec![0; ZEROS];
        // SAFETY: the vector outlives the loop and has no other user.
        let zeros = unsafe { Span::of(&mut zeros) };
        let mut end = self.size()?;
        while end < size {
            let len = (size - end).min(ZEROS as u64) as usize;
            end += self.write(end, zeros.part(0, len))? as u64;
        }
        Ok(())
    }

    /// Whether [`DataFile::map`] and [`DataFile::map_filled`] give memory: on file systems of this host that
    /// give space ahead. Maps of others differ between hosts.
    pub fn has_memory(&self) -> bool {
        self.has_memory
    }

    /// A range of the file in memory, for stores that need no call each. It gets space first: a store that finds none
    /// would end the process. `None` if the file system [has no memory](DataFile::has_memory) or is full, or if this
    /// process cannot map more.
    ///
    /// A process that cuts the file meanwhile ends this one by SIGBUS at the next store.
    ///
    /// # Errors
    /// The error of fstat(2) or fallocate(2).
    pub fn map(&self, range: Range<u64>) -> io::Result<Option<MappedRange>> {
        let mut mapping = self.mapping.lock();
        let mapped = self.form.writes.then(|| self.mapped(&mut mapping, &range)).flatten();
        let Some(mapped) = mapped else { return Ok(None) };
        // The file may have been cut.
        if self.size()? < mapping.given.end {
            mapping.given = 0..0;
        }
        let has_space = mapping.has_space(&range) || self.give(&mut mapping, range)?;
        Ok(has_space.then_some(mapped))
    }

    /// A range of the file in memory, for loads that need no call each. Its pages are brought in first: a load that
    /// cannot read the device would end the process. `None` without [memory](DataFile::has_memory), and wherever a
    /// call does better: across the end of the file, in holes, to which tmpfs would give space, and where the device
    /// has an error, which a call returns.
    ///
    /// A process that cuts the file meanwhile ends this one by SIGBUS at the next load.
    pub fn map_filled(&self, range: Range<u64>) -> Option<MappedRange> {
        let mapped = {
            let mut mapping = self.mapping.lock();
            let mapped = self.mapped(&mut mapping, &range)?;
            if !mapping.has_space(&range) {
                let hole = self.next_hole(range.start).filter(|hole| *hole >= range.end)?;
                mapping.note_space(range.start..hole);
            }
            mapped
        };
        let Range { start, end } = mapped.part;
        mapped.map.advise_range(Advice::PopulateRead, start, end - start).ok()?;
        Some(mapped)
    }

    /// A range in the last window, or in a new one in its place; `None` without memory for it.
    fn mapped(&self, mapping: &mut Mapping, range: &Range<u64>) -> Option<MappedRange> {
        if !mapping.window.as_ref().is_some_and(|window| window.covers(range)) {
            mapping.window = self.map_window(range);
        }
        Some(mapping.window.as_ref()?.part(range))
    }

    fn map_window(&self, range: &Range<u64>) -> Option<MapWindow> {
        let start = range.start / WINDOW * WINDOW;
        let len = usize::try_from((range.end - start).max(WINDOW)).ok()?;
        let mut options = MmapOptions::new();
        options.offset(start).len(len);
        let map = self.has_memory.then(|| match self.form.writes {
            true => options.map_raw(&self.file),
            false => options.map_raw_read_only(&self.file),
        })?;
        Some(MapWindow { map: Arc::new(map.ok()?), start })
    }

    /// Gives the file space for a range; whether the file system can.
    fn give(&self, mapping: &mut Mapping, range: Range<u64>) -> io::Result<bool> {
        let (start, len) = (offset(range.start)?, offset(range.end)? - offset(range.start)?);
        let given = uninterrupted(|| {
            Ok(fallocate(self.file.as_fd(), FallocateFlags::empty(), start, len)?)
        });
        // Without space for gaps, there may be space for what is written.
        const WITHOUT: [Option<i32>; 2] = [Some(libc::EOPNOTSUPP), Some(libc::ENOSPC)];
        match given {
            Err(error) if WITHOUT.contains(&error.raw_os_error()) => return Ok(false),
            other => other?,
        }
        mapping.note_space(range);
        Ok(true)
    }

    /// The first byte without space from an offset in the file on, at the latest its end. (tmpfs goes through all
    /// pages before it.)
    fn next_hole(&self, from: u64) -> Option<u64> {
        lseek(self.file.as_fd(), offset(from).ok()?, Whence::SeekHole).ok()?.try_into().ok()
    }

    /// Another process has changed the size: ranges get space again.
    pub fn forget_space(&self) {
        self.mapping.lock().given = 0..0;
    }

    /// Brings all data to the device.
    ///
    /// # Errors
    /// The error of fsync(2); files without a device, such as pipes, have none.
    pub fn sync(&self) -> io::Result<()> {
        match uninterrupted(|| self.file.sync_all()) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            other => other,
        }
    }

    /// Locks or frees a range, and waits until others have freed it.
    ///
    /// # Errors
    /// The error of fcntl(2): some file systems have no locks.
    pub fn lock(&self, range: Range<u64>, lock: RangeLock) -> io::Result<()> {
        let kind = match lock {
            RangeLock::Shared => libc::F_RDLCK,
            RangeLock::Exclusive => libc::F_WRLCK,
            RangeLock::Free => libc::F_UNLCK,
        };
        let start = offset(range.start)?;
        let request = libc::flock {
            l_type: kind as i16,
            l_whence: libc::SEEK_SET as i16,
            l_start: start,
            l_len: offset(range.end)? - start,
            l_pid: 0,
        };
        uninterrupted(|| {
            fcntl(self.file.as_fd(), FcntlArg::F_OFD_SETLKW(&request))?;
            Ok(())
        })
    }
}

/// An offset as the system has it.
fn offset(at: u64) -> io::Result<i64> {
    i64::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))
}

/// Repeats a call that signals interrupt.
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: OpenForm =
        OpenForm { reads: true, writes: true, creates: true, is_new: false, permissions: 0o600 };

    fn span(bytes: &mut [u8]) -> Span {
        // SAFETY: the bytes of the tests outlive their spans and have no other user.
        unsafe { Span::of(bytes) }
    }

    fn place(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("suiro-data-file-{}-{name}", std::process::id()))
    }

    #[test]
    fn bytes_are_read_where_they_were_written() {
        let path = place("bytes");
        let file = DataFile::open(&path, ALL).unwrap();
        assert_eq!(file.write(5, span(&mut [1, 2, 3])).unwrap(), 3);
        let mut found = [9; 4];
        assert_eq!(file.read(4, span(&mut found)).unwrap(), 4);
        assert_eq!((found, file.size().unwrap()), ([0, 1, 2, 3], 8));
        file.set_size(6).unwrap();
        assert_eq!(file.read(6, span(&mut found)).unwrap(), 0);
        file.allocate(1 << 17).unwrap();
        file.sync().unwrap();
        assert_eq!(file.size().unwrap(), 1 << 17);
        assert!(file.set_size(u64::MAX).is_err());
        std::fs::remove_file(path).unwrap();
    }

    /// Stores bytes in a map; `false` if the file system makes no promise: nothing to test then.
    fn stored(file: &DataFile, at: u64, bytes: &[u8]) -> bool {
        let mapped = file.map(at..at + bytes.len() as u64).unwrap();
        mapped.inspect(|mapped| mapped.span().write(0, bytes)).is_some()
    }

    fn content(file: &DataFile, at: u64) -> [u8; 4] {
        let mut found = [0; 4];
        file.read(at, span(&mut found)).unwrap();
        found
    }

    #[test]
    fn stores_in_a_mapped_range_are_in_the_file() {
        let path = place("map");
        let file = DataFile::open(&path, ALL).unwrap();
        // In one map, in a map beside it, across the end of one, and in the first one again.
        for at in [(1 << 16) + 5, 9, WINDOW + 1, WINDOW - 2, 3] {
            if stored(&file, at, b"0123") {
                assert_eq!(content(&file, at), *b"0123");
                assert!(file.size().unwrap() >= at + 4);
            }
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_filled_range_has_what_is_in_the_file() {
        let path = place("filled");
        let writer = DataFile::open(&path, ALL).unwrap();
        let mut bytes: Vec<u8> = (0..20_000).map(|at| (at % 251) as u8).collect();
        writer.write(5, span(&mut bytes)).unwrap();
        let reads = OpenForm { writes: false, creates: false, ..ALL };
        for file in [&writer, &DataFile::open(&path, reads).unwrap()] {
            if !file.has_memory() {
                continue;
            }
            let mapped = file.map_filled(105..9_105).unwrap();
            let mut found = [0; 9_000];
            mapped.span().read(0, &mut found);
            assert_eq!(found, bytes[100..9_100]);
            // Across the end, and behind it.
            assert!(file.map_filled(105..20_006).is_none());
            assert!(file.map_filled(30_000..30_001).is_none());
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn holes_are_not_mapped_for_loads() {
        let path = place("holes");
        let file = DataFile::open(&path, ALL).unwrap();
        file.set_size(1 << 22).unwrap();
        file.write(1 << 21, span(&mut [1; 8192])).unwrap();
        let blocks = |file: &DataFile| file.file.metadata().unwrap().blocks();
        let before = blocks(&file);
        assert!(file.map_filled(0..4096).is_none());
        let is_mapped = file.map_filled(1 << 21..(1 << 21) + 8192).is_some();
        assert_eq!((is_mapped, blocks(&file)), (file.has_memory(), before));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_range_that_was_cut_off_is_not_mapped_again() {
        let path = place("cut-off");
        let file = DataFile::open(&path, ALL).unwrap();
        file.write(0, span(&mut [7; 8192])).unwrap();
        let was_mapped = file.map_filled(0..8192).is_some();
        assert_eq!(was_mapped, file.has_memory());
        DataFile::open(&path, ALL).unwrap().set_size(4096).unwrap();
        assert!(file.map_filled(4096..8192).is_none());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_that_was_cut_gets_space_again() {
        let path = place("cut");
        let file = DataFile::open(&path, ALL).unwrap();
        let other = DataFile::open(&path, ALL).unwrap();
        for cutter in [&file, &other] {
            if !stored(&file, 70_000, b"4567") {
                break;
            }
            cutter.set_size(0).unwrap();
            assert!(stored(&file, 70_001, b"89ab"));
            assert_eq!(content(&file, 70_000), *b"\x0089a");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn files_that_cannot_be_opened_say_why() {
        let path = place("new");
        let new = OpenForm { is_new: true, ..ALL };
        drop(DataFile::open(&path, new).unwrap());
        let again = DataFile::open(&path, new).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        std::fs::remove_file(&path).unwrap();
        let absent = DataFile::open(&path, OpenForm { creates: false, ..ALL }).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        let reads = OpenForm { writes: false, creates: false, ..ALL };
        let folder = DataFile::open(Path::new("/"), reads).unwrap_err();
        assert_eq!(folder.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn locks_hold_between_open_files_of_one_process() {
        let path = place("locks");
        let one = DataFile::open(&path, ALL).unwrap();
        let other = DataFile::open(&path, ALL).unwrap();
        one.lock(0..10, RangeLock::Exclusive).unwrap();
        other.lock(10..20, RangeLock::Exclusive).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| other.lock(5..6, RangeLock::Shared).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waits.is_finished());
            one.lock(0..10, RangeLock::Free).unwrap();
        });
        std::fs::remove_file(path).unwrap();
    }
}
