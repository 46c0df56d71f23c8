//! Ranks that crash in random programs, and what their survivors do about it: collectives of every kind,
//! messages, duplicates and splits, in other programs windows; then revoke, agree and shrink, and on with those that are left (User-Level
//! Failure Mitigation). The network is divided for a while, and a rank may be slow.
//!
//! ```text
//!   operation ──error──► revoke ──► agree ── all did it ──► next operation
//!       └────────────────────────────┘ └── else: shrink ──► next operation, on the new communicator
//! ```
//!
//! What is checked: each operation of a survivor ends, with the right result or with an error of a failure;
//! all survivors agree on the same flag and the same error, on a flag that has what all have and nothing
//! that a survivor lacks; their
//! communicators have the same members, all survivors among them, and carry the next operations.

use std::collections::BTreeMap;

use mpi_abi::mpi::attribute::Attributes;
use mpi_abi::mpi::collective::binding::CallForm;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::point_to_point::SendMode;
use mpi_abi::mpi::request::status::ANY_SOURCE;
use mpi_abi::mpi::request::{Activity, Outcome};
use platform::base::{ErrorClass, MpiError, Random};

use super::faults::Faults;
use super::harness::{Rank, each_seed, faulty, size};
use super::mpi::room;
use super::sequences::{Buffer, Draw, On};
use super::windows::share_window;

/// Operations of a program.
const ROUNDS: usize = 8;
/// Turns in which faults begin.
const FAULT_TURNS: u64 = 2500;
/// Kinds of collectives ([`Draw::call`]).
const COLLECTIVES: u64 = 16;

type Ended = Result<(), Box<MpiError>>;

/// What one rank has seen.
#[derive(Default)]
struct Record {
    /// The decisions of agreements, by communicator and number.
    agreed: BTreeMap<(usize, usize), Agreed>,
    /// The members of each communicator of survivors.
    comms: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Agreed {
    flag: u32,
    /// Whether failures were not acknowledged by all.
    has_news: bool,
}

/// The flag of a rank in an agreement: the lowest bit is its success, the highest one is common to all.
fn flag(me: u32, at: (usize, usize), is_success: bool) -> u32 {
    let own = Random::new(u64::from(me) << 32 | (at.0 << 16 | at.1) as u64).bits() as u32;
    own & !1 | 1 << 31 | u32::from(is_success)
}

/// A survivor, on its present communicator.
struct Survivor<'a> {
    rank: &'a mut Rank,
    seed: u64,
    on: On,
    /// Whether windows take the place of most collectives.
    shares_windows: bool,
    record: Record,
    /// Draws of this rank alone.
    random: Random,
}

/// Ranks that know of a failure may refuse or end an operation; there is no other error.
fn expect_failure(error: &MpiError) {
    let classes = [ErrorClass::ProcFailed, ErrorClass::Revoked].map(|class| class as i32);
    assert!(classes.contains(&error.code.0), "{error}");
}

fn ended(outcome: Outcome) -> Ended {
    outcome.error.map_or(Ok(()), Err)
}

impl<'a> Survivor<'a> {
    fn new(rank: &'a mut Rank, seed: u64, count: u32, shares_windows: bool) -> Self {
        let on = On::whole(COMM_WORLD, rank.me, count);
        let mut random = Random::new(seed << 8 | u64::from(rank.me));
        rank.draw_limits(&mut random);
        Self { rank, seed, on, shares_windows, record: Record::default(), random }
    }

    async fn run(mut self) -> Record {
        let mut number = 0;
        for round in 0..ROUNDS {
            let generation = self.record.comms.len();
            let end = self.operation(round).await;
            self.revoke_after(&end);
            if self.random.one_in(2) {
                self.rank.mpi.acknowledge(self.on.comm, None).unwrap();
            }
            let agreed = self.agree((generation, number), end.is_ok()).await;
            number += 1;
            if agreed.flag & 1 == 0 || agreed.has_news {
                self.shrink().await;
                number = 0;
            }
        }
        self.record
    }

    /// An operation with a failed member has an error; others may wait for this rank then. One on a revoked
    /// communicator has an error everywhere.
    fn revoke_after(&mut self, end: &Ended) {
        let Err(error) = end else { return };
        expect_failure(error);
        if error.code.0 == ErrorClass::ProcFailed as i32 {
            self.rank.mpi.revoke(self.on.comm).unwrap();
        }
    }

    async fn agree(&mut self, at: (usize, usize), is_success: bool) -> Agreed {
        let mut bytes = flag(self.rank.me, at, is_success).to_ne_bytes();
        self.rank.note(format!("agreement {at:?}, success {is_success}"));
        let activity = self.rank.mpi.start_agree(self.on.comm, room(&mut bytes)).unwrap();
        let error = self.rank.wait(activity).await.error;
        error.iter().for_each(|error| assert_eq!(error.code.0, ErrorClass::ProcFailed as i32));
        let agreed = Agreed { flag: u32::from_ne_bytes(bytes), has_news: error.is_some() };
        self.record.agreed.insert(at, agreed);
        agreed
    }

