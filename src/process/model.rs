//! Waiting by several threads under the model checker loom: no wake-up is lost, in any
//! interleaving. `waiters` and `bell` are the sources of the library; the loop around them is that
//! of `waiting` on a device of one word. A thread that sleeps for ever is a failure.
//!
//! The progress thread is here too: no time passes in the model, so it stays away until it is rung,
//! and sleeps on the device until a packet comes for which it is armed, or somebody rouses it.
//!
//! `scripts/loom` runs it.

#[path = "bell.rs"]
mod bell;
#[path = "model_primitive.rs"]
mod primitive;
#[allow(dead_code)]
#[path = "waiters.rs"]
mod waiters;
#[path = "watch.rs"]
mod watch;

use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
use loom::thread;

use bell::Bell;
use waiters::{Rings, Waiters};
use watch::Watch;

/// What is behind the process lock.
#[derive(Default)]
struct State {
    waiters: Waiters<usize>,
    /// Whether the operation that each thread waits for has completed.
    complete: [bool; 3],
    /// Whether an operation has begun that the next poll completes.
    news: Option<usize>,
    waiting: u32,
    watch: Watch,
    stopping: bool,
}

/// Packets, and a word that changes whenever one comes for which it is armed, or a thread is to be
/// roused.
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
    rung: u32,
    armed: bool,
}

