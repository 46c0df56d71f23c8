//! Partitioned operations: who sends a message sees what the threads have written into its partitions,
//! and who sees that a message has arrived may read it.

#[path = "../../src/mpi/partitioned/arrived.rs"]
mod arrived;
#[path = "../../src/mpi/partitioned/ready.rs"]
mod ready;

use std::sync::Arc;

use loom::thread;

use crate::primitive::SharedCell;
use arrived::ArrivedMessages;
use ready::{ReadyPartitions, Release};

struct Message<State> {
    state: State,
    bytes: [SharedCell<u32>; 2],
}

impl<State> Message<State> {
    fn new(state: State) -> Arc<Self> {
        Arc::new(Self { state, bytes: [SharedCell::new(0), SharedCell::new(0)] })
    }

    #[allow(unsafe_code)]
    fn write(&self, partition: usize) {
        // SAFETY: loom checks that no other thread reads it.
        unsafe { self.bytes[partition].store(7) };
    }

    #[allow(unsafe_code)]
    fn check(&self) {
        for bytes in &self.bytes {
            // SAFETY: loom checks that no thread writes it.
            assert_eq!(unsafe { bytes.load() }, 7);
        }
    }
}

#[test]
fn the_last_partition_sends_what_all_threads_have_written() {
    crate::check(|| {
        let message = Message::new(ReadyPartitions::new(2, 1));
        message.state.start([2].into_iter());
        let release = |message: &Message<ReadyPartitions>, partition: u32| {
            message.write(partition as usize);
            let release = message.state.release(partition, 0);
            if release == Release::Send {
                message.check();
            }
            release
        };
        let other = message.clone();
        let other = thread::spawn(move || release(&other, 1));
        let releases = [release(&message, 0), other.join().unwrap()];
        assert!(releases.contains(&Release::Send) && releases.contains(&Release::Wait));
    });
}

#[test]
fn a_partition_that_two_threads_release_is_released_once() {
    crate::check(|| {
        let ready = Arc::new(ReadyPartitions::new(2, 1));
        ready.start([2].into_iter());
        let other = ready.clone();
        let other = thread::spawn(move || other.release(0, 0));
        let releases = [ready.release(0, 0), other.join().unwrap()];
        assert!(releases.contains(&Release::Twice) && releases.contains(&Release::Wait));
        assert_eq!(ready.release(1, 0), Release::Send);
    });
}

#[test]
fn messages_that_have_arrived_can_be_read() {
    crate::check(|| {
        let messages = Message::new(ArrivedMessages::new(2));
        let other = messages.clone();
        let receiver = thread::spawn(move || {
            for message in 0..2 {
                other.write(message as usize);
                other.state.arrive(message);
            }
        });
        if messages.state.have(0..2) {
            messages.check();
        }
        receiver.join().unwrap();
        assert!(messages.state.have(0..2));
    });
}
