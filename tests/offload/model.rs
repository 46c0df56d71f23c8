//! Ranks that run programs over a network, for a model checker: every order of starts, arrivals and
//! ends of copies.
//!
//! ```text
//!   start ──┐        ┌─> message ──arrives──> bytes at the peer, then its counter
//!           ├─> work ┼─> end of a put or copy ──> own counter
//!   level ──┘        └─> own counter, complete
//! ```
//!
//! Work starts as soon as its level is reached: a later start is the same as a longer operation. A
//! put reads its bytes when it starts, and a write to them before its end is a fault. [`Truth`] has
//! the expected bytes, so this module knows programs but not their purpose.

use mpi_abi::offload::{
    Buffer, CounterAdd, DeferredWork, Instance, Program, ProgramOp, Region, Schedule,
    StepAction as Step,
};
use stateright::{Model, Property};

use super::truth::Truth;

/// The order in which messages arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Any order.
    Unordered,
    /// Messages from one rank to another in the order of their sends.
    InOrder,
    /// Only puts through one engine in the order of their sends.
    InOrderByEngine,
}

/// When additions of a rank to its own counters take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adds {
    /// At once.
    AtOnce,
    /// Later; the next instance may start after all of them.
    Gated,
    /// Later; the next instance may start after all additions to its own tank.
    GatedByTank,
    /// Later; the next instance may start before.
    Ungated,
}

/// When the end of a put reaches the counter of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// At any time, before or after the arrival at the receiver.
    Apart,
    /// Before the arrival at the receiver.
    First,
    /// With the arrival at the receiver: fewer states.
    Together,
}

/// How a reset lowers a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// By the counted levels.
    Subtract,
    /// To 0.
    ToZero,
}

/// A system: programs and the behavior of the network.
#[derive(Clone, Debug)]
pub struct System {
    /// The program of each rank.
    pub programs: Vec<Program>,
    /// The expected results.
    pub truth: Vec<Truth>,
    /// The host steps of each rank.
    pub schedules: Vec<Schedule>,
    /// The number of instances.
    pub instances: u8,
    /// The order of messages.
    pub network: Network,
    /// Additions to own counters.
    pub adds: Adds,
    /// Resets.
    pub reset: Reset,
    /// Ends of puts.
    pub ends: Ends,
    /// Whether the end of an instance waits for its own puts and copies, counted or not.
    pub holds: bool,
    /// Whether each counter starts its work at a separate time.
    pub counters_lag: bool,
    /// Whether an instance may end only after all messages to it have arrived. That is so unless
    /// messages of two instances may be exchanged.
    pub exact: bool,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A rank starts its next instance.
    Start(u8),
    /// An item in flight arrives.
    Land(Item),
    /// The due work of a counter starts.
    Fire(u8, u16),
}

/// The kind of an item in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An addition at another rank, with or without bytes.
    Message,
    /// The bytes of a put may be overwritten.
    Done,
    /// A copy or a step of the host.
    Local,
    /// An addition to an own counter.
    Add,
}

/// An item in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// The kind.
    pub kind: Kind,
    /// The rank.
    pub rank: u8,
    /// The index of its work.
    pub work: u16,
    /// The instance.
    pub instance: u8,
}

/// An item in flight with its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Flight {
    item: Item,
    bytes: Box<[u64]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Rank {
    started: u8,
    is_active: bool,
    /// The work that ends the instance and waits for its puts and copies.
    ending: Option<u16>,
    instance: Instance,
    levels: Box<[u64]>,
    memory: Box<[u64]>,
    /// The number of arrived messages of each instance.
    arrived: Box<[u8]>,
}

/// All ranks and the items in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    ranks: Box<[Rank]>,
    flying: Vec<Flight>,
    /// The first fault.
    pub fault: Option<String>,
}

/// A sequence of ordered messages: from one rank to another, through one engine.
type Line = (u8, usize, u8);

/// The lines of a trace, if requested.
pub type Log<'a> = Option<&'a mut Vec<String>>;

