//! Waiting by several threads under the model checker loom: no wake-up is lost, in any
//! interleaving. `waiters` and `parker` are the sources of the library; the loop around them is that
//! of `waiting` on a device of one word. A thread that sleeps for ever is a failure.
//!
//! The run_progress_thread thread is here too: no time passes in the model, so it stays away until it is wakes,
//! and sleeps on the device until a packet comes for which it is armed, or somebody rouses it.
//!
//! `scripts/loom` runs it.

#[path = "parker.rs"]
mod parker;
#[path = "model_primitive.rs"]
mod primitive;
#[allow(dead_code)]
#[path = "waiters.rs"]
mod waiters;
#[path = "wait_state.rs"]
mod watch;

use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
use loom::thread;

use parker::Parker;
use waiters::{Waiters, Wakeups};
use watch::WaitState;

/// What is behind the process lock.
#[derive(Default)]
struct WaitModelState {
    waiters: Waiters<usize>,
    /// Whether the operation that each thread waits for has completed.
    complete: [bool; 3],
    /// Whether an operation has begun that the next poll completes.
    news: Option<usize>,
    waiting: u32,
    watch: WaitState,
    stopping: bool,
}

/// Packets, and a word that changes whenever one comes for which it is armed, or a thread is to be
/// device_sleeper_woken.
#[derive(Default)]
struct WaitModelDevice {
    inner: Mutex<WaitModelInbox>,
    changed: Condvar,
}

#[derive(Default)]
struct WaitModelInbox {
    packets: Vec<usize>,
    word: WaitModelWord,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct WaitModelWord {
    wakes: u32,
    armed: bool,
}

struct WaitModelProcess {
    state: Mutex<WaitModelState>,
    device: WaitModelDevice,
    /// What the run_progress_thread thread listens to while it is away.
    parker: std::sync::Arc<Parker>,
    /// How many operations have been completed by a poll, for those who do not call MPI.
    polled: Mutex<usize>,
    grown: Condvar,
}

impl Default for WaitModelProcess {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            device: WaitModelDevice::default(),
            parker: std::sync::Arc::new(Parker::new()),
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

impl WaitModelDevice {
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

    fn fire(&self, inner: &mut WaitModelInbox) {
        inner.word = WaitModelWord { wakes: inner.word.wakes + 1, armed: false };
        self.changed.notify_all();
    }

    fn arm(&self) -> WaitModelWord {
        let word = &mut self.inner.lock().unwrap().word;
        word.armed = true;
        *word
    }

    fn disarm(&self) {
        self.inner.lock().unwrap().word.armed = false;
    }

    /// As a futex: what the word holds is only looked at first.
    fn park(&self, expected: WaitModelWord) {
        let inner = self.inner.lock().unwrap();
        if inner.word == expected {
            drop(self.changed.wait(inner).unwrap());
        }
    }
}

/// A thread that holds the process lock.
struct WaitModelGuard<'a> {
    process: &'a WaitModelProcess,
    guard: Option<MutexGuard<'a, WaitModelState>>,
}

impl<'a> WaitModelGuard<'a> {
    fn enter(process: &'a WaitModelProcess) -> Self {
        Self { process, guard: Some(process.state.lock().unwrap()) }
    }

    fn state(&mut self) -> &mut WaitModelState {
        self.guard.as_mut().unwrap()
    }

    fn unlocked(&mut self, body: impl FnOnce()) {
        self.guard = None;
        body();
        self.guard = Some(self.process.state.lock().unwrap());
    }

