//! Shared segments of communicators with rings of two entries: readers publish at once what they are
//! done with, and round three reuses the entry of round one.
#![allow(unsafe_code)]

#[path = "../../src/shared_memory/segment.rs"]
mod segment;

use std::ptr::NonNull;
use std::sync::Arc;

use loom::thread;

use crate::primitive::{self, AtomicU32, Ordering};
use crate::rings::wake_word::WakeWord;
use crate::rings::{Futex, content};
use segment::{AwaitedEntry, PublishedFlag, SlotHeader};

type TestSegment = SegmentMemory<2, 64, 2>;
type Segment = segment::SizedSegment<2, 64, 2, 64>;

/// The memory of a segment.
struct SegmentMemory<const ENTRIES: usize, const SHORT: usize, const LONGS: usize> {
    slots: Vec<segment::SegmentSlot<ENTRIES>>,
    buffers: Vec<segment::SlotBuffer<ENTRIES, SHORT, LONGS, 64>>,
    words: [AtomicU32; 1],
}

impl<const ENTRIES: usize, const SHORT: usize, const LONGS: usize>
    SegmentMemory<ENTRIES, SHORT, LONGS>
{
    /// Claimed, with so many slots.
    fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self {
            slots: (0..slots).map(|_| segment::SegmentSlot::new()).collect(),
            buffers: (0..slots).map(|_| segment::SlotBuffer::new()).collect(),
            words: [AtomicU32::new(1)],
        })
    }

    fn enter(
        self: &Arc<Self>, local_rank: usize,
    ) -> segment::SizedSegment<ENTRIES, SHORT, LONGS, 64> {
        let (slots, buffers) = (NonNull::from(&self.slots[..]), NonNull::from(&self.buffers[..]));
        // SAFETY: each test enters a local rank once after the segment was new or cleared.
        unsafe { segment::SizedSegment::new(0, local_rank, slots, buffers, self.clone()) }
    }
}

fn header(round: u64) -> SlotHeader {
    SlotHeader { kind: round as u8, root: !(round as u32), bytes: round << 40 }
}

/// Publishes what `check` expects, if an entry is free: in turn inside and outside a line.
fn publish<const ENTRIES: usize, const SHORT: usize, const LONGS: usize>(
    segment: &mut segment::SizedSegment<ENTRIES, SHORT, LONGS, 64>, round: u64,
) -> bool {
    let (len, value) = content(round);
    let Some(span) = segment.entry(round, len) else { return false };
    span.write(0, &vec![value + segment.local_rank() as u8; len]);
    segment.publish(round, header(round));
    true
}

/// Whether the entry is published; if so it is whole.
fn check<const ENTRIES: usize, const SHORT: usize, const LONGS: usize>(
    segment: &mut segment::SizedSegment<ENTRIES, SHORT, LONGS, 64>, local_rank: usize, round: u64,
) -> bool {
    let Some((seen, span)) = segment.read(local_rank, round) else { return false };
    let (len, value) = content(round);
    let mut data = vec![0; span.len()];
    span.read(0, &mut data);
    assert_eq!((seen, data), (header(round), vec![value + local_rank as u8; len]));
    true
}

fn until(mut found: impl FnMut() -> bool) {
    while !found() {
        thread::yield_now();
    }
}

/// One rank publishes four rounds, the other reads them.
fn publish_and_read<const ENTRIES: usize, const SHORT: usize, const LONGS: usize>() {
    crate::check(|| {
        let memory = SegmentMemory::<ENTRIES, SHORT, LONGS>::new(2);
        let mut reader = memory.enter(1);
        let mut publisher = memory.enter(0);
        let thread = thread::spawn(move || {
            for round in 1..=4 {
                until(|| publish(&mut publisher, round));
            }
        });
        for round in 1..=4 {
            until(|| check(&mut reader, 0, round));
            let _published = reader.done(round, false);
        }
        thread.join().unwrap();
    });
}