    async fn shrink(&mut self) {
        self.rank.note(format!("shrink of {:?}", self.on.near));
        let (comm, activity) = self.rank.mpi.shrink(self.on.comm).unwrap();
        assert_eq!(self.rank.wait(activity).await.error, None);
        if self.on.comm != COMM_WORLD {
            self.rank.mpi.free_comm(self.on.comm).unwrap();
        }
        let made = self.rank.mpi.comms.get(comm).unwrap();
        let members: Vec<u32> = made.group.peers().collect();
        self.record.comms.push(members.clone());
        self.on = On::members(comm, self.rank.me, members);
    }

    /// An operation of all members, drawn equally by those on the same communicator in the same round.
    async fn operation(&mut self, round: usize) -> Ended {
        let generation = self.record.comms.len() as u64;
        let mut random = Random::new(self.seed << 16 | generation << 8 | round as u64);
        let kind = random.below(8);
        self.rank.note(format!("round {round}, operation {kind} on {:?}", self.on.near));
        match kind {
            0 => self.exchange(&mut random).await,
            1 => self.duplicate().await,
            2 => self.split(&mut random).await,
            3 => self.several(round, &mut random).await,
            4 => self.revocation(&mut random).await,
            _ if self.shares_windows => share_window(self.rank, &self.on, &mut random).await,
            _ => {
                let call = self.start(round, &mut random, CallForm::Blocking)?;
                self.end(call).await
            }
        }
    }

    fn start(
        &mut self, round: usize, random: &mut Random, form: CallForm,
    ) -> Result<Started, Box<MpiError>> {
        let [kind, root] = [COLLECTIVES, 1 << 20].map(|bound| random.below(bound));
        let len = [0, 8, 40, 304, 9000][random.below(5) as usize];
        let [in_place, commutative] = [0; 2].map(|_| random.one_in(2));
        let (rank, on, buffers) = (&mut *self.rank, &self.on, Vec::new());
        let draw =
            Draw { rank, on, number: round, turn: 0, len, root, in_place, commutative, buffers };
        let (call, buffers) = draw.call(kind);
        let activity = self.rank.mpi.launch(call, form)?;
        Ok(Started { activity, buffers, name: format!("round {round}, kind {kind}, {len} bytes") })
    }

    /// Waits for a collective; if it succeeds, its result is right.
    async fn end(&mut self, call: Started) -> Ended {
        ended(self.rank.wait(call.activity).await)?;
        for (number, buffer) in call.buffers.iter().enumerate() {
            assert!(buffer.now == buffer.due, "{}, buffer {number}", call.name);
        }
        Ok(())
    }

    /// Collectives in progress together, all of which end.
    async fn several(&mut self, round: usize, random: &mut Random) -> Ended {
        let mut calls = Vec::new();
        let mut result = Ok(());
        for _ in 0..3 {
            match self.start(round, random, CallForm::Nonblocking) {
                Ok(call) => calls.push(call),
                Err(error) => result = Err(error),
            }
        }
        // Others may wait for the calls that are not started here.
        self.revoke_after(&result);
        for call in calls {
            let end = self.end(call).await;
            self.revoke_after(&end);
            result = result.and(end);
        }
        result
    }

