//! Windows of ranks that crash: their creation, epochs of every kind, and their end.
//!
//! ```text
//!   create ──► epoch (fences, locks, lock of all, post-start-complete-wait) ──► fence ──► ... ──► free
//!      └──────────────── error ────────────────────────────────────────────────► revoke ──► free
//! ```
//!
//! All ranks draw equal operations, so a target knows what its memory must hold after a fence: in the block of
//! each origin what that has put last, in the shared numbers the sum of all accumulates, and the number of one
//! winner of all swaps. Old values are those of the order of the origin. A call ends with such a result or
//! with an error of a failure, and the window can be freed after each error.

#![allow(unsafe_code)]

use mpi_abi::mpi::attribute::Attributes;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::datatype::{Datatype, predefined};
use mpi_abi::mpi::group::Group;
use mpi_abi::mpi::op::Operator;
use mpi_abi::mpi::point_to_point::SendMode;
use mpi_abi::mpi::window::operation::{
    AccumulateArguments, CompletionForm, Started, TargetArguments,
};
use mpi_abi::mpi::window::synchronization::{Assertions, LockKind, WindowWait};
use mpi_abi::mpi::window::{Flavor, Window, WindowMemory};
use mpi_abi::mpi::{Memory, Mpi};
use platform::base::{MpiError, Random, Span};
use std::sync::Arc;

use super::harness::{Rank, TestMpi, each_seed, networked};
use super::mpi::{INT64, receive, send};
use super::sequences::On;

/// The first words of a window: a sum, a number of tickets, and the winner of the swaps. A block of each origin
/// follows.
const SUM: usize = 0;
const TICKETS: usize = 1;
const WINNER: usize = 2;
const BLOCKS: usize = 3;

type Ended<T = ()> = Result<T, Box<MpiError>>;

/// What one origin does at one target in an epoch.
struct Actions {
    puts: bool,
    gets: bool,
    added: u64,
    tickets: u64,
    swaps: bool,
}

/// What the ranks of a window draw alike.
#[derive(Clone, Copy)]
struct Plan {
    seed: u64,
    epochs: u64,
    /// Words that an origin puts.
    block: usize,
}

impl Plan {
    fn draw(random: &mut Random) -> Self {
        let block = [1, 5, 700, 3000][random.below(4) as usize];
        Self { seed: random.bits(), epochs: 1 + random.below(3), block }
    }

    fn random(&self, epoch: u64, origin: usize, target: usize) -> Random {
        Random::new(self.seed ^ (epoch << 40 | (origin as u64) << 20 | target as u64))
    }

    fn actions(&self, epoch: u64, origin: usize, target: usize) -> Actions {
        let mut random = self.random(epoch, origin, target);
        let puts = random.one_in(2);
        Actions {
            puts,
            gets: !puts && random.one_in(2),
            added: random.below(3) * random.below(1 << 40),
            tickets: random.below(3),
            swaps: random.one_in(3),
        }
    }

    /// What `origin` puts.
    fn block(&self, epoch: u64, origin: usize, target: usize) -> Vec<u64> {
        let first = self.random(epoch, origin, target).bits();
        (0..self.block as u64).map(|at| first.wrapping_add(at)).collect()
    }

    /// What `origin` has put before epoch `end`.
    fn last_block(&self, end: u64, origin: usize, target: usize) -> Vec<u64> {
        let last = (0..end).rev().find(|epoch| self.actions(*epoch, origin, target).puts);
        last.map_or_else(|| vec![0; self.block], |epoch| self.block(epoch, origin, target))
    }

    fn words(&self, ranks: usize) -> usize {
        BLOCKS + ranks * self.block
    }

    fn start_of(&self, origin: usize) -> usize {
        BLOCKS + origin * self.block
    }

    /// Checks the memory of `target` before epoch `end`.
    fn check(&self, end: u64, target: usize, ranks: usize, now: &[u64]) {
        let (mut sum, mut tickets, mut swaps) = (0u64, 0, vec![0]);
        for origin in 0..ranks {
            for epoch in 0..end {
                let actions = self.actions(epoch, origin, target);
                sum = sum.wrapping_add(actions.added);
                tickets += actions.tickets;
                swaps.extend(actions.swaps.then_some(origin as u64 + 1));
            }
            let start = self.start_of(origin);
            let block = &now[start..start + self.block];
            assert!(block == self.last_block(end, origin, target), "block of {origin} at {target}");
        }
        assert_eq!((now[SUM], now[TICKETS]), (sum, tickets), "at {target}");
        assert!(swaps.contains(&now[WINNER]), "{} at {target}", now[WINNER]);
        assert_eq!(now[WINNER] == 0, swaps.len() == 1, "at {target}");
    }
}

