//! A segment that two processes share: a ring and a wake word for each of them.
//!
//! ```text
//!   layout, 4 KiB │ end 0: wake word, address, ring to it │ end 1: the same
//! ```
//!
//! The end that makes the segment is end 0. The other one opens it by its [`PairAddress`], which travels on
//! an authenticated connection, and sees by its inode that it is the right one. Both ring the doorbell that
//! the other has published in its wake word, so a sleep on the own doorbell covers all pairs.
//!
//! A *marker* is a packet of the pair itself, with two words for its user.

use std::os::fd::{AsRawFd, OwnedFd};

use super::memory::{Mapped, SegmentMemory, Shareable, digest};
use super::peer_address::{PeerAddress, PublishedAddress};
use super::primitive::{AtomicU32, Ordering, full_fence};
use super::read_trial::ReadTrial;
use super::receive_queues::{OVERSUBSCRIBED_RING_BYTES, PacketRing};
use super::spsc_ring::{RingReader, RingWriter};
use super::wake_word::{WakeMethod, WakeWord};
use crate::device::{Busy, Header};
use platform::base::{ErrorClass, Result, Span};
use platform::sys::doorbell::{DoorbellAddress, DoorbellHandle};
use platform::sys::{membarrier, shm};

/// The kind of a marker: no packet of this kind goes by a pair.
pub(crate) const MARKER: u8 = u8::MAX;

/// Bytes of packets in each ring. Long messages are read from the memory of their sender, and a process
/// may have many pairs, so the rings are small.
const RING_BYTES: usize = 2 * OVERSUBSCRIBED_RING_BYTES;

/// Where the ends begin.
const ENDS_AT: usize = 4096;

/// What one process reads.
#[repr(C, align(4096))]
struct EndArea {
    wake_word: WakeWord,
    address: PeerAddress,
    /// Whether the sender of the ring waits for room in it.
    wants_room: AtomicU32,
    ring: PacketRing,
}

// SAFETY: atomics, and cells of integers and bytes; readers check every value.
unsafe impl Shareable for EndArea {}

/// Where the other process finds the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairAddress {
    /// The process that has made it.
    pub(crate) pid: u32,
    /// The number of the descriptor there.
    pub(crate) descriptor: u32,
    /// The last bits of the inode.
    pub(crate) inode: u32,
}

/// What comes out of a ring.
pub(crate) enum PairArrival<'a> {
    /// A packet, valid during the call.
    Packet(&'a Header, &'a [u8]),
    /// The words of a marker.
    Marker([u64; 2]),
}

/// One end of a segment.
pub(crate) struct PairEnd {
    address: PairAddress,
    own: Mapped<EndArea>,
    other: Mapped<EndArea>,
    reader: RingReader<Mapped<PacketRing>>,
    writer: RingWriter<Mapped<PacketRing>>,
    /// That of the other end; `None` before that has opened the segment.
    doorbell: Option<DoorbellHandle>,
    /// Whether senders use full fences: membarriers of the other end do not reach this process.
    fences: bool,
    /// The descriptor, until the other end has opened the segment.
    file: Option<OwnedFd>,
    /// Whether the memory of the other process can be read, once that was tried.
    is_readable: Option<bool>,
    /// What the other process reads.
    _published: PublishedAddress,
}

impl PairEnd {
    /// Makes a segment; sleeps of this process wait for `doorbell`.
    ///
    /// # Errors
    /// `NoMem` without memory or descriptors.
    pub(crate) fn create(doorbell: DoorbellAddress) -> Result<Self> {
        let (file, memory) = shm::allocate(segment_bytes())?;
        let inode =
            shm::inode(&file).map_err(|error| ErrorClass::NoMem.error(error.to_string()))?;
        let address = PairAddress {
            pid: std::process::id(),
            descriptor: file.as_raw_fd().cast_unsigned(),
            inode: inode as u32,
        };
        let memory = SegmentMemory::over(memory, layout())?;
        let mut end = Self::attach(&memory, 0, address, doorbell)?;
        end.file = Some(file);
        Ok(end)
    }

    /// Opens the segment of another process.
    ///
    /// # Errors
    /// Why that is not possible, for example because the other process is not of this host.
    pub(crate) fn open(address: PairAddress, doorbell: DoorbellAddress) -> Result<Self> {
        let PairAddress { pid, descriptor, inode } = address;
        let failed = |error: std::io::Error| {
            ErrorClass::Other.error(format!("cannot open the memory of process {pid}: {error}"))
        };
        let memory = shm::map_of(pid, descriptor, inode, segment_bytes(), true).map_err(failed)?;
        let memory = SegmentMemory::over(memory, layout())?;
        let mut end = Self::attach(&memory, 1, address, doorbell)?;
        end.connect().map_err(failed)?;
        Ok(end)
    }