#[test]
fn segment_entries_are_whole_and_used_again_when_all_are_done() {
    publish_and_read::<2, 64, 2>();
}

/// Long data have fewer places than there are entries: rounds one and three use the same. The reader tells of
/// round one before its usual interval.
#[test]
fn segment_places_of_long_data_are_used_again_when_all_are_done() {
    publish_and_read::<8, 40, 2>();
}

/// Without retries: three threads that wait for each other are too many for the checker.
#[test]
fn segment_entries_wait_for_the_last_of_several_readers() {
    crate::check(|| {
        let memory = TestSegment::new(3);
        let mut publisher = memory.enter(0);
        let readers: Vec<_> = (1..3)
            .map(|local_rank| {
                let mut reader = memory.enter(local_rank);
                thread::spawn(move || {
                    let seen = check(&mut reader, 0, 1);
                    seen && reader.done(1, false)
                })
            })
            .collect();
        assert!(publish(&mut publisher, 1));
        let again = publish(&mut publisher, 3);
        let published_done = readers.into_iter().all(|reader| reader.join().unwrap());
        assert!(published_done || !again);
    });
}

/// Each rank publishes a round ahead of its reads; entries also carry how far their publisher has
/// read.
#[test]
fn segment_exchanges() {
    fn exchange(mut segment: Segment) {
        let other = 1 - segment.local_rank();
        assert!(publish(&mut segment, 1));
        for round in 1..=3 {
            if round < 3 {
                until(|| publish(&mut segment, round + 1));
            }
            until(|| check(&mut segment, other, round));
            let _published = segment.done(round, false);
        }
    }
    crate::check(|| {
        let memory = TestSegment::new(2);
        let (one, two) = (memory.enter(0), memory.enter(1));
        let thread = thread::spawn(move || exchange(one));
        exchange(two);
        thread.join().unwrap();
    });
}

/// Of ranks that publish their flags at the same time, at least one sees all and can wake the others.
#[test]
fn segment_flags_are_seen_by_the_last() {
    fn publishes_last(segment: Segment, agreement: u32) -> bool {
        segment.publish_flag(agreement, 5 + segment.local_rank() as u32);
        let is_there = |rank| match segment.flag(rank, agreement) {
            PublishedFlag::Nothing => false,
            PublishedFlag::Flag(flag) => flag == 5 + rank as u32,
            PublishedFlag::Overwritten => panic!("no later agreement"),
        };
        (0..segment.len()).all(is_there)
    }
    crate::check(|| {
        let memory = TestSegment::new(3);
        let [one, two, three] = [0, 1, 2].map(|rank| memory.enter(rank));
        let threads = [two, three].map(|segment| thread::spawn(|| publishes_last(segment, 3)));
        let first = publishes_last(one, 3);
        let others = threads.map(|thread| thread.join().unwrap());
        assert!(first || others.contains(&true));
    });
}

/// One rank publishes and leaves, the other only leaves; the next owner finds the segment as new.
#[test]
fn segment_is_as_new_when_all_have_left() {
    crate::check(|| {
        let memory = TestSegment::new(2);
        let (mut one, two) = (memory.enter(0), memory.enter(1));
        let thread = thread::spawn({
            let memory = memory.clone();
            move || {
                assert!(publish(&mut one, 1) && publish(&mut one, 2));
                one.leave(&memory.words[0]);
            }
        });
        two.leave(&memory.words[0]);
        until(|| segment::claim(&memory.words).is_some());
        let mut next = memory.enter(0);
        assert!((1..3).all(|round| next.read(0, round).is_none() && next.read(1, round).is_none()));
        assert!(publish(&mut next, 1) && publish(&mut next, 2));
        thread.join().unwrap();
    });
}

