//! Random programs of point-to-point calls: sends of every length, receives and probes of any source and
//! any tag, receives that are cancelled or too short, on two communicators of 2 to 8 ranks, while ranks are
//! slow and the network is divided for a while.
//!
//! The messages of a run are drawn first; each rank then does what it likes: no receive is meant for a
//! certain message. So the results are not known before, but the rules of the standard are checked (MPI 5.0
//! §3.5, §3.7, §3.8):
//!
//! * each message is received once, whole or truncated, with its source, tag and length;
//! * of two messages of one sender that a receive accepts, the later one is received by it only if the
//!   earlier one has been taken by a receive that was posted before;
//! * a receive that is cancelled has let no message pass to a receive that was posted later;
//! * a synchronous send completes after its receive was posted.

use std::collections::VecDeque;

use mpi_abi::mpi::attribute::Attributes;
use mpi_abi::mpi::communicator::COMM_WORLD;
use mpi_abi::mpi::point_to_point::SendMode;
use mpi_abi::mpi::request::status::{ANY_SOURCE, ANY_TAG, Status};
use mpi_abi::mpi::request::{Activity, Outcome};
use platform::base::{ErrorClass, Random};

use super::faults::Faults;
use super::harness::{Rank, each_seed, faulty, placed, size};
use super::mpi::{receive, room};

/// Bytes of messages and receive buffers: the limits of short packets, packets, eager messages and long
/// packets of the test devices, and one more.
const LENS: [usize; 12] = [0, 4, 40, 41, 256, 257, 300, 5000, 5001, 6000, 6001, 20_000];
/// Longest message.
const LEN_MAX: usize = 20_000;
/// Messages of each rank, on average.
const MESSAGES: u64 = 12;
/// Empty messages have tags of their own from here on, as they carry no number.
const EMPTY_TAG: i32 = 1000;
/// Other messages have tags below.
const TAGS: u64 = 3;
/// Active receives of a rank, at most: fewer than the engine scans, or more than that.
const RECEIVES_MAX: [usize; 2] = [4, 40];
/// Bytes after a receive buffer.
const GUARD: usize = 16;
/// Turns in which faults begin.
const FAULT_TURNS: u64 = 1500;

/// One message of a run. Its number is its place in the list.
struct PlannedMessage {
    from: u32,
    to: u32,
    comm: usize,
    tag: i32,
    len: usize,
    mode: SendMode,
}

/// The messages of a run, in the order in which each sender sends them.
struct Plan {
    messages: Vec<PlannedMessage>,
}

impl Plan {
    fn draw(random: &mut Random, count: u32) -> Self {
        let total = random.below(2 * MESSAGES * u64::from(count)) as usize;
        let message = |number: usize| {
            let [from, to] = [0; 2].map(|_| random.below(u64::from(count)) as u32);
            // Long messages are rare.
            let lens = if random.one_in(3) { LENS.len() } else { 6 };
            let len = LENS[random.below(lens as u64) as usize];
            let tag = if len == 0 { EMPTY_TAG + number as i32 } else { random.below(TAGS) as i32 };
            let mode = [SendMode::Standard, SendMode::Synchronous][random.below(2) as usize];
            PlannedMessage { from, to, comm: random.below(2) as usize, tag, len, mode }
        };
        Self { messages: (0..total).map(message).collect() }
    }

    fn numbers(&self, wanted: impl Fn(&PlannedMessage) -> bool) -> impl Iterator<Item = usize> {
        let all = self.messages.iter().enumerate();
        all.filter(move |(_, message)| wanted(message)).map(|(number, _)| number)
    }

    /// The bytes of a message: its number first.
    fn data(&self, number: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            (0..self.messages[number].len).map(|at| (at * 7 + number) as u8).collect();
        if let Some(first) = bytes.first_chunk_mut() {
            *first = (number as u32).to_le_bytes();
        }
        bytes
    }
}

/// A receive or a matched probe, from its start on.
struct Receive {
    comm: usize,
    source: i32,
    tag: i32,
    /// The length that a probe has announced.
    announced: Option<u64>,
    /// When it was posted, in calls of this rank and in turns.
    posted: u64,
    turn: u64,
    /// When it was cancelled, in calls of this rank.
    cancelled: Option<u64>,
    buffer: Vec<u8>,
    end: ReceiveEnd,
}

enum ReceiveEnd {
    Active(Activity),
    /// It has received this message; observed at this call.
    Received {
        number: usize,
        observed: u64,
    },
    Cancelled,
}

impl Receive {
    fn accepts(&self, message: &PlannedMessage) -> bool {
        self.comm == message.comm
            && (self.source == ANY_SOURCE || self.source == message.from as i32)
            && (self.tag == ANY_TAG || self.tag == message.tag)
    }