/// What an operation must bring.
enum Due {
    Words(Vec<u64>),
    /// The number of an earlier ticket of this origin at this target, or more; less than this.
    Ticket {
        target: usize,
        end: u64,
    },
    /// 0, or an earlier winner.
    Winner,
}

/// A window at one rank.
struct Origin<'a> {
    rank: &'a mut Rank,
    on: &'a On,
    plan: Plan,
    window: u32,
    int: Datatype,
    /// Memory of operations, in place until the window is free.
    kept: Vec<Box<[u64]>>,
    due: Vec<(usize, Due)>,
}

/// The bytes of these words.
fn span(words: &mut [u64]) -> Span {
    // SAFETY: all bytes are initialized, and each value is one of a word; the words stay in place, untouched,
    // until the operation on them or the window of them has ended.
    unsafe { Span::of(words.align_to_mut().1) }
}

/// An operation on a window of all members, drawn equally by them.
pub async fn share_window(rank: &mut Rank, on: &On, random: &mut Random) -> Ended {
    let plan = Plan::draw(random);
    let mut memory = vec![0; plan.words(on.near.len())];
    let window = create(rank, on, &mut memory).await?;
    let mut origin = Origin::new(rank, on, plan, window);
    let end = origin.epochs(random, &memory).await;
    if end.is_err() {
        // Others may wait for this rank.
        origin.revoke()?;
    }
    origin.rank.note(format!("end of a window on {:?}: {end:?}", on.near));
    let left = origin.leave().await;
    end.and(left)
}

async fn create(rank: &mut Rank, on: &On, memory: &mut [u64]) -> Ended<u32> {
    rank.note(format!("creation of a window on {:?}", on.near));
    let span = span(memory);
    let shape = WindowMemory::new(Flavor::Create, span.address(), span.len() as isize, 8)?;
    let window = Box::new(Window::new(shape, span)?);
    let (private, activity) = rank.mpi.duplicate(on.comm, Attributes::default())?;
    rank.wait(activity).await.error.map_or(Ok(()), Err)?;
    let mut creation = rank.mpi.start_window_creation(window, private, None)?;
    let window = rank.until(|mpi| mpi.end_window_creation(&mut creation).transpose()).await?;
    rank.mpi.insert_window(*window)
}

impl<'a> Origin<'a> {
    fn new(rank: &'a mut Rank, on: &'a On, plan: Plan, window: u32) -> Self {
        let int = predefined(INT64).expect("a datatype");
        Self { rank, on, plan, window, int, kept: Vec::new(), due: Vec::new() }
    }

    fn ranks(&self) -> usize {
        self.on.near.len()
    }

    /// Waits for a synchronization call.
    async fn sync(&mut self, start: impl FnOnce(&mut TestMpi, u32) -> Ended<WindowWait>) -> Ended {
        let mut wait = start(&mut self.rank.mpi, self.window)?;
        self.rank.until(|mpi| mpi.end_window_wait(&mut wait).transpose()).await
    }

    async fn fence(&mut self, is_last: bool) -> Ended {
        let assertions = Assertions { no_succeed: is_last, ..Assertions::default() };
        self.sync(|mpi, window| mpi.fence(window, assertions)).await
    }

    /// All epochs; after each one, `memory` holds what all have done.
    async fn epochs(&mut self, random: &mut Random, memory: &[u64]) -> Ended {
        for epoch in 0..self.plan.epochs {
            self.rank.note(format!("window on {:?}, epoch {epoch}", self.on.near));
            self.epoch(epoch, random.below(4)).await?;
            self.plan.check(epoch + 1, self.on.own(), self.ranks(), memory);
            // No rank goes on before all have looked.
            self.fence(true).await?;
        }
        Ok(())
    }