    /// Each member sends to the next one, and receives from the one before or from any.
    async fn exchange(&mut self, random: &mut Random) -> Ended {
        let len = [4, 300, 20_000][random.below(3) as usize];
        let (size, own) = (self.on.near.len(), self.on.own());
        let [next, before] = [(own + 1) % size, (own + size - 1) % size];
        let source = if random.one_in(2) { ANY_SOURCE } else { before as i32 };
        let (mut out, mut into) = (vec![own as u8; len], vec![0xee; len]);
        let (comm, mpi) = (self.on.comm, &mut self.rank.mpi);
        let receive = mpi.receive_arguments(room(&mut into), source, 7, comm)?;
        let receive = mpi.start_operation(receive, comm)?;
        let send = mpi
            .send_arguments(SendMode::Synchronous, room(&mut out), next as i32, 7, comm)
            .and_then(|send| mpi.start_operation(send, comm));
        let (send, unsent) = match send {
            Ok(send) => (Some(send), Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.revoke_after(&unsent);
        let received = ended(self.rank.wait(receive).await);
        self.revoke_after(&received);
        if let Some(send) = send {
            ended(self.rank.wait(send).await)?;
        }
        received.and(unsent)?;
        assert!(into == vec![before as u8; len], "a message of {len} bytes is damaged");
        Ok(())
    }

    /// One member revokes the communicator, for a reason of its own, while all others wait for it.
    async fn revocation(&mut self, random: &mut Random) -> Ended {
        let (comm, size) = (self.on.comm, self.on.near.len() as u64);
        if random.below(size) as usize == self.on.own() {
            self.rank.mpi.revoke(comm).unwrap();
            return Err(ErrorClass::Revoked.error("this rank has revoked it"));
        }
        let barrier = self.rank.mpi.start_barrier(comm)?;
        let end = ended(self.rank.wait(barrier).await);
        assert!(end.is_err(), "a barrier without all members");
        end
    }

    async fn duplicate(&mut self) -> Ended {
        let (copy, activity) = self.rank.mpi.duplicate(self.on.comm, Attributes::default())?;
        ended(self.rank.wait(activity).await)?;
        self.rank.mpi.free_comm(copy)
    }

    async fn split(&mut self, random: &mut Random) -> Ended {
        let colors = 1 + random.below(3) as u32;
        let color = (self.rank.me % colors) as i32;
        let split = self.rank.mpi.split(self.on.comm, Some(color), 0)?;
        let part = self.rank.until(|mpi| mpi.end_split(&split).transpose()).await?;
        let part = part.expect("a communicator");
        let peers: Vec<u32> = self.rank.mpi.comms.get(part).unwrap().group.peers().collect();
        let alike = |rank: &u32| rank % colors == self.rank.me % colors;
        assert_eq!(peers, self.on.near.iter().copied().filter(alike).collect::<Vec<_>>());
        self.rank.mpi.free_comm(part)
    }
}

/// A collective in progress, with its memory.
struct Started {
    activity: Activity,
    buffers: Vec<Buffer>,
    name: String,
}

/// The survivors have the same history.
fn check(count: u32, records: &[Option<Record>]) {
    let survivors: Vec<(u32, &Record)> =
        (0..).zip(records).filter_map(|(rank, record)| Some((rank, record.as_ref()?))).collect();
    let Some((_, first)) = survivors.first() else { return };
    for (rank, record) in &survivors {
        assert_eq!(record.agreed, first.agreed, "rank {rank} has agreed on something else");
        assert_eq!(record.comms, first.comms, "rank {rank} has other communicators");
    }
    let mut members: Vec<u32> = (0..count).collect();
    for left in &first.comms {
        assert!(left.iter().all(|rank| members.contains(rank)), "{left:?} of {members:?}");
        assert!(survivors.iter().all(|(rank, _)| left.contains(rank)), "{left:?} lacks survivors");
        members.clone_from(left);
    }
    for (at, agreed) in &first.agreed {
        let before = at.0.checked_sub(1).map(|last| first.comms[last].clone());
        let members = before.unwrap_or_else(|| (0..count).collect());
        // The lowest bit depends on what happened.
        let all = members.iter().fold(!1, |all, rank| all & flag(*rank, *at, false));
        let living = survivors.iter().fold(!1, |all, (rank, _)| all & flag(*rank, *at, false));
        assert_eq!(agreed.flag & all, all, "{at:?}: a bit of all is missing");
        assert_eq!(agreed.flag & !1 & !living, 0, "{at:?}: a survivor lacks a bit");
    }
}

fn program(seed: u64, shares_windows: bool) {
    let mut random = Random::new(seed);
    let count = size(&mut random);
    let places: Vec<u32> = (0..count).map(|_| random.below(2) as u32).collect();
    let faults =
        |network: &[_]| Faults::draw(network, &mut random, u64::from(count) - 1, FAULT_TURNS);
    let body = async |rank: &mut Rank| Survivor::new(rank, seed, count, shares_windows).run().await;
    check(count, &faulty(&places, seed, faults, body));
}

#[test]
fn any_seed_lets_survivors_go_on_together() {
    each_seed(150, 20_000, |seed| program(seed, false));
}

#[test]
fn any_seed_ends_the_epochs_of_survivors() {
    each_seed(150, 20_000, |seed| program(seed, true));
}

/// A rank that waits for a decision has no receive posted: it must not go on asking the coordinator to hold
/// its messages back, the decision among them.
#[test]
fn a_decision_is_not_held_back() {
    program(530, false);
}

/// A rank that has failed to make a communicator never answers a long message on it.
#[test]
fn a_long_message_to_a_rank_without_the_communicator_ends() {
    program(20531, true);
}

/// A rank that has freed a communicator tells what was agreed on it when a coordinator has failed.
#[test]
fn a_decision_outlives_its_communicator() {
    program(5429, false);
}

/// Also one that only finds its communicator impaired.
#[test]
fn a_collective_says_why_a_member_has_failed() {
    const BARRIERS: usize = 200;
    let says_why = |error: Box<MpiError>| {
        assert_eq!(error.code.0, ErrorClass::ProcFailed as i32);
        assert!(error.why.contains(" has failed: the process"), "{error}");
    };
    let body = async |rank: &mut Rank| {
        let mut errors = 0;
        for _ in 0..BARRIERS {
            let end = match rank.mpi.start_barrier(COMM_WORLD) {
                Ok(activity) => ended(rank.wait(activity).await),
                Err(error) => Err(error),
            };
            errors += usize::from(end.is_err());
            end.map_or_else(says_why, drop);
            if errors == 2 {
                break;
            }
        }
        errors
    };
    let mut told = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let faults = |network: &[_]| Faults::draw(network, &mut random, 1, 200);
        let errors = faulty(&[0; 3], seed, faults, body);
        told += errors.into_iter().flatten().filter(|errors| *errors == 2).count();
    }
    assert!(told >= 10, "{told} ranks had two errors");
}