    fn received(&self) -> Option<(usize, u64)> {
        match self.end {
            ReceiveEnd::Received { number, observed } => Some((number, observed)),
            ReceiveEnd::Active(_) | ReceiveEnd::Cancelled => None,
        }
    }

    fn capacity(&self) -> usize {
        self.buffer.len() - GUARD
    }
}

/// What a rank has seen.
struct Seen {
    receives: Vec<Receive>,
    /// Completed synchronous sends and their turns.
    synchronized: Vec<(usize, u64)>,
}

/// A rank and what it has to do.
struct Program<'a> {
    rank: &'a mut Rank,
    plan: &'a Plan,
    comms: [u32; 2],
    random: Random,
    /// Calls until now.
    calls: u64,
    unsent: VecDeque<usize>,
    receives_max: usize,
    /// Sends in progress, with their memory.
    sends: Vec<(usize, Vec<u8>, Activity)>,
    /// Messages of each communicator that have not been received.
    missing: [usize; 2],
    seen: Seen,
}

impl<'a> Program<'a> {
    async fn new(rank: &'a mut Rank, plan: &'a Plan, seed: u64) -> Self {
        let (copy, activity) = rank.mpi.duplicate(COMM_WORLD, Attributes::default()).unwrap();
        assert_eq!(rank.wait(activity).await.error, None);
        let me = rank.me;
        let due = |comm| plan.numbers(move |one| one.to == me && one.comm == comm).count();
        let mut random = Random::new(seed << 8 | u64::from(me));
        rank.draw_limits(&mut random);
        Self {
            plan,
            comms: [COMM_WORLD, copy],
            receives_max: RECEIVES_MAX[random.below(2) as usize],
            random,
            calls: 0,
            unsent: plan.numbers(move |one| one.from == me).collect(),
            sends: Vec::new(),
            missing: [due(0), due(1)],
            seen: Seen { receives: Vec::new(), synchronized: Vec::new() },
            rank,
        }
    }

    async fn run(mut self) -> Seen {
        while !self.is_done() {
            self.calls += 1;
            match self.random.below(12) {
                0..3 => self.send(),
                3..6 => self.post(),
                6 => self.cancel(),
                7 => self.probe(),
                8 => self.probe_matched(),
                9 => self.rank.after(self.random.below(20), |_| ()).await,
                _ => self.rank.after(1, |_| ()).await,
            }
            self.complete();
        }
        self.cancel_all().await;
        self.seen
    }

    fn is_done(&self) -> bool {
        self.unsent.is_empty() && self.sends.is_empty() && self.missing == [0, 0]
    }

    fn send(&mut self) {
        let Some(number) = self.unsent.pop_front() else { return };
        let PlannedMessage { to, comm, tag, mode, .. } = self.plan.messages[number];
        let (mut data, comm) = (self.plan.data(number), self.comms[comm]);
        let (mpi, memory) = (&mut self.rank.mpi, room(&mut data));
        let arguments = mpi.send_arguments(mode, memory, to as i32, tag, comm).unwrap();
        let activity = mpi.start_operation(arguments, comm).unwrap();
        self.sends.push((number, data, activity));
    }

    /// A receive: of anything once all messages of this rank have been sent, as one for certain messages
    /// may wait for ever.
    fn post(&mut self) {
        let active = |one: &&Receive| matches!(one.end, ReceiveEnd::Active(_));
        let comm = self.random.below(2) as usize;
        let is_any = |one: &&Receive| {
            (one.comm, one.source, one.tag, one.cancelled) == (comm, ANY_SOURCE, ANY_TAG, None)
        };
        let receives = || self.seen.receives.iter().filter(active);
        let (all, any) = (receives().count(), receives().filter(is_any).count());
        let ends = self.unsent.is_empty();
        if !ends && all >= self.receives_max || ends && (any >= 4 || self.missing[comm] == 0) {
            return;
        }
        let source = match ends || self.random.one_in(2) {
            true => ANY_SOURCE,
            false => self.random.below(u64::from(self.size())) as i32,
        };
        let tag = match ends || self.random.one_in(2) {
            true => ANY_TAG,
            false => self.random.below(TAGS) as i32,
        };
        self.receive(comm, source, tag, None);
    }

    fn size(&self) -> u32 {
        self.rank.mpi.comms.get(COMM_WORLD).unwrap().size()
    }

    /// A buffer that most messages fit in.
    fn buffer(&mut self) -> Vec<u8> {
        let len = match self.random.one_in(4) {
            true => LENS[1 + self.random.below(LENS.len() as u64 - 1) as usize],
            false => LEN_MAX,
        };
        vec![0x5a; len + GUARD]
    }

