//! The rings, and the rooms, under the model checker loom: every interleaving and every value that the memory
//! model allows a load to return. The same sources, on loom's atomics and with tiny rings.
//!
//! `scripts/loom` runs it.
#![allow(unsafe_code)]

#[path = "../rings/mpsc_queue.rs"]
mod mpsc_queue;
#[path = "../../shared_memory/model_primitive.rs"]
mod primitive;
#[path = "../../shared_memory/segment.rs"]
mod segment;
#[path = "model_segments.rs"]
mod segments;
#[path = "split_copy.rs"]
mod split_copy;
#[path = "../rings/spsc_ring.rs"]
mod spsc_ring;
#[path = "../rings/wake_word.rs"]
mod wake_word;

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::device::{Busy, Header, JointEnd};
use doze::Doze;
use queue::Arrival;

type Lane = lane::Lane<2, 256>;
type Queue = queue::Queue<2, 64>;

fn header(number: u64) -> Header {
    Header { words: [number, !number], kind: number as u8 }
}

/// Packet `number` has this many bytes with this value: in turn inside and outside a cell.
fn content(number: u64) -> (usize, u8) {
    (if number.is_multiple_of(2) { 3 } else { 60 }, number as u8 + 1)
}

fn fill(number: u64) -> impl FnOnce(&mut [u8]) {
    move |data| data.fill(content(number).1)
}

fn check(number: u64, seen: &Header, data: &[u8]) {
    assert_eq!(*seen, header(number));
    let (len, value) = content(number);
    assert_eq!(data, vec![value; len]);
}

fn until_sent(mut send: impl FnMut() -> Result<(), Busy>) {
    while send().is_err() {
        thread::yield_now();
    }
}

fn send_all(lane: Arc<Lane>, numbers: std::ops::Range<u64>) {
    // SAFETY: each test has one sender per lane.
    let mut writer = unsafe { lane::Writer::new(lane, 256) };
    for number in numbers {
        until_sent(|| writer.send(&header(number), content(number).0, fill(number)));
    }
}

#[test]
fn loom_lane_delivers_in_order_and_wraps() {
    // Five packets in two cells, three of them inside.
    loom::model(|| {
        let lane = Arc::new(Lane::new());
        let sender = thread::spawn({
            let lane = lane.clone();
            move || send_all(lane, 0..5)
        });
        // SAFETY: the only receiver.
        let mut reader = unsafe { lane::Reader::new(lane, 256) };
        for number in 0..5 {
            while !reader.next(|seen, data| check(number, seen, data)) {
                thread::yield_now();
            }
        }
        assert!(!reader.next(|_, _| ()));
        sender.join().unwrap();
    });
}

