//! The rings and the split copy: every packet arrives once, whole and in order, no wake-up is lost,
//! no piece is copied twice. The rings are tiny, so that they fill and wrap.
#![allow(unsafe_code)]

#[path = "../../src/devices/rings/mpsc_queue.rs"]
mod mpsc_queue;
#[path = "../../src/devices/shm/split_copy.rs"]
mod split_copy;
#[path = "../../src/devices/rings/spsc_ring.rs"]
mod spsc_ring;
#[path = "../../src/devices/rings/wake_word.rs"]
pub mod wake_word;

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::device::{Busy, Header, SplitEnd};
use crate::primitive;
use mpsc_queue::QueueArrival;
use wake_word::WakeWord;

type Ring = spsc_ring::SpscRing<2, 256>;
type QueueCells = mpsc_queue::QueueCells<2>;
type QueueSlots = mpsc_queue::QueueSlots<2, 64>;
type Queue = mpsc_queue::MpscQueue<Arc<QueueCells>, Arc<QueueSlots>>;
type QueueReader = mpsc_queue::QueueReader<Arc<QueueCells>, Arc<QueueSlots>>;

fn queue() -> Queue {
    // SAFETY: new memory.
    unsafe { Queue::new(Arc::new(QueueCells::new()), Arc::new(QueueSlots::new())) }
}

fn header(number: u64) -> Header {
    Header { words: [number, !number], kind: number as u8 }
}

