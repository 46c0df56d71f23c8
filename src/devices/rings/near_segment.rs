//! Segments and doorbells of processes of this host that are not ranks of this node ([`NearMemory`]): unnamed
//! files, opened by `/proc/PID/fd` and told apart by their inodes.
//!
//! ```text
//!   wake file of a process, 4 KiB:   layout │ wake word, with the place of its doorbell
//! ```
//!
//! A process that shares segments arms its word with that of its node, so the others ring only if it sleeps.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Weak};

use memmap2::MmapRaw;

use super::memory::{Mapped, SegmentMemory, digest};
use super::wake_word::{WakeMethod, WakeWord};
use crate::device::near_memory::{NearDoorbell, NearMemory, NearPlace, NearSegment};
use platform::base::{ErrorClass, Result, Span};
use platform::sys::doorbell::{DoorbellAddress, DoorbellHandle};
use platform::sys::{membarrier, shm};

/// Bytes of a wake file, and where the word is.
const WAKE_BYTES: usize = 4096;
const WORD_AT: usize = 128;

/// What this process shares, which is woken by a doorbell.
pub(crate) struct HostSharing {
    doorbell: DoorbellAddress,
    is_armed: bool,
    /// From the first segment on.
    own: Option<OwnWord>,
    /// Those in use: many segments have the same processes.
    peers: BTreeMap<NearPlace, Weak<PeerWord>>,
}

/// What other processes see of this one.
struct OwnWord {
    place: NearPlace,
    word: Mapped<WakeWord>,
    _file: OwnedFd,
}

/// Another process.
struct PeerWord {
    word: Mapped<WakeWord>,
    doorbell: DoorbellHandle,
    /// Whether this process uses full fences: membarriers of the other one do not reach it.
    fences: bool,
}

#[derive(Debug)]
struct HostSegment {
    place: NearPlace,
    memory: MmapRaw,
    len_bytes: usize,
    /// At the process that has made it.
    _file: Option<OwnedFd>,
}

impl HostSharing {
    /// Sleeps of this process wait for the doorbell `own`.
    pub(crate) fn new(own: DoorbellAddress) -> Self {
        Self { doorbell: own, is_armed: false, own: None, peers: BTreeMap::new() }
    }

    /// Prepares to sleep, after the doorbell was drained: a look at the segments must follow.
    pub(crate) fn arm(&mut self) {
        self.is_armed = true;
        if let Some(own) = &self.own {
            own.arm();
        }
    }

    /// Ends what [`HostSharing::arm`] began.
    pub(crate) fn disarm(&mut self) {
        self.is_armed = false;
        if let Some(own) = &self.own {
            own.word.disarm();
        }
    }
}

impl OwnWord {
    /// # Errors
    /// `NoMem` without memory or descriptors.
    fn new(doorbell: DoorbellAddress) -> Result<Self> {
        let (file, memory) = shm::allocate(WAKE_BYTES)?;
        let place = place_of(&file)?;
        let word = wake_word(memory)?;
        word.publish_doorbell(doorbell);
        Ok(Self { place, word, _file: file })
    }

    fn arm(&self) {
        self.word.arm();
        if !membarrier::barrier() {
            self.word.require_fences();
            self.word.arm();
        }
    }
}

impl PeerWord {
    /// # Errors
    /// `Other` if the system refuses.
    fn open(at: NearPlace) -> Result<Self> {
        let (pid, descriptor, inode) = parts(at);
        let failed = |error: std::io::Error| {
            ErrorClass::Other.error(format!("process {pid} of this host cannot be woken: {error}"))
        };
        let memory = shm::map_of(pid, descriptor, inode as u32, WAKE_BYTES, true);
        let word = wake_word(memory.map_err(failed)?)?;
        let WakeMethod::Doorbell(doorbell) = word.wake_method() else {
            return Err(failed(std::io::ErrorKind::NotFound.into()));
        };
        let doorbell = DoorbellHandle::open(doorbell).map_err(failed)?;
        Ok(Self { word, doorbell, fences: !membarrier::register() })
    }
}

/// # Errors
/// `Other` if a process of another build of this library has made the file.
fn wake_word(memory: MmapRaw) -> Result<Mapped<WakeWord>> {
    let sizes = [WAKE_BYTES, WORD_AT, size_of::<WakeWord>()];
    let layout = digest(sizes.into_iter().map(|size| size as u64));
    Ok(SegmentMemory::over(memory, layout)?.part(WORD_AT))
}

/// Where others find a file of this process.
///
/// # Errors
/// `NoMem` if the system does not say which it is.
fn place_of(file: &OwnedFd) -> Result<NearPlace> {
    let inode = shm::inode(file).map_err(|error| ErrorClass::NoMem.error(error.to_string()))?;
    Ok(place(std::process::id(), file.as_raw_fd().cast_unsigned(), inode))
}

