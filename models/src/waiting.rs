//! Waiting calls of several threads: no wake-up is lost. `waiters`, `parker` and `wait_state` are
//! the library's; the loop around them is that of `src/process/waiting/mod.rs` on a device of one word.
//! Loom reports a thread that never wakes.
//!
//! The progress thread is in the model too. No time passes here: the thread parks until it is
//! notified, and sleeps on the device until a packet arrives while the device is armed, or another
//! thread wakes it.

#[path = "../../src/process/waiting/parker.rs"]
mod parker;
#[path = "../../src/process/waiting/wait_state.rs"]
mod wait_state;
#[path = "../../src/process/waiting/waiters.rs"]
mod waiters;

use crate::parker_primitive as primitive;

use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
use loom::thread;

use parker::Parker;
use wait_state::WaitState;
use waiters::{Waiters, Wakeups};

/// The state that the process lock protects.
#[derive(Default)]
struct State {
    waiters: Waiters<usize>,
    /// Whether the operation that each thread waits for has completed.
    complete: [bool; 3],
    /// An operation that has begun and that the next poll completes.
    started: Option<usize>,
    /// Calls that wait.
    waiting: u32,
    /// How the progress thread sleeps.
    thread: WaitState,
    stopping: bool,
}

/// Packets, and a word that changes when a packet arrives while it is armed, or to wake a thread.
#[derive(Default)]
struct Device {
    inner: Mutex<Inbox>,
    changed: Condvar,
}

#[derive(Default)]
struct Inbox {
    packets: Vec<usize>,
    word: Word,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Word {
    wakes: u32,
    armed: bool,
}

struct Process {
    state: Mutex<State>,
    device: Device,
    /// Where the progress thread parks.
    parker: std::sync::Arc<Parker>,
    /// The number of operations that polls have completed.
    polled: Mutex<usize>,
    has_polled: Condvar,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            device: Device::default(),
            parker: std::sync::Arc::new(Parker::new()),
            polled: Mutex::default(),
            has_polled: Condvar::default(),
        }
    }
}

impl Default for Waiters<usize> {
    fn default() -> Self {
        Self::new()
    }
}

impl Device {
    /// Sends the packet that completes an operation.
    fn send(&self, packet: usize) {
        let mut inner = self.inner.lock().unwrap();
        inner.packets.push(packet);
        if inner.word.armed {
            self.change(&mut inner);
        }
    }

    fn wake(&self) {
        self.change(&mut self.inner.lock().unwrap());
    }

    fn change(&self, inner: &mut Inbox) {
        inner.word = Word { wakes: inner.word.wakes + 1, armed: false };
        self.changed.notify_all();
    }

    fn arm(&self) -> Word {
        let word = &mut self.inner.lock().unwrap().word;
        word.armed = true;
        *word
    }

    fn disarm(&self) {
        self.inner.lock().unwrap().word.armed = false;
    }

    /// Sleeps as on a futex: the word is compared once, before.
    fn sleep(&self, expected: Word) {
        let inner = self.inner.lock().unwrap();
        if inner.word == expected {
            drop(self.changed.wait(inner).unwrap());
        }
    }
}

/// A thread that holds the process lock.
struct Guard<'a> {
    process: &'a Process,
    guard: Option<MutexGuard<'a, State>>,
}

impl<'a> Guard<'a> {
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

    fn leave(mut self, wakeups: Wakeups) {
        self.guard = None;
        wakeups.notify_all();
    }

    fn poll(&mut self) -> usize {
        let mut packets = std::mem::take(&mut self.process.device.inner.lock().unwrap().packets);
        packets.extend(self.state().started.take());
        packets.iter().for_each(|operation| self.state().complete[*operation] = true);
        if !packets.is_empty() {
            *self.process.polled.lock().unwrap() += packets.len();
            self.process.has_polled.notify_all();
        }
        packets.len()
    }

    fn serve(&mut self) -> Wakeups {
        let State { waiters, complete, .. } = self.state();
        let wakeups = waiters.take_completed(|operation| complete[*operation]);
        if wakeups.wake_device_sleeper {
            self.process.device.wake();
        }
        wakeups
    }