/// A byte of the caller of `rank` before an instance. Sums of such numbers are almost surely unique.
fn byte(rank: usize, at: usize, instance: u8) -> u64 {
    let number = 1 + instance as u64 + 8 * (at as u64 + 1024 * rank as u64);
    platform::base::Random::new(number).bits()
}

/// A region as text.
fn bytes(region: Region) -> String {
    match region.len {
        0 => "no bytes".to_string(),
        _ => format!("bytes {}..{} of {:?}", region.start, region.end(), region.buffer),
    }
}

/// Work as text.
fn name(op: ProgramOp) -> String {
    let plus = |add: CounterAdd| format!("+{} on counter {}", add.value as i64, add.counter);
    match op {
        ProgramOp::Put { to, from, into, signal, .. } => {
            format!("put of {} to {} of rank {to}, {}", bytes(from), bytes(into), plus(signal))
        }
        ProgramOp::Signal { to, signal } => format!("signal to rank {to}, {}", plus(signal)),
        ProgramOp::Copy { from, into, .. } => format!("copy of {} to {}", bytes(from), bytes(into)),
        ProgramOp::Combine { from, into, .. } => {
            format!("sum of {} into {}", bytes(from), bytes(into))
        }
        ProgramOp::Host { step, .. } => format!("host step {step}"),
        ProgramOp::Add(add) => plus(add),
        ProgramOp::Complete => "end".to_string(),
    }
}

fn overlap(one: Region, two: Region) -> bool {
    one.len > 0 && two.len > 0 && one.overlaps(two)
}

impl System {
    /// `instances` of the programs, over an unordered network.
    pub fn new(programs: Vec<Program>, schedules: Vec<Schedule>, instances: u8) -> Self {
        Self {
            truth: super::truth::truth(&schedules),
            programs,
            schedules,
            instances,
            network: Network::Unordered,
            adds: Adds::AtOnce,
            reset: Reset::Subtract,
            ends: Ends::Apart,
            holds: false,
            counters_lag: false,
            exact: true,
        }
    }

    fn work(&self, item: Item) -> &DeferredWork {
        &self.programs[item.rank as usize].work()[item.work as usize]
    }

    /// The regions that a copy or a host step reads and writes.
    fn local(&self, item: Item) -> (Region, Region) {
        match self.work(item).op {
            ProgramOp::Copy { from, into, .. } | ProgramOp::Combine { from, into, .. } => {
                (from, into)
            }
            ProgramOp::Host { step, .. } => {
                match self.schedules[item.rank as usize].steps()[step as usize].action {
                    Step::Reduce { from, into } => (from, into),
                    other => panic!("no step of the host: {other:?}"),
                }
            }
            other => panic!("{other:?} is not local"),
        }
    }

    /// The regions that an item in flight still reads at its own rank.
    fn reads(&self, item: Item) -> Region {
        match (item.kind, self.work(item).op) {
            (Kind::Done, ProgramOp::Put { from, .. }) => from,
            (Kind::Message, ProgramOp::Put { from, done: None, .. }) => from,
            (Kind::Message, ProgramOp::Put { from, .. }) if self.ends == Ends::Together => from,
            (Kind::Local, _) => self.local(item).0,
            _ => Region::EMPTY,
        }
    }

    /// The target of a message: rank, region, addition.
    fn target(&self, item: Item) -> (usize, Region, CounterAdd) {
        match self.work(item).op {
            ProgramOp::Put { to, into, signal, .. } => (to as usize, into, signal),
            ProgramOp::Signal { to, signal } => (to as usize, Region::EMPTY, signal),
            other => panic!("{other:?} sends nothing"),
        }
    }

    /// The number of messages to one instance of `rank`.
    fn expected(&self, rank: usize) -> usize {
        let work = self.programs.iter().flat_map(|program| program.work());
        work.filter(|work| match work.op {
            ProgramOp::Put { to, .. } | ProgramOp::Signal { to, .. } => to as usize == rank,
            _ => false,
        })
        .count()
    }

