//! The fair lock of readers and writers: what it guards is never written beside another access, and
//! a rank that sleeps is woken.

#[path = "../../src/shared_memory/lock_claims.rs"]
mod lock_claims;
#[path = "../../src/shared_memory/turn_lock.rs"]
mod turn_lock;

use std::sync::Arc;

use loom::thread;

use crate::primitive::{self, AtomicU64, SharedCell};
use lock_claims::LockClaims;
use turn_lock::LockKind::{self, Exclusive, Shared};
use turn_lock::{LockTurn, TurnLock, TurnLockWords, WakeFence};

/// A lock for two ranks, and what it guards.
struct Guarded {
    words: TurnLockWords,
    places: [AtomicU64; 2],
    value: SharedCell<u32>,
}

impl Guarded {
    fn new() -> Arc<Self> {
        let places = [AtomicU64::new(0), AtomicU64::new(0)];
        Arc::new(Self { words: TurnLockWords::from(0), places, value: SharedCell::new(0) })
    }

    fn lock(&self) -> TurnLock<'_> {
        TurnLock::new(&self.words, &self.places, WakeFence::ByWaiter)
    }

    /// Asks, waits, and enters.
    fn enter(&self, kind: LockKind) -> LockTurn {
        let turn = self.lock().request(kind);
        while self.lock().try_enter(turn).is_none() {
            thread::yield_now();
        }
        turn
    }

    #[allow(unsafe_code)]
    fn add_one(&self) {
        let turn = self.enter(Exclusive);
        // SAFETY: loom checks that the lock is held by this thread only.
        unsafe { self.value.store(self.value.load() + 1) };
        self.lock().leave(turn);
    }

    #[allow(unsafe_code)]
    fn read(&self) -> u32 {
        let turn = self.enter(Shared);
        // SAFETY: loom checks that there is no writer.
        let value = unsafe { self.value.load() };
        self.lock().leave(turn);
        value
    }
}

#[test]
fn turn_lock_writers_exclude_each_other() {
    crate::check(|| {
        let guarded = Guarded::new();
        let other = guarded.clone();
        let thread = thread::spawn(move || other.add_one());
        guarded.add_one();
        thread.join().unwrap();
        assert_eq!(guarded.read(), 2);
    });
}

#[test]
fn turn_lock_readers_and_writers_exclude_each_other() {
    crate::check(|| {
        let guarded = Guarded::new();
        let other = guarded.clone();
        let thread = thread::spawn(move || {
            other.read();
            other.add_one();
        });
        guarded.add_one();
        assert!(guarded.read() >= 1);
        thread.join().unwrap();
    });
}

/// A reader sees what the last writer wrote, also if another reader entered between them. Without
/// retries: three threads that wait for each other are too many for the checker.
#[test]
#[allow(unsafe_code)]
fn turn_lock_readers_behind_readers_see_the_last_writer() {
    crate::check(|| {
        let guarded = Guarded::new();
        let writer = guarded.enter(Exclusive);
        let [first, second] = [(), ()].map(|()| guarded.lock().request(Shared));
        let (one, two) = (guarded.clone(), guarded.clone());
        let writing = thread::spawn(move || {
            // SAFETY: loom checks that the lock is held by this thread only.
            unsafe { one.value.store(1) };
            one.lock().leave(writer);
        });
        let reading = thread::spawn(move || two.lock().try_enter(first).is_some());
        let other = guarded.clone();
        let last = thread::spawn(move || {
            if other.lock().try_enter(second).is_some() {
                // SAFETY: loom checks that there is no writer.
                assert_eq!(unsafe { other.value.load() }, 1);
            }
        });
        last.join().unwrap();
        reading.join().unwrap();
        writing.join().unwrap();
    });
}

