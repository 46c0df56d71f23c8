//! Waiting by several threads under the model checker loom: no wake-up is lost, in any
//! interleaving. `waiters` and `bell` are the sources of the library; the loop around them is that
//! of `waiting` on a device of one word. A thread that sleeps for ever is a failure.
//!
//! `scripts/loom` runs it.

#[path = "bell.rs"]
mod bell;
#[path = "model_primitive.rs"]
mod primitive;
#[allow(dead_code)]
#[path = "waiters.rs"]
mod waiters;

use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
use loom::thread;

use waiters::{Rings, Waiters};

/// What is behind the process lock.
#[derive(Default)]
struct State {
    waiters: Waiters<usize>,
    /// Whether the operation that each thread waits for has completed.
    complete: [bool; 3],
}

/// Packets, and a word that changes whenever one comes or a thread is to be roused.
#[derive(Default)]
struct Device {
    packets: Mutex<(Vec<usize>, u32)>,
    changed: Condvar,
}

#[derive(Default)]
struct Process {
    state: Mutex<State>,
    device: Device,
}

impl Default for Waiters<usize> {
    fn default() -> Self {
        Self::new()
    }
}

impl Device {
    /// Sends the packet that completes an operation, if any, and changes the word.
    fn ring(&self, packet: Option<usize>) {
        let mut packets = self.packets.lock().unwrap();
        packets.0.extend(packet);
        packets.1 += 1;
        self.changed.notify_all();
    }

    fn arm(&self) -> u32 {
        self.packets.lock().unwrap().1
    }

    fn sleep(&self, expected: u32) {
        let mut packets = self.packets.lock().unwrap();
        while packets.1 == expected {
            packets = self.changed.wait(packets).unwrap();
        }
    }
}

/// A thread that holds the process lock.
struct Inside<'a> {
    process: &'a Process,
    guard: Option<MutexGuard<'a, State>>,
}

impl<'a> Inside<'a> {
    fn enter(process: &'a Process) -> Self {
        Self { process, guard: Some(process.state.lock().unwrap()) }
    }

    fn state(&mut self) -> &mut State {
        self.guard.as_mut().unwrap()
    }

    fn unlocked(&mut self, body: impl FnOnce()) {
        self.guard = None;
        body();
        self.guard = Some(self.process.state.lock().unwrap());
    }

    fn leave(mut self, rings: Rings) {
        self.guard = None;
        rings.ring();
    }

    fn poll(&mut self) -> usize {
        let packets = std::mem::take(&mut self.process.device.packets.lock().unwrap().0);
        packets.iter().for_each(|operation| self.state().complete[*operation] = true);
        packets.len()
    }

    fn serve(&mut self) -> Rings {
        let State { waiters, complete } = self.state();
        let rings = waiters.serve(|operation| complete[*operation]);
        if rings.rouse {
            self.process.device.ring(None);
        }
        rings
    }

    fn park(&mut self, operation: usize) -> bool {
        let (seat, bell) = self.state().waiters.park(operation);
        self.unlocked(|| bell.sleep());
        !self.state().waiters.stand(seat)
    }

    fn sleep(&mut self, operation: usize) -> bool {
        if self.state().waiters.has_dozer() {
            return self.park(operation);
        }
        let device = &self.process.device;
        let expected = device.arm();
        if self.poll() > 0 {
            return false;
        }
        let seat = self.state().waiters.doze(operation);
        self.unlocked(|| device.sleep(expected));
        !self.state().waiters.stand(seat)
    }

    /// Waits for the operation; between the first polls the lock is free.
    fn wait(&mut self, operation: usize, mut yields: u32) {
        loop {
            if self.state().waiters.has_poller() {
                if self.park(operation) {
                    return;
                }
                continue;
            }
            let arrived = self.poll();
            if self.state().complete[operation] {
                return;
            }
            let rings = self.serve();
            if !rings.is_empty() || yields > 0 {
                yields = yields.saturating_sub(1);
                self.state().waiters.set_polling(true);
                self.unlocked(|| rings.ring());
                self.state().waiters.set_polling(false);
            } else if arrived == 0 && self.sleep(operation) {
                return;
            }
        }
    }
}

impl Process {
    /// A call that waits, as `waiting` does it.
    fn wait(&self, operation: usize, yields: u32) {
        let mut inside = Inside::enter(self);
        inside.wait(operation, yields);
        let mut rings = inside.serve();
        inside.state().waiters.hand_over(&mut rings);
        inside.leave(rings);
    }

    /// A call that polls and goes.
    fn test(&self) {
        let mut inside = Inside::enter(self);
        inside.poll();
        let rings = inside.serve();
        inside.leave(rings);
    }

    /// A call that completes the operation of another thread.
    fn complete(&self, operation: usize) {
        let mut inside = Inside::enter(self);
        inside.state().complete[operation] = true;
        let rings = inside.serve();
        inside.leave(rings);
    }
}

/// Threads that wait for operation 0, 1, ... with so many yields first, beside `body`.
fn model(yields: &'static [u32], body: fn(&Process)) {
    loom::model(move || {
        let process = Arc::new(Process::default());
        let waiting: Vec<_> = (0..)
            .zip(yields)
            .map(|(operation, yields)| {
                let process = process.clone();
                thread::spawn(move || process.wait(operation, *yields))
            })
            .collect();
        body(&process);
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(process.state.lock().unwrap().waiters.is_empty());
    });
}

#[test]
fn loom_packets_wake_whom_they_are_for() {
    for yields in [&[0, 0], &[1, 0]] {
        model(yields, |process| {
            process.device.ring(Some(1));
            process.device.ring(Some(0));
        });
    }
}

#[test]
fn loom_a_call_of_another_thread_wakes() {
    model(&[0, 1], |process| {
        process.complete(0);
        process.complete(1);
    });
}

#[test]
fn loom_who_tests_takes_nobodys_wake_up() {
    model(&[0, 0], |process| {
        process.device.ring(Some(0));
        process.test();
        process.device.ring(Some(1));
    });
}

#[test]
fn loom_polling_is_handed_over_twice() {
    model(&[0, 0, 0], |process| {
        process.device.ring(Some(0));
        process.complete(1);
        process.device.ring(Some(2));
    });
}
