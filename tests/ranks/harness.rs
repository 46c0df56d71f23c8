//! `ranks(4, seed, async |rank| ...)`: N ranks of MPI in one thread, in an order determined by a seed.
//!
//! ```text
//!   Simulation ── draws a rank ──► Rank: its program, a future      until, wait: one poll in each turn
//!       │                            └─ Mpi ─ Engine ─ Fault ─ Delay ─ Loopback
//!       └── faults due at this turn: crash, cut, heal ──────────────────┘
//! ```
//!
//! Each rank is a value, an `Mpi` over the test device, and its program a future. A waiting rank ends its
//! turn, and the seed draws the rank of the next one. The turns are the clock. No thread and no other
//! clock takes part, so a seed repeats a run exactly. A failure of a rank, or a deadlock of all ranks, ends
//! the run with the seed in the message.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use mpi_abi::device::middleware::delay::Delay;
use mpi_abi::device::middleware::fault::Fault;
use mpi_abi::device::trigger::InterfaceLimits;
use mpi_abi::devices::loopback::Loopback;
use mpi_abi::mpi::objects::Objects;
use mpi_abi::mpi::request::{Activity, Outcome};
use mpi_abi::mpi::{Mpi, WorldAttributes};
use platform::base::Random;

use super::faults::{Crash, Faults, chosen_seeds};

/// MPI over a network with random full queues and late delivery.
pub type TestMpi = Mpi<TestDevice>;

type TestDevice = Fault<Delay<Loopback>>;

/// One of this number of sends finds the device full although it is not.
const BUSY_ONE_IN: u64 = 5;
/// Largest delay of a packet, in polls.
const DELAY_POLLS: u64 = 4;
/// Consecutive turns of up to eight waiting ranks without any arrival that count as a deadlock.
const QUIET_TURNS_MAX: u64 = 20_000;
/// A slow rank takes one in this number of its turns.
const SLOW_ONE_IN: u64 = 40;

/// One rank of a run.
pub struct Rank {
    /// Its MPI.
    pub mpi: TestMpi,
    /// Its number in the world.
    pub me: u32,
    clock: Rc<Clock>,
}

/// What the ranks and the simulation share.
#[derive(Default)]
struct Clock {
    now: Cell<u64>,
    /// Turns since the last arrival.
    quiet_turns: Cell<u64>,
    /// The living ranks whose programs have not ended.
    unfinished: RefCell<BTreeSet<u32>>,
    /// Those that have something to send, or have not learned of all crashes.
    busy: RefCell<BTreeSet<u32>>,
    crashes: Cell<u32>,
    /// Whether all ranks were idle at once after the end of all programs.
    is_over: Cell<bool>,
    /// What each rank does, for the report of a failure.
    steps: RefCell<BTreeMap<u32, String>>,
}

/// The ranks and what happens to them.
struct Simulation<'a, T> {
    programs: Vec<Option<Program<'a, T>>>,
    results: Vec<Option<T>>,
    faults: Faults,
    random: Random,
    clock: Rc<Clock>,
}

type Program<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Runs `body` on `count` ranks and returns the result of each.
///
/// # Panics
/// If a rank panics, or on deadlock; the message has the seed.
pub fn ranks<T>(count: u32, seed: u64, body: impl AsyncFn(&mut Rank) -> T) -> Vec<T> {
    placed(&vec![0; count as usize], seed, body)
}

/// [`ranks`] with the given node of each rank.
///
/// # Panics
/// As [`ranks`].
pub fn placed<T>(places: &[u32], seed: u64, body: impl AsyncFn(&mut Rank) -> T) -> Vec<T> {
    all(over(disturbed(Loopback::on_nodes(places), seed), places, seed, Faults::default(), body))
}

/// [`ranks`] on a network ([`Loopback::remote`]), in some seeds without other delays, and in some
/// without full queues but its own.
///
/// # Panics
/// As [`ranks`].
pub fn networked<T>(places: &[u32], seed: u64, body: impl AsyncFn(&mut Rank) -> T) -> Vec<T> {
    all(faulty(places, seed, |_| Faults::default(), body))
}

/// [`networked`] with faults; no result of a rank that has crashed. In some seeds, ranks of a node share
/// segments.
///
/// # Panics
/// As [`ranks`].
pub fn faulty<T>(
    places: &[u32], seed: u64, faults: impl FnOnce(&[Loopback]) -> Faults,
    body: impl AsyncFn(&mut Rank) -> T,
) -> Vec<Option<T>> {
    let delay = if seed.is_multiple_of(2) { 0 } else { DELAY_POLLS };
    let busy_one_in = if seed.is_multiple_of(3) { BUSY_ONE_IN } else { 0 };
    let network = match seed % 5 {
        0 => Loopback::remote_on_nodes(places, seed),
        _ => Loopback::remote(places.len(), seed),
    };
    let faults = faults(&network);
    let wrap = |(device, me)| {
        Fault::new(Delay::new(device, own_seed(seed, me), delay), own_seed(seed, me), busy_one_in)
    };
    over(network.into_iter().zip(0..).map(wrap).collect(), places, seed, faults, body)
}