/// One rank leaves while another announces that it sleeps: one of them sees the other.
#[test]
fn turn_lock_wakes_who_sleeps() {
    for (held, wanted) in [(Exclusive, Exclusive), (Exclusive, Shared), (Shared, Exclusive)] {
        crate::check(move || {
            let guarded = Guarded::new();
            let (other, turn) = (guarded.clone(), guarded.enter(held));
            let thread = thread::spawn(move || other.lock().leave(turn));
            let waits = guarded.lock().request(wanted);
            guarded.lock().announce(waits, 1);
            let entered = guarded.lock().try_enter(waits).is_some();
            let woken = thread.join().unwrap();
            assert!(entered || woken == Some(1));
        });
    }
}

/// A reader that enters wakes the reader behind it.
#[test]
fn turn_lock_reader_wakes_the_next_reader() {
    crate::check(|| {
        let guarded = Guarded::new();
        let (other, first) = (guarded.clone(), guarded.lock().request(Shared));
        let second = guarded.lock().request(Shared);
        let thread = thread::spawn(move || other.lock().try_enter(first).unwrap());
        guarded.lock().announce(second, 1);
        let entered = guarded.lock().try_enter(second).is_some();
        let woken = thread.join().unwrap();
        assert!(entered || woken == Some(1));
    });
}

/// A reader that enters and leaves while the writer before it leaves: the writer behind is woken by
/// one of them.
#[test]
fn turn_lock_wakes_a_writer_behind_a_reader() {
    crate::check(|| {
        let guarded = Guarded::new();
        let (other, writer) = (guarded.clone(), guarded.enter(Exclusive));
        let reader = guarded.lock().request(Shared);
        let last = guarded.lock().request(Exclusive);
        guarded.lock().announce(last, 1);
        let thread = thread::spawn(move || {
            let entered = other.lock().try_enter(reader).is_some();
            entered.then(|| other.lock().leave(reader))
        });
        let by_writer = guarded.lock().leave(writer);
        // Otherwise the reader has not entered yet.
        if let Some(by_reader) = thread.join().unwrap() {
            assert!(by_writer == Some(1) || by_reader == Some(1));
        }
    });
}

/// A rank ends after any of its steps: a rank that knows of the end enters, or waits for that rank.
#[test]
fn turn_lock_tells_of_a_rank_that_ended() {
    for (steps, kinds) in (0..=6).flat_map(|steps| {
        [(Exclusive, Exclusive), (Exclusive, Shared), (Shared, Exclusive)]
            .map(|kinds| (steps, kinds))
    }) {
        crate::check(move || {
            let guarded = Guarded::new();
            let words = (0..LockClaims::words(2)).map(|_| AtomicU64::new(0));
            let claims = Arc::new(words.collect::<Vec<_>>());
            let (other, its_claims) = (guarded.clone(), claims.clone());
            let thread = thread::spawn(move || until_step(steps, kinds.0, &other, &its_claims));
            let turn = guarded.lock().request(kinds.1);
            let has_entered = guarded.lock().try_enter(turn).is_some();
            thread.join().unwrap();
            if !has_entered && guarded.lock().try_enter(turn).is_none() {
                let claims = LockClaims::new(&claims, 2);
                assert!(claims.awaited(guarded.lock(), 0, turn).eq([1]));
            }
        });
    }
}

/// What rank 1 does before it ends: the first of these steps.
fn until_step(steps: usize, kind: LockKind, guarded: &Guarded, claims: &[AtomicU64]) {
    let claims = LockClaims::new(claims, 2);
    let mut turn = None;
    for step in 0..steps {
        match (step, turn) {
            (0, _) => claims.ask(1, 0),
            (1, _) => turn = Some(guarded.lock().request(kind)),
            (2, Some(turn)) => claims.claim(1, 0, turn),
            // Without its turn, it ends in the queue.
            (3, Some(turn)) if guarded.lock().try_enter(turn).is_none() => return,
            (4, Some(turn)) => drop(guarded.lock().leave(turn)),
            (5, _) => claims.forget(1, 0),
            _ => {}
        }
    }
}
