//! Segment buffers: a ring of segments that the source mirrors at the destination.
//!
//! ```text
//!   source                                          destination
//!   tail: the next segment to send                  head: the next segment to read
//!   ack:   segment ──copy──> buffer, then tail ──copy──> word       isacked: head < tail, there is data
//!          word <──copy── head                    ready: head + 1   isready: tail < head + number, room
//! ```
//!
//! Both ends tell each other the addresses of their memory by a message when they are made, and the end of
//! their use by another one. Counts only grow; what programs see is modulo the number of segments. The copy of
//! a count follows that of its data, as accesses to one rank take effect in their order.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::channel::TAGS_MAX;
use crate::hooks;
use crate::messages::{CommHandle, PostedMessage};

/// Tags of one segment buffer: offers and ends, in both directions.
const TAGS: c_int = 4;

/// The segment buffers of this process.
#[derive(Debug, Default)]
pub(crate) struct SegmentBuffers {
    /// Those made so far, by source and destination.
    made: BTreeMap<(u32, u32), c_int>,
    open: BTreeMap<u64, SegmentBuffer>,
    last: u64,
}

/// Memory of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentedMemory {
    pub(crate) buffer: *mut c_void,
    pub(crate) bytes_each: usize,
    pub(crate) count: usize,
}

// SAFETY: the memory is the program's; the pointer is only an address here.
unsafe impl Send for SegmentedMemory {}

/// One end of a segment buffer.
#[derive(Debug)]
pub(crate) struct SegmentBuffer {
    segments: SegmentedMemory,
    is_source: bool,
    peer: u32,
    tag: c_int,
    /// The address of the buffer, and of the words.
    keys: [u64; 2],
    /// The count that the other end tells, then the counts that this end tells, one behind the other.
    words: Box<[AtomicU64]>,
    /// What this end offers, and what the other one does: the buffer, and its word.
    offers: Box<[[u64; 2]; 2]>,
    messages: [PostedMessage; 2],
    /// The count of this end: the source's tail, the destination's head.
    count: u64,
    /// Segments whose copies have not been seen to complete, with the handles.
    in_progress: VecDeque<(u64, i64)>,
    /// The end of this side, once it has disconnected.
    ended: Option<PostedMessage>,
}

impl SegmentBuffers {
    /// An end of a segment buffer with another rank; its number. `None` for a wrong rank, no segments, or if the
    /// memory cannot be registered.
    ///
    /// # Safety
    /// The segments stay valid until the buffer has been freed, and other ranks may read and write them.
    pub(crate) unsafe fn create(
        &mut self, comm: CommHandle, is_source: bool, peer: c_int, segments: SegmentedMemory,
    ) -> Option<u64> {
        let (me, ranks) = comm.place();
        let peer = u32::try_from(peer).ok().filter(|peer| *peer < ranks && *peer != me)?;
        let bytes = segments.bytes_each.checked_mul(segments.count).filter(|bytes| *bytes > 0)?;
        let ends = if is_source { (me, peer) } else { (peer, me) };
        let made = self.made.entry(ends).or_default();
        let tag = made.checked_mul(TAGS)?.checked_add(TAGS_MAX)?;
        let words: Box<[AtomicU64]> = (0..segments.count + 2).map(|_| AtomicU64::new(0)).collect();
        // SAFETY: the caller's promise.
        let buffer = unsafe { hooks::register(segments.buffer, bytes, 0) };
        // SAFETY: the words are behind a box that lives until the registration has ended (`SegmentBuffer::free`).
        let own =
            unsafe { hooks::register(words.as_ptr().cast_mut().cast(), size_of_val(&*words), 0) };
        if buffer == 0 || own == 0 {
            [buffer, own].into_iter().filter(|key| *key != 0).for_each(|key| {
                hooks::unregister(key);
            });
            return None;
        }
        *made += 1;
        let mut offers = Box::new([[buffer, own], [0; 2]]);
        let tags = if is_source { [tag, tag + 1] } else { [tag + 1, tag] };
        let len = size_of::<[u64; 2]>();
        // SAFETY: the offers are behind a box that lives until both messages have ended.
        let messages = unsafe {
            let [ours, theirs] = &mut *offers;
            [
                comm.send(ours.as_ptr().cast(), len, peer, tags[0]),
                comm.receive(theirs.as_mut_ptr().cast(), len, peer, tags[1]),
            ]
        };
        self.last += 1;
        self.open.insert(
            self.last,
            SegmentBuffer {
                segments,
                is_source,
                peer,
                tag,
                keys: [buffer, own],
                words,
                offers,
                messages,
                count: 0,
                in_progress: VecDeque::new(),
                ended: None,
            },
        );
        Some(self.last)
    }

    pub(crate) fn get(&mut self, number: u64) -> Option<&mut SegmentBuffer> {
        self.open.get_mut(&number)
    }