    /// The state after `event`. Adds a line to `log`.
    pub fn after(&self, state: &State, event: Event, log: Log) -> State {
        let mut run = Run { system: self, state: state.clone(), log };
        match event {
            Event::Start(rank) => run.start(rank),
            Event::Land(item) => run.land(item),
            Event::Fire(rank, counter) => run.fire(rank as usize, Some(counter)),
        }
        run.state
    }

    /// Whether all instances have completed.
    fn is_over(&self, state: &State) -> bool {
        let is_over = |rank: &Rank| {
            let is_idle = !rank.is_active && rank.started == self.instances;
            is_idle && rank.levels.iter().all(|&level| level == 0)
        };
        state.ranks.iter().all(is_over)
    }

    fn may_start(&self, state: &State, rank: usize) -> bool {
        let Rank { started, is_active, .. } = state.ranks[rank];
        let program = &self.programs[rank];
        let mut adds = (state.flying.iter().map(|flight| flight.item))
            .filter(|item| item.kind == Kind::Add && item.rank as usize == rank);
        let tank = |instance: u8| program.tank(instance.into());
        let is_gated = match self.adds {
            Adds::AtOnce | Adds::Ungated => false,
            Adds::Gated => adds.next().is_some(),
            Adds::GatedByTank => adds.any(|add| tank(add.instance) == tank(started)),
        };
        !is_active && started < self.instances && !is_gated
    }

    /// The sequence of an ordered message.
    fn line(&self, item: Item) -> Option<Line> {
        if item.kind != Kind::Message {
            return None;
        }
        let engine = match self.network {
            Network::Unordered => return None,
            Network::InOrder => 0,
            Network::InOrderByEngine => match self.work(item).op {
                ProgramOp::Put { engine, .. } => engine?,
                _ => return None,
            },
        };
        Some((item.rank, self.target(item).0, engine))
    }

    /// Whether another item must arrive first.
    fn is_behind(&self, state: &State, at: usize) -> bool {
        let item = state.flying[at].item;
        let line = self.line(item);
        let in_line = |ahead: &Flight| line.is_some() && self.line(ahead.item) == line;
        let end = Item { kind: Kind::Done, ..item };
        let is_held = self.ends == Ends::First && item.kind == Kind::Message;
        state.flying[..at].iter().any(in_line)
            || is_held && state.flying.iter().any(|flight| flight.item == end)
    }

    /// The order of items in flight, so that equal states compare equal. Ordered messages keep the
    /// order of their sends.
    fn place(&self, item: Item) -> (Option<Line>, Kind, u8, u16, u8) {
        let Item { kind, rank, work, instance } = item;
        match self.line(item) {
            Some(line) => (Some(line), kind, rank, 0, 0),
            None => (None, kind, rank, work, instance),
        }
    }
}

impl Model for System {
    type State = State;
    type Action = Event;

    fn init_states(&self) -> Vec<State> {
        let rank = |(program, truth): (&Program, &Truth)| Rank {
            started: 0,
            is_active: false,
            ending: None,
            instance: Instance::new(program),
            levels: vec![0; program.counters() as usize * program.tanks as usize].into(),
            memory: vec![0; truth.layout.len()].into(),
            arrived: vec![0; self.instances as usize].into(),
        };
        let ranks = self.programs.iter().zip(&self.truth).map(rank).collect();
        vec![State { ranks, flying: Vec::new(), fault: None }]
    }

    fn actions(&self, state: &State, events: &mut Vec<Event>) {
        if state.fault.is_some() {
            return;
        }
        for rank in 0..state.ranks.len() {
            if self.may_start(state, rank) {
                events.push(Event::Start(rank as u8));
            }
        }
        for (at, flight) in state.flying.iter().enumerate() {
            if !self.is_behind(state, at) {
                events.push(Event::Land(flight.item));
            }
        }
        if self.counters_lag {
            for (rank, it) in state.ranks.iter().enumerate().filter(|(_, it)| it.is_active) {
                let program = &self.programs[rank];
                let counters = 0..program.counters();
                let is_due = |&counter: &u16| {
                    let level = it.level(program, it.started - 1, counter);
                    it.instance.awaited(program, counter).is_some_and(|awaited| awaited <= level)
                };
                events.extend(counters.filter(is_due).map(|at| Event::Fire(rank as u8, at)));
            }
        }
    }