/// The last reader may read after the publisher has left.
#[test]
fn segment_entries_outlive_their_publisher() {
    crate::check(|| {
        let memory = TestSegment::new(2);
        let (mut one, mut two) = (memory.enter(0), memory.enter(1));
        let thread = thread::spawn({
            let memory = memory.clone();
            move || {
                assert!(publish(&mut one, 1));
                one.leave(&memory.words[0]);
                if segment::claim(&memory.words).is_some() {
                    assert!(publish(&mut memory.enter(0), 1));
                }
            }
        });
        until(|| check(&mut two, 0, 1));
        two.leave(&memory.words[0]);
        thread.join().unwrap();
        assert!(memory.words[0].load(Ordering::Relaxed) < 2);
    });
}

/// A rank that can sleep.
pub struct Sleeper {
    wake_word: WakeWord,
    futex: Futex,
}

impl Sleeper {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { wake_word: WakeWord::new(), futex: Futex::new() })
    }

    pub fn notify(&self) {
        self.notify_if(|| true);
    }

    fn notify_if(&self, is_awaited: impl FnOnce() -> bool) {
        if self.wake_word.notify_if(true, is_awaited) {
            self.futex.wake();
        }
    }

    /// Sleeps until `found`; a lost wake-up is a deadlock, which loom reports.
    pub fn sleep_until(&self, mut found: impl FnMut() -> bool) {
        while !found() {
            let expected = self.wake_word.arm();
            let is_found = found();
            if !is_found {
                self.futex.wait(self.wake_word.word(), expected);
            }
            self.wake_word.disarm();
            if is_found {
                return;
            }
        }
    }
}

/// The reader sleeps until something is published, the publisher until there is an entry.
#[test]
fn segment_wakes_readers_and_publishers() {
    crate::check(|| {
        let memory = TestSegment::new(2);
        let (mut publisher, mut reader) = (memory.enter(0), memory.enter(1));
        let sleepers = [Sleeper::new(), Sleeper::new()];
        let [own, other] = sleepers.clone();
        let thread = thread::spawn(move || {
            for round in 1..=3 {
                own.sleep_until(|| publish(&mut publisher, round));
                other.notify();
            }
        });
        for round in 1..=3 {
            sleepers[1].sleep_until(|| check(&mut reader, 0, round));
            if reader.done(round, false) {
                sleepers[0].notify();
            }
        }
        thread.join().unwrap();
    });
}

/// A rank that reads the entry of rank 1, then that of rank 2, as a collective call does; each publisher
/// wakes it only if it awaits that entry.
#[test]
fn segment_wakes_a_reader_for_the_entry_that_it_awaits() {
    /// Reads what is published; whether all is. What it awaits is declared, or any entry.
    fn advance(reader: &mut Segment, seen: &mut usize) -> bool {
        loop {
            while *seen < 3 && check(reader, *seen, 1) {
                *seen += 1;
            }
            let next = AwaitedEntry::Of(*seen as u32);
            if *seen == 3 || [AwaitedEntry::Any, next].contains(&reader.awaited()) {
                return *seen == 3;
            }
            reader.declare_awaited(AwaitedEntry::Any);
        }
    }
    crate::check(|| {
        let memory = TestSegment::new(3);
        let mut reader = memory.enter(0);
        let sleeper = Sleeper::new();
        let publishers: Vec<_> = (1..3)
            .map(|local_rank| {
                let (mut publisher, sleeper) = (memory.enter(local_rank), sleeper.clone());
                thread::spawn(move || {
                    assert!(publish(&mut publisher, 1));
                    sleeper.notify_if(|| publisher.is_awaited_by(0));
                })
            })
            .collect();
        // It slept before it began the call.
        reader.declare_awaited(AwaitedEntry::None);
        let mut seen = 1;
        while !advance(&mut reader, &mut seen) {
            reader.declare_awaited(AwaitedEntry::Of(seen as u32));
            let expected = sleeper.wake_word.arm();
            if !advance(&mut reader, &mut seen) {
                sleeper.futex.wait(sleeper.wake_word.word(), expected);
            }
            sleeper.wake_word.disarm();
        }
        publishers.into_iter().for_each(|publisher| publisher.join().unwrap());
    });
}