    fn receive(&mut self, comm: usize, source: i32, tag: i32, announced: Option<u64>) {
        let mut buffer = self.buffer();
        let end = buffer.len() - GUARD;
        let activity = receive(self.rank, &mut buffer[..end], source, tag, self.comms[comm]);
        self.note(comm, (source, tag), announced, buffer, activity);
    }

    fn note(
        &mut self, comm: usize, (source, tag): (i32, i32), announced: Option<u64>, buffer: Vec<u8>,
        activity: Activity,
    ) {
        let (posted, turn) = (self.calls, self.rank.now());
        let end = ReceiveEnd::Active(activity);
        let cancelled = None;
        let receive =
            Receive { comm, source, tag, announced, posted, turn, cancelled, buffer, end };
        self.seen.receives.push(receive);
    }

    /// Source and tag of a probe.
    fn pattern(&mut self) -> (i32, i32) {
        let size = u64::from(self.size());
        let source =
            if self.random.one_in(2) { ANY_SOURCE } else { self.random.below(size) as i32 };
        let tag = if self.random.one_in(2) { ANY_TAG } else { self.random.below(TAGS) as i32 };
        (source, tag)
    }

    /// Receives a message that a probe has found, with a receive for its source and tag.
    fn probe(&mut self) {
        let (comm, (source, tag)) = (self.random.below(2) as usize, self.pattern());
        let found = self.rank.mpi.probe(source, tag, self.comms[comm]).unwrap();
        if let Some(Status { source, tag, bytes, .. }) = found {
            self.receive(comm, source, tag, Some(bytes));
        }
    }

    fn probe_matched(&mut self) {
        let (comm, pattern) = (self.random.below(2) as usize, self.pattern());
        let found = self.rank.mpi.probe_matched(pattern.0, pattern.1, self.comms[comm]).unwrap();
        let Some((message, status)) = found else { return };
        let mut buffer = self.buffer();
        let end = buffer.len() - GUARD;
        let memory = room(&mut buffer[..end]);
        let (activity, _) = self.rank.mpi.receive_matched(message, memory).unwrap();
        self.note(comm, pattern, Some(status.bytes), buffer, activity);
    }

    /// Cancels a receive, which may have matched.
    fn cancel(&mut self) {
        let all = self.seen.receives.iter();
        let active: Vec<usize> = all
            .enumerate()
            .filter(|(_, one)| matches!(one.end, ReceiveEnd::Active(_)) && one.cancelled.is_none())
            .map(|(place, _)| place)
            .collect();
        if !active.is_empty() {
            let drawn = active[self.random.below(active.len() as u64) as usize];
            self.cancel_receive(drawn);
        }
    }

    fn cancel_receive(&mut self, place: usize) {
        let receive = &mut self.seen.receives[place];
        if let ReceiveEnd::Active(Activity::Message(operation)) = receive.end {
            self.rank.mpi.engine.cancel(operation);
            receive.cancelled.get_or_insert(self.calls);
        }
    }

    /// Ends what has completed.
    fn complete(&mut self) {
        for place in 0..self.seen.receives.len() {
            let ReceiveEnd::Active(activity) = &mut self.seen.receives[place].end else { continue };
            if let Some(outcome) = self.rank.mpi.end_if_complete(activity) {
                self.end_receive(place, outcome);
            }
        }
        for place in (0..self.sends.len()).rev() {
            let Some(outcome) = self.rank.mpi.end_if_complete(&mut self.sends[place].2) else {
                continue;
            };
            assert_eq!(outcome.error, None);
            let (number, mut data, _) = self.sends.swap_remove(place);
            assert!(data == self.plan.data(number), "the memory of message {number} has changed");
            data.fill(0xdd);
            if self.plan.messages[number].mode == SendMode::Synchronous {
                self.seen.synchronized.push((number, self.rank.now()));
            }
        }
    }

    fn end_receive(&mut self, place: usize, outcome: Outcome) {
        let receive = &mut self.seen.receives[place];
        if outcome.status.cancelled {
            assert!(receive.cancelled.is_some() && outcome.error.is_none());
            receive.end = ReceiveEnd::Cancelled;
            return;
        }
        let number = check_message(self.plan, receive, self.rank.me, &outcome);
        self.missing[receive.comm] -= 1;
        receive.buffer = Vec::new();
        receive.end = ReceiveEnd::Received { number, observed: self.calls };
    }

    /// All messages have arrived: the receives that are left have none.
    async fn cancel_all(&mut self) {
        self.calls += 1;
        (0..self.seen.receives.len()).for_each(|place| self.cancel_receive(place));
        self.rank.after(1, |_| ()).await;
        self.complete();
        let is_active = |one: &Receive| matches!(one.end, ReceiveEnd::Active(_));
        assert!(!self.seen.receives.iter().any(is_active), "a receive is not cancelled");
    }
}