    /// All operations of an epoch, in one of four kinds of epochs, and a fence after which all are complete.
    async fn epoch(&mut self, epoch: u64, kind: u64) -> Ended {
        let none = Assertions::default();
        match kind {
            0 => {
                self.fence(false).await?;
                self.operations(epoch).await?;
            }
            1 => self.locks(epoch).await?,
            2 => {
                self.sync(|mpi, window| mpi.lock_all_window(window, none)).await?;
                self.operations(epoch).await?;
                self.sync(|mpi, window| mpi.flush_window("flush", window, None, false)).await?;
                self.check_due();
                self.sync(|mpi, window| mpi.unlock_window(window, None)).await?;
            }
            _ => {
                let peers = self.on.near.clone();
                let group = Arc::new(Group::new(&peers, self.rank.me));
                let group = self.rank.mpi.objects.groups.insert(group)?;
                self.rank.mpi.post_window(self.window, group, none)?;
                self.sync(|mpi, window| mpi.start_window(window, group, none)).await?;
                self.operations(epoch).await?;
                self.sync(Mpi::complete_window).await?;
                self.sync(Mpi::wait_window).await?;
            }
        }
        self.fence(true).await?;
        self.check_due();
        Ok(())
    }

    /// An epoch for each target, exclusive or not.
    async fn locks(&mut self, epoch: u64) -> Ended {
        for target in 0..self.ranks() {
            let is_shared = self.plan.random(!epoch, self.on.own(), target).one_in(2);
            let kind = if is_shared { LockKind::Shared } else { LockKind::Exclusive };
            let (at, none) = (target as i32, Assertions::default());
            self.sync(|mpi, window| mpi.lock_window(window, at, kind, none)).await?;
            self.operate(epoch, target).await?;
            self.sync(|mpi, window| mpi.unlock_window(window, Some(at))).await?;
            self.check_due();
        }
        Ok(())
    }

    async fn operations(&mut self, epoch: u64) -> Ended {
        for distance in 0..self.ranks() {
            let target = (self.on.own() + distance) % self.ranks();
            self.operate(epoch, target).await?;
        }
        Ok(())
    }

    async fn operate(&mut self, epoch: u64, target: usize) -> Ended {
        let own = self.on.own();
        let actions = self.plan.actions(epoch, own, target);
        let start = self.plan.start_of(own);
        if actions.puts {
            let from = self.keep(self.plan.block(epoch, own, target));
            self.move_block(target, start, from, true)?;
        }
        if actions.gets {
            let into = self.keep(vec![!0; self.plan.block]);
            let due = self.plan.last_block(epoch, own, target);
            self.due.push((self.kept.len() - 1, Due::Words(due)));
            self.move_block(target, start, into, false)?;
        }
        self.combine(target, SUM, actions.added, None).await?;
        for _ in 0..actions.tickets {
            let old = self.keep(vec![!0]);
            let end = self.tickets(epoch + 1, target);
            self.due.push((self.kept.len() - 1, Due::Ticket { target, end }));
            self.combine(target, TICKETS, 1, Some(old)).await?;
        }
        if actions.swaps {
            self.swap(target).await?;
        }
        Ok(())
    }

    /// The tickets of all origins at a target before epoch `end`.
    fn tickets(&self, end: u64, target: usize) -> u64 {
        let of = |origin| move |epoch| self.plan.actions(epoch, origin, target).tickets;
        (0..self.ranks()).flat_map(|origin| (0..end).map(of(origin))).sum()
    }

    fn keep(&mut self, words: Vec<u64>) -> Span {
        self.kept.push(words.into_boxed_slice());
        span(self.kept.last_mut().expect("just kept"))
    }

    fn move_block(&mut self, target: usize, at: usize, memory: Span, puts: bool) -> Ended {
        let (mpi, form) = (&mut self.rank.mpi, CompletionForm::Epoch);
        let window = mpi.windows.get_mut(self.window)?;
        let (memory, there) = (Memory::Span(memory), place(target, at, self.plan.block, &self.int));
        match puts {
            true => window.put(&mut mpi.engine, &memory, there, form),
            false => window.get(&mut mpi.engine, memory, there, form),
        }
        .map(|number| assert!(number.is_none(), "no request waits"))
    }

    /// Adds to a number, whose old value goes to `old`.
    async fn combine(&mut self, target: usize, at: usize, added: u64, old: Option<Span>) -> Ended {
        let from = Memory::Span(self.keep(vec![added]));
        let (window, int) = (self.window, self.int.clone());
        let start = |mpi: &mut TestMpi| {
            let arguments = AccumulateArguments {
                operator: Operator::Sum,
                from: &from,
                datatype: &int,
                old: old.map(|old| (Memory::Span(old), &int)),
                booleans: None,
            };
            let (there, form) = (place(target, at, 1, &int), CompletionForm::Epoch);
            mpi.windows.get_mut(window)?.accumulate(&mut mpi.engine, arguments, there, form)
        };
        self.retried(start).await
    }