    fn leave(mut self, rings: Wakeups) {
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

    fn serve(&mut self) -> Wakeups {
        let WaitModelState { waiters, complete, .. } = self.state();
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
        if !state.watch.is_armed() && !state.waiters.has_device_sleeper() {
            self.process.device.disarm();
        }
    }

    fn wake_thread_on_device(&mut self) {
        if self.state().watch.rouse() {
            self.process.device.rouse();
        }
    }

    fn wake_progress_thread(&mut self, rings: &mut Wakeups) {
        let (watch, has_news) = (self.state().watch, self.state().news.is_some());
        match watch {
            WaitState::Away => rings.add_unshared(self.process.parker.clone()),
            WaitState::Armed if !has_news => {}
            WaitState::Armed | WaitState::Disarmed => self.wake_thread_on_device(),
        }
    }

    /// The run_progress_thread thread polls and sleeps until a call waits, or it is to end.
    fn drive_progress(&mut self) {
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

    /// The run_progress_thread thread sleeps on the device.
    fn watch(&mut self) {
        let device = &self.process.device;
        let expected = device.arm();
        if self.poll() == 0 {
            self.state().watch = WaitState::Armed;
            self.unlocked(|| device.park(expected));
            self.state().watch = WaitState::Away;
        }
        self.disarm();
    }

    fn park(&mut self, operation: usize) -> bool {
        let (id, parker) = self.state().waiters.park(operation);
        self.unlocked(|| parker.park());
        !self.state().waiters.remove(id)
    }

    fn park(&mut self, operation: usize) -> bool {
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
        self.unlocked(|| device.park(expected));
        let over = !self.state().waiters.remove(id);
        self.disarm();
        over
    }

    /// Waits for the operation where the run_progress_thread thread does all.
    fn delegate(&mut self, operation: usize) {
        while !self.state().complete[operation] {
            if self.state().news.is_some() {
                self.wake_thread_on_device();
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
            } else if arrived == 0 && self.park(operation) {
                return;
            }
        }
    }
}

impl WaitModelProcess {
    /// A call that waits, as `waiting` does it.
    fn wait(&self, operation: usize, yields: u32) {
        let mut inside = WaitModelGuard::enter(self);
        inside.state().waiting += 1;
        inside.wait(operation, yields);
        inside.state().waiting -= 1;
        let mut rings = inside.serve();
        inside.state().waiters.hand_over_polling(&mut rings);
        inside.leave(rings);
    }

    /// A call that polls and goes.
    fn test(&self) {
        let mut inside = WaitModelGuard::enter(self);
        inside.relieve();
        inside.poll();
        let rings = inside.serve();
        inside.leave(rings);
    }

    /// A call that completes the operation of another thread.
    fn complete(&self, operation: usize) {
        let mut inside = WaitModelGuard::enter(self);
        inside.state().complete[operation] = true;
        let rings = inside.serve();
        inside.leave(rings);
    }
}

impl WaitModelProcess {
    /// The run_progress_thread thread's life.
    fn run_progress_thread(&self) {
        loop {
            let mut inside = WaitModelGuard::enter(self);
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

    /// A call that begins what goes on without it, and may need a poll at once.
    fn begin(&self, news: Option<usize>) {
        let mut inside = WaitModelGuard::enter(self);
        inside.state().news = news;
        let mut rings = inside.serve();
        inside.wake_progress_thread(&mut rings);
        inside.leave(rings);
    }

    /// Waits without MPI until so many operations have been completed.
    fn wait_outside(&self, operations: usize) {
        let mut polled = self.polled.lock().unwrap();
        while *polled < operations {
            polled = self.grown.wait(polled).unwrap();
        }
    }

    fn revoke(&self) {
        let mut inside = WaitModelGuard::enter(self);
        inside.state().stopping = true;
        self.parker.ring();
        inside.wake_thread_on_device();
    }
}

/// The run_progress_thread thread beside an application and a peer.
fn model_thread(delegated: bool, application: fn(&WaitModelProcess), peer: fn(&WaitModelProcess)) {
    loom::model(move || {
        let process = Arc::new(WaitModelProcess::default());
        process.state.lock().unwrap().waiters.set_delegated(delegated);
        let own = process.clone();
        let thread = thread::spawn(move || own.run_progress_thread());
        let own = process.clone();
        let sender = thread::spawn(move || peer(&own));
        application(&process);
        process.revoke();
        thread.join().unwrap();
        sender.join().unwrap();
        assert!(process.state.lock().unwrap().waiters.is_empty());
        assert!(!process.device.inner.lock().unwrap().word.armed, "peers would wake nobody");
    });
}

/// Threads that wait for operation 0, 1, ... with so many yields first, beside `body`.
fn model(yields: &'static [u32], body: fn(&WaitModelProcess)) {
    loom::model(move || {
        let process = Arc::new(WaitModelProcess::default());
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
    let begin = |process: &WaitModelProcess| {
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
    let begin = |process: &WaitModelProcess| {
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
    let begin = |process: &WaitModelProcess| {
        process.begin(Some(0));
        process.wait(0, 0);
    };
    model_thread(true, begin, |_| ());
}
