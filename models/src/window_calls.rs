//! `MPI_Win_post` and `MPI_Win_complete` in words of the segment: accesses of the target and of the
//! origins to the same memory never meet, and a rank that sleeps until a call is woken.
//!
//! Weakened by hand, a model fails: a relaxed store in `CallWords::call`, a relaxed load in
//! `CallWords::calls`, a second look in `PeerCalls::take` for the words to watch, a notification without its
//! fence or before the call.

#[path = "../../src/shared_memory/call_words.rs"]
mod call_words;
#[path = "../../src/mpi/window/peer_calls.rs"]
mod peer_calls;

use std::sync::Arc;

use loom::thread;

use crate::primitive::{self, SharedCell};
use crate::segments::Sleeper;
use call_words::WindowCall::{Complete, Post};
use mapped::MappedMemory;
use peer_calls::PeerCalls;

/// The words of a window as `PeerCalls` sees them.
mod mapped {
    pub(super) use super::call_words::WindowCall;
    use super::{Arc, SharedCell, TARGET};
    use crate::window_calls::call_words::CallWords;

    /// One target, and its memory: a part for each origin.
    pub(super) struct Node {
        /// Of the target for each origin, then of each origin for the target.
        pub(super) words: [Vec<CallWords>; 2],
        pub(super) parts: Vec<SharedCell<u32>>,
    }

    /// The node as one of its ranks sees it.
    pub(super) struct MappedMemory {
        pub(super) node: Arc<Node>,
        pub(super) me: u32,
    }

    impl MappedMemory {
        /// For the target.
        pub(super) fn new(origins: usize) -> Self {
            let words = [(); 2].map(|()| (0..origins).map(|_| CallWords::new()).collect());
            let parts = (0..origins).map(|_| SharedCell::new(0)).collect();
            Self { node: Arc::new(Node { words, parts }), me: TARGET }
        }

        /// For an origin.
        pub(super) fn of(&self, me: u32) -> Self {
            Self { node: self.node.clone(), me }
        }

        pub(super) fn calls(&self, call: WindowCall, from: u32) -> u32 {
            let words = match from {
                TARGET => &self.node.words[0][self.me as usize],
                origin => &self.node.words[1][origin as usize],
            };
            words.calls(call)
        }
    }
}

/// The rank of the target; those of the origins begin at 0.
const TARGET: u32 = 2;

impl MappedMemory {
    /// The target changes its memory and exposes it.
    #[allow(unsafe_code)]
    fn post(&self) {
        for (part, words) in self.node.parts.iter().zip(&self.node.words[0]) {
            // SAFETY: loom checks that no origin accesses it.
            unsafe { part.store(part.load() + 1) };
            words.call(Post);
        }
    }

    /// The target uses its memory if all origins have completed; whether that is so.
    #[allow(unsafe_code)]
    fn try_wait(&self, completes: &mut PeerCalls, epoch: u32) -> bool {
        let origins: Vec<_> = (0..self.node.parts.len() as u32).collect();
        let is_complete = completes.take(&origins, Some(self), |_| false);
        for part in self.node.parts.iter().filter(|_| is_complete) {
            // SAFETY: as above.
            assert_eq!(unsafe { part.load() }, 2 * epoch);
        }
        is_complete
    }

    /// An origin in an epoch, which begins with `MPI_Win_post`.
    #[allow(unsafe_code)]
    fn access(&self, posts: &mut PeerCalls, epoch: u32) {
        until(|| posts.take(&[TARGET], Some(self), |_| false));
        let part = &self.node.parts[self.me as usize];
        // SAFETY: loom checks that the target does not access it.
        unsafe {
            assert_eq!(part.load(), 2 * epoch - 1);
            part.store(2 * epoch);
        }
        self.complete();
    }

    fn complete(&self) {
        self.node.words[1][self.me as usize].call(Complete);
    }
}

fn until(mut is_done: impl FnMut() -> bool) {
    while !is_done() {
        thread::yield_now();
    }
}

#[test]
fn the_accesses_of_a_target_and_an_origin_do_not_meet() {
    const EPOCHS: u32 = 2;
    crate::check(|| {
        let memory = MappedMemory::new(1);
        let other = memory.of(0);
        let origin = thread::spawn(move || {
            let mut posts = PeerCalls::new(Post);
            (1..=EPOCHS).for_each(|epoch| other.access(&mut posts, epoch));
        });
        let mut completes = PeerCalls::new(Complete);
        for epoch in 1..=EPOCHS {
            memory.post();
            until(|| memory.try_wait(&mut completes, epoch));
        }
        origin.join().unwrap();
    });
}

#[test]
fn a_target_uses_its_memory_after_all_origins() {
    crate::check(|| {
        let memory = MappedMemory::new(2);
        // Before the origins start: three threads that wait for each other are too many for the checker.
        memory.post();
        let origins = [0, 1].map(|me| {
            let memory = memory.of(me);
            thread::spawn(move || memory.access(&mut PeerCalls::new(Post), 1))
        });
        let mut completes = PeerCalls::new(Complete);
        until(|| memory.try_wait(&mut completes, 1));
        origins.into_iter().for_each(|origin| origin.join().unwrap());
    });
}

/// The target sleeps until the words differ from those that its last look at them has seen.
#[test]
fn a_target_that_sleeps_is_woken_by_each_origin() {
    crate::check(|| {
        let (memory, sleeper) = (MappedMemory::new(2), Sleeper::new());
        let origins: Vec<_> = (0..2)
            .map(|me| {
                let (memory, sleeper) = (memory.of(me), sleeper.clone());
                thread::spawn(move || {
                    memory.complete();
                    sleeper.notify();
                })
            })
            .collect();
        let mut completes = PeerCalls::new(Complete);
        while !completes.take(&[0, 1], Some(&memory), |_| false) {
            sleeper.sleep_until(|| completes.has_news(&memory));
        }
        origins.into_iter().for_each(|origin| origin.join().unwrap());
    });
}