    fn take_over_polling(&mut self) {
        if !self.state().waiters.is_delegated() && self.state().thread.disarm() {
            self.disarm();
        }
    }

    fn disarm(&mut self) {
        let state = self.state();
        if !state.thread.is_armed() && !state.waiters.has_device_sleeper() {
            self.process.device.disarm();
        }
    }

    fn wake_thread_on_device(&mut self) {
        if self.state().thread.wake() {
            self.process.device.wake();
        }
    }

    fn wake_progress_thread(&mut self, wakeups: &mut Wakeups) {
        let (thread, has_started) = (self.state().thread, self.state().started.is_some());
        match thread {
            WaitState::Away => wakeups.add(self.process.parker.clone()),
            WaitState::Armed if !has_started => {}
            WaitState::Armed | WaitState::Disarmed => self.wake_thread_on_device(),
        }
    }

    /// The progress thread polls and sleeps until a call waits or the thread is to end.
    fn drive_progress(&mut self) {
        loop {
            let arrived = self.poll();
            let wakeups = self.serve();
            if !wakeups.is_empty() {
                self.unlocked(|| wakeups.notify_all());
            }
            let state = self.state();
            if state.stopping || !state.waiters.is_delegated() && state.waiting > 0 {
                return;
            }
            if arrived == 0 {
                self.sleep_until_woken();
            }
        }
    }

    /// The progress thread sleeps on the device.
    fn sleep_until_woken(&mut self) {
        let device = &self.process.device;
        let expected = device.arm();
        if self.poll() == 0 {
            self.state().thread = WaitState::Armed;
            self.unlocked(|| device.sleep(expected));
            self.state().thread = WaitState::Away;
        }
        self.disarm();
    }

    fn park(&mut self, operation: usize) -> bool {
        let (id, parker) = self.state().waiters.park(operation);
        self.unlocked(|| parker.park());
        !self.state().waiters.remove(id)
    }

    fn sleep(&mut self, operation: usize) -> bool {
        if self.state().waiters.has_device_sleeper() {
            return self.park(operation);
        }
        let device = &self.process.device;
        let expected = device.arm();
        if self.poll() > 0 {
            self.disarm();
            return false;
        }
        let id = self.state().waiters.sleep_on_device(operation);
        self.unlocked(|| device.sleep(expected));
        let completed = !self.state().waiters.remove(id);
        self.disarm();
        completed
    }

    /// Waits for the operation while the progress thread does all polling.
    fn delegate(&mut self, operation: usize) {
        while !self.state().complete[operation] {
            if self.state().started.is_some() {
                self.wake_thread_on_device();
            }
            if self.park(operation) {
                return;
            }
        }
    }

    /// Waits for the operation; between the first polls the lock is free.
    fn wait(&mut self, operation: usize, mut yields: u32) {
        self.take_over_polling();
        if self.state().waiters.is_delegated() {
            return self.delegate(operation);
        }
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
            let wakeups = self.serve();
            if !wakeups.is_empty() || yields > 0 {
                yields = yields.saturating_sub(1);
                self.state().waiters.set_polling(true);
                self.unlocked(|| wakeups.notify_all());
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
        let mut inside = Guard::enter(self);
        inside.state().waiting += 1;
        inside.wait(operation, yields);
        inside.state().waiting -= 1;
        let mut wakeups = inside.serve();
        inside.state().waiters.hand_over_polling(&mut wakeups);
        inside.leave(wakeups);
    }

    /// A call that polls once and returns.
    fn test(&self) {
        let mut inside = Guard::enter(self);
        inside.take_over_polling();
        inside.poll();
        let wakeups = inside.serve();
        inside.leave(wakeups);
    }

    /// A call that completes the operation of another thread.
    fn complete(&self, operation: usize) {
        let mut inside = Guard::enter(self);
        inside.state().complete[operation] = true;
        let wakeups = inside.serve();
        inside.leave(wakeups);
    }
}

impl Process {
    /// The body of the progress thread.
    fn run_progress_thread(&self) {
        loop {
            let mut inside = Guard::enter(self);
            inside.drive_progress();
            let (stops, delegated) =
                (inside.state().stopping, inside.state().waiters.is_delegated());
            inside.leave(Wakeups::default());
            if stops {
                return;
            }
            if !delegated {
                self.parker.park_timeout(std::time::Duration::ZERO);
            }
        }
    }