/// [`ranks`] on one node whose interfaces have these limits.
///
/// # Panics
/// As [`ranks`].
pub fn limited<T>(
    count: u32, seed: u64, limits: impl Fn(u32) -> InterfaceLimits,
    body: impl AsyncFn(&mut Rank) -> T,
) -> Vec<T> {
    let network = disturbed(Loopback::offloading(count as usize, seed, limits), seed);
    all(over(network, &vec![0; count as usize], seed, Faults::default(), body))
}

fn all<T>(results: Vec<Option<T>>) -> Vec<T> {
    results.into_iter().map(|result| result.expect("no rank crashes")).collect()
}

fn own_seed(seed: u64, me: u32) -> u64 {
    seed ^ u64::from(me) << 32
}

/// The devices with random full queues and late delivery.
fn disturbed(network: Vec<Loopback>, seed: u64) -> Vec<TestDevice> {
    let disturb = |(device, me)| {
        let seed = own_seed(seed, me);
        Fault::new(Delay::new(device, seed, DELAY_POLLS), seed, BUSY_ONE_IN)
    };
    network.into_iter().zip(0..).map(disturb).collect()
}

fn over<T>(
    network: Vec<TestDevice>, places: &[u32], seed: u64, faults: Faults,
    body: impl AsyncFn(&mut Rank) -> T,
) -> Vec<Option<T>> {
    let count = places.len() as u32;
    let clock = Rc::new(Clock::default());
    clock.unfinished.borrow_mut().extend(0..count);
    clock.busy.borrow_mut().extend(0..count);
    let program = |(device, me)| -> Option<Program<T>> {
        let mut rank = Rank::new(device, me, places, Rc::clone(&clock));
        if faults.has_crashes() {
            rank.mpi.engine.survive_failures();
        }
        Some(Box::pin(run(rank, &body)))
    };
    let simulation = Simulation {
        programs: network.into_iter().zip(0..).map(program).collect(),
        results: (0..count).map(|_| None).collect(),
        faults,
        random: Random::new(seed),
        clock: Rc::clone(&clock),
    };
    // The ranks end while the thread panics, so that no device looks for its peers.
    let results = catch_unwind(AssertUnwindSafe(move || simulation.run()));
    let (turn, steps) = (clock.now.get(), clock.steps.borrow());
    results.unwrap_or_else(|_| {
        panic!("{count} ranks with seed {seed} failed in turn {turn}, see above: {steps:#?}")
    })
}

async fn run<T>(mut rank: Rank, body: &impl AsyncFn(&mut Rank) -> T) -> T {
    let result = body(&mut rank).await;
    rank.note("drains");
    rank.until(|mpi| mpi.is_drained().then_some(())).await;
    // No rank leaves before all have received their messages.
    let clock = Rc::clone(&rank.clock);
    clock.unfinished.borrow_mut().remove(&rank.me);
    rank.note("has ended");
    rank.until(|_| clock.unfinished.borrow().is_empty().then_some(())).await;
    let me = rank.me;
    let are_all_idle = |mpi: &mut TestMpi| {
        let mut busy = clock.busy.borrow_mut();
        match mpi.is_drained() && mpi.engine.failures() == clock.crashes.get() {
            true => busy.remove(&me),
            false => busy.insert(me),
        };
        clock.is_over.set(clock.is_over.get() || busy.is_empty());
        clock.is_over.get().then_some(())
    };
    // Then all leave, whatever still arrives.
    rank.until(are_all_idle).await;
    result
}

