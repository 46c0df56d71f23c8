//! Messages between ranks of which some crash, each with a receive of its own: those between survivors
//! arrive whole, and an operation with a rank that has crashed ends, with or without an error. Memory belongs
//! to the application again once its operation has ended, also by an error.

use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::point_to_point::SendMode;
use mpi_abi::mpi::request::Activity;
use platform::base::{ErrorClass, Random};

use super::faults::Faults;
use super::harness::{Rank, each_seed, faulty, size};
use super::mpi::{receive, room};

/// Bytes of messages.
const LENS: [usize; 8] = [0, 40, 41, 300, 5000, 5001, 6001, 20_000];
/// Messages of each rank, on average.
const MESSAGES: u64 = 10;
/// Turns in which faults begin.
const FAULT_TURNS: u64 = 600;
/// What an application writes to memory that it has back.
const AGAIN: u8 = 0x77;

/// One message; its tag is its place in the list.
#[derive(Clone, Copy)]
struct Sent {
    from: u32,
    to: u32,
    len: usize,
    mode: SendMode,
}

impl Sent {
    fn draw(random: &mut Random, count: u32) -> Self {
        let [from, to] = [0; 2].map(|_| random.below(u64::from(count)) as u32);
        let len = LENS[random.below(LENS.len() as u64) as usize];
        let mode = [SendMode::Standard, SendMode::Synchronous][random.below(2) as usize];
        Self { from, to, len, mode }
    }
}

fn data(tag: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 5 + tag) as u8).collect()
}

/// One end of a message at a rank.
struct End {
    tag: usize,
    sends: bool,
    memory: Vec<u8>,
    activity: Option<Activity>,
    /// Whether it has ended by an error.
    has_failed: bool,
}

impl End {
    fn start(rank: &mut Rank, all: &[Sent], tag: usize, sends: bool) -> Self {
        let Sent { from, to, len, mode } = all[tag];
        let mut memory = if sends { data(tag, len) } else { vec![0xee; len] };
        let activity = match sends {
            true => {
                let (mpi, span) = (&mut rank.mpi, room(&mut memory));
                let send = mpi.send_arguments(mode, span, to as i32, tag as i32, COMM_WORLD);
                mpi.start_operation(send.unwrap(), COMM_WORLD).unwrap()
            }
            false => receive(rank, &mut memory, from as i32, tag as i32, COMM_WORLD),
        };
        Self { tag, sends, memory, activity: Some(activity), has_failed: false }
    }

    /// Waits for its end, and then uses its memory again.
    async fn end(&mut self, rank: &mut Rank) {
        let Some(activity) = self.activity.take() else { return };
        rank.note(format!("message {}, sends: {}", self.tag, self.sends));
        let error = rank.wait(activity).await.error;
        if let Some(error) = &error {
            assert_eq!(error.code.0, ErrorClass::ProcFailed as i32, "{error}");
        } else {
            let is_whole = self.memory == data(self.tag, self.memory.len());
            assert!(is_whole, "message {}, sends: {}", self.tag, self.sends);
        }
        self.has_failed = error.is_some();
        self.memory.fill(AGAIN);
    }
}

/// Starts all operations of a rank in some order and waits for them in another one.
async fn exchange(rank: &mut Rank, all: &[Sent], seed: u64) -> Vec<End> {
    let mut random = Random::new(seed << 8 | u64::from(rank.me));
    rank.draw_limits(&mut random);
    let me = rank.me;
    let ends = |(tag, sent): (usize, &Sent)| {
        let halves = [(sent.from, true), (sent.to, false)];
        halves.into_iter().filter(move |half| half.0 == me).map(move |half| (tag, half.1))
    };
    let mut due: Vec<(usize, bool)> = all.iter().enumerate().flat_map(ends).collect();
    let mut started = Vec::new();
    while !due.is_empty() {
        let (tag, sends) = due.swap_remove(random.below(due.len() as u64) as usize);
        started.push(End::start(rank, all, tag, sends));
        rank.after(random.below(12), |_| ()).await;
    }
    let mut left: Vec<usize> = (0..started.len()).collect();
    while !left.is_empty() {
        let drawn = left.swap_remove(random.below(left.len() as u64) as usize);
        started[drawn].end(rank).await;
    }
    started
}

fn program(seed: u64) {
    let mut random = Random::new(seed);
    let count = size(&mut random);
    let total = random.below(2 * MESSAGES * u64::from(count));
    let all: Vec<Sent> = (0..total).map(|_| Sent::draw(&mut random, count)).collect();
    let places: Vec<u32> = (0..count).map(|_| random.below(2) as u32).collect();
    let crashes = u64::from(count) / 2;
    let faults = |network: &[_]| Faults::draw(network, &mut random, crashes, FAULT_TURNS);
    // The memory stays until all ranks have ended.
    let results =
        faulty(&places, seed, faults, async |rank: &mut Rank| exchange(rank, &all, seed).await);
    for end in results.iter().flatten().flatten() {
        let Sent { from, to, .. } = all[end.tag];
        let both_live = [from, to].iter().all(|rank| results[*rank as usize].is_some());
        assert!(!(end.has_failed && both_live), "message {} from {from} to {to}", end.tag);
        let is_untouched = end.memory.iter().all(|byte| *byte == AGAIN);
        assert!(is_untouched, "message {} was written after its end", end.tag);
    }
}

#[test]
fn any_seed_delivers_messages_between_survivors() {
    each_seed(150, 20_000, program);
}