    fn next_state(&self, state: &State, event: Event) -> Option<State> {
        let mut after = self.after(state, event, None);
        let mut events = Vec::new();
        self.actions(&after, &mut events);
        if after.fault.is_none() && events.is_empty() && !self.is_over(&after) {
            after.fault = Some(self.stuck(&after));
        }
        Some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("nothing goes wrong", |_, state: &State| state.fault.is_none())]
    }
}

impl System {
    /// The waits of a deadlock.
    fn stuck(&self, state: &State) -> String {
        let mut why = "nothing more happens:".to_string();
        for (rank, it) in state.ranks.iter().enumerate() {
            let levels = &it.levels;
            why += &match it.is_active {
                true => format!(" rank {rank} is in instance {} at {levels:?};", it.started - 1),
                false => format!(" rank {rank} has ended {} at {levels:?};", it.started),
            };
        }
        why
    }
}

impl Rank {
    fn level(&self, program: &Program, instance: u8, counter: u16) -> u64 {
        self.levels[self.index(program, instance, counter)]
    }

    fn index(&self, program: &Program, instance: u8, counter: u16) -> usize {
        program.tank(instance.into()) * program.counters() as usize + counter as usize
    }
}

/// The execution of one event.
struct Run<'a> {
    system: &'a System,
    state: State,
    log: Log<'a>,
}