/// Packet `number` has this many bytes with this value: in turn inside and outside a cell.
pub fn content(number: u64) -> (usize, u8) {
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

fn send_all(ring: Arc<Ring>, numbers: std::ops::Range<u64>) {
    // SAFETY: each test has one sender per ring.
    let mut writer = unsafe { spsc_ring::RingWriter::new(ring, 256) };
    for number in numbers {
        until_sent(|| writer.send(&header(number), content(number).0, fill(number)));
    }
}

#[test]
fn ring_delivers_in_order_and_wraps() {
    // Five packets in two cells, three of them inside.
    crate::check(|| {
        let ring = Arc::new(Ring::new());
        let sender = thread::spawn({
            let ring = ring.clone();
            move || send_all(ring, 0..5)
        });
        // SAFETY: the only receiver.
        let mut reader = unsafe { spsc_ring::RingReader::new(ring, 256) };
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
fn ring_bytes_wrap() {
    // Cells for all packets, bytes for four at a time; five are sent.
    type Ring = spsc_ring::SpscRing<8, 256>;
    crate::check(|| {
        let ring = Arc::new(Ring::new());
        let sender = thread::spawn({
            let ring = ring.clone();
            move || {
                // SAFETY: the only sender.
                let mut writer = unsafe { spsc_ring::RingWriter::new(ring, 256) };
                for value in 0..5 {
                    let fill = |data: &mut [u8]| data.fill(value);
                    until_sent(|| writer.send(&header(0), 64, fill));
                }
            }
        });
        // SAFETY: the only receiver.
        let mut reader = unsafe { spsc_ring::RingReader::new(ring, 256) };
        for value in 0..5 {
            while !reader.next(|_, data| assert_eq!(data, [value; 64])) {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
    });
}

/// Sends `count` packets as `from`, each once, and returns how many the queue accepted.
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
fn queue_keeps_the_order_of_each_sender() {
    crate::check(|| {
        let queue = queue();
        let other = thread::spawn({
            let queue = queue.clone();
            move || try_all(&queue, 0, 2)
        });
        let receiver = thread::spawn({
            let queue = queue.clone();
            move || {
                // SAFETY: the only receiver.
                let mut reader = unsafe { QueueReader::new(queue) };
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

/// Takes a packet, if there is one; `next` has the number of the next packet of each sender.
fn receive(reader: &mut QueueReader, next: &mut [u64; 2]) {
    reader.next(|arrival| match arrival {
        QueueArrival::Packet { from, header, data } => {
            check(next[from as usize], &header, data);
            next[from as usize] += 1;
        }
        QueueArrival::Switch { .. } => panic!("no sender switches"),
    });
}

/// A sender stops between taking a cell and filling it, until the receiver has the packets of another.
#[test]
fn queue_passes_a_sender_that_has_stopped() {
    crate::check(|| {
        let queue = queue();
        let goes_on = Arc::new((primitive::AtomicU32::new(0), Futex::new()));
        let stopped = thread::spawn({
            let (queue, goes_on) = (queue.clone(), goes_on.clone());
            move || {
                let fill = |data: &mut [u8]| {
                    goes_on.1.wait(&goes_on.0, 0);
                    fill(0)(data);
                };
                queue.send(0, &header(0), 3, fill).expect("two packets fill the queue");
            }
        });
        let sender = thread::spawn({
            let queue = queue.clone();
            move || until_sent(|| queue.send(1, &header(0), 3, fill(0)))
        });
        // SAFETY: the only receiver.
        let mut reader = unsafe { QueueReader::new(queue) };
        let mut next = [0; 2];
        for from in [1, 0] {
            while next[from] == 0 {
                receive(&mut reader, &mut next);
                thread::yield_now();
            }
            goes_on.0.store(1, primitive::Ordering::Relaxed);
            goes_on.1.wake();
        }
        assert_eq!(reader.count(), 2);
        stopped.join().unwrap();
        sender.join().unwrap();
    });
}

#[test]
fn queue_wraps() {
    crate::check(|| {
        let queue = queue();
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
        let mut reader = unsafe { QueueReader::new(queue) };
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
fn switching_to_a_ring_keeps_order() {
    crate::check(|| {
        let (queue, ring) = (queue(), Arc::new(Ring::new()));
        let sender = thread::spawn({
            let (queue, ring) = (queue.clone(), ring.clone());
            move || {
                until_sent(|| queue.send(0, &header(0), 3, fill(0)));
                until_sent(|| queue.switch(0, 5));
                send_all(ring, 1..3);
            }
        });
        // SAFETY: the only receivers.
        let mut queue = unsafe { QueueReader::new(queue) };
        // SAFETY: as above.
        let mut ring = unsafe { spsc_ring::RingReader::new(ring, 256) };
        let (mut next, mut switched) = (0, false);
        while next < 3 {
            let mut moved = queue.next(|arrival| match arrival {
                QueueArrival::Packet { header, data, .. } => {
                    check(next, &header, data);
                    next += 1;
                }
                QueueArrival::Switch { from, ring } => {
                    assert_eq!((from, ring, next), (0, 5, 1));
                    switched = true;
                }
            });
            if switched && ring.next(|seen, data| check(next, seen, data)) {
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

/// Both ends copy a message of two pieces, the sender sometimes too late; then the receiver begins
/// another message. Loom reports a piece that both copy, or that the last one out does not see.
#[test]
fn pieces_are_copied_once_and_the_last_side_sees_all() {
    const LEN: usize = 8192;
    const PIECE: usize = 4096;
    fn copy(pieces: &[primitive::SharedCell<u32>], start: usize) {
        // SAFETY: what the test is about; loom checks it.
        unsafe { pieces[start / PIECE].store(pieces[start / PIECE].load() + 1) };
    }
    fn check(pieces: &[primitive::SharedCell<u32>]) {
        for piece in pieces {
            // SAFETY: as above.
            assert_eq!(unsafe { piece.load() }, 1);
        }
    }
    crate::check(|| {
        let split = Arc::new(split_copy::SplitCopy::new());
        let pieces = Arc::new([primitive::SharedCell::new(0), primitive::SharedCell::new(0)]);
        let generation = split.begin(PIECE as u64, LEN).unwrap();
        let sender = {
            let (split, pieces) = (split.clone(), pieces.clone());
            thread::spawn(move || {
                let mut last = false;
                // It leaves after each piece, and returns.
                while let Some(piece) = split.take_back(generation, LEN) {
                    assert_eq!(piece.to, (PIECE + piece.range.start) as u64);
                    copy(&pieces[..], piece.range.start);
                    assert!(!last, "nothing is left after the end");
                    last = split.leave_back() == SplitEnd::Completed;
                }
                if last {
                    check(&pieces[..]);
                }
                last
            })
        };
        while let Some(range) = split.take_front() {
            copy(&pieces[..], range.start);
        }
        let last = match split.leave_front() {
            SplitEnd::Completed => {
                check(&pieces[..]);
                // The next message: a sender that comes late must not touch it.
                assert!(split.begin(0, 1 << 20).is_some());
                true
            }
            SplitEnd::PeerPending => false,
            SplitEnd::Failed | SplitEnd::Paused => unreachable!("nothing failed"),
        };
        assert!(sender.join().unwrap() != last, "exactly one side completes the copy");
    });
}

/// futex(2) with as little memory order as it guarantees: the waiter reads the word under a lock
/// that only wakers take besides.
pub struct Futex {
    lock: Mutex<()>,
    waiters: Condvar,
}

impl Futex {
    pub fn new() -> Self {
        Self { lock: Mutex::new(()), waiters: Condvar::new() }
    }

    pub fn wait(&self, word: &primitive::AtomicU32, expected: u32) {
        let mut guard = self.lock.lock().unwrap();
        while word.load(primitive::Ordering::Relaxed) == expected {
            guard = self.waiters.wait(guard).unwrap();
        }
    }

    pub fn wake(&self) {
        let _guard = self.lock.lock().unwrap();
        self.waiters.notify_all();
    }
}

/// The receiver sleeps when it finds nothing; a lost wake-up is a deadlock, which loom reports.
fn sleeping_receiver(senders: usize, packets: usize) {
    crate::check(move || {
        let queue = queue();
        let (wake_word, futex) = (Arc::new(WakeWord::new()), Arc::new(Futex::new()));
        let sender = |_| {
            let (queue, wake_word, futex) = (queue.clone(), wake_word.clone(), futex.clone());
            thread::spawn(move || {
                for _ in 0..packets {
                    until_sent(|| queue.send(0, &header(0), 3, fill(0)));
                    if wake_word.notify(true) {
                        futex.wake();
                    }
                }
            })
        };
        let threads: Vec<_> = (0..senders).map(sender).collect();
        // SAFETY: the only receiver.
        let mut reader = unsafe { QueueReader::new(queue.clone()) };
        let mut arrived = 0;
        while arrived < senders * packets {
            if reader.next(|_| ()).is_some() {
                arrived += 1;
                continue;
            }
            let expected = wake_word.arm();
            match reader.next(|_| ()) {
                Some(()) => arrived += 1,
                None => futex.wait(wake_word.word(), expected),
            }
            wake_word.disarm();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn no_wake_up_is_lost_with_one_sender() {
    sleeping_receiver(1, 2);
}

#[test]
fn no_wake_up_is_lost_with_two_senders() {
    sleeping_receiver(2, 1);
}