/// Ends the turn of a rank.
async fn pass() {
    let mut has_passed = false;
    std::future::poll_fn(|_| match std::mem::replace(&mut has_passed, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

impl Rank {
    fn new(device: TestDevice, me: u32, places: &[u32], clock: Rc<Clock>) -> Self {
        let (count, objects) = (places.len() as u32, Objects::default());
        let mut mpi = Mpi::without_world(device, me, count, objects, WorldAttributes::default());
        mpi.comms.set_nodes(places);
        mpi.begin_world().unwrap();
        Self { mpi, me, clock }
    }

    /// Other limits of this rank for eager and for unexpected messages, each in half of the draws.
    pub fn draw_limits(&mut self, random: &mut Random) {
        let [eager, unexpected] = [0; 2].map(|_| random.below(6) as usize);
        if let Some(bytes) = [0, 300, 6000].get(eager) {
            self.mpi.engine.set_eager_max(*bytes);
        }
        if let Some(bytes) = [0, 100, 5000].get(unexpected) {
            self.mpi.engine.set_unexpected_max(*bytes);
        }
    }

    /// The number of turns of all ranks until now.
    pub fn now(&self) -> u64 {
        self.clock.now.get()
    }

    /// Notes what this rank does now, for the report of a failure.
    pub fn note(&self, step: impl Into<String>) {
        self.clock.steps.borrow_mut().insert(self.me, step.into());
    }

    /// Waits until `done` returns a value; other ranks run meanwhile.
    pub async fn until<T>(&mut self, mut done: impl FnMut(&mut TestMpi) -> Option<T>) -> T {
        loop {
            let arrived = self.mpi.poll();
            self.mpi.engine.fault().expect("nobody breaks the protocol");
            while let Some(work) = self.mpi.engine.take_work() {
                work.execute();
                self.mpi.engine.work_done(&work);
            }
            if arrived > 0 {
                self.clock.quiet_turns.set(0);
            }
            if let Some(result) = done(&mut self.mpi) {
                return result;
            }
            pass().await;
        }
    }

    /// The result of `look` after the given number of turns of this rank.
    pub async fn after<T>(&mut self, turns: u64, look: impl FnOnce(&mut TestMpi) -> T) -> T {
        let mut left = turns + 1;
        self.until(|_| {
            left -= 1;
            (left == 0).then_some(())
        })
        .await;
        look(&mut self.mpi)
    }

    /// Waits for the completion of an activity, as a blocking call.
    pub async fn wait(&mut self, mut activity: Activity) -> Outcome {
        self.until(|mpi| mpi.end_if_complete(&mut activity)).await
    }
}

impl<T> Simulation<'_, T> {
    /// Gives turns until the program of each living rank has ended.
    fn run(mut self) -> Vec<Option<T>> {
        let mut running: Vec<u32> = (0..self.programs.len() as u32).collect();
        let share = if self.faults.has_slow_rank() { SLOW_ONE_IN } else { 1 };
        let quiet_turns_max = QUIET_TURNS_MAX * share * running.len().div_ceil(8) as u64;
        while !running.is_empty() {
            self.clock.now.set(self.clock.now.get() + 1);
            while let Some(crash) = self.faults.begin_turn(self.clock.now.get()) {
                running.retain(|rank| *rank != crash.rank);
                self.crash(crash);
            }
            if running.is_empty() {
                break;
            }
            let rank = running[self.random.below(running.len() as u64) as usize];
            if self.faults.is_slow(rank) && !self.random.one_in(SLOW_ONE_IN) {
                continue;
            }
            let quiet_turns = self.clock.quiet_turns.get() + 1;
            self.clock.quiet_turns.set(quiet_turns);
            assert!(quiet_turns < quiet_turns_max, "rank {rank} and all others wait for ever");
            if self.turn(rank) {
                running.retain(|other| *other != rank);
            }
        }
        self.results
    }

    /// One turn of a rank; whether its program has ended.
    fn turn(&mut self, rank: u32) -> bool {
        let place = &mut self.programs[rank as usize];
        let Some(program) = place else { return true };
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(result) = program.as_mut().poll(&mut context) else { return false };
        self.results[rank as usize] = Some(result);
        *place = None;
        true
    }

    /// The process of a rank ends: its memory, its MPI, and packets that have not left.
    fn crash(&mut self, Crash { rank, death, .. }: Crash) {
        self.programs[rank as usize] = None;
        self.results[rank as usize] = None;
        self.clock.unfinished.borrow_mut().remove(&rank);
        self.clock.busy.borrow_mut().remove(&rank);
        self.clock.crashes.set(self.clock.crashes.get() + 1);
        death();
    }
}

/// Whether to run the long cases (`SUIRO_TEST_LONG=1`).
pub fn is_long() -> bool {
    std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1")
}

/// The number of ranks of a program: 2 to 8, or up to 64 in a few.
pub fn size(random: &mut Random) -> u32 {
    let most = if random.one_in(50) { 64 } else { 8 };
    2 + random.below(most - 1) as u32
}

/// Runs the programs of the first `few` seeds, or of `many` in the long form; of `SUIRO_TEST_SEED` alone if
/// that is set.
///
/// # Panics
/// If a program panics; the message has the seed.
pub fn each_seed(few: u64, many: u64, program: impl Fn(u64)) {
    let all = 0..if is_long() { many } else { few };
    for seed in chosen_seeds().unwrap_or(all) {
        let end = catch_unwind(AssertUnwindSafe(|| program(seed)));
        assert!(end.is_ok(), "see above; SUIRO_TEST_SEED={seed} repeats it");
    }
}