    /// An end that is freed, without the lock.
    pub(crate) fn take(&mut self, number: u64) -> Option<SegmentBuffer> {
        self.open.remove(&number)
    }

    /// Ends all, on all ranks together, after a barrier of channels.
    pub(crate) fn end(self) {
        for buffer in self.open.into_values() {
            let SegmentBuffer { messages, ended, words, .. } = buffer;
            messages.into_iter().chain(ended).for_each(PostedMessage::cancel);
            // The end of the basic layer ends their registration, after the accesses of all ranks.
            Box::leak(words);
        }
    }
}

impl SegmentBuffer {
    /// Waits for the other end.
    pub(crate) fn connect(&mut self) {
        self.messages.iter_mut().for_each(|message| {
            message.wait();
        });
    }

    /// Whether the other end is there.
    pub(crate) fn is_connected(&mut self) -> bool {
        self.ended.is_none() && self.messages.iter_mut().all(PostedMessage::has_ended)
    }

    fn number_of_segments(&self) -> u64 {
        self.segments.count as u64
    }

    /// The count that the other end has told.
    fn told(&self) -> u64 {
        self.words[0].load(Ordering::Acquire)
    }

    /// The source: whether there is room for a segment.
    pub(crate) fn has_room(&self) -> Option<bool> {
        self.is_source.then(|| self.count - self.told() < self.number_of_segments())
    }

    /// The destination: whether there is a segment.
    pub(crate) fn has_data(&self) -> Option<bool> {
        (!self.is_source).then(|| self.told() > self.count)
    }

    /// The source sends the segment at its tail; false if there is no room, or no other end.
    pub(crate) fn send(&mut self) -> bool {
        if !self.is_connected() || self.has_room() != Some(true) {
            return false;
        }
        let bytes = self.segments.bytes_each;
        let at = (self.count % self.number_of_segments()) * bytes as u64;
        let [[own, _], [theirs, _]] = *self.offers;
        let copied = hooks::copy(theirs + at, own + at, bytes, 0);
        let told = copied != 0 && self.tell();
        self.in_progress.push_back((self.count, copied));
        told
    }

    /// The destination has read the segment at its head; false if there is none, or no other end.
    pub(crate) fn release(&mut self) -> bool {
        self.is_connected() && self.has_data() == Some(true) && self.tell()
    }

    /// Counts a segment, and tells the other end.
    fn tell(&mut self) -> bool {
        self.count += 1;
        // The other end has seen a count before its word is used again: there are more words than segments.
        let at = 1 + self.count as usize % (self.words.len() - 1);
        self.words[at].store(self.count, Ordering::Release);
        let [[_, own], [_, theirs]] = *self.offers;
        let word = size_of::<u64>();
        hooks::copy(theirs, own + (at * word) as u64, word, 0) != 0
    }

    /// The index of the next segment to read, as this end knows it.
    pub(crate) fn head(&self) -> u64 {
        (if self.is_source { self.told() } else { self.count }) % self.number_of_segments()
    }

    /// The index of the next segment to send, as this end knows it.
    pub(crate) fn tail(&self) -> u64 {
        (if self.is_source { self.count } else { self.told() }) % self.number_of_segments()
    }

    /// The source: the index of the first segment that may not be overwritten yet.
    pub(crate) fn sent(&mut self) -> Option<u64> {
        while let Some((_, handle)) = self.in_progress.front() {
            if hooks::inquire(*handle) != 0 {
                break;
            }
            self.in_progress.pop_front();
        }
        let first = self.in_progress.front().map_or(self.count, |(count, _)| count - 1);
        self.is_source.then(|| first % self.number_of_segments())
    }

    /// Tells the other end that this one is not used any more; false if that has been told.
    pub(crate) fn disconnect(&mut self, comm: CommHandle) -> bool {
        if self.ended.is_some() {
            return false;
        }
        let tag = self.tag + if self.is_source { 2 } else { 3 };
        // SAFETY: a message of no bytes.
        self.ended = Some(unsafe { comm.send(std::ptr::null(), 0, self.peer, tag) });
        true
    }

    /// Waits until the other end has disconnected, and gives up the memory.
    pub(crate) fn free(mut self, comm: CommHandle) {
        self.connect();
        hooks::complete(hooks::HANDLE_ALL);
        self.disconnect(comm);
        let tag = self.tag + if self.is_source { 3 } else { 2 };
        // SAFETY: a message of no bytes.
        let mut end = unsafe { comm.receive(std::ptr::null_mut(), 0, self.peer, tag) };
        end.wait();
        self.ended.iter_mut().for_each(|ended| {
            ended.wait();
        });
        self.keys.into_iter().for_each(|key| {
            hooks::unregister(key);
        });
    }
}
