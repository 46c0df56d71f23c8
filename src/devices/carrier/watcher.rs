//! The thread of thread mode: looks for what the library has completed, and wakes the rank.
//!
//! ```text
//!   looks ── found something ──> wakes the rank, looks on
//!     │  ▲
//!     │  └─ a send, or the end of a nap ── naps, each twice as long as the one before
//!     ▼                                     ▲
//!   nothing ── spins, if it has a processor ── yields ─┘
//! ```
//!
//! In the thread mode of GridMPI ("GridMPI on pSeries", 2005) the thread blocks in a probe of the vendor's
//! library, which polls: with more threads than processors that mode was slower the more ranks there were.
//! So this thread never blocks in the library. It polls like a waiting call and gives the processor away.
//! That also makes calls of the library exclusive, which is all that many libraries promise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::CarrierCalls;
use super::port::Port;
use platform::base::{ErrorClass, Result};
use platform::sys::process::THREAD_NAME;
use platform::sys::{futex, signals};

/// Looks that find nothing, before the first yield, of a thread with a processor for itself.
const SPINS: u32 = 100;
/// How long the thread yields before it naps.
const YIELD: Duration = Duration::from_micros(200);
/// The first nap and the longest one: an idle thread uses a hundredth of a processor.
const NAP_MIN: Duration = Duration::from_micros(50);
const NAP_MAX: Duration = Duration::from_millis(1);

/// What the thread and the device share.
pub(super) struct WatchedPort<C: CarrierCalls> {
    pub(super) port: Mutex<Port<C>>,
    /// Whether the port has something for the sink.
    pub(super) has_news: AtomicBool,
    /// Whether the device waits for the lock: the thread would take it again at once.
    pub(super) is_wanted: AtomicBool,
    is_napping: AtomicBool,
    is_stopping: AtomicBool,
    pub(super) wake_word: WatcherWord,
}

/// The futex word on which a rank sleeps that knows nothing else to sleep on.
#[derive(Clone, Debug, Default)]
pub(super) struct WatcherWord(Arc<AtomicU32>);

impl AsRef<AtomicU32> for WatcherWord {
    fn as_ref(&self) -> &AtomicU32 {
        &self.0
    }
}

impl WatcherWord {
    pub(super) fn now(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn change(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        futex::wake(&self.0);
    }
}

/// The running thread.
pub(super) struct Watcher(JoinHandle<()>);

impl<C: CarrierCalls> WatchedPort<C> {
    pub(super) fn new(port: Port<C>) -> Self {
        Self {
            port: Mutex::new(port),
            has_news: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
            is_napping: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            wake_word: WatcherWord::default(),
        }
    }

    fn watch(&self, is_crowded: bool, wake: &dyn Fn()) {
        let (mut polls, mut yields_since, mut nap) = (0, None, NAP_MIN);
        while !self.is_stopping.load(Ordering::SeqCst) {
            let found = {
                let mut port = self.port.lock();
                let found = port.look();
                if found {
                    self.has_news.store(true, Ordering::SeqCst);
                }
                found
            };
            if found {
                wake();
                (polls, yields_since, nap) = (0, None, NAP_MIN);
            }
            polls += 1;
            if !is_crowded && polls < SPINS && !self.is_wanted.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            } else if yields_since.get_or_insert_with(Instant::now).elapsed() < YIELD {
                std::thread::yield_now();
            } else if self.nap(nap) {
                (polls, yields_since, nap) = (0, None, NAP_MIN);
            } else {
                nap = NAP_MAX.min(2 * nap);
            }
        }
    }

    /// Naps; whether a send has ended the nap.
    fn nap(&self, length: Duration) -> bool {
        self.is_napping.store(true, Ordering::SeqCst);
        std::thread::park_timeout(length);
        !self.is_napping.swap(false, Ordering::SeqCst)
    }
}

impl Watcher {
    /// # Errors
    /// `NoMem` if the system cannot start a thread.
    pub(super) fn start<C: CarrierCalls>(
        watched: &Arc<WatchedPort<C>>, is_crowded: bool, wake: impl Fn() + Send + 'static,
    ) -> Result<Self> {
        let watched = Arc::clone(watched);
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}vendor"));
        let watch = move || watched.watch(is_crowded, &wake);
        let thread = signals::without(|| thread.spawn(watch)).map_err(|error| {
            ErrorClass::NoMem
                .error(format!("cannot start the thread of SUIRO_VENDOR_MODE: {error}"))
        })?;
        Ok(Self(thread))
    }

    /// Ends a nap: something has been sent.
    #[inline]
    pub(super) fn rouse<C: CarrierCalls>(&self, watched: &WatchedPort<C>) {
        if watched.is_napping.load(Ordering::Relaxed)
            && watched.is_napping.swap(false, Ordering::SeqCst)
        {
            self.0.thread().unpark();
        }
    }

    /// Stops the thread: no call of the library is in progress afterwards.
    pub(super) fn stop<C: CarrierCalls>(self, watched: &WatchedPort<C>) {
        watched.is_stopping.store(true, Ordering::SeqCst);
        self.0.thread().unpark();
        // A panic has been printed by the thread.
        drop(self.0.join());
    }
}