/// A descriptor of a process, and the inode behind it.
fn place(pid: u32, descriptor: u32, inode: u64) -> NearPlace {
    NearPlace([u64::from(pid) << 32 | u64::from(descriptor), inode])
}

fn parts(NearPlace([place, inode]): NearPlace) -> (u32, u32, u64) {
    ((place >> 32) as u32, place as u32, inode)
}

impl NearMemory for HostSharing {
    fn own_doorbell(&mut self) -> Result<NearPlace> {
        if let Some(own) = &self.own {
            return Ok(own.place);
        }
        let own = OwnWord::new(self.doorbell)?;
        if self.is_armed {
            // Another thread sleeps. No process knows of the word before.
            own.arm();
        }
        Ok(self.own.insert(own).place)
    }

    fn doorbell(&mut self, at: NearPlace) -> Result<Arc<dyn NearDoorbell>> {
        if let Some(known) = self.peers.get(&at).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let opened = Arc::new(PeerWord::open(at)?);
        self.peers.retain(|_, known| known.strong_count() > 0);
        self.peers.insert(at, Arc::downgrade(&opened));
        Ok(opened)
    }

    fn allocate(&mut self, len_bytes: usize) -> Result<Box<dyn NearSegment>> {
        let (file, memory) = shm::allocate(len_bytes.max(1))?;
        Ok(Box::new(HostSegment { place: place_of(&file)?, memory, len_bytes, _file: Some(file) }))
    }

    fn open(&mut self, at: NearPlace, len_bytes: usize) -> Result<Box<dyn NearSegment>> {
        let (pid, descriptor, inode) = parts(at);
        let memory = shm::map_of(pid, descriptor, inode as u32, len_bytes.max(1), true);
        let memory = memory.map_err(|error| {
            let why =
                format!("cannot map {len_bytes} bytes of process {pid} of this host: {error}");
            ErrorClass::Other.error(why)
        })?;
        Ok(Box::new(HostSegment { place: at, memory, len_bytes, _file: None }))
    }
}

impl NearSegment for HostSegment {
    fn place(&self) -> NearPlace {
        self.place
    }

    fn memory(&self) -> Span {
        // SAFETY: the mapping has so many bytes or more (`shm::allocate`, `shm::map_of`), and stays as long as
        // this value, as the trait says. Its file cannot shrink.
        unsafe { Span::new(self.memory.as_ptr(), self.len_bytes) }
    }
}

impl NearDoorbell for PeerWord {
    #[inline]
    fn ring_if(&self, is_awaited: &dyn Fn() -> bool) {
        if self.word.notify_if(self.fences, is_awaited) {
            self.doorbell.ring();
        }
    }
}

impl fmt::Debug for PeerWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerWord").field("doorbell", &self.doorbell).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use platform::sys::doorbell::Doorbell;
    use platform::sys::poll::is_readable;

    #[test]
    fn a_segment_has_the_same_bytes_at_both_ends_and_outlives_its_place() {
        let bell = Doorbell::new().unwrap();
        let mut sharing = HostSharing::new(bell.address());
        let made = sharing.allocate(5000).unwrap();
        let opened = sharing.open(made.place(), 5000).unwrap();
        made.memory().part(4999, 1).write(0, &[7]);
        let mut byte = [0];
        opened.memory().part(4999, 1).read(0, &mut byte);
        assert_eq!((byte, opened.memory().len()), ([7], 5000));
        let NearPlace([at, inode]) = made.place();
        for (wrong, len) in [([at, inode + 1], 5000), ([at, inode], 5001), ([0, inode], 1)] {
            let error = sharing.open(NearPlace(wrong), len).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::Other as i32, "{error}");
        }
        let place = made.place();
        drop(made);
        assert!(sharing.open(place, 5000).is_err());
        opened.memory().part(0, 1).write(0, &[1]);
    }

    #[test]
    fn a_process_is_opened_once_while_it_is_in_use_and_woken_only_if_it_sleeps() {
        let bell = Doorbell::new().unwrap();
        let mut sharing = HostSharing::new(bell.address());
        // A thread sleeps before the first segment.
        sharing.arm();
        let at = sharing.own_doorbell().unwrap();
        assert_eq!(sharing.own_doorbell().unwrap(), at);
        let [one, other] = [at, at].map(|at| sharing.doorbell(at).unwrap());
        assert!(Arc::ptr_eq(&one, &other) && !is_readable(&bell, Duration::ZERO));
        let rings = || {
            one.ring();
            let rings = is_readable(&bell, Duration::ZERO);
            bell.drain();
            rings
        };
        assert!(rings());
        sharing.disarm();
        assert!(!rings());
        sharing.arm();
        assert!(rings() && !rings());
        drop((one, other));
        assert_eq!(sharing.peers[&at].strong_count(), 0);
        let NearPlace([place, inode]) = at;
        assert!(sharing.doorbell(NearPlace([place, inode + 1])).is_err());
    }
}