    /// A call that begins an operation that continues after it, and may need a poll at once.
    fn begin(&self, started: Option<usize>) {
        let mut inside = Guard::enter(self);
        inside.state().started = started;
        let mut wakeups = inside.serve();
        inside.wake_progress_thread(&mut wakeups);
        inside.leave(wakeups);
    }

    /// Waits outside MPI until polls have completed so many operations.
    fn wait_outside(&self, operations: usize) {
        let mut polled = self.polled.lock().unwrap();
        while *polled < operations {
            polled = self.has_polled.wait(polled).unwrap();
        }
    }

    fn stop(&self) {
        let mut inside = Guard::enter(self);
        inside.state().stopping = true;
        self.parker.notify();
        inside.wake_thread_on_device();
    }
}

/// The progress thread beside an application and a peer.
fn model_thread(delegated: bool, application: fn(&Process), peer: fn(&Process)) {
    crate::check(move || {
        let process = Arc::new(Process::default());
        process.state.lock().unwrap().waiters.set_delegated(delegated);
        let own = process.clone();
        let thread = thread::spawn(move || own.run_progress_thread());
        let own = process.clone();
        let sender = thread::spawn(move || peer(&own));
        application(&process);
        process.stop();
        thread.join().unwrap();
        sender.join().unwrap();
        assert!(process.state.lock().unwrap().waiters.is_empty());
        assert!(!process.device.inner.lock().unwrap().word.armed, "armed, and no thread sleeps");
    });
}

/// Threads that wait for operations 0, 1, ... beside `body`; each yields so often before it sleeps.
fn model(yields: &'static [u32], body: fn(&Process)) {
    crate::check(move || {
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
fn packets_wake_the_thread_that_waits_for_them() {
    for yields in [&[0, 0], &[1, 0]] {
        model(yields, |process| {
            process.device.send(1);
            process.device.send(0);
        });
    }
}

#[test]
fn a_call_of_another_thread_wakes() {
    model(&[0, 1], |process| {
        process.complete(0);
        process.complete(1);
    });
}

#[test]
fn a_test_call_takes_no_wake_up_away() {
    model(&[0, 0], |process| {
        process.device.send(0);
        process.test();
        process.device.send(1);
    });
}

#[test]
fn polling_is_handed_over_twice() {
    model(&[0, 0, 0], |process| {
        process.device.send(0);
        process.complete(1);
        process.device.send(2);
    });
}

#[test]
fn the_progress_thread_polls_between_calls() {
    model_thread(false, |process| process.wait_outside(1), |process| process.device.send(0));
}

#[test]
fn a_waiting_call_takes_over_polling() {
    model_thread(false, |process| process.wait(0, 0), |process| process.device.send(0));
}

#[test]
fn a_started_operation_wakes_the_progress_thread() {
    let begin = |process: &Process| {
        process.wait(0, 0);
        process.begin(None);
        process.wait_outside(2);
    };
    model_thread(false, begin, |process| {
        process.device.send(0);
        process.device.send(1);
    });
}

#[test]
fn a_disarmed_progress_thread_is_woken() {
    let begin = |process: &Process| {
        process.test();
        process.begin(Some(1));
        process.wait_outside(1);
    };
    model_thread(false, begin, |_| ());
}

#[test]
fn the_progress_thread_completes_delegated_waits() {
    model_thread(true, |process| process.wait(0, 0), |process| process.device.send(0));
}

#[test]
fn a_delegated_wait_may_need_no_packet() {
    let begin = |process: &Process| {
        process.begin(Some(0));
        process.wait(0, 0);
    };
    model_thread(true, begin, |_| ());
}