    fn attach(
        memory: &SegmentMemory, own: usize, address: PairAddress, doorbell: DoorbellAddress,
    ) -> Result<Self> {
        let area = |end: usize| memory.part::<EndArea>(ENDS_AT + end * size_of::<EndArea>());
        let (own, other) = (area(own), area(1 - own));
        // One process at most gets this: it is the only reader of one ring and the only writer of the
        // other.
        let published = own.address.publish()?;
        let fences = !membarrier::register();
        if !membarrier::barrier() {
            own.wake_word.require_fences();
        }
        own.wake_word.publish_doorbell(doorbell);
        let (inbound, outbound) = (own.part(|end| &end.ring), other.part(|end| &end.ring));
        // SAFETY: the only reader and the only writer (above), with the same size at both ends.
        let (reader, writer) = unsafe {
            (RingReader::new(inbound, RING_BYTES), RingWriter::new(outbound, RING_BYTES))
        };
        let (doorbell, file, is_readable) = (None, None, None);
        let _published = published;
        Ok(Self {
            address,
            own,
            other,
            reader,
            writer,
            doorbell,
            fences,
            file,
            is_readable,
            _published,
        })
    }

    /// Opens the doorbell of the other end, which has opened the segment. If that is not possible, the
    /// other end must not sleep.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn connect(&mut self) -> std::io::Result<()> {
        self.file = None;
        let WakeMethod::Doorbell(address) = self.other.wake_word.wake_method() else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        match DoorbellHandle::open(address) {
            Ok(doorbell) => self.doorbell = Some(doorbell),
            Err(error) => {
                self.other.wake_word.withdraw_doorbell();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Where the segment was made.
    pub(crate) fn address(&self) -> PairAddress {
        self.address
    }

    /// Sends a packet of at most [`PACKET_MAX`](super::PACKET_MAX) bytes, which `fill` writes.
    ///
    /// # Errors
    /// [`Busy`] without room; [`PairEnd::has_room`] is worth a look when this end is woken.
    ///
    /// # Panics
    /// For a header whose kind is that of markers.
    #[inline]
    pub(crate) fn send(
        &mut self, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        assert_ne!(header.kind, MARKER);
        self.write(header, len, fill)
    }

    /// Sends a marker.
    ///
    /// # Errors
    /// As [`PairEnd::send`].
    pub(crate) fn send_marker(&mut self, words: [u64; 2]) -> Result<(), Busy> {
        self.write(&Header { words, kind: MARKER }, 0, |_| ())
    }

    #[inline]
    fn write(
        &mut self, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let mut fill = Some(fill);
        let mut fill_once = |packet: &mut [u8]| {
            if let Some(fill) = fill.take() {
                fill(packet);
            }
        };
        if self.writer.send(header, len, &mut fill_once).is_err() {
            self.other.wants_room.store(1, Ordering::SeqCst);
            // Room that came before the other end could see the wish.
            full_fence();
            self.writer.send(header, len, &mut fill_once)?;
        }
        self.wake_other();
        Ok(())
    }

    /// Whether a packet may fit now, after [`Busy`].
    pub(crate) fn has_room(&mut self) -> bool {
        self.other.wants_room.load(Ordering::Relaxed) == 0
    }

    /// Passes the next packet to `deliver`; false if none has arrived.
    #[inline]
    pub(crate) fn next(&mut self, deliver: impl FnOnce(PairArrival<'_>)) -> bool {
        let freed = self.reader.credit();
        let has_come = self.reader.next(|header, data| match header.kind {
            MARKER => deliver(PairArrival::Marker(header.words)),
            _ => deliver(PairArrival::Packet(header, data)),
        });
        if has_come && self.reader.credit() != freed {
            self.announce_room();
        }
        has_come
    }

    /// After a part of the ring has become free.
    #[cold]
    fn announce_room(&self) {
        full_fence();
        if self.own.wants_room.load(Ordering::Relaxed) != 0
            && self.own.wants_room.swap(0, Ordering::SeqCst) != 0
        {
            self.wake_other();
        }
    }

    /// A number that changes with every packet read.
    pub(crate) fn arrivals(&self) -> u64 {
        u64::from(self.reader.position())
    }

    #[inline]
    fn wake_other(&self) {
        if self.other.wake_word.notify(self.fences)
            && let Some(doorbell) = &self.doorbell
        {
            doorbell.ring();
        }
    }

    /// Prepares to sleep: a membarrier must follow, then a poll.
    pub(crate) fn arm(&self) {
        self.own.wake_word.arm();
    }

    /// Ends what [`PairEnd::arm`] began.
    pub(crate) fn disarm(&self) {
        self.own.wake_word.disarm();
    }

    /// Whether the other end cannot wake this one.
    pub(crate) fn must_poll(&self) -> bool {
        self.own.wake_word.wake_method() == WakeMethod::Unreachable
    }

    /// Whether the memory of the other process can be read.
    pub(crate) fn is_readable(&mut self) -> bool {
        let address = &self.other.address;
        *self.is_readable.get_or_insert_with(|| address.is_readable())
    }

    /// Reads the next bytes of a message from the memory of the other process. A failure is final.
    ///
    /// # Errors
    /// A sentence with the cause.
    pub(crate) fn read(
        &mut self, trial: &mut ReadTrial, from: u64, into: Span, done: usize,
    ) -> Result<usize, String> {
        let read = trial.read(self.other.address.pid(), from, into, done);
        read.inspect_err(|_| self.is_readable = Some(false))
    }
}

const fn segment_bytes() -> usize {
    ENDS_AT + 2 * size_of::<EndArea>()
}

fn layout() -> u64 {
    let sizes = [size_of::<EndArea>(), size_of::<PacketRing>(), RING_BYTES, usize::from(MARKER)];
    digest(sizes.into_iter().map(|size| size as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::sys::doorbell::Doorbell;
    use platform::sys::poll;
    use std::time::Duration;

    fn pair(doorbell: &Doorbell) -> (PairEnd, PairEnd) {
        let mut one = PairEnd::create(doorbell.address()).unwrap();
        let other = PairEnd::open(one.address(), doorbell.address()).unwrap();
        one.connect().unwrap();
        (one, other)
    }

    fn next(end: &mut PairEnd) -> Option<(u64, usize)> {
        let mut found = None;
        end.next(|arrival| {
            found = Some(match arrival {
                PairArrival::Packet(header, data) => (header.words[0], data.len()),
                PairArrival::Marker(words) => (words[0], usize::MAX),
            });
        });
        found
    }

    #[test]
    fn packets_and_markers_come_in_order() {
        let doorbell = Doorbell::new().unwrap();
        let (mut one, mut other) = pair(&doorbell);
        for number in 0..3 {
            let header = Header { words: [number, 0], kind: 7 };
            one.send(&header, 1000 * number as usize, |packet| packet.fill(1)).unwrap();
            one.send_marker([90 + number, 0]).unwrap();
            assert_eq!(next(&mut other), Some((number, 1000 * number as usize)));
            assert_eq!(next(&mut other), Some((90 + number, usize::MAX)));
            assert_eq!(next(&mut other), None);
        }
        other.send(&Header::default(), 0, |_| ()).unwrap();
        assert_eq!(next(&mut one), Some((0, 0)));
    }

    #[test]
    fn a_packet_and_room_wake_an_end_that_sleeps() {
        let doorbell = Doorbell::new().unwrap();
        let (mut one, mut other) = pair(&doorbell);
        other.arm();
        membarrier::barrier();
        one.send(&Header::default(), 0, |_| ()).unwrap();
        assert!(poll::is_readable(&doorbell, Duration::ZERO));
        doorbell.drain();
        while one.send(&Header::default(), 8, |_| ()).is_ok() {}
        assert!(!one.has_room() && !poll::is_readable(&doorbell, Duration::ZERO));
        one.arm();
        membarrier::barrier();
        while next(&mut other).is_some() {}
        assert!(one.has_room() && poll::is_readable(&doorbell, Duration::ZERO));
        one.send(&Header::default(), 8, |_| ()).unwrap();
    }

    #[test]
    fn another_segment_and_a_second_process_are_refused() {
        let doorbell = Doorbell::new().unwrap();
        let one = PairEnd::create(doorbell.address()).unwrap();
        let address = one.address();
        let wrong = PairAddress { inode: address.inode.wrapping_add(1), ..address };
        assert!(PairEnd::open(wrong, doorbell.address()).is_err());
        let _other = PairEnd::open(address, doorbell.address()).unwrap();
        assert!(PairEnd::open(address, doorbell.address()).is_err(), "it has two ends");
    }
}