impl Run<'_> {
    fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(line());
        }
    }

    fn fault(&mut self, why: String) {
        self.state.fault.get_or_insert(why);
    }

    fn start(&mut self, rank: u8) {
        let me = rank as usize;
        let it = &mut self.state.ranks[me];
        let instance = it.started;
        it.started += 1;
        it.is_active = true;
        it.instance = Instance::new(&self.system.programs[me]);
        for at in 0..self.system.truth[me].layout.user_len() {
            it.memory[at] = byte(me, at, instance);
        }
        self.say(|| format!("rank {rank} starts instance {instance}"));
        self.fire(me, None);
    }

    /// Starts all due work of `rank`, or that of one counter (and work with level 0).
    fn fire(&mut self, rank: usize, only: Option<u16>) {
        let program = &self.system.programs[rank];
        let is_one_at_a_time = self.system.counters_lag;
        let was_active = self.state.ranks[rank].is_active;
        while was_active && self.state.fault.is_none() {
            let Rank { started, levels, instance, .. } = &mut self.state.ranks[rank];
            let first = program.tank((*started - 1).into()) * program.counters() as usize;
            let next = instance.next(program, |counter| {
                let is_heard = !is_one_at_a_time || only == Some(counter);
                if is_heard { levels[first + counter as usize] } else { 0 }
            });
            let Some(work) = next else { break };
            let instance = *started - 1;
            self.work(Item { kind: Kind::Add, rank: rank as u8, work: work as u16, instance });
        }
        let Rank { started, is_active, instance, .. } = &self.state.ranks[rank];
        if was_active && !is_active && !instance.is_complete(program) {
            self.fault(format!("rank {rank} has ended {} without all of its work", started - 1));
        }
    }

    /// Starts the work of `item`, whatever its kind.
    fn work(&mut self, item: Item) {
        let rank = item.rank as usize;
        let work = *self.system.work(item);
        match work.op {
            ProgramOp::Put { from, done, .. } => {
                self.say(|| format!("  {}", name(work.op)));
                let place = self.system.truth[rank].layout.place(from);
                let bytes = self.state.ranks[rank].memory[place].into();
                self.fly(Item { kind: Kind::Message, ..item }, bytes);
                if done.is_some() && self.system.ends != Ends::Together {
                    self.fly(Item { kind: Kind::Done, ..item }, [].into());
                }
            }
            ProgramOp::Signal { .. } => {
                self.say(|| format!("  {}", name(work.op)));
                self.fly(Item { kind: Kind::Message, ..item }, [].into());
            }
            ProgramOp::Copy { .. } | ProgramOp::Combine { .. } | ProgramOp::Host { .. } => {
                self.say(|| format!("  {}", name(work.op)));
                self.fly(Item { kind: Kind::Local, ..item }, [].into());
            }
            ProgramOp::Add(_) if self.system.adds != Adds::AtOnce => {
                self.fly(Item { kind: Kind::Add, ..item }, [].into());
            }
            ProgramOp::Add(add) => self.add(rank, item.instance, add),
            ProgramOp::Complete => self.complete(item),
        }
    }

    fn fly(&mut self, item: Item, bytes: Box<[u64]>) {
        let place = self.system.place(item);
        let at = self.state.flying.partition_point(|it| self.system.place(it.item) <= place);
        self.state.flying.insert(at, Flight { item, bytes });
    }

    /// Adds to a counter of `rank`. A negative addition is a reset.
    fn add(&mut self, rank: usize, instance: u8, add: CounterAdd) {
        let program = &self.system.programs[rank];
        let it = &mut self.state.ranks[rank];
        let at = it.index(program, instance, add.counter);
        let is_reset = (add.value as i64) < 0;
        it.levels[at] = match self.system.reset {
            Reset::ToZero if is_reset => 0,
            _ => it.levels[at].wrapping_add(add.value),
        };
        let level = it.levels[at] as i64;
        let (counter, tank) = (add.counter, program.tank(instance.into()));
        self.say(|| format!("  counter {counter} of rank {rank}, tank {tank}: {level}"));
    }

    fn land(&mut self, item: Item) {
        let mut flying = self.state.flying.iter();
        let at = flying.position(|it| it.item == item).expect("in flight");
        let flight = self.state.flying.remove(at);
        let Item { kind, rank, instance, .. } = item;
        let work = *self.system.work(item);
        match (kind, work.op) {
            (Kind::Message, _) => return self.arrive(item, &flight.bytes),
            (Kind::Add, ProgramOp::Add(add)) => {
                self.say(|| format!("an addition to itself lands at rank {rank} ({instance})"));
                self.add(rank as usize, instance, add);
            }
            (Kind::Done, ProgramOp::Put { to, done: Some(add), .. }) => {
                self.say(|| format!("the put of rank {rank} to {to} has ended ({instance})"));
                self.add(rank as usize, instance, add);
            }
            (
                Kind::Local,
                ProgramOp::Copy { done, .. }
                | ProgramOp::Combine { done, .. }
                | ProgramOp::Host { done, .. },
            ) => {
                self.say(|| format!("rank {rank} has done its {} ({instance})", name(work.op)));
                self.compute(item, !matches!(work.op, ProgramOp::Copy { .. }));
                done.into_iter().for_each(|add| self.add(rank as usize, instance, add));
            }
            (kind, op) => panic!("{op:?} has started {kind:?}"),
        }
        self.heard(rank as usize);
    }

    fn heard(&mut self, rank: usize) {
        if !self.system.counters_lag {
            self.fire(rank, None);
        }
        let Rank { started, ending, .. } = self.state.ranks[rank];
        if let Some(work) = ending {
            self.complete(Item { kind: Kind::Add, rank: rank as u8, work, instance: started - 1 });
        }
    }

    /// A message arrives.
    fn arrive(&mut self, item: Item, data: &[u64]) {
        let (to, into, signal) = self.system.target(item);
        let Item { rank, instance, .. } = item;
        let what = if data.is_empty() { "a signal" } else { "bytes" };
        self.say(|| format!("{what} from rank {rank} ({instance}) to rank {to}"));
        let it = &self.state.ranks[to];
        if !data.is_empty() && matches!(into.buffer, Buffer::User(_)) {
            let now = it.started.checked_sub(1);
            if !it.is_active || now != Some(instance) {
                let state = match (it.is_active, now) {
                    (true, Some(now)) => format!("is in instance {now}"),
                    (_, Some(now)) => format!("has ended instance {now}"),
                    (_, None) => "has not started".to_string(),
                };
                self.fault(format!(
                    "bytes of instance {instance} from rank {rank} land in the memory of the \
                     application of rank {to}, which {state}"
                ));
            }
        }
        self.may_write(to, into, None);
        let place = self.system.truth[to].layout.place(into);
        self.state.ranks[to].memory[place].copy_from_slice(data);
        self.state.ranks[to].arrived[instance as usize] += 1;
        self.add(to, instance, signal);
        self.heard(to);
        if self.system.ends == Ends::Together
            && let ProgramOp::Put { done: Some(done), .. } = self.system.work(item).op
        {
            self.add(rank as usize, instance, done);
            self.heard(rank as usize);
        }
    }

    /// Checks that no item in flight except `but` reads bytes of `region`.
    fn may_write(&mut self, rank: usize, region: Region, but: Option<Item>) {
        let flying = self.state.flying.iter().map(|flight| flight.item);
        for item in flying.filter(|item| item.rank as usize == rank && Some(*item) != but) {
            let read = self.system.reads(item);
            if overlap(read, region) {
                let instance = item.instance;
                self.fault(format!(
                    "{} of rank {rank} are overwritten while the {} of instance {instance} reads \
                     them",
                    bytes(region),
                    name(self.system.work(item).op)
                ));
                return;
            }
        }
    }

    /// A copy or a host step is executed.
    fn compute(&mut self, item: Item, is_sum: bool) {
        let rank = item.rank as usize;
        let (from, into) = self.system.local(item);
        self.may_write(rank, into, Some(item));
        let layout = &self.system.truth[rank].layout;
        let memory = &mut self.state.ranks[rank].memory;
        for (from, into) in layout.place(from).zip(layout.place(into)) {
            memory[into] =
                if is_sum { memory[into].wrapping_add(memory[from]) } else { memory[from] };
        }
    }

    /// The instance of `item` ends.
    fn complete(&mut self, item: Item) {
        let Item { rank, instance, .. } = item;
        let me = rank as usize;
        let late = self.late(item);
        if self.system.holds {
            self.state.ranks[me].ending = late.map(|_| item.work);
            if late.is_some() {
                return;
            }
        }
        self.say(|| format!("  rank {rank} ends instance {instance}"));
        let truth = &self.system.truth[me];
        let wrong = |why: &str| Some(format!("rank {rank} ends instance {instance} {why}"));
        let it = &self.state.ranks[me];
        let absent = (0..self.state.ranks.len()).find(|&other| {
            truth.entered >> other & 1 == 1 && self.state.ranks[other].started <= instance
        });
        let is_right = |(at, origins): (usize, &Vec<(usize, usize)>)| {
            let due = origins.iter().map(|&(rank, at)| byte(rank, at, instance));
            it.memory[at] == due.fold(0, u64::wrapping_add)
        };
        let is_wrong = |pair: &(usize, &Vec<(usize, usize)>)| !is_right(*pair);
        let arrived = usize::from(it.arrived[instance as usize]);
        let fault = if let Some(absent) = absent {
            wrong(&format!("which rank {absent} has not entered"))
        } else if let Some((at, origins)) = truth.result.iter().enumerate().find(is_wrong) {
            wrong(&format!("and byte {at} of its memory is not that of (rank, byte) {origins:?}"))
        } else if let Some(late) = late {
            wrong(&format!("while its {} is not over", name(late)))
        } else if self.system.exact && arrived != self.system.expected(me) {
            wrong(&format!("when {arrived} of {} messages are there", self.system.expected(me)))
        } else {
            None
        };
        self.state.ranks[me].is_active = false;
        fault.into_iter().for_each(|fault| self.fault(fault));
    }

    /// The items in flight that still use memory that the application gave to the instance of `item`.
    fn late(&self, item: Item) -> Option<ProgramOp> {
        let is_user = |region: Region| matches!(region.buffer, Buffer::User(_));
        let own = |other: &Item| (other.rank, other.instance) == (item.rank, item.instance);
        let flying = self.state.flying.iter().map(|flight| flight.item).filter(own);
        let is_late = |&item: &Item| {
            let read = self.system.reads(item);
            item.kind == Kind::Local || read.len > 0 && (self.system.holds || is_user(read))
        };
        { flying }.find(is_late).map(|item| self.system.work(item).op)
    }
}
