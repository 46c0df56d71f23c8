//! What happens to the ranks of a run beside full queues and delays: crashes, partitions that heal, and
//! slow ranks, at turns that a seed determines.
//!
//! A partition is of the links alone: it makes no rank fail, and packets wait until it heals. A crash ends
//! the process of a rank between two polls; its peers get the packets that have left, and then learn of it.

use std::ops::Range;

use mpi_abi::devices::loopback::{Loopback, LoopbackLinks};
use platform::base::Random;

/// The faults of a run.
#[derive(Default)]
pub struct Faults {
    /// The last one first.
    crashes: Vec<Crash>,
    partitions: Vec<Partition>,
    /// A rank that takes few turns.
    slow: Option<u32>,
    links: Option<LoopbackLinks>,
    ranks: u32,
    /// Whether to print them.
    is_told: bool,
}

/// The end of the process of a rank.
pub struct Crash {
    turn: u64,
    /// The rank.
    pub rank: u32,
    /// Tells its peers.
    pub death: Box<dyn Fn()>,
}

/// Ranks of two sides do not reach each other from `begin` to `end`.
struct Partition {
    begin: u64,
    end: u64,
    /// The side of each rank.
    sides: Vec<bool>,
}

impl Faults {
    /// Faults of the first `turns` turns: at most `crashes` crashes, in half of the runs a slow rank, and up
    /// to two partitions.
    pub fn draw(network: &[Loopback], random: &mut Random, crashes: u64, turns: u64) -> Self {
        let ranks = network.len() as u32;
        let (links, is_told) = (Some(network[0].links()), is_one_seed());
        let mut faults = Self { ranks, links, is_told, ..Self::default() };
        for _ in 0..random.below(crashes + 1) {
            let rank = random.below(u64::from(ranks)) as u32;
            if faults.crashes.iter().all(|crash| crash.rank != rank) {
                let death = Box::new(network[rank as usize].death());
                faults.crashes.push(Crash { turn: 1 + random.below(turns), rank, death });
            }
        }
        faults.crashes.sort_by_key(|crash| std::cmp::Reverse(crash.turn));
        faults.slow = random.one_in(2).then(|| random.below(u64::from(ranks)) as u32);
        for _ in 0..random.below(3) {
            let begin = random.below(turns);
            let end = begin + 1 + random.below(turns);
            let sides = (0..ranks).map(|_| random.one_in(2)).collect();
            faults.partitions.push(Partition { begin, end, sides });
        }
        faults
    }

    /// Whether a rank crashes.
    pub fn has_crashes(&self) -> bool {
        !self.crashes.is_empty()
    }

    /// Whether some rank takes few turns.
    pub fn has_slow_rank(&self) -> bool {
        self.slow.is_some()
    }

    /// Whether this rank takes few turns.
    pub fn is_slow(&self, rank: u32) -> bool {
        self.slow == Some(rank)
    }

    /// Cuts and heals what is due in this turn, and returns the next crash that is due.
    pub fn begin_turn(&mut self, turn: u64) -> Option<Crash> {
        if self.partitions.iter().any(|part| part.begin == turn || part.end == turn) {
            self.set_links(turn);
        }
        let crash = self.crashes.pop_if(|crash| crash.turn <= turn)?;
        if self.is_told {
            eprintln!("turn {turn}: rank {} crashes", crash.rank);
        }
        Some(crash)
    }

    fn set_links(&self, turn: u64) {
        let Some(links) = &self.links else { return };
        let is_now = |part: &&Partition| (part.begin..part.end).contains(&turn);
        let now: Vec<_> = self.partitions.iter().filter(is_now).collect();
        if self.is_told {
            let sides: Vec<_> = now.iter().map(|part| &part.sides).collect();
            eprintln!("turn {turn}: divided into {sides:?}; slow: {:?}", self.slow);
        }
        for (from, to) in (0..self.ranks).flat_map(|from| (0..self.ranks).map(move |to| (from, to)))
        {
            let divides = |part: &&Partition| part.sides[from as usize] != part.sides[to as usize];
            links.set_cut(from, to, now.iter().any(divides));
        }
    }
}

/// The seeds of `SUIRO_TEST_SEED`: one, whose faults are printed, or a range as 100..200.
pub fn chosen_seeds() -> Option<Range<u64>> {
    let text = std::env::var("SUIRO_TEST_SEED").ok()?;
    let (first, end) = text.split_once("..").unwrap_or((&text, ""));
    let number = |text: &str| text.parse::<u64>().expect("SUIRO_TEST_SEED is 17 or 100..200");
    let first = number(first);
    Some(first..if end.is_empty() { first + 1 } else { number(end) })
}

fn is_one_seed() -> bool {
    chosen_seeds().is_some_and(|seeds| seeds.count() == 1)
}