struct Process {
    state: Mutex<State>,
    device: Device,
    /// What the progress thread listens to while it is away.
    bell: std::sync::Arc<Bell>,
    /// How many operations have been completed by a poll, for those who do not call MPI.
    polled: Mutex<usize>,
    grown: Condvar,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            device: Device::default(),
            bell: std::sync::Arc::new(Bell::new()),
            polled: Mutex::default(),
            grown: Condvar::default(),
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
            self.fire(&mut inner);
        }
    }

    fn rouse(&self) {
        self.fire(&mut self.inner.lock().unwrap());
    }

    fn fire(&self, inner: &mut Inbox) {
        inner.word = Word { rung: inner.word.rung + 1, armed: false };
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

    /// As a futex: what the word holds is only looked at first.
    fn sleep(&self, expected: Word) {
        let inner = self.inner.lock().unwrap();
        if inner.word == expected {
            drop(self.changed.wait(inner).unwrap());
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
        let mut packets = std::mem::take(&mut self.process.device.inner.lock().unwrap().packets);
        packets.extend(self.state().news.take());
        packets.iter().for_each(|operation| self.state().complete[*operation] = true);
        if !packets.is_empty() {
            *self.process.polled.lock().unwrap() += packets.len();
            self.process.grown.notify_all();
        }
        packets.len()
    }

    fn serve(&mut self) -> Rings {
        let State { waiters, complete, .. } = self.state();
        let rings = waiters.serve(|operation| complete[*operation]);
        if rings.rouse {
            self.process.device.rouse();
        }
        rings
    }

    fn relieve(&mut self) {
        if !self.state().waiters.is_delegated() && self.state().watch.relieve() {
            self.disarm();
        }
    }

    fn disarm(&mut self) {
        let state = self.state();
        if !state.watch.is_armed() && !state.waiters.has_dozer() {
            self.process.device.disarm();
        }
    }

    fn rouse_thread(&mut self) {
        if self.state().watch.rouse() {
            self.process.device.rouse();
        }
    }

    fn summon(&mut self, rings: &mut Rings) {
        let (watch, has_news) = (self.state().watch, self.state().news.is_some());
        match watch {
            Watch::Away => rings.add(self.process.bell.clone()),
            Watch::Armed if !has_news => {}
            Watch::Armed | Watch::Relieved => self.rouse_thread(),
        }
    }

    /// The progress thread polls and sleeps until a call waits, or it is to end.
    fn attend(&mut self) {
        loop {
            let arrived = self.poll();
            let rings = self.serve();
            if !rings.is_empty() {
                self.unlocked(|| rings.ring());
            }
            let state = self.state();
            if state.stopping || !state.waiters.is_delegated() && state.waiting > 0 {
                return;
            }
            if arrived == 0 {
                self.watch();
            }
        }
    }

    /// The progress thread sleeps on the device.
    fn watch(&mut self) {
        let device = &self.process.device;
        let expected = device.arm();
        if self.poll() == 0 {
            self.state().watch = Watch::Armed;
            self.unlocked(|| device.sleep(expected));
            self.state().watch = Watch::Away;
        }
        self.disarm();
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
            self.disarm();
            return false;
        }
        let seat = self.state().waiters.doze(operation);
        self.unlocked(|| device.sleep(expected));
        let over = !self.state().waiters.stand(seat);
        self.disarm();
        over
    }

    /// Waits for the operation where the progress thread does all.
    fn delegate(&mut self, operation: usize) {
        while !self.state().complete[operation] {
            if self.state().news.is_some() {
                self.rouse_thread();
            }
            if self.park(operation) {
                return;
            }
        }
    }

    /// Waits for the operation; between the first polls the lock is free.
    fn wait(&mut self, operation: usize, mut yields: u32) {
        self.relieve();
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
        inside.state().waiting += 1;
        inside.wait(operation, yields);
        inside.state().waiting -= 1;
        let mut rings = inside.serve();
        inside.state().waiters.hand_over(&mut rings);
        inside.leave(rings);
    }

    /// A call that polls and goes.
    fn test(&self) {
        let mut inside = Inside::enter(self);
        inside.relieve();
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

impl Process {
    /// The progress thread's life.
    fn progress(&self) {
        loop {
            let mut inside = Inside::enter(self);
            inside.attend();
            let (stops, delegated) =
                (inside.state().stopping, inside.state().waiters.is_delegated());
            inside.leave(Rings::default());
            if stops {
                return;
            }
            if !delegated {
                self.bell.sleep_for(std::time::Duration::ZERO);
            }
        }
    }

    /// A call that begins what goes on without it, and may need a poll at once.
    fn begin(&self, news: Option<usize>) {
        let mut inside = Inside::enter(self);
        inside.state().news = news;
        let mut rings = inside.serve();
        inside.summon(&mut rings);
        inside.leave(rings);
    }

    /// Waits without MPI until so many operations have been completed.
    fn wait_outside(&self, operations: usize) {
        let mut polled = self.polled.lock().unwrap();
        while *polled < operations {
            polled = self.grown.wait(polled).unwrap();
        }
    }

    fn stop(&self) {
        let mut inside = Inside::enter(self);
        inside.state().stopping = true;
        self.bell.ring();
        inside.rouse_thread();
    }
}

/// The progress thread beside an application and a peer.
fn model_thread(delegated: bool, application: fn(&Process), peer: fn(&Process)) {
    loom::model(move || {
        let process = Arc::new(Process::default());
        process.state.lock().unwrap().waiters.set_delegated(delegated);
        let own = process.clone();
        let thread = thread::spawn(move || own.progress());
        let own = process.clone();
        let sender = thread::spawn(move || peer(&own));
        application(&process);
        process.stop();
        thread.join().unwrap();
        sender.join().unwrap();
        assert!(process.state.lock().unwrap().waiters.is_empty());
        assert!(!process.device.inner.lock().unwrap().word.armed, "peers would wake nobody");
    });
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
            process.device.send(1);
            process.device.send(0);
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
        process.device.send(0);
        process.test();
        process.device.send(1);
    });
}

#[test]
fn loom_polling_is_handed_over_twice() {
    model(&[0, 0, 0], |process| {
        process.device.send(0);
        process.complete(1);
        process.device.send(2);
    });
}

#[test]
fn loom_the_thread_works_while_nobody_calls() {
    model_thread(false, |process| process.wait_outside(1), |process| process.device.send(0));
}

#[test]
fn loom_a_call_that_waits_relieves_the_thread() {
    model_thread(false, |process| process.wait(0, 0), |process| process.device.send(0));
}

#[test]
fn loom_who_begins_something_calls_the_thread() {
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
fn loom_a_thread_that_was_relieved_is_roused() {
    let begin = |process: &Process| {
        process.test();
        process.begin(Some(1));
        process.wait_outside(1);
    };
    model_thread(false, begin, |_| ());
}

#[test]
fn loom_the_thread_ends_the_waits_that_are_delegated() {
    model_thread(true, |process| process.wait(0, 0), |process| process.device.send(0));
}

#[test]
fn loom_what_is_delegated_may_need_no_packet() {
    let begin = |process: &Process| {
        process.begin(Some(0));
        process.wait(0, 0);
    };
    model_thread(true, begin, |_| ());
}
