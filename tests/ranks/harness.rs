//! `ranks(4, seed, |rank| ...)`: N ranks of MPI in one process, in an order determined by a seed.
//!
//! Each rank is a thread with its own `Mpi` value, over the loopback device with seeded faults and
//! delays. One thread runs at a time, the one with the baton. A waiting rank passes the baton to a
//! rank drawn from the seed, so a seed repeats a run exactly. A failure of a rank, or a deadlock of
//! all ranks, ends the run with the seed in the message.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use mpi_abi::device::middleware::delay::Delay;
use mpi_abi::device::middleware::fault::Fault;
use mpi_abi::device::trigger::InterfaceLimits;
use mpi_abi::devices::loopback::Loopback;
use mpi_abi::mpi::objects::Objects;
use mpi_abi::mpi::request::{Activity, Outcome};
use mpi_abi::mpi::{Mpi, WorldAttributes};
use platform::base::Random;

/// MPI over a network with random full queues and late delivery.
pub type TestMpi = Mpi<TestDevice>;

type TestDevice = Fault<Delay<Loopback>>;

/// One of this number of sends finds the device full although it is not.
const BUSY_ONE_IN: u64 = 5;
/// Largest delay of a packet, in polls.
const DELAY_POLLS: u64 = 4;
/// Consecutive turns of waiting ranks without any arrival that count as a deadlock.
const QUIET_TURNS_MAX: u32 = 20_000;

/// One rank of a run.
pub struct Rank {
    /// Its MPI.
    pub mpi: TestMpi,
    /// Its number in the world.
    pub me: u32,
    baton: Arc<Baton>,
}

struct Baton {
    state: Mutex<State>,
    passed: Condvar,
}

struct State {
    turn: u32,
    running: Vec<u32>,
    random: Random,
    quiet_turns: u32,
    failed: bool,
}

/// Runs `body` on `count` ranks and returns the result of each.
///
/// # Panics
/// If a rank panics, or on deadlock; the message has the seed.
pub fn ranks<T: Send>(count: u32, seed: u64, body: impl Fn(&mut Rank) -> T + Sync) -> Vec<T> {
    placed(&vec![0; count as usize], seed, body)
}

/// [`ranks`] with the given node of each rank.
///
/// # Panics
/// As [`ranks`].
pub fn placed<T: Send>(places: &[u32], seed: u64, body: impl Fn(&mut Rank) -> T + Sync) -> Vec<T> {
    over(disturbed(Loopback::on_nodes(places), seed), places, seed, body)
}

/// [`ranks`] on a network ([`Loopback::remote`]), in some seeds without other delays, and in some
/// without full queues but its own.
///
/// # Panics
/// As [`ranks`].
pub fn networked<T: Send>(
    places: &[u32], seed: u64, body: impl Fn(&mut Rank) -> T + Sync,
) -> Vec<T> {
    let delay = if seed.is_multiple_of(2) { 0 } else { DELAY_POLLS };
    let busy_one_in = if seed.is_multiple_of(3) { BUSY_ONE_IN } else { 0 };
    let network = Loopback::remote(places.len(), seed).into_iter().zip(0..);
    let wrap = |(device, me)| {
        Fault::new(Delay::new(device, own_seed(seed, me), delay), own_seed(seed, me), busy_one_in)
    };
    over(network.map(wrap).collect(), places, seed, body)
}

