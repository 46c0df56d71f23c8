//! SegmentPool under the model checker, with rings of two entries: readers tell at once what they are
//! done with, and the third round takes the place of the first.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use loom::thread;

use super::primitive::{AtomicU32, Ordering};
use super::room::{self, SlotHeader};
use super::wake_word::WakeWord;
use super::{Futex, content};

type Seat = room::Seat<2>;
type Store = room::Store<2, 64>;
type Room = room::SizedSegment<2, 64>;

/// Where a room is.
struct TestSegment {
    slots: Vec<Seat>,
    buffers: Vec<Store>,
    words: [AtomicU32; 1],
}

impl TestSegment {
    /// Claimed, for so many slots.
    fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self {
            slots: (0..slots).map(|_| Seat::new()).collect(),
            buffers: (0..slots).map(|_| Store::new()).collect(),
            words: [AtomicU32::new(1)],
        })
    }

    fn enter(self: &Arc<Self>, local_rank: usize) -> Room {
        let (slots, buffers) = (NonNull::from(&self.slots[..]), NonNull::from(&self.buffers[..]));
        // SAFETY: each test enters a local_rank once after the room was new or cleared.
        unsafe { Room::new(0, local_rank, slots, buffers, self.clone()) }
    }
}

fn header(round: u64) -> SlotHeader {
    SlotHeader { kind: round as u8, root: !(round as u32), bytes: round << 40 }
}

/// Publishes, if there is an entry, what `check` expects: in turn inside and outside a line.
fn publish(room: &mut Room, round: u64) -> bool {
    let (len, value) = content(round);
    let Some(span) = room.entry(round, len) else { return false };
    span.write(0, &vec![value + room.local_rank() as u8; len]);
    room.publish(round, header(round));
    true
}

/// Whether the entry is there; if so it is whole.
fn check(room: &mut Room, local_rank: usize, round: u64) -> bool {
    let Some((seen, span)) = room.read(local_rank, round) else { return false };
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

#[test]
fn loom_room_entries_are_whole_and_used_again_when_all_are_done() {
    loom::model(|| {
        let place = TestSegment::new(2);
        let mut reader = place.enter(1);
        let mut publisher = place.enter(0);
        let thread = thread::spawn(move || {
            for round in 1..=4 {
                until(|| publish(&mut publisher, round));
            }
        });
        for round in 1..=4 {
            until(|| check(&mut reader, 0, round));
            let _told = reader.done(round);
        }
        thread.join().unwrap();
    });
}

/// Nobody has patience here: three who wait for each other are too many for the checker.
#[test]
fn loom_room_entries_wait_for_the_last_of_several_readers() {
    loom::model(|| {
        let place = TestSegment::new(3);
        let mut publisher = place.enter(0);
        let readers: Vec<_> = (1..3)
            .map(|local_rank| {
                let mut reader = place.enter(local_rank);
                thread::spawn(move || {
                    let seen = check(&mut reader, 0, 1);
                    seen && reader.done(1)
                })
            })
            .collect();
        assert!(publish(&mut publisher, 1));
        let again = publish(&mut publisher, 3);
        let published_done = readers.into_iter().all(|reader| reader.join().unwrap());
        assert!(published_done || !again);
    });
}

/// Each publishes a round ahead of what it reads, and learns how far the other is by its entries
/// too.
#[test]
fn loom_room_exchanges() {
    fn exchange(mut room: Room) {
        let other = 1 - room.local_rank();
        assert!(publish(&mut room, 1));
        for round in 1..=3 {
            if round < 3 {
                until(|| publish(&mut room, round + 1));
            }
            until(|| check(&mut room, other, round));
            let _told = room.done(round);
        }
    }
    loom::model(|| {
        let place = TestSegment::new(2);
        let (one, two) = (place.enter(0), place.enter(1));
        let thread = thread::spawn(move || exchange(one));
        exchange(two);
        thread.join().unwrap();
    });
}

/// A local_rank publishes and leaves, the other only leaves; whoever takes the room after them finds it
/// as new.
#[test]
fn loom_room_is_as_new_when_all_have_left() {
    loom::model(|| {
        let place = TestSegment::new(2);
        let (mut one, two) = (place.enter(0), place.enter(1));
        let thread = thread::spawn({
            let place = place.clone();
            move || {
                assert!(publish(&mut one, 1) && publish(&mut one, 2));
                one.leave(&place.words[0]);
            }
        });
        two.leave(&place.words[0]);
        until(|| room::claim(&place.words).is_some());
        let mut next = place.enter(0);
        assert!((1..3).all(|round| next.read(0, round).is_none() && next.read(1, round).is_none()));
        assert!(publish(&mut next, 1) && publish(&mut next, 2));
        thread.join().unwrap();
    });
}

/// Who reads last may find that the publisher has left.
#[test]
fn loom_room_entries_outlive_their_publisher() {
    loom::model(|| {
        let place = TestSegment::new(2);
        let (mut one, mut two) = (place.enter(0), place.enter(1));
        let thread = thread::spawn({
            let place = place.clone();
            move || {
                assert!(publish(&mut one, 1));
                one.leave(&place.words[0]);
                if room::claim(&place.words).is_some() {
                    assert!(publish(&mut place.enter(0), 1));
                }
            }
        });
        until(|| check(&mut two, 0, 1));
        two.leave(&place.words[0]);
        thread.join().unwrap();
        assert!(place.words[0].load(Ordering::Relaxed) < 2);
    });
}

/// What a rank sleeps on.
struct SleepTest {
    wake_word: WakeWord,
    futex: Futex,
}

impl SleepTest {
    fn new() -> Arc<Self> {
        Arc::new(Self { wake_word: WakeWord::new(), futex: Futex::new() })
    }

    fn notify(&self) {
        if self.wake_word.notify(true) {
            self.futex.wake();
        }
    }

    /// Sleeps whenever there is nothing; a lost wake-up is a deadlock, which loom reports.
    fn sleep_until(&self, mut found: impl FnMut() -> bool) {
        while !found() {
            let expected = self.wake_word.arm();
            let over = found();
            if !over {
                self.futex.wait(self.wake_word.word(), expected);
            }
            self.wake_word.disarm();
            if over {
                return;
            }
        }
    }
}

/// The reader sleeps until something is published, the publisher until there is an entry.
#[test]
fn loom_room_wakes_readers_and_publishers() {
    loom::model(|| {
        let place = TestSegment::new(2);
        let (mut publisher, mut reader) = (place.enter(0), place.enter(1));
        let beds = [SleepTest::new(), SleepTest::new()];
        let [own, other] = beds.clone();
        let thread = thread::spawn(move || {
            for round in 1..=3 {
                own.sleep_until(|| publish(&mut publisher, round));
                other.notify();
            }
        });
        for round in 1..=3 {
            beds[1].sleep_until(|| check(&mut reader, 0, round));
            if reader.done(round) {
                beds[0].notify();
            }
        }
        thread.join().unwrap();
    });
}
