//! The engine thread of a rank: what the hardware of an interface would do.
//!
//! ```text
//!              nothing to do              for LINGER
//!   works ──────────────────> lingers ──────────────> asleep on the bell
//!     ▲                          │                        │
//!     └──────────────────────────┴── a command, an addition, a letter
//! ```
//!
//! While it lingers it yields its processor to whoever wants it. Peers ring its bell only while it
//! sleeps, which is a system call for them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::atomic_request::AtomicRequest;
use super::interface::{EngineProgress, TofuInterface};
use super::segment::AtomicRequestQueue;
use crate::devices::rings::memory::Mapped;
use crate::devices::rings::mpsc_queue::{QueueArrival, QueueReader};
use platform::base::{ErrorClass, Result};
use platform::sys::process::THREAD_NAME;
use platform::sys::{clock, cpu, futex, signals};

/// How long it looks for more before it sleeps.
const LINGER_NS: u64 = 1_000_000;

/// A running engine thread, which ends when this is dropped.
pub(crate) struct EngineThread {
    thread: Option<JoinHandle<()>>,
    stopping: Arc<AtomicBool>,
    interface: Arc<TofuInterface>,
}

/// What the thread works with.
struct Worker {
    interface: Arc<TofuInterface>,
    stopping: Arc<AtomicBool>,
    requests: QueueReader<Mapped<AtomicRequestQueue>>,
    /// Answers for which the queues of peers had no room, and the slots of those.
    replies: VecDeque<(usize, AtomicRequest)>,
    seen: EngineProgress,
    /// When there is something to do although nothing happens, in nanoseconds.
    next_event_ns: u64,
}

/// Ends the process if its thread panics: the application would wait for ever.
struct AbortGuard;

impl Drop for AbortGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

impl EngineThread {
    /// Starts the thread of an interface, on one of the processors `cpus` if there are any.
    ///
    /// # Errors
    /// `NoMem` if the system gives no thread.
    ///
    /// # Safety
    /// It is the only one that the interface ever has.
    pub(crate) unsafe fn start(interface: Arc<TofuInterface>, cpus: &[usize]) -> Result<Self> {
        let stopping = Arc::new(AtomicBool::new(false));
        // SAFETY: the only one, as the caller promises.
        let mail =
            unsafe { QueueReader::new(interface.fabric.own().part(|area| &area.atomic_requests)) };
        let mut worker = Worker {
            interface: interface.clone(),
            stopping: stopping.clone(),
            requests: mail,
            replies: VecDeque::new(),
            seen: EngineProgress::default(),
            next_event_ns: u64::MAX,
        };
        let own = cpus.get(interface.fabric.own_slot() % cpus.len().max(1)).copied();
        let body = move || {
            let _vital = AbortGuard;
            if let Some(cpu) = own
                && let Err(error) = cpu::set_affinity(&[cpu])
            {
                tracing::warn!("an engine thread cannot run on processor {cpu}: {error}");
            }
            worker.run();
        };
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}engine"));
        let thread = signals::without(|| thread.spawn(body)).map_err(|error| {
            ErrorClass::NoMem.error(format!("cannot start the engine of the interface: {error}"))
        })?;
        Ok(Self { thread: Some(thread), stopping, interface })
    }
}

impl Drop for EngineThread {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let bell = &self.interface.fabric.own().engine_wake_word;
        bell.wake();
        futex::wake(bell.word());
        if let Some(thread) = self.thread.take() {
            // It never panics (`AbortGuard`).
            drop(thread.join());
        }
    }
}

impl Worker {
    fn run(&mut self) {
        let mut idle_since = None;
        while !self.stopping.load(Ordering::SeqCst) {
            if self.work() {
                idle_since = None;
                continue;
            }
            let now = clock::monotonic_ns();
            let since = *idle_since.get_or_insert(now);
            let soon = self.next_event_ns.saturating_sub(now) < LINGER_NS;
            if now - since < LINGER_NS || soon || !self.replies.is_empty() {
                std::thread::yield_now();
            } else {
                self.sleep();
                idle_since = None;
            }
        }
    }

    /// Sleeps until somebody has something.
    fn sleep(&mut self) {
        let interface = self.interface.clone();
        let bell = &interface.fabric.own().engine_wake_word;
        let expected = bell.arm();
        if !self.work() && !self.stopping.load(Ordering::SeqCst) {
            let sleep_ns = self.next_event_ns.saturating_sub(clock::monotonic_ns());
            let is_bounded = self.next_event_ns < u64::MAX;
            futex::wait(bell.word(), expected, is_bounded.then(|| Duration::from_nanos(sleep_ns)));
        }
        bell.disarm();
    }

    /// Does what there is to do; whether there was something new.
    fn work(&mut self) -> bool {
        let mut any = self.receive_requests();
        while let Some((slot, answer)) = self.replies.pop_front() {
            if self.interface.fabric.post(slot, answer).is_err() {
                self.replies.push_front((slot, answer));
                break;
            }
            any = true;
        }
        let news = self.interface.has_changed(&mut self.seen);
        let is_time = self.next_event_ns < u64::MAX && self.next_event_ns <= clock::monotonic_ns();
        if news || is_time {
            self.next_event_ns = self.interface.work();
        }
        any || news
    }

    fn receive_requests(&mut self) -> bool {
        let mut any = false;
        loop {
            let letter = self.requests.next(|arrival| match arrival {
                QueueArrival::Packet { from, header, data } => {
                    AtomicRequest::unpack(&header, data).map(|letter| (from as usize, letter))
                }
                QueueArrival::Switch { .. } => None,
            });
            let Some(letter) = letter else { return any };
            any = true;
            let (from, letter) = letter.expect("shared segment damaged: a letter nobody writes");
            assert!(from < self.interface.fabric.areas().len(), "shared segment damaged: sender");
            if let Some(answer) = self.interface.receive(letter) {
                self.replies.push_back((from, answer));
            }
        }
    }
}