    /// Tries to be the winner at a target.
    async fn swap(&mut self, target: usize) -> Ended {
        let own = self.on.own() as u64;
        let [new, none] = [own + 1, 0].map(|word| Memory::Span(self.keep(vec![word])));
        let old = self.keep(vec![!0]);
        self.due.push((self.kept.len() - 1, Due::Winner));
        let (window, int) = (self.window, self.int.clone());
        let start = |mpi: &mut TestMpi| {
            let (window, there) = (mpi.windows.get_mut(window)?, place(target, WINNER, 1, &int));
            window.compare_and_swap(&mut mpi.engine, [&new, &none], Memory::Span(old), there)
        };
        self.retried(start).await
    }

    /// Starts an operation, again while another rank accumulates.
    async fn retried(&mut self, mut start: impl FnMut(&mut TestMpi) -> Ended<Started>) -> Ended {
        let is_started = |mpi: &mut TestMpi| match start(mpi) {
            Ok(Started::Contended(_)) => None,
            Ok(Started::Now(_)) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        self.rank.until(is_started).await
    }

    /// Checks what the operations until now have brought.
    fn check_due(&mut self) {
        let mut tickets = vec![None; self.ranks()];
        for (index, due) in self.due.drain(..) {
            let now = &self.kept[index];
            match due {
                Due::Words(due) => assert!(**now == due, "a get has brought something else"),
                Due::Ticket { target, end } => {
                    assert!(now[0] < end, "ticket {} of {end}", now[0]);
                    let last = tickets[target].replace(now[0]);
                    assert!(last < Some(now[0]), "ticket {} after {last:?}", now[0]);
                }
                Due::Winner => assert!(now[0] <= self.on.near.len() as u64, "{}", now[0]),
            }
        }
    }

    fn revoke(&mut self) -> Ended {
        let comm = self.rank.mpi.windows.get_mut(self.window)?.comm;
        self.rank.mpi.revoke(comm)
    }

    /// Frees the window as `MPI_Win_free`.
    async fn leave(self) -> Ended {
        let Self { rank, window, .. } = self;
        rank.mpi.check_window_free(window)?;
        let met = match rank.mpi.start_window_meeting(window) {
            Ok(mut meeting) => {
                rank.until(|mpi| mpi.end_window_meeting(window, &mut meeting).transpose()).await
            }
            Err(error) => Err(error),
        };
        if rank.mpi.abandon_window(window)? {
            let mut handle = window;
            rank.until(|mpi| mpi.end_window_transfers(&mut handle).transpose()).await?;
        }
        rank.mpi.free_window(window)?;
        met
    }
}

fn place(target: usize, at: usize, count: usize, datatype: &Datatype) -> TargetArguments<'_> {
    TargetArguments { rank: target as i32, displacement: at as isize, count, datatype }
}

/// A rank that has a second window asks for memory of a rank that may not have it yet, and that only waits then.
#[test]
fn requests_that_come_before_a_window_are_served() {
    let body = async |rank: &mut Rank, seed| {
        let on = On::whole(COMM_WORLD, rank.me, 3);
        let [mut other, mut memory] = [[0; BLOCKS]; 2];
        let other = create(rank, &on, &mut other).await.unwrap();
        let window = create(rank, &on, &mut memory).await.unwrap();
        if on.own() == 0 {
            for source in [1, 2] {
                let mut byte = [0];
                let arrival = receive(rank, &mut byte, source, 0, COMM_WORLD);
                assert_eq!(rank.wait(arrival).await.error, None);
            }
            assert_eq!(memory[TICKETS], 2);
        }
        let mut origin = Origin::new(rank, &on, Plan { seed, epochs: 1, block: 0 }, window);
        if on.own() > 0 {
            let free = Assertions { no_check: true, ..Assertions::default() };
            origin.sync(|mpi, window| mpi.lock_all_window(window, free)).await.unwrap();
            let old = origin.keep(vec![!0]);
            origin.combine(0, TICKETS, 1, Some(old)).await.unwrap();
            origin.sync(|mpi, window| mpi.unlock_window(window, None)).await.unwrap();
            let word = send(origin.rank, SendMode::Standard, vec![1], 0, 0, COMM_WORLD);
            assert_eq!(origin.rank.wait(word).await.error, None);
        }
        let plan = origin.plan;
        origin.leave().await.unwrap();
        Origin::new(rank, &on, plan, other).leave().await.unwrap();
    };
    each_seed(200, 5000, |seed| {
        networked(&[0, 1, 2], seed, async |rank| body(rank, seed).await);
    });
}