#[test]
fn loom_lane_bytes_wrap() {
    // Cells for everybody, bytes for four packets at a time, five sent.
    type Lane = lane::Lane<8, 256>;
    loom::model(|| {
        let lane = Arc::new(Lane::new());
        let sender = thread::spawn({
            let lane = lane.clone();
            move || {
                // SAFETY: the only sender.
                let mut writer = unsafe { lane::Writer::new(lane, 256) };
                for value in 0..5 {
                    let fill = |data: &mut [u8]| data.fill(value);
                    until_sent(|| writer.send(&header(0), 64, fill));
                }
            }
        });
        // SAFETY: the only receiver.
        let mut reader = unsafe { lane::Reader::new(lane, 256) };
        for value in 0..5 {
            while !reader.next(|_, data| assert_eq!(data, [value; 64])) {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
    });
}

/// Sends `count` packets as `from`, without patience, and returns how many were not refused.
fn try_all(queue: &Queue, from: u32, count: u64) -> u64 {
    let mut number = 0;
    for _ in 0..count {
        if queue.send(from, &header(number), content(number).0, fill(number)).is_ok() {
            number += 1;
        }
    }
    number
}

#[test]
fn loom_queue_keeps_the_order_of_each_sender() {
    loom::model(|| {
        let queue = Arc::new(Queue::new());
        let other = thread::spawn({
            let queue = queue.clone();
            move || try_all(&queue, 0, 2)
        });
        let receiver = thread::spawn({
            let queue = queue.clone();
            move || {
                // SAFETY: the only receiver.
                let mut reader = unsafe { queue::Reader::new(queue) };
                let mut next = [0; 2];
                (0..2).for_each(|_| receive(&mut reader, &mut next));
                (reader, next)
            }
        });
        let sent_here = try_all(&queue, 1, 2);
        let sent = [other.join().unwrap(), sent_here];
        let (mut reader, mut next) = receiver.join().unwrap();
        (0..2).for_each(|_| receive(&mut reader, &mut next));
        assert_eq!(next, sent);
    });
}

/// Takes a packet, if there is one, from a sender whose next one has the number in `next`.
fn receive(reader: &mut queue::Reader<Arc<Queue>>, next: &mut [u64; 2]) {
    reader.next(|arrival| match arrival {
        Arrival::Packet { from, header, data } => {
            check(next[from as usize], &header, data);
            next[from as usize] += 1;
        }
        Arrival::Switch { .. } => panic!("nobody switches"),
    });
}

#[test]
fn loom_queue_wraps() {
    loom::model(|| {
        let queue = Arc::new(Queue::new());
        let sender = thread::spawn({
            let queue = queue.clone();
            move || {
                for number in 0..5 {
                    let (len, _) = content(number);
                    until_sent(|| queue.send(0, &header(number), len, fill(number)));
                }
            }
        });
        // SAFETY: the only receiver.
        let mut reader = unsafe { queue::Reader::new(queue) };
        let mut next = [0; 2];
        while next[0] < 5 {
            let before = next;
            receive(&mut reader, &mut next);
            if next == before {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn loom_switching_to_a_lane_keeps_order() {
    loom::model(|| {
        let (queue, lane) = (Arc::new(Queue::new()), Arc::new(Lane::new()));
        let sender = thread::spawn({
            let (queue, lane) = (queue.clone(), lane.clone());
            move || {
                until_sent(|| queue.send(0, &header(0), 3, fill(0)));
                until_sent(|| queue.switch(0, 5));
                send_all(lane, 1..3);
            }
        });
        // SAFETY: the only receivers.
        let mut queue = unsafe { queue::Reader::new(queue) };
        // SAFETY: as above.
        let mut lane = unsafe { lane::Reader::new(lane, 256) };
        let (mut next, mut switched) = (0, false);
        while next < 3 {
            let mut moved = queue.next(|arrival| match arrival {
                Arrival::Packet { header, data, .. } => {
                    check(next, &header, data);
                    next += 1;
                }
                Arrival::Switch { from, lane } => {
                    assert_eq!((from, lane, next), (0, 5, 1));
                    switched = true;
                }
            });
            if switched && lane.next(|seen, data| check(next, seen, data)) {
                next += 1;
                moved = Some(());
            }
            if moved.is_none() {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
    });
}

/// Both ends copy a message of two pieces, the sender sometimes too late, then the receiver begins
/// with another one. Loom reports a piece that two copy at once, or that who ends it does not see.
#[test]
fn loom_pieces_are_copied_once_and_whoever_ends_it_sees_all() {
    const LEN: usize = 8192;
    const PIECE: usize = 4096;
    fn copy(pieces: &[primitive::Slot<u32>], start: usize) {
        // SAFETY: what the test is about; loom checks it.
        unsafe { pieces[start / PIECE].store(pieces[start / PIECE].load() + 1) };
    }
    fn check(pieces: &[primitive::Slot<u32>]) {
        for piece in pieces {
            // SAFETY: as above.
            assert_eq!(unsafe { piece.load() }, 1);
        }
    }
    loom::model(|| {
        let joint = Arc::new(joint::Joint::new());
        let pieces = Arc::new([primitive::Slot::new(0), primitive::Slot::new(0)]);
        let told = joint.begin(PIECE as u64, LEN).unwrap();
        let sender = {
            let (joint, pieces) = (joint.clone(), pieces.clone());
            thread::spawn(move || {
                let mut took = false;
                while let Some(piece) = joint.take_back(told, LEN) {
                    took = true;
                    assert_eq!(piece.to, (PIECE + piece.range.start) as u64);
                    copy(&pieces[..], piece.range.start);
                }
                let last = took && joint.leave_back() == JointEnd::Whole;
                if last {
                    check(&pieces[..]);
                }
                last
            })
        };
        while let Some(range) = joint.take_front() {
            copy(&pieces[..], range.start);
        }
        let last = match joint.leave_front() {
            JointEnd::Whole => {
                check(&pieces[..]);
                // The next message: a sender that comes late must not touch it.
                assert!(joint.begin(0, 1 << 20).is_some());
                true
            }
            JointEnd::Others => false,
            JointEnd::Broken => unreachable!("nothing failed"),
        };
        assert!(sender.join().unwrap() != last, "one of them is told, and only one");
    });
}

/// futex(2) with as little order of its own as it may have: waiting looks at the word under a
/// lock that only a waker takes.
struct Futex {
    lock: Mutex<()>,
    waiters: Condvar,
}

impl Futex {
    fn new() -> Self {
        Self { lock: Mutex::new(()), waiters: Condvar::new() }
    }

    fn wait(&self, word: &primitive::AtomicU32, expected: u32) {
        let mut guard = self.lock.lock().unwrap();
        while word.load(primitive::Ordering::Relaxed) == expected {
            guard = self.waiters.wait(guard).unwrap();
        }
    }

    fn wake(&self) {
        let _guard = self.lock.lock().unwrap();
        self.waiters.notify_all();
    }
}

/// The receiver sleeps whenever it finds nothing; a lost wake-up is a deadlock, which loom reports.
fn sleeping_receiver(senders: usize, packets: usize) {
    loom::model(move || {
        let queue = Arc::new(Queue::new());
        let (doze, futex) = (Arc::new(Doze::new()), Arc::new(Futex::new()));
        let sender = |_| {
            let (queue, doze, futex) = (queue.clone(), doze.clone(), futex.clone());
            thread::spawn(move || {
                for _ in 0..packets {
                    until_sent(|| queue.send(0, &header(0), 3, fill(0)));
                    if doze.ring(true) {
                        futex.wake();
                    }
                }
            })
        };
        let threads: Vec<_> = (0..senders).map(sender).collect();
        // SAFETY: the only receiver.
        let mut reader = unsafe { queue::Reader::new(queue.clone()) };
        let mut arrived = 0;
        while arrived < senders * packets {
            if reader.next(|_| ()).is_some() {
                arrived += 1;
                continue;
            }
            let expected = doze.arm();
            match reader.next(|_| ()) {
                Some(()) => arrived += 1,
                None => futex.wait(doze.word(), expected),
            }
            doze.disarm();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn loom_no_wake_up_is_lost_with_one_sender() {
    sleeping_receiver(1, 2);
}

#[test]
fn loom_no_wake_up_is_lost_with_two_senders() {
    sleeping_receiver(2, 1);
}