/// [`ranks`] on one node whose interfaces have these limits.
///
/// # Panics
/// As [`ranks`].
pub fn limited<T: Send>(
    count: u32, seed: u64, limits: impl Fn(u32) -> InterfaceLimits,
    body: impl Fn(&mut Rank) -> T + Sync,
) -> Vec<T> {
    let network = Loopback::offloading(count as usize, seed, limits);
    over(disturbed(network, seed), &vec![0; count as usize], seed, body)
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

fn over<T: Send>(
    network: Vec<TestDevice>, places: &[u32], seed: u64, body: impl Fn(&mut Rank) -> T + Sync,
) -> Vec<T> {
    let count = places.len() as u32;
    let state = State {
        turn: 0,
        running: (0..count).collect(),
        random: Random::new(seed),
        quiet_turns: 0,
        failed: false,
    };
    let baton = Arc::new(Baton { state: Mutex::new(state), passed: Condvar::new() });
    let network = network.into_iter().zip(0..);
    std::thread::scope(|scope| {
        let threads: Vec<_> = network
            .map(|(device, me)| {
                let (baton, body) = (Arc::clone(&baton), &body);
                scope.spawn(move || run(device, me, places, baton, body))
            })
            .collect();
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        let results = results.into_iter().collect::<Result<Vec<T>, _>>();
        results.unwrap_or_else(|_| panic!("{count} ranks with seed {seed} failed, see above"))
    })
}

fn run<T>(
    device: TestDevice, me: u32, places: &[u32], baton: Arc<Baton>, body: impl Fn(&mut Rank) -> T,
) -> T {
    let _end = End { baton: Arc::clone(&baton), me };
    let count = places.len() as u32;
    let mut mpi =
        Mpi::without_world(device, me, count, Objects::default(), WorldAttributes::default());
    mpi.comms.set_nodes(places);
    mpi.begin_world().unwrap();
    drop(baton.turn_of(me));
    let mut rank = Rank { mpi, me, baton };
    let result = body(&mut rank);
    rank.until(|mpi| mpi.is_drained().then_some(()));
    // No rank leaves before all have received their messages.
    let barrier = rank.mpi.start_barrier(mpi_abi::mpi::communicator::COMM_WORLD).unwrap();
    rank.wait(barrier);
    rank.until(|mpi| mpi.is_drained().then_some(()));
    result
}

impl Rank {
    /// Waits until `done` returns a value; other ranks run meanwhile.
    pub fn until<T>(&mut self, mut done: impl FnMut(&mut TestMpi) -> Option<T>) -> T {
        loop {
            let arrived = self.mpi.poll();
            self.mpi.engine.fault().expect("nobody breaks the protocol");
            while let Some(work) = self.mpi.engine.take_work() {
                work.execute();
                self.mpi.engine.work_done(&work);
            }
            if let Some(result) = done(&mut self.mpi) {
                return result;
            }
            self.baton.pass(self.me, arrived > 0);
        }
    }

    /// The result of `look` after the given number of turns of other ranks.
    pub fn after<T>(&mut self, turns: u64, look: impl FnOnce(&mut TestMpi) -> T) -> T {
        let mut left = turns + 1;
        self.until(|_| {
            left -= 1;
            (left == 0).then_some(())
        });
        look(&mut self.mpi)
    }

    /// Waits for the completion of an activity.
    pub fn wait(&mut self, activity: Activity) -> Outcome {
        let mut activity = Some(activity);
        self.until(|mpi| {
            let over = activity.take_if(|activity| mpi.is_complete(activity))?;
            Some(mpi.end(over))
        })
    }
}

impl Baton {
    /// Waits for the turn of `me`.
    fn turn_of(&self, me: u32) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.turn != me {
            assert!(!state.failed, "another rank has failed");
            state = self.passed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        assert!(!state.failed, "another rank has failed");
        state
    }

    /// Passes the baton to a rank drawn from the seed, and waits for its return.
    fn pass(&self, me: u32, moved: bool) {
        let mut state = self.turn_of(me);
        state.quiet_turns = if moved { 0 } else { state.quiet_turns + 1 };
        assert!(state.quiet_turns < QUIET_TURNS_MAX, "rank {me} and all others wait for ever");
        state.draw();
        drop(state);
        self.passed.notify_all();
        drop(self.turn_of(me));
    }
}

impl State {
    fn draw(&mut self) {
        if !self.running.is_empty() {
            let drawn = self.random.below(self.running.len() as u64);
            self.turn = self.running[drawn as usize];
        }
    }
}

/// Removes a rank from the run when its thread ends, also by a panic.
struct End {
    baton: Arc<Baton>,
    me: u32,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.baton.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failed |= std::thread::panicking();
        state.running.retain(|rank| *rank != self.me);
        if state.turn == self.me {
            state.draw();
        }
        drop(state);
        self.baton.passed.notify_all();
    }
}

/// Whether to run the long cases (`SUIRO_TEST_LONG=1`).
pub fn is_long() -> bool {
    std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1")
}
