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

use super::interface::{Interface, Seen};
use super::mail::Letter;
use super::segment::Mail;
use crate::base::{ErrorClass, Result};
use crate::devices::rings::memory::Mapped;
use crate::devices::rings::queue::{Arrival, Reader};
use crate::sys::process::THREAD_NAME;
use crate::sys::{clock, cpu, futex, signals};

/// How long it looks for more before it sleeps.
const LINGER_NS: u64 = 1_000_000;

/// A running engine thread, which ends when this is dropped.
pub struct Engine {
    thread: Option<JoinHandle<()>>,
    stopping: Arc<AtomicBool>,
    interface: Arc<Interface>,
}

/// What the thread works with.
struct Worker {
    interface: Arc<Interface>,
    stopping: Arc<AtomicBool>,
    mail: Reader<Mapped<Mail>>,
    /// Answers for which the queues of peers had no room, and the slots of those.
    answers: VecDeque<(usize, Letter)>,
    seen: Seen,
    /// When there is something to do although nothing happens, in nanoseconds.
    wakes_at_ns: u64,
}

/// Ends the process if its thread panics: the application would wait for ever.
struct Vital;

impl Drop for Vital {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

impl Engine {
    /// Starts the thread of an interface, on one of the processors `cpus` if there are any.
    ///
    /// # Errors
    /// `NoMem` if the system gives no thread.
    ///
    /// # Safety
    /// It is the only one that the interface ever has.
    pub unsafe fn start(interface: Arc<Interface>, cpus: &[usize]) -> Result<Self> {
        let stopping = Arc::new(AtomicBool::new(false));
        // SAFETY: the only one, as the caller promises.
        let mail = unsafe { Reader::new(interface.fabric.own().part(|area| &area.mail)) };
        let mut worker = Worker {
            interface: interface.clone(),
            stopping: stopping.clone(),
            mail,
            answers: VecDeque::new(),
            seen: Seen::default(),
            wakes_at_ns: u64::MAX,
        };
        let own = cpus.get(interface.fabric.own_slot() % cpus.len().max(1)).copied();
        let body = move || {
            let _vital = Vital;
            if let Some(cpu) = own
                && let Err(error) = cpu::confine(&[cpu])
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

impl Drop for Engine {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let bell = &self.interface.fabric.own().bell;
        bell.rouse();
        futex::wake(bell.word());
        if let Some(thread) = self.thread.take() {
            // It never panics (`Vital`).
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
            let soon = self.wakes_at_ns.saturating_sub(now) < LINGER_NS;
            if now - since < LINGER_NS || soon || !self.answers.is_empty() {
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
        let bell = &interface.fabric.own().bell;
        let expected = bell.arm();
        if !self.work() && !self.stopping.load(Ordering::SeqCst) {
            let sleep_ns = self.wakes_at_ns.saturating_sub(clock::monotonic_ns());
            let is_bounded = self.wakes_at_ns < u64::MAX;
            futex::wait(bell.word(), expected, is_bounded.then(|| Duration::from_nanos(sleep_ns)));
        }
        bell.disarm();
    }

    /// Does what there is to do; whether there was something new.
    fn work(&mut self) -> bool {
        let mut any = self.read_mail();
        while let Some((slot, answer)) = self.answers.pop_front() {
            if self.interface.fabric.post(slot, answer).is_err() {
                self.answers.push_front((slot, answer));
                break;
            }
            any = true;
        }
        let news = self.interface.has_news(&mut self.seen);
        let is_time = self.wakes_at_ns < u64::MAX && self.wakes_at_ns <= clock::monotonic_ns();
        if news || is_time {
            self.wakes_at_ns = self.interface.work();
        }
        any || news
    }

    fn read_mail(&mut self) -> bool {
        let mut any = false;
        loop {
            let letter = self.mail.next(|arrival| match arrival {
                Arrival::Packet { from, header, data } => {
                    Letter::unpacked(&header, data).map(|letter| (from as usize, letter))
                }
                Arrival::Switch { .. } => None,
            });
            let Some(letter) = letter else { return any };
            any = true;
            let (from, letter) = letter.expect("shared segment damaged: a letter nobody writes");
            assert!(from < self.interface.fabric.areas().len(), "shared segment damaged: sender");
            if let Some(answer) = self.interface.receive(letter) {
                self.answers.push_back((from, answer));
            }
        }
    }
}