/// The number of the message that a receive has got; it is whole, or the error says that it is not.
fn check_message(plan: &Plan, receive: &Receive, me: u32, outcome: &Outcome) -> usize {
    let Outcome { status, error } = outcome;
    let first = receive.buffer.first_chunk().expect("at least the number");
    let number = match status.tag {
        tag if tag >= EMPTY_TAG => (tag - EMPTY_TAG) as usize,
        _ => u32::from_le_bytes(*first) as usize,
    };
    let message = plan.messages.get(number).expect("a message of this run");
    assert_eq!((message.to, message.comm), (me, receive.comm), "message {number}");
    assert!(receive.accepts(message), "message {number} is not what the receive accepts");
    assert_eq!((status.source, status.tag), (message.from as i32, message.tag));
    assert!(receive.announced.is_none_or(|bytes| bytes == message.len as u64));
    let (kept, guard) = receive.buffer.split_at(receive.capacity());
    assert_eq!(guard, [0x5a; GUARD], "message {number} overflows");
    let is_short = receive.capacity() < message.len;
    let class = error.as_ref().map(|error| error.code.0);
    assert_eq!(class, is_short.then_some(ErrorClass::Truncate as i32), "message {number}");
    if !is_short {
        assert_eq!(status.bytes, message.len as u64, "message {number}");
        assert!(kept[..message.len] == plan.data(number), "message {number} is damaged");
    }
    number
}

/// The order of matching at one rank.
fn check_order(plan: &Plan, receives: &[Receive]) {
    let mut posted_at = vec![None; plan.messages.len()];
    for receive in receives {
        if let Some((number, _)) = receive.received() {
            let twice = posted_at[number].replace(receive.posted);
            assert_eq!(twice, None, "message {number} was received twice");
        }
    }
    for receive in receives {
        let Some((number, _)) = receive.received() else { continue };
        let later = &plan.messages[number];
        let earlier = plan.numbers(|one| {
            (one.from, one.to, one.comm) == (later.from, later.to, later.comm)
                && receive.accepts(one)
        });
        for before in earlier.take_while(|before| *before < number) {
            let posted = posted_at[before].expect("all messages have been received");
            assert!(posted < receive.posted, "message {number} overtakes message {before}");
        }
    }
    for cancelled in receives.iter().filter(|one| matches!(one.end, ReceiveEnd::Cancelled)) {
        let until = cancelled.cancelled.unwrap_or(u64::MAX);
        for other in receives.iter().filter(|other| other.posted > cancelled.posted) {
            let passed = other.received().filter(|(number, observed)| {
                *observed < until && cancelled.accepts(&plan.messages[*number])
            });
            assert!(
                passed.is_none(),
                "message {passed:?} passes a receive that is cancelled later"
            );
        }
    }
}

fn check(plan: &Plan, seen: &[Seen]) {
    let mut posted_in = vec![None; plan.messages.len()];
    for one in seen {
        check_order(plan, &one.receives);
        for receive in &one.receives {
            if let Some((number, _)) = receive.received() {
                posted_in[number] = Some(receive.turn);
            }
        }
    }
    assert!(posted_in.iter().all(Option::is_some), "a message was lost");
    for (number, turn) in seen.iter().flat_map(|one| &one.synchronized) {
        assert!(posted_in[*number] <= Some(*turn), "synchronous send {number} has not waited");
    }
}

/// The program of a seed, on a network with faults or on hosts of one or more ranks.
fn program(seed: u64) -> (Plan, Vec<Seen>) {
    let mut random = Random::new(seed);
    let count = size(&mut random);
    let places: Vec<u32> = (0..count).map(|_| random.below(3) as u32).collect();
    let plan = Plan::draw(&mut random, count);
    let body = async |rank: &mut Rank| Program::new(rank, &plan, seed).await.run().await;
    let seen = match seed % 4 {
        0 => placed(&places, seed, body),
        _ => {
            let faults = |network: &[_]| Faults::draw(network, &mut random, 0, FAULT_TURNS);
            faulty(&places, seed, faults, body).into_iter().flatten().collect()
        }
    };
    (plan, seen)
}

#[test]
fn any_seed_keeps_messages_in_order() {
    each_seed(150, 20_000, |seed| {
        let (plan, seen) = program(seed);
        check(&plan, &seen);
    });
}

/// Which message each receive got, and in which turn it was posted.
fn history(seed: u64) -> Vec<(Option<(usize, u64)>, u64)> {
    let (_, seen) = program(seed);
    let receives = seen.iter().flat_map(|one| &one.receives);
    receives.map(|receive| (receive.received(), receive.turn)).collect()
}

#[test]
fn a_seed_repeats_a_run() {
    assert_ne!(history(1), history(2));
    (0..12).for_each(|seed| assert_eq!(history(seed), history(seed), "seed {seed}"));
}
